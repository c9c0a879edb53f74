"""group.py: compares the grouping of unnamed rows by reid_group with scikit-learn, fastcluster and hdbscan, and the
nearest neighbours of every row by reid_search with FAISS. tools/peers/group installs the peers and starts this.

    sh tools/peers/group [-o FILE.json] [--rows 20000] [--near 4000] [--alone 100000] [--neighbours 100000]
        [--rounds 3]

Four parts, each left out with 0 rows: groups of --rows with all peers, groups of --near rows that are nearly equal
within an individual with all peers, groups of --alone by reid_group alone (peers keep a distance for every pair), the
-k nearest neighbours of each of --neighbours. Each round starts every engine once,
in turn, as a process of its own (group_ours.c, group_peer.py) that reads the rows from a file; timed is what comes
between the rows in memory and the answer. FAISS is given OpenBLAS's AVX-512 kernels, as in search.py, and all peers as
many threads as ours.

The rows show individuals with heavy-tailed numbers of rows (half of the individuals have one, none more than 200): a
centre of unit length in a subspace of 64 dimensions, plus noise of length about 1 in all of them. Those of --near
show 40 individuals, with noise of length 1e-5: the frames of cameras that do not move, or that are dark.
Agglomerative engines must find the partition that ours does, else the exit status is 1; every engine's BCubed F
against the individuals is reported. hdbscan has no threshold; it gets unit rows.

Writes JSON: a cell for each part. Seconds are medians of the rounds, spread_s the least and the most of them, cpu_s the
median CPU time of all threads, which other work on the machine disturbs less. times_better and cpu_times_better are the
peer's over ours. peak_mb is the most memory that a process has had (VmHWM), of which before_mb, with the rows, the
interpreter and its packages, was there before the work. load_before is the 1-minute load average.
"""
import argparse
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from search import agreement, chip

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SAME = ("sklearn", "fastcluster", "fastcluster_blas")  # they compute what reid_group computes
GROUPERS = (*SAME, "hdbscan")
MOST_OF_ONE, SUBSPACE = 200, 64
NEAR_ONES, NEAR_NOISE = 40, np.float32(1e-5)


# ---- rows ----


def make_rows(path, count, dim, seed, near=False):
    """Writes the rows in random order; returns the individual of each."""
    random = np.random.default_rng(seed)
    sizes = [len(part) for part in np.array_split(np.arange(count), min(count, NEAR_ONES))] if near else []
    while sum(sizes) < count:
        sizes.append(min(MOST_OF_ONE, int(1 / (1 - random.random())), count - sum(sizes)))
    who = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    inner = min(SUBSPACE, dim)
    basis = np.linalg.qr(random.standard_normal((dim, inner)))[0].T.astype(np.float32)
    centres = unit(random.standard_normal((len(sizes), inner), np.float32)) @ basis
    with open(path, "wb") as f:
        for at in range(0, count, 10000):
            part = who[at:at + 10000]
            noise = unit(random.standard_normal((len(part), dim), np.float32))
            length = 1 + 0.15 * random.standard_normal((len(part), 1), np.float32)
            (centres[part] + length * noise * (NEAR_NOISE if near else 1)).astype("<f4").tofile(f)
    return who


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# ---- how good ----


def sizes_of(labels):
    """How many rows have the label of each row."""
    _, where, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return sizes[where]


def bcubed_f(groups, who):
    both = sizes_of(groups.astype(np.int64) * (int(who.max()) + 1) + who)
    precision, recall = np.mean(both / sizes_of(groups)), np.mean(both / sizes_of(who))
    return float(2 * precision * recall / (precision + recall))


def rows_apart(ours, theirs):
    """How many rows are in a group that the other partition does not have."""
    both = sizes_of(ours.astype(np.int64) * (int(theirs.max()) + 1) + theirs)
    return int(np.sum((both != sizes_of(ours)) | (both != sizes_of(theirs))))


# ---- engines ----


def command_of(args, name, work, path, count, how, out):
    end = [path, str(count), str(args.dim), str(args.threads), str(how), out]
    if name == "reid":
        return [args.ours, work, *end]
    return [sys.executable, os.path.join(HERE, "group_peer.py"), name, *end]


