#!/bin/sh
# t_decoders.sh: the command contains stb_image's decoders of only two formats; every test that is named in the table
# of CVEs in tools/pictures/README.md exists.
#     sh tests/tools/pictures/t_decoders.sh
set -u
cd "$(dirname "$0")/../../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0
ok() { # ok WHAT CONDITION...
    what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $what"; fi
}
no() { ! "$@"; }

# The preprocessed text shows everything that stb_image defines, including static functions that are never called.
cc -std=c99 -D_GNU_SOURCE -Itools -E tools/pictures/stb_image_impl.c > "$dir/text" || exit 1
for format in gif hdr pic psd pnm bmp tga; do
    ok "no $format decoder" no grep -Eq "stbi__${format}_(load|info|test)\(stbi__context \*s[^)]*\)\$" "$dir/text"
done
for format in jpeg png; do
    ok "a $format decoder" grep -Eq "stbi__${format}_load\(stbi__context \*s" "$dir/text"
done
ok "no image is flipped" no grep -rqE 'stbi_set_flip|flip_vertically' tools --include='*.c' --include='*.h'
ok "sums wrap" sh -c "make -n -B build/pictures/stb_image_impl.o | grep -q -e '-fwrapv.*stb_image_impl'"
printf '#include "pictures/stb_image_config.h"\n' > "$dir/v.c"
header=$(cc -M -Itools "$dir/v.c" | tr ' ' '\n' | grep 'stb_image\.h$')
version=$(sed -n 's/.*stb_image - v2\.\([0-9]*\).*/\1/p' "$header")
ok "stb_image 2.$version is 2.27 or newer" [ "${version:-0}" -ge 27 ]

grep '^| 20' tools/pictures/README.md > "$dir/table"
ok "the table has rows" [ "$(wc -l < "$dir/table")" -ge 15 ]
while IFS= read -r row; do
    shown=$(echo "$row" | sed 's/.*|\([^|]*\)|$/\1/')
    for file in $(echo "$shown" | grep -o 't_[a-z]*\.[a-z]*'); do
        ok "$file exists" [ -n "$(find tests/tools -name "$file")" ]
    done
    for test in $(echo "$shown" | grep -o 'test_[a-z_]*'); do
        ok "$test is run" grep -q "cmocka_unit_test($test)" tests/tools/pictures/t_picture.c
    done
    ok "a test in: $row" [ -n "$(echo "$shown" | tr -d ' ')" ]
done < "$dir/table"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
