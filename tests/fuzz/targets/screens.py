"""The border that every foreign text crosses on its way to a terminal."""

from __future__ import annotations

import json
import unicodedata

from rundry.agent.protocol.text.path_text import quoted_path
from rundry.agent.protocol.text.visible_json import visible_json
from rundry.tui.diff.unified import diff_of_text
from rundry.tui.text.show_text import bare, in_place, one_line, path_line, show, strip

from ..target import Target

HIDING = ("Cc", "Cs", "Zl", "Zp")


def border(data: bytes) -> None:
    text = data.decode(errors="surrogateescape" if data[:1] > b"\x7f" else "replace")
    for shown in (show(text), strip(text), one_line(text), path_line(text)):
        odd = {hex(ord(sign)) for sign in set(shown) - {"\n"} if unicodedata.category(sign) in HIDING}
        assert not odd, odd
        assert show(shown) == shown
        shown.encode()
    for line in (one_line(text), path_line(text)):
        assert "\n" not in line
        assert one_line(line) == line
    assert len(in_place(text)) == len(text)
    assert bare(bare(text)) == bare(text)


def path(data: bytes) -> None:
    name = data.decode(errors="surrogateescape")
    quoted = quoted_path(name)
    assert len(quoted.splitlines()) <= 1 and (quoted.isprintable())
    assert (quoted == name) or quoted.startswith('"')


def as_json(data: bytes) -> None:
    text = data.decode(errors="replace")
    line = json.dumps({"a": text}, ensure_ascii=False).encode()
    seen = visible_json(line)
    assert json.loads(seen) == {"a": text}
    assert not {c for c in seen.decode() if unicodedata.category(c) in HIDING}


def diff(data: bytes) -> None:
    text = data.decode(errors="replace")
    rows = diff_of_text("a.py", text).rows
    assert rows


HOSTILE = (
    "\x1b[31mred\x1b]0;t\x07 \x9b2J".encode(),
    "\u202eabc\u2066 \u200b\ufeff".encode(),
    ("a" + "\u0301\u093f" * 9).encode(),
    "p\u0430y \uff50 \u2215".encode(),
    b"a\tb" + b" " * 90 + b"c\r\nd\re" + b"\n" * 20,
    "👩\u200d👩 می\u200cخ".encode(),
)
SIGNS = (
    b"\x1b",
    b"\x1b[",
    b"\x1b]",
    b"\x07",
    b"\r",
    b"\n",
    b"\t",
    b" " * 40,
    "\u200d".encode(),
    "\u0301".encode(),
    "\u3000".encode(),
    "\ufe0f".encode(),
    "\u0430".encode(),
    "\u1175".encode(),
    "\U000e0041".encode(),
    b"\xff",
    "\u2028".encode(),
    "\u00a0".encode(),
)
DIFFS = (b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n", b"@@ -0,0 +1 @@\n+x\n")
TARGETS = {
    "border": Target(border, HOSTILE, SIGNS),
    "path": Target(path, HOSTILE, SIGNS),
    "json": Target(as_json, HOSTILE, SIGNS),
    "diff": Target(diff, DIFFS, (b"@@ -1 +1 @@\n", b"@@ -9999999999 +1 @@", b"\n", b"-", b"+", b"\\", b"--- ", b"\t")),
}
