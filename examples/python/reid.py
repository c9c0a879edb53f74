"""Turns images into embeddings with reid.h. Needs only this file, numpy and libreid.so.

    from reid import Reid, Index, calibrate, cosine, group

    with Reid("resnet50.safetensors") as reid:
        rows = reid.embed(["ann.png", "bob.png"])              # float32 (2, reid.dim), each row of length 1
        print(cosine(rows[0], rows[1]))                        # how similar the two look
        deer = reid.embed("trap.png", boxes=[(10, 20, 96, 160), (200, 40, 80, 150)])   # a row per box
        hits = Index(rows).search(deer, k=1)                   # the nearest of `rows`, exactly
        print(hits.rows, hits.scores)
        print(group(rows, 0.6).labels)                         # which rows show the same individual, without names

Queue(reid).submit(image) returns a Future at once, and puts the images of many callers into common batches.
calibrate(rows, identities, model=reid) finds the threshold above which two images show the same individual, and
probabilities; import_rows() turns rows of any other program into files that the command reads. These two run the
command `reid` on temporary files.

`make lib` builds the library, `make install` installs it. This file looks for it in this order: the argument `library`,
the environment variable REID_LIBRARY, the folder of this file, the system's folders. The command is that of the
argument `command`, of REID_COMMAND, next to this Python (where pip puts the wheel's), or in PATH.

An image is a path or a PIL image (both need Pillow), or a uint8 array: (h, w, 3) RGB, (h, w, 4) with alpha, which is
ignored, or (h, w) grey. A row has the same bits in any batch, in any order, with any number of threads, and also from
the command `reid embed` (for JPEG files only with the same decoder; PNG and PPM are exact). Embeddings may be compared
if their fingerprints are equal, and a cosine means little before it is calibrated on pairs that you know.

Threads: any number of them may use the same Reid or Index. Other Python threads run during a call, because ctypes
releases the GIL; `lanes` calls compute at the same time, each with `threads` threads, and the others wait their turn.
Processes: a handle does not survive a fork. Using it in the child raises ReidError with the name REID_ERR_FORKED;
create one in each process, or use the "spawn" method of multiprocessing.

Wrong types and shapes raise TypeError and ValueError, files that cannot be read raise OSError, errors of the library
raise ReidError, and errors of the command CommandError.
"""

from __future__ import annotations

import contextlib
import csv
import ctypes
import functools
import itertools
import json
import math
import operator
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import warnings
import weakref
from concurrent.futures import Future
from ctypes import POINTER, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_ssize_t, c_uint64, c_void_p
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

__all__ = ["Reid", "Queue", "Index", "Hits", "Groups", "Calibration", "Imported", "ReidError", "CommandError",
           "calibrate", "cosine", "group", "import_rows"]

VERSION = 100  # REID_VERSION of the reid.h whose structs are declared here; their sizes are also compared

PathLike = Union[str, "os.PathLike[str]"]
Picture = Any  # a path, a PIL.Image.Image, or a numpy array
Boxes = Any  # (x, y, width, height) in pixels from the top left, or a sequence of them, or an array (k, 4)
LogFn = Callable[[int, int, str], None]  # level (0 debug, 1 info, 2 warning), result code, message


class ReidError(Exception):
    """An error of the library, with its message.

    code: the number in reid.h, for example -51. name: its identifier, "REID_ERR_BOX". text: the message, which is also
    str(error).
    """

    def __init__(self, code: int, name: str, text: str) -> None:
        super().__init__(code, name, text)
        self.code, self.name, self.text = code, name, text

    def __str__(self) -> str:
        return self.text


