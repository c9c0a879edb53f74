/* The lines of a file of settings: "# comment", an empty line, "KEY = VALUE", or "KEY" alone. */
#ifndef REID_TOOLS_KEY_LINES_H
#define REID_TOOLS_KEY_LINES_H

#include "base/text.h"

typedef struct key_line {
    int number;
    char *key, *value; /* without white space around them; value NULL: there is no "=" */
} key_line;

/* Reads a file of settings of at most 1 MiB. kind: what it is called in messages, "a profile". Returns 0 with the
   reason in why. */
int key_lines_open(text *file, const char *path, const char *kind, text *why);
/* The next line with a key, which becomes part of the file's text; *rest begins with the file's text, and *number with
   0. Returns 0 at the end. */
int key_lines_next(char **rest, int *number, key_line *line);

#endif
