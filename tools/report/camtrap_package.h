/* Reads a Camera Trap Data Package (Camtrap DP 1.0, 1.0.1 or 1.0.2; https://camtrap-dp.tdwg.org): finds its files, and
   the medium that a crop was cut from. */
#ifndef REID_TOOLS_CAMTRAP_PACKAGE_H
#define REID_TOOLS_CAMTRAP_PACKAGE_H

#include "base/text.h"

typedef struct camtrap_medium {
    char *id, *deployment, *time, *path, *name; /* time: as in the file; name: "" if the file has none.
                                                   path and name: with all characters decomposed (base/unicode.h) */
    const char *crop, *path_of_crop; /* for the caller, NULL at first: its first crop, and the path of that */
    size_t path_length;
} camtrap_medium;

/* For finding media by the last part of their path, or by their file name. */
typedef struct camtrap_name {
    const char *last, *whole;
    size_t medium;
} camtrap_name;

typedef struct camtrap_package {
    char *folder;
    char **files;        /* [file_count] of all resources, as names in folder, without a / */
    size_t file_count, file_cap;
    char *media_file, *observations_file; /* two of these */
    int deployments;     /* 1: there is a resource "deployments" */
    camtrap_medium *media;
    camtrap_name *names; /* [name_count], sorted by last */
    size_t media_count, media_cap, name_count, name_cap;
} camtrap_package;

/* Returns 0 after reporting an error; free it in any case. */
int camtrap_open(camtrap_package *p, const char *folder);
void camtrap_free(camtrap_package *p);

/* Sets out to FOLDER/FILE. */
void camtrap_path(const camtrap_package *p, const char *file, text *out);

/* Finds the medium whose filePath or fileName ends like an image's path, up to the beginning of the shorter one; of
   several, the one with the longest common end. Returns NULL with the reason in why if there is none, or no single
   best one. */
camtrap_medium *camtrap_find(const camtrap_package *p, const char *picture, size_t length, text *why);

#endif