class CommandError(Exception):
    """The command `reid` refused, with its message.

    status: its exit status, or minus the number of the signal that ended it. text: the message, which is also
    str(error).
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)
        self.status, self.text = status, text

    def __str__(self) -> str:
        return self.text


# --- the structs of reid.h, field by field ---------------------------------------------------------------------------

_LOG_FN = ctypes.CFUNCTYPE(None, c_int, c_int, c_char_p, c_void_p)
_DONE_FN = ctypes.CFUNCTYPE(None, c_int, c_void_p)
_EXCLUDE_FN = ctypes.CFUNCTYPE(c_int, c_int, c_size_t, c_void_p)
_STOP_FN = ctypes.CFUNCTYPE(c_int, c_void_p)


class _Error(ctypes.Structure):
    _fields_ = [("code", c_int), ("text", c_char * 2048)]


class _Box(ctypes.Structure):
    _fields_ = [("x", c_int), ("y", c_int), ("width", c_int), ("height", c_int)]


class _Image(ctypes.Structure):
    _fields_ = [
        ("pixels", c_void_p), ("width", c_int), ("height", c_int), ("stride", c_ssize_t), ("format", c_int),
        ("box", POINTER(_Box)),
    ]


class _Info(ctypes.Structure):
    _fields_ = [
        ("version", c_int), ("optimized", c_int), ("network", c_char * 48), ("head", c_char * 32),
        ("head_seed", c_uint64), ("preset", c_char * 32), ("height", c_int), ("width", c_int), ("resize_edge", c_int),
        ("scale", c_double), ("mean", c_double * 3), ("std", c_double * 3), ("bgr", c_int), ("last_stride", c_int),
        ("dim", c_int), ("flip", c_int), ("raw", c_int), ("latency", c_int), ("device", c_char * 16),
        ("chip", c_char * 64), ("filter", c_char * 16), ("isa", c_char * 16), ("precision", c_char * 8),
        ("batch", c_int), ("threads", c_int), ("lanes", c_int), ("parameters", c_int64), ("macs", c_int64),
        ("weight_bytes", c_size_t),
        ("arena_bytes", c_size_t), ("total_bytes", c_size_t), ("fingerprint", c_char * 33),
        ("preprocessing", c_char * 256), ("fallback", c_int),
    ]


class _Rows(ctypes.Structure):
    _fields_ = [("floats", c_void_p), ("halves", c_void_p), ("count", c_size_t), ("dim", c_int), ("groups", c_void_p)]


class _Search(ctypes.Structure):
    _fields_ = [
        ("k", c_int), ("scoring", c_int), ("top", c_int), ("use_threshold", c_int), ("threshold", c_double),
        ("exclude", _EXCLUDE_FN), ("exclude_user", c_void_p),
    ]


class _GroupDesc(ctypes.Structure):
    _fields_ = [
        ("threshold", c_double), ("must_link", c_void_p), ("must_links", c_size_t), ("cannot_link", c_void_p),
        ("cannot_links", c_size_t), ("separate_ids", c_void_p), ("frame_ids", c_void_p), ("stop_fn", _STOP_FN),
        ("stop_user", c_void_p),
    ]


class _Request(ctypes.Structure):
    _fields_ = [
        ("images", POINTER(_Image)), ("n", c_int), ("out", c_void_p), ("priority", c_int), ("deadline_us", c_int64),
        ("done", _DONE_FN), ("user", c_void_p),
    ]


class _QueueDesc(ctypes.Structure):
    _fields_ = [
        ("ctx", c_void_p), ("batch", c_int), ("limit", c_int), ("delay_us", c_int64), ("ageing_us", c_int64),
        ("refuse_late", c_int), ("error", POINTER(_Error)),
    ]


_HIT = np.dtype([("row", np.uint32), ("group", np.uint32), ("score", np.float64)])
_MERGE = np.dtype([("a", np.uint32), ("b", np.uint32), ("must_link", np.int32), ("score", np.float64)], align=True)

_STRUCTS = {  # by their names in C
    "reid_error": _Error, "reid_box": _Box, "reid_image": _Image, "reid_info": _Info, "reid_rows": _Rows,
    "reid_search_desc": _Search, "reid_request": _Request, "reid_queue_desc": _QueueDesc,
    "reid_group_desc": _GroupDesc,
}

_RGB8, _BGR8, _RGBA8, _GRAY8 = range(4)
_ERR_INVALID_ARG, _ERR_FORKED = -1, -5
_INT_MAX = 2**31 - 1

_CHOICES = {  # fields of reid_desc that are enums in C
    "head": ("auto", "none", "file", "seeded"),
    "device": ("auto", "cpu", "cuda"),
    "precision": ("default", "fp32", "fp16", "bf16", "int8"),
    "cpu_isa": ("auto", "scalar", "avx2", "avx512", "avx512_bf16", "amx_bf16", "avx512_vnni", "amx_int8", "neon"),
}
_KINDS: Dict[str, Any] = {  # all fields that are arguments here, which reid_set finds by their names
    **dict.fromkeys(("weights", "network", "preset", "ranges", "kernels_src", "kernels_path", "kernels_pack",
                     "nvrtc_path", "cache_dir"), c_char_p),
    **dict.fromkeys(("height", "width", "last_stride", "flip", "raw", "latency", "allow_unused", "fallback",
                     "device_index", "batch", "threads", "lanes", *_CHOICES), c_int),
    "weights_data": c_void_p, "log_fn": c_void_p, "head_seed": c_uint64, "memory_limit": c_size_t,
}
_FLAGS = ("flip", "raw", "latency", "allow_unused", "fallback")
_SCORINGS = ("rows", "max", "mean", "top")


# --- the library -----------------------------------------------------------------------------------------------------


def _candidates(path: Optional[PathLike]) -> List[str]:
    named = os.fspath(path) if path is not None else os.environ.get("REID_LIBRARY")
    if named:
        return [named]
    here = os.path.dirname(os.path.abspath(__file__))
    beside = [os.path.join(here, name) for name in ("libreid.so.0", "libreid.so")]
    return [name for name in beside if os.path.exists(name)] or ["libreid.so.0", "libreid.so"]


def _library(path: Optional[PathLike] = None) -> ctypes.CDLL:
    """Returns the library, which is loaded once for each place where it can be."""
    return _load(tuple(_candidates(path)))


@functools.lru_cache(maxsize=None)
def _load(candidates: Tuple[str, ...]) -> ctypes.CDLL:
    reasons = []
    for name in candidates:
        try:
            lib = ctypes.CDLL(name)
            break
        except OSError as error:
            reasons.append(str(error))
    else:
        raise OSError(
            "libreid.so cannot be loaded: " + "; ".join(reasons) + ". Build it with `make lib`, then give its path as "
            "`library` or in REID_LIBRARY, or put it next to reid.py"
        )
    if not hasattr(lib, "reid_version"):
        raise OSError(f"{name} is not libreid.so: it has no reid_version")
    if lib.reid_version() // 100 != VERSION // 100 or not hasattr(lib, "reid_size"):
        raise OSError(f"{name} is version {lib.reid_version()} of reid.h, but this reid.py is for {VERSION}: use both "
                      "from the same source tree")
    lib.reid_size.restype, lib.reid_size.argtypes = c_size_t, [c_char_p]
    for struct, kind in _STRUCTS.items():
        if lib.reid_size(struct.encode()) != ctypes.sizeof(kind):
            raise OSError(f"{name} has a different {struct} than this reid.py: use both from the same source tree")
    for function, result, arguments in (
        ("reid_set", c_int, [c_void_p, c_char_p, c_void_p, POINTER(_Error)]),
        ("reid_create", c_int, [c_void_p, POINTER(c_void_p)]),
        ("reid_destroy", None, [c_void_p]),
        ("reid_embed_ex", c_int, [c_void_p, POINTER(_Image), c_int, c_void_p, POINTER(_Error)]),
        ("reid_preprocess", c_int, [c_void_p, POINTER(_Image), c_void_p, POINTER(_Error)]),
        ("reid_query_desc", c_int, [c_void_p, POINTER(_Info)]),
        ("reid_cosine", c_double, [c_void_p, c_void_p, c_int]),
        ("reid_index_create", c_int, [c_void_p, POINTER(_Rows), POINTER(c_void_p)]),
        ("reid_index_grow", c_int, [c_void_p, POINTER(_Rows), POINTER(_Error)]),
        ("reid_index_destroy", None, [c_void_p]),
        ("reid_search", c_int, [c_void_p, c_void_p, c_int, POINTER(_Search), c_void_p, c_void_p, POINTER(_Error)]),
        ("reid_group", c_int, [c_void_p, POINTER(_Rows), POINTER(_GroupDesc), c_void_p, c_void_p, POINTER(c_size_t)]),
        ("reid_queue_create", c_int, [POINTER(_QueueDesc), POINTER(c_void_p)]),
        ("reid_queue_destroy", None, [c_void_p, c_int]),
        ("reid_submit", c_int, [c_void_p, POINTER(_Request), POINTER(c_uint64), POINTER(_Error)]),
        ("reid_cancel", c_int, [c_void_p, c_uint64]),
        ("reid_result_string", c_char_p, [c_int]),
        ("reid_result_name", c_char_p, [c_int]),
    ):
        getattr(lib, function).restype, getattr(lib, function).argtypes = result, arguments
    return lib


def _error(lib: ctypes.CDLL, code: int, text: str = "") -> ReidError:
    return ReidError(code, lib.reid_result_name(code).decode(), text or lib.reid_result_string(code).decode())


def _text(error: _Error) -> str:
    return bytes(error.text).decode(errors="replace")


class _Handle:
    """An object of the library, created for this process. Threads share it; close() waits for those that use it."""

    def __init__(self, lib: ctypes.CDLL, pointer: c_void_p, destroy: Callable[[c_void_p], None]) -> None:
        self._lib, self._pointer, self._pid = lib, pointer, os.getpid()
        self._users, self._closed, self._changed = 0, False, threading.Condition()
        self._destroy = weakref.finalize(self, destroy, pointer)
        self._destroy.atexit = False  # a thread may still be computing at exit; the process's end frees everything

    @contextlib.contextmanager
    def _in_use(self) -> Iterator[c_void_p]:
        if os.getpid() != self._pid:
            raise _error(self._lib, _ERR_FORKED)
        with self._changed:
            if self._closed:
                raise _error(self._lib, _ERR_INVALID_ARG, f"this {type(self).__name__} is closed")
            self._users += 1
        try:
            yield self._pointer
        finally:
            with self._changed:
                self._users -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Frees everything after the calls on other threads have returned. A second call does nothing."""
        if os.getpid() == self._pid:  # in a forked child, no thread might ever release the lock
            with self._changed:
                self._closed = True
                self._changed.wait_for(lambda: self._users == 0)
        self._destroy()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *what: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} belongs to its process and cannot be pickled; create one in each")


