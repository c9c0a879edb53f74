"""renew_source.py: finds the texts in a test's source, in shell, C and Python, with their possible values at run
time, and replaces them."""
import ast
import re

WIDTH = 120
SEPARATORS = " \t\n;&|()<>"


class Text:
    """A text in a source: pieces are (True, what it says) and (False, the source of a variable part)."""

    def __init__(self, source, start, end, pieces, language):
        self.source, self.start, self.end, self.pieces, self.language = source, start, end, pieces, language
        self.first_line = source.count("\n", 0, start) + 1
        self.last_line = source.count("\n", 0, end) + 1

    def words(self):
        return sum(c.isalnum() for fixed, s in self.pieces if fixed for c in s)

    def variables(self):
        return [s for fixed, s in self.pieces if not fixed]

    def values(self, expected):
        """The values of its variable parts where the text is the expected one, or None."""
        if not self.variables():
            return [] if "".join(s for _, s in self.pieces) == expected else None
        expression = "".join(re.escape(s) if fixed else "(.*?)" for fixed, s in self.pieces)
        found = re.fullmatch(expression, expected, re.DOTALL)
        return list(found.groups()) if found else None

    def with_variables(self, text, values, before):
        """The pieces for another text: a variable stays where its value is found, the nearest to its old place."""
        pieces = [(True, text)]
        for name, value in zip(self.variables(), values):
            word, spots = re.compile(r"(?<!\w)%s(?!\w)" % re.escape(value)), []
            for n, (fixed, s) in enumerate(pieces):
                if fixed and value:
                    spots += [(abs(m.start() - before.find(value)), n, m.span()) for m in word.finditer(s)]
            if spots:
                _, n, (start, end) = min(spots)
                old = pieces[n][1]
                pieces[n:n + 1] = [(True, old[:start]), (False, name), (True, old[end:])]
        return [p for p in pieces if p[1]]


# --- shell ---

def skip_substitution(s, at):
    """The end of $(...), ${...}, $NAME or `...` at `at`."""
    if s[at] == "`":
        return s.index("`", at + 1) + 1
    simple = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])").match(s, at)
    if simple:
        return simple.end()
    opening, closing, depth, quote = s[at + 1], {"(": ")", "{": "}"}[s[at + 1]], 0, ""
    while at < len(s):
        c = s[at]
        if c == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c == opening:
            depth += 1
        elif c == closing:
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return at


def shell_word(s, at):
    """The pieces of the word at `at`, and its end."""
    pieces, quoted = [], False
    while at < len(s) and (quoted or s[at] not in SEPARATORS):
        c = s[at]
        if c == "'" and not quoted:
            end = s.index("'", at + 1)
            pieces.append((True, s[at + 1:end]))
            at = end + 1
        elif c == '"':
            quoted, at = not quoted, at + 1
        elif c == "\\":
            keep = quoted and s[at + 1] not in "$`\"\\\n"
            pieces.append((True, "" if s[at + 1] == "\n" else s[at:at + 2] if keep else s[at + 1]))
            at += 2
        elif c == "`" or c == "$" and re.match(r"[A-Za-z_0-9@*#?$!({-]", s[at + 1:at + 2] or " "):
            end = skip_substitution(s, at)
            pieces.append((False, s[at:end]))
            at = end
        else:
            pieces.append((True, c))
            at += 1
    return joined(pieces), at


def joined(pieces):
    out = []
    for fixed, s in pieces:
        if fixed and out and out[-1][0]:
            out[-1] = (True, out[-1][1] + s)
        elif s or not fixed:
            out.append((fixed, s))
    return out


def shell_texts(s):
    texts, at, documents = [], 0, []
    while at < len(s):
        c = s[at]
        document = re.compile(r"<<-?\s*(['\"\\]?)(\w+)").match(s, at)
        if document:
            documents.append(document[2])
            at = document.end() + bool(document[1] and document[1] != "\\")
        elif c == "\n" and documents: # what is between here and its end is no shell, but may have a text
            end = re.compile(r"^\t*%s$" % documents.pop(0), re.MULTILINE).search(s, at + 1)
            end = end.start() - 1 if end else len(s)
            texts.append(Text(s, at + 1, end, [(True, s[at + 1:end])], "document"))
            at = end
        elif c == "#" and (at == 0 or s[at - 1] in SEPARATORS):
            at = s.find("\n", at) if "\n" in s[at:] else len(s)
        elif c in SEPARATORS or s.startswith("\\\n", at):
            at += 1 + (c == "\\")
        else:
            pieces, end = shell_word(s, at)
            texts.append(Text(s, at, end, pieces, "shell"))
            at = max(end, at + 1)
    return texts


def shell_source(pieces, exact):
    if any(not fixed for fixed, _ in pieces) or any("'" in s and not re.search(r"[$`\"\\]", s) for _, s in pieces):
        def quote(s):
            s = re.sub(r"\\(?=[$`\"\\]|$)", r"\\\\", s)
            return re.sub(r"([\"`]|\$(?=[A-Za-z_0-9@*#?$!({-]))", r"\\\1", s)
        return '"' + "".join(quote(s) if fixed else s for fixed, s in pieces) + '"'
    text = "".join(s for _, s in pieces)
    return "'" + text.replace("'", "'\\''" if exact else ".") + "'"


# --- C ---

