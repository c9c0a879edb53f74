#include "machine/system.h"

#include "base/container.h"
#include "base/say.h"
#include "base/threads.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const double GIB = 1073741824.0;

/* --- CPUs --------------------------------------------------------------------------------------------------------- */

void system_cpus(findings *f) {
    cpu_set_t set;
    CPU_ZERO(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int may = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)online, used = threads_here();
    double quota = container_cpus();
    char paid[64] = "no quota";
    if (quota > 0) snprintf(paid, sizeof paid, "a quota of %.2f", quota);
    if (quota > 0 && quota < 1)
        findings_add(f, FOUND_WARNING, "cpus", "a larger quota (--cpus of docker, limits.cpu of Kubernetes)",
                     "%ld online, %d allowed, %s: less than one CPU, so every thread is paused now and then",
                     online, may, paid);
    else if (quota > 0 && quota < may && quota - used > 0.01)
        findings_add(f, FOUND_NOTE, "cpus", "a quota that is a whole number",
                     "%ld online, %d allowed, %s: %d thread%s, the rest of the quota is not used", online, may, paid,
                     used, plural((size_t)used));
    else findings_add(f, FOUND_GOOD, "cpus", NULL, "%ld online, %d allowed, %s: %d thread%s", online, may, paid, used,
                      plural((size_t)used));
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* The kernel's estimate of the memory that can be allocated without swapping. */
static double available(void) {
    char line[256];
    long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && !kib && fgets(line, sizeof line, f)) sscanf(line, "MemAvailable: %lld kB", &kib);
    if (f) fclose(f);
    return kib ? (double)kib * 1024 : (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

static double free_memory(double *limit) {
    double used, can = available();
    *limit = container_memory(&used);
    double left = *limit > used ? *limit - used : 0;
    return *limit > 0 && left < can ? left : can;
}

size_t system_memory_free(void) {
    double limit, can = free_memory(&limit);
    return can > 0 && can < (double)(SIZE_MAX / 2) ? (size_t)can : 0;
}

void system_memory(findings *f) {
    const double all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double limit, can = free_memory(&limit);
    char allowed[64] = "no limit";
    int little = can < 0.5 * GIB;
    if (limit > 0 && limit < all) snprintf(allowed, sizeof allowed, "%.1f GiB allowed to this container", limit / GIB);
    findings_add(f, little ? FOUND_WARNING : FOUND_GOOD, "memory",
                 little ? "ending other programs, a higher limit, or --profile low-memory" : NULL,
                 "%.1f GiB, %s, %.1f GiB free%s", all / GIB, allowed, can / GIB,
                 little ? ": a ResNet-50 takes about 0.3 GiB, and a large photograph as much again" : "");
}

/* --- disk --------------------------------------------------------------------------------------------------------- */

/* Writes the folder that the output file would be in, or the output folder itself. */
static void folder_of(const char *output, text *folder) {
    struct stat st;
    if (stat(output, &st) == 0 && S_ISDIR(st.st_mode)) text_puts(folder, output);
    else path_folder(folder, output);
}

void system_disk(findings *f, const char *output) {
    struct statvfs disk;
    text folder = TEXT_INIT;
    folder_of(output ? output : ".", &folder);
    const char *name = text_failed(&folder) ? "." : folder.s;
    if (statvfs(name, &disk) != 0) {
        findings_add(f, FOUND_ERROR, "disk", "make the folder", "%s: %s", shown(name), strerror(errno));
    } else if (access(name, W_OK | X_OK) != 0) {
        findings_add(f, output ? FOUND_ERROR : FOUND_WARNING, "disk", "another folder for what is written",
                     "%s: cannot be written to: %s", shown(name), strerror(errno));
    } else {
        const double room = (double)disk.f_bavail * (double)disk.f_frsize;
        int none = disk.f_files > 0 && disk.f_favail == 0, little = room < GIB;
        findings_add(f, none || little ? FOUND_WARNING : FOUND_GOOD, "disk",
                     none || little ? "free some, or write elsewhere" : NULL,
                     "%s: %.1f GiB free%s; 100,000 embeddings of 2,048 floats take 0.8 GiB", shown(name), room / GIB,
                     none ? ", but no more files can be created (out of inodes)" : "");
    }
    text_free(&folder);
}
