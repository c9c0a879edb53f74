"""worker_faults.py WHAT REID ARGUMENT...: programs that start `reid worker`, good ones and others.

Standard library only; ends with 0 when the worker did what it should. The arguments are those of the worker; pictures
and embeddings are a.png, a.npy, boxes.npy in the current folder."""
import base64
import json
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
from says import says, says_like  # pylint: disable=wrong-import-position

BOXES = [[3, 4, 30, 40], [-5, 60, 50, 50]]


def must(condition, what):
    if not condition:
        print("FAILED:", what)
        sys.exit(1)


def rows_of(path):
    """The bytes after a .npy file's header."""
    data = open(path, "rb").read()
    return data[10 + struct.unpack_from("<H", data, 8)[0]:]


def frame(header, body=b""):
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    return struct.pack("<II", len(header), len(body)) + header + body


class Worker:
    def __init__(self, *more):
        self.child = subprocess.Popen([sys.argv[2], "worker", *sys.argv[3:], *more], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def write(self, data):
        self.child.stdin.write(data)
        self.child.stdin.flush()

    def write_beside(self, data, close=False):
        def run():
            try:
                self.write(data)
                if close:
                    self.child.stdin.close()
            except BrokenPipeError:
                pass  # other checks look at its answers
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def read(self):
        """Returns (header, JSON, bytes after it), or None at the end."""
        lengths = self.child.stdout.read(8)
        if not lengths:
            return None
        must(len(lengths) == 8, "whole lengths")
        header_len, body_len = struct.unpack("<II", lengths)
        header = json.loads(self.child.stdout.read(header_len))
        body = self.child.stdout.read(body_len)
        must(len(body) == body_len, "a whole body")
        must(set(header) == {"id", "status", "json"}, "the header %r" % header)
        return header, json.loads(body[:header["json"]]), body[header["json"]:]

    def ask(self, header, body=b""):
        self.write(frame(header, body))
        return self.read()

    def end(self, status, pattern=""):
        if not self.child.stdin.closed:
            self.child.stdin.close()
        must(self.child.stdout.read() == b"", "nothing behind the answers")
        said = self.child.stderr.read().decode()
        got = self.child.wait(30)
        must(got == status, "exit %d, not %d: %s" % (status, got, said))
        must(says_like(said, pattern), "%r says %r" % (said, pattern))


def floats(values):
    return struct.pack("<%df" % len(values), *values)


def infer_body(pictures, binary):
    """The body of an infer request, and how much of it is JSON."""
    data = b"".join(struct.pack("<I", len(p)) + p for p in pictures)
    tensor = {"name": "image", "datatype": "BYTES", "shape": [len(pictures)]}
    if binary:
        tensor["parameters"] = {"binary_data_size": len(data)}
    else:
        tensor["data"] = [base64.b64encode(p).decode() for p in pictures]
    body = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": binary}}).encode()
    return body + (data if binary else b""), len(body)


def same_rows():
    """Six ways to request the same rows, a hundred of each in progress, answered out of order."""
    picture, whole, boxes = open("a.png", "rb").read(), rows_of("a.npy"), rows_of("boxes.npy")
    as_json, _ = infer_body([picture, picture], False)
    as_bytes, json_len = infer_body([picture, picture], True)
    kinds = [
        ({"ask": "embed", "binary": True}, picture, whole),
        ({"ask": "embed"}, picture, whole),
        ({"ask": "embed", "boxes": BOXES, "binary": True, "model": "b0"}, picture, boxes),
        ({"boxes": BOXES, "ask": "embed", "priority": 0, "timeout": 600000000}, picture, boxes),
        ({"ask": "infer"}, as_json, whole * 2),
        ({"ask": "infer", "model": "b0", "json": json_len}, as_bytes, whole * 2),
    ]
    w = Worker()
    requests = [(dict(kinds[i % 6][0], id="no. %d" % i), kinds[i % 6][1]) for i in range(300)]
    w.write_beside(b"".join(frame(h, b) for h, b in requests), close=True)
    seen = set()
    for _ in requests:
        header, answer, rows = w.read()
        must(header["status"] == 200, "%r %r" % (header, answer))
        seen.add(header["id"])
        if "embeddings" in answer:
            rows = b"".join(floats(row) for row in answer["embeddings"])
        elif "outputs" in answer and not rows:
            rows = floats(answer["outputs"][0]["data"])
        must(rows == kinds[int(header["id"][4:]) % 6][2], "the bits of reid embed: %r" % header)
    must(len(seen) == len(requests), "every id once")
    w.end(0, "^$")


def header_errors():
    """Invalid frames whose end is known: each is refused, and the worker continues."""
    picture = open("a.png", "rb").read()
    cases = [
        (b"{", b"", 400, None, "header: line 1"),
        (b"[]", b"", 400, None, "header: line 1: expected an object"),
        (b"{}", b"", 400, None, "ask: is missing"),
        (b'{"id": 7}', b"", 400, 7, "ask: is missing"),
        (b'{"ask": "embed", "id": 7} x', picture, 400, 7, "text after the end"),
        (b'{"colour": 1, "id": "x\\u00e9"}', b"", 400, "x\u00e9", '"colour" is unknown'),
        (b'{"ask": "embed", "id": [1]}', picture, 400, None, "id: expected a string or a number"),
        (b'{"ask": "embed", "id": null}', picture, 400, None, "id: expected a string or a number"),
        (b'{"ask": "embed", "id": "' + b"x" * 2000 + b'"}', picture, 400, None, "id: is longer"),
        (b'{"ask": "embed", "ask": "match"}', b"", 400, None, "ask: is given twice"),
        (b'{"ask": "embed", "id": 1, "id": 2}', b"", 400, 1, "id: is given twice"),
        (b"\xff" * 40, b"", 400, None, "header: line 1"),
        (b"\0" * 40, b"", 400, None, "header: line 1"),
        (b"[" * 100000, b"", 400, None, "header: line 1"),
        ({"ask": "forget", "id": 1}, b"", 400, 1, 'not "forget"'),
        ({"ask": 1, "id": 1}, b"", 400, 1, "expected a string"),
        ({"ask": "embed", "id": 1}, b"", 400, 1, "picture: is empty"),
        ({"ask": "embed", "id": 1}, b"nonsense", 400, 1, "picture: not an image"),
        ({"ask": "embed", "id": 1}, picture[:300], 400, 1, "picture: "),
        ({"ask": "embed", "id": 1}, open("bomb.png", "rb").read(), 400, 1, "pixels exceed the limit of 100000"),
        ({"ask": "embed", "id": 1, "boxes": 3}, picture, 400, 1, "an array"),
        ({"ask": "embed", "id": 1, "boxes": [[1, 2, 3]]}, picture, 400, 1, r"boxes\[0]: expected x, y, width and"),
        ({"ask": "embed", "id": 1, "boxes": [[1, 2, 3, 4], [1, 2, 3, 4, 5]]}, picture, 400, 1, r"boxes\[1]: expected"),
        ({"ask": "embed", "id": 1, "boxes": [[1, 2, 3, 4.5]]}, picture, 400, 1, r"boxes\[0]: expected x, y"),
        ({"ask": "embed", "id": 1, "boxes": [[1, 2, 3, 1e300]]}, picture, 400, 1, r"boxes\[0]: expected x, y"),
        ({"ask": "embed", "id": 1, "boxes": [[1, 2, 3, 0]]}, picture, 400, 1, "box: "),
        ({"ask": "embed", "id": 1, "boxes": [[500, 500, 5, 5]]}, picture, 400, 1, "box: "),
        ({"ask": "embed", "id": 1, "boxes": [[1, 2, 3, 4]] * 2000}, picture, 413, 1, "box: more than 1024 boxes"),
        ({"ask": "embed", "id": 1, "priority": 8}, picture, 400, 1, "priority: expected an integer from 0 to 7"),
        ({"ask": "embed", "id": 1, "priority": "0"}, picture, 400, 1, "priority: line 1: expected"),
        ({"ask": "embed", "id": 1, "priority": 1.5}, picture, 400, 1, "priority: expected a whole number"),
        ({"ask": "embed", "id": 1, "timeout": -1}, picture, 400, 1, "timeout: expected an integer"),
        ({"ask": "embed", "id": 1, "timeout": 1}, picture, 504, 1, "timeout: "),
        ({"ask": "embed", "id": 1, "top": 1}, picture, 400, 1, "top: is not allowed for embed"),
        ({"ask": "embed", "id": 1, "json": 1}, picture, 400, 1, "json: is not allowed for embed"),
        ({"ask": "embed", "id": 1, "binary": 1}, picture, 400, 1, "true or false"),
        ({"ask": "embed", "id": 1, "model": "x"}, picture, 404, 1, 'no model is named "x"'),
        ({"ask": "embed", "id": 1, "model": "a&box=%1"}, picture, 404, 1, 'no model is named "a&box=%1"'),
        ({"ask": "match", "id": 1, "model": "b0"}, picture, 400, 1, "model: is not allowed for match"),
        ({"ask": "match", "id": 1, "top": 0}, picture, 400, 1, "top: expected an integer from 1"),
        ({"ask": "infer", "id": 1}, b"", 400, 1, "request: line 1"),
        ({"ask": "infer", "id": 1}, b"{}", 400, 1, "inputs: is missing"),
        ({"ask": "infer", "id": 1, "json": 3}, b"{}", 400, 1, "json: expected a number of bytes, at most the body's 2"),
        ({"ask": "infer", "id": 1, "json": -1}, b"{}", 400, 1, "json: expected a number of bytes"),
        ({"ask": "infer", "id": 1, "priority": 1}, b"{}", 400, 1, "priority: is not allowed for infer, whose JSON"),
        ({"ask": "infer", "id": 1, "model": "x"}, b"{}", 404, 1, 'no model is named "x"'),
        ({"ask": "stats", "id": 1}, b"x", 400, 1, "body: is not allowed for stats"),
        ({"ask": "model", "id": 1, "model": "x"}, b"", 404, 1, 'no model is named "x"'),
        ({"ask": "embed", "id": 1}, b"x" * 2000000, 413, 1, "body: larger than the limit of 1048576 bytes"),
        ({"ask": "stats", "id": 1}, b"x" * 2000000, 400, 1, "body: is not allowed for stats"),
    ]
    w = Worker()
    whole = rows_of("a.npy")
    for header, body, status, id, pattern in cases:
        got, answer, _ = w.ask(header, body)
        must(got["status"] == status and got["id"] == id and says_like(answer["error"], pattern),
             "%r gives %r %r" % (header, got, answer))
    must(w.ask({"ask": "embed", "binary": True}, picture)[2] == whole, "still there after all that")
    must(w.ask({"ask": "model", "id": 1e5})[1]["parameters"]["preset"], "what the model is")
    must(w.ask({"ask": "stats"})[1]["model_stats"][0]["inference_count"] == 1, "its counters")
    # The same, byte by byte.
    for byte in frame({"ask": "embed", "id": "slow", "binary": True}, picture):
        w.write(bytes([byte]))
    must(w.read()[2] == whole, "byte by byte")
    w.end(0, "^$")


def broken():
    """Input that is not a frame: requests before it are answered, and the status is 2."""
    picture = open("a.png", "rb").read()
    first = frame({"ask": "embed", "id": 1, "binary": True}, picture)
    cases = [
        (struct.pack("<II", 0, 5) + b"abcde", "expected a header of 1 to"),
        (struct.pack("<II", (1 << 20) + 1, 0) + b" " * ((1 << 20) + 1), "expected a header of 1 to"),
        (b"\xff" * 8, "expected a header of 1 to 1048576 bytes, found 4294967295"),
        (b"POST /embed HTTP/1.1\r\n\r\n", "expected a header of 1 to"),
        (b'{"ask": "embed"}', "expected a header of 1 to"),
        (b"\1", "ends inside a frame"),
        (first[:7], "ends inside a frame"),
        (first[:8], "ends inside a frame"),
        (first[:20], "ends inside a frame"),
        (first[:-1], "ends inside a frame"),
        (frame({"ask": "embed"}, b"x" * 2000000)[:-1], "ends inside a frame"),
    ]
    for data, pattern in cases:
        w = Worker()
        w.write_beside(first + data, close=True)
        answered = {}
        while (got := w.read()):
            answered[got[0]["id"], got[0]["status"]] = got[2]
        must(answered.pop((1, 200), None) == rows_of("a.npy"), "the first is answered: %r" % data[:30])
        must(not answered or list(answered) == [(None, 413)], "%r, %r" % (data[:30], answered))
        w.end(2, pattern)


def limits():
    """Started with --limit 16 --batch 8: requests wait in the pipe, too many images of few requests are refused."""
    picture = open("a.png", "rb").read()
    w = Worker()
    w.write_beside(b"".join(frame({"ask": "embed", "id": i}, picture) for i in range(200)))
    must(all(w.read()[0]["status"] == 200 for _ in range(200)), "200 single pictures")
    body, _ = infer_body([picture] * 17, False)
    got, answer, _ = w.ask({"ask": "infer"}, body)
    must(got["status"] == 413 and says(answer["error"], "over the limit of 16"), "17 images: %r" % answer)
    body, _ = infer_body([picture] * 16, False)
    w.write_beside(frame({"ask": "infer"}, body) * 8)
    statuses = sorted(w.read()[0]["status"] for _ in range(8))
    must(statuses[0] == 200 and statuses[-1] == 503, "8 times 16 images: %r" % statuses)
    w.end(0)


def match():
    """The answer of reid serve, in a frame."""
    picture = open("a.png", "rb").read()
    got, answer, _ = (w := Worker()).ask({"ask": "match", "id": 1, "top": 1, "boxes": BOXES}, picture)
    must(got["status"] == 200 and [q["query"] for q in answer["queries"]] == [0, 1], "%r" % answer)
    got, answer, _ = w.ask({"ask": "match"}, picture)
    print(json.dumps(answer["queries"][0]))
    w.end(0)


def ending():
    """Started slow: stdin ends, SIGTERM comes, all that was read is answered."""
    picture = open("a.png", "rb").read()
    w = Worker()
    w.write_beside(b"".join(frame({"ask": "embed", "id": i}, picture) for i in range(8)), close=True)
    must(sorted(w.read()[0]["id"] for _ in range(8)) == list(range(8)), "all after the end of stdin")
    w.end(0)
    w = Worker()
    w.write(frame({"ask": "stats"}))
    must(w.read(), "it is there")
    w.write(b"".join(frame({"ask": "embed", "id": i}, picture) for i in range(8)) + frame({"ask": "stats", "id": -1}))
    got = w.read()
    read = []
    while got and got[0]["id"] != -1:  # everything before it was read, too
        read.append(got[0]["id"])
        got = w.read()
    w.child.send_signal(signal.SIGTERM)
    while (got := w.read()):
        must(got[0]["status"] == 200, "%r %r" % got[:2])
        read.append(got[0]["id"])
    must(sorted(read) == list(range(8)), "all after SIGTERM: %r" % read)
    must(w.child.wait(10) == 0, "exit 0 after SIGTERM")
    # With no time at all, requests get 503.
    w = Worker("--drain", "0")
    w.write(b"".join(frame({"ask": "embed", "id": i}, picture) for i in range(8)) + frame({"ask": "stats", "id": -1}))
    while w.read()[0]["id"] != -1:
        pass
    w.child.send_signal(signal.SIGTERM)
    statuses = []
    while (got := w.read()):
        statuses.append(got[0]["status"])
    must(503 in statuses, "given up: %r" % statuses)
    must(w.child.wait(10) == 75, "exit 75 after --drain")
    # A second signal.
    w = Worker()
    w.write(frame({"ask": "embed"}, picture) * 8 + frame({"ask": "stats", "id": -1}))
    while w.read()[0]["id"] != -1:
        pass
    w.child.send_signal(signal.SIGTERM)
    while "sigterm" not in ignored_and_caught(w.child.pid):
        time.sleep(0.01)
    w.child.send_signal(signal.SIGTERM)
    must(w.child.wait(10) == -signal.SIGTERM, "a second signal ends it")


def ignored_and_caught(pid):
    """"sigterm" when the signal has its default action again."""
    masks = dict(re.findall(r"^(Sig\w+):\s*(\w+)", open("/proc/%d/status" % pid).read(), re.M))
    return "" if int(masks["SigCgt"], 16) >> (signal.SIGTERM - 1) & 1 else "sigterm"


def memory(pid):
    return int(re.search(r"VmRSS:\s*(\d+)", open("/proc/%d/status" % pid).read()).group(1)) << 10


def stuck():
    """No one reads the answers: requests wait in the pipe, and memory does not grow. Started with --max-body 1M."""
    picture = open("a.png", "rb").read()
    w = Worker("--drain", "1")
    must(w.ask({"ask": "embed"}, picture)[0]["status"] == 200, "it is there")
    before, sent = memory(w.child.pid), 0
    one = frame({"ask": "embed", "boxes": [[0, 0, 30, 30]]}, b"x" * 300000)  # a refusal is small, a body is not
    many = frame({"ask": "embed", "x" * 60: 1}) * 50
    os.set_blocking(w.child.stdin.fileno(), False)
    last = time.time()
    rest = b""
    while time.time() - last < 1.5 and sent < 3 << 28:
        if not rest:
            rest = one + many * 4
        try:
            n = os.write(w.child.stdin.fileno(), rest)
            rest, sent, last = rest[n:], sent + n, time.time()
        except BlockingIOError:
            time.sleep(0.01)
    must(sent < 3 << 28, "it stops to read: %d bytes" % sent)
    must(memory(w.child.pid) < before + (60 << 20), "memory: %d, then %d" % (before, memory(w.child.pid)))
    w.child.send_signal(signal.SIGTERM)
    must(w.child.wait(20) == 75, "exit 75 when the answers cannot be written")
    # A client that reads at last gets all answers.
    w = Worker()
    n = 20000
    thread = w.write_beside(frame({"ask": "stats"}) * n, close=True)
    time.sleep(0.5)
    must(thread.is_alive(), "the writer waits")
    must(all(w.read()[0]["status"] == 200 for _ in range(n)), "all in the end")
    w.end(0)


def orphan():
    """The parent is killed while the worker computes: the worker ends."""
    if os.environ.get("ORPHAN") == "parent":
        picture = open("a.png", "rb").read()
        w = Worker()
        must(w.ask({"ask": "stats"}), "it is there")
        w.write(frame({"ask": "embed"}, picture) * 30)
        print(w.child.pid, flush=True)
        time.sleep(100)
    parent = subprocess.Popen([sys.executable, *sys.argv], env=dict(os.environ, ORPHAN="parent"),
                              stdout=subprocess.PIPE)
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    end = time.time() + 10
    while time.time() < end:
        try:
            if " Z " in open("/proc/%d/stat" % pid).read():
                return
        except FileNotFoundError:
            return
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    must(False, "the worker is still there")


def nobody_reads():
    """Stdout is closed while stdin is open."""
    w = Worker()
    must(w.ask({"ask": "stats"}), "it is there")
    w.child.stdout.close()
    must(w.child.wait(10) == 75, "exit 75")
    must(says(w.child.stderr.read().decode(), "stdout: stdout was closed"), "and says so")


signal.alarm(100)
globals()[sys.argv[1]]()
