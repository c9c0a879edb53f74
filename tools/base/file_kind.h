/* Recognises the kind of a file by its first bytes, for messages about files of the wrong kind: one table for all
   rooms. Each room recognises its own files and says what to do about the others. */
#ifndef REID_FILE_KIND_H
#define REID_FILE_KIND_H

#include <stddef.h>

typedef enum file_class {
    FILE_PICTURE,     /* an image */
    FILE_PACKED,      /* an archive, to be unpacked first */
    FILE_WEB_PAGE,    /* perhaps a failed download */
    FILE_XML,         /* perhaps a failed download, or a drawing */
    FILE_LFS_POINTER, /* Git LFS's stand-in for a large file */
    FILE_JSON,
    FILE_HDF5,
    FILE_DATA         /* a program's data */
} file_class;

typedef struct file_kind {
    size_t at, len; /* the offset and length of its bytes */
    const char *bytes;
    file_class is;
    const char *what; /* "a GIF image" */
} file_kind;

enum { FILE_KIND_START = 512 }; /* bytes that are enough to recognise a kind */

/* Returns NULL for an unknown kind. start: the first `size` bytes of the file. */
const file_kind *file_kind_of(const unsigned char *start, size_t size);

#endif
