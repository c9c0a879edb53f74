#include "pictures/crop_origin.h"

#include "pictures/box_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

crop_origin crop_origin_of(const char *source) {
    static const char mark[] = "#t=";
    crop_origin o = {.seconds = (double)NAN};
    const char *at = NULL;
    for (const char *next = source; (next = strstr(next, mark)) != NULL; next++) at = next;
    if (at) {
        char *end;
        o.seconds = strtod(at + strlen(mark), &end);
        o.boxed = sscanf(end, "&xywh=%lf,%lf,%lf,%lf", &o.box[0], &o.box[1], &o.box[2], &o.box[3]) == 4;
        o.length = (size_t)(at - source);
        if (o.boxed) return o;
    }
    box_unit unit;
    o.seconds = (double)NAN;
    o.length = box_text_split(source, &unit, o.box);
    o.boxed = unit == BOX_PIXELS;
    return o;
}
