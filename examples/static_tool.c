/* Demonstrates how to build one file that needs nothing installed: PPM frames in, one line of numbers for each out.

     cc -O2 -static static_tool.c -o static_tool -lm
     musl-gcc -O2 -static static_tool.c -o static_tool_musl -lm
     ffmpeg -i walk.mp4 -f image2pipe -c:v ppm - | ./static_tool resnet50.safetensors > walk.txt

   Prints each frame as a line of numbers that read back to the same bits.

     build          size           runs on
     cc             718 KB         systems with this libc or newer
     cc -static     1.7 MB         any Linux of this architecture
     musl-gcc       779 KB         any Linux of this architecture

   A static program cannot load a GPU's driver: REID_NO_CUDA leaves that part out.

   The frames are PPM because that takes 20 lines to read. Any decoder can stand before the pipe. */
#define REID_IMPLEMENTATION
#define REID_NO_CUDA
#include "../reid.h"

#include <ctype.h>

/* Reads one binary PPM into a buffer that is used again. Returns 1; 0 at the end of the input; -1 with *why set. */
static int read_frame(FILE *in, reid_image *frame, unsigned char **pixels, const char **why) {
    int c = getc(in), maximum = 0;
    if (c == EOF) return 0;
    *why = "not a binary PPM (P6) of 8 bits a channel";
    if (c != 'P' || getc(in) != '6' || !isspace(getc(in))) return -1;
    if (fscanf(in, "%7d %7d %7d", &frame->width, &frame->height, &maximum) != 3 || !isspace(getc(in))) return -1;
    if (frame->width < 1 || frame->height < 1 || maximum != 255) return -1;

    *why = "no memory for it";
    if ((size_t)frame->height > SIZE_MAX / 3 / (size_t)frame->width) return -1;
    size_t bytes = 3 * (size_t)frame->width * (size_t)frame->height;
    unsigned char *grown = (unsigned char *)realloc(*pixels, bytes);
    if (!grown) return -1;
    *pixels = grown;
    frame->pixels = grown;
    frame->format = REID_RGB8;

    *why = "the input ends within it";
    return fread(grown, 1, bytes, in) == bytes ? 1 : -1;
}

static void print_row(const float *row, int dim) {
    for (int i = 0; i < dim; i++) printf("%.9g%c", row[i], i + 1 < dim ? ' ' : '\n');
}

/* Returns 1 when every frame has its line. */
static int run(reid_ctx *ctx, float *row, FILE *in) {
    reid_image frame = REID_INIT;
    unsigned char *pixels = NULL;
    const char *why = NULL;
    reid_error error;
    int got, count = 0;
    while ((got = read_frame(in, &frame, &pixels, &why)) == 1) {
        if (reid_embed_ex(ctx, &frame, 1, row, &error) != REID_OK) {
            why = error.text;
            got = -1;
            break;
        }
        print_row(row, reid_dim(ctx));
        count++;
    }
    free(pixels);
    if (got < 0) fprintf(stderr, "static_tool: frame %d: %s\n", count + 1, why);
    return got == 0;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s WEIGHTS < FRAMES.ppm > ROWS.txt\n", argv[0]);
        return 2;
    }
    reid_error error;
    reid_desc desc = REID_INIT;
    reid_ctx *ctx;
    desc.weights = argv[1];
    desc.error = &error;
    if (reid_create(&desc, &ctx) != REID_OK) {
        fprintf(stderr, "static_tool: %s\n", error.text);
        return 1;
    }
    float *row = (float *)malloc((size_t)reid_dim(ctx) * sizeof *row);
    int ok = run(ctx, row, stdin);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "static_tool: cannot write the result\n");
        ok = 0;
    }
    free(row);
    reid_destroy(ctx);
    return !ok;
}
