/* Reads back files of embeddings: .npy and .fvecs with their .ids.txt and .meta.json, .jsonl with its .meta.json. */
#ifndef REID_TOOLS_GALLERY_FILE_H
#define REID_TOOLS_GALLERY_FILE_H

#include "gallery/gallery_contents.h"

/* 1 if reid track wrote the folder: it contains embeddings.npy, its metadata and crops.csv. */
int gallery_file_is_folder(const char *path);
/* 1 for such a folder, and if the name ends in .npy, .fvecs or .jsonl. */
int gallery_file_is_one(const char *path);
/* Returns 0 after reporting an error; free it in any case. Raw embeddings are refused. */
int gallery_file_read(gallery_file *f, const char *path);
/* Reads raw embeddings, and refuses those of unit length; otherwise like gallery_file_read. */
int gallery_file_read_raw(gallery_file *f, const char *path);
/* 1 if no row has an identity, which the metadata or the lines of a .jsonl file show without reading the rows. 0 also
   for a file that cannot be read. */
int gallery_file_is_nameless(const char *path);
/* How many rows have no identity. */
size_t gallery_file_unnamed(const gallery_file *f);
void gallery_file_free(gallery_file *f);

#endif
