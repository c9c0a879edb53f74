#include "server/secret_file.h"

#include <sys/stat.h>
#include <unistd.h>

int secret_file_check(const char *path, text *why) {
    struct stat st;
    if (stat(path, &st) != 0) return refuse_errno(why, "cannot open");
    const unsigned mode = st.st_mode & 07777;
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return refuse(why, "belongs to user %u (mode %04o); expected root's or user %u's own, who runs this server",
                      (unsigned)st.st_uid, mode, (unsigned)geteuid());
    return !(mode & (S_IWGRP | S_IWOTH)) ||
           refuse(why, "other users may write to it (mode %04o): chmod go-w, for example 0600, 0440 or 0444", mode);
}

int secret_file_is_open(const char *path, unsigned *mode) {
    struct stat st;
    if (stat(path, &st) != 0) return 0;
    *mode = st.st_mode & 07777;
    return st.st_uid != 0 && (st.st_mode & (S_IRGRP | S_IROTH)) != 0;
}
