/* Demonstrates how to follow a live camera: frames come from a pipe, with boxes from a detector, and the queue gets a
   deadline for the boxes of each frame. Frames that cannot be computed in time are given up, so that a slow machine
   skips frames instead of falling further and further behind.

     cc -O2 camera.c -o camera -lm
     ffmpeg -re -i street.mp4 -f rawvideo -pix_fmt rgb24 - |
         ./camera resnet50.safetensors 1280x720 boxes.txt 50 ann=ann.jpg bob=bob.jpg

   boxes.txt is MOT text in the order of its frames: frame,id,left,top,width,height,score; the first frame is 1. 50 is
   the deadline in milliseconds; with 0 there is no deadline, and no frame is dropped. The images show the known
   persons. For each frame in time, the program prints the number of each track, the most similar known person, and the
   average similarity of the track to that person. At the end it prints a summary:

     frame 17: track 1 is ann 0.83, track 4 is bob 0.35
     frame 18: too late
     412 frames: 397 in time, 12 too late, 3 dropped; 6.7 boxes in a batch, half of them within 41.0 ms

   Tracks are built only by overlap from frame to frame. `reid track` is better, but cannot work on live video. */
#define _GNU_SOURCE 1
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define REID_IMPLEMENTATION
#include "../reid.h"

enum { BOXES = 20, TRACKS = 64, KNOWN = 64 };
#define IN_FLIGHT 4   /* frames that may wait for their embeddings */
#define OVERLAP 0.3   /* least overlap of two boxes of a track, as intersection over union */
#define PATIENCE 25   /* frames for which a track may go unseen */

typedef struct frame { /* everything that the queue borrows until it reports that it is done */
    unsigned char *pixels; /* (height, width, 3) */
    reid_image images[BOXES];
    reid_box boxes[BOXES];
    float *rows;           /* (BOXES, dim) */
    int number, count;     /* count: boxes */
    int busy;              /* not printed yet */
    int done;              /* the queue is done with it ... */
    reid_result result;    /* ... with this result */
} frame;

typedef struct track {
    int number, seen; /* number: 0 if this entry is unused; seen: the last frame */
    reid_box box;
    float *sum;       /* [dim]: the sum of its embeddings */
} track;

typedef struct camera {
    reid_queue *queue;
    FILE *boxes;
    int width, height, dim;
    int at, next[5], has_next;  /* at: the frame being read; next: the next box in the file, and its frame */
    frame frames[IN_FLIGHT];
    track tracks[TRACKS];
    int track_count;            /* numbers given so far */
    const char *names[KNOWN];
    float *known;               /* (known_count, dim) */
    int known_count, deadline_ms, in_time, late, dropped;
    reid_error error;
} camera;

/* Called on a thread of the queue, once for each frame that it has accepted. */
static void frame_done(reid_result result, void *user) {
    frame *f = (frame *)user;
    f->result = result;
    __atomic_store_n(&f->done, 1, __ATOMIC_RELEASE);
}

/* --- boxes and tracks --- */

/* Reads the next box. Returns 0 after printing that a line is invalid or out of order. */
static int next_box(camera *c) {
    char line[512];
    int id, *b = c->next, before = b[0];
    c->has_next = fgets(line, sizeof line, c->boxes) != NULL;
    if (!c->has_next) return 1;
    double at[4];
    int good = sscanf(line, "%d,%d,%lf,%lf,%lf,%lf", &b[0], &id, &at[0], &at[1], &at[2], &at[3]) == 6;
    for (int i = 0; i < 4 && good; i++) good = at[i] > -1e6 && at[i] < 1e6;
    for (int i = 0; i < 4 && good; i++) b[i + 1] = (int)floor(at[i] + 0.5) - (i < 2); /* pixels count from 1, too */
    if (!good || b[0] < 1 || b[0] < before || b[3] < 1 || b[4] < 1)
        return fprintf(stderr, "camera: boxes: not MOT text in the order of the frames: %s", line), 0;
    return 1;
}

/* Takes the boxes of the frame being read, at most BOXES. */
static int take_boxes(camera *c, frame *f) {
    f->count = 0;
    while (c->has_next && c->next[0] <= c->at) {
        const reid_box box = {c->next[1], c->next[2], c->next[3], c->next[4]};
        int inside = box.x < c->width && box.y < c->height && box.x + box.width > 0 && box.y + box.height > 0;
        if (c->next[0] == c->at && inside && f->count < BOXES) f->boxes[f->count++] = box;
        if (!next_box(c)) return 0;
    }
    return 1;
}

