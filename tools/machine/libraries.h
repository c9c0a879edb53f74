/* Libraries and programs that are found at run time: their presence and version, and what to install. */
#ifndef REID_TOOLS_LIBRARIES_H
#define REID_TOOLS_LIBRARIES_H

#include "machine/findings.h"

typedef struct library_needs {
    const char *ffmpeg;  /* the program; NULL: ffmpeg, from PATH */
    int turbo;           /* 1: --jpeg turbo requires libturbojpeg */
    int database;        /* 1: the gallery is in PostgreSQL */
    int http;            /* 1: libmicrohttpd is compiled in */
} library_needs;

/* Checks libturbojpeg, libwebp, libtiff, libpq, libmicrohttpd and ffmpeg. */
void libraries_look(findings *f, const library_needs *needs);

#endif
