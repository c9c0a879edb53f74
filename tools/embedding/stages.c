#include "embedding/stages.h"

double stages_ratio(double a, double b) { return b > 0 ? a / b : 0; }

void stages_table(const stages *s, const char *below, text *out) {
    text_printf(out, "%-18s %10s %-9s %10s %6s %7s\n", "STAGE", "ITEMS", "", "PER S", "BUSY", "WAITING");
    for (int i = 0; i < s->count; i++) {
        const stage *at = &s->at[i];
        text_printf(out, "%-18s %10.0f %-9s %10.1f %5.1f%%", at->name, at->items, at->unit,
                    stages_ratio(at->items, s->seconds), 100 * at->busy);
        if (at->queue >= 0) text_printf(out, " %7.1f", at->queue);
        text_putc(out, '\n');
    }
    text_puts(out, below);
    text_printf(out, "The bottleneck is %s. What would help: %s.\n", s->at[s->bottleneck].name, s->advice);
}

void stages_json(const stages *s, const char *more, text *out) {
    text_printf(out, "{\"seconds\": %.6f, %s\"stages\": [", s->seconds, more);
    for (int i = 0; i < s->count; i++) {
        const stage *at = &s->at[i];
        text_printf(out, "%s{\"name\": \"%s\", \"unit\": \"%s\", \"items\": %.0f, \"per_second\": %.3f, \"busy\": %.4f",
                    i ? ", " : "", at->name, at->unit, at->items, stages_ratio(at->items, s->seconds), at->busy);
        if (at->queue >= 0) text_printf(out, ", \"waiting\": %.3f", at->queue);
        text_putc(out, '}');
    }
    text_printf(out, "], \"bottleneck\": \"%s\", \"advice\": ", s->at[s->bottleneck].name);
    text_json(out, s->advice);
    text_puts(out, "}\n");
}
