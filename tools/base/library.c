#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

const char *library_find(void *library, const library_function *functions, size_t count) {
    const char *missing = NULL;
    for (const library_function *f = functions; f < functions + count; f++) {
        void *symbol = dlsym(library, f->name);
        memcpy(f->to, &symbol, sizeof symbol); /* C cannot convert an object pointer to a function pointer */
        if (!symbol && !missing) missing = f->name;
    }
    return missing;
}
