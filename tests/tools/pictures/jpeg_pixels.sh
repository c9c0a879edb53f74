# jpeg_pixels.sh: compiles jpeg_pixels.c, which decodes images like the command, with sanitizers; sets $program.
# Sourced by tests of decoders.
# shellcheck shell=sh
program=$work/jpeg_pixels
(
    cd "$repository" || exit 1
    set -- pictures/picture pictures/turbojpeg pictures/webp pictures/tiff pictures/picture_facts pictures/png_text \
        pictures/jpeg pictures/pnm pictures/bmp pictures/tga pictures/png_palette pictures/exif \
        pictures/decoder_memory pictures/stb_image_impl base/files base/replace base/source base/text base/say \
        base/memory base/library base/clock base/container base/crc32 base/file_kind base/threads base/choices base/when
    # shellcheck disable=SC2046 # several words
    ${CC:-cc} -std=c99 -D_GNU_SOURCE -O1 -g -fsanitize=address,undefined -fwrapv -I. -Itools \
        tests/tools/pictures/jpeg_pixels.c $(printf 'tools/%s.c ' "$@") \
        -o "$program" -lm -lpthread -ldl
) || exit 1
