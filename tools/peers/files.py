"""files.py: embeds a folder of JPEG photographs into a .npy file, end to end: `reid embed` compared with PyTorch,
onnxruntime and OpenVINO in Python. tools/peers/files installs them and starts this.

    sh tools/peers/files [-o FILE.json] [--small 400] [--large 40] [--rounds 3] [--nets resnet50,efficientnet_b0]

Two sets of photographs, drawn (waves, edges, grain; quality 90, 4:2:0, as cameras write them) or cut from those of
--photos: 640x480, and 4000x3000, as a camera of 12 Mpixel. A cell is a set and a network with seeded weights and
torchvision's preset. Each round starts every engine once, in turn, as a process of its own: files_peer.py has the
peers; ours is the command, once with libturbojpeg and once with stb_image. All engines get the same CPUs and number
of threads.

Writes JSON. seconds are medians of the rounds, from starting a process to its end, spread_s the least and the most,
first_s the same for one photograph: the time to the first row. images_per_s is (photographs - 1) / (seconds - first_s),
the pace of a longer run; whole_per_s counts the start, too. cpu_ms is the CPU time of a photograph, peak_mb the most
resident memory of an engine's processes together, sampled. times_better are images_per_s of reid (libturbojpeg) over
those of a peer, of_memory its peak over that of the fastest peer. decode_per_s is what libturbojpeg alone decodes, by
as many threads (files_decode.py, ctypes); of_decoding is reid's pace over it. goals has the goals.

Rows of torch, onnxruntime and OpenVINO with Pillow must be ours to 1e-4, else they are refused and the exit status is
1. OpenCV's pixels differ: apart is 1 - the least cosine between its rows and ours.
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
import warnings

import numpy as np
from PIL import Image

import networks
from group import save, whole
from search import chip
from video import by_name, goal, run_once

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SETS = {"640x480": (640, 480), "12mp": (4000, 3000)}
NETS = ("resnet50", "efficientnet_b0")
OURS = ("reid", "reid_stb")
EXACT = ("torch", "onnxruntime_pillow", "openvino_pillow")
PEERS = (*EXACT, "onnxruntime_opencv", "openvino_opencv")
MOST_ERROR = 1e-4
SPEED_GOAL = {"resnet50": 1.5, "efficientnet_b0": 2.0}
MEMORY_GOAL, DECODING_GOAL = 1 / 3, 0.95
DRAWN = 8  # photographs; the others are these, turned and shifted, and encoded again


# ---- photographs ----


def draw(random, width, height):
    """Broad waves, a few edges and the grain of a sensor."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    pixels = np.full((height, width, 3), 120, np.float32)
    for scale in (0.7, 2, 6, 20, 60):
        for c in range(3):
            fx, fy = random.normal(0, scale / width, 2)
            pixels[:, :, c] += 30 / scale ** 0.5 * np.sin(6.283 * (fx * x + fy * y) + random.uniform(0, 6.283))
    for _ in range(60):
        cx, cy, r = random.uniform(0, width), random.uniform(0, height), random.uniform(0.005, 0.12) * width
        left, right, top, bottom = (int(max(0, v)) for v in (cx - r, cx + r, cy - r, cy + r))
        inside = (x[top:bottom, left:right] - cx) ** 2 + (y[top:bottom, left:right] - cy) ** 2 < r * r
        pixels[top:bottom, left:right][inside] += random.normal(0, 30, 3).astype(np.float32)
    pixels += random.normal(0, 4, pixels.shape).astype(np.float32)
    return np.clip(pixels, 0, 255).astype(np.uint8)


def photographs(args, size):
    """Arrays to be saved: DRAWN of them, of --photos where they are given."""
    random = np.random.default_rng(args.seed)
    if not args.photos:
        return [draw(random, *size) for _ in range(DRAWN)]
    names = sorted(n for n in os.listdir(args.photos) if n.lower().endswith((".jpg", ".jpeg", ".png")))[:DRAWN]
    pictures = [Image.open(os.path.join(args.photos, name)).convert("RGB").resize(size) for name in names]
    return [np.asarray(p) for p in pictures] or sys.exit(f"{args.photos}: no photographs")


