# t_cli_serve_log.sh: what reid serve writes about requests: --access-log to a file that is renamed and to a pipe that
# is not read, --trace, and X-Request-ID.
. tests/lib/cli_lib.sh
. "$repository/tests/lib/serve_lib.sh"
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
client="python3 $repository/tests/tools/server/serve_log.py"
b0 b0.safetensors
picture a.png 90 70 3
mkdir -p gallery/ann
picture gallery/ann/1.png 60 60 5
printf 'deer 0123456789abcdef\n' >token

# What is refused: files that are not logs, and places where nothing can be written.
run 2 serve -m b0.safetensors --access-log b0.safetensors
says 'b0.safetensors is both input and output'
run 2 serve -m b0.safetensors --access-log a.png
says 'a.png: exists and is not an access log'
run 2 serve -m b0.safetensors --access-log .
says '\.: cannot open the log: Is a directory'
run 2 serve -m b0.safetensors --access-log lost/log
says 'lost/log: cannot open the log: No such file'
run 2 serve -m b0.safetensors --trace a.png
says 'a.png: exists and is not a trace'
absent reid.sock

"$REID" serve -m b0.safetensors --size 32x32 --gallery gallery --threshold 0.9 --socket "$socket" \
    --listen 127.0.0.1:0 --token-file token --idle 2 --access-log access.log --trace trace.json 2>"$log" &
server=$!
ready grep -q 'listening on' "$log" || check "a server" grep listening "$log"
tcp=$(sed -n 's|.*http://||p' "$log")
check "lines" $client lines "$socket" "$tcp" access.log a.png
check "rotation" $client rotated "$socket" "$server" "$work/access.log"
check "others cannot read it" [ "$(stat -c %a access.log | cut -c 3)" = 0 ]
absent trace.json
end TERM
check "a trace" $client traced trace.json one
check "no secret" [ -z "$(grep -l 0123456789abcdef access.log* trace.json log)" ]

# The log goes on after a restart; a folder that has gone is said, and the old file is used.
mkdir logs
for _ in 1 2; do
    : >"$log" # so that an earlier server's line is not taken for this one's
    "$REID" serve -m b0.safetensors --size 32x32 --access-log logs/access.log 2>"$log" &
    server=$!
    ready grep -q 'listening on' "$log"
    ask 200 '' $url/v2
    [ ! -e twice ] || { mv logs moved && kill -USR1 "$server" && ready grep -q 'cannot be opened again' "$log"; }
    ask 200 '' $url/v2
    end TERM
    : >twice
done
told='logs/access.log: the log cannot be opened again, so lines still go to the old file: No such'
check "why is said" grep -q "$told" "$log"
lines moved/access.log 4

# stdout: read, not read, and closed.
: >"$log" # so that an earlier server's line is not taken for this one's
"$REID" serve -m b0.safetensors --size 32x32 --access-log - >lines 2>"$log" &
server=$!
ready grep -q 'listening on' "$log"
ask 200 '' $url/v2
ready grep -q '"path": "/v2"' lines
kill -USR1 "$server" # means nothing here
end TERM
mkfifo pipe
python3 -c 'import time; time.sleep(1000)' <pipe &
reader=$!
: >"$log" # so that an earlier server's line is not taken for this one's
"$REID" serve -m b0.safetensors --size 32x32 --access-log - >pipe 2>"$log" &
server=$!
ready grep -q 'listening on' "$log"
check "a reader that stalls" $client stalled "$socket"
kill $reader
ready grep -q 'lines of the log are lost' "$log"
ask 200 '' $url/v2
end TERM

# A disk that is full for a while, here a file that may not grow beyond 2,000 bytes.
python3 -c 'import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
os.execv(sys.argv[1], sys.argv[1:])' "$REID" serve -m b0.safetensors --size 32x32 --access-log full.log 2>messages &
server=$!
ready grep -q 'listening on' messages
check "a full disk" $client torn "$socket" "$server" full.log
check "it is said once" [ "$(grep -c 'full.log: lines of the log are lost: File too large' messages)" = 1 ]
end TERM

# Without a log: an id is returned only to those who send one.
: >"$log" # so that an earlier server's line is not taken for this one's
"$REID" serve -m b0.safetensors --size 32x32 2>"$log" &
server=$!
ready grep -q 'listening on' "$log"
ask 200 '' -H 'X-Request-ID: mine' $url/v2
has_header 'X-Request-ID: mine'
ask 200 '' $url/v2
check "none" [ -z "$(grep -i x-request-id headers)" ]
end TERM
finish
