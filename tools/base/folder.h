/* A folder that appears whole: filled beside its final name, then renamed. */
#ifndef REID_TOOLS_FOLDER_H
#define REID_TOOLS_FOLDER_H

#include "base/text.h"

typedef struct folder {
    char *path, *temp; /* where it is to be; where it is meanwhile */
    char *work;        /* path.part, of a folder that can be continued; NULL: it cannot */
    int lock;          /* a descriptor of work */
    int keep;          /* the caller's: folder_end leaves an unfinished one of this kind to be continued */
} folder;

/* All return 0 with the reason in why. */

/* Makes an empty folder beside path, which must not be there yet, or be an empty folder. */
int folder_begin(folder *f, const char *path, text *why);
/* The same for long work: path.part, locked against a second process, holds the folder as `whole` and beside it what
   the caller notes. *found: one of an interrupted run was there; with `resume` it is as that left it, else it is empty
   now. A path.part that is not of this kind is refused, and so is one that others can write. */
int folder_resume(folder *f, const char *path, int resume, int *found, text *why);
/* Writes such a note, which is path.part/NAME.note. */
int folder_note(const folder *f, const char *name, const text *content, text *why);
/* Reads one: 1; 0 when it is not there; -1 with the reason in why. */
int folder_noted(const folder *f, const char *name, text *content, text *why);
/* A folder in it, in one that is there. */
int folder_add(const folder *f, const char *name, text *why);
/* The same; one that is there is emptied first. */
int folder_renew(const folder *f, const char *name, text *why);
/* A file in it. */
int folder_write(const folder *f, const char *name, const text *content, text *why);
/* Under its final name, on disk. */
int folder_finish(folder *f, text *why);
/* Everything is removed, unless it was finished, or is to be kept. Zeroed ones are allowed. */
void folder_end(folder *f);

#endif
