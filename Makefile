# make                  build/reid, the command
# make emulator         CUDA on the CPU, for tests: build/emulator/libcuda.so.1 and libnvrtc.so.13
# make install          header, kernels, command, man page, completion, reid.pc; DESTDIR and PREFIX are honoured
# make clean
#
# Needs a C compiler and stb_image.h (Debian and Ubuntu: libstb-dev).

PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g
WARNINGS = -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wstrict-prototypes -Wmissing-prototypes
ALL_CFLAGS = -std=c99 -D_GNU_SOURCE $(WARNINGS) $(CPPFLAGS) $(CFLAGS) -pthread
LIBRARIES  = -lm -ldl $(LDLIBS)
VERSION := $(shell sed -n 's/^.define REID_VERSION_STRING "\(.*\)"/\1/p' reid.h)

REID = reid commands options help embed match inspect pack bench bench_peak tune \
       convert dialects networks checkpoint torch_file torch_state foreign_file pickle zip source \
       safetensors_write inputs boxes boxes_json boxes_csv json csv \
       picture sniff jpeg pnm exif decoder_memory pipeline stream models \
       output output_meta npy results gallery gallery_file gallery_jsonl \
       gallery_command gallery_add gallery_search gallery_export gallery_host gallery_store makers when \
       eval eval_report evaluation eval_set eval_labels eval_label_table metrics linkage rerank scores \
       calibrate calibration calibration_file labelled_pairs ranges \
       text files say reid_impl stb_image_impl
REID_OBJECTS = $(REID:%=build/%.o)

all: build/reid

build/reid: $(REID_OBJECTS)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(REID_OBJECTS) $(LIBRARIES)

# What the demo is made of; build/seeded also makes the weights of tests.
build/demo_run: build/demo_run.o build/demo_page.o $(filter-out build/reid.o,$(REID_OBJECTS))
build/demo_images: build/demo_images.o
build/seeded: build/seeded.o
build/demo_run build/demo_images build/seeded:
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBRARIES)

# The text of the GPU kernels, as the bytes of an array.
build/reid_kernels.bytes: reid_kernels.cu | build
	od -An -v -tx1 $< | sed 's/ \(..\)/0x\1,/g' > $@.tmp
	mv $@.tmp $@
build/reid_impl.o: build/reid_kernels.bytes
build/reid_impl.o: CPPFLAGS += -DREID_KERNELS_BYTES='"build/reid_kernels.bytes"'

# Sums that a crafted JPEG makes overflow wrap, by definition.
build/stb_image_impl.o: CFLAGS += -fwrapv

build/%.o: tools/%.c Makefile | build
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The command for `sh tests/run --leaks`: it fails when it ends with memory that nothing leads to.
LEAKS_OBJECTS = $(REID:%=build/leaks/%.o)
build/leaks/reid: $(LEAKS_OBJECTS)
	$(CC) $(ALL_CFLAGS) -fsanitize=address,undefined $(LDFLAGS) -o $@ $(LEAKS_OBJECTS) $(LIBRARIES)
build/leaks/%.o: tools/%.c Makefile | build/leaks
	$(CC) $(ALL_CFLAGS) -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -MMD -MP -c -o $@ $<
# The library as it always is, because networks take minutes otherwise: what it does not free is found all the same.
build/leaks/reid_impl.o: tools/reid_impl.c build/reid_kernels.bytes Makefile | build/leaks
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
build/leaks/reid_impl.o: CPPFLAGS += -DREID_KERNELS_BYTES='"build/reid_kernels.bytes"'
build/leaks/stb_image_impl.o: CFLAGS += -fwrapv
build/leaks:
	mkdir -p $@

build/reid.1: build/reid
	build/reid help --man > $@

build/reid.bash: build/reid
	build/reid help --completion bash > $@

build/reid.pc: tools/reid.pc.in Makefile reid.h | build
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' tools/reid.pc.in > $@

build:
	mkdir -p $@

install: build/reid build/reid.1 build/reid.bash
	rm -f build/reid.pc # PREFIX may be another than last time
	$(MAKE) build/reid.pc
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig \
	    $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 755 build/reid $(DESTDIR)$(PREFIX)/bin/reid
	install -m 644 reid.h $(DESTDIR)$(PREFIX)/include/reid.h
	install -m 644 build/reid.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig/reid.pc
	install -m 644 build/reid.1 $(DESTDIR)$(PREFIX)/share/man/man1/reid.1
	install -m 644 build/reid.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/reid
	if [ -f reid_kernels.cu ]; then install -d $(DESTDIR)$(PREFIX)/share/reid && \
	    install -m 644 reid_kernels.cu $(DESTDIR)$(PREFIX)/share/reid/reid_kernels.cu; fi

clean:
	rm -f build/*.o build/*.d build/reid build/reid_kernels.bytes build/reid.1 build/reid.bash build/reid.pc \
	    build/seeded build/demo_images build/demo_run
	rm -rf build/leaks

.PHONY: all install clean
-include $(wildcard build/*.d build/leaks/*.d)
include tests/emulator/emulator.mk
