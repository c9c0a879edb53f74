"""files_peer.py: embeds a folder of JPEG photographs like a Python program, one engine per process.

    python files_peer.py ENGINE NET MODEL FOLDER OUT.npy THREADS BATCH

torch: torchvision's transforms on Pillow's images in a DataLoader with THREADS workers. onnxruntime_pillow,
onnxruntime_opencv, openvino_pillow, openvino_opencv: THREADS threads read, decode and resize ahead, three batches at
most, while the engine computes with THREADS threads. Pillow resizes as torchvision does; OpenCV decodes by its own
libjpeg-turbo and shrinks by areas (INTER_AREA), so its pixels differ. Rows have length 1, in the order of the names.
"""
import collections
import concurrent.futures
import os
import sys

import numpy as np

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
SHORT, SIDE, AHEAD = 256, 224, 3


def target(width, height):
    """torchvision's sizes: the shorter side becomes SHORT, the other is rounded down."""
    short = min(width, height)
    return SHORT * width // short, SHORT * height // short


def normalised(pixels):
    top, left = (round((n - SIDE) / 2) for n in pixels.shape[:2])
    crop = pixels[top:top + SIDE, left:left + SIDE].astype(np.float32) / np.float32(255)
    return ((crop - MEAN) / STD).transpose(2, 0, 1)


def pillow_reader(net):
    from PIL import Image
    how = Image.BICUBIC if net.startswith("efficientnet") else Image.BILINEAR

    def read(path):
        picture = Image.open(path).convert("RGB")
        return normalised(np.asarray(picture.resize(target(*picture.size), how)))
    return read


def opencv_reader(_net):
    import cv2
    cv2.setNumThreads(1)  # several images are decoded at the same time instead

    def read(path):
        picture = cv2.imread(path)
        shrunk = cv2.resize(picture, target(picture.shape[1], picture.shape[0]), interpolation=cv2.INTER_AREA)
        return normalised(cv2.cvtColor(shrunk, cv2.COLOR_BGR2RGB))
    return read


def onnxruntime_engine(model, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda images: session.run(None, {"image": images})[0]


def openvino_engine(model, threads):
    import openvino
    core = openvino.Core()
    how = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(core.read_model(model), "CPU", how)
    return lambda images: compiled([images])[0]


def batches(read, names, threads, size):
    """Arrays of `size` images, in order, read ahead by threads."""
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        left, waiting = iter(names), collections.deque()
        for _ in range(AHEAD * size):
            waiting.extend(pool.submit(read, name) for name in [next(left, None)] if name)
        while waiting:
            batch = []
            while waiting and len(batch) < size:
                batch.append(waiting.popleft().result())
                waiting.extend(pool.submit(read, name) for name in [next(left, None)] if name)
            yield np.stack(batch)


def torch_batches(net, names, threads, size):
    import torch
    import torchvision
    from PIL import Image
    weights = {"resnet50": torchvision.models.ResNet50_Weights.IMAGENET1K_V1,
               "efficientnet_b0": torchvision.models.EfficientNet_B0_Weights.IMAGENET1K_V1}[net]
    transforms = weights.transforms()

    class Photographs(torch.utils.data.Dataset):
        def __len__(self):
            return len(names)

        def __getitem__(self, i):
            return transforms(Image.open(names[i]).convert("RGB"))
    return torch.utils.data.DataLoader(Photographs(), size, num_workers=threads)


def torch_rows(net, model, names, threads, size):
    import torch
    import networks
    torch.set_num_threads(threads)
    module = networks.module_of(net)
    module.load_state_dict(torch.load(model))
    module = module.to(memory_format=torch.channels_last)
    with torch.inference_mode():
        for images in torch_batches(net, names, threads, size):
            yield module(images.to(memory_format=torch.channels_last)).numpy()


def main():
    engine, net, model, folder, out = sys.argv[1:6]
    threads, size = int(sys.argv[6]), int(sys.argv[7])
    names = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    if engine == "torch":
        rows = list(torch_rows(net, model, names, threads, size))
    else:
        kind, reader = engine.split("_")
        read = {"pillow": pillow_reader, "opencv": opencv_reader}[reader](net)
        compute = {"onnxruntime": onnxruntime_engine, "openvino": openvino_engine}[kind](model, threads)
        rows = [np.array(compute(images)) for images in batches(read, names, threads, size)]
    rows = np.concatenate(rows)
    np.save(out, rows / np.linalg.norm(rows, axis=1, keepdims=True))


if __name__ == "__main__":
    main()
