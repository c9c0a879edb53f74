#include "cli/options.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"
#include "cli/template.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Setters: each writes one kind of value into its slot. They return 0 when the text is not one, -1 when they have
   said so themselves. */

static int set_flag(options *o, const option *spec, void *slot, const char *value) {
    (void)o, (void)spec, (void)value;
    ++*(int *)slot;
    return 1;
}

static int set_text(options *o, const option *spec, void *slot, const char *value) {
    (void)o, (void)spec;
    *(const char **)slot = value;
    return *value != 0;
}

static int set_int(options *o, const option *spec, void *slot, const char *value) {
    long long n;
    (void)o;
    if (!parse_int(value, spec->lo, spec->hi, &n)) return 0;
    *(int *)slot = (int)n;
    return 1;
}

static int set_int_or_auto(options *o, const option *spec, void *slot, const char *value) {
    if (strcmp(value, "auto") != 0) return set_int(o, spec, slot, value);
    *(int *)slot = 0;
    return 1;
}

static int set_long(options *o, const option *spec, void *slot, const char *value) {
    (void)o;
    return parse_int(value, spec->lo, spec->hi, (long long *)slot);
}

static int set_real(options *o, const option *spec, void *slot, const char *value) {
    (void)o;
    return parse_real(value, (double)spec->lo, (double)spec->hi, (double *)slot);
}

/* Above 0, below 1. */
static int set_share(options *o, const option *spec, void *slot, const char *value) {
    double *share = slot;
    (void)o, (void)spec;
    return parse_real(value, 0, 1, share) && *share > 0 && *share < 1;
}

static int set_bytes(options *o, const option *spec, void *slot, const char *value) {
    (void)o, (void)spec;
    return parse_bytes(value, (size_t *)slot);
}

/* The position of value in spec->arg plus spec->lo. */
static int set_choice(options *o, const option *spec, void *slot, const char *value) {
    int index = choice_index(spec->arg, value);
    (void)o;
    if (index >= 0) *(int *)slot = index + (int)spec->lo;
    return index >= 0;
}

/* The first n bytes of s, which may be a number; 0 when they are too many for one. */
static int cut(const char *s, size_t n, char out[256]) {
    if (n >= 256) return 0;
    memcpy(out, s, n);
    out[n] = 0;
    return 1;
}

static int split_int(const char *value, char separator, long long lo, long long hi, long long out[2]) {
    const char *second = strchr(value, separator);
    char first[256];
    return second && cut(value, (size_t)(second - value), first) && parse_int(first, lo, hi, &out[0]) &&
           parse_int(second + 1, lo, hi, &out[1]);
}

static int set_size(options *o, const option *spec, void *slot, const char *value) {
    model_options *m = slot;
    long long hw[2];
    (void)o;
    if (!split_int(value, 'x', spec->lo, spec->hi, hw)) return 0;
    m->height = (int)hw[0];
    m->width = (int)hw[1];
    return 1;
}

/* A field of the preset, under the name that it has in reid.h; the library checks the value. */
static int set_field(options *o, const option *spec, void *slot, const char *value) {
    model_options *m = slot;
    size_t at = strlen(m->fields), size = sizeof m->fields - at;
    (void)o;
    if (!*value || strpbrk(value, " =")) return 0;
    int n = snprintf(m->fields + at, size, "%s%s=%s", at ? " " : "", spec->name, value);
    return n > 0 && (size_t)n < size;
}

static int set_head(options *o, const option *spec, void *slot, const char *value) {
    model_options *m = slot;
    long long seed = 0;
    (void)o;
    if (strcmp(value, "none") == 0) m->head = REID_HEAD_NONE;
    else if (strcmp(value, "file") == 0) m->head = REID_HEAD_FILE;
    else if (strncmp(value, "seeded", 6) != 0) return 0;
    else if (value[6] && (value[6] != ':' || !parse_int(value + 7, spec->lo, spec->hi, &seed))) return 0;
    else m->head = REID_HEAD_SEEDED;
    m->head_seed = (uint64_t)seed;
    return 1;
}

int options_device(options *o, const char *value) {
    long long index = 0;
    if (strncmp(value, "cuda", 4) == 0) {
        if (value[4] && (value[4] != ':' || !parse_int(value + 5, 0, MAX_DEVICE_INDEX, &index))) return 0;
        o->device = REID_DEVICE_CUDA;
    } else {
        if (strcmp(value, "auto") != 0 && strcmp(value, "cpu") != 0) return 0;
        o->device = *value == 'a' ? REID_DEVICE_AUTO : REID_DEVICE_CPU;
    }
    o->device_index = (int)index;
    return 1;
}

static int set_device(options *o, const option *spec, void *slot, const char *value) {
    (void)spec, (void)slot;
    return options_device(o, value);
}

static int set_shard(options *o, const option *spec, void *slot, const char *value) {
    long long of[2];
    (void)slot;
    if (!split_int(value, '/', spec->lo, spec->hi, of) || of[0] > of[1]) return 0;
    o->shard = (int)of[0];
    o->shards = (int)of[1];
    return 1;
}

static int set_weights(options *o, const option *spec, void *slot, const char *value) {
    double *weights = slot, sum = 0;
    o->weight_count = 0;
    for (const char *at = value; at;) {
        size_t n = strcspn(at, ",");
        char number[256];
        if (o->weight_count == MAX_MODELS || !cut(at, n, number) ||
            !parse_real(number, (double)spec->lo, (double)spec->hi, &weights[o->weight_count])) return 0;
        sum += weights[o->weight_count++];
        at = at[n] ? at + n + 1 : NULL;
    }
    return sum > 0;
}

static int set_batches(options *o, const option *spec, void *slot, const char *value) {
    int *list = slot;
    o->batch_count = 0;
    for (const char *at = value; at;) {
        size_t n = strcspn(at, ",");
        char number[256];
        long long batch;
        if (o->batch_count == MAX_BATCHES || !cut(at, n, number) || !parse_int(number, spec->lo, spec->hi, &batch))
            return 0;
        list[o->batch_count++] = (int)batch;
        at = at[n] ? at + n + 1 : NULL;
    }
    return 1;
}

