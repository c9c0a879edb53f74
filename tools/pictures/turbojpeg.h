/* JPEG as Pillow decodes it: libturbojpeg, found while the program runs, with its accurate transform and smooth
   chroma. Without it, or when stb_image is asked for, pictures/picture.c decodes by that. */
#ifndef REID_TOOLS_TURBOJPEG_H
#define REID_TOOLS_TURBOJPEG_H

#include "base/text.h"

/* In the order of JPEG_DECODERS (base/choices.h). */
typedef enum jpeg_decoder {
    JPEG_AUTO, /* libturbojpeg where it is found */
    JPEG_STB,
    JPEG_TURBO
} jpeg_decoder;

/* 0 after saying that libturbojpeg was asked for and cannot be used, and why. */
int jpeg_decoder_ready(jpeg_decoder wanted);
/* What decodes JPEG files then, for metadata: "libjpeg-turbo" or "stb_image". Their pixels differ by a few levels. */
const char *jpeg_decoder_name(jpeg_decoder wanted);
int jpeg_is_by_turbo(jpeg_decoder wanted);

typedef enum turbo_result {
    TURBO_FAILED,
    TURBO_DOUBTED, /* the file can be decoded, but something is odd or damaged */
    TURBO_DONE
} turbo_result;

/* A file of `components` (1, 3 or 4), to rows of RGB. Grey becomes equal channels; four components are inverted CMYK,
   as Adobe writes it and as Pillow takes all of them to be. */
typedef struct turbo_job {
    const unsigned char *file;
    size_t len;
    int width, height, components; /* as the frame's header says */
    unsigned char *to;             /* turbojpeg_room bytes, of which the first 3 * width * height become the pixels */
} turbo_job;

size_t turbojpeg_room(int width, int height, int components);
/* The reason for anything but TURBO_DONE is in why. accepted: NULL, or the reason for an earlier TURBO_DOUBTED, which
   does not count this time: TURBO_DONE then means that the library has complained about nothing else that it could not
   go on after. */
turbo_result turbojpeg_decode(const turbo_job *job, const char *accepted, text *why);

#endif
