"""video.py: cuts a detector's boxes out of a film: compares `reid track` with ffmpeg, which only decodes, and OpenCV,
which seeks every wanted frame or reads the film in order; and the memory of `reid track` for an hour with that for a
minute. tools/peers/video installs OpenCV and starts this.

    sh tools/peers/video [-o FILE.json] [--seconds 120] [--wanted 300] [--long 3600] [--short 60] [--rounds 3]

Two parts, each left out with 0 seconds. In the first, ffmpeg draws a film (testsrc2 and noise; 1920x1080, 25 frames/s,
H.264 with 250 frames from one key frame to the next) and --wanted frames, evenly spread, have a box of 112x112 each, in
another place than the one before, so that each is a track and `reid track` makes a row of every one. It does so with
the search for cuts (reid_auto) and without it (reid_none); it embeds, groups and writes its folder, while OpenCV only
copies the pixels. Each round starts every engine once, in turn, as a process of its own; ours and ffmpeg are timed from
start to end, OpenCV from opening the film to the last box (video_peer.py). All have their default number of threads.
The second part follows drawn deer, in scenes of 15 seconds, through films of --long and --short seconds, 320x240, 10
frames/s.

Writes JSON: a cell for each part. seconds are medians of the rounds, spread_s the least and the most of them, cpu_s the
median CPU time of the process and its children. of_decoding is ours over ffmpeg's, times_better OpenCV's over ours, and
the same of CPU time. peak_mb is the most resident memory of all processes of an engine together, sampled, own_mb that
of reid, ffmpeg or Python alone. goals has the goals and whether they were met. load_before is the 1-minute load
average.

Rows must be as many as wanted frames, and the crops those of OpenCV reading in order but for the rounding of two colour
converters (levels_apart: the mean difference of the crop that differs most), else the exit status is 1. same_crops is
the share of crops with exactly the pixels of that reading, because seeking may find a different frame.
"""
import argparse
import hashlib
import json
import math
import os
import platform
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import cv2
import numpy as np

from group import save, whole
from search import chip

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
SIZE, RATE, KEY, BOX = (1920, 1080), 25, 250, 112
SMALL, SMALL_RATE, SCENE, ANIMALS = "320x240", 10, 15, 4
OURS = ("reid_none", "reid_auto")
PEERS = ("opencv_seek", "opencv_read", "opencv_grab")
MOST_APART = 1.0  # of 255; where the film moves, the next frame differs by 2 to 60
SEEK_GOAL, DECODING_GOAL, MEMORY_GOAL = 10, 1.15, 50
TICK = 0.02  # seconds between two readings of the memory in use


# ---- films ----


def draw_film(args, path, frames):
    """Returns the parameters for drawing the film again."""
    noise = ["-vf", f"noise=alls={args.noise}:allf=t:all_seed={args.seed}"] if args.noise else []
    how = ["-f", "lavfi", "-i", f"testsrc2=size={SIZE[0]}x{SIZE[1]}:rate={RATE}", *noise, "-frames:v", str(frames),
           "-c:v", "libx264", "-preset", "veryfast", "-g", str(KEY), "-keyint_min", str(KEY), "-sc_threshold", "0",
           "-pix_fmt", "yuv420p"]
    subprocess.run([args.ffmpeg, "-nostdin", "-v", "error", "-y", *how, path], check=True)
    return {"ffmpeg": how, "frames": frames, "bytes": os.path.getsize(path),
            "mbit_s": round(os.path.getsize(path) * 8 / 1e6 * RATE / frames, 2)}


def make_boxes(args, frames):
    """(frame, from 0; x, y, w, h). Every --stay boxes the place is another, two boxes or more away."""
    random, x, y, boxes = np.random.default_rng(args.seed), -SIZE[0], -SIZE[1], []
    for i, number in enumerate(((np.arange(args.wanted) + 0.5) * frames / args.wanted).astype(int)):
        last = x, y
        while i % args.stay == 0 and max(abs(x - last[0]), abs(y - last[1])) < 2 * BOX:
            x, y = (int(random.integers(0, end - BOX + 1)) for end in SIZE)
        boxes.append((number, x, y, BOX, BOX))
    return np.array(boxes, np.int64)


