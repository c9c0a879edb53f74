/* t_version.c: the version is the same as a macro, as text, from the functions and in a handle's info.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_version.c -o build/t_version -lm -lpthread */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"

int main(void) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", REID_VERSION / 10000, REID_VERSION / 100 % 100, REID_VERSION % 100);
    printf("%s\n", text);
    return strcmp(text, REID_VERSION_STRING) != 0 || strcmp(text, reid_version_string()) != 0 ||
           reid_version() != REID_VERSION;
}
