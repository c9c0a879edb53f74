"""Makes embeddings.txt and embeddings.bin: embeddings that PyTorch computes in float64 from seeded weights and pixels.

    python3 tests/golden/make_embeddings.py        needs torch, torchvision, timm and numpy; about five minutes

embeddings.txt has one line per case, embeddings.bin their L2-normalised rows as float32, little-endian, in the same
order. Weights come from seeded.py (the same bytes as build/seeded); pixels from `pixels` below, already in the
network's size, so that nothing is resampled. The table also has the errors of PyTorch's own float32 and bfloat16
results against its float64 result, to compare the library's errors with.
"""
import hashlib
import os
import zlib

import numpy as np
import torch
import torch.nn.functional as F
import timm
import torchvision

import seeded
import trunks

HERE = os.path.dirname(os.path.abspath(__file__))
MEAN = np.array([0.485, 0.456, 0.406]).reshape(3, 1, 1)
STD = np.array([0.229, 0.224, 0.225]).reshape(3, 1, 1)

# network, head ("file": the one in the weights), height, width, last stride, images
CASES = [
    ("resnet50", "none", 224, 224, 2, 2),
    ("resnet50", "none", 256, 128, 2, 2),
    ("resnet50", "none", 256, 128, 1, 1),
    ("resnet50", "none", 193, 101, 2, 1),
    ("resnet50-multiscale", "file", 224, 224, 2, 2),
    ("resnet50-multiscale", "file", 256, 128, 2, 2),
    ("resnet50-multiscale", "file", 193, 101, 2, 1),
    ("efficientnet_b0", "none", 224, 224, 2, 2),
    ("efficientnet_b0", "file", 224, 224, 2, 2),
    ("efficientnet_b0", "file", 107, 75, 2, 1),
    ("efficientnet_b3", "none", 96, 96, 2, 1),
    ("resnet50-bnneck", "none", 256, 128, 1, 1),
    ("resnet50-fastreid", "none", 193, 101, 2, 1),
    ("resnet50-fastreid-gem", "none", 256, 128, 1, 1),
    ("resnet50-fastreid-512", "none", 193, 101, 2, 1),
    ("resnet50-fastreid-gem-512", "none", 256, 128, 1, 1),
    ("resnet50-layumi", "none", 256, 128, 2, 1),
    ("resnet50-fc512", "none", 256, 128, 1, 1),
    ("tf_efficientnet_b0", "none", 224, 224, 2, 1),
    ("tf_efficientnet_b0", "file", 107, 75, 2, 1),
    ("tf_efficientnet_b3", "none", 96, 96, 2, 1),
    ("resnet50-ibn-bnneck", "none", 193, 101, 2, 1),
    ("resnet50-ibnb", "none", 128, 64, 2, 1),
    ("resnet50-ibn-nl-fastreid-gem", "none", 128, 64, 1, 1),
    ("resnet50-nlhalf-bnneck", "none", 128, 64, 1, 1),
    ("resnet101-ibn-fastreid-gem", "none", 128, 64, 1, 1),
    ("resnet50-bnneck-gem", "none", 128, 64, 1, 1),
    ("resnet50-strongbaseline", "none", 193, 101, 1, 1),
    ("resnet50-nlhalf-strongbaseline-gem", "none", 128, 64, 1, 1),
    ("efficientnet_b4", "none", 96, 96, 2, 1),
    ("efficientnet_v2_s", "none", 107, 75, 2, 1),
    ("tf_efficientnetv2_s", "none", 107, 75, 2, 1),
    ("efficientnetv2_rw_t", "none", 96, 96, 2, 1),
    ("efficientnetv2_rw_s", "none", 107, 75, 2, 1),
    ("miewid", "none", 96, 96, 2, 1),
]


