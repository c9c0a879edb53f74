/* demo_run: enrols some images of a folder, matches the others with them, and writes a table and a page.

     demo_run -m WEIGHTS [-m WEIGHTS] [-c WEIGHTS] [-f FILM.html] -o PAGE.html FOLDER

   FOLDER has one folder for each individual; images below FOLDER/unknown show individuals that are not to be enrolled.
   Two -m are an ensemble with weights 0.6 and 0.4; -c is a network that is only compared with it. */
#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/say.h"
#include "demo_program/demo.h"
#include "embedding/models.h"
#include "pictures/inputs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 16, MOST_PIXELS = 200000000 }; /* images decoded at a time; pixels of one image */

void die(const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    say_error("%s", line);
    pending_remove_all();
    exit(2);
}

void *must_alloc(size_t size) {
    void *block = mem_alloc(size);
    if (!block) die("out of memory (%zu bytes)", size);
    return block;
}

static char *must_copy(const char *s, size_t len) {
    char *copy = must_alloc(len + 1);
    memcpy(copy, s, len);
    copy[len] = 0;
    return copy;
}

/* ---- the images and their roles ---------------------------------------------------------------------------------- */
static const char UNKNOWN[] = "unknown";

static void add_shot(demo *d, const input *in) {
    const char *label = in->path + strlen(d->folder);
    if (!GROW(d->shots, d->count, d->cap)) die("out of memory");
    demo_shot *s = &d->shots[d->count++];
    memset(s, 0, sizeof *s);
    s->path = must_copy(in->path, strlen(in->path));
    s->label = s->path + (label - in->path);
    s->label += strspn(s->label, "/");
    s->role = strcmp(in->identity, UNKNOWN) == 0 ? DEMO_STRANGER : DEMO_ENROLLED;
    const char *who = in->identity;
    size_t len = strlen(who);
    if (s->role == DEMO_STRANGER) { /* unknown/NAME/image, or unknown/image */
        who = s->label + sizeof UNKNOWN;
        len = strchr(who, '/') ? strcspn(who, "/") : 0;
    }
    s->who = must_copy(who, len);
}

/* Shots are sorted by path, so those of an individual are adjacent. Of three or more, the last third is held back; of
   two, the second. */
static void assign_roles(demo *d) {
    for (size_t i = 0, end; i < d->count; i = end) {
        for (end = i + 1; end < d->count && d->shots[end].role == d->shots[i].role; end++)
            if (strcmp(d->shots[end].who, d->shots[i].who) != 0) break;
        if (d->shots[i].role == DEMO_STRANGER) continue;
        size_t views = end - i, held = views > 2 ? views / 3 : views - 1;
        for (size_t k = i; k < end; k++) {
            d->shots[k].individual = d->individuals;
            if (k >= end - held) d->shots[k].role = DEMO_UNSEEN;
        }
        d->individuals++;
    }
}

static void collect(demo *d) {
    inputs list = {0};
    if (!inputs_add_path(&list, d->folder)) exit(2); /* inputs_add_path has printed the reason */
    for (size_t i = 0; i < list.count; i++) {
        if (list.at[i].failure) die("%s: %s", shown(list.at[i].path), list.at[i].failure);
        add_shot(d, &list.at[i]);
    }
    inputs_free(&list);
}

/* ---- networks ---------------------------------------------------------------------------------------------------- */
static void open_model(demo *d, const char *weights, double weight) {
    if (d->models == DEMO_MODELS) die("more than %d networks", DEMO_MODELS);
    demo_model *m = &d->model[d->models++];
    reid_error error = REID_INIT;
    reid_desc desc = REID_INIT;
    char note[256];
    memset(m, 0, sizeof *m);
    m->weights = weights;
    m->weight = weight;
    desc.weights = weights;
    desc.error = &error;
    desc.log_fn = say_log;
    reid_result result = reid_create(&desc, &m->ctx);
    if (result != REID_OK) die("%s: %s", shown(weights), error.text[0] ? error.text : reid_result_string(result));
    reid_query_desc(m->ctx, &m->info);
    m->synthetic = reid_weights_metadata(&desc, "reid.note", note, sizeof note) == REID_OK &&
                   strncmp(note, "synthetic", 9) == 0;
}

