/* Answers the requests of the review's page over HTTP, and checks who may send them.

   Every path begins with a token that cannot be guessed: /TOKEN/ is the page. Below it are page.css, page.js, data
   (board_data), since/SEQ (board_since), groups/VERSION (board_layer), small/ROW, large/ROW and photo/ROW (JPEGs of
   a crop and of its photo: a request names a row, never a file), and decide (board_decide) and regroup
   (board_regroup), which take POST. Host must be a name of this machine, which protects against DNS rebinding. A
   POST must come from this page: its Origin must match Host, and its type must be application/json. */
#ifndef REID_TOOLS_DESK_H
#define REID_TOOLS_DESK_H

#include "review/album.h"
#include "review/board.h"
#include "review/web.h"

enum { DESK_MAX_BODY = DECISION_LINE };

typedef struct desk {
    board *board;
    album *album;
    const char *token;
} desk;

/* A web_fn. */
void desk_answer(void *user, const web_request *r, web_reply *out);

#endif
