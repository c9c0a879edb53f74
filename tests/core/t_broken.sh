#!/bin/sh
# A test that cannot fail proves nothing: this one plants a bug in a copy of reid.h and demands that the named test
# turns red, one bug after another. A pattern that no longer matches is a failure, too.
#
#   sh tests/core/t_broken.sh                 a share of the bugs; of the others, that their pattern still matches
#   REID_ALL=1 sh tests/core/t_broken.sh [WORD]      all, or those whose description contains WORD
# It assumes that the tests pass without a bug, which tests/run checks. Most bugs are planted in a reid.h without code
# for particular processors, which compiles in a third of the time and has the same loops; an empty `portable` includes
# that code, for bugs in it and for tests that would be slow without it.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/check.sh
unset REID_WRITE # what is said with a bug is not what a test should expect
REID_SHARE=12 # its bugs take 4 s each, with the compiler
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$dir/top" "$dir/tmp"
export TMPDIR="$dir/tmp" # a test that is stopped does not clean up
ln -s "$PWD/tests" "$PWD/tools" "$dir/top/"
top=$dir/top word=${1-} limit=60 portable=-DREID_NO_VECTORS log=$dir/log

# build FILE: a test with the compile line's linker options and the planted bug. Not optimised: compiling is most of the
# work.
build() {
    wrap=$(sed -n '1,/\*\//s/.*\(-Wl,--wrap=[^ ]*\).*/\1/p' "$1" | tr '\n' ' ')
    more=$(grep -q 'tests/lib/test_impl\.c' "$1" && echo "$top/tests/lib/test_impl.c")
    # shellcheck disable=SC2086 # several options
    cc -std=c99 -D_GNU_SOURCE -DREID_NO_CUDA $portable -O0 -w "-I$top" "$top/$1" $more -o "$dir/test" \
        -lcmocka -lm -lpthread -ldl $wrap
}

# notices TEST [ARGUMENT]: the test must fail; a hang counts as failing
notices() {
    test=$1
    shift
    rm -f "$dir/test"
    if [ -f "tests/core/$test.sh" ]; then
        ! (cd "$top" && CMOCKA_TEST_ABORT=1 sh "tests/core/$test.sh") > "$log" 2>&1
    elif build "tests/core/$test.c" > "$log" 2>&1; then
        ! (cd "$top" && CMOCKA_TEST_ABORT=1 timeout $limit "$dir/test" "$@") > "$log" 2>&1
    else
        echo "$test does not compile" >> "$log"
        return 1
    fi
}

# bug DESCRIPTION TEST SED_SCRIPT [ARGUMENT]: the test must fail. ARGUMENT: its function that fails, if others
# before it take long
bug() {
    case $1 in *"$word"*) ;; *) return ;; esac
    what=$1 test=$2 script=$3
    shift 3
    rm -f "$log"
    plant_in reid.h "$top/reid.h" "$script" || { bad "$what: the pattern matches nothing in reid.h"; return; }
    my_turn || return
    if notices "$test" "$@"; then
        good
        echo "$test catches: $what"
    else
        bad "$what: $test does not notice"
    fi
}

# --- operations ---
bug 'the residual is subtracted' t_ops 's/acc\[r\]\[j\] += \(REID__F(residual)\)/acc[r][j] -= \1/'
bug 'the residual is dropped' t_ops 's/t.residual = reid__value_at.*/;/'
bug 'a variance around zero' t_ops 's/far = REID__GET(p) - mean/far = REID__GET(p)/' test_instance
bug 'batch norm of all channels where half have it' t_ops 's/from = op->bn_from/from = 0/' test_half_norm
bug 'a key for a value' t_ops 's/REID__LOAD(value + p \* c/REID__LOAD(key + p * c/' test_nonlocal
bug 'one column of padding too many is read' t_ops 's/x >= 0 \&\& x < op->iw;/x >= 0 \&\& x <= op->iw;/' \
    test_conv_windows
bug 'a window inside the image has its rows too near' t_ops \
    's/i \/ op->kw) \* in->w + i % op->kw/i \/ op->kw) * (in->w - 1) + i % op->kw/' test_conv_windows
