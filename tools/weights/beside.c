#include "weights/beside.h"

#include "base/files.h"
#include "base/json.h"

#include <string.h>

static int read_numbers(json *j, double *to, int wanted) {
    double extra;
    int n = 0;
    if (json_peek(j) != '[') return json_skip(j), 0;
    for (json_array(j); json_item(j); n++) {
        if (json_peek(j) != '0') return json_skip(j), 0;
        json_number(j, n < wanted ? &to[n] : &extra);
    }
    return n == wanted;
}

static void read_filter(json *j, stated *b) {
    text name = TEXT_INIT;
    double number = 0;
    if (json_peek(j) == '0' && json_number(j, &number)) text_printf(&name, "%g", number); /* Pillow's */
    else if (json_peek(j) == '"') json_string(j, &name);
    else json_skip(j);
    if (name.s && !text_failed(&name)) stated_filter(b, name.s, name.len);
    text_free(&name);
}

/* Reads the size of the network's input if it is one number or {"shortest_edge": N}; 0 if it is not. */
static int read_side(json *j) {
    text key = TEXT_INIT;
    double side = 0;
    if (json_peek(j) == '0') json_number(j, &side);
    else if (json_peek(j) != '{') json_skip(j);
    else
        for (json_object(j); json_key(j, &key);) {
            if (strcmp(key.s, "shortest_edge") == 0 && json_peek(j) == '0') json_number(j, &side);
            else json_skip(j);
        }
    text_free(&key);
    return side >= 1 && side < 10000 ? (int)side : 0;
}

/* Reads an object of one of the two files. Returns 1 if it has a mean and a standard deviation. */
static int read_object(json *j, stated *b) {
    text key = TEXT_INIT;
    int mean = 0, std = 0, inner = 0, twice = 0, side = 0;
    for (json_object(j); json_key(j, &key);) {
        double size[3];
        if (strcmp(key.s, "mean") == 0 || strcmp(key.s, "image_mean") == 0) mean = read_numbers(j, b->mean, 3);
        else if (strcmp(key.s, "std") == 0 || strcmp(key.s, "image_std") == 0) std = read_numbers(j, b->std, 3);
        else if (strcmp(key.s, "interpolation") == 0 || strcmp(key.s, "resample") == 0) read_filter(j, b);
        else if (strcmp(key.s, "crop_pct") == 0 && json_peek(j) == '0') json_number(j, &b->crop);
        else if (strcmp(key.s, "size") == 0) side = read_side(j);
        else if (strcmp(key.s, "include_top") == 0 && json_peek(j) == 't') json_bool(j, &twice);
        else if (strcmp(key.s, "input_size") == 0) {
            if (read_numbers(j, size, 3) && size[1] > 0 && size[1] < 10000 && size[2] > 0 && size[2] < 10000)
                b->height = (int)size[1], b->width = (int)size[2];
        } else if (strcmp(key.s, "pretrained_cfg") == 0 && json_peek(j) == '{') {
            inner = read_object(j, b);
        } else {
            json_skip(j);
        }
    }
    text_free(&key);
    if (side && b->crop > 0 && !b->height) b->height = b->width = side; /* without crop_pct, it is not the crop's */
    for (int k = 0; k < 3 && twice && std; k++) b->std[k] *= b->std[k]; /* EfficientNetImageProcessor divides again */
    return inner || (mean && std);
}

/* Reads a file next to the checkpoint if that has one of Hugging Face's names. Returns 0 if it cannot. */
static int read_beside(const char *checkpoint, const char *name, text *file) {
    static const char *const names[] = {"model.safetensors", "pytorch_model.bin"};
    const char *last = path_name(checkpoint);
    text path = TEXT_INIT, why = TEXT_INIT;
    int good = strcmp(last, names[0]) == 0 || strcmp(last, names[1]) == 0;
    if (good) text_printf(&path, "%.*s%s", (int)(last - checkpoint), checkpoint, name);
    good = good && !text_failed(&path) && file_read(path.s, (size_t)1 << 20, 1, file, &why);
    text_free(&path), text_free(&why);
    return good;
}

