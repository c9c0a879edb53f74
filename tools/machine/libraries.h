/* Libraries and programs that are found at run time: which are there, in which version, and what to install. */
#ifndef REID_TOOLS_LIBRARIES_H
#define REID_TOOLS_LIBRARIES_H

#include "machine/findings.h"

typedef struct library_needs {
    const char *ffmpeg;  /* the program; NULL: ffmpeg, from PATH */
    int turbo;           /* --jpeg turbo: it has to be libturbojpeg */
    int database;        /* a gallery in PostgreSQL is named */
    int http;            /* libmicrohttpd is compiled in */
} library_needs;

/* libturbojpeg, libpq, libmicrohttpd, ffmpeg. */
void libraries_look(findings *f, const library_needs *needs);

#endif
