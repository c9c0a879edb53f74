#!/bin/sh
# Every kernel of reid_kernels.cu against its definition: on the emulator for several chips, once checking every access;
# and compiled by the real nvcc where there is one, without spills and local memory (t_nvrtc.sh has all chips).
#     sh tests/gpu/t_kernels.sh
# KERNEL_PARTS names other programs, tests/gpu/kernels_PART.c: t_wgmma.sh has Hopper's.
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v g++ >/dev/null 2>&1 || { echo "skipped: g++ is missing"; exit 77; }
parts=${KERNEL_PARTS-conv rest image pack}
out=${KERNEL_PARTS:-kernels}
out=$PWD/build/tests/t_${out%% *}
mkdir -p "$out"
make -s emulator || exit 1
emulator=$PWD/build/emulator
. tests/lib/check.sh
unset REID_WRITE # what is said with a bug is not what a test should expect

build() { # build PART
    gcc -O2 -std=c99 -D_GNU_SOURCE -DREID_ASSERT=assert -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror \
        -Itests/emulator -I. "tests/gpu/kernels_$1.c" -o "$out/kernels_$1" \
        "$emulator/libcuda.so.1" "$emulator/libnvrtc.so.13" -Wl,-rpath,"$emulator" -lm -ldl -lpthread
}
for part in $parts; do
    rm -f "$out/kernels_$part"
    job "kernels_$part does not compile" build "$part"
done
collect
for part in $parts; do
    archs="75 90" # no others have code of their own but for the convolutions'
    case $part in conv) archs="75 80 90" ;; wgmma | bytes) archs=90 ;; esac
    for arch in $archs; do
        [ $arch = 90 ] || my_turn || continue
        job "kernels_$part on sm_$arch" env REID_EMULATOR_ARCH=$arch "$out/kernels_$part"
        case $part-$arch in
        conv-80 | conv-90 | rest-90 | image-90 | pack-90 | wgmma-90)
            ! my_turn || job "kernels_$part on sm_$arch in bf16" env HALVES=bf16 REID_EMULATOR_ARCH=$arch \
                "$out/kernels_$part"
        esac
    done
    ! my_turn || job "kernels_$part: every access checked" env REID_EMULATOR_CHECK=1 "$out/kernels_$part"
done
collect

# Broken kernels must be noticed: with a bug planted by SED, kernels_PART ends with a failed check or a launch's fault.
planted() { # planted PART FOLDER SETTING...: with the reid_kernels.cu in it
    part=$1 folder=$out/$2
    shift 2
    (cd "$folder" && env EMU_FIRST=1 "$@" "$out/kernels_$part" few > log 2>&1)
    [ $? -eq 1 ] && grep -q ' failed: \| is .*, not \|: kernel reid_' "$folder/log"
}
bugs=0
plant() { # plant PART WHAT SED SETTING...
    case " $parts " in *" $1 "*) ;; *) return ;; esac
    bugs=$((bugs + 1)) part=$1 what=$2 script=$3
    shift 3
    plant_in reid_kernels.cu "$out/bug_$bugs/reid_kernels.cu" "$script" || bad "the planted bug was not planted: $what"
    ! my_turn || job "not seen: $what" planted "$part" bug_$bugs "$@"
}
plant conv "a missing barrier: slices are read before they have arrived" \
    's/^        __syncthreads(); \/\* all threads see slice s.*$//'
plant conv "FP32: rows that two warps share" 's/warp % 2 \* 4 + t % 32 \/ 8/warp % 2 * 2 + t % 32 \/ 8/'
plant conv "FP32: pieces of another row's place" 's/moved = row_of(t, 0) >> 1 & 3;/moved = row_of(t, 0) \& 3;/'
plant conv "FP32: sums over slices that are still multiplied" \
    's/^    if (CLUSTERED) __syncthreads(); .. the sums go.*$//' REID_EMULATOR_CHECK=1
plant conv "scaled inputs over those that are still multiplied" \
    's/(slice + i \/ A_PIECES) % STAGES \*/(slice + i \/ A_PIECES) % FETCHED */'
plant conv "weights beside scaled inputs that are not waited for" \
    '/void multiply_fetched/,/^    }/ s/reid_cp_async_wait<0>();//'
plant conv "scaled inputs of the slices before" \
    's/^            put_fetched(s);$/            if (s == begin) put_fetched(s);/'
