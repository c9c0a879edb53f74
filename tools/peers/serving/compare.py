"""compare.py: compares reid serve with servers written in Python, on this machine's CPU; tools/peers/serve starts it.

    sh tools/peers/serve [--out FILE.json] [--rounds 3] [--seconds 8] [--clients 32] [--only ours,fastapi,ray]

Each server embeds JPEG crops of 256x256 with EfficientNet-B0 at 224x224 and the same weights, on the same CPUs. They
take turns, A B C A B C; only the one whose turn it is runs, the others are stopped (SIGSTOP), to keep the
CPUs free. A turn is a closed loop of --clients connections, then open loops at 70 % of the closed loop's rate: that of
the slowest server, and its own. build/reid-load sends the requests. The rows of all servers are compared first.
"""
import argparse
import http.client
import json
import math
import os
import platform
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
PICTURES = 16
LEAST_COSINE = 0.9995  # decoders of JPEG and resampling differ by rounding


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def descendants(pid):
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = open(f"/proc/{entry}/stat").read().rsplit(")", 1)[1].split()
                children.setdefault(int(fields[1]), []).append(int(entry))
            except (OSError, IndexError):
                pass
    found, open_ones = [], [pid]
    while open_ones:
        one = open_ones.pop()
        found.append(one)
        open_ones += children.get(one, [])
    return found


def memory_mb(pids):
    """Proportional set size: shared memory counts once."""
    total = 0
    for pid in pids:
        try:
            for line in open(f"/proc/{pid}/smaps_rollup"):
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
        except OSError:
            pass
    return total / 1024


class Server:
    def __init__(self, name, command, environment, port, folder):
        self.name, self.port = name, port
        self.log = open(os.path.join(folder, name + ".log"), "w+")
        started = time.monotonic()
        self.process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=self.log, stderr=self.log,
                                        cwd=HERE, start_new_session=True)
        self.wait()
        self.start_s = time.monotonic() - started
        self.members = descendants(self.process.pid)

    def wait(self):
        for _ in range(1200):
            if self.process.poll() is not None:
                self.log.seek(0)
                sys.exit(f"{self.name} ended: {self.log.read()[-2000:]}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                self.log.seek(0)
                if self.name != "ray" or "ready" in self.log.read():
                    return
            except OSError:
                pass
            time.sleep(0.1)
        sys.exit(f"{self.name} does not listen")

    def signal(self, number):
        self.members = descendants(self.process.pid)
        for pid in self.members:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def rows(self, pictures):
        answers = []
        for body in pictures:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            connection.request("POST", "/embed", body, {"Content-Type": "application/octet-stream"})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                sys.exit(f"{self.name} answered {answer.status}: {text[:300]}")
            answers.append(json.loads(text)["embeddings"][0])
            connection.close()
        return np.array(answers)

    def stop(self):
        self.signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)


def make_pictures(folder):
    """Crops of the demo's drawings."""
    subprocess.run([os.path.join(TOP, "build", "demo_images"), os.path.join(folder, "deer"), "1"], check=True,
                   stdout=subprocess.DEVNULL)
    found = sorted(os.path.join(d, f) for d, _, files in os.walk(os.path.join(folder, "deer")) for f in files)
    paths = []
    for i, path in enumerate(found[:PICTURES]):
        paths.append(os.path.join(folder, f"{i}.jpg"))
        Image.open(path).convert("RGB").resize((256, 256), Image.BICUBIC).save(paths[-1], quality=90)
    return paths


