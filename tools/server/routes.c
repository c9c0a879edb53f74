#include "server/routes.h"

#include "base/text.h"
#include "server/request.h"

#include <string.h>

typedef struct fixed {
    const char *path;
    route_kind kind;
} fixed;

static const fixed WHOLE[] = {
    {"/", ROUTE_HELP},
    {"/embed", ROUTE_EMBED},
    {"/health", ROUTE_READY},
    {"/healthz", ROUTE_READY},
    {"/livez", ROUTE_LIVE},
    {"/match", ROUTE_MATCH},
    {"/metrics", ROUTE_METRICS},
    {"/openapi.json", ROUTE_OPENAPI},
    {"/readyz", ROUTE_READY},
    {"/v2", ROUTE_SERVER},
    {"/v2/", ROUTE_SERVER},
    {"/v2/health/live", ROUTE_LIVE},
    {"/v2/health/ready", ROUTE_READY},
    {"/v2/models/stats", ROUTE_STATS},
    {"/v2/repository/index", ROUTE_INDEX},
};

/* The paths after a model's name. */
static const fixed OF_MODEL[] = {
    {"", ROUTE_MODEL},
    {"/ready", ROUTE_MODEL_READY},
    {"/config", ROUTE_CONFIG},
    {"/stats", ROUTE_STATS},
    {"/infer", ROUTE_INFER},
};

/* The paths after a model's name in the repository. */
static const fixed OF_REPOSITORY[] = {
    {"/load", ROUTE_LOAD},
    {"/unload", ROUTE_UNLOAD},
};

static int find(const fixed *list, size_t count, const char *path, route *out) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].path, path) == 0) return out->kind = list[i].kind, 1;
    return 0;
}

/* Parses NAME, NAME/ready, NAME/versions/1/ready; each model has one version. */
static int find_of_model(route *out, const service *s, char *path, text *why) {
    static const char version[] = "/versions/1";
    size_t n = strcspn(path, "/"), skip = sizeof version - 1;
    const char *rest = path + n;
    route found = {ROUTE_MODEL, -1};
    if (strncmp(rest, version, skip) == 0 && (!rest[skip] || rest[skip] == '/')) rest += skip;
    if (!find(OF_MODEL, sizeof OF_MODEL / sizeof *OF_MODEL, rest, &found))
        return refuse(why, "unknown path \"%.64s\" after the model", rest);
    path[n] = 0;
    found.index = service_find(s, path);
    *out = found;
    return found.index >= 0 || refuse(why, "no model is named \"%.64s\"", path);
}

/* Parses NAME/load. */
static int find_of_repository(route *out, const service *s, char *path, text *why) {
    const size_t n = strcspn(path, "/");
    route found = {ROUTE_LOAD, -1};
    if (!find(OF_REPOSITORY, sizeof OF_REPOSITORY / sizeof *OF_REPOSITORY, path + n, &found))
        return refuse(why, "unknown path \"%.64s\" after the model; expected /load or /unload", path + n);
    path[n] = 0;
    found.index = service_find(s, path);
    *out = found;
    return found.index >= 0 || refuse(why, "no model is named \"%.64s\"", path);
}

int route_find(route *out, const service *s, const char *path, size_t len, text *why) {
    static const char models_path[] = "/v2/models/", repository[] = "/v2/repository/models/";
    const size_t skip = sizeof models_path - 1, beyond = sizeof repository - 1;
    text plain = TEXT_INIT;
    int good;
    text_puts(&plain, "");
    out->index = -1;
    if (!percent_decode(path, len, &plain))
        good = text_failed(&plain) ? text_no_memory(why) : refuse(why, "a malformed %% in the path");
    else if (find(WHOLE, sizeof WHOLE / sizeof *WHOLE, plain.s, out)) good = 1;
    else if (strncmp(plain.s, models_path, skip) == 0) good = find_of_model(out, s, plain.s + skip, why);
    else if (strncmp(plain.s, repository, beyond) == 0) good = find_of_repository(out, s, plain.s + beyond, why);
    else good = refuse(why, "unknown path \"%.64s\"", plain.s);
    if (good && out->kind == ROUTE_MATCH && !s->shared->has_gallery) good = refuse(why, "this server has no gallery");
    text_free(&plain);
    return good;
}
