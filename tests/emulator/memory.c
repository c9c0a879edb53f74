/* memory.c: device memory and pinned host memory. Every allocation is between guards, and far from every other, so that
   an index that is slightly or badly wrong does not reach another one. A write outside it is noticed at once by
   AddressSanitizer and in check mode; in plain mode after the launch, or at once if it hits no page. Fresh memory is
   filled with 0xff bytes and the guards with 0x7fad; both are NaN as fp16 and fp32. */
#include <stdio.h>
#include <sys/mman.h>

#include "driver.h"

enum { GUARD = EMU_ASAN ? 0 : 512, PAGE = 4096, GRAVES = 64, MAX_ALLOCATIONS = 16384 };
#define DISTANCE ((size_t)256 << 20) /* of unmapped addresses on both sides of an allocation */

static emu_allocation *emu_table[MAX_ALLOCATIONS]; /* sorted by address; pinned ones too */
static unsigned emu_count, emu_version = 1, emu_grave_next;
static unsigned long emu_next_number = 1;
static emu_allocation emu_graves[GRAVES]; /* the last ones freed, for reports */

/* The index of the first allocation that begins after the address. */
static unsigned upper(uintptr_t address) {
    unsigned low = 0, high = emu_count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (emu_table[middle]->base <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static emu_allocation *find(uintptr_t address) {
    unsigned i = upper(address);
    return i && address - emu_table[i - 1]->base < emu_table[i - 1]->bytes ? emu_table[i - 1] : NULL;
}

emu_allocation *emu_find(uintptr_t address) {
    emu_allocation *a = find(address);
    return a && !a->pinned ? a : NULL;
}
emu_allocation *emu_find_pinned(uintptr_t address) {
    emu_allocation *a = find(address);
    return a && a->pinned ? a : NULL;
}

/* Finds device or pinned memory for kernels, which call it at every access; results are cached by page. */
emu_allocation *emu_worker_find(emu_worker *worker, uintptr_t address) {
    if (worker->recent_version != emu_version) {
        memset(worker->recent, 0, sizeof worker->recent);
        worker->recent_version = emu_version;
    }
    emu_allocation **slot = &worker->recent[address >> 12 & 1023];
    if (!*slot || address - (*slot)->base >= (*slot)->bytes) *slot = find(address);
    return *slot;
}

size_t emu_bytes_used(int device) {
    size_t bytes = 0;
    for (unsigned i = 0; i < emu_count; i++)
        if (device < 0 || (!emu_table[i]->pinned && emu_table[i]->context->device == device))
            bytes += emu_table[i]->bytes;
    return bytes;
}

size_t emu_allocations_of(const emu_context *context) {
    size_t count = 0;
    for (unsigned i = 0; i < emu_count; i++) count += !context || emu_table[i]->context == context;
    return count;
}

/* ---- blocks: an allocation and its guards ---- */

#if EMU_ASAN
static void *new_block(size_t bytes) {
    void *p;
    return posix_memalign(&p, 512, bytes) ? NULL : p;
}

static void retire_block(unsigned char *block, size_t bytes) {
    (void)bytes;
    free(block);
}

static void free_block(unsigned char *block, size_t bytes) { (void)block, (void)bytes; }
#else
static size_t block_bytes(size_t bytes) { return (bytes + 2 * GUARD + PAGE - 1) / PAGE * PAGE; }

static void *new_block(size_t bytes) {
    size_t inside = block_bytes(bytes), all = inside + 2 * DISTANCE;
    void *p = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return NULL;
    unsigned char *block = (unsigned char *)p + DISTANCE;
    if (!mprotect(block, inside, PROT_READ | PROT_WRITE)) return block;
    munmap(p, all);
    return NULL;
}

/* Its addresses stay reserved until free_block, so that later accesses to it are not taken for accesses to new memory.
   */
static void retire_block(unsigned char *block, size_t bytes) {
    madvise(block, block_bytes(bytes), MADV_DONTNEED);
    mprotect(block, block_bytes(bytes), PROT_NONE);
}

static void free_block(unsigned char *block, size_t bytes) {
    munmap(block - DISTANCE, block_bytes(bytes) + 2 * DISTANCE);
}
#endif

static unsigned char guard_byte(size_t i) { return i % 2 ? 0x7f : 0xad; }

static void fill(unsigned char *block, size_t bytes) {
    for (size_t i = 0; i + 1 <= GUARD; i++) block[i] = block[GUARD + bytes + i] = guard_byte(i);
    memset(block + GUARD, emu_get_settings()->pace.on ? 0 : 0xff, bytes);
}

CUresult emu_allocate(emu_context *context, size_t bytes, int pinned, void **pointer) {
    *pointer = NULL;
    if (emu_count == MAX_ALLOCATIONS || bytes > (size_t)1 << 46) return CUDA_ERROR_OUT_OF_MEMORY;
    emu_allocation *a = (emu_allocation *)calloc(1, sizeof *a);
    unsigned char *block = (unsigned char *)new_block(bytes);
    if (a) a->bytes = bytes;
    if (!a || !block || (emu_get_settings()->check && !pinned && !emu_check_allocation(a))) {
        if (block) retire_block(block, bytes), free_block(block, bytes);
        if (a) free(a->words), free(a->filled), free(a);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    a->block = block;
    a->base = (uintptr_t)block + GUARD;
    a->context = context;
    a->pinned = pinned;
    a->number = emu_next_number++;
    fill(block, bytes);
    unsigned at = upper(a->base);
    memmove(emu_table + at + 1, emu_table + at, (emu_count - at) * sizeof *emu_table);
    emu_table[at] = a;
    emu_count++, emu_version++;
#if EMU_ASAN
    if (!pinned) __asan_poison_memory_region((void *)a->base, bytes);
#endif
    *pointer = (void *)a->base;
    return CUDA_SUCCESS;
}

static void bury(unsigned at) {
    emu_allocation *a = emu_table[at];
    memmove(emu_table + at, emu_table + at + 1, (emu_count - at - 1) * sizeof *emu_table);
    emu_count--, emu_version++;
    emu_allocation *grave = &emu_graves[emu_grave_next++ % GRAVES];
    if (grave->number) free_block(grave->block, grave->bytes);
    *grave = *a;
#if EMU_ASAN
    __asan_unpoison_memory_region((void *)a->base, a->bytes);
#endif
    retire_block(a->block, a->bytes);
    free(a->words), free(a->filled), free(a);
}

CUresult emu_release(uintptr_t pointer, int pinned) {
    unsigned i = upper(pointer);
    if (i == 0 || emu_table[i - 1]->base != pointer || emu_table[i - 1]->pinned != pinned)
        return CUDA_ERROR_INVALID_VALUE;
    bury(i - 1);
    return CUDA_SUCCESS;
}

void emu_release_all(emu_context *context) {
    for (unsigned i = emu_count; i-- > 0;)
        if (emu_table[i]->context == context) bury(i);
}

/* ---- reports ---- */

void emu_describe(uintptr_t address, char *text, size_t size) {
    unsigned i = upper(address);
    const emu_allocation *before = i ? emu_table[i - 1] : NULL, *after = i < emu_count ? emu_table[i] : NULL;
    for (unsigned g = 0; g < GRAVES; g++) {
        const emu_allocation *a = &emu_graves[g];
        if (!a->number || address - a->base >= a->bytes || (before && address - before->base < before->bytes)) continue;
        snprintf(text, size, "in allocation #%lu (%zu bytes), which has been freed", a->number, a->bytes);
        return;
    }
    if (before && address - before->base < before->bytes)
        snprintf(text, size, "%zu bytes into %s #%lu (%zu bytes)", (size_t)(address - before->base),
                 before->pinned ? "pinned host memory" : "allocation", before->number, before->bytes);
    else if (before && address - before->base - before->bytes < DISTANCE)
        snprintf(text, size, "%zu bytes past the end of allocation #%lu (%zu bytes)",
                 (size_t)(address - before->base - before->bytes), before->number, before->bytes);
    else if (after && after->base - address < DISTANCE)
        snprintf(text, size, "%zu bytes before allocation #%lu (%zu bytes)", (size_t)(after->base - address),
                 after->number, after->bytes);
    else snprintf(text, size, "which is no device memory");
}

/* The first changed byte of a guard, or NULL. Repairs the guard. */
static unsigned char *damage(unsigned char *guard) {
    unsigned char *bad = NULL;
    for (unsigned i = GUARD; i-- > 0;) {
        if (guard[i] != guard_byte(i)) bad = guard + i;
        guard[i] = guard_byte(i);
    }
    return bad;
}

int emu_guards_intact(char *text, size_t size) {
    unsigned char intact[GUARD + 1];
    for (size_t i = 0; i < sizeof intact; i++) intact[i] = guard_byte(i);
    for (unsigned i = 0; i < emu_count && GUARD > 0; i++) {
        unsigned char *front = emu_table[i]->block, *back = front + GUARD + emu_table[i]->bytes;
        unsigned char *guard = memcmp(front, intact, GUARD) ? front : back;
        if (guard == back && !memcmp(back, intact, GUARD)) continue;
        emu_describe((uintptr_t)damage(guard), text, size);
        return 0;
    }
    return 1;
}

void emu_mark_filled(uintptr_t address, size_t bytes) {
    emu_allocation *a = emu_find(address);
    if (!a || !a->filled || !bytes) return;
    size_t first = (address - a->base) / 4, last = (address - a->base + bytes - 1) / 4;
    for (size_t w = first; w <= last; w++) {
        if (w % 8 == 0 && w + 8 <= last) {
            a->filled[w / 8] = 0xff;
            w += 7;
        } else a->filled[w / 8] = (unsigned char)(a->filled[w / 8] | 1u << w % 8);
    }
}

void emu_device_memory_open(int open) {
#if EMU_ASAN
    for (unsigned i = 0; i < emu_count; i++) {
        emu_allocation *a = emu_table[i];
        if (a->pinned) continue;
        if (open) __asan_unpoison_memory_region((void *)a->base, a->bytes);
        else __asan_poison_memory_region((void *)a->base, a->bytes);
    }
#else
    (void)open;
#endif
}
