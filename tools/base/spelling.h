/* Spellings of one name (base/unicode.h): the file that is there under another one, and two identities that are one. */
#ifndef REID_TOOLS_SPELLING_H
#define REID_TOOLS_SPELLING_H

/* A copy of the path. If no file has it, but one has the same name with each part composed (NFC) or decomposed (NFD),
   returns the path of that file. The caller frees it; NULL when memory runs out. */
char *path_spelled(const char *path);

/* For two identities that are neighbours in an order by spelling: warns if they are spellings of one, and then returns
   1, so that a list causes one warning. */
int name_warn_of_forms(const char *a, const char *b);

#endif
