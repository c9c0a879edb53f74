#include "cli/man_page.h"

#include "cli/option_table.h"

#include <ctype.h>
#include <string.h>

/* Roff text: backslashes and hyphens escaped, no line begins with a control character, alternatives may break. */
static void add_roff(text *t, const char *s) {
    if (*s == '.' || *s == '\'') text_puts(t, "\\&");
    for (; *s; s++) {
        if (*s == '\\') text_puts(t, "\\e");
        else if (*s == '-') text_puts(t, "\\-");
        else if (*s == '|') text_puts(t, "|\\:");
        else if (*s == '\n' && s[1] == '\n') text_puts(t, "\n.PP");
        else text_putc(t, *s);
    }
}

static void man_option(text *t, const option *spec) {
    text head = TEXT_INIT;
    if (spec->letter) text_printf(&head, "-%c%s", spec->letter, spec->name ? ", " : "");
    if (spec->name) text_printf(&head, "--%s", spec->name);
    text_puts(t, ".TP\n.B ");
    add_roff(t, head.s);
    if (spec->arg) {
        text_putc(t, ' ');
        add_roff(t, spec->arg);
    }
    text_putc(t, '\n');
    add_roff(t, spec->help);
    text_putc(t, '\n');
    text_free(&head);
}

static void man_command(text *t, const command *c) {
    text_printf(t, ".SH \"REID %s\"\n.B reid %s\n", c->name, c->name);
    add_roff(t, c->synopsis);
    text_puts(t, c->synopsis[0] ? "\n.PP\n" : ".PP\n");
    add_roff(t, c->about[0] ? c->about : c->summary);
    text_putc(t, '\n');
    for (const option *spec = OPTIONS; spec->help; spec++)
        if (option_applies(spec, c) && spec->topic == OF_COMMAND) man_option(t, spec);
    if (c->examples[0]) text_puts(t, ".PP\nExamples:\n.nf\n");
    for (int i = 0; i < 3 && c->examples[i]; i++) {
        add_roff(t, c->examples[i]);
        text_putc(t, '\n');
    }
    if (c->examples[0]) text_puts(t, ".fi\n");
}

static void man_topic(text *t, const help_topic *topic) {
    text_puts(t, ".SH \"");
    for (const char *at = topic->name; *at; at++) text_putc(t, (char)toupper((unsigned char)*at));
    text_puts(t, "\"\n");
    add_roff(t, topic->about);
    text_putc(t, '\n');
    for (const option *spec = OPTIONS; spec->help && topic->options != OF_COMMAND; spec++)
        if (spec->topic == topic->options) man_option(t, spec);
}

void man_page(text *t, const command_table *table) {
    text_printf(t, ".TH REID 1 \"\" \"reid %s\" \"User Commands\"\n", reid_version_string());
    text_puts(t, ".SH NAME\nreid \\- is this the same person, deer, car or face?\n.SH SYNOPSIS\n");
    for (const command *c = table->commands; c->name; c++) {
        text_printf(t, ".B reid %s\n", c->name);
        add_roff(t, c->synopsis);
        text_puts(t, c->synopsis[0] ? "\n.br\n" : ".br\n"); /* an empty line would be a paragraph of its own */
    }
    text_puts(t, ".SH DESCRIPTION\nTurns images into embeddings and compares them, with the weights that PyTorch\n"
                 "users already have.\nOptions of one model apply to the\n.B \\-m\nbefore them; before the first\n"
                 ".B \\-m\nthey apply to all models.\nResults go to stdout, progress and messages to stderr.\n");
    for (const command *c = table->commands; c->name; c++) man_command(t, c);
    for (const help_topic *topic = table->topics; topic->name; topic++) man_topic(t, topic);
    text_puts(t, ".SH \"EXIT STATUS\"\nUnless the section of the command says otherwise:\n"
                 "0: success. 1: some inputs failed; each is named, and the others are done.\n"
                 "2: invalid use, or nothing was done.\n.SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours on terminals\n"
                 ".TP\n.B REID_CPU_ISA\nscalar, avx2, avx512, avx512_bf16, amx_bf16, avx512_vnni, amx_int8 or neon:\n"
                 "the default of\n.B \\-\\-isa\n.TP\n.B REID_CACHE_DIR\nthe folder in which compiled GPU kernels are "
                 "kept; default: $XDG_CACHE_HOME/reid\nor ~/.cache/reid\n.TP\n.B REID_NVRTC\nthe path of libnvrtc.so; "
                 "default: searched for\n.TP\n.B REID_SYNC\n1: on a GPU, wait for every kernel, at most 20 seconds, "
                 "and name the operation\nthat failed or did not finish\n"
                 ".TP\n.B REID_SERVE_..., REID_WORKER_...\nthe options of these commands: see\n.B reid help serve "
                 "\\-\\-environment\n");
}
