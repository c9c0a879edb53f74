#include "embedding/merge.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/source.h"
#include "embedding/npy.h"
#include "embedding/output.h"
#include "embedding/shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t MAX_IDS = (size_t)1 << 36;

typedef struct merging {
    const merge_request *r;
    output_form form;
    shard *given;       /* in the order of the request */
    int read;
    const shard **part; /* by number */
    models makers;      /* of the joined file */
    output_facts whole;
} merging;

static int check_names(merging *m) {
    const merge_request *r = m->r;
    m->form = output_form_of(r->output);
    for (int i = 0; i < r->count; i++) {
        if (output_form_of(r->shards[i]) != m->form) {
            say_error("%s: its name must have the same extension as %s", shown(r->shards[i]), shown(r->output));
            return 0;
        }
    }
    return 1;
}

/* Reads all metadata; every shard must match the first. */
static int read_shards(merging *m) {
    text why = TEXT_INIT;
    const char *differs = NULL;
    m->given = need_zeroed((size_t)m->r->count, sizeof *m->given);
    if (!m->given) return 0;
    for (; m->read < m->r->count && !why.len && !differs && !interrupted(); m->read++) {
        shard *s = &m->given[m->read];
        if (shard_read(s, m->r->shards[m->read], &why)) differs = shard_differs(s, m->given);
    }
    if (why.len) say_error("%s", shown(why.s));
    else if (differs) say_error("%s has %s than %s, so they are not shards of one run",
                                shown(m->given[m->read - 1].path), differs, shown(m->given->path));
    int good = !why.len && !differs && !interrupted();
    text_free(&why);
    return good;
}

/* Sorts the shards; each number from 1 to N must be given once. */
static int sort_shards(merging *m) {
    int shards = m->given->made.shards;
    m->part = need_zeroed((size_t)shards, sizeof *m->part);
    if (!m->part) return 0;
    for (int i = 0; i < m->r->count; i++) {
        const shard **place = &m->part[m->given[i].made.shard - 1];
        if (*place) {
            say_error("%s and %s are both shard %d/%d; give each shard once", shown((*place)->path),
                      shown(m->given[i].path), m->given[i].made.shard, shards);
            return 0;
        }
        *place = &m->given[i];
    }
    for (int i = 0; i < shards; i++) {
        if (m->part[i]) continue;
        say_error("shard %d/%d is missing; %d of %d given", i + 1, shards, m->r->count, shards);
        return 0;
    }
    return 1;
}

/* Joins the names of two machines' devices, chips or instruction sets: "several" if they differ. Returns 1 if they
   do. */
static int join_name(char *whole, size_t size, const char *name) {
    if (strcmp(whole, name) == 0) return 0;
    snprintf(whole, size, "several");
    return 1;
}

/* Joins the descriptions of where the shards were computed; warns if the arithmetic may not be the same. */
static void join_makers(merging *m) {
    int mixed = 0;
    m->makers = m->part[0]->makers;
    for (int k = 0; k < m->makers.count; k++)
        for (int i = 1; i < m->r->count; i++) {
            reid_info *whole = &m->makers.at[k].info;
            const reid_info *info = &m->part[i]->makers.at[k].info;
            int device = join_name(whole->device, sizeof whole->device, info->device);
            int chip = join_name(whole->chip, sizeof whole->chip, info->chip);
            int isa = join_name(whole->isa, sizeof whole->isa, info->isa);
            mixed |= isa || device || (chip && strncmp(info->device, "cuda", 4) == 0);
        }
    if (mixed) say_warning("the shards were computed by different devices or instruction sets: their rows can be used "
                           "together, but may differ in the last digits from those of one run");
}

/* Reads the ids of a shard's rows, one per line. */
static int read_ids(merging *m, const shard *s, text *why) {
    text name = TEXT_INIT, ids = TEXT_INIT;
    size_t lines = 0;
    output_side_name(&name, s->path, ".ids.txt");
    int good = text_failed(&name) ? text_no_memory(why) : file_read(name.s, MAX_IDS, 1, &ids, why);
    for (size_t i = 0; good && i < ids.len; i++) lines += ids.s[i] == '\n';
    if (good && (lines != s->facts.rows || (ids.len && ids.s[ids.len - 1] != '\n'))) {
        refuse(why, "%s has %zu line%s; expected one for each of %zu rows", name.s, lines, plural(lines),
               s->facts.rows);
        good = 0;
    }
    if (good) text_join(&m->whole.ids, &ids);
    text_free(&name);
    text_free(&ids);
    return good;
}

static int join_facts(merging *m, text *why) {
    output_facts *f = &m->whole;
    f->all = &m->makers;
    f->listed = f->end = m->part[0]->facts.listed;
    f->hash = m->part[0]->facts.hash;
    for (int i = 0; i < m->r->count; i++) {
        const output_facts *part = &m->part[i]->facts;
        output_facts_join(f, part);
        if (m->form == OUTPUT_NPY && !read_ids(m, m->part[i], why)) {
            say_error("%s: %s", shown(m->part[i]->path), why->s);
            return 0;
        }
    }
    return 1;
}

/* --- rows --- */

