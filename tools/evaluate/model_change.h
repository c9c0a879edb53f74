/* What changes for a gallery when another model embeds its templates. Compares, for both models, which other template
   is nearest to each one, and the threshold that a calibration gives. The labels are the gallery's identities. */
#ifndef REID_TOOLS_MODEL_CHANGE_H
#define REID_TOOLS_MODEL_CHANGE_H

#include "base/choices.h"
#include "gallery/gallery_store.h"
#include "scores/calibration.h"
#include "reid.h"

/* One template; it owns its texts. */
typedef struct changed_template {
    char *id, *identity, *camera; /* camera: "" if unknown */
    uint64_t size, hash;          /* of its image; 0, 0: unknown */
    size_t who, picture, where;   /* numbers of its identity, image and camera; where: SIZE_MAX if unknown */
} changed_template;

/* The nearest of the other templates, except those of the same image. */
typedef struct nearest_template {
    size_t place; /* SIZE_MAX: there is none */
    float score;
} nearest_template;

/* The results with one model or one ensemble. */
typedef struct change_side {
    store_meta makers;         /* with the threshold that is set; NAN: none */
    double weights[MAX_MODELS];
    float *rows;               /* (count, dim) */
    nearest_template *nearest; /* [count] */
    operating_points points;   /* of the calibration; valid if why is NULL */
    const char *why;           /* the reason why it could not be calibrated; NULL: it was */
    double threshold;          /* used here: the one that is set, else the calibration's; NAN: neither */
    size_t right;              /* templates whose nearest one has their identity */
    size_t taken_right, taken_wrong; /* nearest ones that reach the threshold, with the right and a wrong identity */
} change_side;

typedef struct model_change {
    changed_template *at;
    size_t count, cap, rows_cap[2], identities, cameras;
    size_t askable; /* templates whose identity has another template from another image */
    change_side side[2];
} model_change;

typedef struct change_rules {
    double fmr;  /* the share of impostor pairs that a calibration accepts */
    int threads; /* 0: as many as are useful */
    reid_isa isa;
} change_rules;

void model_change_begin(model_change *c, const store_meta *now, const store_meta *next);
/* Copies t, except its numbers; rows[2] are its rows from the two models. Returns 0 after reporting that memory ran
   out. */
int model_change_add(model_change *c, const changed_template *t, const float *const rows[2]);
/* Returns 0 after reporting that memory ran out, or silently if interrupted(). */
int model_change_compute(model_change *c, const change_rules *rules);
/* 1 if the two models give a template different identities, or only one of them reaches its threshold. */
int model_change_differs(const model_change *c, size_t place);
/* 1 if the template nearest to this one reaches the threshold. */
int model_change_taken(const change_side *s, size_t place);
void model_change_free(model_change *c);

#endif
