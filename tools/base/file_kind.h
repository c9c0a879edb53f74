/* What a file is by its first bytes, where somebody has given one of another kind than was asked for: one table for all
   rooms, each of which knows what its own files look like and says what to do about the others. */
#ifndef REID_FILE_KIND_H
#define REID_FILE_KIND_H

#include <stddef.h>

typedef enum file_class {
    FILE_PICTURE,     /* to be looked at */
    FILE_PACKED,      /* to be unpacked first */
    FILE_WEB_PAGE,    /* perhaps what a failed download left */
    FILE_XML,         /* the same, or a drawing */
    FILE_LFS_POINTER, /* what Git has without its large files */
    FILE_JSON,
    FILE_HDF5,
    FILE_DATA         /* a program's own */
} file_class;

typedef struct file_kind {
    size_t at, len; /* its bytes stand there */
    const char *bytes;
    file_class is;
    const char *what; /* "a GIF picture" */
} file_kind;

enum { FILE_KIND_START = 512 }; /* bytes that are enough to know it */

/* NULL: none that is known here. start: the first `size` bytes of the file. */
const file_kind *file_kind_of(const unsigned char *start, size_t size);

#endif
