# t_cli_serve_settings.sh: options of reid serve and reid worker from the environment and from --config, which overrides
# which, and what is refused; files with tokens as containers get them.
. tests/lib/cli_lib.sh
. "$repository/tests/lib/serve_lib.sh"
b0 b0.safetensors
b0 other.safetensors 2
picture a.png 90 70 3

# serves WANTED VARIABLE... -- ARGUMENT...: a server so started says that it serves these models with these sizes
serves() {
    want=$1
    shift
    variables=
    while [ "$1" != -- ]; do variables="$variables $1" && shift; done
    shift
    : >"$log"
    # shellcheck disable=SC2086 # several words
    : >"$log" # so that an earlier server's line is not taken for this one's
    env $variables "$REID" serve "$@" -v >"$work/none" 2>"$log" &
    server=$!
    ready grep -q 'listening on' "$log"
    got=$(sed -n 's/^reid: \([a-z0-9]*\).safetensors: .*, \([0-9]*x[0-9]*\), .*/\1:\2/p' "$log" | tr '\n' ' ')
    check "serves $want(was $got): $variables -- $*" [ "$got" = "$want" ]
    end TERM
}

# Options override variables, variables override the file.
printf '# a comment\n\n  model =  b0.safetensors \r\nsize=96x96\nflip\nmax-body = 1M\n' >file.conf
serves 'b0:96x96 ' -- --config file.conf
serves 'b0:64x64 ' REID_SERVE_SIZE=64x64 -- --config file.conf
serves 'b0:32x32 ' REID_SERVE_SIZE=64x64 -- --config file.conf --size 32x32
serves 'b0:32x32 ' REID_SERVE_SIZE=64x64 REID_SERVE_MODEL=lost.safetensors -- --size 32x32 -m b0.safetensors
serves 'b0:96x96 ' REID_SERVE_CONFIG=file.conf REID_SERVE_SIZE= --
serves 'other:96x96 ' REID_SERVE_CONFIG=file.conf REID_SERVE_MODEL=other.safetensors --
serves 'b0:40x40 other:40x40 ' REID_SERVE_SIZE=40x40 REID_SERVE_MODEL=b0.safetensors \
    REID_SERVE_MODEL_2=other.safetensors --
# Options of one model belong to the model before them; those of a model that is replaced do not count.
printf 'size = 40x40\nmodel = b0.safetensors\nmodel = other.safetensors\nsize = 48x48\n' >two.conf
serves 'b0:40x40 other:48x48 ' -- --config two.conf
serves 'b0:32x32 other:32x32 ' -- --config two.conf --size 32x32
serves 'b0:40x40 ' -- --config two.conf -m b0.safetensors
serves 'b0:64x64 ' -- --config two.conf -m b0.safetensors --size 64x64
# A switch can be turned off by what overrides it.
fingerprint() { "$REID" inspect b0.safetensors --size 96x96 "$@" | sed -n 's/^fingerprint *//p'; }
serves 'b0:96x96 ' -- --config file.conf
check "flip" grep -q "$(fingerprint --flip)" "$log"
serves 'b0:96x96 ' REID_SERVE_FLIP=0 -- --config file.conf
check "no flip" grep -q "$(fingerprint)" "$log"
serves 'b0:96x96 ' REID_SERVE_FLIP=yes REID_SERVE_SIZE=96x96 -- -m b0.safetensors
check "flip again" grep -q "$(fingerprint --flip)" "$log"

