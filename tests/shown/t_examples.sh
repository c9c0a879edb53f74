#!/bin/sh
# Builds every program of examples/ with the compile line in its head comment, and runs it. Compiling reid.h takes most
# of the time, so most programs get only its declarations and share one object; some, other ones in each run, are built
# exactly as their head says except for less optimisation (t_compile.sh and t_readme.sh use -O2). The programs that gcc
# builds are run; clang checks the source with the same lines.
#
#   sh tests/shown/t_examples.sh
#
# `cc` and `c++` in those lines become gcc and g++, then clang and clang++, each with the warnings below as errors. The
# programs get only reid.h of this project. Weights come from REID_TEST_WEIGHTS (an efficientnet_b0 checkpoint),
# otherwise from build/seeded.
# Exit code: 0; 1 after a failure; 77 if nothing could run.
# shellcheck disable=SC2016 # the single quotes hold awk programs
set -u
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
cd "$root" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
LC_ALL=C
export LC_ALL

warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror'
c_warnings='-Wstrict-prototypes -Wmissing-prototypes'
programs='hello compare_two boxes own_allocator own_threads many_threads camera print_plan plain user static_tool
    static_tool_musl gpu_batch patched_kernel'
made_up='search group' # these need no weights
out=$scratch/out err=$scratch/err log=$scratch/log
compiler='text' input='' last=''
. "$root/tests/lib/check.sh"

# expect STATUS STDOUT STDERR COMMAND...: the exit code, and for each stream a regular expression that a line of it must
# match; an empty one means that the stream must be empty. The streams remain in $out and $err.
expect() {
    want=$1 want_out=$2 want_err=$3
    shift 3
    "$@" > "$out" 2> "$err" < "${input:-/dev/null}"
    got=$?
    if [ $got -eq "$want" ] && matches "$want_out" "$out" && matches "$want_err" "$err"; then good; else
        cat "$out" "$err" > "$log"
        bad "$compiler: $* (exit code $got; wanted $want, stdout '$want_out', stderr '$want_err')"
    fi
}

matches() {
    if [ -z "$1" ]; then [ ! -s "$2" ]; else holds grep -E -q -e "$1" "$2"; fi
}

check() { # check NAME COMMAND...: the command succeeds
    name=$1
    shift
    if holds "$@" > "$log" 2>&1; then good; else bad "$compiler: $name"; fi
}

# The compile lines in the head comment of a file: those that begin with a compiler's name.
compile_lines() {
    sed -n -e 's/^ *\(\(cc\|c++\|musl-gcc\) -O2 .*\)$/\1/p' -e '/\*\//q' "$1"
}

# --- images and weights ---------------------------------------------------------------------------------------------

# A binary PPM of printable bytes, so that any awk can write it. Arguments: file, width, height, seed.
picture() {
    awk -v w="$2" -v h="$3" -v seed="$4" 'BEGIN {
        printf "P6\n%d %d\n255\n", w, h
        for (y = 0; y < h; y++) for (x = 0; x < w; x++)
            printf "%c%c%c", 40 + (x * seed + y) % 80, 40 + (y * seed + int(x / 7)) % 80, 40 + (x * y + seed) % 80
    }' > "$1"
}

make_weights() {
    weights=$scratch/weights.safetensors
    seeded=$root/build/seeded
    if [ -n "${REID_TEST_WEIGHTS:-}" ]; then
        check "weights from $REID_TEST_WEIGHTS" cp "$REID_TEST_WEIGHTS" "$weights"
    elif [ -x "$seeded" ] || make -s -C "$root" build/seeded > "$log" 2>&1; then
        check 'weights from build/seeded' "$seeded" --net efficientnet_b0 -o "$weights"
    else
        skip 'running with weights: no REID_TEST_WEIGHTS, no build/seeded, and make does not build it'
    fi
    [ -s "$weights" ] || weights=''
}

# --- compiling --------------------------------------------------------------------------------------------------------

# A folder whose `cc`, `c++` and `musl-gcc` run the given compilers with the warnings and, at the end, $LAST.
make_compilers() {
    mkdir -p "$scratch/bin"
    wrap cc "$1" "$warnings $c_warnings"
    wrap c++ "$2" "$warnings"
    if musl=$(command -v musl-gcc); then wrap musl-gcc "$musl" "$warnings $c_warnings"; fi
}

