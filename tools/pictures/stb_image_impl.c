#define STB_IMAGE_IMPLEMENTATION
#include "pictures/stb_image_config.h"
