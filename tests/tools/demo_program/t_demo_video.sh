#!/bin/sh
# t_demo_video.sh: the films that demo_video draws for tests of tracks: the same from the same seed, the same walks at
# every frame rate, truth and detections that belong to the frames, animals where the boxes are, and what is refused.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/check.sh
make -s build/demo_video || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
check() { # check WHAT COMMAND...
    what=$1
    shift
    if "$@"; then good; else bad "$what"; fi
}
film() { # film NAME OPTION...: its files
    name=$1
    shift
    build/demo_video --size 96x64 --seconds 4 --scenes 2 --truth "$work/$name.truth" --who "$work/$name.who" \
        --detections "$work/$name.found" --cuts "$work/$name.cuts" "$@" > "$work/$name.rgb" || bad "film $name"
}
film one --fps 5 --seed 3
film again --fps 5 --seed 3
film other --fps 5 --seed 4
film fast --fps 10 --seed 3
film quiet --fps 5 --seed 3 --no-frames
film exact --fps 5 --seed 3 --no-frames --mistakes 0

check 'twenty frames' [ "$(wc -c < "$work/one.rgb")" = $((20 * 96 * 64 * 3)) ]
for kind in truth found who cuts; do
    check "the same $kind from the same seed" cmp "$work/one.$kind" "$work/again.$kind"
    check "the same $kind without frames" cmp "$work/one.$kind" "$work/quiet.$kind"
done
check 'the same frames' cmp "$work/one.rgb" "$work/again.rgb"
check 'others from another seed' sh -c '! cmp -s "$1" "$2"' sh "$work/one.rgb" "$work/other.rgb"
check 'no frames' [ ! -s "$work/quiet.rgb" ]
check 'the cut' [ "$(cat "$work/one.cuts")" = 11 ]
check 'a line for each detection' [ "$(wc -l < "$work/one.found")" = "$(wc -l < "$work/one.who")" ]
check 'there are some' [ "$(wc -l < "$work/one.truth")" -gt 20 ]

# Frame 1 + k at 5 a second is frame 1 + 2 k at 10: the same truth, the same pixels.
awk -F, -v OFS=, '$1 % 2 { $1 = ($1 + 1) / 2; print }' "$work/fast.truth" > "$work/half.truth"
check 'the same walks at twice the rate' cmp "$work/one.truth" "$work/half.truth"
frame() { dd if="$work/$1.rgb" bs=$((96 * 64 * 3)) skip="$2" count=1 2> /dev/null; }
frame one 7 > "$work/a" && frame fast 14 > "$work/b"
check 'the same frame' cmp "$work/a" "$work/b"

check 'truth lies within the frame, with ids of its scene' awk -F, 'NF != 9 || $1 < 1 || $1 > 20 || $3 < 0 || $4 < 0 ||
    $3 + $5 > 96.002 || $4 + $6 > 64.002 || $9 < 0.2 || $9 > 1 || ($1 < 11) != ($2 <= 16) || seen[$1, $2]++ {
        exit 1 }' "$work/one.truth"
check 'ten columns of detections, with scores' awk -F, 'NF != 10 || $2 != -1 || $7 < 0.05 || $7 > 0.99 { exit 1 }' \
    "$work/one.found"
cut -d, -f1,3-6 "$work/exact.truth" > "$work/want"
cut -d, -f1,3-6 "$work/exact.found" > "$work/got"
check 'a detector without mistakes reports the truth' cmp "$work/want" "$work/got"
cut -d, -f2 "$work/exact.truth" > "$work/want"
check '... and whom it shows' cmp "$work/want" "$work/exact.who"
check 'one with mistakes invents and misses boxes' awk -v true="$(wc -l < "$work/one.truth")" \
    '$1 == 0 { invented++ } END { exit !(invented && NR - invented < true) }' "$work/one.who"

# Where an animal stands alone, pixels differ from the same place without it.
for animals in 0 1; do
    build/demo_video --size 96x64 --seconds 1 --fps 4 --seed 11 --animals $animals --truth "$work/truth$animals" \
        > "$work/$animals.rgb"
done
check 'no truth without animals' [ ! -s "$work/truth0" ]
cmp -l "$work/0.rgb" "$work/1.rgb" | awk '{ at = int(($1 - 1) / 3); frame = int(at / 6144)
    print frame + 1, at % 6144 % 96, int(at % 6144 / 96) }' | uniq > "$work/changed"
check 'the animal is in its box, and fills a part of it' awk 'FNR == NR { split($0, t, ","); low_x[t[1]] = t[3] - 1
        high_x[t[1]] = t[3] + t[5] + 1; low_y[t[1]] = t[4] - 1; high_y[t[1]] = t[4] + t[6] + 1
        area += t[5] * t[6]; next }
    !($1 in low_x) || $2 < low_x[$1] || $2 > high_x[$1] || $3 < low_y[$1] || $3 > high_y[$1] { outside++ }
    { n++ } END { exit !(area && n > 0.15 * area && n < area && outside < 0.02 * n) }' "$work/truth1" "$work/changed"

refused() { # refused WORDS OPTION...
    words=$1
    shift
    build/demo_video "$@" > "$work/out" 2> "$work/said"
    status=$?
    if [ $status = 2 ] && [ ! -s "$work/out" ] && shows "$words" "$work/said"; then good
    else bad "refused: $*"; fi
}
refused "size: invalid value '10x10'; expected" --size 10x10
refused "size: invalid value '100x100x'; expected" --size 100x100x
refused "fps: invalid value '0'; expected" --fps 0
refused "fps: invalid value '5s'; expected" --fps 5s
refused "animals: invalid value '13'; expected" --animals 13
refused "seed: invalid value '-1'; expected" --seed -1
refused 'truth: its value is missing' --truth
refused 'no such option' --colour 1
refused 'No such file' --truth "$work/none/truth"

if command -v ffmpeg > /dev/null; then
    ffmpeg -v error -nostdin -f rawvideo -pix_fmt rgb24 -s 96x64 -r 5 -i "$work/one.rgb" -c:v ffv1 -pix_fmt gbrp \
        "$work/one.mkv" && ffmpeg -v error -nostdin -i "$work/one.mkv" -f rawvideo -pix_fmt rgb24 "$work/back.rgb"
    check 'through ffmpeg and back' cmp "$work/one.rgb" "$work/back.rgb"
else skip 'through ffmpeg: it is not installed'; fi
finish
