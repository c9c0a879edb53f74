#include "scores/ask.h"

#include "base/memory.h"
#include "base/say.h"
#include "scores/decision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Scales each model's part of a row to length 1 or to its weight, so that the product of two rows is their score. */
static void scale_parts(const ask *a, const float *row, float *to, int weighted) {
    for (int i = 0; i < a->all->count; i++) {
        int dim = a->all->at[i].info.dim;
        double sum = 0;
        for (int k = 0; k < dim; k++) sum += (double)row[k] * row[k];
        double scale = sum > 0 ? (weighted ? a->weights[i] : 1) / sqrt(sum) : 0;
        for (int k = 0; k < dim; k++) *to++ = (float)(*row++ * scale);
    }
}

int ask_open(ask *a, const ask_request *r) {
    reid_error error;
    reid_desc desc = *r->search;
    gallery *g = r->g;
    const int count = r->all->count;
    memset(a, 0, sizeof *a);
    a->all = r->all, a->g = g, a->c = r->c;
    decision_weights(a->weights, count, r->c ? r->c->weights : r->weights, r->c ? count : r->weight_count);
    a->threshold = decision_threshold(r->threshold, r->c ? r->c->threshold : g->threshold, count);
    a->identities = need_array(g->count, sizeof *a->identities);
    if (!a->identities) return 0;
    for (size_t i = 0; i < g->count; i++) {
        float *row = g->rows + i * (size_t)g->dim;
        scale_parts(a, row, row, 0);
        a->identities[i] = (uint32_t)g->at[i].identity_index;
    }
    const reid_rows rows = {g->rows, NULL, g->count, g->dim, a->identities};
    desc.error = &error;
    reid_result result = reid_index_create(&desc, &rows, &a->index);
    if (result != REID_OK) say_error("cannot search the gallery: %s", reason_of(&error, result));
    return result == REID_OK;
}

void ask_close(ask *a) {
    reid_index_destroy(a->index);
    free(a->identities);
    memset(a, 0, sizeof *a);
}

int ask_rank(const ask *a, const float *row, int top, reid_exclude_fn exclude, void *user, float *scratch,
             reid_hit *hits, text *why) {
    reid_search_desc search = REID_INIT;
    reid_error error;
    int found;
    search.k = top, search.scoring = REID_GROUP_MAX;
    search.exclude = exclude, search.exclude_user = user;
    scale_parts(a, row, scratch, 1);
    reid_result result = reid_search(a->index, scratch, 1, &search, hits, &found, &error);
    if (result == REID_OK) return found;
    text_clear(why);
    if (result == REID_ERR_OUT_OF_MEMORY) text_no_memory(why);
    else text_puts(why, reason_of(&error, result));
    return -1;
}

const char *ask_decision(const ask *a, const reid_hit *hits, int found) {
    return decide(a->threshold, found, found ? hits[0].score : 0);
}

void ask_json(const ask *a, const reid_hit *hits, int found, json_writer *w) {
    const char *decision = ask_decision(a, hits, found);
    decision_json(w, decision, found, found ? hits[0].score : 0);
    if (a->c && found) json_put_number(w, "probability", calibration_probability(a->c, hits[0].score), 9);
    threshold_json(w, decision, a->threshold);
    json_put_array(w, "matches");
    for (int i = 0; i < found; i++) {
        const gallery_image *image = &a->g->at[hits[i].row];
        json_put_object(w, NULL);
        json_put_string(w, "identity", image->identity);
        json_put_number(w, "score", hits[i].score, 9);
        if (a->c) json_put_number(w, "probability", calibration_probability(a->c, hits[i].score), 9);
        json_put_string(w, "path", image->path);
        json_put_end(w);
    }
    json_put_end(w);
}
