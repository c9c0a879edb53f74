/* Fuzzer for journals of decisions: an accepted decision is written as a line that reads back as the same decision, and
   a refused one comes with a reason. A ~ at the end of an input line is replaced by the line's checksum; otherwise
   hardly any line would get past that check.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -Itools -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_decisions.c
         -o build/fuzz_decisions
   build/fuzz_decisions -dict=tests/fuzz/decisions.dict CORPUS_DIRECTORY */
#include "journal/decisions_line.c"
#include "journal/decisions_list.c"
#define by_bytes by_bytes_of_state /* functions of two of these files have the same name */
#include "base/union_find.c"
#include "journal/decisions_state.c"
#undef by_bytes
#include "base/crc32.c"
#include "base/memory.c"
#include "base/source.c"
#include "base/decimal.c"
#include "base/json_write.c"
#include "base/text.c"
#include "base/random.c"
#include "base/unicode.c"
#define fail json_fail_at
#include "base/json.c"
#undef fail
#define number when_number
#define digits when_digits
#include "base/when.c"

#include <stdarg.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

/* Stubs for functions that the files above call and that do not matter here. */
void say_error(const char *format, ...) { (void)format; }

/* The input, with checksums in place of the ~ at the ends of lines. */
static void seal(text *out, const char *bytes, size_t size) {
    for (size_t at = 0; at < size;) {
        const char *end = memchr(bytes + at, '\n', size - at);
        size_t n = end ? (size_t)(end - bytes) - at : size - at;
        int sealed = n && bytes[at + n - 1] == '~';
        text_add(out, bytes + at, n - (size_t)sealed);
        if (sealed) text_printf(out, "%s%08x\"}", CHECKSUM, (unsigned)crc32_more(0, bytes + at, n - 1));
        if (end) text_putc(out, '\n');
        at += n + 1;
    }
    text_puts(out, "");
}

/* Writes each decision and reads it back; it must be the same. */
static void check_lines(const decision_list *d) {
    text file = TEXT_INIT, again = TEXT_INIT, why = TEXT_INIT;
    decision_list copy;
    for (size_t i = 0; i < d->count; i++) decision_write(&d->at[i], &file);
    text_puts(&file, "");
    MUST(decision_list_read(&copy, file.s, file.len, &why));
    MUST(copy.count == d->count);
    for (size_t i = 0; i < copy.count; i++) decision_write(&copy.at[i], &again);
    text_puts(&again, "");
    MUST(strcmp(file.s, again.s) == 0);
    decision_list_free(&copy);
    text_free(&file), text_free(&again), text_free(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    text file = TEXT_INIT, why = TEXT_INIT;
    decision_list d;
    decision_state s;
    size_t used = 0;
    seal(&file, (const char *)data, size);
    memset(&d, 0, sizeof d);
    int good = decision_list_lines(&d, file.s, file.len, &used, &why);
    MUST(used <= file.len && (used == 0 || file.s[used - 1] == '\n'));
    MUST(good || strncmp(why.s, "line ", 5) == 0);
    check_lines(&d);
    int holds = decisions_state(&s, &d, &why);
    MUST(holds == 1 || (holds == -1 && strncmp(why.s, "a contradiction: ", 17) == 0));
    decision_state_free(&s);
    decision_list_free(&d);
    text_free(&file), text_free(&why);
    return 0;
}
