"""Makes TIFF files of all kinds, and compares the pixels of jpeg_pixels with Pillow's.

    python tiff_pillow.py make GOOD BAD             files to be decoded, and files to be refused
    python tiff_pillow.py check GOOD BAD REPORT     after jpeg_pixels, whose output is in REPORT
"""
import glob
import io
import os
import struct
import sys
import zlib

import numpy as np
from PIL import Image, ImageOps

CODINGS = [None, "tiff_lzw", "tiff_deflate", "tiff_adobe_deflate", "packbits", "jpeg"]
MODES = ["L", "LA", "RGB", "RGBA", "P"]


def drawn(width, height, channels):
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 100 * np.sin(x / (3.0 + c) + c) * np.cos(y / (4.0 + c)) for c in range(channels)]
    return np.stack(waves, -1).astype(np.uint8)


def image_of(mode, width=90, height=70):
    if mode == "P":
        return Image.fromarray(drawn(width, height, 3)).quantize(60)
    if mode == "1":
        return image_of("L").convert("1")
    if mode == "I;16":
        return Image.fromarray(drawn(width, height, 1)[:, :, 0].astype(np.uint16) * 257)
    if mode == "F":
        return image_of("L").convert("F")
    pixels = drawn(width, height, {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4, "YCbCr": 3, "LAB": 3}[mode])
    return Image.fromarray(pixels[:, :, 0] if mode == "L" else pixels, mode)


def encoded(image, coding=None, **tags):
    out = io.BytesIO()
    image.save(out, "TIFF", compression=coding, tiffinfo={int(tag[1:]): value for tag, value in tags.items()})
    return out.getvalue()


def raw(entries, data, order="<", tail=b""):
    """A file of one directory. entries: {tag: (type, values)}; data: the strips or tiles, whose offsets and sizes are
    added."""
    start = 8
    offsets, sizes = [], []
    for part in data:
        offsets.append(start)
        sizes.append(len(part))
        start += len(part) + len(part) % 2
    tiled = 322 in entries
    entries = {**entries, (324 if tiled else 273): (4, offsets), (325 if tiled else 279): (4, sizes)}
    extra_at, extra, rows = start + 2 + 12 * len(entries) + 4, b"", b""
    for tag, (kind, values) in sorted(entries.items()):
        packed = struct.pack(order + {1: "B", 3: "H", 4: "I"}[kind] * len(values), *values)
        if len(packed) > 4:
            rows += struct.pack(order + "HHII", tag, kind, len(values), extra_at + len(extra))
            extra += packed + b"\0" * (len(packed) % 2)
        else:
            rows += struct.pack(order + "HHI", tag, kind, len(values)) + packed.ljust(4, b"\0")
    body = b"".join(part + b"\0" * (len(part) % 2) for part in data)
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", start)
    return head + body + struct.pack(order + "H", len(entries)) + rows + bytes(4) + extra + tail


def tiled(samples, tile, coding, order="<", predictor=1, width=90, height=70, **more):
    pixels = drawn(width, height, samples)
    parts = []
    for y in range(0, height, tile):
        for x in range(0, width, tile):
            part = np.zeros((tile, tile, samples), np.uint8)
            cut = pixels[y:y + tile, x:x + tile]
            part[:cut.shape[0], :cut.shape[1]] = cut
            if predictor == 2:
                part[:, 1:] = part[:, 1:] - part[:, :-1]
            parts.append(zlib.compress(part.tobytes()) if coding == 8 else part.tobytes())
    entries = {256: (4, [width]), 257: (4, [height]), 258: (3, [8] * samples), 259: (3, [coding]),
               262: (3, [2 if samples > 2 else 1]), 277: (3, [samples]), 322: (4, [tile]), 323: (4, [tile]),
               317: (3, [predictor]), 284: (3, [1])}
    if samples in (2, 4):
        entries[338] = (3, [2])
    return raw({**entries, **{int(tag[1:]): value for tag, value in more.items()}}, parts, order)


def strips(photometric=1, rows=13, width=90, height=70, samples=1, **more):
    pixels = drawn(width, height, samples)
    entries = {256: (4, [width]), 257: (4, [height]), 258: (3, [8] * samples), 259: (3, [1]), 262: (3, [photometric]),
               277: (3, [samples]), 278: (4, [rows])}
    parts = [pixels[y:y + rows].tobytes() for y in range(0, height, rows)]
    return raw({**entries, **{int(tag[1:]): value for tag, value in more.items()}}, parts)


def named_often(entries, size, more=()):
    """An image of 8 x 8 pixels whose directory has so many entries that all name the same bytes."""
    rows = [(256, 4, 1, 8), (257, 4, 1, 8), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8),
            (277, 3, 1, 1), (278, 4, 1, 8), (279, 4, 1, 64)]
    rows = [row for row in rows if row[0] not in [changed[0] for changed in more]] + list(more)
    rows += [(40000 + i, 7, size, 8) for i in range(entries)]
    packed = b"".join(struct.pack("<HHII", *row) for row in sorted(rows))
    return b"II*\0" + struct.pack("<I", 8 + size) + bytes(size) + struct.pack("<H", len(rows)) + packed + bytes(4)


