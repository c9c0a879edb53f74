"""compare.py: compares reid.h with other inference engines, in turns, on this CPU; tools/peers/run starts it.

    sh tools/peers/run [--quick] [--out FILE.json] [--nets resnet50:224x224,...] [--batches 1,8,32] [--threads 1,2]
                       [--isas best,avx2] [--precisions fp32,bf16] [--peers onnxruntime,...] [--rounds 9] [--starts 3]
                       [--ours HEADER_OR_PROGRAM=LABEL]... [--patience SECONDS] [--no-instructions]

A cell is a network, an input size, a precision, an instruction set, a batch and a number of threads. In each cell every
peer is a process of its own, pinned to the same CPUs, which has loaded and computed once; its rows are compared with
the golden. Then they take turns, A B C A B C, at least nine rounds; a turn is one call, or as many as take 100 ms, and
begins when all other processes sleep. A turn in which something else took the CPU, or after which the machine is
slower than at its best, is repeated.
README.md explains why this is fair, and the fields of the JSON.
"""
import argparse
import glob
import hashlib
import json
import math
import os
import platform
import re
import select
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np

import networks

TOP = networks.TOP
HERE = networks.HERE
BUILD = os.path.join(TOP, "build", "peers")
NETS = ["resnet50:224x224", "resnet50:256x128", "efficientnet_b0:224x224"]
PEERS = ["onnxruntime", "openvino", "ncnn", "torch", "torch_jit", "torch_compile"]
USUAL_PEERS = [p for p in PEERS if p != "torch_jit"]  # deprecated, and never the fastest in measurements
MOST_ERROR = 1e-4       # fp32: of a component of the row of unit length, against float64
LEAST_COSINE = 0.999    # bf16
TURN_MS = 100
TICK_MS = 1e3 / os.sysconf("SC_CLK_TCK")
MOST_DISTURBED = 0.03   # of a turn's time: waiting for a CPU, or stolen by the machine under this one
MOST_SLOW = 0.08        # how much slower than at its best the machine may be before and after a turn
MOST_LOST = 0.1         # limit of both in each engine's median; cells above it are marked
RETAKES = 5             # of one turn; two a turn in all
LONG_START_MS = 10e3    # engines that take longer are started once
LONGEST_ANSWER = 900    # seconds
LIMITS = {"best": {}, "avx2": {"REID_CPU_ISA": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}}
CC = os.environ.get("CC", "gcc")


class Refused(Exception):
    pass


