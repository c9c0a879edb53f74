#include "report/bench_page.h"

#include "report/page_fill.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const unsigned char css[] = {
#include "build/report/bench_page.css.bytes"
};
static const unsigned char html[] = {
#include "build/report/bench_page.html.bytes"
};
static const page_markup HTML = {html, sizeof html};

/* The kinds of operations, whose colours are in bench_page.css: --k0 and so on. */
static const char *const KINDS[] = {"conv", "depthwise", "linear", "squeeze", "pool", "maxpool", "normalise"};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS, WIDE = 900, NARROW = 360, TOP = 12 };

/* The colour of a kind; kinds that are not in the table get the last one. */
static int kind_of(const bench_op *op) {
    int i = 0;
    while (i < KIND_COUNT - 1 && strcmp(KINDS[i], op->kind) != 0) i++;
    return i;
}

static double network_us(const bench_batch *b) {
    double sum = 0;
    for (size_t i = 0; i < b->count; i++) sum += b->ops[i].us;
    return sum;
}

static double gflops_of(const bench_op *op) { return op->us > 0 ? 1e-3 * op->flops / op->us : 0; }
static double gbs_of(const bench_op *op) { return op->us > 0 ? 1e-3 * op->bytes / op->us : 0; }

/* The limit of the machine at this number of operations per byte. */
static double roof_at(const bench_page *p, double intensity) {
    const double by_memory = p->gbs * intensity;
    return by_memory < p->gflops ? by_memory : p->gflops;
}

static int has_roof(const bench_page *p) { return p->gflops > 0 && p->gbs > 0; }
static int has_point(const bench_op *op) { return op->us > 0 && op->flops > 0 && op->bytes > 0; }

/* The tooltip of an operation. */
static void title_of(const bench_page *p, const bench_op *op, double all, text *out) {
    text_puts(out, "<title>");
    text_html(out, op->name);
    text_printf(out, " (%s", op->kind);
    if (*op->kernel) text_puts(out, ", "), text_html(out, op->kernel);
    text_printf(out, ")\n%.2f us, %.1f %% of the operations\n%.1f GFLOP/s, %.1f GB/s", op->us,
                all > 0 ? 100 * op->us / all : 0, gflops_of(op), gbs_of(op));
    if (has_roof(p) && has_point(op))
        text_printf(out, "\n%.0f %% of the roof above it", 100 * gflops_of(op) / roof_at(p, op->flops / op->bytes));
    text_puts(out, "</title>");
}

/* --- the roofline ------------------------------------------------------------------------------------------------- */

/* Both axes are logarithms to the base of 10, over whole decades. */
typedef struct plane {
    double left, right, top, bottom;  /* of the plot area */
    int x_from, x_to, y_from, y_to;   /* decades */
} plane;

static double x_of(const plane *a, double value) {
    return a->left + (a->right - a->left) * (log10(value) - a->x_from) / (a->x_to - a->x_from);
}

static double y_of(const plane *a, double value) {
    return a->bottom - (a->bottom - a->top) * (log10(value) - a->y_from) / (a->y_to - a->y_from);
}

static void widen(int *from, int *to, double value) {
    const double at = log10(value);
    if (floor(at) < *from) *from = (int)floor(at);
    if (ceil(at) > *to) *to = (int)ceil(at);
}

/* 0 if there is nothing to show. */
static int span(const bench_page *p, const bench_batch *b, plane *a) {
    a->x_from = a->y_from = 99, a->x_to = a->y_to = -99;
    for (size_t i = 0; i < b->count; i++) {
        if (!has_point(&b->ops[i])) continue;
        widen(&a->x_from, &a->x_to, b->ops[i].flops / b->ops[i].bytes);
        widen(&a->y_from, &a->y_to, gflops_of(&b->ops[i]));
    }
    if (a->x_to < a->x_from) return 0;
    if (has_roof(p)) widen(&a->x_from, &a->x_to, p->gflops / p->gbs), widen(&a->y_from, &a->y_to, p->gflops);
    a->x_to += a->x_to == a->x_from, a->y_to += a->y_to == a->y_from;
    return 1;
}

