# t_gallery_hostile.sh: commands against a server that speaks PostgreSQL's protocol and lies: with unexpected NULLs,
# fields of wrong widths, kinds and ranges, wrong rows, columns and formats, lengths that go beyond the stream, COPY
# that was not asked for, and silence, in which one signal must end the command.
. tests/lib/cli_lib.sh
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q 'libpq\.so\.5' || { echo "no libpq.so.5 here"; exit 77; }
liar=
stop() { [ -z "$liar" ] || kill -9 "$liar" 2>/dev/null; rm -rf "$work"; }
trap stop EXIT

# lies FAULT...: a new server with this fault; its address is $url
lies() {
    [ -z "$liar" ] || { kill -9 "$liar"; wait "$liar"; } 2>/dev/null
    : >port
    python3 "$repository/tests/tools/gallery/hostile_server.py" "$work/e.npy" "$@" >port 2>trace &
    liar=$! server=$!
    ready [ -s port ] || check "a server that lies: $*" cat trace
    url="postgresql://u@127.0.0.1:$(cat port)/x?sslmode=disable&gssencmode=disable"
}

# refused PATTERN ARGUMENT...: a command that must end soon with status 2 and this message; URL stands for the address
refused() {
    pattern=$1
    shift
    for word; do
        [ "$word" != URL ] || word=$url
        set -- "$@" "$word"
        shift
    done
    timeout -k 5 30 "$REID" "$@" >"$out" 2>"$err"
    got=$?
    check "exit 2 (was $got): reid $*" [ $got = 2 ]
    says "$pattern"
}

b0 b0.safetensors
mkdir -p in/ann
for n in 1 2 3; do picture in/ann/$n.png 60 60 $n; done
model='-m b0.safetensors --size 32x32'
# shellcheck disable=SC2086 # several words
"$REID" embed -q $model in -o e.npy
# shellcheck disable=SC2086
"$REID" gallery create g.gallery $model && "$REID" gallery add g.gallery e.npy >"$out"

# Without a fault, every command succeeds.
lies none
run 0 gallery list "$url"
run 0 gallery search "$url" e.npy
run 0 gallery search "$url" e.npy --candidates 3
run 0 gallery pull "$url" p.gallery
check "three templates" [ "$("$REID" gallery list p.gallery | grep -c in/ann)" = 3 ]

answer='is damaged: an answer of the server'
lies at server_encoding null 0 0
refused "$answer has a row (1) in which \"column0\" is NULL" gallery list URL
lies at server_encoding rows 3
refused "$answer has 3 rows; expected 1" gallery list URL
lies at server_encoding rows 0
refused "$answer has 0 rows; expected 1" gallery list URL
lies at reid.schema_version columns
refused "$answer has 1 column; expected 2" gallery list URL
lies at reid.schema_version bytes 0 1 79
refused "$answer has a row (1) in which \"column1\" is not true or false" gallery list URL
lies at reid.schema_version bytes 0 0 2d31
refused "\"column0\" is negative" gallery list URL
lies at 'FROM reid.gallery g' bytes 0 7 393939393939
refused 'has embeddings of 999999 values; expected 1 to 16000' gallery list URL
lies at 'FROM reid.gallery g' bytes 0 0 3939393939393939393939
refused '"column0" is not a number from 1 to 2147483647' gallery list URL
lies at 'FROM reid.gallery g' bytes 0 1 312e3078
refused '"column1" is not a number' gallery list URL
lies at 'FROM reid.gallery g' bytes 0 3 6162006364
refused '"column3" is not text' gallery list URL
lies at 'FROM reid.gallery g' format
refused "$answer is in the wrong format" gallery list URL
for letter in G H W; do
    lies at server_encoding copy $letter
    refused 'is damaged: an answer of the server begins a COPY\|failed without a message\|unexpected' gallery list URL
    lies at BEGIN copy $letter
    refused 'is damaged: an answer of the server begins a COPY\|failed without a message\|unexpected' gallery list URL
done

# Templates, by COPY and by statements: NULL, numbers of too few and too many bytes, NUL in a text, an infinite time.
number=0011223344556677
for column in 0 1 2 4 5 6; do
    lies at 'COPY (' null 1 $column
    refused "is damaged: column $((column + 1)) of a template is NULL" gallery list URL
    lies at 'WITH c0' null 1 $column
    refused "$answer has a row (2) in which \"column$column\" is NULL" gallery search URL e.npy --candidates 3
