#include "weights/dialects.h"

#include "base/memory.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const FATE_NAMES[FATES] = {"used", "reshaped", "carried", "dropped", "neck", "unknown", "mismatched",
                                        "head"};

/* --- layouts: the names of a trunk's tensors ---------------------------------------------------------------------- */

/* In `from`, # matches a number, and * at the end matches the rest. In `to`, # is the next of these numbers, #+ the
   next one plus 1, and * the rest. */
typedef struct rule {
    const char *from, *to;
} rule;

static const rule SAME[] = {{NULL, NULL}};

static const rule RESNET_CHILDREN[] = {
    {"0.*", "conv1.*"}, {"1.*", "bn1.*"}, {"4.*", "layer1.*"}, {"5.*", "layer2.*"}, {"6.*", "layer3.*"},
    {"7.*", "layer4.*"}, {NULL, NULL},
};

static const rule EFFICIENTNET_CHILDREN[] = {{"0.*", "features.*"}, {NULL, NULL}};

static const rule TIMM_EFFICIENTNET[] = {
    {"conv_stem.*", "features.0.0.*"},
    {"bn1.*", "features.0.1.*"},
    {"blocks.0.#.conv_dw.*", "features.1.#.block.0.0.*"}, /* the first stage does not expand */
    {"blocks.0.#.bn1.*", "features.1.#.block.0.1.*"},
    {"blocks.0.#.se.conv_reduce.*", "features.1.#.block.1.fc1.*"},
    {"blocks.0.#.se.conv_expand.*", "features.1.#.block.1.fc2.*"},
    {"blocks.0.#.conv_pw.*", "features.1.#.block.2.0.*"},
    {"blocks.0.#.bn2.*", "features.1.#.block.2.1.*"},
    {"blocks.#.#.conv_pw.*", "features.#+.#.block.0.0.*"},
    {"blocks.#.#.bn1.*", "features.#+.#.block.0.1.*"},
    {"blocks.#.#.conv_dw.*", "features.#+.#.block.1.0.*"},
    {"blocks.#.#.bn2.*", "features.#+.#.block.1.1.*"},
    {"blocks.#.#.se.conv_reduce.*", "features.#+.#.block.2.fc1.*"},
    {"blocks.#.#.se.conv_expand.*", "features.#+.#.block.2.fc2.*"},
    {"blocks.#.#.conv_pwl.*", "features.#+.#.block.3.0.*"},
    {"blocks.#.#.bn3.*", "features.#+.#.block.3.1.*"},
    {"conv_head.*", "features.8.0.*"},
    {"bn2.*", "features.8.1.*"},
    {"classifier.*", "classifier.1.*"},
    {NULL, NULL},
};

/* EfficientNetV2: stages 0 to 2 have no depthwise convolution. The head's number depends on the number of stages. */
#define TIMM_V2(HEAD)                                                                                                  \
    {"conv_stem.*", "features.0.0.*"}, {"bn1.*", "features.0.1.*"},                                                    \
    {"blocks.#.#.conv.*", "features.#+.#.block.0.0.*"}, {"blocks.#.#.conv_exp.*", "features.#+.#.block.0.0.*"},        \
    {"blocks.0.#.conv_pwl.*", "features.1.#.block.1.0.*"}, {"blocks.1.#.conv_pwl.*", "features.2.#.block.1.0.*"},      \
    {"blocks.2.#.conv_pwl.*", "features.3.#.block.1.0.*"}, {"blocks.#.#.conv_pw.*", "features.#+.#.block.0.0.*"},      \
    {"blocks.#.#.bn1.*", "features.#+.#.block.0.1.*"}, {"blocks.#.#.conv_dw.*", "features.#+.#.block.1.0.*"},          \
    {"blocks.#.#.bn2.*", "features.#+.#.block.1.1.*"},                                                                 \
    {"blocks.#.#.se.conv_reduce.*", "features.#+.#.block.2.fc1.*"},                                                    \
    {"blocks.#.#.se.conv_expand.*", "features.#+.#.block.2.fc2.*"},                                                    \
    {"blocks.#.#.conv_pwl.*", "features.#+.#.block.3.0.*"}, {"blocks.#.#.bn3.*", "features.#+.#.block.3.1.*"},         \
    {"conv_head.*", "features." HEAD ".0.*"}, {"bn2.*", "features." HEAD ".1.*"},                                      \
    {"classifier.*", "classifier.1.*"}, {NULL, NULL}
static const rule TIMM_V2_SIX[] = {TIMM_V2("7")}, TIMM_V2_SEVEN[] = {TIMM_V2("8")};

static const rule LUKEMELAS[] = {
    {"_conv_stem.*", "features.0.0.*"},
    {"_bn0.*", "features.0.1.*"},
    {"_blocks.0.#._depthwise_conv.*", "features.1.#.block.0.0.*"},
    {"_blocks.0.#._bn1.*", "features.1.#.block.0.1.*"},
    {"_blocks.0.#._se_reduce.*", "features.1.#.block.1.fc1.*"},
    {"_blocks.0.#._se_expand.*", "features.1.#.block.1.fc2.*"},
    {"_blocks.0.#._project_conv.*", "features.1.#.block.2.0.*"},
    {"_blocks.0.#._bn2.*", "features.1.#.block.2.1.*"},
    {"_blocks.#.#._expand_conv.*", "features.#+.#.block.0.0.*"},
    {"_blocks.#.#._bn0.*", "features.#+.#.block.0.1.*"},
    {"_blocks.#.#._depthwise_conv.*", "features.#+.#.block.1.0.*"},
    {"_blocks.#.#._bn1.*", "features.#+.#.block.1.1.*"},
    {"_blocks.#.#._se_reduce.*", "features.#+.#.block.2.fc1.*"},
    {"_blocks.#.#._se_expand.*", "features.#+.#.block.2.fc2.*"},
    {"_blocks.#.#._project_conv.*", "features.#+.#.block.3.0.*"},
    {"_blocks.#.#._bn2.*", "features.#+.#.block.3.1.*"},
    {"_conv_head.*", "features.8.0.*"},
    {"_bn1.*", "features.8.1.*"},
    {"_fc.*", "classifier.1.*"},
    {NULL, NULL},
};

/* Hugging Face's transformers: ResNetModel and, with the prefix "resnet.", ResNetForImageClassification. */
static const rule HUGGING_FACE_RESNET[] = {
    {"embedder.embedder.convolution.*", "conv1.*"},
    {"embedder.embedder.normalization.*", "bn1.*"},
    {"encoder.stages.#.layers.#.layer.0.convolution.*", "layer#+.#.conv1.*"},
    {"encoder.stages.#.layers.#.layer.0.normalization.*", "layer#+.#.bn1.*"},
    {"encoder.stages.#.layers.#.layer.1.convolution.*", "layer#+.#.conv2.*"},
    {"encoder.stages.#.layers.#.layer.1.normalization.*", "layer#+.#.bn2.*"},
    {"encoder.stages.#.layers.#.layer.2.convolution.*", "layer#+.#.conv3.*"},
    {"encoder.stages.#.layers.#.layer.2.normalization.*", "layer#+.#.bn3.*"},
    {"encoder.stages.#.layers.#.shortcut.convolution.*", "layer#+.#.downsample.0.*"},
    {"encoder.stages.#.layers.#.shortcut.normalization.*", "layer#+.#.downsample.1.*"},
    {NULL, NULL},
};

