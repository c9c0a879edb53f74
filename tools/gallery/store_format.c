#include "gallery/store_format.h"

#include <math.h>
#include <string.h>

const char STORE_MAGIC_BYTES[STORE_MAGIC] = {'r', 'e', 'i', 'd', 'g', 'a', 'l', '\n'};

void bytes_put(unsigned char *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(value >> 8 * i);
}

uint64_t bytes_get(const unsigned char *from, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)from[i] << 8 * i;
    return value;
}

uint64_t bytes_mix(uint64_t h, const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8); /* like bytes_get(bytes + i, 8), but faster */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    return h;
}

uint64_t bytes_checksum(uint64_t place, const unsigned char *bytes, size_t size, size_t hole) {
    static const unsigned char zero[8] = {0};
    return bytes_mix(bytes_mix(bytes_mix(place, bytes, hole), zero, 8), bytes + hole + 8, size - hole - 8);
}

size_t bytes_rounded(size_t size) { return (size + 7) & ~(size_t)7; }

size_t store_row_bytes(const store_meta *meta) { return (size_t)meta->dim * (meta->halves ? 2 : 4); }

int meta_is_sound(const store_meta *meta) {
    int sum = 0;
    if (meta->models < 1 || meta->models > STORE_MODELS) return 0;
    for (int i = 0; i < meta->models; i++) {
        if (meta->model[i].dim < 1 || meta->model[i].dim > STORE_MAX_DIM || !meta->model[i].fingerprint[0]) return 0;
        sum += meta->model[i].dim;
    }
    return sum == meta->dim && sum <= STORE_MAX_DIM && !isinf(meta->threshold);
}

void header_write(const store_meta *meta, unsigned char head[HEADER_BYTES]) {
    memset(head, 0, HEADER_BYTES);
    memcpy(head, STORE_MAGIC_BYTES, STORE_MAGIC);
    bytes_put(head + 8, STORE_VERSION, 4);
    bytes_put(head + 12, (uint64_t)meta->dim, 4);
    bytes_put(head + 16, meta->halves != 0, 4);
    bytes_put(head + 20, (uint64_t)meta->models, 4);
    memcpy(head + 24, &meta->threshold, 8);
    for (int i = 0; i < meta->models; i++) {
        const store_model *m = &meta->model[i];
        unsigned char *to = head + 32 + 112 * i;
        memcpy(to, m->fingerprint, strlen(m->fingerprint));
        memcpy(to + 32, m->network, strlen(m->network));
        memcpy(to + 64, m->preset, strlen(m->preset));
        memcpy(to + 96, m->precision, strlen(m->precision));
        bytes_put(to + 104, (uint64_t)m->dim, 4);
    }
}

int header_parse(const unsigned char head[HEADER_BYTES], store_meta *meta) {
    memset(meta, 0, sizeof *meta);
    meta->dim = (int)bytes_get(head + 12, 4);
    meta->halves = bytes_get(head + 16, 4) != 0;
    meta->models = (int)bytes_get(head + 20, 4);
    memcpy(&meta->threshold, head + 24, 8);
    for (int i = 0; i < meta->models && i < STORE_MODELS; i++) {
        const unsigned char *from = head + 32 + 112 * i;
        memcpy(meta->model[i].fingerprint, from, 32);
        memcpy(meta->model[i].network, from + 32, 32);
        memcpy(meta->model[i].preset, from + 64, 32);
        memcpy(meta->model[i].precision, from + 96, 8);
        meta->model[i].dim = (int)bytes_get(from + 104, 4);
    }
    return meta_is_sound(meta);
}

int header_is_record(const unsigned char *bytes, uint64_t place) {
    return bytes_get(bytes, 4) == HEADER && bytes_get(bytes + 4, 4) == HEADER_BYTES &&
           bytes_get(bytes + RECORD_HEAD + 8, 4) == STORE_VERSION &&
           bytes_get(bytes + 8, 8) == bytes_checksum(place, bytes, RECORD_HEAD + HEADER_BYTES, 8);
}

void block_seal(uint64_t place, unsigned char block[SECTOR]) {
    bytes_put(block + SECTOR - 8, bytes_checksum(place, block, SECTOR, SECTOR - 8), 8);
}

int block_is_sealed(uint64_t place, const unsigned char block[SECTOR]) {
    return bytes_get(block + SECTOR - 8, 8) == bytes_checksum(place, block, SECTOR, SECTOR - 8);
}
