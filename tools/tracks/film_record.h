/* What film_make has found in one film, as bytes that outlive the process, and back: by it a run that was interrupted
   goes on behind the films that it has finished. Only the same version on the same kind of machine reads them. */
#ifndef REID_TOOLS_FILM_RECORD_H
#define REID_TOOLS_FILM_RECORD_H

#include "tracks/film.h"

/* A film whose rows, which begin with `first`, are all done. */
void film_record(const film *f, const crop_rows *rows, size_t first, text *bytes);

/* Instead of film_make: f->found has to be what it was before the film was made, and no row may wait. Pictures of crops
   must be there. Returns 0 after saying what is wrong with the record `name`; f is then as film_free allows. */
int film_recall(film *f, const film_request *r, crop_rows *rows, const text *bytes, const char *name);

#endif