static const rule HUGGING_FACE_EFFICIENTNET[] = {
    {"embeddings.convolution.*", "features.0.0.*"},
    {"embeddings.batchnorm.*", "features.0.1.*"},
    {"encoder.blocks.0.#.depthwise_conv.depthwise_conv.*", "features.1.#.block.0.0.*"},
    {"encoder.blocks.0.#.depthwise_conv.depthwise_norm.*", "features.1.#.block.0.1.*"},
    {"encoder.blocks.0.#.squeeze_excite.reduce.*", "features.1.#.block.1.fc1.*"},
    {"encoder.blocks.0.#.squeeze_excite.expand.*", "features.1.#.block.1.fc2.*"},
    {"encoder.blocks.0.#.projection.project_conv.*", "features.1.#.block.2.0.*"},
    {"encoder.blocks.0.#.projection.project_bn.*", "features.1.#.block.2.1.*"},
    {"encoder.blocks.#.#.expansion.expand_conv.*", "features.#+.#.block.0.0.*"},
    {"encoder.blocks.#.#.expansion.expand_bn.*", "features.#+.#.block.0.1.*"},
    {"encoder.blocks.#.#.depthwise_conv.depthwise_conv.*", "features.#+.#.block.1.0.*"},
    {"encoder.blocks.#.#.depthwise_conv.depthwise_norm.*", "features.#+.#.block.1.1.*"},
    {"encoder.blocks.#.#.squeeze_excite.reduce.*", "features.#+.#.block.2.fc1.*"},
    {"encoder.blocks.#.#.squeeze_excite.expand.*", "features.#+.#.block.2.fc2.*"},
    {"encoder.blocks.#.#.projection.project_conv.*", "features.#+.#.block.3.0.*"},
    {"encoder.blocks.#.#.projection.project_bn.*", "features.#+.#.block.3.1.*"},
    {"encoder.top_conv.*", "features.8.0.*"},
    {"encoder.top_bn.*", "features.8.1.*"},
    {NULL, NULL},
};

typedef struct layout {
    const char *name;
    const char *anchor; /* a tensor that it has; the part of its name before this is the prefix of the trunk */
    const char *flat;   /* blocks are numbered consecutively after this, so they are renumbered by stage before the
                           rules apply */
    const rule *rules;
} layout;

static const layout LAYOUTS[] = {
    {"torchvision ResNet", "layer4.0.conv1.weight", NULL, SAME},
    {"torchvision EfficientNet", "features.1.0.block.0.0.weight", NULL, SAME},
    {"timm EfficientNet", "blocks.0.0.conv_dw.weight", NULL, TIMM_EFFICIENTNET},
    {"timm EfficientNetV2", "blocks.0.0.conv.weight", NULL, TIMM_V2_SIX},
    {"timm EfficientNetV2", "blocks.0.0.conv.weight", NULL, TIMM_V2_SEVEN},
    {"timm EfficientNetV2", "blocks.0.0.conv_exp.weight", NULL, TIMM_V2_SIX},
    {"EfficientNet-PyTorch (lukemelas)", "_blocks.0._depthwise_conv.weight", "_blocks.", LUKEMELAS},
    {"ResNet as Sequential(*children())", "7.0.conv1.weight", NULL, RESNET_CHILDREN},
    {"EfficientNet as Sequential(*children())", "0.1.0.block.0.0.weight", NULL, EFFICIENTNET_CHILDREN},
    {"Hugging Face ResNet", "encoder.stages.3.layers.0.layer.0.convolution.weight", NULL, HUGGING_FACE_RESNET},
    {"Hugging Face EfficientNet", "encoder.blocks.0.depthwise_conv.depthwise_conv.weight", "encoder.blocks.",
     HUGGING_FACE_EFFICIENTNET},
};

/* --- origins: the training code, which decides preprocessing and details that have no tensors --------------------- */

typedef struct origin {
    const char *name;       /* NULL: unknown, but its max pool is */
    const char *marks[2];   /* patterns of names, all of which must match; "key:x" is a key of the outermost dict */
    const char *arch;       /* pattern of the text under "arch", or of the file's name; NULL: any */
    const char *without;    /* a pattern that must not match */
    const char *preset, *preset_why;
    int last_stride;
    const rule *networks;   /* maps a network to the one with the same tensors that computes this; NULL: to itself */
    const char *differs;    /* what it computes differently from a network that no rule maps to */
    const char *unsure;     /* a warning if a rule applied, to which the name of the other network is added; or NULL */
} origin;

static const rule FASTREID_NETWORKS[] = {
    {"resnet50-bnneck", "resnet50-fastreid"}, {"resnet50-fastreid-gem", "resnet50-fastreid-gem"},
    {"resnet50-fastreid-512", "resnet50-fastreid-512"}, {"resnet50-fastreid-gem-512", "resnet50-fastreid-gem-512"},
    {NULL, NULL}};
/* Before the batch norm was renamed from bnneck to bottleneck in September 2020, the only generalised mean was the one
   with a learned exponent, so the tensors say how the network pools. Many files of fast-reid's model zoo are that old;
   in some the norm has the new name, but its counter kept the old one (fast-reid's issues 486 and 617). */
static const rule FASTREID_2020_NETWORKS[] = {
    {"resnet50-bnneck", "resnet50-bnneck"}, {"resnet50-fastreid-gem", "resnet50-bnneck-gem"}, {NULL, NULL}};
/* Only fast-reid has a max pool without padding. */
static const rule PADDED_NETWORKS[] = {
    {"resnet50-fastreid-gem", "resnet50-bnneck-gem"}, {"resnet50-bnneck", "resnet50-bnneck"},
    {"resnet50", "resnet50"}, {NULL, NULL}};
static const rule STRONG_BASELINE_NETWORKS[] = {
    {"resnet50-fastreid-gem", "resnet50-strongbaseline-gem"}, {"resnet50-bnneck", "resnet50-strongbaseline"},
    {NULL, NULL}};
static const rule TIMM_V2_NETWORKS[] = {
    {"efficientnet_v2_*", "tf_efficientnetv2_*"}, {"efficientnetv2_*", "efficientnetv2_*"}, {NULL, NULL}};
static const rule TIMM_B5_NETWORKS[] = {{"efficientnet_b5", "timm_efficientnet_b5"}, {NULL, NULL}};
static const rule TENSORFLOW_NETWORKS[] = {{"efficientnet_b*", "tf_efficientnet_b*"}, {NULL, NULL}};

#define PADDED_POOL "the max pool after the first convolution is padded"
#define SAME_PADDING "trained with TensorFlow's padding (SAME) and batch-norm epsilon 1e-3"