static void decade(char label[32], int power) {
    if (power >= 6) snprintf(label, 32, "1e%d", power);
    else if (power >= 3) snprintf(label, 32, "%.0fk", pow(10, power - 3));
    else snprintf(label, 32, "%g", pow(10, power));
}

static void draw_grid(const plane *a, text *out) {
    char label[32];
    for (int d = a->x_from; d <= a->x_to; d++) {
        const double x = x_of(a, pow(10, d));
        decade(label, d);
        text_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/><text class=\"soft\" x=\"%.1f\" y=\"%.1f\" "
                         "text-anchor=\"middle\">%s</text>\n", x, a->top, a->bottom, x, a->bottom + 18, label);
    }
    for (int d = a->y_from; d <= a->y_to; d++) {
        const double y = y_of(a, pow(10, d));
        decade(label, d);
        text_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text class=\"soft\" x=\"%.1f\" y=\"%.1f\" "
                         "text-anchor=\"end\">%s</text>\n", a->left, y, a->right, a->left - 7, y + 4, label);
    }
    text_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">operations per byte (FLOP/byte)</text>"
                     "\n", (a->left + a->right) / 2, a->bottom + 38);
    text_printf(out, "<text x=\"%.1f\" y=\"%.1f\">GFLOP/s</text>\n", a->left - 40, a->top - 10);
}

/* The point where the line begins, and its ridge. */
typedef struct roof {
    double x0, y0, x1, y1;
} roof;

static roof roof_on(const bench_page *p, const plane *a) {
    const double low = pow(10, a->y_from) / p->gbs, edge = pow(10, a->x_from), begin = low > edge ? low : edge;
    return (roof){x_of(a, begin), y_of(a, roof_at(p, begin)), x_of(a, p->gflops / p->gbs), y_of(a, p->gflops)};
}

/* Labels both parts of the line where circles are rare: below the slope, and before the ridge. */
static void name_roof(const bench_page *p, const plane *a, text *out) {
    const roof r = roof_on(p, a);
    const double angle = atan2(r.y1 - r.y0, r.x1 - r.x0) * 180 / acos(-1.0), long_enough = 100, room = 90, at = 0.35;
    if (hypot(r.x1 - r.x0, r.y1 - r.y0) > long_enough)
        text_printf(out, "<text text-anchor=\"middle\" transform=\"translate(%.1f %.1f) rotate(%.1f)\" dy=\"17\">%.1f "
                         "GB/s</text>\n", r.x0 + at * (r.x1 - r.x0), r.y0 + at * (r.y1 - r.y0), angle, p->gbs);
    const int before = r.x1 - a->left > room;
    text_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%.0f GFLOP/s</text>\n", r.x1 - (before ? 14 : 0),
                r.y1 - 7, before ? "end" : "start", p->gflops);
}

static void roofline(const bench_page *p, const bench_batch *b, const char *class, int width, text *out) {
    const double height = width == WIDE ? 460 : 360, all = network_us(b);
    plane a = {.left = 52, .right = width - 18, .top = 36, .bottom = height - 52};
    if (!span(p, b, &a)) return;
    text_printf(out, "<svg class=\"%s\" viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"Roofline of %zu "
                     "operations\">\n", class, width, height, b->count);
    draw_grid(&a, out);
    if (has_roof(p)) {
        const roof r = roof_on(p, &a);
        text_printf(out, "<path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1fH%.1f\"/>\n", r.x0, r.y0, r.x1, r.y1, a.right);
    }
    for (size_t i = 0; i < b->count; i++) {
        const bench_op *op = &b->ops[i];
        if (!has_point(op)) continue;
        const double radius = 3.5 + (width == WIDE ? 26 : 16) * sqrt(op->us / all);
        text_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" style=\"fill:var(--k%d)\">",
                    x_of(&a, op->flops / op->bytes), y_of(&a, gflops_of(op)), radius, kind_of(op));
        title_of(p, op, all, out);
        text_puts(out, "</circle>\n");
    }
    if (has_roof(p)) name_roof(p, &a, out);
    text_puts(out, "</svg>\n");
}

