/* Image descriptions, presets and the geometry of resize and crop: which are refused, with which id, which are clipped;
   and the results of normalisation.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_image.c -o t_image -lcmocka -lpthread -ldl -lm && ./t_image */
#define REID_IMPLEMENTATION
#define REID_STATIC
#include "reid.h"
#include "../lib/test_says.h"
#include <setjmp.h>
#include <cmocka.h>

static const uint8_t some_pixels[4 * 4 * 4];

static reid_image image_of(int width, int height, ptrdiff_t stride, reid_format format, const reid_box *box) {
    reid_image image;
    image.pixels = some_pixels;
    image.width = width;
    image.height = height;
    image.stride = stride;
    image.format = format;
    image.box = box;
    return image;
}

/* Checks one description as image 7; expects `want`, and a message that contains `words`. */
static void expect(reid_image image, reid_result want, const char *words) {
    reid_box roi;
    reid_error error;
    reid__clear_error(&error);
    assert_int_equal(reid__image_check(&image, 7, &roi, &error), want);
    assert_int_equal(error.code, want);
    if (want != REID_OK) assert_says(error.text, "image 7");
    assert_says(error.text, words);
    assert_int_equal(reid__image_check(&image, 7, &roi, NULL), want);
}

static void test_descriptions(void **state) {
    (void)state;
    reid_image null = image_of(4, 4, 0, REID_RGB8, NULL);
    null.pixels = NULL;
    expect(null, REID_ERR_IMAGE, "NULL");
    expect(image_of(0, 4, 0, REID_RGB8, NULL), REID_ERR_IMAGE, "0 x 4");
    expect(image_of(4, 0, 0, REID_RGB8, NULL), REID_ERR_IMAGE, "4 x 0");
    expect(image_of(-1, 4, 0, REID_RGB8, NULL), REID_ERR_IMAGE, "-1 x 4");
    expect(image_of(4, INT_MIN, 0, REID_RGB8, NULL), REID_ERR_IMAGE, "side");
    expect(image_of(REID_MAX_SIDE + 1, 4, 0, REID_RGB8, NULL), REID_ERR_IMAGE, "1000001 x 4");
    expect(image_of(4, INT_MAX, 0, REID_RGB8, NULL), REID_ERR_IMAGE, "side");
    expect(image_of(4, 4, 0, (reid_format)5, NULL), REID_ERR_IMAGE, "format 5");
    expect(image_of(4, 4, 0, (reid_format)1000, NULL), REID_ERR_IMAGE, "format 1000");
    expect(image_of(4, 4, 11, REID_RGB8, NULL), REID_ERR_IMAGE, "stride is 11 bytes, but a row has 12");
    expect(image_of(4, 4, 11, REID_BGR8, NULL), REID_ERR_IMAGE, "12");
    expect(image_of(4, 4, 15, REID_RGBA8, NULL), REID_ERR_IMAGE, "16");
    expect(image_of(4, 4, 3, REID_GRAY8, NULL), REID_ERR_IMAGE, "4");
    expect(image_of(4, 4, -12, REID_RGB8, NULL), REID_ERR_IMAGE, "stride is -12");
    expect(image_of(4, 4, PTRDIFF_MIN, REID_RGB8, NULL), REID_ERR_IMAGE, "stride");
    expect(image_of(4, 4, PTRDIFF_MAX, REID_RGB8, NULL), REID_ERR_IMAGE, "exceed the address space");
    expect(image_of(4, 2, PTRDIFF_MAX / 2 + 1, REID_RGB8, NULL), REID_ERR_IMAGE, "exceed the address space");
    expect(image_of(4, 2, PTRDIFF_MAX / 2, REID_RGB8, NULL), REID_OK, "");
    expect(image_of(REID_MAX_SIDE, REID_MAX_SIDE, 0, REID_RGBA8, NULL), REID_OK, "");
    expect(image_of(1, 1, 0, REID_GRAY8, NULL), REID_OK, "");
    expect(image_of(4, 4, 12, REID_RGB8, NULL), REID_OK, "");
    expect(image_of(4, 4, 13, REID_BGR8, NULL), REID_OK, "");
}

