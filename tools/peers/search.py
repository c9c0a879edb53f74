"""Compares exact search by reid_search with FAISS's IndexFlatIP and usearch's exact search, in turns.

    python3 -m venv build/venv_search && build/venv_search/bin/pip install numpy faiss-cpu usearch
    cc -std=c99 -D_GNU_SOURCE -O2 -shared -fPIC -fvisibility=hidden tools/peers/search_ours.c -o build/search_ours.so \
        -lm -lpthread
    build/venv_search/bin/python tools/peers/search.py --threads 2 -o tools/results/search/DATE-CHIP.json

Random unit rows; each round runs every engine once, in turn; the result is the median of the rounds. The answers of
all engines are compared with ours. FAISS gets the best settings: OpenBLAS's AVX-512 kernels, which it does not find on
every CPU by itself, and beside its own choice the matrix product for any number of queries ("faiss_blas"). Writes
JSON: one cell for each number of queries and kind of rows, milliseconds a call; load_before is the 1-minute load
average, which shows whether the machine was otherwise busy.
"""
import argparse
import ctypes
import datetime
import json
import os
import platform
import statistics
import time

import numpy as np


class Ours:
    """tools/peers/search_ours.c; a hit is {uint32 row, uint32 group, double score}."""
    hit = np.dtype([("row", "<u4"), ("group", "<u4"), ("score", "<f8")])

    def __init__(self, library, rows, threads):
        self.lib = ctypes.CDLL(library)
        self.lib.search_open.restype = ctypes.c_void_p
        self.lib.search_open.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int]
        self.lib.search_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p,
                                        ctypes.c_void_p]
        at = rows.ctypes.data
        half = rows.dtype == np.float16
        self.index = self.lib.search_open(None if half else at, at if half else None, *rows.shape, threads)
        assert self.index

    def search(self, queries, k):
        hits = np.zeros((len(queries), k), self.hit)
        found = np.zeros(len(queries), np.int32)
        assert self.lib.search_run(self.index, queries.ctypes.data, len(queries), k, hits.ctypes.data,
                                   found.ctypes.data) == 0
        return hits["row"]


class Faiss:
    """IndexFlatIP copies the rows as float32; halves are kept as halves by the scalar quantiser."""

    def __init__(self, rows, threads):
        import faiss
        faiss.omp_set_num_threads(threads)
        self.name = "faiss-cpu " + faiss.__version__
        dim = rows.shape[1]
        if rows.dtype == np.float16:
            self.index = faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        else:
            self.index = faiss.IndexFlatIP(dim)
        for at in range(0, len(rows), 100000):
            self.index.add(rows[at:at + 100000].astype(np.float32))

    def search(self, queries, k):
        return self.index.search(queries, k)[1]


class FaissBlas(Faiss):
    """FAISS with its matrix product for any number of queries; by default it uses it for many queries only."""

    def search(self, queries, k):
        import faiss
        before = faiss.cvar.distance_compute_blas_threshold
        faiss.cvar.distance_compute_blas_threshold = 1
        rows = self.index.search(queries, k)[1]
        faiss.cvar.distance_compute_blas_threshold = before
        return rows


class Usearch:
    def __init__(self, rows, threads):
        import usearch
        from usearch.index import MetricKind, search
        self.name = "usearch " + usearch.__version__
        self.rows, self.threads, self.call, self.metric = rows, threads, search, MetricKind.IP

    def search(self, queries, k):
        queries = queries.astype(self.rows.dtype)
        found = self.call(self.rows, queries, k, self.metric, exact=True, threads=self.threads)
        return found.keys.reshape(len(queries), -1)


def unit_rows(count, dim, seed):
    random = np.random.default_rng(seed)
    rows = np.empty((count, dim), np.float32)
    for at in range(0, count, 50000):
        part = random.standard_normal((min(50000, count - at), dim), np.float32)
        rows[at:at + 50000] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return rows


def agreement(ours, theirs):
    """Share of equal rows: FP32 may swap neighbours."""
    return float(np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(ours.tolist(), theirs.tolist())]))


def timed(engine, queries, k):
    start = time.perf_counter()
    rows = engine.search(queries, k)
    return (time.perf_counter() - start) * 1e3, rows


def measure(engines, queries, k, rounds):
    times = {name: [] for name in engines}
    answers = {}
    for number in range(rounds + (rounds > 1)):  # the first of several is not counted
        for name, engine in engines.items():
            ms, answers[name] = timed(engine, queries, k)
            if number or rounds == 1:
                times[name].append(ms)
    return {name: statistics.median(t) for name, t in times.items()}, answers


def chip():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "?")


def cells(args, rows, kind):
    engines = {"reid": Ours(args.library, rows, args.threads)}
    names = {}
    for key, peer in (("faiss", Faiss), ("faiss_blas", FaissBlas), ("usearch", Usearch)):
        if key in args.peers.split(",") and not (peer is FaissBlas and rows.dtype == np.float16):
            engines[key] = peer(rows, args.threads)
            names[key] = engines[key].name
    for n in map(int, args.queries.split(",")):
        queries = unit_rows(n, args.dim, 2)
        rounds = args.rounds if n < 1000 else max(1, args.rounds // 3)
        ms, answers = measure(engines, queries, args.k, rounds)
        peers = {key: round(ms[key], 3) for key in names}
        best = min(peers.values()) if peers else None
        gflops = 2 * n * len(rows) * args.dim / ms["reid"] / 1e6
        yield names, {
            "rows": len(rows), "dim": args.dim, "storage": kind, "queries": n, "k": args.k, "threads": args.threads,
            "rounds": rounds, "ours_ms": round(ms["reid"], 3), "peers_ms": peers,
            "times_better": round(best / ms["reid"], 3) if best else None,
            "gflops": round(gflops, 1), "rows_gbs": round(rows.nbytes / ms["reid"] / 1e6, 2),
            "same_rows": {key: round(agreement(answers["reid"], answers[key]), 6) for key in names},
        }


def main():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        if "avx512f" in f.read():  # the OpenBLAS in FAISS's wheel does not find its best kernels on every CPU
            os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=1000000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--queries", default="1,32,1000")
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--storage", default="fp32,fp16")
    parser.add_argument("--peers", default="faiss,faiss_blas,usearch")
    parser.add_argument("--library", default="build/search_ours.so")
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    rows = unit_rows(args.rows, args.dim, 1)
    report = {"date": datetime.date.today().isoformat(), "machine": platform.platform(), "chip": chip(),
              "versions": {"numpy": np.__version__}, "load_before": os.getloadavg()[0],
              "openblas_coretype": os.environ.get("OPENBLAS_CORETYPE"), "cells": []}
    for kind in args.storage.split(","):
        if kind == "fp16":
            rows = rows.astype(np.float16)
        for names, cell in cells(args, rows, kind):
            report["versions"].update(names)
            report["cells"].append(cell)
            print(json.dumps(cell), flush=True)
    if args.output:
        with open(args.output, "w", encoding="ascii") as f:
            json.dump(report, f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
