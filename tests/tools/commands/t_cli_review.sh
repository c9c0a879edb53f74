# t_cli_review.sh: reid review with curl: every path, tokens, Host and Origin, methods, bodies, crops that do not exist,
# two programs at one journal, kill -9 in the middle; the page as one file, and its decisions imported.
. tests/lib/cli_lib.sh
command -v curl >/dev/null 2>&1 || { echo "no curl here"; exit 77; }
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
"$REID" review x --decisions d 2>&1 | grep -q 'compiled without libmicrohttpd' &&
    { echo "no libmicrohttpd here"; exit 77; }
need_eval_files
server=
stop() { [ -z "$server" ] || kill -9 "$server" 2>/dev/null; rm -rf "$work"; }
trap stop EXIT

# start ARGUMENT...: a page; its process is $server, its address $url and the same without token and path, $site
start() {
    : >url
    "$REID" review --threshold 0.6 "$@" >url 2>"$work/log" &
    server=$!
    ready [ -s url ]
    check "a page: $*" grep -q '^http://127.0.0.1:[0-9]*/[0-9a-f]\{32\}/$' url
    url=$(cat url) site=$(sed 's|\(http://[^/]*\)/.*|\1|' url)
}
# decide STATUS PATTERN BODY
decide() { ask "$1" "$2" -H "Origin: $site" -H 'Content-Type: application/json' --data-binary "$3" "${url}decide"; }
# The journal's line n has the pattern.
line() { check "line $1 has $2" sh -c "sed -n '$1p' '$3' | grep -q -e '$2'"; }

odd='x<script>alert(1)</script>.png'
mkdir -p a b 'x<script>alert(1)<'
for i in 1 2 3; do picture a/$i.png 60 40 $i && picture b/$i.png 60 40 $((i + 10)); done
picture "$odd" 30 60 30
printf 'a/1.png ann\na/2.png ann\na/3.png ann\nb/1.png bob\nb/2.png bob\nb/3.png bob\n' >list
printf '%s odd\nlost.png lost\n' "$odd" >>list
"$EVAL_FILES" crops.npy 16 7 0.3 <list

# What is refused before anything is opened.
run 2 review crops.npy
says 'no journal for decisions'
run 2 review --decisions d.jsonl
says 'no INPUT'
run 2 review crops.npy --threshold 0.6 --decisions d.jsonl --listen 0.0.0.0:0
says 'other machines could connect'
run 2 review crops.npy --threshold 0.6 --decisions d.jsonl --listen 8000
says 'invalid address'
# Each line contains the name of --by, so an invalid name must be refused at the start.
run 2 review crops.npy --threshold 0.5 --decisions d.jsonl --html x.html --by "$(printf 'ann\nb')"
says 'review: --by: the name has a control character'
run 2 review crops.npy --threshold 0.5 --decisions d.jsonl --html x.html --by "$(printf '%0257d' 0)"
says 'review: --by: the name is longer than 256 bytes'
absent x.html
run 2 review crops.npy --threshold 0.5 --decisions d.jsonl --html crops.npy
says 'crops.npy is both input and output'
run 2 review crops.npy --decisions d.jsonl --html x.html --listen 127.0.0.1:0
says 'review: --html needs no server: remove --listen'
run 2 review crops.npy --decisions d.jsonl --import saved.jsonl
says '--import only adds a file to --decisions'
run 0 review crops.npy --decisions d.jsonl --html guess.html
says 'none can be estimated without labels: 8 sightings .* So groups are cut at a score of 0.65, which is a guess'
run 2 review lost.npy --decisions other.jsonl
says 'lost.meta.json: cannot open'
run 2 review crops.npy --decisions d.jsonl --min-conf 0.5
says 'need --boxes'
absent other.jsonl
echo '{}' >bad.jsonl
echo '{}' >>bad.jsonl
run 2 review crops.npy --decisions bad.jsonl
says 'bad.jsonl: line 1: "crc": the checksum'
ln -s d.jsonl link.jsonl
run 2 review crops.npy --decisions link.jsonl
says 'link.jsonl: is a symbolic link'

