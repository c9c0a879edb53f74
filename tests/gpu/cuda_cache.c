/* cuda_cache.c: the folder of compiled kernels, and packs: whatever is wrong with one, the embeddings have the same
   bits, or the error says what is wrong. Run by t_cuda_faults.sh on the emulator.

   Linked with -Wl,--wrap=glob,--wrap=write,--wrap=fsync,--wrap=rename. */
#include "cuda_faults.h"
#include <sys/mman.h>
#include <sys/mount.h>

#define ROWS 4
#define NOBODY 65534

/* Results that child processes pass on to the others. */
static struct shared {
    test_row rows[ROWS]; /* FP16 on the GPU: the expected bits */
    int programs;        /* needed by the network */
} *shared;

/* Folders: for everything here; a cache of all programs; one of those that the pack `most` lacks; packs. Most tests use
   that pack, because compiling takes time. */
static char root[256], full[256], warm[256], packs[256], most[300];
#define LACKS 4

/* --- a disk that is full, or fails -------------------------------------------------------------------------------- */

static long long room = -1; /* bytes until the disk is full; -1: no limit */
static int fsync_fails, rename_fails;

ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size) {
    if (room < 0) return __real_write(fd, data, size);
    if (room == 0 && size > 0) {
        errno = ENOSPC;
        return -1;
    }
    if (size > (size_t)room) size = (size_t)room; /* writes what fits */
    room -= (long long)size;
    return __real_write(fd, data, size);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
    if (!fsync_fails) return __real_fsync(fd);
    errno = EIO;
    return -1;
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to) {
    if (!rename_fails) return __real_rename(from, to);
    errno = EIO;
    return -1;
}

/* --- helpers ------------------------------------------------------------------------------------------------------ */

