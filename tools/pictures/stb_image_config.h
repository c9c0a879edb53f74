/* stb_image (Debian's libstb-dev) with only the formats that the command reads, and with readable error messages. */
#ifndef REID_TOOLS_STB_IMAGE_CONFIG_H
#define REID_TOOLS_STB_IMAGE_CONFIG_H

#include "pictures/decoder_memory.h"

#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STBI_FAILURE_USERMSG
#define STBI_MALLOC(size) decoder_alloc(NULL, size)
#define STBI_REALLOC(block, size) decoder_alloc(block, size)
#define STBI_FREE(block) decoder_free(block)

#include <stb/stb_image.h>

#endif
