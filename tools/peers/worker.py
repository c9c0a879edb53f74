"""worker.py: one peer with one network, batch and number of threads; it computes on request.

    worker.py PEER FOLDER BATCH THREADS PRECISION ROWS STARTED

FOLDER is what networks.py wrote, or int8.py for PRECISION int8. ROWS gets the first call's (BATCH, dim) float32, and
STARTED is the CLOCK_MONOTONIC second at which the process was started. On stdout, a line each, as tools/peers/ours.c
does:
    ready {...}      loaded and called once; JSON with times in ms and notes of the peer
    refused WHY      instead: this peer cannot do that
On stdin:
    run WARM N       WARM calls, then N calls that are timed; answers their milliseconds together
    stop
"""
import sys
import time


def resident_kb():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


INTERPRETER_KB = resident_kb()  # Python and nothing else

import json  # noqa: E402
import os  # noqa: E402

import numpy as np  # noqa: E402


class Refused(Exception):
    pass


# Each peer: imports, then gives a function that loads and returns a function that computes (BATCH, dim), and its notes.


def onnxruntime_peer(folder, images, threads, precision):
    import onnxruntime as ort
    if precision not in ("fp32", "int8"):
        raise Refused("the CPU provider has no " + precision)
    if os.environ.get("ONEDNN_MAX_CPU_ISA"):
        raise Refused("nothing limits its instruction set")

    def load():
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        path = f"{folder}/int8.onnx" if precision == "int8" else f"{folder}/batch{len(images)}.onnx"
        model = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda: model.run(None, {"image": images})[0]
    return load, lambda: {"version": ort.__version__}


def openvino_peer(folder, images, threads, precision):
    import openvino as ov
    kept = {}

    def load():
        core = ov.Core()
        model = core.read_model(f"{folder}/int8.xml" if precision == "int8" else f"{folder}/batch{len(images)}.xml")
        model.reshape(images.shape)
        kept["model"] = core.compile_model(model, "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": str(threads),
            "INFERENCE_PRECISION_HINT": {"fp32": "f32", "bf16": "bf16", "int8": "f32"}[precision]})
        request = kept["model"].create_infer_request()
        request.set_input_tensor(ov.Tensor(images, shared_memory=True))

        kept["images"] = images  # the tensor only points to them

        def call():
            request.infer()
            return kept["output"].data
        kept["output"] = request.get_output_tensor()
        return call

    def notes():
        kinds = {}
        for node in kept["model"].get_runtime_model().get_ordered_ops():
            info = node.get_rt_info()
            if "Convolution" in str(info["layerType"].astype(str) if "layerType" in info else ""):
                kind = info["primitiveType"].astype(str)
                kinds[kind] = kinds.get(kind, 0) + 1
        return {"version": ov.__version__.split("-")[0], "convolutions": kinds}
    return load, notes


def ncnn_peer(folder, images, threads, precision):
    import ncnn
    if os.environ.get("ONEDNN_MAX_CPU_ISA"):
        raise Refused("nothing limits its instruction set")
    if not os.path.exists(f"{folder}/one.ncnn.bin"):
        raise Refused("pnnx could not convert this network")

    def load():
        net = ncnn.Net()
        net.opt.num_threads, net.opt.use_vulkan_compute = threads, False
        net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
        net.opt.use_bf16_storage = precision == "bf16"
        if net.load_param(f"{folder}/one.ncnn.param") or net.load_model(f"{folder}/one.ncnn.bin"):
            raise Refused("the network does not load")

        def one(image):
            extractor = net.create_extractor()
            extractor.input("in0", ncnn.Mat(image))
            return np.array(extractor.extract("out0")[1])
        return lambda: np.stack([one(image) for image in images])
    return load, lambda: {"version": ncnn.__version__}


def torch_setup(threads):
    import torch
    import torchvision  # noqa: F401: counts as import time
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.set_grad_enabled(False)

    def notes():
        return {"version": torch.__version__, "capability": torch.backends.cpu.get_cpu_capability()}
    return torch, notes


def torch_call(torch, module, x, precision):
    def call():
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            return module(x).float().numpy()
    return call


def torch_module(torch, folder):
    """torchvision's module, as its users write it, with the weights from the file."""
    import torchvision
    from safetensors.torch import load_file
    name = os.path.basename(folder).rsplit("_", 1)[0]
    module = getattr(torchvision.models, name)(weights=None).eval()
    setattr(module, "fc" if hasattr(module, "fc") else "classifier", torch.nn.Identity())
    module.load_state_dict(load_file(f"{folder}/weights.safetensors"), strict=False)
    return module.to(memory_format=torch.channels_last)


def torch_peer(folder, images, threads, precision):
    torch, notes = torch_setup(threads)

    def load():
        x = torch.from_numpy(images).to(memory_format=torch.channels_last)
        return torch_call(torch, torch_module(torch, folder), x, precision)
    return load, notes


def torch_compile_peer(folder, images, threads, precision):
    torch, notes = torch_setup(threads)
    import torch._inductor.config as config

    def load():
        config.freezing = True  # constants are folded, weights laid out once
        x = torch.from_numpy(images).to(memory_format=torch.channels_last)
        return torch_call(torch, torch.compile(torch_module(torch, folder)), x, precision)
    return load, notes


def torch_jit_peer(folder, images, threads, precision):
    torch, notes = torch_setup(threads)

    if precision == "bf16":
        raise Refused("what is traced under autocast is slower than torch_compile")

    def load():
        module = torch.jit.load(f"{folder}/batch{len(images)}.pt").eval()
        module = torch.jit.optimize_for_inference(torch.jit.freeze(module))
        call = torch_call(torch, module, torch.from_numpy(images), precision)
        call()  # the profiling executor makes its plan in the first two calls
        return call
    return load, notes


PEERS = {"onnxruntime": onnxruntime_peer, "openvino": openvino_peer, "ncnn": ncnn_peer, "torch": torch_peer,
         "torch_jit": torch_jit_peer, "torch_compile": torch_compile_peer}


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def start(peer, folder, batch, threads, precision, rows, started):
    """Loads, calls once and reports that; returns the function that computes."""
    images = np.array(np.load(f"{folder}/images.npy", mmap_mode="r")[:batch])  # copied: no more than these
    load, notes = PEERS[peer](folder, images, threads, precision)
    imported_kb, began = resident_kb(), time.monotonic()
    call = load()
    loaded = time.monotonic()
    first = np.asarray(call())
    ended = time.monotonic()
    np.ascontiguousarray(first, np.float32).tofile(rows)
    found = {"interpreter_kb": INTERPRETER_KB, "imported_kb": imported_kb, "load_ms": 1e3 * (loaded - began),
             "first_ms": 1e3 * (ended - began), "process_ms": 1e3 * (ended - started), **notes()}
    say("ready " + json.dumps(found))
    return call


def main():
    peer, folder, batch, threads, precision, rows, started = sys.argv[1:]
    try:
        call = start(peer, folder, int(batch), int(threads), precision, rows, float(started))
    except Refused as e:
        return say(f"refused {e}")
    except Exception as e:  # a failing peer must not lose the others
        return say(f"refused {type(e).__name__}: {' '.join(str(e).split())[:300]}")
    for line in sys.stdin:
        words = line.split()
        if words[0] == "stop":
            break
        for _ in range(int(words[1])):
            call()
        began = time.perf_counter()
        for _ in range(int(words[2])):
            call()
        say("%.6f" % (1e3 * (time.perf_counter() - began)))


if __name__ == "__main__":
    import warnings
    warnings.simplefilter("ignore")  # torch.jit is deprecated
    main()
