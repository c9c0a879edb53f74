/* Sockets that systemd has opened and passes to the server (sd_listen_fds(3)): their owner, mode and address are
   stated in its unit, and clients can connect while the server starts. */
#ifndef REID_TOOLS_INHERITED_H
#define REID_TOOLS_INHERITED_H

#include "base/text.h"

/* 1 if systemd has passed sockets to this process. */
int inherited_are_there(void);
/* Takes them: at most one Unix socket and one of TCP; -1 for one that was not passed. *loopback: 1 unless other
   machines can connect; appends the address of TCP to as. Returns 0 with the reason in why. */
int inherited_take(int *unix_fd, int *tcp_fd, text *as, int *loopback, text *why);

#endif
