/* The demo's page: one HTML file with its style and pictures inside, well-formed as XML too. */
#include "demo_program/demo.h"

#include "pictures/thumbnail.h"

#include <stdlib.h>
#include <string.h>

enum { THUMB = 200 }; /* longer side in pixels */

/* ---- pictures ---------------------------------------------------------------------------------------------------- */
void demo_thumbnail(demo_shot *shot, const picture *p) {
    thumbnail t;
    text why = TEXT_INIT;
    if (thumbnail_make(&t, p, NULL, THUMB, &why)) text_base64(&shot->thumbnail, t.jpeg.s, t.jpeg.len);
    else text_no_memory(&shot->thumbnail); /* nothing else can be wrong with a whole picture; the page tells it */
    shot->width = t.width;
    shot->height = t.height;
    text_free(&t.jpeg);
    text_free(&why);
}

/* ---- building blocks --------------------------------------------------------------------------------------------- */

static void add_image(text *out, const demo_shot *s) {
    text_printf(out, "<img width=\"%d\" height=\"%d\" alt=\"", s->width, s->height);
    text_html(out, s->label);
    text_puts(out, "\" title=\"");
    text_html(out, s->label);
    text_puts(out, "\" src=\"data:image/jpeg;base64,");
    text_join(out, &s->thumbnail);
    text_puts(out, "\"/>");
}

static void tile(text *out, size_t part, size_t whole, const char *label) {
    if (whole) text_printf(out, "<div class=\"tile\"><b>%zu / %zu</b><span>%s</span></div>\n", part, whole, label);
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */
static void add_head(const demo *d, text *out) {
    text_puts(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
                   "<title>reid.h: who is it?</title>\n<style>");
    text_puts(out, demo_style);
    text_puts(out, "</style></head>\n<body>\n<h1>Who is it?</h1>\n<p class=\"soft\">");
    text_printf(out, "%zu pictures from <code>", d->count);
    text_html(out, d->folder);
    text_printf(out, "</code>, %zu individuals enrolled, compared by reid.h %s on the CPU (%s, %d threads).</p>\n",
                d->individuals, reid_version_string(), d->model[0].info.isa, d->model[0].info.threads);
    if (d->film) {
        text_puts(out, "<p>And <a href=\"");
        text_html(out, d->film);
        text_puts(out, "\">who is in the film?</a> Tracks and individuals of a drawn video.</p>\n");
    }
    int synthetic = 0;
    for (int m = 0; m < d->models; m++) synthetic |= d->model[m].synthetic;
    if (synthetic)
        text_puts(out, "<p class=\"note\"><strong>The weights are synthetic.</strong> They were made from a seed and "
                       "nobody trained them, so that this page needs no download. They tell strongly patterned coats "
                       "apart, and little else. For real animals, people or cars use trained weights: "
                       "<code>models/get resnet50</code>, then <code>sh tools/demo -m resnet50.safetensors FOLDER"
                       "</code> with one folder of pictures for each individual.</p>\n");
    text_puts(out, "<div class=\"tiles\">\n");
    tile(out, d->first_right, d->unseen, "unseen views: best match is right (rank-1)");
    if (d->decides) {
        tile(out, d->accepted_right, d->unseen, "unseen views: accepted as the right one");
        tile(out, d->rejected_right, d->strangers, "pictures of strangers: unknown");
        text_printf(out, "<div class=\"tile\"><b>%.3f</b><span>threshold</span></div>\n", d->threshold);
    }
    text_puts(out, "</div>\n");
}

static void add_bars(text *out, const double *values, size_t n, double low, double high, double scale,
                     const char *color, double shift) {
    enum { BINS = 40 };
    size_t bins[BINS] = {0};
    for (size_t i = 0; i < n; i++) {
        int bin = (int)((values[i] - low) / (high - low) * BINS);
        bins[bin < 0 ? 0 : bin < BINS ? bin : BINS - 1]++;
    }
    for (int i = 0; i < BINS; i++)
        if (bins[i])
            text_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"7\" height=\"%.1f\" fill=\"var(%s)\"/>\n",
                        20 + 17.0 * i + shift, 170 - scale * (double)bins[i], scale * (double)bins[i], color);
}

static void add_histogram(const demo *d, text *out) {
    const demo_held_out *h = &d->held_out;
    double low = h->own[0] < h->other[0] ? h->own[0] : h->other[0], high = 1, at;
    if (high - low < 0.01) low = high - 0.01;
    at = 20 + 680 * (d->threshold - low) / (high - low);
    text_printf(out, "<svg viewBox=\"0 0 720 200\" role=\"img\" aria-label=\"histogram of scores\" "
                     "style=\"max-width:720px\">\n<line x1=\"20\" x2=\"700\" y1=\"170\" y2=\"170\" "
                     "stroke=\"var(--soft)\"/>\n");
    double scale = 600.0 / (double)(h->count + 4);
    add_bars(out, h->own, h->count, low, high, scale, "--own", 1);
    add_bars(out, h->other, h->count, low, high, scale, "--other", 8.5);
    text_printf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"8\" y2=\"176\" stroke=\"var(--ink)\" "
                     "stroke-dasharray=\"4 3\"/><text x=\"%.1f\" y=\"14\" text-anchor=\"end\">threshold %.3f</text>\n",
                at, at, at - 5, d->threshold);
    text_printf(out, "<text x=\"20\" y=\"190\">%.2f</text><text x=\"700\" y=\"190\" text-anchor=\"end\">%.2f</text>\n"
                     "</svg>\n", low, high);
}

