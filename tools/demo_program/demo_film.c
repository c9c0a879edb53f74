/* demo_film: shows the results of reid track for a drawn video.

     demo_film boxes DIR WIDTHxHEIGHT < frames > frames
         draws the boxes of DIR/tracks.txt into raw RGB frames of 8 bits per channel, in their individuals' colours
     demo_film page [-s] -b BACK -f FILM.webm -d DETECTIONS -w WHO -o PAGE.html DIR

   DIR is the output of reid track for one video. The page is one file that contains the video and the crops. BACK is
   the page that it links back to. DETECTIONS and WHO are files of demo_video, which knows which deer each box shows.
   -s means that the weights are synthetic.

   make build/demo_film */
#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/say.h"
#include "demo_program/demo.h"
#include "pictures/thumbnail.h"
#include "report/match_page.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLOURS = 8, MOST_DEER = 16, THUMB = 160 };
static const unsigned char PALETTE[COLOURS][3] = {{63, 143, 99}, {208, 138, 60}, {86, 124, 196}, {190, 84, 110},
                                                  {140, 110, 190}, {70, 150, 165}, {150, 140, 50}, {120, 120, 120}};

typedef struct shot {
    char *path;
    double seconds;
} shot;

typedef struct found_track {
    uint32_t number;
    int scene, group; /* group: -1 for none */
    double first, last, boxes;
    shot *shots;
    size_t count, cap;
    size_t seen[MOST_DEER + 1]; /* boxes of each deer; the last: mistakes of the detector */
} found_track;

typedef struct box {
    uint32_t frame, track; /* counted from 0; the track's number */
    double at[4];
} box;

typedef struct result {
    found_track *tracks;
    size_t count, cap;
    box *boxes;
    size_t box_count, box_cap;
    double frames, seconds, groups, threshold;
    int scenes;
} result;

void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("demo_film: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

#define ROOM(array, count, cap) \
    if (!GROW(array, count, cap)) die("out of memory")

/* --- tracks ------------------------------------------------------------------------------------------------------- */

static void read_file(text *out, const char *folder, const char *name) {
    text path = TEXT_INIT, why = TEXT_INIT;
    text_printf(&path, "%s%s%s", folder ? folder : "", folder ? "/" : "", name);
    if (text_failed(&path)) die("out of memory");
    if (!file_read(path.s, (size_t)1 << 30, 1, out, &why)) die("%s: %s", shown(path.s), why.s);
    text_free(&path), text_free(&why);
}

/* A member of an object that is wanted, as a number or a string; other members are skipped. */
typedef struct member {
    const char *key;
    double *number;
    char **string;
} member;

static void read_member(json *j, const char *key, const member *wanted, size_t n) {
    text value = TEXT_INIT;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(key, wanted[i].key) != 0) continue;
        if (wanted[i].number && json_peek(j) == '0') json_number(j, wanted[i].number);
        else if (wanted[i].string && json_string(j, &value)) *wanted[i].string = mem_copy(value.s, value.len);
        else json_skip(j);
        text_free(&value);
        return;
    }
    json_skip(j);
}

static void read_shot(json *j, found_track *t) {
    text key = TEXT_INIT;
    ROOM(t->shots, t->count, t->cap);
    shot *s = &t->shots[t->count++];
    memset(s, 0, sizeof *s);
    const member wanted[] = {{"path", NULL, &s->path}, {"seconds", &s->seconds, NULL}};
    for (json_object(j); json_key(j, &key);) read_member(j, key.s, wanted, 2);
    if (!s->path) die("tracks.json: a crop has no path");
    text_free(&key);
}