def pixels(height, width, image):
    """(height, width, 3) uint8: triangle waves, squares and noise, integers only. Each image has its own mixture."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(3), indexing="ij")
    side = 8 << image
    wave = (x * (3 + 2 * c + 4 * image) + y * (7 - 2 * c + image)) % 256
    wave = np.minimum(wave, 255 - wave)  # 0 … 127
    square = ((x // side) * 31 + (y // side) * 57 + c * (23 - 22 * image)) * 2654435761 % (1 << 32) >> 26  # 0 … 63
    noise = ((y * width + x) * 3 + c) * 2246822519 % (1 << 32) >> (27 + 3 * image)  # 0 … 31, 0 … 3
    return (wave + square + noise + 16).astype(np.uint8)


def adaptive_parts(layers, state):
    """The multi-scale head: four parts, each pooled and reduced, concatenated."""
    parts = []
    for name, layer, bins in (("layer2", 2, 4), ("layer3", 3, 2), ("layer4", 4, 1), ("avgpool", 4, 1)):
        pooled = torch.flatten(F.adaptive_avg_pool2d(layers[layer], bins), 1)
        parts.append(F.linear(pooled, state[f"reduce_{name}.weight"], state[f"reduce_{name}.bias"]))
    return torch.cat(parts, 1)


def split(tensors, seed=1):
    """The state dicts of the trunk and of the head."""
    state = {name: torch.from_numpy(np.array(values(seed))) for name, (_, values) in tensors.items()}
    head = {name: state.pop(name) for name in list(state) if name.startswith(("reduce_", "projection"))}
    return state, head


class GeneralisedMean(torch.nn.Module):
    """fast-reid's GeneralizedMeanPoolingP."""

    def __init__(self):
        super().__init__()
        self.p = torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        return F.adaptive_avg_pool2d(x.clamp(min=1e-6).pow(self.p), 1).pow(1.0 / self.p)


