#!/bin/sh
# examples/celery with a real Redis and 32 prefork children of Celery, next to one `reid serve`: children, the server
# and finally all of Celery are killed during the work; at the end, every detection has exactly one result, with the
# bytes of a single run. Celery is installed from PyPI.
#
#   sh tests/shown/t_celery.sh
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/python.sh
need_python venv_celery 'celery[redis]' numpy
. tools/setup.sh
(need_packages redis-server:redis-server) >&2 || { echo 'skipped: no redis-server here'; exit 77; }
make -s build/reid lib || exit 1
if "${REID:-build/reid}" serve -m x --socket s 2>&1 | grep -q 'compiled without'; then
    echo 'skipped: no libmicrohttpd here'
    exit 77
fi
bin=${python%/*}
. tests/lib/cli_lib.sh

short=$(mktemp -d /tmp/celery.XXXX) || exit 1 # the names of sockets must fit in 107 bytes
redis='' server='' celery=''
stop_celery() { [ -z "$celery" ] || pkill -KILL -s "$celery"; }
stop() {
    stop_celery
    for id in $redis $server; do kill -KILL "$id" 2>/dev/null; done
}
trap 'stop; rm -rf "$work" "$short"' EXIT
export TMPDIR="$short" # killed processes leave a folder behind
export REID_LIBRARY="$repository/build/libreid.so" PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH="$repository/examples/python:$repository/examples/celery"
export REID_SOCKET="$short/reid.sock" REID_MODEL=b0 REID_VISIBILITY=5 REID_BROKER="redis+socket://$short/redis.sock"
example=$repository/examples/celery/detections.py
detections=1200 bad=700

start_server() {
    : >serve.log
    "$REID" serve -q -m b0.safetensors --size 64x64 --threads 1 --batch 8 --socket "$REID_SOCKET" 2>serve.log &
    server=$!
}
start_celery() { # in a separate session
    setsid "$bin/celery" -A tasks worker --pool prefork --concurrency 32 --loglevel INFO >>celery.log 2>&1 &
    celery=$!
}
asked() { redis-cli -s "$short/redis.sock" "$@"; }
count='import sqlite3
print(*sqlite3.connect("detections.sqlite").execute("SELECT count(*) FROM results").fetchone())'
results() { "$python" -c "$count"; }
logged() { grep -q "$1" celery.log; }
reached() { [ "$(results)" -ge "$1" ]; }
wait_for() { # wait_for WHAT COMMAND...: at most 60 s
    what=$1 n=0
    shift
    until "$@" 2>/dev/null; do
        sleep 0.05
        n=$((n + 1))
        [ $n -lt 600 ] || { check "in time: $what" false; tail -n 5 celery.log; return 1; }
    done
}
kill_children() { # kill_children N: that many of those that work
    # shellcheck disable=SC2046 # several numbers
    kill -KILL $(pgrep -P "$celery" | shuf -n "$1") 2>/dev/null
}

b0 b0.safetensors
"$python" "$repository/tests/shown/celery_tests.py" prepare $((detections - 1))
echo 'not an image' >"crops/$(printf %05d $((bad - 2)))x.ppm" # between the others
check "$detections crops" [ "$(find crops -type f | wc -l)" = $detections ]
"$REID" embed -q -m b0.safetensors --size 64x64 gallery -o gallery.npy
"$REID" embed -q -m b0.safetensors --size 64x64 crops -o want.npy 2>/dev/null
"$python" "$example" add crops/*
redis-server --port 0 --unixsocket "$short/redis.sock" --save '' --dir "$short" --loglevel warning >redis.log 2>&1 &
redis=$!
wait_for 'Redis' asked ping >/dev/null
start_server
start_celery
"$python" "$example" submit 6 >"$out"
prints "^detections: $detections, tasks: 200$"

# The server is stopped before anything is killed, so that tasks that wait for it remain unfinished for that long.
wait_for 'the first results' reached 50
kill -STOP $server
kill_children 8
wait_for 'children that were killed at work' logged 'WorkerLostError\|exited prematurely'
kill -KILL $server
wait $server 2>/dev/null
wait_for 'tasks that wait for the server' logged 'Retry in'
kill_children 4
start_server
wait_for 'results of the second server' reached 300
kill -STOP $server
check "not all are there yet" [ "$(results)" -lt $detections ]
kill_children 8
stop_celery # the main process and all children, so that none returns its tasks
wait $celery 2>/dev/null
left=$(asked hlen unacked)
check "tasks that only the visibility time-out brings back ($left)" [ "$left" -gt 0 ]
before=$(results)
check "and results that are missing ($before)" [ "$before" -lt $detections ]
kill -CONT $server
start_celery
all_acknowledged() { [ "$(asked hlen unacked)" = 0 ] && [ "$(asked llen celery)" = 0 ]; }
wait_for 'an empty queue' all_acknowledged
if ! reached $detections; then # Redis forgets tasks on their way to a killed worker; submitting them again is safe
    echo "$((detections - $(results))) detections were on their way to a worker when it was killed"
    "$python" "$example" submit 6
    wait_for 'all results' reached $detections
fi
grep 'raised unexpected' celery.log | grep -v WorkerLostError >failures
check "no task failed for good" [ ! -s failures ]
wait_for 'all is acknowledged' all_acknowledged
check "what is in the database" "$python" "$repository/tests/shown/celery_tests.py" check $bad
"$python" "$example" submit >"$out"
prints "^detections: 0, tasks: 0$"
"$python" "$example" list >"$out"
lines "$out" $detections
kill -TERM "$celery" # stops in an orderly way, with its children
wait "$celery"
got=$?
check "Celery stops with status 0 (was $got)" [ $got = 0 ]
celery=''
finish
