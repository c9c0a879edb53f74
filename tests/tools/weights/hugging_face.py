"""Networks that Hugging Face's transformers builds and saves are converted, and embeddings compared with its own.

    python3 tests/tools/weights/hugging_face.py REID        needs torch, transformers and numpy; fetches no weights

Prints one line for each network and "N passed, N failed" at the end.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from transformers import (EfficientNetConfig, EfficientNetForImageClassification, EfficientNetModel, ResNetConfig,
                          ResNetForImageClassification, ResNetModel)

REID = os.path.abspath(sys.argv[1])
B0 = {"width_coefficient": 1.0, "depth_coefficient": 1.0, "image_size": 224, "hidden_dim": 1280}
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
# folder, class to save, class that computes the embedding, preset, configuration; None: it must be refused
CASES = [
    ("resnet50", ResNetForImageClassification, ResNetModel, "torchvision-v1", ResNetConfig()),
    ("resnet50_trunk", ResNetModel, ResNetModel, "torchvision-v1", ResNetConfig()),
    ("resnet50_v1", ResNetModel, None, None, ResNetConfig(downsample_in_bottleneck=True)),
    ("resnet50_first", ResNetModel, None, None, ResNetConfig(downsample_in_first_stage=True)),
    ("resnet50_gelu", ResNetModel, None, None, ResNetConfig(hidden_act="gelu")),
    ("resnet101", ResNetModel, None, None, ResNetConfig(depths=[3, 4, 23, 3])),
    ("resnet18", ResNetModel, None, None,
     ResNetConfig(depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], layer_type="basic")),
    ("efficientnet_b0", EfficientNetForImageClassification, EfficientNetModel, "effnet-b0", EfficientNetConfig(**B0)),
    ("efficientnet_max", EfficientNetModel, None, None, EfficientNetConfig(**B0, pooling_type="max")),
]


def seeded(network):
    """Random weights that keep activations in range, and batch norms that do something."""
    with torch.no_grad():
        for name, t in network.state_dict().items():
            if name.endswith("running_mean") or (t.dim() == 1 and name.endswith("bias")):
                t.normal_(0, 0.1)
            elif name.endswith("running_var") or t.dim() == 1:
                t.uniform_(0.5, 1.5)
            elif t.dim() == 4:
                t.normal_(0, (2 / t[0].numel()) ** 0.5)
    return network.eval()


def run(*arguments):
    return subprocess.run([REID, *arguments], capture_output=True, text=True)


def compare(folder, made_by, preset, pixels):
    """The largest difference of the normalised embeddings from transformers' in float64."""
    network = made_by.from_pretrained(folder).double().eval()
    with torch.no_grad():
        wanted = network(torch.tensor(((pixels / 255 - MEAN) / STD).transpose(2, 0, 1)[None])).pooler_output
    wanted = wanted.flatten().numpy()
    r = run("embed", "-m", folder + ".safetensors", "--size", "224x224", "--preset", preset + " resize=straight",
            "--device", "cpu", "--precision", "fp32", "-o", folder + ".npy", "x.ppm")
    if r.returncode:
        return r.stderr
    return float(np.abs(np.load(folder + ".npy")[0] - wanted / np.linalg.norm(wanted)).max())


def main():
    passed = failed = 0
    torch.manual_seed(1)
    pixels = np.random.default_rng(1).integers(0, 128, (224, 224, 3)) + np.linspace(0, 127, 224).astype(int)[:, None]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("x.ppm", "wb") as f:
            f.write(b"P6 224 224 255\n" + pixels.astype(np.uint8).tobytes())
        for name, saved_by, made_by, preset, config in CASES:
            seeded(saved_by(config)).save_pretrained(name)
            r = run("convert", name + "/model.safetensors", name + ".safetensors")
            if made_by is None:
                result, good = r.stderr.strip(), r.returncode == 2
            elif r.returncode or r.stderr:
                result, good = r.stderr.strip(), False
            else:
                result = compare(name, made_by, preset, pixels)
                good = isinstance(result, float) and result <= 1e-5
            print("ok" if good else "FAIL", name + ":", result)
            passed, failed = passed + good, failed + (not good)
        os.chdir("/")
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(failed > 0)


main()
