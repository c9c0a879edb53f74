# serve_lib.sh: code shared by the tests of reid serve, sourced after cli_lib.sh. Skips the test without curl or
# libmicrohttpd. The server whose process is $server is killed and $work removed at the end; a server's messages go to
# $log, and curl finds it at $socket as $url.
command -v curl >/dev/null 2>&1 || { echo "no curl here"; exit 77; }
"$REID" serve -m x --socket s 2>&1 | grep -q 'compiled without libmicrohttpd' &&
    { echo "no libmicrohttpd here"; exit 77; }
server=
stop() { [ -z "$server" ] || kill -9 "$server" 2>/dev/null; rm -rf "$work"; }
trap stop EXIT
export XDG_RUNTIME_DIR=$work
log=$work/log url=http://localhost socket=$work/reid.sock
