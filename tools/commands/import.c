/* reid import: turns embeddings of other programs into files like those of reid embed. */
#include "base/json_write.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/commands.h"
#include "embedding/import.h"
#include "embedding/output.h"

static int print_summary(const import_request *r, const import_result *made) {
    text line = TEXT_INIT;
    json_writer w = json_write(&line);
    json_put_object(&w, NULL);
    json_put_string(&w, "output", r->output);
    json_put_count(&w, "rows", made->rows);
    json_put_int(&w, "dim", made->dim);
    json_put_string(&w, "model", r->model);
    json_put_string(&w, "fingerprint", made->fingerprint);
    json_put_count(&w, "identities", made->identities);
    json_put_finish(&w);
    return results_print(&line);
}

static int check_options(const options *o) {
    if (o->operand_count != 1)
        say_error("import: %s; see \"reid help import\"", o->operand_count ? "expected one file ROWS" : "no ROWS");
    else if (!o->import.model)
        say_error("import: give the name of the model that made the rows with --model NAME; rows of different models "
                  "are never compared");
    else if (!o->output.path || output_form_of(o->output.path) == OUTPUT_STDOUT)
        say_error("import: give the output's name with -o FILE.npy, FILE.jsonl or FILE.csv");
    else return 1;
    return 0;
}

int import_main(options *o) {
    import_result made;
    if (!check_options(o)) return 2;
    const import_request r = {o->operands[0], o->import.ids, o->import.model, o->output.path};
    if (!import_rows(&r, &made)) return 2;
    say_info("%s: %zu row%s of %d floats by %s, of %zu identit%s", shown(o->output.path), made.rows, plural(made.rows),
             made.dim, shown(o->import.model), made.identities, made.identities == 1 ? "y" : "ies");
    return o->output.json && !print_summary(&r, &made) ? 2 : 0;
}
