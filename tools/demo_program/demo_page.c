/* The demo's page: the page of `reid match -o FILE.html`, with sections on the threshold, the enrolled individuals, and
   the accuracy of each network. */
#include "demo_program/demo.h"

#include "pictures/thumbnail.h"
#include "report/match_page.h"

#include <math.h>

static const unsigned char html[] = {
#include "build/demo_program/demo_page.html.bytes"
};
static const page_markup HTML = {html, sizeof html};

enum { THUMB = 200 }; /* longer side in pixels */

/* ---- thumbnails -------------------------------------------------------------------------------------------------- */
void demo_thumbnail(demo_shot *shot, const picture *p) {
    thumbnail t;
    text why = TEXT_INIT;
    if (thumbnail_make(&t, p, NULL, THUMB, &why)) text_join(&shot->thumbnail, &t.jpeg);
    else text_no_memory(&shot->thumbnail); /* the only possible failure for a complete image; the page reports it */
    text_free(&t.jpeg);
    text_free(&why);
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */
static void add_head(const demo *d, text *out) {
    const page_head head = {.title = "Who is it?"};
    page_values v = {TEXT_INIT};
    page_begin(out, &head);
    page_set(&v, "pictures", "%zu image%s", d->count, plural(d->count));
    page_set(&v, "folder", "%s", d->folder);
    page_set(&v, "individuals", "%zu individual%s", d->individuals, plural(d->individuals));
    page_set(&v, "version", "%s", reid_version_string());
    page_set(&v, "isa", "%s", d->model[0].info.isa);
    page_set(&v, "threads", "%d thread%s", d->model[0].info.threads, plural((size_t)d->model[0].info.threads));
    page_fill(out, &HTML, "introduction", &v);
    if (d->film) {
        page_set(&v, "film", "%s", d->film);
        page_fill(out, &HTML, "film", &v);
    }
    int synthetic = 0;
    for (int m = 0; m < d->models; m++) synthetic |= d->model[m].synthetic;
    if (synthetic) page_fill(out, &HTML, "synthetic", NULL);
}

/* ---- the threshold ----------------------------------------------------------------------------------------------- */

/* The chart's coordinates. A phone has a third as many pixels, so letters are 13 to 32 of these units high. */
enum { WIDTH = 960, HEIGHT = 376, LEFT = 110, RIGHT = 940, TOP = 24, BOTTOM = 260, BINS = 40 };

static void count_bins(const double *values, size_t n, double low, double high, size_t bins[BINS], size_t *most) {
    for (size_t i = 0; i < n; i++) {
        int bin = (int)((values[i] - low) / (high - low) * BINS);
        size_t *at = &bins[bin < 0 ? 0 : bin < BINS ? bin : BINS - 1];
        if (++*at > *most) *most = *at;
    }
}

static void add_bars(text *out, const size_t bins[BINS], double unit, const char *kind, double shift) {
    const double step = (double)(RIGHT - LEFT) / BINS;
    for (int i = 0; i < BINS; i++)
        if (bins[i])
            text_printf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", kind,
                        LEFT + step * (i + shift), BOTTOM - unit * (double)bins[i], 0.44 * step,
                        unit * (double)bins[i]);
}

/* Adds lines and numbers: five scores below the chart, and at most five counts to its left. */
static void add_axes(text *out, double low, double high, size_t most, double unit) {
    enum { TICKS = 4 };
    size_t each = (most + TICKS - 1) / TICKS;
    for (size_t n = 0; n <= most; n += each)
        text_printf(out, "<line class=\"%s\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" "
                         "y=\"%.1f\" text-anchor=\"end\" dominant-baseline=\"middle\">%zu</text>\n",
                    n ? "grid" : "axis", LEFT, RIGHT, BOTTOM - unit * (double)n, BOTTOM - unit * (double)n, LEFT - 10,
                    BOTTOM - unit * (double)n, n);
    for (int i = 0; i <= TICKS; i++) {
        double x = LEFT + (double)(RIGHT - LEFT) * i / TICKS;
        text_printf(out, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text x=\"%.1f\" y=\"%d\" "
                         "text-anchor=\"%s\">%.2f</text>\n", x, x, BOTTOM, BOTTOM + 8, x, BOTTOM + 50,
                    i < TICKS ? "middle" : "end", low + (high - low) * i / TICKS);
    }
    text_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">best score</text>\n<text x=\"36\" y=\"%d\" "
                     "text-anchor=\"middle\" transform=\"rotate(-90 36 %d)\">images</text>\n",
                (LEFT + RIGHT) / 2, HEIGHT - 12, (TOP + BOTTOM) / 2, (TOP + BOTTOM) / 2);
}

