/* Protocol Buffers' wire format, strictly: fields one after another in bytes that nobody trusts. Nothing is allocated,
   and messages within messages are ranges that the caller reads in turn, as deep as it knows them to be. */
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
    int wire;            /* one of the above */
    uint64_t value;      /* of PROTO_VARINT; the bits of PROTO_64 and PROTO_32 */
    uint64_t at, bytes;  /* of PROTO_BYTES: where they lie */
} proto_field;

/* 1: *f is the next field. 0: the end, or with the reason in why; then p->at is not p->end. */
int proto_next(proto *p, proto_field *f);
/* The message in a field of bytes. */
proto proto_inside(const proto *p, const proto_field *f);
/* All of a message has been read. */
int proto_at_end(const proto *p);

/* The next of the numbers packed in a field of bytes, which p looks into: see proto_inside. Like proto_next. */
int proto_packed(proto *p, uint64_t *value);
/* A field of bytes as a 0-terminated text without other 0 bytes, at most `most` bytes long; NULL with the reason in
   why, for which what says what it is. */
char *proto_text(const proto *p, const proto_field *f, size_t most, const char *what);

#endif
