#include "weights/stated.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- names -------------------------------------------------------------------------------------------------------- */

typedef enum stated_field {
    NO_FIELD, MEAN, STD, CROP_SIZE, RESIZE_SIZE, INPUT_SIZE, CROP_PCT, FILTER
} stated_field;

static int is_name(const char *s, size_t len, const char *name) {
    return len == strlen(name) && memcmp(s, name, len) == 0;
}

/* 1 for "mean", and for "image_mean" and the like if name is "mean". */
static int ends_with_name(const char *s, size_t len, const char *name) {
    size_t n = strlen(name);
    return is_name(s, len, name) || (len > n && s[len - n - 1] == '_' && memcmp(s + len - n, name, n) == 0);
}

static stated_field field_of(const char *s, size_t len) {
    static const struct { const char *name; stated_field what; } names[] = {
        {"crop_size", CROP_SIZE}, {"resize_size", RESIZE_SIZE}, {"input_size", INPUT_SIZE}, {"crop_pct", CROP_PCT},
        {"interpolation", FILTER}, {"resample", FILTER}};
    if (ends_with_name(s, len, "mean")) return MEAN;
    if (ends_with_name(s, len, "std")) return STD;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_name(s, len, names[i].name)) return names[i].what;
    return NO_FIELD;
}

int stated_has_key(const char *key, size_t len) { return field_of(key, len) != NO_FIELD; }

/* Transforms that change which pixels the network sees, and whose arguments depend on the others. */
static const char *const TRANSFORMS[] = {"Resize", "CenterCrop", "Pad", "FiveCrop", "TenCrop", "Grayscale"};

