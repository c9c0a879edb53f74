# t_cli_track.sh: reid track: a drawn film to tracks, best frames and individuals; rows are those of reid embed for the
# same frames; every format of detections gives the same; damaged films, films that do not fit, and all that is refused.
. tests/lib/cli_lib.sh
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
need_films
b0 w.safetensors
film() { # film NAME.ENDING SEED CODEC_OPTION...: the film, and its detections as NAME.txt
    name=$1 seed=$2
    shift 2
    for run in "--detections ${name%.*}.txt --no-frames" ''; do
        # shellcheck disable=SC2086 # two words, or none
        "$repository/build/demo_video" --size 160x120 --seconds 6 --scenes 2 --animals 3 --seed "$seed" $run >raw ||
            exit 1
    done
    ffmpeg -nostdin -v error -y -f rawvideo -pix_fmt rgb24 -s 160x120 -r 10 -i raw "$@" "$name" </dev/null || exit 1
}
film film.mp4 3 -c:v libx264 -g 250 -pix_fmt yuv420p
film other.webm 5 -c:v libvpx-vp9 -deadline realtime -pix_fmt yuv420p
track() { # track STATUS OUT ARGUMENT...: with the network
    want=$1 to=$2
    shift 2
    run "$want" track -m w.safetensors --size 64x64 --threshold 0.9 -o "$to" "$@"
}
json() { # json NAME FILE 'EXPRESSION of d, the JSON': it has to hold
    check "$1" python3 -c "import json, sys
d = json.load(open(sys.argv[1])); v = d['videos'][0]; tracks = [t for s in v['scenes'] for t in s['tracks']]
frames = [f for t in tracks for f in t['frames']]
assert $3, (d['groups'], [(t['track'], t['group'], len(t['frames'])) for t in tracks])" "$2"
}

# --- one film ---
track 0 out film.mp4 --detections film.txt --stats
for stage in read choose crop compute group write; do says "^$stage  "; done
says '^read  *60 frames '
says '^The bottleneck is [a-z]*\. What would help: .*\.$'
prints '^film.mp4: 60 frames, [0-9]* boxes, 2 scenes, [1-9][0-9]* tracks$'
prints '^[1-9][0-9]* crops of [1-9][0-9]* individuals at threshold 0.9$'
track 0 again film.mp4 --detections film.txt --stats --json -q
check 'the same with --json' diff -r out again
grep '^{"seconds"' "$err" >line
lines "$out" 1
check 'both lines are JSON that fits together' python3 - "$out" line again/tracks.json <<'END'
import json, sys
summary, stats, tracks = (json.load(open(path)) for path in sys.argv[1:])
stages = {s["name"]: s for s in stats["stages"]}
video = summary["videos"][0]
assert list(stages) == ["read", "choose", "crop", "compute", "group", "write"], stages
assert stages["read"]["items"] == video["frames"] == 60 and stages["choose"]["items"] == video["boxes"] > 0
assert stages["compute"]["items"] == stages["write"]["items"] == summary["crops"] <= stages["crop"]["items"]
assert stages["group"]["items"] == video["tracks"] and summary["individuals"] == tracks["groups"]
assert 0.5 < sum(s["busy"] for s in stages.values()) <= 1.001 and all(s["busy"] >= 0 for s in stages.values())
assert stats["bottleneck"] == max(stages.values(), key=lambda s: s["busy"])["name"] and stats["advice"]
END
json 'what it says of the film' out/tracks.json "v['frames'] == 60 and v['width'] == 160 and v['height'] == 120 and \
v['complete'] and v['problem'] is None and v['seconds'] == 5.9 and [s['frame'] for s in v['scenes']] == [0, 30]"
json 'tracks are numbered from 1' out/tracks.json \
    "sorted(t['track'] for t in tracks) == list(range(1, len(tracks) + 1)) and len(tracks) > 3"
