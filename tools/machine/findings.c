#include "machine/findings.h"

#include "base/json_write.h"
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
    json_writer w = json_write(out);
    json_put_object(&w, NULL);
    json_put_string(&w, "worst", SEVERITIES[findings_worst(f)]);
    json_put_array(&w, "findings");
    for (size_t i = 0; i < f->count; i++) {
        const finding *one = &f->at[i];
        json_put_line(&w, 2);
        json_put_object(&w, NULL);
        json_put_string(&w, "severity", SEVERITIES[one->how]);
        json_put_string(&w, "about", one->about);
        json_put_string(&w, "what", one->what ? one->what : "");
        json_put_string(&w, "remedy", one->remedy);
        json_put_end(&w);
    }
    json_put_finish(&w);
}

void findings_free(findings *f) {
    for (size_t i = 0; i < f->count; i++) free(f->at[i].what), free(f->at[i].remedy);
    free(f->at);
    memset(f, 0, sizeof *f);
}