static const origin ORIGINS[] = {
    {"fast-reid of 2020", {"*backbone.layer4.0.conv1.weight", "*heads.bnneck.*"}, NULL, NULL, "fastreid",
     "fast-reid's input", 1, FASTREID_2020_NETWORKS,
     "fast-reid's max pool after the first convolution had padding until November 2020", NULL},
    {"fast-reid", {"*backbone.layer4.0.conv1.weight", "*heads.*"}, NULL, NULL, "fastreid", "fast-reid's input", 1,
     FASTREID_NETWORKS, "fast-reid's max pool after the first convolution has no padding", NULL},
    {"strong-baseline", {"*base.layer4.0.conv1.weight", "*base.layer1.0.bn1.IN.weight"}, NULL, NULL, "strongbaseline",
     "strong-baseline's input", 1, PADDED_NETWORKS, PADDED_POOL, NULL},
    {"strong-baseline", {"*base.layer4.0.conv1.weight", NULL}, NULL, NULL, "strongbaseline", "strong-baseline's input",
     1, STRONG_BASELINE_NETWORKS, "strong-baseline's code has no ReLU after the first convolution",
     "strong-baseline's code has no ReLU after the first convolution; if the code that trained this file has one, give "
     "--net"},
    {"layumi", {"*classifier.add_block.*", "*layer4.0.conv1.weight"}, NULL, NULL, "fastreid",
     "layumi's input is fast-reid's: 256 x 128, bicubic", 2, NULL, NULL, NULL},
    {"torchreid (fc512)", {"*fc.0.weight", "*layer4.0.conv1.weight"}, NULL, "*fc_fusion.*", "torchreid",
     "torchreid's input", 1, NULL, NULL, NULL},
    {"torchreid", {"key:rank1", "*layer4.0.conv1.weight"}, NULL, NULL, "torchreid", "torchreid's input", 2,
     NULL, NULL, NULL},
    {"torchreid", {"*classifier.weight", "*layer4.0.conv1.weight"}, NULL, "*fc.weight", "torchreid",
     "the classifier has the name that torchreid gives it", 2, NULL, NULL, NULL},
    {"EfficientNet-PyTorch", {"*_blocks.0._depthwise_conv.weight", NULL}, NULL, NULL, NULL, NULL, 0,
     TENSORFLOW_NETWORKS, SAME_PADDING, NULL},
    {"Hugging Face", {"*encoder.stages.3.layers.0.layer.0.convolution.weight", NULL}, NULL, NULL, NULL, NULL, 2, NULL,
     NULL, NULL},
    {"Hugging Face", {"*encoder.blocks.0.depthwise_conv.depthwise_conv.weight", NULL}, NULL, NULL, NULL, NULL, 0,
     TENSORFLOW_NETWORKS, SAME_PADDING, NULL},
    {"timm (tf_)", {"*blocks.0.0.conv_dw.weight", NULL}, "*tf_efficientnet*", NULL, NULL, NULL, 0,
     TENSORFLOW_NETWORKS, SAME_PADDING, NULL},
    {"timm", {"*blocks.0.0.conv_dw.weight", NULL}, "*efficientnet_b5*", NULL, NULL, NULL, 0, TIMM_B5_NETWORKS,
     "timm's batch-norm epsilon is 1e-5, torchvision's 1e-3", NULL},
    {"timm", {"*blocks.0.0.conv.weight", NULL}, NULL, NULL, NULL, NULL, 0, TIMM_V2_NETWORKS, SAME_PADDING, NULL},
    {"MiewID", {"*pool*.p", "*blocks.0.0.conv_exp.weight"}, NULL, NULL, "miewid", "MiewID's input", 0, NULL, NULL,
     NULL},
    {NULL, {"*layer4.0.conv1.weight", "*global_pool.p"}, NULL, NULL, NULL, NULL, 0, PADDED_NETWORKS, PADDED_POOL, NULL},
    {NULL, {"*layer4.0.conv1.weight", "*pooling.p"}, NULL, NULL, NULL, NULL, 0, PADDED_NETWORKS, PADDED_POOL, NULL},
};

/* Files whose names reveal how their network was trained. */
static const struct {
    const char *pattern, *preset, *why;
} KNOWN_FILES[] = {
    {"*0676ba61*", "torchvision-v1", "the file's name is that of torchvision's IMAGENET1K_V1"},
    {"*19c8e357*", "torchvision-v1", "the file's name is that of torchvision's first ResNet-50"},
    {"*11ad3fa6*", "torchvision-v2", "the file's name is that of torchvision's IMAGENET1K_V2"},
    {"*efficientnet_b0_rwightman*", "effnet-b0", "the file's name is that of torchvision's IMAGENET1K_V1"},
    {"*resnet50_a1_0-*", "timm-0.95", "the file's name is that of timm's resnet50.a1_in1k"},
    {"*resnet50.a1_in1k*", "timm-0.95", "the file's name is that of timm's resnet50.a1_in1k"},
    {"*tf_efficientnet_b0_ap-*", "timm-inception", "the file's name is that of timm's tf_efficientnet_b0.ap_in1k"},
    {"*tf_efficientnet_b0.ap_in1k*", "timm-inception", "the file's name is that of timm's tf_efficientnet_b0.ap_in1k"},
    {"*MegaDescriptor-T-CNN-288*", "mega", "the file's name is that of MegaDescriptor"},
};

/* --- tensors that the network does not have ----------------------------------------------------------------------- */

typedef struct leftover {
    const char *pattern;
    fate what;
    const char *meaning;
    int fatal; /* no option helps: this is another network */
} leftover;

#define BNNECK "a BNNeck: the embedding is the output of this batch norm, which this network lacks"
#define CLASSIFIER "a classifier for training"

static const leftover LEFTOVERS[] = {
    {"*num_batches_tracked", FATE_DROPPED, "a training counter", 0},
    {"*layer[0-9].*.se.*", FATE_NECK, "squeeze-excite blocks in a ResNet, which the networks here lack", 1},
    {"*layer[0-9].*.se_module.*", FATE_NECK, "squeeze-excite blocks in a ResNet, which the networks here lack",
     1},
    {"*fc_fusion.*", FATE_NECK, "torchreid's resnet50mid, whose embedding joins features from inside layer4", 1},
    {"*pool_layer.p", FATE_NECK, "GeM pooling with a learned exponent; this network averages", 0},
    {"*gem*.p", FATE_NECK, "GeM pooling with a learned exponent; this network averages", 0},
    {"*pool.p", FATE_NECK, "GeM pooling with a learned exponent; this network averages", 0},
    {"*classifier.add_block.*", FATE_NECK, "layumi's linear layer and batch norm: the embedding is their "
     "output", 0},
    {"*classifier.classifier.*", FATE_DROPPED, CLASSIFIER, 0},
    {"*bottleneck.*", FATE_NECK, BNNECK, 0},
    {"*bnneck.*", FATE_NECK, BNNECK, 0},
    {"*fc.[0-9].*", FATE_NECK, "a linear layer and batch norm before the classifier (torchreid's fc512): the embedding "
     "is their output", 0},
    {"*fc.[0-9][0-9].*", FATE_NECK, "linear layers before the classifier: the embedding is their output", 0},
    {"*embedding*", FATE_NECK, "a layer after the trunk: the embedding may be its output", 0},
    {"*heads.weight", FATE_DROPPED, CLASSIFIER, 0},
    {"*classifier*", FATE_DROPPED, CLASSIFIER, 0},
    {"*fc.weight", FATE_DROPPED, CLASSIFIER, 0},
    {"*fc.bias", FATE_DROPPED, CLASSIFIER, 0},
    {"*last_linear.*", FATE_DROPPED, CLASSIFIER, 0},
    {"*pixel_mean", FATE_DROPPED, "preprocessing, which becomes the preset's", 0},
    {"*pixel_std", FATE_DROPPED, "preprocessing, which becomes the preset's", 0},
    {"*data_preprocessor.mean", FATE_DROPPED, "preprocessing, which becomes the preset's", 0},
    {"*data_preprocessor.std", FATE_DROPPED, "preprocessing, which becomes the preset's", 0},
    {"final.*", FATE_DROPPED, CLASSIFIER, 0}, /* MiewID's, of ArcFace */
    {"*queue", FATE_DROPPED, "MoCo's queue of other images", 0},
    {"*queue_ptr", FATE_DROPPED, "MoCo's queue of other images", 0},
    {"n_averaged", FATE_DROPPED, "a training counter", 0},
    {"*criterion*", FATE_DROPPED, "a training loss", 0},
    {"*loss*", FATE_DROPPED, "a training loss", 0},
};

/* MiewID calls the batch norm after its pool "bn", a name that heads of other networks have, too. */
#define MIEWID_STEM "features.0.0.weight"

/* Names of tensors after the trunk, with any prefix. The first row that matches and whose tensor the network has
   applies, if the network also has `beside`. */
