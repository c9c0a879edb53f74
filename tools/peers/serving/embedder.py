"""embedder.py: what both Python servers do per image: Pillow decodes and resizes as torchvision's preset for
EfficientNet-B0 does, onnxruntime computes.
"""
import io
import os

import numpy as np
import onnxruntime
from PIL import Image

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)


def open_session():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("THREADS", "1"))
    return onnxruntime.InferenceSession(os.environ["MODEL"], options, providers=["CPUExecutionProvider"])


def prepare(body):
    picture = Image.open(io.BytesIO(body)).convert("RGB")
    width, height = picture.size
    short = min(width, height)
    picture = picture.resize((256 * width // short, 256 * height // short), Image.BICUBIC)
    left, top = round((picture.width - 224) / 2), round((picture.height - 224) / 2)
    pixels = np.asarray(picture.crop((left, top, left + 224, top + 224)), np.float32) / 255
    return ((pixels - MEAN) / STD).transpose(2, 0, 1)


def embed(session, images):
    rows = session.run(None, {"images": np.stack(images)})[0]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
