"""database.py: compares a gallery in PostgreSQL with plain SQL and the gallery file. tools/peers/database starts the
server and this.

    sh tools/peers/database [-o FILE.json] [--rows 100000] [--queries 500] [--rounds 3]

Unit rows of group.py: individuals with heavy-tailed numbers of rows, half of whom have one. `reid gallery push` stores
the gallery file; rows and index are timed separately, also in CPU seconds of the server, which other work on the
machine disturbs less. Then, in each round, every engine has a turn:

    reid          reid gallery search by the index at its defaults; milliseconds of one query, as printed by -v
    reid_wide     with --candidates 1000, the widest search possible
    reid_exact    with --exact: everything is read, then searched; seconds of the whole command
    file          reid gallery search in the gallery file; seconds of the whole command
    sql_40 ...    SELECT ... ORDER BY half <#> $1 LIMIT 10 by psycopg, hnsw.ef_search 40 (pgvector's default), 200, 800
    sql_exact     without the index, for the first queries only

Recall@10: of the ten best templates that the file finds (--by template), how many the engine has. recall_identities:
the same for the ten best identities, which is what a search is for (--by max). Writes JSON: medians of the rounds; load
is the 1-minute load average before the first round and after the last.
"""
import argparse
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time

import numpy as np
import psycopg

from group import make_rows, unit
from search import chip

FINGERPRINT = "0123456789abcdef0123456789abcdef"
TABLE = "reid.embedding_" + FINGERPRINT
TOP = 10
WIDTHS = (40, 200, 800)
WIDE = ("--candidates", "1000")


def embeddings(path, rows, ids, who):
    """A file as reid embed writes it."""
    np.save(path, rows.astype("<f4"))
    base = path[:-4]
    with open(base + ".ids.txt", "w", encoding="utf-8") as f:
        f.writelines(i + "\n" for i in ids)
    model = {"fingerprint": FINGERPRINT, "network": "resnet50", "preset": "none", "precision": "fp32",
             "dim": rows.shape[1], "raw": False}
    with open(base + ".meta.json", "w", encoding="utf-8") as f:
        json.dump({"format": "reid-embeddings", "format_version": 1, "reid": "1", "rows": len(rows),
                   "dim": rows.shape[1], "models": [model], "identities": [f"deer {w}" for w in who]}, f)


