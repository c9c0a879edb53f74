#!/usr/bin/env python3
"""Demonstrates `reid worker`: a child process that embeds images, with requests on stdin and answers on stdout.

    python3 worker_client.py -m resnet50.safetensors crops/*.png

The arguments are the weights and then images, which the worker decodes. `reid help worker` defines the frames. Needs
numpy. $REID names the command; the default is `reid`.
"""

import json
import os
import struct
import subprocess
import sys
import threading

import numpy as np


class Worker:
    """One child process. Many requests are in flight at a time, so that it can compute them in batches."""

    def __init__(self, *arguments):
        command = [os.environ.get("REID", "reid"), "worker", *arguments]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, header, body=b""):
        header = json.dumps(header).encode()
        self.child.stdin.write(struct.pack("<II", len(header), len(body)) + header + body)
        self.child.stdin.flush()

    def receive(self):
        lengths = self.child.stdout.read(8)
        if len(lengths) < 8:
            raise EOFError(f"the worker ended with status {self.child.wait()}")
        header, body = struct.unpack("<II", lengths)
        return json.loads(self.child.stdout.read(header)), self.child.stdout.read(body)

    def embed(self, paths):
        """Yields (path, float32 rows or an error) in the order in which the requests finish."""
        def write():  # in a thread: the pipes are finite, so reading must not wait for all writes
            try:
                for number, path in enumerate(paths):
                    with open(path, "rb") as file:
                        self.send({"ask": "embed", "id": number, "binary": True}, file.read())
            except BrokenPipeError:
                pass  # receive reports it
        threading.Thread(target=write, daemon=True).start()
        for _ in paths:
            header, body = self.receive()
            answer, rows = json.loads(body[:header["json"]]), body[header["json"]:]
            if header["status"] == 200:
                yield paths[header["id"]], np.frombuffer(rows, "<f4").reshape(answer["shape"])
            else:
                yield paths[header["id"]], answer["error"]

    def close(self):
        """Returns the exit status: 0 if all requests were answered, 75 to try again, 2 not to."""
        self.child.stdin.close()
        return self.child.wait()


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] != "-m":
        sys.exit(f"usage: {sys.argv[0]} -m WEIGHTS IMAGE...")
    worker = Worker("-m", sys.argv[2])
    for path, rows in worker.embed(sys.argv[3:]):
        print(path, rows if isinstance(rows, str) else rows[0][:4])
    sys.exit(worker.close())
