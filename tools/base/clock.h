/* A monotonic clock for durations. */
#ifndef REID_TOOLS_CLOCK_H
#define REID_TOOLS_CLOCK_H

/* Seconds since an arbitrary moment. */
double clock_seconds(void);

#endif