bug 'the next image starts at the wrong place' t_ops 's/if (oy == op->oh) oy = 0, image++;/if (oy == op->oh) oy = 0;/'
bug 'a block of what is left over' t_ops 's/reid__min(room, most + most \/ 4)/most/'
bug 'inputs past the last four of a tile are left out' t_ops 's/for (; k < kc; k += REID__S/for (; 0; k += REID__S/' \
    test_conv_1x1
bug 'a point of Winograd has the wrong sign' t_ops 's/minus5 = REID__SET1(-5.0f)/minus5 = REID__SET1(5.0f)/' \
    test_winograd
bug 'a filter of Winograd weighs wrong at 2' t_ops 's/wide = REID__FMA(REID__SET1(4/wide = REID__FMA(REID__SET1(2/' \
    test_winograd
bug 'a filter of Winograd has the wrong sign' t_ops 's/u\[4\] = wide - twice/u[4] = wide + twice/' test_winograd
bug 'a tile of Winograd takes the place of another' t_ops 's/r % REID__TILES, out + group/0, out + group/' test_winograd
bug 'Winograd takes what another operation has transformed' t_ops 's/, j->scratch\[i\].held = -1;/;/' test_winograd
bug 'Winograd forgets the bias' t_ops 's/m\[j\], REID__LOAD(bias + at)/m[j], REID__SET1(0.0f)/' test_winograd
bug 'all images get the factors of the first' t_ops 's/(j, j->op->scale, (int)(m .*));/(j, j->op->scale, 0);/' \
    test_conv_1x1
bug 'a coefficient of SiLU is wrong' t_ops 's/2\.40257630e-1f/2.41257630e-1f/' test_silu
bug 'an eighth is another' t_ops 's/0x3f7837f0/0x3f7837e0/' test_silu
bug 'a single channel loses its bias' t_ops 's/= products\[i\] + \*bias/= products[i]/' test_conv_1x1
bug 'all pixels of a single channel are the first' t_ops \
    's/(j, op->in, 0, m \* c), n, products/(j, op->in, 0, 0), n, products/' test_conv_1x1
bug 'a coefficient of the logarithm is wrong' t_ops 's/9\.61798848e-1f/9.61898848e-1f/' test_power
bug 'an infinity is a number in a generalised mean' t_ops \
    's/REID__FMA(x, REID__SET1(0.0f), REID__F(exp2)(log, REID__SET1(p)))/REID__F(exp2)(log, REID__SET1(p))/' test_power
bug 'tanh has too few terms' t_ops 's/for (int odd = 29;/for (int odd = 19;/' test_tanh
bug 'a head forgets its tanh' t_heads 's/op->act == REID__TANH \&\& i < j->n/0/' test_widths
bug 'a fused line stands in the wrong place' t_ops 's/return ring + y % depth \*/return ring + (y + 1) % depth */' \
    test_depthwise
bug 'no room in a ring for lines that are computed early' t_ops \
    's/return op->kh + reid__ring_lines(p, op) - 1/return op->kh/' test_fused
bug 'a line of several is the first of them' t_ops 's/from->lines + (size_t)i \* floats/from->lines + 0 * i/' test_fused
bug 'what is beside a ring is not zero' t_ops 's/^    memset(ring, 0, lines .*/    (void)lines;/' test_depthwise
bug 'a tile of the image goes on past its line' t_ops 's/^    if (c == 3 \&\& left > .*/    (void)0;/' test_stem
bug 'pixels side by side are further apart' t_ops 's/t->row = in->c \* in->bytes/t->row = 2 * in->c * in->bytes/' \
    test_conv_1x1
bug 'squeeze-excite leaves out what is behind eights' t_ops 's/for (; k < k_count; k++) REID__F(add_rows).*/;/' \
    test_squeeze
bug 'adaptive bins do not overlap' t_ops 's/reid__ceil_div(\((bx + 1) \* op->iw\), op->ow)/\1 \/ op->ow/' \
    test_pool
bug 'batch norm forgets epsilon' t_ops 's/= gamma \/ sqrt(var + op->bn_eps)/= gamma \/ sqrt(var)/'
bug 'NaN becomes zero in ReLU' t_behaviour 's/REID__MAX(REID__SET1(0.0f), x)/REID__MAX(x, REID__SET1(0.0f))/' \
    test_nan_survives
# --- INT8 ---
bug 'INT8 weights are cut off, not rounded' t_int8 \
    's/(char)(int)rint(value \* inverse)/(char)(int)(value * inverse)/' test_definition
