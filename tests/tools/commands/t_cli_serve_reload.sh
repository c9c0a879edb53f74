# t_cli_serve_reload.sh: reid serve on SIGHUP: models, gallery and tokens are read anew, no request is lost, and what
# cannot be read leaves everything as it was.
. tests/lib/cli_lib.sh
. "$repository/tests/lib/serve_lib.sh"
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
client="python3 $repository/tests/tools/server/serve_reload.py"

b0 m.safetensors
b0 other.safetensors 2
picture a.png 90 70 3
picture b.png 64 64 4
mkdir -p gallery/ann
picture gallery/ann/1.png 60 60 5
printf 'old 0123456789abcdef\n' >token

"$REID" serve -m m.safetensors --size 32x32 --gallery gallery --threshold 0.9 --socket "$work/reid.sock" \
    --listen 127.0.0.1:0 --token-file token 2>"$log" &
server=$!
ready grep -q 'listening on' "$log" || check "a server" grep listening "$log"
tcp=$(sed -n 's|.*http://||p' "$log")
check "32 clients" $client under_load "$socket" "$server" m.safetensors other.safetensors a.png
b0 m.safetensors 3
check "the third model" $client plain "$socket" "$server"
check "a request that has begun" $client in_flight "$socket" "$server" m.safetensors other.safetensors a.png
check "a broken model" $client failed "$socket" "$server" m.safetensors a.png
check "why is said" grep -q 'm.safetensors: ' "$log"
check "and what follows" grep -q 'the reload failed, and nothing was changed' "$log"

check "memory" $client memory "$socket" "$server"

# A new individual in the gallery.
mkdir gallery/bob
cp b.png gallery/bob/1.png
ask 200 '"identity": "ann"' --data-binary @b.png "$url/match?top=1"
check "the gallery" $client plain "$socket" "$server"
ask 200 '"identity": "bob"' --data-binary @b.png "$url/match?top=1"

# Tokens: the new one is added, clients change over, the old one is removed.
code() { curl -s -o "$out" -w '%{http_code}' -H "Authorization: Bearer $1" "http://$tcp/v2"; }
check "the old token" [ "$(code 0123456789abcdef)" = 200 ]
check "the new token is unknown" [ "$(code fedcba9876543210)" = 401 ]
printf 'old 0123456789abcdef\nnew fedcba9876543210\n' >token
check "two tokens" $client plain "$socket" "$server"
for token in 0123456789abcdef fedcba9876543210; do check "both" [ "$(code $token)" = 200 ]; done
check "neither part nor name" [ "$(code new)$(code 0123456789abcdeffedcba9876543210)" = 401401 ]
printf 'new fedcba9876543210\n' >token
check "one token" $client plain "$socket" "$server"
check "the old token is withdrawn" [ "$(code 0123456789abcdef)$(code fedcba9876543210)" = 401200 ]
check "no message has a token" [ -z "$(grep '0123456789abcdef\|fedcba9876543210' "$log")" ]
kill -HUP "$server" # at once followed by the end
end TERM
absent reid.sock
finish
