#include "server/prometheus.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/resident.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Names of models need no escapes: they are letters, digits, dots, dashes and underscores. */

static const double NANO = 1e-9;

static void family(text *t, const char *name, const char *type, const char *help) {
    text_printf(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void single(text *t, const char *name, const char *type, const char *help, double value) {
    family(t, name, type, help);
    text_printf(t, "%s %.17g\n", name, value);
}

/* --- models ------------------------------------------------------------------------------------------------------- */

typedef struct measure {
    const char *name, *type, *help;
    double (*of)(const reid_queue_stats *q);
} measure;

static double images_of(const reid_queue_stats *q) { return (double)q->images; }
static double batches_of(const reid_queue_stats *q) { return (double)q->batches; }
static double computed_of(const reid_queue_stats *q) { return (double)q->computed; }
static double queue_seconds_of(const reid_queue_stats *q) { return (double)q->queue_ns * NANO; }
static double compute_seconds_of(const reid_queue_stats *q) { return (double)q->compute_ns * NANO; }
static double waiting_of(const reid_queue_stats *q) { return q->waiting; }
static double computing_of(const reid_queue_stats *q) { return q->computing; }
static double limit_of(const reid_queue_stats *q) { return q->limit; }

static const measure MEASURES[] = {
    {"reid_images_total", "counter", "Images of requests that succeeded.", images_of},
    {"reid_batches_total", "counter", "Batches that were computed.", batches_of},
    {"reid_batched_images_total", "counter", "Images in computed batches.", computed_of},
    {"reid_queue_seconds_total", "counter", "Sum of the waiting times of all images.", queue_seconds_of},
    {"reid_compute_seconds_total", "counter", "Sum of the computing times of all batches.", compute_seconds_of},
    {"reid_waiting_images", "gauge", "Images that are waiting.", waiting_of},
    {"reid_computing_images", "gauge", "Images that are being computed.", computing_of},
    {"reid_waiting_images_limit", "gauge", "Images that may wait.", limit_of},
};

static void add_outcomes(text *t, const char *name, const reid_queue_stats *q) {
    const struct {
        const char *what;
        uint64_t count;
    } outcomes[] = {{"success", q->requests}, {"expired", q->expired}, {"cancelled", q->cancelled},
                    {"stopped", q->stopped}, {"failed", q->failed}, {"full", q->full}, {"late", q->late}};
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
        text_printf(t, "reid_requests_total{model=\"%s\",outcome=\"%s\"} %llu\n", name, outcomes[i].what,
                    (unsigned long long)outcomes[i].count);
}

/* The buckets are powers of two of microseconds. */
static void add_histogram(text *t, const char *name, const reid_queue_stats *q) {
    static const char metric[] = "reid_request_duration_seconds";
    enum { EVERY = 4 };
    uint64_t sum = 0;
    for (int i = 0; i < REID_LATENCIES; i++) {
        sum += q->latencies[i];
        if (i % EVERY == EVERY - 1 && i < REID_LATENCIES - 1)
            text_printf(t, "%s_bucket{model=\"%s\",le=\"%.9g\"} %llu\n", metric, name,
                        (double)reid_latency_bound(i) * NANO, (unsigned long long)sum);
    }
    text_printf(t, "%s_bucket{model=\"%s\",le=\"+Inf\"} %llu\n%s_sum{model=\"%s\"} %.17g\n", metric, name,
                (unsigned long long)sum, metric, name, (double)q->latency_ns * NANO);
    text_printf(t, "%s_count{model=\"%s\"} %llu\n", metric, name, (unsigned long long)sum);
}

static void add_outcomes_of_opening(text *t, const char *name, const model_view *v) {
    const struct {
        const char *what;
        uint64_t count;
    } outcomes[] = {{"opened", v->opened}, {"failed", v->failed}, {"made_room", v->made_room}};
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
        text_printf(t, "reid_model_changes_total{model=\"%s\",outcome=\"%s\"} %llu\n", name, outcomes[i].what,
                    (unsigned long long)outcomes[i].count);
}

/* Which models are open, with the memory that they hold, and how often that has changed. */
static void add_open_models(text *t, const service *s) {
    family(t, "reid_model_loaded", "gauge", "1 if the model is open, else 0.");
    for (int i = 0; i < s->count; i++)
        text_printf(t, "reid_model_loaded{model=\"%s\"} %d\n", s->names[i], s->model[i] != NULL);
    family(t, "reid_model_memory_bytes", "gauge", "Memory of the model: weights, activations and the rest.");
    for (int i = 0; i < s->count; i++)
        text_printf(t, "reid_model_memory_bytes{model=\"%s\"} %zu\n", s->names[i],
                    s->model[i] ? service_model_bytes(s->model[i]) : 0);
    if (!s->shared->keeper) return;
    family(t, "reid_model_changes_total", "counter",
           "How often a model was opened, could not be opened, and was closed to make room for another one.");
    for (int i = 0; i < s->count; i++) {
        model_view v;
        service_view(s, i, &v);
        add_outcomes_of_opening(t, s->names[i], &v);
        text_free(&v.reason);
    }
}

static void add_infos(text *t, const service *s) {
    family(t, "reid_model_info", "gauge", "Properties of an open model, as labels.");
    for (int i = 0; i < s->count; i++) {
        const reid_info *info = s->model[i] ? s->model[i]->info : NULL;
        if (!info) continue;
        text_printf(t, "reid_model_info{model=\"%s\",fingerprint=\"%s\",network=\"%s\",device=\"%s\","
                       "precision=\"%s\"} 1\n",
                    s->names[i], info->fingerprint, info->network, info->device, info->precision);
    }
}

/* The counters of a model begin at 0 when it is opened. */
static void add_models(text *t, const service *s) {
    reid_queue_stats *q = mem_zeroed((size_t)s->count + 1, sizeof *q);
    if (!q) {
        text_no_memory(t);
        return;
    }
    for (int i = 0; i < s->count; i++)
        if (s->model[i]) reid_queue_query(s->model[i]->queue, &q[i]);
    add_infos(t, s);
    add_open_models(t, s);
    family(t, "reid_requests_total", "counter", "Requests to a model's queue, by outcome.");
    for (int i = 0; i < s->count; i++) add_outcomes(t, s->names[i], &q[i]);
    for (size_t m = 0; m < sizeof MEASURES / sizeof *MEASURES; m++) {
        family(t, MEASURES[m].name, MEASURES[m].type, MEASURES[m].help);
        for (int i = 0; i < s->count; i++)
            text_printf(t, "%s{model=\"%s\"} %.17g\n", MEASURES[m].name, s->names[i], MEASURES[m].of(&q[i]));
    }
    family(t, "reid_request_duration_seconds", "histogram", "Time from a request's entry into the queue to its end.");
    for (int i = 0; i < s->count; i++) add_histogram(t, s->names[i], &q[i]);
    free(q);
}

/* --- the server --------------------------------------------------------------------------------------------------- */

static void add_pictures(text *t, const service *s) {
    const service_counts *c = &s->shared->counts;
    family(t, "reid_pictures_total", "counter", "Encoded images, by outcome.");
    text_printf(t, "reid_pictures_total{outcome=\"decoded\"} %llu\nreid_pictures_total{outcome=\"refused\"} %llu\n",
                (unsigned long long)__atomic_load_n(&c->decoded, __ATOMIC_RELAXED),
                (unsigned long long)__atomic_load_n(&c->not_decoded, __ATOMIC_RELAXED));
    single(t, "reid_decode_seconds_total", "counter", "Sum of the decoding times of all images.",
           (double)__atomic_load_n(&c->decode_ns, __ATOMIC_RELAXED) * NANO);
    single(t, "reid_resize_seconds_total", "counter", "Sum of the times to shrink decoded images on the CPU.",
           (double)__atomic_load_n(&c->resize_ns, __ATOMIC_RELAXED) * NANO);
    single(t, "reid_picture_bytes", "gauge", "Memory of images that are decoded, being decoded or shrunk.",
           (double)__atomic_load_n(&s->shared->held, __ATOMIC_RELAXED));
    single(t, "reid_queries_total", "counter", "Embeddings that were searched for in the gallery.",
           (double)__atomic_load_n(&c->matched, __ATOMIC_RELAXED));
}

static void add_front(text *t, const front_counts *front) {
    single(t, "reid_connections", "gauge", "Open connections.", front->connections);
    single(t, "reid_connections_total", "counter", "Accepted connections.", (double)front->accepted);
    single(t, "reid_accept_pauses_total", "counter", "Pauses in accepting: no file descriptor was free for a client.",
           (double)front->rests);
    single(t, "reid_body_bytes", "gauge", "Bytes of request bodies that are being received or processed.",
           (double)front->bodies);
    single(t, "reid_unsent_bytes", "gauge", "Bytes of answers that clients have not read yet.", (double)front->unsent);
    family(t, "reid_http_responses_total", "counter", "Responses by status.");
    for (int i = 0; i < FRONT_STATUSES; i++)
        if (front->answered[i])
            text_printf(t, "reid_http_responses_total{code=\"%d\"} %llu\n", i, (unsigned long long)front->answered[i]);
}

/* A reload starts the counters of models and images at 0 again, which Prometheus takes for a restart. */
static void add_reloads(text *t, const front_counts *front) {
    family(t, "reid_reloads_total", "counter", "Reloads (SIGHUP), by outcome.");
    text_printf(t, "reid_reloads_total{outcome=\"done\"} %llu\nreid_reloads_total{outcome=\"failed\"} %llu\n",
                (unsigned long long)__atomic_load_n(&front->reloads, __ATOMIC_RELAXED),
                (unsigned long long)__atomic_load_n(&front->failed_reloads, __ATOMIC_RELAXED));
}

static void add_log(text *t, const front_counts *front) {
    single(t, "reid_access_log_dropped_total", "counter", "Lines of the access log that could not be written.",
           (double)front->log_dropped);
}

static double cpu_seconds(void) {
    struct rusage used;
    memset(&used, 0, sizeof used);
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void add_gpu(text *t, gpu_watch *gpu) {
    gpu_state state;
    text why = TEXT_INIT;
    if (gpu && gpu_watch_read(gpu, &state, &why)) {
        single(t, "reid_gpu_busy_ratio", "gauge", "Recent share of time in which the GPU was busy, for any process.",
               state.busy / 100.0);
        single(t, "reid_gpu_memory_used_bytes", "gauge", "GPU memory in use by all processes.", (double)state.used);
        single(t, "reid_gpu_memory_bytes", "gauge", "Total GPU memory.", (double)state.total);
        if (state.watts >= 0) single(t, "reid_gpu_power_watts", "gauge", "Power draw of the GPU.", state.watts);
    }
    text_free(&why);
}

void prometheus_text(text *t, const service *s, const front_counts *front) {
    family(t, "reid_build_info", "gauge", "The version, as a label.");
    text_printf(t, "reid_build_info{version=\"%s\"} 1\n", reid_version_string());
    add_models(t, s);
    add_pictures(t, s);
    add_gpu(t, __atomic_load_n(&s->shared->gpu, __ATOMIC_ACQUIRE));
    add_front(t, front);
    add_reloads(t, front);
    add_log(t, front);
    single(t, "reid_uptime_seconds", "gauge", "Seconds since the server was started.",
           clock_seconds() - s->shared->started);
    single(t, "process_resident_memory_bytes", "gauge", "Resident memory of the process.", (double)mem_resident());
    single(t, "process_cpu_seconds_total", "counter", "CPU time of the process.", cpu_seconds());
}
