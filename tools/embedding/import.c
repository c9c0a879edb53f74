#include "embedding/import.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "embedding/foreign_open.h"
#include "embedding/imported.h"
#include "embedding/output.h"
#include "embedding/row_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct importing {
    const import_request *r;
    foreign_rows from;
    inputs listed;       /* the names in r->ids */
    const inputs *names; /* of the rows: listed, or those of a table */
    models maker;
    double *values; /* one row */
    float *row;
} importing;

/* --- what is imported --------------------------------------------------------------------------------------------- */

/* Refuses a file that already has metadata, because these name the model that made it. */
static int is_foreign(const char *path, text *why) {
    text name = TEXT_INIT, meta = TEXT_INIT;
    output_side_name(&name, path, ".meta.json");
    int found = !text_failed(&name) && access(name.s, F_OK) == 0 && file_read(name.s, (size_t)1 << 34, 1, &meta, why) &&
                meta.len && strstr(meta.s, "\"reid-embeddings\"");
    text_clear(why);
    if (found) refuse(why, "%s already names its model; use the file as it is", name.s);
    text_free(&name), text_free(&meta);
    return !found;
}

/* Checks that the names in --ids and those in the file of rows, if there are any, are the same. */
static int names_agree(const importing *m, text *why) {
    const inputs *a = &m->from.names, *b = &m->listed;
    for (size_t i = 0; i < a->count && m->r->ids; i++)
        if (strcmp(a->at[i].id, b->at[i].id) != 0)
            return refuse(why, "row %zu is named \"%s\" here, but \"%s\" in %s", i, shown(a->at[i].id),
                          shown(b->at[i].id), shown(m->r->ids));
    return 1;
}

static int take_names(importing *m, text *why) {
    size_t rows = m->from.rows, names;
    m->names = m->r->ids ? &m->listed : &m->from.names;
    names = m->names->count;
    if (!names) return refuse(why, "does not name its rows; give their names with --ids FILE, one per line");
    if (names != rows)
        return refuse(why, "has %zu row%s, but %s has %zu name%s; expected one for each row", rows, plural(rows),
                      shown(m->r->ids), names, plural(names));
    return names_agree(m, why) && row_names_differ(m->names, why);
}

static int open_rows(importing *m, text *why) {
    if (!is_foreign(m->r->rows, why) || !foreign_rows_open(&m->from, m->r->rows, why) || !take_names(m, why)) return 0;
    m->values = mem_array(m->from.columns, sizeof *m->values);
    m->row = mem_array(m->from.columns, sizeof *m->row);
    return (m->values && m->row) || text_no_memory(why);
}

static int read_names(importing *m) {
    text why = TEXT_INIT;
    int good = !m->r->ids || row_names_read(&m->listed, m->r->ids, &why);
    if (!good) say_error("%s: %s", shown(m->r->ids), why.s);
    text_free(&why);
    return good;
}

static int open_all(importing *m) {
    text why = TEXT_INIT;
    int good = read_names(m) && open_rows(m, &why);
    if (why.len && !interrupted()) say_error("%s: %s", shown(m->r->rows), why.s);
    text_free(&why);
    if (!good) return 0;
    m->maker.count = 1, m->maker.dim = (int)m->from.columns;
    m->maker.at[0].weights = m->r->model;
    return imported_model(&m->maker.at[0].info, m->r->model, m->maker.dim);
}

static int has_model(const import_request *r) {
    reid_info info;
    if (imported_model(&info, r->model, 1)) return 1;
    say_error("import: --model takes a name of 1 to %zu letters, digits and _.:/+-, not \"%s\"",
              sizeof info.network - 1, shown(r->model));
    return 0;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Gives the row the length 1, in double and after division by its largest value, so that no square overflows. */
static int normalise(importing *m, size_t at, text *why) {
    const size_t n = m->from.columns;
    double most = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs(m->values[i]);
        if (!isfinite(size))
            return refuse(why, "row %zu (%s): value %zu is %s; expected finite numbers", at, shown(m->names->at[at].id),
                          i, isnan(size) ? "not a number" : "infinite");
        if (size > most) most = size;
    }
    if (most <= 0)
        return refuse(why, "row %zu (%s): all values are 0, which has no direction; leave the row out", at,
                      shown(m->names->at[at].id));
    for (size_t i = 0; i < n; i++) m->values[i] /= most, sum += m->values[i] * m->values[i];
    for (size_t i = 0; i < n; i++) m->row[i] = (float)(m->values[i] / sqrt(sum));
    return 1;
}

/* Writes all rows. Returns 0 with the reason in why, which is empty if writing failed or a signal came. */
static int write_rows(importing *m, output *out, text *why) {
    for (size_t i = 0; i < m->from.rows && !interrupted(); i++)
        if (!foreign_rows_get(&m->from, i, m->values, why) || !normalise(m, i, why) || !output_row(out, i, m->row))
            return 0;
    return !interrupted();
}

/* Writes everything into the open output, and closes it in any case. */
static int write_output(importing *m, output *out) {
    text why = TEXT_INIT;
    size_t done;
    if (!open_all(m) || !output_begin(out, &m->maker, m->names, 0, m->names->count, &done)) {
        output_discard(out);
        return 0;
    }
    int good = write_rows(m, out, &why);
    if (interrupted()) {
        output_interrupt(out);
    } else if (why.len) {
        say_error("%s: %s", shown(m->r->rows), why.s);
        output_discard(out);
    } else {
        good = output_finish(out); /* reports why writing failed, if it did */
    }
    text_free(&why);
    return good;
}

int import_rows(const import_request *r, import_result *result) {
    const output_request request = {.path = r->output, .min_conf = (double)NAN};
    importing m;
    memset(&m, 0, sizeof m);
    memset(result, 0, sizeof *result);
    m.r = r;
    output *out = has_model(r) ? output_open(&request) : NULL;
    int good = out && write_output(&m, out) && inputs_identities(m.names, &result->identities, &result->unnamed);
    if (good) {
        result->rows = m.from.rows, result->dim = m.maker.dim;
        memcpy(result->fingerprint, m.maker.at[0].info.fingerprint, sizeof result->fingerprint);
    }
    inputs_free(&m.listed);
    foreign_rows_close(&m.from);
    free(m.values), free(m.row);
    return good;
}
