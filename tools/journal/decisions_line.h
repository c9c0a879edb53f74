/* A decision of a person about crops, and its line in the journal (decisions.h):

   {"seq": 7, "what": "same", "crops": ["a.png", "b.png#1"], "by": "ann", "when": "2026-05-31T06:30:00Z",
    "models": ["0123456789abcdef0123456789abcdef"], "crc": "89abcdef"}

   on one line of at most DECISION_LINE bytes including its newline, in UTF-8 (bytes of a file name that are not UTF-8
   are written as lone surrogates, see text_json).
     seq     1 in the first line, 2 in the second …
     what    same, different, not a crop, name, undo
     crops   ids as in embeddings files, all different. Two or more for same and different, which relate the first to
             each of the others; one or more for not a crop and name; not allowed for undo
     name    only for name, without control characters; "" removes a name
     undoes  only for undo: the seq of an earlier line that is not an undo and has not been undone
     by      who decided, without control characters
     when    UTC
     models  fingerprints of the models whose embeddings were used
     crc     CRC-32 (base/crc32.h) of the line's bytes before `, "crc": "`, as 8 lower-case hexadecimal digits; the last
             field
   Every field of the decision's kind is required exactly once, and no others are allowed. */
#ifndef REID_TOOLS_DECISIONS_LINE_H
#define REID_TOOLS_DECISIONS_LINE_H

#include "base/choices.h"
#include "base/text.h"

enum {
    DECISION_LINE = 1 << 20, /* bytes of a line, with its newline */
    DECISION_CROPS = 1000,   /* crops in a line */
    DECISION_ID = 8192,      /* bytes of an id */
    DECISION_WORDS = 256     /* bytes of a name, and of "by" */
};

typedef enum decision_kind {
    DECISION_SAME = 1,
    DECISION_DIFFERENT,
    DECISION_NO_CROP,
    DECISION_NAME,
    DECISION_UNDO
} decision_kind;

typedef struct decision {
    long long seq, undoes, when; /* undoes: 0 unless it is an undo; when: milliseconds since 1970 */
    decision_kind kind;
    char **crops;
    size_t count, cap;
    char *name; /* NULL unless it is a name */
    char *by;
    char models[MAX_MODELS][33];
    int model_count;
    long long undone; /* seq of the line that undid it, 0: none; not part of its own line */
} decision;

typedef enum line_state { LINE_BAD, LINE_GOOD, LINE_TORN } line_state;

/* The kind for "same" …; 0 if there is none of this name. */
decision_kind decision_kind_of(const char *what);
/* Says why these words cannot be a name or "by"; NULL: they can. */
const char *decision_words_fault(const char *words);
/* Appends the line with its newline to out; check text_failed. Does not check the decision. */
void decision_write(const decision *d, text *out);
/* Reads the len bytes at line, without their newline; the byte after them must not be part of a UTF-8 sequence (a
   newline or a 0). LINE_TORN: the checksum is missing or wrong; LINE_BAD: it is correct, but the line is not a valid
   decision, or memory runs out. Both with the reason in why, which names the field. Free d in any case. */
line_state decision_read(decision *d, const char *line, size_t len, text *why);
void decision_free(decision *d);

#endif
