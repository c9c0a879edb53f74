"""serve_faults.py WHAT SOCKET...: clients of `reid serve` that curl cannot imitate: raw bytes, slow and impatient ones.

Standard library only; ends with 0 when the server did what it should. SOCKET is a path, or HOST:PORT."""
import http.client
import json
import os
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
from says import says  # pylint: disable=wrong-import-position


def connect(where, timeout=60):
    if where.startswith("/"):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(timeout)
        s.connect(where)
        return s
    host, port = where.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout)


class Unix(http.client.HTTPConnection):
    def __init__(self, where):
        super().__init__("localhost", timeout=60)
        self.where = where

    def connect(self):
        self.sock = connect(self.where)


def ask(where, method, path, body=None, headers=None, connection=None):
    c = connection or Unix(where)
    c.request(method, path, body, headers or {})
    r = c.getresponse()
    content = r.read()
    if connection is None:
        c.close()
    return r.status, content, r.headers


def raw(where, data, timeout=20):
    """Sends bytes as they are. Returns what comes back until the server closes or falls silent."""
    s = connect(where, timeout)
    got = b""
    try:
        s.sendall(data)
        while True:
            more = s.recv(65536)
            if not more:
                break
            got += more
            if b"\r\n\r\n" in got and b"Connection: close" not in got:
                break
    except (socket.timeout, ConnectionError):
        pass
    s.close()
    return got


def must(condition, what):
    if not condition:
        print("FAILED:", what)
        sys.exit(1)


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else 0


def metric(where, name):
    text = ask(where, "GET", "/metrics")[1].decode()
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))


def wait_for(what, test, seconds=10):
    end = time.time() + seconds
    while time.time() < end:
        if test():
            return
        time.sleep(0.05)
    must(False, what)


def has_ended(pid):
    """Whether it is a zombie, or its parent has already fetched its status."""
    try:
        with open("/proc/%s/status" % pid) as status:
            return re.search(r"^State:\tZ", status.read(), re.M)
    except FileNotFoundError:
        return True


