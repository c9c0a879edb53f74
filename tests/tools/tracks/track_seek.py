"""Finds the best frames of tracks like a naive program: seeks to each box of each track, in random order, with OpenCV,
and remembers only a quality for each.

    python track_seek.py FILM DETECTIONS OUT [--best N] [--apart SECONDS] [--size WxH] [--tolerance T]

OUT is the folder of reid track. Its tracks.txt assigns boxes to tracks; its tracks.json must name the same frames in
the same order, with the same qualities within the tolerance T. The film must have a constant frame rate. The network's
pixels are the box, resized to WxH by Pillow's bilinear filter.
"""
import argparse
import json
import math
import random

import cv2
import numpy as np
from PIL import Image


def read_boxes(path):
    """Maps each frame, from 0, to the detector's boxes: x, y, w, h, score."""
    frames = {}
    for line in open(path):
        frame, _, x, y, w, h, score = (float(n) for n in line.split(",")[:7])
        frames.setdefault(int(frame) - 1, []).append((x - 1, y - 1, w, h, score))
    return frames


def sharpness(pixels):
    luma = pixels.astype(np.float64) @ (0.299, 0.587, 0.114)
    inner = luma[1:-1, 1:-1]
    return (luma[1:-1, :-2] + luma[1:-1, 2:] + luma[:-2, 1:-1] + luma[2:, 1:-1] - 4 * inner).var()


def overlap(a, a_length, b, b_length):
    return max(0, min(a + a_length, b + b_length) - max(a, b))


def clipped(box, width, height):
    """The share of the outline that is not inside the frame, one side at a time."""
    x, y, w, h = box
    left, right, top, bottom = x <= 1, x + w >= width - 1, y <= 1, y + h >= height - 1
    upright = h - overlap(y, h, 0, height)
    across = w - overlap(x, w, 0, width)
    lost = sum(h if gone else upright for gone in (left, right)) + sum(w if gone else across for gone in (top, bottom))
    return min(1, lost / (2 * (w + h)))


def quality(picture, box, others, size):
    x, y, w, h, score = box
    height, width = picture.shape[:2]
    left, top = max(round(x), 0), max(round(y), 0)
    crop = picture[top:min(round(y + h), height), left:min(round(x + w), width), ::-1]
    crop = Image.fromarray(np.ascontiguousarray(crop))
    narrow = crop.resize((size[0], crop.height), Image.BILINEAR)  # rows first; Pillow 12.2 begins with columns
    small = np.asarray(narrow.resize(size, Image.BILINEAR))
    sharp = sharpness(small)
    covered = max((overlap(x, w, o[0], o[2]) * overlap(y, h, o[1], o[3]) / (w * h) for o in others), default=0)
    share = min(1, math.sqrt(w * h) / math.sqrt(size[0] * size[1]))
    return (sharp / (sharp + 60) * math.sqrt(share) * math.sqrt(score) * (1 - 0.8 * clipped(box[:4], width, height))
            * (1 - 0.9 * min(1, covered)))


def choose(shots, most, apart):
    """shots: (seconds, quality, frame). Implements the definition literally: the best of each slot of half of apart,
    then the best of these that are apart from those before."""
    slots = {}
    for shot in sorted(shots):
        slot = math.floor((shot[0] + 1e-6) / (apart / 2))
        if slot not in slots or shot[1] > slots[slot][1]:
            slots[slot] = shot
    chosen = []
    for shot in sorted(slots.values(), key=lambda s: (-s[1], s[0])):
        if len(chosen) < most and all(abs(shot[0] - c[0]) >= apart - 1e-6 for c in chosen):
            chosen.append(shot)
    return chosen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("film")
    parser.add_argument("detections")
    parser.add_argument("out")
    parser.add_argument("--best", type=int, default=3)
    parser.add_argument("--apart", type=float, default=0.5)
    parser.add_argument("--size", default="64x64")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    o = parser.parse_args()
    size = tuple(int(n) for n in o.size.split("x"))
    frames, tracks = read_boxes(o.detections), {}
    for line in open(o.out + "/tracks.txt"):
        frame, track, x, y, w, h = (float(n) for n in line.split(",")[:6])
        mine = (x - 1, y - 1, w, h)
        boxes = frames[int(frame) - 1]
        at = min(range(len(boxes)), key=lambda i: sum(abs(a - b) for a, b in zip(boxes[i], mine)))
        tracks.setdefault(int(track), []).append((int(frame) - 1, at))
    film = cv2.VideoCapture(o.film, cv2.CAP_FFMPEG)
    rate = film.get(cv2.CAP_PROP_FPS)
    visits = [(track, frame, at) for track, boxes in tracks.items() for frame, at in boxes]
    random.Random(1).shuffle(visits)
    shots = {}
    for track, frame, at in visits:
        film.set(cv2.CAP_PROP_POS_FRAMES, frame)
        good, picture = film.read()
        assert good, frame
        boxes = frames[frame]
        value = quality(picture, boxes[at], boxes[:at] + boxes[at + 1:], size)
        shots.setdefault(track, []).append((frame / rate, value, frame))
    theirs = {}
    for scene in json.load(open(o.out + "/tracks.json"))["videos"][0]["scenes"]:
        for track in scene["tracks"]:
            assert track["parts"] == 1, "a joined track has the frames of its parts"
            theirs[track["track"]] = [(f["frame"], f["quality"]) for f in track["frames"]]
    ours = {track: [(frame, value) for _, value, frame in choose(all_of, o.best, o.apart)]
            for track, all_of in shots.items()}
    assert theirs.keys() == ours.keys(), (theirs.keys(), ours.keys())
    for track, mine in ours.items():
        assert [f for f, _ in mine] == [f for f, _ in theirs[track]], (track, mine, theirs[track])
        assert all(abs(a - b) <= o.tolerance * max(a, b) for (_, a), (_, b) in zip(mine, theirs[track])), (
            track, mine, theirs[track])
    print(f"{len(visits)} boxes of {len(ours)} tracks visited, {sum(map(len, ours.values()))} frames chosen")


if __name__ == "__main__":
    main()