static void path_of(char path[512], const char *folder, const char *name) {
    snprintf(path, 512, "%s/%s", folder, name);
}

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static void shell(const char *format, ...) {
    char command[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    test_need(system(command) == 0, command);
}

typedef struct start_log {
    test_log log;
    reid_error error;
    int compiled; /* programs */
} start_log;
static start_log last;

/* Creates, embeds, compares with the right bits, destroys. Returns the result of reid_create. */
static reid_result start_desc(reid_desc *desc) {
    test_row rows[ROWS];
    reid_ctx *ctx;
    memset(&last.log, 0, sizeof last.log);
    desc->error = &last.error, desc->log_fn = log_line, desc->log_user = &last.log;
    reid_result r = reid_create(desc, &ctx);
    const char *line = strstr(last.log.text, "compiling ");
    last.compiled = line ? atoi(line + 10) : 0;
    CHECK_RESULT(last.error.code, r);
    if (r == REID_OK) {
        CHECK_RESULT(embed_all(ctx, ROWS, rows, &last.error), REID_OK);
        CHECK(memcmp(rows, shared->rows, sizeof rows) == 0);
    }
    reid_destroy(ctx);
    CHECK_IS(emulator_live(), 0);
    return r;
}

static reid_desc desc_for(const char *cache) {
    reid_desc desc = test_desc(REID_DEVICE_CUDA, NULL, &last.error);
    desc.cache_dir = cache;
    desc.kernels_pack = most;
    return desc;
}

static void start(const char *cache) {
    reid_desc desc = desc_for(cache);
    if (!CHECK_RESULT(start_desc(&desc), REID_OK)) printf("%s\n", last.error.text);
}

/* A start without a usable folder: one warning with these words, and everything is compiled. */
static void start_without(const char *cache, const char *words) {
    start(cache);
    CHECK_IS(last.compiled, LACKS);
    CHECK_IS(last.log.warnings, 1);
    CHECK_HAS(last.log.text, words);
}

/* A start that compiles `count` programs with that many warnings. */
static void start_with(const char *cache, int count, int warnings) {
    start(cache);
    if (!CHECK_IS(last.compiled, count) | !CHECK_IS(last.log.warnings, warnings)) printf("%s", last.log.text);
    CHECK_IS(count_files(cache, ".tmp", NULL), 0);
}

/* --- the cache ---------------------------------------------------------------------------------------------------- */

static reid_desc pack_desc(void) {
    reid_desc desc = test_pack_desc(&last.error);
    desc.cache_dir = full;
    return desc;
}

/* Makes the reference; folders are created with their parents. */
static void fill(void) {
    reid_desc desc = desc_for(full);
    reid_ctx *ctx;
    struct stat st;
    char path[512], name[256];
    desc.kernels_pack = NULL, desc.threads = 2;
    desc.log_fn = log_line, desc.log_user = &last.log;
    test_need(reid_create(&desc, &ctx) == REID_OK, last.error.text);
    CHECK_RESULT(embed_all(ctx, ROWS, shared->rows, &last.error), REID_OK);
    reid_destroy(ctx);
    shared->programs = atoi(strstr(last.log.text, "compiling ") + 10);
    CHECK(shared->programs > 20);
    CHECK_IS(last.log.warnings, 0);
    CHECK_IS(count_files(full, "", NULL), shared->programs);
    CHECK_IS(count_files(full, ".tmp", NULL), 0);
    path_of(path, packs, "good");
    desc = pack_desc();
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", path, NULL, NULL), REID_OK);
    pack_without(path, most, LACKS);
    start_with(warm, LACKS, 0);
    CHECK_IS(count_files(warm, "", name), LACKS);
    CHECK(stat(warm, &st) == 0 && (st.st_mode & 0777) == 0700);
    path_of(path, warm, name);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    emulator_nvrtc_fail("nvrtcCompileProgram:1"); /* nothing is compiled again */
    start_with(warm, 0, 0);
    desc = desc_for(full);
    desc.kernels_pack = NULL;
    CHECK_RESULT(start_desc(&desc), REID_OK);
    CHECK_IS(last.compiled, 0);
    emulator_nvrtc_fail(NULL);
}

/* An entry damaged in any part is compiled again, with a warning, and then is whole. */
static void damage_one(const char *folder, int which, long at, long cut) {
    char names[64][256], path[512];
    int count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && count < 64 && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.') snprintf(names[count++], 256, "%s", e->d_name);
    if (d) closedir(d);
    path_of(path, folder, names[which % count]);
    FILE *f = fopen(path, "r+b");
    test_need(f != NULL, path);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    if (at < 0) at += size;
    if (cut >= 0) test_need(ftruncate(fileno(f), cut > 100000 ? size - (1 << 20) + cut : cut) == 0, path);
    else {
        fseek(f, at, SEEK_SET);
        int byte = fgetc(f);
        fseek(f, at, SEEK_SET);
        fputc(byte ^ 0x10, f);
    }
    fclose(f);
}

static void damaged(void) {
    char folder[512];
    static const long offsets[] = {0, 8, 15, 16, 31, 32, 40, 48, 63, 64, 79, 80, 5000, -1};
    static const long sizes[] = {0, 31, 32, 80, 4096, (1 << 20) - 1}; /* the last: one byte less */
    path_of(folder, root, "damaged");
    shell("cp -a '%s' '%s'", warm, folder);
    int n = 0;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        damage_one(folder, n++, offsets[i], -1);
        start_with(folder, 1, 1);
        CHECK_HAS(last.log.text, "is damaged and is compiled again");
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        damage_one(folder, n++, 0, sizes[i]);
        start_with(folder, 1, 1);
        CHECK_HAS(last.log.text, "is damaged and is compiled again");
    }
    for (int i = 0; i < LACKS; i++) damage_one(folder, i, 200, -1); /* every one */
    start_with(folder, LACKS, LACKS);
    start_with(folder, 0, 0);
}

/* An entry under another's name is undamaged, but not the one looked for. */
static void swapped(void) {
    char folder[512];
    path_of(folder, root, "swapped");
    shell("cp -a '%s' '%s' && cd '%s' && set -- * && cp \"$1\" \"$2\"", warm, folder, folder);
    start_with(folder, 1, 1);
    start_with(folder, 0, 0);
    shell("cd '%s' && set -- * && rm \"$3\" && mkdir \"$3\"", folder); /* a folder cannot be replaced */
    start_with(folder, 1, 1);
    CHECK_HAS(last.log.text, "writing failed");
    shell("cd '%s' && set -- * && rmdir \"$3\" && mkfifo \"$3\"", folder); /* must not hang */
    start_with(folder, 1, 0);
}

