#include "commands/answering.h"

#include "base/memory.h"
#include "base/say.h"

#include <math.h>
#include <string.h>

int answering_check(const options *o, const char *who) {
    if (!o->models) say_error("no model: give its weights with -m FILE");
    else if (o->match.gallery && o->models > MAX_MODELS)
        say_error("%s: a --gallery belongs to one model, or to two together, not to %d; serve the others without it",
                  who, o->models);
    else if (!o->match.gallery && (o->match.calibration || o->match.weight_count || !isnan(o->match.threshold)))
        say_error("%s: --calibration, --score-weights and --threshold need a --gallery", who);
    else if (o->match.weight_count && o->match.calibration)
        say_error("%s: --calibration already has the models' shares: remove --score-weights", who);
    else if (o->match.weight_count && o->match.weight_count != o->models)
        say_error("%s: --score-weights gives %d share%s for %d model%s", who, o->match.weight_count,
                  plural((size_t)o->match.weight_count), o->models, plural((size_t)o->models));
    else return 1;
    return 0;
}

static int is_name(const char *s, size_t n) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    return n > 0 && n <= 128 && strspn(s, letters) >= n;
}

static int is_taken(const answering *a, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(a->names[i], name) == 0) return 1;
    return 0;
}

static int name_model(answering *a, int i, const char *who) {
    reid_desc *desc = &a->models[i];
    text *name = &a->own[i];
    const char *equals = strchr(desc->weights, '=');
    if (equals && is_name(desc->weights, (size_t)(equals - desc->weights))) {
        text_add(name, desc->weights, (size_t)(equals - desc->weights));
        desc->weights = equals + 1;
    } else {
        const char *file = path_name(desc->weights);
        text_add(name, file, path_stem(file));
    }
    if (!need_text(name)) return 0;
    if (!is_name(name->s, name->len) || strcmp(name->s, "stats") == 0)
        say_error("%s: \"%s\" is not a valid model name; expected letters, digits, dots, dashes and underscores, but "
                  "not \"stats\": give one with -m NAME=FILE", who, shown(name->s));
    else if (is_taken(a, i, name->s))
        say_error("%s: two models are called %s; give names with -m NAME=FILE", who, shown(name->s));
    else return a->names[i] = name->s, 1;
    return 0;
}

int answering_name(answering *a, const options *o, const char *who) {
    memset(a, 0, sizeof *a);
    for (int i = 0; i < o->models; i++) {
        a->models[i] = model_desc(o, &o->model[i], NULL);
        if (!name_model(a, i, who)) return 0;
    }
    return 1;
}

service_request answering_request(answering *a, const options *o) {
    a->gallery = gallery_of(o);
    return (service_request){.models = a->models,
                             .names = a->names,
                             .count = o->models,
                             .memory = o->compute.memory,
                             .limit = o->serve.waiting,
                             .delay_us = (long long)(o->serve.delay * 1000),
                             .decode = decoding(o),
                             .gallery = o->match.gallery ? &a->gallery : NULL,
                             .calibration = o->match.calibration,
                             .weights = o->match.weights,
                             .weight_count = o->match.weight_count,
                             .top = o->match.top_k,
                             .threshold = o->match.threshold,
                             .timed = o->serve.access_log || o->output.trace};
}

void answering_free(answering *a) {
    for (int i = 0; i < MAX_SERVED; i++) text_free(&a->own[i]);
}
