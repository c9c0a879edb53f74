#include "weights/protobuf.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_VARINT = 10 };

static int damaged(const proto *p, const char *what) {
    return refuse(p->why, "protobuf: %s at byte %llu; is the file complete?", what, (unsigned long long)p->at);
}

/* Reads the number at p->at and advances p->at. */
static int varint(proto *p, uint64_t *value) {
    unsigned char bytes[LONGEST_VARINT];
    uint64_t left = p->end - p->at;
    size_t held = left < sizeof bytes ? (size_t)left : sizeof bytes, n = 0;
    if (!source_read(p->from, p->at, bytes, held, p->why)) return 0;
    *value = 0;
    do {
        if (n == held) return damaged(p, "a number is cut off");
        if (n == LONGEST_VARINT - 1 && bytes[n] > 1) return damaged(p, "a number is too large");
        *value |= (uint64_t)(bytes[n] & 127) << 7 * n;
    } while (bytes[n++] & 128);
    p->at += n;
    return 1;
}

static int fixed(proto *p, size_t size, uint64_t *value) {
    unsigned char bytes[8] = {0};
    if (p->end - p->at < size) return damaged(p, "a number is cut off");
    if (!source_read(p->from, p->at, bytes, size, p->why)) return 0;
    *value = le64(bytes);
    p->at += size;
    return 1;
}

static int field(proto *p, proto_field *f) {
    uint64_t key;
    memset(f, 0, sizeof *f);
    if (!varint(p, &key)) return 0;
    f->number = key >> 3;
    f->wire = (int)(key & 7);
    if (f->number == 0 || f->number >> 29) return damaged(p, "an invalid field number");
    if (f->wire == PROTO_VARINT) return varint(p, &f->value);
    if (f->wire == PROTO_64) return fixed(p, 8, &f->value);
    if (f->wire == PROTO_32) return fixed(p, 4, &f->value);
    if (f->wire != PROTO_BYTES) return damaged(p, "a field of unknown type");
    if (!varint(p, &f->bytes)) return 0;
    if (f->bytes > p->end - p->at) return damaged(p, "a field extends past its message");
    f->at = p->at;
    p->at += f->bytes;
    return 1;
}

int proto_next(proto *p, proto_field *f) {
    uint64_t start = p->at;
    if (p->at == p->end) return 0;
    if (*p->budget == 0) return refuse(p->why, "protobuf: too many fields for a network");
    --*p->budget;
    if (field(p, f)) return 1;
    p->at = start; /* an error leaves it before the end, even if the last byte is wrong */
    return 0;
}

proto proto_inside(const proto *p, const proto_field *f) {
    proto inside = *p;
    inside.at = f->at;
    inside.end = f->at + f->bytes;
    return inside;
}

int proto_at_end(const proto *p) { return p->at == p->end; }

int proto_packed(proto *p, uint64_t *value) {
    uint64_t start = p->at;
    if (p->at == p->end) return 0;
    if (*p->budget == 0) return refuse(p->why, "protobuf: too many fields for a network");
    --*p->budget;
    if (varint(p, value)) return 1;
    p->at = start;
    return 0;
}

char *proto_text(const proto *p, const proto_field *f, size_t most, const char *what) {
    if (f->wire != PROTO_BYTES || f->bytes > most) {
        refuse(p->why, "protobuf: %s %s", what, f->wire != PROTO_BYTES ? "is not text" : "is too long");
        return NULL;
    }
    char *s = mem_alloc((size_t)f->bytes + 1);
    if (!s) text_no_memory(p->why);
    int good = s && source_read(p->from, f->at, s, (size_t)f->bytes, p->why);
    if (good && memchr(s, 0, (size_t)f->bytes)) good = refuse(p->why, "protobuf: %s contains a zero byte", what);
    if (!good) {
        free(s);
        return NULL;
    }
    s[f->bytes] = 0;
    return s;
}
