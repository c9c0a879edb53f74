# t_cli_help.sh: usage errors, help whose examples run, man page, completion, reid inspect, make install.
. tests/lib/cli_lib.sh
b0 w.safetensors
top=$OLDPWD

# Every value of an option is in the help, in the man page and in the completion.
for value in auto scalar avx2 avx512 avx512_bf16 amx_bf16 avx512_vnni amx_int8 neon; do
    "$REID" help devices >"$out" 2>"$err"
    prints "[ |]$value\\(|\\|\$\\)"
    "$REID" help --completion bash >"$out"
    check "completion of --isa: $value" sh -c "grep -A 2 -e '--isa' '$out' | grep -qw '$value'"
done
"$REID" help embed >"$out"
check "no line of the help is longer than 80" [ "$(awk 'length > 80 && !/^  (reid|find) /' "$out" | wc -l)" = 0 ]

# Options: unknown ones, missing values, junk after numbers; each message names the option and the help.
bad() { # PATTERN ARGUMENT...
    pattern=$1
    shift
    run 2 "$@"
    says "$pattern"
    silent
}
bad 'no command; see "reid help"'
bad 'unknown command "frobnicate"' frobnicate
bad 'unknown option --foo; see "reid help embed"' embed --foo
bad 'unknown option -x' embed -x
bad 'unknown option --gallery' embed --gallery x
bad 'unknown option --raw' match --raw
bad 'unknown option --threshhold; did you mean --threshold?' match --threshhold 0.5
bad 'unknown option --presett=x; did you mean --preset?' embed --presett=x
bad 'unknown option --port; use --listen HOST:PORT;' serve --port 80
bad 'unknown option --host=::1; use --listen HOST:PORT;' serve --host=::1
bad 'unknown option --port; see' embed --port 80
bad 'unknown option --gpu; use --device cuda' embed --gpu
bad 'unknown option --batch-size; use --batch N' embed --batch-size 8
bad 'unknown option --weights; use -m FILE' embed --weights w.safetensors
bad 'unknown option --weights; it is now called --score-weights' match --weights 0.6,0.4
bad 'unknown option --template; it is now called --profile' embed --template here
bad 'unknown command "embd"; did you mean "embed"?' embd
bad 'unknown command "x"; see' x
bad 'a value is missing after --batch' embed --batch
bad 'a value is missing after -m' embed -m
bad 'no value may be given with --flip=1' embed --flip=1
for value in 0 -1 1x x '' 1.5 99999999999999999999 ' 1' 0x10; do
    bad '--batch takes N|auto, not' embed --batch "$value"
done
for value in 64 64x 64x64x 0x64 64X64 5000x64; do bad '--size takes HxW, not' embed --size "$value"; done
for value in 0/2 3/2 1 1/ 1/2/3 a/b; do bad '--shard takes I/N, not' embed --shard "$value"; done
for value in x seeded: seeded:x seeded7; do bad '--head takes' embed --head "$value"; done
for value in 3 0 11; do bad '--last-stride takes 1|2' embed --last-stride $value; done
for value in gpu cuda: cuda:x cudax; do bad '--device takes' embed --device $value; done
for value in fp64 fp '|' ''; do bad '--precision takes' embed --precision "$value"; done
for value in 1,x x "," 0,0 1,2,3 -1,1 nan,1 6,4 0.6,0.3; do
    bad '--score-weights takes shares' match --score-weights "$value"
done
for value in 1e 0.5x nan inf 0x1 '' 60 1.01 -2; do bad '--threshold takes a cosine' match --threshold "$value"; done
for value in 1T K 1KK 0 -5M 99999999999G; do bad '--memory takes BYTES' embed --memory "$value"; done
bad 'at most 2 models' embed -m a -m b -m c
bad 'no INPUT' embed -m w.safetensors
picture p.png 40 40 1
bad 'no model: give its weights with -m' embed p.png
bad 'this version .*computes on the CPU only\|cannot be used\|CUDA' embed -m w.safetensors --device cuda p.png
bad 'no preset is named "nope"' embed -m w.safetensors --preset nope p.png
bad 'no network is named "nope"' embed -m w.safetensors --net nope p.png
bad 'memory_limit is 1048576 bytes' embed -m w.safetensors --memory 1M p.png
head -c 100000 w.safetensors >cut.safetensors
bad 'cut.safetensors: .*downloaded completely' embed -m cut.safetensors p.png
bad 'lost.safetensors: no such file' embed -m lost.safetensors p.png
run 0 embed -mw.safetensors --size=64x64 -qv --batch auto --threads 1 --memory 200M --isa auto --precision fp32 \
    --device cpu --head none -- p.png