# Every path.
start crops.npy --decisions d.jsonl --by 'ann "x"'
ask 200 '<title>Review of groups' "$url"
has_header "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect"
has_header 'X-Content-Type-Options: nosniff'
has_header 'Referrer-Policy: no-referrer'
has_header 'Cache-Control: no-store'
has_header 'Content-Type: text/html; charset=utf-8'
check "no inline script, style or handler" sh -c "! grep -E '<style|<script>|style=| on[a-z]+=' '$out'"
ask 200 'prefers-color-scheme' "${url}page.css"
has_header 'Content-Type: text/css'
ask 200 "'use strict'" "${url}page.js"
has_header 'Content-Type: text/javascript'
ask 200 '<svg' "${url}icon.svg"
ask 200 '"ids": \["a/1.png","a/2.png"' "${url}data"
has_header 'Content-Type: application/json'
check "data is JSON" python3 -c "
import json, sys
d = json.load(open('$out'))
n = len(d['ids'])
g = d['layer']
assert n == 8 and d['ids'][6] == '$odd' and len(g['group']) == n and len(g['score']) == n
assert len(g['names']) == max(g['group']) + 1 and d['by'] == 'ann \"x\"' and d['seq'] == 0 and d['decisions'] == []
assert all(0 <= a < n and 0 <= b < n for a, b, s in g['doubts']), d
assert g['group'][0] == g['group'][1] == g['group'][2] != g['group'][3] == g['group'][4], g['group']
assert not d['asks'] and not set(d) & {'photos', 'cameras', 'times', 'categories'}, d.keys()
assert d['regroups'] and not d['grouping'] and d['version'] == g['version'] == 1 and g['heeds'] == 0, d
"
ask 200 JFIF "${url}small/0"
has_header 'Content-Type: image/jpeg'
ask 200 JFIF "${url}large/6"
ask 500 'cannot open' "${url}small/7"
ask 200 JFIF "${url}photo/0"
ask 500 'cannot open' "${url}photo/7"
for path in photo/8 photo/-1 photo/ photo/a/1.png photo/../small/0 'photo/0/../../d.jsonl'; do
    ask 404 . --path-as-is "$url$path"
done
for path in small/8 small/-1 small/x small/ small/99999999999999999999 'small/%30' nothing since/ since/x since/-1 \
    page.html     ../d.jsonl %2e%2e/d.jsonl; do
    ask 404 . --path-as-is "$url$path"
done
ask 200 '"seq": 0, "decisions": \[\]' "${url}since/0"
ask 200 '"seq": 0, "decisions": \[\]' "${url}since/5"

# Clients without the token that send nothing, or half a request, do not shut out the page.
check "200 such clients" python3 -c '
import socket, sys, urllib.request
url = sys.argv[1]
host, port = url.split("/")[2].split(":")
half = b"POST /decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
strangers = []
for i in range(200):
    strangers.append(socket.create_connection((host, int(port)), 5))
    strangers[-1].sendall([b"", b"GET / HTTP/1.1\r\n", half][i % 3])
for _ in range(3):
    assert urllib.request.urlopen(url, timeout=10).status == 200
' "$url"

# Access checks: the token, then Host, then Origin.
for path in '' / /data /page.js /decide "/${url##*/}" "/$(printf '%032d' 0)/" "/$(printf '%032d' 0)/data"; do
    ask 403 'the address does not have the current token' "$site$path"
done
token=$(echo "$url" | sed 's|.*/\([0-9a-f]*\)/$|\1|')
ask 403 'the address does not have the current token' "$site/${token%?}/data"
ask 403 'the address does not have the current token' "$site/${token}0/data"
ask 403 'the address does not have the current token' "$site/$token"
ask 403 'Host: only this machine' -H 'Host: example.org' "${url}data"
ask 403 'Host: only this machine' -H 'Host: 127.0.0.1.example.org' "${url}data"
ask 403 'Host: only this machine' --http1.0 -H 'Host:' "${url}data"
ask 200 ids -H "Host: localhost:1234" "${url}data"
pair='{"what": "same", "crops": ["a/1.png", "b/1.png"], "seen": 0}'
for origin in 'http://example.org' 'https://127.0.0.1' null "$site.example.org" "$site/" "http://localhost:80"; do
    ask 403 'Origin: only the page itself may send decisions' -H "Origin: $origin" \
        -H 'Content-Type: application/json' --data-binary "$pair" "${url}decide"
