#include "gallery/gallery_host.h"

#include "base/files.h"
#include "base/say.h"

#include <string.h>

static void waiting(const char *path) { say_warning("%s: waiting for another writer", shown(path)); }

const store_host GALLERY_HOST = {waiting, interrupted};

void say_gallery_error(const char *path, const char *why) {
    const char *hint = "";
    if (strstr(why, "is damaged") || strstr(why, "is truncated"))
        hint = "; \"reid gallery verify\" lists all damage, \"reid gallery compact --salvage\" keeps the rest";
    say_error("%s: %s%s", shown(path), shown(why), hint);
}

static gallery_store *opened(gallery_store *s, const char *path, const char *why) {
    if (!s) say_gallery_error(path, why);
    return s;
}

gallery_store *gallery_store_open(const char *path, int rows) {
    char why[STORE_WHY] = "";
    gallery_store *s = store_read(path, rows, &GALLERY_HOST, why);
    return opened(s, path, why);
}

gallery_store *gallery_store_change(const char *path) {
    char why[STORE_WHY] = "";
    gallery_store *s = store_write(path, &GALLERY_HOST, why);
    return opened(s, path, why);
}
