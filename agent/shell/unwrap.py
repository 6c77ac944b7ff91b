"""Replace wrappers by the commands that they run, so that `timeout 30 X` is judged as X. An unclear wrapper asks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .command_line import ParsedLine, PlainCommand, Word
from .flags import base
from .line_parser import parse_line
from .program_names import HIDING, NEVER, WRAPPERS

_DURATION = re.compile(r"\d+(\.\d+)?[smhd]?")
_DEEPEST = 6


def unwrapped(line: ParsedLine, depth: int = 0) -> ParsedLine:
    """Return the line with wrapped commands in place of their wrappers, and a doubt for each unclear wrapper."""
    out = ParsedLine(parts=[], doubts=list(line.doubts), writes=list(line.writes), parse_error=line.parse_error)
    for part in line.parts:
        _unwrap(part, out, depth)
    return out


def _unwrap(part: PlainCommand, out: ParsedLine, depth: int) -> None:
    name = base(part.name)
    if depth > _DEEPEST:
        out.doubts.append("it is nested too deeply")
        out.parts.append(part)
    elif name in ("sh", "bash", "dash") and len(part.words) == 3 and part.words[1].text == "-c":
        _script(part, out, depth)
    elif name in WRAPPERS:
        _wrapper(part, name, out, depth)
    elif name in ("sudo", "doas", "exec", "builtin"):
        out.parts.append(part)
        rest = _from_first_plain(part.words[1:])
        if rest:
            _unwrap(_inner(part, rest), out, depth + 1)
    elif name in ("sh", "bash", "dash") or NEVER.get(name) in HIDING or name == "ssh":
        out.parts.append(part)
        _scripts_within(part, out, depth)
    elif name in ("find", "fd"):
        out.parts.append(part)
        for words in _executed(part.words):
            _unwrap(_inner(part, words), out, depth + 1)
    else:
        out.parts.append(part)


def _script(part: PlainCommand, out: ParsedLine, depth: int) -> None:
    word = part.words[2]
    if not word.known or part.piped:
        out.doubts.append(f"the commands of `{part.name} -c` are unknown")
        out.parts.append(part)
        return
    inner = unwrapped(parse_line(word.text), depth + 1)
    out.doubts += inner.doubts
    out.writes += inner.writes
    out.parse_error = out.parse_error or inner.parse_error
    out.parts += [PlainCommand(one.words, one.piped, False, part.start) for one in inner.parts]


def _scripts_within(part: PlainCommand, out: ParsedLine, depth: int) -> None:
    """Collect the commands of `bash -lc '...'`, `eval` or `su -c '...'` for deny rules. The part itself always asks."""
    out.doubts.append(f"the commands of `{part.name}` are not visible here")
    rest = [word.text for word in part.words[1:] if word.known]
    scripts = [" ".join(rest)] if base(part.name) == "eval" else [text for text in rest if re.search(r"\s", text)]
    for script in scripts:
        inner = unwrapped(parse_line(script), depth + 1)
        out.parts += [PlainCommand(one.words, True, False, part.start) for one in inner.parts]
        out.writes += inner.writes
        out.parse_error = out.parse_error or inner.parse_error


def _wrapper(part: PlainCommand, name: str, out: ParsedLine, depth: int) -> None:
    flags, valued = WRAPPERS[name]
    words = list(part.words[1:])
    while words and words[0].text.startswith("-") and words[0].known:
        option = words.pop(0).text
        if re.fullmatch(f"-[{flags}]+" if flags else "-$^", option):
            continue
        if re.fullmatch(rf"-[{valued}]" if valued else "-$^", option) and words:
            words.pop(0)
        elif not re.fullmatch(rf"-[{valued}][\w.+]+" if valued else "-$^", option):
            out.doubts.append(f"`{name} {option}` is not understood")
            out.parts.append(part)
            return
    if name == "timeout" and words:
        if not (words[0].known and _DURATION.fullmatch(words[0].text)):
            out.doubts.append("`timeout` without a duration is not understood")
        words.pop(0)
    if name == "env" and words and "=" in words[0].text:
        out.doubts.append("it sets a variable")
        words = [word for i, word in enumerate(words) if i or "=" not in word.text]
    if not words:
        if name not in ("time", "env"):
            out.doubts.append(f"the commands of `{name}` are unknown")
        out.parts.append(part)
        return
    if name == "xargs":
        words.append(Word("(names that another command prints)", known=False))
    _unwrap(_inner(part, words), out, depth + 1)


def _inner(part: PlainCommand, words: Sequence[Word]) -> PlainCommand:
    return PlainCommand(tuple(words), part.piped, False, part.start)


def _from_first_plain(words: Sequence[Word]) -> list[Word]:
    for i, word in enumerate(words):
        if not word.text.startswith("-") and "=" not in word.text:
            return list(words[i:])
    return []


def _executed(words: Sequence[Word]) -> list[list[Word]]:
    """Return the commands after `-exec` and similar options, each up to its `;` or `+`."""
    found: list[list[Word]] = []
    current: list[Word] | None = None
    for word in words:
        if word.text in ("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"):
            current = []
            found.append(current)
        elif current is not None and word.text in (";", "+"):
            current = None
        elif current is not None:
            current.append(word)
    return [words for words in found if words]
