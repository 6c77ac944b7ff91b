"""Where a value can be filled into a command line or a list of arguments so that no program runs it.

A value is quoted as a part of one word. What is not known is not trusted: a text can only stand where the words of the
line say that it is data (docs/decisions/0049).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence

import msgspec

from ..protocol import UserError
from .command_line import PlainCommand, Word
from .flags import base, launched_at, risk, script_at
from .line_parser import parse_line
from .program_names import GIT_READS, INERT, INTERPRETERS, NEUTRAL, NEVER, PYTHON_CODE, READERS, SHELLS

_UNREADABLE = ("<<", "`", "[[", "((", "${", "$[", "$'", '$"')
"""Constructs behind which quotes can mean something else, or in which the shell computes a value."""
_MARK = "rundryvalue{}x"
"""A word that stands for the value of that number while the line is parsed."""
_MARKS = re.compile(r"rundryvalue(\d+)x")
_ORDINARY = re.compile(r"[\w./,:@%+][\w./,:@%+ ()\[\]-]*")
"""A path that no shell and no interpreter can read as more than a name."""
_OPERANDS = frozenset({"pytest", "py.test", "unittest", "ruff", "mypy", "basedpyright", "pyright"})
"""Programs whose operands are names of files and tests."""
_NO_VALUE = re.compile(r"-[qvxsk]+|--")
"""Options of these that take no value, or a name."""
_TEXTS = frozenset({"make", "gmake", "sed"})
"""Programs that read an argument as a program, and that rules judge by the argument."""
_EVALUATES = {"test": ("-v", "-R"), "[": ("-v", "-R"), "printf": ("-v",)}
"""Builtins with the options whose argument is the name of a variable, with an index that the shell evaluates."""
_KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"})
"""Words in front of a command."""
_PREFIXES = frozenset({"time", "command", "env", "nice", "nohup", "timeout", "stdbuf"})
"""Programs that run the words after their own."""
_OTHER_SHELLS = re.compile(r"(?:z|k|mk|a|fi|c|tc|da|ba)?sh|busybox|pwsh")
_PROGRAM_OPTION = re.compile(r"-[A-Za-z]*[ceErSp]|--(?:command|eval|print|split-string)=?")
"""Options of interpreters whose argument is a program."""
_APART = "pass it apart, as in sh -c 'PROGRAM \"$1\"' _ VALUE, or give it to a script of the project"


class Value(msgspec.Struct, frozen=True):
    """A value with its type."""

    text: str
    is_text: bool = True
    """Whether it can be any text. False: a number, a choice of the file's author, or the name of a file."""


def is_ordinary(path: str) -> bool:
    """Return whether a path has only characters that no shell and no interpreter reads as more than a name."""
    return _ORDINARY.fullmatch(path) is not None


def filled_line(parts: Sequence[str | Value]) -> str:
    """Join texts and values to a command line in which each value is a part of one word.

    Raises UserError for a place where a value could be run.
    """
    line, marked, values = "", "", list[Value]()
    for part in parts:
        if isinstance(part, str):
            line, marked = line + part, marked + part
            continue
        line += quoted_at(part.text, marked)
        marked += _MARK.format(len(values))
        values.append(part)
    if values:
        _require_data(marked, values)
    return line


def require_data_line(command: str, field: str) -> None:
    """Raise UserError if names of files in place of a field could be run. The field may stand between quotes."""
    values = [Value("x", is_text=False)]
    _require_data(command.replace(field, _MARK.format(0)), values, needs_words=False)


def require_data_words(words: Sequence[Sequence[str | Value]]) -> None:
    """Raise UserError if a value in a list of arguments could be run. There is no shell."""
    values: list[Value] = []
    texts = list[str]()
    for word in words:
        text = ""
        for part in word:
            if isinstance(part, Value):
                text += _MARK.format(len(values))
                values.append(part)
            else:
                text += part
        texts.append(text)
    part = PlainCommand(tuple(Word(text) for text in texts))
    if why := _why_run(part, frozenset(), values):
        raise UserError(why)


def quoted_at(value: str, before: str) -> str:
    """Return a value as a part of one word of the shell, for its place after the text `before`.

    Raises UserError for a place in which quotes do not protect from the value.
    """
    if found := next((sign for sign in _UNREADABLE if sign in before), None):
        raise UserError(f"it is behind {found}, where quotes do not protect from its value: write it in front of that")
    words = _Words().read(before)
    if words[-1].endswith("$") or "[" in words[-1]:
        raise UserError("it is behind a $ or [ in the same word: write it as a word of its own")
    return shlex.quote(value)


