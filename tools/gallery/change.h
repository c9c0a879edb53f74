/* Results and rules of a change to a gallery, in a file or in a database. */
#ifndef REID_TOOLS_CHANGE_H
#define REID_TOOLS_CHANGE_H

#include <stddef.h>

/* The result of a change. After REFUSED the gallery can still be used; after FAILED nothing more can be stored.
   UNKNOWN: the connection was lost during a commit and could not be restored, so it is unknown whether the commit took
   effect. */
typedef enum templates_result {
    TEMPLATES_UNKNOWN = -2,
    TEMPLATES_FAILED,
    TEMPLATES_REFUSED,
    TEMPLATES_DONE
} templates_result;

/* Reports what other writers did before this commit: an id to be added already exists, or one to be removed is gone.
   number counts the additions, or else the removals, since the last commit. */
typedef void (*templates_refused_fn)(void *user, size_t number, const char *id, const char *why);

typedef struct commit_rules {
    int all_or_nothing;           /* after one refusal nothing is stored; refused is still called */
    templates_refused_fn refused; /* NULL: refusals are not reported */
    void *user;
} commit_rules;

#endif
