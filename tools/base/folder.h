/* A folder that appears complete: filled next to its final name, then renamed. */
#ifndef REID_TOOLS_FOLDER_H
#define REID_TOOLS_FOLDER_H

#include "base/text.h"

typedef struct folder {
    char *path, *temp; /* its final name; its temporary name */
    char *work;        /* path.part, if the folder can be continued; otherwise NULL */
    int lock;          /* a descriptor of work */
    int keep;          /* set by the caller: folder_end keeps an unfinished folder so that it can be continued */
} folder;

/* All return 0 with the reason in why. */

/* Makes an empty folder next to path, which must not exist or must be an empty folder. */
int folder_begin(folder *f, const char *path, text *why);
/* For long work: path.part, locked against a second process, holds the folder as `whole` and next to it the caller's
   notes. *found: an interrupted run had left one; with `resume` it is as that run left it, otherwise it is emptied. A
   path.part of another kind is refused, and so is one that other users can write. */
int folder_resume(folder *f, const char *path, int resume, int *found, text *why);
/* Writes a note: path.part/NAME.note. */
int folder_note(const folder *f, const char *name, const text *content, text *why);
/* Reads a note. Returns 1; 0 if it does not exist; -1 with the reason in why. */
int folder_noted(const folder *f, const char *name, text *content, text *why);
/* Makes a folder inside it, whose parent exists. */
int folder_add(const folder *f, const char *name, text *why);
/* Like folder_add, but an existing folder is emptied. */
int folder_renew(const folder *f, const char *name, text *why);
/* Writes a file inside it. */
int folder_write(const folder *f, const char *name, const text *content, text *why);
/* Syncs everything written so far to the disk. */
int folder_sync(const folder *f, text *why);
/* Renames the folder to its final name and syncs it. */
int folder_finish(folder *f, text *why);
/* Removes everything unless it was finished or `keep` is set. A zeroed one is allowed. */
void folder_end(folder *f);

#endif
