/* Maps paths to endpoints. */
#ifndef REID_TOOLS_ROUTES_H
#define REID_TOOLS_ROUTES_H

#include "server/service.h"

typedef enum route_kind {
    ROUTE_LIVE, /* this and the next ones need no token */
    ROUTE_READY,
    ROUTE_HELP,
    ROUTE_OPENAPI,
    ROUTE_METRICS, /* this and the next ones do */
    ROUTE_SERVER,
    ROUTE_MODEL,
    ROUTE_MODEL_READY,
    ROUTE_CONFIG,
    ROUTE_STATS, /* of model index, or of all models if it is -1 */
    ROUTE_INFER, /* this and the next ones need POST and a body, the others GET */
    ROUTE_EMBED,
    ROUTE_MATCH,
    ROUTE_INDEX, /* the body of this and the next ones may be missing */
    ROUTE_LOAD,
    ROUTE_UNLOAD
} route_kind;

typedef struct route {
    route_kind kind;
    int index; /* the model */
} route;

/* path: as the client sent it, len bytes up to the query. Returns 0 with the reason in why. */
int route_find(route *out, const service *s, const char *path, size_t len, text *why);

#endif
