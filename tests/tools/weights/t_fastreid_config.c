/* t_fastreid_config.c: fast-reid's configuration next to a checkpoint: the network, stride and input that it means, as
   yacs dumps it and as people write it, with _BASE_; what contradicts the tensors, or is not computed here, is refused
   with its file, line and key; every allocation that fails is reported.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/weights/t_fastreid_config.c tools/weights/fastreid_config.c
      tools/weights/yacs.c tools/weights/dialects.c tools/weights/checkpoint.c tools/weights/onnx_graph.c
      tools/base/yaml.c tools/base/files.c tools/base/replace.c tools/base/file_kind.c tools/base/choices.c
      tools/base/source.c tools/base/crc32.c tools/base/text.c tools/base/memory.c tools/base/say.c tools/base/clock.c
      -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o build/t_fastreid_config -lcmocka -lm */
#include "weights/fastreid_config.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "../../lib/test_says.h"
#include "../../lib/test_texts.h"

/* --- checkpoints -------------------------------------------------------------------------------------------------- */

/* What a checkpoint has beyond the trunk of a ResNet-50, in any combination. */
enum { NORM = 1, OLD_NORM = 2, LEARNED = 4, REDUCED = 8, NARROW = 16, IBN = 32, NL = 64, DEEP = 128, PIXELS = 256 };

static const struct { int part; const char *name; uint64_t width; } TENSORS[] = {
    {0, "backbone.layer4.0.conv1.weight", 0},
    {NORM, "heads.bottleneck.0.running_mean", 0},
    {OLD_NORM, "heads.bnneck.running_mean", 0},
    {LEARNED, "heads.pool_layer.p", 0},
    {REDUCED, "heads.bottleneck.0.weight", 512},
    {REDUCED, "heads.bottleneck.1.running_mean", 0},
    {NARROW, "heads.bottleneck.0.weight", 256},
    {NARROW, "heads.bottleneck.1.running_mean", 0},
    {IBN, "backbone.layer1.0.bn1.IN.weight", 0},
    {NL, "backbone.NL_2.0.theta.weight", 1},
    {DEEP, "backbone.layer3.6.conv1.weight", 0},
};
enum { MOST = sizeof TENSORS / sizeof *TENSORS };

typedef struct made {
    char names[MOST][64];
    tensor tensors[MOST];
    mapped at[MOST];
    checkpoint c;
    mapping m;
} made;

