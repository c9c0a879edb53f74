/* reid pack: compiles every GPU kernel of a network for one chip, into one file. Machines that use the file need no
   NVRTC; this one needs no GPU. */
#include "base/files.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/commands.h"
#include "commands/requests.h"

#include <stdio.h>
#include <string.h>

typedef struct packed {
    int programs;
    size_t bytes;
} packed;

static void note_program(const char *arguments, const void *cubin, size_t bytes, const char *log, void *user) {
    packed *p = user;
    (void)cubin;
    p->programs++;
    p->bytes += bytes;
    say_info("%zu bytes: %s", bytes, arguments);
    if (log[0]) say_warning("NVRTC: %s", log);
}

/* Copies what the weights determine (network, preset, sizes, head) into a desc that works without them. */
static int describe(const options *o, reid_desc *desc, reid_info *info, reid_error *error) {
    const model_options *m = o->models ? &o->model[0] : &o->every;
    model own;
    *desc = model_desc(o, m, error);
    desc->weights = NULL;
    if (!o->models) return 1; /* --net is enough */
    reid_desc loaded = model_desc(o, m, NULL);
    loaded.device = REID_DEVICE_CPU;
    loaded.precision = REID_PRECISION_DEFAULT, loaded.fallback = 0;
    if (!model_open(&own, &loaded)) return 0;
    *info = own.info;
    model_close(&own);
    desc->network = info->network, desc->preset = info->preset;
    desc->height = info->height, desc->width = info->width, desc->last_stride = info->last_stride;
    desc->head = strcmp(info->head, "none") == 0 ? REID_HEAD_NONE : REID_HEAD_FILE;
    return 1;
}

/* --chip, else the GPU of this machine. */
static const char *chip_of(const options *o, const reid_desc *desc, reid_gpu_info *gpu) {
    if (o->compute.chip) return o->compute.chip;
    if (reid_query_gpu(desc, gpu) == REID_OK) return gpu->arch;
    say_error("pack: no chip: give --chip, for example sm_90, because no GPU was found here (%s)",
              desc->error->text);
    return NULL;
}

static int check_file(const char *path) {
    static const output_kind kernels = {.what = "a file of reid pack", .start = "reidcub1"};
    text why = TEXT_INIT;
    int good = file_target(path, &kernels, &why);
    if (!good) say_error("%s: %s", shown(path), why.s);
    text_free(&why);
    return good;
}

int pack_main(options *o) {
    reid_desc desc;
    reid_info info;
    reid_gpu_info gpu;
    reid_error error = REID_INIT;
    packed done = {0, 0};
    if (o->operand_count || !o->output.path || (!o->models && !o->every.network)) {
        say_error("pack: expected -m WEIGHTS or --net NAME, -o FILE, and no arguments; see \"reid help pack\"");
        return 2;
    }
    if (!check_file(o->output.path) || !describe(o, &desc, &info, &error)) return 2;
    const char *chip = chip_of(o, &desc, &gpu);
    if (!chip) return 2;
    reid_result r = reid_pack_kernels(&desc, chip, o->output.path, note_program, &done);
    if (r != REID_OK) {
        say_error("pack: %s", shown(reason_of(&error, r)));
        return 2;
    }
    text out = TEXT_INIT;
    text_printf(&out, "%s: %d programs of %s for %s, %zu bytes of machine code\n", shown(o->output.path), done.programs,
                desc.network, chip, done.bytes);
    return results_print(&out) ? 0 : 2;
}
