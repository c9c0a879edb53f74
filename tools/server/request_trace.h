/* Requests to the server as events of a trace (base/trace.h), so that its timeline can be put beside those of other
   services: the trace ids of their traceparent are in the events' args. */
#ifndef REID_TOOLS_REQUEST_TRACE_H
#define REID_TOOLS_REQUEST_TRACE_H

#include "base/trace.h"
#include "server/access_log.h"

/* Writes a request that ended at this moment of clock_seconds, and its stages. number: different for each request. */
void request_trace_add(trace *t, const access_entry *e, size_t number, double ended);

#endif