def write_boxes(path, boxes):
    """MOT text counts frames and pixels from 1."""
    with open(path, "w", encoding="ascii") as f:
        for number, x, y, w, h in boxes:
            f.write(f"{number + 1},-1,{x + 1},{y + 1},{w},{h},1,-1,-1,-1\n")


def draw_deer(args, seconds, path, boxes):
    how = ["--size", SMALL, "--fps", str(SMALL_RATE), "--seconds", str(seconds), "--scenes",
           str(math.ceil(seconds / SCENE)), "--animals", str(ANIMALS), "--seed", str(args.seed)]
    with subprocess.Popen([args.video, *how, "--detections", boxes], stdout=subprocess.PIPE) as frames:
        subprocess.run([args.ffmpeg, "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", SMALL, "-r",
                        str(SMALL_RATE), "-i", "-", "-c:v", "libx264", "-preset", "veryfast", "-g", str(KEY),
                        "-pix_fmt", "yuv420p", path], stdin=frames.stdout, check=True)
    if frames.returncode:
        sys.exit(f"{args.video}: it ended with status {frames.returncode}")


# ---- a process with its children ----


class Memory:
    """The most memory of a process, alone and with all its children."""

    def __init__(self, pid):
        self.pid, self.own_kb, self.peak_kb = pid, 0, 0

    def look(self):
        total = 0
        try:
            program = os.readlink(f"/proc/{self.pid}/exe")
            self.own_kb = max(self.own_kb, status_kb(self.pid, "VmHWM"))
            for pid in with_children(self.pid):
                # A child before exec shares its parent's pages.
                if pid == self.pid or os.readlink(f"/proc/{pid}/exe") != program:
                    total += status_kb(pid, "VmRSS")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass  # a process has ended
        self.peak_kb = max(self.peak_kb, total, self.own_kb)


def status_kb(pid, field):
    """A field of a process's status; 0 if it has ended and its parent has not waited for it yet."""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
        return next((int(line.split()[1]) for line in f if line.startswith(field + ":")), 0)


def with_children(pid):
    found = [pid]
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
            for child in f.read().split():
                found += with_children(int(child))
    return found