static int set_model(options *o, const option *spec, void *slot, const char *value) {
    (void)spec, (void)slot;
    if (o->models == MAX_MODELS) {
        say_error("at most %d models: -m %s is one too many", MAX_MODELS, shown(value));
        return -1;
    }
    model_options *m = &o->model[o->models++];
    *m = o->every;
    m->weights = value;
    return *value != 0;
}

#define SHARED(field) 0, offsetof(options, field)
#define PER_MODEL(field) 1, offsetof(model_options, field)

/* Which commands take an option: their letters in COMMANDS. */
const option OPTIONS[] = {
    {'m', "model", "FILE", "embpgltswfkdn", set_model, 1, 0, 0, 0,
     "weights (safetensors). Twice for an ensemble of two models"},
    {0, "net", "NAME", "emibpcgltswfkdn", set_text, PER_MODEL(network), 0, 0,
     "network. Default: found from the tensors in the file"},
    {0, "preset", "NAME", "emibpcgltswfkdn", set_text, PER_MODEL(preset), 0, 0,
     "preprocessing, which the options from here to --size change. Default: the one named in the file, else the "
     "network's"},
    {0, "filter", "bilinear|bicubic", "emibpcgltswfkdn", set_field, 1, 0, 0, 0, "how pictures are resized"},
    {0, "resize", "straight|N", "emibpcgltswfkdn", set_field, 1, 0, 0, 0,
     "resize straight to the network's input, or the short side to N pixels, of which the middle is cropped"},
    {0, "crop", "FRACTION", "emibpcgltswfkdn", set_field, 1, 0, 0, 0,
     "the part of the short side that is kept, as timm's crop_pct, instead of --resize"},
    {0, "mean", "R,G,B", "emibpcgltswfkdn", set_field, 1, 0, 0, 0,
     "what is subtracted in each channel of the network, or one number for all, after pixels were divided by 255"},
    {0, "std", "R,G,B", "emibpcgltswfkdn", set_field, 1, 0, 0, 0, "what is then divided by"},
    {0, "size", "HxW", "emibpcgltswfkdn", set_size, 1, 0, 1, REID_MAX_INPUT,
     "input of the network in pixels, height first. Default: the preset's"},
    {0, "head", "none|file|seeded[:SEED]", "emibpgltswfkdn", set_head, 1, 0, 0, 0x7fffffffffffffff,
     "last linear layer. Default: the one in the file, else none"},
    {0, "last-stride", "1|2", "emibpcgltswfkdn", set_choice, PER_MODEL(last_stride), 1, 0,
     "stride of ResNet's layer4. Default: the one named in the file, else 2"},
    {0, "allow-unused", NULL, "emibpcgltswfkdn", set_flag, PER_MODEL(allow_unused), 0, 0,
     "accept tensors that the network does not have"},

    {'o', "output", "FILE", "e", set_text, SHARED(output), 0, 0,
     "FILE.npy (with FILE.ids.txt and FILE.meta.json), FILE.jsonl or FILE.csv. Default, and for -: JSON lines on "
     "stdout"},
    {'o', "output", "FILE", "m", set_text, SHARED(output), 0, 0,
     "FILE.csv (a line for each match: query, decision, rank, identity, score, probability, picture), FILE.jsonl, or "
     "FILE.html (a page with the pictures of queries and of their three best matches, to be filtered by doubtful and "
     "wrong ones), there as a whole or not at all. Default: a table on stdout, with --json JSON lines"},
    {'o', "output", "FILE", "j", set_text, SHARED(output), 0, 0,
     "FILE.npy (with FILE.ids.txt and FILE.meta.json), FILE.jsonl or FILE.csv, as the shards are"},
    {0, "gallery", "PATH", "md", set_text, SHARED(gallery), 0, 0,
     "folder with a folder or a picture per identity, a .npy file written by reid embed, or a file of reid gallery, "
    "or postgresql://..."},
    {'o', "output", "PATH", "d", set_text, SHARED(output), 0, 0,
     "where results are to be written: is there room? Default: the working directory"},
    {'k', "top", "N", "mgsw", set_int, SHARED(top_k), 1, 1000000, "identities listed for each query. Default: 5"},
    {0, "threshold", "T", "mgsw", set_real, SHARED(threshold), -1000, 1000,
     "scores of at least T are a match. Default: the gallery file's; else 0.40 with two models; with one, no decision "
     "is made"},
    {0, "threshold", "T", "d", set_real, SHARED(threshold), -1000, 1000,
     "the threshold that will be given to reid match; with one, no calibration is missed"},
    {0, "threshold", "T", "l", set_real, SHARED(threshold), -1000, 1000,
     "scores of at least T are a match, for BAKS, BAUS and ARI. Default: the best for these pictures"},
    {0, "calibration", "FILE", "mswurkd", set_text, SHARED(calibration), 0, 0,
     "threshold, weights and probabilities from reid calibrate, for these models only"},
    {0, "weights", "W1,W2", "mglswurk", set_weights, SHARED(weights), 0, 1000,
     "share of each model in the score, in the order of -m. Default: 0.6,0.4"},
    {0, "keep-self", NULL, "mg", set_flag, SHARED(keep_self), 0, 0,
     "also compare a query with a gallery picture that is the same file"},
    {0, "boxes", "FILE", "emgn", set_text, SHARED(boxes), 0, 0,
     "crops instead of whole pictures: MegaDetector JSON, or CSV in pixels (path,x,y,width,height[,id][,identity])"},
    {0, "min-conf", "P", "emgrun", set_real, SHARED(min_conf), 0, 1,
     "with MegaDetector boxes: leave out detections below this confidence"},
    {0, "category", "ID", "emgrun", set_text, SHARED(category), 0, 0,
     "with MegaDetector boxes: only this category (1 animal, 2 person, 3 vehicle)"},
    {'0', NULL, NULL, "emgn", set_flag, SHARED(nul_list), 0, 0,
     "the list on stdin is separated by zero bytes, not lines"},
    {0, "shard", "I/N", "e", set_shard, 0, 0, 1, 1000000,
     "only the I-th of N consecutive slices of the inputs; reid merge joins the outputs to those of one run"},
    {0, "resume", NULL, "e", set_flag, SHARED(resume), 0, 0,
     "continue FILE.part of an interrupted run, and keep it when interrupted again"},
    {0, "resume", NULL, "k", set_flag, SHARED(resume), 0, 0,
     "continue DIR.part of an interrupted run behind the videos that it has finished, and keep it when interrupted "
     "again"},
    {0, "strict", NULL, "emgltf", set_flag, SHARED(strict), 0, 0,
     "stop at the first input that fails: no output, exit 1"},

    {0, "fp16", NULL, "g", set_flag, SHARED(fp16), 0, 0, "create: keep embeddings in half of the space"},
    {0, "like", "FILE", "g", set_text, SHARED(like), 0, 0,
     "create: for embeddings like those of this file or gallery; needs no model"},
    {0, "list", "FILE.csv", "g", set_text, SHARED(list), 0, 0,
     "add: pictures and their identities, in columns path, identity and perhaps camera, time, id, under a line with "
     "these names"},
    {0, "groups", "FILE.csv", "g", set_text, SHARED(groups), 0, 0,
     "add: files of embeddings, whose crops are who this output of reid cluster says; crops without a name are left "
     "out. All is added, or nothing"},
    {0, "camera", "NAME", "g", set_text, SHARED(camera), 0, 0, "add, search: the camera of these pictures"},
    {0, "time", "T", "g", set_text, SHARED(time), 0, 0,
     "add: when these pictures were taken: 2024-05-31T06:30:00Z, 2024-05-31, or seconds since 1970"},
    {0, "identity", NULL, "g", set_flag, SHARED(identity), 0, 0, "remove, list: identities instead of templates"},
    {0, "by", "template|max|mean|top", "g", set_choice, SHARED(by), REID_ROWS, 0,
     "search: rank templates, or identities by their best template, the mean of all, or of the --best. Default: max"},
    {0, "best", "M", "g", set_int, SHARED(best), 1, REID_MAX_TOP, "search: how many --by top takes. Default: 3"},
    {0, "other-camera", NULL, "g", set_flag, SHARED(other_camera), 0, 0,
     "search: leave out templates of the query's own camera"},
    {0, "all", NULL, "g", set_flag, SHARED(all_hits), 0, 0, "search: everything that reaches the threshold"},
    {0, "only", "IDENTITY", "g", set_text, SHARED(only), 0, 0, "search: only templates of this identity"},
    {0, "in-camera", "NAME", "g", set_text, SHARED(in_camera), 0, 0, "search: only templates of this camera"},
    {0, "from", "T", "g", set_text, SHARED(from), 0, 0, "search: only templates seen at this time or later"},
    {0, "until", "T", "g", set_text, SHARED(until), 0, 0, "search: only templates seen before this time"},
    {0, "exact", NULL, "g", set_flag, SHARED(exact), 0, 0,
     "search: compare with every template, also of a large database. Files always are"},
    {0, "candidates", "N", "g", set_int, SHARED(candidates), 1, 100000,
     "search: templates that the index of a database is asked for. Default: 200 or more where there are more than "
     "10000, else all are compared"},
    {0, "salvage", NULL, "g", set_flag, SHARED(salvage), 0, 0, "compact: leave out damaged records"},
    {'o', "output", "FILE", "g", set_text, SHARED(output), 0, 0,
     "export: FILE.npy or FILE.fvecs (with FILE.ids.txt and FILE.meta.json), or FILE.jsonl"},

    {0, "root", "FOLDER", "g", set_text, SHARED(root), 0, 0,
     "reembed: the pictures lie below FOLDER here, under the names that they were added by"},
    {0, "lease", "S", "g", set_real, SHARED(lease), 1, 86400,
     "reembed: seconds without a sign of life after which others take over what this worker has claimed. Default: 60"},
    {0, "status", NULL, "g", set_flag, SHARED(status), 0, 0, "reembed: which models there are, and how far they are"},
    {0, "compare", NULL, "g", set_flag, SHARED(compare_models), 0, 0,
     "reembed: who is nearest to each template, now and by the other model, and which threshold that one needs"},
    {0, "switch", NULL, "g", set_flag, SHARED(switch_over), 0, 0,
     "reembed: make the other model the gallery's, with its --threshold; everybody then embeds with that one"},
    {0, "partial", NULL, "g", set_flag, SHARED(partial), 0, 0,
     "reembed --switch: although some templates could not be embedded; searches leave them out"},
    {0, "back", NULL, "g", set_flag, SHARED(back), 0, 0, "reembed: return to the models before the last switch"},
    {0, "drop", "FINGERPRINT", "g", set_text, SHARED(drop), 0, 0,
     "reembed: forget models that the gallery does not use, and their rows; of two, FINGERPRINT+FINGERPRINT"},

    {0, "labels", "FILE.csv", "ltf", set_text, SHARED(labels), 0, 0,
     "who is where: columns path,identity and perhaps camera,role (query, gallery or both). Paths start from FOLDER. "
     "Default: from the layout of FOLDER or from the ids"},
    {0, "unknown", "NAME", "lt", set_text, SHARED(unknown), 0, 0,
     "pictures that are called NAME show strangers, each perhaps another one: they are wrong answers to every query, "
     "no pair of one individual, and queries only where the others are the gallery"},
    {0, "unknown", "NAME", "m", set_text, SHARED(unknown), 0, 0,
     "pictures that are called NAME show strangers: they are no part of the gallery, and for FILE.html the right "
     "answer to them is unknown"},
    {0, "unknown", "NAME", "g", set_text, SHARED(unknown), 0, 0,
     "add: pictures that are called NAME show strangers, and are not added"},
    {0, "leave-out", "auto|camera|picture", "ltf", set_choice, SHARED(leave_out), 0, 0,
     "what is never compared with a query: itself (picture), or also what its camera took of its identity (camera). "
     "Default: camera where all cameras are known"},
    {0, "rerank", NULL, "l", set_flag, SHARED(rerank), 0, 0, "re-rank by k-reciprocal neighbours (Zhong et al. 2017)"},
    {0, "k1", "N", "l", set_int, SHARED(k1), 1, 10000, "with --rerank: neighbours that must be mutual. Default: 20"},
    {0, "k2", "N", "l", set_int, SHARED(k2), 1, 10000, "with --rerank: neighbours that are averaged. Default: 6"},
    {0, "lambda", "X", "l", set_real, SHARED(lambda), 0, 1,
     "with --rerank: share of the plain distance. Default: 0.3"},
    {0, "expand", "K", "l", set_int, SHARED(expand), 1, 10000,
     "query expansion: every embedding becomes the mean of its K nearest, itself among them"},
    {0, "alpha", "X", "l", set_real, SHARED(alpha), 0, 100,
     "with --expand: the cosine to this power is a neighbour's weight. Default: 3"},
    {0, "compare", "A,B,...", "l", set_text, SHARED(compare), 0, 0,
     "the first against the others, each a precision, a device, DEVICE/PRECISION or a file of embeddings; exit 1 when "
     "one loses too much"},
    {0, "limit", "P", "l", set_real, SHARED(limit), 0, 100,
     "with --compare: rank-1 and mAP may each lose P percentage points. Default: 2"},
    {0, "least-cosine", "X", "l", set_real, SHARED(least_cosine), -1, 1,
     "with --compare: no picture's embedding may have a lower cosine to the first one's. Default: 0.98 for precisions "
     "and devices, any for files"},
    {0, "draws", "N", "ltf", set_int, SHARED(draws), 10, 1000000,
     "times that identities are drawn anew for the 95 % intervals. Default: 1000, less where calibrate has many pairs"},

    {'o', "output", "FILE", "t", set_text, SHARED(output), 0, 0,
     "the calibration (JSON), for reid match --calibration; with --int8 the ranges (safetensors), for --ranges"},
    {0, "int8", NULL, "t", set_flag, SHARED(int8), 0, 0,
     "measure how large the activations of -m get on INPUT, for --precision int8; nothing else is calibrated"},
    {0, "pairs", "FILE.csv", "t", set_text, SHARED(pairs), 0, 0,
     "only these pairs: columns first,second,same (1 or 0). Paths start from FOLDER"},
    {0, "gallery", "FILE", "t", set_text, SHARED(gallery), 0, 0,
     "a file of reid gallery, or postgresql://..., that gets the threshold, too; with two models, give --weights"},
    {0, "fmr", "X", "tg", set_share, SHARED(fmr), 0, 0,
     "the share of pairs of two individuals that may be accepted. Default: 0.001"},
    {0, "prior", "P", "t", set_share, SHARED(prior), 0, 0,
     "how likely a pair shows one individual before it is looked at, for probabilities. Default: 0.5"},
    {0, "method", CALIBRATION_METHODS, "t", set_choice, SHARED(method), 0, 0,
     "what makes scores probabilities: a curve of two numbers, or steps that need many pairs. Default: logistic"},
    {0, "weights", "W1,W2", "t", set_weights, SHARED(weights), 0, 1000,
     "share of each model in the score. Default: fitted to the pairs"},

    {'o', "output", "FILE.safetensors", "f", set_text, SHARED(output), 0, 0,
     "the weights of -m with the fitted head, for every command"},
    {0, "method", FIT_METHODS, "f", set_choice, SHARED(fit_method), 0, 0,
     "what the directions of the head are good for. Default: auto, the one that finds most"},
    {0, "shrinkage", "X", "f", set_real, SHARED(shrinkage), 0, 1,
     "how far the spread of an individual's crops is drawn to the same in all directions: 0 not at all, 1 wholly. "
     "Default: chosen by cross-validation over individuals"},
    {0, "dim", "N", "f", set_long, SHARED(fit_dim), 1, 65536,
     "directions behind each pooled vector; the head's other outputs are 0. Default: as many as there are"},
    {0, "report", NULL, "f", set_flag, SHARED(report), 0, 0,
     "rank-1, mAP and AUC for individuals that took no part, beside those without the fit"},
    {0, "holdout", "P", "f", set_share, SHARED(holdout), 0, 0,
     "with --report: hold out this share of the individuals, once. Default: a third of them, three times"},
    {0, "seed", "N", "f", set_long, SHARED(seed), 0, 0x7fffffffffffffff,
     "draws which individuals are held out together. Default: 0"},

    {0, "head", "LAYER[,LAYER]...", "c", set_text, SHARED(layers), 0, 0,
     "layers of the file that come behind the pooled features and make the embedding, by the names of their tensors "
     "without .weight: fc, or bnneck,fc. One of them is linear; batch norms are folded into it; relu, silu or tanh may "
     "come last. Default: those of known dialects"},
    {0, "key", "NAME", "c", set_text, SHARED(key), 0, 0,
     "where the network stands in the file: state_dict, ema, ... Default: where it fits best"},

    {0, "plan", NULL, "i", set_flag, SHARED(plan), 0, 0, "every operation with its shapes, multiply-adds and bytes"},
    {0, "condition", NULL, "i", set_flag, SHARED(condition), 0, 0,
     "how large activations get on pictures, given after WEIGHTS, beside what FP16 holds; how far their embeddings "
     "move when pixels do by a millionth"},
    {0, "tensors", NULL, "i", set_flag, SHARED(tensors), 0, 0, "every tensor and what it is to the network"},

    {0, "batches", "N,...", "b", set_batches, SHARED(batch_list), 1, 65536,
     "images in a call, one row of the table for each. Default: 1,8,32"},
    {0, "rounds", "N", "b", set_int, SHARED(rounds), 1, 1000, "timings of each, whose median is told. Default: 9"},
    {0, "ops", NULL, "b", set_flag, SHARED(ops), 0, 0,
     "also every operation, with its kernel and its share of the ceilings"},
    {0, "report", "FILE.html", "b", set_text, SHARED(page), 0, 0,
     "also draw them as a page for a browser: how near each operation comes to the ceilings, and what they take"},
    {0, "tune", NULL, "b", set_flag, SHARED(tune), 0, 0,
     "measure every tile of Hopper's convolutions instead, and leave the times in the cache, where every later start "
     "on this chip finds them"},
    {0, "start", "N", "b", set_int, SHARED(starts), 1, 1000,
     "first create the network N times, and tell the milliseconds up to the first embedding"},
    {0, "peak-gflops", "X", "b", set_real, SHARED(peak_gflops), 0, 1000000000,
     "the machine's ceiling for this precision. Default: measured on the CPU, unknown on a GPU"},
    {0, "peak-gbs", "X", "b", set_real, SHARED(peak_gbs), 0, 1000000000,
     "memory bandwidth in GB/s. Default: measured on the CPU, unknown on a GPU"},
    {'o', "output", "FILE.json", "b", set_text, SHARED(output), 0, 0, "also write the figures as JSON"},

    {0, "gallery", "PATH", "sw", set_text, SHARED(gallery), 0, 0,
     "who is known: a folder with a folder or a picture per identity, a .npy file written by reid embed, or a file "
     "of reid gallery, or postgresql://...; read once, at the start"},
    {0, "socket", "PATH", "s", set_text, SHARED(socket), 0, 0,
     "listen on this Unix socket, which only you can connect to. Default, without --listen: "
     "$XDG_RUNTIME_DIR/reid.sock"},
    {0, "listen", "ADDRESS:PORT", "s", set_text, SHARED(listen), 0, 0,
     "listen on TCP: 127.0.0.1:8000, [::1]:8000; port 0 is any that is free. Other addresses need --token-file"},
    {0, "token-file", "FILE", "s", set_text, SHARED(token_file), 0, 0,
     "a file of one line that nobody else may read: what TCP clients have to send as Authorization: Bearer TOKEN"},
    {0, "limit", "N|auto", "sw", set_int_or_auto, SHARED(waiting), 1, 1048576,
     "images that may wait; more are answered with 503. Default: 1024, or 8 batches if that is more"},
    {0, "delay", "MS", "sw", set_real, SHARED(delay), 0, 10000,
     "milliseconds that a free lane waits for a batch to fill. Default: 0"},
    {0, "timeout", "SECONDS", "sw", set_real, SHARED(timeout), 0, 86400,
     "requests that give no timeout of their own are answered with 504 after it; 0: never. Default: 60"},
    {0, "max-body", "BYTES", "sw", set_bytes, SHARED(max_body), 0, 0,
     "larger requests are answered with 413, with K, M or G. Default: 64M"},
    {0, "connections", "N", "s", set_int, SHARED(connections), 1, 100000,
     "more at a time are answered with 503. Default: 1024"},
    {0, "idle", "SECONDS", "s", set_int, SHARED(idle), 1, 86400,
     "clients that do nothing so long, or send and read slower than 64 KiB a second, are left, with 408 in the middle "
     "of a request. Default: 30"},
    {0, "drain", "SECONDS", "sw", set_int, SHARED(drain), 0, 86400,
     "at the end: how long requests that were accepted may take. Default: 30"},

    {'o', "output", "FILE", "u", set_text, SHARED(output), 0, 0,
     "FILE.csv or FILE.json; with --camtrap-dp a new folder. Default: CSV on stdout, with --json JSON"},
    {0, "threshold", "T", "urk", set_real, SHARED(threshold), -1000, 1000,
     "groups are joined down to this mean score. Default: the calibration's, else the galleries' own"},
    {0, "method", LINKAGES, "u", set_choice, SHARED(linkage), 0, 0,
     "how groups are joined: by the mean of all their scores, or, for comparison, by the best one alone, which makes "
     "chains (the components of the graph of all pairs at the threshold) and knows no decisions, pictures or tracks"},
    {0, "suggest", "T", "ur", set_real, SHARED(suggest), -1000, 1000,
     "mean scores from T to the threshold are worth a question. Default: where the calibration says 10 %, else 0.1 "
     "below the threshold"},
    {0, "same-frame", NULL, "ur", set_flag, SHARED(same_frame), 0, 0,
     "the crops of one picture (by --boxes, else PATH#0, PATH#1, ...) are different individuals"},
    {0, "tracks", "FILE.csv", "ur", set_text, SHARED(tracks), 0, 0,
     "columns id and track: crops of one track are one individual"},
    {0, "decisions", "FILE", "u", set_text, SHARED(decisions), 0, 0,
     "what people decided (reid review): it holds, whatever the scores say. A journal, or the postgresql://... of a "
     "gallery, in which decisions lie, too"},
    {0, "carry", "FILE.csv", "ur", set_text, SHARED(carry), 0, 0,
     "an earlier output: groups keep the numbers and names of those with which they share most crops, but for names "
     "that people took back or gave to another group since"},
    {0, "add", "FILE.csv", "u", set_text, SHARED(add), 0, 0,
     "an earlier output whose groups stay as they are: new crops join one, are suggested for one, or make new ones"},
    {0, "labels", "FILE.csv", "m", set_text, SHARED(labels), 0, 0,
     "for FILE.html: columns path and identity, who the queries show, so that the page tells what is right and wrong. "
     "Who is not in the gallery is a stranger. Default: a query's folder, if it has the name of an individual there"},
    {0, "labels", "FILE.csv", "u", set_text, SHARED(labels), 0, 0,
     "columns path and identity: who the crops show, to tell how well the groups agree"},
    {0, "own-labels", NULL, "u", set_flag, SHARED(own_labels), 0, 0,
     "the same by the identities that the files themselves name"},
    {0, "explain", NULL, "u", set_flag, SHARED(explain), 0, 0,
     "the last two arguments are ids: which joins brought their crops together, or kept them apart"},
    {0, "count", NULL, "u", set_flag, SHARED(count), 0, 0,
     "instead of groups: how many individuals there are, with a 95 % interval, by the answers to reid review --count "
     "in --decisions"},
    {0, "count", NULL, "r", set_flag, SHARED(count), 0, 0,
     "ask the pairs that reid cluster --count needs, in place of those in doubt"},
    {0, "sample", "N", "ur", set_int, SHARED(sample), 2, 1000000,
     "with --count: how many crops are drawn. A larger sample holds the smaller one. Default: 50"},
    {0, "per-crop", "M", "ur", set_int, SHARED(per_crop), 1, 1000000,
     "with --count: with how many others each is compared, on average; poor scores need more. Default: 20"},
    {0, "seed", "N", "ur", set_long, SHARED(count_seed), 0, 0x7fffffffffffffff,
     "with --count: which crops are drawn. Default: 0"},
    {0, "decisions", "FILE", "r", set_text, SHARED(decisions), 0, 0,
     "the journal of decisions (decisions.jsonl), which is made when it is not there; or the postgresql://... of a "
     "gallery, which keeps them in a table"},
    {0, "by", "NAME", "r", set_text, SHARED(by_whom), 0, 0, "who decides. Default: your name on this machine"},
    {0, "camtrap-dp", "PACKAGE", "u", set_text, SHARED(camtrap), 0, 0,
     "write the groups as observations into a copy of this Camtrap DP (a folder with datapackage.json, deployments and "
     "media, among which the crops' pictures are looked up by the ends of their paths); -o is the new folder"},
    {0, "species", "NAME", "u", set_text, SHARED(species), 0, 0,
     "with --camtrap-dp: the scientific name of all of them. Default: none"},
    {0, "boxes", "FILE", "ur", set_text, SHARED(boxes), 0, 0,
     "the boxes that were given to reid embed, for crops whose ids are theirs"},
    {0, "pictures", "FOLDER", "ur", set_text, SHARED(pictures), 0, 0,
     "paths in ids and in --boxes start from here. Default: the working directory"},
    {0, "listen", "ADDRESS:PORT", "r", set_text, SHARED(listen), 0, 0,
     "where the page is, on this machine. Default: 127.0.0.1:0, any port that is free"},
    {0, "html", "FILE", "r", set_text, SHARED(html), 0, 0,
     "write the page as one file, which needs no server; its decisions are saved from it, for --import"},
    {0, "import", "FILE", "r", set_text, SHARED(import), 0, 0,
     "add the decisions that were saved from a page of --html, or that are in the gallery at a postgresql://..., and "
     "end"},

    {'o', "output", "DIR", "k", set_text, SHARED(output), 0, 0,
     "a folder, which appears when all is done and must not be there yet"},
    {0, "detections", "FILE", "k", set_text, SHARED(detections), 0, 0,
     "the boxes of a detector: MOT text, the JSON of MegaDetector (either tool), COCO, or CSV (frame,x,y,w,h and "
     "perhaps score, category, video)"},
    {0, "first-frame", "0|1", "k", set_choice, SHARED(first_frame), 0, 0,
     "how --detections and --cuts number the first frame. Default: 0, in MOT text 1"},
    {0, "min-conf", "P", "k", set_real, SHARED(min_conf), 0, 1, "leave out boxes below this confidence"},
    {0, "category", "NAME", "k", set_text, SHARED(category), 0, 0, "only boxes of this category, by name or number"},
    {0, "cuts", "auto|none|FILE", "k", set_text, SHARED(cuts), 0, 0,
     "frames that begin another scene, where no track goes on: those that differ much from the one before, none, or "
     "a file with a number in each line. Default: auto"},
    {0, "best", "N", "k", set_int, SHARED(best), 1, 100, "frames kept of each track. Default: 3"},
    {0, "apart", "SECONDS", "k", set_real, SHARED(apart), 0, 86400,
     "the least time between two of them. Default: 0.5"},
    {0, "burst", "SECONDS", "k", set_real, SHARED(burst), 0, 86400,
     "photos: those that follow each other within so many seconds are one burst. Default: 5"},
    {0, "times", "FILE.csv", "k", set_text, SHARED(times), 0, 0,
     "photos: when they were taken, in columns path and time, for those whose EXIF does not say so, or not rightly"},
    {0, "stream", "N", "k", set_int, SHARED(stream), 0, 1000, "which video stream of the file, from 0. Default: 0"},
    {0, "ffmpeg", "PROGRAM", "kd", set_text, SHARED(ffmpeg), 0, 0,
     "what decodes videos, version 4.4 or newer. Default: ffmpeg, from PATH"},
    {0, "frame-timeout", "SECONDS", "k", set_real, SHARED(timeout), 1, 86400,
     "give a video up when ffmpeg brings no frame for so long. Default: 60"},

    {0, "device", "auto|cpu|cuda[:N]", "emibgltswurkdn", set_device, SHARED(device), 0, 0,
     "where to compute. Default: a GPU if it can be used; -v says why not"},
    {0, "precision", PRECISIONS, "emibpgltswkdn", set_choice, SHARED(precision), REID_FP32, 0,
     "arithmetic. Default: fp32 on the CPU, fp16 on a GPU"},
    {0, "latency", NULL, "emibpgltswkdn", set_flag, SHARED(latency), 0, 0,
     "on a GPU: for one picture at a time, not for many (in the fingerprint)"},
    {0, "ranges", "FILE", "emibgltswkdn", set_text, PER_MODEL(ranges), 0, 0,
     "for int8: how large activations get, from reid calibrate --int8 with these weights"},
    {0, "no-fallback", NULL, "emipgltswk", set_flag, SHARED(no_fallback), 0, 0,
     "for int8: do not compute pictures whose activations leave the ranges again in FP32 (in the fingerprint), only "
     "count them"},
    {0, "kernels", "FILE", "emibpgltswkdn", set_text, SHARED(kernels), 0, 0,
     "GPU kernels from this copy of reid_kernels.cu. Default: those built in"},
    {0, "pack", "FILE", "emibgltswkdn", set_text, SHARED(pack), 0, 0,
     "GPU kernels compiled before, by reid pack: no NVRTC is needed"},
    {0, "chip", "sm_NN", "p", set_text, SHARED(chip), 0, 0, "which GPU the kernels are for. Default: this machine's"},
    {'o', "output", "FILE", "p", set_text, SHARED(output), 0, 0, "the pack"},
    {0, "isa", "auto|scalar|avx2|avx512|avx512_bf16|amx_bf16|avx512_vnni|amx_int8|neon", "emibgltswurfkdn", set_choice,
     SHARED(isa), REID_ISA_AUTO, 0,
     "CPU instructions, to test or compare. Default: the best that this CPU has"},
    {0, "batch", "N|auto", "emibpgltswkdn", set_int_or_auto, SHARED(batch), 1, 65536,
     "pictures computed together. Never changes the results"},
    {0, "threads", "N|auto", "emibpgltswurfkdn", set_int_or_auto, SHARED(threads), 1, 1024,
     "CPU threads. Never changes the results"},
    {0, "lanes", "N|auto", "sw", set_int_or_auto, SHARED(lanes), 1, 64,
     "batches computed side by side, each with --threads. Default: 1 on the CPU, 2 on a GPU"},
    {0, "memory", "BYTES", "emibgltswkdn", set_bytes, SHARED(memory), 0, 0,
     "limit for weights and activations, with K, M or G: the batch shrinks to fit"},
    {0, "decoders", "N|auto", "emgltswfkn", set_int_or_auto, SHARED(decoders), 1, 256,
     "threads that decode pictures. Default: one per CPU, at most 4"},
    {0, "jpeg", JPEG_DECODERS, "emgltswfdn", set_choice, SHARED(jpeg), 0, 0,
     "what decodes JPEG files: libturbojpeg, whose pixels are Pillow's, or the stb_image that is built in; they differ "
     "by a few levels, of which a warning tells when a gallery is by the other one. Default: auto, libturbojpeg where "
     "it is installed"},
    {0, "max-pixels", "N", "emgltswrfkn", set_long, SHARED(max_pixels), 1, 1000000000000,
     "refuse larger pictures before decoding them. Default: 200000000"},
    {0, "flip", NULL, "emibpgltswkdn", set_flag, SHARED(flip), 0, 0,
     "average with the mirrored picture (in the fingerprint)"},
    {0, "raw", NULL, "eibp", set_flag, SHARED(raw), 0, 0, "leave out L2 normalisation (in the fingerprint)"},
    {'o', "output", "FILE", "n", set_text, SHARED(output), 0, 0, "the template. Default: none, only the table"},
    {0, "goal", TEMPLATES, "n", set_choice, SHARED(goal), 0, 0,
     "throughput: pictures per second (default); latency: the same with one at a time; low-memory: the least memory "
     "with 70 % of the best pace; cpu: throughput without a GPU, which the template then says"},
    {0, "seconds", "S", "n", set_real, SHARED(seconds), 0, 86400, "how long to measure, about. Default: 60"},
    {0, "full", NULL, "n", set_flag, SHARED(full), 0, 0,
     "measure every setting five times, instead of searching among them: for comparison"},
    {0, "template", TEMPLATES "|FILE", "emibpgltswurfkd", set_text, SHARED(template), 0, 0,
     "device, batch, threads, lanes, decoders and memory as this template has them, which reid tune writes; options "
     "that are given as well come before it. throughput: a decoder per CPU; latency: one picture at a time; "
     "low-memory: that, and one decoder; cpu: throughput without a GPU"},
    {0, "json", NULL, "emibcgltjufkdn", set_flag, SHARED(json), 0, 0, "results as JSON on stdout"},
    {0, "stats", NULL, "emgk", set_flag, SHARED(stats), 0, 0,
     "at the end, on stderr: what reading, decoding, resizing and computing took, which of them was the bottleneck and "
     "what would help; with --json as a line of JSON"},
    {0, "trace", "FILE.json", "emg", set_text, SHARED(trace), 0, 0,
     "when each picture was read, decoded, resized, computed and handed out, what each thread did, memory, and the "
     "operations of the first 3 batches and of every 64th, for ui.perfetto.dev; about 2 KB for each picture"},
    {'q', "quiet", NULL, "emibpcgltsjwrufkn", set_flag, SHARED(quiet), 0, 0, "only errors on stderr, no progress bar"},
    {'v', "verbose", NULL, "emibpcgltsjwrufkn", set_flag, SHARED(verbose), 0, 0, "more on stderr; twice for debugging"},
    {0, "completion", "bash", "h", set_text, SHARED(completion), 0, 0, "print the completion script of a shell"},
    {0, "man", NULL, "h", set_flag, SHARED(man), 0, 0, "print the man page"},
    {'h', "help", NULL, "emibhvpcgltsjwrufkdn", set_flag, SHARED(help), 0, 0, "this text"},
    {0, NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL},
};

