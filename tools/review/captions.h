/* What the page says about each crop: the photo or film that it was cut from, the camera, the time, and the category
   that the detector gave it. */
#ifndef REID_TOOLS_CAPTIONS_H
#define REID_TOOLS_CAPTIONS_H

#include "base/json_write.h"
#include "groups/crops.h"
#include "pictures/inputs.h"

/* What a detector finds in photos of animals, in the words of MegaDetector. */
typedef enum category { CATEGORY_UNKNOWN, CATEGORY_ANIMAL, CATEGORY_PERSON, CATEGORY_VEHICLE, CATEGORIES } category;

typedef struct captions {
    const crops *crops;
    const input *const *box;   /* [crops->count] the box of each crop in its photo, or NULL; NULL: none is known */
    unsigned char *categories; /* [crops->count] */
} captions;

/* What is known of one crop. */
typedef struct caption_facts {
    const char *photo;  /* the path of its photo; NULL: as in source */
    const char *source; /* its photo and box, as in box_text.h, or its place in a film; NULL: unknown */
    const char *camera; /* NULL or "": unknown */
    long long when;     /* STORE_NO_TIME: unknown */
} caption_facts;

/* Appends "IMG_0001.JPG, CAM01, 2024-05-31 06:30:00", without what is unknown. The photo is named without its folder,
   which a page that is passed on must not reveal. */
void caption_add(text *t, const caption_facts *f);

/* folder: that of reid track, whose tracks.json names the categories of crops that have none in their boxes; NULL:
   there is none. c and box must outlive the result. Returns 0 after reporting that memory ran out; free it in any
   case. */
int captions_open(captions *to, const crops *c, const input *const *box, const char *folder);
/* Writes four arrays with a member for each crop, null where it is unknown: "photos" (names of photos or films),
   "cameras", "times" ("2024-05-31 06:30:00" by the camera's clock; "0:12:05" since the beginning of a film) and
   "categories" ("animal", "person", "vehicle"). Arrays without any known member are left out. */
void captions_put(const captions *of, json_writer *w);
void captions_free(captions *to);

#endif
