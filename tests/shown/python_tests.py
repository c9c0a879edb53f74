"""The tests of examples/python/reid.py. t_python.sh runs them in a separate folder that contains b0.safetensors."""

import inspect
import json
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
import threading
import time
import unittest
import warnings
import zlib
from unittest import mock

import numpy as np
from PIL import Image, ImageOps

import reid as module
from reid import (Calibration, CommandError, Groups, Hits, Imported, Index, Queue, Reid, ReidError, calibrate, cosine,
                  group, import_rows)
from says import says_like

TOP = os.environ["REID_TOP"]
COMMAND = os.path.join(TOP, "build", "reid")
SMALL = {"height": 64, "width": 64}


def picture(seed, height, width, channels=3):
    """Smooth colours with some noise, different for each seed."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(random.uniform(0.05, 0.4) * x + random.uniform(0.05, 0.4) * y + c) for c in range(channels)]
    values = 128 + 90 * np.stack(waves, axis=2) + random.integers(-20, 20, (height, width, channels))
    return values.clip(0, 255).astype(np.uint8)


def command(*arguments, status=0):
    """The rows of `reid embed` on these arguments."""
    done = subprocess.run([COMMAND, "embed", "-q", "-m", "b0.safetensors", "--size", "64x64", "-o", "command.npy",
                           *arguments], stderr=subprocess.PIPE, text=True)
    assert done.returncode == status, done.stderr
    return np.load("command.npy")


def fields_of(struct):
    """The names of a struct's fields in reid.h."""
    with open(os.path.join(TOP, "reid.h")) as file:
        text = re.search(r"^typedef struct " + struct + r" {(.*?)^} ", file.read(), re.M | re.S)[1]
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    names = []
    for part in filter(str.strip, text.split(";")):
        function = re.search(r"\(\*(\w+)\)", part)
        names += [function[1]] if function else [re.findall(r"\w+", name)[-1] for name in part.split(",")]
    return names


