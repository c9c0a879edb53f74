/* nvrtc_matrix.c: the real NVRTC compiles every program of a network for a chip; registers, stack and local memory are
   read from the cubins. Nothing of it needs a GPU. Run by t_nvrtc.sh.

       nvrtc_matrix NETWORK fp16|bf16|fp32|int8[-latency] ARCH HEIGHT WIDTH CACHE   a line of a table; fails on a spill
       nvrtc_matrix check              the reading itself, on kernels made for it; 77: no NVRTC
       nvrtc_matrix contract           prints the text that precedes reid_kernels.cu, for nvcc -include
       nvrtc_matrix read CUBIN         prints the registers and the frame of a file's kernel, and what sm_90 counts

   A cubin is an ELF file. NVIDIA does not document where it states a kernel's needs; the following was found by
   comparing `readelf -SW` with the output of ptxas -v, and t_nvrtc.sh compares the two where nvcc is installed (CUDA
   13.0 when this was written):
       .text.NAME          one for each kernel; up to CUDA 12 the registers are in bits 24 to 31 of sh_info
       .nv.info            records {u8 format, u8 attribute, u16 size, bytes}; formats 1 to 3 have a value in place of
                           size. Of format 4: attribute 0x2f {u32 symbol, u32 registers}, 0x11 {symbol, frame bytes},
                           0x12 and 0x23 {symbol, least and most stack bytes}
       .nv.info.NAME       such records for one kernel; attribute 0x05 {u32 x, y, z}: __launch_bounds__
       .nv.local.NAME      local memory; its size is that of one thread
   On sm_90 the instructions are read, too: 16 bytes each, the operation in the lowest 12 bits, which is known from
   nvdisasm -hex (t_nvrtc.sh compares the counts with nvdisasm's text):
       0x992       MEMBAR; bits 76 to 79: 8 for .CTA, more for the GPU and beyond
       0x9ab, 0x5ab        ERRBAR, CGAERRBAR
       0x9f0, 0x9f1        HGMMA, IGMMA; bits 84 to 86: 7, or the scoreboard (gsb0) if the product ends a group */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"
#include <elf.h>
#include <sys/resource.h>
#include "../lib/test_util.h"

typedef struct usage {
    int kernels, registers, threads; /* registers: the most of any kernel; threads: of its __launch_bounds__ */
    unsigned frame, stack, local;    /* bytes: the most */
    int fences, products, groups;    /* sm_90: MEMBAR of the GPU, ERRBAR, CGAERRBAR; of wgmma; those that end a group */
    char name[64];                   /* of the last kernel */
} usage;

static unsigned word(const unsigned char *at) {
    return at[0] | (unsigned)at[1] << 8 | (unsigned)at[2] << 16 | (unsigned)at[3] << 24;
}

static unsigned most(unsigned a, unsigned b) { return a > b ? a : b; }

/* The records of one .nv.info section. Returns 0 if they make no sense. */
static int read_info(const unsigned char *at, size_t size, usage *u) {
    for (size_t i = 0; i < size;) {
        if (size - i < 4) return 0;
        unsigned format = at[i], attribute = at[i + 1], bytes = format == 4 ? at[i + 2] | (unsigned)at[i + 3] << 8 : 0;
        const unsigned char *data = at + i + 4;
        if (format < 1 || format > 4 || bytes > size - i - 4) return 0;
        i += 4 + bytes;
        if (bytes < 8) continue;
        unsigned value = word(data + 4);
        if (attribute == 0x2f) u->registers = (int)most((unsigned)u->registers, value);
        if (attribute == 0x11) u->frame = most(u->frame, value);
        if (attribute == 0x12 || attribute == 0x23) u->stack = most(u->stack, value);
        if (attribute == 0x05) u->threads = (int)most((unsigned)u->threads, word(data) * word(data + 4));
    }
    return 1;
}

/* The machine code of a kernel for sm_90. */
static void read_code(const unsigned char *at, size_t size, usage *u) {
    for (size_t i = 0; i + 16 <= size; i += 16) {
        unsigned operation = word(at + i) & 0xfff, high = word(at + i + 8);
        u->fences += (operation == 0x992 && (high >> 12 & 15) > 8) || operation == 0x9ab || operation == 0x5ab;
        if (operation != 0x9f0 && operation != 0x9f1) continue;
        u->products++;
        u->groups += (high >> 20 & 7) != 7;
    }
}

