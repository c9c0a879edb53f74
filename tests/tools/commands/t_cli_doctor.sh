# t_cli_doctor.sh: reid doctor finds every fault planted here, gives a remedy, and exits with the status of the worst.
. tests/lib/cli_lib.sh
top=$OLDPWD

b0 w.safetensors
b0 other.safetensors 2
mkdir -m 700 cache home
HOME=$work/home
REID_CACHE_DIR=$work/cache
export HOME REID_CACHE_DIR

# line SEVERITY ABOUT PATTERN: a line of the last output. here MOST: the exit status is at most that, whatever is not
# installed on this machine.
line() { check "$1 $2: $3" grep -q -e "^$1  *$2  *$3" "$out"; }
doctor() { "$REID" doctor "$@" >"$out" 2>"$err"; got=$?; }
exits() { check "exit $1 (was $got)" [ "$got" = "$1" ]; }

# This machine, without planted faults.
doctor --device cpu
check "no error here" [ $got -le 1 ]
check "nothing on stderr" [ ! -s "$err" ]
line good self-test "equals PyTorch's embedding to [0-9.]*e-"
for about in cpu cpus memory disk cache libturbojpeg libpq libmicrohttpd ffmpeg; do line '[a-z]*' $about '.'; done
line good cache "$work/cache (mode 700)"
check "one line each" [ "$(cut -c 10-24 "$out" | sort | uniq -d | wc -l)" = 0 ]
check "a warning is 1, nothing worse than a note 0" \
    [ $got = "$(grep -c '^warning' "$out" | sed 's/[1-9].*/1/')" ]
doctor
line '[a-z]*' gpu '.'

# The known components equal the goldens.
if command -v python3 >/dev/null; then
    check "the self-test's numbers are PyTorch's" python3 - "$top" <<'END'
import re, struct, sys
top, at = sys.argv[1], 0
source = open(top + "/tools/commands/doctor_self.c").read()
known = [float(x) for x in re.findall(r"(-?[0-9.]+)f\b", source.split("known[KNOWN] = {")[1].split("}")[0])]
for line in open(top + "/tests/golden/embeddings.txt"):
    f = line.split()
    if f[0].startswith("#"): continue
    if f[:4] == ["efficientnet_b0", "file", "107", "75"]:
        rows = open(top + "/tests/golden/embeddings.bin", "rb").read()
        golden = struct.unpack_from("<16f", rows, 4 * at)
        assert len(known) == 16 and max(abs(a - b) for a, b in zip(known, golden)) < 1e-9, (known, golden)
        break
    at += int(f[5]) * int(f[6])
else: raise AssertionError("no such golden")
END
fi

# The processor.
REID_CPU_ISA=scalar "$REID" doctor --device cpu >"$out" 2>"$err"
got=$?
exits 1
line warning cpu '.*REID_CPU_ISA=scalar .*What helps: unset REID_CPU_ISA$'
doctor --device cpu --isa scalar
line note cpu '.*--isa limits it to scalar'
if command -v taskset >/dev/null; then
    taskset -c 0 "$REID" doctor --device cpu >"$out" 2>"$err"
    line good cpus '.* 1 allowed.*: 1 thread$'
fi
# A container's limits, if this test may mount files in their places.
limits() { # limits CPU_MAX MEMORY_MAX
    echo "$1" >cpu.max
    echo "$2" >memory.max
    echo 1000000 >memory.current
    unshare -m sh -c 'mount -t tmpfs none /sys/fs/cgroup' 2>/dev/null || return
    unshare -m sh -c 'mount -t tmpfs none /sys/fs/cgroup && cp cpu.max memory.max memory.current /sys/fs/cgroup &&
        exec "$0" doctor --device cpu' "$REID" >"$out" 2>"$err"
    got=$?
}
if limits '50000 100000' 300000000; then
    exits 1
    line warning cpus '.* a quota of 0.50: less than one CPU'
    line warning memory '.* 0.3 GiB allowed to this container, 0.3 GiB free'
    limits '100000 100000' max
    line good cpus '.* a quota of 1.00: 1 thread$'
    line good memory '.* no limit, '
fi

