# t_cli_convert.sh: reid convert on files of each kind made without Python, then, where there is a Python with torch, on
# what PyTorch itself writes (convert_torch.py). Damage and names of tensors: t_checkpoint.c, t_dialects.c.
. tests/lib/cli_lib.sh
top=$OLDPWD
[ -x "$top/build/seeded" ] || make -s -C "$top" build/seeded || exit 1
need_checkpoint_files
"$top/build/seeded" --extras --net efficientnet_b0 -o b0.st || exit 1
mv b0.st b0.safetensors
print_of() { sed -n 's/^fingerprint *//p' "$1"; }
run 0 inspect b0.safetensors
cp "$out" wanted
wanted=$(print_of wanted)
check "a fingerprint to compare with" [ ${#wanted} = 32 ]

# Every format holds the same network.
while read -r kind format; do
    "$CHECKPOINT_FILES" $kind b0.safetensors $kind.pth
    run 0 convert $kind.pth $kind.safetensors
    prints "^format       $format, 360 tensors$"
    cp "$out" report
    check "$kind: same fingerprint" [ "$(print_of report)" = "$wanted" ]
    run 0 inspect $kind.safetensors
    check "$kind: inspect finds it, too" [ "$(print_of "$out")" = "$wanted" ]
    prints '^preset       effnet-b0 (the network.s default)'
    no_leftovers
done <<END
zip PyTorch zip, pickle protocol 2
stream PyTorch before 1.6 (stream), pickle protocol 2
tar PyTorch before 0.2 (tar), pickle protocol 2
wts .wts text
END
run 0 convert zip.pth again.safetensors
same zip.safetensors again.safetensors
prints '^file         zip.pth ([0-9]* bytes)$'
prints '^format       PyTorch zip, pickle protocol 2, 360 tensors$'
prints '^layout       torchvision EfficientNet$'
prints '^network      efficientnet_b0 (found from its tensors)$'
prints '^preset       effnet-b0 (the network.s default; the file names none)$'
prints '^tensors      309 used, 0 missing, 51 carried$'
prints '^written      again.safetensors ([0-9]* bytes)$'
check "nothing on stderr" [ ! -s "$err" ]
run 0 convert wts.pth again.safetensors -v
prints '^    reshaped   features.0.0.weight: 864 values to \[32, 3, 3, 3\]$'
prints '^    dropped    features.0.1.num_batches_tracked: a training counter$'

# Wrappers, options, metadata.
"$CHECKPOINT_FILES" zip b0.safetensors wrapped.pth module.backbone. state_dict
run 0 convert wrapped.pth out.safetensors --preset torchreid
prints '360 tensors in state_dict with prefix module.backbone.$'
prints '^preset       torchreid (given as option)$'
run 0 inspect out.safetensors
prints '^preset       torchreid (named in the file)$'
prints '^network      efficientnet_b0 (named in the file)$'
run 0 inspect out.safetensors --net efficientnet_b0
prints '^network      efficientnet_b0 (given as option)$'
run 0 convert out.safetensors second.safetensors
prints '^network      efficientnet_b0 (named in the file)$'
prints '^format       safetensors, 360 tensors$'
prints '^preset       torchreid (named in the file)$'
run 0 convert wrapped.pth
prints '^tensors      309 used'
check "no file for an account" [ -z "$(sed -n '/written/p' "$out")" ]
run 0 convert wrapped.pth changed.safetensors --preset mega --size 224x224 --filter bicubic --mean 0.5 --std .5,.5,.25
prints '^preset       mega filter=bicubic mean=0.5 std=.5,.5,.25 size=224x224 (given as option)$'
run 0 inspect changed.safetensors
prints '^preset       mega filter=bicubic mean=0.5 std=.5,.5,.25 size=224x224 (named in the file)$'
prints '^input        224 x 224 (height x width), resized straight to it$'
prints '^pixels       bicubic, red first, times 0.00392157, mean 0.5 0.5 0.5, std 0.5 0.5 0.25$'
changed=$(print_of "$out")
run 0 inspect out.safetensors --preset 'mega filter=bicubic mean=0.5 std=.5,.5,.25' --size 224x224
check "the same as with options" [ "$(print_of "$out")" = "$changed" ]
run 0 inspect changed.safetensors --json
prints '"preset": "mega+", .*"preprocessing": "mega filter=bicubic .*", "filter": "bicubic", "order": "rgb"'
prints '"mean": \[0.5, 0.5, 0.5\], "std": \[0.5, 0.5, 0.25\]'
run 0 convert changed.safetensors twice.safetensors --crop 0.9
prints '^preset       mega filter=bicubic .* size=224x224 crop=0.9 (changed by options)$'
run 0 inspect twice.safetensors --size 112x112
prints '^input        112 x 112 (height x width), cropped from the centre after resizing the short side to 124$'
run 2 inspect twice.safetensors --resize 100
says 'a short side of 100 is too short for a crop of 224 x 224'
run 2 inspect twice.safetensors --filter lanczos
says '"filter=lanczos" is not one of filter=bilinear, '
run 2 inspect twice.safetensors --preset nope
says 'no preset is named "nope"; the presets are: torchvision-v1, '
run 0 convert --json wrapped.pth out.safetensors
prints '"converted": true, "error": null, "format": "PyTorch zip, pickle protocol 2", "group": "state_dict"'
prints '"tensors": {"missing": 0, "used": 309, "reshaped": 0, "carried": 51, "dropped": 0, "neck": 0, "unknown": 0'
run 2 convert --json --net resnet50 wrapped.pth out2.safetensors
prints '"converted": false, "error": "'
absent out2.safetensors
run 2 convert --json nothing.pth
prints '{"file": "nothing.pth", "converted": false, "error": "cannot open: No such file or directory", "format": null'

# A failed conversion leaves nothing behind, and an older file unchanged.
bad() { # PATTERN ARGUMENT...
    pattern=$1
    shift
    run 2 convert "$@"
    says "$pattern"
    no_leftovers
}
echo old >old.safetensors
head -c 100000 zip.pth >cut.pth
bad 'cut.pth: the zip archive has no directory at its end; was it downloaded completely?' cut.pth old.safetensors
head -c 100000 stream.pth >cut.pth
bad 'cut.pth: storage .* more than the file holds; was it downloaded completely?' cut.pth old.safetensors
head -c 100000 tar.pth >cut.pth
bad 'cut.pth: tar member "storages" is cut off' cut.pth old.safetensors
head -c 100000 wts.pth >cut.pth
bad 'cut.pth: tensor ".*": value [0-9]* of [0-9]* is not a hexadecimal word' cut.pth old.safetensors
head -c 100000 b0.safetensors >cut.pth
bad 'cut.pth: safetensors header: .*was it downloaded completely?' cut.pth old.safetensors
check "the old file is as it was" grep -qx old old.safetensors
bad 'expected a checkpoint and the name of the output'
bad 'expected a checkpoint and the name of the output' a b c
bad 'must end in .safetensors' zip.pth out.pth
bad 'must end in .safetensors' zip.pth .safetensors
bad 'both input and output' old.safetensors ./old.safetensors
bad 'no preset is named "nope"' --preset nope zip.pth x.safetensors
bad 'no network is named "nope"' --net nope zip.pth x.safetensors
bad 'no network was found under the key "nope"' --key nope zip.pth x.safetensors
bad 'zip.pth: features.* resnet50 has no such layer; the file holds another network' --net resnet50 zip.pth \
    x.safetensors
bad 'unknown option --gallery' --gallery x zip.pth
bad 'nothing.pth: cannot open' nothing.pth x.safetensors
mkdir folder full.safetensors
bad 'folder: is a folder; expected a file' folder x.safetensors
bad 'full.safetensors: is a folder' zip.pth full.safetensors
bad 'nowhere/x.safetensors: cannot write here: No such file' zip.pth nowhere/x.safetensors
: >empty.pth
bad 'empty.pth: the file is empty' empty.pth x.safetensors
printf 'version https://git-lfs.github.com/spec/v1\n' >lfs.pth
bad 'lfs.pth: this is a Git LFS pointer' lfs.pth x.safetensors
echo '<!DOCTYPE html>' >page.pth
bad 'page.pth: this is a web page' page.pth x.safetensors
absent x.safetensors
mkfifo pipe
bad 'pipe: is not a regular file' pipe x.safetensors
(
    ulimit -f 2000 # blocks of 512 bytes: a full disk
    "$REID" convert zip.pth full_disk.safetensors >"$out" 2>"$err"
    echo $? >status
)
check "a full disk is an error" grep -qx 2 status
says 'zip.pth: full_disk.safetensors: cannot write: File too large'
absent full_disk.safetensors
no_leftovers
"$REID" convert zip.pth x.safetensors >/dev/full 2>"$err"
check "a full stdout is an error" [ $? = 2 ]

# Interrupted: gone without a trace.
"$REID" convert wts.pth killed.safetensors >"$out" 2>"$err" &
sleep 0.1
kill -TERM $! 2>/dev/null
wait $!
status=$?
check "stopped, or done before" [ $status = 143 -o $status = 0 ]
no_leftovers

# --- several networks in one file, and preprocessing in it or beside it ---
if command -v python3 >/dev/null 2>&1; then
cat >join.py <<'PYTHON'
"""join.py OUT [PREFIX FILE]... [NAME=V,V,V]...: the tensors of safetensors files behind prefixes, and small ones."""
import json, struct, sys
header, data, rest = {}, bytearray(), sys.argv[2:]
def add(name, shape, raw):
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
    data.extend(raw)
while rest:
    if "=" in rest[0]:
        name, values = rest.pop(0).split("=")
        values = [float(v) for v in values.split(",")]
        if name.startswith("bn:"):
            add(name[3:], [2048], struct.pack("<2048f", *values * 2048))
        else:
            add(name, [1, 3, 1, 1], struct.pack("<3f", *values))
        continue
    prefix, file = rest.pop(0), open(rest.pop(0), "rb").read()
    size = struct.unpack("<Q", file[:8])[0]
    for name, t in json.loads(file[8:8 + size]).items():
        if name != "__metadata__" and not (prefix == "backbone." and name.startswith("fc.")):
            add(prefix + name, t["shape"], file[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]])
text = json.dumps(header).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + data)
PYTHON
"$top/build/seeded" --net efficientnet_b0 -o one.st && "$top/build/seeded" --net efficientnet_b0 --seed 2 -o two.st
mv one.st one.safetensors
mv two.st two.safetensors
fingerprint() { "$REID" inspect "$1" | sed -n 's/^fingerprint *//p'; }
# converts KEY FILE WANTED: with that key, it is that network
converts() {
    run 0 convert --key "$1" "$2" key.safetensors
    check "$2 --key $1 is $3" [ "$(fingerprint key.safetensors)" = "$(fingerprint "$3")" ]
    check "nothing else is said of $2 --key $1" [ ! -s "$err" ]
}
# Equals: none is taken without --key, and what is printed is what it takes.
python3 join.py equals.safetensors student.backbone. one.safetensors teacher.backbone. two.safetensors || exit 1
run 2 convert equals.safetensors none.safetensors
says 'the file holds several networks, and none of them is the obvious one; choose with --key student.backbone, or anot'
says ' another of: teacher.backbone$'
absent none.safetensors
converts student.backbone equals.safetensors one.safetensors
converts teacher.backbone equals.safetensors two.safetensors
# An average is second to what it averages; it is named once, by its key.
python3 join.py moco.safetensors module.encoder_k. two.safetensors module.encoder_q. one.safetensors || exit 1
run 0 convert moco.safetensors moco_q.safetensors
says '^reid: moco.safetensors: the file also contains module.encoder_k, which was not used; --key selects a group$'
check "MoCo's query encoder is taken" [ "$(fingerprint moco_q.safetensors)" = "$(fingerprint one.safetensors)" ]
converts module.encoder_k moco.safetensors two.safetensors
"$CHECKPOINT_FILES" zip moco.safetensors moco.pth '' state_dict
run 0 convert moco.pth moco_q.safetensors
says 'the file also contains state_dict.module.encoder_k, which was not used'
converts state_dict.module.encoder_k moco.pth two.safetensors
converts module.encoder_q moco.pth one.safetensors

