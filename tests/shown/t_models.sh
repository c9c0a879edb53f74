#!/bin/sh
# models/get against a file server on this machine: a good file, a wrong hash, a missing file, an interrupted download,
# no server, bad usage; with build/reid and without it.
#     sh tests/shown/t_models.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v python3 >/dev/null 2>&1 || { echo "skipped: python3 (for the file server) is missing"; exit 77; }
command -v curl >/dev/null 2>&1 || command -v wget >/dev/null 2>&1 || {
    echo "skipped: neither curl nor wget"
    exit 77
}

dir=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill $server 2>/dev/null; rm -rf "$dir"' EXIT
mkdir "$dir/www" "$dir/out" "$dir/models" "$dir/out/with space"
cp models/get models/*.manifest "$dir/models"

# A server that supports ranges, so that continuing a download is really tested.
cat > "$dir/server.py" <<'END'
import http.server, os, re, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = os.path.join(sys.argv[1], os.path.basename(self.path).split("?")[0])
        if not os.path.isfile(path): return self.send_error(404)
        data, start = open(path, "rb").read(), 0
        match = re.match(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if match: start = int(match.group(1))
        if match and start >= len(data): return self.send_error(416)
        self.send_response(206 if match else 200)
        if match: self.send_header("Content-Range", "bytes %d-%d/%d" % (start, len(data) - 1, len(data)))
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        cut = path.endswith("cut.pth") and not match
        self.wfile.write(data[start:start + 1000] if cut else data[start:])
        with open(sys.argv[1] + "/log", "a") as log: log.write("%s %d\n" % (os.path.basename(path), start))
    def log_message(self, *args): pass
httpd = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(httpd.server_port, flush=True)
httpd.serve_forever()
END
python3 "$dir/server.py" "$dir/www" > "$dir/port" &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -s "$dir/port" ] && break; sleep 0.2; done
REID_MODELS_URL=http://127.0.0.1:$(cat "$dir/port")
export REID_MODELS_URL

# The same noise every time: one first byte in 256 would be a pickle's and cause another error.
noise() { # noise BYTES
    python3 -c 'import random as r, sys; n = int(sys.argv[1]); sys.stdout.buffer.write(r.Random(n).randbytes(n))' "$1"
}

noise 5000 > "$dir/www/good.pth"
cp "$dir/www/good.pth" "$dir/www/cut.pth"
cp "$dir/www/good.pth" "$dir/www/ready.safetensors"
hash=$(sha256sum "$dir/www/good.pth" | cut -d ' ' -f 1)
manifest() { # manifest NAME FILE HASH
    printf '# %s\nfile %s %s\nnetwork resnet50\npreset torchvision-v1\n' "$1" "$2" "$3" \
        > "$dir/models/$1.manifest"
}
manifest good good.pth "$hash"
manifest cut cut.pth "$hash"
manifest ready ready.safetensors "$hash"
manifest wrong good.pth 0000000000000000000000000000000000000000000000000000000000000000
manifest absent nothing.pth "$hash"
manifest second nothing.pth "$hash"
echo "file good.pth $hash" >> "$dir/models/second.manifest"
manifest swapped good.pth 0000000000000000000000000000000000000000000000000000000000000000
echo "file nothing.pth $hash" >> "$dir/models/swapped.manifest"
printf '# old\nfile good.pth\nsha256 %s\nnetwork resnet50\npreset torchvision-v1\n' "$hash" \
    > "$dir/models/untied.manifest"
manifest outside ../good.pth "$hash"
manifest blank good.pth "$hash extra words"
manifest pinned pinned.pth unpublished
manifest elsewhere renamed.pth "$hash good.pth?id=x&confirm=t"
sed -i '1s/$/\nfor animals\nlicence CC-BY-NC-4.0: not for commercial use\nsize 5000/' "$dir/models/elsewhere.manifest"
manifest short renamed.pth "$hash good.pth"
echo "size 4999" >> "$dir/models/short.manifest"
manifest prefix good.pth "$(echo "$hash" | cut -c 1-8)"

. tests/lib/says.sh
passed=0 failed=0
check() { # check WHAT EXPECTED_STATUS TEXT_IN_OUTPUT ARGUMENTS...
    what=$1 expected=$2 text=$3
    shift 3
    PATH=$path sh "$dir/models/get" "$@" > "$dir/log" 2>&1
    status=$?
    if [ $status -eq "$expected" ] && shows "$text" "$dir/log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $what: status $status, expected $expected with \"$text\""
        cat "$dir/log"
    fi
}
ok() { # ok WHAT CONDITION...
    what=$1
    shift
    if holds "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $what"; fi
}

no_line() { ! sh "$dir/models/get" --help | grep -Eq 'prefix|untied|outside|blank'; }
mkdir "$dir/w2"

# Without a reid in PATH, as before make.
path=
IFS=:
for p in $PATH; do [ -x "$p/reid" ] || path=$path${path:+:}$p; done
unset IFS
check "no argument lists the models" 2 "efficientnet_b0"
check "help" 0 "resnet50-v2" --help
check "for whom, size and licence" 0 "elsewhere  *animals  *0 MB  *known  *CC-BY-NC-4.0: not for commercial use" --help
check "no size is published, nor a hash" 0 "pinned  *on use" --help
check "unknown name" 2 "unknown model horse" horse
check "a path is not a name" 2 "unknown model" ../models/good
check "missing folder" 1 "is not a writable folder" good "$dir/nowhere"
check "good file" 3 "$hash is correct" good "$dir/out/with space"
ok "good file is complete" cmp -s "$dir/www/good.pth" "$dir/out/with space/good.pth"
ok "no partial file is left" test ! -e "$dir/out/with space/good.pth.part"
check "again: nothing is downloaded" 3 "already exists, SHA-256" good "$dir/out/with space"
check "how to convert" 3 "build/reid convert --preset torchvision-v1" good "$dir/out/with space"
check "another name on the server" 3 "renamed.pth: SHA-256 $hash is correct" elsewhere "$dir/w2"
check "the licence is said" 3 "^licence: CC-BY-NC-4.0: not for commercial use" elsewhere "$dir/w2"
rm "$dir/w2/renamed.pth"
check "another size than the published one" 1 "renamed.pth: it has 5000 bytes, expected 4999" short "$dir/w2"
ok "is not kept" test ! -e "$dir/w2/renamed.pth" -a ! -e "$dir/w2/renamed.pth.part"
check "safetensors need no conversion" 0 "ready: $dir/out/ready.safetensors" ready "$dir/out"
check "wrong hash" 1 "expected 0000" wrong "$dir/out"
ok "nothing is left of a wrong file" test ! -e "$dir/out/good.pth" -a ! -e "$dir/out/good.pth.part"
check "missing on the server" 1 "nothing could be downloaded" absent "$dir/out"
check "second name of a manifest" 3 "good.pth: SHA-256" second "$dir/out"
check "eight digits of a hash" 1 "no file with a complete SHA-256" prefix "$dir/out"
check "a hash without a name" 1 "no file with a complete SHA-256" untied "$dir/out"
check "words after the hash" 1 "no file with a complete SHA-256" blank "$dir/out"
check "a name with a folder" 1 "no file with a complete SHA-256" outside "$dir/out"
ok "which are not offered" no_line
check "the hash of another file of the manifest" 1 "expected 0000" swapped "$dir/w2"
if command -v curl >/dev/null 2>&1; then # wget continues without help
    check "an interrupted download fails" 1 "nothing could be downloaded" cut "$dir/out"
    ok "and keeps its partial file" test -s "$dir/out/cut.pth.part" -a ! -e "$dir/out/cut.pth"
fi
check "the next one continues" 3 "cut.pth: SHA-256 $hash is correct" cut "$dir/out"
ok "from where it stopped" grep -q "cut.pth 1000" "$dir/www/log"
rm "$dir/out/good.pth"
noise 9000 > "$dir/out/good.pth.part"
check "a wrong partial file is deleted" 1 "the download was deleted" good "$dir/out"
check "so that the next one is good" 3 "good.pth: SHA-256 $hash is correct" good "$dir/out"

# A partial file that another user has put there is not written to.
rm -f "$dir/out/good.pth"
echo precious > "$dir/precious"
ln -s "$dir/precious" "$dir/out/good.pth.part"
check "a partial file that is a link" 1 "is a link or belongs to another user" good "$dir/out"
ok "its target is unchanged" test "$(cat "$dir/precious")" = precious
rm "$dir/out/good.pth.part"
cp "$dir/www/good.pth" "$dir/out/good.pth"

# A server that redirects: never from https to http. Checks the arguments that curl and wget get.
mkdir "$dir/bin"
for tool in curl wget; do
    printf '#!/bin/sh\necho "$0 $*" >> "%s"\nexit 1\n' "$dir/told" > "$dir/bin/$tool"
    chmod +x "$dir/bin/$tool"
done
for tool in curl wget; do
    (PATH=$dir/bin:$path REID_MODELS_URL=https://127.0.0.1:1 sh "$dir/models/get" absent "$dir/out") > "$dir/log" 2>&1
    [ $tool = curl ] && ok "curl: https alone" grep -q -e '--proto =https --proto-redir =https ' "$dir/told"
    rm "$dir/bin/$tool"
done
if command -v curl >/dev/null 2>&1; then
    cat > "$dir/redirect.py" <<'END'
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(302)
        self.send_header("Location", sys.argv[1])
        self.end_headers()
    def log_message(self, *args): pass
httpd = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(httpd.server_port, flush=True)
httpd.serve_forever()
END
    python3 "$dir/redirect.py" "file://$dir/www/good.pth" > "$dir/port2" &
    other=$!
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -s "$dir/port2" ] && break; sleep 0.2; done
    rm "$dir/out/good.pth"
    (PATH=$path REID_MODELS_URL=http://127.0.0.1:$(cat "$dir/port2") sh "$dir/models/get" good "$dir/out") \
        > "$dir/log" 2>&1
    ok "a server cannot redirect to a file" grep -q 'nothing could be downloaded' "$dir/log"
    kill $other
    cp "$dir/www/good.pth" "$dir/out/good.pth"
fi

# With the command, which reports what is wrong with random bytes.
if [ -x build/reid ]; then
    mkdir "$dir/build" "$dir/w"
    ln -s "$PWD/build/reid" "$dir/build/reid"
    check "a damaged checkpoint" 1 "good.pth: the format is unknown" good "$dir/out"
    check "is kept" 1 "already exists, SHA-256" good "$dir/out"
    # shellcheck source=tests/lib/cli_lib.sh
    (. tests/lib/cli_lib.sh && need_checkpoint_files && b0 b0.safetensors &&
        "$CHECKPOINT_FILES" zip b0.safetensors "$dir/www/b0.pth")
    manifest b0 b0.pth "$(sha256sum "$dir/www/b0.pth" | cut -d ' ' -f 1)"
    sed -i 's/resnet50/efficientnet_b0/; s/torchvision-v1/effnet-b0/' "$dir/models/b0.manifest"
    check "converted" 0 "ready: $dir/w/b0.safetensors" b0 "$dir/w"
    # No published hash: it is recorded once reid has read the file, and a later download must have it.
    echo "<!DOCTYPE html><title>Sign in</title>" > "$dir/www/pinned.pth"
    sed -i 's/resnet50/efficientnet_b0/; s/torchvision-v1/effnet-b0/' "$dir/models/pinned.manifest"
    check "an error page instead of a file" 1 "may be damaged, since no hash is published: to download" pinned "$dir/w"
    ok "its hash is not recorded" test ! -e "$dir/w/pinned.pth.sha256"
    rm "$dir/w/pinned.pth"
    cp "$dir/www/b0.pth" "$dir/www/pinned.pth"
    check "the first use" 0 "pinned.pth.sha256: recorded the SHA-256" pinned "$dir/w"
    ok "says that there is nothing to compare with" grep -q "none is published to compare it with" "$dir/log"
    ok "as sha256sum writes it" sh -c "cd '$dir/w' && sha256sum -c pinned.pth.sha256"
    check "again" 0 "pinned.pth already exists" pinned "$dir/w"
    rm "$dir/w/pinned.pth"
    check "the same file again" 0 "pinned.pth: SHA-256 .* is correct" pinned "$dir/w"
    rm "$dir/w/pinned.pth"
    noise 5000 > "$dir/www/pinned.pth"
    check "another file on the server" 1 "has changed since the first download" pinned "$dir/w"
    ok "is not kept either" test ! -e "$dir/w/pinned.pth" -a ! -e "$dir/w/pinned.pth.part"
    echo "no hash" > "$dir/w/pinned.pth.sha256"
    check "a damaged record" 1 "pinned.pth.sha256: expected one line in the format of sha256sum" pinned "$dir/w"
    build/reid inspect "$dir/w/b0.safetensors" > "$dir/log" 2>&1
    ok "reid reads it" grep -q "effnet-b0 (named in the file)" "$dir/log"
else
    echo "conversion: skipped, build/reid is not there"
fi
kill $server
server=
check "no server" 1 "nothing could be downloaded" absent "$dir/out"
for m in models/*.manifest; do
    ok "$m has a known form" sh -c "
        ! grep -Ev '^(#|(for|about) |(licence|network|preset) +[^ ]|(source|address) +https://|size +[0-9]+\$|'\
'file +[^ ]+ ([0-9a-f]{64}|unpublished)( [^ ]+)?\$)' $m"
    for key in for licence source file network preset; do
        ok "$m has one value for $key" grep -q "^$key " "$m"
    done
    net=$(sed -n 's/^network *//p' "$m")
    ok "$m: reid knows $net" sh -c "build/reid help models | tr -s ' \n' '\n' |
        grep -qx '$(echo "$net" | sed -E 's/^resnet(50|101|152)(-ibn|-ibnb)?(-nl|-nlhalf)?/resnet50/'),*'"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
