/* What is known about an embeddings file: OUT.meta.json, the ids, and the key by which --resume knows its own. */
#ifndef REID_TOOLS_OUTPUT_META_H
#define REID_TOOLS_OUTPUT_META_H

#include "pictures/inputs.h"
#include "embedding/models.h"

typedef struct output_facts {
    const models *all;
    const inputs *list;
    size_t first, end, rows, failed;
    text ids, identities, failures; /* lines; JSON elements; JSON elements */
} output_facts;

void output_facts_begin(output_facts *f, const models *all, const inputs *list, size_t first, size_t end);
void output_facts_row(output_facts *f, const input *in);
void output_facts_failure(output_facts *f, const input *in, const char *why);
void output_facts_free(output_facts *f);

/* One line that differs whenever the rows could differ. */
void output_meta_key(const output_facts *f, const options *o, text *line);
void output_meta_json(const output_facts *f, const options *o, text *out);

#endif
