"""ONNX files that torch.onnx writes of the field's networks, with seeded weights, and what reid convert makes of them.

    python onnx_torch.py REID SEEDED PICTURE.ppm [NETWORK...]      in an empty folder; needs torch, torchvision, timm

Each network is exported by both exporters, where onnxscript is there for the newer one, with batch norms folded or not
as they please. The converted file must give the embeddings of the file with the weights it was made from. Prints one
line per file and "N passed, N failed" at the end.
"""
import os
import subprocess
import sys
import warnings

import numpy as np
import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../golden"))
import make_embeddings  # pylint: disable=wrong-import-position
import seeded  # pylint: disable=wrong-import-position

REID, SEEDED, PICTURE = sys.argv[1:4]
NETWORKS = ["resnet50-ibn-bnneck", "resnet50-ibnb", "resnet50-ibn-nl-fastreid-gem", "resnet50-nlhalf-bnneck",
            "resnet50-bnneck-gem", "resnet50-strongbaseline", "resnet50-nlhalf-strongbaseline-gem",
            "resnet101-ibn-fastreid-gem", "efficientnet_v2_s", "tf_efficientnetv2_s", "efficientnetv2_rw_t",
            "efficientnetv2_rw_s", "efficientnet_b4", "miewid"]
HEIGHT, WIDTH = 96, 64
OPTIONS = ["--preset", "torchreid", "--size", f"{HEIGHT}x{WIDTH}"]


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True)


def embedding(weights):
    r = run(REID, "embed", "-q", "--device", "cpu", "-m", weights, *OPTIONS, PICTURE, "-o", "e.npy")
    assert r.returncode == 0, r.stderr
    return np.load("e.npy")[0].astype(np.float64)


class Named(torch.nn.Module):
    """The network with its layers after the trunk under the names of the code that it comes from."""

    def __init__(self, name, module):
        super().__init__()
        self.backbone, self.heads = module, torch.nn.Module()
        tail = any(part in name for part in ("fastreid", "bnneck", "strongbaseline"))
        if tail:
            self.heads.pool_layer, module.avgpool = module.avgpool, torch.nn.Identity()
            self.heads.bottleneck, module.fc = module.fc, torch.nn.Identity()
        if name == "miewid":
            self.backbone, self.pooling, self.bn = module[0], module[1], module[3]
        self.tail, self.miewid = tail, name == "miewid"

    def forward(self, x):
        if self.miewid:
            return self.bn(self.pooling(self.backbone.forward_features(x)).flatten(1))
        if not self.tail:
            return self.backbone(x)
        b = self.backbone
        x = b.layer4(b.layer3(b.layer2(b.layer1(b.maxpool(b.relu(b.bn1(b.conv1(x))))))))
        return self.heads.bottleneck(self.heads.pool_layer(x).flatten(1))


def export(module, newer):
    image = torch.zeros(2, 3, HEIGHT, WIDTH)
    if newer:
        torch.onnx.export(module, (image,), "in.onnx", dynamo=True, external_data=False, verbose=False,
                          input_names=["image"], dynamic_shapes=({0: torch.export.Dim("batch")},))
    else:
        torch.onnx.export(module, (image,), "in.onnx", dynamo=False, input_names=["image"],
                          dynamic_axes={"image": {0: "batch"}})


def converted(name, newer):
    """Returns what is wrong, or an empty text. Traced, TensorFlow's padding is computed from the size of the image."""
    r = run(REID, "convert", "in.onnx", "out.safetensors")
    if name.startswith("tf_") and not newer:
        return "" if "a border that is not given as eight numbers" in r.stderr else r.stdout + r.stderr
    if r.returncode:
        return r.stderr.strip()
    if f"\nnetwork      {name} (" not in r.stdout:
        return r.stdout
    expected, got = embedding("seeded.safetensors"), embedding("out.safetensors")
    apart = np.abs(got - expected).max()
    print("%-30s %-8s off by %.1e" % (name, "dynamo" if newer else "traced", apart), flush=True)
    return "" if apart < 3e-5 else "embeddings are %g apart" % apart  # exporters fold batch norms in FP32


def main():
    warnings.filterwarnings("ignore")
    passed = failed = 0
    try:
        import onnxscript  # pylint: disable=import-outside-toplevel,unused-import
        exporters = (False, True)
    except ImportError:
        exporters = (False,)
    for name in sys.argv[4:] or NETWORKS:
        state, _ = make_embeddings.split(seeded.build(name)[0])
        r = run(SEEDED, "--net", name, "-o", "seeded.safetensors")
        assert r.returncode == 0, r.stderr
        module = Named(name, make_embeddings.trunk(name, state, 2)).eval()
        for newer in exporters:
            export(module, newer)
            wrong = converted(name, newer)
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                print("FAIL", name, "dynamo:" if newer else "traced:", wrong, flush=True)
    print("%d passed, %d failed (torch %s%s)" % (passed, failed, torch.__version__,
                                                 "" if len(exporters) == 2 else ", without onnxscript"))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
