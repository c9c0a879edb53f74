"""Checkpoints of every kind written by PyTorch are converted, and compared bit for bit with PyTorch's tensors.

    python3 tests/tools/weights/convert_torch.py REID SEEDED_B0.safetensors SEEDED_RESNET50.safetensors

The second file comes from build/seeded --extras --net efficientnet_b0, the third likewise for resnet50; if it is "-",
the tests that need it are left out. Prints one line for each failure and "N passed, N failed" at the end.
"""
import collections
import ctypes
import io
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import tempfile
import warnings

import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
import tensor_file  # pylint: disable=wrong-import-position
from says import says as says_part  # pylint: disable=wrong-import-position

warnings.filterwarnings("ignore")
REID, B0, R50 = sys.argv[1:4]
DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64, "I64": torch.int64}
passed = failed = 0


def read(path):
    """Torch tensors of a safetensors file, and the metadata."""
    meta, tensors = tensor_file.read(path)
    return collections.OrderedDict((name, torch.frombuffer(bytearray(raw), dtype=DTYPES[dtype]).reshape(shape))
                                   for name, (dtype, shape, raw) in tensors.items()), meta


def fail(what, why):
    global failed
    failed += 1
    print("FAIL", what + ":", why)


def convert(path, *options, out="out.safetensors"):
    if os.path.exists(out):
        os.remove(out)
    return subprocess.run([REID, "convert", *options, path, out], capture_output=True, text=True)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and (
        a.contiguous().flatten().view(torch.uint8).tolist() == b.contiguous().flatten().view(torch.uint8).tolist()
        if a.numel() < 64 else torch.equal(a, b))


def expect(what, path, wanted, *options, meta=None, says=None, carried=True):
    """Converts path and compares every tensor; wanted: torchvision's names to tensors."""
    global passed
    r = convert(path, *options)
    if r.returncode:
        return fail(what, "exit %d: %s" % (r.returncode, r.stderr.strip()))
    got, metadata = read("out.safetensors")
    for name, t in wanted.items():
        if name not in got:
            return fail(what, name + " is missing in the result")
        if not same(got[name], t):
            return fail(what, name + " has other values")
    if set(got) - set(wanted):
        return fail(what, "more than wanted: " + str(sorted(set(got) - set(wanted))[:3]))
    for key, value in (meta or {}).items():
        if metadata.get(key) != value:
            return fail(what, "metadata %s is %s, not %s" % (key, metadata.get(key), value))
    if says and not says_part(r.stdout + r.stderr, says):
        return fail(what, 'no "%s" in: %s' % (says, r.stdout + r.stderr))
    i = subprocess.run([REID, "inspect", "out.safetensors"], capture_output=True, text=True)
    if i.returncode:
        return fail(what, "inspect: " + i.stderr)
    passed += 1
    os.remove(path)


def refused(what, path, says, *options):
    global passed
    r = convert(path, *options)
    if r.returncode != 2 or not says_part(r.stderr, says):
        return fail(what, "exit %d, wanted 2 with \"%s\": %s" % (r.returncode, says, r.stderr.strip()))
    if os.path.exists("out.safetensors") or os.path.exists("out.safetensors.part"):
        return fail(what, "something was written")
    passed += 1
    os.remove(path)


def without(d, *ends):
    return collections.OrderedDict((k, v) for k, v in d.items() if not k.endswith(ends))


def renamed(d, *pairs):
    out = collections.OrderedDict()
    for k, v in d.items():
        for a, b in pairs:
            if k.startswith(a):
                k = b + k[len(a):]
                break
        out[k] = v
    return out


def prefixed(d, p):
    return collections.OrderedDict((p + k, v) for k, v in d.items())


