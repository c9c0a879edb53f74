/* A Camera Trap Data Package (Camtrap DP 1.0, 1.0.1 or 1.0.2; https://camtrap-dp.tdwg.org) that is read: its files, and
   which of its media a crop was cut from. */
#ifndef REID_TOOLS_CAMTRAP_PACKAGE_H
#define REID_TOOLS_CAMTRAP_PACKAGE_H

#include "base/text.h"

typedef struct camtrap_medium {
    char *id, *deployment, *time, *path, *name; /* time as it stands there; name: "" where the file has none */
    const char *crop, *path_of_crop; /* for the caller, NULL at first: the first crop of it, and its picture */
    size_t path_length;
} camtrap_medium;

/* The last part of a medium's path, or its file name, by which media are looked up. */
typedef struct camtrap_name {
    const char *last, *whole;
    size_t medium;
} camtrap_name;

typedef struct camtrap_package {
    char *folder;
    char **files;        /* [file_count] of all resources, as paths in folder; without a / */
    size_t file_count, file_cap;
    char *media_file, *observations_file; /* two of them */
    int deployments;     /* there is such a resource */
    camtrap_medium *media;
    camtrap_name *names; /* [name_count], sorted by last */
    size_t media_count, media_cap, name_count, name_cap;
} camtrap_package;

/* Returns 0 after saying what is wrong; free it in any case. */
int camtrap_open(camtrap_package *p, const char *folder);
void camtrap_free(camtrap_package *p);

/* FOLDER/FILE. */
void camtrap_path(const camtrap_package *p, const char *file, text *out);

/* The medium whose filePath or fileName ends as a picture's path does, down to the beginning of the shorter one; of
   several the one that has the most in common with it. NULL with the reason in why: there is none, or there are
   several. */
camtrap_medium *camtrap_find(const camtrap_package *p, const char *picture, size_t length, text *why);

#endif
