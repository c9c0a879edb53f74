/* The kinds of the files of embeddings that the command writes, for base/replace.h. */
#ifndef REID_TOOLS_OUTPUT_KINDS_H
#define REID_TOOLS_OUTPUT_KINDS_H

#include "base/replace.h"

extern const output_kind NPY_FILE, FVECS_FILE, EMBEDDINGS_JSONL, EMBEDDINGS_CSV;
/* FILE.ids.txt and FILE.meta.json. */
extern const output_kind IDS_FILE, META_FILE;

#endif
