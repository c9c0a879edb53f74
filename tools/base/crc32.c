#include "base/crc32.h"

#include <pthread.h>

static uint32_t table[8][256]; /* table[t][b]: the effect of byte b, t bytes before the end of a step */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
        table[0][i] = c;
    }
    for (int t = 1; t < 8; t++)
        for (int i = 0; i < 256; i++) table[t][i] = table[t - 1][i] >> 8 ^ table[0][table[t - 1][i] & 255];
}

static uint32_t little32(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Takes eight bytes per step, through eight tables. */
uint32_t crc32_more(uint32_t crc, const void *bytes, size_t len) {
    const unsigned char *p = bytes;
    pthread_once(&once, make_table);
    crc = ~crc;
    for (; len >= 8; p += 8, len -= 8) {
        uint32_t a = little32(p) ^ crc, b = little32(p + 4);
        crc = table[7][a & 255] ^ table[6][a >> 8 & 255] ^ table[5][a >> 16 & 255] ^ table[4][a >> 24] ^
              table[3][b & 255] ^ table[2][b >> 8 & 255] ^ table[1][b >> 16 & 255] ^ table[0][b >> 24];
    }
    while (len--) crc = crc >> 8 ^ table[0][(crc ^ *p++) & 255];
    return ~crc;
}