C_STRING = r'"(?:[^"\\\n]|\\.)*"'
C_TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|'(?:[^'\\\n]|\\.)+'|" + C_STRING + r"|\w+|\s+|.", re.DOTALL)
C_FORMAT = re.compile(r'%(?:[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t)?[diouxXeEfgGcs]|%)')
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def c_value(literal):
    def one(m):
        code = m[1]
        if code[0] in "x01234567":
            return bytes([int(code[1:], 16) if code[0] == "x" else int(code, 8)])
        return ESCAPES.get(code, code).encode()
    pieces, last = b"", 0
    for m in re.finditer(r"\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)", literal[1:-1]):
        pieces += literal[1 + last:1 + m.start()].encode(errors="surrogateescape") + one(m)
        last = m.end()
    return (pieces + literal[1 + last:-1].encode(errors="surrogateescape")).decode(errors="surrogateescape")


def c_texts(s):
    """Strings, with the strings and macros that follow them; each also as a format, where it can be one."""
    texts, run = [], []

    def flush():
        while run and run[-1][0] == "name":
            run.pop()
        if any(kind == "string" for kind, *_ in run):
            pieces = joined([(True, c_value(t)) if kind == "string" else (False, t) for kind, t, *_ in run])
            texts.append(Text(s, run[0][2], run[-1][3], pieces, "c"))
            formats = [p for fixed, t in pieces for p in (format_pieces(t) if fixed else [(False, t)])]
            if joined(formats) != pieces:
                texts.append(Text(s, run[0][2], run[-1][3], joined(formats), "c format"))
        run.clear()

    for m in C_TOKEN.finditer(s):
        token = m[0]
        if token[0] == '"':
            run.append(("string", token, m.start(), m.end()))
        elif re.fullmatch(r"[A-Z_][A-Z_0-9]*[a-z0-9]*", token) and run:
            run.append(("name", token, m.start(), m.end()))
        elif not token.isspace() and not token.startswith(("/*", "//")):
            flush()
    flush()
    return texts


def format_pieces(text):
    out, last = [], 0
    for m in C_FORMAT.finditer(text):
        out += [(True, text[last:m.start()]), (True, "%") if m[0] == "%%" else (False, m[0])]
        last = m.end()
    return out + [(True, text[last:])]


def c_escaped(text):
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
    plain = re.compile(r"[ -~]|[^\x00-\xa0\ud800-\udfff]")
    return "".join(named.get(c, c if plain.fullmatch(c) else "\\%03o" % (ord(c) & 255)) for c in text)


def c_source(pieces, is_format, column, after):
    """String literals from this column on, in lines that are not too long; after: what follows on the last line."""
    parts = []
    for fixed, s in pieces:
        if not fixed and not is_format:
            parts += ['"', " %s " % s, '"']
        else:
            parts.append(c_escaped(s.replace("%", "%%") if fixed and is_format else s))
    whole = ('"' + "".join(parts) + '"').replace('"" ', "").replace(' ""', "")
    lines, room = [], WIDTH - column
    while len(whole) + after > room:
        cut = whole.rfind(" ", 20, room - 1)
        if cut < 0 or len(re.findall(r'(?<!\\)(?:\\\\)*"', whole[:cut])) % 2 == 0: # none, or between strings
            break
        lines.append(whole[:cut + 1] + '"')
        whole = '"' + whole[cut + 1:]
    return ("\n" + " " * column).join(lines + [whole])


# --- Python ---

def python_texts(s):
    starts = [0]
    for line in s.split("\n"):
        starts.append(starts[-1] + len(line.encode()) + 1)
    raw, texts = s.encode(), []

    def offset(line, column):
        return len(raw[:starts[line - 1] + column].decode())

    for node in ast.walk(ast.parse(s)):
        place = None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            place, pieces = node, [(True, node.value)]
        elif isinstance(node, ast.JoinedStr):
            place, pieces = node, [(True, v.value) if isinstance(v, ast.Constant) else
                                   (False, "{%s}" % ast.unparse(v.value)) for v in node.values]
        if place is not None:
            where = offset(place.lineno, place.col_offset), offset(place.end_lineno, place.end_col_offset)
            if s[where[0]:where[0] + 1] in "rRbBfF\"'":
                texts.append(Text(s, *where, joined(pieces), "python"))
                formats = joined([p for fixed, t in pieces for p in (format_pieces(t) if fixed else [(False, t)])])
                if isinstance(node, ast.Constant) and formats != joined(pieces):
                    texts.append(Text(s, *where, formats, "python format"))
    return texts


def python_source(pieces, is_format, before):
    variables = any(not fixed for fixed, _ in pieces)
    text = "".join(s.replace("%", "%%") if fixed and is_format else s for fixed, s in pieces)
    f = "f" if variables and not is_format else ""
    quote = "'" if '"' in text and "'" not in text else '"'
    if "\\" in text and before.lstrip("fF")[:1] in "rR" and quote not in text and "\n" not in text:
        return f + "r" + quote + text + quote
    return f + quote + text.replace("\\", "\\\\").replace(quote, "\\" + quote).replace("\n", "\\n") + quote


# --- all ---

def texts_of(path, source):
    if path.endswith(".py"):
        return python_texts(source)
    return c_texts(source) if path.endswith((".c", ".h")) else shell_texts(source)


def written(text, pieces, exact):
    """The source of the pieces in the place of a text, and whether it fits its line."""
    s = text.source
    column = text.start - (s.rfind("\n", 0, text.start) + 1)
    line_end = s.find("\n", text.end) if "\n" in s[text.end:] else len(s)
    after = line_end - text.end
    if text.language == "shell":
        new = shell_source(pieces, exact)
    elif text.language.startswith("python"):
        new = python_source(pieces, "format" in text.language, s[text.start:text.end])
    else:
        stop = re.search(r"[,;]", s[text.end:line_end])
        new = c_source(pieces, "format" in text.language, column, min(after, stop.end() if stop else after))
    last = new.rsplit("\n", 1)
    width = (column if len(last) == 1 else 0) + len(last[-1]) + after
    return new, width <= WIDTH