lines "$out" 1

# Help, version, man page and completion.
run 0 help
prints '  embed  *images to embeddings'
run 0 --help
run 0 version
prints "^reid $(sed -n 's/^.define REID_VERSION_STRING "\(.*\)"/\1/p' "$top/reid.h")$"
run 0 --version
bad 'unknown command "nope"' help nope
bad 'no completion for csh; expected bash, zsh or fish' help --completion csh
for command in embed merge import match gallery eval calibrate fit inspect bench convert serve worker review cluster \
    track doctor tune pack help version; do
    run 0 help "$command"
    cp "$out" wanted
    golden wanted "help/$command.txt"
    run 0 "$command" --help
    same "$out" wanted
    check "$command: at most 80 columns of text" [ -z "$(sed '/^Examples/,$d' "$out" | awk 'length > 80')" ]
    check "$command: at most 60 lines before the options" [ "$(sed '/^Options:/,$d' "$out" | wc -l)" -le 60 ]
    run 0 help --man
    prints "^.SH \"REID $command\"$"
done
for topic in models devices databases; do
    run 0 help $topic
    golden "$out" help/$topic.txt
    check "$topic: at most 80 columns" [ -z "$(awk 'length > 80' "$out")" ]
done
run 0 help
golden "$out" help/reid.txt
check "and a text for each name" [ "$(echo reid $(sed -n '/^Images/,$s/^  \([a-z]*\) .*/\1/p' "$out") | tr ' ' '\n' |
    sort)" = "$(ls "$top/tests/golden/help" | sed 's/\.txt$//')" ]
check "the overview has every command" [ "$(grep -c '^  [a-z]* *[a-zA-Z]' "$out")" -ge 24 ]
prints '^Start here:$'
# An option of a topic is explained only there, and the commands that take it refer to it by name.
{ "$REID" help models && "$REID" help devices; } >topics
for option in preset filter size head flip precision device batch threads decoders profile jpeg; do
    check "--$option is explained once" [ "$(grep -c "^      --$option " topics)" = 1 ]
    run 0 help embed
    prints "  .*--$option"
    check "--$option is not explained in help embed" [ "$(grep -c "^      --$option " "$out")" = 0 ]
done
run 0 help --man
if command -v man >/dev/null 2>&1; then
    check "the man page has no warnings" [ -z "$(LC_ALL=C.UTF-8 man --warnings -l "$out" 2>&1 >/dev/null)" ]
fi
"$REID" help --man >/dev/full 2>"$err"
check "a full stdout is an error" [ $? = 2 ]
run 0 help --completion bash
if command -v bash >/dev/null 2>&1; then
    completions() {
        bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reid; echo ${COMPREPLY[*]}' "$out" reid "$@"
    }
    check "commands" [ "$(completions in)" = inspect ]
    check "the command import" [ "$(completions im)" = import ]
    check "options" [ "$(completions embed --resu)" = --resume ]
    check "options of import" [ "$(completions import --m)" = --model ]
    check "choices" [ "$(completions match --precision fp)" = "fp32 fp16" ]
    check "networks" [ "$(completions inspect --net resnet50-m)" = resnet50-multiscale ]
    check "no files where options are wanted" [ -z "$(completions embed --gallery)" ]
    check "choices of a command's own option" [ "$(completions fit --method '')" = "auto within lda pca" ]
    check "no placeholders" [ "$(completions embed --batch '')" = auto ]
