/* reid match: compares queries with a gallery and says who they show. */
#include "base/files.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/commands.h"
#include "commands/match_html.h"
#include "commands/requests.h"
#include "evaluate/eval_labels.h"
#include "gallery/makers.h"
#include "scores/ask.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef enum form { TABLE, JSON_LINES, CSV, HTML } form;

typedef struct matching {
    const options *o;
    const gallery *g;
    const inputs *queries;
    const ask *asked;
    float *row;                            /* work space of ask_rank */
    reid_hit *hits;                        /* the best image of each identity */
    int most;                              /* limit of hits per query */
    int has_file, broken;                  /* has_file: `file` is the query's */
    struct stat file;
    size_t failed;
    int query_width, identity_width;       /* widths of the table's columns */
    form form;
    match_html *page;                      /* the HTML page */
    text line;
    pending file_out;                      /* of --output; zero without it */
    size_t written;                        /* bytes of file_out */
} matching;

/* 1 for the query's own image. */
static int exclude(int query, size_t row, void *user) {
    const matching *m = user;
    const gallery_image *image = &m->g->at[row];
    (void)query;
    return m->has_file && image->has_file && image->device == m->file.st_dev && image->inode == m->file.st_ino;
}

/* Fills m->hits, best first. Returns their number, or -1 after saying what is wrong. */
static int rank(matching *m, const input *query, const float *row) {
    text why = TEXT_INIT;
    m->has_file = !m->o->match.keep_self && stat(query->path, &m->file) == 0;
    int found = ask_rank(m->asked, row, m->most, exclude, m, m->row, m->hits, &why);
    if (found < 0) say_error("match: %s", why.s);
    if (found < 0) m->broken = 1;
    text_free(&why);
    return found;
}

static void json_result(matching *m, const input *query, int found) {
    json_writer w = json_write(&m->line);
    json_put_object(&w, NULL);
    json_put_string(&w, "query", query->id);
    ask_json(m->asked, m->hits, found, &w);
    json_put_finish(&w);
}