/* Decodes a chunk that starts at shot `at`; removes unreadable images from the list. Returns how many were decoded. */
static int decode(demo *d, size_t at, picture *pictures) {
    picture_limits limits = picture_limits_of(MOST_PIXELS, 1);
    text why = TEXT_INIT;
    int n = 0;
    while (n < CHUNK && at + (size_t)n < d->count) {
        demo_shot *s = &d->shots[at + (size_t)n];
        picture *p = &pictures[n];
        if (picture_open(p, s->path, &limits, &why) && picture_decode(p, &why)) {
            demo_thumbnail(s, p);
            n++;
            continue;
        }
        say_error("%s: %s", shown(s->path), why.s);
        picture_free(p);
        free(s->path);
        free(s->who);
        d->count--;
        d->failed++;
        memmove(s, s + 1, (d->count - at - (size_t)n) * sizeof *s);
    }
    text_free(&why);
    return n;
}

static void embed_chunk(demo_model *m, size_t at, const picture *pictures, int n) {
    reid_image images[CHUNK];
    reid_error error = REID_INIT;
    double start = clock_seconds();
    for (int i = 0; i < n; i++) {
        reid_image image = {pictures[i].rgb, pictures[i].width, pictures[i].height, 0, REID_RGB8, NULL};
        images[i] = image;
    }
    reid_result result = reid_embed_ex(m->ctx, images, n, m->rows + at * (size_t)m->info.dim, &error);
    if (result != REID_OK) die("%s: %s", m->info.network, error.text[0] ? error.text : reid_result_string(result));
    m->ms += (clock_seconds() - start) * 1000;
}

