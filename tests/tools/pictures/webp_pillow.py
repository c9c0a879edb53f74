"""Makes WebP files of all kinds, and compares the pixels of jpeg_pixels with Pillow's.

    python webp_pillow.py make GOOD BAD     files to be decoded, and files to be refused
    python webp_pillow.py check GOOD BAD    after jpeg_pixels: FILE.rgb equals Pillow's; no bad file has one
"""
import glob
import io
import os
import struct
import sys

import numpy as np
from PIL import Image, ImageOps

XMP = (b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" '
       b'tiff:Orientation="%d"/></x:xmpmeta>')


def drawn(width, height, channels, seed):
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x / (3.0 + c) + seed) * 90 + np.cos(y / (5.0 - c)) * 35 + 128 for c in range(channels)]
    noise = np.random.default_rng(seed).integers(-20, 21, (height, width, channels))
    return Image.fromarray(np.clip(np.stack(waves, -1) + noise, 0, 255).astype(np.uint8))


def encoded(image, **how):
    out = io.BytesIO()
    image.save(out, "WEBP", **how)
    return out.getvalue()


def exif(orientation):
    data = Image.Exif()
    data[0x0112] = orientation
    return data.tobytes()


def bare_exif(file):
    """The same file without the "Exif" that Pillow writes before the TIFF data, as other programs do."""
    at = file.index(b"EXIF")
    size = struct.unpack("<I", file[at + 4:at + 8])[0]
    body = file[at + 8:at + 8 + size].removeprefix(b"Exif\0\0")
    chunk = b"EXIF" + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)
    rest = file[at + 8 + size + size % 2:]
    whole = file[12:at] + chunk + rest
    return b"RIFF" + struct.pack("<I", len(whole) + 4) + b"WEBP" + whole


def good_files():
    sizes = [(1, 1), (1, 17), (16, 1), (31, 33), (64, 48), (301, 200)]
    for n, (width, height) in enumerate(sizes):
        for channels in (3, 4):
            image = drawn(width, height, channels, n)
            for quality in (1, 60, 100):
                yield f"lossy{quality}", encoded(image, quality=quality)
            for exact in (False, True):
                yield f"lossless{exact:d}", encoded(image, lossless=True, exact=exact)
    image = drawn(40, 24, 3, 7)
    for orientation in range(10):
        yield f"exif{orientation}", encoded(image, quality=90, exif=exif(orientation))
        yield f"bare{orientation}", bare_exif(encoded(image, lossless=True, exif=exif(orientation)))
        yield f"xmp{orientation}", encoded(image, quality=90, xmp=XMP % orientation)
    yield "both", encoded(image, quality=90, exif=exif(6), xmp=XMP % 3)
    yield "profile", encoded(image, quality=90, icc_profile=b"a profile of odd length", exif=exif(8))
    yield "followed", encoded(image, quality=90) + b"bytes behind the image"


def bad_files():
    image = drawn(40, 24, 3, 9)
    for kind, file in (("lossy", encoded(image, quality=80)), ("lossless", encoded(image, lossless=True)),
                       ("extended", encoded(image, quality=80, exif=exif(6)))):
        for length in list(range(12, 40)) + list(range(40, len(file), 37)):
            yield f"{kind}-first{length}", file[:length]
    yield "animated", encoded(image, save_all=True, append_images=[drawn(40, 24, 3, 10)], duration=100)
    yield "sound", b"RIFF" + struct.pack("<I", 36) + b"WAVEfmt " + bytes(28)
    yield "empty", b"RIFF" + struct.pack("<I", 4) + b"WEBP" + bytes(20)
    broken = bytearray(encoded(image, lossless=True))
    broken[20] ^= 0xff  # the signature of the lossless data
    yield "broken", bytes(broken)


def make(good, bad):
    for folder, files in ((good, good_files()), (bad, bad_files())):
        for n, (kind, file) in enumerate(files):
            with open(os.path.join(folder, f"{n:03d}-{kind}.webp"), "wb") as to:
                to.write(file)


def check(good, bad):
    names = sorted(glob.glob(os.path.join(good, "*.webp")))
    assert len(names) > 80
    for name in names:
        wanted = np.asarray(ImageOps.exif_transpose(Image.open(name)).convert("RGB"))
        with open(name + ".rgb", "rb") as file:
            pixels = np.frombuffer(file.read(), np.uint8)
        assert pixels.size == wanted.size, (name, pixels.size, wanted.shape)
        different = int((pixels.reshape(wanted.shape) != wanted).sum())
        assert not different, (name, different)
    assert len(glob.glob(os.path.join(bad, "*.webp"))) > 100
    assert not glob.glob(os.path.join(bad, "*.rgb"))


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
