"""The seeded checkpoints of tools/demo_program/seeded.h in numpy: the same bytes, from the same rules.

    seeded.py --net resnet50 -o FILE [--seed N] [--dtype f32|f16|bf16|f64] [--extras] [--projection]

Every number is an integer from a hash of the tensor's name, the element's index and the seed, times one IEEE double.
tools/demo_program/seeded.h explains the rules.
"""
import argparse
import json
import math
import re
import struct

import numpy as np

MASK = (1 << 64) - 1
ONE = 1 << 23  # the integers run from -ONE to ONE - 1
# After ResNet-50's trunk: preset, a learned exponent, a linear layer to 512, that layer's bias, batch norm.
TAILS = {
    "resnet50": ("torchvision-v1", False, None, False, None),
    "resnet50-multiscale": ("torchvision-v1", False, None, False, None),
    "resnet50-bnneck": ("strongbaseline", False, None, False, "bottleneck"),
    "resnet50-strongbaseline": ("strongbaseline", False, None, False, "bottleneck"),
    "resnet50-fastreid": ("fastreid", False, None, False, "bottleneck"),
    "resnet50-fastreid-gem": ("fastreid", True, None, False, "bottleneck"),
    "resnet50-bnneck-gem": ("fastreid", True, None, False, "bottleneck"),
    "resnet50-strongbaseline-gem": ("strongbaseline", True, None, False, "bottleneck"),
    "resnet50-fastreid-512": ("fastreid", False, "reduction", False, "bottleneck"),
    "resnet50-fastreid-gem-512": ("fastreid", True, "reduction", False, "bottleneck"),
    "resnet50-layumi": ("fastreid", False, "classifier.add_block.0", True, "classifier.add_block.1"),
    "resnet50-fc512": ("torchreid", False, "fc.0", True, "fc.1"),
}
LAYERS = {"50": (3, 4, 6, 3), "101": (3, 4, 23, 3), "152": (3, 8, 36, 3)}
NONLOCAL = {"50": (0, 2, 3, 0), "101": (0, 2, 9, 0)}  # blocks at the end of each layer
B = [(0, 1, 3, 1, 16, 1), (0, 6, 3, 2, 24, 2), (0, 6, 5, 2, 40, 2), (0, 6, 3, 2, 80, 3), (0, 6, 5, 1, 112, 3)]
B += [(0, 6, 5, 2, 192, 4), (0, 6, 3, 1, 320, 1)]  # fused, expand, kernel, stride, channels, repeats
V2_S = [(1, 1, 3, 1, 24, 2), (1, 4, 3, 2, 48, 4), (1, 4, 3, 2, 64, 4), (0, 4, 3, 2, 128, 6), (0, 6, 3, 1, 160, 9)]
V2_S += [(0, 6, 3, 2, 256, 15)]
RW_S = [(2, 1, 3, 1, 24, 2), *V2_S[1:3], *V2_S[3:5], (0, 6, 3, 2, 272, 15)]
RW_M = [row[:5] + (repeats,) for row, repeats in zip(RW_S, (3, 5, 5, 8, 15, 24))]
# stem, stages, head, width, depth, preset; miewid ends with a generalised mean and batch norm
EFFICIENT = {
    f"efficientnet_b{i}": (32, B, 1280, width, depth, f"effnet-b{i}")
    for i, (width, depth) in enumerate(((1.0, 1.0), (1.0, 1.1), (1.1, 1.2), (1.2, 1.4), (1.4, 1.8)))
}
EFFICIENT |= {
    "efficientnet_v2_s": (24, V2_S, 1280, 1.0, 1.0, "effnet-v2"),
    "efficientnetv2_rw_t": (24, V2_S, 1280, 0.8, 0.9, "timm-0.95 size=288x288 crop=1"),
    "efficientnetv2_rw_s": (24, RW_S, 1792, 1.0, 1.0, "timm-0.95 size=384x384 crop=1"),
    "miewid": (24, RW_M, 1792, 1.2, 1.0, "miewid"),
}
EFFICIENT |= {f"tf_efficientnet_b{i}": EFFICIENT[f"efficientnet_b{i}"] for i in range(4)}
EFFICIENT["tf_efficientnetv2_s"] = EFFICIENT["efficientnet_v2_s"][:5] + ("timm-inception size=384x384 crop=1",)
TRUNKS = ["resnet50-ibn-bnneck", "resnet50-ibnb", "resnet50-ibn-nl-fastreid-gem", "resnet50-nlhalf-bnneck"]
TRUNKS += ["resnet101-ibn-fastreid-gem", "resnet50-nlhalf-strongbaseline-gem"]
NETS = list(TAILS) + list(EFFICIENT) + TRUNKS
NAMED = ["resnet50-fastreid", "resnet50-bnneck-gem"]  # they have the tensors of another network
NAMED += [name for name in NETS if name.startswith("tf_") or "strongbaseline" in name]


