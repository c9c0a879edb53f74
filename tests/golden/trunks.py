"""ResNets with instance norm and non-local blocks, from their published definitions, and timm's names.

Sources: IBN-Net (github.com/XingangPan/IBN-Net): IBN-a is instance norm of the first half of the channels behind conv1
and batch norm of the others; IBN-b is instance norm behind the stem's convolution and behind the last addition of
layers 1 and 2. fast-reid (github.com/JDAI-CV/fast-reid) and AGW (github.com/mangye16/ReID-Survey): non-local blocks by
dot products, divided by the number of positions, behind the last blocks of layers 2 and 3.
"""
import re

import torch
import torch.nn.functional as F

import seeded


class InstanceAndBatch(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.IN = torch.nn.InstanceNorm2d(channels // 2, affine=True)
        self.BN = torch.nn.BatchNorm2d(channels - channels // 2)

    def forward(self, x):
        half = self.IN.num_features
        return torch.cat((self.IN(x[:, :half].contiguous()), self.BN(x[:, half:].contiguous())), 1)


class NonLocal(torch.nn.Module):
    def __init__(self, channels, inner):
        super().__init__()
        for name in ("theta", "phi", "g"):
            setattr(self, name, torch.nn.Conv2d(channels, inner, 1))
        self.W = torch.nn.Sequential(torch.nn.Conv2d(inner, channels, 1), torch.nn.BatchNorm2d(channels))

    def forward(self, x):
        query, key, value = (part(x).flatten(2) for part in (self.theta, self.phi, self.g))  # (n, inner, positions)
        alike = query.transpose(1, 2) @ key / x[0, 0].numel()
        y = (alike @ value.transpose(1, 2)).transpose(1, 2)
        return self.W(y.unflatten(2, x.shape[2:])) + x


def instance_behind(block):
    """IBN-b's end of a block: instance norm between the addition and the ReLU."""
    block.IN = torch.nn.InstanceNorm2d(block.bn3.num_features, affine=True)

    def forward(x):
        y = F.relu(block.bn1(block.conv1(x)))
        y = F.relu(block.bn2(block.conv2(y)))
        y = block.bn3(block.conv3(y)) + (block.downsample(x) if block.downsample else x)
        return F.relu(block.IN(y))

    block.forward = forward


def nonlocal_behind(module, layer, blocks, half):
    """Puts non-local blocks behind the last blocks of a layer, under fast-reid's names."""
    channels = 128 << layer
    name = f"NL_{layer}"
    setattr(module, name, torch.nn.ModuleList(NonLocal(channels, channels // 2 if half else 1) for _ in range(blocks)))
    for block, after in zip(getattr(module, f"layer{layer}")[-blocks:], getattr(module, name)):
        block.register_forward_hook(lambda m, i, out, after=after: after(out))


def change(module, layers, ibn, nonlocal_):
    """Gives torchvision's ResNet a trunk: seeded.trunk_of."""
    if ibn == "-ibn":
        for layer in (module.layer1, module.layer2, module.layer3):
            for block in layer:
                block.bn1 = InstanceAndBatch(block.bn1.num_features)
    if ibn == "-ibnb":
        module.bn1 = torch.nn.InstanceNorm2d(64, affine=True)
        instance_behind(module.layer1[-1])
        instance_behind(module.layer2[-1])
    for layer, blocks in enumerate(seeded.NONLOCAL[layers] if nonlocal_ else ()):
        if blocks:
            nonlocal_behind(module, layer + 1, blocks, nonlocal_ == "-nlhalf")


FUSED = {"0.0": "conv_exp", "0.1": "bn1", "1.0": "conv_pwl", "1.1": "bn2"}
INVERTED = {"0.0": "conv_pw", "0.1": "bn1", "1.0": "conv_dw", "1.1": "bn2", "2.fc1": "se.conv_reduce"}
INVERTED |= {"2.fc2": "se.conv_expand", "3.0": "conv_pwl", "3.1": "bn3"}


def timm_names(state, single):
    """torchvision's names of an EfficientNetV2 of six stages to timm's. single: the first stage has one convolution."""
    ends = {"features.0.0": "conv_stem", "features.0.1": "bn1", "features.7.0": "conv_head", "features.7.1": "bn2"}
    out = {}
    for name, value in state.items():
        part, tensor = name.rsplit(".", 1)
        block = re.fullmatch(r"features\.(\d)\.(\d+)\.block\.(.*)", part)
        if block:
            stage, number, rest = int(block[1]) - 1, block[2], block[3]
            kind = (FUSED | {"0.0": "conv"} if stage == 0 and single else FUSED) if stage < 3 else INVERTED
            part = f"blocks.{stage}.{number}.{kind[rest]}"
        out[f"{ends.get(part, part)}.{tensor}"] = value
    return out
