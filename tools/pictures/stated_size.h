/* The size of an image as the file of its boxes states it. */
#ifndef REID_TOOLS_STATED_SIZE_H
#define REID_TOOLS_STATED_SIZE_H

#include "base/text.h"

typedef struct stated_size {
    int width, height; /* 0: the file does not state it */
} stated_size;

/* Takes numbers as a file has them; those that are not the size of any image state none. */
stated_size stated_size_of(double width, double height);
/* Returns 1 if boxes that were measured in an image of the stated size mark the same places in the upright image of
   width x height, otherwise 0 with the reason in why. fractions: the boxes are fractions of the sides. */
int stated_size_fits(stated_size stated, int fractions, int width, int height, text *why);

#endif
