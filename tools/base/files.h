/* Reads whole files, and writes files that appear complete: written next to their final name, synced, renamed. */
#ifndef REID_TOOLS_FILES_H
#define REID_TOOLS_FILES_H

#include "base/replace.h"
#include "base/text.h"

#include <stddef.h>
#include <sys/types.h>

/* Reads a file to its end into out (0-terminated). regular_only refuses pipes and devices, on which a read could wait
   forever. Returns 0 with the reason in why. */
int file_read(const char *path, size_t limit, int regular_only, text *out, text *why);

/* Reads the rest of stdin; otherwise like file_read. */
int stdin_read(size_t limit, text *out, text *why);

/* An unfinished file: bytes go to `temp`, which is removed at exit unless it was renamed or opened with keep. */
typedef struct pending {
    char *path, *temp;
    int fd;
    int slot; /* index in the list of files to remove; -1: not listed */
    int renamed;
} pending;

/* Checks that a file of this kind can be written there: path does not exist, or is a regular file that replace_allowed
   lets this command replace. Returns 0 with the reason in why. */
int file_target(const char *path, const output_kind *kind, text *why);

/* Sets name to the path of a file in the folder. Returns 1 if a regular file is there. */
int file_in_folder(text *name, const char *folder, const char *file);

/* The end of the name of a file that is being written next to its final one. No other program uses such names, so what
   a killed run left can be distinguished from the user's own files, such as a browser's unfinished OUT.part. */
#define PENDING_ENDING ".reid.part"

/* Opens temp for reading and writing, locked against a second process. path is its final name, NULL for a file that
   is only temporary; it must be free for this kind (file_target). An existing temp is replaced. keep: an existing
   file is continued if it belongs to the user, has no second name and cannot be written by others; and it stays
   unless pending_remove is called. Until it is renamed, no other user can read it. Returns 0 with the reason in why. */
int pending_open(pending *p, const char *path, const output_kind *kind, const char *temp, int keep, text *why);
/* Opens `path` with PENDING_ENDING as a temporary file, which replaces one that is left over; otherwise like
   pending_open. */
int pending_begin(pending *p, const char *path, const output_kind *kind, text *why);
/* Writes all of the bytes at offset. */
int pending_write(pending *p, const void *bytes, size_t len, size_t offset, text *why);
/* The mode that open or mkdir gives what it makes if asked for this one. */
mode_t usual_mode(mode_t mode);
/* Syncs the file to the disk, still under its temporary name. */
int pending_sync(pending *p, text *why);
/* pwrite of all the bytes, fsync and ftruncate; an interrupted call is repeated. They return 0 with errno set. */
int file_write_at(int fd, const void *bytes, size_t len, uint64_t offset);
int file_sync(int fd);
int file_cut(int fd, uint64_t size);
/* Truncates the file to `size` bytes. */
int pending_cut(pending *p, size_t size, text *why);
/* Renames the file to its final name, with the mode and owner of a file that it replaces. */
int pending_rename(pending *p, text *why);
/* Gives the file its final name, which must be free ("already exists" otherwise), and makes the name durable; when that
   fails, the name is free again. */
int pending_rename_new(pending *p, text *why);
/* Renames several files that belong together, in their order: all of them, or none. If one fails, the old files are
   restored, and *failed is set to the path at fault. The last file vouches for the others: its old version is moved
   away before any new file gets its name. Skips those without a temporary file or with their final name already. */
int pending_rename_all(pending *const list[], int count, const char **failed, text *why);
/* Closes the file and removes it unless it was renamed or opened with keep. A zeroed one is allowed. */
void pending_close(pending *p);
/* Closes and removes the file in any case. */
void pending_remove(pending *p);

/* After a rename or unlink: makes the names themselves durable. Returns 0 with errno set if the disk fails or is full;
   a file system without support for this is not an error, because the data itself is safe. */
int sync_folder_of(const char *path);

/* Writes, syncs and renames a file, if path is free for this kind. Returns 0 with the reason in why. */
int file_write(const char *path, const output_kind *kind, const text *content, text *why);
/* Like file_write, but without syncing, and in a folder of the program's own: for one of many files that folder_sync
   then syncs together. */
int file_write_lazily(const char *path, const text *content, text *why);

/* Removes every temporary file now; also runs at exit. */
void pending_remove_all(void);

/* SIGINT, SIGTERM and SIGHUP ask the program to stop; a second one ends it at once. */
void interrupt_setup(void);
/* The signal that has asked the program to stop; 0: none. Long work checks this now and then, stops silently and
   reports it to its caller; the program ends by that signal when all have returned. */
int interrupted(void);
/* Like interrupted, and forgets the signal, for a program that then ends normally; a second signal ends it at once. */
int interrupt_take(void);
/* Sleeps until a signal asks the program to stop. */
void interrupt_wait(void);

/* For a program that other signals tell to do something: SIGHUP to reload, SIGUSR1 to reopen its log. SIGHUP then no
   longer stops it. */
enum { NOTICE_RELOAD = 1, NOTICE_REOPEN = 2 };
void notice_setup(void);
/* What the signals since the last call have asked for. */
int notice_take(void);
/* Sleeps until a signal comes of any of these, or for that time; negative: without limit. */
void notice_wait(double seconds);
/* Ends the sleep; any thread may call it. */
void notice_wake(void);

#endif
