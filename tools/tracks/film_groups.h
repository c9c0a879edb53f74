/* Joins broken tracks, film by film, and then finds individuals in all films together. */
#ifndef REID_TOOLS_FILM_GROUPS_H
#define REID_TOOLS_FILM_GROUPS_H

#include "tracks/film.h"

#define FILM_NO_GROUP UINT32_MAX /* of a track if none of its crops could be embedded */

typedef struct film_groups_request {
    film *films;           /* [count]: sets whole, number and group of their tracks */
    size_t count;
    const crop_rows *rows; /* all embedded */
    const double *weights; /* [MAX_MODELS]: of the models */
    double threshold;      /* a score: tracks and groups are merged down to this mean */
    const reid_desc *search;
} film_groups_request;

/* All crops of a track show one individual; tracks that share a frame show different ones. Returns 0 after saying what
   is wrong, or without a message when interrupted(). */
int film_groups_make(const film_groups_request *r, size_t *groups);

/* Sets what is known of each crop: its camera, but no identity, because a folder is a place; when it was taken, by the
   camera's clock; its photo and box; and its track, numbered from 0 through all films. Returns 0 after reporting that
   memory ran out. */
int film_groups_tell(const film *films, size_t count, crop_rows *rows);

#endif
