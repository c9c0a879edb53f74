#include "base/source.h"

#include "base/interrupted.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int source_open(source *s, const char *path, text *why) {
    struct stat st;
    memset(s, 0, sizeof *s);
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: open does not wait for a pipe's writer */
    if (s->fd < 0) return refuse_errno(why, "cannot open");
    if (fstat(s->fd, &st) != 0) refuse_errno(why, "cannot read");
    else if (S_ISDIR(st.st_mode)) refuse(why, "is a folder; expected a file");
    else if (!S_ISREG(st.st_mode)) refuse(why, "is not a regular file");
    else {
        s->size = (uint64_t)st.st_size;
        return 1;
    }
    source_close(s);
    return 0;
}

void source_memory(source *s, const void *bytes, size_t size) {
    memset(s, 0, sizeof *s);
    s->memory = bytes ? bytes : (const unsigned char *)"";
    s->fd = -1;
    s->size = size;
}

void source_close(source *s) {
    if (!s->memory && s->fd > 0) close(s->fd); /* 0 is stdin, which reid.c keeps open */
    memset(s, 0, sizeof *s);
    s->fd = -1;
}

int source_read(const source *s, uint64_t at, void *to, size_t size, text *why) {
    char *out = to;
    if (at > s->size || size > s->size - at) return refuse(why, "the file ends early, at byte %llu",
                                                           (unsigned long long)s->size);
    if (s->memory) {
        if (size) memcpy(out, s->memory + at, size);
        return 1;
    }
    while (size) {
        ssize_t n;
        UNINTERRUPTED(n, pread(s->fd, out, size, (off_t)at));
        if (n < 0) return refuse_errno(why, "cannot read");
        if (n == 0) return refuse(why, "the file became shorter while it was read");
        out += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return 1;
}

void cursor_begin(cursor *c, const source *s, uint64_t at, uint64_t end, text *why) {
    c->source = s;
    c->at = at < s->size ? at : s->size;
    c->end = end < s->size ? end : s->size;
    c->used = c->held = 0;
    c->failed = 0;
    c->why = why;
}

int cursor_next(cursor *c) {
    if (c->used < c->held) return c->buffer[c->used++];
    uint64_t left = c->end > c->at ? c->end - c->at : 0;
    size_t n = left < sizeof c->buffer ? (size_t)left : sizeof c->buffer;
    if (n == 0 || c->failed) return -1;
    if (!source_read(c->source, c->at, c->buffer, n, c->why)) {
        c->failed = 1;
        return -1;
    }
    c->at += n;
    c->held = n;
    c->used = 1;
    return c->buffer[0];
}

uint64_t cursor_at(const cursor *c) { return c->at - (c->held - c->used); }

uint32_t le16(const unsigned char *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
uint32_t le32(const unsigned char *p) { return le16(p) | le16(p + 2) << 16; }
uint64_t le64(const unsigned char *p) { return le32(p) | (uint64_t)le32(p + 4) << 32; }
uint32_t be32(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

int checked_mul(uint64_t a, uint64_t b, uint64_t *out) {
    if (b && a > UINT64_MAX / b) return 0;
    *out = a * b;
    return 1;
}