/* Notes a transform, or torchvision's name for weights, such as ResNet50_Weights. */
static void note_class(stated *s, const char *name, size_t len) {
    if (ends_with_name(name, len, "Weights") && len < 40 && !strstr(s->unused, "_Weights")) {
        size_t at = strlen(s->unused);
        snprintf(s->unused + at, sizeof s->unused - at, "%s%.*s", at ? ", " : "", (int)len, name);
    }
    for (size_t i = 0; i < sizeof TRANSFORMS / sizeof *TRANSFORMS; i++) {
        if (!is_name(name, len, TRANSFORMS[i]) || strstr(s->unused, TRANSFORMS[i])) continue;
        size_t at = strlen(s->unused);
        snprintf(s->unused + at, sizeof s->unused - at, "%s%s", at ? ", " : "", TRANSFORMS[i]);
    }
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static int is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static const char *skip_any(const char *s, const char *of) { return s + strspn(s, of); }

/* Reads numbers that commas separate, with or without brackets. Returns how many there are, at most most + 1. */
static int read_numbers(const char *s, double *to, int most) {
    int n = 0;
    for (s = skip_any(s, " \t\r\n\"'[("); n <= most; n++) {
        char *end;
        if (!strchr("+-.0123456789", *s) || !*s) return n;
        double value = strtod(s, &end);
        if (end == s || !isfinite(value)) return 0;
        if (n < most) to[n] = value;
        s = skip_any(end, " \t\r\n");
        if (*s != ',') return n + 1;
        s = skip_any(s + 1, " \t\r\n");
    }
    return n;
}

static int read_edges(const char *s, int *height, int *width) {
    double side[2];
    int n = read_numbers(s, side, 2);
    if (n != 1 && n != 2) return 0;
    if (n == 1) side[1] = side[0];
    for (int k = 0; k < 2; k++)
        if (!(side[k] >= 1 && side[k] < 10000)) return 0;
    *height = (int)side[0], *width = (int)side[1];
    return 1;
}

void stated_filter(stated *s, const char *name, size_t len) {
    static const char start[] = "InterpolationMode.";
    if (len > sizeof start - 1 && memcmp(name, start, sizeof start - 1) == 0)
        name += sizeof start - 1, len -= sizeof start - 1;
    s->filter = NULL;
    if ((len == 8 && strncasecmp(name, "bilinear", 8) == 0) || is_name(name, len, "2")) s->filter = "bilinear";
    if ((len == 7 && strncasecmp(name, "bicubic", 7) == 0) || is_name(name, len, "3")) s->filter = "bicubic";
    s->has_other_filter = !s->filter;
}

int stated_is_possible(const stated *s) {
    for (int k = 0; k < 3; k++)
        if (!(s->mean[k] >= 0 && s->mean[k] <= 1 && s->std[k] > 0.001 && s->std[k] <= 10)) return 0;
    return s->crop >= 0 && s->crop <= 1;
}

/* --- records ------------------------------------------------------------------------------------------------------ */

typedef struct record {
    stated is;
    int has_mean, has_std;
} record;

/* Reads the value of a field. */
static void read_field(record *r, stated_field what, const char *value) {
    double numbers[3];
    int same;
    switch (what) {
    case MEAN: if (read_numbers(value, numbers, 3) == 3) memcpy(r->is.mean, numbers, sizeof numbers), r->has_mean = 1;
        break;
    case STD: if (read_numbers(value, numbers, 3) == 3) memcpy(r->is.std, numbers, sizeof numbers), r->has_std = 1;
        break;
    case CROP_SIZE: read_edges(value, &r->is.height, &r->is.width); break;
    case RESIZE_SIZE: if (read_edges(value, &r->is.resize, &same) && same != r->is.resize) r->is.resize = 0; break;
    case INPUT_SIZE:
        if (read_numbers(value, numbers, 3) == 3 && numbers[1] >= 1 && numbers[1] < 10000 && numbers[2] >= 1 &&
            numbers[2] < 10000) r->is.height = (int)numbers[1], r->is.width = (int)numbers[2];
        break;
    case CROP_PCT: if (read_numbers(value, numbers, 1) == 1) r->is.crop = numbers[0]; break;
    case FILTER: {
        const char *name = skip_any(value, " \t\r\n\"'[<");
        size_t len = 0;
        while (is_word(name[len]) || name[len] == '.') len++;
        if (len && !is_name(name, len, "None") && !is_name(name, len, "null")) stated_filter(&r->is, name, len);
        break;
    }
    case NO_FIELD: break;
    }
}

/* Reads the record at *at and moves past it. */
static void read_record(record *r, const char **at, stated *all) {
    const char *s = *at;
    *r = (record){.has_mean = 0};
    while (*s && *s != '\f') {
        size_t len = 0;
        while (is_word(s[len])) len++;
        if (!len) {
            s++;
            continue;
        }
        const char *after = skip_any(s + len, "\"'");
        after = skip_any(after, " ");
        if (*after == '(') note_class(all, s, len);
        else if (*after == '=' || *after == ':') read_field(r, field_of(s, len), after + 1);
        s += len;
    }
    if (r->is.height && r->is.resize && !r->has_mean && !r->has_std) { /* ImageClassification has these defaults */
        static const double mean[] = {0.485, 0.456, 0.406}, std[] = {0.229, 0.224, 0.225};
        memcpy(r->is.mean, mean, sizeof mean), memcpy(r->is.std, std, sizeof std);
        if (!r->is.filter && !r->is.has_other_filter) r->is.filter = "bilinear";
        r->has_mean = r->has_std = 1;
    }
    *at = *s ? s + 1 : s;
}

/* Numbers above 1 are of pixels from 0 to 255. */
static void scale(stated *s) {
    if (s->mean[0] <= 1 && s->mean[1] <= 1 && s->mean[2] <= 1) return;
    for (int k = 0; k < 3; k++) s->mean[k] /= 255, s->std[k] /= 255;
}

static int is_same(const stated *a, const stated *b) {
    for (int k = 0; k < 3; k++)
        if (fabs(a->mean[k] - b->mean[k]) > 1e-6 || fabs(a->std[k] - b->std[k]) > 1e-6) return 0;
    return 1;
}

int stated_read(stated *s, const char *records) {
    stated all = {.height = 0}, first = {.height = 0};
    int found = 0;
    for (const char *at = records ? records : ""; *at;) {
        record r;
        read_record(&r, &at, &all);
        if (!r.has_mean || !r.has_std) continue;
        scale(&r.is);
        if (found++ == 0) first = r.is;
        else if (!is_same(&first, &r.is) && !all.problem[0])
            snprintf(all.problem, sizeof all.problem, "the file states several normalisations (mean %g,%g,%g and "
                     "%g,%g,%g, ...), so none of them is used; give --mean and --std", first.mean[0], first.mean[1],
                     first.mean[2], r.is.mean[0], r.is.mean[1], r.is.mean[2]);
    }
    if (found && !all.problem[0] && !stated_is_possible(&first))
        snprintf(all.problem, sizeof all.problem, "the file states mean %g,%g,%g, std %g,%g,%g, crop %g, which are not "
                 "used: a mean and a crop are from 0 to 1, a std is above 0.001 and at most 10", first.mean[0],
                 first.mean[1], first.mean[2], first.std[0], first.std[1], first.std[2], first.crop);
    *s = all.problem[0] ? all : first;
    memcpy(s->unused, all.unused, sizeof s->unused);
    return found && !all.problem[0];
}
