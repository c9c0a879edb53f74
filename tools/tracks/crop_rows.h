/* Collects crops one by one, embeds them in full batches and writes each as a PNG file. Only the crops of one batch are
   in memory; rows and names are kept. */
#ifndef REID_TOOLS_CROP_ROWS_H
#define REID_TOOLS_CROP_ROWS_H

#include "embedding/output_meta.h"

typedef struct waiting_crop {
    unsigned char *rgb;
    int width, height;
} waiting_crop;

/* What was done, and the seconds spent reading frames, matching boxes with tracks, cutting out crops, computing rows
   and writing files, over all films. It is always counted; the work of an earlier run that was resumed is not
   included. */
typedef struct crop_work {
    double read, choose, crop, compute, write;
    size_t frames, boxes, crops, rows, batches;
} crop_work;

typedef struct crop_rows {
    models *all;
    const char *folder;    /* for the output files */
    inputs list;           /* the crops' names: paths below folder. failure: why a crop has no row */
    float *rows;           /* (list.count, all->dim) */
    size_t rows_cap, done; /* rows before `done` are computed, the others wait */
    size_t failed;
    waiting_crop *waiting; /* the crops of the rows from `done` on */
    size_t waiting_cap, bytes;
    crop_work work;
} crop_rows;

/* All of them return 0 after saying what is wrong; free it in any case. */

/* Adds a crop and takes over its pixels (height, width, 3) in any case. *row: its index. */
int crop_rows_add(crop_rows *c, const char *name, unsigned char *rgb, int width, int height, size_t *row);
/* Adds a crop that an earlier run has embedded and whose image is in the folder. Only allowed while no crop waits.
   failure: why it has no row; NULL: it has one. */
int crop_rows_recall(crop_rows *c, const char *name, const char *failure, const float *row);
/* Embeds the waiting crops. Their images are on disk after folder_sync. */
int crop_rows_flush(crop_rows *c);
/* folder/embeddings.npy with its ids and metadata, as reid embed writes them. how: as in reid embed; its path is set
   here. */
int crop_rows_write(const crop_rows *c, const output_request *how);
/* After the last use of `rows`, which are the largest thing in memory. */
void crop_rows_drop(crop_rows *c);
void crop_rows_free(crop_rows *c);

#endif
