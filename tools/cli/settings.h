/* Options from everywhere: a file, the environment, the command line. Later ones override earlier ones. */
#ifndef REID_TOOLS_SETTINGS_H
#define REID_TOOLS_SETTINGS_H

#include "base/text.h"
#include "cli/options.h"

/* A second name for the variable of --token-file, the same for all programs of a container. */
#define SETTINGS_TOKEN_VARIABLE "REID_TOKEN_FILE"

/* Where options come from, those that override others last. */
typedef enum layer { LAYER_FILE, LAYER_ENVIRONMENT, LAYER_ARGUMENTS, LAYERS } layer;

typedef struct setting {
    const option *spec;
    const char *value; /* "" for an option without a value; NULL: such an option is switched off */
    layer from;
    int number;        /* of the line in the file; in the environment 2 for the second -m, else 1 */
} setting;

typedef struct settings {
    setting *list;
    size_t count, cap;
} settings;

/* The next four functions return 0 after saying what is wrong. */

/* Adds an option of the command line. */
int settings_add(settings *to, const option *spec, const char *value);
/* Adds the options in the environment: REID_SERVE_MAX_BODY is --max-body of reid serve. */
int settings_from_environment(settings *to, const command *c);
/* Adds the options in the file's text, which is changed, and to which the settings point. */
int settings_from_file(settings *to, const command *c, const char *path, char *file);
/* Sets the options. The models (-m) are those of the last layer that has any; options of one model in other layers
   apply to all models, unless they belong to one of several models there. */
int settings_apply(options *o, const command *c, const settings layers[LAYERS]);

/* 1 if an environment variable sets this option of the command. nth: 2 for the second -m, else 1. */
int settings_has_variable(const command *c, const option *spec, int nth);
/* Appends the name of this variable. */
void environment_name(text *t, const command *c, const option *spec, int nth);

#endif
