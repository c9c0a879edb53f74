#include "pictures/frame_windows.h"

#include "base/memory.h"

static uint32_t lesser(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t greater(uint32_t a, uint32_t b) { return a > b ? a : b; }

int frame_windows_of(const uint32_t *frames, const frame_area *areas, size_t n, const frame_range *ranges,
                     size_t range_count, size_t most, frame_windows *w) {
    size_t share = (n + most - 1) / most, range = 0;
    uint32_t sent = 0; /* frames before the range */
    w->count = 0;
    w->width = w->height = 1;
    w->at = mem_array(most + 1, sizeof *w->at);
    if (!w->at) return 0;
    for (size_t i = 0; i < n; i += share) {
        frame_area all = areas[i];
        for (size_t k = i + 1; k < n && k < i + share; k++) {
            all.x0 = lesser(all.x0, areas[k].x0), all.y0 = lesser(all.y0, areas[k].y0);
            all.x1 = greater(all.x1, areas[k].x1), all.y1 = greater(all.y1, areas[k].y1);
        }
        while (range + 1 < range_count && ranges[range].last < frames[i]) {
            sent += ranges[range].last - ranges[range].first + 1;
            range++;
        }
        w->at[w->count++] = (frame_window){sent + frames[i] - ranges[range].first, all.x0, all.y0};
        w->width = greater(w->width, all.x1 - all.x0), w->height = greater(w->height, all.y1 - all.y0);
    }
    return 1;
}

/* Writes one coordinate of all windows as an expression of n, the number of a frame among those that are sent. */
static void write_tree(const frame_window *at, size_t count, int down, text *out) {
    size_t half = count / 2;
    if (count == 1) {
        text_printf(out, "%u", (unsigned)(down ? at->y : at->x));
        return;
    }
    text_printf(out, "if(lt(n,%u),", (unsigned)at[half].from);
    write_tree(at, half, down, out);
    text_puts(out, ",");
    write_tree(at + half, count - half, down, out);
    text_puts(out, ")");
}

/* A part of a frame may begin and end within a pixel, so it may touch two pixels more than its width. */
static void write_side(uint32_t side, int parts, const char *of, text *out) {
    if (parts) text_printf(out, "'min(%s,floor(%s*%u/%d)+2)'", of, of, (unsigned)side, FRAME_PARTS);
    else text_printf(out, "'min(%s,%u)'", of, (unsigned)side);
}

static void write_place(const frame_windows *w, int down, const char *of, text *out) {
    text_puts(out, "'");
    if (w->parts) text_printf(out, "floor(%s*", of);
    write_tree(w->at, w->count, down, out);
    if (w->parts) text_printf(out, "/%d)", FRAME_PARTS);
    text_puts(out, "'");
}

void frame_windows_filter(const frame_windows *w, text *out) {
    text_puts(out, "crop=w="), write_side(w->width, w->parts, "iw", out);
    text_puts(out, ":h="), write_side(w->height, w->parts, "ih", out);
    text_puts(out, ":x="), write_place(w, 0, "iw", out);
    text_puts(out, ":y="), write_place(w, 1, "ih", out);
}

/* Computes one side like the filter, which moves a window that exceeds the frame back into it. */
static void place_side(uint32_t from, uint32_t side, int parts, int size, int *at, int *length) {
    const uint64_t all = (uint64_t)size;
    uint64_t wide = parts ? all * side / FRAME_PARTS + 2 : side, first = parts ? all * from / FRAME_PARTS : from;
    if (wide > all) wide = all;
    if (first > all - wide) first = all - wide;
    *at = (int)first, *length = (int)wide;
}

reid_box frame_windows_place(const frame_windows *w, uint32_t number, int width, int height) {
    size_t low = 0, high = w->count; /* the window is one of these */
    reid_box box;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (w->at[middle].from <= number) low = middle;
        else high = middle;
    }
    place_side(w->at[low].x, w->width, w->parts, width, &box.x, &box.width);
    place_side(w->at[low].y, w->height, w->parts, height, &box.y, &box.height);
    return box;
}
