# ready.sh: waiting for a server that a test has started. Sourced from the top of the repository.

# ready COMMAND...: waits until it succeeds; returns 1 if the server $server ends first, or after a minute
ready() {
    for _ in $(seq 1200); do
        "$@" && return
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}
