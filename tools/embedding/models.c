#include "embedding/models.h"

#include "base/memory.h"
#include "base/say.h"
#include "base/threads.h"
#include "embedding/gpu_state.h"

#include <stdlib.h>
#include <string.h>

const char *reason_of(const reid_error *error, reid_result result) {
    return error->text[0] ? error->text : reid_result_string(result);
}

void say_model_error(const char *weights, const reid_error *error, reid_result result) {
    const char *reason = reason_of(error, result);
    size_t n = strlen(weights);
    if (strncmp(reason, weights, n) == 0 && reason[n] == ':') say_error("%s", shown(reason));
    else say_error("%s: %s", shown(weights), shown(reason));
}

void say_log(reid_log_level level, reid_result id, const char *message, void *user) {
    (void)id, (void)user;
    say_at(level == REID_LOG_WARNING ? SAY_NORMAL : level == REID_LOG_INFO ? SAY_VERBOSE : SAY_DEBUG, message);
}

int model_create(model *m, const reid_desc *desc) {
    reid_desc own = *desc;
    own.error = &m->error;
    memset(m, 0, sizeof *m);
    m->weights = own.weights ? own.weights : "weights in memory";
    m->result = reid_create(&own, &m->ctx);
    if (m->result == REID_OK) reid_query_desc(m->ctx, &m->info);
    return m->result == REID_OK;
}

int model_open(model *m, const reid_desc *desc) {
    if (model_create(m, desc)) return 1;
    say_model_error(m->weights, &m->error, m->result);
    return 0;
}

void model_close(model *m) {
    reid_destroy(m->ctx);
    m->ctx = NULL;
}

int models_add(models *all, const reid_desc *desc) {
    model *m = &all->at[all->count];
    if (!model_open(m, desc)) return 0;
    all->count++;
    all->dim += m->info.dim;
    if (m->info.batch > all->batch) all->batch = m->info.batch;
    return 1;
}

int models_open(models *all, const reid_desc *descs, int count) {
    memset(all, 0, sizeof *all);
    if (!count) {
        say_error("no model: give its weights with -m FILE");
        return 0;
    }
    for (int i = 0; i < count; i++) {
        if (!models_add(all, &descs[i])) {
            models_close(all);
            return 0;
        }
        const model *m = &all->at[i];
        if (descs[i].device == REID_DEVICE_AUTO && strncmp(m->info.device, "cuda", 4) == 0) /* chosen automatically */
            say_warning("computing on %s, %s, in %s", m->info.device, m->info.chip, m->info.precision);
        say_info("%s: %s, head %s, %s, %dx%d, %d float%s, %s %s, %d thread%s, fingerprint %s", shown(m->weights),
                 m->info.network, m->info.head, m->info.preset, m->info.height, m->info.width, m->info.dim,
                 plural((size_t)m->info.dim), m->info.device, m->info.isa, m->info.threads,
                 plural((size_t)m->info.threads), m->info.fingerprint);
    }
    return 1;
}

reid_saturation models_saturation(const models *all) {
    reid_saturation sum = {.images = 0}, one;
    for (int i = 0; i < all->count; i++) {
        if (reid_query_saturation(all->at[i].ctx, &one) != REID_OK) continue;
        sum.images += one.images, sum.saturated += one.saturated, sum.recomputed += one.recomputed;
    }
    return sum;
}

static void say_saturation(const model *m) {
    reid_saturation s;
    if (!m->ctx || reid_query_saturation(m->ctx, &s) != REID_OK || !s.saturated) return;
    say_warning("%s: %lld of %lld image%s exceeded INT8's ranges; %s. To make them fit, run reid calibrate --int8 with "
                "such images among the others",
                shown(m->weights), (long long)s.saturated, (long long)s.images, plural((size_t)s.images),
                m->info.fallback ? "they were recomputed in FP32" : "their embeddings may be far off");
}

void models_close(models *all) {
    if (all->count) gpu_state_say(all->at[0].info.device);
    for (int i = 0; i < all->count; i++) {
        say_saturation(&all->at[i]);
        model_close(&all->at[i]);
    }
    all->count = 0;
}

