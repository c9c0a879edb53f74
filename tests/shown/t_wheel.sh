#!/bin/sh
# t_wheel.sh: the wheel and the sdist for pip: installed in a clean environment of every Python that is here, module and
# command give the rows of build/reid; auditwheel accepts the name manylinux_2_17; a second build makes the same bytes.
# With --all also the wheel for 64-bit ARM, used by its Python under qemu, and the one that pip builds from the sdist.
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
        cd "$work" && unset PYTHONPATH REID_LIBRARY REID_COMMAND &&
            [ "$("$venv/bin/reid" version)" = "reid $version" ] &&
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
who = np.repeat(np.arange(12), 4)  # by the command that lies next to this Python
table = np.random.default_rng(2).standard_normal((12, 16))[who] + 0.1
assert reid.import_rows("table.npy", table, model="m").rows == 48 and reid._command(None).startswith(sys.prefix)
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
# Module and command of the wheel for ARM, run by qemu: import, rows of the bits of this machine, and what the module
# asks of the command.
on_arm() {
    cat > "$work/arm/reid-arm" << END
#!/bin/sh
exec qemu-aarch64-static -L "$arm/root" "$work/arm/reid-$version.data/scripts/reid" "\$@"
END
    chmod 755 "$work/arm/reid-arm" "$work/arm/reid-$version.data/scripts/reid"
    cat > "$work/arm/on_arm.py" << 'PYTHON'
import os, platform, sys
import numpy as np
import reid
assert platform.machine() == "aarch64" and os.path.dirname(reid.__file__).endswith("arm/reid")
with reid.Reid(sys.argv[1], height=64, width=64) as handle:
    np.save(sys.argv[2], handle.embed(np.arange(64 * 48 * 3, dtype=np.uint8).reshape(64, 48, 3)))
    print(handle)
random = np.random.default_rng(1)
who = np.repeat(np.arange(12), 4)
rows = random.standard_normal((12, 16))[who] + 0.5 * random.standard_normal((48, 16))
print(reid.calibrate(rows, who, model="m", fmr=0.1).threshold)
assert reid.group(rows, 0.5).labels.max() + 1 >= 12 and reid.Index(rows).search(rows[:1], k=1).rows[0, 0] == 0
PYTHON
    REID_COMMAND="$work/arm/reid-arm" PYTHONPATH="$work/arm:$arm/site" qemu-aarch64-static -L "$arm/root" \
        "$arm/root/usr/bin/python3" -W ignore "$work/arm/on_arm.py" "$work/w.safetensors" "$work/arm.npy" &&
        REID_COMMAND="$PWD/build/reid" PYTHONPATH="$work/unpacked" "$work/clean/bin/python" - "$work" << 'PYTHON'
import sys
import numpy as np
import reid
with reid.Reid(sys.argv[1] + "/w.safetensors", height=64, width=64, cpu_isa="avx2") as handle:
    mine = handle.embed(np.arange(64 * 48 * 3, dtype=np.uint8).reshape(64, 48, 3))
assert np.array_equal(mine, np.load(sys.argv[1] + "/arm.npy"))
PYTHON
}

if all; then
    # pip builds it in an environment with nothing else, in which there is no zig.
    holds_log 'an environment' python3 -m venv "$work/clean"
    holds_log 'pip builds one from the sdist' "$work/clean/bin/python" -m pip wheel -q --no-deps \
        --disable-pip-version-check "$work/reid-$version.tar.gz" -w "$work/d"
    built=reid-$version-py3-none-linux_$(uname -m).whl
    holds_log 'wheel.py builds one by cc' "$python" tools/wheel/wheel.py wheel --cc -o "$work/e"
    cmp "$work/d/$built" "$work/e/$built" > "$log" 2>&1 && good || bad 'pip builds the same as wheel.py'
    holds_log 'it can be installed' "$work/clean/bin/python" -m pip install -q --disable-pip-version-check \
        "$work/d/$built"
    [ "$("$work/clean/bin/reid" version)" = "reid $version" ] && good || bad 'its command'

    holds_log 'the wheel for ARM' "$python" tools/wheel/wheel.py wheel --zig --arch aarch64 -o "$work"
    holds_log 'it is for ARM' unzip -q -o "$work"/reid-*_aarch64.whl -d "$work/arm"
    holds_log 'so is the library' sh -c "readelf -h '$work/arm/reid/libreid.so' | grep -q AArch64"
    needed=$(readelf -V "$work/arm/reid/libreid.so" "$work/arm/reid-$version.data/scripts/reid" |
        sed -n 's/.*Name: GLIBC_\([0-9.]*\) .*/\1/p' | sort -V | tail -n 1)
    [ "$(printf '%s\n2.17\n' "$needed" | sort -V | tail -n 1)" = 2.17 ] && good || bad "it needs glibc $needed"
    if ! arm_python; then skip "no Python for ARM: $(tail -n 1 "$arm/log")"
    elif ! grep -qw avx2 /proc/cpuinfo; then skip 'no AVX2 here, whose bits are those of NEON'
    else
        holds_log 'this wheel, unpacked' unzip -q -o "$wheel" -d "$work/unpacked"
        holds_log 'used on ARM' on_arm
    fi
else echo 'the wheel for ARM and those from the sdist were left to --all'
fi
finish
