/* reid_group, and reid_search for every row's neighbours, as one of the programs that tools/peers/group.py starts.

     cc -O2 -std=c99 -D_GNU_SOURCE -I. tools/peers/group_ours.c -o group_ours -lm -lpthread -ldl
     ./group_ours group FILE COUNT DIM THREADS THRESHOLD OUT       OUT: uint32 [COUNT], the group of each row
     ./group_ours neighbours FILE COUNT DIM THREADS K OUT          OUT: uint32 [COUNT][K], best first

   FILE holds COUNT rows of DIM float32. Prints a line of JSON: the seconds of the calls alone, the most memory that the
   process has had before and after them, and for groups how many there are and how many joins made them.
   Exit status: 0; 1 something failed; 2 wrong usage. */
#define REID_STATIC
#define REID_NO_CUDA
#define REID_IMPLEMENTATION
#include "../../reid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct work {
    reid_rows rows;
    float *floats; /* (count, dim) */
    reid_desc desc;
    reid_error error;
    uint32_t *out;
    const char *out_path;
} work;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double cpu(void) { return (double)clock() / CLOCKS_PER_SEC; } /* of all threads */

static long peak_kb(void) {
    char line[256];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kb) == 1) break;
    if (f) fclose(f);
    return kb;
}

static int failed(const char *what, const char *why) {
    fprintf(stderr, "group_ours: %s: %s\n", what, why);
    return 1;
}

/* Returns 0 unless all of s is a number from least to most. */
static int number(const char *s, double least, double most, double *out) {
    char *end;
    *out = strtod(s, &end);
    return end != s && !*end && *out >= least && *out <= most;
}

static int whole(const char *s, double least, double most, double *out) {
    return number(s, least, most, out) && floor(*out) == *out;
}

static int read_rows(work *w, const char *path) {
    size_t values = w->rows.count * (size_t)w->rows.dim;
    FILE *f = fopen(path, "rb");
    if (!f) return failed(path, strerror(errno));
    w->rows.floats = w->floats = (float *)malloc(values * sizeof(float));
    int good = w->floats && fread(w->floats, sizeof(float), values, f) == values && fgetc(f) == EOF;
    fclose(f);
    return good ? 0 : failed(path, w->floats ? "does not hold that many rows" : "out of memory");
}

static int write_out(const work *w, size_t count) {
    FILE *f = fopen(w->out_path, "wb");
    int good = f && fwrite(w->out, sizeof *w->out, count, f) == count;
    if (f && fclose(f)) good = 0;
    return good ? 0 : failed(w->out_path, strerror(errno));
}

static int group(work *w, double threshold) {
    reid_group_desc how = REID_INIT;
    size_t joins = 0;
    uint32_t groups = 0;
    reid_merge *merges = (reid_merge *)malloc(w->rows.count * sizeof *merges);
    w->out = (uint32_t *)malloc(w->rows.count * sizeof *w->out);
    if (!merges || !w->out) {
        free(merges);
        return failed("group", "out of memory");
    }
    how.threshold = threshold;
    long before = peak_kb();
    double start = now(), cpu_start = cpu();
    reid_result r = reid_group(&w->desc, &w->rows, &how, w->out, merges, &joins);
    double seconds = now() - start, cpu_seconds = cpu() - cpu_start;
    free(merges);
    if (r != REID_OK) return failed(reid_result_name(r), w->error.text);
    for (size_t i = 0; i < w->rows.count; i++) groups = w->out[i] >= groups ? w->out[i] + 1 : groups;
    printf("{\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"before_kb\": %ld, \"peak_kb\": %ld, \"groups\": %u, "
           "\"joins\": %llu, \"version\": %d}\n",
           seconds, cpu_seconds, before, peak_kb(), groups, (unsigned long long)joins, reid_version());
    return write_out(w, w->rows.count);
}

static int search(work *w, int k, reid_hit *hits, int *found) {
    reid_index *index;
    reid_search_desc wanted = REID_INIT;
    int n = (int)w->rows.count;
    long before = peak_kb();
    double start = now();
    reid_result r = reid_index_create(&w->desc, &w->rows, &index);
    if (r != REID_OK) return failed(reid_result_name(r), w->error.text);
    double prepared = now(), cpu_start = cpu();
    wanted.k = k;
    r = reid_search(index, w->floats, n, &wanted, hits, found, &w->error);
    double end = now(), cpu_seconds = cpu() - cpu_start;
    reid_index_destroy(index);
    if (r != REID_OK) return failed(reid_result_name(r), w->error.text);
    printf("{\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"prepare_seconds\": %.6f, \"before_kb\": %ld, "
           "\"peak_kb\": %ld, \"version\": %d}\n",
           end - prepared, cpu_seconds, prepared - start, before, peak_kb(), reid_version());
    return 0;
}

static int neighbours(work *w, int k) {
    size_t count = w->rows.count * (size_t)k;
    reid_hit *hits = (reid_hit *)malloc(count * sizeof *hits);
    int *found = (int *)malloc(w->rows.count * sizeof *found);
    int status = hits && found ? search(w, k, hits, found) : failed("neighbours", "out of memory");
    w->out = status ? NULL : (uint32_t *)malloc(count * sizeof *w->out);
    if (!status && !w->out) status = failed("neighbours", "out of memory");
    for (size_t i = 0; !status && i < count; i++) w->out[i] = hits[i].row;
    free(hits);
    free(found);
    return status ? status : write_out(w, count);
}

int main(int argc, char **argv) {
    work w;
    double count, dim, threads, how;
    int groups = argc == 8 && strcmp(argv[1], "group") == 0;
    memset(&w, 0, sizeof w);
    if (!(groups || (argc == 8 && strcmp(argv[1], "neighbours") == 0)) || !whole(argv[3], 1, 1e8, &count) ||
        !whole(argv[4], 1, REID_MAX_DIM, &dim) || !whole(argv[5], 1, 1024, &threads) ||
        !(groups ? number(argv[6], -2, 2, &how) : whole(argv[6], 1, count, &how))) {
        fprintf(stderr, "usage: group_ours group|neighbours FILE COUNT DIM THREADS THRESHOLD|K OUT\n");
        return 2;
    }
    w.rows.count = (size_t)count;
    w.rows.dim = (int)dim;
    w.desc.device = REID_DEVICE_CPU;
    w.desc.threads = (int)threads;
    w.desc.error = &w.error;
    w.out_path = argv[7];
    int status = read_rows(&w, argv[2]);
    if (!status) status = groups ? group(&w, how) : neighbours(&w, (int)how);
    free(w.floats);
    free(w.out);
    return status;
}
