/* Reads Protocol Buffers' wire format strictly: a sequence of fields in untrusted bytes. Only proto_text allocates
   memory. Nested messages are byte ranges, which the caller reads in turn where it expects them. */
#ifndef REID_TOOLS_PROTOBUF_H
#define REID_TOOLS_PROTOBUF_H

#include "base/source.h"

enum { PROTO_VARINT = 0, PROTO_64 = 1, PROTO_BYTES = 2, PROTO_32 = 5 };

/* A message: bytes [at, end) of the source. */
typedef struct proto {
    const source *from;
    uint64_t at, end;
    uint64_t *budget; /* fields that may still be read, shared by all messages of a file */
    text *why;
} proto;

typedef struct proto_field {
    uint64_t number;
    int wire;            /* one of the PROTO_ constants */
    uint64_t value;      /* of PROTO_VARINT; for PROTO_64 and PROTO_32 the bits */
    uint64_t at, bytes;  /* of PROTO_BYTES: their place in the source */
} proto_field;

/* Returns 1 with the next field in *f; 0 at the end, or with the reason in why, in which case p->at is not p->end. */
int proto_next(proto *p, proto_field *f);
/* The message inside a field of bytes. */
proto proto_inside(const proto *p, const proto_field *f);
/* 1 if the whole message was read. */
int proto_at_end(const proto *p);

/* Reads the next number packed into a field of bytes, whose range p is (see proto_inside). Returns like proto_next. */
int proto_packed(proto *p, uint64_t *value);
/* A field of bytes as a 0-terminated text of at most `most` bytes without other 0 bytes; NULL with the reason in why,
   which calls the field `what`. The caller frees it. */
char *proto_text(const proto *p, const proto_field *f, size_t most, const char *what);

#endif
