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

static void read_filter(json *j, beside *b) {
    text name = TEXT_INIT;
    double number = 0;
    if (json_peek(j) == '0') json_number(j, &number); /* Pillow's: 2 and 3 */
    else if (json_peek(j) == '"') json_string(j, &name);
    else json_skip(j);
    const char *s = name.s && !text_failed(&name) ? name.s : "";
    if (number == 2 || strcmp(s, "bilinear") == 0) b->filter = "bilinear";
    if (number == 3 || strcmp(s, "bicubic") == 0) b->filter = "bicubic";
    b->has_other_filter = !b->filter;
    text_free(&name);
}

/* Reads an object of one of the two files. Returns 1 if it has a mean and a standard deviation. */
static int read_object(json *j, beside *b) {
    text key = TEXT_INIT;
    int mean = 0, std = 0, inner = 0;
    for (json_object(j); json_key(j, &key);) {
        double size[3];
        if (strcmp(key.s, "mean") == 0 || strcmp(key.s, "image_mean") == 0) mean = read_numbers(j, b->mean, 3);
        else if (strcmp(key.s, "std") == 0 || strcmp(key.s, "image_std") == 0) std = read_numbers(j, b->std, 3);
        else if (strcmp(key.s, "interpolation") == 0 || strcmp(key.s, "resample") == 0) read_filter(j, b);
        else if (strcmp(key.s, "crop_pct") == 0 && json_peek(j) == '0') json_number(j, &b->crop);
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
    return inner || (mean && std);
}

static int is_possible(const beside *b) {
    for (int k = 0; k < 3; k++)
        if (!(b->mean[k] >= 0 && b->mean[k] <= 1 && b->std[k] > 0.001 && b->std[k] <= 10)) return 0;
    return b->crop >= 0 && b->crop <= 1;
}

static int read_one(beside *b, const char *folder, size_t len, const char *name) {
    text path = TEXT_INIT, file = TEXT_INIT, why = TEXT_INIT;
    json j;
    text_printf(&path, "%.*s%s", (int)len, folder, name);
    *b = (beside){.name = name};
    int good = !text_failed(&path) && file_read(path.s, (size_t)1 << 20, 1, &file, &why);
    if (good) {
        json_begin(&j, file.s, file.len);
        good = json_peek(&j) == '{' && read_object(&j, b) && json_end(&j);
        b->is_impossible = good && !is_possible(b);
    }
    text_free(&path), text_free(&file), text_free(&why);
    return good;
}

int beside_read(beside *b, const char *checkpoint) {
    static const char *const names[] = {"model.safetensors", "pytorch_model.bin"};
    const char *name = path_name(checkpoint);
    size_t folder = (size_t)(name - checkpoint);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return read_one(b, checkpoint, folder, "config.json") ||
                   read_one(b, checkpoint, folder, "preprocessor_config.json");
    return 0;
}