fi
run 0 help --completion zsh
if command -v zsh >/dev/null 2>&1; then
    completions() { # what the script gives to the shell's functions
        zsh -f -c 'compdef() { }; . "$1"; shift; words=("$@"); CURRENT=$#; compadd() { shift; print -- $*; }
            _describe() { print -l -- ${(P)2}; }; _files() { print FILES; }; _reid' zsh "$out" reid "$@"
    }
    check "zsh: commands" [ "$(completions in | grep '^inspect:')" = "inspect:the contents of a weight file" ]
    check "zsh: options" [ "$(completions embed --resu | grep -c '^--resume:continue from')" = 1 ]
    check "zsh: choices" [ "$(completions fit --method '')" = "auto within lda pca" ]
    check "zsh: topics" [ "$(completions help '' | grep -c '^devices$')" = 1 ]
    check "zsh: files" [ "$(completions embed p)" = FILES ]
fi
run 0 help --completion fish
if command -v fish >/dev/null 2>&1; then
    completions() { fish --no-config -c '. $argv[1]; complete -C "reid $argv[2]"' "$out" "$1" | cut -f 1; }
    check "fish: commands" [ "$(completions insp)" = inspect ]
    check "fish: options" [ "$(completions 'embed --resu')" = --resume ]
    check "fish: choices" [ "$(completions 'fit --method ' | sort | xargs)" = "auto lda pca within" ]
    check "fish: topics" [ "$(completions 'help dev')" = devices ]
fi

# The examples in the help run unchanged.
cp w.safetensors efficientnet_b0.safetensors
need_checkpoint_files
"$CHECKPOINT_FILES" zip w.safetensors resnet50.pth
"$REID" convert resnet50.pth resnet50.safetensors >"$out" || exit 1
cp resnet50.pth checkpoint.pth
market=Market-1501-v15.09.15
mkdir -p gallery/ann photos bin $market/query $market/bounding_box_test
for f in gallery/ann/1.png gallery/ann/2.png photos/x.png query.png $market/query/0001_c1s1_000001_00.png \
    $market/bounding_box_test/0001_c2s1_000002_00.png; do
    picture $f 30 40 2
done
echo first,second,same >pairs.csv
for who in 1 2 3 4 5 6 7 8; do
    mkdir -p crops/$who
    for f in 1 2; do picture crops/$who/$f.png 30 40 $who; done
    picture crops/$who/3.png 33 40 $who
    echo "crops/$who/1.png,crops/$who/2.png,1" >>pairs.csv
    for f in 1 2; do echo "crops/$who/$f.png,crops/$((who % 8 + 1))/$f.png,0" >>pairs.csv; done
done
echo '{"images":[{"file":"x.png","detections":[{"category":"1","conf":0.9,"bbox":[0,0,0.5,0.5]}]}]}' >detections.json
"$REID" embed -q -m w.safetensors --raw crops -o raw.npy
cp raw.npy rows.npy # without its metadata, as other programs write it
{ echo path && cat raw.ids.txt; } >names.csv
printf '0.1,0.2,0.4\n0.3,-0.1,0.2\n' >rows.csv
printf 'first.jpg\nsecond.jpg\n' >names.txt
for part in 1 2; do "$REID" embed -q -m w.safetensors gallery --shard $part/2 -o part$part.npy; done
printf '\020\000\000\000\000\000\000\000{"ask": "stats"}' >requests.frames
ln -s "$REID" bin/reid
: >saved.jsonl
# A server is stopped when it is ready, and must exit successfully, unless it reports that libmicrohttpd is missing.
serve_example() {
    PATH=$work/bin:$PATH XDG_RUNTIME_DIR=$work sh -c "exec $1" &
    while kill -0 $! 2>/dev/null && ! grep -q 'listening on\|^http://' "$err" "$out"; do sleep 0.05; done
    kill $! 2>/dev/null
    wait $! || grep -q 'compiled without libmicrohttpd' "$err"
}
for frame in 1 2 3 4 5; do echo "$frame,-1,5,5,30,30,0.9,-1,-1,-1"; done >film.txt
if command -v ffmpeg >/dev/null 2>&1; then
    ffmpeg -nostdin -v error -f lavfi -i testsrc=s=64x48:r=5:d=1 film.mkv
