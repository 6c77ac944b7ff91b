"""Fill values into command lines and argument lists so that none of them can become a part of the program."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePath

from ...protocol import UserError

_FIELDS = re.compile(r"\{(?:file|line|key|title)\}")
"""Fields that are filled in later, with other rules for quotes."""
_UNREADABLE = ("<<", "`", "[[", "((", "${", "$[", "$'", '$"')
"""Constructs behind which quotes can mean something else, or in which the shell computes a value."""
_KEYWORDS = frozenset(
    ("if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "command", "builtin", "exec")
)
"""Words in front of the name of a program."""
_BUILTINS = frozenset(
    (
        "eval",
        "let",
        "declare",
        "typeset",
        "local",
        "export",
        "readonly",
        "unset",
        "trap",
        "read",
        "printf",
        "source",
        ".",
    )
)
"""Builtins that can read an argument as a program, as a name or as arithmetic."""
_PROGRAMS = frozenset(["ssh", "make", "gmake", "awk", "gawk", "mawk", "sed", "watch", "parallel", "tclsh"])
"""Programs that can read any argument as a program, or pass it to a shell."""
_INTERPRETERS = re.compile(
    r"(?:ba|da|z|k|mk|a|fi|c|tc)?sh|su|busybox|env|pwsh|(?:python|pypy|perl|ruby|php|lua)[\d.]*|node|nodejs|deno|bun"
)
_RUNS_MODULES = re.compile(r"(?:python|pypy)[\d.]*")
_PROGRAM_OPTION = re.compile(r"-[A-Za-z]*[ceErSp]|--(?:command|eval|print|split-string)=?")
"""Options of interpreters whose argument is a program."""


def quoted_for(value: str, before: str) -> str:
    """Return `quoted_at()` for a command line in which fields are filled in later. Raises UserError."""
    if _FIELDS.search(value):
        raise UserError(f"{value!r} contains a field such as {{file}}, which is filled in later: remove it")
    return quoted_at(value, before)


def quoted_at(value: str, before: str) -> str:
    """Return a value as a part of one word of the shell, for its place after the text `before`.

    Raises UserError for a place in which quotes do not protect from the value.
    """
    if found := next((sign for sign in _UNREADABLE if sign in before), None):
        raise UserError(f"it is behind {found}, where quotes do not protect from its value: write it in front of that")
    words = _Words().read(before)
    if words[-1].endswith("$") or "[" in words[-1]:
        raise UserError("it is behind a $ or [ in the same word: write it as a word of its own")
    _refuse_program(words)
    return shlex.quote(value)


def require_no_program(words: Sequence[str], at: int, start: int) -> None:
    """Raise UserError if the word of an argument list would be a program. `start`: where its placeholder starts."""
    _refuse_program([*words[:at], words[at][:start]])


def _refuse_program(words: Sequence[str]) -> None:
    """Raise UserError if the last word, of which only the beginning is known, is read as a program."""
    names = [PurePath(word).name for word in words[:-1]]
    command = next((name for name in names if name not in _KEYWORDS and "=" not in name), None)
    found = command if command in _BUILTINS else next((name for name in names if name in _PROGRAMS), None)
    for at, name in enumerate(names):
        if found is None and _INTERPRETERS.fullmatch(name) and (option := _program_option(name, words[at + 1 :])):
            found = f"{name} {option}"
    if found is not None:
        raise UserError(f"{found} could run its value as a program: use another command, or move this one to a script")


def _program_option(name: str, words: Sequence[str]) -> str | None:
    """Return the option of an interpreter whose argument the last of these words is, or could be."""
    if _RUNS_MODULES.fullmatch(name) and "-m" in words:
        words = [*words[: words.index("-m")], ""]
    for at, word in enumerate(words):
        is_given = at + 2 < len(words) and not words[at + 1].startswith(("-", "+"))
        if _PROGRAM_OPTION.match(word) and not is_given:
            return word
    return None


class _Words:
    """Reads the words of the innermost command that is not closed, without running anything."""

    def __init__(self) -> None:
        self._open: list[list[str]] = [[""]]
        """The words of each command around the place, and of the command itself. The last word is the one here."""
        self._quote = ""

    def read(self, text: str) -> list[str]:
        """Return the words. The last one continues after the text. Raises UserError inside quotes and comments."""
        at = 0
        while at < len(text):
            at += self._quoted(text, at) if self._quote else self._plain(text, at)
        if self._quote:
            raise UserError("it is between quotes: leave them out, because its value is quoted")
        return self._open[-1]

    def _quoted(self, text: str, at: int) -> int:
        char = text[at]
        if char == self._quote:
            self._quote = ""
            return 1
        if self._quote == '"' and text.startswith("$(", at):
            raise UserError('it is behind "$(, where quotes cannot be read: write it in front of that')
        self._open[-1][-1] += text[at + 1 : at + 2] if char == "\\" and self._quote == '"' else char
        return 2 if char == "\\" and self._quote == '"' else 1

    def _plain(self, text: str, at: int) -> int:
        char, words = text[at], self._open[-1]
        match char:
            case "'" | '"':
                self._quote = char
            case "\\":
                if at + 1 == len(text):
                    raise UserError("it is behind a backslash: remove it")
                words[-1] += text[at + 1].strip("\n")
                return 2
            case "#" if not words[-1] and text[at - 1 : at] not in ("'", '"'):
                return self._comment(text, at)
            case "(":
                self._open.append([""])
            case ")":
                if len(self._open) > 1:
                    self._open.pop()
                self._open[-1][-1] += "()"  # the result of a command, or the end of a group
            case ";" | "&" | "|" | "\n":
                self._open[-1] = [""]
            case " " | "\t" | "<" | ">":
                if words[-1]:
                    words.append("")
            case _:
                words[-1] += char
        return 1

    def _comment(self, text: str, at: int) -> int:
        end = text.find("\n", at)
        if end < 0:
            raise UserError("it is in a comment: move it to the command, or escape it as {{set:...}")
        return end - at
