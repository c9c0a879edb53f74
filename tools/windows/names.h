/* Names of files and errors between the rooms and Windows: UTF-8 and errno there, UTF-16 and GetLastError here. */
#ifndef REID_WINDOWS_NAMES_H
#define REID_WINDOWS_NAMES_H

#include <stddef.h>

/* The path for Windows's functions, absolute and of any length; the caller frees it. Returns NULL with errno set: also
   for a name that Windows would take as a device, or with a character that it gives a meaning of its own. */
wchar_t *wide_path(const char *path);
/* UTF-16 to UTF-8, and back; the caller frees it. NULL with errno set if memory runs out or the text is malformed. */
char *utf8_of(const wchar_t *wide);
wchar_t *wide_of(const char *text);
/* A path of Windows as the rooms write it: in UTF-8, with slashes, without the prefix of long paths. */
char *path_of(const wchar_t *wide);
/* Sets errno from GetLastError. Returns -1. */
int fail_with_errno(void);

#endif
