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
/* Zeroed memory: what a damaged file leaves out is then the same in every run. */
#define STBI_MALLOC(size) calloc(1, size)
#define STBI_REALLOC(block, size) realloc(block, size)
#define STBI_FREE(block) free(block)
#include <stdlib.h>
#include <stb/stb_image.h>

#endif
