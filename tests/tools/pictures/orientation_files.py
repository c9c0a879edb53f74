"""Images that say in every way how they are turned, and three readers of them beside Pillow's exif_transpose.

    python orientation_files.py make FOLDER UPRIGHT     files; Pillow's pixels of them, as PNG
    python orientation_files.py check FOLDER COMMAND.npy UPRIGHT.npy SERVER.jsonl WEIGHTS
"""

import io
import json
import os
import struct
import sys
import zlib

import numpy as np
from PIL import Image, ImageOps

SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8}
XMP = (b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
       b'<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" %s></rdf:RDF></x:xmpmeta>')


def drawn(size=(96, 64)):
    y, x = np.mgrid[0:size[1], 0:size[0]]
    round_ = ((x - size[0] * .3) ** 2 + (y - size[1] * .7) ** 2 < (size[1] * .25) ** 2) * 200
    return Image.fromarray(np.stack([x * 255 // size[0], y * 255 // size[1], round_], -1).astype(np.uint8))


def number(kind, value, order):
    """The bytes of a value of this type."""
    if kind in (5, 10):
        return struct.pack(order + "II", 2 * value, 2)
    letter = {1: "B", 2: "c", 6: "b", 7: "B", 3: "H", 8: "h", 4: "I", 9: "i", 13: "I", 11: "f", 12: "d", 16: "Q"}[kind]
    return struct.pack(order + letter, b"%d" % value if kind == 2 else value)


def tiff(entries, order="<", head=b""):
    """entries: (tag, type, values)."""
    start, rest = 8 + 2 + 12 * len(entries) + 4, b""
    body = struct.pack(order + "H", len(entries))
    for tag, kind, values in entries:
        data = b"".join(number(kind, value, order) for value in values)
        place = data.ljust(4, b"\0") if len(data) <= 4 else struct.pack(order + "I", start + len(rest))
        rest += data if len(data) > 4 else b""
        body += struct.pack(order + "HHI", tag, kind, len(values)) + place
    return head + (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8) + body + b"\0" * 4 + rest


def jpeg(*segments):
    out = io.BytesIO()
    drawn().save(out, "JPEG", quality=95)
    data = out.getvalue()
    for segment in reversed(segments):
        data = data[:2] + b"\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment + data[2:]
    return data


def png(before=(), after=()):
    out = io.BytesIO()
    drawn().save(out, "PNG")
    data = out.getvalue()

    def chunks(list_):
        return b"".join(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
                        for kind, body in list_)
    end = len(data) - 12
    return data[:33] + chunks(before) + data[33:end] + chunks(after) + data[end:]


def exif(payload):
    return b"Exif\0\0" + payload


def xmp(words):
    return b"http://ns.adobe.com/xap/1.0/\0" + XMP % words


def profile(payload):
    digits = payload.hex()
    lines = "\n".join(digits[i:i + 72] for i in range(0, len(digits), 72))
    return b"\nexif\n%8d\n%s\n" % (len(payload), lines.encode())


def table():
    """name: bytes"""
    files, turn = {}, lambda value, kind=3, order="<": tiff([(0x112, kind, [value])], order)
    for value in range(0, 10):
        files[f"exif{value}.jpg"] = jpeg(exif(turn(value)))
        files[f"exif{value}.png"] = png([(b"eXIf", turn(value))])
        files[f"xmp{value}.jpg"] = jpeg(xmp(b'tiff:Orientation="%d"/' % value))
    for kind in SIZES:
        for order, name in ("<", "ii"), (">", "mm"):
            files[f"type{kind}{name}.jpg"] = jpeg(exif(turn(6, kind, order)))
            files[f"type{kind}{name}.png"] = png([(b"eXIf", turn(6, kind, order))])
    files["two_values.jpg"] = jpeg(exif(tiff([(0x112, 3, [6, 1])])))
    files["two_longs.jpg"] = jpeg(exif(tiff([(0x112, 4, [8, 1])])))
    files["no_values.jpg"] = jpeg(exif(tiff([(0x112, 3, [])])), xmp(b'tiff:Orientation="6"/'))
    files["twice.jpg"] = jpeg(exif(tiff([(0x112, 3, [6]), (0x112, 3, [8])])))
    files["other_tags.jpg"] = jpeg(exif(tiff([(0x10f, 2, [1, 2, 3, 4, 5, 6]), (0x112, 4, [5]), (0x131, 2, [1])], ">")))
    # XMP counts only where EXIF says nothing, and its last segment in a JPEG.
    files["exif_and_xmp.jpg"] = jpeg(exif(turn(3)), xmp(b'tiff:Orientation="6"/'))
    files["upright_and_xmp.jpg"] = jpeg(exif(turn(1)), xmp(b'tiff:Orientation="6"/'))
    files["text_and_xmp.jpg"] = jpeg(exif(turn(6, 2)), xmp(b'tiff:Orientation="6"/'))
    files["make_and_xmp.jpg"] = jpeg(exif(tiff([(0x10f, 2, [1])])), xmp(b'tiff:Orientation="6"/'))
    files["xmp_first.jpg"] = jpeg(xmp(b'tiff:Orientation="8"/'), exif(tiff([(0x10f, 2, [1])])))
    files["xmp_element.jpg"] = jpeg(xmp(b'><tiff:Orientation>8</tiff:Orientation></rdf:Description'))
    files["xmp_twice.jpg"] = jpeg(xmp(b'tiff:Orientation="8"/'), xmp(b'tiff:Orientation="6"/'))
    files["xmp_apostrophes.jpg"] = jpeg(xmp(b"tiff:Orientation='6'/"))
    files["xmp_other.jpg"] = jpeg(xmp(b'exif:Orientation="6" tiff:OrientationX="6" tiff:Orientation="8"/'))
    files["exif_twice.jpg"] = jpeg(exif(turn(6)), exif(turn(8)))
    # PNG: text of every form, before and after the pixels.
    name, words = b"XML:com.adobe.xmp\0", XMP % b'tiff:Orientation="6"/'
    raw = b"Raw profile type exif\0"
    places = {"plain": (b"iTXt", name + b"\0\0\0\0" + words),
              "packed": (b"iTXt", name + b"\1\0\0\0" + zlib.compress(words)),
              "language": (b"iTXt", name + b"\0\0en\0Metadata\0" + words), "text": (b"tEXt", name + words),
              "ztext": (b"zTXt", name + b"\0" + zlib.compress(words)),
              "magick": (b"zTXt", raw + b"\0" + zlib.compress(profile(exif(turn(6, 3, ">"))))),
              "magick_plain": (b"tEXt", raw + profile(turn(8))), "exif": (b"eXIf", turn(6, 4, ">")),
              "prefixed": (b"eXIf", exif(turn(6))),
              "damaged": (b"iTXt", name + b"\1\0\0\0" + zlib.compress(words)[:20])}
    for key, chunk in places.items():
        files[f"{key}.png"] = png([chunk])
        files[f"{key}_behind.png"] = png([], [chunk])
    files["exif_beats_magick.png"] = png([places["magick_plain"], (b"eXIf", turn(3))])
    files["exif_beats_xmp.png"] = png([places["plain"], (b"eXIf", turn(3))])
    files["magick_beats_xmp.png"] = png([places["plain"], places["magick_plain"]])
    files["two_exif.png"] = png([(b"eXIf", turn(6)), (b"eXIf", turn(8))])
    return files


def make(folder, upright):
    for name, data in table().items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
        with Image.open(io.BytesIO(data)) as image:
            ImageOps.exif_transpose(image).convert("RGB").save(os.path.join(upright, name + ".png"))


def check(folder, command, upright, server, weights):
    import reid
    names, rows, wanted = sorted(os.listdir(folder)), np.load(command), np.load(upright)
    with open(server, encoding="utf-8") as f:
        served = np.array([json.loads(line)["embeddings"][0] for line in f], np.float32)
    with reid.Reid(weights, height=64, width=64) as model:
        bound = np.concatenate([model.embed([os.path.join(folder, name)]) for name in names])
    wrong = 0
    for name, ours, theirs, answer, binding in zip(names, rows, wanted, served, bound):
        least = 0.99999 if name.endswith(".png") else 0.999  # decoders of JPEG differ by some levels
        if ours @ theirs < least or binding @ theirs < least or (ours != answer).any():
            wrong += 1
            print(f"{name}: cosine to Pillow's: command {ours @ theirs:.4f}, Python {binding @ theirs:.4f}, "
                  f"server's row {'equal' if (ours == answer).all() else 'other'}")
    turned = rows[names.index("exif6.png")] @ rows[names.index("exif1.png")]
    print(f"{len(names)} files, {wrong} differ; turned and upright: cosine {turned:.4f}")
    sys.exit(wrong > 0 or turned > 0.99 or len({len(names), len(rows), len(wanted), len(served)}) != 1)


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
