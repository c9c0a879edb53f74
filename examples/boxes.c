/* Demonstrates how to embed many detections in one video frame with one call, without copying the crops.

     cc -O2 boxes.c -o boxes -lm
     ./boxes resnet50.safetensors frame.jpg 40,60,120,260 310,55,118,270 505,80,96,240

   A box is x,y,width,height in pixels from the top left corner. Prints the cosine of every pair of boxes:

             box  0 box  1 box  2
     box  0  1.0000 0.8731 0.8022
     box  1  0.8731 1.0000 0.7956
     box  2  0.8022 0.7956 1.0000 */
#define _GNU_SOURCE 1
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define REID_IMPLEMENTATION
#include "../reid.h"

static int parse_box(const char *text, reid_box *box) {
    char rest;
    return sscanf(text, "%d,%d,%d,%d%c", &box->x, &box->y, &box->width, &box->height, &rest) == 4;
}

/* rows: (n, dim), one embedding for each box. */
static void print_cosines(const float *rows, int n, int dim) {
    printf("       ");
    for (int i = 0; i < n; i++) printf(" %3s%3d", "box", i);
    for (int i = 0; i < n; i++) {
        const float *row = rows + (size_t)i * (size_t)dim;
        printf("\nbox%3d ", i);
        for (int k = 0; k < n; k++) printf(" %.4f", reid_cosine(row, rows + (size_t)k * (size_t)dim, dim));
    }
    putchar('\n');
}

/* The frame is decoded once. All images have the same pixels, each with its own box. */
static reid_result run(reid_ctx *ctx, const char *path, const reid_box *boxes, int n, reid_error *error) {
    int dim = reid_dim(ctx);
    reid_image frame;
    reid_image *images = (reid_image *)calloc((size_t)n, sizeof *images);
    float *rows = (float *)malloc((size_t)n * (size_t)dim * sizeof *rows);
    reid_result r = reid_image_load(path, &frame, error);
    if (r == REID_OK) {
        for (int i = 0; images && i < n; i++) {
            images[i] = frame;
            images[i].box = &boxes[i];
        }
        r = reid_embed_ex(ctx, images, n, rows, error);
    }
    if (r == REID_OK) print_cosines(rows, n, dim);
    reid_image_free(&frame);
    free(rows);
    free(images);
    return r;
}

int main(int argc, char **argv) {
    reid_box boxes[64];
    int n = argc - 3, limit = (int)(sizeof boxes / sizeof *boxes);
    if (n < 1 || n > limit) {
        fprintf(stderr, "usage: %s WEIGHTS FRAME X,Y,WIDTH,HEIGHT ... (at most %d boxes)\n", argv[0], limit);
        return 2;
    }
    for (int i = 0; i < n; i++) {
        if (!parse_box(argv[3 + i], &boxes[i])) {
            fprintf(stderr, "boxes: \"%s\" is not a box; expected X,Y,WIDTH,HEIGHT\n", argv[3 + i]);
            return 2;
        }
    }
    reid_error error;
    reid_desc desc = REID_INIT;
    reid_ctx *ctx;
    desc.weights = argv[1];
    desc.error = &error;

    reid_result r = reid_create(&desc, &ctx);
    if (r == REID_OK) r = run(ctx, argv[2], boxes, n, &error);
    reid_destroy(ctx);
    if (r != REID_OK) fprintf(stderr, "boxes: %s\n", error.text); /* gives the index of the box */
    return r != REID_OK;
}
