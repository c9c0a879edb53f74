/* Reads the header of a frame to the worker, which is not trusted. Pure functions; every reason names its field. */
#ifndef REID_TOOLS_FRAME_H
#define REID_TOOLS_FRAME_H

#include "base/text.h"

typedef enum frame_kind { FRAME_INFER, FRAME_EMBED, FRAME_MATCH, FRAME_STATS, FRAME_MODEL } frame_kind;

typedef struct frame_header {
    frame_kind kind;
    text id;         /* JSON as the client wrote it; "null" if there is none or it cannot be read */
    text model;      /* s NULL: none was given */
    text query;      /* of embed and match: the query string that plain_read takes */
    size_t json_len; /* of infer: how much of the body is JSON */
    int binary;      /* of embed: the client wants the rows as bytes, not as JSON */
} frame_header;

/* Reads the header of a frame with a body of body_len bytes. Returns 0 with the reason in why; the id is filled in even
   then if the header contains one. Free it in any case. */
int frame_read(frame_header *h, const char *bytes, size_t len, size_t body_len, text *why);
void frame_free(frame_header *h);

/* Appends the header of an answer: {"id": ..., "status": ..., "json": ...}. */
void frame_answer(text *t, const char *id, int status, size_t json_len);

#endif
