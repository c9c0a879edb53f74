/* Turns the command's options into the requests that other rooms take. */
#ifndef REID_TOOLS_REQUESTS_H
#define REID_TOOLS_REQUESTS_H

#include "cli/options.h"
#include "embedding/models.h"
#include "embedding/output.h"
#include "embedding/stream.h"
#include "evaluate/evaluation.h"
#include "gallery/gallery.h"
#include "pictures/collect.h"

/* The argument of reid_create. error may be NULL. */
reid_desc model_desc(const options *o, const model_options *m, reid_error *error);
/* Opens the models of every -m. Returns 0 after saying which one failed and why. */
int open_models(models *all, const options *o);

decode_settings decoding(const options *o);
/* Opens the file of --trace; *to is NULL without the option. Returns 0 after saying why that failed. */
int open_trace(const options *o, const char *label, trace **to);
/* Calls stream_run, then prints --stats to stderr and writes the --trace file. *traced: 0 after saying why the trace of
   a completed stream could not be written. */
stream_result run_stream(const options *o, stream_job *job, int *traced);
/* Expands the operands. Returns 0 after saying what is wrong; free the list in either case. */
int collect_inputs(inputs *list, const options *o);
output_request output_of(const options *o);
gallery_request gallery_of(const options *o);

/* A request for labelled images with embeddings, and the descs of its models. */
typedef struct labelled_request {
    eval_request r;
    reid_desc models[MAX_MODELS];
} labelled_request;

void labelled_of(labelled_request *to, const options *o);
evaluation_rules rules_of(const options *o);
/* --fmr, or its default where there are labels. */
double false_match_rate(const options *o);

#endif
