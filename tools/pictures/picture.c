#include "pictures/picture.h"

#include "base/container.h"
#include "pictures/decoder_memory.h"
#include "pictures/exif.h"
#include "base/files.h"
#include "pictures/png_palette.h"
#include "pictures/stb_image_config.h"

#include "reid.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The decoder reads memory through callbacks, which show when it requests more than the file has: stb_image itself
   continues with zeros and returns an image that is partly grey. Its first request fills its own buffer, which may
   later be filled only in part; bytes that it reads to anywhere else must exist. */
typedef struct stb_source {
    const text *file;
    size_t at;
    int ran_dry;
    const char *buffer;
} stb_source;

static int stb_read(void *user, char *data, int size) {
    stb_source *s = user;
    size_t left = s->file->len - s->at, n = (size_t)size < left ? (size_t)size : left;
    if (!s->buffer) s->buffer = data;
    if (size > 0 && (left == 0 || (data != s->buffer && n < (size_t)size))) s->ran_dry = 1;
    memcpy(data, s->file->s + s->at, n);
    s->at += n;
    return (int)n;
}

static void stb_skip(void *user, int n) {
    stb_source *s = user;
    size_t left = s->file->len - s->at;
    if (n < 0) s->at -= (size_t)-n <= s->at ? (size_t)-n : s->at;
    else s->at += (size_t)n < left ? (size_t)n : left;
}

static int stb_eof(void *user) {
    const stb_source *s = user;
    return s->at == s->file->len;
}

static const stbi_io_callbacks CALLBACKS = {stb_read, stb_skip, stb_eof};

static const unsigned char *bytes_of(const picture *p) { return (const unsigned char *)p->file.s; }

/* The decoder failed, or read past the end of the file. */
static int refuse_decoding(text *why, const stb_source *s) {
    refuse(why, "cannot be decoded: ");
    if (decoder_had_no_memory()) text_puts(why, "out of memory");
    else if (decoder_wanted_too_much()) text_puts(why, "it unpacks to far more than its pixels");
    else text_puts(why, s->ran_dry ? "the file ends early" : stbi_failure_reason());
    return 0;
}

