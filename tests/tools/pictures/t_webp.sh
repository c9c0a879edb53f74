# t_webp.sh: WebP files decoded by libwebp have Pillow's pixels, upright, with and without transparency; animations and
# damage are refused; without the library such files are listed among the failures, with what to install.
#     sh tests/tools/pictures/t_webp.sh
[ -n "${repository-}" ] || repository=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$repository" || exit 1
. tests/lib/python.sh
need_python venv_pictures numpy pillow
. tests/lib/cli_lib.sh
. "$repository/tests/tools/pictures/jpeg_pixels.sh"
pillow=$repository/tests/tools/pictures/webp_pillow.py
mkdir good bad mixed
"$python" "$pillow" make good bad || exit 1
b0 b0.safetensors

# --- without the library: a file with its name is not a library ---
mkdir none
echo 'no library' >none/libwebp.so.7
without() { LD_LIBRARY_PATH=$work/none "$@"; }
cp good/*-lossy60.webp mixed
printf 'P6 2 2 255\n............' >mixed/a.ppm
without "$REID" embed -m b0.safetensors --size 32x32 mixed -o one.npy >"$out" 2>"$err"
check 'without it, WebP files fail' [ $? = 1 ]
says 'in formats that reid does not read: WebP image (12); the first is mixed/'
check 'with the reason' grep -q 'a WebP image, which needs libwebp (Debian: libwebp7); install it, or' one.meta.json
without "$program" auto good/000-lossy1.webp >"$out"
check 'and are refused by name' grep -q 'refused: a WebP image, which needs libwebp' "$out"
rm -f good/*.rgb
"$program" auto good/000-lossy1.webp >"$out"
if grep -q 'needs libwebp' "$out"; then
    [ "$failed" = 0 ] || finish
    echo 'skipped: no libwebp here'
    exit 77
fi

# --- the pixels of Pillow ---
check 'libwebp decodes them' "$program" auto good/*.webp
"$program" auto bad/*.webp >"$out" 2>"$err"
check 'damage is refused, without a crash' [ $? = 0 ]
check 'none is decoded' [ "$(grep -c 'refused: ' "$out")" = "$(find bad -name '*.webp' | wc -l)" ]
check 'an animation by name' grep -q 'animated.webp: refused: an animated WebP image; extract the frame' "$out"
check 'a sound by name' grep -q 'sound.webp: refused: a RIFF file that is not an image' "$out"
check 'as cut' grep -q 'lossy-first100.webp: refused: the WebP file ends early\|first114.webp: refused: the WebP' "$out"
check 'with the pixels of Pillow' "$python" "$pillow" check good bad
rm -f good/*.rgb

# --- the command reads them, whatever they are called ---
rm -rf mixed
mkdir mixed
cp good/*-lossy60.webp mixed
cp mixed/001-lossy60.webp mixed/a.jpg
cp mixed/001-lossy60.webp mixed/no_ending
run 0 embed -q -m b0.safetensors --size 32x32 mixed -o all.npy
check 'all of them' [ "$(wc -l <all.ids.txt)" = 14 ]
finish
