/* Fuzzer for the detections that reid track reads: MOT text, CSV, the JSON of both MegaDetectors, COCO.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -Itools -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_detections.c
         -o build/fuzz_detections -lm
   build/fuzz_detections -dict=tests/fuzz/detections.dict CORPUS_DIRECTORY */
#include "pictures/detections.c"
#include "pictures/detection_list.c"
#include "pictures/paths.c"
#include "pictures/stated_size.c"
#define read_numbers json_read_numbers
#define reading json_reading
#define found json_found
#define label json_label
#define fail json_reading_fail
#include "pictures/detections_json.c"
#undef read_numbers
#undef reading
#undef label
#undef fail
#undef found
#include "pictures/detections_text.c"
#define find coco_find
#include "pictures/detections_coco.c"
#undef find
#include "base/text.c"
#include "base/random.c"
#include "base/unicode.c"
#include "base/memory.c"
#define fail csv_fail
#define field csv_next_field
#include "base/csv.c"
#undef fail
#undef field
#include "base/json.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

/* Stubs for functions that the files above call and that do not matter here. */
void say_error(const char *format, ...) { (void)format; }
const char *shown(const char *name) { return name; }
int file_read(const char *path, size_t limit, int regular_only, text *out, text *why) {
    return path && limit && regular_only && out && why;
}

/* Two photos of one camera, and a name that matches both. */
static camera east = {.folder = (char *)(size_t)"east", .count = 2};
static const photos all_photos = {.at = &east, .count = 1};
const photo_place *photos_find(const photos *p, const char *name, text *why) {
    static const photo_place places[] = {{"east/a.jpg", "east/a.jpg", 0, 0, -1},
                                         {"east/b.jpg", "east/b.jpg", 0, 1, -1}};
    text_clear(why);
    for (size_t i = 0; i < 2; i++)
        if (p->count && path_same_ends(name, places[i].path)) return &places[i];
    if (strcmp(name, "c.jpg") == 0) text_puts(why, "it could be several");
    return NULL;
}

const photo_place *photos_numbered(const photos *p, double number, text *why) {
    static const photo_place places[] = {{"east/1.jpg", "east/1.jpg", 0, 0, 1},
                                         {"east/2.jpg", "east/2.jpg", 0, 1, 2}};
    text_clear(why);
    if (number > 6) text_puts(why, "it could be several");
    return p->count && number >= 1 && number <= 2 ? &places[(int)number - 1] : NULL;
}

static void check(const detections *d) {
    for (size_t i = 0; i < d->count; i++) {
        const detection *at = &d->at[i];
        MUST(at->score >= 0 && at->score <= 1 && at->category < d->categories.count);
        MUST(at->box[2] > 0 && at->box[3] > 0 && fabs(at->box[0]) <= 1e9 && fabs(at->box[1]) <= 1e9);
        MUST(d->unit == BOX_PIXELS || (at->box[0] >= -0.01 && at->box[0] + at->box[2] <= 1.01));
        MUST(i == 0 || d->at[i - 1].frame <= at->frame);
        MUST(detections_category(d, at->category));
        MUST(!d->photos || at->frame < 2);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const detections_request r = {.path = "f", .video = "a/v.mp4", .only = size && data[0] & 1,
                                  .first = size && data[0] & 2 ? 1 : -1, .min_conf = NAN};
    detections_request of_photos = r;
    of_photos.video = "east", of_photos.photos = &all_photos;
    detections d;
    text file = TEXT_INIT, why = TEXT_INIT;
    if (size) text_add(&file, data + 1, size - 1);
    detections_request of_list = r;
    of_list.video = "", of_list.listed = 1;
    if (size && data[0] & 8) { /* as the boxes of images: their names, without a choice */
        MUST(parse_all(&d, &of_list, &file, &why) == !why.len);
        for (size_t i = 0; i < d.count && !why.len; i++) MUST(d.at[i].owner < d.owners.count);
        detections_free(&d);
    }
    text_clear(&why);
    int good = detections_parse(&d, size && data[0] & 4 ? &of_photos : &r, &file, &why);
    MUST(good == !why.len);
    if (good) check(&d);
    detections_free(&d);
    text_free(&file), text_free(&why);
    return 0;
}
