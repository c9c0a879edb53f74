/* The zones that photos state with their times. The times of photos are those of the cameras' clocks, which people know
   them by; where clocks were set to different zones, someone must know. */
#ifndef REID_TOOLS_PHOTO_ZONES_H
#define REID_TOOLS_PHOTO_ZONES_H

#include "pictures/photos.h"

/* Warns once for each camera whose photos state several zones, and once if the cameras state different ones. */
void photo_zones_tell(const photos *p);

#endif
