#!/usr/bin/env python3
"""Writes unicode_table.h from Python's unicodedata: python3 unicode_table.py > unicode_table.h

The canonical decompositions of one step, the combining classes, and the compositions that Unicode excludes. Hangul
syllables are left out, because unicode.c computes them.
"""
import sys
import unicodedata

CODES = [c for c in range(0x110000) if not 0xAC00 <= c <= 0xD7A3]


def parts_of(code):
    parts = unicodedata.decomposition(chr(code))
    return [] if parts.startswith("<") else [int(part, 16) for part in parts.split()]


def class_ranges():
    ranges = []
    for code in CODES:
        own = unicodedata.combining(chr(code))
        if own and ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == own:
            ranges[-1][1] = code
        elif own:
            ranges.append([code, code, own])
    return ranges


def write(comment, declaration, rows):
    print(f"\n/* {comment} */\n{declaration} = {{")
    line = "   "
    for row in rows:
        if len(line) + len(row) + 2 > 118:
            print(line)
            line = "   "
        line += f" {row},"
    print(line + "\n};")


pairs = {code: parts for code in CODES if (parts := parts_of(code))}
excluded = [code for code, parts in pairs.items()
            if len(parts) == 2 and unicodedata.normalize("NFC", chr(code)) != chr(code)]
if any(len(parts) > 2 for parts in pairs.values()):
    sys.exit("a decomposition has more than two parts")

print(f"""/* What unicode.c knows of Unicode {unicodedata.unidata_version}. Made by unicode_table.py; do not edit. */
#ifndef REID_TOOLS_UNICODE_TABLE_H
#define REID_TOOLS_UNICODE_TABLE_H

#include <stdint.h>

#define UNICODE_TABLE_VERSION "{unicodedata.unidata_version}\"""")
write("A character and the one or two (else 0) that it decomposes into, by character.",
      "static const uint32_t DECOMPOSITIONS[][3]",
      ("{" + ", ".join(f"0x{part:X}" if part > 9 else "0" for part in [code, *parts, 0][:3]) + "}"
       for code, parts in pairs.items()))
write("Characters of two parts that are never composed, ascending.", "static const uint32_t EXCLUDED[]",
      (f"0x{code:X}" for code in excluded))
write("The first and last character of a range and their combining class, if it is not 0, by character.",
      "static const uint32_t CLASSES[][3]",
      (f"{{0x{first:X}, 0x{last:X}, {own}}}" for first, last, own in class_ranges()))
print("\n#endif")
