/* queue: measures what the queue costs compared with reid_embed, in one process and in turns.

     queue WEIGHTS PRESET ROUNDS      one JSON object on stdout

   A round is one image by reid_embed and one by reid_submit, each after a pause in which everything falls asleep, as
   happens at low load; a call with 8 images; and 8 full batches by reid_embed and by as many requests of one image,
   which keeps the queue saturated. Times are medians in microseconds over the rounds.

   cc -O2 -std=c99 -D_GNU_SOURCE -I. tools/peers/serving/queue.c -o queue -lm -lpthread -ldl */
#define REID_IMPLEMENTATION
#include "reid.h"

#define SIDE 256
#define MOST 2048 /* images in flight */
#define EIGHT 8

typedef struct bench {
    reid_ctx *ctx;
    reid_queue *queue;
    reid_info info;
    reid_image images[MOST];
    float *rows; /* (MOST, dim) */
    int left;    /* unfinished requests */
} bench;

static void done(reid_result result, void *user) {
    bench *b = (bench *)user;
    if (result != REID_OK) fprintf(stderr, "queue: %s\n", reid_result_string(result)), exit(1);
    __atomic_sub_fetch(&b->left, 1, __ATOMIC_SEQ_CST);
}

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void pause_ms(int ms) {
    const struct timespec pause = {0, ms * 1000000};
    nanosleep(&pause, NULL);
}

static double direct(bench *b, int n) {
    double begin = now_us();
    if (reid_embed(b->ctx, b->images, n, b->rows) != REID_OK) exit(1);
    return now_us() - begin;
}

/* Submits one request and waits for it. */
static double waited(bench *b) {
    reid_request request = REID_INIT;
    request.images = b->images, request.n = 1, request.out = b->rows;
    double begin = now_us();
    if (reid_submit(b->queue, &request, NULL, NULL) != REID_OK) exit(1);
    return now_us() - begin;
}

/* Submits n requests of one image. */
static double saturated(bench *b, int n) {
    double begin = now_us();
    b->left = n;
    for (int i = 0; i < n; i++) {
        reid_request request = REID_INIT;
        request.images = &b->images[i], request.n = 1, request.out = b->rows + (size_t)i * (size_t)b->info.dim;
        request.done = done, request.user = b;
        if (reid_submit(b->queue, &request, NULL, NULL) != REID_OK) exit(1);
    }
    while (__atomic_load_n(&b->left, __ATOMIC_SEQ_CST) > 0) pause_ms(1);
    return now_us() - begin;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, by_size);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static int open_all(bench *b, const char *weights, const char *preset) {
    reid_error error;
    reid_desc desc = REID_INIT;
    reid_queue_desc how = REID_INIT;
    desc.weights = weights, desc.preset = preset, desc.device = REID_DEVICE_CPU;
    desc.error = how.error = &error;
    reid_result r = reid_create(&desc, &b->ctx);
    how.ctx = b->ctx, how.limit = MOST;
    if (r == REID_OK) r = reid_queue_create(&how, &b->queue);
    if (r != REID_OK) fprintf(stderr, "queue: %s\n", error.text);
    return r == REID_OK && reid_query_desc(b->ctx, &b->info) == REID_OK;
}

int main(int argc, char **argv) {
    static bench b;
    int rounds = argc == 4 ? atoi(argv[3]) : 0;
    if (rounds < 1 || rounds > 10000) {
        fprintf(stderr, "usage: queue WEIGHTS PRESET ROUNDS\n");
        return 2;
    }
    if (!open_all(&b, argv[1], argv[2])) return 1;
    uint8_t *pixels = (uint8_t *)malloc((size_t)SIDE * SIDE * 3);
    double *times[5];
    b.rows = (float *)malloc((size_t)MOST * (size_t)b.info.dim * sizeof *b.rows);
    for (int i = 0; i < 5; i++) times[i] = (double *)malloc((size_t)rounds * sizeof *times[i]);
    for (int i = 0; i < SIDE * SIDE * 3; i++) pixels[i] = (uint8_t)((unsigned)i * 2654435761u >> 24);
    for (int i = 0; i < MOST; i++) b.images[i].pixels = pixels, b.images[i].width = b.images[i].height = SIDE;
    int full = 8 * b.info.batch;
    direct(&b, full), saturated(&b, full), waited(&b);
    for (int i = 0; i < rounds; i++) {
        pause_ms(5);
        times[0][i] = direct(&b, 1);
        pause_ms(5);
        times[1][i] = waited(&b);
        times[2][i] = direct(&b, EIGHT);
        times[3][i] = direct(&b, full);
        times[4][i] = saturated(&b, full);
    }
    double one = median(times[0], rounds), queued = median(times[1], rounds), eight = median(times[2], rounds);
    double all = median(times[3], rounds), all_queued = median(times[4], rounds);
    printf("{\"batch\": %d, \"threads\": %d, \"one_us\": %.1f, \"one_by_queue_us\": %.1f, \"added_us\": %.1f, "
           "\"eight_us\": %.1f, \"full_us\": %.1f, \"full_by_queue_us\": %.1f, \"throughput_ratio\": %.4f}\n",
           b.info.batch, b.info.threads, one, queued, queued - one, eight, all, all_queued, all / all_queued);
    reid_queue_destroy(b.queue, -1);
    reid_destroy(b.ctx);
    for (int i = 0; i < 5; i++) free(times[i]);
    free(b.rows);
    free(pixels);
    return 0;
}
