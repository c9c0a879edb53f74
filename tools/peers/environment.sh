# tools/peers/environment.sh: the Python environment of a comparison, in build/peers, which git ignores. Sourced:
#
#     . tools/peers/environment.sh
#     python_environment reading tools/peers/files_requirements.txt     sets $venv
#
# It is made again when the requirements file lists other versions than before.

python_environment() { # python_environment NAME REQUIREMENTS
    venv=build/peers/$1
    mkdir -p build/peers
    cmp -s "$2" "$venv/installed.txt" && return
    "${PYTHON:-python3}" -m venv --clear "$venv"
    extra= # PyPI's torch brings 5 GB of CUDA: use the CPU build if its server answers
    server=https://download.pytorch.org/whl/cpu
    if grep -q '^torch==' "$2" &&
        "$venv/bin/python" -c "import urllib.request as u; u.urlopen('$server/', timeout=9)" 2>/dev/null; then
        extra="--extra-index-url $server"
    fi
    # shellcheck disable=SC2086 # two words or none
    "$venv/bin/pip" install --quiet $extra -r "$2"
    cp "$2" "$venv/installed.txt"
}
