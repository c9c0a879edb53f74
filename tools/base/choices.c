#include "base/choices.h"

#include <string.h>

int choice_index(const char *choices, const char *value) {
    int index = 0;
    size_t len = strlen(value);
    for (const char *at = choices; at; index++) {
        size_t n = strcspn(at, "|");
        if (n == len && memcmp(at, value, n) == 0) return index;
        at = at[n] ? at + n + 1 : NULL;
    }
    return -1;
}