/* --- times -------------------------------------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, so that there are at most `most` steps. */
static double step_of(double largest, int most) {
    double step = pow(10, floor(log10(largest / most)));
    static const double times[] = {2, 2.5, 2};
    for (int i = 0; largest / step > most; i++) step *= times[i % 3];
    return step;
}

static double call_us(const bench_batch *b) { return 1e3 * b->ms / b->images; }

/* One bar: the operations of a batch, one after the other, with the time per image. */
static void bar(const bench_page *p, const bench_batch *b, double left, double scale, double y, text *out) {
    const double height = 30, all = network_us(b), name_up = 6;
    double at = left;
    text_printf(out, "<text x=\"%.1f\" y=\"%.1f\">batch %d</text>\n", left, y - name_up, b->images);
    for (size_t i = 0; i < b->count; i++) {
        const double wide = scale * b->ops[i].us / b->images;
        text_printf(out, "<rect class=\"part\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" "
                         "style=\"fill:var(--k%d)\">", at, y, wide, height, kind_of(&b->ops[i]));
        title_of(p, &b->ops[i], all, out);
        text_puts(out, "</rect>\n");
        at += wide;
    }
    text_printf(out, "<path class=\"call\" d=\"M%.1f %.1fv%.1f\"><title>the whole call: %.1f us per image</title>"
                     "</path>\n", left + scale * call_us(b), y - 5, height + 10, call_us(b));
}

static void times(const bench_page *p, const char *class, int width, text *out) {
    const double left = 16, right = width - 30, each = 62, top = 30, bottom = top + each * p->count;
    double largest = 0;
    for (int i = 0; i < p->count; i++) {
        const double bars = network_us(&p->at[i]) / p->at[i].images, call = call_us(&p->at[i]);
        if (bars > largest) largest = bars;
        if (call > largest) largest = call;
    }
    if (!(largest > 0)) return;
    const double step = step_of(largest, width == WIDE ? 10 : 5), scale = (right - left) / largest;
    const double unit = largest < 10000 ? 1 : 1000; /* microseconds or milliseconds */
    text_printf(out, "<svg class=\"%s\" viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"Times of operations\">\n",
                class, width, bottom + 44);
    for (int i = 0; i * step <= largest * 1.0001; i++) {
        const double x = left + scale * i * step;
        text_printf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/><text class=\"soft\" x=\"%.1f\" y=\"%.1f\" "
                         "text-anchor=\"middle\">%g</text>\n", x, top - 14, bottom, x, bottom + 17, i * step / unit);
    }
    text_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s per image</text>\n", (left + right) / 2,
                bottom + 36, unit > 1 ? "milliseconds" : "microseconds");
    for (int i = 0; i < p->count; i++) bar(p, &p->at[i], left, scale, top + 8 + each * i, out);
    text_puts(out, "</svg>\n");
}

/* --- words -------------------------------------------------------------------------------------------------------- */

static void legend(const bench_page *p, text *out) {
    int there[KIND_COUNT] = {0};
    for (int k = 0; k < p->count; k++)
        for (size_t i = 0; i < p->at[k].count; i++) there[kind_of(&p->at[k].ops[i])] = 1;
    page_fill(out, &HTML, "legend", NULL);
    for (int i = 0; i < KIND_COUNT; i++) {
        page_values v = {TEXT_INIT};
        if (!there[i]) continue;
        page_set(&v, "number", "%d", i);
        page_set(&v, "kind", "%s", KINDS[i]);
        page_fill(out, &HTML, "kind", &v);
    }
    page_fill(out, &HTML, "legend end", NULL);
}

