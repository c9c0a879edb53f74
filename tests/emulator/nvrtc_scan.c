/* nvrtc_scan.c: finds the kernels of a preprocessed text. It reads tokens: __global__, then (past __launch_bounds__ and
   attributes) the name before the parameter list. CUDA's three qualifiers are blanked out, the rest stays as it is. */
#include <ctype.h>
#include <string.h>

#include "kernel_abi.h"
#include "nvrtc.h"

typedef struct scanner {
    char *at;
    char file[128]; /* of the last line marker, without folders */
    int line;
    rtc_text *table, *log;
    char shared[128]; /* the array's name */
    int kernels, failed;
} scanner;

static void blank(char *from, char *to) {
    for (; from < to; from++)
        if (*from != '\n') *from = ' ';
}

static void fail(scanner *s, const char *message) {
    rtc_print(s->log, "%s(%d): error: %s\n", s->file, s->line, message);
    s->failed = 1;
}

static int is_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* # 12 "folder/name" flags */
static void line_marker(scanner *s) {
    int line = 0;
    char *p = s->at + 1;
    while (*p == ' ') p++;
    while (isdigit((unsigned char)*p)) line = line * 10 + (*p++ - '0');
    char *quote = strchr(p, '"'), *end = strchr(p, '\n');
    if (line && quote && (!end || quote < end)) {
        char *close = strchr(quote + 1, '"'), *name = quote + 1;
        for (char *c = name; close && c < close; c++)
            if (*c == '/') name = c + 1;
        size_t n = close ? (size_t)(close - name) : 0;
        if (n && n < sizeof s->file) memcpy(s->file, name, n), s->file[n] = 0;
        s->line = line - 1; /* the next newline makes it right */
    }
    s->at = end ? end : s->at + strlen(s->at);
}

/* Moves past blanks, strings and line markers to the next token, and returns its length; 0 at the end. */
static size_t token(scanner *s) {
    for (;; s->at++) {
        char c = *s->at;
        if (!c) return 0;
        if (c == '#' && (s->at[-1] == '\n')) line_marker(s);
        if (*s->at == '\n') s->line++;
        if (isspace((unsigned char)*s->at)) continue;
        if (!*s->at) return 0;
        if (c == '\'' && is_name(s->at[-1])) continue; /* within a number: 1'000 */
        if (c == '"' || c == '\'') {
            for (s->at++; *s->at && *s->at != c; s->at++)
                if (*s->at == '\\' && s->at[1]) s->at++;
            continue;
        }
        break;
    }
    size_t n = 1;
    if (is_name(*s->at))
        while (is_name(s->at[n])) n++;
    return n;
}

static int is(const char *at, size_t n, const char *word) { return strlen(word) == n && memcmp(at, word, n) == 0; }

/* Past a parenthesis and what it holds; `at` is its opening. Returns where it ends. */
static char *skip_parentheses(scanner *s) {
    int depth = 0;
    size_t n;
    while ((n = token(s)) != 0) {
        depth += *s->at == '(' ? 1 : *s->at == ')' ? -1 : 0;
        s->at += n;
        if (depth == 0) break;
    }
    return s->at;
}

static void kernel(scanner *s) {
    char name[256] = "", bounds[256] = "0";
    size_t n;
    while ((n = token(s)) != 0 && *s->at != ';' && *s->at != '{') {
        char *start = s->at;
        if (is(start, n, "__launch_bounds__") || is(start, n, "__attribute__") || is(start, n, "alignas")) {
            s->at += n;
            char *end = (token(s), s->at), *close = skip_parentheses(s);
            if (start[2] != 'l') continue;
            size_t length = (size_t)(close - end) - 2;
            if (length < sizeof bounds) memcpy(bounds, end + 1, length), bounds[length] = 0;
            blank(start, close);
            continue;
        }
        if (*start == '(') {
            skip_parentheses(s);
            if (token(s) == 0 || *s->at != '{' || !*name) return; /* a declaration */
            rtc_print(s->table, "%s    {\"%s\", reid_emulator_caller<&%s>::call, reid_emulator_caller<&%s>::bytes,\n"
                      "     reid_emulator_caller<&%s>::count, reid_emulator_first(%s)}",
                      s->kernels++ ? ",\n" : "", name, name, name, name, bounds);
            return;
        }
        if (is_name(*start) && n < sizeof name) memcpy(name, start, n), name[n] = 0;
        s->at += n;
    }
}

static void shared(scanner *s, int is_extern) {
    size_t n;
    char name[sizeof s->shared] = "";
    if (!is_extern) {
        fail(s, "a static __shared__ variable: shared memory is the one `extern __shared__` array (prelude.h, 4)");
        return;
    }
    while ((n = token(s)) != 0 && *s->at != '[' && *s->at != ';') {
        if (*s->at == '(') {
            skip_parentheses(s);
            continue;
        }
        if (is_name(*s->at) && n < sizeof name) memcpy(name, s->at, n), name[n] = 0;
        s->at += n;
    }
    if (*s->shared && strcmp(s->shared, name) != 0) fail(s, "a second `extern __shared__` array (prelude.h, 4)");
    strcpy(s->shared, name);
}

static void write_module(const scanner *s, const char *meta, rtc_text *out) {
    if (*s->shared)
        rtc_print(out, "extern \"C\" __attribute__((visibility(\"hidden\"), aligned(1024))) unsigned char\n"
                  "reid_emulator_shared[] __asm__(\"%s\");\n"
                  "alignas(1024) unsigned char reid_emulator_shared[%d];\n", s->shared, REID_EMULATOR_SHARED_BYTES);
    rtc_print(out, "static constexpr unsigned reid_emulator_first(unsigned a, ...) { return a; }\n"
              "static const reid_emulator_kernel reid_emulator_kernels[] = {\n%s%s\n};\n",
              s->table->data ? s->table->data : "", s->kernels ? "" : "    {0, 0, 0, 0, 0}");
    rtc_print(out, "extern \"C\" __attribute__((visibility(\"default\"), used)) const reid_emulator_module\n"
              "reid_emulator_module = {%d, \"%s\", reid_emulator_kernels, %d, %s, &threadIdx, &blockIdx,\n"
              "                        (reid_emulator_uint3 *)&blockDim, (reid_emulator_uint3 *)&gridDim,\n"
              "                        &reid_emulator};\n",
              REID_EMULATOR_ABI, meta, s->kernels, *s->shared ? "reid_emulator_shared" : "0");
}

int rtc_scan(char *text, const char *meta, rtc_text *table, rtc_text *log) {
    rtc_text kernels = {0};
    scanner s = {.at = text, .file = "?", .table = &kernels, .log = log};
    size_t n;
    int last_is_extern = 0;
    while ((n = token(&s)) != 0) {
        char *start = s.at;
        s.at += n;
        if (is(start, n, "__global__")) blank(start, s.at), kernel(&s);
        else if (is(start, n, "__shared__")) blank(start, s.at), shared(&s, last_is_extern);
        last_is_extern = is(start, n, "extern");
    }
    write_module(&s, meta, table);
    if (kernels.failed) table->failed = 1;
    rtc_free(&kernels);
    return !s.failed;
}
