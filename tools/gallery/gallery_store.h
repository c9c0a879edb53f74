/* A gallery in one file: embeddings with ids, identities, cameras and times. This header, its .c file and libc are all
   that another program needs.

   The file, little-endian, in sectors of 4096 bytes:
       0      sector    header: "reidgal\n", u32 version 2, u32 dim, u32 1 if embeddings are halves (IEEE) else 0
                        (float32), u32 models, f64 threshold (NaN: none), per model (at most 2): fingerprint 32 bytes,
                        network 32, preset 32, precision 8, u32 dim, u32 0; zeros; u64 checksum
       4096   sector    end mark 0: u64 sequence, u64 end, u64 records; zeros; u64 checksum
       8192   sector    end mark 1, likewise; the one with the higher sequence counts
       12288  sector    the header again
       16384  272 bytes a record of type 4, which is the header once more
       16656  … end     records, each a multiple of 8 bytes:
                        u32 type, u32 bytes after these 16, u64 checksum, then
                        type 1, a template: u16 lengths of id, identity, camera, source; i64 time; u64 size, u64 hash
                            of the picture's file, 0 if unknown; dim values; the four texts; zeros to a multiple of 8
                        type 2, a removal: the id of a template; zeros
                        type 3, a new threshold: f64, NaN for none
                        type 4, the header's first 256 bytes: one per MiB of records, so that records alone can be read
                        type 5, a decoder of JPEG files, from which templates of the file may come: its name, 1 to 31
                            characters of ASCII from 0x20 to 0x7e without a comma, no space first or last; zeros, at
                            least one. Up to 4 names in a file; one that is not there is not known
   Version 1 had one header, sectors of 512 bytes and no types 4 and 5: header, end marks at 512 and 1024, records from
   1536. It is read and added to as it is, without names of decoders; compacting makes version 2 of it.
   A checksum starts from h = its block's place in the file; every 8 bytes w before and after it (it counts as 0) do
   h = (h ^ w) * 0x9e3779b97f4a7c15, h ^= h >> 32. So a change within 8 bytes never goes unseen.

   Writers hold flock(LOCK_EX). They append records, sync, write the older end mark, sync: only then is anything said to
   be stored. Bytes behind the end are what an interrupted writer left; readers ignore them, the next writer cuts them
   off. Readers take no lock: what lies before an end mark never changes. Compacting writes a new file and renames it;
   a writer that waited for the lock opens the new one. */
#ifndef REID_TOOLS_GALLERY_STORE_H
#define REID_TOOLS_GALLERY_STORE_H

#include <stddef.h>
#include <stdint.h>

enum { STORE_MODELS = 2, STORE_MAX_DIM = 65536, STORE_MAX_TEXT = 65535, STORE_WHY = 1024 };
enum { STORE_DECODERS = 4, STORE_DECODER = 32, STORE_JPEG = STORE_DECODERS * (STORE_DECODER + 1) };
#define STORE_NO_TIME INT64_MIN

/* What the embeddings are made of; texts end with a 0. */
typedef struct store_model {
    char fingerprint[33], network[33], preset[33], precision[9];
    int dim;
} store_model;

typedef struct store_meta {
    store_model model[STORE_MODELS];
    int models, dim, halves; /* dim: of all models together */
    double threshold;        /* NAN: none */
    char jpeg[STORE_JPEG];   /* by what the JPEG files behind the templates were decoded, as far as it is known: names
                                in order with ", " between them; "": unknown */
} store_meta;

/* One template. Texts may hold any byte but 0; "" stands for an unknown camera or source. */
typedef struct store_item {
    const char *id, *identity, *camera, *source; /* source: the path of its picture */
    int64_t time;                                /* milliseconds since 1970 in UTC, or STORE_NO_TIME */
    uint64_t source_size, source_hash;           /* of the picture's file, see store_hash_file; 0, 0: unknown */
} store_item;

typedef struct gallery_store gallery_store;

/* What the program around it has to say; NULL, and each function may be, too. */
typedef struct store_host {
    void (*waiting)(const char *path); /* a writer has to wait for another one: told once */
    int (*stopped)(void);              /* 1: give up, asked for now and then */
} store_host;