# fast-reid's pixel_mean and pixel_std: taken if they are not the preset's.
"$top/build/seeded" --net resnet50 -o r50.plain && mv r50.plain r50.safetensors
neck='bn:heads.bottleneck.0.weight=1 bn:heads.bottleneck.0.bias=0 bn:heads.bottleneck.0.running_mean=0'
fastreid() { # NAME MEAN STD
    # shellcheck disable=SC2086 # words
    python3 join.py "$1" backbone. r50.safetensors $neck bn:heads.bottleneck.0.running_var=1 pixel_mean="$2" \
        pixel_std="$3" || exit 1
}
fastreid usual.safetensors 123.675,116.28,103.53 58.395,57.12,57.375
run 2 convert usual.safetensors usual_out.safetensors
says "usual.safetensors: fast-reid's file does not say how it pools: put the config.yaml of its training next to "
run 0 convert usual.safetensors usual_out.safetensors --net resnet50-fastreid
prints "^preset       fastreid (fast-reid's input)$"
check "nothing is said of the usual ones" [ ! -s "$err" ]
fastreid half.safetensors 127.5,127.5,127.5 127.5,127.5,127.5
run 0 convert half.safetensors half_out.safetensors --net resnet50-fastreid
prints '^preset       fastreid mean=0.5,0.5,0.5 std=0.5,0.5,0.5 (with the mean and standard deviation in the file)$'
run 0 inspect half_out.safetensors
prints '^pixels  .* mean 0.5 0.5 0.5, std 0.5 0.5 0.5$'
fastreid raw.safetensors 0,0,0 1,1,1
run 0 convert raw.safetensors raw_out.safetensors --net resnet50-fastreid
prints '^preset       fastreid mean=0,0,0 std=0.00392157,0.00392157,0.00392157 '
run 0 convert half.safetensors given_out.safetensors --net resnet50-fastreid --preset fastreid
says 'half.safetensors: the file says mean=0.5,0.5,0.5 std=0.5,0.5,0.5, which contradicts the preset (given as option)'
run 0 convert half.safetensors given_out.safetensors --net resnet50-fastreid --mean 0.25
prints '^preset       fastreid mean=0.5,0.5,0.5 std=0.5,0.5,0.5 mean=0.25 (changed by options)$'
says 'which contradicts the preset (changed by options)'
run 0 convert usual.safetensors gem_out.safetensors --net resnet50-fastreid-gem
prints "^pool         exponent 3, which fast-reid's code fixes, stored as pool_layer.p$"
check 'the exponent is written' grep -q '"pool_layer.p"' gem_out.safetensors

