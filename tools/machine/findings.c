#include "machine/findings.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const SEVERITIES[] = {"good", "note", "warning", "error"};

enum { MOST_TEXT = 2048 }; /* bytes of a line's text; more is cut off */

void findings_add(findings *f, severity how, const char *about, const char *remedy, const char *format, ...) {
    char what[MOST_TEXT];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    if (f->no_memory || !NEED(f->at, f->count, f->cap)) {
        f->no_memory = 1;
        return;
    }
    finding *one = &f->at[f->count];
    memset(one, 0, sizeof *one);
    one->how = how, one->about = about;
    one->what = need_copy(what, strlen(what));
    if (one->what && remedy) one->remedy = need_copy(remedy, strlen(remedy));
    f->no_memory = !one->what || (remedy && !one->remedy);
    f->count++;
}

severity findings_worst(const findings *f) {
    severity worst = FOUND_GOOD;
    for (size_t i = 0; i < f->count; i++)
        if (f->at[i].how > worst) worst = f->at[i].how;
    return worst;
}

void findings_table(const findings *f, text *out) {
    for (size_t i = 0; i < f->count; i++) {
        const finding *one = &f->at[i];
        text_printf(out, "%-8s %-14s ", SEVERITIES[one->how], one->about);
        text_visible(out, one->what ? one->what : "");
        if (one->remedy) text_puts(out, ". What helps: "), text_visible(out, one->remedy);
        text_putc(out, '\n');
    }
}

void findings_json(const findings *f, text *out) {
    text_printf(out, "{\"worst\": \"%s\", \"findings\": [", SEVERITIES[findings_worst(f)]);
    for (size_t i = 0; i < f->count; i++) {
        const finding *one = &f->at[i];
        text_printf(out, "%s\n  {\"severity\": \"%s\", \"about\": \"%s\", \"what\": ", i ? "," : "",
                    SEVERITIES[one->how], one->about);
        text_json(out, one->what ? one->what : "");
        text_puts(out, ", \"remedy\": ");
        if (one->remedy) text_json(out, one->remedy);
        else text_puts(out, "null");
        text_putc(out, '}');
    }
    text_puts(out, "]}\n");
}

void findings_free(findings *f) {
    for (size_t i = 0; i < f->count; i++) free(f->at[i].what), free(f->at[i].remedy);
    free(f->at);
    memset(f, 0, sizeof *f);
}