/* Counts characters, not bytes; double-width ones count once. */
static int width_of(const char *s) {
    int n = 0;
    for (; *s; s++) n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

static void add_cell(text *t, const char *s, int width) {
    text cell = TEXT_INIT;
    text_visible(&cell, s);
    text_join(t, &cell);
    int used = width_of(cell.s ? cell.s : ""), wide = used > width ? used : width; /* a longer cell shifts the others */
    for (int n = used; n < wide + 2; n++) text_putc(t, ' ');
    text_free(&cell);
}

static void add_header(matching *m) {
    add_cell(&m->line, "QUERY", m->query_width);
    if (!isnan(m->asked->threshold)) add_cell(&m->line, "DECISION", 8);
    add_cell(&m->line, "IDENTITY", m->identity_width);
    text_puts(&m->line, m->asked->c ? "   SCORE   PROBABLE  IMAGE\n" : "   SCORE   IMAGE\n");
}

static void table_result(matching *m, const input *query, int found) {
    text *t = &m->line;
    const char *decision = ask_decision(m->asked, m->hits, found);
    int colour = decision && *decision == 'm' && may_colour(1);
    for (int i = 0; i < found; i++) {
        const gallery_image *image = &m->g->at[m->hits[i].row];
        add_cell(t, i ? "" : query->id, m->query_width);
        if (colour && !i) text_puts(t, "\033[32m");
        if (decision) add_cell(t, i ? "" : decision, 8);
        if (colour && !i) text_puts(t, "\033[0m");
        add_cell(t, image->identity, m->identity_width);
        text_printf(t, "%9.6f  ", m->hits[i].score);
        if (m->asked->c)
            text_printf(t, "%6.2f %%  ", 100 * calibration_probability(m->asked->c, m->hits[i].score));
        text_visible(t, image->path);
        text_putc(t, '\n');
    }
    if (found) return;
    add_cell(t, query->id, m->query_width);
    if (decision) add_cell(t, decision, 8);
    text_puts(t, "nothing to compare with\n");
}

/* Writes one CSV line per match; a query without matches has one line with empty cells. */
static void csv_result(matching *m, const input *query, int found) {
    text *t = &m->line;
    const char *decision = ask_decision(m->asked, m->hits, found);
    for (int i = 0; i < found || i == 0; i++) {
        const gallery_image *image = i < found ? &m->g->at[m->hits[i].row] : NULL;
        text_csv(t, query->id);
        text_printf(t, ",%s,", decision ? decision : "");
        if (image) text_printf(t, "%d,", i + 1);
        else text_putc(t, ',');
        text_csv(t, image ? image->identity : "");
        if (image) text_printf(t, ",%.9g,", m->hits[i].score);
        else text_puts(t, ",,");
        if (image && m->asked->c) text_printf(t, "%.9g", calibration_probability(m->asked->c, m->hits[i].score));
        text_putc(t, ',');
        text_csv(t, image ? image->path : "");
        text_putc(t, '\n');
    }
}

/* Writes m->line to the output. Returns 0 when that fails. */
static int send_line(matching *m) {
    int good;
    if (m->o->output.path) {
        text why = TEXT_INIT;
        good = need_text(&m->line) && pending_write(&m->file_out, m->line.s, m->line.len, m->written, &why);
        if (!good && why.len) say_error("%s: %s", shown(m->o->output.path), why.s);
        if (!good) m->broken = 1;
        m->written += m->line.len;
        text_free(&why);
    } else {
        good = results_write(&m->line);
    }
    text_clear(&m->line);
    return good;
}

static int take_query(void *user, size_t index, const float *row, const char *why) {
    matching *m = user;
    const input *query = &m->queries->at[index];
    if (!row) {
        inputs_say_failure(query, why);
        m->failed++;
        if (m->page) match_html_failure(m->page, index, why);
        return !m->o->input.strict;
    }
    int found = rank(m, query, row);
    if (found < 0) return 0;
    if (m->page) {
        m->broken = !match_html_query(m->page, index, m->hits, found);
        return !m->broken;
    }
    if (m->form == JSON_LINES) json_result(m, query, found);
    else if (m->form == CSV) csv_result(m, query, found);
    else table_result(m, query, found);
    return send_line(m);
}

static int at_most(int width, int limit) { return width < limit ? width : limit; }

/* Makes room for a query's hits, and computes column widths. Returns 0 after reporting that memory ran out. */
static int prepare(matching *m) {
    const gallery *g = m->g;
    size_t most = (size_t)m->o->match.top_k < g->identities ? (size_t)m->o->match.top_k : g->identities;
    m->most = most ? (int)most : 1;
    m->row = need_array((size_t)g->dim, sizeof *m->row);
    m->hits = m->row ? need_array((size_t)m->most, sizeof *m->hits) : NULL;
    m->query_width = width_of("QUERY");
    m->identity_width = width_of("IDENTITY");
    for (size_t i = 0; i < m->queries->count; i++) {
        int width = at_most(width_of(m->queries->at[i].id), 40);
        if (width > m->query_width) m->query_width = width;
    }
    for (size_t i = 0; i < g->count; i++) {
        int width = at_most(width_of(g->at[i].identity), 24);
        if (width > m->identity_width) m->identity_width = width;
    }
    return m->hits != NULL;
}

static int open_page(matching *m) {
    const match_html_request r = {.o = m->o, .g = m->g, .queries = m->queries, .asked = m->asked};
    if (m->form != HTML) return 1;
    m->page = match_html_open(&r);
    return m->page != NULL;
}

static const output_kind *kind_of(form as) {
    static const output_kind csv = {.what = "a table of reid match", .start = "query,decision,rank,identity,score,"};
    static const output_kind lines = {.what = "a .jsonl file of reid match", .start = "{\"query\": \""};
    static const output_kind page = {.what = "a page of reid match", .start = "<!DOCTYPE html>",
                                     .holds = "<title>reid.h: "};
    return as == CSV ? &csv : as == HTML ? &page : &lines;
}

/* Begins the file of --output, which has a temporary name until end_file. Returns 0 after saying what is wrong. */
static int begin_file(matching *m) {
    text why = TEXT_INIT;
    if (!m->o->output.path) return 1;
    int good = pending_begin(&m->file_out, m->o->output.path, kind_of(m->form), &why);
    if (!good) say_error("%s: %s", shown(m->o->output.path), why.s);
    text_free(&why);
    return good;
}

static int end_file(matching *m) {
    text why = TEXT_INIT;
    int good = !m->o->output.path || (pending_sync(&m->file_out, &why) && pending_rename(&m->file_out, &why));
    if (!good) say_error("%s: %s", shown(m->o->output.path), why.s);
    else if (m->o->output.path) sync_folder_of(m->o->output.path);
    text_free(&why);
    return good;
}

/* Warns of a folder that seems to hold strangers: without --unknown it counts as one individual. */
static void look_for_strangers(const gallery *g, const options *o) {
    for (size_t i = 0; i < g->count && !o->input.unknown; i++)
        if (warn_of_strangers(g->at[i].identity)) return;
}

/* Matches all queries. Returns the exit status. */
static int match_all(matching *m, models *all) {
    size_t total = m->queries->count;
    int traced;
    stream_job job = {.all = all, .list = m->queries, .first = 0, .end = total, .decode = decoding(m->o),
                      .label = "matching", .fn = take_query, .user = m, .last = "search"};
    if (!results_begin(m->o->input.strict) || !begin_file(m)) return 2;
    if (m->form == TABLE) add_header(m);
    if (m->form == CSV) text_puts(&m->line, "query,decision,rank,identity,score,probability,picture\n");
    if (m->line.len && !send_line(m)) return 2;
    stream_result end = run_stream(m->o, &job, &traced);
    if (end == STREAM_INTERRUPTED) {
        results_abandon();
        return 2;
    }
    if (end == STREAM_FAILED) m->broken = 1;
    int strict_failure = m->o->input.strict && m->failed;
    if (!results_end(!strict_failure && !m->broken) || m->broken) return 2;
    if (strict_failure) {
        say_error("stopped at the first failed query (--strict)");
        return 1;
    }
    if (m->page) match_html_write(m->page, &m->line);
    if ((m->page && !send_line(m)) || !end_file(m) || m->failed == total || !traced) return 2;
    return m->failed || m->g->failed ? 1 : 0;
}

/* The format of --output; TABLE: unknown extension. */
static form form_of(const char *path) {
    if (text_ends_with(path, ".csv")) return CSV;
    if (text_ends_with(path, ".jsonl")) return JSON_LINES;
    return text_ends_with(path, ".html") ? HTML : TABLE;
}

static int check_options(const options *o) {
    if (!o->match.gallery) say_error("match: no --gallery; see \"reid help match\"");
    else if (!o->operand_count && !o->input.boxes) say_error("match: no QUERY; see \"reid help match\"");
    else if (o->output.path && form_of(o->output.path) == TABLE)
        say_error("match: %s: the name of the output must end in .csv, .jsonl or .html", shown(o->output.path));
    else if (o->input.labels && (!o->output.path || form_of(o->output.path) != HTML))
        say_error("match: --labels is only for -o FILE.html; to measure accuracy, use reid eval");
    else if (o->match.weight_count && o->match.calibration)
        say_error("match: --calibration already has the models' shares: remove --score-weights");
    else if (o->match.weight_count && o->match.weight_count != o->models)
        say_error("match: --score-weights gives %d share%s for %d model%s", o->match.weight_count,
                  plural((size_t)o->match.weight_count), o->models, plural((size_t)o->models));
    else return 1;
    return 0;
}

static int match_with(options *o, models *all, const inputs *queries, const calibration *c) {
    gallery g;
    int status = 2;
    const gallery_request request = gallery_of(o);
    const reid_desc search = model_desc(o, &o->every, NULL);
    if (gallery_open(&g, &request, all)) {
        ask a;
        matching m;
        const ask_request asked = {all, &g, c, o->match.weights, o->match.weight_count, o->match.threshold, &search};
        memset(&m, 0, sizeof m);
        m.o = o, m.g = &g, m.queries = queries, m.asked = &a;
        m.form = o->output.path ? form_of(o->output.path) : o->output.json ? JSON_LINES : TABLE;
        look_for_strangers(&g, o);
        if (ask_open(&a, &asked) && prepare(&m) && open_page(&m)) status = match_all(&m, all);
        match_html_close(m.page);
        ask_close(&a);
        pending_close(&m.file_out);
        text_free(&m.line);
        free(m.row), free(m.hits);
    } else if (o->input.strict && g.failed && !interrupted()) {
        say_error("stopped at the first failed image of the gallery (--strict)");
        status = 1;
    }
    gallery_close(&g);
    return status;
}

int match_main(options *o) {
    inputs queries = {0};
    calibration c = {0};
    models all;
    int status = 2;
    if (!check_options(o)) return 2;
    if ((!o->match.calibration || calibration_read(&c, o->match.calibration)) && collect_inputs(&queries, o)) {
        if (!queries.count) {
            say_error("match: no images found in QUERY");
        } else if (open_models(&all, o)) {
            store_meta ours;
            makers_of_models(&all, &ours);
            if (!o->match.calibration) status = match_with(o, &all, &queries, NULL);
            else if (makers_agree(&c.makers, o->match.calibration, &ours, &all, NULL))
                status = match_with(o, &all, &queries, &c);
            models_close(&all);
        }
    }
    calibration_free(&c);
    inputs_free(&queries);
    return status;
}