class Engine:
    """A process that computes on request; worker.py describes the protocol."""

    def __init__(self, name, command, rows, cpus, environment):
        self.name, self.rows = name, rows
        self.turns, self.cpu, self.lost, self.retaken = [], [], [], 0  # ms a call, twice; shares of that time
        started = time.monotonic()
        self.process = subprocess.Popen(command + [rows, f"{started:.6f}"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=open(rows + ".log", "w"), env=environment,
                                        preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        try:
            word, _, rest = self.line().partition(" ")
            if word != "ready":
                raise Refused(rest if word == "refused" else f"said {word} {rest}")
        except Refused:
            self.process.kill()
            self.process.wait()
            raise
        self.found = json.loads(rest)

    def line(self):
        if not select.select([self.process.stdout], [], [], LONGEST_ANSWER)[0]:
            raise Refused(f"no answer in {LONGEST_ANSWER} s")
        line = self.process.stdout.readline().decode().strip()
        if not line:
            raise Refused(f"ended with status {self.process.wait()}: " + last_line(self.rows + ".log"))
        return line

    def run(self, warm, count):
        """ms of count calls"""
        self.process.stdin.write(f"run {warm} {count}\n".encode())
        self.process.stdin.flush()
        return float(self.line())

    def scheduled(self):
        """ms that its threads have run, and that they were ready to run and did not"""
        found = [read(path).split() for path in glob.glob(f"/proc/{self.process.pid}/task/*/schedstat")]
        return np.array([1e-6 * sum(int(words[i]) for words in found) for i in range(2)])

    def asleep(self):
        stats = [read(path) for path in glob.glob(f"/proc/{self.process.pid}/task/*/stat")]
        return all(stat.rpartition(")")[2].split()[0] != "R" for stat in stats if stat)

    def peak_kb(self):
        return int(re.search(r"VmHWM:\s+(\d+)", read(f"/proc/{self.process.pid}/status")).group(1))

    def stop(self):
        self.process.stdin.write(b"stop\n")
        self.process.stdin.close()
        self.process.wait()


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:  # a thread that has just ended
        return "0 0 0" if path.endswith("schedstat") else ""


def last_line(path):
    return (read(path).strip().splitlines() or ["nothing said"])[-1][:200]


STOLEN, BUSY = [8], [1, 2, 3, 6, 7, 8]  # columns of /proc/stat: by the hypervisor; by any process


def ticks(cpus, columns):
    lines = [line.split() for line in read("/proc/stat").splitlines() if re.match(r"cpu\d", line)]
    return sum(int(words[i]) for words in lines if int(words[0][3:]) in cpus for i in columns)


class Gauge:
    """How much slower than at its best the machine computes right now: see gauge.c."""
    least = {}  # ms, by the number of CPUs, of all cells

    def __init__(self, cpus):
        self.cpus = cpus
        self.engine = Engine("gauge", [os.path.join(BUILD, "gauge"), str(len(cpus))], os.path.join(BUILD, "rows.gauge"),
                             cpus, os.environ)
        for _ in range(200):  # some of them at its best
            self.slow()

    def slow(self):
        ms = self.engine.run(0, 1)
        least = self.least[len(self.cpus)] = min(ms, self.least.get(len(self.cpus), ms))
        return ms / least - 1

    def stop(self):
        self.engine.stop()


class Patience:
    """Waits, at most so many seconds per cell, until no other process uses the CPUs and they run at full speed."""

    def __init__(self, seconds, gauge):
        self.left, self.gauge = seconds, gauge

    def quiet(self):
        busy = ticks(self.gauge.cpus, BUSY)
        time.sleep(0.1)  # ten ticks
        return ticks(self.gauge.cpus, BUSY) - busy <= 1 and self.gauge.slow() <= MOST_SLOW

    def wait(self):
        while self.left > 0:
            began = time.monotonic()
            if self.quiet():
                return
            time.sleep(0.2)
            self.left -= time.monotonic() - began


# ---- a cell ----


def commands_of(args, cell):
    """The command of each engine, ours first; the worker adds the file for the rows and the time."""
    folder = networks.folder_of(cell["net"], cell["size"])
    rest = [str(cell["batch"]), str(cell["threads"]), cell["precision"]]
    commands = {label: [program, f"{folder}/weights.safetensors", f"{folder}/pixels.u8", cell["size"], *rest]
                for label, program in args.ours.items()}
    for peer in args.peers:
        commands[peer] = [sys.executable, os.path.join(HERE, "worker.py"), peer, folder, *rest]
    return commands


def environment_of(isa):
    environment = {k: v for k, v in os.environ.items()
                   if k not in LIMITS["avx2"] and not k.startswith(("OMP_", "KMP_"))}
    return {**environment, "TORCHINDUCTOR_CACHE_DIR": os.path.join(BUILD, "inductor"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1", **LIMITS[isa]}


def start_engine(name, command, cell, args):
    cpus = args.cpus[-cell["threads"]:]
    return Engine(name, command, os.path.join(BUILD, "rows." + name), cpus, environment_of(cell["asked"]))


def error_of(engine, cell):
    """(largest difference, smallest cosine) of its first call's rows to the golden"""
    golden = np.load(networks.folder_of(cell["net"], cell["size"]) + "/golden.npy")[:cell["batch"]]
    rows = np.fromfile(engine.rows, "<f4").astype(np.float64)
    if rows.size != golden.size:
        return math.inf, -1.0
    rows = rows.reshape(golden.shape)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return float(np.abs(rows - golden).max()), float((rows * golden).sum(axis=1).min())


def agrees(engine, cell):
    error, cosine = error_of(engine, cell)
    cell["errors"][engine.name] = float(f"{error:.3g}")
    good = error <= MOST_ERROR if cell["precision"] == "fp32" else cosine >= LEAST_COSINE
    if not good:
        cell["refused"][engine.name] = f"DISAGREES with the golden by {error:.1e}, cosine {cosine:.6f}"
    return good


def start_all(args, cell):
    engines = []
    for name, command in commands_of(args, cell).items():
        if cell["refused"] and not engines:
            break  # without the first engine, ours, there is nothing to compare
        try:
            engine = start_engine(name, command, cell, args)
        except Refused as e:
            cell["refused"][name] = str(e)
            continue
        if agrees(engine, cell):
            engines.append(engine)
        else:
            engine.stop()
    return engines


def wait_asleep(engines):
    """Waits until the thread pools, which spin for a while after a call, have stopped."""
    end = time.monotonic() + 10
    while not all(e.asleep() for e in engines):
        if time.monotonic() > end:
            sys.exit("a process does not go to sleep between its turns: " +
                     ", ".join(e.name for e in engines if not e.asleep()))
        time.sleep(0.002)


def take_turn(engine, engines, warm, count, most, patience):
    """(share of its time lost, ms a call, the CPU's ms a call) of the least disturbed attempt"""
    attempts, gauge = [], patience.gauge
    for _ in range(1 + RETAKES):
        wait_asleep(engines)
        patience.wait()
        before, stolen = engine.scheduled(), ticks(gauge.cpus, STOLEN)
        took = engine.run(warm, count)
        ran, waited = engine.scheduled() - before
        lost = (waited + (ticks(gauge.cpus, STOLEN) - stolen) * TICK_MS) / took
        wait_asleep(engines)
        slow = gauge.slow()
        attempts.append((max(lost, slow), took / count, ran / (warm + count)))
        if (lost <= MOST_DISTURBED and slow <= MOST_SLOW) or engine.retaken >= most:
            break
        engine.retaken += 1
    return min(attempts)


def take_turns(engines, rounds, patience):
    wait_asleep(engines)
    guess = {e.name: e.run(1, 2) / 2 for e in engines}
    counts = {e.name: max(1, math.ceil(TURN_MS / guess[e.name])) for e in engines}
    warm = int(min(guess.values()) < TURN_MS)  # other engines emptied the caches, which affects short calls only
    for _ in range(rounds):
        for e in engines:
            turn = take_turn(e, engines, warm, counts[e.name], 2 * rounds, patience)
            for values, value in zip((e.lost, e.turns, e.cpu), turn):
                values.append(value)


def spread_of(engine):
    q1, _, q3 = statistics.quantiles(engine.turns, n=4, method="inclusive")
    values = {"min": min(engine.turns), "q1": q1, "q3": q3, "max": max(engine.turns)}
    return {**{k: round4(v) for k, v in values.items()}, "retaken": engine.retaken,
            "cpu": round4(statistics.median(engine.cpu)), "lost": float(f"{statistics.median(engine.lost):.2g}")}


def round4(value):
    return float(f"{value:.5g}")


def ratios(cell, own, others):
    """Ratio of the fastest peer to ours, by median, by minimum, and by CPU time (one thread)."""
    least = {e.name: min(e.turns) for e in others}
    cpu = {e.name: statistics.median(e.cpu) for e in others}
    medians = {e.name: statistics.median(e.turns) for e in others}
    cell["best_peer"] = min(medians, key=medians.get)
    cell["ratio"] = round4(min(medians.values()) / statistics.median(own.turns))
    cell["ratio_of_least"] = round4(min(least.values()) / min(own.turns))
    if cell["threads"] == 1:
        cell["ratio_of_cpu"] = round4(min(cpu.values()) / statistics.median(own.cpu))


def fill(cell, engines, args):
    """The results of a cell's turns."""
    medians = {e.name: round4(statistics.median(e.turns)) for e in engines}
    own, peers = engines[0], [e for e in engines if e.name not in args.ours]
    cell["isa"] = own.found["isa"]
    cell["ours_ms"] = medians[own.name]
    cell["peers_ms"] = {e.name: medians[e.name] for e in peers}
    if len(args.ours) > 1:
        cell["builds_ms"] = {n: medians[n] for n in args.ours if n in medians and n != own.name}
    if peers:
        ratios(cell, own, peers)
    if max(statistics.median(e.lost) for e in engines) > MOST_LOST:
        cell["disturbed"] = True
    cell["spread_ms"] = {e.name: spread_of(e) for e in engines}
    cell["rss_mb"] = {e.name: {"interpreter": round4(e.found["interpreter_kb"] / 1024),
                               "imported": round4(e.found["imported_kb"] / 1024),
                               "peak": round4(e.peak_kb() / 1024)} for e in engines}
    cell["macs"] = own.found["macs"]  # of an image
    cell["bytes"] = round(own.found["activation_bytes"] + own.found["weight_bytes"] / cell["batch"])
    cell["gflops"] = round4(2e-6 * cell["macs"] * cell["batch"] / cell["ours_ms"])


def measure_starts(cell, names, args, gauge):
    """Process start to first rows, and loading to first rows, in turns; with the files in the page cache."""
    commands, taken, patience = commands_of(args, cell), {n: [] for n in names}, Patience(args.patience, gauge)
    for _ in range(args.starts):
        for name in names:
            if taken[name] and taken[name][0][0] > LONG_START_MS:
                continue
            patience.wait()
            engine = start_engine(name, commands[name], cell, args)
            taken[name].append((engine.found["process_ms"], engine.found["first_ms"]))
            engine.stop()
    cell["start_ms"] = {n: {"process": round4(statistics.median(t[0] for t in times)),
                            "load": round4(statistics.median(t[1] for t in times))} for n, times in taken.items()}


def run_cell(args, cell, result, gauge):
    cell.update({"rounds": args.rounds, "errors": {}, "refused": {}})
    engines = start_all(args, cell)
    for e in engines:
        result["versions"].update({e.name if e.name not in args.ours else "reid": e.found["version"]})
        for key in ("convolutions", "capability", "compiler"):
            if key in e.found:
                result["notes"].setdefault(f"{e.name} {cell['precision']} {cell['asked']}", {})[key] = e.found[key]
    names = [e.name for e in engines]
    if engines:
        take_turns(engines, args.rounds, Patience(args.patience, gauge))
        fill(cell, engines, args)
    for e in engines:
        e.stop()
    if "ours_ms" not in cell:
        result["unavailable"].append({k: cell[k] for k in ("net", "size", "precision", "asked", "batch", "threads",
                                                           "refused")})
        return
    if args.starts and cell["threads"] == args.threads[0] and cell["batch"] in (min(args.batches), max(args.batches)):
        measure_starts(cell, names, args, gauge)
    result["cells"].append(cell)


# ---- work counted ----


def instructions_perf(command, environment):
    """Per call, as the difference between many calls and few; None if the machine does not count."""
    counts = []
    for calls in (2, 12):
        done = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", *command], capture_output=True, text=True,
                              input=f"run 0 {calls}\nstop\n", env=environment)
        found = re.search(r"^(\d+),[^,]*,instructions:u", done.stderr, re.M)
        if done.returncode or not found:
            return None
        counts.append(int(found.group(1)))
    return (counts[1] - counts[0]) / 10


def instructions_callgrind(command, environment, rows):
    """Of one call, counted inside reid_embed_ex."""
    out = rows + ".callgrind"
    done = subprocess.run(["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=reid_embed_ex",
                           "--callgrind-out-file=" + out, *command], capture_output=True, text=True, input="stop\n",
                          env=environment)
    found = re.search(r"^(?:summary|totals): (\d+)", read(out), re.M)
    if done.returncode or not found or not done.stdout.startswith("ready"):
        return None
    return int(found.group(1))


def has(command):
    return any(os.access(os.path.join(p, command), os.X_OK) for p in os.environ["PATH"].split(":"))


def count_instructions(args, result):
    """Ours, batch 1, one thread. Valgrind does not support AVX-512, so it counts AVX2's instructions."""
    label = next(iter(args.ours))
    for net, size in args.nets:
        cell = {"net": net, "size": size, "precision": "fp32", "batch": 1, "threads": 1}
        rows = os.path.join(BUILD, "rows.counted")
        command = commands_of(args, cell)[label] + [rows, "0"]
        for asked in args.isas if has("perf") else []:
            count = instructions_perf(command, environment_of(asked))
            if count:
                result["instructions"].append({"net": net, "size": size, "asked": asked, "batch": 1, "by": "perf stat",
                                               "per_image": round(count)})
        if not any(i["net"] == net and i["size"] == size for i in result["instructions"]) and has("valgrind"):
            count = instructions_callgrind(command, environment_of("avx2"), rows)
            if count:
                result["instructions"].append({"net": net, "size": size, "asked": "avx2", "batch": 1,
                                               "by": "callgrind", "per_image": count})
        print(f"{net} {size}: instructions an image: {result['instructions'][-1:]}", flush=True)


# ---- the machine and the file ----


def cpu_facts():
    info = read("/proc/cpuinfo")

    def field(name):
        found = re.search(rf"^{name}\s*:\s*(.*)$", info, re.M)
        return found.group(1) if found else ""
    flags = [f for f in field("flags").split() if re.match(r"avx|amx|fma$|f16c", f)]
    return {"name": field("model name") or platform.processor(), "family": field("cpu family"), "model": field("model"),
            "stepping": field("stepping"), "flags": flags}


def out_path(cpu):
    slug = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)", "", cpu["name"].lower())).strip("-")
    return os.path.join(TOP, "tools", "results", "cpu", f"{time.strftime('%Y-%m-%d', time.gmtime())}-{slug}-"
                                                        f"{cpu['family']}-{cpu['model']}.json")


def new_result(args):
    system, cpu = os.uname(), cpu_facts()
    with open(os.path.join(TOP, "reid.h"), "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": f"{system.sysname} {system.release} {system.machine}, {len(args.cpus)} CPUs",
            "chip": cpu["name"], "driver": "", "cpu": cpu, "versions": {"python": platform.python_version()},
            "reid_h_sha256": digest, "rounds": args.rounds, "turn_ms": TURN_MS, "most_error": MOST_ERROR,
            "notes": {}, "instructions": [], "cells": [], "unavailable": []}


def save(result, path):
    """One line per cell."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    parts = []
    for key, value in result.items():
        if key in ("cells", "unavailable", "instructions"):
            rows = ",\n  ".join(json.dumps(row) for row in value)
            parts.append(f'"{key}": [\n  {rows}]' if value else f'"{key}": []')
        else:
            parts.append(f'"{key}": {json.dumps(value)}')
    with open(path + ".part", "w") as f:
        f.write("{" + ",\n ".join(parts) + "}\n")
    os.replace(path + ".part", path)


def line_of(cell):
    text = "%-16s %-7s %s %-6s n=%-2d t=%d " % (cell["net"], cell["size"], cell["precision"],
                                                cell.get("isa", cell["asked"]), cell["batch"], cell["threads"])
    if "ours_ms" not in cell:
        return text + f" not available: {cell['refused']}"
    text += " ours %.2f" % cell["ours_ms"]
    for name, ms in {**cell.get("builds_ms", {}), **cell["peers_ms"]}.items():
        text += ", %s %.2f" % (name, ms)
    for key, what in (("ratio", " ms a call; ratio"), ("ratio_of_least", ", of the least"),
                      ("ratio_of_cpu", ", of the CPU's time")):
        text += "%s %.3f" % (what, cell[key]) if key in cell else ""
    return text + (", DISTURBED" if cell.get("disturbed") else "")


# ---- arguments ----


def parse():
    p = argparse.ArgumentParser(prog="tools/peers/run", description=__doc__.split("\n")[0],
                                epilog="Paths are relative to the top of the repository.")
    p.add_argument("--quick", action="store_true", help="two networks, batches 1 and 8, one thread, 3 rounds")
    p.add_argument("--out", help="JSON; default: tools/results/cpu/DATE-CHIP.json")
    p.add_argument("--nets", help=",".join(NETS))
    p.add_argument("--batches")
    p.add_argument("--threads")
    p.add_argument("--isas", help="best,avx2")
    p.add_argument("--precisions", help="fp32,bf16")
    p.add_argument("--peers", default=",".join(USUAL_PEERS), help=",".join(PEERS))
    p.add_argument("--rounds", type=int)
    p.add_argument("--starts", type=int, help="starts of each process that are measured; 0: none")
    p.add_argument("--patience", type=float, default=30, help="seconds in a cell to wait for idle CPUs")
    p.add_argument("--ours", action="append", default=[], metavar="HEADER_OR_PROGRAM=LABEL",
                   help="another reid.h, or a program that speaks the same protocol, beside this one")
    p.add_argument("--no-instructions", action="store_true")
    args = p.parse_args()
    quick = args.quick

    def words(value, usual, quickly):
        return (value or (quickly if quick else usual)).split(",")
    args.nets = [tuple(n.split(":")) for n in words(args.nets, ",".join(NETS), f"{NETS[0]},{NETS[2]}")]
    args.batches = sorted(int(n) for n in words(args.batches, "1,8,32", "1,8"))
    args.threads = sorted(int(n) for n in words(args.threads, "1,2", "1"))
    args.isas, args.precisions = words(args.isas, "best,avx2", "best"), words(args.precisions, "fp32,bf16", "fp32,bf16")
    args.peers = [n for n in args.peers.split(",") if n]
    args.rounds = args.rounds or (3 if quick else 9)
    args.starts = args.starts if args.starts is not None else (0 if quick else 3)
    args.cpus = sorted(os.sched_getaffinity(0))
    check(p, args)
    return args


def check(p, args):
    for given, known in ((args.isas, LIMITS), (args.precisions, ["fp32", "bf16"]), (args.peers, PEERS)):
        for word in given:
            if word not in known:
                p.error(f"unknown word {word}; expected some of {', '.join(known)}")
    if any(len(n) != 2 or not re.fullmatch(r"\d+x\d+", n[1]) for n in args.nets):
        p.error("--nets: expected NET:HxW,..., for example resnet50:224x224")
    if args.rounds < 2 or args.batches[0] < 1 or args.batches[-1] > networks.IMAGES:
        p.error(f"at least 2 rounds; batches are 1 to {networks.IMAGES}")
    if args.threads[0] < 1 or args.threads[-1] > len(args.cpus):
        p.error(f"--threads: expected 1 to {len(args.cpus)}, the number of CPUs")


def compile_ours(header, name):
    """A copy named reid.h, because the header includes itself."""
    folder, program = os.path.join(BUILD, name + ".include"), os.path.join(BUILD, name)
    os.makedirs(folder, exist_ok=True)
    try:
        shutil.copy(header, os.path.join(folder, "reid.h"))
        subprocess.run([CC, "-O2", "-std=c99", "-D_GNU_SOURCE", "-I", folder, os.path.join(HERE, "ours.c"),
                        "-o", program, "-lm", "-lpthread", "-ldl"], check=True)
    except (OSError, subprocess.CalledProcessError) as e:
        sys.exit(f"{header} does not become a program: {e}")
    return program


def build_ours(args):
    """Label -> program; this reid.h is always the first."""
    programs = {}
    for i, given in enumerate([os.path.join(TOP, "reid.h") + "=ours", *args.ours]):
        path, _, label = given.rpartition("=")
        if not path or label in programs or label in PEERS or not re.fullmatch(r"\w[\w.-]*", label):
            sys.exit(f"--ours takes HEADER_OR_PROGRAM=LABEL, each label once, not {given}")
        programs[label] = compile_ours(path, f"ours{i}") if path.endswith(".h") else os.path.abspath(path)
    return programs


def cells_of(args):
    """isa `best` is the best of the chip; a chip with AVX2 at most needs no second row of cells"""
    isas = [i for i in args.isas if i == "best" or "avx512f" in cpu_facts()["flags"] or "best" not in args.isas]
    for precision in args.precisions:
        for isa in isas if precision == "fp32" else ["best"]:
            for batch in args.batches:
                for net, size in args.nets:
                    for threads in args.threads:
                        yield {"net": net, "size": size, "precision": precision, "device": "cpu", "isa": "",
                               "asked": isa, "batch": batch, "threads": threads}


def main():
    args = parse()
    args.ours = build_ours(args)
    subprocess.run([CC, "-O2", "-march=native", "-D_GNU_SOURCE", os.path.join(HERE, "gauge.c"), "-o",
                    os.path.join(BUILD, "gauge"), "-lpthread"], check=True)
    for net, size in args.nets:
        subprocess.run([sys.executable, os.path.join(HERE, "networks.py"), net, size, *map(str, args.batches)],
                       check=True)
    result = new_result(args)
    path = args.out or out_path(result["cpu"])
    disagree = 0
    gauges = {n: Gauge(args.cpus[-n:]) for n in args.threads}
    for cell in cells_of(args):
        run_cell(args, cell, result, gauges[cell["threads"]])
        disagree += any(why.startswith("DISAGREES") for why in cell["refused"].values())
        print(line_of(cell), flush=True)
        save(result, path)
    if not args.no_instructions and not args.quick:
        count_instructions(args, result)
        save(result, path)
    for gauge in gauges.values():
        gauge.stop()
    print("ratio: the fastest peer's median over ours; above 1, ours is faster. Written:", os.path.relpath(path))
    sys.exit(1 if disagree else 0)


if __name__ == "__main__":
    main()