def _require_data(marked: str, values: Sequence[Value], *, needs_words: bool = True) -> None:
    """Raise UserError if a command of the line could run one of the values, for which marks stand."""
    line = parse_line(marked)
    if line.parse_error is not None:
        raise UserError(f"the line cannot be read: {line.parse_error}")
    seen = {int(mark) for part in line.parts for word in part.texts for mark in _MARKS.findall(word)}
    is_text = any(value.is_text for value in values)
    if needs_words:
        for at, value in enumerate(values):
            if at not in seen:
                _require_outside_of_commands(marked.partition(_MARK.format(at))[0], value)
        _require_harmless_variable(marked)
    names = {match[1] for match in re.finditer(r"(?:^|[\s;&|(])(\w+)=\S*rundryvalue|\bfor\s+(\w+)\s+in\b", marked)}
    spreads = bool(names) or "$(" in marked
    first: int | None = None
    for part in line.parts:
        if is_text and _is_run(part) and (written := next((name for name in line.writes if name in part.texts), None)):
            raise UserError(f"the line writes {written}, and {part.name} could run it: {_APART}")
        tainted = frozenset(
            at for at, word in enumerate(part.words) if spreads and not word.known and is_text and "$" in word.text
        )
        if not tainted and not any(_MARKS.search(word) for word in part.texts):
            if part.piped and first is not None and (why := _why_not_reader(part, is_text=is_text)):
                raise UserError(why)
            continue
        first = part.start if first is None else first
        if why := _why_run(part, tainted, values):
            raise UserError(why)
        if part.piped and first != part.start and (why := _why_not_reader(part, is_text=is_text)):
            raise UserError(why)


def _require_outside_of_commands(before: str, value: Value) -> None:
    """Raise UserError unless a value that is not an argument belongs to a variable, a `[ ]` test or `<`."""
    if not value.is_text and before.rstrip().endswith("<"):
        return
    words = [word for word in _Words().read(before) if word not in _KEYWORDS] or [before]
    if words[0] == "[" and not any(option in words for option in _EVALUATES["["]):
        return
    if words[0] != "for" and not all(_is_setting(word) for word in words):
        raise UserError(f"{words[0]} could run its value as a program: {_APART}")


def _require_harmless_variable(marked: str) -> None:
    for found in re.finditer(r"(\w+)\+?=[^\s;&|]*rundryvalue\d+x[^\s;&|]*[ \t]*([^\s;&|)}#]?)", marked):
        name = found[1]
        if found[2]:
            raise UserError(f"{name}= is a variable of a program, which could run it: {_APART}")
        if len(name) > 1 and name != name.lower():
            raise UserError(f"{name} could be a variable that programs read: write its name in small letters")


def _why_run(part: PlainCommand, tainted: Collection[int], values: Sequence[Value]) -> str | None:
    """Return why the program of a command could run a value that is one of its words, or None."""
    texts = part.texts
    at = next(at for at, word in enumerate(texts) if at in tainted or _MARKS.search(word))
    holders = [values[int(mark)] for word in texts for mark in _MARKS.findall(word)]
    is_text = bool(tainted) or any(value.is_text for value in holders)
    start = 0
    while start < at and (base(texts[start]) in _PREFIXES or _is_setting(texts[start])):
        start = _after_prefix(texts, start, at)
    name = base(texts[start])
    if start >= at and (start or not at):
        return f"it is the name of a program, or an option of one that runs others: {_APART}"
    if any(option in texts[start:] for option in _EVALUATES.get(name, ())):
        return f"{name} could run its value as a program: {_APART}"
    if name in READERS | INERT | NEUTRAL and name not in NEVER:
        return _why_risky(part, start, values) if is_text else None
    number = next((one for one in range(start, at) if _is_interpreter(base(texts[one]))), None)
    if number is not None:
        return _why_interpreted(texts, number, at, values, is_text=is_text)
    if name in NEVER or name in _TEXTS:
        is_read = name in ("awk", "gawk", "mawk", "sed") and not is_text and _has_operand(texts[start + 1 : at])
        return None if is_read else f"{name} could run its value as a program: {_APART}"
    return _why_not_known(part, start, at, tainted, values) if is_text else None


