#!/usr/bin/env python3
"""Turns the results of `gpu_check survey` into a page and into files for tools/results/gpu.

    python3 tools/gpu/page.py OUT [--results tools/results/gpu]

OUT is the folder of gpu_check. Writes OUT/page.md, which shows every figure beside the last one of that chip and beside
the predictions in the README of the results, and OUT/commit/DATE-CHIP-NAME.json (reid bench) or .jsonl (the others),
with driver, CUDA, commit and PyTorch's version. Steps that are missing or incomplete leave gaps, never an error: the
page is written again after each step.
"""
import argparse
import json
import os
import re
import shutil
import sys

MOST = 20  # failures that are listed one by one
STEPS = ["build", "rows", "cells", "search", "torch", "files"]


def lines_of(path):
    """The whole lines of JSON; the last one of a step that was killed may be cut."""
    found = []
    if os.path.exists(path):
        for line in open(path):
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return [x for x in found if isinstance(x, dict)]


def short_of(chip):
    """NVIDIA H100 80GB HBM3 is h100, NVIDIA GeForce RTX 4090 is rtx4090."""
    words = [w for w in chip.lower().split() if w not in ("nvidia", "geforce", "tesla")]
    for i, word in enumerate(words):
        if re.search(r"\d", word):
            return re.sub(r"[^a-z0-9]", "", ("".join(words[:i]) + word))
    return "none"


def cells_of(name, path):
    """(network, precision, mode, batch) -> cell, of a file of reid bench."""
    mode = "--latency" if name.endswith("latency") else ""
    cells = json.load(open(path))["cells"]
    return {(c["net"], c["precision"], mode, c["batch"]): c for c in cells if c.get("ours_ms")}


class Results:
    """What was measured once on a chip: cells, search, torch, files."""

    def __init__(self):
        self.cells, self.search, self.grown, self.torch, self.topk, self.files = {}, {}, {}, {}, {}, {}
        self.date, self.torch_version = "", None

    def take_lines(self, found):
        for x in found:
            if "versions" in x:
                self.torch_version = x["versions"].get("torch", self.torch_version)
            elif x.get("kind") == "topk":
                self.topk[x["queries"]] = x["ms"]
            elif "queries" in x and "ours_ms" in x:
                self.search[x.get("read", "fp16"), x["queries"]] = x
            elif "grown_ms" in x:
                self.grown[x["groups"]] = x
            elif "images_s" in x:
                self.files[x["net"], x["file"]] = x["images_s"]
            elif "net" in x and "ms" in x and x.get("precision", "fp16") == "fp16":
                old = self.torch.get((x["net"], x["batch"]), (1e30, ""))
                self.torch[x["net"], x["batch"]] = min(old, (x["ms"], x["kind"]))


def last_results(folder, chip):
    """The newest committed file of each kind."""
    last, newest = Results(), {}
    for name in sorted(os.listdir(folder)):
        found = re.fullmatch(r"(\d{4}-\d\d-\d\d)-([a-z0-9]+)-(.*)\.(jsonl?)", name)
        if found and found.group(2) == chip:
            newest[found.group(3)] = (found.group(1), name)
    for kind, (date, name) in newest.items():
        path = os.path.join(folder, name)
        last.date = max(last.date, date)
        if name.endswith(".jsonl"):
            last.take_lines(lines_of(path))
        elif not re.search("no(clusters|pdl|wgmma)|256x128", kind):
            last.cells.update(cells_of(kind, path))
    return last


def flat(found):
    """A line of peers.py with several times becomes a line for each, as in tools/results/gpu."""
    for x in found:
        if "peers_ms" not in x:
            yield x
        for kind, ms in x.get("peers_ms", {}).items():
            yield {"net": x["net"], "size": x["size"], "precision": x["precision"], "batch": x["batch"],
                   "kind": kind.replace("torch_", ""), "ms": ms, "images_per_s": 1e3 * x["batch"] / ms}


def new_results(out):
    new = Results()
    folder = os.path.join(out, "cells")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        new.cells.update(cells_of(name[:-5], os.path.join(folder, name)))
    for step in ["search", "files"]:
        new.take_lines(lines_of(os.path.join(out, step + ".jsonl")))
    new.take_lines(flat(lines_of(os.path.join(out, "torch.jsonl"))))
    return new


def write_commit(out, machine, new):
    """The files to add to tools/results/gpu."""
    to = os.path.join(out, "commit")
    shutil.rmtree(to, ignore_errors=True)
    os.makedirs(to)
    start = "%s-%s-" % (machine["date"][:10], short_of(machine["chip"]))
    about = {"commit": machine["commit"], "nvidia_driver": machine["driver"], "nvcc": machine["versions"]["nvcc"],
             "torch": new.torch_version or ""}
    folder = os.path.join(out, "cells")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        text = open(os.path.join(folder, name)).read()
        marked = text.replace('"versions": {', '"versions": {%s, ' % json.dumps(about)[1:-1], 1)
        assert marked != text and json.loads(marked), name
        open(os.path.join(to, start + name), "w").write(marked)
    head = {"date": machine["date"], "chip": machine["chip"], "machine": machine["machine"], "about": about}
    for step, name in [("search", "search"), ("files", "files"), ("torch", "pytorch"), ("rows", "rows")]:
        found = list(flat(lines_of(os.path.join(out, step + ".jsonl"))))
        if found:
            with open(os.path.join(to, "%s%s.jsonl" % (start, name)), "w") as f:
                f.writelines(json.dumps(x) + "\n" for x in [head] + found)


