# t_cli_inputs.sh: what reid embed reads: files, folders, lists, EXIF, and everything that can be wrong with them.
. tests/lib/cli_lib.sh
b0 w.safetensors
embed() { status=$1; shift; run "$status" embed -m w.safetensors --size 64x64 "$@"; }
ids() { sed 's/^{"path": "\(.*\)", "identity".*/\1/' "$out" >ids; }
floats() { sed 's/.*"embeddings": //' "$out"; }
order_is() { ids; printf '%s\n' "$@" >wanted; same ids wanted; }

# Folders: recursive, byte order of names, images only, hidden names left out.
mkdir -p tree/b/deep tree/B tree/empty "tree/with space"
picture one.png 40 30 1
for f in tree/z.png tree/b/2.PNG tree/b/10.png tree/b/deep/x.png tree/B/1.png "tree/with space/é.png" \
    tree/.hidden.png tree/b.png; do cp one.png "$f"; done
echo text >tree/notes.txt
embed 0 tree/
order_is tree/B/1.png tree/b/10.png tree/b/2.PNG tree/b/deep/x.png tree/b.png "tree/with space/é.png" tree/z.png
sed 's/.*"identity": "\([^"]*\)".*/\1/' "$out" >identities
printf '%s\n' B b b b b "with space" z >wanted
same identities wanted

# Arguments keep their order and their duplicates.
embed 0 tree/z.png one.png tree/b tree/z.png
order_is tree/z.png one.png tree/b/10.png tree/b/2.PNG tree/b/deep/x.png tree/z.png

# A symbolic link to a parent folder does not cause a hang; one to another folder is followed.
mkdir -p loop/in
cp one.png loop/in/a.png
ln -s .. loop/in/up
ln -s ../tree/B loop/other
embed 0 loop
order_is loop/in/a.png loop/other/1.png

# Names with spaces, newlines, quotes, backslashes, dashes, UTF-8 and bytes that are not UTF-8.
newline=$(printf 'new\nline.png')
latin=$(printf 'caf\351.png')
for f in "a b.png" "$newline" 'q"u\o.png' -dash.png "ünï.png" "$latin"; do cp one.png "./$f"; done
embed 0 "a b.png" "$newline" 'q"u\o.png' "ünï.png" "$latin" -- -dash.png
order_is 'a b.png' 'new\nline.png' 'q\"u\\o.png' 'ünï.png' 'caf\udce9.png' -dash.png
embed 0 -o names.npy "$newline" 'q"u\o.png'
printf '%s\n' 'new\nline.png' 'q"u\\o.png' >wanted
same names.ids.txt wanted

# Lists on stdin, by lines and by zero bytes; folders in them are searched too.
list() { printf "$1" | "$REID" embed -m w.safetensors --size 64x64 $2 >"$out" 2>"$err"; check "list $2" [ $? = "$3" ]; }
list 'one.png\n\ntree/B\na b.png' '-' 0
order_is one.png tree/B/1.png 'a b.png'
list 'new\nline.png\0one.png\0' '-0 -' 0
order_is 'new\nline.png' one.png
list 'one.png\n' 'tree/B - a.png' 1
order_is tree/B/1.png one.png
list 'one.png\n' '- -' 2
says 'can only be given once'
list 'one.png\0' '-' 2
says 'zero byte'
list '' '-' 2
says 'no images found'
embed 2 -0 one.png
says 'needs the INPUT -'

# Inputs that fail are named, have no row, and do not stop the others. WebP and TIFF files fail here, since a file with
# the name of a library is not one; t_webp.sh and t_tiff.sh read them.
mkdir none
for library in libwebp.so.7 libtiff.so.6 libtiff.so.5; do echo 'no library' >none/$library; done
export LD_LIBRARY_PATH="$work/none"
mkdir folder.png nothing-here
: >empty.png
printf 'GIF89a' >short.gif
head -c 200 one.png >cut.png
echo '<!DOCTYPE html><html>' >page.jpg
printf 'version https://git-lfs.github.com/spec/v1\n' >pointer.png
printf 'RIFF....WEBPVP8 ' >new.webp
printf 'P6\n70000 70000\n255\n' >huge.ppm
printf 'P6\n0 10\n255\n' >zero.ppm
mkfifo pipe.png
cp one.png flipped.png
printf '\377' | dd of=flipped.png bs=1 seek=300 conv=notrunc 2>/dev/null
picture whole.jpg 64 64 5
head -c 900 whole.jpg >cut.jpg
embed 1 empty.png short.gif cut.png page.jpg pointer.png new.webp huge.ppm zero.ppm pipe.png flipped.png cut.jpg \
    missing.png folder.png nothing-here one.png