static void other_entries(void) {
    char folder[512], words[64];
    path_of(folder, root, "other");
    shell("cp -a '%s' '%s'", warm, folder);
    reid_desc desc = pack_desc();
    desc.kernels_pack = most, desc.cache_dir = folder;
    desc.flip = 1; /* another option of one program */
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", NULL, NULL, NULL), REID_OK);
    CHECK_IS(count_files(folder, "", NULL), LACKS + 1);
    setenv("REID_EMULATOR_NVRTC_VERSION", "12.8", 1); /* another compiler */
    start_with(folder, LACKS, 0);
    unsetenv("REID_EMULATOR_NVRTC_VERSION");
    CHECK_IS(count_files(folder, "", NULL), 2 * LACKS + 1);
    start_with(folder, 0, 0);

    char *text = (char *)malloc(strlen(test_kernels) + 16);
    sprintf(text, "%s// more\n", test_kernels); /* another text: neither the pack's nor the folder's programs */
    desc = desc_for(folder);
    desc.kernels_src = text;
    emulator_nvrtc_fail("nvrtcCompileProgram:1");
    CHECK_RESULT(start_desc(&desc), REID_ERR_DEVICE);
    emulator_nvrtc_fail(NULL);
    snprintf(words, sizeof words, "%d kernels must be compiled", shared->programs); /* all */
    CHECK_HAS(last.error.text, words);
    free(text);
}

static void no_folder(void) {
    char path[512], home[1024];
    path_of(path, root, "file");
    test_write_file(path, "x", 1);
    start_without(path, "it is not a folder");
    snprintf(home, sizeof home, "%s/below", path);
    start_without(home, "it cannot be created");
    path_of(path, root, "group");
    mkdir(path, 0700), chmod(path, 0770);
    start_without(path, "others may write to it");
    CHECK_IS(count_files(path, "", NULL), 0);
    chmod(path, 0707);
    start_without(path, "others may write to it");
    path_of(path, root, "open"); /* others can rename files in it, unless the folder forbids it */
    snprintf(home, sizeof home, "%s/cache", path);
    mkdir(path, 0700), mkdir(home, 0700), chmod(path, 0777);
    start_without(home, "others may write to its parent folder");
    snprintf(home, sizeof home, "%s/link", root);
    char target[600];
    snprintf(target, sizeof target, "%s/cache", path);
    CHECK(symlink(target, home) == 0);
    start_without(home, "others may write to its parent folder");
    unlink(home);
    snprintf(home, sizeof home, "%s/cache", path);
    if (geteuid() == 0) {
        chmod(path, 0755), CHECK(chown(path, NOBODY, NOBODY) == 0);
        start_without(home, "its parent folder belongs to another user");
        CHECK(chown(path, 0, 0) == 0);
    }
    chmod(path, 01777);
    start_with(home, LACKS, 0);
    start_with(home, 0, 0);
    shell("cd '%s' && chmod 666 $(ls | grep -vx tiles | head -n 1)", home); /* others could have written it */
    start(home);
    CHECK(last.log.warnings == 1 && last.compiled == 1);
    CHECK_HAS(last.log.text, "is compiled again: others may write to it");
    if (geteuid() == 0) {
        shell("cd '%s' && chown 65534 $(ls | grep -vx tiles | head -n 1)", home);
        start(home);
        CHECK(last.log.warnings == 1 && last.compiled == 1);
        CHECK_HAS(last.log.text, "is compiled again: it belongs to another user");
    }
    start_with(home, 0, 0);
    start("");
    CHECK_IS(last.log.warnings, 0); /* requested */
    CHECK_IS(last.compiled, LACKS);
}

