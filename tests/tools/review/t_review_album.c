/* t_review_album.c: images of crops for the review's page: what is kept stays below its limit and is what was made;
   boxes, missing and damaged images; whole photos with the box drawn on them; several threads at one album. -fwrapv: as
   the Makefile compiles stb.

   cc -std=c99 -D_GNU_SOURCE -O2 -fwrapv -I. -Itools tests/tools/review/t_review_album.c tools/review/album.c
      tools/pictures/thumbnail.c tools/pictures/picture.c tools/pictures/turbojpeg.c tools/pictures/picture_facts.c
      tools/pictures/png_palette.c tools/pictures/bmp.c tools/pictures/tga.c tools/pictures/tiff.c
      tools/pictures/webp.c tools/pictures/png_text.c tools/pictures/jpeg.c tools/pictures/pnm.c tools/pictures/exif.c
      tools/pictures/decoder_memory.c tools/pictures/stb_image_impl.c tools/pictures/inputs.c tools/base/files.c
      tools/base/replace.c tools/base/text.c tools/base/memory.c tools/base/say.c tools/base/clock.c
      tools/base/when.c tools/base/crc32.c tools/base/file_kind.c tools/base/threads.c tools/base/container.c
      tools/base/source.c tools/base/unicode.c tools/base/random.c tools/base/spelling.c
      tools/base/library.c -o build/t_review_album -lcmocka -lm -lpthread -ldl */
#include "review/album.h"

#include "base/files.h"
#include "base/memory.h"
#include "pictures/picture.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../lib/test_util.h"

enum { PICTURES = 12, THREADS = 4, WIDTH = 60, HEIGHT = 40 };

static char folder[256], names[PICTURES + 3][320];
static const char *ids[PICTURES + 3];

/* A binary PPM whose pixels encode its number. */
static void write_picture(int number) {
    text file = TEXT_INIT, why = TEXT_INIT;
    snprintf(names[number], sizeof names[number], "%s-%d.ppm", folder, number);
    text_printf(&file, "P6 %d %d 255\n", WIDTH, HEIGHT);
    for (int i = 0; i < 3 * WIDTH * HEIGHT; i++) text_putc(&file, (number * 20 + i / 97 * (number + 1)) & 255);
    if (!file_write(names[number], NULL, &file, &why)) fail_msg("%s: %s", names[number], why.s);
    text_free(&file), text_free(&why);
}

static int set_up(void **state) {
    text bad = TEXT_INIT, why = TEXT_INIT;
    (void)state;
    for (int i = 0; i < PICTURES; i++) write_picture(i), ids[i] = names[i];
    snprintf(names[PICTURES], sizeof names[0], "%s-lost.ppm", folder);
    snprintf(names[PICTURES + 1], sizeof names[0], "%s-bad.ppm", folder);
    text_puts(&bad, "P6 9 9 255\nshort");
    assert_true(file_write(names[PICTURES + 1], NULL, &bad, &why));
    ids[PICTURES] = names[PICTURES], ids[PICTURES + 1] = names[PICTURES + 1];
    text_free(&bad), text_free(&why);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (int i = 0; i <= PICTURES + 1; i++) unlink(names[i]);
    return 0;
}

static album *open_album(size_t cache) {
    const album_request r = {.ids = ids, .count = PICTURES + 2, .max_pixels = 1000000, .cache = cache,
                             .threads = THREADS};
    album *a = album_open(&r);
    assert_non_null(a);
    return a;
}

/* Checks that the image begins like a JPEG; returns its length. */
static size_t take(album *a, size_t row, album_size size, text *out) {
    text why = TEXT_INIT;
    text_clear(out);
    if (!album_picture(a, row, size, out, &why)) fail_msg("%zu: %s", row, why.s);
    assert_true(out->len > 100 && memcmp(out->s, "\xFF\xD8\xFF", 3) == 0);
    text_free(&why);
    return out->len;
}

static void test_cache(void **state) {
    text first[PICTURES], again = TEXT_INIT;
    album *a = open_album(0);
    size_t all = 0;
    (void)state;
    memset(first, 0, sizeof first);
    for (size_t i = 0; i < PICTURES; i++) all += take(a, i, ALBUM_SMALL, &first[i]);
    assert_int_equal(album_kept(a), 0);
    album_close(a);
    a = open_album(all / 3);
    for (int round = 0; round < 200; round++) {
        size_t i = (size_t)(round * 7 % 5 ? round * 5 : round) % PICTURES;
        take(a, i, ALBUM_SMALL, &again);
        assert_true(again.len == first[i].len && memcmp(again.s, first[i].s, again.len) == 0);
        assert_true(album_kept(a) > 0 && album_kept(a) <= all / 3);
    }
    album_close(a);
    a = open_album(3 * all);
    for (size_t i = 0; i < PICTURES; i++) take(a, i, ALBUM_SMALL, &again);
    assert_int_equal(album_kept(a), all);
    remove(names[3]); /* what is kept needs no file */
    take(a, 3, ALBUM_SMALL, &again);
    write_picture(3);
    album_close(a);
    for (size_t i = 0; i < PICTURES; i++) text_free(&first[i]);
    text_free(&again);
}

static void test_refusals(void **state) {
    album *a = open_album(1 << 20);
    text out = TEXT_INIT, why = TEXT_INIT;
    (void)state;
    assert_false(album_picture(a, PICTURES, ALBUM_SMALL, &out, &why));
    assert_says(why.s, "cannot open");
    text_clear(&why);
    assert_false(album_picture(a, PICTURES + 1, ALBUM_LARGE, &out, &why));
    assert_true(why.len > 0 && out.len == 0 && album_kept(a) == 0);
    album_close(a);
    text_free(&out), text_free(&why);
}

