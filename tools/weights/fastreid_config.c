#include "weights/fastreid_config.h"

#include "base/choices.h"
#include "base/files.h"
#include "weights/yacs.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const stated FASTREID_INPUT = {.mean = {0.485, 0.456, 0.406}, .std = {0.229, 0.224, 0.225},
                               .height = 256, .width = 128, .is_straight = 1, .filter = "bicubic"};

typedef struct reading {
    yacs file;
    const checkpoint *c;
    const mapping *m;
    fastreid_config *to;
    text *why;
} reading;

/* --- the tensors -------------------------------------------------------------------------------------------------- */

static const tensor *find_tensor(const mapping *m, const char *pattern) {
    for (size_t i = 0; i < m->count; i++)
        if (fnmatch(pattern, m->at[i].from->name, 0) == 0) return m->at[i].from;
    return NULL;
}

static int has_norm(const mapping *m) {
    return find_tensor(m, "*heads.bottleneck.[01].running_mean") || find_tensor(m, "*heads.bnneck.running_mean");
}

/* The outputs of the linear layer in the head; 0: there is none. */
static int reduced_width(const mapping *m) {
    const tensor *t = find_tensor(m, "*heads.bottleneck.0.weight");
    return t && t->ndim > 1 && t->shape[0] < 1 << 20 ? (int)t->shape[0] : 0;
}

/* Files of before September 2020, whose networks are different: see ORIGINS of dialects.c. Their configurations may be
   newer, as those that fast-reid's model zoo names for them. */
static int is_old(const mapping *m) { return strcmp(m->origin, "fast-reid of 2020") == 0; }

/* --- the network -------------------------------------------------------------------------------------------------- */

/* Keys of fastreid/config/defaults.py, from version 0.1 to 1.3, and the values that mean what the networks here
   compute. The batch norms compute the same unless they are trained. NECK_FEAT is for training only: the embedding is
   always what comes after the batch norm. */
#define NORMS "BN|SyncBN|syncBN|GhostBN|FrozenBN"
static const struct { const char *key, *values; } SUPPORTED[] = {
    {"MODEL.META_ARCHITECTURE", "Baseline|MoCo|Distiller"},
    {"MODEL.BACKBONE.NAME", "build_resnet_backbone"},
    {"MODEL.BACKBONE.NORM", NORMS},
    {"MODEL.BACKBONE.FEAT_DIM", "2048"},
    {"MODEL.BACKBONE.LAST_STRIDE", "1|2"},
    {"MODEL.BACKBONE.WITH_SE", "False|false|FALSE|no|No|NO|off|Off|OFF"},
    {"MODEL.HEADS.NAME", "EmbeddingHead|BNneckHead"},
    {"MODEL.HEADS.NORM", NORMS},
    {"MODEL.HEADS.IN_FEAT", "2048"},
    {"MODEL.HEADS.NECK_FEAT", "before|after"},
};

static int check_supported(reading *r) {
    for (size_t i = 0; i < sizeof SUPPORTED / sizeof *SUPPORTED; i++) {
        const char *values = SUPPORTED[i].values;
        yacs_value v;
        if (!yacs_find(&r->file, SUPPORTED[i].key, &v)) continue;
        const char *s = yacs_scalar(&v);
        if (s && choice_index(values, s) >= 0) continue;
        const int only_false = strncmp(values, "False|", 6) == 0;
        return yacs_refuse(&v, r->why, "; convert supports %s", only_false ? "False" : values);
    }
    return 1;
}

/* Compares True or False with what the tensors have. */
static int check_part(reading *r, const char *key, int has, const char *part) {
    yacs_value v;
    int wanted;
    if (!yacs_find(&r->file, key, &v)) return 1;
    if (!yacs_bool(&v, &wanted)) return yacs_refuse(&v, r->why, "; expected True or False");
    return wanted == has || yacs_refuse(&v, r->why, ", but the checkpoint has %s%s", has ? "" : "no ", part);
}

/* Compares the depth, which is 50 in version 0.1 and 50x later. */
static int check_depth(reading *r, const char *trunk) {
    const size_t digits = strcspn(trunk, "-");
    yacs_value v;
    if (!yacs_find(&r->file, "MODEL.BACKBONE.DEPTH", &v)) return 1;
    const char *s = yacs_scalar(&v);
    if (s && strncmp(s, trunk, digits) == 0 && (!s[digits] || strcmp(s + digits, "x") == 0)) return 1;
    return yacs_refuse(&v, r->why, ", but the checkpoint is a ResNet-%.*s", (int)digits, trunk);
}

