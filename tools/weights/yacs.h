/* A configuration as fast-reid and detectron2 read it with yacs: a YAML file, and the files that it names as its
   _BASE_, whose values it overrides. */
#ifndef REID_TOOLS_YACS_H
#define REID_TOOLS_YACS_H

#include "base/yaml.h"

enum { YACS_FILES = 8 };

typedef struct yacs_file {
    yaml of;
    char *path;
    const char *label; /* how messages name the file */
} yacs_file;

typedef struct yacs {
    yacs_file files[YACS_FILES]; /* each has the next one as its _BASE_ */
    int count;
} yacs;

/* A value, and the file that it is from. */
typedef struct yacs_value {
    const yacs_file *file;
    const yaml_entry *at;
} yacs_value;

/* Reads a file and what it is based on. label: how messages name it; a base is named by its path, which must be
   relative and end in .yml or .yaml, so that no other file is read. Returns 0 with the reason in why; free it in any
   case. */
int yacs_open(yacs *y, const char *path, const char *label, text *why);
void yacs_free(yacs *y);

/* Finds a value, as "MODEL.HEADS.NAME". Returns 0 if no file has it. */
int yacs_find(const yacs *y, const char *key, yacs_value *v);

/* The text of a scalar; NULL for a list or a map. */
const char *yacs_scalar(const yacs_value *v);
/* Reads numbers from a list, or from a text like "(256, 128)", which yacs takes for one. Returns how many there are; 0
   if the value is something else, or if they are more than `most`. */
int yacs_numbers(const yacs_value *v, double *to, int most);
/* Reads True or False, in each of YAML's spellings. Returns 0 if the value is something else. */
int yacs_bool(const yacs_value *v, int *to);

/* Replaces why with "FILE: line N: KEY is VALUE" and the message, which begins with its punctuation. Always returns
   0. */
int yacs_refuse(const yacs_value *v, text *why, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
