/* reid match -o FILE.html: the answers as the page of report/match_page.h, with images. */
#ifndef REID_TOOLS_MATCH_HTML_H
#define REID_TOOLS_MATCH_HTML_H

#include "commands/requests.h"
#include "report/match_page.h"
#include "scores/ask.h"

typedef struct match_html match_html;

/* The members must outlive the page. */
typedef struct match_html_request {
    const options *o;
    const gallery *g;
    const inputs *queries;
    const ask *asked;
} match_html_request;

/* Also reads --labels. NULL after saying what is wrong. */
match_html *match_html_open(const match_html_request *r);
/* Adds a query and its hits, best first. Returns 0 after reporting that memory ran out. */
int match_html_query(match_html *h, size_t query, const reid_hit *hits, int found);
/* Adds a query that could not be read. */
void match_html_failure(match_html *h, size_t query, const char *why);
/* Writes the page. */
void match_html_write(match_html *h, text *out);
/* NULL is allowed. */
void match_html_close(match_html *h);

#endif
