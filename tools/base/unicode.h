/* Names that Unicode writes in several ways. A folder that Apple's tools made spells é as e and an accent (NFD), a
   table from elsewhere as one character (NFC); both look the same, so they are one name here: names are one if their
   canonical decompositions are the same (Unicode Standard Annex #15). Outputs spell a name as its first source does.
   Bytes that are not UTF-8 equal themselves alone. ASCII is compared as bytes. */
#ifndef REID_TOOLS_UNICODE_H
#define REID_TOOLS_UNICODE_H

#include <stddef.h>
#include <stdint.h>

struct text;

/* Like strcmp, but 0 for two spellings of one name. */
int name_order(const char *a, const char *b);
/* The same order, with the spellings of one name in the order of their bytes. */
int name_order_spelled(const char *a, const char *b);
/* 1 for two spellings of one name. */
int name_same(const char *a, const char *b);
/* name_order_spelled for arrays of char *. */
int order_names(const void *a, const void *b);
/* Finds a name among elements of `size` bytes that begin with a char *, sorted by name_order_spelled: the one with the
   same bytes, else another spelling. NULL: there is none. */
const void *name_find(const char *name, const void *array, size_t count, size_t size);
/* One hash for all spellings of a name; for ASCII that of hash_bytes. */
uint64_t name_hash(uint64_t hash, const char *name);
/* 1 if other spellings of the name are possible: it is not ASCII. */
int name_has_forms(const char *name);

/* Append the name with all characters decomposed (NFD), or composed as far as Unicode composes them (NFC). */
void text_nfd(struct text *t, const char *s);
void text_nfc(struct text *t, const char *s);
/* A copy of the name with all characters decomposed, for searches by parts of names. NULL when memory runs out. */
char *name_decomposed(const char *name);

#endif
