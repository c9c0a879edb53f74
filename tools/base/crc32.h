/* The checksum of PNG chunks and of zip members (ISO 3309, reversed polynomial 0xedb88320). */
#ifndef REID_TOOLS_CRC32_H
#define REID_TOOLS_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Of all bytes so far, given that of those before these (0: there were none). */
uint32_t crc32_more(uint32_t crc, const void *bytes, size_t len);

#endif
