#!/bin/sh
# t_serve_clients.sh: reid serve with the clients that people have: Triton's Python client and Prometheus' parser of
# metrics, and with --all Triton's perf_analyzer; all from PyPI.
set -u
cd "$(dirname "$0")/../../.." || exit 1
out=build/tests/t_serve_clients
. tests/lib/check.sh
. tests/lib/ready.sh
mkdir -p "$out"
venv=build/tests/serve_clients
work=$(mktemp -d) || exit 1
server=
stop() {
    [ -z "$server" ] || kill -9 "$server" 2>/dev/null
    rm -rf "$work"
}
trap stop EXIT
trap 'exit 1' HUP INT TERM
none() { echo "$1" && exit 77; }

make -s build/reid build/seeded build/demo_images || exit 1
build/reid serve -m x --socket "$work/s" 2>&1 | grep -q 'compiled without' && none 'reid is without libmicrohttpd here'
command -v python3 >/dev/null || none 'no python3 here'
if [ ! -e $venv/ready ]; then
    rm -rf $venv
    python3 -m venv $venv > "$out/pip.log" 2>&1 || none 'no venv here'
    timeout 150 $venv/bin/pip install -q 'tritonclient[http]' prometheus_client >> "$out/pip.log" 2>&1 ||
        none "tritonclient and prometheus_client cannot be installed: $(tail -n 1 "$out/pip.log")"
    touch $venv/ready
fi

build/seeded --net efficientnet_b0 -o "$work/b0.safetensors"
build/demo_images "$work/crops" > /dev/null
picture=$(find "$work/crops" -name '*.png' | LC_ALL=C sort | head -n 1)
build/reid embed -q -m "$work/b0.safetensors" --size 64x64 "$picture" -o "$work/row.npy"
build/reid serve -m "$work/b0.safetensors" --size 64x64 --model-control --listen 127.0.0.1:0 2> "$work/log" &
server=$!
ready grep -q 'listening on' "$work/log"
address=$(sed -n 's|.*http://||p' "$work/log")
if [ -n "$address" ]; then good; else log=$work/log bad 'a server'; fi

if $venv/bin/python tests/tools/server/serve_triton.py \
    "$address" b0 "$picture" "$work/row.npy" > "$work/said" 2>&1; then good
else log=$work/said bad "Triton's client and Prometheus' parser"; fi

# The package called perf-analyzer has no program for every system; older clients of Triton brought one along.
find_perf() {
    perf=$(command -v perf_analyzer) && return
    perf=$venv/old/bin/perf_analyzer
    [ -x $perf ] || {
        timeout 150 $venv/bin/pip install -q --no-deps --target $venv/old tritonclient==2.41.1 \
            nvidia-cuda-runtime-cu12 >> "$out/pip.log" 2>&1 && chmod +x $perf
    }
    LD_LIBRARY_PATH=$PWD/$venv/old/nvidia/cuda_runtime/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
    $perf --version > /dev/null 2> "$out/perf.log"
}
measure() { # measure NAME JSON: perf_analyzer sends what JSON says
    echo "$2" > "$work/data.json"
    $perf -m b0 -u "$address" --input-data "$work/data.json" --concurrency-range 4 --measurement-interval 1000 -s 90 \
        > "$work/said" 2>&1
    if grep -q 'throughput: [1-9]' "$work/said" && ! grep -qi 'error' "$work/said"; then good
    else log=$work/said bad "perf_analyzer with $1"; fi
    grep '^Concurrency' "$work/said"
}
if ! all; then echo 'perf_analyzer was left to --all'
elif ! find_perf; then skip "perf_analyzer does not run here: $(head -n 1 "$out/perf.log")"
else
    measure image "$($venv/bin/python -c 'import base64, struct, sys
data = open(sys.argv[1], "rb").read()
print("{\"data\":[{\"image\":{\"content\":{\"b64\":\"%s\"},\"shape\":[1]}}]}" %
      base64.b64encode(struct.pack("<I", len(data)) + data).decode())' "$picture")"
    measure pixels "{\"data\":[{\"pixels\":{\"content\":{\"b64\":\"$(head -c 24576 "$picture" | base64 -w 0)\"},
        \"shape\":[2,64,64,3]}}]}"
fi
kill $server
wait $server
[ $? = 0 ] && good || bad 'the server ends well'
server=
finish
