/* Demonstrates how to build a static program that needs nothing installed. It reads PPM frames and prints embeddings.

     cc -O2 -static static_tool.c -o static_tool -lm
     musl-gcc -O2 -static static_tool.c -o static_tool_musl -lm
     ffmpeg -i walk.mp4 -f image2pipe -c:v ppm - | ./static_tool resnet50.safetensors > walk.txt

   Prints a line of numbers for each frame. Reading the numbers gives the same bits again.

     build          size           runs on
     cc             718 KB         systems with this libc or newer
     cc -static     1.7 MB         any Linux on this architecture
     musl-gcc       779 KB         any Linux on this architecture

   A static program cannot load a GPU's driver, so REID_NO_CUDA leaves that part out.

   The frames are PPM because code that reads PPM takes only 20 lines. Any decoder can feed the pipe. */
#define REID_IMPLEMENTATION
#define REID_NO_CUDA
#include "../reid.h"

#include <ctype.h>

/* Reads one binary PPM into a buffer that is reused. Returns 1, 0 at the end of the input, or -1 with *why set. */
static int read_frame(FILE *in, reid_image *frame, unsigned char **pixels, const char **why) {
    int c = getc(in), maximum = 0;
    if (c == EOF) return 0;
    *why = "not a binary PPM (P6) with 8 bits per channel";
    if (c != 'P' || getc(in) != '6' || !isspace(getc(in))) return -1;
    if (fscanf(in, "%7d %7d %7d", &frame->width, &frame->height, &maximum) != 3 || !isspace(getc(in))) return -1;
    if (frame->width < 1 || frame->height < 1 || maximum != 255) return -1;

    *why = "out of memory";
    if ((size_t)frame->height > SIZE_MAX / 3 / (size_t)frame->width) return -1;
    size_t bytes = 3 * (size_t)frame->width * (size_t)frame->height;
    unsigned char *grown = (unsigned char *)realloc(*pixels, bytes);
    if (!grown) return -1;
    *pixels = grown;
    frame->pixels = grown;
    frame->format = REID_RGB8;

    *why = "the input ends within the frame";
    return fread(grown, 1, bytes, in) == bytes ? 1 : -1;
}

static void print_row(const float *row, int dim) {
    for (int i = 0; i < dim; i++) printf("%.9g%c", row[i], i + 1 < dim ? ' ' : '\n');
}

/* Returns 1 if a line was printed for every frame. */
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
