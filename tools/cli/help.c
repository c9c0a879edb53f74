#include "cli/help.h"

#include "cli/option_table.h"
#include "cli/settings.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, INDENT = 27 };

/* Wraps s to WIDTH columns, each line indented by `indent` spaces; an empty line separates paragraphs. */
static void add_wrapped(text *t, const char *s, int indent, int column) {
    while (*s) {
        size_t n = strcspn(s, " \n");
        int is_break = s[n] == '\n';
        if (column > indent && column + (int)n + 1 > WIDTH) {
            text_printf(t, "\n%*s", indent, "");
            column = indent;
        }
        if (column > indent) text_putc(t, ' ');
        text_add(t, s, n);
        column += (int)n + (column > indent);
        s += n + (s[n] != 0);
        if (!is_break) continue;
        text_printf(t, "\n\n%*s", indent, "");
        column = indent;
        s += strspn(s, "\n");
    }
    text_putc(t, '\n');
}

/* A long list of values continues below its first one. Returns the column after it. */
static int add_values(text *t, const char *values, int column) {
    const int start = column;
    while (*values) {
        int n = (int)strcspn(values, "|") + (values[strcspn(values, "|")] == '|');
        if (column > start && column + n > WIDTH) {
            text_printf(t, "\n%*s", start, "");
            column = start;
        }
        text_add(t, values, (size_t)n);
        column += n;
        values += n;
    }
    return column;
}

static void add_option(text *t, const option *spec) {
    char letter[8] = "   ";
    if (spec->letter) snprintf(letter, sizeof letter, "-%c%c", spec->letter, spec->name ? ',' : ' ');
    size_t before = t->len;
    text_printf(t, "  %s %s%s%s", letter, spec->name ? "--" : "", spec->name ? spec->name : "", spec->arg ? " " : "");
    int n = add_values(t, spec->arg ? spec->arg : "", (int)(t->len - before));
    if (n > INDENT - 2 || memchr(t->s + before, '\n', t->len - before)) text_printf(t, "\n%*s", INDENT, "");
    else text_printf(t, "%*s", INDENT - n, "");
    add_wrapped(t, spec->help, INDENT, INDENT);
}

static void add_names(text *t, const char *title, const char *(*name_of)(int)) {
    text line = TEXT_INIT;
    for (int i = 0; name_of(i); i++) text_printf(&line, "%s%s", i ? ", " : "", name_of(i));
    text_printf(t, "\n%s:\n  ", title);
    add_wrapped(t, line.s ? line.s : "", 2, 2);
    text_free(&line);
}

/* Whether the command takes an option of the topic; -m, the first row of the table, is listed apart. */
static int takes_topic(const command *c, option_topic topic) {
    for (const option *spec = OPTIONS + 1; spec->help; spec++)
        if (spec->topic == topic && option_applies(spec, c)) return 1;
    return 0;
}

/* The names of the options of a topic that the command takes; their help is in the topic. */
static void add_topic_names(text *t, const command *c, option_topic topic, const char *title, const char *name) {
    text line = TEXT_INIT;
    if (!takes_topic(c, topic)) return;
    for (const option *spec = OPTIONS + 1; spec->help; spec++)
        if (spec->topic == topic && option_applies(spec, c))
            text_printf(&line, "%s--%s", line.len ? " " : "", spec->name);
    text_printf(t, "\n%s (see \"reid help %s\"):\n  ", title, name);
    add_wrapped(t, line.s ? line.s : "", 2, 2);
    text_free(&line);
}

