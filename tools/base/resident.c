#include "base/resident.h"

#include <stdio.h>
#include <unistd.h>

size_t mem_resident(void) {
    unsigned long total = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re"); /* in pages */
    if (!f) return 0;
    int found = fscanf(f, "%lu %lu", &total, &resident);
    fclose(f);
    return found == 2 ? (size_t)resident * (size_t)sysconf(_SC_PAGESIZE) : 0;
}
