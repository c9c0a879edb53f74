/* The memory of a picture's decoder: counted, and refused beyond what its pixels need. Every thread has a count of its
   own. */
#ifndef REID_TOOLS_DECODER_MEMORY_H
#define REID_TOOLS_DECODER_MEMORY_H

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

/* Bytes that decoding a picture of this size (as its header says) holds at its peak, beside the file itself: what
   stb_image or libturbojpeg allocates for this kind of file, twice the file's own bytes for a PNG's compressed data,
   which it gathers in a block that grows by doubling, and 256 KiB for tables. upright: it is turned afterwards. */
size_t decoder_need(const unsigned char *file, size_t len, int width, int height, int upright);

#endif
