#include "gallery/store_hash.h"

#include "gallery/store_format.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int store_hash_file(const char *path, uint64_t *size, uint64_t *hash) {
    unsigned char chunk[1 << 14];
    size_t have = 0;
    ssize_t n = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *size = *hash = 0;
    if (fd < 0) return 0;
    for (;;) {
        n = read(fd, chunk + have, sizeof chunk - have);
        if (n > 0) have += (size_t)n;
        if (n > 0 && have < sizeof chunk) continue;
        *size += have;
        memset(chunk + have, 0, bytes_rounded(have) - have);
        *hash = bytes_mix(*hash, chunk, bytes_rounded(have));
        if (n <= 0) break;
        have = 0;
    }
    close(fd);
    if (n < 0) *size = *hash = 0;
    return n == 0;
}
