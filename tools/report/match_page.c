#include "report/match_page.h"

#include "base/sha256.h"
#include "base/unicode.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 3 };                 /* matches of a query with their images */
static const double NEAR = 0.05;    /* distances below this, from the threshold or between the two best, are doubtful */
static const double SURE = 0.9;     /* probabilities below this, and above 1 minus this, are doubtful */

static const unsigned char css[] = {
#include "build/report/match_page.css.bytes"
};
static const unsigned char html[] = {
#include "build/report/match_page.html.bytes"
};
static const page_markup HTML = {html, sizeof html};

/* ---- building blocks --------------------------------------------------------------------------------------------- */

/* Allows only the style sheet with this text, and images (and a video) that are embedded in the page. */
static void allow(page_values *v, const page_head *h, const text *style) {
    unsigned char digest[32];
    text hash = TEXT_INIT;
    sha256(style->s, style->len, digest);
    text_base64(&hash, digest, sizeof digest);
    if (h->free_style) page_set(v, "allowed", "'unsafe-inline'; media-src data:");
    else page_set(v, "allowed", "'sha256-%s'", hash.s);
    if (text_failed(&hash)) text_no_memory(&v->pairs);
    text_free(&hash);
}

void page_begin(text *out, const page_head *h) {
    text style = TEXT_INIT;
    page_values v = {TEXT_INIT};
    text_add(&style, css, sizeof css);
    if (h->style) text_add(&style, h->style->bytes, h->style->len);
    if (text_failed(&style)) text_no_memory(out);
    allow(&v, h, &style);
    page_set(&v, "title", "%s", h->title);
    page_fill(out, &HTML, "head", &v);
    text_join(out, &style);
    page_set(&v, "title", "%s", h->title);
    page_fill(out, &HTML, "body", &v);
    text_free(&style);
}

void page_end(text *out) { page_fill(out, &HTML, "end", NULL); }

void page_picture(text *out, const text *jpeg, const char *alt) {
    page_values v = {TEXT_INIT};
    int none = !jpeg || !jpeg->len;
    page_set(&v, "alt", "%s", alt);
    page_fill(out, &HTML, none ? "no picture" : "picture", &v);
    if (none) return;
    if (text_failed(jpeg)) text_no_memory(out);
    text_base64(out, jpeg->s, jpeg->len);
    page_fill(out, &HTML, "picture end", NULL);
}

void page_tiles(text *out) { page_fill(out, &HTML, "tiles", NULL); }

void page_tile(text *out, const char *part, const size_t *whole, const char *label) {
    page_values v = {TEXT_INIT};
    page_set(&v, "part", "%s", part);
    if (whole) page_set(&v, "whole", " / %zu", *whole);
    else page_set(&v, "whole", "%s", "");
    page_set(&v, "label", "%s", label);
    page_fill(out, &HTML, "tile", &v);
}

void page_tiles_end(text *out) { page_fill(out, &HTML, "tiles end", NULL); }

/* ---- judging ----------------------------------------------------------------------------------------------------- */

static int accepts(const match_page *p, const page_query *q) { return q->found && q->best[0].score >= p->threshold; }

/* The reason why people should look at it; NULL: none. */
static const char *doubt_of(const match_page *p, const page_query *q) {
    if (!q->found) return NULL;
    const page_match *best = q->best;
    int decided = !isnan(p->threshold), accepted = accepts(p, q);
    if (decided && q->found > 1 && best[1].score >= p->threshold) return "two individuals reach the threshold";
    if (!decided && q->found > 1 && best[0].score - best[1].score < NEAR) return "the two best scores are nearly equal";
    if (!isnan(best->probability)) {
        if (best->probability > 1 - SURE && best->probability < SURE) return "the probability is neither high nor low";
        return decided && accepted != (best->probability >= 0.5) ? "threshold and probability disagree" : NULL;
    }
    return decided && fabs(best->score - p->threshold) < NEAR ? "the score is close to the threshold" : NULL;
}

/* 1: right, 0: wrong, -1: unknown. A stranger can only be judged if there is a decision. */
static int judge(const match_page *p, const page_query *q) {
    int decided = !isnan(p->threshold);
    if (q->truth == PAGE_UNLABELLED || (q->truth == PAGE_STRANGER && !decided)) return -1;
    if (q->truth == PAGE_STRANGER) return !accepts(p, q);
    return q->found && name_same(q->best[0].who, q->who) && (!decided || accepts(p, q));
}

