"""Clients of reid serve by TLS, for t_serve_tls.sh: serve_tls.py HOST:PORT CA.pem PID PICTURE, or PID reload OLD NEW:
a SIGHUP replaces the certificate of OLD by that of NEW."""
import http.client
import os
import signal
import socket
import ssl
import sys
import threading
import time

address, ca, pid = sys.argv[1], sys.argv[2], int(sys.argv[3])
host, port = address.rsplit(":", 1)
HEADERS = {"Authorization": "Bearer 0123456789abcdef"}
context = ssl.create_default_context(cafile=ca)


def connect():
    connection = http.client.HTTPSConnection(host, int(port), timeout=30, context=context)
    connection.connect()
    return connection


def name(connection):
    return dict(x[0] for x in connection.sock.getpeercert()["subject"])["commonName"]


def get(connection, path="/v2"):
    connection.request("GET", path, headers=HEADERS)
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200, (answer.status, body)
    return body


def until(what, holds):
    for _ in range(400):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError(what)


def fresh_name():
    connection = connect()
    found = name(connection)
    connection.close()
    return found


if sys.argv[4] == "reload":
    old, new = sys.argv[5:]
    first = connect()
    assert name(first) == old and get(first)
    # Handshakes that have begun when the certificate is replaced, and then go on.
    half = []
    for _ in range(8):
        raw = socket.create_connection((host, int(port)))
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        try:
            session.do_handshake()
        except ssl.SSLWantReadError:
            pass
        hello = outgoing.read()
        raw.sendall(hello[:40])
        half.append((raw, session, incoming, outgoing, hello[40:]))
    os.kill(pid, signal.SIGHUP)
    until("the new certificate", lambda: fresh_name() == new)
    assert get(first), "the connection with the old certificate goes on"
    for raw, session, incoming, outgoing, rest in half:
        raw.sendall(rest)
        while True:
            try:
                session.do_handshake()
                break
            except ssl.SSLWantReadError:
                raw.sendall(outgoing.read())
                data = raw.recv(65536)
                assert data, "a handshake that had begun was cut off"
                incoming.write(data)
        raw.close()
    sys.exit()

# Many at once, each with several requests on its connection.
image = open(sys.argv[4], "rb").read()
wrong, answers = [], set()


def work():
    try:
        connection = connect()
        for _ in range(6):
            connection.request("POST", "/embed", image, HEADERS)
            answer = connection.getresponse()
            answers.add(answer.read())
            assert answer.status == 200
    except Exception as e:  # reported by the main thread
        wrong.append(repr(e))


threads = [threading.Thread(target=work) for _ in range(24)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong and len(answers) == 1, wrong

# A client that never completes its handshake, and one that sends what is not TLS, are left; others are served.
silent, noise = (socket.create_connection((host, int(port))) for _ in range(2))
noise.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
slow = connect()
slow.sock.sendall(b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n" +
                  b"Authorization: Bearer 0123456789abcdef\r\n\r\nab")
assert get(connect())
start = time.time()
for quiet in silent, noise:
    quiet.settimeout(20)
    try:
        while quiet.recv(4096):
            pass
    except ConnectionResetError:
        pass
assert time.time() - start < 15
# The refusal of a slow request arrives inside the session.
slow.sock.settimeout(20)
answer = b""
try:
    while True:
        piece = slow.sock.recv(4096)
        if not piece:
            break
        answer += piece
except (ssl.SSLError, ConnectionResetError):
    pass
assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n") and b"arrived too slowly" in answer, answer
# Clients that leave in the middle of a request.
for _ in range(20):
    gone = connect()
    gone.request("POST", "/embed", image, HEADERS)
    gone.sock.close()
assert get(connect())