json 'at most three frames of each part, half a second apart' out/tracks.json "all(len(t['frames']) <= 3 * t['parts'] \
and all(abs(a['seconds'] - b['seconds']) > .4999 for a in t['frames'] for b in t['frames'] if a is not b) \
for t in tracks if t['parts'] == 1)"
json 'frames are within their scenes and tracks' out/tracks.json "all(t['first_frame'] <= f['frame'] <= \
t['last_frame'] and (f['frame'] >= 30) == (s['scene'] == 1) and abs(f['seconds'] - f['frame'] / 10) < 1e-9 \
for s in v['scenes'] for t in s['tracks'] for f in t['frames'])"
check "tracks.txt is what tracks.json says" python3 - <<'END'
import json
tracks = {t["track"]: t for s in json.load(open("out/tracks.json"))["videos"][0]["scenes"] for t in s["tracks"]}
rows = [line.split(",") for line in open("out/tracks.txt")]
found = {tuple(line.split(",")[:1] + line.split(",")[2:7]) for line in open("film.txt")}
assert rows == sorted(rows, key=lambda r: (int(r[0]), int(r[1]))) and all(len(r) == 10 for r in rows)
assert len({tuple(r[:2]) for r in rows}) == len(rows)
for number, t in tracks.items():
    mine = [int(r[0]) - 1 for r in rows if int(r[1]) == number]
    assert len(mine) == t["boxes"] and min(mine) == t["first_frame"] and max(mine) == t["last_frame"]
assert {int(r[1]) for r in rows} == set(tracks)
numbers = {tuple(map(float, f)) for f in found}
assert all(any(all(abs(a - b) < 1e-6 for a, b in zip(map(float, r[:1] + r[2:7]), f)) for f in numbers) for r in rows)
END
check "a page with every crop" [ "$(grep -o 'src="crops/film/[0-9-]*.png"' out/tracks.html | sort -u | wc -l)" = \
    "$(find out/crops -name '*.png' | wc -l)" ]
no_leftovers

# --- the same bytes as reid embed, from the frames and from the crops ---
mkdir frames
ffmpeg -nostdin -v error -i film.mp4 -fps_mode passthrough -pix_fmt rgb24 -start_number 0 frames/%d.png </dev/null
python3 - <<'END'
import json
scenes = json.load(open("out/tracks.json"))["videos"][0]["scenes"]
frames = [f for s in scenes for t in s["tracks"] for f in t["frames"]]
frames.sort(key=lambda f: f["row"])
assert [f["row"] for f in frames] == list(range(len(frames)))
with open("boxes.csv", "w") as out, open("crops.list", "w") as crops:
    print("path,x,y,width,height", file=out)
    for f in frames:
        x, y, w, h = f["box"]
        left, top = round(x), round(y)
        print("frames/%d.png" % f["frame"], left, top, round(x + w) - left, round(y + h) - top, sep=",", file=out)
        print("out/" + f["path"], file=crops)
END
run 0 embed -m w.safetensors --size 64x64 --boxes boxes.csv -o embed.npy
same embed.npy out/embeddings.npy
"$REID" embed -m w.safetensors --size 64x64 - -o embed2.npy <crops.list 2>"$err"
same embed2.npy out/embeddings.npy
check "ids are the crops" cmp -s crops.list "$(sed 's|^|out/|' out/embeddings.ids.txt >ids && echo ids)"
run 0 cluster out/embeddings.npy --threshold 0.9
lines "$out" $(($(wc -l <crops.list) + 1))

# --- the same whatever the threads, the batch and the format of the detections ---
track 0 threads film.mp4 --detections film.txt --threads 1 --batch 1
check "threads and batches change nothing" diff -r out threads
python3 - <<'END'
import json
rows = [[float(n) for n in line.split(",")] for line in open("film.txt")]
for row in rows: # MegaDetector's boxes do not reach beyond the frame
    left, top, right, bottom = max(row[2], 1), max(row[3], 1), min(row[2] + row[4], 161), min(row[3] + row[5], 121)
    row[2:6] = left, top, right - left, bottom - top
with open("inside.txt", "w") as out:
    for row in rows:
        print(int(row[0]), *(repr(n) for n in row[1:]), sep=",", file=out)
md, ms, coco, images = {}, {}, [], {}
with open("film.csv", "w") as csv:
    print("video,score,frame,h,w,y,x", file=csv)
    for frame, _, x, y, w, h, score, *_ in rows:
        frame, x, y = int(frame) - 1, x - 1, y - 1
        print("film.mp4", repr(score), frame, repr(h), repr(w), repr(y), repr(x), sep=",", file=csv)
        md.setdefault("film.mp4", []).append({"category": "1", "conf": score, "frame_number": frame,
                                              "bbox": [x / 160, y / 120, w / 160, h / 120]})
        ms.setdefault(frame, []).append({"category": "animal", "confidence": score, "bbox": [x, y, x + w, y + h]})
        coco.append({"image_id": frame + 7, "category_id": 1, "bbox": [x, y, w, h], "score": score})
        images[frame] = {"id": frame + 7, "frame_id": frame, "width": 160, "height": 120}