static double overlap(const reid_box *a, const reid_box *b) {
    double w = fmin(a->x + a->width, b->x + b->width) - fmax(a->x, b->x);
    double h = fmin(a->y + a->height, b->y + b->height) - fmax(a->y, b->y);
    double both = w > 0 && h > 0 ? w * h : 0;
    return both / ((double)a->width * a->height + (double)b->width * b->height - both);
}

/* Returns the track with the most overlap that is not in this frame yet, or a new one; NULL if all entries are used. */
static track *track_of(camera *c, const reid_box *box, int number) {
    track *best = NULL, *unused = NULL;
    double most = OVERLAP;
    for (track *t = c->tracks; t < c->tracks + TRACKS; t++) {
        if (t->number == 0 || number - t->seen > PATIENCE) {
            if (!unused) unused = t;
        } else if (t->seen < number && overlap(&t->box, box) >= most) {
            most = overlap(&t->box, box);
            best = t;
        }
    }
    if (!best && unused) {
        best = unused;
        best->number = ++c->track_count;
        memset(best->sum, 0, (size_t)c->dim * sizeof(float));
    }
    if (best) best->box = *box, best->seen = number;
    return best;
}

static void tell_frame(camera *c, const frame *f) {
    printf("frame %d:", f->number);
    for (int i = 0; i < f->count && f->result == REID_OK; i++) {
        track *t = track_of(c, &f->boxes[i], f->number);
        if (!t) continue;
        for (int k = 0; k < c->dim; k++) t->sum[k] += f->rows[i * c->dim + k];
        int best = 0;
        double most = -2;
        for (int k = 0; k < c->known_count; k++) {
            double cosine = reid_cosine(t->sum, c->known + (ptrdiff_t)k * c->dim, c->dim);
            if (cosine > most) most = cosine, best = k;
        }
        printf("%s track %d is %s %.2f", i ? "," : "", t->number, c->known_count ? c->names[best] : "unknown",
               c->known_count ? most : 0);
    }
    c->in_time += f->result == REID_OK;
    c->late += f->result == REID_ERR_EXPIRED;
    if (f->result == REID_ERR_EXPIRED) printf(" too late");
    else if (f->result != REID_OK) printf(" %s", reid_result_name(f->result));
    puts("");
    fflush(stdout); /* a live reader needs the line now */
}

/* Prints the frames that are done, in order. */
static void tell(camera *c, int from) {
    for (int i = 0; i < IN_FLIGHT; i++) {
        frame *f = &c->frames[(from + i) % IN_FLIGHT];
        if (!f->busy) continue;
        if (!__atomic_load_n(&f->done, __ATOMIC_ACQUIRE)) return;
        tell_frame(c, f);
        f->busy = 0;
    }
}

/* --- frames --- */

static void submit(camera *c, frame *f) {
    for (int i = 0; i < f->count; i++) {
        const reid_image image = {f->pixels, c->width, c->height, 0, REID_RGB8, &f->boxes[i]};
        f->images[i] = image;
    }
    reid_request request = REID_INIT;
    request.images = f->images;
    request.n = f->count;
    request.out = f->rows;
    request.deadline_us = 1000 * (int64_t)c->deadline_ms;
    request.done = frame_done;
    request.user = f;
    f->done = f->count == 0, f->result = REID_OK;
    f->busy = 1, f->number = c->at;
    reid_result r = f->count ? reid_submit(c->queue, &request, NULL, &c->error) : REID_OK;
    if (r == REID_ERR_FULL) f->busy = 0, c->dropped++;
    else if (r != REID_OK) frame_done(r, f);
}

/* Reads frames until the pipe ends. If all frames in flight are busy, drops a frame or, without a deadline, waits. */
static int watch(camera *c) {
    size_t size = (size_t)c->width * (size_t)c->height * 3, got;
    unsigned char *spare = (unsigned char *)malloc(size);
    int place = 0, good = spare && next_box(c);
    while (good && (got = fread(spare, 1, size, stdin)) == size) {
        frame *f = &c->frames[place];
        const struct timespec moment = {0, 1000000};
        c->at++;
        while (tell(c, place), f->busy && c->deadline_ms == 0) nanosleep(&moment, NULL);
        if (f->busy) {
            frame skipped;
            good = take_boxes(c, &skipped);
            c->dropped++;
            continue;
        }
        unsigned char *pixels = f->pixels;
        f->pixels = spare, spare = pixels;
        good = take_boxes(c, f);
        if (good) submit(c, f);
        place = (place + 1) % IN_FLIGHT;
    }
    reid_queue_drain(c->queue, -1);
    tell(c, place);
    if (good && got > 0) good = (fprintf(stderr, "camera: the last frame is cut off\n"), 0);
    free(spare);
    return good;
}

