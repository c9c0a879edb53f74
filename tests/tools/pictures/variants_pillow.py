"""Makes one small file of each variant of PNG, BMP, TGA, PNM and JPEG, and compares what jpeg_pixels makes of it with
Pillow's pixels, or, where Pillow does not do what the file says, with those.

    python variants_pillow.py make FOLDER
    python variants_pillow.py check FOLDER REPORT [stb]    after jpeg_pixels, whose output is in REPORT
"""
import io
import os
import re
import struct
import sys
import warnings
import zlib

import numpy as np
from PIL import Image, ImageOps

rng = np.random.default_rng(44)
WIDTH, HEIGHT = 11, 7


class Meant(bytes):
    """A file that Pillow refuses or does not read as it is meant, with the pixels that are meant."""
    pixels = None


def meant(data, pixels):
    file = Meant(data)
    file.pixels = np.broadcast_to(pixels, (HEIGHT, WIDTH, 3)).astype(np.uint8)
    return file


def samples(channels, bits):
    """Pixels of random samples; the first row counts up, so that small widths of samples occur completely."""
    out = rng.integers(0, 1 << bits, (HEIGHT, WIDTH, channels))
    out[0, :, :] = (np.arange(WIDTH) * ((1 << bits) - 1) // (WIDTH - 1))[:, None]
    return out


def packed(row, bits):
    """A row of samples as bytes, the first sample in the high bits, 16 bits with the high byte first."""
    if bits == 16:
        return row.astype(">u2").tobytes()
    digits = "".join(f"{value:0{bits}b}" for value in row.ravel())
    digits += "0" * (-len(digits) % 8)
    return bytes(int(digits[i:i + 8], 2) for i in range(0, len(digits), 8))


# --- PNG -------------------------------------------------------------------------------------------------------------

ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(name, data=b""):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_rows(pixels, bits, interlaced):
    passes = ADAM7 if interlaced else [(0, 0, 1, 1)]
    return b"".join(b"\0" + packed(row, bits) for x, y, dx, dy in passes for row in pixels[y::dy, x::dx] if row.size)


def png(colour, bits, *, interlaced=False, before=(), head=(), after=(), pixels=None, raw=False):
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    pixels = samples(channels, bits) if pixels is None else pixels
    packer = zlib.compressobj(wbits=-15 if raw else 15)
    data = packer.compress(png_rows(pixels, bits, interlaced)) + packer.flush()
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, bits, colour, 0, 0, interlaced)
    file = b"".join([b"\x89PNG\r\n\x1a\n", *head, chunk(b"IHDR", header), *before, chunk(b"IDAT", data[:20]),
                     chunk(b"IDAT", data[20:]), *after, chunk(b"IEND")])
    return meant(file, pixels >> 8) if (colour, bits) == (0, 16) else file  # Pillow turns all above 255 white


def palette(entries):
    return chunk(b"PLTE", rng.integers(0, 256, 3 * entries, np.uint8).tobytes())


