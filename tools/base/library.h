/* Functions of libraries that are found at run time. */
#ifndef REID_TOOLS_LIBRARY_H
#define REID_TOOLS_LIBRARY_H

#include <stddef.h>

/* What to say of something that is missing: of the three texts, that for this system. */
#if defined(_WIN32)
#define HELP_HERE(on_linux, on_macos, on_windows) on_windows
#elif defined(__APPLE__)
#define HELP_HERE(on_linux, on_macos, on_windows) on_macos
#else
#define HELP_HERE(on_linux, on_macos, on_windows) on_linux
#endif

typedef struct library_function {
    const char *name;
    void *to; /* points to the pointer that is set: to the function, or to NULL if the library does not have it */
} library_function;

/* Returns the name of the first function that the library, of dlopen, does not have; NULL if it has all. */
const char *library_find(void *library, const library_function *functions, size_t count);

#endif
