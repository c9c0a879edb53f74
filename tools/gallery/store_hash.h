/* Hash of an image file, to detect whether a template's image has changed. */
#ifndef REID_TOOLS_STORE_HASH_H
#define REID_TOOLS_STORE_HASH_H

#include <stdint.h>

/* Size and hash of a file's bytes; returns 0 if it cannot be read. */
int store_hash_file(const char *path, uint64_t *size, uint64_t *hash);

#endif