done
ask 403 'Origin: only the page itself may send' -H 'Content-Type: application/json' --data-binary "$pair" "${url}decide"
ask 415 'Content-Type: expected application/json' -H "Origin: $site" --data-binary "$pair" "${url}decide"
ask 415 'Content-Type: expected' -H "Origin: $site" -H 'Content-Type: text/plain' --data-binary "$pair" \
    "${url}decide"
ask 415 'Content-Type: expected' -H "Origin: $site" -H 'Content-Type: application/jsonx' --data-binary "$pair" \
    "${url}decide"
ask 405 'takes POST' "${url}decide"
has_header 'Allow: POST'
ask 405 'takes POST' "${url}regroup"
has_header 'Allow: POST'
ask 403 'Origin: only the page itself may send decisions' -X POST "${url}regroup"
for path in groups/ groups/x groups/-1; do ask 404 'a number after since/ and groups/' "$url$path"; done
ask 200 '^{"version": 1, "grouping": false, "error": "", "layer": {"version": 1, "heeds": 0, ' "${url}groups/0"
ask 200 '^{"version": 1, "grouping": false, "error": ""}$' "${url}groups/1"
for method in POST PUT DELETE OPTIONS; do ask 405 'takes GET' -X $method "${url}data"; done
has_header 'Allow: GET'
ask 400 'a GET request must not have a body' -X GET --data-binary x "${url}data"
head -c 1100000 /dev/zero >much
ask 413 'Content-Length: over the limit of 1048576 bytes' -H "Origin: $site" -H 'Content-Type: application/json' \
    --data-binary @much "${url}decide"
ask 411 'Content-Length' -H "Origin: $site" -H 'Transfer-Encoding: chunked' -H 'Content-Type: application/json' \
    --data-binary "$pair" "${url}decide"
ask 415 'Content-Encoding' -H "Origin: $site" -H 'Content-Encoding: gzip' -H 'Content-Type: application/json' \
    --data-binary "$pair" "${url}decide"

# Bodies.
decide 400 'an object' ''
decide 400 'an object' '[]'
decide 400 'the text ends' '{"what": "same"'
decide 400 'what.* is missing' '{"crops": ["a/1.png", "b/1.png"]}'
decide 400 'expected same, different' '{"what": "similar", "crops": ["a/1.png", "b/1.png"]}'
decide 400 'unknown field' '{"what": "same", "crops": ["a/1.png", "b/1.png"], "when": "2026-05-31T06:30:00Z"}'
decide 400 'is too long' "{\"what\": \"same\", \"crops\": [\"a/1.png\", \"b/1.png\"], \"by\": \"$(printf '%0257d' 0)\"}"
decide 409 'by.*is empty' '{"what": "same", "crops": ["a/1.png", "b/1.png"], "by": ""}'
decide 409 'by.*control character' '{"what": "same", "crops": ["a/1.png", "b/1.png"], "by": "ann\nb"}'
decide 400 'a field is given twice' '{"what": "same", "what": "same", "crops": ["a/1.png", "b/1.png"]}'
decide 400 'expected a string' '{"what": "same", "crops": [1, 2]}'
decide 400 'an array' '{"what": "same", "crops": "a/1.png"}'
decide 400 'name.* is missing' '{"what": "name", "crops": ["a/1.png"]}'
decide 400 'is only allowed for' '{"what": "same", "crops": ["a/1.png", "b/1.png"], "name": "x"}'
decide 400 'for all other decisions' '{"what": "same", "crops": ["a/1.png", "b/1.png"], "undoes": 1}'
decide 400 'for all other decisions' '{"what": "undo"}'
decide 400 'expected a line number' '{"what": "undo", "undoes": 0}'
decide 400 'expected a line number' '{"what": "undo", "undoes": 1, "seen": -1}'
decide 404 'there is no crop with the id .*"c/1.png' '{"what": "same", "crops": ["a/1.png", "c/1.png"]}'
decide 409 'needs at least 2' '{"what": "same", "crops": ["a/1.png"]}'
decide 409 'an id is given twice' '{"what": "same", "crops": ["a/1.png", "a/1.png"]}'
decide 409 'is not an earlier line' '{"what": "undo", "undoes": 1}'
decide 409 'control character' '{"what": "name", "crops": ["a/1.png"], "name": "a\nb"}'
check "nothing is in the journal" [ ! -s d.jsonl ]

