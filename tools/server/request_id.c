#include "server/request_id.h"

#include "base/clock.h"
#include "base/random.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int is_visible(const char *s) {
    size_t len = 0;
    for (; s[len]; len++)
        if (s[len] <= ' ' || s[len] >= 127 || len == REQUEST_ID) return 0;
    return len > 0;
}

void request_id_take(char id[REQUEST_ID + 1], const char *given, uint64_t *state) {
    static const char digits[] = "0123456789abcdef";
    if (given && is_visible(given)) {
        strcpy(id, given);
        return;
    }
    uint64_t n = random_next(state);
    for (int i = 0; i < 16; i++) id[i] = digits[n >> 4 * (15 - i) & 15];
    id[16] = 0;
}

uint64_t request_id_start(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return random_mix((uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec) ^ random_mix((uint64_t)getpid());
}

/* 1 for so many lower-case hexadecimal digits that are not all 0, unless zeros are allowed. */
static int is_hex(const char *s, int count, int zeros) {
    for (int i = 0; i < count; i++) {
        if (!((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f'))) return 0;
        zeros |= s[i] != '0';
    }
    return zeros;
}

/* Version, trace, parent and flags, as in W3C Trace Context, 3.2: later versions may append fields, and ff is none. */
void trace_id_take(char id[TRACE_ID + 1], const char *s) {
    enum { TRACE_AT = 3, PARENT_AT = 36, FLAGS_AT = 53, LENGTH = 55 };
    id[0] = 0;
    if (!s || strnlen(s, LENGTH) < LENGTH || !is_hex(s, 2, 1) || strncmp(s, "ff", 2) == 0) return;
    if (s[2] != '-' || s[PARENT_AT - 1] != '-' || s[FLAGS_AT - 1] != '-') return;
    if (!is_hex(s + TRACE_AT, TRACE_ID, 0) || !is_hex(s + PARENT_AT, 16, 0) || !is_hex(s + FLAGS_AT, 2, 1)) return;
    if (s[LENGTH] && (s[LENGTH] != '-' || strncmp(s, "00", 2) == 0)) return;
    memcpy(id, s + TRACE_AT, TRACE_ID);
    id[TRACE_ID] = 0;
}
