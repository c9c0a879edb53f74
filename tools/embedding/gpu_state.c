#include "embedding/gpu_state.h"

#include "base/memory.h"
#include "base/say.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of nvml.h that is used here. Functions return 0 on success; a device is a pointer. */
typedef struct nvml_utilization {
    unsigned gpu, memory; /* percent */
} nvml_utilization;

typedef struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
} nvml_memory;

enum { NVML_TEMPERATURE_GPU = 0 };

/* X(field, symbol, parameters) */
#define NVML(X)                                                                                                        \
    X(init, "nvmlInit_v2", (void))                                                                                     \
    X(shutdown, "nvmlShutdown", (void))                                                                                \
    X(find, "nvmlDeviceGetHandleByUUID", (const char *uuid, void **device))                                            \
    X(utilization, "nvmlDeviceGetUtilizationRates", (void *device, nvml_utilization *to))                              \
    X(memory, "nvmlDeviceGetMemoryInfo", (void *device, nvml_memory *to))                                              \
    X(temperature, "nvmlDeviceGetTemperature", (void *device, int sensor, unsigned *celsius))                          \
    X(power, "nvmlDeviceGetPowerUsage", (void *device, unsigned *milliwatts))

struct gpu_watch {
    void *library, *device;
    int ready; /* init has succeeded */
    const char *(*error_string)(int result);
#define FIELD(field, symbol, parameters) int(*field) parameters;
    NVML(FIELD)
#undef FIELD
};

static int fail(const gpu_watch *w, const char *what, int code, text *why) {
    const char *reason = w->error_string(code);
    text_clear(why);
    text_printf(why, "NVML: %s: %s", what, reason ? reason : "unknown error");
    return 0;
}

/* Copies the bytes of a function pointer, because C cannot convert an object pointer to one. */
static int find_symbol(gpu_watch *w, const char *name, void *to, text *why) {
    void *found = dlsym(w->library, name);
    if (found) memcpy(to, &found, sizeof found);
    else text_printf(why, "NVML: libnvidia-ml.so.1 has no %s", name);
    return found != NULL;
}

static int load(gpu_watch *w, text *why) {
    text_clear(why);
    w->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!w->library) {
        text_printf(why, "NVML: %s", dlerror());
        return 0;
    }
    if (!find_symbol(w, "nvmlErrorString", &w->error_string, why)) return 0;
#define FIND(field, symbol, parameters) if (!find_symbol(w, symbol, &w->field, why)) return 0;
    NVML(FIND)
#undef FIND
    return 1;
}

gpu_watch *gpu_watch_open(const char *device, reid_gpu_info *gpu, text *why) {
    reid_desc desc = REID_INIT;
    memset(gpu, 0, sizeof *gpu);
    text_clear(why);
    if (sscanf(device, "cuda:%d", &desc.device_index) != 1) return NULL;
    reid_query_gpu(&desc, gpu); /* without kernels or NVRTC it fails, but it still sets the GPU's names */
    gpu_watch *w = mem_zeroed(1, sizeof *w);
    if (!w) {
        text_no_memory(why);
        return NULL;
    }
    int good = load(w, why), code = good ? w->init() : 0;
    w->ready = good && code == 0;
    if (good && code != 0) good = fail(w, "nvmlInit", code, why);
    if (good && (code = w->find(gpu->uuid, &w->device)) != 0) good = fail(w, gpu->uuid, code, why);
    if (good) return w;
    gpu_watch_close(w);
    return NULL;
}

int gpu_watch_read(gpu_watch *w, gpu_state *state, text *why) {
    nvml_utilization utilization = {0, 0};
    nvml_memory memory = {0, 0, 0};
    unsigned celsius = 0, milliwatts = 0;
    memset(state, 0, sizeof *state);
    int code = w->utilization(w->device, &utilization);
    if (code != 0) return fail(w, "utilization", code, why);
    code = w->memory(w->device, &memory);
    if (code != 0) return fail(w, "memory", code, why);
    state->busy = (int)utilization.gpu;
    state->used = memory.used, state->total = memory.total;
    state->celsius = w->temperature(w->device, NVML_TEMPERATURE_GPU, &celsius) == 0 ? (int)celsius : -1;
    state->watts = w->power(w->device, &milliwatts) == 0 ? milliwatts / 1e3 : -1;
    return 1;
}

void gpu_watch_close(gpu_watch *w) {
    if (!w) return;
    if (w->ready) w->shutdown();
    if (w->library) dlclose(w->library);
    free(w);
}

void gpu_state_text(text *out, const gpu_state *state) {
    const double gib = 1073741824.0;
    text_printf(out, "busy %d %%, %.1f of %.1f GiB in use", state->busy, (double)state->used / gib,
                (double)state->total / gib);
    if (state->celsius >= 0) text_printf(out, ", %d C", state->celsius);
    if (state->watts >= 0) text_printf(out, ", %.0f W", state->watts);
}

void gpu_state_say(const char *device) {
    reid_gpu_info gpu;
    gpu_state state;
    text why = TEXT_INIT, said = TEXT_INIT;
    if (!say_is_verbose()) return;
    gpu_watch *w = gpu_watch_open(device, &gpu, &why);
    if (!w && !why.len) return;
    if (w && gpu_watch_read(w, &state, &why)) gpu_state_text(&said, &state);
    else text_printf(&said, "%.1f of %.1f GiB free; its load is unknown: %s",
                     (double)gpu.memory_free / 1073741824.0, (double)gpu.memory / 1073741824.0, why.s ? why.s : "");
    say_info("%s: %s: %s", device, gpu.name, said.s);
    gpu_watch_close(w);
    text_free(&why);
    text_free(&said);
}