else
    : >film.mkv # reid track says what to install
fi
track_example() {
    PATH=$work/bin:$PATH sh -c "$1" || { ! command -v ffmpeg >/dev/null && grep -q 'install it' "$err"; }
}
examples=0
for command in embed merge import match gallery eval calibrate inspect bench convert serve worker review cluster \
    track fit doctor tune; do
    "$REID" help $command | sed '1,/^Examples/d' >examples
    while read -r line; do
        case $line in
        "reid serve "* | "reid review crops.npy "*decisions.jsonl) serve_example "$line" ;;
        "reid track "*) track_example "$line" ;;
        "reid doctor"*) PATH=$work/bin:$PATH sh -c "$line" || [ $? = 1 ] ;; # 1: something could be better here
        *) PATH=$work/bin:$PATH sh -c "$line" ;;
        esac >"$out" 2>"$err" </dev/null
        check "example: $line" [ $? = 0 ]
        examples=$((examples + 1))
    done <examples
done
check "forty-four examples" [ $examples = 44 ]

# reid inspect.
run 0 inspect w.safetensors
for line in 'network      efficientnet_b0 (found from its tensors)' 'head         none' \
    'embedding    1280 floats, of length 1' 'preset       effnet-b0 (the network.s default)' \
    'parameters   4,007,548' 'work         0.385 GMAC per image' \
    'fingerprint  [0-9a-f]\{32\}$' 'tensors      309 used, 0 missing, 0 mismatched, 0 ignored, 0 unexpected'; do
    prints "^$line"
done
print=$(sed -n 's/^fingerprint *//p' "$out")
run 0 embed -m w.safetensors p.png -o p.npy
check "the fingerprint is the one in embeddings" grep -q "\"fingerprint\": \"$print\"" p.meta.json
run 0 inspect w.safetensors --preset torchreid --isa scalar --threads 1
prints 'preset       torchreid (given as option)'
prints 'device       cpu (.*), scalar, fp32, 1 thread,'
"$CLI_FILES" weights marked.safetensors efficientnet_b0 file 3 '"reid.preset":"torchreid"'
run 0 inspect marked.safetensors
prints 'preset       torchreid (named in the file)'
prints 'embedding    512 floats'
run 0 inspect --plan w.safetensors
check "81 convolutions" [ "$(grep -c ' conv \| depthwise ' "$out")" = 49 ]
check "at most 110 columns" [ -z "$(awk 'length > 110' "$out")" ]
prints '^total  *[0-9]* operations  *385M  *4.01M '
run 0 inspect --json --plan --tensors w.safetensors
prints '"usable": true, "error": null, "network": "efficientnet_b0", "fingerprint": "'
prints '"parameters": 4007548,'
prints '{"name": "features.0.0.weight", "status": "used", "note": ""}'
run 2 inspect w.safetensors --net resnet50
prints 'tensors      0 used, 265 missing, 0 mismatched, 0 ignored, 309 unexpected'
prints 'missing    conv1.weight: shape'
says 'a tensor that the network needs is missing'
run 2 inspect w.safetensors --net resnet50 --json
prints '"usable": false, "error": ".*missing'
bad 'no such file' inspect lost.safetensors
bad 'exactly one file' inspect
bad 'exactly one file' inspect a b
echo '<html>' >page.safetensors
bad 'web page' inspect page.safetensors

# make install puts everything in its place.
if command -v make >/dev/null 2>&1; then
    make -s -C "$top" install DESTDIR="$work/root" PREFIX=/usr >/dev/null 2>"$err"
    check "make install" [ $? = 0 ]
    for f in bin/reid include/reid.h lib/pkgconfig/reid.pc lib/libreid.a lib/libreid.so share/man/man1/reid.1 \
        share/bash-completion/completions/reid share/zsh/site-functions/_reid \
        share/fish/vendor_completions.d/reid.fish; do
        check "installed: $f" [ -s "root/usr/$f" ]
    done
    check "reid.pc names the prefix" grep -q '^prefix=/usr$' root/usr/lib/pkgconfig/reid.pc
    check "the installed command runs" root/usr/bin/reid version
fi

finish
