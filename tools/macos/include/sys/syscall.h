/* In place of macOS's sys/syscall.h: random bytes, as Linux's getrandom gives them. */
#ifndef REID_MACOS_SYSCALL_H
#define REID_MACOS_SYSCALL_H

#include <stdlib.h>

#define SYS_getrandom 318
#define syscall(number, bytes, size, flags) (arc4random_buf(bytes, size), (long)(size))

#endif
