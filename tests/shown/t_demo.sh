#!/bin/sh
# tools/demo as a new user runs it: drawn animals are told apart, strangers are reported as unknown, the page is
# complete and needs no other file; then folders of the user's own, including odd ones.
#
#     sh tests/shown/t_demo.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
REID_NO_INSTALL=1
export REID_NO_INSTALL
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. tests/lib/says.sh
passed=0 failed=0

check() { # check WHAT COMMAND...
    what=$1
    shift
    if holds "$@" > "$dir/check" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        head -n 5 "$dir/check"
        tail -n 5 "$dir/err" | sed 's/^/    stderr: /'
    fi
}
demo() { # demo STATUS ARGUMENT...
    want=$1
    shift
    sh tools/demo "$@" > "$dir/out" 2> "$dir/err"
    status=$?
    check "exit status $want (was $status): tools/demo $*" [ $status -eq "$want" ]
}
counts() { sed -n "s/^$1: \([0-9]*\) of \([0-9]*\).*/\1 \2/p" "$dir/out"; } # counts LINE: the two numbers on that line
at_least() { # at_least PERCENT LINE LEAST_NUMBER
    counts "$2" | (read -r part whole && [ "$whole" -ge "$3" ] && [ $((part * 100)) -ge $((whole * $1)) ])
}
complete() { # complete PAGE: begins, ends, closes its tags (as far as python3 can tell), loads nothing from elsewhere
    head -n 1 "$1" | grep -q '<!DOCTYPE html>' && tail -n 1 "$1" | grep -q '</html>' || return 1
    ! grep -qiE '(src|href|url)[=(]["'\'']?(https?:|//|file:|[a-z0-9_./-]+\.(png|jpg|css|js))' "$1" || return 1
    ! grep -qi '<script' "$1" || return 1
    ! command -v python3 > /dev/null || python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$1"
}

