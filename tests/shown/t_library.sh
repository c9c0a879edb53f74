#!/bin/sh
# `make lib` and `make install`: libreid.so and libreid.a export only reid_*, and programs are built with pkg-config
# against the installed files: with the shared library, with the static one, with the header alone.
#
#   sh tests/shown/t_library.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
LC_ALL=C
export LC_ALL
. tests/lib/check.sh
log=$dir/log

check() { # check NAME COMMAND...: the command succeeds
    name=$1
    shift
    if "$@" > "$log" 2>&1; then good; else bad "$name: $*" && return 1; fi
}

check 'make lib' make -s lib
[ "$failed" = 0 ] || finish
so=build/libreid.so.$(sed -n 's/^.define REID_VERSION_STRING "\([0-9]*\)\..*/\1/p' reid.h)
prefix=$dir/usr
check 'make install' make -s install DESTDIR="$dir/root" PREFIX="$prefix"
check 'another LIBDIR' make -s install DESTDIR="$dir/root" PREFIX="$prefix" LIBDIR="$prefix/lib64/here"
check 'DESTDIR holds everything' test ! -e "$prefix"
mv "$dir/root$prefix" "$prefix" || exit 1 # as a package's files are put in place

# --- what the libraries export ---
sed -n '/^   >>api/,/Stop here if you only need the API/p' reid.h |
    sed -n 's/^REID_API.*[ *]\(reid_[a-z_]*\)(.*/\1/p' | grep -vE '^reid_image_(load|free)$' | sort > "$dir/declared"
defined() { nm "$1" --defined-only "$2" | awk 'NF == 3 { print $3 }' | sort; }
defined -D "$prefix/lib/${so##*/}" > "$dir/shared"
defined -g "$prefix/lib/libreid.a" > "$dir/static"
for kind in shared static; do
    check "$kind: everything that is declared" diff "$dir/declared" "$dir/$kind"
    check "$kind: only reid_*" sh -c "[ -s '$dir/$kind' ] && ! grep -vE '^reid_[a-z]' '$dir/$kind'"
done
readelf -dW "$prefix/lib/libreid.so" > "$dir/dynamic"
check 'soname' grep -q "SONAME.*\[${so##*/}\]" "$dir/dynamic"
check 'no text relocations, no RPATH' sh -c "! grep -E 'TEXTREL|RPATH|RUNPATH' '$dir/dynamic'"
check 'needs only the C library' sh -c "! grep NEEDED '$dir/dynamic' |
    grep -vE 'lib(c|m|dl|pthread|gcc_s)\.so|ld-linux'"

# --- programs ---
command -v pkg-config > /dev/null || { skip 'no pkg-config here: the programs are left out'; finish; }
cat > "$dir/user.c" <<'END'
#include <reid.h>
#include <stdio.h>
#include <string.h>
static void heard(reid_log_level level, reid_result id, const char *message, void *user) {
    (void)user;
    if (level == REID_LOG_WARNING) fprintf(stderr, "%s: %s\n", reid_result_name(id), message);
}
int main(int argc, char **argv) {
    static unsigned char pixels[48 * 64 * 3];
    static float row[65536];
    reid_desc desc = REID_INIT;
    reid_error error;
    reid_ctx *ctx;
    reid_image image = {pixels, 48, 64, 0, REID_RGB8, NULL};
    desc.weights = argc > 1 ? argv[1] : "/no/such/file", desc.height = desc.width = 64, desc.error = &error;
    desc.log_fn = heard;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (unsigned char)(i * i >> 7);
    if (reid_version() != REID_VERSION) return 3;
    reid_result result = reid_create(&desc, &ctx);
    if (result != REID_OK) return printf("%s\n", error.text) < 0 || argc > 1 || result != REID_ERR_FILE_OPEN;
    result = reid_embed(ctx, &image, 1, row);
    for (int i = 0; i < reid_dim(ctx); i++) printf("%.9g\n", (double)row[i]);
    reid_destroy(ctx);
    return result != REID_OK;
}
END
{ printf '#define REID_IMPLEMENTATION\n' && cat "$dir/user.c"; } > "$dir/whole.c"
cp "$dir/user.c" "$dir/user.cpp"
PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export PKG_CONFIG_PATH
cd "$dir" || exit 1
warnings='-Wall -Wextra -Wpedantic -Werror'
check 'pkg-config knows the version' pkg-config --exact-version="$(sed -n \
    's/^.define REID_VERSION_STRING "\(.*\)"/\1/p' "$top/reid.h")" reid
# shellcheck disable=SC2016 # each line is expanded by the shell that runs it, as a user's would
{
    check 'shared' sh -c "cc -std=c99 $warnings user.c -o shared"' $(pkg-config --cflags --libs reid)'
    check 'shared, from C++' sh -c "c++ -std=c++11 $warnings user.cpp -o cpp"' $(pkg-config --cflags --libs reid)'
    mv "$prefix/lib/libreid.so" kept.so
    check 'static' sh -c "cc -std=c99 $warnings user.c -o static"' $(pkg-config --cflags --libs --static reid)'
    mv kept.so "$prefix/lib/libreid.so"
    header="cc -std=c99 -D_GNU_SOURCE -DREID_NO_VECTORS -O0 $warnings whole.c -o header"
    check 'header alone' sh -c "$header"' $(pkg-config --cflags reid) $(pkg-config --variable=header_libs reid)'
}
check 'LIBDIR reaches reid.pc' sh -c "PKG_CONFIG_PATH='$prefix/lib64/here/pkgconfig' pkg-config --libs reid |
    grep -q -e '-L$prefix/lib64/here -lreid'"
LD_LIBRARY_PATH=$prefix/lib
export LD_LIBRARY_PATH
check 'the program with the shared library needs it' sh -c "readelf -dW shared | grep -q 'NEEDED.*${so##*/}'"
for program in static header; do
    check "$program: does not need libreid" sh -c "! readelf -dW $program | grep -q 'NEEDED.*libreid'"
done
for program in shared cpp static header; do check "$program says what is missing" ./$program; done
if check 'seeded weights' make -s -C "$top" build/seeded &&
    check 'weights' "$top/build/seeded" --net efficientnet_b0 -o w.safetensors; then
    ./shared w.safetensors > shared.txt
    check 'an embedding' test "$(wc -l < shared.txt)" = 1280
    for program in cpp static; do
        check "$program runs" sh -c "./$program w.safetensors > $program.txt"
        check "$program: the same bits" cmp shared.txt $program.txt
    done
    check 'an optimised shared library does not warn' sh -c './shared w.safetensors 2>&1 >shared.again |
        cmp - /dev/null'
    check 'without -O the header warns' sh -c './header w.safetensors 2>&1 >header.txt |
        grep -q "^REID_WARN_NOT_OPTIMISED: .*use -O2"'
fi
rm -f "$log"
finish