def integers(name, count, seed):
    """Uniform integers: splitmix64, started from the name (FNV-1a) and the seed."""
    start = 0xCBF29CE484222325
    for byte in name.encode():
        start = (start ^ byte) * 0x100000001B3 & MASK
    start = (start + seed * 0xD1342543DE82EF95) & MASK
    with np.errstate(over="ignore"):
        z = np.uint64(start) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(40)).astype(np.int64) - ONE


# Rules map integers of shape (outs, ins, taps) to integers, and give the value of one of them.


def filters(k, scale):
    outs, ins, taps = k.shape
    if taps > 1:
        k = k + k.sum(axis=2, keepdims=True)
    k = ins * k - k.sum(axis=1, keepdims=True)
    return k, scale / (float(ONE) * ins * math.sqrt(taps + 3 if taps > 1 else 1.0))


def plain(k, scale):
    return k, scale / float(ONE)


def blur(k, axis):
    padding = [(2, 2) if a == axis else (0, 0) for a in range(k.ndim)]
    wide = np.pad(k, padding)
    return sum(w * np.take(wide, range(d, d + 7), axis=axis) for d, w in enumerate((1, 4, 6, 4, 1)))


def stem(k, scale):
    outs, ins, taps = k.shape
    if taps == 49:
        k = blur(blur(k.reshape(outs, ins, 7, 7), 3), 2).reshape(k.shape)
    colour = np.arange(outs).reshape(-1, 1, 1) < outs // 2
    k = np.where(colour, 2 * (3 * k - k.sum(axis=1, keepdims=True)), 3 * k)
    k = taps * k - k.sum(axis=2, keepdims=True)
    return k, scale / (float(ONE) * 3 * taps * (70 if taps == 49 else 1))


def depthwise(k, scale):
    taps = k.shape[2]
    k = taps * (ONE + k) - k.sum(axis=2, keepdims=True)
    return k, 1.0 / (float(ONE) * taps * taps)