static const struct {
    const char *pattern, *name, *beside;
} NECKS[] = {
    {"*heads.pool_layer.p", "pool_layer.p", NULL}, /* fast-reid, whose bottleneck.0 used to be called bnneck */
    {"*heads.bottleneck.0.weight", "reduction.weight", NULL}, /* with EMBEDDING_DIM, which makes the batch norm
                                                                 bottleneck.1 */
    {"*heads.bottleneck.1.weight", "bottleneck.weight", NULL},
    {"*heads.bottleneck.1.bias", "bottleneck.bias", NULL},
    {"*heads.bottleneck.1.running_mean", "bottleneck.running_mean", NULL},
    {"*heads.bottleneck.1.running_var", "bottleneck.running_var", NULL},
    {"*bottleneck.0.weight", "bottleneck.weight", NULL},
    {"*bottleneck.0.bias", "bottleneck.bias", NULL},
    {"*bottleneck.0.running_mean", "bottleneck.running_mean", NULL},
    {"*bottleneck.0.running_var", "bottleneck.running_var", NULL},
    {"*bnneck.weight", "bottleneck.weight", NULL},
    {"*bnneck.bias", "bottleneck.bias", NULL},
    {"*bnneck.running_mean", "bottleneck.running_mean", NULL},
    {"*bnneck.running_var", "bottleneck.running_var", NULL},
    {"*bottleneck.weight", "bottleneck.weight", NULL},
    {"*bottleneck.bias", "bottleneck.bias", NULL},
    {"*bottleneck.running_mean", "bottleneck.running_mean", NULL},
    {"*bottleneck.running_var", "bottleneck.running_var", NULL},
    {"*pooling.p", "pool_layer.p", NULL}, /* MiewID's code; the published files have the other name */
    {"*global_pool.p", "pool_layer.p", NULL},
    {"bn.weight", "bottleneck.weight", MIEWID_STEM},
    {"bn.bias", "bottleneck.bias", MIEWID_STEM},
    {"bn.running_mean", "bottleneck.running_mean", MIEWID_STEM},
    {"bn.running_var", "bottleneck.running_var", MIEWID_STEM},
    {"*classifier.add_block.0.weight", "classifier.add_block.0.weight", NULL}, /* layumi, outside the trunk's prefix */
    {"*classifier.add_block.0.bias", "classifier.add_block.0.bias", NULL},
    {"*classifier.add_block.1.weight", "classifier.add_block.1.weight", NULL},
    {"*classifier.add_block.1.bias", "classifier.add_block.1.bias", NULL},
    {"*classifier.add_block.1.running_mean", "classifier.add_block.1.running_mean", NULL},
    {"*classifier.add_block.1.running_var", "classifier.add_block.1.running_var", NULL},
};

/* Names of parts of the trunk. A part that the network does not have means that this is another network, which may
   contain everything that the network needs, as ResNet-101 does for ResNet-50. No option accepts that. */
static const char *const TRUNKS[] = {"layer[0-9].*", "NL_[0-9].*", "features.*", "blocks.*", "_blocks.*"};

/* PyTorch's networks have these after the trunk. */
static const char *const CLASSIFIERS[] = {"fc.weight", "fc.bias", "classifier.1.weight", "classifier.1.bias"};

/* Common networks that are not supported. The first row that matches is reported. */
static const struct {
    const char *mark, *without, *what;
} STRANGERS[] = {
    {"*relative_position_bias_table", NULL, "a Swin transformer"},
    {"*visual.transformer.*", NULL, "CLIP"},
    {"*cls_token", NULL, "a vision transformer"},
    {"*class_token", NULL, "a vision transformer"},
    {"*attn.qkv.weight", NULL, "a vision transformer"},
    {"*conv2.0.gate.fc1.weight", NULL, "OSNet"},
    {"*layer1.0.conv2.fc1.weight", NULL, "ResNeSt"},
    {"*layer1.0.prelu.weight", NULL, "an ArcFace ResNet"},
    {"*body.0.res_layer.*", NULL, "an ArcFace ResNet"},
    {"*repeat_1.0.branch0.*", NULL, "FaceNet (Inception-ResNet)"},
    {"*layer4.0.conv1.weight", "*layer4.0.conv3.weight", "ResNet-18 or ResNet-34"},
    {"*conv1.0.weight", NULL, "a ResNet with a deep stem (timm's resnet50d or a related network)"},
    {"*features.1.0.layer_scale", NULL, "ConvNeXt"},
    {"*features.1.block.0.0.weight", NULL, "MobileNetV3"},
    {"*blocks.1.0.conv_pw.weight", "*blocks.1.0.se.conv_reduce.weight", "MobileNetV3 or a related network"},
    {"*features.3.squeeze.weight", NULL, "SqueezeNet"},
    {"*stage2.0.branch1.0.weight", NULL, "ShuffleNetV2"},
    {"*trunk_output.block1.*", NULL, "RegNet"},
    {"*encoder.stages.0.layers.0.layer.2.attention.*", NULL, "RegNet"},
    {"*encoder.stages.3.layers.0.layer.1.convolution.weight", "*encoder.stages.3.layers.0.layer.2.*",
     "ResNet-18 or ResNet-34"},
    {"*features.denseblock1.*", NULL, "DenseNet"},
    {"*stage2.0.branches.*", NULL, "HRNet"},
    {"*stages.0.blocks.0.*", NULL, "ConvNeXt or a related network"},
    {"*downsample_layers.0.0.weight", NULL, "ConvNeXt"},
    {"*Mixed_5b.*", NULL, "Inception"},
    {"*features.1.conv.0.0.weight", NULL, "MobileNetV2"},
    {"*features.0.weight", NULL, "VGG, AlexNet or a related network"},
};

/* If several groups of tensors fit equally well, these are preferred, in this order. Weight averages come last. */
static const char *const FAVOURITES[] = {"", "state_dict", "model_state_dict", "model", "net", "network", "params"};
static const char *const AVERAGES[] = {"*ema*", "*momentum*", "*encoder_k*", "*average*", "*swa*"};

/* --- renaming ----------------------------------------------------------------------------------------------------- */

enum { MAX_NUMBERS = 4 };

/* 1 if name matches the pattern; sets its numbers, and where the rest begins. */
static int fits(const char *pattern, const char *name, long *numbers, const char **rest) {
    int n = 0;
    for (; *pattern && *pattern != '*'; pattern++) {
        if (*pattern == '#') {
            char *end;
            if (*name < '0' || *name > '9' || n == MAX_NUMBERS) return 0;
            numbers[n++] = strtol(name, &end, 10);
            if (end - name > 4) return 0;
            name = end;
        } else if (*pattern != *name++) {
            return 0;
        }
    }
    *rest = name;
    return *pattern == '*' || !*name;
}

/* Renames by the first rule that matches; without one, copies the name. Returns NULL if memory runs out. */
static char *rewrite(const rule *rules, const char *name) {
    long numbers[MAX_NUMBERS];
    const char *rest;
    text out = TEXT_INIT;
    for (; rules->from; rules++) {
        if (!fits(rules->from, name, numbers, &rest)) continue;
        int n = 0;
        for (const char *to = rules->to; *to; to++) {
            if (*to == '*') text_puts(&out, rest);
            else if (*to != '#') text_putc(&out, *to);
            else {
                text_printf(&out, "%ld", numbers[n++] + (to[1] == '+'));
                to += to[1] == '+';
            }
        }
        if (text_failed(&out)) text_free(&out);
        return out.s;
    }
    return mem_copy(name, strlen(name));
}

/* Finds the stage and the index of block `number` in torchvision's order, from the names that the network needs. */
static int find_block(const network *n, long number, long *stage, long *place) {
    long seen = -1;
    for (long s = 1; s < 9; s++)
        for (long b = 0; b < 99; b++) {
            char start[64];
            snprintf(start, sizeof start, "features.%ld.%ld.block.", s, b);
            size_t len = strlen(start), low = 0, high = n->count;
            while (low < high) { /* finds the first name that is not less than start */
                size_t middle = low + (high - low) / 2;
                if (strcmp(n->wants[middle].name, start) < 0) low = middle + 1;
                else high = middle;
            }
            if (low == n->count || strncmp(n->wants[low].name, start, len) != 0) break;
            *stage = s - 1;
            *place = b;
            if (++seen == number) return 1;
        }
    return 0;
}

