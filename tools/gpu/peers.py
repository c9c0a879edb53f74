"""peers.py: times PyTorch on the networks, sizes and batches of `reid bench`, on the same GPU.

    python3 peers.py --out peers.json [--lines peers.jsonl] [--bench bench.json] [--seconds 480] [--device cpu --small]
    python3 peers.py --fast --out peers.json [--lines peers.jsonl] [--seconds 40] [--device cpu --small]
    python3 peers.py --warm NET:BATCH

Peers, all in fp16 and channels_last (at the end a few in bf16, beside our bf16), inputs ready on the GPU, embeddings
left there; the fastest one counts:
    eager      the module as it is written, batch norm in eval mode
    graph      the same, replayed as one CUDA graph
    folded     batch norm folded into the convolutions, replayed as one CUDA graph
    compile    torch.compile(mode="max-autotune-no-cudagraphs") of the folded module, replayed as one CUDA graph
    reduce     torch.compile(mode="reduce-overhead") of the folded module, which uses CUDA graphs and needs no minutes
               to compile

--fast measures only what is usually fastest, the most important cells first, and torch.topk among a million rows.
--warm NET:BATCH compiles one of its networks and stops, so that --fast finds it in inductor's cache. Without --fast,
compiled ones are measured at batches 1 and 256, 224x224 first, as far as the time goes. Freezing is on for them
(torch._inductor.config.freezing). Weights are random, from a seed; nothing is downloaded.
Times are medians of event timings after a warm-up. Ours, from bench.json, is both the whole call (`ours_ms`: images
from host memory, resized, copied, embeddings back) and the network alone, which is what the peers do: its CUDA graph
(`graph_ms`) and the sum of its operations, each timed alone (`network_ms`). `latency_ms` is the whole call with
--latency, where it was measured.
Needs torch only. --device cpu --small is for testing this file without a GPU.
"""
import argparse
import json
import os
import platform
import sys
import time

import torch
from torch import nn

NETS = ["resnet50", "resnet50-multiscale", "efficientnet_b0"]
SIZES = [(224, 224), (256, 128)]
BATCHES = [1, 8, 32, 128, 256]
PIECE = 131072  # rows that many queries are multiplied with at a time
FAST = [("reduce", "resnet50", 256), ("reduce", "efficientnet_b0", 256), ("reduce", "resnet50", 1),
        ("reduce", "efficientnet_b0", 1), ("folded", "resnet50", 1), ("folded", "efficientnet_b0", 1),
        ("folded", "resnet50-multiscale", 256), ("folded", "resnet50", 256), ("folded", "efficientnet_b0", 256)]
BF16_SECONDS = 40  # reserved for bf16, because earlier measurements may take minutes


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False),
                                            nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return self.relu(y + (self.downsample(x) if self.downsample is not None else x))


class ResNet50(nn.Module):
    """Without the classifier; multiscale: four parts of 128 floats, side by side."""

    def __init__(self, multiscale):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                                  nn.MaxPool2d(3, 2, 1))
        inputs, layers = 64, []
        for width, count, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
            blocks = []
            for i in range(count):
                blocks.append(Bottleneck(inputs, width, stride if i == 0 else 1))
                inputs = 4 * width
            layers.append(nn.Sequential(*blocks))
        self.layer1, self.layer2, self.layer3, self.layer4 = layers
        self.multiscale = multiscale
        if multiscale:
            self.reduce_layer2, self.reduce_layer3 = nn.Linear(512 * 16, 128), nn.Linear(1024 * 4, 128)
            self.reduce_layer4, self.reduce_avgpool = nn.Linear(2048, 128), nn.Linear(2048, 128)

    def forward(self, x):
        a = self.layer2(self.layer1(self.stem(x)))
        b = self.layer3(a)
        c = self.layer4(b)
        pool = nn.functional.adaptive_avg_pool2d
        last = pool(c, 1).flatten(1)
        if self.multiscale:
            last = torch.cat([self.reduce_layer2(pool(a, 4).flatten(1)), self.reduce_layer3(pool(b, 2).flatten(1)),
                              self.reduce_layer4(last), self.reduce_avgpool(last)], 1)
        return nn.functional.normalize(last.float(), dim=1)


def conv_bn_silu(inputs, outputs, kernel, stride=1, groups=1, silu=True):
    parts = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
             nn.BatchNorm2d(outputs)]
    return nn.Sequential(*parts, *([nn.SiLU(inplace=True)] if silu else []))


