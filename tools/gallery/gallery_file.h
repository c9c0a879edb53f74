/* Reads back files of embeddings: .npy and .fvecs with their .ids.txt and .meta.json, .jsonl with its .meta.json. */
#ifndef REID_TOOLS_GALLERY_FILE_H
#define REID_TOOLS_GALLERY_FILE_H

#include "gallery/makers.h"

typedef struct gallery_file {
    store_meta makers;
    char jpeg[STORE_JPEG]; /* what decoded JPEG files for it, as store_meta has it; "": it does not say */
    float *rows; /* count × columns */
    size_t count, columns;
    char **ids, **identities, **cameras; /* no cameras or times: none are known */
    long long *times;                    /* milliseconds since 1970, STORE_NO_TIME where unknown */
    size_t id_count, id_cap, identity_count, identity_cap, camera_count, camera_cap, time_count, time_cap, row_cap;
} gallery_file;

/* 1 when the name ends as such a file's does. */
int gallery_file_is_one(const char *path);
/* Returns 0 after saying what is wrong; free it in any case. Raw embeddings are refused. */
int gallery_file_read(gallery_file *f, const char *path);
/* The same for raw embeddings; those of unit length are refused. */
int gallery_file_read_raw(gallery_file *f, const char *path);
void gallery_file_free(gallery_file *f);

/* The lines of a .jsonl file to ids, identities, cameras, times and rows. Returns 0 with the reason in why. */
int gallery_jsonl_read(gallery_file *f, const text *content, text *why);

#endif
