"""Builds Python's packages of reid.h: a wheel, or an sdist from which pip builds the same wheel.

    python3 tools/wheel/wheel.py wheel [--arch x86_64|aarch64] [--zig|--cc] [-o FOLDER]
    python3 tools/wheel/wheel.py sdist [-o FOLDER]

A wheel has the module reid (examples/python/reid.py, with its types), libreid.so and the command reid. With zig (from
PyPI: ziglang) they run with glibc 2.17 and newer, and the wheel is called manylinux_2_17; else the compiler cc makes
one for this system alone. The command never has an HTTP server, because libmicrohttpd is not part of every Linux;
`reid worker` is there. A second build makes the same bytes.

It is also the build backend (PEP 517) of the sdist. Needs Python 3.9 and nothing else."""
import argparse
import base64
import concurrent.futures
import glob
import gzip
import hashlib
import importlib.util
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLDEST = (2, 17)  # glibc of manylinux_2_17
DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can state
FLAGS = ["-std=c99", "-O2", "-g0", "-fPIC", "-D_GNU_SOURCE", "-DREID_NO_HTTP", "-pthread", "-w"]
WRAPS = {"tools/pictures/stb_image_impl.c", "tools/pictures/thumbnail.c"}  # as in the Makefile


def read(path):
    with open(os.path.join(ROOT, path), "rb") as file:
        return file.read()


def version():
    return re.search(r'^.define REID_VERSION_STRING "(.*)"', read("reid.h").decode(), re.M).group(1)


def fail(what):
    sys.exit("wheel.py: " + what)


# --- compiling --------------------------------------------------------------------------------------------------------

def compiler(arch, choice):
    """(the words that call it, the wheel's tag of the platform)"""
    if choice != "cc" and importlib.util.find_spec("ziglang"):
        target = "%s-linux-gnu.%d.%d" % ((arch,) + OLDEST)
        return [sys.executable, "-m", "ziglang", "cc", "-target", target], "manylinux_%d_%d_%s" % (OLDEST + (arch,))
    if choice == "zig":
        fail("zig was not found: pip install ziglang")
    if arch != platform.machine():
        fail("%s needs zig: pip install ziglang" % arch)
    return os.environ.get("CC", "cc").split(), "linux_" + arch


def sources():
    rooms = re.search(r"^ROOMS = ((?:.*\\\n)*.*)", read("Makefile").decode(), re.M).group(1).replace("\\", " ").split()
    found = ["tools/reid.c"]
    for room in rooms:
        found += sorted(glob.glob("tools/%s/*.c" % room, root_dir=ROOT) if sys.version_info >= (3, 10) else
                        (os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, "tools", room, "*.c"))))
    return found


def write_bytes(folder):
    """What the Makefile makes: the bytes of kernels, pages and tables, which sources include."""
    paths = ["reid_kernels.cu"] + [os.path.relpath(p, ROOT) for ending in ("html", "css", "js", "svg", "json")
                                   for p in glob.glob(os.path.join(ROOT, "tools/*/*." + ending))]
    paths += [os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, "tools/*/*/*.sql"))]
    for path in paths:
        name = "reid_kernels.bytes" if path == "reid_kernels.cu" else path[len("tools/"):] + ".bytes"
        to = os.path.join(folder, "build", name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(to, "w") as file:
            file.write(",".join("0x%02x" % byte for byte in read(path)) + ",\n")


def stb(folder):
    """The folder of stb_image.h alone: with all of /usr/include, zig would read the headers of this system's glibc."""
    for prefix in ("/usr/include", "/usr/local/include", os.environ.get("STB_INCLUDE", "")):
        if prefix and os.path.exists(os.path.join(prefix, "stb", "stb_image.h")):
            shutil.copytree(os.path.join(prefix, "stb"), os.path.join(folder, "stb"), dirs_exist_ok=True)
            return folder
    fail("stb/stb_image.h was not found: install libstb-dev (Debian, Ubuntu), or set STB_INCLUDE to the folder of stb/")


def call(words):
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        fail("%s\n%s" % (" ".join(words), done.stdout.decode(errors="replace")))


def compile_all(cc, folder):
    """Returns the paths of libreid.so and the command. Objects that are newer than all sources are kept."""
    shutil.rmtree(os.path.join(folder, "made"), ignore_errors=True)
    made = os.path.join(folder, "made")
    write_bytes(made)
    # Relative paths, because assert puts them into the objects.
    includes = ["-I" + os.path.relpath(made, ROOT), "-I.", "-Itools", "-isystem",
                os.path.relpath(stb(os.path.join(folder, "include")), ROOT)]
    if "ziglang" in cc:
        includes += ["-include", "tools/wheel/cpu.h"]
    headers = max(os.path.getmtime(p) for p in glob.glob(os.path.join(ROOT, "tools/*/*.*")) + [ROOT + "/reid.h"])
    library = os.path.join(folder, "reid_impl.o")
    jobs = [(["-fvisibility=hidden", '-DREID_API=extern __attribute__((visibility("default")))',
              '-DREID_KERNELS_BYTES="build/reid_kernels.bytes"'], "tools/reid_impl.c", library)]
    for source in sources():
        to = os.path.join(folder, source[len("tools/"):-1].replace("/", "+") + "o")
        jobs.append((["-fwrapv"] if source in WRAPS else [], source, to))

    def one(job):
        more, source, to = job
        if not os.path.exists(to) or os.path.getmtime(to) < headers:
            call(cc + FLAGS + more + includes + ["-c", source, "-o", to])

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, jobs))
    command, shared = os.path.join(folder, "reid"), os.path.join(folder, "libreid.so")
    call(cc + ["-s", "-pthread", "-o", command] + [to for _, _, to in jobs] + ["-lm", "-ldl"])
    call(cc + ["-s", "-shared", "-pthread", "-Wl,-soname,libreid.so", "-o", shared, library, "-lm", "-ldl"])
    return shared, command


