/* The results of the demo, for its table (demo_run.c) and its page (demo_page.c). */
#ifndef REID_TOOLS_DEMO_H
#define REID_TOOLS_DEMO_H

#include "base/text.h"
#include "pictures/picture.h"
#include "reid.h"

enum { DEMO_MODELS = 4, DEMO_BEST = 3 };

typedef enum demo_role {
    DEMO_ENROLLED, /* in the gallery */
    DEMO_UNSEEN,   /* of an enrolled individual, but held back: a query with a right answer */
    DEMO_STRANGER  /* below a folder named `unknown`: a query that should match nobody */
} demo_role;

typedef struct demo_shot {
    char *path, *who; /* who: the individual's name; may be empty for a stranger */
    const char *label;
    demo_role role;
    size_t individual; /* among the enrolled ones */
    text thumbnail;    /* JPEG */
} demo_shot;

typedef struct demo_model {
    reid_ctx *ctx;
    reid_info info;
    const char *weights;
    double weight;      /* in the ensemble; 0: only compared with it */
    int synthetic;      /* according to the file's metadata */
    float *rows;        /* (shots, dim) */
    double ms;          /* per image */
    int first_right;    /* unseen views whose best match by this network alone is right */
    double own, other;  /* mean cosine within individuals, and between them */
} demo_model;

typedef struct demo_match {
    size_t shot; /* the best image of an individual */
    double score;
} demo_match;

/* A query and its best matches, at most one per individual. */
typedef struct demo_verdict {
    size_t shot;
    int found;
    demo_match best[DEMO_BEST];
    int accepted, right;
} demo_verdict;

/* For every enrolled view, left out in turn: its best score with other views of its individual, and with all others. */
typedef struct demo_held_out {
    double *own, *other; /* sorted */
    size_t count;
    size_t missed, mistaken; /* how many, at the threshold */
} demo_held_out;

typedef struct demo {
    const char *folder, *film; /* film: the page of the video, to which this page links, or NULL */
    demo_model model[DEMO_MODELS];
    int models;
    demo_shot *shots;
    size_t count, cap, failed, individuals;
    demo_held_out held_out;
    int decides;       /* a threshold could be derived */
    double threshold;
    demo_verdict *verdicts;
    size_t queries, unseen, strangers;
    size_t first_right, accepted_right, rejected_right;
} demo;

/* Fills in the thumbnail. */
void demo_thumbnail(demo_shot *shot, const picture *p);
/* Writes the page, one file that needs no others. */
void demo_page(const demo *d, text *out);

/* The demo is a separate program: an error, or running out of memory, ends it with status 2. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void *must_alloc(size_t size);

#endif
