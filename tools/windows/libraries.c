/* dlopen for Windows: a library lies next to reid.exe or in the system's folder, never in the current one. */
#include "windows/names.h"

#include <dlfcn.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

/* The names of the libraries on Windows, first those in MSYS2's packages. */
static const struct { const char *linux_name; const wchar_t *names[2]; } KNOWN[] = {
    {"libturbojpeg.so.0", {L"libturbojpeg.dll", L"turbojpeg.dll"}},
    {"libwebp.so.7", {L"libwebp-7.dll", L"libwebp.dll"}},
    {"libtiff.so.6", {L"libtiff-6.dll", L"libtiff.dll"}},
    {"libtiff.so.5", {L"libtiff-5.dll", L"tiff.dll"}},
};

static __thread char failure[128];

void *dlopen(const char *name, int flags) {
    (void)flags;
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
        if (strcmp(KNOWN[i].linux_name, name) != 0) continue;
        for (size_t n = 0; n < 2; n++) {
            HMODULE library = LoadLibraryExW(KNOWN[i].names[n], NULL,
                                             LOAD_LIBRARY_SEARCH_APPLICATION_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
            if (library) return (void *)library;
        }
        snprintf(failure, sizeof failure, "%ls is not next to reid.exe", KNOWN[i].names[0]);
        return NULL;
    }
    snprintf(failure, sizeof failure, "%s is not used on Windows", name);
    return NULL;
}

void *dlsym(void *library, const char *name) {
    FARPROC found = library ? GetProcAddress((HMODULE)library, name) : NULL;
    void *symbol = NULL;
    memcpy(&symbol, &found, sizeof symbol);
    if (!symbol) snprintf(failure, sizeof failure, "it lacks %s", name);
    return symbol;
}

int dlclose(void *library) { return FreeLibrary((HMODULE)library) ? 0 : -1; }

const char *dlerror(void) { return *failure ? failure : NULL; }

int dladdr(const void *symbol, Dl_info *info) {
    static __thread char path[3 * MAX_PATH];
    HMODULE library;
    wchar_t wide[MAX_PATH];
    if (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            (const wchar_t *)symbol, &library) ||
        !GetModuleFileNameW(library, wide, MAX_PATH)) return 0;
    char *found = path_of(wide);
    if (!found) return 0;
    snprintf(path, sizeof path, "%s", found);
    free(found);
    info->dli_fname = path;
    return 1;
}
