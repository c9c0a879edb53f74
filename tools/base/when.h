/* Times of pictures: milliseconds since 1970 in UTC, and how people write them. */
#ifndef REID_TOOLS_WHEN_H
#define REID_TOOLS_WHEN_H

#include "base/text.h"

/* 2024-05-31, 2024-05-31T06:30[:00[.000]][Z] with T or a blank between, in UTC, years 1 to 9999; or seconds since 1970.
   Returns 0 when s is none of these. */
int when_parse(const char *s, long long *out);
/* 2024-05-31T06:30:00Z, with milliseconds if there are any. */
void when_text(text *t, long long when);

#endif
