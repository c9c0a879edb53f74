/* The page's own files (page.html, page.css, page.js, icon.svg), compiled in. */
#ifndef REID_TOOLS_PAGE_H
#define REID_TOOLS_PAGE_H

#include <stddef.h>

typedef struct page_file {
    const char *name, *type;
    const unsigned char *bytes;
    size_t len;
} page_file;

enum { PAGE_HTML, PAGE_CSS, PAGE_JS, PAGE_ICON, PAGE_FILES };
extern const page_file PAGE[PAGE_FILES];

/* The references of page.html to the other files, which single.c replaces by their contents. */
#define PAGE_STYLE "<link rel=\"icon\" href=\"icon.svg\">\n<link rel=\"stylesheet\" href=\"page.css\">"
#define PAGE_SCRIPT "<script src=\"page.js\" defer></script>"

#endif
