/* reid pack: compiles every GPU kernel of a network for one chip, into one file. Machines that use the file need no
   NVRTC; this one needs no GPU. */
#include "base/files.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/commands.h"
#include "commands/requests.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static const output_kind KERNELS_FILE = {.what = "a file of reid pack", .start = "reidcub1"};

/* Copies what the library wrote to the file that gets the final name. */
static int take_kernels(pending *to, const char *from, text *why) {
    static const size_t most = (size_t)1 << 32;
    text kernels = TEXT_INIT;
    int good = file_read(from, most, 1, &kernels, why) && pending_write(to, kernels.s, kernels.len, 0, why) &&
               pending_sync(to, why) && pending_rename(to, why);
    if (good) sync_folder_of(to->path);
    text_free(&kernels);
    return good;
}

/* 1 if the name is `stem`, or the library's temporary name for it: STEM.PID.HEX.tmp. */
static int is_left_over(const char *name, const char *stem) {
    const size_t skip = strlen(stem);
    if (strncmp(name, stem, skip) != 0) return 0;
    if (!name[skip]) return 1;
    const char *pid = name + skip + 1, *hex = pid + strspn(pid, "0123456789") + 1;
    if (name[skip] != '.' || hex == pid + 1 || hex[-1] != '.') return 0;
    const size_t digits = strspn(hex, "0123456789abcdef");
    return digits && strcmp(hex + digits, ".tmp") == 0;
}

/* Removes what a killed run has left beside the temporary file. The lock on that file keeps other runs away. */
static void remove_left_over(const char *beside) {
    text folder = TEXT_INIT, path = TEXT_INIT;
    path_folder(&folder, beside);
    DIR *d = text_failed(&folder) ? NULL : opendir(folder.s);
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (!is_left_over(e->d_name, path_name(beside))) continue;
        text_clear(&path);
        text_printf(&path, "%s/%s", folder.s, e->d_name);
        if (!text_failed(&path)) unlink(path.s);
    }
    if (d) closedir(d);
    text_free(&folder), text_free(&path);
}

/* Compiles into a file beside the temporary one, because the library replaces whatever has the name that it is given: a
   device, or a file whose mode and owner have to stay. Returns 0 after saying what is wrong. */
static int pack(const reid_desc *desc, const char *chip, pending *to, packed *done) {
    text beside = TEXT_INIT, why = TEXT_INIT;
    text_printf(&beside, "%s.kernels", to->temp);
    int good = need_text(&beside);
    if (good) {
        remove_left_over(beside.s);
        reid_result r = reid_pack_kernels(desc, chip, beside.s, note_program, done);
        good = r == REID_OK;
        if (!good) say_error("pack: %s", shown(reason_of(desc->error, r)));
        else if (!take_kernels(to, beside.s, &why)) good = 0, say_error("%s: %s", shown(to->path), why.s);
        unlink(beside.s);
    }
    text_free(&beside);
    text_free(&why);
    return good;
}

int pack_main(options *o) {
    reid_desc desc;
    reid_info info;
    reid_gpu_info gpu;
    reid_error error = REID_INIT;
    packed done = {0, 0};
    pending file;
    text why = TEXT_INIT;
    if (o->operand_count || !o->output.path || (!o->models && !o->every.network)) {
        say_error("pack: expected -m WEIGHTS or --net NAME, -o FILE, and no arguments; see \"reid help pack\"");
        return 2;
    }
    if (!file_target(o->output.path, &KERNELS_FILE, &why)) {
        say_error("%s: %s", shown(o->output.path), why.s);
        text_free(&why);
        return 2;
    }
    if (!describe(o, &desc, &info, &error)) return 2;
    const char *chip = chip_of(o, &desc, &gpu);
    if (!chip) return 2;
    int good = pending_begin(&file, o->output.path, &KERNELS_FILE, &why);
    if (!good) say_error("%s: %s", shown(o->output.path), why.s);
    text_free(&why);
    good = good && pack(&desc, chip, &file, &done);
    pending_close(&file);
    if (!good) return 2;
    text out = TEXT_INIT;
    text_printf(&out, "%s: %d program%s of %s for %s, %zu bytes of machine code\n", shown(o->output.path),
                done.programs, plural((size_t)done.programs), desc.network, chip, done.bytes);
    return results_print(&out) ? 0 : 2;
}
