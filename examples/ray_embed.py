"""Demonstrates how to embed a long list of images on a Ray cluster: actors compute shards, and any actor may die.

    pip install 'ray[data]'
    python3 ray_embed.py -o crops.npy --shards 64 --actors 4 --gpus 1 -- -m resnet50.safetensors crops/

The arguments after -- go to `reid embed`, which must be installed on all machines (--reid gives its name). All machines
must share a folder with the weights, images and outputs. RAY_ADDRESS names a cluster; without it, a cluster is started
on this machine.

Each shard is a row of a Ray Data set and one run of `reid embed --shard I/N --resume` into crops.npy.shards/. If an
actor dies, Ray restarts it together with its shard, and the run continues after the rows that are on disk. The same
happens if this program is killed and started again; shards that have their metadata file are complete. At the end
`reid merge` checks that the shards belong together and joins them in the order of the inputs. crops.npy is
byte-identical to the output of a single run, even after interruptions.

The exit status is that of `reid merge`: 0, or 1 if some images failed (crops.meta.json names them). It is 2 if a shard
could not be completed.
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
    """The file that `reid embed` writes last: crops.meta.json for crops.npy, crops.csv.meta.json for crops.csv."""
    return (path[:-4] if path.endswith(".npy") else path) + ".meta.json"


class Embedder:
    def __init__(self, command, folder):
        self.command, self.folder = command, folder

    def __call__(self, batch):
        """One row: {"shard": ["I/N"], "part": [its path, relative to the folder that all machines share]}."""
        (shard,), (part,) = batch["shard"], batch["part"]
        if os.path.exists(os.path.join(self.folder, metadata_of(part))):
            return batch
        # Ends the run with the actor, even if Ray does not: otherwise the next actor could not open the shard's files.
        tied = ["setpriv", "--pdeathsig", "KILL", *self.command]
        for attempt in range(3):
            print(f"shard {shard}", flush=True)
            done = subprocess.run([*tied, "--shard", shard, "--resume", "-o", part], cwd=self.folder)
            if done.returncode in (0, 1):  # 1: some images failed, and the metadata name them
                return batch
            time.sleep(1)  # killed, disk full, or the previous actor's run has not quite ended
        raise RuntimeError(f"shard {shard} ends with status {done.returncode}; see its output above")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], usage="%(prog)s -o OUT [options] -- "
                                     "-m WEIGHTS [option of reid embed]... INPUT...")
    parser.add_argument("-o", "--output", required=True, help="FILE.npy, FILE.jsonl or FILE.csv")
    parser.add_argument("--shards", type=int, help="number of shards (default: eight per actor)")
    parser.add_argument("--actors", type=int, default=1, help="number of concurrent runs")
    parser.add_argument("--cpus", type=int, default=1, help="CPU threads per run")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs per run; Ray assigns them")
    parser.add_argument("--reid", default="reid", help="name or path of the command reid")
    parser.add_argument("embed", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.actors < 1 or given.cpus < 1 or given.gpus < 0 or (given.shards is not None and given.shards < 1):
        parser.error("--actors, --cpus and --shards must be at least 1, and --gpus at least 0")
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
    # Ray Data's max_restarts and max_task_retries are unlimited, and each attempt continues where the last one stopped.
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
