"""Demonstrates how Celery workers embed and match detections with one `reid serve`. README.md shows how to run it.

No step is lost, but a step may happen twice: a task is acknowledged after its results are in the database, and writing
them a second time changes nothing.
"""

import functools
import http.client
import json
import os
import socket
import sqlite3
import struct

import numpy as np
from celery import Celery
from reid import Index  # examples/python/reid.py, to search the gallery; the network runs only in the server

DATABASE = os.environ.get("REID_DATABASE", "detections.sqlite")
GALLERY = os.environ.get("REID_GALLERY", "gallery.npy")  # from reid embed, with gallery.meta.json next to it
MODEL = os.environ.get("REID_MODEL", "resnet50")  # the model's name in the server
SOCKET = os.environ.get("REID_SOCKET") or os.environ.get("XDG_RUNTIME_DIR", "/tmp") + "/reid.sock"
VISIBILITY = int(os.environ.get("REID_VISIBILITY", "600"))  # in seconds; must be longer than a task takes

SCHEMA = """
CREATE TABLE IF NOT EXISTS detections (id INTEGER PRIMARY KEY, crop BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS results (
    detection INTEGER NOT NULL REFERENCES detections,
    fingerprint TEXT NOT NULL,  -- of the model: results of a new model are added next to the old ones
    identity TEXT, score REAL, embedding BLOB,
    error TEXT,                 -- set instead of results if the crop is not an image
    PRIMARY KEY (detection, fingerprint));
"""

app = Celery("reid", broker=os.environ.get("REID_BROKER", "redis://localhost:6379/0"))
app.conf.update(
    task_ignore_result=True,  # the database has the results
    task_acks_late=True,  # if a worker is killed, its task is not lost
    task_reject_on_worker_lost=True,  # and goes to another child at once
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
    broker_transport_options={  # or to another machine, if it is not acknowledged within VISIBILITY seconds
        "visibility_timeout": VISIBILITY,
        "unacked_restore_interval": max(1, VISIBILITY // 10),
        "unacked_restore_throttle": 1,
        "unacked_mutex_expire": VISIBILITY,  # releases the lock of a worker that is killed while it restores tasks
    },
)


class Busy(Exception):
    """The server is full or restarting; try again later."""


class Refused(Exception):
    """The server will never take this request."""


class Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(SOCKET)


def embed(crops):
    """Embeds encoded images with one binary Open Inference Protocol request. Returns (fingerprint, float32 rows)."""
    data = b"".join(struct.pack("<I", len(crop)) + crop for crop in crops)
    tensor = {"name": "image", "datatype": "BYTES", "shape": [len(crops)],
              "parameters": {"binary_data_size": len(data)}}
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    connection = Connection("localhost", timeout=120)
    try:
        connection.request("POST", f"/v2/models/{MODEL}/infer", head + data,
                           {"Content-Type": "application/octet-stream", "Inference-Header-Content-Length": len(head)})
        response = connection.getresponse()
        body = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise Busy(str(error)) from error
    finally:
        connection.close()
    if response.status >= 500:
        raise Busy(body.decode())
    if response.status in (400, 413):
        raise Refused(json.loads(body)["error"])
    if response.status != 200:
        raise RuntimeError(f"{SOCKET}: {response.status} {body.decode()}")
    length = int(response.headers["Inference-Header-Content-Length"])
    answer = json.loads(body[:length])
    rows = np.frombuffer(body, "<f4", offset=length).reshape(answer["outputs"][0]["shape"])
    return answer["parameters"]["fingerprint"], rows


@functools.lru_cache(maxsize=None)
def gallery():
    """Returns (fingerprint, identities, Index). Each child creates its own, because handles do not survive a fork."""
    with open(GALLERY.removesuffix(".npy") + ".meta.json", encoding="utf-8") as file:
        meta = json.load(file)
    return meta["models"][0]["fingerprint"], meta["identities"], Index(np.load(GALLERY), device="cpu", threads=1)


def match(crops):
    """Returns (identity, score, embedding, error) of each crop."""
    fingerprint, identities, index = gallery()
    try:
        made_by, rows = embed(crops)
    except Refused as error:
        if len(crops) == 1:
            return [(None, None, None, str(error))]
        return [result for crop in crops for result in match([crop])]  # one by one, so that only the bad crop fails
    if made_by != fingerprint:
        raise RuntimeError(f"the server's model has the fingerprint {made_by}, {GALLERY} was made with {fingerprint}")
    hits = index.search(rows, k=1)
    return [(identities[hits.rows[i, 0]], float(hits.scores[i, 0]), rows[i].tobytes(), None) for i in range(len(rows))]


def connect():
    """Opens a connection of this process to the database; several processes may read while one writes."""
    database = sqlite3.connect(DATABASE, timeout=60, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    return database


@app.task(autoretry_for=(Busy,), retry_backoff=1, retry_backoff_max=30, max_retries=None)
def batch_reidentify(detection_ids):
    """Embeds these detections with one request, matches them, and writes the results in one transaction."""
    fingerprint = gallery()[0]
    database = connect()
    try:
        marks = ",".join("?" * len(detection_ids))
        found = database.execute(
            f"SELECT id, crop FROM detections WHERE id IN ({marks}) AND NOT EXISTS"
            " (SELECT 1 FROM results WHERE detection = id AND fingerprint = ?) ORDER BY id",
            (*detection_ids, fingerprint)).fetchall()
        if not found:
            return  # another child was faster
        results = match([crop for _, crop in found])
        database.execute("BEGIN IMMEDIATE")
        database.executemany(
            "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (detection, fingerprint) DO NOTHING",
            [(detection, fingerprint, *result) for (detection, _), result in zip(found, results)])
        database.execute("COMMIT")
    finally:
        database.close()  # rolls back what was not committed
