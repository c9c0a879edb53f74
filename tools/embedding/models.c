#include "embedding/models.h"

#include "base/say.h"

#include <stdlib.h>
#include <string.h>

reid_desc model_desc(const options *o, const model_options *m, reid_error *error) {
    reid_desc desc = REID_INIT;
    desc.weights = m->weights;
    desc.network = m->network;
    desc.preset = m->preset;
    desc.height = m->height;
    desc.width = m->width;
    desc.last_stride = m->last_stride;
    desc.head = m->head;
    desc.head_seed = m->head_seed;
    desc.allow_unused = m->allow_unused;
    desc.flip = o->flip != 0;
    desc.raw = o->raw != 0;
    desc.latency = o->latency != 0;
    desc.device = (reid_device)o->device;
    desc.device_index = o->device_index;
    desc.precision = (reid_precision)o->precision;
    if (!o->compare || desc.precision == REID_INT8) desc.ranges = m->ranges; /* --compare has several precisions */
    desc.cpu_isa = (reid_isa)o->isa;
    desc.batch = o->batch;
    desc.threads = o->threads;
    desc.memory_limit = o->memory;
    desc.kernels_path = o->kernels;
    desc.kernels_pack = o->pack;
    desc.log_fn = say_log;
    desc.error = error;
    return desc;
}

const char *reason_of(const reid_error *error, reid_result result) {
    return error->text[0] ? error->text : reid_result_string(result);
}

void say_model_error(const char *weights, const reid_error *error, reid_result result) {
    const char *reason = reason_of(error, result);
    size_t n = strlen(weights);
    if (strncmp(reason, weights, n) == 0 && reason[n] == ':') say_error("%s", shown(reason));
    else say_error("%s: %s", shown(weights), shown(reason));
}

int models_open(models *all, const options *o) {
    memset(all, 0, sizeof *all);
    if (o->models == 0) {
        say_error("no model: give its weights with -m FILE");
        return 0;
    }
    for (int i = 0; i < o->models; i++) {
        model *m = &all->at[i];
        reid_desc desc = model_desc(o, &o->model[i], &m->error);
        m->weights = desc.weights;
        m->result = reid_create(&desc, &m->ctx);
        if (m->result != REID_OK) {
            say_model_error(m->weights, &m->error, m->result);
            models_close(all);
            return 0;
        }
        all->count++;
        reid_query_desc(m->ctx, &m->info);
        all->dim += m->info.dim;
        if (m->info.batch > all->batch) all->batch = m->info.batch;
        if (o->device == REID_DEVICE_AUTO && strncmp(m->info.device, "cuda", 4) == 0) /* none was asked for by name */
            say_warning("computing on %s, %s, in %s", m->info.device, m->info.chip, m->info.precision);
        say_info("%s: %s, head %s, %s, %dx%d, %d floats, %s %s, %d threads, fingerprint %s", shown(m->weights),
                 m->info.network, m->info.head, m->info.preset, m->info.height, m->info.width, m->info.dim,
                 m->info.device, m->info.isa, m->info.threads, m->info.fingerprint);
    }
    return 1;
}

void models_close(models *all) {
    for (int i = 0; i < all->count; i++) reid_destroy(all->at[i].ctx);
    all->count = 0;
}

int models_embed(models *all, const reid_image *images, int n, float *rows, text *why) {
    float *part = rows;
    int offset = 0;
    if (all->count > 1) part = must_alloc((size_t)n * (size_t)all->dim * sizeof *part);
    for (int i = 0; i < all->count; i++) {
        model *m = &all->at[i];
        size_t dim = (size_t)m->info.dim;
        reid_result r = reid_embed_ex(m->ctx, images, n, part, &m->error);
        if (r != REID_OK) {
            text_clear(why);
            if (all->count > 1) text_printf(why, "%s: ", m->weights);
            const char *reason = reason_of(&m->error, r);
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

void models_json(const models *all, text *out) {
    for (int i = 0; i < all->count; i++) {
        const reid_info *info = &all->at[i].info;
        text_puts(out, i ? ",\n    {\"weights\": " : "[\n    {\"weights\": ");
        text_json(out, all->at[i].weights);
        text_printf(out, ", \"fingerprint\": \"%s\", \"network\": \"%s\", \"head\": \"%s\"", info->fingerprint,
                    info->network, info->head);
        if (strcmp(info->head, "seeded") == 0) text_printf(out, ", \"head_seed\": %llu",
                                                           (unsigned long long)info->head_seed);
        text_printf(out, ", \"preset\": \"%s\", \"height\": %d, \"width\": %d, \"last_stride\": %d, \"dim\": %d",
                    info->preset, info->height, info->width, info->last_stride, info->dim);
        text_printf(out, ", \"flip\": %s, \"raw\": %s, \"precision\": \"%s\", \"device\": \"%s\", \"chip\": ",
                    info->flip ? "true" : "false", info->raw ? "true" : "false", info->precision, info->device);
        text_json(out, info->chip);
        text_printf(out, ", \"isa\": \"%s\"}", info->isa);
    }
    text_puts(out, "\n  ]");
}
