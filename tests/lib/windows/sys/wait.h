/* sys/wait.h: for tests that t_windows.sh compiles with MinGW: those of their functions that fork are not run there. */
#ifndef WINDOWS_SYS_WAIT_H
#define WINDOWS_SYS_WAIT_H

#include <sys/types.h>

#define WIFEXITED(status) ((status) == 0)
#define WEXITSTATUS(status) (status)

static inline pid_t fork(void) { return -1; }
static inline pid_t waitpid(pid_t child, int *status, int options) { return (void)child, (void)status, options - 1; }
#endif
