/* merge_packs: merges packs of GPU kernels (reid pack) into one, in which every program occurs once.

     cc -O2 -std=c99 -D_GNU_SOURCE merge_packs.c -o merge_packs -lm -lpthread -ldl
     ./merge_packs OUT PACK... */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "../../reid.h"

enum { MOST = 65536 };

static reid__program *programs;
static int count;

static int is_there(const uint64_t key[2]) {
    for (int i = 0; i < count; i++)
        if (programs[i].key[0] == key[0] && programs[i].key[1] == key[1]) return 1;
    return 0;
}

/* Adds the programs of one pack. Returns 0, and says why, if it is damaged or there are too many. */
static int add_pack(reid__mem *mem, const char *path) {
    unsigned char *bytes;
    size_t size;
    reid_error error = REID_INIT;
    if (reid__read_file(mem, path, REID__MAX_BUNDLE, &bytes, &size, &error) != REID_OK) {
        fprintf(stderr, "merge_packs: %s\n", error.text);
        return 0;
    }
    if (!reid__bundle_valid(bytes, size)) {
        fprintf(stderr, "merge_packs: %s is not a pack of kernels, or is damaged\n", path);
        return 0;
    }
    for (uint64_t i = 0; i < reid__le64(bytes + 8); i++) {
        const unsigned char *row = bytes + 16 + i * REID__BUNDLE_ROW;
        const uint64_t key[2] = {reid__le64(row), reid__le64(row + 8)};
        if (is_there(key)) continue;
        if (count == MOST) {
            fprintf(stderr, "merge_packs: more than %d programs\n", MOST);
            return 0;
        }
        reid__program *p = &programs[count];
        p->key[0] = key[0], p->key[1] = key[1];
        p->cubin = reid__bundle_find(bytes, size, key, &p->cubin_size); /* stays in memory until the end */
        if (!p->cubin) {
            fprintf(stderr, "merge_packs: %s: program %llu is damaged\n", path, (unsigned long long)i);
            return 0;
        }
        count++;
    }
    return 1;
}

int main(int argc, char **argv) {
    reid__mem mem;
    reid_desc desc = REID_INIT;
    if (argc < 3) {
        fprintf(stderr, "usage: merge_packs OUT PACK...\n");
        return 2;
    }
    programs = (reid__program *)calloc(MOST, sizeof *programs);
    if (!programs || reid__mem_init(&mem, &desc) != REID_OK) {
        fprintf(stderr, "merge_packs: out of memory\n");
        return 1;
    }
    for (int i = 2; i < argc; i++)
        if (!add_pack(&mem, argv[i])) return 1;
    int failed = reid__bundle_save(&mem, argv[1], programs, count, 1);
    if (failed) {
        fprintf(stderr, "merge_packs: %s: cannot write the file: %s\n", argv[1], strerror(failed));
        return 1;
    }
    printf("%s: %d programs of %d packs\n", argv[1], count, argc - 2);
    return 0;
}
