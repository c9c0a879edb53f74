/* Runs another program as a child process and reads its output. */
#ifndef REID_TOOLS_CHILD_H
#define REID_TOOLS_CHILD_H

#include "base/text.h"

#include <sys/types.h>

enum { CHILD_PIPES = 8 };

typedef struct child {
    pid_t pid;           /* 0: no child, or it has been waited for */
    int fd[CHILD_PIPES]; /* the non-blocking pipe from its descriptor n; -1: none */
} child;

/* Starts argv[0], found in PATH, with these arguments (the last one NULL). Of its descriptors, those whose bit is set
   in `pipes` (bit n: n, from 1 on) are pipes to this process; stdin and the others below 3 are /dev/null. The child has
   its own process group, so that Ctrl-C reaches this program alone. The system kills it when the calling thread ends
   for any reason, so call this from a thread that stays; the child's own children are not killed. Returns 0 with the
   reason in why; *missing is 1 if the program was not found. */
int child_start(child *c, char *const *argv, unsigned pipes, int *missing, text *why);

/* Closes one of the pipes. */
void child_close(child *c, int n);

/* Closes the pipes, waits `seconds` for the child to end, then kills its process group, and returns its status as
   waitpid does. A zeroed child is allowed; its status is 0. */
int child_end(child *c, double seconds);

#endif
