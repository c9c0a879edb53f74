/* The bytes of a gallery's header and end marks; gallery_store.h describes them. */
#ifndef REID_TOOLS_STORE_FORMAT_H
#define REID_TOOLS_STORE_FORMAT_H

#include "gallery/store_types.h"

enum { SECTOR = 4096, RECORD_HEAD = 16, TEMPLATE_HEAD = 32, HEADER_BYTES = 256, HEADER_EVERY = 1 << 20 };
enum { TEMPLATE = 1, REMOVAL, THRESHOLD, HEADER, DECODER };
enum { STORE_MAGIC = 8, STORE_VERSION = 2 };
/* Places in the file: the two headers at HEAD_0 and HEAD_1, the end marks at MARK_0 and MARK_1. */
enum { HEAD_0 = 0, HEAD_1 = 3 * SECTOR, MARK_0 = SECTOR, MARK_1 = 2 * SECTOR };
/* Places in the file: the record that repeats the header, and the first one after it. */
enum { HEADER_RECORD = 4 * SECTOR, FIRST_RECORD = HEADER_RECORD + RECORD_HEAD + HEADER_BYTES };
extern const char STORE_MAGIC_BYTES[STORE_MAGIC];

/* Little-endian numbers of 1 to 8 bytes. */
void bytes_put(unsigned char *to, uint64_t value, int bytes);
uint64_t bytes_get(const unsigned char *from, int bytes);
/* Continues the checksum of gallery_store.h from h over `size` bytes, a multiple of 8. */
uint64_t bytes_mix(uint64_t h, const unsigned char *bytes, size_t size);
/* The checksum of `size` bytes that begin at `place` in the file; the 8 bytes of the checksum itself, at `hole`, count
   as 0. */
uint64_t bytes_checksum(uint64_t place, const unsigned char *bytes, size_t size, size_t hole);
/* The next multiple of 8. */
size_t bytes_rounded(size_t size);
size_t store_row_bytes(const store_meta *meta);

/* 1 if the dimensions add up and each model has a fingerprint. */
int meta_is_sound(const store_meta *meta);
/* Writes the part of the header that can differ from zero, without its checksum. */
void header_write(const store_meta *meta, unsigned char head[HEADER_BYTES]);
/* Reads a header whose checksum is right. Returns 0 if it contradicts itself. */
int header_parse(const unsigned char head[HEADER_BYTES], store_meta *meta);
/* 1 if it is a record that repeats the header. */
int header_is_record(const unsigned char *bytes, uint64_t place);
/* Write and check the checksum in a sector's last 8 bytes. */
void block_seal(uint64_t place, unsigned char block[SECTOR]);
int block_is_sealed(uint64_t place, const unsigned char block[SECTOR]);

#endif
