"""serve_models.py WHAT ARGUMENT...: clients of `reid serve` with several models, some of which come and go.

Standard library only; ends with 0 when the server did what it should."""
import json
import os
import signal
import sys
import threading

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from serve_faults import Unix, ask, metric, must, wait_for  # pylint: disable=wrong-import-position
from serve_reload import (  # pylint: disable=wrong-import-position
    put, read, reload_and_wait, row_of, send_half, send_rest)


def post(where, path, body=b"", connection=None):
    return ask(where, "POST", path, body, connection=connection)


def change(where, name, what):
    return post(where, "/v2/repository/models/%s/%s" % (name, what))


def index(where, body=b""):
    status, content, _ = post(where, "/v2/repository/index", body)
    must(status == 200, "the index: %d %s" % (status, content))
    return {m["name"]: m for m in json.loads(content)}


def embed(where, name, body, connection=None):
    return post(where, "/embed?model=" + name, body, connection)


def at_once(count, what):
    """Calls what(i) on so many threads; returns when all have ended."""
    threads = [threading.Thread(target=what, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    return threads


def join(threads):
    for t in threads:
        t.join()


def changes_under_load(where, pid, picture):
    """16 clients of two models while the second one is unloaded, loaded, loaded again and reloaded: none of the first
    model's requests is lost, and the second's are answered with its rows, or 503 while it is unloaded."""
    body, stop, wrong, pid = read(picture), threading.Event(), [], int(pid)
    names, counts, away = ["one", "two"], [0] * 16, [0]
    rows = {n: row_of(embed(where, n, body)[1]) for n in names}
    must(rows["one"] != rows["two"], "different models")

    def client(i):
        name, c = names[i % 2], Unix(where)
        while not stop.is_set():
            try:
                status, content, _ = embed(where, name, body, c)
            except OSError as e:
                wrong.append(repr(e))
                return
            if status == 503 and name == "two" and b"not loaded" in content:
                away[0] += 1
            elif status != 200 or row_of(content) != rows[name]:
                wrong.append("%s: %d %s" % (name, status, content[:200]))
                return
            counts[i] += 1

    threads = at_once(16, client)
    wait_for("every client has an answer", lambda: min(counts) > 0, 60)
    for _ in range(4):
        must(change(where, "two", "unload")[0] == 200, "unload")
        must(index(where)["two"]["state"] == "UNAVAILABLE", "it is gone")
        before = sum(counts[::2])
        wait_for("the other one goes on", lambda before=before: sum(counts[::2]) > before + 16, 60)
        must(change(where, "two", "load")[0] == 200, "load")
        must(index(where)["two"]["state"] == "READY", "it is back")
        must(change(where, "two", "load")[0] == 200, "load it anew")
        reload_and_wait(where, pid)
        before = sum(counts)
        wait_for("answers go on", lambda before=before: sum(counts) > before + 32, 60)
    stop.set()
    join(threads)
    must(not wrong, "%d wrong: %s" % (len(wrong), wrong[:2]))
    must(away[0] > 0, "requests for an unloaded model are refused")
    print("%d requests, %d of them refused" % (sum(counts), away[0]))


def in_flight(where, picture):
    """A request whose body is half sent is finished by the model, although it was unloaded meanwhile."""
    body = read(picture)
    was = row_of(embed(where, "two", body)[1])
    s = send_half(where, "/embed?model=two", body)
    must(change(where, "two", "unload")[0] == 200, "unload")
    must(embed(where, "two", body)[0] == 503, "new requests are refused")
    must(metric(where, 'reid_model_loaded{model="two"}') == 0, "it is not loaded")
    got = send_rest(s, body)
    must(got.startswith(b"HTTP/1.1 200") and row_of(got.split(b"\r\n\r\n", 1)[1]) == was, "its own row")
    must(change(where, "two", "load")[0] == 200, "load")
    must(row_of(embed(where, "two", body)[1]) == was, "the same row")


def failed(where, model, picture):
    """A model that cannot be read leaves everything as it was; the answer and the index say why."""
    body, good = read(picture), read(model)
    was = embed(where, "two", body)[1]
    put(model, good[:1000])
    status, content, _ = change(where, "two", "load")
    must(status == 400 and model.encode() in content, "why: %d %s" % (status, content))
    entry = index(where)["two"]
    must(entry["state"] == "READY" and model in entry["reason"], entry)
    must(embed(where, "two", body)[1] == was, "the old model answers")
    must(change(where, "two", "unload")[0] == 200, "unload")
    must(change(where, "two", "load")[0] == 400, "it fails again")
    must(index(where)["two"]["state"] == "UNAVAILABLE", "and is not there")
    must(ask(where, "GET", "/v2/models/two/ready")[0] == 503, "which its state says")
    must(ask(where, "GET", "/v2/health/ready")[0] == 200, "the server is ready all the same")
    put(model, good)
    must(change(where, "two", "load")[0] == 200, "load")
    must(embed(where, "two", body)[1] == was and index(where)["two"]["reason"] == "", "as before")
    must(metric(where, 'reid_model_changes_total{model="two",outcome="failed"}') == 2, "counted")


def hostile(where):
    """Bodies of the repository's paths."""
    load = "/v2/repository/models/two/load"
    for path, body, words in [
            ("/v2/repository/index", b"[]", "line 1"), ("/v2/repository/index", b'{"ready":1}', "true or false"),
            ("/v2/repository/index", b'{"ready":true,"ready":true}', "given twice"),
            ("/v2/repository/index", b'{"a":1}', "is unknown"), ("/v2/repository/index", b"{}x", "line 1"),
            (load, b"\xff", "line 1"), (load, b"{" * 10000, "line 1"), (load, b'{"parameters":[]}', "line 1"),
            (load, b'{"parameters":{},"parameters":{}}', "given twice"), (load, b'{"config":"x"}', "is unknown"),
            (load, b'{"parameters":{"config":"{}"}}', "not supported"),
            (load, b'{"parameters":{"file:1/a":"QQ=="}}', "not supported")]:
        status, content, _ = post(where, path, body)
        must(status == 400 and words in content.decode(), "%s %s: %d %s" % (path, body[:40], status, content))
    must(post(where, load, b'{"parameters":{"other":[1,{"a":null}]}}')[0] == 200, "others are ignored")
    for path, status in [("/v2/repository/models/none/load", 404), ("/v2/repository/models//load", 404),
                         ("/v2/repository/models/two", 404), ("/v2/repository/models/two/load/", 404),
                         ("/v2/repository/models/%2e%2e%2fx/load", 404), ("/v2/repository", 404)]:
        must(post(where, path)[0] == status, path)
    must(ask(where, "GET", load)[0] == 405, "only POST")


def first_at_once(where, picture):
    """8 first requests open the model once; requests to another one are answered meanwhile."""
    body, wrong, other = read(picture), [], []
    must(embed(where, "one", body)[0] == 200, "the other one")
    must(metric(where, "reid_model_loaded") == 1, "only that is open")

    def first(_):
        status, content, _ = embed(where, "two", body)
        if status != 200:
            wrong.append(content)

    threads = at_once(8, first)
    while any(t.is_alive() for t in threads):
        other.append(embed(where, "one", body)[0])
    join(threads)
    must(not wrong and set(other) <= {200}, "all are answered: %s" % wrong[:1])
    must(metric(where, 'reid_model_changes_total{model="two",outcome="opened"}') == 1, "it was opened once")
    must(index(where, b'{"ready":true}').keys() == {"one", "two", "three"}, "all are ready, open or not")


def room(where, limit, picture):
    """Three models in memory for two: idle ones are closed, and the limit always holds."""
    body, limit = read(picture), int(limit)
    for name in ["one", "two", "three", "one", "two", "two", "three"]:
        status, content, _ = embed(where, name, body)
        must(status == 200, "%s: %d %s" % (name, status, content[:300]))
        must(metric(where, "reid_model_memory_bytes") <= limit, "the limit")
        must(metric(where, "reid_model_loaded") <= 2, "two at most")
    must(metric(where, 'reid_model_changes_total{model="one",outcome="made_room"}') == 2, "one made room twice")
    wrong = []

    def client(i):
        for k in range(12):
            status, content, _ = embed(where, ["one", "two", "three"][(i + k) % 3], body)
            if status not in (200, 503) or (status == 503 and b"does not fit" not in content):
                wrong.append("%d %s" % (status, content[:200]))

    join(at_once(8, client))
    must(not wrong, wrong[:1])
    wait_for("the limit holds", lambda: metric(where, "reid_model_memory_bytes") <= limit)


def busy(where, picture):
    """Memory for one model, which is never idle: another one is refused, and answers soon after the load has ended."""
    body, stop, wrong, refused = read(picture), threading.Event(), [], []

    def client(_):
        c = Unix(where)
        while not stop.is_set():
            status, content, _ = embed(where, "one", body, c)
            if status != 200 and not (status == 503 and b"does not fit" in content):
                wrong.append("%d %s" % (status, content[:200]))

    must(embed(where, "one", body)[0] == 200, "the first")
    threads = at_once(8, client)
    for _ in range(10):
        status, content, _ = embed(where, "two", body)
        must(status == 200 or (status == 503 and b"model two does not fit: --memory allows" in content),
             "%d %s" % (status, content))
        refused.append(status == 503)
    must(metric(where, "reid_model_loaded") <= 1, "never two")
    stop.set()
    join(threads)
    must(not wrong and any(refused), "%s, %d refused" % (wrong[:1], sum(refused)))
    wait_for("it is opened when there is room", lambda: embed(where, "two", body)[0] == 200, 5)


def stops(where, pid, picture):
    """SIGTERM while a model is being opened: accepted requests are answered."""
    body, seen = read(picture), []

    def first(_):
        try:
            seen.append(embed(where, "three", body)[0])
        except OSError:
            seen.append("refused")

    threads = at_once(8, first)
    wait_for("some have come", lambda: seen or index(where)["three"]["state"] != "READY" or
             metric(where, 'reid_model_changes_total{model="three",outcome="opened"}') > 0)
    os.kill(int(pid), signal.SIGTERM)
    join(threads)
    must(len(seen) == 8 and set(seen) <= {200, 503, "refused"} and 200 in seen, str(seen))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