def make_set(args, folder, size, count):
    os.makedirs(folder)
    bases = photographs(args, size)
    for i in range(count):
        pixels = np.roll(bases[i % len(bases)], (8 * i, 24 * i), (0, 1))
        if i // len(bases) % 2:
            pixels = pixels[:, ::-1]
        Image.fromarray(pixels).save(os.path.join(folder, f"{i:05}.jpg"), quality=90, subsampling=2)
    return round(sum(e.stat().st_size for e in os.scandir(folder)) / count)


# ---- engines ----


class Engine:
    def __init__(self, name, command):
        self.name, self.command, self.why, self.turns, self.first = name, command, None, [], []

    def run(self, folder, out, limit, turns):
        turn, said = run_once(self.command(folder, out), limit)
        if turn:
            turns.append(turn)
        else:
            self.why = said

    def median(self, key):
        return statistics.median(turn[key] for turn in self.turns)

    def first_s(self):
        return statistics.median(turn["seconds"] for turn in self.first)


def make_models(net, work):
    """weights.safetensors, model.onnx with any batch, model.pth."""
    import torch
    path = {end: os.path.join(work, net + end) for end in (".safetensors", ".onnx", ".pth")}
    subprocess.run([os.path.join(TOP, "build/seeded"), "--net", net, "-o", path[".safetensors"]], check=True)
    module = networks.module_of(net)
    torch.save(module.state_dict(), path[".pth"])
    warnings.simplefilter("ignore")  # the exporter that needs no further package is deprecated
    torch.onnx.export(module, (torch.zeros(2, 3, 224, 224),), path[".onnx"], dynamo=False, opset_version=17,
                      input_names=["image"], output_names=["embedding"], dynamic_axes={"image": {0: "n"}})
    return path


def engines_of(args, net, models):
    threads = str(args.threads)

    def ours(decoder):
        return lambda folder, out: [args.ours, "embed", "-q", "-m", models[".safetensors"], "--device", "cpu",
                                    "--threads", threads, "--jpeg", decoder, folder, "-o", out]

    def peer(name):
        model = models[".pth" if name == "torch" else ".onnx"]
        return lambda folder, out: [sys.executable, os.path.join(HERE, "files_peer.py"), name, net, model, folder, out,
                                    threads, str(args.batch)]
    engines = [Engine("reid", ours("turbo")), Engine("reid_stb", ours("stb"))]
    return engines + [Engine(name, peer(name)) for name in args.peers]


