/* The page of reid review: a server for the browser of one person, on this machine. */
#ifndef REID_TOOLS_REVIEW_SERVER_H
#define REID_TOOLS_REVIEW_SERVER_H

#include "review/album.h"
#include "review/board.h"

/* 1 if this program has the server; otherwise 0, after saying so. */
int review_server_is_there(void);
/* Prints the page's address and serves it until a signal comes. listen: HOST:PORT; NULL: a free port of this machine.
   Returns the command's exit status. */
int review_serve(board *b, album *a, const char *listen);

#endif
