# t_cli_onnx.sh: reid convert on ONNX files as exporters write them, with batch norms separate or folded, and on
# malformed ones, each with its own message (onnx_files.py).
. tests/lib/python.sh
need_python venv_pictures numpy pillow
. tests/lib/cli_lib.sh
"$CLI_FILES" weights r50.safetensors resnet50 none 2
b0 b0.safetensors
picture p.ppm 40 60 1
mkdir onnx
weights=$repository/tests/tools/weights
(cd onnx && "$python" "$weights/onnx_files.py" test "$REID" ../r50.safetensors ../b0.safetensors \
    ../p.ppm) > onnx.log 2>&1
code=$?
cat onnx.log
check "ONNX files" [ $code = 0 ]
finish
