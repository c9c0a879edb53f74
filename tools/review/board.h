/* What a review is about: the groups, the pairs that are in doubt, and the journal of decisions, which grows and by
   which the groups can be made anew. All of it is handed out as JSON for the page. */
#ifndef REID_TOOLS_BOARD_H
#define REID_TOOLS_BOARD_H

#include "base/text.h"
#include "groups/clusters.h"
#include "journal/decisions.h"
#include "review/regroup.h"

typedef struct board board;

typedef struct board_request {
    const clusters *groups;   /* outlives the board, as do the next two */
    const clusters_request *how; /* they are made anew like this (regroup.h); NULL: they stay */
    const earlier *carry;
    long long heeded;         /* number of decisions at the time the groups were made */
    const char *decisions;    /* the journal's path */
    int writes;               /* it is made when it is not there */
    const char *by;           /* who decides */
    char (*models)[33];       /* fingerprints of what made the embeddings */
    int model_count;
} board_request;

/* NULL after saying what is wrong: also when the decisions contradict each other. */
board *board_open(const board_request *r);
/* {"ids": [...], "layer": {...}, "regroups": true or false, "by": ..., "models": [...], "seq": N, "decisions": [...],
   "version": V, "grouping": true or false}: layer is what board_layer has, decisions are the journal's lines; whether
   the groups can be made anew, which ones there are, and whether others are being made. On any thread, as all that
   follows. */
void board_data(board *b, text *out);
/* {"seq": N, "decisions": [...], "version": V, "grouping": ...} with the lines after `seen`, those that other processes
   have written, too. Returns 0 with {"error": ...} instead. */
int board_since(board *b, long long seen, text *out);

/* {"version": V, "grouping": ..., "error": why the last attempt failed, or "", "layer": {"version": V, "heeds": N,
   "seconds": S, "group": [...], "score": [...], "names": [...], "doubts": [[a, b, score], ...]}}: the groups by the
   first N decisions; the group of what is in none is -1, the score of what is alone 0, the name of a group without one
   null; a and b are places in ids. The layer is left out if its version is `seen`. */
void board_layer(board *b, long long seen, text *out);
/* Begins to make the groups anew by all decisions, unless that is under way, and answers as board_layer without a
   layer. Returns 0 with {"error": ...} instead. */
int board_regroup(board *b, text *out);

typedef enum board_result {
    BOARD_DONE,      /* it is on disk */
    BOARD_MALFORMED, /* the body is not what is expected */
    BOARD_UNKNOWN,   /* it names a crop that is none of these */
    BOARD_REFUSED,   /* it contradicts others, or undoes what cannot be undone */
    BOARD_FAILED     /* it cannot be written */
} board_result;

/* One decision: {"what": ..., "crops": [...], "name": ..., "undoes": ..., "seen": N}, with the fields that its kind has
   in the journal; seen is the last line that the page knows. What comes out is as from board_since, with "error" first
   unless it is done. */
board_result board_decide(board *b, const char *body, size_t len, text *out);
/* All crops as journals name them. */
const clusters *board_groups(const board *b);
/* NULL is allowed. */
void board_close(board *b);

#endif
