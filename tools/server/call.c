#include "server/call.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "server/answer.h"
#include "server/form.h"
#include "server/repository.h"

#include <stdlib.h>
#include <string.h>

static void free_pictures(call *c) {
    free(c->pictures);
    c->pictures = NULL;
}

/* Ends the call. The body is freed now, because the answer may have to wait for a slow reader. */
static void call_finish(call *c) {
    text_free(&c->body);
    infer_free(&c->infer);
    plain_free(&c->plain);
    free_pictures(c);
    if (text_failed(&c->answer)) {
        text_free(&c->answer);
        c->status = STATUS_BUSY;
        answer_error(&c->answer, "out of memory");
    }
    c->done(c, c->user);
}

static void end_with(call *c, int status, const char *why) {
    text_clear(&c->answer);
    c->status = status;
    c->binary = 0;
    answer_error(&c->answer, why);
    call_finish(c);
}

void call_end(call *c, int status, const char *why) {
    if (why) {
        end_with(c, status, why);
        return;
    }
    c->status = status;
    text_puts(&c->answer, "{}\n");
    call_finish(c);
}

static void write_answer(void *user) {
    call *c = user;
    job_result *rows = job_answer(c->work);
    text why = TEXT_INIT;
    int good = 1;
    if (rows->status != STATUS_OK) {
        end_with(c, rows->status, rows->why.s);
        return;
    }
    c->status = STATUS_OK;
    if (c->kind == CALL_INFER) {
        c->binary = c->infer.binary;
        c->answer_json = answer_infer(&c->answer, c->s, c->index, c->infer.id.s, rows, c->binary);
    } else if (c->kind == CALL_EMBED && c->floats) {
        c->binary = 1;
        c->answer_json = answer_embed_floats(&c->answer, c->s, c->index, rows);
    } else if (c->kind == CALL_EMBED) {
        answer_embed(&c->answer, c->s, c->index, rows);
    } else {
        good = answer_match(&c->answer, c->s, rows, c->top, &why);
    }
    if (good) call_finish(c);
    else end_with(c, text_failed(&why) ? STATUS_BUSY : STATUS_FAILED, why.s);
    text_free(&why);
}

/* The smallest limit of waiting images among the open ones of these models. A request for one that is not open is read
   again when it is. */
static size_t most_images(const call *c, int first, int count) {
    enum { FOR_NONE = 1024 };
    size_t most = SIZE_MAX;
    for (int i = first; i < first + count; i++)
        if (c->s->model[i] && (size_t)c->s->model[i]->limit < most) most = (size_t)c->s->model[i]->limit;
    return most < SIZE_MAX ? most : FOR_NONE;
}

/* The next two functions read the request. They return 0 with the status and the reason. */

static int read_infer(call *c, job_request *r, text *why) {
    infer_request *in = &c->infer;
    r->first = c->index, r->models = 1;
    c->status = STATUS_BAD;
    int good = infer_read(in, (const unsigned char *)c->body.s, c->body.len, c->json_len, most_images(c, c->index, 1),
                          why);
    c->status = in->status;
    if (!good) return 0;
    r->pictures = in->pictures, r->rgb = in->rgb, r->count = in->count;
    r->height = in->height, r->width = in->width;
    r->field = "inputs[0].data";
    r->priority = in->priority, r->timeout_us = in->timeout_us;
    return 1;
}

int call_choose_model(const service *s, const char *name, int *index, int *status, text *why) {
    *status = STATUS_BAD;
    *index = name ? service_find(s, name) : 0;
    if (!name && s->count > 1) return refuse(why, "\"model\" is required: this server has %d models", s->count);
    *status = STATUS_NOT_FOUND;
    return *index >= 0 || refuse(why, "no model is named \"%.64s\"", name);
}

/* Chooses the model of a plain request. match has no choice, because the gallery belongs to all models together. */
static int choose_model(call *c, job_request *r, text *why) {
    const char *name = c->plain.model.s;
    c->status = STATUS_BAD;
    r->first = 0, r->models = c->s->count;
    if (c->kind == CALL_MATCH)
        return !name || refuse(why, "\"model\" is not allowed for match: the gallery belongs to all models together");
    if (!call_choose_model(c->s, name, &c->index, &c->status, why)) return 0;
    r->first = c->index, r->models = 1;
    return 1;
}

static int is_picture(const form_part *p) { return strcmp(p->name.s, "file") == 0 || strcmp(p->name.s, "image") == 0; }

/* Takes the parts of a form: images, and the fields of a query. */
static int take_parts(call *c, const form *f, job_request *r, size_t most, text *why) {
    text value = TEXT_INIT;
    int good = 1;
    for (const form_part *p = f->parts; p < f->parts + f->count && good; p++) {
        if (is_picture(p)) {
            c->pictures[r->count++] = p->content;
            continue;
        }
        text_clear(&value);
        text_puts(&value, "");
        text_add(&value, p->content.at, p->content.len);
        if (text_failed(&value)) good = text_no_memory(why);
        else if (strlen(value.s) != value.len) good = refuse(why, "form: \"%.64s\" contains a zero byte; images are "
                                                              "expected in parts called file or image", p->name.s);
        else good = plain_add(&c->plain, p->name.s, value.s, c->kind == CALL_MATCH, most, why);
    }
    text_free(&value);
    return good;
}