picture_limits picture_limits_of(long long max_pixels, int threads) {
    static const size_t max_file = (size_t)1 << 30;
    long long bytes = (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    double of_container = container_memory(NULL);
    if (of_container > 0 && of_container < (double)bytes) bytes = (long long)of_container;
    picture_limits limits = {max_pixels, (size_t)bytes / 2, (size_t)bytes / 2 / (size_t)threads, JPEG_AUTO};
    if (limits.file > max_file) limits.file = max_file;
    return limits;
}

static int size_is(picture *p, int width, int height) {
    p->width = width;
    p->height = height;
    return 1;
}

/* Reads width and height; picture_facts_read has already checked the file. */
static int read_size(picture *p, text *why) {
    static const size_t header_budget = 1 << 20; /* stb_image's tables take a fraction of it */
    int channels;
    stb_source s = {&p->file, 0, 0, NULL};
    switch (p->facts.kind) {
    case PICTURE_PNM: return size_is(p, p->facts.pnm.width, p->facts.pnm.height);
    case PICTURE_BMP: return size_is(p, p->facts.bmp.width, p->facts.bmp.height);
    case PICTURE_TGA: return size_is(p, p->facts.tga.width, p->facts.tga.height);
    case PICTURE_TIFF: return size_is(p, p->facts.tiff.width, p->facts.tiff.height);
    case PICTURE_WEBP: return size_is(p, p->facts.webp.width, p->facts.webp.height);
    case PICTURE_JPEG:
    case PICTURE_PNG: break;
    }
    decoder_begin(header_budget);
    if (!stbi_info_from_callbacks(&CALLBACKS, &s, &p->width, &p->height, &channels) || s.ran_dry)
        return refuse_decoding(why, &s);
    return 1;
}

/* Reads the header of p->file and checks it against the limits; name: see picture_facts_read. */
static int read_header(picture *p, const char *name, const picture_limits *limits, text *why) {
    if (!picture_facts_read(&p->facts, bytes_of(p), p->file.len, name, why) || !read_size(p, why)) return 0;
    p->jpeg = limits->jpeg;
    text_clear(why);
    const char *problem =
        p->facts.kind == PICTURE_JPEG && !jpeg_is_by_turbo(p->jpeg) ? jpeg_stb_problem(&p->facts.jpeg) : NULL;
    if (problem) return refuse(why, "%s", problem);
    if (p->width < 1 || p->height < 1) text_puts(why, "has no pixels");
    else if (p->width > REID_MAX_SIDE || p->height > REID_MAX_SIDE)
        text_printf(why, "%d x %d pixels: sides must be at most %d", p->width, p->height, REID_MAX_SIDE);
    else if ((long long)p->width * p->height > limits->pixels)
        text_printf(why, "%d x %d pixels exceed the limit of %lld (--max-pixels)", p->width, p->height, limits->pixels);
    else {
        const int turned = p->facts.orientation != 1, by_turbo = jpeg_is_by_turbo(p->jpeg);
        size_t need = decoder_need(&p->facts, p->file.len, p->width, p->height, turned, 0);
        p->budget = need + need / 2; /* allows a PNG with some excess data, as libpng does */
        if (by_turbo) need = decoder_need(&p->facts, p->file.len, p->width, p->height, turned, 1);
        p->cost = need + p->file.len;
        if (p->cost > limits->bytes)
            text_printf(why, "%d x %d pixels need more than half of this machine's memory", p->width, p->height);
    }
    return why->len == 0;
}

int picture_open(picture *p, const char *path, const picture_limits *limits, text *why) {
    memset(p, 0, sizeof *p);
    return file_read(path, limits->file, 1, &p->file, why) && read_header(p, path, limits, why);
}

int picture_open_bytes(picture *p, const void *bytes, size_t len, const picture_limits *limits, text *why) {
    memset(p, 0, sizeof *p);
    text_clear(why);
    if (len > limits->file) {
        text_printf(why, "larger than %zu MiB", limits->file >> 20);
        return 0;
    }
    text_add(&p->file, bytes, len);
    if (text_failed(&p->file)) return text_no_memory(why);
    if (!len) return refuse(why, "is empty");
    return read_header(p, "", limits, why);
}

static int make_upright(picture *p, text *why) {
    exif_view v = exif_upright(p->facts.orientation, p->width, p->height);
    unsigned char *out = decoder_alloc_uncleared((size_t)v.width * (size_t)v.height * 3), *to = out;
    if (!out) return text_no_memory(why);
    for (int y = 0; y < v.height; y++) {
        ptrdiff_t row = v.start + y * v.step_y;
        for (int x = 0; x < v.width; x++, to += 3) memcpy(to, p->rgb + 3 * (row + x * v.step_x), 3);
    }
    decoder_free(p->rgb);
    p->rgb = out;
    p->width = v.width;
    p->height = v.height;
    return 1;
}

/* The formats whose decoders write to memory that they are given, of the size in the header. */
static int decode_plain(picture *p, stb_source *s) {
    const unsigned char *file = bytes_of(p);
    int is_whole = 0;
    p->rgb = decoder_alloc(NULL, 3 * (size_t)p->width * (size_t)p->height);
    if (!p->rgb) return 0;
    if (p->facts.kind == PICTURE_PNM) is_whole = pnm_decode(file, p->file.len, &p->facts.pnm, p->rgb);
    if (p->facts.kind == PICTURE_BMP) is_whole = bmp_decode(file, p->file.len, &p->facts.bmp, p->rgb);
    if (p->facts.kind == PICTURE_TGA) is_whole = tga_decode(file, p->file.len, &p->facts.tga, p->rgb);
    s->ran_dry = !is_whole;
    return is_whole;
}

static int decode_webp(picture *p, text *why) {
    p->rgb = decoder_alloc_uncleared(3 * (size_t)p->width * (size_t)p->height);
    if (!p->rgb) return refuse(why, "out of memory");
    return webp_decode(bytes_of(p), p->file.len, &p->facts.webp, p->rgb) ||
           refuse(why, "cannot be decoded: damaged WebP, or out of memory");
}

static int decode_tiff(picture *p, text *why) {
    unsigned char *part = decoder_alloc_uncleared(tiff_part(&p->facts.tiff));
    p->rgb = decoder_alloc_uncleared(3 * (size_t)p->width * (size_t)p->height);
    int has_room = part && p->rgb;
    int good = has_room && tiff_decode(bytes_of(p), p->file.len, &p->facts.tiff, part, p->rgb);
    decoder_free(part);
    if (!has_room) return refuse(why, "out of memory");
    return good || refuse(why, "cannot be decoded: damaged TIFF, or out of memory");
}

static int decode_stb(picture *p, stb_source *s) {
    int channels;
    p->rgb = stbi_load_from_callbacks(&CALLBACKS, s, &p->width, &p->height, &channels, 3);
    return p->rgb && !s->ran_dry;
}

/* 1 for a JPEG that libturbojpeg decodes. Frames of two components go to stb_image, which refuses them. */
static int turbo_job_of(const picture *p, turbo_job *job) {
    const int components = p->facts.jpeg.frame.components;
    if (!jpeg_is_by_turbo(p->jpeg) || p->facts.kind != PICTURE_JPEG || components == 2) return 0;
    *job = (turbo_job){bytes_of(p), p->file.len, p->width, p->height, components, NULL};
    return 1;
}

static turbo_result run_turbo(picture *p, turbo_job *job, const char *accepted, text *why) {
    p->rgb = job->to = decoder_alloc_uncleared(turbojpeg_room(p->width, p->height, job->components));
    if (p->rgb) return turbojpeg_decode(job, accepted, why);
    text_no_memory(why);
    return TURBO_FAILED;
}

/* libturbojpeg warns about bytes before a marker as about damage that leaves the rest of an image grey. stb_image then
   decides which is refused, so that this does not depend on the decoder. */
static int decode_turbo(picture *p, turbo_job *job, text *why) {
    turbo_result result = run_turbo(p, job, NULL, why);
    text doubt = TEXT_INIT;
    if (result == TURBO_DOUBTED) {
        stb_source s = {&p->file, 0, 0, NULL};
        text_join(&doubt, why);
        decoder_free(p->rgb);
        if (!decode_stb(p, &s)) return text_free(&doubt), refuse_decoding(why, &s);
        decoder_free(p->rgb);
        result = text_failed(&doubt) ? TURBO_FAILED : run_turbo(p, job, doubt.s, why);
    }
    text_free(&doubt);
    if (result == TURBO_DONE) {
        unsigned char *cut = decoder_alloc(p->rgb, 3 * (size_t)p->width * (size_t)p->height);
        if (cut) p->rgb = cut; /* returns the extra memory that CMYK needed */
        return 1;
    }
    text reason = *why;
    *why = (text)TEXT_INIT;
    text_printf(why, "cannot be decoded: %s", reason.s ? reason.s : "out of memory");
    text_free(&reason);
    return 0;
}

/* Decodes p->file to p->rgb in its stored orientation. */
static int decode_stored(picture *p, text *why) {
    stb_source s = {&p->file, 0, 0, NULL};
    turbo_job job;
    if (turbo_job_of(p, &job)) return decode_turbo(p, &job, why);
    if (p->facts.kind == PICTURE_WEBP) return decode_webp(p, why);
    if (p->facts.kind == PICTURE_TIFF) return decode_tiff(p, why);
    if (p->facts.kind == PICTURE_PNG && !png_complete_palette(&p->file)) return text_no_memory(why);
    const int by_stb = p->facts.kind == PICTURE_JPEG || p->facts.kind == PICTURE_PNG;
    return (by_stb ? decode_stb(p, &s) : decode_plain(p, &s)) || refuse_decoding(why, &s);
}

/* Samples of 12 bits in 16 that were not scaled would become an almost black image. */
static int is_unscaled(const picture *p) {
    const picture_facts *is = &p->facts;
    const int wide = (is->kind == PICTURE_PNG && is->bits == 16) || (is->kind == PICTURE_PNM && is->pnm.most == 65535);
    const size_t samples = 3 * (size_t)p->width * (size_t)p->height;
    unsigned char largest = 0;
    for (size_t i = 0; wide && i < samples && largest < 16; i++)
        if (p->rgb[i] > largest) largest = p->rgb[i];
    return largest > 0 && largest < 16;
}

int picture_decode(picture *p, text *why) {
    decoder_begin(p->budget);
    if (!decode_stored(p, why)) return 0;
    if (is_unscaled(p))
        return refuse(why,
                      "its 16-bit samples are all below 4096, as if 12 bits had not been scaled, so that it would be "
                      "almost black; scale them, for example: magick IN -evaluate multiply 16 OUT");
    text_free(&p->file);
    return p->facts.orientation == 1 || make_upright(p, why);
}

void picture_free(picture *p) {
    decoder_free(p->rgb);
    text_free(&p->file);
    memset(p, 0, sizeof *p);
}
