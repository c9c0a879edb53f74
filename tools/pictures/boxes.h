/* Reads --boxes FILE, a detector's boxes in any format of detections.h: one row per box, in the file's order. */
#ifndef REID_TOOLS_BOXES_H
#define REID_TOOLS_BOXES_H

#include "pictures/inputs.h"

typedef struct box_file {
    const char *path, *category; /* category: only boxes of this category, by name or number; NULL: all */
    double min_conf;             /* NAN: any confidence */
} box_file;

/* Appends the boxes of a file to list. Images are found below root as reid track finds them: by their paths below it,
   by the ends of their paths, or by their numbers; without root (NULL) by their paths alone. A row is named after its
   path below root, and its camera after the folder. Says what detections_tell says. Returns 0 after saying what is
   wrong. */
int boxes_read(inputs *list, const box_file *file, const char *root);

#endif
