# t_track_resume.sh: reid track --resume, after being killed or interrupted between films, does the rest and gives the
# bytes of an uninterrupted run; other options, models, detections or films are refused by name; damaged and foreign
# folders.
. tests/lib/cli_lib.sh
need_films
b0 w.safetensors
b0 other.safetensors 2
films='a.mp4 b.mp4 c.mp4'
echo 'video,frame,x,y,w,h,score' >films.csv
for film in $films; do
    for run in "--detections found.txt --no-frames" ''; do
        # shellcheck disable=SC2086 # two words, or none
        "$repository/build/demo_video" --size 160x120 --seconds 3 --animals 2 --seed "$(printf %d "'$film")" \
            $run >raw || exit 1
    done
    ffmpeg -nostdin -v error -y -f rawvideo -pix_fmt rgb24 -s 160x120 -r 10 -i raw -c:v libx264 -pix_fmt yuv420p \
        "$film" </dev/null || exit 1
    awk -F, -v film="$film" '{
        printf "%s,%d,%.9g,%.9g,%s,%s,%s\n", film, $1 - 1, $3 - 1, $4 - 1, $5, $6, $7 }' found.txt >>films.csv
done

# An ffmpeg that logs its film, and waits in the film named in `stop` until it is released.
cat >player <<'PLAYER'
#!/bin/sh
for at; do case $at in file:*|*.mp4) film=${at##*[:/]} ;; esac; done
echo "$film" >>read.log
[ ! -e "stop.$film" ] || sleep 1000
exec ffmpeg "$@"
PLAYER
chmod +x player
# shellcheck disable=SC2086 # several films
track() { # track STATUS OUT ARGUMENT...
    want=$1 to=$2
    shift 2
    : >read.log
    run "$want" track -m w.safetensors --size 64x64 --threshold 0.9 --ffmpeg ./player --detections films.csv -o "$to" \
        $films "$@"
}
broken_off() { # broken_off SIGNAL FILM ARGUMENT...: a run into `out` gets the signal while it reads that film
    signal=$1 film=$2
    shift 2
    touch "stop.$film"
    : >read.log
    # shellcheck disable=SC2086
    "$REID" track -m w.safetensors --size 64x64 --threshold 0.9 --ffmpeg ./player --detections films.csv -o out $films \
        "$@" >"$out" 2>"$err" &
    while kill -0 $! 2>/dev/null && ! grep -q "^$film\$" read.log; do sleep 0.05; done
    kill "-$signal" $!
    wait $! 2>/dev/null
    rm "stop.$film"
}
films_read() { check "these were read: $*" [ "$(tr '\n' ' ' <read.log)" = "$*${*:+ }" ]; }
whole() { # whole WHAT: out has the bytes of the uninterrupted run
    check "$1: the same bytes" diff -r one out
    check "$1: nothing is left" [ -z "$(find . -name '*.part*')" ]
    rm -rf out
}
track 0 one
films_read a.mp4 b.mp4 c.mp4

# --- interrupted ---
broken_off TERM c.mp4 --resume
absent out
check "two films are recorded" [ "$(find out.part -name 'film-*.note' | wc -l)" = 2 ]
track 0 out --resume
films_read c.mp4
whole SIGTERM
broken_off TERM c.mp4
check "without --resume nothing is kept" [ ! -e out.part ]
broken_off TERM b.mp4 --resume
broken_off TERM c.mp4 --resume
films_read b.mp4 c.mp4
track 0 out --resume -v
says 'a.mp4: already finished by the interrupted run'
films_read c.mp4
whole 'twice'

# --- killed: the work of the last second may be repeated ---
sed 's/^exec/sleep 1.1; exec/' player >slow && cp player quick && cp slow player && chmod +x player
broken_off KILL c.mp4 --resume
cp quick player
absent out
check "there are records" [ -e out.part/film-1.note ]
cp -R out.part kept
printf 'torn' >out.part/film-2.note.reid.part
printf 'torn' >out.part/whole/embeddings.npy.part
mkdir -p out.part/whole/crops/c && echo x >out.part/whole/crops/c/000000-9.png
track 0 out --resume
films_read c.mp4
whole SIGKILL
again() { rm -rf out.part && cp -R kept out.part; }
again
track 0 out
says 'out.part of an interrupted run was replaced; --resume would have continued the run'
films_read a.mp4 b.mp4 c.mp4
whole 'not resumed'

# --- refused, and the work is kept ---
refused() { # refused PATTERN ARGUMENT...
    pattern=$1
    shift
    again
    track 2 out --resume "$@"
    says "$pattern"
    absent out
    films_read
    check "the work is kept" diff -r kept out.part
}
refused 'out.part: --resume cannot continue .*: --best was 3 and is 2 now; remove the folder' --best 2
refused '--apart was 0.5 and is 1 now' --apart 1
refused '--cuts was auto and is none now' --cuts none
refused '--min-conf was -1 and is 0.5 now' --min-conf 0.5
refused '--threshold was 0.9.* and is 0.8.* now' --threshold 0.8
refused 'the model was [0-9a-f]*, fp32 on .* and is [0-9a-f]*, fp32' --flip
refused 'the second model was none and is ' -m other.safetensors
mv films.csv was.csv && sed '$d' was.csv >films.csv
refused '--detections was films.csv, [0-9]* bytes with the checksum .* and is films.csv, [0-9]* bytes'
mv was.csv films.csv
cp -p b.mp4 was.mp4 && touch -d '2001-02-03 04:05:06' b.mp4
refused 'b.mp4 was .* and is [0-9]* bytes of 2001-02-03T04:05:06Z'
mv was.mp4 b.mp4
films='a.mp4 b.mp4' refused 'the number of videos was 3 and is 2 now'
for byte in 3 200 20000; do # the head, the boxes, the rows
    again
    printf '\377' | dd of=out.part/film-1.note bs=1 seek=$byte conv=notrunc 2>/dev/null
    track 2 out --resume
    says 'out.part/film-1.note, the record of an interrupted run: it is damaged; remove it to have the video read again'
done
rm out.part/film-1.note
track 0 out --resume
films_read a.mp4 c.mp4
whole 'without the damaged one'
again
rm out.part/whole/crops/a/*
track 2 out --resume
says 'out.part/whole/crops/a/.* no longer exists'

# --- another program's folder ---
rm -rf out.part && mkdir out.part && echo mine >out.part/letter.txt
track 2 out
says 'out.part already exists and was not left by an interrupted run'
track 2 out --resume
check "it is left alone" grep -q mine out.part/letter.txt
rm -rf out.part && echo mine >out.part
track 2 out
says 'cannot open out.part: Not a directory'
rm out.part
again
chmod 777 out.part
track 2 out --resume
says 'out.part is writable by other users'
rm -rf out.part
touch stop.a.mp4
# shellcheck disable=SC2086
"$REID" track -m w.safetensors --size 64x64 --threshold 0.9 --ffmpeg ./player --detections films.csv -o out $films \
    2>/dev/null &
while kill -0 $! 2>/dev/null && [ ! -d out.part/whole/crops/a ]; do sleep 0.05; done
track 2 out
says 'another reid is writing out.part'
kill $!
wait $! 2>/dev/null
check "nothing is left of it" [ ! -e out.part ]
rm stop.a.mp4

# --- a film that ended early is tried again ---
cp player played
printf '#!/bin/sh\ncase "$*" in *a.mp4*) ./played "$@"; kill -9 $$ ;; esac\nexec ./played "$@"\n' >player
broken_off TERM c.mp4 --resume
check "it has no record" [ ! -e out.part/film-1.note ]
cp played player
track 0 out --resume
films_read a.mp4 c.mp4
whole 'after one that broke off'
finish
