/* image.c: recognises compiled modules, and converts them to and from PTX text. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_api.h"
#include "image.h"

static const char emu_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char emu_marker[] = "// reid emulator image\n";
enum { LINE_BYTES = 48 };

char *emu_image_to_ptx(const unsigned char *bytes, size_t size, int arch, char suffix, int version) {
    size_t lines = (size + LINE_BYTES - 1) / LINE_BYTES;
    char *text = (char *)malloc(256 + lines * (LINE_BYTES / 3 * 4 + 4));
    if (!text) return NULL;
    char *to = text + sprintf(text, "//\n// Compiled by the reid emulator, %zu bytes\n//\n\n.version %d.%d\n"
                              ".target sm_%d%.1s\n.address_size 64\n\n%s", size, version / 1000 - 4, version / 10 % 10,
                              arch, suffix ? &suffix : "", emu_marker);
    for (size_t i = 0; i < size; i += 3) {
        if (i % LINE_BYTES == 0) to += sprintf(to, "%s// ", i ? "\n" : "");
        unsigned three = bytes[i] * 65536u;
        if (i + 1 < size) three += bytes[i + 1] * 256u;
        if (i + 2 < size) three += bytes[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6) *to++ = emu_digits[three >> shift & 63];
    }
    strcpy(to, "\n");
    return text;
}

static int decode(emu_image *image, const char *text) {
    const char *from = strstr(text, emu_marker);
    if (!from) return 0;
    from += strlen(emu_marker);
    unsigned char *to = (unsigned char *)malloc(strlen(from) + 4);
    if (!to) return 0;
    image->decoded = to;
    unsigned bits = 0, count = 0;
    for (; *from; from++) {
        const char *digit = *from == '\n' || *from == ' ' ? NULL : strchr(emu_digits, *from);
        if (from[0] == '/' && from[1] == '/' && from[2] == ' ') {
            from += 2;
            continue;
        }
        if (!digit) continue;
        bits = bits << 6 | (unsigned)(digit - emu_digits);
        if (++count % 4) continue;
        *to++ = (unsigned char)(bits >> 16), *to++ = (unsigned char)(bits >> 8), *to++ = (unsigned char)bits;
    }
    image->bytes = image->decoded;
    image->size = (size_t)(to - image->decoded);
    return 1;
}

/* The size of an ELF file, which ends with its section headers as the linker writes it. */
static size_t elf_size(const void *data) {
    Elf64_Ehdr head;
    memcpy(&head, data, sizeof head);
    if (head.e_machine != EM_X86_64 || head.e_shentsize != sizeof(Elf64_Shdr)) return 0;
    return (size_t)head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
}

static int read_meta(emu_image *image) {
    static const char key[] = REID_EMULATOR_META;
    for (size_t i = 0; i + 64 < image->size; i++) {
        char suffix[8];
        if (image->bytes[i] != key[0] || memcmp(image->bytes + i, key, sizeof key - 1) != 0) continue;
        if (sscanf((const char *)image->bytes + i + sizeof key - 1, "arch=%d suffix=%7s mode=%7s version=%d",
                   &image->arch, suffix, image->mode, &image->version) != 4)
            continue;
        image->suffix = strcmp(suffix, "none") == 0 ? 0 : *suffix;
        return 1;
    }
    return 0;
}

int emu_image_open(emu_image *image, const void *data) {
    memset(image, 0, sizeof *image);
    const unsigned char *bytes = (const unsigned char *)data;
    if (memcmp(bytes, "\177ELF", 4) == 0) {
        image->bytes = bytes;
        image->size = elf_size(data);
        if (!image->size) return CUDA_ERROR_NO_BINARY_FOR_GPU;
        return read_meta(image) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
    }
    if (bytes[0] != '/' && bytes[0] != '.') return CUDA_ERROR_INVALID_IMAGE;
    image->is_ptx = 1;
    return decode(image, (const char *)data) && read_meta(image) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}

void emu_image_close(emu_image *image) {
    free(image->decoded);
    image->decoded = NULL;
}
