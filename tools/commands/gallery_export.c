/* reid gallery export: writes templates to a file of embeddings, as `reid embed` would have written it. */
#include "base/files.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"
#include "base/when.h"
#include "commands/gallery_export.h"
#include "embedding/npy.h"
#include "embedding/output_kinds.h"
#include "gallery/templates.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum form { NPY, FVECS, JSONL, FORMS } form;

typedef struct exporting {
    const gallery_store *store;
    form as;
    pending data, ids, meta;
    text buffer, why, side;
    const char *failed; /* the file that `why` is about; NULL: that of --output */
    float *row;
} exporting;

static void read_row(exporting *e, size_t i) {
    size_t dim = (size_t)store_info(e->store)->dim;
    if (store_halves(e->store)) reid_from_halves(store_halves(e->store) + i * dim, e->row, dim);
    else memcpy(e->row, store_floats(e->store) + i * dim, dim * sizeof *e->row);
}

static const char *time_of(const store_item *item, text *scratch) {
    text_clear(scratch);
    if (item->time == STORE_NO_TIME) return "";
    when_text(scratch, item->time);
    return scratch->s;
}

static void jsonl_row(exporting *e, size_t i) {
    const store_meta *meta = store_info(e->store);
    store_item item = store_at(e->store, i);
    const float *row = e->row;
    text time = TEXT_INIT;
    json_writer w = json_write(&e->buffer);
    json_put_object(&w, NULL);
    json_put_string(&w, "path", item.id);
    json_put_string(&w, "identity", item.identity);
    json_put_string(&w, "camera", item.camera);
    json_put_string(&w, "time", time_of(&item, &time));
    json_put_array(&w, "embeddings");
    for (int m = 0; m < meta->models; row += meta->model[m++].dim)
        json_put_floats(&w, NULL, row, (size_t)meta->model[m].dim);
    json_put_finish(&w);
    if (text_failed(&time)) text_no_memory(&e->buffer);
    text_free(&time);
}

static int write_buffer(exporting *e, pending *to, size_t at) {
    if (text_failed(&e->buffer)) return text_no_memory(&e->why);
    return pending_write(to, e->buffer.s ? e->buffer.s : "", e->buffer.len, at, &e->why);
}

static int write_data(exporting *e) {
    const store_meta *meta = store_info(e->store);
    size_t dim = (size_t)meta->dim, end = 0;
    int good = 1;
    if (e->as == NPY) {
        char header[NPY_HEADER];
        npy_header(header, store_count(e->store), dim);
        text_add(&e->buffer, header, sizeof header);
    }
    for (size_t i = 0; good && i <= store_count(e->store); i++) {
        int last = i == store_count(e->store);
        if (last || e->buffer.len > (size_t)1 << 20) {
            good = write_buffer(e, &e->data, end);
            end += e->buffer.len;
            text_clear(&e->buffer);
            if (interrupted()) good = 0, text_clear(&e->why), text_puts(&e->why, "interrupted");
        }
        if (last) break;
        read_row(e, i);
        if (e->as == JSONL) jsonl_row(e, i);
        if (e->as == FVECS) text_add(&e->buffer, &meta->dim, 4);
        if (e->as != JSONL) text_add(&e->buffer, e->row, dim * sizeof *e->row);
    }
    return good && pending_sync(&e->data, &e->why);
}

/* Writes an array with one text per template. */
static void add_names(exporting *e, json_writer *w, const char *key,
                      const char *(*name)(const store_item *item, text *scratch)) {
    text scratch = TEXT_INIT;
    json_put_line(w, 2);
    json_put_array(w, key);
    for (size_t i = 0; i < store_count(e->store); i++) {
        store_item item = store_at(e->store, i);
        json_put_line(w, 4);
        json_put_string(w, NULL, name(&item, &scratch));
        if (text_failed(&scratch)) text_no_memory(w->out);
    }
    json_put_end(w);
    text_free(&scratch);
}

static const char *identity_of(const store_item *item, text *scratch) { return (void)scratch, item->identity; }
static const char *camera_of(const store_item *item, text *scratch) { return (void)scratch, item->camera; }