# Decisions are acknowledged with the journal's line, and with lines that the page has not seen.
decide 200 '"seq": 1, "decisions": \[{"seq": 1, "what": "same"' "$pair"
decide 200 '"seq": 2, "decisions": \[{"seq": 1, .*{"seq": 2, "what": "different"' \
    '{"what": "different", "crops": ["b/1.png", "b/3.png"], "seen": 0}'
decide 200 '"seq": 3' '{"what": "different", "crops": ["a/2.png", "b/1.png"], "seen": 2}'
decide 409 'a contradiction: .*a/2.png.*b/1.png.*are different.*but also the same' \
    '{"what": "same", "crops": ["a/1.png", "a/2.png"], "seen": 3}'
check "the chain has who and when" grep -q 'ann .*x.*20[0-9][0-9]-.*decision 1' "$out"
decide 200 '"seq": 4, "decisions": \[{"seq": 4' \
    "{\"what\": \"name\", \"crops\": [\"$odd\"], \"name\": \"<b>&\", \"seen\": 3}"
decide 200 '"seq": 5' '{"what": "undo", "undoes": 2, "by": "eve <b> \"&", "seen": 4}'
decide 409 'was already undone' '{"what": "undo", "undoes": 2, "seen": 5}'
decide 200 '"seq": 6' '{"what": "not a crop", "crops": ["lost.png"], "seen": 5}'
lines d.jsonl 6
line 1 '^{"seq": 1, "what": "same", "crops": \["a/1.png", "b/1.png"\], "by": "ann \\"x\\"", "when": "20' d.jsonl
line 4 'script>.png"\], "name": "<b>&", "by"' d.jsonl
# A decision may name the person who makes it.
line 5 '^{"seq": 5, "what": "undo", "undoes": 2, "by": "eve <b> \\"&", "when"' d.jsonl
line 6 '"models": \["[0-9a-f]\{32\}"\], "crc": "[0-9a-f]\{8\}"}$' d.jsonl
ask 200 '"seq": 6, "decisions": \[{"seq": 6, "what": "not a crop", [^{]*\], "version": 1, "grouping": false}' \
    "${url}since/5"

# New groups respect the decisions, which are not asked again. A failure is reported, and the groups stay.
anew() { # anew STATUS VERSION: of those that are there then
    ask "$1" '"version": ' -H "Origin: $site" -H 'Content-Type: application/json' -X POST "${url}regroup"
    for _ in $(seq 100); do
        curl -s "${url}groups/0" >"$out"
        grep -q '"grouping": false' "$out" && break
        sleep 0.05
    done
    check "version $2" grep -q "^{\"version\": $2, \"grouping\": false" "$out"
}
anew 200 2
check "decisions hold in new groups" python3 -c "
import json
g = json.load(open('$out'))['layer']
group = g['group'] # a/1 a/2 a/3 b/1 b/2 b/3 odd lost
assert g['heeds'] == 6 and group[0] == group[3] != group[1] and group[7] == -1, g
assert g['names'][group[6]] == '<b>&' and [0, 3] not in [d[:2] for d in g['doubts']], g
"
ask 200 '"layer": {"version": 2, "heeds": 6, .*"regroups": true' "${url}data"

# Another program writes to the same journal; the first page notices that, and a damaged journal.
first=$server first_url=$url
start crops.npy --decisions d.jsonl --by bob
decide 200 '"seq": 7' '{"what": "name", "crops": ["a/1.png"], "name": "Ann", "seen": 6}'
end TERM
server=$first url=$first_url site=$(echo "$url" | sed 's|\(http://[^/]*\)/.*|\1|')
ask 200 '"seq": 7, .*"name": "Ann", "by": "bob"' "${url}since/6"