/* Torchvision's name for a name without prefix; NULL if memory runs out. */
static char *canonical(const layout *l, const network *n, const char *name) {
    long stage, place;
    size_t len = l->flat ? strlen(l->flat) : 0;
    if (len && strncmp(name, l->flat, len) == 0) {
        char *end, staged[MAX_NAME + 64];
        long number = strtol(name + len, &end, 10);
        if (end - name - (ptrdiff_t)len > 4 || !find_block(n, number, &stage, &place))
            return mem_copy(name, strlen(name));
        snprintf(staged, sizeof staged, "%s%ld.%ld%s", l->flat, stage, place, end);
        return rewrite(l->rules, staged);
    }
    return rewrite(l->rules, name);
}

/* --- one group, one layout, one network --------------------------------------------------------------------------- */

static int by_wanted_name(const void *a, const void *b) {
    return strcmp(((const want *)a)->name, ((const want *)b)->name);
}

static const want *find_want(const network *n, const char *name) {
    want key = {0};
    key.name = (char *)name; /* bsearch only compares */
    return n->count ? bsearch(&key, n->wants, n->count, sizeof key, by_wanted_name) : NULL;
}

static void add_shape(char *out, size_t size, const uint64_t *shape, int ndim) {
    size_t at = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < ndim && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%llu", i ? ", " : "", (unsigned long long)shape[i]);
    if (at < size) snprintf(out + at, size - at, "]");
}

/* 1 if both have the same dimensions in the same order, ignoring those of length 1. */
static int same_but_ones(const tensor *t, const want *w) {
    int i = 0, k = 0;
    for (;;) {
        while (i < t->ndim && t->shape[i] == 1) i++;
        while (k < w->ndim && w->shape[k] == 1) k++;
        if (i == t->ndim || k == w->ndim) return i == t->ndim && k == w->ndim;
        if (t->shape[i++] != w->shape[k++]) return 0;
    }
}

static fate compare_shape(const tensor *t, const want *w, char *note, size_t size) {
    char have[120], need[120];
    uint64_t count = 1;
    for (int i = 0; i < w->ndim; i++) count *= w->shape[i];
    if (!count && t->ndim == w->ndim && t->count) { /* the projection, which may have any width */
        int same = 1;
        for (int i = 0; i < w->ndim; i++) same = same && (!w->shape[i] || w->shape[i] == t->shape[i]);
        if (same) return FATE_USED;
    }
    if (t->ndim == w->ndim && memcmp(t->shape, w->shape, (size_t)t->ndim * sizeof *t->shape) == 0) return FATE_USED;
    add_shape(need, sizeof need, w->shape, w->ndim);
    if (t->ndim < 0) snprintf(have, sizeof have, "%llu values", (unsigned long long)t->count);
    else add_shape(have, sizeof have, t->shape, t->ndim);
    if (t->count == count && (t->ndim < 0 || same_but_ones(t, w))) {
        snprintf(note, size, "%s to %s", have, need);
        return FATE_RESHAPED;
    }
    snprintf(note, size, "shape is %s, %s is needed", have, need);
    return FATE_MISMATCHED;
}

static fate compare_wanted(const tensor *t, const want *w, char *note, size_t size) {
    static const char *const good[] = {"F32", "F16", "BF16", "F64"};
    if (t->opaque) {
        snprintf(note, size, "is %.120s, which is not stored as plain values", t->opaque);
        return FATE_MISMATCHED;
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (t->type->name && strcmp(t->type->name, good[i]) == 0) return compare_shape(t, w, note, size);
    snprintf(note, size, "its values are %s; float32, float16, bfloat16 or float64 is needed", t->type->torch);
    return FATE_MISMATCHED;
}

/* 1 for small tensors of PyTorch's network that the embedding does not need. They are copied, too. */
static int is_carried(const checkpoint *c, const network *n, const tensor *t, const char *name) {
    size_t len = strlen(name), tail = strlen("num_batches_tracked");
    if (t->opaque || t->ndim < 0 || !t->type->name) return 0;
    if (t->count > c->storages[t->storage].bytes / (uint64_t)t->type->bytes) return 0; /* a view that repeats values */
    if (len > tail && strcmp(name + len - tail, "num_batches_tracked") == 0) {
        text mean = TEXT_INIT;
        text_add(&mean, name, len - tail);
        text_puts(&mean, "running_mean");
        int known = find_want(n, mean.s) != NULL;
        text_free(&mean);
        return known && t->count == 1;
    }
    const int fc = strncmp(n->name, "resnet", 6) == 0; /* a ResNet's is "fc", an EfficientNet's is "classifier.1" */
    for (size_t i = 0; i < sizeof CLASSIFIERS / sizeof *CLASSIFIERS; i++)
        if (strcmp(name, CLASSIFIERS[i]) == 0) return (name[0] == 'f') == fc;
    return 0;
}

static const leftover *find_leftover(const char *name) {
    for (size_t i = 0; i < sizeof LEFTOVERS / sizeof *LEFTOVERS; i++)
        if (fnmatch(LEFTOVERS[i].pattern, name, 0) == 0) return &LEFTOVERS[i];
    return NULL;
}

static void judge(const checkpoint *c, const network *n, mapped *m, int inside) {
    m->wanted = find_want(n, m->name);
    if (m->wanted) {
        m->what = compare_wanted(m->from, m->wanted, m->note, sizeof m->note);
        return;
    }
    const leftover *l = find_leftover(m->from->name);
    m->what = is_carried(c, n, m->from, m->name) ? FATE_CARRIED : l ? l->what : FATE_UNKNOWN;
    if (l && m->what != FATE_CARRIED) snprintf(m->note, sizeof m->note, "%s", l->meaning);
    for (size_t i = 0; i < sizeof TRUNKS / sizeof *TRUNKS && m->what == FATE_UNKNOWN && inside; i++)
        m->trunk |= fnmatch(TRUNKS[i], m->name, 0) == 0;
}

static int by_mapped_name(const void *a, const void *b) {
    const mapped *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->from->name, y->from->name);
}

static int find_missing(mapping *m) {
    size_t i = 0;
    m->missing = mem_array(m->network->count, sizeof *m->missing);
    if (!m->missing) return 0;
    for (size_t k = 0; k < m->network->count; k++) { /* both are sorted by name */
        const want *w = &m->network->wants[k];
        while (i < m->count && strcmp(m->at[i].name, w->name) < 0) i++;
        if (i == m->count || strcmp(m->at[i].name, w->name) != 0) m->missing[m->missing_count++] = w;
    }
    return 1;
}

/* The network's name for a tensor after the trunk, or NULL. */
static const char *neck_name(const network *n, const char *name) {
    for (size_t i = 0; i < sizeof NECKS / sizeof *NECKS; i++)
        if (fnmatch(NECKS[i].pattern, name, 0) == 0 && find_want(n, NECKS[i].name) &&
            (!NECKS[i].beside || find_want(n, NECKS[i].beside))) return NECKS[i].name;
    return NULL;
}

