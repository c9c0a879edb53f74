/* Fuzzer for the files of reid calibrate: an accepted file gives a probability for every score and can be written into
   another file; a refused one comes with a reason.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_calibration.c
         -o build/fuzz_calibration -lm
   build/fuzz_calibration -dict=tests/fuzz/calibration.dict CORPUS_DIRECTORY */
#include "base/memory.c"
#include "base/decimal.c"
#include "base/json_write.c"
#include "base/text.c"
#include "scores/calibration.c"
#include "scores/calibration_file.c"
#include "base/random.c"
#include "scores/metrics.c"
#define fail json_fail_at /* functions of two of these files have the same name */
#include "base/json.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

/* Stubs for functions that the files above call and that do not matter here. */
void say_error(const char *format, ...) { (void)format; }
void say_warning(const char *format, ...) { (void)format; }
int interrupted(void) { return 0; }
const char *shown(const char *name) { return name; }
const char *reid_version_string(void) { return "fuzz"; }
int choice_index(const char *choices, const char *value) {
    (void)choices;
    return strcmp(value, "logistic") == 0 ? 0 : strcmp(value, "isotonic") == 0 ? 1 : -1;
}
int file_read(const char *path, size_t limit, int regular_only, text *out, text *why) {
    (void)path, (void)limit, (void)regular_only, (void)out, (void)why;
    return 0;
}

static int parse(calibration *c, const char *bytes, size_t size, char *error, size_t room) {
    json j;
    memset(c, 0, sizeof *c);
    json_begin(&j, bytes, size);
    calibration_read_json(c, &j);
    json_end(&j);
    snprintf(error, room, "%s", j.error);
    return !j.error[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    calibration c;
    char error[400];
    char *copy = malloc(size + 1); /* 0-terminated, as file_read leaves it */
    MUST(copy);
    if (size) memcpy(copy, data, size);
    copy[size] = 0;
    if (parse(&c, copy, size, error, sizeof error)) {
        MUST(c.makers.models >= 1 && c.makers.models <= MAX_MODELS && (c.method == 0 || c.method == 1));
        for (int i = -10; i <= 10; i++) {
            double p = calibration_probability(&c, i / 10.0);
            MUST(p >= 0 && p <= 1);
        }
        text written = TEXT_INIT;
        calibration_json(&c, &written);
        MUST(written.len);
        text_free(&written);
    } else {
        MUST(error[0]);
    }
    calibration_free(&c);
    free(copy);
    return 0;
}
