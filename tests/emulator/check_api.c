/* check_api.c: compares our declarations with NVIDIA's headers, where those are installed. It only has to compile:
   cc -std=gnu99 -DREID_EMULATOR_REAL_HEADERS -I/usr/local/cuda/include -include numbers.h -c check_api.c
   t_emulator.sh does so, and makes numbers.h: NUMBERS is X(name, value) for every enumerator of cuda_api.h. */
#define __CUDA_API_VERSION_INTERNAL /* all forms of a function under their own names */
#include "cuda_api.h"
#include <cudaTypedefs.h>

#include "cuda_functions.h"

typedef PFN_cuGraphInstantiateWithFlags_v11040 PFN_cuGraphInstantiate_v12000; /* the same function */

/* NVIDIA's type of the form that this version introduced points to a function of our type. */
#define SAME(base, symbol, version, ...)                                                                               \
    CUresult ours_##symbol(__VA_ARGS__);                                                                               \
    static const PFN_##base##_v##version check_##base##version __attribute__((unused)) = ours_##symbol;
REID_EMULATOR_DRIVER(SAME)
#undef SAME

#define SAME(symbol, ...)                                                                                              \
    nvrtcResult ours_##symbol(__VA_ARGS__);                                                                            \
    static __typeof__(&symbol) const check_##symbol __attribute__((unused)) = ours_##symbol;
REID_EMULATOR_NVRTC(SAME)
#undef SAME

#define X(name, value) _Static_assert(name == value, #name);
NUMBERS