/* Returns 0 when memory runs out; free it in any case. */
static int mapping_build(mapping *m, const checkpoint *c, const layout *l, const char *prefix, const network *n) {
    size_t cap = 0, len = strlen(prefix);
    m->layout = l->name;
    m->network = n;
    snprintf(m->prefix, sizeof m->prefix, "%s", prefix);
    for (size_t i = 0; i < c->groups[m->group].tensors; i++) {
        const tensor *t = &c->tensors[c->groups[m->group].first + i];
        int inside = strncmp(t->name, prefix, len) == 0;
        if (!GROW(m->at, m->count, cap)) return 0;
        mapped *one = &m->at[m->count++];
        memset(one, 0, sizeof *one);
        one->from = t;
        const char *neck = neck_name(n, t->name);
        one->name = neck ? mem_copy(neck, strlen(neck))
                  : inside ? canonical(l, n, t->name + len) : mem_copy(t->name, strlen(t->name));
        if (!one->name) return 0;
        judge(c, n, one, inside);
        m->by_fate[one->what]++;
    }
    if (m->count) qsort(m->at, m->count, sizeof *m->at, by_mapped_name);
    return find_missing(m);
}

void mapping_free(mapping *m) {
    for (size_t i = 0; i < m->count; i++) free(m->at[i].name);
    free(m->at);
    free(m->missing);
    text_free(&m->problem);
    memset(m, 0, sizeof *m);
}

/* --- the best mapping --------------------------------------------------------------------------------------------- */

/* The number of tensors that the network needs and the file lacks or has in another shape or type. */
static size_t lacking(const mapping *m) { return m->missing_count + m->by_fate[FATE_MISMATCHED]; }

static size_t difference(const mapping *m) {
    return lacking(m) + m->by_fate[FATE_UNKNOWN] + m->by_fate[FATE_NECK];
}

static int matches_any(const checkpoint *c, int group, const char *pattern) {
    if (strncmp(pattern, "key:", 4) == 0) {
        for (size_t i = 0; i < c->key_count; i++)
            if (strcmp(c->keys[i], pattern + 4) == 0) return 1;
        return 0;
    }
    const tensor *t = c->tensors + c->groups[group].first;
    for (size_t i = 0; i < c->groups[group].tensors; i++)
        if (fnmatch(pattern, t[i].name, 0) == 0) return 1;
    return 0;
}

static int rank_of(const char *path, const char *prefix) {
    const char *last = strrchr(path, '.');
    last = last ? last + 1 : path;
    for (size_t i = 0; i < sizeof AVERAGES / sizeof *AVERAGES; i++)
        if (fnmatch(AVERAGES[i], path, 0) == 0 || fnmatch(AVERAGES[i], prefix, 0) == 0) return 100;
    for (size_t i = 0; i < sizeof FAVOURITES / sizeof *FAVOURITES; i++)
        if (strcmp(last, FAVOURITES[i]) == 0) return (int)i;
    return 50;
}

enum { PREFIX = 64 }; /* bytes */

/* If the name ends with the anchor, sets prefix to the part before it ("model."). Otherwise returns 0. */
static int prefix_of(const char *name, const char *anchor, char prefix[PREFIX]) {
    size_t n = strlen(name), a = strlen(anchor);
    if (n < a || strcmp(name + n - a, anchor) != 0 || (n > a && name[n - a - 1] != '.') || n - a >= PREFIX) return 0;
    memcpy(prefix, name, n - a);
    prefix[n - a] = 0;
    return 1;
}

enum { KEY = 2 * PREFIX + 96 };

/* What --key takes for a network at this place: the group's path, then the prefix of its tensors. */
static const char *key_of(char key[KEY], const char *path, const char *prefix) {
    size_t n = strlen(prefix);
    snprintf(key, KEY, "%.150s%s%.*s", path, *path && n ? "." : "", n ? (int)n - 1 : 0, prefix);
    return key;
}

/* The whole key, or one of its two parts. */
static int is_asked_for(const char *key, const char *path, const char *prefix) {
    char whole[KEY];
    size_t n = strlen(prefix);
    if (!key || strcmp(key, path) == 0 || strcmp(key, key_of(whole, path, prefix)) == 0) return 1;
    return n > 0 && strlen(key) == n - 1 && strncmp(key, prefix, n - 1) == 0;
}

enum { MAX_TRIES = 64 }; /* places where a network could stand, so that no file makes this slow */

/* A place where a network stands. */
typedef struct place {
    int group, asked; /* asked: by --key, or without one */
    char prefix[PREFIX];
    size_t difference; /* of the network that fits best; SIZE_MAX: none was tried */
} place;

typedef struct search {
    const checkpoint *c;
    const network *networks;
    size_t count;
    const char *asked, *key;
    mapping *best;
    int found, tries, no_memory;
    place places[MAX_TRIES];
    int place_count;
} search;

/* Finds or adds the place; NULL if there are too many. */
static place *place_at(search *s, int group, const char *prefix) {
    for (int i = 0; i < s->place_count; i++)
        if (s->places[i].group == group && strcmp(s->places[i].prefix, prefix) == 0) return &s->places[i];
    if (s->place_count == MAX_TRIES) return NULL;
    place *p = &s->places[s->place_count++];
    *p = (place){.group = group, .difference = SIZE_MAX};
    snprintf(p->prefix, sizeof p->prefix, "%s", prefix);
    return p;
}

static void try_network(search *s, place *at, const layout *l, const network *n) {
    mapping m;
    const int group = at->group;
    const char *prefix = at->prefix;
    const char *path = s->c->groups[group].path;
    memset(&m, 0, sizeof m);
    m.group = group;
    if (!mapping_build(&m, s->c, l, prefix, n)) {
        s->no_memory = 1;
        mapping_free(&m);
        return;
    }
    mapping *b = s->best;
    size_t mine = difference(&m), best = s->found ? difference(b) : SIZE_MAX;
    if (mine < at->difference) at->difference = mine;
    int same_place = s->found && b->group == group && strcmp(b->prefix, prefix) == 0;
    int rank = rank_of(path, prefix), best_rank = s->found ? rank_of(s->c->groups[b->group].path, b->prefix) : 0;
    if (mine < best || (mine == best && !same_place && rank < best_rank)) {
        mapping_free(b);
        *b = m;
        s->found = 1;
    } else {
        mapping_free(&m);
    }
}

static void try_layout(search *s, const tensor *t, const layout *l) {
    char prefix[PREFIX];
    place *at = prefix_of(t->name, l->anchor, prefix) ? place_at(s, t->group, prefix) : NULL;
    if (!at) return;
    at->asked = is_asked_for(s->key, s->c->groups[t->group].path, prefix);
    if (at->asked && s->tries++ < MAX_TRIES)
        for (size_t i = 0; i < s->count; i++)
            if (!s->asked || strcmp(s->asked, s->networks[i].name) == 0) try_network(s, at, l, &s->networks[i]);
}

/* Tensors of the other networks in the same group are not left over from this one. */
static void drop_others(search *s, const place *other) {
    mapping *m = s->best;
    char key[KEY];
    size_t n = strlen(other->prefix);
    if (other->group != m->group || !n || strncmp(m->prefix, other->prefix, n) == 0) return;
    for (size_t i = 0; i < m->count; i++) {
        mapped *one = &m->at[i];
        if ((one->what != FATE_UNKNOWN && one->what != FATE_NECK) || strncmp(one->from->name, other->prefix, n) != 0)
            continue;
        m->by_fate[one->what]--, m->by_fate[FATE_DROPPED]++;
        one->what = FATE_DROPPED, one->trunk = 0;
        snprintf(one->note, sizeof one->note, "of another network: --key %.200s",
                 key_of(key, s->c->groups[other->group].path, other->prefix));
    }
}

/* Lists the networks that fit as well as the one that was chosen. If its name does not make it the first choice, there
   is none. */