/* The environment: REID_CACHE_DIR, XDG_CACHE_HOME, HOME. */
static void folder_by_environment(void) {
    char path[512], home[1024];
    path_of(home, root, "home");
    mkdir(home, 0700);
    unsetenv("REID_CACHE_DIR"), unsetenv("XDG_CACHE_HOME"), unsetenv("HOME");
    start_without(NULL, "compiled kernels are not kept");
    setenv("HOME", "relative", 1), setenv("XDG_CACHE_HOME", "relative", 1);
    start_without(NULL, "compiled kernels are not kept");
    memset(path, 'x', 400), path[0] = '/', path[400] = 0;
    setenv("XDG_CACHE_HOME", path, 1);
    start_without(NULL, "compiled kernels are not kept");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", home, 1);
    start(NULL);
    CHECK_IS(last.log.warnings, 0);
    snprintf(path, sizeof path, "%.400s/.cache/reid", home);
    CHECK_IS(count_files(path, "", NULL), LACKS);
    setenv("XDG_CACHE_HOME", warm, 1);
    start(NULL);
    CHECK_IS(last.compiled, LACKS); /* in warm/reid */
    CHECK_IS(count_files(warm, "reid", NULL), 1);
    setenv("REID_CACHE_DIR", warm, 1);
    start(NULL);
    CHECK_IS(last.compiled, 0);
    setenv("REID_CACHE_DIR", "", 1);
    start(NULL);
    CHECK(last.compiled == LACKS && last.log.warnings == 0);
    shell("rm -r '%s/reid'", warm);
}

static void full_disk(void) {
    char path[512];
    static const long long sizes[] = {0, 1, 50, 100, 20000, 60000};
    path_of(path, root, "no room");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        room = sizes[i];
        start_without(path, "writing failed (errno 28)");
        CHECK_IS(count_files(path, ".tmp", NULL), 0);
        room = -1;
        int kept = count_files(path, "", NULL);
        CHECK(i < 4 ? kept == 0 : kept < LACKS);
        shell("rm -r '%s'", path);
    }
    rename_fails = 1;
    start_without(path, "writing failed (errno 5)");
    rename_fails = 0;
    CHECK_IS(count_files(path, "", NULL), 0);
}

/* Repeats test with a really full disk, where mounting is allowed. */
static void full_tmpfs(void) {
    char path[512];
    path_of(path, root, "tmpfs");
    mkdir(path, 0700);
    if (mount("tmpfs", path, "tmpfs", 0, "size=64k,mode=0700") != 0) {
        printf("skipped: a tmpfs that is full (mount is not allowed)\n");
        return;
    }
    start_without(path, "writing failed (errno 28)");
    CHECK_IS(count_files(path, ".tmp", NULL), 0);
    int kept = count_files(path, "", NULL);
    CHECK(kept > 0 && kept < LACKS);
    start(path);
    CHECK_IS(last.compiled, LACKS - kept);
    umount(path);
}

/* Runs as a user other than root, for whom a folder can be read-only. */
static void users(void) {
    char path[512], copy[512];
    path_of(path, root, "readonly"), path_of(copy, root, "readonly-full");
    if (geteuid() != 0) {
        printf("skipped: folders of other users (this is not root)\n");
        return;
    }
    mkdir(path, 0700);
    test_need(chown(path, NOBODY, NOBODY) == 0, path);
    start_without(path, "it belongs to another user");
    CHECK_IS(count_files(path, "", NULL), 0);
    shell("cp -a '%s' '%s' && chown -R %d '%s'", warm, copy, NOBODY, copy);
}

static void as_nobody(void) {
    char path[512], copy[512];
    if (geteuid() != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0) return;
    path_of(path, root, "readonly"), path_of(copy, root, "readonly-full");
    if (access(path, W_OK) != 0 || access("tests", R_OK | X_OK) != 0) {
        printf("skipped: read-only folders (another user cannot reach %s)\n", root);
        return;
    }
    chmod(path, 0500), chmod(copy, 0500);
    start_without(path, "writing failed (errno 13)");
    CHECK_IS(count_files(path, "", NULL), 0);
    start_with(copy, 0, 0); /* entries of a read-only folder are used */
    chmod(path, 0300);
    start_without(path, "it cannot be read");
    chmod(path, 0700), chmod(copy, 0700);
}

/* Several processes fill one folder at once. */
static void together(void) {
    char path[512];
    pid_t children[3];
    int status;
    path_of(path, root, "together");
    for (int i = 0; i < 3; i++) {
        fflush(stdout);
        children[i] = fork();
        if (children[i]) continue;
        test_failures = 0;
        start(path);
        CHECK_IS(last.log.warnings, 0);
        fflush(stdout);
        _exit(test_failures != 0 || last.compiled == 0);
    }
    for (int i = 0; i < 3; i++) {
        waitpid(children[i], &status, 0);
        CHECK_IS(status, 0);
    }
    CHECK_IS(count_files(path, "", NULL), LACKS);
    start_with(path, 0, 0);
}

