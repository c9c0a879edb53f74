/* The GPU and what belongs to it: driver, NVRTC, NVML, and the folder that keeps compiled kernels. */
#ifndef REID_TOOLS_GRAPHICS_H
#define REID_TOOLS_GRAPHICS_H

#include "machine/findings.h"
#include "reid.h"

/* desc: device, device_index and the kernels' fields count. device REID_DEVICE_CUDA: without a usable GPU it is an
   error; REID_DEVICE_CPU: none is looked for. */
void graphics_look(findings *f, const reid_desc *desc);
/* Machine code is kept in it and run from it: whose it is, and who may write to it. */
void graphics_cache(findings *f, const reid_desc *desc);

#endif
