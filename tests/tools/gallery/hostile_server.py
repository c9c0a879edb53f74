"""hostile_server.py EMBEDDINGS FAULT...: a server that speaks PostgreSQL's protocol and answers reid's queries as if it
held the gallery of EMBEDDINGS, an .npy file of `reid embed` from three images, except for one fault.

FAULT is one of
    none
    mute                      accepts connections and never sends a byte
    at WORD null ROW COLUMN   the answer to the statement that contains WORD has a NULL there
    at WORD bytes ROW COLUMN HEX
    at WORD columns           lacks the last column
    at WORD rows N            has its first row N times
    at WORD format            says that its columns are in the other format
    at WORD copy LETTER       begins a COPY of that kind: G, H or W
    at WORD wire HEX          is these bytes, and nothing after them
    at WORD error N           is an error of a message and a detail of N bytes each, in two-byte characters
    at WORD notices N         follows N notices of 3,000 bytes
    at WORD mute              never comes
    at WORD unprepared        never comes, nor does the reply to the Parse message before it
Prints its port. Standard library only."""
import json
import socket
import struct
import sys
import threading
import time

TEXT, BOOL, INT, BIGINT, REAL, TIME, BYTES = 25, 16, 23, 20, 701, 1184, 17
meta = json.load(open(sys.argv[1][:-4] + ".meta.json"))
ids = open(sys.argv[1][:-4] + ".ids.txt").read().split("\n")[:3]
model, dim = meta["models"][0], meta["dim"]
rows = open(sys.argv[1], "rb").read()[-3 * 4 * dim:]
fault = sys.argv[2:]


def template(i):
    return [(TEXT, ids[i]), (TEXT, "ann"), (TEXT, ""), (TIME, None), (TEXT, ids[i]), (BIGINT, 1000 + i),
            (BIGINT, 77 + i), (BYTES, rows[4 * dim * i:4 * dim * (i + 1)])]


ANSWERS = [  # a word of the statement, and its rows
    ("server_encoding", [[(TEXT, "UTF8"), (TEXT, "0.8.4"), (TEXT, "0.8.4"), (BOOL, "t")]]),
    ("reid.schema_version", [[(INT, 1), (BOOL, "t")]]),
    ("FROM reid.gallery g JOIN", [[
        (INT, 1), (REAL, 0.5), (TEXT, "fp32"), (TEXT, model["fingerprint"]), (TEXT, model["network"]),
        (TEXT, model["preset"]), (TEXT, model["precision"]), (INT, dim)] + [(TEXT, None)] * 4 +
        [(INT, None), (TEXT, "stb_image")]]),
    ("has_table_privilege", [[(BOOL, "t")]]),
    ("reid.writing", [[(TEXT, "00000000-0000-0000-0000-000000000001")]]),
    ("FROM (SELECT FROM reid.template", [[(BIGINT, 9000)]]),
    ("WITH c0", [template(i) + [(BIGINT, 3)] for i in range(3)]),
    ("= ANY ($1)", [template(0)]),
    ("WITH ORDINALITY n", [[(BIGINT, 1), (BIGINT, 1)]]),
    ("nextval", [[(BIGINT, 11)], [(BIGINT, 12)]]),
    ("RETURNING id, template_id", [[(TEXT, "b.png"), (BIGINT, 11)]]),
    ("FROM reid.decision", [[(BIGINT, 1), (TEXT, '{"seq": 1}')]]),
    ("SELECT i.name FROM", [[(TEXT, "ann")]]),
    ("RETURNING t.id", [[(TEXT, ids[0])]]),
    ("to_regclass", [[(BOOL, "t")]]),
    ("count(*)", [[(BIGINT, 0)]]),
]


def message(kind, content=b""):
    return kind + struct.pack(">I", len(content) + 4) + content


def encoded(kind, value, binary):
    if value is None:
        return None
    if kind == BYTES:
        return value
    return struct.pack(">q", value) if binary and kind in (BIGINT, TIME) else str(value).encode()


def fields(row):
    return struct.pack(">H", len(row)) + b"".join(
        struct.pack(">i", -1) if f is None else struct.pack(">I", len(f)) + f for f in row)


def damaged(table, statement):
    """Applies a fault that is for this statement to its encoded table. Returns the table, and 1 for a wrong format."""
    if not fault[:1] == ["at"] or fault[1] not in statement:
        return table, 0
    kind, more = fault[2], fault[3:]
    if kind == "null":
        table[int(more[0])][int(more[1])] = None
    elif kind == "bytes":
        table[int(more[0])][int(more[1])] = bytes.fromhex(more[2]) if len(more) > 2 else b""
    elif kind == "columns":
        table = [row[:-1] for row in table]
    elif kind == "rows":
        table = table[:1] * int(more[0])
    return table, kind == "format"


