/* cli_files.c: makes and reads the files of the t_cli tests.

   cc -std=c99 -D_GNU_SOURCE -O1 -I. tests/lib/cli_files.c -o build/cli_files -lm -lpthread

   cli_files weights OUT NETWORK none|file SEED [METADATA]   seeded checkpoint; METADATA: members of __metadata__
   cli_files picture OUT WIDTH HEIGHT SEED                   stripes and blobs; .png .jpg .bmp .tga .ppm
   cli_files exif IN.jpg OUT.jpg ORIENTATION II|MM           adds an EXIF segment
   cli_files upright IN OUT.png ORIENTATION                  turned as EXIF says, by the definition
   cli_files crop IN OUT.png X Y WIDTH HEIGHT
   cli_files rows FILE.npy                                   one line of comma-separated floats per row */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"

#include "../lib/test_net.h"

#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>

static void need(int ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "cli_files: %s\n", what);
    exit(1);
}

static void write_file(const char *path, const void *bytes, size_t size) {
    FILE *f = fopen(path, "wb");
    need(f != NULL, path);
    need(fwrite(bytes, 1, size, f) == size && fclose(f) == 0, path);
}

static unsigned char *read_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    need(f != NULL, path);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    unsigned char *bytes = (unsigned char *)malloc(*size + 1);
    need(bytes && fread(bytes, 1, *size, f) == *size, path);
    fclose(f);
    return bytes;
}

/* Convolutions times `gain`, so that images still differ after 80 layers. Tensors are in the order of the plan. */
static void amplify(net_file *file, const char *network, reid_head head, float gain) {
    static reid__plan plan;
    static reid__needed_tensor wants[REID__MAX_OPS * 5];
    uint64_t header = 0;
    memcpy(&header, file->bytes, 8);
    unsigned char *at = file->bytes + 8 + header;
    for (int i = 0; i < REID__ARCHS; i++)
        if (strcmp(reid__archs[i].name, network) == 0)
            reid__plan_build(&plan, &reid__archs[i], 224, 224, 2, head, NULL);
    int count = net_wants(&plan, wants);
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < net_count(&wants[i]); k++, at += sizeof(float)) {
            float value;
            memcpy(&value, at, sizeof value);
            if (wants[i].ndim == 4) value *= gain;
            memcpy(at, &value, sizeof value);
        }
}

static void make_weights(char **a, int n) {
    net_options o;
    reid_head head = a[2][0] == 'f' ? REID_HEAD_FILE : REID_HEAD_NONE;
    memset(&o, 0, sizeof o);
    if (n > 4) o.metadata = a[4];
    net_file file = net_for(a[1], head, strtoull(a[3], NULL, 10), &o);
    need(file.bytes != NULL, "no such network");
    amplify(&file, a[1], head, 2.0f);
    write_file(a[0], file.bytes, file.size);
    free(file.bytes);
}

static void save_picture(const char *path, int w, int h, const unsigned char *rgb) {
    const char *dot = strrchr(path, '.');
    int good = 1;
    if (strcmp(dot, ".jpg") == 0) good = stbi_write_jpg(path, w, h, 3, rgb, 90);
    else if (strcmp(dot, ".bmp") == 0) good = stbi_write_bmp(path, w, h, 3, rgb);
    else if (strcmp(dot, ".tga") == 0) good = stbi_write_tga(path, w, h, 3, rgb);
    else if (strcmp(dot, ".png") == 0) good = stbi_write_png(path, w, h, 3, rgb, 0);
    else {
        FILE *f = fopen(path, "wb");
        size_t size = (size_t)w * (size_t)h * 3;
        good = f && fprintf(f, "P6\n%d %d\n255\n", w, h) > 0 && fwrite(rgb, 1, size, f) == size && fclose(f) == 0;
    }
    need(good, path);
}

/* Three waves a channel, whose directions and lengths come from the seed: smooth, so that JPEG keeps it. */
static void make_picture(char **a) {
    int w = atoi(a[1]), h = atoi(a[2]);
    uint64_t seed = net_hash(strtoull(a[3], NULL, 10) + 1, "picture");
    unsigned char *rgb = (unsigned char *)malloc((size_t)w * (size_t)h * 3);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int c = 0; c < 3; c++) {
                double sum = 0;
                for (size_t k = 0; k < 3; k++) {
                    size_t at = 6 * (size_t)c + 2 * k;
                    double fx = 9 * net_random(seed, at), fy = 9 * net_random(seed, at + 7);
                    sum += sin(fx * x / w + fy * y / h + (double)k);
                }
                rgb[((size_t)y * (size_t)w + (size_t)x) * 3 + (size_t)c] = (unsigned char)(128 + 40 * sum);
            }
    save_picture(a[0], w, h, rgb);
    free(rgb);
}

