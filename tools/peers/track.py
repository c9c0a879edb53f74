"""track.py: compares this repository's tracks, before and after broken ones are joined, with those of SORT, ByteTrack,
OC-SORT and C-BIoU of the package `trackers`, on the same drawn detections. tools/peers/track installs them and starts
this.

    sh tools/peers/track [-o FILE.json] [--rates 30,10,5,2,1] [--mistakes 0.5,1,2] [--films 12] [--seconds 60]

Films are those of demo_video without their frames: deer that walk, turn, cross and pass behind trees, and a detector
whose mistakes are misses (single ones and runs), imprecise boxes, low scores and false boxes. A cell is a frame
rate and a measure of mistakes; films are seeds 1, 2, ... in all of them. HOTA (mean over its thresholds), IDF1 and MOTA
are trackeval's, in percent, over the boxes of all films of a cell; motmetrics must agree about IDF1 and MOTA to half a
percent.

Peers have their authors' defaults and are told the frame rate; "NAME*" has our scores instead (tracks begin with and
from HIGH) and reports a track from its first box on. Ours reports a track's boxes once it has ended; only the joined
tracks use embeddings, which are directions with noise (track_ours.c). best_peer is the best of all peers, in each
measure separately.
"""
import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import defaultdict

import motmetrics
import numpy as np
import supervision
import trackers
from trackeval.metrics import CLEAR, HOTA, Identity

from search import chip

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HIGH = 0.3  # of tracks_defaults
MEASURES = ("HOTA", "IDF1", "MOTA")
OURS = ("ours", "ours_joined")
MOST_APART = 0.5  # of two packages, which break ties between boxes in other ways


# ---- peers ----


def ours_like(**more):
    return {"minimum_consecutive_frames": 1, **more}


PEERS = {
    "sort": (trackers.SORTTracker, {}),
    "sort*": (trackers.SORTTracker, ours_like(track_activation_threshold=HIGH)),
    "bytetrack": (trackers.ByteTrackTracker, {}),
    "bytetrack*": (trackers.ByteTrackTracker,
                   ours_like(track_activation_threshold=HIGH, high_conf_det_threshold=HIGH)),
    "ocsort": (trackers.OCSORTTracker, {}),
    "ocsort*": (trackers.OCSORTTracker, ours_like(high_conf_det_threshold=HIGH)),
    "cbiou": (trackers.CBIoUTracker, {}),
}


def peer_tracks(name, boxes, frames, rate):
    """Boxes (frame, x, y, w, h, score) to rows of (frame, track, x, y, w, h)."""
    make, settings = PEERS[name]
    tracker, out = make(frame_rate=rate, **settings), []
    for frame in range(1, frames + 1):
        here = boxes[boxes[:, 0] == frame]
        corners = np.concatenate([here[:, 1:3], here[:, 1:3] + here[:, 3:5]], axis=1)
        found = tracker.update(supervision.Detections(
            xyxy=corners.reshape(-1, 4), confidence=here[:, 5], class_id=np.zeros(len(here), int)))
        for box, number in zip(found.xyxy, found.tracker_id if found.tracker_id is not None else []):
            if number >= 0:
                out.append((frame, number, box[0], box[1], box[2] - box[0], box[3] - box[1]))
    return np.array(out, float).reshape(-1, 6)


# ---- measures ----


def iou(a, b):
    """(n, 4) and (m, 4) of x, y, w, h."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, :2] + a[:, None, 2:], b[None, :, :2] + b[None, :, 2:])
    both = np.prod(np.clip(high - low, 0, None), axis=2)
    return both / (np.prod(a[:, 2:], axis=1)[:, None] + np.prod(b[:, 2:], axis=1)[None] - both)


def sequence(truth, tracks, frames):
    """The input of trackeval's metrics."""
    data = {"gt_ids": [], "tracker_ids": [], "similarity_scores": [], "num_timesteps": frames}
    names = [np.unique(rows[:, 1]) for rows in (truth, tracks)]
    for frame in range(1, frames + 1):
        here = [rows[rows[:, 0] == frame] for rows in (truth, tracks)]
        data["gt_ids"].append(np.searchsorted(names[0], here[0][:, 1]))
        data["tracker_ids"].append(np.searchsorted(names[1], here[1][:, 1]))
        data["similarity_scores"].append(iou(here[0][:, 2:6], here[1][:, 2:6]))
    data["num_gt_ids"], data["num_tracker_ids"] = len(names[0]), len(names[1])
    data["num_gt_dets"], data["num_tracker_dets"] = len(truth), len(tracks)
    return data


def by_trackeval(films):
    """films: {name: sequence}. Percent."""
    out = {}
    for metric, field, name in ((HOTA(), "HOTA", "HOTA"), (Identity({"PRINT_CONFIG": False}), "IDF1", "IDF1"),
                                (CLEAR({"PRINT_CONFIG": False}), "MOTA", "MOTA")):
        each = {seed: metric.eval_sequence(data) for seed, data in films.items()}
        out[name] = 100 * float(np.mean(metric.combine_sequences(each)[field]))
        if name == "MOTA":
            out["switches"] = int(sum(r["IDSW"] for r in each.values()))
    return out


