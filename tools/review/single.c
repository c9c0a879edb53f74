#include "review/single.h"

#include "base/files.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "review/desk.h"
#include "review/page.h"

#include <string.h>

static void add_file(text *out, int file) { text_add(out, PAGE[file].bytes, PAGE[file].len); }

/* Escapes JSON for a script element: without a <, nothing in it can end the element. In JSON, < occurs only in
   strings. */
static void add_json(text *out, const text *json) {
    if (text_failed(json)) text_no_memory(out);
    for (size_t i = 0; i < json->len && !text_failed(json); i++) {
        if (json->s[i] == '<') text_puts(out, "\\u003c");
        else text_putc(out, json->s[i]);
    }
}

/* Writes ["base64", ...]; "" if there is no image. */
static int add_pictures(text *out, const single_request *r) {
    size_t rows = board_groups(r->board)->rows, failed = 0;
    text jpeg = TEXT_INIT, why = TEXT_INIT;
    int good = 1;
    json_writer w = json_write(out);
    w.tight = 1;
    json_put_array(&w, NULL);
    progress_start("images", rows);
    for (size_t i = 0; i < rows && good && !interrupted(); i++) {
        text_clear(&jpeg), text_clear(&why);
        if (!album_picture(r->album, i, ALBUM_SMALL, &jpeg, &why)) {
            if (!failed++) say_warning("%s: %s", shown(board_groups(r->board)->ids[i]), why.s);
            text_clear(&jpeg);
        }
        json_put_line(&w, 0);
        text_putc(json_put_value(&w, NULL), '"');
        if (jpeg.len) text_base64(out, jpeg.s, jpeg.len);
        text_putc(out, '"');
        good = !text_failed(out) && out->len <= r->limit;
        progress_update(i + 1, failed);
    }
    progress_stop();
    json_put_end(&w);
    if (failed > 1) say_warning("%zu images cannot be shown", failed);
    text_free(&jpeg), text_free(&why);
    return good;
}

static void add_element(text *out, const char *id, const char *nonce) {
    text_printf(out, "<script type=\"application/json\" id=\"%s\" nonce=\"%s\">", id, nonce);
}

/* Writes everything between the style and the end of the page. Returns 0 if it is larger than the limit. */
static int add_content(text *out, const single_request *r, const char *nonce) {
    text json = TEXT_INIT;
    board_data(r->board, &json);
    add_element(out, "data", nonce);
    add_json(out, &json);
    text_puts(out, "</script>\n");
    text_free(&json);
    add_element(out, "pictures", nonce);
    int good = add_pictures(out, r);
    text_printf(out, "</script>\n<script nonce=\"%s\">\n", nonce);
    add_file(out, PAGE_JS);
    text_puts(out, "</script>");
    return good;
}

static void add_style(text *out, const char *nonce) {
    text_printf(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
                     "'nonce-%s'; style-src 'nonce-%s'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
                     "<link rel=\"icon\" href=\"data:,\">\n<style nonce=\"%s\">\n", nonce, nonce, nonce);
    add_file(out, PAGE_CSS);
    text_puts(out, "</style>");
}

/* Writes page.html with the files that it refers to. */
static int add_page(text *out, const single_request *r, const char *nonce) {
    text html = TEXT_INIT;
    add_file(&html, PAGE_HTML);
    text_puts(&html, "");
    char *style = text_failed(&html) ? NULL : strstr(html.s, PAGE_STYLE);
    char *script = style ? strstr(html.s, PAGE_SCRIPT) : NULL;
    int good = script != NULL;
    if (good) {
        text_add(out, html.s, (size_t)(style - html.s));
        add_style(out, nonce);
        text_add(out, style + strlen(PAGE_STYLE), (size_t)(script - style) - strlen(PAGE_STYLE));
        good = add_content(out, r, nonce);
        text_puts(out, script + strlen(PAGE_SCRIPT));
    } else {
        text_no_memory(out);
    }
    text_free(&html);
    return good;
}

static const output_kind REVIEW_PAGE = {.what = "a page of reid review", .start = "<!DOCTYPE html>",
                                       .holds = "reid review</title>"};

int single_write(const single_request *r) {
    text page = TEXT_INIT, why = TEXT_INIT;
    char nonce[33];
    int good = file_target(r->path, &REVIEW_PAGE, &why) && desk_token(nonce, &why);
    if (good && !add_page(&page, r, nonce) && !text_failed(&page)) {
        text_printf(&why, "a page of %zu crops would exceed %zu MiB; give fewer INPUTs, or review without --html",
                    board_groups(r->board)->rows, r->limit >> 20);
        good = 0;
    }
    good = good && !interrupted() && file_write(r->path, &REVIEW_PAGE, &page, &why);
    if (!good && !interrupted()) say_error("%s: %s", shown(r->path), why.s);
    if (good) {
        const clusters *found = board_groups(r->board);
        text_clear(&page);
        text_visible(&page, r->path);
        text_printf(&page, ": %zu crop%s in %zu group%s, %zu question%s\n", found->rows, plural(found->rows),
                    (size_t)found->groups, plural(found->groups), found->doubts, plural(found->doubts));
        good = results_print(&page);
    }
    text_free(&page);
    text_free(&why);
    return good;
}
