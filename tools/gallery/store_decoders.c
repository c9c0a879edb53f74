#include "gallery/store_decoders.h"

#include <string.h>

int decoder_is_name(const char *name, size_t length) {
    if (length < 1 || length >= STORE_DECODER || name[0] == ' ' || name[length - 1] == ' ') return 0;
    for (size_t i = 0; i < length; i++)
        if (name[i] < 0x20 || name[i] > 0x7e || name[i] == ',') return 0;
    return 1;
}

const char *decoder_next(const char *name, size_t length) {
    name += length;
    if (!*name) return name;
    return name[1] == ' ' && name[2] ? name + 2 : NULL;
}

int decoder_join(char to[STORE_JPEG], const char *name, size_t length) {
    size_t end = strlen(to), place = end;
    int count = 0;
    for (size_t at = 0, n; at < end; at += n + 2, count++) {
        n = strcspn(to + at, ",");
        int order = strncmp(name, to + at, n < length ? n : length);
        if (order == 0 && n == length) return 1;
        if (place == end && (order < 0 || (order == 0 && length < n))) place = at;
    }
    if (count == STORE_DECODERS) return 0;
    if (place < end) {
        memmove(to + place + length + 2, to + place, end - place + 1);
        memcpy(to + place + length, ", ", 2);
    } else {
        if (end) memcpy(to + end, ", ", 2), place += 2;
        to[place + length] = 0;
    }
    memcpy(to + place, name, length);
    return 1;
}

int store_join_decoders(char to[STORE_JPEG], const char *names) {
    char joined[STORE_JPEG];
    memcpy(joined, to, sizeof joined);
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, ",");
        if (!decoder_is_name(at, n) || !decoder_join(joined, at, n)) return 0;
        at = decoder_next(at, n);
        if (!at) return 0;
    }
    memcpy(to, joined, sizeof joined);
    return 1;
}
