/* fnmatch.h, which MinGW-w64 lacks: *, ? and [...] without flags. */
#ifndef REID_WINDOWS_FNMATCH_H
#define REID_WINDOWS_FNMATCH_H

int fnmatch(const char *pattern, const char *name, int flags);

#endif