# fast-reid's configuration next to the file: the same bytes as with options. Its keys: t_fastreid_config.c.
cat >fastreid.py <<'PYTHON'
"""fastreid.py IN OUT NORM [LEFT_OUT]: a safetensors file's tensors as fast-reid names them, without one of them."""
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
def named(n):
    if n.startswith("bottleneck."):
        return "heads." + n.replace("bottleneck", sys.argv[3])
    return ("heads." if n == "pool_layer.p" else "backbone.") + n
header = {named(n): t for n, t in json.loads(data[8:8 + size]).items() if n not in ["__metadata__"] + sys.argv[4:]}
text = json.dumps(header).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
PYTHON
mkdir agw sbs old
"$top/build/seeded" --net resnet50-ibn-nl-fastreid-gem -o sbs.st
python3 fastreid.py sbs.st sbs/model.safetensors bottleneck.0 && rm -f in.st &&
    python3 fastreid.py sbs.st agw/model.safetensors bottleneck.0 pool_layer.p &&
    "$top/build/seeded" --net resnet50-bnneck -o in.st &&
    python3 fastreid.py in.st old/model.safetensors bnneck || exit 1
run 0 convert agw/model.safetensors wanted.safetensors --net resnet50-ibn-nl-fastreid-gem --size 384x128 --last-stride 2
mkdir agw/configs
printf '%s\n' '_BASE_: configs/Base-AGW.yml' 'MODEL:' '  BACKBONE:' '    WITH_IBN: True' 'INPUT:' \
    '  SIZE_TEST: [ 384, 128 ]' >agw/config.yml
