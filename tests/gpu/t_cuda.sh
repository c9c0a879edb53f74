#!/bin/sh
# The CUDA executor on the emulator: bits, images, queries; networks on other chips, and with every buffer a separate
# allocation; broken executors, which must be noticed; the reid command on a GPU.
#     sh tests/gpu/t_cuda.sh                 the most important parts, and a share of the rest
#     REID_ALL=1 sh tests/gpu/t_cuda.sh      all of it
cd "$(dirname "$0")/../.." || exit 1
out=build/tests/t_cuda
. tests/gpu/cuda_lib.sh
shared_net cuda_net
run "$programs/cuda_net" calls
run "$programs/cuda_net" small efficientnet_b0
REID_EMULATOR_ARCH=75 run "$programs/cuda_net" no_int8 "$out/ranges"

for which in 0 1 2 3; do ! my_turn || run "$programs/cuda_net" bits $which; done
for which in 0 1 2 3 4 5; do ! my_turn || run "$programs/cuda_net" pictures $which; done
for which in 0 1; do ! my_turn || LATENCY=1 run "$programs/cuda_net" latency $which; done
# Without clusters the parts of a sum go through memory.
for arch in 75 89; do
    for which in 0 1; do ! my_turn || LATENCY=1 REID_EMULATOR_ARCH=$arch run "$programs/cuda_net" latency $which; done
    ! my_turn || LATENCY=1 REID_EMULATOR_ARCH=$arch run "$programs/cuda_net" small resnet50-multiscale
done
# Other chips: the FP16 kernels of sm_75 have no cp.async and a shorter MMA.
! my_turn || REID_EMULATOR_ARCH=75 run "$programs/cuda_net" small efficientnet_b0
# Another order of threads, blocks and streams; and one in which all work is done at once.
for seed in 0 7; do ! my_turn || REID_EMULATOR_SEED=$seed run "$programs/cuda_net" small efficientnet_b0; done
! my_turn || REID_EMULATOR_EAGER=1 run "$programs/cuda_net" small efficientnet_b0
# Pools with a batch norm and a generalised mean, a max pool without padding, padding at one end; a linear layer with
# bias, batch norm and ReLU.
for network in resnet50-fastreid-gem tf_efficientnet_b0 resnet50-fc512; do
    ! my_turn || run "$programs/cuda_net" small $network
done

# INT8 has the CPU's bits: by wgmma, and by mma.sync, whose kernels t_kernels tests separately.
! my_turn || run "$programs/cuda_net" int8 resnet50 "$out/ranges"
! all || REID_EMULATOR_ARCH=80 run "$programs/cuda_net" int8 resnet50 "$out/ranges"
! my_turn || REID_EMULATOR_MEMORY=80000000 run "$programs/cuda_net" small_card "$out/ranges"

# With separate allocations, in every precision, the bits are those of one arena, and nothing accesses a neighbour.
if my_turn; then
    shared_net apart
    run "$programs/apart" calls
    LATENCY=1 REID_EMULATOR_ARCH=80 run "$programs/apart" latency 0
    run "$programs/apart" int8 resnet50 "$out/ranges_apart"
    run "$programs/apart" small resnet50-multiscale
    grep ' crc ' "$out/log" > "$out/apart.crc" # without the emulator's report of separate allocations never freed
    run "$programs/cuda_net" small resnet50-multiscale
    grep ' crc ' "$out/log" > "$out/arena.crc"
    grep -q '^resnet50-multiscale fp16: ' "$out/arena.crc" && cmp -s "$out/arena.crc" "$out/apart.crc" && good ||
        bad 'the bits differ in one arena'
fi

