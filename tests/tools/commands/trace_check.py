"""Checks a trace of reid: strict JSON whose events fit together, and in which Perfetto's trace processor finds them.

    trace_check.py TRACE.json PICTURES FAILED ROWS THREADS LAST [FOLDER]

The trace has PICTURES images, of which FAILED have no embedding, and ROWS rows; THREADS threads decode; LAST is the
last step of a row. FOLDER has Perfetto's page, whose trace processor (trace_processor.js) is asked about the trace,
through the client of Perfetto's own Python package.
"""
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict


def strict(path):
    def no_constant(name):
        raise ValueError(name)

    def no_twice(pairs):
        assert len({k for k, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    with open(path, encoding="utf-8") as f:
        return json.load(f, parse_constant=no_constant, object_pairs_hook=no_twice)["traceEvents"]


def check_slices(events):
    """Slices of a thread follow each other or are nested; every thread has a name. Returns counts by name."""
    named = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    threads = defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            threads[e["tid"]].append((round(1000 * e["ts"]), -round(1000 * e["dur"]), e["name"]))
    assert set(threads) <= set(named), (set(threads), named)
    for slices in threads.values():
        ends = []
        for begin, less, name in sorted(slices):
            while ends and ends[-1] <= begin:
                ends.pop()
            assert less <= 0 and (not ends or begin - less <= ends[-1]), (name, begin, less, ends)
            ends.append(begin - less)
    return named, Counter(e["name"] for e in events if e["ph"] == "X")


def check_pictures(events, last):
    """Every begin has its end, in order; returns the names of images, and those that failed."""
    things = defaultdict(list)
    for e in events:
        if e["ph"] in "bne":
            assert e["cat"] == "picture"
            things[e["id"]].append(e)
    pictures, failed = [], []
    for one in things.values():
        open_stages, seen, at = [], [], 0
        for e in one:
            assert e["ts"] >= at, (e, at)
            at = e["ts"] if e["name"] != "failed" else at
            if e["ph"] == "b":
                open_stages.append(e["name"])
                seen.append(e["name"])
            elif e["ph"] == "e":
                name = open_stages.pop()
                assert name == e["name"], (name, e)
            elif e["name"] == "failed":
                assert e["args"]["why"]
        assert not open_stages, one
        pictures.append(seen[0])
        if any(e["name"] == "failed" for e in one):
            failed.append(seen[0])
        else:
            wanted = ["read", "wait for room", "decode", "resize", "wait", "compute", last]
            if "resize" not in seen:  # an image that is smaller than the network's input, or more than one model
                wanted.remove("resize")
            assert seen[1:len(wanted) - 1] == wanted[:-2] and set(seen[len(wanted) - 1:]) == set(wanted[-2:]), seen
    return pictures, failed


def check_operations(events):
    """Operations lie in the slice that says how they were measured, and fill no more than it."""
    outer = [e for e in events if e["ph"] == "X" and e["name"] == "operations, again on noise"]
    inner = [e for e in events if e["ph"] == "X" and "kind" in e.get("args", {})]
    assert outer and len(inner) % len(outer) == 0 and len(inner) / len(outer) > 40, (len(outer), len(inner))
    for o in outer:
        mine = [e for e in inner if o["ts"] <= e["ts"] and e["ts"] + e["dur"] <= o["ts"] + o["dur"] + 0.002]
        assert len(mine) == len(inner) / len(outer), (o, len(mine))
        assert 0 < sum(e["dur"] for e in mine) <= o["dur"]
        assert all(e["args"]["multiply-adds"] % o["args"]["images"] == 0 for e in mine)
    return len(outer)


class Processor:
    """Perfetto's trace processor, by its own client."""

    def __init__(self, folder):
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory
        from perfetto.trace_processor.rpc import TraceProcessorRpc
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trace_processor.js")
        self.node = subprocess.Popen(["node", script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.protos = ProtoFactory(PlatformDelegate())
        self.rpc = TraceProcessorRpc(self, self.protos)

    def send(self, data):
        self.node.stdin.write(data)
        self.node.stdin.flush()

    def read(self, n):
        data = self.node.stdout.read(n)
        if len(data) < n:
            raise ConnectionError("the trace processor has ended")
        return data

    def close(self):
        self.node.stdin.close()
        self.node.stdout.close()
        assert self.node.wait() == 0

    def tell(self, what, data=None):
        stream = self.protos.TraceProcessorRpcStream()
        message = stream.msg.add()
        message.request = getattr(self.protos.TraceProcessorRpc, what)
        if data is not None:
            message.append_trace_data = data
        self.send(stream.SerializeToString())
        answer = self.protos.TraceProcessorRpc()
        answer.MergeFromString(self.rpc._read_payload())
        assert not answer.append_result.error and not answer.finalize_data_result.error, answer

    def load(self, path):
        with open(path, "rb") as f:
            self.tell("TPM_APPEND_TRACE_DATA", f.read())
        self.tell("TPM_FINALIZE_TRACE_DATA")

    def query(self, sql):
        from perfetto.common.query_result_iterator import QueryResultIterator
        result = self.rpc.execute_query(sql)
        assert not result.error, result.error
        return list(QueryResultIterator(result.column_names, result.batch))


def check_perfetto(path, folder, pictures, slices, threads):
    processor = Processor(folder)
    processor.load(path)
    errors = processor.query("select name, value from stats where severity in ('error', 'data_loss') and value > 0")
    assert not errors, [(e.name, e.value) for e in errors]
    found = Counter(r.name for r in processor.query("select name from slice where category = 'picture' and depth = 0"))
    assert found == Counter(pictures), (found, pictures)
    for name, count in slices.items():
        sql = "select count(*) as n from slice join thread_track t on slice.track_id = t.id where slice.name = "
        got = processor.query(sql + "'" + name.replace("'", "''") + "'")[0].n
        assert got == count, (name, got, count)
    unfinished = processor.query("select count(*) as n from slice where dur < 0")[0].n
    assert unfinished == 0, unfinished
    named = {r.name for r in processor.query("select name from thread where name is not null")}
    assert set(threads.values()) <= named, (threads, named)
    counters = {r.name for r in processor.query("select distinct name from counter_track")}
    assert {"bytes process", "bytes pictures", "bytes models", "decoded images waiting"} <= counters, counters
    processor.close()


def main():
    path, last = sys.argv[1], sys.argv[6]
    pictures_wanted, failed_wanted, rows, decoders = map(int, sys.argv[2:6])
    events = strict(path)
    threads, slices = check_slices(events)
    assert sum(t < 1000 for t in threads) == decoders + 1 and threads[1] == "compute, " + last, threads
    pictures, failed = check_pictures(events, last)
    assert len(pictures) == pictures_wanted and len(failed) == failed_wanted, (pictures, failed)
    out = sum(e["args"]["rows"] for e in events if e["ph"] == "X" and e["name"] == last)
    computed = sum(e["args"]["images"] for e in events if e["ph"] == "X" and e["name"] == "compute")
    assert out == rows and computed >= rows - failed_wanted, (out, computed)
    measured = check_operations(events)  # of batches that were computed at the first try
    assert measured == min(3, slices["compute"]) or (failed_wanted and 0 < measured < 3), slices
    memory = [e["args"] for e in events if e["ph"] == "C" and e["name"] == "bytes"]
    assert memory and all(m["process"] > m["models"] > 0 for m in memory) and memory[-1]["pictures"] == 0, memory
    if len(sys.argv) > 7:
        check_perfetto(path, sys.argv[7], pictures, slices, threads)


if __name__ == "__main__":
    main()