/* Returns 0 if this is no cubin. */
static int read_cubin(const void *cubin, size_t size, usage *u) {
    const unsigned char *bytes = (const unsigned char *)cubin;
    Elf64_Ehdr head;
    Elf64_Shdr names, s;
    memset(u, 0, sizeof *u);
    if (size < sizeof head) return 0;
    memcpy(&head, bytes, sizeof head);
    if (memcmp(bytes, ELFMAG, SELFMAG) != 0 || head.e_machine != 190) return 0; /* EM_CUDA */
    if (head.e_shentsize != sizeof s || head.e_shoff > size || head.e_shstrndx >= head.e_shnum ||
        head.e_shnum > (size - head.e_shoff) / sizeof s) return 0;
    memcpy(&names, bytes + head.e_shoff + head.e_shstrndx * sizeof s, sizeof names);
    for (unsigned i = 1; i < head.e_shnum; i++) {
        memcpy(&s, bytes + head.e_shoff + i * sizeof s, sizeof s);
        if (names.sh_offset + s.sh_name >= size) return 0;
        const char *name = (const char *)bytes + names.sh_offset + s.sh_name;
        if (s.sh_type != SHT_NOBITS && (s.sh_offset > size || s.sh_size > size - s.sh_offset)) return 0;
        if (strncmp(name, ".nv.info", 8) == 0 && !read_info(bytes + s.sh_offset, s.sh_size, u)) return 0;
        if (strncmp(name, ".nv.local.", 10) == 0) u->local = most(u->local, (unsigned)s.sh_size);
        if (strncmp(name, ".text.", 6) != 0) continue;
        u->kernels++;
        if ((head.e_flags & 0xff) == 90 || (head.e_flags >> 8 & 0xff) == 90)
            read_code(bytes + s.sh_offset, s.sh_size, u);
        snprintf(u->name, sizeof u->name, "%s", name + 6);
        if (s.sh_info >> 24) u->registers = (int)most((unsigned)u->registers, s.sh_info >> 24);
    }
    return 1;
}

/* --- a network ---------------------------------------------------------------------------------------------------- */

typedef struct matrix {
    int programs, compiled, least, most, fences, failed; /* fences: of all programs */
    size_t bytes;
} matrix;

static void fail(matrix *m, const char *options, const char *why) {
    m->failed++;
    printf("FAIL %s: %s\n", why, options);
}

/* Fences for the whole GPU that a program of sm_90 may have, three instructions each: one for every cluster barrier
   after which blocks read what others have written. */
static int fences_of(const char *options) {
    const char *split = strstr(options, "-DSPLIT=");
    if (!split || atoi(split + 8) < 2) return 0;
    return strstr(options, "REID_SQUEEZE") ? 6 : strstr(options, "REID_CONV_F") ? 3 : 0;
}

static void one_program(const char *options, const void *cubin, size_t bytes, const char *log, void *user) {
    matrix *m = (matrix *)user;
    usage u;
    char text[256];
    m->programs++;
    m->bytes += bytes;
    if (!read_cubin(cubin, bytes, &u) || u.kernels < 1 || u.registers < 8 || strncmp(u.name, "reid_", 5) != 0) {
        fail(m, options, "the cubin could not be read");
        return;
    }
    if (!m->least || u.registers < m->least) m->least = u.registers;
    if (u.registers > m->most) m->most = u.registers;
    snprintf(text, sizeof text, "%s uses %u bytes of stack, a frame of %u and %u of local memory", u.name, u.stack,
             u.frame, u.local);
    if (u.stack || u.frame || u.local) fail(m, options, text);
    snprintf(text, sizeof text, "%s cannot be launched: %d registers for %d threads", u.name, u.registers, u.threads);
    if ((u.registers + 7) / 8 * 8 * u.threads > 65536) fail(m, options, text);
    if (log[0]) fail(m, options, log);
    m->fences += u.fences;
    snprintf(text, sizeof text, "%s has %d instructions of fences for the whole GPU, %d are agreed", u.name, u.fences,
             fences_of(options));
    if (u.fences > fences_of(options)) fail(m, options, text);
    snprintf(text, sizeof text, "%s has products one by one: %d, in %d groups", u.name, u.products, u.groups);
    if (2 * u.groups > u.products) fail(m, options, text);
    if (strstr(options, "REID_CONV_WGMMA") && !u.products) fail(m, options, "wgmma was not seen in it");
}