static void read_track(json *j, result *r, int scene) {
    text key = TEXT_INIT;
    double number = 0, group = -1;
    ROOM(r->tracks, r->count, r->cap);
    found_track *t = &r->tracks[r->count++];
    memset(t, 0, sizeof *t);
    const member wanted[] = {{"track", &number, NULL}, {"group", &group, NULL}, {"first", &t->first, NULL},
                             {"last", &t->last, NULL}, {"boxes", &t->boxes, NULL}};
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "frames") == 0)
            for (json_array(j); json_item(j);) read_shot(j, t);
        else read_member(j, key.s, wanted, sizeof wanted / sizeof *wanted);
    }
    t->number = (uint32_t)number, t->group = (int)group, t->scene = scene;
    text_free(&key);
}

static void read_video(json *j, result *r) {
    text key = TEXT_INIT;
    const member wanted[] = {{"frames", &r->frames, NULL}, {"seconds", &r->seconds, NULL}};
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "scenes") != 0) {
            read_member(j, key.s, wanted, 2);
            continue;
        }
        for (json_array(j); json_item(j); r->scenes++) {
            text inner = TEXT_INIT;
            for (json_object(j); json_key(j, &inner);) {
                if (strcmp(inner.s, "tracks") == 0)
                    for (json_array(j); json_item(j);) read_track(j, r, r->scenes);
                else json_skip(j);
            }
            text_free(&inner);
        }
    }
    text_free(&key);
}

static void read_tracks(result *r, const char *folder) {
    text file = TEXT_INIT, key = TEXT_INIT;
    json j;
    const member wanted[] = {{"groups", &r->groups, NULL}, {"threshold", &r->threshold, NULL}};
    read_file(&file, folder, "tracks.json");
    json_begin(&j, file.s, file.len);
    for (json_object(&j); json_key(&j, &key);) {
        if (strcmp(key.s, "videos") == 0)
            for (json_array(&j); json_item(&j);) read_video(&j, r);
        else read_member(&j, key.s, wanted, 2);
    }
    if (!json_end(&j)) die("%s/tracks.json: %s", folder, j.error);
    text_free(&file), text_free(&key);
}

/* Reads the next line of MOT text: its frame, counted from 0, its second number and its box. */
static int next_box(char **at, box *b) {
    double v[6];
    int used = 0;
    if (!**at) return 0;
    if (sscanf(*at, "%lf,%lf,%lf,%lf,%lf,%lf%*[^\n]%n", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &used) < 6 || !used)
        die("not a line of MOT text: %.60s", *at);
    *b = (box){(uint32_t)v[0] - 1, (uint32_t)v[1], {v[2] - 1, v[3] - 1, v[4], v[5]}};
    *at += used + ((*at)[used] == '\n');
    return 1;
}

static void read_boxes(result *r, const char *folder) {
    text file = TEXT_INIT;
    read_file(&file, folder, "tracks.txt");
    box b;
    for (char *at = file.s; next_box(&at, &b);) {
        ROOM(r->boxes, r->box_count, r->box_cap);
        r->boxes[r->box_count++] = b;
    }
    text_free(&file);
}

static found_track *track_of(result *r, uint32_t number) {
    for (size_t i = 0; i < r->count; i++)
        if (r->tracks[i].number == number) return &r->tracks[i];
    die("tracks.txt: track %u is not in tracks.json", (unsigned)number);
}

/* --- the truth ---------------------------------------------------------------------------------------------------- */

/* Returns the track that contains a detection's box, or NULL. */
static found_track *owner_of(result *r, const box *d) {
    for (size_t i = 0; i < r->box_count; i++) {
        const box *b = &r->boxes[i];
        double off = 0;
        for (int k = 0; k < 4; k++) off += fabs(b->at[k] - d->at[k]);
        if (b->frame == d->frame && off < 1e-3) return track_of(r, b->track);
    }
    return NULL;
}

