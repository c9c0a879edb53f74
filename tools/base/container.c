#include "base/container.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reads the first line of a small system file, without its line end. Returns 0 if that fails. */
static int first_line(const char *path, char *line, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, line, size - 1);
    if (fd >= 0) close(fd);
    line[n > 0 ? n : 0] = 0;
    line[strcspn(line, "\n")] = 0;
    return n > 0;
}

double container_cpus(void) {
    char line[128], period[64];
    double quota = 0, every = 0;
    if (first_line("/sys/fs/cgroup/cpu.max", line, sizeof line)) {
        if (sscanf(line, "%lf %lf", &quota, &every) != 2) return 0; /* "max 100000" */
    } else if (first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", line, sizeof line) &&
               first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period, sizeof period)) {
        if (sscanf(line, "%lf", &quota) != 1 || sscanf(period, "%lf", &every) != 1) return 0;
    }
    return quota > 0 && every > 0 ? quota / every : 0;
}

/* Reads a number of bytes from one of the container's files; 0 if the file is missing or says "max". */
static double bytes_in(const char *path) {
    char line[64];
    double bytes;
    return first_line(path, line, sizeof line) && sscanf(line, "%lf", &bytes) == 1 && bytes > 0 ? bytes : 0;
}

double container_memory(double *used) {
    double limit = bytes_in("/sys/fs/cgroup/memory.max");
    int first = limit == 0;
    if (first) limit = bytes_in("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    if (used)
        *used = bytes_in(first ? "/sys/fs/cgroup/memory/memory.usage_in_bytes" : "/sys/fs/cgroup/memory.current");
    return limit;
}