static void count(match_page *p, const page_query *q, int right, const char *doubt) {
    page_counts *n = &p->n;
    n->queries++;
    n->doubtful += doubt != NULL;
    if (!isnan(p->threshold)) {
        n->matches += accepts(p, q) != 0;
        n->unknown += !accepts(p, q);
    }
    n->judged += right >= 0;
    n->wrong += right == 0;
    if (q->truth == PAGE_KNOWN) {
        n->known++;
        n->first_right += q->found && name_same(q->best[0].who, q->who);
        n->accepted_right += right == 1 && !isnan(p->threshold);
    } else if (q->truth == PAGE_STRANGER) {
        n->strangers++;
        n->rejected += right == 1;
    }
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

static void add_query_picture(text *out, const page_query *q) {
    text alt = TEXT_INIT;
    text_printf(&alt, "The query %s", q->path);
    if (q->truth == PAGE_STRANGER) text_puts(&alt, ", not in the gallery");
    if (q->truth != PAGE_UNLABELLED && *q->who) {
        text_puts(&alt, q->truth == PAGE_KNOWN ? ", which shows " : ": ");
        text_puts(&alt, q->who);
    }
    if (text_failed(&alt)) text_no_memory(out);
    else page_picture(out, q->jpeg, alt.s);
    text_free(&alt);
}

static void fill_one(text *out, const char *piece, const char *key, const char *value) {
    page_values v = {TEXT_INIT};
    page_set(&v, key, "%s", value);
    page_fill(out, &HTML, piece, &v);
}

/* The answer, and whether it is doubtful or wrong. */
static void add_answer(const match_page *p, text *out, const page_query *q, int right, const char *doubt) {
    int refused = q->found && !isnan(p->threshold) && !accepts(p, q);
    fill_one(out, "answer", "answer", !q->found ? "nothing to compare with" : refused ? "unknown" : q->best[0].who);
    if (right >= 0) fill_one(out, "mark", "mark", right ? "&#10003;" : "&#10007;");
    fill_one(out, "path", "path", q->path);
    if (right == 0) {
        page_values v = {TEXT_INIT};
        if (q->truth == PAGE_STRANGER) page_set(&v, "truth", "not in the gallery");
        else page_set(&v, "truth", "it is %s", q->who);
        page_fill(out, &HTML, "wrong", &v);
    } else if (q->truth == PAGE_STRANGER) {
        page_fill(out, &HTML, "stranger", NULL);
    }
    if (doubt) fill_one(out, "doubt", "doubt", doubt);
    page_fill(out, &HTML, "answer end", NULL);
}

static void add_match(text *out, const page_match *m) {
    text alt = TEXT_INIT;
    page_values v = {TEXT_INIT};
    text_printf(&alt, "%s in the gallery, %s: score %.3f", m->who, m->caption ? m->caption : m->path, m->score);
    page_fill(out, &HTML, "match", NULL);
    if (text_failed(&alt)) text_no_memory(out);
    else page_picture(out, m->jpeg, alt.s);
    page_set(&v, "who", "%s", m->who);
    page_set(&v, "score", "%.3f", m->score);
    if (isnan(m->probability)) page_set(&v, "probability", "%s", "");
    else page_set(&v, "probability", "%.1f %%", 100 * m->probability);
    page_fill(out, &HTML, "match score", &v);
    if (m->caption) fill_one(out, "caption", "caption", m->caption);
    page_fill(out, &HTML, "match end", NULL);
    text_free(&alt);
}

void match_page_section(match_page *p, const char *title, const char *about) {
    page_values v = {TEXT_INIT};
    page_set(&v, "title", "%s", title);
    page_set(&v, "about", "%s", about);
    page_fill(&p->cards, &HTML, "section", &v);
}

void match_page_section_end(match_page *p) { page_fill(&p->cards, &HTML, "section end", NULL); }

void match_page_query(match_page *p, const page_query *q) {
    int right = judge(p, q);
    const char *doubt = doubt_of(p, q);
    text *out = &p->cards;
    page_values v = {TEXT_INIT};
    count(p, q, right, doubt);
    const char *colour = right < 0 ? "" : !right ? " no" : q->truth == PAGE_STRANGER ? " new" : " yes";
    page_set(&v, "classes", "%s%s", colour, doubt ? " doubt" : "");
    page_fill(out, &HTML, "query", &v);
    add_query_picture(out, q);
    add_answer(p, out, q, right, doubt);
    if (q->found) page_fill(out, &HTML, "best", NULL);
    for (int i = 0; i < q->found && i < SHOWN; i++) add_match(out, &q->best[i]);
    if (q->found) page_fill(out, &HTML, "best end", NULL);
    page_fill(out, &HTML, "query end", NULL);
}

static void add_count_tile(text *out, size_t part, const size_t *whole, const char *label) {
    char figure[32];
    snprintf(figure, sizeof figure, "%zu", part);
    page_tile(out, figure, whole, label);
}

void match_page_tiles(const match_page *p, text *out) {
    const page_counts *n = &p->n;
    char threshold[32];
    snprintf(threshold, sizeof threshold, "%.3f", p->threshold);
    if (n->known)
        add_count_tile(out, n->first_right, &n->known, "queries of known individuals: best match is right (rank-1)");
    if (n->known && !isnan(p->threshold))
        add_count_tile(out, n->accepted_right, &n->known, "of these, accepted with the right identity");
    if (n->strangers && !isnan(p->threshold))
        add_count_tile(out, n->rejected, &n->strangers, "strangers recognised as unknown");
    if (!n->judged) {
        add_count_tile(out, n->queries, NULL, "queries");
        if (!isnan(p->threshold)) add_count_tile(out, n->matches, &n->queries, "match");
        if (!isnan(p->threshold)) add_count_tile(out, n->unknown, &n->queries, "unknown");
    }
    if (!isnan(p->threshold)) page_tile(out, threshold, NULL, "threshold: lowest score of a match");
}

/* A radio button and its label; the style sheet defines what it hides. */
static void add_filter(text *out, const char *id, const char *label, size_t count, int checked) {
    page_values v = {TEXT_INIT};
    page_set(&v, "id", "%s", id);
    page_set(&v, "state", "%s%s", checked ? " checked=\"checked\"" : "", count ? "" : " disabled=\"disabled\"");
    page_set(&v, "label", "%s", label);
    page_set(&v, "count", "%zu", count);
    page_fill(out, &HTML, "filter", &v);
}

void match_page_queries(const match_page *p, text *out) {
    if (!p->n.queries) return;
    add_filter(out, "all", "All", p->n.queries, 1);
    add_filter(out, "doubtful", "Only doubtful", p->n.doubtful, 0);
    if (p->n.judged) add_filter(out, "wrong", "Only wrong", p->n.wrong, 0);
    text_join(out, &p->cards);
}

void match_page_free(match_page *p) { text_free(&p->cards); }
