"""Heads with other names, converted, against the same layers in numpy in double precision.

    python heads.py REID RESNET.safetensors EFFICIENTNET.safetensors PICTURE.ppm      in an empty folder

The files come from `cli_files weights`. A head's input is what `reid embed --raw --head none` makes of the image.
Prints one line for each failure and "N passed, N failed" at the end.
"""
import os
import subprocess
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
from says import says as says_part  # pylint: disable=wrong-import-position
from tensor_file import read, write  # pylint: disable=wrong-import-position

REID, R50, B0, PICTURE = sys.argv[1:5]
OPTIONS = ["--preset", "torchreid", "--size", "40x33"]
TYPES = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}
passed = failed = 0
random = np.random.default_rng(7)


def run(*arguments):
    return subprocess.run([REID, *arguments], capture_output=True, text=True)


def embedding(weights, *options):
    r = run("embed", "-q", "-m", weights, "--raw", *OPTIONS, *options, PICTURE, "-o", "e.npy")
    assert r.returncode == 0, r.stderr
    return np.load("e.npy")[0].astype(np.float64)


def norm(n):
    return {"weight": random.uniform(0.5, 2, n), "bias": random.normal(size=n), "running_mean": random.normal(size=n),
            "running_var": random.uniform(0.1, 3, n)}


def linear(n, inputs, bias=True):
    out = {"weight": random.normal(size=(n, inputs)) / inputs ** 0.5}
    if bias:
        out["bias"] = random.normal(size=n)
    return out


def apply(x, layer):
    if callable(layer):
        return layer(x)
    if "running_var" in layer:
        x = (x - layer["running_mean"]) / np.sqrt(layer["running_var"] + 1e-5)
        return x * layer.get("weight", 1) + layer.get("bias", 0)
    return layer["weight"].reshape(len(layer["weight"]), -1) @ x + layer.get("bias", 0)


def file_with(base, layers, dtype="F32"):
    """Writes the base's tensors and these layers, and rounds the layers' values as they are stored."""
    tensors = dict(base)
    for name, parts in layers.items():
        for part, values in (parts.items() if isinstance(parts, dict) else ()):
            stored = values.astype(TYPES[dtype])
            parts[part] = stored.astype(np.float64)
            tensors[name + "." + part] = (dtype, stored.shape, stored.tobytes())
    write("in.safetensors", tensors)


def expect(what, base, head, layers, dtype="F32", network=None, prefix=""):
    """head: the option; layers: in the order of computation, with functions for activations."""
    global passed, failed
    file_with(base, {prefix + k: v for k, v in layers.items()}, dtype)
    r = run("convert", *(["--net", network] if network else []), "--head", head, "in.safetensors", "out.safetensors")
    if r.returncode:
        failed += 1
        print("FAIL", what + ":", r.stderr.strip())
        return
    wanted = features = embedding("out.safetensors", "--head", "none")
    for layer in layers.values():
        scale = np.abs(wanted).max() if callable(layer) else 0 # small values keep their earlier errors
        wanted = apply(wanted, layer)
    got = embedding("out.safetensors")
    error = np.abs(got - wanted).max() / max(scale, np.abs(wanted).max()) if got.shape == wanted.shape else np.inf
    print("%-34s %4d from %d, off by %.1e" % (what, len(wanted), len(features), error))
    again = run("convert", "out.safetensors", "again.safetensors") # a converted file must convert to itself
    same = again.returncode == 0 and (embedding("again.safetensors") == got).all()
    if error > 2e-6 or not same:
        print("FAIL", what + ":", "conversion of the conversion: " + again.stderr if not same else "other values")
    passed, failed = passed + (error <= 2e-6 and same), failed + (error > 2e-6 or not same)


def refused(what, base, head, layers, says, *options):
    global passed, failed
    file_with(base, layers)
    r = run("convert", *options, "--head", head, "in.safetensors", "no.safetensors")
    good = r.returncode == 2 and says_part(r.stderr, says) and not os.path.exists("no.safetensors")
    passed, failed = passed + good, failed + (not good)
    if not good:
        print("FAIL", what + ": exit", r.returncode, r.stderr.strip())


def relu(x):
    return np.maximum(x, 0)


def silu(x):
    return x / (1 + np.exp(np.minimum(-x, 700)))