# Killed in the middle of answers: acknowledged decisions are stored.
i=0
while [ $i -lt 200 ]; do
    body="{\"what\": \"name\", \"crops\": [\"b/2.png\"], \"name\": \"n$i\", \"seen\": 999999}"
    curl -s -H "Origin: $site" -H 'Content-Type: application/json' --data-binary "$body" "${url}decide"
    i=$((i + 1))
done >acknowledged 2>/dev/null &
asker=$!
some_answers() { [ "$(wc -l <acknowledged)" -ge 5 ]; }
ready some_answers
kill -9 "$server"
wait "$server" 2>/dev/null
server=
kill "$asker" 2>/dev/null
wait "$asker" 2>/dev/null
last=$(sed -n 's/^{"seq": \([0-9]*\), .*/\1/p' acknowledged | tail -n 1)
check "some were acknowledged" [ "${last:-0}" -gt 7 ]
start crops.npy --decisions d.jsonl
ask 200 . "${url}since/0"
check "all $last lines are there" python3 -c "
import json
d = json.load(open('$out'))
assert d['seq'] >= $last, d['seq']
assert [x['seq'] for x in d['decisions']] == list(range(1, d['seq'] + 1))
"
# A torn last line, as after a crash of the machine, is set aside with the next decision.
end TERM
printf '{"seq": 99' >>d.jsonl
start crops.npy --decisions d.jsonl
check "told" grep -q 'its last line is incomplete (10 bytes)' "$work/log"
decide 200 '"seq"' '{"what": "name", "crops": ["b/2.png"], "name": "", "seen": 0}'
check "set aside" [ "$(cat d.jsonl.torn)" = '{"seq": 99' ]
mv d.jsonl moved.jsonl
decide 500 'was replaced or removed' '{"what": "name", "crops": ["b/2.png"], "name": "x", "seen": 0}'
ask 500 'was replaced or removed' -H "Origin: $site" -H 'Content-Type: application/json' -X POST "${url}regroup"
mv moved.jsonl d.jsonl
decide 200 '"seq"' '{"what": "name", "crops": ["b/2.png"], "name": "x", "seen": 0}'
end HUP

# Boxes, and images in another folder.
mkdir sub
cp a/1.png sub/whole.png
printf 'path,x,y,width,height,id\nwhole.png,0,0,30,20,one\nwhole.png,5,5,20,30,two\n' >boxes.csv
echo whole.png,90,90,5,5,out >>boxes.csv
printf 'one ann\ntwo ann\nout bob\nwhole.png cat\n' >list
"$EVAL_FILES" boxes.npy 16 7 0.3 <list
start boxes.npy --decisions boxes.jsonl --boxes boxes.csv --pictures sub
size() { # size PATH WANTED: of the image that is sent
    curl -s "$url$1" >t.jpg
    check "$1 is $2" [ "$(python3 -c "
b = open('t.jpg', 'rb').read()
i = b.index(b'\xff\xc0')
print('%dx%d' % (b[i + 7] * 256 + b[i + 8], b[i + 5] * 256 + b[i + 6]))")" = "$2" ]
}
size small/0 30x20
size small/1 20x30
ask 500 'the box is outside the image' "${url}small/2"
size small/3 60x40
end TERM

# Crops of photos and of a film in a folder of reid track: the page has photos, cameras, times and categories, and
# shows the whole photo with its box. One photo is missing, one name looks like markup.
mkdir -p photos/east tracks/crops
picture 'photos/east/<b>"&.png' 300 200 50
printf 'crops/%s ann\n' 0.png 1.png 2.png 3.png >list
for i in 0 1 2 3; do picture tracks/crops/$i.png 40 30 $((60 + i)); done
"$EVAL_FILES" tracks/embeddings.npy 16 7 0.3 <list
echo id >tracks/crops.csv
cat >folder.py <<'PYTHON'
import json
path = "tracks/embeddings.meta.json"
meta = json.load(open(path))
meta["cameras"] = ["east", "east", "", "<i>'s"]
meta["times"] = ["2024-05-31T23:59:50.500", "2024-06-01T00:00:00", "", ""]
meta["sources"] = ['photos/east/<b>"&.png#xywh=10,20,30,40', "photos/east/gone.png#xywh=0,0,5,5",
                   "walk.mp4#t=3725.400&xywh=1,2,3,4", ""]
