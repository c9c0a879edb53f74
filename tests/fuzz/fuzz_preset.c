/* Fuzzer for the text of presets, as in options, templates and the metadata of weight files: combines the texts of a
   network, a file and a user, and reads their fields. An accepted preset must be within its limits and give finite
   pixels, at its own size and at others.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -fsanitize=fuzzer,address,undefined -I. tests/fuzz/fuzz_preset.c \
       -o fuzz_preset -lpthread -ldl -lm && ./fuzz_preset -max_len=256 -dict=tests/fuzz/preset.dict */
#define REID_IMPLEMENTATION
#define REID_STATIC
#include "reid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int condition) {
    if (!condition) abort();
}

static void check_pixels(const reid__prep *p) {
    expect(p->height >= 1 && p->width >= 1 && p->height <= REID_MAX_INPUT && p->width <= REID_MAX_INPUT);
    expect(p->resize_edge >= 0 && p->resize_edge <= REID__MAX_EDGE);
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++) expect(isfinite(p->lut[c][v]) != 0);
}

static void check(const char *text) {
    static const int sizes[][2] = {{0, 0}, {1, 1}, {256, 128}, {7, 4096}, {4096, 4096}, {4097, 1}, {0, 5}, {-1, -1}};
    reid_error error = REID_INIT;
    reid__preset preset;
    reid__prep p;
    if (reid__preset_read(text, &preset, &error) != REID_OK) {
        expect(error.code != REID_OK && error.text[0]);
        return;
    }
    expect(memchr(preset.name, 0, sizeof preset.name) != NULL && preset.name[0]);
    expect(preset.resize == 0 || preset.resize >= reid__max(preset.height, preset.width));
    expect(preset.scale >= 1e-6 && preset.scale <= 1 && (preset.bgr == 0 || preset.bgr == 1));
    for (int i = 0; i < (int)(sizeof sizes / sizeof sizes[0]); i++) {
        reid_result r = reid__prep_init(&p, &preset, sizes[i][0], sizes[i][1], &error);
        expect(i > 0 || r == REID_OK);
        if (r == REID_OK) check_pixels(&p);
        else expect(r == REID_ERR_INPUT_SIZE && error.text[0]);
    }
}

/* Up to three texts separated by newlines: the network's, the file's and the user's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = (char *)malloc(size + 1), out[REID__PRESET_TEXT], *parts[3] = {NULL, NULL, NULL};
    expect(text != NULL);
    if (size) memcpy(text, data, size);
    text[size] = 0;
    char *at = text;
    for (int i = 0; i < 3 && at; i++) {
        parts[i] = at;
        at = strchr(at, '\n');
        if (at) *at++ = 0;
    }
    check(parts[0]);
    if (reid__preset_text(parts[2], parts[1], parts[0], out, sizeof out)) {
        expect(memchr(out, 0, sizeof out) != NULL);
        check(out);
    }
    free(text);
    return 0;
}
