# t_match_page.sh: the pages of reid match -o FILE.html and of the demo in a real Chromium, on a desktop and on a phone,
# by day and by night: filters, contrast, room, alt texts, the policy, and file names like markup.
[ -n "${repository-}" ] || repository=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$repository" || exit 1
. tests/lib/browser.sh
need_browser
${MAKE:-make} -s build/demo_run >/dev/null || exit 1
. tests/lib/cli_lib.sh
b0 w.safetensors

# Eight individuals with three images each and one with an odd name; queries in the right folder, in another
# individual's folder, and of strangers.
odd='x<script>alert(1)<b>'
for i in 1 2 3 4 5 6 7 8; do
    mkdir -p "gal/id$i"
    for k in 1 2 3; do picture "gal/id$i/$k.png" 60 50 $((10 * i + k)); done
done
mkdir -p "gal/$odd" query/unknown
picture "gal/$odd/\"&quot;'.png" 60 50 1
for i in 1 2 3 4; do
    mkdir -p "query/id$i"
    cp "gal/id$i/1.png" "query/id$i/right.png"
    cp gal/id8/2.png "query/id$i/wrong.png"
    picture "query/unknown/$i.png" 60 50 $((90 + i))
done
cp "gal/$odd/\"&quot;'.png" "query/<i>&amp;'.png"
run 0 match -m w.safetensors --size 64x64 --gallery gal --threshold 0.999 -o page.html query
check "names are escaped" grep -q 'x&lt;script>alert(1)&lt;b>' page.html
mkdir -p herd && cp -r gal/id* herd && mkdir herd/unknown && cp query/unknown/*.png herd/unknown
"$repository/build/demo_run" -m w.safetensors -o demo.html herd >"$out" 2>"$err"
check "the demo's page" [ $? = 0 ]
SE_OFFLINE=true "$python" "$repository/tests/tools/report/match_page.py" page.html demo.html
check "the pages" [ $? = 0 ]
finish
