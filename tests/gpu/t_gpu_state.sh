#!/bin/sh
# t_gpu_state.sh: what the command reports about a GPU: its memory from the driver, and with -v its load from NVML,
# which is looked for at run time and may be missing, broken or without an answer. The driver is the emulator, NVML a
# few lines of C with known answers.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=$PWD/build/tests/t_gpu_state
. tests/gpu/cuda_lib.sh
mkdir -p "$out/nvml" "$out/short"
log=$out/said
make -s build/reid build/seeded > "$log" 2>&1 && good || { bad 'the command is not built'; finish; }
[ -f "$out/w" ] || build/seeded --net efficientnet_b0 -o "$out/w" || exit 1
printf 'P6 40 40 255\n' > "$out/a.ppm"
head -c 4800 reid_kernels.cu >> "$out/a.ppm"

nvml() { # nvml FOLDER OPTION...
    to=$1
    shift
    gcc -shared -fPIC -Wall -Wextra -Werror "$@" -x c - -o "$to/libnvidia-ml.so.1" <<'END'
#include <stdlib.h>
#include <string.h>
static int device;
static int fails(const char *what) {
    const char *named = getenv("NVML_FAILS");
    return named && strcmp(named, what) == 0 ? 999 : 0;
}
static int of(const void *d, const char *what) { return d != &device ? 2 : fails(what); }
const char *nvmlErrorString(int code) { return code == 999 ? "it failed" : "another error"; }
int nvmlInit_v2(void) { return fails("init"); }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **d) {
    *d = &device;
    return strcmp(uuid, "GPU-72656964-2065-6d75-6c61-746f72000000") ? 6 : fails("find");
}
int nvmlDeviceGetUtilizationRates(void *d, unsigned to[2]) { return to[0] = 97, to[1] = 12, of(d, "utilization"); }
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long to[3]) {
    to[0] = 150ull << 30, to[1] = 138ull << 30, to[2] = 12ull << 30;
    return of(d, "memory");
}
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *c) { return *c = 61, sensor ? 2 : of(d, "temperature"); }
#ifndef SHORT
int nvmlDeviceGetPowerUsage(void *d, unsigned *milliwatts) { return *milliwatts = 540400, of(d, "power"); }
#endif
END
}
nvml "$out/nvml" && nvml "$out/short" -DSHORT && good || bad 'NVML does not compile'

reid() { # reid FOLDERS ARGUMENT...
    with=$1
    shift
    env LD_LIBRARY_PATH="$emulator$with" REID_CACHE_DIR="$cache" build/reid "$@" > "$log" 2>&1
}

line() { # line TEXT FOLDERS [NAME=VALUE]: the last line of an embedding with -v
    want="reid: cuda:0: reid emulator sm_90: $1"
    # shellcheck disable=SC2086 # one word or none
    env ${3-} LD_LIBRARY_PATH="$emulator$2" REID_CACHE_DIR="$cache" build/reid embed -v -m "$out/w" --device cuda \
        --size 32x32 "$out/a.ppm" -o "$out/a.npy" > "$log" 2>&1
    case $(tail -n 1 "$log") in "$want"*) good ;; *) bad "wanted: $want" ;; esac
}

line 'busy 97 %, 12.0 of 150.0 GiB in use, 61 C, 540 W' ":$out/nvml"
line 'busy 97 %, 12.0 of 150.0 GiB in use, 540 W' ":$out/nvml" NVML_FAILS=temperature
line 'busy 97 %, 12.0 of 150.0 GiB in use, 61 C' ":$out/nvml" NVML_FAILS=power
unknown='4.0 of 4.0 GiB free; its load is unknown: NVML:'
line "$unknown nvmlInit: it failed" ":$out/nvml" NVML_FAILS=init
line "$unknown GPU-72656964-2065-6d75-6c61-746f72000000: it failed" ":$out/nvml" NVML_FAILS=find
line "$unknown utilization: it failed" ":$out/nvml" NVML_FAILS=utilization
line "$unknown memory: it failed" ":$out/nvml" NVML_FAILS=memory
line "$unknown libnvidia-ml.so.1 has no nvmlDeviceGetPowerUsage" ":$out/short"
if ldconfig -p 2> /dev/null | grep -q 'libnvidia-ml\.so\.1'; then skip 'without NVML: this machine has it'
else line "$unknown libnvidia-ml.so.1: cannot open shared object file" ''; fi

# The server's metrics.
env LD_LIBRARY_PATH="$emulator:$out/nvml" REID_CACHE_DIR="$cache" build/reid serve -m "$out/w" --device cuda \
    --size 32x32 --socket "$out/socket" > "$log" 2>&1 &
server=$!
for _ in $(seq 200); do [ -S "$out/socket" ] && break || sleep 0.1; done
if grep -q 'without libmicrohttpd' "$log"; then skip 'no libmicrohttpd'
else
    curl -s -m 60 --unix-socket "$out/socket" http://reid/metrics > "$out/metrics"
    for metric in 'busy_ratio 0.97' 'memory_used_bytes 12884901888' 'power_watts 540.4'; do
        awk -v name="reid_gpu_${metric% *}" -v value="${metric#* }" \
            '$1 == name && $2 - value < 1e-9 && value - $2 < 1e-9 { found = 1 } END { exit !found }' "$out/metrics" &&
            good || bad "/metrics has $metric"
    done
fi
kill "$server" && wait "$server"

reid '' embed -m "$out/w" --device cuda --size 32x32 "$out/a.ppm" -o "$out/a.npy"
grep -q 'GiB' "$log" && bad 'without -v nothing is said of it' || good
reid '' inspect "$out/w" --device cuda --size 32x32
holds grep -Eq '^gpu .*, 4\.29GB, 4\.[0-9]*GB free$' "$log" && good || bad 'inspect tells what is free'
reid '' inspect "$out/w" --device cuda --size 32x32 --json
uuid='"uuid": "GPU-72656964-2065-6d75-6c61-746f72000000"'
grep -Eq "$uuid, \"memory\": 4294967296, \"memory_free\": 42[0-9]{8}, \"integrated\": false," "$log" &&
    good || bad 'inspect --json tells what is free'
# A Jetson's GPU shares the host's memory.
export REID_EMULATOR_ARCH=87
reid '' inspect "$out/w" --device cuda --size 32x32
holds grep -Eq "^gpu .*\(sm_87\), .* free, the host's own memory$" "$log" && good ||
    bad 'inspect tells of memory in common'
reid '' doctor --device cuda
shows "GiB free, the host's own memory, driver" "$log" && good || bad 'doctor tells of memory in common'
reid '' embed -m "$out/w" --device cuda --size 32x32 "$out/a.ppm" -o "$out/a.npy" && good ||
    bad "a GPU with the host's memory cannot be used"
finish
