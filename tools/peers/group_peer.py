"""group_peer.py: one of the peers of tools/peers/group.py, in a process of its own to measure its peak memory.

    python group_peer.py sklearn|fastcluster|fastcluster_blas|hdbscan FILE COUNT DIM THREADS THRESHOLD OUT
    python group_peer.py faiss FILE COUNT DIM THREADS K OUT

FILE holds COUNT rows of DIM float32, OUT gets uint32: the group of each row, or its K neighbours. Prints a line of
JSON: the seconds from the rows in memory to the answer, the CPU time of all threads, and the most memory that the
process has had before and after; imports are part of neither time.
"""
import json
import os
import re
import sys
import time
from importlib.metadata import version

import numpy as np


def peak_kb():
    with open("/proc/self/status", encoding="ascii") as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1))


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def sklearn_groups(threshold, _threads):
    from sklearn.cluster import AgglomerativeClustering

    def groups(rows):
        clustering = AgglomerativeClustering(n_clusters=None, metric="cosine", linkage="average",
                                             distance_threshold=1 - threshold)
        return clustering.fit(rows).labels_
    return groups, "scikit-learn"


def fastcluster_groups(threshold, _threads):
    import fastcluster
    from scipy.cluster.hierarchy import fcluster

    def groups(rows):
        return fcluster(fastcluster.linkage(rows, "average", "cosine"), 1 - threshold, "distance")
    return groups, "fastcluster"


def cosine_distances(rows):
    """The distances of scipy's pdist, by NumPy's matrix product in double."""
    rows, at = unit(rows.astype(np.float64)), 0
    out = np.empty(len(rows) * (len(rows) - 1) // 2)
    for first in range(0, len(rows), 256):
        block = rows[first:first + 256] @ rows[first:].T
        for i, scores in enumerate(block):
            count = len(scores) - i - 1
            np.subtract(1, scores[i + 1:], out=out[at:at + count])
            at += count
    return out


def fastcluster_blas_groups(threshold, _threads):
    import fastcluster
    from scipy.cluster.hierarchy import fcluster

    def groups(rows):
        tree = fastcluster.linkage(cosine_distances(rows), "average", preserve_input=False)
        return fcluster(tree, 1 - threshold, "distance")
    return groups, "fastcluster"


def hdbscan_groups(_threshold, threads):
    """hdbscan takes no cosine; Euclidean distances between unit rows have the same order. Noise rows stay single."""
    from hdbscan import HDBSCAN

    def groups(rows):
        labels = HDBSCAN(min_cluster_size=2, core_dist_n_jobs=threads).fit(unit(rows)).labels_.astype(np.int64)
        noise = labels < 0
        labels[noise] = labels.max(initial=-1) + 1 + np.arange(noise.sum())
        return labels
    return groups, "hdbscan"


def faiss_neighbours(k, threads):
    import faiss
    faiss.omp_set_num_threads(threads)

    def prepare(rows):
        index = faiss.IndexFlatIP(rows.shape[1])
        index.add(rows)
        return lambda: index.search(rows, int(k))[1]
    return prepare, "faiss-cpu"


PEERS = {"sklearn": sklearn_groups, "fastcluster": fastcluster_groups, "fastcluster_blas": fastcluster_blas_groups,
         "hdbscan": hdbscan_groups, "faiss": faiss_neighbours}


def main():
    name, path, count, dim, threads, how, out = sys.argv[1:]
    work, package = PEERS[name](float(how), int(threads))
    rows = np.fromfile(path, np.float32).reshape(int(count), int(dim))
    told = {"version": version(package), "before_kb": peak_kb()}
    if name == "faiss":
        start = time.perf_counter()
        search = work(rows)
        told["prepare_seconds"] = time.perf_counter() - start
    else:
        def search():
            return work(rows)
    start, cpu = time.perf_counter(), time.process_time()
    answer = search()
    told.update(seconds=time.perf_counter() - start, cpu_seconds=time.process_time() - cpu, peak_kb=peak_kb())
    np.asarray(answer).astype("<u4").tofile(out + ".part")
    os.replace(out + ".part", out)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