/* WHO has a line for each detection: 16 · scene + deer + 1, or 0 for a mistake. */
static void count_deer(result *r, const char *detections, const char *who) {
    text boxes = TEXT_INIT, names = TEXT_INIT;
    read_file(&boxes, NULL, detections);
    read_file(&names, NULL, who);
    char *at = boxes.s, *name = names.s;
    for (box d; next_box(&at, &d);) {
        char *end;
        long id = strtol(name, &end, 10);
        if (end == name) die("%s has fewer lines than the file of detections", shown(who));
        name = end;
        found_track *t = owner_of(r, &d);
        if (t) t->seen[id > 0 ? (id - 1) % MOST_DEER : MOST_DEER]++;
    }
    text_free(&boxes), text_free(&names);
}

/* Returns the deer that most of the boxes show, and whether all do except for mistakes of the detector. */
static int deer_of(const size_t *seen, int *only) {
    int best = 0, kinds = 0;
    for (int i = 0; i < MOST_DEER; i++) {
        kinds += seen[i] > 0;
        if (seen[i] > seen[best]) best = i;
    }
    *only = kinds == 1;
    return best;
}

/* --- boxes -------------------------------------------------------------------------------------------------------- */

static void draw(unsigned char *rgb, int width, int height, const box *b, const unsigned char colour[3]) {
    enum { THICK = 2 };
    int left = (int)rint(b->at[0]), top = (int)rint(b->at[1]);
    int right = (int)rint(b->at[0] + b->at[2]), bottom = (int)rint(b->at[1] + b->at[3]);
    for (int y = top < 0 ? 0 : top; y < bottom && y < height; y++)
        for (int x = left < 0 ? 0 : left; x < right && x < width; x++)
            if (x < left + THICK || x >= right - THICK || y < top + THICK || y >= bottom - THICK)
                memcpy(rgb + 3 * ((size_t)y * (size_t)width + (size_t)x), colour, 3);
}

static const unsigned char *colour_of(int group) { return PALETTE[group < 0 ? COLOURS - 1 : group % COLOURS]; }

static int draw_boxes(const char *folder, const char *size) {
    result r = {0};
    int width = 0, height = 0;
    if (sscanf(size, "%dx%d", &width, &height) != 2 || width < 1 || height < 1 || width > 8192 || height > 8192)
        die("invalid size '%s'; expected WIDTHxHEIGHT, at most 8192x8192", size);
    size_t bytes = 3 * (size_t)width * (size_t)height;
    unsigned char *rgb = mem_alloc(bytes);
    if (!rgb) die("out of memory");
    read_tracks(&r, folder);
    read_boxes(&r, folder);
    for (uint32_t frame = 0; fread(rgb, 1, bytes, stdin) == bytes; frame++) {
        for (size_t i = 0; i < r.box_count; i++)
            if (r.boxes[i].frame == frame)
                draw(rgb, width, height, &r.boxes[i], colour_of(track_of(&r, r.boxes[i].track)->group));
        if (fwrite(rgb, 1, bytes, stdout) != bytes) die("cannot write frames to stdout");
    }
    free(rgb);
    return fflush(stdout) == 0 ? 0 : 2;
}

/* --- the page ----------------------------------------------------------------------------------------------------- */

static const unsigned char css[] = {
#include "build/demo_program/demo_film.css.bytes"
};
static const unsigned char html[] = {
#include "build/demo_program/demo_film.html.bytes"
};
static const page_markup STYLE = {css, sizeof css}, HTML = {html, sizeof html};

typedef struct colour_text {
    char s[24];
} colour_text;

static colour_text css_of(int group) {
    const unsigned char *c = colour_of(group);
    colour_text t;
    snprintf(t.s, sizeof t.s, "#%02x%02x%02x", c[0], c[1], c[2]);
    return t;
}

static void add_tile(text *out, size_t part, const size_t *whole, const char *label) {
    char figure[32];
    snprintf(figure, sizeof figure, "%zu", part);
    page_tile(out, figure, whole, label);
}