def bad_http(where):
    """Malformed requests, and requests that contain a second one."""
    head = b"POST /embed HTTP/1.1\r\nHost: localhost\r\n"
    cases = [
        (b"GARBAGE\r\n\r\n", (400, 0, 505)),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", (400, 0)),  # TLS
        (b"GET / HTTP/9.9\r\n\r\n", (400, 0, 505)),
        (head + b"Content-Length: -1\r\n\r\n", (400, 413)),
        (head + b"Content-Length: 5, 5\r\n\r\nabcde", (400, 413)),
        (head + b"Content-Length: 18446744073709551617\r\n\r\n", (400, 413)),
        (head + b"Content-Length: 99999999999\r\n\r\n", (413,)),
        (head + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde", (400,)),
        (head + b"\r\n", (411,)),
        (head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n", (400,)),  # not an image
        (head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", (400,)),
        (head + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nabcde", (400,)),
        (head + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", (400,)),
        (head + b"Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nabcde", (501,)),
        (head + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", (501,)),
        (head + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", (501,)),
        (head + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", (501,)),
        (head + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", (501, 400)),
        (head + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc", (400, 413, 408)),
        (head + b"Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nabcde\r\n0\r\n\r\n", (400, 413)),
        (head + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nabcde\r\n0\r\n\r\n", (400, 413, 0)),
        (head + b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nabcde\r\n0\r\n\r\n", (400, 413, 0)),
        (head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcdefg\r\n0\r\n\r\n", (400, 0)),
        (head + b"Transfer-Encoding: chunked\r\n\r\n" + b"0" * 300000 + b"5\r\nabcde", (400, 413, 431, 408, 0)),
        (head + b"Transfer-Encoding: chunked\r\n\r\n5;" + b"x" * 300000 + b"\r\nabcde", (400, 413, 431, 408, 0)),
        (head + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n" + b"X: y\r\n" * 50000 + b"\r\n",
         (400, 413, 431, 408, 0)),
        # Triton lost its stack to a body of very many chunks (CVE-2025-23310).
        (head + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 200000 + b"0\r\n\r\n", (400,)),
        (head + b"Content-Type: multipart/form-data\r\nContent-Length: 5\r\n\r\nabcde", (400,)),
        (head + b"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 5\r\n\r\nabcde", (400,)),
        (head + b"Content-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n" +
         b"35\r\n--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nab\r\n\r\n" * 10000 + b"0\r\n\r\n",
         (413, 400)),
        (head + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nabcde", (415,)),
        (head + b"X: " + b"y" * 100000 + b"\r\n\r\n", (431,)),
        (head + b"X: " + b"y" * 250000 + b"\r\n\r\n", (431,)),
        (head + b"X: y\r\n" * 20000 + b"\r\n", (431,)),
        (b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", (414,)),
        (b"GET /" + b"a" * 250000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", (414,)),
        (b"GET /?" + b"a&" * 20000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", (414,)),
        (b"POST /embed?" + b"&".join([b"box=1000.25,1000.25,1000.25,1000.25"] * 1024) +
         b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx", (400,)),
        (b"GET /v2/health/live%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", (404,)),
        (b"GET /v2/%2e%2e/health HTTP/1.1\r\nHost: localhost\r\n\r\n", (404,)),
        (b"GET /% HTTP/1.1\r\nHost: localhost\r\n\r\n", (404,)),
        (b"GET /v2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", (400,)),
    ]
    code = 'reid_http_responses_total{code="%d"}'
    counted = {status: metric(where, code % status) for status in (414, 431)}
    statuses = []
    for data, wanted in cases:
        for _ in range(5 if len(data) > 100000 else 1):  # the kernel may drop an answer while the client still sends
            got = raw(where, data, 3)
            if status_of(got):
                break
        statuses.append(status_of(got))
        must(statuses[-1] in wanted, "%r gives %r" % (data[:90], got[:120]))
    for status, before in counted.items():
        must(metric(where, code % status) - before >= statuses.count(status) > 2, "each %d is counted" % status)
    must(ask(where, "GET", "/v2/health/ready")[0] == 200, "ready after all that")
    # One after the other on one connection, and two at once (pipelined).
    two = b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2
    s = connect(where)
    s.sendall(two)
    got = b""
    while got.count(b"live") < 2:
        more = s.recv(65536)
        must(more, "two answers on one connection")
        got += more
    s.close()


def forms(where, picture, limit):
    """Forms and bodies in chunks: the same rows as for a plain body, in pieces of any size, and none beyond limits."""
    content, limit = open(picture, "rb").read(), int(limit)
    row = ask(where, "POST", "/embed", content)[1]
    part = b"--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"a.jpg\"\r\n\r\n%s\r\n"
    form = part % (b"b", b"file", content) + b"--b--\r\n"
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    kind = b"Content-Type: multipart/form-data; boundary=b\r\n"

    def chunks(body, size):
        pieces = [body[i:i + size] for i in range(0, len(body), size)]
        return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"

    def is_row(got, what):
        must(status_of(got) == 200 and got.split(b"\r\n\r\n", 1)[1] == row, "%s: %r" % (what, got[:200]))

    is_row(raw(where, head % b"/embed" + kind + b"Content-Length: %d\r\n\r\n" % len(form) + form), "a form")
    for size in (1, 7, 4096, 1 << 20):
        coded = b"Transfer-Encoding: chunked\r\n\r\n"
        is_row(raw(where, head % b"/embed" + coded + chunks(content, size)), "chunks of %d" % size)
        is_row(raw(where, head % b"/embed" + kind + coded + chunks(form, size)), "a form in chunks of %d" % size)
    extended = chunks(content, 1000).replace(b"3e8\r\n", b"3e8;a=b\r\n").replace(b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n")
    is_row(raw(where, head % b"/embed" + b"Transfer-Encoding: chunked\r\n\r\n" + extended), "extensions, a trailer")
    several = part % (b"b", b"file", content) + part % (b"b", b"image", content) + b"--b--"
    status, answer, _ = ask(where, "POST", "/embed", several, {"Content-Type": "multipart/form-data; boundary=b"})
    rows = json.loads(answer)["embeddings"]
    must(status == 200 and rows == json.loads(row)["embeddings"] * 2, "two images")

    # A body whose length is not announced may be as large as others, and not larger, however it is sent.
    coded = b"Transfer-Encoding: chunked\r\n\r\n"
    filler = content + b"\0" * (limit - len(content))
    is_row(raw(where, head % b"/embed" + coded + chunks(filler, 8192)), "the largest one")
    for size in (8192, limit + 1):
        got = raw(where, head % b"/embed" + coded + chunks(filler + b"x", size))
        must(status_of(got) == 413 and b"--max-body" in got, "one byte more: %r" % got[:200])
    s = connect(where)
    s.sendall(head % b"/embed" + coded)
    sent = 0
    try:
        while sent < 100 * limit:  # endless
            s.sendall(b"2000\r\n" + b"x" * 8192 + b"\r\n")
            sent += 8192
    except OSError:
        pass
    must(sent < 100 * limit, "an endless body is left")
    s.close()
    wait_for("bodies are freed", lambda: metric(where, "reid_body_bytes") == 0)


def bodies(where, picture):
    """Bodies that end early, come byte by byte, or are never read."""
    data = open(picture, "rb").read()
    head = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(data)
    whole = ask(where, "POST", "/embed", data)[1]
    s = connect(where)
    s.sendall(head + data[:-1])
    s.close()
    # A client that trickles is served as long as it keeps the pace, and gets the very same answer.
    s = connect(where)
    s.sendall(head[:10])
    time.sleep(0.2)
    s.sendall(head[10:])
    for i in range(0, len(data), len(data) // 7 + 1):
        time.sleep(0.05)
        s.sendall(data[i:i + len(data) // 7 + 1])
    r = http.client.HTTPResponse(s)
    r.begin()
    must(r.status == 200 and r.read() == whole, "a slow writer gets the same answer")
    s.close()


def refused(where, limit):
    """A client that sends all of a refused body before it listens still reads why, and may be refused again."""
    for size in int(limit) + 1, 3 * int(limit):
        status, content, _ = ask(where, "POST", "/embed", b"x" * size)
        must(status == 413 and b"over the limit" in content, "413 for %d bytes" % size)
    status, content, _ = ask(where, "POST", "/embed", b"x" * int(limit), {"Content-Encoding": "gzip"})
    must(status == 415, "415 behind a large body")
    status, content, _ = ask(where, "POST", "/nope", b"x" * int(limit))
    must(status == 404, "404 behind a large body")


def promises(where, limit, idle):
    """With --max-body LIMIT and --idle: announced bytes reserve nothing; received bytes count while they are held."""
    limit = int(limit)
    head = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % limit
    large, small = b"x" * limit, b"x" * 100000

    def status(body):
        return ask(where, "POST", "/embed", body)[:2]

    silent = [connect(where) for _ in range(12)]
    for s in silent:
        s.sendall(head)
    must(status(large)[0] == 400 and status(small)[0] == 400, "silent clients block nobody")
    senders = [connect(where) for _ in range(8)]
    for s in senders:
        s.sendall(head + large[:-1])
    wait_for("they were received", lambda: metric(where, "reid_body_bytes") == 8 * (limit - 1))
    code, content = status(large)
    must(code == 503 and b"too many large requests" in content, "503 while 8 bodies are held: %d %r" % (code, content))
    must(status(small)[0] == 400, "a small body is always admitted")
    wait_for("nothing of theirs is held", lambda: metric(where, "reid_body_bytes") == 0, float(idle) + 10)
    must(status(large)[0] == 400, "clients that stopped sending are disconnected")
    # One that goes on is served, although it takes longer than --idle.
    s = connect(where)
    s.sendall(head)
    for i in range(40):
        s.sendall(large[i * limit // 40:(i + 1) * limit // 40])
        time.sleep(1.5 * float(idle) / 40)
    must(status_of(s.recv(4096)) == 400, "a client that keeps the pace is served")


def unread(where, model, idle):
    """With --max-body 64K and --idle: unread answers are limited, and dropped in the end; a steady reader gets all."""
    path = "/v2/models/%s/infer" % model
    n = 60  # images, of which the answer has more than 512 KiB
    body, headers = infer_body(n, 1)
    head = json.loads(body[:int(headers["Inference-Header-Content-Length"])])
    del head["parameters"]  # as JSON, which is longer
    head = json.dumps(head).encode()
    body, headers = head + bytes(3 * n), {"Inference-Header-Content-Length": str(len(head))}
    lazy = [Unix(where) for _ in range(2)]
    for c in lazy:
        c.request("POST", path, body, headers)
    must(sorted(status_of(c.sock.recv(20)) for c in lazy) == [200, 503], "one of two large answers is held")
    status, content, h = ask(where, "POST", path, body, headers)
    must(status == 503 and b"waiting to be read" in content and h["Retry-After"], "503: %r" % content[:100])
    must(ask(where, "POST", path, *infer_body(1, 1))[0] == 200, "small answers are always sent")
    time.sleep(float(idle) + 1.5)
    steady = Unix(where)
    steady.request("POST", path, body, headers)
    r, got = steady.getresponse(), b""
    must(r.status == 200, "the unread answer was dropped: %d" % r.status)
    end = time.time() + 2 * float(idle)
    while time.time() < end:
        got += r.read(10000)
        time.sleep(0.1)
    got += r.read()
    must(len(got) == int(r.headers["Content-Length"]) and json.loads(got), "a steady reader gets all of its answer")


def slow(where, seconds):
    """With --idle SECONDS: slow clients are disconnected, at whatever point; in the middle of a request with 408."""
    head = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
    live = b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    cases = [  # what is sent, and the statuses that come back
        (b"", []),
        (b"GET", []),
        (live, [200]),
        (b"GET / HTTP/1.1\r\nHost: l", [408]),
        (head + b"\r\nabc", [408]),
        (head + b"Expect: 100-continue\r\n\r\n", [100, 408]),
        (head + b"Content-Encoding: gzip\r\n\r\nabc", [408]),
        (live + head + b"\r\nabc", [200, 408]),
    ]
    time.sleep(float(seconds) + 0.5)  # until then, a client of bodies() that ended early still has half a connection
    told = metric(where, 'reid_http_responses_total{code="408"}')
    sockets = [connect(where) for _ in cases]
    for s, (data, _) in zip(sockets, cases):
        s.sendall(data)
    end = time.time() + 3 * float(seconds) + 4
    for s, (data, wanted) in zip(sockets, cases):
        got, over = b"", False
        while not over:
            s.settimeout(max(0.1, end - time.time()))
            try:
                more = s.recv(65536)
            except socket.timeout:
                must(False, "%r was left" % data)
            got, over = got + more, not more
        statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", got)]
        must(statuses == wanted, "%r gives %r, not %r" % (data, statuses, wanted))
        if 408 in wanted:
            last = got[got.index(b"HTTP/1.1 408"):]
            fields, body = last.split(b"\r\n\r\n")
            must(b"\r\nContent-Type: application/json\r\n" in fields and b"\r\nConnection: close\r\n" in fields and
                 b"\r\nContent-Length: %d" % len(body) in fields, "the headers of 408: %r" % fields)
            must(says(json.loads(body)["error"], "too slowly"), "408 says why: %r" % body)
    now = metric(where, 'reid_http_responses_total{code="408"}')
    must(now - told == sum(408 in wanted for _, wanted in cases), "each 408 is counted: %r, then %r" % (told, now))
    # If the clock restarted with every byte, headers sent byte by byte would keep the server busy.
    s = connect(where)
    s.sendall(b"GET / HTTP/1.1\r\n")
    started = time.time()
    try:
        while time.time() - started < 3 * float(seconds) + 4:
            s.sendall(b"X: y\r\n")
            time.sleep(0.1)
        must(False, "dripping headers were cut off")
    except (ConnectionError, BrokenPipeError):
        pass


def many(where, count):
    """COUNT silent connections: the server still answers on others, or says why not."""
    sockets = []
    for _ in range(int(count)):
        sockets.append(connect(where))
    wait_for("all were accepted", lambda: metric(where, "reid_connections ") >= int(count))
    for s in sockets[::50]:
        s.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        must(status_of(s.recv(4096)) == 200, "an answer among %s connections" % count)
    for s in sockets:
        s.close()
    wait_for("all are gone", lambda: metric(where, "reid_connections ") <= 2)


def too_many(where, limit):
    """With --connections LIMIT: idle ones make room for a new one; while all are busy, it gets 503 with Retry-After."""
    strangers = [connect(where) for _ in range(3 * int(limit))]
    started = time.time()
    must(ask(where, "GET", "/v2")[0] == 200 and time.time() - started < 5, "idle connections shut nobody out")
    for s in strangers:
        s.close()
    wait_for("all are gone", lambda: metric(where, "reid_connections ") <= 2)
    sockets = [connect(where) for _ in range(int(limit))]
    for s in sockets:
        s.sendall(b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
    time.sleep(0.5)
    status, content, headers = ask(where, "GET", "/v2")
    must(status == 503 and headers["Retry-After"] and b"too many connections" in content, "503: %r" % content)
    for s in sockets:
        s.close()
    wait_for("room again", lambda: ask(where, "GET", "/v2")[0] == 200)


def no_files(where, pid):
    """Without a free file descriptor, new clients wait and the server tries to accept ten times a second; an idle
    client makes room. The server counts its pauses, so that a slow or busy machine changes nothing: one that does not
    pause counts thousands even in a hundredth of a second."""
    def busy():
        """A client that may not make room: 100 says that the server waits for its body."""
        s = connect(where)
        s.sendall(b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n")
        must(status_of(s.recv(4096)) == 100, "a client is asked for its body")
        return s

    def fill():
        """Leaves no descriptor. The limit is the lowest free number; the server may have inherited higher ones."""
        used = {int(name) for name in os.listdir("/proc/%s/fd" % pid)}
        resource.prlimit(int(pid), resource.RLIMIT_NOFILE, (min(set(range(len(used) + 1)) - used), before[1]))

    told, before = "reid_accept_pauses_total ", resource.prlimit(int(pid), resource.RLIMIT_NOFILE)
    paused = metric(where, told)  # on a connection that is closed when a second client has been served after it
    clients = [busy() for _ in range(3)]
    fill()
    start = time.monotonic()
    waiting = [connect(where) for _ in range(4)]
    time.sleep(1)
    resource.prlimit(int(pid), resource.RLIMIT_NOFILE, before)
    pauses = metric(where, told) - paused
    most = 10 * (time.monotonic() - start) + 1
    must(0 < pauses <= most, "%d pauses for want of a descriptor; 1 to %d were expected" % (pauses, most))
    wait_for("the waiting ones are accepted", lambda: metric(where, "reid_connections ") >= 8)
    fill()
    idle = [connect(where) for _ in range(20)]
    must(ask(where, "GET", "/v2/health/ready")[0] == 200, "idle clients make room")
    for s in idle + waiting:
        s.close()
    wait_for("all others are gone", lambda: metric(where, "reid_connections ") == 4)
    clients += [busy(), busy()]
    fill()
    clients.pop().close()
    must(ask(where, "GET", "/v2/health/ready")[0] == 200, "the last descriptor serves a client")
    resource.prlimit(int(pid), resource.RLIMIT_NOFILE, before)
    for s in clients:
        s.close()


def infer_body(n, side, timeout=0, name="pixels"):
    pixels = os.urandom(n * side * side * 3)
    parameters = {"binary_data_output": True}
    if timeout:
        parameters["timeout"] = timeout
    head = json.dumps({"parameters": parameters, "inputs": [
        {"name": name, "datatype": "UINT8", "shape": [n, side, side, 3],
         "parameters": {"binary_data_size": len(pixels)}}]}).encode()
    return head + pixels, {"Inference-Header-Content-Length": str(len(head))}


def impatient(where, model):
    """Requests of disconnected clients are not computed; a time-out gets 504 while others are computed."""
    path = "/v2/models/%s/infer" % model
    before = metric(where, 'reid_requests_total{model="%s",outcome="cancelled"}' % model)
    clients = []
    for _ in range(12):
        c = Unix(where)
        body, headers = infer_body(32, 128)
        c.request("POST", path, body, headers)
        clients.append(c)
    wait_for("the queue fills", lambda: metric(where, "reid_waiting_images{") > 100)
    body, headers = infer_body(1, 64, timeout=1000)
    status, content, _ = ask(where, "POST", path, body, headers)
    must(status == 504 and b"timeout" in content, "504 for a millisecond: %d %r" % (status, content[:100]))
    for c in clients:
        c.close()
    wait_for("cancelled ones are counted",
             lambda: metric(where, 'reid_requests_total{model="%s",outcome="cancelled"}' % model) > before)
    wait_for("nothing waits", lambda: metric(where, "reid_waiting_images{") == 0, 60)
    must(metric(where, "reid_picture_bytes") == 0, "no image is held")


def full(where, model):
    """With --limit 16: further images get 503, and no client gets another's row."""
    path, answers = "/v2/models/%s/infer" % model, []

    def one():
        body, headers = infer_body(8, 128)
        status, content, h = ask(where, "POST", path, body, headers)
        answers.append((status, h["Retry-After"]))

    threads = [threading.Thread(target=one) for _ in range(24)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    kinds = {a[0] for a in answers}
    must(len(answers) == 24 and kinds == {200, 503}, "200 and 503: %r" % kinds)
    must(all(a[1] for a in answers if a[0] == 503), "Retry-After")
    body, headers = infer_body(17, 8)
    status, content, _ = ask(where, "POST", path, body, headers)
    must(status == 413 and b"inputs[0].shape: 17 images are over the limit of 16" in content, "413: %r" % content)


def same_rows(where, model, picture, reference):
    """REFERENCE is the .npy of `reid embed`: JSON and bytes, alone and together, boxes or not, have its bits."""
    npy = open(reference, "rb").read()[128:]
    data = open(picture, "rb").read()
    path = "/v2/models/%s/infer" % model

    def floats(values):
        return struct.pack("<%df" % len(values), *values)

    status, content, _ = ask(where, "POST", "/embed", data, {"Content-Type": "image/png"})
    must(status == 200 and floats(json.loads(content)["embeddings"][0]) == npy, "/embed has the bits of reid embed")
    import base64
    encoded = base64.b64encode(data).decode()
    body = {"id": "a\"b", "inputs": [{"name": "image", "datatype": "BYTES", "shape": [3], "data": [encoded] * 3}]}
    status, content, _ = ask(where, "POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = json.loads(content)
    must(status == 200 and answer["id"] == "a\"b" and answer["model_name"] == model, "infer: %r" % content[:200])
    must(answer["outputs"][0]["shape"] == [3, len(npy) // 4], "shape")
    must(floats(answer["outputs"][0]["data"]) == npy * 3, "infer in JSON has them, too")
    tensor = b"".join(struct.pack("<I", len(data)) + data for _ in range(2))
    head = json.dumps({"inputs": [{"name": "image", "datatype": "BYTES", "shape": [2, 1],
                                   "parameters": {"binary_data_size": len(tensor)}}],
                       "outputs": [{"name": "embedding", "parameters": {"binary_data": True}}]}).encode()
    status, content, headers = ask(where, "POST", path, head + tensor,
                                   {"Inference-Header-Content-Length": str(len(head)),
                                    "Content-Type": "application/octet-stream"})
    n = int(headers["Inference-Header-Content-Length"])
    must(status == 200 and content[n:] == npy * 2, "and the binary extension")
    must(json.loads(content[:n])["outputs"][0]["parameters"]["binary_data_size"] == len(npy) * 2, "binary_data_size")


def boxes(where, picture, reference, *wanted):
    """A row for each box, as reid embed --boxes has them."""
    npy = open(reference, "rb").read()[128:]
    query = "&".join("box=" + w for w in wanted)
    status, content, _ = ask(where, "POST", "/embed?" + query, open(picture, "rb").read())
    got = b"".join(struct.pack("<%df" % len(r), *r) for r in json.loads(content)["embeddings"])
    must(status == 200 and got == npy, "boxes have the bits of reid embed")


def killed(where, model, command):
    """kill -9 and restart under load: every answer that comes is right, the others are errors."""
    path = "/v2/models/%s/infer" % model
    stop, wrong, right, errors = threading.Event(), [], [0], [0]
    requests = [infer_body(1 + i % 3, 64) for i in range(6)]
    start = lambda: subprocess.Popen(command, shell=True, stderr=subprocess.DEVNULL, preexec_fn=os.setsid)

    def ready():
        try:
            return ask(where, "GET", "/v2/health/ready")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    server = start()
    wait_for("a server", ready, 30)
    wanted = [ask(where, "POST", path, *r)[1] for r in requests]

    def load(i):
        while not stop.is_set():
            k = i % len(requests)
            try:
                status, content, _ = ask(where, "POST", path, *requests[k])
                if status == 200 and content == wanted[k]:
                    right[0] += 1
                elif status == 200:
                    wrong.append(k)
                else:
                    errors[0] += 1
            except (OSError, http.client.HTTPException):
                errors[0] += 1
                time.sleep(0.02)
            i += 1

    threads = [threading.Thread(target=load, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for _ in range(2):
        time.sleep(0.7)
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        server = start()
        wait_for("a server again", ready, 30)
    time.sleep(0.5)
    stop.set()
    for t in threads:
        t.join()
    os.killpg(server.pid, signal.SIGTERM)
    must(server.wait() == 0, "the last server ends well")
    must(not wrong, "wrong answers: %r" % wrong)
    must(right[0] > 5 and errors[0] > 0, "%d right answers, %d errors" % (right[0], errors[0]))
    print("%d right, %d errors, none wrong" % (right[0], errors[0]))


def drained(where, model, pid):
    """SIGTERM: not ready, new requests are refused, accepted ones get their rows."""
    path = "/v2/models/%s/infer" % model
    answers, before = [], metric(where, "reid_images_total{")

    def one():
        body, headers = infer_body(16, 128)
        answers.append(ask(where, "POST", path, body, headers)[0])

    threads = [threading.Thread(target=one) for _ in range(10)]
    for t in threads:
        t.start()
    # In the order in which an image passes them, so that none is counted twice.
    wait_for("all were accepted", lambda: sum(metric(where, "reid_%s{" % stage) for stage in (
        "images_total", "computing_images", "waiting_images")) - before >= 160)
    os.kill(int(pid), signal.SIGTERM)
    try:
        wait_for("not ready", lambda: ask(where, "GET", "/v2/health/ready")[0] == 503, 5)
        must(ask(where, "GET", "/v2/health/live")[0] == 200, "it lives")
        body, headers = infer_body(1, 8)
        status, content, headers = ask(where, "POST", path, body, headers)
        must(status == 503 and b"stopping" in content, "new requests are refused: %r" % content)
    except (ConnectionError, FileNotFoundError, http.client.HTTPException):
        wait_for("it has ended", lambda: has_ended(pid))  # on a busy machine perhaps before it is asked
    for t in threads:
        t.join()
    must(answers == [200] * 10, "accepted ones were finished: %r" % answers)


def late(where, model, pid):
    """SIGTERM while clients continue to send requests, until the server no longer listens."""
    path, statuses = "/v2/models/%s/infer" % model, set()

    def load():
        try:
            while True:
                statuses.add(ask(where, "POST", path, *infer_body(4, 64))[0])
        except (OSError, http.client.HTTPException):
            pass

    threads = [threading.Thread(target=load) for _ in range(8)]
    for t in threads:
        t.start()
    wait_for("answers", lambda: 200 in statuses)
    os.kill(int(pid), signal.SIGTERM)
    for t in threads:
        t.join()
    must(statuses <= {200, 503}, "answers or refusals: %r" % statuses)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
