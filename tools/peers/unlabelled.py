"""Compares the threshold that reid calibrate makes without labels with those it makes with all labels, with the guess
of 0.65, and with the best threshold in hindsight, by the BCubed F of reid cluster's groups.

    make && make build/demo_video build/seeded
    python3 tools/peers/unlabelled.py --films 41 42 43 --scenes 40 --animals 3     drawn films, tracked by reid track
    python3 tools/peers/unlabelled.py --rows a.npy b.npy                          reid embed -o of a folder per identity
    python3 tools/peers/unlabelled.py --rows a.npy --tracks '(..)_.*'             with tracks: of an identity's files,
                                                 those in which the pattern's group is the same are one track, and that
                                                 group is its camera

It prints a Markdown table and, with -o, writes JSON. Needs python3 alone, and ffmpeg for --films. All films are drawn
again from their seeds, so the figures of drawn films can be repeated anywhere; the weights are synthetic.
"""
import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

REID = os.path.abspath("build/reid")


def reid(*arguments, fails=False):
    run = subprocess.run([REID, *map(str, arguments)], capture_output=True, text=True, check=False)
    if run.returncode and not fails:
        sys.exit("%s\n%s" % (" ".join(map(str, run.args)), run.stderr))
    return run


def threshold_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["threshold"]


def interval_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["score"]["threshold_interval"]


class Judge:
    """Groups the crops of a file or folder at a threshold and compares the groups with a table of labels."""

    def __init__(self, source, labels, work):
        self.source, self.labels, self.work = source, labels, work

    def at(self, *threshold):
        run = reid("cluster", self.source, *threshold, "--labels", self.labels, "-o", self.work + "/groups.csv")
        groups = re.search(r"in (\d+) group", run.stdout).group(1)
        f = re.search(r"^BCubed .* F ([\d.]+)", run.stdout, re.M).group(1)
        return float(f), int(groups), run.stderr

    def best(self, low, high, steps=40):
        tried = [low + (high - low) * i / steps for i in range(steps + 1)]
        return max((self.at("--threshold", "%.6f" % t)[:2] + (t,) for t in tried), key=lambda r: r[0])


def judge(name, source, labels, work, identities, flags=()):
    """One row of the table. flags: for a calibration without labels."""
    j = Judge(source, labels, work)
    row = {"set": name, "identities": identities}
    made = reid("calibrate", source, *flags, "-o", work + "/made.json", fails=True)
    row["refused"] = None if made.returncode == 0 else made.stderr.strip()
    if row["refused"]:
        f, groups, said = j.at()
        row["unlabelled"] = {"f": f, "groups": groups,
                             "threshold": float(re.search(r"score of ([\d.]+), which is a guess", said).group(1))}
    else:
        f, groups, _ = j.at("--calibration", work + "/made.json")
        row["unlabelled"] = {"f": f, "groups": groups, "threshold": threshold_of(work + "/made.json"),
                             "interval": interval_of(work + "/made.json")}
    for rate in ("0.01", "0.001"):
        run = reid("calibrate", source, "--labels", labels, "--leave-out", "picture", "--fmr", rate, "-o",
                   work + "/labelled.json", fails=True)
        if run.returncode:
            row["labels " + rate] = None
            continue
        f, groups, _ = j.at("--calibration", work + "/labelled.json")
        row["labels " + rate] = {"f": f, "groups": groups, "threshold": threshold_of(work + "/labelled.json")}
    f, groups, _ = j.at("--threshold", "0.65")
    row["guess"] = {"f": f, "groups": groups, "threshold": 0.65}
    middle = row["unlabelled"]["threshold"]
    f, groups, best = max(j.best(-0.2, 0.999), j.best(middle - 0.1, min(middle + 0.1, 0.9999)), key=lambda r: r[0])
    row["best"] = {"f": f, "groups": groups, "threshold": best}
    return row


def write_labels(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([("path", "identity"), *rows])


# --- drawn films ----------------------------------------------------------------------------------------------------


def draw(seed, options, work):
    """The film, its detections, and for each of its boxes the deer, or a name of its own for a mistake."""
    found, who, film = work + "/found.txt", work + "/who.txt", work + "/film.mkv"
    command = ["build/demo_video", "--size", "320x240", "--fps", "2", "--seconds", str(6 * options.scenes), "--scenes",
               str(options.scenes), "--animals", str(options.animals), "--seed", str(seed), "--mistakes", "0.5",
               "--detections", found, "--who", who]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as drawing:
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s",
                        "320x240", "-r", "2", "-i", "-", "-c:v", "ffv1", "-pix_fmt", "bgr0", film],
                       stdin=drawing.stdout, check=True)
    boxes = {}
    with open(found, encoding="utf-8") as lines, open(who, encoding="utf-8") as ids:
        for at, (line, owner) in enumerate(zip(lines, ids)):
            frame, _, x, y = map(float, line.split(",")[:4])
            name = "deer %d" % ((int(owner) - 1) % 16) if int(owner) else "mistake %d" % at
            boxes.setdefault(int(frame) - 1, []).append((x - 1, y - 1, name)) # MOT text counts from 1
    return film, found, boxes


