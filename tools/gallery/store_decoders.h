/* Names of the JPEG decoders that a gallery's templates may come from, in order with ", " between them. */
#ifndef REID_TOOLS_STORE_DECODERS_H
#define REID_TOOLS_STORE_DECODERS_H

#include "gallery/store_types.h"

/* Adds names, with ", " between them, to those of `to`. Returns 0, and leaves `to` unchanged, when a name is invalid,
   or when there would be more than STORE_DECODERS. */
int store_join_decoders(char to[STORE_JPEG], const char *names);

/* 1 if it is a valid name of one decoder. */
int decoder_is_name(const char *name, size_t length);
/* The name after one of this length; "" at the end, NULL if the next name is invalid. */
const char *decoder_next(const char *name, size_t length);
/* Adds one name. Returns 0 if there are already STORE_DECODERS. */
int decoder_join(char to[STORE_JPEG], const char *name, size_t length);

#endif
