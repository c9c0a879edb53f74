/* failing.c: which call is to fail. "cuMemAlloc:3" is the third call of that function (its name with or without _v2),
   "any:17" the seventeenth of all; with "+" behind the number, as in "cuStreamQuery:5+", every later one, too; ":700"
   behind that is the error to return. */
#include <stdio.h>

#include "driver.h"

void emu_failing_set(emu_failing *f, const char *specification) {
    memset(f, 0, sizeof *f);
    if (!specification || !*specification) return;
    const char *colon = strchr(specification, ':');
    size_t length = colon ? (size_t)(colon - specification) : strlen(specification);
    if (!colon || length >= sizeof f->name) {
        fprintf(stderr, "reid emulator: REID_EMULATOR_FAIL=%s is not NAME:N or NAME:N:CODE\n", specification);
        return;
    }
    memcpy(f->name, specification, length);
    char *end;
    f->at = strtoul(colon + 1, &end, 10);
    if (*end == '+') f->later = 1, end++;
    if (*end == ':') f->code = strtoul(end + 1, NULL, 10);
}

int emu_failing_now(emu_failing *f, const char *call, int counts_as_any, int *code) {
    size_t length = strlen(f->name), number = 0;
    if (counts_as_any) f->any_calls++;
    if (!f->at) return 0;
    if (strcmp(f->name, "any") == 0) number = counts_as_any ? f->any_calls : 0;
    else if (!strncmp(call, f->name, length) && (!call[length] || !strncmp(call + length, "_v", 2)))
        number = ++f->named_calls;
    if (f->later && number > f->at) number = f->at;
    if (number != f->at) return 0;
    if (f->code) *code = (int)f->code;
    return 1;
}