def is_here(statement, kind):
    return fault[:1] == ["at"] and fault[1] in statement and fault[2] == kind


def answer(statement, binary):
    """All messages of the answer to a prepared statement."""
    if is_here(statement, "copy"):
        return message(fault[3].encode(), b"\1\0\0")
    if is_here(statement, "wire"):
        return bytes.fromhex(fault[3])
    if is_here(statement, "error"):
        long = "\u00e4".encode() * (int(fault[3]) // 2)
        return message(b"E", b"SERROR\0" b"C22000\0" b"Mx" + long + b"\0D" + long + b"\0\0")
    if is_here(statement, "notices"):
        notice = message(b"N", b"SNOTICE\0" b"C00000\0" b"M" + b"y" * 3000 + b"\0\0")
        fault[2:] = ["none"] + fault[3:]
        return notice * int(fault[3]) + answer(statement, binary)
    found = next((rows for word, rows in ANSWERS if word in statement), None)
    if found is None:
        return message(b"n") + message(b"C", b"SELECT 0\0")
    kinds = [kind for kind, _ in found[0]]
    table, other = damaged([[encoded(k, v, binary) for k, v in row] for row in found], statement)
    if is_here(statement, "columns"):
        kinds = kinds[:-1]
    head = struct.pack(">H", len(kinds)) + b"".join(
        b"column%d\0" % i + struct.pack(">IHIhih", 0, 0, kind, -1, -1, binary ^ other) for i, kind in enumerate(kinds))
    return message(b"T", head) + b"".join(message(b"D", fields(row)) for row in table) + message(b"C", b"SELECT 1\0")


def copied(statement):
    """All messages of COPY ... TO STDOUT."""
    table = [[encoded(kind, value, 1) for kind, value in template(i)] for i in range(3)]
    if "e0.row" not in statement:
        table = [row[:7] for row in table]
    if ".half" in statement:
        table = [row + [b"\0" * (4 + 2 * dim)] for row in table]
    table, _ = damaged(table, statement)
    stream = b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"".join(map(fields, table)) + b"\xff\xff"
    if is_here(statement, "wire"):
        stream = bytes.fromhex(fault[3])
    pieces = b"".join(message(b"d", stream[i:i + 5000]) for i in range(0, len(stream), 5000))
    return message(b"H", b"\1\0\0") + pieces + message(b"c") + message(b"C", b"COPY 3\0")


def simple(statement):
    """The answer to statements in one text."""
    if statement.startswith("COPY ("):
        return copied(statement) + message(b"Z", b"I")
    if statement.startswith("COPY "):
        return message(b"G", b"\1\0\0")
    if is_here(statement, "copy"):
        return message(fault[3].encode(), b"\1\0\0")
    return message(b"C", b"OK\0") * (statement.count(";") + 1) + message(b"Z", b"I")


def serve(client):
    def read(n):
        got = b""
        while len(got) < n:
            more = client.recv(n - len(got))
            if not more:
                raise EOFError
            got += more
        return got

    def read_message():
        return read(struct.unpack(">I", read(4))[0] - 4)

    read_message()
    if fault == ["mute"]:
        time.sleep(600)
    client.sendall(message(b"R", struct.pack(">I", 0)) + message(b"S", b"server_version\0" b"18.4\0") +
                   message(b"K", bytes(8)) + message(b"Z", b"I"))
    statements, statement, binary, out = {}, "", 0, b""
    while True:
        kind, content = read(1), read_message()
        if kind == b"X":
            return
        if kind == b"P":
            name, sql = content.split(b"\0")[:2]
            statements[name] = sql.decode()
            if is_here(statements[name], "unprepared"):
                time.sleep(600)
            out += message(b"1")
        elif kind == b"B":
            statement, binary = statements[content.split(b"\0")[1]], content[-1]
            out += message(b"2")
        elif kind == b"E":
            out += answer(statement, binary)
        elif kind in (b"S", b"Q", b"c"):
            if kind == b"Q":
                statement = content[:-1].decode()
                out = simple(statement)
            elif kind == b"c":
                out = message(b"C", b"COPY 1\0") + message(b"Z", b"I")
            elif not is_here(statement, "wire"):
                out += message(b"Z", b"I")
            if is_here(statement, "mute"):
                time.sleep(600)
            client.sendall(out)
            out = b""


def serve_until_end(client):
    try:
        serve(client)
    except (EOFError, OSError):
        pass
    client.close()


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(20)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve_until_end, args=(listener.accept()[0],), daemon=True).start()
