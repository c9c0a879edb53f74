#include "cli/settings.h"

#include "base/memory.h"
#include "base/say.h"
#include "cli/hints.h"
#include "cli/key_lines.h"
#include "cli/option_setters.h"
#include "cli/option_table.h"
#include "cli/profile.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int add(settings *to, setting s) {
    if (!NEED(to->list, to->count, to->cap)) return 0;
    to->list[to->count++] = s;
    return 1;
}

int settings_add(settings *to, const option *spec, const char *value) {
    return add(to, (setting){spec, value, LAYER_ARGUMENTS, 0});
}

static int is_model(const option *spec) { return spec->set == option_set_model; }

/* Options that make no sense outside the command line. */
static int is_for_people(const option *spec) {
    return strcmp(spec->name, "help") == 0;
}

/* Reads whether an option without a value is given. Returns 0 for another word. */
static int read_switch(const char *word, const char **value) {
    static const char *const on[] = {"1", "true", "yes", "on"}, *const off[] = {"0", "false", "no", "off"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(word, on[i]) == 0) return *value = "", 1;
        if (strcmp(word, off[i]) == 0) return *value = NULL, 1;
    }
    return 0;
}

/* --- the environment ---------------------------------------------------------------------------------------------- */

static void add_upper(text *t, const char *s) {
    for (; *s; s++) text_putc(t, *s == '-' ? '_' : toupper((unsigned char)*s));
}

static void add_prefix(text *t, const command *c) {
    text_puts(t, "REID_");
    add_upper(t, c->name);
    text_putc(t, '_');
}

int settings_has_variable(const command *c, const option *spec, int nth) {
    return option_applies(spec, c) && spec->name && !is_for_people(spec) && nth <= (is_model(spec) ? MAX_SERVED : 1);
}

void environment_name(text *t, const command *c, const option *spec, int nth) {
    add_prefix(t, c);
    add_upper(t, spec->name);
    if (nth > 1) text_printf(t, "_%d", nth);
}

/* Adds the variable of an option if it is set; an empty one counts as not set. */
static int add_variable(settings *to, const option *spec, const char *name, int nth) {
    const char *value = getenv(name);
    if (!value || !*value) return 1;
    if (!spec->arg && !read_switch(value, &value)) {
        say_error("%s takes 1 or 0, not \"%s\"", name, shown(value));
        return 0;
    }
    return add(to, (setting){spec, value, LAYER_ENVIRONMENT, nth});
}

static int add_option(settings *to, const command *c, const option *spec, int nth) {
    text name = TEXT_INIT;
    environment_name(&name, c, spec, nth);
    int good = need_text(&name) && add_variable(to, spec, name.s, nth);
    text_free(&name);
    return good;
}

/* 1 if a variable, whose name has len bytes, sets an option. */
static int sets_option(const command *c, const char *variable, size_t len) {
    text name = TEXT_INIT;
    int same = 0;
    for (const option *spec = OPTIONS; spec->help && !same; spec++)
        for (int nth = 1; settings_has_variable(c, spec, nth) && !same; nth++) {
            text_clear(&name);
            environment_name(&name, c, spec, nth);
            same = name.len == len && memcmp(name.s, variable, len) == 0;
        }
    text_free(&name);
    return same;
}

/* Kubernetes gives containers a few variables for each Service, which look like options if it is called reid-serve. */
static int is_of_a_service(const char *name) {
    static const char *const made[] = {"SERVICE_", "PORT"};
    for (int i = 0; i < 2; i++)
        if (strncmp(name, made[i], strlen(made[i])) == 0) return 1;
    return 0;
}

static int unknown_variable(const command *c, const char *variable, size_t len, size_t prefix) {
    text name = TEXT_INIT, as_option = TEXT_INIT, hint = TEXT_INIT;
    text_add(&name, variable, len);
    for (size_t i = prefix; i < len; i++)
        text_putc(&as_option, variable[i] == '_' ? '-' : tolower((unsigned char)variable[i]));
    if (is_of_a_service(variable + prefix))
        text_printf(&hint, "; Kubernetes sets it for a Service called reid-%s: set enableServiceLinks: false", c->name);
    else if (as_option.len) hint_option(&hint, c, as_option.s, as_option.len);
    say_error("%s: this environment variable names no option%s; see \"reid help %s --environment\"", shown(name.s),
              hint.len ? hint.s : "", c->name);
    text_free(&name), text_free(&as_option), text_free(&hint);
    return 0;
}

/* Refuses variables with the command's prefix that set nothing: they are most likely misspelt. */
static int check_environment(const command *c) {
    text prefix = TEXT_INIT;
    add_prefix(&prefix, c);
    int good = need_text(&prefix);
    for (char **at = environ; good && *at; at++) {
        size_t len = strcspn(*at, "=");
        if (strncmp(*at, prefix.s, prefix.len) == 0 && !sets_option(c, *at, len))
            good = unknown_variable(c, *at, len, prefix.len);
    }
    text_free(&prefix);
    return good;
}

