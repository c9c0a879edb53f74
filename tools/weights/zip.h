/* The directory of a zip archive whose members are stored, as torch.save writes them; zip64 included. */
#ifndef REID_TOOLS_ZIP_H
#define REID_TOOLS_ZIP_H

#include "base/source.h"

typedef struct zip_member {
    const char *name;  /* without the zero bytes that a name must not have */
    uint64_t size;     /* bytes, stored */
    uint64_t at;       /* of the data; known after zip_locate */
    uint64_t header;   /* of its local header */
    uint32_t crc;
    unsigned method, flags;
} zip_member;

typedef struct zip {
    zip_member *members; /* sorted by name */
    size_t count;
    char *directory;     /* what the names point into */
    uint64_t directory_at;
} zip;

/* Reads the central directory: names in order, none twice, nothing outside the file. Returns 0 with the reason in
   why. */
int zip_open(zip *z, const source *s, text *why);
void zip_close(zip *z);
/* NULL if there is none. */
zip_member *zip_find(const zip *z, const char *name);
/* Reads the member's own header and sets `at`: it must be stored, not encrypted, and lie in the file. */
int zip_locate(const zip *z, const source *s, zip_member *m, text *why);

#endif
