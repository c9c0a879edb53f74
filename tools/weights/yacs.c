#include "weights/yacs.h"

#include "base/choices.h"
#include "base/files.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void yacs_free(yacs *y) {
    for (int i = 0; i < y->count; i++) {
        yaml_free(&y->files[i].of);
        free(y->files[i].path);
    }
    y->count = 0;
}

int yacs_find(const yacs *y, const char *key, yacs_value *v) {
    for (int i = 0; i < y->count; i++) {
        v->file = &y->files[i];
        v->at = yaml_find(&v->file->of, key);
        if (v->at) return 1;
    }
    return 0;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static int read_file(yacs_file *f, text *why) {
    text bytes = TEXT_INIT, reason = TEXT_INIT;
    const int good = file_read(f->path, (size_t)1 << 20, 1, &bytes, &reason) &&
                     yaml_read(&f->of, bytes.s ? bytes.s : "", bytes.len, &reason);
    if (text_failed(&reason)) text_no_memory(why);
    else if (!good) refuse(why, "%s: %s", f->label, reason.s);
    text_free(&bytes), text_free(&reason);
    return good;
}

/* Refuses a path that is not plainly that of a configuration beside this one. fast-reid follows any path, also to other
   machines. */
static int check_base(const yacs *y, const yacs_value *v, const char *base, text *why) {
    if (!base) return yacs_refuse(v, why, "; expected the path of a file");
    if (path_is_absolute(base) || *base == '~' || strstr(base, "://"))
        return yacs_refuse(v, why, "; expected a path relative to this file");
    if (!path_has_ending(base, ".yml") && !path_has_ending(base, ".yaml"))
        return yacs_refuse(v, why, "; expected the path of a .yml or .yaml file");
    if (y->count < YACS_FILES) return 1;
    return yacs_refuse(v, why, "; more than %d files are based on each other, perhaps in a circle", YACS_FILES);
}

/* Adds the file that the last one names as its base. */
static int add_base(yacs *y, const yacs_value *v, text *why) {
    const char *base = yacs_scalar(v);
    text path = TEXT_INIT;
    if (!check_base(y, v, base, why)) return 0;
    path_folder(&path, v->file->path);
    text_printf(&path, "/%s", base);
    if (text_failed(&path)) return text_no_memory(why);
    y->files[y->count++] = (yacs_file){.path = path.s, .label = path.s};
    return 1;
}

/* A map cannot replace another value, nor the reverse. */
static int check_kinds(const yacs *y, const yacs_file *f, text *why) {
    for (const yacs_file *base = f + 1; base < y->files + y->count; base++)
        for (size_t i = 0; i < f->of.count; i++) {
            const yacs_value v = {f, &f->of.at[i]};
            const yaml_entry *other = yaml_find(&base->of, yaml_path(&f->of, v.at));
            if (other && (other->kind == YAML_MAP) != (v.at->kind == YAML_MAP))
                return yacs_refuse(&v, why, ", but in line %d of %s it is %s", other->line, base->label,
                                   other->kind == YAML_MAP ? "a map" : "not a map");
        }
    return 1;
}

int yacs_open(yacs *y, const char *path, const char *label, text *why) {
    yacs_value v = {NULL, NULL};
    y->files[0] = (yacs_file){.path = mem_copy(path, strlen(path)), .label = label};
    if (!y->files[0].path) return y->count = 0, text_no_memory(why);
    y->count = 1;
    do {
        v.file = &y->files[y->count - 1];
        if (!read_file(&y->files[y->count - 1], why)) return 0;
        v.at = yaml_find(&v.file->of, "_BASE_");
        if (v.at && !add_base(y, &v, why)) return 0;
    } while (v.at);
    for (int i = 0; i < y->count; i++)
        if (!check_kinds(y, &y->files[i], why)) return 0;
    return 1;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

const char *yacs_scalar(const yacs_value *v) {
    return v->at->kind == YAML_SCALAR ? yaml_item(&v->file->of, v->at, 0) : NULL;
}

/* Reads the numbers between the brackets of s. */
static int read_tuple(const char *s, double *to, int most) {
    const size_t len = strlen(s);
    char number[40];
    int n = 0;
    if (len < 2 || !((s[0] == '(' && s[len - 1] == ')') || (s[0] == '[' && s[len - 1] == ']'))) return 0;
    for (const char *at = s + 1, *end = s + len - 1; at < end;) {
        while (*at == ' ') at++;
        size_t size = strcspn(at, ",)]"), digits = size;
        while (digits && at[digits - 1] == ' ') digits--;
        if (at == end && n) return n; /* after a last comma */
        if (n == most || digits >= sizeof number) return 0;
        memcpy(number, at, digits), number[digits] = 0;
        if (!parse_real(number, -1e9, 1e9, &to[n++])) return 0;
        at += size + (at + size < end);
    }
    return n;
}

int yacs_numbers(const yacs_value *v, double *to, int most) {
    if (v->at->kind == YAML_SCALAR) return read_tuple(yacs_scalar(v), to, most);
    if (v->at->kind == YAML_MAP || v->at->count > (size_t)most) return 0;
    for (size_t i = 0; i < v->at->count; i++)
        if (!parse_real(yaml_item(&v->file->of, v->at, i), -1e9, 1e9, &to[i])) return 0;
    return (int)v->at->count;
}

int yacs_bool(const yacs_value *v, int *to) {
    const char *s = yacs_scalar(v);
    if (!s) return 0;
    *to = choice_index("true|True|TRUE|yes|Yes|YES|on|On|ON", s) >= 0;
    return *to || choice_index("false|False|FALSE|no|No|NO|off|Off|OFF", s) >= 0;
}

/* Adds the value as a person would write it. */
static void put_value(const yacs_value *v, text *out) {
    const char *s = yacs_scalar(v);
    enum { MOST = 60 }; /* bytes of a scalar that a message shows */
    char start[MOST];
    if (v->at->kind == YAML_MAP) text_puts(out, "a map");
    else if (s && !*s) text_puts(out, "empty");
    else if (s) visible(start, sizeof start, s), text_puts(out, start);
    else {
        text_putc(out, '[');
        for (size_t i = 0; i < v->at->count && i < 4; i++) {
            visible(start, sizeof start, yaml_item(&v->file->of, v->at, i));
            text_printf(out, "%s%s", i ? ", " : "", start);
        }
        text_puts(out, v->at->count > 4 ? ", ...]" : "]");
    }
}

int yacs_refuse(const yacs_value *v, text *why, const char *format, ...) {
    va_list list;
    refuse(why, "%s: line %d: %s is ", v->file->label, v->at->line, yaml_path(&v->file->of, v->at));
    put_value(v, why);
    va_start(list, format);
    text_vprintf(why, format, list);
    va_end(list);
    return 0;
}
