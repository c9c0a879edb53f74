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
    size_t limit;  /* bytes */
    size_t photos; /* about how many of them whole photos may take */
} single_request;

/* Returns 0 after reporting an error, also if the page is larger than the limit, or if no image can be read. Images
   that cannot be read, and photos that would exceed their share, are left out with a warning. Prints a summary. */
int single_write(const single_request *r);

#endif
