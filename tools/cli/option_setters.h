/* Setters of options: each reads one kind of value and writes it to its slot. They return 1, 0 when the text is not
   such a value, and -1 if they have already said so. */
#ifndef REID_TOOLS_OPTION_SETTERS_H
#define REID_TOOLS_OPTION_SETTERS_H

#include "cli/options.h"

int option_set_flag(options *o, const option *spec, void *slot, const char *value);
int option_set_text(options *o, const option *spec, void *slot, const char *value);
int option_set_int(options *o, const option *spec, void *slot, const char *value);
int option_set_int_or_auto(options *o, const option *spec, void *slot, const char *value);
int option_set_long(options *o, const option *spec, void *slot, const char *value);
int option_set_real(options *o, const option *spec, void *slot, const char *value);
int option_set_share(options *o, const option *spec, void *slot, const char *value);
int option_set_bytes(options *o, const option *spec, void *slot, const char *value);
int option_set_choice(options *o, const option *spec, void *slot, const char *value);
int option_set_size(options *o, const option *spec, void *slot, const char *value);
int option_set_field(options *o, const option *spec, void *slot, const char *value);
int option_set_head(options *o, const option *spec, void *slot, const char *value);
int option_set_device(options *o, const option *spec, void *slot, const char *value);
int option_set_shard(options *o, const option *spec, void *slot, const char *value);
int option_set_weights(options *o, const option *spec, void *slot, const char *value);
int option_set_batches(options *o, const option *spec, void *slot, const char *value);
int option_set_model(options *o, const option *spec, void *slot, const char *value);
int option_set_score(options *o, const option *spec, void *slot, const char *value);

/* The values that the setter of this option reads, for an error message: "FILE", "a cosine, at most 1, for example
   0.62". */
const char *option_expects(const option *spec);

/* The value of --device; also for lists of devices. Returns 0 when the text names no device. */
int option_device(options *o, const char *value);

#endif
