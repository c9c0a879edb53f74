/* nvrtc_compile.c: compiles a kernel text to a shared library, in a separate folder: preprocesses it (the contract's
   prelude, the -D options as #define lines, the text), finds the kernels, compiles the rest. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulator.h"
#include "image.h"
#include "nvrtc.h"

extern char **environ;

/* The prelude's files, part of this library. */
#define RTC_EMBED(symbol, file)                                                                                        \
    __asm__(".section .rodata\n" #symbol ": .incbin \"" REID_EMULATOR_SOURCE "/" file "\"\n.byte 0\n.previous\n");     \
    extern const char symbol[]
RTC_EMBED(rtc_kernel_abi, "kernel_abi.h");
RTC_EMBED(rtc_prelude, "prelude.h");
RTC_EMBED(rtc_prelude_math, "prelude_math.h");
RTC_EMBED(rtc_prelude_ptx, "prelude_ptx.h");
RTC_EMBED(rtc_prelude_hopper, "prelude_hopper.h");
RTC_EMBED(rtc_prelude_hooks, "prelude_hooks.h");

enum { MAX_ARGUMENTS = 96 };

typedef struct rtc_command {
    const char *arguments[MAX_ARGUMENTS];
    int count;
} rtc_command;

static void add(rtc_command *c, const char *argument) {
    if (c->count < MAX_ARGUMENTS - 1) c->arguments[c->count++] = argument;
}

/* Words of an environment variable: "g++ -m64". The copy stays until the command has run. */
static void add_words(rtc_command *c, char *words) {
    char *rest = NULL;
    for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) add(c, w);
}

/* ---- files ---- */

static int write_text(const char *folder, const char *name, const char *data, size_t size) {
    char path[768];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f) return 0;
    int ok = fwrite(data, 1, size, f) == size;
    return !fclose(f) && ok;
}

static int read_file(const char *folder, const char *name, rtc_text *to) {
    char path[768], buffer[65536];
    size_t n;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    while ((n = fread(buffer, 1, sizeof buffer, f)) > 0) rtc_add(to, buffer, n);
    fclose(f);
    return !to->failed;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* $REID_EMULATOR_KEEP (then the files stay, for gdb), or a folder that is removed afterwards. */
static int make_folder(char *folder, size_t size) {
    const char *keep = getenv("REID_EMULATOR_KEEP"), *temporary = getenv("TMPDIR");
    const char *parent = keep && *keep ? keep : temporary && *temporary ? temporary : "/tmp";
    if (keep && *keep) mkdir(keep, 0777);
    int n = snprintf(folder, size, "%s/reid-nvrtc-XXXXXX", parent);
    if (n < 0 || (size_t)n >= size || !mkdtemp(folder)) return 0;
    char *absolute = realpath(folder, NULL);
    if (!absolute || strlen(absolute) >= size) {
        free(absolute);
        return 0;
    }
    strcpy(folder, absolute);
    free(absolute);
    return 1;
}

static void remove_folder(const char *folder, const rtc_program *p) {
    static const char *const names[] = {"kernel_abi.h", "prelude.h",  "prelude_math.h", "prelude_ptx.h",
                                        "prelude_hopper.h", "prelude_hooks.h", "main.cpp", "main.ii",
                                        "module.so", "messages"};
    const char *keep = getenv("REID_EMULATOR_KEEP");
    char path[768];
    if (keep && *keep) return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    for (int i = -1; i < p->header_count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, base_name(i < 0 ? p->name : p->header_names[i]));
        unlink(path);
    }
    rmdir(folder);
}

static int write_inputs(const char *folder, const rtc_program *p, const rtc_options *o) {
    rtc_text main_text = {0};
    const char *name = base_name(p->name);
    rtc_print(&main_text, "#include \"prelude.h\"\nstatic_assert(sizeof __VERSION__, \"for the store\");\n%s%s"
              "#line 1 \"%s\"\n", o->defines.data ? o->defines.data : "", o->includes.data ? o->includes.data : "",
              name);
    rtc_add(&main_text, p->text.data, p->text.size);
    rtc_add(&main_text, "\n", 1);
    int ok = !main_text.failed && write_text(folder, "kernel_abi.h", rtc_kernel_abi, strlen(rtc_kernel_abi)) &&
             write_text(folder, "prelude.h", rtc_prelude, strlen(rtc_prelude)) &&
             write_text(folder, "prelude_math.h", rtc_prelude_math, strlen(rtc_prelude_math)) &&
             write_text(folder, "prelude_ptx.h", rtc_prelude_ptx, strlen(rtc_prelude_ptx)) &&
             write_text(folder, "prelude_hopper.h", rtc_prelude_hopper, strlen(rtc_prelude_hopper)) &&
             write_text(folder, "prelude_hooks.h", rtc_prelude_hooks, strlen(rtc_prelude_hooks)) &&
             write_text(folder, "main.cpp", main_text.data, main_text.size) &&
             write_text(folder, name, p->text.data, p->text.size); /* for messages and debuggers */
    for (int i = 0; ok && i < p->header_count; i++)
        ok = write_text(folder, base_name(p->header_names[i]), p->headers[i], strlen(p->headers[i]));
    rtc_free(&main_text);
    return ok;
}

