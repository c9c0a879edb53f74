# t_orientation.sh: what EXIF, XMP and the texts of a PNG say about how an image is turned: the command, the server and
# Python's binding make the rows that Pillow's exif_transpose leads to, for every type of number and both byte orders.
. tests/lib/python.sh
need_python venv_pictures numpy pillow
command -v curl >/dev/null 2>&1 || { echo "skipped: no curl here"; exit 77; }
. tests/lib/cli_lib.sh
make -s -C "$repository" lib || exit 1
export PYTHONPATH="$repository/examples/python" REID_LIBRARY="$repository/build/libreid.so" PYTHONDONTWRITEBYTECODE=1
files=$repository/tests/tools/pictures/orientation_files.py
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null; rm -rf "$work"' EXIT
b0 w.safetensors
mkdir in upright
check 'making files' "$python" "$files" make in upright
run 0 embed -q -m w.safetensors --size 64x64 in -o in.npy
run 0 embed -q -m w.safetensors --size 64x64 upright -o upright.npy
"$REID" serve -m w.safetensors --size 64x64 --socket "$work/s" >/dev/null 2>"$work/log" &
server=$!
ready grep -q 'listening on' "$work/log"
for file in in/*; do
    curl -s --unix-socket "$work/s" --data-binary @"$file" http://localhost/embed || exit 1
done >served.jsonl
end TERM
check 'three readers and Pillow agree' "$python" "$files" check in in.npy upright.npy served.jsonl w.safetensors
tail -n 3 "$work/check"
finish
