# t_tiff.sh: TIFF files decoded by libtiff have Pillow's pixels, upright, in strips and tiles; raw images, other kinds
# and damage are refused; without the library such files are listed among the failures, with what to install.
#     sh tests/tools/pictures/t_tiff.sh
[ -n "${repository-}" ] || repository=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$repository" || exit 1
. tests/lib/python.sh
need_python venv_pictures numpy pillow
. tests/lib/cli_lib.sh
. "$repository/tests/tools/pictures/jpeg_pixels.sh"
pillow=$repository/tests/tools/pictures/tiff_pillow.py
mkdir good bad mixed
"$python" -W ignore "$pillow" make good bad 2>"$err" || { cat "$err"; exit 1; }
b0 b0.safetensors

# --- without the library: a file with its name is not a library ---
mkdir none
echo 'no library' >none/libtiff.so.6
cp none/libtiff.so.6 none/libtiff.so.5
without() { LD_LIBRARY_PATH=$work/none "$@"; }
cp good/RGB-*-turned6.tif mixed
printf 'P6 2 2 255\n............' >mixed/a.ppm
without "$REID" embed -m b0.safetensors --size 32x32 mixed -o one.npy >"$out" 2>"$err"
check 'without it, TIFF files fail' [ $? = 1 ]
says 'in formats that reid does not read: TIFF or raw image (6); the first is mixed/'
without "$program" auto good/strips-1.tif >"$out"
check 'and are refused by name' \
    grep -q 'refused: a TIFF image, which needs libtiff (Debian: libtiff6); install it, or' "$out"
"$program" auto good/strips-1.tif >"$out"
if grep -q 'needs libtiff' "$out"; then
    [ "$failed" = 0 ] || finish
    echo 'skipped: no libtiff here'
    exit 77
fi

# --- the pixels of Pillow ---
"$program" auto good/*.tif bad/*.tif >report.txt 2>"$err"
check 'without a crash' [ $? = 0 ]
check 'nothing is printed' [ ! -s "$err" ]
check 'with the pixels of Pillow, or refused' "$python" -W ignore "$pillow" check good bad report.txt

# --- the command reads them ---
cp good/strips-1.tif mixed/b.TIFF
run 0 embed -q -m b0.safetensors --size 32x32 mixed -o all.npy
check 'all of them' [ "$(wc -l <all.ids.txt)" = 8 ]
finish
