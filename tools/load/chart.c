#include "load/chart.h"

#include <math.h>
#include <string.h>

/* In pixels: the size of the chart, and the margins around the plot. */
enum { WIDTH = 720, HEIGHT = 420, LEFT = 70, RIGHT = 150, TOP = 46, BOTTOM = 52 };

typedef struct plane {
    double most, step;     /* answers per second: the right end, and the distance between marks */
    double low, high;      /* decimal logarithms of milliseconds: the bottom and the top */
} plane;

static double x_of(const plane *p, double answered) {
    return LEFT + (WIDTH - LEFT - RIGHT) * answered / p->most;
}

static double y_of(const plane *p, double seconds) {
    double at = (log10(fmax(seconds, 1e-9) * 1e3) - p->low) / (p->high - p->low);
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * fmin(fmax(at, 0), 1);
}

/* Returns 1, 2 or 5 times a power of ten, so that there are 4 to 10 marks. */
static double round_step(double most) {
    double step = pow(10, floor(log10(most / 4)));
    return most / step > 20 ? 5 * step : most / step > 10 ? 2 * step : step;
}

static plane find_plane(const load_point *points, int count) {
    double most = 1e-3, least_time = 1e9, most_time = 1e-6;
    for (int i = 0; i < count; i++) {
        most = fmax(most, points[i].answered);
        if (points[i].median > 0) least_time = fmin(least_time, points[i].median);
        most_time = fmax(most_time, points[i].p99);
    }
    plane p = {0, round_step(most), floor(log10(fmin(least_time, most_time) * 1e3)), ceil(log10(most_time * 1e3))};
    p.most = p.step * ceil(most / p.step);
    if (p.high <= p.low) p.high = p.low + 1;
    return p;
}

static void draw_axes(text *out, const plane *p) {
    const char *grid = "stroke=\"#d0d7de\" stroke-width=\"1\"";
    for (int i = 0; i <= (int)lround(p->most / p->step); i++) {
        double v = i * p->step;
        text_printf(out, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" %s/>\n<text x=\"%.1f\" y=\"%d\" "
                    "text-anchor=\"middle\">%.6g</text>\n", x_of(p, v), TOP, x_of(p, v), HEIGHT - BOTTOM, grid,
                    x_of(p, v), HEIGHT - BOTTOM + 18, v);
    }
    for (int i = (int)p->low; i <= (int)p->high; i++) {
        double e = i, y = y_of(p, pow(10, e) * 1e-3);
        text_printf(out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" %s/>\n<text x=\"%d\" y=\"%.1f\" "
                    "text-anchor=\"end\">%g ms</text>\n", LEFT, y, WIDTH - RIGHT, y, grid, LEFT - 8, y + 4, pow(10, e));
    }
    text_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">answers per second</text>\n",
                (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12);
}

static void draw_line(text *out, const plane *p, const load_point *points, int count, int p99, const char *colour,
                      const char *name) {
    double x = LEFT, y = TOP;
    text_printf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
    for (int i = 0; i < count; i++) {
        x = x_of(p, points[i].answered), y = y_of(p, p99 ? points[i].p99 : points[i].median);
        text_printf(out, "%s%.1f,%.1f", i ? " " : "", x, y);
    }
    text_puts(out, "\"/>\n");
    for (int i = 0; i < count; i++)
        text_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", x_of(p, points[i].answered),
                    y_of(p, p99 ? points[i].p99 : points[i].median), colour);
    text_printf(out, "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">%s</text>\n", x + 9, y + 4, colour, name);
}

void load_chart(text *out, const char *title, const load_point *points, int count) {
    plane p = find_plane(points, count);
    text_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                "font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#24292f\">\n"
                "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n<text x=\"%d\" y=\"26\" font-size=\"16\" "
                "font-weight=\"600\">", WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
    for (; *title; title++) {
        const char *as = *title == '<' ? "&lt;" : *title == '&' ? "&amp;" : NULL;
        if (as) text_puts(out, as);
        else text_putc(out, *title);
    }
    text_puts(out, "</text>\n");
    draw_axes(out, &p);
    draw_line(out, &p, points, count, 0, "#0969da", "median");
    draw_line(out, &p, points, count, 1, "#cf222e", "99 %");
    text_puts(out, "</svg>\n");
}
