# t_cli_count.sh: reid cluster --count and reid review --count: the questions and their stability, answers from the
# journal, too few answers, links; and names for reid gallery add --groups.
. tests/lib/cli_lib.sh
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
need_eval_files

# 60 individuals with 1 to 8 crops each.
awk 'BEGIN { for (k = 0; k < 60; k++) for (i = 0; i < 1 + k * 7 % 8; i++) print "p" k "_" i ".png p" k }' >list
"$EVAL_FILES" crops.npy 32 5 0.9 <list >/dev/null
picture p0_0.png 8 8 1 # a page without any image is refused
all=$(wc -l <list)
count() { status=$1; shift; run "$status" cluster crops.npy --threshold 0.4 --count "$@"; }
# json_holds EXPRESSION: of d, the JSON on stdout
json_holds() { check "$1" python3 -c 'import json, sys
d = json.load(open("stdout"))
assert eval(sys.argv[1]), d' "$1"; }

# answer PAGE.html JOURNAL [HOW_MANY]: answers the page's questions by the identities in the ids
answer() {
    python3 - "$@" <<'END'
import json, re, sys, zlib
data = json.loads(re.search(r'id="data" nonce="[^"]*">(.*?)</script>', open(sys.argv[1]).read(), re.S).group(1))
who = [name.split("_")[0] for name in data["ids"]]
doubts = data["layer"]["doubts"]
asked = doubts[:int(sys.argv[3])] if len(sys.argv) > 3 else doubts
with open(sys.argv[2], "w") as journal:
    for seq, (a, b, score) in enumerate(asked):
        what = "same" if who[a] == who[b] else "different"
        line = '{"seq": %d, "what": "%s", "crops": ["%s", "%s"], "by": "eve", "when": "%s", "models": ["%s"]' % (
            seq + 1, what, data["ids"][a], data["ids"][b], "2026-05-31T06:30:00Z", "0" * 32)
        journal.write('%s, "crc": "%08x"}\n' % (line, zlib.crc32(line.encode())))
print(len(asked))
END
}
ask() { run 0 review crops.npy --threshold 0.4 --count --decisions "$@"; } # ask JOURNAL --html PAGE ...

# Without answers, it says how many are needed.
count 1
prints "^50 of $all crops were drawn, with [0-9]* pairs; 0 crops have all their answers, [0-9]* answers are missing"
prints '^too few answers: 10 crops must have all answers; give at least 198 more with reid review --count$'
count 1 --json
json_holds 'd["state"] == "too few answers"'
json_holds 'd["individuals"] == None'
json_holds "d['crops'] == $all"
json_holds 'd["sample"] == 50'
needed=$(python3 -c 'import json; print(json.load(open("stdout"))["needed"])')

# With all answers, the interval contains 60.
ask none.jsonl --html page.html
asked=$(answer page.html decisions.jsonl)
check "about 50 times 20 pairs ($asked)" [ "$asked" -gt 700 ] && check "at most" [ "$asked" -le 1100 ]
count 0 --decisions decisions.jsonl --json
json_holds 'd["open"] == 0'
json_holds 'd["state"] == "good"'
json_holds 'd["low"] <= 60 <= d["high"] and d["high"] - d["low"] < 30'
cp "$out" wanted
count 0 --decisions decisions.jsonl
prints '^[0-9.]* individuals, 95 % interval [0-9.]* to [0-9.]*; scores alone give [0-9]*$'
prints '^the questions reached about [0-9]* % of the crops of the same individual$'

# The questions do not depend on answers, order of rows or threads; only on the seed and the sample sizes.
ask decisions.jsonl --html again.html
answer again.html again.jsonl >/dev/null
same again.jsonl decisions.jsonl
for more in '--threads 1' '--threads 3' '--isa scalar'; do
    # shellcheck disable=SC2086 # several words
    count 0 --decisions decisions.jsonl --json $more
    same "$out" wanted
done
count 1 --decisions decisions.jsonl --seed 1
ask none.jsonl --html other.html --seed 1
answer other.html other.jsonl >/dev/null
check "another seed asks other pairs" [ "$(cmp -s other.jsonl decisions.jsonl; echo $?)" = 1 ]
count 0 --decisions decisions.jsonl --sample 30 --json # a smaller sample is a part of the larger one
json_holds 'd["open"] == 0'
json_holds 'd["counted_crops"] == 30'
count 0 --decisions decisions.jsonl --per-crop 10 --json
json_holds 'd["open"] == 0'
count 0 --decisions decisions.jsonl --sample 60 --json # ten more crops: those without answers do not count
json_holds '50 <= d["counted_crops"] < 60 and d["open"] > 0'

# Exactly as many answers as it requests, and one fewer.
answer page.html some.jsonl "$asked" >/dev/null
at=1
while [ $at -le "$asked" ]; do # where ten crops are complete, by halving
    middle=$(((at + asked) / 2))
    answer page.html some.jsonl $middle >/dev/null
    "$REID" cluster crops.npy --threshold 0.4 --count --decisions some.jsonl >"$out" 2>"$err"
    grep -q '^too few' "$out" && at=$((middle + 1)) || asked=$((middle - 1))
done
check "$at answers do, $needed were said to be needed" [ "$at" -le "$needed" ]
answer page.html some.jsonl $at >/dev/null
count 0 --decisions some.jsonl
answer page.html some.jsonl $((at - 1)) >/dev/null
count 1 --decisions some.jsonl

# Too few questions for the scores, and no individual seen twice.
"$EVAL_FILES" poor.npy 32 5 3 <list >/dev/null
run 0 review poor.npy --threshold 0.4 --count --per-crop 8 --decisions none.jsonl --html poor.html
answer poor.html poor.jsonl >/dev/null
run 1 cluster poor.npy --threshold 0.4 --count --per-crop 8 --decisions poor.jsonl
prints '^too few questions for such poor scores: they reached about [0-9]* % .*; give --per-crop 16$'
sed 's/.png p.*/.png/; s/\(.*\)/\1 \1/' list >alone
"$EVAL_FILES" alone.npy 32 5 0.1 <alone >/dev/null
run 0 review alone.npy --threshold 0.4 --count --decisions none.jsonl --html alone.html
answer alone.html alone.jsonl >/dev/null
python3 - <<'END'
import zlib
lines = [line.split(', "crc"')[0].replace('"same"', '"different"') for line in open("alone.jsonl")]
open("alone.jsonl", "w").writelines('%s, "crc": "%08x"}\n' % (line, zlib.crc32(line.encode())) for line in lines)
END
run 1 cluster alone.npy --threshold 0.4 --count --decisions alone.jsonl
prints '^too few matches: no pair showed the same individual'

# Pairs linked by tracks or images are not asked about.
{ echo id,track; sed -n 's/^\(p[0-9]_[0-9].png\) p\([0-9]\)$/\1,\2/p' list; } >tracks.csv
ask none.jsonl --html tracks.html --tracks tracks.csv
answer tracks.html tracks.jsonl >/dev/null
check "nobody asks about a track" [ "$(grep -c '"p\([0-9]\)_.*"p\1_' tracks.jsonl)" = 0 ]
count 0 --decisions tracks.jsonl --tracks tracks.csv --json
json_holds 'd["low"] <= 60 <= d["high"]'

# Nor are pairs of one burst: p0 to p9 are seen within seconds, p10 to p19 too, but with another animal in each photo;
# between photos of p20 to p29 are six seconds.
python3 - <<'END'
import json, shutil
names = [line.strip() for line in open("crops.ids.txt")]
cameras, times = [], []
for name in names:
    k, i = map(int, name[1:].split(".")[0].split("_"))
    cameras.append("cam%d" % (k // 2 if 10 <= k < 20 else k) if k < 30 else "")
    gap = 6 if k >= 20 else 3
    times.append("2026-05-%02dT06:30:%02d.500Z" % (1 + k // 10, gap * i) if k < 30 else "")
meta = dict(json.load(open("crops.meta.json")), cameras=cameras, times=times)
json.dump(meta, open("burst.meta.json", "w"))
shutil.copy("crops.npy", "burst.npy"), shutil.copy("crops.ids.txt", "burst.ids.txt")
END
run 0 review burst.npy --threshold 0.4 --count --decisions none.jsonl --html burst.html --sample 250
answer burst.html burst.jsonl >/dev/null
inside() { grep -c "\"p\($1[0-9]\)_[^\"]*\", \"p\1_" burst.jsonl; }
check "nobody asks about a burst" [ "$(inside '')" = 0 ]
check "of photos with two animals, people are asked" [ "$(inside 1)" -gt 0 ]
check "and about photos that are further apart" [ "$(inside 2)" -gt 0 ]
run 0 cluster burst.npy --threshold 0.4 --count --decisions burst.jsonl --json --sample 250
json_holds 'd["low"] <= 60 <= d["high"] and d["open"] == 0'

# What is refused.
count 2 -o groups.csv
says 'cluster: --count makes no groups: remove -o'
count 2 --add groups.csv
says 'remove --add'
run 2 cluster crops.npy --threshold 0.4 --sample 10
says 'cluster: --sample, --per-crop and --seed belong to --count'
run 2 review crops.npy --threshold 0.4 --seed 3 --decisions d.jsonl
says 'review: --sample, --per-crop and --seed'
count 2 --sample 1
says 'takes N, not "1"'
head -n 1 list >one
"$EVAL_FILES" one.npy 32 5 0.9 <one >/dev/null
run 2 cluster one.npy --threshold 0.4 --count
says 'needs more than one crop'

# Names into a gallery.
run 0 cluster crops.npy --threshold 0.4 -o groups.csv
run 0 gallery create known.gallery --like crops.npy
run 2 gallery add known.gallery crops.npy --groups groups.csv
says 'groups.csv: no group has a name: give some with reid review'
name() { # name GROUP NAME FILE.csv
    awk -F, -v OFS=, -v group="$1" -v name="$2" 'NR > 1 && $2 == group { $3 = name } { print }' "$3" >named
    mv named "$3"
}
cp groups.csv names.csv
name 2 Ann names.csv
name 5 'Bob & Co' names.csv
ann=$(grep -c ',Ann,' names.csv) bob=$(grep -c ',Bob & Co,' names.csv)
run 0 gallery add known.gallery crops.npy --groups names.csv
prints "^added $((ann + bob)) crops of 2 named individuals; already in the gallery: 0; left out without a name: \
$((all - ann - bob))\$"
run 0 gallery list known.gallery --identity
printf 'Ann\t%d\nBob & Co\t%d\n' "$ann" "$bob" >wanted
same "$out" wanted
name 7 Cid names.csv
run 0 gallery add known.gallery crops.npy --groups names.csv --json
prints "^{\"added\": $(grep -c ',Cid,' names.csv), \"known\": $((ann + bob)), \"individuals\": 3, "
cp known.gallery before.gallery
name 9 Ann names.csv
run 2 gallery add known.gallery crops.npy --groups names.csv
says 'names.csv: groups 2 and 9 are both called Ann: rename one of them in reid review'
cp groups.csv names.csv
name 5 Dee names.csv
name 9 Eve names.csv
run 2 gallery add known.gallery crops.npy --groups names.csv
says 'named Bob & Co in the gallery, but Dee in --groups'
cp groups.csv names.csv
name 9 Eve names.csv
echo 'elsewhere.png,9,Eve,,,' >>names.csv
run 2 gallery add known.gallery crops.npy --groups names.csv
says 'names.csv: crop elsewhere.png (Eve) is in none of the files'
"$EVAL_FILES" other.npy 16 5 0.9 <list >/dev/null
run 2 gallery add known.gallery other.npy --groups names.csv
run 2 gallery add known.gallery --groups names.csv
says '--groups needs the files of embeddings'
run 2 gallery search known.gallery --groups names.csv crops.npy
says 'gallery search: --groups cannot be used here, only with add'
same known.gallery before.gallery
run 0 cluster known.gallery --threshold 0.4 -o again.csv --own-labels
prints '^ARI 1.0000'
no_leftovers
finish
