/* refuse_memory.c: a library to preload, which refuses an allocation by the program's own code, not by its libraries.

       REFUSE_AT=N        the number of the refused one, from 1; 0 or not set: none
       REFUSE_REST=1      refuses all later ones, too
       REFUSE_COUNT=FILE  receives their number at the end

   cc -std=c99 -D_GNU_SOURCE -O2 -shared -fPIC tests/lib/refuse_memory.c -o build/refuse_memory.so */
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uintptr_t low = UINTPTR_MAX, high; /* the addresses of the program's code and data */
static long calls, at;
static int rest;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

/* The program is the first object that dl_iterate_phdr reports. */
static int look(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size, (void)user;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        uintptr_t begin = (uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        if (begin < low) low = begin;
        if (begin + info->dlpi_phdr[i].p_memsz > high) high = begin + info->dlpi_phdr[i].p_memsz;
    }
    return 1;
}

__attribute__((constructor)) static void begin(void) {
    const char *number = getenv("REFUSE_AT"), *all = getenv("REFUSE_REST");
    at = number ? strtol(number, NULL, 10) : 0, rest = all && *all == '1';
    dl_iterate_phdr(look, NULL);
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("REFUSE_COUNT");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) fprintf(f, "%ld\n", calls), fclose(f);
}

static int is_refused(const void *caller) {
    if ((uintptr_t)caller < low || (uintptr_t)caller >= high) return 0;
    long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    int refused = at && (rest ? number >= at : number == at);
    if (refused) errno = ENOMEM;
    return refused;
}

void *malloc(size_t size) { return is_refused(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return is_refused(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size); }
void *realloc(void *block, size_t size) {
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_realloc(block, size);
}
