#!/bin/sh
# examples/ray_embed.py on a real Ray with two actors. One is killed with its command in the middle of a shard; the
# bytes are those of a single run. Then the whole program is killed and started again, and an actor is killed as it
# starts. Ray is installed from PyPI.
#
#   sh tests/shown/t_ray.sh
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/python.sh
need_python venv_ray 'ray[data]'
. tests/lib/cli_lib.sh
b0 w.safetensors
mkdir crops
for i in $(seq 19); do picture "crops/$i.png" 60 50 "$i"; done
: >crops/5x.png
slow='-m w.safetensors --size 320x320 --isa scalar --batch 1 crops'

# Ray must leave nothing in the user's folders. Its folder has a short name, because its sockets' names must fit in 107
# bytes.
ray_folder=$(mktemp -d /tmp/ray.XXXX) || exit 1
driver=
stop() { # ends the processes that this test started: the driver's session, including Ray's daemons
    [ -z "$driver" ] || pkill -KILL -s "$driver"
    for id in $(pgrep -f "$ray_folder/"); do kill -KILL "$id" 2>/dev/null; done
}
trap 'stop; rm -rf "$work" "$ray_folder"' EXIT
export HOME="$ray_folder" RAY_TMPDIR="$ray_folder" RAY_AUTH_MODE=disabled RAY_USAGE_STATS_ENABLED=0
export RAY_DEDUP_LOGS=0 RAY_COLOR_PREFIX=0 PYTHONUNBUFFERED=1 # shows the actors' output immediately
unset RAY_ADDRESS
start() { # start SHARDS: in the background, in a separate session, as $driver
    # shellcheck disable=SC2086 # options
    setsid "$python" "$repository/examples/ray_embed.py" -o crops.npy --shards "$1" --actors 2 --reid "$REID" \
        -- $slow -v >"$out" 2>"$err" &
    driver=$!
}
wait_for() { # wait_for WHAT COMMAND...: at most 60 s
    what=$1 n=0
    shift
    until "$@" 2>/dev/null; do
        sleep 0.1
        n=$((n + 1))
        [ $n -lt 600 ] || { check "in time: $what" false; return 1; }
    done
}
some_rows() { [ "$(cat "$1".part.log 2>/dev/null | wc -l)" -ge 3 ]; }
pid_of() { sed -n "s|.*(Embedder)) pid=\([0-9]*\)[^0-9].*shard $1\$|\1|p" "$out" | tail -n 1; } # the actor of a shard
has_pid() { [ -n "$(pid_of "$1")" ]; }
begins() { actor=$(pgrep -s "$driver" -f 'ray::.*Embedder' | head -n 1) && [ -n "$actor" ]; }

# An actor is killed.
start 3
wait_for 'rows of a shard' some_rows crops.npy.shards/000001.npy
wait_for 'the actor of a shard' has_pid 1/3
actor=$(pid_of 1/3)
child=$(pgrep -P "$actor")
kill -KILL "$actor"
alive() { grep -q '^State:.[^Z]' "/proc/$child/status" 2>/dev/null; } # Z: its status was not collected yet
for _ in $(seq 20); do alive && sleep 0.05; done # the remaining images take longer
alive
check "the command ends with its actor" [ $? != 0 ]
wait $driver
status=$?
check "the program ends with the status of reid merge (was $status)" [ $status = 1 ]
check "the shard was begun twice, by two actors" [ "$(grep -c 'shard 1/3$' "$out")" = 2 ]
check "and in another process" [ "$(pid_of 1/3)" != "$actor" ]
says '[1-9] of 6 inputs already done'
says '1 of 20 inputs failed'
prints '^3 of 3 shards are done'
check "the shards are removed" [ ! -e crops.npy.shards ]
for f in npy ids.txt meta.json; do cp crops.$f merged.$f; done
# shellcheck disable=SC2086
"$REID" embed -q --threads 1 $slow -o crops.npy 2>/dev/null
for f in npy ids.txt meta.json; do same merged.$f crops.$f; done
rm -f crops.npy crops.ids.txt crops.meta.json

# The program itself is killed, with all of Ray.
start 2
wait_for 'rows of the first shard' some_rows crops.npy.shards/000001.npy
wait_for 'rows of the second' some_rows crops.npy.shards/000002.npy
stop
wait $driver 2>/dev/null
absent crops.npy
start 2
wait_for 'an actor' begins # and is killed before it gets a shard
kill -KILL "$actor"
wait $driver
check "started again (was $?)" [ -s crops.npy ]
says 'inputs already done'
for f in npy ids.txt meta.json; do same merged.$f crops.$f; done

# Impossible requests are refused.
rm crops.*
slow='-m lost.safetensors crops' && start 1
wait $driver
check "exit 2 when a shard cannot be done" [ $? = 2 ]
says 'lost.safetensors: no such file'
says 'shard 1/1 ends with status 2'
absent crops.npy
refused() { # PATTERN ARGUMENT...
    pattern=$1
    shift
    "$python" "$repository/examples/ray_embed.py" "$@" >"$out" 2>"$err"
    check "exit 2: $*" [ $? = 2 ]
    says "$pattern"
}
refused 'x.png: the name must end in' -o x.png -- -m w in
refused 'must be at least 1' -o x.npy --actors 0 -- -m w in
refused 'the following arguments are required: .*output' -- -m w in
finish
