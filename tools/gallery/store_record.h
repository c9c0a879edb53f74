/* Reads and checks one record of a gallery file. */
#ifndef REID_TOOLS_STORE_RECORD_H
#define REID_TOOLS_STORE_RECORD_H

#include "gallery/store_file.h"
#include "gallery/store_format.h"

typedef struct record {
    uint32_t type, size;          /* size: of the payload */
    const unsigned char *payload; /* in the view, valid until the next read */
} record;

/* Reads the four text lengths of a template whose payload has this size; returns 0 if they do not fit. */
int record_template_lengths(const store_meta *meta, const unsigned char *payload, size_t size, size_t length[4]);
int record_values_are_finite(const store_meta *meta, const unsigned char *row);
/* Returns 0 with the reason; *fatal: the file cannot be read at all. */
int record_read(view *v, const store_meta *meta, uint64_t place, record *r, int *fatal, char why[STORE_WHY]);
/* After damage at `place`: where the next good record is, or the end. */
uint64_t record_next(view *v, const store_meta *meta, uint64_t place, const record *damaged, int *fatal,
                     char why[STORE_WHY]);
/* The id that a damaged template seems to have, for a message; "" if none can be read. */
void record_probable_id(const store_meta *meta, const record *r, char out[80]);

#endif
