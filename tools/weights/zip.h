/* Reads the directory of a zip archive, including zip64, whose members are stored without compression, as torch.save
   writes them. */
#ifndef REID_TOOLS_ZIP_H
#define REID_TOOLS_ZIP_H

#include "base/source.h"

typedef struct zip_member {
    const char *name;  /* 0-terminated; a name with a 0 byte in it is refused */
    uint64_t size;     /* bytes, as stored */
    uint64_t at;       /* offset of the data; set by zip_locate */
    uint64_t header;   /* offset of its local header */
    uint32_t crc;
    unsigned method, flags;
} zip_member;

typedef struct zip {
    zip_member *members; /* sorted by name */
    size_t count;
    char *directory;     /* the bytes that the names point into */
    uint64_t directory_at;
} zip;

/* Reads the central directory and sorts it: no name may be repeated, and no member may lie outside the file. Returns 0
   with the reason in why. */
int zip_open(zip *z, const source *s, text *why);
void zip_close(zip *z);
/* Finds a member by name; NULL if there is none. */
zip_member *zip_find(const zip *z, const char *name);
/* Reads the member's local header and sets `at`. The member must be stored without compression or encryption and lie
   inside the file. Returns 0 with the reason in why. */
int zip_locate(const zip *z, const source *s, zip_member *m, text *why);

#endif
