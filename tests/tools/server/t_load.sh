#!/bin/sh
# t_load.sh: what build/reid-load reports about servers of known speed: answers, times since arrival, and errors. The
# servers are a few lines of Python each.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/check.sh
command -v python3 > /dev/null || { echo 'python3 is missing'; exit 77; }
dir=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
log=$dir/log

make -s build/reid-load > "$log" 2>&1 && good || { bad 'reid-load is not built'; finish; }
printf 'first' > "$dir/a"
printf 'the second' > "$dir/b"

# A server that answers one request after the other, each after some milliseconds; what it was sent goes into a file.
cat > "$dir/server.py" <<'END'
import socket, sys, time
kind, wait, where, seen = sys.argv[1], float(sys.argv[2]) / 1e3, sys.argv[3], open(sys.argv[4], "w")
if where == "tcp":
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
else:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(where)
    listener.listen(64)
    print("ready", flush=True)
while True:
    client, _ = listener.accept()
    data = b""
    while b"\r\n\r\n" not in data: data += client.recv(65536)
    head, body = data.split(b"\r\n\r\n", 1)
    need = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while len(body) < need: body += client.recv(65536)
    seen.write(head.split(b"\r\n")[0].decode() + " | " + body.decode() + "\n"); seen.flush()
    time.sleep(wait)
    if kind == "breaks": client.close(); continue
    status = "503 Busy" if kind == "busy" else "200 OK"
    text = b"x" * 70000 if kind == "large" else b"{}"
    length = b"" if kind == "mute" else b"Content-Length: %d\r\n" % len(text)
    if kind == "chunks":
        for part in (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nConnection: close\r\n\r\n", b"5\r\nhe",
                     b"llo\r", b"\n1", b"0;name=value\r\n0123456789abcdef\r\n", b"0\r\n", b"\r", b"\n"):
            client.sendall(part)
            time.sleep(0.005)
        client.close()
        continue
    client.sendall(b"HTTP/1.1 " + status.encode() + b"\r\n" + length + b"Connection: close\r\n\r\n" + text)
    client.close()
END

start() { # start KIND MILLISECONDS tcp|PATH: sets `to`
    [ -z "$server" ] || { kill "$server"; wait "$server" 2> /dev/null; }
    : > "$dir/said"
    python3 "$dir/server.py" "$1" "$2" "$3" "$dir/seen" > "$dir/said" 2> "$dir/err" &
    server=$!
    while [ ! -s "$dir/said" ] && kill -0 "$server"; do sleep 0.05; done
    to=127.0.0.1:$(cat "$dir/said")
}

load() { # load STATUS OPTION...
    want=$1
    shift
    build/reid-load "$@" > "$dir/out" 2> "$dir/err"
    got=$?
    cat "$dir/out" "$dir/err" > "$log"
    if [ $got -eq "$want" ]; then good; else bad "reid-load $* (exit code $got, not $want)"; fi
}

says() { # says WHAT EXPRESSION: of the JSON, r is its first run
    if python3 -c "import json, sys; d = json.load(open('$dir/json')); r = d['runs'][0]; l = r['latency_ms']
assert ($2), d" > "$log" 2>&1; then good; else bad "$1"; fi
}

start ok 50 tcp
load 0 --to "$to" --connections 1 --seconds 2 --warm-up 0 --json "$dir/json" --svg "$dir/svg" "$dir/a" "$dir/b"
says 'a closed loop with one connection takes as long as the server' \
    '50 <= l["p50"] < 200 and l["max"] >= l["p99"] >= l["p50"]'
says 'it asks again when it is answered' \
    'r["rate"] is None and 8 < r["answered_per_second"] <= 20 and r["failed"] == 0'
says 'statuses and buckets count what was answered' \
    'r["statuses"] == {"200": sum(n for _, n in r["histogram_ms"])} and
     round(2 * r["answered_per_second"]) == r["statuses"]["200"]'
