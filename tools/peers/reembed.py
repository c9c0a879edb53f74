"""reembed.py: embeds a gallery in PostgreSQL again with another model: compares reid gallery reembed with reid embed,
which makes the same rows from the same crops and stores them in a file. tools/peers/reembed starts this with a server.

    sh tools/peers/reembed [-o FILE.json] [--crops 6982] [--pictures build/peers/crops] [--rounds 1]

The crops are drawn by build/demo_images, 96 for each seed, and kept for the next time. The gallery is made with
EfficientNet-B0 at 64x64; the other model is one at 224x224 with other weights. Each round measures, in this order:
reid embed; reembed by one worker; reembed by two workers of one thread each, of which one is killed (SIGKILL) when a
third of the rows exist, and replaced by another one. After each, the gallery is switched, exported and compared with
what reid embed has written, byte for byte, and it is switched back and the rows are dropped. If they differ, or a row
is missing, the exit status is 1.

Writes JSON. compare_s is what reembed --compare took last. Seconds are wall-clock time, cpu_s the CPU time of reid's
processes (user and system) without the server's; medians of the rounds, spread_s the least and the most. load_before is
the 1-minute load average.
"""
import argparse
import csv
import datetime
import hashlib
import json
import os
import platform
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REID, SEEDED, DRAW = (os.path.join(TOP, "build", name) for name in ("reid", "seeded", "demo_images"))
OLD, NEW = ("--size", "64x64"), ("--size", "224x224")


def chip():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "?")


def draw(folder, wanted):
    """A list of `wanted` crops with their animals; all images of a seed are drawn together."""
    crops, seed = [], 0
    while len(crops) < wanted:
        seed += 1
        herd = os.path.join(folder, str(seed))
        if not os.path.isdir(herd):
            os.makedirs(folder, exist_ok=True)
            subprocess.run([DRAW, herd + ".part", str(seed)], check=True, stdout=subprocess.DEVNULL)
            os.rename(herd + ".part", herd)
        for at, folders, files in os.walk(herd):
            folders.sort()
            crops += [(os.path.join(at, name), f"{seed}/{os.path.basename(at)}") for name in sorted(files)
                      if name.endswith(".png")]
    return crops[:wanted]


def gallery(part, url, *more):
    return subprocess.run([REID, "gallery", part, url, *more], check=True, capture_output=True, text=True).stdout


class Watch:
    """Wall-clock seconds, and CPU seconds of the processes that ended in that time."""

    def __enter__(self):
        self.start, self.used = time.monotonic(), self.cpu()
        return self

    def __exit__(self, *unused):
        self.seconds, self.cpu_s = time.monotonic() - self.start, self.cpu() - self.used

    @staticmethod
    def cpu():
        u = resource.getrusage(resource.RUSAGE_CHILDREN)
        return u.ru_utime + u.ru_stime


