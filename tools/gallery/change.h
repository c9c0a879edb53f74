/* How changes of a gallery go, wherever it is kept. */
#ifndef REID_TOOLS_CHANGE_H
#define REID_TOOLS_CHANGE_H

#include <stddef.h>

/* How a change went. After a refusal the gallery can still be used, after a failure nothing more can be stored; a
   commit of which nobody can tell whether it has happened is UNKNOWN, because the connection broke and did not come
   back. */
typedef enum templates_result {
    TEMPLATES_UNKNOWN = -2,
    TEMPLATES_FAILED,
    TEMPLATES_REFUSED,
    TEMPLATES_DONE
} templates_result;

/* What others did meanwhile, before a commit: an added id is there already, or one that is to be removed is gone.
   number counts the additions, or else the removals, since the last commit. */
typedef void (*templates_refused_fn)(void *user, size_t number, const char *id, const char *why);

typedef struct commit_rules {
    int all_or_nothing;           /* one refusal, and nothing is stored; it is told all the same */
    templates_refused_fn refused; /* NULL: nobody wants to know */
    void *user;
} commit_rules;

#endif
