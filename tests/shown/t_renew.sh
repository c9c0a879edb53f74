#!/bin/sh
# What sh tests/run --write does to tests whose messages were rewritten: small ones in a separate folder, in shell, in C
# and in Python. Patterns, variables and tables are updated, undecidable cases are reported, and other failures remain.
#
#   sh tests/shown/t_renew.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
for program in bash python3 addr2line; do
    command -v $program > /dev/null || { echo "skipped: no $program here"; exit 77; }
done
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
. tests/lib/check.sh
unset REID_WRITE
mkdir -p "$dir/tests/core" "$dir/tests/tools/room" "$dir/tests/fuzz" "$dir/tools"
cp -R tests/lib tests/run "$dir/tests" && cp tools/setup.sh "$dir/tools" && : > "$dir/reid.h" || exit 1
log=$dir/log
write() { # write STATUS NAME: runs --write on that test
    (cd "$dir" && sh tests/run --write "$2") > "$log" 2>&1
    got=$?
    if [ $got = "$1" ]; then good; else bad "--write $2: exit code $got, not $1"; fi
}
passes() { # passes NAME
    if (cd "$dir" && sh tests/run "$1") > "$log" 2>&1; then good; else bad "$1 does not pass"; fi
}
has() { # has FILE TEXT...: some line has each text
    file=$dir/tests/$1
    shift
    for text; do if grep -qF -e "$text" "$file"; then good; else cp "$file" "$log" && bad "no line: $text"; fi; done
}
told() { if grep -qF -e "$1" "$log"; then good; else bad "it is not told: $1"; fi; }

# --- shell ---
cat > "$dir/tests/core/t_shell.sh" <<'END'
# t_shell.sh: a test in shell.
. tests/lib/check.sh
log=$TMPDIR/log
trap 'rm -f "$log"' EXIT
compare() { shows "$1" "$log" && good || bad "$1"; }
refused() { echo "reid: $2" > "$log" && compare "$1"; }
refused 'no model' 'give a model with -m FILE'
refused '^reid: a.npy was made by .*, b.npy holds those of' 'a.npy comes from 01ab (b0), b.npy has those of ff00'
for name in one two; do refused "$name: no picture" "$name: not a picture"; done
refused "not every crop.s camera is known" "the cameras of some crops aren't known"
refused 'cannot open' 'x: cannot open'
refused 'cannot open' 'x: could not open'
refused '1 inputs failed' "1 input of $TMPDIR/in failed"
refused 'not downloaded' 'cannot download from http://127.0.0.1:4711/a'
refused 'costs \$5\*' 'costs $6* or [more]'
while read -r asked; do
    printf 'reid: the weights are %s\nreid: another line\n' "not $asked" > "$log"
    compare "weights are no $asked"
done <<CASES
here
CASES
refused 'a message which is so long that its line is nearly full with it, and not much is left' "a message that is so \
long that its line is nearly full with it, and not much at all is left of what it was before"
finish
END
if (cd "$dir" && sh tests/run t_shell) > "$log" 2>&1; then bad 'the messages are others, and it passes'; else good; fi
write 0 t_shell
has core/t_shell.sh "refused 'give a model' 'give" 'refused "$name: not a picture" "' \
    "refused '^reid: a.npy comes from 01ab .*, b.npy has those of' 'a" "refused 'cannot open' 'x: cannot open'" \
    "refused 'could not open' 'x: could not open'" 'costs \$6\* or \[more]' "refused '1 input of .* failed' \"1" \
    "refused 'cannot download from http://127.0.0.1:.*/a' 'c" \
    "compare \"weights are not \$asked\"" "cameras of some crops aren't known\" \"the"
passes t_shell
[ "$(awk 'length > 120' "$dir/tests/core/t_shell.sh")" = '' ] && good || bad 'a long line'

# --- C ---
cat > "$dir/tests/core/t_c.c" <<'END'
/* t_c.c: a test in C.

   cc -std=c99 -D_GNU_SOURCE tests/core/t_c.c -o build/t_c */