/* A box on a 40 x 30 image: the clipped box, or four zeros for REID_ERR_BOX. */
static void test_boxes(void **state) {
    static const struct {
        reid_box box, roi;
    } cases[] = {
        {{0, 0, 40, 30}, {0, 0, 40, 30}},
        {{39, 29, 1, 1}, {39, 29, 1, 1}},
        {{-5, -6, 10, 10}, {0, 0, 5, 4}},
        {{35, 25, 10, 10}, {35, 25, 5, 5}},
        {{-100, -100, 1000, 1000}, {0, 0, 40, 30}},
        {{1, 2, INT_MAX, INT_MAX}, {1, 2, 39, 28}},
        {{INT_MIN, INT_MIN, INT_MAX, INT_MAX}, {0, 0, 0, 0}},
        {{-INT_MAX, 3, INT_MAX, 1}, {0, 0, 0, 0}},
        {{-(INT_MAX - 1), 3, INT_MAX, 1}, {0, 3, 1, 1}},
        {{INT_MAX, 0, INT_MAX, 1}, {0, 0, 0, 0}},
        {{40, 0, 1, 1}, {0, 0, 0, 0}},
        {{0, 30, 1, 1}, {0, 0, 0, 0}},
        {{-1, 0, 1, 1}, {0, 0, 0, 0}},
        {{0, -1, 1, 1}, {0, 0, 0, 0}},
        {{5, 5, 0, 5}, {0, 0, 0, 0}},
        {{5, 5, 5, 0}, {0, 0, 0, 0}},
        {{5, 5, -1, 5}, {0, 0, 0, 0}},
        {{5, 5, 5, INT_MIN}, {0, 0, 0, 0}},
        {{INT_MIN, INT_MIN, INT_MIN, INT_MIN}, {0, 0, 0, 0}},
        {{0, 0, 0, 0}, {0, 0, 0, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        reid_image image = image_of(40, 30, 0, REID_RGB8, &cases[i].box);
        reid_box roi = {-1, -1, -1, -1};
        reid_result result = reid__image_check(&image, 0, &roi, NULL);
        assert_int_equal(result, cases[i].roi.width ? REID_OK : REID_ERR_BOX);
        if (result == REID_OK) assert_memory_equal(&roi, &cases[i].roi, sizeof roi);
    }
    expect(image_of(40, 30, 0, REID_RGB8, &cases[10].box), REID_ERR_BOX, "x 40, y 0, width 1, height 1");
    expect(image_of(40, 30, 0, REID_RGB8, &cases[10].box), REID_ERR_BOX, "40 x 30");
}

static void test_preset_table(void **state) {
    int count = 0;
    (void)state;
    assert_null(reid_preset_name(-1));
    assert_null(reid_preset_name(INT_MIN));
    assert_null(reid_preset_name(INT_MAX));
    for (const char *name; (name = reid_preset_name(count)) != NULL; count++) {
        const reid__preset *preset = reid__preset_find(name);
        assert_ptr_equal(preset, &reid__presets[count]); /* so each name is unique */
        assert_true(preset->resize == 0 || preset->resize >= reid__max(preset->height, preset->width));
        for (int c = 0; c < 3; c++) assert_true(preset->std[c] > 0);
    }
    assert_int_equal(count, 24);
    assert_null(reid__preset_find("Torchreid"));
    assert_null(reid__preset_find(""));
    assert_null(reid__preset_find("boxmot-cv2"));
}

/* A name with fields after it: every field changes only its own value, from left to right. */
static void test_preset_fields(void **state) {
    static const struct {
        const char *text;
        reid__preset want; /* no name: refused */
    } cases[] = {
        {"torchvision-v1 filter=bicubic crop=0.95", {"torchvision-v1+", REID__BICUBIC, 235, 224, 224, 1.0 / 255,
            {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, 0}},
        {"timm-0.95 size=288x288 crop=1", {"timm-0.95+", REID__BICUBIC, 288, 288, 288, 1.0 / 255,
            {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, 0}},
        {"torchvision-v1 size=448x448", {"torchvision-v1+", REID__BILINEAR, 512, 448, 448, 1.0 / 255,
            {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, 0}},
        {"effnet-b0 resize=straight filter=bilinear", {"effnet-b0+", REID__BILINEAR, 0, 224, 224, 1.0 / 255,
            {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, 0}},
        {"mega resize=300 mean=0.1,0.25,.5 std=0.125", {"mega+", REID__BILINEAR, 300, 288, 288, 1.0 / 255,
            {0.1, 0.25, 0.5}, {0.125, 0.125, 0.125}, 0}},
        {"mega scale=1 mean=123.675,116.28,103.53 std=1 order=bgr size=64x32", {"mega+", REID__BILINEAR, 0, 64, 32, 1.0,
            {123.675, 116.28, 103.53}, {1, 1, 1}, 1}},
        {"openvino-bgr scale=1/255 order=rgb", {"openvino-bgr+", REID__BILINEAR, 0, 256, 128, 1.0 / 255,
            {0, 0, 0}, {1, 1, 1}, 0}},
        {"mega  filter=bicubic", {.name = ""}}, {"mega ", {.name = ""}}, {"mega\tfilter=bicubic", {.name = ""}},
        {"mega filter=bicubics", {.name = ""}}, {"mega filter=lanczos", {.name = ""}}, {"mega crop=0", {.name = ""}},
        {"mega crop=1.01", {.name = ""}}, {"mega crop=0.05", {.name = ""}}, {"mega resize=0", {.name = ""}},
        {"mega resize=287", {.name = ""}}, {"mega resize=288.5", {.name = ""}}, {"mega resize=8193", {.name = ""}},
        {"mega size=224", {.name = ""}}, {"mega size=0x224", {.name = ""}}, {"mega size=4097x1", {.name = ""}},
        {"mega mean=0.5,0.5", {.name = ""}}, {"mega mean=0.5,0.5,0.5,0.5", {.name = ""}}, {"mega mean=", {.name = ""}},
        {"mega mean=-0.5", {.name = ""}}, {"mega mean=nan", {.name = ""}}, {"mega mean=1e-1", {.name = ""}},
        {"mega mean=1.1", {.name = ""}}, {"mega std=0", {.name = ""}}, {"mega std=0.5,0,0.5", {.name = ""}},
        {"mega scale=0", {.name = ""}}, {"mega scale=1/0", {.name = ""}}, {"mega scale=1/2/3", {.name = ""}},
        {"mega mean=0.1234567890123456", {.name = ""}}, {"mega order=gbr", {.name = ""}}, {"mega+", {.name = ""}},
        {"mega size=1x1 resize=8192 size=4096x4096", {.name = ""}},
        {"mega size=1x1 resize=8192 size=6x6", {.name = ""}},
        {"mega size=1x1 resize=8192 size=5x4", {"mega+", REID__BILINEAR, 40960, 5, 4, 1.0 / 255,
            {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, 0}},
        {"filter=bicubic", {.name = ""}}, {"", {.name = ""}}, {"torchvision-v1torchvision-v1", {.name = ""}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const reid__preset *want = &cases[i].want;
        reid__preset have;
        reid_error error;
        memset(&have, 0, sizeof have);
        reid_result result = reid__preset_read(cases[i].text, &have, &error);
        if ((result == REID_OK) != (want->name[0] != 0)) fail_msg("\"%s\": %d", cases[i].text, result);
        if (result != REID_OK) {
            assert_true(result == error.code && (result == REID_ERR_UNKNOWN_PRESET || result == REID_ERR_INPUT_SIZE));
            continue;
        }
        assert_string_equal(have.name, want->name);
        assert_true(have.filter == want->filter && have.resize == want->resize && have.bgr == want->bgr);
        assert_true(have.height == want->height && have.width == want->width && have.scale == want->scale);
        assert_memory_equal(have.mean, want->mean, sizeof have.mean);
        assert_memory_equal(have.std, want->std, sizeof have.std);
    }
}

/* The caller's preset overrides the file's, which overrides the network's; fields are joined. */
static void test_preset_text(void **state) {
    char text[40];
    (void)state;
    assert_true(reid__preset_text(NULL, NULL, "own", text, sizeof text));
    assert_string_equal(text, "own");
    assert_true(reid__preset_text("asked", "file", "own", text, sizeof text));
    assert_string_equal(text, "asked");
    assert_true(reid__preset_text("filter=bicubic", "file crop=1", "own", text, sizeof text));
    assert_string_equal(text, "file crop=1 filter=bicubic");
    assert_true(reid__preset_text("crop=0.9", "order=rgb", "own", text, sizeof text));
    assert_string_equal(text, "own order=rgb crop=0.9");
    assert_false(reid__preset_text("crop=0.9 mean=0.5,0.5,0.5", "order=rgb", "own-name", text, sizeof text));
}

static void test_input_sizes(void **state) {
    static const struct {
        const char *preset;
        int height, width, want_height, want_width, want_edge; /* want_height 0: refused */
    } cases[] = {
        {"torchvision-v1", 0, 0, 224, 224, 256}, {"torchvision-v1", 256, 128, 256, 128, 293},
        {"torchvision-v1", 128, 256, 128, 256, 293}, {"torchvision-v2", 224, 224, 224, 224, 232},
        {"torchvision-v1", 448, 448, 448, 448, 512}, {"torchvision-v1", 7, 7, 7, 7, 8}, /* 8.0 exactly */
        {"effnet-b3", 4096, 1, 4096, 1, 4369}, {"torchreid", 0, 0, 256, 128, 0}, {"torchreid", 384, 128, 384, 128, 0},
        {"effnet-b2", 1, 1, 1, 1, 1}, {"mega", 4096, 4096, 4096, 4096, 0}, {"mega", 4097, 1, 0, 0, 0},
        {"mega", 1, 4097, 0, 0, 0}, {"mega", 0, 1, 0, 0, 0}, {"mega", 1, 0, 0, 0, 0}, {"mega", -1, 1, 0, 0, 0},
        {"mega", -1, -1, 0, 0, 0}, {"mega", INT_MAX, INT_MAX, 0, 0, 0}, {"mega", INT_MIN, INT_MIN, 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        reid__prep p;
        reid_error error;
        const reid__preset *preset = reid__preset_find(cases[i].preset);
        reid_result result = reid__prep_init(&p, preset, cases[i].height, cases[i].width, &error);
        assert_int_equal(result, cases[i].want_height ? REID_OK : REID_ERR_INPUT_SIZE);
        if (result != REID_OK) {
            assert_says(error.text, cases[i].preset);
            continue;
        }
        assert_int_equal(p.height, cases[i].want_height);
        assert_int_equal(p.width, cases[i].want_width);
        assert_int_equal(p.resize_edge, cases[i].want_edge);
    }
}

static void test_normalisation(void **state) {
    static const struct {
        const char *preset;
        int channel, value;
        double want;
    } cases[] = {
        {"torchvision-v1", 0, 0, -2.1179039301310043}, {"torchvision-v1", 0, 255, 2.2489082969432315},
        {"torchvision-v1", 1, 255, 2.428571428571429}, {"effnet-b0", 2, 255, 2.6400000000000001},
        {"fastreid", 2, 0, -1.8044444444444445},       {"tao", 0, 255, 2.2787610619469026},
        {"tao", 2, 0, -1.7964601769911504},            {"arcface", 1, 0, -1.0},
        {"arcface", 2, 255, 1.0},                      {"facenet", 0, 255, 0.99609375},
        {"facenet", 0, 0, -0.99609375},                {"openvino-bgr", 0, 17, 17.0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        reid__prep p;
        reid__prep_init(&p, reid__preset_find(cases[i].preset), 0, 0, NULL);
        assert_true(p.lut[cases[i].channel][cases[i].value] == (float)cases[i].want);
    }
    for (const reid__preset *preset = reid__presets; preset < reid__presets + REID__PRESET_COUNT; preset++) {
        const uint8_t rgb[2][3] = {{1, 20, 255}, {0, 128, 77}};
        float out[2][3];
        reid__prep p;
        reid__prep_init(&p, preset, 0, 0, NULL);
        reid__prep_normalise(&p, rgb[0], out[0], 2);
        for (int i = 0; i < 6; i++) {
            int value = rgb[i / 3][preset->bgr ? 2 - i % 3 : i % 3];
            assert_true(out[i / 3][i % 3] == p.lut[i % 3][value]);
        }
    }
}

/* Pixels of padding or of the resized image before the crop: torchvision rounds a half to the even neighbour. */
static void test_centre_crop(void **state) {
    static const int cases[][3] = {/* resized, crop, skipped */
        {341, 224, 58}, {343, 224, 60}, {342, 224, 59}, {225, 224, 0}, {227, 224, 2}, {224, 224, 0}, {256, 224, 16},
        {223, 224, 0}, {222, 224, -1}, {221, 224, -1}, {20, 33, -6}, {20, 32, -6}, {1, 4096, -2047},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        reid__axis a;
        reid__axis_init(&a, REID__BILINEAR, 10, cases[i][0], cases[i][1]);
        assert_int_equal(a.skipped, cases[i][2]);
    }
    assert_true(reid__resized(640, 480, 256) == 341);
    assert_true(reid__resized(480, 640, 256) == 256);
    assert_true(reid__resized(256, 256, 256) == 256);
    assert_true(reid__resized(REID_MAX_SIDE, 1, 4681) == 4681000000); /* more than an int */
}

/* One pixel of each format, resized to one pixel. */
static void test_formats(void **state) {
    static const uint8_t pixel[4] = {10, 20, 30, 40};
    static const uint8_t want[4][3] = {{10, 20, 30}, {30, 20, 10}, {10, 20, 30}, {10, 10, 10}};
    (void)state;
    for (int format = REID_RGB8; format <= REID_GRAY8; format++) {
        reid_image image = image_of(1, 1, 0, (reid_format)format, NULL);
        reid_box roi;
        reid__prep p;
        uint8_t out[3];
        void *scratch = NULL;
        image.pixels = pixel;
        assert_int_equal(reid__image_check(&image, 0, &roi, NULL), REID_OK);
        assert_int_equal(reid__prep_init(&p, reid__preset_find("torchreid"), 1, 1, NULL), REID_OK);
        assert_int_equal(posix_memalign(&scratch, REID__ALIGN, reid__prep_scratch(&p, 1)), 0);
        reid__prep_rows(&p, &image, &roi, 0, 0, 1, out, scratch);
        assert_memory_equal(out, want[format], 3);
        free(scratch);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptions), cmocka_unit_test(test_boxes),         cmocka_unit_test(test_preset_table),
        cmocka_unit_test(test_preset_fields), cmocka_unit_test(test_preset_text),
        cmocka_unit_test(test_input_sizes),  cmocka_unit_test(test_normalisation), cmocka_unit_test(test_centre_crop),
        cmocka_unit_test(test_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
