/* reid gallery push and pull: copy templates between a gallery file and a database. */
#include "base/clock.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/gallery_move.h"
#include "gallery/gallery_host.h"
#include "gallery/pull.h"
#include "gallery/push.h"
#include "gallery/templates.h"
#include "report/gallery_report.h"

#include <sys/stat.h>

/* Checks that one is a file and the other a database. Returns 0 after saying what is wrong. */
static int check_places(const options *o, const char *part, const char *file, const char *url) {
    if (o->operand_count != 1) say_error("gallery %s: expected a file and a database, and nothing else", part);
    else if (is_database_url(file))
        say_error("gallery %s: both are databases, but one must be a file; see \"reid help gallery\"", part);
    else if (!is_database_url(url)) say_error("gallery %s: %s is not a database; expected postgresql://...",
                                              part, shown(url));
    else return 1;
    return 0;
}

int gallery_push_command(options *o, const char *path) {
    push_report report;
    text t = TEXT_INIT;
    const char *url = o->operand_count ? o->operands[0] : "";
    if (!check_places(o, "push", path, url)) return 2;
    gallery_store *s = templates_read(path, 1);
    if (!s) return 2;
    const push_request r = {.from = s, .path = path, .url = url, .strict = o->input.strict};
    int good = gallery_push(&r, &report);
    store_close(s);
    if (!good) return 2;
    (o->output.json ? gallery_push_json : gallery_push_line)(&report, &t);
    return !results_print(&t) ? 2 : report.refused ? 1 : 0;
}

int gallery_pull_command(options *o, const char *url) {
    char why[STORE_WHY] = "";
    struct stat st;
    text t = TEXT_INIT;
    const char *path = o->operand_count ? o->operands[0] : "";
    double start = clock_seconds();
    if (!check_places(o, "pull", path, url)) return 2;
    if (lstat(path, &st) == 0) { /* checked before everything is read */
        say_error("%s: already exists", shown(path));
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
    (o->output.json ? gallery_pull_json : gallery_pull_line)(count, seconds, &t);
    return results_print(&t) ? 0 : 2;
}