static int check_head(reading *r) {
    yacs_value v;
    const int width = reduced_width(r->m);
    long long wanted;
    if (yacs_find(&r->file, "MODEL.HEADS.NAME", &v) && strcmp(yacs_scalar(&v), "BNneckHead") == 0 && !is_old(r->m))
        return yacs_refuse(&v, r->why, ", but the checkpoint's tensors are named as EmbeddingHead names them");
    if (!yacs_find(&r->file, "MODEL.HEADS.EMBEDDING_DIM", &v)) return 1;
    if (!yacs_scalar(&v) || !parse_int(yacs_scalar(&v), 0, 1 << 20, &wanted))
        return yacs_refuse(&v, r->why, "; expected a whole number");
    if (wanted != width && width)
        return yacs_refuse(&v, r->why, ", but the checkpoint's embeddings have %d values", width);
    if (wanted != width) return yacs_refuse(&v, r->why, ", but the checkpoint has no linear layer in its head");
    return !width || width == 512 || yacs_refuse(&v, r->why, "; convert supports 0 and 512");
}

/* Sets *gem to 1 for a generalised mean. Its exponent is a tensor if it was learned, which until September 2020 was the
   only kind, so that gempool and, in newer configurations of older files, GeneralizedMeanPooling stand for it. */
static int read_pool(reading *r, int *gem) {
    static const char means[] = "GlobalAvgPool|FastGlobalAvgPool|avgpool|fastavgpool";
    static const char fixed[] = "GeneralizedMeanPooling", learned[] = "GeneralizedMeanPoolingP|gempoolP";
    const int has = find_tensor(r->m, "*heads.pool_layer.p") != NULL;
    yacs_value v;
    *gem = has;
    if (!yacs_find(&r->file, "MODEL.HEADS.POOL_LAYER", &v)) return 1; /* the default is the mean */
    const char *s = yacs_scalar(&v);
    const int is_mean = s && choice_index(means, s) >= 0, is_learned = s && choice_index(learned, s) >= 0;
    *gem = !is_mean;
    if (!s || (!is_mean && !is_learned && strcmp(s, fixed) != 0 && strcmp(s, "gempool") != 0))
        return yacs_refuse(&v, r->why, "; convert supports %s|%s|%s|gempool", means, fixed, learned);
    if (has && (is_mean || (strcmp(s, fixed) == 0 && !is_old(r->m))))
        return yacs_refuse(&v, r->why, ", but the checkpoint has a learned exponent, pool_layer.p");
    return has || !is_learned || yacs_refuse(&v, r->why, ", but the checkpoint has no learned exponent, pool_layer.p");
}

static int read_network(reading *r) {
    char trunk[TRUNK_NAME];
    yacs_value v;
    int gem;
    trunk_of(r->c, trunk);
    if (!check_supported(r) || !check_depth(r, trunk) || !check_head(r) || !read_pool(r, &gem) ||
        !check_part(r, "MODEL.BACKBONE.WITH_IBN", strstr(trunk, "-ibn") != NULL, "instance norms") ||
        !check_part(r, "MODEL.BACKBONE.WITH_NL", strstr(trunk, "-nl") != NULL, "non-local blocks") ||
        !check_part(r, "MODEL.HEADS.WITH_BNNECK", has_norm(r->m), "batch norm in its head")) return 0;
    r->to->last_stride = 1;
    if (yacs_find(&r->file, "MODEL.BACKBONE.LAST_STRIDE", &v)) r->to->last_stride = *yacs_scalar(&v) - '0';
    if (!is_old(r->m))
        snprintf(r->to->network, sizeof r->to->network, "resnet%s-fastreid%s%s", trunk, gem ? "-gem" : "",
                 reduced_width(r->m) ? "-512" : "");
    return 1;
}

/* --- the input ---------------------------------------------------------------------------------------------------- */

static int is_edge(double v) { return v >= 1 && v < 10000 && !(v > floor(v)); }

/* Reads a size of one or two numbers, as for torchvision's Resize and CenterCrop. Returns how many; 0 with the reason
   in r->why. */
static int read_size(reading *r, const yacs_value *v, double size[2]) {
    const int n = yacs_numbers(v, size, 2);
    if (n && is_edge(size[0]) && (n == 1 || is_edge(size[1]))) return n;
    return yacs_refuse(v, r->why, "; expected a height and a width from 1 to 9999");
}

/* The size of fast-reid's test transform (fastreid/data/transforms/build.py): Resize to SIZE_TEST with Pillow's bicubic
   filter, then, with INPUT.CROP, CenterCrop. */
