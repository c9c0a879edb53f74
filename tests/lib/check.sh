# check.sh: code shared by the tests in shell: counting, parts that take turns, a pool of jobs, planted bugs.
# Sourced from the top of the repository.
#     out=build/tests/t_NAME           a folder for files that the test leaves for inspection
#     . tests/lib/check.sh
# REID_ALL=1 (sh tests/run --all) runs everything. Otherwise a test may do a part of its work in each run: `my_turn` is
# true for one call in REID_SHARE (6), and REID_SEED, which tests/run takes from the number of commits, determines for
# which ones, so that successive commits together cover everything. A test that itself runs only at every sixteenth seed
# must not do the same parts each time: hence the division of the seed.
# shellcheck disable=SC2034 # what is set here is read by the tests

. tests/lib/says.sh
passed=0 failed=0 skipped=0
: "${REID_ALL:=0}" "${REID_SEED:=0}" "${REID_SHARE:=6}"

good() { passed=$((passed + 1)); }
bad() { # bad TEXT: with the end of the log, where the test keeps one as $log
    failed=$((failed + 1))
    echo "FAILED: $1"
    [ ! -f "${log-}" ] || tail -n 30 "$log" | sed 's/^/    /'
}
skip() {
    skipped=$((skipped + 1))
    echo "skipped: $1"
}
finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}

all() { [ "$REID_ALL" = 1 ]; }
turn=0 left_out=0
my_turn() {
    all && return
    turn=$((turn + 1))
    [ $(((turn + REID_SEED + REID_SEED / 6) % REID_SHARE)) -eq 0 ] && return
    left_out=$((left_out + 1))
    return 1
}
say_left_out() { # say_left_out WHAT
    [ "$left_out" -eq 0 ] || echo "$left_out of $turn $1 were left to other runs (REID_SEED=$REID_SEED, or --all)"
}

# --- jobs: commands side by side ---
# job NAME COMMAND...: in the background, REID_JOBS of them at a time (2); `collect` waits, counts the results,
# and names jobs that took more than 3 s of CPU time. A job that ends with 77 was skipped.
jobs=0
said=
job() {
    [ -n "$said" ] || said=$(mktemp -d "${TMPDIR:-/tmp}/jobs.XXXXXX") || exit 1
    while [ $((jobs - $(find "$said" -name '*.status' | wc -l))) -ge "${REID_JOBS:-2}" ]; do sleep 0.03; done
    jobs=$((jobs + 1))
    echo "$1" > "$said/$jobs.name"
    shift
    (
        "$@" > "$said/$jobs.said" 2>&1 < /dev/null
        echo $? > "$said/$jobs.new"
        times > "$said/$jobs.cpu" # of this shell, then of what it has run; user and system, 1m2.34s
        mv "$said/$jobs.new" "$said/$jobs.status"
    ) &
}
collect() {
    wait
    at=0
    while [ $at -lt $jobs ]; do
        at=$((at + 1))
        skipped=$((skipped + $(grep -c '^skipped: ' "$said/$at.said")))
        grep '^skipped: ' "$said/$at.said"
        awk -v name="$(cat "$said/$at.name")" 'NR == 2 { split($0, t, /[ms ]+/)
            seconds = t[1] * 60 + t[2] + t[3] * 60 + t[4]
            if (seconds > 3) printf "CPU %5.1f s  %s\n", seconds, name }' "$said/$at.cpu"
        case $(cat "$said/$at.status") in
        0) good ;;
        77) grep -q '^skipped: ' "$said/$at.said" || skip "$(cat "$said/$at.name")" ;;
        *) log=$said/$at.said && bad "$(cat "$said/$at.name")" ;;
        esac
    done
    [ -z "$said" ] || rm -rf "$said"
    jobs=0 said='' log=''
}

# --- planted bugs ---
# plant_in FILE TO SED_SCRIPT: a copy with a bug. A script that changes nothing is a failure, whether or not the bug is
# tried in this run: its pattern must follow the text.
plant_in() {
    mkdir -p "$(dirname "$2")"
    sed "$3" "$1" > "$2"
    ! cmp -s "$1" "$2"
}

# command_with SOURCE FILE TO: the command as TO, with SOURCE in the place of FILE. The other objects are those of
# build/reid.
objects=
command_with() {
    if [ -z "$objects" ]; then
        ${MAKE:-make} -s build/reid || return 1
        for room in $(${MAKE:-make} -s rooms); do
            for source in tools/"$room"/*.c; do objects="$objects build/$room/$(basename "$source" .c).o"; done
        done
        objects="$objects build/reid.o build/reid_impl.o"
    fi
    object=build/${2#tools/}
    object=${object%.c}.o
    http=$(grep -q libmicrohttpd build/reid && echo -lmicrohttpd)$(grep -q libgnutls build/reid && echo ' -lgnutls')
    ${CC:-cc} -std=c99 -D_GNU_SOURCE -O1 -w -I. -Itools -pthread -c "$1" -o "$3.o" || return 1
    # shellcheck disable=SC2046,SC2086 # several words
    ${CC:-cc} -pthread -o "$3" "$3.o" $(echo " $objects " | sed "s| $object | |") -lm -ldl $http
}
