#include "cli/option_table.h"

#include "cli/option_setters.h"
#include "cli/profile.h"

#include <stddef.h>
#include <string.h>

/* Sets of commands. */
enum {
    HAS_MODEL = EMBED | MATCH | INSPECT | BENCH | PACK | CONVERT | GALLERY | EVAL | CALIBRATE | SERVE | WORKER | FIT |
                TRACK | DOCTOR | TUNE,
    TAKES_M = HAS_MODEL & ~(INSPECT | CONVERT), /* the others name the weights as an argument */
    HAS_HEAD = HAS_MODEL & ~CONVERT,
    RUNS_MODEL = HAS_MODEL & ~(PACK | CONVERT | FIT),
    COMPILES_MODEL = RUNS_MODEL | PACK,
    GROUPS_CROPS = CLUSTER | REVIEW,
    SERVES = SERVE | WORKER,
    READS_IMAGES = EMBED | MATCH | GALLERY | EVAL | CALIBRATE | SERVE | WORKER | FIT | TRACK | TUNE,
    LISTS_IMAGES = EMBED | MATCH | GALLERY | TUNE, /* images, folders or a list on stdin as arguments */
    READS_BOXES = EMBED | MATCH | GALLERY | TUNE,
    HAS_LABELS = EVAL | CALIBRATE | FIT,
    COMPUTES = RUNS_MODEL | GROUPS_CROPS,
    PRINTS_JSON = EMBED | MATCH | INSPECT | BENCH | CONVERT | GALLERY | EVAL | CALIBRATE | MERGE | CLUSTER | FIT |
                  TRACK | DOCTOR | TUNE | IMPORT,
    REPLACES = EMBED | MERGE | MATCH | GALLERY | CALIBRATE | FIT | CONVERT | BENCH | PACK | CLUSTER | REVIEW | TUNE |
               IMPORT | SERVE,
    ALL = HAS_MODEL | MERGE | IMPORT | CLUSTER | REVIEW | HELP | VERSION
};

#define SET(kind) option_set_##kind
#define SHARED(field) 0, offsetof(options, field)
#define PER_MODEL(field) 1, offsetof(model_options, field)
#define SELF(field) 0, 0 /* the setter chooses its slots */

