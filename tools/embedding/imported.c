#include "embedding/imported.h"

#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

static const char START[] = "ffffffffffff";

int is_imported(const char *fingerprint) { return strncmp(fingerprint, START, sizeof START - 1) == 0; }

int imported_model(reid_info *info, const char *name, int dim) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:/+-";
    unsigned char digest[32];
    char made_of[128];
    size_t len = strlen(name);
    memset(info, 0, sizeof *info);
    if (!len || len >= sizeof info->network || name[strspn(name, allowed)]) return 0;
    int n = snprintf(made_of, sizeof made_of, "reid import 1\nmodel %s\ndim %d\n", name, dim);
    sha256(made_of, (size_t)n, digest);
    memcpy(info->network, name, len);
    snprintf(info->preset, sizeof info->preset, "imported");
    snprintf(info->precision, sizeof info->precision, "unknown");
    snprintf(info->head, sizeof info->head, "none");
    memcpy(info->fingerprint, START, sizeof START - 1);
    for (size_t i = sizeof START - 1, k = 0; i < 32; i += 2, k++) snprintf(info->fingerprint + i, 3, "%02x", digest[k]);
    info->dim = dim;
    return 1;
}
