/* A gallery in one file: embeddings with ids, identities, cameras and times. The headers that this one includes declare
   the rest of its functions; this header's .c file, store_*.c and base/ are all that another program needs.

   The file, little-endian, in sectors of 4096 bytes:
       0      sector    header: "reidgal\n", u32 version 2, u32 dim, u32 1 if embeddings are halves (IEEE) else 0
                        (float32), u32 models, f64 threshold (NaN: none), per model (at most 2): fingerprint 32 bytes,
                        network 32, preset 32, precision 8, u32 dim, u32 0; zeros; u64 checksum
       4096   sector    end mark 0: u64 sequence, u64 end, u64 records; zeros; u64 checksum
       8192   sector    end mark 1, in the same form; the one with the higher sequence is valid
       12288  sector    the header again
       16384  272 bytes a record of type 4, which repeats the header
       16656  … end     records, each a multiple of 8 bytes:
                        u32 type, u32 bytes after these 16, u64 checksum, then
                        type 1, a template: u16 lengths of id, identity, camera, source; i64 time; u64 size, u64 hash
                            of the image file, 0 if unknown; dim values; the four texts; zeros to a multiple of 8
                        type 2, a removal: the id of a template; zeros
                        type 3, a new threshold: f64, NaN for none
                        type 4, the header's first 256 bytes: one per MiB of records, so that records alone can be read
                        type 5, the name of a JPEG decoder that templates of the file may come from: 1 to 31 ASCII
                            characters from 0x20 to 0x7e without a comma, no space first or last; zeros, at least
                            one. A file has up to 4 names; decoders without a record are unknown
   A checksum starts with h = its block's place in the file; each group w of 8 bytes of the block (the checksum's own
   bytes count as 0) updates it by h = (h ^ w) * 0x9e3779b97f4a7c15, h ^= h >> 32. This detects every change within one
   group.

   Writers hold flock(LOCK_EX). They append records, sync, overwrite the older end mark, and sync; only then do they
   report anything as stored. Bytes after the end were left by an interrupted writer; readers ignore them, and the next
   writer cuts them off. Readers take no lock, because bytes before an end mark never change. Compacting writes a new
   file and renames it; a writer that waited for the lock opens the new one. */
#ifndef REID_TOOLS_GALLERY_STORE_H
#define REID_TOOLS_GALLERY_STORE_H

#include "gallery/store_append.h"
#include "gallery/store_decoders.h"
#include "gallery/store_handle.h"
#include "gallery/store_hash.h"
#include "gallery/store_rewrite.h"
#include "gallery/store_types.h"

/* Reads the gallery as it is at this moment and checks all of it. rows: also keep the embeddings. NULL on failure. */
gallery_store *store_read(const char *path, int rows, const store_host *host, char why[STORE_WHY]);

/* Opens the gallery to change it, after waiting for other writers; otherwise like store_read. Without store_commit
   nothing changes. */
gallery_store *store_write(const char *path, const store_host *host, char why[STORE_WHY]);

/* A gallery in memory alone, for templates that come from elsewhere: store_add keeps their rows, too (or none, if row
   is NULL for all). Do not call store_remove or store_commit. NULL with a reason. */
gallery_store *store_in_memory(const store_meta *meta, char why[STORE_WHY]);
/* Numbers the identities of a gallery in memory after the last store_add; from then on it can be used as if it had been
   read. */
int store_settle(gallery_store *s, char why[STORE_WHY]);

/* 1 if a file begins like a gallery file. */
int store_is_gallery(const char *path);
const store_meta *store_info(const gallery_store *s);
/* Templates in the order in which they were added; removed ones are gone after the next store_read. */
size_t store_count(const gallery_store *s);
store_item store_at(const gallery_store *s, size_t index);
/* Identities are numbered in the order of their first templates. */
const uint32_t *store_identities(const gallery_store *s); /* [store_count] */
size_t store_identity_count(const gallery_store *s);
/* (store_count, dim), in the file's own precision; the function for the other precision returns NULL. */
const float *store_floats(const gallery_store *s);
const uint16_t *store_halves(const gallery_store *s);
/* The index of an id, or SIZE_MAX. */
size_t store_find(const gallery_store *s, const char *id);

#endif