json.dump({"images": [{"file": "a/film.mp4", "frame_rate": 10, "frames_processed": list(range(60)), "detections": md[f]}
                      for f in md], "detection_categories": {"1": "animal"}}, open("md.json", "w"))
json.dump([{"file": "frames/frame%06d.jpg" % f, "detections": ms[f]} for f in ms], open("ms.json", "w"))
json.dump({"images": list(images.values()), "annotations": coco, "categories": [{"id": 1, "name": "deer"}]},
          open("coco.json", "w"))
END
track 0 inside film.mp4 --detections inside.txt
for file in film.csv md.json ms.json coco.json; do
    track 0 from film.mp4 --detections $file
    check "$file: the same rows" cmp inside/embeddings.npy from/embeddings.npy
    check "$file: the same tracks" python3 - <<'END'
rows = [[[float(n) for n in line.split(",")] for line in open(f + "/tracks.txt")] for f in ("inside", "from")]
assert len(rows[0]) == len(rows[1]) and all(abs(a - b) < 1e-6 for r, s in zip(*rows) for a, b in zip(r, s))
END
    rm -rf from
done
track 0 from film.mp4 --detections md.json --category animal --min-conf 0.5 -q
silent
json 'only boxes above --min-conf' from/tracks.json "all(f['score'] >= .5 for f in frames) and \
v['detections']['boxes'] < $(wc -l <film.txt) and tracks[0]['category'] == 'animal'"
rm -rf from

# --- scenes, links, the choice of frames ---
track 0 from film.mp4 --detections film.txt --cuts none --best 1
json 'no cut, one frame of each part' from/tracks.json \
    "len(v['scenes']) == 1 and all(len(t['frames']) == t['parts'] for t in tracks)"
rm -rf from
printf '10\n30\n' >cuts
track 0 from film.mp4 --detections film.txt --cuts cuts
json 'the cuts of a list' from/tracks.json "[s['frame'] for s in v['scenes']] == [0, 10, 30] and \
all(t['last_frame'] < 10 for t in v['scenes'][0]['tracks'])"
rm -rf from
run 0 track -m w.safetensors --size 64x64 film.mp4 --detections film.txt -o from --threshold -1
check "tracks that share a frame are two individuals" python3 - <<'END'
import json
scenes = json.load(open("from/tracks.json"))["videos"][0]["scenes"]
group = {t["track"]: t["group"] for s in scenes for t in s["tracks"]}
frames = {}
for line in open("from/tracks.txt"):
    frame, track = line.split(",")[:2]
    frames.setdefault(frame, []).append(group[int(track)])
assert any(len(f) > 1 for f in frames.values()) and all(len(f) == len(set(f)) for f in frames.values())
assert max(group.values()) + 1 == max(len(f) for f in frames.values())
END
rm -rf from
run 0 track -m w.safetensors --size 64x64 film.mp4 --detections film.txt -o from --threshold 1
json 'at a threshold of 1 every track is one' from/tracks.json \
    "d['groups'] == len(tracks) and sorted(t['group'] for t in tracks) == list(range(len(tracks)))"
rm -rf from

# --- two films, one of them damaged ---
{ cat film.csv; sed '1d; s/film.mp4/other.webm/' film.csv; } >other.csv
track 0 two film.mp4 other.webm --detections other.csv
for file in film.tracks.txt other.tracks.txt film.html other.html tracks.json embeddings.npy crops/film crops/other; do
    check "$file" [ -e two/$file ]
done
check "one film is as it is alone" cmp inside/tracks.txt two/film.tracks.txt
head -c $(($(stat -c %s other.webm) * 6 / 10)) other.webm >cut.webm
track 1 cut cut.webm --detections film.txt
says 'cut.webm: ffmpeg reports: File ended prematurely; [0-9]* frames read, and there are boxes for later frames'
json 'what was read counts' cut/tracks.json \
    "not v['complete'] and 'prematurely' in v['problem'] and 10 < v['frames'] < 60 and \
v['detections']['beyond_the_end'] > 0"
sed 's/other.webm/lost.mp4/' other.csv >lost.csv
track 1 lost film.mp4 lost.mp4 --detections lost.csv
says 'lost.mp4: cannot open: No such file'
json 'the other one is there' lost/tracks.json "v['complete'] and d['videos'][1]['frames'] == 0"
printf '#!/bin/sh\nffmpeg "$@"\nkill -9 $$\n' >killed
chmod +x killed
track 1 killed.out film.mp4 --detections film.txt --ffmpeg ./killed
says 'film.mp4: ffmpeg was killed by signal 9; 60 frames read'

