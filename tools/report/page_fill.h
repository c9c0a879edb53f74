/* Fills values into the markup of pages, which is in .html files that are compiled in as bytes. Such a file consists of
   pieces:

       {{#match}}
       <li>{{who}}<b>{{score}}</b></li>

       {{#end}}

   A piece begins after a line {{#NAME}} and ends before the newline in front of the next such line, so a piece that
   must end with a newline is followed by an empty line. {{KEY}} becomes the value of that name, escaped as text;
   {{&KEY}} inserts it as markup. A missing piece or key is a programming error, at which assert ends the program. */
#ifndef REID_TOOLS_PAGE_FILL_H
#define REID_TOOLS_PAGE_FILL_H

#include "base/text.h"

/* The bytes of a file; the Makefile generates them. */
typedef struct page_markup {
    const unsigned char *bytes;
    size_t len;
} page_markup;

/* Keys and their values; a zeroed struct is empty. */
typedef struct page_values {
    text pairs;
} page_values;

/* Sets a value, formatted as by printf. */
void page_set(page_values *v, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Appends a filled piece to out and frees the values. v: NULL for a piece without keys. If there was no memory for a
   value, out is marked as out of memory. */
void page_fill(text *out, const page_markup *m, const char *piece, page_values *v);

#endif