# The folder of compiled kernels.
cache() { # cache SEVERITY PATTERN
    doctor --device cpu
    line "$1" cache "$2"
}
chmod 777 cache
cache warning ".*/cache (mode 777): others may write to it; .*What helps: chmod go-w $work/cache$"
exits 1
chmod 700 cache
mkdir -m 777 open
mkdir -m 700 open/cache
REID_CACHE_DIR=$work/open/cache
cache warning '.*others may write to its parent folder.*What helps: chmod go-w '
REID_CACHE_DIR=$work/w.safetensors
cache warning '.*it is not a folder.*What helps: another REID_CACHE_DIR'
REID_CACHE_DIR=$work/not/yet/there
cache good '.*does not exist yet; it is made when a GPU is used'
absent not
REID_CACHE_DIR=$work/w.safetensors/cache
cache warning '.*does not exist and cannot be made'
REID_CACHE_DIR=
cache note 'no folder is named'
if [ "$(id -u)" = 0 ]; then
    chown 65534 cache
    REID_CACHE_DIR=$work/cache
    cache warning '.*it belongs to another user'
    chown 0 cache
else
    chmod 500 cache
    REID_CACHE_DIR=$work/cache
    cache warning '.*you may not read it or write to it'
    chmod 700 cache
fi
REID_CACHE_DIR=$work/cache

# Damaged libraries that are found before good ones.
mkdir lib empty
for name in libturbojpeg.so.0 libpq.so.5; do echo 'no library' >lib/$name; done
LD_LIBRARY_PATH=$work/lib "$REID" doctor --device cpu >"$out" 2>"$err"
got=$?
exits 1
line warning libturbojpeg '.*stb_image.*What helps: apt-get install libturbojpeg0$'
line note libpq '.*What helps: apt-get install libpq5$'
LD_LIBRARY_PATH=$work/lib "$REID" doctor --device cpu --jpeg turbo >"$out" 2>"$err"
got=$?
exits 2
line error libturbojpeg '.'
LD_LIBRARY_PATH=$work/lib "$REID" doctor --device cpu --gallery postgresql://u:secret@localhost:1/x >"$out" 2>"$err"
got=$?
exits 2
line error libpq '.'
line error gallery '.*libpq'
check "no password" [ -z "$(grep secret "$out" "$err")" ]
PATH=$work/empty "$REID" doctor --device cpu >"$out" 2>"$err"
line note ffmpeg 'ffmpeg: .*What helps: apt-get install ffmpeg'
doctor --device cpu --ffmpeg "$work/nothing"
exits 2
line error ffmpeg '.*nothing: cannot start it'
printf '#!/bin/sh\necho something else\n' >ff
chmod +x ff
doctor --device cpu --ffmpeg "$work/ff"
line error ffmpeg '.*it does not report its version'
printf '#!/bin/sh\nexec sleep 100\n' >ff
doctor --device cpu --ffmpeg "$work/ff"
line error ffmpeg '.*it does not report its version'

# The place for results.
doctor --device cpu -o "$work/lost/out.npy"
exits 2
line error disk '.*/lost: No such file or directory'
doctor --device cpu -o "$work/out.npy"
line '[a-z]*' disk "$work: [0-9.]* GiB free"
if [ "$(id -u)" != 0 ]; then
    mkdir -m 500 closed
    doctor --device cpu -o closed/out.npy
    exits 2
    line error disk 'closed: cannot be written to'
fi

# Models, galleries, calibrations.
mkdir crops
for who in 1 2 3 4 5 6; do
    mkdir crops/$who
    for f in 1 2; do picture crops/$who/$f.png 30 40 $who; done
    picture crops/$who/3.png 33 40 $who
