/* Demonstrates how to feed the queue from a camera: 20 detections in a frame, each frame with a deadline of 50 ms. What
   cannot be computed in time is given up, so that a slow machine skips frames instead of falling ever further behind.

     cc -O2 queue.c -o queue -lm
     ./queue resnet50.safetensors frame.jpg 10

   The picture stands for what the camera sees, and the boxes for what a detector would have found in it. The last
   argument is the number of frames in a second. Prints how the frames of 2 seconds fared:

     20 frames of 20 boxes: 19 in time, 1 too late, 0 dropped; 6.7 boxes in a batch, half of them within 41.0 ms */
#define _GNU_SOURCE 1
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define REID_IMPLEMENTATION
#include "../reid.h"

#define BOXES 20
#define IN_FLIGHT 4 /* frames whose embeddings are not there yet */
#define DEADLINE_US 50000

typedef struct frame { /* everything that the queue borrows until it tells that it is done */
    reid_image images[BOXES];
    reid_box boxes[BOXES];
    float *rows; /* (BOXES, dim) */
    int busy;
} frame;

/* Called on a thread of the queue, once for each frame that it has accepted. If the result is REID_OK, f->rows are
   there to be compared with the individuals that are known; here it is enough that the frame can be used again. */
static void frame_done(reid_result result, void *user) {
    frame *f = (frame *)user;
    (void)result;
    __atomic_store_n(&f->busy, 0, __ATOMIC_RELEASE);
}

/* Where the detections are in frame number `at`: they walk to the right. */
static void detect(frame *f, const reid_image *picture, int at) {
    int width = picture->width / 4 + 1, height = picture->height / 2 + 1;
    for (int i = 0; i < BOXES; i++) {
        reid_box box = {(i * picture->width / BOXES + 3 * at) % (picture->width - width + 1), i % 3, width, height};
        f->boxes[i] = box;
        f->images[i] = *picture;
        f->images[i].box = &f->boxes[i];
    }
}

/* Returns 1 if the queue took the frame, 0 if it had to be dropped, or a negative error. */
static int show(reid_queue *queue, frame *frames, const reid_image *picture, int at, reid_error *error) {
    frame *f = &frames[at % IN_FLIGHT];
    if (__atomic_load_n(&f->busy, __ATOMIC_ACQUIRE)) return 0; /* its turn came too soon */
    detect(f, picture, at);
    reid_request request = REID_INIT;
    request.images = f->images;
    request.n = BOXES;
    request.out = f->rows;
    request.deadline_us = DEADLINE_US;
    request.done = frame_done;
    request.user = f;
    f->busy = 1;
    reid_result r = reid_submit(queue, &request, NULL, error);
    if (r != REID_OK) f->busy = 0;
    return r == REID_OK ? 1 : r == REID_ERR_FULL ? 0 : (int)r;
}

static void report(const reid_queue_stats *s, int dropped) {
    uint64_t below = 0;
    int median = 0;
    for (; median < REID_LATENCIES - 1; median++)
        if (2 * (below += s->latencies[median]) >= s->requests) break;
    printf("%d frames of %d boxes: %d in time, %d too late, %d dropped; %.1f boxes in a batch",
           (int)(s->requests + s->expired) + dropped, BOXES, (int)s->requests, (int)s->expired, dropped,
           s->batches ? (double)s->computed / (double)s->batches : 0.0);
    if (s->requests) printf(", half of them within %.1f ms", (double)reid_latency_bound(median) * 1e-6);
    putchar('\n');
}

int main(int argc, char **argv) {
    int per_second = argc == 4 ? atoi(argv[3]) : 0, dropped = 0, taken = 1;
    if (per_second < 1 || per_second > 1000) {
        fprintf(stderr, "usage: %s WEIGHTS PICTURE FRAMES-PER-SECOND (1 to 1000)\n", argv[0]);
        return 2;
    }
    static frame frames[IN_FLIGHT];
    reid_error error;
    reid_desc desc = REID_INIT;
    reid_queue_desc how = REID_INIT;
    reid_image picture = REID_INIT;
    reid_ctx *ctx;
    reid_queue *queue = NULL;
    desc.weights = argv[1];
    desc.error = how.error = &error;

    reid_result r = reid_create(&desc, &ctx);
    if (r == REID_OK) r = reid_image_load(argv[2], &picture, &error);
    how.ctx = ctx;
    if (r == REID_OK) r = reid_queue_create(&how, &queue);
    for (int i = 0; i < IN_FLIGHT && r == REID_OK; i++)
        frames[i].rows = (float *)malloc((size_t)BOXES * (size_t)reid_dim(ctx) * sizeof(float));
    for (int at = 0; at < 2 * per_second && r == REID_OK && taken >= 0; at++) {
        const struct timespec pause = {per_second == 1, per_second == 1 ? 0 : 1000000000 / per_second};
        taken = show(queue, frames, &picture, at, &error);
        dropped += taken == 0;
        nanosleep(&pause, NULL); /* until the camera has the next frame */
    }
    if (r == REID_OK && taken >= 0) {
        reid_queue_stats stats;
        reid_queue_drain(queue, -1);
        reid_queue_query(queue, &stats);
        report(&stats, dropped);
    } else {
        fprintf(stderr, "queue: %s\n", error.text);
    }
    reid_queue_destroy(queue, 0);
    for (int i = 0; i < IN_FLIGHT; i++) free(frames[i].rows);
    reid_image_free(&picture);
    reid_destroy(ctx);
    return r != REID_OK || taken < 0;
}
