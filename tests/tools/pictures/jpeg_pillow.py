"""Makes JPEG files of all kinds and compares the pixels of jpeg_pixels with Pillow's.

    python jpeg_pillow.py make FOLDER COUNT [LIBRARY]     LIBRARY: libturbojpeg, for what Pillow does not write
    python jpeg_pillow.py check FOLDER [by_stb]           what jpeg_pixels has written beside the files
    python jpeg_pillow.py damage FOLDER OTHER             60 of them, cut off, with bytes flipped or added
"""

import ctypes
import io
import os
import sys

import numpy as np
from PIL import Image, ImageOps

PIXELS_RGB, PIXELS_CMYK, PROGRESSIVE = 0, 11, 16384  # constants of libturbojpeg
SAMPLINGS = {"444": 0, "422": 1, "420": 2, "440": 4, "411": 5}


def drawn(rng, width, height, channels):
    """Waves of a few to a few hundred pixels, and some noise, so that subsampling changes the chroma."""
    y, x = np.mgrid[0:height, 0:width].astype(float)
    waves = [np.sin(x * rng.uniform(-1, 1) + y * rng.uniform(-1, 1) + rng.uniform(0, 6)) for _ in range(channels)]
    pixels = 128 + 110 * np.stack(waves, -1) + rng.normal(0, 12, (height, width, channels))
    return np.clip(pixels, 0, 255).astype(np.uint8)


class Turbo:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.tjInitCompress.restype = ctypes.c_void_p
        self.library.tjFree.argtypes = [ctypes.c_void_p]

    def compress(self, pixels, sampling, quality, progressive):
        height, width, channels = pixels.shape
        handle = ctypes.c_void_p(self.library.tjInitCompress())  # 2.1 writes damaged files after a progressive one
        out, size = ctypes.c_void_p(), ctypes.c_ulong()
        if self.library.tjCompress2(handle, pixels.ctypes.data_as(ctypes.c_void_p), width, 0, height,
                                    PIXELS_CMYK if channels == 4 else PIXELS_RGB, ctypes.byref(out),
                                    ctypes.byref(size), SAMPLINGS[sampling], quality,
                                    PROGRESSIVE if progressive else 0):
            raise RuntimeError("tjCompress2")
        data = ctypes.string_at(out, size.value)
        self.library.tjFree(out)
        self.library.tjDestroy(handle)
        return data


def with_orientation(data, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    payload = exif.tobytes()
    return data[:2] + b"\xff\xe1" + (len(payload) + 2).to_bytes(2, "big") + payload + data[2:]


def by_pillow(rng, size, quality):
    mode = rng.choice(["RGB", "RGB", "RGB", "L", "CMYK"])
    pixels = drawn(rng, *size, {"RGB": 3, "L": 1, "CMYK": 4}[mode])
    how = {"quality": quality, "progressive": bool(rng.integers(2)), "optimize": bool(rng.integers(2))}
    if mode == "RGB":
        how["keep_rgb"] = rng.random() < 0.1
        how["subsampling"] = 0 if how["keep_rgb"] else int(rng.integers(3))
    if rng.random() < 0.3:
        how[rng.choice(["restart_marker_rows", "restart_marker_blocks"])] = int(rng.integers(1, 4))
    image, out = Image.fromarray(pixels[:, :, 0] if mode == "L" else pixels, mode), io.BytesIO()
    image.save(out, "JPEG", **how)
    kind = [mode, *(f"{key}={value}" for key, value in how.items())]
    return out.getvalue(), " ".join(kind)


def by_turbo(rng, turbo, size, quality):
    channels = int(rng.choice([3, 3, 4]))
    sampling, progressive = rng.choice(list(SAMPLINGS)), bool(rng.integers(2))
    data = turbo.compress(drawn(rng, *size, channels), sampling, quality, progressive)
    return data, f"{'YCCK' if channels == 4 else 'YCC'} {sampling} progressive={progressive}"


def make(folder, count, library=None):
    rng, turbo = np.random.default_rng(1), Turbo(library) if library else None
    for i in range(count):
        size = rng.integers(1, 41, 2) if i % 10 else rng.integers(41, 400, 2)
        quality = int(rng.choice([5, 30, 60, 75, 85, 92, 95, 100]))
        data, kind = by_turbo(rng, turbo, size, quality) if turbo and i % 3 == 0 else by_pillow(rng, size, quality)
        orientation = int(rng.integers(0, 9)) if i % 2 else 0
        name = os.path.join(folder, f"{i:04}.jpg")
        with open(name, "wb") as f:
            f.write(with_orientation(data, orientation) if orientation else data)
        with open(name + ".kind", "w", encoding="utf-8") as f:
            f.write(f"{size[0]} x {size[1]} {kind} quality={quality} orientation={orientation}")


def check(folder, by_stb=False):
    """With stb_image, most files differ by some levels, which shows that the comparison works."""
    wrong, names = [], sorted(name for name in os.listdir(folder) if name.endswith(".jpg"))
    for name in names:
        path = os.path.join(folder, name)
        wanted = np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB")).tobytes()
        if not os.path.exists(path + ".rgb"):
            wrong.append(f"{name} was refused")
            continue
        with open(path + ".rgb", "rb") as f:
            ours = f.read()
        if ours != wanted:
            with open(path + ".kind", encoding="utf-8") as f:
                wrong.append(f"{name}: {f.read()}")
    print(f"{len(names)} files, {len(wrong)} differ")
    for line in wrong[:10]:
        print(line)
    sys.exit(not names or (len(wrong) < len(names) / 3 if by_stb else bool(wrong)))


def damage(folder, other):
    """For each file: truncated somewhere, with bytes before the end, and five times with one byte flipped."""
    rng = np.random.default_rng(2)
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".jpg"))[:60]:
        with open(os.path.join(folder, name), "rb") as f:
            data = f.read()
        cases = {"cut": data[:int(rng.integers(4, len(data) - 1))], "junk": data[:-2] + b"\0\1\2\3\0" + data[-2:]}
        for i in range(5):
            at = int(rng.integers(2, len(data) - 2))
            cases[f"flip{i}"] = data[:at] + bytes([data[at] ^ int(rng.integers(1, 256))]) + data[at + 1:]
        for kind, bytes_ in cases.items():
            with open(os.path.join(other, kind + name), "wb") as f:
                f.write(bytes_)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
    elif sys.argv[1] == "damage":
        damage(*sys.argv[2:])
    else:
        check(sys.argv[2], *sys.argv[3:])