def good_files():
    yield "named-once", named_often(1, 1000)
    for mode in MODES:
        for coding in CODINGS:
            if mode == "P" and coding == "jpeg":
                continue
            for orientation in (1, 3, 6):
                yield f"{mode}-{coding}-turned{orientation}", encoded(image_of(mode), coding, _274=orientation)
        for size in ((1, 1), (1, 40), (33, 1), (300, 200)):
            yield f"{mode}-{size[0]}x{size[1]}", encoded(image_of(mode, *size), "tiff_lzw")
    for orientation in range(1, 9):
        yield f"turned{orientation}", encoded(image_of("RGB"), "tiff_lzw", _274=orientation)
    for samples in (1, 2, 3, 4):
        for tile in (16, 64, 128):
            for order in "<>":
                for coding, predictor in ((1, 1), (8, 1), (8, 2)):
                    name = f"tiled{samples}-{tile}-{'big' if order == '>' else 'little'}-{coding}-{predictor}"
                    yield name, tiled(samples, tile, coding, order, predictor)
    for rows in (1, 13, 70, 1000):
        yield f"strips-{rows}", strips(rows=rows)
        yield f"inverted-{rows}", strips(0, rows=rows)
    out = io.BytesIO()
    image_of("RGB").save(out, "TIFF", save_all=True, append_images=[image_of("L")])
    yield "two-images", out.getvalue()


# What is wrong, and what must be said.
def bad_files():
    unusual = "a TIFF of an unusual kind"
    for mode in ("1", "I;16", "F", "CMYK", "YCbCr", "LAB"):
        yield mode.replace(";", ""), encoded(image_of(mode)), unusual
    for coding in ("zstd", "lzma"):
        yield coding, encoded(image_of("RGB"), coding), unusual
    yield "multiplied", tiled(4, 16, 1, _338=(3, [1])), unusual
    yield "planes", strips(2, samples=3, _284=(3, [2])), unusual
    yield "five-samples", strips(2, samples=5, _338=(3, [0, 0])), unusual
    yield "preview", strips(2, samples=3, _254=(4, [1])), "a raw image"
    yield "dng", strips(2, samples=3, _50706=(1, [1, 4, 0, 0])), "a raw image"
    yield "cr2", strips()[:8] + b"CR" + strips()[10:], "a raw image"
    yield "huge", strips(width=90, height=70, _256=(4, [2000000]), _257=(4, [2000000])), "TIFF|pixels"
    yield "huge-tile", tiled(1, 16, 1, _322=(4, [1 << 20]), _323=(4, [1 << 20])), "damaged TIFF"
    yield "named-often", named_often(4000, 1 << 20), "damaged TIFF (directory)"  # 4 GB, of which libtiff makes copies
    yield "named-twice", named_often(2, 1000), "damaged TIFF (directory)"
    yield "places-beyond", named_often(0, 1000, [(273, 4, 1 << 29, 8)]), "damaged TIFF (directory)"
    yield "few-places", named_often(0, 1000, [(257, 4, 1, 1 << 30), (278, 4, 1, 1)]), "damaged TIFF (directory)"
    yield "no-size", strips(_256=(4, [0])), "damaged TIFF|has no pixels"
    yield "big", b"II+\0\x08\0\0\0" + bytes(40), "a TIFF or raw image"
    for name, whole in {"strips": strips(), "tiles": tiled(3, 16, 8), "lzw": encoded(image_of("RGB"), "tiff_lzw"),
                        "jpeg": encoded(image_of("RGB"), "jpeg")}.items():
        for length in range(4, len(whole) - 1, max(1, len(whole) // 23)):
            yield f"{name}-first{length}", whole[:length], "TIFF|ends early"


def make(good, bad):
    for name, data in good_files():
        with open(os.path.join(good, f"{name}.tif"), "wb") as file:
            file.write(data)
    for name, data, reason in bad_files():
        with open(os.path.join(bad, f"{name}.tif"), "wb") as file:
            file.write(data)
        with open(os.path.join(bad, f"{name}.reason"), "w", encoding="utf-8") as file:
            file.write(reason)


def check(good, bad, report):
    with open(report, encoding="utf-8") as file:
        said = dict(line.rstrip("\n").split(": ", 1) for line in list(file)[1:])
    names = sorted(glob.glob(os.path.join(good, "*.tif")))
    assert len(names) > 150
    for name in names:
        with open(name, "rb") as file:  # of a named file, Pillow 13 does not turn grey, palette and RGBA without coding
            wanted = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(file.read()))).convert("RGB"))
        assert "refused" not in said[name], (name, said[name])
        pixels = np.fromfile(name + ".rgb", np.uint8)
        assert said[name] == f"{wanted.shape[1]} x {wanted.shape[0]}", (name, said[name], wanted.shape)
        assert np.array_equal(pixels.reshape(wanted.shape), wanted), name
    names = sorted(glob.glob(os.path.join(bad, "*.tif")))
    assert len(names) > 60
    for name in names:
        with open(name.removesuffix("tif") + "reason", encoding="utf-8") as file:
            reasons = file.read().split("|")
        assert said[name].startswith("refused: "), (name, said[name])
        assert any(reason in said[name] for reason in reasons), (name, said[name], reasons)
    assert not glob.glob(os.path.join(bad, "*.rgb"))


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
