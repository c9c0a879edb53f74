"""files_decode.py: measures how many JPEG photographs per second libturbojpeg decodes: the limit for any program that
needs their pixels.

    python files_decode.py FOLDER THREADS
"""
import concurrent.futures
import ctypes
import os
import sys
import threading
import time

PIXELS_RGB, ACCURATE_DCT = 0, 4096


def main():
    library = ctypes.CDLL("libturbojpeg.so.0")
    library.tjInitDecompress.restype = ctypes.c_void_p
    here = threading.local()
    files = []
    for entry in sorted(os.scandir(sys.argv[1]), key=lambda e: e.name):
        with open(entry.path, "rb") as f:
            files.append(f.read())

    def decode(data):
        if not hasattr(here, "handle"):
            here.handle, here.room = ctypes.c_void_p(library.tjInitDecompress()), b""
        width, height, other = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        library.tjDecompressHeader3(here.handle, data, ctypes.c_ulong(len(data)), ctypes.byref(width),
                                    ctypes.byref(height), ctypes.byref(other), ctypes.byref(other))
        size = 3 * width.value * height.value
        if len(here.room) != size:
            here.room = ctypes.create_string_buffer(size)
        if library.tjDecompress2(here.handle, data, ctypes.c_ulong(len(data)), here.room, width, 0, height, PIXELS_RGB,
                                 ACCURATE_DCT):
            raise RuntimeError("tjDecompress2")

    with concurrent.futures.ThreadPoolExecutor(int(sys.argv[2])) as pool:
        decoded, began = 0, time.perf_counter()
        while decoded < 2 * len(files) or time.perf_counter() - began < 1:
            list(pool.map(decode, files))
            decoded += len(files)
    print(decoded / (time.perf_counter() - began))


if __name__ == "__main__":
    main()