wrap() {
    printf '#!/bin/sh\nexec %s %s "$@" $LAST\n' "$2" "$3" > "$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}

# Sets `why` to the reason why a compile line cannot be tried here; empty if it can.
why_not() {
    why=''
    case $1 in
    musl-gcc*)
        command -v musl-gcc > /dev/null || why='no musl-gcc'
        [ "$compiler" = gcc ] || why='musl-gcc was tried already' ;;
    c++*) command -v "$cxx" > /dev/null || why="no $cxx" ;;
    esac
    if [ -z "$why" ] && grep -q 'stb/stb_image.h' "$2"; then
        echo '#include <stb/stb_image.h>' | "$compiler" -E - > /dev/null 2>&1 || why='no stb/stb_image.h (libstb-dev)'
    fi
}

# The implementation as an object that uses stb_image if it is installed, and stb_image for programs without it.
build_objects() {
    : > "$scratch/stb.c"
    { echo '#define REID_IMPLEMENTATION' && echo '#include "exact/reid.h"'; } > "$scratch/reid.c"
    if echo '#include <stb/stb_image.h>' | "$compiler" -E - > /dev/null 2>&1; then
        { echo '#define STB_IMAGE_IMPLEMENTATION' && echo '#include <stb/stb_image.h>'; } > "$scratch/stb.c"
        sed -i '1i #define _GNU_SOURCE 1\n#include <stb/stb_image.h>' "$scratch/reid.c"
    fi
    check 'reid.h as an object' "$compiler" -std=c99 -O1 "-I$scratch" -c "$scratch/reid.c" -o "$scratch/reid.o"
    check 'stb_image as an object' "$compiler" -std=c99 -O0 -c "$scratch/stb.c" -o "$scratch/stb.o"
}

# Sets `last`, the end of a compile line of the file.
end_of_line() {
    case $compiler-$1 in
    clang-*) last='-DEXACT -fsyntax-only -Wno-unused-command-line-argument' ;; # of libraries
    *-cpu_ladder.c | *-ladder.c) last=-O0 ;;
    gcc-many_threads.c | gcc-camera.c | gcc-gpu_batch.c) ! my_turn || last='-DEXACT -O1' ;; # these compute a lot
    *) ! my_turn || last='-DEXACT -O0' ;;
    esac
    case $last in
    '')
        last="-O0 $scratch/reid.o -lm"
        grep -q 'stb/stb_image.h' "$1" || last="-O0 $scratch/reid.o $scratch/stb.o -lm"
        ;;
    esac
}

build_all() {
    [ "$compiler" = clang ] || build_objects
    for file in *.c *.cpp; do
        compile_lines "$file" > "$scratch/lines"
        check "$file has a compile line in its head" test -s "$scratch/lines"
        last=''
        end_of_line "$file"
        while read -r line; do
            why_not "$line" "$file"
            case $line in musl-gcc*) end='-DEXACT -O0' ;; *) end=$last ;; esac
            case $why in
            '') check "$line" env PATH="$scratch/bin:$PATH" LAST="$end" sh -c "$line" ;;
            *already) ;;
            *) skip "$compiler: $line: $why" ;;
            esac
        done < "$scratch/lines"
    done
}

# --- running ----------------------------------------------------------------------------------------------------------

