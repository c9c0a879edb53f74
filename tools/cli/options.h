/* The one table of commands and options. The parser, `reid help`, the completion and the man page all read it. */
#ifndef REID_TOOLS_OPTIONS_H
#define REID_TOOLS_OPTIONS_H

#include "base/choices.h"
#include "reid.h"

#include <stddef.h>
#include <stdint.h>

enum { MAX_BATCHES = 32, MAX_DEVICE_INDEX = 1023 };

/* What belongs to one -m. */
typedef struct model_options {
    const char *weights, *network, *preset, *ranges;
    int height, width, last_stride;
    reid_head head;
    uint64_t head_seed;
    int allow_unused;
    char fields[160]; /* that change the preset, "filter=bicubic crop=0.95" */
    char changed[320]; /* the preset with them, to which `preset` then points */
} model_options;

typedef struct options {
    model_options every; /* given before the first -m */
    model_options model[MAX_MODELS];
    int models;

    int device, device_index, precision, isa, batch, threads, lanes, decoders; /* 0: automatic */
    size_t memory;
    long long max_pixels;
    int flip, raw, latency, no_fallback, json, quiet, verbose, stats, jpeg; /* jpeg: a jpeg_decoder */
    const char *kernels, *pack, *chip, *trace;

    const char *output, *boxes, *category;
    double min_conf; /* NAN: not given */
    int nul_list, shard, shards, resume, strict;

    const char *gallery;
    double weights[MAX_MODELS], threshold; /* threshold: NAN when not given */
    int weight_count, top_k, keep_self;

    const char *like, *list, *camera, *time, *groups;
    int fp16, identity, by, best, other_camera, all_hits, salvage; /* by: a reid_scoring; best: 0 when not given */
    const char *root, *drop;
    int status, compare_models, switch_over, back, partial;
    double lease; /* seconds */
    const char *only, *in_camera, *from, *until;
    int exact, candidates; /* candidates: 0 when not given */
    const char *unknown; /* what strangers are called */
    const char *labels, *compare, *calibration, *pairs;
    double limit; /* percent */
    double least_cosine; /* NAN: not given */
    int leave_out, rerank, k1, k2, expand, draws, method, int8;
    double lambda, alpha, fmr, prior;

    int plan, tensors, condition;

    int batch_list[MAX_BATCHES], batch_count, rounds, starts, ops, tune;
    const char *page;             /* bench --report */
    double peak_gflops, peak_gbs; /* 0: not given */

    const char *key, *layers;

    const char *decisions, *by_whom, *html, *import, *pictures;
    const char *tracks, *carry, *add, *camtrap, *species;
    int same_frame, explain, own_labels;
    double suggest; /* NAN: not given */
    int count, sample, per_crop; /* 0: the usual ones */
    long long count_seed;        /* -1: not given */

    int fit_method, report, linkage; /* linkage: of LINKAGES */
    long long fit_dim, seed;    /* fit_dim: 0 when not given */
    double shrinkage, holdout;  /* NAN: not given */

    const char *socket, *listen, *token_file;
    int waiting, connections, idle, drain; /* waiting: images, 0: automatic; seconds */
    double delay, timeout;                 /* milliseconds; seconds, 0: none */
    size_t max_body;

    const char *detections, *ffmpeg, *cuts;
    int stream, first_frame; /* first_frame: -1 when not given */
    double apart, burst;     /* seconds; NAN: not given */
    const char *times;

    int goal, full; /* goal: a place in TEMPLATES */
    double seconds;
    const char *template; /* a name or a file */
    unsigned given;       /* bit i: TEMPLATE_KEY[i] was given as an option, which a template does not change */

    int help, man;
    const char *completion;

    char **operands;
    int operand_count;
} options;

typedef struct command {
    char letter;             /* stands for it in option.commands */
    const char *name, *synopsis, *summary;
    const char *about;       /* paragraphs, separated by an empty line */
    const char *examples[3]; /* each runs as it stands beside the files that it names */
    int (*run)(options *o);  /* the exit status */
} command;

typedef struct option option;
struct option {
    char letter;             /* 0: none */
    const char *name;        /* without --; NULL: letter only */
    const char *arg;         /* NULL: takes none; "a|b|c" is also the list of choices */
    const char *commands;    /* letters of the commands that take it */
    int (*set)(options *o, const option *spec, void *slot, const char *value);
    int per_model;           /* 1: offset is into model_options */
    size_t offset;
    long long lo, hi;        /* for numbers */
    const char *help;
};

extern const command COMMANDS[];   /* ends with a NULL name */
extern const option OPTIONS[];     /* ends with a NULL help */
/* --device; returns 0 when value names none. */
int options_device(options *o, const char *value);
int option_applies(const option *spec, const command *c);

/* Returns 0 after saying what is wrong; argv starts after the command's name. */
int options_parse(options *o, const command *c, int argc, char **argv);

int embed_main(options *o);
int match_main(options *o);
int merge_main(options *o);
int inspect_main(options *o);
int gallery_main(options *o);
int eval_main(options *o);
int calibrate_main(options *o);
int bench_main(options *o);
int pack_main(options *o);
int convert_main(options *o);
int fit_main(options *o);
int serve_main(options *o);
int worker_main(options *o);
int review_main(options *o);
int cluster_main(options *o);
int track_main(options *o);
int doctor_main(options *o);
int tune_main(options *o);
int help_main(options *o);
int version_main(options *o);

#endif