static void make(made *f, int parts) {
    memset(f, 0, sizeof *f);
    size_t n = 0;
    for (size_t i = 0; i < MOST; i++) {
        if (TENSORS[i].part && !(parts & TENSORS[i].part)) continue;
        snprintf(f->names[n], sizeof f->names[n], "%s", TENSORS[i].name);
        f->tensors[n] = (tensor){.name = f->names[n], .ndim = TENSORS[i].width ? 4 : 1, .shape = {TENSORS[i].width}};
        f->at[n].from = &f->tensors[n];
        n++;
    }
    f->c.tensors = f->tensors, f->c.tensor_count = n;
    f->m.at = f->at, f->m.count = n;
    f->m.origin = parts & OLD_NORM ? "fast-reid of 2020" : "fast-reid";
    f->m.has_pixels = (parts & PIXELS) != 0;
    for (int k = 0; k < 3; k++) f->m.pixel_mean[k] = 127.5, f->m.pixel_std[k] = 63.75;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/t_fastreid_config.XXXXXX";

static void path_of(char path[200], const char *name) { snprintf(path, 200, "%s/%s", folder, name); }

static void put_file(const char *name, const char *content) {
    char path[200];
    path_of(path, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs(content, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void drop_file(const char *name) {
    char path[200];
    path_of(path, name);
    assert_int_equal(remove(path), 0);
}

static int read_beside(fastreid_config *f, int parts, text *why) {
    static made of;
    char path[200];
    make(&of, parts);
    path_of(path, "model_final.pth");
    return fastreid_config_read(f, path, &of.c, &of.m, why);
}

static void put_meaning(const fastreid_config *f, text *out) {
    const stated *in = &f->input;
    text_printf(out, "%s stride=%d", f->network[0] ? f->network : "-", f->last_stride);
    if (f->no_size[0]) text_printf(out, " (%s)", f->no_size);
    else text_printf(out, " size=%dx%d resize=%d", in->height, in->width, in->resize);
    if (in->is_straight && !f->no_size[0]) text_puts(out, " straight");
    text_printf(out, " %s mean=%.6g,%.6g,%.6g std=%.6g,%.6g,%.6g", in->filter, in->mean[0], in->mean[1], in->mean[2],
                in->std[0], in->std[1], in->std[2]);
}

/* --- what files mean ---------------------------------------------------------------------------------------------- */

#define USUAL " bicubic mean=0.485,0.456,0.406 std=0.229,0.224,0.225"
#define USUAL_SIZE " size=256x128 resize=0 straight" USUAL

/* The keys that matter of what version 1.3 writes to the folder of a training, in its form. */
static const char DUMP[] =
    "CUDNN_BENCHMARK: true\n"
    "DATASETS:\n"
    "  NAMES:\n"
    "  - Market1501\n"
    "INPUT:\n"
    "  CROP:\n"
    "    ENABLED: false\n"
    "    RATIO:\n"
    "    - 0.75\n"
    "    - 1.3333333333333333\n"
    "    SIZE:\n"
    "    - 224\n"
    "    - 224\n"
    "  SIZE_TEST:\n"
    "  - 384\n"
    "  - 128\n"
    "KD:\n"
    "  MODEL_CONFIG: []\n"
    "MODEL:\n"
    "  BACKBONE:\n"
    "    DEPTH: 101x\n"
    "    FEAT_DIM: 2048\n"
    "    LAST_STRIDE: 2\n"
    "    NAME: build_resnet_backbone\n"
    "    NORM: syncBN\n"
    "    PRETRAIN_PATH: ''\n"
    "    WITH_IBN: true\n"
    "    WITH_NL: true\n"
    "    WITH_SE: false\n"
    "  HEADS:\n"
    "    EMBEDDING_DIM: 512\n"
    "    NAME: EmbeddingHead\n"
    "    NECK_FEAT: after\n"
    "    NORM: BN\n"
    "    POOL_LAYER: GeneralizedMeanPooling\n"
    "    WITH_BNNECK: true\n"
    "  META_ARCHITECTURE: Baseline\n"
    "  PIXEL_MEAN:\n"
    "  - 127.5\n"
    "  - 102.0\n"
    "  - 76.5\n"
    "  PIXEL_STD:\n"
    "  - 51.0\n"
    "  - 57.120000000000005\n"
    "  - 25.5\n"
    "SOLVER:\n"
    "  ETA_MIN_LR: 7.7e-05\n";

static const struct { const char *file; int parts; const char *meaning; } MEANINGS[] = {
    {DUMP, REDUCED | IBN | NL | DEEP, "resnet101-ibn-nl-fastreid-gem-512 stride=2 size=384x128 resize=0 straight "
     "bicubic mean=0.5,0.4,0.3 std=0.2,0.224,0.1"},
    {"MODEL: {}", NORM, "resnet50-fastreid stride=1" USUAL_SIZE},
    {"MODEL: {}", NORM | LEARNED | IBN, "resnet50-ibn-fastreid-gem stride=1" USUAL_SIZE},
    {"MODEL: {}", NORM | PIXELS,
     "resnet50-fastreid stride=1 size=256x128 resize=0 straight bicubic mean=0.5,0.5,0.5 std=0.25,0.25,0.25"},
    {"MODEL: {PIXEL_MEAN: [127.5, 127.5, 127.5]}", NORM | PIXELS,
     "resnet50-fastreid stride=1 size=256x128 resize=0 straight bicubic mean=0.5,0.5,0.5 std=0.25,0.25,0.25"},
    {"MODEL: {HEADS: {POOL_LAYER: GlobalAvgPool}}", REDUCED, "resnet50-fastreid-512 stride=1" USUAL_SIZE},
    {"MODEL: {HEADS: {POOL_LAYER: FastGlobalAvgPool}}", NORM, "resnet50-fastreid stride=1" USUAL_SIZE},
    {"MODEL: {HEADS: {POOL_LAYER: fastavgpool}}", NORM, "resnet50-fastreid stride=1" USUAL_SIZE},
    {"MODEL: {HEADS: {POOL_LAYER: gempool}}", NORM, "resnet50-fastreid-gem stride=1" USUAL_SIZE},
    {"MODEL: {HEADS: {POOL_LAYER: gempool}}", NORM | LEARNED, "resnet50-fastreid-gem stride=1" USUAL_SIZE},
    {"MODEL: {HEADS: {POOL_LAYER: gempoolP}}", NORM | LEARNED, "resnet50-fastreid-gem stride=1" USUAL_SIZE},
    {"MODEL: {HEADS: {POOL_LAYER: GeneralizedMeanPoolingP}}", NORM | LEARNED,
     "resnet50-fastreid-gem stride=1" USUAL_SIZE},
    {"MODEL:\n  BACKBONE: {DEPTH: 50, WITH_IBN: False, WITH_NL: no}\n  HEADS: {NAME: BNneckHead, POOL_LAYER: avgpool}",
     OLD_NORM, "- stride=1" USUAL_SIZE},
    {"MODEL: {HEADS: {NAME: EmbeddingHead, POOL_LAYER: GeneralizedMeanPooling, WITH_BNNECK: True}}", OLD_NORM | LEARNED,
     "- stride=1" USUAL_SIZE},
    {"MODEL: {}\nINPUT:\n  SIZE_TEST: (256, 256,)", NORM,
     "resnet50-fastreid stride=1 size=256x256 resize=0 straight" USUAL},
    {"MODEL: {}\nINPUT:\n  SIZE_TEST: '[ 320,160 ]'", NORM,
     "resnet50-fastreid stride=1 size=320x160 resize=0 straight" USUAL},
    {"MODEL: {}\nINPUT: {SIZE_TEST: [256], CROP: {ENABLED: True}}", NORM,
     "resnet50-fastreid stride=1 size=224x224 resize=256" USUAL},
    {"MODEL: {}\nINPUT: {SIZE_TEST: [256], CROP: {ENABLED: True, SIZE: [192, 96]}}", NORM,
     "resnet50-fastreid stride=1 size=192x96 resize=256" USUAL},
    {"MODEL: {}\nINPUT: {SIZE_TEST: [256], CROP: {ENABLED: True, SIZE: [200]}}", NORM,
     "resnet50-fastreid stride=1 size=200x200 resize=256" USUAL},
    {"MODEL: {}\nINPUT: {SIZE_TEST: [256], CROP: {ENABLED: True, SIZE: [192, 288]}}", NORM,
     "resnet50-fastreid stride=1 (the crop is larger than the resized image)" USUAL},
    {"MODEL: {}\nINPUT: {SIZE_TEST: [256]}", NORM,
     "resnet50-fastreid stride=1 (a resize of only the short side keeps the images' shapes)" USUAL},
    {"MODEL: {}\nINPUT: {CROP: {ENABLED: True}}", NORM,
     "resnet50-fastreid stride=1 (no preset crops after a resize to a height and a width)" USUAL},
    {"MODEL: {}\nINPUT: {SIZE_TEST: [0, 0]}", NORM, "resnet50-fastreid stride=1 (it does not resize images)" USUAL},
};

static void test_meanings(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof MEANINGS / sizeof *MEANINGS; i++) {
        text why = TEXT_INIT, out = TEXT_INIT;
        fastreid_config f;
        put_file("config.yaml", MEANINGS[i].file);
        if (!read_beside(&f, MEANINGS[i].parts, &why)) fail_msg("row %zu: %s", i, why.s);
        put_meaning(&f, &out);
        assert_string_equal(out.s, MEANINGS[i].meaning);
        assert_string_equal(f.input.name, "config.yaml");
        text_free(&why), text_free(&out);
    }
    drop_file("config.yaml");
}

/* --- what is refused ---------------------------------------------------------------------------------------------- */

#define NEXT "config.yaml next to the file: "
static const struct { const char *file; int parts; const char *why; } REFUSED[] = {
    {"MODEL: [", NORM, NEXT "line 1: the text ends within brackets"},
    {"services:\n  web:\n    image: x", NORM,
     "config.yaml next to the file has no map MODEL, so it is not fast-reid's; rename it"},
    {"MODEL: ''", NORM, "config.yaml next to the file has no map MODEL, so it is not fast-reid's; rename it"},
    {"MODEL:\n  META_ARCHITECTURE: MGN", NORM,
     NEXT "line 2: MODEL.META_ARCHITECTURE is MGN; convert supports Baseline|MoCo|Distiller"},
    {"MODEL:\n  BACKBONE:\n    NAME: build_osnet_backbone", NORM,
     NEXT "line 3: MODEL.BACKBONE.NAME is build_osnet_backbone; convert supports build_resnet_backbone"},
    {"MODEL: {BACKBONE: {NAME: }}", NORM, NEXT "line 1: expected a value; one that begins with } must be quoted"},
    {"MODEL: {BACKBONE: {NAME: ''}}", NORM,
     NEXT "line 1: MODEL.BACKBONE.NAME is empty; convert supports build_resnet_backbone"},
    {"MODEL: {BACKBONE: {NORM: GN}}", NORM,
     NEXT "line 1: MODEL.BACKBONE.NORM is GN; convert supports BN|SyncBN|syncBN|GhostBN|FrozenBN"},
    {"MODEL: {BACKBONE: {WITH_SE: True}}", NORM, NEXT "line 1: MODEL.BACKBONE.WITH_SE is True; convert supports False"},
    {"MODEL: {BACKBONE: {LAST_STRIDE: 3}}", NORM, NEXT "line 1: MODEL.BACKBONE.LAST_STRIDE is 3; convert supports 1|2"},
    {"MODEL: {BACKBONE: {LAST_STRIDE: [1, 2, 3, 4, 5]}}", NORM,
     NEXT "line 1: MODEL.BACKBONE.LAST_STRIDE is [1, 2, 3, 4, ...]; convert supports 1|2"},
    {"MODEL: {BACKBONE: {FEAT_DIM: 768}}", NORM, NEXT "line 1: MODEL.BACKBONE.FEAT_DIM is 768; convert supports 2048"},
    {"MODEL: {HEADS: {NAME: ReductionHead}}", NORM,
     NEXT "line 1: MODEL.HEADS.NAME is ReductionHead; convert supports EmbeddingHead|BNneckHead"},
    {"MODEL: {HEADS: {NAME: BNneckHead}}", NORM, NEXT "line 1: MODEL.HEADS.NAME is BNneckHead, but the checkpoint's "
     "tensors are named as EmbeddingHead names them"},
    {"MODEL: {HEADS: {NECK_FEAT: both}}", NORM, NEXT "line 1: MODEL.HEADS.NECK_FEAT is both; convert supports "
     "before|after"},
    {"MODEL: {HEADS: {WITH_BNNECK: False}}", NORM,
     NEXT "line 1: MODEL.HEADS.WITH_BNNECK is False, but the checkpoint has batch norm in its head"},
    {"MODEL: {HEADS: {WITH_BNNECK: True}}", 0,
     NEXT "line 1: MODEL.HEADS.WITH_BNNECK is True, but the checkpoint has no batch norm in its head"},
    {"MODEL: {BACKBONE: {DEPTH: 101x}}", NORM, NEXT "line 1: MODEL.BACKBONE.DEPTH is 101x, but the checkpoint is a "
     "ResNet-50"},
    {"MODEL: {BACKBONE: {DEPTH: 50x}}", NORM | DEEP,
     NEXT "line 1: MODEL.BACKBONE.DEPTH is 50x, but the checkpoint is a ResNet-101"},
    {"MODEL: {BACKBONE: {DEPTH: 50d}}", NORM, NEXT "line 1: MODEL.BACKBONE.DEPTH is 50d, but the checkpoint is a "
     "ResNet-50"},
    {"MODEL: {BACKBONE: {WITH_IBN: True}}", NORM,
     NEXT "line 1: MODEL.BACKBONE.WITH_IBN is True, but the checkpoint has no instance norms"},
    {"MODEL: {BACKBONE: {WITH_IBN: off}}", NORM | IBN,
     NEXT "line 1: MODEL.BACKBONE.WITH_IBN is off, but the checkpoint has instance norms"},
    {"MODEL: {BACKBONE: {WITH_IBN: 1}}", NORM, NEXT "line 1: MODEL.BACKBONE.WITH_IBN is 1; expected True or False"},
    {"MODEL: {BACKBONE: {WITH_NL: {}}}", NORM, NEXT "line 1: MODEL.BACKBONE.WITH_NL is a map; expected True or False"},
    {"MODEL: {BACKBONE: {WITH_NL: True}}", NORM | IBN,
     NEXT "line 1: MODEL.BACKBONE.WITH_NL is True, but the checkpoint has no non-local blocks"},
    {"MODEL: {HEADS: {POOL_LAYER: GlobalMaxPool}}", NORM,
     NEXT "line 1: MODEL.HEADS.POOL_LAYER is GlobalMaxPool; convert supports GlobalAvgPool|FastGlobalAvgPool|avgpool|"
     "fastavgpool|GeneralizedMeanPooling|GeneralizedMeanPoolingP|gempoolP|gempool"},
    {"MODEL: {HEADS: {POOL_LAYER: GlobalAvgPool}}", NORM | LEARNED,
     NEXT "line 1: MODEL.HEADS.POOL_LAYER is GlobalAvgPool, but the checkpoint has a learned exponent, pool_layer.p"},
    {"MODEL: {HEADS: {POOL_LAYER: GeneralizedMeanPooling}}", NORM | LEARNED, NEXT "line 1: MODEL.HEADS.POOL_LAYER is "
     "GeneralizedMeanPooling, but the checkpoint has a learned exponent, pool_layer.p"},
    {"MODEL: {HEADS: {POOL_LAYER: GlobalAvgPool}}", OLD_NORM | LEARNED,
     NEXT "line 1: MODEL.HEADS.POOL_LAYER is GlobalAvgPool, but the checkpoint has a learned exponent, pool_layer.p"},
    {"MODEL: {HEADS: {POOL_LAYER: gempoolP}}", NORM,
     NEXT "line 1: MODEL.HEADS.POOL_LAYER is gempoolP, but the checkpoint has no learned exponent, pool_layer.p"},
    {"MODEL: {HEADS: {EMBEDDING_DIM: 512}}", NORM,
     NEXT "line 1: MODEL.HEADS.EMBEDDING_DIM is 512, but the checkpoint has no linear layer in its head"},
    {"MODEL: {HEADS: {EMBEDDING_DIM: 0}}", REDUCED,
     NEXT "line 1: MODEL.HEADS.EMBEDDING_DIM is 0, but the checkpoint's embeddings have 512 values"},
    {"MODEL: {HEADS: {EMBEDDING_DIM: 256}}", NARROW,
     NEXT "line 1: MODEL.HEADS.EMBEDDING_DIM is 256; convert supports 0 and 512"},
    {"MODEL: {HEADS: {EMBEDDING_DIM: big}}", NORM,
     NEXT "line 1: MODEL.HEADS.EMBEDDING_DIM is big; expected a whole number"},
    {"MODEL: {}\nINPUT: {SIZE_TEST: [256, 128, 3]}", NORM,
     NEXT "line 2: INPUT.SIZE_TEST is [256, 128, 3]; expected a height and a width from 1 to 9999"},
    {"MODEL: {}\nINPUT: {SIZE_TEST: 256}", NORM,
     NEXT "line 2: INPUT.SIZE_TEST is 256; expected a height and a width from 1 to 9999"},
    {"MODEL: {}\nINPUT:\n  SIZE_TEST: (256, 128", NORM,
     NEXT "line 3: INPUT.SIZE_TEST is (256, 128; expected a height and a width from 1 to 9999"},
    {"MODEL: {}\nINPUT:\n  SIZE_TEST: (256,, 128)", NORM,
     NEXT "line 3: INPUT.SIZE_TEST is (256,, 128); expected a height and a width from 1 to 9999"},
    {"MODEL: {}\nINPUT: {SIZE_TEST: [256, 128.5]}", NORM,
     NEXT "line 2: INPUT.SIZE_TEST is [256, 128.5]; expected a height and a width from 1 to 9999"},
    {"MODEL: {}\nINPUT: {SIZE_TEST: [256], CROP: {ENABLED: True, SIZE: []}}", NORM,
     NEXT "line 2: INPUT.CROP.SIZE is []; expected a height and a width from 1 to 9999"},
    {"MODEL: {}\nINPUT: {CROP: {ENABLED: maybe}}", NORM,
     NEXT "line 2: INPUT.CROP.ENABLED is maybe; expected True or False"},
    {"MODEL: {PIXEL_MEAN: [0.485*255, 1, 1]}", NORM,
     NEXT "line 1: MODEL.PIXEL_MEAN is [0.485*255, 1, 1]; expected three numbers from 0 to 255"},
    {"MODEL: {PIXEL_MEAN: [1, 1, 256]}", NORM,
     NEXT "line 1: MODEL.PIXEL_MEAN is [1, 1, 256]; expected three numbers from 0 to 255"},
    {"MODEL: {PIXEL_STD: [0.229, 0.224, 0.225]}", NORM,
     NEXT "line 1: MODEL.PIXEL_STD is [0.229, 0.224, 0.225]; expected three numbers from 0.5 to 2550"},
    {"MODEL: {PIXEL_STD: [63.75, 63.75, 60]}", NORM | PIXELS,
     NEXT "line 1: MODEL.PIXEL_STD is [63.75, 63.75, 60], but the checkpoint has 63.75, 63.75, 63.75"},
};

static void test_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        text why = TEXT_INIT;
        fastreid_config f;
        put_file("config.yaml", REFUSED[i].file);
        if (read_beside(&f, REFUSED[i].parts, &why)) fail_msg("row %zu: accepted", i);
        assert_says_all(why.s, REFUSED[i].why);
        text_free(&why);
    }
    drop_file("config.yaml");
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void assert_means(int parts, const char *name, const char *meaning) {
    text why = TEXT_INIT, out = TEXT_INIT;
    fastreid_config f;
    if (!read_beside(&f, parts, &why)) fail_msg("%s", why.s);
    assert_string_equal(f.name, name);
    put_meaning(&f, &out);
    assert_string_equal(out.s, meaning);
    text_free(&why), text_free(&out);
}

/* Compares the reason after the folder's name, which differs from run to run. */
static void assert_refuses(int parts, const char *part) {
    text why = TEXT_INIT;
    fastreid_config f;
    assert_false(read_beside(&f, parts, &why));
    for (char *start; (start = strstr(why.s, folder)) != NULL;)
        memmove(start, start + strlen(folder), strlen(start + strlen(folder)) + 1);
    assert_says_all(why.s, part);
    text_free(&why);
}

static void test_names(void **state) {
    static made of;
    text why = TEXT_INIT;
    fastreid_config f;
    char path[200];
    (void)state;
    assert_true(read_beside(&f, NORM, &why));
    assert_null(f.name);
    put_file("config.yml", "MODEL: {BACKBONE: {LAST_STRIDE: 2}}");
    assert_means(NORM, "config.yml", "resnet50-fastreid stride=2" USUAL_SIZE);
    put_file("config.yaml", "MODEL: {BACKBONE: {LAST_STRIDE: 1}}");
    assert_means(NORM, "config.yaml", "resnet50-fastreid stride=1" USUAL_SIZE);
    make(&of, NORM); /* a file of other training code: config.yaml is ignored */
    of.m.origin = "torchreid";
    path_of(path, "model_final.pth");
    assert_true(fastreid_config_read(&f, path, &of.c, &of.m, &why));
    assert_null(f.name);
    drop_file("config.yml"), drop_file("config.yaml");
    text_free(&why);
}

static void test_bases(void **state) {
    char path[200];
    (void)state;
    path_of(path, "sub");
    assert_int_equal(mkdir(path, 0700), 0);
    put_file("config.yaml", "_BASE_: sub/a.yml\nMODEL:\n  BACKBONE:\n    WITH_IBN: True\n"
                            "INPUT: {SIZE_TEST: [384, 128]}");
    put_file("sub/a.yml", "_BASE_: ../b.yaml\n\nMODEL:\n  HEADS:\n    POOL_LAYER: GeneralizedMeanPooling\n");
    put_file("b.yaml", "MODEL: {BACKBONE: {LAST_STRIDE: 2, WITH_IBN: False}, HEADS: {POOL_LAYER: GlobalAvgPool}}\n"
                       "INPUT: {SIZE_TEST: [256, 128, 3]}");
    assert_means(NORM | IBN, "config.yaml", "resnet50-ibn-fastreid-gem stride=2 size=384x128 resize=0 straight" USUAL);
    put_file("b.yaml", "MODEL:\n  HEADS:\n    EMBEDDING_DIM: 512");
    assert_refuses(NORM | IBN, "/sub/../b.yaml: line 3: MODEL.HEADS.EMBEDDING_DIM is 512, but the checkpoint has no "
                               "linear layer in its head");
    put_file("b.yaml", "MODEL: []");
    assert_refuses(NORM | IBN, NEXT "line 2: MODEL is a map, but in line 1 of /sub/../b.yaml it is not a map");
    put_file("b.yaml", "MODEL: {HEADS: {POOL_LAYER: {NAME: x}}}");
    assert_refuses(NORM | IBN, "/sub/a.yml: line 5: MODEL.HEADS.POOL_LAYER is GeneralizedMeanPooling, but in line 1 of "
                               "/sub/../b.yaml it is a map");
    put_file("b.yaml", "MODEL\n");
    assert_refuses(NORM | IBN, "/sub/../b.yaml: line 1: expected KEY: value, with a key of letters, digits, _ and -");
    put_file("b.yaml", "_BASE_: sub/a.yml");
    assert_refuses(NORM | IBN, "/sub/../sub/../sub/../sub/a.yml: line 1: _BASE_ is ../b.yaml; more than 8 files are "
                               "based on each other, perhaps in a circle");
    drop_file("b.yaml");
    assert_refuses(NORM | IBN, "/sub/../b.yaml: cannot open: No such file or directory");
    path_of(path, "b.yaml");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refuses(NORM | IBN, "/sub/../b.yaml: is not a regular file");
    drop_file("b.yaml"), drop_file("sub/a.yml"), drop_file("sub");
    static const char *const paths[][2] = {
        {"/etc/passwd", "/etc/passwd; expected a path relative to this file"},
        {"~/base.yml", "~/base.yml; expected a path relative to this file"},
        {"https://host/base.yml", "https://host/base.yml; expected a path relative to this file"},
        {"../secret.txt", "../secret.txt; expected the path of a .yml or .yaml file"},
        {"''", "empty; expected the path of a .yml or .yaml file"},
        {"[a.yml]", "[a.yml]; expected the path of a file"},
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char file[80], why[160];
        snprintf(file, sizeof file, "_BASE_: %s\n", paths[i][0]);
        snprintf(why, sizeof why, NEXT "line 1: _BASE_ is %s", paths[i][1]);
        put_file("config.yaml", file);
        assert_refuses(NORM, why);
    }
    drop_file("config.yaml");
}

/* Reads a file and its base, and writes the reason of a failure. file_read has the system's words for lack of
   memory. */
static void read_two(text *out) {
    text why = TEXT_INIT;
    fastreid_config f;
    if (read_beside(&f, NORM, &why)) text_puts(out, "read");
    else if (strstr(why.s, "cannot read: Cannot allocate memory")) text_no_memory(out);
    else text_join(out, &why);
    text_free(&why);
}

static void test_memory(void **state) {
    (void)state;
    put_file("config.yaml", "_BASE_: base.yml\nMODEL: {BACKBONE: {LAST_STRIDE: 2}}");
    put_file("base.yml", "MODEL: {HEADS: {POOL_LAYER: avgpool}}");
    assert_refusals_fail(read_two);
    put_file("base.yml", "MODEL: {HEADS: {POOL_LAYER: maxpool}}");
    assert_refusals_fail(read_two);
    drop_file("config.yaml"), drop_file("base.yml");
}

static int setup(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int teardown(void **state) {
    (void)state;
    return remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meanings), cmocka_unit_test(test_refused), cmocka_unit_test(test_names),
        cmocka_unit_test(test_bases),    cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