def png_files():
    for interlaced in (False, True):
        suffix = "-interlaced" if interlaced else ""
        for colour, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 4: (8, 16), 6: (8, 16), 3: (1, 2, 4, 8)}.items():
            for bits in depths:
                table = [palette(1 << bits)] if colour == 3 else []
                yield f"colour{colour}-{bits}{suffix}", png(colour, bits, interlaced=interlaced, before=table)
        for colour, bits, clear in [(0, 1, b"\0\1"), (0, 2, b"\0\2"), (0, 8, b"\0\0"), (0, 16, b"\0\0"),
                                    (2, 8, b"\0\0\0\0\0\0"), (2, 16, b"\xff" * 6)]:
            yield f"colour{colour}-{bits}-tRNS{suffix}", png(colour, bits, interlaced=interlaced,
                                                             before=[chunk(b"tRNS", clear)])
        for bits in (1, 2, 4, 8):
            yield f"colour3-{bits}-tRNS{suffix}", png(3, bits, interlaced=interlaced,
                                                      before=[palette(1 << bits), chunk(b"tRNS", b"\0\x80")])
    profile = chunk(b"iCCP", b"p\0\0" + zlib.compress(b"not a profile"))
    for colour, bits in ((0, 8), (2, 8), (6, 8), (2, 16)):
        for name, data in {"gAMA": struct.pack(">I", 100000), "sRGB": b"\0", "cICP": b"\x09\x10\0\1",
                           "cHRM": struct.pack(">8I", *range(1, 9)), "sBIT": b"\5" * {0: 1, 2: 3, 6: 4}[colour],
                           "bKGD": b"\0\1" * {0: 1, 2: 3, 6: 3}[colour], "pHYs": struct.pack(">IIB", 1, 2, 1)}.items():
            yield f"colour{colour}-{bits}-{name}", png(colour, bits, before=[chunk(name.encode(), data)])
        yield f"colour{colour}-{bits}-iCCP", png(colour, bits, before=[profile])
    yield "colour2-8-PLTE", png(2, 8, before=[palette(16)])
    yield "colour6-8-PLTE", png(6, 8, before=[palette(16)])
    yield "short-palette", png(3, 8, before=[palette(100)], pixels=samples(1, 8) % 100)
    yield "beyond-palette", png(3, 8, before=[palette(100)], pixels=samples(1, 8) % 100 + 10)
    frame = struct.pack(">IIIIIHHBB", 0, WIDTH, HEIGHT, 0, 0, 1, 10, 0, 0)
    second = struct.pack(">I", 1) + frame[4:]
    other = struct.pack(">I", 2) + zlib.compress(png_rows(samples(3, 8), 8, False))
    yield "animated", png(2, 8, before=[chunk(b"acTL", struct.pack(">II", 2, 0)), chunk(b"fcTL", frame)],
                          after=[chunk(b"fcTL", second), chunk(b"fdAT", other)])
    yield "animated-later", png(2, 8, before=[chunk(b"acTL", struct.pack(">II", 1, 0))],
                                after=[chunk(b"fcTL", frame), chunk(b"fdAT", struct.pack(">I", 1) + other[4:])])
    for colour, bits in ((2, 8), (6, 8)):
        yield f"apple-colour{colour}", png(colour, bits, head=[chunk(b"CgBI", b"P\0 \2")], raw=True)
        yield f"apple-zlib-colour{colour}", png(colour, bits, head=[chunk(b"CgBI", b"P\0 \2")])
        yield f"apple-after-colour{colour}", png(colour, bits, before=[chunk(b"CgBI", b"P\0 \2")], raw=True)
        yield f"apple-after-zlib-colour{colour}", png(colour, bits, before=[chunk(b"CgBI", b"P\0 \2")])
    for colour in (0, 2, 6):
        channels = {0: 1, 2: 3, 6: 4}[colour]
        yield f"unscaled-colour{colour}", png(colour, 16, pixels=samples(channels, 12))
        yield f"scaled-colour{colour}", png(colour, 16, pixels=samples(channels, 12) * 16)
        yield f"black-colour{colour}", png(colour, 16, pixels=samples(channels, 12) * 0)
    yield "unknown-critical", png(2, 8, before=[chunk(b"ABCD", b"x")])
    yield "trailing", png(2, 8) + b"bytes behind the image"


# --- BMP -------------------------------------------------------------------------------------------------------------

MASKS = {"565": (0xf800, 0x7e0, 0x1f, 0), "555": (0x7c00, 0x3e0, 0x1f, 0), "1555": (0x7c00, 0x3e0, 0x1f, 0x8000),
         "4444": (0xf00, 0xf0, 0xf, 0xf000), "664": (0xfc00, 0x3f0, 0xf, 0), "bgr565": (0x1f, 0x7e0, 0xf800, 0)}
