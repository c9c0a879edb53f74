"""Makes partitions.txt: how well seeded groups agree with seeded identities.

    python3 tests/golden/make_partitions.py     needs numpy and scikit-learn (1.9.1 was used); also compares with
                                                bcubed (1.5) if it is installed

A line has the seed, the number of rows, the numbers of groups and of identities to draw from (0: every row is alone),
and the percentage of rows whose group is their identity; then the resulting numbers of groups, identities and rows that
are alone, BCubed precision, recall and F, pairwise precision, recall and F, the adjusted Rand index, and the adjusted
mutual information. Rows come from splitmix64, as in tests/tools/groups/t_partition.c.

Counts of pairs and the Rand index are scikit-learn's. BCubed is implemented from its definition (Amigó et al. 2009), as
a loop over all pairs of rows and, for many rows, from counts. The mutual information follows scikit-learn with
factorials, logarithms and sums of 40 digits, because from a thousand rows on, scikit-learn's log-gamma function gives
fewer than 12 correct digits. Both ways are checked to give the same.
"""
import os
from collections import Counter
from decimal import Decimal, getcontext

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.metrics.cluster import pair_confusion_matrix

try:
    import bcubed
except ImportError:
    bcubed = None

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = (1 << 64) - 1
NAN = float("nan")
SETS = [(1, 0, 5, 5, 50), (2, 1, 5, 5, 50), (3, 2, 0, 0, 0), (4, 2, 1, 1, 0), (5, 2, 0, 1, 0), (6, 2, 1, 0, 0),
        (7, 40, 0, 0, 0), (8, 40, 1, 1, 0), (9, 40, 0, 1, 0), (10, 40, 1, 0, 0), (11, 40, 0, 7, 0), (12, 40, 7, 0, 0),
        (13, 40, 9, 9, 100), (14, 40, 9, 9, 0), (15, 40, 9, 9, 70), (16, 40, 1, 9, 0), (17, 40, 9, 1, 0),
        (18, 3, 2, 2, 50), (19, 5, 3, 2, 50), (20, 100, 4, 50, 30), (21, 100, 50, 4, 30), (22, 300, 60, 60, 90),
        (23, 300, 200, 200, 50), (24, 300, 3, 3, 95), (25, 300, 300, 300, 98), (26, 1000, 100, 120, 60),
        (27, 1000, 2, 2, 1), (28, 1000, 900, 950, 90), (29, 2000, 300, 400, 80), (30, 2000, 0, 400, 60),
        (31, 30000, 0, 9000, 90), (32, 30000, 15000, 9000, 70), (33, 30000, 2, 2, 1)]


class Chance:
    def __init__(self, seed):
        self.state = seed

    def __call__(self, below):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return (z ^ z >> 31) % below


def labels(seed, rows, groups, identities, alike):
    """Draws lower numbers more often, so that sizes differ."""
    chance = Chance(seed)
    group, identity = [], []
    for i in range(rows):
        identity.append(chance(1 + chance(identities)) if identities else i)
        other = chance(1 + chance(groups)) if groups else i
        group.append(identity[i] if chance(100) < alike else other)
    return group, identity


def bcubed_of_pairs(group, identity):
    rows = range(len(group))
    precision = [np.mean([identity[k] == identity[i] for k in rows if group[k] == group[i]]) for i in rows]
    recall = [np.mean([group[k] == group[i] for k in rows if identity[k] == identity[i]]) for i in rows]
    return np.mean(precision), np.mean(recall)


def bcubed_of_counts(group, identity):
    both, groups, identities = Counter(zip(group, identity)), Counter(group), Counter(identity)
    precision = [both[g, who] / groups[g] for g, who in zip(group, identity)]
    recall = [both[g, who] / identities[who] for g, who in zip(group, identity)]
    return np.mean(precision), np.mean(recall)


def bcubed_f(group, identity):
    if not group:
        return NAN, NAN, NAN
    precision, recall = bcubed_of_counts(group, identity)
    if len(group) <= 300:
        assert np.allclose((precision, recall), bcubed_of_pairs(group, identity), rtol=0, atol=1e-13)
    if bcubed and len(group) <= 300:
        found, known = ({i: {label} for i, label in enumerate(of)} for of in (group, identity))
        theirs = bcubed.precision(found, known), bcubed.recall(found, known)
        assert np.allclose((precision, recall), theirs, rtol=0, atol=1e-13)
    return precision, recall, 2 * precision * recall / (precision + recall)


def pairwise(group, identity):
    if len(group) < 2:
        return NAN, NAN, NAN
    (_, wrong), (missed, right) = pair_confusion_matrix(identity, group).tolist()
    return (right / (right + wrong) if right + wrong else NAN, right / (right + missed) if right + missed else NAN,
            2 * right / (2 * right + wrong + missed) if right + wrong + missed else NAN)


class Exact:
    """The terms of scikit-learn's expected_mutual_information and of its entropies, in decimal arithmetic."""

    def __init__(self, rows):
        getcontext().prec = 40
        self.rows = rows
        self.log = [Decimal(0)] + [Decimal(n).ln() for n in range(1, rows + 1)]
        self.factorial = [Decimal(0)]  # its logarithm
        for n in range(1, rows + 1):
            self.factorial.append(self.factorial[-1] + self.log[n])

    def term(self, n, a, b):
        return Decimal(n) / self.rows * (self.log[self.rows] + self.log[n] - self.log[a] - self.log[b])

    def expected(self, a, b):
        f, rows = self.factorial, self.rows
        fixed = f[a] + f[b] + f[rows - a] + f[rows - b] - f[rows]
        return sum(self.term(n, a, b) * (fixed - f[n] - f[a - n] - f[b - n] - f[rows - a - b + n]).exp()
                   for n in range(max(1, a + b - rows), min(a, b) + 1))

    def entropy(self, sizes):
        return sum(Decimal(a) / self.rows * (self.log[self.rows] - self.log[a]) for a in sizes)


def mutual_information(group, identity):
    theirs = adjusted_mutual_info_score(identity, group)
    groups, identities, both = Counter(group), Counter(identity), Counter(zip(group, identity))
    if len(groups) == len(identities) == len(both):
        ami = 1.0
    elif len(groups) == 1 or len(identities) == 1:
        ami = 0.0
    else:
        e = Exact(len(group))
        found = sum(e.term(n, groups[g], identities[who]) for (g, who), n in both.items())
        expected = sum(many * more * e.expected(a, b) for a, many in Counter(groups.values()).items()
                       for b, more in Counter(identities.values()).items())
        most = (e.entropy(groups.values()) + e.entropy(identities.values())) / 2
        ami = float((found - expected) / (most - expected))
    print(f"{len(group)} rows: {ami}, scikit-learn {theirs - ami:+.1e}")
    assert abs(theirs - ami) <= (1e-12 if len(group) <= 300 else 1e-8), (theirs, ami)
    return ami


def main():
    with open(os.path.join(HERE, "partitions.txt"), "w", encoding="ascii") as out:
        for made in SETS:
            group, identity = labels(*made)
            alone = list(Counter(group).values()).count(1)
            numbers = (*bcubed_f(group, identity), *pairwise(group, identity), adjusted_rand_score(identity, group),
                       mutual_information(group, identity))
            print(*made, len(set(group)), len(set(identity)), alone, *(repr(float(x)) for x in numbers), file=out)


if __name__ == "__main__":
    main()
