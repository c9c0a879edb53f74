#include "pictures/box_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char MARK[] = "#xywh=", FRACTION[] = "fraction:";

void box_text(text *t, const input *in) {
    text_puts(t, in->path);
    if (in->unit == BOX_NONE) return;
    text_puts(t, MARK);
    if (in->unit == BOX_NORMALISED) text_puts(t, FRACTION);
    for (int i = 0; i < 4; i++) text_printf(t, i ? ",%.17g" : "%.17g", in->box[i]);
}

/* Parses exactly four finite numbers separated by commas. */
static int read_box(const char *s, double box[4]) {
    if (s[strspn(s, "0123456789.,+-e")]) return 0; /* excludes hexadecimal numbers and infinities */
    for (int i = 0; i < 4; i++) {
        char *end;
        box[i] = strtod(s, &end);
        if (end == s || !isfinite(box[i]) || *end != (i < 3 ? ',' : 0)) return 0;
        s = end + (i < 3);
    }
    return 1;
}

size_t box_text_split(const char *s, box_unit *unit, double box[4]) {
    const char *at = NULL;
    for (const char *next = s; (next = strstr(next, MARK)) != NULL; next++) at = next;
    *unit = BOX_NONE;
    if (!at) return strlen(s);
    const char *numbers = at + strlen(MARK);
    int fraction = strncmp(numbers, FRACTION, strlen(FRACTION)) == 0;
    if (!read_box(numbers + (fraction ? strlen(FRACTION) : 0), box)) return strlen(s);
    *unit = fraction ? BOX_NORMALISED : BOX_PIXELS;
    return (size_t)(at - s);
}
