# t_review_page.sh: the page of reid review in a real Chromium: clicks, keys, undo, names, splitting, new groups,
# reload, two tabs, file names like markup, touch, 50,000 crops, and the page as one file, whose decisions are imported.
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
SE_OFFLINE=true "$python" "$repository/tests/tools/review/review_page.py" "$REID"
status=$?
[ $status != 77 ] || exit 77
check "the page" [ $status = 0 ]
finish
