# t_cli_stats.sh: --stats: every stage with its numbers, the bottleneck that a run was made to have, JSON that a parser
# takes, and that results are the same with it.
. tests/lib/cli_lib.sh

b0 w.safetensors
mkdir few
for i in 1 2 3 4 5; do picture few/$i.png 40 30 "$i"; done
echo no >few/6.png

run 1 embed -m w.safetensors --size 32x32 --device cpu few -o plain.npy
run 1 embed -m w.safetensors --size 32x32 --device cpu few -o stats.npy --stats --decoders 2 --threads 1
same plain.npy stats.npy
for stage in read decode resize 'wait for room' 'wait for images' compute write; do says "^$stage  "; done
says '^STAGE .*ITEMS .*PER S .*BUSY .*WAITING$'
says '^read  *6 pictures '
says '^compute  *6 rows  *[0-9.]* *[0-9.]*%  *[0-9.]*$'
says 'threads: 2 to read and decode, 1 to compute; '
says '^The bottleneck is [a-z]*\. What would help: .*\.$'

# Large images and a small network: decoding is the bottleneck, even by stb_image.
mkdir large
picture large/1.jpg 3000 2000 1
for i in 2 3 4 5 6; do cp large/1.jpg large/$i.jpg; done
run 0 embed -m w.safetensors --size 32x32 --device cpu large -o large.npy --stats --jpeg stb --decoders 1
says 'The bottleneck is decode. What would help: libturbojpeg'
# Small images and a slow network: computing is the bottleneck.
run 0 embed -m w.safetensors --size 320x320 --device cpu few/1.png few/2.png few/3.png --stats --threads 1
says 'The bottleneck is compute\. What would help: '
check 'rows go to stdout alone' [ "$(wc -l <"$out")" = 3 ]

run 1 embed -m w.safetensors --size 32x32 --device cpu few -o json.npy --stats --json -q
grep '^{"seconds"' "$err" >line
lines line 1
lines "$out" 1
if command -v python3 >/dev/null; then
    check 'JSON with shares that make sense' python3 - line <<'END'
import json, sys
s = json.load(open(sys.argv[1]))
names = ["read", "decode", "resize", "wait for room", "wait for images", "compute", "write"]
assert [stage["name"] for stage in s["stages"]] == names, s
assert s["seconds"] > 0 and s["bottleneck"] in names and s["advice"] and s["decoders"] >= 1 and s["threads"] >= 1
for stage in s["stages"]:
    assert 0 <= stage["busy"] <= 1.001 and abs(stage["items"] / s["seconds"] - stage["per_second"]) < 1, stage
busy = {stage["name"]: stage["busy"] for stage in s["stages"]}
assert busy["wait for images"] + busy["compute"] + busy["write"] <= 1.001
assert busy["read"] + busy["decode"] + busy["resize"] + busy["wait for room"] <= 1.001
assert s["stages"][0]["items"] == s["stages"][5]["items"] == 6 and s["stages"][5]["waiting"] >= 1
END
fi

run 0 match -m w.safetensors --size 32x32 --device cpu --gallery plain.npy few/1.png --stats --threshold 0
says '^search  *1 rows'
run 0 gallery create -m w.safetensors --size 32x32 --device cpu g.reid
run 0 gallery add g.reid -m w.safetensors --size 32x32 --device cpu few/1.png few/2.png --stats
says '^store  *2 rows'
run 0 gallery search g.reid -m w.safetensors --size 32x32 --device cpu few/1.png --stats
says '^search  *1 rows'
run 2 gallery list g.reid --stats
says 'gallery list: --stats cannot be used here, only with add search'
run 2 inspect w.safetensors --stats
says 'stats'
no_leftovers
finish
