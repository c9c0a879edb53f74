/* eval_files.c: makes embeddings files as `reid embed` does, for tests of reid eval and reid calibrate.

   cc -std=c99 -D_GNU_SOURCE -O1 tests/lib/eval_files.c -o build/eval_files -lm

   eval_files OUT.npy DIM[+DIM] SEED NOISE [nan] < LIST one "id identity" a line eval_files OUT.npy DIM[+DIM] SEED NOISE
   market QUERIES GALLERY

   A row is the direction of its identity plus NOISE of another, of length 1; with two DIM, each part is. An image of
   identity 0000 has its own direction. nan: the second row contains a NaN. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(int ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "eval_files: %s\n", what);
    exit(1);
}

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double uniform(uint64_t *state) { return (double)(next(state) >> 11) * 0x1p-53 - 0.5; }

typedef struct output {
    FILE *npy, *ids, *identities;
    int parts, dim[2];
    uint64_t seed;
    double noise;
    size_t rows;
    int with_nan;
} output;

static void add_row(output *o, const char *id, const char *identity) {
    uint64_t who = 5381;
    for (const char *c = identity; *c; c++) who = who * 33 + (unsigned char)*c;
    if (strcmp(identity, "0000") == 0) who = next(&o->seed);
    for (int part = 0; part < o->parts; part++) {
        float row[4096];
        double sum = 0;
        for (int k = 0; k < o->dim[part]; k++) {
            double value = uniform(&who) + o->noise * uniform(&o->seed);
            row[k] = (float)value;
            sum += value * value;
        }
        for (int k = 0; k < o->dim[part]; k++) row[k] /= (float)sqrt(sum);
        if (o->with_nan && o->rows == 1) row[0] = NAN;
        need(fwrite(row, 4, (size_t)o->dim[part], o->npy) == (size_t)o->dim[part], "cannot write");
    }
    fprintf(o->ids, "%s\n", id);
    fprintf(o->identities, "%s\"%s\"", o->rows++ ? ", " : "", identity);
}

static void add_market(output *o, int queries, int gallery) {
    for (int i = 0; i < queries + gallery; i++) {
        char id[96], who[16];
        snprintf(who, sizeof who, "%04d", i >= queries && i % 6 == 0 ? 0 : 1 + (int)(next(&o->seed) % 750));
        snprintf(id, sizeof id, "market/%s/%s_c%ds1_%06d_00.jpg", i < queries ? "query" : "bounding_box_test", who,
                 1 + (int)(next(&o->seed) % 6), i);
        add_row(o, id, who);
    }
}

static void add_list(output *o) {
    char line[4096], *space;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        need((space = strrchr(line, ' ')) != NULL, "a line without a space");
        *space = 0;
        add_row(o, line, space + 1);
    }
}

static FILE *open_beside(const char *npy, const char *ending) {
    char name[1024];
    snprintf(name, sizeof name, "%.*s%s", (int)strlen(npy) - 4, npy, ending);
    FILE *f = fopen(name, "wb");
    need(f != NULL, name);
    return f;
}

/* The 128 bytes before the data. */
static void write_header(output *o) {
    char header[129];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\1\0\x76\0", 10);
    int n = sprintf(header + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %d), }", o->rows,
                    o->dim[0] + o->dim[1]);
    header[10 + n] = ' ';
    header[127] = '\n';
    rewind(o->npy);
    need(fwrite(header, 1, 128, o->npy) == 128, "cannot write");
}

static void write_meta(output *o, FILE *meta) {
    fprintf(meta, "{\"format\": \"reid-embeddings\", \"format_version\": 1, \"rows\": %zu, \"dim\": %d, \"models\": [",
            o->rows, o->dim[0] + o->dim[1]);
    for (int m = 0; m < o->parts; m++)
        fprintf(meta, "%s{\"fingerprint\": \"%032d\", \"network\": \"test\", \"preset\": \"test\", \"precision\": "
                      "\"fp32\", \"device\": \"cpu\", \"dim\": %d}", m ? ", " : "", o->dim[m], o->dim[m]);
    fprintf(meta, "], \"identities\": [");
    char block[4096];
    size_t n;
    rewind(o->identities);
    while ((n = fread(block, 1, sizeof block, o->identities)) > 0) fwrite(block, 1, n, meta);
    fprintf(meta, "]}\n");
}

int main(int argc, char **argv) {
    output o = {NULL, NULL, tmpfile(), 1, {0, 0}, 0, 0, 0, 0};
    char header[128] = {0};
    need(argc >= 5, "see the head of tests/lib/eval_files.c");
    if (sscanf(argv[2], "%d+%d", &o.dim[0], &o.dim[1]) == 2) o.parts = 2;
    need(o.dim[0] > 0 && o.dim[0] <= 4096 && o.dim[1] <= 4096 && o.identities, "DIM");
    o.seed = strtoull(argv[3], NULL, 10);
    o.noise = atof(argv[4]);
    o.with_nan = argc == 6 && strcmp(argv[5], "nan") == 0;
    o.npy = fopen(argv[1], "wb");
    need(o.npy && fwrite(header, 1, 128, o.npy) == 128, argv[1]);
    o.ids = open_beside(argv[1], ".ids.txt");
    if (argc == 8) add_market(&o, atoi(argv[6]), atoi(argv[7]));
    else add_list(&o);
    write_header(&o);
    FILE *meta = open_beside(argv[1], ".meta.json");
    write_meta(&o, meta);
    need(fclose(o.npy) == 0 && fclose(o.ids) == 0 && fclose(meta) == 0, "cannot write");
    return 0;
}
