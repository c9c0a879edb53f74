/* Finds the best settings. The caller passes a function that measures one setting for a while, so that a simulated
   machine can replace a real one. */
#ifndef REID_TOOLS_CHOOSER_H
#define REID_TOOLS_CHOOSER_H

#include <stddef.h>

typedef struct tune_setting {
    int decoders, threads, batch;
} tune_setting;

/* The result of measuring one setting. */
typedef struct tune_measure {
    double items, seconds; /* images, and how long they took */
    double spent;          /* seconds of the budget: opening models, warming up and measuring */
    size_t bytes;          /* memory that this setting takes */
} tune_measure;

typedef enum tune_result {
    TUNE_MEASURED,
    TUNE_TOO_LARGE, /* not enough memory, or the batch was reduced: only `spent` is valid */
    TUNE_FAILED     /* stop, after saying why, or without a message when interrupted() */
} tune_result;

/* Measures one setting for about `seconds`. */
typedef tune_result (*tune_fn)(void *user, const tune_setting *at, double seconds, tune_measure *to);

typedef enum tune_goal {
    TUNE_FASTEST,
    TUNE_SMALLEST /* the least memory with at least TUNE_SHARE of the fastest setting's pace */
} tune_goal;
#define TUNE_SHARE 0.7

enum { TUNE_STEPS = 20 };

/* The values to try, ascending. */
typedef struct tune_space {
    int decoders[TUNE_STEPS], threads[TUNE_STEPS], batches[TUNE_STEPS];
    int decoder_count, thread_count, batch_count;
} tune_space;

/* Writes 1, 2, 4 … and `most` itself to `to`; or only `only`, if that is not 0. Returns how many. */
int tune_steps(int to[TUNE_STEPS], int most, int only);

typedef struct tune_request {
    tune_goal goal;
    tune_space space;
    double seconds;     /* the budget, which the last measurement may exceed */
    int full;           /* 1: give up no setting early, to see what choosing early costs */
    int first_batch;    /* where the search begins: the library's default */
    int find_largest;   /* 1: memory may run out, so first find the largest batch that fits */
    tune_fn measure;
    void *user;
} tune_request;

typedef struct tune_candidate {
    tune_setting at;
    double items, seconds; /* sums over all its measurements */
    size_t bytes;
    int rounds, too_large;
} tune_candidate;

typedef struct tune_choice {
    tune_candidate *all; /* every possible setting; rounds is 0 if it was not measured */
    size_t count, best;  /* best: index of the choice */
    int largest_batch;   /* the largest that fits; 0: not determined */
    int hurried;         /* 1: the budget ended before all promising settings were measured */
} tune_choice;

double tune_pace(const tune_candidate *c);

/* Finds the largest batch that fits, up to `most`, by doubling `first` as long as it fits, or halving it until it does.
   Returns 0 when not even 1 fits, -1 on failure. Adds to *spent. */
int tune_largest_batch(tune_fn measure, void *user, tune_setting at, int first, int most, double seconds,
                       double *spent);

/* Returns 0 after reporting that measuring failed, nothing fits or memory ran out. Free it in either case. */
int tune_choose(const tune_request *r, tune_choice *out);
void tune_choice_free(tune_choice *c);

#endif
