# cli_lib.sh: code shared by the t_cli tests. They run from the top of the repository:
#
#     REID=build/reid sh tests/tools/commands/t_cli_inputs.sh
#
# CLI_FILES is the compiled tests/lib/cli_files.c; without it, build/cli_files is used, and compiled when it is
# missing.
# Each test prints "N passed, N failed" last and exits 0 or 1.

REID=${REID:-build/reid}
CLI_FILES=${CLI_FILES:-build/cli_files}
if [ ! -x "$CLI_FILES" ]; then
    mkdir -p "$(dirname "$CLI_FILES")"
    ${CC:-cc} -std=c99 -D_GNU_SOURCE -O1 -I. tests/lib/cli_files.c -o "$CLI_FILES.$$" -lm -lpthread || exit 1
    mv "$CLI_FILES.$$" "$CLI_FILES" # several tests may be doing this at once
fi
case $REID in /*) ;; *) REID=$PWD/$REID ;; esac
case $CLI_FILES in /*) ;; *) CLI_FILES=$PWD/$CLI_FILES ;; esac
[ -x "$REID" ] || { echo "no command $REID: run make" >&2; exit 1; }
unset REID_CPU_ISA NO_COLOR
export LC_ALL=C

. tests/lib/says.sh
. tests/lib/ready.sh
passed=0 failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
out=$work/stdout err=$work/stderr
cd "$work" || exit 1
repository=$OLDPWD

# check NAME COMMAND...: passes when the command succeeds; `grep -q PATTERN FILE` compares a message (says.sh)
check() {
    name=$1
    shift
    if holds "$@" >"$work/check" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name ($*)"
        sed 's/^/    /' "$work/check" | head -5
        sed 's/^/    stderr: /' "$err" 2>/dev/null | head -3
        [ "$1" != grep ] || { shift $(($# - 1)) && head -n 5 "$1" | cut -c -200 | sed "s|^|    $1: |"; }
    fi
}

# run STATUS ARGUMENT...: reid must exit with that status; its output goes to $out and $err
run() {
    want=$1
    shift
    "$REID" "$@" >"$out" 2>"$err"
    got=$?
    check "exit $want (was $got): reid $*" [ "$got" = "$want" ]
}

says() { check "stderr says: $1" grep -q -e "$1" "$err"; }      # says PATTERN
prints() { check "stdout has: $1" grep -q -e "$1" "$out"; }     # prints PATTERN
silent() { check "nothing on stdout" [ ! -s "$out" ]; }
same() { check "$1 equals $2" cmp "$1" "$2"; }
# golden FILE NAME: it is tests/golden/NAME, which `sh tests/run --write` renews
golden() {
    [ -z "${REID_WRITE-}" ] || { mkdir -p "$repository/tests/golden/${2%/*}" && cp "$1" "$repository/tests/golden/$2"; }
    check "tests/golden/$2 is what is said" diff "$repository/tests/golden/$2" "$1"
}
absent() { for f in "$@"; do check "no file $f" [ ! -e "$f" ]; done; }
lines() { check "$2 lines in $1" [ "$(wc -l <"$1")" -eq "$2" ]; }

# ask STATUS PATTERN CURL_ARGUMENT...: a server answers with that status and a body that has the pattern. $socket: the
# Unix socket to ask, if it is one.
ask() {
    want=$1 pattern=$2
    shift 2
    got=$(curl -s -o "$out" -D "$work/headers" -w '%{http_code}' ${socket:+--unix-socket "$socket"} "$@")
    check "$want (was $got): $*" [ "$got" = "$want" ]
    check "answer has: $pattern ($*)" grep -q -e "$pattern" "$out"
}
has_header() { check "header $1" grep -qi -e "^$1" "$work/headers"; } # of the last answer

# refuse.so, to be loaded before: REFUSE_AT and so on refuse the command's allocations (refuse_memory.c). Returns 1, and
# prints why, if that is not possible.
refuse_memory() {
    if grep -aq __asan_init "$REID"; then
        echo 'memory is not refused: that is for a command without AddressSanitizer'
        return 1
    fi
    ${CC:-cc} -std=c99 -D_GNU_SOURCE -O2 -shared -fPIC "$repository/tests/lib/refuse_memory.c" -o refuse.so || exit 1
}

# end SIGNAL: the server $server ends with 0
end() {
    kill "-$1" "$server"
    wait "$server"
    got=$?
    check "exit 0 after SIG$1 (was $got)" [ "$got" = 0 ]
    server=
}

# Files that end in .part or .log, or hidden ones, would be left over from an unfinished output.
no_leftovers() { check "nothing left over" [ -z "$(find . -name '*.part*' -o -name '*.log' -o -name '*.tmp*')" ]; }

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}

# Compiles tests/lib/checkpoint_files.c, which makes .pth files, as CHECKPOINT_FILES.
need_checkpoint_files() {
    CHECKPOINT_FILES=$(dirname "$CLI_FILES")/checkpoint_files
    (
        cd "$repository" || exit 1
        [ -x "$CHECKPOINT_FILES" ] && [ -z "$(find tools tests -name '*.[ch]' -newer "$CHECKPOINT_FILES")" ] && exit
        set -- weights/checkpoint weights/checkpoint_open weights/torch_file weights/torch_state weights/stated \
            weights/foreign_file \
            weights/onnx_file weights/onnx_graph weights/protobuf weights/pickle weights/zip base/source base/json \
            base/text base/say base/memory base/clock base/crc32 base/file_kind
        # shellcheck disable=SC2046 # several words
        ${CC:-cc} -std=c99 -D_GNU_SOURCE -O1 -I. -Itools tests/lib/checkpoint_files.c $(printf 'tools/%s.c ' "$@") \
            -o "$CHECKPOINT_FILES.$$" -lm && mv "$CHECKPOINT_FILES.$$" "$CHECKPOINT_FILES"
    ) || exit 1
}

# Compiles tests/lib/eval_files.c, which makes embeddings files, as EVAL_FILES.
need_eval_files() {
    EVAL_FILES=$(dirname "$CLI_FILES")/eval_files
    (
        cd "$repository" || exit 1
        [ -x "$EVAL_FILES" ] && [ -z "$(find tests/lib/eval_files.c -newer "$EVAL_FILES")" ] && exit
        ${CC:-cc} -std=c99 -D_GNU_SOURCE -O1 tests/lib/eval_files.c -o "$EVAL_FILES.$$" -lm &&
            mv "$EVAL_FILES.$$" "$EVAL_FILES"
    ) || exit 1
}

# ffmpeg and the program that draws films, build/demo_video; ends the test with status 77 if ffmpeg is not available.
need_films() {
    (cd "$repository" && . tools/setup.sh && (need_packages ffmpeg:ffmpeg) >&2) || {
        echo "skipped: no ffmpeg here"
        exit 77
    }
    (cd "$repository" && make -s build/demo_video) || exit 1
}

# Small images and a small network: EfficientNet-B0 at 64x64.
picture() { "$CLI_FILES" picture "$@"; }
b0() { "$CLI_FILES" weights "$1" efficientnet_b0 none "${2:-1}"; }
