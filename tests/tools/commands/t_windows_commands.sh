#!/bin/sh
# t_windows_commands.sh: the command for Windows, compiled by Debian's MinGW-w64 and run by wine: embed has the bits of
# Linux, the other commands write the same files and messages, with umlauts and long paths, backslashes and CRLF; names
# of devices are refused, files in use stay whole, an interrupted run is continued. With planted bugs.
set -u
cd "$(dirname "$0")/../../.." || exit 1
top=$PWD out=$PWD/build/tests/t_windows_commands
rm -rf "$out"
mkdir -p "$out/tmp" "$out/wine" "$out/here" "$out/there" || exit 1
. tests/lib/check.sh

PATH=$PATH:/usr/lib/wine # where Debian's package has it
cc=x86_64-w64-mingw32-gcc log=$out/log
(. tools/setup.sh && need_packages $cc:gcc-mingw-w64-x86-64 wine64:wine64 stb/stb_image.h:libstb-dev) || {
    echo 'skipped: no compiler for Windows or no wine, and they could not be installed'
    exit 77
}
${MAKE:-make} -s build/reid build/demo_images build/demo_video build/seeded > "$log" 2>&1 ||
    bad 'it does not compile here'
${MAKE:-make} -s windows WINDOWS_CC=$cc CFLAGS='-O2 -Werror' > "$log" 2>&1 || bad 'make windows'
[ -f build/windows/reid.exe ] || finish
export TMPDIR="$out/tmp" LC_ALL=C.UTF-8 # by which wine reads arguments and names of files
export WINEPREFIX="$out/wine" WINEDEBUG=-all WINEDLLOVERRIDES='winemenubuilder.exe,winedbg.exe,mscoree,mshtml=d'
trap 'wineserver -k' EXIT # of this folder alone
wineserver -p             # it takes seconds to start
exe=$top/build/windows/reid.exe
windows() { timeout 300 wine64 "$exe" "$@"; }

# --- what both need: images with umlauts in their paths, weights, detections, tables with CRLF ---
cd "$out/here" || exit 1
"$top/build/demo_images" drawn 5 > "$log"
mkdir -p Wälder/Süd
mv drawn/Fir drawn/Oak Wälder/ && mv drawn/Elm Wälder/Süd
"$top/build/seeded" --net efficientnet_b0 -o w.safetensors
crlf() { sed 's/$/\r/'; }
find Wälder -name '*.png' | sort | crlf > list.txt
(echo path,identity && find Wälder -name '*.png' | sort | sed 's|.*/\(.*\)/.*|&,\1|') | crlf > labels.csv
{ # as MegaDetector writes them on Windows
    printf '{"images": ['
    find Wälder -name '*.png' | sort | sed -e 's|^Wälder/||' -e 's|/|\\\\|g' \
        -e 's|.*|{"file": "&", "detections": [{"category": "1", "conf": 0.9, "bbox": [0.1, 0.1, 0.7, 0.6]}]}|' \
        -e '$!s/$/,/'
    printf '], "detection_categories": {"1": "animal"}, "info": {"format_version": "1.3"}}'
} | crlf > boxes.json
cp -r . "$out/there"

# both NAME STATUS ARGUMENT...: the same exit status, stdout and stderr; stdin is the file `input`
input=/dev/null
both() {
    what=$1 want=$2
    shift 2
    (cd "$out/here" && "$top/build/reid" "$@" < $input > "$what.out" 2> "$what.err")
    a=$?
    (cd "$out/there" && windows "$@" < $input > "$what.out" 2> "$what.err")
    b=$?
    grep -v '^wine: ' "$out/there/$what.err" > "$out/err" # wine's own words at its first start
    cp "$out/err" "$out/there/$what.err"
    if [ "$a $b" != "$want $want" ]; then
        tail -n 3 "$out/here/$what.err" "$out/there/$what.err" > "$log"
        bad "$what: exit $a here, $b on Windows; expected $want"
    elif cmp "$out/here/$what.out" "$out/there/$what.out" > "$log" 2>&1 &&
        cmp "$out/here/$what.err" "$out/there/$what.err" >> "$log" 2>&1; then good
    else bad "$what: it says something else"; fi
}
alike() { # alike FILE...: the files are the same bytes
    for file; do
        if cmp "$out/here/$file" "$out/there/$file" > "$log" 2>&1; then good; else bad "$file differs"; fi
    done
}