int option_applies(const option *spec, const command *c) { return strchr(spec->commands, c->letter) != NULL; }

static const option *find(const command *c, char letter, const char *name, size_t len) {
    for (const option *spec = OPTIONS; spec->help; spec++) {
        int same = name ? spec->name && strlen(spec->name) == len && memcmp(spec->name, name, len) == 0
                        : spec->letter == letter;
        if (same && option_applies(spec, c)) return spec;
    }
    return NULL;
}

static int usage_error(const command *c, const char *what, const char *arg) {
    say_error("%s: %s %s; see \"reid help %s\"", c->name, what, shown(arg), c->name);
    return 0;
}

/* Options of one model go to the latest -m, or to all models before the first. */
static int apply(options *o, const command *c, const option *spec, const char *value) {
    model_options *m = o->models ? &o->model[o->models - 1] : &o->every;
    char *base = spec->per_model ? (char *)m : (char *)o;
    int good = spec->set(o, spec, base + spec->offset, value), key = template_key(spec->name ? spec->name : "");
    if (good > 0 && key >= 0) o->given |= 1u << key;
    if (good > 0) return 1;
    if (good == 0)
        say_error("%s: --%s takes %s, not \"%s\"; see \"reid help %s\"", c->name, spec->name, spec->arg,
                  shown(value), c->name);
    return 0;
}

