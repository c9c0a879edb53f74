# t_turbojpeg.sh: JPEG files decoded by libturbojpeg have Pillow's bits for all kinds of files; damage is refused like
# without it; its name is recorded, and mixtures of decoders cause a warning; without the library, stb_image decodes.
#     sh tests/tools/pictures/t_turbojpeg.sh
[ -n "${repository-}" ] || repository=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$repository" || exit 1
. tests/lib/python.sh
need_python venv_pictures numpy pillow
. tests/lib/cli_lib.sh
. "$repository/tests/tools/pictures/jpeg_pixels.sh"

# --- without the library: a file with its name is not a library ---
mkdir none
echo 'no library' >none/libturbojpeg.so.0
without() { LD_LIBRARY_PATH=$work/none "$@"; }
mkdir small
"$python" "$repository/tests/tools/pictures/jpeg_pillow.py" make small 12 || exit 1
b0 b0.safetensors
check 'without it, stb_image decodes' without "$REID" embed -m b0.safetensors --size 32x32 small -o without.npy
check 'and is recorded' grep -q '"jpeg": "stb_image"' without.meta.json
without "$REID" embed -m b0.safetensors --size 32x32 --jpeg turbo small -o no.npy >"$out" 2>"$err"
check 'requested but missing: exit 2' [ $? = 2 ]
says 'libturbojpeg (Debian: libturbojpeg0) cannot be used: .*libturbojpeg.so.0'
absent no.npy no.npy.part no.meta.json
run 2 embed -m b0.safetensors --jpeg pillow small
says 'jpeg'
if [ "$("$program" auto)" != libjpeg-turbo ]; then
    [ "$failed" = 0 ] || finish
    echo 'skipped: no libturbojpeg here'
    exit 77
fi

