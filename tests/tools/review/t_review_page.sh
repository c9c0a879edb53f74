# t_review_page.sh: the page of reid review in a real Chromium: clicks, keys, undo, names, splitting, new groups,
# reload, two tabs, file names that look like markup, touch, whole photos, images that load late, the name of
# the person who answers, 50,000 crops, and the page as one file, whose decisions are imported.
[ -n "${repository-}" ] || repository=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$repository" || exit 1
. tests/lib/browser.sh
need_browser
. tests/lib/cli_lib.sh
"$REID" review x --decisions d 2>&1 | grep -q 'compiled without libmicrohttpd' &&
    { echo "no libmicrohttpd here"; exit 77; }
need_eval_files

mkdir -p a b 'x<script>alert(1)<'
for i in 1 2 3 4; do picture a/$i.png 160 120 $i && picture b/$i.png 120 160 $((i + 10)); done
odd='x<script>alert(1)</script>.png'
picture "$odd" 90 90 30
picture 'c&quot;><img.png' 90 60 31
{
    for i in 1 2 3 4; do echo "a/$i.png ann" && echo "b/$i.png bob"; done
    echo "$odd odd"
    echo 'c&quot;><img.png cat'
} >list
"$EVAL_FILES" crops.npy 16 7 0.7 <list
awk 'BEGIN { for (i = 0; i < 50000; i++) printf "many/%05d/%d.png p%d\n", i, i % 10, i / 5 }' >list
"$EVAL_FILES" many.npy 16 9 0.2 <list
mkdir -p photos/east tracks/crops
picture 'photos/east/<b>&.png' 300 200 50
printf 'crops/%s.png ann\n' 0 1 2 3 >list
for i in 0 1 2 3; do picture tracks/crops/$i.png 40 30 $((60 + i)); done
"$EVAL_FILES" tracks/embeddings.npy 16 7 0.3 <list
echo id >tracks/crops.csv
python3 - <<'PYTHON' || exit 1
import json
path = "tracks/embeddings.meta.json"
meta = json.load(open(path))
meta["cameras"] = ["east", "east", "", ""]
meta["times"] = ["2024-05-31T23:59:50.500", "2024-06-01T00:00:00", "", ""]
meta["sources"] = ["photos/east/<b>&.png#xywh=10,20,30,40", "photos/east/gone.png#xywh=0,0,5,5",
                   "walk.mp4#t=3725.400&xywh=1,2,3,4", ""]
json.dump(meta, open(path, "w"))
tracks = [{"category": what, "frames": [{"path": "crops/%d.png" % i}]}
          for i, what in enumerate(("animal", "person", "vehicle", "1"))]
json.dump({"videos": [{"scenes": [{"tracks": tracks}]}]}, open("tracks/tracks.json", "w"))
PYTHON
SE_OFFLINE=true "$python" "$repository/tests/tools/review/review_page.py" "$REID"
status=$?
[ $status != 77 ] || exit 77
check "the page" [ $status = 0 ]
finish