MASKS32 = {"bgrx": (0xff0000, 0xff00, 0xff, 0), "bgra": (0xff0000, 0xff00, 0xff, 0xff000000),
           "rgbx": (0xff, 0xff00, 0xff0000, 0), "rgba": (0xff, 0xff00, 0xff0000, 0xff000000),
           "xbgr": (0xff000000, 0xff0000, 0xff00, 0), "xrgb": (0xff00, 0xff0000, 0xff000000, 0),
           "argb": (0xff00, 0xff0000, 0xff000000, 0xff), "abgr": (0xff000000, 0xff0000, 0xff00, 0xff),
           "10bit": (0x3ff00000, 0xffc00, 0x3ff, 0)}


PILLOW_MASKS = [MASKS32[name] for name in ("bgrx", "bgra", "rgba", "xbgr", "abgr")]


def bmp(bits, *, header=40, compression=0, down=False, masks=None, used=0, data=None, gap=0, entries=None):
    """used: the field for the number of colours. entries: how many there are. gap: bytes before the pixels."""
    channels = bits // 8 if bits >= 24 else 1
    pixels = samples(channels, 16 if bits == 16 else 8 if bits >= 24 else bits)
    if bits <= 8 and used:
        pixels %= used
    rows = []
    for row in pixels if down else pixels[::-1]:
        line = row.astype("<u2").tobytes() if bits == 16 else packed(row, min(bits, 8))
        rows.append(line + bytes(-len(line) % 4))
    data = b"".join(rows) if data is None else data
    entries = entries if entries is not None else (used or 1 << bits) if bits <= 8 else 0
    table = rng.integers(0, 256, (entries, 3 if header == 12 else 4), np.uint8)
    if header != 12:
        table[:, 3] = 0
    height = -HEIGHT if down else HEIGHT
    info = (struct.pack("<IHHHH", 12, WIDTH, HEIGHT, 1, bits) if header == 12 else
            struct.pack("<IiiHHIIiiII", header, WIDTH, height, 1, bits, compression, len(data), 2835, 2835, used, 0))
    if masks and header == 40:
        info += struct.pack("<3I", *masks[:3]) + (struct.pack("<I", masks[3]) if compression == 6 else b"")
    elif header > 40:
        info += struct.pack("<4I", *(masks or (0, 0, 0, 0)))[:header - 40]
    if header > 56:
        info += b"BGRs" if header > 64 else b""
        info += bytes(header - len(info))
    offset = 14 + len(info) + table.size + gap
    file = b"BM" + struct.pack("<IHHI", offset + len(data), 0, 0, offset) + info + table.tobytes() + bytes(gap) + data
    if bits == 32 and masks and (masks not in PILLOW_MASKS or (header < 56 and masks == MASKS32["rgba"])):
        return meant(file, pixels[:, :, [(mask.bit_length() - 1) // 8 for mask in masks[:3]]])
    return file


def rle8():
    out = b""
    for row in range(HEIGHT):
        out += bytes([5, row, 0, 3, 9, 8, 7, 0, 3, 200 + row]) + (b"\0\0" if row < HEIGHT - 1 else b"\0\1")
    return out


def rle4():
    return b"".join(bytes([5, 0x12 + row, 0, 4, 0x98, 0x76, 2, 0x33]) + (b"\0\0" if row < HEIGHT - 1 else b"\0\1")
                    for row in range(HEIGHT))


def bmp_files():
    for header in (12, 16, 40, 52, 56, 64, 108, 124):
        for bits in (1, 2, 4, 8, 16, 24, 32):
            for down in (False, True) if header >= 40 else (False,):
                yield f"v{header}-{bits}{'-down' if down else ''}", bmp(bits, header=header, down=down)
    for header in (40, 52, 56, 108, 124):
        for name, masks in MASKS.items():
            yield f"v{header}-16-{name}", bmp(16, header=header, compression=3, masks=masks)
        for name, masks in MASKS32.items():
            yield f"v{header}-32-{name}", bmp(32, header=header, compression=3, masks=masks)
    yield "v40-32-alphafields", bmp(32, compression=6, masks=MASKS32["bgra"])
    yield "v108-32-mask-unused", bmp(32, header=108, masks=MASKS32["bgra"])
    for bits in (1, 4, 8):
        yield f"{bits}-one-colour", bmp(bits, used=1)
        yield f"{bits}-gap", bmp(bits, gap=8)
    for bits in (1, 4, 8):
        for name, colours in {"black-white": (0, 255), "white-black": (255, 0), "black-red": (0, 1)}.items():
            file = bytearray(bmp(bits, used=2))
            file[54:62] = bytes([colours[0]] * 3 + [0] + [colours[1]] * 3 + [0])
            pixels = samples(1, bits) % 2
            rows = [packed(row, bits) for row in pixels[::-1]]
            file[62:] = b"".join(row + bytes(-len(row) % 4) for row in rows)
            # Pillow takes the bits of a file with two colours, black and white, for pixels of one bit.
            yield f"{bits}-{name}", meant(file, pixels * 255) if name == "black-white" else bytes(file)
    file = bytearray(bmp(8))
    file[54:54 + 1024] = b"".join(bytes([i, i, i, 0]) for i in range(256))
    yield "8-grey", bytes(file)
    yield "8-few-colours", bmp(8, used=100)
    yield "8-beyond-colours", bmp(8, used=100, entries=20)
    yield "24-gap", bmp(24, gap=6)
    yield "24-table", bmp(24, used=7, entries=7)
    yield "32-gap", bmp(32, gap=6)
    yield "16-gap", bmp(16, gap=6)
    yield "rle8", bmp(8, compression=1, data=rle8())
    yield "rle4", bmp(4, compression=2, data=rle4())
    yield "jpeg", bmp(24, compression=4)
    yield "png", bmp(24, compression=5)
    yield "compression9", bmp(24, compression=9)


# --- TGA -------------------------------------------------------------------------------------------------------------

def tga(kind, bits, *, flags=0, table_bits=0, first=0, entries=0, comment=b"", footer=False, with_table=None):
    pixels = samples(1 if bits <= 8 else bits // 8 if bits >= 24 else 1, 16 if bits == 15 else min(bits, 8) if
                     bits != 16 else 16)
    if entries and kind % 8 == 1:
        pixels = pixels % entries + first
    def data_of(row):
        return row.astype("<u2").tobytes() if bits in (15, 16) else row.astype(np.uint8).tobytes()
    if kind < 8:
        data = b"".join(data_of(row) for row in pixels)
    else:
        data = b""
        for row in pixels:
            data += bytes([0x80 | 3]) + data_of(row[:1]) + bytes([WIDTH - 5]) + data_of(row[:WIDTH - 4])
    table = rng.integers(0, 256, entries * ((table_bits + 7) // 8), np.uint8).tobytes()
    has_table = with_table if with_table is not None else bool(entries)
    head = struct.pack("<BBBHHBHHHHBB", len(comment), has_table, kind, first, entries, table_bits, 0, 0, WIDTH,
                       HEIGHT, bits, flags)
    return head + comment + table + data + (bytes(8) + b"TRUEVISION-XFILE.\0" if footer else b"")


def tga_files():
    for kind, depths in {2: (15, 16, 24, 32), 3: (8, 16), 10: (15, 16, 24, 32), 11: (8, 16)}.items():
        for bits in depths:
            for flags in (0, 0x20, 0x10, 0x30, 8, 0x28, 1, 0x21, 0x40):
                yield f"type{kind}-{bits}-flags{flags:02x}", tga(kind, bits, flags=flags)
    for kind in (1, 9):
        for table_bits in (8, 15, 16, 24, 32):
            for bits in (8, 16):
                file = tga(kind, bits, table_bits=table_bits, entries=100, flags=0x20)
                yield f"type{kind}-{bits}-table{table_bits}", file
        yield f"type{kind}-first", tga(kind, 8, table_bits=24, entries=100, first=20)
        yield f"type{kind}-32-flags28", tga(kind, 8, table_bits=32, entries=100, flags=0x28)
    for kind in (1, 9):
        for table_bits in (16, 24, 32):
            whole = tga(kind, 8, table_bits=table_bits, entries=100, flags=0x20)
            yield f"type{kind}-beyond-table{table_bits}", whole[:-20] + bytes(range(90, 110))
    runs = b"".join(bytes([0x80 | 9, i, 2 * i, 3 * i]) for i in range(7)) + b"\6" + bytes(range(7 * 3))
    pixels = [[3 * i, 2 * i, i] for i in range(7) for _ in range(10)]
    pixels += [[2 + 3 * i, 1 + 3 * i, 3 * i] for i in range(7)]
    yield "runs-across-rows", meant(tga(10, 24, flags=0x20)[:18] + runs, np.reshape(pixels, (HEIGHT, WIDTH, 3)))
    yield "comment", tga(2, 24, comment=b"words before the pixels")
    yield "footer", tga(2, 24, footer=True)
    yield "type3-comment", tga(3, 8, comment=b"words")
    yield "type2-with-table", tga(2, 24, table_bits=24, entries=10, with_table=1)
    yield "type10-with-table", tga(10, 24, table_bits=24, entries=10, with_table=1)
    yield "type2-table-unflagged", tga(2, 24, table_bits=24, entries=10, with_table=0)
    yield "type0", tga(0, 24)
    yield "type32", tga(32, 8, table_bits=24, entries=10)


# --- PNM -------------------------------------------------------------------------------------------------------------

def pnm(kind, most, comment=b""):
    channels = 3 if kind in (3, 6) else 1
    head = b"P%d\n%s%d %d\n" % (kind, comment, WIDTH, HEIGHT)
    if kind in (1, 4):
        pixels = samples(1, 1)
        rows = [b" ".join(b"%d" % v for v in row.ravel()) + b"\n" if kind == 1 else packed(row, 1) for row in pixels]
        return head + b"".join(rows)
    pixels = rng.integers(0, most + 1, (HEIGHT, WIDTH, channels))
    head += b"%d\n" % most
    if kind < 4:
        return head + b"\n".join(b" ".join(b"%d" % v for v in row.ravel()) for row in pixels) + b"\n"
    file = head + pixels.astype(">u2" if most > 255 else np.uint8).tobytes()
    return meant(file, np.rint(pixels / most * 255)) if kind == 5 and most > 255 else file  # Pillow does not scale them


def pnm_files():
    for kind in (1, 4):
        yield f"P{kind}", pnm(kind, 1)
    for kind in (2, 3, 5, 6):
        for most in (1, 3, 15, 100, 127, 254, 255, 256, 511, 1023, 4095, 16383, 32767, 65534, 65535):
            yield f"P{kind}-{most}", pnm(kind, most)
        yield f"P{kind}-comment", pnm(kind, 255, b"# made by hand\n")
    yield "P7", b"P7\nWIDTH 2\nHEIGHT 2\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n" + bytes(12)
    yield "PF", b"PF\n2 2\n-1.0\n" + bytes(48)
    yield "Pf", b"Pf\n2 2\n-1.0\n" + bytes(16)


# --- JPEG ------------------------------------------------------------------------------------------------------------

def jpeg(mode, *, strip=(), app14=None, relabel=None, twice=None, **how):
    """strip: markers of segments that are removed. app14: the transform of an Adobe segment that is put first;
    twice: of another. relabel: the ids of the components."""
    channels = len(mode) if mode != "L" else 1
    y, x = np.mgrid[0:32, 0:40]
    waves = [128 + 100 * np.sin(x / (3 + c) + c) * np.cos(y / (4.0 + c)) for c in range(channels)]
    pixels = np.clip(np.stack(waves, -1), 0, 255).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels, mode).save(out, "JPEG", quality=90, **how)
    data = bytearray(out.getvalue())
    at = 2
    while data[at + 1] != 0xda:
        size = 2 + (data[at + 2] << 8 | data[at + 3])
        if data[at + 1] in strip:
            del data[at:at + size]
            continue
        if relabel and 0xc0 <= data[at + 1] <= 0xc2:
            for i in range(channels):
                data[at + 10 + 3 * i] = relabel[i]
        at += size
    if relabel:
        while at < len(data) - 1:
            if data[at] == 0xff and data[at + 1] == 0xda:
                count = data[at + 4]
                for i in range(count):
                    old = data[at + 5 + 2 * i]
                    data[at + 5 + 2 * i] = relabel[old - 1 if old <= 4 else b"RGBA".index(old) if old != 0 else 0]
            at += 1
    for transform in (twice, app14):
        if transform is not None:
            data[2:2] = b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0" + bytes([transform])
    return bytes(data)


def with_byte(file, marker, offset, value):
    at = file.index(bytes([0xff, marker]))
    return file[:at + offset] + bytes([value]) + file[at + offset + 1:]


def jpeg_files():
    for mode in ("L", "RGB", "CMYK"):
        for progressive in (False, True):
            suffix = "-progressive" if progressive else ""
            yield f"{mode}{suffix}", jpeg(mode, progressive=progressive)
            yield f"{mode}-restarts{suffix}", jpeg(mode, progressive=progressive, restart_marker_blocks=2)
            yield f"{mode}-noAPP0{suffix}", jpeg(mode, progressive=progressive, strip=(0xe0,))
    for sub in (0, 1, 2):
        yield f"RGB-sub{sub}", jpeg("RGB", subsampling=sub)
    yield "RGB-kept", jpeg("RGB", keep_rgb=True)
    yield "RGB-kept-noAPP14", jpeg("RGB", keep_rgb=True, strip=(0xee,))
    yield "RGB-kept-noAPP", jpeg("RGB", keep_rgb=True, strip=(0xee, 0xe0))
    for ids in ((0, 1, 2), (82, 71, 66), (5, 6, 7), (1, 34, 35)):
        for adobe in (None, 0, 1, 2):
            for strip in ((), (0xe0,)):
                name = f"ids{'-'.join(map(str, ids))}-adobe{adobe}{'-noAPP0' if strip else ''}"
                yield name, jpeg("RGB", relabel=ids, app14=adobe, strip=strip)
    for adobe in (0, 1, 2, 3):
        for strip in ((), (0xe0,)):
            suffix = "-noAPP0" if strip else ""
            yield f"RGB-adobe{adobe}{suffix}", jpeg("RGB", app14=adobe, strip=strip)
            yield f"CMYK-adobe{adobe}{suffix}", jpeg("CMYK", app14=adobe, strip=(0xee, *strip))
    yield "CMYK-noAPP14", jpeg("CMYK", strip=(0xee,))
    yield "RGB-adobe0-then1", jpeg("RGB", app14=0, twice=1, strip=(0xe0,))
    yield "RGB-adobe1-then0", jpeg("RGB", app14=1, twice=0, strip=(0xe0,))
    yield "CMYK-adobe2-then0", jpeg("CMYK", app14=2, twice=0, strip=(0xee,))
    plain = jpeg("RGB")
    yield "12bit", with_byte(plain, 0xc0, 4, 12)
    for marker in (0xc1, 0xc3, 0xc5, 0xc9, 0xca):
        yield f"frame{marker:x}", with_byte(plain, 0xc0, 1, marker)
    grey = jpeg("L")
    for sampling in (0x11, 0x21, 0x22, 0x41):
        yield f"grey-sampling{sampling:x}", with_byte(grey, 0xc0, 11, sampling)
    yield "several", plain[:-2] + b"\xff\xd9" + jpeg("L")


FORMATS = {"png": png_files, "bmp": bmp_files, "tga": tga_files, "pnm": pnm_files, "jpg": jpeg_files}


def make(folder):
    for ending, files in FORMATS.items():
        for name, data in files():
            path = os.path.join(folder, f"{name}.{ending}")
            assert not os.path.exists(path), path
            with open(path, "wb") as file:
                file.write(data)
            if isinstance(data, Meant):
                data.pixels.tofile(path + ".meant")


# Which files are refused, and why: patterns of names and of reasons. The first that matches counts.
REFUSED = [
    (r"apple-.*\.png", "Apple's own variant (CgBI)"),
    (r"unscaled-colour[026]\.png", "its 16-bit samples are all below 4096"),
    (r"unknown-critical\.png", "unknown PNG chunk type"),
    (r"v16-.*\.bmp", "a BMP with an unknown header"),
    (r"v\d+-2(-down)?\.bmp", "a BMP with unusual bits per pixel"),
    (r"v\d+-16-(4444|664|bgr565)\.bmp|v\d+-32-10bit\.bmp", "a BMP with unusual bit fields"),
    (r"v40-32-alphafields\.bmp|compression9\.bmp", "a BMP with unknown compression"),
    (r"rle[48]\.bmp", "a run-length coded BMP"),
    (r"(jpeg|png)\.bmp", "a BMP that contains a JPEG or PNG"),
    (r"8-beyond-colours\.bmp", "the file ends early"),
    (r"type[19]-8-table(8|15)\.tga", "a TGA with an unusual table of colours"),
    (r"type[19]-16-.*\.tga|type\d+-15-.*\.tga|.*-flags40\.tga|type(0|32)\.tga|.*-with-table\.tga",
     "not a TGA image, or of an unsupported kind"),
    (r"type9-beyond-.*\.tga", "the file ends early"),
    (r"P[14]\.pnm", "a bitmap (PBM)"),
    (r"P[23]-.*\.pnm", "image in text form"),
    (r"P7\.pnm|P[Ff]\.pnm", "not an image that can be decoded"),
    (r"12bit\.jpg", "a JPEG whose samples do not have 8 bits"),
    (r"framec[359a]\.jpg", "a lossless, hierarchical or arithmetic JPEG"),
]
REFUSED_BY_STB = [
    (r"CMYK-(adobe[13](-noAPP0)?|noAPP14)\.jpg", "whose colours only libturbojpeg decodes correctly"),
    (r"ids82-71-66-(adobe[12](-noAPP0)?|adobe(0|None))\.jpg", "whose colours only libturbojpeg decodes correctly"),
]
STB_LEVELS = 32  # its chroma is less smooth; wrong colours differ by 150 and more


def report_of(path):
    """FILE: its reason, or None if it was decoded."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in list(file)[1:]:
            name, _, said = line.rstrip("\n").partition(": ")
            found[os.path.basename(name)] = said.removeprefix("refused: ") if said.startswith("refused: ") else None
    return found


def difference(path):
    """The largest difference from what is wanted, which is None if the sizes differ."""
    ours = np.fromfile(path + ".rgb", np.uint8)
    if os.path.exists(path + ".meant"):
        wanted = np.fromfile(path + ".meant", np.uint8)
    else:
        wanted = np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB")).ravel()
    return int(np.abs(ours.astype(int) - wanted).max()) if ours.size == wanted.size else None


def check(folder, report, decoder=""):
    warnings.simplefilter("ignore")  # Pillow warns about transparency
    expected = REFUSED + (REFUSED_BY_STB if decoder == "stb" else [])
    wrong, refusals, found = [], 0, report_of(report)
    for name, reason in found.items():
        why = next((why for pattern, why in expected if re.fullmatch(pattern, name)), None)
        refusals += reason is not None
        if (why is None) != (reason is None) or (why and why not in reason):
            wrong.append(f"{name}: refused: {reason}, expected: {why}")
        elif reason is None:
            by = difference(os.path.join(folder, name))
            if by is None or by > (STB_LEVELS if decoder == "stb" and name.endswith(".jpg") else 0):
                wrong.append(f"{name}: differs by {by}")
    print(f"{len(found)} files, {refusals} refused, {len(wrong)} wrong")
    for line in wrong[:20]:
        print(line)
    sys.exit(len(found) < 500 or bool(wrong))


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
