/* Decodes images while others are embedded: a few threads decode ahead, in bounded memory, and hand out images in
   order. They may also prepare the network's inputs, which are smaller than photographs. */
#ifndef REID_TOOLS_PIPELINE_H
#define REID_TOOLS_PIPELINE_H

#include "embedding/models.h"
#include "embedding/stream_stats.h"
#include "pictures/inputs.h"
#include "pictures/picture.h"

typedef struct pipeline pipeline;

typedef struct decode_settings {
    int threads;          /* 0: models_decoders chooses */
    long long max_pixels; /* larger images are refused */
    jpeg_decoder jpeg;
} decode_settings;

/* When the steps of an image happened, by clock_seconds; 0: it did not reach that step. */
typedef struct decode_times {
    double begun, opened, room; /* a thread started on it; the file was read; there was room for its pixels */
    double decoded, end;        /* its pixels were ready; it was prepared, or had failed */
    int thread;                 /* index of the thread, from 0 */
} decode_times;

/* Adjacent rows that come from one image, which is decoded once for all of them. */
typedef struct decoded {
    size_t first, count; /* rows of the input list */
    picture pic;         /* without rgb if it failed or was prepared */
    unsigned char *prepared; /* (count, height, width, 3): the network's input for each row; or NULL */
    size_t cost;         /* bytes to release with pipeline_release */
    text why;
    decode_times when;
} decoded;

/* Decodes rows first … end-1 of list, for these models, or for none if all is NULL. Returns NULL after reporting that
   memory ran out, no thread started or the chosen JPEG decoder is missing. */
pipeline *pipeline_start(const inputs *list, size_t first, size_t end, const decode_settings *how, const models *all);
/* Waits for the next image in order and returns 1; 0 at the end or after a signal to stop. */
int pipeline_next(pipeline *p, decoded *out);
/* Describes row `index` of the list, one of d's, for the library; box: memory for its box. Returns NULL, or why the row
   failed. */
const char *decoded_image(const pipeline *p, const decoded *d, size_t index, reid_image *image, reid_box *box);
/* Frees what pipeline_next returned. */
void pipeline_release(pipeline *p, decoded *d);
/* Bytes of decoded images above which the consumer should compute instead of collecting more. */
size_t pipeline_budget(const pipeline *p);
/* Sets what the threads have done so far: pictures, decoders, read, decode, resize, room, ready and taken. */
void pipeline_measured(pipeline *p, stream_stats *out);
/* Sets the present bytes of images that are decoded or being decoded, and the number of images that wait to be
   taken. */
void pipeline_now(pipeline *p, size_t *bytes, size_t *ready);
/* Threads that read and decode. */
int pipeline_threads(const pipeline *p);
/* Stops the threads and frees everything. */
void pipeline_stop(pipeline *p);

#endif