# --- files ------------------------------------------------------------------------------------------------------------

def metadata():
    return """Metadata-Version: 2.1
Name: reid
Version: %s
Summary: Embeddings for re-identification: a C library, its command, and this module
License: MIT-0 OR Unlicense
Requires-Python: >=3.9
Requires-Dist: numpy
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

%s""" % (version(), read("examples/python/README.md").decode())


WHEEL = b"Wheel-Version: 1.0\nGenerator: reid.h\nRoot-Is-Purelib: false\nTag: %s\n"


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return "%s,sha256=%s,%d\n" % (name, digest, len(data))


def write_wheel(folder, tag, shared, command):
    name = "reid-" + version()
    tags = "py3-none-" + tag
    info = name + ".dist-info/"
    with open(shared, "rb") as file:
        library = file.read()
    with open(command, "rb") as file:
        program = file.read()
    files = [("reid/__init__.py", read("examples/python/reid.py"), 0o644), ("reid/py.typed", b"", 0o644),
             ("reid/libreid.so", library, 0o755), (name + ".data/scripts/reid", program, 0o755),
             (info + "METADATA", metadata().encode(), 0o644),
             (info + "WHEEL", WHEEL % tags.encode(), 0o644),
             (info + "licenses/LICENSE", read("LICENSE"), 0o644)]
    record = "".join(record_line(path, data) for path, data, _ in files) + info + "RECORD,,\n"
    files.append((info + "RECORD", record.encode(), 0o644))
    path = os.path.join(folder, "%s-%s.whl" % (name, tags))
    with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_DEFLATED) as out:
        for inner, data, mode in files:
            entry = zipfile.ZipInfo(inner, DATE)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, data)
    os.replace(path + ".part", path)
    return path


PYPROJECT = """[build-system]
requires = []
build-backend = "wheel"
backend-path = ["tools/wheel"]

[project]
name = "reid"
version = "%s"
requires-python = ">=3.9"
dependencies = ["numpy"]
"""


def write_sdist(folder):
    name = "reid-" + version()
    paths = ["reid.h", "reid_kernels.cu", "Makefile", "LICENSE", "README.md", "examples/python/reid.py",
             "examples/python/README.md", "tools/reid.c", "tools/reid_impl.c"]
    for pattern in ("tools/*/*.[ch]", "tools/*/*.html", "tools/*/*.css", "tools/*/*.js", "tools/*/*.svg",
                    "tools/*/*.json", "tools/*/*/*.sql", "tools/wheel/*.py"):
        paths += [os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, pattern))]
    files = [(path, read(path)) for path in sorted(paths)]
    files += [("pyproject.toml", (PYPROJECT % version()).encode()), ("PKG-INFO", metadata().encode())]
    path = os.path.join(folder, name + ".tar.gz")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as out:
        for inner, data in files:
            entry = tarfile.TarInfo(name + "/" + inner)
            entry.size, entry.mode = len(data), 0o644
            out.addfile(entry, io.BytesIO(data))
    with open(path + ".part", "wb") as file:
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as out:
            out.write(packed.getvalue())
    os.replace(path + ".part", path)
    return path


def make_wheel(folder, arch=None, choice=None):
    arch = arch or platform.machine()
    cc, tag = compiler(arch, choice)
    objects = os.path.join(ROOT, "build", "wheel", tag)
    os.makedirs(objects, exist_ok=True)
    os.makedirs(folder, exist_ok=True)
    return write_wheel(folder, tag, *compile_all(cc, objects))


# --- the build backend ------------------------------------------------------------------------------------------------

def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Without this, pip builds the wheel twice: the first time for its metadata."""
    name = "reid-%s.dist-info" % version()
    os.makedirs(os.path.join(metadata_directory, name))
    with open(os.path.join(metadata_directory, name, "METADATA"), "w", encoding="utf-8") as file:
        file.write(metadata())
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return os.path.basename(make_wheel(wheel_directory))


def build_sdist(sdist_directory, config_settings=None):
    return os.path.basename(write_sdist(sdist_directory))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("wheel", "sdist"))
    parser.add_argument("--arch", choices=("x86_64", "aarch64"))
    parser.add_argument("--zig", dest="choice", action="store_const", const="zig", help="refuse to do without zig")
    parser.add_argument("--cc", dest="choice", action="store_const", const="cc", help="use cc though zig is here")
    parser.add_argument("-o", dest="folder", default=os.path.join(ROOT, "build", "wheel"), help="default: build/wheel")
    given = parser.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    if given.what == "sdist":
        print(write_sdist(given.folder))
    else:
        print(make_wheel(given.folder, given.arch, given.choice))


if __name__ == "__main__":
    main()
