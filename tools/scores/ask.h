/* A gallery that is ready for queries: finds the best images of the best identities, and decides. */
#ifndef REID_TOOLS_ASK_H
#define REID_TOOLS_ASK_H

#include "base/json_write.h"
#include "gallery/gallery.h"
#include "scores/calibration_file.h"

typedef struct ask_request {
    const models *all;
    gallery *g;             /* open; its rows become those that are searched */
    const calibration *c;   /* NULL: there are no probabilities */
    const double *weights;  /* of the models, when there is no calibration */
    int weight_count;       /* 0: the default weights */
    double threshold;       /* NAN: use the threshold of the calibration or the gallery */
    const reid_desc *search; /* device and threads of the search */
} ask_request;

typedef struct ask {
    const models *all;
    const gallery *g;
    const calibration *c;
    double weights[MAX_MODELS], threshold; /* threshold: NAN for no decision */
    uint32_t *identities;                  /* [pictures] */
    reid_index *index;
} ask;

/* Returns 0 after reporting an error; close it in any case. Models, gallery and calibration must outlive it. */
int ask_open(ask *a, const ask_request *r);
void ask_close(ask *a);

/* Finds the best image of each of the `top` best identities, best first, for a row computed by the models; scratch
   has room for one more row. Any number of threads may call it. Returns the number of hits, or -1 with the reason in
   why. */
int ask_rank(const ask *a, const float *row, int top, reid_exclude_fn exclude, void *user, float *scratch,
             reid_hit *hits, text *why);

/* "match" or "unknown"; NULL if there is no threshold. */
const char *ask_decision(const ask *a, const reid_hit *hits, int found);
/* Writes the members "decision" to "matches" of an object. */
void ask_json(const ask *a, const reid_hit *hits, int found, json_writer *w);

#endif
