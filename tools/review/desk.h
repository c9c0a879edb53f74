/* What the page of a review asks for over HTTP, and who may ask.

   Every path begins with a token, which nobody can guess: /TOKEN/ is the page, below it are page.css, page.js, data
   (all of board_data), since/SEQ (board_since), groups/VERSION (board_layer), small/ROW and large/ROW (JPEGs), and
   decide (board_decide) and regroup (board_regroup), which take POST. Host has to be a name of this machine, so that no
   page of another name leads here; a POST has to come from this page: its Origin is Host, its type is
   application/json. */
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

/* A new one, of 32 hexadecimal digits. Returns 0 with the reason in why. */
int desk_token(char out[33], text *why);
/* A web_fn. */
void desk_answer(void *user, const web_request *r, web_reply *out);

#endif
