#include "review/single.h"

#include "base/files.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "review/page.h"
#include "review/token.h"

#include <stdlib.h>
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

/* Writes a JPEG as base64; an empty one as "". */
static void put_jpeg(json_writer *w, const text *jpeg) {
    json_put_line(w, 0);
    text *out = json_put_value(w, NULL);
    text_putc(out, '"');
    if (jpeg->len) text_base64(out, jpeg->s, jpeg->len);
    text_putc(out, '"');
}

/* Writes ["base64", ...], with "" for images that cannot be read. *failed counts these; why names the first.
   Returns 0 if the page is larger than the limit. */
static int add_pictures(text *out, const single_request *r, size_t *failed, text *why) {
    const clusters *c = board_groups(r->board);
    text jpeg = TEXT_INIT, reason = TEXT_INIT;
    int good = 1;
    json_writer w = json_write(out);
    w.tight = 1;
    json_put_array(&w, NULL);
    progress_start("images", c->rows);
    for (size_t i = 0; i < c->rows && good && !interrupted(); i++) {
        text_clear(&jpeg), text_clear(&reason);
        if (!album_picture(r->album, i, ALBUM_SMALL, &jpeg, &reason)) {
            if (!(*failed)++) text_visible(why, c->ids[i]), text_printf(why, ": %s", reason.s ? reason.s : "");
            text_clear(&jpeg);
        }
        put_jpeg(&w, &jpeg);
        good = !text_failed(out) && out->len <= r->limit;
        progress_update(i + 1, *failed);
    }
    progress_stop();
    json_put_end(&w);
    text_free(&jpeg), text_free(&reason);
    return good;
}

/* The crops of doubtful pairs first, because their photos are looked at most; then the others. */
static size_t *by_need(const clusters *c) {
    size_t *order = need_array(c->rows + 1, sizeof *order), n = 0;
    unsigned char *taken = order ? need_zeroed(c->rows + 1, 1) : NULL;
    for (size_t i = 0; i < 2 * c->doubts && taken; i++) {
        const size_t row = i % 2 ? c->doubtful[i / 2].b : c->doubtful[i / 2].a;
        if (!taken[row]) taken[row] = 1, order[n++] = row;
    }
    for (size_t i = 0; i < c->rows && taken; i++)
        if (!taken[i]) order[n++] = i;
    if (!taken) free(order), order = NULL;
    free(taken);
    return order;
}

/* Writes [[row, "base64"], ...]: the photos of crops, until they fill their share of the page. Returns 0 after
   reporting that memory ran out. */
static int add_photos(text *out, const single_request *r) {
    const clusters *c = board_groups(r->board);
    const size_t start = out->len;
    size_t *order = by_need(c), lost = 0, done = 0;
    text jpeg = TEXT_INIT, why = TEXT_INIT;
    json_writer w = json_write(out);
    w.tight = 1;
    json_put_array(&w, NULL);
    progress_start("photos", c->rows);
    for (; order && done < c->rows && out->len - start < r->photos && !interrupted(); done++) {
        text_clear(&jpeg), text_clear(&why);
        if (album_has_photo(r->album, order[done])) {
            if (!album_picture(r->album, order[done], ALBUM_PHOTO_SMALL, &jpeg, &why)) lost++, text_clear(&jpeg);
            json_put_array(&w, NULL);
            json_put_count(&w, NULL, order[done]);
            put_jpeg(&w, &jpeg);
            json_put_end(&w);
        }
        progress_update(done + 1, lost);
    }
    progress_stop();
    json_put_end(&w);
    if (lost) say_warning("the whole photos of %zu crop%s cannot be read, so the page shows only the crops", lost,
                          plural(lost));
    if (order && done < c->rows && !interrupted())
        say_warning("the page has no room for the whole photos of %zu of %zu crops; reid review without --html shows "
                    "all of them", c->rows - done, c->rows);
    int good = order != NULL;
    free(order);
    text_free(&jpeg), text_free(&why);
    return good;
}

static void add_element(text *out, const char *id, const char *nonce) {
    text_printf(out, "<script type=\"application/json\" id=\"%s\" nonce=\"%s\">", id, nonce);
}

/* Warns of images that cannot be read, and refuses a page without any. first: the first of them, with the reason. */
static int check_pictures(const single_request *r, size_t failed, const text *first, text *why) {
    const size_t rows = board_groups(r->board)->rows;
    if (failed == rows)
        return refuse(why,
                      "the page would have no images, because none of the %zu can be read; the first is %s. Images are "
                      "found through the ids of crops: run reid review in the folder where the embeddings were made, "
                      "or give --pictures FOLDER (and --boxes FILE for crops cut by boxes)",
                      rows, first->s);
    if (failed) say_warning("%s", first->s);
    if (failed > 1) say_warning("%zu images cannot be shown", failed);
    return 1;
}

/* Writes everything between the style and the end of the page. Returns 0 with the reason in why. */
static int add_content(text *out, const single_request *r, const char *nonce, text *why) {
    text json = TEXT_INIT, first = TEXT_INIT;
    size_t failed = 0;
    board_data(r->board, &json);
    add_element(out, "data", nonce);
    add_json(out, &json);
    text_puts(out, "</script>\n");
    text_free(&json);
    add_element(out, "pictures", nonce);
    int good = add_pictures(out, r, &failed, &first);
    if (!good && !text_failed(out))
        refuse(why, "a page of %zu crops would exceed %zu MiB; give fewer INPUTs, or review without --html",
               board_groups(r->board)->rows, r->limit >> 20);
    good = good && need_text(&first) && (interrupted() || check_pictures(r, failed, &first, why));
    text_free(&first);
    if (!good) return 0;
    text_puts(out, "</script>\n");
    add_element(out, "photos", nonce);
    if (!add_photos(out, r)) return text_no_memory(why);
    text_printf(out, "</script>\n<script nonce=\"%s\">\n", nonce);
    add_file(out, PAGE_JS);
    text_puts(out, "</script>");
    return 1;
}

static void add_style(text *out, const char *nonce) {
    text_printf(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
                     "'nonce-%s'; style-src 'nonce-%s'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
                     "<link rel=\"icon\" href=\"data:,\">\n<style nonce=\"%s\">\n", nonce, nonce, nonce);
    add_file(out, PAGE_CSS);
    text_puts(out, "</style>");
}

/* Writes page.html with the files that it refers to. Returns 0 with the reason in why. */
static int add_page(text *out, const single_request *r, const char *nonce, text *why) {
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
        good = add_content(out, r, nonce, why);
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
    int good = file_target(r->path, &REVIEW_PAGE, &why) && token_make(nonce, &why);
    if (good && !add_page(&page, r, nonce, &why)) good = text_failed(&page) && text_no_memory(&why);
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
