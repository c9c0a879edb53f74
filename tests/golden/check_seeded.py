"""Shows that seeded networks behave like trained ones. Run it after changing a constant of tools/demo_program/seeded.h.

    build/demo_images FOLDER && python3 tests/golden/check_seeded.py FOLDER     needs torch, torchvision and Pillow

For every batch norm, prints the ratio of the variance of its input to the variance that it assumes (0.3 … 3 is fine),
and the mean and standard deviation of its output; then the cosine between images of different animals (above 0.9 for a
collapsed network) and of the same animal. The exit status is 1 if a value is out of bounds.
"""
import glob
import os
import sys

import numpy as np
import torch
import torchvision.transforms as T
from PIL import Image

import make_embeddings as reference
import seeded

MOST_STRANGER_COSINE = 0.9


def load(folder):
    """Every third drawn image, preprocessed with the preset torchvision-v1, and the animal in it."""
    transform = T.Compose([T.Resize(256), T.CenterCrop(224)])
    paths = sorted(glob.glob(os.path.join(folder, "**", "*.png"), recursive=True))[::3]
    images = [np.asarray(transform(Image.open(p).convert("RGB"))) for p in paths]
    return np.stack(images), [os.path.basename(os.path.dirname(p)) for p in paths]


def watch(module):
    """Prints and collects the statistics of each batch norm's input and output."""
    bad = []

    def hook(norm, inputs, output, name):
        ratio = float(inputs[0].var() / norm.running_var.mean())
        mean, std = float(output.mean()), float(output.std())
        print(f"    {name:28s} variance over assumed {ratio:5.2f}   gives {mean:5.2f} +- {std:.2f}")
        if not (0.3 < ratio < 3 and abs(mean) < 2 and 0.1 < std < 3):
            bad.append(name)

    for name, part in module.named_modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.register_forward_hook(lambda m, i, o, name=name: hook(m, i, o, name))
    return bad


def main():
    images, who = load(sys.argv[1])
    same = np.equal.outer(who, who)
    failures = 0
    for network in ("resnet50", "resnet50-multiscale", "efficientnet_b0", "efficientnet_b3"):
        print(network)
        state, head = reference.split(seeded.build(network)[0])
        if network != "resnet50-multiscale":  # its trunk is that of resnet50
            module = reference.trunk(network, state, 2)
            bad = watch(module)
            x = torch.from_numpy((images[::3].transpose(0, 3, 1, 2) / 255.0 - reference.MEAN) / reference.STD).float()
            with torch.no_grad():
                module(x)
            failures += len(bad)
            print("    out of bounds:", ", ".join(bad) or "none")
        rows = reference.embed(network, state, head, 2, images, torch.float32)
        cosine = rows @ rows.T
        stranger, own = cosine[~same].mean(), cosine[same & ~np.eye(len(who), dtype=bool)].mean()
        failures += stranger > MOST_STRANGER_COSINE
        print(f"    mean cosine between strangers {stranger:.3f}, of the same animal {own:.3f}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
