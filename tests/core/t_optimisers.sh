#!/bin/sh
# Compiles reid.h at every level of optimisation with every compiler that is here, for x86, 64-bit ARM and musl: none
# ends with an internal error or a warning that stops it, and what can run here embeds, at each level with the same
# bits. Combinations take turns.
#
#   sh tests/core/t_optimisers.sh          REID_ALL=1: every combination
# shellcheck disable=SC2086 # compilers and options are several words
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/check.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
log=$dir/log
REID_SHARE=14

# Embeds an image; the bits are printed.
cat > "$dir/embed.c" <<'END'
#define REID_IMPLEMENTATION
#include "reid.h"
int main(int argc, char **argv) {
    static unsigned char pixels[64 * 64 * 3];
    reid_desc desc = REID_INIT;
    reid_image image = REID_INIT;
    reid_error error;
    reid_ctx *ctx;
    unsigned sum = 0;
    uint32_t state = 7;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (unsigned char)((state = state * 1664525u + 1013904223u) >> 24);
    desc.weights = argv[argc - 1], desc.height = desc.width = 64, desc.threads = 1;
    desc.device = REID_DEVICE_CPU, desc.error = &error;
    if (reid_create(&desc, &ctx) != REID_OK) return printf("%s\n", error.text), 1;
    image.pixels = pixels, image.width = image.height = 64;
    float row[4096];
    uint32_t bits[4096];
    if (reid_embed(ctx, &image, 1, row) != REID_OK) return 1;
    memcpy(bits, row, sizeof *row * (size_t)reid_dim(ctx));
    for (int i = 0; i < reid_dim(ctx); i++) sum = sum * 31u + bits[i];
    printf("%08x\n", sum);
    reid_destroy(ctx);
    return 0;
}
END

${MAKE:-make} -s build/seeded && build/seeded --net efficientnet_b0 -o "$dir/b0.safetensors" || exit 1
compilers=$({
    for folder in /usr/bin /usr/local/bin; do
        find $folder -maxdepth 1 \( -name 'gcc-[0-9]*' -o -name 'clang-[0-9]*' -o -name 'aarch64-linux-gnu-gcc-[0-9]*' \
            -o -name 'musl-gcc' \) -exec basename {} \;
    done
    command -v gcc clang aarch64-linux-gnu-gcc | xargs -n 1 basename
} | sort -u)
# The names without a version are links to one of the others, where there are any.
numbered() { echo "$compilers" | grep -q "^$1-[0-9]"; }
bits=
try() { # try COMPILER OPTIONS [RUNNER]: RUNNER runs the program; without, it is compiled only
    name="$1 $2"
    case $1 in musl-gcc) static=-static ;; aarch64*) static=-static ;; *) static= ;; esac
    if [ $# -lt 3 ]; then
        $1 -std=c99 $2 -Wall -Wextra -I. -c "$dir/embed.c" -o "$dir/embed.o" > "$log" 2>&1 && good || bad "$name"
        return
    fi
    if ! $1 -std=c99 $2 -Wall -Wextra -I. $static "$dir/embed.c" -o "$dir/embed" -lm -lpthread -ldl > "$log" 2>&1; then
        bad "$name"
        return
    fi
    $3 "$dir/embed" "$dir/b0.safetensors" > "$log" 2>&1
    [ -n "$bits" ] || bits=$(cat "$log")
    if [ -n "$bits" ] && [ "$(cat "$log")" = "$bits" ]; then good; else bad "$name: has the bits $bits"; fi
    rm -f "$dir/embed"
}
for compiler in $compilers; do
    case $compiler in *-[0-9]*) ;; *) ! numbered "$compiler" || continue ;; esac
    for options in -O1 -O2 -O3 -Os '-O2 -flto' '-O3 -flto'; do
        case $compiler in
        aarch64*) runner=$(command -v qemu-aarch64-static) || runner= ;;
        *) runner='env' ;;
        esac
        case $compiler$options in *clang*-flto) command -v ld.lld > /dev/null || runner= ;; esac
        case $compiler$options in clang*-flto) options="$options ${runner:+-fuse-ld=lld}" ;; esac
        my_turn && try "$compiler" "$options" ${runner:+"$runner"}
        case $compiler in
        clang*) [ -d /usr/aarch64-linux-gnu/include ] && my_turn &&
            try "$compiler --target=aarch64-linux-gnu -isystem /usr/aarch64-linux-gnu/include" "${options% -fuse*}" ;;
        esac
    done
done
echo "compilers: $(echo $compilers)"
[ $((passed + failed)) -gt 0 ] || skip 'no compiler here'
say_left_out combinations
finish
