#!/bin/sh
# What can be checked without running anything: exported symbols, writable data, functions that a library must not call,
# lengths of lines and functions, section tags, documentation of every API function.
#
#   sh tests/core/t_symbols.sh
#   CMOCKA_TEST_ABORT=1 sh tests/core/t_symbols.sh     stops at the first failure
# shellcheck disable=SC2086 # options and file names are several words
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
LC_ALL=C
export LC_ALL
passed=0 failed=0
found=$dir/found

# nothing NAME: passes when the file $found is empty
nothing() {
    if [ -s "$found" ]; then
        failed=$((failed + 1))
        echo "FAILED: $1"
        head -n 20 "$found" | sed 's/^/    /'
        [ -z "${CMOCKA_TEST_ABORT-}" ] || exit 1
    else
        passed=$((passed + 1))
    fi
}

printf '#define REID_IMPLEMENTATION\n#include "reid.h"\n' > "$dir/all.c"
cc -std=c99 -O0 -I. -c "$dir/all.c" -o "$dir/all.o" || exit 1
nm -g --defined-only "$dir/all.o" | awk '{print $3}' | sort > "$dir/defined"

# --- the object file ---
awk '!/^reid_[a-z]/ || /^reid__/' "$dir/defined" > "$found"
nothing 'exports only reid_*'
objdump -t "$dir/all.o" | awk '/ \.t?(data|bss)/ && !/ \.data\.rel\.ro/ && $3 != "d" || /\*COM\*/' > "$found"
nothing 'no writable globals'
size -A "$dir/all.o" | awk '$1 ~ /^\.t?(data|bss)$/ && $2 > 0' > "$found"
nothing '.data and .bss are empty'
objdump -h "$dir/all.o" | awk '$2 ~ /^\.(init|fini|ctors|dtors|init_array)/' > "$found"
nothing 'no constructors'

# Functions that must not be used: those that print, end the process or change its state.
banned='printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|putc|fputc|fwrite|perror|exit|_exit|quick_exit|abort|assert'
banned="$banned|__assert_fail|setlocale|signal|sigaction|strerror|system|popen|longjmp|srand|rand|qsort|mmap|alloca"
nm -u "$dir/all.o" | awk '{print $2}' | grep -xE "$banned|stdout|stderr|__v?f?printf_chk" > "$found"
nothing 'calls no banned function'
cc -fpreprocessed -dD -E -P reid.h 2>/dev/null | grep -v '__attribute__((format' |
    grep -E "(^|[^a-zA-Z0-9_])($banned) *\(" > "$found" # without comments
nothing 'names no banned function'

# --- text ---
files=$(find reid.h reid_kernels.cu tools tests examples models Makefile CMakeLists.txt .ci -type f \
    ! -path '*/golden/*' ! -path '*/results/*' ! -path '*/corpus/*' ! -name '*.md' \
    -exec grep -Il '' {} + 2>/dev/null) # -I: no images
awk 'length > 120 { # columns, not bytes: continuation bytes of UTF-8 do not count
    gsub(/[\200-\277]/, "")
    if (length > 120) print FILENAME ":" FNR ": " length " columns" }' $files > "$found"
nothing 'no line over 120 columns'

# The top level is fixed, and reid.h stays short enough to be read.
top='examples|models|tests|tools|reid\.h|reid_kernels\.cu|LICENSE|Makefile|CMakeLists\.txt|[A-Z]*\.md|\..*'
git ls-files 2>/dev/null | cut -d / -f 1 | sort -u | grep -vxE "$top" > "$found"
nothing 'nothing else at the top level'
awk 'END { if (NR > 13000) print "reid.h has " NR " lines" }' reid.h > "$found"
nothing 'reid.h has at most 13,000 lines'
grep -nwE 'TO''DO|FIX''ME|XX''X' $files > "$found"
nothing 'nothing left for later'
grep -nP '\t' reid.h tools/*.[ch] tools/*/*.[ch] tests/*/*.[ch] examples/*.c* > "$found"
nothing 'no tabs in C'
grep -nE ' +$' $files > "$found"
nothing 'no blanks at the end of a line'

awk 'FNR == 1 { start = 0 }
    /^[A-Za-z].*[a-z0-9_]\(/ && !/;$/ && !/^(typedef|struct|enum|union)/ { start = FNR; name = $0; body = 0 }
    /{$/ { body = 1 }
    start && !body && /;$/ { start = 0 } # a declaration of several lines
    /^}/ { lines = FNR - start + 1
           if (start && lines > 60) print FILENAME ":" start ": " lines " lines: " substr(name, 1, 60)
           start = 0 }' reid.h reid_kernels.cu tools/*.c tools/*/*.c tests/*/*.c tests/*/*/*.c examples/*.c > "$found"
nothing 'no function over 60 lines'

# --- documentation ---
sed -n '/^   >>api/,/Stop here if you only need the API/p' reid.h > "$dir/api"
awk '/^REID_API/ && !documented { print }
     /\*\/$/ { documented = 1; next }
     /^#/ || /^REID_API/ || /^ +.*\);$/ { next } # several functions may share a comment
     { documented = 0 }' "$dir/api" > "$found"
nothing 'every API function has a comment'
sed -n 's/^REID_API.*[ *]\(reid_[a-z_]*\)(.*/\1/p' "$dir/api" | sort > "$dir/declared"
comm -3 "$dir/declared" "$dir/defined" | grep -vE 'reid_image_(load|free)' > "$found" # these two need stb_image
nothing 'what is declared is what is defined'

# CONTENTS in the manual lists every section's tag once, in the order of the file.
sed -n '/CONTENTS/,/^ *$/p' reid.h | grep -o '>>[a-z_][a-z_]*' > "$dir/contents"
sed -n 's/^   \(>>[a-z_]*\)$/\1/p' reid.h > "$dir/tags"
sort "$dir/tags" | uniq -d > "$found"
nothing 'no tag stands twice'
if [ -s "$dir/contents" ]; then
    diff "$dir/contents" "$dir/tags" > "$found"
    nothing 'CONTENTS lists the sections'
else
    echo 'the manual has no CONTENTS yet: its tags are not compared'
fi

# Every function that the TRAIL follows is one of reid.h, every kernel one of reid_kernels.cu.
sed -n '/^   TRAIL /,/^ *$/p' reid.h | grep -oE '\breid_[a-z_]+' | sort -u > "$dir/trail"
grep -hoE '^(static |REID_API |extern "C" __global__ )?.*\breid_[a-z_]+\(' reid.h reid_kernels.cu | grep -v '^ ' |
    grep -oE 'reid_[a-z_]+\($' | tr -d '(' | sort -u > "$dir/functions"
grep -oE '^typedef struct reid__[a-z]+' reid.h | sed 's/.* //' | sort -u >> "$dir/functions"
sort -u "$dir/functions" | comm -23 "$dir/trail" - > "$found"
nothing 'the functions of the TRAIL exist'
[ "$(wc -l < "$dir/trail")" -gt 20 ] || echo 'the manual has no TRAIL, or a short one' > "$found"
nothing 'the manual has a TRAIL'
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
