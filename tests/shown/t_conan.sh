#!/bin/sh
# tools/conan: the package for Conan 2 is created, static and shared, and its program is built against it and runs;
# options leave parts out, and the package has the version of reid.h.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/check.sh
. tests/lib/python.sh
command -v cmake > /dev/null || (. tools/setup.sh && need_packages cmake:cmake) || {
    echo 'skipped: no cmake here'
    exit 77
}
need_python venv_conan conan==2.34.0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
log=$work/log
export CONAN_HOME="$work/conan" PYTHONDONTWRITEBYTECODE=1
conan() { "${python%/*}/conan" "$@" > "$log" 2>&1; }
conan profile detect && good || bad 'conan profile detect'

# The recipe builds its program beside itself, so a copy is tested. Of reid.h it builds the smallest, because only
# packaging is tested here.
mkdir -p "$work/tools" && cp -r CMakeLists.txt reid.h reid_kernels.cu LICENSE "$work" &&
    cp -r tools/conan tools/reid_impl.c tools/reid*.in "$work/tools" || exit 1
created() { # created NAME OPTION...
    name=$1
    shift
    conan create "$work/tools/conan" -o '&:cuda=False' -o '&:vectors=False' -o '&:narrow=False' \
        -o '&:queue=False' "$@" && good || bad "$name"
}
version=$(sed -n 's/^.define REID_VERSION_STRING "\(.*\)"/\1/p' reid.h)
created static -o '&:search=False'
shows "^reid $version, first network resnet50\$" "$log" && good || bad 'the program of the static package'
library=$(find "$CONAN_HOME" -path '*/p/lib/libreid.a' | head -n 1)
[ -n "$library" ] && nm "$library" 2> /dev/null | grep -q ' T reid_embed$' && good || bad 'libreid.a'
nm "$library" | grep -q ' reid__by_score$' && bad 'the search was not left out'
created shared -o '&:shared=True'
shows "^reid $version, first network resnet50\$" "$log" && good || bad 'the program of the shared package'

sed -i 's/^\(#define REID_VERSION_STRING\) .*/\1 "0.9.8"/' "$work/reid.h"
conan export "$work/tools/conan" && shows 'Exported.*: reid/0.9.8' "$log" && good || bad 'the version of reid.h'
conan create "$work/tools/conan" -o '&:tensorflow=True' && bad 'an unknown option is accepted'
shows "option 'tensorflow' doesn't exist" "$log" && good || bad 'the message for an unknown option'
finish
