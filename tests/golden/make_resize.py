#!/usr/bin/env python3
"""Makes the goldens of tests/core/t_resize.c with the real Pillow and torchvision.

    python3 tests/golden/make_resize.py            writes resize.txt, resize.bin, crop.txt, weights.txt to its folder
    python3 tests/golden/make_resize.py --check    compares with them instead (crop.txt only with torchvision)

Needs Pillow and numpy; crop.txt also needs torchvision and a Pillow before 12.2. Pillow used to resize rows first.
Since 12.2 it begins with the columns of very tall images, and since 13.0 whenever the height shrinks by more than twice
as many pixels as the width. The goldens keep the older order, which resize() below gets from every version. The images
come from formulas that the C test repeats, so that only hashes (FNV-1a, 64 bits) are stored and, for a few cases, the
pixels (resize.bin; the last column is the offset).

resize.txt  format kind seed width height  x y box_width box_height  out_width out_height filter  hash offset
crop.txt    preset filter edge height width  kind seed image_width image_height  hash
            edge: short side after resizing, 0 for none; preset -: none has these values
weights.txt source resized filter  hash
            of the doubles from which weights are made: a wrong last bit in them is rarely visible in a pixel
"""
import os
import struct
import sys

import numpy
import PIL
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}
KINDS = ("noise", "gradient", "edges")
ROWS_FIRST = tuple(map(int, PIL.__version__.split(".")[:2])) < (12, 2)


