/* test_impl.c: the implementation of reid.h as a separate object, compiled once for all tests of the API, with the few
   internals that they need. */
#define REID_IMPLEMENTATION
#include "reid.h"

#define TEST_IMPL
#include "test_net.h"

const char *net_isa(int isa) {
    const reid__kernels *kernels = reid__kernels_for((reid_isa)isa);
    return kernels ? kernels->name : NULL;
}

int net_networks(void) { return REID__ARCHS; }

void net_head_values(uint64_t seed, const char *name, size_t first, size_t count, size_t inputs, float *out) {
    reid__generate(seed, name, first, count, inputs, out);
}
