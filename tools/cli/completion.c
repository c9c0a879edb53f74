#include "cli/completion.h"

#include "cli/option_table.h"

#include <ctype.h>
#include <string.h>

/* Writes the values that an option may have, each after a space, without placeholders such as FILE and N. */
static void option_values(text *t, const option *spec) {
    if (!spec->arg || !spec->name) return;
    if (strcmp(spec->name, "net") == 0)
        for (int i = 0; reid_network_name(i); i++) text_printf(t, " %s", reid_network_name(i));
    else if (strcmp(spec->name, "preset") == 0)
        for (int i = 0; reid_preset_name(i); i++) text_printf(t, " %s", reid_preset_name(i));
    else if (strchr(spec->arg, '|'))
        for (const char *at = spec->arg; *at; at += strcspn(at, "|"), at += *at == '|')
            if (!isupper((unsigned char)*at)) text_printf(t, " %.*s", (int)strcspn(at, "|["), at);
}

/* Writes the names of the commands that take an option, with `between` before each but the first, and `after` after
   each. */
static void add_takers(text *t, const option *spec, const command_table *table, const char *between,
                       const char *after) {
    int some = 0;
    for (const command *c = table->commands; c->name; c++)
        if (option_applies(spec, c)) text_printf(t, "%s%s%s", some++ ? between : "", c->name, after);
}

/* Writes the cases of "COMMAND,--OPTION" in which a word has certain values, and what the shell then does, around
   them. bash and zsh share this. */
static void add_cases(text *t, const command_table *table, const char *before, const char *after) {
    for (const option *spec = OPTIONS; spec->help; spec++) {
        text values = TEXT_INIT, after_command = TEXT_INIT;
        option_values(&values, spec);
        if (values.len) {
            text_printf(&after_command, ",--%s", spec->name);
            text_puts(t, "    ");
            add_takers(t, spec, table, "|", after_command.s);
            text_printf(t, ") %s%s%s; return ;;\n", before, values.s + 1, after);
        }
        text_free(&values), text_free(&after_command);
    }
}

/* What `reid help` explains. */
static void add_help_topics(text *t, const command_table *table) {
    for (const command *c = table->commands; c->name; c++) text_printf(t, "%s ", c->name);
    for (const help_topic *topic = table->topics; topic->name; topic++) text_printf(t, "%s ", topic->name);
}

/* --- bash --------------------------------------------------------------------------------------------------------- */

static void bash_script(text *t, const command_table *table) {
    text_puts(t, "# bash completion for reid; made by \"reid help --completion bash\"\n_reid() {\n"
                 "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} list=\n    COMPREPLY=()\n"
                 "    case ${COMP_WORDS[1]},$before in\n");
    add_cases(t, table, "COMPREPLY=($(compgen -W '", "' -- \"$word\"))");
    text_puts(t, "    esac\n    case $COMP_CWORD,${COMP_WORDS[1]} in\n    1,*) list='");
    for (const command *c = table->commands; c->name; c++)
        text_printf(t, "%s%s", c == table->commands ? "" : " ", c->name);
    text_puts(t, "' ;;\n");
    for (const command *c = table->commands; c->name; c++) {
        text_printf(t, "    *,%s) list='", c->name);
        for (const option *spec = OPTIONS; spec->help; spec++)
            if (option_applies(spec, c) && spec->name) text_printf(t, "--%s ", spec->name);
        if (c->self == HELP) add_help_topics(t, table);
        text_puts(t, "' ;;\n");
    }
    text_puts(t, "    esac\n    if [[ $COMP_CWORD == 1 || ${COMP_WORDS[1]} == help || $word == -* ]]; then\n"
                 "        COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n    fi\n}\n"
                 "complete -o default -F _reid reid\n");
}

/* --- zsh ---------------------------------------------------------------------------------------------------------- */

enum { SHORT = 70 }; /* bytes of a description */

/* Appends the start of an option's help, to the end of a sentence or of the last word for which there is room, between
   a shell's single quotes: what stands for such a quote inside them is `quote`. */
static void add_description(text *t, const char *help, const char *quote) {
    size_t n = strcspn(help, ".;");
    for (const char *dot = help + n; *dot == '.' && dot[1] && dot[1] != ' '; dot = help + n) /* FILE.npy */
        n += 1 + strcspn(dot + 1, ".;");
    int cut = n > SHORT;
    for (n = cut ? SHORT : n; cut && n && help[n] != ' ';) n--;
    for (size_t i = 0; i < n; i++)
        if (help[i] == '\'') text_puts(t, quote);
        else text_putc(t, help[i]);
    if (cut) text_puts(t, " ...");
}

