"""int8.py: compares reid.h with OpenVINO and onnxruntime in INT8, a ResNet-50 at 224x224; tools/peers/int8 starts it.

    sh tools/peers/int8 [--weights FILE.safetensors] [--pictures FOLDER] [--most 400] [-o FILE.json]
                        [--batches 1,8,32] [--threads 1,2] [--isas best,avx2] [--rounds 9] [--patience SECONDS]

The images, or drawn ones, are shuffled by a seed and brought to 224x224 by Pillow once; half of them is for
calibration, the other half held out. All engines get the same images and the same network: `reid calibrate --int8`;
onnxruntime's quantize_static (QDQ, bytes, weights by channel; its pre-processing; ranges by the method of METHODS
whose rows are nearer to FP32's on the calibration images); NNCF's quantize for OpenVINO at its defaults. FP32 is
torchvision's module in float32.

Writes JSON. quality: by instruction set and engine, cosines of held-out rows to FP32's: mean, 1 % quantile and least;
ours_fallback is ours with `fallback`, ours_fp32 our FP32. cells: turns as in compare.py, whose fields README.md
explains; builds_ms has the latter two. Exit status 1 if the least cosine of ours with fallback is below LEAST.
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import warnings

import numpy as np
from PIL import Image

import compare
import networks
from files import draw
from group import whole

TOP, HERE = networks.TOP, networks.HERE
NET, SIDE = "resnet50", 224
FOLDER = os.path.join(TOP, "build", "peers", NET + "_int8")  # the worker takes the network from its name
REID = os.path.join(TOP, "build", "reid")
METHODS = {"MinMax": 100000, "Entropy": 64}  # images at most: Entropy keeps every activation of all, 80 MB each
PEERS = ("onnxruntime", "openvino")
LEAST = 0.98
DRAWN = 128


def at(name):
    return os.path.join(FOLDER, name)


# ---- images ----


def found_pictures(args):
    if not args.pictures:
        source = np.random.default_rng(args.seed)
        return [Image.fromarray(draw(source, 320, 240)) for _ in range(DRAWN)]
    endings = (".jpg", ".jpeg", ".png", ".pgm", ".ppm", ".bmp")
    paths = sorted(os.path.join(where, name) for where, _, names in os.walk(args.pictures) for name in names
                   if name.lower().endswith(endings))
    if len(paths) < 20:
        sys.exit(f"{args.pictures}: fewer than 20 images; name a folder with more")
    random.Random(args.seed).shuffle(paths)
    return [Image.open(path) for path in paths[:args.most]]


def normalised(pixels):
    from make_embeddings import MEAN, STD
    return ((pixels.transpose(0, 3, 1, 2) / 255.0 - MEAN) / STD).astype(np.float32)


def make_pictures(args):
    """(calibration, held out): (n, 3, 224, 224) float32; pixels.u8, images.npy of the latter, the former as files."""
    pixels = np.stack([np.asarray(picture.convert("RGB").resize((SIDE, SIDE), Image.BICUBIC))
                       for image in found_pictures(args)])
    shown, held = pixels[::2], pixels[1::2]
    os.makedirs(at("calibration"))
    for i, one in enumerate(shown):
        Image.fromarray(one).save(at(f"calibration/{i:05}.png"))
    held.tofile(at("pixels.u8"))
    np.save(at("images.npy"), normalised(held))
    return normalised(shown), normalised(held)


# ---- networks ----


def make_module(args):
    import torch
    import worker
    if args.weights:
        shutil.copy(args.weights, at("weights.safetensors"))
    else:
        seeded = os.path.join(TOP, "build", "seeded")
        subprocess.run([seeded, "--net", NET, "-o", at("weights.safetensors")], check=True)
    return worker.torch_module(torch, FOLDER)


def rows_of(module, images):
    import torch
    with torch.inference_mode():
        rows = np.concatenate([module(torch.from_numpy(images[i:i + 8])).numpy() for i in range(0, len(images), 8)])
    return unit(rows)


def unit(rows):
    rows = rows.astype(np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def cosines(rows, others):
    return (unit(rows) * others).sum(axis=1)


def make_onnx(module, images):
    import torch
    with torch.inference_mode():
        torch.onnx.export(module, (torch.from_numpy(images[:2]),), at("fp32.onnx"), dynamo=False, opset_version=17,
                          input_names=["image"], output_names=["embedding"],
                          dynamic_axes={"image": {0: "n"}, "embedding": {0: "n"}})


def onnx_rows(path, images):
    import onnxruntime as ort
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(None, {"image": images[i:i + 8]})[0] for i in range(0, len(images), 8)])


def quantise_onnxruntime(images, wanted):
    """int8.onnx by the better of METHODS, judged by the images that it was made with. Returns its name."""
    from onnxruntime import quantization as q
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(q.CalibrationDataReader):
        def __init__(self, most):
            self.left = iter(images[:most])

        def get_next(self):
            one = next(self.left, None)
            return None if one is None else {"image": one[None]}
    quant_pre_process(at("fp32.onnx"), at("prepared.onnx"))
    score = {}
    for method, most in METHODS.items():
        q.quantize_static(at("prepared.onnx"), at(method + ".onnx"), Reader(most), per_channel=True,
                          activation_type=q.QuantType.QUInt8, weight_type=q.QuantType.QInt8,
                          calibrate_method=q.CalibrationMethod[method])
        score[method] = cosines(onnx_rows(at(method + ".onnx"), images), wanted).mean()
        print(f"onnxruntime, {method}: mean cosine {score[method]:.5f} on its own images", flush=True)
    best = max(score, key=score.get)
    os.replace(at(best + ".onnx"), at("int8.onnx"))
    return best


def quantise_openvino(images):
    import nncf
    import openvino as ov
    model = nncf.quantize(ov.convert_model(at("fp32.onnx")), nncf.Dataset([one[None] for one in images]),
                          subset_size=len(images))
    ov.save_model(model, at("int8.xml"), compress_to_fp16=False)


def quantise_ours():
    subprocess.run([REID, "calibrate", "--int8", "-m", at("weights.safetensors"), "--preset", "torchreid", "--head",
                    "none", "--size", f"{SIDE}x{SIDE}", at("calibration"), "-o", at("ranges.safetensors")], check=True)


# ---- turns ----


def commands(args, cell):
    rest = [str(cell["batch"]), str(cell["threads"])]
    own = [args.ours["ours"], at("weights.safetensors"), at("pixels.u8"), cell["size"], *rest]
    ranges = at("ranges.safetensors")
    found = {"ours": own + ["int8:" + ranges], "ours_fallback": own + ["fallback:" + ranges],
             "ours_fp32": own + ["fp32"]}
    for peer in PEERS:
        found[peer] = [sys.executable, os.path.join(HERE, "worker.py"), peer, FOLDER, *rest, "int8"]
    return found


def new_cell(asked, batch, threads):
    return {"net": NET, "size": f"{SIDE}x{SIDE}", "precision": "int8", "device": "cpu", "isa": "", "asked": asked,
            "batch": batch, "threads": threads, "errors": {}, "refused": {}}


def start(args, cell):
    engines = []
    for name, command in commands(args, cell).items():
        try:
            engines.append(compare.start_engine(name, command, cell, args))
        except compare.Refused as e:
            cell["refused"][name] = str(e)
    if not engines or engines[0].name != "ours":
        sys.exit(f"ours does not start: {cell['refused']}")
    return engines


def judge(args, wanted, result):
    """Compares all engines' rows of the held-out images with FP32's. Returns the least cosine of ours."""
    least = 1.0
    for asked in args.isas:
        cell, found = new_cell(asked, len(wanted), args.threads[-1]), {}
        for engine in start(args, cell):
            near = cosines(np.fromfile(engine.rows, "<f4").reshape(wanted.shape), wanted)
            engine.stop()
            found[engine.name] = {"mean": float(f"{near.mean():.6f}"), "least": float(f"{near.min():.6f}"),
                                  "q01": float(f"{np.quantile(near, 0.01):.6f}")}
            print(f"{asked} {engine.name}: {found[engine.name]}", flush=True)
        result["quality"][asked] = found
        least = min(least, found["ours_fallback"]["least"])
        if cell["refused"]:
            print("refused:", cell["refused"], flush=True)
    return least


def run_cell(args, cell, result):
    engines = start(args, cell)
    for e in engines:
        result["versions"]["reid" if e.name.startswith("ours") else e.name] = e.found["version"]
        if "convolutions" in e.found:
            result["notes"][f"{e.name} {cell['asked']}"] = e.found["convolutions"]
    compare.take_turns(engines, args.rounds, compare.Patience(args.patience, args.gauges[cell["threads"]]))
    compare.fill(cell, engines, args)
    for e in engines:
        e.stop()
    result["cells"].append(cell)


# ---- the file ----


def new_result(args, shown, held):
    result = compare.new_result(args)
    for unused in ("most_error", "instructions"):
        del result[unused]
    result["network"] = os.path.basename(args.weights) if args.weights else "seeded"
    result["pictures"] = {"calibration": len(shown), "held_out": len(held), "drawn": not args.pictures,
                          "seed": args.seed}
    result["quality"] = {}
    return result


def parse():
    p = argparse.ArgumentParser(prog="tools/peers/int8", description=__doc__.split("\n")[0])
    p.add_argument("-o", "--out", default="int8.json", help="JSON. Default: int8.json")
    p.add_argument("--weights", help="a ResNet-50's safetensors. Default: random numbers")
    p.add_argument("--pictures", help="a folder of images. Default: drawn ones")
    p.add_argument("--most", type=whole(20, 100000), default=400, help="images at most. Default: 400")
    p.add_argument("--seed", type=whole(0, 1 << 30), default=1)
    p.add_argument("--batches", default="1,8,32")
    p.add_argument("--threads", default="1,2")
    p.add_argument("--isas", default="best,avx2")
    p.add_argument("--rounds", type=whole(2, 1000), default=9)
    p.add_argument("--patience", type=float, default=30, help="seconds in a cell to wait for idle CPUs")
    args = p.parse_args()
    args.batches = sorted(int(n) for n in args.batches.split(","))
    args.threads = sorted(int(n) for n in args.threads.split(","))
    args.isas = args.isas.split(",")
    args.cpus = sorted(os.sched_getaffinity(0))
    if args.batches[0] < 1 or args.threads[0] < 1 or args.threads[-1] > len(args.cpus):
        p.error(f"batches are at least 1, threads 1 to {len(args.cpus)}")
    if any(isa not in compare.LIMITS for isa in args.isas):
        p.error("--isas takes best, avx2")
    return args


def prepare(args):
    """Makes the images, the three quantised networks, and the programs that take turns."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    module = make_module(args)
    shown, held = make_pictures(args)
    make_onnx(module, shown)
    result = new_result(args, shown, held)
    quantise_ours()
    result["notes"]["onnxruntime"] = "ranges by " + quantise_onnxruntime(shown, rows_of(module, shown))
    quantise_openvino(shown)
    program = compare.compile_ours(os.path.join(TOP, "reid.h"), "ours0")
    args.ours = {name: program for name in ("ours", "ours_fallback", "ours_fp32")}
    gauge = os.path.join(compare.BUILD, "gauge")
    subprocess.run([compare.CC, "-O2", "-march=native", "-D_GNU_SOURCE", os.path.join(HERE, "gauge.c"), "-o", gauge,
                    "-lpthread"], check=True)
    args.gauges = {n: compare.Gauge(args.cpus[-n:]) for n in args.threads}
    return result, rows_of(module, held)


def main():
    warnings.simplefilter("ignore")  # the exporter to ONNX that needs no further package is deprecated
    args = parse()
    result, wanted = prepare(args)
    least = judge(args, wanted, result)
    args.batches = [n for n in args.batches if n <= len(wanted)]
    for isa in args.isas:
        for batch in args.batches:
            for threads in args.threads:
                cell = new_cell(isa, batch, threads)
                run_cell(args, cell, result)
                print(compare.line_of(cell), flush=True)
                compare.save(result, args.out)
    for gauge in args.gauges.values():
        gauge.stop()
    sys.exit(1 if least < LEAST else 0)


if __name__ == "__main__":
    main()