static void embed_all(demo *d) {
    picture pictures[CHUNK];
    for (int m = 0; m < d->models; m++)
        d->model[m].rows = must_alloc(d->count * (size_t)d->model[m].info.dim * sizeof(float));
    progress_start("embedding", d->count);
    for (size_t at = 0; at < d->count;) {
        int n = decode(d, at, pictures);
        for (int m = 0; n && m < d->models; m++) embed_chunk(&d->model[m], at, pictures, n);
        for (int i = 0; i < n; i++) picture_free(&pictures[i]);
        at += (size_t)n;
        progress_update(at, d->failed);
    }
    progress_stop();
    for (int m = 0; m < d->models && d->count; m++) d->model[m].ms /= (double)d->count;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */
static double cosine(const demo_model *m, size_t a, size_t b) {
    size_t dim = (size_t)m->info.dim;
    return reid_cosine(m->rows + a * dim, m->rows + b * dim, m->info.dim);
}

/* only: a single network, or NULL for the ensemble. */
static double score(const demo *d, const demo_model *only, size_t a, size_t b) {
    double sum = 0;
    if (only) return cosine(only, a, b);
    for (int m = 0; m < d->models; m++)
        if (d->model[m].weight > 0) sum += d->model[m].weight * cosine(&d->model[m], a, b);
    return sum;
}

/* Returns the enrolled shot most similar to q, of its own individual or of all others; d->count if there is none. */
static size_t most_like(const demo *d, const demo_model *only, size_t q, int own, double *best) {
    size_t found = d->count;
    for (size_t g = 0; g < d->count; g++) {
        const demo_shot *s = &d->shots[g];
        if (s->role != DEMO_ENROLLED || g == q) continue;
        if ((d->shots[q].role != DEMO_STRANGER && s->individual == d->shots[q].individual) != own) continue;
        double value = score(d, only, q, g);
        if (found < d->count && value <= *best) continue;
        found = g;
        *best = value;
    }
    return found;
}

static size_t count_below(const double *sorted, size_t n, double threshold) {
    size_t below = 0;
    while (below < n && sorted[below] < threshold) below++;
    return below;
}

/* Sets the threshold at the equal error rate: a held-out view is missed as often as a stranger is mistaken for an
   enrolled individual. The threshold is the middle between two adjacent scores. */
static void calibrate(demo *d) {
    demo_held_out *h = &d->held_out;
    double own = 0, other = 0;
    h->own = must_alloc(d->count * sizeof *h->own);
    h->other = must_alloc(d->count * sizeof *h->other);
    for (size_t i = 0; i < d->count; i++) {
        if (d->shots[i].role != DEMO_ENROLLED) continue;
        if (most_like(d, NULL, i, 1, &own) == d->count || most_like(d, NULL, i, 0, &other) == d->count) continue;
        h->own[h->count] = own;
        h->other[h->count++] = other;
    }
    if (h->count < 4) return;
    qsort(h->own, h->count, sizeof *h->own, order_reals);
    qsort(h->other, h->count, sizeof *h->other, order_reals);
    double *all = must_alloc(2 * h->count * sizeof *all);
    size_t least = h->count + 1;
    memcpy(all, h->own, h->count * sizeof *all);
    memcpy(all + h->count, h->other, h->count * sizeof *all);
    qsort(all, 2 * h->count, sizeof *all, order_reals);
    for (size_t i = 0; i + 1 < 2 * h->count; i++) {
        double middle = (all[i] + all[i + 1]) / 2;
        size_t missed = count_below(h->own, h->count, middle);
        size_t mistaken = h->count - count_below(h->other, h->count, middle);
        size_t cost = missed > mistaken ? missed : mistaken;
        if (cost >= least) continue;
        least = cost;
        d->threshold = middle;
        h->missed = missed;
        h->mistaken = mistaken;
    }
    free(all);
    d->decides = 1;
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

/* Inserts a match into the best ones, at most one per individual. */
static void insert(const demo *d, demo_verdict *v, demo_match m) {
    int at = 0;
    while (at < v->found && d->shots[v->best[at].shot].individual != d->shots[m.shot].individual) at++;
    if (at == v->found) {
        if (v->found < DEMO_BEST) v->found++;
        else if (m.score <= v->best[--at].score) return;
    } else if (m.score <= v->best[at].score) {
        return;
    }
    for (; at > 0 && v->best[at - 1].score < m.score; at--) v->best[at] = v->best[at - 1];
    v->best[at] = m;
}

static void judge(demo *d, demo_verdict *v) {
    const demo_shot *q = &d->shots[v->shot];
    for (size_t g = 0; g < d->count; g++) {
        if (d->shots[g].role != DEMO_ENROLLED || g == v->shot) continue;
        demo_match m = {g, score(d, NULL, v->shot, g)};
        insert(d, v, m);
    }
    int first = v->found && q->role == DEMO_UNSEEN && d->shots[v->best[0].shot].individual == q->individual;
    v->accepted = d->decides && v->found && v->best[0].score >= d->threshold;
    v->right = q->role == DEMO_STRANGER ? !v->accepted : first && v->accepted;
    d->unseen += q->role == DEMO_UNSEEN;
    d->strangers += q->role == DEMO_STRANGER;
    d->first_right += (size_t)first;
    if (q->role == DEMO_UNSEEN) d->accepted_right += (size_t)v->right;
    if (q->role == DEMO_STRANGER) d->rejected_right += (size_t)v->right;
}

/* Without held-back views (one image per individual), every image is compared with all others. */
static void judge_all(demo *d) {
    int each = 1;
    for (size_t i = 0; i < d->count; i++) each &= d->shots[i].role == DEMO_ENROLLED;
    d->verdicts = must_alloc((d->count + 1) * sizeof *d->verdicts);
    for (size_t i = 0; i < d->count; i++) {
        if (!each && d->shots[i].role == DEMO_ENROLLED) continue;
        demo_verdict *v = &d->verdicts[d->queries++];
        memset(v, 0, sizeof *v);
        v->shot = i;
        judge(d, v);
    }
}

static int same_one(const demo_shot *a, const demo_shot *b) {
    int strangers = (a->role == DEMO_STRANGER) + (b->role == DEMO_STRANGER);
    if (strangers == 2) return a->who[0] && strcmp(a->who, b->who) == 0;
    return strangers == 0 && a->individual == b->individual;
}

/* Measures a network without the others. */
static void compare(demo *d, demo_model *m) {
    double own = 0, other = 0, pairs[2] = {0, 0}, sum[2] = {0, 0};
    for (size_t q = 0; q < d->count; q++) {
        for (size_t g = 0; g < q; g++) {
            int same = same_one(&d->shots[q], &d->shots[g]);
            sum[same] += cosine(m, q, g);
            pairs[same]++;
        }
        if (d->shots[q].role != DEMO_UNSEEN || most_like(d, m, q, 1, &own) == d->count) continue;
        m->first_right += most_like(d, m, q, 0, &other) == d->count || own > other;
    }
    m->other = pairs[0] > 0 ? sum[0] / pairs[0] : 0;
    m->own = pairs[1] > 0 ? sum[1] / pairs[1] : 0;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */
static void print_verdict(const demo *d, const demo_verdict *v) {
    const demo_shot *q = &d->shots[v->shot];
    const char *best = v->found ? d->shots[v->best[0].shot].who : "-";
    const char *mark = q->role == DEMO_ENROLLED || !d->decides ? "" : v->right ? "right" : "WRONG";
    printf("%-26s  %-14s %6.3f  ", shown(q->label), !d->decides || v->accepted ? shown(best) : "unknown",
           v->found ? v->best[0].score : 0.0);
    int rest = !d->decides || v->accepted ? 1 : 0;
    if (rest < v->found) printf("%-14s %6.3f  ", shown(d->shots[v->best[rest].shot].who), v->best[rest].score);
    printf("%s\n", mark);
}

static double percent(size_t part, size_t whole) { return 100.0 * (double)part / (double)whole; }

static void print_summary(const demo *d) {
    for (int i = 0; i < d->models; i++) {
        const demo_model *m = &d->model[i];
        printf("%-20s %4d floats  %6.1f ms per image  weight %.1f  best match right alone: %d of %zu\n",
               m->info.network, m->info.dim, m->ms, m->weight, m->first_right, d->unseen);
    }
    if (d->unseen) printf("best match right (rank-1): %zu of %zu unseen views\n", d->first_right, d->unseen);
    if (!d->decides) {
        printf("no threshold: deriving one needs two enrolled views of each of at least two individuals\n");
        return;
    }
    printf("threshold %.3f, from %zu enrolled views left out in turn: %.0f %% of them missed, %.0f %% of strangers "
           "mistaken\n", d->threshold, d->held_out.count, percent(d->held_out.missed, d->held_out.count),
           percent(d->held_out.mistaken, d->held_out.count));
    if (d->unseen) printf("accepted as the right one: %zu of %zu unseen views\n", d->accepted_right, d->unseen);
    if (d->strangers) printf("never enrolled and rejected: %zu of %zu\n", d->rejected_right, d->strangers);
}

static void write_page(const demo *d, const char *path) {
    text page = TEXT_INIT, why = TEXT_INIT;
    demo_page(d, &page);
    if (!file_write(path, NULL, &page, &why)) die("%s: %s", shown(path), why.s);
    text_free(&page);
    text_free(&why);
}

int main(int argc, char **argv) {
    static demo d;
    const char *page = NULL;
    int letter, ensemble = 0;
    while ((letter = getopt(argc, argv, "m:c:o:f:")) != -1) {
        if (letter == 'o') page = optarg;
        else if (letter == 'f') d.film = optarg;
        else if (letter == 'm' || letter == 'c') open_model(&d, optarg, letter == 'm');
        else return 2;
        ensemble += letter == 'm';
    }
    if (!page || !ensemble || ensemble > 2 || optind + 1 != argc)
        die("usage: demo_run -m WEIGHTS [-m WEIGHTS] [-c WEIGHTS] [-f FILM.html] -o PAGE.html FOLDER");
    for (int m = 0, n = 0; ensemble == 2 && m < d.models; m++)
        if (d.model[m].weight > 0) d.model[m].weight = n++ ? 0.4 : 0.6;
    d.folder = argv[optind];
    collect(&d);
    embed_all(&d);
    if (d.count < 2) die("%s: fewer than two readable images; the demo needs at least two", shown(d.folder));
    assign_roles(&d);
    calibrate(&d);
    judge_all(&d);
    for (int m = 0; m < d.models; m++) compare(&d, &d.model[m]);
    printf("%-26s  %-14s %6s  %-14s\n", "image", d.decides ? "decision" : "best match", "score", "next");
    for (size_t i = 0; i < d.queries; i++) print_verdict(&d, &d.verdicts[i]);
    print_summary(&d);
    write_page(&d, page);
    for (int m = 0; m < d.models; m++) reid_destroy(d.model[m].ctx);
    return d.failed > 0;
}
