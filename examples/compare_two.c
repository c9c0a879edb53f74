/* Demonstrates how to compare two images.

     cc -O2 compare_two.c -o compare_two -lm
     ./compare_two resnet50.safetensors left.jpg right.jpg

   Prints the cosine of the two embeddings, which is 1 for equal images, and a warning:

     cosine 0.8731
     This alone decides nothing: many networks give two strangers 0.9. Compare it with pairs that you know. */
#define _GNU_SOURCE 1
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define REID_IMPLEMENTATION
#include "../reid.h"

/* Both images go through the network in one call. *cosine is set on success. */
static reid_result compare(reid_ctx *ctx, const char *const paths[2], double *cosine, reid_error *error) {
    int dim = reid_dim(ctx);
    float *rows = (float *)malloc(2 * (size_t)dim * sizeof *rows); /* (2, dim) */
    reid_image pictures[2] = REID_INIT;
    reid_result r = reid_image_load(paths[0], &pictures[0], error);
    if (r == REID_OK) r = reid_image_load(paths[1], &pictures[1], error);
    if (r == REID_OK) r = reid_embed_ex(ctx, pictures, 2, rows, error);
    if (r == REID_OK) *cosine = reid_cosine(rows, rows + dim, dim);
    reid_image_free(&pictures[0]);
    reid_image_free(&pictures[1]);
    free(rows);
    return r;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s WEIGHTS IMAGE IMAGE\n", argv[0]);
        return 2;
    }
    const char *const paths[2] = {argv[2], argv[3]};
    double cosine = 0;
    reid_error error;
    reid_desc desc = REID_INIT;
    reid_ctx *ctx;
    desc.weights = argv[1];
    desc.error = &error;

    reid_result r = reid_create(&desc, &ctx);
    if (r == REID_OK) r = compare(ctx, paths, &cosine, &error);
    reid_destroy(ctx);
    if (r != REID_OK) {
        fprintf(stderr, "compare_two: %s\n", error.text);
        return 1;
    }
    printf("cosine %.4f\n", cosine);
    puts("This alone decides nothing: many networks give two strangers 0.9. Compare it with pairs that you know.");
    return 0;
}