static void add_tiles(const result *r, text *out) {
    size_t pure = 0, pure_groups = 0, drawn[MOST_DEER + 1] = {0}, deer = 0;
    int only;
    for (size_t i = 0; i < r->count; i++) {
        deer_of(r->tracks[i].seen, &only);
        pure += only != 0;
        for (int k = 0; k < MOST_DEER; k++) drawn[k] += r->tracks[i].seen[k];
    }
    for (int k = 0; k < MOST_DEER; k++) deer += drawn[k] > 0;
    for (int g = 0; g < (int)r->groups; g++) {
        size_t seen[MOST_DEER + 1] = {0};
        for (size_t i = 0; i < r->count; i++)
            for (int k = 0; k < MOST_DEER && r->tracks[i].group == g; k++) seen[k] += r->tracks[i].seen[k];
        deer_of(seen, &only);
        pure_groups += only != 0;
    }
    const size_t found = (size_t)r->groups;
    page_tiles(out);
    add_tile(out, pure, &r->count, "tracks follow one deer only");
    add_tile(out, found, NULL, "individuals were found");
    add_tile(out, deer, NULL, "deer were drawn");
    add_tile(out, pure_groups, &found, "individuals are one deer only");
    page_tiles_end(out);
}

static void add_lanes(const result *r, text *out) {
    double end = r->seconds > 0 ? r->seconds : 1;
    page_fill(out, &HTML, "tracks", NULL);
    for (size_t i = 0; i < r->count; i++) {
        const found_track *t = &r->tracks[i];
        page_values v = {TEXT_INIT};
        page_set(&v, "number", "%u", (unsigned)t->number);
        page_set(&v, "left", "%.2f", 100 * t->first / end);
        page_set(&v, "width", "%.2f", 100 * (t->last - t->first) / end);
        page_set(&v, "colour", "%s", css_of(t->group).s);
        page_set(&v, "from", "%.1f", t->first);
        page_set(&v, "to", "%.1f", t->last);
        page_set(&v, "boxes", "%.0f box%s", t->boxes, t->boxes == 1 ? "" : "es");
        page_fill(out, &HTML, "track", &v);
        for (size_t k = 0; k < t->count; k++) {
            page_set(&v, "left", "%.2f", 100 * t->shots[k].seconds / end);
            page_fill(out, &HTML, "mark", &v);
        }
        page_fill(out, &HTML, "track end", NULL);
    }
}

/* Adds a crop from the output folder. */
static void add_crop(const char *folder, const found_track *t, const shot *s, text *out) {
    text path = TEXT_INIT, why = TEXT_INIT;
    picture p = {0};
    thumbnail small = {0};
    page_values v = {TEXT_INIT};
    const picture_limits limits = picture_limits_of(1 << 26, 1);
    text_printf(&path, "%s/%s", folder, s->path);
    if (text_failed(&path) || !picture_open(&p, path.s, &limits, &why) || !picture_decode(&p, &why) ||
        !thumbnail_make(&small, &p, NULL, THUMB, &why)) die("%s: %s", shown(s->path), why.s);
    text_clear(&why);
    text_printf(&why, "A crop of individual %d: track %u at %.1f s of the video", t->group, (unsigned)t->number,
                s->seconds);
    if (text_failed(&why)) die("out of memory");
    page_fill(out, &HTML, "crop", NULL);
    page_picture(out, &small.jpeg, why.s);
    page_set(&v, "number", "%u", (unsigned)t->number);
    page_set(&v, "seconds", "%.1f", s->seconds);
    page_fill(out, &HTML, "crop end", &v);
    text_free(&small.jpeg), text_free(&path), text_free(&why);
    picture_free(&p);
}

