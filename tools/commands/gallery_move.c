/* reid gallery push and pull: between a gallery file and a database. */
#include "base/clock.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/gallery_move.h"
#include "gallery/gallery_host.h"
#include "gallery/pull.h"
#include "gallery/push.h"
#include "gallery/templates.h"

#include <sys/stat.h>

/* Which is the file and which the database. Returns 0 after saying what is wrong. */
static int check_places(const options *o, const char *part, const char *file, const char *url) {
    if (o->operand_count != 1) say_error("gallery %s: %s", part, o->operand_count ? "give only two places"
                                                                                  : "give two places");
    else if (is_database_url(file))
        say_error("gallery %s: the file is not a database; see \"reid help gallery\"", part);
    else if (!is_database_url(url)) say_error("gallery %s: %s is not a database, postgresql://...", part, shown(url));
    else return 1;
    return 0;
}

static double rate(size_t rows, double seconds) { return seconds > 0 ? (double)rows / seconds : 0; }

static int report_push(const options *o, const push_report *r) {
    text t = TEXT_INIT;
    size_t rows = r->pushed + r->equal;
    if (o->output.json)
        text_printf(&t, "{\"pushed\": %zu, \"equal\": %zu, \"refused\": %zu, \"created\": %s, \"seconds\": %.3f, "
                        "\"rows_per_second\": %.0f, \"index_seconds\": %.3f}\n", r->pushed, r->equal, r->refused,
                    r->created ? "true" : "false", r->seconds, rate(rows, r->seconds), r->index_seconds);
    else {
        text_printf(&t, "pushed %zu", r->pushed);
        if (r->equal) text_printf(&t, "; %zu were already there", r->equal);
        if (r->refused) text_printf(&t, "; %zu were refused", r->refused);
        text_printf(&t, ", in %.1f s (%.0f rows/s)", r->seconds, rate(rows, r->seconds));
        if (r->index_seconds > 0) text_printf(&t, "; the index took %.1f s", r->index_seconds);
        text_putc(&t, '\n');
    }
    return results_print(&t);
}

int gallery_push_command(options *o, const char *path) {
    push_report report;
    const char *url = o->operand_count ? o->operands[0] : "";
    if (!check_places(o, "push", path, url)) return 2;
    gallery_store *s = templates_read(path, 1);
    if (!s) return 2;
    const push_request r = {.from = s, .path = path, .url = url, .strict = o->input.strict};
    int good = gallery_push(&r, &report);
    store_close(s);
    if (!good || !report_push(o, &report)) return 2;
    return report.refused ? 1 : 0;
}

int gallery_pull_command(options *o, const char *url) {
    char why[STORE_WHY] = "";
    struct stat st;
    text t = TEXT_INIT;
    const char *path = o->operand_count ? o->operands[0] : "";
    double start = clock_seconds();
    if (!check_places(o, "pull", path, url)) return 2;
    if (lstat(path, &st) == 0) { /* before everything is read */
        say_error("%s: exists already", shown(path));
        return 2;
    }
    gallery_store *s = templates_read(url, 1);
    if (!s) return 2;
    size_t count = store_count(s);
    int good = gallery_pull(s, path, why);
    store_close(s);
    if (!good) {
        say_gallery_error(path, why);
        return 2;
    }
    double seconds = clock_seconds() - start;
    text_printf(&t, o->output.json ? "{\"pulled\": %zu, \"seconds\": %.3f, \"rows_per_second\": %.0f}\n"
                            : "pulled %zu, in %.1f s (%.0f rows/s)\n", count, seconds, rate(count, seconds));
    return results_print(&t) ? 0 : 2;
}
