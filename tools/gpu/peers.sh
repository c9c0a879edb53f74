# peers.sh: PyTorch on the same networks. A part of tools/gpu_check; common.sh lists the variables.
# shellcheck shell=sh disable=SC2154
part_peers() {
    [ -z "$emulator" ] || skip 'needs a real GPU'
    command -v python3 >/dev/null || skip 'no python3 here'
    python3 -c 'import torch' 2>/dev/null || skip "python3 has no torch"
    python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' || skip 'torch finds no GPU'
    bench=$out/bench.json
    [ -s "$bench" ] || bench=$carried/bench.json # of an earlier call
    python3 tools/gpu/peers.py --bench "$bench" --out "$out/peers.json" --lines "$out/peers.jsonl" \
        --seconds $((limit - 40)) > "$out/peers.txt"
}
