/* Another program, run beside this one, which reads what it writes. */
#ifndef REID_TOOLS_CHILD_H
#define REID_TOOLS_CHILD_H

#include "base/text.h"

#include <sys/types.h>

enum { CHILD_PIPES = 8 };

typedef struct child {
    pid_t pid;           /* 0: none, or its end was taken note of */
    int fd[CHILD_PIPES]; /* where to read what it writes to its descriptor n, without waiting; -1: nothing is read */
} child;

/* Starts argv[0], found in PATH, with these arguments (the last one NULL). Of its descriptors, those whose bit is set
   in `pipes` (bit n: n, from 1 on) are pipes to us; stdin and whatever else is below 3 is /dev/null. It is in a process
   group of its own, so that Ctrl-C reaches this program alone. It does not outlive us: the system kills it when the
   calling thread ends, however that comes about, so that this has to be one that stays. What it has started itself is
   left to it. Returns 0 with the reason in why; *missing says whether the reason is that there is no such program. */
int child_start(child *c, char *const *argv, unsigned pipes, int *missing, text *why);

/* Closes one of the pipes. */
void child_close(child *c, int n);

/* Closes the pipes, gives it `seconds` to end, then kills it with all that it has started, and returns how it ended, as
   waitpid does. Zeroed ones are allowed, and give 0. */
int child_end(child *c, double seconds);

#endif
