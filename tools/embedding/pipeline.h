/* Pictures decoded beside inference: a few threads decode ahead, in bounded memory, and hand out in order. */
#ifndef REID_TOOLS_PIPELINE_H
#define REID_TOOLS_PIPELINE_H

#include "pictures/inputs.h"
#include "pictures/picture.h"

typedef struct pipeline pipeline;

typedef struct decode_settings {
    int threads;          /* 0: a few */
    long long max_pixels; /* larger pictures are refused */
    jpeg_decoder jpeg;
} decode_settings;

/* Neighbouring rows of one picture, which is decoded once for all of them. */
typedef struct decoded {
    size_t first, count; /* rows of the input list */
    picture pic;         /* no rgb when it failed */
    size_t cost;         /* to be given back with pipeline_release */
    text why;
} decoded;

/* Decodes rows first … end-1 of list. NULL after saying that there is no memory, no thread or not the
   decoder of JPEG files that was asked for. */
pipeline *pipeline_start(const inputs *list, size_t first, size_t end, const decode_settings *how);
/* The next picture in order, waiting for it: 1; 0 at the end or when the program was asked to stop. */
int pipeline_next(pipeline *p, decoded *out);
/* Frees what pipeline_next gave. */
void pipeline_release(pipeline *p, decoded *d);
/* Bytes of decoded pictures that the consumer should not sit on while it waits for more. */
size_t pipeline_budget(void);
/* Stops the threads and frees everything. */
void pipeline_stop(pipeline *p);

#endif