/* Images and boxes are limited alike, and there may be a few fields. */
static int read_form(call *c, job_request *r, size_t most, text *why) {
    enum { FIELDS = 8 };
    form f;
    c->plain.form = 1;
    c->plain.status = STATUS_BAD;
    int good = form_read(&f, (const unsigned char *)c->body.s, c->body.len, &c->boundary, most + FIELDS, why);
    if (!good) c->plain.status = f.status;
    c->pictures = good ? mem_zeroed(f.count + 1, sizeof *c->pictures) : NULL;
    if (good && !c->pictures) good = text_no_memory(why);
    good = good && take_parts(c, &f, r, most, why);
    form_free(&f);
    if (!good) return 0;
    r->pictures = c->pictures;
    if (!r->count) return refuse(why, "form: contains no image; expected a part called file or image");
    if (r->count > most) {
        c->plain.status = STATUS_TOO_LARGE;
        return refuse(why, "form: %zu images are over the limit of %zu", r->count, most);
    }
    if (r->count > 1 && c->plain.count) return refuse(why, "box: needs a form with a single image");
    return 1;
}

static int read_plain(call *c, job_request *r, text *why) {
    plain_request *in = &c->plain;
    const size_t most = most_images(c, 0, c->s->count);
    c->picture = (span){(const unsigned char *)c->body.s, c->body.len};
    r->pictures = &c->picture;
    int good = plain_read(in, c->query.s, c->kind == CALL_MATCH, most, why);
    if (good && c->boundary.s) good = read_form(c, r, most, why);
    else r->count = 1;
    c->status = in->status;
    if (!good || !choose_model(c, r, why)) return 0;
    c->top = in->top ? in->top : c->s->shared->top;
    r->boxes = in->boxes, r->box_count = in->count;
    r->field = "picture";
    r->priority = in->priority, r->timeout_us = in->timeout_us;
    return 1;
}

/* --- running ------------------------------------------------------------------------------------------------------ */

/* Gives the call to the keeper, which starts it again or ends it. */
static void give_to_keeper(call *c) {
    service_keeper *k = c->s->shared->keeper;
    plain_free(&c->plain);
    free_pictures(c);
    if (!k || !k->take(k, c)) end_with(c, STATUS_BUSY, "the server is stopping");
}

/* 1 if the call's model has to be opened first. */
static int lacks_model(const call *c) {
    return c->kind != CALL_MATCH && c->kind != CALL_INDEX && !c->s->model[c->index];
}

/* Calls that compute. */
static void run_job(call *c) {
    job_request r;
    text why = TEXT_INIT;
    memset(&r, 0, sizeof r);
    int good = c->kind == CALL_INFER ? read_infer(c, &r, &why) : read_plain(c, &r, &why);
    if (!r.timeout_us) r.timeout_us = c->timeout_us;
    r.arrived = c->arrived;
    r.brief = c->kind != CALL_MATCH;
    if (!good) end_with(c, text_failed(&why) ? STATUS_BUSY : c->status, why.s);
    else if (lacks_model(c)) give_to_keeper(c);
    else job_run(c->work, &r, write_answer, c);
    text_free(&why);
}

static void refuse_body(call *c, const text *why) {
    end_with(c, text_failed(why) || strstr(why->s, "out of memory") ? STATUS_BUSY : STATUS_BAD, why->s);
}

static void list_models(call *c) {
    int only_ready;
    text why = TEXT_INIT;
    c->status = STATUS_OK;
    if (repository_read_index(&c->body, &only_ready, &why)) {
        repository_index(&c->answer, c->s, only_ready);
        call_finish(c);
    } else {
        refuse_body(c, &why);
    }
    text_free(&why);
}

static void change_model(call *c) {
    text why = TEXT_INIT;
    if (repository_read_change(&c->body, &why)) give_to_keeper(c);
    else refuse_body(c, &why);
    text_free(&why);
}

static void describe_model(call *c) {
    c->status = STATUS_OK;
    if (c->kind == CALL_MODEL) answer_model(&c->answer, c->s, c->index);
    else answer_config(&c->answer, c->s, c->index);
    call_finish(c);
}

static void call_run(void *user) {
    call *c = user;
    if (c->kind == CALL_INDEX) list_models(c);
    else if (c->kind == CALL_LOAD || c->kind == CALL_UNLOAD) change_model(c);
    else if (c->kind != CALL_EMBED && lacks_model(c)) give_to_keeper(c);
    else if (c->kind == CALL_MODEL || c->kind == CALL_CONFIG) describe_model(c);
    else run_job(c);
}

void call_move(call *c, service *s) {
    job_move(c->work, s);
    c->s = s;
}

void call_again(call *c) { pool_add(c->s->shared->workers, &c->first, 0); }

int call_is_late(const call *c) {
    return c->timeout_us > 0 && (clock_seconds() - c->arrived) * 1e6 > (double)c->timeout_us;
}

call *call_create(service *s) {
    call *c = mem_zeroed(1, sizeof *c);
    if (!c) return NULL;
    c->s = s;
    c->work = job_create(s);
    if (c->work) return c;
    free(c);
    return NULL;
}

void call_start(call *c) {
    c->first = (pool_task){call_run, c, NULL};
    if (service_stopping(c->s)) end_with(c, STATUS_BUSY, "the server is stopping");
    else pool_add(c->s->shared->workers, &c->first, 0);
}

void call_cancel(call *c) { job_cancel(c->work); }

void call_free(call *c) {
    if (!c) return;
    text_free(&c->query);
    text_free(&c->body);
    text_free(&c->boundary);
    text_free(&c->answer);
    free_pictures(c);
    infer_free(&c->infer);
    plain_free(&c->plain);
    job_free(c->work);
    free(c);
}
