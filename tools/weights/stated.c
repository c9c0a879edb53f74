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

/* --- torchvision's transforms ------------------------------------------------------------------------------------- */

/* Transforms that change which pixels the network sees. */
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

/* What a Compose does to the size of an image. A preset can do the same only if the chain resizes once and, if that
   keeps the shape, crops once. */
typedef struct chain {
    double resize[2], crop[2];
    int resizes, crops;      /* numbers that were read: of Resize and CenterCrop together, 1 or 2 */
    int is_tensor;           /* 1: a step before this one has made a tensor of the image */
    int is_training;         /* 1: a step is random */
    const char *problem;     /* why no preset does the same; NULL if one does */
} chain;

static size_t word_length(const char *s) {
    size_t len = 0;
    while (is_word(s[len])) len++;
    return len;
}

/* The character after the bracket that closes the one before s, or the end of the record. */
static const char *closing(const char *s) {
    for (int depth = 1; *s && *s != '\f'; s++) {
        depth += (*s == '(' || *s == '[' || *s == '{') - (*s == ')' || *s == ']' || *s == '}');
        if (!depth) return s + 1;
    }
    return s;
}

/* The value of an argument in "size=256, antialias=True"; NULL if it is not there before end. */
static const char *argument(const char *s, const char *end, const char *name) {
    while (s < end) {
        const size_t len = word_length(s);
        if (is_name(s, len, name) && s[len] == '=') return skip_any(s + len + 1, " ");
        s += len ? len : 1;
    }
    return NULL;
}

static int is_none(const char *value) { return !value || strncmp(value, "None", 4) == 0; }

/* Tensors are resized without antialiasing unless it is asked for; images always with it. */
static void read_resize(chain *c, const char *s, const char *end) {
    const char *size = argument(s, end, "size"), *smooth = argument(s, end, "antialias");
    if (c->resizes || c->crops) c->problem = "the size is changed several times";
    c->resizes = size ? read_numbers(size, c->resize, 2) : 0;
    if (c->resizes != 1 && c->resizes != 2) c->problem = "its size cannot be read";
    if (!is_none(argument(s, end, "max_size"))) c->problem = "no preset has a max_size";
    if (c->is_tensor && (!smooth || strncmp(smooth, "True", 4) != 0)) c->problem = "no preset leaves out antialiasing";
}

static void read_crop(chain *c, const char *s, const char *end) {
    const char *size = argument(s, end, "size");
    if (c->crops) c->problem = "the size is changed several times";
    c->crops = size ? read_numbers(size, c->crop, 2) : 0;
    if (c->crops != 1 && c->crops != 2) c->problem = "its size cannot be read";
    if (c->crops == 1) c->crop[1] = c->crop[0];
}

static void read_step(chain *c, const char *name, size_t len, const char *s, const char *end) {
    static const char *const neutral[] = {"Normalize", "ConvertImageDtype", "ToDtype", "ToPureTensor", "Identity"};
    static const char *const to_tensor[] = {"ToTensor", "PILToTensor", "ToImage", "ToImageTensor"};
    if (is_name(name, len, "Resize")) { read_resize(c, s, end); return; }
    if (is_name(name, len, "CenterCrop")) { read_crop(c, s, end); return; }
    for (size_t i = 0; i < sizeof to_tensor / sizeof *to_tensor; i++)
        if (is_name(name, len, to_tensor[i])) { c->is_tensor = 1; return; }
    for (size_t i = 0; i < sizeof neutral / sizeof *neutral; i++)
        if (is_name(name, len, neutral[i])) return;
    c->is_training |= (len > 6 && memcmp(name, "Random", 6) == 0) || is_name(name, len, "ColorJitter") ||
                      is_name(name, len, "AutoAugment");
    c->problem = "another transform of the same Compose has no counterpart in a preset";
}

static int is_edge(double v) { return v >= 1 && v < 10000 && !(v > (int)v); }

/* Sets the sizes of s if a preset can do what the chain does; otherwise c->problem. */
static void use_chain(chain *c, stated *s) {
    const double *to = c->crops ? c->crop : c->resize, larger = to[0] > to[1] ? to[0] : to[1];
    if (c->problem || (!c->resizes && !c->crops)) return;
    if (!c->resizes) c->problem = "a CenterCrop without a Resize takes parts of images";
    else if (c->resizes == 1 && !c->crops) c->problem = "a Resize of only the short side keeps the images' shapes";
    else if (c->resizes == 2 && c->crops) c->problem = "no preset crops after a Resize to a height and a width";
    else if (c->resizes == 1 && c->resize[0] < larger) c->problem = "the CenterCrop is larger than what it crops";
    else if (!is_edge(to[0]) || !is_edge(to[1]) || !is_edge(c->resize[0])) c->problem = "its size cannot be read";
    if (c->problem) return;
    s->height = (int)to[0], s->width = (int)to[1];
    s->resize = c->resizes == 1 ? (int)c->resize[0] : 0;
    s->is_straight = c->resizes == 2;
    s->filter = "bilinear"; /* Resize's default */
}

