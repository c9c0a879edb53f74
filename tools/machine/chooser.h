/* Which settings are best here? Asked of a function that measures one setting for a while, so that a machine that is
   only calculated can stand in for a real one. */
#ifndef REID_TOOLS_CHOOSER_H
#define REID_TOOLS_CHOOSER_H

#include <stddef.h>

typedef struct tune_setting {
    int decoders, threads, batch;
} tune_setting;

/* What came of measuring one. */
typedef struct tune_measure {
    double items, seconds; /* pictures, and how long they took */
    double spent;          /* seconds of the budget: opening models, warming up and measuring */
    size_t bytes;          /* of memory that this setting takes */
} tune_measure;

typedef enum tune_result {
    TUNE_MEASURED,
    TUNE_TOO_LARGE, /* memory does not suffice, or no more is taken than a smaller batch: only spent is told */
    TUNE_FAILED     /* it ends here, after saying why or without a word when interrupted() */
} tune_result;

/* About `seconds` of measuring. */
typedef tune_result (*tune_fn)(void *user, const tune_setting *at, double seconds, tune_measure *to);

typedef enum tune_goal {
    TUNE_FASTEST,
    TUNE_SMALLEST /* the least memory with which it still has TUNE_SHARE of the pace of the fastest */
} tune_goal;
#define TUNE_SHARE 0.7

enum { TUNE_STEPS = 20 };

/* The values that come into question, ascending. */
typedef struct tune_space {
    int decoders[TUNE_STEPS], threads[TUNE_STEPS], batches[TUNE_STEPS];
    int decoder_count, thread_count, batch_count;
} tune_space;

/* 1, 2, 4 … and `most` itself, in to; or `only`, if that is not 0. How many. */
int tune_steps(int to[TUNE_STEPS], int most, int only);

typedef struct tune_request {
    tune_goal goal;
    tune_space space;
    double seconds;     /* the budget; one measurement may reach beyond it */
    int full;           /* 1: no setting is given up early: to see what choosing early costs */
    int first_batch;    /* where the search begins: what the library takes by itself */
    int find_largest;   /* 1: first find out which is the largest batch that fits, where memory may end */
    tune_fn measure;
    void *user;
} tune_request;

typedef struct tune_candidate {
    tune_setting at;
    double items, seconds; /* of all its measurements */
    size_t bytes;
    int rounds, too_large;
} tune_candidate;

typedef struct tune_choice {
    tune_candidate *all; /* every setting that came into question; those that were not measured have no rounds */
    size_t count, best;  /* best: its place */
    int largest_batch;   /* that fits; 0: it was not looked for */
    int hurried;         /* the budget ended while there was still something better to be hoped for */
} tune_choice;

double tune_pace(const tune_candidate *c);

/* The largest power of two times `first` (or a part of it), at most `most`, that fits: by doubling as long as it does,
   or halving until it does. 0: not even 1 fits. -1: failed. *spent grows. */
int tune_largest_batch(tune_fn measure, void *user, tune_setting at, int first, int most, double seconds,
                       double *spent);

/* Returns 0 when measuring failed, nothing fits or memory runs out, which is reported. Free it in any case. */
int tune_choose(const tune_request *r, tune_choice *out);
void tune_choice_free(tune_choice *c);

#endif
