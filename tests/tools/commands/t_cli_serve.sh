# t_cli_serve.sh: reid serve with real clients: every endpoint, every status, embeddings with the bits of reid embed,
# and clients that are slow, many, gone or hostile.
. tests/lib/cli_lib.sh
. "$repository/tests/lib/serve_lib.sh"
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
faults="python3 $repository/tests/tools/server/serve_faults.py"

# start ARGUMENT...: a server, whose line says that it is ready; its process is $server, its messages are in $log
start() {
    : >"$log"
    : >"$log" # so that an earlier server's line is not taken for this one's
    "$REID" serve "$@" >"$work/none" 2>"$log" &
    server=$!
    ready grep -q 'listening on' "$log" || check "a server: $*" grep listening "$log"
}

b0 b0.safetensors
b0 other.safetensors 2
picture a.png 90 70 3
picture b.png 64 64 4
mkdir -p gallery/ann gallery/bob
picture gallery/ann/1.png 60 60 5
picture gallery/bob/1.png 60 60 6
"$REID" embed -q -m b0.safetensors --size 64x64 a.png -o a.npy
printf 'path,x,y,width,height\na.png,3,4,30,40\na.png,-5,60,50,50\n' >boxes.csv
"$REID" embed -q -m b0.safetensors --size 64x64 --boxes boxes.csv -o boxes.npy

# What is refused before anything is opened.
run 2 serve
says 'no model'
run 2 serve -m b0.safetensors x
says 'serve: unexpected argument: x (weights go after -m)'
run 2 serve -m b0.safetensors -m b0.safetensors
says 'two models are called b0'
run 2 serve -m 'a b.safetensors'
says 'is not a valid model name'
run 2 serve -m b0.safetensors --threshold 0.5
says 'need a --gallery'
run 2 serve -m b0.safetensors --listen 0.0.0.0:0
says 'other machines could connect: give --token-file'
for address in 8000 127.0.0.1 127.0.0.1:x example.org:80 127.0.0.1:65536 '[::1]' ::1:80; do
    run 2 serve -m b0.safetensors --listen $address
    says 'invalid address'
done
run 2 serve -m lost.safetensors
says 'lost.safetensors: no such file'
absent reid.sock
run 2 serve -m b0.safetensors --socket "$(printf '%0120d' 0)"
says 'is too long for a socket'
run 2 serve -m b0.safetensors --socket lost/s
says 'cannot open its folder: No such file'
run 2 serve -m b0.safetensors --socket a.png
says 'already exists and is not a socket'
check "and it is still there" [ -s a.png ]
(ulimit -n 20 && run 2 serve -m b0.safetensors && says 'this process may open only 20 files; expected at least 32')
mkdir locked
python3 -c 'import fcntl, os, time; fcntl.flock(os.open("locked", os.O_RDONLY), fcntl.LOCK_EX); time.sleep(99)' &
holder=$!
sleep 0.5
run 2 serve -m b0.safetensors --socket locked/s
says 'locked/s: another process keeps its folder locked'
kill $holder
(unset XDG_RUNTIME_DIR && run 2 serve -m b0.safetensors && says 'XDG_RUNTIME_DIR is not set')
echo 0123456789abcdef >token
chmod 600 token
run 2 serve -m b0.safetensors --token-file token
says '--token-file needs --listen'

# All endpoints, on a Unix socket.
start -m b0.safetensors --size 64x64 --gallery gallery --threshold 0.9 --socket "$work/reid.sock" --listen 127.0.0.1:0 \
    --max-body 1M --idle 1 --max-pixels 100000
check "the line names both" grep -q "listening on unix:$work/reid.sock and http://127.0.0.1:[1-9]" "$log"
tcp=$(sed -n 's|.*http://||p' "$log")
check "mode 0600" [ "$(stat -c %a reid.sock)" = 600 ]
run 2 serve -m b0.safetensors
says 'another server is listening here'
ask 200 'POST /embed' $url/
ask 200 '"name": "reid"' $url/v2
ask 200 '"live": true' $url/v2/health/live
ask 200 '"ready": true' $url/v2/health/ready
ask 200 '"shape": \[-1, 1280\]' $url/v2/models/b0
ask 200 '"ready": true' $url/v2/models/b0/ready
ask 200 '"ready": true' $url/v2/models/b0/versions/1/ready
ask 200 '"max_batch_size": 0' $url/v2/models/b0/config
ask 200 '"fingerprint": "[0-9a-f]\{32\}", "embeddings": \[\[' --data-binary @a.png $url/embed
ask 200 '"query": 0, "decision": "match", "score": 1,\|"query": 0, "decision": "match", "score": 0.99999' \
    --data-binary @gallery/ann/1.png "$url/match?top=1"
