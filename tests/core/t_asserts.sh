#!/bin/sh
# Invariants of reid.h: without REID_ASSERT nothing is evaluated, and with it each mistake that is planted here ends the
# program at the assertion that names it, before any result is wrong.
#
#   sh tests/core/t_asserts.sh                a share of the mistakes; of the others, that their pattern still matches
#   REID_ALL=1 sh tests/core/t_asserts.sh     all
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/check.sh
REID_SHARE=3
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$dir/top/predict/gpu" "$dir/tmp"
export TMPDIR="$dir/tmp" # a test that is stopped does not clean up
ln -s "$PWD/tests" "$PWD/tools" "$PWD/reid_kernels.cu" "$dir/top/"
cp tools/gpu/*.[ch] "$dir/top/predict/gpu/" # a link to it would lead to the reid.h without the mistake
top=$dir/top log=$dir/log

# compile PROGRAM.c OPTION...: as $dir/program, with the reid.h of $top
compile() {
    source=$1
    shift
    more=$(grep -q 'tests/lib/test_impl\.c' "$top/$source" && echo "$top/tests/lib/test_impl.c")
    # shellcheck disable=SC2086 # none or one
    cc -std=c99 -D_GNU_SOURCE -DREID_NO_VECTORS -O0 -w "$@" "-I$top" "$top/$source" $more -o "$dir/program" \
        -lcmocka -lm -lpthread -ldl
}

# mistake WHAT ASSERTION PROGRAM.c SED_SCRIPT ARGUMENT...: the program with it ends at the assertion
mistake() {
    what=$1 assertion=$2 source=$3
    plant_in reid.h "$top/reid.h" "$4" || { bad "$what: the pattern matches nothing in reid.h"; return; }
    shift 4
    my_turn || return
    compile "$source" -DREID_ASSERT=assert > "$log" 2>&1 || { bad "$what: does not compile"; return; }
    (cd "$top" && CMOCKA_TEST_ABORT=1 timeout 60 "$dir/program" "$@" || :) > "$log" 2>&1
    if grep -qF "Assertion \`$assertion" "$log"; then good; else bad "$what: $assertion does not notice"; fi
}

mistake 'a buffer of a GPU has a quarter of what a launch writes' 'reid__gpu_plan_is_sound(g)' predict/gpu/predict.c \
    's/if (bytes > \*size) \*size = bytes;/if (bytes > *size) *size = bytes \/ 4;/' resnet50 256
mistake 'an input of a fused operation is given up too early' 'reid__gpu_plan_is_sound(g)' predict/gpu/predict.c \
    's/b->last = reid__max(b->last, i);/b->last = reid__max(b->last, b->first + 1);/' resnet50 256
mistake 'buffers of a GPU share memory' 'reid__gpu_plan_is_sound(g)' predict/gpu/predict.c \
    's/g->arena = reid__place_buffers(.*/g->arena = reid__place_buffers(g->buffers, p->buffer_count, g->size, NULL, \
    g->offset), g->offset[4] = g->offset[2];/' resnet50 256
mistake 'a heap forgets the place of an entry' 'h->items[at] == a' tests/core/t_queue.c \
    's/h->items\[at\] = a, a->place\[h->by_deadline\] = at;/h->items[at] = a, a->place[h->by_deadline] = 1;/'
mistake 'a request ends twice' 'a->ticket && !a->ended' tests/core/t_queue.c \
    's/if (a->ticket != ticket || a->ended) return/if (a->ticket != ticket) return/' test_cancel
mistake 'a lane is released twice' '*taken' tests/core/t_api.c \
    's/    \*taken = 0;/    *taken = 0; REID_ASSERT(*taken);/'
mistake 'groups that cannot be linked are joined' 'must_link ||' tests/core/t_group.c \
    's/link.score < g->d->threshold || reid__cannot_link(g, link.a, link.b)/link.score < g->d->threshold/'

# --- off ---
cp reid.h "$top/"
check_off() { # an assertion with a side effect, which must not happen
    cat > "$top/off.c" << 'END'
static int evaluated;
#define REID_NO_VECTORS
#define REID_IMPLEMENTATION
#include "reid.h"
int main(void) {
    REID_ASSERT(++evaluated > 1);
    return evaluated;
}
END
    cc -std=c99 -D_GNU_SOURCE -DREID_NO_CUDA -O0 -I"$top" "$top/off.c" -o "$dir/program" -lm -lpthread > "$log" 2>&1 &&
        "$dir/program" >> "$log" 2>&1
}
if check_off; then good; else bad 'without REID_ASSERT nothing is evaluated'; fi
say_left_out mistakes
finish
