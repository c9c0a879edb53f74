"""import_rows.py: rows of numbers as other programs write them, for t_cli_import.sh.

    import_rows.py make              every kind of file, in the working directory
    import_rows.py check OUT DIGITS  OUT.npy has the rows that numpy normalises to length 1
"""
import collections
import io
import pickle
import struct
import sys
import types
import zipfile

import numpy as np

ANIMALS, EACH, DIM = 8, 5, 24
NAMES = [f"east/{who}_{k}.jpg" for who in range(ANIMALS) for k in range(EACH)]


def rows():
    draw = np.random.default_rng(7)
    centres = np.repeat(draw.normal(size=(ANIMALS, DIM)), EACH, axis=0)
    return 3 * centres + draw.normal(size=centres.shape)


class Storage:
    def __init__(self, kind, values):
        self.kind, self.values = kind, values


class Tensor:
    def __init__(self, kind, values, shape, strides):
        self.storage, self.shape, self.strides = Storage(kind, values), shape, strides

    def __reduce__(self):
        rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
        return rebuild, (self.storage, 0, self.shape, self.strides, False, collections.OrderedDict())


def pretend_torch():
    """Makes modules with the names that torch.save writes, so that PyTorch is not needed."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    sys.modules.update({"torch": torch, "torch._utils": utils})
    for name in "FloatStorage", "DoubleStorage", "HalfStorage", "BFloat16Storage", "LongStorage":
        setattr(torch, name, type(name, (), {"__module__": "torch"}))
    utils._rebuild_tensor_v2 = type("_rebuild_tensor_v2", (), {"__module__": "torch._utils"})


class Saver(pickle.Pickler):
    """Pickles a storage as a persistent id, and a tensor as a call, as torch.save does."""

    def __init__(self, file, storages):
        super().__init__(file, 2)
        self.storages = storages

    def persistent_id(self, value):
        if not isinstance(value, Storage):
            return None
        self.storages.append(value.values)
        size = {"HalfStorage": 2, "BFloat16Storage": 2, "FloatStorage": 4}.get(value.kind, 8)
        kind = getattr(sys.modules["torch"], value.kind)
        return "storage", kind, str(len(self.storages) - 1), "cpu", len(value.values) // size


def save_torch(path, value):
    body, storages = io.BytesIO(), []
    Saver(body, storages).dump(value)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rows/data.pkl", body.getvalue())
        archive.writestr("rows/byteorder", "little")
        for i, storage in enumerate(storages):
            archive.writestr(f"rows/data/{i}", storage)
        archive.writestr("rows/version", "3\n")


def make_arrays(a):
    for name, kind in ("f2", "<f2"), ("f4", "<f4"), ("f8", "<f8"), ("b2", ">f2"), ("b4", ">f4"), ("b8", ">f8"):
        np.save(name + ".npy", a.astype(kind))
    np.save("fortran.npy", np.asfortranarray(a))
    np.save("fortran_b4.npy", np.asfortranarray(a.astype(">f4")))
    for version in (2, 0), (3, 0):
        with open(f"version{version[0]}.npy", "wb") as file:
            np.lib.format.write_array(file, a, version)
    np.savez("one.npz", features=a)
    np.savez("several.npz", features=a, ids=np.arange(40), labels=np.arange(40))
    np.savez_compressed("compressed.npz", features=a)
    np.save("misnamed.csv.npy", a)
    with open("called.csv", "wb") as file:
        np.save(file, a)
    np.save("integers.npy", a.astype("i8"))
    np.save("complex.npy", a.astype("c8"))
    np.save("objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save("fields.npy", np.zeros(40, dtype=[("a", "f4"), ("b", "f4")]))
    np.save("cube.npy", a[None])
    np.save("line.npy", a[0])
    np.save("scalar.npy", a[0, 0])
    np.save("none.npy", a[:0])
    np.save("narrow.npy", a[:, :0])
    np.save("wide.npy", np.zeros((1, 65537), "f4"))
    whole = open("f4.npy", "rb").read()
    open("cut.npy", "wb").write(whole[:-4])
    open("longer.npy", "wb").write(whole + b"1234")
    open("headless.npy", "wb").write(whole[:60])
    open("version9.npy", "wb").write(whole[:6] + b"\x09" + whole[7:])
    for name, old, new in (
        ("twice", b"'fortran_order'", b"'descr': '<f4', 'fortran_order'"),
        ("unknown", b"'fortran_order'", b"'other': 1, 'fortran_order'"),
        ("after", b"), }", b"), } + 1"),
        ("huge", b"(40, 24)", b"(9999999999999999999, 9999999999)"),
        ("negative", b"(40, 24)", b"(-40, 24)"),
    ):
        head = whole[10:128].replace(old, new).rstrip()
        head += b" " * (54 - (10 + len(head)) % 54 - 1) + b"\n"
        open(name + ".npy", "wb").write(whole[:8] + struct.pack("<H", len(head)) + head + whole[128:])


def make_tables(a):
    columns = [f"e{i}" for i in range(DIM)]

    def write(name, header, first, separator=",", number=repr, end="\n"):
        with open(name, "w", newline="") as file:
            if header:
                file.write(separator.join(header) + end)
            for i, row in enumerate(a):
                file.write(separator.join(first(i) + [number(float(v)) for v in row]) + end)

    write("plain.csv", None, lambda i: [])
    write("header.csv", columns, lambda i: [])
    write("named.csv", ["path", "identity", "camera", "time", *columns],
          lambda i: [NAMES[i], f"animal {i // EACH}", "east", f"2024-05-{1 + i // 2:02d}T06:30:00"])
    write("id_first.csv", None, lambda i: [NAMES[i]])
    write("pandas.csv", ["", *map(str, range(DIM))], lambda i: [str(i)])
    write("pandas_names.csv", ["", *map(str, range(DIM))], lambda i: [NAMES[i]])
    write("pandas_bare.csv", list(map(str, range(DIM))), lambda i: [])
    write("r.csv", ['""', *(f'"V{i + 1}"' for i in range(DIM))], lambda i: [f'"{i + 1}"'])
    write("excel.csv", columns, lambda i: [], ";", lambda v: repr(v).replace(".", ","), "\r\n")
    write("tabs.tsv", None, lambda i: [], "\t")
    np.savetxt("savetxt.txt", a)
    np.savetxt("savetxt_header.txt", a, header="rows of a model")
    open("mark.csv", "w", encoding="utf-16").write(open("header.csv").read())
    write("counted.csv", None, lambda i: [str(i)])
    write("odd_name.csv", ["path", "species", *columns], lambda i: [NAMES[i], "fox"])
    write("odd_column.csv", ["path", *columns[:3], "age", *columns[4:]], lambda i: [NAMES[i]])
    write("facts.csv", ["identity", *columns], lambda i: ["ann"])
    write("twice.csv", ["path", "path", *columns], lambda i: [NAMES[i], NAMES[i]])
    write("miscounted.csv", ["", *columns], lambda i: [str(i + (i > 20))])
    write("unlike.csv", ["path", *columns], lambda i: [NAMES[i ^ 1]])
    lines = open("header.csv").read().splitlines()
    for name, text in ("nan", "nan"), ("inf", "inf"), ("empty", ""), ("word", "fox"), ("big", "1e39"):
        line = text + lines[3][lines[3].index(","):]
        open(name + ".csv", "w").write("\n".join(lines[:3] + [line] + lines[4:]) + "\n")
    open("ragged.csv", "w").write("\n".join(lines[:3] + [lines[3] + ",1"] + lines[4:]) + "\n")
    open("only_header.csv", "w").write(lines[0] + "\n")
    open("prose.txt", "w").write("These are not the rows\nthat you are looking for\n")


def make_others(a):
    narrow = a.astype("<f4")
    with open("rows.fvecs", "wb") as file:
        for row in narrow:
            file.write(struct.pack("<i", DIM) + row.tobytes())
    with open("r640.fvecs", "wb") as file:  # its first bytes are those of a pickle
        file.write((struct.pack("<i", 640) + narrow[0, :1].tobytes() * 640) * 4)
    with open("uneven.fvecs", "wb") as file:
        for k in DIM, DIM + 1, DIM - 1, DIM:
            file.write(struct.pack("<i", k) + narrow[0, :1].tobytes() * k)
    head = '{"features": {"dtype": "F32", "shape": [40, 24], "data_offsets": [0, 3840]}}'.encode()
    open("rows.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + narrow.tobytes())
    tensor = Tensor("FloatStorage", narrow.tobytes(), (40, DIM), (DIM, 1))
    save_torch("rows.pt", tensor)
    save_torch("dict.pt", {"features": tensor, "epoch": 3})
    save_torch("transposed.pt", Tensor("DoubleStorage", np.ascontiguousarray(a.T).tobytes(), (40, DIM), (1, 40)))
    save_torch("half.pt", Tensor("HalfStorage", a.astype("<f2").tobytes(), (40, DIM), (DIM, 1)))
    upper = (narrow.view("<u4") >> 16).astype("<u2")
    save_torch("bfloat.pt", Tensor("BFloat16Storage", upper.tobytes(), (40, DIM), (DIM, 1)))
    save_torch("long.pt", Tensor("LongStorage", a.astype("<i8").tobytes(), (40, DIM), (DIM, 1)))
    save_torch("cube.pt", Tensor("FloatStorage", narrow.tobytes(), (2, 20, DIM), (20 * DIM, DIM, 1)))
    save_torch("expanded.pt", Tensor("FloatStorage", narrow[0].tobytes(), (1 << 30, DIM), (0, 1)))
    save_torch("pair.pt", {"query": tensor, "gallery": Tensor("FloatStorage", narrow.tobytes(), (40, DIM), (DIM, 1))})
    pickle.dump({"features": a, "metadata": None}, open("dataset.pkl", "wb"), 5)
    pickle.dump(a, open("array.pkl", "wb"), 2)
    with zipfile.ZipFile("other.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    damaged = bytearray(open("one.npz", "rb").read())
    damaged[400] ^= 1
    open("damaged.npz", "wb").write(damaged)
    for name, start in ("rows.parquet", b"PAR1"), ("rows.feather", b"ARROW1\0\0"), ("rows.h5", b"\x89HDF\r\n\x1a\n"):
        open(name, "wb").write(start + bytes(600))
    open("rows.json", "w").write('{"rows": [[1, 2]]}\n')
    open("rows.bin", "wb").write(bytes(range(256)))
    open("nothing.npy", "wb")
    for name, value in ("nan", np.nan), ("infinite", np.inf), ("zero", None):
        b = a.copy()
        b[17] = 0 if value is None else b[17]
        if value is not None:
            b[17, 3] = value
        np.save(name + ".npy", b)
    np.save("large.npy", a * 1e300)
    np.save("small.npy", a * 1e-300)


def make_names():
    text = "".join(name + "\n" for name in NAMES)
    open("ids.txt", "w").write(text)
    open("crlf.txt", "w", newline="").write("\ufeff" + text.replace("\n", "\r\n").rstrip("\r\n"))
    open("few.txt", "w").write("".join(text.splitlines(True)[:-1]))
    open("gap.txt", "w").write(text.replace("east/1_2.jpg\n", "\n"))
    open("same.txt", "w").write(text.replace("east/1_2.jpg", "east/0_0.jpg"))
    open("zero.txt", "wb").write(text.replace("1_2", "1\0002").encode())
    open("windows.txt", "w").write(text.replace("/", "\\"))
    open("empty.txt", "w")
    with open("ids.csv", "w") as file:
        file.write("image_id,identity,path,date,camera,time\n")
        for i, name in enumerate(NAMES):
            camera = "east" if i % 2 else "west"
            file.write(f"{i},animal {i // EACH},{name},2024,{camera},2024-05-{1 + i // 2:02d}T06:30\n")
    open("labels.csv", "w").write("path,identity\n" + "".join(f"{n},animal {i // EACH}\n" for i, n in enumerate(NAMES)))
    open("no_time.csv", "w").write("path,time\n" + "".join(n + ",noon\n" for n in NAMES))


def check(out, digits):
    a = rows()
    wanted = a / np.linalg.norm(a, axis=1, keepdims=True)
    got = np.load(out + ".npy")
    assert got.dtype == np.dtype("<f4") and got.shape == a.shape, (got.dtype, got.shape)
    assert np.abs(got - wanted).max() < 10.0**-digits, np.abs(got - wanted).max()
    assert np.abs(np.linalg.norm(got.astype("f8"), axis=1) - 1).max() < 1e-6


if __name__ == "__main__":
    if sys.argv[1] == "make":
        pretend_torch()
        table = rows()
        make_arrays(table), make_tables(table), make_others(table), make_names()
    else:
        check(sys.argv[2], int(sys.argv[3]))
