/* reid doctor's self-test: a known network and a known picture, compared with PyTorch's embedding. */
#ifndef REID_TOOLS_DOCTOR_SELF_H
#define REID_TOOLS_DOCTOR_SELF_H

#include "machine/findings.h"
#include "reid.h"

/* On the CPU, in FP32, in about a second; desc's cpu_isa and threads count. Also tells which processor it is, and
   whether there are fast kernels for it. */
void doctor_self_test(findings *f, const reid_desc *desc);

#endif
