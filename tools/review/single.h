/* The page as one file that needs no server: it contains groups, images, style and script. Decisions made in it can
   be saved as a journal, which contains the journal that the page was made from and continues it. */
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

/* Returns 0 after reporting an error, also if the page is larger than the limit. Images that cannot be read are left
   out with a warning. */
int single_write(const single_request *r);

#endif
