"""Make foreign text safe to display. Every text from a model, a file, a tool or a server passes through here.

The result only draws itself: it has no escape sequence, no invisible or reordering character, and no run of blanks
long enough to push something out of sight. A visible mark replaces whatever was removed, so that two different texts
still look different. Markup is not marked, because no widget of rundry reads it (`markup=False`).

Sources: docs/attacks.md A.17 and 4.1 to 4.27; Unicode TR36 (bidirectional and invisible characters) and TR9.
"""

from __future__ import annotations

import re

from .combining_characters import are_too_many, too_many
from .emoji_clusters import FLAGS, PICTURED
from .mixed_scripts import mark_lookalikes, mark_mixed

TAB = 4
"""Cells between tab stops."""
LONGEST_BLANK = 80
"""Maximum number of blanks in a row that are drawn; a mark with their number replaces a longer run."""
LONGEST_GAP = 12
"""Maximum number of empty lines in a row that are drawn."""

_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800"
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\u070f\U00013430-\U0001343f\U000e0000-\U000e0fff"
)
_ODD_BLANK = "\u00a0\u1680\u2000-\u200a\u202f\u205f"
_JOINING = "\u0600-\u06ff\u0750-\u077f\u0900-\u0dff\ufb50-\ufdff\ufe70-\ufefc"
_RUN = rf"[ \t\u3000{_ODD_BLANK}]{{{LONGEST_BLANK // TAB},}}"

_HOSTILE = re.compile(
    rf"(?P<blanks>{_RUN})"
    rf"|(?P<flag>{FLAGS})"
    rf"|(?P<mark>[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{_INVISIBLE}"
    # joiners belong between the letters of some scripts, a zero width joiner also between pictures
    rf"]|(?<![{_JOINING}])\u200c|\u200c(?![{_JOINING}])"
    rf"|\u200d(?!(?<=[{_JOINING}]\u200d)[{_JOINING}]|(?:(?<=[{PICTURED}]\u200d)|(?<=[{PICTURED}]\ufe0f\u200d))[{PICTURED}])"
    # a variation selector belongs behind a picture, or behind a digit below its keycap
    rf"|(?<![{PICTURED}])(?<![#*0-9](?=\ufe0f\u20e3))[\ufe0e\ufe0f])"
    rf"|(?P<blank>[{_ODD_BLANK}])"
)
MARK = re.compile(r"[\u2400-\u241f\u2421␣]|⟨U\+[0-9A-F]{4,6}⟩|⟨\d+ (?:blanks|tabs|empty lines|combining marks)⟩")
"""Finds the marks in a shown text, to paint them."""

_GAP = re.compile(rf"\n{{{LONGEST_GAP + 2},}}")
_QUIET = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that `str.isprintable` accepts and `_HOSTILE` may not."""

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]+[0-~]"  # character sets
    r"|\x1b[0-OQ-WYZ\\`-~]"  # all other two-byte ones
)

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def show(text: str) -> str:
    r"""Return `text` with a visible mark for everything that would not be visible as what it is.

    Line feeds are kept, tabs become blanks up to the next stop of four. `\r\n` is a line feed; any other `\r` is a
    mark. Marks are `␛` for a control character, `⟨U+202E⟩` for another code point, `␣` for a blank other than the plain
    space, `⟨500 blanks⟩` for a run. Linear in the length. Its result, passed to it again, stays the same.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if _is_harmless(text):
        return _expand(text)
    if "\n" * (LONGEST_GAP + 2) in text:
        text = _GAP.sub(lambda found: f"\n⟨{len(found.group()) - 1} empty lines⟩\n", text)
    lines = text.split("\n")
    return _expand("\n".join(line if _is_harmless(line) else _HOSTILE.sub(_mark, _unpiled(line)) for line in lines))


def strip(text: str) -> str:
    r"""Return a command's output as a log: without escape sequences, a lone `\r` as a line feed, the rest as in `show`.

    For the output of programs that write for a terminal, where colours carry no content. An unfinished sequence is
    kept, with a mark. Linear in the length.
    """
    if "\x1b" in text or not text.isascii():
        text = _SEQUENCE.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return show(text)


def bare(text: str) -> str:
    r"""Return `text` for a program that reads it: without terminal control sequences and control characters.

    Line feeds and tabs are kept; `\r\n` and a lone `\r` become a line feed. Linear in the length.
    """
    return _CONTROL.sub("", _SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """Return `text` in one line: line feeds become `⏎`, and a letter of a foreign script in a word gets a mark."""
    return show(mark_mixed(text)).replace("\n", "⏎")


def path_line(path: str) -> str:
    """Return a path in one line like `one_line`, with a mark for each character that only looks like an ASCII one."""
    return show(mark_lookalikes(path)).replace("\n", "⏎")


def in_place(text: str) -> str:
    """Return a line for an editor: one visible character in place of each hidden one; tabs are kept."""
    if _is_harmless(text):
        return text
    if are_too_many(text):
        text = too_many().sub(lambda found: "\ufffd" * len(found.group()), text)
    return _HOSTILE.sub(_sign_each, text)


def _is_harmless(text: str) -> bool:
    """Return whether the text certainly needs no mark: a check that costs a hundredth of the marking."""
    flat = text.replace("\n", " ").replace("\t", " ")
    if not flat.isprintable() or " " * (LONGEST_BLANK // TAB) in flat or "\n" * (LONGEST_GAP + 2) in text:
        return False
    return text.isascii() or (_QUIET.search(text) is None and not are_too_many(text))


def _unpiled(line: str) -> str:
    """Return `line` with a count in place of the combining characters that are too many for one base character."""
    if not are_too_many(line):
        return line
    return too_many().sub(lambda found: f"⟨{len(found.group())} combining marks⟩", line)


def _mark(match: re.Match[str]) -> str:
    found = match.group()
    match match.lastgroup:
        case "blanks":
            return _blanks(found)
        case "blank":
            return "␣"
        case "flag":
            return found
        case _:
            return _code(found)


def _sign_each(match: re.Match[str]) -> str:
    found = match.group()
    if match.lastgroup == "flag":
        return found
    if match.lastgroup in ("blanks", "blank"):
        return re.sub(rf"[{_ODD_BLANK}]", "␣", found)
    shown = _code(found)
    return shown if len(shown) == 1 else "\ufffd"


def _blanks(found: str) -> str:
    tabs = found.count("\t")
    if len(found) + tabs * (TAB - 1) <= LONGEST_BLANK:
        return re.sub(rf"[{_ODD_BLANK}]", "␣", found)
    return f"⟨{len(found)} tabs⟩" if tabs == len(found) else f"⟨{len(found)} blanks⟩"


def _code(found: str) -> str:
    code = ord(found)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def _expand(text: str) -> str:
    if "\t" not in text:
        return text
    return "\n".join(line.expandtabs(TAB) if "\t" in line else line for line in text.split("\n"))
