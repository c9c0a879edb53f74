/* Reads back what `reid embed -o X.npy` wrote, and refuses what another model made. */
#ifndef REID_TOOLS_GALLERY_FILE_H
#define REID_TOOLS_GALLERY_FILE_H

#include "models.h"

/* What its metadata says about one model. */
typedef struct made_by {
    text fingerprint, precision, network, preset, device;
    int raw;
    double dim;
} made_by;

typedef struct gallery_file {
    float *rows; /* count × columns */
    size_t count, columns;
    char **ids, **identities;
    size_t id_count, id_cap, identity_count, identity_cap;
    made_by model[MAX_MODELS];
    int models; /* more than MAX_MODELS is refused */
} gallery_file;

/* all = NULL: whatever made them. Returns 0 after saying what is wrong; free it in any case. */
int gallery_file_read(gallery_file *f, const char *path, const models *all);
void gallery_file_free(gallery_file *f);
void made_by_free(made_by *m);

#endif
