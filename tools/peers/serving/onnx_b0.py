"""onnx_b0.py: EfficientNet-B0 as an ONNX file, from a safetensors file with torchvision's names; batch norm is folded,
as every exporter does, and the batch is free.

    python3 onnx_b0.py WEIGHTS.safetensors OUT.onnx
"""
import json
import struct
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# torchvision's table: expansion, kernel, stride, input and output channels, repeats
STAGES = [(1, 3, 1, 32, 16, 1), (6, 3, 2, 16, 24, 2), (6, 5, 2, 24, 40, 2), (6, 3, 2, 40, 80, 3), (6, 5, 1, 80, 112, 3),
          (6, 5, 2, 112, 192, 4), (6, 3, 1, 192, 320, 1)]
EPSILON = 1e-5


def read(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    tensors = {}
    for name, t in header.items():
        if name != "__metadata__":
            begin, end = t["data_offsets"]
            tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(t["shape"])
    return tensors


class Graph:
    def __init__(self, tensors):
        self.tensors, self.nodes, self.initializers, self.count = tensors, [], [], 0

    def add(self, kind, inputs, **attributes):
        self.count += 1
        out = f"v{self.count}"
        self.nodes.append(helper.make_node(kind, inputs, [out], **attributes))
        return out

    def constant(self, name, values):
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values, np.float32), name))
        return name

    def conv(self, x, conv, norm=None, stride=1, groups=1, act=True):
        weight = self.tensors[conv + ".weight"].astype(np.float64)
        if norm:
            deviation = np.sqrt(self.tensors[norm + ".running_var"].astype(np.float64) + EPSILON)
            scale = self.tensors[norm + ".weight"] / deviation
            bias = self.tensors[norm + ".bias"] - self.tensors[norm + ".running_mean"] * scale
            weight = weight * scale[:, None, None, None]
        else:
            bias = self.tensors[conv + ".bias"]
        pad = (weight.shape[2] - 1) // 2
        out = self.add("Conv", [x, self.constant(conv + ".w", weight), self.constant(conv + ".b", bias)],
                       strides=[stride, stride], pads=[pad] * 4, group=groups)
        return self.silu(out) if act else out

    def silu(self, x):
        return self.add("Mul", [x, self.add("Sigmoid", [x])])

    def squeeze(self, x, name):
        mean = self.add("GlobalAveragePool", [x])
        factors = self.conv(self.silu(self.conv(mean, name + ".fc1", act=False)), name + ".fc2", act=False)
        return self.add("Mul", [x, self.add("Sigmoid", [factors])])

    def block(self, x, name, expansion, stride, inputs, outputs):
        y, at, wide = x, 0, inputs * expansion
        if expansion != 1:
            y, at = self.conv(y, f"{name}.block.0.0", f"{name}.block.0.1"), 1
        y = self.conv(y, f"{name}.block.{at}.0", f"{name}.block.{at}.1", stride, wide)
        y = self.squeeze(y, f"{name}.block.{at + 1}")
        y = self.conv(y, f"{name}.block.{at + 2}.0", f"{name}.block.{at + 2}.1", act=False)
        return self.add("Add", [y, x]) if stride == 1 and inputs == outputs else y


def build(tensors):
    g = Graph(tensors)
    x = g.conv("images", "features.0.0", "features.0.1", 2)
    for i, (expansion, _, stride, inputs, outputs, repeats) in enumerate(STAGES):
        for k in range(repeats):
            x = g.block(x, f"features.{i + 1}.{k}", expansion, stride if k == 0 else 1, inputs if k == 0 else outputs,
                        outputs)
    x = g.add("Flatten", [g.add("GlobalAveragePool", [g.conv(x, "features.8.0", "features.8.1")])])
    g.nodes[-1].output[0] = "rows"
    graph = helper.make_graph(g.nodes, "efficientnet_b0",
                              [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", 3, 224, 224])],
                              [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", 1280])], g.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.checker.check_model(model)
    return model


if __name__ == "__main__":
    onnx.save(build(read(sys.argv[1])), sys.argv[2])