# A broken executor must be noticed; reid.h without code for particular processors compiles in a third of the time.
broken() { # broken NAME SED_SCRIPT PROGRAM_ARGUMENT...: reid.h changed so
    name=$1 script=$2
    shift 2
    plant_in reid.h "$out/$name/reid.h" "$script" || bad "$name: the planted bug was not planted"
    my_turn || return
    gcc -std=c99 -D_GNU_SOURCE -O0 -DREID_NO_VECTORS -DREID__SEPARATE_BUFFERS -I"$out/$name" -I. tests/gpu/cuda_net.c \
        -o "$out/$name/cuda_net" -lm -lpthread || bad "$name does not compile"
    for seed in 1 2 3 4 5; do # in some order of events
        REID_EMULATOR_SEED=$seed LD_LIBRARY_PATH="$emulator" REID_CACHE_DIR="$cache" "$out/$name/cuda_net" "$@" \
            > "$out/log" 2>&1 || { good; return; }
    done
    bad "$name: a planted bug was not seen"
}
broken no_upload_wait 's/if (!code) code = cu->StreamWaitEvent(l->stream, s->uploaded, 0);//' pictures 5
broken no_piece_wait 's/if (!code \&\& apart) code = cu->StreamWaitEvent.*$//' pictures 5
broken head_of_first 's/part.view += (size_t)at/part.view += (size_t)0/' pictures 5
broken one_head 's/part.buffer\[last->out\] += (size_t)at/part.buffer[last->out] += (size_t)0/' pictures 5
broken no_head 's/!direct || n < REID__HEAD_APART, e/0, e/' pictures 0
broken one_piece 's/MemcpyHtoDAsync(l->view + from, pixels/MemcpyHtoDAsync(l->view, pixels/' pictures 5
broken rows_together 's/int together = stride == pictures\[i\].stride ? roi.height : 1;/int together = roi.height;/' \
    pictures 4
broken views_of_bgr 's/int rgb = image->format == REID_RGB8/int rgb = image->format <= REID_BGR8/' pictures 5
broken small_buffer 's/if (bytes > \*size) \*size = bytes;/if (bytes > *size) *size = bytes - 32;/
    s/define REID__GPU_ALIGN 256/define REID__GPU_ALIGN 1/' small efficientnet_b0
broken own_expansion 's/return into == REID__NONE ? index : into;/return index;/' bits 0
broken short_batch 's/, g->size\[i\] \* batch);/, g->size[i] * (batch - 1));/' small efficientnet_b0
broken narrow_sums 's/size_t value = per > 1 || !g->half ? 4/size_t value = !g->half ? 4/' \
    int8 resnet50 "$out/ranges_broken"
broken lost_residual 's/a.residual = l->buffer\[op->residual\];$/a.residual = l->buffer[op->in];/' \
    small efficientnet_b0
broken old_counts 's/if (p->int8) code = cu->MemsetD8Async(.*$/;/' int8 resnet50 "$out/ranges_broken"
broken early_result 's/g->device.cu.EventSynchronize(s->done)/0/' small efficientnet_b0

# The command, at sizes whose kernels are compiled already.
make -s build/reid build/seeded build/demo_images || bad 'the reid command does not build'
embed() { # embed OUT OPTION...
    to=$1
    shift
    run build/reid embed -m "$out/weights.safetensors" --size 64x32 --batch 4 "$out"/pictures/*.png \
        -o "$out/$to.npy" "$@"
}
build/seeded --net efficientnet_b0 -o "$out/weights.safetensors" || bad 'no weights'
rm -rf "$out/pictures" "$out/all"
build/demo_images "$out/all" > "$out/log" 2>&1 || { bad 'no images'; cat "$out/log"; }
mkdir "$out/pictures"
find "$out/all" -type f | sort | head -n 7 | while read -r file; do
    cp "$file" "$out/pictures/$(basename "$(dirname "$file")")-${file##*/}"
done
embed cpu --device cpu
embed fp32 --device cuda --precision fp32
embed fp16 --device cuda
embed auto -v
shows 'computing on cuda:0, reid emulator sm_90, in fp16' "$out/log" && good || bad 'auto does not tell the device'
run "$programs/cuda_net" files fp32 "$out/cpu.npy" "$out/fp32.npy"
run "$programs/cuda_net" files fp16 "$out/cpu.npy" "$out/fp16.npy"
cmp -s "$out/fp16.npy" "$out/auto.npy" && good || bad 'auto and cuda differ'
run build/reid inspect --device cuda --size 64x32 --batch 4 "$out/weights.safetensors"
for line in '^gpu .*(sm_90), 132 multi' '^driver .*13.0' '^nvrtc .*13.0, .*libnvrtc.so.13' 'built in; .*/cuda_cache'; do
    shows "$line" "$out/log" && good || bad "inspect does not print $line"
done
run build/reid pack -m "$out/weights.safetensors" --size 64x32 --batch 4 -o "$out/pack"
shows 'programs of efficientnet_b0 for sm_90' "$out/log" && good || bad 'pack does not tell what it made'
embed packed --device cuda --pack "$out/pack"
cmp -s "$out/fp16.npy" "$out/packed.npy" && good || bad 'kernels from a pack differ'