order_is one.png
says 'empty.png: the file is empty'
says 'short.gif: a GIF image'
says 'cut.png: the PNG file ends early'
says 'page.jpg: an HTML page'
says 'pointer.png: a Git-LFS pointer'
says 'new.webp: a WebP image'
says 'huge.ppm: 70000 x 70000 pixels exceed the limit'
says 'zero.ppm: '
says 'pipe.png: is not a regular file'
says 'flipped.png: damaged PNG'
says 'cut.jpg: .*ends early'
says 'missing.png: cannot open: No such file'
says 'folder.png: no images in this folder'
says 'nothing-here: no images in this folder'
says '14 of 15 inputs failed'
embed 2 nothing-here
says 'the only input failed'
embed 2 --max-pixels 1199 one.png -o none.jsonl
says '40 x 30 pixels exceed the limit of 1199'
printf 'evil\033[31m.png' >name
embed 2 "$(cat name)"
check "control characters are escaped" grep -q 'evil\\x1b\[31m.png: cannot open' "$err"

# Cut and flipped files of every format: some decode, some fail, none crashes or hangs.
mkdir harmed
for kind in jpg png bmp tga ppm; do
    picture small.$kind 9 7 6
    for n in 3 20 50 130 200 400; do head -c $n small.$kind >harmed/cut$n.$kind; done
    for n in 2 5 9 14 18 25 40 90 160 165 180 300; do
        cp small.$kind harmed/flip$n.$kind
        printf '\377\200' | dd of=harmed/flip$n.$kind bs=1 seek=$n conv=notrunc 2>/dev/null
    done
done
timeout 60 "$REID" embed -q -m w.safetensors --size 64x64 harmed -o harmed.npy 2>"$err"
check "harmed files: some succeed" [ $? = 1 ]
check "each is done or named" [ "$(($(wc -l <harmed.ids.txt) + $(wc -l <"$err")))" -eq "$(ls harmed | wc -l)" ]
cp whole.jpg harmed.jpg
table=$(grep -obUa "$(printf '\377\304')" whole.jpg | head -1 | cut -d: -f1) # its first Huffman table
printf '\377\377' | dd of=harmed.jpg bs=1 seek=$((table + 6)) conv=notrunc 2>/dev/null
printf 'P5\n2 2\n0\n1234' >dark.pgm
printf 'P6\n99999999999999999999 2\n255\n1234' >wrap.ppm
embed 2 harmed.jpg dark.pgm wrap.ppm
says 'harmed.jpg: damaged JPEG (Huffman table)'
says 'dark.pgm: .*largest value'
says 'wrap.ppm: damaged PPM'

