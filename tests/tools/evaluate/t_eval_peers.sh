#!/bin/sh
# reid eval against torchreid and scikit-learn on random embeddings of 200 queries and 900 gallery images, if a
# Python has them: REID_TORCH_PYTHON, else python3. The goldens of t_metrics come from the same packages.
#     sh tests/tools/evaluate/t_eval_peers.sh
. tests/lib/cli_lib.sh
python=${REID_TORCH_PYTHON:-python3}
"$python" -c 'import numpy, sklearn, os, sys
sys.exit(not any(os.path.isdir(os.path.join(p, "torchreid")) for p in sys.path))' 2>/dev/null || {
    echo 'skipped: no Python with numpy, scikit-learn and torchreid (REID_TORCH_PYTHON)'
    exit 77
}
need_eval_files
"$EVAL_FILES" hard.npy 64 1 2 market 200 900
"$EVAL_FILES" easy.npy 512 2 1 market 200 900
for file in hard.npy easy.npy; do
    "$python" "$repository/tests/tools/evaluate/eval_peers.py" "$REID" $file >"$out" 2>"$err"
    check "the same as the packages on $file" [ $? = 0 ]
    cat "$out"
    lines "$out" 25
done
finish
