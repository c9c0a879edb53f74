"""Damaged parts of ResNets with instance norm and non-local blocks and of generalised means: `reid convert` and opening
the file, by `reid inspect`, must refuse them by the tensor's name.

    python bad_blocks.py REID SBS.safetensors        in an empty folder; SBS: resnet50-ibn-nl-fastreid-gem from seeded
"""
import os
import struct
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
from tensor_file import read, write  # pylint: disable=wrong-import-position

REID, SBS = sys.argv[1:]
passed = failed = 0


def refused(what, command, says):
    global passed, failed
    r = subprocess.run([REID, *command], capture_output=True, text=True)
    good = r.returncode == 2 and says in r.stderr
    passed, failed = passed + good, failed + (not good)
    if not good:
        print("FAIL %s, %s: exit %d, wanted \"%s\": %s" % (what, command[0], r.returncode, says, r.stderr))


def floats(*values):
    return struct.pack("<%df" % len(values), *values)


def main():
    metadata, tensors = read(SBS)

    def bad(what, says, opened=None, leave_out=(), **changed):
        t = {k: v for k, v in {**tensors, **changed.pop("more", {})}.items() if k not in leave_out}
        write("bad.safetensors", t, metadata)
        refused(what, ("convert", "bad.safetensors", "no.safetensors"), says)
        refused(what, ("embed", "-m", "bad.safetensors", "p.ppm", "-o", "no.npy"), opened or says)

    half = tensors["layer2.1.bn1.IN.bias"]
    bad("half an IBN block", "tensor layer2.1.bn1.IN.bias is missing",
        "tensor layer2.1.bn1.IN.bias: a tensor that the network needs is missing", ["layer2.1.bn1.IN.bias"])
    bad("IBN without its batch norm", "layer1.0.bn1.BN.", leave_out=[
        "layer1.0.bn1.BN." + k for k in ("weight", "bias", "running_mean", "running_var")])
    bad("a plain batch norm in one block", "layer3.2.bn1.", leave_out=[k for k in tensors if "layer3.2.bn1." in k],
        more={"layer3.2.bn1." + k: tensors["layer3.2.bn2." + k] for k in ("weight", "bias", "running_mean",
                                                                          "running_var")})
    bad("another split", "layer2.1.bn1.IN.bias", more={
        "layer2.1.bn1.IN.bias": ("F32", [half[1][0] // 2], half[2][:len(half[2]) // 2])})
    inner = {k.replace("NL_3.2", "NL_4.0"): v for k, v in tensors.items() if k.startswith("NL_3.2.")}
    bad("a non-local block in another layer", "NL_4.0.", more=inner)
    bad("one non-local block too many", "NL_2.2.", more={k.replace("NL_2.1", "NL_2.2"): v for k, v in tensors.items()
                                                         if k.startswith("NL_2.1.")})
    bad("half a non-local block", "NL_3.0.phi.weight", leave_out=["NL_3.0.phi.weight"])
    for p in (0.0, float("nan"), float("inf"), -3.0):
        bad("an exponent of %g" % p, "pool_layer.p", more={"pool_layer.p": ("F32", [1], floats(p))})
    for norm in ("layer1.0.bn1.BN", "NL_2.0.W.1", "bottleneck"):
        dtype, shape, data = tensors[norm + ".running_var"]
        bad("a variance below 0 in " + norm, norm + ".running_var",
            more={norm + ".running_var": (dtype, shape, floats(-1.0) + data[4:])})
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
