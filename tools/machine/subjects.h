/* Models, a gallery and a calibration that a user means to use: whether they open and belong together. */
#ifndef REID_TOOLS_SUBJECTS_H
#define REID_TOOLS_SUBJECTS_H

#include "embedding/models.h"
#include "machine/findings.h"

typedef struct subjects {
    const reid_desc *models; /* [model_count] */
    int model_count;
    const char *gallery, *calibration; /* NULL: not named */
    double threshold;                  /* NAN: not named */
    const char *jpeg;                  /* what decodes JPEG files now */
} subjects;

void subjects_look(findings *f, const subjects *s);

#endif