static void begin_chart(const demo *d, text *out) {
    const demo_held_out *h = &d->held_out;
    page_values v = {TEXT_INIT};
    page_set(&v, "threshold", "%.3f", d->threshold);
    page_set(&v, "width", "%d", WIDTH);
    page_set(&v, "height", "%d", HEIGHT);
    page_set(&v, "count", "%zu", h->count);
    page_set(&v, "own low", "%.2f", h->own[0]);
    page_set(&v, "own high", "%.2f", h->own[h->count - 1]);
    page_set(&v, "own middle", "%.2f", h->own[h->count / 2]);
    page_set(&v, "other low", "%.2f", h->other[0]);
    page_set(&v, "other high", "%.2f", h->other[h->count - 1]);
    page_set(&v, "other middle", "%.2f", h->other[h->count / 2]);
    page_fill(out, &HTML, "histogram", &v);
}

static void add_histogram(const demo *d, text *out) {
    const demo_held_out *h = &d->held_out;
    size_t own[BINS] = {0}, other[BINS] = {0}, most = 0;
    double low = h->own[0] < h->other[0] ? h->own[0] : h->other[0], high = 1;
    if (high - low < 0.01) low = high - 0.01;
    count_bins(h->own, h->count, low, high, own, &most);
    count_bins(h->other, h->count, low, high, other, &most);
    double unit = (double)(BOTTOM - TOP) / (double)most;
    double at = LEFT + (RIGHT - LEFT) * (d->threshold - low) / (high - low);
    begin_chart(d, out);
    add_axes(out, low, high, most, unit);
    add_bars(out, own, unit, "own", 0.05);
    add_bars(out, other, unit, "other", 0.51);
    text_printf(out, "<line class=\"threshold\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", at, at, TOP - 16,
                BOTTOM);
    page_fill(out, &HTML, "histogram end", NULL);
}

static double percent(double part, size_t whole) { return 100 * part / (double)whole; }

/* The 95 % interval of the share part / whole (Wilson 1927), in percent. */
static void set_interval(page_values *v, const char *key, size_t part, size_t whole) {
    double n = (double)whole, z = 1.959964, p = (double)part / n, scale = 1 + z * z / n;
    double middle = (p + z * z / (2 * n)) / scale, half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale;
    page_set(v, key, "%.0f to %.0f %%", 100 * fmax(0, middle - half), 100 * fmin(1, middle + half));
}

/* Explains why two shares seem to contradict each other: what each one counts, and how much it varies by chance. */
static void add_why_they_differ(const demo *d, const page_counts *n, text *out) {
    const demo_held_out *h = &d->held_out;
    page_values v = {TEXT_INIT};
    if (!n->known) return;
    page_set(&v, "missed", "%zu", h->missed);
    page_set(&v, "count", "%zu", h->count);
    page_set(&v, "unseen missed", "%zu", n->known - n->accepted_right);
    page_set(&v, "unseen", "%zu", n->known);
    set_interval(&v, "interval", h->missed, h->count);
    set_interval(&v, "unseen interval", n->known - n->accepted_right, n->known);
    page_fill(out, &HTML, "differ", &v);
}

