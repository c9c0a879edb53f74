"""renew_align.py: computes a test's new pattern for a message, or a part of one, that has been rewritten.

A pattern is aligned with the line of the message, character by character, and its parts keep their places: wildcards
stay wildcards, anchors stay anchors. A pattern for a part of a line becomes the part of the new
line between the same neighbours: where its first or last words were rewritten, it goes to the next ": " or a few words
further than they did.
Of several lines, the one that is most like the pattern is taken."""
import difflib
import re

SOLID = 5  # letters in a row that are the same by more than chance
MORE_WORDS = 3  # than there were, at most, in the place of words that were rewritten
LONGEST = 600  # characters of a line that are looked at
REPEAT = {"bre": (r"*", r"\?", r"\+"), "ere": ("*", "?", "+"), "fixed": ()}
REPEAT["py"] = REPEAT["ere"]


class Item:
    """A character of a pattern, or a wildcard, as it is written and as Python's expression."""

    def __init__(self, source, char=None, expression=None):
        self.source, self.char = source, char
        self.expression = re.escape(char) if expression is None else expression


def until(pattern, at, opening, closing):
    """Where the group that begins at `at` ends."""
    depth = 0
    while at < len(pattern):
        if pattern.startswith(opening, at):
            depth, at = depth + 1, at + len(opening)
        elif pattern.startswith(closing, at):
            depth, at = depth - 1, at + len(closing)
            if depth == 0:
                return at
        else:
            at += 2 if pattern[at] == "\\" else 1
    return len(pattern)


def bracket_end(pattern, at):
    end = pattern.find("]", at + (3 if pattern.startswith("[^", at) else 2))
    return len(pattern) if end < 0 else end + 1


def one_item(pattern, at, kind):
    """The item at `at` without what repeats it, and where it ends."""
    special, escaped = pattern[at], pattern[at:at + 2]
    extended = kind in ("ere", "py")
    group = ("(", ")") if extended else (r"\(", r"\)")
    if kind == "fixed":
        return Item(special, special), at + 1
    if pattern.startswith(group[0], at):
        end = until(pattern, at, *group)
        inner = pattern[at + len(group[0]):end - len(group[1])]
        return Item(pattern[at:end], expression="(?:" + expression_of(inner, kind) + ")"), end
    if special == "[":
        end = bracket_end(pattern, at)
        inside = pattern[at + 1:end - 1] if kind == "py" else pattern[at + 1:end - 1].replace("\\", r"\\")
        return Item(pattern[at:end], expression="[" + inside + "]"), end
    if special == ".":
        return Item(".", expression="."), at + 1
    if special == "\\" and len(escaped) == 2:
        if escaped[1].isalnum():
            return Item(escaped, expression=escaped), at + 2
        return Item(escaped, escaped[1]), at + 2
    return Item(special, special), at + 1


def items_of(pattern, kind):
    """A pattern without anchors and alternatives as a list of items."""
    items, at = [], 0
    while at < len(pattern):
        item, at = one_item(pattern, at, kind)
        repeat = next((r for r in REPEAT[kind] if pattern.startswith(r, at)), "")
        braces = ("{", "}") if kind in ("ere", "py") else (r"\{", r"\}")
        if not repeat and kind != "fixed" and pattern.startswith(braces[0], at) and items_follow(pattern, at, braces):
            repeat = pattern[at:until(pattern, at, *braces)]
        if repeat:
            item = Item(item.source + repeat, expression=item.expression + repeat.replace("\\", ""))
            at += len(repeat)
        items.append(item)
    return items


def items_follow(pattern, at, braces):
    return re.match(r"[0-9]", pattern[at + len(braces[0]):] or "-") is not None


def alternatives(pattern, kind):
    bar = {"bre": r"\|", "ere": "|", "py": "|", "fixed": None}[kind]
    if bar is None or bar not in pattern:
        return [pattern], bar
    parts, depth, last, at = [], 0, 0, 0
    opening, closing = (r"\(", r"\)") if kind == "bre" else ("(", ")")
    while at < len(pattern):
        if pattern.startswith(bar, at) and depth == 0:
            parts.append(pattern[last:at])
            at = last = at + len(bar)
        elif pattern[at] == "[" and (at == 0 or pattern[at - 1] != "\\"):
            at = bracket_end(pattern, at)
        else:
            depth += pattern.startswith(opening, at) - pattern.startswith(closing, at)
            at += 2 if pattern[at] == "\\" else 1
    return parts + [pattern[last:]], bar