printf '%s\n' 'MODEL:' '  BACKBONE:' '    DEPTH: 50x' '    LAST_STRIDE: 2' '    WITH_NL: True' '  HEADS:' \
    '    POOL_LAYER: GeneralizedMeanPooling' >agw/configs/Base-AGW.yml
run 0 convert agw/model.safetensors agw.safetensors
check "nothing else is said of AGW" [ ! -s "$err" ]
prints '^network      resnet50-ibn-nl-fastreid-gem (config.yml next to the file)$'
prints '^preset       fastreid size=384x128 (with the values in config.yml next to the file)$'
prints '^last stride  2 (config.yml next to the file)$'
prints "^pool         exponent 3, which fast-reid's code fixes, stored as pool_layer.p$"
same wanted.safetensors agw.safetensors
run 0 convert agw/model.safetensors agw.safetensors --last-stride 1 --size 128x64
prints '^preset       fastreid size=384x128 size=128x64 (changed by options)$'
prints '^last stride  1 (given as option)$'
says 'model.safetensors: config.yml says size=384x128 resize=straight filter=bicubic mean=0.485,0.456,0.406 std=0.229,0'
says ',0.224,0.225, which contradicts the preset (changed by options); the preset is used$'
run 2 convert agw/model.safetensors none.safetensors --net resnet50-ibn-nl-fastreid
says 'model.safetensors: config.yml next to the file means resnet50-ibn-nl-fastreid-gem, which contradicts --net '
run 0 convert agw/model.safetensors agw.safetensors --net resnet50-ibn-nl --allow-unused
prints '^network      resnet50-ibn-nl (given as option)$'
sed -i 's/GeneralizedMeanPooling/GlobalAvgPool/' agw/configs/Base-AGW.yml
sed -i '/SIZE_TEST/d' agw/config.yml
run 0 convert agw/model.safetensors agw.safetensors
prints '^network      resnet50-ibn-nl-fastreid (config.yml next to the file)$'
prints "^preset       fastreid (fast-reid's input)$"
sed -i 's/WITH_IBN: True/WITH_IBN: False/' agw/config.yml
run 2 convert agw/model.safetensors none.safetensors
says 'config.yml next to the file: line 4: MODEL.BACKBONE.WITH_IBN is False, but the checkpoint has instance norms$'
echo 'MODEL: {META_ARCHITECTURE: MGN}' >agw/config.yaml
run 2 convert agw/model.safetensors none.safetensors
says 'config.yaml next to the file: line 1: MODEL.META_ARCHITECTURE is MGN; convert supports Baseline|MoCo|Distiller$'
absent none.safetensors
printf '%s\n' 'MODEL:' '  HEADS:' '    POOL_LAYER: gempoolP' '  PIXEL_MEAN: [127.5, 127.5, 127.5]' 'INPUT:' \
    '  CROP:' '    ENABLED: true' '  SIZE_TEST:' '  - 256' >sbs/config.yaml
run 0 convert sbs/model.safetensors sbs.safetensors
prints '^preset       fastreid size=224x224 resize=256 mean=0.5,0.5,0.5 std=0.229,0.224,0.225 (with the values'
run 0 inspect sbs.safetensors
prints '^input        224 x 224 (height x width), cropped from the centre after resizing the short side to 256$'
prints '^pixels       bicubic, red first, times 0.00392157, mean 0.5 0.5 0.5, std 0.229 0.224 0.225$'
sed -i '/CROP/d; /ENABLED/d' sbs/config.yaml
run 2 convert sbs/model.safetensors none.safetensors
says 'config.yaml next to the file: no preset can do what INPUT says about sizes: a resize of only the short side '
run 2 convert sbs/model.safetensors none.safetensors --mean 0.5
says 'config.yaml next to the file: no preset can do what INPUT says about sizes: .*; give --size HxW$'
run 0 convert sbs/model.safetensors sbs.safetensors --size 256x128
prints '^preset       fastreid mean=0.5,0.5,0.5 std=0.229,0.224,0.225 size=256x128 (changed by options)$'
run 0 convert old/model.safetensors kept.safetensors
prints '^layout       torchvision ResNet, from fast-reid of 2020$'
prints '^network      resnet50-bnneck (found from its tensors)$'
echo 'MODEL: {HEADS: {NAME: BNneckHead, POOL_LAYER: avgpool}}' >old/config.yaml
cp kept.safetensors wanted.safetensors
run 0 convert old/model.safetensors kept.safetensors
same wanted.safetensors kept.safetensors

