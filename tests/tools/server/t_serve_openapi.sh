# t_serve_openapi.sh: the OpenAPI document of reid serve: every path of the table of routes is in it, and every path,
# method, parameter and status of it is called and answers as it says, with and without a token.
. tests/lib/cli_lib.sh
. "$repository/tests/lib/serve_lib.sh"
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
server_says() { python3 "$repository/tests/tools/server/serve_openapi.py" "$tcp" b0 a.png "$@"; }

b0 b0.safetensors
picture a.png 60 50 3
mkdir -p gallery/ann
picture gallery/ann/1.png 60 60 5
printf '0123456789abcdef\n' >token
chmod 600 token
routes=$repository/tools/server/routes.c
serve() { # serve OPTION...: by TCP
    : >"$log"
    : >"$log" # so that an earlier server's line is not taken for this one's
    "$REID" serve -m b0.safetensors --size 32x32 --gallery gallery --threshold 0.9 --model-control \
        --listen 127.0.0.1:0 "$@" 2>"$log" &
    server=$!
    ready grep -q 'listening on' "$log" || check "a server" grep listening "$log"
    tcp=$(sed -n 's|.*http://||p' "$log")
}
serve
server_says "$routes" >said
check "as the document says" [ $? = 0 ]
cat said
check "operations" grep -q '^2[0-9] operations, [1-9]' said
# A table of routes with another path, and a document that does not fit, are noticed.
sed 's|{"/livez", ROUTE_LIVE}|&, {"/nope", ROUTE_LIVE}|' "$routes" >more.c
server_says more.c >said
check "a route that is missing" [ $? = 1 ]
check "it is named" grep -q "paths of the document.*'/nope'" said
end TERM
serve --token-file token
server_says "$routes" 0123456789abcdef >said
check "with a token" [ $? = 0 ]
cat said
ask() { curl -s -H "$1" "http://$tcp/"; }
socket=
check "the guide without a token names no model" [ -z "$(ask 'X: y' | grep 'b0\|fingerprint')" ]
check "the guide with a token does" [ -n "$(ask 'Authorization: Bearer 0123456789abcdef' | grep '^  b0  ')" ]
end TERM
finish
