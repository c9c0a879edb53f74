"""Names for unicode_forms.c, and what Python's unicodedata says of them: unicode_forms.py VERSION PROGRAM

VERSION is that of Unicode in tools/base/unicode_table.h. What a character of a later version decomposes into, the table
cannot know; Unicode never changes those of an earlier one.
"""
import random
import subprocess
import sys
import unicodedata

VERSION, PROGRAM = sys.argv[1:]
OURS = tuple(map(int, VERSION.split(".")))
THEIRS = tuple(map(int, unicodedata.unidata_version.split(".")))
SEED = 20261128


def is_usable(code):
    return code not in (0, 9, 10) and not 0xD800 <= code < 0xE000


def later(char):
    """Whether only the newer of the two versions may know the character."""
    if THEIRS < OURS:
        return unicodedata.category(char) == "Cn"
    return THEIRS > OURS and char in NEW


def table_of(program):
    """The characters that a newer Python decomposes and the table does not know."""
    chars = [chr(code) for code in range(0x110000) if is_usable(code)]
    found = answers(program, chars)
    return {char for char, (nfd, _, _, _) in zip(chars, found)
            if nfd == char and unicodedata.normalize("NFD", char) != char}


def answers(program, names):
    out = subprocess.run([program], input="\n".join(names).encode() + b"\n", stdout=subprocess.PIPE, check=True).stdout
    return [line.split("\t") for line in out.decode().split("\n")[:-1]]


def strings():
    """Every part of Hangul after some others, and random names of characters that combine, decompose or compose."""
    yield from (first + chr(code) for first in "\u1100\uac00\uac01\ud788\ud7a3" for code in range(0x10FF, 0x1201))
    draw = random.Random(SEED)
    telling = [chr(code) for code in range(0x110000) if is_usable(code) and
               (unicodedata.combining(chr(code)) or unicodedata.decomposition(chr(code)) or 0x1100 <= code < 0x1200)]
    syllables = [chr(code) for code in range(0xAC00, 0xD7A4, 97)]
    for _ in range(60000):
        name = "".join(draw.choice(draw.choice((telling, telling, syllables, "ae/_.1")))
                       for _ in range(draw.randint(1, 9)))
        if any(later(char) for char in name):
            continue
        yield name
        yield unicodedata.normalize(draw.choice(("NFC", "NFD")), name)
        yield "".join(draw.sample(name, len(name)))


def check(names):
    wrong = 0
    before = None
    for name, (nfd, nfc, order, hashes_differ) in zip(names, answers(PROGRAM, names)):
        expected = [unicodedata.normalize(form, name) for form in ("NFD", "NFC")]
        if before is not None:
            expected.append(str((before > expected[0]) - (before < expected[0])))
        good = [nfd, nfc, order][:len(expected)] == expected and hashes_differ == "0"
        if not good and wrong < 5:
            print("wrong:", ascii(name), ascii([nfd, nfc, order, hashes_differ]), "expected", ascii(expected))
        wrong += not good
        before = expected[0]
    return wrong


NEW = table_of(PROGRAM) if THEIRS > OURS else set()
ALL = [chr(code) for code in range(0x110000) if is_usable(code) and not later(chr(code))]
DRAWN = list(strings())
WRONG = check(ALL) + check(DRAWN)
print(f"{len(ALL)} characters and {len(DRAWN)} names with Unicode {VERSION} and Python's "
      f"{unicodedata.unidata_version}: {WRONG} wrong")
sys.exit(WRONG > 0 or len(ALL) < 1100000 or len(DRAWN) < 100000)