static void add_threshold(const demo *d, text *out) {
    text_puts(out, "<h2>Where the threshold comes from</h2>\n");
    if (!d->decides) {
        text_puts(out, "<p>There is none. It takes two enrolled views of at least two individuals to derive one, so "
                       "the best matches are shown without a decision.</p>\n");
        return;
    }
    text_printf(out, "<p>From enrolled pictures only. Each of %zu was left out in turn. Its best score with the other "
                     "views of its own individual <span style=\"color:var(--own)\">(green)</span> is what a known "
                     "animal gets; its best score with everybody else <span style=\"color:var(--other)\">(orange)"
                     "</span> is what it would get as a stranger. The threshold is where both errors are equally rare: "
                     "%.0f %% of the left-out views would be missed, %.0f %% of the strangers mistaken for somebody. "
                     "No query was used for it.</p>\n",
                d->held_out.count, 100 * d->held_out.missed, 100 * d->held_out.mistaken);
    add_histogram(d, out);
}

static void add_card(const demo *d, const demo_verdict *v, text *out) {
    const demo_shot *q = &d->shots[v->shot];
    int judged = d->decides && q->role != DEMO_ENROLLED;
    const char *kind = !judged ? "" : !v->right ? " no" : q->role == DEMO_STRANGER ? " new" : " yes";
    text_printf(out, "<div class=\"card%s\">", kind);
    add_image(out, q);
    text_puts(out, "<h3>");
    if (d->decides && !v->accepted) text_puts(out, "unknown");
    else if (v->found) text_html(out, d->shots[v->best[0].shot].who);
    if (judged) text_puts(out, v->right ? " &#10003;" : " &#10007;");
    text_puts(out, "</h3><small>");
    text_html(out, q->label);
    text_puts(out, q->role == DEMO_STRANGER ? " (never enrolled)</small>" : "</small>");
    text_puts(out, "<div class=\"best\">");
    for (int i = 0; i < v->found; i++) {
        text_puts(out, "<div>");
        add_image(out, &d->shots[v->best[i].shot]);
        text_html(out, d->shots[v->best[i].shot].who);
        text_printf(out, "<br/><b>%.3f</b></div>", v->best[i].score);
    }
    text_puts(out, "</div></div>\n");
}

static void add_queries(const demo *d, text *out, demo_role role, const char *title, const char *about) {
    size_t n = 0;
    for (size_t i = 0; i < d->queries; i++) n += d->shots[d->verdicts[i].shot].role == role;
    if (!n) return;
    text_printf(out, "<h2>%s</h2>\n<p>%s</p>\n<div class=\"cards\">\n", title, about);
    for (size_t i = 0; i < d->queries; i++)
        if (d->shots[d->verdicts[i].shot].role == role) add_card(d, &d->verdicts[i], out);
    text_puts(out, "</div>\n");
}

static void add_gallery(const demo *d, text *out) {
    text_puts(out, "<h2>Enrolled</h2>\n<div class=\"who\">\n");
    for (size_t i = 0, end; i < d->count; i = end) {
        for (end = i + 1; end < d->count && d->shots[end].individual == d->shots[i].individual; end++)
            if (d->shots[end].role == DEMO_STRANGER) break;
        if (d->shots[i].role == DEMO_STRANGER) continue;
        text_puts(out, "<div><h3>");
        text_html(out, d->shots[i].who);
        text_puts(out, "</h3><div class=\"row\">");
        for (size_t k = i; k < end; k++)
            if (d->shots[k].role == DEMO_ENROLLED) add_image(out, &d->shots[k]);
        text_puts(out, "</div></div>\n");
    }
    text_puts(out, "</div>\n");
}

static void add_networks(const demo *d, text *out) {
    text_puts(out, "<h2>The networks</h2>\n<table>\n<tr><th>network</th><th>floats</th><th>input</th><th>weight</th>"
                   "<th>best match right, alone</th><th>mean cosine, same</th><th>others</th><th>ms a picture</th>"
                   "</tr>\n");
    for (int i = 0; i < d->models; i++) {
        const demo_model *m = &d->model[i];
        text_printf(out, "<tr><td>%s</td><td>%d</td><td>%d&#215;%d</td><td>", m->info.network, m->info.dim,
                    m->info.height, m->info.width);
        if (m->weight > 0) text_printf(out, "%.1f", m->weight);
        else text_puts(out, "compared");
        text_printf(out, "</td><td>%d / %zu</td><td>%.2f</td><td>%.2f</td><td>%.1f</td></tr>\n", m->first_right,
                    d->unseen, m->own, m->other, m->ms);
    }
    text_puts(out, "</table>\n<p>A picture's score with an individual is the weighted sum of the networks' cosines, "
                   "the highest over the individual's enrolled pictures.</p>\n");
}

void demo_page(const demo *d, text *out) {
    add_head(d, out);
    add_threshold(d, out);
    add_queries(d, out, DEMO_UNSEEN, "Unseen views",
                "Held back when the others were enrolled. Below each: the three most similar individuals.");
    add_queries(d, out, DEMO_STRANGER, "Never enrolled",
                "None of them is in the gallery. The right answer is <em>unknown</em>.");
    add_queries(d, out, DEMO_ENROLLED, "Each picture against the others", "The most similar ones, with their scores.");
    add_gallery(d, out);
    add_networks(d, out);
    text_puts(out, "</body></html>\n");
}
