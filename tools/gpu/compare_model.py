#!/usr/bin/env python3
"""Compares the model of time (predict.c) with the operations' times that were measured on a GPU.

    python3 tools/gpu/compare_model.py PREDICT FILE... [--table] [--worst N]

PREDICT is predict.c, compiled; a FILE is the JSON of `reid bench --ops`, named DATE-CHIP-NETWORK[-MODE].json as in
tools/results/gpu. In batches of 8 and more, the model predicts the tiles that were measured, if the network may still
use them; for smaller ones the files have the names of the same tiles, so today's are predicted. Operations that ran
with other tiles or kernels, as pairs of blocks that shared weights, are left out. For every cell it prints how many
operations the model has within 15 %, and how far off their sum is;
--table prints a Markdown table, --worst the N operations that are furthest off. The exit code is 1 if fewer than 9 of
10 operations of all cells are within 15 %, or fewer than 8 of 10 of a cell, or a cell's sum is more than 5 % off.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

MODES = {"": "fp16", "noclusters": "fp16", "latency": "latency", "int8": "int8", "int8-latency": "int8-latency",
         "fp32": "fp32", "nowgmma": "nowgmma"}
NEAR, OF_ALL, OF_CELL, SUM, FEW = 0.15, 0.9, 0.8, 0.05, 40
LARGE = 8  # from this batch on, the tiles are those for large batches

# Kernels that were rewritten after the files of these dates, and the least batch that runs the new one.
REPLACED = {"reid_depthwise": ("2026-11-26", 1), "reid_squeeze": ("2026-11-26", 1),
            "reid_conv_f32": ("2026-11-26", 1)}

Cell = collections.namedtuple("Cell", "chip net mode batch pairs")  # pairs: (name, measured, predicted), microseconds


def measured_tiles(mode, cell):
    """The cell's tiles of reid_conv_wgmma, as in the file of `reid bench --tune`, each in a nanosecond."""
    if cell["batch"] < LARGE:
        return
    for op in cell["ops"]:
        kernel, _, tile = op["kernel"].partition(" ")
        if kernel == "reid_conv_wgmma":
            yield f"sm_90 {cell['net']} {mode} {cell['size']} {op['name']} 64 {tile} 1\n"


def predicted(predict, chip, mode, cell):
    with tempfile.NamedTemporaryFile("w") as tiles:
        tiles.writelines(measured_tiles(mode, cell))
        tiles.flush()
        out = subprocess.run([predict, "--chip", chip, "--lines", mode, "--tiles", tiles.name, cell["net"],
                              str(cell["batch"]), *cell["size"].split("x")],
                             check=True, capture_output=True, text=True).stdout
    return [(name, kernel, tile, float(us)) for name, kernel, tile, us in (x.rsplit(" ", 3) for x in out.splitlines())]


def is_replaced(date, batch, measured, kernel, tile):
    """measured: the kernel in the file, with its tile; kernel, tile: those that run the operation today."""
    before, least = REPLACED.get(kernel, ("", 0))
    if tile.endswith("+"):  # see predict.c
        return True
    if batch >= LARGE and kernel == "reid_conv_wgmma" and measured != f"{kernel} {tile}":
        return True
    return measured.split()[0] != kernel or (date <= before and batch >= least)


def is_usable(chip, mode, net, batch):
    """Latency mode is for one image. In the H100's first cell every operation took 33 us or more."""
    return not (mode.endswith("latency") and batch > 1) and (chip, mode, net, batch) != ("h100", "fp16", "resnet50", 1)


def cells_of(predict, path):
    name = re.fullmatch(r"\d{4}-\d\d-\d\d-(h\d+)-(resnet50|multiscale|efficientnet_b0)-?(.*)\.json",
                        os.path.basename(path))
    if not name or name.group(3) not in MODES:
        sys.exit(f"compare_model: {path}: expected DATE-CHIP-NETWORK[-MODE].json with a mode of {', '.join(MODES)}")
    chip, mode = name.group(1), MODES[name.group(3)]
    date = os.path.basename(path)[:10]
    for cell in json.load(open(path))["cells"]:
        if not cell["ops"] or not is_usable(chip, mode, cell["net"], cell["batch"]):
            continue
        model = predicted(predict, chip, mode, cell)
        pairs, at = [], 0
        for op in cell["ops"]:  # in the plan's order; several operations may have one name
            if at < len(model) and model[at][0] == op["name"]:
                if not is_replaced(date, cell["batch"], op["kernel"], *model[at][1:3]):
                    pairs.append((op["name"], op["us"], model[at][3]))
                at += 1
        if at != len(model):
            sys.exit(f"compare_model: {path}: no operation {model[at][0]} in batch {cell['batch']}")
        yield Cell(chip, cell["net"], name.group(3) or mode, cell["batch"], pairs)


def share(pairs):
    return sum(abs(p / m - 1) <= NEAR for _, m, p in pairs) / len(pairs)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("predict")
    a.add_argument("files", nargs="+")
    a.add_argument("--table", action="store_true")
    a.add_argument("--worst", type=int, default=0)
    a = a.parse_args()
    cells = [c for f in a.files for c in cells_of(a.predict, f)]
    if not cells:
        sys.exit("compare_model: the files have no operations")
    failed = 0
    if a.table:
        print("| chip | network | mode | batch | operations within 15 % | measured, ms | by the model, ms | |")
        print("|---|---|---|---|---|---|---|---|")
    for c in cells:
        m, p = (sum(x[i] for x in c.pairs) / 1e3 for i in (1, 2))
        bad = share(c.pairs) < OF_CELL or (len(c.pairs) >= FEW and abs(p / m - 1) > SUM)
        failed += bad
        near = f"{round(share(c.pairs) * len(c.pairs))} of {len(c.pairs)}"
        if a.table:
            print(f"| {c.chip} | {c.net} | {c.mode} | {c.batch} | {near} | {m:.3f} | {p:.3f} | "
                  f"{100 * (p / m - 1):+.1f} % |")
        else:
            print(f"{c.chip} {c.net:20} {c.mode:12} {c.batch:4}  {near:9} within 15 %  {m:8.3f} ms, "
                  f"predicted {p:8.3f}  {100 * (p / m - 1):+5.1f} %{'  FAILED' if bad else ''}")
    pairs = [(f"{c.chip} {c.net} {c.mode} {c.batch} {n}", m, p) for c in cells for n, m, p in c.pairs]
    for n, m, p in sorted(pairs, key=lambda x: -abs(x[2] / x[1] - 1))[:a.worst]:
        print(f"{n}: {m:.2f} us, predicted {p:.2f}")
    all_near = share(pairs)
    print(f"{100 * all_near:.1f} % of {len(pairs)} operations in {len(cells)} cells within 15 %, {failed} cells failed")
    sys.exit(all_near < OF_ALL or failed > 0)


if __name__ == "__main__":
    main()
