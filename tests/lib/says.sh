# says.sh: comparisons of messages, which `sh tests/run --write` renews (tests/README.md); for cli_lib.sh and check.sh.

# holds COMMAND...: runs it. A command `grep -q PATTERN FILE` compares a message.
holds() {
    case $1${REID_WRITE:+ is recorded} in
    'grep is recorded') shift && record_message "$@" ;;
    *) "$@" ;;
    esac
}
shows() { holds grep -q -e "$1" "$2"; } # shows PATTERN FILE

# record_message ARGUMENT...: of grep -q. Writes a record for tests/lib/renew.py and succeeds, so that the test goes on.
# With REID_WRITE tests run in bash, which knows the callers.
record_message() (
    state=differs lines=400
    grep "$@" && state=held lines=40
    kind=bre
    while :; do
        option=$1
        shift
        case $option in
        -e | --) pattern=$1 && shift && break ;;
        -*x*) [ $state = held ] && return || return 1 ;; # a whole line of data
        -*F*) kind=fixed ;;
        -*E*) kind=ere ;;
        -*) ;;
        *) pattern=$option && break ;;
        esac
    done
    record=$(
        echo "record $kind $state"
        eval 'for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do echo "at ${BASH_SOURCE[i]} ${BASH_LINENO[i - 1]}"; done'
        printf '%s\n' "$pattern" | sed 's/^/want /'
        cat -- "$@" | tr -d '\000' | head -c 60000 | head -n $lines | sed 's/^/got /'
        echo
        echo end
    )
    {
        flock 9
        printf '%s\n' "$record" >&9
    } 9>> "$REID_WRITE"
)
