/* The file that `reid calibrate` writes and `reid match` reads: what scores mean with certain models and weights. */
#ifndef REID_TOOLS_CALIBRATION_FILE_H
#define REID_TOOLS_CALIBRATION_FILE_H

#include "base/choices.h"
#include "base/json.h"
#include "gallery/gallery_store.h"
#include "scores/calibration.h"

/* What is known about one kind of score: a model's cosine, or the weighted sum of two. */
typedef struct score_facts {
    spread genuine, impostor;
    operating_points points;
    point_intervals intervals;
    logistic curve;
    isotonic steps;
} score_facts;

typedef struct calibration {
    store_meta makers;
    double weights[MAX_MODELS];
    score_facts each[MAX_MODELS], score; /* of each model when there are two; of the score that is compared */
    int method;                          /* the map from score to probability: an index into CALIBRATION_METHODS */
    double fmr, threshold, prior;
    uint64_t genuine, impostor, every_genuine, every_impostor; /* pairs that were used; all pairs */
    size_t identities;
    size_t sightings;  /* of a calibration without labels (groups/unlabelled.h), else 0 */
    uint64_t compared; /* their pairs, of which `genuine` and `impostor` are known */
} calibration;

double calibration_probability(const calibration *c, double score);

/* Writes the calibration as one object, which may be embedded in another file. */
void calibration_json(const calibration *c, text *t);
/* Reads that object, without the intervals and spreads, which are not needed to use it. Errors go to j. */
int calibration_read_json(calibration *c, json *j);

/* Returns 0 after reporting an error; free it in any case. */
int calibration_read(calibration *c, const char *path);

/* Warns if scores hardly separate genuine from impostor pairs: an equal error rate above 25 %. */
void calibration_doubt(const calibration *c, const char *path);
void calibration_free(calibration *c);

#endif