# What timm and Hugging Face keep beside the file.
mkdir hub
python3 join.py hub/model.safetensors '' one.safetensors || exit 1
echo '{"architecture": "efficientnet_b0", "pretrained_cfg": {"input_size": [3, 192, 160], "interpolation": "bilinear",
 "crop_pct": 0.9, "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.25], "tag": null}}' >hub/config.json
run 0 convert hub/model.safetensors hub.safetensors
prints 'size=192x160 crop=0.9 filter=bilinear mean=0.5,0.5,0.5 std=0.5,0.5,0.25 (with the values in config.json'
run 0 inspect hub.safetensors
prints '^pixels       bilinear, .* mean 0.5 0.5 0.5, std 0.5 0.5 0.25$'
echo '{"architectures": ["x"], "hidden_act": "relu"}' >hub/config.json
echo '{"image_mean": [0.4, 0.5, 0.6], "image_std": [1, 1, 1], "resample": 3}' >hub/preprocessor_config.json
run 0 convert hub/model.safetensors hub.safetensors
prints 'filter=bicubic mean=0.4,0.5,0.6 std=1,1,1 (with the values in preprocessor_config.json next to the file)$'
sed -i 's/"resample": 3/"resample": 1/' hub/preprocessor_config.json
run 0 convert hub/model.safetensors hub.safetensors
says 'preprocessor_config.json names a filter other than bilinear and bicubic, which no preset has; check --filter'
impossible() { # FILE JSON
    echo "$2" >hub/"$1"
    run 2 convert hub/model.safetensors impossible.safetensors
    says "model.safetensors: $1 next to the file says mean .*, std .*, crop .*; correct or remove it\$"
    absent impossible.safetensors
}
impossible preprocessor_config.json '{"image_mean": [123.7, 116.3, 103.5], "image_std": [58.4, 57.1, 57.4]}'
impossible config.json '{"pretrained_cfg": {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0, 0.5]}}'
impossible config.json '{"pretrained_cfg": {"mean": [0.5, 0.5, 0.5], "std": [1, 1, 1], "crop_pct": 1.5}}'
# Hugging Face's names; config.json next to the file says where the strides are.
cat >hugging.py <<'PYTHON'
"""hugging.py IN OUT_FOLDER: a ResNet-50's safetensors with the names of transformers' ResNetForImageClassification."""
import json, os, re, struct, sys
def named(n):
    n = re.sub(r"^conv1\.", "resnet.embedder.embedder.convolution.", n)
    n = re.sub(r"^bn1\.", "resnet.embedder.embedder.normalization.", n)
    n = re.sub(r"^fc\.", "classifier.1.", n)
    n = re.sub(r"^layer(\d)\.(\d)\.",
               lambda m: "resnet.encoder.stages.%d.layers.%s." % (int(m[1]) - 1, m[2]), n)
    n = re.sub(r"downsample\.0\.", "shortcut.convolution.", n)
    n = re.sub(r"downsample\.1\.", "shortcut.normalization.", n)
    n = re.sub(r"\.conv(\d)\.", lambda m: ".layer.%d.convolution." % (int(m[1]) - 1), n)
    return re.sub(r"\.bn(\d)\.", lambda m: ".layer.%d.normalization." % (int(m[1]) - 1), n)
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = {named(n): t for n, t in json.loads(data[8:8 + size]).items() if n != "__metadata__"}
text = json.dumps(header).encode()
os.makedirs(sys.argv[2], exist_ok=True)
open(sys.argv[2] + "/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
PYTHON
python3 hugging.py r50.safetensors hf || exit 1
config='{"architectures": ["ResNetForImageClassification"], "depths": [3, 4, 6, 3], "downsample_in_bottleneck": false,
 "downsample_in_first_stage": false, "embedding_size": 64, "hidden_act": "relu",
 "hidden_sizes": [256, 512, 1024, 2048], "layer_type": "bottleneck", "model_type": "resnet", "num_channels": 3}'
run 0 convert hf/model.safetensors hf.safetensors
prints '^layout       Hugging Face ResNet, from Hugging Face$'
prints '^network      resnet50 (found from its tensors)$'
prints '^last stride  2 (Hugging Face)$'
says 'without Hugging Face.s config.json next to the file, its strides are taken to be in the 3x3 convolutions'
check "Hugging Face's ResNet is torchvision's" [ "$(fingerprint hf.safetensors)" = "$(fingerprint r50.safetensors)" ]
echo "$config" >hf/config.json
echo '{"crop_pct": 0.875, "do_normalize": true, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225],
 "resample": 3, "size": {"shortest_edge": 224}}' >hf/preprocessor_config.json
