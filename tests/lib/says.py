"""says.py: compares messages with a test's expected texts; `sh tests/run --write` renews the expected texts in the
tests' sources, see tests/README.md. For it a comparison leaves a record (renew.py) in the file that REID_WRITE names,
and holds."""
import os
import re
import sys


def says(message, part):
    """Whether a message has this part."""
    return part in message or recorded("fixed", message, part)


def says_like(message, pattern):
    """Whether a part of a message is like this."""
    return re.search(pattern, message) is not None or recorded("py", message, pattern)


def recorded(kind, message, text):
    """False, where nothing is written."""
    path = os.environ.get("REID_WRITE")
    if not path:
        return False
    lines, frame = ["record %s differs" % kind], sys._getframe(2)
    while frame:
        lines.append("at %s %d" % (os.path.abspath(frame.f_code.co_filename), frame.f_lineno))
        frame = frame.f_back
    lines += ["want " + line for line in text.split("\n")] + ["got " + line for line in message[:60000].split("\n")]
    with open(path, "ab", buffering=0) as file:
        file.write(("\n".join(lines) + "\nend\n").encode(errors="replace"))
    return True
