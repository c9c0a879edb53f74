# python.sh: a Python with packages from PyPI, for tests that need one. Sourced from the top of the repository.
#
# need_python NAME PACKAGE...: $python, of the virtual environment build/tests/NAME, which is made once and has these
# packages. Ends the test with status 77 and the reason if that fails; REID_NO_INSTALL=1 forbids installing.
# shellcheck disable=SC2034 # $python is read by the test

need_python() {
    venv=$PWD/build/tests/$1
    shift
    command -v python3 > /dev/null || { echo 'skipped: no python3 here'; exit 77; }
    mkdir -p build/tests
    (
        flock 9 # two tests may want it at the same time
        "$venv/bin/python" -c '' 2> /dev/null && [ "$*" = "$(cat "$venv/packages" 2> /dev/null)" ] && exit
        [ "${REID_NO_INSTALL:-0}" = 0 ] || { echo 'REID_NO_INSTALL forbids installing'; exit 1; }
        python3 -m venv --clear "$venv" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" &&
            echo "$*" > "$venv/packages"
    ) 9> "$venv.lock" > "$venv.log" 2>&1 || {
        echo "skipped: no Python with $*: $(tail -n 1 "$venv.log")"
        exit 77
    }
    python=$venv/bin/python
}