/* --- packs -------------------------------------------------------------------------------------------------------- */

static void count_programs(const char *options, const void *cubin, size_t bytes, const char *log, void *user) {
    CHECK(strstr(options, "-DREID_") == options && !strchr(options, '\n'));
    CHECK(bytes > 100 && memcmp(cubin, "\177ELF", 4) == 0 && log != NULL);
    ++*(int *)user;
}

enum { SEARCHES = 2 }; /* programs of a pack that search, by halves and by bytes; they come last */

typedef enum { NO_NVRTC, NVRTC, CACHE } help; /* what else there is: CACHE: NVRTC, and all programs in a folder */

static reid_result start_pack(const char *pack, help other) {
    reid_desc desc = desc_for(other == CACHE ? full : "");
    desc.kernels_pack = pack;
    if (other == NO_NVRTC) desc.nvrtc_path = "/nonexistent/libnvrtc.so.13";
    return start_desc(&desc);
}

static void make_packs(void) {
    char path[512];
    int programs = 0;
    reid_desc desc = pack_desc();
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", NULL, count_programs, &programs), REID_OK);
    CHECK_IS(programs, shared->programs + SEARCHES);
    path_of(path, packs, "flip"); /* one program differs */
    desc.flip = 1;
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", path, NULL, NULL), REID_OK);
    CHECK_IS(count_files(packs, "", NULL), 2);
    CHECK_IS(emulator_calls(), 0); /* no driver */
}

static void good_pack(void) {
    char path[512];
    path_of(path, packs, "good");
    if (!CHECK_RESULT(start_pack(path, NO_NVRTC), REID_OK)) printf("%s\n", last.error.text);
    CHECK_IS(last.compiled, 0);
    CHECK_IS(last.log.warnings, 0);
    emulator_nvrtc_fail("nvrtcCreateProgram:1");
    CHECK_RESULT(start_pack(path, NVRTC), REID_OK); /* nothing to compile, not even a test */
    emulator_nvrtc_fail(NULL);
}

static void wrong_packs(void) {
    char path[512];
    path_of(path, packs, "older"); /* for sm_89 */
    CHECK_RESULT(start_pack(path, NO_NVRTC), REID_ERR_DEVICE);
    CHECK_HAS(last.error.text, "kernels must be compiled for sm_90");
    CHECK_HAS(last.error.text, "/nonexistent/libnvrtc.so.13");
    CHECK_HAS(last.error.text, path);
    CHECK_RESULT(start_pack(path, CACHE), REID_OK);
    path_of(path, packs, "flip");
    CHECK_RESULT(start_pack(path, NO_NVRTC), REID_ERR_DEVICE);
    CHECK_HAS(last.error.text, "1 kernel must be compiled");
    CHECK_RESULT(start_pack(path, NVRTC), REID_OK);
    CHECK_IS(last.compiled, 1);
    path_of(path, packs, "good");
    for (int i = 0; i < 2; i++) { /* of another size, in another precision */
        reid_desc other = desc_for("");
        other.kernels_pack = path, other.nvrtc_path = "/nonexistent/libnvrtc.so.13";
        if (i) other.precision = REID_FP32;
        else other.height = 48;
        CHECK_RESULT(start_desc(&other), REID_ERR_DEVICE);
        CHECK_HAS(last.error.text, "kernels must be compiled for sm_90");
    }
    CHECK_RESULT(start_pack("/nonexistent/pack", NVRTC), REID_ERR_FILE_OPEN);
    CHECK_HAS(last.error.text, "/nonexistent/pack");
    CHECK_RESULT(start_pack(packs, NVRTC), REID_ERR_FILE_OPEN);
    CHECK_HAS(last.error.text, packs);
    CHECK_HAS(last.error.text, "a directory");
    CHECK_RESULT(start_pack("reid_kernels.cu", NVRTC), REID_ERR_KERNEL_PACK);
    CHECK_HAS(last.error.text, "reid_kernels.cu");
    reid_desc desc = desc_for(""); /* AUTO falls back to the CPU */
    desc.device = REID_DEVICE_AUTO, desc.precision = REID_PRECISION_DEFAULT;
    desc.log_fn = log_line, desc.log_user = &last.log;
    for (int i = 0; i < 3; i++) {
        static const char *const wrong[] = {"reid_kernels.cu", "/nonexistent/pack", "tests"};
        reid_ctx *ctx;
        reid_info info;
        desc.kernels_pack = wrong[i];
        memset(&last.log, 0, sizeof last.log);
        CHECK_RESULT(reid_create(&desc, &ctx), REID_OK);
        CHECK(reid_query_desc(ctx, &info) == REID_OK && strcmp(info.device, "cpu") == 0);
        CHECK_HAS(last.log.text, wrong[i]);
        reid_destroy(ctx);
    }
}

