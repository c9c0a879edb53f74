"""The seeded checkpoints of tools/demo_program/seeded.h in numpy: the same bytes, from the same rules.

    seeded.py --net resnet50 -o FILE [--seed N] [--dtype f32|f16|bf16|f64] [--extras] [--projection]

Every number is an integer from a hash of the tensor's name, the element's index and the seed, times one IEEE double.
tools/demo_program/seeded.h explains the rules.
"""
import argparse
import json
import math
import struct

import numpy as np

MASK = (1 << 64) - 1
ONE = 1 << 23  # the integers run from -ONE to ONE - 1
# After ResNet-50's trunk: preset, a learned exponent, a linear layer to 512, that layer's bias, batch norm.
TAILS = {
    "resnet50": ("torchvision-v1", False, None, False, None),
    "resnet50-multiscale": ("torchvision-v1", False, None, False, None),
    "resnet50-bnneck": ("strongbaseline", False, None, False, "bottleneck"),
    "resnet50-fastreid": ("fastreid", False, None, False, "bottleneck"),
    "resnet50-fastreid-gem": ("fastreid", True, None, False, "bottleneck"),
    "resnet50-fastreid-512": ("fastreid", False, "reduction", False, "bottleneck"),
    "resnet50-fastreid-gem-512": ("fastreid", True, "reduction", False, "bottleneck"),
    "resnet50-layumi": ("fastreid", False, "classifier.add_block.0", True, "classifier.add_block.1"),
    "resnet50-fc512": ("torchreid", False, "fc.0", True, "fc.1"),
}
NETS = list(TAILS)
NETS += [tf + f"efficientnet_b{i}" for tf in ("", "tf_") for i in range(4)]
NAMED = ["resnet50-fastreid"] + NETS[-4:]  # their tensors are those of another network
MULTIPLIERS = [(1.0, 1.0), (1.0, 1.1), (1.1, 1.2), (1.2, 1.4)]  # width, depth of B0 … B3


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

    def norm(self, name, c, gamma, beta, var):
        self.spread(name + ".weight", c, gamma, gamma // 5)
        self.spread(name + ".bias", c, beta, 60)
        self.spread(name + ".running_mean", c, 0, 60, math.sqrt(var))
        self.spread(name + ".running_var", c, 1000, 250, var)
        if self.extras:
            self.tensors[name + ".num_batches_tracked"] = ((), lambda seed: np.array(1000, np.int64))


def bottleneck(net, block, ins, mid, index):
    variances = (0.75 + 0.17 * index if index else 1.35, 2.9, 0.68)
    for i, var in enumerate(variances):
        out = 4 * mid if i == 2 else mid
        net.conv(f"{block}.conv{i + 1}", filters, out, ins if i == 0 else mid, 3 if i == 1 else 1)
        net.norm(f"{block}.bn{i + 1}", out, 600 if i == 2 else 1000, -100 if i == 2 else 0, var)
    if index == 0:
        net.conv(f"{block}.downsample.0", filters, 4 * mid, ins, 1)
        net.norm(f"{block}.downsample.1", 4 * mid, 1000, 0, variances[0])


def resnet50(net, name):
    _, gem, linear, biased, norm = TAILS[name]
    multiscale = name.endswith("-multiscale")
    net.conv("conv1", stem, 64, 3, 7)
    net.norm("bn1", 64, 1000, -1000, 1.45)
    ins = 64
    for layer, blocks in enumerate((3, 4, 6, 3)):
        mid = 64 << layer
        for b in range(blocks):
            bottleneck(net, f"layer{layer + 1}.{b}", ins, mid, b)
            ins = 4 * mid
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


def channels(base, width):
    want = base * width
    c = max(8, int(want + 4) // 8 * 8)
    return c + 8 if c < 0.9 * want else c


def efficientnet(net, width, depth, projection):
    ins = channels(32, width)
    net.conv("features.0.0", stem, ins, 3, 3)
    net.norm("features.0.1", ins, 1000, -1000, 0.11)
    rows = [(1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3)]
    rows += [(6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)]
    for stage, (expand, k, stride, base, repeats) in enumerate(rows):
        out = channels(base, width)
        for b in range(math.ceil(repeats * depth)):
            residual = ins == out and (b > 0 or stride == 1)
            mbconv(net, f"features.{stage + 1}.{b}.block", ins, out, expand, k, residual)
            ins = out
    net.conv("features.8.0", filters, 4 * ins, ins, 1)
    net.norm("features.8.1", 4 * ins, 600, -150, 2.2)
    if net.extras:
        net.linear("classifier.1", 1000, 4 * ins)
    if projection:
        net.linear("projection", 512, 4 * ins)


def build(name, extras=False, projection=False):
    """The tensors of a network, and its preset."""
    net = Net(extras)
    if name.startswith("resnet50"):
        resnet50(net, name)
        return net.tensors, TAILS[name][0]
    number = int(name[-1])
    efficientnet(net, *MULTIPLIERS[number], projection)
    return net.tensors, f"effnet-b{number}"


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
        header["__metadata__"]["reid.network"] = name
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
