# needs.sh: ends a test as skipped where the emulator cannot be built or run. Sourced.
for need in gcc g++ make; do
    command -v $need >/dev/null 2>&1 || { echo "skipped: $need is missing"; exit 77; }
done
[ "$(uname -m)" = x86_64 ] || { echo 'skipped: the emulator needs x86-64'; exit 77; }
for feature in avx2 fma f16c; do
    grep -qw $feature /proc/cpuinfo || { echo "skipped: this processor has no $feature"; exit 77; }
done