def expression_of(pattern, kind):
    """The pattern as Python's expression."""
    parts = []
    for part in alternatives(pattern, kind)[0]:
        begins, ends, inner = anchors(part, kind)
        inner = "".join(item.expression for item in items_of(inner, kind))
        parts.append("^" * begins + inner + "$" * ends)
    return "|".join(parts)


def anchors(pattern, kind):
    """Whether it begins and ends with an anchor, and what is between them."""
    if kind == "fixed":
        return False, False, pattern
    begins = pattern.startswith("^")
    ends = pattern.endswith("$") and not pattern.endswith(r"\$") and len(pattern) > begins
    return begins, ends, pattern[begins:len(pattern) - ends]


def ends_of(item, line, at):
    """Where the text of a wildcard that begins at `at` can end."""
    if item.char is not None:
        return [at + 1] if line[at:at + 1] == item.char else []
    compiled = re.compile(item.expression, re.DOTALL)
    return [k for k in range(at, len(line) + 1) if compiled.fullmatch(line, at, k)]


def align(items, line):
    """The steps (index of an item, begin, end) of the best way to lay the items along the line."""
    rows, columns = len(items), len(line)
    best = [[(0.0, None)] * 2 for _ in range(columns + 1)]
    table = [best]
    for i in range(rows - 1, -1, -1):
        item, after, row = items[i], table[-1], [None] * (columns + 1)
        wild = item.char is None
        for j in range(columns, -1, -1):
            cell = []
            ends = ends_of(item, line, j) if wild or line[j:j + 1] == item.char else []
            for follows in (0, 1):
                choice = (after[j][0][0] - (0.5 if wild else 0), ("skip", j))
                if j < columns and row[j + 1][0][0] > choice[0]:
                    choice = (row[j + 1][0][0], ("pass", j + 1))
                for k in ends:
                    worth = 1 + follows if not wild else (0.6 if k > j and item.source != "." else 0.3)
                    worth += (0.5 * follows - 0.01 * (k - j)) if wild else 0
                    if worth + after[k][1][0] > choice[0]:
                        choice = (worth + after[k][1][0], ("take", k))
                cell.append(choice)
            row[j] = cell
        table.append(row)
    table.reverse()
    return walk(table, rows, columns)


def walk(table, rows, columns):
    steps, i, j, follows = [], 0, 0, 0
    while i < rows and j <= columns:
        what, to = table[i][j][follows][1]
        if what == "take":
            steps.append((i, j, to))
            i, j, follows = i + 1, to, 1
        elif what == "skip":
            i, follows = i + 1, 0
        else:
            j, follows = to, 0
    return steps


def between(items, steps, step):
    """Whether what comes before and after a step in the pattern does so in the line."""
    i, j, k = step
    return (i == 0 or any(s[0] == i - 1 and s[2] == j for s in steps)) and \
        (i + 1 == len(items) or any(s[0] == i + 1 and s[1] == k for s in steps))


def is_solid(items, run, line):
    """Whether a run has a word in it, or much of one, so that it does not stand there by chance."""
    text = "".join(items[s[0]].char or " " for s in run)
    first, last = run[0], run[-1]
    if first[0] > 0 and (items[first[0] - 1].char or " ").isalnum() or line[:first[1]][-1:].isalnum():
        text = "\1" + text # a word goes on to the left
    if last[0] + 1 < len(items) and (items[last[0] + 1].char or " ").isalnum() or line[last[2]:][:1].isalnum():
        text += "\1"
    short = len(run) >= 3 and (first[0] == 0 or last[0] == len(items) - 1) # at an end, one letter will do
    word = r"(?<![\w\1])\w%s(?![\w\1])|\w{%d}" % (r"\w*" if short else r"\w+", SOLID)
    return len(run) == len(items) or re.search(word, text) is not None


def solid_runs(items, steps, line):
    """Runs of steps that follow each other in both."""
    runs = []
    for step in steps:
        if runs and runs[-1][-1][0] + 1 == step[0] and runs[-1][-1][2] == step[1]:
            runs[-1].append(step)
        else:
            runs.append([step])
    return [r for r in runs if is_solid(items, r, line)]


def likeness(expected, line):
    matcher = difflib.SequenceMatcher(None, expected, line, autojunk=False)
    return sum(b.size for b in matcher.get_matching_blocks() if b.size >= 3) / max(1, len(expected))