class SqueezeExcite(nn.Module):
    def __init__(self, channels, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(channels, hidden, 1), nn.Conv2d(hidden, channels, 1)

    def forward(self, x):
        s = nn.functional.silu(self.fc1(nn.functional.adaptive_avg_pool2d(x, 1)))
        return x * torch.sigmoid(self.fc2(s))


class MBConv(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride, expand):
        super().__init__()
        wide = inputs * expand
        parts = [conv_bn_silu(inputs, wide, 1)] if expand != 1 else []
        parts += [conv_bn_silu(wide, wide, kernel, stride, wide), SqueezeExcite(wide, max(1, inputs // 4)),
                  conv_bn_silu(wide, outputs, 1, silu=False)]
        self.block, self.residual = nn.Sequential(*parts), stride == 1 and inputs == outputs

    def forward(self, x):
        y = self.block(x)
        return x + y if self.residual else y


class EfficientNetB0(nn.Module):
    def __init__(self):
        super().__init__()
        parts, inputs = [conv_bn_silu(3, 32, 3, 2)], 32
        for expand, kernel, stride, outputs, count in [(1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2),
                                                       (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
                                                       (6, 3, 1, 320, 1)]:
            for i in range(count):
                parts.append(MBConv(inputs, outputs, kernel, stride if i == 0 else 1, expand))
                inputs = outputs
        self.features = nn.Sequential(*parts, conv_bn_silu(320, 1280, 1))

    def forward(self, x):
        x = nn.functional.adaptive_avg_pool2d(self.features(x), 1).flatten(1)
        return nn.functional.normalize(x.float(), dim=1)


def make_net(name, device, dtype):
    torch.manual_seed(1)
    net = EfficientNetB0() if name == "efficientnet_b0" else ResNet50(name == "resnet50-multiscale")
    return net.eval().to(device=device, dtype=dtype, memory_format=torch.channels_last)


def trunk_parameters(name):
    """Number of weights and biases without the classifier, to check that the network is the same as ours."""
    return {"resnet50": 23508032, "resnet50-multiscale": 25605696, "efficientnet_b0": 4007548}[name]


def median_ms(call, device, least_calls=20, least_seconds=0.3, most_seconds=3.0):
    """Median milliseconds of a call; on a GPU by events around each."""
    def once():
        if device.type == "cpu":
            start = time.perf_counter()
            call()
            return 1e3 * (time.perf_counter() - start)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    start = time.perf_counter()
    for _ in range(3):
        once()
    while time.perf_counter() - start < least_seconds:  # clocks rise
        once()
    times, start = [], time.perf_counter()
    while (len(times) < least_calls or time.perf_counter() - start < least_seconds) and \
            time.perf_counter() - start < most_seconds:
        times.append(once())
    return sorted(times)[len(times) // 2]


def graph_of(net, x):
    """One CUDA graph of a call; run it with replay()."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            net(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        net(x)
    return graph


def folded(net):
    """The module with every batch norm folded into the convolution before it, in FP32."""
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    def fuse(module):
        children = list(module.named_children())
        norms = dict(children)
        for (name, child), (after, norm) in zip(children, children[1:]):
            if isinstance(child, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                setattr(module, name, fuse_conv_bn_eval(child, norm))
                setattr(module, after, nn.Identity())
        for number in "123":  # Bottleneck registers conv1, bn1, conv2, bn2 …: adjacent, too
            if "bn" + number in norms:
                assert isinstance(getattr(module, "bn" + number), nn.Identity)
        for child in module.children():
            fuse(child)

    dtype = next(net.parameters()).dtype
    with torch.no_grad():
        net = net.float()
        fuse(net)
    assert not any(isinstance(m, nn.BatchNorm2d) for m in net.modules())
    return net.to(dtype=dtype, memory_format=torch.channels_last)


def timed_graph(call, x, device):
    """Milliseconds of a call, replayed as a CUDA graph on a GPU."""
    if device.type != "cuda":
        return median_ms(lambda: call(x), device)
    return median_ms(graph_of(call, x).replay, device)


def measure_cell(net, x, device, peers):
    peers["torch_eager"] = median_ms(lambda: net(x), device)
    if device.type == "cuda":
        peers["torch_graph"] = timed_graph(net, x, device)
    peers["torch_folded"] = timed_graph(folded(net), x, device)


def compiled(net, device, mode):
    import torch._inductor.config as inductor
    torch._dynamo.reset()
    inductor.freezing = True
    return torch.compile(folded(net), mode=mode if device.type == "cuda" else "default")


def measure_reduce(net, x, device, peers):
    call = compiled(net, device, "reduce-overhead")
    peers["torch_reduce"] = median_ms(lambda: call(x), device)


def measure_folded(net, x, device, peers):
    peers["torch_folded"] = timed_graph(folded(net), x, device)


def measure_compiled(net, x, device, peers):
    peers["torch_compile"] = timed_graph(compiled(net, device, "max-autotune-no-cudagraphs"), x, device)


def top_rows(queries, rows, k):
    """The k best rows of each query; many queries in pieces, because (queries, rows) would not stay in the cache."""
    if len(queries) < 256:
        return torch.topk(queries @ rows.T, k)
    best = [torch.topk(queries @ piece.T, k) for piece in rows.split(PIECE)]
    found = torch.topk(torch.cat([b.values for b in best], 1), k)
    at = torch.cat([b.indices + i * PIECE for i, b in enumerate(best)], 1)
    return found.values, at.gather(1, found.indices)


def measure_search(device, dtype, count, note):
    """torch.topk of a product in FP16: neither exact nor in one kernel, but the shortest program."""
    torch.manual_seed(1)
    rows = nn.functional.normalize(torch.randn(count, 512, device=device, dtype=dtype), dim=1)
    for n in [1, 32, 1000]:
        queries = nn.functional.normalize(torch.randn(n, 512, device=device, dtype=dtype), dim=1)
        note({"rows": count, "dim": 512, "queries": n, "k": 10, "kind": "topk",
              "ms": median_ms(lambda: top_rows(queries, rows, 10), device)})


def ours_from(path):
    """(net, size, precision, batch) -> cell of bench.json, with its latency_ms; empty without the file."""
    try:
        with open(path) as f:
            bench = json.load(f)
            cells, quick = bench["cells"], bench.get("cells_latency", [])
    except (OSError, TypeError, ValueError, KeyError):
        return {}
    ours = {(c["net"], c["size"], c["precision"], c["batch"]): c for c in cells if c["device"].startswith("cuda")}
    for c in quick:
        ours.get((c["net"], c["size"], c["precision"], c["batch"]), {})["latency_ms"] = c["ours_ms"]
    return ours


KINDS = ["eager", "graph", "folded", "reduce", "compile"]
HEAD = "%-20s %-8s %-5s %4s" % ("net", "size", "in", "n") + "".join(" %10s" % (kind + " ms") for kind in KINDS) + \
    "".join(" %10s %6s" % (ours + " ms", "ratio") for ours in ["ours", "graph", "network", "latency"])


def row_of(cell, ours):
    """One line of the table; a ratio above 1 says that ours is faster."""
    best = min(cell["peers_ms"].values()) if cell["peers_ms"] else None
    line = "%-20s %-8s %-5s %4d" % (cell["net"], cell["size"], cell["precision"], cell["batch"])
    for name in ["torch_" + kind for kind in KINDS]:
        line += " %10s" % ("%.3f" % cell["peers_ms"][name] if name in cell["peers_ms"] else "-")
    for key in ["ours_ms", "graph_ms", "network_ms", "latency_ms"]:
        mine = ours.get(key) if ours else None
        line += " %10s %6s" % ("%.3f" % mine if mine else "-", "%.2f" % (best / mine) if mine and best else "-")
    return line


def versions(device):
    found = {"torch": torch.__version__, "python": platform.python_version()}
    if device.type == "cuda":
        found["cuda"], found["cudnn"] = torch.version.cuda, torch.backends.cudnn.version()
    return found


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--out", help="JSON")
    p.add_argument("--lines", help="JSON lines: each result as soon as it is known")
    p.add_argument("--bench", help="bench.json of gpu_check")
    p.add_argument("--seconds", type=float, default=480, help="start no measurement after this time")
    p.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    p.add_argument("--small", action="store_true", help="64x32, batches 1 and 2")
    p.add_argument("--fast", action="store_true", help="only what is usually fastest, and torch.topk")
    p.add_argument("--warm", metavar="NET:BATCH", help="compile one network into inductor's cache, measure nothing")
    args = p.parse_args()
    if not args.out and not args.warm:
        p.error("--out FILE is missing")
    return args


def warm(what):
    name, batch = what.split(":")
    device, dtype = torch.device("cuda"), torch.float16
    torch.backends.cudnn.benchmark = True
    x = torch.randn(int(batch), 3, 224, 224, device=device, dtype=dtype).to(memory_format=torch.channels_last)
    with torch.inference_mode():
        call = compiled(make_net(name, device, dtype), device, "reduce-overhead")
        for _ in range(3):
            call(x)
    torch.cuda.synchronize()


def main():
    args = parse()
    if args.warm:
        warm(args.warm)
        return
    began, device = time.time(), torch.device(args.device)
    dtypes = {"fp16": torch.float16, "fp32": torch.float32, "bf16": torch.bfloat16}
    usual = "fp16" if device.type == "cuda" else "fp32"
    sizes, batches = ([(64, 32)], [1, 2]) if args.small else (SIZES, BATCHES)
    torch.backends.cudnn.benchmark = True
    ours, cells, skipped = ours_from(args.bench), {}, []
    left = lambda: args.seconds - (time.time() - began)  # noqa: E731

    def run(name, size, batch, measure, need, precision=usual):
        key = (name, "%dx%d" % size, precision, batch)
        if left() < need:
            skipped.append("%s %s %s batch %d: %s" % (name, key[1], precision, batch, measure.__name__))
            return
        cell = cells.setdefault(key, {"net": name, "size": key[1], "precision": precision, "device": args.device,
                                      "batch": batch, "peers_ms": {}})
        dtype = dtypes[precision]
        net = make_net(name, device, dtype)
        found = sum(p.numel() for p in net.parameters())
        assert found == trunk_parameters(name), "%s has %d parameters" % (name, found)
        x = torch.randn(batch, 3, *size, device=device, dtype=dtype).to(memory_format=torch.channels_last)
        before = dict(cell["peers_ms"])
        try:
            measure(net, x, device, cell["peers_ms"])
        except Exception as e:  # a failing peer must not lose the others
            skipped.append("%s %s %s batch %d: %s: %s" % (name, key[1], precision, batch, measure.__name__,
                                                          str(e)[:200]))

        new = {k: v for k, v in cell["peers_ms"].items() if k not in before}
        note({"net": name, "size": key[1], "precision": precision, "batch": batch, "peers_ms": new})
        print(name, key[1], precision, batch, " ".join("%s %.3f ms" % (k, v) for k, v in new.items()), file=sys.stderr,
              flush=True)

    def note(result):
        if args.lines:
            with open(args.lines, "a") as f:
                f.write(json.dumps(result) + "\n")

    def save():  # after each long step, so that a time limit loses little
        for key, cell in cells.items():
            for field in ["ours_ms", "graph_ms", "network_ms", "latency_ms"]:
                if field in ours.get(key, {}):
                    cell[field] = ours[key][field]
        chip = torch.cuda.get_device_name(0) if device.type == "cuda" else platform.processor()
        with open(args.out + ".part", "w") as f:
            json.dump({"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "chip": chip,
                       "versions": versions(device), "skipped": skipped, "cells": list(cells.values())}, f, indent=1)
        os.replace(args.out + ".part", args.out)

    def run_fast():
        note({"versions": versions(device)})
        try:
            measure_search(device, dtypes[usual], 3000 if args.small else 1000000, note)
        except Exception as e:  # the networks are worth measuring without it
            skipped.append("topk: " + str(e)[:200])
        for kind, name, batch in FAST:
            measure = measure_reduce if kind == "reduce" else measure_folded
            run(name, sizes[0], min(batch, batches[-1]), measure, 4)
            save()

    def run_all():
        for name in NETS:
            for size in sizes:
                for batch in batches:
                    run(name, size, batch, measure_cell, 10)
            save()
        for size in sizes:
            for measure, need in ((measure_reduce, 60), (measure_compiled, 100 + BF16_SECONDS)):
                for batch in (batches[0], batches[-1]):
                    for name in NETS:
                        run(name, size, batch, measure, need)
                        save()
        for measure, need in ((measure_cell, 10), (measure_reduce, 60)):
            for batch in (batches[0], batches[-1]):
                for name in NETS:
                    run(name, sizes[0], batch, measure, need, "bf16")
                    save()
    with torch.inference_mode():
        run_fast() if args.fast else run_all()
    print(HEAD)
    for key, cell in cells.items():
        print(row_of(cell, ours.get(key)))
    print("ratio: the fastest peer's time over ours")
    for what in skipped:
        print("skipped:", what)


if __name__ == "__main__":
    main()
