/* Demonstrates how to turn an image into an embedding: a vector of numbers that can be compared with others.

     cc -O2 hello.c -o hello -lm
     ./hello resnet50.safetensors deer.jpg

   Prints "2048 numbers: 0.0213 0.0058 0.0311 ...". With a glibc before 2.34, add -pthread -ldl to the compile line. */
#define _GNU_SOURCE 1 /* before the first system header: stb_image.h includes some */
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define REID_IMPLEMENTATION
#include "../reid.h"

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s WEIGHTS IMAGE\n", argv[0]);
        return 2;
    }
    reid_error error;
    reid_image picture = REID_INIT;
    reid_ctx *ctx;
    reid_desc desc = REID_INIT; /* all zeros, which means the defaults */
    desc.weights = argv[1];
    desc.error = &error;

    reid_result r = reid_create(&desc, &ctx);
    float *embedding = (float *)malloc((size_t)reid_dim(ctx) * sizeof *embedding);
    if (r == REID_OK) r = reid_image_load(argv[2], &picture, &error);
    if (r == REID_OK) r = reid_embed_ex(ctx, &picture, 1, embedding, &error);

    if (r != REID_OK) fprintf(stderr, "hello: %s\n", error.text);
    else printf("%d numbers: %.4f %.4f %.4f ...\n", reid_dim(ctx), embedding[0], embedding[1], embedding[2]);

    free(embedding);
    reid_image_free(&picture);
    reid_destroy(ctx);
    return r != REID_OK;
}
