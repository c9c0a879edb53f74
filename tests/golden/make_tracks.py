"""Makes tracks.txt, with which t_tracks.c compares its results.

    python3 tests/golden/make_tracks.py     needs numpy and scipy (1.17.1 was used)

An "assignment" line has a seed, rows, columns and the kind of the gains, then the largest sum of gains, from scipy's
linear_sum_assignment with gains below 0 counted as 0, and Σ (row + 1) (column + 1) over the pairs with a gain, or -1 if
gains are small integers, because several solutions are then best. A "kalman" line has a seed and a number of steps,
then place, velocity and the three covariances of the textbook filter in matrices (numpy). Numbers come from splitmix64,
as in tests/tools/tracks/t_tracks.c.
"""
import os

import numpy as np
from scipy.optimize import linear_sum_assignment

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = (1 << 64) - 1
SIZES = [(1, 1), (1, 7), (7, 1), (2, 2), (3, 5), (5, 3), (8, 8), (20, 20), (13, 40), (40, 13), (60, 60), (100, 90)]


class Chance:
    def __init__(self, seed):
        self.state = seed

    def __call__(self, below):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return (z ^ z >> 31) % below

    def part(self):
        return self(1 << 20) / (1 << 20)


def gains(chance, rows, columns, kind):
    """The kinds of gains. 0: all are positive; 1: half are not; 2: integers from -2 to 3."""
    one = {0: chance.part, 1: lambda: 2 * chance.part() - 1, 2: lambda: chance(6) - 2.0}[kind]
    return np.array([[one() for _ in range(columns)] for _ in range(rows)])


def assignment(seed, rows, columns, kind):
    gain = gains(Chance(seed), rows, columns, kind)
    at = linear_sum_assignment(np.maximum(gain, 0), maximize=True)
    pairs = [(i, k) for i, k in zip(*at) if gain[i, k] > 0]
    total = sum(gain[i, k] for i, k in pairs)
    return f"assignment {seed} {rows} {columns} {kind} {total!r} " + (
        "-1" if kind == 2 else str(sum((int(i) + 1) * (int(k) + 1) for i, k in pairs)))


def kalman(seed, steps):
    chance = Chance(seed)
    x, p = np.array([100 * chance.part(), 0.0]), np.diag([4.0, 9.0])
    for _ in range(steps):
        t, change, drift = 2 * chance.part(), 5 * chance.part(), chance.part()
        f = np.array([[1, t], [0, 1]])
        x = f @ x
        p = f @ p @ f.T + change * np.array([[t ** 3 / 3, t * t / 2], [t * t / 2, t]]) + np.diag([drift * t, 0])
        measured, noise = 100 * chance.part(), 0.1 + 4 * chance.part()
        gain = p[:, 0] / (p[0, 0] + noise)
        x = x + gain * (measured - x[0])
        p = p - np.outer(gain, p[0])
    return f"kalman {seed} {steps} " + " ".join(repr(float(v)) for v in (x[0], x[1], p[0, 0], p[0, 1], p[1, 1]))


def main():
    lines = [assignment(10 * i + kind, *size, kind) for i, size in enumerate(SIZES) for kind in range(3)]
    lines += [kalman(seed, steps) for seed, steps in ((1, 1), (2, 2), (3, 10), (4, 100), (5, 1000))]
    with open(os.path.join(HERE, "tracks.txt"), "w", encoding="ascii") as f:
        f.write("\n".join(lines).replace("np.float64(", "").replace(")", "") + "\n")


if __name__ == "__main__":
    main()