/* Reads the steps after "Compose(" up to the end of the chain, which it returns. */
static const char *read_chain(chain *c, const char *s) {
    const char *const end = closing(s);
    *c = (chain){.problem = NULL};
    while (s < end) {
        const size_t len = word_length(s);
        if (len && s[len] == '(') {
            const char *after = closing(s + len + 1);
            read_step(c, s, len, s + len + 1, after);
            s = after;
        } else s += len ? len : 1;
    }
    return end;
}

/* --- records ------------------------------------------------------------------------------------------------------ */

typedef struct record {
    stated is;
    int has_mean, has_std, is_training;
    const char *chain_end; /* of the last Compose; NULL: there is none yet */
    int chain_used;
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

/* Reads a name and its value, or the arguments of a class. A Compose within another is a step of that one. */
static void read_name(record *r, const char *s, size_t len) {
    const char *after = skip_any(skip_any(s + len, "\"'"), " ");
    const int is_step = r->chain_end && s < r->chain_end;
    if (*after == '=' || *after == ':') read_field(r, field_of(s, len), after + 1);
    if (*after != '(' || (is_step && r->chain_used)) return;
    note_class(&r->is, s, len);
    if (is_step || !is_name(s, len, "Compose")) return;
    chain c;
    r->chain_end = read_chain(&c, after + 1);
    use_chain(&c, &r->is);
    r->is_training |= c.is_training;
    r->chain_used = !c.problem && c.resizes;
    if (c.problem) snprintf(r->is.why_unused, sizeof r->is.why_unused, "%s", c.problem);
}

/* Reads the record at *at and moves past it. */
static void read_record(record *r, const char **at) {
    const char *s = *at;
    *r = (record){.has_mean = 0};
    while (*s && *s != '\f') {
        const size_t len = word_length(s);
        if (len) read_name(r, s, len);
        s += len ? len : 1;
    }
    const int has_pixels = r->has_mean && r->has_std;
    if (r->chain_end && !r->chain_used) r->is.filter = NULL, r->is.has_other_filter = 0; /* a filter goes with a size */
    if (r->chain_used && !has_pixels) {
        note_class(&r->is, "Resize", 6);
        snprintf(r->is.why_unused, sizeof r->is.why_unused, "its Compose has no Normalize");
    } else if (r->is.height && r->is.resize && !has_pixels) { /* ImageClassification has these defaults */
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

static int has_size(const stated *s) { return s->height != 0; }

static int same_size(const stated *a, const stated *b) {
    return a->height == b->height && a->width == b->width && a->resize == b->resize &&
           a->is_straight == b->is_straight && a->filter == b->filter && !(fabs(a->crop - b->crop) > 1e-6);
}

/* Adds what a record does not use to what no record uses. */
static void add_unused(stated *all, const stated *r) {
    for (const char *at = r->unused; *at;) {
        const size_t len = strcspn(at, ",");
        note_class(all, at, len);
        at = skip_any(at + len, ", ");
    }
    if (r->why_unused[0]) memcpy(all->why_unused, r->why_unused, sizeof all->why_unused);
}

/* Takes the sizes of a record with the same normalisation, if the others state none or the same. *several: 1 once two
   have differed. */
static void add_size(stated *first, const stated *r, stated *all, int *several) {
    if (*several || !has_size(r) || (has_size(first) && same_size(first, r))) return;
    if (!has_size(first)) {
        *first = *r;
        return;
    }
    *several = 1;
    note_class(all, "Resize", 6);
    snprintf(all->why_unused, sizeof all->why_unused, "the file states several sizes");
    first->height = first->width = first->resize = first->is_straight = 0;
    first->filter = NULL, first->has_other_filter = 0;
}

int stated_read(stated *s, const char *records) {
    stated all = {.height = 0}, first = {.height = 0}, training = {.height = 0};
    int found = 0, several = 0;
    for (const char *at = records ? records : ""; *at;) {
        record r;
        read_record(&r, &at);
        add_unused(r.is_training ? &training : &all, &r.is);
        if (!r.has_mean || !r.has_std) continue;
        scale(&r.is);
        if (found++ == 0) first = r.is;
        else if (is_same(&first, &r.is)) add_size(&first, &r.is, &all, &several);
        else if (!all.problem[0])
            snprintf(all.problem, sizeof all.problem, "the file states several normalisations (mean %g,%g,%g and "
                     "%g,%g,%g, ...), so none of them is used; give --mean and --std", first.mean[0], first.mean[1],
                     first.mean[2], r.is.mean[0], r.is.mean[1], r.is.mean[2]);
    }
    if (found && !all.problem[0] && !stated_is_possible(&first))
        snprintf(all.problem, sizeof all.problem, "the file states mean %g,%g,%g, std %g,%g,%g, crop %g, which are not "
                 "used: a mean and a crop are from 0 to 1, a std is above 0.001 and at most 10", first.mean[0],
                 first.mean[1], first.mean[2], first.std[0], first.std[1], first.std[2], first.crop);
    *s = all.problem[0] ? all : first;
    if (!has_size(&first)) add_unused(&all, &training); /* what embeds images is not what trained, if both are known */
    memcpy(s->unused, all.unused, sizeof s->unused);
    memcpy(s->why_unused, all.why_unused, sizeof s->why_unused);
    return found && !all.problem[0];
}
