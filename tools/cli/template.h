/* Settings that suit a machine, under a name or in a file that `reid tune` wrote. None changes results, but for the
   device, where precisions differ.

   A file, in lines:  # a comment;  an empty line;  KEY = VALUE, with the name and the values of an option. */
#ifndef REID_TOOLS_TEMPLATE_H
#define REID_TOOLS_TEMPLATE_H

enum {
    TEMPLATE_DEVICE,
    TEMPLATE_BATCH,
    TEMPLATE_THREADS,
    TEMPLATE_LANES,
    TEMPLATE_DECODERS,
    TEMPLATE_MEMORY,
    TEMPLATE_KEYS,
    TEMPLATE_VALUE = 64 /* bytes */
};

/* By these places: the options' names. */
extern const char *const TEMPLATE_KEY[TEMPLATE_KEYS];

#define TEMPLATES "throughput|latency|low-memory|cpu"

typedef struct settings_template {
    char value[TEMPLATE_KEYS][TEMPLATE_VALUE]; /* "": it says nothing about it */
    int line[TEMPLATE_KEYS];                   /* where in the file; 0: it is no file */
} settings_template;

/* The place of a key, -1 for none. */
int template_key(const char *name);
/* name: one of TEMPLATES, else a file. What the values are worth, the caller knows. Returns 0 after saying what is
   wrong. */
int template_read(settings_template *t, const char *name);

#endif