pipeline() {
    both embed 0 embed -m w.safetensors Wälder -o Rehe-ä.npy
    alike Rehe-ä.npy Rehe-ä.ids.txt
    input=list.txt
    both list 0 embed -m w.safetensors - --size 64x64
    input=/dev/null
    both cluster 0 cluster Rehe-ä.npy --threshold 0.9 -o groups.csv
    both calibrate 0 calibrate Rehe-ä.npy --labels labels.csv --fmr 0.1 -o calibration.json
    both eval 0 eval Rehe-ä.npy --labels labels.csv --json
    both match 0 match -m w.safetensors --gallery Rehe-ä.npy --calibration calibration.json Wälder/Süd -o match.csv
    both boxes 0 embed -m w.safetensors --boxes boxes.json Wälder -o boxes.npy
    alike groups.csv calibration.json match.csv boxes.npy boxes.ids.txt
    both create 0 gallery create g.reid --like Rehe-ä.npy
    both add 0 gallery add g.reid Rehe-ä.npy
    both search 0 gallery search g.reid Rehe-ä.npy -k 3
    both remove 0 gallery remove g.reid Wälder/Fir/view-1.png
    both list_gallery 0 gallery list g.reid
    both export 0 gallery export g.reid -o exported.jsonl
    both convert 0 convert w.safetensors converted.safetensors
    both inspect 0 inspect converted.safetensors
    alike exported.jsonl converted.safetensors
    both review 0 review Rehe-ä.npy --threshold 0.9 --decisions d.jsonl --html review.html
    for side in here there; do # two random words and a time in the page
        sed -e 's/nonce-[0-9a-f]*/nonce-/g' -e 's/nonce="[0-9a-f]*"/nonce=""/g' -e 's/"seconds": [0-9.]*//' \
            "$out/$side/review.html" > "$out/$side/page.html"
    done
    alike page.html
    both help 0 help embed
    both track 0 track Wälder --detections boxes.json -m w.safetensors --threshold 0.9 -o tracks
    alike tracks/tracks.json tracks/embeddings.npy tracks/individuals.csv tracks/Fir.html
    [ "$(cd "$out/here/tracks" && find . | sort)" = "$(cd "$out/there/tracks" && find . | sort)" ] && good ||
        bad 'tracks: other files'
}
pipeline
grep -q '"jpeg": "stb_image"' "$out/there/Rehe-ä.meta.json" && good || bad 'the decoder of JPEGs'
(cd "$out/there" && windows gallery compact g.reid && windows gallery verify g.reid) > "$log" 2>&1 # open, and replaced
grep -q '^18 records, 0 damaged, 17 templates' "$log" && good || bad 'gallery compact'
windows doctor > "$out/there/doctor" 2>&1
grep -q "^good  *self-test  *equals PyTorch" "$out/there/doctor" && good || bad 'doctor'
timeout 200 wine64 "$exe" bench -m "$out/there/w.safetensors" --size 32x32 --batches 1 --rounds 1 > "$log" 2>&1 &&
    grep -q '^ *1 .* [0-9]' "$log" && good || bad 'bench'

cd "$out/there" || exit 1
windows embed -m w.safetensors --size 64x64 Wälder 2> "$log" | head -n 1 > "$out/first"
[ -s "$out/first" ] && ! grep -v '^wine: ' "$log" && good || bad 'a pipe that is closed'