#include "../lib/test_says.h"
#define NAME "ann"

static int failed;

static void check(int holds) { failed += !holds; }
static void refused(const char *message, const char *reason) { check(says(message, reason)); }

int main(void) {
    static const struct {
        const char *message, *text;
    } table[] = {
        {"reid: the file is cut off", "ends early"},
        {"reid: cannot open", "cannot open"},
        {"reid: could not open", "cannot open"},
    };
    char text[100];
    for (int i = 0; i < 3; i++) refused(table[i].message, table[i].text);
    refused("a \"quoted\" name", "no name");
    check(says_all("rows 1 and 2 must not be linked, but must-links connect them in a way: 1 - 2 - 3 - 4", "rows"));
    check(says("one is called " NAME " and another is", "who is called " NAME " and who is"));
    snprintf(text, sizeof text, "%d images wait", 4);
    check(says("4 images are waiting", text));
    return failed != 0;
}
END
write 0 t_c
has core/t_c.c '{"reid: the file is cut off", "the file is cut off"}' '{"reid: cannot open", "cannot open"}' \
    '{"reid: could not open", "could not open"}' 'refused("a \"quoted\" name", "a \"quoted\" name");' \
    'linked, but must-links connect them' '"one is called " NAME " and another is"' \
    'sizeof text, "%d images are waiting", 4'
passes t_c

# --- Python ---
cat > "$dir/tests/core/t_checker.sh" <<'END'
# t_checker.sh: a test in Python.
python3 tests/core/python.py
END
cat > "$dir/tests/core/python.py" <<'END'
import sys

sys.path.append("tests/lib")
from says import says, says_like

cases = [("body: is over the limit of 16", "body: over .* 16"), ("it's closed", "was closed")]
assert all([says_like(message, pattern) for message, pattern in cases]), cases
for name in "ab":
    assert says(f"{name}: not a picture", f"{name}: no picture")
END
write 0 t_checker
has core/python.py '"body: is over .* 16")' '"it'"'"'s closed")]' 'f"{name}: not a picture")'
passes t_checker

# --- undecidable cases, and failures that no message causes ---
cat > "$dir/tests/tools/room/t_two.sh" <<'END'
# t_two.sh: one text for two messages.
. tests/lib/check.sh
log=$TMPDIR/log
trap 'rm -f "$log"' EXIT
for word in first second; do
    echo "reid: the $word of them" > "$log"
    shows 'nothing at all' "$log" && good || bad "$word"
done
printf 'one line\nand a second\n' > "$log"
shows 'unlike anything that is said' "$log" && good || bad 'unlike'
finish
END
cp "$dir/tests/tools/room/t_two.sh" "$dir/before"
write 1 t_two
told 'tests/tools/room/t_two.sh:7: this needs a manual change: it is also compared with another message'
told 'tests/tools/room/t_two.sh:10: this needs a manual change: no message is similar to it'
told 'expected: nothing at all'
told 'said:     reid: the first of them'
cmp -s "$dir/before" "$dir/tests/tools/room/t_two.sh" && good || bad 'what cannot be decided was written'
cat > "$dir/tests/core/t_status.sh" <<'END'
# t_status.sh: a message, and a failure that is none.
. tests/lib/check.sh
log=$TMPDIR/log
trap 'rm -f "$log"' EXIT
echo 'reid: not a picture' > "$log"
shows 'no picture' "$log" && good || bad 'message'
[ 1 = 2 ] && good || bad 'the status is another one'
finish
END
write 1 t_status
told 'FAILED: the status is another one'
has core/t_status.sh "shows 'not a picture'"
sed -i '/message/d' "$dir/tests/core/t_status.sh"
write 1 t_status
if (cd "$dir" && sh tests/run --write) > "$log" 2>&1; then bad '--write of everything'; else good; fi
finish
