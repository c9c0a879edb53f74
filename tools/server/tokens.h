/* The tokens that TCP clients may send. Several have names, so that an old and a new one are valid while clients change
   over. */
#ifndef REID_TOOLS_TOKENS_H
#define REID_TOOLS_TOKENS_H

#include "base/text.h"

enum { TOKEN_NAME = 64 }; /* characters of a name at most */

typedef struct token {
    text name;   /* empty for the only line of a file without names */
    text secret;
} token;

typedef struct tokens {
    token *list;
    size_t count, cap;
} tokens;

/* Reads a file with one token, or with lines "NAME TOKEN", empty ones and comments with #, if secret_file_check allows
   it. Returns 0 with the reason in why, which never contains a token; free them in any case. */
int tokens_read(tokens *t, const char *path, text *why);
void tokens_free(tokens *t);

/* Checks an Authorization header, whose absence is NULL. The time that this takes does not depend on which bytes are
   right. Returns the token that it contains, or NULL. */
const token *tokens_admit(const tokens *t, const char *authorization);

#endif
