/* load: sends requests to a server at given rates and reports how long its answers take.

     load --socket PATH | --to HOST:PORT  FILE...  [--target /embed] [--type application/octet-stream] [--token TOKEN]
          [--header "NAME: VALUE"] [--rates R,R,...] [--connections N] [--seconds S] [--warm-up S] [--patience S]
          [--seed N]
          [--json FILE] [--svg FILE] [--title TEXT]

   Each FILE is the body of a request; the files are sent in turn. Without --rates, each connection sends its next
   request as soon as it is answered (closed loop). With --rates, requests arrive at each rate in turn, as a Poisson
   process (open loop); see traffic.h. The exit status is 0 if all requests were answered with 200, 1 if some were not,
   and 2 if nothing could be measured. */
#include "base/files.h"
#include "base/json_write.h"
#include "base/say.h"
#include "load/chart.h"
#include "load/traffic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BODY ((size_t)1 << 28)

typedef struct settings {
    traffic_request traffic;
    const char *json, *svg, *title;
    char host[256];
    double rates[LOAD_RATES];
    int rate_count;
} settings;

static int usage(const char *problem, const char *what) {
    if (problem) fprintf(stderr, "load: %s%s\n", problem, what);
    fprintf(stderr,
            "usage: load --socket PATH | --to HOST:PORT  FILE...\n"
            "            [--target /embed] [--type TYPE] [--token TOKEN] [--header 'NAME: VALUE'] [--rates R,R,...]\n"
            "            [--connections N] [--seconds S] [--warm-up S] [--patience S] [--seed N]\n"
            "            [--json FILE] [--svg FILE] [--title TEXT]\n");
    return 2;
}

static int take_rates(settings *s, const char *value) {
    char part[32];
    for (; *value; value += *value == ',') {
        size_t n = strcspn(value, ",");
        if (s->rate_count == LOAD_RATES || n >= sizeof part) return 0;
        memcpy(part, value, n);
        part[n] = 0, value += n;
        if (!parse_real(part, 0.01, 1e6, &s->rates[s->rate_count++])) return 0;
    }
    return s->rate_count > 0;
}

static int take_address(settings *s, const char *value) {
    const char *colon = strrchr(value, ':');
    size_t n = colon ? (size_t)(colon - value) : 0;
    if (n > 1 && value[0] == '[' && value[n - 1] == ']') value++, n -= 2; /* [::1]:8000 */
    if (!n || n >= sizeof s->host) return 0;
    memcpy(s->host, value, n);
    s->host[n] = 0;
    s->traffic.host = s->host, s->traffic.port = colon + 1;
    return 1;
}

static int take_option(settings *s, const char *name, const char *value) {
    traffic_request *t = &s->traffic;
    long long number;
    if (strcmp(name, "--socket") == 0) return (t->socket = value)[0] != 0;
    if (strcmp(name, "--to") == 0) return take_address(s, value);
    if (strcmp(name, "--target") == 0) return (t->target = value)[0] == '/';
    if (strcmp(name, "--type") == 0) return (t->type = value)[0] != 0;
    if (strcmp(name, "--token") == 0) return (t->token = value)[0] != 0;
    if (strcmp(name, "--header") == 0) return (t->header = value)[0] != 0;
    if (strcmp(name, "--rates") == 0) return take_rates(s, value);
    if (strcmp(name, "--json") == 0) return (s->json = value)[0] != 0;
    if (strcmp(name, "--svg") == 0) return (s->svg = value)[0] != 0;
    if (strcmp(name, "--title") == 0) return (s->title = value)[0] != 0;
    if (strcmp(name, "--seconds") == 0) return parse_real(value, 0.1, 3600, &t->seconds);
    if (strcmp(name, "--warm-up") == 0) return parse_real(value, 0, 3600, &t->warm_up);
    if (strcmp(name, "--patience") == 0) return parse_real(value, 0.1, 3600, &t->patience);
    if (strcmp(name, "--seed") == 0 && parse_int(value, 0, INT64_MAX, &number)) return t->seed = (uint64_t)number, 1;
    if (strcmp(name, "--connections") == 0 && parse_int(value, 1, 20000, &number))
        return t->connections = (int)number, 1;
    return 0;
}

static text *read_bodies(char **paths, int count) {
    text *bodies = calloc((size_t)count, sizeof *bodies), why = TEXT_INIT;
    for (int i = 0; bodies && i < count; i++) {
        if (file_read(paths[i], MAX_BODY, 1, &bodies[i], &why)) continue;
        fprintf(stderr, "load: %s: %s\n", shown(paths[i]), why.s);
        text_free(&why);
        return NULL; /* so the program ends */
    }
    return bodies;
}

/* --- the report --------------------------------------------------------------------------------------------------- */

static const double QUANTILES[] = {0.5, 0.9, 0.99, 0.999, 1};
static const char *const QUANTILE_NAMES[] = {"p50", "p90", "p99", "p999", "max"};

static uint64_t failures(const traffic_result *r) {
    uint64_t all = r->broken + r->given_up;
    for (int i = 0; i < TRAFFIC_STATUSES; i++)
        if (i != 200) all += r->statuses[i];
    return all;
}

static void print_one(double rate, const traffic_result *r) {
    char asked[32] = "closed";
    if (rate > 0) snprintf(asked, sizeof asked, "%.1f", rate);
    printf("%10s %10.1f %8llu", asked, (double)r->count / r->seconds, (unsigned long long)failures(r));
    for (int i = 0; i < 5; i++) printf(" %9.2f", 1e3 * traffic_quantile(r, QUANTILES[i]));
    putchar('\n');
    fflush(stdout);
    if (r->first_failure.len) {
        text line = TEXT_INIT;
        text_visible(&line, r->first_failure.s);
        fprintf(stderr, "load: first failure: %s\n", line.s);
        text_free(&line);
    }
}

