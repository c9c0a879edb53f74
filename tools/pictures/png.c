#include "pictures/png.h"

#include <limits.h>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#include <stb/stb_image_write.h>

static void collect_bytes(void *user, void *bytes, int n) { text_add(user, bytes, (size_t)n); }

int png_make(text *out, const unsigned char *rgb, int width, int height, text *why) {
    text_clear(out);
    text_clear(why);
    if (width < 1 || height < 1 || (long long)width * height > INT_MAX / 8) { /* the writer counts in int */
        text_printf(why, "%d x %d pixels are too many for a PNG", width, height);
        return 0;
    }
    int good = stbi_write_png_to_func(collect_bytes, out, width, height, 3, rgb, 3 * width);
    return (good && !text_failed(out)) || text_no_memory(why);
}