static void damaged_pack(void) {
    char path[512], copy[512];
    path_of(path, packs, "good"), path_of(copy, root, "damaged-pack");
    FILE *f = fopen(path, "rb");
    unsigned char *bytes = (unsigned char *)malloc(1 << 23);
    test_need(f && bytes, path);
    size_t size = fread(bytes, 1, 1 << 23, f), table = 32 + 48 * (size_t)reid__le64(bytes + 8);
    fclose(f);
    CHECK_IS(reid__le64(bytes + 8), shared->programs + SEARCHES);
    const unsigned char *row = bytes + 16 + 48 * ((size_t)shared->programs - 1); /* the network's last one */
    size_t end = (size_t)(reid__le64(row + 16) + reid__le64(row + 24));
    for (size_t at = 0; at < table; at += at < 16 ? 3 : 49) { /* every column of the table */
        bytes[at] ^= 1;
        test_write_file(copy, bytes, size);
        bytes[at] ^= 1;
        CHECK_RESULT(start_pack(copy, at % 2 ? NVRTC : NO_NVRTC), REID_ERR_KERNEL_PACK);
        CHECK_HAS(last.error.text, copy);
    }
    size_t cuts[] = {0, 7, 8, 31, 32, table / 2, table - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        test_write_file(copy, bytes, cuts[i]);
        CHECK_RESULT(start_pack(copy, NVRTC), REID_ERR_KERNEL_PACK);
    }
    size_t data[] = {table, table + 5000, (table + end) / 2, end - 1}; /* one program's bytes */
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        bytes[data[i]] ^= 1;
        test_write_file(copy, bytes, size);
        bytes[data[i]] ^= 1;
        CHECK_RESULT(start_pack(copy, NO_NVRTC), REID_ERR_DEVICE);
        CHECK_HAS(last.error.text, "1 kernel must be compiled");
        CHECK_HAS(last.error.text, copy);
        CHECK_RESULT(start_pack(copy, NVRTC), REID_OK);
        CHECK_IS(last.compiled, 1);
    }
    test_write_file(copy, bytes, end - 1); /* cut in the last program, then in the middle */
    CHECK_RESULT(start_pack(copy, NVRTC), REID_OK);
    CHECK_IS(last.compiled, 1);
    test_write_file(copy, bytes, table);
    CHECK_RESULT(start_pack(copy, CACHE), REID_OK);
    CHECK_RESULT(start_pack(copy, NO_NVRTC), REID_ERR_DEVICE);
    free(bytes);
}

/* Wrong tables with a correct checksum. */
static void lying_pack(void) {
    static const uint64_t rows[][2] = {{1 << 20, 16},        {80, UINT64_MAX}, {UINT64_MAX, 2},
                                       {UINT64_MAX - 8, 16}, {80, 0},          {0, 80}};
    unsigned char bytes[96], *at;
    char path[512];
    uint64_t key[2] = {1, 2}, digest[2];
    size_t found;
    path_of(path, root, "lying");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(bytes, 0, sizeof bytes);
        memcpy(bytes, REID__BUNDLE_MAGIC, 8);
        at = reid__put64(bytes + 8, 1);
        at = reid__put64(reid__put64(reid__put64(reid__put64(at, 1), 2), rows[i][0]), rows[i][1]);
        at += 16;
        reid__digest_of(bytes, 64, digest);
        reid__put64(reid__put64(at, digest[0]), digest[1]);
        CHECK(reid__bundle_valid(bytes, sizeof bytes));
        CHECK(reid__bundle_find(bytes, sizeof bytes, key, &found) == NULL);
        test_write_file(path, bytes, sizeof bytes);
        CHECK_RESULT(start_pack(path, NO_NVRTC), REID_ERR_DEVICE);
    }
    for (int shift = 1; shift < 64; shift += 6) { /* more rows than the file has */
        reid__put64(bytes + 8, (uint64_t)1 << shift);
        CHECK(!reid__bundle_valid(bytes, sizeof bytes));
    }
    reid__put64(bytes + 8, 0); /* no programs: a valid, empty pack */
    reid__digest_of(bytes, 16, digest);
    reid__put64(reid__put64(bytes + 16, digest[0]), digest[1]);
    test_write_file(path, bytes, 32);
    CHECK_RESULT(start_pack(path, CACHE), REID_OK);
}

