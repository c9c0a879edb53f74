/* cuda_functions.h: every function that the emulator exports. Part of cuda_api.h; X-macros. */
#ifndef REID_EMULATOR_CUDA_FUNCTIONS_H
#define REID_EMULATOR_CUDA_FUNCTIONS_H

/* X(base name, exported name, first CUDA version that has it, parameters...) */
#define REID_EMULATOR_DRIVER(X)                                                                                        \
    X(cuInit, cuInit, 2000, unsigned flags)                                                                            \
    X(cuDriverGetVersion, cuDriverGetVersion, 2020, int *version)                                                      \
    X(cuGetErrorName, cuGetErrorName, 6000, CUresult error, const char **text)                                         \
    X(cuGetErrorString, cuGetErrorString, 6000, CUresult error, const char **text)                                     \
    X(cuGetProcAddress, cuGetProcAddress, 11030, const char *symbol, void **function, int version, cuuint64_t flags)   \
    X(cuGetProcAddress, cuGetProcAddress_v2, 12000, const char *symbol, void **function, int version,                  \
      cuuint64_t flags, CUdriverProcAddressQueryResult *status)                                                        \
    X(cuDeviceGet, cuDeviceGet, 2000, CUdevice *device, int ordinal)                                                   \
    X(cuDeviceGetCount, cuDeviceGetCount, 2000, int *count)                                                            \
    X(cuDeviceGetName, cuDeviceGetName, 2000, char *name, int size, CUdevice device)                                   \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2, 11040, CUuuid *uuid, CUdevice device)                                       \
    X(cuDeviceTotalMem, cuDeviceTotalMem_v2, 3020, size_t *bytes, CUdevice device)                                     \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute, 2000, int *value, CUdevice_attribute attribute, CUdevice device)     \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, CUcontext *context, CUdevice device)                   \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000, CUdevice device)                                 \
    X(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, 7000, CUdevice device, unsigned *flags, int *active)     \
    X(cuCtxCreate, cuCtxCreate_v2, 3020, CUcontext *context, unsigned flags, CUdevice device)                          \
    X(cuCtxDestroy, cuCtxDestroy_v2, 4000, CUcontext context)                                                          \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2, 4000, CUcontext context)                                                  \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2, 4000, CUcontext *context)                                                   \
    X(cuCtxSetCurrent, cuCtxSetCurrent, 4000, CUcontext context)                                                       \
    X(cuCtxGetCurrent, cuCtxGetCurrent, 4000, CUcontext *context)                                                      \
    X(cuCtxGetDevice, cuCtxGetDevice, 2000, CUdevice *device)                                                          \
    X(cuCtxSynchronize, cuCtxSynchronize, 2000, void)                                                                  \
    X(cuMemGetInfo, cuMemGetInfo_v2, 3020, size_t *free_bytes, size_t *total_bytes)                                    \
    X(cuMemAlloc, cuMemAlloc_v2, 3020, CUdeviceptr *pointer, size_t bytes)                                             \
    X(cuMemFree, cuMemFree_v2, 3020, CUdeviceptr pointer)                                                              \
    X(cuMemHostAlloc, cuMemHostAlloc, 2020, void **pointer, size_t bytes, unsigned flags)                              \
    X(cuMemAllocHost, cuMemAllocHost_v2, 3020, void **pointer, size_t bytes)                                           \
    X(cuMemFreeHost, cuMemFreeHost, 2000, void *pointer)                                                               \
    X(cuMemcpyHtoD, cuMemcpyHtoD_v2, 3020, CUdeviceptr to, const void *from, size_t bytes)                             \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2, 3020, void *to, CUdeviceptr from, size_t bytes)                                   \
    X(cuMemcpyDtoD, cuMemcpyDtoD_v2, 3020, CUdeviceptr to, CUdeviceptr from, size_t bytes)                             \
    X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020, CUdeviceptr to, const void *from, size_t bytes, CUstream stream)  \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020, void *to, CUdeviceptr from, size_t bytes, CUstream stream)        \
    X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, 3020, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)  \
    X(cuMemsetD8, cuMemsetD8_v2, 3020, CUdeviceptr to, unsigned char value, size_t count)                              \
    X(cuMemsetD16, cuMemsetD16_v2, 3020, CUdeviceptr to, unsigned short value, size_t count)                           \
    X(cuMemsetD32, cuMemsetD32_v2, 3020, CUdeviceptr to, unsigned value, size_t count)                                 \
    X(cuMemsetD8Async, cuMemsetD8Async, 3020, CUdeviceptr to, unsigned char value, size_t count, CUstream stream)      \
    X(cuMemsetD16Async, cuMemsetD16Async, 3020, CUdeviceptr to, unsigned short value, size_t count, CUstream stream)   \
    X(cuMemsetD32Async, cuMemsetD32Async, 3020, CUdeviceptr to, unsigned value, size_t count, CUstream stream)         \
    X(cuModuleLoadData, cuModuleLoadData, 2000, CUmodule *module, const void *image)                                   \
    X(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010, CUmodule *module, const void *image, unsigned count,               \
      CUjit_option *options, void **values)                                                                            \
    X(cuModuleUnload, cuModuleUnload, 2000, CUmodule module)                                                           \
    X(cuModuleGetFunction, cuModuleGetFunction, 2000, CUfunction *function, CUmodule module, const char *name)         \
    X(cuFuncGetAttribute, cuFuncGetAttribute, 2020, int *value, CUfunction_attribute attribute, CUfunction function)   \
    X(cuFuncSetAttribute, cuFuncSetAttribute, 9000, CUfunction function, CUfunction_attribute attribute, int value)    \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, int *blocks,     \
      CUfunction function, int threads, size_t shared)                                                                 \
    X(cuLaunchKernel, cuLaunchKernel, 4000, CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,    \
      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params,           \
      void **extra)                                                                                                    \
    X(cuOccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters, 11070, int *clusters, CUfunction function,           \
      const CUlaunchConfig *config)                                                                                    \
    X(cuLaunchKernelEx, cuLaunchKernelEx, 11060, const CUlaunchConfig *config, CUfunction function, void **params,     \
      void **extra)                                                                                                    \
    X(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled, 12000, CUtensorMap *map, CUtensorMapDataType type,               \
      cuuint32_t rank, void *address, const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,        \
      const cuuint32_t *element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,                 \
      CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)                                                  \
    X(cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2col, 12000, CUtensorMap *map, CUtensorMapDataType type,             \
      cuuint32_t rank, void *address, const cuuint64_t *dims, const cuuint64_t *strides, const int *lower,             \
      const int *upper, cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *element_strides,                     \
      CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,                  \
      CUtensorMapFloatOOBfill fill)                                                                                    \
    X(cuStreamCreate, cuStreamCreate, 2000, CUstream *stream, unsigned flags)                                          \
    X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050, CUstream *stream, unsigned flags, int priority)    \
    X(cuStreamDestroy, cuStreamDestroy_v2, 4000, CUstream stream)                                                      \
    X(cuStreamSynchronize, cuStreamSynchronize, 2000, CUstream stream)                                                 \
    X(cuStreamQuery, cuStreamQuery, 2000, CUstream stream)                                                             \
    X(cuStreamWaitEvent, cuStreamWaitEvent, 3020, CUstream stream, CUevent event, unsigned flags)                      \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2, 10010, CUstream stream, CUstreamCaptureMode mode)                 \
    X(cuStreamEndCapture, cuStreamEndCapture, 10000, CUstream stream, CUgraph *graph)                                  \
    X(cuStreamIsCapturing, cuStreamIsCapturing, 10000, CUstream stream, CUstreamCaptureStatus *status)                 \
    X(cuEventCreate, cuEventCreate, 2000, CUevent *event, unsigned flags)                                              \
    X(cuEventDestroy, cuEventDestroy_v2, 4000, CUevent event)                                                          \
    X(cuEventRecord, cuEventRecord, 2000, CUevent event, CUstream stream)                                              \
    X(cuEventSynchronize, cuEventSynchronize, 2000, CUevent event)                                                     \
    X(cuEventQuery, cuEventQuery, 2000, CUevent event)                                                                 \
    X(cuEventElapsedTime, cuEventElapsedTime, 2000, float *milliseconds, CUevent from, CUevent to)                     \
    X(cuEventElapsedTime, cuEventElapsedTime_v2, 12080, float *milliseconds, CUevent from, CUevent to)                 \
    X(cuGraphInstantiate, cuGraphInstantiate_v2, 11000, CUgraphExec *exec, CUgraph graph, CUgraphNode *bad_node,       \
      char *log, size_t log_size)                                                                                      \
    X(cuGraphInstantiate, cuGraphInstantiateWithFlags, 12000, CUgraphExec *exec, CUgraph graph,                        \
      unsigned long long flags)                                                                                        \
    X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, CUgraphExec *exec, CUgraph graph,               \
      unsigned long long flags)                                                                                        \
    X(cuGraphGetNodes, cuGraphGetNodes, 10000, CUgraph graph, CUgraphNode *nodes, size_t *count)                       \
    X(cuGraphUpload, cuGraphUpload, 11010, CUgraphExec exec, CUstream stream)                                          \
    X(cuGraphLaunch, cuGraphLaunch, 10000, CUgraphExec exec, CUstream stream)                                          \
    X(cuGraphExecDestroy, cuGraphExecDestroy, 10000, CUgraphExec exec)                                                 \
    X(cuGraphDestroy, cuGraphDestroy, 10000, CUgraph graph)

/* X(exported name, parameters...) */
#define REID_EMULATOR_NVRTC(X)                                                                                         \
    X(nvrtcVersion, int *major, int *minor)                                                                            \
    X(nvrtcGetNumSupportedArchs, int *count)                                                                           \
    X(nvrtcGetSupportedArchs, int *archs)                                                                              \
    X(nvrtcCreateProgram, nvrtcProgram *program, const char *text, const char *name, int header_count,                 \
      const char *const *headers, const char *const *header_names)                                                     \
    X(nvrtcDestroyProgram, nvrtcProgram *program)                                                                      \
    X(nvrtcCompileProgram, nvrtcProgram program, int option_count, const char *const *options)                         \
    X(nvrtcGetPTXSize, nvrtcProgram program, size_t *size)                                                             \
    X(nvrtcGetPTX, nvrtcProgram program, char *ptx)                                                                    \
    X(nvrtcGetCUBINSize, nvrtcProgram program, size_t *size)                                                           \
    X(nvrtcGetCUBIN, nvrtcProgram program, char *cubin)                                                                \
    X(nvrtcGetProgramLogSize, nvrtcProgram program, size_t *size)                                                      \
    X(nvrtcGetProgramLog, nvrtcProgram program, char *log)

#endif
