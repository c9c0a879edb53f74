#!/bin/sh
# Compiles reid.h in every way that it promises: gcc and clang, five standards, as declarations, implementation and
# static code, without a warning; refuses what it says it refuses; links from several files.
#
#   sh tests/core/t_compile.sh
# shellcheck disable=SC2086 # options and file names are several words
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror'
c_warnings='-Wstrict-prototypes -Wmissing-prototypes'
. tests/lib/check.sh
log=$dir/log

# compiles NAME COMMAND...
compiles() {
    name=$1
    shift
    if "$@" >"$log" 2>&1; then good; else bad "$name: $*"; fi
}

# refuses NAME TEXT COMMAND...: must fail, with a message that contains TEXT
refuses() {
    name=$1 text=$2
    shift 2
    if "$@" >"$log" 2>&1; then bad "$name: compiled, and should not: $*"
    elif shows "$text" "$log"; then good
    else bad "$name: refused, but not with \"$text\": $*"; fi
}

cd "$dir" || exit 1
cat > header.c <<'END'
#include "reid.h"
#include "reid.h"
int use(void);
int use(void) {
    reid_desc desc = REID_INIT;
    return desc.height + REID_ERR_BOX;
}
END
printf '#define REID_IMPLEMENTATION\n#include "reid.h"\n#include "reid.h"\n' > implementation.c
cat > static.c <<'END'
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"
int MAIN(void);
int MAIN(void) { return reid_version() != REID_VERSION || reid_dim(NULL) != 0; }
END
for f in header implementation static; do cp $f.c $f.cpp; done

# --- standards and compilers ---
for compiler in 'gcc g++' 'clang clang++'; do
    cc=${compiler% *} cxx=${compiler#* }
    if ! command -v "$cc" >/dev/null || ! command -v "$cxx" >/dev/null; then
        skip "no $cc and $cxx here: their combinations are left out"
        continue
    fi
    # Some of gcc's warnings need the optimiser, and unused functions a whole compilation: once for each language is
    # enough, and with the code for particular processors, most of the time, for one of them in its turn.
    case $cc in gcc) for_c=-O2 for_cxx=-O1 ;; clang) for_c=-O0 for_cxx=-O0 ;; esac
    case $cc in gcc) static=-O1 ;; clang) static='-O0 -DREID__WARN' for_c='-O0 -DREID__WARN' for_cxx=$for_c ;; esac
    REID_SHARE=4
    my_turn && part= || part=-DREID_NO_VECTORS
    for std in c99 c11 gnu17; do
        flags="-std=$std $warnings $c_warnings -I$root"
        case $std in
        c99) whole="$for_c $part" unused="$static $part" ;;
        *) whole=-fsyntax-only unused=-fsyntax-only ;;
        esac
        compiles "$cc $std, declarations" $cc $flags -c header.c -o header.o
        start=$(date +%s%N)
        compiles "$cc $std, implementation" $cc $flags $whole -c implementation.c -o implementation.o
        echo "$cc $whole -std=$std: $((($(date +%s%N) - start) / 1000000)) ms"
        compiles "$cc $std, static" $cc $flags $unused -DMAIN=use -c static.c -o static.o
    done
    my_turn && part= || part=-DREID_NO_VECTORS
    for std in c++11 c++20; do
        flags="-std=$std $warnings -I$root"
        case $std in
        c++11) whole="$for_cxx $part" unused="$static $part" ;;
        *) whole=-fsyntax-only unused=-fsyntax-only ;;
        esac
        compiles "$cxx $std, declarations" $cxx $flags -c header.cpp -o header.o
        compiles "$cxx $std, implementation" $cxx $flags $whole -c implementation.cpp -o implementation.o
        compiles "$cxx $std, static" $cxx $flags $unused -DMAIN=use -c static.cpp -o static.o
    done
done

# --- projects with other habits: their warnings concern neither the declarations nor the implementation, but the code
# after them ---
habits='-Wall -Wextra -Werror -Wdouble-promotion -Wfloat-equal -Wpadded'
printf 'int after(float);\nint after(float x) { return x == 1; }\n' > after.txt
for f in header implementation; do
    for end in c cpp; do cat $f.$end after.txt > "${f}_after.$end"; done
