#!/bin/sh
# examples/slurm_array.sh as Slurm would run it, task by task; one task is killed in the middle, requeued and finished.
# Merged, the bytes are those of a single run. There is no Slurm here, so the variables that it sets are set by hand.
#
#   sh tests/shown/t_slurm.sh
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/cli_lib.sh
script=$repository/examples/slurm_array.sh
b0 resnet50.safetensors
mkdir crops
for i in $(seq 17); do picture "crops/$i.png" 60 50 "$i"; done
: >crops/5x.png
mkdir bin
ln -s "$REID" bin/reid
PATH=$work/bin:$PATH
slow='--size 320x320 --isa scalar --batch 1'

# The two commands in its head: what the first one submits as an array, and what the second one wraps.
submit=$(sed -n 's/^#   job=$(sbatch --parsable slurm_array.sh \(.*\))$/\1/p' "$script")
merge=$(sed -n "s/^#   sbatch --dependency=.* --wrap '\(.*\)'$/\1/p" "$script")
check "its head shows how to submit it" [ -n "$submit" -a -n "$merge" ]
check "and how many tasks there are" grep -q '^#SBATCH --array=1-[0-9]*$' "$script"

task() { # task I N [ARGUMENT...]: like task I of --array=1-N
    i=$1 n=$2
    shift 2
    SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_COUNT=$n SLURM_ARRAY_TASK_MIN=1 SLURM_CPUS_PER_TASK=1 \
        sh "$script" "$@" >"$out" 2>"$err"
}
# shellcheck disable=SC2086 # options
one_task() { task "$1" 3 $submit $slow; } # the example's options, and those that make it slow enough to be killed
one_task 1
check "a task" [ $? = 0 ]
one_task 2 &
pid=$!
n=0
while [ "$(cat crops.npy.shards/000002.npy.part.log 2>/dev/null | wc -l)" -lt 2 ] && [ $n -lt 400 ]; do
    sleep 0.05
    n=$((n + 1))
done
kill -KILL "$(pgrep -P "$(pgrep -P $pid)")" # the script is a child, and the command a child of the script
wait $pid
check "a task whose command is killed fails" [ $? != 0 ]
absent crops.npy.shards/000002.meta.json
check "its rows are kept" [ -s crops.npy.shards/000002.npy.part ]
sh -c "$merge" >"$out" 2>"$err"
check "nothing is merged before all tasks are done" [ $? = 2 ]
# shellcheck disable=SC2086
task 2 3 $submit $slow -v
check "requeued" [ $? = 0 ]
says '[1-9] of 6 inputs already done'
one_task 3
check "the last" [ $? = 0 ]
one_task 1
prints 'shard 1/3 is complete'
sh -c "$merge" >"$out" 2>"$err"
check "merged, with an image that failed" [ $? = 1 ]
says '1 of 18 inputs failed'
cp crops.npy merged.npy
cp crops.ids.txt merged.ids.txt
cp crops.meta.json merged.meta.json
# shellcheck disable=SC2086
"$REID" embed -q ${submit#* } $slow --threads 1 -o crops.npy 2>/dev/null
for f in npy ids.txt meta.json; do same merged.$f crops.$f; done

# Other forms, and refusals.
for form in csv jsonl; do
    for i in 1 2; do task $i 2 p.$form -m resnet50.safetensors --size 64x64 crops; done
    task 1 2 p.$form -m resnet50.safetensors --size 64x64 crops
    prints 'shard 1/2 is complete'
    run 1 merge p.$form.shards/*.$form -o p.$form
done
refused() { # PATTERN COMMAND...
    pattern=$1
    shift
    "$@" >"$out" 2>"$err"
    check "status 2" [ $? = 2 ]
    says "$pattern"
}
refused '^usage: sbatch' sh "$script" x.npy -m w in
SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=2 refused '^usage: sbatch' sh "$script" x.npy
SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=0 refused 'from 1 to N: --array=1-2' \
    sh "$script" x.npy -m w in
SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=2 refused 'x.png: the name must end' sh "$script" x.png -m w in
SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=2 refused 'lost: ' sh "$script" x.npy -m lost crops
finish
