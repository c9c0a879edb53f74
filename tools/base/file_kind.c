#include "base/file_kind.h"

#include <string.h>
#include <strings.h>

static const file_kind KINDS[] = {
    {0, 3, "\xff\xd8\xff", FILE_PICTURE, "a JPEG image"},
    {0, 4, "\x89PNG", FILE_PICTURE, "a PNG image"},
    {0, 4, "GIF8", FILE_PICTURE, "a GIF image"},
    {8, 4, "WEBP", FILE_PICTURE, "a WebP image"},
    {4, 8, "ftypavif", FILE_PICTURE, "an AVIF image"},
    {4, 8, "ftypavis", FILE_PICTURE, "an AVIF image"},
    {4, 8, "ftypheic", FILE_PICTURE, "a HEIC image"},
    {4, 8, "ftypheix", FILE_PICTURE, "a HEIC image"},
    {4, 8, "ftypheim", FILE_PICTURE, "a HEIC image"},
    {4, 8, "ftypmif1", FILE_PICTURE, "a HEIC image"},
    {4, 8, "ftypmsf1", FILE_PICTURE, "a HEIC image"},
    {4, 7, "ftypcrx", FILE_PICTURE, "a raw image"},
    {4, 4, "ftyp", FILE_PICTURE, "a HEIC image or a video"},
    {0, 4, "II*\0", FILE_PICTURE, "a TIFF or raw image"},
    {0, 4, "MM\0*", FILE_PICTURE, "a TIFF or raw image"},
    {0, 4, "II+\0", FILE_PICTURE, "a TIFF or raw image"},
    {0, 4, "MM\0+", FILE_PICTURE, "a TIFF or raw image"},
    {0, 4, "IIU\0", FILE_PICTURE, "a raw image"},
    {0, 4, "IIRO", FILE_PICTURE, "a raw image"},
    {0, 4, "IIRS", FILE_PICTURE, "a raw image"},
    {0, 4, "MMOR", FILE_PICTURE, "a raw image"},
    {0, 8, "FUJIFILM", FILE_PICTURE, "a raw image"},
    {0, 4, "FOVb", FILE_PICTURE, "a raw image"},
    {0, 4, "\0MRM", FILE_PICTURE, "a raw image"},
    {0, 4, "\0\0\1\0", FILE_PICTURE, "an icon"},
    {0, 12, "\0\0\0\x0CjP  \r\n\x87\n", FILE_PICTURE, "a JPEG 2000 image"},
    {0, 4, "\xff\x4f\xff\x51", FILE_PICTURE, "a JPEG 2000 image"},
    {0, 3, "II\xbc", FILE_PICTURE, "a JPEG XR image"},
    {0, 12, "\0\0\0\x0CJXL \r\n\x87\n", FILE_PICTURE, "a JPEG XL image"},
    {0, 4, "8BPS", FILE_PICTURE, "a Photoshop file"},
    {0, 4, "%PDF", FILE_PICTURE, "a PDF file"},
    {0, 2, "P1", FILE_PICTURE, "a bitmap (PBM)"},
    {0, 2, "P2", FILE_PICTURE, "a PGM image in text form"},
    {0, 2, "P3", FILE_PICTURE, "a PPM image in text form"},
    {0, 2, "P4", FILE_PICTURE, "a bitmap (PBM)"},
    {0, 2, "\x1f\x8b", FILE_PACKED, "gzip data"},
    {0, 6, "7z\xbc\xaf\x27\x1c", FILE_PACKED, "a 7z archive"},
    {0, 6, "\xfd" "7zXZ", FILE_PACKED, "xz data"},
    {0, 3, "BZh", FILE_PACKED, "bzip2 data"},
    {0, 4, "\x28\xb5\x2f\xfd", FILE_PACKED, "zstd data"},
    {0, 4, "Rar!", FILE_PACKED, "a RAR archive"},
    {0, 5, "<?xml", FILE_XML, "XML"},
    {0, 23, "version https://git-lfs", FILE_LFS_POINTER, "a Git LFS pointer"},
    {0, 2, "{\"", FILE_JSON, "JSON text"},
    {0, 2, "{\n", FILE_JSON, "JSON text"},
    {0, 4, "\x89HDF", FILE_HDF5, "an HDF5 file"},
    {0, 6, "\x93NUMPY", FILE_DATA, "a NumPy array"},
    {0, 4, "GGUF", FILE_DATA, "a GGUF file"},
    {4, 4, "TFL3", FILE_DATA, "a TensorFlow Lite file"},
    {0, 4, "\x7f" "ELF", FILE_DATA, "a program or library, or a compiled engine"},
    {0, 4, "ptrt", FILE_DATA, "a TensorRT engine"},
};

static int is_web_page(const unsigned char *start, size_t size) {
    size_t i = 0;
    while (i < size && i < 64 && start[i] && strchr(" \t\r\n", start[i])) i++;
    return size - i >= 5 && (strncasecmp((const char *)start + i, "<html", 5) == 0 ||
                             strncasecmp((const char *)start + i, "<!doc", 5) == 0);
}

const file_kind *file_kind_of(const unsigned char *start, size_t size) {
    static const file_kind page = {0, 0, "", FILE_WEB_PAGE, "a web page"};
    if (is_web_page(start, size)) return &page;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (size >= KINDS[i].at + KINDS[i].len && memcmp(start + KINDS[i].at, KINDS[i].bytes, KINDS[i].len) == 0)
            return &KINDS[i];
    return NULL;
}
