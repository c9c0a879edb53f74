"""Makes groups.txt: average linkage of seeded rows by scipy, cut at several heights.

    python3 tests/golden/make_groups.py         needs numpy and scipy (1.17 was used)

A line has the seed, the numbers of rows, components and centres, the width of the noise, the threshold (a cosine;
scipy's height is 1 minus it) and the group of each row, numbered in the order of first rows. Rows come from splitmix64,
as in tests/core/t_group.c; every component is a multiple of 1/4096. A threshold lies in the middle between two heights
that are at least 1e-5 apart, so that rounding decides nothing.
"""
import os

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = (1 << 64) - 1
SETS = [(1, 120, 16, 12, 600), (2, 100, 3, 100, 0), (3, 150, 32, 5, 1500), (4, 64, 2, 8, 300), (5, 90, 64, 1, 4000),
        (6, 2, 5, 2, 100)]


def below(state, limit):
    state[0] = (state[0] + 0x9E3779B97F4A7C15) & MASK
    z = state[0]
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return (z ^ z >> 31) % limit


def rows(seed, count, dim, centres, noise):
    state = [seed]
    middle = np.array([[below(state, 4097) - 2048 for _ in range(dim)] for _ in range(centres)])
    out = np.empty((count, dim))
    for i in range(count):
        who = below(state, centres)
        out[i] = [middle[who][k] + below(state, 2 * noise + 1) - noise for k in range(dim)]
    return out / 4096


def cuts(heights):
    """Thresholds between heights that are far enough apart, and one beyond either end."""
    apart = [i for i in range(len(heights) - 1) if heights[i + 1] - heights[i] >= 1e-5]
    for i in apart[:: max(1, len(apart) // 6)]:
        yield 1 - (heights[i] + heights[i + 1]) / 2
    yield -1.5


with open(os.path.join(HERE, "groups.txt"), "w", encoding="ascii") as out:
    for made in SETS:
        tree = linkage(rows(*made), "average", "cosine")
        for threshold in cuts(tree[:, 2]):
            number = {}
            labels = [number.setdefault(label, len(number)) for label in fcluster(tree, 1 - threshold, "distance")]
            print(*made, repr(float(threshold)), *labels, file=out)
