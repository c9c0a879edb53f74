"""faces.py: embeds 10,000 crops of 112x112 pixels: `reid track`, which cuts them out of a film, compared with `reid
embed` on the crops that it wrote, and PyTorch, one image at a time. tools/peers/faces installs PyTorch and starts this.

    sh tools/peers/faces [-o FILE.json] [--faces 10000] [--peer 1000] [--rounds 2]

ffmpeg draws a film (testsrc2 and noise, 1120x560, H.264) with 50 boxes in a grid in each frame; each frame is a scene,
so that every box is a track and becomes a row. Each round starts every engine once, in turn, as a process of its own,
and times it from start to end: `reid track` decodes, writes a PNG for each crop, looks for groups (at a threshold that
nothing reaches) and writes its folder, `reid embed` reads those PNG. PyTorch gets the first --peer crops, and its time
is that of the loop alone, without imports and weights: with as many threads as by default, which all others have, too
(torch), and with one (torch_one).

Writes JSON: seconds and CPU seconds are medians of the rounds, spread_s the least and the most of them, each for all
faces; PyTorch's are scaled to them. of_embed is reid track's over reid embed's, times_better PyTorch's, with the
threads that are better for it, over reid track's. goals has the goals and whether they were met. Rows of track
and embed must be the same bytes, and PyTorch's differ from them by less than 1e-4, else the exit status is 1.
load_before is the 1-minute load average: on a busy machine only the ratios are meaningful, and even they are less so.
"""
import argparse
import hashlib
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
FACE, ACROSS, DOWN = 112, 10, 5
EMBED_GOAL, TORCH_GOAL, MOST_APART = 1.1, 3, 1e-4


def chip():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "?")


def draw(args, folder, frames):
    film = os.path.join(folder, "faces.mp4")
    subprocess.run([args.ffmpeg, "-nostdin", "-v", "error", "-f", "lavfi", "-i",
                    f"testsrc2=size={FACE * ACROSS}x{FACE * DOWN}:rate=25", "-vf", "noise=alls=20:allf=t:all_seed=1",
                    "-frames:v", str(frames), "-c:v", "libx264", "-preset", "veryfast", "-crf", "18", "-pix_fmt",
                    "yuv420p", film], check=True)
    with open(os.path.join(folder, "boxes.txt"), "w", encoding="ascii") as boxes:
        for i in range(args.faces):
            frame, place = divmod(i, ACROSS * DOWN)
            y, x = divmod(place, ACROSS)
            print(frame + 1, -1, x * FACE + 1, y * FACE + 1, FACE, FACE, 1, -1, -1, -1, sep=",", file=boxes)
    with open(os.path.join(folder, "cuts"), "w", encoding="ascii") as cuts:
        print(*range(2, frames + 1), sep="\n", file=cuts)
    return film


