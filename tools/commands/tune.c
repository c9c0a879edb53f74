/* reid tune: measures settings on the user's own images and machine, and writes the best as a profile. */
#include "base/files.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "base/threads.h"
#include "cli/profile.h"
#include "commands/commands.h"
#include "commands/requests.h"
#include "machine/trial.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Indices into PROFILES. */
enum { GOAL_THROUGHPUT, GOAL_LATENCY, GOAL_LOW_MEMORY, GOAL_CPU };
static const char *const GOALS[] = {"throughput", "latency", "low-memory", "cpu"};

typedef struct tuning {
    const options *o;
    tune_request r;
    tune_choice c;
    reid_info info;
    size_t pictures;
    double gib; /* bytes in one */
} tuning;

/* Sets the space of settings. Given options are not varied. For latency, there is one image at a time. */
static void make_space(tuning *t, int on_gpu) {
    enum { MOST_ON_CPU = 64, MOST_ON_GPU = 256, MOST_DECODERS = 256, MOST_THREADS = 1024 };
    const options *o = t->o;
    tune_space *s = &t->r.space;
    int one = o->tune.goal == GOAL_LATENCY;
    s->decoder_count =
        tune_steps(s->decoders, threads_for(0, MOST_DECODERS), o->input.decoders ? o->input.decoders : one);
    s->thread_count = tune_steps(s->threads, threads_for(0, MOST_THREADS),
                                 o->compute.threads ? o->compute.threads : on_gpu ? t->info.threads : 0);
    s->batch_count =
        tune_steps(s->batches, on_gpu ? MOST_ON_GPU : MOST_ON_CPU, o->compute.batch ? o->compute.batch : one);
}

/* --- output ------------------------------------------------------------------------------------------------------- */

static int by_pace(const void *a, const void *b) {
    const tune_candidate *const *x = a, *const *y = b;
    double first = tune_pace(*x), second = tune_pace(*y);
    return first != second ? (first < second) - (first > second) : (*x > *y) - (*x < *y);
}

/* The measured settings, fastest first; free() the list. NULL after reporting that memory ran out. */
static const tune_candidate **measured(const tuning *t, size_t *count) {
    const tune_candidate **list = need_array(t->c.count, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < t->c.count; i++)
        if (t->c.all[i].rounds && !t->c.all[i].too_large) list[(*count)++] = &t->c.all[i];
    if (list) qsort(list, *count, sizeof *list, by_pace);
    return list;
}

static void explain(const tuning *t, const tune_candidate *fastest, text *out, const char *mark) {
    const tune_candidate *best = &t->c.all[t->c.best];
    text_printf(out, "%sFor %s on %s, %s in %s, with %zu image%s: %.1f images/s, %.2f GiB", mark,
                GOALS[t->o->tune.goal], t->info.device, t->info.network, t->info.precision, t->pictures,
                plural(t->pictures), tune_pace(best), (double)best->bytes / t->gib);
    if (t->o->tune.goal == GOAL_LOW_MEMORY)
        text_printf(out, ", %.0f %% of the pace of the fastest, which takes %.2f GiB", 100 * tune_pace(best) /
                    tune_pace(fastest), (double)fastest->bytes / t->gib);
    else if (best != fastest)
        text_printf(out, "; settings up to 1 %% faster need more threads or a larger batch");
    text_puts(out, ".\n");
    if (t->c.largest_batch)
        text_printf(out, "%sThe largest batch that fits is %d.\n", mark, t->c.largest_batch);
    if (t->c.hurried)
        text_printf(out, "%sTime ran out before all promising settings were measured; give more --seconds.\n", mark);
}

static void table(const tuning *t, const tune_candidate **list, size_t count, text *out) {
    text_printf(out, "%8s %8s %6s %12s %8s %8s\n", "DECODERS", "THREADS", "BATCH", "IMAGES/S", "GIB", "SECONDS");
    for (size_t i = 0; i < count; i++)
        text_printf(out, "%8d %8d %6d %12.1f %8.2f %8.1f%s\n", list[i]->at.decoders, list[i]->at.threads,
                    list[i]->at.batch, tune_pace(list[i]), (double)list[i]->bytes / t->gib, list[i]->seconds,
                    list[i] == &t->c.all[t->c.best] ? "  <-" : "");
    explain(t, list[0], out, "");
}

static void json_setting(json_writer *w, const char *key, const tune_candidate *x) {
    json_put_object(w, key);
    json_put_int(w, "decoders", x->at.decoders);
    json_put_int(w, "threads", x->at.threads);
    json_put_int(w, "batch", x->at.batch);
    json_put_number(w, "per_second", tune_pace(x), 6);
    json_put_count(w, "bytes", x->bytes);
    json_put_fixed(w, "seconds", x->seconds, 3);
    json_put_end(w);
}