# Measured tiles replace the cost model's, and change no bit; a damaged file of them is reported and ignored.
tuned() {
    b0() { # b0 TILE: have EfficientNet's eleven launches by wgmma such a tile?
        run build/reid bench -m "$out/weights.safetensors" --device cuda --size 64x32 --batch 1 --batches 1 --rounds 1 \
            --ops -v
        [ "$(grep -c "reid_conv_wgmma $1 " "$out/log")" = 11 ] && good || bad "not all tiles are $1"
    }
    shared=$cache cache=$PWD/$out/tuned
    rm -rf "$cache"
    mkdir -m 700 "$cache"
    REID_EMULATOR_ARCH=80 LD_LIBRARY_PATH=$emulator build/reid bench --tune -m "$out/weights.safetensors" \
        > "$out/log" 2>&1
    shows 'for Hopper (sm_90), and this GPU is sm_80' "$out/log" && good || bad 'sm_80 has no tiles to measure'
    prefix='sm_90 efficientnet_b0 fp16 64x32 features.8.0 1'
    printf '%s\n' 'reid tiles 1' 'sm_90 other fp16 64x32 conv1 1 64x64 7' "$prefix 64x128 1" 'a damaged line' \
        'sm_90 other fp16 64x32 conv1 1 64x64 7x' > "$cache/tiles"
    run build/reid bench --tune -m "$out/weights.safetensors" --size 64x32 --batch 1 --rounds 1
    [ "$(grep -c '^features.* 1  64x128 .*[0-9]$' "$out/log")" = 11 ] && grep -q "^written: $cache/tiles" "$out/log" &&
        good || bad 'bench --tune does not tell what it found'
    for tile in 64x128 '2\*64x128' 128x128 '2\*128x128'; do
        [ "$(grep -c "^$prefix $tile [0-9][0-9]*$" "$cache/tiles")" = 1 ] && good || bad "$tile was not measured once"
    done
    [ "$(grep -c ' conv1 1 64x64 7$' "$cache/tiles")" = 1 ] && ! grep -q '128 1$' "$cache/tiles" && good ||
        bad 'times of other networks do not stay, or old ones do'
    sed -i 's/ \(2\*64x128\) [0-9]*$/ \1 1/' "$cache/tiles"
    b0 '2\*64x128'
    embed tuned --device cuda --batch 1
    cmp -s "$out/fp16.npy" "$out/tuned.npy" && good || bad 'another tile has other bits'
    truncate -s -1 "$cache/tiles"
    b0 64x128
    shows "$cache/tiles is damaged and is not used" "$out/log" && good || bad 'damage is not told'
    cache=$shared
}

# The GPU's FP16 must keep the ranking, as every faster precision must.
ranking() {
    rm -rf "$out/herd"
    mkdir "$out/herd"
    for who in Alder Birch; do
        mkdir "$out/herd/$who"
        find "$out/all/$who" -type f | sort | head -n 3 | while read -r file; do cp "$file" "$out/herd/$who/"; done
    done
    run build/reid eval -m "$out/weights.safetensors" --size 33x40 --batch 4 --compare cpu/fp32,cuda/fp32,cuda/fp16 \
        "$out/herd" --limit 100
    for line in '^model .* fp32 on cpu' '^cuda/fp32 .* \(1.0000000\|0.999999[0-9]\)  pass' \
        '^cuda/fp16 .* 0.999[0-9]*  pass'; do
        shows "$line" "$out/log" && good || bad "eval does not print $line"
    done
}

# `bench --ops` adds what a launch computes along the way to it, before and after: multiply-adds of all as on the CPU.
multiply_adds() { # multiply_adds DEVICE
    LD_LIBRARY_PATH=$emulator REID_CACHE_DIR=$cache build/reid bench -m "$out/resnet50.safetensors" --device "$1" \
        --size 64x32 --batch 8 --batches 8 --rounds 1 --ops --json 2> "$out/log" | tr ',{}' '\n' |
        awk -F: '/"us"/ { us = $2 } /"gflops"/ { sum += us * $2 } END { printf "%.4g\n", sum }'
}
fused() {
    build/seeded --net resnet50 -o "$out/resnet50.safetensors" || bad 'no weights of a ResNet'
    [ "$(multiply_adds cuda)" = 2.669e+06 ] && [ "$(multiply_adds cpu)" = 2.669e+06 ] && good ||
        bad 'bench --ops does not have all multiply-adds'
}

! my_turn || tuned
! my_turn || fused
! my_turn || ranking
say_left_out parts
finish
