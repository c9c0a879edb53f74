# t_track_seek.sh: the best frames that reid track chooses in one pass equal those of a naive program, which seeks to
# each box at random with OpenCV and chooses by the definition.
repository=$PWD
. tests/lib/python.sh
need_python venv_seek opencv-python-headless==5.0.0.93 numpy pillow
. tests/lib/cli_lib.sh
need_films
b0 w.safetensors
both() { # both SEED TOLERANCE OPTIONS ENCODER...: runs both on one film
    seed=$1 tolerance=$2 options=$3
    shift 3
    for run in "--detections $seed.txt --no-frames" ''; do
        # shellcheck disable=SC2086 # words, or none
        "$repository/build/demo_video" --size 320x240 --seconds 8 --fps 10 --animals 4 --seed "$seed" $run >raw ||
            exit 1
    done
    ffmpeg -nostdin -v error -y -f rawvideo -pix_fmt rgb24 -s 320x240 -r 10 -i raw "$@" "$seed.mkv" </dev/null || exit 1
    # shellcheck disable=SC2086 # words
    run 0 track -m w.safetensors --preset torchreid --size 64x64 --threshold 1 "$seed.mkv" --detections "$seed.txt" \
        -o "$seed.out" $options
    # shellcheck disable=SC2086 # words
    check "$seed: the same frames" "$python" "$repository/tests/tools/tracks/track_seek.py" "$seed.mkv" "$seed.txt" \
        "$seed.out" --tolerance "$tolerance" $options
    tail -n 1 "$work/check"
}
both 3 1e-5 '' -c:v libx264rgb -qp 0 -preset veryfast -g 250
both 4 1e-5 '--best 5 --apart 0.3' -c:v libx264rgb -crf 18 -preset veryfast -g 60 -bf 3
both 5 1e-2 '' -c:v libx264 -pix_fmt yuv420p -preset veryfast -g 250
finish
