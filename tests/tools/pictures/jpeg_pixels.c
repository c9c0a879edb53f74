/* jpeg_pixels.c: decodes images like the command, for tests. jpeg_pixels auto|stb|turbo FILE... prints the decoder's
   name; then for each FILE it prints the size and writes FILE.rgb, or prints why the file is refused. Compiled by
   tests/tools/pictures/jpeg_pixels.sh. */
#include "base/choices.h"
#include "pictures/picture.h"

#include <stdio.h>
#include <stdlib.h>

static int keep(const picture *p, const char *path) {
    text name = TEXT_INIT;
    text_printf(&name, "%s.rgb", path);
    FILE *f = fopen(name.s, "wb");
    size_t size = 3 * (size_t)p->width * (size_t)p->height;
    int good = f && fwrite(p->rgb, 1, size, f) == size;
    if (f && fclose(f) != 0) good = 0;
    text_free(&name);
    return good;
}

int main(int argc, char **argv) {
    int decoder = argc > 1 ? choice_index(JPEG_DECODERS, argv[1]) : -1;
    picture_limits limits = picture_limits_of(100000000, 1);
    limits.jpeg = (jpeg_decoder)decoder;
    if (decoder < 0 || !jpeg_decoder_ready(limits.jpeg)) return 2;
    printf("%s\n", jpeg_decoder_name(limits.jpeg));
    for (int i = 2; i < argc; i++) {
        picture p;
        text why = TEXT_INIT;
        int good = picture_open(&p, argv[i], &limits, &why) && picture_decode(&p, &why);
        if (good) printf("%s: %d x %d\n", argv[i], p.width, p.height);
        else printf("%s: refused: %s\n", argv[i], why.s);
        if (good && !keep(&p, argv[i])) return 1;
        picture_free(&p);
        text_free(&why);
    }
    return 0;
}
