#include "base/threads.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* The beginning of a small file; 0 when it cannot be read. */
static int read_file(const char *path, char *to, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, to, size - 1);
    if (fd >= 0) close(fd);
    to[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* CPUs that the quota pays for, rounded down, at least 1; 0: there is no quota. */
static int quota_here(void) {
    char number[128], *rest = number;
    long quota = 0, period = 0;
    if (read_file("/sys/fs/cgroup/cpu.max", number, sizeof number)) {
        quota = strtol(number, &rest, 10); /* "max 100000" gives 0 */
        period = strtol(rest, NULL, 10);
    } else if (read_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", number, sizeof number)) {
        quota = strtol(number, NULL, 10);
        if (read_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", number, sizeof number))
            period = strtol(number, NULL, 10);
    }
    if (quota <= 0 || period <= 0) return 0;
    return quota / period > 1 ? (int)(quota / period) : 1;
}

int threads_here(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1, paid = quota_here();
    if (paid && n > paid) n = paid;
    return n > 1 ? n : 1;
}

int threads_for(int wanted, int most) {
    int n = wanted ? wanted : threads_here();
    return n < most ? n : most;
}
