/* Turns an opened image into a model's input and counts every byte in a budget that many images share. The budget's
   owner decides whether an image waits for room or is refused. */
#ifndef REID_TOOLS_IMAGE_INPUTS_H
#define REID_TOOLS_IMAGE_INPUTS_H

#include "embedding/models.h"
#include "pictures/picture.h"

typedef struct image_budget {
    int (*reserve)(void *user, size_t bytes); /* waits until there is room, or returns 0 with nothing reserved */
    void (*release)(void *user, size_t bytes);
    void *user;
} image_budget;

/* Reserves what decoding needs, decodes, and releases all but the pixels' bytes. Returns 0 with nothing reserved if the
   budget refused (why is empty) or the file cannot be decoded. Free the picture in any case. */
int image_decode(picture *p, const image_budget *budget, text *why);
/* Replaces the pixels with m's input for each of `count` crops of this image, (count, height, width, 3), if that takes
   less memory, and releases the difference. Returns NULL if the pixels stay. Free the result with free. */
unsigned char *image_prepare(picture *p, const model *m, const reid_image *crops, size_t count,
                             const image_budget *budget);

#endif
