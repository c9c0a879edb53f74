# emulator.mk: builds libcuda.so.1 and libnvrtc.so.13 of the emulator, plain and with AddressSanitizer. Include it from
# a Makefile in the repository's root, or run: make -f tests/emulator/emulator.mk emulator

EMULATOR_DIR := tests/emulator
EMULATOR_OUT ?= build/emulator
EMULATOR_CC ?= gcc
EMULATOR_CFLAGS := -std=c99 -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden -mavx2 -mfma -mf16c \
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wstrict-prototypes -Wmissing-prototypes \
    -DREID_EMULATOR_SOURCE='"$(EMULATOR_DIR)"'
EMULATOR_ASAN := -fsanitize=address -fno-omit-frame-pointer
# These check every address themselves and run all the time: of the AddressSanitizer build, but not instrumented.
EMULATOR_HOT := threads launch grid cluster remote warp copies mbarrier bulk tensor wgmma

EMULATOR_DRIVER := settings report threads launch grid cluster remote warp copies mbarrier bulk tensor wgmma \
    check memory calls failing image driver_device driver_context driver_memory driver_stream pace driver_event \
    driver_graph driver_exec driver_module driver_launch driver_tensor driver_symbols
EMULATOR_NVRTC := nvrtc nvrtc_options nvrtc_compile nvrtc_scan failing image
EMULATOR_HEADERS := $(wildcard $(EMULATOR_DIR)/*.h)
EMULATOR_LIBRARIES := $(EMULATOR_OUT)/libcuda.so.1 $(EMULATOR_OUT)/libnvrtc.so.13
EMULATOR_ASAN_LIBRARIES := $(EMULATOR_OUT)/asan/libcuda.so.1 $(EMULATOR_OUT)/asan/libnvrtc.so.13

.PHONY: emulator emulator-asan
emulator: $(EMULATOR_LIBRARIES)
emulator-asan: $(EMULATOR_ASAN_LIBRARIES)

$(EMULATOR_OUT)/plain/%.o: $(EMULATOR_DIR)/%.c $(EMULATOR_HEADERS)
	@mkdir -p $(@D)
	$(EMULATOR_CC) $(EMULATOR_CFLAGS) -c $< -o $@

$(EMULATOR_OUT)/asan/%.o: $(EMULATOR_DIR)/%.c $(EMULATOR_HEADERS)
	@mkdir -p $(@D)
	$(EMULATOR_CC) $(EMULATOR_CFLAGS) $(if $(filter $*,$(EMULATOR_HOT)),-DREID_EMULATOR_ASAN,$(EMULATOR_ASAN)) \
	    -c $< -o $@

$(EMULATOR_OUT)/libcuda.so.1: $(EMULATOR_DRIVER:%=$(EMULATOR_OUT)/plain/%.o)
	$(EMULATOR_CC) -shared -Wl,-soname,libcuda.so.1 -Wl,-z,defs $^ -o $@ -ldl -lpthread

$(EMULATOR_OUT)/libnvrtc.so.13: $(EMULATOR_NVRTC:%=$(EMULATOR_OUT)/plain/%.o)
	$(EMULATOR_CC) -shared -Wl,-soname,libnvrtc.so.13 -Wl,-z,defs $^ -o $@ -lpthread

$(EMULATOR_OUT)/asan/libcuda.so.1: $(EMULATOR_DRIVER:%=$(EMULATOR_OUT)/asan/%.o)
	$(EMULATOR_CC) -shared $(EMULATOR_ASAN) -Wl,-soname,libcuda.so.1 $^ -o $@ -ldl -lpthread

$(EMULATOR_OUT)/asan/libnvrtc.so.13: $(EMULATOR_NVRTC:%=$(EMULATOR_OUT)/asan/%.o)
	$(EMULATOR_CC) -shared $(EMULATOR_ASAN) -Wl,-soname,libnvrtc.so.13 $^ -o $@ -lpthread