grep -qx 'POST /embed HTTP/1.1 | first' "$dir/seen" && grep -qx 'POST /embed HTTP/1.1 | the second' "$dir/seen" &&
    good || bad 'the files are sent in turn'
python3 -c "import xml.dom.minidom, sys; xml.dom.minidom.parse(sys.argv[1])" "$dir/svg" > "$log" 2>&1 && good ||
    bad 'the chart is XML'

# Twice as many requests as it can answer: waiting for a free connection counts as time.
load 0 --to "$to" --connections 1 --seconds 2 --warm-up 0 --rates 40 --patience 30 --json "$dir/json" "$dir/a"
says 'an open loop counts from the arrival on' '1000 < l["max"] and l["p50"] > 300 and r["failed"] == 0'
says 'all that arrived were answered' '2 * 25 < r["statuses"]["200"] < 2 * 60'
load 1 --to "$to" --connections 1 --seconds 2 --warm-up 0 --rates 40 --patience 0.5 --json "$dir/json" "$dir/a"
says 'who waits too long gives up' 'r["given_up"] > 0 and r["failed"] == r["given_up"] and l["max"] < 800'

start ok 0 "$dir/socket"
load 0 --socket "$dir/socket" --target /match --seconds 1 --warm-up 0.2 --rates 20,40 --json "$dir/json" "$dir/a"
says 'two rates, over a Unix socket' 'len(d["runs"]) == 2 and d["runs"][1]["rate"] == 40 and d["target"] == "/match"'
grep -q '^POST /match ' "$dir/seen" && good || bad '--target'

start large 0 tcp
load 0 --to "$to" --connections 2 --seconds 1 --warm-up 0 "$dir/a"
start chunks 0 tcp
load 0 --to "$to" --connections 1 --seconds 1 --warm-up 0 --json "$dir/json" "$dir/a"
says 'chunks' '35 <= l["p50"] and list(r["statuses"]) == ["200"]'
start busy 0 tcp
load 1 --to "$to" --connections 2 --seconds 1 --warm-up 0 --json "$dir/json" "$dir/a"
says 'answers of another kind are counted by their status' \
    'list(r["statuses"]) == ["503"] and r["answered_per_second"] == 0'
shows 'first failure: an answer was not 200: {}' "$dir/err" && good || bad 'what was answered is told'
start breaks 1 tcp
load 1 --to "$to" --connections 2 --seconds 1 --warm-up 0 --json "$dir/json" "$dir/a"
says 'broken connections' 'r["broken"] > 0 and r["statuses"] == {}'
start mute 1 tcp
load 1 --to "$to" --connections 1 --seconds 1 --warm-up 0 "$dir/a"
shows 'an answer is not valid HTTP' "$dir/err" && good || bad 'an answer without a length'
kill "$server" && wait "$server" 2> /dev/null
server=
load 1 --to "$to" --connections 1 --seconds 0.3 --warm-up 0 --rates 20 "$dir/a"
shows 'cannot connect: Connection refused' "$dir/err" && good || bad 'nobody listens'

for wrong in '' '--to 127.0.0.1:1' "$dir/a" "--rates 0 --to a:1 $dir/a" "--unknown 1 --to a:1 $dir/a" \
    "--to nocolon $dir/a" "--to a:1 --socket b $dir/a" "--connections 0 --to a:1 $dir/a" "--to"; do
    # shellcheck disable=SC2086 # several words
    load 2 $wrong
    shows '^usage: load' "$dir/err" && good || bad "$wrong: usage"
done
load 2 --to 127.0.0.1:1 "$dir/nothing"
shows "nothing: .*No such file" "$dir/err" && good || bad 'a file that is not there'
load 2 --socket "$dir/$(printf '%0120d' 1)" "$dir/a"
shows 'the path of a socket may have at most' "$dir/err" && good || bad 'a path that is too long'
finish
