#include "pictures/collect.h"

#include "base/files.h"
#include "base/say.h"

#include <string.h>
#include <sys/stat.h>

/* Adds the paths of a list on stdin. Lines may end in CRLF, as programs of Windows write them. */
static int add_list(inputs *list, int separator) {
    text all = TEXT_INIT, why = TEXT_INIT;
    int good = stdin_read((size_t)1 << 32, &all, &why);
    if (!good) say_error("the list on stdin: %s", why.s);
    for (size_t at = 0; good && at < all.len;) {
        char *end = memchr(all.s + at, separator, all.len - at);
        size_t n = end ? (size_t)(end - all.s) - at : all.len - at, next = at + n + 1;
        n -= separator == '\n' && n && all.s[at + n - 1] == '\r';
        if (memchr(all.s + at, 0, n)) {
            say_error("the list on stdin contains a zero byte; for a list separated by zero bytes, give -0");
            good = 0;
        } else if (n) {
            all.s[at + n] = 0;
            path_given(all.s + at);
            good = inputs_add_path(list, all.s + at);
        }
        at = next;
    }
    text_free(&all);
    text_free(&why);
    return good;
}

static int add_boxes(inputs *list, const input_request *r) {
    const char *root = r->operand_count ? r->operands[0] : NULL;
    struct stat st;
    if (r->operand_count > 1 || (root && (stat(root, &st) != 0 || !S_ISDIR(st.st_mode)))) {
        say_error("with --boxes, INPUT is at most one folder: the one that the file's paths start from");
        return 0;
    }
    return boxes_read(list, &r->boxes, root);
}

int inputs_collect(inputs *list, const input_request *r) {
    int lists = 0;
    if (r->boxes.path) return add_boxes(list, r);
    if (r->boxes.category || r->boxes.min_conf >= 0) {
        say_error("--min-conf and --category need --boxes");
        return 0;
    }
    for (int i = 0; i < r->operand_count; i++) lists += strcmp(r->operands[i], "-") == 0;
    if (lists > 1 || (r->nul_list && !lists)) {
        say_error(lists ? "- (the list on stdin) can only be given once" : "-0 needs the INPUT - (a list on stdin)");
        return 0;
    }
    for (int i = 0; i < r->operand_count; i++) {
        int is_list = strcmp(r->operands[i], "-") == 0;
        if (!(is_list ? add_list(list, r->nul_list ? 0 : '\n') : inputs_add_path(list, r->operands[i]))) return 0;
    }
    return 1;
}
