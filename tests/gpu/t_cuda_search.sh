#!/bin/sh
# reid_search and reid_group on the emulated GPU: what t_search.c compares with a sort, on two kinds of chip, and
# t_group.c with a plain loop; failing calls, memory, forks, packs; `reid gallery search --device`; and planted bugs,
# which must be noticed.
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/tests/t_cuda_search
. tests/gpu/cuda_lib.sh
export TEST_OUT="$out"

# compile FOLDER: t_search and cuda_search with the reid.h in it
compile() {
    gcc -std=c99 -D_GNU_SOURCE -DREID_ASSERT=assert -O1 -g1 -I"$1" -I. tests/core/t_search.c tests/lib/test_impl.c \
        -o "$1/t_search" -lcmocka -lm -lpthread -ldl &&
        gcc -std=c99 -D_GNU_SOURCE -DREID_ASSERT=assert -O1 -g1 -I"$1" -I. tests/core/t_group.c tests/lib/test_impl.c \
            -o "$1/t_group" -lcmocka -lm -lpthread -ldl &&
        gcc -std=c99 -D_GNU_SOURCE -DREID_ASSERT=assert -O0 -g1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror \
            -I"$1" tests/gpu/cuda_search.c -o "$1/cuda_search" -Wl,--wrap=glob -lm -ldl -lpthread && good ||
            bad "compiling in $1"
}
mkdir -p "$out/pays" # a GPU pays for small galleries, too
sed 's/REID__GPU_PAYS ((size_t)1 << 24)/REID__GPU_PAYS ((size_t)1 << 10)/' reid.h > "$out/pays/reid.h"
cmp -s reid.h "$out/pays/reid.h" && bad 'the galleries that pay were not changed'
compile "$out/pays"

run env SEARCH_DEVICE=cuda SEARCH_PRECISION=int8 "$out/pays/t_search"
run env SEARCH_DEVICE=cuda SEARCH_PRECISION=fp16 "$out/pays/t_search"
run env SEARCH_DEVICE=cuda SEARCH_PRECISION=int8 SEARCH_LEAN=1 "$out/pays/t_search"
! my_turn || run env SEARCH_DEVICE=cuda SEARCH_PRECISION=int8 REID_EMULATOR_ARCH=80 "$out/pays/t_search"
run env SEARCH_DEVICE=cuda "$out/pays/t_group"
! my_turn || run env SEARCH_DEVICE=cuda REID_EMULATOR_ARCH=75 "$out/pays/t_search" test_groups
mkdir -p -m 700 "$out/checked" # machine code with every access checked, also for races
for precision in int8 fp16; do
    ! my_turn || run env SEARCH_DEVICE=cuda SEARCH_PRECISION=$precision REID_EMULATOR_CHECK=1 \
        REID_CACHE_DIR="$out/checked" "$out/pays/t_search" test_many
done
for part in scout copies growth memory fork pack automatic; do run "$out/pays/cuda_search" $part; done
for code in 0 2 719; do ! my_turn || run "$out/pays/cuda_search" calls $code; done

gcc -std=c99 -D_GNU_SOURCE -O1 tools/gpu/search.c -o "$out/search" -lm -lpthread -ldl || bad 'search does not compile'
for device in cpu reid_kernels.cu; do # an index that has grown finds what one made of all rows finds
    run "$out/search" grow $device 3000 32
    [ "$(grep -c '"rows": 3000, "dim": 32, .*"grown_ms": [0-9]' "$out/log")" = 2 ] && good || bad "grow $device"
done

# --- planted bugs ---
must_fail() { # must_fail WHAT TEST PROGRAM [NAME=VALUE]...: this test of t_search must fail
    what=$1 test=$2 program=$3
    shift 3
    if env "$@" SEARCH_DEVICE=cuda LD_LIBRARY_PATH="$emulator" REID_CACHE_DIR="$cache" "$program" "$test" \
        > "$out/log" 2>&1; then bad "not seen: $what"; else good; fi
}
broken() { # broken WHAT TEST SED_SCRIPT [NAME=VALUE]...: a bug in reid.h
    what=$1 test=$2
    plant_in "$out/pays/reid.h" "$out/broken/reid.h" "$3" || bad "not planted: $1"
    my_turn || return
    gcc -std=c99 -D_GNU_SOURCE -O0 -w -I"$out/broken" -I. tests/core/t_search.c tests/lib/test_impl.c \
        -o "$out/broken/t_search" -lcmocka -lm -lpthread || bad "$1 does not compile"
    shift 3
    must_fail "$what" "$test" "$out/broken/t_search" "$@"
}
broken_growth() { # broken_growth WHAT SED_SCRIPT: a bug in reid.h that cuda_search's growth must see
    plant_in "$out/pays/reid.h" "$out/broken/reid.h" "$2" || bad "not planted: $1"
    my_turn || return
    gcc -std=c99 -D_GNU_SOURCE -DREID_ASSERT=assert -O0 -w -I"$out/broken" tests/gpu/cuda_search.c \
        -o "$out/broken/cuda_search" -Wl,--wrap=glob -lm -ldl -lpthread || bad "$1 does not compile"
    must_fail "$1" growth "$out/broken/cuda_search"
}
broken_kernel() { # broken_kernel WHAT TEST SED_SCRIPT [NAME=VALUE]: a bug in reid_kernels.cu
    plant_in reid_kernels.cu "$out/broken/kernels.cu" "/^#ifdef REID_SEARCH/,\$ $3" || bad "not planted: $1"
    my_turn || return
    must_fail "$1" "$2" "$out/pays/t_search" TEST_KERNELS="$out/broken/kernels.cu" ${4+"$4"}
}
broken 'the error of halves is forgotten' test_close \
    's/a->slack = x->longest \* .*/a->slack = 0;/' SEARCH_PRECISION=fp16
