# t_cli_condition.sh: reid inspect --condition: growth is that of two runs of reid embed, activations beyond FP16 cause
# a warning, and files that are not images are named.
[ -x build/seeded ] || make -s build/seeded || exit 1
. tests/lib/cli_lib.sh
b0 w.safetensors
picture a.png 60 50 1
picture b.png 50 60 2
mkdir folder
cp b.png folder

run 0 inspect --condition w.safetensors a.png folder
prints '^LARGEST      STORED BY              GROWTH     IMAGE$'
says 'activations reach [0-9.e+]*, beyond FP16.s limit of 65504: on a GPU use --precision bf16 '
prints '^largest activation [0-9.e+]* (.*), [0-9.e+]* % of FP16.s limit; a change of 1e-06 in every pixel '
lines "$out" 4
run 0 inspect --condition --json w.safetensors a.png folder
cp "$out" said.json
run 0 inspect --json w.safetensors
cp "$out" network.json
run 0 embed -m w.safetensors --isa auto a.png b.png -o as_it_is.npy
run 0 embed -m w.safetensors --preset "$(python3 -c 'import json; print(json.load(open("network.json"))["preset"])') \
std=0.229000229,0.223999776,0.225000225" a.png b.png -o moved.npy
check "growth is the distance of the embeddings over the change" python3 -c '
import json, math, struct
def rows(name):
    data = open(name, "rb").read()
    return [struct.unpack("<1280f", data[-2 * 5120 + 5120 * i:][:5120]) for i in range(2)]
a, b = rows("as_it_is.npy"), rows("moved.npy")
said = json.load(open("said.json"))
want = [math.dist(x, y) / said["step"] for x, y in zip(a, b)]
got = [p["growth"] for p in said["pictures"]]
assert all(abs(x - y) <= 1e-3 * y for x, y in zip(got, want)), (got, want)
assert max(got) == said["growth"] and said["largest"] == max(p["largest"] for p in said["pictures"])
assert said["fp16_most"] == 65504 and said["failed"] == 0'

# A network whose activations stay small.
"$repository"/build/seeded --net efficientnet_b0 -o small.safetensors >/dev/null || exit 1
run 0 inspect --condition small.safetensors --size 64x64 a.png
prints '^largest activation [0-9.]* (.*)'
check "nothing to warn about" [ ! -s "$err" ]

: >empty.png
run 1 inspect --condition w.safetensors a.png empty.png
says 'empty.png: the file is empty'
run 2 inspect --condition w.safetensors empty.png
says 'no image could be used'
silent
run 2 inspect --condition w.safetensors
says 'expected a file of weights and at least one image'
run 2 inspect w.safetensors a.png
says 'exactly one file of weights'
finish