# What is refused, by name.
refused() { # PATTERN VARIABLE [ARGUMENT...]
    pattern=$1 variable=$2
    shift 2
    env "$variable" "$REID" serve "$@" >"$out" 2>"$err"
    check "exit 2: $variable $*" [ $? = 2 ]
    says "$pattern"
}
refused 'REID_SERVE_MAX_BDY: this environment variable names no option; did you mean --max-body?' REID_SERVE_MAX_BDY=1M
refused 'REID_SERVE_max_body: this environment variable names no option' REID_SERVE_max_body=1M
refused 'REID_SERVE_HELP: this environment variable names no option' REID_SERVE_HELP=1
refused 'REID_SERVE_MODEL_65: this environment variable names no option' REID_SERVE_MODEL_65=x
refused 'REID_SERVE_: this environment variable names no option' REID_SERVE_=x
refused 'REID_SERVE_PORT_80_TCP: .*Kubernetes sets it for a Service called reid-serve' REID_SERVE_PORT_80_TCP=x
refused 'REID_SERVE_SERVICE_HOST: .*Kubernetes sets it' REID_SERVE_SERVICE_HOST=10.0.0.1
refused 'REID_SERVE_MAX_BODY takes BYTES, not "x"' REID_SERVE_MAX_BODY=x -m b0.safetensors
refused 'REID_SERVE_FLIP takes 1 or 0, not "maybe"' REID_SERVE_FLIP=maybe
refused 'lost.conf: cannot open' REID_SERVE_CONFIG=lost.conf
refused '^reid: no model' REID_WORKER_LIMIT=7
line() { # PATTERN FORMAT
    # shellcheck disable=SC2059 # a format
    printf "$2" >bad.conf
    run 2 serve --config bad.conf
    says "bad.conf, $1"
}
line 'line 1: unknown option "bach"; did you mean --batch?' 'bach = 1\n'
line 'line 3: unknown option "--batch"' '# 1\n\n--batch = 1\n'
line 'line 1: unknown option "output"' 'output = x\n'
line 'line 1: unknown option ""' '= 3\n'
line 'line 1: unknown option "batch 8"; did you mean --batch?' 'batch 8\n'
line 'line 1: batch: expected NAME = VALUE' 'batch\n'
line 'line 1: batch takes N|auto, not "x"' 'batch = x'
line 'line 1: batch takes N|auto, not ""' 'batch ='
line 'line 2: batch: is given twice' 'batch = 1\nbatch = 2'
line 'line 1: flip: takes no value, or 1 or 0' 'flip = maybe'
line 'line 1: help: is for the command line' 'help\n'
line 'line 1: config: is for the command line' 'config = other.conf\n'
printf 'batch = 1\n\000' >bad.conf
run 2 serve --config bad.conf
says 'bad.conf: not a file of options: contains a zero byte'
run 2 serve --config .
says '.: is a folder'
run 2 embed --config file.conf a.png
says 'embed: unknown option --config'
run 0 embed -q -m b0.safetensors --size 32x32 a.png # other commands do not read such variables
env REID_SERVE_NOPE=1 "$REID" serve --help >"$out" 2>"$err"
check "help needs no options" [ $? = 0 ]

# A worker's options.
printf '\020\000\000\000\000\000\000\000{"ask": "model"}' >model.frame
env REID_WORKER_MODEL=deer=b0.safetensors REID_WORKER_SIZE=32x32 "$REID" worker <model.frame >"$out" 2>"$err"
check "a worker" [ $? = 0 ]
prints '"name": "deer"'
env REID_WORKER_LISTEN=1 "$REID" worker <model.frame >"$out" 2>"$err"
check "serve's are not worker's" [ $? = 2 ]
says 'REID_WORKER_LISTEN: this environment variable names no option'

# Every variable that the help lists is accepted, and it lists all options.
for command in serve worker; do
    run 0 help $command --environment
    check "at most 80 columns" [ -z "$(awk 'length > 80' "$out")" ]
    cp "$out" variables
    { "$REID" help $command && "$REID" help models && "$REID" help devices; } >texts
    sed -n 's/^  \(REID_[A-Z]*_[A-Z_0-9]*\)  *--\([a-z-]*\).*/\1 \2/p' variables >pairs
    check "many" [ "$(wc -l <pairs)" -ge 35 ]
    while read -r variable option; do
        env "$variable=" "$REID" $command -m lost.safetensors >"$out" 2>"$err" </dev/null
        check "$variable is an option's" [ -z "$(grep 'names no option' "$err")" ]
        check "--$option is in the help" grep -q -e "--$option" texts
    done <pairs
