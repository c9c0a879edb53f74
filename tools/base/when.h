/* Times of images: milliseconds since 1970 in UTC, and their written form. */
#ifndef REID_TOOLS_WHEN_H
#define REID_TOOLS_WHEN_H

#include "base/text.h"

/* 2024-05-31, 2024-05-31T06:30[:00[.000]][Z] with T or a space between, in UTC, years 1 to 9999, 24:00 being the end
   of the day; with a zone such as +02:00 in place of Z, that zone's time; or seconds since 1970. Returns 0 if s is
   none of these. */
int when_parse(const char *s, long long *out);
/* The same, but *clock is what a clock there shows, as if it were UTC, and *zone how many minutes it is ahead of UTC,
   or WHEN_NO_ZONE if s does not say. */
enum { WHEN_NO_ZONE = 100000 };
int when_parse_clock(const char *s, long long *clock, int *zone);
/* Appends a zone: +02:00. */
void when_zone(text *t, int zone);
/* 2024-05-31T06:30:00Z, with milliseconds if there are any. */
void when_text(text *t, long long when);
/* 2024-05-31 06:30:00, for people: the time by the camera's clock, whose time zone is unknown. */
void when_for_people(text *t, long long when);
/* 0:12:05: hours, minutes and whole seconds since the beginning of a film. */
void seconds_for_people(text *t, double seconds);

#endif
