/* The page about who is in pictures: queries with their best matches, scores and decisions, as one HTML file that loads
   nothing and runs no script. `reid match -o FILE.html` and the demo write it. It is well-formed as XML, too. */
#ifndef REID_TOOLS_MATCH_PAGE_H
#define REID_TOOLS_MATCH_PAGE_H

#include "report/page_fill.h"

typedef struct page_head {
    const char *title;
    const page_markup *style; /* more rules, behind those of match_page.css; NULL: none */
    int free_style;           /* elements have style attributes of their own, and there is a film */
} page_head;

/* From the doctype to the first heading, which is the title. What the page may show is said in it: the style sheet is
   named by its SHA-256, pictures stand in the page, and nothing else is loaded or sent. */
void page_begin(text *out, const page_head *h);
void page_end(text *out);
/* A picture, with what it shows in words; jpeg NULL or empty: a frame that says that there is none. */
void page_picture(text *out, const text *jpeg, const char *alt);
/* A figure with its label: "part / whole", whole NULL: part alone. They stand between page_tiles and page_tiles_end. */
void page_tiles(text *out);
void page_tile(text *out, const char *part, const size_t *whole, const char *label);
void page_tiles_end(text *out);

/* ---- queries ----------------------------------------------------------------------------------------------------- */

/* A picture of the gallery that is like the query. */
typedef struct page_match {
    const char *who, *path;
    double score, probability; /* probability: NAN without a calibration */
    const text *jpeg;          /* NULL: it cannot be shown */
} page_match;

typedef enum page_truth {
    PAGE_UNLABELLED,
    PAGE_KNOWN,    /* it shows `who` */
    PAGE_STRANGER  /* it shows nobody of the gallery, perhaps `who` */
} page_truth;

typedef struct page_query {
    const char *path, *who; /* who: may be empty */
    const text *jpeg;
    page_truth truth;
    const page_match *best; /* of different individuals, best first */
    int found;
} page_query;

typedef struct page_counts {
    size_t queries, matches, unknown, doubtful, wrong, judged; /* judged: it can be told whether they are right */
    size_t known, first_right, accepted_right;                 /* of PAGE_KNOWN */
    size_t strangers, rejected;                                /* of PAGE_STRANGER */
} page_counts;

/* Queries gather in `cards`; page_queries writes them under the filters, when all are counted. Zeroed but for the
   threshold, a page is empty. */
typedef struct match_page {
    double threshold; /* NAN: nothing is decided */
    page_counts n;
    text cards;
} match_page;

/* A stretch of queries of one kind; about is text without markup. */
void match_page_section(match_page *p, const char *title, const char *about);
void match_page_query(match_page *p, const page_query *q);
void match_page_section_end(match_page *p);
/* Figures about all queries, which page_tiles has begun. */
void match_page_tiles(const match_page *p, text *out);
/* Filters and queries. */
void match_page_queries(const match_page *p, text *out);
void match_page_free(match_page *p);

#endif
