/* The commands: their names, their help, and the functions that run them. */
#ifndef REID_TOOLS_COMMANDS_H
#define REID_TOOLS_COMMANDS_H

#include "cli/options.h"

extern const command_table COMMAND_TABLE;

/* Each returns the exit status. */
int embed_main(options *o);
int match_main(options *o);
int merge_main(options *o);
int import_main(options *o);
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
