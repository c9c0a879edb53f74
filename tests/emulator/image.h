/* image.h: the bytes that our NVRTC makes and our driver loads. */
#ifndef REID_EMULATOR_IMAGE_H
#define REID_EMULATOR_IMAGE_H

#include <stddef.h>

/* In every compiled module: REID_EMULATOR_META arch, suffix, mode, version, then the options. */
#define REID_EMULATOR_META "reid-emulator-meta: "

typedef struct emu_image {
    const unsigned char *bytes; /* the shared library */
    size_t size;
    unsigned char *decoded; /* PTX: what `bytes` points to */
    int is_ptx, arch, version; /* version: of the NVRTC, 13000 */
    char suffix;               /* 'a', 'f' or 0 */
    char mode[8];
} emu_image;

int emu_image_open(emu_image *image, const void *data); /* a CUresult */
void emu_image_close(emu_image *image);

/* The "PTX" of a compiled module: a head like real PTX, the library in base 64 as comments. malloc'ed. */
char *emu_image_to_ptx(const unsigned char *bytes, size_t size, int arch, char suffix, int version);

#endif
