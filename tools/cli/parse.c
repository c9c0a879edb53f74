#include "cli/parse.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/spelling.h"
#include "base/text.h"
#include "base/unicode.h"
#include "cli/hints.h"
#include "cli/key_lines.h"
#include "cli/option_setters.h"
#include "cli/option_table.h"
#include "cli/profile.h"
#include "cli/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage_error(const command *c, const char *what, const char *arg) {
    say_error("%s: %s %s; see \"reid help %s\"", c->name, what, shown(arg), c->name);
    return 0;
}

/* name: without its dashes and its value. */
static int unknown_option(const command *c, const char *arg, const char *name, size_t len) {
    text hint = TEXT_INIT;
    hint_option(&hint, c, name, len);
    say_error("%s: unknown option %s%s; see \"reid help %s\"", c->name, shown(arg), hint.len ? hint.s : "", c->name);
    text_free(&hint);
    return 0;
}

/* Parses one argument that starts with "--". Returns how many arguments it used, 0 after an error. */
static int parse_long(settings *to, const command *c, char **argv) {
    const char *name = argv[0] + 2, *value = strchr(name, '=');
    const size_t len = value ? (size_t)(value - name) : strlen(name);
    const option *spec = option_find(c, 0, name, len);
    if (!spec) return unknown_option(c, argv[0], name, len);
    if (!spec->arg) {
        if (value) return usage_error(c, "no value may be given with", argv[0]);
        return settings_add(to, spec, "");
    }
    if (value) return settings_add(to, spec, value + 1);
    if (!argv[1]) return usage_error(c, "a value is missing after", argv[0]);
    return settings_add(to, spec, argv[1]) ? 2 : 0;
}

/* Parses "-q", "-qv", "-k5" or "-k 5". */
static int parse_letters(settings *to, const command *c, char **argv) {
    for (const char *at = argv[0] + 1; *at; at++) {
        const option *spec = option_find(c, *at, NULL, 0);
        if (!spec) return unknown_option(c, argv[0], at, 1);
        if (!spec->arg) {
            if (!settings_add(to, spec, "")) return 0;
            continue;
        }
        if (at[1]) return settings_add(to, spec, at + 1);
        if (!argv[1]) return usage_error(c, "a value is missing after", argv[0]);
        return settings_add(to, spec, argv[1]) ? 2 : 0;
    }
    return 1;
}

/* Sorts the words of the command line into options and operands. */
static int parse_words(options *o, settings *to, const command *c, int argc, char **argv) {
    for (int i = 0, plain = 0; i < argc;) {
        int used = 1;
        if (plain || argv[i][0] != '-' || !argv[i][1]) o->operands[o->operand_count++] = argv[i];
        else if (strcmp(argv[i], "--") == 0) plain = 1;
        else used = argv[i][1] == '-' ? parse_long(to, c, argv + i) : parse_letters(to, c, argv + i);
        if (!used) return 0;
        i += used;
    }
    o->operands[o->operand_count] = NULL;
    return 1;
}

/* The value that an option has in the last layer that gives it; NULL: in none. */
static const char *last_value(const settings layers[LAYERS], const option *spec) {
    const char *value = NULL;
    for (int i = 0; i < LAYERS; i++)
        for (size_t k = 0; k < layers[i].count; k++)
            if (layers[i].list[k].spec == spec) value = layers[i].list[k].value;
    return value;
}

/* Reads the file of --config. Its text is kept, because options point into it. */
static int read_config(options *o, const command *c, settings *to, const char *path) {
    text file = TEXT_INIT, why = TEXT_INIT;
    int good = key_lines_open(&file, path, "a file of options", &why);
    o->config = path;
    o->config_text = file.s;
    if (!good) say_error("%s: %s", shown(path), why.s);
    else if (file.len) good = settings_from_file(to, c, path, file.s);
    text_free(&why);
    return good;
}

/* Adds the options that do not come from the command line, for commands that take any. */
static int parse_elsewhere(options *o, const command *c, settings layers[LAYERS]) {
    const option *config = option_find(c, 0, "config", strlen("config")), *help = option_find(c, 'h', NULL, 0);
    if (!config || last_value(layers, help)) return 1;
    if (!settings_from_environment(&layers[LAYER_ENVIRONMENT], c)) return 0;
    const char *path = last_value(layers, config);
    return !path || read_config(o, c, &layers[LAYER_FILE], path);
}