# --- reid_desc from keyword arguments --------------------------------------------------------------------------------


def _number(name: str, value: Any, kind: Any) -> int:
    """Returns a whole number that fits in the C type; ctypes alone would truncate it."""
    try:
        number = int(value) if isinstance(value, np.bool_) else operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be a whole number") from None
    signed, bits = kind(-1).value < 0, 8 * ctypes.sizeof(kind)
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    if name in _FLAGS:
        least, most = 0, 1
    if not least <= number <= most:
        raise ValueError(f"{name} is {number}; it must be {least} ... {most}")
    return number


def _chars(name: str, value: Any) -> bytes:
    try:
        chars = os.fsencode(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be a str or a path") from None
    if b"\0" in chars:
        raise ValueError(f"{name} contains a zero byte")
    return chars


def _choice(name: str, value: Any, choices: Sequence[str]) -> int:
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; it must be one of " + ", ".join(choices))
    return choices.index(value)


def _describe(lib: ctypes.CDLL, fields: Dict[str, Any]) -> Tuple[Any, _Error, List[Any]]:
    """Returns a reid_desc, the buffer for its error, and the objects that must live as long as the struct is used."""
    desc, error = ctypes.create_string_buffer(lib.reid_size(b"reid_desc")), _Error()
    keep: List[Any] = []

    def put(name: str, value: Any) -> None:
        keep.append(value)
        code = lib.reid_set(desc, name.encode(), value, error)
        if code:
            raise _error(lib, code, _text(error))

    put("error", ctypes.addressof(error))
    for name, value in fields.items():
        if value is None:
            continue  # the default
        if name == "weights_data":
            data = np.frombuffer(value, np.uint8)
            keep.append(data)
            put(name, data.ctypes.data)
            put("weights_size", str(data.size).encode())
        elif name == "log_fn":
            fn = value
            log = _LOG_FN(lambda level, code, text, _: fn(level, code, text.decode(errors="replace")))
            keep.append(log)
            put(name, ctypes.cast(log, c_void_p))
        elif name in _CHOICES:
            put(name, _CHOICES[name][_choice(name, value, _CHOICES[name])].encode())
        elif _KINDS[name] is c_char_p:
            put(name, _chars(name, value))
        else:
            put(name, str(_number(name, value, _KINDS[name])).encode())
    return desc, error, keep


# --- images and boxes ----------------------------------------------------------------------------------------------


def _pillow() -> Any:
    try:
        from PIL import Image, ImageOps
    except ImportError:
        raise ImportError("reading image files needs Pillow: `pip install pillow`, or give numpy arrays") from None
    return Image, ImageOps


def _is_pil(picture: Any) -> bool:
    image = sys.modules.get("PIL.Image")  # without Pillow there are no such images
    return image is not None and isinstance(picture, image.Image)


def _pil_pixels(image: Any) -> np.ndarray:
    """Returns the pixels as `reid embed` sees them: upright, 8 bits per sample.

    The EXIF orientation counts for a JPEG or PNG just as it was opened; images derived from one are used unchanged.
    """
    kind = image.format
    if kind in ("JPEG", "MPO", "PNG"):
        image = _pillow()[1].exif_transpose(image)
    if image.mode in ("RGB", "RGBA", "L"):
        return np.asarray(image)
    if image.mode.startswith("I;16") or (image.mode == "I" and kind in ("PNG", "PPM")):
        samples = np.asarray(image).astype(np.uint32)
        return ((samples + 128) // 257 if kind == "PPM" else samples >> 8).astype(np.uint8)
    if image.mode in ("I", "F"):
        raise ValueError(f"an image of mode {image.mode} has no known range; convert it to 8 bits first")
    return np.asarray(image.convert("RGB"))


def _pixels(picture: Picture, what: str, bgr: bool) -> Tuple[np.ndarray, int]:
    """Returns an array whose rows are dense, and its reid_format."""
    if isinstance(picture, (str, os.PathLike)):
        with _pillow()[0].open(picture) as image:
            array, bgr = _pil_pixels(image), False
    elif _is_pil(picture):
        array, bgr = _pil_pixels(picture), False
    elif isinstance(picture, np.ndarray):
        array = picture
    else:
        raise TypeError(f"{what} is a {type(picture).__name__}; it must be a path, a PIL image or a numpy array")
    if array.dtype != np.uint8:
        raise TypeError(f"{what} has values of type {array.dtype}; they must be uint8, 0 ... 255")
    channels = array.shape[2] if array.ndim == 3 else 1
    if array.ndim not in (2, 3) or (array.ndim == 3 and channels not in (3, 4)):
        raise ValueError(f"{what} has the shape {array.shape}; it must be (h, w, 3), (h, w, 4) or (h, w)")
    if bgr and channels == 4:
        raise ValueError(f"{what} has four channels, which are RGBA; bgr is for three")
    dense = array.strides[1] == channels and (array.ndim == 2 or array.strides[2] == 1)
    if not dense or array.strides[0] < array.shape[1] * channels:
        array = np.ascontiguousarray(array)
    return array, {1: _GRAY8, 3: _BGR8 if bgr else _RGB8, 4: _RGBA8}[channels]


def _boxes(boxes: Boxes, what: str) -> np.ndarray:
    """Returns int32 (k, 4) from one box, several, or none."""
    try:
        array = np.asarray(boxes)
    except ValueError:
        array = np.empty(0, object)  # rows of different lengths
    if array.size == 0 and array.dtype != object:
        return np.empty((0, 4), np.int32)
    if array.ndim == 1:
        array = array[None]
    if array.dtype.kind not in "iuf" or array.ndim != 2 or array.shape[1] != 4:
        raise ValueError(f"{what} must be x, y, width, height, or a sequence of such boxes, not {boxes!r:.200}")
    if not np.all((array == np.rint(array)) & (abs(array.astype(np.float64)) <= _INT_MAX)):
        raise ValueError(f"{what} must be whole numbers of pixels, not {boxes!r:.200}; round them first")
    return array.astype(np.int32)


def _jobs(images: Any, boxes: Any) -> List[Tuple[Picture, Optional[np.ndarray], str]]:
    """Returns each image with its boxes (None means the whole image) and its name in messages."""
    if isinstance(images, (str, os.PathLike)) or _is_pil(images) or (isinstance(images, np.ndarray) and
                                                                     images.ndim < 4):
        return [(images, None if boxes is None else _boxes(boxes, "boxes"), "the image")]
    if isinstance(images, (bytes, bytearray)) or not isinstance(images, Iterable):
        raise TypeError(f"images is a {type(images).__name__}; give an image (a path, a PIL image or a uint8 array) "
                        "or a sequence of them")
    pictures = list(images)
    if boxes is None:
        return [(picture, None, f"image {i}") for i, picture in enumerate(pictures)]
    each = list(boxes)
    if len(each) != len(pictures):
        raise ValueError(f"boxes has length {len(each)}, but images has length {len(pictures)}; give None for a whole "
                         "image")
    return [
        (picture, None if its is None else _boxes(its, f"boxes[{i}]"), f"image {i}")
        for i, (picture, its) in enumerate(zip(pictures, each))
    ]


def _fill(image: _Image, array: np.ndarray, form: int) -> None:
    image.pixels, image.format = array.ctypes.data, form
    image.height, image.width = (min(side, _INT_MAX) for side in array.shape[:2])
    image.stride = 0 if array.flags.c_contiguous else array.strides[0]


class _Batch:
    """Images that are passed to the library in one call, one per row."""

    def __init__(self) -> None:
        self.arrays: List[np.ndarray] = []  # the images point into them
        self.images: List[_Image] = []
        self.bytes = 0

    def add(self, array: np.ndarray, form: int, boxes: Optional[np.ndarray]) -> None:
        self.arrays.append(array)
        self.bytes += array.nbytes
        for box in [None] if boxes is None else boxes.tolist():
            image = _Image()
            _fill(image, array, form)
            if box is not None:
                image.box = ctypes.pointer(_Box(*box))
            self.images.append(image)


# --- the public classes ----------------------------------------------------------------------------------------------


class Info(NamedTuple):
    """The settings in use, with the defaults filled in; reid.h describes each field."""

    version: int
    optimized: int
    network: str
    head: str
    head_seed: int
    preset: str
    height: int  # of the network's input
    width: int
    resize_edge: int
    scale: float
    mean: Tuple[float, float, float]
    std: Tuple[float, float, float]
    bgr: int
    last_stride: int
    dim: int
    flip: int
    raw: int
    latency: int
    device: str
    chip: str
    filter: str
    isa: str
    precision: str
    batch: int
    threads: int
    lanes: int
    parameters: int
    macs: int
    weight_bytes: int
    arena_bytes: int
    total_bytes: int
    fingerprint: str
    preprocessing: str
    fallback: int


def _plain(value: Any) -> Any:
    """Converts a member of a struct to a Python value."""
    if isinstance(value, bytes):
        return value.decode()
    return tuple(value) if isinstance(value, ctypes.Array) else value


class Reid(_Handle):
    """A network with its weights, ready to compute embeddings.

    weights is the path of a safetensors file (`reid convert` makes one from a PyTorch checkpoint); or give its bytes as
    weights_data. All other arguments except `library` are the fields of reid_desc, which reid.h explains; those that
    are not given, or None, have their defaults. Enums are words: head "auto", "none", "file", "seeded"; device "auto",
    "cpu", "cuda"; precision "default", "fp32", "fp16", "bf16", "int8"; cpu_isa "auto", "scalar", "avx2", ...

    log_fn(level, code, message) is called with notices while the network is created, such as why no GPU is used.
    `info` has the settings in use, field by field: info.network, info.device, info.precision, info.height, ...
    """

    def __init__(
        self,
        weights: Optional[PathLike] = None,
        *,
        weights_data: Any = None,
        network: Optional[str] = None,
        preset: Optional[str] = None,
        height: int = 0,
        width: int = 0,
        last_stride: int = 0,
        head: str = "auto",
        head_seed: int = 0,
        flip: bool = False,
        raw: bool = False,
        latency: bool = False,
        allow_unused: bool = False,
        device: str = "auto",
        device_index: int = 0,
        precision: str = "default",
        ranges: Optional[PathLike] = None,
        fallback: bool = False,
        cpu_isa: str = "auto",
        batch: int = 0,
        threads: int = 0,
        lanes: int = 0,
        memory_limit: int = 0,
        kernels_src: Optional[str] = None,
        kernels_path: Optional[PathLike] = None,
        kernels_pack: Optional[PathLike] = None,
        nvrtc_path: Optional[PathLike] = None,
        cache_dir: Optional[PathLike] = None,
        log_fn: Optional[LogFn] = None,
        library: Optional[PathLike] = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name in _KINDS}
        lib, pointer, info = _library(library), c_void_p(), _Info()
        desc, error, self._keep = _describe(lib, given)
        code = lib.reid_create(desc, pointer)
        if code:
            raise _error(lib, code, _text(error))
        super().__init__(lib, pointer, lib.reid_destroy)
        self._queues: "weakref.WeakSet[Queue]" = weakref.WeakSet()
        lib.reid_query_desc(pointer, info)
        self.info = Info(*(_plain(getattr(info, name)) for name in Info._fields))

    def close(self) -> None:
        """Frees everything after its queues have computed all accepted requests and other calls have returned."""
        for queue in list(self._queues):
            queue.close()
        super().close()

    @property
    def dim(self) -> int:
        """The number of floats in an embedding."""
        return self.info.dim

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits: embeddings of different fingerprints must not be compared."""
        return self.info.fingerprint

    def embed(self, images: Any, boxes: Any = None, *, bgr: bool = False) -> np.ndarray:
        """Returns embeddings: float32 (n, dim), rows of length 1 unless the Reid was created with raw=True.

        images: one image, or a sequence of images, or an array (n, h, w, 3).
        boxes: None gives one row per image. For one image, boxes (x, y, width, height) in pixels from the top left
        corner give one row each. For a sequence of images, give a sequence of the same length: the boxes of each image,
        or None for the whole image; the rows come image by image. Boxes are clipped to the image; a box entirely
        outside it is an error.
        bgr: arrays with three channels are BGR, as in OpenCV.

        One bad image fails the whole call. Files are decoded as they are needed, so a long list takes little memory.
        """
        jobs = _jobs(images, boxes)
        out = np.zeros((sum(1 if its is None else len(its) for _, its, _ in jobs), self.dim), np.float32)
        most_rows, most_bytes = 8 * self.info.batch, 1 << 28
        done, batch = 0, _Batch()
        with self._in_use() as pointer:
            for at, (picture, its, what) in enumerate(jobs):
                batch.add(*_pixels(picture, what, bgr), its)
                if len(batch.images) >= most_rows or batch.bytes >= most_bytes or at + 1 == len(jobs):
                    self._compute(pointer, batch, out, done)
                    done += len(batch.images)
                    batch = _Batch()
        return out

    def _compute(self, pointer: c_void_p, batch: _Batch, out: np.ndarray, first: int) -> None:
        error, n = _Error(), len(batch.images)
        code = self._lib.reid_embed_ex(pointer, (_Image * n)(*batch.images), n, out[first:].ctypes.data, error)
        if code:  # "image 3: ..." counts from the batch's first row
            text = re.sub(r"^image (\d+)", lambda found: f"row {int(found[1]) + first}", _text(error))
            raise _error(self._lib, code, text)

    def preprocess(self, image: Picture, box: Boxes = None, *, bgr: bool = False) -> np.ndarray:
        """Returns what the network would see of an image or of one box in it: uint8 (height, width, 3), RGB."""
        jobs = _jobs(image, box)
        its = jobs[0][1] if jobs else None
        if len(jobs) != 1 or (its is not None and len(its) != 1):
            raise ValueError("preprocess takes one image and at most one box")
        out, error, batch = np.zeros((self.info.height, self.info.width, 3), np.uint8), _Error(), _Batch()
        with self._in_use() as pointer:
            batch.add(*_pixels(jobs[0][0], "the image", bgr), its)
            code = self._lib.reid_preprocess(pointer, batch.images[0], out.ctypes.data, error)
        if code:
            raise _error(self._lib, code, _text(error))
        return out

    def __repr__(self) -> str:
        i = self.info
        return f"<Reid {i.network}, {i.dim} floats, {i.precision} on {i.device} ({i.isa}), {i.fingerprint}>"


class Queue(_Handle):
    """Computes the images of many callers in common batches: submit() returns a concurrent.futures.Future at once.

        with Reid("resnet50.safetensors") as reid, Queue(reid, limit=256) as queue:
            futures = [queue.submit(crop, deadline_us=200_000) for crop in crops]
            rows = [future.result() for future in futures]                   # each equal to reid.embed(crop)

    The arguments are the fields of reid_queue_desc, which reid.h explains. close() computes all accepted requests.
    """

    def __init__(
        self,
        reid: Reid,
        *,
        batch: int = 0,
        limit: int = 0,
        delay_us: int = 0,
        ageing_us: int = 0,
        refuse_late: bool = False,
    ) -> None:
        lib, pointer, error = reid._lib, c_void_p(), _Error()
        desc = _QueueDesc(
            batch=_number("batch", batch, c_int), limit=_number("limit", limit, c_int),
            delay_us=_number("delay_us", delay_us, c_int64), ageing_us=_number("ageing_us", ageing_us, c_int64),
            refuse_late=bool(refuse_late), error=ctypes.pointer(error),
        )
        pending: Dict[int, Tuple[Any, ...]] = {}  # by number: what each unfinished request borrows

        def over(code: int, number: int) -> None:  # on a thread of the library
            future, out, *_ = pending.pop(number)
            if not future.set_running_or_notify_cancel():
                return
            if code:
                future.set_exception(_error(lib, code))
            else:
                future.set_result(out)

        done = _DONE_FN(over)

        def destroy(queue: c_void_p, done: Any = done) -> None:  # keeps the callback alive
            lib.reid_queue_destroy(queue, -1)

        with reid._in_use() as ctx:
            desc.ctx = ctx.value
            code = lib.reid_queue_create(desc, pointer)
        if code:
            raise _error(lib, code, _text(error))
        self._reid, self._pending, self._done, self._numbers = reid, pending, done, itertools.count(1)
        super().__init__(lib, pointer, destroy)
        reid._queues.add(self)

    def submit(
        self, images: Any, boxes: Any = None, *, bgr: bool = False, priority: int = 0, deadline_us: int = 0
    ) -> "Future[np.ndarray]":
        """Returns a Future of what Reid.embed returns for the same images and boxes, at least one.

        priority: -3 (first) ... 4 (last). deadline_us: microseconds within which it must be computed; 0: no deadline.
        After the deadline, the Future's exception is a ReidError with the name REID_ERR_EXPIRED. The Future's cancel()
        cancels the request. If the queue is full, this raises ReidError with the name REID_ERR_FULL; try again later.
        Arrays are borrowed until the Future is done. Callbacks of the Future run on a thread of the library and should
        return soon.
        """
        batch, future, error, ticket = _Batch(), Future(), _Error(), c_uint64()  # type: ignore
        for picture, its, what in _jobs(images, boxes):
            batch.add(*_pixels(picture, what, bgr), its)
        n, number = len(batch.images), next(self._numbers)
        out, table = np.zeros((n, self._reid.dim), np.float32), (_Image * n)(*batch.images)
        request = _Request(
            images=table, n=n, out=out.ctypes.data, priority=_number("priority", priority, c_int),
            deadline_us=_number("deadline_us", deadline_us, c_int64), done=self._done, user=number,
        )
        self._pending[number] = future, out, batch, table
        code = _ERR_INVALID_ARG
        try:
            with self._in_use() as pointer:
                code = self._lib.reid_submit(pointer, request, ticket, error)
        finally:
            if code:
                del self._pending[number]
        if code:
            raise _error(self._lib, code, _text(error))
        future.add_done_callback(lambda its: self._give_up(ticket) if its.cancelled() else None)
        return future

    def _give_up(self, ticket: c_uint64) -> None:
        with contextlib.suppress(ReidError), self._in_use() as pointer:  # if the queue is closed, the request is over
            self._lib.reid_cancel(pointer, ticket)

    def __repr__(self) -> str:
        return f"<Queue of {self._reid!r}, {len(self._pending)} requests>"


def _table(rows: Any) -> Tuple[np.ndarray, _Rows]:
    """Returns rows as an array that C can read, which must outlive the struct, and the struct."""
    half = getattr(rows, "dtype", None) == np.float16
    table = np.ascontiguousarray(rows, np.float16 if half else np.float32)
    if table.ndim != 2:
        raise ValueError(f"rows has the shape {table.shape}; it must be (count, dim)")
    what = _Rows(count=len(table), dim=min(table.shape[1], _INT_MAX))
    setattr(what, "halves" if half else "floats", table.ctypes.data)
    return table, what


class Hits(NamedTuple):
    """The results of a search, (n, k) each, best first; unused entries are -1, -1 and NaN."""

    rows: np.ndarray  # int64: the row; for a group, its best row
    groups: np.ndarray  # int64: the row's group; without groups, the row again
    scores: np.ndarray  # float64
    found: np.ndarray  # (n,): the number of entries in use


class Index(_Handle):
    """Embeddings to search in, exactly: every row is compared, with the result of a sort in double precision.

    rows: (count, dim), float16 or convertible to float32. groups: a whole number for each row; rows with equal numbers
    belong together (one identity with several templates). A C-contiguous float32 or float16 array is borrowed, not
    copied: do not change it until the Index is closed. The other arguments are as for Reid.
    """

    def __init__(
        self,
        rows: Any,
        groups: Any = None,
        *,
        device: str = "auto",
        device_index: int = 0,
        cpu_isa: str = "auto",
        threads: int = 0,
        memory_limit: int = 0,
        kernels_src: Optional[str] = None,
        kernels_path: Optional[PathLike] = None,
        kernels_pack: Optional[PathLike] = None,
        nvrtc_path: Optional[PathLike] = None,
        cache_dir: Optional[PathLike] = None,
        log_fn: Optional[LogFn] = None,
        library: Optional[PathLike] = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name in _KINDS}
        table, what = _table(rows)
        self.count, self.dim = table.shape
        numbers = self._groups(groups, what)
        lib, pointer = _library(library), c_void_p()
        desc, error, keep = _describe(lib, given)
        self._keep, self._growing = (keep, table, numbers), threading.Lock()
        code = lib.reid_index_create(desc, what, pointer)
        if code:
            raise _error(lib, code, _text(error))
        super().__init__(lib, pointer, lib.reid_index_destroy)

    @staticmethod
    def _groups(groups: Any, what: _Rows) -> Optional[np.ndarray]:
        """Gives the rows of `what` their groups, which must outlive it."""
        if groups is None:
            return None
        numbers = np.asarray(groups)
        if numbers.shape != (what.count,) or (what.count and numbers.dtype.kind not in "iu"):
            raise ValueError(f"groups must be {what.count} whole numbers, one per row")
        if what.count and (numbers.min() < 0 or numbers.max() >= 2**32):
            raise ValueError("groups must be 0 ... 4294967295")
        numbers = np.ascontiguousarray(numbers, np.uint32)
        what.groups = numbers.ctypes.data
        return numbers

    def grow(self, rows: Any, groups: Any = None) -> None:
        """Adds rows, in much less time than making another Index; searches on other threads come before or after it.

        rows: all rows, first those of the Index, unchanged, then the new ones; of the same dim and precision.
        groups: for all rows, if the Index has groups. After an error, the Index has the rows it had.
        """
        table, what = _table(rows)
        numbers, error = self._groups(groups, what), _Error()
        with self._growing, self._in_use() as pointer:
            code = self._lib.reid_index_grow(pointer, what, error)
            if code:
                raise _error(self._lib, code, _text(error))
            self._keep, self.count = (self._keep[0], table, numbers), len(table)

    def search(
        self,
        queries: Any,
        k: int = 10,
        *,
        scoring: str = "rows",
        top: int = 3,
        threshold: Optional[float] = None,
        exclude: Optional[Callable[[int, int], bool]] = None,
    ) -> Hits:
        """Finds the k best rows or groups for each query, by inner product; for equal scores the lower row comes first.

        queries: (n, dim), or (dim,) for one.
        scoring: "rows" finds rows. The others find groups, by their best row ("max"), by the mean of all their rows
        ("mean"), or by the mean of the `top` best rows ("top").
        threshold: returns only scores of at least this value.
        exclude(query, row): returns True to skip this row for this query (because it is the same image, ...). It is
        called for many pairs, on other threads, perhaps more than once, and must always return the same.
        """
        asked = np.ascontiguousarray(queries, np.float32)
        asked = asked[None] if asked.ndim == 1 else asked
        if asked.ndim != 2 or asked.shape[1] != self.dim:
            raise ValueError(f"queries has the shape {np.shape(queries)}; it must be (n, {self.dim})")
        if _number("k", k, c_int) < 1:
            raise ValueError(f"k is {k}; it must be at least 1")
        n, k = len(asked), max(1, min(k, self.count))
        want = _Search(k=k, scoring=_choice("scoring", scoring, _SCORINGS), top=_number("top", top, c_int))
        if threshold is not None:
            want.use_threshold, want.threshold = 1, threshold
        raised: List[BaseException] = []

        def excluded(query: int, row: int, _: Any) -> int:
            try:
                return bool(exclude and exclude(query, row))
            except BaseException as error:  # C code would lose it
                raised.append(error)
                return 1

        if exclude is not None:
            want.exclude = _EXCLUDE_FN(excluded)
        hits, found, error = np.zeros((n, k), _HIT), np.zeros(n, np.int32), _Error()
        with self._in_use() as pointer:
            code = self._lib.reid_search(
                pointer, asked.ctypes.data, n, want, hits.ctypes.data, found.ctypes.data, error
            )
        if raised:
            raise raised[0]
        if code:
            raise _error(self._lib, code, _text(error))
        used = np.arange(k) < found[:, None]
        rows, groups = (np.where(used, hits[name].astype(np.int64), -1) for name in ("row", "group"))
        return Hits(rows, groups, np.where(used, hits["score"], np.nan), found)

    def __len__(self) -> int:
        return int(self.count)

    def __repr__(self) -> str:
        return f"<Index of {self.count} rows of {self.dim} floats>"


class Groups(NamedTuple):
    """Rows of the same individual, and how they were joined: the arrays after labels have an entry for each join."""

    labels: np.ndarray  # (count,), int64: the group of each row, numbered in the order of their first rows
    a: np.ndarray  # int64: the first row of a group
    b: np.ndarray  # int64: the first row of the group that joined it, above a
    scores: np.ndarray  # float64: the mean cosine between the two groups' rows
    must_link: np.ndarray  # bool: they were joined because of a must_link


def _numbers(name: str, values: Any, shape: Tuple[int, ...], most: int) -> np.ndarray:
    """Returns whole numbers from 0 to `most` as uint32; with a `most` of 2**32 - 1, -1 means that one."""
    given = np.asarray(values)
    if given.size == 0:
        given = given.reshape(shape).astype(np.int64)
    if given.shape != shape or given.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers of the shape {shape}, not {given.dtype} {given.shape}")
    least = -1 if most == 2**32 - 1 else 0
    if given.size and (given.min() < least or given.max() > most):
        raise ValueError(f"{name} must be {least} ... {most}")
    return np.ascontiguousarray(given.astype(np.int64) & 0xFFFFFFFF, np.uint32)


def group(
    rows: Any,
    threshold: float,
    *,
    must_link: Any = None,
    cannot_link: Any = None,
    separate_ids: Any = None,
    frame_ids: Any = None,
    stop: Optional[Callable[[], bool]] = None,
    device: str = "auto",
    device_index: int = 0,
    cpu_isa: str = "auto",
    threads: int = 0,
    memory_limit: int = 0,
    kernels_src: Optional[str] = None,
    kernels_path: Optional[PathLike] = None,
    kernels_pack: Optional[PathLike] = None,
    nvrtc_path: Optional[PathLike] = None,
    cache_dir: Optional[PathLike] = None,
    log_fn: Optional[LogFn] = None,
    library: Optional[PathLike] = None,
) -> Groups:
    """Groups rows without names, by average linkage, exactly: the two groups with the highest mean cosine are joined
    as long as it is at least `threshold`. The result equals scipy's linkage(rows, "average", "cosine").

    rows: (count, dim), float16 or convertible to float32; their lengths do not matter, but none may be zero.
    must_link, cannot_link: pairs of rows, (n, 2), of the same group whatever their score, or of groups that are never
    joined. separate_ids: a number for each row; groups with rows of different numbers are never joined (individuals
    that are known to differ). frame_ids: a number for each row; rows of one number are never in one group (crops of one
    image). -1 in either: no constraint for this row.
    stop(): is asked now and then, and returns True to end with ReidError REID_ERR_CANCELLED.
    """
    given = {name: value for name, value in locals().items() if name in _KINDS}
    table, what = _table(rows)
    count, lib = len(table), _library(library)
    want = _GroupDesc(threshold=threshold)
    keep: List[Any] = []
    for name, pairs in (("must_link", must_link), ("cannot_link", cannot_link)):
        if pairs is not None and len(pairs):
            keep.append(_numbers(name, pairs, (len(pairs), 2), max(0, count - 1)))
            setattr(want, name, keep[-1].ctypes.data)
            setattr(want, name + "s", len(pairs))
    for name, ids in (("separate_ids", separate_ids), ("frame_ids", frame_ids)):
        if ids is not None:
            keep.append(_numbers(name, ids, (count,), 2**32 - 1))
            setattr(want, name, keep[-1].ctypes.data)
    raised: List[BaseException] = []

    def stops(_: Any) -> int:
        try:
            return bool(stop and stop())
        except BaseException as error:  # C code would lose it
            raised.append(error)
            return 1

    if stop is not None:
        want.stop_fn = _STOP_FN(stops)
    labels, merges, merged = np.zeros(count, np.uint32), np.zeros(count, _MERGE), c_size_t()
    desc, error, described = _describe(lib, given)
    code = lib.reid_group(desc, what, want, labels.ctypes.data, merges.ctypes.data, merged)
    del described, keep
    if raised:
        raise raised[0]
    if code:
        raise _error(lib, code, _text(error))
    joins = merges[: merged.value]
    return Groups(labels.astype(np.int64), joins["a"].astype(np.int64), joins["b"].astype(np.int64),
                  joins["score"].copy(), joins["must_link"] != 0)


def cosine(a: Any, b: Any, *, library: Optional[PathLike] = None) -> float:
    """Returns the cosine of two embeddings, -1 ... 1, computed in double precision; 0 if one of them is zero."""
    first, second = np.ascontiguousarray(a, np.float32), np.ascontiguousarray(b, np.float32)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"cosine needs two vectors of equal length, not shapes {first.shape} and {second.shape}")
    return float(_library(library).reid_cosine(first.ctypes.data, second.ctypes.data, first.size))


# --- what the command does -------------------------------------------------------------------------------------------


def _command(given: Optional[PathLike]) -> str:
    """Returns the path of the command, which must be of the version of this file."""
    named = os.fspath(given) if given is not None else os.environ.get("REID_COMMAND")
    beside = os.path.join(sysconfig.get_path("scripts"), "reid")
    path = named or (beside if os.path.exists(beside) else shutil.which("reid"))
    if not path:
        raise OSError("the command reid was not found: give its path as `command` or in REID_COMMAND, or put it into "
                      "PATH; `make` builds build/reid, and the wheel has it")
    return _checked(path)


@functools.lru_cache(maxsize=None)
def _checked(path: str) -> str:
    try:
        told = subprocess.run([path, "version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False).stdout.decode(errors="replace").strip()
    except OSError as error:
        raise OSError(f"the command {path} cannot be started: {error.strerror}") from None
    wanted = f"reid {VERSION // 10000}.{VERSION // 100 % 100}.{VERSION % 100}"
    if told.rsplit(".", 1)[0] != wanted.rsplit(".", 1)[0]:
        raise OSError(f"{path} is not {wanted}: `{path} version` prints {told[:80]!r}")
    return path


def _run(command: Optional[PathLike], folder: str, *arguments: str) -> Tuple[str, List[str]]:
    """Runs the command on files in a temporary folder. Returns what it prints, and its messages."""
    done = subprocess.run([_command(command), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    said = re.sub(re.escape(folder + os.sep) + r"(\w+)\.\w+", r"\1", done.stderr.decode(errors="replace"))
    said = said.replace("--force replaces", "force=True replaces")
    lines = [re.sub("^reid: ", "", line) for line in said.splitlines()]
    if done.returncode:
        raise CommandError(done.returncode, "\n".join(lines) or f"reid {arguments[0]} ended with {done.returncode}")
    return done.stdout.decode(), lines


def _words(name: str, values: Any, count: int) -> Optional[List[str]]:
    """Returns the values as a list of texts, one for each row, or None if no values were given."""
    if values is None:
        return None
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} is a {type(values).__name__}; it must be a sequence with a text for each row")
    words = [str(value) for value in values]
    if len(words) != count:
        raise ValueError(f"{name} has length {len(words)}, but rows has length {count}")
    return words


def _plain_rows(rows: Any) -> np.ndarray:
    table = np.asarray(rows)
    if table.dtype not in (np.float16, np.float32, np.float64):
        table = table.astype(np.float64)
    if table.ndim != 2:
        raise ValueError(f"rows has the shape {table.shape}; it must be (count, dim)")
    return table


class Imported(NamedTuple):
    """What import_rows has written."""

    path: str
    rows: int
    dim: int
    model: str
    fingerprint: str  # made from the model's name: only rows of the same name can be compared
    identities: int  # how many different ones


def import_rows(
    path: PathLike,
    rows: Any,
    names: Any = None,
    *,
    model: str,
    identities: Any = None,
    cameras: Any = None,
    times: Any = None,
    force: bool = False,
    command: Optional[PathLike] = None,
) -> Imported:
    """Writes rows that another program computed as files that the command reads, like `reid import`.

    path: FILE.npy (with FILE.ids.txt and FILE.meta.json beside it), FILE.jsonl or FILE.csv, replaced only if such a
    command wrote it, or with force=True.
    rows: (count, dim), each of which is scaled to length 1.
    names: a text for each row, usually the path of its image; None: their numbers. identities, cameras, times: a text
    for each row, which may be empty; a time is like 2024-05-31T06:00:00.
    model: the name of the model that made the rows, with its version: rows of other names are never compared with them.
    """
    table, out = _plain_rows(rows), os.path.abspath(os.fspath(path))
    if not out.endswith((".npy", ".jsonl", ".csv")):
        raise ValueError(f"path is {os.fspath(path)!r}; it must end in .npy, .jsonl or .csv")
    if not isinstance(model, str) or not model:
        raise TypeError(f"model is {model!r}; it must be the name of the model that made the rows")
    count = len(table)
    columns = {"path": _words("names", names, count) or [str(i) for i in range(count)]}
    for name, header, values in (("identities", "identity", identities), ("cameras", "camera", cameras),
                                 ("times", "time", times)):
        words = _words(name, values, count)
        if words is not None:
            columns[header] = words
    with tempfile.TemporaryDirectory(prefix="reid-") as folder:
        given, listed = os.path.join(folder, "rows.npy"), os.path.join(folder, "names.csv")
        np.save(given, table, allow_pickle=False)
        with open(listed, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values()))
        told, _ = _run(command, folder, "import", given, "--ids", listed, f"--model={model}", "-q", "--json",
                       *["--force"] * bool(force), "-o", out)
    summary = json.loads(told)
    return Imported(os.fspath(path), *(summary[name] for name in Imported._fields[1:]))


Interval = Tuple[float, float]  # 95 %; nan if there are too few identities


class Calibration(NamedTuple):
    """What the scores of a model mean. calibrate() makes one, Calibration.read() reads one that was saved."""

    threshold: float  # two images with at least this score show the same individual, with false matches of rate fmr
    threshold_interval: Interval
    fmr: float  # the share of pairs of two individuals that may be accepted
    tmr: float  # the share of pairs of one individual that is accepted at the threshold
    tmr_interval: Interval
    eer: float  # the equal error rate
    eer_interval: Interval
    prior: float  # the share of pairs that show one individual, for probabilities
    method: str  # of probability(): "logistic" or "isotonic"
    genuine: int  # pairs of one individual that were used
    impostor: int  # pairs of two
    identities: int
    curve: Tuple[float, float]  # slope and intercept of the logistic curve
    steps: Tuple[Tuple[float, ...], Tuple[float, ...]]  # scores and their isotonic probabilities, linear in between
    text: str  # the content of the file for `reid match --calibration`

    def probability(self, scores: Any) -> np.ndarray:
        """The probability that two images with this score show the same individual, for each score."""
        asked = np.asarray(scores, np.float64)
        if self.method == "isotonic":
            return np.interp(asked, *self.steps)
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-(self.curve[0] * asked + self.curve[1])))

    def save(self, path: PathLike) -> None:
        """Writes the file for `reid match --calibration`. An existing file is replaced."""
        temporary = os.fspath(path) + ".part"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(self.text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)

    @staticmethod
    def read(path: PathLike) -> "Calibration":
        """Reads what save() or `reid calibrate` has written. ValueError: it is another file."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            return _calibration(text)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{os.fspath(path)} is not a file of reid calibrate: {error}") from None


def _calibration(text: str) -> Calibration:
    whole = json.loads(text)
    if whole["format"] != "reid-calibration" or whole["format_version"] != 1:
        raise ValueError("its format is another one")
    score, pairs = whole["score"], whole["pairs"]

    def interval(key: str) -> Interval:
        low, high = (math.nan if end is None else float(end) for end in score[key])
        return low, high

    return Calibration(
        whole["threshold"], interval("threshold_interval"), whole["fmr"], score["tmr"], interval("tmr_interval"),
        score["eer"], interval("eer_interval"), whole["prior"], whole["method"], pairs["genuine"], pairs["impostor"],
        pairs["identities"], (score["logistic"]["slope"], score["logistic"]["intercept"]),
        (tuple(score["isotonic"]["score"]), tuple(score["isotonic"]["probability"])), text,
    )


def _write_embeddings(path: str, table: np.ndarray, facts: Dict[str, List[str]], info: Info) -> None:
    """Writes rows of our own model as `reid embed` does: FILE.npy, and what it says about them."""
    np.save(path, table.astype(np.float32), allow_pickle=False)
    beside = path[:-4]
    with open(beside + ".ids.txt", "w", encoding="utf-8") as file:
        file.writelines(f"{i}\n" for i in range(len(table)))
    model = {name: getattr(info, name) for name in ("fingerprint", "network", "preset", "precision", "dim")}
    with open(beside + ".meta.json", "w", encoding="utf-8", errors="surrogateescape") as file:
        json.dump({"format": "reid-embeddings", "format_version": 1, "rows": len(table), "dim": table.shape[1],
                   "models": [model], **facts}, file)


def calibrate(
    rows: Any,
    identities: Any,
    *,
    model: Union[Reid, str],
    cameras: Any = None,
    unknown: Optional[str] = None,
    leave_out: str = "auto",
    fmr: float = 0.001,
    prior: float = 0.5,
    method: str = "logistic",
    draws: int = 0,
    threads: int = 0,
    command: Optional[PathLike] = None,
) -> Calibration:
    """Learns from labelled rows what scores mean, like `reid calibrate`, whose help explains the method.

    Use images of individuals that are neither in your gallery nor in the training set. What the command warns of, such
    as too few pairs, is a UserWarning.

    rows: (count, dim). identities: whom each row shows. cameras: which camera took it.
    model: the Reid that computed the rows; or the name of another model, as for import_rows. The calibration is for
    this model alone.
    unknown: the identity of rows that show strangers. leave_out: "picture" never compares a row with itself, "camera"
    nor with rows of the same identity and camera; "auto" means camera if all cameras are known.
    fmr: the share of pairs of two individuals that may be accepted. prior: the share of compared pairs that show one
    individual; in a search of a large gallery it is far below one half. method: "logistic" or "isotonic", which needs
    many pairs. draws: from which the intervals are computed; 0: the command chooses. threads: 0 means all CPUs.
    """
    for name, share in (("fmr", fmr), ("prior", prior)):
        if not 0 < share < 1:
            raise ValueError(f"{name} is {share!r}; it must be between 0 and 1")
    _choice("method", method, ("logistic", "isotonic"))
    _choice("leave_out", leave_out, ("auto", "camera", "picture"))
    table = _plain_rows(rows)
    names, taken = _words("identities", identities, len(table)), _words("cameras", cameras, len(table))
    if names is None:
        raise TypeError("identities is None; give whom each row shows")
    options = [f"--leave-out={leave_out}", f"--fmr={float(fmr)!r}", f"--prior={float(prior)!r}", f"--method={method}"]
    options += [f"--draws={_number('draws', draws, c_int)}"] * bool(draws)
    options += [f"--threads={_number('threads', threads, c_int)}"] * bool(threads)
    options += [] if unknown is None else [f"--unknown={unknown}"]
    with tempfile.TemporaryDirectory(prefix="reid-") as folder:
        given, out = os.path.join(folder, "rows.npy"), os.path.join(folder, "calibration.json")
        if isinstance(model, Reid):
            if table.shape[1] != model.dim:
                raise ValueError(f"rows has the shape {table.shape}; those of this model have {model.dim} floats")
            facts = {"identities": names} if taken is None else {"identities": names, "cameras": taken}
            _write_embeddings(given, table, facts, model.info)
        else:
            import_rows(given, table, model=model, identities=names, cameras=taken, command=command)
        _, said = _run(command, folder, "calibrate", given, *options, "-o", out)
        with open(out, encoding="utf-8") as file:
            text = file.read()
    for line in said:
        warnings.warn(line, stacklevel=2)
    return _calibration(text)