/* An APP1 segment right after the start marker, with a second tag before the orientation. */
static void add_exif(char **a) {
    static const unsigned char little[] = {'I', 'I', 42, 0, 8, 0, 0, 0, 2, 0,
        0x0f, 1, 2, 0, 1, 0, 0, 0, 'x', 0, 0, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    static const unsigned char big[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 2,
        1, 0x0f, 0, 2, 0, 0, 0, 1, 'x', 0, 0, 0, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
    unsigned char segment[10 + sizeof little] = {0xff, 0xe1, 0, sizeof segment - 2, 'E', 'x', 'i', 'f', 0, 0};
    size_t size;
    unsigned char *jpeg = read_file(a[0], &size), *out = (unsigned char *)malloc(size + sizeof segment);
    memcpy(segment + 10, a[3][0] == 'I' ? little : big, sizeof little);
    segment[10 + 30 + (a[3][0] == 'I' ? 0 : 1)] = (unsigned char)atoi(a[2]);
    memcpy(out, jpeg, 2);
    memcpy(out + 2, segment, sizeof segment);
    memcpy(out + 2 + sizeof segment, jpeg + 2, size - 2);
    write_file(a[1], out, size + sizeof segment);
    free(jpeg);
    free(out);
}

/* Where pixel (x, y) of the upright w × h image is stored, case by case as the EXIF standard draws them. */
static void stored_at(int orientation, int x, int y, int w, int h, int *sx, int *sy) {
    switch (orientation) {
    case 2: *sx = w - 1 - x, *sy = y; break;
    case 3: *sx = w - 1 - x, *sy = h - 1 - y; break;
    case 4: *sx = x, *sy = h - 1 - y; break;
    case 5: *sx = y, *sy = x; break;
    case 6: *sx = y, *sy = w - 1 - x; break;
    case 7: *sx = h - 1 - y, *sy = w - 1 - x; break;
    case 8: *sx = h - 1 - y, *sy = x; break;
    default: *sx = x, *sy = y; break;
    }
}

static void make_upright(char **a) {
    int w, h, n, orientation = atoi(a[2]);
    unsigned char *in = stbi_load(a[0], &w, &h, &n, 3);
    need(in != NULL, a[0]);
    int ow = orientation > 4 ? h : w, oh = orientation > 4 ? w : h;
    unsigned char *out = (unsigned char *)malloc((size_t)w * (size_t)h * 3);
    for (int y = 0; y < oh; y++)
        for (int x = 0; x < ow; x++) {
            int sx, sy;
            stored_at(orientation, x, y, ow, oh, &sx, &sy);
            memcpy(out + 3 * (y * ow + x), in + 3 * (sy * w + sx), 3);
        }
    save_picture(a[1], ow, oh, out);
    free(in);
    free(out);
}

static void make_crop(char **a) {
    int w, h, n, x = atoi(a[2]), y = atoi(a[3]), cw = atoi(a[4]), ch = atoi(a[5]);
    unsigned char *in = stbi_load(a[0], &w, &h, &n, 3), *out = (unsigned char *)malloc((size_t)cw * (size_t)ch * 3);
    need(in && out, a[0]);
    for (int row = 0; row < ch; row++) memcpy(out + 3 * row * cw, in + 3 * ((y + row) * w + x), (size_t)cw * 3);
    save_picture(a[1], cw, ch, out);
    free(in);
    free(out);
}

static void print_rows(char **a) {
    size_t size, rows, columns, start;
    unsigned char *npy = read_file(a[0], &size);
    need(size >= 128 && memcmp(npy, "\x93NUMPY\1\0", 8) == 0, "not a .npy file");
    start = 10 + (size_t)npy[8] + 256 * (size_t)npy[9];
    need(start % 64 == 0 && npy[start - 1] == '\n', "the data is not aligned to 64 bytes");
    npy[start - 1] = 0;
    const char *expected = "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }";
    need(sscanf((char *)npy + 10, expected, &rows, &columns) == 2, "unexpected header");
    need(size == start + 4 * rows * columns, "the size does not fit the shape");
    for (size_t i = 0; i < rows * columns; i++) {
        float value;
        memcpy(&value, npy + start + 4 * i, 4);
        printf("%.9g%c", (double)value, (i + 1) % columns ? ',' : '\n');
    }
    free(npy);
}

int main(int argc, char **argv) {
    char **a = argv + 2;
    int n = argc - 2;
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "weights") == 0 && n >= 4) make_weights(a, n);
    else if (strcmp(what, "picture") == 0 && n == 4) make_picture(a);
    else if (strcmp(what, "exif") == 0 && n == 4) add_exif(a);
    else if (strcmp(what, "upright") == 0 && n == 3) make_upright(a);
    else if (strcmp(what, "crop") == 0 && n == 6) make_crop(a);
    else if (strcmp(what, "rows") == 0 && n == 1) print_rows(a);
    else need(0, "see the head of tests/lib/cli_files.c");
    return 0;
}
