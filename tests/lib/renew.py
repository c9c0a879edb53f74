"""renew.py RECORDS TEST: changes a test's expected texts to the messages that it got.

Called by `sh tests/run --write`, see tests/README.md. RECORDS is the file of a run's comparisons (REID_WRITE):

    record KIND held     KIND: bre, ere, py (a pattern, for a part of a line), fixed (a part), exact (all of it)
    record KIND differs
    at FILE LINE         the place of the comparison, then its caller, and so on
    program FILE         and of a C program the
    frame ADDRESS        callers as addresses in it
    want TEXT            each line of the expected text
    got TEXT             each line of the message
    end

The expected text is searched for at the comparison's lines, from there outwards, then in the whole file, where it must
be unique, or occur once for each comparison, in their order. If a pattern is composed of variables, the text of the
changed one is replaced. Reports what it writes, and what it cannot write. Exit code: 1 if some record needs a manual
change."""
import fcntl
import os
import re
import subprocess
import sys

import renew_align
import renew_source

MECHANISM = {"cli_lib.sh", "check.sh", "says.sh", "says.py", "test_says.h"}


class Record:
    def __init__(self, kind, state):
        self.whole, self.kind, self.held = kind == "exact", "fixed" if kind == "exact" else kind, state == "held"
        self.at, self.program, self.frames, self.want, self.got = [], None, [], [], []

    def finish(self):
        self.want = "\n".join(self.want)
        if self.program and self.frames:
            said = subprocess.run(["addr2line", "-i", "-e", self.program, *self.frames], stdout=subprocess.PIPE,
                                  text=True, check=False).stdout
            self.at += re.findall(r"^(.*):(\d+)", said, re.MULTILINE)
        here = os.getcwd() + "/"
        places = [(os.path.normpath(f.removeprefix(here)), int(line)) for f, line in self.at]
        self.at = [(f, n) for f, n in places if f.startswith("tests/") and os.path.basename(f) not in MECHANISM]
        return self


def load(path):
    records = []
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line in file.read().split("\n"):
            word, _, rest = line.partition(" ")
            if word == "record":
                record = Record(*rest.split(" "))
            elif word == "at":
                record.at.append(tuple(rest.rsplit(" ", 1)))
            elif word == "program":
                record.program = rest
            elif word in ("frame", "want", "got"):
                getattr(record, {"frame": "frames"}.get(word, word)).append(rest)
            elif word == "end":
                records.append(record.finish())
    return records


class Sources:
    """The files of a test, read once."""

    def __init__(self, test):
        self.test, self.content, self.texts = test, {}, {}

    def of(self, path):
        if path not in self.texts:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                self.content[path] = file.read()
            self.texts[path] = renew_source.texts_of(path, self.content[path])
        return self.texts[path]

    def near(self, path, line):
        """Texts of the command or the statement at a line, those of this line first."""
        texts = self.of(path)
        lines = self.content[path].split("\n")
        first = last = line
        if path.endswith(".sh"):
            while first > 1 and lines[first - 2].endswith("\\"):
                first -= 1
            while last < len(lines) and lines[last - 1].endswith("\\"):
                last += 1
        else:
            first, last = line - 2, line + 6
        found = [t for t in texts if t.first_line <= last and t.last_line >= first and t.language != "document"]
        return sorted(found, key=lambda t: 0 if t.first_line <= line <= t.last_line else abs(t.first_line - line) + 1)


def letters(text):
    return sum(c.isalnum() for c in text)


def is_text_of(text, want):
    """Whether a text says what is wanted, by its own words for the most part."""
    return text.values(want) is not None and 2 * text.words() >= letters(want)


def in_documents(texts, want):
    """Where it is within a here-document, as a line, the last cell of a line, or the first one."""
    found = []
    for t in texts:
        if t.language == "document":
            for m in re.finditer(r"(?:^|(?<=[ \t|;]))%s(?=$|[ \t|;])" % re.escape(want), t.pieces[0][1], re.MULTILINE):
                found.append(renew_source.Text(t.source, t.start + m.start(), t.start + m.end(), [(True, want)], "raw"))
    return found


def at_the_call(sources, record, want):
    """The text in the lines of the comparison, or of its callers."""
    for path, line in record.at:
        found = [t for t in sources.near(path, line) if is_text_of(t, want)]
        if found:
            best = min(found, key=lambda t: (bool(t.variables()), found.index(t)))
            return path, best
    return None


def in_the_files(sources, record, want):
    """All such texts of the test's files, in order; only those without variables, if there are any."""
    files = list(dict.fromkeys([path for path, _ in record.at] + [sources.test]))
    found = [(path, t) for path in files for t in sources.of(path) if t.language != "document" and is_text_of(t, want)]
    plain = [(path, t) for path, t in found if not t.variables()]
    documents = [(path, t) for path in files for t in in_documents(sources.of(path), want)]
    return plain or documents or found


def changed_variable(sources, record, want, new):
    """(old, new) of the one variable by which a text at the calls can become the new one, or None."""
    for path, line in record.at:
        for t in sources.near(path, line):
            values = t.values(want) if t.variables() and t.language != "document" else None
            for k in range(len(values or [])):
                if letters(values[k]) < 3:
                    continue
                seen, parts = 0, []
                for fixed, s in t.pieces:
                    parts.append(re.escape(s) if fixed else "(.*)" if seen == k else re.escape(values[seen]))
                    seen += not fixed
                changed = re.fullmatch("".join(parts), new, re.DOTALL)
                if changed:
                    return values[k], changed[1]
    return None