# Progressive JPEG files of 25 million grey pixels, with one bit per block: decoding one takes 300 MB, so the four
# decoders do not decode them at the same time. AddressSanitizer needs more addresses. Without those bits a file is
# refused.
mkdir few
{
    printf '\377\330\377\333\0\103\0'
    for i in 1 2 3 4 5 6 7 8; do printf '\1\1\1\1\1\1\1\1'; done
    printf '\377\304\0\46\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\20\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
    printf '\377\302\0\21\10\23\210\23\210\3\1\21\0\2\21\0\3\21\0\377\332\0\14\3\1\0\2\0\3\0\0\0\0'
} >short.jpg
{
    cat short.jpg
    head -c 146485 /dev/zero
    printf '\377\331'
} >few/1.jpg
printf '\377\331' >>short.jpg
embed 2 short.jpg
says 'short.jpg: the JPEG file is too short for its size'
for i in 2 3 4; do cp few/1.jpg few/$i.jpg; done
(
    case $REID in */leaks/*) ;; *) ulimit -v 800000 ;; esac
    MALLOC_ARENA_MAX=1 "$REID" embed -q -m w.safetensors --size 32x32 --device cpu --threads 1 --jpeg stb --decoders 4 \
        few -o few.npy 2>"$err"
)
check "few bytes of many pixels, one at a time" [ $? = 0 ]

# PNG, BMP, PPM and TGA of the same pixels give the same bits; so do repeated and batched ones.
for f in bmp ppm tga; do picture same.$f 50 70 3; done
picture same.png 50 70 3
embed 0 same.png same.bmp same.ppm same.tga same.png --batch 3
floats | sort -u >unique
lines unique 1

# EXIF: a JPEG with each orientation equals its pixels turned upright.
picture plain.jpg 60 40 4
for k in 1 2 3 4 5 6 7 8; do
    for order in II MM; do
        "$CLI_FILES" exif plain.jpg "exif$k$order.jpg" $k $order
        "$CLI_FILES" upright plain.jpg "exif$k$order.png" $k
    done
done
embed 0 exif?II.jpg exif?MM.jpg --jpeg stb # as cli_files has decoded them
floats >from_exif
embed 0 exif?II.png exif?MM.png
floats >from_pixels
same from_exif from_pixels
sort -u from_exif >unique
lines unique 8
"$CLI_FILES" exif plain.jpg wrong.jpg 9 II
embed 0 plain.jpg wrong.jpg
floats | sort -u >unique
lines unique 1


# The contents of a folder's files decide, not their names. Images in formats that are not read are rows that fail,
# which one line counts and "failures" lists.
mkdir -p mixed/ann mixed/bob mixed/raw
picture mixed/ann/1.jpg 60 50 1
for name in 2.jfif 3.JPE 4.JFIF 5.webp 6; do cp mixed/ann/1.jpg "mixed/ann/$name"; done # JPEG all
picture mixed/ann/7.png 60 50 2
mv mixed/ann/7.png mixed/ann/7.tif
cp mixed/ann/7.tif mixed/ann/8.jpg
printf 'RIFF\044\000\000\000WEBPVP8 ' >mixed/bob/a.webp
cp mixed/bob/a.webp mixed/bob/b.WebP
cp mixed/bob/a.webp mixed/bob/c.jpg
cp mixed/bob/a.webp mixed/bob/no_ending
printf 'II*\000\010\000\000\000\000\000' >mixed/bob/d.tif
printf '\000\000\000\030ftypheic\000\000\000\000' >mixed/bob/e.HEIC
printf 'notes' >mixed/bob/notes.txt
printf 'notes' >mixed/bob/README
printf '%%PDF-1.7' >mixed/bob/scan
printf 'nothing' >mixed/bob/f.gif
cp mixed/bob/d.tif mixed/raw/IMG_1.CR2 # beside the same image as JPEG
cp mixed/ann/1.jpg mixed/raw/IMG_1.JPG
cp mixed/bob/d.tif mixed/raw/IMG_10.CR2
run 1 embed -m w.safetensors --size 64x64 mixed -o mixed.npy
says 'mixed: 6 images in formats that reid does not read: WebP image (3), TIFF or raw image (2), HEIC image (1); the'
says 'the first is mixed/bob/a.webp. Convert them, for example with ImageMagick: magick mogrify -format png'
says 'mixed: left out 1 image in formats that reid does not read: it has the same name as a readable image'
says 'mixed/bob/c.jpg: a WebP image, which needs libwebp (Debian: libwebp7); install it, or convert the image to PNG'
says 'mixed/bob/f.gif: not an image that can be decoded'
says '8 of 17 inputs failed'
check "each kind in one line" [ "$(wc -l <"$err")" = 5 ]
printf '%s\n' 1.jpg 2.jfif 3.JPE 4.JFIF 5.webp 6 7.tif 8.jpg | sed 's|^|mixed/ann/|' >wanted
echo mixed/raw/IMG_1.JPG >>wanted
same mixed.ids.txt wanted
for name in bob/a.webp bob/b.WebP bob/no_ending bob/d.tif bob/e.HEIC raw/IMG_10.CR2; do
    check "failures have $name" \
        grep -q "{\"path\": \"mixed/$name\", \"reason\": \"a.* image, which \(is not supported\|needs libwebp\)" \
        mixed.meta.json
done
run 1 match -m w.safetensors --size 64x64 --gallery mixed mixed/ann/1.jpg
says 'mixed: 6 images in formats that reid does not read'
rm -r mixed/ann mixed/raw
run 2 embed -m w.safetensors --size 64x64 mixed -o none.npy
says 'all 7 inputs failed; nothing was written'
finish
