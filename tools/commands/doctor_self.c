#include "commands/doctor_self.h"

#include "base/clock.h"
#include "demo_program/seeded.h"
#include "embedding/models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The case "efficientnet_b0 file 107 75" of tests/golden/embeddings.txt: weights from seed 1 with the head to 512
   dimensions, an image of the network's input size, and the first components of PyTorch's embedding in double. */
enum { HEIGHT = 107, WIDTH = 75, DIM = 512, KNOWN = 16 };
static const float known[KNOWN] = {
    -0.0650737584f, 0.00221788813f, 0.0212897304f, -0.0532626808f, 0.0274881627f,  -0.0441101864f,
    -0.0793819502f, 0.0469368473f,  -0.00579608511f, 0.0539446399f, 0.00473812874f, -0.011619281f,
    -0.0110805975f, -0.0114665478f, 0.0188146811f,   -0.0205591004f,
};
static const double tolerance = 1e-5; /* per component, as for the golden embeddings of the tests */

/* The image of that case: waves, squares of 8 pixels and a little noise. */
static unsigned char pixel(int y, int x, int c) {
    int wave = (x * (3 + 2 * c) + y * (7 - 2 * c)) % 256;
    uint32_t square = (uint32_t)((x / 8) * 31 + (y / 8) * 57 + c * 23) * UINT32_C(2654435761);
    uint32_t noise = (uint32_t)((y * WIDTH + x) * 3 + c) * UINT32_C(2246822519);
    if (wave > 127) wave = 255 - wave;
    return (unsigned char)(wave + (int)(square >> 26) + (int)(noise >> 27) + 16);
}

static void tell_processor(findings *f, const reid_info *info, int asked_for) {
    const char *asked = getenv("REID_CPU_ISA");
    if (!info->optimized)
        findings_add(f, FOUND_WARNING, "cpu", "compile with -O2",
                     "%s: reid.h was compiled without optimisation, and is many times slower", info->chip);
    else if (asked_for)
        findings_add(f, FOUND_NOTE, "cpu", "remove --isa", "%s: --isa limits it to %s", info->chip, info->isa);
    else if (asked && *asked && strcmp(asked, "auto") != 0)
        findings_add(f, FOUND_WARNING, "cpu", "unset REID_CPU_ISA",
                     "%s: REID_CPU_ISA=%s in the environment limits it", info->chip, asked);
    else if (strcmp(info->isa, "scalar") == 0)
        findings_add(f, FOUND_WARNING, "cpu", "a processor with AVX2 and FMA, or a GPU",
                     "%s: no fast kernels for this processor; the portable ones compute the same, many times slower",
                     info->chip);
    else findings_add(f, FOUND_GOOD, "cpu", NULL, "%s: kernels for %s", info->chip, info->isa);
}

static void judge(findings *f, const float *row, const reid_info *info, double seconds) {
    double worst = 0;
    for (int i = 0; i < KNOWN; i++) {
        double difference = fabs((double)row[i] - (double)known[i]);
        if (!(difference <= worst)) worst = difference; /* also when it is NaN */
    }
    if (worst <= tolerance)
        findings_add(f, FOUND_GOOD, "self-test", NULL, "equals PyTorch's embedding to %.1e, in %.2f s", worst, seconds);
    else
        findings_add(f, FOUND_ERROR, "self-test", "report it with this output; --isa scalar may help for now",
                     "an embedding differs from PyTorch's by %g with %s: this build or machine computes wrongly", worst,
                     info->isa);
}

void doctor_self_test(findings *f, const reid_desc *desc) {
    static unsigned char pixels[HEIGHT * WIDTH * 3];
    static float row[DIM];
    const double began = clock_seconds();
    size_t size = 0;
    unsigned char *file = seeded_file("efficientnet_b0", 1, SEEDED_F32, SEEDED_PROJECTION, &size);
    reid_desc own = REID_INIT;
    own.weights_data = file, own.weights_size = size;
    own.preset = "torchreid", own.height = HEIGHT, own.width = WIDTH, own.head = REID_HEAD_FILE;
    own.device = REID_DEVICE_CPU, own.precision = REID_FP32, own.batch = 1;
    own.cpu_isa = desc->cpu_isa, own.threads = desc->threads;
    for (int y = 0, at = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int c = 0; c < 3; c++) pixels[at++] = pixel(y, x, c);
    reid_image image = {.pixels = pixels, .width = WIDTH, .height = HEIGHT, .format = REID_RGB8};
    model m;
    int good = model_create(&m, &own);
    if (good) tell_processor(f, &m.info, desc->cpu_isa != REID_ISA_AUTO);
    if (good) m.result = reid_embed_ex(m.ctx, &image, 1, row, &m.error);
    if (good && m.result == REID_OK) judge(f, row, &m.info, clock_seconds() - began);
    else findings_add(f, FOUND_ERROR, "self-test", NULL, "%s", reason_of(&m.error, m.result));
    model_close(&m);
    free(file);
}
