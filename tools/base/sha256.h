/* SHA-256 (FIPS 180-4), used by pages to allow their one style sheet. */
#ifndef REID_TOOLS_SHA256_H
#define REID_TOOLS_SHA256_H

#include <stddef.h>

void sha256(const void *bytes, size_t len, unsigned char digest[32]);

#endif
