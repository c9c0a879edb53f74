#include "commands/requests.h"

#include "base/memory.h"
#include "base/say.h"
#include "base/threads.h"

#include <string.h>

reid_desc model_desc(const options *o, const model_options *m, reid_error *error) {
    reid_desc desc = REID_INIT;
    desc.weights = m->weights;
    desc.network = m->network;
    desc.preset = m->preset;
    desc.height = m->height;
    desc.width = m->width;
    desc.last_stride = m->last_stride;
    desc.head = m->head;
    desc.head_seed = m->head_seed;
    desc.allow_unused = m->allow_unused;
    desc.flip = o->flip != 0;
    desc.raw = o->raw != 0;
    desc.latency = o->latency != 0;
    desc.device = (reid_device)o->device;
    desc.device_index = o->device_index;
    desc.precision = (reid_precision)o->precision;
    if (!o->compare || desc.precision == REID_INT8) desc.ranges = m->ranges; /* --compare has several precisions */
    desc.cpu_isa = (reid_isa)o->isa;
    desc.batch = o->batch;
    desc.threads = o->threads;
    desc.lanes = o->lanes;
    desc.memory_limit = o->memory;
    desc.kernels_path = o->kernels;
    desc.kernels_pack = o->pack;
    desc.log_fn = say_log;
    desc.error = error;
    desc.fallback = desc.precision == REID_INT8 && !o->no_fallback; /* safe unless that is declined */
    return desc;
}

static void model_descs(const options *o, reid_desc descs[MAX_MODELS]) {
    for (int i = 0; i < o->models; i++) descs[i] = model_desc(o, &o->model[i], NULL);
}

int open_models(models *all, const options *o) {
    reid_desc descs[MAX_MODELS];
    model_descs(o, descs);
    return models_open(all, descs, o->models);
}

decode_settings decoding(const options *o) {
    return (decode_settings){.threads = o->decoders, .max_pixels = o->max_pixels, .jpeg = (jpeg_decoder)o->jpeg};
}

/* On stderr. */
static void say_stats(const options *o, const stream_job *job) {
    text t = TEXT_INIT;
    const stream_stats *s = job->stats;
    const reid_info *info = &job->all->at[0].info;
    const stream_setting in = {.cpus = threads_here(), .threads = info->threads, .last = job->last,
                               .on_gpu = strcmp(info->device, "cpu") != 0, .jpeg = (jpeg_decoder)o->jpeg,
                               .by_fp32 = strcmp(info->precision, "fp32") == 0,
                               .saturation = models_saturation(job->all)};
    if (!o->stats || s->rows == 0) return;
    (o->json ? stream_stats_json : stream_stats_table)(s, &in, &t);
    say_text(&t);
    text_free(&t);
}

/* Where --trace asks for one. Returns 0 after saying why there is none. */
static int open_trace(const options *o, const char *label, trace **to) {
    text program = TEXT_INIT;
    *to = NULL;
    if (!o->trace) return 1;
    if (strcmp(o->trace, "-") == 0) {
        say_error("--trace writes a file, which appears when it is complete; it cannot be stdout");
        return 0;
    }
    if (o->output && strcmp(o->output, o->trace) == 0) {
        say_error("%s: -o and --trace cannot be the same file", shown(o->trace));
        return 0;
    }
    text_printf(&program, "reid, %s", label);
    *to = need_text(&program) ? trace_open(o->trace, program.s) : NULL;
    text_free(&program);
    return *to != NULL;
}

stream_result run_stream(const options *o, stream_job *job, int *traced) {
    stream_stats stats = {0};
    *traced = 1;
    if (!open_trace(o, job->label, &job->trace)) return STREAM_FAILED;
    job->stats = &stats;
    stream_result end = stream_run(job);
    say_stats(o, job);
    *traced = trace_end(job->trace, end == STREAM_DONE) || end != STREAM_DONE;
    job->trace = NULL, job->stats = NULL;
    return end;
}

int collect_inputs(inputs *list, const options *o) {
    const input_request r = {o->operands, o->operand_count, o->nul_list, {o->boxes, o->category, o->min_conf}};
    return inputs_collect(list, &r);
}

output_request output_of(const options *o) {
    return (output_request){.path = o->output, .resume = o->resume, .strict = o->strict, .shard = o->shard,
                            .shards = o->shards, .flip = o->flip, .raw = o->raw, .max_pixels = o->max_pixels,
                            .boxes = o->boxes, .category = o->category, .min_conf = o->min_conf,
                            .jpeg = jpeg_decoder_name((jpeg_decoder)o->jpeg)};
}

gallery_request gallery_of(const options *o) {
    return (gallery_request){.path = o->gallery, .strict = o->strict, .decode = decoding(o), .unknown = o->unknown};
}

void labelled_of(labelled_request *to, const options *o) {
    const eval_request r = {.operands = o->operands, .operand_count = o->operand_count, .labels = o->labels,
                            .unknown = o->unknown, .strict = o->strict, .models = to->models,
                            .model_count = o->models, .decode = decoding(o)};
    to->r = r;
    model_descs(o, to->models);
}

evaluation_rules rules_of(const options *o) {
    enum { USUAL_DRAWS = 1000 };
    evaluation_rules rules;
    rules.threshold = o->threshold;
    rules.leave_out = (leave_out)o->leave_out;
    rules.rerank = o->rerank, rules.k1 = o->k1, rules.k2 = o->k2, rules.lambda = o->lambda;
    rules.expand = o->expand, rules.alpha = o->alpha;
    rules.draws = o->draws ? o->draws : USUAL_DRAWS;
    rules.threads = o->threads;
    rules.isa = (reid_isa)o->isa;
    return rules;
}