check "it is ann" grep -q '"matches": \[{"identity": "ann", "score": [0-9.]*, "path": "gallery/ann/1.png"}\]' "$out"
"$REID" match -q -m b0.safetensors --size 64x64 --gallery gallery --threshold 0.9 --json a.png |
    sed 's/^[^,]*, //' >want
ask 200 '"query": 0, ' --data-binary @a.png $url/match
sed 's/^.*"query": 0, //; s/\]}$//' "$out" >found
same found want
ask 200 '"query": 1, ' --data-binary @a.png "$url/match?box=0,0,20,20&box=5,5,20,20&priority=0&timeout=9000000"
ask 200 '"query": 1, ' -F file=@a.png -F box=0,0,20,20 -F box=5,5,20,20 -F priority=0 -F top=1 $url/match
ask 200 '"query": 1, ' -F file=@a.png -F image=@b.png $url/match
for path in health healthz readyz; do ask 200 '"ready": true' $url/$path; done
ask 200 '"live": true' $url/livez
ask 200 '"inference_count": [1-9]' $url/v2/models/b0/stats
ask 200 '"model_stats": \[{' $url/v2/models/stats
ask 200 '^reid_requests_total{model="b0",outcome="success"} [1-9]' $url/metrics
check "the same by TCP" [ "$(curl -s "http://$tcp/v2")" = "$(curl -s --unix-socket reid.sock $url/v2)" ]
ask 200 '' -I $url/v2
check "the same bits" $faults same_rows "$work/reid.sock" b0 a.png a.npy
check "the same bits by TCP" $faults same_rows "$tcp" b0 a.png a.npy
check "boxes" $faults boxes "$work/reid.sock" a.png boxes.npy 3,4,30,40 -5,60,50,50

# Every status, and its message.
ask 404 'unknown path \\"/nope\\"' $url/nope
ask 404 'no model is named \\"nope\\"' $url/v2/models/nope
ask 404 'no model is named \\"nope\\"' -d '{}' $url/v2/models/nope/infer
ask 404 'unknown path .*/versions/2.* after the model' $url/v2/models/b0/versions/2
ask 404 'no model is named \\"x\\"' --data-binary @a.png "$url/embed?model=x"
ask 405 'takes POST' $url/embed
has_header 'Allow: POST'
ask 405 'takes GET' -d x $url/v2
has_header 'Allow: GET'
ask 405 'takes POST' -X DELETE $url/v2/models/b0/infer
ask 400 'box: expected x,y,width,height' --data-binary @a.png "$url/embed?box=1,2,3"
ask 400 'box: ' --data-binary @a.png "$url/embed?box=500,500,5,5"
ask 400 '\\"colour\\" is unknown' --data-binary @a.png "$url/embed?colour=1"
ask 400 '\\"top\\" is unknown' --data-binary @a.png "$url/embed?top=1"
ask 400 'picture: not an image' -d nonsense $url/embed
ask 400 'picture: is empty' -d '' $url/embed
head -c 300 a.png >cut.png
ask 400 'picture: ' --data-binary @cut.png $url/embed
picture bomb.png 400 400 1
ask 400 'picture: 400 x 400 pixels exceed the limit of 100000' --data-binary @bomb.png $url/embed
ask 400 'request: line 1: ' -d '{' $url/v2/models/b0/infer
ask 400 'inputs: is missing' -d '{}' $url/v2/models/b0/infer
ask 400 'inputs\[0].shape: a side must have 1 to' \
    -d '{"inputs":[{"name":"pixels","datatype":"UINT8","shape":[1,4294967297,4294967297,3],"data":[1]}]}' \
    $url/v2/models/b0/infer
ask 413 'images are over the limit of 1024' \
    -d '{"inputs":[{"name":"pixels","datatype":"UINT8","shape":[4611686018427387,8,8,3],"data":[1]}]}' \
    $url/v2/models/b0/infer
ask 400 'inputs\[0\].data\[0\]: not an image\|inputs\[0\].data: not an image' \
    -d '{"inputs":[{"name":"image","datatype":"BYTES","shape":[1],"data":["QUJD"]}]}' $url/v2/models/b0/infer
ask 400 'shared memory is not supported' \
    -d '{"inputs":[{"name":"image","datatype":"BYTES","shape":[1],"parameters":{"shared_memory_region":"x"}}]}' \
    $url/v2/models/b0/infer
ask 400 'Inference-Header-Content-Length' -H 'Inference-Header-Content-Length: 900' -d '{}' $url/v2/models/b0/infer
ask 400 'infer takes no query string' -d '{}' "$url/v2/models/b0/infer?a=b"
ask 400 'picture: not an image' -H 'Transfer-Encoding: chunked' -d x $url/embed
ask 400 'Transfer-Encoding: is not allowed with a Content-Length' -H 'Transfer-Encoding: chunked' \
    -H 'Content-Length: 1' -d x $url/embed
ask 501 'Transfer-Encoding: only chunked is supported' -H 'Transfer-Encoding: gzip' -d x $url/embed
ask 413 'Content-Length: over the limit of 1048576 bytes' --data-binary @b0.safetensors $url/embed
ask 415 'Content-Type: expected one image' -H 'Content-Type: text/html' -d x $url/embed
ask 400 'form: \\"picture\\" contains a zero byte; images are expected in parts called file or image' \
    -F picture=@a.png $url/embed
ask 400 '\\"colour\\" is unknown in the form' -F file=@a.png -F colour=red $url/embed
ask 400 'form: contains no image; expected a part called file or image' -F priority=0 $url/embed
ask 400 'top: is given twice' -F file=@a.png -F top=1 "$url/match?top=2"
ask 400 'box: expected x,y,width,height' -F file=@a.png -F box=1 $url/embed
ask 400 'box: needs a form with a single image' -F file=@a.png -F file=@a.png -F box=1,1,9,9 $url/embed
ask 400 'picture\[1\]: not an image' -F file=@a.png -F file=nonsense $url/embed
ask 400 'Content-Type: the form has no boundary' -H 'Content-Type: multipart/form-data' -d x $url/embed
ask 400 'form: does not begin with its boundary' -H 'Content-Type: multipart/form-data; boundary=x' -d y $url/embed
ask 415 'Content-Type: expected application/json' -F file=@a.png $url/v2/models/b0/infer
ask 415 'Content-Type: expected application/json' -H 'Content-Type: image/png' -d '{}' $url/v2/models/b0/infer
ask 415 'Content-Encoding: compressed bodies are not' -H 'Content-Encoding: gzip' --data-binary @a.png $url/embed
ask 504 'timeout: the deadline' --data-binary @a.png "$url/embed?timeout=1"
check "a foreign name leads nowhere" sh -c "curl -s -H 'Host: evil.example' http://$tcp/v2 |
    grep -q 'Host: without a token only this machine'"
# foreign HEADER: the status of a request by a browser with this header, by TCP
foreign() {
    curl -s -o "$out" -w '%{http_code}' -H "$1" -H 'Content-Type: application/x-www-form-urlencoded' \
        --data-binary @a.png "http://$tcp/embed"
}
for header in 'Origin: http://evil.example' 'Origin: null' "Origin: https://$tcp" 'Origin: http://localhost' \
    'Sec-Fetch-Site: cross-site' 'Sec-Fetch-Site: same-site'; do
    check "a page of another site may not: $header" [ "$(foreign "$header")" = 403 ]
    prints 'Origin: without a token, pages of other sites may not'
done
for header in "Origin: http://$tcp" 'Sec-Fetch-Site: same-origin' 'Sec-Fetch-Site: none'; do
    check "its own may: $header" [ "$(foreign "$header")" = 200 ]
done
for where in "$work/reid.sock" "$tcp"; do
    check "malformed HTTP ($where)" $faults bad_http "$where"
    check "bodies ($where)" $faults bodies "$where" a.png
    check "forms ($where)" $faults forms "$where" a.png 1048576
    check "refused bodies ($where)" $faults refused "$where" 1048576
done
check "slow clients are left" $faults slow "$work/reid.sock" 1
end TERM
absent reid.sock
start -m b0.safetensors --size 32x32
check "no file descriptors" $faults no_files "$work/reid.sock" "$server"
check "said once" [ "$(grep -c 'clients have to wait: Too many open files' "$log")" = 1 ]
end TERM

start -m b0.safetensors --size 32x32 --socket "$work/reid.sock" --listen 127.0.0.1:0 --max-body 1M --idle 3
tcp=$(sed -n 's|.*http://||p' "$log")
check "promised bodies" $faults promises "$tcp" 1048576 3
end TERM
start -m b0.safetensors --size 32x32 --max-body 64K --idle 3
check "unread answers" $faults unread "$work/reid.sock" b0 3
end TERM

# Two models; limits; a token.
start -m one=b0.safetensors -m two=other.safetensors --size 64x64 --listen 127.0.0.1:0 --token-file token --limit 16 \
    --batch 8 --connections 30
check "only TCP" [ ! -e reid.sock ]
tcp=$(sed -n 's|.*http://||p' "$log")
with='Authorization: Bearer 0123456789abcdef'
for bad in '' 'Authorization: Bearer 0123456789abcdeg' 'Authorization: Bearer 0123456789abcde' \
    'Authorization: Basic x' 'Authorization: Bearer 0123456789abcdef0'; do
    check "401: $bad" [ "$(curl -s -o "$out" -w '%{http_code}' -H "$bad" "http://$tcp/v2")" = 401 ]
done
prints 'Authorization: a Bearer token is needed'
check "health needs none" [ "$(curl -s -o "$out" -w '%{http_code}' "http://$tcp/v2/health/ready")" = 200 ]
check "with it" [ "$(curl -s -o "$out" -w '%{http_code}' -H "$with" "http://$tcp/v2")" = 200 ]
check "no gallery" sh -c "curl -s -H '$with' -d x http://$tcp/match | grep -q 'this server has no gallery'"
check "which model" sh -c \
    "curl -s -H '$with' -d x http://$tcp/embed | grep -q 'model.. is required: this server has 2 models'"
one=$(curl -s -H "$with" --data-binary @a.png "http://$tcp/embed?model=one" | cut -c1-50)
two=$(curl -s -H "$with" --data-binary @a.png "http://$tcp/embed?model=two" | cut -c1-50)
check "two models" [ "$one" != "$two" ]
end TERM
start -m b0.safetensors --size 64x64 --limit 16 --batch 8 --connections 30
check "full" $faults full "$work/reid.sock" b0
check "too many connections" $faults too_many "$work/reid.sock" 30
end TERM

# A gallery with another JPEG decoder causes a warning at the start.
sed 's/"jpeg": "[^"]*"/"jpeg": "another one"/' a.meta.json >by_another.meta.json
cp a.npy by_another.npy && cp a.ids.txt by_another.ids.txt
"$REID" gallery create by_another.gallery --like a.npy && "$REID" gallery add by_another.gallery by_another.npy >"$out"
start -m b0.safetensors --size 64x64 --gallery by_another.gallery --threshold 0.9
told='by_another.gallery: its JPEG images were decoded by another one, those of this command by '
check "the other decoder" grep -q "$told" "$log"
end TERM

# A thousand clients that disconnect, and shutdown.
start -m b0.safetensors --size 128x128 --drain 60 --batch 8
check "impatient clients" $faults impatient "$work/reid.sock" b0
check "1000 connections" $faults many "$work/reid.sock" 1000
check "drained" $faults drained "$work/reid.sock" b0 "$server"
wait "$server"
check "exit 0" [ $? = 0 ]
server=
for _ in 1 2 3 4 5; do
    start -m b0.safetensors --size 64x64 --drain 60 --batch 8
    check "requests to the last moment" $faults late "$work/reid.sock" b0 "$server"
    wait "$server"
    got=$?
    check "exit 0 all the same (was $got)" [ $got = 0 ]
    server=
done
check "kill -9 under load" $faults killed "$work/reid.sock" b0 "exec $REID serve -m b0.safetensors --size 64x64"

# A stale socket of the same user is replaced; a second signal stops the server at once.
start -m b0.safetensors --size 64x64
kill -9 "$server"
wait "$server" 2>/dev/null
check "the socket is left" [ -S reid.sock ]
start -m b0.safetensors --size 64x64
ask 200 '' $url/v2
end TERM
absent reid.sock

# Failed allocations at any moment never make an existing path look unknown (404). hungry N PATH: a server whose
# allocation number N is refused; the answer's status is in `code`
hungry() {
    rm -f hungry.sock
    echo 000 >code
    : >"$log" # of the server before it
    : >"$log" # so that an earlier server's line is not taken for this one's
    REFUSE_AT=$1 REFUSE_COUNT=count LD_PRELOAD=$work/refuse.so "$REID" serve -m b0.safetensors --size 32x32 \
        --device cpu --threads 1 --socket "$work/hungry.sock" >"$work/none" 2>"$log" &
    server=$!
    ready grep -q 'listening on' "$log"
    [ -z "$2" ] || curl -s -o "$out" -w '%{http_code}' --unix-socket hungry.sock "$url$2" >code
    kill "$server" 2>/dev/null
    wait "$server"
    server=
}
if refuse_memory; then
    hungry 0 ''
    at=$(cat count)
    hungry 0 /v2/health/live
    check "it is live" [ "$(cat code)" = 200 ]
    with=$(cat count) told=0
    at=$((at - 10)) # the last allocations are made after the request
    while [ "$at" -lt "$with" ]; do
        at=$((at + 1))
        hungry "$at" /v2/health/live
        check "allocation $at is refused: $(cat code)" [ "$(cat code)" != 404 ]
        case $(cat code) in 503) told=$((told + 1)) ;; esac
    done
    check "that memory is lacking is told" [ "$told" -gt 0 ]
fi
finish