/* One argument that starts with "--"; returns how many arguments it used, 0 after an error. */
static int parse_long(options *o, const command *c, char **argv) {
    const char *name = argv[0] + 2, *value = strchr(name, '=');
    const option *spec = find(c, 0, name, value ? (size_t)(value - name) : strlen(name));
    if (!spec) return usage_error(c, "unknown option", argv[0]);
    if (!spec->arg) {
        if (value) return usage_error(c, "no value belongs to", argv[0]);
        return apply(o, c, spec, "");
    }
    if (value) return apply(o, c, spec, value + 1);
    if (!argv[1]) return usage_error(c, "a value is missing after", argv[0]);
    return apply(o, c, spec, argv[1]) ? 2 : 0;
}

/* "-q", "-qv", "-k5", "-k 5". */
static int parse_letters(options *o, const command *c, char **argv) {
    for (const char *at = argv[0] + 1; *at; at++) {
        const option *spec = find(c, *at, NULL, 0);
        if (!spec) return usage_error(c, "unknown option", argv[0]);
        if (!spec->arg) {
            if (!apply(o, c, spec, "")) return 0;
            continue;
        }
        if (at[1]) return apply(o, c, spec, at + 1);
        if (!argv[1]) return usage_error(c, "a value is missing after", argv[0]);
        return apply(o, c, spec, argv[1]) ? 2 : 0;
    }
    return 1;
}