def deer_of(source, boxes):
    seconds, x, y = map(float, re.search(r"#t=([\d.]+)&xywh=([^,]+),([^,]+),", source).groups())
    near = min(boxes[round(2 * seconds)], key=lambda b: abs(b[0] - x) + abs(b[1] - y))
    assert abs(near[0] - x) + abs(near[1] - y) < 0.1, source
    return near[2]


def judge_film(seed, weights, options, work):
    film, found, boxes = draw(seed, options, work)
    out = work + "/out"
    shutil.rmtree(out, ignore_errors=True)
    reid("track", film, "--detections", found, "-m", weights, "-q", "-o", out)
    if os.path.exists(out + "/calibration.json"):
        os.remove(out + "/calibration.json") # each threshold is given below
    with open(out + "/embeddings.meta.json", encoding="utf-8") as file:
        meta = json.load(file)
    with open(out + "/embeddings.ids.txt", encoding="utf-8") as file:
        ids = file.read().split("\n")[:meta["rows"]]
    truth = [(i, deer_of(source, boxes)) for i, source in zip(ids, meta["sources"])]
    write_labels(work + "/labels.csv", truth)
    name = "film %d, %s, %d scenes of %d" % (seed, options.net, options.scenes, options.animals)
    return judge(name, out, work + "/labels.csv", work, len({who for _, who in truth}))


# --- rows -----------------------------------------------------------------------------------------------------------


def judge_rows(path, pattern, work):
    with open(path[:-4] + ".ids.txt", encoding="utf-8") as file:
        ids = file.read().strip("\n").split("\n")
    truth = [(i, i.split("/")[-2]) for i in ids]
    source = path
    if pattern:
        source = work + "/rows.npy"
        shutil.copy(path, source)
        shutil.copy(path[:-4] + ".ids.txt", work + "/rows.ids.txt")
        with open(path[:-4] + ".meta.json", encoding="utf-8") as file:
            meta = json.load(file)
        meta["output"] = "rows.npy"
        meta["cameras"] = [re.match(pattern, i.split("/")[-1]).group(1) for i in ids]
        meta["tracks"] = [who + "/" + camera for (_, who), camera in zip(truth, meta["cameras"])]
        with open(work + "/rows.meta.json", "w", encoding="utf-8") as file:
            json.dump(meta, file)
    write_labels(work + "/labels.csv", truth)
    return judge(os.path.basename(path)[:-4] + (", tracks" if pattern else ""), source, work + "/labels.csv", work,
                 len({who for _, who in truth}), ["--unlabelled"])


# --- all of it ------------------------------------------------------------------------------------------------------


def cell(result):
    return "%.3f at %.3f (%d)" % (result["f"], result["threshold"], result["groups"]) if result else "refused"


def line(row):
    made = cell(row["unlabelled"])
    if row["refused"]:
        made += " a guess"
    else:
        made += ", %.3f to %.3f" % tuple(row["unlabelled"]["interval"])
    return "| %s | %d | %s | %s | %s | %.3f | %.3f |" % (row["set"], row["identities"], made, cell(row["labels 0.01"]),
                                                         cell(row["labels 0.001"]), row["guess"]["f"], row["best"]["f"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--films", type=int, nargs="+", default=[], metavar="SEED")
    parser.add_argument("--scenes", type=int, default=40)
    parser.add_argument("--animals", type=int, default=3)
    parser.add_argument("--net", default="resnet50-multiscale", help="of the synthetic weights for films")
    parser.add_argument("--rows", nargs="+", default=[], metavar="FILE.npy")
    parser.add_argument("--tracks", metavar="PATTERN")
    parser.add_argument("-o", metavar="FILE.json")
    options = parser.parse_args()
    if not options.films and not options.rows:
        parser.error("give --films or --rows")
    rows = []
    print("| set | individuals | without labels: F at threshold (groups), 95 % interval | labels, 1 % | labels, 0.1 % "
          "| 0.65 | best |\n|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as work:
        if options.films:
            weights = work + "/w.safetensors"
            subprocess.run(["build/seeded", "--net", options.net, "-o", weights], check=True)
        jobs = [lambda seed=s: judge_film(seed, weights, options, work) for s in options.films]
        jobs += [lambda path=p: judge_rows(path, options.tracks, work) for p in options.rows]
        for job in jobs:
            rows.append(job())
            print(line(rows[-1]), flush=True)
    if options.o:
        with open(options.o, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
