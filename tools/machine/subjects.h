/* Checks that the models, gallery and calibration of a user open and belong together. */
#ifndef REID_TOOLS_SUBJECTS_H
#define REID_TOOLS_SUBJECTS_H

#include "embedding/models.h"
#include "machine/findings.h"

typedef struct subjects {
    const reid_desc *models; /* [model_count] */
    int model_count;
    const char *gallery, *calibration; /* NULL: not given */
    double threshold;                  /* NAN: not given */
    const char *jpeg;                  /* the JPEG decoder in use */
} subjects;

void subjects_look(findings *f, const subjects *s);

#endif