/* Adds names, with ", " between them, to those of `to`. Returns 0, and leaves them as they are, when one is no name of
   a decoder, or when there would be more than STORE_DECODERS. */
int store_join_decoders(char to[STORE_JPEG], const char *names);

/* Makes an empty gallery, which has no decoders whatever meta says; a file that is there already is left alone. These
   return 0 with the reason in why. */
int store_create(const char *path, const store_meta *meta, char why[STORE_WHY]);

/* Reads the gallery as it is at this moment and checks all of it. rows: also keep the embeddings. NULL on failure. */
gallery_store *store_read(const char *path, int rows, const store_host *host, char why[STORE_WHY]);

/* The same to change it: waits for other writers. Without store_commit nothing changes. */
gallery_store *store_write(const char *path, const store_host *host, char why[STORE_WHY]);

/* A gallery in memory alone, for templates that come from elsewhere: store_add keeps their rows, too (or none: row is
   NULL for all), store_remove and store_commit are not for it. NULL with a reason. */
gallery_store *store_in_memory(const store_meta *meta, char why[STORE_WHY]);
/* Numbers the identities of what was added to such a one, which can be looked at then as if it had been read. */
int store_settle(gallery_store *s, char why[STORE_WHY]);

/* row: dim finite values, float or IEEE half (uint16_t) as the gallery keeps them. An id that is in the gallery is
   refused, and the gallery can still be used. */
int store_add(gallery_store *s, const store_item *item, const void *row, char why[STORE_WHY]);
int store_remove(gallery_store *s, const char *id, char why[STORE_WHY]);
int store_set_threshold(gallery_store *s, double threshold, char why[STORE_WHY]);
/* What is added may come from JPEG files that were decoded by these, as store_join_decoders takes them. */
int store_add_decoders(gallery_store *s, const char *names, char why[STORE_WHY]);
/* Everything since the last commit is on disk when this returns 1. When it returns 0, the gallery is what it was before
   (only if the disk refuses the new end mark and then the old one, too, all of the commit may be seen). */
int store_commit(gallery_store *s, char why[STORE_WHY]);
/* NULL is allowed. */
void store_close(gallery_store *s);

/* 1 if a file begins as a gallery does. */
int store_is_gallery(const char *path);
const store_meta *store_info(const gallery_store *s);
/* Templates in the order in which they were added; removed ones are gone after the next store_read. */
size_t store_count(const gallery_store *s);
store_item store_at(const gallery_store *s, size_t index);
/* Identities are numbered in the order of their first templates. */
const uint32_t *store_identities(const gallery_store *s); /* [store_count] */
size_t store_identity_count(const gallery_store *s);
/* (store_count, dim), in the file's own precision: the other one is NULL. */
const float *store_floats(const gallery_store *s);
const uint16_t *store_halves(const gallery_store *s);
/* The place of an id, or SIZE_MAX. */
size_t store_find(const gallery_store *s, const char *id);

/* Told of everything that is wrong, in the order of the file. */
typedef void (*store_damage_fn)(const char *text, void *user);
typedef struct store_report {
    size_t records, damaged, templates; /* templates: that are not removed, as far as they can be read */
    uint64_t bytes, unused;             /* of the file; of those behind the end */
    int version;                        /* of the format: 1 or 2 */
} store_report;

/* Looks at everything. Returns 1 when all is well. meta may be NULL. */
int store_verify(const char *path, const store_host *host, store_damage_fn fn, void *user, store_report *report,
                 store_meta *meta, char why[STORE_WHY]);

/* Rewrites the file without what was removed, and without decoders if no template is left, with the mode and, where
   that is allowed, the owner of the old one. salvage: leaves out damaged records, too, instead of refusing, and does
   without header and end marks if any copy of the header can be read; fn hears of each. Both tell how many templates
   are in the new file. */
int store_compact(const char *path, int salvage, const store_host *host, store_damage_fn fn, void *user, size_t *kept,
                  char why[STORE_WHY]);

/* Size and hash of a file's bytes; 0 if it cannot be read. */
int store_hash_file(const char *path, uint64_t *size, uint64_t *hash);

#endif