int model_prepares(const model *m) { return strcmp(m->info.device, "cpu") == 0; }

size_t model_input_bytes(const model *m) { return 3 * (size_t)m->info.height * (size_t)m->info.width; }

reid_image model_prepared(const model *m, const unsigned char *made, size_t i) {
    return (reid_image){made + i * model_input_bytes(m), m->info.width, m->info.height, 0, REID_PREPARED, NULL};
}

unsigned char *model_prepare(const model *m, const reid_image *crops, size_t n, size_t bytes) {
    const size_t each = model_input_bytes(m);
    unsigned char *made = n < bytes / each ? malloc(n * each) : NULL;
    for (size_t i = 0; i < n && made; i++) {
        if (reid_preprocess(m->ctx, &crops[i], made + i * each, NULL) == REID_OK) continue;
        free(made);
        made = NULL;
    }
    return made;
}

static int on_gpus(const models *all) {
    for (int i = 0; i < all->count; i++)
        if (model_prepares(&all->at[i])) return 0;
    return 1;
}

int models_lanes(const models *all) {
    int least = MOST_LANES;
    if (!on_gpus(all)) return 1;
    for (int i = 0; i < all->count; i++)
        if (all->at[i].info.lanes < least) least = all->at[i].info.lanes;
    return least;
}

int models_decoders(const models *all, int wanted, int most) {
    enum { FEW = 4 };
    if (wanted) return threads_for(wanted, most);
    const int few = threads_for(0, most < FEW ? most : FEW);
    const int rest = all && on_gpus(all) ? threads_here() - models_lanes(all) : 0;
    return rest < few ? few : rest < most ? rest : most;
}

int models_embed(const models *all, const reid_image *images, int n, float *rows, text *why) {
    float *part = rows;
    reid_error error = REID_INIT; /* not the model's, because several threads may compute */
    int offset = 0;
    if (all->count > 1) part = mem_array((size_t)n * (size_t)all->dim, sizeof *part);
    if (!part) return text_no_memory(why);
    for (int i = 0; i < all->count; i++) {
        const model *m = &all->at[i];
        size_t dim = (size_t)m->info.dim;
        reid_result r = reid_embed_ex(m->ctx, images, n, part, &error);
        if (r != REID_OK) {
            text_clear(why);
            if (all->count > 1) text_printf(why, "%s: ", m->weights);
            const char *reason = reason_of(&error, r);
            if (n == 1 && strncmp(reason, "image 0", 7) == 0) reason += strncmp(reason, "image 0: ", 9) == 0 ? 9 : 7;
            text_puts(why, *reason ? reason : reid_result_string(r)); /* without "image 0": the caller names it */
            if (part != rows) free(part);
            return 0;
        }
        for (int k = 0; k < n && part != rows; k++)
            memcpy(rows + (size_t)k * (size_t)all->dim + offset, part + (size_t)k * dim, dim * sizeof *rows);
        offset += m->info.dim;
    }
    if (part != rows) free(part);
    return 1;
}

void models_json(const models *all, json_writer *w) {
    json_put_array(w, "models");
    for (int i = 0; i < all->count; i++) {
        const reid_info *info = &all->at[i].info;
        json_put_line(w, 4);
        json_put_object(w, NULL);
        json_put_string(w, "weights", all->at[i].weights);
        json_put_string(w, "fingerprint", info->fingerprint);
        json_put_string(w, "network", info->network);
        json_put_string(w, "head", info->head);
        if (strcmp(info->head, "seeded") == 0) json_put_count(w, "head_seed", info->head_seed);
        json_put_string(w, "preset", info->preset);
        json_put_int(w, "height", info->height);
        json_put_int(w, "width", info->width);
        json_put_int(w, "last_stride", info->last_stride);
        json_put_int(w, "dim", info->dim);
        json_put_bool(w, "flip", info->flip);
        json_put_bool(w, "raw", info->raw);
        json_put_string(w, "precision", info->precision);
        json_put_string(w, "device", info->device);
        json_put_string(w, "chip", info->chip);
        json_put_string(w, "isa", info->isa);
        json_put_end(w);
    }
    json_put_line(w, 2);
    json_put_end(w);
}