# The whole demo. Guessing would be right in 1 of 13.
demo 0 -o "$dir/page.html"
check "best match right for 80 % of the unseen views" at_least 80 'best match right (rank-1)' 24
check "right ones accepted" at_least 75 'accepted as the right one' 24
check "strangers rejected" at_least 85 'never enrolled and rejected' 12
check "the threshold is derived" grep -q '^threshold 0\.[0-9]*, from 52 enrolled views left out' "$dir/out"
check "three networks" [ "$(grep -c 'floats .* ms per image' "$dir/out")" -eq 3 ]
alone() { sed -n 's/.*right alone: \([0-9]*\) of \([0-9]*\)/\1 \2/p' "$dir/out"; }
far_above_chance() { [ "$(alone | awk '$1 >= 0.6 * $2' | wc -l)" -eq 3 ]; }
check "each network alone is far above chance" far_above_chance
check "the page is complete" complete "$dir/page.html"
check "says that the weights are synthetic" grep -q 'weights are synthetic' "$dir/page.html"
check "says how to get real ones" grep -q 'models/get' "$dir/page.html"
check "says where the threshold comes from" grep -q 'left out in turn' "$dir/page.html"
check "contains every image" [ "$(grep -o 'src="data:image/jpeg;base64,/9j/' "$dir/page.html" | wc -l)" -ge 96 ]
check "no temporary file" [ ! -e "$dir/page.html.part" ]

# Grouping without names: sixteen animals, and a page with a question for each doubtful pair.
bcubed() { awk '/^BCubed/ { exit !($7 >= 0.8) } END { if (!NR) exit 1 }' "$dir/out"; }
check "BCubed F of at least 0.8" bcubed
check "about 16 groups" grep -qE '^96 crops in (1[3-9]|2[0-4]) groups at threshold 0\.' "$dir/out"
check "the page of the groups is named" \
    grep -q "^page of the groups, with questions: $dir/page-groups.html\$" "$dir/out"
check "it contains every image" [ "$(grep -o '"/9j/' "$dir/page-groups.html" | wc -l)" -eq 96 ]
check "it asks" grep -q '"doubts": \[\[[0-9]*,[0-9]*,0\.' "$dir/page-groups.html"

# The video: a separate page, with links from and to the first page.
if command -v ffmpeg > /dev/null; then
    film=$dir/page-film.html
    check "the page of the film is named" grep -q "^page of the video: $film\$" "$dir/out"
    check "it is complete" complete "$film"
    check "the first page links to it" grep -q '<a href="page-film.html">' "$dir/page.html"
    check "and it links back" grep -q '<a href="page.html">' "$film"
    check "the film is in it" grep -q 'src="data:video/webm;base64,GkXf' "$film"
    check "crops are in it" [ "$(grep -o 'src="data:image/jpeg;base64,/9j/' "$film" | wc -l)" -ge 20 ]
    tracks() { sed -n 's|.*<b>\([0-9]*\) / \([0-9]*\)</b><span>tracks follow one deer only.*|\1 \2|p' "$film"; }
    true_tracks() { tracks | (read -r right all && [ "$all" -ge 6 ] && [ $((right * 10)) -ge $((all * 8)) ]); }
    check "8 of 10 tracks follow one deer" true_tracks
else
    check "without ffmpeg it says so" grep -q '^no video, because ffmpeg is not installed' "$dir/out"
    check "and the first page has no link to it" [ "$(grep -c 'page-film.html' "$dir/page.html")" = 0 ]
fi
b0=$PWD/build/demo/efficientnet_b0.safetensors pictures=$PWD/build/demo/pictures

# A folder of the user's own, with odd names, strangers without a folder, and one damaged file.
mkdir -p "$dir/own/A & <B>" "$dir/own/it's" "$dir/own/unknown"
cp "$pictures"/Birch/view-[123].png "$dir/own/A & <B>"
cp "$pictures"/Maple/view-[123].png "$dir/own/it's"
cp "$pictures"/Spruce/view-1.png "$dir/own/unknown/who.png"
demo 0 -m "$b0" -o "$dir/own.html" "$dir/own"
check "there is no video page" [ ! -e "$dir/own-film.html" ]
check "one view of each is held back" grep -q '^best match right (rank-1): [0-9] of 2' "$dir/out"
check "the stranger counts" grep -q '^never enrolled and rejected: [01] of 1' "$dir/out"
check "names are escaped" complete "$dir/own.html"
check "and shown" grep -q 'A &amp; &lt;B>' "$dir/own.html"
demo 0 -m "$b0" -o "$dir/again.html" "$dir/own"
for page in own again; do # without the milliseconds, which differ
    sed 's/<td>[0-9.]*<\/td><\/tr>//' "$dir/$page.html" > "$dir/$page.still"
done
check "a second run writes the same page" cmp "$dir/own.still" "$dir/again.still"
head -c 3000 "$pictures/Oak/view-1.png" > "$dir/own/it's/cut.png"
demo 1 -m "$b0" -o "$dir/own.html" "$dir/own"
check "a damaged image is named" grep -q 'cut.png' "$dir/err"
check "and the rest is done" complete "$dir/own.html"

# One flat folder: each image against the others, without decisions, because nothing says who is who.
mkdir "$dir/flat"
for name in Birch Maple Oak; do cp "$pictures/$name/view-1.png" "$dir/flat/$name.png"; done
cp "$pictures/Maple/view-2.png" "$dir/flat/who.png"
demo 0 -m "$b0" -o "$dir/flat.html" "$dir/flat"
check "every image gets its best match" [ "$(grep -c '\.png ' "$dir/out")" -eq 4 ]
check "the other Maple is found" grep -q '^who.png  *Maple ' "$dir/out"
check "there is no threshold" grep -q '^no threshold' "$dir/out"
check "and there are no groups" grep -q '^no groups, because no threshold could be derived' "$dir/out"
check "the flat page is complete" complete "$dir/flat.html"

# What cannot be done is reported, with status 2 and no page.
mkdir "$dir/empty"
echo nothing > "$dir/bad.safetensors"
demo 2 -o "$dir/no.html" "$dir/nowhere"
check "no such folder" grep -q 'is not a folder' "$dir/err"
demo 2 -m "$b0" -o "$dir/no.html" "$dir/empty"
check "an empty folder" grep -q 'no images in this folder' "$dir/err"
demo 2 -m "$dir/bad.safetensors" -o "$dir/no.html" "$dir/flat"
check "bad weights" grep -q 'bad.safetensors' "$dir/err"
demo 2 -x
check "usage" grep -q 'sh tools/demo FOLDER' "$dir/err"
check "no page was left" [ ! -e "$dir/no.html" ]

# Without apt and without permission to install, the missing packages are named.
PATH_BEFORE=$PATH
mkdir "$dir/bin"
for tool in sh env sed dirname id grep cat; do ln -s "$(command -v $tool)" "$dir/bin/$tool"; done
PATH=$dir/bin
"$dir/bin/sh" tools/demo -o "$dir/no.html" > "$dir/out" 2> "$dir/err"
status=$?
PATH=$PATH_BEFORE
check "without a compiler: status 2 (was $status)" [ $status -eq 2 ]
check "and the packages are named" grep -q 'gcc.*make.*libstb-dev' "$dir/err"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
