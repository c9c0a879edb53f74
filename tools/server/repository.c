#include "server/repository.h"

#include "base/json.h"
#include "base/json_write.h"

#include <string.h>

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* Reads a body that is empty or an object with at most one member; `take` reads its value, and may use `key`. */
static int read_member(const text *body, const char *name,
                       void (*take)(json *j, text *key, void *user, text *why), void *user, text *why) {
    json j;
    text key = TEXT_INIT;
    int given = 0;
    if (!body->len) return 1;
    json_begin(&j, body->s, body->len);
    for (json_object(&j); !why->len && json_key(&j, &key);) {
        if (strcmp(key.s, name) != 0) refuse(why, "request: \"%.64s\" is unknown; expected \"%s\"", key.s, name);
        else if (given++) refuse(why, "%s: is given twice", name);
        else take(&j, &key, user, why);
    }
    if (!why->len && !json_end(&j)) refuse(why, "request: %s", j.error);
    text_free(&key);
    return !why->len;
}

static void read_flag(json *j, text *key, void *flag, text *why) {
    (void)key, (void)why;
    json_bool(j, flag);
}

int repository_read_index(const text *body, int *only_ready, text *why) {
    *only_ready = 0;
    return read_member(body, "ready", read_flag, only_ready, why);
}

/* A model comes from the file of its -m. A client that sends another configuration or other files must not believe that
   they are used; other parameters may be ignored. */
static int is_override(const char *parameter) {
    return strcmp(parameter, "config") == 0 || strncmp(parameter, "file:", 5) == 0;
}

static void read_parameters(json *j, text *key, void *unused, text *why) {
    (void)unused;
    for (json_object(j); json_key(j, key);) {
        if (is_override(key->s)) {
            refuse(why, "parameters: \"%.64s\" is not supported: models are loaded from the files of -m", key->s);
            return;
        }
        json_skip(j);
    }
}

int repository_read_change(const text *body, text *why) {
    return read_member(body, "parameters", read_parameters, NULL, why);
}

/* --- the index ---------------------------------------------------------------------------------------------------- */

void repository_index(text *t, const service *s, int only_ready) {
    static const char *const states[] = {"READY", "LOADING", "UNAVAILABLE"};
    json_writer w = json_write(t);
    json_put_array(&w, NULL);
    for (int i = 0; i < s->count; i++) {
        model_view v;
        service_view(s, i, &v);
        if (!only_ready || v.state == MODEL_READY) {
            json_put_line(&w, 0);
            json_put_object(&w, NULL);
            json_put_string(&w, "name", s->names[i]);
            json_put_string(&w, "version", "1");
            json_put_string(&w, "state", states[v.state]);
            json_put_string(&w, "reason", text_failed(&v.reason) ? "" : v.reason.s);
            json_put_end(&w);
        }
        text_free(&v.reason);
    }
    json_put_finish(&w);
}
