/* The checksum of PNG chunks and of zip members (ISO 3309, reversed polynomial 0xedb88320). */
#ifndef REID_TOOLS_CRC32_H
#define REID_TOOLS_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Extends the checksum crc of the bytes before (0: none) by these bytes. */
uint32_t crc32_more(uint32_t crc, const void *bytes, size_t len);

#endif
