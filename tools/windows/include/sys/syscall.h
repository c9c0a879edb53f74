/* sys/syscall.h, which MinGW-w64 lacks: random bytes, as Linux's getrandom gives them. */
#ifndef REID_WINDOWS_SYSCALL_H
#define REID_WINDOWS_SYSCALL_H

#include <stddef.h>

#define SYS_getrandom 318
#define syscall(number, bytes, size, flags) windows_random(bytes, size)
/* Returns the size, or -1 with errno set. */
long windows_random(void *bytes, size_t size);

#endif
