"""Makes fits.txt: heads that scikit-learn, scipy and numpy compute from seeded rows.

    python3 tests/golden/make_fits.py     needs numpy, scipy and scikit-learn (2.4.6, 1.17.1 and 1.9.1 were used)

A "fit" line has the seed, crops, columns, individuals, crops of individuals with a single one, method, shrinkage and
room; then the numbers of components and of directions; then the inner products of the first 8 crops after the head (36,
including each crop with itself), which do not depend on the signs of directions. Without shrinkage, they come from
LinearDiscriminantAnalysis and PCA(whiten=True), otherwise from scipy's generalised eigenvectors.

A "choice" line begins with the same numbers up to the individuals, followed by the method, shrinkage and mean average
precision that cross-validation chooses; each held-out crop's is average_precision_score's.

Rows come from splitmix64, as in tests/tools/heads/t_fit.c.
"""
import os

import numpy as np
from scipy.linalg import eigh
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import average_precision_score

HERE = os.path.dirname(os.path.abspath(__file__))
MASK = (1 << 64) - 1
SHOWN = 8
FITS = [(1, 60, 6, 12, 0, "lda", 0, 4), (2, 60, 6, 12, 0, "lda", 0.1, 5), (3, 61, 9, 4, 7, "lda", 0.3, 6),
        (4, 40, 90, 8, 0, "lda", 0.03, 7), (5, 200, 40, 25, 4, "within", 0.01, 12), (6, 60, 6, 12, 0, "within", 0, 5),
        (7, 50, 120, 10, 3, "within", 0.1, 20), (8, 30, 200, 10, 0, "within", 1, 10), (9, 100, 16, 10, 0, "pca", 0, 16),
        (10, 100, 16, 10, 0, "pca", 0.2, 9), (11, 30, 100, 6, 0, "pca", 0, 12), (12, 300, 33, 60, 0, "lda", 0.001, 30)]
CHOICES = [(21, 120, 24, 24, 0), (22, 90, 150, 30, 5), (23, 40, 12, 6, 0)]
SHRINKAGES = [1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001]


class Chance:
    def __init__(self, seed):
        self.state = seed

    def __call__(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return z ^ z >> 31

    def real(self):
        return (self() >> 11) * 2.0**-53 - 0.5

    def below(self, limit):
        return int((self() >> 11) * 2.0**-53 * limit)


def rows_of(seed, crops, columns, individuals, single):
    """Rows in which individuals differ in every column, and crops in some columns more than in others."""
    chance = Chance(seed)
    means = [[chance.real() for _ in range(columns)] for _ in range(individuals + single)]
    rows = np.empty((crops, columns), np.float32)
    who = np.empty(crops, int)
    for i in range(crops):
        who[i] = individuals + i if i < single else i % individuals
        for k in range(columns):
            rows[i, k] = np.float32(means[who[i]][k] + chance.real() * (1 + k % 5) + 3)
    return rows.astype(float), who


def components(x):
    mean = x.mean(0)
    _, s, axes = np.linalg.svd(x - mean, full_matrices=False)
    axes = axes[s**2 > 1e-10 * s[0] ** 2]
    return (x - mean) @ axes.T


def scatter(z, who):
    """The scatter within and between individuals with two or more crops."""
    many = [c for c in np.unique(who) if np.sum(who == c) > 1]
    means = np.array([z[who == c].mean(0) for c in many])
    apart = np.concatenate([z[who == c] - m for c, m in zip(many, means)])
    means = means - means.mean(0)
    return apart.T @ apart / (len(apart) - len(many)), means.T @ means / len(many), len(many)


def directions(z, variance, who, method, shrinkage, room):
    p = z.shape[1]
    if method == "pca":
        whole = (1 - shrinkage) * variance + shrinkage * variance.mean()
        return (np.eye(p) / np.sqrt(whole))[:, : min(room, p)]
    within, between, individuals = scatter(z, who)
    shrunk = (1 - shrinkage) * within + shrinkage * np.trace(within) / p * np.eye(p)
    wanted = between + (within if method == "within" else 0)
    _, vectors = eigh(wanted, shrunk)
    return vectors[:, ::-1][:, : min(room, p, individuals - 1 if method == "lda" else p)]


def check(z, who, method, shrinkage, y):
    """Compares with scikit-learn's own result where it has one: the products of its rows must be ours times one
    number."""
    if shrinkage or method == "within":
        return
    if method == "pca":
        theirs = PCA(y.shape[1], whiten=True, svd_solver="full").fit_transform(z)
    else:
        theirs = LinearDiscriminantAnalysis(solver="eigen").fit(z, who).transform(z)[:, : y.shape[1]]
    theirs = (theirs - theirs.mean(0)) @ (theirs - theirs.mean(0)).T
    ours = y @ y.T
    assert np.abs(theirs / np.trace(theirs) - ours / np.trace(ours)).max() < 1e-9


def fit_line(seed, crops, columns, individuals, single, method, shrinkage, room):
    x, who = rows_of(seed, crops, columns, individuals, single)
    z = components(x)
    y = z @ directions(z, z.var(0), who, method, shrinkage, room)
    check(z, who, method, shrinkage, y)
    y /= np.sqrt((y**2).sum() / len(y))
    products = (y[:SHOWN] @ y[:SHOWN].T)[np.tril_indices(SHOWN)]
    numbers = " ".join("%.17g" % v for v in products)
    return f"fit {seed} {crops} {columns} {individuals} {single} {method} {shrinkage} {room} " \
           f"{z.shape[1]} {y.shape[1]} {numbers}"


def turns_of(who, seed):
    chance = Chance(seed)
    left = [c for c in np.unique(who) if np.sum(who == c) > 1]
    folds = 2 if len(left) < 10 else 5
    turn = {}
    for drawn in range(len(left)):
        turn[left.pop(chance.below(len(left)))] = drawn % folds
    return turn, folds


def precision(z, variance, who, turn, folds, method, shrinkage):
    values = []
    for number in range(folds):
        held = np.array([turn.get(c) == number for c in who])
        y = (z[held] - z[~held].mean(0)) @ directions(z[~held], variance, who[~held], method, shrinkage, 512)
        y /= np.linalg.norm(y, axis=1)[:, None]
        for q in range(len(y)):
            others = np.arange(len(y)) != q
            same = who[held][others] == who[held][q]
            if same.any():
                values.append(average_precision_score(same, (y @ y[q])[others]))
    return np.mean(values)


def choice_line(seed, crops, columns, individuals, single):
    x, who = rows_of(seed, crops, columns, individuals, single)
    z = components(x)
    turn, folds = turns_of(who, seed)
    best = (-1, "", 0)
    for method in ("within", "lda", "pca"):
        for shrinkage in SHRINKAGES:
            found = precision(z, z.var(0), who, turn, folds, method, shrinkage)
            if found > best[0] + 1e-12:
                best = (found, method, shrinkage)
    return f"choice {seed} {crops} {columns} {individuals} {single} {best[1]} {best[2]} {best[0]:.17g}"


with open(os.path.join(HERE, "fits.txt"), "w") as out:
    for one in FITS:
        print(fit_line(*one), file=out)
    for one in CHOICES:
        print(choice_line(*one), file=out)
