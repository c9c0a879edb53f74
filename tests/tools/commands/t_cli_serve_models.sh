# t_cli_serve_models.sh: reid serve with several models: clients load and unload them under load, first requests open
# them, they share a limit of memory, and no request is lost.
. tests/lib/cli_lib.sh
. "$repository/tests/lib/serve_lib.sh"
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
client="python3 $repository/tests/tools/server/serve_models.py"

start() {
    : >"$log"
    : >"$log" # so that an earlier server's line is not taken for this one's
    "$REID" serve --size 32x32 -m one=one.safetensors -m two=two.safetensors -m three=three.safetensors \
        --socket "$socket" "$@" >"$work/none" 2>"$log" &
    server=$!
    ready grep -q 'listening on' "$log" || check "a server: $*" grep listening "$log"
}

b0 one.safetensors
b0 two.safetensors 2
b0 three.safetensors 3
picture a.png 90 70 3
mkdir -p gallery/ann
picture gallery/ann/1.png 60 60 5
printf 'old 0123456789abcdef\n' >token

run 2 serve -m one.safetensors -m two.safetensors -m x/one.safetensors
says 'two models are called one'
run 2 serve -m one.safetensors -m two.safetensors -m three.safetensors --gallery gallery
says 'a --gallery belongs to one model, or to two together, not to 3'
run 2 serve -m one.safetensors --gallery gallery --lazy
says '--lazy cannot be combined with --gallery'
run 2 serve --size 32x32 -m one=one.safetensors -m two=two.safetensors --memory 25M
says 'two.safetensors: memory_limit is [0-9]* bytes; efficientnet_b0 at 32x32 needs [0-9]*'
says 'model two does not fit: --memory allows 26214400 bytes for all models, and those before it use [1-9][0-9]*'
set --
for i in 1 2 3 4 5 6 7 8; do for k in 1 2 3 4 5 6 7 8 9; do set -- "$@" -m "m$i$k=one.safetensors"; done; done
run 2 serve "$@"
says 'at most 64 models can be used together: leave out -m m82=one.safetensors'
run 2 embed -m one.safetensors -m two.safetensors -m three.safetensors a.png
says 'at most 2 models'

# Loading and unloading.
start --model-control --listen 127.0.0.1:0 --token-file token
tcp=$(sed -n 's|.*http://||p' "$log")
ask 200 '{"name": "two", "version": "1", "state": "READY", "reason": ""}' -d '' $url/v2/repository/index
ask 200 '"name": "two", "ready": true' $url/v2/models/two/ready
ask 200 '"model_repository"' $url/v2
check "the token is needed" \
    [ "$(curl -s -o "$out" -w '%{http_code}' -d '' "http://$tcp/v2/repository/models/two/unload")" = 401 ]
check "and suffices" [ "$(curl -s -o "$out" -w '%{http_code}' -H 'Authorization: Bearer 0123456789abcdef' -d '' \
    "http://$tcp/v2/repository/models/two/unload")" = 200 ]
ask 503 'model two is not loaded' --data-binary @a.png "$url/embed?model=two"
ask 503 'model two is not loaded' $url/v2/models/two
ask 503 '"name": "two", "ready": false' $url/v2/models/two/versions/1/ready
ask 200 '"ready": true' $url/v2/health/ready
ask 200 '{"name": "two", "version": "1", "state": "UNAVAILABLE", "reason": "unloaded"}' -d '{}' $url/v2/repository/index
ask 200 '"name": "three"' -d '{"ready": true}' $url/v2/repository/index
check "without it" [ "$(grep -c '"name"' "$out")" = 2 ]
ask 200 '"name": "two", "version": "1", "last_inference": 0, "inference_count": 0' $url/v2/models/two/stats
ask 200 'two  not open' $url/
ask 200 '<td>two</td><td>not open</td>' -H 'Accept: text/html' $url/
ask 200 '^reid_model_memory_bytes{model="two"} 0$' $url/metrics
ask 200 '{}' -X POST $url/v2/repository/models/two/load
ask 200 '"embeddings"' --data-binary @a.png "$url/embed?model=two"
ask 200 '^reid_model_memory_bytes{model="two"} [1-9]' $url/metrics
ask 200 '^reid_requests_total{model="two",outcome="success"} 1$' $url/metrics
ask 415 'Content-Type: expected application/json' -H 'Content-Type: image/png' -d '{}' $url/v2/repository/index
check "hostile bodies" $client hostile "$socket"
check "16 clients" $client changes_under_load "$socket" "$server" a.png
check "requests that have begun" $client in_flight "$socket" a.png
check "a broken model" $client failed "$socket" two.safetensors a.png
check "why is said" grep -q 'model two could not be opened: two.safetensors: ' "$log"
end TERM

start
ask 403 'without --model-control' -d '{}' $url/v2/repository/models/two/unload
ask 403 'without --model-control' -X POST $url/v2/repository/models/two/load
ask 200 '"name": "two", "version": "1", "state": "READY"' -d '{}' $url/v2/repository/index
end TERM

# A gallery keeps its models.
: >"$log"
"$REID" serve --size 32x32 -m one=one.safetensors --gallery gallery --model-control --socket "$socket" 2>"$log" &
server=$!
ready grep -q 'listening on' "$log"
ask 400 'model one belongs to the gallery; to reload both, send SIGHUP' -d '{}' $url/v2/repository/models/one/unload
end TERM

# Models that are opened at their first request.
start --lazy
ask 200 '"reason": "opened at its next request"' -d '{}' $url/v2/repository/index
check "first requests" $client first_at_once "$socket" a.png
ask 200 '"shape": \[-1, 1280\]' $url/v2/models/three
end TERM
start --lazy
check "the end" $client stops "$socket" "$server" a.png
wait "$server"
check "exit 0" [ $? = 0 ]
server=

# A limit of memory, with room for two of them.
"$REID" inspect -q --size 32x32 --json one.safetensors >inspected
bytes=$(sed -n 's/.*"total_bytes": \([0-9]*\).*/\1/p' inspected | head -n 1)
check "what a model needs" [ "$bytes" -gt 1000000 ]
limit=$((bytes * 5 / 2))
start --lazy --memory $limit
check "room" $client room "$socket" $limit a.png
end TERM
start --lazy --memory $((bytes * 3 / 2))
check "no room" $client busy "$socket" a.png
end TERM
start --lazy --model-control --memory 1M
ask 503 'model one does not fit: --memory allows 1048576 bytes for all models, and open ones use 0; one.safetensors' \
    --data-binary @a.png "$url/embed?model=one"
ask 507 'model one does not fit: --memory allows 1048576 bytes' -d '{}' $url/v2/repository/models/one/load
ask 200 '"state": "UNAVAILABLE", "reason": "model one does not fit' -d '{}' $url/v2/repository/index
end TERM
finish
