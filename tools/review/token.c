#include "review/token.h"

#include "base/interrupted.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int token_make(char out[33], text *why) {
    unsigned char bytes[16];
    long n; /* glibc has getrandom since 2.25, Linux since 3.17 */
    UNINTERRUPTED(n, syscall(SYS_getrandom, bytes, sizeof bytes, 0));
    if (n != (long)sizeof bytes) return refuse_errno(why, "cannot read random bytes for the token");
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return 1;
}
