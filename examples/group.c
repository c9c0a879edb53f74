/* Demonstrates how to group embeddings by individual when no individual has a name, with pairs that are already known.

     cc -O2 group.c -o group -lm
     ./group

   The embeddings here are synthetic: 3,000 rows of 64 floats for 300 individuals. With a network, they come from
   reid_embed. Rows 0 and 1 are from the same photo, so they cannot be the same individual. Rows 10 and 2999 are from
   the same track, so they must be:

     3000 rows in 301 groups
     row 0 is in group 0 with 10 rows
     rows 0 and 1 are apart, rows 10 and 2999 are together
     2699 joins; the first: rows 10 and 2999, linked, score 0.0851

   There are 301 groups and not 300: the track ties row 2999 to row 10, so it is not in the group where it belongs. */
#define _GNU_SOURCE 1
#define REID_IMPLEMENTATION
#include "../reid.h"

enum { DIM = 64, ROWS = 3000, INDIVIDUALS = 300 };

/* A direction for the individual and a smaller one for the image. */
static void make_row(float *row, unsigned individual, unsigned picture) {
    unsigned a = individual * 2654435761u + 1, b = picture * 2246822519u + 7;
    for (int i = 0; i < DIM; i++) {
        a = a * 1664525u + 1013904223u;
        b = b * 1664525u + 1013904223u;
        row[i] = ((float)(a >> 8) / 8388608.0f - 1) + 0.6f * ((float)(b >> 8) / 8388608.0f - 1);
    }
}

int main(void) {
    static float rows[ROWS * DIM]; /* rows of any length, because only directions count */
    static uint32_t groups[ROWS];
    static reid_merge merges[ROWS];
    static const uint32_t track[] = {10, 2999}, photo[] = {0, 1};
    size_t merged, members = 0;
    uint32_t count = 0;
    for (unsigned i = 0; i < ROWS; i++) make_row(rows + i * DIM, i % INDIVIDUALS, i);

    reid_error error;
    reid_desc desc = REID_INIT;
    reid_rows all = REID_INIT;
    reid_group_desc how = REID_INIT;
    desc.error = &error;
    all.floats = rows, all.count = ROWS, all.dim = DIM;
    how.threshold = 0.5; /* `reid calibrate` finds the one for your network */
    how.must_link = track, how.must_links = 1;
    how.cannot_link = photo, how.cannot_links = 1;
    if (reid_group(&desc, &all, &how, groups, merges, &merged) != REID_OK) {
        fprintf(stderr, "group: %s\n", error.text);
        return 1;
    }
    for (int i = 0; i < ROWS; i++) {
        if (groups[i] >= count) count = groups[i] + 1;
        members += groups[i] == groups[0];
    }
    printf("%d rows in %u groups\n", ROWS, count);
    printf("row 0 is in group %u with %zu rows\n", groups[0], members);
    printf("rows 0 and 1 are %s, rows 10 and 2999 are %s\n", groups[0] == groups[1] ? "together" : "apart",
           groups[10] == groups[2999] ? "together" : "apart");
    printf("%zu joins; the first: rows %u and %u, %s, score %.4f\n", merged, merges[0].a, merges[0].b,
           merges[0].must_link ? "linked" : "by score", merges[0].score);
    return 0;
}