static void report(const camera *c, const reid_queue_stats *s) {
    uint64_t below = 0;
    int median = 0;
    for (; median < REID_LATENCIES - 1; median++)
        if (2 * (below += s->latencies[median]) >= s->requests) break;
    printf("%d frames: %d in time, %d too late, %d dropped; %.1f boxes in a batch", c->at, c->in_time, c->late,
           c->dropped, s->batches ? (double)s->computed / (double)s->batches : 0.0);
    if (s->requests) printf(", half of them within %.1f ms", (double)reid_latency_bound(median) * 1e-6);
    putchar('\n');
}

/* --- starting --- */

/* Adds the embedding of NAME=IMAGE to the known ones. */
static reid_result learn(camera *c, reid_ctx *ctx, char *argument) {
    char *equals = strchr(argument, '=');
    reid_image picture = REID_INIT;
    if (!equals || c->known_count == KNOWN) {
        snprintf(c->error.text, sizeof c->error.text, "%s: expected NAME=IMAGE, at most %d of them", argument, KNOWN);
        return REID_ERR_INVALID_ARG;
    }
    *equals = 0;
    c->names[c->known_count] = argument;
    reid_result r = reid_image_load(equals + 1, &picture, &c->error);
    if (r == REID_OK) r = reid_embed(ctx, &picture, 1, c->known + (ptrdiff_t)c->known_count * c->dim);
    reid_image_free(&picture);
    c->known_count++;
    return r;
}

static int make_room(camera *c) {
    size_t row = (size_t)c->dim * sizeof(float), good = 1;
    c->known = (float *)malloc(KNOWN * row);
    for (int i = 0; i < IN_FLIGHT; i++) {
        c->frames[i].rows = (float *)malloc(BOXES * row);
        c->frames[i].pixels = (unsigned char *)malloc((size_t)c->width * (size_t)c->height * 3);
        good &= c->frames[i].rows && c->frames[i].pixels;
    }
    for (int i = 0; i < TRACKS; i++) good &= (c->tracks[i].sum = (float *)malloc(row)) != NULL;
    return good && c->known;
}

static void free_room(camera *c) {
    for (int i = 0; i < IN_FLIGHT; i++) free(c->frames[i].rows), free(c->frames[i].pixels);
    for (int i = 0; i < TRACKS; i++) free(c->tracks[i].sum);
    free(c->known);
}

static int usage(const char *program) {
    fprintf(stderr, "usage: %s WEIGHTS WIDTHxHEIGHT BOXES.txt MILLISECONDS [NAME=IMAGE]... < FRAMES\n", program);
    return 2;
}

int main(int argc, char **argv) {
    static camera c;
    char rest;
    if (argc < 5 || sscanf(argv[2], "%5dx%5d%c", &c.width, &c.height, &rest) != 2 || c.width < 1 || c.height < 1 ||
        sscanf(argv[4], "%6d%c", &c.deadline_ms, &rest) != 1 || c.deadline_ms < 0)
        return usage(argv[0]);
    reid_desc desc = REID_INIT;
    reid_queue_desc how = REID_INIT;
    reid_queue_stats stats;
    reid_ctx *ctx;
    desc.weights = argv[1];
    desc.error = how.error = &c.error;
    c.boxes = fopen(argv[3], "r");
    if (!c.boxes) return fprintf(stderr, "camera: %s: cannot be opened\n", argv[3]), 1;

    reid_result r = reid_create(&desc, &ctx);
    c.dim = r == REID_OK ? reid_dim(ctx) : 0;
    if (r == REID_OK && !make_room(&c)) r = REID_ERR_OUT_OF_MEMORY;
    for (int i = 5; i < argc && r == REID_OK; i++) r = learn(&c, ctx, argv[i]);
    how.ctx = ctx;
    if (r == REID_OK) r = reid_queue_create(&how, &c.queue);
    if (r != REID_OK) fprintf(stderr, "camera: %s\n", c.error.text[0] ? c.error.text : reid_result_name(r));
    int good = r == REID_OK && watch(&c);
    if (good && reid_queue_query(c.queue, &stats) == REID_OK) report(&c, &stats);
    reid_queue_destroy(c.queue, 0);
    free_room(&c);
    reid_destroy(ctx);
    fclose(c.boxes);
    return !good;
}
