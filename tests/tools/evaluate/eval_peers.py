"""Compares `reid eval` with torchreid and scikit-learn on an embeddings file in Market-1501's layout.

    python3 tests/tools/evaluate/eval_peers.py build/reid FILE.npy        needs numpy, scikit-learn and torchreid

FILE.npy and FILE.ids.txt are as reid embed writes them. Prints one line per figure; the exit status is 1 when one is
further off than rounding explains: single places of near ties in float32 against float64.
"""
import json
import os
import re
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 2, "golden"))
import make_metrics as golden  # noqa: E402


def read(path):
    rows = np.load(path).astype(np.float64)
    ids = open(path[:-4] + ".ids.txt").read().splitlines()
    told = [re.search(r"(query|bounding_box_test)/([-\d]+)_c(\d+)", i).groups() for i in ids]
    query = np.array([t[0] == "query" for t in told])
    order = np.concatenate([np.flatnonzero(query), np.flatnonzero(~query)])
    who, camera = (np.array([int(t[k]) for t in told])[order] for k in (1, 2))
    return rows[order], who, camera, int(query.sum())


def ours(reid, path, *options):
    return json.loads(subprocess.check_output([reid, "eval", "--json", path, *options]))


def compare(name, got, want, most):
    print(f"{name:24} {got:.9f} {want:.9f}  {'ok' if abs(got - want) <= most else 'DIFFERS'}")
    return abs(got - want) <= most


def ranking(name, result, score, who, camera):
    q = golden.QUERIES
    cmc, map_ = golden.torchreid("metrics/rank").eval_market1501(-score, who[:q], who[q:], camera[:q], camera[q:], 50)
    got = result["ranking"]
    good = [compare(f"{name} rank-{k + 1}", got["cmc"][k], cmc[k], 1.5 / q) for k in (0, 4, 9, 49)]
    good.append(compare(f"{name} mAP", got["map"], map_, 1e-5))
    good.append(compare(f"{name} trapezoid", got["map_trapezoid"], golden.trapezoid(score, who, camera), 1e-5))
    good.append(compare(f"{name} mINP", got["minp"], golden.minp(score, who, camera), 1e-5))
    return all(good)


def pairs(result, score, who, camera):
    genuine, values = [], []
    for q in range(golden.QUERIES):
        order, match = golden.hits(score, who, camera, q)
        genuine += list(match)
        values += list(score[q][order])
    got = result["pairs"]
    fpr, tpr, _ = golden.roc_curve(genuine, values, drop_intermediate=False)
    good = [compare("AUC", got["auc"], golden.roc_auc_score(genuine, values), 1e-5)]
    for limit in ("0.0001", "0.001", "0.01"):
        want = tpr[np.flatnonzero(fpr <= float(limit))[-1]]
        good.append(compare(f"TPR@FPR {limit}", got["tpr_at_fpr"][limit], want, 3 / sum(genuine)))
    return all(good)


def main():
    reid, path = sys.argv[1:]
    rows, who, camera, golden.QUERIES = read(path)
    golden.GALLERY = len(rows) - golden.QUERIES
    score = rows[:golden.QUERIES] @ rows[golden.QUERIES:].T
    plain = ours(reid, path)
    good = ranking("plain", plain, score, who, camera)
    good &= pairs(plain, score, who, camera)
    better = -golden.reranked(rows, 20, 6, 0.3)
    good &= ranking("re-ranked", ours(reid, path, "--rerank"), better, who, camera)
    wide = golden.expanded(rows, 5, 3)
    wide = wide[:golden.QUERIES] @ wide[golden.QUERIES:].T
    good &= ranking("expanded", ours(reid, path, "--expand", "5"), wide, who, camera)
    sys.exit(not good)


if __name__ == "__main__":
    main()