broken 'the error of bytes is forgotten' test_rests 's/a->slack = s->rest + 1e-6/a->slack = 1e-6/' SEARCH_PRECISION=int8
broken 'highest possible scores are taken for scores' test_rows 's/^ *!reid__scored_again(h)};/1};/' \
    SEARCH_PRECISION=int8 SEARCH_LEAN=1
broken 'hits below possible scores' test_rests 's/(h->starts || s->lean)/h->starts/' \
    SEARCH_PRECISION=int8 SEARCH_LEAN=1
broken 'the padding is forgotten' test_shared 's/k \* shared + 4,/k * shared,/'
broken 'a group is in one tile only' test_shared 's/(h->x->largest + 30) \/ 32 + 1/1/'
broken 'the rows are uploaded in their own order' test_groups \
    's/size_t row = x->order ? x->order\[place\] : place;/size_t row = place;/'
broken 'the mean of a group, though rows are left out' test_groups \
    's/a.top = reid__scored_again(h) ? 1 : h->top;/a.top = h->top;/'
broken 'hits that are left out are not replaced' test_many 's/__atomic_add_fetch(&h->unsettled, .*/;/'
broken_growth 'old rows from the beginning of each run' 's/if (is_old) old += end - place;/;/'
broken_growth 'halves of another scale' 's/ordered = s->scale == had->scale;/ordered = 1;/'
broken_growth 'old rows in another order' 's/was->order\[old++\]) ordered = 0;/was->order[old++]) ordered = 1;/'
broken_growth 'the longest row is an old one' 's/if (longest > x->longest) /if (x->longest < 1e-9) /'
broken_growth 'each run is one row' 's/runs \* 128 > place/runs > place/'
broken_kernel 'the error of a query of bytes is forgotten' test_rests \
    's/ + g.reach \* sqrt(rest)//' SEARCH_PRECISION=int8
broken_kernel 'a cut without its error' test_rests 's/cut \* step - slack);/cut * step);/' SEARCH_PRECISION=int8
broken_kernel 'blocks that share no tiles' test_shared 's/int tile = start + i \* g.parts;/int tile = start + i;/'
broken_kernel 'a group that begins in an earlier tile' test_groups 's/else stop = middle;/else stop = middle, unit++;/'
broken_kernel 'a group in each of its tiles' test_groups 's/return at == tile;/return true;/'
broken_kernel 'of equal scores any row' test_many 's/ || (score == other_score && row < other_row)//'
broken_kernel 'a list without an end' test_many 's/if (full) settle();/;/'
broken_kernel 'a list that is counted while others add to it' test_many \
    's/__syncthreads(); \/\* before the next tile.*/;/' REID_EMULATOR_CHECK=1
broken_kernel 'a tile that is scored twice' test_groups 's/, last = cut) {/) {/'
broken_kernel 'the best row of a group last' test_groups 's/if (slot == 0) \*best_place/if (slot <= 1) *best_place/'

# --- the command: each image searched for among the others ---
make -s build/reid build/seeded build/demo_images || bad 'the reid command does not build'
build/seeded --net efficientnet_b0 -o "$out/weights.safetensors" && rm -rf "$out/pictures" &&
    build/demo_images "$out/pictures" > "$out/log" 2>&1 || bad 'no weights or pictures'
herd=$(find "$out/pictures" -type f | sort | head -n 12)
# shellcheck disable=SC2086 # several files
run build/reid embed -m "$out/weights.safetensors" --size 32x32 --device cpu $herd -o "$out/herd.npy"
rm -f "$out/herd.gallery"
run build/reid gallery create "$out/herd.gallery" --like "$out/herd.npy"
run build/reid gallery add "$out/herd.gallery" "$out/herd.npy"
for by in template max top mean; do
    my_turn || continue
    run build/reid gallery search "$out/herd.gallery" "$out/herd.npy" --by $by --json --device cpu
    grep '^{' "$out/log" > "$out/wanted"
    run build/reid gallery search "$out/herd.gallery" "$out/herd.npy" --by $by --json --device cuda -v
    shows 'searching on GPU 0' "$out/log" && good || bad 'gallery search does not tell the device'
    grep '^{' "$out/log" | cmp -s - "$out/wanted" && [ -s "$out/wanted" ] && good || bad "--by $by differs"
done
say_left_out 'parts and bugs'
finish
