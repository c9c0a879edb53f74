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

void stages_json(const stages *s, json_writer *w) {
    json_put_array(w, "stages");
    for (int i = 0; i < s->count; i++) {
        const stage *at = &s->at[i];
        json_put_object(w, NULL);
        json_put_string(w, "name", at->name);
        json_put_string(w, "unit", at->unit);
        json_put_fixed(w, "items", at->items, 0);
        json_put_fixed(w, "per_second", stages_ratio(at->items, s->seconds), 3);
        json_put_fixed(w, "busy", at->busy, 4);
        if (at->queue >= 0) json_put_fixed(w, "waiting", at->queue, 3);
        json_put_end(w);
    }
    json_put_end(w);
    json_put_string(w, "bottleneck", s->at[s->bottleneck].name);
    json_put_string(w, "advice", s->advice);
}
