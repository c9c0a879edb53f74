/* What clients send to find a request again: X-Request-ID, and the traceparent of W3C's Trace Context. */
#ifndef REID_TOOLS_REQUEST_ID_H
#define REID_TOOLS_REQUEST_ID_H

#include <stdint.h>

enum { REQUEST_ID = 128, TRACE_ID = 32 }; /* characters */

/* Copies an id of 1 to 128 visible ASCII characters. For anything else, and for NULL, makes one from the state, which
   is different for each process and each request. */
void request_id_take(char id[REQUEST_ID + 1], const char *given, uint64_t *state);
/* A state that other processes do not have. */
uint64_t request_id_start(void);
/* Copies the trace's id from a traceparent such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01. "" if it is
   NULL or invalid. */
void trace_id_take(char id[TRACE_ID + 1], const char *traceparent);

#endif