# ---- the page ----
def number(value, digits=3):
    return "-" if value is None else "%.*f" % (digits, value)


def ratio(a, b):
    return "-" if not a or not b else "%.2f" % (a / b)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(str(x) for x in row) + " |" for row in rows] + [""]


def graph_of(cell):
    return cell.get("graph_ms") if cell else None


def around_us(cell):
    return 1e3 * (cell["ours_ms"] - cell["graph_ms"]) if cell and cell.get("graph_ms") else None


def networks(new, last):
    rows = []
    for key in sorted(set(new.cells) | {k for k in last.cells if k in WANTED}, key=order):
        cell, old = new.cells.get(key), last.cells.get(key)
        call, before = (c and c["ours_ms"] for c in (cell, old))
        ops, ops_before = (c and c.get("network_ms") for c in (cell, old))
        rows.append([key[0], (key[1] + " " + key[2]).strip(), key[3], number(call), number(before),
                     ratio(call, before), number(graph_of(cell)), number(graph_of(old)), number(around_us(cell), 0),
                     number(ops), number(ops_before), ratio(ops, ops_before),
                     number(1e3 * key[3] / call if call else None, 0)])
    return ["## Networks", "", "Milliseconds; a ratio below 1 says that it is faster than before. \"Around\" is the "
            "call less its graph.", ""] + \
        table(["network", "mode", "batch", "call", "before", "ratio", "graph", "before", "around, us",
               "operations", "before", "ratio", "images/s"], rows)


NETS = ["resnet50", "resnet50-multiscale", "efficientnet_b0"]
WANTED = [("resnet50", "fp16", "", n) for n in (1, 256, 2048)] + [("resnet50", "fp16", "--latency", 1)] + \
    [("resnet50-multiscale", "fp16", "", n) for n in (256, 2048)] + \
    [("efficientnet_b0", "fp16", "", n) for n in (1, 256, 2048)] + [("efficientnet_b0", "fp16", "--latency", 1)] + \
    [("resnet50", "int8", "", n) for n in (1, 256)] + [("resnet50", "fp32", "", 256)]


def order(key):
    return (NETS.index(key[0]) if key[0] in NETS else 9,) + key[1:]


def pytorch(new, last):
    rows = []
    for net, batch in sorted(set(new.torch) | set(last.torch)):
        ms, kind = new.torch.get((net, batch), (None, ""))
        before = last.torch.get((net, batch), (None, ""))[0]
        ours = new.cells.get((net, "fp16", "--latency", batch)) or new.cells.get((net, "fp16", "", batch))
        graph = graph_of(ours)
        rows.append([net, batch, number(ms), kind, number(before), ratio(ms, before), number(graph), ratio(ms, graph)])
    return ["## PyTorch, FP16, inputs on the GPU", "", "The fastest kind that was measured, beside our graph (with "
            "--latency where there is one). A last column above 1 says that ours is faster.", ""] + \
        table(["network", "batch", "PyTorch, ms", "kind", "before", "ratio", "our graph", "PyTorch / ours"], rows)


def search(new, last):
    rows = []
    for read, n in sorted(set(new.search) | set(last.search)):
        ours, before = (r.search.get((read, n)) for r in (new, last))
        ms, old = (x and x["ours_ms"] for x in (ours, before))
        right = "-" if not ours else "yes" if ours["same_as_cpu"] else "**NO**"
        rows.append([read, n, number(ms), number(old), ratio(ms, old), number(new.topk.get(n)),
                     number(last.topk.get(n)), ratio(new.topk.get(n), ms), right])
    grown = ["One row more for %d rows of %d%s: %.2f ms; a new index: %.1f." %
             (x["rows"], x["dim"], " in groups" if x["groups"] else "", x["grown_ms"], x["made_ms"])
             for x in new.grown.values()]
    return ["## Exact search in a million rows of 512", ""] + \
        table(["read first", "queries", "ms", "before", "ratio", "torch.topk", "before", "topk / ours",
               "as on the CPU"], rows) + grown + [""] * bool(grown)


def files(new, last):
    rows = [[net, size, number(new.files.get((net, size)), 0), number(last.files.get((net, size)), 0),
             ratio(new.files.get((net, size)), last.files.get((net, size)))]
            for net, size in sorted(set(new.files) | set(last.files))]
    return ["## reid embed from JPEG files, default decoders", "", "A ratio above 1 says that it is faster.", ""] + \
        table(["network", "files", "images/s", "before", "ratio"], rows)