done
mine="-m w.safetensors --size 32x32 --device cpu"
# shellcheck disable=SC2086 # words
{
    run 0 embed $mine crops -o crops.npy
    run 0 gallery create g.reid $mine
    run 0 gallery add g.reid crops.npy
    run 0 gallery create empty.reid $mine
    run 0 embed -m other.safetensors --size 32x32 --device cpu crops -o other.npy
    run 0 calibrate crops.npy --fmr 0.1 -o score.json
    run 0 calibrate other.npy --fmr 0.1 -o theirs.json
    doctor $mine --gallery crops.npy --threshold 0.9
    check "no error (exit $got)" [ $got -le 1 ]
    line good model 'w.safetensors: efficientnet_b0, 1280 floats, cpu .*fingerprint [0-9a-f]*$'
    line good gallery 'crops.npy: 18 templates, made by '
    line good gallery "its fingerprint is the model's"
    doctor $mine --gallery g.reid
    exits 1
    line good gallery 'g.reid: 18 templates of 6 identities, made by '
    line warning calibration 'none, .*What helps: reid calibrate'
    run 0 gallery set g.reid --threshold 0.8
    sed 's/"jpeg": "[^"]*"/"jpeg": "another one"/' crops.meta.json >by_another.meta.json
    cp crops.npy by_another.npy && cp crops.ids.txt by_another.ids.txt
    run 0 gallery create by_another.reid --like g.reid
    run 0 gallery add by_another.reid by_another.npy
    for name in by_another.npy by_another.reid; do
        doctor $mine --gallery $name --threshold 0.9
        line warning gallery "$name: its JPEG images were decoded by another one, those of this command by "
    done
    doctor $mine --gallery g.reid
    check "a gallery with a threshold needs no calibration" [ -z "$(grep calibration "$out")" ]
    doctor $mine --gallery empty.reid --threshold 0.9
    exits 1
    line warning gallery 'empty.reid: 0 templates.*What helps: reid gallery add'
    doctor $mine --gallery crops --threshold 0.9
    line good gallery 'crops: 18 images'
    doctor $mine --gallery other.npy --threshold 0.9
    exits 2
    line error gallery 'other.npy was made by .*cannot be compared.*What helps: the model and options that made it'
    check "nothing on stderr" [ ! -s "$err" ]
    doctor -m w.safetensors --size 64x32 --device cpu --gallery g.reid
    exits 2
    line error gallery 'g.reid was made by '
    head -c 20000 g.reid >cut.reid
    doctor $mine --gallery cut.reid
    exits 2
    line error gallery 'cut.reid: '
    doctor $mine --gallery nowhere.npy
    exits 2
    line error gallery 'nowhere.*No such file'
    check "no more about it" [ -z "$(grep '^[a-z]*  *calibration' "$out")" ]
    doctor $mine --gallery crops.npy --calibration score.json
    line '[a-z]*' calibration 'score.json: .*equal error rate [0-9.]* %'
    doctor $mine --calibration theirs.json
    exits 2
    line error calibration 'theirs.json was made by .*What helps: reid calibrate'
    echo '{' >broken.json
    doctor $mine --calibration broken.json
    exits 2
    line error calibration 'broken.json: '
}
head -c 100000 w.safetensors >half.safetensors
doctor -m half.safetensors --device cpu --gallery crops.npy --threshold 0.9
exits 2
line error model 'half.safetensors: '
line good gallery 'crops.npy: 18 '

# A GPU: none, and the emulator's.
if ! ldconfig -p 2>/dev/null | grep -q libcuda.so.1; then
    doctor --device cuda
    exits 2
    line error gpu 'none can be used: '
fi
if [ -e "$top/build/emulator/libcuda.so.1" ]; then
    LD_LIBRARY_PATH=$top/build/emulator "$REID" doctor >"$out" 2>"$err"
    line good gpu '.*sm_[0-9]*.*GiB free, driver for CUDA [0-9]*\.[0-9]'
    line '[a-z]*' nvrtc '.'
fi

# JSON, also with a name that is not UTF-8 and contains a newline.
name=$(printf 'w\n\377"\\.safetensors')
cp w.safetensors "$name"
doctor -m "$name" --size 32x32 --device cpu --gallery other.npy --json
exits 2
if command -v python3 >/dev/null; then
    check 'JSON that a parser takes' python3 - "$out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
order = ["good", "note", "warning", "error"]
assert d["worst"] == "error" == max((f["severity"] for f in d["findings"]), key=order.index)
about = [f["about"] for f in d["findings"]]
assert {"cpu", "self-test", "cpus", "memory", "disk", "cache", "libpq", "model", "gallery"} <= set(about), about
assert all(set(f) == {"severity", "about", "what", "remedy"} and f["what"] for f in d["findings"])
assert all(f["remedy"] for f in d["findings"] if f["severity"] == "error")
END
fi
"$REID" doctor --device cpu --gallery "$work" -o "$work" >"$out" 2>"$err"
check "results may go where the gallery is" [ "$(grep -c 'both input and output' "$err")" = 0 ]
"$REID" doctor --device cpu >/dev/full 2>"$err"
check "a full stdout is an error" [ $? = 2 ]
run 2 doctor something
says 'doctor: unexpected argument: something'
run 2 doctor --boxes x
says 'unknown option'
finish
