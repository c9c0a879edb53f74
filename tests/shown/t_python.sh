#!/bin/sh
# examples/python/reid.py against the command, byte by byte and on several threads; its structs against reid.h's; what
# it refuses; forks. tests/shown/python_tests.py has the tests; this file provides the library, weights and a Python.
#
#   sh tests/shown/t_python.sh
#   sh tests/shown/t_python.sh Pictures.test_png        one of them
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/python.sh
need_python venv_pictures numpy pillow
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
make -s build/reid build/seeded lib && build/seeded --net efficientnet_b0 -o "$dir/b0.safetensors" || exit 1
export REID_TOP="$PWD" REID_LIBRARY="$PWD/build/libreid.so"
cd "$dir" || exit 1
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$REID_TOP/examples/python:$REID_TOP/tests/shown:$REID_TOP/tests/lib"
"$python" -W error::ResourceWarning -m unittest \
    "python_tests${1:+.$1}"
