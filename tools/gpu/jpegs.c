/* jpegs: draws images and writes them as JPEG files, to measure the way from files to embeddings.

     cc -O2 -std=c99 jpegs.c -o jpegs -lm
     ./jpegs DIR        64 files of 640x480 pixels in DIR/640x480, and 64 of 256x256 in DIR/256x256

   Smooth shapes with grain on them, quality 90: about as many bytes for a pixel as photographs have, because that
   determines how long decoding takes. The same call writes the same files. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#include <stb/stb_image_write.h>

enum { FILES = 64, MOST = 640 * 480 * 3, QUALITY = 90 };

static unsigned state = 1;

static double grain(void) {
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / 8388608.0 - 1;
}

static void draw(unsigned char *pixels, int width, int height, int number) {
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            double shape = sin(0.011 * (number + 3) * x + 0.02 * y) + cos(0.013 * (number % 7 + 2) * y - 0.004 * x);
            for (int c = 0; c < 3; c++) {
                double value = 128 + 40 * shape + 20 * c * sin(0.05 * (x - y) + number) + 14 * grain();
                pixels[3 * (y * width + x) + c] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
            }
        }
    }
}

static int make_folder(const char *path) {
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return 1;
    perror(path);
    return 0;
}

static int write_files(const char *dir, int width, int height) {
    static unsigned char pixels[MOST];
    char path[4096];
    snprintf(path, sizeof path, "%s/%dx%d", dir, width, height);
    if (!make_folder(path)) return 0;
    for (int i = 0; i < FILES; i++) {
        draw(pixels, width, height, i);
        snprintf(path, sizeof path, "%s/%dx%d/%02d.jpg", dir, width, height, i);
        if (stbi_write_jpg(path, width, height, 3, pixels, QUALITY)) continue;
        fprintf(stderr, "jpegs: %s cannot be written\n", path);
        return 0;
    }
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: jpegs DIR\n");
        return 2;
    }
    return !(make_folder(argv[1]) && write_files(argv[1], 640, 480) && write_files(argv[1], 256, 256));
}