# --- paths ---
refused() { # refused WHAT MESSAGE ARGUMENT...: with status 2 and that message
    what=$1 message=$2
    shift 2
    windows "$@" < /dev/null > "$log" 2>&1
    [ $? -eq 2 ] && grep -qF -e "$message" "$log" && good || bad "$what is not refused: $message"
}
rows() { # rows FILE: it has the bytes of all images
    if cmp "$1" Rehe-ä.npy > "$log" 2>&1; then good; else bad "$1 has other rows"; fi
}
nothing_left() {
    left=$(find . -name '*.part*' -o -name '*.removed' -o -name '*.old')
    [ -z "$left" ] && good || bad "left: $left"
}
long=$(printf 'Wildkamera-%050d/' 1 2 3 4 5 6)
mkdir -p "$long" && cp -r Wälder "$long"
windows embed -m w.safetensors "${long}Wälder" -o "${long}ü.npy" > "$log" 2>&1 ||
    bad 'a path of more than 260 characters'
rows "${long}ü.npy"
windows embed -m "Z:$(pwd | tr / '\\')\\w.safetensors" 'Wälder\' -o "Z:$(pwd | tr / '\\')\\Z.npy" > "$log" 2>&1 ||
    bad 'a drive and backslashes'
rows Z.npy
cmp Z.ids.txt Rehe-ä.ids.txt > "$log" 2>&1 && good || bad 'ids with slashes'
windows embed -m w.safetensors --size 64x64 'Wälder\Fir\view-*.png' > "$out/stars" 2> "$log"
[ "$(wc -l < "$out/stars")" -eq "$(find Wälder/Fir -name 'view-*.png' | wc -l)" ] && good || bad 'view-*.png'
devices() {
    for name in CON.npy NUL.npy com1.npy lpt².npy 'sub/aux.npy'; do
        refused "$name" 'Windows reserves this name for a device' embed -m w.safetensors Wälder/Fir -o "$name"
    done
}
devices
refused CON 'Windows reserves this name for a device' gallery create CON --like Rehe-ä.npy
refused 'a:b.npy' 'not a name that Windows allows' embed -m w.safetensors Wälder/Fir -o 'sub:b.npy'
for kind in CON NUL COM1; do [ ! -e $kind.npy ] && good || bad "$kind.npy was made"; done
mkdir -p deep/folder && cp Wälder/Fir/view-1.png deep/secret.png
printf '{"images": [{"file": "..\\\\secret.png", "detections": [{"category": "1", "conf": 1, "bbox": [0,0,1,1]}]}]}' \
    > climbing.json
climbing() {
    windows embed -m w.safetensors --size 64x64 --boxes climbing.json deep/folder > "$log" 2>&1 &&
        bad 'a file of boxes leads out of the folder' || good
}
climbing

