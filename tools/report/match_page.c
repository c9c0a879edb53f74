#include "report/match_page.h"

#include "base/sha256.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 3 };                 /* matches of a query with their pictures */
static const double NEAR = 0.05;    /* from the threshold, or between the two best, where nothing else tells doubt */
static const double SURE = 0.9;     /* as a probability, either way */

/* ---- building blocks --------------------------------------------------------------------------------------------- */

void page_text(text *out, const char *s) {
    text plain = TEXT_INIT;
    text_visible(&plain, s);
    if (text_failed(&plain)) text_no_memory(out);
    else if (plain.len) text_html(out, plain.s);
    text_free(&plain);
}

/* What the page may load: the style sheet with this text alone, pictures (and a film) that stand in it. */
static void add_policy(text *out, const page_head *h, const text *style) {
    unsigned char digest[32];
    text_puts(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src ");
    if (h->free_style) {
        text_puts(out, "'unsafe-inline'; media-src data:");
    } else {
        sha256(style->s, style->len, digest);
        text_puts(out, "'sha256-");
        text_base64(out, digest, sizeof digest);
        text_putc(out, '\'');
    }
    text_puts(out, "; img-src data:; base-uri 'none'; form-action 'none'\"/>\n");
}

void page_begin(text *out, const page_head *h) {
    text style = TEXT_INIT;
    for (int i = 0; page_style[i]; i++) text_puts(&style, page_style[i]);
    if (h->style) text_puts(&style, h->style);
    if (text_failed(&style)) text_no_memory(out);
    text_puts(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n");
    add_policy(out, h, &style);
    text_puts(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                   "<link rel=\"icon\" href=\"data:,\"/>\n<title>reid.h: ");
    page_text(out, h->title);
    text_puts(out, "</title>\n<style>");
    text_join(out, &style);
    text_puts(out, "</style></head>\n<body>\n<h1>");
    page_text(out, h->title);
    text_puts(out, "</h1>\n");
    text_free(&style);
}

void page_end(text *out) { text_puts(out, "</body></html>\n"); }

void page_picture(text *out, const text *jpeg, const char *alt) {
    if (!jpeg || !jpeg->len) {
        text_puts(out, "<div class=\"none\" role=\"img\" aria-label=\"No picture: ");
        page_text(out, alt);
        text_puts(out, "\">no image</div>");
        return;
    }
    text_puts(out, "<img alt=\"");
    page_text(out, alt);
    text_puts(out, "\" src=\"data:image/jpeg;base64,");
    if (text_failed(jpeg)) text_no_memory(out);
    text_base64(out, jpeg->s, jpeg->len);
    text_puts(out, "\"/>");
}

void page_tiles(text *out) { text_puts(out, "<div class=\"tiles\">\n"); }

void page_tile(text *out, const char *part, const size_t *whole, const char *label) {
    text_printf(out, "<div class=\"tile\"><b>%s", part);
    if (whole) text_printf(out, " / %zu", *whole);
    text_printf(out, "</b><span>%s</span></div>\n", label);
}

void page_tiles_end(text *out) { text_puts(out, "</div>\n"); }

/* ---- judging ----------------------------------------------------------------------------------------------------- */

static int accepts(const match_page *p, const page_query *q) { return q->found && q->best[0].score >= p->threshold; }

/* Why somebody should look at it; NULL: no reason. */
static const char *doubt_of(const match_page *p, const page_query *q) {
    if (!q->found) return NULL;
    const page_match *best = q->best;
    int decided = !isnan(p->threshold), accepted = accepts(p, q);
    if (decided && q->found > 1 && best[1].score >= p->threshold) return "two individuals reach the threshold";
    if (!decided && q->found > 1 && best[0].score - best[1].score < NEAR) return "the two best are nearly alike";
    if (!isnan(best->probability)) {
        if (best->probability > 1 - SURE && best->probability < SURE) return "the probability is neither high nor low";
        return decided && accepted != (best->probability >= 0.5) ? "threshold and probability disagree" : NULL;
    }
    return decided && fabs(best->score - p->threshold) < NEAR ? "the score is close to the threshold" : NULL;
}

/* 1: right, 0: wrong, -1: it cannot be told. A stranger is judged by a decision alone. */
static int judge(const match_page *p, const page_query *q) {
    int decided = !isnan(p->threshold);
    if (q->truth == PAGE_UNLABELLED || (q->truth == PAGE_STRANGER && !decided)) return -1;
    if (q->truth == PAGE_STRANGER) return !accepts(p, q);
    return q->found && strcmp(q->best[0].who, q->who) == 0 && (!decided || accepts(p, q));
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
        n->first_right += q->found && strcmp(q->best[0].who, q->who) == 0;
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

/* The answer, and what is to be thought of it. */
static void add_answer(const match_page *p, text *out, const page_query *q, int right, const char *doubt) {
    text_puts(out, "<div><h3>");
    if (!q->found) text_puts(out, "nothing to compare with");
    else if (!isnan(p->threshold) && !accepts(p, q)) text_puts(out, "unknown");
    else page_text(out, q->best[0].who);
    if (right >= 0) text_printf(out, " <span class=\"mark\">%s</span>", right ? "&#10003;" : "&#10007;");
    text_puts(out, "</h3><p class=\"soft\">");
    page_text(out, q->path);
    text_puts(out, "</p>");
    if (right == 0) {
        text_puts(out, "<p class=\"mark\">wrong: ");
        if (q->truth == PAGE_STRANGER) text_puts(out, "not in the gallery");
        else text_puts(out, "it is "), page_text(out, q->who);
        text_puts(out, "</p>");
    } else if (q->truth == PAGE_STRANGER) {
        text_puts(out, "<p class=\"soft\">never enrolled</p>");
    }
    if (doubt) text_printf(out, "<p>&#63; %s</p>", doubt);
    text_puts(out, "</div>");
}

static void add_match(text *out, const page_match *m) {
    text alt = TEXT_INIT;
    text_printf(&alt, "%s in the gallery, %s: score %.3f", m->who, m->path, m->score);
    text_puts(out, "<li>");
    if (text_failed(&alt)) text_no_memory(out);
    else page_picture(out, m->jpeg, alt.s);
    page_text(out, m->who);
    text_printf(out, "<b>%.3f</b>", m->score);
    if (!isnan(m->probability)) text_printf(out, "%.1f %%", 100 * m->probability);
    text_puts(out, "</li>");
    text_free(&alt);
}

void match_page_section(match_page *p, const char *title, const char *about) {
    text_printf(&p->cards, "<section class=\"queries\"><h2>%s</h2>\n<p>%s</p>\n<div class=\"cards\">\n", title, about);
}

void match_page_section_end(match_page *p) { text_puts(&p->cards, "</div></section>\n"); }

void match_page_query(match_page *p, const page_query *q) {
    int right = judge(p, q);
    const char *doubt = doubt_of(p, q);
    text *out = &p->cards;
    count(p, q, right, doubt);
    text_printf(out, "<article class=\"card%s%s\"><div class=\"seen\">",
                right < 0 ? "" : !right ? " no" : q->truth == PAGE_STRANGER ? " new" : " yes", doubt ? " doubt" : "");
    add_query_picture(out, q);
    add_answer(p, out, q, right, doubt);
    text_puts(out, "</div>");
    if (q->found) text_puts(out, "<ol class=\"best\">");
    for (int i = 0; i < q->found && i < SHOWN; i++) add_match(out, &q->best[i]);
    text_puts(out, q->found ? "</ol></article>\n" : "</article>\n");
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
        add_count_tile(out, n->first_right, &n->known, "of the individuals here: best match is right (rank-1)");
    if (n->known && !isnan(p->threshold))
        add_count_tile(out, n->accepted_right, &n->known, "of them: accepted as the right one");
    if (n->strangers && !isnan(p->threshold))
        add_count_tile(out, n->rejected, &n->strangers, "strangers recognised as unknown");
    if (!n->judged) {
        add_count_tile(out, n->queries, NULL, "queries");
        if (!isnan(p->threshold)) add_count_tile(out, n->matches, &n->queries, "are a match");
        if (!isnan(p->threshold)) add_count_tile(out, n->unknown, &n->queries, "are unknown");
    }
    if (!isnan(p->threshold)) page_tile(out, threshold, NULL, "threshold: the least score of a match");
}

/* A radio button and its label; page_style says what it leaves out. */
static void add_filter(text *out, const char *id, const char *label, size_t count, int checked) {
    text_printf(out, "<input class=\"filter\" type=\"radio\" name=\"show\" id=\"%s\"%s%s/><label for=\"%s\">%s (%zu)"
                     "</label>\n", id, checked ? " checked=\"checked\"" : "", count ? "" : " disabled=\"disabled\"", id,
                label, count);
}

void match_page_queries(const match_page *p, text *out) {
    if (!p->n.queries) return;
    add_filter(out, "all", "All", p->n.queries, 1);
    add_filter(out, "doubtful", "Only doubtful", p->n.doubtful, 0);
    if (p->n.judged) add_filter(out, "wrong", "Only wrong", p->n.wrong, 0);
    text_join(out, &p->cards);
}

void match_page_free(match_page *p) { text_free(&p->cards); }