def decode_pace(args, folder):
    """Photographs a second that libturbojpeg decodes by as many threads, files in the page cache."""
    command = [sys.executable, os.path.join(HERE, "files_decode.py"), folder, str(args.threads)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    return float(said.stdout) if said.returncode == 0 else None


# ---- a cell ----


def compare_rows(cell, engines, work):
    ours = np.load(os.path.join(work, "reid.npy"))
    cell["apart"] = {}
    for engine in engines[1:]:
        if engine.why:
            continue
        rows = np.load(os.path.join(work, engine.name + ".npy"))
        if rows.shape != ours.shape:
            engine.why = f"its rows are {rows.shape}, not {ours.shape}"
            continue
        cell["apart"][engine.name] = round(float(1 - (rows * ours).sum(axis=1).min()), 6)
        error = float(abs(rows - ours).max())
        if engine.name in EXACT and error > MOST_ERROR:
            engine.why = f"its rows differ from ours by {error:.1e}"


def add_ratios(cell, good, count, net):
    pace = cell["images_per_s"] = {e.name: round((count - 1) / (e.median("seconds") - e.first_s()), 2) for e in good}
    peers = {name: value for name, value in pace.items() if name in PEERS}
    goals = cell["goals"] = {}
    if "reid" not in pace:
        return
    cell["times_better"] = {name: round(pace["reid"] / value, 3) for name, value in peers.items()}
    if cell["decode_per_s"]:
        cell["of_decoding"] = round(pace["reid"] / cell["decode_per_s"], 3)
        if cell["set"] == "12mp" and net == "efficientnet_b0":
            goals["of decoding"] = goal(cell["of_decoding"], DECODING_GOAL, cell["of_decoding"] >= DECODING_GOAL)
    if peers:
        best = cell["best_peer"] = max(peers, key=peers.get)
        value = cell["times_better"][best]
        goals["images/s over the best peer's"] = goal(value, SPEED_GOAL[net], value >= SPEED_GOAL[net])
        cell["of_memory"] = round(cell["peak_mb"]["reid"] / cell["peak_mb"][best], 3)
        goals["memory of the best peer's"] = goal(cell["of_memory"], round(MEMORY_GOAL, 3),
                                                  cell["of_memory"] <= MEMORY_GOAL)


def run_cell(args, net, models, name, folder, one, work):
    count, load = len(os.listdir(folder)), os.getloadavg()[0]
    engines, paces = engines_of(args, net, models), []
    for _ in range(args.rounds):
        for engine in engines:
            out = os.path.join(work, engine.name + ".npy")
            if not engine.why:
                engine.run(one, out, args.limit, engine.first)
            if not engine.why:
                engine.run(folder, out, args.limit, engine.turns)
        paces.append(decode_pace(args, folder))
    cell = {"net": net, "set": name, "photographs": count, "threads": args.threads, "batch": args.batch,
            "rounds": args.rounds, "load_before": load,
            "decode_per_s": statistics.median(paces) if all(paces) else None}
    if not engines[0].why:
        compare_rows(cell, engines, work)
    cell["refused"] = {e.name: e.why for e in engines if e.why}
    good = [e for e in engines if not e.why]
    named = {e.name: e for e in good}
    cell["seconds"], cell["peak_mb"] = by_name(named, "seconds", 3), by_name(named, "peak_mb", 1)
    cell["spread_s"] = {e.name: [round(f(t["seconds"] for t in e.turns), 3) for f in (min, max)] for e in good}
    cell["first_s"] = {e.name: round(e.first_s(), 3) for e in good}
    cell["whole_per_s"] = {e.name: round(count / e.median("seconds"), 2) for e in good}
    cell["cpu_ms"] = {e.name: round(1000 * e.median("cpu_seconds") / count, 2) for e in good}
    add_ratios(cell, good, count, net)
    return cell


# ---- all of it ----


def new_result(args):
    from importlib.metadata import version
    names = ("numpy", "pillow", "torch", "torchvision", "onnxruntime", "openvino", "opencv-python-headless")
    with open(os.path.join(TOP, "reid.h"), "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": platform.platform(), "chip": chip(),
            "cpus": len(os.sched_getaffinity(0)), "driver": "", "load": [round(v, 2) for v in os.getloadavg()],
            "versions": {"python": platform.python_version(), **{name: version(name) for name in names}},
            "reid_h_sha256": digest, "weights": "seed 1", "photographs": args.photos or "drawn", "cells": []}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--small", type=whole(0, 100000), default=400, help="photographs of 640x480")
    parser.add_argument("--large", type=whole(0, 10000), default=40, help="photographs of 4000x3000")
    parser.add_argument("--photos", help="a folder of photographs, from which the sets are made")
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--rounds", type=whole(1, 1000), default=3)
    parser.add_argument("--threads", type=whole(1, 1024), default=len(os.sched_getaffinity(0)))
    parser.add_argument("--batch", type=whole(1, 4096), default=16, help="of the peers")
    parser.add_argument("--seed", type=whole(0, 2 ** 31 - 1), default=1)
    parser.add_argument("--limit", type=whole(1, 86400), default=3600, help="seconds that a turn may take")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--ours", default=os.path.join(TOP, "build/reid"))
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    for field, known in (("peers", PEERS), ("nets", NETS)):
        setattr(args, field, [name for name in getattr(args, field).split(",") if name])
        for name in getattr(args, field):
            if name not in known:
                parser.error(f"--{field}: unknown name {name}; expected some of {', '.join(known)}")
    if 1 in (args.small, args.large):
        parser.error("--small, --large: expected 0 or at least 2 photographs, because the first one is not counted")
    return args


def main():
    args = parse()
    result, wrong = new_result(args), False
    with tempfile.TemporaryDirectory() as work:
        for name, count in (("640x480", args.small), ("12mp", args.large)):
            if not count:
                continue
            folder, one = os.path.join(work, name), os.path.join(work, name + "-one")
            average = make_set(args, folder, SETS[name], count)
            os.makedirs(one)
            os.link(os.path.join(folder, "00000.jpg"), os.path.join(one, "00000.jpg"))
            for net in args.nets:
                cell = run_cell(args, net, make_models(net, work), name, folder, one, work)
                cell["bytes"] = average
                result["cells"].append(cell)
                print(json.dumps(cell), flush=True)
                wrong = wrong or cell["refused"]
                if args.output:
                    save(result, args.output)
    if wrong:
        sys.exit("files.py: an engine failed or computed other rows: see refused")


if __name__ == "__main__":
    main()