static void pack_arguments(void) {
    static const char *const archs[] = {"",       "90",      "sm_",   "sm_60",      "sm_74",  "sm_90x", "sm_90a",
                                        "sm_-90", "sm_1000", "SM_90", "compute_90", "sm_ 90", "sm_+90",
                                        "sm_99999999999999999999"};
    char text[64];
    reid_desc desc = pack_desc();
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        CHECK_RESULT(reid_pack_kernels(&desc, archs[i], NULL, NULL, NULL), REID_ERR_INVALID_ARG);
        snprintf(text, sizeof text, "\"%s\" is not a chip", archs[i]);
        CHECK_HAS(last.error.text, text);
    }
    CHECK_RESULT(reid_pack_kernels(NULL, "sm_90", NULL, NULL, NULL), REID_ERR_INVALID_ARG);
    CHECK_RESULT(reid_pack_kernels(&desc, NULL, NULL, NULL, NULL), REID_ERR_INVALID_ARG);
    desc.network = "resnet51";
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", NULL, NULL, NULL), REID_ERR_UNKNOWN_NETWORK);
    CHECK_HAS(last.error.text, "resnet51");
    desc.network = NULL;
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", NULL, NULL, NULL), REID_ERR_UNKNOWN_NETWORK);
    desc = pack_desc();
    desc.preset = "none such";
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", NULL, NULL, NULL), REID_ERR_UNKNOWN_PRESET);
    desc = pack_desc();
    desc.height = 100000;
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", NULL, NULL, NULL), REID_ERR_INPUT_SIZE);
    desc = pack_desc();
    desc.precision = REID_BF16;
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_75", NULL, NULL, NULL), REID_ERR_PRECISION);
    CHECK_HAS(last.error.text, "bf16 needs a GPU from Ampere (sm_80) on; this one is sm_75");
    desc = pack_desc();
    desc.kernels_src = NULL;
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", NULL, NULL, NULL), REID_ERR_NO_KERNELS);
    desc = pack_desc();
    desc.cache_dir = "", desc.nvrtc_path = "/nonexistent/nvrtc";
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", NULL, NULL, NULL), REID_ERR_DEVICE);
    CHECK_HAS(last.error.text, "/nonexistent/nvrtc");
    desc = pack_desc();
    desc.kernels_src = "this is no code\n";
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", NULL, NULL, NULL), REID_ERR_KERNEL_COMPILE);
    CHECK_HAS(last.error.text, "reid_kernels.cu:1:");
}

/* NVRTC that does not know the chip. For a newer chip it must not write a pack that no machine can use. */
static void pack_unknown_chip(void) {
    char path[512];
    reid_desc desc = pack_desc();
    path_of(path, packs, "older");
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_120", path, NULL, NULL), REID_ERR_DEVICE);
    CHECK_HAS(last.error.text, "does not know sm_120");
    CHECK(access(path, F_OK) != 0);
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_89", path, NULL, NULL), REID_OK); /* sm_86's code runs there */
}

static void use_older_chip(void) {
    char path[512];
    path_of(path, packs, "older");
    if (!CHECK_RESULT(start_pack(path, NO_NVRTC), REID_OK)) printf("%s\n", last.error.text);
}

