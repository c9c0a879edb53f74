#include "base/results.h"

#include "base/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static FILE *held; /* NULL: results go straight to stdout */
static int failure; /* errno of the first failed write */
static const char *failed; /* where it failed */

int results_begin(int hold) {
    failure = 0;
    held = hold ? tmpfile() : NULL;
    if (hold && !held) say_error("cannot create a temporary file: %s", strerror(errno));
    return !hold || held;
}

static int fail(const FILE *to, int error) {
    if (!failure) failure = error ? error : EIO, failed = to == stdout ? "stdout" : "a temporary file in " P_tmpdir;
    return 0;
}

static int put(FILE *to, const char *bytes, size_t len) {
    if (!failure && len && fwrite(bytes, 1, len, to) != len) fail(to, errno);
    return !failure;
}

int results_write(const text *t) {
    if (!held) progress_hide();
    if (text_failed(t)) fail(stdout, ENOMEM);
    return put(held ? held : stdout, t->s, t->len);
}

int results_end(int keep) {
    char chunk[1 << 14];
    size_t n;
    if (held) {
        if (fflush(held) != 0) fail(held, errno); /* rewind does not report failed writes */
        rewind(held);
        while (keep && !failure && (n = fread(chunk, 1, sizeof chunk, held)) > 0) put(stdout, chunk, n);
        if (ferror(held)) fail(held, EIO);
        fclose(held);
        held = NULL;
    }
    if (fflush(stdout) != 0) fail(stdout, errno);
    if (failure && failure != EPIPE) say_error("%s: cannot write: %s", failed, strerror(failure));
    return !failure;
}

int results_print(text *t) {
    results_begin(0);
    results_write(t);
    text_free(t);
    return results_end(1);
}

void results_abandon(void) {
    if (held) fclose(held);
    held = NULL;
}