def timm_names(d, lukemelas=False):
    """torchvision's EfficientNet with timm's or EfficientNet-PyTorch's names."""
    first = {"block.0.0": "conv_dw", "block.0.1": "bn1",
             "block.1.fc1": "se.conv_reduce", "block.1.fc2": "se.conv_expand",
             "block.2.0": "conv_pw", "block.2.1": "bn2"}
    later = {"block.0.0": "conv_pw", "block.0.1": "bn1", "block.1.0": "conv_dw", "block.1.1": "bn2",
             "block.2.fc1": "se.conv_reduce", "block.2.fc2": "se.conv_expand",
             "block.3.0": "conv_pwl", "block.3.1": "bn3"}
    other = {"features.0.0": "conv_stem", "features.0.1": "bn1", "features.8.0": "conv_head", "features.8.1": "bn2",
             "classifier.1": "classifier"}
    lfirst = {"conv_dw": "_depthwise_conv", "bn1": "_bn1",
              "se.conv_reduce": "_se_reduce", "se.conv_expand": "_se_expand",
              "conv_pw": "_project_conv", "bn2": "_bn2"}
    llater = {"conv_pw": "_expand_conv", "bn1": "_bn0", "conv_dw": "_depthwise_conv", "bn2": "_bn1",
              "se.conv_reduce": "_se_reduce", "se.conv_expand": "_se_expand",
              "conv_pwl": "_project_conv", "bn3": "_bn2"}
    lother = {"conv_stem": "_conv_stem", "bn1": "_bn0", "conv_head": "_conv_head", "bn2": "_bn1", "classifier": "_fc"}
    blocks = []
    for k in sorted(d, key=lambda k: [int(x) if x.isdigit() else 0 for x in k.split(".")]):
        p = k.split(".")
        if len(p) > 3 and p[3] == "block" and (p[1], p[2]) not in blocks:
            blocks.append((p[1], p[2]))
    out = collections.OrderedDict()
    for k, v in d.items():
        p = k.split(".")
        if len(p) > 3 and p[3] == "block":
            part, tail = ".".join(p[3:6]), ".".join(p[6:])
            name = (first if p[1] == "1" else later)[part]
            if lukemelas:
                name = (lfirst if p[1] == "1" else llater)[name]
                out["_blocks.%d.%s.%s" % (blocks.index((p[1], p[2])), name, tail)] = v
            else:
                out["blocks.%d.%s.%s.%s" % (int(p[1]) - 1, p[2], name, tail)] = v
        else:
            for a, b in other.items():
                if k.startswith(a + "."):
                    out[(lother[b] if lukemelas else b) + k[len(a):]] = v
    assert len(out) == len(d)
    return out


def save(obj, path="in.pth", **kw):
    torch.save(obj, path, **kw)
    return path


def save_tar(d, path="in.tar"):
    """The format that torch.save had before 0.2, which PyTorch still reads but no longer writes."""
    types = {torch.float32: torch.FloatStorage, torch.int64: torch.LongStorage, torch.float64: torch.DoubleStorage}
    parts = {name: io.BytesIO() for name in ("sys_info", "storages", "tensors", "pickle")}
    pickle.dump({"protocol_version": 1000, "little_endian": True, "type_sizes": {"int": 4}}, parts["sys_info"], 2)
    pickle.dump(len(d), parts["storages"], 2)
    pickle.dump(len(d), parts["tensors"], 2)
    ids = {}
    for i, t in enumerate(d.values()):
        ids[id(t)] = str(7000 + i)
        pickle.dump((100 + i, "cpu", types[t.dtype]), parts["storages"], 2)
        flat = t.permute(*reversed(range(t.dim()))).contiguous() if t.dim() else t # stored column by column
        size = flat.numel() * flat.element_size()
        parts["storages"].write(struct.pack("<q", t.numel()) + ctypes.string_at(flat.data_ptr(), size))
        pickle.dump((7000 + i, 100 + i, torch.Tensor), parts["tensors"], 2)
        strides = [1] * t.dim()
        for k in range(1, t.dim()):
            strides[k] = strides[k - 1] * t.shape[k - 1]
        parts["tensors"].write(struct.pack("<ii%dq" % (2 * t.dim() + 1), t.dim(), 0, *t.shape, *strides, 0))
    pickle.dump([], parts["storages"], 2)

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return ids[id(obj)] if isinstance(obj, torch.Tensor) else None

    Pickler(parts["pickle"], 2).dump(d)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, f in parts.items():
            info = tarfile.TarInfo(name)
            info.size = f.tell()
            f.seek(0)
            tar.addfile(info, f)
    try:
        loaded = torch.load(path, weights_only=False)
    except TypeError: # before 1.13
        loaded = torch.load(path)
    if any(not torch.equal(loaded[k], v) for k, v in d.items()):
        fail("tar", "PyTorch reads other values from it")
    return path


