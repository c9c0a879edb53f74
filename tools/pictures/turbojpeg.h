/* Decodes JPEG with Pillow's pixels: by libturbojpeg, found at run time, with its accurate transform and smooth chroma.
   Without it, or if stb_image is requested, pictures/picture.c uses stb_image. */
#ifndef REID_TOOLS_TURBOJPEG_H
#define REID_TOOLS_TURBOJPEG_H

#include "base/text.h"

/* In the order of JPEG_DECODERS (base/choices.h). */
typedef enum jpeg_decoder {
    JPEG_AUTO, /* libturbojpeg if it is found */
    JPEG_STB,
    JPEG_TURBO
} jpeg_decoder;

/* Returns 0 after reporting why libturbojpeg, which was requested, cannot be used. */
int jpeg_decoder_ready(jpeg_decoder wanted);
/* The decoder of JPEG files, for metadata: "libjpeg-turbo" or "stb_image". Their pixels differ by a few levels. */
const char *jpeg_decoder_name(jpeg_decoder wanted);
int jpeg_is_by_turbo(jpeg_decoder wanted);

typedef enum turbo_result {
    TURBO_FAILED,
    TURBO_DOUBTED, /* the file can be decoded, but something is odd or damaged */
    TURBO_DONE
} turbo_result;

/* A file with `components` (1, 3 or 4), to be decoded to rows of RGB. Grey becomes equal channels; four components are
   taken for inverted CMYK, as Adobe writes it; so does Pillow. */
typedef struct turbo_job {
    const unsigned char *file;
    size_t len;
    int width, height, components; /* from the frame's header */
    unsigned char *to;             /* turbojpeg_room bytes, of which the first 3 * width * height become the pixels */
} turbo_job;

size_t turbojpeg_room(int width, int height, int components);
/* The reason for anything but TURBO_DONE is in why. accepted: NULL, or the reason of an earlier TURBO_DOUBTED, which is
   ignored this time: TURBO_DONE then means that the library reported no other error that it could not recover from. */
turbo_result turbojpeg_decode(const turbo_job *job, const char *accepted, text *why);

#endif
