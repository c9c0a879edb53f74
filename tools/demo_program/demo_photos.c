/* demo_photos: draws the photos of three camera traps, and writes the boxes that a detector would find in them.

     demo_photos DIR [SEED]

   DIR/photos/CAM01/IMG_0001.JPG …     three photos, a second apart, of each visit of up to three deer, with the time
                                       in EXIF, as cameras store it
   DIR/md.json                         their boxes as MegaDetector writes them, with misses, mistakes, and many boxes
                                       with a confidence below 0.2
   DIR/truth.csv                       who is in each box: photo,x,y,width,height,name, in pixels; no name for a mistake

   Everything comes from the seed: the same call draws the same photos.

   make build/demo_photos */
#include "base/files.h"
#include "base/json_write.h"
#include "base/random.h"
#include "base/text.h"
#include "demo_program/walks.h"
#include "demo_program/walks_paint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#include <stb/stb_image_write.h>

enum { CAMERAS = 3, VISITS = 60, PHOTOS = 3, WIDTH = 640, HEIGHT = 480, QUALITY = 90 };
static const double VISIT_SECONDS = 4;
enum { CAMERA_SCENES = 1000 }; /* scenes numbered from here on are the cameras' places */

typedef struct site {
    const char *folder;
    uint64_t seed;
    film film;
    film_scene view[CAMERAS]; /* what each camera sees when no animal is there */
    int taken[CAMERAS];        /* photos */
    unsigned char *behind, *rgb; /* [WIDTH · HEIGHT · 3] */
    text truth, boxes;
    json_writer json;
} site;

static void stop(const char *what) {
    fprintf(stderr, "demo_photos: %s\n", what);
    exit(1);
}

/* ---- one photo --------------------------------------------------------------------------------------------------- */

static void put_bytes(text *t, unsigned long value, int bytes) { /* little-endian */
    for (int i = 0; i < bytes; i++) text_putc(t, (char)(value >> 8 * i & 255));
}

static void put_entry(text *t, unsigned tag, unsigned type, unsigned long count, unsigned long value) {
    put_bytes(t, tag, 2), put_bytes(t, type, 2), put_bytes(t, count, 4), put_bytes(t, value, 4);
}

/* A JPEG's APP1 segment with one fact: DateTimeOriginal, tag 0x9003 in the EXIF directory (CIPA DC-008, 4.6.5). The
   offsets count from the byte order mark: the first directory is at 8, EXIF's at 26, the 20 bytes of the time at 44. */
static void put_exif(text *t, const char *when) {
    const unsigned long time_bytes = 20, tiff_bytes = 44 + time_bytes;
    text_add(t, "\xff\xe1", 2);
    text_putc(t, 0), text_putc(t, (char)(2 + 6 + tiff_bytes)); /* the length, big-endian */
    text_add(t, "Exif\0\0II*\0", 10);
    put_bytes(t, 8, 4);
    put_bytes(t, 1, 2), put_entry(t, 0x8769, 4, 1, 26), put_bytes(t, 0, 4);
    put_bytes(t, 1, 2), put_entry(t, 0x9003, 2, time_bytes, 44), put_bytes(t, 0, 4);
    text_add(t, when, time_bytes);
}

static void keep_jpeg(void *to, void *bytes, int size) { text_add(to, bytes, (size_t)size); }

static void write_photo(const site *s, const char *path, const char *when) {
    text jpeg = TEXT_INIT, file = TEXT_INIT, why = TEXT_INIT;
    if (!stbi_write_jpg_to_func(keep_jpeg, &jpeg, WIDTH, HEIGHT, 3, s->rgb, QUALITY)) stop("out of memory");
    text_add(&file, jpeg.s, 2); /* the mark that begins an image; EXIF comes right after it */
    put_exif(&file, when);
    text_add(&file, jpeg.s + 2, jpeg.len - 2);
    if (text_failed(&jpeg) || text_failed(&file)) stop("out of memory");
    if (!file_write_lazily(path, &file, &why)) {
        fprintf(stderr, "demo_photos: %s: %s\n", path, why.s);
        exit(1);
    }
    text_free(&jpeg), text_free(&file), text_free(&why);
}

/* ---- its boxes --------------------------------------------------------------------------------------------------- */

static void put_box(site *s, const char *photo, const seen *d, const film_scene *scene) {
    json_writer *w = &s->json;
    const double sides[4] = {d->box.x / WIDTH, d->box.y / HEIGHT, d->box.w / WIDTH, d->box.h / HEIGHT};
    json_put_object(w, NULL);
    json_put_string(w, "category", "1");
    json_put_fixed(w, "conf", d->score, 3);
    json_put_array(w, "bbox");
    for (int i = 0; i < 4; i++) json_put_fixed(w, NULL, sides[i], 4);
    json_put_end(w);
    json_put_end(w);
    text_printf(&s->truth, "%s,%.1f,%.1f,%.1f,%.1f,%s\n", photo, d->box.x, d->box.y, d->box.w, d->box.h,
                d->walk < 0 ? "" : herd[scene->walk[d->walk].who].name);
}

/* Shadows and stones, to which a detector gives a low confidence. */
static seen doubtful_box(uint64_t *r) {
    seen d = {.walk = -1, .score = between(r, 0.005, 0.15)};
    d.box.w = WIDTH * between(r, 0.04, 0.2), d.box.h = HEIGHT * between(r, 0.04, 0.2);
    d.box.x = between(r, 0, WIDTH - d.box.w), d.box.y = between(r, 0, HEIGHT - d.box.h);
    return d;
}