plant conv "scaled inputs that were loaded before" 's/fetch(s + FETCHED, end);/fetch(s, end);/'
plant conv "a squeeze's weights that are not waited for" \
    '/DEVICE void compute(/,/^    }/ s/reid_cp_async_wait<0>();//'
plant conv "factors of the block's first image" 's/image_index - m0 \/ (OH \* OW)) + k/image_index * 0) + k/'
plant conv "factors that other threads have not computed" \
    '/factors(image - first)/,/^    }/ s/^        __syncthreads();$//' REID_EMULATOR_CHECK=1
plant conv "sums over those that are still added up" \
    '/DEVICE void compute(/,/means()/ s/^            __syncthreads();$//' REID_EMULATOR_CHECK=1
plant conv "a factor with two instructions" 's/= full_sigmoid(sum);$/= sigmoid(sum);/'
plant wgmma "slices are not waited for" 's/^            wait_for(l.full(s.at), s.parity);//'
plant wgmma "a slice is filled before it has been read" 's/wait_for(l.empty(s.at), s.parity ^ 1);/;/'
plant wgmma "the wrong phase of an empty slice" 's/\(wait_for(l.empty(s.at), s.parity\) ^ 1)/\1)/'
plant wgmma "warpgroups do not take turns" 's/^ *if (GROUPS == 1) wait_for(l.turn(group), turn);//'
plant wgmma "resident weights are not waited for" 's/if (RESIDENT) wait_for(l.resident(), 0);//'
plant wgmma "a slice is given back while it is read" 's/reid_wgmma_wait<1>();//'
plant wgmma "outputs that the warp's other lanes have not written" 's/^            else __syncwarp();$//' \
    REID_EMULATOR_CHECK=1
plant wgmma "outputs over those that other lanes still store" \
    's/if (!RESIDUAL) __syncwarp(); .. before the next.*//' REID_EMULATOR_CHECK=1
