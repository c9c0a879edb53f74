/* What a person decided about crops, and the line of the journal (decisions.h) that says so:

   {"seq": 7, "what": "same", "crops": ["a.png", "b.png#1"], "by": "ann", "when": "2026-05-31T06:30:00Z",
    "models": ["0123456789abcdef0123456789abcdef"], "crc": "89abcdef"}

   on one line of at most DECISION_LINE bytes with its newline, in UTF-8 (a byte of a file name that is none is written
   as a lone surrogate, see text_json).
     seq     1 in the first line, 2 in the second …
     what    same, different, not a crop, name, undo
     crops   ids as in files of embeddings, no id twice. Two or more for same and different, which are about the first
             and each of the others; one or more for not a crop and name; undo has none
     name    only for name, without control characters; "" takes a name away
     undoes  only for undo: the seq of an earlier line that is no undo and that no other line has undone
     by      who decided, without control characters
     when    UTC
     models  fingerprints of the models whose embeddings were looked at
     crc     CRC-32 (base/crc32.h) of the line's bytes before `, "crc": "`, 8 small hexadecimal digits; stands last
   Every field that belongs to a kind is there once, and no other. */
#ifndef REID_TOOLS_DECISIONS_LINE_H
#define REID_TOOLS_DECISIONS_LINE_H

#include "base/choices.h"
#include "base/text.h"

enum {
    DECISION_LINE = 1 << 20, /* bytes of a line, with its newline */
    DECISION_CROPS = 1000,   /* crops in a line */
    DECISION_ID = 8192,      /* bytes of an id */
    DECISION_WORDS = 256     /* bytes of a name and of who decided */
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
    long long undone; /* seq of the line that took it back, 0: it holds; no part of its own line */
} decision;

typedef enum line_state { LINE_BAD, LINE_GOOD, LINE_TORN } line_state;

/* "same" …; 0 for what is none. */
decision_kind decision_kind_of(const char *what);
/* What keeps these words from being a name, or who decided; NULL: nothing. */
const char *decision_words_fault(const char *words);
/* The line with its newline, behind what is in out; ask text_failed. Nothing is checked. */
void decision_write(const decision *d, text *out);
/* The len bytes at line, without their newline; a byte that is no part of a UTF-8 sequence follows them (a newline, a
   0). LINE_TORN: the checksum is missing or does not fit; LINE_BAD: it fits, but this is no decision, or there is no
   memory. Both with the reason in why, which names the field. Free d in any case. */
line_state decision_read(decision *d, const char *line, size_t len, text *why);
void decision_free(decision *d);

#endif
