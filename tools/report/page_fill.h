/* Pages are filled into markup that is written in .html files and compiled in as bytes. Such a file is a row of pieces:

       {{#match}}
       <li>{{who}}<b>{{score}}</b></li>

       {{#end}}

   A piece is what follows a line {{#NAME}}, up to the newline before the next such line: one that is to end with a
   newline has an empty line behind it. {{KEY}} becomes the value of that name as text, {{&KEY}} as the markup that it
   is. A piece or key that is not there is a mistake in the program, which assert ends. */
#ifndef REID_TOOLS_PAGE_FILL_H
#define REID_TOOLS_PAGE_FILL_H

#include "base/text.h"

/* A file, with the numbers of its bytes: see the Makefile. */
typedef struct page_markup {
    const unsigned char *bytes;
    size_t len;
} page_markup;

/* Keys and their values; zeroed, there are none. */
typedef struct page_values {
    text pairs;
} page_values;

/* As printf makes the value. */
void page_set(page_values *v, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Adds a piece, filled, and frees the values. v: NULL for a piece without keys. When there was no memory for a value,
   there is none for out. */
void page_fill(text *out, const page_markup *m, const char *piece, page_values *v);

#endif
