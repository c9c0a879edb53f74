/* Reads an untrusted file at any offset. The file is never mapped: truncating it cannot crash the process. */
#ifndef REID_TOOLS_SOURCE_H
#define REID_TOOLS_SOURCE_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

typedef struct source {
    const unsigned char *memory; /* NULL: read from fd */
    int fd;
    uint64_t size;
} source;

/* Opens a regular file; anything else is an error. Returns 0 with the reason in why. */
int source_open(source *s, const char *path, text *why);
void source_memory(source *s, const void *bytes, size_t size);
/* A zeroed source is allowed. */
void source_close(source *s);
/* Reads all of bytes [at, at + size). Returns 0 with the reason in why. */
int source_read(const source *s, uint64_t at, void *to, size_t size, text *why);

/* Reads bytes one after another, through a small buffer. */
typedef struct cursor {
    const source *source;
    uint64_t at, end;   /* offsets in the source: of the next byte that is not in the buffer, and of the end */
    size_t used, held;  /* in buffer */
    int failed;         /* reading failed, for the reason in why */
    text *why;
    unsigned char buffer[1 << 14];
} cursor;

void cursor_begin(cursor *c, const source *s, uint64_t at, uint64_t end, text *why);
/* The next byte; -1 at the end. */
int cursor_next(cursor *c);
/* Offset of the byte that cursor_next will return. */
uint64_t cursor_at(const cursor *c);

uint32_t le16(const unsigned char *p);
uint32_t le32(const unsigned char *p);
uint64_t le64(const unsigned char *p);
uint32_t be32(const unsigned char *p);
/* Sets *out to a * b; 0 if that overflows. */
int checked_mul(uint64_t a, uint64_t b, uint64_t *out);

#endif