void help_command(text *t, const command *c) {
    text_printf(t, "reid %s: %s\n\nUsage: reid %s %s\n", c->name, c->summary, c->name, c->synopsis);
    if (c->about[0]) {
        text_putc(t, '\n');
        add_wrapped(t, c->about, 0, 0);
    }
    if (c->self & (HELP | VERSION)) return;
    text_puts(t, "\nOptions:\n");
    for (const option *spec = OPTIONS; spec->help; spec++)
        if (option_applies(spec, c) && spec->topic == OF_COMMAND) add_option(t, spec);
    add_topic_names(t, c, OF_MODELS, "Model options", "models");
    add_topic_names(t, c, OF_DEVICES, "Device and performance options", "devices");
    if (!strstr(c->about, "Exit status: "))
        text_puts(t, "\nExit status: 0 success; 1 some inputs failed (each is named, and the others are\n"
                     "done); 2 invalid use, or nothing done.\n");
    text_puts(t, "\nExamples:\n");
    for (int i = 0; i < 3 && c->examples[i]; i++) text_printf(t, "  %s\n", c->examples[i]);
}

static void add_variable(text *t, const command *c, const option *spec, int nth) {
    text name = TEXT_INIT;
    environment_name(&name, c, spec, nth);
    text_printf(t, "  %-28s --%s", name.s, spec->name);
    if (spec->arg) text_printf(t, " %s", strlen(spec->arg) <= WIDTH / 3 ? spec->arg : "VALUE");
    text_putc(t, '\n');
    text_free(&name);
}

void help_environment(text *t, const command *c) {
    enum { SHOWN = 2 }; /* of the variables for the models, which are numbered */
    text_printf(t, "reid help %s --environment: options without a command line\n\n", c->name);
    add_wrapped(t,
                "Options override environment variables, and those override the file of --config.\n\n"
                "An empty variable counts as not set. Options without a value take 1 or 0. Model options, such as "
                "--preset, apply to all models; the variables of further models end in _3, _4 and so on. A variable "
                "that begins like these but is not one of them is refused.\n\n"
                "In the file, a line is NAME = VALUE with the name of an option (without dashes), NAME alone for an "
                "option without a value, a # and a comment, or empty. model may be given several times; model options "
                "apply to the model above them, or, above the first model, to all.\n\nThe models come from one place: "
                "the command line if it has -m, else the environment if it has any, else the file. Model options from "
                "other places then apply to all models, except those that belong to one of several models there.",
                0, 0);
    text_puts(t, "\nVariables:\n");
    for (const option *spec = OPTIONS; spec->help; spec++)
        for (int nth = 1; nth <= SHOWN && settings_has_variable(c, spec, nth); nth++) add_variable(t, c, spec, nth);
    if (option_find(c, 0, "token-file", strlen("token-file")))
        text_printf(t, "  %-28s --token-file FILE, if the one above is not set\n", SETTINGS_TOKEN_VARIABLE);
}

void help_topic_page(text *t, const help_topic *topic) {
    text_printf(t, "reid help %s: %s\n\n", topic->name, topic->summary);
    add_wrapped(t, topic->about, 0, 0);
    if (topic->options == OF_COMMAND) return;
    text_puts(t, "\nOptions:\n");
    for (const option *spec = OPTIONS; spec->help; spec++)
        if (spec->topic == topic->options) add_option(t, spec);
    if (topic->options != OF_MODELS) return;
    add_names(t, "Networks", reid_network_name);
    add_names(t, "Presets", reid_preset_name);
}

void help_overview(text *t, const command_table *table) {
    text_puts(t, "reid: is this the same person, deer, car or face?\n\nUsage: reid COMMAND [OPTION]... [ARGUMENT]...\n"
                 "\nStart here:\n");
    text_puts(t, table->start);
    for (int group = 0; table->groups[group]; group++) {
        text_printf(t, "\n%s:\n", table->groups[group]);
        for (const command *c = table->commands; c->name; c++)
            if (c->group == group) text_printf(t, "  %-10s %s\n", c->name, c->summary);
    }
    text_puts(t, "\nTopics:\n");
    for (const help_topic *topic = table->topics; topic->name; topic++)
        text_printf(t, "  %-10s %s\n", topic->name, topic->summary);
    text_puts(t, "\n\"reid help COMMAND\" lists a command's options, with working examples;\n"
                 "\"reid help TOPIC\" explains what several commands share.\n");
}