: >empty.txt
track 0 nothing film.mp4 --detections empty.txt
prints '^film.mp4: 60 frames, 0 boxes, 2 scenes, 0 tracks$'
lines nothing/crops.csv 1
lines nothing/individuals.csv 1
json 'a film without a box' nothing/tracks.json "d['groups'] == 0 and not tracks and v['frames'] == 60"

# --- refused, with nothing left behind ---
refused() { # refused PATTERN ARGUMENT...
    pattern=$1
    shift
    track 2 no "$@"
    says "$pattern"
    silent
    absent no
}
# Files that name others for ffmpeg to open, whatever they are called: a playlist (HLS), a manifest (DASH), a script,
# the description of a session, a pattern of names. None is opened.
mkdir private
ffmpeg -v error -y -i film.mp4 -c copy -f mpegts private/film.ts
ffmpeg -v error -y -i film.mp4 -frames:v 3 'private/frame%03d.png'
printf '#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9.0,\n%s/private/film.ts\n#EXT-X-ENDLIST\n' "$PWD" >playlist.mp4
printf 'ffconcat version 1.0\nfile film.mp4\n' >script.mp4
cat >manifest.mp4 <<END
<?xml version="1.0"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT9S" minBufferTime="PT2S"
profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period><AdaptationSet mimeType="video/mp4"><Representation id="1"
bandwidth="1000" width="160" height="120" codecs="avc1.42c01e"><BaseURL>file://$PWD/film.mp4</BaseURL></Representation>
</AdaptationSet></Period></MPD>
END
printf '%s\n' v=0 'o=- 0 0 IN IP4 127.0.0.1' s=x 'c=IN IP4 127.0.0.1' 't=0 0' 'm=video 5004 RTP/AVP 96' \
    'a=rtpmap:96 H264/90000' >session.mp4
cp private/frame001.png 'private/frame%03d.png'
for f in playlist.mp4 script.mp4 manifest.mp4 session.mp4 'private/frame%03d.png'; do
    refused "$f: it is not a video, but a playlist, a script, an image sequence" "$f" --detections film.txt
done
track 0 stream private/film.ts --detections film.txt
rm -r private stream

refused 'no VIDEO or FOLDER' --detections film.txt
refused 'give --detections FILE' film.mp4
run 2 track film.mp4 --detections film.txt -m w.safetensors --threshold 1
says 'give -o DIR'
run 0 track film.mp4 --detections film.txt -m w.safetensors --size 64x64 -o guess
says 'none can be estimated without labels: 5 sightings .* So groups are cut at a score of 0.65, which is a guess'
check "crops.csv has the video, and the time" grep -q '^crops/film/[0-9-]*.png,film.mp4,film,,0:00:0[0-9].[0-9],' \
    guess/crops.csv
run 0 cluster guess -o guess.csv
check "reid cluster finds as many" [ "$(cut -d, -f 2 guess.csv | sed 1d | sort -u | wc -l)" = \
    "$(($(wc -l <guess/individuals.csv) - 1))" ]
run 2 track film.mp4 --detections film.txt -o no --threshold 1
says 'no model'
refused 'boxes.csv: line 1: the header lacks "frame"' film.mp4 --detections boxes.csv
: >empty.csv
refused 'empty.csv: the file is empty' film.mp4 --detections empty.csv
refused 'nowhere.txt: .*No such file' film.mp4 --detections nowhere.txt
refused 'no video could be read' nowhere.mp4 --detections film.txt
refused 'film.mp4 and ./film.mp4: both would be called film' film.mp4 ./film.mp4 --detections film.csv
refused 'does not name its video, and several' film.mp4 other.webm --detections film.txt
refused 'film.csv: it is about film.mp4, not about other.webm' other.webm --detections film.csv
sed '$s/^[0-9]*/61/' film.txt >long.txt
refused 'film.mp4: it has 60 frames, but there are detections of frame 60 (from 0)' film.mp4 --detections long.txt
sed 's/"width": 160/"width": 640/' coco.json >large.json
refused 'its frames have 160 x 120 pixels, but those of the detections 640 x 120' film.mp4 --detections large.json
echo '1,-1,170,5,20,20,1,-1,-1,-1' >outside.txt
refused 'frame 0: the box x 169, y 4, width 20, height 20 has no pixel of the 160 x 120 frame' film.mp4 \
    --detections outside.txt
