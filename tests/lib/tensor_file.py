"""Safetensors files by the definition of the format, for tests: tensors as bytes, also damaged ones."""
import json
import struct


def read(path):
    """(metadata, {name: (dtype, shape, bytes)})"""
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    metadata, body = header.pop("__metadata__", {}), data[8 + n:]
    return metadata, {k: (t["dtype"], t["shape"], body[slice(*t["data_offsets"])]) for k, t in header.items()}


def write(path, tensors, metadata=None):
    """tensors: as read returns them."""
    header, at = {} if metadata is None else {"__metadata__": metadata}, 0
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(raw)]}
        at += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(raw for _, _, raw in tensors.values()))
