"""serve_triton.py HOST:PORT MODEL PICTURE REFERENCE.npy: Triton's Python client and Prometheus' parser on `reid serve`.

REFERENCE.npy has the row of `reid embed` for PICTURE."""
import base64
import json
import sys
import urllib.request

import numpy
import tritonclient.http as triton
from prometheus_client.parser import text_string_to_metric_families
from tritonclient.utils import InferenceServerException

url, model, picture, reference = sys.argv[1:]
wanted = numpy.load(reference)
data = open(picture, "rb").read()
client = triton.InferenceServerClient(url, concurrency=8)

# Metadata and configuration.
assert client.is_server_live() and client.is_server_ready() and client.is_model_ready(model)
assert client.is_model_ready(model, "1")
assert client.get_server_metadata()["name"] == "reid"
metadata = client.get_model_metadata(model)
assert [i["name"] for i in metadata["inputs"]] == ["image", "pixels"]
assert metadata["outputs"] == [{"name": "embedding", "datatype": "FP32", "shape": [-1, wanted.shape[1]]}]
config = client.get_model_config(model)
assert config["max_batch_size"] == 0 and all(i["optional"] for i in config["input"])


def images(n, binary=True):
    tensor = triton.InferInput("image", [n], "BYTES")
    tensor.set_data_from_numpy(numpy.array([data] * n, dtype=numpy.object_), binary_data=binary)
    return tensor


# The same rows, in whatever form they are requested.
for n in 1, 3:
    for outputs in None, [triton.InferRequestedOutput("embedding", binary_data=False)], \
            [triton.InferRequestedOutput("embedding", binary_data=True)]:
        answer = client.infer(model, [images(n)], outputs=outputs, request_id="a/b", priority=1, timeout=10 ** 8)
        rows = answer.as_numpy("embedding")
        assert rows.dtype == numpy.float32 and rows.shape == (n, wanted.shape[1])
        assert all(numpy.array_equal(row, wanted[0]) for row in rows), outputs
        assert answer.get_response()["id"] == "a/b" and answer.get_response()["model_name"] == model

# Pixels as bytes and as JSON; many at once, each with its own row.
rng = numpy.random.default_rng(7)
crops = [rng.integers(0, 256, (1, 40 + i, 50, 3), dtype=numpy.uint8) for i in range(12)]


def pixels(crop, binary):
    tensor = triton.InferInput("pixels", list(crop.shape), "UINT8")
    tensor.set_data_from_numpy(crop, binary_data=binary)
    return tensor


alone = [client.infer(model, [pixels(c, True)]).as_numpy("embedding") for c in crops]
assert numpy.array_equal(client.infer(model, [pixels(crops[0], False)]).as_numpy("embedding"), alone[0])
waiting = [client.async_infer(model, [pixels(c, i % 2 == 0)], priority=i % 7 + 1) for i, c in enumerate(crops)]
for row, handle in zip(alone, waiting):
    assert numpy.array_equal(handle.get_result().as_numpy("embedding"), row)


def refused(status, words, f):
    try:
        f()
    except InferenceServerException as e:
        assert e.status() == str(status) and words in e.message(), e
    else:
        raise AssertionError("not refused: " + words)


wrong = triton.InferInput("picture", [1], "BYTES")
wrong.set_data_from_numpy(numpy.array([data], dtype=numpy.object_))
refused(400, "inputs[0].name: must be image or pixels", lambda: client.infer(model, [wrong]))
refused(400, "expected one tensor", lambda: client.infer(model, [images(1), pixels(crops[0], True)]))
refused(404, "no model is named", lambda: client.infer("nobody", [images(1)]))
refused(400, "sequences are not supported", lambda: client.infer(model, [images(1)], sequence_id=5))
refused(415, "Content-Encoding", lambda: client.infer(model, [images(1)], request_compression_algorithm="gzip"))
refused(504, "timeout", lambda: client.infer(model, [images(1)], timeout=1))

# The counters agree with the requests, in both forms.
stats = client.get_inference_statistics(model)["model_stats"][0]
assert stats["inference_stats"]["success"]["count"] == 6 + len(crops) * 2 + 1
assert stats["inference_count"] == 3 * (1 + 3) + len(crops) * 2 + 1
assert stats["execution_count"] <= stats["inference_count"] and stats["last_inference"] > 1.7e12
response = urllib.request.urlopen("http://%s/metrics" % url)
assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
families = {f.name: f for f in text_string_to_metric_families(response.read().decode())}
outcomes = {s.labels["outcome"]: s.value for s in families["reid_requests"].samples}
assert outcomes["success"] == stats["inference_stats"]["success"]["count"]
histogram = families["reid_request_duration_seconds"]
assert histogram.type == "histogram"
buckets = [s for s in histogram.samples if s.name.endswith("_bucket")]
assert all(a.value <= b.value for a, b in zip(buckets, buckets[1:])), "buckets add up"
assert all(float(a.labels["le"]) < float(b.labels["le"]) for a, b in zip(buckets, buckets[1:]))
count = [s.value for s in histogram.samples if s.name.endswith("_count")][0]
assert buckets[-1].labels["le"] == "+Inf" and buckets[-1].value == count == outcomes["success"]
assert families["process_resident_memory_bytes"].samples[0].value > 1e6
for family in families.values():
    assert family.documentation and family.type in ("counter", "gauge", "histogram"), family

# The repository of models.
assert "model_repository" in client.get_server_metadata()["extensions"]
entry = {"name": model, "version": "1", "state": "READY", "reason": ""}
assert client.get_model_repository_index() == [entry], client.get_model_repository_index()
before = client.infer(model, [images(1)]).as_numpy("embedding")
client.unload_model(model)
assert not client.is_model_ready(model) and client.is_server_ready()
assert client.get_model_repository_index() == [dict(entry, state="UNAVAILABLE", reason="unloaded")]
refused(503, "is not loaded", lambda: client.infer(model, [images(1)]))
client.load_model(model)
assert client.is_model_ready(model) and client.is_model_ready(model, "1")
client.load_model(model)  # anew
assert numpy.array_equal(client.infer(model, [images(1)]).as_numpy("embedding"), before)
client.unload_model(model, unload_dependents=True)
client.load_model(model)
refused(404, "no model is named", lambda: client.load_model("nobody"))
refused(400, "not supported", lambda: client.load_model(model, config="{}"))
assert client.get_model_repository_index() == [entry]

# What MLServer's and KServe's clients add.
infer = "http://%s/v2/models/%s/infer" % (url, model)
request = {"id": "1", "parameters": {"content_type": "np", "headers": {"X-Request-Id": "1"}}, "inputs": [
    {"name": "image", "datatype": "BYTES", "shape": [1], "data": [base64.b64encode(data).decode()],
     "parameters": {"content_type": "base64", "other": 1}}]}
answer = json.load(urllib.request.urlopen(urllib.request.Request(
    infer.replace("/infer", "/versions/1/infer"), json.dumps(request).encode(), {"Content-Type": "application/json"})))
assert numpy.array_equal(numpy.float32(answer["outputs"][0]["data"]).reshape(1, -1), before)
print("%d families of counters" % len(families))
