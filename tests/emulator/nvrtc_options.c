/* nvrtc_options.c: NVRTC's options. Those that mean nothing on a CPU are accepted and kept; unknown ones are refused
   with the real compiler's message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvrtc.h"

int rtc_version(void) {
    const char *text = getenv("REID_EMULATOR_NVRTC_VERSION"); /* "12.8" */
    int major = 13, minor = 0;
    if (text && sscanf(text, "%d.%d", &major, &minor) != 2) major = 13, minor = 0;
    return major * 1000 + minor * 10;
}

const int *rtc_archs(int *count) {
    static const int usual[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
    static __thread int given[64];
    const char *text = getenv("REID_EMULATOR_NVRTC_ARCHS"); /* "75,80,86" */
    *count = 0;
    if (!text || !*text) {
        *count = (int)(sizeof usual / sizeof *usual);
        return usual;
    }
    while (*text && *count < 64) {
        char *end;
        given[(*count)++] = (int)strtol(text, &end, 10);
        text = *end == ',' ? end + 1 : "";
    }
    return given;
}

static int set_arch(rtc_options *o, const char *value) {
    int count, known = 0, length = 0;
    const int *archs = rtc_archs(&count);
    o->is_virtual = strncmp(value, "compute_", 8) == 0;
    if (!o->is_virtual && strncmp(value, "sm_", 3) != 0) return 0;
    value += o->is_virtual ? 8 : 3;
    if (sscanf(value, "%d%n", &o->arch, &length) != 1) return 0;
    o->suffix = value[length];
    if (o->suffix && (o->arch < 90 || !strchr("af", o->suffix) || value[length + 1])) return 0;
    for (int i = 0; i < count; i++) known |= archs[i] == o->arch;
    return known;
}

/* -DNAME, -DNAME=VALUE */
static void define(rtc_options *o, const char *macro) {
    const char *equals = strchr(macro, '=');
    if (equals) rtc_print(&o->defines, "#define %.*s %s\n", (int)(equals - macro), macro, equals + 1);
    else rtc_print(&o->defines, "#define %s 1\n", macro);
}

/* The value of an option that may stand alone ("-D X") or be joined to it ("-DX", "--define-macro=X"), or NULL. */
static const char *value_of(const char *const *given, int count, int *i, const char *short_name,
                            const char *long_name) {
    const char *option = given[*i];
    size_t s = strlen(short_name), l = strlen(long_name);
    if (strncmp(option, long_name, l) == 0 && option[l] == '=') return option + l + 1;
    if (strncmp(option, short_name, s) == 0 && option[s] && s == 2) return option + s;
    if (strncmp(option, short_name, s) == 0 && option[s] == '=') return option + s + 1;
    if (strcmp(option, long_name) != 0 && strcmp(option, short_name) != 0) return NULL;
    return *i + 1 < count ? given[++*i] : "";
}

static int is_ignored(const char *option) {
    static const char *const exact[] = {"--minimal", "-lineinfo", "--generate-line-info", "-default-device",
                                        "--device-as-default-execution-space", "--restrict", "-restrict",
                                        "--extra-device-vectorization", "-extra-device-vectorization", "--no-cache",
                                        "--disable-warnings", "-w", "--std=c++17", "-std=c++17", "--std=c++14",
                                        "-std=c++14", "--std=c++11", "-std=c++11", "--std=c++20", "-std=c++20",
                                        "--fmad=true", "-fmad=true", "--use_fast_math=false"};
    static const char *const begins[] = {"--split-compile=", "-split-compile=", "--maxrregcount=", "-maxrregcount=",
                                         "--ptxas-options=", "--diag-suppress=", "-diag-suppress=", "--time=",
                                         "--ofast-compile=", "-ofast-compile="};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (strcmp(option, exact[i]) == 0) return 1;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(option, begins[i], strlen(begins[i])) == 0) return 1;
    return 0;
}

nvrtcResult rtc_parse_options(rtc_options *o, int count, const char *const *given, rtc_text *log) {
    memset(o, 0, sizeof *o);
    o->arch = rtc_archs(&(int){0})[0];
    o->is_virtual = 1;
    for (int i = 0; i < count; i++) {
        const char *option = given[i] ? given[i] : "", *value;
        rtc_print(&o->all, "%s ", option);
        if ((value = value_of(given, count, &i, "-arch", "--gpu-architecture")) != NULL) {
            if (set_arch(o, value)) continue;
            rtc_print(log, "nvrtc: error: invalid value for --gpu-architecture (-arch)\n");
            return NVRTC_ERROR_INVALID_OPTION;
        }
        if ((value = value_of(given, count, &i, "-D", "--define-macro")) != NULL) define(o, value);
        else if ((value = value_of(given, count, &i, "-U", "--undefine-macro")) != NULL)
            rtc_print(&o->defines, "#undef %s\n", value);
        else if ((value = value_of(given, count, &i, "-I", "--include-path")) != NULL)
            rtc_add(&o->folders, value, strlen(value) + 1);
        else if ((value = value_of(given, count, &i, "-include", "--pre-include")) != NULL)
            rtc_print(&o->includes, "#include \"%s\"\n", value);
        else if (strcmp(option, "-G") == 0 || strcmp(option, "--device-debug") == 0) o->debug = 1;
        else if (strcmp(option, "--fmad=false") == 0 || strcmp(option, "-fmad=false") == 0) o->no_fma = 1;
        else if (!is_ignored(option)) {
            rtc_print(log, "nvrtc: error: unrecognized option %s found\n", option);
            return NVRTC_ERROR_INVALID_OPTION;
        }
    }
    return NVRTC_SUCCESS;
}

void rtc_options_free(rtc_options *o) {
    rtc_free(&o->defines), rtc_free(&o->includes), rtc_free(&o->folders), rtc_free(&o->all);
}