run 0 convert hf/model.safetensors hf.safetensors
check "with config.json, nothing is assumed" [ ! -s "$err" ]
prints '^preset       size=224x224 crop=0.875 filter=bicubic mean=.* (with the values in preprocessor_config.json'
run 0 inspect hf.safetensors
prints '^input        224 x 224 (height x width), cropped from the centre after resizing the short side to 256$'
other() { # SED MESSAGE: config.json of another network
    echo "$config" | sed "$1" >hf/config.json
    run 2 convert hf/model.safetensors other.safetensors
    says "model.safetensors: config.json next to the file$2"
    absent other.safetensors
}
other 's/"downsample_in_bottleneck": false/"downsample_in_bottleneck": true/' \
    ' says downsample_in_bottleneck true, but the network here has false$'
other 's/"downsample_in_first_stage": false/"downsample_in_first_stage": true/' \
    ' says downsample_in_first_stage true, but the network here has false$'
other 's/"relu"/"gelu"/' ' says hidden_act "gelu", but the network here has "relu"$'
other 's/\[3, 4, 6, 3\]/[3, 4, 23, 3]/' ' says depths \[3,4,23,3\], but the network here has \[3,4,6,3\]$'
other 's/"num_channels": 3}/"num_channels": 3/' ': line 4: the text ends early$'
echo "$config" >hf/config.json
# EfficientNetImageProcessor divides by the standard deviation twice.
echo '{"image_mean": [0.4, 0.5, 0.6], "image_std": [0.5, 0.6, 0.7], "include_top": true}' >hf/preprocessor_config.json
run 0 convert hf/model.safetensors hf.safetensors
prints '^preset       mean=0.4,0.5,0.6 std=0.25,0.36,0.49 (with the values in preprocessor_config.json'

# Preprocessing in the file itself: metadata of safetensors, and torchvision's transforms in a pickle, by their names.
cat >stating.py <<'PYTHON'
"""stating.py IN OUT EXPRESSION: the tensors of a safetensors file, with metadata (OUT ends in .safetensors) or in a
torch.save file (.pth) as "state_dict" of the dict EXPRESSION, which may have objects of torchvision's classes."""
import collections, enum, functools, io, json, pickle, struct, sys, types, zipfile
def module(name, *classes, **more):
    m = sys.modules[name] = types.ModuleType(name)
    for c in classes:
        made = type(c, (), {"__module__": name, "__init__": lambda self, **state: self.__dict__.update(state)})
        setattr(m, c, made)
        globals()[c] = made
    m.__dict__.update(more)
    return m
module("torchvision"), module("torchvision.models", "ResNet50_Weights")
module("torchvision.transforms"), module("torchvision.transforms._presets", "ImageClassification")
module("torchvision.transforms.transforms", "Compose", "Resize", "CenterCrop", "ToTensor", "Normalize",
       "RandomHorizontalFlip", "FiveCrop")
functional = module("torchvision.transforms.functional")
class InterpolationMode(enum.Enum):
    BICUBIC = "bicubic"
    LANCZOS = "lanczos"
InterpolationMode.__module__, functional.InterpolationMode = functional.__name__, InterpolationMode
module("torch", "FloatStorage", "LongStorage")
def _rebuild_tensor_v2():
    pass
_rebuild_tensor_v2.__module__ = "torch._utils"
module("torch._utils", _rebuild_tensor_v2=_rebuild_tensor_v2)
class Storage:
    def __init__(self, *of):
        self.of = of
class Tensor:
    def __init__(self, *of):
        self.of = of
    def __reduce__(self):
        return _rebuild_tensor_v2, self.of
class Pickler(pickle.Pickler):
    def persistent_id(self, obj):
        return ("storage", *obj.of) if isinstance(obj, Storage) else None
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
if sys.argv[2].endswith(".safetensors"):
    header["__metadata__"] = eval(sys.argv[3])
    text = json.dumps(header).encode()
    open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
    sys.exit()
z = zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_STORED)
def add(key, t, raw):
    strides, count = [], 1
    for side in reversed(t["shape"]):
        strides.insert(0, count)
        count *= side
    z.writestr("archive/data/" + key, raw)
    kind = {"F32": FloatStorage, "I64": LongStorage}[t["dtype"]]
    return Tensor(Storage(kind, key, "cpu", count), 0, tuple(t["shape"]), tuple(strides), False,
                  collections.OrderedDict())
def three(a, b, c):
    return add("three%g" % a, {"shape": [3], "dtype": "F32"}, struct.pack("<3f", a, b, c))
tensors = collections.OrderedDict()
for i, (name, t) in enumerate((n, t) for n, t in header.items() if n != "__metadata__"):
    begin, end = t["data_offsets"]
    tensors[name] = add(str(i), t, data[8 + size + begin:8 + size + end])