/* ---- the compiler ---- */

/* Runs it in the folder, with its output into the log. Returns whether it succeeded. */
static nvrtcResult run(rtc_command *c, const char *folder, rtc_text *log) {
    posix_spawn_file_actions_t actions;
    char messages[768];
    pid_t child;
    int status = 0;
    c->arguments[c->count] = NULL;
    snprintf(messages, sizeof messages, "%s/messages", folder);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, messages, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&actions, 2, 1);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    char *const *arguments = (char *const *)(const void *)c->arguments;
    int failed = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        rtc_print(log, "reid emulator: cannot run %s: %s\n", c->arguments[0], strerror(failed));
        return NVRTC_ERROR_INTERNAL_ERROR;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    read_file(folder, "messages", log);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

static int environment_is_set(const char *name) {
    const char *value = getenv(name);
    return value && *value && strcmp(value, "0") != 0;
}

static const char *rtc_mode(void) {
    return !EMU_ASAN && environment_is_set("REID_EMULATOR_CHECK") ? "check" : EMU_MODE;
}

static nvrtcResult preprocess(const char *folder, const rtc_options *o, rtc_text *log) {
    const char *compiler = getenv("REID_EMULATOR_CXX");
    char *words = strdup(compiler && *compiler ? compiler : "g++");
    char arch[32], feature[48];
    rtc_command c = {.count = 0};
    if (!words) return NVRTC_ERROR_OUT_OF_MEMORY;
    add_words(&c, words);
    snprintf(arch, sizeof arch, "-D__CUDA_ARCH__=%d", o->arch * 10);
    static const char *const fixed[] = {"-E", "-std=gnu++17", "-w", "-I.", "-DREID_EMULATOR_SCAN"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) add(&c, fixed[i]);
    add(&c, arch);
    snprintf(feature, sizeof feature, "-D__CUDA_ARCH_FEAT_SM%d_ALL", o->arch);
    if (o->suffix == 'a') add(&c, feature);
    if (strcmp(rtc_mode(), "check") == 0) add(&c, "-DREID_EMULATOR_CHECK");
    if (o->debug || environment_is_set("REID_EMULATOR_DEBUG")) add(&c, "-DREID_EMULATOR_DEBUG");
    for (size_t i = 0; i < o->folders.size; i += strlen(o->folders.data + i) + 1) {
        add(&c, "-I");
        add(&c, o->folders.data + i);
    }
    add(&c, "main.cpp"), add(&c, "-o"), add(&c, "main.ii");
    nvrtcResult r = run(&c, folder, log);
    free(words);
    return r;
}

/* ---- the store: $REID_EMULATOR_STORE, a folder of libraries by the text they were compiled from ---- */

static void store_name(char name[40], const rtc_command *c, const rtc_text *text) {
    uint64_t hash[2] = {0xcbf29ce484222325u, 0x84222325cbf29ce4u};
    for (int i = 0; i <= c->count; i++) {
        const char *from = i < c->count ? c->arguments[i] : text->data;
        size_t size = i < c->count ? strlen(from) + 1 : text->size;
        for (size_t k = 0; k < size; k++)
            for (int h = 0; h < 2; h++) hash[h] = (hash[h] ^ (unsigned char)from[k]) * 0x100000001b3u;
    }
    snprintf(name, 40, "%016llx%016llx.so", (unsigned long long)hash[0], (unsigned long long)hash[1]);
}

/* Runs the compiler, or finds its result for the same text in the store. */
static nvrtcResult run_or_find(rtc_command *c, const char *folder, rtc_text *log, rtc_text *library) {
    const char *store = getenv("REID_EMULATOR_STORE"), *keep = getenv("REID_EMULATOR_KEEP");
    char name[40] = "", fresh[64], from[768], to[768];
    if (store && *store && !(keep && *keep)) {
        rtc_text text = {0};
        if (read_file(folder, "main.ii", &text)) store_name(name, c, &text);
        rtc_free(&text);
    }
    if (*name && read_file(store, name, library)) return NVRTC_SUCCESS;
    nvrtcResult r = run(c, folder, log);
    if (r) return r;
    if (!read_file(folder, "module.so", library)) return NVRTC_ERROR_INTERNAL_ERROR;
    if (!*name) return NVRTC_SUCCESS;
    snprintf(fresh, sizeof fresh, "%.60s", base_name(folder)); /* others may be writing the same */
    snprintf(from, sizeof from, "%.500s/%s", store, fresh);
    snprintf(to, sizeof to, "%.500s/%s", store, name);
    if (!write_text(store, fresh, library->data, library->size) || rename(from, to)) unlink(from);
    return NVRTC_SUCCESS;
}

