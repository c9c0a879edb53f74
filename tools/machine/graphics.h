/* The GPU and what belongs to it: driver, NVRTC, NVML, and the folder that keeps compiled kernels. */
#ifndef REID_TOOLS_GRAPHICS_H
#define REID_TOOLS_GRAPHICS_H

#include "machine/findings.h"
#include "reid.h"

/* Checks the GPU; uses device, device_index and the kernel fields of desc. With REID_DEVICE_CUDA a missing GPU is an
   error; with REID_DEVICE_CPU no GPU is looked for. */
void graphics_look(findings *f, const reid_desc *desc);
/* Checks owner and permissions of the cache folder, because machine code is run from it. */
void graphics_cache(findings *f, const reid_desc *desc);

#endif
