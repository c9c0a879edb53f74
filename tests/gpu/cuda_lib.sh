# cuda_lib.sh: code shared by the tests of the CUDA executor. Sourced from the top of the repository:
#
#     out=build/tests/NAME
#     . tests/gpu/cuda_lib.sh
# It skips the test if the emulator cannot run, builds the emulator, and runs programs on it: run COMMAND... uses the
# libraries in $emulator and the cache of kernels in $cache, which all tests of the plain mode share. Common programs
# are built once, by the first test or by tests/run.

. tests/emulator/needs.sh
. tests/lib/check.sh
mkdir -p "$out"

# compile_net PROGRAM OPTION...: tests/gpu/cuda_net.c
compile_net() {
    to=$1
    shift
    gcc -std=c99 -D_GNU_SOURCE -DREID_ASSERT=assert -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -g1 "$@" \
        -I. tests/gpu/cuda_net.c -o "$to" -lm -lpthread
}
# cuda_net, and `apart`, in which every buffer is a separate allocation; built if something is newer
programs=build/tests/programs
shared_net() {
    case $1 in apart) more=-DREID__SEPARATE_BUFFERS ;; *) more= ;; esac
    [ -x "$programs/$1" ] &&
        [ -z "$(find reid.h tests tools -name '*.[ch]' -newer "$programs/$1" | head -n 1)" ] && good && return
    mkdir -p "$programs"
    # shellcheck disable=SC2086 # one word or none
    compile_net "$programs/$1.new.$$" -O1 -DREID_NO_VECTORS $more && mv "$programs/$1.new.$$" "$programs/$1" && good ||
        bad "$1 does not compile"
}

# run PROGRAM ARGUMENT...: on the emulator; its output is shown when it fails
run() {
    started=$(date +%s%N)
    if env LD_LIBRARY_PATH="$emulator" REID_CACHE_DIR="$cache" "$@" > "$out/log" 2>&1 < /dev/null; then good
    else log=$out/log bad "$*"; fi
    printf '%6d ms  %.100s\n' $((($(date +%s%N) - started) / 1000000)) "$*"
}

make -s emulator || { bad 'the emulator does not build'; finish; }
emulator=$PWD/build/emulator cache=$PWD/build/tests/cuda_cache
mkdir -p -m 700 "$cache"

# golden NETWORK SETTING...: its goldens, narrowed by these
golden() {
    network=$1
    shift
    run env "$@" "$programs/cuda_net" golden "$network"
    cat "$out/log"
}

# goldens NETWORK SIZE: FP16 and FP32 at every size with REID_ALL, else at this one
goldens() {
    if all; then golden "$1"
    else for precision in fp16 fp32; do golden "$1" GOLDEN_PRECISION=$precision GOLDEN_SIZE="$2"; done; fi
}
