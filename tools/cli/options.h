/* The types of commands and options. option_table.c has the options, commands/commands.c the commands; the parser,
   `reid help`, the completion and the man page all read these two tables. */
#ifndef REID_TOOLS_OPTIONS_H
#define REID_TOOLS_OPTIONS_H

#include "base/choices.h"
#include "reid.h"

#include <stddef.h>
#include <stdint.h>

enum { MAX_BATCHES = 32, MAX_DEVICE_INDEX = 1023 };

/* Options that belong to one -m. */
typedef struct model_options {
    const char *weights, *network, *preset, *ranges;
    int height, width, last_stride;
    reid_head head;
    uint64_t head_seed;
    int allow_unused;
    char fields[160];  /* options that change the preset, "filter=bicubic crop=0.95" */
    char changed[320]; /* the preset with these fields; `preset` then points to it */
} model_options;

/* How a network runs, for all commands that run one. 0: automatic. */
typedef struct compute_options {
    int device, device_index, precision, isa, batch, threads, lanes;
    size_t memory;
    int flip, raw, latency, no_fallback;
    const char *kernels, *pack, *chip;
} compute_options;

/* Which images are read, and how. */
typedef struct input_options {
    const char *boxes, *category, *labels, *unknown; /* unknown: the identity of images that show strangers */
    double min_conf;                                 /* NAN: not given */
    int nul_list, shard, shards, strict;
    int decoders, jpeg; /* 0: automatic; jpeg: a jpeg_decoder */
    long long max_pixels;
} input_options;

typedef struct import_options {
    const char *ids, *model;
} import_options;

typedef struct output_options {
    const char *path, *trace;
    int resume, json, quiet, verbose, stats, force;
} output_options;

/* A gallery, and what makes a score a match. */
typedef struct match_options {
    const char *gallery, *calibration;
    double weights[MAX_MODELS], threshold; /* threshold: NAN when not given */
    int weight_count, top_k, keep_self;
} match_options;

typedef struct gallery_options {
    const char *like, *list, *camera, *time, *groups;
    int fp16, identity, by, best, other_camera, all_hits, salvage; /* by: a reid_scoring; best: 0 when not given */
    const char *only, *in_camera, *from, *until;
    int exact, candidates; /* candidates: 0 when not given */
} gallery_options;

typedef struct reembed_options {
    const char *root, *drop;
    int status, compare, switch_over, back, partial;
    double lease; /* seconds */
} reembed_options;

typedef struct eval_options {
    const char *compare;
    int leave_out, rerank, k1, k2, expand, draws;
    double lambda, alpha;
    double limit;        /* percentage points */
    double least_cosine; /* NAN: not given */
} eval_options;

typedef struct calibrate_options {
    const char *pairs;
    int method, int8, unlabelled;
    double fmr, prior, same_time; /* NAN: not given */
} calibrate_options;

typedef struct inspect_options {
    int plan, tensors, condition;
} inspect_options;

typedef struct bench_options {
    int batch_list[MAX_BATCHES], batch_count, rounds, starts, ops, tune;
    const char *page;             /* --report */
    double peak_gflops, peak_gbs; /* 0: not given */
} bench_options;

typedef struct convert_options {
    const char *key, *layers;
} convert_options;

typedef struct cluster_options {
    const char *decisions, *pictures, *tracks, *carry, *add, *camtrap, *species;
    int same_frame, explain, own_labels, linkage; /* linkage: of LINKAGES */
    double suggest;                               /* NAN: not given */
} cluster_options;

typedef struct count_options {
    int asked, sample, per_crop; /* 0: the defaults */
    long long seed;              /* -1: not given */
} count_options;

typedef struct review_options {
    const char *by_whom, *html, *import;
} review_options;

typedef struct fit_options {
    int method, report;
    long long dim, seed;       /* dim: 0 when not given */
    double shrinkage, holdout; /* NAN: not given */
} fit_options;

