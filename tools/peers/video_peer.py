"""video_peer.py: cuts boxes out of a film with OpenCV, in a process of its own to measure its peak memory.

    python video_peer.py seek|read|grab FILM BOXES OUT

BOXES (npy) has a row for each wanted frame, in the order of the film: its number, from 0, then x, y, width and height,
the same size in all. seek sets CAP_PROP_POS_FRAMES and reads, for each of them; read reads all frames in order; grab
decodes all frames in order and converts the wanted ones alone. OUT (npy) gets the pixels of the boxes, 8 bits of B, G
and R. Prints a line of JSON: the seconds from opening the film to the last box in memory, and the CPU time of all
threads; the imports are part of neither.
"""
import json
import sys
import time

import cv2
import numpy as np


def by_seeking(film, wanted):
    for number in wanted:
        film.set(cv2.CAP_PROP_POS_FRAMES, number)
        yield film.read()


def by_reading(film, wanted):
    at = -1
    for number in wanted:
        while at < number:
            good, picture = film.read()
            at += 1
            if not good:
                break
        yield good, picture


def by_grabbing(film, wanted):
    at = -1
    for number in wanted:
        while at < number:
            at += 1
            if not film.grab():
                break
        yield film.retrieve()


WAYS = {"seek": by_seeking, "read": by_reading, "grab": by_grabbing}


def main():
    how, path, boxes, out = sys.argv[1:]
    boxes = np.load(boxes)
    crops = np.zeros((len(boxes), boxes[0, 4], boxes[0, 3], 3), np.uint8)
    began, began_cpu = time.perf_counter(), time.process_time()
    film = cv2.VideoCapture(path, cv2.CAP_FFMPEG)
    if not film.isOpened():
        sys.exit(f"{path}: OpenCV cannot open it")
    for i, (good, picture) in enumerate(WAYS[how](film, boxes[:, 0].tolist())):
        if not good:
            sys.exit(f"{path}: OpenCV cannot read frame {boxes[i, 0]}")
        _, x, y, w, h = boxes[i]
        crops[i] = picture[y:y + h, x:x + w]
    took = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - began_cpu}
    np.save(out, crops)
    print(json.dumps({**took, "threads": int(film.get(cv2.CAP_PROP_N_THREADS))}))


if __name__ == "__main__":
    main()