/* The option of a profile key, whatever commands take it. */
static const option *option_of_key(int key) {
    for (const option *spec = OPTIONS; spec->help; spec++)
        if (spec->name && strcmp(spec->name, PROFILE_KEY[key]) == 0) return spec;
    return NULL;
}

/* Applies a profile, which options override. Values of options that this command does not take are checked, too. */
static int apply_profile(options *o, const command *c) {
    profile p;
    if (!o->profile) return 1;
    if (!profile_read(&p, o->profile)) return 0;
    for (int key = 0; key < PROFILE_KEYS; key++) {
        const option *spec = option_of_key(key);
        options checked = *o;
        if (!p.value[key][0]) continue;
        if (!spec || spec->set(&checked, spec, (char *)&checked + spec->offset, p.value[key]) <= 0) {
            say_error("%s, line %d: %s takes %s, not \"%s\"", shown(o->profile), p.line[key], PROFILE_KEY[key],
                      spec ? option_expects(spec) : "nothing", shown(p.value[key]));
            return 0;
        }
        if (option_applies(spec, c) && !(o->given & 1u << key)) *o = checked;
    }
    return 1;
}

/* Joins a preset and the options that change it into one text. Returns 0 when that is too long. */
static int change_preset(const command *c, model_options *m) {
    size_t size = sizeof m->changed;
    if (!m->fields[0]) return 1;
    int n = snprintf(m->changed, size, "%s%s%s", m->preset ? m->preset : "", m->preset ? " " : "", m->fields);
    if (n < 0 || (size_t)n >= size) return usage_error(c, "too long for a preset", m->fields);
    m->preset = m->changed;
    return 1;
}

static int is_written(const option *spec) {
    return spec->offset == offsetof(options, output.path) || spec->offset == offsetof(options, output.trace) ||
           spec->offset == offsetof(options, serve.access_log) || spec->offset == offsetof(options, bench.page) ||
           spec->offset == offsetof(options, review.html);
}

/* The file that an option names, NULL if it names none. doctor's -o is a PATH to which nothing is written. */
static const char *file_of(const options *o, const command *c, const option *spec) {
    if (!option_applies(spec, c) || spec->per_model || spec->set != option_set_text) return NULL;
    if (!strstr(spec->arg, "FILE") && (is_written(spec) || !strstr(spec->arg, "PATH"))) return NULL;
    return *(const char *const *)((const char *)o + spec->offset);
}

/* 1 for options whose input, the groups of an earlier run, the output may replace. */
static int may_be_replaced(const option *spec) {
    return spec->offset == offsetof(options, cluster.carry) || spec->offset == offsetof(options, cluster.add);
}

/* Replaces a path by that of a file which is there under another spelling. Returns 0 after saying that memory ran
   out. */
static int spell(options *o, const char **path) {
    if (!*path || !name_has_forms(*path) || is_database_url(*path)) return 1;
    char *spelled = NEED(o->spelled, o->spelled_count, o->spelled_cap) ? path_spelled(*path) : NULL;
    if (!spelled) return say_no_memory();
    o->spelled[o->spelled_count++] = spelled;
    *path = spelled;
    return 1;
}

/* Finds the files that operands and options name. */
static int spell_inputs(options *o, const command *c) {
    int good = 1;
    for (int i = 0; i < o->operand_count && good; i++) {
        const char *path = o->operands[i];
        good = spell(o, &path);
        o->operands[i] = (char *)path;
    }
    for (int i = 0; i < o->models && good; i++) good = spell(o, &o->model[i].weights);
    for (const option *spec = OPTIONS; spec->help && good; spec++)
        if (file_of(o, c, spec)) good = spell(o, (const char **)(void *)((char *)o + spec->offset));
    return good;
}

/* Notes an input and the files that are read with it: the ids and the metadata of embeddings. */
static int keep_input(const char *path) {
    static const char *const sides[] = {".ids.txt", ".meta.json"}, *const stems[] = {"", ".npy", ".fvecs"};
    if (!path || is_database_url(path)) return 1;
    int good = replace_never(path);
    text side = TEXT_INIT;
    for (int i = 0; good && i < 6; i++) {
        if (!text_ends_with(path, stems[i / 2])) continue;
        text_clear(&side);
        text_printf(&side, "%.*s%s", (int)(strlen(path) - strlen(stems[i / 2])), path, sides[i % 2]);
        good = !text_failed(&side) && replace_never(side.s);
    }
    text_free(&side);
    return good;
}