done
for f in header implementation; do
    compiles "gcc, $f of a strict project" gcc -std=c99 $habits -I"$root" -fsyntax-only $f.c
    refuses "gcc, after the $f" float-equal gcc -std=c99 $habits -I"$root" -fsyntax-only ${f}_after.c
    command -v g++ >/dev/null && compiles "g++, $f of a strict project" \
        g++ -std=c++11 $habits -Wold-style-cast -Wuseless-cast -I"$root" -fsyntax-only $f.cpp
    for cc in 'clang -std=c99' 'clang++ -std=c++11'; do
        command -v ${cc% *} >/dev/null || continue
        case $cc in clang++*) end=cpp ;; *) end=c ;; esac
        compiles "$cc, $f with -Weverything" $cc -Weverything -Werror -I"$root" -fsyntax-only $f.$end
        refuses "$cc, after the $f" float-equal $cc -Weverything -Werror -I"$root" -fsyntax-only ${f}_after.$end
    done
done

# --- order of includes ---
printf '#include <stdio.h>\n#define REID_IMPLEMENTATION\n#include "reid.h"\n' > late.c
printf '#include "reid.h"\n#define REID_IMPLEMENTATION\n#include "reid.h"\n' > twice.c
refuses 'implementation after a system header' 'before any system header' cc -std=c99 -I"$root" -c late.c -o late.o
echo 'int main(void) { reid_desc desc = REID_INIT; return desc.height; }' >> late.c # its declarations are there
for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    refuses "$cc, the same" 'before any system header' $cc -std=c99 -Wall -Wextra -I"$root" -c late.c -o late.o
    if [ "$(grep -cE '(error|warning):' "$log")" = 1 ]; then good; else bad "$cc: that is all it says"; fi
done
compiles 'the same with -D_GNU_SOURCE' cc -std=c99 -D_GNU_SOURCE $warnings -I"$root" -fsyntax-only late.c
compiles 'declarations first' cc -std=c99 -D_GNU_SOURCE $warnings -I"$root" -fsyntax-only twice.c

# --- what it refuses, and what it leaves alone ---
refuses '-ffast-math' 'fast-math' cc -ffast-math -I"$root" -c implementation.c -o fast.o
refuses '-Ofast' 'fast-math' cc -Ofast -I"$root" -c implementation.c -o fast.o
compiles 'declarations with -ffast-math' cc -ffast-math -I"$root" -c header.c -o header.o

# --- another directory, no -I ---
mkdir vendor
cp "$root/reid.h" vendor/
printf '#define REID_IMPLEMENTATION\n#include "vendor/reid.h"\nint main(void) { return reid_dim(0); }\n' > vendored.c
compiles 'vendor/reid.h without -I' cc -std=c99 -O0 vendored.c -o vendored -lm -lpthread
compiles 'vendored program runs' ./vendored

# --- several files in one program ---
cat > user.c <<'END'
#include "reid.h"
#include <stdio.h>
int main(void) { return printf("%s\n", reid_version_string()) < 0 || reid_version() != REID_VERSION; }
END
cp user.c user.cpp
printf '#define REID_IMPLEMENTATION\n#include "reid.h"\n' > one.c
# With deeper inlining the compiler sees uses before initialisation, or reports false ones.
! my_turn || compiles '-O3' gcc -std=c99 -D_GNU_SOURCE $warnings $c_warnings -O3 -I"$root" -c one.c -o three.o
compiles 'implementation for linking' cc -std=c99 -O0 -I"$root" -c one.c -o one.o
compiles 'linked with a C file' cc -std=c99 -I"$root" user.c header.c one.o -o user -lm -lpthread
compiles 'linked with a C++ file' c++ -std=c++11 -I"$root" user.cpp one.o -o user_cpp -lm -lpthread
compiles 'linked as C runs' ./user
compiles 'linked as C++ runs' ./user_cpp
compiles 'two static copies' cc -std=c99 -O1 -DREID_NO_VECTORS -DMAIN=main -I"$root" static.c -c -o a.o
compiles 'two static copies, the second' cc -std=c99 -O1 -DREID_NO_VECTORS -DMAIN=other -I"$root" static.c -c \
    -o b.o
compiles 'two static copies, linked' cc a.o b.o -o copies -lm -lpthread
compiles 'two static copies, run' ./copies

