#include "cli/completion.h"

#include "cli/option_table.h"

#include <string.h>

static void completion_values(text *t, const option *spec) {
    if (strcmp(spec->name, "net") == 0)
        for (int i = 0; reid_network_name(i); i++) text_printf(t, " %s", reid_network_name(i));
    else if (strcmp(spec->name, "preset") == 0)
        for (int i = 0; reid_preset_name(i); i++) text_printf(t, " %s", reid_preset_name(i));
    else if (strchr(spec->arg, '|'))
        for (const char *at = spec->arg; *at; at += strcspn(at, "|"), at += *at == '|')
            text_printf(t, " %.*s", (int)strcspn(at, "|["), at);
}

void bash_completion(text *t, const command_table *table) {
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
    for (const command *c = table->commands; c->name; c++)
        text_printf(t, "%s%s", c == table->commands ? "" : " ", c->name);
    text_puts(t, "' ;;\n");
    for (const command *c = table->commands; c->name; c++) {
        text_printf(t, "    *,%s) list='", c->name);
        for (const option *spec = OPTIONS; spec->help; spec++)
            if (option_applies(spec, c) && spec->name) text_printf(t, "--%s ", spec->name);
        if (c->self == HELP) {
            for (const command *other = table->commands; other->name; other++) text_printf(t, "%s ", other->name);
            for (const help_topic *topic = table->topics; topic->name; topic++) text_printf(t, "%s ", topic->name);
        }
        text_puts(t, "' ;;\n");
    }
    text_puts(t, "    esac\n    if [[ $COMP_CWORD == 1 || ${COMP_WORDS[1]} == help || $word == -* ]]; then\n"
                 "        COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n    fi\n}\n"
                 "complete -o default -F _reid reid\n");
}