class SameConv(torch.nn.Conv2d):
    """TensorFlow's padding: output = ceil(input / stride), with the odd pixel at the end."""

    def forward(self, x):
        sides = []
        for size, k, stride in zip(x.shape[:1:-1], self.kernel_size[::-1], self.stride[::-1]):
            need = max(0, (-(-size // stride) - 1) * stride + k - size)
            sides += [need // 2, need - need // 2]
        return F.conv2d(F.pad(x, sides), self.weight, self.bias, self.stride, 0, self.dilation, self.groups)


def tensorflow(module):
    """Changes what differs for weights from TensorFlow."""
    for part in module.modules():
        if isinstance(part, torch.nn.Conv2d):
            part.__class__ = SameConv
        if isinstance(part, torch.nn.BatchNorm2d):
            part.eps = 1e-3


def timm_module(network, state):
    """An EfficientNetV2 that only timm has, with these weights under its names; miewid: with its pool and batch norm."""
    module = timm.create_model("efficientnetv2_rw_m" if network == "miewid" else network)
    counters = {k: v for k, v in module.state_dict().items() if k.endswith("num_batches_tracked")}
    features = {k: v for k, v in state.items() if k.startswith("features.")}
    module.classifier = torch.nn.Identity()
    module.load_state_dict({**counters, **trunks.timm_names(features, "conv_exp" not in module.blocks[0][0]._modules)})
    if network != "miewid":
        return module.eval()
    module.global_pool = torch.nn.Identity()
    pool, norm = GeneralisedMean(), torch.nn.BatchNorm1d(module.num_features)
    pool.load_state_dict({"p": state["pool_layer.p"]})
    norm.load_state_dict({k[11:]: v for k, v in state.items() if k.startswith("bottleneck.")}, strict=False)
    return torch.nn.Sequential(module, pool, torch.nn.Flatten(), norm).eval()


def trunk(network, state, last_stride):
    """torchvision's module with these weights, without its classifier, with the last pool and batch norm where they
    belong; timm's, if torchvision has none."""
    if "efficientnetv2" in network or network == "miewid":
        return timm_module(network, state)
    state = dict(state)
    resnet = seeded.trunk_of(network) if network.startswith("resnet") else None
    name = "resnet" + resnet[0] if resnet else network.removeprefix("tf_")
    module = getattr(torchvision.models, name)().eval()
    _, _, linear, biased, norm = seeded.TAILS["resnet50" + resnet[3]] if resnet else (None,) * 5
    if resnet:
        trunks.change(module, *resnet[:3])
    if hasattr(module, "fc"):
        tail = [torch.nn.Linear(2048, 512, bias=biased)] if linear else []
        tail += [torch.nn.BatchNorm1d(512 if linear else 2048)] if norm else []
        tail += [torch.nn.ReLU()] if network == "resnet50-fc512" else []  # as torchreid's _construct_fc_layer builds it
        module.fc = torch.nn.Sequential(*tail).eval()
    else:
        module.classifier = torch.nn.Identity()
    if "pool_layer.p" in state:
        module.avgpool = GeneralisedMean()
        state["avgpool.p"] = state.pop("pool_layer.p")
    for i, part in enumerate(p for p in (linear, norm) if p):
        for name in [n for n in state if n.startswith(part + ".")]:
            state[f"fc.{i}{name[len(part):]}"] = state.pop(name)
    if "fastreid" in network:
        module.maxpool = torch.nn.MaxPool2d(3, 2, ceil_mode=True)
    if "strongbaseline" in network:
        module.relu = torch.nn.Identity()  # the blocks have their own
    if network.startswith("tf_"):
        tensorflow(module)
    counters = {k: v for k, v in module.state_dict().items() if k.endswith("num_batches_tracked")}
    module.load_state_dict({**counters, **state}, strict=True)
    module.eval()
    if last_stride == 1:
        module.layer4[0].conv2.stride = module.layer4[0].downsample[0].stride = (1, 1)
    return module


def embed(network, state, head, last_stride, images, dtype):
    module = trunk(network, state, last_stride).to(dtype)
    head = {k: v.to(dtype) for k, v in head.items()}
    layers = {}
    if network.startswith("resnet"):
        for i in (2, 3, 4):
            getattr(module, f"layer{i}").register_forward_hook(lambda m, a, out, i=i: layers.__setitem__(i, out))
    normalised = torch.from_numpy((images.transpose(0, 3, 1, 2) / 255.0 - MEAN) / STD).to(dtype)
    with torch.no_grad():
        out = module(normalised)
        if network.endswith("-multiscale"):
            out = adaptive_parts(layers, head)
        elif head:
            out = F.linear(out, head["projection.weight"], head["projection.bias"])
        return F.normalize(out.double(), dim=1).numpy()


def main():
    torch.manual_seed(0)
    lines, rows = [], []
    for network, head_kind, height, width, last_stride, count in CASES:
        projection = head_kind == "file" and "efficientnet" in network
        data = seeded.file_bytes(network, projection=projection)
        state, head = split(seeded.build(network, projection=projection)[0])
        images = np.stack([pixels(height, width, i) for i in range(count)])
        exact = embed(network, state, head, last_stride, images, torch.float64)
        single = embed(network, state, head, last_stride, images, torch.float32)
        half = embed(network, state, head, last_stride, images, torch.bfloat16)
        error = np.abs(single - exact).max()
        cosine = (single * exact).sum(axis=1).min()
        coarse = (half * exact).sum(axis=1).min()
        lines.append(
            f"{network} {head_kind} {height} {width} {last_stride} {count} {exact.shape[1]} "
            f"{zlib.crc32(data):08x} {error:.2e} {cosine:.9f} {coarse:.6f} {hashlib.sha256(data).hexdigest()}"
        )
        print(lines[-1], f"stranger cosine {exact[0] @ exact[-1]:.3f}", flush=True)
        rows.append(exact.astype("<f4"))
    with open(os.path.join(HERE, "embeddings.txt"), "w") as f:
        f.write(f"# made by make_embeddings.py with torch {torch.__version__}, torchvision {torchvision.__version__}, ")
        f.write(f"timm {timm.__version__}\n")
        f.write("# network head height width last_stride images dim crc32(weights)")
        f.write(" torch_float32_error torch_float32_cosine torch_bfloat16_cosine sha256(weights)\n")
        f.write("\n".join(lines) + "\n")
    with open(os.path.join(HERE, "embeddings.bin"), "wb") as f:
        f.write(b"".join(r.tobytes() for r in rows))


if __name__ == "__main__":
    main()
