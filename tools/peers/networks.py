"""networks.py: one seeded network in the form that each peer reads, with its pixels and its golden rows.

    python3 tools/peers/networks.py NET HxW BATCH [BATCH...]       needs build/seeded and what requirements.txt names

Writes the missing ones of these files to build/peers/NET_HxW (tools/peers/run empties it when the versions change):
    weights.safetensors   of build/seeded: what reid.h reads
    pixels.u8             (32, H, W, 3): the two images of tests/golden, then these two shifted
    images.npy            (32, 3, H, W) float32: the same, divided and normalised, which is what the peers get
    golden.npy            (32, dim) float64: torchvision's module in float64, rows of unit length
    batchN.onnx, .xml, .pt    fixed batch: for onnxruntime, OpenVINO, torch.jit
    one.ncnn.param, .bin      for ncnn, which knows no batch
"""
import os
import subprocess
import sys
import warnings

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
GOLDEN = os.path.join(TOP, "tests", "golden")
IMAGES = 32
MOST_GOLDEN_ERROR = 1e-6  # the committed golden is rounded to float32

sys.path.insert(0, GOLDEN)


def folder_of(net, size):
    return os.path.join(TOP, "build", "peers", f"{net}_{size}")


def once(path, make):
    """Makes a missing file, under another name first, so that no reader sees half a file."""
    if os.path.exists(path):
        return
    stem, ending = os.path.splitext(path)
    part = stem + "_part" + ending
    make(part)
    os.replace(part, path)


def pixels_of(height, width):
    from make_embeddings import pixels
    two = [pixels(height, width, i) for i in range(2)]
    return np.stack([np.roll(two[i % 2], (13 * (i // 2), 29 * (i // 2)), (0, 1)) for i in range(IMAGES)])


def module_of(net):
    """torchvision's module without its classifier, with the weights of seed 1."""
    import make_embeddings
    import seeded
    state, _ = make_embeddings.split(seeded.build(net)[0])
    return make_embeddings.trunk(net, state, 2)


def check_committed(net, height, width, rows):
    """Computes the golden; its first two rows must equal those of the tests."""
    at = 0
    data = np.fromfile(os.path.join(GOLDEN, "embeddings.bin"), "<f4")
    for line in open(os.path.join(GOLDEN, "embeddings.txt")):
        if line.startswith("#"):
            continue
        name, head, h, w, stride, count, dim = line.split()[:7]
        count, dim = int(count), int(dim)
        if (name, head, int(h), int(w), stride) == (net, "none", height, width, "2"):
            error = np.abs(data[at:at + count * dim].reshape(count, dim) - rows[:count]).max()
            if error > MOST_GOLDEN_ERROR:
                sys.exit(f"{net} {height}x{width}: float64 differs from tests/golden by {error:.1e}")
            return
        at += count * dim
    print(f"{net} {height}x{width}: no such case in tests/golden, only torch's float64 is compared with")


def make_golden(net, images):
    import torch
    module = module_of(net).double()
    with torch.inference_mode():
        rows = np.concatenate([module(torch.from_numpy(images[i:i + 4])).numpy() for i in range(0, IMAGES, 4)])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def make_data(net, height, width, folder):
    """weights, pixels, images, golden"""
    from make_embeddings import MEAN, STD
    path = lambda name: os.path.join(folder, name)  # noqa: E731
    seeded_program = os.path.join(TOP, "build", "seeded")
    once(path("weights.safetensors"), lambda p: subprocess.run([seeded_program, "--net", net, "-o", p], check=True))
    once(path("pixels.u8"), lambda p: pixels_of(height, width).tofile(p))
    if os.path.exists(path("golden.npy")) and os.path.exists(path("images.npy")):
        return
    pixels = np.fromfile(path("pixels.u8"), np.uint8).reshape(IMAGES, height, width, 3)
    images = (pixels.transpose(0, 3, 1, 2) / 255.0 - MEAN) / STD
    once(path("images.npy"), lambda p: np.save(p, images.astype(np.float32)))
    rows = make_golden(net, images)
    check_committed(net, height, width, rows)
    once(path("golden.npy"), lambda p: np.save(p, rows))


def make_ncnn(folder, module, image):
    """Converts with pnnx, which writes a dozen files next to its input, of which two are needed."""
    import torch
    if os.path.exists(os.path.join(folder, "one.ncnn.bin")):
        return
    work = os.path.join(folder, "pnnx")
    os.makedirs(work, exist_ok=True)
    torch.jit.save(torch.jit.trace(module, image), os.path.join(work, "one.pt"))
    shape = "inputshape=[%s]f32" % ",".join(str(n) for n in image.shape)
    log = os.path.join(work, "log")
    with open(log, "w") as out:
        status = subprocess.run([os.path.join(os.path.dirname(sys.executable), "pnnx"), "one.pt", shape, "fp16=0"],
                                cwd=work, stdout=out, stderr=out).returncode
    if status or not os.path.exists(os.path.join(work, "one.ncnn.bin")):
        print(f"ncnn: pnnx could not convert it, see {log}")
        return
    for name in ("one.ncnn.param", "one.ncnn.bin"):
        os.replace(os.path.join(work, name), os.path.join(folder, name))


def make_openvino(stem):
    import openvino
    if not os.path.exists(stem + ".bin"):
        openvino.save_model(openvino.convert_model(stem + ".onnx"), stem + "_part.xml", compress_to_fp16=False)
        for ending in (".xml", ".bin"):
            os.replace(stem + "_part" + ending, stem + ending)


def make_models(net, folder, batches):
    import torch
    images = np.load(os.path.join(folder, "images.npy"))
    module = module_of(net)
    with torch.inference_mode():
        for n in batches:
            example = torch.from_numpy(images[:n])
            stem = os.path.join(folder, f"batch{n}")
            once(stem + ".onnx", lambda p: torch.onnx.export(module, (example,), p, dynamo=False, opset_version=17,
                                                             input_names=["image"], output_names=["embedding"]))
            once(stem + ".pt", lambda p: torch.jit.save(torch.jit.trace(module, example), p))
            make_openvino(stem)
        make_ncnn(folder, module, torch.from_numpy(images[:1]))


def main():
    net, size, batches = sys.argv[1], sys.argv[2], [int(n) for n in sys.argv[3:]]
    warnings.simplefilter("ignore")  # torch.jit and the exporter to ONNX that needs no further package are deprecated
    height, width = (int(n) for n in size.split("x"))
    if max(batches) > IMAGES:
        sys.exit(f"the largest batch is {IMAGES}")
    folder = folder_of(net, size)
    os.makedirs(folder, exist_ok=True)
    make_data(net, height, width, folder)
    make_models(net, folder, batches)


if __name__ == "__main__":
    main()
