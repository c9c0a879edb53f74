#!/usr/bin/env python3
"""Adds detections to the database and tasks to the queue. README.md shows how to run it.

    python3 detections.py add crops/*.jpg      adds a detection for each file
    python3 detections.py submit [SIZE]        submits all detections without a result, in tasks of SIZE (32)
    python3 detections.py list                 prints detection, identity and score
"""

import sys

import tasks


def add(*paths):
    with tasks.connect() as database:
        database.executescript(tasks.SCHEMA)
        database.execute("BEGIN IMMEDIATE")
        for path in paths:
            with open(path, "rb") as file:
                database.execute("INSERT INTO detections (crop) VALUES (?)", (file.read(),))


def submit(size="32"):
    size, fingerprint = int(size), tasks.gallery()[0]
    missing = [row[0] for row in tasks.connect().execute(
        "SELECT id FROM detections WHERE id NOT IN (SELECT detection FROM results WHERE fingerprint = ?) ORDER BY id",
        (fingerprint,))]
    for at in range(0, len(missing), size):
        tasks.batch_reidentify.delay(missing[at:at + size])
    print(f"detections: {len(missing)}, tasks: {-(-len(missing) // size)}")


def show():
    for detection, identity, score, error in tasks.connect().execute(
            "SELECT detection, identity, score, error FROM results ORDER BY detection, fingerprint"):
        print(detection, error or f"{identity} {score:.4f}", sep="\t")


if __name__ == "__main__":
    commands = {"add": add, "submit": submit, "list": show}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