static void as_json(const tuning *t, const tune_candidate **list, size_t count, text *out) {
    json_writer w = json_write(out);
    json_put_object(&w, NULL);
    json_put_string(&w, "goal", GOALS[t->o->tune.goal]);
    json_put_string(&w, "device", t->info.device);
    if (t->c.largest_batch) json_put_int(&w, "largest_batch", t->c.largest_batch);
    else json_put_null(&w, "largest_batch");
    json_put_bool(&w, "hurried", t->c.hurried);
    json_setting(&w, "chosen", &t->c.all[t->c.best]);
    json_put_array(&w, "measured");
    for (size_t i = 0; i < count; i++) {
        json_put_line(&w, 2);
        json_setting(&w, NULL, list[i]);
    }
    json_put_finish(&w);
}

#define PROFILE_START "# A profile from reid tune, for --profile.\n"
static const output_kind PROFILE_FILE = {.what = "a profile from reid tune", .start = PROFILE_START};

/* Writes the profile; with threads only if they were varied, since they hardly matter on a GPU. */
static int write_profile(const tuning *t, const tune_candidate *fastest) {
    text out = TEXT_INIT, why = TEXT_INIT;
    const tune_setting *s = &t->c.all[t->c.best].at;
    text_puts(&out, PROFILE_START);
    explain(t, fastest, &out, "# ");
    int on_gpu = strcmp(t->info.device, "cpu") != 0;
    if (t->o->tune.goal == GOAL_CPU || t->o->compute.device != REID_DEVICE_AUTO)
        text_printf(&out, "%s = %s\n", PROFILE_KEY[PROFILE_DEVICE], t->info.device);
    text_printf(&out, "%s = %d\n", PROFILE_KEY[PROFILE_BATCH], s->batch);
    if (!on_gpu) text_printf(&out, "%s = %d\n", PROFILE_KEY[PROFILE_THREADS], s->threads);
    text_printf(&out, "%s = %d\n", PROFILE_KEY[PROFILE_DECODERS], s->decoders);
    if (t->o->compute.memory) text_printf(&out, "%s = %zu\n", PROFILE_KEY[PROFILE_MEMORY], t->o->compute.memory);
    int good = file_write(t->o->output.path, &PROFILE_FILE, &out, &why);
    if (!good) say_error("%s: %s", shown(t->o->output.path), why.s);
    text_free(&out), text_free(&why);
    return good;
}

static int tell(const tuning *t) {
    size_t count;
    text out = TEXT_INIT;
    const tune_candidate **list = measured(t, &count);
    if (!list) return 0;
    int written =
        !t->o->output.path || write_profile(t, list[0]); /* print results even if writing fails */
    (t->o->output.json ? as_json : table)(t, list, count, &out);
    int told = results_print(&out);
    free(list);
    return written && told;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static int measure(tuning *t, const inputs *list) {
    const options *o = t->o;
    reid_desc descs[MAX_MODELS];
    for (int i = 0; i < o->models; i++) {
        descs[i] = model_desc(o, &o->model[i], NULL);
        if (o->tune.goal == GOAL_CPU) descs[i].device = REID_DEVICE_CPU;
    }
    const trial_request request = {.models = descs, .model_count = o->models, .list = list, .decode = decoding(o),
                                   .seconds = o->tune.seconds};
    trial *real = trial_start(&request);
    if (!real) return 0;
    t->info = *trial_info(real);
    t->pictures = list->count;
    int on_gpu = strcmp(t->info.device, "cpu") != 0;
    make_space(t, on_gpu);
    t->r.goal = o->tune.goal == GOAL_LOW_MEMORY ? TUNE_SMALLEST : TUNE_FASTEST;
    t->r.seconds = o->tune.seconds, t->r.full = o->tune.full;
    t->r.first_batch = t->info.batch, t->r.find_largest = on_gpu || o->compute.memory;
    t->r.measure = trial_measure, t->r.user = real;
    int good = tune_choose(&t->r, &t->c);
    trial_end(real);
    return good && tell(t);
}

static int check_options(const options *o) {
    text why = TEXT_INIT;
    int good = 0;
    if (!o->operand_count && !o->input.boxes) say_error("tune: no INPUT; see \"reid help tune\"");
    else if (!o->models) say_error("no model: give its weights with -m FILE");
    else if (o->tune.goal == GOAL_CPU && o->compute.device == REID_DEVICE_CUDA)
        say_error("tune: --goal cpu and --device cuda contradict each other");
    else if (o->output.path && !file_target(o->output.path, &PROFILE_FILE, &why))
        say_error("%s: %s", shown(o->output.path), why.s);
    else good = 1;
    text_free(&why);
    return good;
}

int tune_main(options *o) {
    tuning t;
    inputs list = {0};
    if (!check_options(o)) return 2;
    memset(&t, 0, sizeof t);
    t.o = o, t.gib = 1073741824.0;
    int good = collect_inputs(&list, o);
    if (good && list.count == 0) {
        say_error("tune: no images found");
        good = 0;
    }
    good = good && measure(&t, &list);
    tune_choice_free(&t.c);
    inputs_free(&list);
    return good ? 0 : 2;
}
