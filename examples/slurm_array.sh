#!/bin/sh
#SBATCH --job-name=reid
#SBATCH --array=1-16
#SBATCH --cpus-per-task=4
#SBATCH --requeue
# Demonstrates how to embed a long list of images as a Slurm array: one shard per task. Any task may be killed.
#
#   job=$(sbatch --parsable slurm_array.sh crops.npy -m resnet50.safetensors crops/)
#   sbatch --dependency=afterok:$job --wrap 'reid merge crops.npy.shards/*.npy -o crops.npy'
#
# The first argument is the output, the others are those of `reid embed`; for GPUs add --gpus-per-task=1. All tasks must
# see the same files. A task that is preempted, requeued or submitted again continues after the rows that are on disk; a
# shard that has its metadata file is complete. `reid merge` checks that the shards belong together, and crops.npy is
# byte-identical to the output of a single run, even after interruptions.
set -eu
if [ $# -lt 3 ] || [ -z "${SLURM_ARRAY_TASK_ID-}" ] || [ -z "${SLURM_ARRAY_TASK_COUNT-}" ]; then
    echo "usage: sbatch --array=1-N $0 OUT -m WEIGHTS [option of reid embed]... INPUT..." >&2
    exit 2
fi
if [ "${SLURM_ARRAY_TASK_MIN:-1}" != 1 ] || [ "${SLURM_ARRAY_TASK_STEP:-1}" != 1 ]; then
    echo "$0: number the array from 1 to N: --array=1-$SLURM_ARRAY_TASK_COUNT" >&2
    exit 2
fi
out=$1
shift
case $out in
*.npy) ending=.npy metadata=.meta.json ;;
*.csv) ending=.csv metadata=.csv.meta.json ;;
*.jsonl) ending=.jsonl metadata=.jsonl.meta.json ;;
*) echo "$0: $out: the name must end in .npy, .jsonl or .csv" >&2 && exit 2 ;;
esac
mkdir -p "$out.shards"
part=$out.shards/$(printf %06d "$SLURM_ARRAY_TASK_ID")
if [ -e "$part$metadata" ]; then
    echo "shard $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT is complete"
    exit 0
fi
status=0
"${REID:-reid}" embed --threads "${SLURM_CPUS_PER_TASK:-1}" "$@" \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --resume -o "$part$ending" || status=$?
[ $status -ne 1 ] || status=0 # some images failed: the metadata name them, and `reid merge` reports them
exit $status