def turn(command, limit):
    """Seconds, CPU seconds and the output; None after saying what failed."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{command[0]}: {done.stderr.strip() or 'ended with status ' + str(done.returncode)}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "cpu": cpu}, done.stdout


def median(turns, key):
    return round(statistics.median(t[key] for t in turns), 3)


def measure(args, folder):
    load = [round(os.getloadavg()[0], 2)]
    film = draw(args, folder, -(-args.faces // (ACROSS * DOWN)))
    path = {name: os.path.join(folder, name) for name in ("weights", "out", "embed.npy", "torch.npy", "list", "first")}
    subprocess.run([args.seeded, "--net", "efficientnet_b0", "-o", path["weights"]], check=True)
    ours = ["-q", "-m", path["weights"], "--preset", "torchreid", "--size", f"{FACE}x{FACE}"]  # pixels as they are
    turns = {"reid_track": [], "reid_embed": [], "torch": [], "torch_one": []}
    threads = {}
    for _ in range(args.rounds):
        shutil.rmtree(path["out"], ignore_errors=True)
        took, _ = turn([args.ours, "track", film, "--detections", folder + "/boxes.txt", "--cuts", folder + "/cuts",
                        "--first-frame", "1", "--threshold", "2", "--ffmpeg", args.ffmpeg, "-o", path["out"], *ours],
                       args.limit)
        turns["reid_track"].append(took)
        with open(path["out"] + "/embeddings.ids.txt", encoding="utf-8") as f:
            names = [os.path.join(path["out"], line) for line in f.read().splitlines()]
        for name, part in (("list", names), ("first", names[:args.peer])):
            with open(path[name], "w", encoding="utf-8") as f:
                print(*part, sep="\n", file=f)
        took, _ = turn(["sh", "-c", 'list=$1; shift; exec "$@" < "$list"', "sh", path["list"], args.ours, "embed", "-",
                        "-o", path["embed.npy"], *ours], args.limit)
        turns["reid_embed"].append(took)
        for name in ("torch", "torch_one"):
            _, said = turn([sys.executable, HERE + "/faces_peer.py", path["weights"], path["first"],
                            path["torch.npy"], *(["1"] if name == "torch_one" else [])], args.limit)
            said = json.loads(said)
            threads[name] = said["threads"]
            turns[name].append({"seconds": said["seconds"] * args.faces / min(args.peer, args.faces)})
        load.append(round(os.getloadavg()[0], 2))
    rows, again = np.load(path["out"] + "/embeddings.npy"), np.load(path["embed.npy"])
    theirs = np.load(path["torch.npy"])
    cell = {"work": "faces", "faces": args.faces, "face": [FACE, FACE], "peer_faces": min(args.peer, args.faces),
            "rounds": args.rounds, "load": load, "rows": len(rows), "same_rows": bool(np.array_equal(rows, again)),
            "torch_apart": float(np.abs(rows[:len(theirs)] - theirs).max()), "torch_threads": threads,
            "seconds": {name: median(all_of, "seconds") for name, all_of in turns.items()},
            "spread_s": {name: [round(f(t["seconds"] for t in all_of), 3) for f in (min, max)]
                         for name, all_of in turns.items()},
            "cpu_s": {name: median(turns[name], "cpu") for name in ("reid_track", "reid_embed")}}
    s, c = cell["seconds"], cell["cpu_s"]
    cell["of_embed"] = round(s["reid_track"] / s["reid_embed"], 3)
    cell["cpu_of_embed"] = round(c["reid_track"] / c["reid_embed"], 3)
    cell["times_better"] = round(min(s["torch"], s["torch_one"]) / s["reid_track"], 3)
    cell["goals"] = {
        "reid track of reid embed": {"is": cell["of_embed"], "goal": EMBED_GOAL, "met": cell["of_embed"] <= EMBED_GOAL},
        "times as fast as PyTorch": {"is": cell["times_better"], "goal": TORCH_GOAL,
                                     "met": cell["times_better"] >= TORCH_GOAL}}
    return cell


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--faces", type=int, default=10000)
    parser.add_argument("--peer", type=int, default=1000, help="faces that PyTorch gets")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--limit", type=int, default=3600, help="seconds that a turn may take")
    parser.add_argument("--ours", default=os.path.join(TOP, "build/reid"))
    parser.add_argument("--ffmpeg", default="ffmpeg")
    parser.add_argument("--seeded", default=os.path.join(TOP, "build/seeded"))
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    if args.faces < 1 or args.peer < 1 or args.rounds < 1:
        parser.error("--faces, --peer and --rounds must be at least 1")
    with open(os.path.join(TOP, "reid.h"), "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    version = subprocess.run([args.ours, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    result = {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": platform.platform(),
              "chip": chip(), "cpus": len(os.sched_getaffinity(0)),
              "versions": {"python": platform.python_version(), "torch": torch.__version__, "reid": version},
              "reid_h_sha256": digest, "weights": "efficientnet_b0, seed 1", "cells": []}
    with tempfile.TemporaryDirectory() as folder:
        cell = measure(args, folder)
    result["cells"].append(cell)
    print(json.dumps(cell), flush=True)
    if args.output:
        with open(args.output + ".part", "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)
            print(file=f)
        os.replace(args.output + ".part", args.output)
    if not cell["same_rows"] or cell["torch_apart"] > MOST_APART or cell["rows"] != args.faces:
        sys.exit("faces.py: rows are missing, or differ from those of reid embed or PyTorch")


if __name__ == "__main__":
    main()