/* Mistakes of the film's detector can stick out of the image; MegaDetector's boxes cannot. */
static int within_photo(spot *b) {
    double right = b->x + b->w < WIDTH ? b->x + b->w : WIDTH, low = b->y + b->h < HEIGHT ? b->y + b->h : HEIGHT;
    if (b->x < 0) b->x = 0;
    if (b->y < 0) b->y = 0;
    b->w = right - b->x, b->h = low - b->y;
    return b->w >= 4 && b->h >= 4;
}

static void put_boxes(site *s, const char *photo, const film_scene *scene, double at, uint64_t *r) {
    seen list[SEEN_MOST + 2];
    int count = film_detections(&s->film, scene, at, list);
    for (int more = (int)between(r, 0, 3); more > 0; more--) list[count++] = doubtful_box(r);
    json_put_line(&s->json, 2);
    json_put_object(&s->json, NULL);
    json_put_string(&s->json, "file", photo);
    json_put_array(&s->json, "detections");
    for (int i = 0; i < count; i++)
        if (within_photo(&list[i].box)) put_box(s, photo, &list[i], scene);
    json_put_end(&s->json);
    json_put_end(&s->json);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* The animals come from the scene of the visit, everything else from the camera's. */
static void visit(site *s, int number, long long minute, uint64_t *r) {
    int camera = (int)between(r, 0, CAMERAS);
    film_scene scene;
    char photo[64], path[3000], when[64];
    s->film.animals = (int)between(r, 0, 4);
    film_scene_make(&scene, &s->film, number);
    const film_scene *empty = &s->view[camera];
    scene.seed = empty->seed, scene.where = empty->where, scene.horizon = empty->horizon;
    scene.trees = empty->trees;
    memcpy(scene.tree, empty->tree, sizeof scene.tree);
    film_paint_place(&s->film, &scene, s->behind);
    for (int i = 0; i < PHOTOS; i++) {
        double at = scene.begins + 1 + i;
        snprintf(photo, sizeof photo, "CAM%02d/IMG_%04d.JPG", camera + 1, ++s->taken[camera]);
        snprintf(path, sizeof path, "%s/photos/%s", s->folder, photo);
        snprintf(when, sizeof when, "2026:05:%02d %02d:%02d:%02d", (int)(1 + minute / 1440), (int)(minute / 60 % 24),
                 (int)(minute % 60), 10 + i);
        memcpy(s->rgb, s->behind, WIDTH * HEIGHT * 3);
        film_paint_animals(&s->film, &scene, at, s->rgb);
        write_photo(s, path, when);
        put_boxes(s, photo, &scene, at, r);
    }
}

static void begin(site *s) {
    const film usual = {.seed = s->seed, .width = WIDTH, .height = HEIGHT, .seconds = VISITS * VISIT_SECONDS,
                        .scenes = VISITS, .mistakes = 1};
    s->film = usual;
    for (int i = 0; i < CAMERAS; i++) film_scene_make(&s->view[i], &usual, CAMERA_SCENES + i);
    s->behind = malloc(WIDTH * HEIGHT * 3), s->rgb = malloc(WIDTH * HEIGHT * 3);
    if (!s->behind || !s->rgb) stop("out of memory");
    text_puts(&s->truth, "photo,x,y,width,height,name\n");
    s->json = json_write(&s->boxes);
    json_put_object(&s->json, NULL);
    json_put_object(&s->json, "info");
    json_put_string(&s->json, "detector", "drawn by demo_photos");
    json_put_string(&s->json, "format_version", "1.4");
    json_put_end(&s->json);
    json_put_object(&s->json, "detection_categories");
    json_put_string(&s->json, "1", "animal");
    json_put_string(&s->json, "2", "person");
    json_put_string(&s->json, "3", "vehicle");
    json_put_end(&s->json);
    json_put_array(&s->json, "images");
}

static void make_folder(const char *path) {
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return;
    fprintf(stderr, "demo_photos: %s: %s\n", path, strerror(errno));
    exit(1);
}

static void make_folders(const site *s) {
    char path[3000];
    make_folder(s->folder);
    snprintf(path, sizeof path, "%s/photos", s->folder);
    make_folder(path);
    for (int i = 0; i < CAMERAS; i++) {
        snprintf(path, sizeof path, "%s/photos/CAM%02d", s->folder, i + 1);
        make_folder(path);
    }
}

static void write_text(const site *s, const char *name, text *t) {
    char path[3000];
    text why = TEXT_INIT;
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    if (text_failed(t)) stop("out of memory");
    if (!file_write_lazily(path, t, &why)) stop(why.s);
    text_free(t), text_free(&why);
}

int main(int argc, char **argv) {
    char *rest = NULL;
    site s = {.folder = argc > 1 ? argv[1] : NULL, .seed = argc > 2 ? strtoull(argv[2], &rest, 10) : 1};
    if (argc < 2 || argc > 3 || (rest && *rest) || strlen(argv[1]) > 2000) {
        fprintf(stderr, "usage: demo_photos DIR [SEED]\n");
        return 2;
    }
    uint64_t r = random_mix(s.seed + 5);
    long long minute = 5 * 60;
    begin(&s);
    make_folders(&s);
    for (int i = 0; i < VISITS; i++) {
        visit(&s, i, minute, &r);
        minute += (int)between(&r, 20, 12 * 60);
    }
    json_put_finish(&s.json);
    write_text(&s, "md.json", &s.boxes);
    write_text(&s, "truth.csv", &s.truth);
    free(s.behind), free(s.rgb);
    return 0;
}
