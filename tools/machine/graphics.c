#include "machine/graphics.h"

#include "base/say.h"
#include "embedding/gpu_state.h"
#include "embedding/models.h"
#include "machine/system.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const double GIB = 1073741824.0;

/* --- GPU ---------------------------------------------------------------------------------------------------------- */

static void look_for_nvml(findings *f, int index) {
    char device[32];
    reid_gpu_info gpu;
    gpu_state state;
    text why = TEXT_INIT, said = TEXT_INIT;
    snprintf(device, sizeof device, "cuda:%d", index);
    gpu_watch *w = gpu_watch_open(device, &gpu, &why);
    if (w && gpu_watch_read(w, &state, &why)) {
        gpu_state_text(&said, &state);
        findings_add(f, FOUND_GOOD, "nvml", NULL, "%s", said.s ? said.s : "");
    } else {
        findings_add(f, FOUND_NOTE, "nvml", "libnvidia-ml.so.1, which comes with NVIDIA's driver",
                     "%s; the GPU's load is unknown", why.s ? why.s : "not usable");
    }
    gpu_watch_close(w);
    text_free(&why), text_free(&said);
}

/* Reports NVRTC, which compiles the kernels for the GPU. */
static void tell_nvrtc(findings *f, const reid_gpu_info *gpu, const char *why) {
    if (gpu->nvrtc_version)
        findings_add(f, FOUND_GOOD, "nvrtc", NULL, "version %d.%d, %s; kernels: %s", gpu->nvrtc_version / 1000,
                     gpu->nvrtc_version % 1000 / 10, gpu->nvrtc_path, gpu->kernels);
    else
        findings_add(f, FOUND_WARNING, "nvrtc",
                     "NVRTC of CUDA 11.2 or newer, not of a later major version than the driver's (pip install "
                     "nvidia-cuda-nvrtc-cu12, or REID_NVRTC); without it, --pack FILE from reid pack", "%s", why);
}

void graphics_look(findings *f, const reid_desc *desc) {
    reid_gpu_info gpu;
    reid_error error = {REID_OK, ""};
    reid_desc own = *desc;
    int asked = desc->device == REID_DEVICE_CUDA;
    if (desc->device == REID_DEVICE_CPU) return;
    own.error = &error;
    reid_result r = reid_query_gpu(&own, &gpu);
    const char *why = reason_of(&error, r);
    if (!gpu.name[0] || gpu.memory_free == 0) {
        findings_add(f, asked ? FOUND_ERROR : FOUND_NOTE, "gpu",
                     "an NVIDIA GPU from Turing on, with a driver for CUDA 11.4 or newer", "none can be used: %s", why);
        return;
    }
    /* A chip that shares the host's memory counts the file cache as used, though the system frees it on demand. */
    size_t left = gpu.integrated ? system_memory_free() : gpu.memory_free;
    int little = (double)left < GIB;
    findings_add(f, little ? FOUND_WARNING : FOUND_GOOD, "gpu",
                 little ? "ending other programs on it, or another GPU with --device cuda:N" : NULL,
                 "%s (%s), %d multiprocessors, %.1f of %.1f GiB free%s, driver for CUDA %d.%d", gpu.name, gpu.arch,
                 gpu.multiprocessors, (double)left / GIB, (double)gpu.memory / GIB,
                 gpu.integrated ? ", the host's own memory" : "", gpu.driver_version / 1000,
                 gpu.driver_version % 1000 / 10);
    tell_nvrtc(f, &gpu, why);
    if (r != REID_OK && gpu.nvrtc_version) findings_add(f, asked ? FOUND_ERROR : FOUND_WARNING, "kernels", NULL, "%s",
                                                        why);
    look_for_nvml(f, desc->device_index);
}

/* --- the folder of compiled kernels ------------------------------------------------------------------------------- */

/* Why the library will not use an existing folder, and what to do about it; NULL: it will. The rules are the library's:
   machine code is run from the folder, so only its owner may write to it. */
static const char *distrust(const char *path, const struct stat *st, text *remedy) {
    struct stat parent;
    text up = TEXT_INIT;
    if (!S_ISDIR(st->st_mode)) return text_puts(remedy, "another REID_CACHE_DIR"), "it is not a folder";
    if (st->st_uid != geteuid())
        return text_printf(remedy, "a folder of your own: REID_CACHE_DIR, or chown %s", path),
               "it belongs to another user";
    if (st->st_mode & 022) return text_printf(remedy, "chmod go-w %s", path), "others may write to it";
    if (access(path, R_OK | W_OK | X_OK) != 0)
        return text_printf(remedy, "chmod u+rwx %s", path), "you may not read it or write to it";
    text_printf(&up, "%s/..", path);
    int seen = !text_failed(&up) && stat(up.s, &parent) == 0;
    text_free(&up);
    if (!seen) return text_puts(remedy, "another REID_CACHE_DIR"), "its parent folder cannot be read";
    if (parent.st_uid != geteuid() && parent.st_uid != 0)
        return text_puts(remedy, "a folder of your own: REID_CACHE_DIR"), "its parent folder belongs to another user";
    if ((parent.st_mode & 022) && !(parent.st_mode & S_ISVTX))
        return text_printf(remedy, "chmod go-w %s/..", path), "others may write to its parent folder";
    return NULL;
}

/* Reports a missing folder, which is created when needed if the nearest existing parent is writable. */
static void tell_absent(findings *f, const char *path) {
    text up = TEXT_INIT;
    struct stat st;
    text_puts(&up, path);
    for (char *slash; !text_failed(&up) && stat(up.s, &st) != 0 && (slash = strrchr(up.s, '/')) != NULL;)
        if (slash == up.s) slash[1] = 0;
        else *slash = 0;
    int good = !text_failed(&up) && stat(up.s, &st) == 0 && S_ISDIR(st.st_mode) && access(up.s, W_OK | X_OK) == 0;
    if (good) findings_add(f, FOUND_GOOD, "cache", NULL, "%s: does not exist yet; it is made when a GPU is used",
                           shown(path));
    else findings_add(f, FOUND_WARNING, "cache", "a folder that can be made: REID_CACHE_DIR",
                      "%s: does not exist and cannot be made; kernels are compiled at each start", shown(path));
    text_free(&up);
}

void graphics_cache(findings *f, const reid_desc *desc) {
    reid_gpu_info gpu;
    reid_desc own = *desc;
    reid_error error;
    struct stat st;
    text remedy = TEXT_INIT;
    own.error = &error;
    reid_query_gpu(&own, &gpu); /* gives the folder even without a GPU */
    const char *path = gpu.cache_dir;
    if (!*path) {
        findings_add(f, FOUND_NOTE, "cache", "HOME, XDG_CACHE_HOME or REID_CACHE_DIR",
                     "no folder is named; on a GPU, kernels are compiled at each start");
    } else if (stat(path, &st) != 0) {
        tell_absent(f, path);
    } else {
        const char *why = distrust(path, &st, &remedy);
        if (why)
            findings_add(f, FOUND_WARNING, "cache", remedy.s,
                         "%s (mode %03o): %s; on a GPU, kernels are compiled at each start", shown(path),
                         (unsigned)st.st_mode & 0777, why);
        else findings_add(f, FOUND_GOOD, "cache", NULL, "%s (mode %03o)", shown(path), (unsigned)st.st_mode & 0777);
    }
    text_free(&remedy);
}
