/* Joins tracks of a film that belong together, because one of them broke and another continues it, and tells the code
   that groups crops what is known of them: their tracks, and which tracks show different individuals. */
#ifndef REID_TOOLS_FILM_GROUPS_H
#define REID_TOOLS_FILM_GROUPS_H

#include "tracks/film.h"

#define FILM_NO_GROUP UINT32_MAX /* of a track if none of its crops could be embedded */

typedef struct film_groups_request {
    film *films;           /* [count]: whole and number of their tracks are set */
    size_t count;
    const crop_rows *rows; /* all of them done */
    const double *weights; /* of the models, [MAX_MODELS] */
    double threshold;      /* a score: tracks are joined down to this mean */
} film_groups_request;

/* Joins broken tracks, film by film; when it is called again, anew. With an infinite threshold, all stay apart. Returns
   0 after saying what is wrong, or without a message when interrupted(). */
int film_groups_join(const film_groups_request *r);

/* Sets what is known of each crop: its camera, but no identity, because a folder is a place; when it was taken, by the
   camera's clock; its photo or video and its box; and its track, as NAME/NUMBER. Returns 0 after reporting that memory
   ran out. */
int film_groups_tell(const film *films, size_t count, crop_rows *rows);

/* Pairs of tracks that share a frame and therefore show different individuals, each pair once. The caller frees pairs;
   their names belong to rows, to which film_groups_tell has given them, and tracks without a row are not among them.
   Returns 0 after reporting that memory ran out. */
int film_groups_apart(const film *films, size_t count, const crop_rows *rows, track_pair **pairs, size_t *pair_count);

/* Sets the group of each track: that of its crops. group: [rows->list.count], FILM_NO_GROUP for crops without a row. */
void film_groups_take(film *films, size_t count, const uint32_t *group);

#endif
