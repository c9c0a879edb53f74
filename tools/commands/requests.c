#include "commands/requests.h"

#include "base/memory.h"
#include "base/say.h"
#include "base/threads.h"

#include <math.h>
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
    desc.flip = o->compute.flip != 0;
    desc.raw = o->compute.raw != 0;
    desc.latency = o->compute.latency != 0;
    desc.device = (reid_device)o->compute.device;
    desc.device_index = o->compute.device_index;
    desc.precision = (reid_precision)o->compute.precision;
    if (!o->eval.compare || desc.precision == REID_INT8) desc.ranges = m->ranges; /* --compare has several precisions */
    desc.cpu_isa = (reid_isa)o->compute.isa;
    desc.batch = o->compute.batch;
    desc.threads = o->compute.threads;
    desc.lanes = o->compute.lanes;
    desc.memory_limit = o->compute.memory;
    desc.kernels_path = o->compute.kernels;
    desc.kernels_pack = o->compute.pack;
    desc.log_fn = say_log;
    desc.error = error;
    desc.fallback = desc.precision == REID_INT8 && !o->compute.no_fallback; /* the safe choice, unless declined */
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
    return (decode_settings){
        .threads = o->input.decoders, .max_pixels = o->input.max_pixels, .jpeg = (jpeg_decoder)o->input.jpeg};
}

/* Prints --stats to stderr. */
static void say_stats(const options *o, const stream_job *job) {
    text t = TEXT_INIT;
    const stream_stats *s = job->stats;
    const reid_info *info = &job->all->at[0].info;
    const stream_setting in = {.cpus = threads_here(), .threads = info->threads, .last = job->last,
                               .on_gpu = strcmp(info->device, "cpu") != 0, .jpeg = (jpeg_decoder)o->input.jpeg,
                               .by_fp32 = strcmp(info->precision, "fp32") == 0,
                               .saturation = models_saturation(job->all)};
    if (!o->output.stats || s->rows == 0) return;
    (o->output.json ? stream_stats_json : stream_stats_table)(s, &in, &t);
    say_text(&t);
    text_free(&t);
}

int open_trace(const options *o, const char *label, trace **to) {
    text program = TEXT_INIT;
    *to = NULL;
    if (!o->output.trace) return 1;
    if (strcmp(o->output.trace, "-") == 0) {
        say_error("--trace cannot write to stdout: give the name of a file");
        return 0;
    }
    if (o->output.path && strcmp(o->output.path, o->output.trace) == 0) {
        say_error("%s: -o and --trace cannot be the same file", shown(o->output.trace));
        return 0;
    }
    text_printf(&program, "reid, %s", label);
    *to = need_text(&program) ? trace_open(o->output.trace, program.s) : NULL;
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
    const input_request r = {
        o->operands, o->operand_count, o->input.nul_list, {o->input.boxes, o->input.category, o->input.min_conf}};
    return inputs_collect(list, &r);
}

output_request output_of(const options *o) {
    return (output_request){.path = o->output.path,
                            .resume = o->output.resume,
                            .strict = o->input.strict,
                            .shard = o->input.shard,
                            .shards = o->input.shards,
                            .flip = o->compute.flip,
                            .raw = o->compute.raw,
                            .max_pixels = o->input.max_pixels,
                            .boxes = o->input.boxes,
                            .category = o->input.category,
                            .min_conf = o->input.min_conf,
                            .jpeg = jpeg_decoder_name((jpeg_decoder)o->input.jpeg)};
}

gallery_request gallery_of(const options *o) {
    return (gallery_request){
        .path = o->match.gallery, .strict = o->input.strict, .decode = decoding(o), .unknown = o->input.unknown};
}

void labelled_of(labelled_request *to, const options *o) {
    const eval_request r = {.operands = o->operands, .operand_count = o->operand_count, .labels = o->input.labels,
                            .unknown = o->input.unknown, .strict = o->input.strict, .models = to->models,
                            .model_count = o->models, .decode = decoding(o)};
    to->r = r;
    model_descs(o, to->models);
}

double false_match_rate(const options *o) {
    const double usual = 0.001;
    return isnan(o->calibrate.fmr) ? usual : o->calibrate.fmr;
}

evaluation_rules rules_of(const options *o) {
    enum { USUAL_DRAWS = 1000 };
    evaluation_rules rules;
    rules.threshold = o->match.threshold;
    rules.leave_out = (leave_out)o->eval.leave_out;
    rules.rerank = o->eval.rerank, rules.k1 = o->eval.k1, rules.k2 = o->eval.k2, rules.lambda = o->eval.lambda;
    rules.expand = o->eval.expand, rules.alpha = o->eval.alpha;
    rules.draws = o->eval.draws ? o->eval.draws : USUAL_DRAWS;
    rules.threads = o->compute.threads;
    rules.isa = (reid_isa)o->compute.isa;
    return rules;
}
