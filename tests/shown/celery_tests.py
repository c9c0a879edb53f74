"""celery_tests.py WHAT: what t_celery.sh prepares and checks in Python, with examples/celery and examples/python.

prepare N: makes N small crops and a gallery. check: compares the database with want.npy, the result of a single run of
`reid embed`."""
import os
import random
import sys

import numpy as np


def prepare(n):
    """Noise with few colours; a crop slightly resembles one of the gallery's."""
    dice = random.Random(7)
    faces = [bytes(dice.randbytes(3 * 40 * 32)) for _ in range(6)]
    for i, face in enumerate(faces):
        os.makedirs(f"gallery/deer{i}")
        with open(f"gallery/deer{i}/1.ppm", "wb") as file:
            file.write(b"P6 32 40 255\n" + face)
    os.mkdir("crops")
    for i in range(int(n)):
        face, noise = dice.choice(faces), dice.randbytes(3 * 40 * 32)
        with open(f"crops/{i:05}.ppm", "wb") as file:
            file.write(b"P6 32 40 255\n" + bytes((3 * a + b) // 4 for a, b in zip(face, noise)))


def check(bad):
    """Every detection has exactly one result, that of a single run. bad: the detection that is not an image."""
    import tasks
    bad = int(bad)
    fingerprint, identities, index = tasks.gallery()
    want = np.load("want.npy")
    hits = index.search(want, k=1)
    database = tasks.connect()
    ids = [row[0] for row in database.execute("SELECT id FROM detections ORDER BY id")]
    got = database.execute("SELECT detection, fingerprint, identity, score, embedding, error FROM results"
                           " ORDER BY detection").fetchall()
    assert [row[0] for row in got] == ids, (len(got), len(ids))
    assert len(ids) == len(want) + 1
    seen = set()
    for detection, made_by, identity, score, embedding, error in got:
        assert made_by == fingerprint
        if detection == bad:
            assert "not an image" in error and identity is None and embedding is None, error
            continue
        row = detection - 1 - (detection > bad)  # reid embed leaves out the file that is not an image
        assert error is None, error
        assert embedding == want[row].tobytes(), f"detection {detection} has other bits"
        assert (identity, score) == (identities[hits.rows[row, 0]], hits.scores[row, 0]), f"detection {detection}"
        seen.add(identity)
    assert len(seen) > 3, seen
    print(len(got), "results, as of a single run")


globals()[sys.argv[1]](*sys.argv[2:])
