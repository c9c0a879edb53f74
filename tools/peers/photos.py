"""Compares the time that reid track takes for camera-trap photos, from a detector's JSON to tables and pages, with that
of reid embed --boxes, which only computes the embeddings.

    make && make build/demo_photos build/seeded
    python3 tools/peers/photos.py [--photos 2000] [--size 96x96] [--rounds 3] [-o FILE.json]

demo_photos draws the photos, with a new seed for every 180. Each is a burst of its own at one of 20 cameras and has
five boxes: animals that were found in it, moved and scaled at random, or random places. So every box is a track, and
both commands embed the same crops. Each round starts both once, in turn. The weights are synthetic (multi-scale
ResNet-50); --size makes the network faster, so that the rest of the work weighs more.

Prints the seconds, the CPU time and the most memory of each; ratio is track over embed, of the medians. Needs python3
alone. Exit status 1: a command failed, or the rows are not as many as the boxes.
"""
import argparse
import datetime
import json
import os
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

REID, BUILD = os.path.abspath("build/reid"), os.path.abspath("build")
PER_SEED, CAMERAS, BOXES = 180, 20, 5


def box_of(found, rng):
    """Left, top, width and height as shares of the photo."""
    if not found:
        width, height = rng.uniform(0.1, 0.3), rng.uniform(0.15, 0.4)
        return [rng.uniform(0, 1 - width), rng.uniform(0, 1 - height), width, height]
    x, y, width, height = rng.choice(found)["bbox"]
    x, y = (min(max(v + rng.uniform(-0.05, 0.05), 0), 0.9) for v in (x, y))
    scale = rng.uniform(0.85, 1.15)
    return [x, y, min(width * scale, 1 - x), min(height * scale, 1 - y)]


def draw(count, rng):
    """Photos, their boxes and their times, in the current folder."""
    images, when = [], datetime.datetime(2026, 5, 1)
    with open("times.csv", "w", encoding="utf-8") as times:
        print("path,time", file=times)
        for seed in range(1, 2 + (count - 1) // PER_SEED):
            subprocess.run([BUILD + "/demo_photos", "drawn", str(seed)], check=True)
            with open("drawn/md.json", encoding="utf-8") as file:
                drawn = json.load(file)["images"]
            for image in drawn[:count - len(images)]:
                name = "CAM%02d/%05d.JPG" % (len(images) % CAMERAS + 1, len(images))
                os.makedirs("photos/" + name[:5], exist_ok=True)
                shutil.move("drawn/photos/" + image["file"], "photos/" + name)
                when += datetime.timedelta(minutes=7)
                print("photos/%s,%s" % (name, when.isoformat()), file=times)
                found = [d for d in image["detections"] if d["conf"] >= 0.3]
                boxes = [{"category": "1", "conf": round(rng.uniform(0.3, 0.99), 3),
                          "bbox": [round(v, 4) for v in box_of(found, rng)]} for _ in range(BOXES)]
                images.append({"file": name, "detections": boxes})
            shutil.rmtree("drawn")
    with open("md.json", "w", encoding="utf-8") as file:
        json.dump({"images": images, "detection_categories": {"1": "animal"}}, file)


def run(*arguments):
    """Seconds, CPU seconds and the most memory in MB of a command."""
    began = time.monotonic()
    process = subprocess.Popen([REID, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit("reid %s\n%s" % (" ".join(arguments), said))
    return time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def rows_of(meta):
    with open(meta, encoding="utf-8") as file:
        return json.load(file)["rows"]


def measure(args):
    usual = ["-q", "-m", "weights.safetensors", "--size", args.size]
    times = {"embed": [], "track": []}
    for _ in range(args.rounds):
        shutil.rmtree("out", ignore_errors=True)
        times["embed"].append(run("embed", *usual, "--boxes", "md.json", "photos", "-o", "rows.npy"))
        times["track"].append(run("track", *usual, "--detections", "md.json", "--times", "times.csv", "photos", "-o",
                                  "out"))
        rows = rows_of("rows.meta.json"), rows_of("out/embeddings.meta.json")
        if rows != (args.photos * BOXES,) * 2:
            sys.exit("expected %d rows of each command, found %d and %d" % (args.photos * BOXES, *rows))
    cell = {}
    for name, runs in times.items():
        seconds, cpu, memory = zip(*runs)
        cell[name] = {"seconds": round(statistics.median(seconds), 2), "all_s": [round(s, 2) for s in seconds],
                      "cpu_s": round(statistics.median(cpu), 2), "peak_mb": round(max(memory))}
    for key in ("seconds", "cpu_s"):
        cell["ratio_" + key] = round(cell["track"][key] / cell["embed"][key], 3)
    return cell


def chip():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return re.search(r"^model name\s*:\s*(.*)$", file.read(), re.M).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=int, default=2000)
    parser.add_argument("--size", default="96x96")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    output = args.output and os.path.abspath(args.output)
    result = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
              "machine": platform.platform(), "chip": chip(), "cpus": os.cpu_count(), "load": os.getloadavg(),
              "photos": args.photos, "boxes": args.photos * BOXES, "size": args.size,
              "weights": "resnet50-multiscale, seed 1"}
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        draw(args.photos, random.Random(7))
        subprocess.run([BUILD + "/seeded", "--net", "resnet50-multiscale", "-o", "weights.safetensors"], check=True,
                       stdout=subprocess.DEVNULL)
        result.update(measure(args))
        os.chdir("/")
    text = json.dumps(result, indent=1)
    print(text)
    if output:
        with open(output, "w", encoding="utf-8") as file:
            print(text, file=file)


if __name__ == "__main__":
    main()