def ask(server, paths, clients, seconds, rate, folder):
    out = os.path.join(folder, "load.json")
    command = [os.path.join(TOP, "build", "reid-load"), "--to", f"127.0.0.1:{server.port}", "--connections",
               str(clients), "--seconds", str(seconds), "--warm-up", "1", "--json", out]
    if rate:
        command += ["--rates", f"{rate:.2f}"]
    done = subprocess.run(command + paths, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode == 2:
        sys.exit(f"reid-load: {done.stderr}")
    sys.stderr.write(done.stderr)
    return json.load(open(out))["runs"][0]


def queue_and_socket(server, weights, o, folder):
    """Measures, in turns, the cost of the queue in one process, and of sending pixels over the Unix socket."""
    program = os.path.join(folder, "queue")
    subprocess.run(["gcc", "-O2", "-std=c99", "-D_GNU_SOURCE", f"-I{TOP}", os.path.join(HERE, "queue.c"), "-o", program,
                    "-lm", "-lpthread", "-ldl"], check=True)
    pixels = np.random.default_rng(1).integers(0, 256, (8, 256, 256, 3), np.uint8).tobytes()
    head = json.dumps({"inputs": [{"name": "pixels", "shape": [8, 256, 256, 3], "datatype": "UINT8",
                                   "parameters": {"binary_data_size": len(pixels)}}],
                       "outputs": [{"name": "embedding", "parameters": {"binary_data": True}}]}).encode()
    body, out = os.path.join(folder, "body"), os.path.join(folder, "load.json")
    with open(body, "wb") as f:
        f.write(head + pixels)
    runs, sockets = [], []
    for _ in range(o.rounds):
        runs.append(json.loads(subprocess.run([program, weights, "effnet-b0", "15"], check=True, capture_output=True,
                                              text=True).stdout))
        server.signal(signal.SIGCONT)
        subprocess.run([os.path.join(TOP, "build", "reid-load"), "--socket", os.path.join(folder, "reid.sock"),
                        "--target", "/v2/models/b0/infer", "--header", f"Inference-Header-Content-Length: {len(head)}",
                        "--connections", "1", "--seconds", "4", "--warm-up", "1", "--json", out, body],
                       check=True, stdout=subprocess.DEVNULL)
        server.signal(signal.SIGSTOP)
        sockets.append(1e3 * json.load(open(out))["runs"][0]["latency_ms"]["p50"])
    middle = {key: statistics.median(r[key] for r in runs) for key in runs[0]}
    middle["eight_by_socket_us"] = statistics.median(sockets)
    middle["socket_ratio"] = statistics.median(s / r["eight_us"] for s, r in zip(sockets, runs))
    print(f"queue: {middle['added_us']:.0f} us added to one image, throughput {middle['throughput_ratio']:.3f} of full "
          f"batches; 8 images over the socket {middle['socket_ratio']:.3f} times the call")
    return middle


def start_all(only, weights, folder):
    model = os.path.join(folder, "b0.onnx")
    subprocess.run([sys.executable, os.path.join(HERE, "onnx_b0.py"), weights, model], check=True)
    cpus = len(os.sched_getaffinity(0))
    servers = []
    for name in only:
        port = free_port()
        environment = {"MODEL": model, "PORT": str(port), "THREADS": "1", "PYTHONPATH": HERE, "REPLICAS": str(cpus),
                       "OMP_NUM_THREADS": "1"}
        if name == "ours":
            command = [os.path.join(TOP, "build", "reid"), "serve", "-m", "b0=" + weights, "--preset", "effnet-b0",
                       "--device", "cpu", "--listen", f"127.0.0.1:{port}", "--socket",
                       os.path.join(folder, "reid.sock")]
        elif name == "fastapi":
            command = [sys.executable, "-m", "uvicorn", "with_fastapi:app", "--port", str(port), "--workers", str(cpus),
                       "--log-level", "warning"]
        else:
            command = [sys.executable, "with_ray.py"]
        servers.append(Server(name, command, environment, port, folder))
        print(f"{name}: ready after {servers[-1].start_s:.1f} s", flush=True)
    return servers


def check_rows(servers, paths):
    pictures = [open(p, "rb").read() for p in paths]
    first = servers[0].rows(pictures)
    cosines = {}
    for server in servers[1:]:
        cosines[server.name] = float((first * server.rows(pictures)).sum(1).min())
        if not cosines[server.name] >= LEAST_COSINE:
            sys.exit(f"{server.name} computes something else: cosine {cosines[server.name]:.6f} to {servers[0].name}")
    return cosines


def turns(servers, paths, o, folder):
    """By server: closed loop, then open loops at two rates; medians over the rounds."""
    closed, alike, own, memory = ({s.name: [] for s in servers} for _ in range(4))
    for server in servers:
        server.signal(signal.SIGSTOP)

    def turn(server, rate):
        server.signal(signal.SIGCONT)
        result = ask(server, paths, o.clients, o.seconds, rate, folder)
        memory[server.name].append(memory_mb(server.members))
        server.signal(signal.SIGSTOP)
        print(f"{server.name:8} {rate or 'closed'!s:8.8} {result['answered_per_second']:8.1f}/s "
              f"p99 {result['latency_ms']['p99']:8.1f} ms, {result['failed']} failed", file=sys.stderr, flush=True)
        return result

    for _ in range(o.rounds):
        for server in servers:
            closed[server.name].append(turn(server, 0))
    best = {n: statistics.median(r["answered_per_second"] for r in runs) for n, runs in closed.items()}
    for _ in range(o.rounds):
        for server in servers:
            alike[server.name].append(turn(server, 0.7 * min(best.values())))
            own[server.name].append(turn(server, 0.7 * best[server.name]))
    return closed, alike, own, memory


def median(runs, *keys):
    values = []
    for run in runs:
        for key in keys:
            run = run[key]
        values.append(run)
    return statistics.median(values)


def table(servers, closed, alike, own, memory, cosines):
    cells = []
    for server in servers:
        n = server.name
        cells.append({"server": n, "closed_per_second": median(closed[n], "answered_per_second"),
                      "closed_p99_ms": median(closed[n], "latency_ms", "p99"),
                      "alike_rate": alike[n][0]["rate"], "alike_p50_ms": median(alike[n], "latency_ms", "p50"),
                      "alike_p99_ms": median(alike[n], "latency_ms", "p99"), "own_rate": own[n][0]["rate"],
                      "own_p99_ms": median(own[n], "latency_ms", "p99"),
                      "failed": sum(r["failed"] for runs in (closed[n], alike[n], own[n]) for r in runs),
                      "memory_mb": max(memory[n]), "start_s": server.start_s, "least_cosine": cosines.get(n)})
    print(f"{'server':10} {'closed/s':>9} {'p99 ms':>8} {'at rate':>8} {'p50 ms':>8} {'p99 ms':>8} {'at own':>8} "
          f"{'p99 ms':>8} {'failed':>7} {'MB':>7}")
    for c in cells:
        print(f"{c['server']:10} {c['closed_per_second']:9.1f} {c['closed_p99_ms']:8.1f} {c['alike_rate']:8.1f} "
              f"{c['alike_p50_ms']:8.1f} {c['alike_p99_ms']:8.1f} {c['own_rate']:8.1f} {c['own_p99_ms']:8.1f} "
              f"{c['failed']:7} {c['memory_mb']:7.0f}")
    return cells


def chip():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def versions():
    from importlib.metadata import version
    return {name: version(name) for name in ("fastapi", "uvicorn", "ray", "onnxruntime", "numpy", "pillow")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--only", default="ours,fastapi,ray")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        weights = os.path.join(folder, "b0.safetensors")
        subprocess.run([os.path.join(TOP, "build", "seeded"), "--net", "efficientnet_b0", "-o", weights], check=True)
        paths = make_pictures(folder)
        servers = start_all(o.only.split(","), weights, folder)
        try:
            cosines = check_rows(servers, paths)
            closed, alike, own, memory = turns(servers, paths, o, folder)
            ours = [s for s in servers if s.name == "ours"]
            queue = queue_and_socket(ours[0], weights, o, folder) if ours else None
        finally:
            for server in servers:
                server.stop()
    cells = table(servers, closed, alike, own, memory, cosines)
    result = {"date": time.strftime("%Y-%m-%d"), "chip": chip(), "cpus": len(os.sched_getaffinity(0)), "driver": None,
              "versions": versions(), "rounds": o.rounds, "seconds": o.seconds, "clients": o.clients,
              "model": "efficientnet_b0 224x224 fp32", "pictures": "JPEG 256x256", "cells": cells, "queue": queue}
    if o.out:
        with open(o.out + ".part", "w") as f:
            json.dump(result, f, indent=1)
            f.write("\n")
        os.replace(o.out + ".part", o.out)
    if any(not math.isfinite(c["closed_per_second"]) or c["failed"] for c in cells):
        sys.exit("some requests failed")


if __name__ == "__main__":
    main()