def model_of(d):
    """A module tree with these tensors, to be pickled whole."""
    root = torch.nn.Module()
    for name, t in d.items():
        *path, leaf = name.split(".")
        m = root
        for p in path:
            if p not in m._modules:
                m.add_module(p, torch.nn.Module())
            m = m._modules[p]
        if t.is_floating_point() and not leaf.startswith("running"):
            m.register_parameter(leaf, torch.nn.Parameter(t.clone()))
        else:
            m.register_buffer(leaf, t.clone())
    return root


def formats(b0):
    for protocol in (2, 3, 4, 5):
        expect("zip, protocol %d" % protocol, save(b0, pickle_protocol=protocol), b0,
               says="pickle protocol %d" % protocol)
        path = save(b0, pickle_protocol=protocol, _use_new_zipfile_serialization=False)
        expect("stream, protocol %d" % protocol, path, b0, says="before 1.6 (stream), pickle protocol %d" % protocol)
    expect("tar", save_tar(b0), b0, says="before 0.2 (tar)")
    expect("tar with a wrapper", save_tar(b0, "model.pth.tar"), b0)
    expect("a plain dict", save(dict(b0)), b0)
    expect("Parameters", save(collections.OrderedDict(
        (k, torch.nn.Parameter(v) if v.is_floating_point() else v) for k, v in b0.items())), b0)
    expect("a whole model", save(model_of(b0)), b0, says="pickled whole")
    expect("a whole model in a stream", save(model_of(b0), _use_new_zipfile_serialization=False), b0,
           says="pickled whole")
    expect("a whole model inside a checkpoint", save({"epoch": 1, "model": torch.nn.DataParallel(model_of(b0))}), b0)
    expect("another name of the file", save(b0, "model.pth.tar-60"), b0)
    with open("in.wts", "w") as f: # the counters are floats there: they are dropped
        f.write("%d\n" % len(b0))
        for k, v in b0.items():
            f.write("%s %d" % (k, v.numel()))
            for x in v.reshape(-1).float().tolist():
                f.write(" " + struct.pack(">f", x).hex())
            f.write("\n")
    expect("wts", "in.wts", without(b0, "num_batches_tracked", "classifier.1.weight", "classifier.1.bias"),
           says="reshaped")
    try:
        import safetensors.torch
        safetensors.torch.save_file({k: v.clone() for k, v in b0.items()}, "in.safetensors", {"reid.preset": "mega"})
        expect("safetensors", "in.safetensors", b0, meta={"reid.preset": "mega"}, says="mega (named in the file)")
    except ImportError:
        print("(no safetensors package here)")
    if hasattr(torch.serialization, "set_crc32_options"):
        torch.serialization.set_crc32_options(False)
        expect("no checksums", save(b0), b0, says="without checksums")
        torch.serialization.set_crc32_options(True)


