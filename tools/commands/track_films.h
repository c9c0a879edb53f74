/* The films of a run of reid track, the records of finished ones, and the continuation of an interrupted run. */
#ifndef REID_TOOLS_TRACK_FILMS_H
#define REID_TOOLS_TRACK_FILMS_H

#include "base/text.h"
#include "commands/tracking.h"

/* Says "what: why" and frees why. Always returns 0. */
int tracking_say(const char *what, text *why);

/* The decoder of the JPEG files behind the crops; NULL: there are only videos. */
const char *tracking_jpeg(const tracking *run);

/* The functions below return 0 after saying what is wrong. */

/* Opens the output folder, which may be that of an interrupted run; refuses one that was begun with other inputs or
   options. */
int tracking_folder(tracking *run);
/* Reads all films except those that the interrupted run finished, and records each finished one. */
int tracking_films(tracking *run);

#endif
