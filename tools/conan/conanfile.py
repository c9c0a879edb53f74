"""Recipe of the library for Conan 2: `conan create tools/conan`. It builds by CMakeLists.txt.

Options: shared, fPIC, and one for each part that can be left out, see OPTIONS in reid.h: cuda, vectors, narrow, search,
queue. The command `reid` is not part of the package.
"""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy

PARTS = ("cuda", "vectors", "narrow", "search", "queue")
SOURCES = ("CMakeLists.txt", "reid.h", "reid_kernels.cu", "LICENSE", "tools/reid_impl.c", "tools/reid*.in")


class Reid(ConanFile):
    name = "reid"
    description = "Embeddings of crops for re-identification, in one C header and one file of CUDA kernels"
    license = ("Unlicense", "MIT-0")
    topics = ("re-identification", "embeddings", "resnet", "cuda", "single-header")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False], **{part: [True, False] for part in PARTS}}
    default_options = {"shared": False, "fPIC": True, **{part: True for part in PARTS}}
    implements = ["auto_shared_fpic"]
    languages = "C"

    @property
    def _top(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        with open(os.path.join(self._top, "reid.h"), encoding="utf-8") as f:
            self.version = re.search(r'^#define REID_VERSION_STRING "(.*)"', f.read(), re.M).group(1)

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, src=self._top, dst=self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("this recipe has only been tried on Linux")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in PARTS:
            toolchain.cache_variables[f"REID_NO_{part.upper()}"] = not self.options.get_safe(part)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.libs = ["reid"]
        self.cpp_info.set_property("cmake_target_name", "reid::reid")
        self.cpp_info.set_property("pkg_config_name", "reid")
        self.cpp_info.system_libs = ["m", "pthread", "dl"]
