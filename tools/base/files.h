/* Files read whole, and files that appear whole: written beside their final name, synced, renamed. */
#ifndef REID_TOOLS_FILES_H
#define REID_TOOLS_FILES_H

#include "base/text.h"

#include <errno.h>
#include <stddef.h>

/* Asks again what a signal has interrupted. */
#define UNINTERRUPTED(result, call) \
    do (result) = (call);           \
    while ((result) != 0 && errno == EINTR)

/* Reads a file to its end into out (0-terminated). regular_only refuses pipes and devices, on which a read could wait
   for ever. Returns 0 with the reason in why. */
int file_read(const char *path, size_t limit, int regular_only, text *out, text *why);

/* The same for what is left of stdin. */
int stdin_read(size_t limit, text *out, text *why);

/* A file on its way: bytes go to `temp`, which is removed at exit unless it was renamed or is to be kept. */
typedef struct pending {
    char *path, *temp;
    int fd;
    int slot; /* in the list of files to remove; -1: not there */
    int renamed;
} pending;

/* A regular file, or nothing yet, so that a file can be put there. Returns 0 with the reason in why. */
int file_target(const char *path, text *why);

/* Do both names lead to one regular file that is there? */
int file_same(const char *a, const char *b);

/* Opens temp for reading and writing, locked against a second process. path is its final name, NULL for a file that
   only exists meanwhile. An existing one is removed and a new one made. keep: an existing one is continued, if it is
   the user's own, has no second name and cannot be written by others; and it stays behind unless pending_remove is
   called. Until it is renamed, nobody else can read it. Returns 0 with the reason in why. */
int pending_open(pending *p, const char *path, const char *temp, int keep, text *why);
/* All of it, at offset. */
int pending_write(pending *p, const void *bytes, size_t len, size_t offset, text *why);
/* On disk, still under its temporary name. */
int pending_sync(pending *p, text *why);
/* No more than its first bytes are left. */
int pending_cut(pending *p, size_t size, text *why);
/* Under its final name, with the mode and owner of a file that it replaces. */
int pending_rename(pending *p, text *why);
/* Closes; the temporary file goes too, unless it was renamed or opened with keep. Zeroed ones are allowed. */
void pending_close(pending *p);
/* Closes and removes it in any case. */
void pending_remove(pending *p);

/* After a rename or unlink: makes the names themselves durable. */
void sync_folder_of(const char *path);

/* All of that at once. Returns 0 with the reason in why. */
int file_write(const char *path, const text *content, text *why);
/* The same without waiting for the disk, for one of many files that folder_sync then waits for together. */
int file_write_lazily(const char *path, const text *content, text *why);

/* Removes every temporary file now; also runs at exit. */
void pending_remove_all(void);

/* SIGINT, SIGTERM and SIGHUP ask the program to stop; a second one ends it at once. */
void interrupt_setup(void);
/* The signal that asked, 0: none has. Whatever runs long asks for this now and then, stops without a word and tells its
   caller so; the program ends by that signal when all have returned. */
int interrupted(void);
/* The same for a program that ends well when it is asked to: the signal is forgotten, a second one ends it at once. */
int interrupt_take(void);
/* Sleeps until a signal asks. */
void interrupt_wait(void);

#endif
