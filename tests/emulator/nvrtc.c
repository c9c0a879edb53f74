/* nvrtc.c: the API of libnvrtc.so.13. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "image.h"
#include "nvrtc.h"

static pthread_mutex_t rtc_lock = PTHREAD_MUTEX_INITIALIZER;
static rtc_program *rtc_programs;
static emu_failing rtc_fail;
static int rtc_fail_read;

/* ---- text ---- */

void rtc_add(rtc_text *t, const char *data, size_t size) {
    if (t->size + size + 1 > t->capacity) {
        size_t capacity = 2 * (t->size + size) + 64;
        char *grown = (char *)realloc(t->data, capacity);
        if (!grown) {
            t->failed = 1;
            return;
        }
        t->data = grown, t->capacity = capacity;
    }
    memcpy(t->data + t->size, data, size);
    t->size += size;
    t->data[t->size] = 0;
}

void rtc_print(rtc_text *t, const char *format, ...) {
    char *line = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&line, format, args);
    va_end(args);
    if (n < 0) t->failed = 1;
    else rtc_add(t, line, (size_t)n);
    if (n >= 0) free(line);
}

void rtc_free(rtc_text *t) {
    free(t->data);
    memset(t, 0, sizeof *t);
}

/* ---- programs ---- */

/* The error that this call is to fail with (REID_EMULATOR_FAIL=nvrtcCompileProgram:1), or NVRTC_SUCCESS. */
static nvrtcResult planned_failure(const char *call) {
    int code = NVRTC_ERROR_INTERNAL_ERROR;
    pthread_mutex_lock(&rtc_lock);
    if (!rtc_fail_read) emu_failing_set(&rtc_fail, getenv("REID_EMULATOR_FAIL"));
    rtc_fail_read = 1;
    int now = emu_failing_now(&rtc_fail, call, 0, &code);
    pthread_mutex_unlock(&rtc_lock);
    return now ? (nvrtcResult)code : NVRTC_SUCCESS;
}

EMU_API void reid_emulator_nvrtc_fail(const char *specification);
void reid_emulator_nvrtc_fail(const char *specification) {
    pthread_mutex_lock(&rtc_lock);
    emu_failing_set(&rtc_fail, specification);
    rtc_fail_read = 1;
    pthread_mutex_unlock(&rtc_lock);
}

static rtc_program *get(nvrtcProgram handle) {
    pthread_mutex_lock(&rtc_lock);
    rtc_program *p = rtc_programs;
    while (p && (void *)p != (void *)handle) p = p->next;
    pthread_mutex_unlock(&rtc_lock);
    return p;
}

static void free_program(rtc_program *p) {
    for (int i = 0; i < p->header_count; i++) free(p->headers[i]), free(p->header_names[i]);
    free(p->headers), free(p->header_names), free(p->name);
    rtc_free(&p->text), rtc_free(&p->log), rtc_free(&p->cubin), rtc_free(&p->ptx);
    free(p);
}

EMU_API nvrtcResult nvrtcVersion(int *major, int *minor) {
    if (!major || !minor) return NVRTC_ERROR_INVALID_INPUT;
    *major = rtc_version() / 1000, *minor = rtc_version() % 1000 / 10;
    return planned_failure(__func__);
}

EMU_API nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
    if (!count) return NVRTC_ERROR_INVALID_INPUT;
    rtc_archs(count);
    return planned_failure(__func__);
}

EMU_API nvrtcResult nvrtcGetSupportedArchs(int *archs) {
    int count;
    const int *from = rtc_archs(&count);
    if (!archs) return NVRTC_ERROR_INVALID_INPUT;
    memcpy(archs, from, (size_t)count * sizeof *archs);
    return planned_failure(__func__);
}

EMU_API nvrtcResult nvrtcCreateProgram(nvrtcProgram *handle, const char *text, const char *name, int header_count,
                                       const char *const *headers, const char *const *header_names) {
    nvrtcResult r = planned_failure(__func__);
    if (r) return r;
    if (!handle || !text || header_count < 0 || (header_count && (!headers || !header_names)))
        return NVRTC_ERROR_INVALID_INPUT;
    rtc_program *p = (rtc_program *)calloc(1, sizeof *p);
    if (!p) return NVRTC_ERROR_OUT_OF_MEMORY;
    p->name = strdup(name && *name ? name : "default_program");
    rtc_add(&p->text, text, strlen(text));
    p->headers = (char **)calloc((size_t)header_count + 1, sizeof *p->headers);
    p->header_names = (char **)calloc((size_t)header_count + 1, sizeof *p->header_names);
    int failed = !p->name || p->text.failed || !p->headers || !p->header_names;
    for (int i = 0; i < header_count && !failed; i++) {
        p->headers[i] = strdup(headers[i]), p->header_names[i] = strdup(header_names[i]);
        p->header_count++;
        failed = !p->headers[i] || !p->header_names[i];
    }
    if (failed) {
        free_program(p);
        return NVRTC_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&rtc_lock);
    p->next = rtc_programs;
    rtc_programs = p;
    pthread_mutex_unlock(&rtc_lock);
    *handle = (nvrtcProgram)(void *)p;
    return NVRTC_SUCCESS;
}

