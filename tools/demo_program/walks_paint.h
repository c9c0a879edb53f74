/* Paints a video's scenes: the background, and the animals and trees at one moment, into RGB images of 8 bits per
   channel. */
#ifndef REID_TOOLS_WALKS_PAINT_H
#define REID_TOOLS_WALKS_PAINT_H

#include "demo_program/walks.h"

/* rgb: [f->height · f->width · 3], as in all functions here. */
void film_paint_place(const film *f, const film_scene *s, unsigned char *rgb);
/* Over the place: animals from far to near, then the trees, which stand in front of all of them. */
void film_paint_animals(const film *f, const film_scene *s, double seconds, unsigned char *rgb);

#endif