class Net:
    """Tensors in torchvision's order: name -> (shape, function of the seed that gives float32 values)."""

    def __init__(self, extras):
        self.extras = extras
        self.tensors = {}

    def rule(self, name, shape, outs, ins, taps, rule, scale):
        def values(seed):
            k = integers(name, outs * ins * taps, seed).reshape(outs, ins, taps)
            k, unit = rule(k, scale)
            return (k.astype(np.float64) * unit).astype(np.float32).reshape(shape)

        self.tensors[name] = (shape, values)

    def spread(self, name, n, middle, width, scale=1.0):
        def values(seed):
            k = middle * ONE + width * integers(name, n, seed)
            return (k.astype(np.float64) * (scale / (float(ONE) * 1000))).astype(np.float32)

        self.tensors[name] = ((n,), values)

    def conv(self, name, rule, out, ins, k, gain=1.0):
        scale = gain * math.sqrt(6.0 / (ins * k * k))
        self.rule(name + ".weight", (out, ins, k, k), out, ins, k * k, rule, scale)

    def linear(self, name, out, ins, taps=1, gain=1.0, width=20):
        self.rule(name + ".weight", (out, ins), out, ins // taps, taps, filters, gain * math.sqrt(6.0 / ins))
        if width:
            self.spread(name + ".bias", out, 0, width)

    def instance(self, name, c, beta):
        self.spread(name + ".weight", c, 1000, 200)
        self.spread(name + ".bias", c, beta, 60)

    def norm(self, name, c, gamma, beta, var):
        self.spread(name + ".weight", c, gamma, gamma // 5)
        self.spread(name + ".bias", c, beta, 60)
        self.spread(name + ".running_mean", c, 0, 60, math.sqrt(var))
        self.spread(name + ".running_var", c, 1000, 250, var)
        if self.extras:
            self.tensors[name + ".num_batches_tracked"] = ((), lambda seed: np.array(1000, np.int64))


def bottleneck(net, block, ins, mid, index, ibn):
    variances = (0.75 + 0.17 * index if index else 1.35, 2.9, 0.68)
    for i, var in enumerate(variances):
        out, name = 4 * mid if i == 2 else mid, f"{block}.bn{i + 1}"
        net.conv(f"{block}.conv{i + 1}", filters, out, ins if i == 0 else mid, 3 if i == 1 else 1)
        if i == 0 and ibn == "-ibn":
            net.instance(name + ".IN", out // 2, 0)
            name, out = name + ".BN", out // 2
        net.norm(name, out, 600 if i == 2 else 1000, -100 if i == 2 else 0, var)
    if ibn == "-ibnb":
        net.instance(block + ".IN", 4 * mid, 0)
    if index == 0:
        net.conv(f"{block}.downsample.0", filters, 4 * mid, ins, 1)
        net.norm(f"{block}.downsample.1", 4 * mid, 1000, 0, variances[0])


def nonlocal_block(net, name, ins, channels):
    for part in ("theta", "phi", "g"):
        net.conv(f"{name}.{part}", filters, channels, ins, 1, 0.3 if channels > 1 else 1.0)
        net.spread(f"{name}.{part}.bias", channels, 0, 200)
    net.conv(f"{name}.W.0", filters if channels > 1 else plain, ins, channels, 1)
    net.spread(f"{name}.W.0.bias", ins, 0, 200)
    net.norm(f"{name}.W.1", ins, 300, 0, 2.0 if channels > 1 else 0.2)


def trunk_of(name):
    """The parts of a ResNet's name: layers, instance norm, non-local blocks, and the tail with a plain trunk."""
    return re.fullmatch(r"resnet(50|101|152)(-ibnb|-ibn|)(-nlhalf|-nl|)(|-.*)", name).groups()


def resnet(net, name):
    layers, ibn, nonlocal_, tail = trunk_of(name)
    _, gem, linear, biased, norm = TAILS["resnet50" + tail]
    multiscale = name.endswith("-multiscale")
    net.conv("conv1", stem, 64, 3, 7)
    if ibn == "-ibnb":
        net.instance("bn1", 64, -1000)
    else:
        net.norm("bn1", 64, 1000, -1000, 1.45)
    ins = 64
    for layer, blocks in enumerate(LAYERS[layers]):
        mid = 64 << layer
        for b in range(blocks):
            has = layer < 3 if ibn == "-ibn" else layer < 2 and b == blocks - 1
            bottleneck(net, f"layer{layer + 1}.{b}", ins, mid, b, ibn if has else "")
            ins = 4 * mid
        for b in range(NONLOCAL[layers][layer] if nonlocal_ else 0):
            nonlocal_block(net, f"NL_{layer + 1}.{b}", ins, 1 if nonlocal_ == "-nl" else ins // 2)
    if multiscale:
        for part, ins, taps, gain in (
            ("layer2", 8192, 16, 0.4),
            ("layer3", 4096, 4, 0.6),
            ("layer4", 2048, 1, 1.1),
            ("avgpool", 2048, 1, 1.1),
        ):
            net.linear("reduce_" + part, 128, ins, taps, gain)
    if gem:
        net.spread("pool_layer.p", 1, 3000, 300)
    if linear:
        net.linear(linear, 512, 2048, width=200 if biased else 0)
    if norm:
        net.norm(norm, 512 if linear else 2048, 1000, 0, 0.3)
    if net.extras and not multiscale and not linear:
        net.linear("fc", 1000, 2048)


def mbconv(net, block, ins, out, expand, k, residual):
    at = 0
    mid, squeeze = ins * expand, max(1, ins // 4)
    if expand != 1:
        spatial = 0.42 if k == 3 else 0.35
        net.conv(f"{block}.0.0", filters, mid, ins, 1)
        net.norm(f"{block}.0.1", mid, 1000, 500, 2.2)
        at = 1
    else:
        spatial = 0.6 if residual else 0.12
    net.conv(f"{block}.{at}.0", depthwise, mid, 1, k)
    net.norm(f"{block}.{at}.1", mid, 1000, 200, spatial)
    for fc, o, i in (("fc1", squeeze, mid), ("fc2", mid, squeeze)):
        net.conv(f"{block}.{at + 1}.{fc}", filters, o, i, 1, 0.3)
        net.spread(f"{block}.{at + 1}.{fc}.bias", o, 0, 200)
    net.conv(f"{block}.{at + 2}.0", filters, out, mid, 1)
    net.norm(f"{block}.{at + 2}.1", out, 300 if residual else 1000, 0, 0.44)


def fused(net, block, ins, out, row, residual, var):
    """expand k x k, project 1x1; or one convolution. var: of the first convolution's output."""
    kind, expand, k = row[:3]
    single = kind == 1 and expand == 1
    mid = out if single else ins * expand
    net.conv(f"{block}.0.0", filters, mid, ins, k)
    net.norm(f"{block}.0.1", mid, (600 if residual else 1000) if single else 1000, 0 if single else 500, var)
    if not single:
        net.conv(f"{block}.1.0", filters, out, mid, 1)
        net.norm(f"{block}.1.1", out, 300 if residual else 1000, 0, 1.4)


def channels(base, width):
    want = base * width
    c = max(8, int(want + 4) // 8 * 8)
    return c + 8 if c < 0.9 * want else c


def efficientnet(net, name, projection):
    first, rows, last, width, depth, _ = EFFICIENT[name]
    ins, last = channels(first, width), channels(last, width)
    net.conv("features.0.0", stem, ins, 3, 3)
    net.norm("features.0.1", ins, 1000, -1000, 0.11)
    for stage, row in enumerate(rows):
        kind, expand, k, stride, base, repeats = row
        out = channels(base, width)
        for b in range(math.ceil(repeats * depth)):
            residual = ins == out and (b > 0 or stride == 1)
            block = f"features.{stage + 1}.{b}.block"
            if kind:
                fused(net, block, ins, out, row, residual, 9.0 if b else 1.0 if stage == 0 else 4.0)
            else:
                mbconv(net, block, ins, out, expand, k, residual)
            ins = out
    net.conv(f"features.{len(rows) + 1}.0", filters, last, ins, 1)
    net.norm(f"features.{len(rows) + 1}.1", last, 600, -150, 2.2)
    if name == "miewid":
        net.spread("pool_layer.p", 1, 3000, 300)
        net.norm("bottleneck", last, 1000, 0, 0.3)
    if net.extras:
        net.linear("classifier.1", 1000, last)
    if projection:
        net.linear("projection", 512, last)


def build(name, extras=False, projection=False):
    """The tensors of a network, and its preset."""
    net = Net(extras)
    if name.startswith("resnet"):
        resnet(net, name)
        return net.tensors, TAILS["resnet50" + trunk_of(name)[3]][0]
    efficientnet(net, name, projection)
    return net.tensors, EFFICIENT[name][5]


def bfloat(values):
    bits = values.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


CAST = {
    "f32": lambda v: v,
    "f16": lambda v: v.astype(np.float16),
    "bf16": bfloat,
    "f64": lambda v: v.astype(np.float64),
}


def file_bytes(name, seed=1, dtype="f32", extras=False, projection=False):
    """A whole safetensors file."""
    tensors, preset = build(name, extras, projection)
    note = f"synthetic: made from seed {seed}, trained on nothing"
    header = {"__metadata__": {"reid.note": note, "reid.preset": preset}}
    if name in NAMED:
        header["__metadata__"]["reid.network"] = "resnet50" + trunk_of(name)[3] if name.startswith("resnet") else name
    data, offset = [], 0
    for tensor, (shape, values) in tensors.items():
        v = values(seed)
        counter = v.dtype == np.int64
        data.append((v if counter else CAST[dtype](v)).tobytes())
        end = offset + len(data[-1])
        kind = "I64" if counter else dtype.upper()
        header[tensor] = {"dtype": kind, "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(data)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--net", choices=NETS, required=True)
    parser.add_argument("-o", dest="out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dtype", choices=sorted(CAST), default="f32")
    parser.add_argument("--extras", action="store_true")
    parser.add_argument("--projection", action="store_true")
    args = parser.parse_args()
    with open(args.out, "wb") as f:
        f.write(file_bytes(args.net, args.seed, args.dtype, args.extras, args.projection))
