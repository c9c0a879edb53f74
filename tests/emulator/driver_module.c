/* driver_module.c: modules. A "cubin" is an x86-64 shared library that nvrtc_compile.c made, and "PTX" is the same as
   text (image.c). One copy is loaded per worker, so that each has its own shared memory and thread indices. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"
#include "image.h"

typedef struct emu_instance {
    void *library;
    const struct reid_emulator_module *table;
    uintptr_t base, bytes; /* in memory */
    int file;
    char path[64];
} emu_instance;

struct emu_module {
    emu_object object;
    emu_instance instances[EMU_MAX_WORKERS]; /* the first one always; the others when a worker needs them */
    emu_function *functions;
};

/* ---- loading ---- */

typedef struct find_range {
    uintptr_t inside, base, bytes;
} find_range;

static int match_range(struct dl_phdr_info *info, size_t size, void *data) {
    find_range *f = (find_range *)data;
    uintptr_t low = UINTPTR_MAX, high = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (at < low) low = at;
        if (at + info->dlpi_phdr[i].p_memsz > high) high = at + info->dlpi_phdr[i].p_memsz;
    }
    if (f->inside < low || f->inside >= high) return 0;
    f->base = low, f->bytes = high - low;
    return 1;
}

static void unload(emu_instance *i) {
#if EMU_ASAN
    __asan_unpoison_memory_region((void *)i->base, i->bytes); /* its shared memory: another library may be loaded here
                                                                 */
#endif
    if (i->library) dlclose(i->library);
    if (*i->path) close(i->file);
    memset(i, 0, sizeof *i);
}

/* The library is a file of this process's memory, open while it is loaded, so nothing is left behind however the
   process ends. gdb and addr2line find its lines by a name that is valid in other processes, too. */
static int write_file(emu_instance *i, const void *image, size_t bytes) {
    const char *from = (const char *)image;
    i->file = memfd_create("reid-emulator", MFD_CLOEXEC);
    if (i->file < 0) return 0;
    snprintf(i->path, sizeof i->path, "/proc/%ld/fd/%d", (long)getpid(), i->file);
    while (bytes) {
        ssize_t wrote = write(i->file, from, bytes);
        if (wrote <= 0) return 0;
        from += wrote, bytes -= (size_t)wrote;
    }
    return 1;
}

static CUresult load_instance(emu_instance *i, const void *image, size_t bytes) {
    if (!write_file(i, image, bytes)) return CUDA_ERROR_OPERATING_SYSTEM;
    i->library = dlopen(i->path, RTLD_NOW | RTLD_LOCAL);
    if (!i->library) {
        emu_report("a compiled kernel file does not load: %s", dlerror());
        return CUDA_ERROR_INVALID_IMAGE;
    }
    i->table = (const struct reid_emulator_module *)dlsym(i->library, "reid_emulator_module");
    if (!i->table || i->table->abi != REID_EMULATOR_ABI) return CUDA_ERROR_INVALID_IMAGE;
    find_range range = {(uintptr_t)i->table, 0, 0};
    dl_iterate_phdr(match_range, &range);
    i->base = range.base, i->bytes = range.bytes;
    *i->table->calls = emu_kernel_calls;
    return CUDA_SUCCESS;
}

/* ---- checks for device, driver and mode ---- */