/* The entry of a key, whichever commands take it. */
static const option *option_of_key(int key) {
    for (const option *spec = OPTIONS; spec->help; spec++)
        if (spec->name && strcmp(spec->name, TEMPLATE_KEY[key]) == 0) return spec;
    return NULL;
}

/* Where no option came before it. A value for what this command does not take is checked all the same. */
static int apply_template(options *o, const command *c) {
    settings_template t;
    if (!o->template) return 1;
    if (!template_read(&t, o->template)) return 0;
    for (int key = 0; key < TEMPLATE_KEYS; key++) {
        const option *spec = option_of_key(key);
        options checked = *o;
        if (!t.value[key][0]) continue;
        if (!spec || spec->set(&checked, spec, (char *)&checked + spec->offset, t.value[key]) <= 0) {
            say_error("%s, line %d: %s takes %s, not \"%s\"", shown(o->template), t.line[key], TEMPLATE_KEY[key],
                      spec ? spec->arg : "nothing", shown(t.value[key]));
            return 0;
        }
        if (option_applies(spec, c) && !(o->given & 1u << key)) *o = checked;
    }
    return 1;
}

/* A preset and the options that change it become one text. Returns 0 when that is too long. */
static int change_preset(const command *c, model_options *m) {
    size_t size = sizeof m->changed;
    if (!m->fields[0]) return 1;
    int n = snprintf(m->changed, size, "%s%s%s", m->preset ? m->preset : "", m->preset ? " " : "", m->fields);
    if (n < 0 || (size_t)n >= size) return usage_error(c, "too long for a preset", m->fields);
    m->preset = m->changed;
    return 1;
}

