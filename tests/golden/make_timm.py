#!/usr/bin/env python3
"""Makes timm.txt, goldens of tests/core/t_resize.c from timm's own transforms.

    python3 tests/golden/make_timm.py              needs timm, which brings torchvision, and Pillow; fetches no weights

timm.txt  model "eval" or "test"  kind seed image_width image_height  hash  mean(3) std(3)  preset text, to the end
          test: with the input size and crop that timm's configuration has for tests

For each line, timm's configuration of a model (timm.data.resolve_data_config) builds its Resize and CenterCrop, which
are applied to an image of make_resize.py. The line has the hash of the pixels and the text of the preset that must
produce them. The texts were written after reading the configurations; t_resize checks that they are right. Images whose
columns Pillow resizes first are avoided.
"""
import os

from PIL import Image
from timm.data import create_transform, resolve_data_config
from timm.models import get_pretrained_cfg

from make_resize import KINDS, fnv1a, picture

MODELS = [
    ("resnet50.a1_in1k", False, "timm-0.95"),
    ("resnet50.a1_in1k", True, "timm-0.95 size=288x288 crop=1"),
    ("resnet50.ram_in1k", False, "torchvision-v1 filter=bicubic"),
    ("resnet50.ram_in1k", True, "timm-0.95 size=288x288 crop=0.95"),
    ("resnet50.tv_in1k", False, "torchvision-v1"),
    ("resnet50.tv2_in1k", True, "torchvision-v2"),
    ("efficientnet_b0.ra_in1k", False, "effnet-b0"),
    ("efficientnet_b0.ra4_e3600_r224_in1k", False, "timm-0.9 mean=0.5 std=0.5"),
    ("efficientnet_b0.ra4_e3600_r224_in1k", True, "timm-0.9 mean=0.5 std=0.5 size=256x256 crop=1"),
    ("efficientnet_b1.ft_in1k", True, "effnet-b1 size=256x256 crop=1"),
    ("efficientnet_b2.ra_in1k", True, "effnet-b2"),
    ("efficientnet_b3.ra2_in1k", True, "effnet-b3 size=320x320 crop=1"),
    ("tf_efficientnet_b0.ap_in1k", False, "timm-inception"),
    ("tf_efficientnet_b0.ns_jft_in1k", False, "effnet-b0"),
    ("tf_efficientnet_b1.ap_in1k", False, "timm-inception size=240x240 crop=0.882"),
    ("tf_efficientnet_b2.ap_in1k", False, "timm-inception size=260x260 crop=0.89"),
    ("tf_efficientnet_b3.ns_jft_in1k", False, "effnet-b3 crop=0.904"),
]
SIZES = [(640, 480), (333, 500), (517, 389), (99, 98)]


def main():
    lines, seed = [], 5000
    for model, test, preset in MODELS:
        config = resolve_data_config(pretrained_cfg=get_pretrained_cfg(model).to_dict(), use_test_size=test)
        resize, crop = create_transform(**config).transforms[:2]
        assert type(resize).__name__ == "Resize" and type(crop).__name__ == "CenterCrop", (resize, crop)
        for size in SIZES:
            seed += 1
            kind = KINDS[seed % 3]
            image = crop(resize(Image.fromarray(picture(kind, seed, size[0], size[1], 3))))
            row = [model, "test" if test else "eval", kind, seed, *size, fnv1a(image.tobytes()), *config["mean"],
                   *config["std"], preset]
            lines.append(" ".join(map(str, row)) + "\n")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "timm.txt"), "w") as f:
        f.writelines(lines)
    print(len(lines), "lines")


main()