static int read_sizes(reading *r) {
    stated *in = &r->to->input;
    double size[2] = {256, 128}, crop[2] = {224, 224};
    int edges = 2, crops = 0, is_cropped = 0;
    yacs_value v;
    if (yacs_find(&r->file, "INPUT.SIZE_TEST", &v)) {
        edges = yacs_numbers(&v, size, 2);
        if (edges && size[0] <= 0) snprintf(r->to->no_size, sizeof r->to->no_size, "it does not resize images");
        else if (!read_size(r, &v, size)) return 0;
    }
    if (yacs_find(&r->file, "INPUT.CROP.ENABLED", &v) && !yacs_bool(&v, &is_cropped))
        return yacs_refuse(&v, r->why, "; expected True or False");
    if (is_cropped && yacs_find(&r->file, "INPUT.CROP.SIZE", &v)) {
        crops = read_size(r, &v, crop);
        if (!crops) return 0;
    }
    if (crops == 1) crop[1] = crop[0];
    const double larger = crop[0] > crop[1] ? crop[0] : crop[1];
    const char *problem = edges == 2 && is_cropped ? "no preset crops after a resize to a height and a width"
                        : edges == 1 && !is_cropped ? "a resize of only the short side keeps the images' shapes"
                        : edges == 1 && size[0] < larger ? "the crop is larger than the resized image" : NULL;
    if (problem && !r->to->no_size[0]) snprintf(r->to->no_size, sizeof r->to->no_size, "%s", problem);
    if (r->to->no_size[0]) return 1;
    in->height = (int)(is_cropped ? crop[0] : size[0]), in->width = (int)(is_cropped ? crop[1] : size[1]);
    in->resize = is_cropped ? (int)size[0] : 0;
    in->is_straight = !is_cropped;
    return 1;
}

/* Reads three numbers of pixels from 0 to 255, red first, which must be those of the checkpoint, if it has them. */
static int read_pixels(reading *r, const char *key, double least, double most, const double *stored, double to[3]) {
    yacs_value v;
    double pixels[3];
    if (!yacs_find(&r->file, key, &v)) {
        for (int k = 0; k < 3 && r->m->has_pixels; k++) to[k] = stored[k] / 255; /* instead of a default */
        return 1;
    }
    int good = yacs_numbers(&v, pixels, 3) == 3;
    for (int k = 0; k < 3 && good; k++) good = pixels[k] >= least && pixels[k] <= most;
    if (!good) return yacs_refuse(&v, r->why, "; expected three numbers from %g to %g", least, most);
    for (int k = 0; k < 3; k++) {
        if (r->m->has_pixels && fabs(pixels[k] - stored[k]) > 0.01)
            return yacs_refuse(&v, r->why, ", but the checkpoint has %g, %g, %g", stored[0], stored[1], stored[2]);
        to[k] = pixels[k] / 255;
    }
    return 1;
}

static int read_input(reading *r) {
    stated *in = &r->to->input;
    *in = FASTREID_INPUT;
    in->name = r->to->name;
    return read_sizes(r) && read_pixels(r, "MODEL.PIXEL_MEAN", 0, 255, r->m->pixel_mean, in->mean) &&
           read_pixels(r, "MODEL.PIXEL_STD", 0.5, 2550, r->m->pixel_std, in->std);
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

static int read_config(reading *r, const char *path) {
    char label[40];
    yacs_value v;
    snprintf(label, sizeof label, "%s next to the file", r->to->name);
    if (!yacs_open(&r->file, path, label, r->why)) return 0;
    if (!yacs_find(&r->file, "MODEL", &v) || v.at->kind != YAML_MAP)
        return refuse(r->why, "%s has no map MODEL, so it is not fast-reid's; rename it", label);
    return read_network(r) && read_input(r);
}

int fastreid_config_read(fastreid_config *f, const char *path, const checkpoint *c, const mapping *m, text *why) {
    static const char *const names[] = {"config.yaml", "config.yml"};
    text folder = TEXT_INIT, config = TEXT_INIT;
    reading r = {.c = c, .m = m, .to = f, .why = why};
    *f = (fastreid_config){.name = NULL};
    if (!m->origin || strncmp(m->origin, "fast-reid", 9) != 0 || c->graph) return 1;
    path_folder(&folder, path);
    int good = text_failed(&folder) ? text_no_memory(why) : 1;
    for (size_t i = 0; i < sizeof names / sizeof *names && !f->name && good; i++) {
        if (file_in_folder(&config, folder.s, names[i])) f->name = names[i];
        if (text_failed(&config)) good = text_no_memory(why);
    }
    if (good && f->name) good = read_config(&r, config.s);
    yacs_free(&r.file);
    text_free(&folder), text_free(&config);
    return good;
}
