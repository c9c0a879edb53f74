# t_cli_int8.sh: reid calibrate --int8, the file it writes, and --precision int8 --ranges with it.
[ -x build/seeded ] && [ -x build/demo_images ] || make -s build/seeded build/demo_images || exit 1
. tests/lib/cli_lib.sh
"$repository"/build/seeded --net resnet50 -o w.safetensors >/dev/null || exit 1
"$repository"/build/demo_images pictures >/dev/null || exit 1
mkdir crops
for picture in $(find pictures -name '*.png' | sort | awk 'NR % 8 == 1'); do
    cp "$picture" "crops/$(echo "$picture" | tr / _)"
done
one="-m w.safetensors"
small="--size 64x64"
bad() { pattern=$1; shift; run 2 "$@"; says "$pattern"; silent; }

# --- ranges, and how near INT8 comes on a network of random numbers --------------------------------------------------
run 0 calibrate --int8 $one crops -o r.safetensors
prints '^53 ranges from 10 images. Cosine between INT8 and FP32 on 2 held-out images: mean 0.9[5-9]'
prints '^53 ranges .*: mean 0.9[5-9][0-9]*, least 0.9[3-7][0-9]*$'
# sqrt(0.95)
prints '^1 of the 2 held-out images are below 0.98; among all images like these, up to 97.5 % may be (95 % confidence)$'
says 'INT8 and FP32 embeddings differ for 1 image, most for crops/pictures_.*.png: .*Measure more images'
check "the names of operations" grep -aq '"layer4.2.conv3":{"dtype":"F32","shape":\[\]' r.safetensors
check "whose network it is" grep -aq '"reid.fingerprint":"[0-9a-f]\{32\}","reid.network":"resnet50"' r.safetensors
cp r.safetensors first
run 0 calibrate --int8 $one --threads 1 --json crops -o r.safetensors
same r.safetensors first
prints '^{"crops": 10, "failed": 0, "ranges": 53, "held_out": true, "cosine": {"pictures": 2, "mean": 0.9'
prints '"below": 0.98, "count_below": 1, "share_at_most": 0.9747}}$'
: >crops/broken.png
run 1 calibrate --int8 $one $small crops -o s.safetensors
prints '^53 ranges from 10 images'
says 'broken.png'
rm crops/broken.png

# --- embedding with them ---------------------------------------------------------------------------------------------
picture=$(find crops -name '*.png' | sort | head -1)
run 0 embed $one $small --precision int8 --ranges s.safetensors "$picture" -o e.npy
check "int8 in its metadata" grep -q '"precision": "int8"' e.meta.json
run 0 embed $one $small --precision int8 --ranges s.safetensors --isa avx2 --batch 1 "$picture" -o f.npy
same e.npy f.npy
run 0 embed $one $small --precision int8 --ranges s.safetensors --device cpu --stats --json crops -o g.npy
prints '"saturated": [1-9][0-9]*, "recomputed": [1-9]'
says 'images exceeded INT8.s ranges; they were recomputed in FP32'
says '"int8": {"pictures": [0-9]*, "saturated": [1-9]'
run 0 embed $one $small --precision int8 --ranges s.safetensors --no-fallback --json crops -o h.npy
prints '"saturated": [1-9][0-9]*, "recomputed": 0}'
says 'their embeddings may be far off'
check "another fingerprint" [ "$(grep -o '"fingerprint": "[0-9a-f]*' g.meta.json)" != \
    "$(grep -o '"fingerprint": "[0-9a-f]*' h.meta.json)" ]
run 1 eval $one $small --precision int8 --ranges s.safetensors --compare fp32,int8 --limit 100 pictures
prints 'limit 100, least cosine 0.98$'
prints '^int8 .* 0\.[0-9]*  FAIL'
run 0 eval $one $small --precision int8 --ranges s.safetensors --compare fp32,int8 --limit 100 --least-cosine 0.5 \
    pictures
prints '^int8 .* 0\.[0-9]*  pass'
mkdir few
cp "$picture" few
run 0 calibrate --int8 $one $small few -o few.safetensors
prints '^53 ranges from 1 image. Cosine between INT8 and FP32 on 1 of the same images: mean 0.9'
says 'too few images to hold any out'

# --- what is refused -------------------------------------------------------------------------------------------------
bad 'made for fingerprint' embed $one --precision int8 --ranges s.safetensors "$picture"
bad 'reid calibrate --int8' embed $one --precision int8 "$picture"
bad 'desc.ranges is only for REID_INT8' embed $one --ranges s.safetensors "$picture"
bad 'give exactly one model with -m' calibrate --int8 crops -o x.safetensors
bad 'name the file for the ranges with -o' calibrate --int8 $one crops
bad 'no INPUT' calibrate --int8 $one -o x.safetensors
mkdir empty
bad 'no image could be measured' calibrate --int8 $one empty -o x.safetensors
b0 b0.safetensors
bad 'efficientnet_b0 cannot be computed in INT8' calibrate --int8 -m b0.safetensors crops -o x.safetensors
absent x.safetensors
no_leftovers
finish