bug 'what rounding the mean has left is lost' t_int8 \
    's/bias\[j\] = (float)(bias\[j\] + rest)/(void)rest/' test_definition
bug 'the scale of the next channel' t_int8 's/t->scale = j->net->weights + op->scales + column/& + 1/' test_definition
bug 'a residual in its own steps' t_int8 \
    's/t.residual_scale = reid__residual_scale(.*);/t.residual_scale = 1;/' test_definition
bug 'a shortcut without its sign' t_int8 's/t.added = residual->is_signed ? 2 : 1;/t.added = 1;/' test_definition
bug 'half of a range counts as its end' t_int8 's/>> 7 & eight >> 7 & ones/>> 7 \& ones/' test_beyond
bug 'an image beyond the ranges keeps its bytes' t_int8 \
    's/if (ctx->fp32_fallback \&\& clipped\[i\] > most)/if (0)/' test_beyond
bug 'images beyond the ranges by their place in the batch' t_int8 \
    's/&j->clipped\[j->at + image\]/\&j->clipped[image]/' test_beyond
bug 'ranges of another network are accepted' t_int8 's/if (strcmp(own, b->ranges_for) == 0)/if (1)/' test_refused
bug 'ranges are not in the fingerprint' t_int8 's/^    if (int8) reid__print_digest.*/    int8 = 0;/' test_fingerprint
# --- plan and memory ---
bug 'buffers that live together share memory' t_plan 's/< at + size\[id\]) free_here = 0;/< at + size[id]) {}/'
bug 'outputs take the place of what stands in the other arena' t_plan 's/ \&\& over->late == out->late//' test_memory
bug 'early buffers stand where one waits for the rest of the batch' t_plan \
    's/ \&\& end > p->carried_floats) p->carried_floats = end;/) {}/' test_memory
bug 'a batch is larger than its memory' t_plan \
    's/return early + carried > late ? early + carried : late;/return late;/' test_memory
bug 'the last stride is ignored' t_plan 's/if (layer == 3) stride = p->last_stride;/;/'
bug 'handles leak' t_oom 's/reid__release(&mem, NULL);/;/'
# --- files ---
bug 'NaN weights are accepted' t_tensors 's/if (bad < n)/if (0)/'
bug 'an infinite weight is called NaN' t_values 's/0x7fffff ? "NaN"/0x7f800000 ? "NaN"/'
bug 'overlapping tensors are accepted' t_badfiles 's/if (t->begin != at)/if (0)/'
# --- searches ---
portable= # a search of that many rows takes long without vectors
bug 'what waits for a row is forgotten' t_search 's/h->counts\[list\] = reid__take_deferred(.*;/;/' test_mutual
bug 'of what waits for a row nothing is excluded' t_search \
    's/if (h->d->exclude \&\& h->d->exclude((int)row, other, h->d->exclude_user)) return;/;/' test_mutual
bug 'what is dropped from those that wait stays in the list' t_search \
    's/, list\[i\].row = t->full\[i\].unit;/;/' test_mutual
portable=-DREID_NO_VECTORS
bug 'searches with other thresholds are made together' t_search_turns 's/ \&\& memcmp(&least, .*/;/'
bug 'searches that exclude rows are made together' t_search_turns 's/ || x->exclude || y->exclude//'
bug 'a call receives the hits of another' t_search_turns \
    's/for (; at >= call->n; call = call->next) at -= call->n;/;/'
bug 'calls that join no others are forgotten' t_search_turns \
    's/            at = &call->next;/            *at = call->next;/'
# --- groups ---
bug 'crops of one frame in one group' t_group 's/ || reid__shared_frame(g, a, b) != REID__NOTHING)/)/' test_pairs
bug 'groups forget what they knew of other groups' t_group \
    's/if (n->bound > m->bound) m->bound = n->bound;/m->bound = (double)-INFINITY;/'
bug 'a cannot_link of groups holds for a row' t_group \
    's/if (g->rows\[g->enemies\[i\]\].home == other) return 1;/if (g->enemies[i] == other) return 1;/'
bug 'sums of groups are rounded to FP32' t_group \
    's/sum\[g->dim + k\] = (float)(whole - (double)sum\[k\]);/sum[g->dim + k] = 0;/'
