/* reid help and reid version. */
#include "base/results.h"
#include "base/say.h"
#include "base/text.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/man_page.h"
#include "cli/option_table.h"
#include "cli/parse.h"
#include "commands/commands.h"

#include <string.h>

static int print(text *t) { return results_print(t) ? 0 : 2; }

/* Writes the help of a command or a topic. Returns 0 after reporting an unknown name. */
static int help_about(text *t, const command_table *table, const char *name) {
    for (const command *c = table->commands; c->name; c++)
        if (strcmp(c->name, name) == 0) help_command(t, c);
    for (const help_topic *topic = table->topics; topic->name; topic++)
        if (strcmp(topic->name, name) == 0) help_topic_page(t, topic);
    if (t->len) return 1;
    command_unknown(table, name);
    return 0;
}

/* Writes the variables of a command. Returns 0 after reporting that it has none. */
static int help_variables(text *t, const options *o) {
    const command *c = o->operand_count == 1 ? command_find(o->table, o->operands[0]) : NULL;
    if (c && option_find(c, 0, "config", strlen("config"))) {
        help_environment(t, c);
        return 1;
    }
    say_error("help: --environment is for serve and worker: \"reid help serve --environment\"");
    return 0;
}

int help_main(options *o) {
    text t = TEXT_INIT;
    if (o->help.man) {
        man_page(&t, o->table);
    } else if (o->help.environment) {
        if (!help_variables(&t, o)) return 2;
    } else if (o->help.completion) {
        if (!completion_script(&t, o->help.completion, o->table)) {
            say_error("help: no completion for %s; expected bash, zsh or fish", shown(o->help.completion));
            return 2;
        }
    } else if (o->operand_count == 0) {
        help_overview(&t, o->table);
    } else if (!help_about(&t, o->table, o->operands[0])) {
        return 2;
    }
    return print(&t);
}

int version_main(options *o) {
    text t = TEXT_INIT;
    (void)o;
    text_printf(&t, "reid %s\n", reid_version_string());
    return print(&t);
}
