/* The films of a run of reid track: what is done, what an interrupted run has left, and its records. */
#ifndef REID_TOOLS_TRACK_FILMS_H
#define REID_TOOLS_TRACK_FILMS_H

#include "base/text.h"
#include "commands/tracking.h"

/* Says why, which it frees. Always returns 0. */
int tracking_say(const char *what, text *why);

/* What decodes JPEG files behind the crops; NULL: there are videos alone. */
const char *tracking_jpeg(const tracking *run);

/* Both return 0 after saying what is wrong. */

/* The folder of the output, which may be that of an interrupted run; refuses one that was begun otherwise. */
int tracking_folder(tracking *run);
/* All films, but those that the interrupted run has finished; each that is finished gets a record. */
int tracking_films(tracking *run);

#endif