static void row(const bench_page *p, const bench_op *op, double all, text *out) {
    page_values v = {TEXT_INIT};
    page_set(&v, "name", "%s", op->name);
    page_set(&v, "kind", "%s%s%s", op->kind, *op->kernel ? ", " : "", op->kernel);
    page_set(&v, "us", "%.2f", op->us);
    page_set(&v, "share", "%.1f", all > 0 ? 100 * op->us / all : 0);
    page_set(&v, "gflops", "%.1f", gflops_of(op));
    page_set(&v, "gbs", "%.1f", gbs_of(op));
    if (has_roof(p) && has_point(op))
        page_set(&v, "roof", "%.0f", 100 * gflops_of(op) / roof_at(p, op->flops / op->bytes));
    else page_set(&v, "roof", "%s", "");
    page_fill(out, &HTML, "row", &v);
}

/* Returns 1 if it is among the TOP longest operations; of equally long ones, the first count. */
static int is_long(const bench_batch *b, size_t which) {
    int longer = 0;
    for (size_t i = 0; i < b->count; i++)
        longer += b->ops[i].us > b->ops[which].us || (i < which && b->ops[i].us >= b->ops[which].us);
    return longer < TOP;
}

static void table(const bench_page *p, const bench_batch *b, int only_long, text *out) {
    const double all = network_us(b);
    page_fill(out, &HTML, "table", NULL);
    for (size_t i = 0; i < b->count; i++)
        if (!only_long || is_long(b, i)) row(p, &b->ops[i], all, out);
    page_fill(out, &HTML, "table end", NULL);
}

static void batch(const bench_page *p, const bench_batch *b, text *out) {
    size_t without = 0;
    page_values v = {TEXT_INIT};
    for (size_t i = 0; i < b->count; i++) without += !has_point(&b->ops[i]);
    page_set(&v, "images", "%d", b->images);
    page_set(&v, "ms", "%.3f", b->ms);
    page_set(&v, "per second", "%.1f", 1e3 * b->images / b->ms);
    if (without)
        page_set(&v, "without", " Not shown: %zu operation%s without multiply-adds.", without, plural(without));
    else page_set(&v, "without", "%s", "");
    page_fill(out, &HTML, "batch", &v);
    roofline(p, b, "wide", WIDE, out);
    roofline(p, b, "narrow", NARROW, out);
    page_set(&v, "count", "%d", b->count < TOP ? (int)b->count : TOP);
    page_fill(out, &HTML, "longest", &v);
    table(p, b, 1, out);
    page_set(&v, "count", "%zu", b->count);
    page_fill(out, &HTML, "all", &v);
    table(p, b, 0, out);
    page_fill(out, &HTML, "batch end", NULL);
}

/* Writes lines with their breaks, which text_html does not keep. */
static void head_lines(const char *at, text *out) {
    while (*at) {
        const size_t n = strcspn(at, "\n");
        text line = TEXT_INIT;
        text_add(&line, at, n);
        if (text_failed(&line)) text_no_memory(out);
        else if (line.s) text_html(out, line.s);
        if (at[n]) text_putc(out, '\n');
        text_free(&line);
        at += n + (at[n] != 0);
    }
}

void bench_page_html(const bench_page *p, text *out) {
    page_fill(out, &HTML, "head", NULL);
    text_add(out, css, sizeof css);
    page_fill(out, &HTML, "body", NULL);
    head_lines(p->head, out);
    page_fill(out, &HTML, "times", NULL);
    legend(p, out);
    times(p, "wide", WIDE, out);
    times(p, "narrow", NARROW, out);
    page_fill(out, &HTML, has_roof(p) ? "roof" : "no roof", NULL);
    for (int i = 0; i < p->count; i++) batch(p, &p->at[i], out);
    page_fill(out, &HTML, "end", NULL);
}