done
run 2 help embed --environment
says 'is for serve and worker'

# Files with tokens.
token() { # PATTERN FORMAT
    # shellcheck disable=SC2059 # a format
    printf "$2" >token
    run 2 serve -m lost.safetensors --listen 127.0.0.1:0 --token-file token
    says "$1"
    check "no token is said" [ -z "$(grep '0123456789abcdef' "$err")" ]
}
token 'token: contains no token; expected one line of at least 16' ''
token 'token: contains no token' '# only a comment\n\n'
token 'token: line 1: expected a token: 16 to 1024 ASCII characters' 'short\n'
token 'token: line 2: expected a token: 16 to 1024 ASCII characters' 'a 0123456789abcdef\nb short'
token 'token: line 1: expected a token: 16 to 1024 ASCII characters' '0123456789abcdef\0010123456789abcdef\n'
token 'token: line 1: expected NAME TOKEN, found more than two words' 'a b 0123456789abcdef\n'
token 'token: line 1: expected a name of at most 64 letters' 'a/b 0123456789abcdef\n'
token 'token: line 2: several tokens need names' '0123456789abcdef\n0123456789abcdeg\n'
token 'token: line 2: several tokens need names' 'a 0123456789abcdef\n0123456789abcdeg\n'
token 'token: line 2: the name "a" is given twice' 'a 0123456789abcdef\na 0123456789abcdeg\n'
token 'token: line 2: the token is the same as that of "a"' 'a 0123456789abcdef\nb 0123456789abcdef\n'
printf '0123456789abcdef\n' >token
for mode in 620 602 666 4777; do
    chmod $mode token
    run 2 serve -m lost.safetensors --listen 127.0.0.1:0 --token-file token
    says "token: other users may write to it (mode $(printf %04d $mode)): chmod go-w"
done
for mode in 400 440 444 600 640; do
    chmod $mode token
    run 2 serve -m lost.safetensors --listen 127.0.0.1:0 --token-file token
    says 'lost.safetensors: no such file' # the token has been read before
done
if [ "$(id -u)" = 0 ]; then
    chown 1234 token
    run 2 serve -m lost.safetensors --listen 127.0.0.1:0 --token-file token
    says "token: belongs to user 1234 (mode 0640); expected root's or user 0's own"
    chown 0 token
else
    run 2 serve -m lost.safetensors --listen 127.0.0.1:0 --token-file token
    says 'token: other users may read the token: chmod 600'
fi
# As Kubernetes mounts a Secret: links to a folder that is replaced as a whole.
mkdir ..2026 && printf '  deer\t0123456789abcdef  \r\n' >..2026/key && chmod 440 ..2026/key
ln -s ..2026 ..data && ln -s ..data/key key
: >"$log" # so that an earlier server's line is not taken for this one's
env REID_TOKEN_FILE=key "$REID" serve -m b0.safetensors --size 32x32 --listen 127.0.0.1:0 2>"$log" &
server=$!
ready grep -q 'listening on' "$log"
tcp=$(sed -n 's|.*http://||p' "$log")
for pair in 0123456789abcdef:200 deer:401; do
    got=$(curl -s -o "$out" -w '%{http_code}' -H "Authorization: Bearer ${pair%:*}" "http://$tcp/v2")
    check "$pair (was $got)" [ "$got" = "${pair#*:}" ]
done
end TERM
env REID_TOKEN_FILE=lost REID_SERVE_TOKEN_FILE=key "$REID" serve -m lost.safetensors --listen 127.0.0.1:0 2>"$err"
says 'lost.safetensors: no such file' # the other file was read
finish