def by_motmetrics(films):
    accumulators = []
    for data in films.values():
        acc = motmetrics.MOTAccumulator(auto_id=True)
        for truth, tracks, similar in zip(data["gt_ids"], data["tracker_ids"], data["similarity_scores"]):
            acc.update(truth, tracks, np.where(similar >= 0.5, 1 - similar, np.nan))
        accumulators.append(acc)
    table = motmetrics.metrics.create().compute_many(accumulators, metrics=["idf1", "mota"], generate_overall=True)
    return {"IDF1": 100 * float(table.loc["OVERALL", "idf1"]), "MOTA": 100 * float(table.loc["OVERALL", "mota"])}


# ---- films ----


def table_of(path, columns):
    rows = np.loadtxt(path, delimiter=",", ndmin=2) if os.path.getsize(path) else np.zeros((0, columns))
    return rows[:, :columns]


def run_film(args, rate, mistakes, seed, folder, names):
    """{name: sequence} of all trackers, and the seconds that each took."""
    files = {name: os.path.join(folder, name) for name in ("truth", "detections", "who", *OURS)}
    subprocess.run([args.video, "--no-frames", "--size", "1280x720", "--fps", str(rate), "--seconds", str(args.seconds),
                    "--animals", str(args.animals), "--mistakes", str(mistakes), "--seed", str(seed), "--truth",
                    files["truth"], "--detections", files["detections"], "--who", files["who"]], check=True)
    frames = int(np.ceil(args.seconds * rate))
    truth = table_of(files["truth"], 6)
    boxes = np.delete(table_of(files["detections"], 7), 1, axis=1)
    began = time.perf_counter()
    subprocess.run([args.ours, str(rate), files["detections"], files["who"], *(files[name] for name in OURS)],
                   check=True)
    seconds = {name: time.perf_counter() - began for name in OURS}
    out = {name: sequence(truth, table_of(files[name], 6), frames) for name in OURS}
    for name in names:
        began = time.perf_counter()
        out[name] = sequence(truth, peer_tracks(name, boxes, frames, rate), frames)
        seconds[name] = time.perf_counter() - began
    return out, seconds


def run_cell(args, rate, mistakes, names):
    films, seconds = defaultdict(dict), defaultdict(float)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.first, args.first + args.films):
            sequences, took = run_film(args, rate, mistakes, seed, folder, names)
            for name, data in sequences.items():
                films[name][seed] = data
                seconds[name] += took[name]
    found = {name: by_trackeval(each) for name, each in films.items()}
    for name, each in films.items() if args.check else ():
        for measure, value in by_motmetrics(each).items():
            if abs(value - found[name][measure]) > MOST_APART:
                sys.exit(f"track.py: {name}: {measure} is {found[name][measure]} by trackeval, {value} by motmetrics")
    cell = {"rate": rate, "mistakes": mistakes, "boxes": int(sum(d["num_gt_dets"] for d in films["ours"].values()))}
    for measure in (*MEASURES, "switches"):
        cell[measure] = {name: round(value[measure], 2) for name, value in found.items()}
    cell["best_peer"] = {m: max((cell[m][name], name) for name in names)[1] for m in MEASURES} if names else {}
    cell["seconds"] = {name: round(value, 3) for name, value in seconds.items()}
    return cell


# ---- all of it ----


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--rates", default="30,10,5,2,1", help="frames a second")
    parser.add_argument("--mistakes", default="0.5,1,2")
    parser.add_argument("--films", type=int, default=12)
    parser.add_argument("--first", type=int, default=1, help="the seed of the first film")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--animals", type=int, default=6)
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--no-check", dest="check", action="store_false", help="without motmetrics")
    parser.add_argument("--ours", default=os.path.join(TOP, "build/peers/track_ours"))
    parser.add_argument("--video", default=os.path.join(TOP, "build/demo_video"))
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    for name in args.peers.split(","):
        if name and name not in PEERS:
            parser.error(f"--peers: unknown name {name}; expected some of {', '.join(PEERS)}")
    return args


def new_result(args):
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": platform.platform(), "chip": chip(),
            "cpus": len(os.sched_getaffinity(0)), "films": args.films, "first_seed": args.first,
            "seconds": args.seconds, "animals": args.animals,
            "versions": {"python": platform.python_version(), "numpy": np.__version__,
                         "trackers": version("trackers"), "supervision": supervision.__version__,
                         "trackeval": version("trackeval"), "motmetrics": version("motmetrics")}, "cells": []}


def version(package):
    from importlib.metadata import version as of
    return of(package)


def main():
    args = parse()
    names = [name for name in args.peers.split(",") if name]
    result = new_result(args)
    for rate in args.rates.split(","):
        for mistakes in args.mistakes.split(","):
            cell = run_cell(args, float(rate), float(mistakes), names)
            result["cells"].append(cell)
            print(json.dumps(cell), flush=True)
    if args.output:
        with open(args.output + ".part", "w", encoding="ascii") as f:
            json.dump(result, f, indent=1)
            f.write("\n")
        os.replace(args.output + ".part", args.output)


if __name__ == "__main__":
    main()
