/* reid doctor's self-test: the embedding of a known image by a known network, compared with PyTorch's. */
#ifndef REID_TOOLS_DOCTOR_SELF_H
#define REID_TOOLS_DOCTOR_SELF_H

#include "machine/findings.h"
#include "reid.h"

/* On the CPU, in FP32, in about a second; with desc's cpu_isa and threads. Also reports the processor, and whether
   there are fast kernels for it. */
void doctor_self_test(findings *f, const reid_desc *desc);

#endif
