/* System calls and memory for a gallery file, with the reason for a failure in why. */
#ifndef REID_TOOLS_STORE_FILE_H
#define REID_TOOLS_STORE_FILE_H

#include "gallery/store_types.h"

#include <sys/types.h>

/* These return 0 with the reason in why. */
int store_fail(char why[STORE_WHY], const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The reason is "doing: " and the message for errno. */
int store_fail_errno(char why[STORE_WHY], const char *doing);

/* Makes room for `wanted` elements of `size` bytes. */
int store_grow(void **block, size_t *cap, size_t wanted, size_t size, char why[STORE_WHY]);
int store_write_at(int fd, const unsigned char *bytes, size_t size, uint64_t place, char why[STORE_WHY]);
/* After this, everything that was written is on disk. */
int store_sync(int fd, char why[STORE_WHY]);
/* 1 with the reason in why when the calling program wants to stop. */
int store_stopped(const store_host *host, char why[STORE_WHY]);

/* A window over the bytes of a file, read in pieces. */
typedef struct view {
    int fd;
    uint64_t end;         /* bytes after it are not read */
    unsigned char *bytes; /* [cap], freed by the caller */
    size_t cap, have;
    uint64_t at;          /* of bytes[0] */
} view;

/* `size` bytes at `place`, valid until the next call; NULL with a reason. */
const unsigned char *store_view_at(view *v, uint64_t place, size_t size, char why[STORE_WHY]);

#endif
