"""Demonstrates how to embed a long list of images on a Ray cluster: shards over actors, any of which may die.

    pip install 'ray[data]'
    python3 ray_embed.py -o crops.npy --shards 64 --actors 4 --gpus 1 -- -m resnet50.safetensors crops/

What follows -- goes to `reid embed`, which has to be installed on all machines (or be named by --reid), beside a folder
that all of them share: weights, images and outputs are found there. RAY_ADDRESS names a cluster; without it, one is
started on this machine.

Each shard is a row of a Ray Data set and one run of `reid embed --shard I/N --resume` into crops.npy.shards/. Ray
starts an actor that has died anew, and its shard again: the run then continues behind the rows that are on disk. The
same holds when this program is killed and started again; shards whose metadata are there are complete. At the end
`reid merge` checks that the shards belong together and joins them in the inputs' order, whatever the order in which
they were done: crops.npy has the bytes of a single run, whatever has happened.

The exit status is that of `reid merge`: 0, or 1 when some images failed (crops.meta.json names them). It is 2 when
a shard cannot be done.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time

import ray
import ray.data


def metadata_of(path):
    """What `reid embed` writes last: crops.meta.json, but crops.csv.meta.json."""
    return (path[:-4] if path.endswith(".npy") else path) + ".meta.json"


class Embedder:
    def __init__(self, command, folder):
        self.command, self.folder = command, folder

    def __call__(self, batch):
        """One row: {"shard": ["I/N"], "part": [its path, relative to the folder that all machines share]}."""
        (shard,), (part,) = batch["shard"], batch["part"]
        if os.path.exists(os.path.join(self.folder, metadata_of(part))):
            return batch
        # The run ends with the actor, also where Ray does not see to it: the next one could not have the shard's files.
        tied = ["setpriv", "--pdeathsig", "KILL", *self.command]
        for attempt in range(3):
            print(f"shard {shard}", flush=True)
            done = subprocess.run([*tied, "--shard", shard, "--resume", "-o", part], cwd=self.folder)
            if done.returncode in (0, 1):  # 1: some images failed, and the metadata name them
                return batch
            time.sleep(1)  # killed, out of disk, or the run of the actor before this one is not quite over
        raise RuntimeError(f"shard {shard} ends with status {done.returncode}; its output above says why")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], usage="%(prog)s -o OUT [options] -- "
                                     "-m WEIGHTS [option of reid embed]... INPUT...")
    parser.add_argument("-o", "--output", required=True, help="FILE.npy, FILE.jsonl or FILE.csv")
    parser.add_argument("--shards", type=int, help="default: eight for each actor")
    parser.add_argument("--actors", type=int, default=1, help="runs at the same time")
    parser.add_argument("--cpus", type=int, default=1, help="CPU threads of each")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs of each; Ray says which ones")
    parser.add_argument("--reid", default="reid", help="the command")
    parser.add_argument("embed", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.actors < 1 or given.cpus < 1 or given.gpus < 0 or (given.shards is not None and given.shards < 1):
        parser.error("--actors, --cpus and --shards are at least 1")
    if not given.output.endswith((".npy", ".jsonl", ".csv")):
        parser.error(f"{given.output}: the name must end in .npy, .jsonl or .csv")
    return given


def main():
    given = arguments()
    shards = given.shards or 8 * given.actors
    folder = given.output + ".shards"
    os.makedirs(folder, exist_ok=True)
    ending = os.path.splitext(given.output)[1]
    parts = [os.path.join(folder, f"{i + 1:06d}{ending}") for i in range(shards)]
    ray.init()
    command = [given.reid, "embed", "--threads", str(given.cpus), *given.embed]
    rows = [{"shard": f"{i + 1}/{shards}", "part": part} for i, part in enumerate(parts)]
    done = ray.data.from_items(rows, override_num_blocks=shards).map_batches(
        Embedder, fn_constructor_args=[command, os.getcwd()], batch_size=1, num_cpus=given.cpus, num_gpus=given.gpus,
        compute=ray.data.ActorPoolStrategy(size=given.actors, max_tasks_in_flight_per_actor=1))
    # Ray Data's max_restarts and max_task_retries are without limit: each attempt goes on where the last one was.
    try:
        for count, row in enumerate(done.iter_rows(), 1):
            print(f"{count} of {shards} shards are done: {row['part']}", flush=True)
    except ray.exceptions.RayError as error:
        print(error, file=sys.stderr)
        return 2
    ray.shutdown()
    status = subprocess.run([given.reid, "merge", *parts, "-o", given.output]).returncode
    if status in (0, 1):
        shutil.rmtree(folder)
    return status


if __name__ == "__main__":
    sys.exit(main())
