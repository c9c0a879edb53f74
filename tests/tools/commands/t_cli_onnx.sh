# t_cli_onnx.sh: reid convert on ONNX files as exporters write them, with batch norms separate or folded, and on
# malformed ones, each with its own message (onnx_files.py).
. tests/lib/python.sh
need_python venv_pictures numpy pillow
[ -x build/seeded ] || make -s build/seeded || exit 1
. tests/lib/cli_lib.sh
"$CLI_FILES" weights r50.safetensors resnet50 none 2
b0 b0.safetensors
"$repository/build/seeded" --net resnet50-ibn-nl-fastreid-gem -o sbs.safetensors
picture p.ppm 40 60 1
mkdir onnx
weights=$repository/tests/tools/weights
(cd onnx && "$python" "$weights/onnx_files.py" test "$REID" ../r50.safetensors ../b0.safetensors \
    ../sbs.safetensors ../p.ppm) > onnx.log 2>&1
code=$?
cat onnx.log
check "ONNX files" [ $code = 0 ]

# Files that torch.onnx writes, where there is a Python with torch, torchvision, timm and onnx.
python=${REID_TORCH_PYTHON:-python3}
if "$python" -c 'import onnx, timm, torch, torchvision' > /dev/null 2>&1; then
    (cd onnx && "$python" "$weights/onnx_torch.py" "$REID" "$repository/build/seeded" ../p.ppm) > torch.log 2>&1
    code=$?
    cat torch.log
    check "files of torch.onnx" [ $code = 0 ]
else
    echo "files of torch.onnx: skipped, there is no Python with torch, torchvision, timm and onnx (REID_TORCH_PYTHON)"
fi
finish
