/* Tests of code that writes to a text: without memory, and with mistakes of the caller, which must end the program. For
   programs that are linked as test_refusals.h describes; include cmocka.h first. */
#ifndef TEST_TEXTS_H
#define TEST_TEXTS_H

#include "base/text.h"
#include "test_refusals.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Refuses each allocation of write(out) in turn: the text must fail every time. */
static inline void assert_refusals_fail(void (*write)(text *out)) {
    text t = TEXT_INIT;
    refuse_from(0, 0);
    write(&t);
    long needed = refusal.calls;
    text_free(&t);
    assert_true(needed > 3);
    for (long at = 1; at <= needed; at++) {
        refuse_from(at, 0);
        write(&t);
        refuse_from(0, 0);
        assert_int_equal(text_failed(&t), 1);
        assert_string_equal(t.s, "out of memory");
        text_free(&t);
    }
}

/* Makes a mistake in a child. Returns the signal that ended the child, 0 if none did. */
static inline int signal_of(void (*mistake)(text *out)) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        const struct rlimit no_core = {0, 0};
        text t = TEXT_INIT;
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        mistake(&t);
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

#endif