def start_worker(args, *more):
    return subprocess.Popen([REID, "gallery", "reembed", args.url, "-m", args.new, *NEW, "--json", *more],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def rows_there(args):
    status = json.loads(gallery("reembed", args.url, "--status", "--json"))
    return max((e["rows"] for e in status["embedders"] if e["role"] == "other"), default=0)


def one_worker(args, _):
    worker = start_worker(args)
    return [json.loads(worker.communicate()[0])]


def killed(args, crops):
    alone = ("--threads", "1", "--lease", "10")
    first, second = start_worker(args, *alone), start_worker(args, *alone)
    while rows_there(args) < len(crops) // 3 and first.poll() is None:
        time.sleep(1)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    return [json.loads(worker.communicate()[0]) for worker in (start_worker(args, *alone), second)]


def compare(args, expected, folder, cell):
    """Whether the rows equal those of reid embed; leaves the gallery unchanged."""
    start = time.monotonic()
    gallery("reembed", args.url, "--compare", "--json")
    cell["compare_s"] = round(time.monotonic() - start, 2)
    gallery("reembed", args.url, "--switch")
    status = json.loads(gallery("reembed", args.url, "--status", "--json"))["embedders"]
    gallery("export", args.url, "-o", os.path.join(folder, "got.npy"))
    gallery("reembed", args.url, "--back")
    gallery("reembed", args.url, "--drop", status[0]["fingerprints"][0])
    with open(expected, "rb") as a, open(os.path.join(folder, "got.npy"), "rb") as b:
        return status[0]["rows"], a.read() == b.read()


def embed(args, crops, folder):
    names = "".join(path + "\0" for path, _ in crops).encode()
    out = os.path.join(folder, "expected.npy")
    subprocess.run([REID, "embed", "-q", "-m", args.new, *NEW, "-0", "-", "-o", out], check=True, input=names)
    return out


def measure(args, crops, folder, cell):
    with Watch() as w:
        expected = embed(args, crops, folder)
    cell["embed"].append(w)
    for name, run in (("one_worker", one_worker), ("one_killed", killed)):
        with Watch() as w:
            workers = run(args, crops)
        cell[name].append(w)
        rows, same = compare(args, expected, folder, cell)
        good = same and rows == len(crops) and all(not x["missing"] and not x["failed"] for x in workers)
        cell["same_bytes"] = cell["same_bytes"] and good
        print(f"{name}: {w.seconds:.1f} s, CPU {w.cpu_s:.1f} s, {rows} rows, same bytes: {same}", flush=True)


def numbers(watches):
    values = {"seconds": [w.seconds for w in watches], "cpu_s": [w.cpu_s for w in watches]}
    return {"seconds": round(statistics.median(values["seconds"]), 2),
            "cpu_s": round(statistics.median(values["cpu_s"]), 2),
            "spread_s": [round(min(values["seconds"]), 2), round(max(values["seconds"]), 2)]}


def run_cell(args, folder):
    crops = draw(args.pictures, args.crops)
    args.new = os.path.join(folder, "new.safetensors")
    old = os.path.join(folder, "old.safetensors")
    for name, seed in ((old, "1"), (args.new, "2")):
        subprocess.run([SEEDED, "--net", "efficientnet_b0", "-o", name, "--seed", seed], check=True)
    with open(os.path.join(folder, "list.csv"), "w", newline="", encoding="utf-8") as f:
        csv.writer(f).writerows([("path", "identity"), *crops])
    gallery("create", args.url, "-m", old, *OLD)
    gallery("add", args.url, "-m", old, *OLD, "--list", f.name)
    cell = {"crops": len(crops), "load_before": os.getloadavg()[0], "rounds": args.rounds, "same_bytes": True,
            "embed": [], "one_worker": [], "one_killed": []}
    for _ in range(args.rounds):
        measure(args, crops, folder, cell)
    for name in ("embed", "one_worker", "one_killed"):
        cell[name] = numbers(cell[name])
    cell["beside_embed"] = round(cell["one_worker"]["seconds"] / cell["embed"]["seconds"], 3)
    cell["beside_embed_cpu"] = round(cell["one_worker"]["cpu_s"] / cell["embed"]["cpu_s"], 3)
    return cell


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--url", required=True, help=argparse.SUPPRESS)
    p.add_argument("-o", "--output", metavar="FILE.json")
    p.add_argument("--crops", type=int, default=6982, metavar="N")
    p.add_argument("--rounds", type=int, default=1, metavar="N")
    p.add_argument("--pictures", default=os.path.join(TOP, "build", "peers", "crops"), metavar="FOLDER")
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cell = run_cell(args, folder)
    with open(os.path.join(TOP, "reid.h"), "rb") as f:
        sha = hashlib.sha256(f.read()).hexdigest()
    version = subprocess.run([REID, "--version"], capture_output=True, text=True, check=False).stdout.split("\n")[0]
    result = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
              "machine": platform.platform(), "chip": chip(), "cpus": os.cpu_count(), "driver": "",
              "versions": {"python": platform.python_version(), "reid": version, "postgresql": "18.4",
                           "pgvector": "0.8.5"},
              "reid_h_sha256": sha, "weights": "efficientnet_b0, seeds 1 (64x64) and 2 (224x224)", "cells": [cell]}
    print(json.dumps(cell))
    if args.output:
        with open(args.output, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)
            f.write("\n")
    if not cell["same_bytes"]:
        sys.exit("reembed.py: rows are missing, or are not those of reid embed")


if __name__ == "__main__":
    main()
