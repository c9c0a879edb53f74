/* A page of identified images: queries with their best matches, scores and decisions, as one HTML file that loads
   nothing and runs no script. `reid match -o FILE.html` and the demo write it. It is also well-formed XML. */
#ifndef REID_TOOLS_MATCH_PAGE_H
#define REID_TOOLS_MATCH_PAGE_H

#include "report/page_fill.h"

typedef struct page_head {
    const char *title;
    const page_markup *style; /* rules to add after those of match_page.css; NULL: none */
    int free_style;           /* allow style attributes and embedded videos */
} page_head;

/* Writes everything from the doctype to the first heading, which is the title. The Content-Security-Policy allows only
   the style sheet with its SHA-256 and images that are embedded in the page; nothing else is loaded or sent. */
void page_begin(text *out, const page_head *h);
void page_end(text *out);
/* An image with its description; jpeg NULL or empty: a frame with the words "no image". */
void page_picture(text *out, const text *jpeg, const char *alt);
/* A number with its label: "part / whole", or only part if whole is NULL. Call it between page_tiles and
   page_tiles_end. */
void page_tiles(text *out);
void page_tile(text *out, const char *part, const size_t *whole, const char *label);
void page_tiles_end(text *out);

/* ---- queries ----------------------------------------------------------------------------------------------------- */

/* An image of the gallery that matches the query. */
typedef struct page_match {
    const char *who, *path;
    const char *caption;       /* its photo, camera and time, as far as they are known; NULL: none is */
    double score, probability; /* probability: NAN without a calibration */
    const text *jpeg;          /* NULL: it cannot be shown */
} page_match;

typedef enum page_truth {
    PAGE_UNLABELLED,
    PAGE_KNOWN,    /* it shows `who` */
    PAGE_STRANGER  /* it shows an individual that is not in the gallery; `who` may name it */
} page_truth;

typedef struct page_query {
    const char *path, *who; /* path: or its photo, camera and time; who: may be empty */
    const text *jpeg;
    page_truth truth;
    const page_match *best; /* of different individuals, best first */
    int found;
} page_query;

typedef struct page_counts {
    size_t queries, matches, unknown, doubtful, wrong, judged; /* judged: right or wrong; the truth is known */
    size_t known, first_right, accepted_right;                 /* of PAGE_KNOWN */
    size_t strangers, rejected;                                /* of PAGE_STRANGER */
} page_counts;

/* Queries are collected in `cards`; match_page_queries writes them after the filters, once all are counted. To begin a
   page, zero it and set the threshold. */
typedef struct match_page {
    double threshold; /* NAN: no decisions */
    page_counts n;
    text cards;
} match_page;

/* Begins a section of queries of one kind; about is text without markup. */
void match_page_section(match_page *p, const char *title, const char *about);
void match_page_query(match_page *p, const page_query *q);
void match_page_section_end(match_page *p);
/* Writes tiles about all queries; call page_tiles before. */
void match_page_tiles(const match_page *p, text *out);
/* Writes filters and queries. */
void match_page_queries(const match_page *p, text *out);
void match_page_free(match_page *p);

#endif