json.dump(meta, open(path, "w"))
def track(category, *paths): # the frames come first, which a reader must expect
    return {"frames": [{"path": p, "row": 0} for p in paths], "track": 0, "category": category}
tracks = [track("Animal", "crops/0.png", "crops/1.png"), track("person", "crops/2.png"), track("1", "crops/3.png")]
json.dump({"videos": [{"scenes": [{"tracks": tracks[:2]}, {"tracks": tracks[2:]}]}]}, open("tracks/tracks.json", "w"))
PYTHON
python3 folder.py
start tracks --by ann
ask 200 '"ids": \["crops/0.png"' "${url}data"
check "what is known of crops" python3 -c "
import json
d = json.load(open('$out'))
assert d['photos'] == ['<b>\"&.png', 'gone.png', 'walk.mp4', None], d['photos']
assert d['cameras'] == ['east', 'east', None, '<i>\'s'], d['cameras']
assert d['times'] == ['2024-05-31 23:59:50', '2024-06-01 00:00:00', '1:02:05', None], d['times']
assert d['categories'] == ['animal', 'animal', 'person', None], d['categories']
"
size large/0 40x30
size photo/0 300x200
ask 500 'cannot open' "${url}photo/1"
size large/1 40x30
size photo/3 40x30
end TERM
echo '{"videos": [' >tracks/tracks.json
start tracks --by ann
check "a damaged tracks.json changes only words" \
    grep -q 'tracks/tracks.json: .*; the detector.s categories are not shown' "$work/log"
ask 200 '"photos": \[' "${url}data"
end TERM
start tracks
ask 200 '"asks": true' "${url}data" # --by was not given
end TERM
python3 folder.py

# Categories of boxes.
printf 'path,x,y,width,height,id,category\nwhole.png,0,0,30,20,one,vehicle\nwhole.png,5,5,20,30,two,deer\n' >kinds.csv
start boxes.npy --decisions boxes.jsonl --boxes kinds.csv --pictures sub --by ann
ask 200 '"categories": \["vehicle",null,null,null\]' "${url}data"
ask 200 '"photos": \["whole.png","whole.png",null,null\]' "${url}data"
end TERM

# The page as one file contains photos; without any image it is refused.
run 0 review tracks --threshold 0.6 --html tracks.html
prints '^tracks.html: 4 crops in [0-9]* groups\?, [0-9]* questions\?$'
says 'the whole photos of 1 crop cannot be read'
check "it asks who answers" grep -q '"by": "", "asks": true' tracks.html
check "photos are in it" python3 -c "
import json, re
page = open('tracks.html').read()
photos = dict(json.loads(re.search('id=\"photos\"[^>]*>(.*?)</script>', page, re.DOTALL).group(1)))
assert set(photos) == {0, 1} and photos[0].startswith('/9j/') and photos[1] == '', photos
assert '<b>' not in re.sub('<b></b>', '', page.split('id=\"data\"')[1].split('</script>')[0])
"
printf 'gone/%s ann\n' 1.png 2.png >list
"$EVAL_FILES" gone.npy 16 7 0.3 <list
run 2 review gone.npy --threshold 0.6 --decisions gone.jsonl --html none.html
says 'none.html: the page would have no images, because none of the 2 can be read; the first is gone/1.png: cannot open'
says 'give --pictures FOLDER'
absent none.html

# The page as one file.
run 0 review crops.npy --threshold 0.6 --decisions d.jsonl --html page.html
says 'lost.png: cannot open'
check "its policy allows nothing from elsewhere" \
    grep -q "default-src 'none'; script-src 'nonce-[0-9a-f]*'; style-src" page.html
