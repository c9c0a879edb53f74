# t_serve_page.sh: the page at / of reid serve in a real Chromium: its examples, selected by a click, work as they stand
# when a shell runs them; nothing is loaded, nothing overflows on a phone, and a hostile Host header stays text.
[ -n "${repository-}" ] || repository=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$repository" || exit 1
. tests/lib/browser.sh
need_browser
. tests/lib/cli_lib.sh
. "$repository/tests/lib/serve_lib.sh"
socket=

b0 b0.safetensors
picture photo.jpg.png 90 70 3
mv photo.jpg.png photo.jpg # the server looks at the bytes
mkdir -p gallery/ann
picture gallery/ann/1.png 60 60 5
printf '0123456789abcdef\n' >token
chmod 600 token
serve() { # serve OPTION...
    : >"$log"
    : >"$log" # so that an earlier server's line is not taken for this one's
    "$REID" serve -m b0.safetensors --size 32x32 --listen 127.0.0.1:0 "$@" 2>"$log" &
    server=$!
    ready grep -q 'listening on' "$log" || check "a server" grep listening "$log"
    tcp=$(sed -n 's|.*http://||p' "$log")
}
serve --gallery gallery --threshold 0.9
SE_OFFLINE=true "$python" "$repository/tests/tools/server/serve_page.py" "http://$tcp/" "$work"
status=$?
[ $status != 77 ] || exit 77
check "the page" [ $status = 0 ]
check "examples" [ "$(wc -l <examples)" -ge 7 ]
while read -r command; do
    (eval "$command") >answer 2>said
    check "$command" [ $? = 0 ]
    check "no refusal: $(head -c 200 answer)" [ -s answer ]
    check "no refusal: $(head -c 200 answer)" [ -z "$(grep '"error"' answer)" ]
done <examples
html() { curl -s -D "$work/headers" -H 'Accept: text/html' "$@"; }
html -H "Host: 127.0.0.1:80';touch x'<b>" "http://$tcp/" >"$out"
check "a Host header with signs is refused" grep -q 'Host: without a token only' "$out"
html "http://$tcp/" >"$out"
has_header "Content-Security-Policy: default-src 'none'"
has_header 'X-Content-Type-Options: nosniff'
end TERM

serve --token-file token
html -H "Host: x.example';touch x;'<b>" "http://$tcp/" >"$out"
check "without a token nothing of this server" [ -z "$(grep '>b0<\|efficientnet' "$out")" ]
prints "'http://localhost/embed'\|&#39;http://localhost/embed&#39;"
check "nothing of the header" [ -z "$(grep 'touch\|<b>' "$out")" ]
html -H 'Host: deer.example:8000' -H 'Authorization: Bearer 0123456789abcdef' "http://$tcp/" >"$out"
prints 'Authorization: Bearer $REID_TOKEN'
prints '//deer.example:8000/embed'
prints '<td>b0<'
check "no match without a gallery" [ -z "$(grep '/match' "$out")" ]
end TERM
finish
