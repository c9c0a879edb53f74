/* Crops that come one by one and are embedded in full batches; each also becomes a PNG file. Only those of a batch are
   in memory; rows and names stay. */
#ifndef REID_TOOLS_CROP_ROWS_H
#define REID_TOOLS_CROP_ROWS_H

#include "embedding/output_meta.h"

typedef struct waiting_crop {
    unsigned char *rgb;
    int width, height;
} waiting_crop;

/* What was done, and the seconds that it took, in all films together: frames were read, boxes looked at and joined to
   tracks, crops cut out, rows computed, and files written. Always counted; what another run has done is not in it. */
typedef struct crop_work {
    double read, choose, crop, compute, write;
    size_t frames, boxes, crops, rows, batches;
} crop_work;

typedef struct crop_rows {
    models *all;
    const char *folder;    /* where the files go */
    inputs list;           /* what each crop is called: its path below folder. failure: why there is no row for it */
    float *rows;           /* (list.count, all->dim) */
    size_t rows_cap, done; /* rows before `done` are there, the others wait */
    size_t failed;
    waiting_crop *waiting; /* of rows from `done` on */
    size_t waiting_cap, bytes;
    crop_work work;
} crop_rows;

/* All return 0 after saying what is wrong; free it in any case. */

/* One more, whose pixels (height, width, 3) it takes over in any case. *row: its place. */
int crop_rows_add(crop_rows *c, const char *name, unsigned char *rgb, int width, int height, size_t *row);
/* One more that another run has embedded and whose picture is in the folder, when none waits. failure: why it has no
   row; NULL: it has. */
int crop_rows_recall(crop_rows *c, const char *name, const char *failure, const float *row);
/* Those that wait. Their pictures are on disk after folder_sync. */
int crop_rows_flush(crop_rows *c);
/* folder/embeddings.npy with its ids and metadata, as reid embed writes them. how: as in reid embed; its path is set
   here. */
int crop_rows_write(const crop_rows *c, const output_request *how);
/* After the last use of `rows`, which are the largest thing in memory. */
void crop_rows_drop(crop_rows *c);
void crop_rows_free(crop_rows *c);

#endif