data = io.BytesIO()
Pickler(data, 2).dump(dict(eval(sys.argv[3]), state_dict=tensors))
z.writestr("archive/data.pkl", data.getvalue())
z.writestr("archive/version", "3")
z.close()
PYTHON
# states FILE EXPRESSION PRESET [WARNING]: what is made of it, and that it is what is prepared
states() {
    python3 stating.py one.safetensors "$1" "$2" || exit 1
    run 0 convert "$1" stating_out.safetensors
    prints "^preset       $3\$"
    if [ "${4-}" ]; then says "^reid: $1: $4"
    else check "nothing is said of $2" [ ! -s "$err" ]; fi
}
own='(with the preprocessing that the file states)'
half='mean=0.5,0.5,0.5 std=0.25,0.25,0.25'
none="effnet-b0 (the network's default; the file names none)"
unread='are not read; check --size, --resize and --filter$'
states a.safetensors '{"mean": "[0.5, 0.5, 0.5]", "std": "(0.25, 0.25, 0.25)", "format": "pt"}' "$half $own"
states a.safetensors '{"format": "pt", "accuracy": "mean=0.5"}' "$none"
states a.safetensors '{"image_mean": "0.485,0.456,0.406", "image_std": "0.229,0.224,0.225"}' "$none"
states a.safetensors '{"transforms": "ImageClassification(\n    crop_size=[200]\n    resize_size=[232]\n"
 "    mean=[0.5, 0.5, 0.5]\n"
 "std=[0.25, 0.25, 0.25]\n    interpolation=InterpolationMode.BICUBIC\n)"}' \
    "size=200x200 resize=232 filter=bicubic $half $own"
states a.safetensors '{"transforms": "Compose(\n Resize(size=256, max_size=None)\n CenterCrop(size=(224, 224))\n"
 " ToTensor()\n"
 "Normalize(mean=[0.5, 0.5, 0.5], std=[0.25, 0.25, 0.25])\n)"}' "size=224x224 resize=256 filter=bilinear $half $own"
states a.safetensors '{"pretrained_cfg": json.dumps({"mean": [0.5] * 3, "std": [0.25] * 3, "input_size": [3, 192, 160],
 "crop_pct": 0.9, "interpolation": "lanczos"})}' "size=192x160 crop=0.9 $half $own" \
    'it names a filter other than bilinear and bicubic, which no preset has; check --filter$'
states a.safetensors '{"mean": "[0.5, 0.5, 0.5]", "std": "[0.25, 0, 0.25]"}' "$none" \
    'the file states mean 0.5,0.5,0.5, std 0.25,0,0.25, crop 0, which are not used: a mean and a crop are from 0 to 1'
normal='Normalize(mean=[0.5, 0.5, 0.5], std=[0.25, 0.25, 0.25], inplace=False)'
states a.pth "{'transform': Compose(transforms=[ToTensor(), $normal])}" "$half $own"
# Transforms in a Compose are read if a preset can do the same. not_read TRANSFORMS CLASSES REASON: it cannot.
not_read() {
    states a.pth "{'transform': Compose(transforms=[$1, $normal])}" "$half $own" \
        "the file names torchvision's $2 not read, because $3; check --size, --resize and --filter\$"
}
cubic='interpolation=InterpolationMode.BICUBIC'
crop='CenterCrop(size=[192, 160])'
states a.pth "{'transform': Compose(transforms=[Resize(size=256), $crop, ToTensor(), $normal])}" \
    "size=192x160 resize=256 filter=bilinear $half $own"
run 0 inspect stating_out.safetensors
prints '^input        192 x 160 (height x width), cropped from the centre after resizing the short side to 256$'
states a.pth "{'test': Compose(transforms=[Resize(size=(256, 128), $cubic, max_size=None, antialias=True), ToTensor(), \
$normal]), 'train': Compose(transforms=[Resize(size=(288, 144)), RandomHorizontalFlip(p=0.5), ToTensor(), $normal])}" \
    "size=256x128 resize=straight filter=bicubic $half $own"
run 0 inspect stating_out.safetensors
prints '^input        256 x 128 (height x width)'
states a.pth "{'transform': Compose(transforms=[ToTensor(), Resize(size=[64, 48], antialias=True), $normal])}" \
    "size=64x48 resize=straight filter=bilinear $half $own"
not_read 'Resize(size=256), ToTensor()' 'Resize, which is' 'a Resize of only the short side keeps the images. shapes'
not_read 'CenterCrop(size=224), ToTensor()' 'CenterCrop, which is' 'a CenterCrop without a Resize takes parts of images'
not_read "Resize(size=(99, 99)), $crop" 'Resize, CenterCrop, which are' 'no preset crops after a Resize.*'
not_read 'Resize(size=150), CenterCrop(size=160)' 'Resize, CenterCrop, which are' 'the CenterCrop is larger than.*'
not_read 'ToTensor(), Resize(size=(9, 9))' 'Resize, which is' 'no preset leaves out antialiasing'
not_read 'Resize(size=(9, 9), max_size=300)' 'Resize, which is' 'no preset has a max_size'
not_read 'Resize(size=(9, 9)), FiveCrop(size=9)' 'Resize, FiveCrop, which are' 'another transform.*'
not_read 'Resize(size=(9, 9)), Compose(transforms=[])' 'Resize, which is' 'another transform.*'
not_read 'Resize(size=(9, 9)), Resize(size=(8, 8))' 'Resize, which is' 'the size is changed several times'
not_read 'Resize(size="large")' 'Resize, which is' 'its size cannot be read'
states a.pth "{'a': Compose(transforms=[Resize(size=(9, 9)), $normal]), \
'b': Compose(transforms=[Resize(size=(8, 8)), $normal]), 'c': Compose(transforms=[Resize(size=(7, 7)), $normal])}" \
    "$half $own" "the file names torchvision's Resize, which is not read, because the file states several sizes; check"
