#include "gallery/store_file.h"

#include "base/files.h"
#include "base/interrupted.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 20 };

int store_fail(char why[STORE_WHY], const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(why, STORE_WHY, format, args);
    va_end(args);
    return 0;
}

int store_fail_errno(char why[STORE_WHY], const char *doing) {
    return store_fail(why, "%s: %s", doing, strerror(errno));
}

int store_grow(void **block, size_t *cap, size_t wanted, size_t size, char why[STORE_WHY]) {
    size_t n = *cap ? *cap : 64;
    if (wanted <= *cap) return 1;
    while (n < wanted) n *= 2;
    void *more = n > SIZE_MAX / size ? NULL : realloc(*block, n * size);
    if (!more) return store_fail(why, "out of memory");
    *block = more;
    *cap = n;
    return 1;
}

int store_write_at(int fd, const unsigned char *bytes, size_t size, uint64_t place, char why[STORE_WHY]) {
    return file_write_at(fd, bytes, size, place) || store_fail_errno(why, "cannot write");
}

int store_sync(int fd, char why[STORE_WHY]) {
    return file_sync(fd) || store_fail_errno(why, "cannot write");
}

int store_stopped(const store_host *host, char why[STORE_WHY]) {
    return host->stopped && host->stopped() && !store_fail(why, "interrupted");
}

const unsigned char *store_view_at(view *v, uint64_t place, size_t size, char why[STORE_WHY]) {
    if (place >= v->at && place + size <= v->at + v->have) return v->bytes + (place - v->at);
    size_t wanted = v->end - place < BUFFER ? (size_t)(v->end - place) : BUFFER;
    if (wanted < size) wanted = size;
    v->have = 0;
    if (!store_grow((void **)&v->bytes, &v->cap, wanted, 1, why)) return NULL;
    v->at = place;
    while (v->have < wanted) {
        ssize_t n;
        UNINTERRUPTED(n, pread(v->fd, v->bytes + v->have, wanted - v->have, (off_t)(place + v->have)));
        if (n < 0) store_fail_errno(why, "cannot read");
        if (n == 0) store_fail(why, "became shorter while it was read");
        if (n <= 0) return NULL;
        v->have += (size_t)n;
    }
    return v->bytes;
}