static void count_compiled(reid_log_level level, reid_result id, const char *message, void *user) {
    matrix *m = (matrix *)user;
    (void)id;
    if (strncmp(message, "compiling ", 10) == 0) m->compiled = atoi(message + 10);
    if (level == REID_LOG_WARNING) fail(m, message, "a warning");
}

static double cpu_seconds(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + 1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static int network(char **argv) {
    matrix m;
    reid_error error = REID_INIT;
    reid_desc desc = REID_INIT;
    memset(&m, 0, sizeof m);
    desc.network = argv[0];
    desc.precision = strncmp(argv[1], "fp16", 4) == 0   ? REID_FP16
                     : strncmp(argv[1], "int8", 4) == 0 ? REID_INT8
                     : strncmp(argv[1], "bf16", 4) == 0 ? REID_BF16
                                                        : REID_FP32;
    desc.latency = strcmp(argv[1] + 4, "-latency") == 0;
    desc.height = atoi(argv[3]), desc.width = atoi(argv[4]);
    desc.cache_dir = argv[5];
    desc.kernels_path = "reid_kernels.cu";
    desc.threads = 2;
    desc.log_fn = count_compiled, desc.log_user = &m;
    desc.error = &error;
    double start = cpu_seconds();
    reid_result r = reid_pack_kernels(&desc, argv[2], NULL, one_program, &m);
    if (r != REID_OK) fail(&m, error.text, reid_result_name(r));
    if (m.programs < 20 && r == REID_OK) fail(&m, argv[0], "too few programs");
    printf("%-20s %s  %-7s %4dx%-4d %5d %5d %8.1f %6d %4d %8zu %6d\n", argv[0], argv[1], argv[2], desc.height,
           desc.width, m.programs, m.compiled, cpu_seconds() - start, m.least, m.most, m.bytes / 1024, m.fences);
    return m.failed != 0;
}

/* --- tests of the reader ------------------------------------------------------------------------------------------ */

static int wrong;

static void expect(int ok, const char *what, const usage *u) {
    if (ok) return;
    wrong = 1;
    printf("FAIL %s: %s has %d registers, %d threads, frame %u, stack %u, local %u\n", what, u->name, u->registers,
           u->threads, u->frame, u->stack, u->local);
}

/* Compiles a text, or NULL for reid_kernels.cu, for a chip. Returns 0 if there is no NVRTC. */
static int compile_with(const char *text, const char *options, int arch, usage *u) {
    reid_error error = REID_INIT;
    reid_desc desc = REID_INIT;
    reid__mem mem;
    reid__jit jit;
    reid__program p;
    desc.kernels_src = text;
    if (!text) desc.kernels_path = "reid_kernels.cu";
    desc.cache_dir = "";
    reid__mem_init(&mem, &desc);
    memset(&p, 0, sizeof p);
    reid__option(&p, "%s", options);
    reid_result r = reid__jit_init(&jit, &mem, &desc, arch, INT_MAX, &error);
    int version = jit.rtc_version;
    if (r == REID_OK) reid__program_add(&jit, &p);
    if (r == REID_OK) r = reid__jit_build(&jit, 1, &error);
    if (r == REID_OK && !read_cubin(jit.programs[0].cubin, jit.programs[0].cubin_size, u)) {
        wrong = 1;
        printf("FAIL no cubin for sm_%d\n", arch);
    }
    if (r == REID_OK) printf("%s, NVRTC %d.%d\n", jit.rtc_path, version / 1000, version % 1000 / 10);
    if (r != REID_OK) printf("%s\n", error.text);
    if (r != REID_OK && version) wrong = 1;
    reid__jit_free(&jit);
    return r == REID_OK || version;
}

static int compile(const char *text, int arch, usage *u) { return compile_with(text, "-DTEST", arch, u); }

static const char calm[] = "extern \"C\" __global__ void __launch_bounds__(96) calm(float *p) {\n"
                           "    p[threadIdx.x] += 1;\n"
                           "}\n";
static const char local[] = "extern \"C\" __global__ void local(float *p, int n, int k) {\n"
                            "    float a[40];\n"
                            "    for (int i = 0; i < 40; i++) a[i] = p[i * n];\n"
                            "    for (int i = 0; i < n; i++) a[(i * k) % 40] += a[i * i % 40];\n"
                            "    p[k] = a[k % 40];\n"
                            "}\n";
/* 128 values that all live across a barrier, in 64 registers. */
static const char spill[] = "extern \"C\" __global__ void __launch_bounds__(1024) spill(float *p, int n) {\n"
                            "    float a[128];\n"
                            "    _Pragma(\"unroll\") for (int i = 0; i < 128; i++) a[i] = p[i * n];\n"
                            "    for (int k = 0; k < n; k++) {\n"
                            "        __syncthreads();\n"
                            "        _Pragma(\"unroll\")\n"
                            "        for (int i = 0; i < 128; i++) a[i] = a[i] * p[k] + a[(i * 7 + 1) % 128];\n"
                            "    }\n"
                            "    _Pragma(\"unroll\") for (int i = 0; i < 128; i++) p[i * n] = a[i];\n"
                            "}\n";

/* Two fences for the GPU, one of them with ERRBAR and CGAERRBAR, and one for the block, which does not count; and
   products whose sums are used before they are waited for, so that ptxas puts a wait behind each. */
static const char slow[] =
    "extern \"C\" __global__ void __launch_bounds__(128) slow(float *p, unsigned long long a) {\n"
    "    float d[4] = {p[0], p[1], p[2], p[3]};\n"
    "    asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
    "    _Pragma(\"unroll\") for (int i = 0; i < 4; i++) {\n"
    "        asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 \"\n"
    "                     \"{%0,%1,%2,%3}, %4, %4, 1, 1, 1, 0, 0;\"\n"
    "                     : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"l\"(a + i));\n"
    "        d[1] += p[5];\n"
    "    }\n"
    "    asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
    "    asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n"
    "    asm volatile(\"fence.proxy.async;\" ::: \"memory\");\n"
    "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "    asm volatile(\"fence.acq_rel.cluster;\" ::: \"memory\");\n"
    "    p[threadIdx.x] = d[0] + d[1] + d[2] + d[3];\n"
    "}\n";

/* Programs that no network has. */
static const char head[] = "-DREID_LINEAR -DK=2048 -DOC=768 -DOUT_STRIDE=768 -DCHANNEL=0 -DACT=3";

static int check(void) {
    static const int archs[] = {75, 80, 90, 120};
    usage u;
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        if (!compile(calm, archs[i], &u)) return 77;
        int regular = u.kernels == 1 && strcmp(u.name, "calm") == 0 && u.registers >= 8 && u.registers <= 32;
        expect(regular && u.threads == 96 && !u.frame && !u.stack && !u.local, "a kernel without local memory", &u);
        compile(local, archs[i], &u);
        expect(u.frame >= 160 || u.stack >= 160 || u.local >= 160, "an array in local memory was not seen", &u);
        compile(spill, archs[i], &u);
        expect(u.registers <= 64 && u.registers >= 48 && (u.frame || u.stack || u.local), "a spill was not seen", &u);
        compile_with(NULL, head, archs[i], &u);
        expect(u.kernels == 1 && !u.frame && !u.stack && !u.local, "a head with tanh", &u);
        if (archs[i] != 90) continue;
        expect(!u.fences && !u.products, "fences and products where there are none", &u);
        compile(slow, 90, &u);
        expect(u.fences == 4 && u.products == 4 && u.groups == 4, "fences and products in a row were not seen", &u);
    }
    return wrong;
}

static int read_file(const char *path) {
    static unsigned char bytes[1 << 22];
    usage u;
    FILE *f = fopen(path, "rb");
    test_need(f != NULL, path);
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    if (!read_cubin(bytes, size, &u)) return 1;
    printf("%d registers, %u bytes stack frame\n", u.registers, u.frame);
    printf("%d fences, %d products, %d groups\n", u.fences, u.products, u.groups);
    return 0;
}

static int print_contract(void) {
    static char text[1 << 15];
    reid__text c = {text, sizeof text, 0};
    reid__contract_text(&c);
    return c.length >= sizeof text || fputs(text, stdout) < 0 || fflush(stdout) != 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "check") == 0) return check();
    if (argc == 2 && strcmp(argv[1], "contract") == 0) return print_contract();
    if (argc == 3 && strcmp(argv[1], "read") == 0) return read_file(argv[2]);
    if (argc == 7) return network(argv + 1);
    return 2;
}
