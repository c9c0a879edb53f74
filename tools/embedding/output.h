/* The files of `reid embed`: they grow as FILE.part (with FILE.part.log beside it), appear whole under their names, and
   can be continued by --resume. Without a file name, JSON lines go to stdout. */
#ifndef REID_TOOLS_OUTPUT_H
#define REID_TOOLS_OUTPUT_H

#include "embedding/output_meta.h"

typedef struct output output;
typedef enum output_form { OUTPUT_STDOUT, OUTPUT_NPY, OUTPUT_JSONL, OUTPUT_CSV } output_form;

/* By the name's ending; OUTPUT_STDOUT: none of them. */
output_form output_form_of(const char *path);
/* The file beside it: crops.npy has crops.meta.json, but crops.csv crops.csv.meta.json. */
void output_side_name(text *name, const char *path, const char *ending);
/* The first line of a .csv file. */
void output_csv_header(text *t, int dim);

/* Checks the name and claims FILE.part. Returns NULL after saying what is wrong. */
output *output_open(const output_request *request);
/* For rows first … end-1 of list. *done rows are there already (--resume). Returns 0 after saying what is wrong. */
int output_begin(output *out, const models *all, const inputs *list, size_t first, size_t end, size_t *done);
/* The next input's row, or the reason why it has none. They return 0 when the disk is full; output_finish says so. */
int output_row(output *out, size_t index, const float *row);
int output_failure(output *out, size_t index, const char *why);
/* Instead of output_begin and rows, for a file: what other runs have found, whose texts become the output's, and then
   the bytes of their rows, but for what stands before the first one. They return 0 when there is no room for them;
   output_finish says so. */
int output_adopt(output *out, output_facts *facts);
int output_bytes(output *out, const void *bytes, size_t len);
/* Everything under its final name. Returns 0 after saying what is wrong; nothing is left behind then. */
int output_finish(output *out);
/* Nothing is left behind, but what --resume can continue. */
void output_discard(output *out);
/* Nothing at all is left behind. */
void output_drop(output *out);
/* After a signal, instead of these: what --resume needs reaches the disk, all else is removed. */
void output_interrupt(output *out);

size_t output_rows(const output *out);
size_t output_failures(const output *out);

#endif
