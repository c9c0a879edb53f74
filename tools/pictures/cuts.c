#include "pictures/cuts.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static int take_line(const char *line, size_t number, int first, uint32_t *to, const uint32_t *before, text *why) {
    long long frame;
    if (!parse_int(line, first, INT32_MAX, &frame))
        return refuse(why, "line %zu: \"%.100s\" is not a frame number", number, shown(line));
    *to = (uint32_t)(frame - first);
    return !before || *before < *to ||
           refuse(why, "line %zu: frame %lld is not after the previous one; frame numbers must increase", number,
                  frame);
}

static int parse(char *s, int first, uint32_t **cuts, size_t *count, text *why) {
    size_t cap = 0, number = 0;
    for (char *line = s, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end) *end++ = 0;
        size_t len = strlen(line);
        if (len && line[len - 1] == '\r') line[len - 1] = 0;
        number++;
        if (!*line) continue;
        if (!GROW(*cuts, *count, cap)) return text_no_memory(why);
        if (!take_line(line, number, first, &(*cuts)[*count], *count ? &(*cuts)[*count - 1] : NULL, why)) return 0;
        ++*count;
    }
    return 1;
}

int cuts_read(const char *path, int first, uint32_t **cuts, size_t *count, text *why) {
    static const size_t most = (size_t)1 << 26;
    text file = TEXT_INIT;
    *cuts = NULL;
    *count = 0;
    int good = file_read(path, most, 0, &file, why) && (!file.len || parse(file.s, first, cuts, count, why));
    text_free(&file);
    if (good) return 1;
    free(*cuts);
    *cuts = NULL;
    return 0;
}