static int read_one(stated *b, const char *checkpoint, const char *name) {
    text file = TEXT_INIT;
    json j;
    *b = (stated){.name = name};
    int good = read_beside(checkpoint, name, &file);
    if (good) {
        json_begin(&j, file.s, file.len);
        good = json_peek(&j) == '{' && read_object(&j, b) && json_end(&j);
        b->is_impossible = good && !stated_is_possible(b);
    }
    text_free(&file);
    return good;
}

int beside_read(stated *b, const char *checkpoint) {
    return read_one(b, checkpoint, "config.json") || read_one(b, checkpoint, "preprocessor_config.json");
}

/* --- details of the network --------------------------------------------------------------------------------------- */

/* What config.json must say, as JSON without white space, if it says it. The values are defaults of transformers where
   files omit them. */
static const struct {
    const char *layout, *key, *value, *or_value;
} CONFIGS[] = {
    {"Hugging Face ResNet", "layer_type", "\"bottleneck\"", NULL},
    {"Hugging Face ResNet", "hidden_act", "\"relu\"", NULL},
    {"Hugging Face ResNet", "embedding_size", "64", NULL},
    {"Hugging Face ResNet", "hidden_sizes", "[256,512,1024,2048]", NULL},
    {"Hugging Face ResNet", "depths", "[3,4,6,3]", NULL},
    {"Hugging Face ResNet", "downsample_in_first_stage", "false", NULL},
    {"Hugging Face ResNet", "downsample_in_bottleneck", "false", NULL},
    {"Hugging Face EfficientNet", "hidden_act", "\"swish\"", "\"silu\""},
    {"Hugging Face EfficientNet", "pooling_type", "\"mean\"", NULL},
    {"Hugging Face EfficientNet", "batch_norm_eps", "0.001", "1e-3"},
};

/* Compares the value that comes next. */
static int check_value(json *j, const char *layout, const char *key, text *why) {
    while (j->at < j->len && strchr(" \t\r\n:", j->text[j->at])) j->at++;
    const size_t start = j->at;
    text value = TEXT_INIT;
    if (!json_skip(j)) return 1; /* reported for the whole file */
    for (size_t i = start; i < j->at; i++)
        if (!is_white((unsigned char)j->text[i])) text_putc(&value, j->text[i]);
    int good = text_failed(&value) ? text_no_memory(why) : 1;
    for (size_t i = 0; i < sizeof CONFIGS / sizeof *CONFIGS && good; i++) {
        if (strcmp(CONFIGS[i].layout, layout) != 0 || strcmp(CONFIGS[i].key, key) != 0) continue;
        if (strcmp(value.s, CONFIGS[i].value) == 0) continue;
        if (CONFIGS[i].or_value && strcmp(value.s, CONFIGS[i].or_value) == 0) continue;
        good = refuse(why, "config.json next to the file says %s %.60s, but the network here has %s", key, value.s,
                      CONFIGS[i].value);
    }
    text_free(&value);
    return good;
}

int beside_check(const char *layout, const char *checkpoint, int *missing, text *why) {
    text file = TEXT_INIT, key = TEXT_INIT;
    json j;
    int good = 1;
    *missing = 0;
    if (strncmp(layout, "Hugging Face ", 13) != 0) return 1;
    *missing = !read_beside(checkpoint, "config.json", &file);
    json_begin(&j, file.s ? file.s : "", file.len);
    if (!*missing && json_peek(&j) == '{')
        for (json_object(&j); good && json_key(&j, &key);) good = check_value(&j, layout, key.s, why);
    if (good && !*missing && !json_end(&j)) good = refuse(why, "config.json next to the file: %s", j.error);
    text_free(&file), text_free(&key);
    return good;
}