def main():
    global passed, failed
    r50, b0 = read(R50)[1], read(B0)[1]
    expect("fc", r50, "fc", {"fc": linear(768, 2048)})
    expect("fc without bias", r50, "fc", {"fc": linear(3, 2048, bias=False)})
    expect("fc and an activation", r50, "fc,relu", {"fc": linear(17, 2048), "relu": relu})
    expect("any name, behind another", r50, "embed", {"embed": linear(64, 2048)}, prefix="neck.")
    expect("batch norm after it", r50, "emb.0,emb.1", {"emb.0": linear(128, 2048), "emb.1": norm(128)})
    expect("batch norms on both sides", r50, "bn,fc,feat_bn,silu",
           {"bn": norm(2048), "fc": linear(100, 2048), "feat_bn": norm(100), "silu": silu})
    plain = norm(33)
    del plain["weight"], plain["bias"]
    expect("batch norm without weights", r50, "a,b", {"a": linear(33, 2048), "b": plain})
    expect("a 1x1 convolution", r50, "reduce", {"reduce": {"weight": random.normal(size=(9, 2048, 1, 1)) / 40}})
    neck = {"bottleneck." + k: ("F32", v.shape, v.astype("<f4").tobytes()) for k, v in norm(2048).items()}
    expect("behind a BNNeck", {**r50, **neck}, "fc", {"fc": linear(12, 2048)})
    expect("EfficientNet's classifier", b0, "classifier.1", {"classifier.1": linear(31, 1280)})
    expect("halves", b0, "head", {"head": linear(256, 1280)}, dtype="F16")
    expect("doubles", b0, "head", {"head": linear(256, 1280)}, dtype="F64")
    expect("EfficientNet of TensorFlow", b0, "head,swish", {"head": linear(5, 1280), "swish": silu},
           network="tf_efficientnet_b0")

    expect("tanh, as of imgsim", r50, "fc,tanh", {"fc": linear(768, 2048), "tanh": np.tanh})

    fc = {"fc": linear(7, 2048)}
    refused("an activation that is not here", r50, "fc,gelu", fc, '"gelu" is neither a layer in the file (gelu.weight) '
            "nor an activation that may follow a head (relu, silu, tanh)")
    refused("the activation first", r50, "relu,fc", fc, 'the head\'s activation must come last, but "fc" follows it')
    refused("no such layer", r50, "nope", fc, '"nope" is neither a layer in the file')
    refused("nothing", r50, "", fc, '--head takes LAYER[,LAYER]..., not ""')
    refused("an empty name", r50, "fc,,relu", fc,
            'invalid head "fc,,relu"; expected names of layers, separated by commas')
    refused("only a batch norm", r50, "bn", {"bn": norm(2048)}, 'the head "bn" has no linear layer')
    refused("two linear layers", r50, "a,b", {"a": linear(8, 2048), "b": linear(8, 8)},
            'the head has a second linear layer, "b"; only one is allowed')
    refused("twice", r50, "bn,bn,fc", {"bn": norm(2048), **fc}, "tensor bn.weight is used twice in the head")
    refused("a part of the trunk", r50, "layer4.2.bn3,fc", fc, "tensor layer4.2.bn3.weight is part of network")
    refused("two of a name", r50, "h", {"a.h": linear(8, 2048), "b.h": linear(8, 2048)},
            "the head's layer \"h\" may be a.h.weight or b.h.weight; give the full name")
    refused("other features", r50, "fc", {"fc": linear(7, 1024)}, "tensor fc.weight of the head has 7 x 1024 values; "
            "expected 1 to 65536 x 2048, the number of features of resnet50")
    refused("a bias of another size", r50, "fc", {"fc": {**linear(7, 2048), "bias": np.zeros(8)}},
            "tensor fc.bias of the head must have 7 values of type float32")
    refused("half a batch norm", r50, "fc,bn", {**fc, "bn": {"running_mean": np.zeros(7)}},
            'the head\'s batch norm "bn" has no running_var')
    refused("a negative variance", r50, "fc,bn", {**fc, "bn": {**norm(7), "running_var": -np.ones(7)}},
            "the head's batch norm \"bn\" has the invalid variance -1 in channel 0")
    refused("not all of what is behind it", r50, "emb.0", {"emb.0": linear(7, 2048), "emb.1": norm(7)},
            "tensor emb.1.bias is not part of network resnet50")
    refused("a second head", b0, "fc", {"projection": linear(512, 1280), "fc": linear(7, 1280)},
            "the file already has a head, projection.")
    file_with(r50, {"fc": linear(751, 2048)})
    r = run("convert", "in.safetensors", "out.safetensors")
    good = r.returncode == 0 and says_part(r.stderr, "fc.weight has 751 outputs, not ImageNet's 1000 classes")
    passed, failed = passed + good, failed + (not good)
    i = run("inspect", "--tensors", "out.safetensors")
    good = "fc.weight: 751 wide: an embedding layer? reid convert --head fc takes it" in i.stdout
    passed, failed = passed + good, failed + (not good)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(failed > 0)


main()
