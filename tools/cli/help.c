/* reid help: usage, completion and man page, all made from the tables in options.c. */
#include "cli/options.h"
#include "base/results.h"
#include "base/say.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, INDENT = 27 };

/* Words of s in lines of WIDTH, each line after `indent` spaces; an empty line parts paragraphs. */
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

/* A long list of values goes on below its first one. Returns the column behind it. */
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

static int has_model_options(const command *c) {
    int found = 0;
    for (const option *spec = OPTIONS; spec->help; spec++) found |= spec->per_model && option_applies(spec, c);
    return found;
}

static void add_options(text *t, const command *c, int per_model) {
    for (const option *spec = OPTIONS; spec->help; spec++)
        if (option_applies(spec, c) && spec->per_model == per_model) add_option(t, spec);
}

static void command_help(text *t, const command *c) {
    text_printf(t, "reid %s: %s\n\nUsage: reid %s %s\n", c->name, c->summary, c->name, c->synopsis);
    if (c->about[0]) {
        text_putc(t, '\n');
        add_wrapped(t, c->about, 0, 0);
    }
    if (strcmp(c->name, "help") == 0 || strcmp(c->name, "version") == 0) return;
    int takes_models = option_applies(OPTIONS, c); /* the first row of the table is -m */
    if (has_model_options(c)) {
        text_puts(t, takes_models ? "\nModels (each option belongs to the -m before it; before the first, to all):\n"
                                  : "\nThe model:\n");
        add_options(t, c, 1);
    }
    text_puts(t, "\nOptions:\n");
    add_options(t, c, 0);
    if (has_model_options(c)) {
        add_names(t, "Networks", reid_network_name);
        add_names(t, "Presets", reid_preset_name);
    }
    text_puts(t, "\nExit status: 0 all is well; 1 some inputs failed (each is named, the others are\n"
                 "done); 2 wrong use, or nothing done.\n\nExamples:\n");
    for (int i = 0; i < 3 && c->examples[i]; i++) text_printf(t, "  %s\n", c->examples[i]);
}

static void overview(text *t) {
    text_puts(t, "reid: is this the same person, deer or car?\n\nUsage: reid COMMAND [OPTION]... [ARGUMENT]...\n\n");
    for (const command *c = COMMANDS; c->name; c++) text_printf(t, "  %-9s %s\n", c->name, c->summary);
    text_puts(t, "\n\"reid help COMMAND\" lists the options of a command, with examples that run.\n");
}

/* The man page, in the man(7) macros. */

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
    text_puts(t, "\n.PP\n");
    add_roff(t, c->about[0] ? c->about : c->summary);
    text_putc(t, '\n');
    for (int per_model = 1; per_model >= 0; per_model--)
        for (const option *spec = OPTIONS; spec->help; spec++)
            if (option_applies(spec, c) && spec->per_model == per_model) man_option(t, spec);
    if (c->examples[0]) text_puts(t, ".PP\nExamples:\n.nf\n");
    for (int i = 0; i < 3 && c->examples[i]; i++) {
        add_roff(t, c->examples[i]);
        text_putc(t, '\n');
    }
    if (c->examples[0]) text_puts(t, ".fi\n");
}

