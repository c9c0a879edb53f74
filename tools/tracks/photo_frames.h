/* The photos of a camera as frames: in the order of their times, decoded ahead beside the rest. */
#ifndef REID_TOOLS_PHOTO_FRAMES_H
#define REID_TOOLS_PHOTO_FRAMES_H

#include "embedding/pipeline.h"
#include "pictures/photos.h"
#include "pictures/video.h"

typedef struct photo_frames photo_frames;

/* Frame i is photo i. wanted: as in video_request. burst: seconds; a photo that follows later than that begins another
   scene, and so does one without a time, or of another size. NULL after saying what is wrong. */
photo_frames *photo_frames_open(const camera *of, const uint32_t *wanted, size_t wanted_count, double burst,
                                const decode_settings *how);
/* The next one: 1; 0 after the last one, or when interrupted(). A photo that is wanted and cannot be decoded has no
   pixels, and the reason is in why, which is empty otherwise. */
int photo_frames_next(photo_frames *p, video_frame *frame, text *why);
/* NULL is allowed. */
void photo_frames_close(photo_frames *p);

#endif
