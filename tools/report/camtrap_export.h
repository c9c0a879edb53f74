/* Exports groups as observations of a Camera Trap Data Package: a copy of a package with an observation for each crop,
   which names its individual. Deployments and media come from the package. */
#ifndef REID_TOOLS_CAMTRAP_EXPORT_H
#define REID_TOOLS_CAMTRAP_EXPORT_H

#include "groups/clusters.h"
#include "pictures/inputs.h"
#include "scores/calibration_file.h"

typedef struct camtrap_request {
    const char *package;       /* the folder of a package */
    const char *out;           /* a folder that does not exist yet */
    const clusters *found;
    const crops *crops;
    const input *const *boxes; /* [crops] the box that each was cut from; NULL: ids are paths of images, or PATH#N */
    const calibration *calibration; /* for probabilities; NULL: there are none */
    const decision_list *decided;   /* with its state; give both or neither */
    const decision_state *state;
    const char *root;          /* a folder that the paths of boxes begin with, but not those of media; or NULL */
    const char *species;       /* scientific name; NULL: it is left empty */
    long long now;             /* when the groups were made, in milliseconds since 1970 */
} camtrap_request;

/* An observation is classified by a person if somebody has decided on the crop's name or that it is the same as another
   crop, and otherwise by the model, with the probability of its mean score with the group. individualID is the group's
   name, or group-N. Rows that were decided to be "not a crop" are left out. Observations of the package are kept,
   except those of an earlier export (observationID reid:…). Returns 0 after reporting an error; then no folder is made.
   *written: number of observations of crops. */
int camtrap_export(const camtrap_request *r, size_t *written);

#endif
