"""ONNX files written by hand, as exporters write them, and what reid convert makes of them.

    python onnx_files.py test REID RESNET.safetensors EFFICIENTNET.safetensors SBS.safetensors PICTURE.ppm
                                               in an empty folder; SBS: resnet50-ibn-nl-fastreid-gem
    python onnx_files.py seeds FOLDER          small files for tests/fuzz/fuzz_onnx.c

The weights come from `cli_files weights`. A graph with batch norms must give the bits of its original file; one whose
batch norms are folded into convolutions must give the original's embedding. Every malformed file has its own message.
Prints one line for each failure and "N passed, N failed" at the end.
"""
import os
import struct
import subprocess
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
import tensor_file  # pylint: disable=wrong-import-position
from says import says as says_part  # pylint: disable=wrong-import-position

passed = failed = 0


# --- protobuf ---------------------------------------------------------------------------------------------------------
def varint(n):
    out = bytearray()
    n &= (1 << 64) - 1
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def number(field, n):
    return varint(field << 3) + varint(n)


def data(field, b):
    b = b.encode() if isinstance(b, str) else b
    return varint(field << 3 | 2) + varint(len(b)) + b


def real(field, x):
    return varint(field << 3 | 5) + struct.pack("<f", x)


TYPES = {"float32": 1, "float16": 10, "float64": 11, "int64": 7, "int8": 3}


def tensor(name, a, packed=False):
    out = b"".join(number(1, d) for d in a.shape) + number(2, TYPES[a.dtype.name]) + data(8, name)
    return out + data(4 if packed else 9, a.tobytes())


def attribute(name, value):
    if isinstance(value, float):
        return data(1, name) + real(2, value) + number(20, 1)
    if isinstance(value, str):
        return data(1, name) + data(4, value) + number(20, 3)
    if isinstance(value, bytes):
        return data(1, name) + data(5, value) + number(20, 4)
    if isinstance(value, list):
        return data(1, name) + b"".join(number(8, v) for v in value) + number(20, 7)
    return data(1, name) + number(3, value) + number(20, 2)


def node(op, inputs, output, **attributes):
    name = attributes.pop("name", output)
    domain = attributes.pop("domain", "")
    also = attributes.pop("also", None)  # a second output
    outputs = data(2, output) + (data(2, also) if also else b"")
    return b"".join(data(1, i) for i in inputs) + outputs + data(3, name) + data(4, op) + b"".join(
        data(5, attribute(k, v)) for k, v in attributes.items()) + (data(7, domain) if domain else b"")


def model(nodes, tensors, before=b"", after=b""):
    graph = b"".join(data(1, n) for n in nodes) + b"".join(data(5, t) for t in tensors) + data(11, data(1, "image"))
    start = number(1, 8) + data(2, "pytorch") + data(3, "2.4.1")
    return start + before + data(7, graph) + data(8, number(2, 17)) + after


