#include "embedding/stream_stats.h"

#include "embedding/stages.h"

#include <stdio.h>
#include <string.h>

enum { READ, DECODE, RESIZE, ROOM, WAIT, COMPUTE, LAST, STAGES };

static void fill(const stream_stats *s, const stream_setting *in, stage to[STAGES]) {
    const double pictures = (double)s->pictures, rows = (double)s->rows, all = s->seconds * s->decoders;
    const stage made[STAGES] = {
        {"read", "pictures", pictures, stages_ratio(s->read, all), -1},
        {"decode", "pictures", pictures, stages_ratio(s->decode, all), -1},
        {"resize", "pictures", pictures, stages_ratio(s->resize, all), -1},
        {"wait for room", "pictures", pictures, stages_ratio(s->room, all), -1},
        {"wait for images", "batches", (double)s->batches, stages_ratio(s->wait, s->seconds), -1},
        {"compute", "rows", rows, stages_ratio(s->compute, s->seconds),
         stages_ratio((double)s->ready, (double)s->taken)},
        {in->last, "rows", rows, stages_ratio(s->last, s->seconds), -1},
    };
    memcpy(to, made, sizeof made);
}

/* The computing thread is always busy or waiting: it waits for the decoding threads, and they wait for it. */
static int bottleneck(const stream_stats *s) {
    if (s->last > s->compute && s->last > s->wait) return LAST;
    if (s->compute >= s->wait) return COMPUTE;
    if (s->resize > s->read && s->resize > s->decode) return RESIZE;
    return s->read > s->decode ? READ : DECODE;
}

static const char *advice(const stream_stats *s, const stream_setting *in) {
    switch (bottleneck(s)) {
    case READ:
        return s->decoders < 4 ? "more --decoders, which read more files at a time; faster storage" : "faster storage";
    case DECODE:
        if (!jpeg_is_by_turbo(in->jpeg))
            return "libturbojpeg (Debian: libturbojpeg0), which decodes JPEG in half the time";
        /* fall through */
    case RESIZE:
        if (s->decoders < in->cpus) return "more --decoders";
        return "smaller images or more CPUs; --shard, which divides the inputs among machines";
    case COMPUTE:
        if (in->on_gpu) return "a larger --batch; --shard, which divides the inputs among GPUs";
        if (in->threads < in->cpus) return "more --threads";
        if (in->by_fp32)
            return "a GPU, --precision bf16 or int8 if the CPU has them; --shard, which divides the inputs";
        return "a GPU or more CPUs; --shard, which divides the inputs among machines";
    default:
        return strcmp(in->last, "write") == 0 ? "a .npy file instead of text; faster storage"
                                              : "a smaller gallery, or more --threads";
    }
}

static stages stages_of(const stream_stats *s, const stream_setting *in, stage at[STAGES]) {
    fill(s, in, at);
    return (stages){.at = at, .count = STAGES, .seconds = s->seconds, .bottleneck = bottleneck(s),
                    .advice = advice(s, in)};
}

void stream_stats_table(const stream_stats *s, const stream_setting *in, text *out) {
    stage at[STAGES];
    const stages all = stages_of(s, in, at);
    char below[320];
    int n = snprintf(below, sizeof below,
                     "%.2f s, threads: %d to read and decode, %d to compute; %.1f rows per batch\n", s->seconds,
                     s->decoders, in->threads, stages_ratio((double)s->rows, (double)s->batches));
    if (in->saturation.images)
        snprintf(below + n, sizeof below - (size_t)n,
                 "%lld of %lld image%s exceeded INT8's ranges, %lld %s recomputed in FP32\n",
                 (long long)in->saturation.saturated, (long long)in->saturation.images,
                 plural((size_t)in->saturation.images), (long long)in->saturation.recomputed,
                 in->saturation.recomputed == 1 ? "was" : "were");
    stages_table(&all, below, out);
}

void stream_stats_json(const stream_stats *s, const stream_setting *in, text *out) {
    stage at[STAGES];
    const stages all = stages_of(s, in, at);
    json_writer w = json_write(out);
    json_put_object(&w, NULL);
    json_put_fixed(&w, "seconds", s->seconds, 6);
    json_put_int(&w, "decoders", s->decoders);
    json_put_int(&w, "threads", in->threads);
    json_put_fixed(&w, "rows_in_a_batch", stages_ratio((double)s->rows, (double)s->batches), 3);
    json_put_string(&w, "jpeg", jpeg_decoder_name(in->jpeg));
    if (in->saturation.images) {
        json_put_object(&w, "int8");
        json_put_int(&w, "pictures", in->saturation.images);
        json_put_int(&w, "saturated", in->saturation.saturated);
        json_put_int(&w, "recomputed", in->saturation.recomputed);
        json_put_end(&w);
    }
    stages_json(&all, &w);
    json_put_finish(&w);
}
