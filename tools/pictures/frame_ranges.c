#include "pictures/frame_ranges.h"

#include "base/memory.h"

#include <stdlib.h>

static int longest_first(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

/* Sets *gap: frames that are further apart than this are in different ranges. */
static int longest_gap(const uint32_t *frames, size_t n, size_t most, uint32_t *gap) {
    size_t count = 0;
    uint32_t *gaps = mem_array(n + 1, sizeof *gaps);
    if (!gaps) return 0;
    for (size_t i = 1; i < n; i++)
        if (frames[i] - frames[i - 1] > 1) gaps[count++] = frames[i] - frames[i - 1];
    qsort(gaps, count, sizeof *gaps, longest_first);
    *gap = count < most ? 1 : gaps[most - 1];
    free(gaps);
    return 1;
}

int frame_ranges_of(const uint32_t *frames, size_t n, size_t most, frame_range **ranges, size_t *count) {
    uint32_t gap;
    *count = 0;
    *ranges = mem_array(most + 1, sizeof **ranges);
    if (!*ranges || !longest_gap(frames, n, most, &gap)) return 0;
    for (size_t i = 0; i < n; i++) {
        if (i && frames[i] - frames[i - 1] <= gap) (*ranges)[*count - 1].last = frames[i];
        else (*ranges)[(*count)++] = (frame_range){frames[i], frames[i]};
    }
    return 1;
}

void frame_ranges_expression(const frame_range *ranges, size_t count, text *out) {
    size_t half = count / 2;
    if (count == 0) {
        text_puts(out, "0");
    } else if (count == 1) {
        text_printf(out, "between(n,%u,%u)", (unsigned)ranges->first, (unsigned)ranges->last);
    } else {
        text_printf(out, "if(lt(n,%u),", (unsigned)ranges[half].first);
        frame_ranges_expression(ranges, half, out);
        text_puts(out, ",");
        frame_ranges_expression(ranges + half, count - half, out);
        text_puts(out, ")");
    }
}
