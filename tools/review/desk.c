#include "review/desk.h"

#include "base/text.h"
#include "review/page.h"
#include "server/door.h"

#include <string.h>
#include <strings.h>

static const char TEXT_TYPE[] = "text/plain; charset=utf-8", JSON_TYPE[] = "application/json";
static const char POLICY[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                             "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static void refuse_with(web_reply *out, unsigned status, const char *why) {
    out->status = status;
    out->type = TEXT_TYPE;
    text_clear(&out->body);
    text_puts(&out->body, why);
    text_putc(&out->body, '\n');
}

/* --- access ------------------------------------------------------------------------------------------------------- */

/* The path after /TOKEN/; NULL if it does not begin with that. */
static const char *behind_token(const desk *d, const char *path) {
    const text token = {(char *)d->token, strlen(d->token), 0};
    const char *end = *path == '/' ? strchr(path + 1, '/') : NULL;
    size_t len = end ? (size_t)(end - path) - 1 : 0;
    return end && door_same(&token, path + 1, len) ? end + 1 : NULL;
}

static int is_json(const char *type) {
    const size_t n = sizeof JSON_TYPE - 1;
    return type && strncasecmp(type, JSON_TYPE, n) == 0 && (!type[n] || type[n] == ';' || type[n] == ' ');
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

/* Answers decide, and regroup, whose body is empty. */
static void answer_post(const desk *d, const web_request *r, int decides, web_reply *out) {
    static const unsigned status[] = {200, 400, 404, 409, 500};
    if (strcmp(r->method, "POST") != 0) {
        refuse_with(out, 405, "this path takes POST");
        out->allow = "POST";
    } else if (!door_is_own_page(r->origin, r->host, 0)) {
        refuse_with(out, 403, "Origin: only the page itself may send decisions");
    } else if (!is_json(r->type)) {
        refuse_with(out, 415, "Content-Type: expected application/json");
    } else {
        out->type = JSON_TYPE;
        if (decides) out->status = status[board_decide(d->board, r->body, r->len, &out->body)];
        else out->status = board_regroup(d->board, &out->body) ? 200 : 500;
    }
}

static void answer_picture(const desk *d, const char *number, album_size size, web_reply *out) {
    long long row;
    text why = TEXT_INIT;
    size_t rows = board_groups(d->board)->rows;
    if (!parse_int(number, 0, (long long)rows - 1, &row)) {
        refuse_with(out, 404, "there is no such crop");
    } else if (!album_picture(d->album, (size_t)row, size, &out->body, &why)) {
        refuse_with(out, 500, why.s ? why.s : "the image cannot be shown");
    } else {
        out->status = 200;
        out->type = "image/jpeg";
        out->keep = 1;
    }
    text_free(&why);
}

static void answer_news(const desk *d, const char *number, int groups, web_reply *out) {
    long long seen;
    if (!parse_int(number, 0, (long long)1 << 53, &seen)) {
        refuse_with(out, 404, "expected a number after since/ and groups/");
        return;
    }
    out->type = JSON_TYPE;
    out->status = 200;
    if (groups) board_layer(d->board, seen, &out->body);
    else if (!board_since(d->board, seen, &out->body)) out->status = 500;
}

static const char *behind(const char *path, const char *start) {
    size_t n = strlen(start);
    return strncmp(path, start, n) == 0 ? path + n : NULL;
}

static void answer_get(const desk *d, const char *path, web_reply *out) {
    const char *rest;
    for (int i = 0; i < PAGE_FILES; i++) {
        if (strcmp(path, PAGE[i].name) != 0) continue;
        out->status = 200;
        out->type = PAGE[i].type;
        out->policy = POLICY;
        text_add(&out->body, PAGE[i].bytes, PAGE[i].len);
        return;
    }
    if (strcmp(path, "data") == 0) {
        out->status = 200;
        out->type = JSON_TYPE;
        board_data(d->board, &out->body);
    } else if ((rest = behind(path, "small/"))) {
        answer_picture(d, rest, ALBUM_SMALL, out);
    } else if ((rest = behind(path, "large/"))) {
        answer_picture(d, rest, ALBUM_LARGE, out);
    } else if ((rest = behind(path, "photo/"))) {
        answer_picture(d, rest, ALBUM_PHOTO, out);
    } else if ((rest = behind(path, "since/"))) {
        answer_news(d, rest, 0, out);
    } else if ((rest = behind(path, "groups/"))) {
        answer_news(d, rest, 1, out);
    } else {
        refuse_with(out, 404, "unknown path");
    }
}

void desk_answer(void *user, const web_request *r, web_reply *out) {
    const desk *d = user;
    const char *path = behind_token(d, r->path);
    if (!r->host || !door_is_local_host(r->host)) {
        refuse_with(out, 403, "Host: only this machine's names are accepted");
    } else if (!path) {
        refuse_with(out, 403, "the address does not have the current token; open the address that reid review printed");
    } else if (strcmp(path, "decide") == 0) {
        answer_post(d, r, 1, out);
    } else if (strcmp(path, "regroup") == 0) {
        answer_post(d, r, 0, out);
    } else if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0) {
        refuse_with(out, 405, "this path takes GET");
        out->allow = "GET";
    } else if (r->len) {
        refuse_with(out, 400, "a GET request must not have a body");
    } else {
        answer_get(d, path, out);
    }
}