def wrappers(b0):
    training = {"state_dict": b0, "epoch": 3, "best": 0.5, "args": {"lr": [1, 2, {"x": (1, 2)}]}, "none": None,
                "big": 1 << 100, "negative": -5, "yes": True, "set": {1, 2}, "bytes": b"abc", "text": "\u00e9" * 300}
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    training["optimizer"] = optimizer.state_dict()
    for protocol in (2, 4):
        expect("a training checkpoint, protocol %d" % protocol, save(training, pickle_protocol=protocol), b0,
               says="in state_dict")
    for wrapper in ("model", "net", "model_state_dict", "params", "anything"):
        expect("wrapper " + wrapper, save({wrapper: b0}), b0, says="in " + wrapper)
    expect("two wrappers", save({"checkpoint": {"model": b0}}), b0, says="in checkpoint.model")
    expect("a tuple", save((b0, 3)), b0)
    for prefix in ("module.", "model.", "backbone.", "_orig_mod.", "module.model.", "encoder.", "my.own.trunk."):
        expect("prefix " + prefix, save(prefixed(b0, prefix)), b0, says="with prefix " + prefix)
    zeros = collections.OrderedDict((k, torch.zeros_like(v) + 1) for k, v in b0.items())
    expect("an average in the same file", save({"ema": zeros, "model": b0}), b0,
           says="the file also contains ema, which was not used")
    expect("the average", save({"ema": zeros, "model": b0}), zeros, "--key", "ema")
    both = collections.OrderedDict(**prefixed(zeros, "ema_model."), **prefixed(b0, "model."))
    expect("an average in the same dict", save(both), b0, "--allow-unused",
           says="the file also contains ema_model, which was not used")
    expect("chosen by its prefix", save(both), zeros, "--key", "ema_model", "--allow-unused")
    refused("no such key", save({"model": b0}), 'no network was found under the key "nope"', "--key", "nope")
    expect("a self-made projection", save(collections.OrderedDict(b0, **{
        "projection.weight": torch.ones(512, 1280), "projection.bias": torch.ones(512)})),
           collections.OrderedDict(b0, **{
            "projection.weight": torch.ones(512, 1280), "projection.bias": torch.ones(512)}))


def values(b0):
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        d = collections.OrderedDict((k, v.to(dtype) if v.is_floating_point() else v) for k, v in b0.items())
        expect(str(dtype), save(d), d)
        expect(str(dtype) + " in a stream", save(d, _use_new_zipfile_serialization=False), d)
    views = collections.OrderedDict()
    for i, (k, v) in enumerate(b0.items()): # views of every kind with the same values
        if v.dim() == 4 and i % 2:
            views[k] = v.permute(1, 2, 3, 0).contiguous().permute(3, 0, 1, 2)
        elif v.dim() == 2:
            views[k] = v.t().contiguous().t()
        elif v.dim() == 1:
            wide = torch.full((3 * v.numel() + 5,), 7.0)
            wide[5::3] = v
            views[k] = wide[5::3]
        else:
            views[k] = v.to(memory_format=torch.channels_last) if v.dim() == 4 else v
    assert not all(v.is_contiguous() for v in views.values())
    expect("views with strides", save(views), b0)
    expect("views with strides in a stream", save(views, _use_new_zipfile_serialization=False), b0)
    flat = torch.cat([v.reshape(-1) for v in b0.values() if v.is_floating_point()])
    shared, at = collections.OrderedDict(), 0
    for k, v in b0.items():
        shared[k] = flat[at:at + v.numel()].view(v.shape) if v.is_floating_point() else v
        at += v.numel() if v.is_floating_point() else 0
    expect("one storage for all", save(shared), b0)
    expect("one storage for all in a stream", save(shared, _use_new_zipfile_serialization=False), b0)
    name = "features.0.1.weight"
    one = collections.OrderedDict(b0, **{name: torch.full((1,), 0.5).expand(32)})
    expect("a value for all", save(one), collections.OrderedDict(b0, **{name: torch.full((32,), 0.5)}))
    for what, t, says in (
            ("integers", torch.ones(32, dtype=torch.int64), "its values are int64"),
            ("complex", torch.ones(32, dtype=torch.complex64), "its values are complex64"),
            ("sparse", torch.ones(32).to_sparse(), "_rebuild_sparse_tensor, which is not stored as plain values"),
            ("no values", torch.ones(32, device="meta"),
             "_rebuild_meta_tensor_no_storage, which is not stored as plain values"),
            ("shape", torch.ones(33), "shape is [33], [32] is needed"),
            ("not finite", torch.full((32,), float("nan")), "features.0.1.weight"),
            ("negative variance", None, "features.0.1.running_var")):
        d = collections.OrderedDict(b0)
        if t is None:
            d["features.0.1.running_var"] = torch.full((32,), -1.0)
        else:
            d[name] = t
        refused("wrong: " + what, save(d), says)
    refused("wrong: missing", save(without(b0, "features.4.1.block.1.0.weight")),
            "features.4.1.block.1.0.weight is missing")
    refused("wrong: unknown", save(collections.OrderedDict(b0, extra=torch.ones(1))), "tensor extra is not part of")
    expect("unknown, allowed", save(collections.OrderedDict(b0, extra=torch.ones(1))), b0, "--allow-unused")
    squeezed = collections.OrderedDict((k, v.reshape(v.shape[:2]) if ".fc1.weight" in k else v) for k, v in b0.items())
    expect("linear layers for 1x1 convolutions", save(squeezed), b0, says="reshaped")


