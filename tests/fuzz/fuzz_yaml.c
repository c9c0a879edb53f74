/* Fuzzer for YAML: an accepted file has entries that are consistent and are the same if they are written and read
   again; a refused one comes with a reason. Each value is also read as fast-reid's configurations use it.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -Itools -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_yaml.c
         -o build/fuzz_yaml -lm
   build/fuzz_yaml -dict=tests/fuzz/yaml.dict CORPUS_DIRECTORY */
#include "base/text.c"
#include "base/choices.c"
#include "base/memory.c"
#include "base/yaml.c"
#include "weights/yacs.c"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

/* Stubs for functions that the files above call and that do not matter here. */
void say_error(const char *format, ...) { (void)format; }
int file_read(const char *path, size_t limit, int regular_only, text *out, text *why) {
    return path && limit && regular_only && out && why;
}

static int is_inside(const char *path, const char *map) {
    const size_t n = strlen(map);
    return strncmp(path, map, n) == 0 && path[n] == '.';
}

static void check(const yaml *y) {
    int line = 1;
    MUST(y->count <= YAML_ENTRIES);
    for (size_t i = 0; i < y->count; i++) {
        const yaml_entry *e = &y->at[i];
        const char *path = yaml_path(y, e), *last = strrchr(path, '.');
        size_t bytes = 0;
        MUST(e->line >= line && yaml_find(y, path) == e);
        line = e->line;
        MUST(e->kind == YAML_LIST || e->count == (e->kind == YAML_SCALAR));
        for (size_t k = 0; k < e->count; k++) bytes += strlen(yaml_item(y, e, k)) + 1;
        MUST(e->items + bytes <= y->texts.len);
        MUST(i + 1 == y->count || y->at[i + 1].path == e->items + bytes);
        int inside = !last;
        for (size_t k = 0; k < i && !inside; k++)
            inside = y->at[k].kind == YAML_MAP && is_inside(path, yaml_path(y, &y->at[k]));
        MUST(inside);
    }
}

static void put_scalar(text *out, const char *s) {
    text_putc(out, '"');
    for (; *s; s++) {
        if (*s == '\\' || *s == '"') text_putc(out, '\\');
        if (*s == '\n' || *s == '\r' || (unsigned char)*s < ' ') text_printf(out, "\\x%02x", (unsigned char)*s);
        else text_putc(out, *s);
    }
    text_putc(out, '"');
}

/* Writes the file again, with every map by indentation. */
static void put(const yaml *y, text *out) {
    for (size_t i = 0; i < y->count; i++) {
        const yaml_entry *e = &y->at[i];
        const char *path = yaml_path(y, e), *last = strrchr(path, '.');
        for (const char *c = path; *c; c++)
            if (*c == '.') text_putc(out, ' ');
        text_printf(out, "%s: ", last ? last + 1 : path);
        if (e->kind == YAML_SCALAR) put_scalar(out, yaml_item(y, e, 0));
        if (e->kind == YAML_LIST) text_putc(out, '[');
        for (size_t k = 0; k < e->count && e->kind == YAML_LIST; k++)
            put_scalar(out, yaml_item(y, e, k)), text_puts(out, ", ");
        if (e->kind == YAML_LIST) text_putc(out, ']');
        if (e->kind == YAML_MAP && (i + 1 == y->count || !is_inside(yaml_path(y, e + 1), path))) text_puts(out, "{}");
        text_putc(out, '\n');
    }
}

static void read_again(const yaml *y) {
    text file = TEXT_INIT, why = TEXT_INIT;
    yaml again;
    put(y, &file);
    if (file.len <= YAML_BYTES) {
        MUST(yaml_read(&again, file.s ? file.s : "", file.len, &why));
        MUST(again.count == y->count && again.texts.len == y->texts.len);
        MUST(!y->count || memcmp(again.texts.s, y->texts.s, y->texts.len) == 0);
        yaml_free(&again);
    }
    text_free(&file), text_free(&why);
}

static void read_values(const yaml *y) {
    const yacs_file file = {.of = *y, .label = "file"};
    text why = TEXT_INIT;
    for (size_t i = 0; i < y->count; i++) {
        const yacs_value v = {&file, &y->at[i]};
        double numbers[3];
        int flag;
        const int n = yacs_numbers(&v, numbers, 3);
        MUST(n >= 0 && n <= 3);
        for (int k = 0; k < n; k++) MUST(numbers[k] >= -1e9 && numbers[k] <= 1e9);
        MUST(!yacs_bool(&v, &flag) || v.at->kind == YAML_SCALAR);
        MUST(!yacs_refuse(&v, &why, ", but %d", 1) && strstr(why.s, ", but 1"));
    }
    text_free(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    text why = TEXT_INIT;
    yaml y;
    const int good = yaml_read(&y, (const char *)data, size, &why);
    MUST(good == !why.len);
    if (good) check(&y), read_again(&y), read_values(&y);
    yaml_free(&y);
    text_free(&why);
    return 0;
}
