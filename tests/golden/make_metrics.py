"""Makes metrics.txt: measures of rankings, pairs, open sets and clusters of seeded rows, by their usual definitions.

    python3 tests/golden/make_metrics.py        needs numpy, scikit-learn and torchreid (its files, not torch)

rank.py and rerank.py are torchreid's (0.2.5 was used). Areas, curves, the Rand index, isotonic regression and Platt's
sigmoid are scikit-learn's (1.9.1). For the trapezoid rule, mINP, BAKS, BAUS and query expansion, no package exists that
works without torch, so they are implemented here from their definitions.

Rows, identities and cameras come from splitmix64, as in tests/lib/test_rows.h. Every value is a small multiple of
1/4096, so that each dot product is exact in float32 and both sides rank the same numbers.
"""
import importlib.util
import os
import sys
import warnings

import numpy as np
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import adjusted_rand_score, roc_auc_score, roc_curve

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = (1 << 64) - 1
QUERIES, GALLERY, DIM, IDENTITIES, CAMERAS = 30, 90, 8, 14, 3
warnings.simplefilter("ignore")


class Chance:
    def __init__(self, seed):
        self.state = seed

    def __call__(self, below):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return (z ^ z >> 31) % below


def rows(seed):
    """Identity 0 is a distractor; the last two occur only in queries."""
    chance = Chance(seed)
    centre = [[chance(1025) - 512 for _ in range(DIM)] for _ in range(IDENTITIES)]
    count = QUERIES + GALLERY
    values, who, camera = np.zeros((count, DIM)), np.zeros(count, int), np.zeros(count, int)
    for i in range(count):
        who[i] = chance(IDENTITIES - 1) + 1 if i < QUERIES else chance(IDENTITIES - 2)
        camera[i] = chance(CAMERAS)
        for k in range(DIM):
            values[i, k] = (centre[who[i]][k] + chance(1025) - 512) / 4096
    return values, who, camera


def torchreid(name):
    base = next(p for p in sys.path if os.path.isdir(os.path.join(p, "torchreid")))
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), f"{base}/torchreid/reid/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hits(score, who, camera, q):
    """The ranking of one query as in the authors' code: excluded rows are removed."""
    order = np.argsort(-score[q], kind="stable")
    gone = (who[QUERIES:][order] == who[q]) & (camera[QUERIES:][order] == camera[q])
    return order[~gone], (who[QUERIES:][order] == who[q])[~gone]


def trapezoid(score, who, camera):
    """compute_mAP of layumi/Person_reID_baseline_pytorch; queries without a match count as 0."""
    total = 0
    for q in range(QUERIES):
        places = np.flatnonzero(hits(score, who, camera, q)[1])
        for i, place in enumerate(places):
            old = i / place if place else 1.0
            total += ((i + 1) / (place + 1) + old) / 2 / len(places)
    return total / QUERIES


def minp(score, who, camera):
    values = []
    for q in range(QUERIES):
        places = np.flatnonzero(hits(score, who, camera, q)[1])
        if len(places):
            values.append(len(places) / (places[-1] + 1))
    return np.mean(values)


def ranking(out, name, score, who, camera):
    cmc, map_ = torchreid("metrics/rank").eval_market1501(
        -score, who[:QUERIES], who[QUERIES:], camera[:QUERIES], camera[QUERIES:], 50)
    show(out, name + "_cmc", cmc)
    show(out, name + "_map", [map_, trapezoid(score, who, camera), minp(score, who, camera)])


def pairs(out, score, who, camera):
    genuine, values = [], []
    for q in range(QUERIES):
        order, match = hits(score, who, camera, q)
        genuine += list(match)
        values += list(score[q][order])
    fpr, tpr, _ = roc_curve(genuine, values, drop_intermediate=False)
    shares = [tpr[np.flatnonzero(fpr <= limit)[-1]] for limit in (1e-4, 1e-3, 1e-2)]
    fnr = 1 - tpr
    at = np.flatnonzero(fpr >= fnr)[0]
    part = (fnr[at - 1] - fpr[at - 1]) / ((fpr[at] - fpr[at - 1]) + (fnr[at - 1] - fnr[at]))
    eer = fpr[at - 1] + part * (fpr[at] - fpr[at - 1])
    show(out, "pairs", [sum(genuine), len(genuine) - sum(genuine)] + shares + [roc_auc_score(genuine, values), eer])