bug 'stale links of groups are believed' t_group 's/link.score = reid__group_score(g, a, b);/;/'
bug 'groups that are apart are joined' t_group 's/ \&\& g->d->separate_ids\[x\] != g->d->separate_ids\[y\]/ \&\& 0/'
limit=20 # this one hangs
bug 'near ties of groups are left to FP32' t_group \
    's/if (reid__round_score(hits\[0\].score - error) > m->bound) continue;/continue;/'
bug 'groups do not hear of near ones without links' t_group \
    's/if (most > g->rows\[other\].bound) g->rows\[other\].bound = most;/;/' test_near
bug 'a chain ends at the first group' t_group \
    's/if (n > 1 \&\& best.b == chain\[n - 2\])/if (best.score >= g->d->threshold)/; s/, n -= 2;/, n = 0;/' test_near
# --- the queue ---
limit=20 # some hang
bug 'a request is over while its pixels are read' t_queue \
    's/if (!a->ended || a->computing) return;/if (!a->ended) return;/' test_cancel
bug 'deadlines wait for a free lane' t_queue \
    's/reid__request_end(q, a, REID_ERR_EXPIRED, now);/break;/' test_deadlines
bug 'priorities are ignored' t_queue 's/a->rank != b->rank) return a->rank < b->rank;/0) return 0;/' test_order
bug 'nothing ages' t_queue 's/(q->ageing > 0 ? now \/ q->ageing : 0)/0/' test_ageing
bug 'nothing ages by default' t_queue \
    's/desc->ageing_us \* 1000 : 500000000;/desc->ageing_us * 1000 : 0;/' test_half_a_second
bug 'an image without a direction fails its neighbours' t_queue \
    's/r == REID_ERR_EMBEDDING ? reid_embed_ex(.*) : r;/r;/' test_isolation
bug 'the limit counts requests' t_queue \
    's/|| r->n > q->stats.limit - q->stats.waiting/|| q->stats.waiting >= 9/' test_full
bug 'draining computes what it should give up' t_queue \
    's/reid__request_end(queue, a, REID_ERR_STOPPING, reid__now());/;/' test_drain
bug 'rows of a request that failed are left' t_queue \
    's/if (result != REID_OK) memset(/if (0) memset(/' test_deadlines
limit=60
portable=
# --- code of AVX2 only ---
bug 'the first half of a row of weights counts twice' t_ops 's/made + (t.last ? floats : 0)/made/' test_winograd

# --- images ---
bug 'resizing does not round' t_resize 's/^#define REID__HALF .*/#define REID__HALF 0/'
bug 'prepared images are resized again' t_behaviour 's/image->format == REID_PREPARED ? 0 :/0 ? 0 :/' test_prepared
bug 'a crop larger than the image is copied' t_resize 's/ \&\& a->resized >= crop;/ \&\& a->skipped >= 0 * crop;/'
bug 'an image that is not resized is not cropped' t_resize 's/ + r->x.skipped \* l.bytes;/;/'
bug 'a group of columns takes the first one'"'"'s pixels' t_resize \
    's/from\[j\] = row + (ptrdiff_t)w\[k + j\]/from[j] = row + (ptrdiff_t)w[k]/'
bug 'taps after the first load are left out' t_resize 's/taps += 2 \* REID__HIGH_AT) {/taps += 0) {/'
# --- threads and promises ---
bug 'reading from another core is free' t_ops 's/REID__REMOTE 1.5 /REID__REMOTE 0.0 /' test_parts
limit=20 # this one hangs
bug 'sleeping threads are not woken' t_threads 's/pthread_cond_broadcast(&team->wake);/;/'
limit=60
bug 'the caller'\''s rounding mode is used' t_determinism 's/_mm_setcsr(0x1f80);/;/' test_environment
portable=-DREID_NO_VECTORS
bug 'a handle works after a fork' t_behaviour 's/if (ctx->pid != getpid())/if (0)/' test_fork
bug 'flip is not in the fingerprint' t_fingerprint \
    's/"flip %d\\nraw %d\\n", !bare \&\& ctx->info.flip, /"flip 0\\nraw %d\\n", /'
bug 'a writable global' t_symbols 's/^static int reid__min(int a, int b) {/int reid_calls; & reid_calls++;/'

rm -f "$log"
say_left_out bugs
finish
