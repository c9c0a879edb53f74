"""faces_peer.py: embeds images one at a time with PyTorch, like a program that was written for one image.

    python faces_peer.py WEIGHTS LIST OUT.npy [THREADS]

LIST names an image in each line, 112 x 112. torchvision's EfficientNet-B0 without its classifier, in evaluation
mode; OUT gets a row of unit length for each. Prints a line of JSON: the seconds from the first image file to the
last row, after one warm-up image; imports and weights are not included.
"""
import json
import sys
import time

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file
from torchvision.models import efficientnet_b0

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def embed(model, path):
    pixels = np.asarray(Image.open(path).convert("RGB"), np.float32) / 255
    pixels = (pixels - np.float32(MEAN)) / np.float32(DEVIATION)
    row = model(torch.from_numpy(pixels.transpose(2, 0, 1).copy())[None])[0]
    return (row / row.norm()).numpy()


def main():
    weights, listed, out, *threads = sys.argv[1:]
    if threads:
        torch.set_num_threads(int(threads[0]))
    with open(listed, encoding="utf-8") as f:
        paths = f.read().splitlines()
    model = efficientnet_b0()
    model.load_state_dict(load_file(weights), strict=False)
    model.classifier = torch.nn.Identity()
    model.eval()
    with torch.inference_mode():
        embed(model, paths[0])
        began = time.perf_counter()
        rows = np.stack([embed(model, path) for path in paths])
        seconds = time.perf_counter() - began
    np.save(out, rows)
    print(json.dumps({"seconds": seconds, "threads": torch.get_num_threads()}))


if __name__ == "__main__":
    main()