static void test_boxes(void **state) {
    static const struct {
        double box[4];
        int width, height; /* of what is shown; 0: nothing is */
    } cases[] = {{{0, 0, 30, 20}, 30, 20}, {{-10, -10, 30, 20}, 20, 10}, {{50, 30, 100, 100}, 10, 10},
                 {{60, 0, 5, 5}, 0, 0},    {{0, 40, 5, 5}, 0, 0},        {{5, 5, 0, 5}, 0, 0},
                 {{2e9, 0, 5, 5}, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        inputs boxes = {NULL, 0, 0};
        const char *id = "the box";
        text out = TEXT_INIT, why = TEXT_INIT;
        input *in = inputs_add(&boxes, names[0], 0, id);
        in->unit = BOX_PIXELS;
        memcpy(in->box, cases[i].box, sizeof in->box);
        const album_request r = {.ids = &id, .count = 1, .boxes = &boxes, .max_pixels = 1000000, .cache = 1000,
                                 .threads = 1};
        album *a = album_open(&r);
        assert_int_equal(album_picture(a, 0, ALBUM_LARGE, &out, &why), cases[i].width > 0);
        unsigned char *frame = cases[i].width ? memmem(out.s, out.len, "\xFF\xC0", 2) : NULL;
        int width = frame ? frame[7] * 256 + frame[8] : 0, height = frame ? frame[5] * 256 + frame[6] : 0;
        if (frame) assert_true(width == cases[i].width && height == cases[i].height);
        else assert_true(cases[i].width == 0 && why.len > 0);
        album_close(a);
        inputs_free(&boxes);
        text_free(&out), text_free(&why);
    }
}

/* Sets rgb to the pixel of a decoded image. */
static const unsigned char *pixel(const picture *p, int x, int y) { return p->rgb + 3 * (y * p->width + x); }

static int is_bright(const unsigned char *rgb) { return rgb[0] > 180 && rgb[1] > 140 && rgb[2] < 150; }

/* The photo of a crop is shown whole, with its box drawn on it: around the box, and inside the image where the box
   reaches its edge. A crop without a photo is shown itself. */
static void test_photos(void **state) {
    static const struct {
        double box[4];
        int marked[2], plain[2]; /* points on the bright line, and inside the box */
    } cases[] = {{{20, 10, 20, 15}, {17, 17}, {30, 17}},
                 {{0, 0, 60, 40}, {2, 20}, {30, 20}},
                 {{45, 25, 30, 30}, {57, 30}, {50, 32}}};
    const picture_limits limits = picture_limits_of(1000000, 1);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        inputs list = {NULL, 0, 0};
        input *in = inputs_add(&list, names[11], 0, "photo");
        const input *photos[2] = {in, NULL};
        const char *const two[2] = {"a crop that has no file", names[1]};
        const album_request r = {.ids = two, .count = 2, .photos = photos, .max_pixels = 1000000, .threads = 1};
        text out = TEXT_INIT, why = TEXT_INIT;
        picture p;
        in->unit = BOX_PIXELS;
        memcpy(in->box, cases[i].box, sizeof in->box);
        album *a = album_open(&r);
        assert_true(album_has_photo(a, 0) && !album_has_photo(a, 1));
        assert_false(album_picture(a, 0, ALBUM_LARGE, &out, &why)); /* its crop is elsewhere */
        take(a, 0, ALBUM_PHOTO, &out);
        assert_true(picture_open_bytes(&p, out.s, out.len, &limits, &why) && picture_decode(&p, &why));
        assert_true(p.width == WIDTH && p.height == HEIGHT);
        assert_true(is_bright(pixel(&p, cases[i].marked[0], cases[i].marked[1])));
        assert_false(is_bright(pixel(&p, cases[i].plain[0], cases[i].plain[1])));
        picture_free(&p);
        take(a, 1, ALBUM_PHOTO_SMALL, &out);
        album_close(a), inputs_free(&list);
        text_free(&out), text_free(&why);
    }
}

/* The photo is gone, or the box is not in it. */
static void test_lost_photos(void **state) {
    (void)state;
    for (int gone = 0; gone < 2; gone++) {
        inputs list = {NULL, 0, 0};
        input *in = inputs_add(&list, gone ? names[PICTURES] : names[2], 0, "photo");
        const input *photos[1] = {in};
        const album_request r = {.ids = ids, .count = 1, .photos = photos, .max_pixels = 1000000, .threads = 1};
        const double outside[4] = {70, 50, 5, 5};
        text out = TEXT_INIT, why = TEXT_INIT;
        in->unit = BOX_PIXELS;
        memcpy(in->box, outside, sizeof in->box);
        album *a = album_open(&r);
        assert_false(album_picture(a, 0, ALBUM_PHOTO, &out, &why));
        assert_says(why.s, gone ? "cannot open" : "the box is outside the image");
        take(a, 0, ALBUM_LARGE, &out);
        album_close(a), inputs_free(&list);
        text_free(&out), text_free(&why);
    }
}

static void *ask_on(void *user) {
    text out = TEXT_INIT;
    for (size_t round = 0; round < 60; round++) take(user, round * round % PICTURES, (album_size)(round & 1), &out);
    text_free(&out);
    return NULL;
}

static void test_threads(void **state) {
    pthread_t threads[THREADS];
    album *a = open_album(5000);
    (void)state;
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, ask_on, a), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_true(album_kept(a) <= 5000);
    album_close(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cache), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_boxes), cmocka_unit_test(test_photos),
                                       cmocka_unit_test(test_lost_photos), cmocka_unit_test(test_threads)};
    test_temp_path(folder, "album");
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
