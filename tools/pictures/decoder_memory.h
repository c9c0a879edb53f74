/* The memory of a picture's decoder: counted, and refused beyond what its pixels need. Every thread has a count of its
   own. */
#ifndef REID_TOOLS_DECODER_MEMORY_H
#define REID_TOOLS_DECODER_MEMORY_H

#include "pictures/picture_facts.h"

#include <stddef.h>

/* The calling thread's next decoding may hold this many bytes at a time. */
void decoder_begin(size_t budget);
/* Since then: was there no memory, was the budget used up? Decoders often report either as a damaged file. */
int decoder_had_no_memory(void);
int decoder_wanted_too_much(void);

/* malloc (zeroed, so that what a damaged file leaves out is the same in every run) or realloc, freed by decoder_free
   on any thread. */
void *decoder_alloc(void *block, size_t size);
void decoder_free(void *block);
/* As malloc, for a decoder that writes every byte of a picture that it does not refuse. */
void *decoder_alloc_uncleared(size_t size);
/* Gives back what decoder_free keeps for the next large pictures, 128 MiB at most. */
void decoder_trim(void);

/* Bytes that decoding an image of this size holds at its peak, in addition to the `len` bytes of its file: what
   stb_image (by_turbo: libturbojpeg) allocates for this kind of file, twice the file's bytes for a PNG's compressed
   data, which stb_image gathers in a block that grows by doubling, and 256 KiB for tables. upright: it is turned
   afterwards. */
size_t decoder_need(const picture_facts *is, size_t len, int width, int height, int upright, int by_turbo);

#endif
