/* Writes the results of film_make for one film as bytes and reads them back, so that an interrupted run can continue
   after the films that it finished. Only the same version on the same kind of machine can read them. */
#ifndef REID_TOOLS_FILM_RECORD_H
#define REID_TOOLS_FILM_RECORD_H

#include "tracks/film.h"

/* Writes the record of a film. All of its rows, which begin with `first`, must be embedded. */
void film_record(const film *f, const crop_rows *rows, size_t first, text *bytes);

/* Restores a film from its record, in place of film_make. f->found must be as it was before film_make, no row may wait,
   and the images of the crops must exist. Returns 0 after saying what is wrong with the record `name`; film_free(f) is
   then allowed. */
int film_recall(film *f, const film_request *r, crop_rows *rows, const text *bytes, const char *name);

#endif