def wait_for(process, memory, limit):
    """Waits until it has ended, or kills it; returns its CPU seconds, with those of its children."""
    end, handle = time.monotonic() + limit, os.pidfd_open(process.pid)
    try:
        ended = select.poll()
        ended.register(handle, select.POLLIN)
        memory.look()
        while not ended.poll(TICK * 1000):
            memory.look()
            if time.monotonic() > end:
                process.kill()
    finally:
        if not select.select([handle], [], [], 0)[0]:
            process.kill()
        os.close(handle)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def run_once(command, limit):
    """A turn and its output; or None and why it failed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
        memory = Memory(process.pid)
        cpu = wait_for(process, memory, limit)
        seconds = time.perf_counter() - began
        texts = []
        for f in (out, errors):
            f.seek(0)
            texts.append(f.read().decode(errors="replace"))
    if process.returncode:
        said = texts[1].strip().splitlines() or [f"ended with status {process.returncode}"]
        return None, f"took more than {limit} seconds" if seconds > limit else said[-1]
    return {"seconds": seconds, "cpu_seconds": cpu, "peak_mb": memory.peak_kb / 1024,
            "own_mb": memory.own_kb / 1024}, texts[0]


# ---- engines ----


def track_command(args, film, boxes, weights, cuts, out):
    return [args.ours, "track", "-q", film, "--detections", boxes, "-m", weights, "--size", f"{BOX}x{BOX}",
            "--threshold", "0.9", "--cuts", cuts, "--ffmpeg", args.ffmpeg, "-o", out]


class Engine:
    """One program with all its turns. out: what it makes, of the turn before the next."""

    def __init__(self, name, command, out=None):
        self.name, self.command, self.out = name, command, out
        self.turns, self.why, self.crops = [], None, None

    def run(self, limit):
        if self.out and os.path.isdir(self.out):
            shutil.rmtree(self.out)
        turn, said = run_once(self.command, limit)
        if not turn:
            self.why = said
            return
        if self.name in PEERS:
            turn.update(json.loads(said))
        self.turns.append(turn)

    def median(self, key):
        return statistics.median(turn[key] for turn in self.turns)


def engines_of(args, film, boxes, folder):
    path = {name: os.path.join(folder, name) for name in (*OURS, *PEERS, "boxes.txt", "boxes.npy", "weights")}
    write_boxes(path["boxes.txt"], boxes)
    np.save(path["boxes.npy"], boxes)
    engines = [Engine("ffmpeg", [args.ffmpeg, "-nostdin", "-v", "error", "-i", film, "-f", "null", "-"])]
    for name in OURS:
        engines.append(Engine(name, track_command(args, film, path["boxes.txt"], path["weights"], name[5:],
                                                  path[name]), path[name]))
    for name in args.peers:
        engines.append(Engine(name, [sys.executable, os.path.join(HERE, "video_peer.py"), name[7:], film,
                                     path["boxes.npy"], path[name] + ".npy"], path[name] + ".npy"))
    return {engine.name: engine for engine in engines}


def tracked(folder):
    """The frames of tracks.json, and how many tracks and groups there are."""
    with open(os.path.join(folder, "tracks.json"), encoding="utf-8") as f:
        result = json.load(f)
    tracks = [track for scene in result["videos"][0]["scenes"] for track in scene["tracks"]]
    return [frame for track in tracks for frame in track["frames"]], len(tracks), result["groups"]


def read_crops(engine, boxes):
    """Sets crops: {frame: pixels}. Ours have to be at the wanted boxes, every one once."""
    if engine.name in PEERS:
        engine.crops = dict(zip(boxes[:, 0].tolist(), np.load(engine.out)))
        return
    wanted = {row[0]: row[1:] for row in boxes.tolist()}
    frames, _, _ = tracked(engine.out)
    engine.crops = {f["frame"]: cv2.imread(os.path.join(engine.out, f["path"])) for f in frames}
    if len(engine.crops) != len(frames) or any(f["crop"] != wanted.get(f["frame"]) for f in frames):
        engine.why = "a crop is not that of a wanted frame"
    elif any(crop is None or crop.shape != (BOX, BOX, 3) for crop in engine.crops.values()):
        engine.why = "a crop cannot be read, or has another size"


def levels_apart(crops, reference):
    """The mean difference of the crop that differs most, in levels of 255."""
    return max(float(np.mean(np.abs(crop.astype(int) - reference[frame]))) for frame, crop in crops.items())


def same_crops(crops, reference):
    return round(float(np.mean([np.array_equal(crop, reference[frame]) for frame, crop in crops.items()])), 4)


# ---- the parts ----


def by_name(engines, key, digits):
    return {name: round(engine.median(key), digits) for name, engine in engines.items()}


def over(above, below, key, digits=3):
    return {name: round(engine.median(key) / max(1e-9, below.median(key)), digits) for name, engine in above.items()}


def goal(value, bound, met):
    return {"is": value, "goal": bound, "met": met}


def compare_crops(cell, good, boxes):
    """OpenCV's reading in order is what the others are compared with."""
    for engine in good.values():
        if engine.out:
            read_crops(engine, boxes)
    cell["rows"] = {name: len(good[name].crops) for name in OURS if name in good}
    reference = next((good[name].crops for name in ("opencv_read", "opencv_grab") if name in good), None)
    if not reference:
        return
    cell["levels_apart"] = {name: round(levels_apart(good[name].crops, reference), 3) for name in OURS
                            if name in good and good[name].crops and not good[name].why}
    cell["same_crops"] = {name: same_crops(e.crops, reference) for name, e in good.items() if e.crops and not e.why}


