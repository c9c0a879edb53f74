/* reid doctor: what this machine can do, what is missing, and how to fix it. */
#include "base/results.h"
#include "base/say.h"
#include "commands/commands.h"
#include "commands/doctor_self.h"
#include "commands/requests.h"
#include "machine/graphics.h"
#include "machine/libraries.h"
#include "machine/subjects.h"
#include "machine/system.h"
#include "server/mhd.h"

#include <string.h>

static void look(findings *f, const options *o) {
    reid_desc descs[MAX_MODELS];
    const reid_desc general = model_desc(o, &o->every, NULL);
    for (int i = 0; i < o->models; i++) descs[i] = model_desc(o, &o->model[i], NULL);
    const library_needs needs = {.ffmpeg = o->track.ffmpeg,
                                 .turbo = o->input.jpeg == JPEG_TURBO,
                                 .database = o->match.gallery && is_database_url(o->match.gallery),
                                 .http = mhd_is_there()};
    const subjects named = {.models = descs, .model_count = o->models, .gallery = o->match.gallery,
                            .calibration = o->match.calibration, .threshold = o->match.threshold,
                            .jpeg = jpeg_decoder_name((jpeg_decoder)o->input.jpeg)};
    doctor_self_test(f, &general);
    system_cpus(f);
    system_memory(f);
    system_disk(f, o->output.path);
    graphics_look(f, &general);
    graphics_cache(f, &general);
    libraries_look(f, &needs);
    subjects_look(f, &named);
}

int doctor_main(options *o) {
    findings f;
    text out = TEXT_INIT;
    if (o->operand_count) {
        say_error("doctor: unexpected argument: %s; see \"reid help doctor\"", shown(o->operands[0]));
        return 2;
    }
    memset(&f, 0, sizeof f);
    look(&f, o);
    if (o->output.json) findings_json(&f, &out);
    else findings_table(&f, &out);
    int status = findings_worst(&f) == FOUND_ERROR ? 2 : findings_worst(&f) == FOUND_WARNING;
    if (f.no_memory || !results_print(&out)) status = 2;
    findings_free(&f);
    return status;
}