def window(expected, line):
    """The part of a very long line that is most like the expected text."""
    if len(line) <= LONGEST:
        return line
    at = difflib.SequenceMatcher(None, expected, line, autojunk=False).find_longest_match().b
    return line[max(0, at - LONGEST // 2):at + LONGEST // 2]


def closest(expected, lines):
    """The line that is meant, or None where several are said and none of them is like the expected one."""
    lines = list(dict.fromkeys(line for line in lines if line.strip()))
    if len(lines) == 1:
        return window(expected, lines[0])
    scored = sorted(((likeness(expected, window(expected, line)), -n) for n, line in enumerate(lines)), reverse=True)
    if not scored or scored[0][0] < 0.3:
        return None
    return window(expected, lines[-scored[0][1]])


def words_of(items):
    return len("".join(i.char or "x" for i in items).split())


def nearest(words, count):
    """Those in the place of so many words; all, where hardly more would be left."""
    most = count + MORE_WORDS
    return words if len(words) <= most + 2 else words[:most]


def bounds(line, items, runs, begins, ends):
    """From where to where the line takes the pattern's place."""
    first, last = runs[0][0], runs[-1][-1]
    start, end = first[1], last[2]
    before, after = words_of(items[:first[0]]), words_of(items[last[0] + 1:]) # what was rewritten there
    if before:
        clause = line[:start].rfind(": ") + 2 if ": " in line[:start] else 0
        near = nearest(list(re.finditer(r"\S+", line[clause:start]))[::-1], before)[::-1]
        start = clause + near[0].start() if near else start
    if after:
        clause = re.search(r"[:;,.](?= |$)|$", line[end:]).start() + end
        near = nearest(list(re.finditer(r"\S+", line[end:clause])), after)
        end += near[-1].end() if near else 0
    while 0 < start and line[start - 1].isalnum() and line[start].isalnum():
        start -= 1
    while end < len(line) and line[end - 1].isalnum() and line[end].isalnum():
        end += 1
    return 0 if begins else start, len(line) if ends else end


def escape(char, kind, first):
    special = {"bre": r"*[\^$", "ere": r"*[\^$+?(){}|", "py": r"*[\^$+?(){}|", "fixed": ""}[kind]
    if char in "^$*" and kind == "bre" and not (char == "*" or first):
        return char if char == "^" else "\\" + char
    return "\\" + char if char in special else char


def renewed_part(pattern, kind, line, volatile):
    """The pattern, without alternatives, for this line."""
    begins, ends, inner = anchors(pattern, kind)
    items = items_of(inner, kind)
    steps = align(items, line)
    runs = solid_runs(items, steps, line)
    characters = sum(i.char is not None for i in items)
    if sum(len(r) for r in runs) < 0.25 * characters:
        start, end = (0 if begins or not line.startswith("reid: ") else len("reid: ")), len(line)
    else:
        start, end = bounds(line, items, runs, begins, ends)
    wild = {j: (items[i].source, k) for i, j, k in steps if items[i].char is None and start <= j and k <= end and
            (items[i].source != "." or between(items, steps, (i, j, k)))}
    moving = {m.start(): m.end() for m in volatile.finditer(line)} if volatile else {}
    out, at = [], start
    while at < end:
        if at in moving and kind == "fixed" and len(out) >= 10:
            break
        if at in moving and kind != "fixed":
            out.append(".*")
            at = moving[at]
        elif at in wild and wild[at][1] > at:
            out.append(wild[at][0])
            at = wild[at][1]
        else:
            out.append(escape(line[at], kind, at == start))
            at += 1
    if out and out[-1] == ".*" and inner[-2:] != ".*" and not ends:
        out.pop()
    return "^" * begins + "".join(out) + "$" * ends


def renewed(pattern, kind, whole, lines, volatile=None):
    """The pattern for what was said, or None. kind: bre, ere, py or fixed; whole: all of what is said is expected."""
    trailing = "\n" if kind == "fixed" and pattern.endswith("\n") else ""
    if whole:
        return "\n".join(lines) + trailing
    if kind == "fixed" and "\n" in pattern[:-1]:
        lines = ["\n".join(lines)]
    parts, bar = alternatives(pattern[:len(pattern) - len(trailing)], kind)
    line = closest(pattern, lines)
    if line is None:
        return None
    which = max(range(len(parts)), key=lambda i: likeness(parts[i], line))
    parts[which] = renewed_part(parts[which], kind, line, volatile)
    return (bar or "").join(parts) + trailing


def holds(pattern, kind, whole, lines):
    if whole:
        return "\n".join(lines) == pattern.removesuffix("\n")
    if kind == "fixed":
        return pattern.removesuffix("\n") in "\n".join(lines)
    return any(re.search(expression_of(pattern, kind), line) for line in lines)
