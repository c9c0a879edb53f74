# t_serve_socket.sh: reid serve with sockets that it inherits, as systemd passes them: a Unix socket with a mode of its
# own, one of TCP, both; sockets that do not listen are refused; none is removed at the end.
. tests/lib/cli_lib.sh
. "$repository/tests/lib/serve_lib.sh"
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
b0 b0.safetensors
cat >pass.py <<'PYTHON'
"""pass.py SOCKETS COMMAND...: SOCKETS is a list like unix:PATH,tcp:127.0.0.1,udp:127.0.0.1,idle:127.0.0.1"""
import os
import socket
import sys

made = []
for word in sys.argv[1].split(","):
    kind, where = word.split(":", 1)
    family = socket.AF_UNIX if kind == "unix" else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
    s.bind(where if kind == "unix" else (where, 0))
    if kind == "unix":
        os.chmod(where, 0o666)
    if kind in ("unix", "tcp"):
        s.listen(16)
    made.append(s)
copies = [os.dup(s.fileno()) + 0 for s in made]
for i, fd in enumerate(copies):
    os.dup2(os.dup(fd), 60 + i)
for i in range(len(copies)):
    os.dup2(60 + i, 3 + i, inheritable=True)
os.environ.update(LISTEN_FDS=str(len(copies)), LISTEN_PID=os.environ.get("OTHER_PID", str(os.getpid())))
os.execv(sys.argv[2], sys.argv[2:])
PYTHON
passed() { # passed SOCKETS OPTION...
    sockets=$1
    shift
    : >"$log"
    rm -f "$socket"
    : >"$log" # so that an earlier server's line is not taken for this one's
    python3 pass.py "$sockets" "$REID" serve -m b0.safetensors --size 32x32 "$@" 2>"$log" &
    server=$!
    ready grep -q 'listening on' "$log" || check "a server" grep listening "$log"
}
refused() { # refused PATTERN SOCKETS OPTION...
    told=$1 sockets=$2
    shift 2
    rm -f "$socket"
    python3 pass.py "$sockets" "$REID" serve -m b0.safetensors --size 32x32 "$@" >"$out" 2>"$err"
    check "exit 2" [ $? = 2 ]
    says "$told"
}
passed "unix:$socket"
check "it is said" grep -q 'listening on unix:(passed by systemd)$' "$log"
ask 200 '"live": true' $url/livez
check "its mode" [ "$(stat -c %a "$socket")" = 666 ]
end TERM
check "it stays" [ -S "$socket" ]
passed "unix:$socket,tcp:127.0.0.1"
ask 200 '"live": true' $url/livez
tcp=$(sed -n 's|.*systemd) and http://||p' "$log")
check "TCP, too" sh -c "curl -s http://$tcp/livez | grep -q true"
end TERM
printf '0123456789abcdef\n' >token && chmod 600 token
passed tcp:0.0.0.0 --token-file token
tcp=127.0.0.1:$(sed -n 's|.*http://0.0.0.0:||p' "$log")
check "a token is needed" [ "$(curl -s -o "$out" -w '%{http_code}' "http://$tcp/v2")" = 401 ]
end TERM
refused 'systemd: other machines could connect: give --token-file' tcp:0.0.0.0
refused 'systemd has passed a socket: remove --socket and --listen' tcp:127.0.0.1 --listen 127.0.0.1:0
refused 'systemd: socket 1 is not a listening stream socket; expected ListenStream=' udp:127.0.0.1
refused 'systemd: socket 2 is not a listening stream socket' "unix:$socket,idle:127.0.0.1"
refused 'systemd: socket 2 is the second of its kind' tcp:127.0.0.1,tcp:127.0.0.1
refused 'systemd: more than 2 sockets' "unix:$socket,tcp:127.0.0.1,tcp:127.0.0.1"
# Sockets of another process are not ours.
rm -f "$socket"
OTHER_PID=1 passed tcp:127.0.0.1
check "its own" grep -q "listening on unix:$socket" "$log"
end TERM
finish