# --- the GPU's kernels compiled in, or the GPU left out ---
cp "$root/reid_kernels.cu" .
od -An -v -tx1 reid_kernels.cu | sed 's/ \(..\)/0x\1,/g' > kernels.bytes
cat > kernels.c <<'END'
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"
int main(void) { /* is the text that is compiled in the file's? */
    FILE *f = fopen("reid_kernels.cu", "rb");
    const char *text = (const char *)reid__kernel_text;
    size_t length = strlen(text), at = 0;
    for (int c; f && (c = getc(f)) != EOF; at++)
        if (at >= length || text[at] != (char)c) return 1;
    return at != length || length < 1000;
}
END
cp kernels.c kernels.cpp
for cc in gcc clang g++ clang++; do
    command -v $cc >/dev/null || continue
    case $cc in *++) std=c++11 from=kernels.cpp ;; *) std=c99 from=kernels.c ;; esac
    for how in -DREID_KERNELS_FILE='"reid_kernels.cu"' -DREID_KERNELS_BYTES="\"$dir/kernels.bytes\""; do
        compiles "$cc, kernels built in" $cc -std=$std -D_GNU_SOURCE -DREID_NO_VECTORS $warnings -O1 "$how" -I"$root" \
            $from -o kernels -lm -lpthread
        compiles "$cc, kernels built in, runs" ./kernels
    done
done
compiles 'without CUDA' cc -std=c99 $warnings $c_warnings -O0 -DREID_NO_CUDA -I"$root" -c one.c -o small.o
nm -u small.o | grep -E 'dlopen|dlsym|glob' > log
compiles 'without CUDA, no dlopen' test ! -s log

# --- without the search, without bf16 and INT8 ---
for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    for without in -DREID_NO_SEARCH -DREID_NO_NARROW '-DREID_NO_SEARCH -DREID_NO_NARROW -DREID_NO_CUDA'; do
        compiles "$cc $without" $cc -std=c99 $warnings $c_warnings $without -fsyntax-only -I"$root" implementation.c
    done
done
cat > parts.c <<'END'
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"
int main(void) {
    reid_error error;
    reid_desc desc = REID_INIT;
    reid_rows rows = REID_INIT;
    reid_search_desc search = REID_INIT;
    reid_index *index;
    reid_ctx *ctx;
    desc.error = &error, desc.network = "resnet50", desc.weights = "/no/such/file";
    if (reid_index_create(&desc, &rows, &index) != REID_ERR_LEFT_OUT || index) return 1;
    if (!strstr(error.text, "REID_NO_SEARCH")) return 2;
    if (reid_search(NULL, NULL, 0, &search, NULL, NULL, &error) != REID_ERR_LEFT_OUT) return 3;
    reid_index_destroy(index);
    reid_group_desc group = REID_INIT;
    if (reid_group(&desc, &rows, &group, NULL, NULL, NULL) != REID_ERR_LEFT_OUT) return 6;
    desc.precision = REID_BF16;
    if (reid_create(&desc, &ctx) != REID_ERR_LEFT_OUT || ctx || !strstr(error.text, "REID_NO_NARROW")) return 4;
    desc.precision = REID_INT8, desc.ranges = "ranges";
    if (reid_create(&desc, &ctx) != REID_ERR_LEFT_OUT) return 5;
    desc.precision = REID_FP32, desc.ranges = NULL;
    return reid_create(&desc, &ctx) != REID_ERR_FILE_OPEN; /* FP32 is there */
}
END
compiles 'without the search and narrow types' cc -std=c99 $warnings $c_warnings -O0 -DREID_NO_SEARCH -DREID_NO_NARROW \
    -DREID_NO_CUDA -DREID_NO_VECTORS -I"$root" parts.c -o parts -lm -lpthread
compiles 'without the search and narrow types, runs' ./parts

# --- beside stb_image ---
cat > stb.c <<'END'
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define REID_IMPLEMENTATION
#include "reid.h"
int main(void) {
    reid_image image;
    reid_error error;
    reid_result r = reid_image_load("/no/such/file.png", &image, &error);
    reid_image_free(&image);
    return r != REID_ERR_FILE_OPEN || image.pixels || error.code != r;
}
END
if echo '#include <stb/stb_image.h>' | cc -E -x c - >/dev/null 2>&1; then
    compiles 'with stb_image' cc -std=c99 -D_GNU_SOURCE -O0 -I"$root" stb.c -o stb -lm -lpthread
    compiles 'with stb_image, runs' ./stb
else
    skip 'no stb_image.h here (libstb-dev): reid_image_load is left out'
fi

# --- musl ---
if command -v musl-gcc >/dev/null; then
    compiles 'musl, static' musl-gcc -std=c99 $warnings $c_warnings -O1 -DREID_NO_VECTORS -static -DMAIN=main \
        -I"$root" static.c -o musl -lm
    compiles 'musl program runs' ./musl
else
    skip 'no musl-gcc here (musl-tools): static musl is left out'
fi
rm -f "$log"
say_left_out 'languages and compilers, with code for particular processors,'
finish