# --- files in use, interrupted runs ---
cat > "$out/hold.c" <<'END_OF_C'
#include <stdio.h>
#include <windows.h>
int wmain(int argc, wchar_t **argv) { /* holds a file open, as a spreadsheet does, until stdin ends */
    HANDLE file = CreateFileW(argv[argc - 1], GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
    FILE *mark = fopen("held", "w");
    if (file == INVALID_HANDLE_VALUE || !mark) return 1;
    fclose(mark);
    while (getchar() != EOF) {}
    return 0;
}
END_OF_C
$cc -municode -static -O1 -o "$out/hold.exe" "$out/hold.c" || bad 'hold.c'
held() { # held FILE COMMAND...: while another program has it open
    file=$1
    shift
    rm -f held
    mkfifo "$out/fifo"
    wine64 "$out/hold.exe" "$file" < "$out/fifo" &
    exec 9> "$out/fifo"
    for _ in $(seq 300); do [ -e held ] || sleep 0.05; done
    "$@"
    exec 9>&-
    wait
    rm -f "$out/fifo"
}
in_use() {
    before=$(cksum < groups.csv)
    held groups.csv refused 'a file in use' 'another program has it open' \
        cluster Rehe-ä.npy --threshold 0.5 -o groups.csv
    [ "$(cksum < groups.csv)" = "$before" ] && good || bad 'the file in use has changed'
    held held-open.npy refused 'rows in use' 'another program has it open' \
        embed -m w.safetensors Wälder/Fir -o held-open.npy
    cmp held-open.npy Rehe-ä.npy > "$log" 2>&1 && good || bad 'the rows in use have changed'
    nothing_left
}
cp Rehe-ä.npy held-open.npy
in_use
windows cluster Rehe-ä.npy --threshold 0.5 -o groups.csv > "$log" 2>&1 && good || bad 'a file that is replaced'

second() {
    mkfifo "$out/fifo"
    windows embed -m w.safetensors - -o locked.npy < "$out/fifo" > "$out/locked" 2>&1 & # waits for its list
    exec 9> "$out/fifo"
    for _ in $(seq 300); do [ -e locked.npy.part ] || sleep 0.05; done
    refused 'a second run' 'another reid is writing locked.npy.part' embed -m w.safetensors Wälder/Fir -o locked.npy
    printf '%s\n' 'Wälder\Fir\view-1.png' >&9
    exec 9>&-
    wait
    rm "$out/fifo"
    [ -s locked.npy ] && good || bad 'the first run is disturbed by a second'
    nothing_left
}
second

often=$(printf 'Wälder %.0s' $(seq 48)) # so that it takes seconds: rows are kept once a second
# shellcheck disable=SC2086 # several words, here and below
(cd "$out/here" && "$top/build/reid" embed -m w.safetensors $often -o killed.npy) > "$log" 2>&1
# shellcheck disable=SC2086
timeout -s KILL 300 wine64 "$exe" embed -m w.safetensors --threads 1 $often -o killed.npy --resume > "$log" 2>&1 &
child=$!
for _ in $(seq 1000); do
    [ "$(grep -c '^ok' killed.npy.part.log 2> "$log")" -ge 2 ] 2>> "$log" && break
    sleep 0.02
done
# shellcheck disable=SC2046 # several processes
kill -9 $child $(ps -o pid= --ppid $child) 2> "$log"
wait $child 2> "$log"
[ -e killed.npy.part ] && [ ! -e killed.npy ] && good || bad 'it was not killed in the middle'
# shellcheck disable=SC2086
windows embed -m w.safetensors $often -o killed.npy --resume > "$log" 2>&1 || bad 'a killed run is not continued'
alike killed.npy killed.ids.txt
nothing_left

# --- videos: a program that repeats what ffmpeg wrote to its five pipes here ---
if command -v ffmpeg > /dev/null; then
    "$top/build/demo_video" --seconds 4 --detections film.txt > raw
    ffmpeg -v error -y -f rawvideo -pix_fmt rgb24 -s 320x240 -r 10 -i raw film.mkv < /dev/null
    cat > record <<'END_OF_SH'
#!/bin/sh
ffmpeg "$@" 1> pipe.1 2> pipe.2 3> pipe.3 4> pipe.4 5> pipe.5
exit 1
END_OF_SH
    chmod +x record
    "$top/build/reid" track film.mkv --detections film.txt -m w.safetensors --ffmpeg ./record -o film > "$log" 2>&1
    cat > "$out/repeat.c" <<'END_OF_C'
#include <fcntl.h>
#include <io.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>
static void *repeat(void *user) {
    static char bytes[5][1 << 14];
    int fd = (int)(intptr_t)user, n;
    char name[] = "pipe.0";
    name[5] = (char)('0' + fd);
    FILE *from = fopen(name, "rb");
    _setmode(fd, _O_BINARY);
    while (from && (n = (int)fread(bytes[fd - 1], 1, sizeof bytes[0], from)) > 0)
        for (int sent = 0, k; sent < n && (k = _write(fd, bytes[fd - 1] + sent, (unsigned)(n - sent))) > 0;) sent += k;
    _close(fd);
    return NULL;
}
int main(void) {
    pthread_t threads[6];
    if (getenv("HANGS")) Sleep(100000);
    for (int fd = 1; fd <= 5; fd++) pthread_create(&threads[fd], NULL, repeat, (void *)(intptr_t)fd);
    for (int fd = 1; fd <= 5; fd++) pthread_join(threads[fd], NULL);
    return 0;
}
END_OF_C
    $cc -static -O1 -o repeat.exe "$out/repeat.c" -lpthread || bad 'repeat.c'
    cp film.mkv film.txt "$out/here"
    printf '#!/bin/sh\nexec ffmpeg "$@"\n' > "$out/here/repeat.exe"
    chmod +x "$out/here/repeat.exe"
    both film 0 track film.mkv --detections film.txt -m w.safetensors --threshold 0.9 --ffmpeg ./repeat.exe -o film
    alike film/tracks.json film/embeddings.npy film/tracks.txt film/crops.csv
    hanging=r$$.exe # a name that no other run of this test has
    cp repeat.exe $hanging
    HANGS=1 wine64 "$exe" track film.mkv --detections film.txt -m w.safetensors --threshold 0.9 \
        --ffmpeg ./$hanging -o twice > "$log" 2>&1 &
    child=$!
    for _ in $(seq 300); do pgrep -x $hanging > "$log" || sleep 0.05; done
    refused 'a second run of track' 'another reid is writing twice.part' track film.mkv --detections film.txt \
        -m w.safetensors --threshold 0.9 --ffmpeg ./$hanging -o twice
    kill -9 $child
    wait $child 2> "$log"
    for _ in $(seq 100); do ! pgrep -x $hanging > "$log" || sleep 0.05; done
    pgrep -x $hanging > "$log" && bad 'ffmpeg does not end with reid' || good
    windows track film.mkv --detections film.txt -m w.safetensors --threshold 0.9 --ffmpeg ./$hanging -o twice \
        > "$log" 2>&1 || bad 'a folder that a killed run left'
    cmp twice/embeddings.npy film/embeddings.npy > "$log" && good || bad 'other rows after a killed run'
    refused 'no ffmpeg' 'ffmpeg.exe must be in PATH' track film.mkv --detections film.txt -m w.safetensors -o none
else skip 'videos: no ffmpeg here'; fi

# --- what Windows does not have ---
refused serve 'reid serve is not available on Windows; run it on Linux' serve -m w.safetensors
refused worker 'reid worker is not available on Windows' worker -m w.safetensors
refused 'the page of review' 'the page of reid review is not available on Windows; --html FILE' review Rehe-ä.npy \
    --threshold 0.9 --decisions d.jsonl
refused 'a database' 'galleries in PostgreSQL are not available on Windows' gallery list postgresql://localhost/x

# --- planted bugs ---
bug() { # bug WHAT FILE SED_SCRIPT CHECK: reid.exe with it fails the check
    what=$1 object=build/windows/${2#tools/}
    object=${object%.c}.o
    mkdir -p "$out/bug"
    plant_in "$top/$2" "$out/bug/source.c" "$3" || bad "$what: the pattern matches nothing in $2"
    my_turn || return
    made=$(cd "$top" && ${MAKE:-make} -n -W "$2" $object | sed -n 's/ -MMD .*//p')
    linked=$(cd "$top" && ${MAKE:-make} -n -W "$2" build/windows/reid.exe | sed -n "s| -o build/windows/reid.exe | |p" |
        sed "s| $object | $out/bug/source.o |")
    (cd "$top" && $made -w -c "$out/bug/source.c" -o "$out/bug/source.o" &&
        $linked -o "$out/bug/reid.exe") > "$log" 2>&1 || bad "$what: it does not compile"
    if (exe=$out/bug/reid.exe failed=0 && $4 && [ $failed -eq 0 ]) > "$out/bug/log" 2>&1; then
        bad "$what: nobody notices"
    else good; fi
    rm -f "$out/fifo" ./*.part* ./*.removed ./*.old
}
to_stdout() {
    input=list.txt
    both list 0 embed -m w.safetensors - --size 64x64
    input=/dev/null
}
bug 'stdout in text mode' tools/windows/start.c 's/_setmode(fd, O_BINARY)/_setmode(fd, O_TEXT)/' to_stdout
bug 'devices are files' tools/windows/names.c 's/ENAMERESERVED, 0/0, 1/' devices
bug 'a name that cannot be taken back' tools/windows/files.c '/^int windows_link/,/^}/s/DELETE | SYNCHRONIZE/0/' in_use
bug 'nothing is locked' tools/windows/files.c 's/if (LockFileEx(.*)) return 0;/return 0;/' second
bug 'backslashes lead out' tools/pictures/boxes.c 's|"/\\\\"|"/"|g' climbing
say_left_out bugs
finish
