"""Makes jpeg.bin, jpeg.txt and jpeg_rows.bin: embeddings that PyTorch computes, starting from JPEG files.

    python3 tests/golden/make_jpeg.py              needs torch, torchvision (with Pillow) and numpy; some seconds

jpeg.bin has the files one after another, jpeg.txt their lengths in bytes and descriptions, jpeg_rows.bin their
L2-normalised rows as float32, little-endian. Pillow opens the files and converts them to RGB; torchvision's transforms
for EfficientNet-B0 resize, crop and normalise; its module computes in float64 with the weights of seeded.py. jpeg.txt
names Pillow's decoder, because other libraries than libjpeg-turbo produce other pixels.
"""

import io
import os

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image, features

import make_embeddings
import seeded

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = [  # width, height, mode, how it is saved
    (320, 240, "RGB", {"quality": 90, "subsampling": 2}),
    (301, 333, "RGB", {"quality": 60, "subsampling": 1, "progressive": True}),
    (260, 256, "L", {"quality": 75}),
    (280, 300, "CMYK", {"quality": 85}),
]


def main():
    weights = torchvision.models.EfficientNet_B0_Weights.IMAGENET1K_V1
    state, head = make_embeddings.split(seeded.build("efficientnet_b0")[0])
    module = make_embeddings.trunk("efficientnet_b0", state, 2).double()
    files, rows = [], []
    for i, (width, height, mode, how) in enumerate(FILES):
        drawn = Image.fromarray(make_embeddings.pixels(height, width, i % 2)).convert(mode)
        data = io.BytesIO()
        drawn.save(data, "JPEG", **how)
        files.append(data.getvalue())
        with torch.no_grad():
            pixels = weights.transforms()(Image.open(io.BytesIO(files[-1])).convert("RGB"))
            row = module(pixels[None].double())
        rows.append(torch.nn.functional.normalize(row, dim=1).numpy().astype("<f4"))
    assert not head
    with open(os.path.join(HERE, "jpeg.bin"), "wb") as f:
        f.write(b"".join(files))
    with open(os.path.join(HERE, "jpeg.txt"), "w", encoding="utf-8") as f:
        f.write(f"# made by make_jpeg.py with torch {torch.__version__}, torchvision {torchvision.__version__}, "
                f"Pillow {PIL.__version__} with libjpeg-turbo {features.version('libjpeg_turbo')}\n"
                "# bytes width height mode options\n")
        for data, (width, height, mode, how) in zip(files, FILES):
            f.write(f"{len(data)} {width} {height} {mode} {' '.join(f'{k}={v}' for k, v in how.items())}\n")
    with open(os.path.join(HERE, "jpeg_rows.bin"), "wb") as f:
        f.write(np.concatenate(rows).tobytes())


if __name__ == "__main__":
    main()
