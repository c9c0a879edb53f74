/* reid merge: joins the shards of a list into the files of a single run. */
#include "base/json_write.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/commands.h"
#include "commands/requests.h"
#include "embedding/merge.h"

static int print_summary(const merge_request *r, const merge_result *found) {
    text line = TEXT_INIT;
    json_writer w = json_write(&line);
    json_put_object(&w, NULL);
    json_put_string(&w, "output", r->output);
    json_put_int(&w, "shards", r->count);
    json_put_count(&w, "rows", found->rows);
    json_put_int(&w, "dim", found->dim);
    json_put_count(&w, "inputs", found->inputs);
    json_put_count(&w, "failed", found->failed);
    json_put_finish(&w);
    return results_print(&line);
}

int merge_main(options *o) {
    const merge_request request = {o->operands, o->operand_count, o->output.path};
    merge_result found;
    if (!o->operand_count || !o->output.path) {
        say_error("merge: %s; see \"reid help merge\"",
                  o->output.path ? "no SHARD" : "give the output's name with -o FILE");
        return 2;
    }
    if (!merge_shards(&request, &found)) return 2;
    if (found.failed) say_warning("%zu of %zu input%s failed", found.failed, found.inputs, plural(found.inputs));
    say_info("%s: %zu row%s of %d floats from %d shard%s", shown(o->output.path), found.rows, plural(found.rows),
             found.dim, o->operand_count, plural((size_t)o->operand_count));
    if (o->output.json && !print_summary(&request, &found)) return 2;
    return found.failed ? 1 : 0;
}