class Bench:
    def __init__(self, args):
        self.args, self.at = args, lambda name: os.path.join(args.work, name)
        self.url = f"postgresql://postgres@/bench?host={args.socket.replace('/', '%2F')}"
        with open(os.path.join(args.socket, "data", "postmaster.pid"), encoding="ascii") as f:
            self.server = int(f.readline())

    def cpu(self):
        """CPU seconds of the server and of its processes that have ended."""
        with open(f"/proc/{self.server}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def run(self, *words):
        """(stdout, stderr, seconds) of reid gallery."""
        start = time.perf_counter()
        done = subprocess.run([self.args.reid, "gallery", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"reid gallery {' '.join(words)}: {done.stderr}")
        return done.stdout, done.stderr, time.perf_counter() - start

    def make(self):
        args = self.args
        raw = self.at("raw")
        who = make_rows(raw, args.rows + args.queries, args.dim, 1)
        rows = unit(np.fromfile(raw, "<f4").reshape(-1, args.dim))
        os.remove(raw)
        embeddings(self.at("rows.npy"), rows[:args.rows], [f"crops/{i:08d}.jpg" for i in range(args.rows)],
                   who[:args.rows])
        self.queries = rows[args.rows:]
        embeddings(self.at("q.npy"), self.queries, [f"query/{i:06d}.jpg" for i in range(args.queries)], who[args.rows:])
        self.run("create", self.at("a.gallery"), "--like", self.at("rows.npy"))
        self.run("add", self.at("a.gallery"), self.at("rows.npy"))

    def move(self):
        """push, then pull in every round; the bytes must be the same."""
        with psycopg.connect(host=self.args.socket, user="postgres", dbname="postgres", autocommit=True) as c:
            c.execute("CREATE DATABASE bench")
        before = self.cpu()
        push = json.loads(self.run("push", self.at("a.gallery"), self.url, "--json")[0])
        push["server_cpu_s"] = round(self.cpu() - before, 2)
        pulls = []
        self.run("compact", self.at("a.gallery"))
        for _ in range(self.args.rounds):
            pulls.append(json.loads(self.run("pull", self.url, self.at("b.gallery"), "--json")[0])["rows_per_second"])
            with open(self.at("a.gallery"), "rb") as a, open(self.at("b.gallery"), "rb") as b:
                if a.read() != b.read():
                    sys.exit("what was pulled is not what was pushed")
            os.remove(self.at("b.gallery"))
        return push, statistics.median(pulls)

    def found(self, place, *words):
        """Hits of reid: the ids for every query, stderr and seconds."""
        out, err, seconds = self.run("search", place, self.at("q.npy"), "-k", str(TOP), "--json", *words)
        return [[m["id"] for m in json.loads(line)["matches"]] for line in out.splitlines()], err, seconds

    def reid(self, *words):
        ids, err, _ = self.found(self.url, "--by", "template", "-v", *words)
        middle, slowest = map(float, re.search(r"; ([\d.]+) ms .* ([\d.]+) ms for the slowest", err).groups())
        return {"ids": ids, "p50_ms": middle, "p99_ms": slowest}

    def whole(self, place, *words):
        ids, _, seconds = self.found(place, "--by", "template", *words)
        return {"ids": ids, "seconds": seconds}

    def sql(self, ef, count):
        """Plain SQL; ef 0: without the index."""
        ids, times = [], []
        with psycopg.connect(host=self.args.socket, user="postgres", dbname="bench", autocommit=True) as c:
            c.execute(f"SET hnsw.ef_search = {ef}" if ef else "SET enable_indexscan = off")
            for q in self.queries[:count]:
                text = "[" + ",".join(f"{x:.6g}" for x in q) + "]"
                start = time.perf_counter()
                rows = c.execute(f"SELECT t.id FROM (SELECT template_id, half <#> %s AS d FROM {TABLE} ORDER BY d "
                                 f"LIMIT {TOP}) n JOIN reid.template t USING (template_id) ORDER BY d",
                                 (text,)).fetchall()
                times.append(1e3 * (time.perf_counter() - start))
                ids.append([row[0] for row in rows])
        times.sort()
        return {"ids": ids, "p50_ms": times[len(times) // 2], "p99_ms": times[len(times) - 1 - len(times) // 100]}


def recall(got, wanted):
    pairs = list(zip(got, wanted))
    return sum(len(set(a) & set(b)) for a, b in pairs) / sum(len(b) for _, b in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output")
    parser.add_argument("--rows", type=int, default=100000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    for hidden in ("--reid", "--socket", "--work"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    args = parser.parse_args()
    bench = Bench(args)
    load = [round(os.getloadavg()[0], 2)]
    bench.make()
    push, pull = bench.move()
    engines = {"reid": bench.reid, "reid_wide": lambda: bench.reid(*WIDE),
               "reid_exact": lambda: bench.whole(bench.url, "--exact"),
               "file": lambda: bench.whole(bench.at("a.gallery"))}
    for ef in WIDTHS:
        engines[f"sql_{ef}"] = lambda ef=ef: bench.sql(ef, args.queries)
    engines["sql_exact"] = lambda: bench.sql(0, min(20, args.queries))
    turns = {name: [] for name in engines}
    for _ in range(args.rounds):
        for name, engine in engines.items():
            turns[name].append(engine())
    wanted = turns["file"][0]["ids"]
    cells = {}
    for name, each in turns.items():
        cells[name] = {key: round(statistics.median(t[key] for t in each), 3) for key in each[0] if key != "ids"}
        cells[name]["recall_at_10"] = round(recall(each[0]["ids"], wanted), 4)
    identities = bench.found(bench.at("a.gallery"))[0]
    for name, words in (("reid", ()), ("reid_wide", WIDE)):
        cells[name]["recall_identities"] = round(recall(bench.found(bench.url, *words)[0], identities), 4)
    load.append(round(os.getloadavg()[0], 2))
    with psycopg.connect(host=args.socket, user="postgres", dbname="bench") as c:
        size = lambda what: c.execute("SELECT pg_total_relation_size(%s::regclass)", (what,)).fetchone()[0]
        sizes = {"table_bytes": size(TABLE) - size(TABLE + "_hnsw"), "index_bytes": size(TABLE + "_hnsw"),
                 "file_bytes": os.path.getsize(bench.at("a.gallery"))}
        version = c.execute("SELECT current_setting('server_version') || ', pgvector ' || extversion FROM pg_extension "
                            "WHERE extname = 'vector'").fetchone()[0]
    result = {"date": datetime.date.today().isoformat(), "chip": chip(), "cpus": os.cpu_count(),
              "python": platform.python_version(), "postgresql": version, "rows": args.rows, "dim": args.dim,
              "queries": args.queries, "rounds": args.rounds, "load": load, "push": push,
              "pull_rows_per_second": round(pull), **sizes, "engines": cells}
    text = json.dumps(result, indent=1)
    print(text)
    if args.output:
        with open(args.output, "w", encoding="utf-8") as f:
            f.write(text + "\n")


if __name__ == "__main__":
    main()
