/* Names of the JPEG decoders that a gallery's templates may come from, in order with ", " between them. */
#ifndef REID_TOOLS_STORE_DECODERS_H
#define REID_TOOLS_STORE_DECODERS_H

#include "gallery/store_types.h"

/* Adds names, with ", " between them, to those of `to`. Returns 0, and leaves them as they are, when one is no name of
   a decoder, or when there would be more than STORE_DECODERS. */
int store_join_decoders(char to[STORE_JPEG], const char *names);

/* Is it the name of one decoder? */
int decoder_is_name(const char *name, size_t length);
/* The name that follows one of this length; "" at the end, NULL when what follows is no name. */
const char *decoder_next(const char *name, size_t length);
/* Adds one name. Returns 0 when there are STORE_DECODERS already. */
int decoder_join(char to[STORE_JPEG], const char *name, size_t length);

#endif