def environment(threads):
    env = dict(os.environ)
    env.update({name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")})
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        if "avx512f" in f.read():
            env.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
    return env


class Engine:
    """One program with all its turns."""

    def __init__(self, name, command, out, columns):
        self.name, self.command, self.out, self.columns = name, command, out, columns
        self.turns, self.why, self.answer = [], None, None

    def run(self, threads):
        done = subprocess.run(self.command, capture_output=True, text=True, env=environment(threads), check=False)
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"]
            self.why = said[-1]
            return
        self.turns.append(json.loads(done.stdout))
        answer = np.fromfile(self.out, "<u4").reshape(-1, self.columns)
        if self.answer is not None and not np.array_equal(answer, self.answer):
            self.why = "another answer than in an earlier round"
        self.answer = answer

    def median(self, key):
        return statistics.median(turn[key] for turn in self.turns)


def take_turns(args, names, work, path, count, how, rounds, folder):
    """Returns the engines by name."""
    columns = how if work == "neighbours" else 1
    engines = {}
    for name in names:
        out = os.path.join(folder, name)
        engines[name] = Engine(name, command_of(args, name, work, path, count, how, out), out, columns)
    for _ in range(rounds):
        for engine in engines.values():
            if not engine.why:
                engine.run(args.threads)
    return engines


def times_better(ours, peers, key):
    return {name: round(e.median(key) / max(1e-9, ours.median(key)), 3) for name, e in peers.items()}


def cell_of(args, work, engines, count, rounds, load):
    """Fields that every part has. A failed engine is listed only in refused."""
    good = {name: e for name, e in engines.items() if not e.why}
    ours, peers = good.get("reid"), {name: e for name, e in good.items() if name != "reid"}
    cell = {"work": work, "rows": count, "dim": args.dim, "threads": args.threads, "rounds": rounds,
            "seed": args.seed, "load_before": load, "refused": {n: e.why for n, e in engines.items() if e.why}}
    if not ours:
        return cell, good
    cell["ours_s"] = round(ours.median("seconds"), 4)
    cell["peers_s"] = {name: round(e.median("seconds"), 4) for name, e in peers.items()}
    cell["times_better"] = times_better(ours, peers, "seconds")
    cell["cpu_times_better"] = times_better(ours, peers, "cpu_seconds")
    cell["cpu_s"] = {name: round(e.median("cpu_seconds"), 4) for name, e in good.items()}
    cell["spread_s"] = {n: [round(f(t["seconds"] for t in e.turns), 4) for f in (min, max)] for n, e in good.items()}
    cell["peak_mb"] = {name: round(e.median("peak_kb") / 1024, 1) for name, e in good.items()}
    cell["before_mb"] = {name: round(e.median("before_kb") / 1024, 1) for name, e in good.items()}
    cell["times_memory"] = {name: round(e.median("peak_kb") / ours.median("peak_kb"), 2) for name, e in peers.items()}
    return cell, good


# ---- the parts ----


def groups_cell(args, names, count, rounds, folder, near=False):
    path, load = os.path.join(folder, "rows"), os.getloadavg()[0]
    who = make_rows(path, count, args.dim, args.seed, near)
    engines = take_turns(args, names, "group", path, count, args.threshold, rounds, folder)
    cell, good = cell_of(args, "groups of near rows" if near else "groups", engines, count, rounds, load)
    cell.update(threshold=args.threshold, individuals=int(who.max()) + 1)
    cell["groups"] = {name: len(np.unique(e.answer)) for name, e in good.items()}
    cell["bcubed_f"] = {name: round(bcubed_f(e.answer[:, 0], who), 6) for name, e in good.items()}
    if "reid" in good:
        cell["joins"] = good["reid"].turns[0]["joins"]
        ours = good["reid"].answer[:, 0]
        cell["rows_apart"] = {name: rows_apart(ours, good[name].answer[:, 0]) for name in SAME if name in good}
    return cell, engines


def near_cell(args, names, count, rounds, folder):
    return groups_cell(args, names, count, rounds, folder, near=True)


def neighbours_cell(args, names, count, rounds, folder):
    path, load = os.path.join(folder, "rows"), os.getloadavg()[0]
    make_rows(path, count, args.dim, args.seed)
    np.asarray(unit(np.fromfile(path, "<f4").reshape(count, args.dim)), "<f4").tofile(path)
    engines = take_turns(args, names, "neighbours", path, count, min(args.k, count), rounds, folder)
    cell, good = cell_of(args, "neighbours", engines, count, rounds, load)
    cell["k"] = min(args.k, count)
    cell["prepare_s"] = {name: round(e.median("prepare_seconds"), 4) for name, e in good.items()}
    if "reid" in good:
        cell["gflops"] = round(2 * count * count * args.dim / good["reid"].median("seconds") / 1e9, 1)
        ours = good["reid"].answer
        cell["same_rows"] = {n: round(agreement(ours, e.answer), 6) for n, e in good.items() if n != "reid"}
    return cell, engines


def parts(args):
    """Function, engines, rows and rounds of each part."""
    peers = [name for name in args.peers.split(",") if name]
    groupers = ["reid", *(name for name in peers if name in GROUPERS)]
    searchers = ["reid", *(name for name in peers if name == "faiss")]
    return [part for part in ((groups_cell, groupers, args.rows, args.rounds),
                              (near_cell, groupers, args.near, args.rounds),
                              (groups_cell, ["reid"], args.alone, max(1, args.rounds // 3)),
                              (neighbours_cell, searchers, args.neighbours, args.rounds)) if part[2]]


def is_wrong(cell):
    """Whether ours failed, or an engine that computes the same differs; FP32 may swap neighbours."""
    return ("reid" in cell["refused"] or any(cell.get("rows_apart", {}).values()) or
            any(share < 0.999 for share in cell.get("same_rows", {}).values()))


def new_result(args):
    with open(os.path.join(TOP, "reid.h"), "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": platform.platform(), "chip": chip(),
            "cpus": len(os.sched_getaffinity(0)), "driver": "",
            "versions": {"python": platform.python_version(), "numpy": np.__version__},
            "reid_h_sha256": digest, "openblas_coretype": environment(1).get("OPENBLAS_CORETYPE"), "cells": []}


def save(result, path):
    with open(path + ".part", "w", encoding="ascii") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    os.replace(path + ".part", path)


def whole(least, most):
    def number(text):
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text}: {least} to {most}")
        return value
    return number


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--rows", type=whole(0, 100000), default=20000, help="grouped by all")
    parser.add_argument("--near", type=whole(0, 100000), default=4000, help="nearly equal ones, grouped by all")
    parser.add_argument("--alone", type=whole(0, 10000000), default=100000, help="grouped by reid_group alone")
    parser.add_argument("--neighbours", type=whole(0, 10000000), default=100000, help="whose neighbours are searched")
    parser.add_argument("--dim", type=whole(1, 65536), default=512)
    parser.add_argument("-k", type=whole(1, 1000), default=33)
    parser.add_argument("--threshold", type=float, default=0.35, help="a cosine")
    parser.add_argument("--threads", type=whole(1, 1024), default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=whole(1, 1000), default=3)
    parser.add_argument("--seed", type=whole(0, 2 ** 63), default=1)
    parser.add_argument("--peers", default=",".join((*GROUPERS, "faiss")))
    parser.add_argument("--ours", default="build/peers/group_ours", help="group_ours.c, compiled")
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    for name in args.peers.split(","):
        if name and name not in (*GROUPERS, "faiss"):
            parser.error(f"--peers: no {name}; {', '.join(GROUPERS)}, faiss")
    return args


def main():
    args, wrong = parse(), False
    result = new_result(args)
    for part, names, count, rounds in parts(args):
        with tempfile.TemporaryDirectory() as folder:
            cell, engines = part(args, names, count, rounds, folder)
        for name, engine in engines.items():
            if engine.turns:
                result["versions"][name] = engine.turns[0]["version"]  # of reid.h: REID_VERSION
        result["cells"].append(cell)
        print(json.dumps(cell), flush=True)
        wrong = wrong or is_wrong(cell)
        if args.output:
            save(result, args.output)
    if wrong:
        sys.exit("group.py: not everybody came to the same: see refused, rows_apart, same_rows")


if __name__ == "__main__":
    main()