static nvrtcResult compile(const char *folder, const rtc_options *o, rtc_text *log, rtc_text *library) {
    const char *compiler = getenv("REID_EMULATOR_CXX"), *more = getenv("REID_EMULATOR_CXXFLAGS");
    char *words = strdup(compiler && *compiler ? compiler : "g++"), *flags = strdup(more ? more : "");
    rtc_command c = {.count = 0};
    if (!words || !flags) {
        free(words), free(flags);
        return NVRTC_ERROR_OUT_OF_MEMORY;
    }
    add_words(&c, words);
    static const char *const fixed[] = {"-std=gnu++17", "-w", "-shared", "-fPIC", "-mavx2", "-mfma", "-mf16c",
                                        "-fno-strict-aliasing", "-fno-exceptions", "-fno-rtti", "-fno-math-errno",
                                        "-fno-threadsafe-statics", "-fvisibility=hidden", "-Wl,-Bsymbolic",
                                        "-Wl,-z,defs", "-nodefaultlibs"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) add(&c, fixed[i]);
    if (o->debug || environment_is_set("REID_EMULATOR_DEBUG")) add(&c, "-O0"), add(&c, "-g3");
    else add(&c, "-O1"), add(&c, "-g1");
    add(&c, o->no_fma ? "-ffp-contract=off" : "-ffp-contract=fast");
    if (strcmp(rtc_mode(), "check") == 0)
        add(&c, "-fsanitize=thread,alignment,bounds,shift-exponent,integer-divide-by-zero,signed-integer-overflow");
    else add(&c, EMU_ASAN ? "-fsanitize=address,alignment" : "-fsanitize=alignment");
    add_words(&c, flags);
    add(&c, "main.ii"), add(&c, "-o"), add(&c, "module.so");
    if (EMU_ASAN) add(&c, "-lasan");
    add(&c, "-lm"), add(&c, "-lc"), add(&c, "-lgcc");
    nvrtcResult r = run_or_find(&c, folder, log, library);
    free(words), free(flags);
    return r;
}

/* ---- the whole ---- */

static void describe(rtc_text *meta, const rtc_options *o) {
    rtc_print(meta, REID_EMULATOR_META "arch=%d suffix=%s mode=%s version=%d options=", o->arch,
              o->suffix == 'a' ? "a" : o->suffix ? "f" : "none", rtc_mode(), rtc_version());
    for (const char *c = o->all.data ? o->all.data : ""; *c; c++) {
        if (*c == '"' || *c == '\\') rtc_add(meta, "\\", 1);
        rtc_add(meta, *c == '\n' ? " " : c, 1);
    }
}

/* main.ii: without CUDA's qualifiers, and with the table of kernels behind it. */
static nvrtcResult add_table(const char *folder, const rtc_options *o, rtc_text *log) {
    rtc_text text = {0}, meta = {0}, table = {0};
    nvrtcResult r = NVRTC_ERROR_INTERNAL_ERROR;
    describe(&meta, o);
    rtc_add(&text, "\n", 1); /* so that a line marker always follows a newline */
    if (read_file(folder, "main.ii", &text) && !meta.failed) {
        int ok = rtc_scan(text.data, meta.data, &table, log);
        rtc_print(&text, "\n# 1 \"kernel table\"\n%s", table.data ? table.data : "");
        if (!ok) r = NVRTC_ERROR_COMPILATION;
        else if (text.failed || table.failed) r = NVRTC_ERROR_OUT_OF_MEMORY;
        else if (write_text(folder, "main.ii", text.data, text.size)) r = NVRTC_SUCCESS;
    }
    rtc_free(&text), rtc_free(&meta), rtc_free(&table);
    return r;
}

nvrtcResult rtc_compile(rtc_program *p, const rtc_options *o) {
    char folder[512];
    if (!make_folder(folder, sizeof folder)) {
        rtc_print(&p->log, "reid emulator: cannot make a temporary folder: %s\n", strerror(errno));
        return NVRTC_ERROR_INTERNAL_ERROR;
    }
    nvrtcResult r = write_inputs(folder, p, o) ? preprocess(folder, o, &p->log) : NVRTC_ERROR_INTERNAL_ERROR;
    if (!r) r = add_table(folder, o, &p->log);
    if (!r) r = compile(folder, o, &p->log, &p->cubin);
    remove_folder(folder, p);
    if (r) {
        rtc_free(&p->cubin);
        return r;
    }
    const unsigned char *bytes = (const unsigned char *)p->cubin.data;
    char *ptx = emu_image_to_ptx(bytes, p->cubin.size, o->arch, o->suffix, rtc_version());
    if (!ptx) return NVRTC_ERROR_OUT_OF_MEMORY;
    rtc_add(&p->ptx, ptx, strlen(ptx));
    free(ptx);
    if (o->is_virtual) rtc_free(&p->cubin);
    return p->log.failed || p->ptx.failed ? NVRTC_ERROR_OUT_OF_MEMORY : NVRTC_SUCCESS;
}