states a.pth "{'a': Compose(transforms=[Resize(size=(9, 9)), ToTensor()])}" "$none" \
    "the file names torchvision's Resize, which is not read, because its Compose has no Normalize; check"
states a.pth "{'transform': Resize(size=256), 'other': $normal}" "$half $own" \
    "the file names torchvision's Resize, which is not read; check --size, --resize and --filter\$"
states a.pth "{'transform': Compose(transforms=[Resize(size=(80, 40)), ToTensor(), $normal])}" \
    "size=80x40 resize=straight filter=bilinear $half $own"
run 0 convert a.pth stating_out.safetensors --preset 'effnet-b0 mean=0.5 std=0.25'
says 'a.pth: the file says size=80x40 resize=straight filter=bilinear mean=0.5.* contradicts the preset (given as'
states a.pth "{'train': $normal, 'val': Normalize(mean=(0.5, 0.5, 0.4), std=(1, 1, 1))}" "$none" \
    'the file states several normalisations (mean 0.5,0.5,0.5 and 0.5,0.5,0.4, ...), so none of them is used; give'
states a.pth "{'train': $normal, 'val': $normal, 'epoch': 3, 'loss': {'mean': 0.1, 'std': [1, 2]}}" "$half $own"
states a.pth '{"transforms": ImageClassification(crop_size=[200], resize_size=[232], mean=[0.5, 0.5, 0.5],
 std=[0.25, 0.25, 0.25], interpolation=InterpolationMode.BICUBIC, antialias=True)}' \
    "size=200x200 resize=232 filter=bicubic $half $own"
run 0 inspect stating_out.safetensors
prints '^input        200 x 200 (height x width), cropped from the centre after resizing the short side to 232$'
prints '^pixels       bicubic, .* mean 0.5 0.5 0.5, std 0.25 0.25 0.25$'
states a.pth '{"transforms": functools.partial(ImageClassification, crop_size=200, resize_size=232)}' \
    "size=200x200 resize=232 filter=bilinear mean=0.485,0.456,0.406 std=0.229,0.224,0.225 $own"
states a.pth '{"weights": ResNet50_Weights()}' "$none" \
    "the file names torchvision's ResNet50_Weights, which is not read"
states a.pth '{"cfg": {"pixel_mean": [127.5, 127.5, 127.5], "pixel_std": (63.75, 63.75, 63.75)}}' "$half $own"
states a.pth '{"mean": three(0.5, 0.5, 0.5), "std": three(0.25, 0.25, 0.25)}' \
    "$half (with the mean and standard deviation in the file)"
run 0 convert a.pth stating_out.safetensors --preset mega
says 'a.pth: the file says mean=0.5,0.5,0.5 std=0.25,0.25,0.25, which contradicts the preset (given as option)'
states a.pth "{'transform': $normal}" "$half $own"
run 0 convert a.pth stating_out.safetensors --preset effnet-b0
says 'a.pth: the file says mean=0.5,0.5,0.5 std=0.25,0.25,0.25, which contradicts the preset (given as option)'
# A pickled object whose tensors are elsewhere.
python3 -c 'import argparse, pickle, zipfile
z = zipfile.ZipFile("object.pth", "w", zipfile.ZIP_STORED)
z.writestr("archive/data.pkl", pickle.dumps(argparse.Namespace(x=3), 2)), z.writestr("archive/version", "3")
z.close()'
run 2 convert object.pth impossible.safetensors
says 'no tensors: .* object of class argparse.Namespace; save the network.s tensors: torch.save(model.state_dict(), '
fi

# Instance norm, non-local blocks and generalised means that are damaged.
if command -v python3 >/dev/null 2>&1; then
    picture p.ppm 64 96 1
    python3 "$top/tests/tools/weights/bad_blocks.py" "$REID" sbs.st >blocks.log 2>&1
    code=$?
    cat blocks.log
    check "damaged blocks" [ $code = 0 ]
fi

for python in "${REID_TORCH_PYTHON:-python3}" /usr/bin/python3; do
    "$python" -c 'import torch' >/dev/null 2>&1 || continue
    "$top/build/seeded" --extras --net resnet50 -o r50.st
    "$python" "$top/tests/tools/weights/convert_torch.py" "$REID" b0.safetensors r50.st >torch.log 2>&1
    code=$?
    cat torch.log
    check "files of PyTorch" [ $code = 0 ]
    if "$python" -c 'import transformers' >/dev/null 2>&1; then
        "$python" "$top/tests/tools/weights/hugging_face.py" "$REID" >hugging.log 2>/dev/null
        code=$?
        cat hugging.log
        check "networks of transformers" [ $code = 0 ]
    fi
    torch=yes
    break
done
[ "${torch-}" ] || echo "files of PyTorch itself: skipped, there is no Python with torch (python3-torch)"

finish
