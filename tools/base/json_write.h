/* Writes the JSON of all files and answers: commas, colons and escapes come from here. A writer appends one value after
   another to a text, "key": value within an object and value alone within an array; where key is a parameter, it is
   NULL in an array and at the top level. Keys and strings are escaped by text_json.

       json_writer w = json_write(&line);
       json_put_object(&w, NULL);
       json_put_string(&w, "path", path);
       json_put_number(&w, "score", score, 9);
       json_put_end(&w);                        {"path": "a.jpg", "score": 0.5}

   A missing or superfluous key, or an end too many, is a bug in the program and asserted. If memory runs out,
   text_failed reports it. */
#ifndef REID_TOOLS_JSON_WRITE_H
#define REID_TOOLS_JSON_WRITE_H

#include "base/text.h"

enum { JSON_WRITE_DEPTH = 32 };

typedef struct json_writer {
    text *out;
    int tight;       /* set it for no spaces after commas and colons */
    int depth;       /* objects and arrays that are open */
    uint32_t arrays; /* bit d - 1: the one at depth d is an array */
    int some;        /* the innermost one has a member */
    int line;        /* spaces at the beginning of the line that comes next; -1: the line goes on */
} json_writer;

/* Begins a value, or several that the caller separates. */
json_writer json_write(text *out);
/* Begins the inside of an object ('{') or array ('['), without its brackets. some: out already has members of it. */
json_writer json_write_inside(text *out, char bracket, int some);

void json_put_object(json_writer *w, const char *key);
void json_put_array(json_writer *w, const char *key);
/* Ends the innermost open object or array. */
void json_put_end(json_writer *w);
/* Ends all open objects and arrays, and the line. */
void json_put_finish(json_writer *w);
/* Adds what json_write_inside has written, perhaps nothing, as the first members of the open object or array. */
void json_put_inside(json_writer *w, const text *members);
/* Puts the next member, or the end, on a new line that begins with so many spaces. */
void json_put_line(json_writer *w, int spaces);

/* A NULL value is written as null. */
void json_put_string(json_writer *w, const char *key, const char *value);
/* A string formatted as by printf. */
void json_put_format(json_writer *w, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
void json_put_int(json_writer *w, const char *key, long long value);
void json_put_count(json_writer *w, const char *key, unsigned long long value);
/* %.*g with so many significant digits; null for a value that is not finite, here and below. */
void json_put_number(json_writer *w, const char *key, double value, int digits);
/* %.*f with so many digits after the point. */
void json_put_fixed(json_writer *w, const char *key, double value, int digits);
/* The shortest decimal of at least 6 digits that reads back as the same double. */
void json_put_exact(json_writer *w, const char *key, double value);
void json_put_bool(json_writer *w, const char *key, int value);
void json_put_null(json_writer *w, const char *key);
/* An array, without spaces, of numbers that read back as the same float32. */
void json_put_floats(json_writer *w, const char *key, const float *values, size_t count);
/* An array of numbers as json_put_number writes them. */
void json_put_numbers(json_writer *w, const char *key, const double *values, size_t count, int digits);
/* For any other value: returns the text, to which the caller appends it. */
text *json_put_value(json_writer *w, const char *key);

#endif
