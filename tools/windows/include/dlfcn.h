/* dlfcn.h, which MinGW-w64 lacks. A library is asked for by its Linux name; libraries.c has the names of its DLLs. */
#ifndef REID_WINDOWS_DLFCN_H
#define REID_WINDOWS_DLFCN_H

#define RTLD_NOW 2
#define RTLD_LOCAL 0
#define RTLD_DEFAULT ((void *)0)

typedef struct Dl_info {
    const char *dli_fname;
} Dl_info;
void *dlopen(const char *name, int flags);
void *dlsym(void *library, const char *name);
int dlclose(void *library);
const char *dlerror(void);
int dladdr(const void *symbol, Dl_info *info);

#endif
