/* unicode_forms.c: for t_unicode.sh. Each line of stdin is a name; a line of stdout has, with tabs between them, the
   name decomposed (NFD), composed (NFC), the order of the name before it and this one, and 1 if the two are one name
   with two hashes. */
#include "base/random.h"
#include "base/text.h"
#include "base/unicode.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int sign(int order) { return (order > 0) - (order < 0); }

int main(void) {
    char *line = NULL, *before = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getline(&line, &room, stdin)) > 0) {
        text forms = TEXT_INIT;
        line[n - 1] = 0;
        text_nfd(&forms, line);
        text_putc(&forms, '\t');
        text_nfc(&forms, line);
        int order = before ? name_order(before, line) : -1;
        printf("%s\t%d\t%d\n", forms.s, sign(order),
               order == 0 && name_hash(HASH_START, before) != name_hash(HASH_START, line));
        text_free(&forms);
        free(before);
        before = strdup(line);
    }
    free(before), free(line);
    return 0;
}