plant wgmma "a residual lands on a slot that is stored" \
    's/^        if (!THEN) give_slot(o.at);.*//
    s/^            put_sums<adds, channels>(acc/            if (!THEN) give_slot(o.at);\n&/' REID_EMULATOR_CHECK=1
plant wgmma "a residual lands on a slot that the third convolution reads" \
    's/^            if (THEN && stores) give_slot(.*//; s/if (!THEN) give_slot(o.at);/give_slot(o.at);/'
plant wgmma "the next residual may come before the slot is read" \
    '/DEVICE void give_slot/,/^    }/ s/^        reid_fence_proxy_async_shared();$//' REID_EMULATOR_CHECK=1
plant wgmma "outputs past the last pixel" 's/first + i \* 32 \/ pieces < pixels/0 < pixels/'
plant wgmma "outputs past the last channel" 's/row % OUT_N == 0 || f.n + piece \* each < row/true/' ONLY=channels
plant wgmma "outputs in the half of a tile that has no channels" 's/row % OUT_N == 0 || f/row % channels == 0 || f/' \
    ONLY=channels
plant wgmma "stores that the copy engine may not see" 's/^ *reid_fence_proxy_async_shared();$//' REID_EMULATOR_CHECK=1
plant wgmma "stores that other warps have not made" 's/^ *reid_bar_sync(1 + group, 128);$//' REID_EMULATOR_CHECK=1
plant wgmma "a pooled row that knows the rows before it" \
    's/GROUPS_OF_8; j++) best\[j\] = now\[j\];$/0; j++);/' ONLY=pools
plant wgmma "outputs over those that are still pooled" 's/reid_bar_sync(1 + l.ring, 128); \/\* what was.*//' \
    REID_EMULATOR_CHECK=1 ONLY=pools
plant wgmma "the neighbour on the other side" 's/(POOL_PAD_X ? 3 : 1)/(POOL_PAD_X ? 1 : 3)/' ONLY=pools
plant wgmma "a neighbour across the edge of the image" 's/outside ? even : third/third/' ONLY=pools
plant wgmma "rows of the image that have not come" 's/wait_for(l.full(next.at), next.parity);/;/' ONLY=pools
plant wgmma "rows over those that are still multiplied" 's/if (!from) wait_for(empty, parity);//' ONLY=pools
plant wgmma "rows that wgmma may not see" '/^DEVICE void fill_ring/,/^}/ s/reid_fence_proxy_async_shared();//' \
    REID_EMULATOR_CHECK=1 ONLY=pools
plant wgmma "pixels in the border" 's/if (inside \&\& x >= 0 \&\& x < W) {/if (inside) {/' ONLY=pools
plant wgmma "row sums without the pixels of the slot before" 's/row \* OW < first ? carry/false ? carry/' ONLY=row_sums
plant wgmma "row sums in tiles that end within a row" 's/^\(#define TILE_PIXELS\) (ROW_SUMS.*/\1 BM/' ONLY=row_sums
plant conv "a shortcut's pixels without its stride" 's/m % OW \* MORE_STRIDE;$/m % OW;/'
plant conv "a shortcut's bias is lost" 's/^ *if (MORE_C && !part && n < OC_PADDED).*//'
plant conv "row sums of what is not rounded" 's/tile()\[row\]\[n - n0 + c\] = \(reid_f32_from_f16\)/\1/'
plant conv "a residual without its sign" 's/REST_SIGNED ? (int)(signed char)r : (int)r/(int)r/'
plant conv "bytes cut off, not rounded" 's/ + 12582912.0f;/ - 0.5f + 12582912.0f;/'
plant conv "a residual in its own steps" 's/scales\[OC_PADDED\], v/scales[n], v/'
plant wgmma "rows of the window are columns" 's/\(image, tap\) % KW,$/\1 \/ KW,/'
plant wgmma "the shortcut's bias is lost" 's/if (more_bias) b = .*//'
plant wgmma "every pass with the first weights" 's/l.next(pass \* NEXT_CHUNKS + k)/l.next(k)/'
plant wgmma "every slot with the third convolution's first weights" \
    's/l.then(pass \* (128 \/ SLOT_N) + slice)/l.then(0)/'
plant wgmma "the second convolution's activation after the third" \
    's/THEN, THEN_ACT != ACT, a.full/THEN, false, a.full/' ONLY=linear
plant wgmma "the third convolution's products of a slot that is stored over" \
    's/if (THEN) reid_wgmma_wait<0>(); \/\* the slot before.*//' REID_EMULATOR_CHECK=1
plant wgmma "outputs of the third convolution before its last products" \
    '/const finish f_last/,/last.hold/ s/reid_wgmma_wait<0>();//'
plant wgmma "slices that stay for all passes are not waited for" 's/^ *c.take_slices();$//'
plant wgmma "slices that are given back before the last pass" \
    's/^\( *\)if (THEN) begin_pass(a, acc, other, f, pass);/\1if (DIRECT \&\& pass == 1) give_slices();\n&/
    s/^ *c.give_slices();$//'
plant wgmma "sums of a pass that is still multiplied" '/DEVICE void end_pass/,/^    }/ s/reid_wgmma_wait<0>();//'
plant wgmma "the same sums for two passes" 's/begin_pass(a, next\[(pass + 1) % both\], /begin_pass(a, acc, /'
plant wgmma "the first weights of NEXT for all passes" 's/slice.advance(1)) {$/slice = s) {/' ONLY=ring
plant wgmma "windows of the stem that begin a pixel late" 's/PITCH + k % 2 \* 32);/PITCH + k % 2 * 32 + 16);/' \
    ONLY=pools
plant wgmma "the shortcut reads the main input" 's/of_in ? in : more/in/'
plant wgmma "a slice over one that is still read" 's/wait_for(l.empty(s.at), s.parity ^ 1);//' ONLY=ring
plant wgmma "parts of other blocks that are not waited for" \
    's/wait_for_cluster(filled, o.parity);//' ONLY=parts
plant wgmma "parts of other blocks by a wait for this block's own" \
    's/wait_for_cluster(filled, o.parity);/wait_for(filled, o.parity);/' ONLY=parts REID_EMULATOR_CHECK=1
plant wgmma "a part too few is expected" 's/SPLIT \* SHARE \* 512);/(SPLIT - 1) * SHARE * 512);/' ONLY=parts
plant wgmma "mbarriers that other blocks do not know" 's/^ *reid_fence_mbarrier_init();//' ONLY=parts
plant wgmma "parts over those that another block still adds" \
    's/^        wait_for(l.stored(group, 0), o.parity ^ 1);//' ONLY=parts
plant wgmma "parts added last one first" 's/from\[(k \* SHARE/from[((SPLIT - 1 - k) * SHARE/' ONLY=parts
plant wgmma "the bias in every part" 's/part ? 0 : OC_PADDED/OC_PADDED/' ONLY=parts
plant wgmma "a slice in no part" 's/^\(DEVICE int first_slice.*return \)CHUNKS/\1(CHUNKS - 1)/' ONLY=parts
plant wgmma "a block leaves to which others still give places back" \
    's/^    if (SPLIT > 1 && c.leader()) wait_for(l.stored.*//' ONLY=parts
plant bytes "sums that are no neighbours" 's/j \* 8 + below \* 2 + i \/ 2 \* 4 + i % 2;/j * 8 + below * 4 + i;/'
plant bytes "parts in the order of halves" 's/\[sum_at(of \/ PER_WORD.*of % PER_WORD)\]/[of]/'
plant bytes "short rows with the exchange of long ones" 's/at \/ 128 % (bytes \/ 16)/at \/ 128 % 8/'
plant bytes "a slice of long rows in short ones" 's/(row \/ 2ull) << 32/64ull << 32/'
plant bytes "the last convolution with the first one's scales" \
    's/finish next = {a.next_scales,/finish next = {a.scales,/'
plant bytes "the third convolution with the second one's scales" 's/f_last = {a.then_scales,/f_last = {a.next_scales,/'
plant bytes "a shortcut with the main scales" 's/other.scale = more_scale, /other.scale = scale, /'
plant bytes "a shortcut without its sign" 's/words_of<false, REST_SIGNED>/words_of<false, false>/'
plant bytes "a shortcut with the main weights" 's/others ? &a.more_weights_map : own/own/'
plant bytes "a shortcut among the main sums" 's/(SHORTCUT && k >= OWN_CHUNKS ? other : acc)/acc/'
plant bytes "a residual without its sign" 's/if (REST_SIGNED) residuals ^= 0x80808080;//'
plant bytes "a residual in its own steps" 's/fmaf(r, rest, sum)/fmaf(r, scales[i], sum)/'
plant bytes "the stem's scales of other channels" 's/__ldg(a.scales + channel + i \* 8)/__ldg(a.scales + channel + i)/'
plant bytes "rows of the stem that two strips have are counted twice" \
    's/if (BYTES \&\& (row || !strip.pooled))/if (BYTES)/'
plant bytes "columns past the stem's image are counted" 's/(8 \* j + 7 < OW || x + 1 < OW)) cut/true) cut/'
plant bytes "what goes on into the next convolution is not counted" \
    's/counted = BYTES && !SIGNED && !adds;/counted = COUNTED;/'
plant bytes "all that is cut off is the first image's" \
    's/reid_add_nonzero(full + m \/ (OH \* OW)/reid_add_nonzero(full/'
plant conv "bytes of 254 count as cut off" 's/(word \& 0x7f7f7f7f) + 0x01010101/(word \& 0x7f7f7f7f) + 0x02020202/'
plant bytes "pooled bytes in another order" 's/at\[8\] = (unsigned char)/at[1] = (unsigned char)/'
plant bytes "a bias before the sums and after" 's/!BYTES && c < channels/c < channels/'
plant conv "bf16 cut off, not rounded" \
    's/packed\[c\] = (unsigned)reid_f16_from_f32(act(low))/packed[c] = __float_as_uint(act(low)) >> 16/' HALVES=bf16
plant conv "a part of the outputs that no block finishes" \
    's/const int each = BM \* BN \/ 8 \/ SPLIT;/const int each = BM * BN \/ 8 \/ SPLIT - 1;/'
plant conv "sums of other blocks that are not waited for" 's/^    block_barrier();$/    __syncthreads();/'
plant conv "sums of other blocks behind a barrier that releases nothing" \
    's/^    reid_cluster_arrive();$/    reid_cluster_arrive_relaxed();/' REID_EMULATOR_CHECK=1
plant conv "a part of K in memory that is not added" 's/k < SPLIT \* TOGETHER/k < (SPLIT - 1) * TOGETHER/' \
    REID_EMULATOR_ARCH=80
plant conv "parts of K in memory, all in the place of the first" \
    's/g.parts + ((long long)part \* g.pixels + m)/g.parts + (m)/' REID_EMULATOR_ARCH=80
plant conv "a block leaves whose sums are still read" 's/block_meeting(); \/\* others may still read.*//'
plant conv "the stem's last row, of the next block" \
    's/^#define ROWS_IN (2 \* R + KH - 2)/#define ROWS_IN (2 * R)/' REID_EMULATOR_CHECK=1
plant conv "the stem's channels in the order of products" \
    's/return n \/ 2 \* EACH_LANE + j \* 2 + n % 2;/return j * 8 + n;/'
plant conv "the stem's rows before they are there" '/^reid_stem/,/^}/ s/^    __syncthreads();$//'
plant conv "the stem's outputs beyond a row" '/^reid_stem/,/^}/ s/if (x >= OW) continue;//'
# reid_project's own.
projects='/^STRUCT(project_arguments)/,/^#endif/'
plant wgmma "factors of the tile's first image" 's/(m \/ (OH \* OW) - image) \* 64/0/' ONLY=projections
plant wgmma "factors of the next eight channels" 's/i \* 16 + j \/ 2 \* 8)/i * 16 + j % 2 * 8)/' ONLY=projections
plant wgmma "a projection's slices are not waited for" "$projects s/wait_for(l.full(s.at), s.parity);//" \
    ONLY=projections
plant wgmma "a projection's slice is given back while it is read" \
    "$projects s/^        reid_wgmma_wait<1>();$//" ONLY=projections
plant wgmma "a projection's weights of the first slice for all" 's/l.weights(k) : stage/l.weights(0) : stage/' \
    ONLY=projections
plant wgmma "rows over those that are still stored" \
    "$projects s/if (lane == 0) reid_bulk_wait_read<0>(); .. the rows.*//" ONLY=projections
plant wgmma "a projection's rows that the copy engine may not see" "$projects s/reid_fence_proxy_async_shared();//" \
    ONLY=projections REID_EMULATOR_CHECK=1
plant wgmma "a residual of the pixel above" "$projects s/lane \/ 4 + below \* 8;$/lane \/ 4 + below * 7;/" \
    ONLY=projections
plant wgmma "factors of images that do not exist" 's/min(image + i, a.images - 1) \* IC/(image + i) * IC/' \
    ONLY=projections
plant wgmma "instructions for channels that others have" \
    's/width \/ 2, from + (n & width)>/width \/ 2, from>/' ONLY=projections
# reid_expand's own.
expands='/^#ifdef EXPAND/,/^#endif/'
plant wgmma "a share without its first row of inputs" \
    "$expands s/\(first = max(top \* STRIDE - PAD_Y\), 0)/\1 + 1, 0)/" ONLY=expansions
plant wgmma "an activated bias beside the image" "$expands s/make_uint4(0, 0, 0, 0)/make_uint4(0x2e662e66, 0, 0, 0)/" \
    ONLY=expansions
plant wgmma "a slice of channels too few" \
    "$expands s/\* (C \/ SLICE); .. of shares/* (C \/ SLICE - 1); \/* of shares/" ONLY=expansions
plant wgmma "every slice with the channels of the first" \
    "$expands s/channel = number % (C \/ SLICE) \* SLICE/channel = 0/" ONLY=expansions
plant wgmma "the second image over the first" "$expands s/y = group \/ GROUPS \* ROWS + p/y = p/" ONLY=expansions
plant wgmma "an image beyond the last" "$expands s/s.stored = image < a.images \&\&/s.stored =/" ONLY=expansions
plant wgmma "sixteen pixels where fewer are left" "$expands s/stored\[i\] = p < pixels() \&\&/stored[i] =/" \
    ONLY=expansions
plant wgmma "weights of the first eight channels for the next" "$expands s/both ? lane \/ 16 \* 8 : 0/0/" \
    ONLY=expansions
plant wgmma "rows of the ring that have not come" "$expands s/if (row == 0) wait_for(full.*;/;/" ONLY=expansions
plant wgmma "a place of the ring that is still read" "$expands s/wait_for(empty_barrier(.*;/;/" ONLY=expansions
plant wgmma "a place that other lanes have not written" "$expands s/^        __syncwarp();$//" ONLY=expansions \
    REID_EMULATOR_CHECK=1
plant wgmma "no fence before the products" 's/^ *reid_wgmma_fence();$//'
plant image "a window that begins a pixel late" 's/\(__dsub_rn(center, a.support)\), 0.5)/\1, 1.5)/'
plant image "sums that begin with zero" 's/one_half() { return {.*/one_half() { return {0, 0, 0}; }/'
plant image "the rows of a tile counted from the image's first" 's/((w.first - first) \* columns/(w.first * columns/'
plant image "a last tile as wide as the others" 's/min(p.columns, g.width - x0)/p.columns/'
plant image "windows replaced while they are read" 's/^        __syncthreads(); \/\* before the next tile.*$//'
plant image "a border one column off" 's/inside % COLUMNS - BORDER_X/inside % COLUMNS - BORDER_X + 1/'
plant pack "a product rounded twice" 's/(float)__dmul_rn((double)from, \(.*\)) : from/from * (float)\1 : from/'
plant rest "a NaN that a later number covers" 's/a > b || a != a ? a : b/a > b ? a : b/'
plant rest "the last column of a depthwise window" \
    's/for (int kx = 0; kx < KW; kx++) {$/for (int kx = 0; kx < KW - 1; kx++) {/'
plant rest "a row of the pool that goes on into the next" 's/^            row = make_float4(0, 0, 0, 0);$//'
plant rest "the last pixel of a bin once more" 's/if (first + j >= pixels) continue;//'
plant rest "a row of inputs that is added twice" 's/next += IW \* PAIRS, y++;/next += y % 5 ? IW * PAIRS : 0, y++;/'
plant rest "a row above the image, read from the image before it" \
    's/const bool there = y >= 0 \&\& y < IH;/const bool there = true;/'
plant rest "columns beyond the image's right edge" 's/(x0 + i >= 0 \&\& x0 + i < IW) << i/(x0 + i >= 0) << i/'
plant rest "outputs beyond a row's end" 's/if (OW % COLS \&\& i >= columns) continue;//'
plant rest "a tile's sum that goes on into the next" 's/STRIPS \* PAIRS, total = make_float2(0, 0);/STRIPS * PAIRS;/'
plant rest "a row's sum from right to left, for small batches" \
    's/add4(total, from\[x \* SPREAD\])/add4(total, from[(columns - 1 - x) * SPREAD])/'
plant rest "a tile's sum before its outputs are there" \
    '/^#if SPREAD/,/^#else/ s/^    __syncthreads();$//' REID_EMULATOR_CHECK=1
plant rest "factors with the weights of the next channel" \
    's/a.w2\[i \* C + channel\] : 0.0f/a.w2[i * C + channel + 1] : 0.0f/'
plant rest "hidden units with the weights of another" 's/weights(a, t \/ 32 \* SPLIT + part/weights(a, t \/ 32 + part/'
plant rest "hidden units of another image" \
    's/send(hidden + h \* IMAGES + k,/send(hidden + h * IMAGES + (k ^ 1) % IMAGES,/'
plant rest "means of an image beyond the last" \
    's/min(image + k, a.images - 1) \* TILES/(image + k) * TILES/' REID_EMULATOR_CHECK=1
plant rest "hidden units that other blocks have not sent" \
    '/^reid_squeeze/,/^}/ s/^    block_barrier();$/    __syncthreads();/'
plant rest "hidden units written before a block is there" \
    '/^reid_squeeze/,/^}/ s/^    if (SPLIT > 1) block_meeting(); \/\* all.*$//'
plant rest "hidden units that are sent and not released" \
    '/^reid_squeeze/,/^}/ s/^    block_barrier();$/    block_meeting();/'
plant rest "a part of the sum left out" '/sum_of_warp(value mine)/,/^}/ s/offset > 0;/offset > 1;/'
plant rest "tanh without its last term" 's/for (int odd = 29; odd > 0;/for (int odd = 29; odd > 1;/'
plant rest "the generalised mean's least value, applied to the mean" 's/power4(total, 0, /power4(total, 1e-6f, /'
plant rest "a variance of values instead of differences" \
    '/^reid_instance/,$ s/v = make_float4(v.x - mean.x, v.y - mean.y, v.z - mean.z, v.w - mean.w);//'
plant rest "a pixel kept where another thread has its own" 's/(shared + 4096) + t % 4;/(shared + 4096);/'
plant rest "a sum read before all have added" '/sum_of_all(float4 mine)/,/^}/ s/__syncthreads();$/;/'
plant rest "all channels normalised" 's/normed = c \/ 16 \* 16 < NORMED/normed = c < C/'
plant rest "a product of keys read before it is there" '/^reid_nonlocal/,$ s/__syncthreads();//'
plant rest "half of a tile's rows" \
    '/ DEVICE int best_of_rows/,/^}/ s/offset < 32;/offset < 16;/'
plant rest "a slice of rows multiplied before it has arrived" \
    's/cp_async_wait<stages - 2>/cp_async_wait<stages - 1>/'
plant rest "zeros for an infinite row" 's/norm < 1e300 ? 1.0 \/ norm : norm - norm/1.0 \/ norm/'
collect

if [ -n "${KERNEL_PARTS-}" ]; then # t_nvrtc compiles the others for what they are for
    say_left_out 'planted bugs and checks'
    finish
fi
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
shape="-DIH=14 -DIW=14 -DIC=96 -DOH=14 -DOW=14 -DOC=96 -DOC_PADDED=96 -DOUT_STRIDE=96 -DCHANNEL=0 -DKH=3 -DKW=3
       -DSTRIDE=1 -DPAD_Y=1 -DPAD_X=1 -DACT=2 -DRESIDUAL=1 -DC=96 -DCHANNELS=96 -DTILES=4 -DIMAGES=1
       -DCOLS=7 -DTILE_H=7 -DSLIDE=14 -DDIM=512
       -DROW_SUMS=0 -DPER=1"
real() { # real ARCH KERNEL OPTIONS...
    to="$out/kernel_$1_$2" arch=$1 kernel=$2
    shift 2
    # shellcheck disable=SC2086 # the shape is many words
    "$nvcc" -std=c++17 -arch="sm_$arch" -cubin -diag-suppress 177 -Werror all-warnings \
        -Xptxas -v,-warn-spills,-warn-lmem-usage -include "$out/reid_contract.h" \
        $shape "-DREID_$kernel" "$@" reid_kernels.cu -o "$to.cubin" > "$to.log" 2>&1 &&
        grep -q ' 0 bytes spill stores' "$to.log" && ! grep -q 'lmem\|[1-9][0-9]* bytes spill' "$to.log" && return
    cat "$to.log"
    return 1
}
compile() { ! my_turn || job "for sm_$1: $2" real "$@"; }
if [ -n "$nvcc" ]; then
    gcc -std=c99 -D_GNU_SOURCE -DREID_NO_VECTORS -O1 -I. tests/gpu/nvrtc_matrix.c -o "$out/matrix" -lm -ldl -lpthread &&
        "$out/matrix" contract > "$out/reid_contract.h" || bad "the structures of the kernels cannot be printed"
    for arch in 75 80 120; do
        compile $arch CONV_F32 -DBM=128 -DBN=128 -DBK=16 -DSTAGES=2 -DEACH_M=8 -DEACH_N=16 -DSCALE=0
        for kernel in DEPTHWISE MAXPOOL POOL PACK; do compile $arch $kernel -DVALUE_F16; done
        compile $arch SQUEEZE -DHIDDEN=8
        compile $arch CONV_F16 -DVALUE_F16 -DBM=128 -DBN=64 -DBK=32 -DSTAGES=3 -DWARPS_M=2 -DWARPS_N=2 -DSCALE=0
        [ $arch = 75 ] || compile $arch CONV_F16 -DVALUE_BF16 -DBM=128 -DBN=64 -DBK=32 -DSTAGES=3 -DWARPS_M=2 \
            -DWARPS_N=2 -DSCALE=0
        [ $arch = 75 ] || compile $arch CONV_F16 -DVALUE_U8 -DBYTES=1 -DSIGNED=0 -DREST_SIGNED=1 -DBM=128 -DBN=64 \
            -DBK=64 -DSTAGES=4 -DWARPS_M=2 -DWARPS_N=2 -DSCALE=0
        compile $arch RESIZE
        compile $arch INPUT -DVALUE_F16 -DH=224 -DW=224 -DROWS=230 -DCOLUMNS=231 -DBORDER_Y=3 -DBORDER_X=3
        compile $arch LINEAR -DK=2048
        compile $arch CONV_F16 -DVALUE_F16 -DBM=64 -DBN=32 -DBK=32 -DSTAGES=3 -DWARPS_M=2 -DWARPS_N=2 -DSCALE=1
        compile $arch NORMALISE -DRAW=0 -DFLIP=1
        compile $arch SEARCH -DVALUE_F16 -DK=512 -DBK=32 -DBN=64
        [ $arch = 75 ] || compile $arch SEARCH -DVALUE_U8 -DK=512 -DBK=64 -DBN=64
    done
    collect
else
    skip 'nvcc is missing, nothing was compiled for a real GPU'
fi
say_left_out 'planted bugs and compilations'
finish
