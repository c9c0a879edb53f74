/* Which tracks of films are one: those that broke are joined, film by film, then individuals are found in all films
   together. */
#ifndef REID_TOOLS_FILM_GROUPS_H
#define REID_TOOLS_FILM_GROUPS_H

#include "tracks/film.h"

#define FILM_NO_GROUP UINT32_MAX /* of a track none of whose crops could be embedded */

typedef struct film_groups_request {
    film *films;           /* [count]: whole, number and group of their tracks are set */
    size_t count;
    const crop_rows *rows; /* all of them done */
    const double *weights; /* of the models, [MAX_MODELS] */
    double threshold;      /* a score: tracks are joined, and groups, down to this mean */
    const reid_desc *search;
} film_groups_request;

/* The crops of a track are one individual; tracks that share a frame are not. Returns 0 after saying what is wrong, or
   without a word when interrupted(). */
int film_groups_make(const film_groups_request *r, size_t *groups);

/* Sets what is known of each crop: its camera, but no identity, because a folder is a place; when it was taken, by the
   camera's clock; its photo and box; and its track, numbered from 0 through all films. Returns 0 after reporting that
   memory ran out. */
int film_groups_tell(const film *films, size_t count, crop_rows *rows);

#endif