static int is_written(const option *spec) {
    return spec->offset == offsetof(options, output) || spec->offset == offsetof(options, trace) ||
           spec->offset == offsetof(options, page) || spec->offset == offsetof(options, html);
}

/* What an option names, where that is a file's name. doctor's -o is a PATH to which nothing is written. */
static const char *file_of(const options *o, const command *c, const option *spec) {
    if (!option_applies(spec, c) || spec->per_model || spec->set != set_text) return NULL;
    if (!strstr(spec->arg, "FILE") && (is_written(spec) || !strstr(spec->arg, "PATH"))) return NULL;
    return *(const char *const *)((const char *)o + spec->offset);
}

/* Groups of an earlier run may be replaced by those of this one. */
static int may_be_replaced(const option *spec) {
    return spec->offset == offsetof(options, carry) || spec->offset == offsetof(options, add);
}

static int is_read(const options *o, const command *c, const char *path) {
    int found = 0;
    for (int i = 0; i < o->operand_count; i++) found |= file_same(o->operands[i], path);
    for (int i = 0; i < o->models; i++) {
        const model_options *m = &o->model[i];
        found |= file_same(m->weights, path) || (m->ranges && file_same(m->ranges, path));
    }
    for (const option *spec = OPTIONS; spec->help && !found; spec++) {
        const char *file = is_written(spec) || may_be_replaced(spec) ? NULL : file_of(o, c, spec);
        found = file && file_same(file, path);
    }
    return found;
}

