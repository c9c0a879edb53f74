/* The time that passes, for durations; it never jumps. */
#ifndef REID_TOOLS_CLOCK_H
#define REID_TOOLS_CLOCK_H

/* Seconds since some moment. */
double clock_seconds(void);

#endif
