/* The present state of an NVIDIA GPU, from NVML (libnvidia-ml.so.1), the library behind nvidia-smi, which comes with
   the driver and is loaded at run time. It shows whether the GPU is really used. */
#ifndef REID_TOOLS_GPU_STATE_H
#define REID_TOOLS_GPU_STATE_H

#include "base/text.h"
#include "reid.h"

#include <stdint.h>

typedef struct gpu_watch gpu_watch;

typedef struct gpu_state {
    int busy;                 /* percent of the last 1/6 to 1 second in which any process's kernel ran */
    int celsius;              /* -1: unknown */
    double watts;             /* -1: unknown */
    uint64_t used, total;     /* bytes of its memory */
} gpu_state;

/* device: a handle's device, for example "cuda:0". Sets *gpu to what the driver reports, in any case. Returns NULL with
   the reason in why, which is empty for "cpu". */
gpu_watch *gpu_watch_open(const char *device, reid_gpu_info *gpu, text *why);
/* Returns 0 with the reason in why. From one thread at a time. */
int gpu_watch_read(gpu_watch *w, gpu_state *state, text *why);
/* NULL is allowed. */
void gpu_watch_close(gpu_watch *w);

/* "busy 97 %, 12.3 of 139.8 GiB in use, 61 C, 540 W" */
void gpu_state_text(text *out, const gpu_state *state);

/* With -v, prints one line about a handle's GPU ("cuda:0"), or why its state is unknown. Right after a computation the
   line shows whether the GPU was used. */
void gpu_state_say(const char *device);

#endif
