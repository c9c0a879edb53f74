# make help lists the targets. Building needs a C compiler and stb_image.h (Debian and Ubuntu: libstb-dev).

PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
CFLAGS  ?= -O2 -g
WARNINGS = -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wstrict-prototypes -Wmissing-prototypes
ALL_CFLAGS = -std=c99 -D_GNU_SOURCE -I. -Itools $(WARNINGS) $(CPPFLAGS) $(CFLAGS) -pthread
# REID_ASSERTS=1: the command checks its invariants, as in all tests. Objects that were built with another value
# are built again.
ALL_CFLAGS += $(if $(REID_ASSERTS),-DREID_ASSERT=assert)
ASSERTS := build/asserts
$(shell mkdir -p build; echo '$(REID_ASSERTS)' | cmp -s - $(ASSERTS) || echo '$(REID_ASSERTS)' > $(ASSERTS))
# reid serve needs libmicrohttpd; without it, the command says so.
MICROHTTPD := $(shell printf '\043include <microhttpd.h>\n' | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 && \
    echo -lmicrohttpd)
# Its TLS needs GnuTLS, with which Debian's libmicrohttpd is built.
GNUTLS := $(if $(MICROHTTPD),$(shell printf '\043include <gnutls/abstract.h>\n' | $(CC) $(CPPFLAGS) -E - \
    >/dev/null 2>&1 && echo -lgnutls))
LIBRARIES  = -lm -ldl $(MICROHTTPD) $(GNUTLS) $(LDLIBS)
VERSION := $(shell sed -n 's/^.define REID_VERSION_STRING "\(.*\)"/\1/p' reid.h)

# A folder of tools/ is a room; tools/README.md has the drawing.
ROOMS = base cli pictures weights embedding tracks gallery scores evaluate journal groups heads machine report server \
    review commands
OBJECTS = $(patsubst tools/%.c,build/%.o,$(wildcard $(ROOMS:%=tools/%/*.c))) build/reid_impl.o
DEMO = build/demo_program

## make                  build/reid, the command
all: build/reid

build/reid: build/reid.o $(OBJECTS)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBRARIES)

# What the demo is made of; build/seeded also makes the weights of tests.
build/demo_run: $(DEMO)/demo_run.o $(DEMO)/demo_page.o $(OBJECTS)
build/demo_film: $(DEMO)/demo_film.o $(OBJECTS)
build/demo_images: $(DEMO)/demo_images.o $(DEMO)/herd.o build/base/random.o
build/seeded: $(DEMO)/seeded.o
build/demo_video: $(DEMO)/demo_video.o $(DEMO)/walks.o $(DEMO)/walks_paint.o $(DEMO)/herd.o build/base/random.o
build/demo_photos: $(DEMO)/demo_photos.o $(DEMO)/walks.o $(DEMO)/walks_paint.o $(DEMO)/herd.o \
    $(patsubst tools/%.c,build/%.o,$(wildcard tools/base/*.c))
build/demo_run build/demo_film build/demo_images build/demo_photos build/demo_video build/seeded build/reid-load:
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBRARIES)

## make build/reid-load  the program that measures a server: sends it requests at chosen rates
build/reid-load: $(patsubst tools/%.c,build/%.o,$(wildcard tools/load/*.c)) $(OBJECTS)

# Flags that an object cannot do without are added with `override`, so that CFLAGS on the command line of make keeps
# them.

# The text of the GPU kernels, as the bytes of an array.
build/reid_kernels.bytes: reid_kernels.cu | build
	od -An -v -tx1 $< | sed 's/ \(..\)/0x\1,/g' > $@.tmp
	mv $@.tmp $@
build/reid_impl.o: build/reid_kernels.bytes
build/reid_impl.o: override CPPFLAGS += -DREID_KERNELS_BYTES='"build/reid_kernels.bytes"' \
    -DREID_API='extern __attribute__((visibility("default")))'
build/reid_impl.o: override CFLAGS += -fPIC -fvisibility=hidden # the same object is the library's

# Pages, style sheets and scripts, and the tables of a gallery in PostgreSQL, likewise: each has a file of its own in
# the room that includes its bytes. They are made before anything is compiled; from then on the compiler's list of what
# an object includes has them.
BYTES = $(patsubst tools/%,build/%.bytes,$(foreach ending,html css js svg json,$(wildcard tools/*/*.$(ending))) \
    $(wildcard tools/*/*/*.sql))
.SECONDARY: $(BYTES) # else make would remove them as intermediate files, and build what includes them twice
build/%.bytes: tools/%
	@mkdir -p $(@D)
	od -An -v -tx1 $< | sed 's/ \(..\)/0x\1,/g' > $@.tmp
	mv $@.tmp $@