/* A pack for this chip is used although NVRTC does not know the chip. */
static void pack_for_newer_chip(void) {
    char path[512];
    reid_desc desc = pack_desc();
    path_of(path, root, "newer");
    unsetenv("REID_EMULATOR_NVRTC_ARCHS");
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_120", path, NULL, NULL), REID_OK);
    setenv("REID_EMULATOR_NVRTC_ARCHS", "75,80,86", 1);
    CHECK_RESULT(start_pack(path, NO_NVRTC), REID_OK);
    if (!CHECK_RESULT(start_pack(path, NVRTC), REID_OK)) printf("%s\n", last.error.text);
    CHECK_IS(last.compiled, 0);
}

/* A pack that cannot be written leaves the old one, and no other file. */
static void pack_files(void) {
    char folder[512], path[1024];
    static const long long sizes[] = {0, 10, 40, 1000, 100000};
    reid_desc desc = pack_desc();
    path_of(folder, root, "written");
    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/pack", folder);
    shell("cp '%s/good' '%s'", packs, path);
    for (int i = 0; i < 7; i++) {
        room = i < 5 ? sizes[i] : -1, fsync_fails = i == 5, rename_fails = i == 6;
        CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", path, NULL, NULL), REID_ERR_FILE_WRITE);
        room = -1, fsync_fails = rename_fails = 0;
        CHECK_HAS(last.error.text, path);
        CHECK_HAS(last.error.text, i < 5 ? "errno 28" : "errno 5");
        CHECK_IS(count_files(folder, "", NULL), 1);
        shell("cmp '%s/good' '%s'", packs, path);
        desc.flip = 1; /* what would have been another file */
    }
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", folder, NULL, NULL), REID_ERR_FILE_WRITE);
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", "/nonexistent/pack", NULL, NULL), REID_ERR_FILE_WRITE);
    CHECK_HAS(last.error.text, "/nonexistent/pack");
    CHECK_IS(count_files(folder, "", NULL), 1);
    CHECK_IS(count_files(root, ".tmp", NULL), 0);
    CHECK_RESULT(reid_pack_kernels(&desc, "sm_90", path, NULL, NULL), REID_OK);
    shell("cmp '%s/flip' '%s'", packs, path);
    CHECK_IS(count_files(folder, "", NULL), 1);
}

int main(void) {
    folder_path(root, "cache_test");
    shell("rm -rf '%s' && mkdir -m 755 '%s'", root, root);
    snprintf(full, sizeof full, "%.200s/full", root);
    snprintf(warm, sizeof warm, "%.200s/warm/of/it", root);
    snprintf(packs, sizeof packs, "%.200s/packs", root);
    snprintf(most, sizeof most, "%s/most", root);
    mkdir(packs, 0755);
    shared = (struct shared *)mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    test_need(shared != MAP_FAILED, "mmap");
    test_setup();
    in_child("filling the folder", fill);
    test_need(test_failures == 0, "the first start");
    in_child("damaged entries", damaged);
    in_child("entries in the place of others", swapped);
    in_child("other texts, options, compilers", other_entries);
    in_child("no usable folder", no_folder);
    in_child("a folder by the environment", folder_by_environment);
    in_child("a full disk", full_disk);
    in_child("a full tmpfs", full_tmpfs);
    in_child("a folder of another user", users);
    in_child("a folder that is read-only", as_nobody);
    in_child("three processes at once", together);
    in_child("making packs", make_packs);
    in_child("a pack", good_pack);
    in_child("a damaged pack", damaged_pack);
    in_child("a pack that lies", lying_pack);
    in_child("arguments of reid_pack_kernels", pack_arguments);
    in_child("writing a pack", pack_files);
    setenv("REID_EMULATOR_NVRTC_ARCHS", "75,80,86", 1);
    in_child("a chip that NVRTC does not know", pack_unknown_chip);
    setenv("REID_EMULATOR_ARCH", "89", 1);
    in_child("a pack made with an older NVRTC", use_older_chip);
    setenv("REID_EMULATOR_ARCH", "120", 1);
    in_child("a pack for a chip newer than NVRTC", pack_for_newer_chip);
    unsetenv("REID_EMULATOR_ARCH"), unsetenv("REID_EMULATOR_NVRTC_ARCHS");
    in_child("packs for something else", wrong_packs);
    test_teardown();
    return test_failures != 0;
}