run_pictures() { # the programs that decode images
    if [ -x hello ]; then
        expect 0 '^1280 numbers: -?0\.[0-9]{4} -?0\.[0-9]{4} -?0\.[0-9]{4} \.\.\.$' '' ./hello "$weights" a.ppm
    fi
    if [ -x compare_two ]; then
        expect 0 '^cosine 1\.0000$' '' ./compare_two "$weights" a.ppm copy.ppm
        expect 0 '^This alone decides nothing' '' ./compare_two "$weights" a.ppm b.ppm
    fi
    if [ -x boxes ]; then
        expect 0 '^box  1  [0-9.-]+ 1\.0000 [0-9.-]+$' '' ./boxes "$weights" a.ppm 0,0,96,128 5,9,40,60 50,60,40,60
        expect 1 '' 'image 1: .*700' ./boxes "$weights" a.ppm 0,0,20,20 700,0,5,5
        expect 2 '' '"1,2,3" is not' ./boxes "$weights" a.ppm 1,2,3
        expect 2 '' '"1,2,3,4x" is not' ./boxes "$weights" a.ppm 1,2,3,4x
        expect 0 '^box  0  1\.0000$' '' ./boxes "$weights" a.ppm 60,60,400,400
    fi
    if [ -x many_threads ]; then
        expect 0 '^32 threads, 64 embeddings in [1-6]?[0-9] batches, 0 differ from one call with 2 images$' '' \
            ./many_threads "$weights" a.ppm b.ppm
    fi
    if [ -x camera ]; then
        head -c 36864 a.ppm > frame.rgb # any pixels will do
        cat frame.rgb frame.rgb frame.rgb > film.rgb
        { echo 'P6 128 96 255' && cat frame.rgb; } > frame.ppm
        printf '%s,-1,%s,1,64,96,0.9\n' 1 1 1 65 2 3 2 65 3 5 > boxes.txt
        camera="./camera '$weights' 128x96"
        expect 0 '^frame 3: track 1 is me 0\.[0-9]+$' '' sh -c "$camera boxes.txt 0 me=frame.ppm < film.rgb"
        check 'two tracks, reported in order' sh -c "grep -qE '^frame 2: track 1 is me .*, track 2 is me ' '$out' &&
            [ \"\$(cut -c 1-7 '$out' | tr '\n' ,)\" = 'frame 1,frame 2,frame 3,3 frame,' ]"
        expect 0 '^3 frames: 3 in time, 0 too late, 0 dropped; ' '' sh -c "$camera boxes.txt 0 < film.rgb"
        expect 0 '^3 frames: [0-9]+ in time, [0-9]+ too late, [0-9]+ dropped; ' '' \
            sh -c "$camera boxes.txt 1 < film.rgb"
        expect 1 '' 'the last frame is cut off' sh -c "head -c 40000 film.rgb | $camera boxes.txt 0 > told"
        sort -r boxes.txt > backwards.txt
        expect 1 '' 'not MOT text in the order' sh -c "$camera backwards.txt 0 < film.rgb > told"
        expect 1 '' 'nobody: expected NAME=IMAGE' ./camera "$weights" 128x96 boxes.txt 0 nobody
        expect 2 '' '^usage: ' ./camera "$weights" 128 boxes.txt 0
    fi
    if [ -x user ]; then
        expect 0 '^1\.0000 copy\.ppm$' '' ./user "$weights" a.ppm b.ppm copy.ppm
        check 'user ranks the equal image first' sh -c "head -n 1 '$out' | grep -q copy.ppm"
    fi
    for command in './hello' './compare_two a.ppm' './many_threads a.ppm' './user a.ppm'; do
        program=${command%% *} first=${command#"${command%% *}"}
        [ -x "$program" ] || continue
        for picture in nothere.png text.png empty; do
            # shellcheck disable=SC2086
            expect 1 '' "^${program#./}: $picture: ." "$program" "$weights" $first $picture
        done
    done
    if [ -x boxes ]; then expect 1 '' 'boxes: nothere.png: ' ./boxes "$weights" nothere.png 0,0,1,1; fi
    if [ -x camera ]; then expect 1 '' 'nothere.png: ' ./camera "$weights" 9x9 a.ppm 0 me=nothere.png; fi
}

run_plain() { # the programs that read no image
    if [ -x own_threads ]; then
        expect 0 '^4 threads of the pool computed [1-9][0-9]* parts$' '' ./own_threads "$weights"
        expect 0 '^the two embeddings are equal, bit for bit$' '' ./own_threads "$weights"
    fi
    if [ -x own_allocator ]; then
        expect 0 '^embed: +0 allocations$' '' ./own_allocator "$weights"
        check 'own_allocator frees all that it allocates, also after a failure' awk '
            /^create:/ { created = $2 } /^destroy:/ { freed = $2 } /no memory .*, balance 0 bytes$/ { balanced = 1 }
            END { exit !(created > 0 && created == freed && balanced) }' "$out"
    fi
    if [ -x print_plan ]; then
        expect 0 '^efficientnet_b0, fingerprint [0-9a-f]{32}: [0-9]+ operations, 384\.[0-9] MMAC, 4007548 weights$' '' \
            ./print_plan "$weights"
        check 'print_plan shows 49 convolutions of B0, 16 of them depthwise, and 16 squeezes' awk '
            { n[$3]++ } END { exit n["conv"] != 33 || n["depthwise"] != 16 || n["squeeze"] != 16 }' "$out"
        expect 0 ' 112x48x32 ' '' ./print_plan "$weights" 224 96
        expect 1 '' 'print_plan: .*224' ./print_plan "$weights" 224 0
        expect 1 '' 'print_plan: .*-3' ./print_plan "$weights" -3 -3
        expect 2 '' '^usage: ' ./print_plan "$weights" 224 wide
        expect 2 '' '^usage: ' ./print_plan "$weights" 224
    fi
}

run_loops() { # the networks in plain loops, against the library's
    [ -x plain ] || return 0
    expect 0 '^efficientnet_b0: 51 of 51 operations that the library shows agree$' '' ./plain "$weights" 65 39
    expect 1 '' 'plain: .*-3' ./plain "$weights" -3 -3
    expect 2 '' '^usage: ' ./plain "$weights" 224 wide
    sed 's/x + (residual/x - (residual/' plain.c > wrong.c
    check 'plain.c with a mistake compiles' gcc -O0 wrong.c "$scratch/reid.o" "$scratch/stb.o" -lm -o wrong
    expect 1 ' ([0-9]|[1-4][0-9]) of 51 operations' '' ./wrong "$weights" 64 32
    rm -f wrong.c wrong
    [ -x "$seeded" ] || return 0
    for net in tf_efficientnet_b0:51 resnet50-multiscale:62 resnet50-fastreid-gem-512:57 \
        resnet50-ibn-nl-fastreid-gem:94 efficientnetv2_rw_t:111; do
        check "weights of $net" "$seeded" --net "${net%:*}" -o "$scratch/other.safetensors"
        expect 0 "^${net%:*}: ${net#*:} of ${net#*:} operations" '' ./plain "$scratch/other.safetensors" 65 39
    done
    rm -f "$scratch/other.safetensors"
}

run_ladder() { # tests/shown/t_cpu_ladder.sh tests the rest
    if [ -x cpu_ladder ]; then expect 0 '^4  tiles of 4 pixels .* same .* %$' '' ./cpu_ladder --small; fi
}

run_gpu() { # where there is no GPU; tests/gpu/t_gpu_check.sh runs them on the emulator, t_ladder.sh the ladder
    if [ -e /proc/driver/nvidia/version ]; then return; fi
    if [ -x gpu_batch ]; then
        expect 0 '^no GPU: .*libcuda' '' ./gpu_batch "$weights" kernels.cu 64 32
        check 'gpu_batch continues on the CPU, with the same bits' awk '
            /^cpu, / { cpu = 1 } /^batches of +[0-9]+: +[0-9.]+ images\/s$/ { speeds++ }
            /the same bits .*: yes$/ { same = 1 }
            END { exit !(cpu && same && speeds >= 2) }' "$out"
        expect 2 '' '^usage: ' ./gpu_batch "$weights" kernels.cu 64
        expect 1 '' 'gpu_batch: .*-3' ./gpu_batch "$weights" kernels.cu -3 -3
    fi
    if [ -x patched_kernel ]; then
        expect 1 '' '^patched_kernel: .*libcuda' ./patched_kernel "$weights" kernels.cu
        expect 1 '' '^patched_kernel: lost.cu: cannot be read$' ./patched_kernel "$weights" lost.cu
    fi
    if [ -x ladder ]; then expect 1 '' '^ladder: libcuda' ./ladder ladder.cu; fi
}

run_static() { # $1: static_tool or static_tool_musl
    [ -x "$1" ] || return 0
    input=three.ppm
    expect 0 '^-?[0-9.e-]+ ' '' "./$1" "$weights"
    check "$1 writes three rows of 1280, the first equal to the last and not to the second" awk '
        NF != 1280 { bad = 1 } { row[NR] = $0 }
        END { exit bad || NR != 3 || row[1] != row[3] || row[1] == row[2] }' "$out"
    if [ -w /dev/full ]; then
        check "$1 says that the disk is full" sh -c "! './$1' '$weights' < three.ppm > /dev/full"
    fi
    input=cut.ppm
    expect 1 '' '^static_tool: frame 1: the input ends within the frame$' "./$1" "$weights"
    input=text.png
    expect 1 '' '^static_tool: frame 1: not a binary PPM' "./$1" "$weights"
    input=empty
    expect 0 '' '' "./$1" "$weights"
    input=''
}

run_made_up() {
    [ -x group ] && expect 0 '^3000 rows in 301 groups$' '' ./group &&
        check 'rows 0 and 1 are apart' grep -q 'rows 0 and 1 are apart, rows 10 and 2999 are together' "$out"
    [ -x search ] || return 0
    expect 0 '^100000 rows, 32 queries: [0-9.]+ ms of all CPUs$' '' ./search
    check 'search finds row 4242 first, and 4241 without it' sh -c \
        "[ \"\$(grep -cE '^(templates|identities) +row +4242 .* 424 |^without it +row +4241 .* 424 ' '$out')\" = 3 ]"
    check 'search enrols a stranger' grep -q '^enrolled    row 100000  identity  10000  score 0.98' "$out"
}

run_without_weights() { # every program: its usage, and weights that are missing or something else
    for program in $programs; do
        [ -x "$program" ] || continue
        case $program in
        compare_two | user) arguments='a.ppm b.ppm' ;;
        boxes) arguments='a.ppm 0,0,9,9' ;;
        camera) arguments='9x9 a.ppm 0' ;;
        own_allocator | own_threads | print_plan | plain | static_tool*) arguments='' ;;
        gpu_batch | patched_kernel) arguments=kernels.cu ;;
        *) arguments='a.ppm' ;;
        esac
        # shellcheck disable=SC2086
        {
            expect 2 '' '^usage: \./[a-z_]+ WEIGHTS' "./$program"
            expect 1 '' '^[a-z_]+: nothere.safetensors: no such file' "./$program" nothere.safetensors $arguments
            expect 1 '' '^[a-z_]+: text.png: .' "./$program" text.png $arguments
            expect 1 '' '^[a-z_]+: empty: .' "./$program" empty $arguments
        }
    done
}

