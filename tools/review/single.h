/* The page as one file that needs no server: groups, pictures, style and script are in it. Decisions that are made in
   it can be saved as a journal of their own, which goes on where the one that it was made from ended. */
#ifndef REID_TOOLS_SINGLE_H
#define REID_TOOLS_SINGLE_H

#include "review/album.h"
#include "review/board.h"

typedef struct single_request {
    board *board;
    album *album;
    const char *path;
    size_t limit; /* bytes */
} single_request;

/* Returns 0 after saying what is wrong, which is also a page over the limit. A picture that cannot be read is left out
   and told. */
int single_write(const single_request *r);

#endif
