# t_variants.sh: every variant of PNG, BMP, TGA, PNM and JPEG is decoded to Pillow's pixels, or to those that the file
# means where Pillow does otherwise, or is refused by name, with either decoder of JPEG.
#     sh tests/tools/pictures/t_variants.sh
[ -n "${repository-}" ] || repository=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$repository" || exit 1
. tests/lib/python.sh
need_python venv_pictures numpy pillow
. tests/lib/cli_lib.sh
. "$repository/tests/tools/pictures/jpeg_pixels.sh"
pillow=$repository/tests/tools/pictures/variants_pillow.py
mkdir files
"$python" "$pillow" make files || exit 1
for decoder in turbo stb; do
    rm -f files/*.rgb
    find files -type f ! -name '*.meant' | sort >names
    # shellcheck disable=SC2046 # names without spaces
    "$program" "$decoder" $(cat names) >"$decoder.txt" 2>"$err"
    status=$?
    if [ "$decoder" = turbo ] && [ $status = 2 ]; then
        echo 'skipped: the files with libturbojpeg, which is not here'
        continue
    fi
    check "$decoder: without a crash" [ $status = 0 ]
    check "$decoder: as expected" "$python" "$pillow" check files "$decoder.txt" "$decoder"
done
finish
