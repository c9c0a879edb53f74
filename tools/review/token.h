/* Words that cannot be guessed: the path of the page, the nonce of its script. */
#ifndef REID_TOOLS_TOKEN_H
#define REID_TOOLS_TOKEN_H

#include "base/text.h"

/* Makes a new token of 32 hexadecimal digits. Returns 0 with the reason in why. */
int token_make(char out[33], text *why);

#endif
