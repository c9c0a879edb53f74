"""gallery_rows.py NAME COUNT DIM SEED [PREFIX]: NAME.npy of COUNT rows of unit length with its metadata, as reid embed
would write it: ids PREFIX0 ..., identities of ten rows each, and an invented model."""
import array
import json
import math
import random
import sys

name, count, dim, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
prefix = sys.argv[5] if len(sys.argv) > 5 else name
draw = random.Random(seed)
values = array.array("f")
for _ in range(count):
    row = [draw.random() - 0.5 for _ in range(dim)]
    length = math.sqrt(sum(x * x for x in row))
    values.extend(x / length for x in row)
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (count, dim)
head = head.ljust(128 - 11) + "\n"
with open(name + ".npy", "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + values.tobytes())
ids = [prefix + str(i) for i in range(count)]
with open(name + ".ids.txt", "w") as f:
    f.writelines(i + "\n" for i in ids)
model = {"fingerprint": "0123456789abcdef%016d" % dim, "network": "none", "preset": "none", "precision": "fp32",
         "dim": dim, "raw": False}
with open(name + ".meta.json", "w") as f:
    json.dump({"format": "reid-embeddings", "format_version": 1, "rows": count, "dim": dim, "models": [model],
               "identities": ["who%d" % (i // 10) for i in range(count)]}, f)
