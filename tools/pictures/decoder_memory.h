/* Memory for image decoders: it is counted, and refused beyond what the image's pixels need. Every thread has its own
   count. */
#ifndef REID_TOOLS_DECODER_MEMORY_H
#define REID_TOOLS_DECODER_MEMORY_H

#include "pictures/picture_facts.h"

#include <stddef.h>

/* Limits the calling thread's next decoding to this many bytes at a time. */
void decoder_begin(size_t budget);
/* Since decoder_begin: 1 if memory ran out; 1 if the budget was used up. Decoders often report either as a damaged
   file. */
int decoder_had_no_memory(void);
int decoder_wanted_too_much(void);

/* malloc (zeroed, so that what a damaged file leaves out is the same in every run) or realloc, freed by decoder_free
   on any thread. */
void *decoder_alloc(void *block, size_t size);
void decoder_free(void *block);
/* Like malloc, without zeroing, for a decoder that writes every byte of any image it accepts. */
void *decoder_alloc_uncleared(size_t size);
/* Frees the memory that decoder_free keeps for the next large images, at most 128 MiB. */
void decoder_trim(void);

/* Bytes that decoding an image of this size holds at its peak, in addition to the `len` bytes of its file: what
   stb_image (by_turbo: libturbojpeg) allocates for this kind of file, twice the file's bytes for a PNG's compressed
   data, which stb_image gathers in a block that grows by doubling, and 256 KiB for tables. upright: it is turned
   afterwards. */
size_t decoder_need(const picture_facts *is, size_t len, int width, int height, int upright, int by_turbo);

#endif
