/* The output files of `reid embed`: they grow as FILE.part (next to FILE.part.log), appear complete under their names,
   and can be continued with --resume. Without a file name, JSON lines go to stdout. */
#ifndef REID_TOOLS_OUTPUT_H
#define REID_TOOLS_OUTPUT_H

#include "embedding/output_meta.h"

typedef struct output output;
typedef enum output_form { OUTPUT_STDOUT, OUTPUT_NPY, OUTPUT_JSONL, OUTPUT_CSV } output_form;

/* The form by the file name's extension; OUTPUT_STDOUT: an unknown one. */
output_form output_form_of(const char *path);
/* The name of a file next to the output: crops.meta.json for crops.npy, but crops.csv.meta.json for crops.csv. */
void output_side_name(text *name, const char *path, const char *ending);
/* The first line of a .csv file. */
void output_csv_header(text *t, int dim);

/* Checks the name and locks FILE.part. Returns NULL after reporting an error. */
output *output_open(const output_request *request);
/* Begins rows first … end-1 of list; *done rows exist already (--resume). Returns 0 after reporting an error. */
int output_begin(output *out, const models *all, const inputs *list, size_t first, size_t end, size_t *done);
/* Adds the next input's row, or the reason why it has none. They return 0 if the disk is full; output_finish reports
   it. */
int output_row(output *out, size_t index, const float *row);
int output_failure(output *out, size_t index, const char *why);
/* In place of output_begin and output_row, for a file: takes over the facts of other runs, whose texts become the
   output's, and then the bytes of their rows without the header. They return 0 if the disk is full; output_finish
   reports it. */
int output_adopt(output *out, output_facts *facts);
int output_bytes(output *out, const void *bytes, size_t len);
/* Gives every file its final name. Returns 0 after reporting an error; only what --resume can continue is left then. */
int output_finish(output *out);
/* Removes everything except what --resume can continue. */
void output_discard(output *out);
/* Removes everything. */
void output_drop(output *out);
/* After a signal, in place of the functions above: syncs what --resume needs to the disk and removes the rest. */
void output_interrupt(output *out);

size_t output_rows(const output *out);
size_t output_failures(const output *out);
/* Reports that all inputs failed, so that no file was written. */
void output_say_all_failed(size_t count);

#endif
