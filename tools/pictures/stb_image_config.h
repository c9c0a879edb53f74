/* stb_image (Debian's libstb-dev) with the formats that the command reads and reasons meant for people. */
#ifndef REID_TOOLS_STB_IMAGE_CONFIG_H
#define REID_TOOLS_STB_IMAGE_CONFIG_H

#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_ONLY_TGA
#define STBI_ONLY_PNM
#define STBI_NO_STDIO
#define STBI_FAILURE_USERMSG
#define STBI_MALLOC(size) decoder_alloc(NULL, size)
#define STBI_REALLOC(block, size) decoder_alloc(block, size)
#define STBI_FREE(block) free(block)

#include <stdlib.h>

/* malloc (zeroed, so that what a damaged file leaves out is the same in every run) or realloc. Remembers for the
   calling thread that there was no memory, which stb_image often reports as a damaged file. */
void *decoder_alloc(void *block, size_t size);

#include <stb/stb_image.h>

#endif
