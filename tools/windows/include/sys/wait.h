/* sys/wait.h, which MinGW-w64 lacks: a child's status is its exit code; Windows knows no signals. */
#ifndef REID_WINDOWS_WAIT_H
#define REID_WINDOWS_WAIT_H

#define WIFEXITED(status) ((void)(status), 1)
#define WEXITSTATUS(status) (status)
#define WIFSIGNALED(status) ((void)(status), 0)
#define WTERMSIG(status) ((void)(status), 0)

#endif