def picture(kind, seed, width, height, channels):
    """(height, width, channels) uint8. All arithmetic is on unsigned integers."""
    y, x, c = numpy.indices((height, width, channels), dtype=numpy.uint64)
    if kind == "noise":  # output number (y * width + x) * channels + c of SplitMix64, its top 8 bits
        z = ((y * width + x) * channels + c + 1) * 0x9E3779B97F4A7C15 + seed
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB
        return ((z ^ (z >> 31)) >> 56).astype(numpy.uint8)
    if kind == "gradient":  # along columns, rows and the diagonal, in turn by channel
        across, down = x * 255 // max(width - 1, 1), y * 255 // max(height - 1, 1)
        which = ((c + seed) % 3).astype(numpy.int64)
        return numpy.choose(which, (across, down, (across + down) // 2)).astype(numpy.uint8)
    return (255 * ((x // 5 + y // 3 + c * (x // 7) + seed) % 2)).astype(numpy.uint8)  # black and white bars


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return "%016x" % value


def resize(image, size, resample):
    """Resizes along rows, then along columns. Where Pillow has the same order, a single call must give the same."""
    result = image.resize((size[0], image.height), resample).resize(size, resample)
    if ROWS_FIRST:
        assert result.tobytes() == image.resize(size, resample).tobytes()
    return result


def resize_cases():
    """(format, kind, seed, (width, height), (x, y, box_width, box_height), (out_width, out_height), filter, stored)"""
    sizes = [
        # enlarged
        ((1, 1), (1, 1)), ((1, 1), (7, 5)), ((2, 2), (5, 3)), ((2, 1), (128, 256)), ((3, 3), (64, 64)),
        ((5, 7), (13, 11)), ((17, 31), (128, 256)), ((50, 100), (128, 256)), ((63, 120), (128, 256)),
        ((23, 19), (97, 101)), ((3, 4), (300, 2)), ((2, 3), (1, 4096)), ((3, 2), (4096, 1)),
        # reduced
        ((2, 2), (1, 1)), ((64, 64), (1, 1)), ((101, 97), (19, 23)), ((640, 480), (224, 224)), ((480, 640), (128, 256)),
        ((333, 257), (32, 32)), ((255, 254), (254, 255)), ((97, 89), (2, 3)), ((1021, 509), (13, 7)),
        ((200, 3), (9, 3)), ((160, 160), (112, 112)), ((225, 225), (224, 224)), ((449, 447), (224, 224)),
        ((448, 448), (224, 224)),
        # thin, long
        ((3, 4001), (224, 224)), ((4001, 3), (224, 224)), ((3, 4001), (5, 2)), ((4001, 3), (2, 5)),
        ((1, 4001), (128, 1)), ((20011, 2), (31, 3)), ((2, 70001), (2, 3)), ((40009, 1), (2, 2)),
        ((1000000, 1), (3, 1)), ((1, 1000000), (1, 2)),
        # enlarged on one axis and reduced on the other; unchanged on one axis; unchanged on both
        ((31, 211), (128, 64)), ((211, 31), (64, 128)), ((128, 77), (128, 256)), ((77, 256), (128, 256)),
        ((61, 61), (61, 17)), ((61, 61), (17, 61)), ((128, 256), (128, 256)), ((1, 37), (1, 53)), ((37, 1), (53, 1)),
    ]
    seed = 1
    for size, out in sizes:
        for kind in KINDS:
            for name in FILTERS:
                seed += 1
                yield "rgb", kind, seed, size, (0, 0) + size, out, name, out[0] * out[1] <= 64
    boxes = [
        ((40, 30), (0, 0, 20, 30)), ((40, 30), (20, 0, 20, 30)), ((40, 30), (13, 7, 11, 19)),
        ((40, 30), (39, 29, 1, 1)), ((40, 30), (0, 15, 40, 1)), ((40, 30), (17, 0, 1, 30)),
        ((640, 480), (301, 99, 57, 133)), ((199, 83), (3, 2, 191, 79)),
    ]
    for size, box in boxes:
        for out in ((16, 32), (box[2], box[3])):
            for name in FILTERS:
                seed += 1
                yield "rgb", KINDS[seed % 3], seed, size, box, out, name, False
    for form in ("grey", "rgba"):
        for size, out in (((40, 30), (13, 64)), ((29, 113), (128, 256)), ((300, 200), (20, 20)), ((9, 9), (9, 4))):
            for name in FILTERS:
                seed += 1
                yield form, "noise", seed, size, (0, 0) + size, out, name, False


def make_resize():
    lines, stored, offset = [], b"", 0
    for form, kind, seed, size, box, out, name, store in resize_cases():
        pixels = picture(kind, seed, size[0], size[1], {"rgb": 3, "rgba": 4, "grey": 1}[form])
        image = Image.fromarray(pixels[:, :, 0] if form == "grey" else pixels)
        if form == "rgba":
            image = image.convert("RGB")
        image = image.crop((box[0], box[1], box[0] + box[2], box[1] + box[3]))
        data = resize(image, out, FILTERS[name]).convert("RGB").tobytes()
        row = [form, kind, seed, *size, *box, *out, name, fnv1a(data), len(stored) if store else -1]
        lines.append(" ".join(map(str, row)) + "\n")
        stored += data if store else b""
    return "".join(lines).encode(), stored


# preset: filter, edge, height, width
PRESETS = {
    "torchvision-v1": ("bilinear", 256, 224, 224), "torchvision-v2": ("bilinear", 232, 224, 224),
    "effnet-b0": ("bicubic", 256, 224, 224), "effnet-b1": ("bicubic", 256, 240, 240),
    "effnet-b2": ("bicubic", 288, 288, 288), "effnet-b3": ("bicubic", 320, 300, 300),
    "torchreid": ("bilinear", 0, 256, 128), "fastreid": ("bicubic", 0, 256, 128),
    "strongbaseline": ("bilinear", 0, 256, 128), "tao": ("bilinear", 0, 256, 128), "mega": ("bilinear", 0, 288, 288),
    "miewid": ("bilinear", 0, 440, 440), "arcface": ("bilinear", 0, 112, 112), "facenet": ("bilinear", 0, 160, 160),
    "openvino-bgr": ("bilinear", 0, 256, 128),
}


def crop_cases():
    """(preset, filter, edge, height, width, kind, seed, (image_width, image_height))"""
    odd = [(640, 480), (480, 640), (341, 256), (256, 341), (256, 256), (224, 224), (300, 301), (257, 256), (1, 1),
           (2, 3), (11, 90), (90, 11), (333, 500), (517, 389), (389, 517), (701, 203), (151, 149), (99, 98),
           (640, 479), (640, 477)]
    seed = 1000
    for preset, (name, edge, height, width) in PRESETS.items():
        some = odd if preset in ("torchvision-v1", "effnet-b0") else odd[seed % 5::5]
        for size in some:
            seed += 1
            yield preset, name, edge, height, width, KINDS[seed % 3], seed, size
    # another input size: the edge becomes round(max(height, width) * edge / crop)
    others = [("torchvision-v1", 293, 256, 128), ("torchvision-v1", 256, 224, 113), ("torchvision-v2", 99, 96, 96),
              ("effnet-b0", 1, 1, 1), ("effnet-b0", 37, 31, 32), ("effnet-b3", 341, 100, 320),
              ("torchreid", 0, 384, 128), ("fastreid", 0, 33, 65)]
    for preset, edge, height, width in others:
        for size in ((200, 150), (149, 211), (31, 97)):
            seed += 1
            yield preset, PRESETS[preset][0], edge, height, width, KINDS[seed % 3], seed, size
    # a crop larger than the resized image: zeros around it, on one axis or both, by even and odd amounts
    for edge, height, width in ((20, 32, 32), (20, 33, 31), (21, 32, 31), (20, 64, 8), (20, 7, 65), (5, 40, 6)):
        for name in FILTERS:
            for size in ((50, 50), (40, 47), (61, 40), (7, 3)):
                seed += 1
                yield "-", name, edge, height, width, KINDS[seed % 3], seed, size
    # nothing is resized, and the crop is smaller, of the same size, or a pixel or two too large
    for height, width in ((20, 20), (19, 17), (21, 20), (20, 21), (21, 21), (22, 19)):
        for size in ((20, 20), (20, 23), (31, 20)):
            seed += 1
            yield "-", list(FILTERS)[seed % 2], 20, height, width, KINDS[seed % 3], seed, size


def make_crop():
    from torchvision import transforms
    lines = []
    for preset, name, edge, height, width, kind, seed, size in crop_cases():
        mode = transforms.InterpolationMode(name)
        image = Image.fromarray(picture(kind, seed, size[0], size[1], 3))
        if edge:
            image = transforms.CenterCrop((height, width))(transforms.Resize(edge, interpolation=mode)(image))
        else:
            image = transforms.Resize((height, width), interpolation=mode)(image)
        row = [preset, name, edge, height, width, kind, seed, *size, fnv1a(image.tobytes())]
        lines.append(" ".join(map(str, row)) + "\n")
    return "".join(lines).encode()


def filter_at(name, x):
    """bilinear_filter and bicubic_filter of Resample.c, operation by operation; Python never fuses them."""
    x = abs(x)
    if name == "bilinear":
        return 1.0 - x if x < 1.0 else 0.0
    if x < 1.0:
        return ((-0.5 + 2.0) * x - (-0.5 + 3.0)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * -0.5 if x < 2.0 else 0.0


def make_weights():
    lines = []
    sizes = [(640, 224), (480, 256), (31, 128), (77, 256), (1021, 13), (333, 341), (3, 97), (4001, 224), (299, 300),
             (7, 1)]
    for source, resized in sizes:
        for name in FILTERS:
            data = []
            scale = source / resized
            stretch = max(scale, 1.0)
            support = {"bilinear": 1.0, "bicubic": 2.0}[name] * stretch
            for i in range(resized):
                center = (i + 0.5) * scale
                first = max(int(center - support + 0.5), 0)
                end = min(int(center + support + 0.5), source)
                weights = [filter_at(name, (x - center + 0.5) * (1.0 / stretch)) for x in range(first, end)]
                total = 0.0
                for weight in weights:
                    total += weight
                data += [float(first), float(end), center, total] + weights
            lines.append("%d %d %s %s\n" % (source, resized, name, fnv1a(struct.pack("<%dd" % len(data), *data))))
    return "".join(lines).encode()


def main():
    text, pixels = make_resize()
    files = {"resize.txt": text, "resize.bin": pixels, "weights.txt": make_weights()}
    try:
        if not ROWS_FIRST:
            raise ImportError("Pillow " + PIL.__version__ + " has another order of passes")
        files["crop.txt"] = make_crop()
    except ImportError as reason:
        print("crop.txt: skipped:", reason)
    for name, data in files.items():
        path = os.path.join(HERE, name)
        if "--check" in sys.argv:
            with open(path, "rb") as file:
                if file.read() != data:
                    sys.exit(name + ": differs from what Pillow " + PIL.__version__ + " gives")
        else:
            with open(path, "wb") as file:
                file.write(data)
        print(name, len(data), "bytes")


if __name__ == "__main__":
    main()
