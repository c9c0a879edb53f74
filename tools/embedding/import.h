/* Turns embeddings that another program computed into files like those of reid embed. */
#ifndef REID_TOOLS_IMPORT_H
#define REID_TOOLS_IMPORT_H

#include "reid.h"

#include <stddef.h>

typedef struct import_request {
    const char *rows, *ids; /* ids: NULL if the rows are in a table that names them */
    const char *model;      /* its name */
    const char *output;
} import_request;

typedef struct import_result {
    size_t rows, identities, unnamed; /* unnamed: rows without an identity */
    int dim;
    char fingerprint[33];
} import_result;

/* Returns 0 after reporting an error, or silently if interrupted(); nothing is written then. */
int import_rows(const import_request *r, import_result *result);

#endif