/* A slip of the hand must not replace what a command reads by what it writes. */
static int keep_inputs(const options *o, const command *c) {
    for (const option *spec = OPTIONS; spec->help; spec++) {
        const char *path = is_written(spec) ? file_of(o, c, spec) : NULL;
        if (!path || !is_read(o, c, path)) continue;
        say_error("%s: %s is both input and output", c->name, shown(path));
        return 0;
    }
    return 1;
}

int options_parse(options *o, const command *c, int argc, char **argv) {
    memset(o, 0, sizeof *o);
    o->threshold = o->min_conf = o->suggest = o->shrinkage = o->holdout = o->apart = o->burst = (double)NAN;
    o->count_seed = o->first_frame = -1;
    o->top_k = 5;
    o->by = REID_GROUP_MAX;
    o->rounds = 9;
    o->k1 = 20;
    o->k2 = 6;
    o->lambda = 0.3;
    o->alpha = 3;
    o->limit = 2, o->least_cosine = (double)NAN;
    o->fmr = 0.001;
    o->lease = 60;
    o->seconds = 60;
    o->prior = 0.5;
    o->max_pixels = 200000000;
    o->max_body = (size_t)64 << 20;
    o->connections = 1024;
    o->timeout = 60;
    o->idle = o->drain = 30;
    o->operands = need_array((size_t)argc + 1, sizeof *o->operands);
    if (!o->operands) return 0;
    for (int i = 0, plain = 0; i < argc;) {
        int used = 1;
        if (plain || argv[i][0] != '-' || !argv[i][1]) o->operands[o->operand_count++] = argv[i];
        else if (strcmp(argv[i], "--") == 0) plain = 1;
        else used = argv[i][1] == '-' ? parse_long(o, c, argv + i) : parse_letters(o, c, argv + i);
        if (!used) return 0;
        i += used;
    }
    o->operands[o->operand_count] = NULL;
    if (!apply_template(o, c) || !change_preset(c, &o->every)) return 0;
    for (int i = 0; i < o->models; i++)
        if (!change_preset(c, &o->model[i])) return 0;
    say_setup(o->quiet ? SAY_QUIET : o->verbose);
    return keep_inputs(o, c);
}