static const char ZSH_QUOTE[] = "'\\''";

/* Names of commands, and of topics of the help, for _describe. */
static void zsh_names(text *t, const command_table *table, int with_topics) {
    for (const command *c = table->commands; c->name; c++) {
        text_printf(t, " '%s:", c->name);
        add_description(t, c->summary, ZSH_QUOTE);
        text_putc(t, '\'');
    }
    for (const help_topic *topic = table->topics; with_topics && topic->name; topic++)
        text_printf(t, " '%s'", topic->name);
}

static void zsh_options(text *t, const command *c) {
    text_printf(t, "    %s) list=(", c->name);
    for (const option *spec = OPTIONS; spec->help; spec++) {
        if (!option_applies(spec, c) || !spec->name) continue;
        text_printf(t, "\n        '--%s:", spec->name);
        add_description(t, spec->help, ZSH_QUOTE);
        text_putc(t, '\'');
    }
    text_puts(t, ") ;;\n");
}

static void zsh_script(text *t, const command_table *table) {
    text_puts(t, "#compdef reid\n# zsh completion for reid; made by \"reid help --completion zsh\"\n_reid() {\n"
                 "    local -a list\n    case ${words[2]},${words[CURRENT-1]} in\n");
    add_cases(t, table, "compadd -- ", "");
    text_puts(t, "    esac\n    if (( CURRENT == 2 )); then\n        list=(");
    zsh_names(t, table, 0);
    text_puts(t, ")\n        _describe command list\n        return\n    fi\n"
                 "    if [[ ${words[2]} == help && ${words[CURRENT]} != -* ]]; then\n        list=(");
    zsh_names(t, table, 1);
    text_puts(t, ")\n        _describe topic list\n        return\n    fi\n    if [[ ${words[CURRENT]} != -* ]]; then\n"
                 "        _files\n        return\n    fi\n    case ${words[2]} in\n");
    for (const command *c = table->commands; c->name; c++) zsh_options(t, c);
    text_puts(t, "    esac\n    _describe option list\n}\n"
                 "if [[ ${funcstack[1]} == _reid ]]; then _reid \"$@\"; else compdef _reid reid; fi\n");
}

/* --- fish --------------------------------------------------------------------------------------------------------- */

static const char FISH_QUOTE[] = "\\'";

static void fish_option(text *t, const option *spec, const command_table *table) {
    text values = TEXT_INIT;
    option_values(&values, spec);
    text_puts(t, "complete -c reid -n '__fish_seen_subcommand_from ");
    add_takers(t, spec, table, " ", "");
    text_printf(t, "' -l %s", spec->name);
    if (spec->letter) text_printf(t, " -s %c", spec->letter);
    if (spec->arg) text_puts(t, values.len && !strstr(spec->arg, "FILE") ? " -x" : " -r"); /* x: not a file */
    if (values.len) text_printf(t, " -a '%s'", values.s + 1);
    text_puts(t, " -d '");
    add_description(t, spec->help, FISH_QUOTE);
    text_puts(t, "'\n");
    text_free(&values);
}

static void fish_script(text *t, const command_table *table) {
    text_puts(t, "# fish completion for reid; made by \"reid help --completion fish\"\n");
    for (const command *c = table->commands; c->name; c++) {
        text_printf(t, "complete -c reid -n __fish_use_subcommand -f -a %s -d '", c->name);
        add_description(t, c->summary, FISH_QUOTE);
        text_puts(t, "'\n");
    }
    text_puts(t, "complete -c reid -n '__fish_seen_subcommand_from help' -f -a '");
    add_help_topics(t, table);
    text_puts(t, "'\n");
    for (const option *spec = OPTIONS; spec->help; spec++)
        if (spec->name) fish_option(t, spec, table);
}

int completion_script(text *t, const char *shell, const command_table *table) {
    static const struct {
        const char *shell;
        void (*write)(text *t, const command_table *table);
    } scripts[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        if (strcmp(shell, scripts[i].shell) != 0) continue;
        scripts[i].write(t, table);
        return 1;
    }
    return 0;
}