def _why_not_known(
    part: PlainCommand, start: int, at: int, tainted: Collection[int], values: Sequence[Value]
) -> str | None:
    """Return why a text cannot be an argument of the program at `start`: it is not known what it does with it."""
    texts, name = part.texts, base(part.texts[start])
    if "/" in texts[start] and not texts[start].startswith(("/", "~")):
        return None
    launched = launched_at(texts[start:])
    if launched is not None and launched < at - start:
        after = start + launched
        return _why_run(PlainCommand(part.words[after:], part.piped), [one - after for one in tainted], values)
    if name == "git":
        command = next((number for number in range(start + 1, len(texts)) if not texts[number].startswith("-")), at)
        if command < at and texts[command] in GIT_READS:
            return _why_risky(part, start, values)
    if name in _OPERANDS:
        return _why_no_operand(texts, at, values)
    return f"{name} could run its value as a program, as far as rundry knows: {_APART}"


def _why_risky(part: PlainCommand, start: int, values: Sequence[Value]) -> str | None:
    """Return why a program that only reads would do more with these values, or None."""
    words = tuple(Word(_filled(word.text, values)) for word in part.words[start:])
    why = risk(PlainCommand(words, part.piped))
    return None if why is None else f"{why}: write -- in front of it, or {_APART}"


def _why_interpreted(
    texts: Sequence[str], number: int, at: int, values: Sequence[Value], *, is_text: bool
) -> str | None:
    """Return why an interpreter at that index could run the word at `at`, or None: it is an argument of its program."""
    name, between = base(texts[number]), texts[number + 1 : at]
    is_python = name.startswith(("python", "pypy"))
    if is_python and "-m" in between:
        module = texts[number + 2 + list(between).index("-m")]
        if module in PYTHON_CODE or (is_text and module not in _OPERANDS):
            return f"{name} -m {module} could run its value as a program: {_APART}"
        return _why_no_operand([module, *texts[number + 1 :]], at - number, values) if is_text else None
    for index, word in enumerate([*between, texts[at]]):
        if not _PROGRAM_OPTION.match(word):
            continue
        if index + 1 < len(between) and not between[index + 1].startswith(("-", "+")):
            return None
        return f"{name} {_MARKS.sub('', word)} could run its value as a program: {_APART}"
    script = script_at([name, *between, texts[at]])
    if _has_operand(between) or (not is_text and script is not None):
        return None
    if not is_text and name in SHELLS:
        return None  # `bash -n {file}`
    return f"{name} could run its value as a program: {_APART}" if is_text else None


def _why_no_operand(texts: Sequence[str], at: int, values: Sequence[Value]) -> str | None:
    is_value = texts[at - 1].startswith("-") and not _NO_VALUE.fullmatch(texts[at - 1])
    if is_value or texts[at].startswith("-") or _filled(texts[at], values).startswith("-"):
        return f"{texts[0]} could take its value for an option: {_APART}"
    return None


def _why_not_reader(part: PlainCommand, *, is_text: bool) -> str | None:
    """Return why a program behind a pipe could run what it reads, or None."""
    name = base(part.name)
    if not part.words or not part.words[0].known:
        return f"a program that is not known reads it behind a pipe: {_APART}"
    if name in READERS | INERT | NEUTRAL:
        return None
    given = next((number for number, word in enumerate(part.texts[1:], 1) if _PROGRAM_OPTION.match(word)), None)
    if _is_interpreter(name):
        has_program = _has_operand(part.texts[1:]) if given is None else given + 1 < len(part.texts)
        return None if has_program else f"{name} behind a pipe would run its value as a program: {_APART}"
    if "/" in part.name and not part.name.startswith(("/", "~")):
        return None
    if is_text or name in NEVER or name in ("xargs", "make"):
        return f"{name} behind a pipe could run its value as a program, as far as rundry knows: {_APART}"
    return None


def _is_run(part: PlainCommand) -> bool:
    return base(part.name) not in READERS | INERT | NEUTRAL


def _is_interpreter(name: str) -> bool:
    plain = re.sub(r"[\d.]+$", "", name)
    plain = {"pypy": "python", "nodejs": "node", "luajit": "lua"}.get(plain, plain)
    return plain in INTERPRETERS or name in SHELLS or _OTHER_SHELLS.fullmatch(name) is not None or name == "su"


def _is_setting(word: str) -> bool:
    return re.match(r"\w+=", word) is not None


def _after_prefix(texts: Sequence[str], start: int, at: int) -> int:
    """Return the index of the program that `env`, `timeout 5` and the like run. It is `at` if that is not certain."""
    number = start + 1
    if base(texts[start]) == "timeout" and number < at and re.fullmatch(r"[\d.]+[smhd]?", texts[number]):
        number += 1
    return at if number < at and texts[number].startswith("-") else number


def _has_operand(words: Sequence[str]) -> bool:
    return any(not word.startswith("-") for word in words)


def _filled(text: str, values: Sequence[Value]) -> str:
    return _MARKS.sub(lambda mark: values[int(mark[1])].text, text)


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
