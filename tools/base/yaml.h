/* A strict reader of the YAML that configuration files use: maps nested by indentation or as {KEY: value}, lists of
   scalars, one per line or as [a, b], plain and quoted scalars, also over several lines, and comments. Anchors,
   aliases, tags, block scalars (| and >), several documents, keys that are not plain words, and lists within lists are
   refused with the line, as is a key that is given twice. */
#ifndef REID_TOOLS_YAML_H
#define REID_TOOLS_YAML_H

#include "base/text.h"

enum { YAML_BYTES = 1 << 18, YAML_ENTRIES = 1024, YAML_DEPTH = 16 }; /* the most that a file may have */

typedef enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP } yaml_kind;

typedef struct yaml_entry {
    size_t path, items; /* where they begin in `texts` */
    size_t count;       /* items; 1 for a scalar, 0 for a map */
    int line;           /* of its key, from 1 */
    yaml_kind kind;
} yaml_entry;

typedef struct yaml {
    yaml_entry *at; /* in the order of the file, a map before what it contains */
    size_t count, cap;
    text texts;
} yaml;

/* Reads a file's bytes. Returns 0 with the reason in why; free it in any case. */
int yaml_read(yaml *y, const char *bytes, size_t len, text *why);
/* Zeroed ones are allowed. */
void yaml_free(yaml *y);

/* The entry at a path, such as "MODEL.HEADS.NAME"; NULL if there is none. */
const yaml_entry *yaml_find(const yaml *y, const char *path);
const char *yaml_path(const yaml *y, const yaml_entry *e);
/* The text of a scalar (index 0) or of an item of a list, without quotes; "" where the file has nothing. */
const char *yaml_item(const yaml *y, const yaml_entry *e, size_t index);

#endif
