/* .jsonl files of embeddings. */
#ifndef REID_TOOLS_GALLERY_JSONL_H
#define REID_TOOLS_GALLERY_JSONL_H

#include "gallery/gallery_contents.h"

/* Reads the lines of a .jsonl file into ids, identities, cameras, times and rows. Returns 0 with the reason in why. */
int gallery_jsonl_read(gallery_file *f, const text *content, text *why);

#endif