/* Notes every input, so that nothing of this run replaces it. */
static int note_inputs(const options *o, const command *c) {
    int good = 1, operands = c->self == CONVERT && o->operand_count > 1 ? 1 : o->operand_count; /* then the output */
    for (int i = 0; i < operands && good; i++) good = keep_input(o->operands[i]);
    for (int i = 0; i < o->models && good; i++)
        good = keep_input(o->model[i].weights) && keep_input(o->model[i].ranges);
    for (const option *spec = OPTIONS; spec->help && good; spec++)
        if (!is_written(spec) && !may_be_replaced(spec)) good = keep_input(file_of(o, c, spec));
    if (!good) say_error("out of memory");
    return good;
}

/* Refuses an output that is also an input, so that a typing error does not overwrite data. */
static int keep_inputs(const options *o, const command *c) {
    if (o->output.force) replace_by_force();
    if (!note_inputs(o, c)) return 0;
    for (const option *spec = OPTIONS; spec->help; spec++) {
        const char *path = is_written(spec) ? file_of(o, c, spec) : NULL;
        if (!path || !replace_is_input(path)) continue;
        say_error("%s: %s is both input and output; name another output", c->name, shown(path));
        return 0;
    }
    return 1;
}

/* Sets the defaults that are not zero. */
static void set_defaults(options *o) {
    const double not_given = (double)NAN;
    memset(o, 0, sizeof *o);
    o->input.min_conf = o->match.threshold = o->eval.least_cosine = o->cluster.suggest = not_given;
    o->fit.shrinkage = o->fit.holdout = o->track.apart = o->track.burst = not_given;
    o->count.seed = o->track.first_frame = -1;
    o->input.max_pixels = 200000000;
    o->match.top_k = 5;
    o->gallery.by = REID_GROUP_MAX;
    o->reembed.lease = 60;
    o->eval.k1 = 20, o->eval.k2 = 6, o->eval.lambda = 0.3, o->eval.alpha = 3, o->eval.limit = 2;
    o->calibrate.fmr = o->calibrate.same_time = (double)NAN, o->calibrate.prior = 0.5;
    o->bench.rounds = 9;
    o->serve.max_body = (size_t)64 << 20, o->serve.connections = 1024, o->serve.timeout = 60;
    o->serve.idle = o->serve.drain = 30;
    o->track.frame_timeout = 60;
    o->tune.seconds = 60;
}

int options_parse(options *o, const command *c, int argc, char **argv) {
    settings layers[LAYERS] = {{0}};
    set_defaults(o);
    o->operands = need_array((size_t)argc + 1, sizeof *o->operands);
    int good = o->operands && parse_words(o, &layers[LAYER_ARGUMENTS], c, argc, argv) &&
               parse_elsewhere(o, c, layers) && settings_apply(o, c, layers);
    for (int i = 0; i < LAYERS; i++) free(layers[i].list);
    if (!good || !apply_profile(o, c) || !change_preset(c, &o->every)) return 0;
    for (int i = 0; i < o->models; i++)
        if (!change_preset(c, &o->model[i])) return 0;
    say_setup(o->output.quiet ? SAY_QUIET : o->output.verbose);
    return spell_inputs(o, c) && keep_inputs(o, c);
}

void options_free(options *o) {
    for (size_t i = 0; i < o->spelled_count; i++) free(o->spelled[i]);
    free(o->spelled), free(o->operands), free(o->config_text);
}

void command_unknown(const command_table *t, const char *name) {
    text hint = TEXT_INIT;
    hint_command(&hint, t, name);
    say_error("unknown command \"%s\"%s; see \"reid help\"", shown(name), hint.len ? hint.s : "");
    text_free(&hint);
}

const command *command_find(const command_table *t, const char *name) {
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) name = "version";
    for (const command *c = t->commands; c->name; c++)
        if (strcmp(c->name, name) == 0) return c;
    return NULL;
}