static void add_threshold(const demo *d, const page_counts *n, text *out) {
    const demo_held_out *h = &d->held_out;
    page_values v = {TEXT_INIT};
    page_fill(out, &HTML, "threshold", NULL);
    if (!d->decides) {
        page_fill(out, &HTML, "no threshold", NULL);
        return;
    }
    page_set(&v, "count", "%zu", h->count);
    page_set(&v, "missed", "%zu", h->missed);
    page_set(&v, "missed percent", "%.0f", percent((double)h->missed, h->count));
    page_set(&v, "mistaken", "%zu", h->mistaken);
    page_set(&v, "mistaken percent", "%.0f", percent((double)h->mistaken, h->count));
    page_fill(out, &HTML, "left out", &v);
    add_why_they_differ(d, n, out);
    add_histogram(d, out);
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

static void add_query(const demo *d, const demo_verdict *v, match_page *p) {
    const demo_shot *s = &d->shots[v->shot];
    page_match best[DEMO_BEST];
    page_query q = {.path = s->label, .who = s->who, .jpeg = &s->thumbnail, .best = best, .found = v->found};
    q.truth = s->role == DEMO_UNSEEN ? PAGE_KNOWN : s->role == DEMO_STRANGER ? PAGE_STRANGER : PAGE_UNLABELLED;
    for (int i = 0; i < v->found; i++) {
        const demo_shot *m = &d->shots[v->best[i].shot];
        best[i] = (page_match){.who = m->who, .path = m->label, .score = v->best[i].score, .probability = NAN,
                               .jpeg = &m->thumbnail};
    }
    match_page_query(p, &q);
}

static void add_queries(const demo *d, match_page *p, demo_role role, const char *title, const char *about) {
    size_t n = 0;
    for (size_t i = 0; i < d->queries; i++) n += d->shots[d->verdicts[i].shot].role == role;
    if (!n) return;
    match_page_section(p, title, about);
    for (size_t i = 0; i < d->queries; i++)
        if (d->shots[d->verdicts[i].shot].role == role) add_query(d, &d->verdicts[i], p);
    match_page_section_end(p);
}

static void add_all_queries(const demo *d, match_page *p) {
    add_queries(d, p, DEMO_UNSEEN, "Unseen views",
                "Held back when the others were enrolled. Each is shown with the three most similar individuals.");
    add_queries(d, p, DEMO_STRANGER, "Never enrolled",
                "None of them is in the gallery. The right answer is <em>unknown</em>.");
    add_queries(d, p, DEMO_ENROLLED, "Each image against the others", "The most similar images, with their scores.");
}

/* ---- individuals and networks ------------------------------------------------------------------------------------ */
static void add_enrolled(const demo_shot *s, text *out) {
    text alt = TEXT_INIT;
    text_printf(&alt, "%s, enrolled as %s", s->who, s->label);
    if (text_failed(&alt)) text_no_memory(out);
    else page_picture(out, &s->thumbnail, alt.s);
    text_free(&alt);
}

static void add_gallery(const demo *d, text *out) {
    page_fill(out, &HTML, "gallery", NULL);
    for (size_t i = 0, end; i < d->count; i = end) {
        for (end = i + 1; end < d->count && d->shots[end].individual == d->shots[i].individual; end++)
            if (d->shots[end].role == DEMO_STRANGER) break;
        if (d->shots[i].role == DEMO_STRANGER) continue;
        page_values v = {TEXT_INIT};
        page_set(&v, "who", "%s", d->shots[i].who);
        page_fill(out, &HTML, "individual", &v);
        for (size_t k = i; k < end; k++)
            if (d->shots[k].role == DEMO_ENROLLED) add_enrolled(&d->shots[k], out);
        page_fill(out, &HTML, "individual end", NULL);
    }
    page_fill(out, &HTML, "gallery end", NULL);
}

static void add_networks(const demo *d, text *out) {
    page_fill(out, &HTML, "networks", NULL);
    for (int i = 0; i < d->models; i++) {
        const demo_model *m = &d->model[i];
        page_values v = {TEXT_INIT};
        page_set(&v, "network", "%s", m->info.network);
        page_set(&v, "dim", "%d", m->info.dim);
        page_set(&v, "height", "%d", m->info.height);
        page_set(&v, "width", "%d", m->info.width);
        if (m->weight > 0) page_set(&v, "weight", "%.1f", m->weight);
        else page_set(&v, "weight", "compared");
        page_set(&v, "right", "%d", m->first_right);
        page_set(&v, "unseen", "%zu", d->unseen);
        page_set(&v, "own", "%.2f", m->own);
        page_set(&v, "other", "%.2f", m->other);
        page_set(&v, "ms", "%.1f", m->ms);
        page_fill(out, &HTML, "network", &v);
    }
    page_fill(out, &HTML, "networks end", NULL);
}

void demo_page(const demo *d, text *out) {
    match_page p = {.threshold = d->decides ? d->threshold : NAN};
    add_all_queries(d, &p);
    add_head(d, out);
    page_tiles(out);
    match_page_tiles(&p, out);
    page_tiles_end(out);
    add_threshold(d, &p.n, out);
    match_page_queries(&p, out);
    add_gallery(d, out);
    add_networks(d, out);
    page_end(out);
    match_page_free(&p);
}
