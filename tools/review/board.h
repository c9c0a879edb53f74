/* The state of a review: the groups, the doubtful pairs, and the growing journal of decisions, from which the groups
   can be computed again. The page gets all of it as JSON. */
#ifndef REID_TOOLS_BOARD_H
#define REID_TOOLS_BOARD_H

#include "base/text.h"
#include "groups/clusters.h"
#include "journal/decisions.h"
#include "review/captions.h"
#include "review/regroup.h"

typedef struct board board;

typedef struct board_request {
    const clusters *groups;   /* this and the next two must outlive the board */
    const clusters_request *how; /* how to compute the groups again (regroup.h); NULL: they do not change */
    const earlier *carry;
    long long heeded;         /* number of decisions that the groups take into account */
    const char *decisions;    /* the journal's path */
    int writes;               /* create the journal if it does not exist */
    const char *by;           /* the person who decides, unless a decision names another; "": unknown */
    int asks;                 /* the page asks for that person's name before the first decision */
    const captions *captions; /* of the crops; NULL: nothing is known. Must outlive the board */
    char (*models)[33];       /* fingerprints of the models that made the embeddings */
    int model_count;
} board_request;

/* Returns NULL after reporting an error, also if decisions contradict each other. */
board *board_open(const board_request *r);
/* {"ids": [...], "photos": [...], "cameras": [...], "times": [...], "categories": [...], "layer": {...}, "regroups":
   true or false, "by": ..., "asks": true or false, "models": [...], "seq": N, "decisions": [...], "version": V,
   "grouping": true or false}. photos to categories: as in captions_put; layer: as in board_layer; regroups: the
   groups can be computed again; decisions: the journal's lines; version: that of the groups; grouping: new groups
   are being computed. This function and all that follow may be called on any thread. */
void board_data(board *b, text *out);
/* {"seq": N, "decisions": [...], "version": V, "grouping": ...} with the lines after `seen`, including those of other
   processes. Returns 0 with {"error": ...} instead. */
int board_since(board *b, long long seen, text *out);

/* {"version": V, "grouping": ..., "error": why the last attempt failed, or "", "layer": {"version": V, "heeds": N,
   "seconds": S, "group": [...], "score": [...], "names": [...], "doubts": [[a, b, score], ...]}}: the groups that take
   the first N decisions into account. group: -1 for a row that was decided to be "not a crop"; score: 0 for a crop that
   is alone; names: null for a group without a name; a and b are indices into ids. The layer is left out if its version
   is `seen`. */
void board_layer(board *b, long long seen, text *out);
/* Starts to compute the groups again with all decisions, unless this is already in progress, and answers as board_layer
   without a layer. Returns 0 with {"error": ...} instead. */
int board_regroup(board *b, text *out);

typedef enum board_result {
    BOARD_DONE,      /* it is on disk */
    BOARD_MALFORMED, /* the body is malformed */
    BOARD_UNKNOWN,   /* it names a crop that is not in this review */
    BOARD_REFUSED,   /* it contradicts others, or undoes a line that cannot be undone */
    BOARD_FAILED     /* it cannot be written */
} board_result;

/* Adds one decision: {"what": ..., "crops": [...], "name": ..., "undoes": ..., "by": ..., "seen": N}, with the
   fields that its kind has in the journal; seen is the last line that the page knows; by may be left out. The answer
   is that of board_since, preceded by "error" unless the result is BOARD_DONE. */
board_result board_decide(board *b, const char *body, size_t len, text *out);
/* The groups at the start, with the ids of all crops. */
const clusters *board_groups(const board *b);
/* NULL is allowed. */
void board_close(board *b);

#endif
