/* Growable byte strings, the escapes of every text format that the command writes, and strict number parsing. */
#ifndef REID_TOOLS_TEXT_H
#define REID_TOOLS_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* A string that is always 0-terminated once something was added. A zeroed text is empty. If memory runs out, the text
   becomes the words "out of memory" until text_clear or text_free, which is right for the reason of an error; code that
   stores or sends a text, or uses it as a name, checks text_failed first. */
typedef struct text {
    char *s;
    size_t len, cap;
} text;

#define TEXT_INIT {NULL, 0, 0}

/* 1 if memory ran out while the text was written. */
int text_failed(const text *t);
/* Turns the text into such a failed one, for the reason of an error. Always returns 0. */
int text_no_memory(text *t);

/* Replaces why with the message. Always returns 0. */
int refuse(text *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The message is "doing: " and the text of errno; otherwise like refuse. */
int refuse_errno(text *why, const char *doing);

void text_add(text *t, const void *bytes, size_t len);
/* Appends another text; if that one has failed, so has this. */
void text_join(text *t, const text *more);
void text_puts(text *t, const char *s);
void text_putc(text *t, int c);
void text_printf(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(text *t, const char *format, va_list list) __attribute__((format(printf, 2, 0)));
void text_clear(text *t);
void text_free(text *t);

/* A quoted JSON string, with at least the escapes of text_visible. Bytes that are not UTF-8 become lone surrogates
   U+DC80 + byte, as Python's surrogateescape. */
void text_json(text *t, const char *s);
/* A CSV field, quoted if RFC 4180 requires it. One that a spreadsheet would take for a formula gets a ' before it,
   which csv_record removes. */
void text_csv(text *t, const char *s);
/* 1 for a text that begins like a formula (= + - @, a tab, a carriage return), perhaps after some ' marks. */
int text_is_formula(const char *s);
/* Text between tags or in an attribute of HTML; bytes that are not UTF-8, or not allowed there, become question
   marks. */
void text_html(text *t, const char *s);
/* One line of an ids file: backslash and newline escaped, newline added. */
void text_id_line(text *t, const char *s);
/* Text for people: control characters, characters that change the direction of writing, and invalid UTF-8 are escaped,
   so that a file name can neither control the terminal nor look like another one. */
void text_visible(text *t, const char *s);
/* Escapes the one character at s, which is not 0, into out like text_visible. Returns how many bytes of s it takes. */
int visible_character(const char *s, char out[8]);
/* Like text_visible, into an array, truncated if it is full. Returns the length. */
size_t visible(char *out, size_t size, const char *s);
/* 1 for postgresql://… and postgres://…, which are the address of a database. */
int is_database_url(const char *place);
/* 1 if the user and password of such a URL are unambiguous: it has no second @, because a password that was not encoded
   may contain any character, and no port that may be part of a password. */
int is_plain_url(const char *place);
/* visible() for a path or such a URL, with *** in place of anything that may be a password. */
size_t visible_place(char *out, size_t size, const char *place);
/* Appends Base64 with padding. */
void text_base64(text *t, const void *bytes, size_t len);

/* Bytes of the UTF-8 sequence at s (never looking past a 0 byte), 0 if it is not one. */
int utf8_length(const char *s);
/* The code point of the sequence of n bytes at s. */
unsigned utf8_code(const char *s, int n);
/* 1 if all of s is UTF-8. */
int utf8_valid(const char *s);
/* Length of the byte order mark that some editors put before UTF-8: 3 or 0. */
size_t utf8_mark(const char *bytes, size_t len);
/* 1 for text that begins with the byte order mark of UTF-16. */
int text_is_utf16(const char *bytes, size_t len);
/* Appends such text as UTF-8, without the mark. Returns 0 if it is damaged, or memory runs out. */
int text_add_utf16(text *t, const char *bytes, size_t len);
/* Converts a file in place, if it is such text. Returns 0 with the reason in why if it is damaged. */
int text_from_utf16(text *file, text *why);
/* Appends a code point; U+DC80 … U+DCFF become the single bytes that they stand for. */
void text_utf8(text *t, unsigned code);

/* 1 for the white space of ASCII. */
int is_white(int c);
int text_ends_with(const char *s, const char *end);
/* Turns a path as people write it on this system into one with slashes: on Windows, backslashes become slashes. */
void path_given(char *path);
/* 1 if the path does not depend on the current folder. */
int path_is_absolute(const char *path);
/* The part of a path after its last slash. */
const char *path_name(const char *path);
/* The length of a file's name without its extension: "a" of a.jpg, all of .hidden. */
size_t path_stem(const char *name);
/* Sets folder to the path before its last slash: "/" for /a, "." for a. */
void path_folder(text *folder, const char *path);
/* 1 if the file's name is more than this ending and ends with it. */
int path_has_ending(const char *path, const char *ending);

/* All of s must be a number in lo … hi; otherwise they return 0. */
int parse_int(const char *s, long long lo, long long hi, long long *out);
int parse_real(const char *s, double lo, double hi, double *out);
/* Parses a decimal number of bytes without a sign, as in Content-Length; returns 0 if it is above most. */
int parse_size(const char *s, size_t most, size_t *out);
/* "" for 1, else "s": printf("%zu image%s", n, plural(n)). */
const char *plural(size_t n);
/* Parses 1000, 64K, 512M, 2G, in powers of 1024. */
int parse_bytes(const char *s, size_t *out);

#endif