/* Counts rows in text form: a row ends at a newline that is not inside a quoted field. */
typedef struct line_count {
    size_t rows;
    int quotes, quoted; /* whether the format has quotes; whether the next byte is inside them */
    char last;
} line_count;

static void count_lines(line_count *c, const char *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (c->quotes && bytes[i] == '"') c->quoted = !c->quoted;
        c->rows += bytes[i] == '\n' && !c->quoted;
    }
    if (len) c->last = bytes[len - 1];
}

static int npy_start(const merging *m, const shard *s, const source *file, uint64_t *start, text *why) {
    char bytes[NPY_LONGEST_HEADER];
    size_t at, rows, columns, len = file->size < sizeof bytes ? (size_t)file->size : sizeof bytes;
    uint64_t floats, size;
    if (!source_read(file, 0, bytes, len, why)) return 0;
    const text head = {bytes, len, 0};
    if (!npy_shape(&head, &at, &rows, &columns)) return refuse(why, "is not a .npy file that reid embed wrote");
    if (rows != s->facts.rows || columns != (size_t)m->makers.dim || !checked_mul(rows, columns, &floats) ||
        !checked_mul(floats, 4, &size) || size != file->size - at)
        return refuse(why, "holds %zu x %zu floats in %llu bytes, but its metadata says %zu x %d", rows, columns,
                      (unsigned long long)file->size, s->facts.rows, m->makers.dim);
    *start = at;
    return 1;
}

/* Skips the header, which only the first shard of .csv files has and the output has already. */
static int csv_start(const merging *m, const shard *s, const source *file, uint64_t *start, text *why) {
    text wanted = TEXT_INIT;
    if (s->made.shard > 1) return 1;
    output_csv_header(&wanted, m->makers.dim);
    char *bytes = text_failed(&wanted) ? NULL : mem_alloc(wanted.len);
    int good = bytes || text_no_memory(why);
    if (good && (file->size < wanted.len || !source_read(file, 0, bytes, wanted.len, why) ||
                 memcmp(bytes, wanted.s, wanted.len) != 0))
        good = refuse(why, "does not begin with the header path,identity,e0 ... e%d", m->makers.dim - 1);
    *start = wanted.len;
    free(bytes);
    text_free(&wanted);
    return good;
}

/* Copies the rows after the header. Returns 0 with why empty if the output failed, or after a signal. */
static int copy_rows(const merging *m, const shard *s, output *out, text *why) {
    enum { CHUNK = 1 << 16 };
    source file;
    uint64_t at = 0;
    line_count lines = {0, m->form == OUTPUT_CSV, 0, '\n'};
    if (!file_target(s->path, NULL, why) || !source_open(&file, s->path, why)) return 0;
    char *chunk = mem_alloc(CHUNK);
    int good = chunk || text_no_memory(why);
    if (m->form == OUTPUT_NPY) good = good && npy_start(m, s, &file, &at, why);
    else if (m->form == OUTPUT_CSV) good = good && csv_start(m, s, &file, &at, why);
    while (good && at < file.size && !interrupted()) {
        size_t len = file.size - at < CHUNK ? (size_t)(file.size - at) : CHUNK;
        good = source_read(&file, at, chunk, len, why);
        if (!good) break;
        if (m->form != OUTPUT_NPY) count_lines(&lines, chunk, len);
        good = output_bytes(out, chunk, len);
        at += len;
    }
    if (good && m->form != OUTPUT_NPY && !interrupted() && (lines.rows != s->facts.rows || lines.last != '\n'))
        good = refuse(why, "has %zu row%s, but its metadata says %zu", lines.rows, plural(lines.rows), s->facts.rows);
    free(chunk);
    source_close(&file);
    return good && !interrupted();
}

static int write_output(merging *m) {
    text why = TEXT_INIT;
    output_request request = m->part[0]->made;
    request.path = m->r->output;
    request.shard = request.shards = 0;
    output *out = output_open(&request);
    if (!out) return 0;
    int good = output_adopt(out, &m->whole), at = 0;
    while (good && at < m->r->count && (good = copy_rows(m, m->part[at], out, &why))) at++;
    if (interrupted()) {
        output_interrupt(out);
        good = 0;
    } else if (good || !why.len) {
        good = output_finish(out); /* reports why writing failed, if it did */
    } else {
        say_error("%s: %s", shown(m->part[at]->path), why.s);
        output_discard(out);
    }
    text_free(&why);
    return good;
}

static int merge(merging *m, merge_result *result) {
    text why = TEXT_INIT;
    int good = check_names(m) && read_shards(m) && sort_shards(m);
    if (good) join_makers(m);
    good = good && join_facts(m, &why);
    text_free(&why);
    if (!good) return 0;
    const merge_result all = {m->whole.rows, m->whole.listed, m->whole.failed, m->makers.dim};
    *result = all;
    if (all.failed && all.failed == all.inputs) {
        output_say_all_failed(all.inputs);
        return 0;
    }
    return write_output(m);
}

int merge_shards(const merge_request *r, merge_result *result) {
    merging m;
    memset(&m, 0, sizeof m);
    memset(result, 0, sizeof *result);
    m.r = r;
    int good = merge(&m, result);
    for (int i = 0; i < m.read; i++) shard_free(&m.given[i]);
    output_facts_free(&m.whole);
    free(m.given);
    free(m.part);
    return good;
}
