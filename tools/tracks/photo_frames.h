/* Hands out the photos of a camera as frames, in the order of their times. Other threads decode ahead. */
#ifndef REID_TOOLS_PHOTO_FRAMES_H
#define REID_TOOLS_PHOTO_FRAMES_H

#include "embedding/pipeline.h"
#include "pictures/photos.h"
#include "pictures/video.h"

typedef struct photo_frames photo_frames;

/* Frame i is photo i. wanted: as in video_request. burst: seconds; a photo begins a new scene if it follows the one
   before by more than that, has no time or differs in size. Returns NULL after saying what is wrong. */
photo_frames *photo_frames_open(const camera *of, const uint32_t *wanted, size_t wanted_count, double burst,
                                const decode_settings *how);
/* Returns 1 with the next frame; 0 after the last one or when interrupted(). A wanted photo that cannot be decoded has
   no pixels, and why has the reason; otherwise why is empty. */
int photo_frames_next(photo_frames *p, video_frame *frame, text *why);
/* NULL is allowed. */
void photo_frames_close(photo_frames *p);

#endif