done
for bytes in '' 00 00112233445566 ${number}88; do
    lies at 'COPY (' bytes 2 5 "$bytes"
    refused 'is damaged: column 6 of a template is not a whole number of 64 bits' gallery pull URL q.gallery
    lies at 'WITH c0' bytes 2 6 "$bytes"
    refused '(3) in which "column6" is not a whole number of 64 bits' gallery search URL e.npy --candidates 3
    lies at 'WITH c0' bytes 2 3 "$bytes"
    refused '(3) in which "column3" is not a time' gallery search URL e.npy --candidates 3
    lies at 'COPY (' bytes 0 7 "$bytes"
    refused 'is damaged: it has no embedding by' gallery pull URL q.gallery
    lies at 'WITH c0' bytes 0 7 "$bytes"
    refused 'is damaged: it has no embedding by' gallery search URL e.npy --candidates 3
done
absent q.gallery
lies at 'COPY (' bytes 0 3 7fffffffffffffff
refused 'column 4 of a template is not a time' gallery list URL
lies at 'COPY (' bytes 0 0 61006200
refused 'column 1 of a template is not text' gallery list URL
lies at 'COPY (' columns
refused 'the server sent unexpected columns' gallery list URL
lies at 'COPY (' wire 5047434f50590aff0d0a0000000000fffffff0
refused 'the server sent a damaged COPY' gallery list URL
lies at 'COPY (' wire 5047434f50590aff0d0a0000000000000000000007fffffffe
refused 'the server sent a field of 4294967294 bytes' gallery list URL
lies at '= ANY (' null 0 2
refused "$answer has a row (1) in which \"column2\" is NULL" gallery push g.gallery URL
lies at nextval rows 1
refused 'is damaged: the server gave 1 number for 2 templates' gallery push g.gallery URL
lies at nextval bytes 0 0 0000000000000000
refused '"column0" is less than 1' gallery push g.gallery URL
lies at 'FROM reid.decision' null 0 1
refused '"column1" is NULL' cluster e.npy --threshold 0.9 --decisions URL -o c.csv
absent c.csv

# Messages with lengths that are too large, too small, or end within the message.
for bytes in 54ffffffff 5400000000 5400000003 54000000060001 5a7fffffff; do
    lies at server_encoding wire "$bytes"
    timeout -k 5 3 "$REID" gallery list "$url" >"$out" 2>"$err"
    got=$?
    check "it ends, or waits for more ($got): $bytes" [ $got = 2 -o $got = 124 -o $got = 143 ]
done

# What a server says is shown in part: a long error, its detail, and many notices.
lies at server_encoding error 60000000
refused ': x[^ ]*\.\.\. (60000001 bytes) ([^ ]*\.\.\. (60000000 bytes))$' gallery list URL
check "the message is short ($(wc -c <"$err") bytes)" [ "$(wc -c <"$err")" -lt 1500 ]
lies at server_encoding error 100
refused ': x[^ .x]* ([^ .x]*)$' gallery list URL
lies at server_encoding notices 5000
run 0 gallery list "$url"
check "some notices are shown" [ "$(grep -c '^reid: PostgreSQL: NOTICE:  yy*... (3[0-9]* bytes)$' "$err")" = 20 ]
says '^reid: PostgreSQL: further notices are not shown$'
check "and no more" [ "$(grep -c PostgreSQL "$err")" = 21 ]

# silent_server COMMAND...: after some seconds it says that it is waiting, and one signal ends it soon
silent_server() {
    : >"$err" # without the message of the previous command
    "$REID" "$@" >"$out" 2>"$err" &
    server=$!
    ready grep -q 'still waiting for the database server' "$err"
    says 'still waiting for the database server; Ctrl-C ends the command'
    kill -TERM $server
    ended=no
    for _ in $(seq 160); do
        kill -0 $server 2>/dev/null || { ended=yes; break; }
        sleep 0.05
    done
    check "the first signal ends it within 8 s: $*" [ $ended = yes ]
    kill -9 $server 2>/dev/null
    wait $server 2>/dev/null
}
for fault in mute 'at server_encoding unprepared' 'at reid.schema_version mute' 'at COPY mute'; do
    # shellcheck disable=SC2086 # several words
    lies $fault
    silent_server gallery list "$url&connect_timeout=60" # which ends long after the signal
done
lies mute
# shellcheck disable=SC2086
silent_server serve $model --gallery "$url" --socket "$work/s"
refused 'timeout expired' gallery list URL
finish
