#!/bin/sh
# t_wheel.sh: the wheel and the sdist for pip: installed in a clean environment of every Python that is here, module and
# command give the rows of build/reid; auditwheel accepts the name manylinux_2_17; a second build makes the same bytes.
# With --all also the wheel for 64-bit ARM and the one that pip builds from the sdist.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/check.sh
. tests/lib/python.sh
need_python venv_wheel ziglang==0.17.1 auditwheel==6.8.2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
log=$work/log
export ZIG_GLOBAL_CACHE_DIR="$PWD/build/tests/zig" ZIG_LOCAL_CACHE_DIR="$PWD/build/tests/zig"
holds_log() { # holds_log NAME COMMAND...: it succeeds; its output is the log
    what=$1
    shift
    if "$@" > "$log" 2>&1; then good; else bad "$what"; fi
}
make -s build/reid build/seeded build/demo_images || exit 1
[ -f /usr/include/stb/stb_image.h ] || [ -f /usr/local/include/stb/stb_image.h ] ||
    { echo 'no stb_image.h here' && exit 77; }

holds_log 'a wheel' "$python" tools/wheel/wheel.py wheel --zig -o "$work/a"
wheel=$(echo "$work"/a/reid-*-py3-none-manylinux_2_17_"$(uname -m)".whl)
[ -f "$wheel" ] && good || bad "its name: $wheel"
holds_log 'the same again' "$python" tools/wheel/wheel.py wheel --zig -o "$work/b"
cmp "$wheel" "$work/b/${wheel##*/}" && good || bad 'the same bytes'
holds_log 'auditwheel' "$python" -m auditwheel show "$wheel"
grep -q "is consistent with the following platform tag.*\"manylinux_2_\(5\|12\|17\)_$(uname -m)\"" "$log" ||
    tr -d '\n' < "$log" | grep -q "platform tag:\? *\"manylinux_2_\(5\|12\|17\)_$(uname -m)\"" && good ||
    bad 'manylinux_2_17'
"$python" - "$wheel" > "$log" 2>&1 << 'PYTHON' && good || bad 'the parts of the wheel'
import base64, hashlib, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    names = z.namelist()
    record = [line.rsplit(",", 2) for line in z.read(names[-1]).decode().splitlines()]
    assert sorted(r[0] for r in record) == sorted(names) and names[-1].endswith("dist-info/RECORD"), names
    for name, digest, size in record[:-1]:
        data = z.read(name)
        found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert digest == "sha256=" + found and int(size) == len(data), name
    assert {"reid/__init__.py", "reid/py.typed", "reid/libreid.so"} < set(names)
PYTHON

# Installed and used, away from this folder.
build/seeded --net efficientnet_b0 -o "$work/w.safetensors"
build/demo_images "$work/crops" > /dev/null
picture=$(find "$work/crops" -name '*.png' | LC_ALL=C sort | head -n 1)
build/reid embed -q -m "$work/w.safetensors" --size 64x64 "$picture" -o "$work/wanted.npy"
version=$(sed -n 's/^.define REID_VERSION_STRING "\(.*\)"/\1/p' reid.h)
for interpreter in python3.9 python3.10 python3.11 python3.12 python3.13 python3.14; do
    command -v $interpreter > /dev/null || continue
    venv=$work/$interpreter
    $interpreter -m venv "$venv" > "$log" 2>&1 || { skip "$interpreter has no venv"; continue; }
    "$venv/bin/python" -m pip install -q --disable-pip-version-check "$wheel" > "$log" 2>&1 || {
        grep -q 'numpy' "$log" && skip "$interpreter: numpy cannot be installed" && continue
        bad "$interpreter: pip install"
        continue
    }
    (
        cd "$work" && unset PYTHONPATH REID_LIBRARY && [ "$("$venv/bin/reid" version)" = "reid $version" ] &&
            "$venv/bin/reid" embed -q -m w.safetensors --size 64x64 "$picture" -o "$interpreter.npy" &&
            cmp "$interpreter.npy" wanted.npy && "$venv/bin/python" - "$picture" << 'PYTHON'
import inspect, os, sys
import numpy as np
import reid
wanted = np.load("wanted.npy")
assert os.path.dirname(reid.__file__).endswith("site-packages/reid")
with reid.Reid("w.safetensors", height=64, width=64) as handle:
    pixels = np.random.default_rng(1).integers(0, 256, (40, 30, 3), dtype=np.uint8)
    rows = handle.embed([pixels, pixels])
    assert rows.shape == (2, wanted.shape[1]) and np.array_equal(rows[0], rows[1])
hits = reid.Index(rows).search(rows[:1], k=1)
assert hits.rows[0][0] == 0 and all(inspect.getdoc(getattr(reid, name)) for name in reid.__all__)
PYTHON
    ) > "$log" 2>&1 && good || bad "$interpreter: module and command"
    echo "$interpreter: installed and used"
done

# The sdist has all that the compiler reads.
holds_log 'an sdist' "$python" tools/wheel/wheel.py sdist -o "$work"
holds_log 'it unpacks' tar xzf "$work/reid-$version.tar.gz" -C "$work"
missing=$(cd "$work/reid-$version" && for source in $("$python" -c 'import sys; sys.path.insert(0, "tools/wheel")
import wheel; wheel.write_bytes("made"); print(*wheel.sources())'); do
    cc -std=c99 -D_GNU_SOURCE -I. -Itools -Imade -M -MG "$source" 2>&1 | tr -s ' \\' '\n' |
        grep -E '^(tools|base|cli|server|report|review|commands|build)/|error' | sort -u |
        while read -r file; do
            [ -e "$file" ] || [ -e "tools/$file" ] || [ -e "made/$file" ] || echo "$source: $file"
        done
done)
[ -z "$missing" ] && good || bad "the sdist lacks $(echo "$missing" | head -n 3)"
if all; then
    holds_log 'the wheel for ARM' "$python" tools/wheel/wheel.py wheel --zig --arch aarch64 -o "$work"
    holds_log 'it is for ARM' unzip -q -o "$work"/reid-*_aarch64.whl -d "$work/arm"
    holds_log 'so is the library' sh -c "readelf -h '$work/arm/reid/libreid.so' | grep -q AArch64"
    holds_log 'a wheel from the sdist' "$python" "$work/reid-$version/tools/wheel/wheel.py" wheel --zig -o "$work/c"
    "$python" - "$wheel" "$work/c/${wheel##*/}" > "$log" 2>&1 << 'PYTHON' && good || bad 'the sdist builds the same'
import sys, zipfile
one, two = (zipfile.ZipFile(path) for path in sys.argv[1:])
assert one.namelist() == two.namelist()
different = [n for n in one.namelist() if one.read(n) != two.read(n) and not n.endswith("RECORD")]
assert not different, different
PYTHON
    holds_log 'pip builds one from the sdist' "$python" -m pip wheel -q --no-deps --disable-pip-version-check \
        "$work/reid-$version.tar.gz" -w "$work/d"
    [ -f "$work/d/reid-$version-py3-none-linux_$(uname -m).whl" ] && good || bad 'its name'
else echo 'the wheel for ARM and the one from the sdist were left to --all'
fi
finish