# Sums that a crafted JPEG makes overflow wrap, by definition; so do bits that the writer of JPEGs shifts out.
build/pictures/stb_image_impl.o build/pictures/thumbnail.o: override CFLAGS += -fwrapv

build/%.o: tools/%.c Makefile $(ASSERTS) | $(BYTES)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

## make lib              build/libreid.so and build/libreid.a: reid.h as a library that exports reid_* alone
LIBRARY = build/libreid.so.$(word 1,$(subst ., ,$(VERSION)))
lib: $(LIBRARY) build/libreid.a
$(LIBRARY): build/reid_impl.o
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -pthread -Wl,-soname,$(@F) -Wl,-z,defs -o $@ $< $(LIBRARIES)
	ln -sf $(@F) build/libreid.so
build/libreid.a: build/reid_impl.o
	rm -f $@
	$(AR) rcs $@ $<

# The command for `sh tests/run leaks`: it fails when it ends with memory that no pointer leads to. The library is built
# as always, because networks would take minutes otherwise; memory that it does not free is found all the same.
LEAKS = -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined
LEAKS_OBJECTS = build/leaks/reid.o $(patsubst build/%,build/leaks/%,$(filter-out build/reid_impl.o,$(OBJECTS)))
build/leaks/reid: $(LEAKS_OBJECTS) build/reid_impl.o
	$(CC) $(ALL_CFLAGS) $(LEAKS) $(LDFLAGS) -o $@ $^ $(LIBRARIES)
build/leaks/%.o: tools/%.c Makefile $(ASSERTS) | $(BYTES)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LEAKS) -MMD -MP -c -o $@ $<
build/leaks/pictures/stb_image_impl.o build/leaks/pictures/thumbnail.o: override CFLAGS += -fwrapv

build/reid.1: build/reid
	build/reid help --man > $@

build/reid.bash build/reid.zsh build/reid.fish: build/reid
	build/reid help --completion $(subst .,,$(suffix $@)) > $@

build:
	mkdir -p $@

