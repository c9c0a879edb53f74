/* Words and limits that the command line, files and rooms share. */
#ifndef REID_TOOLS_CHOICES_H
#define REID_TOOLS_CHOICES_H

enum { MAX_MODELS = 2 };  /* of one run; their embeddings are concatenated */
enum { MAX_SERVED = 64 }; /* of a server, which computes each alone */

#define PRECISIONS "fp32|fp16|bf16|int8"
#define CALIBRATION_METHODS "logistic|isotonic"
#define LINKAGES "average|single"
#define JPEG_DECODERS "auto|stb|turbo"
#define FIT_METHODS "auto|within|lda|pca"

/* The position of value in "a|b|c", or -1. */
int choice_index(const char *choices, const char *value);

#endif