check "images are in it" [ "$(grep -c '^"/9j/' page.html)" = 7 ]
check "nothing in the data ends a script" sh -c \
    "sed -n '/id=\"data\"/p' page.html | sed 's|<script[^>]*>||; s|</script>\$||' | grep -vq '<'"
check "no link to another file" sh -c "! grep -E 'src=\"page|href=\"(page|icon)' page.html"
run 2 review crops.npy --threshold 0.6 --decisions d.jsonl --html a
says 'a: is a folder'

# Importing a journal into itself adds nothing; a diverged one is added once.
lines_before=$(wc -l <d.jsonl)
cp d.jsonl saved.jsonl
run 0 review --import saved.jsonl --decisions d.jsonl
says "0 decisions added to d.jsonl, $lines_before already in it"
run 0 review --import saved.jsonl --decisions new.jsonl
says "$lines_before decisions added to new.jsonl, 0 already in it"
same saved.jsonl new.jsonl
start crops.npy --decisions saved.jsonl --by cid
decide 200 . '{"what": "not a crop", "crops": ["a/3.png"], "seen": 0}'
decide 200 . "{\"what\": \"undo\", \"undoes\": $((lines_before + 1)), \"seen\": 0}"
end TERM
start crops.npy --decisions d.jsonl --by dan
decide 200 . '{"what": "different", "crops": ["a/2.png", "b/2.png"], "seen": 0}'
end TERM
run 0 review --import saved.jsonl --decisions d.jsonl
says "2 decisions added to d.jsonl, $lines_before already in it"
undone=$((lines_before + 2))
check "the undo follows its line" \
    grep -q "^{\"seq\": $((undone + 1)), \"what\": \"undo\", \"undoes\": $undone, \"by\": \"cid\"" d.jsonl
run 0 review --import saved.jsonl --decisions d.jsonl
says "0 decisions added to d.jsonl"
head -c 300 saved.jsonl >cut.jsonl
run 2 review --import cut.jsonl --decisions d.jsonl
says 'cut.jsonl: line [12]: is incomplete'
run 2 review --import bad.jsonl --decisions d.jsonl
says 'bad.jsonl: line 1: '
run 2 review --import lost.jsonl --decisions d.jsonl
says 'lost.jsonl: cannot open'

# Failed allocations at any moment: a decision is stored with all of its crops, or not acknowledged. hungry N BODY: a
# page of 20 crops, whose allocation number N is refused; the answer's status is in `code`
hungry() {
    rm -f hungry.jsonl url code
    REFUSE_AT=$1 REFUSE_COUNT=count LD_PRELOAD=$work/refuse.so "$REID" review --threshold 0.6 twenty.npy \
        --decisions hungry.jsonl --listen 127.0.0.1:0 >url 2>log &
    server=$!
    ready [ -s url ]
    url=$(cat url)
    [ -z "$2" ] || [ -z "$url" ] || curl -s -o answer -w '%{http_code}' -H "Origin: ${url%/*/}" \
        -H 'Content-Type: application/json' --data-binary "$2" "${url}decide" >code
    kill "$server" 2>/dev/null
    wait "$server"
    server=
}
if refuse_memory; then
    seq 20 | sed 's|.*|a/&.png ann|' >list
    "$EVAL_FILES" twenty.npy 16 7 0.3 <list
    body="{\"what\": \"same\", \"crops\": [$(seq 20 | sed 's|.*|"a/&.png"|' | paste -sd, -)], \"seen\": 0}"
    hungry 0 ''
    without=$(cat count)
    hungry 0 "$body"
    check "nothing is refused" [ "$(cat code) $(grep -c '"a/20.png"' hungry.jsonl)" = '200 1' ]
    at=$without with=$(cat count) told=0
    while [ "$at" -lt "$with" ]; do
        at=$((at + 1))
        hungry "$at" "$body"
        [ ! -s hungry.jsonl ] || check "all crops, though allocation $at is refused" \
            [ "$(grep -o '"a/[0-9]*\.png"' hungry.jsonl | wc -l)" = 20 ]
        case $(cat code) in 200) check "what is told is stored" [ -s hungry.jsonl ] ;; 50?) told=$((told + 1)) ;; esac
    done
    check "that memory is lacking is told" [ "$told" -gt 20 ]
fi
no_leftovers
finish