static void find_others(search *s) {
    mapping *m = s->best;
    const char *path = s->c->groups[m->group].path;
    const size_t best = difference(m);
    const int rank = rank_of(path, m->prefix);
    char key[KEY], other[KEY];
    int equals = 0;
    for (int i = 0; i < s->place_count; i++) {
        const place *p = &s->places[i];
        const char *their = s->c->groups[p->group].path;
        if (p->group == m->group && strcmp(p->prefix, m->prefix) == 0) continue;
        if (p->asked && p->difference == best) {
            size_t at = strlen(m->others);
            equals += rank_of(their, p->prefix) == rank;
            snprintf(m->others + at, sizeof m->others - at, "%s%s", at ? ", " : "", key_of(other, their, p->prefix));
        }
        drop_others(s, p);
    }
    if (equals)
        text_printf(&m->problem, "the file holds several networks, and none of them is the obvious one; choose with "
                                 "--key %s, or another of: %s", key_of(key, path, m->prefix), m->others);
}

static int add_bytes(void *user, const void *bytes, size_t size) { return text_add(user, bytes, size), 1; }

/* Reads three numbers, or one for all of them. */
static int read_three(const checkpoint *c, const tensor *t, double to[3]) {
    text bytes = TEXT_INIT, why = TEXT_INIT;
    int is_double = t->type && t->type->bytes == 8;
    int good = !t->opaque && t->type && t->type->name && (t->count == 1 || t->count == 3) &&
               (strcmp(t->type->name, "F32") == 0 || strcmp(t->type->name, "F64") == 0) &&
               checkpoint_values(c, t, add_bytes, &bytes, &why) && bytes.len == t->count * (size_t)t->type->bytes;
    for (size_t k = 0; k < 3 && good; k++) {
        size_t from = t->count == 1 ? 0 : k;
        float single = 0;
        if (is_double) memcpy(&to[k], bytes.s + 8 * from, 8);
        else memcpy(&single, bytes.s + 4 * from, 4), to[k] = (double)single;
        good = to[k] >= 0 && to[k] <= 255;
    }
    text_free(&bytes), text_free(&why);
    return good;
}

/* fast-reid and MMPreTrain keep what they subtract from pixels, and what they divide by, as tensors. */
static void find_pixels(mapping *m, const checkpoint *c) {
    int mean = 0, std = 0;
    for (size_t i = 0; i < m->count; i++) {
        const tensor *t = m->at[i].from;
        int is_mean = fnmatch("*pixel_mean", t->name, 0) == 0 || fnmatch("*data_preprocessor.mean", t->name, 0) == 0;
        int is_std = fnmatch("*pixel_std", t->name, 0) == 0 || fnmatch("*data_preprocessor.std", t->name, 0) == 0;
        if (is_mean && !mean) mean = read_three(c, t, m->pixel_mean);
        if (is_std && !std) std = read_three(c, t, m->pixel_std);
    }
    for (size_t i = 0; i < c->tensor_count && !(mean && std); i++) { /* training code that stores them on their own */
        const tensor *t = &c->tensors[i];
        double *to = strcmp(t->name, "mean") == 0 ? m->pixel_mean : strcmp(t->name, "std") == 0 ? m->pixel_std : NULL;
        if (!to || t->group == m->group || t->count != 3 || !read_three(c, t, to)) continue;
        for (int k = 0; k < 3; k++) to[k] *= to[k] <= 1 ? 255 : 1;
        if (to == m->pixel_mean) mean = 1;
        else std = 1;
    }
    m->has_pixels = mean && std && m->pixel_std[0] > 0 && m->pixel_std[1] > 0 && m->pixel_std[2] > 0;
}

/* The name of an unsupported network whose tensors are in the group, or NULL. */
static const char *stranger(const checkpoint *c, int group) {
    for (size_t i = 0; i < sizeof STRANGERS / sizeof *STRANGERS; i++)
        if (matches_any(c, group, STRANGERS[i].mark) &&
            !(STRANGERS[i].without && matches_any(c, group, STRANGERS[i].without)))
            return STRANGERS[i].what;
    return NULL;
}

/* Says why nothing fits. */
static int refuse_stranger(const checkpoint *c, const mapping *best, text *why) {
    for (size_t g = 0; g < c->group_count; g++) {
        const char *what = stranger(c, (int)g);
        if (what) return refuse(why, "these are the tensors of %s, which is not supported", what);
    }
    if (best)
        return refuse(why, "of the %zu tensors that %s needs, %zu %s missing or %s another shape, and no other "
                      "network fits better", best->network->count, best->network->name, lacking(best),
                      lacking(best) == 1 ? "is" : "are", lacking(best) == 1 ? "has" : "have");
    return refuse(why, "no known network matches its %zu tensor name%s (\"%.100s\"%s)", c->tensor_count,
                  plural(c->tensor_count), c->tensors[0].name, c->tensor_count > 1 ? ", ..." : "");
}

/* The listed network to which a rule maps this one and that has as many tensors, or NULL. Sets *no_memory if memory
   runs out. */
static const network *variant_of(const network *n, const rule *rules, const network *networks, size_t count,
                                 int *no_memory) {
    long numbers[MAX_NUMBERS];
    const char *rest;
    const network *found = NULL;
    while (rules->from && !fits(rules->from, n->listed, numbers, &rest)) rules++;
    if (!rules->from) return NULL;
    char *name = rewrite(rules, n->listed);
    *no_memory = !name;
    for (size_t k = 0; k < count && !found && name; k++)
        if (strcmp(networks[k].listed, name) == 0 && networks[k].count == n->count) found = &networks[k];
    free(name);
    return found;
}

/* 1 if a rule maps a network to this one, so that it is what the origin computes. */
static int is_variant(const network *n, const rule *rules) {
    long numbers[MAX_NUMBERS];
    const char *rest;
    while (rules->from && !fits(rules->to, n->listed, numbers, &rest)) rules++;
    return rules->from != NULL;
}

/* Returns 0 if memory runs out. */
static int find_origin(mapping *m, const checkpoint *c, const network *networks, size_t count, const char *asked,
                        const char *file) {
    for (size_t i = 0; i < sizeof ORIGINS / sizeof *ORIGINS; i++) {
        const origin *o = &ORIGINS[i];
        int good = 1;
        for (int k = 0; k < 2 && o->marks[k]; k++) good = good && matches_any(c, m->group, o->marks[k]);
        if (o->arch && fnmatch(o->arch, c->arch ? c->arch : file, 0) != 0) good = 0;
        if (!good || (o->without && matches_any(c, m->group, o->without))) continue;
        m->origin = o->name;
        m->preset = o->preset;
        m->preset_why = o->preset_why;
        m->last_stride = o->last_stride;
        if (!o->differs) return 1;
        int no_memory = 0;
        const network *variant = asked ? NULL : variant_of(m->network, o->networks, networks, count, &no_memory);
        if (no_memory) return 0;
        if (variant && o->unsure && !c->graph) /* a graph has all operations */
            snprintf(m->ambiguous, sizeof m->ambiguous, "%s %s", o->unsure, m->network->name);
        if (variant) m->network = variant;
        else if (!is_variant(m->network, o->networks))
            snprintf(m->differs, sizeof m->differs, "%s, unlike network %s", o->differs, m->network->name);
        return 1;
    }
    return 1;
}

/* Notes a last layer without ImageNet's 1000 classes: it was trained for something else and may be the embedding. */
static void find_wide(mapping *m) {
    size_t prefix = strlen(m->prefix), tail = strlen(".weight");
    for (size_t i = 0; i < m->count; i++) {
        const tensor *t = m->at[i].from;
        size_t len = strlen(t->name);
        if (m->at[i].what != FATE_CARRIED || t->ndim != 2 || t->shape[0] == 1000 || len < prefix + tail) continue;
        int name = (int)(len - prefix - tail);
        snprintf(m->wide, sizeof m->wide, "%.80s has %llu outputs, not ImageNet's 1000 classes; if these are the "
                 "embedding, give --head %.*s", t->name, (unsigned long long)t->shape[0],
                 name < 60 ? name : 60, t->name + prefix);
    }
}

