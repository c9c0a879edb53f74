#include "embedding/npy.h"

#include "base/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char MAGIC[8] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};

void npy_header(char out[NPY_HEADER], size_t rows, size_t columns) {
    const int dict = NPY_HEADER - 10;
    memcpy(out, MAGIC, sizeof MAGIC);
    out[8] = (char)dict;
    out[9] = 0;
    int n = snprintf(out + 10, (size_t)dict, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", rows,
                     columns);
    memset(out + 10 + n, ' ', (size_t)(dict - n));
    out[NPY_HEADER - 1] = '\n';
}

/* The value after 'key': in the header's dictionary. */
static const char *value_of(const char *dict, const char *key) {
    const char *at = strstr(dict, key);
    return at ? at + strlen(key) + strspn(at + strlen(key), " ") : "";
}

int npy_shape(const text *file, size_t *start, size_t *rows, size_t *columns) {
    char dict[NPY_LONGEST_HEADER - 10];
    if (file->len < 10 || memcmp(file->s, MAGIC, sizeof MAGIC) != 0) return 0;
    size_t len = (size_t)(unsigned char)file->s[8] | (size_t)(unsigned char)file->s[9] << 8;
    if (len >= sizeof dict || file->len - 10 < len) return 0;
    memcpy(dict, file->s + 10, len);
    dict[len] = 0;
    *start = 10 + len;
    int whole = 0; /* there is no third dimension */
    return strncmp(value_of(dict, "'descr':"), "'<f4'", 5) == 0 &&
           strncmp(value_of(dict, "'fortran_order':"), "False", 5) == 0 &&
           sscanf(value_of(dict, "'shape':"), "(%zu, %zu)%n", rows, columns, &whole) == 2 && whole;
}

int npy_read(const char *path, float **values, size_t *rows, size_t *columns, text *why) {
    static const size_t max_file = (size_t)1 << 40;
    text file = TEXT_INIT;
    size_t start, bytes = 0;
    *values = NULL;
    if (!file_read(path, max_file, 1, &file, why)) {
        text_free(&file);
        return 0;
    }
    text_clear(why);
    if (!npy_shape(&file, &start, rows, columns)) {
        text_puts(why, "is not a .npy file of version 1.0 with a two-dimensional array of little-endian float32");
    } else {
        size_t have = file.len - start;
        if (*columns == 0 || *rows > have / 4 / *columns || (bytes = *rows * *columns * 4) != have)
            text_printf(why, "holds %zu bytes of data, but its header says %zu x %zu floats", have, *rows, *columns);
    }
    if (!why->len) {
        *values = malloc(bytes + 1);
        if (*values) memcpy(*values, file.s + start, bytes);
        else text_puts(why, "out of memory");
    }
    text_free(&file);
    return *values != NULL;
}