static void add_group(const result *r, int g, const char *folder, text *out) {
    size_t seen[MOST_DEER + 1] = {0};
    int only;
    page_values v = {TEXT_INIT};
    for (size_t i = 0; i < r->count; i++)
        for (int k = 0; k < MOST_DEER && r->tracks[i].group == g; k++) seen[k] += r->tracks[i].seen[k];
    int deer = deer_of(seen, &only);
    page_set(&v, "class", "%s", only ? "yes" : "no");
    page_set(&v, "colour", "%s", css_of(g).s);
    page_set(&v, "number", "%d", g);
    page_set(&v, "mark", "%s", only ? "&#10003;" : "&#10007;");
    page_set(&v, "deer", "%sdeer %c", only ? "" : "mostly ", 'A' + deer);
    page_fill(out, &HTML, "individual", &v);
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->tracks[i].count && r->tracks[i].group == g; k++)
            add_crop(folder, &r->tracks[i], &r->tracks[i].shots[k], out);
    page_fill(out, &HTML, "individual end", NULL);
}

static void add_groups(const result *r, const char *folder, text *out) {
    page_values v = {TEXT_INIT};
    page_set(&v, "threshold", "%.3f", r->threshold);
    page_fill(out, &HTML, "individuals", &v);
    for (int g = 0; g < (int)r->groups; g++) add_group(r, g, folder, out);
    page_fill(out, &HTML, "individuals end", NULL);
}

typedef struct page_request {
    const char *folder, *film, *detections, *who, *out, *back;
    int synthetic;
} page_request;

static void add_head(const page_request *q, const result *r, const text *film, text *out) {
    const page_head head = {.title = "Who is in the video?", .style = &STYLE, .free_style = 1};
    page_values v = {TEXT_INIT};
    page_begin(out, &head);
    page_set(&v, "back", "%s", path_name(q->back));
    page_set(&v, "seconds", "%.1f", r->seconds);
    page_set(&v, "frames", "%.0f", r->frames);
    page_set(&v, "scenes", "%d scene%s", r->scenes, plural((size_t)r->scenes));
    page_fill(out, &HTML, "introduction", &v);
    if (q->synthetic) page_fill(out, &HTML, "synthetic", NULL);
    page_fill(out, &HTML, "film", NULL);
    text_base64(out, film->s, film->len);
    page_fill(out, &HTML, "film end", NULL);
}

static int write_page(const page_request *q) {
    result r = {0};
    text film = TEXT_INIT, page = TEXT_INIT, why = TEXT_INIT;
    read_tracks(&r, q->folder);
    read_boxes(&r, q->folder);
    count_deer(&r, q->detections, q->who);
    read_file(&film, NULL, q->film);
    add_head(q, &r, &film, &page);
    add_tiles(&r, &page);
    add_groups(&r, q->folder, &page);
    add_lanes(&r, &page);
    page_end(&page);
    if (!file_write(q->out, NULL, &page, &why)) die("%s: %s", shown(q->out), why.s);
    text_free(&film), text_free(&page);
    return 0;
}

int main(int argc, char **argv) {
    page_request q = {0};
    int letter;
    if (argc == 4 && strcmp(argv[1], "boxes") == 0) return draw_boxes(argv[2], argv[3]);
    if (argc < 2 || strcmp(argv[1], "page") != 0)
        die("usage: demo_film boxes DIR WIDTHxHEIGHT, or demo_film page OPTION... DIR");
    argc--, argv++;
    while ((letter = getopt(argc, argv, "sb:f:d:w:o:")) != -1) {
        if (letter == 's') q.synthetic = 1;
        else if (letter == 'b') q.back = optarg;
        else if (letter == 'f') q.film = optarg;
        else if (letter == 'd') q.detections = optarg;
        else if (letter == 'w') q.who = optarg;
        else if (letter == 'o') q.out = optarg;
        else return 2;
    }
    if (!q.film || !q.detections || !q.who || !q.out || !q.back || optind + 1 != argc)
        die("usage: demo_film page [-s] -b BACK -f FILM.webm -d DETECTIONS -w WHO -o PAGE.html DIR");
    q.folder = argv[optind];
    return write_page(&q);
}