static CUresult fits(const emu_image *image) {
    int arch = emu_get_settings()->arch, driver = emu_get_settings()->driver_version;
    if (strcmp(image->mode, emu_mode()) != 0) {
        fprintf(stderr, "reid emulator: a kernel compiled in mode \"%s\" cannot run in mode \"%s\"; compile it again "
                "(a cache of cubins needs a folder per mode)\n", image->mode, emu_mode());
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (image->is_ptx) {
        if (image->version > driver) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
        if (image->suffix ? image->arch != arch : image->arch > arch) return CUDA_ERROR_NO_BINARY_FOR_GPU;
        return CUDA_SUCCESS;
    }
    if (image->version / 1000 > driver / 1000) return CUDA_ERROR_INVALID_IMAGE;
    int same_major = image->arch / 10 == arch / 10;
    if (image->suffix == 'a' ? image->arch != arch : !same_major || image->arch > arch)
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    return CUDA_SUCCESS;
}

static CUresult load(CUmodule *handle, const void *data) {
    emu_image image;
    if (!handle || !data) return CUDA_ERROR_INVALID_VALUE;
    *handle = NULL;
    CUresult r = (CUresult)emu_image_open(&image, data);
    if (!r) r = fits(&image);
    emu_module *m = r ? NULL : (emu_module *)emu_object_new(EMU_MODULE, sizeof *m);
    if (!r && !m) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) r = load_instance(&m->instances[0], image.bytes, image.size);
    if (!r) {
        const struct reid_emulator_module *table = m->instances[0].table;
        m->functions = (emu_function *)calloc(table->kernel_count + 1, sizeof *m->functions);
        if (!m->functions) r = CUDA_ERROR_OUT_OF_MEMORY;
        for (unsigned i = 0; !r && i < table->kernel_count; i++) {
            emu_function f = {m, i, emu_shared_limit(0), -1, 0};
            m->functions[i] = f;
        }
    }
    emu_image_close(&image);
    if (!r) *handle = (CUmodule)(void *)m;
    else if (m) emu_module_free(m);
    return r;
}

EMU_API CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE, load(module, image));
}

EMU_API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                                    void **values) {
    (void)options, (void)values;
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE, count ? CUDA_ERROR_NOT_SUPPORTED : load(module, image));
}

void emu_module_free(emu_module *m) {
    for (int i = 0; i < EMU_MAX_WORKERS; i++) unload(&m->instances[i]);
    free(m->functions);
    emu_object_free(m);
}

static CUresult unload_module(CUmodule handle) {
    if (!emu_object_is(handle, EMU_MODULE)) return CUDA_ERROR_INVALID_HANDLE;
    emu_drain_context(emu_current());
    emu_module_free((emu_module *)(void *)handle);
    return CUDA_SUCCESS;
}

EMU_API CUresult cuModuleUnload(CUmodule module) {
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE | EMU_FREES, unload_module(module));
}

/* ---- functions ---- */

static CUresult get_function(CUfunction *function, CUmodule handle, const char *name) {
    emu_module *m = (emu_module *)(void *)handle;
    if (!emu_object_is(m, EMU_MODULE)) return CUDA_ERROR_INVALID_HANDLE;
    if (!function || !name) return CUDA_ERROR_INVALID_VALUE;
    const struct reid_emulator_module *table = m->instances[0].table;
    for (unsigned i = 0; i < table->kernel_count; i++) {
        if (strcmp(table->kernels[i].name, name) != 0) continue;
        *function = (CUfunction)(void *)&m->functions[i];
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

EMU_API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    EMU_CALL(EMU_CONTEXT, get_function(function, module, name));
}

emu_function *emu_function_get(CUfunction handle) {
    for (emu_object *o = emu_object_first(emu_current(), EMU_MODULE); o; o = o->next) {
        emu_module *m = (emu_module *)(void *)o;
        if (o->kind != EMU_MODULE || o->context != emu_current()) continue;
        for (unsigned i = 0; i < m->instances[0].table->kernel_count; i++)
            if ((void *)&m->functions[i] == (void *)handle) return &m->functions[i];
    }
    return NULL;
}

const struct reid_emulator_kernel *emu_kernel_of(const emu_function *f) {
    return &f->module->instances[0].table->kernels[f->number];
}

/* Another copy of the first instance. */
static CUresult load_another(emu_module *m, int number) {
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    FILE *f = fopen(m->instances[0].path, "rb");
    long bytes = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
    void *image = bytes > 0 ? malloc((size_t)bytes) : NULL;
    if (image && !fseek(f, 0, SEEK_SET) && fread(image, (size_t)bytes, 1, f) == 1)
        r = load_instance(&m->instances[number], image, (size_t)bytes);
    free(image);
    if (f) fclose(f);
    return r;
}

CUresult emu_module_instance(emu_module *m, emu_worker *worker, int number) {
    CUresult r = m->instances[number].table ? CUDA_SUCCESS : load_another(m, number);
    worker->instance = m->instances[number].table;
    worker->module_base = m->instances[number].base;
    worker->module_bytes = m->instances[number].bytes;
    return r;
}

const char *emu_kernel_name(const emu_function *f) { return emu_kernel_of(f)->name; }