static void man_page(text *t) {
    text_printf(t, ".TH REID 1 \"\" \"reid %s\" \"User Commands\"\n", reid_version_string());
    text_puts(t, ".SH NAME\nreid \\- is this the same person, deer or car?\n.SH SYNOPSIS\n");
    for (const command *c = COMMANDS; c->name; c++) {
        text_printf(t, ".B reid %s\n", c->name);
        add_roff(t, c->synopsis);
        text_puts(t, "\n.br\n");
    }
    text_puts(t, ".SH DESCRIPTION\nTurns pictures into embeddings and compares them, with the weights that PyTorch\n"
                 "users already have.\nOptions of one model bind to the\n.B \\-m\nbefore them; before the first\n"
                 ".B \\-m\nthey hold for all models.\nResults go to stdout, progress and messages to stderr.\n");
    for (const command *c = COMMANDS; c->name; c++) man_command(t, c);
    text_puts(t, ".SH \"EXIT STATUS\"\n0: all is well. 1: some inputs failed; each is named, the others are done.\n"
                 "2: wrong use, or nothing was done.\n.SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours on terminals\n"
                 ".TP\n.B REID_CPU_ISA\nscalar, avx2, avx512, avx512_bf16, amx_bf16, avx512_vnni, amx_int8 or neon:\n"
                 "as\n.B \\-\\-isa\n.TP\n.B REID_SYNC\n1: on a GPU every kernel is waited for, at most 20 seconds, and "
                 "the operation\nthat failed or did not end is named.\n");
}

/* Completion for bash. */

static void completion_values(text *t, const option *spec) {
    if (strcmp(spec->name, "net") == 0)
        for (int i = 0; reid_network_name(i); i++) text_printf(t, " %s", reid_network_name(i));
    else if (strcmp(spec->name, "preset") == 0)
        for (int i = 0; reid_preset_name(i); i++) text_printf(t, " %s", reid_preset_name(i));
    else if (strchr(spec->arg, '|'))
        for (const char *at = spec->arg; *at; at += strcspn(at, "|"), at += *at == '|')
            text_printf(t, " %.*s", (int)strcspn(at, "|["), at);
}

static void bash_completion(text *t) {
    text_puts(t, "# bash completion for reid; made by \"reid help --completion bash\"\n_reid() {\n"
                 "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} list=\n    COMPREPLY=()\n"
                 "    case $before in\n");
    for (const option *spec = OPTIONS; spec->help; spec++) {
        text values = TEXT_INIT;
        if (!spec->arg || !spec->name) continue;
        completion_values(&values, spec);
        if (values.len) text_printf(t, "    --%s) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n", spec->name,
                                    values.s + 1);
        text_free(&values);
    }
    text_puts(t, "    esac\n    case $COMP_CWORD,${COMP_WORDS[1]} in\n    1,*) list='");
    for (const command *c = COMMANDS; c->name; c++) text_printf(t, "%s%s", c == COMMANDS ? "" : " ", c->name);
    text_puts(t, "' ;;\n");
    for (const command *c = COMMANDS; c->name; c++) {
        text_printf(t, "    *,%s) list='", c->name);
        for (const option *spec = OPTIONS; spec->help; spec++)
            if (option_applies(spec, c) && spec->name) text_printf(t, "--%s ", spec->name);
        if (strcmp(c->name, "help") == 0)
            for (const command *other = COMMANDS; other->name; other++) text_printf(t, "%s ", other->name);
        text_puts(t, "' ;;\n");
    }
    text_puts(t, "    esac\n    if [[ $COMP_CWORD == 1 || ${COMP_WORDS[1]} == help || $word == -* ]]; then\n"
                 "        COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n    fi\n}\n"
                 "complete -o default -F _reid reid\n");
}

static int print(text *t) { return results_print(t) ? 0 : 2; }

int help_main(options *o) {
    text t = TEXT_INIT;
    if (o->man) {
        man_page(&t);
    } else if (o->completion) {
        if (strcmp(o->completion, "bash") != 0) {
            say_error("help: no completion for %s, only for bash", shown(o->completion));
            return 2;
        }
        bash_completion(&t);
    } else if (o->operand_count == 0) {
        overview(&t);
    } else {
        for (const command *c = COMMANDS; c->name; c++)
            if (strcmp(c->name, o->operands[0]) == 0) command_help(&t, c);
        if (!t.len) {
            say_error("no command \"%s\"; see \"reid help\"", shown(o->operands[0]));
            return 2;
        }
    }
    return print(&t);
}

int version_main(options *o) {
    text t = TEXT_INIT;
    (void)o;
    text_printf(&t, "reid %s\n", reid_version_string());
    return print(&t);
}