/* timm's tf_ variants have the same tensors as the others: only a name tells them apart. */
static void find_twin(mapping *m, const checkpoint *c, const char *asked, const char *file) {
    if (asked || m->origin || strncmp(m->network->name, "efficientnet_b", 14) != 0) return;
    if (!matches_any(c, m->group, "*blocks.0.0.conv_dw.weight")) return;
    if (fnmatch("*efficientnet_b[0-9]*", c->arch ? c->arch : file, 0) == 0) return;
    const char *name = m->network->name;
    snprintf(m->ambiguous, sizeof m->ambiguous, "assumed to be %s, but timm's tf_%s has the same tensors and computes "
             "something else (padding and epsilon of TensorFlow), and neither the file nor its name says which "
             "one it is; give --net %s or --net tf_%s", name, name, name, name);
}

/* fast-reid's pools have no tensors, except the one with a learned exponent. The part of the network's name after which
   "-gem" stands if it pools with an exponent; NULL if the file says how it pools. */
static const char *unsaid_pool(const mapping *m, const checkpoint *c) {
    static const char fastreid[] = "-fastreid";
    const char *at = strstr(m->network->name, fastreid);
    if (!m->origin || strcmp(m->origin, "fast-reid") != 0 || !at || matches_any(c, m->group, "*pool_layer.p") ||
        c->graph) return NULL; /* onnx_names.c has read how a graph pools */
    return at + strlen(fastreid);
}

/* Supplies the exponent of fast-reid's GeneralizedMeanPooling, which is fixed in its code, if the network was asked
   for by name. */
static void find_exponent(mapping *m, const checkpoint *c, const char *asked) {
    if (!asked || !unsaid_pool(m, c) || m->missing_count != 1) return;
    if (strcmp(m->missing[0]->name, "pool_layer.p") != 0) return;
    m->exponent = 3;
    m->missing_count = 0;
}

/* Asks for the network's name where only that tells how the network pools. */
static void ask_for_pool(mapping *m, const checkpoint *c) {
    const char *name = m->network->name, *rest = unsaid_pool(m, c);
    if (!rest) return;
    text_printf(&m->problem, "fast-reid's file does not say how it pools: put the config.yaml of its training next to "
                "it, or give --net %s if POOL_LAYER in its configuration is GlobalAvgPool, FastGlobalAvgPool or "
                "avgpool, --net %.*s-gem%s if it is GeneralizedMeanPooling or gempool; other pools are not supported",
                name, (int)(rest - name), name, rest);
}

/* Finds the first reason why no option makes the mapping usable. */
static void find_problem(mapping *m, const checkpoint *c) {
    for (size_t i = 0; i < m->count; i++) {
        const leftover *l = m->at[i].what == FATE_NECK ? find_leftover(m->at[i].from->name) : NULL;
        if (!l || !l->fatal) continue;
        text_printf(&m->problem, "%s: %s", m->at[i].from->name, l->meaning);
        return;
    }
    const char *other = stranger(c, m->group);
    for (size_t i = 0; i < m->count; i++) {
        if (!m->at[i].trunk) continue;
        text_printf(&m->problem, "%s: network %s has no such layer; the file holds %s", m->at[i].from->name,
                    m->network->name, other ? other : "another network");
        return;
    }
    if (other && lacking(m)) {
        text_printf(&m->problem, "these are the tensors of %s, which is not supported", other);
        return;
    }
    for (size_t i = 1; i < m->count; i++)
        if (m->at[i].wanted && m->at[i].wanted == m->at[i - 1].wanted) {
            text_printf(&m->problem, "\"%s\" and \"%s\" both map to %s", m->at[i - 1].from->name, m->at[i].from->name,
                        m->at[i].name);
            return;
        }
    for (size_t i = 0; i < m->count; i++)
        if (m->at[i].what == FATE_MISMATCHED) {
            text_printf(&m->problem, "tensor %s: %s (network %s)", m->at[i].from->name, m->at[i].note,
                        m->network->name);
            return;
        }
    if (m->missing_count)
        text_printf(&m->problem, "tensor %s is missing%s (network %s)", m->missing[0]->name,
                    m->missing_count > 1 ? ", and others" : "", m->network->name);
}

/* Blocks that only deeper ResNets have, by the index of their trunk. */
static const struct {
    const char *pattern;
    int layers;
} DEEPER[] = {
    {"*layer3.6.conv1.weight", 1}, {"*encoder.stages.2.layers.6.layer.0.convolution.weight", 1},
    {"6.6.conv1.weight", 1},       {"*layer2.4.conv1.weight", 2},
    {"*encoder.stages.1.layers.4.layer.0.convolution.weight", 2}, {"5.4.conv1.weight", 2},
};

void trunk_of(const checkpoint *c, char trunk[TRUNK_NAME]) {
    static const char *const layers[] = {"50", "101", "152"};
    int deep = 0;
    const char *ibn = "", *nonlocal = "";
    for (size_t i = 0; i < c->tensor_count; i++) {
        const tensor *t = &c->tensors[i];
        for (size_t k = 0; k < sizeof DEEPER / sizeof *DEEPER; k++)
            if (DEEPER[k].layers > deep && fnmatch(DEEPER[k].pattern, t->name, 0) == 0) deep = DEEPER[k].layers;
        if (fnmatch("*layer[0-9].*.bn1.[BI]N.*", t->name, 0) == 0) ibn = "-ibn";
        else if (fnmatch("*layer[0-9].*.IN.weight", t->name, 0) == 0) ibn = "-ibnb";
        if (fnmatch("*NL_[0-9].*.theta.weight", t->name, 0) == 0)
            nonlocal = t->ndim > 0 && t->shape[0] == 1 ? "-nl" : "-nlhalf";
    }
    snprintf(trunk, TRUNK_NAME, "%s%s%s", layers[deep], ibn, deep == 2 ? "" : nonlocal);
}

int mapping_find(mapping *m, const checkpoint *c, const network *networks, size_t count, const char *asked,
                 const char *key, const char *file, text *why) {
    search s = {.c = c, .networks = networks, .count = count, .asked = asked, .key = key, .best = m};
    memset(m, 0, sizeof *m);
    for (size_t i = 0; i < c->tensor_count; i++)
        for (size_t k = 0; k < sizeof LAYOUTS / sizeof *LAYOUTS; k++) try_layout(&s, &c->tensors[i], &LAYOUTS[k]);
    if (s.no_memory) {
        mapping_free(m);
        return text_no_memory(why);
    }
    if (!s.found && key) return refuse(why, "no network was found under the key \"%.200s\"", key);
    if (!s.found || (lacking(m) * 2 > m->network->count && !asked)) {
        refuse_stranger(c, s.found ? m : NULL, why);
        mapping_free(m);
        return 0;
    }
    for (size_t i = 0; i < sizeof KNOWN_FILES / sizeof *KNOWN_FILES; i++)
        if (fnmatch(KNOWN_FILES[i].pattern, file, 0) == 0) {
            m->preset = KNOWN_FILES[i].preset;
            m->preset_why = KNOWN_FILES[i].why;
        }
    const char *preset = m->preset, *preset_why = m->preset_why;
    if (!find_origin(m, c, networks, count, asked, file)) {
        mapping_free(m);
        return text_no_memory(why);
    }
    if (preset) m->preset = preset, m->preset_why = preset_why;
    find_twin(m, c, asked, file);
    find_wide(m);
    find_pixels(m, c);
    find_others(&s);
    find_exponent(m, c, asked);
    if (!m->problem.len) find_problem(m, c);
    if (!m->problem.len && !asked) ask_for_pool(m, c);
    if (m->differs[0] && !asked && !m->problem.len)
        text_printf(&m->problem, "%s; to convert it anyway, give --net %s", m->differs, m->network->name);
    return 1;
}