class Renewal:
    """All records that have the same expectation."""

    def __init__(self, sources, records, volatile):
        self.sources, self.records, self.volatile = sources, records, volatile
        self.want = records[0].want

    def new_of(self, record):
        return record.want if record.held else renew_align.renewed(record.want, record.kind, record.whole, record.got,
                                                                    self.volatile)

    def places(self):
        """For each record (path, text, old, new), or the reason why there is none."""
        out, open_ones = {}, []
        for n, record in enumerate(self.records):
            want, new = record.want, self.new_of(record)
            if new is None:
                out[n] = "no message is similar to it"
                continue
            part = None if record.held else changed_variable(self.sources, record, want, new)
            if part:
                want, new = part
            place = at_the_call(self.sources, record, want)
            if place:
                out[n] = (*place, want, new)
            else:
                open_ones.append((n, record, want, new))
        self.by_order(open_ones, out)
        return out

    def by_order(self, open_ones, out):
        for n, record, want, new in open_ones:
            found = in_the_files(self.sources, record, want)
            same = [o for o in open_ones if o[2] == want]
            if not found:
                out[n] = "its text was not found in the test"
            elif len(found) == 1:
                out[n] = (*found[0], want, new)
            elif len(found) == len(same):
                out[n] = (*found[[o[0] for o in same].index(n)], want, new)
            elif all(o[3] == new and not o[1].held for o in same):
                out[n] = [(*place, want, new) for place in found]
            else:
                out[n] = "%d texts of the test are equal, and it is unclear which one is meant" % len(found)


def agreed(news, records, shown):
    """The one new text for all records of a place, or None."""
    for new in dict.fromkeys(news):
        if all(renew_align.holds(shown(r, new), r.kind, r.whole, r.got) for r in records):
            return new
    return None


class Writer:
    def __init__(self):
        self.edits, self.problems, self.told = {}, 0, set() # edits: (path, start) to (text, source, old, new)

    def problem(self, record, why):
        self.problems += 1
        where = "%s:%d" % record.at[0] if record.at else "?"
        print("%s: this needs a manual change: %s" % (where, why))
        print("    expected: " + record.want.replace("\n", "\n" + " " * 14))
        said = record.got[:8] + ["..."] * (len(record.got) > 8)
        print("    said:     " + "\n              ".join(line[:300] for line in said))

    def put(self, path, text, old, new, records):
        """Writes the new text in the place of a text, for these records."""
        values = text.values(old)
        pieces = text.with_variables(new, values, old) if text.language != "raw" else [(True, new)]
        if len([p for p in pieces if not p[0]]) != len(values):
            lost = [name for name in text.variables() if (False, name) not in pieces]
            return self.problem(records[0], "%s has no place in the new text" % ", ".join(lost))
        exact = records[0].kind == "fixed"
        if text.language == "raw":
            source, fits = new, True
        else:
            source, fits = renew_source.written(text, pieces, exact)
        shorter = pieces
        while not fits and not records[0].whole and shorter[-1][0] and not shorter[-1][1].endswith("$"):
            cut = shorter[-1][1].rstrip().rfind(" ")
            if cut < 12:
                break
            shorter = shorter[:-1] + [(True, shorter[-1][1][:cut].rstrip(" ,;:"))]
            source, fits = renew_source.written(text, shorter, exact)
        before = self.edits.setdefault((path, text.start), (text, source))[1]
        if before != source:
            return self.problem(records[0], "another comparison has already changed its text to: " + before)
        if (text.start, source) in self.told:
            return None
        self.told.add((text.start, source))
        print("%s:%d: %s" % (path, text.first_line, text.source[text.start:text.end]))
        print("%s  %s%s" % (" " * len("%s:%d" % (path, text.first_line)), source, "" if fits else "   (a long line)"))
        return None

    def write(self):
        for path in {path for path, _ in self.edits}:
            mode = os.stat(path).st_mode
            text = next(t for (p, _), (t, _) in self.edits.items() if p == path).source
            for (p, start), (old, source) in sorted(self.edits.items(), reverse=True):
                if p == path:
                    text = text[:start] + source + text[old.end:]
            with open(path + ".new", "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
            os.chmod(path + ".new", mode)
            os.replace(path + ".new", path)


def renew(renewal, writer):
    """Plans the new text of one expectation."""
    at = {} # (path, start): [text, old, [(record, new)]]
    for n, found in renewal.places().items():
        record = renewal.records[n]
        if isinstance(found, str):
            if not record.held:
                writer.problem(record, found)
            continue
        for path, text, old, new in found if isinstance(found, list) else [found]:
            at.setdefault((path, text.start), [text, old, []])[2].append((record, new))
    for (path, _), (text, old, those) in at.items():
        if all(record.held for record, _ in those):
            continue
        differing = [(record, new) for record, new in those if not record.held]

        def shown(record, new, old=old):
            return new if record.want == old else record.want.replace(old, new)
        new = agreed([new for _, new in differing], [record for record, _ in those], shown)
        if new is None:
            writer.problem(differing[0][0], "it is also compared with another message")
        else:
            writer.put(path, text, old, new, [record for record, _ in differing])


def main():
    records, test = load(sys.argv[1]), os.path.normpath(sys.argv[2])
    folder = os.environ.get("RENEW_TMPDIR")
    volatile = r"(?<=127\.0\.0\.1:)\d+|" + (re.escape(folder) if folder else "/tmp/tmp") + r"[^\s:,\"')]*"
    sources, writer, groups = Sources(test), Writer(), {}
    for record in records:
        groups.setdefault((record.want, record.kind, record.whole), []).append(record)
    for group in groups.values():
        if not all(record.held for record in group):
            renew(Renewal(sources, group, re.compile(volatile)), writer)
    writer.write()
    return 1 if writer.problems else 0


if __name__ == "__main__":
    with open("tests/run", encoding="utf-8") as lock: # two tests may share a file
        fcntl.flock(lock, fcntl.LOCK_EX)
        sys.exit(main())