# --- the bits of Pillow ---
mkdir all
check 'making files' "$python" "$repository/tests/tools/pictures/jpeg_pillow.py" make all 1000 libturbojpeg.so.0
check 'libturbojpeg decodes them' "$program" turbo all/*.jpg
check 'with the pixels of Pillow' "$python" "$repository/tests/tools/pictures/jpeg_pillow.py" check all
rm -f all/*.rgb
check 'stb_image decodes them' "$program" stb all/*.jpg
check 'with pixels that differ from Pillow' "$python" "$repository/tests/tools/pictures/jpeg_pillow.py" check all by_stb
rm -f all/*.rgb

# --- the rows of PyTorch, from file to embedding (tests/golden/make_jpeg.py) ---
make -s -C "$repository" build/seeded && "$repository/build/seeded" --net efficientnet_b0 -o seeded.safetensors
mkdir golden
at=0
grep -v '^#' "$repository/tests/golden/jpeg.txt" | while read -r bytes _; do
    tail -c +$((at + 1)) "$repository/tests/golden/jpeg.bin" | head -c "$bytes" >golden/$((at + 1000000)).jpg
    at=$((at + bytes))
done
check 'four files' [ "$(find golden -type f | wc -l)" = 4 ]
apart() { # apart less|more DECODER: than 1e-5 from PyTorch's rows
    run 0 embed -m seeded.safetensors --device cpu --precision fp32 golden -o rows.npy --jpeg "$2"
    check "by $2, rows are $1 than 1e-5 apart from PyTorch's" "$python" -c 'import sys, numpy as np
torch, ours = np.fromfile(sys.argv[1], "<f4").reshape(4, 1280), np.load("rows.npy")
each = abs(torch - ours).max(axis=1)
print(each)
sys.exit(not (each.max() <= 1e-5 if sys.argv[2] == "less" else each[:2].min() > 1e-5))
' "$repository/tests/golden/jpeg_rows.bin" "$1"
}
apart less turbo
apart more stb

# Photographs in installed packages, if there are any.
mkdir found
find /usr/share -name '*.jp*g' -size +4k -size -4000k 2>/dev/null | sort | head -n 40 |
    while read -r f; do ln -s "$f" "found/$(echo "$f" | cksum | tr -d ' ').jpg"; done
for f in found/*.jpg; do echo "$(readlink "$f")" >"$f.kind"; done
if [ -e "$(readlink "$f")" ]; then
    check 'photographs are decoded' "$program" turbo found/*.jpg
    check 'as Pillow does' "$python" "$repository/tests/tools/pictures/jpeg_pillow.py" check found
fi

# --- damage: refused if stb_image refuses it, with its reason ---
mkdir damaged
check 'making damaged files' "$python" "$repository/tests/tools/pictures/jpeg_pillow.py" damage all damaged
"$program" turbo damaged/*.jpg >by_turbo 2>"$err"
check 'nothing crashes' [ $? = 0 ]
rm -f damaged/*.rgb
"$program" stb damaged/*.jpg >by_stb 2>"$err"
rm -f damaged/*.rgb
check 'all files that end early are refused' [ "$(grep -c '/cut.*refused: the JPEG file ends early' by_turbo)" = 60 ]
grep '/junk' by_turbo >junk
check 'bytes before the end are skipped' [ "$(grep -c ' x ' junk)" = 60 ]
check 'some flipped bytes are noticed' grep -q '/flip.*refused: cannot be decoded' by_turbo
# libturbojpeg refuses the files that stb_image refuses, unless it notices nothing.
check 'the same files are refused, except a few' "$python" - <<'END'
turbo, stb = ([line.rstrip("\n").split(": ", 1) for line in open(name)][1:] for name in ("by_turbo", "by_stb"))
differ = [(a, b) for a, b in zip(turbo, stb) if a[0] == b[0] and ("refused" in a[1]) != ("refused" in b[1])]
print(len(turbo), len(differ), differ)
assert len(turbo) == len(stb) == 420 and len(differ) <= 4
END
mkdir keep
cp all/0001.jpg keep/
"$program" turbo keep/0001.jpg >/dev/null
cp damaged/junk0001.jpg keep/0002.jpg
"$program" turbo keep/0002.jpg >/dev/null
same keep/0001.jpg.rgb keep/0002.jpg.rgb

# --- the decoder is recorded ---
run 0 embed -m b0.safetensors --size 32x32 small -o auto.npy
run 0 embed -m b0.safetensors --size 32x32 --jpeg turbo small -o turbo.npy
run 0 embed -m b0.safetensors --size 32x32 --jpeg stb small -o stb.npy
same auto.npy turbo.npy
same without.npy stb.npy
check 'the decoder is recorded' grep -q '"jpeg": "libjpeg-turbo"' auto.meta.json
check 'the rows differ' sh -c '! cmp -s auto.npy stb.npy'
run 0 match -m b0.safetensors --size 32x32 --gallery stb.npy small/0001.jpg
says 'stb.npy: its JPEG images were decoded by stb_image, those of this command by libjpeg-turbo (--jpeg)'
run 0 match -m b0.safetensors --size 32x32 --gallery stb.npy --jpeg stb small/0001.jpg
check 'one decoder: no warning' sh -c "! grep decoded '$err'"
sed -i '/"jpeg"/d' stb.meta.json
run 0 match -m b0.safetensors --size 32x32 --gallery stb.npy small/0001.jpg
check 'an older file names no decoder: no warning' sh -c "! grep decoded '$err'"
run 0 embed -m b0.safetensors --size 32x32 --shard 1/2 small -o one.npy
run 0 embed -m b0.safetensors --size 32x32 --shard 2/2 --jpeg stb small -o two.npy
run 2 merge one.npy two.npy -o both.npy
says 'has a different JPEG decoder than one.npy, so they are not shards of one run'
run 0 embed -m b0.safetensors --size 32x32 --shard 2/2 small -o two.npy
run 0 merge one.npy two.npy -o both.npy
same both.npy auto.npy
check 'with its decoder' grep -q '"jpeg": "libjpeg-turbo"' both.meta.json
no_leftovers
finish
