#include "embedding/stream_stats.h"

#include <string.h>

enum { READ, DECODE, ROOM, WAIT, COMPUTE, LAST, STAGES };

typedef struct stage {
    const char *name, *unit;
    double items, per_second, busy; /* items of its own unit; in a second of the whole; share of its threads' time */
    double queue;                   /* things that wait in front of it, on average; below 0: it has no queue */
} stage;

static double over(double a, double b) { return b > 0 ? a / b : 0; }

static void fill(const stream_stats *s, const stream_setting *in, stage to[STAGES]) {
    const double pictures = (double)s->pictures, rows = (double)s->rows, all = s->seconds * s->decoders;
    const stage made[STAGES] = {
        {"read", "pictures", pictures, 0, over(s->read, all), -1},
        {"decode", "pictures", pictures, 0, over(s->decode, all), -1},
        {"wait for room", "pictures", pictures, 0, over(s->room, all), -1},
        {"wait for pictures", "batches", (double)s->batches, 0, over(s->wait, s->seconds), -1},
        {"compute", "rows", rows, 0, over(s->compute, s->seconds), over((double)s->ready, (double)s->taken)},
        {in->last, "rows", rows, 0, over(s->last, s->seconds), -1},
    };
    memcpy(to, made, sizeof made);
    for (int i = 0; i < STAGES; i++) to[i].per_second = over(to[i].items, s->seconds);
}

/* The thread that computes is always busy or waiting: it waits for what decodes, and decoding waits for it. */
static int bottleneck(const stream_stats *s) {
    if (s->last > s->compute && s->last > s->wait) return LAST;
    if (s->compute >= s->wait) return COMPUTE;
    return s->read > s->decode ? READ : DECODE;
}

static const char *advice(const stream_stats *s, const stream_setting *in) {
    switch (bottleneck(s)) {
    case READ:
        return s->decoders < 4 ? "more --decoders read more files at a time; faster storage" : "faster storage";
    case DECODE:
        if (!jpeg_is_by_turbo(in->jpeg)) return "libturbojpeg (Debian: libturbojpeg0) decodes JPEG in half the time";
        if (s->decoders < in->cpus) return "more --decoders";
        return "smaller pictures or more CPUs; --shard divides the inputs among machines";
    case COMPUTE:
        if (in->on_gpu) return "a larger --batch; --shard divides the inputs among GPUs";
        if (in->threads < in->cpus) return "more --threads";
        if (in->by_fp32) return "a GPU, --precision bf16 or int8 where the CPU has them; --shard divides the inputs";
        return "a GPU or more CPUs; --shard divides the inputs among machines";
    default:
        return strcmp(in->last, "write") == 0 ? "a .npy file instead of text; faster storage"
                                              : "a smaller gallery, or more --threads";
    }
}

void stream_stats_table(const stream_stats *s, const stream_setting *in, text *out) {
    stage at[STAGES];
    fill(s, in, at);
    text_printf(out, "%-18s %10s %-9s %10s %6s %7s\n", "STAGE", "ITEMS", "", "PER S", "BUSY", "WAITING");
    for (int i = 0; i < STAGES; i++) {
        text_printf(out, "%-18s %10.0f %-9s %10.1f %5.1f%%", at[i].name, at[i].items, at[i].unit,
                    at[i].per_second, 100 * at[i].busy);
        if (at[i].queue >= 0) text_printf(out, " %7.1f", at[i].queue);
        text_putc(out, '\n');
    }
    text_printf(out, "%.2f s, %d thread(s) read and decode, %d compute, %.1f rows in a batch\n", s->seconds,
                s->decoders, in->threads, over((double)s->rows, (double)s->batches));
    if (in->saturation.images)
        text_printf(out, "%lld of %lld pictures left INT8's ranges, %lld were computed again in FP32\n",
                    (long long)in->saturation.saturated, (long long)in->saturation.images,
                    (long long)in->saturation.recomputed);
    text_printf(out, "The bottleneck is %s. What would help: %s.\n", at[bottleneck(s)].name, advice(s, in));
}

void stream_stats_json(const stream_stats *s, const stream_setting *in, text *out) {
    stage at[STAGES];
    fill(s, in, at);
    text_printf(out, "{\"seconds\": %.6f, \"decoders\": %d, \"threads\": %d", s->seconds, s->decoders, in->threads);
    text_printf(out, ", \"rows_in_a_batch\": %.3f, \"jpeg\": \"%s\"", over((double)s->rows, (double)s->batches),
                jpeg_decoder_name(in->jpeg));
    for (int i = 0; i < STAGES; i++) {
        text_puts(out, i ? ", " : ", \"stages\": [");
        text_printf(out, "{\"name\": \"%s\", \"unit\": \"%s\", \"items\": %.0f, \"per_second\": %.3f, \"busy\": %.4f",
                    at[i].name, at[i].unit, at[i].items, at[i].per_second, at[i].busy);
        if (at[i].queue >= 0) text_printf(out, ", \"waiting\": %.3f", at[i].queue);
        text_putc(out, '}');
    }
    text_printf(out, "], \"bottleneck\": \"%s\", \"advice\": ", at[bottleneck(s)].name);
    text_json(out, advice(s, in));
    if (in->saturation.images)
        text_printf(out, ", \"int8\": {\"pictures\": %lld, \"saturated\": %lld, \"recomputed\": %lld}",
                    (long long)in->saturation.images, (long long)in->saturation.saturated,
                    (long long)in->saturation.recomputed);
    text_puts(out, "}\n");
}
