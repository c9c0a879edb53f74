#include "tracks/crop_rows.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/say.h"
#include "embedding/output.h"
#include "pictures/png.h"

#include <stdlib.h>
#include <string.h>

static const size_t MOST_BYTES = (size_t)256 << 20; /* the most pixels of waiting crops */

static size_t waiting(const crop_rows *c) {
    REID_ASSERT(c->done <= c->list.count);
    return c->list.count - c->done;
}

static int write_picture(const crop_rows *c, const char *name, const waiting_crop *w) {
    text path = TEXT_INIT, png = TEXT_INIT, why = TEXT_INIT;
    text_printf(&path, "%s/%s", c->folder, name);
    int good = need_text(&path);
    if (good && (!png_make(&png, w->rgb, w->width, w->height, &why) || !file_write_lazily(path.s, &png, &why))) {
        say_error("%s: %s", shown(path.s), why.s);
        good = 0;
    }
    text_free(&path), text_free(&png), text_free(&why);
    return good;
}

/* Embeds all waiting crops at once. If the library refuses one, that call fails, and they are embedded one at a time:
   the bits of a row do not depend on the other rows of its batch. */
static int embed(crop_rows *c, const reid_image *images, size_t n) {
    size_t dim = (size_t)c->all->dim;
    text why = TEXT_INIT;
    float *rows = c->rows + c->done * dim;
    int together = models_embed(c->all, images, (int)n, rows, &why), good = 1;
    for (size_t i = 0; i < n && !together && good; i++) {
        input *in = &c->list.at[c->done + i];
        if (models_embed(c->all, &images[i], 1, rows + i * dim, &why)) continue;
        memset(rows + i * dim, 0, dim * sizeof *rows);
        say_error("%s: %s", shown(in->id), why.s);
        in->failure = need_copy(why.s, why.len);
        good = in->failure != NULL;
        c->failed++;
    }
    text_free(&why);
    return good;
}

int crop_rows_flush(crop_rows *c) {
    size_t n = waiting(c);
    reid_image *images = n ? need_zeroed(n, sizeof *images) : NULL;
    int good = n == 0 || images != NULL;
    const double began = clock_seconds();
    for (size_t i = 0; i < n && good; i++) {
        images[i].pixels = c->waiting[i].rgb;
        images[i].width = c->waiting[i].width;
        images[i].height = c->waiting[i].height;
        images[i].format = REID_RGB8;
        good = write_picture(c, c->list.at[c->done + i].id, &c->waiting[i]);
    }
    const double written = clock_seconds();
    if (n) good = good && embed(c, images, n);
    if (n && good) c->work.rows += n, c->work.batches++;
    c->work.write += written - began;
    c->work.compute += clock_seconds() - written;
    for (size_t i = 0; i < n; i++) free(c->waiting[i].rgb);
    free(images);
    c->done = c->list.count;
    c->bytes = 0;
    return good;
}

/* Makes room for one more row and one more waiting crop. */
static int make_room(crop_rows *c) {
    size_t place = waiting(c), row = (size_t)c->all->dim * sizeof *c->rows;
    if (!NEED(c->waiting, place, c->waiting_cap)) return 0;
    if (c->list.count < c->rows_cap) return 1;
    size_t cap = c->rows_cap ? 2 * c->rows_cap : 64;
    float *rows = need_array(cap, row);
    if (!rows) return 0;
    if (c->list.count) memcpy(rows, c->rows, c->list.count * row);
    free(c->rows);
    c->rows = rows, c->rows_cap = cap;
    return 1;
}

int crop_rows_add(crop_rows *c, const char *name, unsigned char *rgb, int width, int height, size_t *row) {
    *row = c->list.count;
    if (!make_room(c) || !inputs_add(&c->list, name, 0, name)) {
        free(rgb);
        return 0;
    }
    c->waiting[*row - c->done] = (waiting_crop){rgb, width, height};
    c->bytes += 3 * (size_t)width * (size_t)height;
    return (waiting(c) < (size_t)c->all->batch && c->bytes < MOST_BYTES) || crop_rows_flush(c);
}

int crop_rows_recall(crop_rows *c, const char *name, const char *failure, const float *row) {
    size_t dim = (size_t)c->all->dim, at = c->list.count;
    REID_ASSERT(!waiting(c)); /* they would count as done */
    if (!make_room(c)) return 0;
    char *reason = failure ? need_copy(failure, strlen(failure)) : NULL;
    input *in = !failure || reason ? inputs_add(&c->list, name, 0, name) : NULL;
    if (!in) {
        free(reason);
        return 0;
    }
    in->failure = reason;
    c->failed += failure != NULL;
    memcpy(c->rows + at * dim, row, dim * sizeof *row);
    c->done = c->list.count;
    return 1;
}

int crop_rows_write(const crop_rows *c, const output_request *how) {
    output_request request = *how;
    text path = TEXT_INIT;
    size_t done, dim = (size_t)c->all->dim;
    text_printf(&path, "%s/embeddings.npy", c->folder);
    request.path = path.s;
    output *out = need_text(&path) ? output_open(&request) : NULL;
    int begun = out && output_begin(out, c->all, &c->list, 0, c->list.count, &done), good = begun;
    for (size_t i = 0; i < c->list.count && good; i++) {
        const char *failure = c->list.at[i].failure;
        good = failure ? output_failure(out, i, failure) : output_row(out, i, c->rows + i * dim);
    }
    if (begun) good = output_finish(out) && good; /* reports earlier errors, too */
    else if (out) output_discard(out);
    text_free(&path);
    return good;
}

void crop_rows_drop(crop_rows *c) {
    free(c->rows);
    c->rows = NULL, c->rows_cap = 0;
}

void crop_rows_free(crop_rows *c) {
    for (size_t i = 0; i < waiting(c); i++) free(c->waiting[i].rgb);
    inputs_free(&c->list);
    free(c->rows), free(c->waiting);
    memset(c, 0, sizeof *c);
}
