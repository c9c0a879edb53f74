/* Demonstrates how to search a gallery of embeddings, exactly and in memory: for the best templates, for the best
   identities, with some rows excluded, and for an identity that is enrolled later.

     cc -O2 search.c -o search -lm
     ./search

   The embeddings here are synthetic: 100,000 rows of 128 floats for 10,000 identities. With a network, they come from
   reid_embed. The first query is a noisy copy of row 4242:

     templates   row   4242  identity    424  score 0.9825
                 row   4241  identity    424  score 0.9338
                 row   4245  identity    424  score 0.9337
     identities  row   4242  identity    424  score 0.9825
                 row  89324  identity   8932  score 0.3858
                 row  83376  identity   8337  score 0.3704
     without it  row   4241  identity    424  score 0.9338
                 row  89324  identity   8932  score 0.3858
                 row  83376  identity   8337  score 0.3704
     100000 rows, 32 queries: 17.2 ms of all CPUs
     a stranger  row  67710  identity   6771  score 0.3576
     enrolled    row 100000  identity  10000  score 0.9808 */
#define _GNU_SOURCE 1
#define REID_IMPLEMENTATION
#include "../reid.h"

enum { DIM = 128, ROWS = 100000, PER_IDENTITY = 10, K = 3, QUERIES = 32 };

/* A row of length 1: 0.8 times the identity's direction, 0.2 times the image's direction, plus noise. */
static void make_row(float *row, unsigned identity, unsigned picture, float noise) {
    double sum = 0;
    unsigned a = identity * 2654435761u + 1, b = picture * 2246822519u + 7;
    for (int i = 0; i < DIM; i++) {
        a = a * 1664525u + 1013904223u;
        b = b * 1664525u + 1013904223u;
        row[i] = 0.8f * ((float)(a >> 8) / 8388608.0f - 1) + 0.2f * ((float)(b >> 8) / 8388608.0f - 1);
        row[i] += i % 2 ? noise : -noise;
        sum += (double)row[i] * row[i];
    }
    for (int i = 0; i < DIM; i++) row[i] = (float)(row[i] / sqrt(sum));
}

/* Excludes row 4242 from the first query's results, as if both were the same image. */
static int same_picture(int query, size_t row, void *user) {
    (void)user;
    return query == 0 && row == 4242;
}

/* Searches for the first query and prints the result. */
static int show(reid_index *index, const float *queries, const char *what, reid_search_desc search) {
    reid_hit hits[K];
    int found;
    reid_error error;
    if (!search.k) search.k = K;
    if (reid_search(index, queries, 1, &search, hits, &found, &error) != REID_OK) {
        fprintf(stderr, "search: %s\n", error.text);
        return 0;
    }
    for (int i = 0; i < found; i++)
        printf("%-11s row %6u  identity %6u  score %.4f\n", i ? "" : what, (unsigned)hits[i].row,
               (unsigned)hits[i].group, hits[i].score);
    return 1;
}

static int search_all(reid_index *index, const float *queries) {
    reid_hit hits[QUERIES * K];
    int found[QUERIES];
    reid_search_desc search = REID_INIT;
    search.k = K;
    if (!show(index, queries, "templates", search)) return 0;
    search.scoring = REID_GROUP_MAX; /* an identity has the score of its best template */
    if (!show(index, queries, "identities", search)) return 0;
    search.exclude = same_picture; /* other uses: exclude the same camera, or the same minute */
    if (!show(index, queries, "without it", search)) return 0;

    clock_t start = clock();
    if (reid_search(index, queries, QUERIES, &search, hits, found, NULL) != REID_OK) return 0;
    printf("%d rows, %d queries: %.1f ms of all CPUs\n", ROWS, QUERIES,
           1e3 * (double)(clock() - start) / CLOCKS_PER_SEC);
    return 1;
}

/* Searches for an individual that the gallery does not have, adds it, and searches again. */
static int enrol(reid_index *index, float *rows, uint32_t *identities) {
    float query[DIM];
    reid_error error;
    reid_search_desc best = REID_INIT;
    const reid_rows more = {rows, NULL, ROWS + 1, DIM, identities}; /* all rows, the new ones last */
    best.k = 1, best.scoring = REID_GROUP_MAX;
    make_row(query, ROWS / PER_IDENTITY, ROWS, 0.1f);
    if (!show(index, query, "a stranger", best)) return 0;
    make_row(rows + (size_t)ROWS * DIM, ROWS / PER_IDENTITY, ROWS, 0);
    identities[ROWS] = ROWS / PER_IDENTITY;
    if (reid_index_grow(index, &more, &error) != REID_OK) {
        fprintf(stderr, "search: %s\n", error.text);
        return 0;
    }
    return show(index, query, "enrolled", best);
}

int main(void) {
    float *rows = (float *)malloc(((size_t)ROWS + 1) * DIM * sizeof *rows);
    float *queries = (float *)malloc((size_t)QUERIES * DIM * sizeof *queries);
    uint32_t *identities = (uint32_t *)malloc((ROWS + 1) * sizeof *identities);
    if (!rows || !queries || !identities) return 1;
    for (uint32_t i = 0; i < ROWS; i++) {
        make_row(rows + (size_t)i * DIM, i / PER_IDENTITY, i, 0);
        identities[i] = i / PER_IDENTITY;
    }
    for (unsigned q = 0; q < QUERIES; q++) {
        unsigned row = (4242 + q * 3000) % ROWS;
        make_row(queries + (size_t)q * DIM, row / PER_IDENTITY, row, 0.1f);
    }

    reid_error error;
    reid_desc desc = REID_INIT;
    reid_index *index;
    reid_rows gallery = {rows, NULL, ROWS, DIM, identities}; /* borrowed until reid_index_destroy */
    desc.error = &error;
    int ok = reid_index_create(&desc, &gallery, &index) == REID_OK;
    if (ok) ok = search_all(index, queries) && enrol(index, rows, identities);
    else fprintf(stderr, "search: %s\n", error.text);
    reid_index_destroy(index);
    free(rows), free(queries), free(identities);
    return !ok;
}