const option OPTIONS[] = {
    /* --- the model; the first row has to be -m --- */
    {'m', "model", "[NAME=]FILE", SERVES, OF_COMMAND, SET(model), 1, 0, 0, MAX_SERVED,
     "weights (safetensors) and the model's name for clients. Give it once for each model; two with a --gallery are an "
     "ensemble"},
    {'m', "model", "FILE", TAKES_M & ~SERVES, OF_COMMAND, SET(model), 1, 0, 0, MAX_MODELS,
     "weights (safetensors). Give it twice for an ensemble of two models"},
    {0, "net", "NAME", HAS_MODEL, OF_MODELS, SET(text), PER_MODEL(network), 0, 0,
     "network. Default: detected from the tensors in the file"},
    {0, "preset", "NAME", HAS_MODEL, OF_MODELS, SET(text), PER_MODEL(preset), 0, 0,
     "preprocessing, which the options from --filter to --size modify. Default: the preset named in the file, else the "
     "network's"},
    {0, "filter", "bilinear|bicubic", HAS_MODEL, OF_MODELS, SET(field), 1, 0, 0, 0, "filter for resizing"},
    {0, "resize", "straight|N", HAS_MODEL, OF_MODELS, SET(field), 1, 0, 0, 0,
     "resize straight to the network's input, or the short side to N pixels and crop the centre"},
    {0, "crop", "FRACTION", HAS_MODEL, OF_MODELS, SET(field), 1, 0, 0, 0,
     "fraction of the short side that is kept, timm's crop_pct; replaces --resize"},
    {0, "mean", "R,G,B", HAS_MODEL, OF_MODELS, SET(field), 1, 0, 0, 0,
     "subtracted from each channel of the network's input, after pixels are divided by 255; one number for all three"},
    {0, "std", "R,G,B", HAS_MODEL, OF_MODELS, SET(field), 1, 0, 0, 0, "divisor of each channel after that"},
    {0, "size", "HxW", HAS_MODEL, OF_MODELS, SET(size), 1, 0, 1, REID_MAX_INPUT,
     "input of the network in pixels, height first. Default: the preset's"},
    {0, "head", "none|file|seeded[:SEED]", HAS_HEAD, OF_MODELS, SET(head), 1, 0, 0, 0x7fffffffffffffff,
     "last linear layer: none, the one in the file, or a random one. Default: the one in the file, else none"},
    {0, "last-stride", "1|2", HAS_MODEL, OF_MODELS, SET(choice), PER_MODEL(last_stride), 1, 0,
     "stride of ResNet's layer4. Default: the one named in the file, else 2"},
    {0, "allow-unused", NULL, HAS_MODEL, OF_MODELS, SET(flag), PER_MODEL(allow_unused), 0, 0,
     "accept tensors that the network does not have"},

    /* --- inputs and outputs of embed, merge, match and doctor --- */
    {'o', "output", "FILE", EMBED, OF_COMMAND, SET(text), SHARED(output.path), 0, 0,
     "FILE.npy (with FILE.ids.txt and FILE.meta.json), FILE.jsonl or FILE.csv. Default (also with -): JSON lines on "
     "stdout"},
    {'o', "output", "FILE", MATCH, OF_COMMAND, SET(text), SHARED(output.path), 0, 0,
     "FILE.csv (one line per match: query, decision, rank, identity, score, probability, image), FILE.jsonl, or "
     "FILE.html (a page with each query and its three best matches, which can be filtered for doubtful or wrong ones). "
     "Default: a table on stdout, or JSON lines with --json"},
    {'o', "output", "FILE", MERGE, OF_COMMAND, SET(text), SHARED(output.path), 0, 0,
     "FILE.npy (with FILE.ids.txt and FILE.meta.json), FILE.jsonl or FILE.csv, in the format of the shards"},
    {'o', "output", "FILE", IMPORT, OF_COMMAND, SET(text), SHARED(output.path), 0, 0,
     "FILE.npy (with FILE.ids.txt and FILE.meta.json), FILE.jsonl or FILE.csv"},
    {0, "ids", "FILE", IMPORT, OF_COMMAND, SET(text), SHARED(import.ids), 0, 0,
     "the names of the rows, usually the paths of their images: one per line, or a CSV table with the column path and "
     "optionally id, identity, camera and time. Not needed if ROWS is a table that names its rows"},
    {0, "model", "NAME", IMPORT, OF_COMMAND, SET(text), SHARED(import.model), 0, 0,
     "the model that made the rows, with its version, such as miewid-msv3; rows of models with different names are "
     "never compared"},
    {0, "gallery", "PATH", MATCH | DOCTOR, OF_COMMAND, SET(text), SHARED(match.gallery), 0, 0,
     "a folder with a folder or an image per identity, a .npy file written by reid embed, a file of reid gallery, or "
     "postgresql://..."},
    {'o', "output", "PATH", DOCTOR, OF_COMMAND, SET(text), SHARED(output.path), 0, 0,
     "where results will be written, to check the free space. Default: the working directory"},
    {'k', "top", "N", MATCH | GALLERY | SERVES, OF_COMMAND, SET(int), SHARED(match.top_k), 1, 1000000,
     "identities listed for each query. Default: 5"},
    {0, "threshold", "T", MATCH | GALLERY | SERVES, OF_COMMAND, SET(score), SHARED(match.threshold), -1, 0,
     "a score of T or more is a match. Default: the gallery's; else 0.40 with two models; with one model there is no "
     "decision"},
    {0, "threshold", "T", DOCTOR, OF_COMMAND, SET(score), SHARED(match.threshold), -1, 0,
     "the threshold you intend to give to reid match; a missing calibration is then not reported"},
    {0, "threshold", "T", EVAL, OF_COMMAND, SET(score), SHARED(match.threshold), -1000, 0,
     "a score of T or more is a match, for BAKS, BAUS and ARI. Default: the best threshold for these images"},
    {0, "calibration", "FILE", MATCH | SERVES | GROUPS_CROPS | TRACK | DOCTOR, OF_COMMAND, SET(text),
     SHARED(match.calibration), 0, 0,
     "threshold, shares and probabilities from reid calibrate, for these models only"},
    {0, "score-weights", "W1,W2", MATCH | GALLERY | EVAL | SERVES | GROUPS_CROPS | TRACK, OF_COMMAND, SET(weights),
     SHARED(match.weights), 0, 1, "share of each model in the score, in the order of -m. Default: 0.6,0.4"},
    {0, "keep-self", NULL, MATCH | GALLERY, OF_COMMAND, SET(flag), SHARED(match.keep_self), 0, 0,
     "also compare a query with a gallery image that is the same file"},
    {0, "boxes", "FILE", READS_BOXES, OF_COMMAND, SET(text), SHARED(input.boxes), 0, 0,
     "crops instead of whole images, in the formats of reid track: the JSON of MegaDetector (either tool), COCO, CSV "
     "in pixels (path,x,y,width,height and optionally score, category, id, identity), or MOT text, whose frame numbers "
     "are those at the ends of the images' names. Photos are found by the ends of their paths"},
    {0, "min-conf", "P", READS_BOXES | GROUPS_CROPS, OF_COMMAND, SET(real), SHARED(input.min_conf), 0, 1,
     "with --boxes: leave out boxes below this confidence. Default: none are left out; MegaDetector writes boxes from "
     "0.005 on"},
    {0, "category", "NAME", READS_BOXES | GROUPS_CROPS, OF_COMMAND, SET(text), SHARED(input.category), 0, 0,
     "with --boxes: only this category, by name or number (animal or 1, person or 2, vehicle or 3)"},
    {'0', NULL, NULL, LISTS_IMAGES, OF_COMMAND, SET(flag), SHARED(input.nul_list), 0, 0,
     "the list on stdin is separated by zero bytes instead of line ends"},
    {0, "shard", "I/N", EMBED, OF_COMMAND, SET(shard), SELF(input.shard), 1, 1000000,
     "only the I-th of N consecutive slices of the inputs; reid merge joins the outputs into those of a single run"},
    {0, "resume", NULL, EMBED, OF_COMMAND, SET(flag), SHARED(output.resume), 0, 0,
     "continue from the FILE.part of an interrupted run, and keep it if interrupted again"},
    {0, "resume", NULL, TRACK, OF_COMMAND, SET(flag), SHARED(output.resume), 0, 0,
     "continue from the DIR.part of an interrupted run, after the videos it has finished, and keep it if interrupted "
     "again"},
    {0, "strict", NULL, EMBED | MATCH | GALLERY | HAS_LABELS, OF_COMMAND, SET(flag), SHARED(input.strict), 0, 0,
     "stop at the first input that fails: no output, exit status 1"},

    /* --- gallery --- */
    {0, "fp16", NULL, GALLERY, OF_COMMAND, SET(flag), SHARED(gallery.fp16), 0, 0,
     "create: store embeddings as FP16, in half the space"},
    {0, "like", "FILE", GALLERY, OF_COMMAND, SET(text), SHARED(gallery.like), 0, 0,
     "create: for the same models as this file or gallery; no -m is needed"},
    {0, "list", "FILE.csv", GALLERY, OF_COMMAND, SET(text), SHARED(gallery.list), 0, 0,
     "add: images and their identities; a header line and the columns path, identity, and optionally camera, time, id"},
    {0, "groups", "FILE.csv", GALLERY, OF_COMMAND, SET(text), SHARED(gallery.groups), 0, 0,
     "add: files of embeddings, with identities from this output of reid cluster; crops without a name are left out. "
     "Either all are added or none"},
    {0, "camera", "NAME", GALLERY, OF_COMMAND, SET(text), SHARED(gallery.camera), 0, 0,
     "add, search: the camera of these images"},
    {0, "time", "T", GALLERY, OF_COMMAND, SET(text), SHARED(gallery.time), 0, 0,
     "add: when these images were taken: 2024-05-31T06:30:00Z, 2024-05-31, or seconds since 1970"},
    {0, "identity", NULL, GALLERY, OF_COMMAND, SET(flag), SHARED(gallery.identity), 0, 0,
     "remove, list: identities instead of templates"},
    {0, "by", "template|max|mean|top", GALLERY, OF_COMMAND, SET(choice), SHARED(gallery.by), REID_ROWS, 0,
     "search: rank templates, or identities by their best template, by the mean of all, or of the --best. Default: "
     "max"},
    {0, "best", "M", GALLERY, OF_COMMAND, SET(int), SHARED(gallery.best), 1, REID_MAX_TOP,
     "search: number of templates for --by top. Default: 3"},
    {0, "other-camera", NULL, GALLERY, OF_COMMAND, SET(flag), SHARED(gallery.other_camera), 0, 0,
     "search: leave out templates from the query's own camera"},
    {0, "all", NULL, GALLERY, OF_COMMAND, SET(flag), SHARED(gallery.all_hits), 0, 0,
     "search: everything that reaches the threshold"},
    {0, "only", "IDENTITY", GALLERY, OF_COMMAND, SET(text), SHARED(gallery.only), 0, 0,
     "search: only templates of this identity"},
    {0, "in-camera", "NAME", GALLERY, OF_COMMAND, SET(text), SHARED(gallery.in_camera), 0, 0,
     "search: only templates from this camera"},
    {0, "from", "T", GALLERY, OF_COMMAND, SET(text), SHARED(gallery.from), 0, 0,
     "search: only templates seen at this time or later"},
    {0, "until", "T", GALLERY, OF_COMMAND, SET(text), SHARED(gallery.until), 0, 0,
     "search: only templates seen before this time"},
    {0, "exact", NULL, GALLERY, OF_COMMAND, SET(flag), SHARED(gallery.exact), 0, 0,
     "search: compare with every template, even in a large database. Gallery files are always searched exactly"},
    {0, "candidates", "N", GALLERY, OF_COMMAND, SET(int), SHARED(gallery.candidates), 1, 100000,
     "search: candidates to request from a database's index. Default: 200 or more for over 10000 templates, else all "
     "templates are compared"},
    {0, "salvage", NULL, GALLERY, OF_COMMAND, SET(flag), SHARED(gallery.salvage), 0, 0,
     "compact: leave out damaged records"},
    {'o', "output", "FILE", GALLERY, OF_COMMAND, SET(text), SHARED(output.path), 0, 0,
     "export: FILE.npy or FILE.fvecs (with FILE.ids.txt and FILE.meta.json), or FILE.jsonl"},
    {0, "root", "FOLDER", GALLERY, OF_COMMAND, SET(text), SHARED(reembed.root), 0, 0,
     "reembed: the images are below FOLDER on this machine, under the paths by which they were added"},
    {0, "lease", "S", GALLERY, OF_COMMAND, SET(real), SHARED(reembed.lease), 1, 86400,
     "reembed: seconds after which other workers take over what a silent worker has claimed. Default: 60"},
    {0, "status", NULL, GALLERY, OF_COMMAND, SET(flag), SHARED(reembed.status), 0, 0,
     "reembed: list the models and their progress"},
    {0, "compare", NULL, GALLERY, OF_COMMAND, SET(flag), SHARED(reembed.compare), 0, 0,
     "reembed: compare each template's nearest identity by the current and the new model, and calibrate a threshold "
     "for the new one"},
    {0, "switch", NULL, GALLERY, OF_COMMAND, SET(flag), SHARED(reembed.switch_over), 0, 0,
     "reembed: make the new model the gallery's, with its --threshold; all clients then embed with it"},
    {0, "partial", NULL, GALLERY, OF_COMMAND, SET(flag), SHARED(reembed.partial), 0, 0,
     "reembed --switch: even if some templates could not be embedded; searches leave these out"},
    {0, "back", NULL, GALLERY, OF_COMMAND, SET(flag), SHARED(reembed.back), 0, 0,
     "reembed: return to the models before the last switch"},
    {0, "drop", "FINGERPRINT", GALLERY, OF_COMMAND, SET(text), SHARED(reembed.drop), 0, 0,
     "reembed: delete a model that the gallery does not use, and its rows; for two models, FINGERPRINT+FINGERPRINT"},

    /* --- labels, evaluation, calibration, heads --- */
    {0, "labels", "FILE.csv", HAS_LABELS, OF_COMMAND, SET(text), SHARED(input.labels), 0, 0,
     "identities: columns path, identity, and optionally camera, role (query, gallery or both). Paths are relative to "
     "FOLDER. Default: from the layout of FOLDER, or from the ids"},
    {0, "unknown", "NAME", EVAL | CALIBRATE, OF_COMMAND, SET(text), SHARED(input.unknown), 0, 0,
     "images of identity NAME show strangers, possibly a different one each: in the gallery they are a wrong match for "
     "every query, no two of them are a genuine pair, and they are queries only if they are not in the gallery"},
    {0, "unknown", "NAME", MATCH, OF_COMMAND, SET(text), SHARED(input.unknown), 0, 0,
     "images of identity NAME show strangers: they are not part of the gallery, and in FILE.html the right decision "
     "for them is unknown"},
    {0, "unknown", "NAME", GALLERY, OF_COMMAND, SET(text), SHARED(input.unknown), 0, 0,
     "add: images of identity NAME show strangers, and are not added"},
    {0, "leave-out", "auto|camera|picture", HAS_LABELS, OF_COMMAND, SET(choice), SHARED(eval.leave_out), 0, 0,
     "never compare a query with itself (picture), nor with images of the same identity from the same camera (camera). "
     "Default: camera if all cameras are known, else picture"},
    {0, "rerank", NULL, EVAL, OF_COMMAND, SET(flag), SHARED(eval.rerank), 0, 0,
     "re-rank by k-reciprocal neighbours (Zhong et al. 2017)"},
    {0, "k1", "N", EVAL, OF_COMMAND, SET(int), SHARED(eval.k1), 1, 10000,
     "with --rerank: neighbours that must be mutual. Default: 20"},
    {0, "k2", "N", EVAL, OF_COMMAND, SET(int), SHARED(eval.k2), 1, 10000,
     "with --rerank: neighbours that are averaged. Default: 6"},
    {0, "lambda", "X", EVAL, OF_COMMAND, SET(real), SHARED(eval.lambda), 0, 1,
     "with --rerank: share of the original distance. Default: 0.3"},
    {0, "expand", "K", EVAL, OF_COMMAND, SET(int), SHARED(eval.expand), 1, 10000,
     "query expansion: replace every embedding by the mean of its K nearest, including itself"},
    {0, "alpha", "X", EVAL, OF_COMMAND, SET(real), SHARED(eval.alpha), 0, 100,
     "with --expand: weight neighbours by their cosine to this power. Default: 3"},
    {0, "compare", "A,B,...", EVAL, OF_COMMAND, SET(text), SHARED(eval.compare), 0, 0,
     "compare the first with the others; each is a precision, a device, DEVICE/PRECISION or a file of embeddings. Exit "
     "status 1 if one loses too much"},
    {0, "limit", "P", EVAL, OF_COMMAND, SET(real), SHARED(eval.limit), 0, 100,
     "with --compare: largest acceptable loss of rank-1 and of mAP, in percentage points. Default: 2"},
    {0, "least-cosine", "X", EVAL, OF_COMMAND, SET(real), SHARED(eval.least_cosine), -1, 1,
     "with --compare: least acceptable cosine between an image's embeddings by the first and by another. Default: 0.98 "
     "for precisions and devices, any for files"},
    {0, "draws", "N", HAS_LABELS, OF_COMMAND, SET(int), SHARED(eval.draws), 10, 1000000,
     "bootstrap draws of identities for the 95 % intervals. Default: 1000, fewer when calibrate has many pairs"},
    {'o', "output", "FILE", CALIBRATE, OF_COMMAND, SET(text), SHARED(output.path), 0, 0,
     "the calibration (JSON), for reid match --calibration. Default: calibration.json in a folder of reid track; with "
     "--int8 the ranges (safetensors), for --ranges"},
    {0, "int8", NULL, CALIBRATE, OF_COMMAND, SET(flag), SHARED(calibrate.int8), 0, 0,
     "measure the ranges of -m's activations on INPUT, for --precision int8, instead of calibrating scores"},
    {0, "pairs", "FILE.csv", CALIBRATE, OF_COMMAND, SET(text), SHARED(calibrate.pairs), 0, 0,
     "only these pairs: columns first,second,same (1 or 0). Paths are relative to FOLDER"},
    {0, "unlabelled", NULL, CALIBRATE, OF_COMMAND, SET(flag), SHARED(calibrate.unlabelled), 0, 0,
     "learn without labels although the files have identities, such as folders that are cameras; not needed where they "
     "have none"},
    {0, "decisions", "FILE", CALIBRATE, OF_COMMAND, SET(text), SHARED(cluster.decisions), 0, 0,
     "without labels: decisions made in reid review, which correct what scores alone suggest. Default: decisions.jsonl "
     "in a folder of reid track"},
    {0, "same-time", "SECONDS", CALIBRATE, OF_COMMAND, SET(real), SHARED(calibrate.same_time), 0, 86400,
     "without labels: crops of two cameras, taken within SECONDS of each other, show different individuals. For "
     "cameras that are far apart and whose clocks agree. Default: they may show the same one"},
    {0, "gallery", "FILE", CALIBRATE, OF_COMMAND, SET(text), SHARED(match.gallery), 0, 0,
     "also store the threshold in this file of reid gallery, or postgresql://...; with two models, give "
     "--score-weights"},
    {0, "fmr", "X", CALIBRATE | GALLERY, OF_COMMAND, SET(share), SHARED(calibrate.fmr), 0, 0,
     "false-match rate: the share of pairs of different individuals that may be accepted. Default: 0.001; 0.01 when "
     "calibrate has no labels or a folder of reid track, because that threshold is for grouping"},
    {0, "prior", "P", CALIBRATE, OF_COMMAND, SET(share), SHARED(calibrate.prior), 0, 0,
     "prior probability that a pair shows one individual, for the probabilities. Default: 0.5"},
    {0, "method", CALIBRATION_METHODS, CALIBRATE, OF_COMMAND, SET(choice), SHARED(calibrate.method), 0, 0,
     "from scores to probabilities: a curve with two parameters, or steps, which need many pairs. Default: logistic"},
    {0, "score-weights", "W1,W2", CALIBRATE, OF_COMMAND, SET(weights), SHARED(match.weights), 0, 1,
     "share of each model in the score. Default: fitted to the pairs"},
    {'o', "output", "FILE.safetensors", FIT, OF_COMMAND, SET(text), SHARED(output.path), 0, 0,
     "the weights of -m with the fitted head, for every command"},
    {0, "method", FIT_METHODS, FIT, OF_COMMAND, SET(choice), SHARED(fit.method), 0, 0,
     "how the directions of the head are chosen. Default: auto, the best method in cross-validation"},
    {0, "shrinkage", "X", FIT, OF_COMMAND, SET(real), SHARED(fit.shrinkage), 0, 1,
     "shrink the within-individual covariance towards a multiple of the identity matrix: 0 not at all, 1 fully. "
     "Default: chosen by cross-validation over individuals"},
    {0, "dim", "N", FIT, OF_COMMAND, SET(long), SHARED(fit.dim), 1, 65536,
     "directions kept for each pooled vector; the head's other outputs are 0. Default: all"},
    {0, "report", NULL, FIT, OF_COMMAND, SET(flag), SHARED(fit.report), 0, 0,
     "rank-1, mAP and AUC on held-out individuals, with and without the fitted head"},
    {0, "holdout", "P", FIT, OF_COMMAND, SET(share), SHARED(fit.holdout), 0, 0,
     "with --report: hold out this share of the individuals, once. Default: a third of them, three times"},
    {0, "seed", "N", FIT, OF_COMMAND, SET(long), SHARED(fit.seed), 0, 0x7fffffffffffffff,
     "seed for choosing the held-out individuals. Default: 0"},

    /* --- convert, inspect, bench --- */
    {0, "head", "LAYER[,LAYER]...", CONVERT, OF_COMMAND, SET(text), SHARED(convert.layers), 0, 0,
     "layers of the file that turn pooled features into the embedding, by the names of their tensors without .weight: "
     "fc, or bnneck,fc. One must be linear; batch norms are folded into it; relu, silu or tanh may come last. Default: "
     "those of known layouts"},
    {0, "key", "NAME", CONVERT, OF_COMMAND, SET(text), SHARED(convert.key), 0, 0,
     "which entry of the file holds the network: state_dict, ema, ... Default: the best fit"},
    {0, "plan", NULL, INSPECT, OF_COMMAND, SET(flag), SHARED(inspect.plan), 0, 0,
     "list every operation with its shapes, multiply-adds and bytes"},
    {0, "condition", NULL, INSPECT, OF_COMMAND, SET(flag), SHARED(inspect.condition), 0, 0,
     "for the images given after WEIGHTS: the largest activations, compared with FP16's limit, and how far their "
     "embeddings move when pixels change by a millionth"},
    {0, "tensors", NULL, INSPECT, OF_COMMAND, SET(flag), SHARED(inspect.tensors), 0, 0,
     "list every tensor and whether the network uses it"},
    {0, "batches", "N,...", BENCH, OF_COMMAND, SET(batches), SHARED(bench.batch_list), 1, 65536,
     "images per call, one row of the table for each. Default: 1,8,32"},
    {0, "rounds", "N", BENCH, OF_COMMAND, SET(int), SHARED(bench.rounds), 1, 1000,
     "measurements; their median is reported. Default: 9"},
    {0, "ops", NULL, BENCH, OF_COMMAND, SET(flag), SHARED(bench.ops), 0, 0,
     "also list every operation, with its kernel and its share of the ceilings"},
    {0, "report", "FILE.html", BENCH, OF_COMMAND, SET(text), SHARED(bench.page), 0, 0,
     "also draw the operations' times and their distance from the ceilings as a page for the browser"},
    {0, "tune", NULL, BENCH, OF_COMMAND, SET(flag), SHARED(bench.tune), 0, 0,
     "instead measure every tile of Hopper's convolutions, and store the times in the cache for later starts on this "
     "chip"},
    {0, "start", "N", BENCH, OF_COMMAND, SET(int), SHARED(bench.starts), 1, 1000,
     "first create the network N times, and report the milliseconds up to the first embedding"},
    {0, "peak-gflops", "X", BENCH, OF_COMMAND, SET(real), SHARED(bench.peak_gflops), 0, 1000000000,
     "the machine's peak for this precision. Default: measured on the CPU, unknown on a GPU"},
    {0, "peak-gbs", "X", BENCH, OF_COMMAND, SET(real), SHARED(bench.peak_gbs), 0, 1000000000,
     "memory bandwidth in GB/s. Default: measured on the CPU, unknown on a GPU"},
    {'o', "output", "FILE.json", BENCH, OF_COMMAND, SET(text), SHARED(output.path), 0, 0,
     "also write the results as JSON"},

    /* --- serve and worker --- */
    {0, "config", "FILE", SERVES, OF_COMMAND, SET(text), SHARED(config), 0, 0,
     "options from a file, one per line, for example max-body = 64M. The command line and environment variables "
     "override it; reid help serve --environment lists the variables (for worker: reid help worker --environment)"},
    {0, "gallery", "PATH", SERVES, OF_COMMAND, SET(text), SHARED(match.gallery), 0, 0,
     "known individuals: a folder with a folder or an image per identity, a .npy file written by reid embed, a file of "
     "reid gallery, or postgresql://...; read at the start"},
    {0, "socket", "PATH", SERVE, OF_COMMAND, SET(text), SHARED(serve.socket), 0, 0,
     "listen on this Unix socket, to which only you can connect. Default without --listen: $XDG_RUNTIME_DIR/reid.sock"},
    {0, "listen", "HOST:PORT", SERVE, OF_COMMAND, SET(text), SHARED(serve.listen), 0, 0,
     "listen on TCP: 127.0.0.1:8000, [::1]:8000; port 0 chooses a free one. Other addresses require --token-file"},
    {0, "token-file", "FILE", SERVE, OF_COMMAND, SET(text), SHARED(serve.token_file), 0, 0,
     "a file with the token that TCP clients send as Authorization: Bearer TOKEN, or lines NAME TOKEN for several "
     "tokens. It must be yours or root's, and no other user may write to it"},
    {0, "tls-cert", "FILE", SERVE, OF_COMMAND, SET(text), SHARED(serve.tls_cert), 0, 0,
     "TCP clients connect by https (TLS 1.2 or 1.3): a PEM file with the certificate, then those of its issuers"},
    {0, "tls-key", "FILE", SERVE, OF_COMMAND, SET(text), SHARED(serve.tls_key), 0, 0,
     "its private key, a PEM file without a password. It must be root's, or yours and readable only by you"},
    {0, "access-log", "FILE|-", SERVE, OF_COMMAND, SET(text), SHARED(serve.access_log), 0, 0,
     "append a line of JSON for each request to this file, or to stdout: time, id, client, token's name, method, path, "
     "model, images, bytes, status, milliseconds (in total, in the queue, and to compute the batch), and the number of "
     "images in the batch. After you have renamed the file, SIGUSR1 opens a new one"},
    {0, "trace", "FILE.json", SERVE, OF_COMMAND, SET(text), SHARED(output.trace), 0, 0,
     "a trace for ui.perfetto.dev, written when the server stops: each request, how long it waited for a batch and was "
     "computed, with its X-Request-ID and the trace id of its traceparent; about 1 KB per request"},
    {0, "lazy", NULL, SERVE, OF_COMMAND, SET(flag), SHARED(serve.lazy), 0, 0,
     "open each model at its first request, not at the start. If it does not fit (--memory), idle models are closed, "
     "the least recently used first"},
    {0, "model-control", NULL, SERVE, OF_COMMAND, SET(flag), SHARED(serve.model_control), 0, 0,
     "let clients load, reload and unload models: POST /v2/repository/models/NAME/load and /unload"},
    {0, "limit", "N|auto", SERVES, OF_COMMAND, SET(int_or_auto), SHARED(serve.waiting), 1, 1048576,
     "images that may wait; further requests get 503. Default: 1024, or 8 batches if that is more"},
    {0, "delay", "MS", SERVES, OF_COMMAND, SET(real), SHARED(serve.delay), 0, 10000,
     "milliseconds that an idle lane waits for a batch to fill. Default: 0"},
    {0, "timeout", "SECONDS", SERVES, OF_COMMAND, SET(real), SHARED(serve.timeout), 0, 86400,
     "requests without a timeout of their own get 504 after this time; 0: never. Default: 60"},
    {0, "max-body", "BYTES", SERVES, OF_COMMAND, SET(bytes), SHARED(serve.max_body), 0, 0,
     "larger requests get 413; K, M and G are units. Default: 64M"},
    {0, "connections", "N", SERVE, OF_COMMAND, SET(int), SHARED(serve.connections), 1, 100000,
     "connections at a time; further ones get 503. Default: 1024"},
    {0, "idle", "SECONDS", SERVE, OF_COMMAND, SET(int), SHARED(serve.idle), 1, 86400,
     "close connections that are idle this long, or that send or read more slowly than 64 KiB a second; in the middle "
     "of a request they get 408 first. Default: 30"},
    {0, "drain", "SECONDS", SERVES, OF_COMMAND, SET(int), SHARED(serve.drain), 0, 86400,
     "when stopped: how long accepted requests may take. Default: 30"},

    /* --- cluster and review --- */
    {'o', "output", "FILE", CLUSTER, OF_COMMAND, SET(text), SHARED(output.path), 0, 0,
     "FILE.csv or FILE.json; INPUT itself, to rewrite the tables of a folder of reid track; with --camtrap-dp a new "
     "folder. Default: CSV on stdout, or JSON with --json"},
    {0, "threshold", "T", GROUPS_CROPS | TRACK, OF_COMMAND, SET(score), SHARED(match.threshold), -1, 0,
     "join groups down to this mean score. Default: the calibration's, else the one stored with the inputs, else one "
     "that is estimated without labels (reid calibrate), else a guess: 0.65, or 0.40 with two models"},
    {0, "method", LINKAGES, CLUSTER, OF_COMMAND, SET(choice), SHARED(cluster.linkage), 0, 0,
     "join groups by the mean of all their scores, or, for comparison, by only the best one (the connected components "
     "of all pairs at the threshold), which ignores decisions, frames and tracks"},
    {0, "suggest", "T", GROUPS_CROPS, OF_COMMAND, SET(score), SHARED(cluster.suggest), -1, 0,
     "suggest pairs of groups with a mean score from T to the threshold for review. Default: the score at which the "
     "calibration gives a probability of 10 %, else 0.1 below the threshold"},
    {0, "same-frame", NULL, GROUPS_CROPS, OF_COMMAND, SET(flag), SHARED(cluster.same_frame), 0, 0,
     "crops of one image (by --boxes, else PATH#0, PATH#1, ...) show different individuals; automatic for a folder of "
     "reid track"},
    {0, "tracks", "FILE.csv", GROUPS_CROPS, OF_COMMAND, SET(text), SHARED(cluster.tracks), 0, 0,
     "columns id and track: crops of one track show one individual"},
    {0, "decisions", "FILE", CLUSTER, OF_COMMAND, SET(text), SHARED(cluster.decisions), 0, 0,
     "decisions made in reid review, which override scores: a journal, or the postgresql://... address of a gallery "
     "that stores decisions. Default: decisions.jsonl in a folder of reid track"},
    {0, "carry", "FILE.csv", GROUPS_CROPS, OF_COMMAND, SET(text), SHARED(cluster.carry), 0, 0,
     "an earlier output: groups keep the numbers and names of the earlier groups with which they share most crops, "
     "except names that have since been withdrawn or given to another group"},
    {0, "add", "FILE.csv", CLUSTER, OF_COMMAND, SET(text), SHARED(cluster.add), 0, 0,
     "an earlier output whose groups stay unchanged: new crops join one, are suggested for one, or form new groups"},
    {0, "labels", "FILE.csv", MATCH, OF_COMMAND, SET(text), SHARED(input.labels), 0, 0,
     "for FILE.html: the queries' true identities, in columns path and identity, so that the page marks right and "
     "wrong matches. An identity that is not in the gallery is a stranger. Default: a query's folder, if it is named "
     "like an identity of the gallery"},
    {0, "labels", "FILE.csv", CLUSTER, OF_COMMAND, SET(text), SHARED(input.labels), 0, 0,
     "the crops' true identities, in columns path and identity, to measure how well the groups agree with them"},
    {0, "own-labels", NULL, CLUSTER, OF_COMMAND, SET(flag), SHARED(cluster.own_labels), 0, 0,
     "measure the same against the identities in the input files"},
    {0, "explain", NULL, CLUSTER, OF_COMMAND, SET(flag), SHARED(cluster.explain), 0, 0,
     "the last two arguments are ids: show which joins brought their crops together, or what kept them apart"},
    {0, "count", NULL, CLUSTER, OF_COMMAND, SET(flag), SHARED(count.asked), 0, 0,
     "instead of groups: estimate the number of individuals, with a 95 % interval, from the answers to reid review "
     "--count in --decisions"},
    {0, "count", NULL, REVIEW, OF_COMMAND, SET(flag), SHARED(count.asked), 0, 0,
     "ask about the pairs that reid cluster --count needs, instead of the most doubtful ones"},
    {0, "sample", "N", GROUPS_CROPS, OF_COMMAND, SET(int), SHARED(count.sample), 2, 1000000,
     "with --count: number of crops drawn. A larger sample contains the smaller one. Default: 50"},
    {0, "per-crop", "M", GROUPS_CROPS, OF_COMMAND, SET(int), SHARED(count.per_crop), 1, 1000000,
     "with --count: average number of comparisons per crop; poor scores need more. Default: 20"},
    {0, "seed", "N", GROUPS_CROPS, OF_COMMAND, SET(long), SHARED(count.seed), 0, 0x7fffffffffffffff,
     "with --count: seed for drawing the crops. Default: 0"},
    {0, "decisions", "FILE", REVIEW, OF_COMMAND, SET(text), SHARED(cluster.decisions), 0, 0,
     "the journal of decisions (decisions.jsonl), created if it does not exist; or the postgresql://... address of a "
     "gallery, which keeps them in a table"},
    {0, "by", "NAME", REVIEW, OF_COMMAND, SET(text), SHARED(review.by_whom), 0, 0,
     "the name recorded with each decision, unless another is typed on the page. Default: the page asks, and suggests "
     "your user name unless it is made with --html"},
    {0, "camtrap-dp", "PACKAGE", CLUSTER, OF_COMMAND, SET(text), SHARED(cluster.camtrap), 0, 0,
     "write the groups as observations into a copy of this Camtrap DP (a folder with datapackage.json, deployments and "
     "media; images are matched to media by the ends of their paths); -o is the new folder"},
    {0, "species", "NAME", CLUSTER, OF_COMMAND, SET(text), SHARED(cluster.species), 0, 0,
     "with --camtrap-dp: the scientific name for all observations. Default: none"},
    {0, "boxes", "FILE", GROUPS_CROPS, OF_COMMAND, SET(text), SHARED(input.boxes), 0, 0,
     "the boxes that were given to reid embed, to find the crops with their ids"},
    {0, "pictures", "FOLDER", GROUPS_CROPS, OF_COMMAND, SET(text), SHARED(cluster.pictures), 0, 0,
     "the folder to which paths in ids and in --boxes are relative. Default: for a folder of reid track, that folder; "
     "else the working directory"},
    {0, "listen", "HOST:PORT", REVIEW, OF_COMMAND, SET(text), SHARED(serve.listen), 0, 0,
     "address of the page, on this machine. Default: 127.0.0.1:0, any free port"},
    {0, "html", "FILE", REVIEW, OF_COMMAND, SET(text), SHARED(review.html), 0, 0,
     "write the page as a single file that needs no server; it saves decisions to a file for --import"},
    {0, "import", "FILE", REVIEW, OF_COMMAND, SET(text), SHARED(review.import), 0, 0,
     "add the decisions that a page of --html saved, or those stored in the gallery at postgresql://..., and exit"},

    /* --- track --- */
    {'o', "output", "DIR", TRACK, OF_COMMAND, SET(text), SHARED(output.path), 0, 0,
     "a new folder, which appears when everything is done"},
    {0, "detections", "FILE", TRACK, OF_COMMAND, SET(text), SHARED(track.detections), 0, 0,
     "a detector's boxes: MOT text, the JSON of MegaDetector (either tool), COCO, or CSV (frame,x,y,w,h and optionally "
     "score, category, video; for photos path,x,y,width,height). Photos are found by the ends of their paths"},
    {0, "first-frame", "0|1", TRACK, OF_COMMAND, SET(choice), SHARED(track.first_frame), 0, 0,
     "number of the first frame in --detections and --cuts. Default: 1 for MOT text, else 0"},
    {0, "min-conf", "P", TRACK, OF_COMMAND, SET(real), SHARED(input.min_conf), 0, 1,
     "leave out boxes below this confidence. Default: none are left out; MegaDetector writes boxes from 0.005 on"},
    {0, "category", "NAME", TRACK, OF_COMMAND, SET(text), SHARED(input.category), 0, 0,
     "only boxes of this category, by name or number"},
    {0, "cuts", "auto|none|FILE", TRACK, OF_COMMAND, SET(text), SHARED(track.cuts), 0, 0,
     "frames that start a new scene, where all tracks end: those that differ much from the previous frame, none, or a "
     "file with one frame number per line. Default: auto"},
    {0, "best", "N", TRACK, OF_COMMAND, SET(int), SHARED(track.best), 1, 100, "frames kept of each track. Default: 3"},
    {0, "apart", "SECONDS", TRACK, OF_COMMAND, SET(real), SHARED(track.apart), 0, 86400,
     "least time between two frames kept of a track. Default: 0.5"},
    {0, "burst", "SECONDS", TRACK, OF_COMMAND, SET(real), SHARED(track.burst), 0, 86400,
     "photos: those taken within this time of each other form a burst. Default: 5"},
    {0, "times", "FILE.csv", TRACK, OF_COMMAND, SET(text), SHARED(track.times), 0, 0,
     "photos: when they were taken, in columns path and time, for those whose EXIF time is missing or wrong"},
    {0, "stream", "N", TRACK, OF_COMMAND, SET(int), SHARED(track.stream), 0, 1000,
     "which video stream of the file, counted from 0. Default: 0"},
    {0, "ffmpeg", "PROGRAM", TRACK | DOCTOR, OF_COMMAND, SET(text), SHARED(track.ffmpeg), 0, 0,
     "the ffmpeg that decodes videos, version 4.4 or newer. Default: ffmpeg, from PATH"},
    {0, "frame-timeout", "SECONDS", TRACK, OF_COMMAND, SET(real), SHARED(track.frame_timeout), 1, 86400,
     "give up on a video when ffmpeg delivers no frame for this long. Default: 60"},

    /* --- device, threads, memory --- */
    {0, "device", "auto|cpu|cuda[:N]", COMPUTES, OF_DEVICES, SET(device), SELF(compute.device), 0, 0,
     "where to compute. Default: a GPU if it can be used; -v says why not"},
    {0, "precision", PRECISIONS, COMPILES_MODEL, OF_DEVICES, SET(choice), SHARED(compute.precision), REID_FP32, 0,
     "precision of the arithmetic. Default: fp32 on the CPU, fp16 on a GPU"},
    {0, "latency", NULL, COMPILES_MODEL, OF_DEVICES, SET(flag), SHARED(compute.latency), 0, 0,
     "on a GPU: fast for one image at a time, slower for many (changes the fingerprint)"},
    {0, "ranges", "FILE", RUNS_MODEL, OF_DEVICES, SET(text), PER_MODEL(ranges), 0, 0,
     "for int8: ranges of the activations, from reid calibrate --int8 with these weights"},
    {0, "no-fallback", NULL, COMPILES_MODEL & ~(BENCH | DOCTOR | TUNE), OF_DEVICES, SET(flag),
     SHARED(compute.no_fallback), 0, 0,
     "for int8: only count images whose activations exceed the ranges, instead of recomputing them in FP32 (changes "
     "the fingerprint)"},
    {0, "kernels", "FILE", COMPILES_MODEL, OF_DEVICES, SET(text), SHARED(compute.kernels), 0, 0,
     "GPU kernels from this copy of reid_kernels.cu. Default: those compiled in"},
    {0, "pack", "FILE", RUNS_MODEL, OF_DEVICES, SET(text), SHARED(compute.pack), 0, 0,
     "GPU kernels compiled in advance by reid pack; NVRTC is then not needed"},
    {0, "chip", "sm_NN", PACK, OF_COMMAND, SET(text), SHARED(compute.chip), 0, 0,
     "the GPU to compile for. Default: this machine's"},
    {'o', "output", "FILE", PACK, OF_COMMAND, SET(text), SHARED(output.path), 0, 0, "the file of kernels, for --pack"},
    {0, "isa", "auto|scalar|avx2|avx512|avx512_bf16|amx_bf16|avx512_vnni|amx_int8|neon", COMPUTES | FIT, OF_DEVICES,
     SET(choice), SHARED(compute.isa), REID_ISA_AUTO, 0,
     "CPU instruction set, for tests and comparisons. Default: the best one of this CPU"},
    {0, "batch", "N|auto", COMPILES_MODEL, OF_DEVICES, SET(int_or_auto), SHARED(compute.batch), 1, 65536,
     "images computed together. Never changes the results"},
    {0, "threads", "N|auto", COMPILES_MODEL | GROUPS_CROPS | FIT, OF_DEVICES, SET(int_or_auto),
     SHARED(compute.threads), 1, 1024, "CPU threads. Never changes the results"},
    {0, "lanes", "N|auto", SERVES, OF_DEVICES, SET(int_or_auto), SHARED(compute.lanes), 1, 64,
     "batches computed at once, each with --threads. Default: 1 on the CPU, 2 on a GPU"},
    {0, "memory", "BYTES", RUNS_MODEL & ~SERVES, OF_DEVICES, SET(bytes), SHARED(compute.memory), 0, 0,
     "limit for weights and activations, in bytes or with K, M or G: the batch shrinks to fit"},
    {0, "memory", "BYTES", SERVES, OF_DEVICES, SET(bytes), SHARED(compute.memory), 0, 0,
     "serve and worker: limit for the weights and activations of all models together: the batch of each shrinks to fit "
     "into what the others leave. During a reload it holds for the new models alone"},
    {0, "decoders", "N|auto", READS_IMAGES, OF_DEVICES, SET(int_or_auto), SHARED(input.decoders), 1, 256,
     "threads that decode images. Default: one per CPU, at most 4; if a GPU computes, the number of CPUs minus "
     "--lanes"},
    {0, "jpeg", JPEG_DECODERS, (READS_IMAGES & ~TRACK) | DOCTOR, OF_DEVICES, SET(choice), SHARED(input.jpeg), 0, 0,
     "JPEG decoder: libturbojpeg, whose pixels equal Pillow's, or the built-in stb_image. They differ by a few levels; "
     "a gallery made with the other one causes a warning. Default: auto, libturbojpeg if installed"},
    {0, "max-pixels", "N", READS_IMAGES | REVIEW, OF_DEVICES, SET(long), SHARED(input.max_pixels), 1, 1000000000000,
     "refuse larger images before decoding them. Default: 200000000"},
    {0, "flip", NULL, COMPILES_MODEL, OF_MODELS, SET(flag), SHARED(compute.flip), 0, 0,
     "average with the mirrored image (changes the fingerprint)"},
    {0, "raw", NULL, EMBED | INSPECT | BENCH | PACK, OF_MODELS, SET(flag), SHARED(compute.raw), 0, 0,
     "no L2 normalisation (changes the fingerprint)"},
    {'o', "output", "FILE", TUNE, OF_COMMAND, SET(text), SHARED(output.path), 0, 0,
     "the profile. Default: none, only the table"},
    {0, "goal", PROFILES, TUNE, OF_COMMAND, SET(choice), SHARED(tune.goal), 0, 0,
     "throughput: images per second (default); latency: the same with one image at a time; low-memory: the least "
     "memory with 70 % of the best pace; cpu: throughput without a GPU, which the profile then excludes"},
    {0, "seconds", "S", TUNE, OF_COMMAND, SET(real), SHARED(tune.seconds), 0, 86400,
     "approximate duration of the measurements. Default: 60"},
    {0, "full", NULL, TUNE, OF_COMMAND, SET(flag), SHARED(tune.full), 0, 0,
     "measure every setting five times instead of searching, for comparison"},
    {0, "profile", PROFILES "|FILE", (COMPILES_MODEL & ~TUNE) | GROUPS_CROPS | FIT, OF_DEVICES, SET(text),
     SHARED(profile), 0, 0,
     "device, batch, threads, lanes, decoders and memory from a file written by reid tune, or from a predefined "
     "profile; options override it. throughput: a decoder per CPU; latency: one image at a time; low-memory: also one "
     "decoder; cpu: throughput without a GPU"},

    {0, "force", NULL, REPLACES, OF_COMMAND, SET(flag), SHARED(output.force), 0, 0,
     "also replace files of other kinds: without it, a file is replaced only if it looks like what this command "
     "writes. Inputs are never replaced"},

    /* --- messages --- */
    {0, "json", NULL, PRINTS_JSON, OF_COMMAND, SET(flag), SHARED(output.json), 0, 0, "results as JSON on stdout"},
    {0, "stats", NULL, EMBED | MATCH | GALLERY | TRACK, OF_COMMAND, SET(flag), SHARED(output.stats), 0, 0,
     "at the end, on stderr: the time spent reading, decoding, resizing and computing, the bottleneck, and what would "
     "help; a line of JSON with --json"},
    {0, "trace", "FILE.json", EMBED | MATCH | GALLERY, OF_COMMAND, SET(text), SHARED(output.trace), 0, 0,
     "a trace for ui.perfetto.dev: when each image was read, decoded, resized, computed and written, what each thread "
     "did, memory, and the operations of the first 3 batches and of every 64th; about 2 KB per image"},
    {'q', "quiet", NULL, ALL & ~(DOCTOR | HELP | VERSION), OF_COMMAND, SET(flag), SHARED(output.quiet), 0, 0,
     "only errors on stderr, no progress bar"},
    {'v', "verbose", NULL, ALL & ~(DOCTOR | HELP | VERSION), OF_COMMAND, SET(flag), SHARED(output.verbose), 0, 0,
     "more messages on stderr; twice for debugging"},
    {0, "completion", "bash|zsh|fish", HELP, OF_COMMAND, SET(text), SHARED(help.completion), 0, 0,
     "print the completion script for a shell"},
    {0, "environment", NULL, HELP, OF_COMMAND, SET(flag), SHARED(help.environment), 0, 0,
     "for serve and worker: list the environment variables that set their options"},
    {0, "man", NULL, HELP, OF_COMMAND, SET(flag), SHARED(help.man), 0, 0, "print the man page"},
    {'h', "help", NULL, ALL, OF_COMMAND, SET(flag), SHARED(help.asked), 0, 0, "this text"},
    {0, NULL, NULL, 0, OF_COMMAND, NULL, 0, 0, 0, 0, NULL},
};

int option_applies(const option *spec, const command *c) { return (spec->commands & c->self) != 0; }

const option *option_find(const command *c, char letter, const char *name, size_t len) {
    for (const option *spec = OPTIONS; spec->help; spec++) {
        int same = name ? spec->name && strlen(spec->name) == len && memcmp(spec->name, name, len) == 0
                        : spec->letter == letter;
        if (same && option_applies(spec, c)) return spec;
    }
    return NULL;
}
