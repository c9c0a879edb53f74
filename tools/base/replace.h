/* The one rule about existing files: a command replaces a file only if the file is empty, or if its first bytes show
   that it is of the kind that the command writes. It never replaces an input or another output of the same run.
   file_target and pending_open of base/files.h ask here, so every output is checked. */
#ifndef REID_TOOLS_REPLACE_H
#define REID_TOOLS_REPLACE_H

#include "base/text.h"

struct source;

/* How a file of a kind is recognised. Each room describes the files that it writes. */
typedef struct output_kind {
    const char *what;  /* "a calibration", for messages */
    const char *start; /* what such a file starts with; NULL: nothing in particular */
    const char *holds; /* a text within its first 64 KiB; NULL: none in particular */
    /* Another test of the file; NULL: none. Sets why if the test fails with an error. */
    int (*is)(const char *path, const struct source *file, text *why);
} output_kind;

/* For --force: files of other kinds are replaced, too. Inputs and other outputs of the run still are not. */
void replace_by_force(void);
/* Notes an input of this run, a file or a folder with its images, if it exists. Returns 0 if memory runs out. */
int replace_never(const char *path);
/* 1 if this name leads to a file that was noted. */
int replace_is_input(const char *path);

/* Checks that the output `path` may be created or replaced, and notes it as an output of this run. kind NULL: a name
   that the program chose itself, in a folder of its own, which is not checked. Returns 0 with the reason in why. */
int replace_allowed(const char *path, const output_kind *kind, text *why);

#endif