def add_ratios(cell, good):
    ours = {name: good[name] for name in OURS if name in good}
    peers = {name: good[name] for name in PEERS if name in good}
    goals = cell["goals"] = {}
    if "ffmpeg" in good:
        cell["of_decoding"] = over(ours, good["ffmpeg"], "seconds")
        cell["cpu_of_decoding"] = over(ours, good["ffmpeg"], "cpu_seconds")
        for name, value in cell["of_decoding"].items():
            goals[f"{name} of decoding"] = goal(value, DECODING_GOAL, value <= DECODING_GOAL)
    cell["times_better"] = {name: over(peers, engine, "seconds") for name, engine in ours.items()}
    cell["cpu_times_better"] = {name: over(peers, engine, "cpu_seconds") for name, engine in ours.items()}
    for name, values in cell["times_better"].items():
        if "opencv_seek" in values:
            value = values["opencv_seek"]
            goals[f"{name} as fast as seeking"] = goal(value, SEEK_GOAL, value >= SEEK_GOAL)


def film_cell(args, folder):
    film, frames, load = os.path.join(folder, "film.mp4"), args.seconds * RATE, os.getloadavg()[0]
    drawn = draw_film(args, film, frames)
    boxes = make_boxes(args, frames)
    engines = engines_of(args, film, boxes, folder)
    for _ in range(args.rounds):
        for engine in engines.values():
            if not engine.why:
                engine.run(args.limit)
    good = {name: engine for name, engine in engines.items() if not engine.why}
    cell = {"work": "film", "film": drawn, "wanted": args.wanted, "box": [BOX, BOX], "stay": args.stay,
            "seed": args.seed, "rounds": args.rounds, "load_before": load}
    compare_crops(cell, good, boxes)
    cell["refused"] = {name: engine.why for name, engine in engines.items() if engine.why}
    good = {name: engine for name, engine in engines.items() if not engine.why}
    cell["seconds"], cell["cpu_s"] = by_name(good, "seconds", 3), by_name(good, "cpu_seconds", 3)
    cell["spread_s"] = {n: [round(f(t["seconds"] for t in e.turns), 3) for f in (min, max)] for n, e in good.items()}
    cell["peak_mb"], cell["own_mb"] = by_name(good, "peak_mb", 1), by_name(good, "own_mb", 1)
    cell["opencv_threads"] = {name: good[name].turns[0]["threads"] for name in PEERS if name in good}
    add_ratios(cell, good)
    return cell