def write_png(path, samples, color):
    """A PNG with 16 bits per sample; Pillow does not write these in colour. color: 0 grey, 2 RGB."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    lines = b"".join(b"\0" + line.astype(">u2").tobytes() for line in samples)
    header = struct.pack(">IIBBBBB", samples.shape[1], samples.shape[0], 16, color, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) +
                   chunk(b"IEND", b""))


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reid = Reid("b0.safetensors", **SMALL)
        cls.addClassCleanup(cls.reid.close)

    def equal(self, a, b):
        self.assertEqual(a.dtype, b.dtype)
        self.assertEqual(a.shape, b.shape)
        self.assertEqual(a.tobytes(), b.tobytes())

    def refuses(self, kind, pattern, call, *arguments, **named):
        with self.assertRaises(kind) as caught:
            call(*arguments, **named)
        self.assertTrue(says_like(str(caught.exception), pattern), f"{pattern!r} is not in {caught.exception}")
        self.assertIs(type(caught.exception), kind)
        return caught.exception

    def code(self, name, pattern, call, *arguments, **named):
        error = self.refuses(ReidError, pattern, call, *arguments, **named)
        self.assertEqual(error.name, name)
        self.assertLess(error.code, 0)
        self.assertEqual(str(error), error.text)


class Layout(Case):
    def test_structs_are_those_of_reid_h(self):
        lines, wanted = [], []
        for name, kind in module._STRUCTS.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            wanted.append(f"{name} {module.ctypes.sizeof(kind)}")
            for field, *_ in kind._fields_:
                size = f"sizeof((({name} *)0)->{field})"
                lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), {size});')
                at = getattr(kind, field)
                wanted.append(f"{name}.{field} {at.offset} {at.size}")
        for field in ("row", "group", "score"):
            lines.append(f'printf("hit.{field} %zu\\n", offsetof(reid_hit, {field}));')
            wanted.append(f"hit.{field} {module._HIT.fields[field][1]}")
        lines.append('printf("hit %zu\\n", sizeof(reid_hit));')
        wanted.append(f"hit {module._HIT.itemsize}")
        enums = {f"REID_HEAD_{name.upper()}": i for i, name in enumerate(module._CHOICES["head"])}
        enums.update({f"REID_DEVICE_{name.upper()}": i for i, name in enumerate(module._CHOICES["device"])})
        enums.update({f"REID_ISA_{name.upper()}": i for i, name in enumerate(module._CHOICES["cpu_isa"])})
        for i, name in enumerate(module._CHOICES["precision"]):
            enums["REID_PRECISION_DEFAULT" if i == 0 else f"REID_{name.upper()}"] = i
        enums.update(REID_ROWS=0, REID_GROUP_MAX=1, REID_GROUP_MEAN=2, REID_GROUP_TOP=3)
        enums.update(REID_RGB8=module._RGB8, REID_BGR8=module._BGR8, REID_RGBA8=module._RGBA8)
        enums.update(REID_GRAY8=module._GRAY8, REID_ERR_INVALID_ARG=-1, REID_ERR_FORKED=-5)
        enums.update(REID_VERSION=module.VERSION)
        for name, value in enums.items():
            lines.append(f'printf("{name} %d\\n", (int){name});')
            wanted.append(f"{name} {value}")
        with open("layout.c", "w") as file:
            file.write('#include "reid.h"\n#include <stdio.h>\nint main(void) {\n' + "\n".join(lines) +
                       "\nreturn 0;\n}\n")
        subprocess.run(["cc", "-std=c99", "-I", TOP, "layout.c", "-o", "layout"], check=True)
        said = subprocess.run(["./layout"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(said.split("\n")[:-1], wanted)

    def test_fields_by_name_lie_where_c_has_them(self):
        lib, error, made, names = module._library(), module._Error(), [], fields_of("reid_desc")
        self.assertGreater(len(names), 30)
        words = {name: words[1].encode() for name, words in module._CHOICES.items()}
        for name in names:
            number = module._KINDS.get(name, module.c_size_t if name == "weights_size" else module.c_void_p)
            value = words.get(name) or (2**64 - 1 if number in (module.c_char_p, module.c_void_p) else b"1")
            desc = module.ctypes.create_string_buffer(lib.reid_size(b"reid_desc"))
            self.assertEqual(lib.reid_set(desc, name.encode(), value, error), 0, module._text(error))
            used = [at for at, byte in enumerate(desc.raw) if byte]
            made.append(f"{name} {used[0]} {8 if len(used) > 1 else 1}")
            self.assertEqual(lib.reid_set(desc, name.encode(), None, error), 0)
            self.assertFalse(any(desc.raw))
        with open("offsets.c", "w") as file:
            file.write('#include "reid.h"\n#include <stdio.h>\nint main(void) {\n    reid_desc d = REID_INIT;\n')
            for name, line in zip(names, made):
                size = f"sizeof d.{name}" if line.endswith("8") else "1"
                file.write(f'printf("{name} %zu %zu\\n", offsetof(reid_desc, {name}), (size_t){size});\n')
            file.write("return 0;\n}\n")
        subprocess.run(["cc", "-std=c99", "-I", TOP, "offsets.c", "-o", "offsets"], check=True)
        said = subprocess.run(["./offsets"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(made, said.splitlines())

    def test_every_struct_of_reid_h_has_a_size(self):
        with open(os.path.join(TOP, "reid.h")) as file:
            header = file.read().split("Stop here if you only need the API")[0]
        types = re.findall(r"^typedef struct (reid_[a-z]\w*) {", header, re.M)
        self.assertGreater(len(types), 15)
        for name in types:
            self.assertGreater(module._library().reid_size(name.encode()), 0, name)
        self.assertEqual(module._library().reid_size(b"reid_ctx"), 0)

    def test_a_struct_of_another_size_is_refused(self):
        source = "int reid_version(void) { return 199; }\n" \
                 "__SIZE_TYPE__ reid_size(const char *type) { return type[5] == 'e' ? 2052 : 20; }\n"
        with open("larger.c", "w") as file:
            file.write(source)
        subprocess.run(["cc", "-shared", "-fPIC", "larger.c", "-o", "larger.so"], check=True)
        self.refuses(OSError, "has a different reid_box than this reid.py", cosine, [1], [1], library="./larger.so")

    def test_every_field_of_reid_desc_is_an_argument(self):
        for_c_alone = {"weights_size", "alloc_fn", "free_fn", "alloc_user", "log_user", "parallel_fn", "parallel_user",
                       "error"}
        fields = set(fields_of("reid_desc"))
        arguments = set(inspect.signature(Reid).parameters)
        self.assertEqual(fields - for_c_alone, arguments - {"library"})
        self.assertEqual(module.Info._fields, tuple(name for name, *_ in module._Info._fields_))
        self.assertLessEqual(set(inspect.signature(Index).parameters) - {"rows", "groups", "library"}, arguments)

    def test_the_library_is_looked_for_in_order(self):
        def run(code="import reid; print(reid._library()._name)", **environment):
            kept = {k: v for k, v in os.environ.items() if k not in ("REID_LIBRARY", "LD_LIBRARY_PATH", "PYTHONPATH")}
            return subprocess.run([sys.executable, "-c", code], cwd="alone", text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env={**kept, "PYTHONPATH": "", **environment})
        shutil.rmtree("alone", ignore_errors=True)
        os.mkdir("alone")
        shutil.copy(module.__file__, "alone")
        folder = os.path.realpath("alone")
        none = run()
        self.assertIn("libreid.so cannot be loaded: libreid.so.0: ", none.stderr)
        self.assertIn("make lib", none.stderr)
        os.mkdir("alone/system")
        shutil.copy(os.environ["REID_LIBRARY"], "alone/system/libreid.so.0")
        self.assertEqual(run(LD_LIBRARY_PATH=folder + "/system").stdout, "libreid.so.0\n")
        shutil.copy(os.environ["REID_LIBRARY"], "alone/libreid.so")
        self.assertEqual(run(LD_LIBRARY_PATH=folder + "/system").stdout, f"{folder}/libreid.so\n")
        named = run(REID_LIBRARY=folder + "/system/libreid.so.0")
        self.assertEqual(named.stdout, f"{folder}/system/libreid.so.0\n")
        self.assertIn("/no/such.so: cannot open", run(REID_LIBRARY="/no/such.so").stderr)
        argument = f"import reid\nprint(reid._library({os.environ['REID_LIBRARY']!r})._name)"
        self.assertEqual(run(argument, REID_LIBRARY="/no/such.so").stdout, os.environ["REID_LIBRARY"] + "\n")

    def test_another_version_is_refused(self):
        with open("other.c", "w") as file:
            file.write("int reid_version(void); int reid_version(void) { return 99; }")
        subprocess.run(["cc", "-shared", "-fPIC", "other.c", "-o", "other.so"], check=True)
        self.refuses(OSError, r"other\.so is version 99 .* for 100", Reid, "b0.safetensors", library="./other.so")
        self.refuses(OSError, "it has no reid_version", Reid, "b0.safetensors", library="libm.so.6")
        self.refuses(OSError, "b0.safetensors: .*make lib", Reid, "b0.safetensors", library="./b0.safetensors")


class Pictures(Case):
    def test_png_and_ppm_have_the_bytes_of_the_command(self):
        arrays = [picture(seed, 40 + 9 * seed, 50 + 5 * seed) for seed in range(9)]
        for i, array in enumerate(arrays):
            Image.fromarray(array).save(f"same{i}.png")
            Image.fromarray(array).save(f"same{i}.ppm")
        for kind in ("png", "ppm"):
            paths = [f"same{i}.{kind}" for i in range(9)]
            wanted = command(*paths)
            self.equal(self.reid.embed(paths), wanted)
            self.equal(self.reid.embed([Image.open(path) for path in paths]), wanted)
            self.equal(self.reid.embed(arrays), wanted)
            for i in range(9):
                self.equal(self.reid.embed(paths[i]), wanted[i : i + 1])
        self.assertEqual(len({row.tobytes() for row in wanted}), 9)

    def test_kinds_of_files(self):
        color, grey = picture(1, 60, 70, 4), picture(2, 60, 70, 1)[:, :, 0]
        deep = picture(3, 60, 70).astype(np.uint16) * 251 + 17
        Image.fromarray(color).save("kind.rgba.png")
        Image.fromarray(grey).save("kind.l.png")
        Image.fromarray(grey).save("kind.l.pgm")
        Image.fromarray(grey).convert("1").save("kind.1.png")
        Image.fromarray(color[:, :, :2], "LA").save("kind.la.png")
        Image.fromarray(color[:, :, :3]).quantize(50).save("kind.p.png")
        Image.fromarray(color[:, :, :3]).quantize(50).save("kind.pt.png", transparency=3)
        write_png("kind.48.png", deep, 2)
        write_png("kind.16.png", deep[:, :, :1], 0)
        with open("kind.48.ppm", "wb") as file:
            file.write(b"P6 70 60 65535\n" + deep.astype(">u2").tobytes())
        with open("kind.16.pgm", "wb") as file:
            file.write(b"P5 70 60 65535\n" + deep[:, :, 0].astype(">u2").tobytes())
        for path in sorted(name for name in os.listdir() if name.startswith("kind.")):
            with self.subTest(path):
                self.equal(self.reid.embed(path), command(path))
        self.equal(self.reid.embed(grey), command("kind.l.png"))
        self.equal(self.reid.embed(color), command("kind.rgba.png"))

    def test_pictures_are_upright(self):
        tags = Image.Exif()
        tags[0x0112] = 6
        Image.fromarray(picture(4, 60, 90)).save("turned.jpg", exif=tags)
        Image.fromarray(picture(4, 60, 90)).save("turned.png", exif=tags)
        with Image.open("turned.jpg") as image:
            upright = np.asarray(ImageOps.exif_transpose(image))
            self.assertEqual(upright.shape, (90, 60, 3))
            wanted = self.reid.embed(upright)
            self.equal(self.reid.embed(image), wanted)
            self.equal(self.reid.embed(ImageOps.exif_transpose(image)), wanted)
        self.equal(self.reid.embed("turned.jpg"), wanted)
        self.assertGreater(cosine(wanted[0], command("turned.jpg")[0]), 0.999)  # with another decoder
        with Image.open("turned.png") as image:
            self.equal(self.reid.embed(np.asarray(ImageOps.exif_transpose(image))), command("turned.png"))
        self.equal(self.reid.embed("turned.png"), command("turned.png"))

    def test_arrays_in_any_memory(self):
        array = picture(5, 61, 47)
        wanted = self.reid.embed(array)
        wide = np.zeros((122, 60, 3), np.uint8)
        wide[::2, 5:52] = array
        backwards = np.ascontiguousarray(array[::-1, ::-1])
        for same in (wide[::2, 5:52], backwards[::-1, ::-1], np.asfortranarray(array), array[None][0],
                     np.ascontiguousarray(array.transpose(2, 0, 1)).transpose(1, 2, 0)):
            self.assertFalse(same is array)
            self.equal(self.reid.embed(same), wanted)
        self.equal(self.reid.embed(array[:, :, ::-1], bgr=True), wanted)
        self.equal(self.reid.embed(np.ascontiguousarray(array[:, :, ::-1]), bgr=True), wanted)
        self.equal(self.reid.embed(np.dstack([array, array[:, :, 0]])), wanted)
        grey = np.ascontiguousarray(array[:, :, 1])
        self.equal(self.reid.embed(grey), self.reid.embed(np.repeat(grey[:, :, None], 3, axis=2)))
        self.equal(self.reid.embed(np.stack([array, array])), np.repeat(wanted, 2, axis=0))
        line = np.broadcast_to(array[:1], array.shape)  # all rows share their memory
        self.equal(self.reid.embed(line), self.reid.embed(line.copy()))
        self.equal(self.reid.embed(iter([array])), wanted)
        array.flags.writeable = False
        self.equal(self.reid.embed(array), wanted)

    def test_boxes(self):
        arrays = [picture(6, 80, 90), picture(7, 70, 60)]
        boxes = [[(3, 4, 40, 50), (20, 10, 30, 31)], (-5, 30, 50, 90)]
        with open("boxes.csv", "w") as file:
            file.write("path,x,y,width,height\nbox0.png,3,4,40,50\nbox0.png,20,10,30,31\nbox1.png,-5,30,50,90\n")
        for i, array in enumerate(arrays):
            Image.fromarray(array).save(f"box{i}.png")
        wanted = command("--boxes", "boxes.csv")
        self.equal(self.reid.embed(["box0.png", "box1.png"], boxes), wanted)
        self.equal(self.reid.embed(arrays, boxes), wanted)
        self.equal(self.reid.embed(arrays[0], np.array(boxes[0], np.float32)), wanted[:2])
        self.equal(self.reid.embed(arrays[0], boxes[0][1]), wanted[1:2])
        self.equal(self.reid.embed(arrays, [None, []]), self.reid.embed(arrays[0]))
        self.equal(self.reid.embed(arrays[0], []), np.zeros((0, 1280), np.float32))
        self.equal(self.reid.embed([]), np.zeros((0, 1280), np.float32))
        crop = arrays[1][30:, :45]
        self.equal(self.reid.embed(crop), wanted[2:])
        self.equal(self.reid.preprocess("box1.png", boxes[1]), self.reid.preprocess(crop))

    def test_long_lists_are_taken_in_turns(self):
        array = picture(8, 70, 80)
        boxes = [(i % 20, i % 30, 40, 30 + i % 7) for i in range(300)]
        some = [0, 77, 299]
        self.equal(self.reid.embed(array, boxes)[some], self.reid.embed(array, [boxes[i] for i in some]))
        self.equal(self.reid.embed([array] * 300, boxes)[some], self.reid.embed([array] * 3, [boxes[i] for i in some]))
        self.code("REID_ERR_BOX", "^row 250: the box x 900", self.reid.embed, [array] * 300,
                  boxes[:250] + [(900, 0, 5, 5)] + boxes[251:])


class Arguments(Case):
    def test_fields_reach_the_library(self):
        with Reid("b0.safetensors", head="seeded", head_seed=2**64 - 1, flip=True, raw=True, preset="torchreid",
                  batch=3, threads=1, lanes=2, cpu_isa="scalar", precision="fp32", device="cpu", latency=np.bool_(False)
                  ) as other:
            info = other.info
            self.assertEqual((info.head, info.head_seed, info.flip, info.raw), ("seeded", 2**64 - 1, 1, 1))
            self.assertEqual((info.preset, info.height, info.width), ("torchreid", 256, 128))
            self.assertEqual((info.threads, info.lanes, info.isa, info.precision), (1, 2, "scalar", "fp32"))
            self.assertEqual(other.dim, 512)
            self.assertEqual(other.preprocess(picture(1, 30, 30)).shape, (256, 128, 3))
            self.assertNotEqual(other.fingerprint, self.reid.fingerprint)
            self.assertRegex(other.fingerprint, "^[0-9a-f]{32}$")
        self.assertIn("efficientnet_b0", repr(self.reid))

    def test_flip_and_raw_have_the_bytes_of_the_command(self):
        Image.fromarray(picture(9, 50, 60)).save("flipped.png")
        with Reid("b0.safetensors", flip=True, raw=True, **SMALL) as other:
            self.equal(other.embed("flipped.png"), command("--flip", "--raw", "flipped.png"))

    def test_weights_in_memory(self):
        with open("b0.safetensors", "rb") as file:
            data = file.read()
        with Reid(weights_data=data, **SMALL) as a, Reid(weights_data=memoryview(data), **SMALL) as b:
            self.assertEqual({a.fingerprint, b.fingerprint}, {self.reid.fingerprint})

    def test_log(self):
        said = []
        Reid("b0.safetensors", allow_unused=True, log_fn=lambda *what: said.append(what), **SMALL).close()
        for level, code, message in said:
            self.assertIn(level, (0, 1, 2))
            self.assertIsInstance(code, int)
            self.assertIsInstance(message, str)
        if self.reid.info.device == "cpu":
            self.assertTrue(any("computing on the CPU" in message for _, _, message in said))

    def test_what_cannot_be_created(self):
        self.code("REID_ERR_FILE_OPEN", "nothere.safetensors: no such file", Reid, "nothere.safetensors")
        self.code("REID_ERR_NOT_SAFETENSORS", "python_tests.py", Reid, __file__)
        self.code("REID_ERR_NOT_SAFETENSORS", "empty", Reid, weights_data=b"")
        self.code("REID_ERR_UNKNOWN_PRESET", '"nope"', Reid, "b0.safetensors", preset="nope")
        self.code("REID_ERR_INPUT_SIZE", "-3", Reid, "b0.safetensors", height=-3, width=-3)
        self.code("REID_ERR_MEMORY_LIMIT", "1000", Reid, "b0.safetensors", memory_limit=1000)
        self.code("REID_ERR_INVALID_ARG", "weights", Reid)
        self.refuses(TypeError, "'colour'", Reid, "b0.safetensors", colour=1)
        self.refuses(TypeError, "'weights_size'", Reid, "b0.safetensors", weights_size=1)
        self.refuses(TypeError, "batch is 1.5", Reid, "b0.safetensors", batch=1.5)
        self.refuses(TypeError, "batch is '1'", Reid, "b0.safetensors", batch="1")
        self.refuses(ValueError, "batch is 4294967297", Reid, "b0.safetensors", batch=2**32 + 1)
        self.refuses(ValueError, "memory_limit is -1", Reid, "b0.safetensors", memory_limit=-1)
        self.refuses(ValueError, "head_seed is 18446744073709551616", Reid, "b0.safetensors", head_seed=2**64)
        self.refuses(ValueError, "flip is 2", Reid, "b0.safetensors", flip=2)
        self.refuses(ValueError, "device is 'gpu'; it must be one of auto, cpu, cuda", Reid, "b0.safetensors",
                     device="gpu")
        self.refuses(TypeError, "weights is 7", Reid, 7)
        self.refuses(ValueError, "preset contains a zero byte", Reid, "b0.safetensors", preset="a\0b")
        self.refuses(TypeError, "bytes-like", Reid, weights_data="text")

    def test_what_is_no_picture(self):
        good = picture(10, 40, 40)
        with open("text.png", "w") as file:
            file.write("no image")
        Image.fromarray(good).save("whole.png")
        with open("whole.png", "rb") as whole, open("cut.png", "wb") as cut:
            cut.write(whole.read()[:900])
        embed = self.reid.embed
        self.refuses(FileNotFoundError, "nothere.png", embed, "nothere.png")
        self.refuses(FileNotFoundError, "nothere.png", embed, ["whole.png", "nothere.png"])
        with self.assertRaisesRegex(OSError, "text.png"):
            embed("text.png")
        with self.assertRaisesRegex(OSError, "truncated"):
            embed("cut.png")
        self.refuses(TypeError, "float64.*uint8", embed, good.astype(float))
        self.refuses(TypeError, "image 1 has values of type bool", embed, [good, good > 3])
        self.refuses(ValueError, r"image 1 has the shape \(40, 40, 2\)", embed, [good, good[:, :, :2]])
        self.refuses(ValueError, r"\(40,\)", embed, good[:, 0, 0])
        self.refuses(ValueError, "bgr is for three", embed, picture(1, 9, 9, 4), bgr=True)
        self.refuses(TypeError, "images is a int", embed, 3)
        self.refuses(TypeError, "images is a bytes", embed, b"whole.png")
        self.refuses(TypeError, "image 1 is a list", embed, [good, good.tolist()])
        self.refuses(ValueError, "mode F", embed, Image.new("F", (9, 9)))
        self.code("REID_ERR_IMAGE", "^row 1: width x height is 40 x 0", embed, [good, good[:0]])
        self.code("REID_ERR_IMAGE", "1000001", embed, np.broadcast_to(np.uint8(7), (1000001, 1)))
        with mock.patch.dict(sys.modules, {"PIL": None}):
            self.refuses(ImportError, "needs Pillow", embed, "whole.png")
            self.assertEqual(embed(good).shape, (1, 1280))

    def test_what_is_no_box(self):
        good, embed = picture(11, 40, 40), self.reid.embed
        self.code("REID_ERR_BOX", "^row 1: the box x 40, y 0", embed, good, [(0, 0, 5, 5), (40, 0, 5, 5)])
        self.code("REID_ERR_BOX", "width -5", embed, good, (3, 3, -5, 5))
        for wrong in ((1, 2, 3), [(1, 2, 3, 4), (1, 2)], "abcd", [[[1, 2, 3, 4]]], 5, [None], {"x": 1}):
            self.refuses(ValueError, "must be x, y, width, height", embed, good, wrong)
        for wrong in ((1, 2, 3, 4.5), (1, 2, 3, float("nan")), (1, 2, 3, float("inf")), (2**31, 0, 5, 5)):
            self.refuses(ValueError, "whole numbers of pixels", embed, good, wrong)
        self.refuses(ValueError, "boxes has length 1, but images has length 2", embed, [good, good], [(0, 0, 5, 5)])
        self.refuses(ValueError, r"boxes\[1\]", embed, [good, good], [None, (1, 2, 3)])
        self.refuses(ValueError, "one image and at most one box", self.reid.preprocess, good, [(0, 0, 5, 5)] * 2)


class Life(Case):
    def test_threads(self):
        arrays = [picture(seed, 50 + seed, 70 - seed) for seed in range(12)]
        for i, array in enumerate(arrays):
            Image.fromarray(array).save(f"thread{i}.png")
        paths = [f"thread{i}.png" for i in range(12)]
        wanted, wrong = command(*paths), []

        def work(thread):
            for turn in range(6):
                first = (thread * 5 + turn) % 9
                what = paths if (thread + turn) % 2 else arrays
                if shared.embed(what[first : first + 3]).tobytes() != wanted[first : first + 3].tobytes():
                    wrong.append((thread, turn))

        for lanes in (1, 3):
            with Reid("b0.safetensors", lanes=lanes, threads=1, **SMALL) as shared:
                threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        self.assertEqual(wrong, [])

    def test_the_interpreter_is_free_during_a_call(self):
        array, took = picture(12, 64, 64), []

        def work():
            start = time.monotonic()
            other.embed([array] * 4)
            took.append(time.monotonic() - start)

        with Reid("b0.safetensors", height=256, width=256, cpu_isa="scalar", threads=1) as other:
            thread, longest, last = threading.Thread(target=work), 0.0, time.monotonic()
            thread.start()
            while thread.is_alive():
                time.sleep(0.001)
                longest, last = max(longest, time.monotonic() - last), time.monotonic()
            thread.join()
        self.assertLess(longest, took[0] / 2)

    def test_closing(self):
        other = Reid("b0.safetensors", **SMALL)
        other.close()
        other.close()
        array = picture(13, 40, 40)
        self.code("REID_ERR_INVALID_ARG", "this Reid is closed", other.embed, array)
        self.code("REID_ERR_INVALID_ARG", "this Reid is closed", other.preprocess, array)
        self.assertEqual(other.dim, 1280)
        index = Index(self.reid.embed(array))
        with index:
            pass
        self.code("REID_ERR_INVALID_ARG", "this Index is closed", index.search, np.zeros(1280))

    def test_closing_waits_for_other_threads(self):
        array, ended = picture(14, 60, 60), []

        def work():
            try:
                while True:
                    self.assertEqual(other.embed([array] * 20).shape, (20, 1280))
            except ReidError as error:
                ended.append(error.text)

        for delay in (0.0, 0.02, 0.05):
            other = Reid("b0.safetensors", threads=1, lanes=2, **SMALL)
            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(delay)
            other.close()
            self.assertEqual(other._users, 0)
            for thread in threads:
                thread.join()
        self.assertEqual(ended, ["this Reid is closed"] * 9)

    def test_pickling(self):
        self.refuses(TypeError, "create one in each", pickle.dumps, self.reid)
        try:
            self.reid.embed(picture(1, 20, 20), (90, 90, 1, 1))
        except ReidError as error:
            copy = pickle.loads(pickle.dumps(error))
            self.assertEqual((copy.code, copy.name, copy.text), (error.code, error.name, error.text))

    def in_child(self, what):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if what() else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_fork(self):
        array = picture(15, 60, 60)
        wanted = self.reid.embed(array).tobytes()
        inherited = Reid("b0.safetensors", **SMALL)
        index = Index(self.reid.embed(array))

        def child():
            for call in (lambda: inherited.embed(array), lambda: index.search(np.zeros(1280))):
                try:
                    call()
                    return False
                except ReidError as error:
                    if error.name != "REID_ERR_FORKED" or "fork" not in error.text:
                        return False
            inherited.close()
            index.close()
            with Reid("b0.safetensors", **SMALL) as own:
                return own.embed(array).tobytes() == wanted

        self.in_child(child)
        self.assertEqual(inherited.embed(array).tobytes(), wanted)
        self.assertEqual(index.search(np.zeros(1280), k=1).found.tolist(), [1])
        inherited.close()
        index.close()

    def test_fork_while_a_thread_computes(self):
        stop, array = threading.Event(), picture(16, 60, 60)
        other = Reid("b0.safetensors", **SMALL)

        def work():
            while not stop.is_set():
                other.embed([array] * 16)

        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(5):
            time.sleep(0.01)
            self.in_child(lambda: other.close() is None)  # must neither wait for a thread that does not exist nor crash
        stop.set()
        thread.join()
        other.close()


class Queues(Case):
    def test_rows_are_those_of_embed(self):
        arrays = [picture(70 + i, 60, 50) for i in range(12)]
        rows = self.reid.embed(arrays)
        with Queue(self.reid, batch=4) as queue:
            futures = [queue.submit(array, priority=i % 8 - 3) for i, array in enumerate(arrays)]
            pair = queue.submit(arrays[0], boxes=[(0, 0, 30, 30), (5, 5, 40, 40)], deadline_us=60_000_000)
            for row, future in zip(rows, futures):
                self.equal(future.result(60), row[None])
            self.equal(pair.result(60), self.reid.embed(arrays[0], boxes=[(0, 0, 30, 30), (5, 5, 40, 40)]))
        self.assertEqual(queue._pending, {})

    def test_what_is_refused(self):
        array = picture(71, 60, 50)
        with Queue(self.reid, limit=3) as queue:
            self.code("REID_ERR_INVALID_ARG", "n >= 1", queue.submit, [])
            self.code("REID_ERR_INVALID_ARG", "limit", queue.submit, [array] * 4)
            self.code("REID_ERR_BOX", "box", queue.submit, array, boxes=(90, 90, 5, 5))
            self.code("REID_ERR_EXPIRED", "", queue.submit, array, deadline_us=-1)
            self.refuses(ValueError, "priority", queue.submit, array, priority=2**40)
            self.assertEqual(queue._pending, {})
        self.code("REID_ERR_INVALID_ARG", "this Queue is closed", queue.submit, array)
        self.code("REID_ERR_INVALID_ARG", "limit", Queue, self.reid, limit=-1)

    def test_full_cancelled_expired(self):
        array = picture(72, 60, 50)
        with Reid("b0.safetensors", threads=1, height=320, width=320) as slow, Queue(slow, batch=1, limit=6) as queue:
            first, futures = queue.submit(array), []
            with self.assertRaises(ReidError) as caught:
                while True:
                    futures.append(queue.submit(array, deadline_us=1_000 if len(futures) == 1 else 0))
            self.assertEqual(caught.exception.name, "REID_ERR_FULL")
            self.assertTrue(futures[-1].cancel())
            self.assertEqual(first.result(60).shape, (1, 1280))
            self.refuses(ReidError, "deadline", futures[1].result, 60)
        self.assertEqual(queue._pending, {})
        self.assertTrue(futures[-1].cancelled())
        self.equal(futures[0].result(0), first.result(0))

    def test_closing_the_network_closes_its_queues(self):
        other = Reid("b0.safetensors", **SMALL)
        queue = Queue(other)
        futures = [queue.submit(picture(73, 60, 50)) for _ in range(20)]
        other.close()
        self.assertTrue(all(future.result(0).shape == (1, 1280) for future in futures))
        self.code("REID_ERR_INVALID_ARG", "this Queue is closed", queue.submit, picture(73, 60, 50))
        Queue(Reid("b0.safetensors", **SMALL)).submit(picture(74, 60, 50))  # never closed


class Search(Case):
    def test_like_a_sort(self):
        random = np.random.default_rng(1)
        rows = random.standard_normal((500, 32)).astype(np.float32)
        groups = random.integers(0, 60, 500)
        queries = random.standard_normal((7, 32)).astype(np.float32)
        scores = queries.astype(np.float64) @ rows.T.astype(np.float64)
        order = np.argsort(-scores, axis=1, kind="stable")
        with Index(rows, groups) as index:
            self.assertEqual(len(index), 500)
            hits = index.search(queries, k=9)
            self.assertIsInstance(hits, Hits)
            self.assertEqual(hits.rows.tolist(), order[:, :9].tolist())
            self.assertEqual(hits.groups.tolist(), groups[order[:, :9]].tolist())
            np.testing.assert_allclose(hits.scores, np.take_along_axis(scores, order[:, :9], axis=1), rtol=1e-12)
            best = index.search(queries, k=60, scoring="max")
            every = {g: scores[:, groups == g] for g in range(60)}
            for q in range(7):
                self.assertEqual(best.groups[q, : best.found[q]].tolist(),
                                 sorted((g for g in every if every[g].size), key=lambda g: -every[g][q].max()))
            mean = index.search(queries[0], k=1, scoring="mean")
            self.assertAlmostEqual(mean.scores[0, 0], max(s[0].mean() for s in every.values() if s.size), 12)
            top = index.search(queries[0], k=1, scoring="top", top=2)
            self.assertAlmostEqual(top.scores[0, 0], max(np.sort(s[0])[-2:].mean() for s in every.values() if s.size),
                                   12)
            few = index.search(queries, k=500, threshold=float(np.sort(scores[0])[-4]))
            self.assertEqual(few.found[0], 4)
            self.assertEqual(few.rows[0, 4:].tolist(), [-1] * 496)
            self.assertTrue(np.isnan(few.scores[0, 4:]).all())
            out = index.search(queries, k=2, exclude=lambda query, row: row == order[query, 0])
            self.assertEqual(out.rows.tolist(), order[:, 1:3].tolist())
            self.assertEqual(index.search(queries[:0]).rows.shape, (0, 10))
            self.assertEqual(index.search(queries[0], k=2**31 - 1).found.tolist(), [500])
        halves = rows.astype(np.float16)
        with Index(halves) as index:
            exact = queries.astype(np.float64) @ halves.T.astype(np.float64)
            self.assertEqual(index.search(queries, k=1).rows[:, 0].tolist(), exact.argmax(axis=1).tolist())
        with Index(rows[:400], groups[:400]) as index:
            index.grow(rows[:400], groups[:400])
            index.grow(rows, groups)
            self.assertEqual(len(index), 500)
            self.assertEqual(index.search(queries, k=9).rows.tolist(), order[:, :9].tolist())
        with Index(np.zeros((0, 32))) as index:
            self.assertEqual(index.search(queries).found.tolist(), [0] * 7)

    def test_what_cannot_be_searched(self):
        rows = np.eye(5, 8, dtype=np.float32)
        self.code("REID_ERR_EMBEDDING", "row 2", Index, rows * np.array([1, 1, np.nan, 1, 1])[:, None])
        self.refuses(ValueError, r"shape \(8,\)", Index, rows[0])
        self.refuses(ValueError, "5 whole numbers", Index, rows, [1, 2])
        self.refuses(ValueError, "5 whole numbers", Index, rows, [0.5] * 5)
        self.refuses(ValueError, "0 ... 4294967295", Index, rows, [-1, 0, 0, 0, 0])
        self.refuses(TypeError, "'batch'", Index, rows, batch=3)
        self.code("REID_ERR_INVALID_ARG", "threads", Index, rows, threads=-1)
        with Index(rows) as index:
            self.refuses(ValueError, r"\(3,\).*\(n, 8\)", index.search, [1, 2, 3])
            self.refuses(ValueError, "k is 0", index.search, rows, 0)
            self.code("REID_ERR_INVALID_ARG", "one of 4 rows of 8", index.grow, rows[:4])
            self.code("REID_ERR_INVALID_ARG", "floats or halves", index.grow, rows.astype(np.float16))
            self.code("REID_ERR_EMBEDDING", "row 5", index.grow, np.float32([*rows, [np.nan] * 8]))
            self.refuses(ValueError, "5 whole numbers", index.grow, rows, [1, 2])
            self.refuses(ValueError, "scoring is 'best'", index.search, rows, scoring="best")
            self.code("REID_ERR_INVALID_ARG", "top", index.search, rows, scoring="top", top=0)
            self.code("REID_ERR_EMBEDDING", "query 1", index.search, np.float32([[1] * 8, [np.inf] * 8]))
            self.refuses(ZeroDivisionError, "", index.search, rows, exclude=lambda query, row: 1 // 0)
            self.assertEqual(index.search(rows, k=1).rows[:, 0].tolist(), [0, 1, 2, 3, 4])

    def test_cosine(self):
        a, b = np.array([3, 4, 0]), np.array([4, 3, 0])
        self.assertAlmostEqual(cosine(a, b), 24 / 25, 12)
        self.assertEqual(cosine(a, -a), -1)
        self.assertEqual(cosine(a, a * 0), 0)
        self.refuses(ValueError, "equal length", cosine, a, a[:2])
        self.refuses(ValueError, "two vectors", cosine, [a], [b])


def linked(rows, threshold, apart):
    """Average linkage by its definition: labels, and the joins as (a, b, score). apart(x, y): x and y stay separate."""
    unit = rows.astype(np.float64) / np.linalg.norm(rows.astype(np.float64), axis=1)[:, None]
    groups, joins = [[i] for i in range(len(rows))], []
    while True:
        best = max(((float((unit[x] @ unit[y].T).mean()), -x[0], -y[0], x, y) for x in groups for y in groups
                    if x[0] < y[0] and not any(apart(i, j) for i in x for j in y)), default=None)
        if best is None or best[0] < threshold:
            break
        joins.append((best[3][0], best[4][0], best[0]))
        best[3].extend(best[4])
        groups.remove(best[4])
    labels = np.zeros(len(rows), int)
    for number, members in enumerate(groups):
        labels[members] = number
    return labels.tolist(), joins


class Grouping(Case):
    def setUp(self):
        random = np.random.default_rng(4)
        self.rows = (np.repeat(random.standard_normal((6, 24)), 5, axis=0)
                     + 0.9 * random.standard_normal((30, 24))).astype(np.float32)

    def same(self, got, wanted):
        labels, joins = wanted
        self.assertEqual(got.labels.tolist(), labels)
        self.assertEqual(list(zip(got.a.tolist(), got.b.tolist())), [j[:2] for j in joins])
        np.testing.assert_allclose(got.scores, [j[2] for j in joins], rtol=0, atol=1e-6)

    def test_like_the_definition(self):
        self.assertEqual(module._library().reid_size(b"reid_merge"), module._MERGE.itemsize)
        free = group(self.rows, 0.4)
        self.assertIsInstance(free, Groups)
        self.same(free, linked(self.rows, 0.4, lambda i, j: False))
        self.assertGreater(len(free.a), 10)
        self.assertFalse(free.must_link.any())
        self.same(group(self.rows, 0.4, cannot_link=[(0, 1), (6, 5)]),
                  linked(self.rows, 0.4, lambda i, j: {i, j} in ({0, 1}, {5, 6})))
        frames = np.arange(30) // 2
        self.same(group(self.rows, 0.3, frame_ids=frames), linked(self.rows, 0.3, lambda i, j: frames[i] == frames[j]))
        known = np.where(np.arange(30) % 3, -1, np.arange(30) % 2)
        self.same(group(self.rows, 0.3, separate_ids=known),
                  linked(self.rows, 0.3, lambda i, j: min(known[i], known[j]) >= 0 and known[i] != known[j]))
        halves = self.rows.astype(np.float16)
        self.same(group(halves, 0.4), linked(halves.astype(np.float32), 0.4, lambda i, j: False))

    def test_must_link(self):
        got = group(self.rows, 2.0, must_link=[(3, 20), (20, 9)])
        self.assertEqual(len(set(got.labels.tolist())), 28)
        self.assertEqual(got.labels[3], got.labels[9])
        self.assertTrue(got.must_link.all() and len(got.a) == 2)
        self.code("REID_ERR_CONTRADICTION", "", group, self.rows, 0.5, must_link=[(1, 2)], cannot_link=[(2, 1)])

    def test_what_cannot_be_grouped(self):
        self.assertEqual(group(np.zeros((0, 8)), 0.5).labels.tolist(), [])
        self.code("REID_ERR_EMBEDDING", "row 7", group, self.rows * (np.arange(30) != 7)[:, None], 0.5)
        self.refuses(ValueError, r"shape \(24,\)", group, self.rows[0], 0.5)
        self.refuses(ValueError, "must_link must be 0 ... 29", group, self.rows, 0.5, must_link=[(0, 30)])
        self.refuses(ValueError, r"cannot_link must be whole numbers of the shape \(1, 2\)", group, self.rows, 0.5,
                     cannot_link=[(0, 1, 2)])
        self.refuses(ValueError, r"frame_ids must be whole numbers of the shape \(30,\)", group, self.rows, 0.5,
                     frame_ids=[1, 2])
        self.refuses(TypeError, "", group, self.rows, "half")
        self.code("REID_ERR_CANCELLED", "", group, np.random.default_rng(2).standard_normal((3000, 8)), 0.1,
                  stop=lambda: True)

        def fails():
            raise RuntimeError("asked")

        self.refuses(RuntimeError, "asked", group, np.random.default_rng(2).standard_normal((3000, 8)), 0.1, stop=fails)


def run(*arguments):
    """What the command prints."""
    done = subprocess.run([COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read(path):
    with open(path) as file:
        return file.read()


class ByTheCommand(Case):
    def setUp(self):
        random = np.random.default_rng(7)
        self.who = np.repeat(np.arange(30), 6)
        middles = random.standard_normal((30, 24))
        self.rows = middles[self.who] + 0.9 * random.standard_normal((180, 24))
        self.cameras = [f"c{i % 3}" for i in range(180)]
        environment = mock.patch.dict(os.environ, {"REID_COMMAND": COMMAND})
        environment.start()
        self.addCleanup(environment.stop)

    def write_table(self):
        np.save("theirs.npy", self.rows)
        with open("theirs.csv", "w") as file:
            file.write("path,identity,camera\n")
            file.writelines(f"{i},{who},{camera}\n" for i, (who, camera) in enumerate(zip(self.who, self.cameras)))
        run("import", "theirs.npy", "--ids", "theirs.csv", "--model", "other-1", "-q", "-o", "wanted.npy")

    def test_import_is_that_of_the_command(self):
        self.write_table()
        names = [f"deer {i},\"x\".jpg" for i in range(180)]
        made = import_rows("made.npy", self.rows, model="other-1", identities=self.who, cameras=self.cameras)
        self.assertIsInstance(made, Imported)
        self.assertEqual((made.path, made.rows, made.dim, made.model, made.identities),
                         ("made.npy", 180, 24, "other-1", 30))
        self.equal(np.load("made.npy"), np.load("wanted.npy"))
        self.assertEqual(read("made.ids.txt"), read("wanted.ids.txt"))
        self.assertEqual(read("made.meta.json"), read("wanted.meta.json").replace("wanted.npy", "made.npy"))
        self.assertIn(made.fingerprint, read("made.meta.json"))
        import_rows("made.npy", self.rows.astype(np.float16), names, model="other-1",
                    times=["2024-05-31T06:00:00"] * 180)
        self.assertEqual(read("made.ids.txt").split("\n")[:-1], names)
        self.assertEqual(read("made.meta.json").count('"2024-05-31T06:00:00"'), 180)
        import_rows("made.jsonl", self.rows[:3].tolist(), ["a", "b", "c"], model="other-1")
        self.assertEqual(len(read("made.jsonl").split("\n")), 4)

    def test_what_cannot_be_imported(self):
        with open("mine.npy", "w") as file:
            file.write("mine")
        error = self.refuses(CommandError, r"mine.npy: exists and is not .*force=True replaces it", import_rows,
                             "mine.npy", self.rows, model="m")
        self.assertEqual((error.status, error.text), (2, str(error)))
        self.assertEqual(read("mine.npy"), "mine")
        import_rows("mine.npy", self.rows, model="m", force=True)
        self.assertEqual(np.load("mine.npy").shape, (180, 24))
        self.refuses(CommandError, r'^rows: the id "a" is given to rows 0 and 1', import_rows, "x.npy", self.rows[:2],
                     ["a", "a"], model="m")
        self.refuses(CommandError, r"^rows: row 1 .*is not a number", import_rows, "x.npy", [[1, 2], [1, np.nan]],
                     model="m")
        self.refuses(ValueError, "names has length 1, but rows has length 180", import_rows, "x.npy", self.rows, ["a"],
                     model="m")
        self.refuses(TypeError, "names is a str; it must be a sequence", import_rows, "x.npy", self.rows, "a",
                     model="m")
        self.refuses(ValueError, r"shape \(24,\)", import_rows, "x.npy", self.rows[0], model="m")
        self.refuses(ValueError, "must end in .npy, .jsonl or .csv", import_rows, "x.txt", self.rows, model="m")
        self.refuses(TypeError, "must be the name of the model", import_rows, "x.npy", self.rows, model=self.reid)
        self.assertFalse(os.path.exists("x.npy"))

    def test_calibration_of_another_model(self):
        self.write_table()
        run("calibrate", "wanted.npy", "--fmr", "0.02", "--prior", "0.1", "-q", "-o", "wanted.json")
        made = calibrate(self.rows, self.who, model="other-1", cameras=self.cameras, fmr=0.02, prior=0.1)
        self.assertIsInstance(made, Calibration)
        self.assertEqual(made.text, read("wanted.json"))
        whole = json.loads(made.text)
        for key in ("threshold", "fmr", "prior", "method"):
            self.assertEqual(getattr(made, key), whole[key])
        for key in ("eer", "tmr"):
            self.assertEqual(getattr(made, key), whole["score"][key])
        for key in ("eer_interval", "tmr_interval", "threshold_interval"):
            self.assertEqual(list(getattr(made, key)), whole["score"][key])
        self.assertEqual((made.genuine, made.impostor, made.identities), (30 * 12, 180 * 174 // 2, 30))
        scores = np.sort(np.random.default_rng(1).uniform(-1, 1, 50))
        self.assertTrue(np.all(np.diff(made.probability(scores)) > 0))
        run("calibrate", "wanted.npy", "--fmr", "0.02", "--method", "isotonic", "--leave-out", "picture", "--draws",
            "200", "-q", "-o", "wanted.json")
        other = calibrate(self.rows, self.who, model="other-1", cameras=self.cameras, fmr=0.02, method="isotonic",
                          leave_out="picture", draws=200, threads=1)
        self.assertEqual(other.text, read("wanted.json"))
        self.assertGreater(other.genuine, made.genuine)
        other.save("saved.json")
        self.assertEqual(Calibration.read("saved.json"), other)
        self.assertEqual([name for name in os.listdir() if name.startswith("saved")], ["saved.json"])

    def test_calibration_of_a_reid_is_for_match(self):
        for who in range(4):
            os.makedirs(f"known/{who}")
            for i in range(4):
                pixels = np.clip(picture(who, 64, 64).astype(int) + 4 * i, 0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(f"known/{who}/{i}.png")
        rows, who = command("known"), np.repeat(np.arange(4), 4)
        run("calibrate", "command.npy", "--fmr", "0.3", "-q", "-o", "wanted.json")
        for method in ("logistic", "isotonic"):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                made = calibrate(rows, who, model=self.reid, fmr=0.3, method=method)
            self.assertIn("only 24 pairs of one identity", str([str(w.message) for w in caught]))
            if method == "logistic":
                self.assertEqual(made.text, read("wanted.json"))
            made.save("made.json")
            told = run("match", "-m", "b0.safetensors", "--size", "64x64", "--gallery", "command.npy", "--calibration",
                       "made.json", "--json", "known/0/1.png", "-q")
            for found in json.loads(told)["matches"]:
                self.assertAlmostEqual(float(made.probability(found["score"])), found["probability"], 5)
        self.refuses(ValueError, r"shape \(16, 3\); those of this model have", calibrate, rows[:, :3], who,
                     model=self.reid)

    def test_what_cannot_be_calibrated(self):
        self.refuses(CommandError, "no pairs of one identity", calibrate, self.rows, range(180), model="m")
        self.refuses(CommandError, "cannot show a false-match rate of 1e-07", calibrate, self.rows, self.who, model="m",
                     fmr=1e-7)
        self.refuses(ValueError, "identities has length 3, but rows has length 180", calibrate, self.rows, [1, 2, 3],
                     model="m")
        self.refuses(TypeError, "identities is None", calibrate, self.rows, None, model="m")
        self.refuses(ValueError, "fmr is 1; it must be between 0 and 1", calibrate, self.rows, self.who, model="m",
                     fmr=1)
        self.refuses(ValueError, "method is 'best'", calibrate, self.rows, self.who, model="m", method="best")
        self.refuses(ValueError, "leave_out is 'all'", calibrate, self.rows, self.who, model="m", leave_out="all")
        with open("not.json", "w") as file:
            file.write('{"format": "reid-embeddings"}')
        self.refuses(ValueError, "not.json is not a file of reid calibrate", Calibration.read, "not.json")

    def test_which_command(self):
        for name, text in (("old", "echo reid 0.0.9"), ("other", "echo hello; exit 1")):
            with open(name, "w") as file:
                file.write("#!/bin/sh\n" + text + "\n")
            os.chmod(name, 0o755)
        for name in ("old", "other"):
            self.refuses(OSError, f"{name} is not reid 0.1.0: .*prints 'reid 0.0.9'" if name == "old" else
                         f"{name} is not reid 0.1.0: .*prints 'hello'", import_rows, "x.npy", self.rows, model="m",
                         command=os.path.abspath(name))
        self.refuses(OSError, "cannot be started: No such file", import_rows, "x.npy", self.rows, model="m",
                     command="./none")
        with mock.patch.dict(os.environ, {"PATH": os.path.dirname(COMMAND)}):
            del os.environ["REID_COMMAND"]
            import_rows("found.npy", self.rows, model="m")
            os.environ["PATH"] = "/nowhere"
            self.refuses(OSError, "the command reid was not found", import_rows, "x.npy", self.rows, model="m")
            os.environ["REID_COMMAND"] = COMMAND


class Readme(Case):
    def test_its_program_and_that_of_the_module_run(self):
        for name in ("ann.png", "bob.png", "trap.png"):
            Image.fromarray(picture(len(name), 200, 300)).save(name)
        shutil.copy("b0.safetensors", "resnet50.safetensors")
        with open(os.path.join(TOP, "examples/python/README.md")) as file:
            shown = re.findall(r"^```python\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
        self.assertEqual(len(shown), 1)
        module_shows = "\n".join(line[4:] for line in module.__doc__.split("\n") if line.startswith("    "))
        for program in (*shown, module_shows):
            done = subprocess.run([sys.executable, "-c", program], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertRegex(done.stdout, r"0\.\d+")
