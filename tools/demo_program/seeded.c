/* seeded: writes a checkpoint generated from a seed, as safetensors. seeded.h explains its purpose.

     seeded --net NAME -o FILE [--seed N] [--dtype f32|f16|bf16|f64] [--extras] [--projection] [--loud]
     seeded --list

   cc -O2 -std=c99 -D_GNU_SOURCE tools/demo_program/seeded.c -o seeded -lm */
#include "demo_program/seeded.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int usage(const char *problem, const char *what) {
    if (problem) fprintf(stderr, "seeded: %s%s\n", problem, what);
    fprintf(stderr,
            "usage: seeded --net NAME -o FILE [--seed N] [--dtype f32|f16|bf16|f64] [--extras] [--projection]\n"
            "              [--loud]\n"
            "       seeded --list\n"
            "  --extras      add num_batches_tracked and the classifier, which embeddings do not use\n"
            "  --projection  add EfficientNet's linear head to 512 values\n"
            "  --loud        make activations 32768 times as large, beyond the range of FP16\n");
    return 2;
}

static int list_nets(void) {
    for (int i = 0; seeded_nets[i]; i++) puts(seeded_nets[i]);
    return 0;
}

/* Writes through a temporary file next to it, so that a reader never sees half a checkpoint. */
static int write_file(const char *path, const unsigned char *bytes, size_t size) {
    char temporary[4096];
    struct stat there;
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        fprintf(stderr, "seeded: %s is not a regular file and cannot be replaced by a checkpoint\n", path);
        return 1;
    }
    if (snprintf(temporary, sizeof temporary, "%s.%ld.part", path, (long)getpid()) >= (int)sizeof temporary) {
        fprintf(stderr, "seeded: %s: the file name is too long\n", path);
        return 1;
    }
    FILE *f = fopen(temporary, "wb");
    int ok = f && fwrite(bytes, 1, size, f) == size;
    if (f && fclose(f) != 0) ok = 0;
    if (ok && rename(temporary, path) == 0) return 0;
    fprintf(stderr, "seeded: %s: %s\n", path, strerror(errno));
    if (f) remove(temporary);
    return 1;
}

static int find_dtype(const char *name, seeded_dtype *out) {
    static const char *const names[] = {"f32", "f16", "bf16", "f64"};
    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0) return *out = (seeded_dtype)i, 1;
    return 0;
}

int main(int argc, char **argv) {
    const char *net = NULL, *path = NULL, *seed_text = "1";
    seeded_dtype dtype = SEEDED_F32;
    int options = 0;
    char *end;
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        if (strcmp(option, "--list") == 0) return list_nets();
        int flag = strcmp(option, "--extras") == 0 ? SEEDED_EXTRAS : 0;
        if (strcmp(option, "--projection") == 0) flag = SEEDED_PROJECTION;
        if (strcmp(option, "--loud") == 0) flag = SEEDED_LOUD;
        options |= flag;
        if (flag) continue;
        if (i + 1 == argc) return usage("unknown option, or the option's value is missing: ", option);
        const char *value = argv[++i];
        if (strcmp(option, "--net") == 0) net = value;
        else if (strcmp(option, "-o") == 0) path = value;
        else if (strcmp(option, "--seed") == 0) seed_text = value;
        else if (strcmp(option, "--dtype") != 0) return usage("unknown option: ", option);
        else if (!find_dtype(value, &dtype)) return usage("unknown dtype: ", value);
    }
    if (!net || !path) return usage(NULL, NULL);
    uint64_t seed = strtoull(seed_text, &end, 10);
    if (end == seed_text || *end) return usage("the seed is not a number: ", seed_text);
    size_t size;
    unsigned char *file = seeded_file(net, seed, dtype, options, &size);
    if (!file) return usage("unknown network (see --list): ", net);
    int status = write_file(path, file, size);
    free(file);
    return status;
}