def memory_cell(args, folder):
    """Both films by the same program, which looks for cuts, in turn."""
    load, rounds, engines = os.getloadavg()[0], max(1, args.rounds // 3), {}
    for name, seconds in (("long", args.long), ("short", args.short)):
        film, boxes = (os.path.join(folder, name + end) for end in (".mp4", ".txt"))
        draw_deer(args, seconds, film, boxes)
        out = os.path.join(folder, name)
        engines[name] = Engine(name, track_command(args, film, boxes, os.path.join(folder, "weights"), "auto", out),
                               out)
    for _ in range(rounds):
        for engine in engines.values():
            if not engine.why:
                engine.run(args.limit)
    good = {name: engine for name, engine in engines.items() if not engine.why}
    cell = {"work": "memory", "seconds_of": {"long": args.long, "short": args.short}, "size": SMALL,
            "rate": SMALL_RATE, "scene_s": SCENE, "animals": ANIMALS, "seed": args.seed, "rounds": rounds,
            "load_before": load, "refused": {name: engine.why for name, engine in engines.items() if engine.why},
            "seconds": by_name(good, "seconds", 3), "cpu_s": by_name(good, "cpu_seconds", 3),
            "peak_mb": by_name(good, "peak_mb", 1), "own_mb": by_name(good, "own_mb", 1), "found": {}, "goals": {}}
    for name, engine in good.items():
        rows, tracks, groups = tracked(engine.out)
        cell["found"][name] = {"rows": len(rows), "tracks": tracks, "groups": groups}
    if len(good) == 2:
        for key, what in (("peak_mb", "MB more"), ("own_mb", "MB more, without ffmpeg")):
            more = round(cell[key]["long"] - cell[key]["short"], 1)
            cell["goals"][what] = goal(more, MEMORY_GOAL, more <= MEMORY_GOAL)
    return cell


def wrong_with(cell, args):
    """What makes the exit status 1: ours failed, or made other crops. A goal that was missed does not."""
    if cell["work"] == "memory":
        return cell["refused"]
    return (any(name in cell["refused"] for name in ("ffmpeg", *OURS)) or
            args.stay == 1 and any(rows != args.wanted for rows in cell["rows"].values()) or
            any(apart > MOST_APART for apart in cell.get("levels_apart", {}).values()))


# ---- all of it ----


def first_line(*command):
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return said[0] if said else "?"


def new_result(args):
    with open(os.path.join(TOP, "reid.h"), "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": platform.platform(), "chip": chip(),
            "cpus": len(os.sched_getaffinity(0)), "driver": "", "load": [round(v, 2) for v in os.getloadavg()],
            "versions": {"python": platform.python_version(), "numpy": np.__version__, "opencv": cv2.__version__,
                         "ffmpeg": first_line(args.ffmpeg, "-version"), "reid": first_line(args.ours, "--version")},
            "reid_h_sha256": digest, "weights": "efficientnet_b0, seed 1", "cells": []}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--seconds", type=whole(0, 7200), default=120, help="length of the film that all engines read")
    parser.add_argument("--wanted", type=whole(1, 100000), default=300, help="frames with a box")
    parser.add_argument("--stay", type=whole(1, 100000), default=1,
                        help="successive boxes in one place, which make a track, of which the best are kept")
    parser.add_argument("--noise", type=whole(0, 100), default=6, help="noise of the film, in levels")
    parser.add_argument("--long", type=whole(0, 15000), default=3600, help="length of the long film, for memory")
    parser.add_argument("--short", type=whole(1, 15000), default=60, help="length of the short film, for memory")
    parser.add_argument("--rounds", type=whole(1, 1000), default=3)
    parser.add_argument("--seed", type=whole(0, 2 ** 31 - 1), default=1)
    parser.add_argument("--limit", type=whole(1, 86400), default=3600, help="seconds that a turn may take")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--ours", default=os.path.join(TOP, "build/reid"))
    parser.add_argument("--ffmpeg", default="ffmpeg", help="for all but OpenCV, which has its own")
    parser.add_argument("--video", default=os.path.join(TOP, "build/demo_video"))
    parser.add_argument("--seeded", default=os.path.join(TOP, "build/seeded"))
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    args.peers = [name for name in args.peers.split(",") if name]
    for name in args.peers:
        if name not in PEERS:
            parser.error(f"--peers: unknown name {name}; expected some of {', '.join(PEERS)}")
    for program in (args.ours, args.ffmpeg, args.video, args.seeded):
        if not shutil.which(program):
            parser.error(f"{program}: no such program; make builds ours, and a package has ffmpeg")
    if args.seconds and args.wanted > args.seconds * RATE:
        parser.error(f"--wanted is {args.wanted}, but the film has only {args.seconds * RATE} frames")
    return args


def main():
    args, wrong = parse(), False
    result = new_result(args)
    for part in [part for part, seconds in ((film_cell, args.seconds), (memory_cell, args.long)) if seconds]:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([args.seeded, "--net", "efficientnet_b0", "-o", os.path.join(folder, "weights")],
                           check=True)
            cell = part(args, folder)
        result["cells"].append(cell)
        print(json.dumps(cell), flush=True)
        wrong = wrong or wrong_with(cell, args)
        if args.output:
            save(result, args.output)
    if wrong:
        sys.exit("video.py: ours or ffmpeg failed, or our crops differ: see refused, rows, levels_apart")


if __name__ == "__main__":
    main()
