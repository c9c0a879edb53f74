/* A fitted head and how well it works, as text and as JSON. */
#ifndef REID_TOOLS_FIT_REPORT_H
#define REID_TOOLS_FIT_REPORT_H

#include "base/text.h"
#include "heads/fit_judge.h"

typedef struct fit_story {
    const fitted *head;
    const char *const *part;     /* a name for each of its parts */
    const fit_judgement *judged; /* NULL: there was no report */
    const char *network, *fingerprint; /* of the file; fingerprint: "" if no file was written */
    const char *output;                /* NULL: no file */
} fit_story;

/* "within", "lda", "pca" */
const char *fit_method_name(fit_method method);

void fit_report_table(const fit_story *s, text *t);
/* One object on several lines, with a newline at its end. */
void fit_report_json(const fit_story *s, text *t);

#endif
