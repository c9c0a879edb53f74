#include "cli/hints.h"

#include "base/say.h"
#include "cli/option_table.h"

#include <string.h>

enum { MOST = 32 }; /* characters of a name that are compared */

/* Names of options in other tools, and the names here. The first entry that the command takes is suggested. */
static const struct {
    const char *foreign, *option, *usage;
} HINTS[] = {
    {"port", "listen", "--listen HOST:PORT"},
    {"host", "listen", "--listen HOST:PORT"},
    {"bind", "listen", "--listen HOST:PORT"},
    {"gpu", "device", "--device cuda[:N]"},
    {"gpus", "device", "--device cuda[:N]"},
    {"cuda", "device", "--device cuda"},
    {"cpu", "device", "--device cpu"},
    {"half", "precision", "--precision fp16"},
    {"fp16", "precision", "--precision fp16"},
    {"bf16", "precision", "--precision bf16"},
    {"int8", "precision", "--precision int8"},
    {"batch-size", "batch", "--batch N"},
    {"batch_size", "batch", "--batch N"},
    {"workers", "decoders", "--decoders N"},
    {"num-workers", "decoders", "--decoders N"},
    {"num_workers", "decoders", "--decoders N"},
    {"jobs", "threads", "--threads N"},
    {"num-threads", "threads", "--threads N"},
    {"weights", "model", "-m FILE"},
    {"checkpoint", "model", "-m FILE"},
    {"network", "net", "--net NAME"},
    {"arch", "net", "--net NAME"},
    {"img-size", "size", "--size HxW"},
    {"imgsz", "size", "--size HxW"},
    {"input-size", "size", "--size HxW"},
    {"conf", "min-conf", "--min-conf P"},
    {"conf-thres", "min-conf", "--min-conf P"},
    {"confidence", "min-conf", "--min-conf P"},
    {"topk", "top", "-k N"},
    {"top-k", "top", "-k N"},
    {"out", "output", "-o FILE"},
    {"outfile", "output", "-o FILE"},
    {"index", "gallery", "--gallery PATH"},
    {"database", "gallery", "--gallery PATH"},
    {"debug", "verbose", "-v -v"},
    {"silent", "quiet", "-q"},
};

/* Renamed options. */
static const struct {
    const char *old, *option;
} RENAMED[] = {{"weights", "score-weights"}, {"template", "profile"}};

static int equals(const char *name, size_t len, const char *other) {
    return strlen(other) == len && memcmp(name, other, len) == 0;
}

static int takes(const command *c, const char *name) {
    for (const option *spec = OPTIONS; spec->help; spec++)
        if (spec->name && strcmp(spec->name, name) == 0 && option_applies(spec, c)) return 1;
    return 0;
}

static int least(int a, int b, int c) {
    int m = a < b ? a : b;
    return m < c ? m : c;
}

/* Levenshtein's distance: insertions, deletions and substitutions between two names. */
static int distance(const char *a, size_t n, const char *b) {
    int row[MOST + 1];
    size_t m = strlen(b);
    if (n > MOST || m > MOST) return MOST;
    for (size_t j = 0; j <= m; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int above = row[j];
            row[j] = least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[m];
}

/* Allows one slip in a short name, two in a longer one. */
static int is_near(int slips, size_t len) { return slips <= (len < 6 ? 1 : 2); }

void hint_option(text *out, const command *c, const char *name, size_t len) {
    const char *best = NULL;
    int fewest = MOST;
    for (size_t i = 0; i < sizeof RENAMED / sizeof *RENAMED; i++)
        if (equals(name, len, RENAMED[i].old) && takes(c, RENAMED[i].option)) {
            text_printf(out, "; it is now called --%s", RENAMED[i].option);
            return;
        }
    for (const option *spec = OPTIONS; spec->help; spec++) {
        int slips = spec->name && option_applies(spec, c) ? distance(name, len, spec->name) : MOST;
        if (slips < fewest) fewest = slips, best = spec->name;
    }
    if (best && len > 1 && is_near(fewest, len)) {
        text_printf(out, "; did you mean --%s?", best);
        return;
    }
    for (size_t i = 0; i < sizeof HINTS / sizeof *HINTS; i++)
        if (equals(name, len, HINTS[i].foreign) && takes(c, HINTS[i].option)) {
            text_printf(out, "; use %s", HINTS[i].usage);
            return;
        }
}

void hint_command(text *out, const command_table *t, const char *name) {
    const char *best = NULL;
    int fewest = MOST;
    for (const command *c = t->commands; c->name; c++) {
        int slips = distance(name, strlen(name), c->name);
        if (slips < fewest) fewest = slips, best = c->name;
    }
    if (best && is_near(fewest, strlen(name))) text_printf(out, "; did you mean \"%s\"?", best);
}
