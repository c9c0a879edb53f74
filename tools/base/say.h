/* Everything that goes to stderr: messages and the progress bar. Of a command only the main thread and the library's
   log speak. A thread of a program that calls rooms for somebody else, as a server does, listens instead. */
#ifndef REID_TOOLS_SAY_H
#define REID_TOOLS_SAY_H

#include "base/text.h"
#include "reid.h"

#include <stddef.h>

enum { SAY_QUIET = -1, SAY_NORMAL, SAY_VERBOSE, SAY_DEBUG };

void say_setup(int verbosity);
/* 1: say_info would be heard. For what costs time to find out. */
int say_is_verbose(void);
void say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_warning(const char *format, ...) __attribute__((format(printf, 1, 2))); /* silenced by -q */
void say_info(const char *format, ...) __attribute__((format(printf, 1, 2)));    /* with -v */
/* Lines as they are, which somebody has asked for. */
void say_text(const text *t);
/* From here on, what this thread says is added to buffer, a line each without "reid: ", as far as it fits; no progress
   is shown. NULL: to stderr again. Empties the buffer. */
void say_listen(char *buffer, size_t size);

/* A name as it may be printed, the address of a database without its password; valid for the next few calls of this
   thread. */
const char *shown(const char *name);

/* For reid_desc.log_fn. */
void say_log(reid_log_level level, reid_result id, const char *message, void *user);

/* One bar at a time; nothing is drawn unless stderr is a terminal and -q was not given. */
void progress_start(const char *label, size_t total);
void progress_update(size_t done, size_t failed);
void progress_stop(void);
/* Clears its line, so that something else can be written there; the next update draws it again. */
void progress_hide(void);

/* 1 when this descriptor is a terminal that may be coloured (NO_COLOR, TERM=dumb). */
int may_colour(int fd);

#endif