def dialects(b0):
    expect("timm", save(timm_names(b0)), b0, says="timm EfficientNet")
    expect("timm with a prefix", save({"state_dict": prefixed(timm_names(b0), "model.")}), b0,
           says="with prefix model.")
    timm_tf = {"arch": "tf_efficientnet_b0", "state_dict": timm_names(b0)}
    expect("timm's tf_ networks", save(timm_tf), b0, meta={"reid.network": "tf_efficientnet_b0"}, says="tf_efficient")
    luke = timm_names(b0, lukemelas=True)
    expect("lukemelas", save(luke), b0, meta={"reid.network": "tf_efficientnet_b0"})
    expect("lukemelas as if it were torchvision's", save(luke), b0, "--net", "efficientnet_b0",
           says="will differ from the original")
    children = without(renamed(b0, ("features.", "0.")), "classifier.1.weight", "classifier.1.bias")
    expect("children of EfficientNet", save(children), without(b0, "classifier.1.weight", "classifier.1.bias"))


def resnets(r50):
    expect("resnet50", save(r50, "resnet50-11ad3fa6.pth"), r50, meta={"reid.preset": "torchvision-v2"},
           says="IMAGENET1K_V2")
    trunk = without(r50, "fc.weight", "fc.bias")
    head = {"classifier.weight": torch.ones(751, 2048), "classifier.bias": torch.ones(751)}
    expect("torchreid", save(collections.OrderedDict(trunk, **head)), trunk,
           meta={"reid.preset": "torchreid", "reid.last_stride": "2"}, says="from torchreid")
    expect("torchreid's checkpoint", save({"state_dict": prefixed(collections.OrderedDict(trunk, **head), "module."),
                                           "epoch": 60, "rank1": 0.9, "optimizer": {}}), trunk,
           "--preset", "fastreid", "--last-stride", "1", meta={"reid.preset": "fastreid", "reid.last_stride": "1"})
    neck = {"fc.0.weight": torch.ones(512, 2048), "fc.0.bias": torch.ones(512), "fc.1.weight": torch.ones(512)}
    refused("a part of torchreid's fc512", save(collections.OrderedDict(trunk, **neck)), "torchreid's fc512")
    neck.update({"fc.1." + k: torch.ones(512) for k in ("bias", "running_mean", "running_var")})
    expect("torchreid's fc512", save(collections.OrderedDict(trunk, **neck, **head)),
           collections.OrderedDict(trunk, **neck), says="from torchreid (fc512)",
           meta={"reid.network": "resnet50-fc512", "reid.preset": "torchreid", "reid.last_stride": "1"})
    refused("torchreid's fc512 as resnet50", save(collections.OrderedDict(trunk, **neck)), "torchreid's fc512", "--net",
            "resnet50")
    refused("torchreid's resnet50mid", save(collections.OrderedDict(trunk, **{"fc_fusion.0.weight": torch.ones(2)})),
            "torchreid's resnet50mid")
    bnneck = {"bottleneck." + k: torch.ones(2048) for k in ("weight", "bias", "running_mean", "running_var")}
    strong = collections.OrderedDict(prefixed(trunk, "base."), **bnneck, **{"classifier.weight": torch.ones(751, 2048)})
    necked = collections.OrderedDict(trunk, **bnneck)
    expect("strong-baseline", save(strong), necked, says="from strong-baseline",
           meta={"reid.network": "resnet50-strongbaseline", "reid.preset": "strongbaseline", "reid.last_stride": "1"})
    expect("strong-baseline with a ReLU", save(strong), necked, "--net", "resnet50-bnneck",
           says="has no ReLU after the first convolution, unlike network resnet50-bnneck",
           meta={"reid.network": "resnet50-bnneck", "reid.preset": "strongbaseline", "reid.last_stride": "1"})
    gem = {"global_pool.p": torch.full((1,), 3.0)}
    expect("AGW", save(collections.OrderedDict(strong, **gem)),
           collections.OrderedDict(necked, **{"pool_layer.p": gem["global_pool.p"]}), says="if the code that trained",
           meta={"reid.network": "resnet50-strongbaseline-gem", "reid.preset": "strongbaseline"})
    expect("a generalised mean after torchvision's trunk", save(collections.OrderedDict(necked, **gem)),
           collections.OrderedDict(necked, **{"pool_layer.p": gem["global_pool.p"]}),
           meta={"reid.network": "resnet50-bnneck-gem"})
    refused("strong-baseline's neck", save(strong), "a BNNeck: the embedding is the output of this batch norm", "--net",
            "resnet50")
    expect("strong-baseline before its neck", save(strong), trunk, "--net", "resnet50", "--allow-unused",
           meta={"reid.preset": "strongbaseline", "reid.last_stride": "1"})
    rest = {"heads.weight": torch.ones(751, 2048), "pixel_mean": torch.ones(1, 3, 1, 1)}
    bare = collections.OrderedDict(prefixed(trunk, "backbone."), **rest)
    fast = collections.OrderedDict(bare, **renamed(bnneck, ("bottleneck.", "heads.bottleneck.0.")))
    old = collections.OrderedDict(bare, **renamed(bnneck, ("bottleneck.", "heads.bnneck.")))
    expect("fast-reid", save({"model": fast}), necked, "--net", "resnet50-fastreid",
           meta={"reid.network": "resnet50-fastreid", "reid.preset": "fastreid", "reid.last_stride": "1"})
    expect("fast-reid of 2020", save({"model": old}), necked, says="from fast-reid of 2020",
           meta={"reid.network": "resnet50-bnneck", "reid.preset": "fastreid", "reid.last_stride": "1"})
    expect("fast-reid of 2020 with today's max pool", save({"model": old}), necked, "--net", "resnet50-fastreid",
           says="will differ from the original", meta={"reid.network": "resnet50-fastreid"})
    refused("fast-reid's pool", save({"model": fast}), "fast-reid's file does not say how it pools: put the "
            "config.yaml of its training next to it, or give --net resnet50-fastreid if")
    exponent = {"pool_layer.p": torch.full((1,), 3.0)}
    expect("fast-reid with a fixed exponent", save({"model": fast}), collections.OrderedDict(necked, **exponent),
           "--net", "resnet50-fastreid-gem", says="exponent 3, which fast-reid's code fixes",
           meta={"reid.network": "resnet50-fastreid-gem", "reid.preset": "fastreid", "reid.last_stride": "1"})
    gem = collections.OrderedDict(fast, **prefixed(exponent, "heads."))
    expect("fast-reid with GeM", save({"model": gem}), collections.OrderedDict(necked, **exponent),
           meta={"reid.network": "resnet50-fastreid-gem", "reid.preset": "fastreid", "reid.last_stride": "1"})
    zoo = collections.OrderedDict(gem, **{"heads.bnneck.num_batches_tracked": torch.tensor(9)})
    expect("fast-reid's model zoo", save({"model": zoo}), collections.OrderedDict(necked, **exponent),
           says="from fast-reid of 2020", meta={"reid.network": "resnet50-bnneck-gem"})
    refused("fast-reid without its neck", save({"model": bare}), "fast-reid's max pool")
    refused("fast-reid's neck", save({"model": fast}), "a BNNeck", "--net", "resnet50")
    refused("fast-reid's GeM", save({"model": without(gem, *(k for k in gem if ".bottleneck." in k))}), "GeM pooling",
            "--net", "resnet50")
    refused("an exponent of 0", save({"model": collections.OrderedDict(gem, **{"heads.pool_layer.p": torch.zeros(1)})}),
            "an exponent must be between 0.001 and 1000")
    reduced = collections.OrderedDict(bare, **{"heads.bottleneck.0.weight": torch.ones(512, 2048, 1, 1)})
    refused("fast-reid with a reduction and no batch norm", save({"model": reduced}), "fast-reid's max pool")
    narrow = {"bottleneck." + k: torch.ones(512) for k in ("weight", "bias", "running_mean", "running_var")}
    reduced.update(renamed(narrow, ("bottleneck.", "heads.bottleneck.1.")))
    linear = collections.OrderedDict(trunk, **narrow, **{"reduction.weight": torch.ones(512, 2048)})
    expect("fast-reid with a reduction", save({"model": reduced}), linear, "--net", "resnet50-fastreid-512",
           meta={"reid.network": "resnet50-fastreid-512", "reid.preset": "fastreid", "reid.last_stride": "1"})
    reduced.update(prefixed(exponent, "heads."))
    expect("fast-reid with GeM and a reduction", save({"model": reduced}), collections.OrderedDict(linear, **exponent),
           meta={"reid.network": "resnet50-fastreid-gem-512", "reid.preset": "fastreid", "reid.last_stride": "1"})
    expect("fast-reid as resnet50", save({"model": fast}), trunk, "--net", "resnet50", "--allow-unused",
           meta={"reid.preset": "fastreid", "reid.last_stride": "1"}, says="will differ from the original")
    ibn = collections.OrderedDict(fast)
    for k in list(ibn):
        if ".layer1.0.bn1." in k:
            v = ibn.pop(k)
            if not k.endswith("tracked"):
                ibn[k.replace("bn1.", "bn1.IN.")] = v[:32]
                ibn[k.replace("bn1.", "bn1.BN.")] = v[32:]
    refused("one block with IBN", save({"model": ibn}), "network resnet50-ibn-fastreid has no such layer",
            "--allow-unused")
    nonlocal_ = collections.OrderedDict(fast, **{"backbone.NL_2.0.g.weight": torch.ones(1)})
    refused("a part of a non-local block", save({"model": nonlocal_}), "backbone.NL_2.0.g.weight: network "
            "resnet50-fastreid has no such layer", "--allow-unused")
    layumi = collections.OrderedDict(prefixed(r50, "model."),
                                     **{"classifier.add_block.0.weight": torch.ones(512, 2048)})
    refused("a part of layumi's head", save(layumi), "layumi's linear layer")
    expect("layumi before its neck", save(layumi), r50, "--allow-unused", meta={"reid.preset": "fastreid"},
           says="from layumi")
    block = {"classifier.add_block.0.weight": torch.ones(512, 2048), "classifier.add_block.0.bias": torch.ones(512)}
    block.update({"classifier.add_block.1." + k: torch.ones(512) for k in ("weight", "bias", "running_mean",
                                                                         "running_var")})
    whole = collections.OrderedDict(prefixed(trunk, "model."), **block)
    whole["classifier.classifier.weight"] = torch.ones(751, 512)
    for name, d in (("layumi", whole), ("layumi in parallel", prefixed(whole, "module."))):
        expect(name, save(d), collections.OrderedDict(trunk, **block), says="from layumi",
               meta={"reid.network": "resnet50-layumi", "reid.preset": "fastreid", "reid.last_stride": "2"})
    numbers = (("conv1.", "0."), ("bn1.", "1."), ("layer1.", "4."), ("layer2.", "5."), ("layer3.", "6."),
               ("layer4.", "7."))
    expect("children of ResNet", save(prefixed(renamed(trunk, *numbers), "backbone.")), trunk)
    heads = collections.OrderedDict()
    for k, n in (("reduce_layer2", 8192), ("reduce_layer3", 4096), ("reduce_layer4", 2048), ("reduce_avgpool", 2048)):
        heads[k + ".weight"] = torch.ones(128, n) / n
        heads[k + ".bias"] = torch.ones(128)
    expect("multi-scale", save(collections.OrderedDict(trunk, **heads)), collections.OrderedDict(trunk, **heads),
           says="resnet50-multiscale")
    half = collections.OrderedDict((k, v.half() if v.is_floating_point() else v) for k, v in r50.items())
    expect("float16 in a stream", save(half, _use_new_zipfile_serialization=False), half)
    for name in ("layer3.22.conv1.weight", "layer3.35.conv1.weight"):
        d = collections.OrderedDict(trunk, **{name: torch.ones(256, 1024, 1, 1)})
        refused("a block of a deeper ResNet", save(d), name + ": network resnet50 has no such layer", "--allow-unused")


