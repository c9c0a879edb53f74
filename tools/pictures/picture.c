#include "pictures/picture.h"

#include "pictures/exif.h"
#include "base/files.h"
#include "pictures/sniff.h"
#include "pictures/stb_image_config.h"

#include "reid.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The decoder pulls bytes from memory through callbacks, because that shows when it asks for more than the file has:
   stb_image itself continues with zeros and returns a picture that is partly grey. */
typedef struct source {
    const text *file;
    size_t at;
    int ran_dry;
} source;

static int source_read(void *user, char *data, int size) {
    source *s = user;
    size_t left = s->file->len - s->at, n = (size_t)size < left ? (size_t)size : left;
    if (left == 0 && size > 0) s->ran_dry = 1;
    memcpy(data, s->file->s + s->at, n);
    s->at += n;
    return (int)n;
}

static void source_skip(void *user, int n) {
    source *s = user;
    size_t left = s->file->len - s->at;
    if (n < 0) s->at -= (size_t)-n <= s->at ? (size_t)-n : s->at;
    else s->at += (size_t)n < left ? (size_t)n : left;
}

static int source_eof(void *user) {
    const source *s = user;
    return s->at == s->file->len;
}

static const stbi_io_callbacks CALLBACKS = {source_read, source_skip, source_eof};

static __thread int out_of_memory;

void *decoder_alloc(void *block, size_t size) {
    void *p = block ? realloc(block, size) : calloc(1, size);
    if (!p) out_of_memory = 1;
    return p;
}

static int refuse(text *why, const char *what) {
    text_clear(why);
    text_puts(why, what);
    return 0;
}

/* The decoder failed, or read past the end of the file. */
static int refuse_decoding(text *why, const source *s) {
    refuse(why, "cannot be decoded: ");
    text_puts(why, out_of_memory ? "out of memory" : s->ran_dry ? "the file ends early" : stbi_failure_reason());
    return 0;
}

picture_limits picture_limits_of(long long max_pixels) {
    text quota = TEXT_INIT, why = TEXT_INIT;
    long long bytes = (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), of_container;
    if (file_read("/sys/fs/cgroup/memory.max", 64, 1, &quota, &why)) {
        quota.s[strcspn(quota.s, "\n")] = 0;
        if (parse_int(quota.s, 1, bytes, &of_container)) bytes = of_container;
    }
    text_free(&quota);
    text_free(&why);
    picture_limits limits = {max_pixels, (size_t)bytes / 2};
    return limits;
}

int picture_open(picture *p, const char *path, const picture_limits *limits, text *why) {
    static const size_t max_file = (size_t)1 << 30;
    int channels;
    memset(p, 0, sizeof *p);
    if (!file_read(path, max_file, 1, &p->file, why)) return 0;
    if (!sniff_picture((const unsigned char *)p->file.s, p->file.len, path, why)) return 0;
    source s = {&p->file, 0, 0};
    out_of_memory = 0;
    if (!stbi_info_from_callbacks(&CALLBACKS, &s, &p->width, &p->height, &channels) || s.ran_dry)
        return refuse_decoding(why, &s);
    text_clear(why);
    if (p->width < 1 || p->height < 1) text_puts(why, "has no pixels");
    else if (p->width > REID_MAX_SIDE || p->height > REID_MAX_SIDE)
        text_printf(why, "%d x %d pixels: a side is over %d", p->width, p->height, REID_MAX_SIDE);
    else if ((long long)p->width * p->height > limits->pixels)
        text_printf(why, "%d x %d pixels are over the limit of %lld (--max-pixels)", p->width, p->height,
                    limits->pixels);
    else if (picture_cost(p) > limits->bytes)
        text_printf(why, "%d x %d pixels need more than half of this machine's memory", p->width, p->height);
    p->orientation = exif_orientation((const unsigned char *)p->file.s, p->file.len);
    return why->len == 0;
}

/* The result, and as much again for the decoder or for turning it. */
size_t picture_cost(const picture *p) { return (size_t)p->width * (size_t)p->height * 6 + p->file.len; }

static int make_upright(picture *p, text *why) {
    exif_view v = exif_upright(p->orientation, p->width, p->height);
    unsigned char *out = malloc((size_t)v.width * (size_t)v.height * 3), *to = out;
    if (!out) return refuse(why, "out of memory");
    for (int y = 0; y < v.height; y++) {
        ptrdiff_t row = v.start + y * v.step_y;
        for (int x = 0; x < v.width; x++, to += 3) memcpy(to, p->rgb + 3 * (row + x * v.step_x), 3);
    }
    free(p->rgb);
    p->rgb = out;
    p->width = v.width;
    p->height = v.height;
    return 1;
}

int picture_decode(picture *p, text *why) {
    int channels;
    source s = {&p->file, 0, 0};
    out_of_memory = 0;
    p->rgb = stbi_load_from_callbacks(&CALLBACKS, &s, &p->width, &p->height, &channels, 3);
    if (!p->rgb || s.ran_dry) return refuse_decoding(why, &s);
    text_free(&p->file);
    return p->orientation == 1 || make_upright(p, why);
}

void picture_free(picture *p) {
    free(p->rgb); /* stb_image uses malloc */
    text_free(&p->file);
    memset(p, 0, sizeof *p);
}
