/* driver_device.c: cuInit, versions, devices and their attributes, names of errors. */
#include <stdio.h>

#include "driver.h"

/* Shared memory of a multiprocessor, in KB; a block may opt in to 1 KB less (sm_75: to all of it). */
static int shared_kilobytes(void) {
    switch (emu_get_settings()->arch) {
    case 75: return 64;
    case 80: case 87: return 164;
    case 86: case 89: case 120: case 121: return 100;
    default: return 228;
    }
}

int emu_shared_limit(int optin) {
    if (!optin) return 48 * 1024;
    return shared_kilobytes() * 1024 - (emu_get_settings()->arch == 75 ? 0 : 1024);
}

static CUresult initialise(unsigned flags) {
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (emu_get_settings()->devices == 0) return CUDA_ERROR_NO_DEVICE;
    emu_mark_initialised();
    return CUDA_SUCCESS;
}

EMU_API CUresult cuInit(unsigned flags) { EMU_CALL(EMU_BEFORE_INIT, initialise(flags)); }

static CUresult give_int(int *to, int value) {
    if (!to) return CUDA_ERROR_INVALID_VALUE;
    *to = value;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuDriverGetVersion(int *version) {
    EMU_CALL(EMU_BEFORE_INIT, give_int(version, emu_get_settings()->driver_version));
}

static int exists(CUdevice device) { return device >= 0 && device < emu_get_settings()->devices; }

EMU_API CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    EMU_CALL(0, exists(ordinal) ? give_int(device, ordinal) : CUDA_ERROR_INVALID_DEVICE);
}

EMU_API CUresult cuDeviceGetCount(int *count) { EMU_CALL(0, give_int(count, emu_get_settings()->devices)); }

static CUresult device_name(char *name, int size, CUdevice device) {
    if (!name || size <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
    snprintf(name, (size_t)size, "reid emulator sm_%d", emu_get_settings()->arch);
    return CUDA_SUCCESS;
}

EMU_API CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    EMU_CALL(0, device_name(name, size, device));
}

static CUresult device_uuid(CUuuid *uuid, CUdevice device) {
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
    memcpy(uuid->bytes, "reid emulator\0\0", 16);
    uuid->bytes[15] = (char)device;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) { EMU_CALL(0, device_uuid(uuid, device)); }

static CUresult total_memory(size_t *bytes, CUdevice device) {
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = emu_get_settings()->memory;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) { EMU_CALL(0, total_memory(bytes, device)); }

static CUresult device_attribute(int *value, int attribute, CUdevice device) {
    const emu_settings *s = emu_get_settings();
    if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: return give_int(value, EMU_MAX_THREADS);
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: return give_int(value, 64);
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: return give_int(value, 2147483647);
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: return give_int(value, 65535);
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return give_int(value, emu_shared_limit(0));
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return give_int(value, emu_shared_limit(1));
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return give_int(value, shared_kilobytes() * 1024);
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: return give_int(value, s->arch == 75 ? 0 : 1024);
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return give_int(value, 32);
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return give_int(value, 65536);
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return give_int(value, 1755000);
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return give_int(value, 3201000);
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return give_int(value, 6144);
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return give_int(value, 50 << 20);
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return give_int(value, s->sms);
    case CU_DEVICE_ATTRIBUTE_INTEGRATED: return give_int(value, s->arch == 87 || s->arch == 110); /* Jetson */
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        return give_int(value, s->arch == 75 ? 1024 : s->arch == 86 || s->arch == 89 || s->arch >= 120 ? 1536 : 2048);
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
        return give_int(value, s->arch == 75 || s->arch == 86 ? 16 : s->arch == 89 || s->arch >= 120 ? 24 : 32);
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return give_int(value, s->arch / 10);
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return give_int(value, s->arch % 10);
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: return give_int(value, 1);
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH: return give_int(value, s->arch >= 90);
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: return give_int(value, 2);
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: return give_int(value, device + 1);
    default: break;
    }
    /* CUDA 13's other attributes are 0 here; higher numbers are invalid. */
    return attribute > 0 && attribute < 148 ? give_int(value, 0) : CUDA_ERROR_INVALID_VALUE;
}

EMU_API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    EMU_CALL(0, device_attribute(value, (int)attribute, device));
}

/* ---- errors: X(code, text) ---- */
#define EMU_ERRORS(X)                                                                                                  \
    X(CUDA_SUCCESS, "no error")                                                                                        \
    X(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                                                    \
    X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                                                       \
    X(CUDA_ERROR_NOT_INITIALIZED, "initialization error")                                                              \
    X(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                                                      \
    X(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                                                             \
    X(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid")                                                      \
    X(CUDA_ERROR_INVALID_CONTEXT, "invalid device context")                                                            \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device")                        \
    X(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed")                                                          \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain")               \
    X(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS")                             \
    X(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")                                                            \
    X(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state")                             \
    X(CUDA_ERROR_NOT_FOUND, "named symbol not found")                                                                  \
    X(CUDA_ERROR_NOT_READY, "device not ready")                                                                        \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")                                          \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")                                   \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated")                                            \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed")                                                         \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered")                                        \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address")                                                             \
    X(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")                                                          \
    X(CUDA_ERROR_NOT_SUPPORTED, "operation not supported")                                                             \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing")                       \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture")                \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences")              \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began")                     \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work")                                        \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream")                  \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "operation would make the legacy stream depend on a capturing stream")       \
    X(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream")            \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "attempt to terminate a capture sequence from another thread")           \
    X(CUDA_ERROR_UNKNOWN, "unknown error")

static CUresult error_text(int error, const char **text, int want_name) {
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    switch (error) {
#define EMU_CASE(code, string)                                                                                         \
    case code: *text = want_name ? #code : string; return CUDA_SUCCESS;
        EMU_ERRORS(EMU_CASE)
#undef EMU_CASE
    default: break;
    }
    *text = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

EMU_API CUresult cuGetErrorName(CUresult error, const char **text) { return error_text((int)error, text, 1); }
EMU_API CUresult cuGetErrorString(CUresult error, const char **text) { return error_text((int)error, text, 0); }