def transforms(b0):
    """What torchvision itself pickles, where it is installed."""
    try:
        from torchvision import transforms as v1
        from torchvision.transforms import v2
    except ImportError:
        return
    cubic = v1.InterpolationMode.BICUBIC
    for vision, tensor in ((v1, [v1.ToTensor()]), (v2, [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])):
        normal = vision.Normalize([0.5] * 3, [0.25] * 3)
        steps = vision.Compose([vision.Resize(256), vision.CenterCrop((224, 192))] + tensor + [normal])
        straight = vision.Compose([vision.Resize((256, 128), interpolation=cubic)] + tensor + [normal])
        training = vision.Compose([vision.Resize((288, 144)), vision.RandomHorizontalFlip()] + tensor + [normal])
        for what, preset in ((steps, "size=224x192 resize=256 filter=bilinear"),
                             (straight, "size=256x128 resize=straight filter=bicubic")):
            expect("a Compose: " + preset, save({"state_dict": b0, "train": training, "test": what}), b0,
                   says="preset       %s mean=0.5,0.5,0.5 std=0.25,0.25,0.25 (with" % preset)


def strangers():
    for name, what in (("blocks.0.attn.qkv.weight", "a vision transformer"),
                       ("layers.0.blocks.0.attn.relative_position_bias_table", "a Swin transformer"),
                       ("conv2.0.gate.fc1.weight", "OSNet"), ("features.denseblock1.x", "DenseNet"),
                       ("stages.0.blocks.0.gamma", "ConvNeXt"),
                       ("features.0.weight", "VGG"), ("some.thing", "no known network matches its 1 tensor name")):
        refused(what, save({name: torch.ones(2)}), what)
    refused("ResNet-18", save({"layer4.0.conv1.weight": torch.ones(512, 256, 3, 3)}), "ResNet-18")
    refused("one tensor", save(torch.ones(3)), "a single tensor")
    refused("no tensors", save({"epoch": 3}), "no tensors: the pickle holds a dict")
    refused("an empty dict", save({}), "it contains no tensors")
    refused("a list of numbers", save([1, 2]), "no tensors: the pickle holds a list")
    torch.jit.script(torch.nn.Linear(2, 2)).save("script.pt")
    refused("TorchScript", "script.pt", "a TorchScript archive")
    ring = {"a": torch.ones(2)}
    ring["self"] = ring
    refused("a dict that contains itself", save(ring), "contains itself")
    deep = ()
    for _ in range(500):
        deep = (deep,)
    refused("nested tuples", save(deep), "no tensors: the pickle holds a tuple")


def main():
    global REID, B0, R50
    REID, B0 = os.path.abspath(REID), os.path.abspath(B0)
    R50 = R50 if R50 == "-" else os.path.abspath(R50)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        b0 = read(B0)[0]
        for part in (formats, wrappers, values, dialects, transforms):
            part(b0)
        strangers()
        if R50 != "-":
            resnets(read(R50)[0])
        os.chdir("/")
    print("%d passed, %d failed (torch %s)" % (passed, failed, torch.__version__))
    sys.exit(failed > 0)


main()