# --- networks ---------------------------------------------------------------------------------------------------------
class Graph:
    """A network with torchvision's tensors. join: folds batch norms into convolutions; same: TensorFlow's padding;
    change(node op, name, attributes) may return other attributes or another operation. border: puts the padding of
    convolutions and of the pool into Pad nodes before them, as TensorFlow's exporters write it: "attribute", "input",
    or "list", a constant. filled: the fill values that are not 0, by the node's name."""

    def __init__(self, tensors, join=False, same=False, last_stride=2, change=None, dtype=np.float32, packed=False,
                 constants=False, epsilon=1e-5, border=None, filled=None):
        self.t, self.join, self.same, self.last_stride = tensors, join, same, last_stride
        self.change, self.dtype, self.packed, self.constants = change, dtype, packed, constants
        self.epsilon, self.border, self.filled = epsilon, border, filled or {}
        self.nodes, self.tensors, self.count, self.known = [], [], 0, set()
        self.positions = 6

    def value(self, name, array):
        array = np.ascontiguousarray(array).astype(self.dtype)
        if self.constants:
            self.nodes.append(node("Constant", [], name, value=tensor("", array)))
        else:
            self.tensors.append(tensor(name, array, self.packed))
        return name

    def add(self, op, inputs, name=None, **attributes):
        self.count += 1
        name = name or "%s_%d" % (op, self.count)
        if self.change:
            op, attributes = self.change(op, name, attributes) or (op, attributes)
        self.nodes.append(node(op, inputs, name, **attributes))
        return name

    def integers(self, name, values):
        self.tensors.append(tensor(name, np.array(values, np.int64)))
        return name

    def padded(self, x, name, how):
        """Moves the padding of a node with stride 2 into a Pad before it; `how`: the node's attributes."""
        if not self.border or how["strides"] != [2, 2] or not any(how["pads"]):
            return x
        top, left, bottom, right = how.pop("pads")
        if self.border == "input":
            how["pads"] = [0, 0, 0, 0]
        else:
            how["auto_pad"] = "VALID"
        pads = [0, 0, top, left, 0, 0, bottom, right]
        name += "_pad"
        fill = float(self.filled.get(name, 0))
        if self.border == "attribute":
            return self.add("Pad", [x], name, pads=pads, mode="constant", value=fill)
        if self.border == "list":
            self.add("Constant", [], name + ".pads", value_ints=pads)
        else:
            self.integers(name + ".pads", pads)
        return self.add("Pad", [x, name + ".pads", self.value(name + ".fill", np.array(fill))], name)

    def conv(self, x, name, norm, stride=1, bias=None):
        w = self.t[name + ".weight"]
        k = w.shape[2]
        pads = [(k - 1) // 2] * 4
        if self.same and stride == 2 and k > 1:
            pads = [(k - 2) // 2] * 2 + [(k - 1) // 2] * 2
        how = dict(strides=[stride] * 2, pads=pads, kernel_shape=[k, k], dilations=[1, 1],
                   group=int(w.shape[0]) if w.shape[1] == 1 and w.shape[0] > 1 and k > 1 else 1)
        inputs = [self.padded(x, "/" + name, how)]
        if norm and norm + ".IN.weight" in self.t:
            return self.instance(self.add("Conv", inputs + [self.value(name + ".weight", w)], "/" + name, **how),
                                 norm, w.shape[0] // 2)
        if norm and self.join:
            g, b, m, v = (self.t[norm + "." + p].astype(np.float64) for p in ("weight", "bias", "running_mean",
                                                                             "running_var"))
            s = g / np.sqrt(v + self.epsilon)
            self.count += 2
            own = self.t[name + ".bias"] if bias else 0
            inputs += [self.value("onnx::Conv_%d" % self.count, w * s.reshape(-1, 1, 1, 1)),
                       self.value("onnx::Conv_%d" % (self.count + 1), b + (own - m) * s)]
            return self.add("Conv", inputs, "/" + name, **how)
        inputs.append(self.value(name + ".weight", w))
        if bias:
            inputs.append(self.value(name + ".bias", self.t[name + ".bias"]))
        y = self.add("Conv", inputs, "/" + name, **how)
        if not norm:
            return y
        stats = [self.value(norm + "." + p, self.t[norm + "." + p]) for p in ("weight", "bias", "running_mean",
                                                                          "running_var")]
        return self.add("BatchNormalization", [y] + stats, "/" + norm, epsilon=self.epsilon)

    def instance(self, x, norm, half):
        """IBN-a. The halves are those of a Split if batch norms are joined, else those of Slices."""
        if self.join:
            sizes = self.integers("/%s.sizes" % norm, [half, half])
            self.nodes.append(node("Split", [x, sizes], "/%s.a" % norm, axis=1, also="/%s.b" % norm))
        for part, start, end in () if self.join else (("a", 0, half), ("b", half, (1 << 63) - 1)):
            at = [self.integers("/%s.%s%d" % (norm, part, i), [v]) for i, v in enumerate((start, end, 1))]
            self.add("Slice", [x] + at, "/%s.%s" % (norm, part))
        factors = [self.value(norm + ".IN." + p, self.t[norm + ".IN." + p]) for p in ("weight", "bias")]
        a = self.add("InstanceNormalization", ["/%s.a" % norm] + factors, "/%s.IN" % norm, epsilon=1e-5)
        stats = [self.value(norm + ".BN." + p, self.t[norm + ".BN." + p]) for p in ("weight", "bias", "running_mean",
                                                                                "running_var")]
        b = self.add("BatchNormalization", ["/%s.b" % norm] + stats, "/%s.BN" % norm, epsilon=1e-5)
        return self.add("Concat", [a, b], "/%s.both" % norm, axis=1)

    def nonlocal_block(self, x, p):
        """A block whose rows are positions, divided by their number, which is computed from a shape if batch norms are
        joined."""
        shape = self.integers("/rows", [0, 0, -1]) if "/rows" not in self.known else "/rows"
        self.known.add("/rows")
        rows = []
        for part, turned in (("theta", 1), ("phi", 0), ("g", 1)):
            y = self.add("Reshape", [self.conv(x, p + part, None, bias=True), shape], "/%s%s.rows" % (p, part))
            rows.append(self.add("Transpose", [y], "/%s%s.turned" % (p, part), perm=[0, 2, 1]) if turned else y)
        if self.join:
            count = self.add("Cast", [self.add("Size", [rows[1]], "/%ssize" % p)], "/%scount" % p, to=1)
        else:
            count = self.value("/%scount" % p, np.array(float(self.positions)))
        alike = self.add("Div", [self.add("MatMul", rows[:2], "/%salike" % p), count], "/%sdiv" % p)
        y = self.add("Transpose", [self.add("MatMul", [alike, rows[2]], "/%sproduct" % p)], perm=[0, 2, 1])
        y = self.conv(self.add("Reshape", [y, shape], "/%sback" % p), p + "W.0", p + "W.1", bias=True)
        return self.add("Add", [y, x])

    def silu(self, x):
        return self.add("Mul", [x, self.add("Sigmoid", [x])])

    def resnet(self):
        x = self.add("Relu", [self.conv("image", "conv1", "bn1", 2)])
        bare = "pool_layer.p" in self.t  # of fast-reid's networks, only those with a generalised mean are tried here
        how = dict(strides=[2, 2], pads=[0 if bare else 1] * 4, kernel_shape=[3, 3], ceil_mode=int(bare))
        x = self.add("MaxPool", [self.padded(x, "/pool", how)], "/pool", **how)
        for layer in range(1, 5):
            for block in range(9):
                p = "layer%d.%d." % (layer, block)
                if p + "conv1.weight" not in self.t:
                    break
                stride = 1 if layer == 1 or block else self.last_stride if layer == 4 else 2
                y = self.add("Relu", [self.conv(x, p + "conv1", p + "bn1")])
                y = self.add("Relu", [self.conv(y, p + "conv2", p + "bn2", stride)])
                y = self.conv(y, p + "conv3", p + "bn3")
                if block == 0:
                    x = self.conv(x, p + "downsample.0", p + "downsample.1", stride)
                x = self.add("Relu", [self.add("Add", [y, x])])
                last = block - sum("layer%d.%d.conv1.weight" % (layer, b) in self.t for b in range(9))
                count = sum("NL_%d.%d.g.weight" % (layer, b) in self.t for b in range(9))
                if count + last >= 0:
                    x = self.nonlocal_block(x, "NL_%d.%d." % (layer, count + last))
        return self.gem(x) if bare else self.end(x, "fc")

    def gem(self, x):
        """fast-reid's generalised mean and BNNeck."""
        p = self.value("heads.pool_layer.p", self.t["pool_layer.p"])
        x = self.add("Pow", [self.add("Clip", [x, self.value("/least", np.array(1e-6))], "/clip"), p], "/power")
        x = self.add("GlobalAveragePool", [x], "/avgpool")
        x = self.add("Flatten", [self.add("Pow", [x, self.add("Reciprocal", [p], "/inverse")], "/root")], axis=1)
        stats = [self.value("heads.bottleneck.0." + q, self.t["bottleneck." + q])
                 for q in ("weight", "bias", "running_mean", "running_var")]
        self.add("BatchNormalization", [x] + stats, "/neck", epsilon=1e-5)
        return self

    def efficientnet(self):
        strides = {2: 2, 3: 2, 4: 2, 6: 2}
        x = self.silu(self.conv("image", "features.0.0", "features.0.1", 2))
        for stage in range(1, 8):
            for block in range(9):
                p = "features.%d.%d.block." % (stage, block)
                if p + "0.0.weight" not in self.t:
                    break
                y, k = x, 0
                if p + "3.0.weight" in self.t:
                    y, k = self.silu(self.conv(y, p + "0.0", p + "0.1")), 1
                y = self.silu(self.conv(y, p + "%d.0" % k, p + "%d.1" % k, 1 if block else strides.get(stage, 1)))
                s = self.add("GlobalAveragePool", [y])
                s = self.silu(self.conv(s, p + "%d.fc1" % (k + 1), None, bias=True))
                s = self.add("Sigmoid", [self.conv(s, p + "%d.fc2" % (k + 1), None, bias=True)])
                y = self.conv(self.add("Mul", [s, y]), p + "%d.0" % (k + 2), p + "%d.1" % (k + 2))
                x = self.add("Add", [y, x]) if block else y
        return self.end(self.silu(self.conv(x, "features.8.0", "features.8.1")), "classifier.1")

    def end(self, x, last):
        x = self.add("Flatten", [self.add("GlobalAveragePool", [x], "/avgpool")], axis=1)
        if last + ".weight" in self.t:
            self.add("Gemm", [x, self.value(last + ".weight", self.t[last + ".weight"]),
                              self.value(last + ".bias", self.t[last + ".bias"])], transB=1)
        return self

    def bytes(self):
        return model(self.nodes, self.tensors)


# --- tests ------------------------------------------------------------------------------------------------------------
def read(path):
    return {k: np.frombuffer(raw, "<f4").reshape(shape) for k, (_, shape, raw) in tensor_file.read(path)[1].items()}


def run(*arguments):
    return subprocess.run([REID, *arguments], capture_output=True, text=True)


def embedding(weights, *options):
    r = run("embed", "-q", "--device", "cpu", "-m", weights, "--preset", "torchreid", "--size", "40x33", *options,
            PICTURE, "-o", "e.npy")
    assert r.returncode == 0, r.stderr
    return np.load("e.npy")[0].astype(np.float64)


def fingerprint(path):
    return [line for line in run("inspect", path).stdout.split("\n") if line.startswith("fingerprint")]


def outcome(good, what, why):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAIL", what + ":", why)


def expect(what, content, original, *options, exact=True, network=None, says="", convert=()):
    """original: the safetensors file from which the graph was made."""
    with open("in.onnx", "wb") as f:
        f.write(content)
    r = run("convert", *convert, "in.onnx", "out.safetensors")
    if r.returncode or says not in r.stdout:
        return outcome(False, what, r.stdout + r.stderr)
    if exact:
        return outcome(fingerprint("out.safetensors") == fingerprint(original), what, "another fingerprint")
    apart = np.abs(embedding("out.safetensors") - embedding(original, *options)).max()
    print("%-40s off by %.1e" % (what, apart))
    outcome(apart < 1e-6, what, "embeddings are %g apart" % apart)


def refused(what, content, says, *options):
    with open("bad.onnx", "wb") as f:
        f.write(content)
    r = run("convert", *options, "bad.onnx", "no.safetensors")
    outcome(r.returncode == 2 and says_part(r.stderr, says) and not os.path.exists("no.safetensors"), what,
            "exit %d: %s" % (r.returncode, r.stderr.strip()))
    if os.path.exists("no.safetensors"):
        os.remove("no.safetensors")


def networks(r50, b0):
    resnet, effnet = read(r50), read(b0)
    rng = np.random.default_rng(1)
    expect("ResNet-50", Graph(resnet).resnet().bytes(), r50, says="ONNX 8, pytorch 2.4.1, 265 tensors")
    expect("EfficientNet-B0", Graph(effnet).efficientnet().bytes(), b0)
    expect("tensors in constants", Graph(effnet, constants=True).efficientnet().bytes(), b0)
    expect("float_data", Graph(effnet, packed=True).efficientnet().bytes(), b0)
    expect("doubles", Graph(effnet, dtype=np.float64).efficientnet().bytes(), b0)
    expect("ResNet-50, joined", Graph(resnet, join=True).resnet().bytes(), r50, exact=False)
    expect("the last stride", Graph(resnet, join=True, last_stride=1).resnet().bytes(), r50, "--last-stride", "1",
           exact=False, says="last stride  1 (named in the file)")
    expect("EfficientNet-B0, joined", Graph(effnet, join=True).efficientnet().bytes(), b0, exact=False)
    expect("TensorFlow's padding", Graph(effnet, join=True, same=True, epsilon=1e-3).efficientnet().bytes(), b0,
           "--net", "tf_efficientnet_b0", exact=False, says="network      tf_efficientnet_b0")
    expect("ResNet-50, borders by attributes", Graph(resnet, border="attribute").resnet().bytes(), r50)
    expect("ResNet-50, borders by inputs", Graph(resnet, border="input").resnet().bytes(), r50)
    expect("EfficientNet-B0, borders by constants", Graph(effnet, border="list").efficientnet().bytes(), b0)
    for border in ("attribute", "input", "list"):
        expect("TensorFlow's padding by nodes, " + border, Graph(effnet, join=True, same=True, epsilon=1e-3,
               border=border, constants=border == "list").efficientnet().bytes(), b0, "--net", "tf_efficientnet_b0",
               exact=False, says="network      tf_efficientnet_b0")
    for border in ("attribute", "input"):
        expect("a pool's border of -inf", Graph(resnet, border=border, filled={"/pool_pad": "-inf"}).resnet().bytes(),
               r50)
    tiny = Graph(resnet, join=True).resnet()
    shuffled = sorted(tiny.tensors, key=lambda t: rng.random())
    expect("tensors in any order", model(tiny.nodes, shuffled), r50, exact=False)
    shared = Graph(effnet).efficientnet() # equal tensors are stored once, and Identity nodes pass them on
    kept = {t: t for t in shared.tensors}
    twice = tensor("features.1.0.block.1.fc1.bias", effnet["features.1.0.block.1.fc1.bias"])
    kept.pop(twice)
    once = tensor("shared", effnet["features.1.0.block.1.fc1.bias"])
    hand_on = [node("Identity", ["shared"], "half_way"),
               node("Identity", ["half_way"], "features.1.0.block.1.fc1.bias")]
    expect("tensors that nodes hand on", model(hand_on + shared.nodes, [*kept, once]), b0)
    head = {"fc.weight": rng.normal(size=(7, 2048)).astype(np.float32), "fc.bias": np.zeros(7, np.float32)}
    with_head = Graph({**resnet, **head}).resnet().bytes()
    with open("in.onnx", "wb") as f:
        f.write(with_head)
    r = run("convert", "--head", "fc", "in.onnx", "out.safetensors")
    features = embedding(r50, "--raw")
    apart = np.abs(embedding("out.safetensors", "--raw") - head["fc.weight"].astype(np.float64) @ features).max()
    outcome(r.returncode == 0 and apart < 1e-5 * np.abs(features).sum(), "a head", r.stderr + str(apart))
    turned = Graph(resnet).resnet()
    turned.add("MatMul", ["/avgpool", turned.value("onnx::MatMul_9", head["fc.weight"].T)])
    with open("in.onnx", "wb") as f:
        f.write(turned.bytes())
    r = run("convert", "--head", "onnx::MatMul_9", "in.onnx", "turned.safetensors")
    outcome(r.returncode == 0 and fingerprint("turned.safetensors") == fingerprint("out.safetensors"),
            "a head that is turned", r.stderr)
    behind_heads(resnet, features, rng)
    return resnet, effnet


def behind_heads(resnet, features, rng):
    """Parts of a linear layer that are in another node or in an attribute."""
    weight = rng.normal(size=(7, 2048)).astype(np.float32)
    bias = (rng.normal(size=7) * np.abs(features).sum()).astype(np.float32) # large enough to be missed
    plain = weight.astype(np.float64) @ features + bias

    def head(what, graph, layers, want):
        with open("in.onnx", "wb") as f:
            f.write(graph.bytes())
        r = run("convert", "--head", layers, "in.onnx", "behind.safetensors")
        apart = np.abs(embedding("behind.safetensors", "--raw") - want).max() if not r.returncode else np.inf
        outcome(apart < 1e-5 * np.abs(features).sum(), what, r.stderr + str(apart))

    added = Graph(resnet).resnet() # as TensorFlow's exporters write it
    product = added.add("MatMul", ["/avgpool", added.value("dense", weight.T)])
    added.add("Add", [added.value("dense/bias", bias), product])
    head("a bias that is added", added, "dense", plain)
    norm = {p: rng.random(7).astype(np.float32) for p in ("weight", "bias", "running_mean", "running_var")}
    for epsilon in (1e-5, 1e-1):
        batch = Graph({**resnet, "fc.weight": weight, "fc.bias": bias}).resnet()
        inputs = ["Gemm_%d" % batch.count] + [batch.value("bn." + k, v) for k, v in norm.items()]
        batch.add("BatchNormalization", inputs, epsilon=epsilon)
        scale = norm["weight"] / np.sqrt(norm["running_var"].astype(np.float64) + epsilon)
        head("a batch norm with epsilon %g" % epsilon, batch, "fc,bn",
             (plain - norm["running_mean"]) * scale + norm["bias"])
    shared = Graph({**resnet, "fc.weight": -weight, "fc.bias": bias}).resnet()
    shared.add("Gemm", ["/avgpool", shared.value("second.weight", weight), "fc.bias"], transB=1)
    head("a bias that two layers share", shared, "second", plain)


def misfits(resnet, effnet):
    def changed(op, name, **other):
        def change(have, at, attributes):
            if at == name:
                return op or have, {**attributes, **other}
        return change

    def r(what, change, says, *options, **how):
        refused(what, Graph(resnet, change=change, dtype=np.float16, **how).resnet().bytes(), says, *options)

    def e(what, change, says, *options, **how):
        refused(what, Graph(effnet, change=change, **how).efficientnet().bytes(), says, *options)

    has_not = ", unlike network resnet50"
    r("a stride", changed(None, "/layer2.0.conv1", strides=[2, 2]), 'node "/layer2.0.conv1" (Conv): a different stride'
      + has_not)
    r("strides of the last layer", changed(None, "/layer4.0.conv2", strides=[1, 1]),
      'node "/layer4.0.downsample.0" (Conv): a stride that differs from its neighbour\'s' + has_not)
    r("padding", changed(None, "/layer1.0.conv2", pads=[0, 0, 0, 0]), 'node "/layer1.0.conv2" (Conv): different padding'
      + has_not)
    r("padding at the end", changed(None, "/layer2.0.conv2", pads=[0, 0, 1, 1]),
      'node "/layer2.0.conv2" (Conv): TensorFlow\'s padding' + has_not)
    r("dilation", changed(None, "/layer1.0.conv2", dilations=[2, 2]),
      'node "/layer1.0.conv2" (Conv): dilation' + has_not)
    r("groups", changed(None, "/layer1.0.conv2", group=32),
      'node "/layer1.0.conv2" (Conv): a different number of groups' + has_not)
    r("an epsilon", changed(None, "/layer1.0.bn2", epsilon=1e-3),
      'node "/layer1.0.bn2" (BatchNormalization): a different epsilon' + has_not)
    neck = Graph(resnet).resnet()
    stats = [neck.value("bottleneck." + p, np.ones(2048)) for p in ("weight", "bias", "running_mean", "running_var")]
    neck.add("BatchNormalization", ["/avgpool"] + stats, "/bottleneck", epsilon=1e-3)
    refused("an epsilon behind the pool", neck.bytes(), 'node "/bottleneck" (BatchNormalization): a different epsilon, '
            "unlike network resnet50-bnneck")
    for what, value in (("alpha", 0.5), ("beta", 0.5), ("transA", 1)):
        def factor(op, name, attributes):
            return (op, {**attributes, what: value}) if op == "Gemm" else None
        last = Graph({**resnet, "fc.weight": np.ones((7, 2048)), "fc.bias": np.ones(7)}, change=factor).resnet()
        refused("a linear layer's " + what, last.bytes(), "(Gemm): factors or transposed inputs" + has_not)
    r("an activation", changed("LeakyRelu", "Relu_3"), 'node "Relu_3" (LeakyRelu): an unexpected operation' + has_not)
    r("an operation of another domain", changed(None, "Relu_3", domain="com.microsoft"),
      'node "Relu_3" (com.microsoft.Relu): an unexpected operation' + has_not)
    r("no first ReLU", changed("Identity", "Relu_3"), "strong-baseline's code has no ReLU after the first convolution, "
      "unlike network resnet50")
    r("no first ReLU, and the wrong name", changed("Identity", "Relu_3"),
      "it has no ReLU after the first convolution, unlike network resnet50", "--net", "resnet50")
    r("an activation less", changed("Identity", "Relu_7"), "the graph has 47 Relu, 15 Add, 1 MaxPool, 0 Sigmoid, 0 Mul "
      "and 0 means, but network resnet50 has 48, 15, 1, 0, 0 and 0")
    r("a pool", changed(None, "/pool", ceil_mode=1), 'node "/pool" (MaxPool): a different pool' + has_not)
    r("another pool at the end", changed("Pow", "/avgpool"),
      'node "/avgpool" (Pow): not the mean over all pixels after the last convolution' + has_not)
    r("kernels of one number", changed(None, "/conv1", strides=[2]),
      'node "/conv1" (Conv): strides has 1 number; expected 2')
    wide = {**resnet, "layer2.1.conv2.weight": np.zeros((128, 4, 3, 3), np.float32)}
    refused("weights of another shape", Graph(wide, dtype=np.float16).resnet().bytes(),
            'node "/layer2.1.conv2" (Conv): its weights are [128, 4, 3, 3], but network resnet50 needs '
            "[128, 128, 3, 3] there (layer2.1.conv2)")
    short = {k: v for k, v in resnet.items() if not k.startswith("layer4.2.")}
    refused("a block less", Graph(short, dtype=np.float16).resnet().bytes(),
            "the graph has no convolution for layer4.2.conv1 (network resnet50)")
    g = Graph(resnet, dtype=np.float16).resnet()
    g.nodes[0] = g.nodes[0].replace(b"image", b"clean")
    refused("preprocessing", model([node("Sub", ["image", "mean"], "clean")] + g.nodes, g.tensors),
            'node "clean" (Sub) changes the pixels before the first convolution; the preset does that here')
    refused("a circle", model(g.nodes + [node("Sub", ["Relu_3"], "clean")], g.tensors),
            'node "/conv1" (Conv) uses the output of a later node')
    refused("a value twice", model(g.nodes + [node("Sub", ["image"], "/conv1")], g.tensors),
            'two nodes output the value "/conv1"')
    borders(resnet, r, changed)
    e("TensorFlow's padding, denied", None, "its padding is TensorFlow's: the network is tf_efficientnet_b0, not "
      "efficientnet_b0", "--net", "efficientnet_b0", same=True, join=True)
    e("HardSwish", changed("HardSigmoid", "Sigmoid_3"), 'node "Sigmoid_3" (HardSigmoid): an unexpected '
      "operation, unlike network efficientnet_b0")


def blocks(sbs):
    """Instance norm, non-local blocks, fast-reid's max pool and its generalised mean."""
    t = read(sbs)
    name = "network      resnet50-ibn-nl-fastreid-gem"
    expect("SBS", Graph(t).resnet().bytes(), sbs, says=name)
    expect("SBS, joined", Graph(t, join=True).resnet().bytes(), sbs, exact=False, says=name)

    def r(what, says, change=None, network="resnet50-ibn-nl", **other):
        said = says + (", unlike network " + network if network else "")
        refused(what, Graph({**t, **other}, change=change).resnet().bytes(), said)

    def op(where, new, **attributes):
        return lambda op, name, old: (new or op, {**old, **attributes}) if name == where else None

    bn = "/layer2.1.bn1"
    r("halves of other sizes", 'node "/layer2.1.conv1" (Conv): its channels are not split into two halves',
      op(bn + ".a", "Relu"))
    r("no instance norm", 'node "/layer2.1.conv1" (Conv): not instance norm of the first half of its channels and '
      "batch norm of the second", op(bn + ".IN", "Relu"))
    r("joined along rows", 'node "%s.IN" (InstanceNormalization): its halves are not joined in order' % bn,
      op(bn + ".both", None, axis=2))
    r("another epsilon", 'node "%s.IN" (InstanceNormalization): a different epsilon' % bn,
      op(bn + ".IN", None, epsilon=1e-3))
    w = 'node "/NL_3.1.W.0" (Conv): its input is not that of a non-local block'
    r("channels instead of positions", w, op("/NL_3.1.theta.turned", None, perm=[0, 1, 2]))
    r("a sum instead of a product", w, op("/NL_3.1.alike", "Add"))
    r("a softmax", w, op("/NL_3.1.div", "Softmax"))
    g = Graph(t)
    g.positions = 6.5
    refused("another divisor", g.resnet().bytes(), 'node "/NL_2.0.div" (Div): not divided by the number of positions')
    r("no root", 'node "/power" (Pow): no power of the inverse exponent after the mean', op("/inverse", "Neg"))
    r("the maximum", 'node "/avgpool" (GlobalMaxPool): not the mean over all pixels after the last convolution',
      op("/avgpool", "GlobalMaxPool"))


def borders(resnet, r, changed):
    """Pads that the next node cannot replace by padding of its own."""
    def b(what, says, change=None, where="/conv1_pad", border="attribute", **how):
        r("a border " + what, change, 'node "%s" (Pad): %s, unlike network resnet50' % (where, says),
          border=border, **how)

    b("that reflects", "a border that is not constant", changed(None, "/conv1_pad", mode="reflect"))
    b("of ones", "a border with other values", filled={"/conv1_pad": 1})
    b("of ones, by an input", "a border with other values", border="input", filled={"/conv1_pad": 1})
    b("of -inf before a convolution", "a border with other values", filled={"/conv1_pad": "-inf"})
    b("of ones before the pool", "a border with other values", filled={"/pool_pad": 1}, where="/pool_pad")
    b("of zeros where there are numbers below", "a border with other values", changed("LeakyRelu", "Relu_4"),
      where="/pool_pad")
    b("of channels", "a border in the batch or channel dimension",
      changed(None, "/conv1_pad", pads=[0, 1, 3, 3, 0, 0, 3, 3]))
    b("of the batch", "a border in the batch or channel dimension",
      changed(None, "/conv1_pad", pads=[0, 0, 3, 3, 1, 0, 3, 3]))
    b("that cuts off", "a negative or large border",
      changed(None, "/conv1_pad", pads=[0, 0, 4, 3, 0, 0, -1, 3]))
    b("before padding by a word", "a border combined with auto_pad",
      changed(None, "/conv1", auto_pad="SAME_UPPER"))
    b("that is nowhere", "a border that is not given as eight numbers",
      lambda op, name, attributes: (op, {}) if name == "/conv1_pad" else None)
    b("before another operation", "an unexpected operation", changed("Pad", "/layer1.0.bn3"),
      where="/layer1.0.bn3")
    r("a border of two", changed(None, "/conv1_pad", pads=[0, 0, 2, 2, 0, 0, 2, 2]), 'node "/conv1" (Conv): '
      "different padding, unlike network resnet50", border="attribute")
    r("a border at the end alone", changed(None, "/pool_pad", pads=[0, 0, 0, 0, 0, 0, 2, 2]),
      'node "/pool" (MaxPool): a different pool, unlike network resnet50', border="attribute")
    r("a border of seven numbers", changed(None, "/conv1_pad", pads=[0] * 7),
      'node "/conv1_pad" (Pad): pads has 7 numbers; expected 8', border="attribute")
    g = Graph(resnet, dtype=np.float16, border="input").resnet()
    says = 'node "/conv1_pad" (Pad): %s, unlike network resnet50'
    refused("a border for two nodes", model(g.nodes + [node("Identity", ["/conv1_pad"], "again")], g.tensors),
            says % "a border that several nodes use")
    fill, pads = data(1, "/conv1_pad.fill"), data(1, "/conv1_pad.pads")
    refused("a border with axes", model([n.replace(fill, fill + pads) for n in g.nodes], g.tensors),
            says % "a Pad with axes")
    for what, list_of in (("four numbers", [0, 0, 3, 3]), ("nine numbers", [0] * 9)):
        others = [t for t in g.tensors if data(8, "/conv1_pad.pads") not in t]
        refused("a border of " + what, model(g.nodes, [*others, tensor("/conv1_pad.pads", np.array(list_of))]),
                says % "a border that is not given as eight numbers")
    twice = [*g.tensors, tensor("/conv1_pad.pads", np.array([0, 0, 2, 2, 0, 0, 2, 2]))]
    refused("two borders of a name", model(g.nodes, twice), says % "a border that is not given as eight numbers")


def malformed():
    def t(**how):
        """A graph with one tensor, of two floats unless `how` changes it."""
        fields = {"dims": number(1, 2), "type": number(2, 1), "name": data(8, "a"), "raw": data(9, b"\0" * 8)}
        fields.update(how)
        return model([], [b"".join(fields.values())])

    two = tensor("a", np.zeros(2, np.float32))
    start = number(1, 8) + data(2, "x")
    rows = [
        ("no graph", start, "the ONNX file has no graph"),
        ("two graphs", model([], [two], after=data(7, b"")), "an ONNX file must have exactly one graph"),
        ("a graph that is a number", start + number(7, 1), "an ONNX file must have exactly one graph"),
        ("cut off in a field", model([], [two])[:-2], "protobuf: a field extends past its message"),
        ("cut off in a number", start + b"\x80", "protobuf: a number is cut off at byte"),
        ("cut off after a key", start + b"\x3a", "protobuf: a number is cut off at byte"),
        ("a number without end", start + b"\xff" * 12, "protobuf: a number is too large at byte"),
        ("a number above 64 bits", start + b"\x38" + b"\xff" * 9 + b"\x02", "protobuf: a number is too large at byte"),
        ("field 0", start + b"\x00\x01", "protobuf: an invalid field number at byte"),
        ("a group", start + b"\x3b\x3c", "protobuf: a field of unknown type at byte"),
        ("a field beyond its message", start + data(7, b"\x2a\x7f"), "protobuf: a field extends past its message"),
        ("a tensor that is a number", start + data(7, number(5, 1)), "a node or tensor is not a protobuf message"),
        ("a sparse tensor", start + data(7, data(15, b"")), "the graph has sparse tensors, which are not supported"),
        ("nothing in it", model([], []), "it contains no tensors"),
        ("only integers", t(type=number(2, 7), raw=data(9, b"\0" * 16)), "it contains no tensors"),
        ("no name", t(name=b""), "a tensor has no name"),
        ("two names", t(name=data(8, "a") + data(8, "b")), 'a tensor has two names; the first is "a"'),
        ("a name with a 0", t(name=data(8, b"a\0b")), "protobuf: the name of a tensor contains a zero byte"),
        ("a long name", t(name=data(8, "a" * 600)), "protobuf: the name of a tensor is too long"),
        ("a name that is a number", t(name=number(8, 1)), "protobuf: the name of a tensor is not text"),
        ("a name twice", model([], [two, two]), 'two tensors are named "a"'),
        ("too few values", t(raw=data(9, b"\0" * 7)), 'tensor "a" has 7 bytes of values, but its shape needs 8'),
        ("no values", t(raw=b""), 'tensor "a" has 0 bytes of values, but its shape needs 8'),
        ("too many values", t(raw=data(9, b"\0" * 12)), 'tensor "a" has 12 bytes of values, but its shape needs 8'),
        ("values twice", t(raw=data(9, b"\0" * 4) * 2), 'tensor "a": its values are in more than one piece'),
        ("values one by one", t(raw=real(4, 1) + real(4, 1)), 'tensor "a": its values are in more than one piece'),
        ("values of another type", t(raw=data(10, b"\0" * 8)),
         'tensor "a": its values are in a field of another type'),
        ("halves in integers", t(type=number(2, 10), raw=data(5, b"\0\0")), 'tensor "a": its values are in int32_data'),
        ("segments", t(raw=data(3, b"")), 'tensor "a": its values are in segments; expected raw_data'),
        ("another file", t(raw=data(13, data(1, "location") + data(2, "x.data")) + number(14, 1)),
         'tensor "a" has its values in another file (external data); save the model as one'),
        ("a negative side", t(dims=number(1, -1)), "a tensor has a negative dimension"),
        ("nine sides", t(dims=number(1, 1) * 9), "a tensor has more than 8 dimensions"),
        ("sides that overflow", t(dims=number(1, 1 << 40) * 2), 'tensor "a": its size overflows'),
        ("bytes that overflow", t(dims=number(1, 1 << 62)), 'tensor "a": its size overflows'),
        ("sides that are no numbers", t(dims=real(1, 2)), "a tensor's dimensions are not numbers"),
        ("packed sides, cut off", t(dims=data(1, b"\x82")), "protobuf: a number is cut off at byte"),
        ("integers that are cut off", t(type=number(2, 7), raw=data(9, b"\0" * 12)),
         'tensor "a" has 0 integers, but its shape needs 2'),
        ("more integers than the shape", t(type=number(2, 7), raw=data(7, b"\0" * 3)),
         'tensor "a" has 3 integers, but its shape needs 2'),
        ("a cut off integer", t(type=number(2, 7), raw=data(7, b"\0\x80")), "protobuf: a number is cut off at byte"),
        ("integers one by one", t(type=number(2, 7), raw=number(7, 0) * 2),
         'tensor "a": integers in more than one piece are not supported'),
        ("integers in another file", t(type=number(2, 7), raw=number(14, 1)),
         'tensor "a": integers in another file are not supported'),
        ("an attribute that is a number", model([data(4, "Conv") + number(5, 1)], [two]),
         "an attribute is not a protobuf message"),
        ("an attribute without name", model([node("Conv", [], "y") + data(5, number(3, 1))], [two]),
         'node "y" (Conv): an attribute has no name'),
        ("padding by a strange word", model([node("Conv", [], "y", auto_pad="SAME")], [two]),
         'node "y" (Conv): unknown auto_pad "SAME"'),
        ("too many inputs", model([b"\x0a\x00" * 5000], [two]), "a node has more than 4096 inputs or outputs"),
        ("too many nodes", model([b""] * 70000, [two]), "more than 65536 nodes"),
    ]
    for what, content, says in rows:
        refused(what, content, says)
    unpacked = t(dims=data(1, varint(2)))
    refused("packed sides, of a strange network", unpacked, 'no known network matches its 1 tensor name ("a")')


# --- seeds ------------------------------------------------------------------------------------------------------------
def tiny_resnet():
    t = {}
    for name, norm, shape in (("conv1", "bn1", (2, 3, 1, 1)), ("layer1.0.conv1", "layer1.0.bn1", (2, 2, 1, 1)),
                              ("layer1.0.conv2", "layer1.0.bn2", (2, 2, 3, 3)),
                              ("layer1.0.conv3", "layer1.0.bn3", (4, 2, 1, 1)),
                              ("layer1.0.downsample.0", "layer1.0.downsample.1", (4, 2, 1, 1))):
        t[name + ".weight"] = np.ones(shape, np.float32)
        t.update({norm + "." + p: np.ones(shape[0], np.float32) for p in ("weight", "bias", "running_mean",
                                                                         "running_var")})
    return {**t, "fc.weight": np.ones((2, 4), np.float32), "fc.bias": np.ones(2, np.float32)}


def tiny_blocks():
    """A layer with IBN-a and a non-local block, and a generalised mean."""
    t = tiny_resnet()
    for p in ("weight", "bias", "running_mean", "running_var"):
        del t["layer1.0.bn1." + p]
        t["layer1.0.bn1.BN." + p] = np.ones(1, np.float32)
        t["NL_1.0.W.1." + p] = np.ones(4, np.float32)
        t["bottleneck." + p] = np.ones(4, np.float32)
    for part, shape in (("W.0", (4, 1, 1, 1)), ("g", (1, 4, 1, 1)), ("phi", (1, 4, 1, 1)), ("theta", (1, 4, 1, 1))):
        t["NL_1.0.%s.weight" % part] = np.ones(shape, np.float32)
        t["NL_1.0.%s.bias" % part] = np.ones(shape[0], np.float32)
    return {**t, "layer1.0.bn1.IN.weight": np.ones(1, np.float32), "layer1.0.bn1.IN.bias": np.ones(1, np.float32),
            "pool_layer.p": np.full(1, 3, np.float32)}


def tiny_efficientnet():
    t, p = {}, "features.1.0.block."
    for name, norm, shape in (("features.0.0", "features.0.1", (2, 3, 3, 3)), (p + "0.0", p + "0.1", (2, 1, 3, 3)),
                              (p + "1.fc1", None, (1, 2, 1, 1)), (p + "1.fc2", None, (2, 1, 1, 1)),
                              (p + "2.0", p + "2.1", (1, 2, 1, 1)), ("features.8.0", "features.8.1", (4, 1, 1, 1))):
        t[name + ".weight"] = np.ones(shape, np.float32)
        parts = ("weight", "bias", "running_mean", "running_var") if norm else ("bias",)
        t.update({(norm or name) + "." + q: np.ones(shape[0], np.float32) for q in parts})
    return t


def seeds(folder):
    files = {}
    for join in (False, True):
        files["resnet_%d" % join] = Graph(tiny_resnet(), join=join).resnet().bytes()
        files["blocks_%d" % join] = Graph(tiny_blocks(), join=join).resnet().bytes()
        files["resnet_constants_%d" % join] = Graph(tiny_resnet(), join=join, constants=True).resnet().bytes()
        for border in ("attribute", "input", "list"):
            files["resnet_%s_%d" % (border, join)] = Graph(tiny_resnet(), join=join, border=border).resnet().bytes()
        for same in (False, True):
            files["effnet_%d_%d" % (join, same)] = Graph(tiny_efficientnet(), join=join, same=same, epsilon=1e-3 if same
                                                         else 1e-5).efficientnet().bytes()
    for name, content in files.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(content)


def main():
    networks_of = networks(R50, B0)
    misfits(*networks_of)
    blocks(SBS)
    malformed()
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(failed > 0)


if sys.argv[1] == "seeds":
    seeds(sys.argv[2])
else:
    REID, R50, B0, SBS, PICTURE = sys.argv[2:7]
    main()