# --- the texts --------------------------------------------------------------------------------------------------------

check_texts() {
    for file in "$root"/examples/*.c "$root"/examples/*.cpp; do
        check "$(basename "$file") begins with \"Demonstrates how to\"" \
            sh -c "head -n 1 '$file' | grep -q '^/\* Demonstrates how to '"
    done
    check 'hello.c has at most 40 lines' sh -c "[ \$(wc -l < '$root/examples/hello.c') -le 40 ]"
    check 'the examples have at most 150 lines each, except the ladders, the networks in loops and the camera' \
        sh -c "[ -z \"\$(wc -l '$root'/examples/* | awk '!/ladder|plain|camera|total/ && \$1 > 150')\" ]"
}

# --- main -------------------------------------------------------------------------------------------------------------

mkdir "$scratch/examples"
cp "$root"/examples/*.c "$root"/examples/*.cpp "$scratch/examples/"
mkdir "$scratch/exact"
cp "$root/reid.h" "$scratch/exact/"
{ # its declarations and the headers that its implementation needs, which programs may rely on; or all of it
    printf '#ifndef EXACT\n#undef REID_IMPLEMENTATION\n#ifndef _GNU_SOURCE\n#define _GNU_SOURCE 1\n#endif\n'
    grep '^#include <' "$root/reid.h" | grep -v -e intrin -e arm_neon -e windows
    printf '#endif\n#include "exact/reid.h"\n'
} > "$scratch/reid.h"
cp "$root/reid_kernels.cu" "$scratch/examples/kernels.cu"
cp "$root/examples/ladder.cu" "$scratch/examples/"
cd "$scratch/examples" || exit 1
picture a.ppm 96 128 3
picture b.ppm 120 90 11
cp a.ppm copy.ppm
cat a.ppm b.ppm a.ppm > three.ppm
head -c 9000 a.ppm > cut.ppm
: > empty
echo 'This is neither an image nor a file of weights.' > text.png
check_texts
make_weights

found=''
for compiler in gcc clang; do
    case $compiler in gcc) cxx=g++ ;; clang) cxx=clang++ ;; esac
    if ! command -v $compiler > /dev/null; then
        skip "no $compiler"
        continue
    fi
    found=yes
    # shellcheck disable=SC2086
    rm -f $programs $made_up ladder cpu_ladder
    make_compilers "$compiler" "$cxx"
    build_all
    [ $compiler = gcc ] || continue
    run_without_weights
    run_made_up
    run_ladder
    [ -n "$weights" ] || continue
    run_pictures
    run_plain
    run_loops
    run_gpu
    run_static static_tool
    run_static static_tool_musl
done

[ -n "$found" ] || exit 77
say_left_out 'programs from the text alone'
finish
