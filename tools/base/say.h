/* Everything that goes to stderr: messages and the progress bar. In a command only the main thread and the library's
   log print. A thread that works for a client, as in a server, collects its messages with say_listen instead. */
#ifndef REID_TOOLS_SAY_H
#define REID_TOOLS_SAY_H

#include "base/text.h"

#include <stddef.h>

enum { SAY_QUIET = -1, SAY_NORMAL, SAY_VERBOSE, SAY_DEBUG };

void say_setup(int verbosity);
/* 1 if say_info prints: ask first if the message takes time to compose. */
int say_is_verbose(void);
void say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_warning(const char *format, ...) __attribute__((format(printf, 1, 2))); /* silenced by -q */
void say_info(const char *format, ...) __attribute__((format(printf, 1, 2)));    /* with -v */
/* Prints lines unchanged, even with -q: the user has asked for them. */
void say_text(const text *t);
/* Empties buffer. From here on, this thread's messages are added to it, a line each without "reid: ", as far as they
   fit, and no progress is shown. NULL: messages go to stderr again. */
void say_listen(char *buffer, size_t size);

/* A name made safe to print; a database's address without its password. Valid for this thread's next few calls. */
const char *shown(const char *name);

/* Reports the message if the verbosity is at least this, one of SAY_…. */
void say_at(int level, const char *message);

/* There is one progress bar at a time; it is drawn only if stderr is a terminal and -q was not given. */
void progress_start(const char *label, size_t total);
void progress_update(size_t done, size_t failed);
void progress_stop(void);
/* Clears the bar's line so that something else can be written; the next update draws it again. */
void progress_hide(void);

/* 1 if this descriptor is a terminal and colours are allowed (NO_COLOR, TERM=dumb). */
int may_colour(int fd);

#endif
