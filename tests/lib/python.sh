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

# arm_python: sets $arm to a folder in which Debian's Python for 64-bit ARM and numpy are unpacked, for qemu:
#     PYTHONPATH=$arm/site qemu-aarch64-static -L "$arm/root" "$arm/root/usr/bin/python3"
# Nothing of the system is changed. Returns 1, with the reason in $arm/log, if they cannot be had.
arm_python() {
    arm=$PWD/build/tests/arm_python
    [ ! -f "$arm/made" ] || return 0
    rm -rf "$arm"
    mkdir -p "$arm/lists/partial" "$arm/cache/archives/partial" "$arm/root" || return 1
    : > "$arm/status"
    [ "${REID_NO_INSTALL:-0}" = 0 ] || { echo 'REID_NO_INSTALL forbids installing' > "$arm/log" && return 1; }
    (
        set -- -qq -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State::lists=$arm/lists" \
            -o "Dir::State::status=$arm/status" -o "Dir::Cache=$arm/cache" -o APT::Sandbox::User=root
        command -v qemu-aarch64-static && apt-get "$@" update &&
            apt-get "$@" --download-only --no-install-recommends install python3 libstdc++6 || exit 1
        for package in "$arm"/cache/archives/*.deb; do dpkg -x "$package" "$arm/root" || exit 1; done
        wanted=$(qemu-aarch64-static -L "$arm/root" "$arm/root/usr/bin/python3" -c \
            'import sys; print("%d.%d" % sys.version_info[:2])') &&
            python3 -m pip install -q --disable-pip-version-check --target "$arm/site" --only-binary=:all: \
                --platform manylinux2014_aarch64 --python-version "$wanted" numpy && echo yes > "$arm/made"
    ) > "$arm/log" 2>&1
}
