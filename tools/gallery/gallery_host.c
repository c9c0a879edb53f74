#include "gallery/gallery_host.h"

#include "base/files.h"
#include "base/say.h"

#include <string.h>

static void waiting(const char *path) { say_warning("%s: waiting for another writer", shown(path)); }

const store_host GALLERY_HOST = {waiting, interrupted};

void say_gallery_error(const char *path, const char *why) {
    const char *hint = "";
    if (strstr(why, "is damaged") || strstr(why, "is truncated"))
        hint = is_database_url(path) ? "; \"reid gallery verify\" lists all damage"
                                     : "; \"reid gallery verify\" lists all damage, \"reid gallery compact --salvage\" "
                                       "keeps the rest";
    say_error("%s: %s%s", shown(path), shown(why), hint);
}