/* Writes a histogram of the latencies, with four buckets per power of two, like those of reid_latency_bound. */
static void add_histogram(json_writer *w, const traffic_result *r) {
    size_t at = 0;
    json_put_array(w, "histogram_ms");
    for (int i = 0; at < r->count; i++) {
        double bound = 250e-9 * (5 + i % 4) * (double)((uint64_t)1 << i / 4);
        size_t before = at;
        while (at < r->count && r->latencies[at] < bound) at++;
        if (at == before) continue;
        json_put_array(w, NULL);
        json_put_number(w, NULL, bound * 1e3, 6);
        json_put_count(w, NULL, at - before);
        json_put_end(w);
    }
    json_put_end(w);
}

static void add_statuses(json_writer *w, const traffic_result *r) {
    char name[16];
    json_put_object(w, "statuses");
    for (int i = 0; i < TRAFFIC_STATUSES; i++) {
        snprintf(name, sizeof name, "%d", i);
        if (r->statuses[i]) json_put_count(w, name, r->statuses[i]);
    }
    json_put_end(w);
}

static void add_json(json_writer *w, double rate, const traffic_result *r) {
    json_put_line(w, 4);
    json_put_object(w, NULL);
    json_put_number(w, "rate", rate > 0 ? rate : (double)NAN, 9);
    json_put_number(w, "answered_per_second", (double)r->count / r->seconds, 6);
    json_put_count(w, "failed", failures(r));
    json_put_count(w, "broken", r->broken);
    json_put_count(w, "given_up", r->given_up);
    add_statuses(w, r);
    json_put_object(w, "latency_ms");
    for (int i = 0; i < 5; i++) json_put_number(w, QUANTILE_NAMES[i], 1e3 * traffic_quantile(r, QUANTILES[i]), 6);
    json_put_end(w);
    json_put_line(w, 5);
    add_histogram(w, r);
    json_put_end(w);
}

/* What this program writes: figures as JSON, and the chart. */
static const output_kind FIGURES = {.what = "the JSON of reid-load", .start = "{\"title\": "};
static const output_kind CHART = {.what = "a chart of reid-load", .start = "<svg"};

static int write_text(const char *path, const output_kind *kind, const text *content) {
    text why = TEXT_INIT;
    int good = file_write(path, kind, content, &why);
    if (!good) fprintf(stderr, "load: %s: %s\n", shown(path), why.s);
    text_free(&why);
    return good;
}

static json_writer json_head(text *out, const settings *s) {
    const traffic_request *t = &s->traffic;
    json_writer w = json_write(out);
    json_put_object(&w, NULL);
    json_put_string(&w, "title", s->title);
    json_put_string(&w, "target", t->target);
    json_put_int(&w, "connections", t->connections);
    json_put_count(&w, "bodies", t->body_count);
    json_put_number(&w, "warm_up", t->warm_up, 6);
    json_put_number(&w, "seconds", t->seconds, 6);
    json_put_count(&w, "seed", t->seed);
    json_put_line(&w, 1);
    json_put_array(&w, "runs");
    return w;
}

/* Measures one rate after another. Returns the exit status. */
static int run(settings *s) {
    text json = TEXT_INIT, svg = TEXT_INIT, why = TEXT_INIT;
    load_point points[LOAD_RATES];
    int runs = s->rate_count ? s->rate_count : 1, status = 0;
    printf("%10s %10s %8s %9s %9s %9s %9s %9s\n", "asked/s", "answered/s", "failed", "p50 ms", "p90", "p99", "p99.9",
           "max");
    json_writer w = json_head(&json, s);
    for (int i = 0; i < runs && status < 2; i++) {
        traffic_result result;
        s->traffic.rate = s->rates[i];
        if (traffic_run(&s->traffic, &result, &why)) {
            print_one(s->rates[i], &result);
            add_json(&w, s->rates[i], &result);
            if (failures(&result) || !result.count) status = 1;
            load_point point = {(double)result.count / result.seconds, traffic_quantile(&result, 0.5),
                                traffic_quantile(&result, 0.99)};
            points[i] = point;
        } else {
            fprintf(stderr, "load: %s\n", why.s);
            status = 2;
        }
        traffic_free(&result);
    }
    json_put_line(&w, 0);
    json_put_finish(&w);
    if (status < 2 && s->json && !write_text(s->json, &FIGURES, &json)) status = 2;
    if (status < 2 && s->svg) {
        load_chart(&svg, s->title, points, runs);
        if (!write_text(s->svg, &CHART, &svg)) status = 2;
    }
    text_free(&json);
    text_free(&svg);
    text_free(&why);
    return status;
}

int main(int argc, char **argv) {
    settings s = {.traffic = {.target = "/embed", .type = "application/octet-stream", .connections = 64,
                              .warm_up = 1, .seconds = 10, .patience = 10, .seed = 1}, .title = "load"};
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (at + 1 == argc) return usage("missing value for ", argv[at]);
        if (!take_option(&s, argv[at], argv[at + 1]))
            return usage("unknown option or invalid value: ", argv[at]);
    }
    if (!s.traffic.socket == !s.traffic.host) return usage("give either --socket or --to", "");
    if (at == argc) return usage("give at least one FILE to send", "");
    s.traffic.body_count = (size_t)(argc - at);
    text *bodies = read_bodies(argv + at, argc - at);
    if (!bodies) return 2;
    s.traffic.bodies = bodies;
    int status = run(&s);
    for (size_t i = 0; i < s.traffic.body_count; i++) text_free(&bodies[i]);
    free(bodies);
    return status;
}
