/* nvrtc.h: declarations shared by the parts of libnvrtc.so.13: nvrtc.c the API, nvrtc_options.c the command line,
   nvrtc_compile.c the compiler's runs, nvrtc_scan.c the kernels in the preprocessed text. */
#ifndef REID_EMULATOR_NVRTC_H
#define REID_EMULATOR_NVRTC_H

#include "cuda_api.h"

typedef struct rtc_text { /* grows; always ends with a NUL */
    char *data;
    size_t size, capacity;
    int failed; /* out of memory */
} rtc_text;
void rtc_add(rtc_text *text, const char *data, size_t size);
void rtc_print(rtc_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rtc_free(rtc_text *text);

typedef struct rtc_options {
    int arch;       /* 90 */
    char suffix;    /* 'a', 'f', or 0 */
    int is_virtual; /* compute_90: PTX only */
    int debug, no_fma, no_warnings;
    rtc_text defines;  /* as #define lines, between the prelude and the text */
    rtc_text includes; /* --pre-include: as #include lines after them */
    rtc_text folders; /* -I folders, each followed by a NUL */
    rtc_text all;     /* every option as it was given, for the module's description */
} rtc_options;

typedef struct rtc_program {
    char *name;
    rtc_text text, log, cubin, ptx;
    int header_count;
    char **headers, **header_names;
    struct rtc_program *next;
} rtc_program;

int rtc_version(void); /* 13000 */
const int *rtc_archs(int *count);
nvrtcResult rtc_parse_options(rtc_options *options, int count, const char *const *given, rtc_text *log);
void rtc_options_free(rtc_options *options);
nvrtcResult rtc_compile(rtc_program *program, const rtc_options *options);

/* Removes __global__, __launch_bounds__ and __shared__ from preprocessed text, and makes the table of kernels that
   follows it. Returns 0, with the reason in the log, if the text breaks the contract. */
int rtc_scan(char *text, const char *meta, rtc_text *table, rtc_text *log);

#endif
