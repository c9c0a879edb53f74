/* What changes for a gallery when another model embeds its templates: for each one, which other template is nearest, by
   both models, and from which score on two are one individual, by a calibration with each. The labels are the
   gallery's identities. */
#ifndef REID_TOOLS_MODEL_CHANGE_H
#define REID_TOOLS_MODEL_CHANGE_H

#include "base/choices.h"
#include "gallery/gallery_store.h"
#include "scores/calibration.h"
#include "reid.h"

/* What is known about a template; the texts belong to it. */
typedef struct changed_template {
    char *id, *identity, *camera; /* camera: "" when it is not known */
    uint64_t size, hash;          /* of its picture, 0, 0: unknown */
    size_t who, picture, where;   /* numbers; equal for one identity, picture and camera; where: SIZE_MAX if unknown */
} changed_template;

/* Of the other templates, without those of the same picture. */
typedef struct nearest_template {
    size_t place; /* SIZE_MAX: there is none */
    float score;
} nearest_template;

/* By one model, or an ensemble. */
typedef struct change_side {
    store_meta makers;         /* with the threshold that is set, NAN: none */
    double weights[MAX_MODELS];
    float *rows;               /* (count, dim) */
    nearest_template *nearest; /* [count] */
    operating_points points;   /* of the calibration; only with calibrated */
    const char *why;           /* why it could not be calibrated, NULL: it was */
    double threshold;          /* by which this comparison decides: the one that is set, else the calibration's; NAN */
    size_t right;              /* templates whose nearest one is of their identity */
    size_t taken_right, taken_wrong; /* nearest ones that reach the threshold, of the template's identity and not */
} change_side;

typedef struct model_change {
    changed_template *at;
    size_t count, cap, rows_cap[2], identities, cameras;
    size_t askable; /* templates that have another one of their identity, in another picture */
    change_side side[2];
} model_change;

typedef struct change_rules {
    double fmr;  /* the share of pairs of two individuals that a calibration accepts */
    int threads; /* 0: as many as are worth it */
    reid_isa isa;
} change_rules;

void model_change_begin(model_change *c, const store_meta *now, const store_meta *next);
/* All but the numbers of t are taken over as copies; rows[2] are the models'. Returns 0 after saying that there is no
   memory. */
int model_change_add(model_change *c, const changed_template *t, const float *const rows[2]);
/* Returns 0 after saying that there is no memory, or without a word when interrupted(). */
int model_change_compute(model_change *c, const change_rules *rules);
/* 1 when it names somebody else, or is believed where it was not, or the other way round. */
int model_change_differs(const model_change *c, size_t place);
/* The nearest one of a template reaches the threshold. */
int model_change_taken(const change_side *s, size_t place);
void model_change_free(model_change *c);

#endif
