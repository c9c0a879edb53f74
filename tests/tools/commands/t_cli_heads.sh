# t_cli_heads.sh: reid convert --head: layers under any names become the head, batch norms folded, against numpy
# (heads.py); a last layer that may be an embedding is named; and what cannot be a head is refused.
. tests/lib/python.sh
need_python venv_pictures numpy pillow
. tests/lib/cli_lib.sh
"$CLI_FILES" weights r50.safetensors resnet50 none 2
b0 b0.safetensors
picture p.ppm 40 60 1
mkdir heads
weights=$repository/tests/tools/weights
(cd heads && "$python" "$weights/heads.py" "$REID" ../r50.safetensors ../b0.safetensors ../p.ppm) \
    > heads.log 2>&1
code=$?
cat heads.log
check "heads against numpy" [ $code = 0 ]
finish
