/* reid embed: images to embeddings. */
#include "base/json_write.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/commands.h"
#include "commands/requests.h"

typedef struct embed_run {
    const options *o;
    const inputs *list;
    output *out;
    int strict_failure;
} embed_run;

static int take_row(void *user, size_t index, const float *row, const char *why) {
    embed_run *e = user;
    if (row) return output_row(e->out, index, row);
    inputs_say_failure(&e->list->at[index], why);
    e->strict_failure = e->o->input.strict;
    return !e->strict_failure && output_failure(e->out, index, why);
}

static int print_summary(const options *o, size_t rows, size_t failed, const models *all) {
    const reid_saturation s = models_saturation(all);
    text line = TEXT_INIT;
    json_writer w = json_write(&line);
    json_put_object(&w, NULL);
    json_put_string(&w, "output", o->output.path);
    json_put_count(&w, "rows", rows);
    json_put_int(&w, "dim", all->dim);
    json_put_count(&w, "failed", failed);
    if (s.images) {
        json_put_int(&w, "saturated", s.saturated);
        json_put_int(&w, "recomputed", s.recomputed);
    }
    json_put_finish(&w);
    return results_print(&line);
}

/* Says how folders were interpreted: as individuals for whole images, as cameras for boxes. */
static void tell_identities(const embed_run *e) {
    size_t identities, unnamed;
    if (!say_is_verbose() || !inputs_identities(e->list, &identities, &unnamed)) return;
    const char *some = identities == 1 ? "y" : "ies";
    if (!e->o->input.boxes) say_info("%zu identit%s, from folders", identities, some);
    else if (unnamed) say_info("no identities: folders of photos are cameras");
    else say_info("%zu identit%s, from %s", identities, some, shown(e->o->input.boxes));
}

/* Completes or discards the output, depending on failures. Returns the exit status. */
static int finish(embed_run *e, size_t wanted, const models *all) {
    size_t rows = output_rows(e->out), failed = output_failures(e->out);
    int to_file = e->o->output.path && e->o->output.path[0] != '-';
    int a_part = to_file && e->o->input.shards; /* merging needs the list of failures of a failed shard */
    if (e->strict_failure || (wanted && failed == wanted && !a_part)) {
        if (e->strict_failure) say_error("stopped at the first failed input (--strict); nothing was written");
        else output_say_all_failed(failed);
        (e->strict_failure ? output_discard : output_drop)(e->out);
        return e->strict_failure ? 1 : 2;
    }
    if (!output_finish(e->out)) return 2;
    if (failed) say_warning("%zu of %zu input%s failed", failed, wanted, plural(wanted));
    if (to_file) say_info("%s: %zu row%s of %d floats", shown(e->o->output.path), rows, plural(rows), all->dim);
    if (to_file) tell_identities(e);
    if (to_file && e->o->output.json && !print_summary(e->o, rows, failed, all)) return 2;
    return failed ? 1 : 0;
}

/* Embeds everything into the open output, and closes it in any case. Returns the exit status. */
static int run(embed_run *e, models *all) {
    const options *o = e->o;
    size_t first, end, done = 0;
    output_slice(e->list->count, o->input.shard, o->input.shards, &first, &end);
    int begun = output_begin(e->out, all, e->list, first, end, &done);
    if (done) say_info("%zu of %zu input%s already done", done, end - first, plural(end - first));
    if (!begun) {
        output_discard(e->out);
        return 2;
    }
    int traced;
    stream_job job = {.all = all, .list = e->list, .first = first + done, .end = end, .decode = decoding(o),
                      .label = "embedding", .fn = take_row, .user = e, .last = "write"};
    stream_result result = run_stream(o, &job, &traced);
    if (result == STREAM_INTERRUPTED) output_interrupt(e->out);
    else if (result == STREAM_FAILED) output_discard(e->out);
    else {
        const int status = finish(e, end - first, all);
        return traced ? status : 2;
    }
    return 2;
}

int embed_main(options *o) {
    inputs list = {0};
    models all;
    int status = 2;
    const output_request request = output_of(o);
    embed_run e = {o, &list, NULL, 0};
    if (!o->operand_count && !o->input.boxes) {
        say_error("embed: no INPUT; see \"reid help embed\"");
        return 2;
    }
    e.out = output_open(&request);
    if (!e.out) return 2;
    if (!collect_inputs(&list, o)) {
        output_discard(e.out);
    } else if (list.count == 0) {
        say_error(o->input.boxes ? "%s: no boxes found" : "%s: no images found",
                  shown(o->input.boxes ? o->input.boxes : "embed"));
        output_discard(e.out);
    } else if (!open_models(&all, o)) {
        output_discard(e.out);
    } else {
        status = run(&e, &all);
        models_close(&all);
    }
    inputs_free(&list);
    return status;
}