static void add_models(json_writer *w, const store_meta *meta) {
    json_put_line(w, 2);
    json_put_array(w, "models");
    for (int m = 0; m < meta->models; m++) {
        const store_model *from = &meta->model[m];
        json_put_line(w, 4);
        json_put_object(w, NULL);
        json_put_string(w, "fingerprint", from->fingerprint);
        json_put_string(w, "network", from->network);
        json_put_string(w, "preset", from->preset);
        json_put_string(w, "precision", from->precision);
        json_put_int(w, "dim", from->dim);
        json_put_bool(w, "raw", 0);
        json_put_end(w);
    }
    json_put_line(w, 2);
    json_put_end(w);
}

static void add_meta(exporting *e) {
    const store_meta *meta = store_info(e->store);
    json_writer w = json_write(&e->buffer);
    json_put_object(&w, NULL);
    json_put_line(&w, 2);
    json_put_string(&w, "format", "reid-embeddings");
    json_put_int(&w, "format_version", 1);
    json_put_string(&w, "reid", reid_version_string());
    json_put_line(&w, 2);
    json_put_count(&w, "rows", store_count(e->store));
    json_put_int(&w, "dim", meta->dim);
    json_put_line(&w, 2);
    if (*meta->jpeg) json_put_string(&w, "jpeg", meta->jpeg);
    add_models(&w, meta);
    if (e->as != JSONL) {
        add_names(e, &w, "identities", identity_of);
        add_names(e, &w, "cameras", camera_of);
        add_names(e, &w, "times", time_of);
    }
    json_put_line(&w, 0);
    json_put_finish(&w);
}

static int open_side(exporting *e, pending *p, const output_kind *kind, const char *path, int cut, const char *ending) {
    text name = TEXT_INIT;
    text_printf(&name, "%.*s%s", (int)strlen(path) - cut, path, ending);
    int good = text_failed(&name) ? text_no_memory(&e->why) : pending_begin(p, name.s, kind, &e->why);
    if (good) text_free(&name);
    else e->side = name, e->failed = e->side.s;
    return good;
}

static int write_side(exporting *e, pending *p) {
    int good = write_buffer(e, p, 0) && pending_sync(p, &e->why);
    if (!good) e->failed = p->path;
    text_clear(&e->buffer);
    return good;
}

/* The metadata comes last: where it exists, the files that belong to it exist, too. */
static int write_all(exporting *e, const char *path) {
    int cut = e->as == NPY ? 4 : e->as == FVECS ? 6 : 0;
    static const output_kind *const kinds[] = {[NPY] = &NPY_FILE, [FVECS] = &FVECS_FILE, [JSONL] = &EMBEDDINGS_JSONL};
    if (!open_side(e, &e->data, kinds[e->as], path, 0, "") ||
        !open_side(e, &e->meta, &META_FILE, path, cut, ".meta.json")) return 0;
    if (e->as != JSONL && !open_side(e, &e->ids, &IDS_FILE, path, cut, ".ids.txt")) return 0;
    if (!write_data(e)) return 0;
    for (size_t i = 0; e->as != JSONL && i < store_count(e->store); i++)
        text_id_line(&e->buffer, store_at(e->store, i).id);
    if (e->as != JSONL && !write_side(e, &e->ids)) return 0;
    add_meta(e);
    if (!write_side(e, &e->meta)) return 0;
    pending *const order[] = {&e->data, &e->ids, &e->meta};
    if (!pending_rename_all(order, 3, &e->failed, &e->why)) return 0;
    sync_folder_of(path);
    return 1;
}

int gallery_export(options *o, const char *path) {
    static const char *const endings[FORMS] = {".npy", ".fvecs", ".jsonl"};
    exporting e;
    int good = 0;
    memset(&e, 0, sizeof e);
    e.as = FORMS;
    for (int i = 0; o->output.path && i < FORMS; i++)
        if (path_has_ending(o->output.path, endings[i])) e.as = (form)i;
    if (e.as == FORMS) {
        say_error("gallery export: give -o FILE.npy, FILE.fvecs or FILE.jsonl");
        return 2;
    }
    gallery_store *s = templates_read(path, 1);
    if (!s) return 2;
    e.store = s;
    e.row = mem_array((size_t)store_info(s)->dim, sizeof *e.row);
    good = e.row ? write_all(&e, o->output.path) : text_no_memory(&e.why);
    if (!good)
        say_error("%s: %s", shown(e.failed ? e.failed : o->output.path), e.why.s ? e.why.s : "cannot be written");
    pending_close(&e.data);
    pending_close(&e.ids);
    pending_close(&e.meta);
    text_free(&e.buffer);
    text_free(&e.side);
    text_free(&e.why);
    free(e.row);
    store_close(s);
    return good ? 0 : 2;
}
