#!/bin/sh
# CMakeLists.txt: another project gets reid::reid and reid::header by add_subdirectory, by FetchContent, and by
# find_package after `cmake --install` and after `make install`; versions that do not fit are refused.
#
#   sh tests/shown/t_cmake.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
command -v cmake > /dev/null || (. tools/setup.sh && need_packages cmake:cmake) || {
    echo 'skipped: no cmake here'
    exit 77
}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
LC_ALL=C
export LC_ALL
. tests/lib/check.sh
log=$dir/log
# The smallest reid.h, because only building it is tested here.
small='-DREID_NO_CUDA=ON -DREID_NO_VECTORS=ON -DREID_NO_NARROW=ON -DREID_NO_SEARCH=ON -DREID_NO_QUEUE=ON'

check() { # check NAME COMMAND...: the command succeeds
    name=$1
    shift
    if "$@" > "$log" 2>&1; then good; else bad "$name: $*" && return 1; fi
}
refuses() { # refuses NAME TEXT COMMAND...
    name=$1 text=$2
    shift 2
    if "$@" > "$log" 2>&1; then bad "$name: worked"; elif shows "$text" "$log"; then good; else bad "$name"; fi
}

# project NAME LINE...: makes a project whose CMakeLists.txt has these lines, the program $PROGRAM with the library and,
# unless WHOLE is empty, one that compiles the header itself
project() {
    at=$dir/$1
    shift
    mkdir "$at" && cat > "$at/user.c" << 'EOF' || exit 1
#include <reid.h>
#include <stdio.h>
int main(void) { return printf("%s\n", reid_version_string()) < 0 || reid_version() != REID_VERSION; }
EOF
    { printf '#define REID_IMPLEMENTATION\n' && cat "$at/user.c"; } > "$at/whole.c"
    {
        printf 'cmake_minimum_required(VERSION 3.13)\nproject(theirs LANGUAGES C)\n'
        printf '%s\n' "$@" "add_executable($PROGRAM user.c)" \
            "target_link_libraries($PROGRAM PRIVATE reid::reid)"
        [ -z "$WHOLE" ] || printf '%s\n' 'add_executable(whole whole.c)' \
            'target_compile_definitions(whole PRIVATE REID_NO_CUDA REID_NO_VECTORS REID_NO_NARROW REID_NO_SEARCH)' \
            'target_link_libraries(whole PRIVATE reid::header)'
    } > "$at/CMakeLists.txt"
}
# built NAME OPTION...: configures and builds the project
built() {
    at=$dir/$1
    shift
    # shellcheck disable=SC2086 # options are several words
    check "${at##*/}: configured" cmake -S "$at" -B "$at/build" $small "$@" &&
        check "${at##*/}: built" cmake --build "$at/build"
}

# --- add_subdirectory, FetchContent ---
PROGRAM=user WHOLE=1
project subdirectory "add_subdirectory($top reid)"
if built subdirectory; then
    check 'subdirectory: the program runs' "$dir/subdirectory/build/user"
    check 'subdirectory: the one with its own implementation runs' "$dir/subdirectory/build/whole"
    check 'the optimiser is on without a build type' grep -q -- '-O2' \
        "$dir/subdirectory/build/reid/CMakeFiles/reid_library.dir/flags.make"
    tr -d '\n' < "$dir/subdirectory/build/reid/reid_kernels.bytes" | sed 's/0x\(..\),/\1/g' > "$dir/cmake.hex"
    od -An -v -tx1 reid_kernels.cu | tr -d ' \n' > "$dir/od.hex"
    check 'the kernels, byte by byte' cmp "$dir/cmake.hex" "$dir/od.hex"
fi
WHOLE=''
tar -czf "$dir/reid.tar.gz" CMakeLists.txt reid.h reid_kernels.cu tools || exit 1
PROGRAM=reid
project fetched 'include(FetchContent)' "FetchContent_Declare(reid URL $dir/reid.tar.gz)" \
    'FetchContent_MakeAvailable(reid)'
PROGRAM=user
if built fetched -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=Debug; then
    check 'fetched: a program named reid runs' "$dir/fetched/build/reid"
    so=$(find "$dir/fetched/build" -name 'libreid.so.*.*')
    nm -D --defined-only "$so" | awk 'NF == 3 { print $3 }' > "$dir/exported"
    check 'the shared library exports something' test -s "$dir/exported"
    check 'the shared library exports only reid_*' sh -c "! grep -v '^reid_[a-z]' '$dir/exported'"
    check 'and has a soname' sh -c "readelf -dW '$so' | grep -q 'SONAME.*\[libreid.so.0\]'"
fi

# --- installed by CMake, moved, and found ---
# shellcheck disable=SC2086
check 'configured alone' cmake -S . -B "$dir/alone" $small -DCMAKE_INSTALL_PREFIX="$dir/first" &&
    check 'built alone' cmake --build "$dir/alone" && check 'installed' cmake --install "$dir/alone"
check 'reid.pc names its folder' grep -q "^prefix=$dir/first\$" "$dir/first/lib/pkgconfig/reid.pc"
mv "$dir/first" "$dir/moved" || exit 1
WHOLE=1
project found 'find_package(reid 0.1 REQUIRED)' 'find_package(reid REQUIRED)'
if built found -DCMAKE_PREFIX_PATH="$dir/moved"; then
    check 'found: the program runs' "$dir/found/build/user"
    check 'found: the one with its own implementation runs' "$dir/found/build/whole"
fi
WHOLE=''
for version in 0.2 0.1.9 1.0; do
    project "wants$version" "find_package(reid $version REQUIRED)"
    refuses "version $version" 'version: 0.1' cmake -S "$dir/wants$version" -B "$dir/wants$version/build" \
        -DCMAKE_PREFIX_PATH="$dir/moved"
done
mv "$dir/moved/include/reid.h" "$dir/kept.h"
refuses 'no header' 'reid.h or libreid is missing' cmake -S "$dir/found" -B "$dir/found/again" \
    -DCMAKE_PREFIX_PATH="$dir/moved"

# --- installed by make, in a folder apart from the header ---
check 'make install' make -s install DESTDIR="$dir/root" PREFIX=/opt/reid LIBDIR=/opt/reid/lib64/here
project made 'find_package(reid 0.1.0 EXACT REQUIRED)'
sed -i "s|/opt/reid|$dir/root/opt/reid|" "$dir/root/opt/reid/lib64/here/cmake/reid/reid-config.cmake"
if built made -Dreid_DIR="$dir/root/opt/reid/lib64/here/cmake/reid"; then
    check 'made: the program runs' "$dir/made/build/user"
    check 'made: with the shared library' sh -c "readelf -dW '$dir/made/build/user' | grep -q 'NEEDED.*libreid.so.0'"
fi

# --- make lib, whatever the user's flags for visibility ---
mkdir "$dir/hidden" && cp -r Makefile reid.h reid_kernels.cu tools "$dir/hidden" && mkdir "$dir/hidden/tests" &&
    cp -r tests/emulator "$dir/hidden/tests" || exit 1
check 'make lib with -fvisibility=hidden' make -s -C "$dir/hidden" lib CFLAGS='-O1 -fvisibility=hidden' \
    CPPFLAGS="$(echo "$small" | sed 's/=ON//g')"
nm -D --defined-only "$dir/hidden/build/libreid.so" | grep -c ' T reid_' > "$dir/count"
check 'it still exports its functions' sh -c "[ $(cat "$dir/count") -gt 20 ]"
rm -f "$log"
finish