## make windows          build/windows/reid.exe, compiled by MinGW-w64 (Debian: gcc-mingw-w64-x86-64); tools/windows
# What the rooms call of POSIX comes from tools/windows. It replaces the files that are named here, and says which
# commands are missing.
WINDOWS_CC ?= x86_64-w64-mingw32-gcc
NOT_ON_WINDOWS = $(filter-out tools/server/mhd.c,$(wildcard tools/server/*.c)) tools/base/child.c \
    tools/base/resident.c tools/review/desk.c tools/review/web.c tools/commands/answering.c \
    tools/commands/review_server.c tools/commands/serve.c tools/commands/worker.c
WINDOWS_SOURCES = $(filter-out $(NOT_ON_WINDOWS),$(wildcard $(ROOMS:%=tools/%/*.c))) tools/reid.c tools/reid_impl.c \
    $(wildcard tools/windows/*.c)
WINDOWS_OBJECTS = $(WINDOWS_SOURCES:tools/%.c=build/windows/%.o)
WINDOWS_CFLAGS = -std=c99 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_WIN32_WINNT=0x0A00 -Itools/windows/include \
    -isystem build/windows/include -I. -Itools -include windows/posix.h $(WARNINGS) -Wno-pedantic-ms-format $(CFLAGS)
WINDOWS_LIBRARIES = -lm -lpthread -lbcrypt -lws2_32
windows: build/windows/reid.exe
build/windows/reid.exe: $(WINDOWS_OBJECTS)
	$(WINDOWS_CC) $(WINDOWS_CFLAGS) -static -municode -o $@ $^ $(WINDOWS_LIBRARIES)
build/windows/%.o: tools/%.c Makefile | $(BYTES) build/windows/include/stb
	@mkdir -p $(@D)
	$(WINDOWS_CC) $(WINDOWS_CFLAGS) -MMD -MP -c -o $@ $<
build/windows/pictures/stb_image_impl.o build/windows/pictures/thumbnail.o: override CFLAGS += -fwrapv
# stb's headers alone: no others of this system may be found.
.PRECIOUS: build/%/include/stb
build/%/include/stb:
	mkdir -p $(@D)
	ln -sfn "$$(echo '#include <stb/stb_image.h>' | $(CC) $(CPPFLAGS) -E - | \
	    sed -n 's|^# 1 "\(/.*/stb\)/stb_image.h".*|\1|p' | head -n 1)" $@

## make macos            build/macos/reid for arm64, compiled by zig (PyPI: ziglang) or MACOS_CC=cc; tools/macos
PYTHON     ?= python3
MACOS_ARCH ?= aarch64
MACOS := build/macos$(filter-out -aarch64,-$(MACOS_ARCH))
MACOS_CC ?= $(PYTHON) -m ziglang cc -target $(MACOS_ARCH)-macos
MACOS_SOURCES = $(filter-out tools/base/resident.c,$(wildcard $(ROOMS:%=tools/%/*.c))) tools/reid.c tools/reid_impl.c \
    $(wildcard tools/macos/*.c)
MACOS_CFLAGS = -std=c99 -DREID_NO_CUDA -DREID_NO_HTTP -Itools/macos/include -isystem $(MACOS)/include -I. -Itools \
    -include macos/posix.h $(if $(findstring zig,$(MACOS_CC)),-include wheel/cpu.h) $(WARNINGS) $(CFLAGS) -pthread
macos: $(MACOS)/reid
$(MACOS)/reid: $(MACOS_SOURCES:tools/%.c=$(MACOS)/%.o)
	$(MACOS_CC) $(CFLAGS) -o $@ $^
$(MACOS)/%.o: tools/%.c Makefile | $(BYTES) $(MACOS)/include/stb
	@mkdir -p $(@D)
	$(MACOS_CC) $(MACOS_CFLAGS) -MMD -MP -c -o $@ $<
$(MACOS)/pictures/stb_image_impl.o $(MACOS)/pictures/thumbnail.o: override CFLAGS += -fwrapv

## make install          header, kernels, libraries, command, man page, completions, what pkg-config and CMake's
##                       find_package read; DESTDIR, PREFIX, LIBDIR
FILL_IN = -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|'
install: build/reid build/reid.1 build/reid.bash build/reid.zsh build/reid.fish lib
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(LIBDIR)/pkgconfig \
	    $(DESTDIR)$(LIBDIR)/cmake/reid $(DESTDIR)$(PREFIX)/share/man/man1 \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
	    $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 build/reid $(DESTDIR)$(PREFIX)/bin/reid
	install -m 644 reid.h $(DESTDIR)$(PREFIX)/include/reid.h
	install -m 644 build/libreid.a $(DESTDIR)$(LIBDIR)/libreid.a
	install -m 755 $(LIBRARY) $(DESTDIR)$(LIBDIR)/$(notdir $(LIBRARY))
	ln -sf $(notdir $(LIBRARY)) $(DESTDIR)$(LIBDIR)/libreid.so
	sed $(FILL_IN) tools/reid.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/reid.pc
	for file in reid-config.cmake reid-config-version.cmake; do \
	    sed $(FILL_IN) tools/$$file.in > $(DESTDIR)$(LIBDIR)/cmake/reid/$$file || exit 1; done
	install -m 644 build/reid.1 $(DESTDIR)$(PREFIX)/share/man/man1/reid.1
	install -m 644 build/reid.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/reid
	install -m 644 build/reid.zsh $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_reid
	install -m 644 build/reid.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/reid.fish
	if [ -f reid_kernels.cu ]; then install -d $(DESTDIR)$(PREFIX)/share/reid && \
	    install -m 644 reid_kernels.cu $(DESTDIR)$(PREFIX)/share/reid/reid_kernels.cu; fi
	[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || : # so that programs find libreid.so at once

## make wheel            build/wheel/*.whl for pip, and the sdist: the module reid, libreid.so and the command
wheel:
	$(PYTHON) tools/wheel/wheel.py wheel
	$(PYTHON) tools/wheel/wheel.py sdist

## make emulator         CUDA on the CPU, for tests: build/emulator/libcuda.so.1 and libnvrtc.so.13
## make check            the tests whose inputs have changed since they passed; check-all: all of them, with everything
check:
	sh tests/run --changed
check-all:
	sh tests/run --all

## make lint             clang-tidy, cppcheck and shellcheck over everything that is compiled or run here
lint:
	sh tools/lint

## make fmt              clang-format for the lines that differ from the last commit
fmt:
	git clang-format --extensions c,h,cu -- reid.h reid_kernels.cu examples tests tools

## make clean
clean:
	rm -rf $(ROOMS:%=build/%) $(DEMO) build/load build/leaks build/windows build/macos* build/wheel
	rm -f build/*.o build/*.d build/reid build/reid_kernels.bytes build/reid.1 build/reid.bash \
	    build/seeded build/demo_images build/demo_photos build/demo_video build/demo_film build/demo_run build/reid-load \
	    build/libreid.*

rooms: # for tests/lib/check.sh
	@echo $(ROOMS)

help:
	@sed -n 's/^## //p' Makefile

.PHONY: all lib install check check-all lint fmt clean rooms help macos wheel windows
-include $(wildcard build/*.d build/*/*.d build/leaks/*/*.d build/windows/*/*.d build/macos*/*/*.d)
include tests/emulator/emulator.mk
