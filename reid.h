/* reid.h - is this the same person, deer, car or face?

   Turns a crop into an embedding: a vector whose cosine with the vector of another crop measures how alike the two
   look. Runs ResNet-50, multi-scale ResNet-50 and EfficientNet from the weight files that PyTorch users already have:
   on an NVIDIA GPU with kernels of its own (reid_kernels.cu), elsewhere on the CPU, with nothing but libc, libm and
   pthreads. Version 0.1.0. Public domain or MIT-0, as you prefer: see LICENSE.

   DO THIS

       #define REID_IMPLEMENTATION     in exactly one .c or .cpp file, before any system header
       #include "reid.h"               (or compile that file with -D_GNU_SOURCE)

   and include reid.h without the define everywhere else. Compile with -O2; -ffast-math is refused. Link with -lm
   -lpthread, and before glibc 2.34 also with -ldl.

   CONTENTS        grep -n '>>' reid.h
       >>api                                    declarations, each with its contract
       >>platform >>errors >>memory             system and CPU; result codes; allocation         \
       >>file >>image                           safetensors to tensors; boxes, resizing, presets | the audit path:
       >>arch >>plan                            networks as tables; tables to operations         | read this and you
       >>threads >>isa >>pack                   teams; instruction sets; the order of weights    | have checked the
       >>cpu >>winograd >>depthwise >>kernels   operations to loops, once per instruction set    / mathematics
       >>cuda_load >>cuda_jit                   the GPU's driver, found at run time; NVRTC, the cache on disk, packs
       >>cuda_plan >>cuda_run                   operations to launches, and how long they should take; to graphs
       >>search >>index >>group                 the rows nearest to a query, exactly; rows to individuals without names
       >>create >>public >>queue >>left_out     reid_create; reid_embed and the queries; many callers' requests

   QUICK START     (examples/hello.c is this, with error messages)

       reid_desc desc = REID_INIT;
       desc.weights = "resnet50.safetensors";
       reid_ctx *ctx;
       if (reid_create(&desc, &ctx) != REID_OK) return 1;
       reid_image image = {pixels, width, height, 0, REID_RGB8, NULL};
       float *embedding = malloc(sizeof(float) * reid_dim(ctx));
       reid_embed(ctx, &image, 1, embedding);
       reid_destroy(ctx);

   reid.h DOES NOT detect (bring your own boxes), train, track, decode JPEG or PNG (include stb_image.h first and
   reid_image_load appears), print, exit, abort, install signal handlers, call setlocale, or keep any global state.

   OPTIONS         macros, defined before the include
       REID_IMPLEMENTATION   compiles the implementation here
       REID_STATIC           makes every function static, for one-file programs
       REID_API              your own declaration specifier, e.g. for a DLL; default `extern`
       REID_ASSERT           -DREID_ASSERT=assert checks invariants of the implementation; off by default
       REID_SELF             the name of this file, if you rename it; it includes itself once per instruction set
       REID_KERNELS_FILE     "reid_kernels.cu": compiles the text of the GPU kernels into the program, by #embed or the
                             assembler's .incbin (with a path from the compiler's working directory; -flto drops it)
       REID_KERNELS_BYTES    a file with the same text as comma-separated numbers, as the Makefile makes it
       REID_NO_CUDA          leaves out the GPU code and the use of dlopen: for small static programs
       REID_NO_VECTORS       leaves out the code for particular processors: many times slower, but quick to compile
       REID_NO_NARROW        leaves out bf16 and INT8, on the CPU and on a GPU: reid_create refuses these precisions
       REID_NO_SEARCH        leaves out search and grouping: their functions fail with REID_ERR_LEFT_OUT
       REID_NO_QUEUE         leaves out the queue: its functions fail with REID_ERR_LEFT_OUT

   AT RUN TIME     environment variables
       REID_CPU_ISA=scalar|avx2|avx512|avx512_bf16|amx_bf16|avx512_vnni|amx_int8|neon forces an instruction set, unless
       desc.cpu_isa does. scalar, avx2, avx512 and neon compute in FP32; the bf16 sets in bf16; vnni, int8, scalar and
       avx2 in INT8. REID_WARN_SCALAR: the CPU has none of the faster ones. The first AMX handle asks Linux for AMX.
       REID_CACHE_DIR, REID_NVRTC: see CUDA; desc.cache_dir and desc.nvrtc_path override them.
       REID_WGMMA=0       on Hopper: convolutions use the instructions of older chips, for comparison
       REID_CLUSTERS=0    on Hopper: blocks do not share a squeeze nor, in INT8 without --latency, a tile's K
       REID_PDL=0         on Hopper and later: no kernel starts before the previous one has finished (same bits)
       REID_SYNC=1        on a GPU: waits 20 seconds at most for each kernel, and names the one that failed (slow)
       REID_TILE=1...12   on Hopper: this tile wherever it fits; 0: the cost model's choice, uncorrected

   CUDA
       REID_DEVICE_AUTO uses a GPU if it can, else logs why not; REID_DEVICE_CUDA uses it or fails, listing all that was
       tried. Required: a GPU from Turing (sm_75) on, NVIDIA's driver for CUDA 11.4 or later, the text of
       reid_kernels.cu (desc.kernels_src, desc.kernels_path, or compiled in) and NVRTC 11.2 or later, of no later major
       version than the driver's. Building needs no part of CUDA. libcuda.so.1 must be where the loader looks, NVRTC
       there or in $CUDA_PATH, $CUDA_HOME, /usr/local/cuda*, or a folder of Conda or Python.
       When a network first starts on a chip, up to 8 threads compile kernels for its exact shapes, and keep them in a
       cache ($XDG_CACHE_HOME/reid or ~/.cache/reid), which may be deleted at any time. On Hopper a cost model chooses
       the tiles of convolutions; `reid bench --tune` measures them for the file `tiles` in the cache, which changes no
       bit. Without NVRTC, desc.kernels_pack names a file of reid_pack_kernels. Caches and packs are machine code: a
       folder that others may write to is refused.
       The default precision is FP16: weights and activations in FP16; sums, biases, pooled features, heads and
       normalisation in FP32, never TF32. The largest batch is a power of two, at most 256 (default 64), and is halved
       while the GPU has too little memory. The device's primary context is used, the caller's current one restored.
       After an error that cannot be cleared (a lost device) every call on the handle fails.
       tools/gpu/README.md lists what has run on a GPU, and how fast. INT8's fix has not: use INT8 on the CPU.

   WINDOWS
       MinGW-w64 compiles reid.h for x86-64, gcc or clang with winpthreads: x86_64-w64-mingw32-gcc -O2 -static FILE.c
       -lpthread. CPU only, without AMX; the same bits as on Linux. Paths are in the process's code page. The queue's
       deadlines follow the wall clock. gcc -flto needs -Wa,-muse-unaligned-vector-move.

   TRAIL           one image of 640 x 480 pixels through resnet50, function by function; shapes are (rows, columns,
                   channels), and a function is indented below the one that calls it
       On the CPU, in FP32:
       reid_embed                    the pixels (480, 640, 3), bytes, become out[2048]
         reid__cpu_embed
           reid__run                 takes a batch at a time, and its mirrored images if desc.flip
             reid__run_batch         takes each image alone through layer1 and layer2, then all of them through the rest
               reid__prepare         fills the network's input:
                 reid__prep_rows     resizes to (256, 341, 3) and keeps the middle (224, 224, 3), still bytes
                 reid__prep_normalise        converts them to floats: (v * scale - mean) / std
               reid__run_op          computes one operation of the plan, conv1 (112, 112, 64) first:
                 reid__run_parts        cuts its pixels and output channels into parts for the threads
                   reid__conv_part   computes one part, block by block of pixels that fit in the cache:
                     reid__inputs    finds where the inputs of each pixel of the block are stored
                     reid__conv_block        multiplies them by the weights of 16 or 32 output channels
                       reid__tile_rows       calls reid__gemm.tile of >>kernels for a few pixels at a time
                   reid__winograd_part       computes most 3 x 3 convolutions, in place of reid__conv_part
               reid__run_op          then computes maxpool (56, 56, 64), layer1 (56, 56, 256), layer2 (28, 28, 512),
                                     layer3 (14, 14, 1024), layer4 (7, 7, 2048) and avgpool (1, 1, 2048)
                 reid__piece_part with -ibn, after conv1 of a block, in layer2.1 (28, 28, 128): normalises each of
                                     the first 64 channels by the mean and variance of its 784 pixels
                 reid__nonlocal_part with -nl, after layer2.2: computes from theta, phi and g, each (28, 28, 1), what
                                     each pixel takes from all 784; NL_2.0.W expands that to (28, 28, 512)
                                     In efficientnet_v2_s, one 3 x 3 convolution expands, features.2.0 from (112, 112,
                                     24) to (56, 56, 96), and a 1 x 1 projects to (56, 56, 48)
           reid__normalise           divides by the length: 2048 floats of unit length
       On a GPU, in FP16, reid_embed calls reid__gpu_embed in place of reid__cpu_embed:
         reid__gpu_embed             takes desc.batch images at a time, and fills one slot while the GPU computes one
           reid__slot_submit         queues everything that follows, and returns while the GPU works:
             reid__slot_fill         copies the pixels (480, 640, 3) to memory that the GPU reads
             reid__slot_upload       the copy to the GPU; of images of the network's size, reid__view_upload
             reid__gpu_resize        kernel reid_resize: (224, 224, 3) bytes, as on the CPU
             reid__gpu_capture       recorded the next steps in a CUDA graph when the handle was created:
                 reid__gpu_run_input kernel reid_input: (224, 224, 3) halves; on Hopper reid_stem_pool does it
                 reid__gpu_run_op    one kernel for each operation, with the shapes above; the embedding is in floats
           reid__slot_finish         waits, and copies the row of 2048 floats out

   INPUT
       A box selects one detection: a frame with twenty boxes is twenty reid_image that share their pixels. The result
       equals cropping first: no filter tap reads outside the box. A preset defines how pixels become the network's
       input: filter, sizes, mean and standard deviation. It is part of the result: a wrong one makes every cosine
       meaningless. reid__presets in >>image is the table of presets; reid__archs in >>arch has each network's default.
       Fields after the name modify it, from left to right: "timm-0.95 size=288x288 crop=1" or "mega filter=bicubic
       mean=0.5 std=0.25,0.25,0.3". They are filter=bilinear|bicubic, size=HxW, resize=straight|N (the short side),
       crop=FRACTION (timm's crop_pct: resize = floor(max(h, w) / FRACTION)), mean=R,G,B, std=R,G,B (in the order of the
       network's channels; one number applies to all three), scale=X or 1/X, order=rgb|bgr. reid_info.preset is then the
       name followed by +, reid_info.preprocessing the whole text. Fields without a name modify the default. desc.height
       and desc.width replace the crop, as size= does; the resize edge becomes round(max(h, w) * resize / crop).
       Resampling equals that of Pillow up to version 12.1 (fixed point, antialiased, rows first, uint8 between the
       passes) bit for bit; later versions resample the columns of tall images first. Results are exact from the pixels
       on: PNG, PPM, raw. JPEG decoders differ by about 2 levels per channel.

   OUTPUT
       One row of reid_dim floats per image, of unit length unless desc.raw. reid_cosine compares two rows.
           resnet50               2048   average pool of layer4
           resnet50-multiscale     512   4 x 128: layer2 pooled to 4x4, layer3 to 2x2, layer4 to 1x1, and the same
                                         1x1 vector again, each flattened (channel, row, column) and passed through a
                                         linear layer: reduce_layer2, reduce_layer3, reduce_layer4, reduce_avgpool
           efficientnet_b0 ... b7 1280, 1280, 1408, 1536, 1792, 2048, 2304, 2560: average pool; or any width with
                                         `projection.{weight,bias}`
           efficientnet_v2_s m l  1280   EfficientNetV2, as torchvision has it
           efficientnetv2_rw_t s m       1024, 1792, 2152: timm's variants
           miewid                 2152   efficientnetv2_rw_m, then a generalised mean, `pool_layer.p`, and batch norm,
                                         `bottleneck.*` (MiewID msv2 and msv3)
           resnet50-bnneck        2048   resnet50, then batch norm, `bottleneck.*`
           resnet50-strongbaseline 2048  resnet50-bnneck without ReLU before the first max pool (strong-baseline's code)
           resnet50-fastreid      2048   resnet50-bnneck, but the first max pool has no padding (fast-reid)
           resnet50-fastreid-gem  2048   resnet50-fastreid, but the last pool is a generalised mean, `pool_layer.p`;
                       with this pool also resnet50-bnneck-gem (fast-reid of 2020), resnet50-strongbaseline-gem (AGW)
           tf_efficientnet_b0 ... b7, tf_efficientnetv2_s m l     with TensorFlow's padding and epsilon, 1e-3
           resnet50-fastreid-512   512   resnet50-fastreid's pool, then a linear layer without bias, `reduction.weight`,
                                         and batch norm, `bottleneck.*`; resnet50-fastreid-gem-512: with gem's pool
           resnet50-layumi         512   linear layer and batch norm, `classifier.add_block.0.*` and `.1.*`
           resnet50-fc512          512   linear layer, batch norm and ReLU, `fc.0.*` and `fc.1.*` (torchreid)
       A ResNet may have another trunk, which its tensors reveal and the network's name then includes, as in
       resnet101-ibn-nl-fastreid-gem: 101 or 152 layers; -ibn (IBN-a) or -ibnb (IBN-b), which normalise channels by each
       image's own mean and variance; -nl (fast-reid's non-local blocks, one channel wide) or -nlhalf (AGW's, half as
       wide as their input). The names above stand for any trunk. A cosine means nothing until it is calibrated.
       resnet50-strongbaseline, -fastreid, -bnneck-gem, -strongbaseline-gem, timm_efficientnet_b5 and the tf_ networks
       have the same tensors as others, so desc.network or the file's metadata must name them.

   SEARCH
       reid_index_create and reid_search find the best rows, or groups of rows (an identity and its templates), of a
       gallery in memory by inner product, exactly. A GPU first reads a copy of the rows as bytes, 1 per component and 4
       per row, and scores those that can be among the best in double, to the same bits; for that it has the rows as
       given, too. If bytes leave out too much, with desc.precision REID_FP16 and before Ampere, it reads halves first,
       and takes 6 bytes per component, or 2 if the rows are halves. If only the bytes fit, the CPU scores. The CPU also
       computes group means and searches for more than 1024 hits. reid_index_grow adds rows; reid_group finds groups.

   WEIGHT FILE
       safetensors, read strictly: u64 little-endian header length (at most 16 MiB), JSON, data. Every tensor of the
       network exactly once with the exact shape; F32, F16, BF16 or F64; finite; batch-norm variance + epsilon > 0; byte
       ranges that cover the data exactly. Names are torchvision's; the prefixes module. model. backbone. _orig_mod. are
       dropped. `fc.*`, `classifier.*` and `*.num_batches_tracked` are ignored. Any other tensor is refused by name, or
       accepted with desc.allow_unused. The file is read once and never mapped. Batch norm is folded in double.
       Metadata keys that are read: reid.network, reid.preset, reid.last_stride ("1" or "2"), reid.head_activation.
       Networks that end with their last pool, or with a batch norm after it, may have a head: `projection.weight` (D,
       C) and `projection.bias` (D) for any D up to REID_MAX_DIM, followed by the activation that reid.head_activation
       names ("relu", "silu", "tanh", or none). `reid convert --head` builds it from layers under other names. A
       requested head that is not in the file is an error, unless desc.head is REID_HEAD_SEEDED: then value i of tensor
       `name` is u / sqrt(inputs), where u in [-1, 1) comes from the top 24 bits z >> 40 of
       splitmix64((fnv1a64(name) ^ seed) + (i + 1) * 0x9e3779b97f4a7c15) as u = (z >> 40) / 2^23 - 1.

   INT8            opt-in, for ResNets without -ibn, -nl or -strongbaseline, on a CPU or a GPU from Ampere (sm_80) on
       desc.precision = REID_INT8 needs the activation ranges that `reid calibrate --int8` measured on your own crops:
       desc.ranges, a safetensors file with one F32 scalar for each stored activation, under the name of the operation
       that writes it. Its metadata key reid.fingerprint must equal the network's fingerprint (without flip and raw).
       All convolutions but the first store and read bytes q that represent q * step: 0 ... 255 with step = range / 255;
       for a shortcut's own convolution -128 ... 127 with step = range / 127. For each output channel the weights w,
       with batch norm folded in double, become rint(w * 127 / max|w|). An output is computed from the exact sum of
       the products of inputs and weights:
           v = fma(sum, scale, bias), v = fma(residual, residual_scale, v), q = rint(v) clamped to the byte's range
       in FP32, ties to even, where scale = max|w| / 127 * input step / output step, bias is in units of the output
       step, and residual_scale = residual step / output step. The clamping is the ReLU. The first convolution does the
       same on pixel levels minus the level nearest to their mean, with integer weights rint(w / one), where w includes
       the preset's scale / std and one = max(max|w| / 2048, sum|w * largest input| / (2^24 - 384 * 49)): no sum exceeds
       2^24, so INT16, and halves with FP32 sums, are exact. Its scale is one / output step, and bias includes what
       rounding the mean leaves. The last pools add bytes and multiply by the step; heads are FP32. Before the heads all
       CPUs and GPUs give the same bits.
       `reid eval --compare fp32,int8` measures the loss of accuracy: with random weights at 224x224 the cosine to FP32
       is 0.995. An image exceeds the ranges when more than 30 in a million outputs of its convolutions (those with a
       ReLU and no residual) are 255, over both passes with desc.flip; its cosine can drop to 0.7. With desc.fallback it
       gets the embedding of an FP32 handle on the same device, bit for bit, for more than twice the memory.

   FINGERPRINT
       32 hexadecimal digits that identify the function from pixels to embedding; embeddings with different fingerprints
       must not be compared. It is the XXH64 hash, with seed 0 and then with seed 1, of this text, in which each line
       ends in \n:
           reid fingerprint 1 / network NAME / last_stride N / head none|file|seeded / seed N (only if seeded) /
           activation relu|silu|tanh (only if the file's head has one) / input H W / resize N / filter
           bilinear|bicubic / order rgb|bgr / scale X / three times: mean X std X / flip 0|1 / raw 0|1 / latency 1 (only
           if so) / for every tensor in plan order: NAME [D, D, ...] D0D1 / and in INT8: int8 / fallback 1 (only if so)
           / for every range in plan order: NAME X
       where X is the 16 hexadecimal digits of the IEEE double, and D0, D1 are XXH64 with seeds 0 and 1 of the tensor's
       values as little-endian FP32, before folding. It does not cover the path, prefixes, the file's dtype, unused
       tensors, device, instruction set, batch or threads. It detects accidents; it is not a cryptographic signature.

   ERRORS AND LOGGING
       Functions that can fail return reid_result: 0 is success, negative is failure. On failure out-parameters are
       zeroed, nothing leaks, and the handle stays usable. The detail goes into a reid_error of the caller: desc.error,
       or the last argument. desc.log_fn receives warnings. Callbacks must not throw, longjmp or use the same handle.

   MEMORY
       Everything is allocated in reid_create and freed in reid_destroy, through desc.alloc_fn and desc.free_fn.
       desc.memory_limit bounds the sum that reid_memory_report gives. Stacks, the driver and NVRTC are not counted.

   THREADS
       Any number of threads may call reid_embed on one handle; desc.lanes calls compute at once, the others wait in
       order. The threads of a lane block all signals, and sleep between calls. With desc.parallel_fn the caller's
       thread pool is used instead (examples/own_threads.c). A handle does not survive fork: in the child every call
       returns REID_ERR_FORKED, and reid_destroy only frees memory. For many callers, or deadlines, put a queue in front
       of it: reid_queue_create.

   DETERMINISM AND TOLERANCES
       The bits of an embedding depend on its pixels, the weights, the preset and the kind of arithmetic: not on the
       batch, the position in it, threads, lanes or calls. AVX2, AVX-512 and NEON give the same bits; scalar code has no
       fused multiply-add and differs in the last places; in bf16 AVX512_BF16 and AMX have their own bits; in INT8 all
       have the same. On a GPU the bits depend on the precision, the kind of chip and desc.latency; whatever computes
       parts of a sum, they are added in a fixed order. Resized pixels are equal everywhere, to the bit. The caller's
       rounding mode and flush-to-zero setting have no effect.
       Each component of the normalised embedding differs by at most 1e-5 from PyTorch in float64 on the same pixels, on
       every instruction set and with the GPU's FP32 kernels; tested for a network of every kind. The GPU's FP16 has a
       cosine of at least 0.9999. REID_BF16 stores activations and convolution weights in bf16, with cosines of at least
       0.9994, or 0.9990 if a linear layer and batch norm end the network or -ibn or -nl is in its name; 101 layers with
       random weights and instance norm: 0.977 (PyTorch in bfloat16: 0.960). On a GPU, from sm_80 on, it uses FP16's
       kernels, for networks whose activations exceed 65504; REID_DEVICE_AUTO chooses the CPU for it.

   SECURITY
       Weight files may come from strangers: size arithmetic is checked, memory is bounded by the file's size and the
       network, nothing in them is executed; the reader is fuzzed. Pixels are read where the image's description says.

   STABILITY
       A version is major.minor.patch. Until 1.0 a new minor version may change anything in >>api (see CHANGELOG.md), a
       patch version nothing. Where the library is linked, check reid_version() == REID_VERSION. Descriptions grow by
       fields whose zero keeps the previous behaviour. Result codes, networks and presets keep names, numbers and
       meaning. Embeddings with equal fingerprints may be compared across versions. Later versions will read today's
       weight files and ranges; caches and packs are made again. */

#ifndef REID__PASS
#ifdef __GNUC__ /* warnings of projects with other habits; with REID__WARN, as in our tests, clang's others remain */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas" /* compilers know different ones */
#pragma GCC diagnostic ignored "-Wpadded"
#ifdef REID_IMPLEMENTATION
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#pragma GCC diagnostic ignored "-Wfloat-equal"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#ifndef REID__WARN
#pragma GCC diagnostic ignored "-Weverything"
#pragma GCC diagnostic ignored "-Wuseless-cast"
#endif
#endif
#endif
#if defined(REID_IMPLEMENTATION) && defined(__linux__) && !defined(_GNU_SOURCE)
#ifdef _FEATURES_H
#error "reid.h: include the implementation before any system header, or compile this file with -D_GNU_SOURCE"
#undef REID_IMPLEMENTATION /* the implementation would only add more errors; the declarations below do not */
#endif
#define _GNU_SOURCE 1
#endif
#if defined(REID_IMPLEMENTATION) && defined(_WIN32) && !defined(__USE_MINGW_ANSI_STDIO)
#define __USE_MINGW_ANSI_STDIO 1 /* a C99 printf, which knows %zu */
#endif

/* --------------------------------------------------------------------------------------------------------------------
   >>api
   ------------------------------------------------------------------------------------------------------------------ */
#ifndef REID_H
#define REID_H

#include <stddef.h>
#include <stdint.h>

/* Thread safety: any thread may call any function at any time, on any handle, unless its comment restricts that. Every
   `error` may be NULL. The fields listed after `desc:` are all that a function uses of it. */

#define REID_VERSION 100 /* major * 10000 + minor * 100 + patch */
#define REID_VERSION_STRING "0.1.0"

#ifndef REID_API
#ifdef REID_STATIC
#define REID_API static __attribute__((unused))
#else
#define REID_API extern
#endif
#endif

/* `reid_desc desc = REID_INIT;` zeroes every field in C and C++ without a warning. Zero always means "the default". */
#ifdef __cplusplus
#define REID_INIT {}
extern "C" {
#else
#define REID_INIT {0}
#endif

/* Every result code with its value and its text. The detail (which tensor, which path) is in reid_error. */
#define REID_RESULTS(X)                                                                                                \
    X(REID_OK, 0, "success")                                                                                           \
    X(REID_ERR_INVALID_ARG, -1, "invalid argument")                                                                    \
    X(REID_ERR_OUT_OF_MEMORY, -2, "out of memory")                                                                     \
    X(REID_ERR_MEMORY_LIMIT, -3, "memory_limit is too small for a batch of one")                                       \
    X(REID_ERR_SYSTEM, -4, "the operating system could not create a mutex, a condition variable or a thread")          \
    X(REID_ERR_FORKED, -5, "this handle was created before a fork; create one in each process")                        \
    X(REID_ERR_LEFT_OUT, -6, "this part was left out when reid.h was compiled")                                        \
    X(REID_ERR_FULL, -7, "the queue is full: try again later")                                                         \
    X(REID_ERR_EXPIRED, -8, "the deadline has passed, or cannot be met")                                               \
    X(REID_ERR_CANCELLED, -9, "the request was cancelled")                                                             \
    X(REID_ERR_STOPPING, -60, "the queue is stopping")                                                                 \
    X(REID_ERR_TICKET, -61, "no request has this ticket, or it has already ended")                                     \
    X(REID_WARN_NOT_OPTIMISED, -63, "reid.h was compiled without -O and is many times slower")                         \
    X(REID_WARN_SCALAR, -64, "no fast kernels for this CPU and precision: using plain C, which is many times slower")  \
    X(REID_ERR_CONTRADICTION, -62, "the constraints conflict: rows must be both linked and separate")                  \
    X(REID_ERR_FILE_OPEN, -10, "cannot open the file")                                                                 \
    X(REID_ERR_FILE_READ, -11, "cannot read the file")                                                                 \
    X(REID_ERR_FILE_SHORT, -12, "the file ended early (truncated, or changed while it was read)")                      \
    X(REID_ERR_FILE_WRITE, -24, "cannot write the file")                                                               \
    X(REID_ERR_NOT_SAFETENSORS, -13, "not a safetensors file")                                                         \
    X(REID_ERR_HEADER_SIZE, -14, "the header length is zero, over the limit, or beyond the end of the file")           \
    X(REID_ERR_HEADER_JSON, -15, "the header is not valid JSON")                                                       \
    X(REID_ERR_HEADER_FIELD, -16, "a header entry lacks a field, repeats one, or has an unknown or mistyped one")      \
    X(REID_ERR_HEADER_LIMIT, -17, "too many tensors, too many dimensions, or a name that is too long")                 \
    X(REID_ERR_DUPLICATE_TENSOR, -18, "a tensor name occurs twice (perhaps once with a prefix)")                       \
    X(REID_ERR_UNKNOWN_DTYPE, -19, "unknown dtype")                                                                    \
    X(REID_ERR_TENSOR_SIZE, -20, "shape times dtype does not equal the tensor's byte range")                           \
    X(REID_ERR_DATA_LAYOUT, -21, "the tensors overlap, leave a gap, or do not end where the file ends")                \
    X(REID_ERR_UNKNOWN_NETWORK, -30, "the tensors do not match any network that reid.h knows")                         \
    X(REID_ERR_TENSOR_MISSING, -31, "a tensor that the network needs is missing")                                      \
    X(REID_ERR_TENSOR_UNEXPECTED, -32, "the network does not have this tensor")                                        \
    X(REID_ERR_TENSOR_SHAPE, -33, "a tensor has the wrong shape")                                                      \
    X(REID_ERR_TENSOR_DTYPE, -34, "a tensor has a dtype that weights cannot have")                                     \
    X(REID_ERR_NOT_FINITE, -35, "a weight is NaN or infinite")                                                         \
    X(REID_ERR_BN_VARIANCE, -36, "a batch-norm variance plus epsilon is not positive")                                 \
    X(REID_ERR_EXPONENT, -37, "the exponent of a generalised mean is out of range")                                    \
    X(REID_ERR_RANGES, -38, "INT8 needs activation ranges measured for exactly this network")                          \
    X(REID_ERR_UNKNOWN_PRESET, -40, "unknown preset")                                                                  \
    X(REID_ERR_INPUT_SIZE, -41, "invalid input size")                                                                  \
    X(REID_ERR_HEAD, -42, "this head does not exist for this network")                                                 \
    X(REID_ERR_DEVICE, -43, "the requested device cannot be used")                                                     \
    X(REID_ERR_NO_KERNELS, -44, "the text of the GPU kernels is missing")                                              \
    X(REID_ERR_ISA, -45, "this CPU lacks the requested instruction set")                                               \
    X(REID_ERR_PRECISION, -46, "the device does not offer this precision")                                             \
    X(REID_ERR_KERNEL_COMPILE, -47, "a GPU kernel could not be compiled")                                              \
    X(REID_ERR_KERNEL_PACK, -48, "not a kernel pack, or damaged, or made for another network or chip")                 \
    X(REID_ERR_GPU, -49, "the GPU or its driver reported an error")                                                    \
    X(REID_ERR_IMAGE, -50, "invalid image description")                                                                \
    X(REID_ERR_BOX, -51, "the box is empty or outside the image")                                                      \
    X(REID_ERR_EMBEDDING, -52, "the embedding is zero or not finite, so it has no direction")

typedef enum reid_result {
#define REID_ENUM_OF(id, value, text) id = value,
    REID_RESULTS(REID_ENUM_OF)
#undef REID_ENUM_OF
    REID_RESULT_FORCE_INT = -32768
} reid_result;

typedef enum reid_device { REID_DEVICE_AUTO, REID_DEVICE_CPU, REID_DEVICE_CUDA } reid_device;
typedef enum reid_precision { REID_PRECISION_DEFAULT, REID_FP32, REID_FP16, REID_BF16, REID_INT8 } reid_precision;
typedef enum reid_isa {
    REID_ISA_AUTO, REID_ISA_SCALAR, REID_ISA_AVX2, REID_ISA_AVX512,
    REID_ISA_AVX512_BF16, /* for REID_BF16: inner-product instructions */
    REID_ISA_AMX_BF16,    /* for REID_BF16: tile instructions */
    REID_ISA_AVX512_VNNI, /* for REID_INT8: inner-product instructions */
    REID_ISA_AMX_INT8,    /* for REID_INT8: tile instructions */
    REID_ISA_NEON         /* available on every 64-bit ARM processor */
} reid_isa;
typedef enum reid_format {
    REID_RGB8, REID_BGR8, REID_RGBA8, REID_GRAY8,
    REID_PREPARED /* the whole output of reid_preprocess, for a handle with the same input: it is not resized again */
} reid_format;
typedef enum reid_log_level { REID_LOG_DEBUG, REID_LOG_INFO, REID_LOG_WARNING } reid_log_level;

/* Which linear head turns pooled features into the embedding. */
typedef enum reid_head {
    REID_HEAD_AUTO,   /* the head whose tensors are in the file, else none */
    REID_HEAD_NONE,   /* pooled features unchanged; head tensors in the file are ignored */
    REID_HEAD_FILE,   /* the head must be in the file */
    REID_HEAD_SEEDED  /* pseudo-random, from head_seed (see WEIGHT FILE); part of the fingerprint */
} reid_head;

#define REID_NETWORK_NAME 48 /* bytes that hold any network's name */

/* How a tensor of a weight file relates to a network: see reid_check_weights. */
typedef enum reid_tensor_status {
    REID_TENSOR_USED,
    REID_TENSOR_MISSING,     /* the network needs it, and the file lacks it */
    REID_TENSOR_MISMATCH,    /* present, with the wrong shape or dtype */
    REID_TENSOR_IGNORED,     /* known and not needed: classifier, num_batches_tracked, another head */
    REID_TENSOR_UNEXPECTED   /* the network has no part of that name */
} reid_tensor_status;

/* Filled in by a call that fails, if the caller passed one; empty after success. The caller owns it. */
typedef struct reid_error { reid_result code; char text[2048]; } reid_error;

/* Integer pixels from the top left corner. Clipped to the image; REID_ERR_BOX if nothing is left. */
typedef struct reid_box { int x, y, width, height; } reid_box;

/* One image, or one detection in it. Neither pixels nor box are copied or kept. */
typedef struct reid_image {
    const void *pixels;  /* rows from the top, 8 bits per channel */
    int width, height;   /* pixels, 1 … REID_MAX_SIDE */
    ptrdiff_t stride;    /* bytes from row to row; 0: width times the format's bytes */
    reid_format format;  /* alpha is dropped, grey is repeated */
    const reid_box *box; /* NULL: the whole image */
} reid_image;

#define REID_MAX_SIDE 1000000
#define REID_MAX_INPUT 4096 /* pixels, each side of the network's input */

typedef void (*reid_log_fn)(reid_log_level level, reid_result id, const char *message, void *user);
typedef void (*reid_task_fn)(void *task, int index);
/* Calls fn(task, i) for every i in 0 … count-1, in any order and on any threads, and returns when all are done. */
typedef void (*reid_parallel_fn)(reid_task_fn fn, void *task, int count, void *user);
typedef void (*reid_tensor_fn)(const char *name, reid_tensor_status status, const char *note, void *user);

/* The description of a handle. REID_INIT plus `weights` is a complete one. */
typedef struct reid_desc {
    const char *weights;      /* path of a safetensors file … */
    const void *weights_data; /* … or its bytes in memory, needed only during reid_create */
    size_t weights_size;

    const char *network;      /* reid_network_name(i); NULL: `reid.network` in the file, else found from its tensors */
    const char *preset;       /* reid_preset_name(i), then perhaps fields, see INPUT; NULL: the file's, or network's */
    int height, width;        /* network input in pixels; 0, 0: the preset's. Both or neither */
    int last_stride;          /* of ResNet's layer4: 1 or 2; 0: `reid.last_stride` in the file, else 2 */
    reid_head head;
    uint64_t head_seed;       /* for REID_HEAD_SEEDED */
    int flip;                 /* 1: average with the mirrored image before L2 normalisation */
    int raw;                  /* 1: no L2 normalisation */
    int latency;              /* 1: for calls with one image. A GPU computes parts of each sum side by side, which
                                 changes the bits and the fingerprint and slows down large batches. On a CPU only the
                                 fingerprint changes; INT8's convolutions keep their bits */
    int allow_unused;         /* 1: tensors that the network lacks are logged, not refused, except a trunk's layers */

    reid_device device;
    int device_index;         /* which GPU */
    reid_precision precision; /* default: FP32 on the CPU, FP16 on CUDA; BF16: if the chip has it; INT8: ResNets only */
    const char *ranges;       /* for REID_INT8: path of the activations' ranges, see INT8 */
    int fallback;             /* 1: with REID_INT8, images beyond the ranges are computed again in FP32; see INT8 */
    reid_isa cpu_isa;         /* auto: REID_CPU_ISA in the environment, else the best one for the precision */
    int batch;                /* most images computed together, fewer if that is as fast; 0: automatic. Same bits */
    int threads;              /* per lane, including the caller's; 0: as many as affinity mask and cgroup quota allow */
    int lanes;                /* calls that compute at once, each with activations and `threads`; 0: CPU 1, CUDA 2 */
    size_t memory_limit;      /* bytes, host and device together; 0: none. The batch shrinks to fit */

    /* The text of reid_kernels.cu, which CUDA needs; both NULL: the text compiled in, if any (see OPTIONS). */
    const char *kernels_src;  /* the text itself, NUL-terminated … */
    const char *kernels_path; /* … or the path of the file */
    const char *kernels_pack; /* a file written by reid_pack_kernels: its kernels are not compiled again */
    const char *nvrtc_path;   /* libnvrtc.so; NULL: REID_NVRTC in the environment, else searched for */
    const char *cache_dir;    /* of compiled kernels; "": none; NULL: REID_CACHE_DIR in the environment, or see CUDA */

    /* Both or neither; memory aligned as malloc's. Called on the caller's thread, never during reid_embed. */
    void *(*alloc_fn)(size_t size, void *user);
    void (*free_fn)(void *ptr, size_t size, void *user);
    void *alloc_user;
    reid_log_fn log_fn;       /* NULL: silent */
    void *log_user;
    reid_parallel_fn parallel_fn; /* runs parts on the caller's thread pool, of `threads` threads; NULL: own threads */
    void *parallel_user;
    reid_error *error;        /* receives the detail when reid_create fails */
} reid_desc;

/* A reid_desc with every default resolved. */
typedef struct reid_info {
    int version;            /* REID_VERSION of the implementation */
    int optimized;          /* 0: compiled without -O, many times slower */
    char network[REID_NETWORK_NAME];
    char head[32];          /* "none", "file" or "seeded" */
    uint64_t head_seed;
    char preset[32];
    int height, width;      /* network input */
    int resize_edge;        /* short side after resizing, before the crop; 0: straight to height × width */
    double scale, mean[3], std[3]; /* value v of channel c becomes (v * scale - mean[c]) / std[c] */
    int bgr;                /* 0: channel 0 is red; 1: it is blue */
    int last_stride;
    int dim;                /* floats in an embedding */
    int flip, raw, latency;
    char device[16];        /* "cpu" or "cuda:0" */
    char chip[64];
    char filter[16];        /* "bilinear" or "bicubic" */
    char isa[16];           /* as in REID_CPU_ISA, "avx512", or the GPU's "sm_90" */
    char precision[8];      /* "fp32", "bf16", "fp16", "int8" */
    int batch, threads, lanes;
    int64_t parameters;     /* trunk and head, batch-norm statistics not counted */
    int64_t macs;           /* multiply-adds per image */
    size_t weight_bytes;    /* packed weights */
    size_t arena_bytes;     /* activations and scratch, all lanes */
    size_t total_bytes;     /* everything allocated through alloc_fn, and on the GPU: see reid_memory_report */
    char fingerprint[33];   /* 32 hexadecimal digits of the function from pixels to embedding; see FINGERPRINT */
    char preprocessing[256]; /* as desc.preset, this text gives the same network input */
    int fallback;           /* 1: images that exceed INT8's ranges get the FP32 embedding */
} reid_info;

/* INT8: counts over all calls of a handle so far. In other precisions all are 0. */
typedef struct reid_saturation {
    int64_t images;     /* computed in INT8 */
    int64_t saturated;  /* of these, images whose activations exceeded the ranges: see INT8 */
    int64_t recomputed; /* of these, images recomputed by desc.fallback */
} reid_saturation;

typedef struct reid_ctx reid_ctx;

#define REID_OP_NONE (-1)

/* One operation of the plan, for audits: examples/plain.c needs nothing else to compute it. Sizes: one image, NHWC. */
typedef struct reid_op_info {
    const char *name;       /* the weights' name, "layer1.0.conv2" */
    const char *kind;       /* "conv", "depthwise", "maxpool", "squeeze", "pool", "linear", "instance", "nonlocal",
                               "normalise" */
    const char *activation; /* "", "relu", "silu"; for a head also "tanh" */
    const char *norm;       /* its batch norm's name, "layer1.0.bn2", or "" */
    double epsilon;         /* what that batch norm, or instance norm, adds to the variance */
    int norm_from;          /* the first channel with that batch norm; the others have none */
    int normed;             /* "instance": how many channels, from the first on, have instance norm: the image's own
                               mean and (biased) variance, `name`.weight and .bias; then activation and residual */
    int in_h, in_w, in_c, out_h, out_w, out_c;
    int kernel_h, kernel_w, stride, pad_y, pad_x; /* the padding above and on the left */
    int input;              /* the operation whose output it reads; REID_OP_NONE: the image. A "squeeze" reads the mean
                               of each channel; "normalise" reads the vector that all linear layers write to */
    int residual;           /* the operation whose output is added before the activation function, or in "instance"
                               after it; or REID_OP_NONE */
    int scale;              /* the "squeeze" whose factors multiply the input, one per channel, or REID_OP_NONE */
    int key, value;         /* "nonlocal": output = (input key^T) value / pixels, matrices (pixels, channels) */
    int channel;            /* where its output starts in the vector: 0 except for parts of the multi-scale network */
    int64_t macs;           /* multiply-adds per image */
    int64_t parameters;
    int64_t bytes;          /* activations read and written per image plus weights read once, FP32 */
    int computed_by;        /* itself, or the operation whose loop or launch, and whose time, includes this one */
    const char *kernel;     /* on the GPU, for the largest batch: "reid_conv_f16 128x64"; on the CPU "winograd" or "" */
} reid_op_info;

/* Memory of a handle, in bytes. */
typedef struct reid_memory {
    size_t host;               /* through alloc_fn */
    size_t pinned;             /* host memory that the GPU reads directly */
    size_t device_weights, device_activations, device_staging;
    size_t total;
} reid_memory;

/* A GPU, its driver and NVRTC, as reid.h finds them. */
typedef struct reid_gpu_info {
    char name[64];
    char arch[16];             /* "sm_90" */
    int multiprocessors;
    char uuid[48];             /* "GPU-0f1e...", as in NVML and nvidia-smi */
    size_t memory, memory_free; /* bytes; free at the moment, with all processes counted */
    int integrated;            /* 1: it shares its memory with the host (Jetson) */
    int driver_version;        /* CUDA version of the driver, 13000 for 13.0 */
    int nvrtc_version;         /* CUDA version of NVRTC, 13000 for 13.0; 0: not found */
    char nvrtc_path[256], cache_dir[256]; /* "" if not found */
    char kernels[16];          /* source of the kernels' text: "desc", "file", "built in" or "" */
} reid_gpu_info;

/* Creates a handle: reads and checks the weights, folds batch norm, packs, allocates everything.

   Parameters      desc: see reid_desc; copied, so it need not outlive the call. out: the handle; NULL on failure.
   Returns         REID_OK or the first error; its detail is in desc->error.
   Errors          any of REID_RESULTS except REID_ERR_IMAGE, REID_ERR_BOX, REID_ERR_FORKED. */
REID_API reid_result reid_create(const reid_desc *desc, reid_ctx **out);

/* Frees everything; after a fork, in the child, only memory. NULL is allowed. No other call on it may be running. */
REID_API void reid_destroy(reid_ctx *ctx);

/* Computes embeddings.

   Parameters      images: n descriptions; n may be 0. out: (n, reid_dim(ctx)) float32, row i for images[i];
                   L2-normalised unless desc.raw. error (reid_embed_ex): the detail of a failure, e.g. which image.
   Returns         REID_OK, or an error after which all of out is zeroed. All descriptions are checked before any work
                   starts; one bad image fails the call.
   Errors          REID_ERR_INVALID_ARG, REID_ERR_IMAGE and REID_ERR_BOX (with the index), REID_ERR_EMBEDDING,
                   REID_ERR_FORKED. Allocates nothing. */
REID_API reid_result reid_embed(reid_ctx *ctx, const reid_image *images, int n, float *out);
REID_API reid_result reid_embed_ex(reid_ctx *ctx, const reid_image *images, int n, float *out, reid_error *error);

/* reid_embed_ex, which also reports the images whose activations exceeded INT8's ranges: saturated[i] is 1 for these,
   whether recomputed or not, else 0 (other precisions: always 0). saturated: n bytes, zeroed on failure, or NULL. */
REID_API reid_result reid_embed_saturated(reid_ctx *ctx, const reid_image *images, int n, float *out,
                                          unsigned char *saturated, reid_error *error);

/* The network's input as pixels: cropped to the box, resized, centre-cropped, before normalisation.

   Parameters      out: (height, width, 3) uint8 RGB, of the input size in reid_info. Passed as a reid_image of the
                   format REID_PREPARED, it gives the same embedding as `image`, in less memory than a photograph.
   Returns         REID_OK or an error; equal to Pillow's resize (and torchvision's centre crop) bit for bit.
   Errors          REID_ERR_INVALID_ARG, REID_ERR_IMAGE, REID_ERR_BOX, REID_ERR_FORKED.
   Thread safety   on a CPU, lanes * threads calls run at once, besides reid_embed; on a GPU, a call takes a lane. */
REID_API reid_result reid_preprocess(reid_ctx *ctx, const reid_image *image, uint8_t *out, reid_error *error);

/* Floats in an embedding; 0 for NULL. */
REID_API int reid_dim(const reid_ctx *ctx);

/* The description with its defaults resolved; a handle's memory; how many images exceeded INT8's ranges. Errors:
   REID_ERR_INVALID_ARG, REID_ERR_FORKED; the result is zeroed first. */
REID_API reid_result reid_query_desc(const reid_ctx *ctx, reid_info *info);
REID_API reid_result reid_memory_report(const reid_ctx *ctx, reid_memory *memory);
REID_API reid_result reid_query_saturation(const reid_ctx *ctx, reid_saturation *saturation);

/* Finds the GPU, driver, NVRTC and cache folder that reid_create would use.

   Parameters      desc: device_index, kernels_src, kernels_path, nvrtc_path, cache_dir, allocator and error. gpu: set
                   as far as possible even when the call fails.
   Returns         REID_OK when CUDA can be used, else the first reason why not; desc->error lists what was tried.
   Errors          REID_ERR_DEVICE, REID_ERR_NO_KERNELS, REID_ERR_FILE_OPEN, REID_ERR_GPU, REID_ERR_INVALID_ARG,
                   REID_ERR_OUT_OF_MEMORY. */
REID_API reid_result reid_query_gpu(const reid_desc *desc, reid_gpu_info *gpu);

/* Receives each program that reid_pack_kernels compiles: its options, the bytes of its cubin and NVRTC's log. */
typedef void (*reid_kernel_fn)(const char *options, const void *cubin, size_t bytes, const char *log, void *user);

/* Compiles every kernel of a network for one chip, and writes them to a file for desc.kernels_pack. It needs NVRTC, but
   neither a GPU nor a driver nor weights.

   Parameters      desc: network (by name), preset or height and width, last_stride, head, flip, raw, latency,
                   precision, fallback, batch, threads, kernels_src, kernels_path, nvrtc_path, cache_dir, allocator and
                   error. arch: "sm_90". path: the file, replaced once complete; NULL: none. fn: called for every
                   program; may be NULL.
   Errors          REID_ERR_UNKNOWN_NETWORK, REID_ERR_NO_KERNELS, REID_ERR_DEVICE, REID_ERR_KERNEL_COMPILE,
                   REID_ERR_FILE_WRITE and those of the arguments. */
REID_API reid_result reid_pack_kernels(const reid_desc *desc, const char *arch, const char *path, reid_kernel_fn fn,
                                       void *user);

/* Measures the operations of the plan one by one on n images of noise, on a lane, like reid_embed. Allocates.

   Parameters      n: 1 ... the batch of reid_query_desc. repeats: 1 ... 1000. us: (reid_op_count) medians in us.
                   network: NULL, or receives the time of all in one go, on a GPU if n is a power of two; else 0.
   Errors          REID_ERR_INVALID_ARG, REID_ERR_OUT_OF_MEMORY, REID_ERR_GPU, REID_ERR_FORKED. */
REID_API reid_result reid_profile(reid_ctx *ctx, int n, int repeats, float *us, float *network, reid_error *error);

/* Receives one activation: op as from reid_query_op, values (out_h, out_w, out_c), valid during the call only. */
typedef void (*reid_observe_fn)(const reid_op_info *op, const float *values, void *user);

/* Computes one image on a lane of the CPU and passes on what each operation stores, e.g. to measure ranges. Allocates.

   Parameters      fn: called for every operation in order, except the normalisation and those whose result is not
                   stored because they are fused. bf16 is widened; INT8's bytes are passed as the values that they
                   represent. fn must not use this handle, whose lane is taken.
   Errors          REID_ERR_INVALID_ARG, REID_ERR_IMAGE, REID_ERR_BOX, REID_ERR_DEVICE (the handle is on a GPU),
                   REID_ERR_OUT_OF_MEMORY, REID_ERR_FORKED. */
REID_API reid_result reid_observe(reid_ctx *ctx, const reid_image *image, reid_observe_fn fn, void *user,
                                  reid_error *error);

/* The plan, operation by operation: reid_op_count of them, in order of execution. Strings live as long as the handle.
   Errors: REID_ERR_INVALID_ARG for an index out of range, REID_ERR_FORKED; info is zeroed. */
REID_API int reid_op_count(const reid_ctx *ctx);
REID_API reid_result reid_query_op(const reid_ctx *ctx, int index, reid_op_info *info);

/* Compares a weight file with a network without loading it: calls fn once for every tensor of either.

   Parameters      desc: weights, network, head, last_stride, allow_unused, allocator and error, as for reid_create.
                   network: receives the given or detected name; may be NULL.
   Returns         REID_OK when reid_create would accept names, shapes and dtypes, else the first error it would give.
                   In both cases fn is called for every tensor, unless the file itself cannot be read.
   Errors          the file, header and tensor errors of REID_RESULTS. */
REID_API reid_result reid_check_weights(const reid_desc *desc, reid_tensor_fn fn, void *user,
                                        char network[REID_NETWORK_NAME]);

/* Value of a key of the file's `__metadata__` map, e.g. "reid.preset". Returns REID_OK and the text in value (empty if
   the file lacks the key), or a file error, or REID_ERR_INVALID_ARG if the text does not fit into size bytes. */
REID_API reid_result reid_weights_metadata(const reid_desc *desc, const char *key, char *value, size_t size);

/* Cosine of two vectors of dim floats of any length, as of raw embeddings: -1 … 1, in double; 0 if one is zero. */
REID_API double reid_cosine(const float *a, const float *b, int dim);

/* Names, for option lists: index 0, 1, 2 …, NULL past the end. */
REID_API const char *reid_network_name(int index);
REID_API const char *reid_preset_name(int index);

/* Fills a description by field names, for languages that do not read this header. Start from reid_size("reid_desc")
   zero bytes, and set what should differ from the default: reid_set(desc, "precision", "bf16", e).

   Parameters      key: the name of a field. value: for numbers their decimal digits; for enums the end of their name in
                   lower case ("cuda", "avx512"); for texts (borrowed: keep them until reid_create has returned) and
                   all other pointers, including callbacks, the pointer itself. NULL: back to the default.
   Errors          REID_ERR_INVALID_ARG (unknown key or value), with the reason in error. */
REID_API reid_result reid_set(reid_desc *desc, const char *key, const void *value, reid_error *error);

/* Size in bytes of a struct of this file in the compiled implementation: reid_size("reid_info"); 0 for an unknown name.
   Bindings that declare structs themselves compare it with theirs, or allocate this much. */
REID_API size_t reid_size(const char *type);

/* The text of a result code ("success", ...) and its name ("REID_OK", ...), never NULL. */
REID_API const char *reid_result_string(reid_result result);
REID_API const char *reid_result_name(reid_result result);

/* REID_VERSION and REID_VERSION_STRING of the compiled implementation. */
REID_API int reid_version(void);
REID_API const char *reid_version_string(void);

/* Embeddings to search. They are not copied: rows and groups must not change until the index is destroyed or grows. */
typedef struct reid_rows {
    const float *floats;    /* (count, dim), of any norm; scores are cosines if every row has norm 1 ... */
    const uint16_t *halves; /* ... or IEEE half precision instead, in half the memory: see reid_to_halves */
    size_t count;           /* 0 ... 4294967294 */
    int dim;                /* 1 ... REID_MAX_DIM */
    const uint32_t *groups; /* [count]: rows with equal numbers form a group (an identity); NULL: each row is its own */
} reid_rows;

#define REID_MAX_DIM 65536
#define REID_MAX_TOP 64

/* What is ranked in a search, and how the scores of its rows give a group's score. */
typedef enum reid_scoring {
    REID_ROWS,       /* rows */
    REID_GROUP_MAX,  /* groups, by their best row */
    REID_GROUP_MEAN, /* groups, by the mean over all their rows, added in order */
    REID_GROUP_TOP   /* groups, by the mean of their `top` best rows, or of all if there are fewer; added best first */
} reid_scoring;

/* Returns 1 if the row is to be ignored for this query (same image, same camera, ...). Called on any of the index's
   threads for candidate rows, in any order and possibly repeatedly: the result must always be the same. */
typedef int (*reid_exclude_fn)(int query, size_t row, void *user);

/* The description of a search. REID_INIT plus `k` is a complete one. */
typedef struct reid_search_desc {
    int k;                /* most hits per query, at least 1; may exceed the number of rows */
    reid_scoring scoring;
    int top;              /* for REID_GROUP_TOP: 1 ... REID_MAX_TOP */
    int use_threshold;    /* 1: only hits with score >= threshold, up to k of them */
    double threshold;
    reid_exclude_fn exclude; /* NULL: no row is ignored */
    void *exclude_user;
} reid_search_desc;

typedef struct reid_hit {
    uint32_t row;   /* for a group its best row; of equal rows the first */
    uint32_t group; /* rows.groups[row]; without groups the same as row */
    double score;
} reid_hit;

typedef struct reid_index reid_index;

/* Prepares a search: checks every row, sorts the rows of each group, starts threads, copies the rows to a GPU.

   Parameters      desc: device, device_index, the fields about kernels, cpu_isa, threads, parallel_fn, memory_limit,
                   allocator, log and error. REID_DEVICE_AUTO uses a GPU, if it can, for galleries of 2^24 values or
                   more; memory_limit includes device memory. A network's pack contains the kernels for its embeddings.
                   precision: for REID_INT8 a GPU reads a copy of the rows as bytes first, for REID_FP16 as halves.
                   rows: the struct is copied, the arrays are not. out: NULL on failure.
   Errors          REID_ERR_INVALID_ARG, REID_ERR_EMBEDDING (a row is not finite, or longer than 1e18), REID_ERR_ISA,
                   REID_ERR_OUT_OF_MEMORY, REID_ERR_MEMORY_LIMIT, REID_ERR_SYSTEM, REID_ERR_LEFT_OUT; on a GPU also
                   those of reid_create. */
REID_API reid_result reid_index_create(const reid_desc *desc, const reid_rows *rows, reid_index **out);

/* Adds rows to an index in much less time than making another: only new ones are checked, and copied to a GPU. The
   index stays on its device. Other threads may be searching.

   Parameters      rows: all of them, first those of the index, unchanged, then the new ones; of its dim and format,
                   with groups, which may all be new, if it has some. Arrays that were replaced are not used any more.
   Errors          those of reid_index_create and REID_ERR_FORKED. The index then has the rows it had. A GPU needs
                   memory for all rows beside those it has; without it, destroy the index and create another. */
REID_API reid_result reid_index_grow(reid_index *index, const reid_rows *rows, reid_error *error);

/* Frees everything but the rows. NULL is allowed. Thread safety: no search on this index may be running. */
REID_API void reid_index_destroy(reid_index *index);

/* Finds the k best rows or groups for each query by inner product, exactly: scores are sums in double, from component 0
   on, and the result is that of sorting all of them; of equal scores the lower row comes first. Searching a gallery
   with its own rows (queries is rows.floats, n is rows.count) takes about half the time.

   Parameters      queries: (n, dim). hits: (n, k), best first, the unused end zeroed. found: [n], hits per query.
                   Both are zeroed on failure.
   Errors          REID_ERR_INVALID_ARG, REID_ERR_EMBEDDING (a query is not finite, or longer than 1e18),
                   REID_ERR_OUT_OF_MEMORY, REID_ERR_MEMORY_LIMIT, REID_ERR_GPU, REID_ERR_FORKED.
   Thread safety   one call searches at a time; those that wait for it, have the same description and do not exclude
                   rows are then searched for together, which takes little longer than one. Allocates. */
REID_API reid_result reid_search(reid_index *index, const float *queries, int n, const reid_search_desc *search,
                                 reid_hit *hits, int *found, reid_error *error);

/* --- groups: rows of the same individual, found without labels --- */
/* The description of a grouping. REID_INIT plus `threshold` is a complete one. */
typedef struct reid_group_desc {
    double threshold;            /* two groups are joined as long as their mean cosine is at least this */
    const uint32_t *must_link;   /* (must_links, 2): pairs of rows of the same group, whatever their score; or NULL */
    size_t must_links;
    const uint32_t *cannot_link; /* (cannot_links, 2): pairs of rows whose groups are never joined; or NULL */
    size_t cannot_links;
    const uint32_t *separate_ids; /* [count]: groups with rows of different numbers, such as the individuals of an
                                    earlier run, are never joined; UINT32_MAX: no constraint for this row. Or NULL */
    const uint32_t *frame_ids;   /* [count]: rows of the same number, such as crops of one image, are never in one
                                    group, without a cannot_link for each pair; UINT32_MAX: no constraint. Or NULL */
    int (*stop_fn)(void *user);  /* polled on the caller's thread; 1: stop with REID_ERR_CANCELLED. NULL: never */
    void *stop_user;
} reid_group_desc;

/* Two groups that were joined, each identified by its first row. */
typedef struct reid_merge {
    uint32_t a, b; /* a < b */
    int must_link; /* 1: joined because of a must_link */
    double score;  /* mean cosine between the rows of the two */
} reid_merge;

/* Groups rows by average linkage, exactly: each row starts as a group; the two groups with the highest mean cosine
   between their rows are joined (of equal ones those with the lowest first rows), until that mean is below the
   threshold. Scores are rounded to 2^-40 first; equal rows without must_links are joined before all others. The result
   equals scipy's linkage(rows, "average", "cosine") cut at 1 - threshold, in at most 12 * dim + 900 bytes per row.
   must_links are joined first; groups with a cannot_link, different separate_ids or a common frame between their rows
   are never joined. The result does not depend on threads, instruction set or device.

   Parameters      desc: the fields that reid_index_create uses. rows: normalised internally, none may be zero;
                   rows.groups must be NULL. out: [count], the group of each row, numbered 0, 1, 2, ... in the order of
                   their first rows. merges: [count], or NULL: the joins, first those of must_links in their order, then
                   the others by falling score. merged: the number of joins; NULL if merges is. Zeroed on failure.
   Errors          those of reid_index_create and reid_search; REID_ERR_EMBEDDING also for a row of zeros;
                   REID_ERR_CONTRADICTION: must_links connect two rows that must stay separate, and merges then holds
                   the links from one to the other; REID_ERR_CANCELLED.
   Allocates; takes minutes for 100,000 rows. */
REID_API reid_result reid_group(const reid_desc *desc, const reid_rows *rows, const reid_group_desc *group,
                                uint32_t *out, reid_merge *merges, size_t *merged);

/* --- a queue: many callers with few images each ---
   Submitted images collect while all lanes of a handle are busy; a lane that becomes free takes the next batch, in the
   order of priority, deadline, arrival. An idle lane starts at once. Rows have the bits of reid_embed. */

typedef struct reid_queue reid_queue;
typedef uint64_t reid_ticket; /* identifies a request; never 0 */

/* Called exactly once for every accepted request when it has ended, on a thread of the queue. With REID_OK, out is
   filled; with REID_ERR_EXPIRED, REID_ERR_CANCELLED, REID_ERR_STOPPING or an error of reid_embed, out is zeroed. It
   should return quickly, because the same thread computes. It may submit and cancel, but must not wait or destroy. */
typedef void (*reid_done_fn)(reid_result result, void *user);

/* A request. REID_INIT plus `images`, `n` and `out` is a complete one, for which reid_submit waits. */
typedef struct reid_request {
    const reid_image *images; /* [n], n at least 1; images, boxes and pixels must not change until it has ended */
    int n;
    float *out;               /* (n, reid_dim) */
    int priority;             /* -3 (first) ... 0 (the default) ... 4 (last): 8 levels */
    int64_t deadline_us;      /* microseconds from submission; 0: none. At its deadline a request ends with
                                 REID_ERR_EXPIRED: at once if it still waits, else when its batch is computed */
    reid_done_fn done;        /* NULL: reid_submit waits for the end of the request, and returns its result */
    void *user;
} reid_request;

/* The description of a queue. REID_INIT plus `ctx` is a complete one. */
typedef struct reid_queue_desc {
    reid_ctx *ctx;      /* must outlive the queue. reid_embed may still be called on it, and waits for its turn */
    int batch;          /* most images computed together; 0: the handle's */
    int limit;          /* most images waiting, at most 1048576; 0: 1024, or 8 batches if that is more */
    int64_t delay_us;   /* how long an idle lane waits for a batch to fill, counted from the first image's arrival */
    int64_t ageing_us;  /* a waiting request rises one priority level after this time; 0: 500 ms; negative: never */
    int refuse_late;    /* 1: a request that cannot meet its deadline at the recent pace is refused when submitted */
    reid_error *error;  /* receives the detail when reid_queue_create fails */
} reid_queue_desc;

#define REID_LATENCIES 128

/* Counted since the queue was created; times in nanoseconds. */
typedef struct reid_queue_stats {
    uint64_t requests, images;         /* ended with REID_OK */
    uint64_t batches, computed;        /* calls of reid_embed, and the images in them: the mean batch is their ratio */
    uint64_t expired, cancelled, stopped, failed; /* accepted requests that ended with another result */
    uint64_t full, late;               /* refused requests: REID_ERR_FULL; REID_ERR_EXPIRED on submission */
    uint64_t queue_ns;                 /* sum over `computed` images: from submission to the start of their batch */
    uint64_t compute_ns;               /* sum over `batches`: duration */
    uint64_t latency_ns;               /* sum over `requests`: from submission to end */
    uint64_t latencies[REID_LATENCIES]; /* [i]: requests that took reid_latency_bound(i - 1) to reid_latency_bound(i) */
    int waiting, computing;            /* images at the moment */
    int lanes, batch, limit;           /* with the defaults resolved */
} reid_queue_stats;

/* Starts a thread for each lane of a handle, and one for deadlines.

   Parameters      desc: copied. out: receives the queue, NULL on failure. Memory comes from the handle's allocator.
   Errors          REID_ERR_INVALID_ARG, REID_ERR_OUT_OF_MEMORY, REID_ERR_SYSTEM, REID_ERR_FORKED, REID_ERR_LEFT_OUT. */
REID_API reid_result reid_queue_create(const reid_queue_desc *desc, reid_queue **out);

/* Accepts a request, or refuses it at once. With request->done NULL it then waits until the request has ended. It
   allocates nothing.

   Parameters      request: copied; what it points to is borrowed. ticket: for reid_cancel, 0 if refused; may be NULL;
                   written before `done` is called.
   Returns         REID_OK: accepted, `done` has been or will be called. Any other result: `done` is never called.
   Errors          REID_ERR_FULL (try again later), REID_ERR_STOPPING, REID_ERR_EXPIRED (negative deadline, or
                   refuse_late), REID_ERR_INVALID_ARG (also if n exceeds the limit), REID_ERR_IMAGE, REID_ERR_BOX,
                   REID_ERR_FORKED, REID_ERR_LEFT_OUT; without `done` also every result that `done` can receive. */
REID_API reid_result reid_submit(reid_queue *queue, const reid_request *request, reid_ticket *ticket,
                                 reid_error *error);

/* Cancels a request. It ends with REID_ERR_CANCELLED at once, or, if it is being computed, after its batch. Its memory
   stays borrowed until `done` is called. Errors: REID_ERR_TICKET: it has ended, or is about to; REID_ERR_INVALID_ARG,
   REID_ERR_FORKED, REID_ERR_LEFT_OUT. */
REID_API reid_result reid_cancel(reid_queue *queue, reid_ticket ticket);

/* Counters and gauges; stats is zeroed first. Errors: REID_ERR_INVALID_ARG, REID_ERR_FORKED, REID_ERR_LEFT_OUT. */
REID_API reid_result reid_queue_query(reid_queue *queue, reid_queue_stats *stats);

/* The upper bound of latencies[index] in nanoseconds: 4 per power of two, from 1.25 us on; the last is UINT64_MAX. */
REID_API uint64_t reid_latency_bound(int index);

/* Stops accepting requests, goes on computing the accepted ones for at most drain_ms milliseconds (negative: until all
   are done), and ends the rest with REID_ERR_STOPPING. When it returns, all requests have ended. Others may submit and
   wait at the same time. Errors: REID_ERR_STOPPING if some requests ended with it, REID_ERR_INVALID_ARG,
   REID_ERR_FORKED, REID_ERR_LEFT_OUT. Thread safety: any thread except the queue's own. */
REID_API reid_result reid_queue_drain(reid_queue *queue, int drain_ms);

/* Drains the queue, then frees everything. NULL is allowed. After a fork, in the child, it only frees memory. Thread
   safety: no other call on it may be running; if threads still submit, drain first, end them, then destroy. */
REID_API void reid_queue_destroy(reid_queue *queue, int drain_ms);

/* Converts to IEEE halves (to nearest even, overflow to infinity) and back (exactly). */
REID_API void reid_to_halves(const float *in, uint16_t *out, size_t count);
REID_API void reid_from_halves(const uint16_t *in, float *out, size_t count);

/* With stb_image.h included before reid.h (compile with -D_GNU_SOURCE, define STB_IMAGE_IMPLEMENTATION in one file):
   decodes a file (JPEG, PNG, BMP, ...) to RGB8. Errors: REID_ERR_FILE_OPEN, REID_ERR_IMAGE (stb_image's reason is in
   error).

   Parameters      image: zeroed on failure; its pixels are freed with reid_image_free, which accepts a zeroed one. EXIF
                   orientation is not applied. stb_image 2.27 can write out of bounds on a damaged JPEG: only load
                   files that you trust, or check them first as tools/pictures/jpeg.c does. */
#ifdef STBI_VERSION
REID_API reid_result reid_image_load(const char *path, reid_image *image, reid_error *error);
REID_API void reid_image_free(reid_image *image);
#endif

#ifdef __cplusplus
}
#endif
#endif /* REID_H */

/* Stop here if you only need the API. */

#if defined(REID_IMPLEMENTATION) && !defined(REID__IMPLEMENTED)
#define REID__IMPLEMENTED

#ifdef __FAST_MATH__
#error "reid.h: -ffast-math changes results (flush to zero, reassociation, no NaN); compile this file without it"
#endif

/* --------------------------------------------------------------------------------------------------------------------
   >>platform
   What depends on the operating system or the CPU: includes, thread counts, the floating-point control word. */
#ifdef _WIN32
#ifndef __MINGW32__
#error "reid.h: on Windows the implementation is compiled by MinGW-w64, with gcc or clang and winpthreads"
#endif
#ifndef REID_NO_CUDA
#define REID_NO_CUDA /* LoadLibrary and another search would be needed */
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#undef near /* macros left over from 16-bit Windows */
#undef far
#else
#include <sys/mman.h>
#endif
#ifdef REID_ASSERT
#include <assert.h>
#else
#define REID_ASSERT(condition) ((void)(0 && (condition)))
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#ifndef REID_NO_CUDA
#include <dlfcn.h>
#include <glob.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#ifndef REID_NO_VECTORS
#define REID__VECTORS /* AVX2 and AVX-512 are compiled, and chosen at run time */
#endif
#elif defined(__aarch64__) && !defined(REID_NO_VECTORS)
#include <arm_neon.h>
#define REID__NEON /* which every such CPU has */
#endif

#ifdef _WIN32
#if __USE_MINGW_ANSI_STDIO != 1
#error "reid.h: include the implementation before any system header, or compile this file with -D_GNU_SOURCE"
#endif
#define REID__NO_CUDA "reid.h has no CUDA on Windows"
#define REID__READ_ONLY (O_RDONLY | O_NOINHERIT)
typedef struct _stat64 reid__stat;
static int reid__fstat(int fd, reid__stat *st) { return _fstat64(fd, st); }

/* Reads from offset `at`, whatever other threads read. Returns the number of bytes, or -1 and sets errno. */
static ptrdiff_t reid__pread(int fd, void *to, size_t size, uint64_t at) {
    OVERLAPPED place;
    DWORD n = 0;
    memset(&place, 0, sizeof place);
    place.Offset = (DWORD)at, place.OffsetHigh = (DWORD)(at >> 32);
    int good = ReadFile((HANDLE)_get_osfhandle(fd), to, size < 1 << 30 ? (DWORD)size : 1u << 30, &n, &place);
    if (good || GetLastError() == ERROR_HANDLE_EOF) return (ptrdiff_t)n;
    errno = EIO;
    return -1;
}

#if defined(REID__VECTORS) && !defined(__clang__)
/* gcc keeps vectors on a stack that Windows aligns to 16 bytes, and moves them with instructions that fault unless the
   address is a multiple of 32 or 64 (gcc bug 54412). These macros make the assembler emit the unaligned instructions,
   which are as fast. With -flto another process assembles, without these macros: see WINDOWS. */
__asm__(".macro vmovaps all:vararg\nvmovups \\all\n.endm\n.macro vmovapd all:vararg\nvmovupd \\all\n.endm\n"
        ".macro vmovdqa all:vararg\nvmovdqu \\all\n.endm\n.macro vmovdqa32 all:vararg\nvmovdqu32 \\all\n.endm\n"
        ".macro vmovdqa64 all:vararg\nvmovdqu64 \\all\n.endm");
#endif
#else
#define REID__NO_CUDA "reid.h was compiled with REID_NO_CUDA"
#define REID__READ_ONLY (O_RDONLY | O_CLOEXEC | O_NONBLOCK) /* O_NONBLOCK: do not wait for a FIFO's writer */
typedef struct stat reid__stat;
static int reid__fstat(int fd, reid__stat *st) { return fstat(fd, st); }
static ptrdiff_t reid__pread(int fd, void *to, size_t size, uint64_t at) { return pread(fd, to, size, (off_t)at); }
#endif
#if defined(_WIN32) && !defined(__clang__)
#define REID__FORMAT(text, first) __attribute__((format(gnu_printf, text, first))) /* not Microsoft's, without %zu */
#else
#define REID__FORMAT(text, first) __attribute__((format(printf, text, first)))
#endif
#define REID__STATIC_ASSERT(condition, name) typedef char reid__##name[(condition) ? 1 : -1] /* C99 and C++11 */

#if defined(_WIN32) || defined(__APPLE__) /* their condition variables have no other clock */
#define REID__WAIT_CLOCK CLOCK_REALTIME
#define REID__SET_WAIT_CLOCK(attr) (void)(attr)
#else
#define REID__WAIT_CLOCK CLOCK_MONOTONIC
#define REID__SET_WAIT_CLOCK(attr) pthread_condattr_setclock(attr, REID__WAIT_CLOCK)
#endif

#define REID__ALIGN 64 /* bytes: a cache line and an AVX-512 register */
#define REID__LANES 16 /* floats: every pixel is padded to a multiple of this, so that no kernel needs a mask */

static int reid__min(int a, int b) { return a < b ? a : b; }
static int reid__max(int a, int b) { return a > b ? a : b; }
static uint32_t reid__bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float reid__float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Nanoseconds from an arbitrary start: for durations and deadlines. */
static int64_t reid__clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
static int64_t reid__now(void) { return reid__clock(CLOCK_MONOTONIC); }

static int reid__ceil_div(int a, int b) { return (a + b - 1) / b; }
static int reid__round_up(int a, int b) { return reid__ceil_div(a, b) * b; }

/* The caller's rounding mode, flush-to-zero or traps must not change the bits, nor our calls its errno: entry points
   begin with REID__ENTER, workers with reid__enter. 0x1f80 (ARM: 0): to nearest, denormals, no traps. */
typedef struct reid__caller { int error; uint64_t fp; } reid__caller;

static reid__caller reid__enter(void) {
    reid__caller caller = {errno, 0};
#if defined(__x86_64__)
    caller.fp = _mm_getcsr();
    _mm_setcsr(0x1f80);
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr" : "=r"(caller.fp));
    __asm__ volatile("msr fpcr, %0" ::"r"((uint64_t)0));
#endif
    return caller;
}

static void reid__leave(const reid__caller *caller) {
    errno = caller->error;
#if defined(__x86_64__)
    _mm_setcsr((unsigned)caller->fp);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" ::"r"(caller->fp));
#endif
}

/* Until the end of the scope: our floating-point settings; a locked mutex. */
#define REID__ENTER() __attribute__((cleanup(reid__leave), unused)) const reid__caller caller = reid__enter()
#define REID__LOCK(mutex) __attribute__((cleanup(reid__unlock), unused)) pthread_mutex_t *locked = reid__lock(mutex)

static pthread_mutex_t *reid__lock(pthread_mutex_t *mutex) { return pthread_mutex_lock(mutex), mutex; }
static void reid__unlock(pthread_mutex_t **mutex) { pthread_mutex_unlock(*mutex); }

#ifdef _WIN32
static int reid__cpu_count(void) { return reid__max(pthread_num_processors_np(), 1); } /* of the affinity mask */
#else
/* Reads a small text file into buf without stdio (which allocates). Returns 0 if it cannot be read or is empty. */
static int reid__read_text(const char *path, char *buf, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, buf, size - 1);
    close(fd);
    buf[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* CPUs that this process may keep busy: its affinity mask, capped by the cgroup quota (v2, then v1). */
static int reid__cpu_count(void) {
    char text[128];
    long quota = 0, period = 0;
    int n = 1;
#ifdef __linux__
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) n = CPU_COUNT(&set);
    if (reid__read_text("/sys/fs/cgroup/cpu.max", text, sizeof text)) {
        char *end = text;
        quota = strtol(text, &end, 10); /* "max 100000" gives 0: no quota */
        period = strtol(end, NULL, 10);
    } else if (reid__read_text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", text, sizeof text)) {
        quota = strtol(text, NULL, 10);
        if (reid__read_text("/sys/fs/cgroup/cpu/cpu.cfs_period_us", text, sizeof text)) period = strtol(text, NULL, 10);
    }
#endif
    if (quota > 0 && period > 0) n = reid__min(n, (int)(quota / period));
    return reid__max(n, 1);
}
#endif

/* --------------------------------------------------------------------------------------------------------------------
   >>errors
   ------------------------------------------------------------------------------------------------------------------ */
static const char *reid__result_text(int result, int name) {
    switch (result) {
#define REID__CASE(id, value, text) case value: return name ? #id : text;
        REID_RESULTS(REID__CASE)
    default: return name ? "REID_ERR_UNKNOWN" : "unknown result";
    }
}

REID_API const char *reid_result_string(reid_result result) { return reid__result_text((int)result, 0); }
REID_API const char *reid_result_name(reid_result result) { return reid__result_text((int)result, 1); }

/* Writes the detail into *e, unless e is NULL, and returns code, so that failing is one statement. A path, if there is
   one, precedes the message, or its end if it is long. */
REID__FORMAT(4, 5)
static reid_result reid__fail_at(reid_error *e, reid_result code, const char *path, const char *format, ...) {
    if (e) {
        size_t length = path ? strlen(path) : 0, most = 500, cut = length > most ? length - most : 0;
        int used = path ? snprintf(e->text, sizeof e->text, "%s%s: ", cut ? "..." : "", path + cut) : 0;
        va_list args;
        va_start(args, format);
        vsnprintf(e->text + used, sizeof e->text - (size_t)used, format, args);
        va_end(args);
        e->code = code;
    }
    return code;
}

#define reid__fail(e, code, ...) reid__fail_at(e, code, NULL, __VA_ARGS__)
#define reid__invalid(e, ...) reid__fail(e, REID_ERR_INVALID_ARG, __VA_ARGS__)

/* Returns from the function if a call fails. */
#define REID__TRY(call) do { reid_result tried = call; if (tried != REID_OK) return tried; } while (0)

static reid_result reid__no_memory(reid_error *e, const char *what, size_t bytes) {
    return reid__fail(e, REID_ERR_OUT_OF_MEMORY, "no memory for %s (%llu bytes)", what, (unsigned long long)bytes);
}

/* Fails because a required argument is NULL. desc may be the NULL one. */
static reid_result reid__lacks(const reid_desc *desc, const char *needed) {
    return reid__invalid(desc ? desc->error : NULL, "the call needs %s", needed);
}

static void reid__clear_error(reid_error *e) {
    if (e) e->code = REID_OK, e->text[0] = 0;
}

REID__FORMAT(4, 5)
static void reid__log(const reid_desc *desc, reid_log_level level, reid_result id, const char *format, ...) {
    char text[512];
    va_list args;
    if (!desc->log_fn) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    desc->log_fn(level, id, text, desc->log_user);
}

/* A text that is made piece by piece, cut to `room` bytes with the final 0; room 0: only its length is counted. */
typedef struct reid__text { char *text; size_t room, length; } reid__text;

REID__FORMAT(2, 3) static void reid__print(reid__text *t, const char *format, ...) {
    size_t left = t->length < t->room ? t->room - t->length : 0;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(left ? t->text + t->length : NULL, left, format, args);
    va_end(args);
    t->length += (size_t)reid__max(n, 0);
}

/* --------------------------------------------------------------------------------------------------------------------
   >>memory
   Every allocation is made here: aligned, counted, freed with its size, and chained, so that a call frees them all. */
/* The header that precedes each block. */
typedef struct reid__block {
    void *raw;                         /* as returned by the allocator: `size` bytes */
    size_t size;
    struct reid__block *older, *newer; /* in the order of allocation */
} reid__block;

typedef struct reid__mem {
    void *(*alloc_fn)(size_t size, void *user);
    void (*free_fn)(void *ptr, size_t size, void *user);
    void *user;
    size_t used; /* bytes currently allocated */
    reid__block *newest;
} reid__mem;

#define REID__OVERHEAD (REID__ALIGN + sizeof(reid__block)) /* bytes of a block in addition to those requested */

/* Large blocks use pages of 2 MiB if Linux grants them: looking up 4 KiB pages costs ResNet-50 a 20th of its time. */
static void *reid__default_alloc(size_t size, void *user) {
    (void)user;
#ifdef MADV_HUGEPAGE
    const size_t page = (size_t)2 << 20, whole = (size + page - 1) / page * page;
    void *block;
    if (size >= page / 2 && whole >= size) {
        if (posix_memalign(&block, page, whole) != 0) return NULL;
        madvise(block, whole, MADV_HUGEPAGE); /* if refused, the pages are small */
        return block;
    }
#endif
    return malloc(size);
}

static void reid__default_free(void *ptr, size_t size, void *user) {
    (void)size, (void)user;
    free(ptr);
}

static reid_result reid__mem_init(reid__mem *mem, const reid_desc *desc) {
    mem->alloc_fn = desc->alloc_fn ? desc->alloc_fn : reid__default_alloc;
    mem->free_fn = desc->free_fn ? desc->free_fn : reid__default_free;
    mem->user = desc->alloc_user, mem->used = 0, mem->newest = NULL;
    if (!desc->alloc_fn == !desc->free_fn) return REID_OK;
    return reid__invalid(desc->error, "set both desc.alloc_fn and desc.free_fn, or neither");
}

static int reid__mul(size_t a, size_t b, size_t *out) {
    if (b && a > SIZE_MAX / b) return 0;
    *out = a * b;
    return 1;
}

/* Returns REID__ALIGN-aligned memory, not cleared, or NULL. */
static void *reid__alloc(reid__mem *mem, size_t size) {
    size_t whole = size + REID__OVERHEAD;
    if (whole < size) return NULL;
    void *raw = mem->alloc_fn(whole, mem->user);
    if (!raw) return NULL;
    uintptr_t at = ((uintptr_t)raw + REID__OVERHEAD - 1) & ~(uintptr_t)(REID__ALIGN - 1);
    reid__block *block = (reid__block *)at - 1;
    block->raw = raw, block->size = whole, block->older = mem->newest, block->newer = NULL;
    if (mem->newest) mem->newest->newer = block;
    mem->newest = block, mem->used += whole;
    REID_ASSERT((uintptr_t)(block + 1) % REID__ALIGN == 0 && (char *)(block + 1) + size <= (char *)raw + whole);
    return block + 1;
}

static void *reid__alloc_zero(reid__mem *mem, size_t size) {
    void *memory = reid__alloc(mem, size);
    if (memory) memset(memory, 0, size);
    return memory;
}

/* NULL is allowed. */
static void reid__free(reid__mem *mem, void *memory) {
    if (!memory) return;
    reid__block *at = (reid__block *)memory - 1, block = *at;
    REID_ASSERT(block.size <= mem->used); /* a block of this allocator, not freed before */
    REID_ASSERT(at == (block.newer ? block.newer->older : mem->newest));
    if (block.older) block.older->newer = block.newer;
    if (block.newer) block.newer->older = block.older;
    else mem->newest = block.older;
    mem->used -= block.size;
    mem->free_fn(block.raw, block.size, mem->user);
}

/* Hands out a block of memory in aligned pieces. If base is NULL they are only counted. */
typedef struct reid__carver { char *base; size_t used; } reid__carver;

static size_t reid__aligned(size_t size) { return (size + REID__ALIGN - 1) & ~(size_t)(REID__ALIGN - 1); }

static void *reid__carve(reid__carver *c, size_t count, size_t size) {
    void *piece = c->base ? c->base + c->used : NULL;
    REID_ASSERT(size == 0 || count <= (SIZE_MAX - c->used - REID__ALIGN) / size);
    c->used += reid__aligned(count * size);
    return piece;
}

/* Frees all blocks newer than `last`, an earlier value of mem->newest; NULL: frees every block. */
static void reid__release(reid__mem *mem, const reid__block *last) {
    while (mem->newest != last) reid__free(mem, mem->newest + 1);
}

/* --------------------------------------------------------------------------------------------------------------------
   >>file
   A safetensors file is: u64 little-endian header length, that many bytes of JSON, tensor data up to the file's end.
       {"fc.bias": {"dtype": "F32", "shape": [1000], "data_offsets": [0, 4000]}, "__metadata__": {"key": "value"}}
   reid__weights_open is the only entry. What it accepts needs no second check: each range has the size that its shape
   and dtype require, the ranges cover the data exactly, and every name occurs once. */
#define REID__MAX_HEADER ((size_t)1 << 24) /* bytes; a network of 500 tensors needs 60,000 */
#define REID__MAX_TENSORS 16384
#define REID__MAX_META 1024 /* metadata keys */
#define REID__MAX_DIMS 8
#define REID__MAX_NAME 511 /* bytes of UTF-8 */

/* Every dtype of the format, with its width in bits. The first four, which have names, are those of weights. */
enum { REID__F64, REID__F32, REID__F16, REID__BF16, REID__WEIGHT_DTYPES };
static const struct { char name[12]; int bits; } reid__dtypes[] = {
    {"F64", 64}, {"F32", 32}, {"F16", 16}, {"BF16", 16}, {"I64", 64}, {"I32", 32}, {"I16", 16}, {"I8", 8}, {"U8", 8},
    {"BOOL", 8}, {"U64", 64}, {"U32", 32}, {"U16", 16}, {"C64", 64}, {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8},
    {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},
};
#define REID__DTYPES ((int)(sizeof reid__dtypes / sizeof reid__dtypes[0]))

typedef struct reid__tensor {
    const char *name;      /* canonical: file_name without the prefixes that wrappers put before it */
    const char *file_name; /* as written in the file */
    int dtype; /* row of reid__dtypes */
    int ndim;
    size_t shape[REID__MAX_DIMS];
    size_t count;        /* elements; 1 for a scalar, whose ndim is 0 */
    uint64_t begin, end; /* bytes, from the start of the data */
} reid__tensor;

typedef struct reid__meta { const char *key, *value; } reid__meta;

typedef struct reid__weights {
    const char *path;            /* for messages; "weights_data" when the bytes are in memory */
    const unsigned char *memory; /* the bytes, or NULL: read from fd */
    int fd, fd_open;             /* fd is valid only if fd_open, so a zeroed struct has none */
    uint64_t size, data_start;   /* bytes of the whole file; of the length and the header */
    reid__tensor *tensors;       /* sorted by name; meta and header are in the same block */
    reid__meta *meta;            /* in the order of the file */
    char *header;                /* JSON and a 0 byte; once parsed: the strings of tensors and meta */
    size_t count, max_count, meta_count, max_meta_count, header_size;
} reid__weights;

static uint32_t reid__le16(const unsigned char *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static uint32_t reid__le32(const unsigned char *p) { return reid__le16(p) | reid__le16(p + 2) << 16; }
static uint64_t reid__le64(const unsigned char *p) { return reid__le32(p) | (uint64_t)reid__le32(p + 4) << 32; }

static void reid__swap(char *a, char *b, size_t size) {
    char t[64];
    for (size_t n; size > 0; a += n, b += n, size -= n) {
        n = size < sizeof t ? size : sizeof t;
        memcpy(t, a, n), memcpy(a, b, n), memcpy(b, t, n);
    }
}

/* Heapsort: a hostile file cannot provoke a slow case, and it allocates nothing, as the C library's qsort may. */
static void reid__sort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *)) {
    char *a = (char *)base;
    size_t start = count / 2, end = count;
    while (end > 1) {
        if (start > 0) start--;                     /* first makes every parent at least as large as its children, */
        else reid__swap(a, a + --end * size, size); /* then moves the largest to the end, one after another */
        for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && compare(a + child * size, a + (child + 1) * size) < 0) child++;
            if (compare(a + root * size, a + child * size) >= 0) break;
            reid__swap(a + root * size, a + child * size, size);
        }
    }
}

/* --- source: memory, or a file read with pread. Never mmap: truncating a mapped file kills the process. --- */
#define reid__weights_fail(w, e, code, ...) reid__fail_at(e, code, (w)->path, __VA_ARGS__)

/* Puts errno into words. It does not call strerror, which may write to a shared buffer. */
static const char *reid__errno_words(int code) {
    return code == ENOENT ? "no such file" : code == EACCES ? "permission denied"
           : code == EISDIR ? "it is a directory" : code == EMFILE ? "too many open files"
           : code == ENOSPC ? "no space left on the device" : code != EIO ? "the operating system refused"
           : "input/output error: a failing disk or a lost network drive?";
}

static reid_result reid__weights_errno(const reid__weights *w, reid_error *e, reid_result code) {
    return reid__weights_fail(w, e, code, "%s (errno %d)", reid__errno_words(errno), errno);
}

static reid_result reid__weights_source(reid__weights *w, const reid_desc *desc, reid_error *e) {
    reid__stat st;
    w->path = desc->weights_data ? "weights_data" : desc->weights;
    w->memory = (const unsigned char *)desc->weights_data, w->size = desc->weights_size;
    if (w->memory) return REID_OK;
    do w->fd = open(w->path, REID__READ_ONLY);
    while (w->fd < 0 && errno == EINTR);
    if (w->fd < 0) return reid__weights_errno(w, e, REID_ERR_FILE_OPEN);
    w->fd_open = 1;
    if (reid__fstat(w->fd, &st) != 0) return reid__weights_errno(w, e, REID_ERR_FILE_READ);
    const char *kind = S_ISDIR(st.st_mode) ? "a directory" : S_ISFIFO(st.st_mode) ? "a pipe" : "a device";
    if (!S_ISREG(st.st_mode)) return reid__weights_fail(w, e, REID_ERR_FILE_OPEN, "it is %s, not a regular file", kind);
    w->size = (uint64_t)st.st_size;
    return REID_OK;
}

/* Reads bytes [at, at + size), which reid__weights_open has found to be in the file: an early end means it changed. */
static reid_result reid__weights_bytes(const reid__weights *w, uint64_t at, void *to, size_t size, reid_error *e) {
    char *out = (char *)to;
    if (w->memory) {
        memcpy(out, w->memory + at, size);
        return REID_OK;
    }
    while (size > 0) {
        ptrdiff_t n = reid__pread(w->fd, out, size, at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return reid__weights_errno(w, e, REID_ERR_FILE_READ);
        if (n == 0)
            return reid__weights_fail(w, e, REID_ERR_FILE_SHORT, "it had %zu bytes when it was opened, now it has %zu",
                                      (size_t)w->size, (size_t)at);
        out += n, at += (uint64_t)n, size -= (size_t)n;
    }
    return REID_OK;
}

/* Recognises files that are often passed instead of safetensors, and says what to do; NULL if it is none of them. */
static const char *reid__mistaken_file(const unsigned char *p, size_t size) {
    static const char torch[] = "a PyTorch checkpoint (.pth, .pt); convert it to safetensors with: reid convert";
    static const char page[] = "a web page, perhaps what a failed download left; download the file again";
    static const char json[] = "JSON text, perhaps an index; give the .safetensors file that it belongs to";
    static const char other[] = "another model format (GGUF, HDF5, NumPy or ONNX); reid.h reads safetensors";
    static const char picture[] = "an image; give the file with the network's weights";
    static const struct { size_t at; const char *magic, *what; } rows[] = {
        {0, "PK\003\004", torch},        /* zip: torch 1.6 and later */
        {0, "\200\002\212\012", torch},  /* pickle of a long integer: before 1.6 */
        {257, "ustar", torch},           /* tar: before 0.2 */
        {0, "\200\002}", torch}, {0, "\200\002c", torch}, {0, "\200\004\225", torch}, /* other pickles */
        {0, "version https://git-lfs", "a Git LFS pointer, not the file itself; fetch it with: git lfs pull"},
        {0, "<!DOC", page}, {0, "<!doc", page}, {0, "<html", page}, {0, "<HTML", page}, {0, "<?xml", page},
        {0, "{\"", json}, {0, "{\n", json}, {0, "{ ", json},
        {0, "GGUF", other}, {0, "\211HDF", other}, {0, "\223NUMPY", other}, {0, "\010\007\022", other},
        {0, "\010\010\022", other}, {0, "\010\011\022", other},
        {0, "\211PNG", picture}, {0, "\377\330\377", picture},
        {0, "\037\213", "gzip data; unpack it first"},
    };
    size_t digits = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t n = strlen(rows[i].magic);
        if (size >= rows[i].at + n && memcmp(p + rows[i].at, rows[i].magic, n) == 0) return rows[i].what;
    }
    while (digits < size && p[digits] >= '0' && p[digits] <= '9') digits++;
    if (digits > 0 && digits < size && (p[digits] == '\n' || p[digits] == '\r'))
        return "text that starts with a count, as .wts does; convert it to safetensors with: reid convert";
    size_t text = 0;
    while (text < size && ((p[text] >= ' ' && p[text] < 127) || (p[text] >= '\t' && p[text] <= '\r'))) text++;
    if (text == size && size >= 8) return "text; give the .safetensors file with the network's weights";
    return NULL;
}

/* Allocates the block and reads the JSON into it. The header's length bounds the size of the block: a tensor takes at
   least 49 bytes of JSON, a metadata pair 5. The limits keep every sum far below SIZE_MAX. */
static reid_result reid__weights_header(reid__weights *w, reid__mem *mem, reid_error *e) {
    unsigned char start[512];
    size_t known = w->size < sizeof start ? (size_t)w->size : sizeof start;
    if (known == 0) return reid__weights_fail(w, e, REID_ERR_NOT_SAFETENSORS, "it is empty");
    REID__TRY(reid__weights_bytes(w, 0, start, known, e));
    uint64_t length = known < 8 ? 0 : reid__le64(start);
    int size_ok = length > 0 && length <= REID__MAX_HEADER && length <= w->size - 8;
    if (!size_ok || start[8] != '{') {
        const char *what = reid__mistaken_file(start, known); /* called only here, so it cannot refuse a good file */
        if (what) return reid__weights_fail(w, e, REID_ERR_NOT_SAFETENSORS, "it looks like %s", what);
        if (size_ok) return reid__weights_fail(w, e, REID_ERR_HEADER_JSON, "the header does not start with '{'");
        return reid__weights_fail(w, e, REID_ERR_HEADER_SIZE, "header length %llu in a file of %zu bytes (limit: %zu)",
                                  (unsigned long long)length, (size_t)w->size, REID__MAX_HEADER);
    }
    w->data_start = 8 + length, w->header_size = (size_t)length;
    w->max_count = (size_t)reid__min((int)(length / 49 + 1), REID__MAX_TENSORS);
    w->max_meta_count = (size_t)reid__min((int)(length / 5 + 1), REID__MAX_META);
    size_t bytes = w->max_count * sizeof *w->tensors + w->max_meta_count * sizeof *w->meta + w->header_size + 1;
    w->tensors = (reid__tensor *)reid__alloc(mem, bytes);
    if (!w->tensors) return reid__weights_fail(w, e, REID_ERR_OUT_OF_MEMORY, "no memory for its header");
    w->meta = (reid__meta *)(void *)(w->tensors + w->max_count);
    w->header = (char *)(w->meta + w->max_meta_count), w->header[w->header_size] = 0;
    return reid__weights_bytes(w, 8, w->header, w->header_size, e);
}

/* --- JSON. Each function reads one rule of the grammar and returns 1, or keeps the error in `result` and returns 0.
   The text ends with a 0 byte that no rule accepts, so no rule can run past it. Strings are decoded in place, to the
   front of the text already read: decoding never lengthens one, so `out` never overtakes `at`. --- */
typedef struct reid__json {
    const reid__weights *weights;
    reid_error *error;
    reid_result result;
    const char *tensor; /* the name of the tensor being read, for messages, or NULL */
    char *at, *out;
} reid__json;

/* The message ends with `name` in quotes. name and j->tensor may be NULL. */
static int reid__json_fail(reid__json *j, reid_result code, const char *what, const char *name) {
    const char *before = j->tensor ? "tensor \"" : "", *after = j->tensor ? "\": " : "", *quote = name ? "\"" : "";
    j->result = reid__weights_fail(j->weights, j->error, code, "byte %zu: %s%s%s%s%s%s%s",
                                   (size_t)(j->at - j->weights->header) + 8, before, j->tensor ? j->tensor : "", after,
                                   what, quote, name ? name : "", quote);
    return 0;
}

static int reid__json_bad(reid__json *j, const char *what) {
    return reid__json_fail(j, REID_ERR_HEADER_JSON, what, NULL);
}

static void reid__json_space(reid__json *j) {
    while (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r') j->at++;
}

static int reid__json_take(reid__json *j, char c, const char *expected) {
    reid__json_space(j);
    if (*j->at != c) return reid__json_bad(j, expected);
    j->at++;
    return 1;
}

/* Takes the first character of a value. A value of another type is an error of the field, not of the JSON. */
static int reid__json_value(reid__json *j, char c, const char *expected) {
    reid__json_space(j);
    if (*j->at != c && *j->at && strchr("\"{[-0123456789tfn", *j->at))
        return reid__json_fail(j, REID_ERR_HEADER_FIELD, expected, NULL);
    return reid__json_take(j, c, expected);
}

/* for (i = 0; reid__json_next(j, close, i); i++) reads the elements up to `close`; the loop also ends at an error. */
static int reid__json_next(reid__json *j, char close, size_t index) {
    reid__json_space(j);
    if (*j->at != close) return index == 0 || reid__json_take(j, ',', "expected ',' or the end of the list");
    j->at++;
    return 0;
}

static int reid__is_digit(char c) { return c >= '0' && c <= '9'; }

static int reid__json_integer(reid__json *j, uint64_t *value) {
    static const char expected[] = "expected an integer of at most 63 bits, without sign, fraction or exponent";
    reid__json_space(j);
    if (!reid__is_digit(*j->at)) return reid__json_value(j, '0', expected);
    if (j->at[0] == '0' && reid__is_digit(j->at[1])) return reid__json_bad(j, "a number starts with 0");
    for (*value = 0; reid__is_digit(*j->at); j->at++) {
        unsigned digit = (unsigned)(*j->at - '0');
        if (*value > ((uint64_t)INT64_MAX - digit) / 10) break;
        *value = *value * 10 + digit;
    }
    if (!*j->at || !strchr("0123456789.eE", *j->at)) return 1;
    return reid__json_fail(j, REID_ERR_HEADER_FIELD, expected, NULL);
}

/* Bytes of the UTF-8 sequence that starts at text; 0: overlong, a surrogate, above U+10FFFF, or cut short. */
static int reid__utf8_length(const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    int n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)) return 0;
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)) return 0;
    for (int i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    return n;
}

/* Reads one UTF-16 unit, written as \uXXXX. */
static int reid__json_unit(reid__json *j, unsigned *unit) {
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    if (j->at[0] != '\\' || j->at[1] != 'u') return reid__json_bad(j, "an unknown escape, or half a surrogate pair");
    j->at += 2, *unit = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        const char *digit = *j->at ? strchr(digits, *j->at) : NULL;
        if (!digit) return reid__json_bad(j, "\\u needs four hexadecimal digits");
        *unit = *unit << 4 | (unsigned)((digit - digits) % 16);
    }
    return 1;
}

static int reid__json_escape(reid__json *j) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0}; /* of UTF-8, by the number of bytes that follow it */
    const char *letter = j->at[1] ? strchr(letters, j->at[1]) : NULL;
    unsigned code, low;
    if (letter) {
        *j->out++ = meanings[letter - letters];
        j->at += 2;
        return 1;
    }
    if (!reid__json_unit(j, &code)) return 0;
    if (code >= 0xd800 && code < 0xdc00) {
        if (!reid__json_unit(j, &low)) return 0;
        code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xdc00;
    }
    if (code == 0 || (code >= 0xdc00 && code < 0xe000)) return reid__json_bad(j, "a NUL, or half a surrogate pair");
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    *j->out++ = (char)(first[more] | code >> 6 * more);
    while (more-- > 0) *j->out++ = (char)(0x80 | (code >> 6 * more & 0x3f));
    return 1;
}

/* Reads a string after its opening quote; decodes it and ends it with a 0 byte. */
static int reid__json_string(reid__json *j, const char **text) {
    *text = j->out;
    while (*j->at != '"') {
        int n = reid__utf8_length(j->at);
        if (n == 0 || (n == 1 && *j->at < ' '))
            return reid__json_bad(j, "a string has a control character, invalid UTF-8, or no closing quote");
        if (*j->at == '\\') {
            if (!reid__json_escape(j)) return 0;
            continue;
        }
        while (n-- > 0) *j->out++ = *j->at++;
    }
    j->at++;
    *j->out++ = 0;
    return 1;
}

/* Reads a string that may appear in messages: short, without control characters (up to U+001F, U+007F to U+009F). */
static int reid__json_name(reid__json *j, const char **name) {
    if (!reid__json_string(j, name)) return 0;
    if (strlen(*name) > REID__MAX_NAME) return reid__json_fail(j, REID_ERR_HEADER_LIMIT, "a name is too long", NULL);
    for (const unsigned char *p = (const unsigned char *)*name; *p; p++)
        if (*p < ' ' || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0)) return reid__json_bad(j, "a control character");
    return 1;
}

static int reid__json_key(reid__json *j, const char **key) {
    return reid__json_take(j, '"', "expected a name in double quotes") && reid__json_name(j, key) &&
           reid__json_take(j, ':', "expected ':'");
}

/* --- header: the meaning of the JSON --- */
static int reid__header_dtype(reid__json *j, int *dtype) {
    const char *name;
    if (!reid__json_value(j, '"', "expected a dtype in double quotes") || !reid__json_name(j, &name)) return 0;
    for (*dtype = 0; *dtype < REID__DTYPES; ++*dtype)
        if (strcmp(name, reid__dtypes[*dtype].name) == 0) return 1;
    return reid__json_fail(j, REID_ERR_UNKNOWN_DTYPE, "unknown dtype ", name);
}

static int reid__header_integers(reid__json *j, uint64_t values[REID__MAX_DIMS], int *count) {
    if (!reid__json_value(j, '[', "expected a list of integers")) return 0;
    for (*count = 0; reid__json_next(j, ']', (size_t)*count); ++*count) {
        if (*count == REID__MAX_DIMS) return reid__json_fail(j, REID_ERR_HEADER_LIMIT, "too many dimensions", NULL);
        if (!reid__json_integer(j, &values[*count])) return 0;
    }
    return j->result == REID_OK;
}

/* Checks that shape times dtype is the number of bytes, in arithmetic that cannot wrap. */
static int reid__header_size(reid__json *j, reid__tensor *t, const uint64_t *sides) {
    size_t bits = 0;
    int i, fits = 1;
    for (i = 0, t->count = 1; i < t->ndim; i++) {
        t->shape[i] = (size_t)sides[i];
        fits = fits && t->shape[i] == sides[i] && reid__mul(t->count, t->shape[i], &t->count);
    }
    fits = fits && reid__mul(t->count, (size_t)reid__dtypes[t->dtype].bits, &bits);
    if (!fits) return reid__json_fail(j, REID_ERR_TENSOR_SIZE, "the size of its shape overflows", NULL);
    if (bits % 8 == 0 && t->begin <= t->end && t->end - t->begin == bits / 8) return 1;
    j->result = reid__weights_fail(j->weights, j->error, REID_ERR_TENSOR_SIZE,
                                   "tensor \"%s\": %zu elements of %s do not fill bytes %zu to %zu", t->file_name,
                                   t->count, reid__dtypes[t->dtype].name, (size_t)t->begin, (size_t)t->end);
    return 0;
}

static int reid__header_tensor(reid__json *j, reid__tensor *t) {
    static const char *const fields[] = {"dtype", "shape", "data_offsets"};
    uint64_t sides[REID__MAX_DIMS], offsets[REID__MAX_DIMS];
    int i, seen[3] = {0, 0, 0}, offset_count = 0;
    const char *key;
    if (!reid__json_value(j, '{', "expected an object with dtype, shape and data_offsets")) return 0;
    for (size_t n = 0; reid__json_next(j, '}', n); n++) {
        if (!reid__json_key(j, &key)) return 0;
        for (i = 0; i < 3 && strcmp(key, fields[i]) != 0; i++) {}
        if (i == 3) return reid__json_fail(j, REID_ERR_HEADER_FIELD, "unknown field ", key);
        if (seen[i]++) return reid__json_fail(j, REID_ERR_HEADER_FIELD, "a second field ", key);
        if (i == 0 && !reid__header_dtype(j, &t->dtype)) return 0;
        if (i == 1 && !reid__header_integers(j, sides, &t->ndim)) return 0;
        if (i == 2 && !reid__header_integers(j, offsets, &offset_count)) return 0;
    }
    if (j->result) return 0;
    for (i = 0; i < 3; i++)
        if (!seen[i]) return reid__json_fail(j, REID_ERR_HEADER_FIELD, "missing field ", fields[i]);
    if (offset_count != 2) return reid__json_fail(j, REID_ERR_HEADER_FIELD, "data_offsets must be two integers", NULL);
    t->begin = offsets[0], t->end = offsets[1];
    return reid__header_size(j, t, sides);
}

/* The value of a `__metadata__` key; NULL if there is none. */
static const char *reid__weights_meta(const reid__weights *w, const char *key) {
    for (size_t i = 0; i < w->meta_count; i++)
        if (strcmp(w->meta[i].key, key) == 0) return w->meta[i].value;
    return NULL;
}

static int reid__header_metadata(reid__json *j, reid__weights *w) {
    if (!reid__json_value(j, '{', "expected an object of strings")) return 0;
    for (; reid__json_next(j, '}', w->meta_count); w->meta_count++) {
        reid__meta *pair = &w->meta[w->meta_count];
        if (w->meta_count == w->max_meta_count) return reid__json_fail(j, REID_ERR_HEADER_LIMIT, "too many keys", NULL);
        if (!reid__json_key(j, &pair->key)) return 0;
        if (reid__weights_meta(w, pair->key)) return reid__json_fail(j, REID_ERR_HEADER_FIELD, "a second ", pair->key);
        if (!reid__json_value(j, '"', "expected a string") || !reid__json_string(j, &pair->value)) return 0;
    }
    return j->result == REID_OK;
}

/* Strips the prefixes that training wrappers put before every name, sometimes several. */
static const char *reid__canonical_name(const char *name) {
    static const char *const prefixes[] = {"module.", "model.", "backbone.", "_orig_mod."};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0];) {
        size_t n = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], n) == 0) name += n, i = 0;
        else i++;
    }
    return name;
}

static int reid__header_parse(reid__json *j, reid__weights *w) {
    int metadata_seen = 0;
    const char *name;
    if (!reid__json_take(j, '{', "expected '{'")) return 0;
    for (size_t n = 0; reid__json_next(j, '}', n); n++) {
        if (!reid__json_key(j, &name)) return 0;
        if (strcmp(name, "__metadata__") == 0) {
            if (metadata_seen++) return reid__json_fail(j, REID_ERR_HEADER_FIELD, "a second ", name);
            if (!reid__header_metadata(j, w)) return 0;
            continue;
        }
        if (w->count == w->max_count) return reid__json_fail(j, REID_ERR_HEADER_LIMIT, "too many tensors", NULL);
        reid__tensor *t = &w->tensors[w->count++];
        t->file_name = j->tensor = name, t->name = reid__canonical_name(name);
        if (!reid__header_tensor(j, t)) return 0;
        j->tensor = NULL;
    }
    if (j->result) return 0;
    while (*j->at == ' ') j->at++;
    return j->at == w->header + w->header_size || reid__json_bad(j, "only spaces may follow the JSON object");
}

static int reid__compare_offsets(const void *a, const void *b) {
    const reid__tensor *x = (const reid__tensor *)a, *y = (const reid__tensor *)b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end; /* empty tensors come before the one that starts at the same place */
}

static int reid__compare_names(const void *a, const void *b) {
    return strcmp(((const reid__tensor *)a)->name, ((const reid__tensor *)b)->name);
}

/* Checks that names are unique, each tensor starts where the previous one ends, and the last ends with the file. */
static reid_result reid__weights_layout(reid__weights *w, reid_error *e) {
    uint64_t at = 0, data_size = w->size - w->data_start;
    reid__sort(w->tensors, w->count, sizeof *w->tensors, reid__compare_names);
    for (const reid__tensor *t = w->tensors; t + 1 < w->tensors + w->count; t++)
        if (strcmp(t[0].name, t[1].name) == 0)
            return reid__weights_fail(w, e, REID_ERR_DUPLICATE_TENSOR, "\"%s\" and \"%s\"", t[0].file_name,
                                      t[1].file_name);
    reid__sort(w->tensors, w->count, sizeof *w->tensors, reid__compare_offsets);
    for (const reid__tensor *t = w->tensors; t < w->tensors + w->count; at = t->end, t++)
        if (t->begin != at)
            return reid__weights_fail(w, e, REID_ERR_DATA_LAYOUT, "tensor \"%s\" starts at byte %zu, but the data "
                                      "before it ends at byte %zu", t->file_name, (size_t)t->begin, (size_t)at);
    reid__sort(w->tensors, w->count, sizeof *w->tensors, reid__compare_names); /* for reid__weights_find */
    if (at == data_size) return REID_OK;
    return reid__weights_fail(w, e, REID_ERR_DATA_LAYOUT, "its tensors need %zu bytes of data, but it has %zu%s",
                              (size_t)at, (size_t)data_size, at > data_size ? ": was it downloaded completely?" : "");
}

/* Closes the file and zeroes *w, which may already be zero. */
static void reid__weights_close(reid__weights *w, reid__mem *mem) {
    if (w->fd_open) close(w->fd);
    reid__free(mem, w->tensors);
    memset(w, 0, sizeof *w);
}

/* Reads and checks everything but the tensors' values. On failure *w is closed. */
static reid_result reid__weights_open(reid__weights *w, const reid_desc *desc, reid__mem *mem, reid_error *e) {
    memset(w, 0, sizeof *w);
    if (!desc->weights == !desc->weights_data)
        return reid__invalid(e, "give either weights (a path) or weights_data (bytes in memory)");
    reid_result r = reid__weights_source(w, desc, e);
    if (!r) r = reid__weights_header(w, mem, e);
    if (!r) {
        reid__json j = {w, e, REID_OK, NULL, w->header, w->header};
        reid__header_parse(&j, w);
        r = j.result;
    }
    if (!r) r = reid__weights_layout(w, e);
    if (r) reid__weights_close(w, mem);
    return r;
}

static const reid__tensor *reid__weights_find(const reid__weights *w, const char *canonical_name) {
    reid__tensor key;
    key.name = canonical_name;
    return (const reid__tensor *)bsearch(&key, w->tensors, w->count, sizeof key, reid__compare_names);
}

/* --- values --- */
/* Converts exactly: FP32 holds every half. Denormals are multiples of 2^-24, the last place of 2^-14. */
static uint32_t reid__half_bits(uint32_t half) {
    uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = (half & 0x3ff) << 13;
    if (exponent == 31) return sign | 0x7f800000 | fraction;
    if (exponent > 0) return sign | (exponent + 112) << 23 | fraction;
    return sign | (reid__bits(reid__float(0x38800000 | fraction) - reid__float(0x38800000)) & 0x7fffffff);
}

/* One F32, BF16, F16 or F64 as the bits of an FP32; a double is rounded to nearest even. */
static uint32_t reid__element_bits(int dtype, const unsigned char *p) {
    if (dtype == REID__F32) return reid__le32(p);
    if (dtype == REID__BF16) return reid__le16(p) << 16;
    if (dtype == REID__F16) return reid__half_bits(reid__le16(p));
    uint64_t bits = reid__le64(p);
    double wide;
    memcpy(&wide, &bits, sizeof wide);
    return reid__bits((float)wide);
}

/* Tests the exponent bits: the user's compiler flags could optimise a comparison away. */
static int reid__is_finite(float x) { return (reid__bits(x) & 0x7f800000u) != 0x7f800000u; }

/* Index of the first of n numbers that is not finite, or n. Adding 1 to an exponent of all ones sets the sign bit. */
static size_t reid__first_not_finite(const float *x, size_t n) {
    uint64_t sum = 0, two;
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        memcpy(&two, x + i, sizeof two);
        sum |= (two & 0x7f8000007f800000u) + 0x0080000000800000u;
    }
    if (sum & 0x8000000080000000u) i = 0;
    while (i < n && reid__is_finite(x[i])) i++;
    return i;
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define REID__AS_STORED(dtype) ((dtype) == REID__F32) /* memory has the byte order of the file */
#else
#define REID__AS_STORED(dtype) 0
#endif

/* Reads elements [first, first + count) of t as FP32; all must be finite. Any number of threads may read at once. */
static reid_result reid__weights_read(const reid__weights *w, const reid__tensor *t, size_t first, size_t count,
                                      float *out, reid_error *e) {
    unsigned char chunk[16384];
    size_t size = (size_t)reid__dtypes[t->dtype].bits / 8, n;
    if (t->dtype >= REID__WEIGHT_DTYPES)
        return reid__weights_fail(w, e, REID_ERR_TENSOR_DTYPE, "tensor \"%s\" is %s; weights are F32, F16, BF16 or F64",
                                  t->file_name, reid__dtypes[t->dtype].name);
    if (first > t->count || count > t->count - first)
        return reid__weights_fail(w, e, REID_ERR_INVALID_ARG, "tensor \"%s\" has no such elements", t->file_name);
    for (; count > 0; first += n, out += n, count -= n) {
        n = count < sizeof chunk / size ? count : sizeof chunk / size;
        void *to = REID__AS_STORED(t->dtype) ? (void *)out : (void *)chunk;
        REID__TRY(reid__weights_bytes(w, w->data_start + t->begin + (uint64_t)first * size, to, n * size, e));
        for (size_t i = 0; i < n && to == chunk; i++) {
            uint32_t bits = reid__element_bits(t->dtype, chunk + i * size);
            memcpy(out + i, &bits, sizeof bits);
        }
        size_t bad = reid__first_not_finite(out, n);
        if (bad < n)
            return reid__weights_fail(w, e, REID_ERR_NOT_FINITE, "tensor \"%s\", element %zu is %s", t->file_name,
                                      first + bad, reid__bits(out[bad]) & 0x7fffff ? "NaN" : "infinite");
    }
    return REID_OK;
}

/* --- digest: XXH64 of a byte stream with seed 0 and with seed 1, side by side. The definition is public:
   https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md. It tells models apart, but is not a signature. --- */
#define REID__P1 UINT64_C(0x9e3779b185ebca87)
#define REID__P2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define REID__P3 UINT64_C(0x165667b19e3779f9)
#define REID__P4 UINT64_C(0x85ebca77c2b2ae63)
#define REID__P5 UINT64_C(0x27d4eb2f165667c5)

typedef struct reid__digest {
    uint64_t lane[2][4];    /* [seed][word of a stripe]: eight independent multiplications */
    uint64_t size;          /* bytes so far */
    unsigned char tail[32]; /* the size % 32 bytes of a stripe that is not full yet */
} reid__digest;

static uint64_t reid__rotate(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }
static uint64_t reid__mix(uint64_t lane, uint64_t word) { return reid__rotate(lane + word * REID__P2, 31) * REID__P1; }

static void reid__digest_init(reid__digest *d) {
    static const uint64_t start[4] = {REID__P1 + REID__P2, REID__P2, 0, 0 - REID__P1};
    memset(d, 0, sizeof *d);
    for (int i = 0; i < 4; i++) d->lane[0][i] = start[i], d->lane[1][i] = start[i] + 1;
}

static void reid__digest_stripes(reid__digest *d, const unsigned char *p, size_t stripes) {
    uint64_t lane[2][4];
    memcpy(lane, d->lane, sizeof lane);
    for (; stripes > 0; stripes--, p += 32)
        for (int i = 0; i < 4; i++) {
            uint64_t word = reid__le64(p + 8 * i);
            lane[0][i] = reid__mix(lane[0][i], word), lane[1][i] = reid__mix(lane[1][i], word);
        }
    memcpy(d->lane, lane, sizeof lane);
}

static void reid__digest_update(reid__digest *d, const void *data, size_t size) {
    const unsigned char *p = (const unsigned char *)data;
    size_t held = (size_t)(d->size % 32), take = size < 32 - held ? size : 32 - held;
    if (size == 0) return;
    d->size += size;
    if (held > 0) {
        memcpy(d->tail + held, p, take);
        if (held + take < 32) return;
        reid__digest_stripes(d, d->tail, 1);
        p += take, size -= take;
    }
    reid__digest_stripes(d, p, size / 32);
    memcpy(d->tail, p + size / 32 * 32, size % 32);
}

static void reid__digest_final(const reid__digest *d, uint64_t out[2]) {
    for (unsigned seed = 0; seed < 2; seed++) {
        const uint64_t *a = d->lane[seed];
        const unsigned char *p = d->tail, *end = p + d->size % 32;
        uint64_t h = seed + REID__P5;
        if (d->size >= 32) {
            h = reid__rotate(a[0], 1) + reid__rotate(a[1], 7) + reid__rotate(a[2], 12) + reid__rotate(a[3], 18);
            for (int i = 0; i < 4; i++) h = (h ^ reid__mix(0, a[i])) * REID__P1 + REID__P4;
        }
        h += d->size;
        for (; end - p >= 8; p += 8) h = reid__rotate(h ^ reid__mix(0, reid__le64(p)), 27) * REID__P1 + REID__P4;
        for (; end - p >= 4; p += 4) h = reid__rotate(h ^ reid__le32(p) * REID__P1, 23) * REID__P2 + REID__P3;
        for (; p < end; p++) h = reid__rotate(h ^ *p * REID__P5, 11) * REID__P1;
        h = (h ^ h >> 33) * REID__P2, h = (h ^ h >> 29) * REID__P3;
        out[seed] = h ^ h >> 32;
    }
}

/* Adds a line of text to the digest, cut at 255 bytes. */
REID__FORMAT(2, 3) static void reid__print_digest(reid__digest *d, const char *format, ...) {
    char line[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    reid__digest_update(d, line, (size_t)reid__min(n, (int)sizeof line - 1));
}

/* --------------------------------------------------------------------------------------------------------------------
   >>image
   From the caller's pixels to the network's input: description checked, cropped to the box, resized, normalised. The
   geometry is torchvision's Resize and CenterCrop (torchvision/transforms/functional.py).

   Resizing gives Pillow's pixels bit for bit. The formulas are those of its src/libImaging/Resample.c (8 bits per
   channel, x86-64): every output pixel is a weighted mean of a window of source pixels, first along rows, then along
   columns, rounded to 8 bits after each pass. Weights are computed in double, then rounded to 22 fractional bits;
   the rest is integer sums, which are equal in any order and any split into bands. Pillow 12.2 and later may
   resample columns first; we keep the order of earlier versions, with which the checkpoints were trained. */
typedef enum reid__filter { REID__BILINEAR, REID__BICUBIC } reid__filter;

typedef struct reid__preset {
    char name[24];
    reid__filter filter;
    int resize;              /* short side after resizing, then centre crop; 0: straight to height x width */
    int height, width;       /* network input (the crop) */
    double scale;            /* pixel value is multiplied by this first: 1/255 or 1 */
    double mean[3], std[3];  /* in the order of the network's channels */
    int bgr;                 /* 1: the network wants B, G, R */
} reid__preset;

#define REID__MEAN {0.485, 0.456, 0.406} /* of ImageNet, as torchvision states it */
#define REID__STD {0.229, 0.224, 0.225}

#define REID__PRESET_TEXT 256 /* bytes of reid_info.preprocessing */
/* BoxMOT's preset is missing on purpose: it resizes with OpenCV, whose pixels differ from Pillow's. */

static const reid__preset reid__presets[] = {
    {"torchvision-v1", REID__BILINEAR, 256, 224, 224, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"torchvision-v2", REID__BILINEAR, 232, 224, 224, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"effnet-b0",      REID__BICUBIC,  256, 224, 224, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"effnet-b1",      REID__BICUBIC,  256, 240, 240, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"effnet-b2",      REID__BICUBIC,  288, 288, 288, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"effnet-b3",      REID__BICUBIC,  320, 300, 300, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"effnet-b4",      REID__BICUBIC,  384, 380, 380, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"effnet-b5",      REID__BICUBIC,  456, 456, 456, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"effnet-b6",      REID__BICUBIC,  528, 528, 528, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"effnet-b7",      REID__BICUBIC,  600, 600, 600, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"effnet-v2",      REID__BILINEAR, 384, 384, 384, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"torchreid",      REID__BILINEAR, 0,   256, 128, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"fastreid",       REID__BICUBIC,  0,   256, 128, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"strongbaseline", REID__BILINEAR, 0,   256, 128, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"tao",            REID__BILINEAR, 0,   256, 128, 1.0 / 255, REID__MEAN, {0.226, 0.226, 0.226}, 0},
    {"mega",           REID__BILINEAR, 0,   288, 288, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"miewid",         REID__BILINEAR, 0,   440, 440, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"arcface",        REID__BILINEAR, 0,   112, 112, 1.0, {127.5, 127.5, 127.5}, {127.5, 127.5, 127.5}, 0},
    {"facenet",        REID__BILINEAR, 0,   160, 160, 1.0, {127.5, 127.5, 127.5}, {128.0, 128.0, 128.0}, 0},
    {"openvino-bgr",   REID__BILINEAR, 0,   256, 128, 1.0, {0.0, 0.0, 0.0}, {1.0, 1.0, 1.0}, 1},
    {"straight-224",   REID__BILINEAR, 0,   224, 224, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"timm-0.9",       REID__BICUBIC,  248, 224, 224, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"timm-0.95",      REID__BICUBIC,  235, 224, 224, 1.0 / 255, REID__MEAN, REID__STD, 0},
    {"timm-inception", REID__BICUBIC,  256, 224, 224, 1.0 / 255, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, 0},
};

#define REID__PRESET_COUNT ((int)(sizeof reid__presets / sizeof reid__presets[0]))

REID_API const char *reid_preset_name(int index) {
    return index >= 0 && index < REID__PRESET_COUNT ? reid__presets[index].name : NULL;
}

static const reid__preset *reid__preset_find(const char *name) {
    for (int i = 0; i < REID__PRESET_COUNT; i++)
        if (strcmp(reid__presets[i].name, name) == 0) return &reid__presets[i];
    return NULL;
}

static int reid__starts(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

/* Reads a number with at most one point, whatever the locale, or a fraction a/b; NULL if there are no digits or more
   than 15, or it is not in 0 ... most. 15 digits and powers of ten are exact, so the quotient is the nearest double. */
static const char *reid__decimal(const char *s, double most, double *out) {
    double value[2] = {0, 1};
    for (int part = 0; part < 2; part++) {
        double power = 1, number = 0;
        int digits = 0, point = 0;
        for (; (*s >= '0' && *s <= '9') || (*s == '.' && !point); s++) {
            if (*s == '.') { point = 1; continue; }
            number = number * 10 + (*s - '0'), power *= point ? 10 : 1, digits++;
        }
        if (digits < 1 || digits > 15) return NULL;
        value[part] = number / power;
        if (*s != '/' || part) break;
        s++;
    }
    if (!(value[1] > 0) || value[0] / value[1] > most) return NULL;
    *out = value[0] / value[1];
    return s;
}

/* Reads three numbers with commas between them, or one for all three channels. */
static const char *reid__decimals(const char *s, double most, double *out) {
    s = reid__decimal(s, most, out), out[1] = out[2] = out[0];
    for (int c = 1; s && *s == ',' && c < 3; c++) {
        s = reid__decimal(s + 1, most, out + c);
        if (s && c == 1 && *s != ',') return NULL;
    }
    return s;
}

#define REID__MAX_EDGE (10 * REID_MAX_INPUT) /* pixels of the short side: the largest input with crop=0.1 */

/* Changes the network input, and the short side in proportion. Returns 0, and changes nothing, if that is too long. */
static int reid__preset_size(reid__preset *p, int height, int width) {
    int crop = reid__max(p->height, p->width);
    int64_t edge = ((int64_t)2 * reid__max(height, width) * p->resize + crop) / (2 * crop);
    if (edge > REID__MAX_EDGE) return 0;
    p->resize = (int)edge, p->height = height, p->width = width;
    return 1;
}

/* Reads one "key=value" of a preset and returns what follows it; NULL if it is not one. */
static const char *reid__preset_field(reid__preset *p, const char *s) {
    double a, b;
    if (reid__starts(s, "filter=bilinear")) return p->filter = REID__BILINEAR, s + 15;
    if (reid__starts(s, "filter=bicubic")) return p->filter = REID__BICUBIC, s + 14;
    if (reid__starts(s, "order=rgb")) return p->bgr = 0, s + 9;
    if (reid__starts(s, "order=bgr")) return p->bgr = 1, s + 9;
    if (reid__starts(s, "resize=straight")) return p->resize = 0, s + 15;
    if (reid__starts(s, "mean=")) return reid__decimals(s + 5, 255, p->mean);
    if (reid__starts(s, "std=")) return reid__decimals(s + 4, 255, p->std);
    if (reid__starts(s, "scale=")) return reid__decimal(s + 6, 1, &p->scale);
    if (reid__starts(s, "resize=")) {
        if (!(s = reid__decimal(s + 7, 2 * REID_MAX_INPUT, &a)) || a < 1 || a > (int)a) return NULL;
        p->resize = (int)a;
    } else if (reid__starts(s, "crop=")) { /* timm's crop_pct: the part of the short side that is kept */
        if (!(s = reid__decimal(s + 5, 1, &a)) || a < 0.1) return NULL;
        p->resize = (int)(reid__max(p->height, p->width) / a);
    } else if (reid__starts(s, "size=")) {
        if (!(s = reid__decimal(s + 5, REID_MAX_INPUT, &a)) || *s != 'x') return NULL;
        if (!(s = reid__decimal(s + 1, REID_MAX_INPUT, &b)) || a < 1 || b < 1 || a > (int)a || b > (int)b) return NULL;
        if (!reid__preset_size(p, (int)a, (int)b)) return NULL;
    } else return NULL;
    return s;
}

/* Writes the preset in effect to out: `asked`. If that begins with a field instead of a name, `in_file` precedes it; if
   `in_file` does so, too, the network's `own` precedes both. Returns 0 if out is too small. */
static int reid__preset_text(const char *asked, const char *in_file, const char *own, char *out, size_t size) {
    const char *parts[3] = {own, in_file, asked};
    reid__text text = {out, size, 0};
    int first = 2;
    while (first > 0 && (!parts[first] || memchr(parts[first], '=', strcspn(parts[first], " ")))) first--;
    for (int i = first; i < 3; i++)
        if (parts[i]) reid__print(&text, "%s%s", text.length ? " " : "", parts[i]);
    return text.length < size;
}

/* Reads "NAME" or "NAME key=value ...": see INPUT. */
static reid_result reid__preset_read(const char *text, reid__preset *p, reid_error *e) {
    char name[sizeof p->name], names[512] = "";
    size_t length = strcspn(text, " ");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), text);
    const reid__preset *found = reid__preset_find(name);
    for (int i = 0, at = 0; !found && i < REID__PRESET_COUNT; i++)
        at += snprintf(names + at, sizeof names - (size_t)at, "%s%s", i ? ", " : "", reid__presets[i].name);
    if (!found)
        return reid__fail(e, REID_ERR_UNKNOWN_PRESET, "no preset is named \"%.60s\"; the presets are: %s", text, names);
    *p = *found;
    for (const char *s = text + length, *next; *s; s = next) {
        next = *s == ' ' ? reid__preset_field(p, ++s) : NULL;
        if (!next || (*next && *next != ' '))
            return reid__fail(e, REID_ERR_UNKNOWN_PRESET, "preset \"%.200s\": \"%.40s\" is not one of filter=bilinear, "
                              "filter=bicubic, resize=straight, resize=N, crop=FRACTION, size=HxW, mean=R,G,B, "
                              "std=R,G,B, scale=1/255, order=rgb, order=bgr", text, s);
    }
    for (int c = 0; c < 3; c++)
        if (!(p->scale >= 1e-6) || !(p->std[c] >= 1e-6) || p->mean[c] > 255 * p->scale)
            return reid__fail(e, REID_ERR_UNKNOWN_PRESET, "preset \"%.200s\": scale and std must be at least 1e-6, "
                              "and a mean at most 255 times scale", text);
    if (p->resize && p->resize < reid__max(p->height, p->width))
        return reid__fail(e, REID_ERR_INPUT_SIZE, "preset \"%.200s\": a short side of %d is too short for a crop "
                              "of %d x %d", text, p->resize, p->height, p->width);
    if (text[length]) snprintf(p->name, sizeof p->name, "%.22s+", found->name);
    return REID_OK;
}

/* 32 bits less 8 for the pixel and 2 for sign and overshoot: a window's positive taps add up to at most 1.14. */
#define REID__TAP_BITS 22

/* sums[i] += tap * line[i]. The inner count is constant so that compilers vectorise it at -O2. */
static void reid__add_line_scalar(int32_t *__restrict sums, const uint8_t *__restrict line, int32_t tap, int lanes) {
    for (int i = 0; i < lanes; i += REID__LANES)
        for (int k = 0; k < REID__LANES; k++) sums[i + k] += tap * line[i + k];
}

#define REID__HALF (1 << (REID__TAP_BITS - 1)) /* sums start with this, so that shifting them rounds */

/* Converts a sum to a pixel. The arithmetic shift leaves 10 bits and a sign. */
static uint8_t reid__rounded(int32_t sum) {
    int16_t v = (int16_t)(sum >> REID__TAP_BITS);
    v = v < 0 ? 0 : v;
    return (uint8_t)(v > 255 ? 255 : v);
}

static void reid__round_line_scalar(uint8_t *__restrict line, const int32_t *__restrict sums, int lanes) {
    for (int i = 0; i < lanes; i += REID__LANES)
        for (int k = 0; k < REID__LANES; k++) line[i + k] = reid__rounded(sums[i + k]);
}

typedef struct reid__axis reid__axis;

/* The two functions above, or those of another instruction set. columns, if not NULL, resizes the first columns of a
   row along x, as many as it can without reading more than `readable` bytes, and returns their number. */
typedef struct reid__lines {
    void (*add)(int32_t *sums, const uint8_t *line, int32_t tap, int lanes);
    void (*round)(uint8_t *line, const int32_t *sums, int lanes);
    int (*columns)(const reid__axis *x, const uint8_t *row, ptrdiff_t readable, int bytes, uint8_t *out);
} reid__lines;

/* A preset bound to an input size. */
typedef struct reid__prep {
    reid__preset preset;
    int height, width;  /* network input */
    int resize_edge;    /* short side after resizing; 0: straight to height x width */
    float lut[3][256];  /* pixel value to network input, in the order of the network's channels */
    reid__lines lines;  /* functions that sum up lines of pixels */
} reid__prep;

/* The product rounded to double: without the volatile store a compiler may fuse it with the addition that follows, as
   GCC does by default, which rounds once instead of twice. Products with powers of two are exact without it. */
static double reid__product(double a, double b) {
    volatile double rounded = a * b;
    return rounded;
}

/* Height and width 0 mean the preset's. Another size replaces the crop, and the resize edge grows in proportion. */
static reid_result reid__prep_init(reid__prep *p, const reid__preset *preset, int height, int width, reid_error *e) {
    memset(p, 0, sizeof *p);
    if (!height && !width) height = preset->height, width = preset->width;
    if (height < 1 || width < 1 || height > REID_MAX_INPUT || width > REID_MAX_INPUT)
        return reid__fail(e, REID_ERR_INPUT_SIZE,
                          "input size %d x %d (height x width): give both, each 1 to %d, or 0 and 0 for the %d x %d of "
                          "preset %s", height, width, REID_MAX_INPUT, preset->height, preset->width, preset->name);
    p->preset = *preset;
    if (!reid__preset_size(&p->preset, height, width))
        return reid__fail(e, REID_ERR_INPUT_SIZE, "input size %d x %d (height x width): preset %s would resize the "
                          "short side to more than %d", height, width, preset->name, REID__MAX_EDGE);
    p->lines.add = reid__add_line_scalar, p->lines.round = reid__round_line_scalar, p->lines.columns = NULL;
    p->height = height, p->width = width, p->resize_edge = p->preset.resize;
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++)
            p->lut[c][v] = (float)((reid__product(v, preset->scale) - preset->mean[c]) / preset->std[c]);
    return REID_OK;
}

/* The level nearest to the mean of a channel of the network. */
static double reid__mean_level(const reid__preset *p, int c) { return rint(p->mean[c] / p->scale); }

/* (pixels, 3) uint8 RGB to float, in the order of the network's channels. */
static void reid__prep_normalise(const reid__prep *p, const uint8_t *rgb, float *out, int pixels) {
    int first = p->preset.bgr ? 2 : 0;
    for (int i = 0; i < pixels; i++, rgb += 3, out += 3) {
        out[0] = p->lut[0][rgb[first]];
        out[1] = p->lut[1][rgb[1]];
        out[2] = p->lut[2][rgb[2 - first]];
    }
}

/* Bytes of a pixel, and the positions of red, green and blue in it. */
typedef struct reid__layout { int bytes, r, g, b; } reid__layout;

static const reid__layout reid__layouts[] = { /* REID_RGB8, BGR8, RGBA8, GRAY8, PREPARED */
    {3, 0, 1, 2}, {3, 2, 1, 0}, {4, 0, 1, 2}, {1, 0, 0, 0}, {3, 0, 1, 2},
};

static ptrdiff_t reid__image_stride(const reid_image *image) {
    return image->stride ? image->stride : (ptrdiff_t)image->width * reid__layouts[image->format].bytes;
}

/* Clips one side of a box to 0 … size. Returns 0 if nothing is left. The sum may exceed INT_MAX, hence 64 bits. */
static int reid__clip(int at, int length, int size, int *clipped_at, int *clipped_length) {
    int64_t end = (int64_t)at + reid__max(length, 0);
    *clipped_at = reid__max(at, 0), *clipped_length = (int)(end < size ? end : size) - *clipped_at;
    return *clipped_length > 0;
}

/* Checks description number `index`. On success every pixel of *roi, the part of the box in the image, can be read. */
static reid_result reid__image_check(const reid_image *image, int index, reid_box *roi, reid_error *e) {
    int w = image->width, h = image->height, format = (int)image->format;
    reid_box all = {0, 0, w, h};
    *roi = all;
    if (!image->pixels)
        return reid__fail(e, REID_ERR_IMAGE, "image %d: pixels is NULL; it must point to the first row", index);
    if (w < 1 || h < 1 || w > REID_MAX_SIDE || h > REID_MAX_SIDE)
        return reid__fail(e, REID_ERR_IMAGE, "image %d: width x height is %d x %d; each side must be 1 to %d", index, w,
                          h, REID_MAX_SIDE);
    if (format < REID_RGB8 || format > REID_PREPARED)
        return reid__fail(e, REID_ERR_IMAGE, "image %d: unknown format %d; use one of enum reid_format", index, format);
    ptrdiff_t row = (ptrdiff_t)w * reid__layouts[format].bytes, stride = reid__image_stride(image);
    if (stride < row)
        return reid__fail(e, REID_ERR_IMAGE, "image %d: stride is %td bytes, but a row has %td; give 0 if rows follow "
                          "each other without a gap", index, stride, row);
    if (stride > PTRDIFF_MAX / h)
        return reid__fail(e, REID_ERR_IMAGE, "image %d: %d rows of %td bytes exceed the address space", index, h,
                          stride);
    if (!image->box) return REID_OK;
    const reid_box box = *image->box;
    if (!reid__clip(box.x, box.width, w, &roi->x, &roi->width) ||
        !reid__clip(box.y, box.height, h, &roi->y, &roi->height))
        return reid__fail(e, REID_ERR_BOX, "image %d: the box x %d, y %d, width %d, height %d contains no pixel of "
                          "the %d x %d image", index, box.x, box.y, box.width, box.height, w, h);
    return REID_OK;
}

/* The source pixels first … end-1 that make up one output pixel. */
typedef struct reid__window {
    int first, end;
    double center;       /* in source pixels; the middle of the first pixel is 0.5 */
    double sum;          /* of the weights */
    const int16_t *taps; /* along x, of its group: see reid__tap_at; NULL: no room for them */
    int most;            /* taps, zeros included: the longest window of the group, rounded up to whole loads */
} reid__window;

#define REID__LOADED 4 /* pixels that a vector takes from 16 bytes */

/* One direction of a resize and crop. Along y a source line is added, times weights, to all lines that need it. */
struct reid__axis {
    reid__filter filter;
    int source;             /* pixels in the box */
    int64_t resized;        /* pixels after resizing; up to REID_MAX_SIDE * REID_MAX_INPUT, hence 64 bits */
    int64_t skipped;        /* resized pixels before the crop; negative: the number of padding pixels */
    double scale;           /* source pixels per resized pixel */
    double support;         /* half the length of a window, which grows when shrinking */
    double shrink;          /* 1 / stretch: source pixels to the filter's argument */
    reid__window *windows;  /* (count), of the output lines requested */
    int count;
    int lanes;              /* values in a line, a multiple of REID__LANES */
    int32_t *sums;          /* (count, lanes) */
    uint8_t picks[REID__LOADED / 2][16]; /* shuffles 16 bytes to red, green, blue, 0 of two pixels, widened */
    reid__lines lines;
};

/* Pixels after torchvision's Resize: int(edge * long / short), the short side becoming the edge itself. */
static int64_t reid__resized(int side, int other, int edge) {
    return side <= other ? edge : (int64_t)edge * side / other;
}

static void reid__axis_init(reid__axis *a, reid__filter filter, int source, int64_t resized, int crop) {
    int64_t spare = resized - crop;
    a->filter = filter, a->source = source, a->resized = resized;
    /* CenterCrop: int(round(spare / 2.0)), Python rounding a half to the even neighbour. An image smaller than the crop
       gets (crop - resized) // 2 pixels of padding before it. */
    a->skipped = spare >= 0 ? spare / 2 + ((spare & 3) == 3) : -(-spare / 2);
    a->scale = (double)source / (double)resized;
    double stretch = a->scale < 1.0 ? 1.0 : a->scale;
    a->support = (filter == REID__BICUBIC ? 2.0 : 1.0) * stretch, a->shrink = 1.0 / stretch;
}

/* The filter at source pixel `at`: the triangle, or Keys' cubic convolution with a = -1/2: (a + 2)x³ - (a + 3)x² + 1 up
   to 1, ax³ - 5ax² + 8ax - 4a up to 2. Factored and ordered as in Pillow, because the last bit depends on it. */
static double reid__weight(const reid__axis *a, const reid__window *w, int at) {
    double x = reid__product((double)at - w->center + 0.5, a->shrink);
    if (x < 0.0) x = -x;
    if (a->filter == REID__BILINEAR) return x < 1.0 ? 1.0 - x : 0.0;
    if (x < 1.0) return reid__product((reid__product(1.5, x) - 2.5) * x, x) + 1.0;
    if (x < 2.0) return (reid__product(reid__product(x - 5.0, x) + 8.0, x) - 4.0) * -0.5;
    return 0.0;
}

/* The window of line `index` of the crop: one weight of 1 without a resize; empty, next to the source, for padding. */
static void reid__window_init(reid__window *w, const reid__axis *a, int index) {
    int64_t at = a->skipped + index;
    memset(w, 0, sizeof *w);
    if (at >= a->resized) w->first = w->end = a->source;
    if (at < 0 || at >= a->resized) return;
    w->center = reid__product((double)at + 0.5, a->scale);
    w->first = reid__max((int)(w->center - a->support + 0.5), 0);
    w->end = reid__min((int)(w->center + a->support + 0.5), a->source);
    for (int i = w->first; i < w->end; i++) w->sum += reid__weight(a, w, i);
}

/* A weight in fixed point, rounded half away from zero. */
static int32_t reid__tap(const reid__axis *a, const reid__window *w, int at) {
    double tap = reid__weight(a, w, at) / w->sum * (1 << REID__TAP_BITS);
    return (int32_t)(tap < 0.0 ? tap - 0.5 : tap + 0.5);
}

static int32_t *reid__axis_sums(const reid__axis *a, int index) { return a->sums + (size_t)index * (size_t)a->lanes; }

/* Along x, taps are stored to multiply pairs of 16 bits and add products: (groups, pairs, low and high, columns, 2). */
#define REID__GROUP 4
#define REID__TAPS 65536 /* 256 KiB, enough for a bicubic source 16384 pixels wide and 224 columns */
#define REID__LOW 15     /* bits */
#define REID__HIGH_AT (2 * REID__GROUP)

/* Offset of the low bits of tap `at` from those of the window's first; the high bits are REID__HIGH_AT further. */
static int reid__tap_at(int at) { return (at & ~1) * REID__HIGH_AT + (at & 1); }

/* One band of a resize. Along x, an output line is a column of one row; along y, a row of the crop. */
typedef struct reid__resizer {
    const uint8_t *pixels, *end; /* of the box; of the image */
    ptrdiff_t stride;
    const reid__layout *layout;
    reid__axis x, y;
    int16_t *taps;         /* [REID__TAPS][2] */
    uint8_t *row;          /* (y.lanes) a source row after the horizontal pass */
} reid__resizer;

/* Sets the pointers into scratch memory, for a band of `rows` output rows and a source of any size. Returns the bytes
   that it takes, which REID_MAX_INPUT keeps far below SIZE_MAX; scratch may be NULL. */
static size_t reid__resizer_layout(reid__resizer *r, const reid__prep *p, int rows, void *scratch) {
    reid__carver c = {(char *)scratch, 0};
    size_t width = (size_t)p->width, height = (size_t)rows;
    r->y.lanes = reid__round_up(3 * p->width, REID__LANES);
    r->x.windows = (reid__window *)reid__carve(&c, width, sizeof(reid__window));
    r->y.windows = (reid__window *)reid__carve(&c, height, sizeof(reid__window));
    r->taps = (int16_t *)reid__carve(&c, REID__TAPS, 2 * sizeof(int16_t));
    r->row = (uint8_t *)reid__carve(&c, 1, (size_t)r->y.lanes + REID__LANES); /* stores may run four bytes over */
    r->y.sums = (int32_t *)reid__carve(&c, height * (size_t)r->y.lanes, sizeof(int32_t));
    return c.used;
}

static size_t reid__prep_scratch(const reid__prep *p, int rows) {
    reid__resizer r;
    return reid__resizer_layout(&r, p, rows, NULL);
}

/* Sets windows and taps of all columns of the crop. Taps that do not fit are left to reid__resize_row. */
static void reid__init_columns(reid__axis *x, const reid__layout *l, int16_t *taps) {
    int left = REID__TAPS / REID__GROUP;
    memset(x->picks, 0xff, sizeof x->picks); /* 0xff makes the shuffle write 0 */
    for (int i = 0; i < REID__LOADED; i++) {
        const int at[3] = {l->r, l->g, l->b};
        for (int c = 0; c < 3; c++) x->picks[i / 2][4 * c + i % 2 * 2] = (uint8_t)(i * l->bytes + at[c]);
    }
    for (int g = 0; g < x->count; g += REID__GROUP) {
        reid__window *w = &x->windows[g];
        int n = reid__min(REID__GROUP, x->count - g), most = 0;
        for (int i = 0; i < n; i++) {
            reid__window_init(&w[i], x, g + i);
            most = reid__max(most, w[i].end - w[i].first);
        }
        most = reid__round_up(most, REID__LOADED);
        if (most > left) continue;
        memset(taps, 0, (size_t)most * REID__HIGH_AT * sizeof *taps);
        for (int i = 0; i < n; i++) {
            w[i].taps = taps + 2 * i, w[i].most = most;
            for (int at = w[i].first; at < w[i].end; at++) {
                int32_t tap = reid__tap(x, &w[i], at);
                int16_t *to = taps + 2 * i + reid__tap_at(at - w[i].first);
                to[0] = (int16_t)(tap & ((1 << REID__LOW) - 1)), to[REID__HIGH_AT] = (int16_t)(tap >> REID__LOW);
            }
        }
        taps += most * REID__HIGH_AT, left -= most;
    }
}

static int reid__is_copied(const reid__axis *a, int crop) { return a->source == a->resized && a->resized >= crop; }

/* The short side after resizing; 0: straight to the network's input size, which prepared images already have. */
static int reid__resize_edge(const reid__prep *p, const reid_image *image) {
    return image->format == REID_PREPARED ? 0 : p->resize_edge;
}

/* Returns 1, without setting the windows, if nothing is resized and no padding is added. */
static int reid__resizer_init(reid__resizer *r, const reid__prep *p, const reid_image *image, const reid_box *roi,
                              int y0, int y1, void *scratch) {
    int w = roi->width, h = roi->height, edge = reid__resize_edge(p, image);
    r->layout = &reid__layouts[image->format], r->stride = reid__image_stride(image);
    r->pixels = (const uint8_t *)image->pixels + roi->y * r->stride + (ptrdiff_t)roi->x * r->layout->bytes;
    r->end = (const uint8_t *)image->pixels + (image->height - 1) * r->stride +
             (ptrdiff_t)image->width * r->layout->bytes;
    r->x.count = p->width, r->y.count = y1 - y0, r->x.lines = r->y.lines = p->lines;
    reid__resizer_layout(r, p, r->y.count, scratch);
    reid__axis_init(&r->x, p->preset.filter, w, edge ? reid__resized(w, h, edge) : p->width, p->width);
    reid__axis_init(&r->y, p->preset.filter, h, edge ? reid__resized(h, w, edge) : p->height, p->height);
    if (reid__is_copied(&r->x, p->width) && reid__is_copied(&r->y, p->height)) return 1;
    reid__init_columns(&r->x, r->layout, r->taps);
    for (int i = 0; i < r->y.count; i++) reid__window_init(&r->y.windows[i], &r->y, y0 + i);
    memset(r->row, 0, (size_t)r->y.lanes); /* the pass over y reads its padding too */
    return 0;
}

/* Resizes source row y along x into r->row: each column is a sum of pixels times taps. */
static void reid__resize_row(reid__resizer *r, int y) {
    const uint8_t *pixels = r->pixels + y * r->stride;
    const reid__axis *x = &r->x;
    const reid__layout l = *r->layout; /* a copy, because written bytes may alias the original */
    int done = x->lines.columns ? x->lines.columns(x, pixels, r->end - pixels, l.bytes, r->row) : 0;
    for (int i = done; i < x->count; i++) {
        const reid__window *w = &x->windows[i];
        int32_t sums[3] = {REID__HALF, REID__HALF, REID__HALF};
        for (int at = w->first; at < w->end; at++) {
            const uint8_t *pixel = pixels + (ptrdiff_t)at * l.bytes;
            const int16_t *t = w->taps ? w->taps + reid__tap_at(at - w->first) : NULL;
            int32_t tap = t ? t[REID__HIGH_AT] * (1 << REID__LOW) + t[0] : reid__tap(x, w, at);
            sums[0] += tap * pixel[l.r], sums[1] += tap * pixel[l.g], sums[2] += tap * pixel[l.b];
        }
        for (int c = 0; c < 3; c++) r->row[3 * i + c] = reid__rounded(sums[c]);
    }
}

/* Adds all source rows of the band to the sums of its lines. Windows before number `open` are complete. */
static void reid__resize_rows(reid__resizer *r) {
    const reid__axis *a = &r->y;
    int n = a->count * a->lanes, end = a->windows[a->count - 1].end;
    for (int i = 0; i < n; i += REID__LANES)
        for (int k = 0; k < REID__LANES; k++) a->sums[i + k] = REID__HALF;
    for (int y = a->windows[0].first, open = 0; y < end; y++) {
        reid__resize_row(r, y);
        while (a->windows[open].end <= y) open++;
        for (int i = open; i < a->count && a->windows[i].first <= y; i++)
            a->lines.add(reid__axis_sums(a, i), r->row, reid__tap(a, &a->windows[i], y), a->lanes);
    }
}

/* Copies row y of the crop to r->row, if nothing is resized. */
static void reid__copy_row(reid__resizer *r, int64_t y) {
    const reid__layout l = *r->layout;
    const uint8_t *pixel = r->pixels + (y + r->y.skipped) * r->stride + r->x.skipped * l.bytes;
    if (l.bytes == 3 && l.r == 0) memcpy(r->row, pixel, (size_t)r->x.count * 3);
    else for (int x = 0; x < r->x.count; x++, pixel += l.bytes) {
        uint8_t *to = r->row + 3 * x;
        to[0] = pixel[l.r], to[1] = pixel[l.g], to[2] = pixel[l.b];
    }
}

/* Computes rows y0 … y1-1 of the network's input, as (y1 - y0, width, 3) uint8 RGB, mirrored left to right if `flip`.
   roi: from reid__image_check. scratch: reid__prep_scratch(p, y1 - y0) bytes, REID__ALIGN-aligned. */
static void reid__prep_rows(const reid__prep *p, const reid_image *image, const reid_box *roi, int flip, int y0, int y1,
                            uint8_t *out, void *scratch) {
    reid__resizer r;
    int copies = reid__resizer_init(&r, p, image, roi, y0, y1, scratch);
    if (!copies) reid__resize_rows(&r);
    for (int y = 0; y < r.y.count; y++, out += (ptrdiff_t)p->width * 3) {
        if (copies) reid__copy_row(&r, y0 + y);
        else p->lines.round(r.row, reid__axis_sums(&r.y, y), r.y.lanes);
        if (!flip) memcpy(out, r.row, (size_t)p->width * 3);
        else for (int x = 0; x < p->width; x++) memcpy(out + 3 * (p->width - 1 - x), r.row + 3 * x, 3);
    }
}

/* --------------------------------------------------------------------------------------------------------------------
   >>arch
   The networks as tables: small differences (strides, epsilon, padding) are columns here, not `if`s in a kernel. */
typedef enum reid__family { REID__RESNET, REID__EFFICIENTNET } reid__family;
typedef enum reid__act { REID__LINEAR_ACT, REID__RELU, REID__SILU, REID__TANH } reid__act; /* TANH: only in a head */
static const char reid__act_names[4][8] = {"", "relu", "silu", "tanh"};

typedef struct reid__arch {
    char name[REID_NETWORK_NAME];
    reid__family family;
    double width, depth;  /* EfficientNet's multipliers of channels and of repeats */
    double bn_eps;        /* 1e-5 in torchvision; 1e-3 for weights from TensorFlow, and EfficientNetV2 */
    int stages;           /* EfficientNet: a row of reid__efficientnets */
    int multiscale;       /* ResNet: four pooled parts with a linear layer each, reid__scales */
    int maxpool_pad;      /* ResNet: 1 in torchvision; 0 (and rounding up) in fast-reid */
    int bare_stem;        /* ResNet: 1: no ReLU before the max pool (strong-baseline's code, its issue 117) */
    int same_padding;     /* EfficientNet: TensorFlow's "SAME", whose odd pixel is padded at the end */
    int gem;              /* the last pool is a generalised mean with a learned exponent, `pool_layer.p` */
    int neck;             /* a batch norm after the last pool, `bottleneck.*`, gives the embedding */
    int reduce;           /* ResNet: a linear layer with batch norm after the last pool, reid__reductions */
    int by_name;          /* 1: another network has the same tensors, so desc.network or the file must name it */
    char preset[40];      /* default preprocessing */
    int layers, ibn, nonlocal; /* ResNet: which trunk of reid__trunk_names; in the table 0, 0, 0 */
} reid__arch;

/* Rows of the table below: of a ResNet, and of an EfficientNet, whose `ends` is 1 for gem and neck. */
#define REID__R(name, mul, pad, bare, gem, neck, reduce, by_name, preset)                                              \
    {name, REID__RESNET, 1, 1, 1e-5, 0, mul, pad, bare, 0, gem, neck, reduce, by_name, preset, 0, 0, 0}
#define REID__E(name, stages, width, depth, eps, same, ends, by_name, preset)                                          \
    {name, REID__EFFICIENTNET, width, depth, eps, stages, 0, 0, 0, same, ends, ends, 0, by_name, preset, 0, 0, 0}
static const reid__arch reid__archs[] = {
    /*       name                 mul pad bar gem nck red nam  preset */
    REID__R("resnet50",             0, 1, 0, 0, 0, 0, 0, "torchvision-v1"),
    REID__R("resnet50-multiscale",  1, 1, 0, 0, 0, 0, 0, "torchvision-v1"),
    /*       name              stages w, depth  eps  sam end nam  preset */
    REID__E("efficientnet_b0",     0, 1.0, 1.0, 1e-5, 0, 0, 0, "effnet-b0"),
    REID__E("efficientnet_b1",     0, 1.0, 1.1, 1e-5, 0, 0, 0, "effnet-b1"),
    REID__E("efficientnet_b2",     0, 1.1, 1.2, 1e-5, 0, 0, 0, "effnet-b2"),
    REID__E("efficientnet_b3",     0, 1.2, 1.4, 1e-5, 0, 0, 0, "effnet-b3"),
    REID__R("resnet50-bnneck",      0, 1, 0, 0, 1, 0, 0, "strongbaseline"), /* strong-baseline's IBN-a */
    REID__R("resnet50-strongbaseline",     0, 1, 1, 0, 1, 0, 1, "strongbaseline"),
    REID__R("resnet50-fastreid",         0, 0, 0, 0, 1, 0, 1, "fastreid"),
    REID__R("resnet50-fastreid-gem",     0, 0, 0, 1, 1, 0, 0, "fastreid"),
    REID__R("resnet50-bnneck-gem",       0, 1, 0, 1, 1, 0, 1, "fastreid"), /* fast-reid of 2020 */
    REID__R("resnet50-strongbaseline-gem", 0, 1, 1, 1, 1, 0, 1, "strongbaseline"), /* AGW's own code */
    REID__R("resnet50-fastreid-512",     0, 0, 0, 0, 0, 1, 0, "fastreid"),
    REID__R("resnet50-fastreid-gem-512", 0, 0, 0, 1, 0, 1, 0, "fastreid"),
    REID__R("resnet50-layumi",      0, 1, 0, 0, 0, 2, 0, "fastreid"),
    REID__R("resnet50-fc512",       0, 1, 0, 0, 0, 3, 0, "torchreid"),
    REID__E("tf_efficientnet_b0",  0, 1.0, 1.0, 1e-3, 1, 0, 1, "effnet-b0"), /* tf_: trained in TensorFlow */
    REID__E("tf_efficientnet_b1",  0, 1.0, 1.1, 1e-3, 1, 0, 1, "effnet-b1"),
    REID__E("tf_efficientnet_b2",  0, 1.1, 1.2, 1e-3, 1, 0, 1, "effnet-b2"),
    REID__E("tf_efficientnet_b3",  0, 1.2, 1.4, 1e-3, 1, 0, 1, "effnet-b3"),
    REID__E("efficientnet_b4",     0, 1.4, 1.8, 1e-5, 0, 0, 0, "effnet-b4"),
    REID__E("efficientnet_b5",     0, 1.6, 2.2, 1e-3, 0, 0, 0, "effnet-b5"), /* torchvision's epsilon, unlike timm's */
    REID__E("efficientnet_b6",     0, 1.8, 2.6, 1e-3, 0, 0, 0, "effnet-b6"),
    REID__E("efficientnet_b7",     0, 2.0, 3.1, 1e-3, 0, 0, 0, "effnet-b7"),
    REID__E("timm_efficientnet_b5", 0, 1.6, 2.2, 1e-5, 0, 0, 1, "timm-0.95 size=448x448 crop=1"),
    REID__E("tf_efficientnet_b4",  0, 1.4, 1.8, 1e-3, 1, 0, 1, "effnet-b4"),
    REID__E("tf_efficientnet_b5",  0, 1.6, 2.2, 1e-3, 1, 0, 1, "effnet-b5"),
    REID__E("tf_efficientnet_b6",  0, 1.8, 2.6, 1e-3, 1, 0, 1, "effnet-b6"),
    REID__E("tf_efficientnet_b7",  0, 2.0, 3.1, 1e-3, 1, 0, 1, "effnet-b7"),
    REID__E("efficientnet_v2_s",   1, 1.0, 1.0, 1e-3, 0, 0, 0, "effnet-v2"),
    REID__E("efficientnet_v2_m",   2, 1.0, 1.0, 1e-3, 0, 0, 0, "effnet-v2 size=480x480 resize=480"),
    REID__E("efficientnet_v2_l",   3, 1.0, 1.0, 1e-3, 0, 0, 0, "timm-inception size=480x480 crop=1"),
    REID__E("tf_efficientnetv2_s", 1, 1.0, 1.0, 1e-3, 1, 0, 1, "timm-inception size=384x384 crop=1"),
    REID__E("tf_efficientnetv2_m", 2, 1.0, 1.0, 1e-3, 1, 0, 1, "timm-inception size=480x480 crop=1"),
    REID__E("tf_efficientnetv2_l", 3, 1.0, 1.0, 1e-3, 1, 0, 1, "timm-inception size=480x480 crop=1"),
    REID__E("efficientnetv2_rw_t", 1, 0.8, 0.9, 1e-5, 0, 0, 0, "timm-0.95 size=288x288 crop=1"),
    REID__E("efficientnetv2_rw_s", 4, 1.0, 1.0, 1e-5, 0, 0, 0, "timm-0.95 size=384x384 crop=1"),
    REID__E("efficientnetv2_rw_m", 5, 1.2, 1.0, 1e-5, 0, 0, 0, "timm-0.95 size=416x416 crop=1"),
    REID__E("miewid",              5, 1.2, 1.0, 1e-5, 0, 1, 0, "miewid"), /* Wildbook's, on efficientnetv2_rw_m */
};
#define REID__ARCHS ((int)(sizeof reid__archs / sizeof reid__archs[0]))

/* ResNet-50, -101 and -152: He et al., "Deep Residual Learning for Image Recognition", table 1. */
static const struct { int blocks[3], mid, out, stride; } reid__resnets[4] = {
    {{3, 3, 3}, 64, 256, 1}, {{4, 4, 8}, 128, 512, 2}, {{6, 23, 36}, 256, 1024, 2},
    {{3, 3, 3}, 512, 2048, 2}, /* re-ID trunks often use stride 1: desc.last_stride */
};
#define REID__SPLIT_LAYER 2 /* layer3: from here on weights outweigh activations, see reid__plan.split */

/* What a network's name says about its trunk between "resnet" and its head: reid__arch.layers, .ibn and .nonlocal.
   IBN-a normalises half of the channels behind conv1 of the blocks of layers 1 to 3 by the image's own mean and
   variance; IBN-b all channels behind the stem's convolution, and behind layers 1 and 2 (Pan et al., "Two at Once:
   Enhancing Learning and Generalization Capacities via IBN-Net"). Non-local blocks (Wang et al., "Non-local Neural
   Networks") follow the last blocks of layers 2 and 3: fast-reid's have 1 channel, AGW's half of their input's. */
static const char reid__trunk_names[3][3][8] = {{"50", "101", "152"}, {"", "-ibn", "-ibnb"}, {"", "-nl", "-nlhalf"}};
static const int reid__nonlocal_blocks[3][4] = {{0, 2, 3, 0}, {0, 2, 9, 0}, {0, 0, 0, 0}}; /* by layers, layer */

/* EfficientNet: Tan and Le, "EfficientNet", table 1, and "EfficientNetV2", table 4. Channels of the stem and the head,
   then stages up to one without blocks. fused: 0: expand 1x1, depthwise k x k, squeeze, project; 1: expand k x k,
   project, or if expand is 1 a single convolution; 2: always both. A squeeze has a quarter of its block's inputs. */
typedef struct reid__stage { int fused, expand, kernel, stride, out, blocks; } reid__stage;
static const struct { int stem, head; reid__stage stage[8]; } reid__efficientnets[] = {
    {32, 1280, {{0, 1, 3, 1, 16, 1}, {0, 6, 3, 2, 24, 2}, {0, 6, 5, 2, 40, 2}, {0, 6, 3, 2, 80, 3},
                {0, 6, 5, 1, 112, 3}, {0, 6, 5, 2, 192, 4}, {0, 6, 3, 1, 320, 1}, {0, 0, 0, 0, 0, 0}}},
    {24, 1280, {{1, 1, 3, 1, 24, 2}, {1, 4, 3, 2, 48, 4}, {1, 4, 3, 2, 64, 4}, {0, 4, 3, 2, 128, 6},
                {0, 6, 3, 1, 160, 9}, {0, 6, 3, 2, 256, 15}, {0, 0, 0, 0, 0, 0}}}, /* V2-S */
    {24, 1280, {{1, 1, 3, 1, 24, 3}, {1, 4, 3, 2, 48, 5}, {1, 4, 3, 2, 80, 5}, {0, 4, 3, 2, 160, 7},
                {0, 6, 3, 1, 176, 14}, {0, 6, 3, 2, 304, 18}, {0, 6, 3, 1, 512, 5}, {0, 0, 0, 0, 0, 0}}}, /* V2-M */
    {32, 1280, {{1, 1, 3, 1, 32, 4}, {1, 4, 3, 2, 64, 7}, {1, 4, 3, 2, 96, 7}, {0, 4, 3, 2, 192, 10},
                {0, 6, 3, 1, 224, 19}, {0, 6, 3, 2, 384, 25}, {0, 6, 3, 1, 640, 7}, {0, 0, 0, 0, 0, 0}}}, /* V2-L */
    {24, 1792, {{2, 1, 3, 1, 24, 2}, {2, 4, 3, 2, 48, 4}, {2, 4, 3, 2, 64, 4}, {0, 4, 3, 2, 128, 6},
                {0, 6, 3, 1, 160, 9}, {0, 6, 3, 2, 272, 15}, {0, 0, 0, 0, 0, 0}}}, /* timm's rw_s */
    {24, 1792, {{2, 1, 3, 1, 24, 3}, {2, 4, 3, 2, 48, 5}, {2, 4, 3, 2, 64, 5}, {0, 4, 3, 2, 128, 8},
                {0, 6, 3, 1, 160, 15}, {0, 6, 3, 2, 272, 24}, {0, 0, 0, 0, 0, 0}}}, /* timm's rw_m: other repeats */
};

/* The multi-scale head: adaptive average pool of a ResNet layer to bins x bins, flattened, linear to 128 each,
   concatenated in this order. The last two share one pooled vector (bins 0: that of the row above). */
static const struct { int layer, bins; char name[16]; } reid__scales[4] = {
    {2, 4, "reduce_layer2"}, {3, 2, "reduce_layer3"}, {4, 1, "reduce_layer4"}, {4, 0, "reduce_avgpool"},
};
#define REID__SCALE_DIM 128

/* Linear layer, batch norm and perhaps ReLU between the last pool and the embedding, indexed by reid__arch.reduce. */
static const struct { char name[24], bn[24]; int biased; reid__act act; } reid__reductions[4] = {
    {"", "", 0, REID__LINEAR_ACT},
    {"reduction", "bottleneck", 0, REID__LINEAR_ACT}, /* a 1x1 convolution */
    {"classifier.add_block.0", "classifier.add_block.1", 1, REID__LINEAR_ACT},
    {"fc.0", "fc.1", 1, REID__RELU},
};
#define REID__REDUCED_DIM 512
#define REID__PROJECTION_DIM 512 /* if no file gives the width */

/* The linear layer that a file may add, `projection.{weight,bias}`. act: from the metadata key reid.head_activation. */
typedef struct reid__projection { int width; reid__act act; } reid__projection;

/* Networks whose head is optional. The others end with layers of their own. */
static int reid__may_project(const reid__arch *arch) { return !arch->multiscale && !arch->reduce; }

static int reid__has_int8(const reid__arch *arch) {
    return arch->family == REID__RESNET && !arch->ibn && !arch->nonlocal && !arch->bare_stem;
}

REID_API const char *reid_network_name(int index) {
    return index >= 0 && index < REID__ARCHS ? reid__archs[index].name : NULL;
}

/* --------------------------------------------------------------------------------------------------------------------
   >>plan
   A table is expanded to a flat list of operations over numbered buffers. Everything else reads only this list: the
   tensors that the file must contain, the sizes and places of the buffers, the executors, reid_query_op. */
#define REID__MAX_OPS 320
#define REID__MAX_BUFFERS (2 * REID__MAX_OPS)
#define REID__NONE (-1)
#define REID__NAME 56 /* bytes of an operation's name */

typedef enum reid__kind {
    REID__CONV,      /* groups 1; its code also computes REID__LINEAR */
    REID__DEPTHWISE, /* groups = channels; writes the sum of each of its rows to `sums` for the squeeze */
    REID__MAXPOOL,
    REID__SQUEEZE,   /* squeeze-excite factors from row sums: mean, 1x1 + SiLU, 1x1 + sigmoid */
    REID__POOL,      /* adaptive average or generalised mean; perhaps a batch norm */
    REID__LINEAR,    /* a convolution whose kernel covers its whole input; a bias, batch norm, or both */
    REID__INSTANCE,  /* y = act(norm(x)) + residual, where norm is instance norm of the first `normed` channels */
    REID__NONLOCAL,  /* y = (in key^T) value / pixels: matrices (pixels, channels) of one image */
    REID__NORMALISE  /* L2, at the very end: reid__cpu_embed */
} reid__kind;

/* One activation tensor, (n, h, w, c) with c padded to REID__LANES. The network's input is (n, h, w, 3) instead, with
   its zero border of border_y, border_x stored, so that the stem needs no bounds checks. */
typedef struct reid__buffer {
    int h, w, c;
    int channels;     /* c without padding */
    int border_y, border_x;
    int first, last;  /* operations that first write and last read it */
    int late;         /* on the CPU it has room for all images of a batch: see reid__plan.split */
    int bytes;        /* per value on the CPU: 4, or 2 for bf16, 1 for INT8 */
    float range;      /* INT8: the largest value that can be stored; 0: it is not stored in 8 bits */
    int is_signed;    /* INT8: -128 ... 127 instead of 0 ... 255 */
    size_t floats;    /* per image, in units of 4 bytes */
    size_t offset;    /* floats per image from the start of its arena */
} reid__buffer;

/* The type in which a convolution stores and multiplies inputs and weights. INT16: INT8's first one, except on GPUs. */
typedef enum reid__element {
    REID__ELEMENT_FP32, REID__ELEMENT_BF16, REID__ELEMENT_INT8, REID__ELEMENT_INT16
} reid__element;

/* Elements in a word of 4 bytes: 1, 2 or 4. A vector instruction multiplies and adds that many at once. */
static int reid__per_word(reid__element element) {
    return element == REID__ELEMENT_FP32 ? 1 : element == REID__ELEMENT_INT8 ? 4 : 2;
}

typedef struct reid__op {
    char name[REID__NAME], bn[REID__NAME];       /* "layer1.0.conv2", "layer1.0.bn2": where its tensors are */
    reid__kind kind;
    reid__act act;
    int in, out;                 /* buffers */
    int residual, scale, sums;   /* buffers or REID__NONE */
    int key, value;              /* of REID__NONLOCAL, whose `in` is its query; buffers or REID__NONE */
    int ih, iw, ic, oh, ow, oc;  /* true channel counts, not padded */
    int kh, kw, stride, pad_y, pad_x;
    int hidden;                  /* REID__SQUEEZE: channels between its two layers */
    int gem;                     /* REID__POOL: a generalised mean */
    int biased;                  /* a convolution or linear layer has a bias of its own */
    int normed;                  /* REID__INSTANCE: channels with instance norm */
    int bn_from;                 /* the first channel that has batch norm: IBN-a's other half has not */
    int channel;                 /* first channel written in `out`: parts of a concatenation */
    int seeded;                  /* tensors come from the generator */
    int winograd;                /* the CPU's algorithm: see reid__winograd_pays */
    reid__element element;       /* of a convolution: see reid__plan_narrow */
    int fused;                   /* only the next operation, a depthwise one, reads its output, and on the CPU computes
                                    it: see reid__depthwise_part */
    double bn_eps;
    size_t weight, bias;         /* offsets in the packed weights, floats */
    size_t weight2, bias2;       /* REID__SQUEEZE: the offsets of its second layer */
    size_t scales;               /* INT8: the offset of a convolution's scales, one for each output channel */
    size_t exponent;             /* REID__POOL: the offset of a generalised mean's exponent */
} reid__op;

#ifdef REID_NO_NARROW
#define REID__HAS_NARROW 0
#else
#define REID__HAS_NARROW 1
#endif

/* Whether a convolution multiplies something other than FP32 on a CPU; whether it multiplies bytes, also on a GPU. */
static int reid__is_narrow(const reid__op *op) { return REID__HAS_NARROW && op->element != REID__ELEMENT_FP32; }
static int reid__in_bytes(const reid__op *op) { return REID__HAS_NARROW && op->element == REID__ELEMENT_INT8; }

typedef struct reid__plan {
    reid__arch arch;             /* a row of reid__archs, with the trunk */
    int height, width, last_stride, dim;
    reid__projection projection; /* width 0: none */
    int op_count, buffer_count;
    int embedding;               /* the buffer that holds the result */
    int split;                   /* the CPU computes operations before this one image by image: reid__run_batch */
    size_t early_floats, late_floats; /* arenas of one image: buffers last read before `split`, and the others */
    size_t carried_floats; /* at the start of the late arena: buffers written before `split` and read later */
    size_t weight_floats;
    int overflow;                /* more operations than fit, or an output without pixels */
    reid__op ops[REID__MAX_OPS];
    reid__buffer buffers[REID__MAX_BUFFERS];
} reid__plan;

typedef struct reid__needed_tensor { char name[REID__NAME + 16]; int ndim; size_t shape[4]; } reid__needed_tensor;

static int reid__padded(int channels) { return reid__round_up(channels, REID__LANES); }

static int reid__add_buffer(reid__plan *p, int h, int w, int c) {
    if (p->buffer_count == REID__MAX_BUFFERS) {
        p->overflow = 1;
        return 0;
    }
    reid__buffer *b = &p->buffers[p->buffer_count];
    b->h = h, b->w = w, b->c = reid__padded(c), b->channels = c, b->bytes = 4;
    b->floats = (size_t)h * (size_t)w * (size_t)b->c;
    return p->buffer_count++;
}

/* Adds an operation that reads buffer `in`. Past the limit it overwrites the last one, and sets p->overflow. */
static reid__op *reid__add_op(reid__plan *p, reid__kind kind, int in, const char *name) {
    if (p->op_count == REID__MAX_OPS) p->overflow = 1, p->op_count--;
    reid__op *op = &p->ops[p->op_count++];
    memset(op, 0, sizeof *op);
    snprintf(op->name, sizeof op->name, "%s", name);
    op->kind = kind, op->in = in, op->residual = op->scale = op->sums = op->key = op->value = REID__NONE;
    op->ih = p->buffers[in].h, op->iw = p->buffers[in].w, op->ic = p->buffers[in].channels;
    op->kh = op->kw = op->stride = 1, op->bn_eps = p->arch.bn_eps;
    return op;
}

/* The outputs of a sliding window on one axis, and the padding before it: TensorFlow's if `same`, else `pad`. */
static int reid__output_size(int in, int k, int stride, int pad, int same, int *pad_before) {
    int out = same ? reid__ceil_div(in, stride) : in + 2 * pad < k ? 0 : (in + 2 * pad - k) / stride + 1;
    *pad_before = same ? reid__max(0, (out - 1) * stride + k - in) / 2 : pad;
    return out;
}

/* Sets an operation's square window, and adds its output of `oc` channels. The input counts as `more` pixels longer. */
static int reid__set_window(reid__plan *p, reid__op *op, int k, int stride, int pad, int more) {
    op->kh = op->kw = k, op->stride = stride;
    op->oh = reid__output_size(op->ih + more, k, stride, pad, p->arch.same_padding, &op->pad_y);
    op->ow = reid__output_size(op->iw + more, k, stride, pad, p->arch.same_padding, &op->pad_x);
    if (op->oh < 1 || op->ow < 1) p->overflow = 1;
    op->out = reid__add_buffer(p, op->oh, op->ow, op->oc);
    return op->out;
}

/* Adds convolution, batch norm and activation; their names begin with `block`. Returns the output buffer. */
static int reid__add_conv(reid__plan *p, reid__kind kind, int in, int oc, int k, int stride, reid__act act,
                          const char *block, const char *name, const char *bn) {
    reid__op *op = reid__add_op(p, kind, in, block);
    snprintf(op->name, sizeof op->name, "%s%s", block, name);
    snprintf(op->bn, sizeof op->bn, "%s%s", block, bn);
    op->act = act, op->oc = oc;
    return reid__set_window(p, op, k, stride, (k - 1) / 2, 0);
}

static reid__op *reid__last_op(reid__plan *p) { return &p->ops[p->op_count - 1]; }

static int reid__add_pool(reid__plan *p, int in, int bins) {
    reid__op *op = reid__add_op(p, REID__POOL, in, "avgpool");
    op->oh = op->ow = bins, op->oc = op->ic, op->out = reid__add_buffer(p, bins, bins, op->oc);
    return op->out;
}

/* Adds a linear layer over all of `in`, written to channels [channel, channel + oc) of buffer `out`. */
static void reid__add_linear(reid__plan *p, int in, int out, int channel, int oc, const char *name, int seeded) {
    reid__op *op = reid__add_op(p, REID__LINEAR, in, name);
    op->kh = op->ih, op->kw = op->iw, op->oh = op->ow = 1, op->oc = oc;
    op->out = out, op->channel = channel, op->seeded = seeded, op->biased = 1;
}

/* Adds a linear layer after the pooled vector, which until now was the embedding. */
static void reid__add_head(reid__plan *p, int dim, const char *name, int seeded) {
    int pooled = p->embedding;
    p->dim = dim, p->embedding = reid__add_buffer(p, 1, 1, dim);
    reid__add_linear(p, pooled, p->embedding, 0, dim, name, seeded);
}

/* Adds the image buffer, with room for the stem's window at every output position, border included. */
static int reid__add_image(reid__plan *p, int k, int stride) {
    int id = reid__add_buffer(p, p->height, p->width, 3), same = p->arch.same_padding;
    reid__buffer *b = &p->buffers[id];
    int oh = reid__output_size(p->height, k, stride, (k - 1) / 2, same, &b->border_y);
    int ow = reid__output_size(p->width, k, stride, (k - 1) / 2, same, &b->border_x);
    int rows = reid__max((oh - 1) * stride + k, b->border_y + p->height);
    int columns = reid__max((ow - 1) * stride + k, b->border_x + p->width);
    b->c = 3, b->floats = (size_t)reid__round_up(rows * columns * 3, REID__LANES);
    return id;
}

static int reid__is_stem(const reid__plan *p, const reid__op *op) {
    return op->kind == REID__CONV && p->buffers[op->in].c == 3;
}

/* Values from one stored row of the image to the next. */
static int reid__image_row(const reid__plan *p, const reid__op *stem) {
    return 3 * reid__max((stem->ow - 1) * stem->stride + stem->kw, p->buffers[stem->in].border_x + p->width);
}

/* Adds instance norm of the first `normed` channels of x, the last operation's output, and takes over its activation
   function. Its tensors are named `block` and `name`. */
static int reid__add_instance(reid__plan *p, int x, int normed, const char *block, const char *name) {
    reid__op *before = reid__last_op(p), *op = reid__add_op(p, REID__INSTANCE, x, "");
    snprintf(op->name, sizeof op->name, "%s%s", block, name);
    op->act = before->act, before->act = REID__LINEAR_ACT, op->bn_eps = 1e-5; /* PyTorch's default */
    op->oc = op->ic, op->oh = op->ih, op->ow = op->iw, op->normed = normed;
    return op->out = reid__add_buffer(p, op->oh, op->ow, op->oc);
}

/* ibn: 'a' or 'b' if this block has it, else 0. project: 1: a convolution is its shortcut. */
static int reid__bottleneck(reid__plan *p, int x, int mid, int out, int stride, const char *block, int project,
                            char ibn) {
    int shortcut = !project ? x : reid__add_conv(p, REID__CONV, x, out, 1, stride, REID__LINEAR_ACT, block,
                                                 "downsample.0", "downsample.1");
    int y = reid__add_conv(p, REID__CONV, x, mid, 1, 1, REID__RELU, block, "conv1", ibn == 'a' ? "bn1.BN" : "bn1");
    if (ibn == 'a') reid__last_op(p)->bn_from = mid / 2, y = reid__add_instance(p, y, mid / 2, block, "bn1.IN");
    y = reid__add_conv(p, REID__CONV, y, mid, 3, stride, REID__RELU, block, "conv2", "bn2");
    y = reid__add_conv(p, REID__CONV, y, out, 1, 1, REID__RELU, block, "conv3", "bn3");
    reid__last_op(p)->residual = shortcut;
    return ibn == 'b' ? reid__add_instance(p, y, out, block, "IN") : y;
}

/* Adds a 1x1 convolution with a bias, and batch norm if `bn` is a name, and no activation function. */
static int reid__add_plain(reid__plan *p, int in, int oc, const char *block, const char *name, const char *bn) {
    int out = reid__add_conv(p, REID__CONV, in, oc, 1, 1, REID__LINEAR_ACT, block, name, bn);
    if (!bn[0]) reid__last_op(p)->bn[0] = 0;
    reid__last_op(p)->biased = 1;
    return out;
}

/* x + W(theta(x) phi(x)^T g(x) / pixels): a non-local block with dot products, `name` is "NL_2.0.". */
static int reid__add_nonlocal(reid__plan *p, int x, int channels, const char *name) {
    int query = reid__add_plain(p, x, channels, name, "theta", "");
    int key = reid__add_plain(p, x, channels, name, "phi", "");
    int value = reid__add_plain(p, x, channels, name, "g", "");
    reid__op *op = reid__add_op(p, REID__NONLOCAL, query, name);
    op->name[strlen(name) - 1] = 0;
    op->key = key, op->value = value, op->oh = op->ih, op->ow = op->iw, op->oc = channels;
    op->out = reid__add_buffer(p, op->oh, op->ow, channels);
    int y = reid__add_plain(p, op->out, p->buffers[x].channels, name, "W.0", "W.1");
    reid__last_op(p)->residual = x;
    return y;
}

static int reid__add_maxpool(reid__plan *p, int in) {
    reid__op *op = reid__add_op(p, REID__MAXPOOL, in, "maxpool");
    int pad = p->arch.maxpool_pad;
    op->oc = op->ic;
    return reid__set_window(p, op, 3, 2, pad, pad ? 0 : 1); /* without padding the output size is rounded up */
}

/* Adds the pool that gives the embedding, perhaps a generalised mean, perhaps with batch norm behind it. */
static void reid__add_last_pool(reid__plan *p, int x) {
    p->embedding = reid__add_pool(p, x, 1), p->dim = p->buffers[x].channels;
    reid__op *pool = reid__last_op(p);
    pool->gem = p->arch.gem;
    if (pool->gem) snprintf(pool->name, sizeof pool->name, "pool_layer");
    if (p->arch.neck) snprintf(pool->bn, sizeof pool->bn, "bottleneck");
}

static void reid__expand_resnet(reid__plan *p, int seeded) {
    int scale = 0, pooled = 0, layers = p->arch.layers, ibn = p->arch.ibn;
    const reid__act act = p->arch.bare_stem ? REID__LINEAR_ACT : REID__RELU;
    int x = reid__add_conv(p, REID__CONV, reid__add_image(p, 7, 2), 64, 7, 2, act, "", "conv1", "bn1");
    if (ibn == 2) reid__last_op(p)->bn[0] = 0, x = reid__add_instance(p, x, 64, "", "bn1");
    x = reid__add_maxpool(p, x);
    if (p->arch.multiscale) p->dim = 4 * REID__SCALE_DIM, p->embedding = reid__add_buffer(p, 1, 1, p->dim);
    for (int layer = 0; layer < 4; layer++) {
        int out = reid__resnets[layer].out, stride = reid__resnets[layer].stride;
        int blocks = reid__resnets[layer].blocks[layers];
        int nonlocal = p->arch.nonlocal ? reid__nonlocal_blocks[layers][layer] : 0;
        if (layer == REID__SPLIT_LAYER) p->split = p->op_count;
        if (layer == 3) stride = p->last_stride;
        for (int block = 0; block < blocks; block++) {
            char name[40], norm = ibn == 1 && layer < 3 ? 'a' : ibn == 2 && layer < 2 && block == blocks - 1 ? 'b' : 0;
            snprintf(name, sizeof name, "layer%d.%d.", layer + 1, block);
            x = reid__bottleneck(p, x, reid__resnets[layer].mid, out, block ? 1 : stride, name, block == 0, norm);
            if (block < blocks - nonlocal) continue;
            snprintf(name, sizeof name, "NL_%d.%d.", layer + 1, block - blocks + nonlocal);
            x = reid__add_nonlocal(p, x, p->arch.nonlocal == 1 ? 1 : out / 2, name);
        }
        for (; p->arch.multiscale && scale < 4 && reid__scales[scale].layer == layer + 1; scale++) {
            if (reid__scales[scale].bins) pooled = reid__add_pool(p, x, reid__scales[scale].bins);
            reid__add_linear(p, pooled, p->embedding, scale * REID__SCALE_DIM, REID__SCALE_DIM,
                             reid__scales[scale].name, seeded);
        }
    }
    if (p->arch.multiscale) return;
    reid__add_last_pool(p, x);
    int row = p->arch.reduce;
    if (!row) return;
    reid__add_head(p, REID__REDUCED_DIM, reid__reductions[row].name, 0);
    reid__op *linear = reid__last_op(p);
    linear->biased = reid__reductions[row].biased, linear->act = reid__reductions[row].act;
    snprintf(linear->bn, sizeof linear->bn, "%s", reid__reductions[row].bn);
}

/* Channels times the width multiplier, to the nearest multiple of 8 but not more than a tenth below. */
static int reid__scale_channels(int channels, double width) {
    double wanted = channels * width;
    int rounded = reid__max(8, (int)(wanted + 4) / 8 * 8);
    return rounded < 0.9 * wanted ? rounded + 8 : rounded;
}

/* expand 1x1 -> depthwise -> squeeze-excite -> project 1x1; `block` is "features.2.0.block.". */
static int reid__mbconv(reid__plan *p, int x, int out, int expand, int kernel, int stride, const char *block) {
    static const char names[4][4] = {"0.0", "1.0", "2.0", "3.0"}, bns[4][4] = {"0.1", "1.1", "2.1", "3.1"};
    char name[REID__NAME];
    int ic = p->buffers[x].channels, mid = reid__scale_channels(ic, expand), part = expand != 1, input = x;
    if (part) x = reid__add_conv(p, REID__CONV, x, mid, 1, 1, REID__SILU, block, names[0], bns[0]);
    x = reid__add_conv(p, REID__DEPTHWISE, x, mid, kernel, stride, REID__SILU, block, names[part], bns[part]);
    reid__op *depthwise = reid__last_op(p);
    depthwise->sums = reid__add_buffer(p, depthwise->oh, 1, mid);

    snprintf(name, sizeof name, "%s%d", block, part + 1);
    reid__op *squeeze = reid__add_op(p, REID__SQUEEZE, depthwise->sums, name);
    squeeze->ih = depthwise->oh, squeeze->iw = depthwise->ow, squeeze->oh = squeeze->ow = 1, squeeze->oc = mid;
    squeeze->hidden = reid__max(1, ic / 4), squeeze->out = reid__add_buffer(p, 1, 1, mid);

    x = reid__add_conv(p, REID__CONV, x, out, 1, 1, REID__LINEAR_ACT, block, names[part + 2], bns[part + 2]);
    reid__last_op(p)->scale = squeeze->out;
    if (stride == 1 && ic == out) reid__last_op(p)->residual = input;
    return x;
}

/* expand k x k -> project 1x1, or a single convolution whose block adds its input behind the activation function. */
static int reid__fused_mbconv(reid__plan *p, int x, int out, const reid__stage *s, int stride, const char *block) {
    int ic = p->buffers[x].channels, single = s->fused == 1 && s->expand == 1, adds = stride == 1 && ic == out;
    int mid = single ? out : reid__scale_channels(ic, s->expand);
    int y = reid__add_conv(p, REID__CONV, x, mid, s->kernel, stride, REID__SILU, block, "0.0", "0.1");
    if (!single) y = reid__add_conv(p, REID__CONV, y, out, 1, 1, REID__LINEAR_ACT, block, "1.0", "1.1");
    else if (adds) y = reid__add_instance(p, y, 0, block, "add");
    if (adds) reid__last_op(p)->residual = x;
    return y;
}

static void reid__expand_efficientnet(reid__plan *p) {
    double width = p->arch.width;
    int stem = reid__efficientnets[p->arch.stages].stem, head = reid__efficientnets[p->arch.stages].head, i = 1;
    char block[40];
    int x = reid__add_image(p, 3, 2);
    x = reid__add_conv(p, REID__CONV, x, reid__scale_channels(stem, width), 3, 2, REID__SILU, "features.0.", "0", "1");
    for (const reid__stage *s = reid__efficientnets[p->arch.stages].stage; s->blocks; s++, i++) {
        int out = reid__scale_channels(s->out, width), blocks = (int)ceil(s->blocks * p->arch.depth);
        for (int k = 0; k < blocks; k++) {
            snprintf(block, sizeof block, "features.%d.%d.block.", i, k);
            if (s->fused) x = reid__fused_mbconv(p, x, out, s, k ? 1 : s->stride, block);
            else x = reid__mbconv(p, x, out, s->expand, s->kernel, k ? 1 : s->stride, block);
        }
    }
    snprintf(block, sizeof block, "features.%d.", i);
    x = reid__add_conv(p, REID__CONV, x, reid__scale_channels(head, width), 1, 1, REID__SILU, block, "0", "1");
    reid__add_last_pool(p, x);
}

static void reid__lifetimes(reid__plan *p) {
    for (int i = 0; i < p->buffer_count; i++) p->buffers[i].first = p->op_count, p->buffers[i].last = -1;
    p->buffers[p->ops[0].in].first = -1; /* the image is filled in before the first operation */
    for (int i = 0; i < p->op_count; i++) {
        const reid__op *op = &p->ops[i];
        const int touched[7] = {op->in, op->out, op->residual, op->scale, op->sums, op->key, op->value};
        for (int j = 0; j < 7; j++) {
            if (touched[j] == REID__NONE) continue;
            reid__buffer *b = &p->buffers[touched[j]];
            b->first = reid__min(b->first, i), b->last = reid__max(b->last, i + op->fused);
        }
    }
    p->buffers[p->embedding].last = p->op_count;
    for (int i = 0; i < p->buffer_count; i++) p->buffers[i].late = p->buffers[i].last >= p->split;
}

/* Gives every buffer of `size` its place in one arena, and returns the arena's size. taken[i]: the earlier buffer whose
   place buffer i takes over, or REID__NONE; NULL: every buffer has its own place. That is the lowest at which it meets
   none that lives at the same time. Every gap starts at the end of a placed buffer or at zero: only these are tried. */
static size_t reid__place_buffers(const reid__buffer *buffers, int count, const size_t *size, const int *taken,
                                  size_t *offset) {
    size_t end = 0;
    for (int id = 0; id < count; id++) {
        const reid__buffer *b = &buffers[id];
        int from = taken ? taken[id] : REID__NONE;
        offset[id] = from == REID__NONE ? SIZE_MAX : offset[from];
        for (int candidate = -1; candidate < id && from == REID__NONE; candidate++) {
            size_t at = candidate < 0 ? 0 : offset[candidate] + size[candidate];
            int free_here = at < offset[id];
            for (int i = 0; free_here && i < id; i++) {
                int together = b->first <= buffers[i].last && buffers[i].first <= b->last;
                if (together && at < offset[i] + size[i] && offset[i] < at + size[id]) free_here = 0;
            }
            if (free_here) offset[id] = at;
        }
        if (offset[id] + size[id] > end) end = offset[id] + size[id];
    }
    return end;
}

/* Runs of neighbouring inputs under a kernel, and their length. The stem has no padded channels: a row is one run. */
static int reid__runs(const reid__op *op, int stem) { return stem ? op->kh : op->kh * op->kw; }
static int reid__run_length(const reid__op *op, int stem) { return stem ? op->kw * op->ic : op->ic; }

#define REID__STEP_BYTES 64 /* inputs of a run in bf16 or INT8 are padded to a multiple of this, one step of AMX */

/* Pads a run's length, in values, to a multiple of REID__STEP_BYTES. */
static int reid__pad_run(int length, reid__element element) {
    return reid__round_up(length, REID__STEP_BYTES / 4 * reid__per_word(element));
}

/* Words that a column of a bf16 or INT8 matrix takes. */
static size_t reid__narrow_depth(const reid__op *op, int stem) {
    int run = reid__pad_run(reid__run_length(op, stem), op->element) / reid__per_word(op->element);
    return (size_t)reid__runs(op, stem) * (size_t)run;
}

#define REID__POINTS 36 /* of Winograd's transform: 6 x 6 */
#define REID__TILES 4   /* of Winograd, multiplied together */

/* Numbers that the CPU keeps for each pair of an input and an output channel. */
static int reid__taps(const reid__op *op) { return op->winograd ? REID__POINTS / 2 : op->kh * op->kw; }

static int reid__winograd_tiles(const reid__op *op) { return reid__ceil_div(op->oh, 4) * reid__ceil_div(op->ow, 4); }

/* Winograd's F(4x4, 3x3) takes 36 multiplications for 16 pixels instead of 144, but its weights, kept half transformed,
   are twice as large. It pays if it saves at least half of the multiplications, counting tiles that extend past the
   edge, and if one image has enough tiles to make up for the weights, which are read again for every batch: measured
   with 32 to 512 channels, in whole panels. The batch size is not considered, because it must not change the bits. */
static int reid__winograd_pays(const reid__plan *p, const reid__op *op) {
    int tiles = reid__winograd_tiles(op);
    if (op->kind != REID__CONV || op->kh != 3 || op->kw != 3 || op->stride != 1) return 0;
    if (op->residual != REID__NONE || op->scale != REID__NONE || p->buffers[op->in].c == 3) return 0;
    return reid__min(op->ic, op->oc) >= 32 && reid__max(op->ic, op->oc) <= 512 && op->oc % (2 * REID__LANES) == 0 &&
           tiles >= REID__TILES && 8 * tiles <= op->oh * op->ow;
}

/* The only operation that reads this one's output, as its input or residual; NULL if there are several, or none. */
static const reid__op *reid__only_user(const reid__plan *p, const reid__op *a) {
    const reid__op *found = NULL;
    int uses = 0;
    for (const reid__op *b = p->ops; b < p->ops + p->op_count; b++) {
        int takes = (b->in == a->out) + (b->residual == a->out);
        if (takes) found = b, uses += takes;
    }
    return uses == 1 ? found : NULL;
}

#define REID__MAX_NEEDED 6

static reid__needed_tensor *reid__needed_add(reid__needed_tensor *want, const char *prefix, const char *suffix,
                                             int ndim, int d0, int d1, int d2, int d3) {
    snprintf(want->name, sizeof want->name, "%s%s", prefix, suffix);
    want->ndim = ndim;
    want->shape[0] = (size_t)d0, want->shape[1] = (size_t)d1, want->shape[2] = (size_t)d2, want->shape[3] = (size_t)d3;
    return want + 1;
}

/* The tensors of one operation, in the order of the fingerprint. Returns how many, at most REID__MAX_NEEDED. */
static int reid__needed_tensors(const reid__op *op, reid__needed_tensor *want) {
    static const char *const norm[] = {".weight", ".bias", ".running_mean", ".running_var"};
    reid__needed_tensor *w = want;
    if (op->kind == REID__CONV) w = reid__needed_add(w, op->name, ".weight", 4, op->oc, op->ic, op->kh, op->kw);
    if (op->kind == REID__DEPTHWISE) w = reid__needed_add(w, op->name, ".weight", 4, op->oc, 1, op->kh, op->kw);
    if (op->kind == REID__LINEAR)
        w = reid__needed_add(w, op->name, ".weight", 2, op->oc, op->ic * op->kh * op->kw, 0, 0);
    if (op->kind == REID__SQUEEZE) {
        w = reid__needed_add(w, op->name, ".fc1.weight", 4, op->hidden, op->ic, 1, 1);
        w = reid__needed_add(w, op->name, ".fc1.bias", 1, op->hidden, 0, 0, 0);
        w = reid__needed_add(w, op->name, ".fc2.weight", 4, op->oc, op->hidden, 1, 1);
        w = reid__needed_add(w, op->name, ".fc2.bias", 1, op->oc, 0, 0, 0);
    }
    if (op->normed) w = reid__needed_add(w, op->name, ".weight", 1, op->normed, 0, 0, 0);
    if (op->biased || op->normed)
        w = reid__needed_add(w, op->name, ".bias", 1, op->normed ? op->normed : op->oc, 0, 0, 0);
    if (op->gem) w = reid__needed_add(w, op->name, ".p", 1, 1, 0, 0, 0);
    for (int i = 0; i < 4 && op->bn[0]; i++) w = reid__needed_add(w, op->bn, norm[i], 1, op->oc - op->bn_from, 0, 0, 0);
    return (int)(w - want);
}

static size_t reid__whole_vectors(size_t floats) { return (floats + REID__LANES - 1) & ~(size_t)(REID__LANES - 1); }

/* The buffer over which an operation writes its outputs, value by value, because no later operation reads it: its
   residual, or the input of instance norm; else REID__NONE. */
static int reid__in_place(const reid__plan *p, int index) {
    const reid__op *op = &p->ops[index];
    int from = op->kind == REID__INSTANCE ? op->in : op->residual;
    if (from == REID__NONE) return REID__NONE;
    const reid__buffer *over = &p->buffers[from], *out = &p->buffers[op->out];
    return over->last == index && from < op->out && over->late == out->late && over->floats == out->floats ? from
                                                                                                           : REID__NONE;
}

/* Places the buffers of one of the two arenas. Returns its floats per image. */
static size_t reid__assign_arena(reid__plan *p, int late) {
    size_t size[REID__MAX_BUFFERS], offset[REID__MAX_BUFFERS];
    int taken[REID__MAX_BUFFERS];
    memset(size, 0, sizeof size);
    for (int i = 0; i < REID__MAX_BUFFERS; i++) taken[i] = REID__NONE;
    for (int i = 0; i < p->buffer_count; i++)
        if (p->buffers[i].late == late) size[i] = reid__whole_vectors(p->buffers[i].floats);
    for (int i = 0; i < p->op_count; i++) {
        if (p->ops[i].fused) size[p->ops[i].out] = 0;
        taken[p->ops[i].out] = reid__in_place(p, i);
    }
    size_t floats = reid__place_buffers(p->buffers, p->buffer_count, size, taken, offset);
    for (int i = 0; i < p->buffer_count; i++)
        if (p->buffers[i].late == late) p->buffers[i].offset = offset[i];
    return floats;
}

/* Whether an operation is a convolution that writes INT8 bytes, and so has a range. A max pool has its input's. */
static int reid__makes_bytes(const reid__buffer *buffers, const reid__op *op) {
    return op->kind == REID__CONV && buffers[op->out].bytes == 1;
}

static void reid__assign_offsets(reid__plan *p) {
    p->early_floats = reid__assign_arena(p, 0), p->late_floats = reid__assign_arena(p, 1);
    p->carried_floats = p->weight_floats = 0;
    for (const reid__buffer *b = p->buffers; b < p->buffers + p->buffer_count; b++) {
        size_t end = b->offset + reid__whole_vectors(b->floats);
        if (b->late && b->first < p->split && end > p->carried_floats) p->carried_floats = end;
    }
    for (int i = 0; i < p->op_count; i++) {
        reid__op *op = &p->ops[i];
        size_t taps = (size_t)reid__taps(op), at = p->weight_floats;
        reid__needed_tensor wants[REID__MAX_NEEDED];
        if (reid__needed_tensors(op, wants) == 0) continue;
        int n = op->kind == REID__SQUEEZE ? op->hidden : op->oc;
        int each = op->kind == REID__DEPTHWISE || op->kind == REID__POOL || op->kind == REID__INSTANCE;
        size_t k = each ? taps : taps * (size_t)op->ic;
        if (reid__is_narrow(op)) k = reid__narrow_depth(op, reid__is_stem(p, op));
        op->weight = at, at += k * (size_t)reid__padded(n); /* K rows of output channels */
        op->bias = at, at += (size_t)reid__padded(n);
        if (reid__makes_bytes(p->buffers, op)) op->scales = at, at += (size_t)reid__padded(n);
        if (op->kind == REID__POOL) op->exponent = at, at += REID__LANES;
        if (op->kind == REID__SQUEEZE) {
            op->weight2 = at, at += (size_t)op->hidden * (size_t)reid__padded(op->oc);
            op->bias2 = at, at += (size_t)reid__padded(op->oc);
        }
        p->weight_floats = at;
    }
}

/* Expands a network for one input size to operations, whose buffers and weights have no places yet. head is resolved:
   NONE, FILE or SEEDED. If projection is NULL, a head has the default one. Returns 0 if the input is too small. */
static int reid__plan_expand(reid__plan *p, const reid__arch *arch, int height, int width, int last_stride,
                             reid_head head, const reid__projection *projection) {
    int seeded = head == REID_HEAD_SEEDED;
    reid__arch own = *arch; /* which may be p->arch */
    memset(p, 0, sizeof *p);
    arch = &p->arch;
    p->arch = own, p->height = height, p->width = width, p->last_stride = last_stride;
    if (arch->family == REID__RESNET) reid__expand_resnet(p, seeded);
    else reid__expand_efficientnet(p);
    if (head != REID_HEAD_NONE && reid__may_project(arch)) {
        p->projection.width = projection ? projection->width : REID__PROJECTION_DIM;
        reid__add_head(p, p->projection.width, "projection", seeded);
        if (projection) reid__last_op(p)->act = p->projection.act = projection->act;
    }
    if (arch->family == REID__EFFICIENTNET) p->split = p->op_count; /* activations outweigh weights everywhere */
    reid__op *op = reid__add_op(p, REID__NORMALISE, p->embedding, "embedding");
    op->out = p->embedding, op->oh = op->ow = 1, op->oc = p->dim;
    return !p->overflow;
}

static int reid__plan_build(reid__plan *p, const reid__arch *arch, int height, int width, int last_stride,
                            reid_head head, const reid__projection *projection) {
    if (!reid__plan_expand(p, arch, height, width, last_stride, head, projection)) return 0;
    for (reid__op *op = p->ops; op < p->ops + p->op_count; op++) {
        op->winograd = reid__winograd_pays(p, op);
        op->fused = op->kind == REID__CONV && op->residual == REID__NONE && op->scale == REID__NONE &&
                    op[1].kind == REID__DEPTHWISE && reid__only_user(p, op) == op + 1;
    }
    reid__lifetimes(p);
    reid__assign_offsets(p);
    return 1;
}

/* Changes the plan to compute convolutions in bf16 or INT8, with activations and their weights stored in it. Sums over
   pixels, factors, pooled vectors and linear layers stay FP32. The input image of INT8 is INT16. */
static void reid__plan_narrow(reid__plan *p, reid__element element) {
    int stem = reid__is_stem(p, &p->ops[0]);
    for (int i = 0; i < p->buffer_count; i++) p->buffers[i].bytes = 4 / reid__per_word(element);
    for (const reid__op *op = p->ops; op < p->ops + p->op_count; op++) {
        int reads = op->kind == REID__LINEAR || op->kind == REID__SQUEEZE;
        if (reads || op->kind == REID__NONLOCAL) p->buffers[op->in].bytes = 4;
        if (op->kind == REID__NONLOCAL) p->buffers[op->key].bytes = p->buffers[op->value].bytes = 4;
        if (reads || op->kind == REID__POOL) p->buffers[op->out].bytes = 4;
        if (op->sums != REID__NONE) p->buffers[op->sums].bytes = 4;
        if (op->scale != REID__NONE) p->buffers[op->scale].bytes = 4;
    }
    if (stem) p->buffers[p->ops[0].in].bytes = 2;
    if (stem) p->buffers[p->ops[0].in].floats += 2 * REID__LANES; /* its last run's padding */
    for (int i = 0; i < p->buffer_count; i++) p->buffers[i].floats /= 4 / (size_t)p->buffers[i].bytes;
    for (reid__op *op = p->ops; op < p->ops + p->op_count; op++) {
        reid__buffer *out = &p->buffers[op->out];
        int narrow = op->kind == REID__CONV && p->buffers[op->in].bytes < 4;
        op->element = narrow ? element : REID__ELEMENT_FP32, op->winograd = 0;
        if (stem && op == p->ops && element == REID__ELEMENT_INT8) op->element = REID__ELEMENT_INT16;
        out->is_signed = out->bytes == 1 && op->act == REID__LINEAR_ACT && narrow;
    }
    reid__assign_offsets(p);
}

/* INT8: the value that a byte of 1 represents. */
static double reid__byte_step(const reid__buffer *b) { return (double)b->range / (b->is_signed ? 127 : 255); }

/* INT8: one step of the residual in steps of the output. */
static float reid__residual_scale(const reid__buffer *buffers, const reid__op *op) {
    return (float)(reid__byte_step(&buffers[op->residual]) / reid__byte_step(&buffers[op->out]));
}

static int64_t reid__op_macs(const reid__op *op) {
    int64_t pixels = (int64_t)op->oh * op->ow, taps = (int64_t)op->kh * op->kw;
    switch (op->kind) {
    case REID__CONV:
    case REID__LINEAR: return pixels * op->oc * taps * op->ic;
    case REID__DEPTHWISE: return pixels * op->oc * taps;
    case REID__SQUEEZE: return (int64_t)2 * op->ic * op->hidden;
    case REID__NONLOCAL: return pixels * 2 * op->oc * op->ic;
    default: return 0;
    }
}

/* Learned numbers: weights, biases, BN scale and shift; running statistics are not counted. */
static int64_t reid__op_parameters(const reid__op *op) {
    reid__needed_tensor wants[REID__MAX_NEEDED];
    int64_t sum = 0;
    int n = reid__needed_tensors(op, wants);
    int learned = op->kind == REID__SQUEEZE ? 4 : op->kind == REID__POOL ? op->gem + 2 : 3 + op->biased;
    for (int i = 0; i < reid__min(n, learned); i++) {
        int64_t count = 1;
        for (int d = 0; d < wants[i].ndim; d++) count *= (int64_t)wants[i].shape[d];
        sum += count;
    }
    return sum;
}

/* Activations in and out per image plus the operation's weights once, FP32. */
static int64_t reid__op_bytes(const reid__plan *p, const reid__op *op) {
    const int touched[6] = {op->in, op->residual, op->scale, op->sums, op->key, op->value};
    const reid__buffer *b = p->buffers;
    int64_t values = (int64_t)op->oh * op->ow * reid__padded(op->oc) + reid__op_parameters(op);
    for (int i = 0; i < 6; i++)
        if (touched[i] != REID__NONE) values += (int64_t)b[touched[i]].floats * 4 / b[touched[i]].bytes;
    return 4 * values;
}

/* --------------------------------------------------------------------------------------------------------------------
   >>threads
   A fixed team per lane. The caller is member 0; the others spin for a moment between two jobs (an operation takes
   microseconds) and then sleep. Work is cut by index alone: which thread does what never changes a result. */
#define REID__SPINS 2000
#define REID__STACK (512 * 1024) /* bytes: musl's default would be 128 KiB */

#if defined(__x86_64__)
#define REID__PAUSE() _mm_pause()
#elif defined(__aarch64__)
#define REID__PAUSE() __asm__ volatile("isb" ::: "memory") /* about as long; "yield" does nothing on most CPUs */
#else
#define REID__PAUSE() sched_yield()
#endif

typedef struct reid__member { struct reid__team *team; int index; pthread_t thread; } reid__member;

typedef struct reid__team {
    int size;                /* threads, including the caller */
    int started;             /* our own threads: size - 1, or 0 with a caller's pool */
    reid__member *members;   /* [size] */
    reid_parallel_fn parallel_fn;
    void *parallel_user;
    pthread_mutex_t mutex;   /* only for going to sleep and waking up */
    pthread_cond_t wake;
    int sleeping, stop, spins;
    reid_task_fn fn;         /* the job: fn(task, i) for i in 0 … count-1 */
    void *task;
    int count;
    unsigned generation;     /* incremented for every job */
    int pending;             /* members that have not finished the job */
} reid__team;

static void reid__team_share(reid__team *team, int index) {
    for (int i = index; i < team->count; i += team->size) team->fn(team->task, i);
}

/* Blocks until the generation differs from `seen`. The sleeper announces itself before it looks again, the waker
   changes the generation before it looks for sleepers, both sequentially consistent: one always sees the other. */
static unsigned reid__team_wait(reid__team *team, unsigned seen) {
    unsigned now;
    for (int i = 0; i < team->spins; i++) {
        now = __atomic_load_n(&team->generation, __ATOMIC_ACQUIRE);
        if (now != seen) return now;
        REID__PAUSE();
    }
    REID__LOCK(&team->mutex);
    __atomic_add_fetch(&team->sleeping, 1, __ATOMIC_SEQ_CST);
    while ((now = __atomic_load_n(&team->generation, __ATOMIC_SEQ_CST)) == seen)
        pthread_cond_wait(&team->wake, &team->mutex);
    __atomic_sub_fetch(&team->sleeping, 1, __ATOMIC_SEQ_CST);
    return now;
}

static void reid__team_signal(reid__team *team) {
    __atomic_add_fetch(&team->generation, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&team->sleeping, __ATOMIC_SEQ_CST) == 0) return;
    REID__LOCK(&team->mutex);
    pthread_cond_broadcast(&team->wake);
}

static void *reid__member_main(void *arg) {
    reid__member *me = (reid__member *)arg;
    reid__team *team = me->team;
    unsigned seen = 0;
    reid__enter();
    for (;;) {
        seen = reid__team_wait(team, seen);
        if (__atomic_load_n(&team->stop, __ATOMIC_ACQUIRE)) return NULL;
        REID_ASSERT(me->index < team->size && __atomic_load_n(&team->pending, __ATOMIC_RELAXED) > 0);
        reid__team_share(team, me->index);
        __atomic_sub_fetch(&team->pending, 1, __ATOMIC_RELEASE);
    }
}

/* Runs a task with our floating-point settings on a thread that is not ours. */
static void reid__foreign_task(void *arg, int index) {
    reid__team *team = (reid__team *)arg;
    REID__ENTER();
    team->fn(team->task, index);
}

/* Calls fn(task, i) for every i in 0 … count-1, on the whole team; returns when all are done. */
static void reid__parallel(reid__team *team, reid_task_fn fn, void *task, int count) {
    REID_ASSERT(__atomic_load_n(&team->pending, __ATOMIC_RELAXED) == 0); /* one job at a time */
    team->fn = fn, team->task = task, team->count = count;
    if (team->parallel_fn && count > 1) {
        team->parallel_fn(reid__foreign_task, team, count, team->parallel_user);
        return;
    }
    if (team->started == 0 || count == 1) {
        for (int i = 0; i < count; i++) fn(task, i);
        return;
    }
    __atomic_store_n(&team->pending, team->started, __ATOMIC_RELEASE);
    reid__team_signal(team);
    reid__team_share(team, 0);
    for (int i = 0; __atomic_load_n(&team->pending, __ATOMIC_ACQUIRE) > 0; i++) {
        if (i < team->spins) REID__PAUSE();
        else sched_yield();
    }
}

/* Starts a thread with all signals blocked: signals are the program's business, not its library's. */
static int reid__thread_start(pthread_t *thread, size_t stack, void *(*main_fn)(void *), void *arg) {
#ifndef _WIN32
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
#endif
    pthread_attr_t attr;
    int has_attr = pthread_attr_init(&attr) == 0, sized = has_attr && pthread_attr_setstacksize(&attr, stack) == 0;
    int started = pthread_create(thread, sized ? &attr : NULL, main_fn, arg) == 0;
    if (has_attr) pthread_attr_destroy(&attr);
#ifndef _WIN32
    pthread_sigmask(SIG_SETMASK, &before, NULL);
#endif
    return started;
}

/* Starts size - 1 threads, or fewer, and a smaller team, if the system refuses some. `mem` owns the memory. */
static reid_result reid__team_start(reid__team *team, reid__mem *mem, int size, const reid_desc *desc) {
    memset(team, 0, sizeof *team);
    reid__member *members = (reid__member *)reid__alloc(mem, (size_t)size * sizeof *members);
    if (!members) return REID_ERR_OUT_OF_MEMORY;
    team->size = 1, team->parallel_fn = desc->parallel_fn, team->parallel_user = desc->parallel_user;
    team->spins = size > reid__cpu_count() ? 1 : REID__SPINS; /* more threads than CPUs: spinning only steals time */
    if (pthread_mutex_init(&team->mutex, NULL) != 0) return REID_ERR_SYSTEM;
    if (pthread_cond_init(&team->wake, NULL) != 0) {
        pthread_mutex_destroy(&team->mutex);
        return REID_ERR_SYSTEM;
    }
    team->members = members; /* from here on reid__team_stop has work to do */
    /* Members read team->size only after the first job is signalled, when it is final. */
    for (int i = 1; i < size && !team->parallel_fn; i++) {
        reid__member *member = &members[i];
        member->team = team, member->index = i;
        if (!reid__thread_start(&member->thread, REID__STACK, reid__member_main, member)) break;
        team->started++;
    }
    team->size = team->parallel_fn ? size : team->started + 1;
    return REID_OK;
}

/* `forked`: the threads are the parent's, so none is joined. */
static void reid__team_stop(reid__team *team, int forked) {
    if (!team->members || forked) return;
    __atomic_store_n(&team->stop, 1, __ATOMIC_RELEASE);
    reid__team_signal(team);
    for (int i = 1; i <= team->started; i++) pthread_join(team->members[i].thread, NULL);
    pthread_cond_destroy(&team->wake);
    pthread_mutex_destroy(&team->mutex);
}

/* --------------------------------------------------------------------------------------------------------------------
   >>isa
   What an instruction set provides. >>kernels has the inner loops once; they are compiled here for each instruction
   set, and each pass defines a table of functions, reid__kernels. reid__kernels_choose picks one at run time. */
/* One tile: some pixels times one panel. Inputs, residual and outputs have the convolution's reid__element type. */
typedef struct reid__tile {
    /* Inputs. The table `a` has a pointer for each row and kernel position; or row r's inputs of run `tap` are at
       matrix + tap_at[tap] + r * row. AMX, which supports only the latter, finds step i of a run i * step further. */
    const void *const *a;      /* [rows][taps]; used if `matrix` is NULL */
    const char *matrix;        /* the inputs of row 0, or NULL */
    const ptrdiff_t *tap_at;   /* [taps]: bytes from a row's first run to each of its runs */
    ptrdiff_t row, step;       /* bytes from row to row, and from step to step */
    int taps, kc;              /* a row has `taps` runs of kc inputs, so that K = taps * kc */
    int grid;                  /* not 0: the rows are places in lines of this length, see reid__copy_grid; the last
                                  place of a line and the last line of an image are not pixels, and not stored */
    int places, x;             /* the places of an image; the place of row 0 */

    /* Weights of the panel. */
    const float *b;            /* [K][panel width]; in bf16 and INT8 words of weights, see reid__pack_narrow */
    const float *bias;         /* [panel width] */
    const float *scale;        /* INT8: [panel width]; steps of the output per unit of the sum */
    const float *factors;      /* NULL, or [K]: each row of weights is multiplied by its factor before it is used */
    float *scaled;             /* memory for the weights times factors */
    int half;                  /* 1: the panel has half of the usual columns */

    /* Output. */
    void *out;                 /* the first pixel's outputs */
    ptrdiff_t out_stride;      /* bytes from pixel to pixel */
    const void *residual;      /* NULL, or the first pixel's values that are added before the activation */
    ptrdiff_t residual_stride; /* bytes from pixel to pixel */
    float residual_scale;      /* INT8: steps of the output per step of the residual */
    int is_signed;             /* INT8: outputs are -128 ... 127 instead of 0 ... 255 */
    int added;                 /* INT8: 0: no residual; 1: of bytes 0 ... 255; 2: of -128 ... 127 */
    reid__act act;             /* the activation */
    int wide;                  /* 1: the output is FP32, also of bf16 */

    /* Prefetching. */
    uintptr_t ahead;           /* the address to fetch next; a number, because it may be past an array's end */
    int fetch_divisor;         /* for each byte that the tile reads of b it fetches 1 / fetch_divisor bytes */
    int panel_stays;           /* 1: fetches nothing, because the previous block left the next panel in the cache */
    ptrdiff_t next_out;        /* not 0: bytes from a pixel's outputs to the next block's, and between residuals */
    ptrdiff_t next_piece;      /* bytes that each pixel fetches there */

    int *in_use;               /* whether this thread's AMX registers are set up */
} reid__tile;

/* Address of the inputs of one row and kernel position. */
static const void *reid__run_at(const reid__tile *t, ptrdiff_t r, int tap) {
    return t->matrix ? t->matrix + t->tap_at[tap] + r * t->row : t->a[r * t->taps + tap];
}

/* Returns how many of a tile's rows from *r on are adjacent pixels, perhaps none. Moves *r and *x to the row after
   them, and past the place or the line of an image that is not a pixel, if one follows. */
static int reid__next_run(const reid__tile *t, int rows, int *r, int *x) {
    int run = rows - *r, passed = run, last = t->places - t->grid;
    if (t->grid) {
        run = *x < last ? reid__min(run, t->grid - 1 - *x % t->grid) : 0;
        passed = *x < last ? run + 1 : t->places - *x, *x = (*x + passed) % t->places;
    }
    *r += passed;
    return run;
}

/* Computes tiles of 1 … mr rows. */
typedef struct reid__gemm {
    int mr;
    void (*tile)(const reid__tile *t, int rows);
    void (*gather)(const void *const *a, int rows, int taps, int kc, void *out); /* NULL: tiles read t->a */
    void (*release)(int *in_use); /* releases the registers of a thread */
} reid__gemm;

/* Some of Winograd's tiles times one panel, in three points of a row of six: the first three, or the last three. */
typedef struct reid__points {
    const float *in;      /* [c / W][3][REID__TILES][W], transformed; W: a vector's floats */
    const float *weights; /* [c][3][nr]: filters transformed along columns; along rows, too, if `made` */
    float *out;           /* [rows][REID__POINTS][nr], at the first point */
    int c;
    int last;             /* 1: the last three points of the row; 0: the first three */
    int made;             /* 1: winograd_make has transformed the weights along rows, to the three points */
    uintptr_t ahead;      /* the address of weights of the next row of points; it may be past an array's end */
    int lines;            /* cache lines fetched from there for each channel */
} reid__points;

/* Floats from three points' transformed inputs, reid__points.in, to the next three. The gap of a cache line keeps the
   distance from being a power of two, at which all of them would share one set of the cache. */
static ptrdiff_t reid__three_points(int c) { return 3 * REID__TILES * (ptrdiff_t)c + REID__LANES; }

#define REID__MAX_KERNEL 5 /* rows of a depthwise window */
#define REID__SHORT_LINE 8 /* lines of fewer pixels are computed several at a time, */
#define REID__LINES_PIXELS 24 /* so that together they have at least this many pixels */
#define REID__FETCH 4 /* steps after which a tile fetches */
#define REID__FEW_TILES 6 /* up to this many tiles of a panel fetch the next panel into L1; more fetch it into L2 */
#define REID__DOTS 4          /* inner products that are computed together, */
#define REID__DOTS_AHEAD 1024 /* and floats from those in use to those being fetched for them */

typedef struct reid__kernels {
    char name[16];
    int nr;                                 /* columns of a panel */
    reid__element element;                  /* the type of the operations that `narrow` computes */
    reid__gemm fp32, int16, narrow;         /* see reid__gemm_for */
    void (*load)(const void *in, int c, int pixels, int width, float *out);
    void (*store)(const float *in, void *out, int count); /* as bf16; or the image of INT8, whole numbers, as INT16 */
    void (*depthwise)(const reid__op *op, int c, int width, const float *const *rows, const float *weight,
                      const float *bias, void *out, float *sums);
    void (*maxpool)(const reid__op *op, int c, const void *in, int oy, void *out);
    void (*pool)(const reid__op *op, int c, int from, int to, const void *in, float step, int bin,
                 const float *weights, float *out);
    void (*instance)(const reid__op *op, int c, int from, int to, const void *in, const void *residual,
                     const float *weights, void *out);
    void (*nonlocal)(const float *query, const float *key, const float *value, int pixels, int c, int at, float *square,
                     float *out);
    void (*squeeze)(const reid__op *op, int c, const float *sums, const float *weights, float *scratch, float *out);
    void (*scale)(const void *in, const float *factors, void *out, int c);
    void (*scale_rows)(const float *in, const float *factors, int rows, int width, float *out);
    void (*winograd_filters)(const float *filters, int ic, float *out);
    void (*winograd_in)(const float *const *in, int c, int tile, float *out);
    void (*winograd_make)(const float *weights, int c, float *out); /* or NULL */
    void (*winograd_product)(const reid__points *t, int rows);
    void (*winograd_out)(const float *in, const float *bias, float *out, ptrdiff_t row, ptrdiff_t pixel, int rows,
                         int columns, reid__act act);
    reid__lines lines;
    void (*widen)(const uint16_t *in, float *out, size_t count);
    void (*dots)(const float *row, int dim, const float *queries, int n, float *out);
    void (*maxima)(const float *in, int rows, int width, float *columns, float *lines);
} reid__kernels;

static const reid__gemm *reid__gemm_for(const reid__kernels *k, const reid__op *op) {
    if (!reid__is_narrow(op)) return &k->fp32;
    return op->element == REID__ELEMENT_INT16 ? &k->int16 : &k->narrow;
}

#define REID__JOIN2(a, b) a##_##b
#define REID__JOIN(a, b) REID__JOIN2(a, b)
#define REID__F(name) REID__JOIN(reid__##name, REID__PASS)
#define REID__ISA(name) REID__JOIN(reid__##name, REID__BASE)
#define REID__INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define REID__UNROLLED /* with a check at every access, unrolling costs clang minutes and gigabytes */
#else
#define REID__UNROLLED _Pragma("clang loop unroll(full)")
#endif
#else
#define REID__UNROLLED _Pragma("GCC unroll 16")
#endif
#define REID__EACH(i, count) REID__UNROLL for (int i = 0; i < (count); i++)

#ifndef REID_SELF
#define REID_SELF "reid.h" /* this file, which includes itself once per instruction set */
#endif

/* The bits of 2^(i/8) for i = 0 ... 7, minus i << 20; repeated for vectors of 16: see exp2 of >>kernels. */
static const uint32_t reid__eighths[16] = {
    0x3f800000, 0x3f7b95c2, 0x3f7837f0, 0x3f75fed7, 0x3f7504f3, 0x3f75672a, 0x3f7744fd, 0x3f7ac0c7,
    0x3f800000, 0x3f7b95c2, 0x3f7837f0, 0x3f75fed7, 0x3f7504f3, 0x3f75672a, 0x3f7744fd, 0x3f7ac0c7,
};

/* Loads two bf16 inputs or four bytes as one word, for a vector of such words. */
static inline int reid__group(const void *p) {
    int all;
    memcpy(&all, p, 4);
    return all;
}

/* INT8: the number stored in a byte. */
static inline float reid__from_byte(uint8_t byte, int is_signed) { return is_signed ? (int8_t)byte : byte; }

/* Adds the inner product of four bytes 0 ... 255 and four bytes -128 ... 127. */
static inline int32_t reid__dot_scalar_int8(int32_t a, int32_t b, int32_t sum) {
    for (int i = 0; i < 32; i += 8) sum += (int32_t)((uint32_t)a >> i & 255) * (int8_t)((uint32_t)b >> i & 255);
    return sum;
}

/* Adds the inner product of two pairs of INT16. */
static inline int32_t reid__dot_int16_scalar_int8(int32_t a, int32_t b, int32_t sum) {
    return sum + ((int16_t)a * (int16_t)b + (int16_t)(a >> 16) * (int16_t)(b >> 16));
}

/* Added to a number of -2^22 ... 2^22 it leaves the number, rounded to nearest even, in the low bits of the float. */
#define REID__MAGIC 12582912.0f /* 1.5 * 2^23 */

static inline float reid__half(uint16_t half) { return reid__float(reid__half_bits(half)); }

/* FP32 to half precision, rounded to nearest even. */
static uint16_t reid__to_half(float x) {
    uint32_t bits = reid__bits(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size >= 0x7f800000) return (uint16_t)(sign | 0x7c00 | (size > 0x7f800000 ? 0x200 : 0));
    if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and more */
    if (size < 0x38800000) /* below 2^-14 a unit is 2^-24, the last place of 0.5 */
        return (uint16_t)(sign | (reid__bits(reid__float(size) + 0.5f) - 0x3f000000));
    size += 0xfff + (size >> 13 & 1);
    return (uint16_t)(sign | (size - 0x38000000) >> 13);
}

/* The macros of a pass of >>kernels. They are defined before REID_SELF is included, which undefines them after the
   pass, or after the last pass of its instruction set. "vectors": avx2, avx512 and neon; "narrow": bf16 and INT8.

       REID__PASS            all       the end of the names that the pass defines, reid__tile_avx2
       REID__BASE            all       the FP32 pass of the same vectors, whose functions are shared
       REID__PREFIX          all       the beginning of the intrinsics' names, _mm256
       REID__V, REID__I      all       a vector of floats, and of int32_t
       REID__AS_INT, AS_FLOAT  all     the bits of one as the other
       REID__W               all       floats in a vector; 4 is NEON
       REID__UNROLL          all       the pragma before loops that must be unrolled (REID__EACH), or nothing
       REID__BF16 or INT8    narrow    the type of the pass; neither: FP32
       REID__INPUT           narrow    a word of inputs in every lane (NEON too)
       REID__AMX, AMX_DOT    narrow    if AMX has it: the name of its table; `dot` for tiles
      REID__ISA calls those of an instruction set, whose names end in REID__BASE, and which stay defined:
       mr, rows              all       most rows of a tile, and X(1) ... X(mr)
       point_vectors         all       vectors of output channels in a step of Winograd's product; 1: for few registers,
                                       with weights transformed beforehand
       in_register           all       keeps a vector in a register
       clamp                 all       x clamped to -limit and limit; a NaN stays a NaN
       halves                all       a vector of floats from half precision
       lookup                all       numbers of a table of 8, repeated for vectors of 16, by the low bits of integers
       iload, istore, octets, iblocks, irepeat, ispread, round
                             vectors   integer loads, stores and shuffles, most of them for resizing
      REID__F calls those of a pass:
       put                   narrow    stores a vector of activations
       dot, dot_int16        narrow    adds products of a word of inputs, or of two INT16 of INT8, with words
       fp32_tile             INT8      computes FP32 tiles
      Intrinsics other than + - * and / have the same names after each instruction set's prefix. */
#define REID__OF(name) REID__JOIN(REID__PREFIX, name)
#define REID__LOAD(p) REID__OF(loadu_ps)(p)
#define REID__STORE(p, v) REID__OF(storeu_ps)(p, v)
#define REID__SET1(x) REID__OF(set1_ps)(x)
#define REID__FMA(a, b, c) REID__OF(fmadd_ps)(a, b, c)
#define REID__MAX(a, b) REID__OF(max_ps)(a, b)
#define REID__MIN(a, b) REID__OF(min_ps)(a, b)

REID__INLINE float reid__scalar_loadu_ps(const float *p) { return *p; }
REID__INLINE void reid__scalar_storeu_ps(float *p, float x) { *p = x; }
REID__INLINE float reid__scalar_set1_ps(float x) { return x; }
REID__INLINE float reid__scalar_fmadd_ps(float a, float b, float c) { return a * b + c; }
REID__INLINE float reid__scalar_max_ps(float a, float b) { return a > b ? a : b; }
REID__INLINE float reid__scalar_min_ps(float a, float b) { return a < b ? a : b; }
REID__INLINE int32_t reid__scalar_set1_epi32(int32_t x) { return x; }
REID__INLINE int32_t reid__scalar_add_epi32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
REID__INLINE int32_t reid__scalar_sub_epi32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }
REID__INLINE int32_t reid__scalar_slli_epi32(int32_t a, int n) { return (int32_t)((uint32_t)a << n); }
REID__INLINE int32_t reid__scalar_srai_epi32(int32_t a, int n) { return a >> n; }
REID__INLINE float reid__scalar_cvtepi32_ps(int32_t x) { return (float)x; }
REID__INLINE int32_t reid__scalar_cvtepu8_epi32(uint8_t x) { return x; }
REID__INLINE int32_t reid__scalar_cvtepi8_epi32(uint8_t x) { return (int8_t)x; }

#define REID__PASS scalar
#define REID__BASE scalar
#define REID__PREFIX reid__scalar
#define REID__V float
#define REID__I int32_t
#define REID__W 1
#define reid__mr_scalar 2
#define reid__rows_scalar(X) X(1) X(2) /* 1 ... mr */
#define reid__point_vectors_scalar 16 /* of output channels in winograd_three */
#define REID__UNROLL
#define reid__in_register_scalar(v)
#define REID__AS_INT(x) ((int32_t)reid__bits(x))
#define REID__AS_FLOAT(i) reid__float((uint32_t)(i))
#define reid__lookup_scalar(table, i) ((int32_t)(table)[(i) & 7])
#define reid__clamp_scalar(x, limit) ((x) > (limit) ? (limit) : (x) < -(limit) ? -(limit) : (x))
#define reid__halves_scalar(p) reid__half(*(p))
#include REID_SELF

/* INT8. Its FP32 arithmetic uses fused multiply-adds, so that all instruction sets give the same bits. */
#ifndef REID_NO_NARROW
#define REID__PASS scalar_int8
#define REID__INT8
#undef REID__FMA
#define REID__FMA(a, b, c) fmaf(a, b, c)
#define reid__iload_scalar(p) reid__group(p)
#define reid__octets_scalar(p) (*(p))
#define reid__put_scalar_int8(p, v) (*(p) = (uint8_t)reid__bits((v) + REID__MAGIC))
#include REID_SELF
#undef REID__FMA
#define REID__FMA(a, b, c) REID__OF(fmadd_ps)(a, b, c)
#endif

#if defined(REID__VECTORS) || defined(REID__NEON)
#undef REID__AS_INT
#undef REID__AS_FLOAT
#define REID__AS_INT(x) ((REID__I)(x))
#define REID__AS_FLOAT(i) ((REID__V)(i))
/* A shuffle that takes the first three bytes of each of four words of pixels, then zeros. */
static const uint8_t reid__three_of_four[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 255, 255, 255, 255};
#endif
#ifdef REID__VECTORS
#define REID__TRIPLES(to, from)                                                                                        \
    _mm_storeu_si128((__m128i *)(void *)(to), _mm_shuffle_epi8(REID__ILOAD4(from), REID__ILOAD4(reid__three_of_four)))
#define REID__ILOAD4(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
/* Code for CPUs that have these extensions. */
#define REID__PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define REID__TARGET(names) REID__PRAGMA(clang attribute push(__attribute__((target(names))), apply_to = function))
#define REID__TARGET_END REID__PRAGMA(clang attribute pop)
#else
#define REID__TARGET(names) REID__PRAGMA(GCC push_options) REID__PRAGMA(GCC target(names))
#define REID__TARGET_END REID__PRAGMA(GCC pop_options)
#endif

#define REID__PASS avx2
#define REID__BASE avx2
#define REID__PREFIX _mm256
#define REID__V __m256
#define REID__I __m256i
#define REID__W 8
#define reid__mr_avx2 6
#define reid__rows_avx2(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define reid__point_vectors_avx2 1
#define REID__UNROLL REID__UNROLLED
#define reid__in_register_avx2(v) /* none of the 16 registers is left */
#define reid__clamp_avx2(x, limit) _mm256_min_ps(limit, _mm256_max_ps(_mm256_setzero_ps() - (limit), x))
#define reid__iload_avx2(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define reid__istore_avx2(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define reid__lookup_avx2(table, i) _mm256_permutevar8x32_epi32(reid__iload_avx2(table), i) /* by the low 3 bits */
#define reid__octets_avx2(p) _mm_loadl_epi64((const __m128i *)(const void *)(p))
/* Loads blocks of 16 bytes from two places; repeats one block; spreads one number over each block. */
#define reid__iblocks_avx2(from, at)                                                                                   \
    _mm256_inserti128_si256(_mm256_castsi128_si256(REID__ILOAD4((from)[0] + (at))), REID__ILOAD4((from)[1] + (at)), 1)
#define reid__irepeat_avx2(p) _mm256_broadcastsi128_si256(REID__ILOAD4(p))
#define reid__ispread_avx2(p)                                                                                          \
    _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(_mm_loadl_epi64((const __m128i *)(const void *)(p))),           \
                                _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1))
/* Packing saturates to 16 bits, which changes nothing, then to 0 ... 255. It works on halves of 128 bits. */
#define reid__round_avx2(line, sums)                                                                                   \
    do {                                                                                                               \
        __m256i low = _mm256_srai_epi32(reid__iload_avx2(sums), REID__TAP_BITS);                                       \
        __m256i high = _mm256_srai_epi32(reid__iload_avx2((sums) + 8), REID__TAP_BITS);                                \
        __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);                                  \
        __m128i packed = _mm_packus_epi16(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));            \
        _mm_storeu_si128((__m128i *)(void *)(line), packed);                                                           \
    } while (0)
#define reid__halves_avx2(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p)))
REID__TARGET("avx2,fma,f16c")
#include REID_SELF

#ifndef REID_NO_NARROW
/* Products of even and of odd bytes, added in pairs to 32 bits. */
#define REID__PASS avx2_int8
#define REID__INT8
#define reid__fp32_tile_avx2_int8 reid__product_avx2
#define reid__dot_avx2_int8(a, b, c)                                                                                   \
    _mm256_add_epi32(_mm256_add_epi32(c, _mm256_madd_epi16(_mm256_and_si256(a, _mm256_set1_epi16(255)),                \
                                                           _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8))),            \
                     _mm256_madd_epi16(_mm256_srli_epi16(a, 8), _mm256_srai_epi16(b, 8)))
#define reid__dot_int16_avx2_int8(a, b, c) _mm256_add_epi32(c, _mm256_madd_epi16(a, b))
#define reid__put_avx2_int8(p, v) /* the low byte of each, of both halves to the front, side by side */                \
    _mm_storel_epi64((__m128i *)(void *)(p),                                                                           \
        _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(                                                            \
            _mm256_shuffle_epi8((__m256i)((v) + _mm256_set1_ps(REID__MAGIC)),                                          \
                                _mm256_set1_epi32(0x0c080400)), _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4))))
#include REID_SELF
#endif
REID__TARGET_END

#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" /* gcc 12's own avx512fintrin.h */
#pragma GCC diagnostic ignored "-Wsign-conversion"     /* its avx512dqintrin.h without optimisation */
#endif
#define REID__PASS avx512
#define REID__BASE avx512
#define REID__PREFIX _mm512
#define REID__V __m512
#define REID__I __m512i
#define REID__W 16
#define reid__mr_avx512 12
#define reid__rows_avx512(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#define reid__point_vectors_avx512 2
#define REID__UNROLL REID__UNROLLED
#define reid__in_register_avx512(v) __asm__("" : "+v"(v)) /* gcc would reload it for each multiply-add */
#define reid__clamp_avx512(x, limit) _mm512_range_ps(x, limit, 2) /* whichever is nearer to zero, with the sign of x */
#define reid__iload_avx512(p) _mm512_loadu_si512(p)
#define reid__istore_avx512(p, v) _mm512_storeu_si512(p, v)
#define reid__lookup_avx512(table, i) _mm512_permutexvar_epi32(i, reid__iload_avx512(table)) /* by the low 4 bits */
#define reid__octets_avx512(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define reid__iblocks_avx512(from, at)                                                                                 \
    _mm512_inserti32x4(_mm512_inserti32x4(                                                                             \
        _mm512_inserti32x4(_mm512_castsi128_si512(REID__ILOAD4((from)[0] + (at))), REID__ILOAD4((from)[1] + (at)), 1), \
        REID__ILOAD4((from)[2] + (at)), 2), REID__ILOAD4((from)[3] + (at)), 3)
#define reid__irepeat_avx512(p) _mm512_broadcast_i32x4(REID__ILOAD4(p))
#define reid__ispread_avx512(p)                                                                                        \
    _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3),                        \
                             _mm512_castsi128_si512(REID__ILOAD4(p)))
#define reid__round_avx512(line, sums)                                                                                 \
    _mm_storeu_si128((__m128i *)(void *)(line),                                                                        \
                     _mm512_cvtusepi32_epi8(_mm512_max_epi32(                                                          \
                         _mm512_srai_epi32(reid__iload_avx512(sums), REID__TAP_BITS), _mm512_setzero_si512())))
#define reid__halves_avx512(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
REID__TARGET("avx512f,avx512dq,avx512bw,avx2,fma")
#include REID_SELF
REID__TARGET_END

#ifndef REID_NO_NARROW
/* bf16 in memory, FP32 in AVX-512's vectors. A bf16 is the upper half of an FP32. */
#define REID__PASS avx512_bf16
#define REID__BF16
#define REID__WIDENED(halves) _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16))
#define REID__FROM_BF16(p) REID__WIDENED(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define reid__put_avx512_bf16(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), (__m256i)_mm512_cvtneps_pbh(v))
#define REID__INPUT(p) _mm512_castsi512_ps(_mm512_set1_epi32(reid__group(p)))
#define reid__dot_avx512_bf16(a, b, c) _mm512_dpbf16_ps(c, (__m512bh)(a), (__m512bh)(b))
#define REID__AMX amx_bf16
#define REID__AMX_DOT(sums, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #sums ::: "memory")
REID__TARGET("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16,avx2,fma")
#include REID_SELF
REID__TARGET_END

#define REID__PASS avx512_vnni
#define REID__INT8
#define reid__fp32_tile_avx512_vnni reid__product_avx512
#define reid__put_avx512_vnni(p, v)                                                                                    \
    _mm_storeu_si128((__m128i *)(void *)(p), _mm512_cvtepi32_epi8((__m512i)((v) + _mm512_set1_ps(REID__MAGIC))))
#define REID__AMX amx_int8
#define REID__AMX_DOT(sums, a, b) __asm__ volatile("tdpbusd %%tmm" #b ", %%tmm" #a ", %%tmm" #sums ::: "memory")
REID__TARGET("avx512f,avx512dq,avx512bw,avx512vl,avx512vnni,avx2,fma")
/* In place of _mm512_dpbusd_epi32 and _mm512_dpwssd_epi32, for which gcc copies every sum in and out. */
REID__INLINE __m512i reid__dot_avx512_vnni(__m512i a, __m512i b, __m512i c) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
}
REID__INLINE __m512i reid__dot_int16_avx512_vnni(__m512i a, __m512i b, __m512i c) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
}
#include REID_SELF
REID__TARGET_END
#endif /* REID_NO_NARROW */
#ifndef __clang__
#pragma GCC diagnostic pop
#endif
#endif

#ifdef REID__NEON
/* NEON under x86's names, which the kernels use. As on x86, max and min give b if one is NaN or both are 0. */
REID__INLINE float32x4_t reid__neon_loadu_ps(const float *p) { return vld1q_f32(p); }
REID__INLINE void reid__neon_storeu_ps(float *p, float32x4_t v) { vst1q_f32(p, v); }
REID__INLINE float32x4_t reid__neon_set1_ps(float x) { return vdupq_n_f32(x); }
REID__INLINE float32x4_t reid__neon_fmadd_ps(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }
REID__INLINE float32x4_t reid__neon_max_ps(float32x4_t a, float32x4_t b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
REID__INLINE float32x4_t reid__neon_min_ps(float32x4_t a, float32x4_t b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
REID__INLINE int32x4_t reid__neon_set1_epi32(int32_t x) { return vdupq_n_s32(x); }
REID__INLINE int32x4_t reid__neon_add_epi32(int32x4_t a, int32x4_t b) { return vaddq_s32(a, b); }
REID__INLINE int32x4_t reid__neon_sub_epi32(int32x4_t a, int32x4_t b) { return vsubq_s32(a, b); }
REID__INLINE int32x4_t reid__neon_mullo_epi32(int32x4_t a, int32x4_t b) { return vmulq_s32(a, b); }
REID__INLINE int32x4_t reid__neon_slli_epi32(int32x4_t a, int n) { return vshlq_s32(a, vdupq_n_s32(n)); }
REID__INLINE int32x4_t reid__neon_srai_epi32(int32x4_t a, int n) { return vshlq_s32(a, vdupq_n_s32(-n)); }
REID__INLINE float32x4_t reid__neon_cvtepi32_ps(int32x4_t a) { return vcvtq_f32_s32(a); }
REID__INLINE int32x4_t reid__neon_cvtepu8_epi32(int32_t four) {
    uint8x8_t bytes = vreinterpret_u8_s32(vdup_n_s32(four));
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(bytes))));
}
REID__INLINE int32x4_t reid__neon_shuffle_epi8(int32x4_t from, int32x4_t which) {
    return vreinterpretq_s32_u8(vqtbl1q_u8(vreinterpretq_u8_s32(from), vreinterpretq_u8_s32(which)));
}
REID__INLINE int32x4_t reid__neon_madd_epi16(int32x4_t a, int32x4_t b) {
    int16x8_t x = vreinterpretq_s16_s32(a), y = vreinterpretq_s16_s32(b);
    return vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
}
/* Loads one lane, which multiply-adds then use, in order: gcc would load all inputs first, and spill. */
REID__INLINE float32x4_t reid__neon_input(const float *p) {
    float x = *p;
    __asm__ volatile("" : "+w"(x));
    return vdupq_n_f32(x);
}
/* Words of a table of 8, selected by the low 3 bits of i: looks up their bytes in two registers. */
REID__INLINE int32x4_t reid__lookup_neon(const uint32_t *table, int32x4_t i) {
    uint8x16x2_t both = {{vreinterpretq_u8_u32(vld1q_u32(table)), vreinterpretq_u8_u32(vld1q_u32(table + 4))}};
    int32x4_t at = vmlaq_s32(vdupq_n_s32(0x03020100), vandq_s32(i, vdupq_n_s32(7)), vdupq_n_s32(0x04040404));
    return vreinterpretq_s32_u8(vqtbl2q_u8(both, vreinterpretq_u8_s32(at)));
}
/* Rounds eight sums to pixels of 16 bits, which saturate. */
REID__INLINE int16x8_t reid__neon_round(const int32_t *sums) {
    return vcombine_s16(vqmovn_s32(vshrq_n_s32(vld1q_s32(sums), REID__TAP_BITS)),
                        vqmovn_s32(vshrq_n_s32(vld1q_s32(sums + 4), REID__TAP_BITS)));
}

#define REID__PASS neon
#define REID__BASE neon
#define REID__PREFIX reid__neon
#define REID__V float32x4_t
#define REID__I int32x4_t
#define REID__W 4
#define reid__mr_neon 6
#define reid__rows_neon(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define reid__point_vectors_neon 2
#define REID__UNROLL REID__UNROLLED
#define reid__in_register_neon(v) __asm__("" : "+w"(v))
#define REID__INPUT(p) reid__neon_input(p)
#define reid__clamp_neon(x, limit) vminq_f32(limit, vmaxq_f32(vnegq_f32(limit), x))
#define reid__iload_neon(p) vld1q_s32((const int32_t *)(const void *)(p))
#define reid__istore_neon(p, v) vst1q_s32(p, v)
#define reid__octets_neon(p) reid__group(p)
#define reid__iblocks_neon(from, at) reid__iload_neon((from)[0] + (at))
#define reid__irepeat_neon(p) reid__iload_neon(p)
#define reid__ispread_neon(p) vdupq_n_s32(reid__group(p))
#define reid__round_neon(line, sums)                                                                                   \
    vst1q_u8(line, vcombine_u8(vqmovun_s16(reid__neon_round(sums)), vqmovun_s16(reid__neon_round((sums) + 8))))
#define REID__TRIPLES(to, from) vst1q_u8(to, vqtbl1q_u8(vld1q_u8(from), vld1q_u8(reid__three_of_four)))
#define reid__halves_neon(p) vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))
#include REID_SELF
#endif

#if defined(__x86_64__)
/* Sets r to eax, ebx, ecx, edx. */
static void reid__cpuid(unsigned leaf, unsigned subleaf, unsigned r[4]) {
    __asm__("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(subleaf));
}

/* Tests a CPUID bit, for features that __builtin_cpu_supports of some compilers cannot name. */
static inline int reid__cpu_has(unsigned leaf, unsigned subleaf, int part, int bit) {
    unsigned r[4];
    reid__cpuid(leaf, subleaf, r);
    return (int)(r[part] >> bit & 1);
}

/* Requests permission for AMX, once per process: Linux requires it because its tiles add 8 KiB to a thread's state. */
static inline int reid__amx_allowed(void) {
#ifdef SYS_arch_prctl
    return syscall(SYS_arch_prctl, 0x1023 /* ARCH_REQ_XCOMP_PERM */, 18 /* tile data */) == 0;
#else
    return 0;
#endif
}
#endif

/* The kernels of one instruction set, or NULL if this CPU (or this build) lacks it. */
static const reid__kernels *reid__kernels_for(reid_isa isa) {
#ifdef REID__VECTORS
    __builtin_cpu_init();
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && reid__cpu_has(1, 0, 2, 29); /* F16C */
    int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512bw");
#ifndef REID_NO_NARROW
    int bf16 = avx512 && __builtin_cpu_supports("avx512vl") && reid__cpu_has(7, 1, 0, 5);
    if (isa == REID_ISA_AMX_BF16)
        return bf16 && reid__cpu_has(7, 0, 3, 22) && reid__amx_allowed() ? &reid__kernels_amx_bf16 : NULL;
    if (isa == REID_ISA_AVX512_BF16) return bf16 ? &reid__kernels_avx512_bf16 : NULL;
    int vnni = avx512 && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
    if (isa == REID_ISA_AMX_INT8)
        return vnni && reid__cpu_has(7, 0, 3, 25) && reid__amx_allowed() ? &reid__kernels_amx_int8 : NULL;
    if (isa == REID_ISA_AVX512_VNNI) return vnni ? &reid__kernels_avx512_vnni : NULL;
#endif
    if (isa == REID_ISA_AVX512) return avx512 ? &reid__kernels_avx512 : NULL;
    if (isa == REID_ISA_AVX2) return avx2 ? &reid__kernels_avx2 : NULL;
#elif defined(REID__NEON)
    if (isa == REID_ISA_NEON) return &reid__kernels_neon;
#endif
    return isa == REID_ISA_SCALAR ? &reid__kernels_scalar : NULL;
}

/* Like reid__kernels_for, for convolutions in INT8. */
static const reid__kernels *reid__kernels_for_int8(reid_isa isa) {
    const reid__kernels *kernels = reid__kernels_for(isa);
#ifndef REID_NO_NARROW
    if (kernels == &reid__kernels_scalar) return &reid__kernels_scalar_int8;
#ifdef REID__VECTORS
    if (kernels == &reid__kernels_avx2) return &reid__kernels_avx2_int8;
#endif
#endif
    return kernels;
}

/* Chooses desc.cpu_isa, else REID_CPU_ISA, else the best available for convolutions in FP32, bf16 or INT8. */
static reid_result reid__kernels_choose(reid_isa isa, reid_precision precision, const reid__kernels **out,
                                        reid_error *e) {
    static const struct { char name[12]; int fp32, bf16, int8; } rows[] = {
        {"scalar", 1, 0, 1},   {"avx2", 1, 0, 1},        {"avx512", 1, 0, 0}, {"avx512_bf16", 0, 1, 0},
        {"amx_bf16", 0, 1, 0}, {"avx512_vnni", 0, 0, 1}, {"amx_int8", 0, 0, 1}, {"neon", 1, 0, 0}};
    const int bf16 = precision == REID_BF16, int8 = precision == REID_INT8, count = sizeof rows / sizeof rows[0];
    const char *forced = getenv("REID_CPU_ISA"), *kind = int8 ? "INT8" : bf16 ? "bf16" : "FP32";
    if (isa == REID_ISA_AUTO && forced && *forced) {
        for (int i = 0; i < count; i++)
            if (strcmp(forced, rows[i].name) == 0) isa = (reid_isa)(REID_ISA_SCALAR + i);
        if (isa == REID_ISA_AUTO)
            return reid__fail(e, REID_ERR_ISA, "REID_CPU_ISA is \"%.40s\"; it can be scalar, avx2, avx512, "
                              "avx512_bf16, amx_bf16, avx512_vnni, amx_int8 or neon", forced);
    }
    if ((int)isa < REID_ISA_AUTO || (int)isa > count)
        return reid__invalid(e, "desc.cpu_isa is %d, not a reid_isa", (int)isa);
    for (int i = count - 1; i >= 0; i--) {
        reid_isa each = (reid_isa)(REID_ISA_SCALAR + i);
        int computes = int8 ? rows[i].int8 : bf16 ? rows[i].bf16 : rows[i].fp32;
        if (isa != REID_ISA_AUTO && isa != each) continue;
        *out = !computes ? NULL : int8 ? reid__kernels_for_int8(each) : reid__kernels_for(each);
        if (*out) return REID_OK;
        if (isa == REID_ISA_AUTO) continue;
        if (computes)
            return reid__fail(e, REID_ERR_ISA, "%s was requested, but this CPU or build lacks it", rows[i].name);
        return reid__fail(e, REID_ERR_PRECISION, "%s was requested, but it does not compute in %s", rows[i].name, kind);
    }
    return reid__fail(e, REID_ERR_PRECISION, "bf16 needs AVX512_BF16, which this CPU or build does not have; device "
                      "cuda computes in bf16 from sm_80 on");
}

/* --------------------------------------------------------------------------------------------------------------------
   >>pack
   Weights from the file to the order in which the inner loops read them: batch norm folded in double precision, then
   cut into consecutive panels of reid__kernels.nr output channels, in FP32, bf16 or INT8. */
#define REID__PACKED 32 /* input channels at a time: the lines of a panel that they fill stay in L1 */

/* Copies `columns` rows of a tensor, (ic, taps), times batch norm's factors to a panel [taps][ic][width]; rest zero. */
static void reid__pack_panel(float *panel, int width, const float *rows, int columns, int ic, int taps,
                             const double *factors) {
    size_t k_count = (size_t)ic * (size_t)taps;
    if (columns < width) memset(panel, 0, k_count * (size_t)width * sizeof *panel);
    for (int first = 0; first < ic; first += REID__PACKED)
        for (int j = 0; j < columns; j++) {
            const float *row = rows + (size_t)j * k_count;
            double factor = factors ? factors[j] : 1.0;
            int end = reid__min(ic, first + REID__PACKED);
            for (int t = 0; t < taps; t++) {
                float *to = panel + (size_t)t * (size_t)ic * (size_t)width + j;
                for (size_t i = (size_t)first; i < (size_t)end; i++)
                    to[i * (size_t)width] = (float)(row[i * (size_t)taps + (size_t)t] * factor);
            }
        }
}

/* Source and staging memory of the weights while a network is packed. One per thread. */
typedef struct reid__loader {
    const reid__weights *file;
    uint64_t seed;      /* of generated tensors */
    float *rows;        /* staging: the rows of one panel, followed, for Winograd, by the panel */
    float *vectors;     /* staging: gamma, beta, mean, variance of one convolution */
    double *factors;    /* staging: gamma / sqrt(variance + eps) */
    const reid__kernels *kernels;
    const reid__buffer *buffers; /* the plan's, for the ranges of INT8 */
    const reid__preset *preset;
} reid__loader;

/* FP32 to bf16, rounded to nearest even. */
static uint16_t reid__to_bf16(float x) {
    uint32_t bits = reid__bits(x);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* INT8: the step with which a channel's weights times batch norm's factor become -127 ... 127, and its inverse. With
   fmax, gcc 12 for 64-bit ARM ends at -O3 with an internal error (vect_transform_reduction). */
static double reid__quantise(const float *row, int count, double factor, double *inverse) {
    double most = 0;
    for (int i = 0; i < count; i++) most = fabs(row[i] * factor) > most ? fabs(row[i] * factor) : most;
    *inverse = most > 0 ? 127 / most : 0;
    return most / 127;
}

/* Packs a panel of bf16, INT8 or INT16: each run of inputs (see reid__runs) in groups of 4 bytes, down a column, padded
   with zeros. `merged` positions form one run. factors: [columns]; NULL: see reid__pack_levels. scale: for INT8. */
static void reid__pack_narrow(float *panel, int width, const float *rows, int columns, int ic, int taps, int merged,
                              reid__element element, const double *factors, float *scale) {
    size_t depth = (size_t)reid__pad_run(ic * merged, element), each = (size_t)reid__per_word(element);
    size_t w = (size_t)width, shift = each / 2; /* 2^shift is `each`, 2 or 4: divisions would take most of the time */
    double inverse = 1;
    char *out = (char *)panel;
    memset(panel, 0, (size_t)(taps / merged) * depth / each * w * sizeof *panel);
    for (int j = 0; j < columns; j++) {
        const float *row = rows + (size_t)j * (size_t)ic * (size_t)taps;
        if (element == REID__ELEMENT_INT8) scale[j] = (float)reid__quantise(row, ic * taps, factors[j], &inverse);
        for (int t = 0; t < taps; t++) {
            size_t k = (size_t)(t / merged) * depth + (size_t)(t % merged * ic);
            for (int i = 0; i < ic; i++, k++) {
                double value = row[i * taps + t] * (factors ? factors[j] : 1);
                size_t at = (((k >> shift) * w + (size_t)j) << shift) + (k & (each - 1));
                uint16_t half = (uint16_t)(element == REID__ELEMENT_BF16 ? reid__to_bf16((float)value) : (int)value);
                if (element == REID__ELEMENT_INT8) out[at] = (char)(int)rint(value * inverse);
                else memcpy(out + 2 * at, &half, 2);
            }
        }
    }
}

/* INT8's first convolution: its weights become whole numbers (see INT8), so that sums are equal in any order, type and
   instruction. The error of rounding the mean is added to `bias`. rows: (columns, 3, taps). */
static void reid__pack_levels(const reid__preset *p, float *rows, int columns, int taps, const double *factors,
                              float *scale, float *bias) {
    for (int j = 0; j < columns; j++, rows += 3 * taps) {
        double most = 0, sum = 0, rest = 0, one;
        for (int i = 0; i < 3 * taps; i++) {
            double level = reid__mean_level(p, i / taps), w = rows[i] * factors[j] / p->std[i / taps];
            most = fmax(most, fabs(w * p->scale));
            sum += fabs(w * p->scale) * fmax(fabs(level), fabs(255 - level));
            rest += w * (level * p->scale - p->mean[i / taps]);
        }
        one = fmax(most / 2048, sum / (16777216 - 384 * taps)); /* rounding adds up to a half to each of 3 * taps */
        for (int i = 0; i < 3 * taps && one > 0; i++)
            rows[i] = (float)rint(rows[i] * factors[j] / p->std[i / taps] * p->scale / one);
        scale[j] = (float)one, bias[j] = (float)(bias[j] + rest);
    }
}

/* INT8: converts scales and biases to steps of the output. */
static reid_result reid__pack_steps(const reid__loader *l, const reid__op *op, float *scale, float *bias,
                                    reid_error *e) {
    double in = reid__in_bytes(op) ? reid__byte_step(&l->buffers[op->in]) : 1;
    double out = reid__byte_step(&l->buffers[op->out]);
    for (int c = 0; c < op->oc; c++) {
        scale[c] = (float)(scale[c] * in / out), bias[c] = (float)(bias[c] / out);
        if (!reid__is_finite(scale[c]) || !reid__is_finite(bias[c]))
            return reid__fail(e, REID_ERR_RANGES, "%s, channel %d: weights and ranges are too far apart", op->name, c);
    }
    return REID_OK;
}

/* Head weights as WEIGHT FILE defines them, uniform like PyTorch's; splitmix64: Steele et al., 2014; hash: FNV-1a. */
static void reid__generate(uint64_t seed, const char *name, size_t first, size_t count, size_t inputs, float *out) {
    uint64_t hash = 0xcbf29ce484222325u;
    double root = sqrt((double)inputs);
    for (const char *c = name; *c; c++) hash = (hash ^ (uint64_t)(unsigned char)*c) * 0x100000001b3u;
    for (size_t i = 0; i < count; i++) {
        uint64_t z = (hash ^ seed) + (uint64_t)(first + i + 1) * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        out[i] = (float)(((double)(z >> 40) / 8388608.0 - 1.0) / root);
    }
}

/* Reads or generates elements [first, first + count) of one tensor, and adds them to its digest. */
static reid_result reid__fetch(const reid__loader *l, const reid__op *op, const reid__needed_tensor *want, size_t first,
                               size_t count, float *out, reid__digest *digest, reid_error *e) {
    size_t inputs = (size_t)op->ic * (size_t)op->kh * (size_t)op->kw;
    if (op->seeded) reid__generate(l->seed, want->name, first, count, inputs, out);
    else REID__TRY(reid__weights_read(l->file, reid__weights_find(l->file, want->name), first, count, out, e));
    reid__digest_update(digest, out, count * sizeof *out);
    return REID_OK;
}

/* Packs one matrix of N rows (ic, taps) panel by panel. */
static reid_result reid__pack_matrix(const reid__loader *l, const reid__op *op, const reid__needed_tensor *want, int n,
                                     int ic, int taps, int nr, const double *factors, float *packed, uint64_t digest[2],
                                     reid_error *e) {
    size_t k = (size_t)ic * (size_t)taps;
    int stem = op->kind == REID__CONV && ic == 3;
    float *scale = packed - op->weight + op->scales, *bias = packed - op->weight + op->bias; /* for INT8 */
    reid__digest d;
    reid__digest_init(&d);
    for (int at = 0; at < n; at += nr) {
        int columns = reid__min(nr, n - at), width = reid__min(nr, reid__padded(n) - at);
        REID__TRY(reid__fetch(l, op, want, (size_t)at * k, (size_t)columns * k, l->rows, &d, e));
        if (op->element == REID__ELEMENT_INT16)
            reid__pack_levels(l->preset, l->rows, columns, taps, factors + at, scale + at, bias + at);
        if (op->winograd) {
            float *panel = l->rows + (size_t)columns * k;
            reid__pack_panel(panel, width, l->rows, columns, ic, taps, factors ? factors + at : NULL);
            l->kernels->winograd_filters(panel, ic, packed + (size_t)at * (size_t)(ic * reid__taps(op)));
        } else if (reid__is_narrow(op)) {
            reid__pack_narrow(packed + (size_t)at * reid__narrow_depth(op, stem), width, l->rows, columns, ic, taps,
                              stem ? op->kw : 1, op->element,
                              op->element == REID__ELEMENT_INT16 || !factors ? NULL : factors + at, scale + at);
        } else {
            reid__pack_panel(packed + (size_t)at * k, width, l->rows, columns, ic, taps, factors ? factors + at : NULL);
        }
    }
    reid__digest_final(&d, digest);
    return REID_OK;
}

static reid_result reid__fetch_vector(const reid__loader *l, const reid__op *op, const reid__needed_tensor *want,
                                      float *out, uint64_t digest[2], reid_error *e) {
    reid__digest d;
    reid__digest_init(&d);
    reid_result r = reid__fetch(l, op, want, 0, want->shape[0], out, &d, e);
    reid__digest_final(&d, digest);
    return r;
}

/* Batch norm is y = (x - mean) * gamma / sqrt(var + eps) + beta: a factor for the weights and a bias, in double. */
static reid_result reid__fold_batch_norm(const reid__loader *l, const reid__op *op, const reid__needed_tensor *wants,
                                         float *bias, uint64_t (*digests)[2], reid_error *e) {
    int n = op->oc, from = op->bn_from;
    float *v = l->vectors;
    for (int i = 0; i < 4; i++) REID__TRY(reid__fetch_vector(l, op, &wants[i], v + i * n + from, digests[i], e));
    for (int c = 0; c < from; c++) l->factors[c] = 1, bias[c] = 0;
    for (int c = from; c < n; c++) {
        double gamma = v[c], beta = v[n + c], mean = v[2 * n + c], var = v[3 * n + c];
        if (!(var + op->bn_eps > 0))
            return reid__fail(e, REID_ERR_BN_VARIANCE, "tensor %s, element %d: %g + epsilon %g", wants[3].name,
                              c - from, var, op->bn_eps);
        l->factors[c] = gamma / sqrt(var + op->bn_eps), bias[c] = (float)(beta - mean * l->factors[c]);
    }
    return REID_OK;
}

static reid_result reid__fetch_exponent(const reid__loader *l, const reid__op *op, const reid__needed_tensor *want,
                                        float *p, uint64_t digest[2], reid_error *e) {
    reid_result r = reid__fetch_vector(l, op, want, p, digest, e);
    if (r != REID_OK || (*p >= 1e-3f && *p <= 1e3f)) return r;
    return reid__fail(e, REID_ERR_EXPONENT, "tensor %s is %g; an exponent must be between 0.001 and 1000", want->name,
                      (double)*p);
}

/* Packs a pool's exponent, and its batch norm as factors and a bias. */
static reid_result reid__pack_pool(const reid__loader *l, const reid__op *op, const reid__needed_tensor *wants,
                                   float *packed, uint64_t (*digests)[2], reid_error *e) {
    float *weight = packed + op->weight;
    memset(weight, 0, (size_t)(reid__padded(op->oc)) * sizeof *weight);
    memset(packed + op->exponent, 0, REID__LANES * sizeof *weight);
    if (op->gem) REID__TRY(reid__fetch_exponent(l, op, &wants[0], packed + op->exponent, digests[0], e));
    if (!op->bn[0]) return REID_OK;
    REID__TRY(reid__fold_batch_norm(l, op, wants + op->gem, packed + op->bias, digests + op->gem, e));
    for (int c = 0; c < op->oc; c++) weight[c] = (float)l->factors[c];
    return REID_OK;
}

/* Packs all tensors of one operation; digests[i] is that of its i-th tensor. */
static reid_result reid__pack_op(const reid__loader *l, const reid__op *op, float *packed, uint64_t (*digests)[2],
                                 reid_error *e) {
    reid__needed_tensor wants[REID__MAX_NEEDED];
    float *weight = packed + op->weight, *bias = packed + op->bias;
    const double *factors = op->bn[0] ? l->factors : NULL;
    int pad_n = reid__padded(op->oc), norm = 1 + op->biased, depthwise = op->kind == REID__DEPTHWISE;
    if (reid__needed_tensors(op, wants) == 0) return REID_OK;
    memset(bias, 0, (size_t)reid__padded(op->kind == REID__SQUEEZE ? op->hidden : op->oc) * sizeof *bias);
    switch (op->kind) {
    case REID__CONV:
    case REID__DEPTHWISE:
    case REID__LINEAR:
        if (factors) REID__TRY(reid__fold_batch_norm(l, op, wants + norm, bias, digests + norm, e));
        REID__TRY(reid__pack_matrix(l, op, &wants[0], op->oc, depthwise ? 1 : op->ic, op->kh * op->kw,
                                    depthwise ? pad_n : l->kernels->nr, factors, weight, digests[0], e));
        if (reid__makes_bytes(l->buffers, op)) {
            memset(packed + op->scales + op->oc, 0, (size_t)(pad_n - op->oc) * sizeof *packed);
            return reid__pack_steps(l, op, packed + op->scales, bias, e);
        }
        if (!op->biased) return REID_OK;
        REID__TRY(reid__fetch_vector(l, op, &wants[1], l->vectors, digests[1], e));
        for (int c = 0; c < op->oc; c++) bias[c] = (float)(bias[c] + (factors ? factors[c] : 1) * l->vectors[c]);
        return REID_OK;
    case REID__SQUEEZE:
        memset(packed + op->bias2, 0, (size_t)pad_n * sizeof *packed);
        REID__TRY(reid__pack_matrix(l, op, &wants[0], op->hidden, op->ic, 1, reid__padded(op->hidden), NULL, weight,
                                    digests[0], e));
        REID__TRY(reid__fetch_vector(l, op, &wants[1], bias, digests[1], e));
        REID__TRY(reid__pack_matrix(l, op, &wants[2], op->oc, op->hidden, 1, pad_n, NULL, packed + op->weight2,
                                    digests[2], e));
        return reid__fetch_vector(l, op, &wants[3], packed + op->bias2, digests[3], e);
    case REID__POOL: return reid__pack_pool(l, op, wants, packed, digests, e);
    case REID__INSTANCE:
        memset(weight, 0, (size_t)pad_n * sizeof *weight);
        REID__TRY(reid__fetch_vector(l, op, &wants[0], weight, digests[0], e));
        return reid__fetch_vector(l, op, &wants[1], bias, digests[1], e);
    default: return REID_OK;
    }
}

/* Floats of `rows` and channels of `vectors` that a loader needs for this plan. */
static void reid__loader_sizes(const reid__plan *p, int nr, size_t *rows, size_t *channels) {
    *rows = *channels = 0;
    for (const reid__op *op = p->ops; op < p->ops + p->op_count; op++) {
        size_t taps = (size_t)op->kh * (size_t)op->kw, oc = (size_t)op->oc, need = 0;
        if (op->kind == REID__CONV || op->kind == REID__LINEAR)
            need = (size_t)reid__min(nr, op->oc) * taps * (size_t)op->ic;
        if (op->winograd) need += (size_t)nr * taps * (size_t)op->ic;
        if (op->kind == REID__DEPTHWISE) need = oc * taps;
        if (op->kind == REID__SQUEEZE) need = oc * (size_t)op->hidden;
        if (need > *rows) *rows = need;
        if (oc > *channels) *channels = oc;
    }
}

/* --------------------------------------------------------------------------------------------------------------------
   >>cpu
   The CPU executor. A convolution is a matrix product C[M x N] = A[M x K] B[K x N]: M pixels of all images of the
   batch, N output channels, K = kernel positions x input channels. A is never built except for AMX: a table of pointers
   gives the address of each pixel's inputs (reid__rows). B was packed once into panels of `nr` columns (>>pack). bf16
   and INT8 use the same parts, blocks, panels and tiles with other elements. If reid__winograd_pays, a 3x3 convolution
   is computed by >>winograd instead. Depthwise convolutions are in >>depthwise.

   Every output is one chain of multiply-adds in the order bias, k = 0 … K-1, whatever the tile, batch or thread, so the
   bits depend on none of them. (Winograd's products begin without the bias; reid__is_thin has an order of its own.) */
#define REID__BLOCK_FLOATS 131072 /* inputs of a block of pixels: 512 KiB stay in L2 while panels pass by */
#define REID__BLOCK_POINTERS 4096
#define REID__BLOCK_BYTES 65536 /* outputs of a block: with the residual they stay in L2, too */
#define REID__L2_WEIGHT_BYTES 786432 /* of weights that stay in L2 with a block */
#define REID__AMX_BEHIND 31          /* rows that AMX reads past a block's: arenas and blocks have room for them */
#define REID__GATHERED 262144        /* floats of a block whose inputs are gathered: 1 MiB */
#define REID__MAX_TAPS 49            /* of a convolution: 7 x 7 */

/* A squeeze's factors multiply a projection's inputs, or its weights if an image has more pixels than these columns. */
static int reid__scales_weights(const reid__op *op) {
    return op->scale != REID__NONE && !reid__is_narrow(op) && op->oc < op->oh * op->ow;
}

static int reid__scales_inputs(const reid__op *op) { return op->scale != REID__NONE && !reid__scales_weights(op); }

/* Floats from one scaled pixel to the next. AMX reads whole steps of its channels, so the last step ends in zeros. */
static size_t reid__scaled_floats(const reid__op *op, int c) {
    return (size_t)(reid__pad_run(c, op->element) / reid__per_word(op->element));
}

/* The memory of one thread, carved out of the lane's. */
typedef struct reid__thread_memory {
    const void **rows;  /* [REID__BLOCK_POINTERS] */
    float *block;       /* inputs of a block, scaled or side by side; squeeze-excite vectors */
    uint8_t *pixels;    /* (height, width, 3): the network's view of an image */
    void *prep;         /* reid__prep_rows */
    void *prep_apart;   /* scratch for reid_preprocess, while the lane computes */
    int preparing;      /* prep_apart is in use; guarded by the handle's mutex */
    ptrdiff_t tap_at[REID__MAX_TAPS]; /* reid__tile.tap_at */
    int in_use;         /* AMX's registers */
    int taken;          /* parts of this thread's share that have been begun */
    ptrdiff_t held;     /* the first of Winograd's tiles whose inputs `block` holds, or -1 */
} reid__thread_memory;

/* The activations and threads with which one call computes. */
typedef struct reid__lane {
    reid__team team;
    float *arena;
    reid__thread_memory *scratch; /* [threads] */
    uint32_t *clipped;     /* INT8: [batch] saturated values of each image; NULL: not counted */
    int busy;
} reid__lane;

/* What every call reads when it runs a network. */
typedef struct reid__net {
    const reid__plan *plan;
    const reid__kernels *kernels;
    const float *weights;  /* packed */
    const float *zeros;    /* a pixel outside an image, as wide as the widest pixel */
    const reid__prep *prep;
    int batch, slots;      /* images of a late arena; early arenas */
} reid__net;

typedef struct reid__job reid__job;

/* A part of an operation and its thread: pixels (or tiles, rows, images) [from, to), panels [first, last). */
typedef struct reid__part { int thread; ptrdiff_t from, to, first, last; } reid__part;

typedef void (*reid__part_fn)(const reid__job *j, const reid__part *p);

/* One operation on one batch. */
struct reid__job {
    const reid__net *net;
    reid__team *team;             /* NULL: one thread, the caller */
    reid__thread_memory *scratch; /* [threads] */
    float *early, *late;   /* arenas: of one image, and of `room` images */
    int room, at;          /* image 0 of this job is number `at` of the late arena */
    const reid__op *op;
    const reid_image *images;
    int n;                 /* images */
    int first, flip;       /* preprocessing: index in the call, mirror */
    int parts_m, parts_n;  /* how the work is cut */
    reid__part_fn part;
    ptrdiff_t count, panels;
    int *begun;            /* how many images the members have begun */
    uint32_t *clipped;     /* the lane's, by number in the late arena */
};

/* Defined in later sections, called by the loops below. */
static void reid__winograd_part(const reid__job *j, const reid__part *p);
static void reid__depthwise_part(const reid__job *j, const reid__part *p);
static void reid__depthwise_grid(reid__job *j);

/* Image i of a buffer. Early ones hold one image. */
static float *reid__at(const reid__job *j, int buffer, int i) {
    const reid__buffer *b = &j->net->plan->buffers[buffer];
    REID_ASSERT(buffer >= 0 && buffer < j->net->plan->buffer_count && i >= 0 && j->at + i < j->room);
    if (!b->late) return j->early + b->offset;
    return j->late + b->offset * (size_t)j->room + b->floats * (size_t)(j->at + i);
}

/* The address of value `index` of image i of a buffer, or of later images, whatever the type. */
static char *reid__value_at(const reid__job *j, int buffer, int i, ptrdiff_t index) {
    return (char *)reid__at(j, buffer, i) + index * j->net->plan->buffers[buffer].bytes;
}

static const reid__gemm *reid__gemm_of(const reid__job *j) { return reid__gemm_for(j->net->kernels, j->op); }

static reid__job reid__job_init(const reid__net *net, reid__lane *lane) {
    reid__job j;
    memset(&j, 0, sizeof j);
    j.net = net, j.team = &lane->team, j.scratch = lane->scratch, j.room = net->batch;
    j.late = lane->arena, j.early = lane->arena + net->plan->carried_floats * (size_t)net->batch;
    j.clipped = lane->clipped;
    return j;
}

static int reid__threads(const reid__job *j) { return j->team ? j->team->size : 1; }

/* Part `index` of `parts` of [0, count): in order, and as equal as possible. */
static void reid__share(ptrdiff_t count, int parts, int index, ptrdiff_t *from, ptrdiff_t *to) {
    *from = count * index / parts, *to = count * (index + 1) / parts;
}

/* A member does its own share of the parts, whose inputs may be in its cache, and then the rest of the others' shares,
   so that a slow core, or one that the system has taken away, does not hold up the team. */
static void reid__member_parts(void *task, int index) {
    const reid__job *j = (const reid__job *)task;
    int members = reid__threads(j);
    for (int i = 0; i < members; i++) {
        ptrdiff_t from, to, part;
        int owner = (index + i) % members, *taken = &j->scratch[owner].taken;
        reid__share((ptrdiff_t)j->parts_m * j->parts_n, members, owner, &from, &to);
        while ((part = from + __atomic_fetch_add(taken, 1, __ATOMIC_RELAXED)) < to) {
            reid__part p = {index, 0, 0, 0, 0};
            reid__share(j->count, j->parts_m, (int)part / j->parts_n, &p.from, &p.to);
            reid__share(j->panels, j->parts_n, (int)part % j->parts_n, &p.first, &p.last);
            j->part(j, &p);
        }
    }
    if (j->net->kernels->narrow.release) j->net->kernels->narrow.release(&j->scratch[index].in_use);
}

static void reid__run_parts(reid__job *j, reid__part_fn part, ptrdiff_t count, int panels) {
    j->part = part, j->count = count, j->panels = panels;
    if (count < j->parts_m) j->parts_m = (int)count; /* others would wake threads for nothing */
    for (int i = 0; i < reid__threads(j); i++) j->scratch[i].taken = 0, j->scratch[i].held = -1;
    if (j->team) reid__parallel(j->team, reid__member_parts, j, reid__min(j->team->size, j->parts_m * j->parts_n));
    else reid__member_parts(j, 0);
}

/* The addresses of a window's inputs, position by position: the first plus offsets[i]; zeros outside the image. */
static void reid__window_rows(const reid__job *j, const char *image, int y0, int x0, const ptrdiff_t *offsets,
                              const void **rows) {
    const reid__op *op = j->op;
    const reid__buffer *in = &j->net->plan->buffers[op->in];
    ptrdiff_t pixel = in->c * in->bytes;
    if (y0 >= 0 && y0 + op->kh <= op->ih && x0 >= 0 && x0 + op->kw <= op->iw) {
        const char *first = image + ((ptrdiff_t)y0 * in->w + x0) * pixel;
        for (int i = 0; i < op->kh * op->kw; i++) rows[i] = first + offsets[i];
        return;
    }
    for (int ky = 0; ky < op->kh; ky++)
        for (int kx = 0; kx < op->kw; kx++) {
            int y = y0 + ky, x = x0 + kx, inside = y >= 0 && y < op->ih && x >= 0 && x < op->iw;
            *rows++ = inside ? image + ((ptrdiff_t)y * in->w + x) * pixel : (const char *)j->net->zeros;
        }
}

/* Fills rows[r][tap] for the `count` output pixels from m on (counted over all images). */
static void reid__rows(const reid__job *j, ptrdiff_t m, int count, const void **rows, float *block) {
    const reid__op *op = j->op;
    const reid__buffer *in = &j->net->plan->buffers[op->in];
    int pixels = op->oh * op->ow, image = (int)(m / pixels), pixel = (int)(m % pixels), taps = op->kh * op->kw;
    int oy = pixel / op->ow, ox = pixel % op->ow;
    ptrdiff_t offsets[REID__MAX_TAPS];
    for (int i = 0; i < taps; i++) offsets[i] = ((ptrdiff_t)(i / op->kw) * in->w + i % op->kw) * in->c * in->bytes;
    for (int r = 0; r < count; r++, rows += taps) {
        const char *base = (const char *)reid__at(j, op->in, image);
        int y0 = oy * op->stride - op->pad_y, x0 = ox * op->stride - op->pad_x;
        if (reid__scales_inputs(op)) {
            const char *pixel_in = base + ((ptrdiff_t)y0 * in->w + x0) * in->c * in->bytes;
            j->net->kernels->scale(pixel_in, reid__at(j, op->scale, image), block, in->c);
            *rows = block, block += reid__scaled_floats(op, in->c);
        } else {
            reid__window_rows(j, base, y0, x0, offsets, rows);
        }
        if (++ox == op->ow) ox = 0, oy++;
        if (oy == op->oh) oy = 0, image++;
    }
}

/* Sets the inputs of a tile of the stem. The border is stored, and a kernel row is one run of kw * 3 values; 2-byte
   values after a run are finite, and their weights zero. The tile's pixels, from m on, are in one line. */
static void reid__image_inputs(const reid__job *j, ptrdiff_t m, reid__thread_memory *s, reid__tile *t) {
    const reid__op *op = j->op;
    const reid__buffer *in = &j->net->plan->buffers[op->in];
    int pixels = op->oh * op->ow, y = (int)(m % pixels) / op->ow, x = (int)(m % op->ow);
    ptrdiff_t row = reid__image_row(j->net->plan, op);
    y = y * op->stride - op->pad_y + in->border_y, x = x * op->stride - op->pad_x + in->border_x;
    t->matrix = reid__value_at(j, op->in, (int)(m / pixels), y * row + x * 3);
    t->row = 3 * op->stride * in->bytes;
    for (int ky = 0; ky < op->kh; ky++) s->tap_at[ky] = ky * row * in->bytes;
}

/* AMX multiplies rows of inputs at equal distances. For 3x3 windows a copy has these: with a zero line above each image
   and a zero before each line, which also serve as the padding below and on the right. Place (y, x) of (oh + 1) x
   (ow + 1) is the output whose window begins there; the results of the last line, and of the last place of each line,
   are discarded. A stride of 2 takes four copies: of the even and odd pixels of the even and odd lines. This reads an
   input once; gathering copies it for every window that contains it. Returns how many outputs' copies fit in a block,
   less the lines in which it begins and ends, one discarded line for each image, and those of the last window. */
static int reid__grid_pixels(const reid__op *op, int c) {
    int lines = REID__GATHERED / ((op->ow + 1) * c / reid__per_word(op->element) * op->stride * op->stride);
    return lines > 3 ? op->ow * reid__max((lines - 3) * op->oh / (op->oh + 1) - 2, 0) : 0;
}

static int reid__uses_grid(const reid__op *op, int c) {
    return op->kh == 3 && op->kw == 3 && op->stride <= 2 && op->pad_y == 1 && op->pad_x == 1 &&
           op->oh == reid__ceil_div(op->ih, op->stride) && op->ow == reid__ceil_div(op->iw, op->stride) &&
           2 * (op->oh + 1) * (op->ow + 1) <= 3 * op->oh * op->ow && reid__pad_run(c, op->element) == c &&
           reid__grid_pixels(op, c) > REID__AMX_BEHIND;
}

/* The place of a pixel; both are counted from the start of the same image. */
static int reid__place_of(const reid__op *op, int pixel) {
    int line = pixel / op->ow;
    return (line + line / op->oh) * (op->ow + 1) + pixel % op->ow;
}

/* Copies every stride-th pixel of line y of an image, from number `phase` - 1 on, to a line of the grid. */
static void reid__copy_line(const reid__job *j, int image, int y, int phase, char *to) {
    const reid__op *op = j->op;
    size_t pixel = (size_t)(j->net->plan->buffers[op->in].c * 4 / reid__per_word(op->element));
    const char *from = NULL;
    if (y >= 0 && y < op->ih) from = reid__value_at(j, op->in, image, 0) + (size_t)(y * op->iw) * pixel;
    if (from && op->stride == 1) {
        memset(to, 0, pixel);
        memcpy(to + pixel, from, (size_t)op->iw * pixel);
        return;
    }
    for (int x = phase - 1; x < (op->ow + 1) * op->stride - 1; x += op->stride, to += pixel)
        if (from && x >= 0 && x < op->iw) memcpy(to, from + (size_t)x * pixel, pixel);
        else memset(to, 0, pixel);
}

/* Makes the copies that reid__grid_pixels describes, for `count` pixels from m on. Returns the number of places. */
static int reid__copy_grid(const reid__job *j, ptrdiff_t m, int n, reid__thread_memory *s, char *block, reid__tile *t) {
    const reid__op *op = j->op;
    int pixels = op->oh * op->ow, image = (int)(m / pixels), grid = op->ow + 1, stride = op->stride;
    int from = reid__place_of(op, (int)(m % pixels)), to = reid__place_of(op, (int)(m % pixels) + n - 1);
    int top = from / grid, lines = to / grid - top + 1 + 2 / stride;
    ptrdiff_t pixel = j->net->plan->buffers[op->in].c * 4 / reid__per_word(op->element), line = grid * pixel;
    for (int phase = 0; phase < stride * stride; phase++)
        for (int i = 0; i < lines; i++) {
            int at = (top + i) % (op->oh + 1);
            reid__copy_line(j, image + (top + i) / (op->oh + 1), at * stride + phase / stride - 1, phase % stride,
                            block + (phase * lines + i) * line);
        }
    memset(block + stride * stride * lines * line, 0, (size_t)pixel); /* after the last line */
    t->grid = grid, t->places = (op->oh + 1) * grid, t->x = from;
    t->matrix = block + from % grid * pixel, t->row = pixel;
    for (int tap = 0; tap < 9; tap++) {
        int y = tap / 3, x = tap % 3, phase = y % stride * stride + x % stride;
        s->tap_at[tap] = (phase * lines + y / stride) * line + x / stride * pixel;
    }
    return to - from + 1;
}

/* Gathers the inputs of `count` pixels side by side for AMX, for windows that reid__copy_grid does not handle. */
static void reid__gather(const reid__job *j, int count, reid__thread_memory *s, float *block, reid__tile *t) {
    int c = j->net->plan->buffers[j->op->in].c;
    int words = reid__pad_run(t->kc, j->op->element) / reid__per_word(j->op->element);
    t->matrix = (const char *)block;
    if (j->op->scale != REID__NONE) { /* reid__rows has scaled them into the block */
        t->row = (ptrdiff_t)(reid__scaled_floats(j->op, c) * sizeof *block), s->tap_at[0] = 0;
        return;
    }
    j->net->kernels->narrow.gather(s->rows, count, t->taps, t->kc, block);
    t->row = REID__STEP_BYTES, t->step = t->row * count;
    for (int tap = 0; tap < t->taps; tap++) s->tap_at[tap] = tap * t->step * (words * 4 / REID__STEP_BYTES);
}

/* A tile with the fields that all pixels of an operation share; reid__inputs sets the others. */
static reid__tile reid__tile_of(const reid__job *j, reid__thread_memory *s) {
    const reid__op *op = j->op;
    int stem = reid__is_stem(j->net->plan, op);
    reid__tile t;
    memset(&t, 0, sizeof t);
    t.act = op->act, t.taps = reid__runs(op, stem), t.kc = reid__run_length(op, stem);
    if (op->element == REID__ELEMENT_INT16) t.kc *= 2; /* in bytes, as for INT8 */
    t.a = s->rows, t.tap_at = s->tap_at, t.step = REID__STEP_BYTES, t.in_use = &s->in_use;
    return t;
}

/* Sets the inputs of t to those of `count` pixels from m on. Returns their rows, including discarded ones. */
static int reid__inputs(const reid__job *j, ptrdiff_t m, int n, reid__thread_memory *s, float *block, reid__tile *t) {
    const reid__op *op = j->op;
    const reid__buffer *in = &j->net->plan->buffers[op->in];
    int gathers = reid__gemm_of(j)->gather != NULL;
    if (in->c == 3) {
        reid__image_inputs(j, m, s, t);
    } else if (op->kh * op->kw == 1 && op->stride == 1 && !reid__scales_inputs(op) &&
               (!gathers || reid__pad_run(in->c, op->element) == in->c)) { /* pixels follow each other */
        t->matrix = reid__value_at(j, op->in, 0, m * in->c);
        t->row = in->c * in->bytes, s->tap_at[0] = 0;
    } else if (gathers && reid__uses_grid(op, in->c)) {
        return reid__copy_grid(j, m, n, s, (char *)block, t);
    } else {
        reid__rows(j, m, n, s->rows, block);
        t->a = s->rows;
        if (gathers) reid__gather(j, n, s, block, t);
    }
    return n;
}

/* Multiplies `count` rows, from those of t on, by a panel of `bytes` bytes. Tiles have equal heights, give or take a
   row; AMX's are full, because fewer rows would take as long. Each fetches its share of the `size` bytes at `next`. */
static void reid__tile_rows(const reid__gemm *gemm, reid__tile *t, int n, size_t bytes, const void *next, size_t size) {
    int tiles = reid__ceil_div(n, gemm->mr);
    size_t share = size / (size_t)tiles;
    t->ahead = (uintptr_t)next;
    t->fetch_divisor = t->panel_stays || !share ? INT_MAX : reid__max(1, (int)(bytes / share));
    for (; tiles > 0; tiles--) {
        int height = gemm->gather ? reid__min(n, gemm->mr) : reid__ceil_div(n, tiles), pixels = 0;
        gemm->tile(t, height);
        for (int r = 0, x = t->x; r < height;) pixels += reid__next_run(t, height, &r, &x);
        t->ahead += share;
        if (t->matrix) t->matrix += height * t->row;
        else t->a += (ptrdiff_t)height * t->taps;
        if (t->grid) t->x = (t->x + height) % t->places;
        t->out = (char *)t->out + pixels * t->out_stride;
        if (t->next_out) t->next_out -= pixels * (t->out_stride - t->next_piece);
        if (t->residual) t->residual = (const char *)t->residual + pixels * t->residual_stride;
        n -= height;
    }
}

/* Sets t's weights to those of a panel of output channels, t->ahead to the next panel's. Returns a panel's bytes. */
static size_t reid__panel_weights(const reid__job *j, int panel, reid__tile *t) {
    const reid__op *op = j->op;
    const reid__kernels *k = j->net->kernels;
    int column = panel * k->nr;
    size_t depth = (size_t)t->taps * (size_t)t->kc;
    if (reid__is_narrow(op)) depth = reid__narrow_depth(op, reid__is_stem(j->net->plan, op));
    t->half = reid__padded(op->oc) - column < k->nr, t->b = j->net->weights + op->weight + (size_t)column * depth;
    t->bias = j->net->weights + op->bias + column, t->scale = j->net->weights + op->scales + column;
    int width = t->half ? k->nr / 2 : k->nr;
    size_t floats = depth * (size_t)width;
    t->ahead = (uintptr_t)(t->b + floats);
    if (t->factors) k->scale_rows(t->b, t->factors, (int)depth, width, t->scaled), t->b = t->scaled;
    return floats * sizeof *t->b;
}

/* Computes panels [from, to) for one block of `rows` rows, whose first pixel is m. */
static void reid__conv_block(const reid__job *j, ptrdiff_t m, int rows, const reid__tile *inputs, int from, int to) {
    const reid__op *op = j->op;
    const reid__buffer *out = &j->net->plan->buffers[op->out], *residual = NULL;
    if (op->residual != REID__NONE) residual = &j->net->plan->buffers[op->residual];
    for (int panel = from; panel < to; panel++) {
        int column = panel * j->net->kernels->nr;
        reid__tile t = *inputs;
        t.out_stride = out->c * out->bytes, t.is_signed = out->is_signed, t.wide = out->bytes == 4;
        t.out = reid__value_at(j, op->out, 0, m * out->c + op->channel + column);
        t.next_piece = j->net->kernels->nr * out->bytes;
        t.next_out = rows * t.out_stride + (panel - from) * (rows - 1) * t.next_piece;
        if (residual) {
            t.residual_stride = residual->c * residual->bytes;
            t.residual = reid__value_at(j, op->residual, 0, m * residual->c + column);
            t.added = residual->is_signed ? 2 : 1;
            if (op->element == REID__ELEMENT_INT8) t.residual_scale = reid__residual_scale(j->net->plan->buffers, op);
        }
        size_t bytes = reid__panel_weights(j, panel, &t);
        reid__tile_rows(reid__gemm_of(j), &t, rows, bytes, (const void *)t.ahead, bytes);
    }
}

/* Whether all weights of an operation stay in L2 while AMX computes block after block of pixels. */
static int reid__weights_stay(const reid__job *j) {
    const reid__op *op = j->op;
    if (!reid__gemm_of(j)->gather) return 0;
    return 4 * (size_t)op->oc * reid__narrow_depth(op, reid__is_stem(j->net->plan, op)) <= REID__L2_WEIGHT_BYTES;
}

/* Pixels whose outputs fit in L2 beside a block's inputs. AMX prefetches the next block's outputs, which take the same
   room again; if it must read the weights again for every block, blocks are large enough to make up for it. */
static int reid__block_outputs(const reid__job *j) {
    const reid__op *op = j->op;
    int out = op->oc * j->net->plan->buffers[op->out].bytes;
    if (!reid__gemm_of(j)->gather) return reid__max(REID__BLOCK_BYTES / out, 48);
    if (!reid__weights_stay(j)) return (int)(2 * (size_t)op->oc * reid__narrow_depth(op, 0)) / out;
    return (op->kh == 1 ? REID__BLOCK_BYTES : 2 * REID__BLOCK_BYTES) / out; /* windows: lines are copied twice */
}

/* Pixels of the block that begins at m: as many as the cache and the scratch memory hold, in whole tiles. The last
   block takes a few more, which would otherwise read all weights again: 49 for 7x7 pixels. */
static int reid__conv_pixels(const reid__job *j, ptrdiff_t m, ptrdiff_t left) {
    const reid__op *op = j->op;
    const reid__gemm *gemm = reid__gemm_of(j);
    int c = j->net->plan->buffers[op->in].c;
    int most = REID__BLOCK_FLOATS / (c * reid__min(op->stride, op->kh) * reid__min(op->stride, op->kw));
    if (gemm->gather) {
        most = (int)(REID__GATHERED / reid__narrow_depth(op, c == 3));
        if (reid__uses_grid(op, c)) most = reid__grid_pixels(op, c);
    }
    if (c == 3 && left > op->ow - m % op->ow) left = op->ow - m % op->ow; /* see reid__image_inputs */
    int pixels = op->oh * op->ow, room = reid__min(most, REID__BLOCK_POINTERS / (op->kh * op->kw));
    if (reid__scales_weights(op) && left > pixels - m % pixels) left = pixels - m % pixels;
    most = reid__max(reid__min(room, reid__block_outputs(j)) / gemm->mr, 1) * gemm->mr;
    return left <= reid__max(most, reid__min(room, most + most / 4)) ? (int)left : most;
}

static void reid__conv_part(const reid__job *j, const reid__part *p) {
    reid__thread_memory *s = &j->scratch[p->thread];
    int count;
    for (ptrdiff_t m = p->from; m < p->to && p->first < p->last; m += count) {
        reid__tile inputs = reid__tile_of(j, s);
        count = reid__conv_pixels(j, m, p->to - m);
        int rows = reid__inputs(j, m, count, s, s->block, &inputs);
        inputs.panel_stays = m > p->from && reid__weights_stay(j);
        if (reid__scales_weights(j->op)) {
            inputs.factors = reid__at(j, j->op->scale, (int)(m / (j->op->oh * j->op->ow)));
            inputs.scaled = s->block, inputs.panel_stays = 1;
        }
        reid__conv_block(j, m, rows, &inputs, (int)p->first, (int)p->last);
    }
}

/* Whether a convolution has one output channel, as in fast-reid's non-local blocks: a tile would compute 15 channels of
   padding, too. Its outputs are inner products of each pixel with one vector. */
static int reid__is_thin(const reid__op *op) {
    return op->kind == REID__CONV && op->oc == 1 && op->kh * op->kw * op->stride == 1 && !reid__is_narrow(op) &&
           op->act == REID__LINEAR_ACT && op->residual == REID__NONE && op->scale == REID__NONE;
}

static void reid__thin_part(const reid__job *j, const reid__part *p) {
    const reid__op *op = j->op;
    const float *weights = j->net->weights + op->weight, *bias = j->net->weights + op->bias;
    int c = j->net->plan->buffers[op->in].c, n;
    float *vector = j->scratch[p->thread].block, products[REID__DOTS];
    memset(vector, 0, (size_t)c * sizeof *vector);
    for (int k = 0; k < op->ic; k++) vector[k] = weights[(ptrdiff_t)k * REID__LANES];
    for (ptrdiff_t m = p->from; m < p->to; m += n) {
        float *out = (float *)(void *)reid__value_at(j, op->out, 0, m * REID__LANES);
        n = p->to - m < REID__DOTS ? (int)(p->to - m) : REID__DOTS;
        j->net->kernels->dots(vector, c, (float *)(void *)reid__value_at(j, op->in, 0, m * c), n, products);
        memset(out, 0, (size_t)n * REID__LANES * sizeof *out);
        for (int i = 0; i < n; i++) out[i * REID__LANES] = products[i] + *bias;
    }
}

#define REID__PART_MACS 4e6 /* multiply-adds of a part, at least: some 50 microseconds */

/* Parts of a convolution: several for each member, to balance the load; with AMX one, as every part copies inputs. */
static int reid__part_count(const reid__job *j) {
    int threads = reid__threads(j);
    double parts = (double)reid__op_macs(j->op) * j->n / REID__PART_MACS;
    if (threads == 1 || reid__gemm_of(j)->gather || parts < threads) return threads;
    return parts > 4 * threads ? 4 * threads : (int)parts / threads * threads;
}

/* Costs in units of the product of one tile and one panel (of REID__TILES tiles for Winograd): */
#define REID__STREAM 3.0    /* reading a panel's weights from L3 or memory */
#define REID__REMOTE 1.5    /* reading a tile's inputs of a 1x1 convolution from another core's cache */
#define REID__TRANSFORM 0.3 /* transforming a tile of Winograd's inputs */

/* Cuts M pixels (or Winograd's tiles) times N panels into parts for the team. It chooses the grid of parts that would
   finish first if every member did the same number of them. With pixels cut, members find most of their inputs in their
   own cache; with panels cut, each weight is read only once. Half as many parts are chosen only if that saves a
   twentieth of the time; of equally fast grids, the one with fewer parts of N. */
static void reid__conv_grid(reid__job *j) {
    const reid__op *op = j->op;
    int height = op->winograd ? REID__TILES : reid__gemm_of(j)->mr;
    int panels = reid__ceil_div(reid__padded(op->oc), j->net->kernels->nr);
    ptrdiff_t pixels = (ptrdiff_t)j->n * op->oh * op->ow;
    ptrdiff_t tiles = ((op->winograd ? (ptrdiff_t)j->n * reid__winograd_tiles(op) : pixels) + height - 1) / height;
    int most = reid__part_count(j), threads = reid__threads(j);
    double best = -1, remote = (double)tiles * (op->winograd ? REID__REMOTE / 2 : REID__REMOTE / reid__taps(op));
    for (int parts = most; parts >= reid__min(most, 2 * threads); parts /= 2)
        for (int parts_n = 1; parts_n <= parts; parts_n++) {
            if (parts % parts_n) continue;
            int parts_m = parts / parts_n, turns = parts / threads;
            double rows = (double)((tiles + parts_m - 1) / parts_m), columns = reid__ceil_div(panels, parts_n);
            double cost = columns * (rows > REID__STREAM ? rows : REID__STREAM);
            if (op->winograd) cost += rows * REID__TRANSFORM / reid__min(turns, parts_n); /* parts share these */
            cost = cost * turns + (parts_m < threads ? remote : 0);
            cost *= (parts < most ? 1.05 : 1) + 0.005 * parts_n;
            if (best < 0 || cost < best) best = cost, j->parts_m = parts_m, j->parts_n = parts_n;
        }
}

static void reid__maxpool_part(const reid__job *j, const reid__part *p) {
    const reid__op *op = j->op;
    int c = j->net->plan->buffers[op->out].c;
    for (ptrdiff_t row = p->from; row < p->to; row++) {
        int image = (int)(row / op->oh), oy = (int)(row % op->oh);
        j->net->kernels->maxpool(op, c, reid__at(j, op->in, image), oy,
                                 reid__value_at(j, op->out, image, (ptrdiff_t)oy * op->ow * c));
    }
}

/* Channels in a piece of work, and pieces of an image, or of a pool's bin. A squeeze needs all channels. */
static int reid__piece(const reid__op *op) {
    if (op->kind == REID__SQUEEZE) return reid__padded(op->oc);
    return op->kind == REID__POOL ? 256 : op->kind == REID__INSTANCE ? 32 : REID__LANES;
}

static int reid__pieces(const reid__op *op) { return reid__ceil_div(reid__padded(op->oc), reid__piece(op)); }

/* Pools, squeezes and instance norm: a piece of the channels of a bin, or of an image. */
static void reid__piece_part(const reid__job *j, const reid__part *p) {
    const reid__op *op = j->op;
    const reid__buffer *in = &j->net->plan->buffers[op->in];
    const reid__kernels *k = j->net->kernels;
    float step = in->bytes == 1 ? (float)reid__byte_step(in) : 1;
    int c = j->net->plan->buffers[op->out].c, bins = op->kind == REID__POOL ? op->oh * op->ow : 1;
    for (ptrdiff_t at = p->from; at < p->to; at++) {
        int image = (int)(at / reid__pieces(op) / bins), bin = (int)(at / reid__pieces(op) % bins);
        int first = (int)(at % reid__pieces(op)) * reid__piece(op), last = reid__min(c, first + reid__piece(op));
        float *from = reid__at(j, op->in, image), *to = reid__at(j, op->out, image) + (ptrdiff_t)bin * c;
        if (op->kind == REID__POOL) k->pool(op, c, first, last, from, step, bin, j->net->weights, to);
        else if (op->kind == REID__SQUEEZE) k->squeeze(op, c, from, j->net->weights, j->scratch[p->thread].block, to);
        else
            k->instance(op, c, first, last, from, op->residual == REID__NONE ? NULL : reid__at(j, op->residual, image),
                        j->net->weights, to);
    }
}

/* Computes REID__LANES channels of an image; key times value comes first, so that no matrix has (pixels, pixels). */
static void reid__nonlocal_part(const reid__job *j, const reid__part *p) {
    const reid__op *op = j->op;
    const reid__buffer *out = &j->net->plan->buffers[op->out];
    int pixels = op->oh * op->ow, pieces = reid__pieces(op);
    float *square = j->scratch[p->thread].block, *rows = square + (size_t)out->c * REID__LANES;
    for (ptrdiff_t at = p->from; at < p->to; at++) {
        int image = (int)(at / pieces), first = (int)(at % pieces) * REID__LANES;
        j->net->kernels->nonlocal(reid__at(j, op->in, image), reid__at(j, op->key, image),
                                  reid__at(j, op->value, image), pixels, out->c, first, square, rows);
        for (int i = 0; i < pixels; i++) {
            char *to = reid__value_at(j, op->out, image, (ptrdiff_t)i * out->c + first);
            if (out->bytes < 4) j->net->kernels->store(rows + i * REID__LANES, to, REID__LANES);
            else memcpy(to, rows + i * REID__LANES, REID__LANES * sizeof *rows);
        }
    }
}

/* INT8: counts the bytes that are 255, eight at a time, with sums of up to 255 in each byte. count: a multiple of 8. */
static uint32_t reid__count_full(const void *bytes, ptrdiff_t count) {
    const uint64_t ones = 0x0101010101010101u, low = 0x7f * ones;
    const char *from = (const char *)bytes, *end = from + count;
    uint32_t sum = 0;
    while (from < end) {
        uint64_t eight, sums = 0;
        for (const char *stop = end - from < 2040 ? end : from + 2040; from < stop; from += 8) {
            memcpy(&eight, from, 8);
            sums += ((eight & low) + ones) >> 7 & eight >> 7 & ones;
        }
        for (int i = 0; i < 64; i += 8) sum += (uint32_t)(sums >> i & 255);
    }
    return sum;
}

static void reid__clipped_part(const reid__job *j, const reid__part *p) {
    const reid__op *op = j->op;
    ptrdiff_t line = (ptrdiff_t)op->ow * j->net->plan->buffers[op->out].c;
    for (ptrdiff_t row = p->from; row < p->to; row++) {
        int image = (int)(row / op->oh);
        uint32_t full = reid__count_full(reid__value_at(j, op->out, image, row % op->oh * line), line);
        if (full) __atomic_fetch_add(&j->clipped[j->at + image], full, __ATOMIC_RELAXED);
    }
}

/* INT8: whether saturated outputs are counted: those of convolutions with a ReLU and no residual, as good as all. */
static int reid__counts_clipped(const reid__plan *p, const reid__op *op) {
    return reid__makes_bytes(p->buffers, op) && op->act == REID__RELU && op->residual == REID__NONE;
}

/* tanh by Lambert's continued fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))) (dlmf.nist.gov/4.39): 15 terms are good to
   2e-11 up to 9.02; beyond, it is 1 in FP32. There is no multiply-add to fuse, so the bits are the same everywhere. */
static float reid__tanh(float x) {
    double v = x > 9.02f ? 9.02 : x < -9.02f ? -9.02 : x, square = v * v, part = 31; /* a NaN stays a NaN */
    for (int odd = 29; odd > 0; odd -= 2) part = odd + square / part;
    return (float)(v / part);
}

static void reid__run_op(reid__job *j) {
    const reid__op *op = j->op;
    int threads = reid__threads(j), panels = reid__ceil_div(reid__padded(op->oc), j->net->kernels->nr);
    ptrdiff_t rows = (ptrdiff_t)j->n * op->oh, tiles = (ptrdiff_t)j->n * reid__winograd_tiles(op);
    j->parts_m = threads, j->parts_n = 1;
    if (op->fused) return;
    switch (op->kind) {
    case REID__CONV:
    case REID__LINEAR:
        reid__conv_grid(j);
        if (reid__is_thin(op)) reid__run_parts(j, reid__thin_part, rows * op->ow, 1);
        else if (op->winograd) reid__run_parts(j, reid__winograd_part, tiles, panels);
        else reid__run_parts(j, reid__conv_part, rows * op->ow, panels);
        for (int i = 0; op->act == REID__TANH && i < j->n; i++) { /* of a head: a thousandth of a network's time */
            float *row = reid__at(j, op->out, i) + op->channel;
            for (int c = 0; c < op->oc; c++) row[c] = reid__tanh(row[c]);
        }
        break;
    case REID__DEPTHWISE:
        reid__depthwise_grid(j);
        reid__run_parts(j, reid__depthwise_part, rows, panels);
        break;
    case REID__MAXPOOL: reid__run_parts(j, reid__maxpool_part, rows, 1); break;
    case REID__POOL: reid__run_parts(j, reid__piece_part, rows * op->ow * reid__pieces(op), 1); break;
    case REID__SQUEEZE:
    case REID__INSTANCE: reid__run_parts(j, reid__piece_part, (ptrdiff_t)j->n * reid__pieces(op), 1); break;
    case REID__NONLOCAL: reid__run_parts(j, reid__nonlocal_part, (ptrdiff_t)j->n * reid__pieces(op), 1); break;
    case REID__NORMALISE: break; /* after the average with the mirrored image: reid__cpu_embed */
    }
}

/* Prepares rows [y0, y1) of image `i` of the batch: resizes, normalises, and writes them with their zero border. */
static void reid__prepare_rows(const reid__job *j, int i, int y0, int y1, const reid__thread_memory *s) {
    const reid__prep *prep = j->net->prep;
    const reid__op *stem = j->op;
    const reid__buffer *b = &j->net->plan->buffers[stem->in];
    int row = reid__image_row(j->net->plan, stem);
    reid_box roi;
    reid__image_check(&j->images[i], j->first + i, &roi, NULL); /* cannot fail: the call checked it before */
    reid__prep_rows(prep, &j->images[i], &roi, j->flip, y0, y1, s->pixels, s->prep);
    if (y0 == 0) memset(reid__at(j, stem->in, i), 0, (size_t)(b->border_y * row * b->bytes));
    for (int y = y0; y < y1; y++) {
        const uint8_t *pixels = s->pixels + (ptrdiff_t)(y - y0) * prep->width * 3;
        char *to = reid__value_at(j, stem->in, i, (ptrdiff_t)(b->border_y + y) * row);
        float *line = b->bytes == 4 ? (float *)(void *)to : s->block;
        memset(line, 0, (size_t)row * sizeof *line);
        reid__prep_normalise(prep, pixels, line + 3 * b->border_x, prep->width);
        if (b->bytes < 4) j->net->kernels->store(line, to, row);
    }
    char *below = reid__value_at(j, stem->in, i, (ptrdiff_t)(b->border_y + prep->height) * row);
    char *end = (char *)(reid__at(j, stem->in, i) + b->floats);
    if (y1 == prep->height) memset(below, 0, (size_t)(end - below));
}

/* Number of bands of rows into which each image is cut. */
static int reid__bands(const reid__job *j) { return reid__ceil_div(j->parts_m, j->n); }

static void reid__prepare_part(const reid__job *j, const reid__part *p) {
    int bands = reid__bands(j);
    ptrdiff_t y0, y1;
    for (ptrdiff_t at = p->from; at < p->to; at++) {
        reid__share(j->net->prep->height, bands, (int)(at % bands), &y0, &y1);
        if (y0 < y1) reid__prepare_rows(j, (int)(at / bands), (int)y0, (int)y1, &j->scratch[p->thread]);
    }
}

static void reid__prepare(reid__job *j) {
    j->op = &j->net->plan->ops[0], j->parts_m = reid__threads(j), j->parts_n = 1;
    reid__run_parts(j, reid__prepare_part, (ptrdiff_t)j->n * reid__bands(j), 1);
}

static void reid__run_ops(reid__job *j, int from, int to) {
    for (int i = from; i < to; i++) {
        j->op = &j->net->plan->ops[i];
        reid__run_op(j);
        if (!j->clipped || !reid__counts_clipped(j->net->plan, j->op)) continue;
        j->parts_m = reid__threads(j), j->parts_n = 1;
        reid__run_parts(j, reid__clipped_part, (ptrdiff_t)j->n * j->op->oh, 1);
    }
}

/* Runs image i of the batch up to the split. Changes *j. */
static void reid__run_early(reid__job *j, int i) {
    j->images += i, j->first += i, j->at += i, j->n = 1;
    reid__prepare(j);
    reid__run_ops(j, 0, j->net->plan->split);
}

/* Runs reid__run_early for images that no thread has begun yet, on one thread with its own early arena. */
static void reid__run_share(void *task, int index) {
    const reid__job *batch = (const reid__job *)task;
    for (int i; (i = __atomic_fetch_add(batch->begun, 1, __ATOMIC_RELAXED)) < batch->n;) {
        reid__job j = *batch;
        j.team = NULL, j.scratch += index, j.early += j.net->plan->early_floats * (size_t)index;
        reid__run_early(&j, i);
    }
}

/* Computes the embeddings of j->n <= room images. The first operations have large activations and few weights: each
   image goes through them by itself, while it is in the cache, and if there are enough images every thread has its own.
   The last operations have small activations and many weights, which are read once for the whole batch. */
static void reid__run_batch(reid__job *j) {
    int threads = reid__threads(j), shared = 0, n = j->n, begun = 0;
    j->begun = &begun;
    if (j->net->slots >= threads) {
        shared = n - n % threads; /* the team does the rest together, unless it nearly fills another turn */
        if (4 * (n - shared) >= 3 * threads) shared = n;
        j->n = shared;
        if (shared) reid__parallel(j->team, reid__run_share, j, threads);
    }
    for (int i = shared; i < n; i++) {
        reid__job one = *j;
        reid__run_early(&one, i);
    }
    j->n = n;
    reid__run_ops(j, j->net->plan->split, j->net->plan->op_count);
}

#define REID__CLIPPED 3e-5 /* by experiment: tools/results/int8/README.md */

/* INT8: an image exceeds the ranges if more of its outputs than this saturate, over one or two passes: see INT8. */
static double reid__most_clipped(const reid__plan *p, int passes) {
    double values = 0;
    for (const reid__op *op = p->ops; op < p->ops + p->op_count; op++)
        if (reid__counts_clipped(p, op)) values += (double)op->oh * op->ow * op->oc;
    return REID__CLIPPED * values * passes;
}

typedef struct reid__call {
    reid_ctx *ctx;
    const reid_image *images;
    int n;
    float *out;
    unsigned char *saturated;
    reid_error *e;
} reid__call;

/* In >>public: takes rows first ... first + n - 1 of a call. clipped: (n), saturated outputs in INT8, or NULL. */
static reid_result reid__take_rows(const reid__call *call, const uint32_t *clipped, int first, int n);

/* Computes the embeddings (n, dim) of at most a batch, not normalised yet; `both`: averaged with mirrored images. */
static void reid__run(const reid__net *net, reid__lane *lane, const reid_image *images, int n, int both, float *out) {
    const reid__plan *p = net->plan;
    reid__job j = reid__job_init(net, lane);
    REID_ASSERT(n >= 1 && n <= net->batch && lane->busy);
    j.images = images, j.n = n;
    if (j.clipped) memset(j.clipped, 0, (size_t)n * sizeof *j.clipped);
    for (j.flip = 0; j.flip <= both; j.flip++) {
        reid__run_batch(&j);
        for (int i = 0; i < n; i++) {
            const float *from = reid__at(&j, p->embedding, i);
            float *to = out + (size_t)i * (size_t)p->dim;
            for (int c = 0; c < p->dim; c++) to[c] = j.flip ? 0.5f * (to[c] + from[c]) : from[c];
        }
    }
}

/* --------------------------------------------------------------------------------------------------------------------
   >>winograd
   3x3 convolutions by Winograd's F(4x4, 3x3), where reid__winograd_pays: tiles of 4 x 4 outputs from 6 x 6 inputs. */
#define REID__WINOGRAD_FLOATS 196608 /* inputs and products of a block of tiles, in all points: 768 KiB */
#define REID__MADE_GROUPS 3 /* from this number of groups of tiles on, weights are made beforehand: by experiment */

/* The position of a 4x4 tile of outputs; tiles are counted over all images. */
typedef struct reid__tile_origin { int image, y, x; } reid__tile_origin;

static reid__tile_origin reid__tile_origin_of(const reid__op *op, ptrdiff_t tile) {
    int across = reid__ceil_div(op->ow, 4), tiles = reid__winograd_tiles(op), at = (int)(tile % tiles);
    reid__tile_origin s = {(int)(tile / tiles), at / across * 4, at % across * 4};
    return s;
}

/* Transforms the inputs of `count` tiles: groups of REID__TILES, with all points of a group, three by three. */
static void reid__winograd_inputs(const reid__job *j, ptrdiff_t first, int count, float *out) {
    const reid__op *op = j->op;
    int c = j->net->plan->buffers[op->in].c;
    for (int r = 0; r < count; r++) {
        reid__tile_origin s = reid__tile_origin_of(op, first + r);
        const float *base = reid__at(j, op->in, s.image), *in[REID__POINTS];
        for (int p = 0; p < REID__POINTS; p++) {
            int y = s.y - op->pad_y + p / 6, x = s.x - op->pad_x + p % 6;
            int inside = y >= 0 && y < op->ih && x >= 0 && x < op->iw;
            in[p] = inside ? base + ((ptrdiff_t)y * op->iw + x) * c : j->net->zeros;
        }
        ptrdiff_t group = r / REID__TILES * (REID__POINTS / 3) * reid__three_points(c);
        j->net->kernels->winograd_in(in, c, r % REID__TILES, out + group);
    }
}

/* Computes the products of `count` tiles and one panel, from column `column` on: products [count][REID__POINTS][nr].
   Weights of a row of points are read in two passes for each group of tiles; each pass fetches a share of the next row.
   AVX2 has too few registers to make the weights on the fly, so they are made once for all groups, after `products`. */
static void reid__winograd_products(const reid__job *j, int count, const float *inputs, int column, float *products) {
    const reid__op *op = j->op;
    const reid__kernels *k = j->net->kernels;
    const int nr = k->nr, groups = reid__ceil_div(count, REID__TILES);
    const ptrdiff_t three = reid__three_points(j->net->plan->buffers[op->in].c), floats = 3 * (ptrdiff_t)op->ic * nr;
    const float *weights = j->net->weights + op->weight + (ptrdiff_t)column * op->ic * reid__taps(op);
    float *made = products + (ptrdiff_t)count * REID__POINTS * nr;
    int left = 0, share = reid__ceil_div(3 * nr / 16, 2 * groups);
    reid__points t;
    memset(&t, 0, sizeof t);
    t.c = op->ic, t.made = k->winograd_make && groups >= REID__MADE_GROUPS;
    for (int p = 0; p < REID__POINTS; p += 3) {
        t.last = p % 6 == 3;
        if (!t.last) t.ahead = (uintptr_t)(weights + floats), left = 3 * nr / 16;
        if (!t.last && t.made) k->winograd_make(weights, op->ic, made);
        t.weights = t.made ? made + (t.last ? floats : 0) : weights;
        for (int g = 0; g < groups; g++) {
            t.in = inputs + (g * (REID__POINTS / 3) + p / 3) * three;
            t.out = products + (g * REID__TILES * REID__POINTS + p) * nr;
            t.lines = reid__min(share, left), left -= t.lines;
            j->net->kernels->winograd_product(&t, reid__min(REID__TILES, count - g * REID__TILES));
            t.ahead += (uintptr_t)(64 * t.lines * op->ic);
        }
        if (t.last) weights += floats;
    }
}

/* Computes one panel of output channels for these tiles: the products, and their pixels. */
static void reid__winograd_panel(const reid__job *j, ptrdiff_t first, int count, const float *inputs, float *products,
                                 int panel) {
    const reid__op *op = j->op;
    const reid__kernels *k = j->net->kernels;
    int column = panel * k->nr;
    ptrdiff_t pixel = j->net->plan->buffers[op->out].c, row = pixel * op->ow;
    reid__winograd_products(j, count, inputs, column, products);
    for (int r = 0; r < count; r++) {
        reid__tile_origin s = reid__tile_origin_of(op, first + r);
        float *out = reid__at(j, op->out, s.image) + s.y * row + s.x * pixel + op->channel + column;
        k->winograd_out(products + (ptrdiff_t)r * REID__POINTS * k->nr, j->net->weights + op->bias + column, out, row,
                        pixel, reid__min(4, op->oh - s.y), reid__min(4, op->ow - s.x), op->act);
    }
}

/* Tiles of a block. More would read the weights less often, but not fit in L2. */
static int reid__winograd_block(int c, const reid__kernels *k) {
    return REID__WINOGRAD_FLOATS / (REID__POINTS * (c + k->nr)) / REID__TILES * REID__TILES;
}

static void reid__winograd_part(const reid__job *j, const reid__part *p) {
    reid__thread_memory *s = &j->scratch[p->thread];
    int c = j->net->plan->buffers[j->op->in].c, most = reid__winograd_block(c, j->net->kernels);
    ptrdiff_t from = p->from;
    if (p->first == p->last) return;
    for (int blocks = (int)((p->to - from + most - 1) / most); blocks > 0; blocks--) { /* equal, give or take a tile */
        int count = (int)((p->to - from + blocks - 1) / blocks);
        float *products = s->block + reid__ceil_div(count, REID__TILES) * (REID__POINTS / 3) * reid__three_points(c);
        if (s->held != from) reid__winograd_inputs(j, from, count, s->block); /* unless the last part had the same */
        s->held = from;
        for (ptrdiff_t panel = p->first; panel < p->last; panel++)
            reid__winograd_panel(j, from, count, s->block, products, (int)panel);
        from += count;
    }
}

/* --------------------------------------------------------------------------------------------------------------------
   >>depthwise
   A depthwise convolution is computed panel by panel of channels, row by row; the kh input rows under its window are in
   a ring buffer in the cache. If the previous operation is a convolution, it computes each row straight into the ring,
   or several short rows into a buffer first: the expanded tensor, six times as wide as the input, is never stored.
   The ring is always FP32. Rows have a zero border on both sides; above and below the image a row of zeros is read. */
/* Floats of a row of the ring. A pixel takes the same room in the last panel as in the others. */
static ptrdiff_t reid__ring_row(const reid__op *op, int nr) {
    return (ptrdiff_t)reid__max((op->ow - 1) * op->stride + op->kw, op->pad_x + op->iw) * nr;
}

/* Lines of a depthwise convolution's input that are computed together: short lines alone would make tiles of few rows,
   which wait for their sums. Tiles of the stem's inputs cannot continue in the next line. */
static int reid__ring_lines(const reid__plan *p, const reid__op *op) {
    int computed = op > p->ops && op[-1].fused && !reid__is_stem(p, op - 1);
    return computed && op->iw < REID__SHORT_LINE ? reid__ceil_div(REID__LINES_PIXELS, op->iw) : 1;
}

/* Lines of the ring: those under a row's window, and those computed together with the last of them. */
static int reid__ring_depth(const reid__plan *p, const reid__op *op) { return op->kh + reid__ring_lines(p, op) - 1; }

/* The source of a ring's rows: `expands`, if the previous operation is a convolution that computes them. */
typedef struct reid__source {
    reid__job expands;
    reid__tile tile;
    float *lines, *block; /* several computed lines side by side; inputs that are gathered */
    size_t bytes;       /* of the panel's weights */
    int turn, turns;    /* times that lines are computed: so far, and in all */
    const char *later;  /* a panel's share of the next squeeze's weights and the projection's first panel */
    size_t later_bytes;
} reid__source;

static int reid__expands(const reid__job *j) { return j->op > j->net->plan->ops && j->op[-1].fused; }

/* Prefetches a panel's depthwise weights, which are a few cache lines for each position of the kernel. */
static void reid__fetch_window(const reid__job *j, int panel) {
    const reid__op *op = j->op;
    int c = j->net->plan->buffers[op->out].c, nr = j->net->kernels->nr;
    const float *weights = j->net->weights + op->weight + panel * nr;
    for (int tap = 0; tap < op->kh * op->kw; tap++, weights += c)
        for (int at = 0; at < nr; at += REID__LANES) __builtin_prefetch(weights + at, 0, 2);
}

/* Finds the weights of the squeeze and projection after a depthwise convolution, which would wait if not prefetched. */
static void reid__find_later(const reid__job *j, int panel, reid__source *from) {
    const reid__plan *plan = j->net->plan;
    const reid__op *squeeze = j->op + 1, *projection = j->op + 2;
    from->later = (const char *)j->net->weights, from->later_bytes = 0;
    if (projection >= plan->ops + plan->op_count || squeeze->kind != REID__SQUEEZE) return;
    size_t depth = reid__is_narrow(projection) ? reid__narrow_depth(projection, 0) : (size_t)projection->ic;
    size_t floats = projection->weight - squeeze->weight + depth * (size_t)j->net->kernels->nr;
    from->later_bytes = floats * sizeof(float) / (size_t)j->panels;
    from->later = (const char *)(j->net->weights + squeeze->weight) + (size_t)panel * from->later_bytes;
}

/* Sets what the rows of a panel share. */
static void reid__source_init(const reid__job *j, int panel, int rows, reid__thread_memory *s, float *block,
                              reid__source *from) {
    from->expands = *j, from->turn = 0, from->turns = reid__ceil_div(rows, reid__ring_lines(j->net->plan, j->op));
    if (!reid__expands(j)) return;
    from->expands.op--;
    from->tile = reid__tile_of(&from->expands, s);
    from->tile.out_stride = (ptrdiff_t)sizeof(float) * j->net->kernels->nr, from->tile.wide = 1;
    from->bytes = reid__panel_weights(&from->expands, panel, &from->tile), from->lines = block;
    from->block = block + reid__ring_lines(j->net->plan, j->op) * j->op->iw * j->net->kernels->nr;
    reid__find_later(j, panel, from);
}

/* Address of the first pixel of input line y in a ring. */
static float *reid__ring_line(const reid__job *j, float *ring, int y) {
    int nr = j->net->kernels->nr, depth = reid__ring_depth(j->net->plan, j->op);
    return ring + y % depth * reid__ring_row(j->op, nr) + j->op->pad_x * nr;
}

/* Computes `lines` lines of a panel's input, from y on: one in its place, several side by side first. Each call fetches
   a share of the next panel's weights or, every other time, later ones: a few cache lines, lest most be lost. */
static void reid__ring_compute(const reid__job *j, int image, int y, int lines, reid__source *from,
                               reid__thread_memory *s, float *ring) {
    const reid__op *op = j->op;
    int nr = j->net->kernels->nr, pixels = lines * op->iw, turn = from->turn++, later = turn % 2;
    size_t size = (later ? from->later_bytes : from->bytes) / (size_t)reid__max((from->turns + !later) / 2, 1);
    const char *next = (later ? from->later : (const char *)from->tile.b + from->bytes) + (size_t)(turn / 2) * size;
    reid__tile *t = &from->tile;
    reid__inputs(&from->expands, ((ptrdiff_t)image * op->ih + y) * op->iw, pixels, s, from->block, t);
    t->out = lines > 1 ? from->lines : reid__ring_line(j, ring, y);
    reid__tile_rows(reid__gemm_of(&from->expands), t, pixels, from->bytes, next, size);
    if (lines == 1) return;
    size_t floats = (size_t)op->iw * (size_t)nr;
    for (int i = 0; i < lines; i++)
        memcpy(reid__ring_line(j, ring, y + i), from->lines + (size_t)i * floats, floats * sizeof *ring);
}

/* Computes output rows [from, to) of one image and one panel. s->block begins with a row of zeros, then the ring. */
static void reid__depthwise_panel(const reid__job *j, int image, int from, int to, int panel, reid__thread_memory *s) {
    const reid__op *op = j->op;
    const reid__kernels *k = j->net->kernels;
    int c = j->net->plan->buffers[op->out].c, column = panel * k->nr, width = reid__min(k->nr, c - column);
    int depth = reid__ring_depth(j->net->plan, op), together = reid__ring_lines(j->net->plan, op);
    int end = reid__min((to - 1) * op->stride - op->pad_y + op->kh, op->ih);
    ptrdiff_t size = reid__ring_row(op, k->nr);
    float *zeros = s->block, *ring = zeros + size;
    const float *window[REID__MAX_KERNEL];
    reid__source source;
    reid__fetch_window(j, panel + 1);
    reid__source_init(j, panel, (to - from) * op->stride, s, ring + depth * size, &source);
    for (int oy = from, next = 0; oy < to; oy++) {
        int top = oy * op->stride - op->pad_y, bottom = reid__min(top + op->kh, op->ih), lines;
        for (next = reid__max(next, top); next < bottom; next += lines) {
            lines = reid__min(together, end - next);
            if (reid__expands(j)) reid__ring_compute(j, image, next, lines, &source, s, ring);
            else
                k->load(reid__value_at(j, op->in, image, (ptrdiff_t)next * op->iw * c + column), c, op->iw, width,
                        reid__ring_line(j, ring, next));
        }
        for (int ky = 0; ky < op->kh; ky++) {
            int y = top + ky;
            window[ky] = y >= 0 && y < op->ih ? ring + y % depth * size : zeros;
        }
        k->depthwise(op, c, width, window, j->net->weights + op->weight + column, j->net->weights + op->bias + column,
                     reid__value_at(j, op->out, image, (ptrdiff_t)oy * op->ow * c + column),
                     reid__at(j, op->sums, image) + (ptrdiff_t)oy * c + column);
    }
}

static void reid__depthwise_part(const reid__job *j, const reid__part *p) {
    const reid__op *op = j->op;
    float *ring = j->scratch[p->thread].block;
    size_t lines = (size_t)reid__ring_depth(j->net->plan, op) + 1; /* the borders stay zero */
    int oh = op->oh, count;
    memset(ring, 0, lines * (size_t)reid__ring_row(op, j->net->kernels->nr) * sizeof *ring);
    for (ptrdiff_t from = p->from; from < p->to; from += count) {
        int image = (int)(from / oh), y = (int)(from % oh);
        count = (int)(p->to - from < oh - y ? p->to - from : oh - y);
        for (int panel = (int)p->first; panel < (int)p->last; panel++)
            reid__depthwise_panel(j, image, y, y + count, panel, &j->scratch[p->thread]);
    }
}

/* Cuts output rows times panels to minimise the work of the largest part; at a cut, input rows are computed twice. */
static void reid__depthwise_grid(reid__job *j) {
    const reid__op *op = j->op;
    int panels = reid__ceil_div(j->net->plan->buffers[op->out].c, j->net->kernels->nr), best = 0;
    int parts = reid__part_count(j), threads = reid__threads(j);
    for (int parts_n = 1; parts_n <= parts; parts_n++) {
        int parts_m = parts / parts_n, rows = reid__ceil_div(j->n * op->oh, parts_m) * op->stride;
        int work = (rows + (parts_m > 1 ? op->kh - op->stride : 0)) * reid__ceil_div(panels, parts_n);
        work *= reid__ceil_div(parts_m * parts_n, threads);
        if (best == 0 || work < best) best = work, j->parts_m = parts_m, j->parts_n = parts_n;
    }
}

#endif /* REID_IMPLEMENTATION */
#else /* REID__PASS */

/* --------------------------------------------------------------------------------------------------------------------
   >>kernels
   Included once per instruction set from >>isa. REID__V is a vector of REID__W floats; c is always a padded channel
   count, a multiple of REID__LANES. Weights and biases are zero in the padding, so there are no remainder loops. */
#define REID__NV (REID__W == 16 ? 2 : 16 / REID__W) /* vectors in a row of a panel */
#define REID__PANEL (REID__NV * REID__W) /* columns */
#define REID__RUN (REID__W == 1 ? 4 : 7) /* output pixels that a depthwise convolution computes side by side */
#define REID__MAKES (REID__ISA(point_vectors) == 1)

/* What depends on the type of a pass. */
#if defined(REID__INT8)
#define REID__PICK(fp32, bf16, int8) int8
#elif defined(REID__BF16)
#define REID__PICK(fp32, bf16, int8) bf16
#else
#define REID__PICK(fp32, bf16, int8) fp32
#endif
#define REID__ELEMENT REID__PICK(REID__ELEMENT_FP32, REID__ELEMENT_BF16, REID__ELEMENT_INT8)
#define REID__T REID__PICK(float, uint16_t, uint8_t) /* an activation in memory */
#define REID__GET(p) REID__PICK(REID__LOAD(p), REID__FROM_BF16(p), REID__BYTES(p)) /* loads a vector of them */
#define REID__STEP REID__PICK(1, 2, 4) /* inputs of a pixel that one multiply-add of tile takes */
#define REID__SUM REID__PICK(REID__V, REID__V, REID__I) /* the sums of a tile */
#define REID__START(p) REID__PICK(REID__LOAD(p), REID__LOAD(p), REID__OF(set1_epi32)(0))
#define REID__PUT(p, v) REID__PICK(REID__STORE, REID__F(put), REID__F(put))(p, v)
#define REID__ADD(a, b, c)                                                                                             \
    REID__PICK(REID__FMA, REID__F(dot), int16 ? REID__F(dot_int16)(a, b, c) : REID__F(dot))(a, b, c)
#define REID__OWN(name) REID__PICK(REID__F(name), REID__F(name), NULL) /* functions that INT8's networks do not need */
#define REID__FLOATS(i) REID__OF(cvtepi32_ps)(i)
#define REID__BYTES(p) REID__FLOATS(REID__OF(cvtepu8_epi32)(REID__ISA(octets)(p)))
#ifndef REID__INPUT
#define REID__INPUT(p) REID__PICK(REID__SET1(*(p)), , REID__OF(set1_epi32)(reid__group(p)))
#endif

/* 2^(x * factor) to 6e-8, from 2^-126 to 2^128, which is not finite. The product is n + f, n in eighths, |f| <= 1/16:
   adding 1.5 * 2^20 rounds it to n, then in the low bits of t, with which the table is read; 2^f is 1 + f times the
   best polynomial (Remez, 2.5e-8). */
REID__INLINE REID__V REID__F(exp2)(REID__V x, REID__V factor) {
    const REID__V magic = REID__SET1(1572864.0f), t = REID__FMA(x, factor, magic), minus_n = magic - t;
    const REID__I n = REID__AS_INT(t);
    const REID__I bits = REID__OF(add_epi32)(REID__ISA(lookup)(reid__eighths, n), REID__OF(slli_epi32)(n, 20));
    const REID__V whole = REID__AS_FLOAT(bits), f = REID__FMA(x, factor, minus_n);
    REID__V p = REID__SET1(5.54962218e-2f);
    p = REID__FMA(p, f, REID__SET1(2.40257630e-1f));
    p = REID__FMA(p, f, REID__SET1(6.93147214e-1f));
    return REID__FMA(p, whole * f, whole);
}

/* log2(x) for a normal x > 0, to 6e-8 times max(1, |log2 x|): x = m 2^e, and with s = (m - 1) / (m + 1), |s| < 0.172,
   it is e + s times the best polynomial of s^2 (Remez, 7e-10). m begins at sqrt(1/2), whose bits are subtracted. */
REID__INLINE REID__V REID__F(log2)(REID__V x) {
    const REID__I bits = REID__AS_INT(x);
    const REID__I e = REID__OF(srai_epi32)(REID__OF(sub_epi32)(bits, REID__OF(set1_epi32)(0x3f3504f3)), 23);
    const REID__V one = REID__SET1(1.0f), m = REID__AS_FLOAT(REID__OF(sub_epi32)(bits, REID__OF(slli_epi32)(e, 23)));
    REID__V s = (m - one) / (m + one), square = s * s, p = REID__SET1(4.31735879e-1f);
    p = REID__FMA(p, square, REID__SET1(5.76714384e-1f));
    p = REID__FMA(p, square, REID__SET1(9.61798848e-1f));
    p = REID__FMA(p, square, REID__SET1(2.88539008f));
    return REID__FMA(s, p, REID__OF(cvtepi32_ps)(e));
}

/* x to the power p, at least 2^-126, for x >= 2^-126 and p > 0, to 2e-7 times max(1, p |log2 x|). An infinity becomes a
   NaN, and a NaN stays one: x * 0 is added. */
REID__INLINE REID__V REID__F(power)(REID__V x, float p) {
    const REID__V least = REID__SET1(-126.0f / p), most = REID__SET1(128.0f / p);
    REID__V log = REID__MIN(most, REID__MAX(least, REID__F(log2)(x)));
    return REID__FMA(x, REID__SET1(0.0f), REID__F(exp2)(log, REID__SET1(p)));
}

#ifdef REID__INT8
/* Stores sums as INT8 defines it, in steps of the output; clamping is the ReLU. added: of the tile. */
REID__INLINE void REID__F(emit)(REID__V sum, REID__V scale, REID__V bias, const uint8_t *residual,
                                REID__V residual_scale, const int added, const int is_signed, uint8_t *out) {
    REID__V v = REID__FMA(sum, scale, bias);
    if (added == 1) v = REID__FMA(REID__BYTES(residual), residual_scale, v);
    if (added == 2)
        v = REID__FMA(REID__FLOATS(REID__OF(cvtepi8_epi32)(REID__ISA(octets)(residual))), residual_scale, v);
    v = REID__MIN(v, REID__SET1(is_signed ? 127.0f : 255.0f)); /* to the range of a byte */
    REID__PUT(out, REID__MAX(v, REID__SET1(is_signed ? -128.0f : 0.0f)));
}
#else
/* a / (1 + e^-x): sigmoid if a = 1, SiLU if a = x, off by 1.2e-7 max(1, |x|). Past 87 the sum is 1 or the result 0. */
REID__INLINE REID__V REID__F(over_sigmoid)(REID__V a, REID__V x) {
    x = REID__ISA(clamp)(x, REID__SET1(87.0f));
    const REID__V sum = REID__SET1(1.0f) + REID__F(exp2)(x, REID__SET1(-1.44269504f));
    return REID__PICK(a / sum, a * _mm512_rcp14_ps(sum), ); /* bf16: to 2^-14, as a division takes twice as long */
}

REID__INLINE REID__V REID__F(act)(REID__V x, reid__act act) {
    if (act == REID__RELU) return REID__MAX(REID__SET1(0.0f), x); /* in this order a NaN stays a NaN */
    return act == REID__SILU ? REID__F(over_sigmoid)(x, x) : x;
}

/* Loads the residual of row r of a tile, from channel `at` on. */
REID__INLINE REID__V REID__F(residual)(const reid__tile *t, ptrdiff_t r, int at) {
    return REID__GET((const REID__T *)(const void *)((const char *)t->residual + r * t->residual_stride) + at);
}

/* Stores a finished vector in row r of a tile. */
REID__INLINE void REID__F(emit)(const reid__tile *t, ptrdiff_t r, int at, REID__V v) {
    void *out = (char *)t->out + r * t->out_stride;
    if (sizeof(REID__T) == sizeof(float) || t->wide) REID__STORE((float *)out + at, v);
    else REID__PUT((REID__T *)out + at, v);
}

/* Stores two adjacent vectors. In bf16 they are one cache line, which is faster to store than two halves. */
REID__INLINE void REID__F(emit_two)(const reid__tile *t, ptrdiff_t r, REID__V v, REID__V w) {
#ifdef REID__BF16
    void *out = (char *)t->out + r * t->out_stride;
    if (!t->wide) REID__ISA(istore)(out, (REID__I)_mm512_cvtne2ps_pbh(w, v));
    else REID__STORE((float *)out, v), REID__STORE((float *)out + REID__W, w);
#else
    REID__F(emit)(t, r, 0, v), REID__F(emit)(t, r, REID__W, w);
#endif
}
#endif

/* Prefetches what the end of a tile needs of row r: rows are too far apart for the CPU's own prefetching. */
REID__INLINE void REID__F(fetch_row)(const reid__tile *t, ptrdiff_t r, const int nv) {
    const ptrdiff_t bytes = nv * REID__W * (ptrdiff_t)sizeof(REID__T);
    const char *out = (const char *)t->out + r * t->out_stride;
    REID__UNROLL for (ptrdiff_t at = 0; at < bytes; at += 64) __builtin_prefetch(out + at, 1, 3);
    if (!t->residual) return;
    const char *residual = (const char *)t->residual + r * t->residual_stride;
    REID__UNROLL for (ptrdiff_t at = 0; at < bytes; at += 64) __builtin_prefetch(residual + at, 0, 3);
}

/* A step of tile: nv vectors of weights times mr inputs. int16: its four bytes are two INT16, which only INT8 has. */
REID__INLINE void REID__F(step)(REID__SUM (*acc)[REID__NV], const REID__T *const *a, ptrdiff_t k, const float *b,
                                const int mr, const int nv, const int int16) {
    REID__SUM w[REID__NV];
    (void)int16;
    REID__EACH(j, nv) w[j] = REID__PICK(REID__LOAD, REID__LOAD, REID__ISA(iload))(b + j * REID__W);
    REID__EACH(r, mr) {
        REID__SUM x = REID__INPUT(a[r] + k);
        REID__EACH(j, nv) acc[r][j] = REID__ADD(x, w[j], acc[r][j]);
    }
}

/* Multiplies mr pixels by nv vectors of output channels: mr * nv sums stay in registers over all of K. Every few steps
   it prefetches later weights and a row of outputs, a few cache lines at a time, so as not to hold up current loads.
   These steps are written out, because a loop of their own would reload the rows' addresses at each of its starts. In
   bf16 a step takes two inputs, in INT8 four, and the padding of their run is skipped. */
REID__INLINE void REID__F(tile)(const reid__tile *t, const int mr, const int nv, const int int16) {
    REID__SUM acc[REID__ISA(mr)][REID__NV];
    const float *b = t->b;
    uintptr_t ahead = t->ahead;
    const uintptr_t pace = (uintptr_t)(REID__FETCH * nv * REID__W) * sizeof *b / (uintptr_t)t->fetch_divisor;
    int kc = t->kc, taps = t->taps, row = 0;
    const ptrdiff_t padding = REID__STEP == 1 ? 0 : (reid__pad_run(kc, REID__ELEMENT) - kc) / REID__STEP * nv * REID__W;
    REID__EACH(r, mr) REID__EACH(j, nv) acc[r][j] = REID__START(t->bias + j * REID__W);
    for (int tap = 0; tap < taps; tap++, b += padding) {
        const REID__T *a[REID__ISA(mr)];
        ptrdiff_t k = 0;
        REID__EACH(r, mr) a[r] = (const REID__T *)reid__run_at(t, r, tap);
        for (; kc - k >= REID__FETCH * REID__STEP; k += REID__FETCH * REID__STEP, b += REID__FETCH * nv * REID__W) {
            for (uintptr_t end = ahead + pace; ahead < end; ahead += 64)
                if (t->fetch_divisor <= REID__FEW_TILES) __builtin_prefetch((const void *)ahead, 0, 3);
                else __builtin_prefetch((const void *)ahead, 0, 2);
            if (row < mr) REID__F(fetch_row)(t, row++, nv);
            REID__EACH(i, REID__FETCH) REID__F(step)(acc, a, k + i * REID__STEP, b + i * nv * REID__W, mr, nv, int16);
        }
        for (; k < kc; k += REID__STEP, b += nv * REID__W) REID__F(step)(acc, a, k, b, mr, nv, int16);
    }
#ifdef REID__INT8
    const int added = t->added, is_signed = t->is_signed;
    REID__EACH(r, mr) REID__EACH(j, nv) {
        const int at = j * REID__W;
        const uint8_t *residual = added ? (const uint8_t *)t->residual + r * t->residual_stride + at : NULL;
        REID__F(emit)(REID__FLOATS(acc[r][j]), REID__LOAD(t->scale + at), REID__LOAD(t->bias + at), residual,
                      REID__SET1(t->residual_scale), added, is_signed, (uint8_t *)t->out + r * t->out_stride + at);
    }
}
#else
    if (t->residual) REID__EACH(r, mr) REID__EACH(j, nv) acc[r][j] += REID__F(residual)(t, r, j * REID__W);
    if (t->act == REID__SILU)
        REID__EACH(r, mr) REID__EACH(j, nv) acc[r][j] = REID__F(over_sigmoid)(acc[r][j], acc[r][j]);
    else if (t->act == REID__RELU) REID__EACH(r, mr) REID__EACH(j, nv) acc[r][j] = REID__F(act)(acc[r][j], REID__RELU);
    REID__EACH(r, mr)
        if (nv == 2) REID__F(emit_two)(t, r, acc[r][0], acc[r][1]);
        else REID__EACH(j, nv) REID__F(emit)(t, r, j * REID__W, acc[r][j]);
}
#endif

#ifndef REID__INT8
/* Converts `width` of c channels of `pixels` pixels to FP32: (pixels, REID__PANEL). */
static void REID__F(load)(const void *in, int c, int pixels, int width, float *out) {
    const REID__T *from = (const REID__T *)in;
    for (int x = 0; x < pixels; x++, from += c, out += REID__PANEL)
        for (int v = 0; v < width; v += REID__W) REID__STORE(out + v, REID__GET(from + v));
}

/* Computes `count` neighbouring output pixels of nv channel vectors; rows[ky] + at: the input under kernel position
   (ky, 0) of the first. nv, k, stride and count are constants wherever this is inlined, as is the distance of input
   pixels: sums stay in registers, each weight is loaded once for all of them, each input once for all positions of a
   kernel's row that use it (every other one with a stride of 2), and offsets are part of the instructions. Two vectors
   of seven pixels are 14 chains of multiply-adds; eight keep the units of most CPUs busy. Adds the outputs to sums. */
REID__INLINE void REID__F(depthwise_run)(reid__act act, ptrdiff_t c, const float *const *rows, ptrdiff_t at,
                                         const float *weight, const float *bias, REID__T *out, REID__V *sums,
                                         const int nv, const int k, const int stride, const int count) {
    REID__V acc[REID__NV][REID__RUN];
    REID__EACH(v, nv) REID__EACH(i, count) acc[v][i] = REID__LOAD(bias + v * REID__W);
    REID__UNROLL for (int ky = 0; ky < k; ky++, weight += k * c) {
        const float *in = rows[ky] + at;
        REID__EACH(j, nv * stride) {
            const int v = j / stride, first = j % stride, inputs = count + (k - 1 - first) / stride;
            REID__V x[REID__RUN + REID__MAX_KERNEL - 1];
            __asm__("" : "+r"(in), "+r"(weight)); /* keeps gcc from sharing loads and addresses, for which it spills */
            REID__EACH(i, inputs) {
                x[i] = REID__LOAD(in + (i * stride + first) * REID__PANEL + v * REID__W);
                REID__ISA(in_register)(x[i]);
            }
            REID__UNROLL for (int kx = first; kx < k; kx += stride) {
                REID__V w = REID__LOAD(weight + kx * c + v * REID__W);
                REID__ISA(in_register)(w);
                REID__EACH(i, count) acc[v][i] = REID__FMA(x[i + kx / stride], w, acc[v][i]);
            }
        }
    }
    REID__UNROLL for (int i = 0; i < count; i++, out += c)
        REID__EACH(v, nv) {
            acc[v][i] = REID__F(act)(acc[v][i], act);
            REID__PUT(out + v * REID__W, acc[v][i]);
            sums[v] += acc[v][i];
        }
}

REID__INLINE void REID__F(depthwise_row)(const reid__op *op, ptrdiff_t c, const float *const *rows, ptrdiff_t at,
                                         const float *weight, const float *bias, REID__T *out, float *sums,
                                         const int nv, const int k, const int stride) {
    REID__V sum[REID__NV];
    REID__EACH(v, nv) sum[v] = REID__SET1(0.0f);
    int ox = 0;
    for (; ox + REID__RUN <= op->ow; ox += REID__RUN, at += REID__RUN * stride * REID__PANEL, out += REID__RUN * c)
        REID__F(depthwise_run)(op->act, c, rows, at, weight, bias, out, sum, nv, k, stride, REID__RUN);
    for (; ox < op->ow; ox++, at += stride * REID__PANEL, out += c)
        REID__F(depthwise_run)(op->act, c, rows, at, weight, bias, out, sum, nv, k, stride, 1);
    REID__EACH(v, nv) REID__STORE(sums + v * REID__W, sum[v]);
}

/* Computes one output row of a panel: all vectors together, or one by one in half panels and NEON, where gcc spills. */
REID__INLINE void REID__F(depthwise_rows)(const reid__op *op, ptrdiff_t c, int width, const float *const *rows,
                                          const float *weight, const float *bias, REID__T *out, float *sums,
                                          const int k, const int stride) {
    if (REID__W == REID__LANES ? width == REID__PANEL : REID__W != 4)
        REID__F(depthwise_row)(op, c, rows, 0, weight, bias, out, sums, REID__NV, k, stride);
    else
        for (int v = 0; v < width; v += REID__W)
            REID__F(depthwise_row)(op, c, rows, v, weight + v, bias + v, out + v, sums + v, 1, k, stride);
}

/* One output row of `width` channels: rows[kh], each (pixels, REID__PANEL) FP32 and border included, -> out (ow, c),
   and sums (width), left to right. Weights are (kh, kw, c); reid__efficientnet has 3x3 and 5x5, strides 1 and 2. */
static void REID__F(depthwise)(const reid__op *op, int c, int width, const float *const *rows, const float *weight,
                               const float *bias, void *out, float *sums) {
#define REID__ROW(k, stride) REID__F(depthwise_rows)(op, c, width, rows, weight, bias, (REID__T *)out, sums, k, stride)
    if (op->kw == 3 && op->stride == 1) REID__ROW(3, 1);
    else if (op->kw == 3) REID__ROW(3, 2);
    else if (op->stride == 1) REID__ROW(5, 1);
    else REID__ROW(5, 2);
}

/* Multiplies one pixel by its image's squeeze-excite factors. */
static void REID__F(scale)(const void *in, const float *factors, void *out, int c) {
    for (int v = 0; v < c; v += REID__W)
        REID__PUT((REID__T *)out + v, REID__GET((const REID__T *)in + v) * REID__LOAD(factors + v));
    if (REID__STEP > 1 && reid__pad_run(c, REID__ELEMENT) > c) /* see reid__scaled_floats */
        REID__PUT((REID__T *)out + c, REID__SET1(0.0f));
}

/* y = act(norm(x)) + residual for channels [from, to) of an image. norm: of the first op->normed channels (x - mean) /
   sqrt(variance + eps) * weight + bias, with mean and variance over the image's pixels; means as in pool: each row is
   summed first, then the rows. `out` may be `in`. residual: or NULL. */
static void REID__F(instance)(const reid__op *op, int c, int from, int to, const void *in, const void *residual,
                              const float *weights, void *out) {
    const REID__V pixels = REID__SET1((float)(op->oh * op->ow));
    for (int v = from; v < to; v += REID__W) {
        const REID__T *x = (const REID__T *)in + v, *rest = (const REID__T *)residual + (residual ? v : 0);
        REID__V factor = REID__SET1(1.0f), mean = REID__SET1(0.0f), bias = mean, variance = mean;
        for (int pass = 0; pass < 2 && v < op->normed; pass++) {
            REID__V total = REID__SET1(0.0f);
            for (ptrdiff_t y = 0; y < op->oh; y++) {
                REID__V row = REID__SET1(0.0f);
                for (const REID__T *p = x + y * op->ow * c, *end = p + (ptrdiff_t)op->ow * c; p < end; p += c) {
                    REID__V far = REID__GET(p) - mean;
                    if (pass) row = REID__FMA(far, far, row);
                    else row += far;
                }
                total += row;
            }
            if (pass == 0) mean = total / pixels;
            else variance = total / pixels;
        }
        if (v < op->normed) {
            float spread[REID__W];
            REID__STORE(spread, variance);
            for (int i = 0; i < REID__W; i++) spread[i] = (float)(1 / sqrt((double)spread[i] + op->bn_eps));
            factor = REID__LOAD(spread) * REID__LOAD(weights + op->weight + v);
            bias = REID__LOAD(weights + op->bias + v);
        }
        for (ptrdiff_t i = 0; i < (ptrdiff_t)op->oh * op->ow * c; i += c) {
            REID__V y = REID__F(act)(REID__FMA(REID__GET(x + i) - mean, factor, bias), op->act);
            if (residual) y += REID__GET(rest + i);
            REID__PUT((REID__T *)out + v + i, y);
        }
    }
}
#endif

/* Computes output row oy of a max pool; positions outside the input do not count. max loses a NaN, so x * 0 is added
   up, too: it is zero for every finite x and NaN for others, so an overflow does not go unnoticed. */
static void REID__F(maxpool)(const reid__op *op, int c, const void *from, int oy, void *to) {
    const REID__T *in = (const REID__T *)from;
    REID__T *out = (REID__T *)to;
    int y0 = oy * op->stride - op->pad_y, top = reid__max(0, y0), bottom = reid__min(y0 + op->kh, op->ih);
    for (int ox = 0; ox < op->ow; ox++, out += c) {
        int x0 = ox * op->stride - op->pad_x, left = reid__max(0, x0), right = reid__min(x0 + op->kw, op->iw);
        for (int v = 0; v < c; v += REID__W) {
            REID__V best = REID__GET(in + ((ptrdiff_t)top * op->iw + left) * c + v), poison = REID__SET1(0.0f);
            for (int y = top; y < bottom; y++)
                for (int x = left; x < right; x++) {
                    REID__V value = REID__GET(in + ((ptrdiff_t)y * op->iw + x) * c + v);
                    best = REID__MAX(best, value);
                    poison = REID__FMA(value, REID__SET1(0.0f), poison);
                }
            REID__PUT(out + v, best + poison);
        }
    }
}

/* Computes channels [from, to) of one bin of an adaptive pool, of values in units of `step`: rows floor(i H / bins) to
   ceil((i + 1) H / bins), and columns by the same formula. Each row is summed first, then the rows: shorter chains,
   smaller error. The average, or the generalised mean, mean(x^p)^(1/p) (Radenovic et al., "Fine-tuning CNN image
   retrieval with no human annotation", equation 3; the least x is fast-reid's), then batch norm. */
static void REID__F(pool)(const reid__op *op, int c, int from, int to, const void *in, float step, int bin,
                          const float *weights, float *out) {
    int by = bin / op->ow, bx = bin % op->ow;
    int top = by * op->ih / op->oh, bottom = reid__ceil_div((by + 1) * op->ih, op->oh);
    int left = bx * op->iw / op->ow, right = reid__ceil_div((bx + 1) * op->iw, op->ow);
    const REID__V count = REID__SET1((float)((bottom - top) * (right - left))), least = REID__SET1(1e-6f);
    const float exponent = op->gem ? weights[op->exponent] : 1;
    for (int v = from; v < to; v += REID__W) {
        REID__V total = REID__SET1(0.0f);
        for (int y = top; y < bottom; y++) {
            REID__V row = REID__SET1(0.0f);
            for (int x = left; x < right; x++) {
                REID__V pixel = REID__GET((const REID__T *)in + ((ptrdiff_t)y * op->iw + x) * c + v);
                if (op->gem) pixel = REID__F(power)(REID__MAX(least, pixel * REID__SET1(step)), exponent);
                row += pixel;
            }
            total += row;
        }
        if (!op->gem) total *= REID__SET1(step); /* not for each pixel, where a compiler could fuse it with the sum */
        total /= count;
        if (op->gem) total = REID__F(power)(total, 1 / exponent);
        if (op->bn[0])
            total = REID__FMA(total, REID__LOAD(weights + op->weight + v), REID__LOAD(weights + op->bias + v));
        REID__STORE(out + v, total);
    }
}

#if REID__STEP == 1 /* functions from FP32 to FP32, which the other types share */
/* Channels [at, at + REID__LANES) of (query key^T) value / pixels, where the three are (pixels, c): square = key^T
   value (c, REID__LANES), then out (pixels, REID__LANES) = query square / pixels. Every sum is one chain. */
static void REID__F(nonlocal)(const float *query, const float *key, const float *value, int pixels, int c, int at,
                              float *square, float *out) {
    for (int v = 0; v < REID__LANES; v += REID__W) {
        for (int i = 0; i < c; i += 8) {
            REID__V sums[8];
            REID__EACH(r, 8) sums[r] = REID__SET1(0.0f);
            for (ptrdiff_t p = 0; p < pixels; p++) {
                REID__V x = REID__LOAD(value + p * c + at + v);
                REID__EACH(r, 8) sums[r] = REID__FMA(REID__SET1(key[p * c + i + r]), x, sums[r]);
            }
            REID__EACH(r, 8) REID__STORE(square + (i + r) * REID__LANES + v, sums[r]);
        }
        for (ptrdiff_t p = 0; p < pixels; p++) {
            REID__V sum = REID__SET1(0.0f);
            for (int i = 0; i < c; i++)
                sum = REID__FMA(REID__SET1(query[p * c + i]), REID__LOAD(square + i * REID__LANES + v), sum);
            REID__STORE(out + p * REID__LANES + v, sum / REID__SET1((float)pixels));
        }
    }
}

static void REID__F(scale_rows)(const float *in, const float *factors, int rows, int width, float *out) {
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < width; v += REID__W, in += REID__W, out += REID__W)
            REID__STORE(out, REID__LOAD(in) * REID__SET1(factors[r]));
}

/* out (n) += x[k] * matrix[k], for `count` rows of n numbers. */
REID__INLINE void REID__F(add_rows)(const float *x, const float *matrix, int n, float *out, const int count) {
    for (int v = 0; v < n; v += REID__W) {
        REID__V sum = REID__LOAD(out + v);
        REID__EACH(k, count) sum = REID__FMA(REID__SET1(x[k]), REID__LOAD(matrix + (ptrdiff_t)k * n + v), sum);
        REID__STORE(out + v, sum);
    }
}

/* out (n) = bias + x (k_count) * matrix (k_count, n). The matrix is in memory, so it is read front to back. */
static void REID__F(layer)(const float *x, int k_count, const float *matrix, int n, const float *bias, float *out) {
    int k = 0;
    for (int v = 0; v < n; v += REID__W) REID__STORE(out + v, REID__LOAD(bias + v));
    for (; k + 8 <= k_count; k += 8) REID__F(add_rows)(x + k, matrix + (ptrdiff_t)k * n, n, out, 8);
    for (; k < k_count; k++) REID__F(add_rows)(x + k, matrix + (ptrdiff_t)k * n, n, out, 1);
}

/* Squeeze-excite factors: sums (rows, c) -> mean -> linear, SiLU -> linear, sigmoid -> out (c). scratch: c + hidden. */
static void REID__F(squeeze)(const reid__op *op, int c, const float *sums, const float *weights, float *scratch,
                             float *out) {
    float *mean = scratch, *hidden = scratch + c;
    int h = reid__padded(op->hidden);
    REID__V count = REID__SET1((float)op->ih * (float)op->iw);
    for (int v = 0; v < c; v += REID__W) {
        REID__V total = REID__SET1(0.0f);
        for (int row = 0; row < op->ih; row++) total += REID__LOAD(sums + (ptrdiff_t)row * c + v);
        REID__STORE(mean + v, total / count);
    }
    REID__F(layer)(mean, op->ic, weights + op->weight, h, weights + op->bias, hidden);
    for (int v = 0; v < h; v += REID__W) REID__STORE(hidden + v, REID__F(act)(REID__LOAD(hidden + v), REID__SILU));
    REID__F(layer)(hidden, op->hidden, weights + op->weight2, c, weights + op->bias2, out);
    for (int v = 0; v < c; v += REID__W) {
        REID__V x = REID__LOAD(out + v), one = REID__FMA(x, REID__SET1(0.0f), REID__SET1(1.0f)); /* or NaN */
        REID__STORE(out + v, REID__F(over_sigmoid)(one, x));
    }
}

/* G g on one axis without the factors (1/4, -1/6, -1/6, 1/24, 1/24, 1); winograd_outputs has 24 times these. */
REID__INLINE void REID__F(winograd_taps)(const REID__V g[3], REID__V u[6]) {
    REID__V even = g[0] + g[2], wide = REID__FMA(REID__SET1(4.0f), g[2], g[0]), twice = g[1] + g[1];
    u[0] = g[0], u[1] = even + g[1], u[2] = even - g[1], u[3] = wide + twice;
    u[4] = wide - twice, u[5] = g[2];
}

/* G g on the columns of a panel of filters, [9][ic][nr] to [6][ic][3][nr]; winograd_three does rows, to read less. */
static void REID__F(winograd_filters)(const float *filters, int ic, float *out) {
    const ptrdiff_t count = (ptrdiff_t)ic * REID__PANEL;
    for (ptrdiff_t at = 0; at < count; at += REID__W)
        for (int x = 0; x < 3; x++) {
            REID__V g[3], u[6];
            REID__EACH(y, 3) g[y] = REID__LOAD(filters + (3 * y + x) * count + at);
            REID__F(winograd_taps)(g, u);
            float *to = out + (at / REID__PANEL * 3 + x) * REID__PANEL + at % REID__PANEL;
            REID__EACH(y, 6) REID__STORE(to + 3 * y * count, u[y]);
        }
}

/* Computes the products of `rows` tiles and nv vectors of channels in three points; makes weights in registers. */
REID__INLINE void REID__F(winograd_three)(const reid__points *t, int at, const int rows, const int last) {
    REID__V sum[3][REID__TILES][REID__ISA(point_vectors)];
    const float *in = t->in, *w = t->weights + at;
    const int nv = REID__ISA(point_vectors), width = REID__PANEL, lines = t->lines;
    uintptr_t ahead = t->ahead;
    REID__EACH(p, 3) REID__EACH(r, REID__TILES) REID__EACH(j, nv) sum[p][r][j] = REID__SET1(0.0f);
    for (int k = 0; k < t->c; in += (3 * REID__TILES - 1) * REID__W)
        for (const int end = reid__min(k + REID__W, t->c); k < end; k++, in++, w += 3 * width) {
            REID__V u[REID__ISA(point_vectors)][6];
            for (int i = 0; i < lines; i++, ahead += 64) __builtin_prefetch((const void *)ahead, 0, 3);
            REID__EACH(j, nv) {
                REID__V g[3];
                REID__EACH(x, 3) g[x] = REID__LOAD(w + x * width + j * REID__W);
                REID__F(winograd_taps)(g, u[j]); /* the compiler leaves out the other three points */
            }
            REID__EACH(p, 3) REID__EACH(r, rows) {
                REID__V x = REID__INPUT(in + (p * REID__TILES + r) * REID__W);
                REID__EACH(j, nv) sum[p][r][j] = REID__FMA(x, u[j][last ? p + 3 : p], sum[p][r][j]);
            }
        }
    REID__EACH(p, 3) REID__EACH(r, rows) REID__EACH(j, nv)
        REID__STORE(t->out + (r * REID__POINTS + p) * width + at + j * REID__W, sum[p][r][j]);
}

/* Writes the weights of a row of points, [2][c][3][nr], for winograd_made. */
static void REID__F(winograd_make)(const float *w, int c, float *out) {
    for (int k = 0; k < c; k++, w += 3 * REID__PANEL, out += 3 * REID__PANEL)
        for (int at = 0; at < REID__PANEL; at += REID__W) {
            REID__V g[3], u[6];
            REID__EACH(x, 3) g[x] = REID__LOAD(w + x * REID__PANEL + at);
            REID__F(winograd_taps)(g, u);
            REID__EACH(p, 6) REID__STORE(out + (ptrdiff_t)(p / 3 * c * 3 + p % 3) * REID__PANEL + at, u[p]);
        }
}

/* Like winograd_three, with weights from winograd_make: one point after the other, for all channels of the panel. */
REID__INLINE void REID__F(winograd_made)(const reid__points *t, const int rows) {
    uintptr_t ahead = t->ahead;
    for (int p = 0; p < 3; p++) {
        REID__V sum[REID__TILES][REID__NV];
        const float *in = t->in + p * REID__TILES * REID__W, *w = t->weights + p * REID__PANEL;
        const int lines = p ? 0 : t->lines;
        REID__EACH(r, rows) REID__EACH(j, REID__NV) sum[r][j] = REID__SET1(0.0f);
        for (int k = 0; k < t->c; in += (3 * REID__TILES - 1) * REID__W)
            for (const int end = reid__min(k + REID__W, t->c); k < end; k++, in++, w += 3 * REID__PANEL) {
                REID__V u[REID__NV];
                for (int i = 0; i < lines; i++, ahead += 64) __builtin_prefetch((const void *)ahead, 0, 3);
                REID__EACH(j, REID__NV) u[j] = REID__LOAD(w + j * REID__W);
                REID__EACH(r, rows) {
                    REID__V x = REID__INPUT(in + r * REID__W);
                    REID__EACH(j, REID__NV) sum[r][j] = REID__FMA(x, u[j], sum[r][j]);
                }
            }
        REID__EACH(r, rows) REID__EACH(j, REID__NV)
            REID__STORE(t->out + (r * REID__POINTS + p) * REID__PANEL + j * REID__W, sum[r][j]);
    }
}

/* B' d on one axis: six inputs to six points. All products are explicit multiply-adds: compilers can fuse no others. */
REID__INLINE void REID__F(winograd_points)(const REID__V d[6], REID__V v[6]) {
    const REID__V two = REID__SET1(2.0f), four = REID__SET1(4.0f), minus5 = REID__SET1(-5.0f);
    REID__V even = REID__FMA(REID__SET1(-4.0f), d[2], d[4]), odd = REID__FMA(REID__SET1(-4.0f), d[1], d[3]);
    REID__V even2 = d[4] - d[2], odd2 = d[3] - d[1];
    v[0] = REID__FMA(four, d[0], REID__FMA(minus5, d[2], d[4]));
    v[1] = even + odd, v[2] = even - odd;
    v[3] = REID__FMA(two, odd2, even2), v[4] = REID__FMA(REID__SET1(-2.0f), odd2, even2);
    v[5] = REID__FMA(four, d[1], REID__FMA(minus5, d[3], d[5]));
}

/* 24 A' m on one axis: six points to four outputs. -4 times a number is exact, fused or not. */
REID__INLINE void REID__F(winograd_outputs)(const REID__V m[6], REID__V y[4]) {
    const REID__V minus4 = REID__SET1(-4.0f);
    REID__V sum = minus4 * (m[1] + m[2]), difference = minus4 * (m[1] - m[2]);
    REID__V sum2 = m[3] + m[4], difference2 = m[3] - m[4];
    y[0] = REID__FMA(REID__SET1(6.0f), m[0], sum + sum2), y[1] = REID__FMA(REID__SET1(2.0f), difference2, difference);
    y[2] = REID__FMA(REID__SET1(4.0f), sum2, sum);
    y[3] = REID__FMA(REID__SET1(24.0f), m[5], REID__FMA(REID__SET1(8.0f), difference2, difference));
}

/* B' d B: 6x6 input pixels of c channels to the points: tile `tile` of [12][c / W][3][REID__TILES][W]. */
static void REID__F(winograd_in)(const float *const *in, int c, int tile, float *out) {
    const ptrdiff_t three = reid__three_points(c);
    out += tile * REID__W;
    for (int at = 0; at < c; at += REID__W, out += 3 * REID__TILES * REID__W) {
        REID__V d[6], column[6], v[6][6];
        REID__EACH(x, 6) {
            REID__EACH(y, 6) d[y] = REID__LOAD(in[y * 6 + x] + at);
            REID__F(winograd_points)(d, column);
            REID__EACH(y, 6) v[y][x] = column[y];
        }
        REID__EACH(y, 6) {
            REID__F(winograd_points)(v[y], d);
            REID__EACH(x, 6) REID__STORE(out + (2 * y + x / 3) * three + x % 3 * REID__TILES * REID__W, d[x]);
        }
    }
}

/* A' m A and the bias: the points of a panel's channels to a tile's pixels inside the image. 576 is 24 * 24. */
static void REID__F(winograd_out)(const float *in, const float *bias, float *out, ptrdiff_t row, ptrdiff_t pixel,
                                  int rows, int columns, reid__act act) {
    for (int at = 0; at < REID__PANEL; at += REID__W) {
        REID__V m[6], column[4], y[4][6];
        REID__EACH(j, 6) {
            REID__EACH(i, 6) m[i] = REID__LOAD(in + (i * 6 + j) * REID__PANEL + at);
            REID__F(winograd_outputs)(m, column);
            REID__EACH(i, 4) y[i][j] = column[i];
        }
        REID__EACH(i, 4) {
            REID__F(winograd_outputs)(y[i], m);
            REID__EACH(j, 4)
                if (i < rows && j < columns)
                    REID__STORE(out + i * row + j * pixel + at,
                                REID__F(act)(REID__FMA(REID__SET1(1.0f / 576), m[j], REID__LOAD(bias + at)), act));
        }
    }
}

#if REID__W > 1
/* lanes is a multiple of REID__LANES. */
static void REID__F(add_line)(int32_t *sums, const uint8_t *line, int32_t tap, int lanes) {
    const REID__I t = REID__OF(set1_epi32)(tap);
    for (int i = 0; i < lanes; i += REID__W) {
        REID__I product = REID__OF(mullo_epi32)(REID__OF(cvtepu8_epi32)(REID__ISA(octets)(line + i)), t);
        REID__ISA(istore)(sums + i, REID__OF(add_epi32)(REID__ISA(iload)(sums + i), product));
    }
}

static void REID__F(round_line)(uint8_t *line, const int32_t *sums, int lanes) {
    for (int i = 0; i < lanes; i += REID__LANES) REID__ISA(round)(line + i, sums + i);
}

/* reid__lines.columns: four columns at a time, each in 16 bytes of a vector. Of four source pixels a shuffle picks two
   at a time, widens their red, green, blue and 0 side by side, and multiplies them by the low and by the high bits of
   their taps. The two sums may wrap before they are combined, which does not change the result. */
REID__INLINE int REID__F(columns_of)(const reid__axis *x, const uint8_t *row, ptrdiff_t readable, uint8_t *out,
                                     const int bytes) {
    int32_t sums[REID__LANES];
    uint8_t rounded[REID__LANES];
    REID__I picks[REID__LOADED / 2];
    int i = 0;
    REID__EACH(t, REID__LOADED / 2) picks[t] = REID__ISA(irepeat)(x->picks[t]);
    for (; i + REID__GROUP <= x->count; i += REID__GROUP, out += 3 * REID__GROUP) {
        const reid__window *w = &x->windows[i];
        if (!w->taps || (ptrdiff_t)(w[REID__GROUP - 1].first + w->most) * bytes + 16 > readable) break;
        REID__UNROLL for (int k = 0; k < REID__GROUP; k += REID__W / 4) {
            const int16_t *taps = w->taps + 2 * k;
            const uint8_t *from[REID__W / 4];
            REID__I low = REID__OF(set1_epi32)(REID__HALF), high = REID__OF(set1_epi32)(0);
            REID__EACH(j, REID__W / 4) from[j] = row + (ptrdiff_t)w[k + j].first * bytes;
            for (int t = 0; t < w->most * bytes; t += REID__LOADED * bytes) {
                const REID__I pixels = REID__ISA(iblocks)(from, t);
                REID__UNROLL for (int j = 0; j < REID__LOADED / 2; j++, taps += 2 * REID__HIGH_AT) {
                    const REID__I pairs = REID__OF(shuffle_epi8)(pixels, picks[j]);
                    low = REID__OF(add_epi32)(low, REID__OF(madd_epi16)(pairs, REID__ISA(ispread)(taps)));
                    const REID__I high_taps = REID__ISA(ispread)(taps + REID__HIGH_AT);
                    high = REID__OF(add_epi32)(high, REID__OF(madd_epi16)(pairs, high_taps));
                }
            }
            REID__ISA(istore)(sums + 4 * k, REID__OF(add_epi32)(low, REID__OF(slli_epi32)(high, REID__LOW)));
        }
        REID__ISA(round)(rounded, sums);
        REID__TRIPLES(out, rounded);
    }
    return i;
}

static int REID__F(columns)(const reid__axis *x, const uint8_t *row, ptrdiff_t readable, int bytes, uint8_t *out) {
    return bytes == 1   ? REID__F(columns_of)(x, row, readable, out, 1)
           : bytes == 3 ? REID__F(columns_of)(x, row, readable, out, 3)
                        : REID__F(columns_of)(x, row, readable, out, 4);
}
#else
#define reid__columns_scalar NULL
#endif

/* Converts halves to floats; the last few one by one. */
static void REID__F(widen)(const uint16_t *in, float *out, size_t count) {
    size_t i = 0;
    for (; i + REID__W <= count; i += REID__W) {
        if (i % 32 == 0) __builtin_prefetch(in + i + REID__DOTS_AHEAD, 0, 3);
        REID__STORE(out + i, REID__ISA(halves)(in + i));
    }
    for (; i < count; i++) out[i] = reid__half(in[i]);
}

/* Computes the inner products of one row with n queries. Rows are read once, from memory, and therefore prefetched. A
   product is the total of REID__LANES sums, so all vectors give the same bits if dim is a multiple of that. */
REID__INLINE void REID__F(dots_of)(const float *row, int dim, const float *queries, float *out, const int n) {
    REID__V acc[REID__DOTS][REID__LANES / REID__W];
    float lanes[REID__LANES];
    int k = 0;
    REID__EACH(q, n) REID__EACH(j, REID__LANES / REID__W) acc[q][j] = REID__SET1(0.0f);
    for (; k + REID__LANES <= dim; k += REID__LANES) {
        __builtin_prefetch(row + k + REID__DOTS_AHEAD, 0, 3);
        REID__EACH(j, REID__LANES / REID__W) {
            const REID__V a = REID__LOAD(row + k + j * REID__W);
            REID__EACH(q, n)
                acc[q][j] = REID__FMA(a, REID__LOAD(queries + (ptrdiff_t)q * dim + k + j * REID__W), acc[q][j]);
        }
    }
    for (int q = 0; q < n; q++) {
        const float *query = queries + (ptrdiff_t)q * dim;
        float sum = 0;
        REID__EACH(j, REID__LANES / REID__W) REID__STORE(lanes + j * REID__W, acc[q][j]);
        for (int i = 0; i < REID__LANES / 2; i++) sum += lanes[i] + lanes[i + REID__LANES / 2];
        for (int i = k; i < dim; i++) sum += row[i] * query[i];
        out[q] = sum;
    }
}

/* n: 1 to REID__DOTS. */
static void REID__F(dots)(const float *row, int dim, const float *queries, int n, float *out) {
    if (n == 1) REID__F(dots_of)(row, dim, queries, out, 1);
    else if (n == 2) REID__F(dots_of)(row, dim, queries, out, 2);
    else if (n == 3) REID__F(dots_of)(row, dim, queries, out, 3);
    else REID__F(dots_of)(row, dim, queries, out, 4);
}

/* The largest value of each column of in (rows, width), and of each row, if lines is not NULL. */
static void REID__F(maxima)(const float *in, int rows, int width, float *columns, float *lines) {
    float lanes[REID__W];
    for (int at = 0; at < width; at += REID__W) {
        REID__V most = REID__LOAD(in + at);
        for (int r = 1; r < rows; r++) most = REID__MAX(most, REID__LOAD(in + (ptrdiff_t)r * width + at));
        REID__STORE(columns + at, most);
    }
    for (int r = 0; lines && r < rows; r++, in += width) {
        REID__V most = REID__LOAD(in);
        for (int at = REID__W; at < width; at += REID__W) most = REID__MAX(most, REID__LOAD(in + at));
        REID__STORE(lanes, most);
        for (int i = 1; i < REID__W; i++) lanes[0] = lanes[i] > lanes[0] ? lanes[i] : lanes[0];
        lines[r] = lanes[0];
    }
}
#endif

/* The compiler needs rows and vectors as constants to keep the sums in registers, hence one function for each number of
   rows. A panel is half as wide if the padded channels end in its middle, which happens only with vectors of 16. */
#define REID__DEFINE_TILE_OF(name, rows, int16)                                                                        \
    static void REID__F(name##_##rows)(const reid__tile *t) {                                                          \
        if (REID__W == REID__LANES && t->half) REID__F(tile)(t, rows, REID__NV / 2, int16);                            \
        else REID__F(tile)(t, rows, REID__NV, int16);                                                                  \
    }
#define REID__DEFINE_TILE(rows) REID__DEFINE_TILE_OF(tile, rows, 0)
REID__ISA(rows)(REID__DEFINE_TILE)

/* A function that calls the one for `rows` rows. */
#define REID__DISPATCH(name, type, ...)                                                                                \
    static void REID__F(name)(const type *t, int rows) {                                                               \
        static void (*const functions[])(const type *) = {__VA_ARGS__};                                                \
        functions[rows - 1](t);                                                                                        \
    }
#define REID__TILE_NAME(rows) REID__F(tile_##rows),
REID__DISPATCH(product, reid__tile, REID__ISA(rows)(REID__TILE_NAME))

#if REID__STEP == 1
#define REID__THREE_POINTS(rows)                                                                                       \
    static void REID__F(winograd_##rows)(const reid__points *t) {                                                      \
        if (REID__MAKES && t->made) REID__F(winograd_made)(t, rows);                                                   \
        else for (int at = 0; at < REID__PANEL; at += REID__ISA(point_vectors) * REID__W) {                            \
            if (t->last) REID__F(winograd_three)(t, at, rows, 1);                                                      \
            else REID__F(winograd_three)(t, at, rows, 0);                                                              \
        }                                                                                                              \
    }
REID__THREE_POINTS(1) REID__THREE_POINTS(2) REID__THREE_POINTS(3) REID__THREE_POINTS(4)
REID__DISPATCH(winograd_product, reid__points, REID__F(winograd_1), REID__F(winograd_2), REID__F(winograd_3),
               REID__F(winograd_4))
#endif

#ifdef REID__BF16
static void REID__F(store)(const float *in, void *out, int count) {
    for (int v = 0; v < count; v += 16) {
        const __mmask16 mask = (__mmask16)(count - v < 16 ? (1u << (count - v)) - 1 : 0xffffu);
        __m256bh values = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, in + v));
        _mm256_mask_storeu_epi16((uint16_t *)out + v, mask, (__m256i)values);
    }
}
#elif defined(REID__INT8)
#define REID__DEFINE_INT16(rows) REID__DEFINE_TILE_OF(int16, rows, 1)
REID__ISA(rows)(REID__DEFINE_INT16)
#define REID__INT16_NAME(rows) REID__F(int16_##rows),
REID__DISPATCH(int16_product, reid__tile, REID__ISA(rows)(REID__INT16_NAME))

static void REID__F(store)(const float *in, void *out, int count) {
    for (int i = 0; i < count; i++) ((int16_t *)out)[i] = (int16_t)in[i];
}

#if REID__W == 1
/* An FP32 tile with fused multiply-adds, as the vectors have. */
static void REID__F(fp32_tile)(const reid__tile *t, int rows) {
    for (int r = 0; r < rows; r++)
        for (int n = 0; n < REID__NV; n++) {
            const float *b = t->b + n;
            float sum = t->bias[n];
            for (int tap = 0; tap < t->taps; tap++) {
                const float *a = (const float *)reid__run_at(t, r, tap);
                for (int k = 0; k < t->kc; k++, b += REID__NV) sum = REID__FMA(a[k], *b, sum);
            }
            ((float *)(void *)((char *)t->out + r * t->out_stride))[n] =
                t->act == REID__RELU ? REID__MAX(0.0f, sum) : sum;
        }
}
#endif
#endif

#ifdef REID__AMX
/* --- AMX ---

   Eight registers hold tiles of 16 rows of 64 bytes: 0 … 3 are sums, of 2 x 16 pixels by 2 x 16 channels; 4 and 5 are
   inputs, of 16 pixels by 32 in bf16 and by 64 in INT8; 6 and 7 are weights, 16 groups of them by 16 channels. One
   instruction adds the product of two tiles to a third; in bf16 it sums even and odd inputs separately, then adds both
   (Intel, "Architecture Instruction Set Extensions Programming Reference", TDPBF16PS, TDPBUSD). */
#ifdef REID__BF16
#define REID__AMX_ROWS 16
#define REID__AMX_READ(tile, from, stride)                                                                             \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(from), "r"((ptrdiff_t)(stride)) : "memory")
#define REID__AMX_WRITE(tile, to, stride)                                                                              \
    __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to), "r"((ptrdiff_t)(stride)) : "memory")
#define REID__AMX_ZERO(tile) __asm__ volatile("tilezero %%tmm" #tile ::: "memory")

/* Configures all registers alike. Fewer rows would not be faster, and a configuration for each height would be slow. */
static void reid__amx_begin(int *in_use) {
    struct { uint8_t palette, start, none[14]; uint16_t bytes[16]; uint8_t rows[16]; } shape;
    memset(&shape, 0, sizeof shape);
    shape.palette = 1;
    for (int i = 0; i < 8; i++) shape.rows[i] = REID__AMX_ROWS, shape.bytes[i] = REID__STEP_BYTES;
    __asm__ volatile("ldtilecfg %0" ::"m"(shape) : "memory");
    *in_use = 1;
}

static void reid__amx_release(int *in_use) {
    if (*in_use) __asm__ volatile("tilerelease" ::: "memory");
    *in_use = 0;
}

/* Finishes and stores the sums of `rows` neighbouring pixels, from number `pixel` of the tile on. */
REID__INLINE void reid__amx_pixels(const reid__tile *t, const float *sums, ptrdiff_t pixel, int rows,
                                   const reid__act act, const int residual) {
    const int full = !t->half;
    REID__V bias = REID__LOAD(t->bias), bias2 = full ? REID__LOAD(t->bias + 16) : bias;
    for (ptrdiff_t end = pixel + rows; pixel < end; pixel++, sums += 32) {
        if (t->next_out) __builtin_prefetch((const char *)t->out + t->next_out + pixel * t->next_piece, 1, 2);
        if (t->next_out && residual)
            __builtin_prefetch((const char *)t->residual + t->next_out + pixel * t->next_piece, 0, 2);
        REID__V v = REID__LOAD(sums) + bias, w = REID__LOAD(sums + 16) + bias2;
        if (residual && full) {
            const REID__I line = REID__ISA(iload)((const char *)t->residual + pixel * t->residual_stride);
            v += REID__WIDENED(_mm512_castsi512_si256(line));
            w += REID__WIDENED(_mm512_extracti64x4_epi64(line, 1));
        } else if (residual) {
            v += REID__F(residual)(t, pixel, 0);
        }
        v = REID__F(act)(v, act), w = REID__F(act)(w, act);
        if (full) REID__F(emit_two)(t, pixel, v, w);
        else REID__F(emit)(t, pixel, 0, v);
    }
}

REID__INLINE void REID__F(amx_finish)(const reid__tile *t, const void *all, ptrdiff_t pixel, int rows) {
    const float *sums = (const float *)all;
    if (t->act == REID__SILU) reid__amx_pixels(t, sums, pixel, rows, REID__SILU, t->residual != NULL);
    else if (t->act == REID__RELU && t->residual) reid__amx_pixels(t, sums, pixel, rows, REID__RELU, 1);
    else if (t->act == REID__RELU) reid__amx_pixels(t, sums, pixel, rows, REID__RELU, 0);
    else reid__amx_pixels(t, sums, pixel, rows, REID__LINEAR_ACT, t->residual != NULL);
}
#else
/* Finishes and stores sums in INT8. Bytes may alias anything, so what does not change is copied to locals first. */
REID__INLINE void REID__F(amx_pixels)(const reid__tile *t, const int32_t *sums, ptrdiff_t pixel, int rows,
                                      const int added, const int is_signed) {
    const int full = !t->half;
    const REID__V bias = REID__LOAD(t->bias), bias2 = full ? REID__LOAD(t->bias + 16) : bias;
    const REID__V scale = REID__LOAD(t->scale), scale2 = full ? REID__LOAD(t->scale + 16) : scale;
    const REID__V residual_scale = REID__SET1(t->residual_scale);
    const ptrdiff_t stride = t->out_stride, from_stride = t->residual_stride, piece = t->next_piece;
    uint8_t *out = (uint8_t *)t->out + pixel * stride;
    const uint8_t *from = added ? (const uint8_t *)t->residual + pixel * from_stride : NULL;
    const char *later = (const char *)t->out + t->next_out + pixel * piece;
    const char *from_later = added ? (const char *)t->residual + t->next_out + pixel * piece : later;
    for (int i = 0; i < rows; i++, sums += 32, out += stride, from += added ? from_stride : 0) {
        __builtin_prefetch(later + i * piece, 1, 2);
        if (added) __builtin_prefetch(from_later + i * piece, 0, 2);
        REID__F(emit)(REID__FLOATS(REID__ISA(iload)(sums)), scale, bias, from, residual_scale, added, is_signed, out);
        if (full)
            REID__F(emit)(REID__FLOATS(REID__ISA(iload)(sums + 16)), scale2, bias2, added ? from + 16 : NULL,
                          residual_scale, added, is_signed, out + 16);
    }
}

REID__INLINE void REID__F(amx_finish)(const reid__tile *t, const void *all, ptrdiff_t pixel, int rows) {
    const int32_t *sums = (const int32_t *)all;
    if (t->added == 1) REID__F(amx_pixels)(t, sums, pixel, rows, 1, 0);
    else if (t->added == 2) REID__F(amx_pixels)(t, sums, pixel, rows, 2, 0);
    else if (t->is_signed) REID__F(amx_pixels)(t, sums, pixel, rows, 0, 1);
    else REID__F(amx_pixels)(t, sums, pixel, rows, 0, 0);
}
#endif

/* Also computes rows past the tile's, from whatever follows the inputs, and discards them: see REID__AMX_BEHIND. */
static void REID__F(amx_tile)(const reid__tile *t, int rows) {
    int32_t sums[32 * 32] __attribute__((aligned(64))); /* or as many floats */
    const int low = rows > REID__AMX_ROWS, full = !t->half;
    const ptrdiff_t width = full ? 128 : 64;
    const char *b = (const char *)t->b;
    uintptr_t ahead = t->ahead;
    const uintptr_t pace = (uintptr_t)(16 * width / t->fetch_divisor);
    if (!*t->in_use) reid__amx_begin(t->in_use);
    REID__AMX_ZERO(0);
    if (full) REID__AMX_ZERO(1);
    if (low) REID__AMX_ZERO(2);
    if (low && full) REID__AMX_ZERO(3);
    for (int tap = 0; tap < t->taps; tap++) {
        const char *a = t->matrix + t->tap_at[tap];
        for (int k = 0; k < t->kc; k += 16 * REID__STEP, a += t->step, b += 16 * width) {
            for (uintptr_t end = ahead + pace; ahead < end; ahead += 64) __builtin_prefetch((const void *)ahead, 0, 2);
            REID__AMX_READ(4, a, t->row);
            REID__AMX_READ(6, b, width);
            REID__AMX_DOT(0, 4, 6);
            if (full) REID__AMX_READ(7, b + 64, width);
            if (full) REID__AMX_DOT(1, 4, 7);
            if (low) REID__AMX_READ(5, a + REID__AMX_ROWS * t->row, t->row);
            if (low) REID__AMX_DOT(2, 5, 6);
            if (low && full) REID__AMX_DOT(3, 5, 7);
        }
    }
    REID__AMX_WRITE(0, sums, 128);
    if (full) REID__AMX_WRITE(1, sums + 16, 128);
    if (low) REID__AMX_WRITE(2, sums + 16 * 32, 128);
    if (low && full) REID__AMX_WRITE(3, sums + 16 * 32 + 16, 128);
    for (int r = 0, x = t->x, pixel = 0; r < rows;) {
        const int at = r, run = reid__next_run(t, rows, &r, &x);
        REID__F(amx_finish)(t, sums + 32 * at, pixel, run);
        pixel += run;
    }
}

/* Gathers the inputs of `rows` pixels: out [taps][steps][rows][REID__STEP_BYTES], each run padded with zeros. */
static void REID__F(amx_gather)(const void *const *a, int rows, int taps, int kc, void *out) {
    char *to = (char *)out;
    int bytes = kc * (int)sizeof(REID__T);
    for (int tap = 0; tap < taps; tap++)
        for (int at = 0; at < bytes; at += REID__STEP_BYTES) {
            int left = bytes - at;
            const __mmask64 mask = left < REID__STEP_BYTES ? ((uint64_t)1 << left) - 1 : ~(uint64_t)0;
            for (int r = 0; r < rows; r++, to += REID__STEP_BYTES)
                _mm512_storeu_si512(to, _mm512_maskz_loadu_epi8(mask, (const char *)a[r * taps + tap] + at));
        }
}
#endif

#define REID__STRING2(x) #x
#define REID__STRING(x) REID__STRING2(x)
/* The table of a pass; the last arguments are `narrow`. Functions of FP32 alone are shared with the FP32 pass. */
#define REID__TABLE(table, name, store, ...)                                                                           \
    static const reid__kernels table = {                                                                               \
        REID__STRING(name), /* nr */ REID__PANEL, /* element */ REID__ELEMENT,                                         \
        /* fp32 */ {REID__ISA(mr), REID__PICK(REID__ISA(product), REID__ISA(product), REID__F(fp32_tile)), NULL, NULL},\
        /* int16 */ {REID__ISA(mr), REID__PICK(NULL, NULL, REID__F(int16_product)), NULL, NULL},                       \
        /* narrow */ {__VA_ARGS__}, REID__OWN(load), store, REID__OWN(depthwise), REID__F(maxpool), REID__F(pool),     \
        REID__OWN(instance), REID__ISA(nonlocal), REID__ISA(squeeze), REID__OWN(scale),                                \
        REID__ISA(scale_rows), REID__ISA(winograd_filters), REID__ISA(winograd_in),                                    \
        REID__MAKES ? REID__ISA(winograd_make) : NULL, REID__ISA(winograd_product), REID__ISA(winograd_out),           \
        /* lines */ {REID__ISA(add_line), REID__ISA(round_line), REID__ISA(columns)}, REID__ISA(widen),                \
        REID__ISA(dots), REID__ISA(maxima)}
#if REID__STEP == 1
REID__TABLE(REID__F(kernels), REID__PASS, NULL, 0, NULL, NULL, NULL);
#elif defined(REID__AMX)
REID__TABLE(REID__F(kernels), REID__PASS, REID__F(store), REID__ISA(mr), REID__F(product), NULL, NULL);
REID__TABLE(REID__JOIN(reid__kernels, REID__AMX), REID__AMX, REID__F(store), 2 * REID__AMX_ROWS, REID__F(amx_tile),
            REID__F(amx_gather), reid__amx_release);
#else
REID__TABLE(REID__F(kernels), REID__BASE, REID__F(store), REID__ISA(mr), REID__F(product), NULL, NULL);
#endif

/* Macros that have the same text in all passes stay defined. */
#if defined(REID__INT8) || defined(REID_NO_NARROW) || REID__W == 4 /* the last pass of an instruction set */
#undef REID__BASE
#undef REID__PREFIX
#undef REID__V
#undef REID__I
#undef REID__W
#undef REID__UNROLL
#endif
#undef REID__BF16
#undef REID__INT8
#undef REID__AMX
#undef REID__AMX_DOT
#undef REID__PICK
#undef REID__INPUT
#endif /* REID__PASS */

#if defined(REID__IMPLEMENTED) && !defined(REID__PASS) && !defined(REID__FINISHED)
#define REID__FINISHED

#ifndef REID_NO_CUDA
/* --------------------------------------------------------------------------------------------------------------------
   >>cuda_load
   The driver is loaded with dlopen, and the few functions that are used are declared here, so no header or library of
   the CUDA toolkit is needed, and a machine without a GPU runs the same program. The device's primary context is shared
   with the rest of the process (with PyTorch, say); it is pushed before and popped after every call. */
#define REID__CUDA_OUT_OF_MEMORY 2
#define REID__OLDEST_DRIVER 11040 /* the first with every function below */
#define REID__OLDEST_CUDA "11.4"  /* whose driver it is */
#define REID__OLDEST_ARCH 75      /* the first chip with the fp16 MMA that the kernels use */

typedef uint64_t reid__address; /* of device memory */

/* X(field, symbol, parameters). Handles are void *, enumerations int. Versions in the symbols suit any driver. */
#define REID__DRIVER(X)                                                                                                \
    X(Init, "cuInit", (unsigned flags))                                                                                \
    X(DriverGetVersion, "cuDriverGetVersion", (int *version))                                                          \
    X(GetErrorName, "cuGetErrorName", (int error, const char **text))                                                  \
    X(GetErrorString, "cuGetErrorString", (int error, const char **text))                                              \
    X(DeviceGetCount, "cuDeviceGetCount", (int *count))                                                                \
    X(DeviceGet, "cuDeviceGet", (int *device, int ordinal))                                                            \
    X(DeviceGetName, "cuDeviceGetName", (char *name, int size, int device))                                            \
    X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *bytes, int device))                                              \
    X(DeviceGetUuid, "cuDeviceGetUuid_v2", (unsigned char *uuid, int device))                                          \
    X(DeviceGetAttribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                             \
    X(PrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (void **context, int device))                                      \
    X(PrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int device))                                                 \
    X(CtxPushCurrent, "cuCtxPushCurrent_v2", (void *context))                                                          \
    X(CtxPopCurrent, "cuCtxPopCurrent_v2", (void **context))                                                           \
    X(MemGetInfo, "cuMemGetInfo_v2", (size_t *free_bytes, size_t *bytes))                                              \
    X(MemAlloc, "cuMemAlloc_v2", (reid__address *address, size_t bytes))                                               \
    X(MemFree, "cuMemFree_v2", (reid__address address))                                                                \
    X(MemHostAlloc, "cuMemHostAlloc", (void **pointer, size_t bytes, unsigned flags))                                  \
    X(MemFreeHost, "cuMemFreeHost", (void *pointer))                                                                   \
    X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (reid__address to, const void *from, size_t bytes, void *stream))       \
    X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *to, reid__address from, size_t bytes, void *stream))             \
    X(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (reid__address to, reid__address from, size_t bytes, void *stream))     \
    X(MemsetD8Async, "cuMemsetD8Async", (reid__address to, unsigned char value, size_t bytes, void *stream))           \
    X(ModuleLoadData, "cuModuleLoadData", (void **module, const void *image))                                          \
    X(ModuleUnload, "cuModuleUnload", (void *module))                                                                  \
    X(ModuleGetFunction, "cuModuleGetFunction", (void **function, void *module, const char *name))                     \
    X(FuncSetAttribute, "cuFuncSetAttribute", (void *function, int attribute, int value))                              \
    X(LaunchKernel, "cuLaunchKernel", (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,             \
      unsigned by, unsigned bz, unsigned shared, void *stream, void **parameters, void **extra))                       \
    X(StreamCreate, "cuStreamCreate", (void **stream, unsigned flags))                                                 \
    X(StreamDestroy, "cuStreamDestroy_v2", (void *stream))                                                             \
    X(StreamSynchronize, "cuStreamSynchronize", (void *stream))                                                        \
    X(StreamQuery, "cuStreamQuery", (void *stream))                                                                    \
    X(StreamWaitEvent, "cuStreamWaitEvent", (void *stream, void *event, unsigned flags))                               \
    X(StreamBeginCapture, "cuStreamBeginCapture_v2", (void *stream, int mode))                                         \
    X(StreamEndCapture, "cuStreamEndCapture", (void *stream, void **graph))                                            \
    X(EventCreate, "cuEventCreate", (void **event, unsigned flags))                                                    \
    X(EventDestroy, "cuEventDestroy_v2", (void *event))                                                                \
    X(EventRecord, "cuEventRecord", (void *event, void *stream))                                                       \
    X(EventSynchronize, "cuEventSynchronize", (void *event))                                                           \
    X(EventElapsedTime, "cuEventElapsedTime", (float *milliseconds, void *from, void *to))                             \
    X(GraphInstantiate, "cuGraphInstantiateWithFlags", (void **exec, void *graph, unsigned long long flags))           \
    X(GraphLaunch, "cuGraphLaunch", (void *exec, void *stream))                                                        \
    X(GraphExecDestroy, "cuGraphExecDestroy", (void *exec))                                                            \
    X(GraphDestroy, "cuGraphDestroy", (void *graph))

/* CUtensorMap: a tensor in memory, and which boxes of it are copied. Aligned for CUDA 13; older drivers require 64. */
typedef struct reid__tensor_map { uint64_t opaque[16]; } __attribute__((aligned(128))) reid__tensor_map;

/* Values from cuda.h, under the names of its enumerations. */
enum {
    /* CUdevice_attribute */
    REID__DEVICE_MULTIPROCESSORS = 16, REID__DEVICE_INTEGRATED = 18, REID__DEVICE_MAJOR = 75, REID__DEVICE_MINOR = 76,
    REID__DEVICE_BLOCK_SHARED = 97, /* bytes that a block may have on request */
    /* CUfunction_attribute */
    REID__FUNCTION_DYNAMIC_SHARED = 8, /* bytes */
    REID__FUNCTION_CARVEOUT = 9,       /* percent of the memory that shared memory and the L1 cache share */
    /* CUlaunchAttributeID */
    REID__LAUNCH_CLUSTER = 4,
    REID__LAUNCH_OVERLAPS = 6, /* programmatic stream serialization */
    /* CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion */
    REID__MAP_U8 = 0, REID__MAP_F16 = 6, REID__MAP_SWIZZLE_64 = 2, REID__MAP_SWIZZLE_128 = 3,
    REID__MAP_L2_256 = 3, /* the cache fetches 256 bytes at once */
    /* CUstream_flags, CUevent_flags, CUstreamCaptureMode */
    REID__STREAM_APART = 1,   /* not ordered with the process's default stream */
    REID__EVENT_TIMES = 0,
    REID__EVENT_NO_TIMES = 2, /* cheaper */
    REID__CAPTURE_THREAD = 1  /* other threads may allocate meanwhile */
};

/* A launch with attributes, cuLaunchKernelEx's CUlaunchConfig. */
typedef struct reid__launch_attribute {
    int id, pad;
    union { int on; unsigned cluster[3]; uint64_t size[8]; } value;
} reid__launch_attribute;
typedef struct reid__launch_config {
    unsigned grid[3], block[3], shared;
    void *stream;
    reid__launch_attribute *attributes;
    unsigned count;
} reid__launch_config;

/* From CUDA 12 on; either all are present or none is used. */
#define REID__DRIVER_12(X)                                                                                             \
    X(OccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters", (int *clusters, void *function,                      \
      const reid__launch_config *config))                                                                              \
    X(LaunchKernelEx, "cuLaunchKernelEx", (const reid__launch_config *config, void *function, void **parameters,       \
      void **extra))                                                                                                   \
    X(TensorMapEncodeTiled, "cuTensorMapEncodeTiled", (reid__tensor_map * map, int type, unsigned rank,                \
      reid__address address, const uint64_t *sizes, const uint64_t *strides, const unsigned *box,                      \
      const unsigned *steps, int interleave, int swizzle, int promotion, int fill))                                    \
    X(TensorMapEncodeIm2col, "cuTensorMapEncodeIm2col", (reid__tensor_map * map, int type, unsigned rank,              \
      reid__address address, const uint64_t *sizes, const uint64_t *strides, const int *lower, const int *upper,       \
      unsigned channels, unsigned pixels, const unsigned *steps, int interleave, int swizzle, int promotion, int fill))

typedef struct reid__driver {
#define REID__DRIVER_FIELD(field, symbol, parameters) int(*field) parameters;
    REID__DRIVER(REID__DRIVER_FIELD)
    REID__DRIVER_12(REID__DRIVER_FIELD)
} reid__driver;

typedef struct reid__symbol { const char *name; size_t at; } reid__symbol; /* at: offset of its pointer in a table */

/* Fills a table of function pointers. Returns the first name that the library lacks, or NULL. */
static const char *reid__load_symbols(void *library, const reid__symbol *symbols, size_t count, void *table) {
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (!address) return symbols[i].name;
        memcpy((char *)table + symbols[i].at, &address, sizeof address); /* ISO C has no cast to a function pointer */
    }
    return NULL;
}

/* Notes an attempt to find CUDA, so that the error message can give the reason for each failure. */
#define reid__try_note(tried, ...)                                                                                     \
    (reid__print(tried, "%s", (tried)->length ? "; " : ""), reid__print(tried, __VA_ARGS__))

typedef struct reid__device {
    reid__driver cu;
    int version, number, index;   /* of the driver; the driver's number for device `index` */
    int arch, multiprocessors;    /* 90 for compute capability 9.0 */
    int shared_limit;             /* bytes that a block may have */
    int integrated;
    char name[64];
    unsigned char uuid[16];
    size_t memory;                /* bytes */
    void *context;                /* the primary context, retained; NULL: none */
    int lost;                     /* the error after which the GPU is unusable, atomic */
    int no_memory;                /* an allocation was refused, atomic */
    int has_why;                  /* REID_SYNC=1: 1: `why` is being written, 2: written; atomic */
    char why[256];                /* what failed first */
} reid__device;

/* Converts the driver's error code to a result: REID_OK for 0. */
static reid_result reid__gpu_check(reid__device *d, int code, const char *what, reid_error *e) {
    const char *name = NULL, *text = NULL;
    /* Errors that stay with the context until the process ends. */
    int sticky = code == 4 || code == 214 || (code >= 700 && code < 720 && code != 701) || code == 999;
    if (code == 0) return REID_OK;
    if (code == REID__CUDA_OUT_OF_MEMORY) {
        __atomic_store_n(&d->no_memory, 1, __ATOMIC_RELAXED);
        return reid__fail(e, REID_ERR_OUT_OF_MEMORY, "GPU %d (%s) has no memory for %s", d->index, d->name, what);
    }
    if (sticky) __atomic_store_n(&d->lost, code, __ATOMIC_RELAXED);
    d->cu.GetErrorName(code, &name);
    d->cu.GetErrorString(code, &text);
    return reid__fail(e, REID_ERR_GPU, "GPU %d: %s: %s (%s, %d)%s", d->index, what, text ? text : "unknown error",
                      name ? name : "?", code, sticky ? "; this handle cannot be used any more" : "");
}

/* Makes the context current on this thread, on top of the caller's. After every success call reid__gpu_leave. */
static reid_result reid__gpu_enter(reid__device *d, reid_error *e) {
    int lost = __atomic_load_n(&d->lost, __ATOMIC_RELAXED);
    if (lost && __atomic_load_n(&d->has_why, __ATOMIC_ACQUIRE) == 2)
        return reid__fail(e, REID_ERR_GPU, "GPU %d failed earlier: %s", d->index, d->why);
    if (lost)
        return reid__fail(e, REID_ERR_GPU, "GPU %d failed earlier (error %d): destroy this handle; usually only a new "
                          "process can use the GPU again", d->index, lost);
    return reid__gpu_check(d, d->cu.CtxPushCurrent(d->context), "cuCtxPushCurrent", e);
}

static void reid__gpu_leave(reid__device *d) {
    void *popped;
    d->cu.CtxPopCurrent(&popped);
}

/* Loads libcuda.so.1, which comes with the driver; under WSL it is where the loader does not look. */
static reid_result reid__driver_load(reid__device *d, reid_error *e) {
    static const char *const paths[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
    static const reid__symbol symbols[] = {
#define REID__DRIVER_ROW(field, symbol, parameters) {symbol, offsetof(reid__driver, field)},
        REID__DRIVER(REID__DRIVER_ROW)
    }, more[] = {
        REID__DRIVER_12(REID__DRIVER_ROW)
    };
    char text[1500];
    reid__text tried = {text, sizeof text, 0};
    void *library = NULL;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0] && !library; i++) {
        library = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL); /* never closed: the driver has threads of its own */
        if (!library) reid__try_note(&tried, "%s", dlerror());
    }
    if (!library)
        return reid__fail(e, REID_ERR_DEVICE, "CUDA needs the NVIDIA driver, and none was found: %s", tried.text);
    const char *missing = reid__load_symbols(library, symbols, sizeof symbols / sizeof symbols[0], &d->cu);
    if (missing)
        return reid__fail(e, REID_ERR_DEVICE, "the NVIDIA driver is too old: it lacks %s; CUDA " REID__OLDEST_CUDA
                          " or later is needed", missing);
    if (reid__load_symbols(library, more, sizeof more / sizeof more[0], &d->cu)) d->cu.TensorMapEncodeIm2col = NULL;
    return REID_OK;
}

/* Finds the driver and the device and retains its context. After a failure, too, call reid__device_close. */
static reid_result reid__device_open(reid__device *d, const reid_desc *desc, reid_error *e) {
    int count = 0, major = 0, minor = 0;
    d->index = desc->device_index;
    REID__TRY(reid__driver_load(d, e));
    int code = d->cu.Init(0);
    if (!code) code = d->cu.DriverGetVersion(&d->version);
    if (!code) code = d->cu.DeviceGetCount(&count);
    if (code == 100 || (code == 0 && count == 0))
        return reid__fail(e, REID_ERR_DEVICE, "there is an NVIDIA driver, but this process sees no GPU "
                          "(CUDA_VISIBLE_DEVICES?)");
    if (code) {
        reid__gpu_check(d, code, "cuInit", e);
        if (e) e->code = REID_ERR_DEVICE;
        return REID_ERR_DEVICE;
    }
    if (d->version < REID__OLDEST_DRIVER)
        return reid__fail(e, REID_ERR_DEVICE, "the NVIDIA driver is for CUDA %d.%d; " REID__OLDEST_CUDA " or later is "
                          "needed", d->version / 1000, d->version % 1000 / 10);
    if (d->index < 0 || d->index >= count)
        return reid__fail(e, REID_ERR_DEVICE, "there is no GPU %d; GPUs that this process sees: %d, numbered from 0",
                          d->index, count);
    code = d->cu.DeviceGet(&d->number, d->index);
    if (!code) code = d->cu.DeviceGetAttribute(&major, REID__DEVICE_MAJOR, d->number);
    if (!code) code = d->cu.DeviceGetAttribute(&minor, REID__DEVICE_MINOR, d->number);
    if (!code) code = d->cu.DeviceGetAttribute(&d->multiprocessors, REID__DEVICE_MULTIPROCESSORS, d->number);
    if (!code) code = d->cu.DeviceGetAttribute(&d->shared_limit, REID__DEVICE_BLOCK_SHARED, d->number);
    if (!code) code = d->cu.DeviceGetAttribute(&d->integrated, REID__DEVICE_INTEGRATED, d->number);
    if (!code) code = d->cu.DeviceGetName(d->name, (int)sizeof d->name, d->number);
    if (!code) code = d->cu.DeviceTotalMem(&d->memory, d->number);
    if (!code) code = d->cu.DeviceGetUuid(d->uuid, d->number);
    d->arch = major * 10 + minor;
    if (code) return reid__gpu_check(d, code, "reading the device's attributes", e);
    if (d->arch < REID__OLDEST_ARCH)
        return reid__fail(e, REID_ERR_DEVICE, "GPU %d (%s) is an sm_%d; sm_%d (Turing) or later is needed", d->index,
                          d->name, d->arch, REID__OLDEST_ARCH);
    code = d->cu.PrimaryCtxRetain(&d->context, d->number);
    if (code) d->context = NULL;
    return reid__gpu_check(d, code, "the context", e);
}

static void reid__device_close(reid__device *d) {
    if (d->context) d->cu.PrimaryCtxRelease(d->number);
    d->context = NULL;
}

/* --------------------------------------------------------------------------------------------------------------------
   >>cuda_jit
   From text to machine code. A program is the kernel file with one set of -D constants; NVRTC compiles the distinct
   programs of a network in parallel, to cubins for exactly this chip. A cubin that is in a pack or in the cache on disk
   is not compiled again; entries are found by a hash of everything that they depend on and have a checksum, so a cache
   can be shared, copied, truncated or deleted at any moment without harm. */
#define REID__NVRTC(X)                                                                                                 \
    X(int, Version, "nvrtcVersion", (int *major, int *minor))                                                          \
    X(int, GetNumSupportedArchs, "nvrtcGetNumSupportedArchs", (int *count))                                            \
    X(int, GetSupportedArchs, "nvrtcGetSupportedArchs", (int *archs))                                                  \
    X(int, CreateProgram, "nvrtcCreateProgram", (void **program, const char *text, const char *name,                   \
      int header_count, const char *const *headers, const char *const *header_names))                                  \
    X(int, DestroyProgram, "nvrtcDestroyProgram", (void **program))                                                    \
    X(int, CompileProgram, "nvrtcCompileProgram", (void *program, int option_count, const char *const *options))       \
    X(int, GetCUBINSize, "nvrtcGetCUBINSize", (void *program, size_t *size))                                           \
    X(int, GetCUBIN, "nvrtcGetCUBIN", (void *program, char *cubin))                                                    \
    X(int, GetPTXSize, "nvrtcGetPTXSize", (void *program, size_t *size))                                               \
    X(int, GetPTX, "nvrtcGetPTX", (void *program, char *ptx))                                                          \
    X(int, GetProgramLogSize, "nvrtcGetProgramLogSize", (void *program, size_t *size))                                 \
    X(int, GetProgramLog, "nvrtcGetProgramLog", (void *program, char *log))                                            \
    X(const char *, GetErrorString, "nvrtcGetErrorString", (int result))

typedef struct reid__nvrtc {
#define REID__NVRTC_FIELD(type, field, symbol, parameters) type(*field) parameters;
    REID__NVRTC(REID__NVRTC_FIELD)
} reid__nvrtc;

#define REID__OPTIONS 832        /* bytes */
#define REID__MAX_OPTIONS 48
#define REID__MAX_PROGRAMS (2 * REID__MAX_OPS + 16)
#define REID__PATH 256
#define REID__MAX_CANDIDATES 48
#define REID__COMPILERS 8        /* threads at most: each takes NVRTC a few hundred MB */
#define REID__CHUNK ((size_t)1 << 18) /* floats that a thread reads from the weight file at a time */
#define REID__COMPILER_STACK ((size_t)8 << 20)
#define REID__MAX_TEXT ((size_t)1 << 22)   /* bytes of a kernel file */
#define REID__MAX_BUNDLE ((size_t)1 << 28) /* bytes of a pack */

typedef struct reid__program {
    char options[REID__OPTIONS]; /* "-DREID_CONV_F16\0-DIH=14\0 ... ": one string after the other */
    size_t length;
    int count;
    uint64_t key[2];             /* hash of what the machine code depends on, except the compiler */
    const unsigned char *cubin;  /* or PTX; points into a pack or a block of jit.mem */
    size_t cubin_size;
    void *compiling;             /* NVRTC's handle while it is compiled */
    int result;                  /* NVRTC's */
} reid__program;

typedef struct reid__jit {
    reid__mem *mem;
    const reid__block *before;   /* the newest block of mem beforehand */
    const reid_desc *desc;
    reid__nvrtc rtc;
    int rtc_version;             /* 13000; 0: none is loaded */
    uint64_t rtc_size;           /* bytes of the library, as NVRTC does not report a patch version */
    char rtc_path[REID__PATH];
    reid__text tried;            /* libraries that were rejected; in tried_text */
    char tried_text[1500];
    char (*candidates)[REID__PATH];
    int candidate_count, candidate, most_version;
    const char *text;            /* reid_kernels.cu */
    char *contract;              /* precedes it: reid__contract_text */
    unsigned char *pack;         /* desc.kernels_pack */
    size_t pack_size;
    char cache[REID__PATH];      /* folder; "": none */
    int no_folder;               /* no variable or field names one */
    int arch;                    /* 90 */
    char arch_option[40];        /* "--gpu-architecture=sm_90a" */
    int is_ptx;                  /* the chip is newer than NVRTC: PTX, which the driver compiles */
    reid__program *programs;     /* [REID__MAX_PROGRAMS] */
    int program_count, next;     /* next: the next one for a compiling thread, atomic */
} reid__jit;

/* --- files --- */
/* Reads a whole file into memory of `mem`, and appends a 0 byte, which *size does not count. */
static reid_result reid__read_file(reid__mem *mem, const char *path, size_t most, unsigned char **block, size_t *size,
                                   reid_error *e) {
    reid_desc desc = REID_INIT;
    reid__weights file;
    memset(&file, 0, sizeof file);
    *block = NULL, desc.weights = path;
    reid_result r = reid__weights_source(&file, &desc, e);
    if (r == REID_OK && file.size > most)
        r = reid__weights_fail(&file, e, REID_ERR_FILE_READ, "it has more than %zu bytes", most);
    *size = (size_t)file.size;
    if (r == REID_OK) *block = (unsigned char *)reid__alloc(mem, *size + 1);
    if (r == REID_OK && !*block) r = reid__no_memory(e, path, *size + 1);
    if (r == REID_OK) (*block)[*size] = 0, r = reid__weights_bytes(&file, 0, *block, *size, e);
    reid__weights_close(&file, mem);
    if (r != REID_OK) reid__free(mem, *block), *block = NULL;
    return r;
}

/* Returns errno, 0 on success. */
static int reid__write_all(int fd, const void *data, size_t size) {
    const char *from = (const char *)data;
    while (size > 0) {
        ssize_t n = write(fd, from, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return errno ? errno : EIO;
        from += n, size -= (size_t)n;
    }
    return 0;
}

/* A bundle is a cache entry (one program) or a pack (all programs of a network):
       "reidcub1", u64 count, count times {u64 key[2], u64 offset, u64 size, u64 digest[2]}, u64 digest[2] of the bytes
       so far, the programs. Little-endian; offsets from the start of the file. */
#define REID__BUNDLE_MAGIC "reidcub1"
#define REID__BUNDLE_ROW 48 /* bytes */

static void reid__digest_of(const void *data, size_t size, uint64_t out[2]) {
    reid__digest d;
    reid__digest_init(&d);
    reid__digest_update(&d, data, size);
    reid__digest_final(&d, out);
}

static unsigned char *reid__put64(unsigned char *to, uint64_t value) {
    for (int i = 0; i < 8; i++) *to++ = (unsigned char)(value >> 8 * i);
    return to;
}

/* Whether this is a bundle with an undamaged table. */
static int reid__bundle_valid(const unsigned char *bytes, size_t size) {
    uint64_t digest[2];
    if (size < 32 || memcmp(bytes, REID__BUNDLE_MAGIC, 8) != 0) return 0;
    uint64_t count = reid__le64(bytes + 8);
    if (count > (size - 32) / REID__BUNDLE_ROW) return 0;
    size_t table = 16 + (size_t)count * REID__BUNDLE_ROW;
    reid__digest_of(bytes, table, digest);
    return reid__le64(bytes + table) == digest[0] && reid__le64(bytes + table + 8) == digest[1];
}

/* The program with this key in a valid bundle; NULL if it is missing or damaged. */
static const unsigned char *reid__bundle_find(const unsigned char *bytes, size_t size, const uint64_t key[2],
                                              size_t *found) {
    uint64_t digest[2], count = reid__le64(bytes + 8);
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *row = bytes + 16 + (size_t)i * REID__BUNDLE_ROW;
        uint64_t offset = reid__le64(row + 16), length = reid__le64(row + 24);
        if (reid__le64(row) != key[0] || reid__le64(row + 8) != key[1]) continue;
        if (offset > size || length > size - offset || length == 0) return NULL;
        reid__digest_of(bytes + offset, (size_t)length, digest);
        if (reid__le64(row + 32) != digest[0] || reid__le64(row + 40) != digest[1]) return NULL;
        *found = (size_t)length;
        return bytes + offset;
    }
    return NULL;
}

/* Writes a bundle beside `path` and renames it. durable: flushes it; a cache has its checksum. Returns errno or 0. */
static int reid__bundle_save(reid__mem *mem, const char *path, const reid__program *programs, int count, int durable) {
    char beside[4096 + 64];
    struct timespec now;
    uint64_t digest[2];
    size_t table = 16 + (size_t)count * REID__BUNDLE_ROW, offset = table + 16;
    if (strlen(path) > 4096) return ENAMETOOLONG;
    unsigned char *head = (unsigned char *)reid__alloc(mem, offset), *at = head;
    if (!head) return ENOMEM;
    memcpy(at, REID__BUNDLE_MAGIC, 8);
    at = reid__put64(at + 8, (uint64_t)count);
    for (int i = 0; i < count; offset += programs[i++].cubin_size) {
        reid__digest_of(programs[i].cubin, programs[i].cubin_size, digest);
        const uint64_t row[6] = {programs[i].key[0], programs[i].key[1], offset, programs[i].cubin_size,
                                 digest[0], digest[1]};
        for (int k = 0; k < 6; k++) at = reid__put64(at, row[k]);
    }
    reid__digest_of(head, table, digest);
    reid__put64(reid__put64(at, digest[0]), digest[1]);
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(beside, sizeof beside, "%s.%ld.%lx.tmp", path, (long)getpid(),
             (unsigned long)now.tv_nsec ^ (unsigned long)(uintptr_t)&now);
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, durable ? 0666 : 0600);
    int failed = fd < 0 ? errno : reid__write_all(fd, head, table + 16);
    reid__free(mem, head);
    if (fd < 0) return failed;
    for (int i = 0; i < count && !failed; i++) failed = reid__write_all(fd, programs[i].cubin, programs[i].cubin_size);
    if (!failed && durable && fsync(fd) != 0) failed = errno;
    if (close(fd) != 0 && !failed) failed = errno;
    if (!failed && rename(beside, path) != 0) failed = errno;
    if (failed) unlink(beside);
    return failed;
}

/* --- the cache on disk --- */
static const char *reid__env(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

/* Finds the folder: desc.cache_dir, REID_CACHE_DIR, $XDG_CACHE_HOME/reid, ~/.cache/reid; "": none. 0: none is set. */
static int reid__cache_folder(const reid_desc *desc, char folder[REID__PATH]) {
    const char *given = desc->cache_dir ? desc->cache_dir : getenv("REID_CACHE_DIR");
    const char *caches = reid__env("XDG_CACHE_HOME"), *home = reid__env("HOME");
    int n = 0;
    if (given) n = snprintf(folder, REID__PATH, "%s", given);
    else if (*caches == '/') n = snprintf(folder, REID__PATH, "%s/reid", caches);
    else if (*home == '/') n = snprintf(folder, REID__PATH, "%s/.cache/reid", home);
    if (n == 0 || n >= REID__PATH) folder[0] = 0;
    return folder[0] || (given && !*given);
}

/* Machine code is run from the cache, so only this user may own or write to it. Returns what is wrong, or NULL. */
static const char *reid__cache_distrust(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return NULL;
    if (st.st_uid != geteuid()) return "it belongs to another user";
    return st.st_mode & 022 ? "others may write to it" : NULL;
}

/* Creates the folder and its parents if they are missing. A user who can rename the folder can put another in its
   place. So its parent must belong to this user or root, and be writable by others only with the sticky bit. Returns
   what is wrong, or NULL. */
static const char *reid__cache_make(const char *folder) {
    char path[REID__PATH + 4];
    struct stat st;
    const char *why;
    snprintf(path, sizeof path, "%s", folder);
    for (char *at = path; *at && (at = strchr(at + 1, '/')) != NULL; *at = '/') {
        *at = 0;
        mkdir(path, 0700); /* fails if it exists; only the result for the last matters */
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return "it cannot be created";
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) return "it is not a folder";
    if ((why = reid__cache_distrust(path)) != NULL) return why;
    if (access(path, R_OK | X_OK) != 0) return "it cannot be read";
    snprintf(path, sizeof path, "%s/..", folder); /* the parent of the target, if the folder is a symbolic link */
    if (stat(path, &st) != 0) return "its parent folder cannot be read";
    if (st.st_uid != geteuid() && st.st_uid != 0) return "its parent folder belongs to another user";
    return (st.st_mode & 022) && !(st.st_mode & S_ISVTX) ? "others may write to its parent folder" : NULL;
}

/* Does without the cache from now on. */
static void reid__cache_leave(reid__jit *j, const char *why, int code) {
    reid__log(j->desc, REID_LOG_WARNING, REID_ERR_FILE_WRITE, "compiled kernels are not kept in %.200s: %s (errno %d)",
              j->cache, why, code);
    j->cache[0] = 0;
}

/* The path of an entry: its name is a hash of its key and of the version of NVRTC. */
static void reid__cache_path(const reid__jit *j, const reid__program *p, char path[REID__PATH + 40]) {
    const uint64_t parts[5] = {p->key[0], p->key[1], (uint64_t)j->rtc_version, j->rtc_size, (uint64_t)j->is_ptx};
    uint64_t name[2];
    reid__digest_of(parts, sizeof parts, name);
    snprintf(path, REID__PATH + 40, "%s/%016llx%016llx", j->cache, (unsigned long long)name[0],
             (unsigned long long)name[1]);
}

static void reid__cache_load(reid__jit *j, reid__program *p) {
    char path[REID__PATH + 40];
    unsigned char *block;
    size_t size;
    reid__cache_path(j, p, path);
    const char *why = reid__cache_distrust(path);
    if (why) reid__log(j->desc, REID_LOG_WARNING, REID_ERR_KERNEL_PACK, "%.300s is compiled again: %s", path, why);
    if (why || reid__read_file(j->mem, path, REID__MAX_BUNDLE, &block, &size, NULL) != REID_OK) return;
    if (reid__bundle_valid(block, size)) p->cubin = reid__bundle_find(block, size, p->key, &p->cubin_size);
    if (p->cubin) return;
    reid__log(j->desc, REID_LOG_WARNING, REID_ERR_KERNEL_PACK, "%.300s is damaged and is compiled again", path);
    reid__free(j->mem, block);
}

/* Checks the cache's file of measured tiles, with a line for an operation, a batch (1: small, 64: large) and a tile:
       reid tiles 1
       sm_90 resnet50 fp16 224x224 layer2.0.conv2 64 2*64x128 41250
   The last number is nanoseconds. Valid: it begins with that line; others are complete, with eight words. */
static int reid__tiles_valid(const char *text, size_t size) {
    static const char first[] = "reid tiles 1\n";
    if (strlen(text) != size || strncmp(text, first, sizeof first - 1) != 0) return 0;
    for (const char *at = text + sizeof first - 1; *at; at++) {
        for (int word = 1; word < 8; word++, at++) {
            at += strcspn(at, " \n");
            if (*at != ' ') return 0;
        }
        size_t digits = strspn(at, "0123456789");
        at += digits;
        if (*at != '\n' || digits < 1 || digits > 15) return 0;
    }
    return 1;
}

/* Reads the file of measured tiles into j->mem; NULL if missing or damaged, or with a pack, which has its own tiles. */
static const char *reid__tiles_read(reid__jit *j) {
    char path[REID__PATH + 8];
    unsigned char *text;
    size_t size;
    snprintf(path, sizeof path, "%s/tiles", j->cache);
    if (j->pack || !j->cache[0] || reid__cache_make(j->cache)) return NULL;
    const char *why = reid__cache_distrust(path);
    if (why) reid__log(j->desc, REID_LOG_WARNING, REID_ERR_KERNEL_PACK, "%.300s is not used: %s", path, why);
    if (why || reid__read_file(j->mem, path, REID__MAX_TEXT, &text, &size, NULL) != REID_OK) return NULL;
    if (reid__tiles_valid((const char *)text, size)) return (const char *)text;
    reid__log(j->desc, REID_LOG_WARNING, REID_ERR_KERNEL_PACK, "%.300s is damaged and is not used", path);
    return NULL;
}

/* --- the arguments of the kernels --- Each kernel of reid_kernels.cu has one parameter, a structure whose members are
   named only here. The host makes a C struct reid__NAME of them; reid__contract_text makes the text that gives NVRTC
   the same members and this host's offsets, which it checks. P: a pointer on the device, an address here, 0 if a launch
   does not need it; V: a number; S: another of these structures, or a tensor map. REID__CONTRACT has the sizes. */
#define REID__GPU_AXIS(P, V, S) /* one direction of a resize and a centre crop, as in reid__axis */                    \
    V(double, scale) V(double, support) V(double, shrink) V(long long, resized) V(long long, skipped) V(int, source)   \
    V(int, count)               /* lines: columns or rows of the crop */                                               \
    V(int, filter)              /* 0 bilinear, 1 bicubic */                                                            \
    V(int, most)                /* taps of a line, at most */
#define REID__GPU_PICTURE(P, V, S) /* one image of a batch */                                                          \
    V(long long, pixels)        /* offset of the box's first pixel in the staging block, bytes */                      \
    V(int, stride)              /* bytes from source row to source row */                                              \
    V(int, bytes)               /* of a pixel; 0: resized by the CPU, with (height, width, RGB) at `pixels` */         \
    V(int, r) V(int, g) V(int, b) /* positions of the channels in a pixel */                                           \
    V(int, columns) V(int, lines) V(int, pad) /* pixels of a tile of the view, see reid__resize_tile */                \
    S(gpu_axis, x) S(gpu_axis, y)
#define REID__RESIZE_ARGUMENTS(P, V, S)                                                                                \
    P(const unsigned char, staging) P(const gpu_picture, pictures) /* one for each image */                            \
    P(unsigned char, view)      /* (images, height, width, RGB) */                                                     \
    V(int, width) V(int, height) V(int, flip) /* flip: mirrors left to right */
#define REID__INPUT_ARGUMENTS(P, V, S)                                                                                 \
    P(const unsigned char, view) P(const float, lut) /* lut: (3, 256), from pixels, in the order of the channels */    \
    P(value_t, image) V(int, bgr) V(int, images) /* the network's input */
#define REID__PACK_ARGUMENTS(P, V, S) /* reid_pack: (n, ic, kh, kw) to anywhere */                                     \
    P(const float, from) P(const double, factors) P(value_t, to) /* factors: (n) or 0 */                               \
    V(int, n) V(int, ic) V(int, kh) V(int, kw)                                                                         \
    V(int, stride_n) V(int, stride_c) V(int, stride_y) V(int, stride_x) /* in values */
#define REID__CONV_ARGUMENTS(P, V, S) /* reid_conv_plain, reid_conv_f32, reid_conv_f16 and reid_join */                \
    P(const value_t, in) P(const value_t, weights) P(const float, bias)                                                \
    P(const value_t, residual)  /* RESIDUAL: added to the outputs */                                                   \
    P(const float, factors)     /* SCALE: squeeze-excite factors, (images, IC) */                                      \
    P(const float, scales)      /* BYTES: steps of the output per unit of a channel's sum; then of residuals */        \
    P(const value_t, more) P(const float, more_bias) /* MORE_C: the other input, and its convolution's bias */         \
    P(value_t, out)             /* or, with ROW_SUMS, floats */                                                        \
    P(sum_t, parts)             /* APART: (SPLIT, pixels, OC_PADDED), which reid_join adds */                          \
    P(unsigned, full)           /* BYTES: (images), counts of saturated outputs */                                     \
    P(const float, sums)        /* HIDDEN: this, and the next four, as in squeeze_arguments */                         \
    P(const float, w1) P(const float, b1) P(const float, w2) P(const float, b2)                                        \
    V(int, pixels)              /* images * OH * OW */
#define REID__WGMMA_ARGUMENTS(P, V, S)                                                                                 \
    S(tensor_map, in_map) S(tensor_map, weights_map)                                                                   \
    S(tensor_map, next_map)     /* NEXT: the second convolution's weights */                                           \
    S(tensor_map, residual_map) /* RESIDUAL without SPLIT */                                                           \
    S(tensor_map, more_map) S(tensor_map, more_weights_map) /* MORE_C: the other input; with BYTES, its weights */     \
    S(tensor_map, then_map)     /* THEN: the third one's weights */                                                    \
    P(const value_t, residual)  /* RESIDUAL with SPLIT */                                                              \
    P(const float, bias) P(const float, more_bias) P(const float, next_bias) /* MORE_C, NEXT */                        \
    P(const float, scales) P(const float, next_scales) /* BYTES: as in conv_arguments; with NEXT */                    \
    P(const float, then_bias) P(const float, then_scales) P(const float, more_scales)                                  \
    P(void, out) P(void, then_out) /* outputs; with ROW_SUMS, sums. THEN */                                            \
    P(unsigned, full) V(int, pixels)
#define REID__STEM_POOL_ARGUMENTS(P, V, S)                                                                             \
    P(const unsigned char, view) P(const float, lut) P(const value_t, weights) P(const float, bias) P(void, out)       \
    P(const float, scales) P(unsigned, full) /* BYTES */                                                               \
    V(int, bgr) V(int, images) V(int, strip_rows) /* strip_rows: pooled rows that a warpgroup takes at a time */
#define REID__PROJECT_ARGUMENTS(P, V, S)                                                                               \
    S(tensor_map, in_map) S(tensor_map, weights_map) S(tensor_map, out_map) /* boxes (128, 64), (BN, 64), (16, BN) */  \
    P(const float, bias) P(const float, factors) P(const value_t, residual) V(int, pixels) V(int, images)
#define REID__DEPTHWISE_ARGUMENTS(P, V, S) /* reid_depthwise and reid_expand, which reads the expansion's input */     \
    P(const value_t, in) P(const float, weights) P(const float, bias) P(value_t, out)                                  \
    P(float, sums)              /* (images, tiles, C), over a tile's outputs */                                        \
    V(int, images) V(int, rows) /* rows: of outputs, of a share of reid_expand */                                      \
    P(const value_t, expansion) P(const float, expansion_bias) /* weights (C, ROW) of the 1x1 convolution */
#define REID__SQUEEZE_ARGUMENTS(P, V, S)                                                                               \
    P(const float, sums) P(const float, w1) P(const float, b1) /* to the hidden units */                               \
    P(const float, w2) P(const float, b2) /* from them */                                                              \
    P(float, factors)           /* (images, C) */                                                                      \
    V(int, images)
#define REID__MAXPOOL_ARGUMENTS(P, V, S) P(const value_t, in) P(value_t, out) V(int, pixels) /* of the output */
#define REID__POOL_ARGUMENTS(P, V, S)                                                                                  \
    P(const value_t, in) P(float, out)                                                                                 \
    P(const double, factors) P(const float, bias) /* NORM: batch norm */                                               \
    P(const float, exponent)    /* GEM */                                                                              \
    V(int, bins)                /* images * OH * OW */                                                                 \
    V(float, step)              /* BYTES: the value of one step, else 1 */
#define REID__LINEAR_ARGUMENTS(P, V, S)                                                                                \
    P(const float, in) P(const float, weights) P(const float, bias) P(float, out) V(int, images)
#define REID__INSTANCE_ARGUMENTS(P, V, S)                                                                              \
    P(const value_t, in) P(const value_t, residual) P(const float, weights) P(const float, bias) P(value_t, out)       \
    V(double, epsilon)          /* added to a variance */
#define REID__NONLOCAL_ARGUMENTS(P, V, S) /* each (images, pixels, C) */                                               \
    P(const value_t, query) P(const value_t, key) P(const value_t, value) P(value_t, out)
#define REID__NORMALISE_ARGUMENTS(P, V, S)                                                                             \
    P(const float, in) P(const float, first) /* FLIP: the result for the images unmirrored */                          \
    P(float, out)               /* may equal one of the others */
#define REID__SEARCH_HIT(P, V, S)                                                                                      \
    V(double, score) V(unsigned, row) /* the best row of a group */                                                    \
    V(unsigned, unit)           /* the group's number, or the row's place */
#define REID__SEARCH_ARGUMENTS(P, V, S) /* reid_search_queries, reid_search and reid_search_best */                    \
    S(tensor_map, rows_map) S(tensor_map, queries_map) /* HOPPER: boxes of 128 rows, of BN queries, by 128 bytes */    \
    P(const value_t, rows)      /* (32 tiles, K), by groups: bytes, or halves, scaled so that none is longer than 1 */ \
    P(const float, row_scales)  /* [32 tiles]: of the bytes; VALUE_U8 */                                               \
    P(const float, floats) P(const unsigned short, halves) /* (32 tiles, K): the rows as given, in one type or none */ \
    P(const unsigned, order)    /* [count]: the number of the row in each place; 0: the place itself */                \
    P(const unsigned, starts)   /* [groups + 1]: the first place of each group; 0: rows are ranked */                  \
    P(const float, given)       /* the queries, (n, dim) */                                                            \
    P(value_t, queries) P(double, wide) /* (n, K): of length 1, n padded to BN; as given */                            \
    P(int, first_sums)          /* [n padded to BN]: at which the sums of a query begin; VALUE_U8 */                   \
    P(double, scales)           /* (n, 2): score per unit of a maximum; most by which a score can exceed it */         \
    P(float, maxima)            /* (n, tiles): the best product with each tile */                                      \
    P(int, found) P(search_hit, hits) /* (n, parts): hits of a query; (n, parts, k) */                                 \
    V(double, step) V(double, slack) /* as in scales, of a query of length 1; VALUE_U8: of one without rest, and ... */\
    V(double, reach)            /* ... what a rest of length 1 adds to it */                                           \
    V(double, least) V(int, n) V(int, tiles) V(int, dim) V(int, k) /* no hit scores less than `least` */               \
    V(unsigned, count) V(unsigned, groups) /* rows that are not padding; groups of them */                             \
    V(int, top) V(int, room)    /* the best rows of a group that count; units that reid_search_best can list */        \
    V(int, parts) V(int, reaching) /* blocks of reid_search_best for a query; tiles that have rows of k units */

/* X(name, bytes, members) for all structures; those that others contain come first. */
#define REID__CONTRACT(X)                                                                                              \
    X(gpu_axis, 56, REID__GPU_AXIS) X(gpu_picture, 152, REID__GPU_PICTURE)                                             \
    X(resize_arguments, 40, REID__RESIZE_ARGUMENTS) X(input_arguments, 32, REID__INPUT_ARGUMENTS)                      \
    X(pack_arguments, 56, REID__PACK_ARGUMENTS) X(conv_arguments, 136, REID__CONV_ARGUMENTS)                           \
    X(wgmma_arguments, 1024, REID__WGMMA_ARGUMENTS) X(project_arguments, 512, REID__PROJECT_ARGUMENTS)                 \
    X(depthwise_arguments, 64, REID__DEPTHWISE_ARGUMENTS) X(squeeze_arguments, 56, REID__SQUEEZE_ARGUMENTS)            \
    X(stem_pool_arguments, 72, REID__STEM_POOL_ARGUMENTS)                                                              \
    X(maxpool_arguments, 24, REID__MAXPOOL_ARGUMENTS) X(pool_arguments, 48, REID__POOL_ARGUMENTS)                      \
    X(linear_arguments, 40, REID__LINEAR_ARGUMENTS) X(instance_arguments, 48, REID__INSTANCE_ARGUMENTS)                \
    X(nonlocal_arguments, 32, REID__NONLOCAL_ARGUMENTS) X(normalise_arguments, 24, REID__NORMALISE_ARGUMENTS)          \
    X(search_hit, 16, REID__SEARCH_HIT) X(search_arguments, 512, REID__SEARCH_ARGUMENTS)

#define REID__DECLARE_POINTER(type, name) reid__address name;
#define REID__DECLARE_NUMBER(type, name) type name;
#define REID__DECLARE_INSIDE(type, name) reid__##type name;
#define REID__DECLARE_STRUCT(name, bytes, members)                                                                     \
    typedef struct reid__##name {                                                                                      \
        members(REID__DECLARE_POINTER, REID__DECLARE_NUMBER, REID__DECLARE_INSIDE)                                     \
    } reid__##name;                                                                                                    \
    REID__STATIC_ASSERT(sizeof(reid__##name) == bytes, name##_has_this_size);
REID__CONTRACT(REID__DECLARE_STRUCT)
REID__STATIC_ASSERT(sizeof(reid__tensor_map) == 128, tensor_map_has_this_size);

/* Prints what precedes reid_kernels.cu, whose STRUCT declares a structure by MEMBERS_OF_name, checks LAYOUT_OF_name. */
static void reid__contract_text(reid__text *c) {
    reid__print(c, "#define REID_CONTRACT 1\n");
#define REID__PRINT_POINTER(type, name) reid__print(c, " %s *%s;", #type, #name);
#define REID__PRINT_VALUE(type, name) reid__print(c, " %s %s;", #type, #name);
#define REID__PRINT_OFFSET(type, name)                                                                                 \
    reid__print(c, " && OFFSET_OF(%s, %s) == %d", self_name, #name,                                                    \
                (int)((const char *)&self.name - (const char *)&self));
#define REID__PRINT_STRUCT(name, bytes, members) {                                                                     \
        const char *self_name = #name;                                                                                 \
        reid__##name self;                                                                                             \
        reid__print(c, "#define MEMBERS_OF_%s", self_name);                                                            \
        members(REID__PRINT_POINTER, REID__PRINT_VALUE, REID__PRINT_VALUE)                                             \
        reid__print(c, "\n#define LAYOUT_OF_%s static_assert(sizeof(%s) == %d", self_name, self_name, bytes);          \
        members(REID__PRINT_OFFSET, REID__PRINT_OFFSET, REID__PRINT_OFFSET)                                            \
        reid__print(c, ", \"%s does not have the layout of reid.h\")\n", self_name);                                   \
    }
    REID__CONTRACT(REID__PRINT_STRUCT)
}

/* --- the text of the kernels --- */
#if defined(REID_KERNELS_BYTES)
static const unsigned char reid__kernel_text[] = {
#include REID_KERNELS_BYTES
    0};
#elif defined(REID_KERNELS_FILE) && defined(__has_embed)
#pragma GCC diagnostic push
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wc23-extensions" /* #embed in an older standard */
#else
#pragma GCC diagnostic ignored "-Wpedantic"
#endif
static const unsigned char reid__kernel_text[] = {
#embed REID_KERNELS_FILE
    , 0};
#pragma GCC diagnostic pop
#elif defined(REID_KERNELS_FILE)
__asm__(".pushsection .rodata\nreid__kernel_text:\n.incbin \"" REID_KERNELS_FILE "\"\n.byte 0\n.popsection\n");
extern const unsigned char reid__kernel_text[] __attribute__((visibility("hidden")));
#else
static const unsigned char reid__kernel_text[] = {0};
#endif

/* --- finding NVRTC --- */
static void reid__candidate_add(reid__jit *j, const char *path) {
    if (strlen(path) >= REID__PATH || j->candidate_count == REID__MAX_CANDIDATES) return;
    memcpy(j->candidates[j->candidate_count++], path, strlen(path) + 1);
}

/* Adds every match of a pattern such as "/usr/local/cuda-*" + "/lib64/libnvrtc.so.12". */
static void reid__candidates_in(reid__jit *j, const char *root, const char *folder, const char *name) {
    char pattern[REID__PATH];
    glob_t found;
    if (!*root || snprintf(pattern, sizeof pattern, "%s%s/%s", root, folder, name) >= REID__PATH) return;
    memset(&found, 0, sizeof found);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i-- > 0;) reid__candidate_add(j, found.gl_pathv[i]);
    globfree(&found);
}

/* Lists libraries to try, newest version first, but no later major version than the driver's, which would refuse its
   cubins. For each version: one already loaded or that the loader finds, the toolkit's folders, Python's wheels. */
static void reid__candidates(reid__jit *j) {
    static const struct { int major; char name[20]; } versions[] = {
        {13, "libnvrtc.so.13"}, {12, "libnvrtc.so.12"}, {11, "libnvrtc.so.11.2"}};
    static const char *const toolkit[] = {"/lib64", "/targets/x86_64-linux/lib"};
    static const char *const wheels[] = {"/lib/python3*/[ds]i*-packages/nvidia/cu13/lib", /* site, or Debian's dist */
                                         "/lib/python3*/[ds]i*-packages/nvidia/cuda_nvrtc/lib"};
    const char *const roots[] = {reid__env("CUDA_PATH"), reid__env("CUDA_HOME"), "/usr/local/cuda",
                                 "/usr/local/cuda-*"};
    const char *const pythons[] = {reid__env("VIRTUAL_ENV"), reid__env("CONDA_PREFIX"), "/usr/local"};
    const char *given = j->desc->nvrtc_path ? j->desc->nvrtc_path : getenv("REID_NVRTC");
    if (given && *given) {
        reid__candidate_add(j, given);
        return;
    }
    for (size_t v = 0; v < sizeof versions / sizeof versions[0]; v++) {
        const char *name = versions[v].name;
        if (versions[v].major > j->most_version / 1000) {
            reid__try_note(&j->tried, "%s would be newer than the driver", name);
            continue;
        }
        reid__candidate_add(j, name);
        for (int i = 0; i < 8; i++) reid__candidates_in(j, roots[i / 2], toolkit[i % 2], name);
        reid__candidates_in(j, reid__env("CONDA_PREFIX"), "/lib", name);
        for (int i = 0; i < 6; i++) reid__candidates_in(j, pythons[i / 2], wheels[i % 2], name);
    }
}

/* Loads one candidate. Returns what is wrong with it, or NULL. */
static const char *reid__nvrtc_load(reid__jit *j, const char *path) {
    static const reid__symbol symbols[] = {
#define REID__NVRTC_ROW(type, field, symbol, parameters) {symbol, offsetof(reid__nvrtc, field)},
        REID__NVRTC(REID__NVRTC_ROW)
    };
    char builtins[REID__PATH + 64];
    int major = 0, minor = 0;
    struct stat st;
    Dl_info where;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!library) library = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* never closed: other handles may use it */
    if (!library) return dlerror();
    if (reid__load_symbols(library, symbols, sizeof symbols / sizeof symbols[0], &j->rtc))
        return "it is not NVRTC 11.2 or later";
    if (j->rtc.Version(&major, &minor) != 0) return "it does not report its version";
    if (major > j->most_version / 1000) return "it is newer than the driver";
    void *symbol = dlsym(library, "nvrtcVersion");
    snprintf(j->rtc_path, sizeof j->rtc_path, "%s", symbol && dladdr(symbol, &where) ? where.dli_fname : path);
    j->rtc_version = major * 1000 + minor * 10;
    j->rtc_size = stat(j->rtc_path, &st) == 0 ? (uint64_t)st.st_size : 0;
    /* At its first compilation NVRTC opens its builtins by their bare name, which fails outside the loader's path, so
       they are loaded beforehand from beside it. If they are missing, that compilation fails. */
    const char *slash = strrchr(j->rtc_path, '/');
    int folder = slash ? (int)(slash - j->rtc_path) : 0;
    snprintf(builtins, sizeof builtins, "%.*s/libnvrtc-builtins.so.%d.%d", folder, j->rtc_path, major, minor);
    if (slash) (void)dlopen(builtins, RTLD_NOW | RTLD_GLOBAL);
    return NULL;
}

/* Chooses the target: this chip's machine code if NVRTC knows the chip, else that of the closest older chip of its
   generation, which runs on it, else PTX of the newest. Returns 0 if NVRTC knows only newer chips. */
static int reid__jit_target(reid__jit *j) {
    int archs[128], count = 0, best = 0, newest = 0, known = 0;
    if (j->rtc_version && j->rtc.GetNumSupportedArchs(&count) == 0 && count > 0 && count <= 128 &&
        j->rtc.GetSupportedArchs(archs) == 0) known = count;
    for (int i = 0; i < known; i++) {
        if (archs[i] > newest && archs[i] <= j->arch) newest = archs[i];
        if (archs[i] / 10 == j->arch / 10 && archs[i] <= j->arch && archs[i] > best) best = archs[i];
    }
    if (known && !newest) return 0;
    j->is_ptx = known && !best;
    int arch = !known ? j->arch : best ? best : newest;
    snprintf(j->arch_option, sizeof j->arch_option, "--gpu-architecture=%s_%d%s", j->is_ptx ? "compute" : "sm", arch,
             arch == 90 && j->arch == 90 ? "a" : ""); /* only sm_90a has all of Hopper's instructions */
    return 1;
}

/* Loads the next candidate that works and knows the chip. Returns 0 if none is left. */
static int reid__nvrtc_next(reid__jit *j) {
    while (j->candidate < j->candidate_count) {
        const char *path = j->candidates[j->candidate++], *why = reid__nvrtc_load(j, path);
        if (!why && !reid__jit_target(j)) why = "it does not know this GPU";
        if (!why) return 1;
        reid__try_note(&j->tried, strncmp(why, path, strlen(path)) == 0 ? "%.0s%s" : "%s: %s", path, why);
    }
    j->rtc_version = 0;
    return 0;
}

/* --- compiling --- */
/* Appends options, with blanks between them, to a program's list. A list that is too long gets the length 0. */
REID__FORMAT(2, 3) static void reid__option(reid__program *p, const char *format, ...) {
    va_list args;
    char *at = p->options + p->length;
    size_t left = sizeof p->options - p->length;
    va_start(args, format);
    int n = vsnprintf(at, left, format, args), fits = n >= 0 && (size_t)n < left;
    va_end(args);
    p->count++;
    for (int i = 0; i < n && fits; i++)
        if (at[i] == ' ') at[i] = 0, p->count++;
    if (!fits || p->count > REID__MAX_OPTIONS - 4) n = -1, p->length = 0;
    p->length += (size_t)(n + 1);
}

/* Adds a program, unless it has been added before. Returns its number, or -1 if there is no room. */
static int reid__program_add(reid__jit *j, const reid__program *p) {
    for (int i = 0; i < j->program_count; i++) {
        const reid__program *o = &j->programs[i];
        if (o->length == p->length && memcmp(o->options, p->options, p->length) == 0) return i;
    }
    if (j->program_count == REID__MAX_PROGRAMS || p->length == 0) return -1;
    j->programs[j->program_count] = *p;
    return j->program_count++;
}

static void reid__program_compile(const reid__jit *j, reid__program *p, const char *text) {
    static const char *const before[] = {"reid_contract.h"};
    const char *options[REID__MAX_OPTIONS] = {j->arch_option, "--std=c++17", "--pre-include=reid_contract.h"};
    const char *at = p->options, *contract = j->contract;
    int n = 3;
    for (int i = 0; i < p->count; i++, at += strlen(at) + 1) options[n++] = at;
    p->result = j->rtc.CreateProgram(&p->compiling, text, "reid_kernels.cu", 1, &contract, before);
    if (p->result) p->compiling = NULL;
    else p->result = j->rtc.CompileProgram(p->compiling, n, options);
}

static void reid__compiler_task(void *arg, int index) {
    reid__jit *j = (reid__jit *)arg;
    (void)index;
    for (int i; (i = __atomic_fetch_add(&j->next, 1, __ATOMIC_RELAXED)) < j->program_count;)
        if (!j->programs[i].cubin) reid__program_compile(j, &j->programs[i], j->text);
}

static void *reid__compiler_main(void *arg) {
    reid__compiler_task(arg, 0);
    return NULL;
}

/* Compiles all programs without a cubin, on up to `threads` new threads, of larger stacks, or on the caller's pool. */
static void reid__compile_all(reid__jit *j, int threads) {
    pthread_t others[REID__COMPILERS];
    int started = 0;
    threads = reid__min(threads, REID__COMPILERS), j->next = 0;
    if (j->desc->parallel_fn && threads > 1) {
        j->desc->parallel_fn(reid__compiler_task, j, threads, j->desc->parallel_user);
        return;
    }
    while (started < threads - 1 &&
           reid__thread_start(&others[started], REID__COMPILER_STACK, reid__compiler_main, j)) started++;
    reid__compiler_task(j, 0);
    for (int i = 0; i < started; i++) pthread_join(others[i], NULL);
}

/* Copies NVRTC's log of a program, from its first error on if it has one, cut to fit. */
static void reid__program_log(const reid__jit *j, const reid__program *p, char *text, size_t size) {
    size_t length = 0;
    text[0] = 0;
    if (!p->compiling || j->rtc.GetProgramLogSize(p->compiling, &length) != 0 || length < 2) return;
    char *log = (char *)reid__alloc(j->mem, length + 1);
    if (!log) return;
    log[0] = log[length] = 0;
    if (j->rtc.GetProgramLog(p->compiling, log) == 0) {
        const char *error = strstr(log, "error");
        while (error && error > log && error[-1] != '\n') error--;
        snprintf(text, size, "%s", error ? error : log);
    }
    reid__free(j->mem, log);
}

static reid_result reid__program_fail(const reid__jit *j, const reid__program *p, reid_error *e) {
    char log[1400];
    reid__program_log(j, p, log, sizeof log);
    return reid__fail(e, REID_ERR_KERNEL_COMPILE, "%.200s, program %s: %s: %s", j->rtc_path, p->options,
                      j->rtc.GetErrorString(p->result), log);
}

/* Copies the machine code from NVRTC, after the threads are done, because memory comes from the caller's allocator. */
static reid_result reid__program_collect(reid__jit *j, reid__program *p, reid_error *e) {
    if (p->result) return reid__program_fail(j, p, e);
    size_t size = 0;
    p->result = j->is_ptx ? j->rtc.GetPTXSize(p->compiling, &size) : j->rtc.GetCUBINSize(p->compiling, &size);
    if (p->result || size == 0) return reid__program_fail(j, p, e);
    char *to = (char *)reid__alloc(j->mem, size + 1);
    if (!to) return reid__no_memory(e, "a compiled kernel", size);
    p->result = j->is_ptx ? j->rtc.GetPTX(p->compiling, to) : j->rtc.GetCUBIN(p->compiling, to);
    to[size] = 0;
    if (p->result) return reid__program_fail(j, p, e);
    if (!j->is_ptx && (size < 4 || memcmp(to, "\177ELF", 4) != 0))
        return reid__fail(e, REID_ERR_KERNEL_COMPILE, "%.200s did not make an ELF file of %s", j->rtc_path, p->options);
    p->cubin = (const unsigned char *)to, p->cubin_size = size;
    return REID_OK;
}

/* Compiles a one-line kernel: a library can load and still not compile (builtins missing, option unknown). */
static int reid__nvrtc_works(reid__jit *j) {
    static const char text[] = "extern \"C\" __global__ void reid_test() {}";
    char log[300];
    reid__program p;
    memset(&p, 0, sizeof p);
    reid__program_compile(j, &p, text);
    if (p.result) {
        reid__program_log(j, &p, log, sizeof log);
        reid__try_note(&j->tried, "%s: a test compilation failed: %s: %s", j->rtc_path, j->rtc.GetErrorString(p.result),
                       log);
    }
    if (p.compiling) j->rtc.DestroyProgram(&p.compiling);
    return p.result == 0;
}

/* Looks all programs up in pack and cache. Returns how many are missing. */
static int reid__jit_lookup(reid__jit *j) {
    int missing = 0;
    for (reid__program *p = j->programs; p < j->programs + j->program_count; p++) {
        reid__digest d;
        if (p->cubin) continue;
        reid__digest_init(&d);
        /* The chip, not the option for it, which depends on NVRTC: a pack made elsewhere must be found. */
        reid__print_digest(&d, "reid kernel 1\nversion %d\nsm_%d\n", REID_VERSION, j->arch);
        reid__digest_update(&d, p->options, p->length);
        reid__digest_update(&d, j->contract, strlen(j->contract));
        reid__digest_update(&d, j->text, strlen(j->text));
        reid__digest_final(&d, p->key);
        if (j->pack) p->cubin = reid__bundle_find(j->pack, j->pack_size, p->key, &p->cubin_size);
        if (!p->cubin && j->cache[0] && j->rtc_version) reid__cache_load(j, p);
        missing += !p->cubin;
    }
    return missing;
}

static reid_result reid__jit_build(reid__jit *j, int threads, reid_error *e) {
    const char *why = j->cache[0] ? reid__cache_make(j->cache) : NULL;
    if (why) reid__cache_leave(j, why, errno);
    int missing = reid__jit_lookup(j);
    if (missing && j->no_folder)
        reid__log(j->desc, REID_LOG_WARNING, REID_ERR_FILE_WRITE, "compiled kernels are not kept: neither "
                  "REID_CACHE_DIR nor XDG_CACHE_HOME nor HOME names a folder, or its path is too long");
    while (missing && j->rtc_version && !reid__nvrtc_works(j))
        if (reid__nvrtc_next(j)) missing = reid__jit_lookup(j); /* another compiler has other entries in the cache */
    if (missing && !j->rtc_version)
        return reid__fail(e, REID_ERR_DEVICE, "%d kernel%s must be compiled for sm_%d%s%.300s, but no NVRTC can "
                          "be used%s%s", missing, missing == 1 ? "" : "s", j->arch,
                          j->pack ? ", missing or damaged in " : "", j->pack ? j->desc->kernels_pack : "",
                          j->tried.length ? ": " : "", j->tried.text);
    if (missing) {
        reid__log(j->desc, REID_LOG_INFO, REID_OK, "compiling %d kernel%s with NVRTC %d.%d", missing,
                  missing == 1 ? "" : "s", j->rtc_version / 1000, j->rtc_version % 1000 / 10);
        reid__compile_all(j, threads);
    }
    for (int i = 0; i < j->program_count && missing; i++) {
        char path[REID__PATH + 40];
        if (j->programs[i].cubin) continue;
        REID__TRY(reid__program_collect(j, &j->programs[i], e));
        if (!j->cache[0]) continue;
        reid__cache_path(j, &j->programs[i], path);
        int code = reid__bundle_save(j->mem, path, &j->programs[i], 1, 0);
        if (code) reid__cache_leave(j, "writing failed", code);
    }
    return REID_OK;
}

/* Prepares compiling: text, pack, cache folder, a first NVRTC. most_version: the driver's. */
static reid_result reid__jit_init(reid__jit *j, reid__mem *mem, const reid_desc *desc, int arch, int most_version,
                                  reid_error *e) {
    memset(j, 0, sizeof *j);
    j->mem = mem, j->before = mem->newest, j->desc = desc, j->arch = arch, j->most_version = most_version;
    j->no_folder = !reid__cache_folder(desc, j->cache);
    j->tried.text = j->tried_text, j->tried.room = sizeof j->tried_text;
    const char *path = desc->kernels_pack;
    reid__text contract = {NULL, 0, 0}; /* counted first */
    unsigned char *text;
    size_t size;
    if (desc->kernels_src && desc->kernels_path)
        return reid__invalid(e, "give either desc.kernels_src or desc.kernels_path");
    j->text = desc->kernels_src ? desc->kernels_src : (const char *)reid__kernel_text;
    if (desc->kernels_path) {
        REID__TRY(reid__read_file(mem, desc->kernels_path, REID__MAX_TEXT, &text, &size, e));
        j->text = (const char *)text;
    }
    if (!*j->text)
        return reid__fail(e, REID_ERR_NO_KERNELS, "give the text of reid_kernels.cu: desc.kernels_src, "
                          "desc.kernels_path, or REID_KERNELS_FILE when reid.h is compiled");
    reid__contract_text(&contract);
    contract.room = contract.length + 1, contract.length = 0;
    contract.text = j->contract = (char *)reid__alloc(mem, contract.room);
    if (!contract.text) return reid__no_memory(e, "compiling", contract.room);
    reid__contract_text(&contract);
    if (path) REID__TRY(reid__read_file(mem, path, REID__MAX_BUNDLE, &j->pack, &j->pack_size, e));
    if (path && !reid__bundle_valid(j->pack, j->pack_size))
        return reid__fail(e, REID_ERR_KERNEL_PACK, "%.500s: it is not a pack of kernels, or it is damaged", path);
    j->candidates = (char(*)[REID__PATH])reid__alloc(mem, REID__MAX_CANDIDATES * sizeof *j->candidates);
    j->programs = (reid__program *)reid__alloc(mem, REID__MAX_PROGRAMS * sizeof *j->programs);
    if (!j->candidates || !j->programs)
        return reid__no_memory(e, "compiling", REID__MAX_PROGRAMS * sizeof *j->programs);
    reid__candidates(j);
    if (!reid__nvrtc_next(j)) reid__jit_target(j); /* without NVRTC a pack may suffice */
    return REID_OK;
}

/* Frees everything allocated from mem since reid__jit_init. */
static void reid__jit_free(reid__jit *j) {
    for (int i = 0; i < j->program_count; i++)
        if (j->programs[i].compiling) j->rtc.DestroyProgram(&j->programs[i].compiling);
    if (j->mem) reid__release(j->mem, j->before);
    memset(j, 0, sizeof *j);
}

/* --------------------------------------------------------------------------------------------------------------------
   >>cuda_plan
   The CUDA executor. It takes the same list of operations: each becomes one launch of a kernel of reid_kernels.cu (a
   step), and all launches of a batch, or of a large one those after the stem, become one CUDA graph. A call is cut into
   batches of 1, 2, 4 … images, each with a graph of its size; pixels are uploaded unchanged and resized on the GPU.
   Bits: every kernel adds up an output in an order that depends only on its operation, not on tile or batch. */
#define REID__GPU_BATCH 64     /* default */
#define REID__MAX_GRAPHS 9     /* batches of 1 … 256 */
#define REID__LARGE 8          /* batches of this size and more use the tiles for large batches */
#ifndef REID__HEAD_APART
#define REID__HEAD_APART 32    /* graphs of batches of this size and more begin behind the stem: reid__view_upload */
#endif
#define REID__GPU_ALIGN 256    /* bytes: alignment in device memory */
#define REID__RESIZE_COLUMNS 64 /* of the largest tile of reid_resize; lines are a quarter */
#define REID__RESIZE_SHARED 40960 /* bytes of its shared memory */
#define REID__PACK_EACH 16     /* weights that a thread packs */
#define REID__FACTORS ((size_t)65536) /* bytes: batch norm's factors for 8192 channels, more than any operation has */

/* How one operation runs. */
typedef struct reid__step {
    const char *function;      /* in reid_kernels.cu */
    int program, bm, bn;       /* a convolution's tile, pixels by channels; bn also, if depthwise: SPREAD or 0,
                                  if squeeze: IMAGES */
    int groups;                /* reid_conv_wgmma: 2: both warpgroups work on a tile; 1: they take turns */
    int unit;                  /* blocks come in multiples of it: a cluster, or tiles side by side if weights stay */
    int split;                 /* blocks of a cluster that share the K of a tile, or a squeeze */
    int split_in_memory;       /* 1: not a cluster: the parts of K go to memory, and `join` adds them */
    unsigned threads, shared;
    void *handle, *join;
    int clusters;              /* clusters that the device runs at once; 0: no clusters, or not yet queried */
    char label[40];            /* "reid_conv_f16 128x64": function, reid__tile_name */
} reid__step;

/* Launches that do not belong to an operation. */
typedef enum reid__extra {
    REID__EXTRA_RESIZE, REID__EXTRA_INPUT,
    REID__EXTRA_UNIT,       /* L2 normalisation, after both passes of a flip */
    REID__EXTRA_PACK_VALUE, /* weights in the chosen precision */
    REID__EXTRA_PACK_FLOAT, /* weights in FP32 */
    REID__EXTRAS
} reid__extra;

/* SLICE and so on of reid_expand; zeros if it does not compute the operation. */
typedef struct reid__expand { int slice, images, rows, warps; } reid__expand;

/* The plan for a GPU, with sizes in bytes instead of floats, and a kernel for each operation. */
typedef struct reid__gpu_plan {
    const reid__plan *plan;
    const reid__prep *prep;
    int half, flip, raw, latency, batch; /* half: values are FP16, unless always FP32 ... */
    int bf16;                          /* ... or bf16 */
    int int8;                          /* ... or bytes, as in the plan: reid__plan_narrow */
    int wgmma;                         /* convolutions use Hopper's instructions if reid__takes_wgmma */
    const char *tiles;                 /* measured times of tiles, see reid__tiles_read; or NULL */
    int tile;                          /* REID_TILE */
    int fused_shortcut[REID__MAX_OPS], fused_first[REID__MAX_OPS], fused_then[REID__MAX_OPS]; /* see reid__fold */
    int fused_into[REID__MAX_OPS];     /* ... and, for fused_then, reid__then_init */
    unsigned squeezed[REID__MAX_OPS];  /* 0, or bytes of shared memory: see reid__squeezed_init */
    int pixels_per_sum[REID__MAX_BUFFERS]; /* pixels summed in a value: 1, or a row's, see reid__only_pooled */
    reid__buffer buffers[REID__MAX_BUFFERS];      /* the plan's, with the lifetimes of this plan */
    size_t view;                       /* bytes of a resized image, (height, width, RGB) */
    int rows, columns, stem_kw;        /* the stored image, (rows, columns, 4); the stem's kernel width, made even */
    reid__expand expand[REID__MAX_OPS + 1];
    size_t size[REID__MAX_BUFFERS];    /* bytes of each buffer per image */
    size_t offset[REID__MAX_BUFFERS];  /* in the arena, per image */
    size_t arena;                      /* bytes per image */
    size_t parts;                      /* bytes per image for the parts of K of any operation */
    size_t weight[REID__MAX_OPS], bias[REID__MAX_OPS], weight2[REID__MAX_OPS], bias2[REID__MAX_OPS]; /* bytes */
    size_t weights, packing;           /* bytes of all; of the largest in FP32, as a loader needs */
    reid__step step[2][REID__MAX_OPS]; /* for small and for large batches */
    reid__step extra[REID__EXTRAS];
} reid__gpu_plan;

/* A batch in progress. While the GPU computes one, the host fills the other. */
typedef struct reid__slot {
    unsigned char *host;    /* pinned: descriptions and pixels of the images; as large as `staging` */
    float *result;          /* pinned (batch, dim): the last kernel writes the embeddings here */
    uint32_t *full;         /* pinned (batch): the lane's `full` for this batch. The first slot's block has all six */
    reid__address staging;
    void *uploaded, *done;  /* events */
    int first, count;       /* images of the call; count 0: no batch is in progress */
} reid__slot;

typedef struct reid__gpu_lane {
    void *stream, *copies;            /* uploads have their own stream, to overlap with computing */
    reid__address buffer[REID__MAX_BUFFERS];
    reid__address view;               /* (batch, height, width, 3) uint8: the resized images */
    reid__address parts;              /* the input of reid_join */
    reid__address full;               /* INT8: (batch) uint32: number of saturated outputs, see reid__counts_clipped */
    reid__address mirrored;           /* (batch, dim) floats: the embedding of the first pass of a flip */
    reid__address memory;             /* the block that all of these are in */
    reid__slot slots[2];
    void *graphs[REID__MAX_GRAPHS];   /* [log2 of the batch] */
} reid__gpu_lane;

typedef struct reid__gpu {
    reid__device device;
    reid__gpu_plan plan;
    void *modules[REID__MAX_PROGRAMS];
    int module_count;
    reid__address weights, lut;       /* lut: (3, 256) floats, after the weights */
    reid__gpu_lane *lanes;
    int lane_count, overlap;          /* overlap: a kernel may start before the previous one ends */
    int sync;                         /* REID_SYNC=1: no graphs, and a wait after each launch */
    size_t staging;                   /* bytes of a slot: descriptions, and pixels of twice the network's input */
    size_t lane_device, lane_pinned, lane_activations; /* bytes per lane; activations is a part of device */
} reid__gpu;

static size_t reid__gpu_aligned(size_t n) { return (n + REID__GPU_ALIGN - 1) / REID__GPU_ALIGN * REID__GPU_ALIGN; }

/* --- the plan for a GPU --- */
/* Whether the launch of operation `index` adds another activation. */
static int reid__adds(const reid__gpu_plan *g, int index) {
    return g->plan->ops[index].residual != REID__NONE && g->fused_shortcut[index] == REID__NONE;
}

/* The first operation in the launch of operation `index`. */
static int reid__launch_first(const reid__gpu_plan *g, int index) {
    return g->fused_first[index] == REID__NONE ? index : g->fused_first[index];
}

/* Whether the launch of operation `index` computes a later one, too, but none before it. */
static int reid__is_direct(const reid__gpu_plan *g, int index) {
    return g->fused_then[index] != REID__NONE && g->fused_first[index] == REID__NONE;
}

/* End of the operations that the first launch computes: the stem, on some GPUs with the max pool behind it. */
static int reid__head_end(const reid__gpu_plan *g) { return g->fused_into[0] == REID__NONE ? 1 : g->fused_into[0] + 1; }

/* Bytes of `pixels` pixels in a buffer, with all channels: sums of rows are FP32, other values in the precision. */
static size_t reid__gpu_values(const reid__gpu_plan *g, int buffer, int pixels) {
    const reid__buffer *b = &g->plan->buffers[buffer];
    size_t per = (size_t)g->pixels_per_sum[buffer];
    size_t value = per > 1 || !g->half ? 4 : g->int8 ? (size_t)b->bytes : 2;
    return (size_t)pixels / per * (size_t)b->c * value;
}

/* The tiles over which reid_depthwise sums its outputs for the squeeze: TILE_H and COLS of the kernel, how many an
   image has, and the rows that a thread takes in a large batch, in whole tiles. Only the layer decides, as the bits of
   the sums depend on it. More columns load less, and need more registers. */
typedef struct reid__sum_tiles { int rows, cols, count, slide; } reid__sum_tiles;
static reid__sum_tiles reid__sum_tiles_of(const reid__op *op) {
    int most = op->kw == 3 || (op->stride == 1 && op->ow <= 14) ? 7 : 4, strips = reid__ceil_div(op->ow, most);
    reid__sum_tiles t = {reid__max(reid__ceil_div(op->oh, 8), 7), reid__ceil_div(op->ow, strips), 0, 0};
    t.count = strips * reid__ceil_div(op->oh, t.rows), t.slide = reid__max(28 / t.rows, 1) * t.rows;
    REID_ASSERT(op->kind == REID__DEPTHWISE);
    return t;
}

/* Whether reid_stem_pool computes input, stem and max pool. A row of the stem's outputs must fit in registers. */
static int reid__takes_stem_pool(const reid__gpu_plan *g, const reid__op *op) {
    return g->wgmma && reid__is_stem(g->plan, op) && op[1].kind == REID__MAXPOOL && op->kh == 7 && op->kw == 7 &&
           op->stride == 2 && op->oc == 64 && op->ow <= 176;
}

/* Bytes that an operation reads of its input. Squeezes read sums of tiles, linear layers vectors, both in FP32. */
static size_t reid__gpu_read(const reid__gpu_plan *g, const reid__op *op) {
    size_t c = (size_t)g->plan->buffers[op->in].c;
    if (reid__takes_stem_pool(g, op)) return 0; /* it reads the view */
    if (reid__is_stem(g->plan, op)) return (size_t)g->rows * (size_t)g->columns * 4 * (g->half ? 2 : 4);
    if (op->kind == REID__SQUEEZE) return (size_t)reid__sum_tiles_of(op - 1).count * c * sizeof(float);
    if (op->kind == REID__LINEAR || op->kind == REID__NORMALISE) return c * sizeof(float);
    return reid__gpu_values(g, op->in, op->ih * op->iw);
}

/* End of the bytes that an operation writes to its output. Factors, pooled vectors and linear layers' are FP32. */
static size_t reid__gpu_written(const reid__gpu_plan *g, const reid__op *op) {
    if (op->kind == REID__POOL || op->kind == REID__LINEAR || op->kind == REID__SQUEEZE)
        return (size_t)(op->oh * op->ow) * (size_t)(op->channel + reid__padded(op->oc)) * sizeof(float);
    return reid__gpu_values(g, op->out, op->oh * op->ow);
}

/* A launch's access to one of the plan's buffers: the first `bytes` bytes of each image there. */
typedef struct reid__access { int buffer; size_t bytes; } reid__access;
#define REID__ACCESSES 8

static int reid__touch(reid__access *out, int buffer, size_t bytes) {
    out->buffer = buffer, out->bytes = bytes;
    return 1;
}

/* Lists all reads and writes of an operation's launch with what is fused into it; returns their number, 0 if another
   launch computes it. Buffers' sizes and lifetimes come from here; reid__gpu_plan_is_sound checks against it. */
static int reid__gpu_accesses(const reid__gpu_plan *g, int index, reid__access out[REID__ACCESSES]) {
    const reid__plan *p = g->plan;
    const reid__op *op = &p->ops[index], *first = &p->ops[reid__launch_first(g, index)];
    int n = 0, with = g->fused_shortcut[index], then = g->fused_then[index];
    if (g->fused_into[index] != REID__NONE) return 0;
    n += reid__touch(&out[n], first->in, reid__gpu_read(g, first));
    if (op->kind == REID__NORMALISE) return n; /* its output is not in a buffer of the plan */
    if (with != REID__NONE) n += reid__touch(&out[n], p->ops[with].in, reid__gpu_read(g, &p->ops[with]));
    if (then != REID__NONE) n += reid__touch(&out[n], p->ops[then].out, reid__gpu_written(g, &p->ops[then]));
    if (g->expand[index].slice || g->squeezed[index])
        n += reid__touch(&out[n], op[-1].in, reid__gpu_read(g, op - 1));
    if (reid__adds(g, index))
        n += reid__touch(&out[n], op->residual, reid__gpu_values(g, op->residual, op->oh * op->ow));
    if (op->scale != REID__NONE) n += reid__touch(&out[n], op->scale, (size_t)p->buffers[op->scale].c * sizeof(float));
    if (op->key != REID__NONE) n += reid__touch(&out[n], op->key, reid__gpu_values(g, op->key, op->oh * op->ow));
    if (op->key != REID__NONE) n += reid__touch(&out[n], op->value, reid__gpu_values(g, op->value, op->oh * op->ow));
    if (op->sums != REID__NONE)
        n += reid__touch(&out[n], op->sums,
                         (size_t)reid__sum_tiles_of(op).count * (size_t)p->buffers[op->sums].c * sizeof(float));
    return n + reid__touch(&out[n], op->out, reid__gpu_written(g, op));
}

/* Sets buffers' sizes and lifetimes, in launches: the image comes before the first, the embedding is read after all. */
static void reid__gpu_buffers(reid__gpu_plan *g) {
    const reid__plan *p = g->plan;
    const reid__op *stem = &p->ops[0];
    const reid__buffer *image = &p->buffers[stem->in];
    reid__access touched[REID__ACCESSES];
    g->rows = reid__max((stem->oh - 1) * stem->stride + stem->kh, image->border_y + p->height);
    g->columns = reid__max((stem->ow - 1) * stem->stride + g->stem_kw, image->border_x + p->width);
    g->columns = reid__round_up(g->columns, 2); /* so that a row of 4 channels is a multiple of 16 bytes */
    memcpy(g->buffers, p->buffers, sizeof g->buffers);
    for (int i = 0; i < p->buffer_count; i++) g->buffers[i].first = p->op_count, g->buffers[i].last = 0, g->size[i] = 0;
    for (int i = 0; i < p->op_count; i++)
        for (int k = 0, n = reid__gpu_accesses(g, i, touched); k < n; k++) {
            reid__buffer *b = &g->buffers[touched[k].buffer];
            size_t *size = &g->size[touched[k].buffer], bytes = reid__gpu_aligned(touched[k].bytes);
            if (bytes > *size) *size = bytes;
            b->first = reid__min(b->first, i), b->last = reid__max(b->last, i);
        }
    g->buffers[stem->in].first = 0, g->buffers[p->embedding].last = p->op_count;
    g->arena = reid__place_buffers(g->buffers, p->buffer_count, g->size, NULL, g->offset);
}

/* Depth of a convolution kernel's slices of K: weights are padded to a multiple. */
static int reid__gpu_bk(const reid__gpu_plan *g) { return g->half ? 32 : 16; }

#define REID__SHARED_ALL 232448  /* bytes of shared memory of a block on sm_90 that has a multiprocessor to itself */
#define REID__SHARED_HALF 115712 /* and of each of two */
#define REID__LEAST_WGMMA 48 /* output channels: of fewer, most of a tile of 64 would be nothing */

/* Whether reid_conv_wgmma computes an operation, at any batch size: other instructions may give other bits. */
static int reid__takes_wgmma(const reid__gpu_plan *g, const reid__op *op) {
    int stored = g->plan->buffers[op->out].c;
    return g->wgmma && op->kind == REID__CONV && op->scale == REID__NONE && stored == reid__padded(op->oc) &&
           g->plan->buffers[op->in].c >= 64 && stored >= REID__LEAST_WGMMA;
}

/* For reid_conv_wgmma: bytes of an operand's value; depth of a slice, 128 if bytes have as many channels, else 64. */
static int reid__wgmma_value(const reid__op *op) { return reid__in_bytes(op) ? 1 : 2; }
static int reid__slice(const reid__gpu_plan *g, const reid__op *op) {
    return reid__in_bytes(op) && g->plan->buffers[op->in].c >= 128 ? 128 : 64;
}

/* Channels of a row of weights: 4 for the stem, whole slices for reid_conv_wgmma, else padded channels. */
static int reid__gpu_channels(const reid__gpu_plan *g, const reid__op *op) {
    int c = g->plan->buffers[op->in].c;
    return reid__is_stem(g->plan, op) ? 4 : reid__takes_wgmma(g, op) ? reid__round_up(c, reid__slice(g, op)) : c;
}

/* INT8: the row of an output channel's weights: a thread's sums 2 q, 2 q + 1, 2 q + 8, 2 q + 9 are neighbours. */
static int reid__wgmma_row(int channel) {
    return (channel & ~15) | (channel & 2) << 2 | (channel >> 1 & 6) | (channel & 1);
}

/* K of a convolution as stored; the stem's kernel is wider. */
static int reid__gpu_depth(const reid__gpu_plan *g, const reid__op *op) {
    return op->kh * (reid__is_stem(g->plan, op) ? g->stem_kw : op->kw) * reid__gpu_channels(g, op);
}

/* K of a row of packed weights: of an operation and the shortcut fused into it; in INT8 each has its own weights. */
static int reid__gpu_row(const reid__gpu_plan *g, int index) {
    int into = g->fused_into[index], shortcut = into != REID__NONE && g->fused_shortcut[into] == index;
    int main = shortcut && !g->int8 ? into : index, with = g->int8 ? REID__NONE : g->fused_shortcut[main];
    return reid__round_up(reid__gpu_depth(g, &g->plan->ops[main]), reid__gpu_bk(g)) +
           (with == REID__NONE ? 0 : reid__gpu_depth(g, &g->plan->ops[with]));
}

/* Whether an operation's launch can compute a shortcut as more K, or the operation be that shortcut. With
   reid_conv_wgmma always; with reid_conv_f16 on halves, on chips without wgmma, if no slice has channels of both. */
static int reid__takes_more(const reid__gpu_plan *g, const reid__op *op) {
    if (g->wgmma || !g->half) return reid__takes_wgmma(g, op);
    return !g->int8 && op->kind == REID__CONV && op->scale == REID__NONE && !reid__is_stem(g->plan, op) &&
           g->plan->buffers[op->in].c % reid__gpu_bk(g) == 0;
}

/* Whether only a global average reads this operation's output, and not in FP32. If so, its launch adds up each row of
   an image, as the pool would, and stores the sums. Rows must fit the smallest tile. */
static int reid__only_pooled(const reid__gpu_plan *g, const reid__op *a) {
    const reid__op *b = reid__only_user(g->plan, a);
    return b && b->in == a->out && b->kind == REID__POOL && b->oh * b->ow == 1 && !b->gem && g->half &&
           (!g->int8 || reid__takes_wgmma(g, a)) && a->kind == REID__CONV && a->ow <= 32;
}

/* Decides which operations share a launch. The max pool's launch begins with the stem: g->fused_first. If a block's
   shortcut is a convolution, the block's last convolution computes it as more K: g->fused_shortcut; in INT8 with sums
   of its own, because their scales differ, and neither for latency nor where products take longer than memory.
   Otherwise the last convolution's launch begins with the one before it, if a tile holds all its channels:
   g->fused_first; but not for latency, as K of both cannot be cut into parts, nor in INT8, where two launches are as
   fast. For operations without a launch of their own, g->fused_into is the one that has it. */
static void reid__fold(reid__gpu_plan *g) {
    const reid__plan *p = g->plan;
    for (int i = 0; i < p->op_count; i++)
        g->fused_shortcut[i] = g->fused_first[i] = g->fused_into[i] = g->fused_then[i] = REID__NONE;
    for (int i = 0; i < p->buffer_count; i++) g->pixels_per_sum[i] = 1;
    for (int i = 0; i < p->op_count; i++) {
        const reid__op *a = &p->ops[i];
        if (reid__only_pooled(g, a)) g->pixels_per_sum[a->out] = a->ow;
        if (reid__takes_stem_pool(g, a)) g->fused_first[i + 1] = i, g->fused_into[i] = i + 1;
        if (!reid__takes_more(g, a) || a->residual != REID__NONE) continue;
        /* The user must be a 1x1 convolution of the output, or, if `adds`, one that adds it, without a shortcut yet. */
        const reid__op *b = reid__only_user(p, a);
        int adds = a->kh * a->kw == 1 && a->act == REID__LINEAR_ACT, user = (int)((b ? b : a) - p->ops);
        if (!b || (adds ? b->residual : b->in) != a->out || b->kh * b->kw * b->stride != 1) continue;
        if (!reid__takes_more(g, b) || g->fused_shortcut[user] != REID__NONE) continue;
        if (adds && g->int8 && (g->latency || a->ic > 512 || reid__slice(g, a) != reid__slice(g, b))) continue;
        if (adds) g->fused_shortcut[user] = i, g->fused_into[i] = user;
        if (adds || !g->wgmma || g->latency || g->int8 || (a->oc != 64 && a->oc != 128)) continue;
        if (b->oc % 128 || b->act != a->act) continue;
        g->fused_first[user] = i, g->fused_into[i] = user;
    }
}

static size_t reid__gpu_place(size_t *end, size_t bytes) {
    size_t at = *end;
    *end = at + reid__gpu_aligned(bytes);
    return at;
}

static void reid__gpu_weights(reid__gpu_plan *g) {
    const reid__plan *p = g->plan;
    g->weights = g->packing = 0;
    for (int i = 0; i < p->op_count; i++) {
        const reid__op *op = &p->ops[i];
        size_t oc = (size_t)reid__padded(op->oc), c = (size_t)p->buffers[op->in].c, matrix = 0, second = 0;
        size_t depth = (size_t)reid__gpu_depth(g, op), value = op->kind == REID__CONV && g->half ? 2 : 4;
        if (reid__in_bytes(op)) value = 1;
        if (op->kind == REID__CONV) matrix = (size_t)reid__gpu_row(g, i) * oc * value;
        if (op->kind == REID__LINEAR) matrix = depth * oc * sizeof(float);
        if (op->kind == REID__DEPTHWISE) matrix = (size_t)op->kh * (size_t)op->kw * oc * sizeof(float);
        if (op->kind == REID__SQUEEZE) matrix = (size_t)op->hidden * c * sizeof(float), second = matrix;
        if (op->kind == REID__POOL) matrix = oc * sizeof(double), second = sizeof(float); /* factors, exponent */
        if (op->normed) matrix = oc * sizeof(float);
        if (op->kind == REID__CONV && g->int8) second = (oc + 1) * sizeof(float); /* scales: `scale` of the kernel */
        if (!matrix) continue;
        if (g->packing < matrix / value * 4) g->packing = reid__gpu_aligned(matrix / value * 4);
        if (g->int8 || g->fused_into[i] == REID__NONE || g->fused_shortcut[g->fused_into[i]] != i)
            g->weight[i] = reid__gpu_place(&g->weights, matrix);
        if (!g->int8 && g->fused_shortcut[i] != REID__NONE)
            g->weight[g->fused_shortcut[i]] = g->weight[i] + 2 * depth; /* in the same rows of weights */
        g->bias[i] = reid__gpu_place(&g->weights, (size_t)reid__max(op->hidden, (int)oc) * sizeof(float));
        g->weight2[i] = reid__gpu_place(&g->weights, second);
        g->bias2[i] = reid__gpu_place(&g->weights, second ? oc * sizeof(float) : 0);
    }
}

/* Tiles of the convolution kernels, largest first. In FP32 a thread's pixels by channels stand in place of warps. arch:
   only for this chip; 0: for all. An A100's tensor cores outrun shared memory: warps use a value twice as often. */
static const struct { int half, bm, bn, warps_m, warps_n, stages, arch; } reid__tiles[] = {
    {1, 128, 128, 2, 2, 4, 80},
    {1, 128, 64, 2, 2, 4, 0}, {1, 64, 64, 2, 2, 4, 0}, {1, 32, 64, 1, 4, 4, 0}, {1, 64, 32, 2, 2, 4, 0},
    {1, 32, 32, 2, 2, 4, 0},
    {0, 128, 128, 8, 16, 2, 0}, {0, 64, 128, 8, 16, 2, 0}, {0, 128, 64, 8, 8, 2, 0}, {0, 64, 64, 8, 8, 2, 0},
    {0, 32, 64, 4, 4, 4, 0}, {0, 32, 32, 4, 4, 4, 0},
};
#define REID__TILE_COUNT ((int)(sizeof reid__tiles / sizeof reid__tiles[0]))
#define REID__JOIN_SLICES 40 /* slices of K that take a block longer than the overhead of a launch (assumed) */

/* Multiprocessors that a chip of this kind usually has, not those of the device, as packs are made without a device. */
static int reid__usual_processors(int arch) {
    static const struct { int arch, count; } rows[] = { /* 87: Jetson Orin, 110: Thor */
        {75, 40}, {80, 108}, {86, 82}, {87, 16}, {89, 128}, {90, 132}, {100, 148}, {110, 20}, {120, 170}};
    int count = 100;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].arch <= arch) count = rows[i].count;
    return count;
}

/* The largest tile that still gives every multiprocessor one, for a batch of 1 or of 32, and whose channels are at most
   a fifth padding. It never changes the bits. */
static int reid__choose_tile(const reid__gpu_plan *g, const reid__op *op, int arch, int large) {
    ptrdiff_t pixels = (ptrdiff_t)(large ? 32 : 1) * op->oh * op->ow, channels = reid__padded(op->oc);
    int last = 0;
    for (int i = 0; i < REID__TILE_COUNT; i++) {
        int bm = reid__tiles[i].bm, bn = reid__tiles[i].bn;
        if (reid__tiles[i].half != g->half || (bn > 32 && bn > channels)) continue;
        if (bn > 64 && 5 * channels < 4 * ((channels + bn - 1) / bn * bn)) continue;
        /* Tiles for one chip are for halves only: with bytes, the scales do not fit into the registers as well. */
        if (reid__tiles[i].arch && (reid__tiles[i].arch != arch || reid__in_bytes(op))) continue;
        last = i;
        if ((pixels + bm - 1) / bm * ((channels + bn - 1) / bn) >= reid__usual_processors(arch)) break;
    }
    return last;
}

/* Number of blocks that share K of a tile, whatever the batch: as many as have a multiprocessor each for one image, in
   parts of at least four slices. Without clusters it is at least REID__JOIN_SLICES shorter than K. */
static int reid__choose_split(const reid__gpu_plan *g, int index, int arch) {
    const reid__op *op = &g->plan->ops[index];
    int tile = reid__choose_tile(g, op, arch, 0), split = 1;
    int slices = reid__gpu_row(g, index) / (reid__in_bytes(op) ? 2 * reid__gpu_bk(g) : reid__gpu_bk(g));
    int tiles = reid__ceil_div(op->oh * op->ow, reid__tiles[tile].bm) *
                reid__ceil_div(reid__padded(op->oc), reid__tiles[tile].bn);
    if (!g->latency || g->pixels_per_sum[op->out] > 1) return 1;
    if (g->half && op->scale != REID__NONE && slices < 20) return 1; /* takes less than the parts' exchange: FETCHED */
    while (split < 8 && 2 * split * tiles <= reid__usual_processors(arch) && slices / (2 * split) >= 4) split *= 2;
    return arch < 90 && slices - slices / split < REID__JOIN_SLICES ? 1 : split;
}

/* A tile of reid_conv_wgmma. The layer fixes its channels, because instructions of other widths may give other bits. */
typedef struct reid__wgmma_tile {
    int blocks, groups, bm, bn, across; /* across: tiles side by side */
    int depth, row;                     /* of a slice: values, and bytes */
    int chunks, passes, next, then;     /* next: slices of a pass; then: channels of the operation fused behind */
    int stages, slots, resident, split, light;
    unsigned shared;
    double cost;                        /* set by reid__best_tile */
} reid__wgmma_tile;

/* The available tiles; REID_TILE numbers them from 1. A tile has 64 * blocks * groups pixels. groups 2: both warpgroups
   work on one tile; 1: they take turns. split: parts into which a cluster cuts K. wide, in INT8: 256 channels if a
   layer has as many, with sums of one block, because of the registers. */
typedef struct reid__wgmma_shape { int blocks, groups, split, wide; } reid__wgmma_shape;
static const reid__wgmma_shape reid__wgmma_shapes[] = {
    {1, 1, 1, 0}, {1, 2, 1, 0}, {2, 1, 1, 0}, {2, 2, 1, 0}, {1, 1, 2, 0}, {1, 2, 2, 0},
    {1, 1, 4, 0}, {1, 2, 4, 0}, {1, 1, 8, 0}, {1, 2, 8, 0}, {1, 1, 1, 1}, {1, 2, 1, 1},
};
#define REID__WGMMA_SHAPES ((int)(sizeof reid__wgmma_shapes / sizeof reid__wgmma_shapes[0]))

static reid__wgmma_tile reid__wgmma_fit(const reid__gpu_plan *g, int index, const reid__wgmma_shape *s) {
    int first = reid__launch_first(g, index), oc = g->plan->ops[first].oc, bytes, a, b, fixed, kept;
    int direct = reid__is_direct(g, index), then = g->fused_then[index], outputs = g->plan->ops[index].oc;
    int with = g->int8 ? g->fused_shortcut[index] : REID__NONE;
    const reid__op *op = &g->plan->ops[first];
    const int row_sums = g->pixels_per_sum[g->plan->ops[index].out] > 1;
    int value = reid__wgmma_value(op), slot, blocks = s->blocks, groups = s->groups, split = s->split;
    reid__wgmma_tile t;
    t.depth = reid__slice(g, op), t.row = t.depth * value, t.light = g->latency, t.split = split;
    bytes = (t.light ? REID__SHARED_HALF : REID__SHARED_ALL) - 1024; /* 1024 for the barriers */
    t.blocks = blocks, t.groups = groups, t.bm = 64 * blocks * groups;
    t.bn = oc <= 64 || t.light ? 64 : s->wide && oc >= 256 ? 256 : 128;
    t.across = direct ? 1 : reid__ceil_div(oc, t.bn), t.chunks = reid__ceil_div(reid__gpu_row(g, first), t.depth);
    if (with != REID__NONE) t.chunks += reid__gpu_row(g, with) / t.depth;
    t.slots = (split > 1 ? value == 1 : reid__adds(g, index)) ? 4 : split > 1 || row_sums || then != REID__NONE ? 2 : 1;
    t.passes = first == index && !direct ? 0 : outputs / 128, t.next = direct ? t.chunks : t.bn / t.depth;
    t.then = then == REID__NONE ? 0 : g->plan->ops[then].oc;
    if (t.then && !direct) t.slots = 3; /* a fourth one has no room */
    slot = value == 2 ? 64 : t.passes ? 128 : reid__min(t.bn, 128); /* channels */
    a = t.bm * t.row, b = direct ? 0 : t.bn * t.row;
    kept = t.chunks * b + t.passes * t.next * 128 * t.row + outputs * t.then * value;
    fixed = 2 * 64 * value * (t.slots * slot + (t.passes && !direct ? blocks * t.bn : 0));
    t.resident = split == 1 && bytes - fixed - kept >= 3 * a;
    t.stages = reid__min(8, t.resident ? (bytes - fixed - kept) / a : (bytes - fixed) / (a + b));
    if (t.passes && !t.resident && t.bn == 64) t.stages = 0; /* a slice of the second weights would not fit a stage */
    if (row_sums && groups * split > 1) t.stages = 0; /* a row would be cut into parts */
    if (split > t.chunks || (t.bn == 256 && blocks * split > 1)) t.stages = 0;
    if (t.then && !t.resident) t.stages = 0;
    if ((t.then || with != REID__NONE) && (s->wide || blocks * split > 1)) t.stages = 0; /* too many sums */
    if (direct && t.stages < 3 * t.chunks) t.stages = 0; /* each warpgroup keeps a tile's slices */
    t.shared = (unsigned)(t.stages * (t.resident ? a : a + b) + t.resident * kept + fixed + 1024);
    return t;
}

/* A model of the time of reid_conv_wgmma, by which its tiles are chosen. The figures were fitted to the times of
   ResNet-50's operations on an H200 and an H100 (tools/results/gpu), so each also absorbs what the formula leaves out.
   Rates are per clock and multiprocessor. */
typedef struct reid__pace {
    double m64n256k16;    /* clocks of such a product; 128 by the data sheet */
    double l2_to_shared;  /* bytes out of the L2 cache, when all copy ... */
    double alone;         /* ... and when few do */
    double slice_wait;    /* clocks from the request for a slice to its arrival: a ring of N has N on their way */
    double slice;         /* clocks of a slice in addition to its products */
    double dsmem;         /* bytes to other blocks' shared memory */
    double barrier;       /* clocks of a cluster's barrier */
    double outputs;       /* stored */
    double residuals;     /* added; 0: in the time of the store */
    double row_sums;      /* clocks of a tile that stores sums of rows for the global average */
} reid__pace;
static const reid__pace reid__paces[2] = { /* [1]: INT8 */
    {134, 26.6, 51, 2480, 55, 13.3, 720, 5.16, 0, 1750}, {134, 21.5, 54, 1370, 180, 8.8, 92, 8.6, 44, 1700}};
#define REID__L2_BYTES 50e6   /* bytes of one launch that stay on the chip for the next */
#define REID__DRAM_BYTES 2051 /* bytes that an H200's memory moves in a clock: 4.06 TB/s at 1980 MHz */

/* Bytes of activations that a launch reads and writes for an image. A 1x1 convolution with a stride skips pixels. */
static double reid__launch_bytes(const reid__gpu_plan *g, int index) {
    const reid__op *first = &g->plan->ops[reid__launch_first(g, index)], *last = &g->plan->ops[index];
    double bytes = (double)g->size[first->in] / (first->kh == 1 ? first->stride * first->stride : 1);
    bytes += (double)g->size[last->out];
    if (g->fused_then[index] != REID__NONE) bytes += (double)g->size[g->plan->ops[g->fused_then[index]].out];
    if (reid__adds(g, index)) bytes += (double)g->size[last->residual];
    if (g->fused_shortcut[index] == REID__NONE) return bytes;
    const reid__op *shortcut = &g->plan->ops[g->fused_shortcut[index]];
    return bytes + (double)g->size[shortcut->in] / (shortcut->stride * shortcut->stride);
}

/* Clocks of a tile's products for `slices` slices of n channels; row: bytes of an operand's row. */
static double reid__product_clocks(const reid__wgmma_tile *t, int slices, int n, int row, const reid__pace *p) {
    return slices * (p->slice + t->bm / 64 * n * row / (2 * 256 * 16 / p->m64n256k16));
}

/* Clocks until a tile's outputs are stored, including its residual, sums of rows and the other blocks' parts of K. */
static double reid__store_clocks(const reid__gpu_plan *g, int index, const reid__wgmma_tile *t, const reid__pace *p) {
    double outputs = t->bm * t->bn / t->split, clocks = outputs / p->outputs;
    if (p->residuals > 0 && reid__adds(g, index)) clocks += outputs / p->residuals;
    if (g->int8 && g->fused_shortcut[index] != REID__NONE) clocks += 2 * outputs / p->residuals; /* assumed */
    clocks = clocks * (!reid__is_direct(g, index) + t->passes * 128 / t->bn) + t->bm * t->then / p->outputs;
    if (g->pixels_per_sum[g->plan->ops[index].out] > 1) clocks += p->row_sums;
    return t->split == 1 ? clocks : clocks + p->barrier + 4 * outputs * (t->split - 1) / p->dsmem;
}

/* Clocks of a launch's work for n images. Copies run ahead as far as the ring lets them. What two multiprocessors load
   at about the same time leaves the L2 cache once (a factor of 1.9 to 2.2 if it is fitted, too): weights, and inputs of
   tiles side by side. Warpgroups that take turns (groups 1) multiply while the other one stores; those that share a
   tile do not, but the ring fills while they store. */
static double reid__wgmma_clocks(const reid__gpu_plan *g, int index, const reid__wgmma_tile *t, int n) {
    const reid__op *op = &g->plan->ops[reid__launch_first(g, index)];
    const reid__pace *p = &reid__paces[g->int8];
    int chunks = reid__ceil_div(t->chunks, t->split), more = t->passes * t->next;
    double processors = reid__usual_processors(90), rows = ceil((double)n * op->oh * op->ow / t->bm);
    double tiles = rows * t->across, busy = fmin(tiles * t->split, processors);
    double rate = fmin(p->l2_to_shared * processors / busy, p->alone);
    double bytes = (t->across > 1 ? t->bm / 2.0 : t->bm) * t->row + (t->resident ? 0 : t->bn * t->row / 2.0);
    double copy = fmax(bytes / rate, p->slice_wait / t->stages);
    double copies = chunks * copy + (t->resident ? 0 : more * 128 * t->row / 2.0 / rate);
    double products = reid__product_clocks(t, reid__is_direct(g, index) ? 0 : chunks, t->bn, t->row, p) +
                      reid__product_clocks(t, more, 128, t->row, p) +
                      (t->then ? reid__product_clocks(t, t->passes * reid__wgmma_value(op), t->then, 128, p) : 0);
    double store = reid__store_clocks(g, index, t, p), first = fmax(copies, products);
    double waves = floor((tiles - 1) / floor(processors / t->split));
    double idle = fmax(store - t->stages * copy, 0); /* the ring is full, and nothing is copied */
    if (t->groups == 2) return waves * fmax(copies + idle, products + store) + first + store;
    return waves * fmax(products / 2 + store, first) + first + 2 * store;
}

/* Clocks per image, summed over the batch sizes of a tile: of work and of memory, which overlap almost completely. */
static double reid__wgmma_cost(const reid__gpu_plan *g, int index, const reid__wgmma_tile *t, int large) {
    double cost = 0;
    for (int n = large ? 64 : 1; n <= (large ? 256 : t->light ? 1 : 4); n *= 2) {
        double bytes = reid__launch_bytes(g, index) * n, memory = bytes > REID__L2_BYTES ? bytes / REID__DRAM_BYTES : 0;
        cost += pow(pow(reid__wgmma_clocks(g, index, t, n), 5) + pow(memory, 5), 0.2) / n;
    }
    return cost;
}

/* "128x64": pixels by channels; "2*64x64": both warpgroups on one; "/8": parts of K. */
static void reid__tile_name(int groups, int bm, int bn, int split, char name[40]) {
    int n = snprintf(name, 40, "%s%dx%d", groups == 2 ? "2*" : "", groups == 2 ? bm / 2 : bm, bn);
    if (split > 1) snprintf(name + n, (size_t)(40 - n), "/%d", split);
}

/* Measured nanoseconds of an operation's launch with this tile; 0: not measured. */
static double reid__tile_time(const reid__gpu_plan *g, int index, int arch, int large, const reid__wgmma_tile *t) {
    char line[200], name[40];
    if (!g->tiles) return 0;
    reid__tile_name(t->groups, t->bm, t->bn, t->split, name);
    int n = snprintf(line, sizeof line, "\nsm_%d %s %s%s %dx%d %.60s %d %s ", arch, g->plan->arch.name,
                     g->int8 ? "int8" : "fp16", g->latency ? "-latency" : "", g->plan->height, g->plan->width,
                     g->plan->ops[index].name, large ? 64 : 1, name);
    const char *found = n < (int)sizeof line ? strstr(g->tiles, line) : NULL;
    return found ? (double)strtoll(found + n, NULL, 10) : 0;
}

/* The best tile; its stages are 0 if there is none. split: only tiles with this split; 0: any. measured: prefers tiles
   that were measured. Halves have no tiles of 256 channels, which gain little in large batches and lose in small ones:
   a layer has one width at all batch sizes, because instructions of other widths may give other bits. */
static reid__wgmma_tile reid__best_tile(const reid__gpu_plan *g, int index, int arch, int large, int split,
                                        int measured) {
    int parts = g->latency || (g->int8 && g->wgmma == 2 && !large);
    reid__wgmma_tile best, t;
    memset(&best, 0, sizeof best);
    for (int i = 0; i < REID__WGMMA_SHAPES; i++) {
        const reid__wgmma_shape *s = &reid__wgmma_shapes[i];
        if (s->split > 1 ? !parts : g->latency && s->blocks > 1) continue;
        t = reid__wgmma_fit(g, index, s);
        if (t.stages < 3 || (split && t.split != split)) continue;
        if (s->wide && (t.bn != 256 || !g->int8)) continue;
        if (t.passes && !t.resident && t.groups == 1) continue; /* a turn would last for all passes */
        t.cost = measured ? reid__tile_time(g, index, arch, large, &t) : 0;
        if (t.cost <= 0) t.cost = 1e15 + reid__wgmma_cost(g, index, &t, large);
        if (measured && g->tile == i + 1) t.cost = -1;
        if (!best.stages || t.cost < best.cost) best = t;
    }
    return best;
}

/* For latency the parts of K are those that the model finds best for one image, whatever the batch and whatever was
   measured, because the bits depend on them; sums of bytes are equal for any parts and any width. */
static reid__wgmma_tile reid__choose_wgmma_tile(const reid__gpu_plan *g, int index, int arch, int large) {
    int split = g->latency ? reid__best_tile(g, index, arch, 0, 0, 0).split : 0;
    return reid__best_tile(g, index, arch, large, split, 1);
}

static void reid__wgmma_step(const reid__gpu_plan *g, int index, const reid__wgmma_tile *t, reid__program *p,
                             reid__step *s) {
    const reid__op *with = g->fused_shortcut[index] == REID__NONE ? NULL : &g->plan->ops[g->fused_shortcut[index]];
    s->bm = t->bm, s->bn = t->bn, s->groups = t->groups, s->split = t->split;
    s->unit = t->split > 1 ? t->split : t->resident ? t->across : 1;
    s->threads = 384, s->shared = t->shared, s->function = "reid_conv_wgmma";
    reid__option(p, "-DREID_CONV_WGMMA -DBLOCKS_M=%d -DGROUPS=%d -DBN=%d -DSTAGES=%d -DSLOTS=%d", t->blocks, t->groups,
                 t->bn, t->stages, t->slots);
    reid__option(p, "-DRESIDENT=%d -DSPLIT=%d -DLIGHT=%d -DROW_SUMS=%d -DNEXT=%d", t->resident, t->split,
                 t->light, g->pixels_per_sum[g->plan->ops[index].out] > 1, t->passes * 128);
    reid__option(p, "-DMORE_C=%d -DMORE_STRIDE=%d", with ? g->plan->buffers[with->in].c : 0, with ? with->stride : 1);
    if (t->then)
        reid__option(p, "-DTHEN=%d -DTHEN_ACT=%d -DDIRECT=%d", t->then, (int)g->plan->ops[g->fused_then[index]].act,
                     reid__is_direct(g, index));
}

/* Decides whether the launch of operation `index`, a block's last convolution, also computes the 1x1 convolution with
   which the next block begins: if its weights fit shared memory. Without fused_first the launch begins with `index`. */
static void reid__then_init(reid__gpu_plan *g, int index) {
    const reid__plan *p = g->plan;
    const reid__op *a = &p->ops[index], *b = a + 1, *end = p->ops + p->op_count;
    while (b < end && (b->in != a->out || b->kind != REID__CONV || b->kh * b->kw * b->stride != 1)) b++;
    int then = (int)(b - p->ops), begins = g->fused_first[index] != REID__NONE;
    if (then == p->op_count || g->latency || !reid__takes_wgmma(g, a) || !reid__takes_wgmma(g, b)) return;
    if (g->fused_into[index] != REID__NONE || g->fused_into[then] != REID__NONE) return;
    if (!begins && (a->kh * a->kw * a->stride != 1 || a->oc % 128)) return;
    if (b->act != a->act && (g->int8 || b->act != REID__LINEAR_ACT)) return;
    if (b->residual != REID__NONE || (b->oc != 64 && b->oc != 128)) return;
    if (g->fused_first[then] != REID__NONE || g->fused_shortcut[then] != REID__NONE) return;
    if (p->buffers[a->out].is_signed != p->buffers[b->out].is_signed || g->pixels_per_sum[b->out] > 1) return;
    g->fused_then[index] = then, g->fused_into[then] = index;
    if (reid__wgmma_fit(g, index, &reid__wgmma_shapes[0]).stages < 3)
        g->fused_then[index] = g->fused_into[then] = REID__NONE;
}

/* op: the max pool. A row of outputs needs four places of the ring, and as many again are on their way. */
static void reid__stem_pool_step(const reid__gpu_plan *g, const reid__op *op, reid__program *p, reid__step *s) {
    const reid__buffer *image = &g->plan->buffers[op[-1].in];
    int columns = reid__round_up(op->iw, 16), pitch = g->columns * 8 + (columns - op->iw) * 16, places = 8;
    s->function = "reid_stem_pool", s->bm = columns, s->bn = 64, s->split = 1, s->threads = 384;
    s->shared = (unsigned)(4 * places * (pitch + 8) + 2 * op->ow * (64 * (g->int8 ? 1 : 2) + 16) + 3 * 256 * 2);
    reid__option(p, "-DREID_STEM_POOL -DPOOL_H=%d -DPOOL_W=%d -DPOOL_PAD_Y=%d -DPOOL_PAD_X=%d -DSTAGES=%d", op->oh,
                 op->ow, op->pad_y, op->pad_x, places);
    reid__option(p, "-DH=%d -DW=%d -DBORDER_Y=%d -DBORDER_X=%d", g->plan->height, g->plan->width, image->border_y,
                 image->border_x);
}

/* Whether reid_stem computes an operation, with the bits of reid_conv_f16; and its rows of outputs of a block: one in a
   small batch, else as many as shared memory has room for without asking for more than 48 KB. */
static int reid__takes_stem(const reid__gpu_plan *g, const reid__op *op) {
    return g->half && !g->int8 && reid__is_stem(g->plan, op) && op->kh == 3 && op->kw == 3 && op->stride == 2 &&
           op[1].kind != REID__MAXPOOL && op->oc <= 64 && g->plan->buffers[op->out].c == reid__padded(op->oc);
}

static void reid__stem_step(const reid__gpu_plan *g, const reid__op *op, int large, reid__program *p, reid__step *s) {
    int rows = large ? 8 : 1, row = g->columns * 8;
    while (op->oh % rows || (rows > 1 && (2 * rows + 1) * row + 512 > 48 * 1024)) rows--;
    s->function = "reid_stem", s->bm = rows * op->ow, s->bn = reid__padded(op->oc), s->split = 1;
    s->shared = (unsigned)((2 * rows + 1) * row + 512); /* what the last outputs of a row read behind it */
    reid__option(p, "-DREID_STEM -DR=%d -DBK=%d", rows, reid__gpu_bk(g));
}

/* FETCHED of reid_conv_f16: slices whose inputs, and factors, are on their way at once. A thread has at most eight
   pieces of 16 bytes in flight, which with their factors take 96 registers, and all slices fit 64 KB. */
static int reid__fetched_slices(const reid__gpu_plan *g, const reid__op *op, const reid__step *s, int large) {
    int pieces = reid__max(s->bm * 4 / (int)s->threads, 1), slices = reid__min(8 / pieces, 512 / (s->bm + s->bn));
    return g->half && op->scale != REID__NONE && !large && slices > 1 ? slices : 0;
}

static void reid__mma_step(const reid__gpu_plan *g, int index, int arch, int large, reid__program *p, reid__step *s) {
    const reid__op *op = &g->plan->ops[index];
    const reid__op *with = g->fused_shortcut[index] == REID__NONE ? NULL : &g->plan->ops[g->fused_shortcut[index]];
    int tile = reid__choose_tile(g, op, arch, large), bk = reid__gpu_bk(g);
    int stages = reid__tiles[tile].stages, m = reid__tiles[tile].warps_m, n = reid__tiles[tile].warps_n;
    s->bm = reid__tiles[tile].bm, s->bn = reid__tiles[tile].bn;
    s->split = reid__choose_split(g, index, arch), s->split_in_memory = s->split > 1 && arch < 90;
    s->function = g->half ? "reid_conv_f16" : "reid_conv_f32";
    s->threads = (unsigned)(g->half ? 32 * m * n : s->bm * s->bn / (m * n));
    int fetched = reid__fetched_slices(g, op, s, large);
    if (fetched) stages = 2 * fetched;
    int slices = 64 * stages * (s->bm + s->bn), sums = g->half || s->split > 1 ? 4 * s->bm * (s->bn + 4) : 0;
    s->shared = (unsigned)reid__max(slices, sums);
    reid__option(p, "-DREID_CONV_F%d -DOC=%d -DOUT_STRIDE=%d -DCHANNEL=%d", g->half ? 16 : 32, op->oc,
                 g->plan->buffers[op->out].c, op->channel);
    reid__option(p, "-DSCALE=%d -DSPLIT=%d -DBM=%d -DBN=%d -DBK=%d", op->scale != REID__NONE, s->split, s->bm, s->bn,
                 reid__in_bytes(op) ? 2 * bk : bk);
    reid__option(p, "-DSTAGES=%d%s", stages, s->split_in_memory ? " -DAPART=1" : "");
    reid__option(p, g->half ? "-DWARPS_M=%d -DWARPS_N=%d" : "-DEACH_M=%d -DEACH_N=%d", m, n);
    if (g->half) reid__option(p, "-DROW_SUMS=%d", g->pixels_per_sum[op->out] > 1);
    if (fetched) reid__option(p, "-DFETCHED=%d", fetched);
    if (!large && g->squeezed[index]) {
        s->shared = g->squeezed[index];
        reid__option(p, "-DHIDDEN=%d -DCHANNELS=%d -DTILES=%d", op[-1].hidden, op[-1].ic,
                     reid__sum_tiles_of(op - 2).count);
    }
    if (with)
        reid__option(p, "-DMORE_C=%d -DMORE_STRIDE=%d -DMORE_IH=%d -DMORE_IW=%d", g->plan->buffers[with->in].c,
                     with->stride, with->ih, with->iw);
}

/* Decides whether reid_conv_f16 also computes the squeeze before a projection of small batches (HIDDEN): if K is in one
   part, all that this needs fits shared memory, and each of the blocks, which compute it all, has a multiprocessor. */
static void reid__squeezed_init(reid__gpu_plan *g, int index) {
    const reid__op *op = &g->plan->ops[index];
    int pixels = op->oh * op->ow, c = g->plan->buffers[op->in].c;
    reid__program p;
    reid__step s;
    if (!g->wgmma || op->kind != REID__CONV || op->scale == REID__NONE) return;
    memset(&p, 0, sizeof p), memset(&s, 0, sizeof s);
    reid__mma_step(g, index, 90, 0, &p, &s);
    int images = (s.bm + pixels - 2) / pixels + 1, tiles = reid__sum_tiles_of(op - 2).count; /* images of a block */
    int floats = c * (2 * op[-1].hidden + tiles + 1 + images) + reid__round_up(op[-1].hidden, 4);
    int blocks = reid__ceil_div(pixels, s.bm) * reid__ceil_div(reid__padded(op->oc), s.bn);
    unsigned bytes = s.shared + 4 * (unsigned)floats;
    if (s.split == 1 && blocks <= reid__usual_processors(90) && bytes <= REID__SHARED_ALL &&
        reid__fetched_slices(g, op, &s, 0)) g->squeezed[index] = bytes;
}

/* Whether reid_project computes an operation, in large batches. Its bits are those of reid_conv_f16. */
static int reid__takes_project(const reid__gpu_plan *g, const reid__op *op) {
    return g->wgmma && !g->int8 && op->kind == REID__CONV && op->kh * op->kw * op->stride == 1 &&
           (op->scale != REID__NONE || (g->plan->buffers[op->in].c < 64 && op->residual == REID__NONE)) &&
           op->oh * op->ow >= 16 && g->plan->buffers[op->out].c == reid__padded(op->oc) &&
           g->pixels_per_sum[op->out] == 1;
}

/* A block has all channels, or as few parts of them as leave a thread's sums in its registers. Weights stay in shared
   memory if three slices of the input fit beside them. light: two blocks fit a multiprocessor. */
static void reid__project_step(const reid__gpu_plan *g, const reid__op *op, reid__program *p, reid__step *s) {
    int oc = reid__padded(op->oc), ic = g->plan->buffers[op->in].c, chunks = reid__ceil_div(ic, 64);
    int scaled = op->scale != REID__NONE, parts = reid__ceil_div(oc, scaled ? 192 : 240);
    int bn = reid__round_up(reid__ceil_div(oc, parts), 16), light = bn <= (scaled ? 48 : 96), image = op->oh * op->ow;
    int slice = 128 * 128 + scaled * reid__round_up((126 / image + 2) * 256, 1024), b = bn * 128;
    int bytes = (light ? REID__SHARED_HALF : REID__SHARED_ALL) - 1024 - 128 * bn * 2; /* for barriers, outputs */
    int resident = bn >= oc && bytes - chunks * b >= 3 * slice;
    int stages = reid__min(8, resident ? (bytes - chunks * b) / slice : bytes / (slice + b));
    s->function = "reid_project", s->bm = 128, s->bn = bn, s->groups = 1, s->threads = 384;
    s->shared = (unsigned)(stages * (slice + !resident * b) + resident * chunks * b + 128 * bn * 2 + 1024);
    reid__option(p, "-DREID_PROJECT -DSCALED=%d -DBN=%d -DSTAGES=%d -DRESIDENT=%d -DLIGHT=%d", scaled, bn, stages,
                 resident, light);
}

/* Decides whether reid_expand computes a depthwise convolution of large batches: by the channels, images and rows which
   leave the fewest threads and pixels idle, if the ring has room for three places, counted generously. Windows of 5x5
   with stride 1 would gain nothing: their time is that of their sums. */
static void reid__expand_init(reid__gpu_plan *g, int index) {
    const reid__op *op = &g->plan->ops[index], *first = op - 1;
    if (index == 0 || !first->fused || !reid__takes_project(g, first) || op->act != first->act) return;
    if (op->kh > 3 && op->stride == 1) return;
    int cols = reid__sum_tiles_of(op).cols, strips = reid__ceil_div(op->ow, cols), c = g->plan->buffers[op->in].c;
    int columns = strips * cols * op->stride + op->kw, fixed = c * (g->plan->buffers[first->in].c * 2 + 24) + 128;
    double best = 0;
    for (int slice = c; slice >= 16; slice -= 8)
        for (int k = 0; k < 8 && c % slice == 0; k++) { /* one or two images, one to four rows */
            int images = k / 4 + 1, rows = k % 4 + 1, threads = images * strips * slice / 2, pixels = rows * op->iw;
            int warps = reid__round_up(threads, 128) / 32, row = columns * (slice * 2 + 16) + strips * 112;
            double used = threads / 32.0 / warps * pixels / reid__round_up(pixels, 16);
            const reid__expand x = {slice, images, rows, warps};
            if (warps < 8 || warps > 12 || used <= best) continue;
            if (fixed + 3 * images * rows * row <= REID__SHARED_ALL) g->expand[index] = x, best = used;
        }
}

/* The operation whose launch computes operation `index`: itself, or a later one. */
static int reid__launch_of_op(const reid__gpu_plan *g, int index, int large) {
    int next = large ? g->expand[index + 1].slice > 0 : g->squeezed[index + 1] > 0;
    int into = next ? index + 1 : g->fused_into[index];
    return into == REID__NONE ? index : into;
}

static void reid__expand_step(const reid__gpu_plan *g, int index, reid__program *p, reid__step *s) {
    const reid__expand *x = &g->expand[index];
    int ic = g->plan->buffers[g->plan->ops[index - 1].in].c, row = reid__gpu_row(g, index - 1);
    int more = x->warps == 12 && (ic > 32 || g->plan->ops[index].kh > 3) ? 4 : 8; /* registers for inputs or windows */
    s->function = "reid_expand", s->threads = (unsigned)(x->warps + more) * 32, s->shared = REID__SHARED_ALL;
    reid__option(p, "-DEXPAND -DIC=%d -DROW=%d -DSHARED=%d -DSLICE=%d -DIMAGES=%d -DROWS=%d -DWARPS=%d -DMORE=%d", ic,
                 row, REID__SHARED_ALL, x->slice, x->images, x->rows, x->warps, more);
}

/* The options of all convolution kernels; in INT8 also the type that the launch stores. */
static void reid__define_conv(const reid__gpu_plan *g, int index, reid__program *p) {
    const reid__op *last = &g->plan->ops[index], *op = &g->plan->ops[reid__launch_first(g, index)];
    const reid__buffer *buffers = g->plan->buffers, *in = &buffers[op->in];
    int stem = reid__is_stem(g->plan, op);
    reid__option(p, "-DIH=%d -DIW=%d -DIC=%d -DOH=%d -DOW=%d -DOC_PADDED=%d", stem ? g->rows : in->h,
                 stem ? g->columns : in->w, stem ? 4 : in->c, op->oh, op->ow, reid__padded(op->oc));
    reid__option(p, "-DKH=%d -DKW=%d -DSTRIDE=%d -DPAD_Y=%d -DPAD_X=%d -DACT=%d -DRESIDUAL=%d", op->kh,
                 stem ? g->stem_kw : op->kw, op->stride, stem ? 0 : op->pad_y, stem ? 0 : op->pad_x, (int)op->act,
                 reid__adds(g, index));
    if (g->int8)
        reid__option(p, "-DBYTES=1 -DSIGNED=%d -DREST_SIGNED=%d", buffers[last->out].is_signed,
                     last->residual != REID__NONE && buffers[last->residual].is_signed);
}

/* Output pixels of a tile: if rows are added up, a tile has only whole rows. */
static int reid__gpu_tile_pixels(const reid__gpu_plan *g, const reid__op *op, int bm) {
    return bm / g->pixels_per_sum[op->out] * g->pixels_per_sum[op->out];
}

static void reid__op_step(const reid__gpu_plan *g, int index, int arch, int large, reid__program *p, reid__step *s) {
    static const struct { const char *function, *option; } kernels[] = { /* by reid__kind, except convolutions */
        {NULL, NULL}, {"reid_depthwise", "-DREID_DEPTHWISE"}, {"reid_maxpool", "-DREID_MAXPOOL"},
        {"reid_squeeze", "-DREID_SQUEEZE"}, {"reid_pool", "-DREID_POOL"}, {"reid_linear", "-DREID_LINEAR"},
        {"reid_instance", "-DREID_INSTANCE"}, {"reid_nonlocal", "-DREID_NONLOCAL"}};
    const reid__op *op = &g->plan->ops[index];
    const reid__op *first = &g->plan->ops[reid__launch_first(g, index)]; /* of a convolution */
    int conv = first->kind == REID__CONV, out_stride = g->plan->buffers[op->out].c;
    s->threads = 256, s->label[0] = 0;
    if (conv && reid__takes_stem_pool(g, first)) reid__stem_pool_step(g, op, p, s);
    else if (conv && reid__takes_wgmma(g, first)) {
        reid__wgmma_tile t = reid__choose_wgmma_tile(g, index, arch, large);
        reid__wgmma_step(g, index, &t, p, s);
    } else if (conv && large && reid__takes_project(g, op)) reid__project_step(g, op, p, s);
    else if (conv && reid__takes_stem(g, op)) reid__stem_step(g, op, large, p, s);
    else if (conv) reid__mma_step(g, index, arch, large, p, s);
    else s->function = kernels[op->kind].function, reid__option(p, "%s", kernels[op->kind].option);
    if (conv) reid__define_conv(g, index, p);
    else if (op->kind != REID__SQUEEZE && op->kind != REID__LINEAR) /* sums over a row's pixels count as pixels */
        reid__option(p, "-DIH=%d -DIW=%d -DOH=%d -DOW=%d -DC=%d -DKH=%d -DKW=%d -DSTRIDE=%d -DPAD_Y=%d -DPAD_X=%d",
                     op->ih, op->iw / g->pixels_per_sum[op->in], op->oh, op->ow, g->plan->buffers[op->in].c, op->kh,
                     op->kw, op->stride, op->pad_y, op->pad_x);
    if (op->kind == REID__DEPTHWISE) {
        /* In a small batch a block takes bn times four channels of a tile: about as many outputs as it has threads, and
           at least 32 contiguous bytes. Never changes the bits. */
        reid__sum_tiles t = reid__sum_tiles_of(op);
        s->bn = large ? 0 : 4;
        while (!large && s->bn < 32 && s->bn * t.rows * t.cols < 224) s->bn *= 2;
        s->threads = large ? 128 : 256, s->shared = (unsigned)((op->kh * op->kw + t.rows * t.cols) * s->bn * 16);
        reid__option(p, "-DACT=%d -DCOLS=%d -DTILE_H=%d %s=%d", (int)op->act, t.cols, t.rows,
                     large ? "-DSLIDE" : "-DSPREAD", large ? t.slide : s->bn);
        if (large && g->expand[index].slice) reid__expand_step(g, index, p, s);
    } else if (op->kind == REID__POOL) {
        reid__option(p, "-DPER=%d -DGEM=%d -DNORM=%d", g->pixels_per_sum[op->in], op->gem, op->bn[0] != 0);
    } else if (op->kind == REID__SQUEEZE) {
        s->split = g->wgmma == 2 ? 8 : 0, s->bn = large && s->split && out_stride + op->hidden <= 3072 ? 4 : 1;
        s->threads = s->split && (op->hidden <= 64 || s->bn > 1) ? 256 : 1024; /* bn 4: in 48 KB of shared memory */
        s->shared = (unsigned)((out_stride + op->hidden) * s->bn) * 4;
        reid__option(p, "-DC=%d -DCHANNELS=%d -DHIDDEN=%d -DOH=%d -DOW=%d -DTILES=%d -DIMAGES=%d", out_stride, op->ic,
                     op->hidden, op->ih, op->iw, reid__sum_tiles_of(op - 1).count, s->bn);
        if (s->split) reid__option(p, "-DSPLIT=%d", s->split);
    } else if (op->kind == REID__INSTANCE) {
        /* 4096 bytes of sums, and all pixels of 16 channels, if two blocks find room */
        int kept = 4096 + op->oh * op->ow * REID__LANES * (g->half ? 2 : 4);
        s->shared = kept <= (g->wgmma ? REID__SHARED_HALF : 49152) ? (unsigned)kept : 4096;
        reid__option(p, "-DACT=%d -DNORMED=%d -DRESIDUAL=%d -DKEPT=%d", (int)op->act, op->normed,
                     op->residual != REID__NONE, s->shared > 4096);
    } else if (op->kind == REID__NONLOCAL) {
        s->shared = (unsigned)out_stride * REID__LANES * sizeof(float);
    } else if (op->kind == REID__LINEAR) {
        s->shared = g->latency ? 128 : 0;
        if (g->latency) reid__option(p, "-DSPLIT=8");
        reid__option(p, "-DK=%d -DOC=%d -DOUT_STRIDE=%d -DCHANNEL=%d -DACT=%d", reid__gpu_depth(g, op), op->oc,
                     out_stride, op->channel, (int)op->act);
    }
    char name[40] = "";
    if (s->bm) reid__tile_name(s->groups, s->bm, s->bn, s->split, name);
    snprintf(s->label, sizeof s->label, "%s%s%.22s", s->function, s->bm ? " " : "", name);
}

/* Sets a launch that belongs to no operation. Returns 1 if it writes values of the chosen precision. */
static int reid__extra_step(const reid__gpu_plan *g, reid__extra which, reid__program *p, reid__step *s) {
    static const struct { const char *function, *option; unsigned shared; } kernels[REID__EXTRAS] = {
        {"reid_resize", "-DREID_RESIZE", REID__RESIZE_SHARED}, {"reid_input", "-DREID_INPUT", 0},
        {"reid_normalise", "-DREID_NORMALISE", 2048}, {"reid_pack", "-DREID_PACK", 0}, {"reid_pack", "-DREID_PACK", 0}};
    const reid__buffer *image = &g->plan->buffers[g->plan->ops[0].in];
    s->function = kernels[which].function, s->shared = kernels[which].shared, s->threads = 256;
    reid__option(p, "%s", kernels[which].option);
    if (which == REID__EXTRA_INPUT)
        reid__option(p, "-DH=%d -DW=%d -DROWS=%d -DCOLUMNS=%d -DBORDER_Y=%d -DBORDER_X=%d", g->plan->height,
                     g->plan->width, g->rows, g->columns, image->border_y, image->border_x);
    if (which == REID__EXTRA_UNIT) reid__option(p, "-DDIM=%d -DRAW=%d -DFLIP=%d", g->plan->dim, g->raw, g->flip);
    return which == REID__EXTRA_INPUT || which == REID__EXTRA_PACK_VALUE;
}

/* Adds a network's programs for one chip: for each operation one for small batches and, if needed, those for large. */
static reid_result reid__gpu_programs(reid__gpu_plan *g, reid__jit *j, reid_error *e) {
    const reid__plan *plan = g->plan;
    int ok = 1;
    for (int large = 0, kinds = g->batch >= REID__LARGE ? 2 : 1; large < kinds; large++)
        for (int i = 0; i < plan->op_count && ok; i++) {
            const reid__op *op = &plan->ops[i];
            reid__program p;
            memset(&p, 0, sizeof p);
            if (op->kind == REID__NORMALISE) continue; /* REID__EXTRA_UNIT: after both passes of a flip */
            int by = reid__launch_of_op(g, i, large);
            if (by != i) {
                snprintf(g->step[large][i].label, sizeof g->step[large][i].label, "in %.30s", plan->ops[by].name);
                continue;
            }
            reid__op_step(g, i, j->arch, large, &p, &g->step[large][i]);
            if (g->half && op->kind != REID__LINEAR && op->kind != REID__SQUEEZE && g->pixels_per_sum[op->in] == 1)
                reid__option(&p, plan->buffers[plan->ops[reid__launch_first(g, i)].in].bytes == 1 ? "-DVALUE_U8"
                             : g->bf16 ? "-DVALUE_BF16" : "-DVALUE_F16");
            ok = (g->step[large][i].program = reid__program_add(j, &p)) >= 0;
            size_t parts = (size_t)g->step[large][i].split * (size_t)(op->oh * op->ow * reid__padded(op->oc)) * 4;
            if (g->step[large][i].split_in_memory && parts > g->parts) g->parts = parts;
        }
    for (int i = 0; i < REID__EXTRAS && ok; i++) {
        reid__program p;
        memset(&p, 0, sizeof p);
        if (i == REID__EXTRA_INPUT && reid__takes_stem_pool(g, plan->ops)) continue;
        if (reid__extra_step(g, (reid__extra)i, &p, &g->extra[i]) && g->half)
            reid__option(&p, g->bf16 ? "-DVALUE_BF16" : "-DVALUE_F16");
        ok = (g->extra[i].program = reid__program_add(j, &p)) >= 0;
    }
    return ok ? REID_OK : reid__fail(e, REID_ERR_KERNEL_COMPILE, "%s needs too many programs", plan->arch.name);
}

/* Corrects the fields that differ from the CPU's. Sums of a row are FP32 in any precision: twice the bytes of other
   values, or four times in INT8, whose buffers are counted in floats of four values. */
static void reid__gpu_op_info(const reid__gpu_plan *g, int index, int large, reid_op_info *info) {
    const reid__op *op = &g->plan->ops[index];
    const int touched[2] = {op->in, op->out};
    info->kernel = g->step[large][index].label;
    info->computed_by = reid__launch_of_op(g, index, large);
    for (int i = 0; i < 2; i++) {
        int64_t each = g->int8 ? 4 : 2, per = g->pixels_per_sum[touched[i]];
        int64_t values = (int64_t)g->plan->buffers[touched[i]].floats * (g->int8 ? 4 : 1);
        if (per > 1) info->bytes -= 4 * (values - each * values / per);
    }
}

/* For REID_ASSERT: launches stay inside their buffers while these live, and buffers that live together are apart. */
static int reid__gpu_plan_is_sound(const reid__gpu_plan *g) {
    const reid__plan *p = g->plan;
    reid__access touched[REID__ACCESSES];
    for (int i = 0; i < p->op_count; i++)
        for (int k = 0, n = reid__gpu_accesses(g, i, touched); k < n; k++) {
            const reid__buffer *b = &g->buffers[touched[k].buffer];
            if (touched[k].bytes > g->size[touched[k].buffer] || i < b->first || i > b->last) return 0;
        }
    for (int i = 0; i < p->buffer_count; i++) {
        if (g->offset[i] + g->size[i] > g->arena) return 0;
        for (int k = 0; k < i && g->size[i]; k++) {
            const reid__buffer *a = &g->buffers[i], *b = &g->buffers[k];
            int together = g->size[k] && a->first <= b->last && b->first <= a->last;
            if (together && g->offset[i] < g->offset[k] + g->size[k] && g->offset[k] < g->offset[i] + g->size[i])
                return 0;
        }
    }
    return 1;
}

static void reid__gpu_plan_init(reid__gpu_plan *g, const reid__plan *plan, const reid__prep *prep, int half, int wgmma,
                                int flip, int raw, int latency) {
    memset(g, 0, sizeof *g);
    g->latency = latency, g->plan = plan, g->prep = prep, g->flip = flip, g->raw = raw;
    g->view = (size_t)plan->height * (size_t)plan->width * 3;
    g->half = half != 0, g->bf16 = half == 2, g->stem_kw = reid__round_up(plan->ops[0].kw, 2);
    for (int i = 0; i < plan->op_count; i++) g->int8 |= plan->ops[i].element == REID__ELEMENT_INT8;
    g->wgmma = half ? wgmma : 0;
    reid__fold(g);
    for (int i = 0; i < plan->op_count; i++)
        reid__then_init(g, i), reid__expand_init(g, i), reid__squeezed_init(g, i);
    reid__gpu_buffers(g);
    reid__gpu_weights(g);
    REID_ASSERT(reid__gpu_plan_is_sound(g));
}

/* Whether the target has Hopper's instructions and REID_WGMMA allows them; 2: clusters, too. */
static int reid__has_wgmma(const reid__jit *j) {
    int on = j->arch == 90 && !j->is_ptx && strcmp(reid__env("REID_WGMMA"), "0") != 0;
    return on && strcmp(reid__env("REID_CLUSTERS"), "0") != 0 ? 2 : on;
}

/* The largest power of two that is at most n and at most 256. */
static int reid__graph_batch(int n) { return 1 << reid__min(31 - __builtin_clz((unsigned)n), REID__MAX_GRAPHS - 1); }

/* --------------------------------------------------------------------------------------------------------------------
   >>cuda_run
   From launches to graphs: loads the programs and finds their kernels, packs weights on the GPU, gives lanes their
   memory and a graph for each batch size, and takes a batch from images to embeddings. */
/* The launch of a step, without its grid; `more` is room for two attributes. */
static reid__launch_config reid__launch_of(const reid__step *s, int overlap, void *stream,
                                           reid__launch_attribute more[2]) {
    reid__launch_config c = {{1, 1, 1}, {s->threads, 1, 1}, s->shared, stream, more, 0};
    memset(more, 0, 2 * sizeof *more);
    if (overlap) more[c.count].id = REID__LAUNCH_OVERLAPS, more[c.count++].value.on = 1;
    if (s->split > 1 && !s->split_in_memory) {
        unsigned *blocks = more[c.count].value.cluster;
        more[c.count++].id = REID__LAUNCH_CLUSTER, blocks[0] = (unsigned)s->split, blocks[1] = blocks[2] = 1;
    }
    return c;
}

static reid_result reid__step_load(reid__gpu *g, int overlap, reid__step *s, reid_error *e) {
    reid__device *d = &g->device;
    if (!s->function) return REID_OK;
    if (s->shared > (unsigned)d->shared_limit)
        return reid__fail(e, REID_ERR_DEVICE, "%s needs %u bytes of shared memory, GPU %d (%s) has %d", s->function,
                          s->shared, d->index, d->name, d->shared_limit);
    int code = d->cu.ModuleGetFunction(&s->handle, g->modules[s->program], s->function);
    if (code) return reid__gpu_check(d, code, s->function, e);
    /* Kernels that overlap share multiprocessors. A kernel that prefers another carveout would first wait until a
       multiprocessor is empty, so all get the largest. */
    if (overlap) code = d->cu.FuncSetAttribute(s->handle, REID__FUNCTION_CARVEOUT, 100);
    if (code) return reid__gpu_check(d, code, "cuFuncSetAttribute", e);
    if (s->shared > 48 * 1024) code = d->cu.FuncSetAttribute(s->handle, REID__FUNCTION_DYNAMIC_SHARED, (int)s->shared);
    if (!code && s->split_in_memory) code = d->cu.ModuleGetFunction(&s->join, g->modules[s->program], "reid_join");
    if (code || s->split_in_memory || s->split < 2) return reid__gpu_check(d, code, s->function, e);
    /* The number of clusters that the device runs at once. It is less than the multiprocessors suggest, because the
       blocks of a cluster must be in one of the chip's GPCs, some of which are smaller than others. */
    reid__launch_attribute more[2];
    reid__launch_config c = reid__launch_of(s, 0, NULL, more);
    c.grid[0] = (unsigned)s->split;
    code = d->cu.OccupancyMaxActiveClusters(&s->clusters, s->handle, &c);
    if (code || s->clusters > 0) return reid__gpu_check(d, code, "cuOccupancyMaxActiveClusters", e);
    return reid__fail(e, REID_ERR_DEVICE, "GPU %d (%s) has no room for a cluster of %u blocks of %s; REID_CLUSTERS=0 "
                      "avoids clusters", d->index, d->name, c.grid[0], s->function);
}

static reid_result reid__gpu_modules(reid__gpu *g, const reid__jit *j, int overlap, reid_error *e) {
    for (; g->module_count < j->program_count; g->module_count++) {
        const reid__program *p = &j->programs[g->module_count];
        int code = g->device.cu.ModuleLoadData(&g->modules[g->module_count], p->cubin);
        if (code) return reid__gpu_check(&g->device, code, p->options, e);
    }
    for (int i = 0; i < 2 * REID__MAX_OPS; i++)
        REID__TRY(reid__step_load(g, overlap, &g->plan.step[i / REID__MAX_OPS][i % REID__MAX_OPS], e));
    for (int i = 0; i < REID__EXTRAS; i++) REID__TRY(reid__step_load(g, overlap, &g->plan.extra[i], e));
    return REID_OK;
}

/* --- launching --- */
/* Launches any kernel. arguments: its structure of REID__CONTRACT, which is copied. Returns the driver's error code. */
static int reid__launch_kernel(const reid__driver *cu, const reid__step *s, int overlap, int64_t grid_x, int64_t grid_y,
                               void *stream, void *arguments) {
    void *parameters[] = {arguments};
    unsigned x = (unsigned)grid_x, y = (unsigned)grid_y;
    REID_ASSERT(s->handle && s->threads >= 1 && grid_x >= 1 && grid_x <= INT32_MAX && grid_y >= 1 && grid_y <= 65535);
    reid__launch_attribute more[2];
    reid__launch_config c = reid__launch_of(s, overlap, stream, more);
    c.grid[0] = x, c.grid[1] = y;
    return c.count ? cu->LaunchKernelEx(&c, s->handle, parameters, NULL)
                   : cu->LaunchKernel(s->handle, x, y, 1, s->threads, 1, 1, s->shared, stream, parameters, NULL);
}

/* REID_SYNC=1: waits for the launch, so that an error names it. A launch that does not end makes the GPU unusable. */
static reid_result reid__launch(reid__gpu *g, const reid__step *s, int64_t grid_x, int64_t grid_y, void *stream,
                                void *arguments, reid_error *e) {
    const int not_ready = 600, timeout = 702;
    const struct timespec a_little = {0, 1000000};
    int code = reid__launch_kernel(&g->device.cu, s, g->overlap, grid_x, grid_y, stream, arguments);
    if (code || !g->sync) return reid__gpu_check(&g->device, code, s->function, e);
    const char *what = s->label[0] ? s->label : s->function;
    for (int tries = 20000; tries > 0 && (code = g->device.cu.StreamQuery(stream)) == not_ready; tries--)
        nanosleep(&a_little, NULL);
    if (code != not_ready) return reid__gpu_check(&g->device, code, what, e);
    __atomic_store_n(&g->device.lost, timeout, __ATOMIC_RELAXED);
    return reid__fail(e, REID_ERR_GPU, "GPU %d: %s: it has not ended after 20 seconds; this handle cannot be used any "
                      "more", g->device.index, what);
}

static int64_t reid__blocks(int64_t count, int64_t each) { return (count + each - 1) / each; }

/* Constants of tensor maps for values of 1 or 2 bytes, and for rows of 128 or 64 bytes. */
static int reid__map_type(int value) { return value == 1 ? REID__MAP_U8 : REID__MAP_F16; }
static int reid__map_swizzle(int row) { return row == 128 ? REID__MAP_SWIZZLE_128 : REID__MAP_SWIZZLE_64; }

/* Maps a matrix (rows, columns) of values of 1 or 2 bytes, in boxes of (box, width). Outside it are zeros. swizzled:
   pieces of the boxes' rows, of 128 or 64 bytes, are exchanged as wgmma reads them. */
static int reid__map_matrix(const reid__driver *cu, reid__tensor_map *map, reid__address address, int value, int rows,
                            int columns, int box, int width, int swizzled) {
    const uint64_t sizes[2] = {(uint64_t)columns, (uint64_t)rows}, stride = (uint64_t)value * sizes[0];
    const unsigned boxes[2] = {(unsigned)width, (unsigned)box}, steps[2] = {1, 1};
    return cu->TensorMapEncodeTiled(map, reid__map_type(value), 2, address, sizes, &stride, boxes, steps, 0,
                                    swizzled ? reid__map_swizzle(value * width) : 0, REID__MAP_L2_256, 0);
}

/* Maps the inputs of a convolution: boxes of `box` output pixels, for one position of the window, by a slice. */
static int reid__map_input(const reid__gpu *g, const reid__gpu_lane *l, const reid__op *op, int n, int box,
                           reid__tensor_map *map) {
    const reid__driver *cu = &g->device.cu;
    int c = g->plan.plan->buffers[op->in].c, value = reid__wgmma_value(op), width = reid__slice(&g->plan, op);
    reid__address address = l->buffer[op->in];
    const uint64_t sizes[4] = {(uint64_t)c, (uint64_t)op->iw, (uint64_t)op->ih, (uint64_t)n};
    const uint64_t row = (uint64_t)value * sizes[0], strides[3] = {row, row * sizes[1], row * sizes[1] * sizes[2]};
    const unsigned step = (unsigned)op->stride, steps[4] = {1, step, step, 1};
    /* The corners bound the window's first position; the upper ones count from the last pixel. */
    const int lower[2] = {-op->pad_x, -op->pad_y};
    const int upper[2] = {(op->ow - 1) * op->stride - op->pad_x - op->iw + 1,
                          (op->oh - 1) * op->stride - op->pad_y - op->ih + 1};
    if (op->kh * op->kw * op->stride == 1)
        return reid__map_matrix(cu, map, address, value, n * op->oh * op->ow, c, box, width, 1);
    return cu->TensorMapEncodeIm2col(map, reid__map_type(value), 4, address, sizes, strides, lower, upper,
                                     (unsigned)width, (unsigned)box, steps, 0, reid__map_swizzle(value * width),
                                     REID__MAP_L2_256, 0);
}

/* Pooled rows that a warpgroup of the stem takes at a time, so that the busiest does least; or, for blocks of
   reid_expand, rows of sum tiles. Never changes the bits. */
static int reid__strip_rows(int images, int rows, int workers) {
    int best = 1, least = INT_MAX;
    for (int strip = 1; strip <= rows; strip++) {
        int busiest = reid__ceil_div(images * reid__ceil_div(rows, strip), workers) * (2 * strip + 1);
        if (busiest < least) best = strip, least = busiest;
    }
    return best;
}

/* Sets the arguments of the launch of reid_conv_wgmma for n images. Those that it does not use stay zero. */
static int reid__wgmma_arguments_of(const reid__gpu *g, const reid__gpu_lane *l, int index, const reid__step *s, int n,
                                    reid__wgmma_arguments *a) {
    const reid__driver *cu = &g->device.cu;
    const reid__gpu_plan *p = &g->plan;
    int first = reid__launch_first(p, index), with = p->fused_shortcut[index];
    const reid__op *op = &p->plan->ops[index], *begin = &p->plan->ops[first];
    int value = reid__wgmma_value(begin), depth = reid__slice(p, begin), slot = 64;
    int oc = reid__padded(op->oc), width = reid__padded(begin->oc), then = p->fused_then[index];
    int direct = reid__is_direct(p, index), more = direct || first != index;
    reid__address weights = g->weights + p->weight[first], next = g->weights + p->weight[index];
    memset(a, 0, sizeof *a);
    if (reid__adds(p, index)) a->residual = l->buffer[op->residual];
    a->bias = g->weights + p->bias[first], a->scales = g->weights + p->weight2[first];
    if (with != REID__NONE) a->more_bias = g->weights + p->bias[with], a->more_scales = g->weights + p->weight2[with];
    if (more) a->next_bias = g->weights + p->bias[index], a->next_scales = g->weights + p->weight2[index];
    a->out = l->buffer[op->out], a->full = l->full, a->pixels = n * begin->oh * begin->ow;
    if (value == 1) slot = more ? 128 : reid__min(s->bn, 128);
    int code = reid__map_matrix(cu, &a->weights_map, weights, value, width, reid__gpu_row(p, first), s->bn, depth, 1);
    if (!code) code = reid__map_input(g, l, begin, n, s->bm, &a->in_map);
    if (!code && more)
        code = reid__map_matrix(cu, &a->next_map, next, value, oc, reid__gpu_row(p, index), 128, depth, 1);
    if (!code && with != REID__NONE) code = reid__map_input(g, l, &p->plan->ops[with], n, s->bm, &a->more_map);
    if (!code && with != REID__NONE && p->int8)
        code = reid__map_matrix(cu, &a->more_weights_map, g->weights + p->weight[with], value, oc,
                                reid__gpu_row(p, with), s->bn, depth, 1);
    if (!code && a->residual)
        code = reid__map_matrix(cu, &a->residual_map, a->residual, value, a->pixels, oc, 64, slot, 1);
    if (code || then == REID__NONE) return code;
    const reid__op *last = &p->plan->ops[then];
    a->then_bias = g->weights + p->bias[then], a->then_scales = g->weights + p->weight2[then];
    a->then_out = l->buffer[last->out];
    return reid__map_matrix(cu, &a->then_map, g->weights + p->weight[then], value, last->oc, reid__gpu_row(p, then),
                            last->oc, slot, 1);
}

/* Runs a convolution of n images by reid_conv_wgmma, with the operations fused into its launch. */
static reid_result reid__gpu_run_wgmma(reid__gpu *g, reid__gpu_lane *l, int index, const reid__step *s, int n,
                                       reid_error *e) {
    int width = reid__padded(g->plan.plan->ops[reid__launch_first(&g->plan, index)].oc);
    reid__wgmma_arguments a;
    int code = reid__wgmma_arguments_of(g, l, index, s, n, &a);
    if (code) return reid__gpu_check(&g->device, code, "a tensor map", e);
    int64_t across = reid__is_direct(&g->plan, index) ? 1 : reid__blocks(width, s->bn);
    int64_t rows = reid__blocks(a.pixels, reid__gpu_tile_pixels(&g->plan, &g->plan.plan->ops[index], s->bm));
    int64_t blocks = rows * across * s->split, most = reid__max(g->device.multiprocessors / s->unit, 1); /* units */
    if (s->clusters) most = reid__min((int)most, s->clusters);
    most *= s->unit;
    return reid__launch(g, s, blocks < most ? blocks : most, 1, l->stream, &a, e);
}

/* Runs the stem and the max pool behind it, at `index`, by as many blocks as run at once. */
static reid_result reid__gpu_run_stem_pool(reid__gpu *g, reid__gpu_lane *l, int index, const reid__step *s, int n,
                                           reid_error *e) {
    const reid__gpu_plan *p = &g->plan;
    const reid__op *op = &p->plan->ops[index];
    int most = g->device.multiprocessors, strip = reid__strip_rows(n, op->oh, 2 * most), stem = index - 1;
    reid__stem_pool_arguments a = {
        l->view, g->lut, g->weights + p->weight[stem], g->weights + p->bias[stem], l->buffer[op->out],
        g->weights + p->weight2[stem], l->full, p->prep->preset.bgr, n, strip};
    return reid__launch(g, s, reid__min(n * reid__ceil_div(op->oh, strip), most), 1, l->stream, &a, e);
}

/* Runs a convolution by reid_project, by as many blocks as run at once. */
static reid_result reid__gpu_run_project(reid__gpu *g, reid__gpu_lane *l, int index, const reid__step *s, int n,
                                         reid_error *e) {
    const reid__driver *cu = &g->device.cu;
    const reid__op *op = &g->plan.plan->ops[index];
    int oc = reid__padded(op->oc), ic = g->plan.plan->buffers[op->in].c, pixels = n * op->oh * op->ow;
    int row = reid__gpu_row(&g->plan, index);
    reid__address weights = g->weights + g->plan.weight[index];
    reid__project_arguments a;
    memset(&a, 0, sizeof a);
    a.bias = g->weights + g->plan.bias[index], a.pixels = pixels, a.images = n;
    if (op->scale != REID__NONE) a.factors = l->buffer[op->scale];
    if (op->residual != REID__NONE) a.residual = l->buffer[op->residual];
    int code = reid__map_matrix(cu, &a.in_map, l->buffer[op->in], 2, pixels, ic, s->bm, 64, 1);
    if (!code) code = reid__map_matrix(cu, &a.weights_map, weights, 2, oc, row, s->bn, 64, 1);
    if (!code) code = reid__map_matrix(cu, &a.out_map, l->buffer[op->out], 2, pixels, oc, 16, s->bn, 0);
    if (code) return reid__gpu_check(&g->device, code, "a tensor map", e);
    int64_t tiles = reid__blocks(pixels, s->bm) * reid__blocks(oc, s->bn);
    int64_t most = (int64_t)g->device.multiprocessors * (s->shared <= REID__SHARED_HALF ? 2 : 1); /* LIGHT */
    return reid__launch(g, s, tiles < most ? tiles : most, 1, l->stream, &a, e);
}

/* Runs a convolution by the other kernels. If parts of K go to memory, a second launch with the same arguments adds
   them: a thread has four channels, or eight of narrow types. */
static reid_result reid__gpu_run_conv(reid__gpu *g, reid__gpu_lane *l, int index, const reid__step *s, int n,
                                      reid_error *e) {
    const reid__gpu_plan *p = &g->plan;
    const reid__op *op = &p->plan->ops[index];
    const reid__op *with = p->fused_shortcut[index] == REID__NONE ? NULL : &p->plan->ops[p->fused_shortcut[index]];
    reid__conv_arguments a;
    memset(&a, 0, sizeof a);
    a.in = l->buffer[op->in], a.out = l->buffer[op->out], a.full = l->full;
    a.weights = g->weights + p->weight[index], a.bias = g->weights + p->bias[index];
    if (op->residual != REID__NONE && !with) a.residual = l->buffer[op->residual];
    if (op->scale != REID__NONE) a.factors = l->buffer[op->scale];
    if (p->squeezed[index]) {
        a.sums = l->buffer[op[-1].in];
        a.w1 = g->weights + p->weight[index - 1], a.b1 = g->weights + p->bias[index - 1];
        a.w2 = g->weights + p->weight2[index - 1], a.b2 = g->weights + p->bias2[index - 1];
    }
    if (p->int8) a.scales = g->weights + p->weight2[index];
    if (with) a.more = l->buffer[with->in], a.more_bias = g->weights + p->bias[p->fused_shortcut[index]];
    if (s->split_in_memory) a.parts = l->parts;
    a.pixels = n * op->oh * op->ow;
    REID_ASSERT(!a.parts || (size_t)(s->split * op->oh * op->ow) * (size_t)reid__padded(op->oc) * 4 <= p->parts);
    int64_t blocks = s->split * reid__blocks(a.pixels, reid__gpu_tile_pixels(p, op, s->bm)) *
                     reid__blocks(reid__padded(op->oc), s->bn);
    reid_result r = reid__launch(g, s, blocks, 1, l->stream, &a, e);
    if (r != REID_OK || !s->split_in_memory) return r;
    reid__step join = *s;
    join.function = "reid_join", join.handle = s->join, join.threads = 256, join.shared = 0, join.label[0] = 0;
    int64_t threads = (int64_t)a.pixels * reid__padded(op->oc) / (p->half ? 8 : 4);
    return reid__launch(g, &join, reid__blocks(threads, 256), 1, l->stream, &a, e);
}

static reid_result reid__gpu_run_op(reid__gpu *g, reid__gpu_lane *l, int index, int n, reid_error *e) {
    const reid__plan *p = g->plan.plan;
    const reid__op *op = &p->ops[index];
    int large = n >= REID__LARGE, c = p->buffers[op->out].c, pixels = n * op->oh * op->ow;
    const reid__step *s = &g->plan.step[large][index];
    if (op->kind == REID__NORMALISE || reid__launch_of_op(&g->plan, index, large) != index) return REID_OK;
    if (op->kind == REID__MAXPOOL && g->plan.fused_first[index] != REID__NONE)
        return reid__gpu_run_stem_pool(g, l, index, s, n, e);
    if (g->plan.fused_first[index] != REID__NONE || reid__takes_wgmma(&g->plan, op))
        return reid__gpu_run_wgmma(g, l, index, s, n, e);
    if (large && reid__takes_project(&g->plan, op)) return reid__gpu_run_project(g, l, index, s, n, e);
    if (op->kind == REID__CONV) return reid__gpu_run_conv(g, l, index, s, n, e);
    reid__address in = l->buffer[op->in], out = l->buffer[op->out], w = g->weights + g->plan.weight[index];
    reid__address b = g->weights + g->plan.bias[index], w2 = g->weights + g->plan.weight2[index];
    reid__address b2 = g->weights + g->plan.bias2[index], sums = op->sums == REID__NONE ? 0 : l->buffer[op->sums];
    float byte_step = g->plan.int8 ? (float)reid__byte_step(&p->buffers[op->in]) : 1;
    reid__depthwise_arguments depthwise = {in, w, b, out, sums, n, 0, 0, 0};
    reid__maxpool_arguments maxpool = {in, out, pixels};
    reid__squeeze_arguments squeeze = {in, w, b, w2, b2, out, n};
    reid__pool_arguments pool = {in, out, w, b, w2, pixels, byte_step};
    reid__linear_arguments linear = {in, w, b, out, n};
    reid__address residual = op->residual == REID__NONE ? 0 : l->buffer[op->residual];
    reid__instance_arguments instance = {in, residual, w, b, out, op->bn_eps};
    int joins = op->kind == REID__NONLOCAL;
    reid__nonlocal_arguments nonlocal = {in, joins ? l->buffer[op->key] : 0, joins ? l->buffer[op->value] : 0, out};
    void *const arguments[] = {NULL, &depthwise, &maxpool, &squeeze, &pool, &linear, &instance, &nonlocal};
    int64_t x = reid__blocks((int64_t)pixels * c / 4, 256), y = 1; /* a thread has four channels of a pixel */
    if (op->kind == REID__DEPTHWISE) {
        const reid__sum_tiles t = reid__sum_tiles_of(op);
        int64_t threads = (int64_t)n * reid__ceil_div(op->ow, t.cols) * reid__ceil_div(op->oh, t.slide) * c / 2;
        x = s->bn ? (int64_t)n * t.count * reid__ceil_div(c / 4, s->bn) : reid__blocks(threads, 128);
        const reid__expand *of = &g->plan.expand[index];
        if (large && of->slice) {
            int shares = reid__ceil_div(n, of->images) * (c / of->slice); /* of all rows */
            x = g->device.multiprocessors, depthwise.in = l->buffer[op[-1].in];
            depthwise.rows = t.rows * reid__strip_rows(shares, reid__ceil_div(op->oh, t.rows), (int)x);
            depthwise.expansion = g->weights + g->plan.weight[index - 1];
            depthwise.expansion_bias = g->weights + g->plan.bias[index - 1];
        }
    }
    if (op->kind == REID__SQUEEZE) x = reid__blocks(n, s->bn) * reid__max(s->split, 1);
    if (op->kind == REID__INSTANCE || joins) x = (int64_t)n * c / REID__LANES;
    if (op->kind == REID__LINEAR) x = g->plan.latency ? op->oc : reid__blocks(op->oc, 8), y = reid__blocks(n, 4);
    return reid__launch(g, s, x, y, l->stream, arguments[op->kind], e);
}

/* Normalises the resized images into the input buffer. */
static reid_result reid__gpu_run_input(reid__gpu *g, reid__gpu_lane *l, int n, reid_error *e) {
    const reid__step *s = &g->plan.extra[REID__EXTRA_INPUT];
    if (!s->function) return REID_OK; /* reid_stem_pool reads the view */
    reid__input_arguments a = {l->view, g->lut, l->buffer[g->plan.plan->ops[0].in], g->plan.prep->preset.bgr, n};
    int64_t pixels = (int64_t)n * g->plan.rows * g->plan.columns;
    return reid__launch(g, s, reid__blocks(pixels, 256), 1, l->stream, &a, e);
}

static reid_result reid__gpu_run_ops(reid__gpu *g, reid__gpu_lane *l, int from, int to, int n, reid_error *e) {
    reid_result r = REID_OK;
    for (int i = from; i < to && r == REID_OK; i++) {
        r = reid__gpu_run_op(g, l, i, n, e);
        if (r == REID_OK || !g->sync || !e) continue;
        char inner[sizeof e->text];
        memcpy(inner, e->text, sizeof inner);
        reid__fail(e, r, "%.60s: %s", g->plan.plan->ops[i].name, inner);
    }
    return r;
}

/* Launches the input's conversion and the stem for the images [at, at + n) of a batch. */
static reid_result reid__gpu_run_head(reid__gpu *g, const reid__gpu_lane *l, int at, int n, reid_error *e) {
    const reid__gpu_plan *p = &g->plan;
    const reid__op *stem = &p->plan->ops[0], *last = &p->plan->ops[reid__head_end(p) - 1];
    reid__gpu_lane part = *l;
    part.view += (size_t)at * p->view;
    part.buffer[stem->in] += (size_t)at * reid__gpu_read(p, stem);
    part.buffer[last->out] += (size_t)at * reid__gpu_written(p, last);
    part.full += (size_t)at * sizeof(uint32_t);
    reid_result r = reid__gpu_run_input(g, &part, n, e);
    return r ? r : reid__gpu_run_ops(g, &part, 0, reid__head_end(p), n, e);
}

/* Records the network for a batch of 1 << bucket; without its head from REID__HEAD_APART images on. */
static reid_result reid__gpu_capture(reid__gpu *g, reid__gpu_lane *l, int bucket, reid_error *e) {
    reid__driver *cu = &g->device.cu;
    void *graph = NULL;
    int n = 1 << bucket, code = cu->StreamBeginCapture(l->stream, REID__CAPTURE_THREAD);
    if (code) return reid__gpu_check(&g->device, code, "cuStreamBeginCapture", e);
    reid_result r = n < REID__HEAD_APART ? reid__gpu_run_head(g, l, 0, n, e) : REID_OK;
    if (r == REID_OK) r = reid__gpu_run_ops(g, l, reid__head_end(&g->plan), g->plan.plan->op_count, n, e);
    code = cu->StreamEndCapture(l->stream, &graph); /* also ends a capture that failed */
    if (r == REID_OK) r = reid__gpu_check(&g->device, code, "cuStreamEndCapture", e);
    if (r == REID_OK) code = cu->GraphInstantiate(&l->graphs[bucket], graph, 0);
    if (code) l->graphs[bucket] = NULL;
    if (graph) cu->GraphDestroy(graph);
    return r != REID_OK ? r : reid__gpu_check(&g->device, code, "a CUDA graph", e);
}

/* --- weights --- */
/* The device memory of one thread for a tensor while it is packed. */
typedef struct reid__gpu_loader {
    reid__gpu *g;
    const reid__loader *from;
    reid__address raw;     /* a tensor in the file's order */
    reid__address factors; /* doubles, one for each output channel */
    void *stream;
} reid__gpu_loader;

/* Uploads one tensor from the file to `to` as FP32. */
static reid_result reid__gpu_upload(const reid__gpu_loader *l, const reid__op *op, const reid__needed_tensor *want,
                                    reid__address to, uint64_t digest[2], reid_error *e) {
    reid__device *d = &l->g->device;
    size_t count = 1;
    reid__digest sum;
    for (int i = 0; i < want->ndim; i++) count *= want->shape[i];
    reid__digest_init(&sum);
    for (size_t at = 0, n; at < count; at += n) {
        n = count - at < REID__CHUNK ? count - at : REID__CHUNK;
        REID__TRY(reid__fetch(l->from, op, want, at, n, l->from->rows, &sum, e));
        /* On the stream of the kernels that read it: a synchronous copy may return before its data has arrived, and
           only the default stream would wait. From pageable memory the call has read the values when it returns. */
        int code = d->cu.MemcpyHtoDAsync(to + at * sizeof(float), l->from->rows, n * sizeof(float), l->stream);
        if (code) return reid__gpu_check(d, code, want->name, e);
    }
    reid__digest_final(&sum, digest);
    return REID_OK;
}

/* Folds batch norm, wants[0 … 3], on the host: factors go to `to`, biases to the weights; wants[-1]: its own bias. */
static reid_result reid__gpu_fold(const reid__gpu_loader *l, int index, reid__address to,
                                  const reid__needed_tensor *wants, uint64_t (*digests)[2], reid_error *e) {
    const reid__op *op = &l->g->plan.plan->ops[index];
    const reid__driver *cu = &l->g->device.cu;
    const double *factors = l->from->factors;
    size_t n = (size_t)op->oc;
    float *bias = l->from->vectors, *beta = bias + n, *mean = beta + n, *own = l->from->rows; /* bias: over gamma */
    if (op->biased) REID__TRY(reid__fetch_vector(l->from, op, wants - 1, own, digests[-1], e));
    REID__TRY(reid__fold_batch_norm(l->from, op, wants, bias, digests, e));
    for (size_t c = 0; op->biased && c < n; c++)
        bias[c] = (float)(beta[c] - reid__product((double)mean[c] - own[c], factors[c]));
    int code = cu->MemcpyHtoDAsync(to, factors, n * sizeof *factors, l->stream);
    to = l->g->weights + l->g->plan.bias[index];
    if (!code) code = cu->MemcpyHtoDAsync(to, bias, n * sizeof *bias, l->stream);
    return reid__gpu_check(&l->g->device, code, op->name, e);
}

/* Packs the tensor in l->raw, (n, ic, kh, kw), into the packed weights, which are zero beforehand. */
static reid_result reid__gpu_pack_matrix(const reid__gpu_loader *l, int half, reid__pack_arguments a, reid_error *e) {
    const reid__step *step = &l->g->plan.extra[half ? REID__EXTRA_PACK_VALUE : REID__EXTRA_PACK_FLOAT];
    int64_t blocks = reid__blocks((int64_t)a.n * a.ic * a.kh * a.kw, 256 * REID__PACK_EACH);
    return reid__launch(l->g, step, blocks, 1, l->stream, &a, e);
}

/* Packs a convolution: (OC, K) for tensor cores, (K, OC) otherwise, with K = (row, column, channel). */
static reid_result reid__gpu_pack_conv(const reid__gpu_loader *l, int index, reid__address factors, reid_error *e) {
    const reid__gpu_plan *g = &l->g->plan;
    const reid__op *op = &g->plan->ops[index];
    int c = reid__gpu_channels(g, op), oc = reid__padded(op->oc), kw = reid__is_stem(g->plan, op) ? g->stem_kw : op->kw;
    int k = reid__gpu_row(g, index), step = g->half ? 1 : oc;
    reid__pack_arguments a = {l->raw, factors, l->g->weights + g->weight[index], op->oc, op->ic, op->kh, op->kw,
                              g->half ? k : 1, step, kw * c * step, c * step};
    return reid__gpu_pack_matrix(l, g->half, a, e);
}

/* INT8: packs a convolution as reid__pack_op does, on the host: (OC, K) bytes, or halves of the first one, with scales
   and biases in steps. Host memory may be reused as soon as a copy returns. */
static reid_result reid__gpu_pack_bytes(const reid__gpu_loader *l, int index, const reid__needed_tensor *wants,
                                        uint64_t (*digests)[2], reid_error *e) {
    const reid__gpu_plan *g = &l->g->plan;
    const reid__op *op = &g->plan->ops[index];
    reid__device *d = &l->g->device;
    int oc = op->oc, taps = op->kh * op->kw, row = op->ic * taps, wgmma = reid__takes_wgmma(g, op), code = 0;
    reid__address to = l->g->weights + g->weight[index];
    float *scale = l->from->vectors, *bias = scale + oc, *bytes = l->from->rows + REID__CHUNK / 2; /* fold: 4 vectors */
    reid__digest digest;
    REID__TRY(reid__fold_batch_norm(l->from, op, wants + 1, bias, digests + 1, e));
    reid__digest_init(&digest);
    for (int at = 0, n; at < oc && !code; at += n) {
        n = reid__min(oc - at, (int)(REID__CHUNK / 2) / row / 16 * 16);
        size_t begin = (size_t)at * (size_t)row, count = (size_t)(n * row);
        REID__TRY(reid__fetch(l->from, op, &wants[0], begin, count, l->from->rows, &digest, e));
        for (int i = 0; i < n && reid__in_bytes(op); i++)
            reid__pack_narrow(bytes + (wgmma ? reid__wgmma_row(i) : i) * row / 4, 1, l->from->rows + i * row, 1, op->ic,
                              taps, 1, REID__ELEMENT_INT8, l->from->factors + at + i, scale + at + i);
        if (!reid__in_bytes(op))
            reid__pack_levels(l->from->preset, l->from->rows, n, taps, l->from->factors + at, scale + at, bias + at);
        if (reid__in_bytes(op)) code = d->cu.MemcpyHtoDAsync(to + begin, bytes, count, l->stream);
        else code = d->cu.MemcpyHtoDAsync(l->raw + 4 * begin, l->from->rows, 4 * count, l->stream);
    }
    reid__digest_final(&digest, digests[0]);
    if (!code && !reid__in_bytes(op)) REID__TRY(reid__gpu_pack_conv(l, index, 0, e));
    REID__TRY(reid__pack_steps(l->from, op, scale, bias, e));
    float rest = op->residual == REID__NONE ? 0 : reid__residual_scale(g->plan->buffers, op);
    if (!code) code = d->cu.MemcpyHtoDAsync(l->g->weights + g->bias[index], bias, (size_t)oc * 4, l->stream);
    to = l->g->weights + g->weight2[index];
    if (!code) code = d->cu.MemcpyHtoDAsync(to, scale, (size_t)oc * 4, l->stream);
    if (!code) code = d->cu.MemcpyHtoDAsync(to + (size_t)reid__padded(oc) * 4, &rest, 4, l->stream);
    if (!code) code = d->cu.StreamSynchronize(l->stream);
    return reid__gpu_check(d, code, op->name, e);
}

/* Packs all tensors of one operation. Returns when the GPU is done with l->raw. */
static reid_result reid__gpu_pack_op(const reid__gpu_loader *l, int index, uint64_t (*digests)[2], reid_error *e) {
    const reid__gpu_plan *g = &l->g->plan;
    const reid__op *op = &g->plan->ops[index];
    reid__needed_tensor wants[REID__MAX_NEEDED];
    reid__address weight = l->g->weights + g->weight[index], bias = l->g->weights + g->bias[index];
    reid__address weight2 = l->g->weights + g->weight2[index], bias2 = l->g->weights + g->bias2[index];
    int c = g->plan->buffers[op->in].c, oc = reid__padded(op->oc), kh = op->kh, kw = op->kw;
    int pool = op->kind == REID__POOL, norm = pool ? op->gem : 1 + op->biased; /* norm: batch norm's first tensor */
    reid__address factors = !op->bn[0] ? 0 : pool ? weight : l->factors;
    const reid__pack_arguments deep = {l->raw, factors, weight, op->oc, 1, kh, kw, 1, 0, kw * oc, oc}; /* (KH, KW, C) */
    const reid__pack_arguments linear = {l->raw, factors, weight, op->oc, op->ic, kh, kw, kh * kw * c, 1, kw * c, c};
    const reid__pack_arguments in = {l->raw, 0, weight, op->hidden, op->ic, 1, 1, c, 1, 0, 0};
    const reid__pack_arguments out = {l->raw, 0, weight2, op->oc, op->hidden, 1, 1, 1, oc, 0, 0};
    float exponent;
    if (reid__needed_tensors(op, wants) == 0) return REID_OK;
    if (reid__makes_bytes(g->plan->buffers, op)) return reid__gpu_pack_bytes(l, index, wants, digests, e);
    reid_result r = op->gem ? reid__fetch_exponent(l->from, op, &wants[0], &exponent, digests[0], e) : REID_OK;
    if (r == REID_OK && (op->gem || !pool))
        r = reid__gpu_upload(l, op, &wants[0], pool ? weight2 : op->normed ? weight : l->raw, digests[0], e);
    if (r == REID_OK && factors) r = reid__gpu_fold(l, index, factors, wants + norm, digests + norm, e);
    else if (r == REID_OK && (op->biased || op->normed)) r = reid__gpu_upload(l, op, &wants[1], bias, digests[1], e);
    if (r == REID_OK && op->kind == REID__CONV) r = reid__gpu_pack_conv(l, index, factors, e);
    if (r == REID_OK && op->kind == REID__DEPTHWISE) r = reid__gpu_pack_matrix(l, 0, deep, e);
    if (r == REID_OK && op->kind == REID__LINEAR) r = reid__gpu_pack_matrix(l, 0, linear, e);
    if (r == REID_OK && op->kind == REID__SQUEEZE) {
        r = reid__gpu_pack_matrix(l, 0, in, e);
        if (r == REID_OK) r = reid__gpu_upload(l, op, &wants[1], bias, digests[1], e);
        if (r == REID_OK) r = reid__gpu_upload(l, op, &wants[2], l->raw, digests[2], e); /* the first has been read */
        if (r == REID_OK) r = reid__gpu_pack_matrix(l, 0, out, e);
        if (r == REID_OK) r = reid__gpu_upload(l, op, &wants[3], bias2, digests[3], e);
    }
    int code = l->g->device.cu.StreamSynchronize(l->stream);
    return r != REID_OK ? r : reid__gpu_check(&l->g->device, code, op->name, e);
}

/* --- lanes --- */
#ifndef REID__PIECE /* a test makes each piece of memory a block of its own, so that overruns are noticed */
#define REID__PIECE(piece, bytes) (piece)
#endif

/* A piece of a block of device memory; 0 if there is none yet, or if it is empty. */
static reid__address reid__gpu_piece(reid__address base, size_t at, size_t bytes) {
    return base && bytes ? REID__PIECE(base + at, bytes) : 0;
}

/* The next piece of a block of which *used bytes are taken. */
static reid__address reid__gpu_carve(reid__address base, size_t *used, size_t bytes) {
    return reid__gpu_piece(base, reid__gpu_place(used, bytes), bytes);
}

/* Sets the sizes of a lane's device memory, and its pieces of the block at l->memory, unless that is 0. */
static void reid__gpu_lane_cut(reid__gpu *gpu, reid__gpu_lane *l) {
    const reid__gpu_plan *g = &gpu->plan;
    size_t batch = (size_t)g->batch, result = batch * (size_t)g->plan->dim * sizeof(float), used = 0;
    size_t full = g->int8 ? batch * sizeof(uint32_t) : 0, room = g->arena * batch, view = g->view * batch;
    gpu->staging = reid__gpu_aligned(batch * sizeof(reid__gpu_picture)) + reid__gpu_aligned(2 * view);
    size_t arena = reid__gpu_place(&used, room);
    for (int i = 0; i < g->plan->buffer_count; i++) {
        REID_ASSERT((g->offset[i] + g->size[i]) * batch <= room);
        l->buffer[i] = reid__gpu_piece(l->memory, arena + g->offset[i] * batch, g->size[i] * batch);
    }
    l->parts = reid__gpu_carve(l->memory, &used, g->parts * batch), gpu->lane_activations = used;
    l->view = reid__gpu_carve(l->memory, &used, view);
    l->mirrored = reid__gpu_carve(l->memory, &used, g->flip ? result : 0);
    l->full = reid__gpu_carve(l->memory, &used, full);
    for (int i = 0; i < 2; i++) l->slots[i].staging = reid__gpu_carve(l->memory, &used, gpu->staging);
    gpu->lane_device = used;
    gpu->lane_pinned = 2 * (gpu->staging + reid__gpu_aligned(result) + reid__gpu_aligned(full));
}

static void reid__gpu_lane_free(reid__gpu *g, reid__gpu_lane *l) {
    reid__driver *cu = &g->device.cu;
    if (l->copies) cu->StreamSynchronize(l->copies); /* no copy may be in progress when its memory is freed */
    if (l->stream) cu->StreamSynchronize(l->stream);
    for (int i = 0; i < REID__MAX_GRAPHS; i++)
        if (l->graphs[i]) cu->GraphExecDestroy(l->graphs[i]);
    for (int i = 0; i < 2; i++) {
        if (l->slots[i].uploaded) cu->EventDestroy(l->slots[i].uploaded);
        if (l->slots[i].done) cu->EventDestroy(l->slots[i].done);
    }
    if (l->copies) cu->StreamDestroy(l->copies);
    if (l->stream) cu->StreamDestroy(l->stream); /* first: memory cannot be freed while a capture has not ended */
    if (l->memory) cu->MemFree(l->memory);
    if (l->slots[0].host) cu->MemFreeHost(l->slots[0].host);
    memset(l, 0, sizeof *l);
}

static reid_result reid__gpu_lane_init(reid__gpu *g, reid__gpu_lane *l, reid_error *e) {
    reid__driver *cu = &g->device.cu;
    size_t result = reid__gpu_aligned((size_t)g->plan.batch * (size_t)g->plan.plan->dim * sizeof(float));
    void *pinned = NULL;
    int code = cu->StreamCreate(&l->stream, REID__STREAM_APART);
    if (!code) code = cu->StreamCreate(&l->copies, REID__STREAM_APART);
    for (int i = 0; i < 2 && !code; i++) {
        code = cu->EventCreate(&l->slots[i].uploaded, REID__EVENT_NO_TIMES);
        if (!code) code = cu->EventCreate(&l->slots[i].done, REID__EVENT_NO_TIMES);
    }
    if (code) return reid__gpu_check(&g->device, code, "a stream or an event", e);
    code = cu->MemAlloc(&l->memory, g->lane_device);
    if (code) l->memory = 0;
    if (code) return reid__gpu_check(&g->device, code, "activations", e);
    reid__gpu_lane_cut(g, l);
    code = cu->MemHostAlloc(&pinned, g->lane_pinned, 0);
    if (code) return reid__gpu_check(&g->device, code, "pinned memory", e);
    for (int i = 0; i < 2; i++) {
        reid__slot *s = &l->slots[i];
        s->host = (unsigned char *)pinned + (size_t)i * (g->lane_pinned / 2);
        s->result = (float *)(void *)(s->host + g->staging);
        s->full = (uint32_t *)(void *)(s->host + g->staging + result);
    }
    for (int i = 0; 1 << i <= g->plan.batch && !g->sync; i++) REID__TRY(reid__gpu_capture(g, l, i, e));
    return REID_OK;
}

/* Creates lanes for the largest batch that the GPU's memory allows, from g->plan.batch downwards. */
static reid_result reid__gpu_lanes(reid__gpu *g, const reid_desc *desc, reid_error *e) {
    for (;;) {
        reid_result r = REID_OK;
        reid__clear_error(e);
        g->device.no_memory = 0;
        reid__gpu_lane_cut(g, &g->lanes[0]);
        for (int i = 0; i < g->lane_count && r == REID_OK; i++) r = reid__gpu_lane_init(g, &g->lanes[i], e);
        if (r == REID_OK) return r;
        for (int i = 0; i < g->lane_count; i++) reid__gpu_lane_free(g, &g->lanes[i]);
        if (!g->device.no_memory || g->plan.batch == 1) return r;
        g->plan.batch /= 2;
        reid__log(desc, REID_LOG_WARNING, REID_ERR_OUT_OF_MEMORY, "GPU %d (%s) has no memory for a batch of %d; trying "
                  "%d", g->device.index, g->device.name, 2 * g->plan.batch, g->plan.batch);
    }
}

/* --- a batch: images to the GPU, embeddings back --- */
/* Bytes that a thread copies at least: waking 16 of an H200's host took 43 us for 150 KB, one thread took 6 us. */
#ifndef REID__COPIED_ALONE
#define REID__COPIED_ALONE ((size_t)1 << 19)
#endif
#define REID__UPLOAD_PIECES 8 /* of a batch, at most */

/* The host's side of a batch while it is filled. */
typedef struct reid__filling {
    reid__gpu *g;
    reid__slot *slot;
    const reid_image *images; /* [count] */
    int count;
    int resized;              /* images that kernels resize; the others are uploaded as (height, width, RGB) */
    size_t used;              /* bytes of the staging memory so far */
    size_t read;              /* bytes of the images' pixels so far */
    int from, to, parts;      /* which images reid__picture_part copies, in how many parts */
    reid__team *team;
    const reid__thread_memory *scratch;
} reid__filling;

static reid__gpu_axis reid__gpu_axis_of(const reid__gpu_plan *g, int source, int64_t resized, int count) {
    reid__axis a;
    reid__axis_init(&a, g->prep->preset.filter, source, resized, count);
    /* A window has at most 2 support + 1 source pixels, rounded at both ends. */
    int64_t most = (int64_t)(2.0 * a.support) + 2;
    reid__gpu_axis to = {a.scale, a.support, a.shrink, a.resized, a.skipped, source, count, (int32_t)a.filter,
                         (int32_t)(most < source ? most : source)};
    return to;
}

/* Whether the image is RGB of the network's size, so that its pixels are the view. */
static int reid__is_view(const reid__gpu_picture *p, const reid_image *image) {
    int rgb = image->format == REID_RGB8 || image->format == REID_PREPARED;
    return rgb && p->x.source == p->x.count && p->x.resized == p->x.count && p->y.source == p->y.count &&
           p->y.resized == p->y.count;
}

/* Chooses a tile of reid_resize that fits in its shared memory, as the kernel divides it. Returns whether one does. */
static int reid__resize_tile(reid__gpu_picture *p) {
    for (p->columns = REID__RESIZE_COLUMNS; p->columns > 0; p->columns /= 2) {
        p->lines = reid__max(p->columns / 4, 1);
        int rows = reid__min(p->y.most + (int)((p->lines - 1) * p->y.scale) + 2, p->y.source);
        int bytes = (8 + 4 * p->x.most + 3 * rows) * p->columns + (8 + 4 * p->y.most) * p->lines;
        if (bytes <= REID__RESIZE_SHARED) return 1;
    }
    return 0;
}

/* Places the images. What the room left cannot hold the CPU resizes, to the same pixels. It and views have bytes 0. */
static void reid__slot_place(reid__filling *f) {
    const reid__gpu *g = f->g;
    const reid__plan *p = g->plan.plan;
    f->used = reid__gpu_aligned((size_t)f->count * sizeof(reid__gpu_picture)), f->read = 0, f->resized = 0;
    for (int i = 0; i < f->count; i++) {
        const reid_image *image = &f->images[i];
        const reid__layout l = reid__layouts[image->format];
        reid__gpu_picture *to = (reid__gpu_picture *)(void *)f->slot->host + i;
        int edge = reid__resize_edge(g->plan.prep, image);
        reid_box roi;
        reid__image_check(image, i, &roi, NULL); /* cannot fail: the call checked it before */
        int w = roi.width, h = roi.height;
        memset(to, 0, sizeof *to);
        to->x = reid__gpu_axis_of(&g->plan, w, edge ? reid__resized(w, h, edge) : p->width, p->width);
        to->y = reid__gpu_axis_of(&g->plan, h, edge ? reid__resized(h, w, edge) : p->height, p->height);
        size_t pixels = (size_t)w * (size_t)h * (size_t)l.bytes, later = (size_t)(f->count - 1 - i) * g->plan.view;
        int fits = reid__resize_tile(to) && pixels + later <= g->staging - f->used && !reid__is_view(to, image);
        to->pixels = (int64_t)f->used;
        to->stride = w * l.bytes, to->bytes = fits ? l.bytes : 0, to->r = l.r, to->g = l.g, to->b = l.b;
        f->used += fits ? pixels : g->plan.view, f->read += pixels, f->resized += fits;
    }
}

/* Copies the pixels of images, or resizes them here. There are no more parts than team members. */
static void reid__picture_part(void *task, int index) {
    const reid__filling *f = (const reid__filling *)task;
    const reid__gpu_picture *pictures = (const reid__gpu_picture *)(const void *)f->slot->host;
    ptrdiff_t from, to;
    reid__share(f->to - f->from, f->parts, index, &from, &to);
    for (ptrdiff_t i = f->from + from; i < f->from + to; i++) {
        const reid_image *image = &f->images[i];
        unsigned char *out = f->slot->host + pictures[i].pixels;
        reid_box roi;
        reid__image_check(image, (int)i, &roi, NULL);
        ptrdiff_t stride = reid__image_stride(image), bytes = reid__layouts[image->format].bytes;
        const unsigned char *in = (const unsigned char *)image->pixels + roi.y * stride + roi.x * bytes;
        int copied = pictures[i].bytes || reid__is_view(&pictures[i], image);
        if (!copied)
            reid__prep_rows(f->g->plan.prep, image, &roi, 0, 0, f->g->plan.plan->height, out, f->scratch[index].prep);
        int together = stride == pictures[i].stride ? roi.height : 1; /* one copy takes half the time of many */
        for (int y = 0; copied && y < roi.height; y += together, in += stride, out += pictures[i].stride)
            memcpy(out, in, (size_t)pictures[i].stride * (size_t)together);
    }
}

static void reid__slot_fill(reid__filling *f, int from, int to, size_t each) {
    size_t parts = 1 + (f->read / (size_t)f->count * (size_t)(to - from) - 1) / each;
    f->from = from, f->to = to, f->parts = parts < (size_t)f->team->size ? (int)parts : f->team->size;
    reid__parallel(f->team, reid__picture_part, f, f->parts);
}

/* Resizes the uploaded images to l->view; `flip` mirrors them. */
static reid_result reid__gpu_resize(reid__gpu *g, reid__gpu_lane *l, const reid__filling *f, int flip, reid_error *e) {
    int height = g->plan.plan->height, width = g->plan.plan->width;
    reid__resize_arguments a = {f->slot->staging, f->slot->staging, l->view, width, height, flip};
    int tiles = reid__ceil_div(width, REID__RESIZE_COLUMNS) * reid__ceil_div(height, REID__RESIZE_COLUMNS / 4);
    return reid__launch(g, &g->plan.extra[REID__EXTRA_RESIZE], tiles, f->count, l->stream, &a, e);
}

/* Fills a slot and uploads it; the lane's stream waits for it. */
static reid_result reid__slot_upload(reid__gpu *g, reid__gpu_lane *l, reid__filling *f, reid_error *e) {
    reid__driver *cu = &g->device.cu;
    reid__slot *s = f->slot;
    reid__slot_fill(f, 0, f->count, 16 * REID__COPIED_ALONE); /* nobody waits for it, and decoders may need the CPUs */
    int code = cu->MemcpyHtoDAsync(s->staging, s->host, f->used, l->copies);
    if (!code) code = cu->EventRecord(s->uploaded, l->copies);
    if (!code) code = cu->StreamWaitEvent(l->stream, s->uploaded, 0);
    return reid__gpu_check(&g->device, code, "uploading images", e);
}

/* Uploads a call's first batch to l->view, if no image needs a resize. A large one goes in pieces: while one is copied
   to the slot, the one before it is uploaded, and the stem computes the one before that. */
static reid_result reid__view_upload(reid__gpu *g, reid__gpu_lane *l, reid__filling *f, reid_error *e) {
    const reid__driver *cu = &g->device.cu;
    size_t view = g->plan.view;
    unsigned char *pixels = f->slot->host + f->used - (size_t)f->count * view;
    int piece = reid__max(reid__ceil_div(f->count, REID__UPLOAD_PIECES), REID__HEAD_APART / 2), code = 0;
    int apart = f->count >= REID__HEAD_APART;
    for (int at = 0, n; at < f->count; at += n) {
        size_t from = (size_t)at * view;
        n = reid__min(piece, f->count - at);
        reid__slot_fill(f, at, at + n, REID__COPIED_ALONE);
        code = cu->MemcpyHtoDAsync(l->view + from, pixels + from, (size_t)n * view, apart ? l->copies : l->stream);
        if (!code && apart) code = cu->EventRecord(f->slot->uploaded, l->copies);
        if (!code && apart) code = cu->StreamWaitEvent(l->stream, f->slot->uploaded, 0);
        REID__TRY(reid__gpu_check(&g->device, code, "uploading images", e));
        if (apart) REID__TRY(reid__gpu_run_head(g, l, at, n, e));
    }
    return REID_OK;
}

/* Submits the network for n images in l->view, a power of two; without its head unless `head`. */
static reid_result reid__gpu_run_net(reid__gpu *g, reid__gpu_lane *l, int n, int head, reid_error *e) {
    int in_graph = n < REID__HEAD_APART && !g->sync, bucket = __builtin_ctz((unsigned)n);
    if (head && !in_graph) REID__TRY(reid__gpu_run_head(g, l, 0, n, e));
    if (g->sync) return reid__gpu_run_ops(g, l, reid__head_end(&g->plan), g->plan.plan->op_count, n, e);
    return reid__gpu_check(&g->device, g->device.cu.GraphLaunch(l->graphs[bucket], l->stream), "cuGraphLaunch", e);
}

/* Fills a slot and submits everything for its images, a power of two of them, and returns while the GPU works. During
   the upload of a call's first batch no other is computed. */
static reid_result reid__slot_submit(reid__gpu *g, reid__gpu_lane *l, reid__filling *f, reid_error *e) {
    reid__slot *s = f->slot;
    const reid__gpu_plan *p = &g->plan;
    reid__driver *cu = &g->device.cu;
    int n = f->count, direct = s->first == 0 && f->resized == 0 && !p->flip, code = 0;
    reid__address embedding = l->buffer[p->plan->embedding];
    size_t full = (size_t)n * sizeof *s->full, floats = (size_t)n * (size_t)p->plan->dim;
    /* Pinned memory has the same address on the GPU, so that nothing is left to be copied afterwards. */
    reid__normalise_arguments unit = {embedding, l->mirrored, (reid__address)(uintptr_t)s->result};
    REID_ASSERT(n >= 1 && n <= p->batch && f->used <= g->staging && s->count == 0); /* the slot is free */
    if (p->int8) code = cu->MemsetD8Async(l->full, 0, full, l->stream);
    REID__TRY(reid__gpu_check(&g->device, code, "cuMemsetD8Async", e));
    REID__TRY(direct ? reid__view_upload(g, l, f, e) : reid__slot_upload(g, l, f, e));
    for (int flip = 0; flip <= p->flip; flip++) {
        if (flip) code = cu->MemcpyDtoDAsync(l->mirrored, embedding, floats * sizeof(float), l->stream);
        REID__TRY(reid__gpu_check(&g->device, code, "cuMemcpyDtoDAsync", e));
        if (!direct) REID__TRY(reid__gpu_resize(g, l, f, flip, e));
        REID__TRY(reid__gpu_run_net(g, l, n, !direct || n < REID__HEAD_APART, e));
    }
    REID__TRY(reid__launch(g, &p->extra[REID__EXTRA_UNIT], n, 1, l->stream, &unit, e));
    if (p->int8) code = cu->MemcpyDtoHAsync(s->full, l->full, full, l->stream);
    if (!code) code = cu->EventRecord(s->done, l->stream);
    if (!code) s->count = n;
    return reid__gpu_check(&g->device, code, "fetching embeddings", e);
}

static reid_result reid__slot_finish(reid__gpu *g, reid__slot *s, const reid__call *call) {
    size_t dim = (size_t)g->plan.plan->dim;
    int n = s->count;
    REID_ASSERT(n >= 1 && s->first >= 0 && s->first + n <= call->n);
    s->count = 0;
    REID__TRY(reid__gpu_check(&g->device, g->device.cu.EventSynchronize(s->done), "the network", call->e));
    memcpy(call->out + (size_t)s->first * dim, s->result, (size_t)n * dim * sizeof *s->result);
    return reid__take_rows(call, g->plan.int8 ? s->full : NULL, s->first, n);
}

/* REID_SYNC=1: later calls repeat the first error's message, because its caller may not have shown it. */
static void reid__gpu_remember(reid__device *d, const reid_error *e) {
    int none = 0;
    if (!e || !__atomic_load_n(&d->lost, __ATOMIC_RELAXED)) return;
    if (!__atomic_compare_exchange_n(&d->has_why, &none, 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
    snprintf(d->why, sizeof d->why, "%.*s", (int)sizeof d->why - 1, e->text);
    __atomic_store_n(&d->has_why, 2, __ATOMIC_RELEASE);
}

/* Waits after an error until nothing of the call is running, because its slots and streams are reused. */
static void reid__gpu_drain(reid__gpu *g, reid__gpu_lane *l) {
    if (g->sync && __atomic_load_n(&g->device.lost, __ATOMIC_RELAXED)) return; /* waiting might never end */
    reid__gpu_check(&g->device, g->device.cu.StreamSynchronize(l->copies), "", NULL); /* notes what ends the context */
    reid__gpu_check(&g->device, g->device.cu.StreamSynchronize(l->stream), "", NULL);
    l->slots[0].count = l->slots[1].count = 0;
}

/* Computes a call's rows, through two slots. If the GPU has no memory to launch a batch, it is halved. */
static reid_result reid__gpu_embed(reid__gpu *g, reid__gpu_lane *l, reid__lane *lane, const reid__call *call) {
    reid_error *e = call->e;
    REID__TRY(reid__gpu_enter(&g->device, e));
    reid_result r = REID_OK;
    int most = g->plan.batch, turn = 0, at = 0, n = call->n;
    while (at < n && r == REID_OK) {
        reid__slot *s = &l->slots[turn];
        int count = reid__graph_batch(reid__min(n - at, most));
        reid__filling f = {g, s, call->images + at, count, 0, 0, 0, 0, 0, 0, &lane->team, lane->scratch};
        if (s->count) r = reid__slot_finish(g, s, call);
        if (r != REID_OK) break;
        reid__slot_place(&f);
        s->first = at, r = reid__slot_submit(g, l, &f, e);
        if (r == REID_ERR_OUT_OF_MEMORY && count > 1) {
            g->device.cu.StreamSynchronize(l->copies); /* because the slot is refilled */
            g->device.cu.StreamSynchronize(l->stream);
            most = count / 2, r = REID_OK;
            reid__clear_error(e);
            continue;
        }
        at += count, turn ^= 1;
    }
    for (int i = 0; i < 2 && r == REID_OK; i++, turn ^= 1)
        if (l->slots[turn].count) r = reid__slot_finish(g, &l->slots[turn], call);
    if (r != REID_OK && g->sync) reid__gpu_remember(&g->device, e);
    if (r != REID_OK) reid__gpu_drain(g, l);
    reid__gpu_leave(&g->device);
    return r;
}

/* Resizes one image on the GPU: (height, width, 3) uint8. */
static reid_result reid__gpu_preprocess(reid__gpu *g, reid__gpu_lane *l, reid__lane *lane, const reid_image *image,
                                        uint8_t *out, reid_error *e) {
    reid__slot *s = &l->slots[0];
    reid__filling f = {g, s, image, 1, 0, 0, 0, 0, 0, 0, &lane->team, lane->scratch};
    REID__TRY(reid__gpu_enter(&g->device, e));
    reid__slot_place(&f);
    reid_result r = reid__slot_upload(g, l, &f, e);
    if (r == REID_OK) r = reid__gpu_resize(g, l, &f, 0, e);
    if (r == REID_OK) {
        int code = g->device.cu.MemcpyDtoHAsync(s->host, l->view, g->plan.view, l->stream); /* s->host is free again */
        if (!code) code = g->device.cu.StreamSynchronize(l->stream);
        r = reid__gpu_check(&g->device, code, "fetching pixels", e);
    }
    if (r == REID_OK) memcpy(out, s->host, g->plan.view);
    else reid__gpu_drain(g, l);
    reid__gpu_leave(&g->device);
    return r;
}

/* Times each operation, the first with the input, and all, if n has a graph. times: (repeats, operations + 1). */
static reid_result reid__gpu_time(reid__gpu *g, reid__gpu_lane *l, int n, int repeats, const uint8_t *noise,
                                  float *times, reid_error *e) {
    const reid__driver *cu = &g->device.cu;
    void *events[REID__MAX_OPS + 2];
    int made = 0, ops = g->plan.plan->op_count, code = 0, has_graph = reid__graph_batch(n) == n;
    reid_result r = reid__gpu_enter(&g->device, e);
    if (r != REID_OK) return r;
    for (; made < ops + 2 && !code; made += !code) code = cu->EventCreate(&events[made], REID__EVENT_TIMES);
    if (!code) code = cu->MemcpyHtoDAsync(l->view, noise, (size_t)n * g->plan.view, l->stream);
    for (int turn = -1; turn < repeats && !code && r == REID_OK; turn++) { /* the first run is not counted */
        float *us = times + (size_t)reid__max(turn, 0) * (size_t)(ops + 1);
        code = cu->EventRecord(events[0], l->stream);
        if (!code) r = reid__gpu_run_input(g, l, n, e);
        for (int i = 0; i < ops && !code && r == REID_OK; i++) {
            r = reid__gpu_run_op(g, l, i, n, e);
            code = cu->EventRecord(events[i + 1], l->stream);
        }
        if (r == REID_OK && has_graph) r = reid__gpu_run_net(g, l, n, 1, e);
        if (!code) code = cu->EventRecord(events[ops + 1], l->stream);
        if (!code) code = cu->StreamSynchronize(l->stream);
        for (int i = 0; i <= ops && !code && r == REID_OK; us[i++] *= 1000)
            code = cu->EventElapsedTime(&us[i], events[i], events[i + 1]);
        us[ops] *= (float)has_graph;
    }
    if (r == REID_OK) r = reid__gpu_check(&g->device, code, "timing", e);
    if (r != REID_OK) reid__gpu_drain(g, l);
    while (made > 0) cu->EventDestroy(events[--made]);
    reid__gpu_leave(&g->device);
    return r;
}

static void reid__gpu_close(reid__gpu *g, int forked) {
    reid__device *d = &g->device;
    if (!forked && d->context && d->cu.CtxPushCurrent(d->context) == 0) {
        for (int i = 0; g->lanes && i < g->lane_count; i++) reid__gpu_lane_free(g, &g->lanes[i]);
        if (g->weights) d->cu.MemFree(g->weights);
        while (g->module_count > 0) d->cu.ModuleUnload(g->modules[--g->module_count]);
        reid__gpu_leave(d);
    }
    if (!forked) reid__device_close(d);
}
#else /* REID_NO_CUDA: no handle has a GPU, so these are never called */
#define reid__gpu_embed(...) REID_ERR_DEVICE
#define reid__gpu_preprocess(...) REID_ERR_DEVICE
#define reid__gpu_time(gpu, lane, n, repeats, noise, times, e) ((void)(e), REID_ERR_DEVICE)
#define reid__gpu_op_info(...) (void)0
#define reid__jit_free(...) (void)0
#define reid__gpu_close(...) (void)0
#endif /* REID_NO_CUDA */

/* --------------------------------------------------------------------------------------------------------------------
   >>search
   Finds the best rows or groups for a query, exactly, by scoring all of them. Scores are first computed in FP32: rows
   of the gallery times a panel of queries, with the tiles of >>cpu, or plain inner products if there are few queries.
   Their error is below a known bound, so all that could be among the k best are kept as candidates. These are scored
   again in double, and only those scores decide, so threads, instruction set and order of work have no effect. A unit
   is what is ranked: a row, or the rows of a group, which are adjacent in `order`.

   A GPU computes from bytes or halves (see SEARCH) the best product of each query with each tile of 32 rows. Its error
   is bounded, too, so only rows that can matter are scored in double, and the k best come back. If `exclude` drops some
   of them, more are asked for. If only the bytes fit, a search is lean: the rows with the highest possible scores come
   back, and the CPU scores them.

   If the queries are the rows themselves (a mutual search), a product serves both of its rows: a chunk of queries scans
   itself and the rows after it, and adds itself to the lists of those rows, where the hits wait for their own chunk. */
/* Products of floats are exact in double, so it does not matter whether compilers fuse them with the sum. */
static double reid__exact_dot(const float *a, const float *b, int dim) {
    double sum = 0;
    for (int i = 0; i < dim; i++) sum += (double)a[i] * b[i];
    return sum;
}

#ifndef REID_NO_SEARCH
#define REID__BLOCK 96            /* rows scored together: a multiple of every mr, and 512 floats of each fit into L2 */
#define REID__SEARCH_CHUNK 1024   /* queries searched together */
#define REID__SEARCH_STEP 2048    /* units that a thread takes at a time */
#define REID__SEARCH_MEMORY ((size_t)1 << 28) /* bytes that the candidates of a chunk may take, if there is no limit */
#define REID__SLACK 128           /* candidates beyond the k best */
#define REID__FEW 4               /* with at most this many queries memory is the limit, so no panel is packed */
#define REID__LONGEST 1e18        /* length of an embedding: no product can overflow */
#define REID__TILE_ROWS 32        /* rows of which the GPU finds the best: a warp's in reid_search; a block has 128 */
#define REID__GPU_HITS 1024       /* most hits of a query that the GPU finds; the CPU searches for more */
#define REID__PART_HITS 4096      /* most hits that all blocks for a query find, if there are several */
#define REID__GPU_PAYS ((size_t)1 << 24)   /* values: with fewer, REID_DEVICE_AUTO uses the CPU */
#define REID__GPU_MEMORY ((size_t)1 << 27) /* bytes of a GPU for queries and their maxima; more if 16 queries need it */
#define REID__GPU_COPY ((size_t)1 << 24)   /* bytes that are copied from or to a GPU at a time */

static const float reid__no_bias[REID__LANES * 2] = {0};

struct reid_index {
    reid__mem mem;
    pid_t pid;
    pthread_mutex_t mutex;    /* of `line` and `searching` */
    pthread_cond_t turn;      /* a search has ended */
    int has_mutex, has_turn, searching;
    int has_groups, dim;      /* read while other threads may be adding rows */
    struct reid__search_call *line; /* the calls that wait for their turn, oldest first */
    const reid__kernels *kernels;
    reid__team team;
    int threads;              /* of the team */
    size_t memory_limit, groups, largest; /* largest: rows of a group */
    reid_rows rows;
    uint32_t *order, *starts; /* [count]: rows by group, then by number; [groups + 1]: places in it. Or NULL */
    double longest;           /* no row is longer */
    float *wide;              /* (threads + 1, dim), while rows are added: those that were halves; bytes of one */
    struct reid__gpu_index *gpu; /* NULL: the CPU searches */
    size_t gpu_bytes;
};

typedef struct reid__candidate {
    double score;   /* valid if `exact` */
    float near;     /* its score in FP32 */
    uint32_t unit, row;
    int exact;
} reid__candidate;

/* A row that may be among the best for another row, whose chunk of queries is still to come. */
typedef struct reid__deferred_hit { float near; uint32_t row; } reid__deferred_hit;

/* limit: the least FP32 score to enter the list; count: the hits in it. */
typedef struct reid__deferred_list { float limit; uint32_t count; } reid__deferred_list;

/* Accumulates the scores of a unit's rows. */
typedef struct reid__tally {
    size_t rows;
    uint32_t row;   /* the best one's number */
    double most, sum, best[REID_MAX_TOP];
} reid__tally;

typedef struct reid__scan {
    float *limits;        /* [padded queries]: least FP32 score of a candidate */
    float *scores;        /* (REID__BLOCK, width) */
    float *wide, *spare;  /* (REID__BLOCK, dim), (dim): rows that were halves */
    reid__tally *tallies; /* [queries], for groups larger than a block */
    struct reid__candidate *full; /* [cap], in a mutual search: a deferred list while it is pruned */
} reid__scan;

typedef struct reid__search_call {
    const reid_search_desc *d;
    const float *queries;
    int n, done;
    reid_hit *hits;                 /* (n, d->k) */
    int *found;                     /* [n] */
    reid_result (*each)(void *user, int first, int n); /* or NULL: takes a chunk's hits, which the next overwrites */
    void *user;
    reid_error *error;
    reid_result result;
    struct reid__search_call *next; /* in line, or of those that are searched for together */
    const reid_rows *rows;          /* to search for nothing, but add rows; or NULL */
} reid__search_call;

typedef struct reid__search_chunk {
    reid_index *x;
    const reid_search_desc *d;
    const reid__search_call *calls; /* whose queries are searched for */
    const float *given, *queries;   /* of all chunks; of this one */
    const uint32_t *order, *starts; /* NULL: units are rows */
    size_t units, next;             /* next: the first unit that no thread has taken */
    int given_n, n, first, kept;    /* first: number of query 0; kept: of the query whose hits are first in memory */
    int width, top;                 /* width: of a panel; top: 0 for the mean of all */
    int unsettled;                  /* queries for which the GPU has not found enough */
    size_t k, cap;
    float *panels;                  /* [panel][dim][width], or NULL for few queries */
    double *bounds;                 /* [n]: of |FP32 score - score| */
    reid__candidate *candidates;    /* [n][threads][cap] */
    size_t *counts;                 /* [n][threads] */
    reid__scan *scans;              /* [threads] */
    reid__deferred_hit *deferred;        /* [rows][cap], in a mutual search, whose queries are the rows */
    reid__deferred_list *deferred_lists; /* [rows] */
} reid__search_chunk;

/* --- scores ------------------------------------------------------------------------------------------------------- */
static size_t reid__start(const reid__search_chunk *h, size_t unit) { return h->starts ? h->starts[unit] : unit; }
static size_t reid__row_at(const reid__search_chunk *h, size_t place) { return h->order ? h->order[place] : place; }

/* A row as floats; `wide` has room for it. */
static const float *reid__row(const reid_index *x, size_t row, float *wide) {
    size_t dim = (size_t)x->rows.dim;
    if (x->rows.floats) return x->rows.floats + row * dim;
    x->kernels->widen(x->rows.halves + row * dim, wide, dim);
    return wide;
}

static void reid__tally_begin(reid__tally *t) { t->rows = 0, t->row = 0, t->most = t->sum = 0; }

/* Rows come in ascending order. If a row cannot change the score, `exclude` is not called for it. */
static void reid__tally_add(const reid__search_chunk *h, reid__tally *t, int query, size_t row, double score) {
    size_t top = (size_t)h->top, at;
    if (top && t->rows >= top && score <= t->best[top - 1]) return;
    if (h->d->exclude && h->d->exclude(h->first + query, row, h->d->exclude_user)) return;
    if (t->rows++ == 0 || score > t->most) t->most = score, t->row = (uint32_t)row;
    t->sum += score;
    if (!top) return;
    for (at = t->rows <= top ? t->rows - 1 : top - 1; at > 0 && t->best[at - 1] < score; at--)
        t->best[at] = t->best[at - 1];
    t->best[at] = score;
}

static double reid__tally_score(const reid__search_chunk *h, const reid__tally *t) {
    size_t top = (size_t)h->top < t->rows ? (size_t)h->top : t->rows;
    double sum = 0;
    if (!h->top) return t->sum / (double)t->rows;
    for (size_t i = 0; i < top; i++) sum += t->best[i];
    return sum / (double)top;
}

/* Computes the score of a candidate in double, once. Returns 0 if all its rows are excluded. wide: room for one row. */
static int reid__score_exactly(const reid__search_chunk *h, int query, reid__candidate *c, float *wide) {
    reid__tally t;
    if (c->exact) return 1;
    reid__tally_begin(&t);
    for (size_t place = reid__start(h, c->unit), end = reid__start(h, (size_t)c->unit + 1); place < end; place++) {
        size_t row = reid__row_at(h, place);
        const float *values = reid__row(h->x, row, wide);
        reid__tally_add(h, &t, query, row,
                        reid__exact_dot(values, h->queries + (ptrdiff_t)query * h->x->rows.dim, h->x->rows.dim));
    }
    if (!t.rows) return 0;
    c->score = reid__tally_score(h, &t), c->row = t.row, c->exact = 1;
    return 1;
}

/* --- candidates --------------------------------------------------------------------------------------------------- */
/* Moves the k nearest to the front, the last of them to c[k - 1]. */
static void reid__select(reid__candidate *c, size_t count, size_t k) {
    ptrdiff_t low = 0, high = (ptrdiff_t)count - 1, at = (ptrdiff_t)k - 1;
    while (low < high) {
        float pivot = c[low + (high - low) / 2].near;
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (c[i].near > pivot) i++;
            while (c[j].near < pivot) j--;
            if (i > j) break;
            reid__candidate swap = c[i];
            c[i++] = c[j];
            c[j--] = swap;
        }
        if (at <= j) high = j;
        else if (at >= i) low = i;
        else return;
    }
}

static int reid__by_score(const void *a, const void *b) {
    const reid__candidate *x = (const reid__candidate *)a, *y = (const reid__candidate *)b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Drops candidates that k others certainly beat, and returns how many are left. If FP32 leaves too many undecided,
   scores them in double. Raises *limit to the least FP32 score of later candidates. */
static size_t reid__prune(const reid__search_chunk *h, int query, reid__candidate *c, size_t count, float *wide,
                          float *limit) {
    double bound = h->bounds[h->deferred ? 0 : query]; /* in a mutual search all are equal */
    if (count <= h->k) return count;
    reid__select(c, count, h->k);
    double least = (double)c[h->k - 1].near - 2 * bound;
    size_t kept = h->k;
    for (size_t i = h->k; i < count; i++)
        if ((double)c[i].near >= least) c[kept++] = c[i];
    count = kept;
    if (count > h->k + REID__SLACK / 2) {
        for (size_t i = 0; i < count; i++) reid__score_exactly(h, query, &c[i], wide);
        reid__sort(c, count, sizeof *c, reid__by_score);
        count = h->k, least = c[count - 1].score - bound;
    }
    if (least > (double)*limit) *limit = (float)least;
    return count;
}

static void reid__keep(const reid__search_chunk *h, int index, int query, size_t unit, double near) {
    reid__scan *t = &h->scans[index];
    size_t list = (size_t)query * (size_t)h->x->threads + (size_t)index, *count = &h->counts[list];
    reid__candidate *c = h->candidates + list * h->cap;
    if (!(near >= (double)t->limits[query])) return;
    if (*count == h->cap) *count = reid__prune(h, query, c, *count, t->spare, &t->limits[query]);
    REID_ASSERT(*count < h->cap && unit < h->units);
    c += (*count)++;
    memset(c, 0, sizeof *c);
    c->near = (float)near, c->unit = (uint32_t)unit;
}

/* Copies a row's deferred list to candidates. `query` counts from the start of the current chunk; it may exceed it. */
static size_t reid__take_deferred(const reid__search_chunk *h, size_t query, reid__candidate *c) {
    size_t row = (size_t)h->first + query, count = h->deferred_lists[row].count;
    memset(c, 0, count * sizeof *c);
    for (size_t i = 0; i < count; i++)
        c[i].near = h->deferred[row * h->cap + i].near, c[i].unit = h->deferred[row * h->cap + i].row;
    return count;
}

static void reid__await(const reid__search_chunk *h, const reid__scan *t, size_t query, size_t other, float near) {
    size_t row = (size_t)h->first + query;
    reid__deferred_hit *list = h->deferred + row * h->cap, added = {near, (uint32_t)other};
    reid__deferred_list *a = &h->deferred_lists[row];
    if (h->d->exclude && h->d->exclude((int)row, other, h->d->exclude_user)) return;
    if (a->count == h->cap) {
        reid__take_deferred(h, query, t->full);
        a->count = (uint32_t)reid__prune(h, (int)query, t->full, h->cap, t->spare, &a->limit);
        for (uint32_t i = 0; i < a->count; i++) list[i].near = t->full[i].near, list[i].row = t->full[i].unit;
    }
    REID_ASSERT(a->count < h->cap);
    list[a->count++] = added;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */
/* Whole units, or a piece of a unit that is larger than a block. */
typedef struct reid__span {
    size_t unit, last;      /* units in it */
    size_t place, rows;     /* in the order */
    int piece, ends;
} reid__span;

/* Extends the span that begins at b->place in b->unit, at most to before unit `end`. */
static void reid__span_fill(const reid__search_chunk *h, reid__span *b, size_t end) {
    size_t stop = reid__start(h, b->unit + 1), most = b->place + REID__BLOCK;
    b->last = b->unit, b->ends = stop <= most, b->piece = !b->ends || b->place > reid__start(h, b->unit);
    while (!b->piece && b->last + 1 < end && reid__start(h, b->last + 2) <= most) stop = reid__start(h, ++b->last + 1);
    b->rows = (b->ends ? stop : most) - b->place;
}

/* Computes t->scores, (b->rows, width), for one panel of queries. */
static void reid__score_span(const reid__search_chunk *h, const reid__scan *t, const reid__span *b,
                             const void *const *rows, int panel) {
    const reid__kernels *kernels = h->x->kernels;
    int dim = h->x->rows.dim, step = kernels->fp32.mr, count = (int)b->rows;
    for (int at = 0; at < count; at += step) {
        reid__tile tile;
        memset(&tile, 0, sizeof tile);
        tile.a = rows + at, tile.taps = 1, tile.kc = dim;
        tile.b = h->panels + (ptrdiff_t)panel * dim * h->width, tile.bias = reid__no_bias;
        tile.fetch_divisor = 1, tile.ahead = (uintptr_t)tile.b;
        if (panel == 0 && !h->order && h->x->rows.floats)
            tile.ahead = (uintptr_t)rows[at] + sizeof(float) * REID__BLOCK * (uintptr_t)dim;
        tile.out = t->scores + (ptrdiff_t)at * h->width, tile.out_stride = (ptrdiff_t)sizeof(float) * h->width;
        tile.half = h->width < kernels->nr;
        kernels->fp32.tile(&tile, reid__min(step, count - at));
    }
}

/* Keeps the candidates of one query. column: its scores of b's rows, width apart. */
static void reid__take_span(const reid__search_chunk *h, int index, int q, const reid__span *b, const float *column) {
    const reid__scan *t = &h->scans[index];
    reid__tally own, *tally = b->piece ? &t->tallies[q] : &own;
    size_t place = b->place;
    for (size_t unit = b->unit; unit <= b->last; unit++) {
        size_t end = b->piece ? b->place + b->rows : reid__start(h, unit + 1), at = place;
        if (!b->piece || place == reid__start(h, unit)) reid__tally_begin(tally);
        if (!b->piece) { /* no unit is better than its best row */
            while (at < end && column[(ptrdiff_t)(at - b->place) * h->width] < t->limits[q]) at++;
            if (at == end) place = end;
        }
        for (; place < end; place++)
            reid__tally_add(h, tally, q, reid__row_at(h, place),
                            (double)column[(ptrdiff_t)(place - b->place) * h->width]);
        if (b->ends && tally->rows) reid__keep(h, index, q, unit, reid__tally_score(h, tally));
    }
}

/* Defers the queries from `first` on as hits for b's rows whose chunk is still to come. most: each row's best score. */
static void reid__take_mutual(const reid__search_chunk *h, const reid__scan *t, int first, const reid__span *b,
                              const float *most) {
    int n = reid__min(h->width, h->n - first);
    for (size_t i = 0; i < b->rows; i++) {
        size_t row = b->place + i;
        const float *limit = &h->deferred_lists[row].limit, *scores = t->scores + (ptrdiff_t)i * h->width;
        if (row < (size_t)h->first + (size_t)h->n || most[i] < *limit) continue;
        for (int q = 0; q < n; q++)
            if (scores[q] >= *limit)
                reid__await(h, t, row - (size_t)h->first, (size_t)h->first + (size_t)(first + q), scores[q]);
    }
}

static void reid__scan_span(const reid__search_chunk *h, int index, const reid__span *b) {
    const reid__scan *t = &h->scans[index];
    const void *rows[REID__BLOCK];
    float most[REID__LANES * 2], most_of_rows[REID__BLOCK];
    for (size_t i = 0; h->panels && i < b->rows; i++)
        rows[i] = reid__row(h->x, reid__row_at(h, b->place + i), t->wide + i * (size_t)h->x->rows.dim);
    for (int first = 0; first < h->n; first += h->width) {
        if (h->panels) reid__score_span(h, t, b, rows, first / h->width);
        for (size_t i = 0; !h->panels && i < b->rows; i++) /* few queries */
            h->x->kernels->dots(reid__row(h->x, reid__row_at(h, b->place + i), t->spare), h->x->rows.dim, h->queries,
                                h->n, t->scores + (ptrdiff_t)i * h->width);
        h->x->kernels->maxima(t->scores, (int)b->rows, h->width, most, h->deferred ? most_of_rows : NULL);
        for (int i = 0; i < h->width && first + i < h->n; i++)
            if (b->piece || most[i] >= t->limits[first + i]) reid__take_span(h, index, first + i, b, t->scores + i);
        if (h->deferred) reid__take_mutual(h, t, first, b, most_of_rows);
    }
}

/* Threads take units as they become free. This does not affect results. */
static void reid__scan_part(void *task, int index) {
    reid__search_chunk *h = (reid__search_chunk *)task;
    reid__span b;
    while ((b.unit = __atomic_fetch_add(&h->next, REID__SEARCH_STEP, __ATOMIC_RELAXED)) < h->units) {
        size_t end = h->units - b.unit < REID__SEARCH_STEP ? h->units : b.unit + REID__SEARCH_STEP;
        for (b.place = reid__start(h, b.unit); b.unit < end; b.place += b.rows) {
            reid__span_fill(h, &b, end);
            reid__scan_span(h, index, &b);
            if (b.ends) b.unit = b.last + 1;
        }
    }
}

/* Scores a query's candidates in double, drops excluded ones, sorts the others, copies hits; returns their number. */
static size_t reid__put_hits(const reid__search_chunk *h, int query, reid__candidate *c, size_t count, float *wide) {
    const reid__search_call *call = h->calls;
    size_t left = 0, n = 0;
    int at = h->first + query - h->kept;
    for (; at >= call->n; call = call->next) at -= call->n;
    reid_hit *hits = call->hits + (size_t)at * (size_t)h->d->k;
    for (size_t i = 0; i < count; i++)
        if (reid__score_exactly(h, query, &c[i], wide)) c[left++] = c[i];
    reid__sort(c, left, sizeof *c, reid__by_score);
    for (; n < left && n < h->k && !(h->d->use_threshold && c[n].score < h->d->threshold); n++) {
        hits[n].row = c[n].row, hits[n].score = c[n].score;
        hits[n].group = h->x->rows.groups ? h->x->rows.groups[c[n].row] : c[n].row;
    }
    for (size_t i = 1; i < n; i++) REID_ASSERT(reid__by_score(&c[i - 1], &c[i]) < 0); /* each row once */
    call->found[at] = (int)n;
    return left;
}

/* Merges the candidates of all threads into the hits of each query. */
static void reid__finish_part(void *task, int index) {
    const reid__search_chunk *h = (const reid__search_chunk *)task;
    float *wide = h->scans[index].spare, limit = 0;
    size_t threads = (size_t)h->x->threads;
    for (int query = index; query < h->n; query += h->x->threads) {
        size_t list = (size_t)query * threads, count = 0;
        reid__candidate *c = h->candidates + list * h->cap;
        for (size_t i = 0; i < threads; i++) {
            memmove(c + count, c + i * h->cap, h->counts[list + i] * sizeof *c);
            count += h->counts[list + i];
        }
        reid__put_hits(h, query, c, reid__prune(h, query, c, count, wide, &limit), wide);
    }
}

/* --- a search ----------------------------------------------------------------------------------------------------- */
/* Sets the pointers of a chunk into `base`; returns the bytes that it takes. base may be NULL. */
static size_t reid__chunk_layout(reid__search_chunk *h, char *base) {
    reid__carver c = {base, 0};
    size_t n = (size_t)h->n, dim = (size_t)h->x->rows.dim, width = (size_t)h->width;
    size_t threads = (size_t)h->x->threads, padded = (n + width - 1) / width * width;
    int packed = n > REID__FEW;
    h->panels = (float *)reid__carve(&c, packed ? padded * dim : 0, sizeof(float));
    if (!packed) h->panels = NULL;
    h->bounds = (double *)reid__carve(&c, n, sizeof(double));
    h->candidates = (reid__candidate *)reid__carve(&c, n * threads * h->cap, sizeof(reid__candidate));
    h->counts = (size_t *)reid__carve(&c, n * threads, sizeof(size_t));
    h->scans = (reid__scan *)reid__carve(&c, threads, sizeof(reid__scan));
    for (size_t i = 0; i < threads; i++) {
        reid__scan t;
        t.limits = (float *)reid__carve(&c, padded, sizeof(float));
        t.scores = (float *)reid__carve(&c, REID__BLOCK * width, sizeof(float));
        t.wide = (float *)reid__carve(&c, h->x->rows.halves ? REID__BLOCK * dim : 0, sizeof(float));
        t.spare = (float *)reid__carve(&c, h->x->rows.halves ? dim : 0, sizeof(float));
        t.tallies = (reid__tally *)reid__carve(&c, h->starts ? n : 0, sizeof(reid__tally));
        t.full = (reid__candidate *)reid__carve(&c, h->deferred ? h->cap : 0, sizeof(reid__candidate));
        if (base) h->scans[i] = t;
    }
    return c.used;
}

/* |sum in FP32 - sum| <= n u / (1 - n u) |a| |b| for n additions in any order, u = 2^-24; 64 more for rounding the
   limits. 2^-140 for each product that is too small for a normal number. */
static double reid__score_bound(int dim, double query, double row) {
    return (dim + 64) * 5.9604644775390625e-8 * 1.01 * query * row + dim * 7.174648137343064e-43;
}

/* The least FP32 score of a candidate while nothing has been found yet. */
static float reid__first_limit(const reid__search_chunk *h, double bound) {
    double limit = h->d->use_threshold ? h->d->threshold - bound : -3e38;
    return limit > 3e38 ? 3e38f : limit < -3e38 ? -3e38f : (float)limit;
}

static void reid__chunk_begin(reid__search_chunk *h) {
    int dim = h->x->rows.dim, padded = reid__round_up(h->n, h->width);
    size_t threads = (size_t)h->x->threads;
    h->next = h->deferred ? (size_t)h->first : 0;
    memset(h->counts, 0, (size_t)h->n * threads * sizeof *h->counts);
    for (int i = 0; i < h->x->threads; i++)
        memset(h->scans[i].scores, 0, sizeof(float) * REID__BLOCK * (size_t)h->width);
    for (int q = 0; q < padded; q++) {
        const float *query = h->queries + (ptrdiff_t)q * dim;
        float limit = -3e38f;
        if (q < h->n && h->deferred) {
            limit = h->deferred_lists[h->first + q].limit;
            h->bounds[q] = reid__score_bound(dim, h->x->longest, h->x->longest);
            size_t list = (size_t)q * threads;
            h->counts[list] = reid__take_deferred(h, (size_t)q, h->candidates + list * h->cap);
        } else if (q < h->n) {
            h->bounds[q] = reid__score_bound(dim, sqrt(reid__exact_dot(query, query, dim)), h->x->longest);
            limit = reid__first_limit(h, h->bounds[q]);
        }
        for (size_t i = 0; i < threads; i++) h->scans[i].limits[q] = limit;
        for (int k = 0; h->panels && k < dim; k++)
            h->panels[(ptrdiff_t)(q / h->width * dim + k) * h->width + q % h->width] = q < h->n ? query[k] : 0;
    }
}

/* Whether the index may take so many bytes more, for a search. */
static reid_result reid__check_limit(const reid_index *x, size_t more, reid_error *e) {
    unsigned long long bytes = x->mem.used + x->gpu_bytes + more;
    if (!x->memory_limit || bytes <= x->memory_limit) return REID_OK;
    const char *what = more ? "index and one query take" : "index takes";
    return reid__fail(e, REID_ERR_MEMORY_LIMIT, "the %s %llu bytes", what, bytes);
}

static size_t reid__memory_left(const reid_index *x) {
    return x->memory_limit ? x->memory_limit - x->mem.used - x->gpu_bytes : SIZE_MAX;
}

static reid_result reid__search_memory(reid_index *x, size_t bytes, char **block, reid_error *e) {
    *block = NULL;
    REID__TRY(reid__check_limit(x, bytes + REID__OVERHEAD, e));
    *block = (char *)reid__alloc(&x->mem, bytes);
    return *block ? REID_OK : reid__no_memory(e, "candidates", bytes);
}

/* Begins a chunk of n queries from number `first` on. Hits are kept for all chunks, unless `each` takes them. */
static void reid__next_chunk(reid__search_chunk *h, int first, int n) {
    h->first = first, h->n = n, h->queries = h->given + (ptrdiff_t)first * h->x->rows.dim;
    if (h->calls->each) h->kept = first;
}

static size_t reid__candidates_for(const reid__search_chunk *h) {
    return h->units - h->k < REID__SLACK ? h->units : h->k + REID__SLACK;
}

/* Searches on the CPU for queries from ... end - 1, in chunks as large as memory allows. */
static reid_result reid__search(reid__search_chunk *h, int from, int end, reid_error *e) {
    reid_index *x = h->x;
    size_t left = reid__memory_left(x), most = left < REID__SEARCH_MEMORY ? left : REID__SEARCH_MEMORY;
    const reid__search_call *call = h->calls;
    for (h->n = reid__min(end - from, REID__SEARCH_CHUNK);; h->n = (h->n + 1) / 2) {
        h->width = h->n <= REID__LANES ? REID__LANES : x->kernels->nr;
        if (reid__chunk_layout(h, NULL) <= most || h->n == 1) break;
    }
    char *base;
    reid_result r = reid__search_memory(x, reid__chunk_layout(h, NULL), &base, e);
    for (int first = from, chunk = h->n; first < end && r == REID_OK; first += chunk) {
        reid__next_chunk(h, first, reid__min(chunk, end - first));
        reid__chunk_layout(h, base);
        reid__chunk_begin(h);
        reid__parallel(&x->team, reid__scan_part, h, x->threads);
        reid__parallel(&x->team, reid__finish_part, h, x->threads);
        if (call->each) r = call->each(call->user, first, h->n);
    }
    reid__free(&x->mem, base);
    return r;
}

/* --- a GPU -------------------------------------------------------------------------------------------------------- */
#ifndef REID_NO_CUDA
#define REID__COPIES 4 /* of the rows: floats, halves, bytes and the scales of bytes */

/* The rows on a GPU: padded to a multiple of 128 rows of `depth` values, in the order of their groups. */
typedef struct reid__gpu_index {
    reid__device device;
    void *module, *stream;
    reid__step queries, products, best; /* kernels; products: reid_search, of products.bn queries */
    reid__address memory;               /* one block; arguments has addresses in it */
    reid__search_arguments arguments;   /* the arguments that all searches share */
    int most, parts;                    /* queries at a time; parts of the last search's arguments */
    int hopper, bytes, lean;            /* `products` uses Hopper's instructions; reads bytes; there are only bytes */
    unsigned char *pinned;              /* rows or hits during a copy: numbers of hits, and at `hits` the hits */
    const reid__search_hit *hits;
    size_t pinned_bytes, depth;         /* depth: dim, padded */
    size_t size[REID__COPIES];          /* bytes of a row in each copy; 0: there is none */
    reid__address copy[REID__COPIES];
    double scale, rest;                 /* of halves, a power of two; longest difference of a row and its bytes */
    size_t first, sent;                 /* the rows to upload next, and how many */
} reid__gpu_index;

#define REID__LONGEST_BYTES 1900 /* of a row's signed bytes: see reid_kernels.cu */
#define REID__REST 0.02 /* of a row's length: with more left out by bytes, too many rows would have to be scored */

/* Describes reid_search. On Hopper the queries stay in shared memory beside a ring of at least three places for 128
   bytes of 128 rows each; returns the number of places. If they do not fit, or elsewhere, returns 0. */
static int reid__products_step(const reid__jit *j, size_t row_bytes, reid__step *s) {
    const size_t place = 128 * 128, most = 227 * 1024;
    s->function = "reid_search";
    for (s->threads = 384, s->bn = 128; s->bn >= 64 && reid__has_wgmma(j); s->bn /= 2) {
        size_t fixed = (size_t)s->bn * ((row_bytes + 127) / 128 * 128 + 8 * sizeof(float)) + 256;
        if (fixed + 3 * place > most) continue;
        size_t stages = (most - fixed) / place < 8 ? (most - fixed) / place : 8;
        s->shared = (unsigned)(fixed + stages * place);
        return (int)stages;
    }
    s->threads = 128, s->bn = 64, s->shared = 256 * 192;
    return 0;
}

static int reid__search_depth(int dim, int bytes) { return reid__round_up(dim, bytes ? 64 : 32); }

static int reid__search_program(reid__jit *j, int dim, int bytes) {
    reid__program p;
    reid__step s;
    int depth = reid__search_depth(dim, bytes), stages = reid__products_step(j, (size_t)depth * (bytes ? 1 : 2), &s);
    memset(&p, 0, sizeof p);
    reid__option(&p, "-DREID_SEARCH -DVALUE_%s -DK=%d -DBN=%d", bytes ? "U8" : "F16", depth, s.bn);
    reid__option(&p, stages ? "-DHOPPER -DSTAGES=%d" : "-DBK=%d", stages ? stages : bytes ? 64 : 32);
    return reid__program_add(j, &p) >= 0;
}

/* A row as bytes b for which scale (b - 128) is near a component; returns the length of what they leave out. */
static double reid__to_bytes(const float *row, size_t dim, uint8_t *bytes, float *scale) {
    float most = 0, inverse;
    double rest = 0;
    for (size_t k = 0; k < dim; k++)
        if (fabsf(row[k]) > most) most = fabsf(row[k]);
    double step = fmax(most / 127.0, sqrt(reid__exact_dot(row, row, (int)dim)) / REID__LONGEST_BYTES);
    *scale = step > 1e-30 ? (float)step : 0, inverse = step > 1e-30 ? 1 / *scale : 0;
    for (size_t k = 0; k < dim; k++) {
        bytes[k] = (uint8_t)(row[k] * inverse + 128.5f);
        double left = (double)row[k] - (double)*scale * (bytes[k] - 128);
        rest += left * left;
    }
    return sqrt(rest);
}

/* Whether the GPU reads bytes first, half of the memory, though they leave more rows to be scored. If precision does
   not say so, it does unless they leave much out of one of 256 rows. */
static int reid__bytes_pay(const reid_index *x, const reid_desc *desc, int arch) {
    size_t dim = (size_t)x->rows.dim, step = x->rows.count / 256 + 1;
    float scale, *row = x->wide;
    uint8_t *bytes = (uint8_t *)(row + dim);
    if (arch < 80 || desc->precision == REID_FP16) return 0;
    if (desc->precision == REID_INT8 || x->rows.dim < 64) return desc->precision == REID_INT8;
    for (size_t i = 0; i < x->rows.count; i += step) {
        const float *from = reid__row(x, i, row);
        if (reid__to_bytes(from, dim, bytes, &scale) > REID__REST * sqrt(reid__exact_dot(from, from, x->rows.dim)))
            return 0;
    }
    return 1;
}

/* Sets the sizes of the copies, and all addresses in a block at `base`; returns its bytes. */
static size_t reid__gpu_index_layout(const reid_index *x, reid__address base) {
    reid__gpu_index *s = x->gpu;
    reid__search_arguments *a = &s->arguments;
    size_t used = 0, tiles = (size_t)a->tiles, n = (size_t)s->most, rows = tiles * REID__TILE_ROWS;
    size_t padded = (n + 127) / 128 * 128;
    s->size[0] = x->rows.halves || s->lean ? 0 : s->depth * sizeof(float);
    s->size[1] = (x->rows.halves || !s->bytes) && !s->lean ? s->depth * sizeof(uint16_t) : 0;
    s->size[2] = s->bytes ? s->depth : 0, s->size[3] = s->bytes ? sizeof(float) : 0;
    for (int i = 0; i < REID__COPIES; i++) s->copy[i] = reid__gpu_carve(base, &used, rows * s->size[i]);
    a->floats = s->copy[0], a->halves = s->copy[1], a->rows = s->copy[s->bytes ? 2 : 1], a->row_scales = s->copy[3];
    a->order = reid__gpu_carve(base, &used, x->order ? x->rows.count * sizeof *x->order : 0);
    a->starts = reid__gpu_carve(base, &used, x->order ? (x->groups + 1) * sizeof *x->starts : 0);
    a->given = reid__gpu_carve(base, &used, n * (size_t)x->rows.dim * sizeof(float));
    a->queries = reid__gpu_carve(base, &used, padded * s->depth * (s->bytes ? 1 : sizeof(uint16_t)));
    a->first_sums = reid__gpu_carve(base, &used, padded * sizeof(int));
    a->wide = reid__gpu_carve(base, &used, n * s->depth * sizeof(double));
    a->scales = reid__gpu_carve(base, &used, 2 * n * sizeof(double));
    a->maxima = reid__gpu_carve(base, &used, n * tiles * sizeof(float));
    a->found = reid__gpu_carve(base, &used, s->pinned_bytes); /* and hits, which are downloaded with it */
    return used;
}

/* Writes the copies of the next s->sent rows into s->pinned, one copy after the other. */
static void reid__upload_part(void *task, int index) {
    reid_index *x = (reid_index *)task;
    reid__gpu_index *s = x->gpu;
    size_t dim = (size_t)x->rows.dim;
    const size_t *size = s->size;
    double rest = 0;
    ptrdiff_t from, to;
    reid__share((ptrdiff_t)s->sent, x->threads, index, &from, &to);
    for (ptrdiff_t i = from; i < to; i++) {
        unsigned char *copies[REID__COPIES], *at = s->pinned;
        for (int c = 0; c < REID__COPIES; at += s->sent * size[c++]) {
            copies[c] = at + (size_t)i * size[c];
            memset(copies[c], 0, size[c]);
        }
        size_t place = s->first + (size_t)i;
        if (place >= x->rows.count) continue; /* padding */
        size_t row = x->order ? x->order[place] : place;
        const float *values = reid__row(x, row, x->wide + (ptrdiff_t)index * x->rows.dim);
        uint16_t *halves = (uint16_t *)(void *)copies[1];
        if (size[0]) memcpy(copies[0], values, dim * sizeof(float));
        if (size[1] && x->rows.halves) memcpy(halves, x->rows.halves + row * dim, dim * sizeof *halves);
        for (size_t k = 0; k < dim && size[1] && !x->rows.halves; k++)
            halves[k] = reid__to_half((float)(values[k] * s->scale));
        double left = size[2] ? reid__to_bytes(values, dim, copies[2], (float *)(void *)copies[3]) : 0;
        if (left > rest) rest = left;
    }
    REID__LOCK(&x->mutex);
    if (rest > s->rest) s->rest = rest;
}

/* Uploads the rows from place `first` to place end - 1. */
static int reid__gpu_index_send(reid_index *x, size_t first, size_t end) {
    reid__gpu_index *s = x->gpu;
    reid__driver *cu = &s->device.cu;
    size_t all = 0, *size = s->size;
    int code = 0;
    for (int c = 0; c < REID__COPIES; c++) all += size[c];
    size_t most = s->pinned_bytes / all;
    for (s->first = first; s->first < end && !code; s->first += most) {
        s->sent = end - s->first < most ? end - s->first : most;
        reid__parallel(&x->team, reid__upload_part, x, x->threads);
        const unsigned char *from = s->pinned;
        for (int c = 0; c < REID__COPIES && !code; from += s->sent * size[c++])
            if (size[c])
                code = cu->MemcpyHtoDAsync(s->copy[c] + s->first * size[c], from, s->sent * size[c], s->stream);
        if (!code) code = cu->StreamSynchronize(s->stream);
    }
    return code;
}

/* Uploads the order of the rows; code: of their own copies. */
static reid_result reid__gpu_index_end(reid_index *x, int code, reid_error *e) {
    reid__gpu_index *s = x->gpu;
    reid__driver *cu = &s->device.cu;
    reid__search_arguments *a = &s->arguments;
    size_t word = sizeof(uint32_t);
    if (x->order && !code) code = cu->MemcpyHtoDAsync(a->order, x->order, x->rows.count * word, s->stream);
    if (x->order && !code) code = cu->MemcpyHtoDAsync(a->starts, x->starts, (x->groups + 1) * word, s->stream);
    int waited = cu->StreamSynchronize(s->stream);
    if (s->bytes) a->reach = x->longest + s->rest, a->slack = s->rest + 1e-6 * a->reach; /* and rounding to FP32 */
    return reid__gpu_check(&s->device, code ? code : waited, "uploading rows", e);
}

/* Allocates memory for the rows beside `kept` bytes. */
static reid_result reid__gpu_index_alloc(reid_index *x, size_t kept, reid_error *e) {
    reid__gpu_index *s = x->gpu;
    size_t all = reid__gpu_index_layout(x, 0);
    s->memory = 0, x->gpu_bytes = kept + all + s->pinned_bytes;
    REID__TRY(reid__check_limit(x, 0, e));
    REID__TRY(reid__gpu_check(&s->device, s->device.cu.MemAlloc(&s->memory, all), "the rows of an index", e));
    reid__gpu_index_layout(x, s->memory);
    return REID_OK;
}

static reid_result reid__gpu_index_load(reid_index *x, const reid__jit *j, reid_error *e) {
    reid__gpu_index *s = x->gpu;
    reid__driver *cu = &s->device.cu;
    void *pinned = NULL;
    int code = cu->StreamCreate(&s->stream, REID__STREAM_APART);
    s->hopper = reid__products_step(j, s->depth * (s->bytes ? 1 : 2), &s->products) > 0;
    if (!code) code = cu->ModuleLoadData(&s->module, j->programs[0].cubin);
    if (!code) code = cu->ModuleGetFunction(&s->products.handle, s->module, s->products.function);
    if (!code && s->products.shared > 48 * 1024)
        code = cu->FuncSetAttribute(s->products.handle, REID__FUNCTION_DYNAMIC_SHARED, (int)s->products.shared);
    if (!code) code = cu->ModuleGetFunction(&s->queries.handle, s->module, "reid_search_queries");
    if (!code) code = cu->ModuleGetFunction(&s->best.handle, s->module, "reid_search_best");
    s->queries.threads = 128, s->queries.shared = 128 * sizeof(double), s->best.threads = 256;
    if (code) return reid__gpu_check(&s->device, code, "reid_search", e);
    reid_result r = reid__gpu_index_alloc(x, 0, e);
    if (s->bytes && (r == REID_ERR_MEMORY_LIMIT || r == REID_ERR_OUT_OF_MEMORY))
        s->lean = 1, r = reid__gpu_index_alloc(x, 0, e);
    REID__TRY(r);
    code = cu->MemHostAlloc(&pinned, s->pinned_bytes, 0);
    if (code) return reid__gpu_check(&s->device, code, "the rows of an index", e);
    s->pinned = (unsigned char *)pinned;
    return reid__gpu_index_end(x, reid__gpu_index_send(x, 0, (size_t)s->arguments.tiles * REID__TILE_ROWS), e);
}

/* Sets the sizes. A GPU has memory for as many queries as REID__GPU_MEMORY allows, at least 16. */
static void reid__gpu_index_sizes(const reid_index *x, reid__gpu_index *s) {
    reid__search_arguments *a = &s->arguments;
    size_t padded = (x->rows.count / 128 + 1) * 128, tiles = padded / REID__TILE_ROWS;
    s->depth = (size_t)reid__search_depth(x->rows.dim, s->bytes);
    int exponent = 0;
    if (!x->rows.halves) frexp(x->longest, &exponent);
    s->scale = ldexp(1, -exponent);
    size_t queries = REID__GPU_MEMORY / (tiles * sizeof(float) + s->depth * 16) / 16 * 16;
    s->most = queries < 16 ? 16 : queries < REID__SEARCH_CHUNK ? (int)queries : REID__SEARCH_CHUNK;
    size_t rows = padded * s->depth * sizeof(float), least = s->depth * 6 + 24 * REID__GPU_HITS + 4096;
    if (!s->pinned) s->pinned_bytes = rows > REID__GPU_COPY ? REID__GPU_COPY : rows > least ? rows : least;
    a->tiles = (int)tiles, a->dim = x->rows.dim, a->count = (unsigned)x->rows.count, a->groups = (unsigned)x->groups;
    a->step = 1 / s->scale;
    /* |maximum - score| of a query of length 1: 2^-11 for rounding either to a normal half, 2^-25 for each component
       that is not normal; tensor cores truncate sums, for which 2^-21 per addition is ample. */
    a->slack = x->longest * (1e-3 + (a->dim + 64) * 4.76837158203125e-7 + sqrt(a->dim) * 1.1920928955078125e-7);
}

static reid_result reid__gpu_index_open(reid_index *x, const reid_desc *desc, reid_error *e) {
    reid__jit j;
    reid__gpu_index *s;
    char *block = (char *)reid__alloc_zero(&x->mem, sizeof *s + REID__ALIGN);
    if (!block) return reid__no_memory(e, "a GPU", sizeof *s);
    s = x->gpu = (reid__gpu_index *)(void *)(block + (uintptr_t)block % 128); /* tensor maps need this alignment */
    memset(&j, 0, sizeof j);
    reid__device *d = &s->device;
    reid_result r = reid__device_open(d, desc, e);
    if (r == REID_OK) r = reid__jit_init(&j, &x->mem, desc, d->arch, d->version, e);
    if (r == REID_OK) s->bytes = reid__bytes_pay(x, desc, d->arch), reid__gpu_index_sizes(x, s);
    if (r == REID_OK && reid__search_program(&j, x->rows.dim, s->bytes)) r = reid__jit_build(&j, x->threads, e);
    if (r == REID_OK) r = reid__gpu_enter(d, e);
    if (r == REID_OK) {
        r = reid__gpu_index_load(x, &j, e);
        reid__gpu_leave(d);
    }
    reid__jit_free(&j);
    if (!r) reid__log(desc, REID_LOG_INFO, r, "searching on GPU %d, %s (sm_%d)%s", d->index, d->name, d->arch,
                      s->lean ? ", which has memory for the rows as bytes only" : "");
    return r;
}

static int reid__is_old(const reid_index *x, const reid_index *was, size_t place) {
    return place < x->rows.count && (x->order ? x->order[place] : place) < was->rows.count;
}

/* Copies old rows within the GPU's memory, and uploads the others; or all, if halves have another scale, if old rows
   are not in the order they were in, or if too many runs of new ones are between them: each takes as long as uploading
   some hundred rows (20 us). */
static int reid__gpu_index_merge(reid_index *x, const reid_index *was, const reid__gpu_index *had) {
    reid__gpu_index *s = x->gpu;
    size_t padded = (size_t)s->arguments.tiles * REID__TILE_ROWS, old = 0, runs = 0, place = 0, end;
    int code = 0, ordered = s->scale == had->scale;
    for (; place < x->rows.count; place++) {
        if (!reid__is_old(x, was, place)) runs += place == 0 || reid__is_old(x, was, place - 1);
        else if (was->order && x->order[place] != was->order[old++]) ordered = 0;
    }
    if (!ordered || runs * 128 > place) return reid__gpu_index_send(x, 0, padded);
    for (place = old = 0; place < padded && !code; place = end) {
        int is_old = reid__is_old(x, was, place);
        for (end = place; end < padded && reid__is_old(x, was, end) == is_old;) end++;
        if (!is_old) code = reid__gpu_index_send(x, place, end);
        for (int c = 0; c < REID__COPIES && is_old && !code; c++)
            if (s->size[c])
                code = s->device.cu.MemcpyDtoDAsync(s->copy[c] + place * s->size[c], had->copy[c] + old * s->size[c],
                                                    (end - place) * s->size[c], s->stream);
        if (is_old) old += end - place;
    }
    return code;
}

/* Replaces the memory for the rows that the index had. */
static reid_result reid__gpu_index_grow(reid_index *x, const reid_index *was, reid_error *e) {
    reid__gpu_index *s = x->gpu, had = *s;
    size_t kept = x->gpu_bytes - s->pinned_bytes;
    REID__TRY(reid__gpu_enter(&s->device, e));
    reid__gpu_index_sizes(x, s);
    reid_result r = reid__gpu_index_alloc(x, kept, e);
    if (r == REID_OK) r = reid__gpu_index_end(x, reid__gpu_index_merge(x, was, &had), e);
    reid__address unused = r == REID_OK ? had.memory : s->memory;
    if (unused) s->device.cu.MemFree(unused);
    reid__gpu_leave(&s->device);
    had.device = s->device; /* which may be lost */
    if (r != REID_OK) *s = had;
    x->gpu_bytes = r == REID_OK ? x->gpu_bytes - kept : kept + s->pinned_bytes;
    return r;
}

static void reid__gpu_index_close(reid_index *x, int forked) {
    reid__gpu_index *s = x->gpu;
    if (!s) return;
    reid__driver *cu = &s->device.cu;
    if (!forked && s->device.context && cu->CtxPushCurrent(s->device.context) == 0) {
        if (s->stream) cu->StreamDestroy(s->stream); /* no copy is in progress */
        if (s->memory) cu->MemFree(s->memory);
        if (s->pinned) cu->MemFreeHost(s->pinned);
        if (s->module) cu->ModuleUnload(s->module);
        reid__gpu_leave(&s->device);
    }
    if (!forked) reid__device_close(&s->device);
    x->gpu = NULL, x->gpu_bytes = 0;
}

/* Whether the CPU scores what the GPU has found. */
static int reid__scored_again(const reid__search_chunk *h) { return h->d->exclude || h->x->gpu->lean; }

/* Blocks of reid_search_best for each query of the chunk: as many as fill the GPU, if few tiles bound the score of the
   k-th best unit. *reaching: of so many tiles, k have a row of a unit of their own: the rows of a group are in `shared`
   tiles at most, and the last block of rows has four tiles with padding. */
static int reid__best_parts(const reid__search_chunk *h, int k, int *reaching) {
    const reid__gpu_index *s = h->x->gpu;
    size_t shared = h->starts && h->x->largest > 1 ? (h->x->largest + 30) / 32 + 1 : 1, n = (size_t)h->n;
    size_t tiles = (size_t)k * shared + 4, parts = 2 * (size_t)s->device.multiprocessors / n;
    size_t room = (s->pinned_bytes - REID__ALIGN) / ((size_t)k * sizeof(reid__search_hit) + sizeof(int)) / n;
    int bounded = !h->starts || reid__scored_again(h) || h->top == 1; /* the best row bounds no mean from below */
    if (parts > 32) parts = 32;
    if (parts > room) parts = room;
    if (parts > REID__PART_HITS / (size_t)k) parts = REID__PART_HITS / (size_t)k;
    if (!bounded || parts < 2 || tiles > (size_t)s->arguments.tiles / 8) parts = 1;
    *reaching = parts > 1 ? (int)tiles : 0;
    return (int)parts;
}

/* Finds the k best for each query of the chunk. s->pinned receives the numbers of hits, then the hits, of each part. */
static reid_result reid__gpu_index_run(const reid__search_chunk *h, int k, reid_error *e) {
    reid__gpu_index *s = h->x->gpu;
    reid__driver *cu = &s->device.cu;
    int n = h->n, width = s->products.bn, panels = reid__ceil_div(n, width), code = 0;
    reid__search_arguments a = s->arguments;
    int blocks = a.tiles / 4, depth = (int)s->depth, rows = a.tiles * REID__TILE_ROWS;
    if (s->hopper) blocks = reid__min(blocks, reid__max(s->device.multiprocessors / panels, 1)); /* of many rows each */
    a.parts = s->parts = reid__best_parts(h, k, &a.reaching);
    size_t lists = (size_t)n * (size_t)a.parts, hits_at = reid__aligned(lists * sizeof(int));
    size_t hits = lists * (size_t)k * sizeof(reid__search_hit);
    s->hits = (const reid__search_hit *)(const void *)(s->pinned + hits_at);
    if (!h->starts) a.starts = 0;
    a.hits = a.found + hits_at, a.n = n, a.k = k;
    a.top = reid__scored_again(h) ? 1 : h->top; /* the best row bounds any mean of some rows from above */
    a.least = h->d->use_threshold ? h->d->threshold : -1e300;
    a.room = k <= 496 ? 1024 : 2048; /* k, and what two rounds of all warps can add */
    s->best.shared = (unsigned)(16 * a.room) + 2 * 4096 + 32; /* reid_search_best's list, queue and state */
    REID__TRY(reid__gpu_enter(&s->device, e));
    int value = s->bytes ? 1 : 2, box = 128 / value;
    if (s->hopper) code = reid__map_matrix(cu, &a.rows_map, a.rows, value, rows, depth, 128, box, 1);
    if (s->hopper && !code)
        code = reid__map_matrix(cu, &a.queries_map, a.queries, value, panels * width, depth, width, box, 1);
    if (!code) code = cu->MemcpyHtoDAsync(a.given, h->queries, (size_t)n * (size_t)a.dim * sizeof(float), s->stream);
    if (!code) code = reid__launch_kernel(cu, &s->queries, 0, panels * width, 1, s->stream, &a);
    if (!code) code = reid__launch_kernel(cu, &s->products, 0, (int64_t)blocks * panels, 1, s->stream, &a);
    if (!code) code = reid__launch_kernel(cu, &s->best, 0, (int64_t)n * a.parts, 1, s->stream, &a);
    if (!code) code = cu->MemcpyDtoHAsync(s->pinned, a.found, hits_at + hits, s->stream);
    int waited = cu->StreamSynchronize(s->stream); /* also after an error: no copy may still be in progress */
    reid__gpu_leave(&s->device);
    return reid__gpu_check(&s->device, code ? code : waited, "a search", e);
}

/* Takes each query's hits from the GPU, the h->cap best of its parts. It is unsettled if another unit may be better. */
static void reid__take_gpu_part(void *task, int index) {
    reid__search_chunk *h = (reid__search_chunk *)task;
    const reid__gpu_index *s = h->x->gpu;
    const void *counts = s->pinned;
    reid__candidate *c = h->candidates + index * REID__PART_HITS;
    REID_ASSERT(h->cap <= h->units);
    for (int query = index; query < h->n; query += h->x->threads) {
        size_t found = 0;
        for (int list = query * s->parts; list < (query + 1) * s->parts; list++) {
            const reid__search_hit *hit = s->hits + (size_t)list * h->cap;
            for (int i = 0; i < ((const int *)counts)[list]; i++, hit++) {
                const reid__candidate one = {hit->score, 0, h->starts ? hit->unit : hit->row, hit->row,
                                             !reid__scored_again(h)};
                c[found++] = one;
            }
        }
        if (s->parts > 1) reid__sort(c, found, sizeof *c, reid__by_score);
        if (found > h->cap) found = h->cap;
        double last = found ? c[found - 1].score : 0;
        size_t left = reid__put_hits(h, query, c, found, h->scans[index].spare);
        if (!reid__scored_again(h) || found < h->cap || h->cap == h->units) continue;
        if (left < h->k || ((h->starts || s->lean) && !(c[h->k - 1].score > last)))
            __atomic_add_fetch(&h->unsettled, 1, __ATOMIC_RELAXED);
    }
}

/* Searches on the GPU for h->cap hits of each query, four times as many if these are too few, at last on the CPU. */
static reid_result reid__search_gpu(reid__search_chunk *h, reid_error *e) {
    reid_index *x = h->x;
    const reid__gpu_index *s = x->gpu;
    const reid__search_call *call = h->calls;
    size_t most = h->units < REID__GPU_HITS ? h->units : REID__GPU_HITS, wanted = h->k;
    reid__search_call quiet = *call; /* for the CPU */
    quiet.each = NULL;
    char *block;
    h->n = 1, h->width = REID__LANES, h->cap = REID__PART_HITS; /* candidates of one query, so one list per thread */
    reid_result r = reid__search_memory(x, reid__chunk_layout(h, NULL), &block, e);
    if (r == REID_OK) reid__chunk_layout(h, block);
    if (s->lean) wanted = 4 * h->k + 64;
    else if (h->d->exclude) wanted = 2 * h->k + 16;
    h->cap = wanted < most ? wanted : most;
    for (int first = 0; first < h->given_n && r == REID_OK;) {
        size_t fit = (s->pinned_bytes - REID__ALIGN) / (h->cap * sizeof(reid__search_hit) + sizeof(int));
        reid__next_chunk(h, first, reid__min(h->given_n - first, fit < (size_t)s->most ? (int)fit : s->most));
        r = reid__gpu_index_run(h, (int)h->cap, e);
        if (r != REID_OK) break;
        h->unsettled = 0;
        reid__parallel(&x->team, reid__take_gpu_part, h, x->threads);
        if (h->unsettled && h->cap < most) {
            h->cap = 4 * h->cap < most ? 4 * h->cap : most;
            continue;
        }
        reid__search_chunk again = *h;
        again.cap = reid__candidates_for(h), again.calls = &quiet;
        if (h->unsettled) r = reid__search(&again, first, first + h->n, e);
        if (r == REID_OK && call->each) r = call->each(call->user, first, h->n);
        first += h->n;
    }
    reid__free(&x->mem, block);
    return r;
}

/* Opens a GPU if one is requested, or if one is available and pays. */
static reid_result reid__index_device(reid_index *x, const reid_desc *desc) {
    int automatic = desc->device == REID_DEVICE_AUTO;
    reid_error why;
    size_t values = x->rows.count * (size_t)x->rows.dim;
    if (desc->device == REID_DEVICE_CPU || (automatic && values < REID__GPU_PAYS)) return REID_OK;
    reid__clear_error(&why);
    const reid__block *before = x->mem.newest;
    reid_result r = reid__gpu_index_open(x, desc, &why);
    if (r == REID_OK) return r;
    int has_gpu = x->gpu && x->gpu->device.context, no_memory = has_gpu && x->gpu->device.no_memory;
    reid__gpu_index_close(x, 0);
    reid__release(&x->mem, before);
    if (!automatic || r == REID_ERR_INVALID_ARG || (r == REID_ERR_OUT_OF_MEMORY && !no_memory))
        return reid__fail(desc->error, r, "%s", why.text);
    reid__log(desc, has_gpu ? REID_LOG_WARNING : REID_LOG_INFO, r, "searching on the CPU: %.400s", why.text);
    return REID_OK;
}
#else
#define reid__index_device(x, desc)                                                                                    \
    ((desc)->device == REID_DEVICE_CUDA ? reid__fail((desc)->error, REID_ERR_DEVICE, REID__NO_CUDA) : REID_OK)
#define reid__gpu_index_close(x, forked) (void)0
#define reid__gpu_index_grow(x, was, e) REID_OK
#define reid__search_gpu(h, e) REID_OK
#endif

/* --------------------------------------------------------------------------------------------------------------------
   >>index
   The rows that an index has, to which others can be added, and the calls that search them. */
/* What checking the rows from `first` on finds: the square of the longest; the first that is not finite. */
typedef struct reid__lengths { reid_index *x; float longest; size_t first, bad; } reid__lengths;

static void reid__lengths_part(void *task, int index) {
    reid__lengths *c = (reid__lengths *)task;
    const reid_rows *rows = &c->x->rows;
    ptrdiff_t from, to;
    float square, longest = 0;
    size_t bad = SIZE_MAX;
    reid__share((ptrdiff_t)(rows->count - c->first), c->x->threads, index, &from, &to);
    for (size_t i = c->first + (size_t)from; i < c->first + (size_t)to && bad == SIZE_MAX; i++) {
        const float *row = reid__row(c->x, i, c->x->wide + (ptrdiff_t)index * rows->dim);
        c->x->kernels->dots(row, rows->dim, row, 1, &square);
        if (!reid__is_finite(square) || square > (float)(REID__LONGEST * REID__LONGEST)) bad = i;
        if (square > longest) longest = square;
    }
    REID__LOCK(&c->x->mutex);
    if (bad < c->bad) c->bad = bad;
    if (longest > c->longest) c->longest = longest;
}

/* Checks the rows from `first` on; what is left in x->wide is for those who read rows next. */
static reid_result reid__measure(reid_index *x, size_t first, reid_error *e) {
    size_t wide = ((size_t)x->threads + 1) * (size_t)x->rows.dim * sizeof(float);
    reid__lengths c = {x, 0, first, SIZE_MAX};
    x->wide = (float *)reid__alloc(&x->mem, wide);
    if (!x->wide) return reid__no_memory(e, "an index", wide);
    reid__parallel(&x->team, reid__lengths_part, &c, x->threads);
    double longest = sqrt((double)c.longest * 1.01 + x->rows.dim * 1e-36); /* allows for rounding and underflow */
    if (longest > x->longest) x->longest = longest;
    if (c.bad == SIZE_MAX) return REID_OK;
    return reid__fail(e, REID_ERR_EMBEDDING, "row %zu is not finite, or longer than 1e18", c.bad);
}

/* Sorts the rows by group, then by number: four stable counting sorts, by the bytes of the groups, lowest first. */
static reid_result reid__index_groups(reid_index *x, reid_error *e) {
    const uint32_t *groups = x->rows.groups;
    size_t count = x->rows.count, size = count * sizeof *x->order;
    uint32_t *other = (uint32_t *)reid__alloc(&x->mem, size), *order = (uint32_t *)reid__alloc(&x->mem, size);
    x->order = order, x->starts = (uint32_t *)reid__alloc(&x->mem, size + sizeof *x->starts);
    if (!other || !order || !x->starts) return reid__free(&x->mem, other), reid__no_memory(e, "groups", size);
    for (size_t i = 0; i < count; i++) order[i] = (uint32_t)i;
    for (int shift = 0; shift < 32; shift += 8) {
        size_t places[257] = {0}, i;
        for (i = 0; i < count; i++) places[(groups[i] >> shift & 255) + 1]++;
        for (i = 1; i < 257 && places[i] < count; i++) places[i] += places[i - 1];
        if (i < 257) continue; /* all have the same */
        for (i = 0; i < count; i++) other[places[groups[order[i]] >> shift & 255]++] = order[i];
        x->order = other, other = order, order = x->order;
    }
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || groups[order[i]] != groups[order[i - 1]]) x->starts[x->groups++] = (uint32_t)i;
        size_t rows = i + 1 - x->starts[x->groups - 1];
        if (rows > x->largest) x->largest = rows;
    }
    x->starts[x->groups] = (uint32_t)count;
    reid__free(&x->mem, other);
    return REID_OK;
}

/* desc: NULL for rows that an index gets later. */
static reid_result reid__check_rows(const reid_desc *desc, const reid_rows *rows, reid_error *e) {
    size_t size;
    if (desc && (desc->threads < 0 || desc->threads > 1024))
        return reid__invalid(e, "desc.threads is %d; it must be 0 to 1024", desc->threads);
    if (desc && ((int)desc->device < REID_DEVICE_AUTO || desc->device > REID_DEVICE_CUDA))
        return reid__invalid(e, "desc.device is %d, not a reid_device", (int)desc->device);
    if (rows->dim < 1 || rows->dim > REID_MAX_DIM || rows->count > UINT32_MAX - 1 ||
        !reid__mul(rows->count, (size_t)rows->dim * sizeof(float), &size))
        return reid__invalid(e, "%llu rows of %d floats; the limit is 4294967294 rows of 1 to %d",
                             (unsigned long long)rows->count, rows->dim, REID_MAX_DIM);
    if (rows->count && !rows->floats == !rows->halves)
        return reid__invalid(e, "give either rows.floats or rows.halves");
    return REID_OK;
}

static void reid__set_rows(reid_index *to, const reid_index *from) {
    to->rows = from->rows, to->order = from->order, to->starts = from->starts;
    to->groups = from->groups, to->largest = from->largest, to->longest = from->longest;
}

/* Adds the rows behind those that the index has, or leaves it as it was. */
static reid_result reid__add_rows(reid_index *x, const reid_rows *rows, reid_error *e) {
    reid_index was;
    reid__set_rows(&was, x);
    if (rows->dim != x->dim || rows->count < was.rows.count || (rows->groups != NULL) != x->has_groups ||
        (was.rows.count && !rows->halves != !was.rows.halves))
        return reid__invalid(e, "an index of %zu rows of %d cannot become one of %zu rows of %d: dim, floats or halves,"
                             " and groups or none stay as they are", was.rows.count, x->dim, rows->count, rows->dim);
    REID__TRY(reid__check_rows(NULL, rows, e));
    x->rows = *rows, x->order = x->starts = NULL, x->groups = x->largest = 0;
    reid_result r = reid__measure(x, was.rows.count, e);
    if (r == REID_OK && x->has_groups) r = reid__index_groups(x, e);
    if (r == REID_OK) r = reid__check_limit(x, 0, e);
    if (r == REID_OK && x->gpu) r = reid__gpu_index_grow(x, &was, e);
    reid__free(&x->mem, x->wide);
    reid__free(&x->mem, r == REID_OK ? was.order : x->order);
    reid__free(&x->mem, r == REID_OK ? was.starts : x->starts);
    if (r != REID_OK) reid__set_rows(x, &was);
    return r;
}

/* --- searches ----------------------------------------------------------------------------------------------------- */
/* Makes the search mutual if that pays: every row gets a deferred list, if these take no more memory than the rows. */
static reid_result reid__make_mutual(reid__search_chunk *h, reid_error *e) {
    reid_index *x = h->x;
    size_t rows = x->rows.count, bytes = rows * (h->cap * sizeof(reid__deferred_hit) + sizeof(reid__deferred_list));
    int rows_are_queries = h->given == x->rows.floats && (size_t)h->given_n == rows && !h->starts;
    if (!rows_are_queries || rows <= REID__SEARCH_CHUNK || bytes > rows * (size_t)x->rows.dim * sizeof(float) ||
        bytes > reid__memory_left(x) / 4)
        return REID_OK;
    h->deferred_lists = (reid__deferred_list *)reid__alloc(&x->mem, bytes);
    if (!h->deferred_lists) return reid__no_memory(e, "candidates", bytes);
    h->deferred = (reid__deferred_hit *)(void *)(h->deferred_lists + rows);
    reid__deferred_list none = {reid__first_limit(h, reid__score_bound(x->rows.dim, x->longest, x->longest)), 0};
    for (size_t i = 0; i < rows; i++) h->deferred_lists[i] = none;
    return REID_OK;
}

static reid_result reid__check_search(const reid_index *x, const reid__search_call *call) {
    const reid_search_desc *d = call->d;
    reid_error *e = call->error;
    if (d->k < 1 || (int)d->scoring < REID_ROWS || d->scoring > REID_GROUP_TOP)
        return reid__invalid(e, "k is %d, scoring is %d; k must be at least 1, scoring a reid_scoring", d->k,
                             (int)d->scoring);
    if (d->scoring == REID_GROUP_TOP && (d->top < 1 || d->top > REID_MAX_TOP))
        return reid__invalid(e, "top is %d; it must be 1 to %d", d->top, REID_MAX_TOP);
    if (d->scoring != REID_ROWS && !x->has_groups)
        return reid__invalid(e, "groups are searched, but rows.groups was NULL");
    if (d->use_threshold && !(d->threshold >= -1e300 && d->threshold <= 1e300))
        return reid__invalid(e, "the threshold is not a number");
    for (int q = 0; q < call->n; q++) {
        const float *query = call->queries + (ptrdiff_t)q * x->dim;
        float square;
        x->kernels->dots(query, x->dim, query, 1, &square);
        if (!(square <= (float)(REID__LONGEST * REID__LONGEST)))
            return reid__fail(e, REID_ERR_EMBEDDING, "query %d is not finite, or longer than 1e18", q);
    }
    return REID_OK;
}

/* --- calls that search at the same time --------------------------------------------------------------------------- */
/* A call waits in line while another computes. Its queries then join those of the calls behind it that want the same of
   theirs: the rows, from whose memory a search of few queries takes most of its time, are read once for all. */
static int reid__search_alike(const reid__search_call *a, const reid__search_call *b) {
    const reid_search_desc *x = a->d, *y = b->d;
    if (a->rows || b->rows || a->each || b->each || x->exclude || y->exclude) return 0;
    if (x->scoring != y->scoring || (x->scoring == REID_GROUP_TOP && x->top != y->top)) return 0;
    double least = x->use_threshold ? x->threshold : -INFINITY, other = y->use_threshold ? y->threshold : -INFINITY;
    return x->k == y->k && memcmp(&least, &other, sizeof least) == 0;
}

/* Takes the first call, and those like it, out of the line. */
static reid__search_call *reid__take_turn(reid_index *x) {
    reid__search_call *first = x->line, **end = &first->next, **at = &x->line;
    int64_t n = first->n;
    for (x->line = first->next; *at;) {
        reid__search_call *call = *at;
        if (n + call->n > REID__SEARCH_CHUNK || !reid__search_alike(first, call)) {
            at = &call->next;
            continue;
        }
        n += call->n, *at = call->next;
        *end = call, end = &call->next;
    }
    *end = NULL;
    return first;
}

/* Searches for n queries, those of one call, or of several that are alike. */
static reid_result reid__search_calls(reid_index *x, const reid__search_call *calls, const float *queries, int n,
                                      reid_error *e) {
    const reid_search_desc *d = calls->d;
    reid__search_chunk h;
    if (calls->rows) return reid__add_rows(x, calls->rows, e);
    if (!x->rows.count) return REID_OK;
    int grouped = d->scoring != REID_ROWS;
    memset(&h, 0, sizeof h);
    h.x = x, h.d = d, h.calls = calls, h.given = queries, h.given_n = n;
    h.order = grouped ? x->order : NULL, h.starts = grouped ? x->starts : NULL;
    h.units = grouped ? x->groups : x->rows.count;
    h.k = h.units < (size_t)d->k ? h.units : (size_t)d->k, h.cap = reid__candidates_for(&h);
    h.top = d->scoring == REID_GROUP_MEAN ? 0 : d->scoring == REID_GROUP_TOP ? d->top : 1;
    if (x->gpu && h.k <= REID__GPU_HITS && h.top) return reid__search_gpu(&h, e); /* a best row bounds no mean of all */
    reid_result r = reid__make_mutual(&h, e);
    if (r == REID_OK) r = reid__search(&h, 0, n, e);
    reid__free(&x->mem, h.deferred_lists);
    return r;
}

/* Searches for the queries of several calls at once. Returns 0 if that takes too much memory, or fails. */
static int reid__search_together(reid_index *x, const reid__search_call *calls) {
    size_t row = (size_t)x->rows.dim * sizeof(float), n = 0;
    char *block;
    for (const reid__search_call *c = calls; c; c = c->next) n += (size_t)c->n;
    if (reid__search_memory(x, n * row, &block, NULL) != REID_OK) return 0;
    n = 0;
    for (const reid__search_call *c = calls; c; n += (size_t)c->n, c = c->next)
        memcpy(block + n * row, c->queries, (size_t)c->n * row);
    int ok = reid__search_calls(x, calls, (const float *)(const void *)block, (int)n, NULL) == REID_OK;
    reid__free(&x->mem, block);
    return ok;
}

/* Returns when the call is done, by this thread or by another, which had its turn before. */
static reid_result reid__search_for(reid_index *x, reid__search_call *call) {
    if (x->pid != getpid()) return reid__fail(call->error, REID_ERR_FORKED, "create the index after the fork");
    REID__ENTER();
    if (!call->rows) REID__TRY(reid__check_search(x, call));
    if (!call->rows && !call->n) return REID_OK;
    pthread_mutex_lock(&x->mutex);
    reid__search_call **end = &x->line, *calls;
    while (*end) end = &(*end)->next;
    *end = call;
    while (!call->done && (x->searching || x->line != call)) pthread_cond_wait(&x->turn, &x->mutex);
    if (!call->done) {
        calls = reid__take_turn(x), x->searching = 1;
        pthread_mutex_unlock(&x->mutex);
        int together = calls->next && reid__search_together(x, calls);
        for (reid__search_call *c = calls; c; c = c->next)
            c->result = together ? REID_OK : reid__search_calls(x, c, c->queries, c->n, c->error);
        pthread_mutex_lock(&x->mutex);
        x->searching = 0;
        for (; calls; calls = calls->next) calls->done = 1;
        pthread_cond_broadcast(&x->turn);
    }
    pthread_mutex_unlock(&x->mutex);
    return call->result;
}

REID_API reid_result reid_search(reid_index *index, const float *queries, int n, const reid_search_desc *search,
                                 reid_hit *hits, int *found, reid_error *error) {
    reid__search_call call = {search, queries, n, 0, hits, found, NULL, NULL, error, REID_OK, NULL, NULL};
    reid__clear_error(error);
    if (!index || !search || n < 0 || (n && (!queries || !hits || !found)))
        return reid__invalid(error, "index, n >= 0, queries, search, hits and found are needed");
    size_t places = search->k > 0 ? (size_t)n * (size_t)search->k : 0;
    if (places) memset(hits, 0, places * sizeof *hits);
    if (n) memset(found, 0, (size_t)n * sizeof *found);
    reid_result r = reid__search_for(index, &call);
    if (r != REID_OK && places) memset(hits, 0, places * sizeof *hits);
    if (r != REID_OK && n) memset(found, 0, (size_t)n * sizeof *found);
    return r;
}

/* --- an index ----------------------------------------------------------------------------------------------------- */
static reid_result reid__index_open(reid_index *x, const reid_desc *desc) {
    reid_error *e = desc->error;
    REID__TRY(reid__kernels_choose(desc->cpu_isa, REID_FP32, &x->kernels, e));
    x->has_mutex = pthread_mutex_init(&x->mutex, NULL) == 0;
    x->has_turn = x->has_mutex && pthread_cond_init(&x->turn, NULL) == 0;
    if (!x->has_turn) return reid__fail(e, REID_ERR_SYSTEM, "could not create the mutex of an index");
    reid_result r = reid__team_start(&x->team, &x->mem, desc->threads ? desc->threads : reid__cpu_count(), desc);
    if (r != REID_OK) return reid__fail(e, r, "could not start the threads of an index: %s", reid_result_string(r));
    x->threads = x->team.size;
    REID__TRY(reid__measure(x, 0, e));
    if (x->has_groups) REID__TRY(reid__index_groups(x, e));
    REID__TRY(reid__index_device(x, desc));
    reid__free(&x->mem, x->wide);
    return reid__check_limit(x, 0, e);
}

REID_API void reid_index_destroy(reid_index *index) {
    if (!index) return;
    int forked = index->pid != getpid();
    reid__team_stop(&index->team, forked);
    reid__gpu_index_close(index, forked);
    if (index->has_turn && !forked) pthread_cond_destroy(&index->turn);
    if (index->has_mutex && !forked) pthread_mutex_destroy(&index->mutex);
    reid__mem mem = index->mem;
    reid__release(&mem, NULL);
}

REID_API reid_result reid_index_create(const reid_desc *desc, const reid_rows *rows, reid_index **out) {
    reid__mem mem;
    if (out) *out = NULL;
    if (!desc || !rows || !out) return reid__lacks(desc, "rows and out");
    reid__clear_error(desc->error);
    REID__TRY(reid__mem_init(&mem, desc));
    REID__TRY(reid__check_rows(desc, rows, desc->error));
    REID__ENTER();
    reid_index *x = (reid_index *)reid__alloc_zero(&mem, sizeof *x);
    if (!x) return reid__no_memory(desc->error, "an index", sizeof *x);
    x->mem = mem, x->rows = *rows, x->dim = rows->dim, x->has_groups = rows->groups != NULL;
    x->pid = getpid(), x->memory_limit = desc->memory_limit;
    reid_result r = reid__index_open(x, desc);
    if (r == REID_OK) *out = x;
    else reid_index_destroy(x);
    return r;
}

REID_API reid_result reid_index_grow(reid_index *index, const reid_rows *rows, reid_error *error) {
    reid__search_call call = {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, error, REID_OK, NULL, rows};
    reid__clear_error(error);
    return index && rows ? reid__search_for(index, &call) : reid__invalid(error, "index and rows are needed");
}

/* --------------------------------------------------------------------------------------------------------------------
   >>group
   Average linkage without a matrix. The mean cosine of two groups is the product of the sums of their unit rows over
   the product of their sizes. A group made of two others is no nearer to a third than the nearer of them was, so two
   groups that are each other's nearest can be joined whatever comes later, and only ties depend on the order
   (Bruynooghe 1977 calls such a linkage reducible). A cannot_link is minus infinity, which a mean inherits.

   >>search finds each group's REID__NEAR nearest ones; they become links in a heap. No other group is nearer
   than the last of them, the group's bound. The best link joins its groups if both bounds are lower. Otherwise the link
   and both groups wait until the heap is empty. Then the groups that reached their bounds are searched for again
   among the present groups. Every round joins at least the best pair, and usually most pairs. */
#define REID__NEAR 32           /* links that a search gives a group */
#define REID__NOTHING UINT32_MAX /* in `sum`: none, as a group of one row is its own sum; in `known`: no row */
#define REID__MEAN_ERROR 2.5e-7 /* exceeds the error of a product of two means in FP32: 2^-24 each, twice */
#define REID__GROUP_CHUNK 4096  /* most groups that are searched for at a time ... */
#define REID__GROUP_VALUES ((size_t)1 << 22) /* ... and most values of their means */

/* State of a group in a round. WAITING: its best link waits. BOUND: it reached its bound, or its links are sought. */
enum { REID__FREE, REID__WAITING, REID__BOUND };

/* A row in its group. The fields of a group are those of its home, its lowest row. */
typedef struct reid__grouped {
    uint32_t home, next;         /* next: the rows of a group are a ring */
    uint32_t size, place, sum;   /* rows; place of its mean in means; of its sum in sums */
    uint32_t changed;            /* value of `joins` after its last join */
    uint32_t known;              /* a row with a number in `separate_ids`; REID__NOTHING: none */
    int state;
    double bound;                /* of its scores with groups to which it has no link */
} reid__grouped;

/* Homes a < b of two groups, and their score after `joins` joins; if a group has changed since, it can only be less. */
typedef struct reid__link { double score; uint32_t a, b, joins; } reid__link;

typedef struct reid__grouping {
    const reid_group_desc *d;
    reid_desc desc;              /* for the searches */
    reid__mem mem;
    reid__grouped *rows;         /* [count] */
    uint32_t count, joins, musts, live; /* musts: joins of must_links; live: groups at the beginning of a round */
    uint32_t used, at;           /* of sums; first of the queries in asked */
    int dim;
    float *means, *sums;         /* (live, dim); (used, 2, dim): rounded to float, and the rest */
    uint32_t *starts, *enemies;  /* [count + 1], [2 cannot_links]: each row's cannot_links; or NULL */
    uint32_t *homes, *asked;     /* [live]: homes of the means; of groups that need links */
    uint32_t *chain, crowded;    /* [2 live]: the groups for reid__follow_chains, `crowded` of them, then a chain */
    reid__link *links;           /* [room]: a heap, and at the end the waiting links */
    size_t heap, waiting, room;
    float *queries;              /* (chunk, dim): means from asked[at] on */
    reid_hit *hits;              /* (REID__SEARCH_CHUNK, REID__NEAR): their hits */
    int *found, chunk;
    reid_merge *merges;          /* [count], or NULL */
} reid__grouping;

static const float *reid__group_mean(const reid__grouping *g, uint32_t home) {
    return g->means + (size_t)g->rows[home].place * (size_t)g->dim;
}

/* The sum of the unit rows of a group, in two parts; *rest is NULL if there is no second part. */
static const float *reid__group_sum(const reid__grouping *g, uint32_t home, const float **rest) {
    const float *sum = g->sums + (size_t)g->rows[home].sum * 2 * (size_t)g->dim;
    int alone = g->rows[home].sum == REID__NOTHING;
    *rest = alone ? NULL : sum + g->dim;
    return alone ? reid__group_mean(g, home) : sum;
}

/* Rounds to multiples of 2^-40, so that scores that differ only by rounding become equal. */
static double reid__round_score(double score) { return floor(score * 1099511627776.0 + 0.5) / 1099511627776.0; }

typedef double (*reid__dot)(const float *a, const float *b, int dim);
static double reid__mean_score(const reid__grouping *g, uint32_t a, uint32_t b, reid__dot dot) {
    const float *a_rest, *b_rest, *x = reid__group_sum(g, a, &a_rest), *y = reid__group_sum(g, b, &b_rest);
    double sum = dot(x, y, g->dim);
    if (a_rest) sum += dot(a_rest, y, g->dim);
    if (b_rest) sum += dot(x, b_rest, g->dim);
    return sum / ((double)g->rows[a].size * g->rows[b].size);
}

/* Products of floats are exact in double, so fused or not, the bits are the same. */
static double reid__group_score(const reid__grouping *g, uint32_t a, uint32_t b) {
    return reid__round_score(reid__mean_score(g, a, b, reid__exact_dot));
}

/* reid__exact_dot but for the order of the sum, which lets processors add several products at a time. */
static double reid__quick_dot(const float *a, const float *b, int dim) {
    double sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (; dim >= 8; dim -= 8, a += 8, b += 8)
        for (int k = 0; k < 8; k++) sum[k] += (double)a[k] * b[k];
    for (int k = 0; k < dim; k++) sum[k] += (double)a[k] * b[k];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

static int reid__are_apart(const reid__grouping *g, uint32_t a, uint32_t b) {
    uint32_t x = g->rows[a].known, y = g->rows[b].known;
    return x != REID__NOTHING && y != REID__NOTHING && g->d->separate_ids[x] != g->d->separate_ids[y];
}

/* A row of group a that has the frame of one in group b; REID__NOTHING if there is none. */
static uint32_t reid__shared_frame(const reid__grouping *g, uint32_t a, uint32_t b) {
    const uint32_t *frames = g->d->frame_ids;
    uint32_t x = a, y = b;
    if (!frames) return REID__NOTHING;
    do
        if (frames[x] != UINT32_MAX)
            do
                if (frames[x] == frames[y]) return x;
            while ((y = g->rows[y].next) != b);
    while ((x = g->rows[x].next) != a);
    return REID__NOTHING;
}

static int reid__cannot_link(const reid__grouping *g, uint32_t a, uint32_t b) {
    if (reid__are_apart(g, a, b) || reid__shared_frame(g, a, b) != REID__NOTHING) return 1;
    if (!g->starts) return 0;
    uint32_t few = g->rows[a].size < g->rows[b].size ? a : b, other = few == a ? b : a, row = few;
    do
        for (uint32_t i = g->starts[row]; i < g->starts[row + 1]; i++)
            if (g->rows[g->enemies[i]].home == other) return 1;
    while ((row = g->rows[row].next) != few);
    return 0;
}

static void reid__join(reid__grouping *g, uint32_t a, uint32_t b, double score, int must_link) {
    reid_merge merge = {a < b ? a : b, a < b ? b : a, must_link, score};
    reid__grouped *m = &g->rows[merge.a], *n = &g->rows[merge.b];
    REID_ASSERT(a != b && m->home == merge.a && n->home == merge.b && g->joins + 1 < g->count);
    REID_ASSERT(must_link || !reid__cannot_link(g, a, b));
    const float *m_rest, *n_rest, *x = reid__group_sum(g, merge.a, &m_rest), *y = reid__group_sum(g, merge.b, &n_rest);
    m->sum = m_rest ? m->sum : n_rest ? n->sum : g->used++;
    float *sum = g->sums + (size_t)m->sum * 2 * (size_t)g->dim;
    for (int k = 0; k < g->dim; k++) {
        double whole = ((double)x[k] + (m_rest ? m_rest[k] : 0)) + ((double)y[k] + (n_rest ? n_rest[k] : 0));
        sum[k] = (float)whole;
        sum[g->dim + k] = (float)(whole - (double)sum[k]);
    }
    uint32_t row = merge.b, next = n->next;
    do g->rows[row].home = merge.a;
    while ((row = g->rows[row].next) != merge.b);
    n->next = m->next, m->next = next, m->size += n->size;
    if (m->known == REID__NOTHING) m->known = n->known;
    if (n->bound > m->bound) m->bound = n->bound;
    if (g->merges) g->merges[g->joins] = merge;
    m->changed = ++g->joins;
}

/* --- rounds ------------------------------------------------------------------------------------------------------- */
/* Moves the groups' means to the front, in the order of homes. Lists groups that need links; returns their number. */
static uint32_t reid__list_groups(reid__grouping *g) {
    uint32_t asked = g->live = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        reid__grouped *m = &g->rows[i];
        if (m->home != i) continue;
        float *mean = g->means + (size_t)g->live * (size_t)g->dim;
        const float *rest, *sum = reid__group_sum(g, i, &rest);
        for (int k = 0; k < g->dim; k++) mean[k] = rest ? (float)(((double)sum[k] + rest[k]) / m->size) : sum[k];
        m->place = g->live;
        g->homes[g->live++] = i;
        m->state = m->bound >= g->d->threshold && m->state != REID__WAITING ? REID__BOUND : REID__FREE;
        if (m->state == REID__BOUND) g->asked[asked++] = i;
    }
    return asked;
}

static int reid__not_for_me(int query, size_t row, void *user) {
    const reid__grouping *g = (const reid__grouping *)user;
    uint32_t home = g->asked[g->at + (uint32_t)query], other = g->homes[row];
    return home == other || reid__cannot_link(g, home, other);
}

static reid_result reid__go_on(const reid__grouping *g) {
    if (!g->d->stop_fn || !g->d->stop_fn(g->d->stop_user)) return REID_OK;
    return reid__fail(g->desc.error, REID_ERR_CANCELLED, "stop_fn stopped the grouping");
}

/* Turns the hits of each of n groups into links, from a, the group searched for, to b. */
static reid_result reid__take_chunk(void *user, int first, int n) {
    reid__grouping *g = (reid__grouping *)user;
    double error = g->joins ? REID__MEAN_ERROR : 0;
    for (int q = 0; q < n; q++) {
        reid__link link = {0, g->asked[g->at + (uint32_t)(first + q)], 0, 0};
        reid__grouped *m = &g->rows[link.a];
        const reid_hit *hits = g->hits + (ptrdiff_t)q * REID__NEAR;
        for (int i = 0; i < g->found[q]; i++) {
            link.b = g->homes[hits[i].row];
            link.score = reid__round_score(hits[i].score + (m->changed || g->rows[link.b].changed ? error : 0));
            g->links[g->heap++] = link;
        }
        m->bound = (double)-INFINITY;
        if (g->found[q] < REID__NEAR) continue;
        m->bound = reid__round_score(hits[REID__NEAR - 1].score + error);
        if (reid__round_score(hits[0].score - error) > m->bound) continue;
        g->heap -= REID__NEAR, m->bound = (double)INFINITY; /* a search cannot tell which is nearest */
        g->chain[g->crowded++] = link.a;
    }
    return reid__go_on(g);
}

/* Searches for links of `asked` groups. Drops waiting links that will be found again, lest a group have too many. */
static reid_result reid__find_links(reid__grouping *g, uint32_t asked) {
    reid_rows rows = {g->means, NULL, g->live, g->dim, NULL};
    const reid__link *from = g->links + (g->room - g->waiting);
    for (g->heap = g->crowded = 0; g->waiting; g->waiting--, from++)
        if (g->rows[from->a].state == REID__FREE && g->rows[from->b].state == REID__FREE) g->links[g->heap++] = *from;
    reid_search_desc search = REID_INIT;
    search.k = REID__NEAR, search.use_threshold = 1, search.threshold = g->d->threshold - REID__MEAN_ERROR;
    search.exclude = reid__not_for_me, search.exclude_user = g;
    reid_index *index;
    reid_result r = reid_index_create(&g->desc, &rows, &index);
    uint32_t chunk = asked == g->live && asked <= INT_MAX ? asked : (uint32_t)g->chunk;
    for (g->at = 0; g->at < asked && r == REID_OK; g->at += chunk) {
        int n = (int)(asked - g->at < chunk ? asked - g->at : chunk);
        for (int q = 0; asked < g->live && q < n; q++)
            memcpy(g->queries + (ptrdiff_t)q * g->dim, reid__group_mean(g, g->asked[g->at + (uint32_t)q]),
                   sizeof(float) * (size_t)g->dim);
        r = reid__go_on(g);
        const float *queries = asked < g->live ? g->queries : g->means + (size_t)g->at * (size_t)g->dim;
        reid__search_call call = {&search, queries, n, 0, g->hits, g->found, reid__take_chunk, g, g->desc.error,
                                  REID_OK, NULL, NULL};
        if (r == REID_OK) r = reid__search_for(index, &call);
    }
    reid_index_destroy(index);
    return r;
}

/* The better score comes first; of equal scores the one computed longer ago, then the lower rows. */
static int reid__link_before(const reid__link *x, const reid__link *y) {
    if (x->score != y->score) return x->score > y->score;
    if (x->joins != y->joins) return x->joins < y->joins;
    return x->a != y->a ? x->a < y->a : x->b < y->b;
}

static void reid__sift(reid__link *heap, size_t count, size_t at) {
    reid__link moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && reid__link_before(&heap[child + 1], &heap[child])) child++;
        if (!reid__link_before(&heap[child], &moved)) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* Drops one of two links between the same groups; makes the others a heap. */
static void reid__order_links(reid__grouping *g) {
    size_t kept = 0;
    for (size_t i = 0; i < g->heap; i++) {
        reid__link link = g->links[i];
        if (link.a > link.b) {
            if (g->rows[link.b].state == REID__BOUND && link.score > g->rows[link.b].bound) continue;
            link.b = link.a, link.a = g->links[i].b;
        }
        g->links[kept++] = link;
    }
    g->heap = kept;
    for (size_t at = kept / 2; at-- > 0;) reid__sift(g->links, kept, at);
}

/* Whether no group without a link can be better for m than a link with this score. */
static int reid__is_nearest(reid__grouped *m, double score) {
    if (score <= m->bound) m->state = REID__BOUND;
    return m->state == REID__FREE;
}

/* Joins groups until every link has been used, or waits for the next round. */
static reid_result reid__follow_links(reid__grouping *g) {
    for (uint32_t i = 1; g->heap; i++) {
        if (i % 65536 == 0 && reid__go_on(g) != REID_OK) return REID_ERR_CANCELLED;
        reid__link link = g->links[0];
        /* Brings it up to date. Outdated links come first among equals, so if it is up to date, so are its equals. */
        uint32_t a = g->rows[link.a].home, b = g->rows[link.b].home;
        int renewed = link.joins < g->joins;
        if (a != b && (link.joins < g->rows[a].changed || link.joins < g->rows[b].changed))
            link.score = reid__group_score(g, a, b);
        link.a = a < b ? a : b, link.b = a < b ? b : a, link.joins = g->joins;
        int over = link.a == link.b || link.score < g->d->threshold || reid__cannot_link(g, link.a, link.b);
        g->links[0] = renewed && !over ? link : g->links[--g->heap];
        reid__sift(g->links, g->heap, 0);
        if (renewed || over) continue;
        reid__grouped *m = &g->rows[link.a], *n = &g->rows[link.b];
        int nearest = reid__is_nearest(m, link.score);
        if (reid__is_nearest(n, link.score) && nearest) {
            reid__join(g, link.a, link.b, link.score, 0);
            continue;
        }
        if (m->state == REID__FREE) m->state = REID__WAITING;
        if (n->state == REID__FREE) n->state = REID__WAITING;
        g->links[g->room - ++g->waiting] = link;
    }
    return REID_OK;
}

/* The nearest of all groups, of equal ones the lowest; home itself if none may be joined with it. The others may lack a
   link to this one, so their bounds rise to the score. */
static reid__link reid__look_at_all(reid__grouping *g, uint32_t home) {
    reid__link best = {(double)-INFINITY, home, home, g->joins};
    double error = 1.0 / ((uint64_t)1 << 40) + 1e-15 * g->dim; /* of rounding, and of the order of sums */
    for (uint32_t i = 0; i < g->live; i++) {
        uint32_t other = g->homes[i];
        if (other == home || g->rows[other].home != other) continue;
        double most = reid__mean_score(g, home, other, reid__quick_dot) + error;
        if (most > g->rows[other].bound) g->rows[other].bound = most;
        if (most < best.score || reid__cannot_link(g, home, other)) continue;
        double score = other < home ? reid__group_score(g, other, home) : reid__group_score(g, home, other);
        if (score > best.score) best.score = score, best.b = other;
    }
    return best;
}

/* Joins a group with more near ones than a search can distinguish. A chain leads from each group to its nearest, with
   rising scores, until two are each other's nearest (Benzecri 1982). A join takes a few looks at all groups. */
static reid_result reid__follow_chain(reid__grouping *g, uint32_t home) {
    uint32_t *chain = g->chain + g->crowded, n = 0;
    for (chain[n++] = home; n > 0;) {
        if (reid__go_on(g) != REID_OK) return REID_ERR_CANCELLED;
        reid__link best = reid__look_at_all(g, chain[n - 1]);
        if (n > 1 && best.b == chain[n - 2]) reid__join(g, best.a, best.b, best.score, 0), n -= 2;
        else if (best.score >= g->d->threshold) chain[n++] = best.b;
        else g->rows[chain[--n]].bound = best.score;
    }
    return REID_OK;
}

static int reid__by_merge(const void *a, const void *b) {
    const reid_merge *x = (const reid_merge *)a, *y = (const reid_merge *)b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

/* Those with the best scores begin, so that joins come in the order of scores but for a rounding. */
static reid_result reid__follow_chains(reid__grouping *g) {
    reid_merge *best = (reid_merge *)(void *)(g->links + (g->room - g->crowded)); /* behind the links of a round */
    for (uint32_t i = 0; i < g->crowded; i++)
        if (reid__go_on(g) != REID_OK) return REID_ERR_CANCELLED;
        else best[i].score = reid__look_at_all(g, g->chain[i]).score, best[i].a = best[i].b = g->chain[i];
    reid__sort(best, g->crowded, sizeof *best, reid__by_merge);
    for (uint32_t i = 0, before = g->joins; i < g->crowded; i++)
        if (g->rows[best[i].a].home == best[i].a && g->rows[best[i].a].changed <= before &&
            reid__follow_chain(g, best[i].a) != REID_OK) return REID_ERR_CANCELLED;
    return REID_OK;
}

static reid_result reid__group_rounds(reid__grouping *g) {
    reid_result r = REID_OK;
    for (uint32_t asked; r == REID_OK && (asked = reid__list_groups(g)) > 0;) {
        r = reid__find_links(g, asked);
        if (r == REID_OK) reid__order_links(g);
        for (uint32_t i = 0; i < asked; i++) g->rows[g->asked[i]].state = REID__FREE;
        if (r == REID_OK && (r = reid__follow_chains(g)) == REID_OK) r = reid__follow_links(g);
    }
    return r;
}

/* --- rows and constraints ----------------------------------------------------------------------------------------- */
/* Copies the rows with length 1; each becomes a group. */
static reid_result reid__unit_rows(reid__grouping *g, const reid_rows *rows) {
    for (uint32_t i = 0; i < g->count; i++) {
        size_t at = (size_t)i * (size_t)g->dim;
        float *unit = g->means + at;
        for (int k = 0; k < g->dim; k++)
            unit[k] = rows->floats ? rows->floats[at + (size_t)k] : reid__half(rows->halves[at + (size_t)k]);
        double square = reid__exact_dot(unit, unit, g->dim);
        if (!(square > 0 && square <= REID__LONGEST * REID__LONGEST))
            return reid__fail(g->desc.error, REID_ERR_EMBEDDING, "row %u is zero, not finite, or longer than 1e18", i);
        double scale = 1 / sqrt(square);
        for (int k = 0; k < g->dim; k++) unit[k] = (float)(unit[k] * scale);
        uint32_t known = g->d->separate_ids && g->d->separate_ids[i] != UINT32_MAX ? i : REID__NOTHING;
        reid__grouped alone = {i, i, 1, i, REID__NOTHING, 0, known, REID__FREE, (double)INFINITY};
        g->rows[i] = alone;
    }
    return REID_OK;
}

/* Reports the shortest path along must_links from one row to another; there must be one. */
static reid_result reid__contradiction(reid__grouping *g, uint32_t from, uint32_t to, size_t *links) {
    const uint32_t *pairs = g->d->must_link;
    uint32_t *way = g->asked, *far = g->homes; /* the next row towards `to`, and its distance in links */
    char text[1024];
    size_t used = 0;
    memset(far, 0xff, (size_t)g->count * sizeof *far);
    far[to] = 0;
    for (uint32_t round = 0; far[from] == UINT32_MAX; round++)
        for (size_t i = 0; i < 2 * g->d->must_links; i++)
            if (far[pairs[i]] == round && far[pairs[i ^ 1]] == UINT32_MAX)
                far[pairs[i ^ 1]] = round + 1, way[pairs[i ^ 1]] = pairs[i];
    for (uint32_t at = from; at != to; at = way[at], ++*links) {
        reid_merge link = {at, way[at], 1, 0};
        if (g->merges) g->merges[*links] = link;
        if (used + 16 < sizeof text) used += (size_t)snprintf(text + used, sizeof text - used, "%u - ", at);
    }
    return reid__fail(g->desc.error, REID_ERR_CONTRADICTION, "rows %u and %u must be separate, but are linked: %s%s%u",
                      from, to, text, used + 16 < sizeof text ? "" : "... - ", to);
}

/* Joins the rows of must_links, and lists each row's cannot_links. */
static reid_result reid__take_links(reid__grouping *g, size_t *links) {
    const uint32_t *must = g->d->must_link, *cannot = g->d->cannot_link;
    size_t n = 2 * g->d->cannot_links;
    for (size_t i = 0; i < 2 * g->d->must_links; i += 2) {
        uint32_t a = g->rows[must[i]].home, b = g->rows[must[i + 1]].home;
        if (reid__are_apart(g, a, b)) return reid__contradiction(g, g->rows[a].known, g->rows[b].known, links);
        uint32_t shared = a == b ? REID__NOTHING : reid__shared_frame(g, a, b), other = b;
        while (shared != REID__NOTHING && g->d->frame_ids[other] != g->d->frame_ids[shared])
            other = g->rows[other].next;
        if (shared != REID__NOTHING) return reid__contradiction(g, shared, other, links);
        if (a != b) reid__join(g, a, b, reid__group_score(g, a, b), 1);
    }
    g->musts = g->joins;
    if (!n) return REID_OK;
    g->starts = (uint32_t *)reid__alloc_zero(&g->mem, ((size_t)g->count + 2) * sizeof *g->starts);
    g->enemies = (uint32_t *)reid__alloc(&g->mem, n * sizeof *g->enemies);
    if (!g->starts || !g->enemies) return reid__no_memory(g->desc.error, "cannot_links", n * sizeof *g->enemies);
    for (size_t i = 0; i < n; i++) {
        if (g->rows[cannot[i]].home == g->rows[cannot[i ^ 1]].home)
            return reid__contradiction(g, cannot[i], cannot[i ^ 1], links);
        g->starts[cannot[i] + 2]++;
    }
    for (size_t i = 2; i < (size_t)g->count + 2; i++) g->starts[i] += g->starts[i - 1];
    for (size_t i = 0; i < n; i++) g->enemies[g->starts[cannot[i] + 1]++] = cannot[i ^ 1];
    return REID_OK;
}

/* Joins equal rows, which a search may not tell apart; not those with a must_link: their groups have others, too. */
static void reid__join_equals(reid__grouping *g) {
    reid_merge *keys = (reid_merge *)(void *)g->links; /* [count]: rows by their hashes */
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t hash = 0;
        const float *unit = reid__group_mean(g, i);
        for (int k = 0; k < g->dim; k++) hash = (hash ^ reid__bits(unit[k])) * 0x9e3779b1u + (hash >> 15);
        keys[i].a = i, keys[i].b = 0, keys[i].score = -(double)hash;
    }
    reid__sort(keys, g->count, sizeof *keys, reid__by_merge);
    for (size_t i = 1, from = 0; i < g->count; i++) {
        const reid__grouped *row = &g->rows[keys[i].a];
        if (keys[i].score != keys[from].score) from = i;
        for (size_t k = from; k < i && row->size == 1 && row->home == keys[i].a; k++) {
            uint32_t other = keys[k].a, home = g->rows[other].home;
            if (g->rows[home].changed <= g->musts && g->rows[home].size > 1) continue;
            double score = reid__group_score(g, row->home, home);
            if (score < g->d->threshold) break;
            if (!reid__cannot_link(g, row->home, home) &&
                memcmp(reid__group_mean(g, row->home), reid__group_mean(g, other), sizeof(float) * (size_t)g->dim) == 0)
                reid__join(g, home, row->home, score, 0);
        }
    }
}

static reid_result reid__group_memory(reid__grouping *g) {
    size_t n = g->count, dim = (size_t)g->dim, chunk = REID__GROUP_VALUES / dim, *limit = &g->desc.memory_limit;
    reid__carver c = {NULL, 0};
    if (chunk > REID__GROUP_CHUNK) chunk = REID__GROUP_CHUNK;
    g->chunk = (int)chunk, g->room = n * (REID__NEAR + 1);
    for (int pass = 0; pass < 2; pass++) {
        if (pass) c.base = (char *)reid__alloc(&g->mem, c.used);
        if (pass && !c.base) return reid__no_memory(g->desc.error, "groups", c.used);
        c.used = 0, g->rows = (reid__grouped *)reid__carve(&c, n, sizeof *g->rows);
        g->means = (float *)reid__carve(&c, n * dim, sizeof(float));
        g->sums = (float *)reid__carve(&c, n / 2 * dim, 2 * sizeof(float)); /* each is of two or more rows */
        g->links = (reid__link *)reid__carve(&c, g->room, sizeof *g->links);
        g->homes = (uint32_t *)reid__carve(&c, n, sizeof(uint32_t));
        g->asked = (uint32_t *)reid__carve(&c, n, sizeof(uint32_t));
        g->chain = (uint32_t *)reid__carve(&c, 2 * n, sizeof(uint32_t));
        g->queries = (float *)reid__carve(&c, chunk * dim, sizeof(float));
        g->hits = (reid_hit *)reid__carve(&c, REID__SEARCH_CHUNK * REID__NEAR, sizeof(reid_hit));
        g->found = (int *)reid__carve(&c, REID__SEARCH_CHUNK, sizeof(int));
    }
    if (*limit && *limit <= g->mem.used)
        return reid__fail(g->desc.error, REID_ERR_MEMORY_LIMIT, "%u rows take %llu bytes, and their search more",
                          g->count, (unsigned long long)g->mem.used);
    if (*limit) *limit -= g->mem.used;
    return REID_OK;
}

static reid_result reid__check_links(reid_error *e, const char *name, const uint32_t *pairs, size_t n, size_t rows) {
    if (n > UINT32_MAX / 2 || (n && !pairs))
        return reid__invalid(e, "%s is NULL, or has more than 2147483647 pairs", name);
    for (size_t i = 0; i < 2 * n; i++)
        if (pairs[i] >= rows || pairs[i] == pairs[i ^ 1])
            return reid__invalid(e, "%s %zu has rows %u and %u; it needs two different rows below %zu", name, i / 2,
                                 pairs[i & ~(size_t)1], pairs[i | 1], rows);
    return REID_OK;
}

REID_API reid_result reid_group(const reid_desc *desc, const reid_rows *rows, const reid_group_desc *group,
                                uint32_t *out, reid_merge *merges, size_t *merged) {
    reid__grouping g;
    size_t links = 0;
    if (merged) *merged = 0;
    if (!desc || !rows || !group || (rows->count && !out) || !merges != !merged)
        return reid__lacks(desc, "rows, a group, out, and both of merges and merged or neither");
    reid__clear_error(desc->error);
    memset(&g, 0, sizeof g);
    g.d = group, g.desc = *desc, g.merges = merges, g.dim = rows->dim;
    g.count = rows->count < UINT32_MAX ? (uint32_t)rows->count : 0;
    reid_error *e = desc->error;
    reid_result r = reid__mem_init(&g.mem, desc);
    if (r == REID_OK) r = reid__check_rows(desc, rows, desc->error);
    if (r == REID_OK && rows->groups) r = reid__invalid(e, "rows.groups must be NULL: reid_group finds groups");
    if (r == REID_OK && !(group->threshold >= -2 && group->threshold <= 2))
        r = reid__invalid(e, "the threshold is %g, which is not a cosine", group->threshold);
    if (r == REID_OK) r = reid__check_links(e, "must_link", group->must_link, group->must_links, rows->count);
    if (r == REID_OK) r = reid__check_links(e, "cannot_link", group->cannot_link, group->cannot_links, rows->count);
    REID__ENTER();
    if (r == REID_OK) r = reid__group_memory(&g);
    if (r == REID_OK) r = reid__unit_rows(&g, rows);
    if (r == REID_OK) r = reid__take_links(&g, &links);
    if (r == REID_OK) reid__join_equals(&g);
    if (r == REID_OK) r = reid__group_rounds(&g);
    for (uint32_t i = 0, n = 0; i < g.count; i++)
        out[i] = r != REID_OK ? 0 : g.rows[i].home == i ? n++ : out[g.rows[i].home];
    if (r == REID_OK && merges) reid__sort(merges + g.musts, g.joins - g.musts, sizeof *merges, reid__by_merge);
    if (merged) *merged = r == REID_OK ? g.joins : links; /* links: the length of a contradiction */
    reid__release(&g.mem, NULL);
    return r;
}
#endif /* REID_NO_SEARCH */

/* --------------------------------------------------------------------------------------------------------------------
   >>create
   reid_create finds a weight file's network, checks the description, and builds the plan, packed weights and lanes. */
struct reid_ctx {
    reid__mem mem;
    pid_t pid;                 /* of the process that created it, because threads and locks do not survive a fork */
    reid__plan *plan;
    reid__prep *prep;
    reid__net net;
    float *weights, *zeros;
    reid__lane *lanes;
    int lane_count, lane_threads;
    size_t lane_bytes, arena_bytes;
    struct reid__gpu *gpu;     /* NULL: the CPU computes */
    reid_ctx *fp32_fallback;   /* desc.fallback: a handle for the same network in FP32 */
    reid_saturation saturation;
    pthread_mutex_t mutex;     /* guards the queue for lanes, and `saturation` */
    pthread_cond_t turn;
    int has_locks;
    unsigned next_ticket, now_serving;
    reid_info info;
};

/* --- recognising the network of a file ---------------------------------------------------------------------------- */
static int reid__ends(const char *text, const char *suffix) {
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && strcmp(text + n - m, suffix) == 0;
}

/* What is unexpected about a tensor that the plan does not use; NULL: nothing is (classifier, counters, a head that is
   not wanted). A layer of a trunk makes the file another network's, perhaps ResNet-101's, whose first blocks fit. */
static const char *reid__unexpected(const reid_desc *desc, const char *name) {
    if (reid__ends(name, ".num_batches_tracked") || reid__starts(name, "fc.") || reid__starts(name, "classifier."))
        return NULL;
    int is_head = reid__starts(name, "reduce_layer") || reid__starts(name, "reduce_avgpool.") ||
                  reid__starts(name, "projection.");
    if (is_head && (desc->network || desc->head != REID_HEAD_AUTO)) return NULL;
    int in_trunk = reid__starts(name, "features.") || (reid__starts(name, "layer") && reid__is_digit(name[5])) ||
                   reid__starts(name, "NL_");
    if (in_trunk) return "a layer of another network?";
    return desc->allow_unused ? NULL : "desc.allow_unused accepts it";
}

static void reid__shape_text(char *out, size_t size, const size_t *shape, int ndim) {
    reid__text text = {out, size, 0};
    for (int i = 0; i < ndim; i++) reid__print(&text, "%s%llu", i ? ", " : "[", (unsigned long long)shape[i]);
    reid__print(&text, ndim ? "]" : "[]");
}

/* Finds a needed tensor; note receives what is wrong with it, if anything; NULL: nobody reads it. */
static reid_result reid__needed_find(const reid__weights *file, const reid__needed_tensor *want,
                                   const reid__tensor **found, char note[256]) {
    const reid__tensor *t = *found = reid__weights_find(file, want->name);
    char have[96], need[96];
    if (note) reid__shape_text(need, sizeof need, want->shape, want->ndim), note[0] = 0;
    if (!t) {
        if (note) snprintf(note, 256, "shape %s is needed", need);
        return REID_ERR_TENSOR_MISSING;
    }
    if (t->ndim != want->ndim || memcmp(t->shape, want->shape, (size_t)t->ndim * sizeof *t->shape) != 0) {
        reid__shape_text(have, sizeof have, t->shape, t->ndim);
        if (note) snprintf(note, 256, "shape is %s, %s is needed", have, need);
        return REID_ERR_TENSOR_SHAPE;
    }
    if (t->dtype < REID__WEIGHT_DTYPES) return REID_OK;
    if (note) snprintf(note, 256, "dtype is %s; F32, F16, BF16 or F64 is needed", reid__dtypes[t->dtype].name);
    return REID_ERR_TENSOR_DTYPE;
}

/* The result of reid__match_plan, with its first error; and the head that reid__detect has resolved. */
typedef struct reid__match {
    int wanted, matched, unexpected;
    reid_result first;
    reid_head head;
    reid__projection projection;
} reid__match;

static reid_result reid__match_error(const reid__weights *file, const reid__plan *p, reid_result code, const char *name,
                                     const char *note, reid_error *e) {
    return reid__fail(e, code, "%s: tensor %s: %s: %s (network %s)", file->path, name, reid_result_string(code), note,
                      p->arch.name);
}

/* Compares a file with a plan. `used` has one byte per tensor of the file. fn may be NULL. e: gets the first error. */
static void reid__match_plan(const reid__weights *file, const reid__plan *p, const reid_desc *desc, unsigned char *used,
                             reid_tensor_fn fn, void *user, reid__match *m, reid_error *e) {
    reid__needed_tensor wants[REID__MAX_NEEDED];
    char note[256] = "";
    m->wanted = m->matched = m->unexpected = 0, m->first = REID_OK;
    memset(used, 0, (size_t)file->count);
    for (int i = 0; i < p->op_count; i++) {
        int count = p->ops[i].seeded ? 0 : reid__needed_tensors(&p->ops[i], wants);
        for (int k = 0; k < count; k++, m->wanted++) {
            const reid__tensor *t;
            reid_result code = reid__needed_find(file, &wants[k], &t, fn || e ? note : NULL);
            if (t) used[t - file->tensors] = 1;
            if (code == REID_OK) m->matched++;
            else if (!m->first) m->first = reid__match_error(file, p, code, wants[k].name, note, e);
            reid_tensor_status status = t ? REID_TENSOR_MISMATCH : REID_TENSOR_MISSING;
            if (fn) fn(wants[k].name, code == REID_OK ? REID_TENSOR_USED : status, note, user);
        }
    }
    for (const reid__tensor *t = file->tensors; t < file->tensors + file->count; t++) {
        if (used[t - file->tensors]) continue;
        const char *name = t->name, *why = reid__unexpected(desc, name);
        if (why && !m->first) m->first = reid__match_error(file, p, REID_ERR_TENSOR_UNEXPECTED, name, why, e);
        m->unexpected += why != NULL, note[0] = 0;
        if (!why && t->ndim == 2 && t->shape[0] != 1000 && reid__ends(name, ".weight") &&
            !reid__starts(name, "projection.") && !reid__starts(name, "reduce_"))
            snprintf(note, sizeof note, "%llu wide: an embedding layer? reid convert --head %.*s takes it",
                     (unsigned long long)t->shape[0], (int)reid__min((int)strlen(name) - 7, 60), name);
        if (fn) fn(t->file_name, why ? REID_TENSOR_UNEXPECTED : REID_TENSOR_IGNORED, note, user);
    }
}

/* Resolves desc.head for one network and file: NONE, FILE or SEEDED. Without a file, AUTO takes no optional head. A
   file's projection gives the width and the activation that follows it. */
static reid_result reid__resolve_head(const reid_desc *desc, const reid__arch *arch, const reid__weights *file,
                                      reid_head *head, reid__projection *projection, reid_error *e) {
    int has_head = arch->multiscale || reid__may_project(arch);
    *head = desc->head;
    projection->width = REID__PROJECTION_DIM, projection->act = REID__LINEAR_ACT;
    const reid__tensor *t = file ? reid__weights_find(file, "projection.weight") : NULL;
    if (desc->head == REID_HEAD_AUTO) *head = arch->multiscale || (has_head && t) ? REID_HEAD_FILE : REID_HEAD_NONE;
    if ((*head == REID_HEAD_NONE && arch->multiscale) || (*head != REID_HEAD_NONE && !has_head))
        return reid__fail(e, REID_ERR_HEAD, "network %s %s", arch->name,
                          arch->multiscale ? "always has its head; resnet50 can do without"
                                           : "has no head; resnet50 can have one");
    if (*head != REID_HEAD_FILE || !t) return REID_OK; /* a missing tensor is reported later */
    const char *act = reid__weights_meta(file, "reid.head_activation");
    if (t->ndim == 2 && t->shape[0] >= 1 && t->shape[0] <= REID_MAX_DIM) projection->width = (int)t->shape[0];
    for (int i = REID__RELU; act && i <= REID__TANH; i++)
        if (strcmp(act, reid__act_names[i]) == 0) projection->act = (reid__act)i;
    if (!act || projection->act != REID__LINEAR_ACT) return REID_OK;
    return reid__fail(e, REID_ERR_HEAD, "%s: reid.head_activation is \"%.20s\"; it can be relu, silu or tanh",
                      file->path, act);
}

/* Gives a ResNet of the table a trunk, and the name that says so. */
static reid__arch reid__with_trunk(const reid__arch *arch, int layers, int ibn, int nonlocal) {
    reid__arch own = *arch;
    own.layers = layers, own.ibn = ibn, own.nonlocal = nonlocal;
    snprintf(own.name, sizeof own.name, "resnet%.7s%.7s%.7s%.20s", reid__trunk_names[0][layers],
             reid__trunk_names[1][ibn], reid__trunk_names[2][nonlocal], arch->name + 8);
    return own;
}

/* resnet50 with the trunk to which a file's tensors belong: any tensor of another trunk decides. */
static reid__arch reid__file_trunk(const reid__weights *file) {
    int layers = 0, ibn = 0, nonlocal = 0;
    for (const reid__tensor *t = file->tensors; t < file->tensors + file->count; t++) {
        if (reid__starts(t->name, "layer3.6.")) layers = reid__max(layers, 1);
        if (reid__starts(t->name, "layer2.4.")) layers = 2;
        if (strstr(t->name, ".bn1.IN.") || strstr(t->name, ".bn1.BN.")) ibn = 1;
        else if (reid__ends(t->name, ".IN.weight")) ibn = 2;
        if (reid__starts(t->name, "NL_") && reid__ends(t->name, ".theta.weight"))
            nonlocal = t->ndim > 0 && t->shape[0] == 1 ? 1 : 2;
    }
    return reid__with_trunk(&reid__archs[0], layers, ibn, layers == 2 ? 0 : nonlocal);
}

/* Finds a network by its whole name. Returns 0 if there is none. */
static int reid__arch_named(const char *name, reid__arch *out) {
    for (int i = 0; i < REID__ARCHS; i++)
        for (int trunk = 0; trunk < (reid__archs[i].family == REID__RESNET ? 27 : 1); trunk++) {
            *out = reid__archs[i];
            if (trunk / 9 == 2 && trunk % 3) continue; /* no code puts non-local blocks into a ResNet-152 */
            if (trunk) *out = reid__with_trunk(out, trunk / 9, trunk / 3 % 3, trunk % 3);
            if (strcmp(out->name, name) == 0) return 1;
        }
    return 0;
}

/* Finds the network of a file: of all tables, with the file's trunk, the fewest differences win, then the most tensors
   used (fc.0 may be a head or unused). A name without a trunk, as in the table, stands for all trunks. p receives its
   operations, for 224x224 (names and shapes do not depend on it), m the comparison with them. */
static reid_result reid__detect(const reid__weights *file, const reid_desc *desc, unsigned char *used, reid__plan *p,
                                reid__match *m, reid_error *e) {
    const char *name = desc->network ? desc->network : reid__weights_meta(file, "reid.network");
    int best = -1, best_difference = INT_MAX, best_matched = 0, fits = 0;
    reid__arch named, trunk = reid__file_trunk(file);
    if (name && !reid__arch_named(name, &named))
        return reid__fail(e, REID_ERR_UNKNOWN_NETWORK, "no network is named \"%.60s\"", name);
    for (int pass = 0; pass < 2; pass++) { /* the second pass builds the winner's plan again */
        for (int i = 0; i < (name ? 1 : REID__ARCHS); i++) {
            if (pass == 1 && i != best) continue;
            if (!name && reid__archs[i].by_name) continue;
            reid__arch arch = name ? named : reid__archs[i];
            if (arch.family == REID__RESNET && !arch.layers && !arch.ibn && !arch.nonlocal)
                arch = reid__with_trunk(&arch, trunk.layers, trunk.ibn, trunk.nonlocal);
            reid_result r = reid__resolve_head(desc, &arch, file, &m->head, &m->projection, name ? e : NULL);
            if (r != REID_OK && name) return r;
            if (r != REID_OK || !reid__plan_expand(p, &arch, 224, 224, 2, m->head, &m->projection)) continue;
            reid__match_plan(file, p, desc, used, NULL, NULL, m, pass ? e : NULL);
            int difference = m->wanted - m->matched + m->unexpected;
            if (difference < best_difference || (difference == best_difference && m->matched > best_matched))
                best_difference = difference, best_matched = m->matched, best = i, fits = m->matched * 2 >= m->wanted;
        }
        if (best < 0 || (!fits && !name))
            return reid__fail(e, REID_ERR_UNKNOWN_NETWORK, "%s: its tensors (%d) fit neither a ResNet-50 nor an "
                              "EfficientNet under torchvision's names; `reid convert` renames other dialects",
                              file->path, (int)file->count);
    }
    return REID_OK;
}

/* Checks the options that do not depend on a file. */
static reid_result reid__check_options(const reid_desc *desc) {
    reid_error *e = desc->error;
    if ((int)desc->head < REID_HEAD_AUTO || desc->head > REID_HEAD_SEEDED)
        return reid__invalid(e, "desc.head is %d, not a reid_head", (int)desc->head);
    if (desc->last_stride < 0 || desc->last_stride > 2)
        return reid__invalid(e, "desc.last_stride is %d; it can be 1 or 2", desc->last_stride);
    if (desc->batch < 0 || desc->threads < 0 || desc->lanes < 0 || desc->batch > 4096 || desc->threads > 1024 ||
        desc->lanes > 1024)
        return reid__invalid(e, "desc.batch is %d, threads %d, lanes %d; they must be 0 to 4096, 1024 and 1024",
                             desc->batch, desc->threads, desc->lanes);
    if ((int)desc->precision >= REID_PRECISION_DEFAULT && desc->precision <= REID_INT8) return REID_OK;
    return reid__invalid(e, "desc.precision is %d, not a reid_precision", (int)desc->precision);
}

/* Opens only the file, for functions that query it. */
static reid_result reid__open_file(const reid_desc *desc, reid__mem *mem, reid__weights *file) {
    reid__clear_error(desc->error);
    REID__TRY(reid__check_options(desc));
    REID__TRY(reid__mem_init(mem, desc));
    return reid__weights_open(file, desc, mem, desc->error);
}

REID_API reid_result reid_check_weights(const reid_desc *desc, reid_tensor_fn fn, void *user,
                                        char network[REID_NETWORK_NAME]) {
    reid__mem mem;
    reid__weights file;
    reid__match m;
    if (network) network[0] = 0;
    if (!desc) return REID_ERR_INVALID_ARG;
    REID__ENTER();
    reid_error *e = desc->error;
    REID__TRY(reid__open_file(desc, &mem, &file));
    reid__plan *p = (reid__plan *)reid__alloc(&mem, sizeof *p);
    unsigned char *used = (unsigned char *)reid__alloc(&mem, (size_t)file.count + 1);
    reid_result r = p && used ? reid__detect(&file, desc, used, p, &m, e) : reid__no_memory(e, "the plan", sizeof *p);
    if (r == REID_OK) {
        if (network) snprintf(network, REID_NETWORK_NAME, "%s", p->arch.name);
        if (fn) reid__match_plan(&file, p, desc, used, fn, user, &m, NULL);
        r = m.first;
    }
    reid__weights_close(&file, &mem);
    reid__release(&mem, NULL);
    return r;
}

REID_API reid_result reid_weights_metadata(const reid_desc *desc, const char *key, char *value, size_t size) {
    reid__mem mem;
    reid__weights file;
    if (value && size) value[0] = 0;
    if (!desc || !key || !value || !size) return reid__lacks(desc, "a key and room for its value");
    REID__ENTER();
    REID__TRY(reid__open_file(desc, &mem, &file));
    reid_result r = REID_OK;
    const char *text = reid__weights_meta(&file, key);
    size_t length = text ? strlen(text) : 0;
    if (length >= size) r = reid__invalid(desc->error, "the value of %s has %zu bytes", key, length);
    else if (text) memcpy(value, text, length + 1);
    reid__weights_close(&file, &mem);
    return r;
}

/* --- creating ----------------------------------------------------------------------------------------------------- */
/* State of reid_create, freed at its end. */
typedef struct reid__build {
    const reid_desc *desc;
    reid_error *e;
    reid__mem mem;                /* of everything below */
    reid__weights file;
    unsigned char *used;
    reid__loader *loaders;        /* [loader_count] */
    int loader_count;
    size_t staging_bytes, staging_each, channels; /* channels: most in a tensor */
    uint64_t (*digests)[REID__MAX_NEEDED][2];     /* [op] of its tensors */
    char ranges_for[33];          /* INT8: the fingerprint that the ranges were measured for */
    reid_result *results;         /* [op] */
    reid_ctx *ctx;
#ifndef REID_NO_CUDA
    reid__jit jit;
    reid__gpu_loader gpu_loaders[REID__COMPILERS];
    reid__address gpu_raw;        /* of all loaders */
#endif
} reid__build;

static unsigned long long reid__double_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

/* Hashes a text that states everything an embedding depends on, one fact a line: see FINGERPRINT. bare: as in FP32 and
   without flip, raw and latency, which identifies the network for ranges. */
static void reid__fingerprint(const reid__build *b, int bare, char out[33]) {
    const reid_ctx *ctx = b->ctx;
    int int8 = !bare && b->desc->precision == REID_INT8;
    const reid__plan *p = ctx->plan;
    const reid__prep *prep = ctx->prep;
    reid__digest d;
    uint64_t hash[2];
    reid__digest_init(&d);
    reid__print_digest(&d, "reid fingerprint 1\nnetwork %s\nlast_stride %d\nhead %s\n", p->arch.name, p->last_stride,
                       ctx->info.head);
    if (strcmp(ctx->info.head, "seeded") == 0)
        reid__print_digest(&d, "seed %llu\n", (unsigned long long)b->desc->head_seed);
    if (p->projection.act != REID__LINEAR_ACT)
        reid__print_digest(&d, "activation %s\n", reid__act_names[p->projection.act]);
    reid__print_digest(&d, "input %d %d\nresize %d\nfilter %s\norder %s\nscale %016llx\n", p->height, p->width,
                       prep->resize_edge, prep->preset.filter == REID__BILINEAR ? "bilinear" : "bicubic",
                       prep->preset.bgr ? "bgr" : "rgb", reid__double_bits(prep->preset.scale));
    for (int c = 0; c < 3; c++)
        reid__print_digest(&d, "mean %016llx std %016llx\n", reid__double_bits(prep->preset.mean[c]),
                           reid__double_bits(prep->preset.std[c]));
    reid__print_digest(&d, "flip %d\nraw %d\n", !bare && ctx->info.flip, !bare && ctx->info.raw);
    if (!bare && ctx->info.latency) reid__print_digest(&d, "latency 1\n");
    for (int i = 0; i < p->op_count; i++) {
        reid__needed_tensor wants[REID__MAX_NEEDED];
        char shape[96];
        int count = reid__needed_tensors(&p->ops[i], wants);
        for (int k = 0; k < count; k++) {
            reid__shape_text(shape, sizeof shape, wants[k].shape, wants[k].ndim);
            reid__print_digest(&d, "%s %s %016llx%016llx\n", wants[k].name, shape,
                               (unsigned long long)b->digests[i][k][0], (unsigned long long)b->digests[i][k][1]);
        }
    }
    if (int8) reid__print_digest(&d, ctx->info.fallback ? "int8\nfallback 1\n" : "int8\n");
    for (int i = 0; i < p->op_count && int8; i++)
        if (reid__makes_bytes(p->buffers, &p->ops[i]))
            reid__print_digest(&d, "%s %016llx\n", p->ops[i].name,
                               reid__double_bits((double)p->buffers[p->ops[i].out].range));
    reid__digest_final(&d, hash);
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)hash[0], (unsigned long long)hash[1]);
}

/* Packs one operation for the device that will compute. */
static reid_result reid__pack_one(reid__build *b, int loader, int op, reid_error *e) {
    const reid_ctx *ctx = b->ctx;
#ifndef REID_NO_CUDA
    if (ctx->gpu) {
        REID__TRY(reid__gpu_enter(&ctx->gpu->device, e));
        reid_result r = reid__gpu_pack_op(&b->gpu_loaders[loader], op, b->digests[op], e);
        reid__gpu_leave(&ctx->gpu->device);
        return r;
    }
#endif
    return reid__pack_op(&b->loaders[loader], &ctx->plan->ops[op], ctx->weights, b->digests[op], e);
}

static void reid__pack_part(void *task, int index) {
    reid__build *b = (reid__build *)task;
    for (int i = index; i < b->ctx->plan->op_count; i += b->loader_count)
        b->results[i] = reid__pack_one(b, index, i, NULL);
}

/* Packs every operation on all threads, and reports the first operation's error. In INT8 it then checks that the ranges
   were measured for this network; flip and raw do not matter. */
static reid_result reid__pack_all(reid__build *b) {
    const reid__plan *p = b->ctx->plan;
    char own[33];
    reid__parallel(&b->ctx->lanes[0].team, reid__pack_part, b, b->loader_count);
    for (int i = 0; i < p->op_count; i++) {
        if (b->results[i] == REID_OK) continue;
        reid_result again = reid__pack_one(b, 0, i, b->e); /* again, for the message */
        if (again != REID_OK) return again;
        return reid__fail(b->e, b->results[i], "operation %s: %s", p->ops[i].name, reid_result_string(b->results[i]));
    }
    if (b->desc->precision != REID_INT8) return REID_OK;
    reid__fingerprint(b, 1, own);
    if (strcmp(own, b->ranges_for) == 0) return REID_OK;
    return reid__fail(b->e, REID_ERR_RANGES, "%s: made for fingerprint %s, but this network, with its preset and size, "
                      "has %s", b->desc->ranges, b->ranges_for, own);
}

static size_t reid__widest(const reid__plan *p) {
    int most = 1;
    for (int i = 0; i < p->buffer_count; i++) most = reid__max(most, p->buffers[i].c);
    return (size_t)most;
}

/* Floats that AMX may read past an arena or a block. */
static size_t reid__floats_behind(const reid__plan *p, const reid__kernels *k) {
    if (!k->narrow.gather) return 0;
    return REID__AMX_BEHIND * (reid__widest(p) / (size_t)reid__per_word(k->element) + REID__STEP_BYTES / 4);
}

/* Floats of `scratch.block` and entries of `scratch.rows` for one thread. */
static void reid__block_sizes(const reid__plan *p, const reid__kernels *k, size_t *floats, size_t *rows) {
    *floats = REID__BLOCK_FLOATS, *rows = REID__BLOCK_POINTERS;
    for (const reid__op *op = p->ops; op < p->ops + p->op_count; op++) {
        const reid__gemm *gemm = reid__gemm_for(k, op);
        int pixels = op->fused ? op->ow * reid__ring_lines(p, op + 1) : gemm->mr;
        size_t c = (size_t)p->buffers[op->in].c, need = c * (size_t)gemm->mr;
        size_t entries = (size_t)op->kh * (size_t)op->kw * (size_t)pixels;
        if (op->winograd)
            need = REID__WINOGRAD_FLOATS + REID__LANES * (size_t)(REID__POINTS / 3 * reid__winograd_block((int)c, k)) +
                   6 * c * (size_t)k->nr;
        if (reid__is_narrow(op) && gemm->gather) {
            size_t tile = reid__narrow_depth(op, reid__is_stem(p, op)) * (size_t)gemm->mr;
            need = tile > REID__GATHERED ? tile : REID__GATHERED;
        }
        if (reid__scales_weights(op)) need = (size_t)op->ic * (size_t)k->nr;
        if (op->kind == REID__SQUEEZE) need = c + (size_t)reid__padded(op->hidden);
        if (op->kind == REID__NONLOCAL) need = (c + (size_t)op->oh * (size_t)op->ow) * REID__LANES;
        if (op->kind == REID__DEPTHWISE) {
            size_t ring = (size_t)op->iw * (size_t)reid__ring_lines(p, op); /* pixels */
            need = (size_t)reid__ring_row(op, k->nr) * (size_t)(reid__ring_depth(p, op) + 1) + ring * (size_t)k->nr;
            if (op > p->ops && op[-1].fused && reid__is_narrow(op - 1)) need += reid__narrow_depth(op - 1, 0) * ring;
        }
        if (need > *floats) *floats = need;
        if (entries > *rows) *rows = entries;
    }
    *floats += reid__floats_behind(p, k);
}

/* Sets the pointers of a thread's memory; c->base may be NULL. With a GPU only resizing needs memory. */
static void reid__thread_layout(const reid_ctx *ctx, reid__thread_memory *s, reid__carver *c) {
    const reid__plan *p = ctx->plan;
    if (!ctx->gpu) {
        size_t floats, rows;
        reid__block_sizes(p, ctx->net.kernels, &floats, &rows);
        s->rows = (const void **)reid__carve(c, rows, sizeof *s->rows);
        s->block = (float *)reid__carve(c, floats, sizeof *s->block);
        s->pixels = (uint8_t *)reid__carve(c, (size_t)p->height * (size_t)p->width, 3);
    }
    s->prep = reid__carve(c, reid__prep_scratch(ctx->prep, p->height), 1);
    if (!ctx->gpu) s->prep_apart = reid__carve(c, reid__prep_scratch(ctx->prep, p->height), 1);
}

static void reid__stop(reid_ctx *ctx, int forked) {
    for (int i = 0; ctx->lanes && i < ctx->lane_count; i++) reid__team_stop(&ctx->lanes[i].team, forked);
    if (ctx->gpu) reid__gpu_close(ctx->gpu, forked);
}

/* Writes the preset in effect (reid__preset_text) to `text` [256], and builds the plan for its input size. */
static reid_result reid__make_plan(reid__plan *p, reid__prep *prep, const reid_desc *desc, const reid__arch *arch,
                                   const char *in_file, int last_stride, reid_head head,
                                   const reid__projection *projection, char *text, reid_error *e) {
    reid__preset preset;
    if (desc->precision == REID_INT8 && !reid__has_int8(arch))
        return reid__fail(e, REID_ERR_PRECISION, "%s is not computed in INT8; only ResNets without instance norm "
                          "and non-local blocks and with their first ReLU are", arch->name);
    if (!reid__preset_text(desc->preset, in_file, arch->preset, text, REID__PRESET_TEXT))
        return reid__fail(e, REID_ERR_UNKNOWN_PRESET, "preset \"%.80s...\" is longer than %d characters", text,
                          REID__PRESET_TEXT - 1);
    reid_result r = reid__preset_read(text, &preset, e);
    size_t n = strlen(text), size = REID__PRESET_TEXT - n;
    if (r == REID_OK && desc->height && snprintf(text + n, size, " size=%dx%d", desc->height, desc->width) >= (int)size)
        r = reid__fail(e, REID_ERR_UNKNOWN_PRESET, "preset \"%.80s...\" is too long", text);
    if (r == REID_OK) r = reid__prep_init(prep, &preset, desc->height, desc->width, e);
    if (r != REID_OK || reid__plan_build(p, arch, prep->height, prep->width, last_stride, head, projection)) return r;
    return reid__fail(e, REID_ERR_INPUT_SIZE, "%d x %d is too small for %s", prep->height, prep->width, arch->name);
}

/* INT8: reads the ranges from `file`, one scalar under the name of each operation whose output is stored in 8 bits. */
static reid_result reid__take_ranges(reid__build *b, const reid__weights *file) {
    reid__plan *p = b->ctx->plan;
    char note[256];
    size_t taken = 0;
    for (int i = 0; i < p->op_count; i++) {
        const reid__op *op = &p->ops[i];
        float *range = &p->buffers[op->out].range;
        const reid__tensor *t;
        reid__needed_tensor want;
        if (op->kind == REID__MAXPOOL) *range = p->buffers[op->in].range;
        if (!reid__makes_bytes(p->buffers, op)) continue;
        reid__needed_add(&want, op->name, "", 0, 0, 0, 0, 0);
        reid_result r = reid__needed_find(file, &want, &t, note);
        if (r != REID_OK) return reid__weights_fail(file, b->e, r, "range %s: %s", op->name, note);
        REID__TRY(reid__weights_read(file, t, 0, 1, range, b->e));
        if (!(*range >= 1e-30f && *range <= 1e30f))
            return reid__weights_fail(file, b->e, REID_ERR_RANGES, "range %s is %g; it must be positive", op->name,
                                      (double)*range);
        taken++;
    }
    for (size_t i = 0, k; i < file->count && taken < file->count; i++) {
        for (k = 0; k < (size_t)p->op_count; k++)
            if (reid__makes_bytes(p->buffers, &p->ops[k]) && strcmp(p->ops[k].name, file->tensors[i].name) == 0) break;
        if (k == (size_t)p->op_count)
            return reid__weights_fail(file, b->e, REID_ERR_TENSOR_UNEXPECTED, "range %s: %s has no such operation",
                                      file->tensors[i].file_name, p->arch.name);
    }
    return REID_OK;
}

static reid_result reid__read_ranges(reid__build *b) {
    reid__weights file;
    reid_desc desc = *b->desc;
    desc.weights = desc.ranges, desc.weights_data = NULL;
    REID__TRY(reid__weights_open(&file, &desc, &b->ctx->mem, b->e));
    const char *made_for = reid__weights_meta(&file, "reid.fingerprint");
    snprintf(b->ranges_for, sizeof b->ranges_for, "%s", made_for ? made_for : "");
    reid_result r = made_for ? reid__take_ranges(b, &file)
                             : reid__weights_fail(&file, b->e, REID_ERR_RANGES, "no reid.fingerprint in its metadata; "
                                                  "`reid calibrate --int8` writes it");
    reid__weights_close(&file, &b->ctx->mem);
    return r;
}

/* Determines network, head, preset and input size, from the description and the file. */
static reid_result reid__choose_network(reid__build *b) {
    reid_ctx *ctx = b->ctx;
    const reid_desc *desc = b->desc;
    reid__match m;
    const char *in_file = reid__weights_meta(&b->file, "reid.preset");
    const char *stride = reid__weights_meta(&b->file, "reid.last_stride");
    REID__TRY(reid__detect(&b->file, desc, b->used, ctx->plan, &m, b->e));
    REID__TRY(m.first);
    int last_stride = desc->last_stride ? desc->last_stride : 2;
    if (!desc->last_stride && stride) {
        if (strcmp(stride, "1") != 0 && strcmp(stride, "2") != 0)
            return reid__invalid(b->e, "%s: reid.last_stride is \"%.20s\"; it can be 1 or 2", b->file.path, stride);
        last_stride = stride[0] - '0';
    }
    REID__TRY(reid__make_plan(ctx->plan, ctx->prep, desc, &ctx->plan->arch, in_file, last_stride, m.head, &m.projection,
                              ctx->info.preprocessing, b->e));
    ctx->prep->lines = ctx->net.kernels->lines;
    reid__element element = desc->precision == REID_INT8 ? REID__ELEMENT_INT8 : ctx->net.kernels->element;
    if (element != REID__ELEMENT_FP32) reid__plan_narrow(ctx->plan, element);
    /* The input of INT8 is whole numbers, levels minus reid__mean_level, so padding is up to half a level off. */
    for (int i = 0; i < 3 * 256 && element == REID__ELEMENT_INT8; i++)
        ctx->prep->lut[i / 256][i % 256] = (float)(i % 256 - reid__mean_level(&ctx->prep->preset, i / 256));
    for (const reid__tensor *t = b->file.tensors; desc->allow_unused && t < b->file.tensors + b->file.count; t++)
        if (!b->used[t - b->file.tensors])
            reid__log(desc, REID_LOG_INFO, REID_ERR_TENSOR_UNEXPECTED, "tensor %s is not used", t->file_name);
    snprintf(ctx->info.head, sizeof ctx->info.head, "%s",
             m.head == REID_HEAD_NONE ? "none" : m.head == REID_HEAD_FILE ? "file" : "seeded");
    return element == REID__ELEMENT_INT8 ? reid__read_ranges(b) : REID_OK;
}

#define REID__CPU_BATCH 8 /* images that share one reading of late weights */

static reid_result reid__limit_fail(const reid__build *b, size_t need) {
    const reid__plan *p = b->ctx->plan;
    return reid__fail(b->e, REID_ERR_MEMORY_LIMIT, "memory_limit is %zu bytes; %s at %dx%d needs %zu",
                      b->desc->memory_limit, p->arch.name, p->height, p->width, need);
}

/* Bytes of a lane's activations; SIZE_MAX: too many. Late buffers that are not carried over reuse early arenas. */
static size_t reid__activation_bytes(const reid__plan *p, int slots, int batch) {
    size_t early, late, carried = p->carried_floats * sizeof(float) * (size_t)batch;
    if (!reid__mul(p->early_floats * sizeof(float), (size_t)slots, &early) ||
        !reid__mul(p->late_floats * sizeof(float), (size_t)batch, &late) || early > SIZE_MAX - carried) return SIZE_MAX;
    return early + carried > late ? early + carried : late;
}

static size_t reid__fallback_bytes(const reid_ctx *ctx) {
    return ctx->fp32_fallback ? ctx->fp32_fallback->info.total_bytes : 0;
}

/* Chooses the smallest batch of full speed. memory_limit shrinks it, and may leave only one early arena. */
static reid_result reid__choose_batch(reid__build *b) {
    reid_ctx *ctx = b->ctx;
    const reid__plan *p = ctx->plan;
    size_t lanes = (size_t)ctx->lane_count, threads = (size_t)ctx->lane_threads, limit = b->desc->memory_limit;
    size_t bookkeeping = 65536 + lanes * threads * 1024; /* generous room for small arrays */
    size_t behind = reid__floats_behind(p, ctx->net.kernels) * sizeof(float);
    size_t fixed = bookkeeping + ctx->mem.used + b->mem.used + p->weight_floats * sizeof(float) + b->staging_bytes;
    fixed += lanes * (ctx->lane_bytes + behind) + reid__fallback_bytes(ctx);
    int batch = reid__max(REID__CPU_BATCH, ctx->lane_threads), slots = ctx->lane_threads;
    if (b->desc->batch) batch = reid__min(batch, b->desc->batch);
    if (batch < slots) slots = 1;
    if (limit) {
        size_t left = limit > fixed ? (limit - fixed) / lanes : 0; /* for one lane */
        if (left < reid__activation_bytes(p, slots, slots)) slots = 1;
        while (batch > slots && left < reid__activation_bytes(p, slots, batch)) batch--;
        size_t need = reid__activation_bytes(p, slots, batch);
        if (left < need) return reid__limit_fail(b, fixed + need * lanes);
    }
    ctx->arena_bytes = reid__activation_bytes(p, slots, batch);
    if (ctx->arena_bytes > SIZE_MAX - behind)
        return reid__fail(b->e, REID_ERR_OUT_OF_MEMORY, "a batch of %d is larger than the address space", batch);
    ctx->arena_bytes += behind, ctx->net.batch = batch, ctx->net.slots = slots;
    return REID_OK;
}

static reid_result reid__alloc_staging(reid__build *b) {
    const reid_ctx *ctx = b->ctx;
    size_t threads = (size_t)b->loader_count, ops = (size_t)ctx->plan->op_count;
    char *staging = (char *)reid__alloc(&b->mem, b->staging_bytes);
    b->loaders = (reid__loader *)reid__alloc(&b->mem, threads * sizeof *b->loaders);
    b->digests = (uint64_t(*)[REID__MAX_NEEDED][2])reid__alloc_zero(&b->mem, ops * sizeof *b->digests);
    b->results = (reid_result *)reid__alloc(&b->mem, ops * sizeof *b->results);
    if (!staging || !b->loaders || !b->digests || !b->results)
        return reid__no_memory(b->e, "staging", b->staging_bytes);
    for (size_t i = 0; i < threads; i++) {
        reid__loader *l = &b->loaders[i];
        l->file = &b->file, l->seed = b->desc->head_seed;
        l->factors = (double *)(void *)(staging + i * b->staging_each);
        l->vectors = (float *)(l->factors + b->channels), l->rows = l->vectors + 4 * b->channels;
        l->kernels = ctx->net.kernels, l->buffers = ctx->plan->buffers, l->preset = &ctx->prep->preset;
    }
    return REID_OK;
}

static reid_result reid__check_precision(reid_precision precision, reid_error *e) {
    if (REID__HAS_NARROW || (precision != REID_BF16 && precision != REID_INT8)) return REID_OK;
    return reid__fail(e, REID_ERR_LEFT_OUT, "reid.h was compiled with REID_NO_NARROW: no bf16 and no INT8");
}

static void reid__chip_name(char *out, size_t size) {
    snprintf(out, size, "unknown CPU");
#if defined(__x86_64__)
    unsigned r[13] = {0}; /* 48 characters and the final 0 */
    for (unsigned i = 0; i < 3; i++) reid__cpuid(0x80000002u + i, 0, r + 4 * i);
    const char *name = (const char *)r + strspn((const char *)r, " ");
    if (*name) snprintf(out, size, "%s", name);
#elif defined(__aarch64__)
    if (!reid__read_text("/proc/device-tree/model", out, size)) snprintf(out, size, "ARM CPU"); /* a board's name */
#endif
}

static void reid__fill_info(reid__build *b) {
    reid_ctx *ctx = b->ctx;
    const reid__plan *p = ctx->plan;
    const reid__preset *preset = &ctx->prep->preset;
    reid_info *info = &ctx->info;
    static const char precisions[3][5] = {"fp32", "bf16", "int8"}; /* by reid__element */
    info->version = REID_VERSION;
#ifdef __OPTIMIZE__
    info->optimized = 1;
#else
    reid__log(b->desc, REID_LOG_WARNING, REID_WARN_NOT_OPTIMISED, "%s: use -O2",
              reid_result_string(REID_WARN_NOT_OPTIMISED));
#endif
    snprintf(info->network, sizeof info->network, "%s", p->arch.name);
    snprintf(info->preset, sizeof info->preset, "%s", preset->name);
    info->head_seed = strcmp(info->head, "seeded") == 0 ? b->desc->head_seed : 0;
    info->height = p->height, info->width = p->width, info->resize_edge = ctx->prep->resize_edge;
    info->scale = preset->scale, info->bgr = preset->bgr;
    snprintf(info->filter, sizeof info->filter, "%s", preset->filter == REID__BILINEAR ? "bilinear" : "bicubic");
    memcpy(info->mean, preset->mean, sizeof info->mean), memcpy(info->std, preset->std, sizeof info->std);
    info->last_stride = p->last_stride, info->dim = p->dim;
    info->batch = ctx->net.batch, info->lanes = ctx->lane_count, info->threads = ctx->lanes[0].team.size;
    info->weight_bytes = p->weight_floats * sizeof(float);
    info->arena_bytes = (size_t)ctx->lane_count * (ctx->arena_bytes + ctx->lane_bytes);
    snprintf(info->device, sizeof info->device, "cpu");
    reid__chip_name(info->chip, sizeof info->chip);
    snprintf(info->isa, sizeof info->isa, "%s", ctx->net.kernels->name);
    snprintf(info->precision, sizeof info->precision, "%s", precisions[ctx->net.kernels->element]);
#ifndef REID_NO_CUDA
    const reid__gpu *g = ctx->gpu;
    if (g) {
        snprintf(info->device, sizeof info->device, "cuda:%d", g->device.index % 1000);
        snprintf(info->chip, sizeof info->chip, "%s", g->device.name);
        snprintf(info->isa, sizeof info->isa, "sm_%d", g->device.arch % 1000);
        snprintf(info->precision, sizeof info->precision, g->plan.int8 ? "int8" : g->plan.bf16 ? "bf16"
                 : g->plan.half ? "fp16" : "fp32");
        info->weight_bytes = g->plan.weights;
        info->arena_bytes = (size_t)g->lane_count * (g->lane_device + g->lane_pinned + ctx->lane_bytes);
    }
#endif
#ifndef REID_NO_VECTORS
    const char *forced = getenv("REID_CPU_ISA");
    if (strcmp(info->isa, "scalar") == 0 && b->desc->cpu_isa == REID_ISA_AUTO && !(forced && *forced))
        reid__log(b->desc, REID_LOG_WARNING, REID_WARN_SCALAR, "%s: %s, %s", reid_result_string(REID_WARN_SCALAR),
                  info->chip, info->precision);
#endif
    for (int i = 0; i < p->op_count; i++)
        info->macs += reid__op_macs(&p->ops[i]), info->parameters += reid__op_parameters(&p->ops[i]);
    reid__fingerprint(b, 0, info->fingerprint);
}

/* Creates the lanes' part on the host: teams, and the memory of their threads. */
static reid_result reid__create_lanes(reid__build *b) {
    reid_ctx *ctx = b->ctx;
    int threads = ctx->lane_threads, counts = !ctx->gpu && b->desc->precision == REID_INT8;
    ctx->lanes = (reid__lane *)reid__alloc_zero(&ctx->mem, (size_t)ctx->lane_count * sizeof *ctx->lanes);
    if (!ctx->lanes) return reid__no_memory(b->e, "lanes", (size_t)ctx->lane_count * sizeof *ctx->lanes);
    for (reid__lane *lane = ctx->lanes; lane < ctx->lanes + ctx->lane_count; lane++) {
        lane->arena = (float *)reid__alloc(&ctx->mem, ctx->arena_bytes);
        reid__carver c = {(char *)reid__alloc(&ctx->mem, ctx->lane_bytes), 0};
        lane->scratch = (reid__thread_memory *)reid__alloc_zero(&ctx->mem, (size_t)threads * sizeof *lane->scratch);
        if (counts) lane->clipped = (uint32_t *)reid__alloc(&ctx->mem, (size_t)ctx->net.batch * sizeof *lane->clipped);
        if (!lane->arena || !c.base || !lane->scratch || (counts && !lane->clipped))
            return reid__no_memory(b->e, "activations", ctx->arena_bytes + ctx->lane_bytes);
        for (int i = 0; i < threads; i++) reid__thread_layout(ctx, &lane->scratch[i], &c);
        reid_result r = reid__team_start(&lane->team, &ctx->mem, threads, b->desc);
        if (r != REID_OK) return reid__fail(b->e, r, "cannot set up the threads of a lane: %s", reid_result_string(r));
        if (lane->team.size < threads)
            reid__log(b->desc, REID_LOG_WARNING, REID_ERR_SYSTEM, "%d of %d threads started", lane->team.size, threads);
    }
    return REID_OK;
}

/* Computes the bytes of a lane's threads and of the loaders' staging memory, with checked arithmetic. */
static reid_result reid__size_lanes(reid__build *b) {
    reid_ctx *ctx = b->ctx;
    size_t rows;
    reid__carver c = {NULL, 0};
    reid__thread_memory one;
    b->loader_count = ctx->lane_threads;
    reid__loader_sizes(ctx->plan, ctx->net.kernels->nr, &rows, &b->channels);
#ifndef REID_NO_CUDA
    if (ctx->gpu) rows = REID__CHUNK, b->loader_count = reid__min(b->loader_count, REID__COMPILERS);
#endif
    b->staging_each = reid__aligned(b->channels * (sizeof(double) + 4 * sizeof(float)) + rows * sizeof(float));
    reid__thread_layout(ctx, &one, &c);
    if (reid__mul(b->staging_each, (size_t)b->loader_count, &b->staging_bytes) &&
        reid__mul(c.used, (size_t)ctx->lane_threads, &ctx->lane_bytes)) return REID_OK;
    return reid__fail(b->e, REID_ERR_OUT_OF_MEMORY, "%d threads need more memory than can be addressed",
                      ctx->lane_threads);
}

/* why: CUDA was tried and cannot be used; or NULL. */
static reid_result reid__create_cpu(reid__build *b, const char *why) {
    reid_ctx *ctx = b->ctx;
    size_t bytes = ctx->plan->weight_floats * sizeof(float);
    if (b->desc->precision == REID_FP16)
        return reid__fail(b->e, REID_ERR_PRECISION, "the CPU computes in FP32, bf16 or INT8%s%s",
                          why ? ", and CUDA cannot be used: " : "", why ? why : "");
    ctx->lane_count = b->desc->lanes ? b->desc->lanes : 1;
    REID__TRY(reid__size_lanes(b));
    REID__TRY(reid__choose_batch(b));
    ctx->weights = (float *)reid__alloc(&ctx->mem, bytes);
    ctx->zeros = (float *)reid__alloc_zero(&ctx->mem, reid__widest(ctx->plan) * sizeof(float));
    if (!ctx->weights || !ctx->zeros) return reid__no_memory(b->e, "weights", bytes);
    REID__TRY(reid__create_lanes(b));
    REID__TRY(reid__alloc_staging(b));
    REID__TRY(reid__pack_all(b));
    ctx->net.plan = ctx->plan, ctx->net.prep = ctx->prep, ctx->net.weights = ctx->weights, ctx->net.zeros = ctx->zeros;
    reid__fill_info(b);
    return REID_OK;
}

#ifndef REID_NO_CUDA
/* Sets *half: 0 for FP32, 1 for FP16, also in INT8 for values that are not bytes, 2 for bf16. */
static reid_result reid__gpu_precision(const reid_desc *desc, int arch, int *half, reid_error *e) {
    *half = desc->precision == REID_BF16 ? 2 : desc->precision != REID_FP32;
    if ((desc->precision != REID_INT8 && *half != 2) || arch >= 80) return REID_OK;
    return reid__fail(e, REID_ERR_PRECISION, "%s needs a GPU from Ampere (sm_80) on; this one is sm_%d",
                      *half == 2 ? "bf16" : "INT8", arch);
}

/* Rounds desc.batch to a power of two, and halves it until memory_limit suffices. */
static reid_result reid__gpu_batch(reid__build *b) {
    reid_ctx *ctx = b->ctx;
    reid__gpu *g = ctx->gpu;
    size_t lanes = (size_t)ctx->lane_count, limit = b->desc->memory_limit, need;
    size_t fixed = 65536 + lanes * ((size_t)ctx->lane_threads * 256 + ctx->lane_bytes); /* small arrays; threads */
    fixed += ctx->mem.used + b->mem.used + b->staging_bytes + g->plan.weights + reid__fallback_bytes(ctx);
    fixed += (size_t)b->loader_count * (g->plan.packing + REID__FACTORS);
    for (g->plan.batch = reid__graph_batch(b->desc->batch ? b->desc->batch : REID__GPU_BATCH);; g->plan.batch /= 2) {
        reid__gpu_lane_cut(g, &g->lanes[0]);
        need = fixed + lanes * (g->lane_device + g->lane_pinned);
        if (!limit || need <= limit) return REID_OK;
        if (g->plan.batch == 1) break;
    }
    return reid__limit_fail(b, need);
}

/* Allocates device memory for the packed weights and for packing, and creates a stream for each loader. */
static reid_result reid__gpu_weights_begin(reid__build *b) {
    reid__gpu *g = b->ctx->gpu;
    reid__driver *cu = &g->device.cu;
    const reid__prep *prep = b->ctx->prep;
    int code = cu->MemAlloc(&g->weights, g->plan.weights + sizeof prep->lut);
    if (code) g->weights = 0;
    if (!code) code = cu->MemAlloc(&b->gpu_raw, (size_t)b->loader_count * (g->plan.packing + REID__FACTORS));
    g->lut = g->weights + g->plan.weights;
    for (int i = 0; i < b->loader_count && !code; i++) {
        reid__gpu_loader *l = &b->gpu_loaders[i];
        l->g = g, l->from = &b->loaders[i];
        l->factors = b->gpu_raw + (size_t)i * (g->plan.packing + REID__FACTORS), l->raw = l->factors + REID__FACTORS;
        code = cu->StreamCreate(&l->stream, REID__STREAM_APART);
    }
    void *stream = b->gpu_loaders[0].stream;
    if (!code) code = cu->MemsetD8Async(g->weights, 0, g->plan.weights, stream);
    if (!code) code = cu->MemcpyHtoDAsync(g->lut, prep->lut, sizeof prep->lut, stream);
    if (!code) code = cu->StreamSynchronize(stream); /* before the other loaders begin */
    return reid__gpu_check(&g->device, code, "weights", b->e);
}

/* Does everything that needs the context: modules, weights, lanes. */
static reid_result reid__gpu_fill(reid__build *b) {
    reid__gpu *g = b->ctx->gpu;
    reid__driver *cu = &g->device.cu;
    /* Whether launches may overlap: from sm_90 on chips can order them; from CUDA 12.3 on graphs keep this order. */
    int overlap = b->jit.arch >= 90 && g->device.version >= 12030 && cu->TensorMapEncodeIm2col &&
                  strcmp(reid__env("REID_PDL"), "0") != 0;
    REID__TRY(reid__gpu_enter(&g->device, b->e));
    reid_result r = reid__gpu_modules(g, &b->jit, overlap, b->e);
    if (r == REID_OK) r = reid__gpu_weights_begin(b);
    if (r == REID_OK) r = reid__pack_all(b);
    for (int i = 0; i < b->loader_count; i++) /* frees the memory of packing before the lanes need theirs */
        if (b->gpu_loaders[i].stream) cu->StreamDestroy(b->gpu_loaders[i].stream);
    if (b->gpu_raw) cu->MemFree(b->gpu_raw);
    g->overlap = overlap; /* only now: kernels that pack do not wait */
    g->sync = strcmp(reid__env("REID_SYNC"), "1") == 0;
    if (r == REID_OK) r = reid__gpu_lanes(g, b->desc, b->e);
    reid__gpu_leave(&g->device);
    return r;
}

static reid_result reid__create_cuda(reid__build *b) {
    reid_ctx *ctx = b->ctx;
    int half;
    reid__gpu *g = ctx->gpu = (reid__gpu *)reid__alloc_zero(&ctx->mem, sizeof *g);
    if (!g) return reid__no_memory(b->e, "the GPU's plan", sizeof *g);
    REID__TRY(reid__device_open(&g->device, b->desc, b->e));
    REID__TRY(reid__gpu_precision(b->desc, g->device.arch, &half, b->e));
    REID__TRY(reid__jit_init(&b->jit, &b->mem, b->desc, g->device.arch, g->device.version, b->e));
    g->lane_count = ctx->lane_count = b->desc->lanes ? b->desc->lanes : 2;
    g->lanes = (reid__gpu_lane *)reid__alloc_zero(&ctx->mem, (size_t)ctx->lane_count * sizeof *g->lanes);
    if (!g->lanes) return reid__no_memory(b->e, "lanes", (size_t)ctx->lane_count * sizeof *g->lanes);
    int wgmma = half ? reid__has_wgmma(&b->jit) : 0, maps = g->device.cu.TensorMapEncodeIm2col != NULL;
    if (wgmma && !maps)
        reid__log(b->desc, REID_LOG_WARNING, REID_OK, "the driver has no cuTensorMapEncodeIm2col: convolutions use "
                  "the instructions of older chips");
    reid__gpu_plan_init(&g->plan, ctx->plan, ctx->prep, half, maps ? wgmma : 0, ctx->info.flip, ctx->info.raw,
                        ctx->info.latency && (maps || g->device.arch < 90)); /* maps come with clusters */
    const char *tile = reid__env("REID_TILE");
    g->plan.tile = atoi(tile), g->plan.tiles = *tile ? NULL : reid__tiles_read(&b->jit);
    REID__TRY(reid__size_lanes(b));
    REID__TRY(reid__gpu_batch(b));
    REID__TRY(reid__gpu_programs(&g->plan, &b->jit, b->e));
    g->plan.tiles = NULL; /* it is freed with b->jit */
    REID__TRY(reid__jit_build(&b->jit, ctx->lane_threads, b->e));
    REID__TRY(reid__create_lanes(b));
    REID__TRY(reid__alloc_staging(b));
    REID__TRY(reid__gpu_fill(b));
    ctx->net.batch = g->plan.batch;
    reid__fill_info(b);
    reid__log(b->desc, REID_LOG_INFO, REID_OK, "computing on GPU %d, %s (sm_%d), in %s", g->device.index,
              g->device.name, g->device.arch, ctx->info.precision);
    return REID_OK;
}

/* Uses CUDA if it is requested or available. REID_DEVICE_AUTO uses the CPU for bf16, and falls back to it if the GPU or
   its kernels fail, but not if the weights are at fault. */
static reid_result reid__create_on_device(reid__build *b) {
    reid_device device = b->desc->device;
    reid_ctx *ctx = b->ctx;
    reid_error why, *e = b->e;
    if (device == REID_DEVICE_CPU || ctx->net.kernels->element == REID__ELEMENT_BF16) return reid__create_cpu(b, NULL);
    const reid__block *before = ctx->mem.newest;
    if (device == REID_DEVICE_AUTO) b->e = &why;
    reid__clear_error(b->e);
    reid_result r = reid__create_cuda(b);
    b->e = e;
    if (r == REID_OK || device == REID_DEVICE_CUDA) return r;
    int gpu_fault = r == REID_ERR_DEVICE || r == REID_ERR_NO_KERNELS || r == REID_ERR_KERNEL_COMPILE ||
                    r == REID_ERR_PRECISION || /* INT8 on an old chip */
                    r == REID_ERR_GPU || (r == REID_ERR_OUT_OF_MEMORY && ctx->gpu && ctx->gpu->device.no_memory);
    if (!ctx->lanes) /* so far, files are the kernels' text and pack */
        gpu_fault |= r == REID_ERR_FILE_OPEN || r == REID_ERR_FILE_READ || r == REID_ERR_KERNEL_PACK;
    int has_gpu = ctx->gpu && ctx->gpu->device.context;
    reid__jit_free(&b->jit); /* undoes everything, for the CPU to take its place */
    reid__stop(ctx, 0);
    reid__release(&ctx->mem, before);
    ctx->lanes = NULL, ctx->gpu = NULL;
    if (!gpu_fault) return reid__fail(e, r, "%s", why.text);
    reid__log(b->desc, has_gpu ? REID_LOG_WARNING : REID_LOG_INFO, r, "computing on the CPU: %.400s", why.text);
    return reid__create_cpu(b, why.text);
}
#else
static reid_result reid__create_on_device(reid__build *b) {
    if (b->desc->device == REID_DEVICE_CUDA)
        return reid__fail(b->e, REID_ERR_DEVICE, "CUDA was requested, but " REID__NO_CUDA);
    return reid__create_cpu(b, NULL);
}
#endif

/* Checks the description's device and precision; chooses instruction set and threads; then opens the file. */
static reid_result reid__create(reid__build *b) {
    const reid_desc *desc = b->desc;
    reid_ctx *ctx = b->ctx;
    int has_mutex = pthread_mutex_init(&ctx->mutex, NULL) == 0;
    ctx->has_locks = has_mutex && pthread_cond_init(&ctx->turn, NULL) == 0;
    if (has_mutex && !ctx->has_locks) pthread_mutex_destroy(&ctx->mutex);
    if (!ctx->has_locks) return reid__fail(b->e, REID_ERR_SYSTEM, "cannot create a mutex or a condition variable");
    if ((int)desc->device < REID_DEVICE_AUTO || desc->device > REID_DEVICE_CUDA)
        return reid__invalid(b->e, "desc.device is %d, not a reid_device", (int)desc->device);
    REID__TRY(reid__check_precision(desc->precision, b->e));
    reid_precision precision = desc->device == REID_DEVICE_CUDA ? REID_FP32 : desc->precision;
    if (desc->precision == REID_INT8 && !desc->ranges)
        return reid__fail(b->e, REID_ERR_RANGES, "desc.ranges is missing: `reid calibrate --int8` measures them on "
                          "your crops");
    if (desc->precision != REID_INT8 && desc->ranges) return reid__invalid(b->e, "desc.ranges is only for REID_INT8");
    if (desc->fallback && desc->precision != REID_INT8)
        return reid__invalid(b->e, "desc.fallback is only for REID_INT8");
    ctx->lane_threads = desc->threads ? desc->threads : reid__cpu_count();
    REID__TRY(reid__kernels_choose(desc->cpu_isa, precision, &ctx->net.kernels, b->e));
    REID__TRY(reid__weights_open(&b->file, desc, &b->mem, b->e));
    b->used = (unsigned char *)reid__alloc(&b->mem, (size_t)b->file.count + 1);
    ctx->plan = (reid__plan *)reid__alloc_zero(&ctx->mem, sizeof *ctx->plan);
    ctx->prep = (reid__prep *)reid__alloc(&ctx->mem, sizeof *ctx->prep);
    if (!b->used || !ctx->plan || !ctx->prep) return reid__no_memory(b->e, "the plan", sizeof *ctx->plan);
    REID__TRY(reid__choose_network(b));
    return reid__create_on_device(b);
}

static reid_result reid__create_handle(const reid_desc *desc, reid_ctx *fp32_fallback, reid_ctx **out) {
    reid__mem mem;
    reid__build b;
    reid_memory memory;
    *out = NULL;
    memset(&b, 0, sizeof b);
    b.desc = desc, b.e = desc->error;
    reid__clear_error(b.e);
    REID__TRY(reid__check_options(desc));
    REID__TRY(reid__mem_init(&mem, desc));
    b.mem = mem, b.ctx = (reid_ctx *)reid__alloc_zero(&mem, sizeof *b.ctx);
    if (!b.ctx) return reid__no_memory(b.e, "the handle", sizeof *b.ctx);
    b.ctx->mem = mem, b.ctx->pid = getpid(), b.ctx->fp32_fallback = fp32_fallback;
    b.ctx->info.flip = desc->flip != 0, b.ctx->info.raw = desc->raw != 0;
    b.ctx->info.latency = desc->latency != 0, b.ctx->info.fallback = desc->fallback != 0;
    reid_result r = reid__create(&b);
    reid__jit_free(&b.jit);
    reid__weights_close(&b.file, &b.mem);
    reid__release(&b.mem, NULL);
    if (r == REID_OK && reid_memory_report(b.ctx, &memory) == REID_OK) b.ctx->info.total_bytes = memory.total;
    if (r == REID_OK) *out = b.ctx;
    else b.ctx->fp32_fallback = NULL, reid_destroy(b.ctx);
    return r;
}

#define REID__AGAIN 8 /* the largest batch of recomputed images: they are few */

static void reid__log_again(reid_log_level level, reid_result id, const char *message, void *user) {
    if (level == REID_LOG_WARNING)
        reid__log((const reid_desc *)user, level, id, "in FP32, for desc.fallback: %.400s", message);
}

/* Creates the handle. With desc.fallback another one, in FP32, is created first, because its memory counts against the
   limit; its one lane serves all lanes of the handle. */
static reid_result reid__create_both(const reid_desc *desc, reid_ctx **out) {
    reid_ctx *fp32_fallback = NULL;
    reid_desc own = *desc, asked = *desc;
    const reid__kernels *k;
    reid_result r = REID_OK;
    if (desc->fallback && desc->precision == REID_INT8 && desc->ranges) {
        own.precision = REID_FP32, own.ranges = NULL, own.fallback = 0;
        own.lanes = 1, own.log_fn = reid__log_again, own.log_user = &asked;
        /* The set that matches INT8's, as REID_CPU_ISA may name one that has no FP32. An unknown one is refused later,
           with its name. FP32 may have a better one than INT8's scalar code: NEON. */
        if (reid__kernels_choose(desc->cpu_isa, REID_INT8, &k, NULL) == REID_OK && strcmp(k->name, "scalar") != 0)
            own.cpu_isa = strcmp(k->name, "avx2") == 0 ? REID_ISA_AVX2 : REID_ISA_AVX512;
        own.batch = own.memory_limit ? 1 : own.batch && own.batch < REID__AGAIN ? own.batch : REID__AGAIN;
        r = reid__create_handle(&own, NULL, &fp32_fallback);
    }
    if (r == REID_OK) r = reid__create_handle(desc, fp32_fallback, out);
    if (r != REID_OK) reid_destroy(fp32_fallback);
    return r;
}

REID_API reid_result reid_create(const reid_desc *desc, reid_ctx **out) {
    if (out) *out = NULL;
    if (!desc || !out) return reid__lacks(desc, "out");
    REID__ENTER();
    reid_result r = reid__create_both(desc, out);
    if (r == REID_OK && (*out)->fp32_fallback && !(*out)->gpu != !(*out)->fp32_fallback->gpu) {
        reid_desc cpu = *desc;
        cpu.device = REID_DEVICE_CPU;
        reid__log(desc, REID_LOG_WARNING, REID_ERR_DEVICE, "computing on the CPU: the GPU can run only %s, but "
                  "desc.fallback needs INT8 and FP32 on one device", (*out)->gpu ? "INT8" : "FP32");
        reid_destroy(*out);
        *out = NULL, r = reid__create_both(&cpu, out);
    }
    return r;
}

REID_API void reid_destroy(reid_ctx *ctx) {
    if (!ctx) return;
    REID__ENTER();
    reid_destroy(ctx->fp32_fallback);
    int forked = ctx->pid != getpid();
    reid__stop(ctx, forked);
    if (ctx->has_locks && !forked) pthread_cond_destroy(&ctx->turn), pthread_mutex_destroy(&ctx->mutex);
    reid__mem mem = ctx->mem; /* a copy, because freeing updates it */
    reid__release(&mem, NULL);
}

/* --------------------------------------------------------------------------------------------------------------------
   >>public
   The functions of a handle: reid_embed and its variants, the queries, GPUs and their kernels, timing. */
/* Waits for its turn and for a lane; first come, first served. */
static reid__lane *reid__lane_take(reid_ctx *ctx) {
    REID__LOCK(&ctx->mutex);
    unsigned ticket = ctx->next_ticket++;
    int i = 0;
    while (ticket != ctx->now_serving) pthread_cond_wait(&ctx->turn, &ctx->mutex);
    while (ctx->lanes[i].busy)
        if (++i == ctx->lane_count) i = 0, pthread_cond_wait(&ctx->turn, &ctx->mutex);
    ctx->lanes[i].busy = 1, ctx->now_serving++;
    pthread_cond_broadcast(&ctx->turn);
    return &ctx->lanes[i];
}

/* Clears *taken, the mark of a lane or of memory to resize in, and wakes the waiting threads. */
static void reid__lane_release(reid_ctx *ctx, int *taken) {
    REID__LOCK(&ctx->mutex);
    REID_ASSERT(*taken);
    *taken = 0;
    pthread_cond_broadcast(&ctx->turn);
}

/* L2 normalisation in double, unless `raw`. Returns 0 for a vector without a direction. */
static int reid__normalise(float *v, int dim, int raw) {
    if (reid__first_not_finite(v, (size_t)dim) < (size_t)dim) return 0;
    if (raw) return 1;
    double square = reid__exact_dot(v, v, dim), scale = 1.0 / sqrt(square);
    if (!(square > 0)) return 0;
    for (int i = 0; i < dim; i++) v[i] = (float)(v[i] * scale);
    return 1;
}

/* Normalises rows, which a GPU has done already. In INT8 it reports to the caller which images exceeded the ranges,
   counts them, and recomputes them, neighbours together. */
static reid_result reid__take_rows(const reid__call *call, const uint32_t *clipped, int first, int n) {
    reid_ctx *ctx = call->ctx;
    const double most = clipped ? reid__most_clipped(ctx->plan, 1 + ctx->info.flip) : 0;
    const size_t dim = (size_t)ctx->plan->dim;
    const char *hint = "; activations beyond 65504 overflow in FP16: precision bf16 (from sm_80 on) and fp32 hold them";
    int64_t count = 0;
    int run;
    for (int i = 0; clipped && i < n; i++) {
        count += clipped[i] > most;
        if (call->saturated) call->saturated[first + i] = clipped[i] > most;
    }
    if (clipped) {
        REID__LOCK(&ctx->mutex);
        ctx->saturation.images += n, ctx->saturation.saturated += count;
        if (ctx->fp32_fallback) ctx->saturation.recomputed += count;
    }
    for (int i = 0; i < n; i += run) {
        float *row = call->out + (size_t)(first + i) * dim;
        const reid_image *images = call->images + first + i;
        reid_result r = REID_ERR_EMBEDDING;
        run = 1;
        if (ctx->fp32_fallback && clipped[i] > most) {
            while (i + run < n && clipped[i + run] > most) run++;
            r = reid_embed(ctx->fp32_fallback, images, run, row);
            while (r == REID_ERR_EMBEDDING && run > 1)
                r = reid_embed(ctx->fp32_fallback, images, --run, row); /* until the bad image is the one after */
        } else if (reid__normalise(row, ctx->plan->dim, ctx->gpu || ctx->info.raw)) r = REID_OK;
        if (r != REID_OK)
            return reid__fail(call->e, r, "image %d: %s%s", first + i, reid_result_string(r),
                              r == REID_ERR_EMBEDDING && strcmp(ctx->info.precision, "fp16") == 0 ? hint : "");
    }
    return REID_OK;
}

static reid_result reid__cpu_embed(const reid__call *call, reid__lane *lane) {
    const reid_ctx *ctx = call->ctx;
    for (int at = 0; at < call->n; at += ctx->net.batch) {
        int count = reid__min(ctx->net.batch, call->n - at);
        float *out = call->out + (size_t)at * (size_t)ctx->plan->dim;
        reid__run(&ctx->net, lane, call->images + at, count, ctx->info.flip, out);
        REID__TRY(reid__take_rows(call, lane->clipped, at, count));
    }
    return REID_OK;
}

static reid_result reid__check_call(const reid_ctx *ctx, const reid_image *images, int n, const void *out,
                                    reid_error *e) {
    reid_box roi;
    if (!ctx || n < 0 || (n > 0 && (!images || !out)))
        return reid__invalid(e, "a handle, n >= 0, images and out are needed");
    if (ctx->pid != getpid())
        return reid__fail(e, REID_ERR_FORKED, "created in process %ld, called in %ld: create the handle after the fork",
                          (long)ctx->pid, (long)getpid());
    for (int i = 0; i < n; i++) {
        REID__TRY(reid__image_check(&images[i], i, &roi, e));
        if (images[i].format == REID_PREPARED && (roi.width != ctx->prep->width || roi.height != ctx->prep->height))
            return reid__fail(e, REID_ERR_IMAGE, "image %d: it is prepared for %d x %d pixels, but the network takes "
                              "%d x %d", i, roi.width, roi.height, ctx->prep->width, ctx->prep->height);
    }
    return REID_OK;
}

REID_API reid_result reid_embed_saturated(reid_ctx *ctx, const reid_image *images, int n, float *out,
                                          unsigned char *saturated, reid_error *error) {
    REID__ENTER();
    reid__clear_error(error);
    if (saturated && n > 0) memset(saturated, 0, (size_t)n);
    reid_result r = reid__check_call(ctx, images, n, out, error);
    if (r == REID_OK && n > 0) {
        const reid__call call = {ctx, images, n, out, saturated, error};
        reid__lane *lane = reid__lane_take(ctx);
        if (ctx->gpu) r = reid__gpu_embed(ctx->gpu, &ctx->gpu->lanes[lane - ctx->lanes], lane, &call);
        else r = reid__cpu_embed(&call, lane);
        reid__lane_release(ctx, &lane->busy);
    }
    if (saturated && n > 0 && r != REID_OK) memset(saturated, 0, (size_t)n);
    if (r != REID_OK && ctx && out && n > 0) memset(out, 0, (size_t)n * (size_t)ctx->plan->dim * sizeof *out);
    return r;
}

REID_API reid_result reid_embed_ex(reid_ctx *ctx, const reid_image *images, int n, float *out, reid_error *error) {
    return reid_embed_saturated(ctx, images, n, out, NULL, error);
}

REID_API reid_result reid_embed(reid_ctx *ctx, const reid_image *images, int n, float *out) {
    return reid_embed_saturated(ctx, images, n, out, NULL, NULL);
}

/* Waits for memory to resize in: on a CPU images are prepared while lanes compute, one for each of their threads. */
static reid__thread_memory *reid__memory_take(reid_ctx *ctx) {
    int threads = ctx->lane_threads, i = 0;
    REID__LOCK(&ctx->mutex);
    while (ctx->lanes[i / threads].scratch[i % threads].preparing)
        if (++i == ctx->lane_count * threads) i = 0, pthread_cond_wait(&ctx->turn, &ctx->mutex);
    reid__thread_memory *s = &ctx->lanes[i / threads].scratch[i % threads];
    s->preparing = 1;
    return s;
}

REID_API reid_result reid_preprocess(reid_ctx *ctx, const reid_image *image, uint8_t *out, reid_error *error) {
    REID__ENTER();
    reid_box roi;
    reid__clear_error(error);
    reid_result r = reid__check_call(ctx, image, 1, out, error);
    if (r == REID_OK) r = reid__image_check(image, 0, &roi, error);
    if (r == REID_OK && ctx->gpu) {
        reid__lane *lane = reid__lane_take(ctx);
        r = reid__gpu_preprocess(ctx->gpu, &ctx->gpu->lanes[lane - ctx->lanes], lane, image, out, error);
        reid__lane_release(ctx, &lane->busy);
    } else if (r == REID_OK) {
        reid__thread_memory *s = reid__memory_take(ctx);
        reid__prep_rows(ctx->prep, image, &roi, 0, 0, ctx->prep->height, out, s->prep_apart);
        reid__lane_release(ctx, &s->preparing);
    }
    if (r != REID_OK && ctx && out) memset(out, 0, (size_t)ctx->prep->height * (size_t)ctx->prep->width * 3);
    return r;
}

/* --- queries ------------------------------------------------------------------------------------------------------ */
REID_API int reid_dim(const reid_ctx *ctx) { return ctx ? ctx->plan->dim : 0; }

/* Clears the answer, and checks handle and process. */
static reid_result reid__ask(const reid_ctx *ctx, void *answer, size_t size) {
    if (answer) memset(answer, 0, size);
    if (!ctx || !answer) return REID_ERR_INVALID_ARG;
    return ctx->pid == getpid() ? REID_OK : REID_ERR_FORKED;
}

REID_API reid_result reid_query_desc(const reid_ctx *ctx, reid_info *info) {
    REID__TRY(reid__ask(ctx, info, sizeof *info));
    *info = ctx->info;
    return REID_OK;
}

REID_API reid_result reid_memory_report(const reid_ctx *ctx, reid_memory *memory) {
    REID__TRY(reid__ask(ctx, memory, sizeof *memory));
    if (ctx->fp32_fallback) reid_memory_report(ctx->fp32_fallback, memory);
    memory->host += ctx->mem.used;
#ifndef REID_NO_CUDA
    const reid__gpu *g = ctx->gpu;
    if (g) {
        size_t lanes = (size_t)g->lane_count;
        memory->pinned = lanes * g->lane_pinned, memory->device_weights = g->plan.weights + sizeof ctx->prep->lut;
        memory->device_activations = lanes * g->lane_activations;
        memory->device_staging = lanes * (g->lane_device - g->lane_activations);
    }
#endif
    memory->total = memory->host + memory->pinned + memory->device_weights + memory->device_activations +
                    memory->device_staging;
    return REID_OK;
}

REID_API reid_result reid_query_saturation(const reid_ctx *ctx, reid_saturation *saturation) {
    REID__TRY(reid__ask(ctx, saturation, sizeof *saturation));
    REID__LOCK((pthread_mutex_t *)(uintptr_t)&ctx->mutex); /* casts away const */
    *saturation = ctx->saturation;
    return REID_OK;
}

/* --- descriptions by name ----------------------------------------------------------------------------------------- */
/* The kinds of fields: a whole number of one of three types, a pointer, or one word per value of an enum, in order. */
#define REID__DESC_FIELDS(NUMBER, COUNT, SEED, POINTER, WORDS)                                                         \
    POINTER(weights) POINTER(weights_data) COUNT(weights_size) POINTER(network) POINTER(preset) NUMBER(height)         \
    NUMBER(width) NUMBER(last_stride) WORDS(head, "auto none file seeded") SEED(head_seed) NUMBER(flip) NUMBER(raw)    \
    NUMBER(latency) NUMBER(allow_unused) WORDS(device, "auto cpu cuda") NUMBER(device_index)                           \
    WORDS(precision, "default fp32 fp16 bf16 int8") POINTER(ranges) NUMBER(fallback)                                   \
    WORDS(cpu_isa, "auto scalar avx2 avx512 avx512_bf16 amx_bf16 avx512_vnni amx_int8 neon") NUMBER(batch)             \
    NUMBER(threads) NUMBER(lanes) COUNT(memory_limit) POINTER(kernels_src) POINTER(kernels_path) POINTER(kernels_pack) \
    POINTER(nvrtc_path) POINTER(cache_dir) POINTER(alloc_fn) POINTER(free_fn) POINTER(alloc_user) POINTER(log_fn)      \
    POINTER(log_user) POINTER(parallel_fn) POINTER(parallel_user) POINTER(error)

/* The index of `value` in `words`, or -1. */
static int reid__word(const char *words, const char *value) {
    size_t length = strlen(value);
    for (int i = 0; *words; i++) {
        size_t n = strcspn(words, " ");
        if (n == length && memcmp(words, value, n) == 0) return i;
        words += n + (words[n] == ' ');
    }
    return -1;
}

REID_API reid_result reid_set(reid_desc *desc, const char *key, const void *value, reid_error *error) {
#define REID__AT(field, words, limit) {#field, words, offsetof(reid_desc, field), sizeof((reid_desc *)0)->field, limit},
#define REID__NUMBER(field) REID__AT(field, NULL, INT_MAX)
#define REID__COUNT(field) REID__AT(field, NULL, SIZE_MAX)
#define REID__SEED(field) REID__AT(field, NULL, UINT64_MAX)
#define REID__POINTER(field) REID__AT(field, NULL, 0)
#define REID__WORDS(field, words) REID__AT(field, words, 0)
    static const struct { const char *name, *words; size_t at, size; uint64_t limit; } fields[] = {
        REID__DESC_FIELDS(REID__NUMBER, REID__COUNT, REID__SEED, REID__POINTER, REID__WORDS)};
    const char *text = (const char *)value;
    size_t i = 0, count = sizeof fields / sizeof fields[0];
    reid__clear_error(error);
    if (!desc || !key) return reid__invalid(error, "reid_set needs a description and a key");
    while (i < count && strcmp(fields[i].name, key) != 0) i++;
    if (i == count) return reid__invalid(error, "reid_desc has no field \"%.64s\"", key);
    char *field = (char *)desc + fields[i].at;
    if (!value) memset(field, 0, fields[i].size);
    else if (fields[i].words) {
        int word = reid__word(fields[i].words, text);
        if (word < 0) return reid__invalid(error, "%s is \"%.64s\"; it can be: %s", key, text, fields[i].words);
        memcpy(field, &word, sizeof word);
    } else if (fields[i].limit == 0) memcpy(field, &value, sizeof value);
    else {
        char *end = NULL;
        REID__ENTER(); /* keeps errno */
        errno = 0;
        int minus = fields[i].limit == INT_MAX && *text == '-';
        uint64_t number = text[minus] >= '0' && text[minus] <= '9' ? strtoull(text + minus, &end, 10) : 0;
        if (!end || *end || errno || number > fields[i].limit)
            return reid__invalid(error, "%s is \"%.64s\"; it must be a whole number, at most %llu", key, text,
                                 (unsigned long long)fields[i].limit);
        int narrow = minus ? -(int)number : (int)number;
        memcpy(field, fields[i].size == sizeof narrow ? (void *)&narrow : (void *)&number, fields[i].size);
    }
    return REID_OK;
}

REID_API size_t reid_size(const char *type) {
#define REID__SIZE(type) {#type, sizeof(type)}
    static const struct { const char *name; size_t size; } types[] = {
        REID__SIZE(reid_error), REID__SIZE(reid_box), REID__SIZE(reid_image), REID__SIZE(reid_desc),
        REID__SIZE(reid_info), REID__SIZE(reid_op_info), REID__SIZE(reid_memory), REID__SIZE(reid_gpu_info),
        REID__SIZE(reid_saturation), REID__SIZE(reid_rows), REID__SIZE(reid_search_desc), REID__SIZE(reid_hit),
        REID__SIZE(reid_group_desc), REID__SIZE(reid_merge), REID__SIZE(reid_request), REID__SIZE(reid_queue_desc),
        REID__SIZE(reid_queue_stats)};
    for (size_t i = 0; type && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, type) == 0) return types[i].size;
    return 0;
}

REID_API int reid_op_count(const reid_ctx *ctx) { return ctx ? ctx->plan->op_count : 0; }

/* The last operation before `index` that writes a buffer; REID_OP_NONE if none does. */
static int reid__writer(const reid__plan *p, int index, int buffer) {
    for (int i = index - 1; i >= 0 && buffer != REID__NONE; i--)
        if (p->ops[i].out == buffer || p->ops[i].sums == buffer) return i;
    return REID_OP_NONE;
}

REID_API reid_result reid_query_op(const reid_ctx *ctx, int index, reid_op_info *info) {
    static const char kinds[][12] = {"conv", "depthwise", "maxpool",  "squeeze",  "pool",
                                     "linear", "instance",  "nonlocal", "normalise"};
    reid_result r = reid__ask(ctx, info, sizeof *info);
    if (info) info->name = info->kind = info->activation = info->norm = info->kernel = "";
    if (r != REID_OK) return r;
    if (index < 0 || index >= ctx->plan->op_count) return REID_ERR_INVALID_ARG;
    const reid__op *op = &ctx->plan->ops[index];
    info->name = op->name, info->kind = kinds[op->kind], info->activation = reid__act_names[op->act];
    info->in_h = op->ih, info->in_w = op->iw, info->in_c = op->ic;
    info->out_h = op->oh, info->out_w = op->ow, info->out_c = op->oc;
    info->kernel_h = op->kh, info->kernel_w = op->kw, info->stride = op->stride;
    info->pad_y = op->pad_y, info->pad_x = op->pad_x;
    info->norm = op->bn, info->epsilon = op->bn[0] || op->normed ? op->bn_eps : 0;
    info->norm_from = op->bn_from, info->normed = op->normed, info->input = reid__writer(ctx->plan, index, op->in);
    info->residual = reid__writer(ctx->plan, index, op->residual);
    info->scale = reid__writer(ctx->plan, index, op->scale);
    info->key = reid__writer(ctx->plan, index, op->key), info->value = reid__writer(ctx->plan, index, op->value);
    info->channel = op->channel, info->bytes = reid__op_bytes(ctx->plan, op);
    info->macs = reid__op_macs(op), info->parameters = reid__op_parameters(op);
    info->kernel = op->winograd ? "winograd" : "", info->computed_by = index + op->fused;
    if (ctx->gpu) reid__gpu_op_info(&ctx->gpu->plan, index, ctx->net.batch >= REID__LARGE, info);
    return REID_OK;
}

/* --- GPUs and their kernels --------------------------------------------------------------------------------------- */
REID_API reid_result reid_query_gpu(const reid_desc *desc, reid_gpu_info *gpu) {
    if (gpu) memset(gpu, 0, sizeof *gpu);
    if (!desc || !gpu) return reid__lacks(desc, "a reid_gpu_info");
    reid_error *e = desc->error;
    reid__clear_error(e);
#ifdef REID_NO_CUDA
    return reid__fail(e, REID_ERR_DEVICE, REID__NO_CUDA);
#else
    REID__ENTER();
    reid__mem mem;
    reid__device d;
    reid__jit j;
    REID__TRY(reid__mem_init(&mem, desc));
    memset(&d, 0, sizeof d), memset(&j, 0, sizeof j);
    reid_result r = reid__device_open(&d, desc, e);
    gpu->driver_version = d.version;
    if (d.arch) {
        snprintf(gpu->name, sizeof gpu->name, "%s", d.name);
        snprintf(gpu->arch, sizeof gpu->arch, "sm_%d", d.arch % 1000);
        gpu->multiprocessors = d.multiprocessors, gpu->memory = d.memory, gpu->integrated = d.integrated;
        for (int i = 0, at = snprintf(gpu->uuid, sizeof gpu->uuid, "GPU"); i < 16; i++)
            at += snprintf(gpu->uuid + at, sizeof gpu->uuid - (size_t)at, "%s%02x",
                           i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", d.uuid[i]);
    }
    reid__cache_folder(desc, gpu->cache_dir);
    if (r == REID_OK) r = reid__gpu_enter(&d, e);
    if (r == REID_OK) {
        size_t all;
        r = reid__gpu_check(&d, d.cu.MemGetInfo(&gpu->memory_free, &all), "cuMemGetInfo", e);
        reid__gpu_leave(&d);
    }
    if (r == REID_OK) r = reid__jit_init(&j, &mem, desc, d.arch, d.version, e);
    const char *from = desc->kernels_path ? "file" : desc->kernels_src ? "desc" : "built in";
    snprintf(gpu->kernels, sizeof gpu->kernels, "%s", j.text && *j.text ? from : "");
    while (r == REID_OK && j.rtc_version && !reid__nvrtc_works(&j)) reid__nvrtc_next(&j);
    if (r == REID_OK && !j.rtc_version)
        r = reid__fail(e, REID_ERR_DEVICE, "no NVRTC can be used for sm_%d%s%s", d.arch, j.tried.length ? ": " : "",
                       j.tried.text);
    gpu->nvrtc_version = j.rtc_version;
    if (j.rtc_version) snprintf(gpu->nvrtc_path, sizeof gpu->nvrtc_path, "%s", j.rtc_path);
    reid__jit_free(&j);
    reid__device_close(&d);
    return r;
#endif
}

#ifndef REID_NO_CUDA
typedef struct reid__packing {
    reid__plan plan;
    reid__prep prep;
    reid__gpu_plan gpu;
    reid__jit jit;
} reid__packing;

/* Builds the plan that reid_create would make, from names alone, and adds its programs. */
static reid_result reid__packing_add(reid__packing *k, const reid_desc *desc) {
    reid_error *e = desc->error;
    reid__arch arch;
    const char *network = desc->network ? desc->network : "";
    char text[REID__PRESET_TEXT];
    if (!reid__arch_named(network, &arch))
        return reid__fail(e, REID_ERR_UNKNOWN_NETWORK, "no network is named \"%.60s\"", network);
    reid_head head;
    reid__projection projection;
    REID__TRY(reid__resolve_head(desc, &arch, NULL, &head, &projection, e));
    REID__TRY(reid__gpu_precision(desc, k->jit.arch, &k->gpu.half, e));
    REID__TRY(reid__check_precision(desc->precision, e));
    REID__TRY(reid__make_plan(&k->plan, &k->prep, desc, &arch, NULL, desc->last_stride ? desc->last_stride : 2, head,
                              &projection, text, e));
    if (desc->precision == REID_INT8) reid__plan_narrow(&k->plan, REID__ELEMENT_INT8);
    reid__gpu_plan_init(&k->gpu, &k->plan, &k->prep, k->gpu.half, reid__has_wgmma(&k->jit), desc->flip != 0,
                        desc->raw != 0, desc->latency != 0);
    k->gpu.batch = reid__graph_batch(desc->batch ? desc->batch : REID__GPU_BATCH);
    return reid__gpu_programs(&k->gpu, &k->jit, e);
}

static reid_result reid__pack_kernels(reid__packing *k, reid__mem *mem, const reid_desc *desc, const char *arch,
                                      const char *path, reid_kernel_fn fn, void *user) {
    reid_error *e = desc->error;
    char *end;
    long number = reid__starts(arch, "sm_") && arch[3] > '0' && arch[3] <= '9' ? strtol(arch + 3, &end, 10) : 0;
    if (number < REID__OLDEST_ARCH || number > 999 || *end)
        return reid__invalid(e, "\"%.40s\" is not a chip; give sm_90, sm_89 ..., at least sm_%d", arch,
                             REID__OLDEST_ARCH);
    reid_desc again = *desc;
    again.precision = REID_FP32, again.ranges = NULL;
    REID__TRY(reid__check_options(desc));
    REID__TRY(reid__jit_init(&k->jit, mem, desc, (int)number, INT_MAX, e));
    if (k->jit.is_ptx) return reid__fail(e, REID_ERR_DEVICE, "%.200s does not know sm_%ld", k->jit.rtc_path, number);
    REID__TRY(reid__packing_add(k, desc));
    if (desc->fallback) REID__TRY(reid__packing_add(k, &again));
#ifndef REID_NO_SEARCH
    if (!reid__search_program(&k->jit, k->plan.dim, 0) ||
        (k->jit.arch >= 80 && !reid__search_program(&k->jit, k->plan.dim, 1)))
        return reid__fail(e, REID_ERR_KERNEL_COMPILE, "%s needs too many programs", k->plan.arch.name);
#endif
    REID__TRY(reid__jit_build(&k->jit, desc->threads ? desc->threads : reid__cpu_count(), e));
    for (int i = 0; i < k->jit.program_count && fn; i++) {
        const reid__program *p = &k->jit.programs[i];
        char options[REID__OPTIONS], log[4096];
        memcpy(options, p->options, p->length);
        for (size_t c = 0; c + 1 < p->length; c++)
            if (!options[c]) options[c] = ' ';
        reid__program_log(&k->jit, p, log, sizeof log);
        fn(options, p->cubin, p->cubin_size, log, user);
    }
    int failed = path ? reid__bundle_save(mem, path, k->jit.programs, k->jit.program_count, 1) : 0;
    if (!failed) return REID_OK;
    return reid__fail(e, REID_ERR_FILE_WRITE, "%.500s: cannot write the file: %s (errno %d)", path,
                      reid__errno_words(failed), failed);
}
#endif

REID_API reid_result reid_pack_kernels(const reid_desc *desc, const char *arch, const char *path, reid_kernel_fn fn,
                                       void *user) {
    if (!desc || !arch) return reid__lacks(desc, "a chip");
    reid__clear_error(desc->error);
#ifdef REID_NO_CUDA
    (void)path, (void)fn, (void)user;
    return reid__fail(desc->error, REID_ERR_DEVICE, REID__NO_CUDA);
#else
    REID__ENTER();
    reid__mem mem;
    REID__TRY(reid__mem_init(&mem, desc));
    reid__packing *k = (reid__packing *)reid__alloc_zero(&mem, sizeof *k);
    if (!k) return reid__no_memory(desc->error, "packing", sizeof *k);
    reid_result r = reid__pack_kernels(k, &mem, desc, arch, path, fn, user);
    reid__jit_free(&k->jit);
    reid__free(&mem, k);
    return r;
#endif
}

/* --- timing ------------------------------------------------------------------------------------------------------- */
/* Runs operations [from, to), one after the other, and adds their times to `times`. */
static void reid__time_ops(reid__job *j, int from, int to, float *times) {
    for (int i = from; i < to; i++) {
        int64_t start = reid__now();
        reid__run_ops(j, i, i + 1);
        times[i] += (float)(reid__now() - start) / 1000;
    }
}

/* times: (repeats, operations + 1). The first run is not counted. Early operations run image by image, on the team. */
static void reid__cpu_time(const reid_ctx *ctx, reid__lane *lane, const uint8_t *noise, int n, int repeats,
                           float *times) {
    const reid__plan *p = ctx->plan;
    for (int repeat = -1; repeat < repeats; repeat++) {
        float *row = times + (size_t)reid__max(repeat, 0) * (size_t)(p->op_count + 1);
        memset(row, 0, (size_t)(p->op_count + 1) * sizeof *row);
        for (int i = 0; i < n; i++) {
            const uint8_t *pixels = noise + (ptrdiff_t)i * p->height * p->width * 3;
            const reid_image image = {pixels, p->width, p->height, 0, REID_RGB8, NULL};
            reid__job j = reid__job_init(&ctx->net, lane);
            j.images = &image, j.first = j.at = i, j.n = 1;
            reid__prepare(&j);
            reid__time_ops(&j, 0, p->split, row);
        }
        reid__job all = reid__job_init(&ctx->net, lane);
        all.n = n;
        reid__time_ops(&all, p->split, p->op_count, row);
    }
}

static int reid__compare_floats(const void *a, const void *b) {
    const float *x = (const float *)a, *y = (const float *)b;
    return *x < *y ? -1 : *x > *y;
}

REID_API reid_result reid_profile(reid_ctx *ctx, int n, int repeats, float *us, float *network, reid_error *error) {
    reid__clear_error(error);
    if (network) *network = 0;
    if (!ctx || !us) return reid__invalid(error, "a handle and room for microseconds are needed");
    memset(us, 0, (size_t)ctx->plan->op_count * sizeof *us);
    REID__TRY(reid__check_call(ctx, NULL, 0, NULL, error));
    if (n < 1 || n > ctx->net.batch || repeats < 1 || repeats > 1000)
        return reid__invalid(error, "n is %d, repeats %d; they must be 1 to %d (the batch) and 1 to 1000", n, repeats,
                             ctx->net.batch);
    REID__ENTER();
    const reid__plan *p = ctx->plan;
    size_t pixels = (size_t)n * (size_t)p->height * (size_t)p->width * 3, ops = (size_t)p->op_count;
    size_t count = (size_t)repeats, bytes = count * (ops + 2) * sizeof(float);
    reid__mem mem = ctx->mem; /* the handle's allocator with its own count: several threads may time at once */
    mem.newest = NULL;
    uint8_t *noise = (uint8_t *)reid__alloc(&mem, pixels);
    float *times = (float *)reid__alloc(&mem, bytes), *column = times ? times + count * (ops + 1) : NULL;
    reid_result r = noise && times ? REID_OK : reid__no_memory(error, "timing", pixels + bytes);
    uint32_t seed = 1;
    for (size_t i = 0; i < pixels && r == REID_OK; i++)
        noise[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    reid__lane *lane = reid__lane_take(ctx);
    if (r == REID_OK && ctx->gpu)
        r = reid__gpu_time(ctx->gpu, &ctx->gpu->lanes[lane - ctx->lanes], n, repeats, noise, times, error);
    else if (r == REID_OK) reid__cpu_time(ctx, lane, noise, n, repeats, times);
    reid__lane_release(ctx, &lane->busy);
    for (size_t i = 0; i <= ops && r == REID_OK; i++) {
        for (size_t k = 0; k < count; k++) column[k] = times[k * (ops + 1) + i];
        reid__sort(column, count, sizeof *column, reid__compare_floats);
        if (i < ops) us[i] = column[count / 2];
        else if (network) *network = column[count / 2];
    }
    reid__release(&mem, NULL);
    return r;
}

/* Converts an operation's output for the first image, (oh, ow, oc), to FP32. */
static void reid__widen_output(const reid__job *j, float *to) {
    const reid__op *op = j->op;
    const reid__buffer *b = &j->net->plan->buffers[op->out];
    float step = (float)reid__byte_step(b);
    for (ptrdiff_t pixel = 0; pixel < (ptrdiff_t)op->oh * op->ow; pixel++) {
        const char *from = reid__value_at(j, op->out, 0, pixel * b->c + op->channel);
        for (int c = 0; c < op->oc; c++, from += b->bytes, to++) {
            if (b->bytes == 1) *to = step * reid__from_byte((uint8_t)*from, b->is_signed);
            else if (b->bytes == 2) *to = reid__float(reid__le16((const unsigned char *)from) << 16);
            else memcpy(to, from, sizeof *to);
        }
    }
}

REID_API reid_result reid_observe(reid_ctx *ctx, const reid_image *image, reid_observe_fn fn, void *user,
                                  reid_error *error) {
    size_t most = 0;
    reid__clear_error(error);
    if (!fn) return reid__invalid(error, "a callback is needed");
    REID__TRY(reid__check_call(ctx, image, 1, ctx, error));
    if (ctx->gpu) return reid__fail(error, REID_ERR_DEVICE, "only a handle on the CPU can be observed");
    const reid__plan *p = ctx->plan;
    REID__ENTER();
    for (const reid__op *op = p->ops; op < p->ops + p->op_count; op++) {
        size_t floats = (size_t)op->oh * (size_t)op->ow * (size_t)op->oc;
        if (floats > most) most = floats;
    }
    reid__mem mem = ctx->mem; /* with its own count, as in reid_profile */
    mem.newest = NULL;
    float *values = (float *)reid__alloc(&mem, most * sizeof *values);
    if (!values) return reid__no_memory(error, "an activation", most * sizeof *values);
    reid__lane *lane = reid__lane_take(ctx);
    reid__job j = reid__job_init(&ctx->net, lane);
    j.images = image, j.n = 1;
    reid__prepare(&j);
    for (int i = 0; i + 1 < p->op_count; i++) { /* the last one normalises */
        reid_op_info info;
        reid__run_ops(&j, i, i + 1);
        if (j.op->fused || reid_query_op(ctx, i, &info) != REID_OK) continue;
        reid__widen_output(&j, values);
        fn(&info, values, user);
    }
    reid__lane_release(ctx, &lane->busy);
    reid__free(&mem, values);
    return REID_OK;
}

REID_API double reid_cosine(const float *a, const float *b, int dim) {
    double ab = reid__exact_dot(a, b, dim), aa = reid__exact_dot(a, a, dim), bb = reid__exact_dot(b, b, dim);
    double cosine = aa > 0 && bb > 0 ? ab / (sqrt(aa) * sqrt(bb)) : 0;
    return cosine > 1 ? 1 : cosine < -1 ? -1 : cosine; /* rounding can exceed 1 */
}

REID_API void reid_to_halves(const float *in, uint16_t *out, size_t count) {
    REID__ENTER();
    for (size_t i = 0; i < count; i++) out[i] = reid__to_half(in[i]);
}

REID_API void reid_from_halves(const uint16_t *in, float *out, size_t count) {
    for (size_t i = 0; i < count; i++) out[i] = reid__half(in[i]);
}

REID_API int reid_version(void) { return REID_VERSION; }
REID_API const char *reid_version_string(void) { return REID_VERSION_STRING; }

#ifdef STBI_VERSION
REID_API reid_result reid_image_load(const char *path, reid_image *image, reid_error *error) {
    int channels;
    reid__clear_error(error);
    if (image) memset(image, 0, sizeof *image);
    if (!path || !image) return reid__invalid(error, "a path and an image are needed");
    REID__ENTER();
    FILE *file = fopen(path, "rb");
    if (!file) return reid__fail(error, REID_ERR_FILE_OPEN, "%s: cannot open the file (errno %d)", path, errno);
    image->pixels = stbi_load_from_file(file, &image->width, &image->height, &channels, 3);
    fclose(file);
    if (image->pixels) return REID_OK;
    const char *reason = stbi_failure_reason();
    memset(image, 0, sizeof *image);
    return reid__fail(error, REID_ERR_IMAGE, "%s: %s", path, reason ? reason : "not an image");
}

REID_API void reid_image_free(reid_image *image) {
    if (!image) return;
    stbi_image_free((void *)(uintptr_t)image->pixels);
    memset(image, 0, sizeof *image);
}
#endif

/* --------------------------------------------------------------------------------------------------------------------
   >>queue
   Dynamic batching. One mutex guards everything. A thread for each lane of the handle sleeps while nothing waits; it
   takes a batch, computes it with reid_embed_ex without the mutex, and notifies the callers of finished requests. One
   more thread, the clock, sleeps until the earliest deadline, ends requests that have reached theirs, and notifies the
   callers of requests that other threads have ended. A request is in the heap of turns as long as some of its images
   wait, and in the heap of deadlines until it ends, once, in reid__request_end. When no batch reads its pixels, it
   goes into the list of finished requests, whose callers are notified. */
#ifndef REID_NO_QUEUE
#define REID__NEVER INT64_MAX
#define REID__SIZES 10 /* of batches, by their logarithm: 1, 2, 3 or 4, ... 257 to 512 */
#define REID__QUEUE_STACK ((size_t)2 << 20) /* bytes: callbacks run on it, perhaps in an interpreter */

typedef struct reid__entry {
    reid_request request;
    reid_ticket ticket;        /* 0: free */
    int64_t rank;              /* lower comes first: see reid__request_accept */
    int64_t arrived, deadline; /* nanoseconds of reid__now; REID__NEVER: none */
    int taken, computing;      /* images: in batches so far, in batches now */
    int ended;                 /* 1: `result` is decided */
    reid_result result;
    int place[2];              /* in each heap; 0: not in it */
    struct reid__entry *next;  /* in the list of free or of finished entries */
} reid__entry;

/* First: items[1], or NULL; children of items[i]: items[2 * i], items[2 * i + 1]. by_deadline 0: the heap of turns. */
typedef struct reid__heap { reid__entry **items; int count, by_deadline; } reid__heap;

/* An image of a batch: its request, and the destination of its row. */
typedef struct reid__batch_image { reid__entry *entry; float *out; reid_result result; } reid__batch_image;

typedef struct reid__queue_lane {
    struct reid_queue *queue;
    reid_image *images;  /* [batch] */
    float *rows;         /* (batch, dim) */
    reid__batch_image *places; /* [batch] */
    int count;
    int64_t since;       /* start of its batch; 0: no batch */
} reid__queue_lane;

struct reid_queue {
    reid__mem mem;
    pid_t pid;
    reid_ctx *ctx;
    size_t dim;
    pthread_mutex_t mutex;
    pthread_cond_t work, alarm, idle; /* for the lanes; the clock; callers that wait until nothing is live */
    int locks;                        /* number of these four that are initialised */
    pthread_t *threads;               /* [1 + lanes]: the clock first */
    int started;                      /* threads running */
    reid__queue_lane *lanes;
    reid__entry *entries;
    reid__heap turns, deadlines;
    reid__entry *unused, *finished, **finished_end; /* lists of entries; finished_end: where the next one is linked */
    int entry_count, live;            /* live: accepted requests whose `done` has not returned */
    int stopping, refuse_late;        /* stopping: accepts nothing more; threads end when nothing is live */
    uint64_t serial;
    int64_t delay, ageing, alarm_at;  /* nanoseconds; alarm_at: until then the clock sleeps */
    int64_t pace[REID__SIZES];        /* recent nanoseconds of batches of about this size; 0: none yet */
    reid_queue_stats stats;
};

static int reid__before(const reid__heap *h, const reid__entry *a, const reid__entry *b) {
    if (!h->by_deadline && a->rank != b->rank) return a->rank < b->rank;
    return a->deadline != b->deadline ? a->deadline < b->deadline : a->ticket < b->ticket;
}

static void reid__heap_put(reid__heap *h, int at, reid__entry *a) {
    REID_ASSERT(at >= 1 && at <= h->count && a->ticket);
    h->items[at] = a, a->place[h->by_deadline] = at;
}

/* Moves an entry up or down from the free place `at` to its position. */
static void reid__heap_settle(reid__heap *h, int at, reid__entry *a) {
    for (; at > 1 && reid__before(h, a, h->items[at / 2]); at /= 2) reid__heap_put(h, at, h->items[at / 2]);
    for (int child; (child = 2 * at) <= h->count; at = child) {
        if (child < h->count && reid__before(h, h->items[child + 1], h->items[child])) child++;
        if (!reid__before(h, h->items[child], a)) break;
        reid__heap_put(h, at, h->items[child]);
    }
    reid__heap_put(h, at, a);
}

static void reid__heap_remove(reid__heap *h, reid__entry *a) {
    int at = a->place[h->by_deadline];
    if (!at) return;
    REID_ASSERT(h->items[at] == a);
    reid__entry *last = h->items[h->count];
    h->items[h->count--] = NULL, a->place[h->by_deadline] = 0;
    if (last != a) reid__heap_settle(h, at, last);
}

/* --- times -------------------------------------------------------------------------------------------------------- */
REID_API uint64_t reid_latency_bound(int index) {
    if (index < 0) return 0;
    return index < REID_LATENCIES - 1 ? (uint64_t)(250 * (5 + index % 4)) << index / 4 : UINT64_MAX;
}

static int reid__size_of(int images) {
    int size = 0;
    while (1 << size < images && size < REID__SIZES - 1) size++;
    return size;
}

/* Estimates the time of a batch from the nearest smaller size that was measured, or as its share of a larger one. */
static int64_t reid__pace_of(const reid_queue *q, int images) {
    int i = reid__size_of(images);
    while (i > 0 && !q->pace[i]) i--;
    if (q->pace[i]) return q->pace[i];
    while (i < REID__SIZES - 1 && !q->pace[i]) i++;
    return (q->pace[i] >> i) * images;
}

/* The earliest end of a new entry: after all before it, in full batches, on all lanes, once the first lane is free. */
static int64_t reid__earliest(const reid_queue *q, const reid__entry *a, int64_t now) {
    int images = a->request.n, batch = q->stats.batch;
    int64_t until_free = REID__NEVER;
    for (int i = 1; i <= q->turns.count; i++) {
        const reid__entry *other = q->turns.items[i];
        if (reid__before(&q->turns, other, a)) images += other->request.n - other->taken;
    }
    for (int i = 0; i < q->stats.lanes; i++) {
        int64_t left = q->lanes[i].since + reid__pace_of(q, q->lanes[i].count) - now;
        if (left < until_free) until_free = left > 0 ? left : 0;
    }
    int64_t work = images / batch * reid__pace_of(q, batch) + (images % batch ? reid__pace_of(q, images % batch) : 0);
    return now + until_free + (images > batch ? work / q->stats.lanes : work);
}

/* --- the end of a request ----------------------------------------------------------------------------------------- */
/* Adds an entry to the list of finished ones, if it has ended and no batch reads its pixels. */
static void reid__add_finished(reid_queue *q, reid__entry *a) {
    if (!a->ended || a->computing) return;
    a->next = NULL, *q->finished_end = a;
    q->finished_end = &a->next;
}

/* Ends a request with a result; images that still wait are dropped. */
static void reid__request_end(reid_queue *q, reid__entry *a, reid_result result, int64_t now) {
    reid_queue_stats *s = &q->stats;
    REID_ASSERT(a->ticket && !a->ended); /* a request ends once */
    REID_ASSERT(result != REID_OK || (a->taken == a->request.n && !a->computing));
    a->ended = 1, a->result = result, s->waiting -= a->request.n - a->taken;
    reid__heap_remove(&q->turns, a);
    reid__heap_remove(&q->deadlines, a);
    if (result == REID_OK) {
        int latency = 0;
        uint64_t took = (uint64_t)(now - a->arrived);
        while (took >= reid_latency_bound(latency) && latency < REID_LATENCIES - 1) latency++;
        s->requests++, s->images += (uint64_t)a->request.n, s->latency_ns += took, s->latencies[latency]++;
    } else {
        *(result == REID_ERR_EXPIRED     ? &s->expired
          : result == REID_ERR_CANCELLED ? &s->cancelled
          : result == REID_ERR_STOPPING  ? &s->stopped : &s->failed) += 1;
    }
    reid__add_finished(q, a);
}

/* A caller that waits in reid_submit: the `user` of a request without `done`. */
typedef struct reid__waiter { pthread_cond_t over; int is_over; reid_result result; } reid__waiter;

/* Notifies callers of finished requests, without the mutex. An entry is freed before `done`, which may submit again. */
static void reid__notify_done(reid_queue *q) {
    for (reid__entry *a; (a = q->finished) != NULL;) {
        const reid_request over = a->request;
        const reid_result result = a->result;
        REID_ASSERT(a->ticket && a->ended && !a->computing && !a->place[0] && !a->place[1] && q->live > 0);
        q->finished = a->next;
        if (!q->finished) q->finished_end = &q->finished;
        a->ticket = 0, a->next = q->unused, q->unused = a;
        pthread_mutex_unlock(&q->mutex);
        if (result != REID_OK) memset(over.out, 0, (size_t)over.n * q->dim * sizeof(float));
        if (over.done) over.done(result, over.user);
        pthread_mutex_lock(&q->mutex);
        if (!over.done) {
            reid__waiter *w = (reid__waiter *)over.user;
            w->is_over = 1, w->result = result;
            pthread_cond_signal(&w->over);
        }
        if (--q->live == 0) pthread_cond_broadcast(&q->idle);
    }
}

/* --- threads ------------------------------------------------------------------------------------------------------ */
/* Waits until `when` (REID__NEVER: without limit) or a signal. */
static void reid__wait_until(reid_queue *q, pthread_cond_t *cond, int64_t when) {
    int64_t by = REID__WAIT_CLOCK == CLOCK_MONOTONIC ? when : when - reid__now() + reid__clock(REID__WAIT_CLOCK);
    struct timespec at = {(time_t)(by / 1000000000), (long)(by % 1000000000)};
    if (when == REID__NEVER) pthread_cond_wait(cond, &q->mutex);
    else pthread_cond_timedwait(cond, &q->mutex, &at);
}

static void *reid__clock_main(void *arg) {
    reid_queue *q = (reid_queue *)arg;
    REID__LOCK(&q->mutex);
    while (!q->stopping || q->live) {
        reid__entry *a;
        int64_t now = reid__now();
        while ((a = q->deadlines.items[1]) != NULL && a->deadline <= now)
            reid__request_end(q, a, REID_ERR_EXPIRED, now);
        q->alarm_at = a ? a->deadline : REID__NEVER;
        if (q->finished) reid__notify_done(q);
        else reid__wait_until(q, &q->alarm, q->alarm_at);
    }
    return NULL;
}

/* Fills a lane's batch with the first images in turn. */
static void reid__batch_take(reid_queue *q, reid__queue_lane *lane, int64_t now) {
    reid__entry *a;
    REID_ASSERT(lane->since == 0); /* its last batch is finished */
    lane->since = now, lane->count = 0;
    while (lane->count < q->stats.batch && (a = q->turns.items[1]) != NULL) {
        const reid__batch_image place = {a, a->request.out + (size_t)a->taken * q->dim, REID_OK};
        REID_ASSERT(!a->ended && a->taken < a->request.n);
        lane->images[lane->count] = a->request.images[a->taken++];
        lane->places[lane->count++] = place;
        a->computing++, q->stats.queue_ns += (uint64_t)(now - a->arrived);
        if (a->taken == a->request.n) reid__heap_remove(&q->turns, a);
    }
    q->stats.waiting -= lane->count, q->stats.computing += lane->count;
    REID_ASSERT(q->stats.waiting >= 0 && q->stats.computing <= q->stats.lanes * q->stats.batch);
    if (q->turns.count) pthread_cond_signal(&q->work);
}

static void reid__batch_finish(reid_queue *q, reid__queue_lane *lane, int64_t now) {
    int64_t took = now - lane->since, *pace = &q->pace[reid__size_of(lane->count)];
    *pace = *pace ? *pace + (took - *pace) / 8 : took, lane->since = 0;
    q->stats.computing -= lane->count;
    q->stats.batches++, q->stats.computed += (uint64_t)lane->count, q->stats.compute_ns += (uint64_t)took;
    for (const reid__batch_image *g = lane->places; g < lane->places + lane->count; g++) {
        reid__entry *a = g->entry;
        REID_ASSERT(a->computing > 0);
        a->computing--;
        if (a->ended) reid__add_finished(q, a);
        else if (g->result != REID_OK) reid__request_end(q, a, g->result, now);
        else if (a->taken == a->request.n && !a->computing)
            reid__request_end(q, a, now < a->deadline ? REID_OK : REID_ERR_EXPIRED, now);
    }
}

/* Computes batches and distributes their rows. An image whose embedding has no direction must not make the others fail,
   so then each is computed alone, which gives the same bits. */
static void *reid__queue_lane_main(void *arg) {
    reid__queue_lane *lane = (reid__queue_lane *)arg;
    reid_queue *q = lane->queue;
    REID__LOCK(&q->mutex);
    while (!q->stopping || q->live) {
        int64_t now = reid__now(), from = q->turns.count ? q->turns.items[1]->arrived + q->delay : REID__NEVER;
        if (from > now && (from == REID__NEVER || (q->stats.waiting < q->stats.batch && !q->stopping))) {
            reid__wait_until(q, &q->work, from);
            continue;
        }
        reid__batch_take(q, lane, now);
        pthread_mutex_unlock(&q->mutex);
        reid_result r = reid_embed_ex(q->ctx, lane->images, lane->count, lane->rows, NULL);
        for (int i = 0; i < lane->count; i++) {
            float *row = lane->rows + (size_t)i * q->dim;
            lane->places[i].result =
                r == REID_ERR_EMBEDDING ? reid_embed_ex(q->ctx, &lane->images[i], 1, row, NULL) : r;
            memcpy(lane->places[i].out, row, q->dim * sizeof *row);
        }
        pthread_mutex_lock(&q->mutex);
        reid__batch_finish(q, lane, reid__now());
        reid__notify_done(q);
    }
    return NULL;
}

/* --- the calls ---------------------------------------------------------------------------------------------------- */
/* Accepts a request, or reports why not. Its rank is its level plus the period of its arrival. A request that arrives a
   period later must be one level more urgent to have the same rank. So a waiting request rises by a level in every
   period without being changed, and after at most 8 periods no new request overtakes it. */
static reid_result reid__request_accept(reid_queue *q, const reid_request *r, reid__waiter *w, reid_ticket *ticket,
                                        reid_error *e) {
    int64_t now = reid__now();
    reid__entry *a = q->unused;
    if (q->stopping) return reid__fail(e, REID_ERR_STOPPING, "%s", reid_result_string(REID_ERR_STOPPING));
    if (!a || r->n > q->stats.limit - q->stats.waiting) {
        q->stats.full++;
        return reid__fail(e, REID_ERR_FULL, "images waiting: %d; %d more would exceed the limit %d", q->stats.waiting,
                          r->n, q->stats.limit);
    }
    reid__entry fresh = {*r, 0, 0, now, REID__NEVER, 0, 0, 0, REID_OK, {0, 0}, a->next};
    if (!r->done) fresh.request.user = w;
    if (r->deadline_us && r->deadline_us < (REID__NEVER - now) / 1000) fresh.deadline = now + r->deadline_us * 1000;
    fresh.rank = r->priority + (q->ageing > 0 ? now / q->ageing : 0);
    fresh.ticket = q->serial * (uint64_t)q->entry_count + (uint64_t)(a - q->entries) + 1;
    if (q->refuse_late && reid__earliest(q, &fresh, now) > fresh.deadline) {
        q->stats.late++;
        return reid__fail(e, REID_ERR_EXPIRED, "it could not be finished in %lld us", (long long)r->deadline_us);
    }
    REID_ASSERT(a->ticket == 0); /* the entry is free */
    q->unused = a->next, *a = fresh;
    q->serial++, q->live++, q->stats.waiting += r->n;
    if (ticket) *ticket = a->ticket;
    reid__heap_settle(&q->turns, ++q->turns.count, a);
    if (a->deadline != REID__NEVER) reid__heap_settle(&q->deadlines, ++q->deadlines.count, a);
    if (a->deadline < q->alarm_at) pthread_cond_signal(&q->alarm); /* the clock would sleep too long */
    pthread_cond_signal(&q->work);
    return REID_OK;
}

REID_API reid_result reid_submit(reid_queue *queue, const reid_request *request, reid_ticket *ticket, reid_error *e) {
    const reid_request *r = request;
    reid__waiter w;
    if (ticket) *ticket = 0;
    reid__clear_error(e);
    if (!queue || !r || !r->images || !r->out || r->n < 1)
        return reid__invalid(e, "a queue, a request, n >= 1, images and out are needed");
    if (queue->pid != getpid()) return reid__fail(e, REID_ERR_FORKED, "create the queue after the fork");
    if (r->priority < -3 || r->priority > 4) return reid__invalid(e, "priority is %d; it must be -3 to 4", r->priority);
    int limit = queue->stats.limit, waits = !r->done;
    if (r->n > limit) return reid__invalid(e, "%d images; the queue's limit is %d", r->n, limit);
    REID__TRY(reid__check_call(queue->ctx, r->images, r->n, r->out, e));
    if (r->deadline_us < 0)
        return reid__fail(e, REID_ERR_EXPIRED, "the deadline was %llu us ago", 0 - (unsigned long long)r->deadline_us);
    w.is_over = 0, w.result = REID_OK;
    if (waits && pthread_cond_init(&w.over, NULL) != 0) return reid__fail(e, REID_ERR_SYSTEM, "no condition variable");
    pthread_mutex_lock(&queue->mutex);
    reid_result code = reid__request_accept(queue, r, &w, ticket, e);
    while (waits && code == REID_OK && !w.is_over) pthread_cond_wait(&w.over, &queue->mutex);
    pthread_mutex_unlock(&queue->mutex);
    if (waits) pthread_cond_destroy(&w.over);
    return w.result == REID_OK ? code : reid__fail(e, w.result, "%s", reid_result_string(w.result));
}

REID_API reid_result reid_cancel(reid_queue *queue, reid_ticket ticket) {
    if (!queue || !ticket) return REID_ERR_INVALID_ARG;
    if (queue->pid != getpid()) return REID_ERR_FORKED;
    reid__entry *a = &queue->entries[(ticket - 1) % (uint64_t)queue->entry_count];
    REID__LOCK(&queue->mutex);
    if (a->ticket != ticket || a->ended) return REID_ERR_TICKET;
    reid__request_end(queue, a, REID_ERR_CANCELLED, reid__now());
    pthread_cond_signal(&queue->alarm);
    return REID_OK;
}

REID_API reid_result reid_queue_query(reid_queue *queue, reid_queue_stats *stats) {
    if (stats) memset(stats, 0, sizeof *stats);
    if (!queue || !stats) return REID_ERR_INVALID_ARG;
    if (queue->pid != getpid()) return REID_ERR_FORKED;
    REID__LOCK(&queue->mutex);
    *stats = queue->stats;
    return REID_OK;
}

REID_API reid_result reid_queue_drain(reid_queue *queue, int drain_ms) {
    reid_result r = REID_OK;
    if (!queue) return REID_ERR_INVALID_ARG;
    if (queue->pid != getpid()) return REID_ERR_FORKED;
    int64_t until = drain_ms < 0 ? REID__NEVER : reid__now() + (int64_t)drain_ms * 1000000;
    REID__LOCK(&queue->mutex);
    queue->stopping = 1;
    pthread_cond_broadcast(&queue->work); /* so that no lane waits for a batch to fill */
    while (queue->live && reid__now() < until) reid__wait_until(queue, &queue->idle, until);
    for (reid__entry *a = queue->entries; queue->live && a < queue->entries + queue->entry_count; a++) {
        if (!a->ticket || a->ended) continue;
        reid__request_end(queue, a, REID_ERR_STOPPING, reid__now());
        r = REID_ERR_STOPPING;
    }
    pthread_cond_signal(&queue->alarm);
    while (queue->live) reid__wait_until(queue, &queue->idle, REID__NEVER);
    pthread_cond_signal(&queue->alarm), pthread_cond_broadcast(&queue->work); /* so that the threads end */
    return r;
}

REID_API void reid_queue_destroy(reid_queue *queue, int drain_ms) {
    if (!queue) return;
    reid__mem mem = queue->mem;
    if (queue->pid == getpid()) {
        pthread_cond_t *const conds[3] = {&queue->work, &queue->alarm, &queue->idle};
        if (queue->locks == 4) reid_queue_drain(queue, drain_ms);
        while (queue->started > 0) pthread_join(queue->threads[--queue->started], NULL);
        for (int i = 0; i + 1 < queue->locks; i++) pthread_cond_destroy(conds[i]);
        if (queue->locks) pthread_mutex_destroy(&queue->mutex);
    }
    reid__release(&mem, NULL);
}

/* Sets the pointers into a queue's block, which must be zeroed; base NULL: only returns its size. */
static size_t reid__queue_layout(reid_queue *q, char *base) {
    reid__carver c = {base, 0};
    size_t entries = (size_t)q->entry_count, batch = (size_t)q->stats.batch;
    q->entries = (reid__entry *)reid__carve(&c, entries, sizeof *q->entries);
    q->lanes = (reid__queue_lane *)reid__carve(&c, (size_t)q->stats.lanes, sizeof *q->lanes);
    q->threads = (pthread_t *)reid__carve(&c, (size_t)q->stats.lanes + 1, sizeof *q->threads);
    q->turns.items = (reid__entry **)reid__carve(&c, entries + 1, sizeof *q->turns.items);
    q->deadlines.items = (reid__entry **)reid__carve(&c, entries + 1, sizeof *q->deadlines.items);
    for (int i = 0; i < q->stats.lanes; i++) {
        reid_image *images = (reid_image *)reid__carve(&c, batch, sizeof *images);
        float *rows = (float *)reid__carve(&c, batch * q->dim, sizeof *rows);
        reid__batch_image *places = (reid__batch_image *)reid__carve(&c, batch, sizeof *places);
        const reid__queue_lane lane = {q, images, rows, places, 0, 0};
        if (base) q->lanes[i] = lane;
    }
    for (int i = q->entry_count; base && i-- > 0; q->unused = &q->entries[i]) q->entries[i].next = q->unused;
    return c.used;
}

static reid_result reid__queue_start(reid_queue *q) {
    pthread_condattr_t attr;
    pthread_cond_t *const conds[3] = {&q->work, &q->alarm, &q->idle};
    if (pthread_mutex_init(&q->mutex, NULL) != 0 || pthread_condattr_init(&attr) != 0) return REID_ERR_SYSTEM;
    REID__SET_WAIT_CLOCK(&attr);
    for (q->locks = 1; q->locks < 4 && pthread_cond_init(conds[q->locks - 1], &attr) == 0;) q->locks++;
    pthread_condattr_destroy(&attr);
    if (q->locks < 4) return REID_ERR_SYSTEM;
    for (int i = 0; i <= q->stats.lanes; i++, q->started++)
        if (!reid__thread_start(&q->threads[i], REID__QUEUE_STACK, i ? reid__queue_lane_main : reid__clock_main,
                                i ? (void *)&q->lanes[i - 1] : q)) return REID_ERR_SYSTEM;
    return REID_OK;
}

REID_API reid_result reid_queue_create(const reid_queue_desc *desc, reid_queue **out) {
    reid_info info;
    reid_error *e = desc ? desc->error : NULL;
    if (out) *out = NULL;
    if (!desc || !out) return reid__invalid(e, "the call needs out");
    reid__clear_error(e);
    reid_result r = reid_query_desc(desc->ctx, &info);
    if (r != REID_OK)
        return reid__fail(e, r, desc->ctx ? "create the handle and the queue after the fork" : "desc.ctx is NULL");
    if (desc->batch < 0 || desc->batch > info.batch)
        return reid__invalid(e, "desc.batch is %d; it must be 0 to %d, the handle's", desc->batch, info.batch);
    if (desc->limit < 0 || desc->limit > 1 << 20)
        return reid__invalid(e, "desc.limit is %d; it must be 0 to %d", desc->limit, 1 << 20);
    if (desc->delay_us < 0 || desc->delay_us > 1000000000 || desc->ageing_us > 1000000000000)
        return reid__invalid(e, "desc.delay_us is %lld (0 to 10^9), desc.ageing_us %lld (to 10^12)",
                             (long long)desc->delay_us, (long long)desc->ageing_us);
    reid__mem mem = desc->ctx->mem;
    mem.used = 0, mem.newest = NULL;
    reid_queue *q = (reid_queue *)reid__alloc_zero(&mem, sizeof *q);
    if (!q) return reid__no_memory(e, "a queue", sizeof *q);
    q->pid = getpid(), q->ctx = desc->ctx, q->dim = (size_t)info.dim;
    q->finished_end = &q->finished, q->deadlines.by_deadline = 1, q->refuse_late = desc->refuse_late;
    q->delay = desc->delay_us * 1000; /* all negative ageing_us are equivalent */
    q->ageing = desc->ageing_us < 0 ? -1 : desc->ageing_us ? desc->ageing_us * 1000 : 500000000;
    q->stats.lanes = info.lanes, q->stats.batch = desc->batch ? desc->batch : info.batch;
    q->stats.limit = desc->limit ? desc->limit : reid__max(1024, 8 * q->stats.batch);
    q->entry_count = q->stats.limit + 2 * q->stats.lanes * q->stats.batch;
    size_t size = reid__queue_layout(q, NULL);
    char *block = (char *)reid__alloc_zero(&mem, size);
    q->mem = mem;
    if (block) reid__queue_layout(q, block);
    r = block ? reid__queue_start(q) : reid__no_memory(e, "a queue", size);
    if (r == REID_ERR_SYSTEM) reid__fail(e, r, "could not start the threads of a queue");
    if (r == REID_OK) *out = q;
    else reid_queue_destroy(q, 0);
    return r;
}
#endif /* REID_NO_QUEUE */

/* --------------------------------------------------------------------------------------------------------------------
   >>left_out
   Functions of parts that were left out: they let the program link, and fail with the name of the macro. */
static inline reid_result reid__left_out(reid_error *e, const char *macro) {
    reid__clear_error(e);
    return reid__fail(e, REID_ERR_LEFT_OUT, "reid.h was compiled with %s", macro);
}

#ifdef REID_NO_SEARCH
REID_API reid_result reid_index_create(const reid_desc *desc, const reid_rows *rows, reid_index **out) {
    if (out) *out = NULL;
    return desc && rows && out ? reid__left_out(desc->error, "REID_NO_SEARCH") : REID_ERR_INVALID_ARG;
}

REID_API reid_result reid_index_grow(reid_index *index, const reid_rows *rows, reid_error *error) {
    (void)index, (void)rows;
    return reid__left_out(error, "REID_NO_SEARCH");
}

REID_API void reid_index_destroy(reid_index *index) { (void)index; }

REID_API reid_result reid_search(reid_index *index, const float *queries, int n, const reid_search_desc *search,
                                 reid_hit *hits, int *found, reid_error *error) {
    (void)index, (void)queries, (void)n, (void)search, (void)hits, (void)found;
    return reid__left_out(error, "REID_NO_SEARCH");
}

REID_API reid_result reid_group(const reid_desc *desc, const reid_rows *rows, const reid_group_desc *group,
                                uint32_t *out, reid_merge *merges, size_t *merged) {
    (void)rows, (void)group, (void)out, (void)merges;
    if (merged) *merged = 0;
    return desc ? reid__left_out(desc->error, "REID_NO_SEARCH") : REID_ERR_INVALID_ARG;
}
#endif /* REID_NO_SEARCH */

#ifdef REID_NO_QUEUE
REID_API reid_result reid_queue_create(const reid_queue_desc *desc, reid_queue **out) {
    if (out) *out = NULL;
    return desc && out ? reid__left_out(desc->error, "REID_NO_QUEUE") : REID_ERR_INVALID_ARG;
}

REID_API reid_result reid_submit(reid_queue *q, const reid_request *r, reid_ticket *ticket, reid_error *error) {
    if (ticket) *ticket = 0;
    return (void)q, (void)r, reid__left_out(error, "REID_NO_QUEUE");
}

REID_API reid_result reid_queue_query(reid_queue *q, reid_queue_stats *stats) {
    if (stats) memset(stats, 0, sizeof *stats);
    return (void)q, REID_ERR_LEFT_OUT;
}

REID_API reid_result reid_cancel(reid_queue *q, reid_ticket t) { return (void)q, (void)t, REID_ERR_LEFT_OUT; }
REID_API reid_result reid_queue_drain(reid_queue *q, int ms) { return (void)q, (void)ms, REID_ERR_LEFT_OUT; }
REID_API void reid_queue_destroy(reid_queue *q, int ms) { (void)q, (void)ms; }
REID_API uint64_t reid_latency_bound(int index) { return (void)index, 0; }
#endif /* REID_NO_QUEUE */
#endif /* REID__FINISHED */
#ifdef REID__PASS
#undef REID__PASS
#elif defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
