"""serve_reload.py WHAT ARGUMENT...: clients of `reid serve` while it reloads (SIGHUP).

Standard library only; ends with 0 when the server did what it should."""
import json
import os
import signal
import sys
import threading

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from serve_faults import Unix, ask, connect, metric, must, wait_for  # pylint: disable=wrong-import-position


def row_of(content):
    return json.loads(content)["embeddings"][0]


def reload_and_wait(where, pid, outcome="done"):
    name = 'reid_reloads_total{outcome="%s"}' % outcome
    before = metric(where, name)
    os.kill(pid, signal.SIGHUP)
    wait_for("a reload that is " + outcome, lambda: metric(where, name) > before, 60)


def put(path, content):
    """Replaces a file as careful programs do, so that nobody sees half of it."""
    with open(path + ".new", "wb") as f:
        f.write(content)
    os.rename(path + ".new", path)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def send_half(where, target, body):
    """The connection of a request of which the server has 100 bytes of the body."""
    s = connect(where)
    s.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
              % (target.encode(), len(body)) + body[:100])
    wait_for("the half has arrived", lambda: metric(where, "reid_body_bytes") == 100)
    return s


def send_rest(s, body):
    """Sends what send_half has left, and returns the whole answer."""
    s.sendall(body[100:])
    got = b""
    while more := s.recv(65536):
        got += more
    return got


def under_load(where, pid, model, other, picture):
    """32 clients while the model is replaced again and again: none loses a request, and every row is one model's."""
    clients, reloads, pid = 32, 5, int(pid)
    versions = [read(model), read(other)]
    body, stop, lost, seen = read(picture), threading.Event(), [], set()
    counts = [0] * clients

    def client(i):
        c = Unix(where)
        while not stop.is_set():
            try:
                status, content, _ = ask(where, "POST", "/embed", body, connection=c)
            except OSError as e:
                lost.append(repr(e))
                return
            if status != 200:
                lost.append("%d %s" % (status, content))
                return
            seen.add(json.loads(content)["fingerprint"] + str(row_of(content)[:4]))
            counts[i] += 1
        c.close()

    threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
    for t in threads:
        t.start()
    wait_for("every client has an answer", lambda: min(counts) > 0, 60)
    for i in range(reloads):
        put(model, versions[(i + 1) % 2])
        before = sum(counts)
        reload_and_wait(where, pid)
        wait_for("answers go on", lambda before=before: sum(counts) > before + clients, 60)
    stop.set()
    for t in threads:
        t.join()
    must(not lost, "%d lost: %s" % (len(lost), lost[:2]))
    must(len(seen) == 2, "rows of %d models" % len(seen))
    print("%d requests over %d reloads" % (sum(counts), reloads))


def in_flight(where, pid, model, other, picture):
    """A request whose body is half sent is finished by the model that was there when it began."""
    body = read(picture)
    was = row_of(ask(where, "POST", "/embed", body)[1])
    s = send_half(where, "/embed", body)
    put(model, read(other))
    reload_and_wait(where, int(pid))
    now = row_of(ask(where, "POST", "/embed", body)[1])
    must(now != was, "the new model answers new requests")
    got = send_rest(s, body)
    must(got.startswith(b"HTTP/1.1 200") and row_of(got.split(b"\r\n\r\n", 1)[1]) == was, "the old one its own")


def failed(where, pid, model, picture):
    """A model that cannot be read leaves everything as it was."""
    body, good = read(picture), read(model)
    was = ask(where, "POST", "/embed", body)[1]
    put(model, good[:1000])
    reload_and_wait(where, int(pid), "failed")
    must(ask(where, "POST", "/embed", body)[1] == was, "the old model answers")
    put(model, good)
    reload_and_wait(where, int(pid))
    must(ask(where, "POST", "/embed", body)[1] == was, "the restored one, too")


def memory(where, pid):
    """Reloads do not make the process larger."""
    before = metric(where, "process_resident_memory_bytes")
    for _ in range(8):
        reload_and_wait(where, int(pid))
    wait_for("memory is given back", lambda: metric(where, "process_resident_memory_bytes") < before * 1.3)


def plain(where, pid):
    reload_and_wait(where, int(pid))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
