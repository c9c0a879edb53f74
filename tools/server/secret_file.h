/* Files that only some may read: tokens and private keys. */
#ifndef REID_TOOLS_SECRET_FILE_H
#define REID_TOOLS_SECRET_FILE_H

#include "base/text.h"

/* Returns 1 if the file belongs to root or to this user and no other user may write to it, as is so for the secrets
   that container runtimes mount; else 0 with the reason in why. */
int secret_file_check(const char *path, text *why);
/* 1 if other users may read the file, although it belongs to this one, who could forbid it; *mode: its mode. */
int secret_file_is_open(const char *path, unsigned *mode);

#endif
