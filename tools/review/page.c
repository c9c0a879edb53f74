#include "review/page.h"

/* The Makefile writes each file as a list of the numbers of its bytes. */
static const unsigned char html[] = {
#include "build/review/page.html.bytes"
};
static const unsigned char css[] = {
#include "build/review/page.css.bytes"
};
static const unsigned char js[] = {
#include "build/review/page.js.bytes"
};
static const unsigned char icon[] = {
#include "build/review/icon.svg.bytes"
};

const page_file PAGE[PAGE_FILES] = {
    {"", "text/html; charset=utf-8", html, sizeof html},
    {"page.css", "text/css; charset=utf-8", css, sizeof css},
    {"page.js", "text/javascript; charset=utf-8", js, sizeof js},
    {"icon.svg", "image/svg+xml", icon, sizeof icon},
};