EMU_API nvrtcResult nvrtcDestroyProgram(nvrtcProgram *handle) {
    rtc_program *p = handle ? get(*handle) : NULL;
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    pthread_mutex_lock(&rtc_lock);
    rtc_program **link = &rtc_programs;
    while (*link != p) link = &(*link)->next;
    *link = p->next;
    pthread_mutex_unlock(&rtc_lock);
    free_program(p);
    *handle = NULL;
    return NVRTC_SUCCESS;
}

EMU_API nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char *const *options) {
    rtc_program *p = get(handle);
    rtc_options o;
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    if (count < 0 || (count && !options)) return NVRTC_ERROR_INVALID_INPUT;
    rtc_free(&p->log), rtc_free(&p->cubin), rtc_free(&p->ptx);
    nvrtcResult r = planned_failure(__func__);
    if (r == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE)
        rtc_print(&p->log, "nvrtc: error: failed to open libnvrtc-builtins.so.%d.%d.\n", rtc_version() / 1000,
                  rtc_version() % 1000 / 10);
    if (r) return r;
    r = rtc_parse_options(&o, count, options, &p->log);
    if (!r) r = rtc_compile(p, &o);
    rtc_options_free(&o);
    return r;
}

/* ---- results. Sizes count the NUL of a text; there is none in a cubin. ---- */

static nvrtcResult give(nvrtcProgram handle, const char *call, size_t *size, char *to, size_t offset, int is_text) {
    rtc_program *p = get(handle);
    if (!p) return NVRTC_ERROR_INVALID_PROGRAM;
    if (!size && !to) return NVRTC_ERROR_INVALID_INPUT;
    const rtc_text *t = (const rtc_text *)(const void *)((const char *)p + offset);
    size_t bytes = t->size + (is_text ? 1 : 0);
    if (size) *size = bytes;
    if (to && bytes) memcpy(to, t->data ? t->data : "", bytes);
    return planned_failure(call);
}

EMU_API nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size) {
    return give(program, __func__, size, NULL, offsetof(rtc_program, cubin), 0);
}
EMU_API nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin) {
    return give(program, __func__, NULL, cubin, offsetof(rtc_program, cubin), 0);
}
EMU_API nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size) {
    return give(program, __func__, size, NULL, offsetof(rtc_program, ptx), 1);
}
EMU_API nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx) {
    return give(program, __func__, NULL, ptx, offsetof(rtc_program, ptx), 1);
}
EMU_API nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size) {
    return give(program, __func__, size, NULL, offsetof(rtc_program, log), 1);
}
EMU_API nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) {
    return give(program, __func__, NULL, log, offsetof(rtc_program, log), 1);
}

EMU_API const char *nvrtcGetErrorString(nvrtcResult result) {
    switch ((int)result) {
    case NVRTC_SUCCESS: return "NVRTC_SUCCESS";
    case NVRTC_ERROR_OUT_OF_MEMORY: return "NVRTC_ERROR_OUT_OF_MEMORY";
    case NVRTC_ERROR_PROGRAM_CREATION_FAILURE: return "NVRTC_ERROR_PROGRAM_CREATION_FAILURE";
    case NVRTC_ERROR_INVALID_INPUT: return "NVRTC_ERROR_INVALID_INPUT";
    case NVRTC_ERROR_INVALID_PROGRAM: return "NVRTC_ERROR_INVALID_PROGRAM";
    case NVRTC_ERROR_INVALID_OPTION: return "NVRTC_ERROR_INVALID_OPTION";
    case NVRTC_ERROR_COMPILATION: return "NVRTC_ERROR_COMPILATION";
    case NVRTC_ERROR_BUILTIN_OPERATION_FAILURE: return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
    case NVRTC_ERROR_INTERNAL_ERROR: return "NVRTC_ERROR_INTERNAL_ERROR";
    default: return "NVRTC_ERROR unknown";
    }
}