typedef struct serve_options {
    const char *socket, *listen, *token_file, *tls_cert, *tls_key, *access_log;
    int waiting, connections, idle, drain; /* waiting: images, 0: automatic; seconds */
    double delay, timeout;                 /* milliseconds; seconds, 0: none */
    size_t max_body;
    int lazy, model_control;
} serve_options;

typedef struct track_options {
    const char *detections, *ffmpeg, *cuts, *times;
    int stream, first_frame;             /* first_frame: -1 when not given */
    int best;                            /* 0 when not given */
    double apart, burst, frame_timeout;  /* seconds; NAN: not given */
} track_options;

typedef struct tune_options {
    int goal, full; /* goal: a place in PROFILES */
    double seconds;
} tune_options;

typedef struct help_options {
    int asked, man, environment;
    const char *completion;
} help_options;

typedef struct options {
    model_options every; /* given before the first -m */
    model_options model[MAX_SERVED];
    int models; /* at most MAX_MODELS, except for a server */
    const char *profile; /* a name or a file */
    const char *config;  /* a file of options */
    char *config_text;   /* its text, into which values of options point */
    unsigned given;      /* bit i: PROFILE_KEY[i] was given as an option, which a profile does not change */

    compute_options compute;
    input_options input;
    import_options import;
    output_options output;
    match_options match;
    gallery_options gallery;
    reembed_options reembed;
    eval_options eval;
    calibrate_options calibrate;
    inspect_options inspect;
    bench_options bench;
    convert_options convert;
    cluster_options cluster;
    count_options count;
    review_options review;
    fit_options fit;
    serve_options serve;
    track_options track;
    tune_options tune;
    help_options help;

    char **operands;
    char **spelled; /* [spelled_count]: paths that replace operands and options */
    size_t spelled_count, spelled_cap;
    int operand_count;
    const struct command_table *table; /* for reid help */
} options;

/* Commands as bits, so that an option can name the set of those that take it. */
enum {
    EMBED = 1 << 0, MERGE = 1 << 1, MATCH = 1 << 2, GALLERY = 1 << 3, EVAL = 1 << 4, CALIBRATE = 1 << 5,
    INSPECT = 1 << 6, BENCH = 1 << 7, PACK = 1 << 8, CONVERT = 1 << 9, FIT = 1 << 10, SERVE = 1 << 11,
    WORKER = 1 << 12, CLUSTER = 1 << 13, TRACK = 1 << 14, REVIEW = 1 << 15, DOCTOR = 1 << 16, TUNE = 1 << 17,
    HELP = 1 << 18, VERSION = 1 << 19, IMPORT = 1 << 20
};

typedef struct command {
    unsigned self; /* one of the bits above */
    int group;     /* index into command_table.groups */
    const char *name, *synopsis, *summary;
    const char *about;       /* paragraphs, separated by an empty line */
    const char *examples[3]; /* each runs unchanged in a folder with the files that it names */
    int (*run)(options *o);  /* the exit status */
} command;

/* Where the help of an option is shown: with its command, or in a topic of `reid help`. */
typedef enum option_topic { OF_COMMAND, OF_MODELS, OF_DEVICES } option_topic;

typedef struct help_topic {
    const char *name, *summary, *about;
    option_topic options; /* the options that it lists; OF_COMMAND: none */
} help_topic;

typedef struct command_table {
    const command *commands;  /* ends with a NULL name */
    const char *const *groups; /* titles; ends with NULL */
    const help_topic *topics; /* ends with a NULL name */
    const char *start;        /* "start here", as lines */
} command_table;

typedef struct option option;
struct option {
    char letter;       /* 0: none */
    const char *name;  /* without --; NULL: letter only */
    const char *arg;   /* NULL: takes none; "a|b|c" is also the list of choices */
    unsigned commands; /* commands that take it */
    option_topic topic;
    int (*set)(options *o, const option *spec, void *slot, const char *value);
    int per_model; /* 1: offset is into model_options */
    size_t offset;
    long long lo, hi; /* for numbers */
    const char *help;
};

#endif
