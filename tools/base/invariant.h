/* A condition that always holds unless the program has a bug. Bad input is never asserted: it is refused.
   -DREID_ASSERT=assert checks it, as all tests do; without it nothing is evaluated. reid.h has the same macro. */
#ifndef REID_TOOLS_INVARIANT_H
#define REID_TOOLS_INVARIANT_H

#ifdef REID_ASSERT
#include <assert.h>
#else
#define REID_ASSERT(condition) ((void)(0 && (condition)))
#endif

#endif