def balanced(who, right):
    """As in wildlife-datasets: each identity has the same weight."""
    return np.mean([np.mean(right[who == one]) for one in np.unique(who)])


def open_set(out, score, who, camera):
    best, right, known = np.zeros(QUERIES), np.zeros(QUERIES, bool), np.zeros(QUERIES, bool)
    for q in range(QUERIES):
        order, match = hits(score, who, camera, q)
        best[q], right[q], known[q] = score[q][order[0]], match[0], match.any()
    name = who[:QUERIES]
    show(out, "open_auc", [roc_auc_score(known, best)])

    def at(threshold):
        yes = best >= threshold
        return balanced(name[known], (right & yes)[known]), balanced(name[~known], ~yes[~known])

    show(out, "open_given", [0.09375, *at(0.09375)])
    chosen = max(np.append(np.sort(best), 9), key=lambda t: np.sqrt(np.prod(at(t))))
    show(out, "open_chosen", [chosen, *at(chosen)])


def clusters(out, values, who):
    score = values[:QUERIES] @ values[:QUERIES].T

    def at(threshold):
        group = np.arange(QUERIES)
        for i, k in zip(*np.nonzero(score >= threshold)):
            group[group == group[i]] = group[k]
        return len(set(group)), adjusted_rand_score(who[:QUERIES], group)

    show(out, "clusters_given", [0.0703125, *at(0.0703125)])
    every = np.unique(score[np.triu_indices(QUERIES, 1)])
    chosen = max(every, key=lambda t: at(t)[1])
    show(out, "clusters_chosen", [chosen, *at(chosen)])


def reranked(values, k1, k2, lambda_):
    length = (values ** 2).sum(1)
    square = np.maximum(length[:, None] + length[None] - 2 * values @ values.T, 0)
    root = np.sqrt(square)  # their function squares it again
    q = slice(0, QUERIES), slice(QUERIES, None)
    return torchreid("utils/rerank").re_ranking(root[q[0], q[1]], root[q[0], q[0]], root[q[1], q[1]], k1, k2, lambda_)


def expanded(values, k, alpha):
    """fast-reid's aqe, applied once."""
    unit = values / np.sqrt((values ** 2).sum(1, keepdims=True))
    cosine = unit @ unit.T
    near = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
    mean = np.stack([(unit[n] * cosine[i, n][:, None] ** alpha).mean(0) for i, n in enumerate(near)])
    return mean / np.sqrt((mean ** 2).sum(1, keepdims=True))


def calibrations(out, score, who):
    """All pairs of queries and gallery, regardless of the camera."""
    genuine = (who[:QUERIES, None] == who[None, QUERIES:]).ravel()
    values = score.ravel()
    weight = np.where(genuine, 0.5 / genuine.sum(), 0.5 / (~genuine).sum())
    iso = IsotonicRegression(out_of_bounds="clip").fit(values, genuine, sample_weight=weight)
    asked = np.linspace(-0.2, 0.3, 26)
    show(out, "isotonic", iso.predict(asked))
    platt = _SigmoidCalibration().fit(values, genuine)
    show(out, "platt", [-platt.a_, -platt.b_])


def show(out, name, numbers):
    print(name, len(numbers), *(f"{x:.9g}" for x in numbers), file=out)


def main():
    with open(os.path.join(HERE, "metrics.txt"), "w") as out:
        values, who, camera = rows(7)
        score = values[:QUERIES] @ values[QUERIES:].T
        # no two equal scores, which a sort could exchange, and no two in one step of the counts
        assert min(np.diff(np.sort(row)).min() for row in score) > 0
        ranking(out, "plain", score, who, camera)
        pairs(out, score, who, camera)
        open_set(out, score, who, camera)
        clusters(out, values, who)
        calibrations(out, score, who)
        for k1, k2, lambda_ in ((20, 6, 0.3), (7, 1, 0.5), (9, 12, 0.0)):
            final = reranked(values, k1, k2, lambda_)
            show(out, f"rerank_{k1}_{k2}", [*final[0], *final[QUERIES - 1]])
        ranking(out, "rerank", -reranked(values, 20, 6, 0.3), who, camera)
        wide = expanded(values, 5, 3)
        show(out, "expanded", [*wide[0], *wide[QUERIES + GALLERY - 1]])
        ranking(out, "expanded", wide[:QUERIES] @ wide[QUERIES:].T, who, camera)


if __name__ == "__main__":
    main()
