"""serve_log.py WHAT ARGUMENT...: what `reid serve` writes about requests: --access-log, --trace, X-Request-ID.

Standard library only; ends with 0 when the server did what it should."""
import json
import os
import re
import signal
import sys
import threading
import time

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from serve_faults import Unix, ask, connect, metric, must, raw, wait_for  # pylint: disable=wrong-import-position

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SECRET = "0123456789abcdef"


def lines_of(path):
    with open(path, encoding="ascii") as f:
        return [json.loads(line) for line in f]


def line_of(path, key, value, seconds=10):
    """The only line with this value, as soon as it is there."""
    found = []
    wait_for("a line with %s %s" % (key, value),
             lambda: found.extend(e for e in lines_of(path) if e.get(key) == value) or found, seconds)
    must(len(found) == 1, "one line with %s, not %d" % (value, len(found)))
    return found[0]


def tell(where, ident, method, path, body=None, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return ask(where, method, path, body, {"X-Request-ID": ident, **headers})


def lines(where, tcp, log, picture):
    """Each kind of request has a line with what is known about it."""
    image = open(picture, "rb").read()
    status, content, headers = tell(where, "one", "POST", "/embed?box=1,1,20,20&box=2,2,20,20&priority=0", image,
                                    traceparent="00-%s-00f067aa0ba902b7-01" % TRACE)
    must(status == 200 and headers["X-Request-ID"] == "one", "the id is returned")
    e = line_of(log, "id", "one")
    must(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ", e["time"]), e["time"])
    must(abs(time.time() - __import__("calendar").timegm(time.strptime(e["time"][:19], "%Y-%m-%dT%H:%M:%S"))) < 60,
         "UTC")
    wanted = {"trace": TRACE, "client": "unix", "method": "POST", "path": "/embed", "model": "b0", "images": 2,
              "bytes": len(image), "sent": len(content), "status": 200, "batch": 2}
    must({k: e.get(k) for k in wanted} == wanted, "%s instead of %s" % (e, wanted))
    must(0 < e["compute_ms"] < e["ms"] and 0 <= e["queue_ms"] < e["ms"], "times: %s" % e)
    must(set(e) == set(wanted) | {"time", "id", "ms", "queue_ms", "compute_ms"}, "members: %s" % sorted(e))

    tell(where, "two", "POST", "/match", image)
    must(line_of(log, "id", "two")["model"] == "b0", "match")
    tell(where, "three", "GET", "/v2/models/b0")
    e = line_of(log, "id", "three")
    must(e["model"] == "b0" and "images" not in e and "queue_ms" not in e, "no images: %s" % e)
    tell(where, "four", "POST", "/v2/models/b0/infer", b"{}")
    e = line_of(log, "id", "four")
    must(e["status"] == 400 and e["images"] == 0 and "batch" not in e, "refused: %s" % e)
    tell(where, "five", "GET", "/" + "n" * 1000 + "?token=" + SECRET)
    must(line_of(log, "id", "five")["path"] == "/" + "n" * 255, "a long path is cut")
    raw(where, b"GET /\"\\%00\x7f\xff HTTP/1.1\r\nHost: x\r\nX-Request-ID: six\r\nConnection: close\r\n\r\n")
    must(line_of(log, "id", "six")["path"] == "/\"\\%00\x7f\udcff", "a hostile path")

    # Tokens: the name is told, the secret never.
    ask_tcp = lambda ident, token: raw(tcp, b"GET /v2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-ID: " +
                                       ident + b"\r\nAuthorization: Bearer " + token + b"\r\n\r\n")
    ask_tcp(b"seven", SECRET.encode())
    e = line_of(log, "id", "seven")
    must(e["token"] == "deer" and e["client"].startswith("127.0.0.1:") and e["status"] == 200, e)
    ask_tcp(b"eight", SECRET.encode() + b"x")
    e = line_of(log, "id", "eight")
    must("token" not in e and e["status"] == 401, e)

    # Ids that are not printable, too long or missing are replaced; a traceparent that is invalid is left out.
    made = []
    for bad in ["a b", "\xe9", "x" * 129, "", None]:
        headers = {"X-Request-ID": bad} if bad is not None else {}
        made.append(ask(where, "GET", "/v2", headers=headers)[2]["X-Request-ID"])
        must(re.fullmatch("[0-9a-f]{16}", made[-1]), "made: %s" % made[-1])
    must(len(set(made)) == len(made) and all("trace" not in line_of(log, "id", m) for m in made), "different ids")
    must(ask(where, "GET", "/v2", headers={"X-Request-ID": "y" * 128})[2]["X-Request-ID"] == "y" * 128, "the longest")
    invalid = ["00-%s-00f067aa0ba902b7-0" % TRACE, "00-%s-0000000000000000-01" % TRACE,
               "00-%s-00f067aa0ba902b7-01" % ("0" * 32), "ff-%s-00f067aa0ba902b7-01" % TRACE,
               "00-%s-00f067aa0ba902b7-01" % TRACE.upper(), "00-%s-00f067aa0ba902b7-01-x" % TRACE,
               "00_%s-00f067aa0ba902b7-01" % TRACE, "", "00-"]
    for i, bad in enumerate(invalid):
        tell(where, "bad%d" % i, "GET", "/v2", traceparent=bad)
    must(all("trace" not in line_of(log, "id", "bad%d" % i) for i in range(len(invalid))), "invalid traceparents")
    tell(where, "later", "GET", "/v2", traceparent="01-%s-00f067aa0ba902b7-01-more" % TRACE)
    must(line_of(log, "id", "later")["trace"] == TRACE, "a later version")

    # What gets no regular answer.
    raw(where, b"GET /v2 HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 250000 + b"\r\n\r\n")
    must("id" not in line_of(log, "status", 431), "large header fields, which libmicrohttpd refuses")
    raw(where, b"GET /?" + b"a&" * 20000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    must("path" in line_of(log, "status", 414), "a long URL")
    s = connect(where)
    s.sendall(b"POST /embed HTTP/1.1\r\nHost: localhost\r\nX-Request-ID: gone\r\nContent-Length: 9\r\n\r\nabc")
    wait_for("it has arrived", lambda: metric(where, "reid_body_bytes") == 3)
    s.close()
    e = line_of(log, "id", "gone")
    must(e["status"] == 499 and e["bytes"] == 3, "a client that has gone: %s" % e)
    s = connect(where)
    s.sendall(b"POST /embed HTTP/1.1\r\nHost: localhost\r\nX-Request-ID: slow\r\nContent-Length: 9\r\n\r\nabc")
    must(line_of(log, "id", "slow", 20)["status"] == 408, "a slow client")
    s.close()
    must(SECRET not in open(log, encoding="ascii").read(), "the secret")


def rotated(where, pid, log):
    """No line is lost while the file is renamed and opened again under load."""
    stop, counts = threading.Event(), [0] * 4

    def client(i):
        c = Unix(where)
        while not stop.is_set():
            must(ask(where, "GET", "/v2", headers={"X-Request-ID": "r%d-%d" % (i, counts[i])},
                     connection=c)[0] == 200, "an answer")
            counts[i] += 1
        c.close()

    threads = [threading.Thread(target=client, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for k in range(5):
        time.sleep(0.1)
        os.rename(log, "%s.%d" % (log, k))
        os.kill(int(pid), signal.SIGUSR1)
        wait_for("a new file", lambda: os.path.exists(log))
    stop.set()
    for t in threads:
        t.join()
    wanted = {"r%d-%d" % (i, n) for i in range(4) for n in range(counts[i])}
    files = ["%s.%d" % (log, k) for k in range(5)] + [log]
    wait_for("all lines", lambda: wanted <= {e.get("id") for f in files for e in lines_of(f)})
    all_ids = [e["id"] for f in files for e in lines_of(f) if e.get("id") in wanted]
    must(len(all_ids) == len(wanted), "no line comes twice")
    must(sum(1 for f in files if lines_of(f)) > 2, "several files have lines")
    print(len(wanted), "lines")


def stalled(where):
    """A reader of stdout that takes nothing holds up no request; what cannot be kept is counted."""
    at_once = 100
    request = b"GET /v2 HTTP/1.1\r\nHost: x\r\nX-Request-ID: " + b"\\" * 128 + b"\r\n\r\n"
    s = connect(where)
    end = time.time() + 60
    while metric(where, "reid_access_log_dropped_total") == 0 and time.time() < end:
        for _ in range(20):
            s.sendall(request * at_once)
            got = b""
            while got.count(b"HTTP/1.1 200") < at_once:
                more = s.recv(1 << 20)
                must(more, "answers")
                got += more
    must(metric(where, "reid_access_log_dropped_total") > 0, "dropped lines are counted")


def torn(where, pid, log):
    """A file that may not grow: the lines that are lost are counted, the broken one among them, and no others; when it
    may grow again, the next line is whole."""
    import resource
    asked = 20
    for n in range(asked):
        must(ask(where, "GET", "/v2", headers={"X-Request-ID": "t%d" % n})[0] == 200, "an answer")
        time.sleep(0.12)  # each line is written for itself
    time.sleep(0.5)
    data = open(log, "rb").read()
    whole = data.count(b"\n")
    must(1 < whole < asked - 1 and not data.endswith(b"\n"), data[-80:])
    lost = metric(where, "reid_access_log_dropped_total")
    must(lost == asked - whole, "%d lines are counted as lost, not %d" % (lost, asked - whole))
    resource.prlimit(int(pid), resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    ask(where, "GET", "/v2", headers={"X-Request-ID": "last"})
    wait_for("the last line", lambda: b'"last"' in open(log, "rb").read())
    lines = open(log, "rb").read().split(b"\n")
    must(any(json.loads(line)["id"] == "last" for line in lines if b'"last"' in line), lines[-2:])


def traced(trace, ident):
    events = json.load(open(trace, encoding="utf-8"))["traceEvents"]
    begin = [e for e in events if e.get("args", {}).get("id") == ident]
    must(len(begin) == 1 and begin[0]["args"]["trace"] == TRACE and begin[0]["args"]["status"] == 200, begin)
    own = [e for e in events if e.get("id") == begin[0]["id"]]
    at = {(e["ph"], e["name"]): e["ts"] for e in own}
    name = begin[0]["name"]
    order = [at["b", name], at["b", "wait for a batch"], at["e", "wait for a batch"], at["b", "compute"],
             at["e", "compute"], at["e", name]]
    must(len(own) == 6 and order == sorted(order), "the stages follow each other: %s" % own)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