refused 'cuts: line 1: "x" is not a frame' film.mp4 --detections film.txt --cuts "$(echo x >bad.cuts && echo bad.cuts)"
refused 'it has no video stream 1; it has 1, numbered from 0' film.mp4 --detections film.txt --stream 1
refused 'a frame has 160 x 120 pixels, more than --max-pixels 100' film.mp4 --detections film.txt \
    --max-pixels 100
refused '--first-frame takes 0|1' film.mp4 --detections film.txt --first-frame 2
refused 'apart takes SECONDS' film.mp4 --detections film.txt --apart x
PATH_BEFORE=$PATH
mkdir bare && for tool in sh grep cmp; do ln -s "$(command -v $tool)" bare/; done
PATH=$work/bare run 2 track -m w.safetensors --size 64x64 --threshold 0.9 -o no film.mp4 --detections film.txt
PATH=$PATH_BEFORE
says 'ffmpeg, which decodes videos, was not found: install it'
track 2 out film.mp4 --detections film.txt
says 'out: already exists and is not empty'
track 2 film.mp4 film.mp4 --detections film.txt
says 'film.mp4: already exists and is not a folder'
mkdir empty
umask 002
track 0 empty/ film.mp4 --detections film.txt
check "an empty folder may be there" [ -f empty/tracks.json ]
check "the umask decides who may write" [ "$(stat -c %a empty empty/tracks.json | tr '\n' ' ')" = '775 664 ' ]
umask 022

# With more tracks, the threshold is estimated without labels, and is the same everywhere.
for run in '--detections many.txt --no-frames' ''; do
    # shellcheck disable=SC2086 # two words, or none
    "$repository/build/demo_video" --size 160x120 --fps 2 --seconds 96 --scenes 16 --animals 3 --seed 4 $run >raw ||
        exit 1
done
ffmpeg -nostdin -v error -y -f rawvideo -pix_fmt rgb24 -s 160x120 -r 2 -i raw -c:v ffv1 -pix_fmt bgr0 many.mkv \
    </dev/null || exit 1
(cd "$repository" && make -s build/seeded) || exit 1
"$repository/build/seeded" --net resnet50-multiscale -o ms.safetensors || exit 1
run 0 track many.mkv --detections many.txt -m ms.safetensors --size 96x96 -o many
says 'so one was estimated without labels from [0-9]* sightings: 0.[0-9]*, 95 % interval 0.[0-9]* to 0.[0-9]*'
prints '^[0-9]* crops of [0-9]* individuals at threshold 0.[0-9]*, estimated without labels$'
number=$(sed -n 's/.* at threshold \(0.[0-9]*\), estimated without labels$/\1/p' "$out")
check "tracks.json has the threshold" grep -q "\"threshold\": $number" many/tracks.json
run 0 cluster many -o many.csv
prints "^[0-9]* crops in [0-9]* groups at threshold $number,"
check "the same individuals" [ "$(cut -d, -f 2 many.csv | sed 1d | sort -u | wc -l)" = \
    "$(sed 1d many/individuals.csv | wc -l)" ]
cp many/calibration.json made.json
run 0 calibrate many
same made.json many/calibration.json

# --- asked to stop ---
printf '#!/bin/sh\nsleep 1000\n' >hang
chmod +x hang
"$REID" track -m w.safetensors --size 64x64 --threshold 0.9 -o no film.mp4 --detections film.txt --ffmpeg ./hang \
    2>"$err" &
while [ ! -d no.part/whole/crops/film ]; do sleep 0.05; done
kill $!
wait $!
check "ended by the signal" [ $? = 143 ]
absent no
check "nothing left over" [ -z "$(find . -name '*.part*')" ]
track 2 no film.mp4 --detections film.txt --ffmpeg ./hang --frame-timeout 1
says 'film.mp4: ffmpeg sent no frame for 1 seconds'
no_leftovers
finish