/* Those of models come last: options of one model, which come before them, then apply to all models. */
int settings_from_environment(settings *to, const command *c) {
    const option *token = option_find(c, 0, "token-file", strlen("token-file"));
    if (!check_environment(c) || (token && !add_variable(to, token, SETTINGS_TOKEN_VARIABLE, 1))) return 0;
    for (const option *spec = OPTIONS; spec->help; spec++)
        if (!is_model(spec) && settings_has_variable(c, spec, 1) && !add_option(to, c, spec, 1)) return 0;
    for (int nth = 1; nth <= MAX_SERVED; nth++)
        if (!add_option(to, c, OPTIONS, nth)) return 0;
    return 1;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

static int wrong_line(const char *path, int line, const char *key, const char *what) {
    say_error("%s, line %d: %s: %s", shown(path), line, shown(key), what);
    return 0;
}

/* 1 if an option that does not belong to a model has been given before. */
static int is_given(const settings *list, const option *spec) {
    for (size_t i = 0; i < list->count && !spec->per_model && !is_model(spec); i++)
        if (list->list[i].spec == spec) return 1;
    return 0;
}

static int unknown_key(const command *c, const char *path, const key_line *line) {
    text hint = TEXT_INIT;
    hint_option(&hint, c, line->key, strlen(line->key));
    say_error("%s, line %d: unknown option \"%s\"%s; expected NAME = VALUE with an option of \"reid help %s\"",
              shown(path), line->number, shown(line->key), hint.len ? hint.s : "", c->name);
    text_free(&hint);
    return 0;
}

static int read_line(settings *to, const command *c, const char *path, const key_line *line) {
    const option *spec = option_find(c, 0, line->key, strlen(line->key));
    const char *value = line->value ? line->value : "";
    if (!spec) return unknown_key(c, path, line);
    if (is_for_people(spec) || strcmp(spec->name, "config") == 0)
        return wrong_line(path, line->number, line->key, "is for the command line");
    if (is_given(to, spec)) return wrong_line(path, line->number, line->key, "is given twice");
    if (spec->arg && !line->value) return wrong_line(path, line->number, line->key, "expected NAME = VALUE");
    if (!spec->arg && line->value && !read_switch(value, &value))
        return wrong_line(path, line->number, line->key, "takes no value, or 1 or 0");
    return add(to, (setting){spec, value, LAYER_FILE, line->number});
}

int settings_from_file(settings *to, const command *c, const char *path, char *file) {
    key_line line;
    for (int number = 0; key_lines_next(&file, &number, &line);)
        if (!read_line(to, c, path, &line)) return 0;
    return 1;
}

/* --- applying them ------------------------------------------------------------------------------------------------ */

static int wrong_value(const options *o, const command *c, const setting *s) {
    const char *expected = option_expects(s->spec), *name = s->spec->name;
    text variable = TEXT_INIT;
    if (s->from == LAYER_FILE) {
        say_error("%s, line %d: %s takes %s, not \"%s\"; see \"reid help %s\"", shown(o->config), s->number, name,
                  expected, shown(s->value), c->name);
    } else if (s->from == LAYER_ENVIRONMENT) {
        environment_name(&variable, c, s->spec, s->number);
        say_error("%s takes %s, not \"%s\"; see \"reid help %s\"", variable.s, expected, shown(s->value), c->name);
    } else {
        say_error("%s: --%s takes %s, not \"%s\"; see \"reid help %s\"", c->name, name, expected, shown(s->value),
                  c->name);
    }
    text_free(&variable);
    return 0;
}

/* base: the options or a model's. */
static int apply(options *o, const command *c, const setting *s, void *base) {
    void *slot = (char *)base + s->spec->offset;
    const int key = profile_key(s->spec->name ? s->spec->name : "");
    if (!s->value) return *(int *)slot = 0, 1;
    int good = s->spec->set(o, s->spec, slot, s->value);
    if (good > 0 && key >= 0) o->given |= 1u << key;
    return good > 0 || (good == 0 && wrong_value(o, c, s));
}

/* Sets an option of one model for all of them. */
static int apply_to_all(options *o, const command *c, const setting *s) {
    int good = apply(o, c, s, &o->every);
    for (int i = 0; i < o->models && good; i++) good = apply(o, c, s, &o->model[i]);
    return good;
}

static int count_models(const settings *list) {
    int count = 0;
    for (size_t i = 0; i < list->count; i++) count += is_model(list->list[i].spec);
    return count;
}

/* has_models: 1 if -m is taken from this layer. Options of one model then belong to the latest -m, or to all models
   before the first. Otherwise those of its only model apply to all, wherever they are. */
static int apply_layer(options *o, const command *c, const settings *list, int has_models) {
    model_options unused = {0};
    const int several = count_models(list) > 1;
    int good = 1, others = 0; /* others: belonging to models that do not count */
    for (size_t i = 0; i < list->count && good; i++) {
        const setting *s = &list->list[i];
        if (is_model(s->spec)) others = !has_models && several, good = !has_models || apply(o, c, s, o);
        else if (!s->spec->per_model) good = apply(o, c, s, o);
        else if (has_models) good = apply(o, c, s, o->models ? &o->model[o->models - 1] : &o->every);
        else good = others ? apply(o, c, s, &unused) : apply_to_all(o, c, s);
    }
    return good;
}

int settings_apply(options *o, const command *c, const settings layers[LAYERS]) {
    int models = LAYER_ARGUMENTS;
    while (models > LAYER_FILE && !count_models(&layers[models])) models--;
    for (int i = 0; i < LAYERS; i++)
        if (!apply_layer(o, c, &layers[i], i == models)) return 0;
    return 1;
}