def section(readme, heading):
    """The rows of the tables below a heading, as lists of cells."""
    inside, rows = False, []
    for line in readme.splitlines():
        if line.startswith("## "):
            inside = line.startswith("## " + heading)
        elif inside and line.startswith("| ") and not line.startswith("| step "):
            rows.append([c.strip() for c in line.strip()[1:-1].split("|")])
    return rows


def came(what, new):
    """What was measured for a row of the predictions; empty where it has no measurement of its own."""
    full = new.cells.get(("resnet50", "fp16", "", 256))
    if what.startswith("One image, ResNet-50"):
        one = new.cells.get(("resnet50", "fp16", "--latency", 1))
        return one and "%.0f us, %s of them around the graph" % (1e3 * one["ours_ms"], number(around_us(one), 0))
    if what.startswith("256 images, ResNet-50"):
        return full and "%.0f us, %s times the graph" % (1e3 * full["ours_ms"], ratio(full["ours_ms"], graph_of(full)))
    if what.startswith("2,048 images, ResNet-50"):
        many = new.cells.get(("resnet50", "fp16", "", 2048))
        graphs = 8 * graph_of(full) if graph_of(full) else None
        return many and "%.1f ms, %s of the graphs' pace" % (many["ours_ms"], ratio(graphs, many["ours_ms"]))
    if what.startswith("a whole call, k = 10"):
        times = [new.search[read, n]["ours_ms"] for read in ("int8", "fp16") for n in (1, 32, 1000)
                 if (read, n) in new.search]
        return ", ".join("%.3f" % ms for ms in times) + " ms" if times else None
    return ""


def predictions(new, readme):
    text = ["## Predictions for an H200, and what came", ""]
    for heading in ["Around the graph", "Exact search on the chip"]:
        rows = [[r[0], r[1], r[2], came(r[0], new) if came(r[0], new) is not None else "**not measured**"]
                for r in section(readme, heading) if len(r) >= 3]
        text += ["### " + heading, ""] + table(["step", "before", "predicted", "came"], rows)
    return text


def steps(out):
    rows = []
    for step in STEPS:
        path = os.path.join(out, step + ".status")
        word, seconds = (open(path).read().split() + ["", ""])[:2] if os.path.exists(path) else ("not run", "-")
        rows.append([step, word if word == "ok" else "**%s**" % word, seconds])
    return ["## Steps", ""] + table(["step", "status", "seconds"], rows)


def rows_checked(out):
    found = lines_of(os.path.join(out, "rows.jsonl"))
    planned = lines_of(os.path.join(out, "rows.planned"))
    wrong = [x for x in found if not x["ok"]]
    done = sum(x["check"] == "as on the CPU" for x in found)
    text = ["## Checks", "", "%d of %s embeddings of all modes were compared with the CPU's; %d of %d checks failed." %
            (done, planned[0]["planned"] if planned else "?", len(wrong), len(found)), ""]
    text += ["- **%s %s %s, batch %s**: %s: %s" % (x["net"], x["precision"], x["mode"], x["batch"], x["check"],
                                                 x["found"]) for x in wrong[:MOST]]
    text += ["- and %d more, in rows.txt" % (len(wrong) - MOST)] if len(wrong) > MOST else []
    cells = lines_of(os.path.join(out, "cells.jsonl"))
    text += ["- **no cell %s**: %s" % (x["cell"], x.get("found", "")) for x in cells if not x["ok"]]
    hung = os.path.join(out, "hung")
    if os.path.exists(hung):
        text += ["- **hung**: " + line.strip() for line in open(hung)]
    return text + [""]


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("out")
    a.add_argument("--results", default=os.path.join(os.path.dirname(__file__), "..", "results", "gpu"))
    a = a.parse_args()
    machine = json.load(open(os.path.join(a.out, "machine.json")))
    new, last = new_results(a.out), last_results(a.results, short_of(machine["chip"]))
    write_commit(a.out, machine, new)
    text = ["# %s, %s" % (machine["chip"], machine["date"]), "",
            "%s; driver %s, nvcc %s, PyTorch %s; commit %s. \"Before\" is the last result of this chip in "
            "tools/results/gpu: %s." % (machine["machine"], machine["driver"], machine["versions"]["nvcc"],
                                        new.torch_version or "-", machine["commit"], last.date or "none"), ""]
    text += steps(a.out) + rows_checked(a.out) + networks(new, last) + search(new, last)
    text += predictions(new, open(os.path.join(a.results, "README.md")).read())
    text += pytorch(new, last) + files(new, last)
    with open(os.path.join(a.out, "page.part"), "w") as f:
        f.write("\n".join(text))
    os.replace(os.path.join(a.out, "page.part"), os.path.join(a.out, "page.md"))


if __name__ == "__main__":
    sys.exit(main())
