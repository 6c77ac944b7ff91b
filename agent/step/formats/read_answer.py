"""Read an answer in a file format as the new text of the shown file. The reader tolerates mistakes in the form."""

from __future__ import annotations

import difflib
import json
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, cast

from ...protocol import CONSTRAINED, FileFormat
from ...protocol.text.double_keys import double_key
from ...tools.edit_blocks.match_block import Occurrences, Replacement, find_block
from .merge_definitions import DEFINITIONS, Merged, merge, parsed

OLD, NEW = ("old_text", "find", "search", "old_string", "old_str", "old"), (
    "new_text", "replace", "replacement", "new_string", "new_str", "new",
)  # fmt: skip
"""Names of the fields of an edit in JSON, the first of which is asked for."""
_CONTENT = ("content", "contents", "file_text", "text")
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})([^\n`]*)\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(
    r"^[ \t]*<{5,9}[^<\n]*\n(.*?)^[ \t]*={5,9}[ \t]*\n(.*?)^[ \t]*>{5,9}",
    re.DOTALL | re.MULTILINE,
)
"""An edit. After the first marker models write SEARCH, ORIGINAL, HEAD, or the name of the file."""
_MARKER = re.compile(r"^[ \t]*(?:<{5,9}|>{5,9})[^<>\n]*\n", re.MULTILINE)
HUNK = re.compile(r"^@@[^\n]*\n((?:[ +\-\\][^\n]*(?:\n|\Z)|\n)+)", re.MULTILINE)
THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_ELIDED = re.compile(
    r"^\s*(?:(?:#|//|--|;|%|/\*|<!--)\s*\.\.\.|\.\.\.\s*(?:rest|existing|remain|unchanged|same|other)"
    r"|(?:#|//|--|/\*|<!--)\s*(?:rest of|existing|remaining|unchanged|same as|other) )",
    re.IGNORECASE,
)
_AFTER_DEFINITIONS = re.compile(
    r"[rbuRBU]?[\"\']|if __name__|print\(|assert\b|(async )?def test|class Test|import (pytest|unittest)"
)
"""Lines at the first column that begin what follows the definitions of an answer: a text, a test, an example."""
_LIKE = 0.4
"""Share of equal lines above which a fenced text counts as the whole file."""
_TEST = "test"
_SHORT = 6
"""A file of fewer lines, other than a Python program, may be replaced by any text."""


@dataclass(frozen=True, slots=True)
class ShownFile:
    """The file that the model was shown. Its lines end with a line feed alone."""

    path: str
    text: str
    is_new: bool = False
    """There is no such file yet."""
    is_part: bool = False
    """Only some of its lines were shown."""
    asked: str = ""
    """What was asked for, and what the checks printed: a new definition that this names belongs in the file."""
    is_offer: bool = False
    """A person decides on the change, so each new definition belongs in the file."""
    is_named: bool = False
    """The answer names the file above the code, so code that has none of its definitions is added to it."""

    @property
    def is_python(self) -> bool:
        """Whether it is a Python program without a syntax error."""
        return self.path.endswith((".py", ".pyi")) and parsed(self.text) is not None

    def wants(self, name: str) -> bool:
        """Return whether a new definition belongs in the file, although no other uses it.

        Tests do only in a file of tests: models like to write some after their answer.
        """
        if name.startswith(_TEST) and _TEST not in PurePosixPath(self.path).name:
            return False
        return self.is_offer or re.search(rf"\b{re.escape(name)}\b", self.asked) is not None


@dataclass(frozen=True, slots=True)
class Reading:
    """The new text of the file, or why the answer gives none."""

    text: str | None
    problem: str = ""
    """Why it cannot be used, in words for the model."""
    notes: list[str] = field(default_factory=list[str])
    """What was kept or left out, one line each."""
    is_same: bool = False
    """The answer repeats the file as it is."""
    is_other: bool = False
    """The code is not that of the file."""


def read_answer(form: FileFormat, said: str, shown: ShownFile) -> Reading:
    """Read an answer. Another format than the one that was asked for is accepted if it leaves no doubt."""
    said = THOUGHT.sub("", said).replace("\r\n", "\n")
    readers = [_by_blocks, _by_diff, _by_json, _by_fence]
    if form == CONSTRAINED:
        readers = [_by_json, _by_blocks, _by_diff, _by_fence]
    found: list[Reading] = []
    for reader in readers:
        reading = reader(said, shown)
        if reading is not None:
            found.append(judged(reading, shown))
            if found[-1].text is not None:
                return found[-1]
    return found[0] if found else Reading(None, "It contains no code in the form that was asked for.")


def read_block(block: str, shown: ShownFile) -> Reading | None:
    """Read one block of an answer as an edit of its file, or None if it has no code. JSON is never an edit here."""
    found = [judged(one, shown) for reader in (_by_blocks, _by_diff, _by_fence) if (one := reader(block, shown))]
    return next((one for one in found if one.text is not None), found[0] if found else None)


def is_complete(form: FileFormat, said: str, shown: ShownFile) -> bool:
    """Return whether the answer so far is already complete, so that nothing more has to be added.

    It is complete at the closing fence, and in a Python file where something other than definitions begins.
    """
    if form not in ("whole", "functions") or "```" in shown.text:
        return False
    fences = [match for match in FENCE.finditer(said) if match[3].strip()]
    if not fences:
        return False
    if is_closed(fences[-1]):
        return said.rstrip().endswith("```") and read_answer(form, said, shown).text is not None
    if not shown.is_python or not said.endswith("\n"):
        return False
    last = fences[-1][3].removesuffix("\n").rpartition("\n")[2]
    if not _AFTER_DEFINITIONS.match(last):
        return False
    reading = read_answer(form, said, shown)
    return reading.text is not None or reading.is_same


def judged(reading: Reading, shown: ShownFile) -> Reading:
    """Return the reading, or why its text cannot be used."""
    text = reading.text
    if text is None:
        return reading
    if text == shown.text:
        return Reading(None, f"It changes nothing in {shown.path}.", is_same=True)
    known = set(shown.text.split("\n"))
    if any(_ELIDED.match(line) and line not in known for line in text.split("\n")):
        return Reading(None, "It leaves out code that was there: write every line.")
    if shown.path.endswith((".py", ".pyi")) and (shown.is_new or shown.is_python):
        try:
            with warnings.catch_warnings(action="ignore"):
                compile(text, shown.path, "exec", flags=0, dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            line = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            what = error.msg if isinstance(error, SyntaxError) else str(error)
            return Reading(None, f"With it, {shown.path} is not valid Python{line}: {what}.")
    return reading


def _by_blocks(said: str, shown: ShownFile) -> Reading | None:
    edits = [(match[1].removesuffix("\n"), match[2].removesuffix("\n")) for match in BLOCK.finditer(said)]
    return _replaced(edits, shown) if edits else None


def _by_diff(said: str, shown: ShownFile) -> Reading | None:
    edits = list[tuple[str, str]]()
    for match in HUNK.finditer(said):
        lines = [line or " " for line in match[1].removesuffix("\n").split("\n")]
        old = [line[1:] for line in lines if line[0] in " -"]
        new = [line[1:] for line in lines if line[0] in " +"]
        edits.append(("\n".join(old), "\n".join(new)))
    return _replaced(edits, shown) if edits else None


def _by_json(said: str, shown: ShownFile) -> Reading | None:
    edits, whole = list[tuple[str, str]](), list[str]()
    for given in _objects(said):
        inner = given.get("arguments", given.get("parameters", given))
        if isinstance(inner, str):
            inner = next(iter(_objects(inner)), None)
        fields = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
        other = _other_file(fields, shown)
        for one in cast("Sequence[Any]", fields["edits"]) if isinstance(fields.get("edits"), list) else [fields]:
            edit = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
            old, new = _field(edit, OLD), _field(edit, NEW)
            if old is not None and new is not None:
                edits.append((old, new))
        content = _field(fields, _CONTENT)
        if content is not None and not edits:
            whole.append(content)
        if other and (edits or whole):
            return Reading(None, f"It changes {other}, and only {shown.path} was shown.")
    if shown.is_new and edits:
        return Reading(edits[0][1])
    if edits:
        return _replaced([(old, new) for old, new in edits if old != new], shown)
    return Reading(whole[-1]) if whole else None


def _by_fence(said: str, shown: ShownFile) -> Reading | None:
    matches = [match for match in FENCE.finditer(said) if match[3].strip()]
    fences = [match[3] for match in matches]
    if shown.is_python and not fences and (merged := merge(said, shown.text, shown.wants)) is not None:
        return Reading(merged.text, notes=merged.notes)  # code without a fence
    if not fences:
        return None
    if shown.is_new:
        whole = max(matches, key=lambda match: len(match[3]))
        return Reading(whole[3]) if is_closed(whole) else Reading(None, "It was cut off before the end of its block.")
    if shown.is_python:
        text, notes, merged_any = shown.text, list[str](), False
        for match in matches:
            merged = merge(_definitions(match), text, shown.wants, is_addition=shown.is_named)
            if merged is not None:
                text, merged_any = merged.text, True
                notes += merged.notes
        if merged_any:
            return Reading(text, notes=notes)
    whole = max(fences, key=len)
    if shown.is_python and parsed(textwrap.dedent(whole)) is None:
        return Reading(whole)
    if not is_closed(matches[-1]):
        return Reading(None, "It was cut off before the end of its block.")
    if shown.is_part:
        return Reading(None, f"Only a part of {shown.path} was shown, so the whole file cannot be replaced.")
    is_certain = not shown.is_python and shown.text.count("\n") < _SHORT
    if not is_certain and _likeness(whole, shown.text) < _LIKE:
        problem = f"The code in it is not {shown.path}, and has none of its definitions."
        return Reading(None, problem, is_other=True)
    return Reading(whole if shown.text.endswith("\n") or not shown.text else whole.removesuffix("\n"))


def _definitions(fence: re.Match[str]) -> str:
    """Return the Python text of a block; of one without its end, what is before a text or example that follows."""
    lines = _MARKER.sub("", fence[3]).split("\n")
    if not is_closed(fence) and parsed(textwrap.dedent(fence[3])) is None:
        cuts = [at for at, line in enumerate(lines) if _AFTER_DEFINITIONS.match(line)]
        lines = lines[: cuts[-1]] if cuts else lines
    return "\n".join(lines)


def is_closed(fence: re.Match[str]) -> bool:
    """Return whether a match of `FENCE` has its end."""
    return fence[0].rstrip().endswith(fence[1]) and fence.end() > fence.end(3)


def _likeness(one: str, other: str) -> float:
    """Return the share of equal lines, from 0 to 1."""
    return difflib.SequenceMatcher(None, one.split("\n"), other.split("\n"), autojunk=False).ratio()


def _replaced(edits: Sequence[tuple[str, str]], shown: ShownFile) -> Reading:
    """Apply all edits in order, each at its one place."""
    text, notes = shown.text, list[str]()
    for old, new in edits:
        if not old.strip():
            if shown.is_new or not shown.text.strip():
                return Reading(new)
            return Reading(None, "The text to replace is empty: copy the lines of the file that change.")
        place = find_block(text, old, new)
        if place is None and shown.is_python and (merged := _by_names(old, new, text)) is not None:
            text = merged.text
            notes += [*merged.notes, "the text to replace differs from the file; its definitions were replaced by name"]
        elif isinstance(place, Replacement):
            text = text[: place.start] + place.new + text[place.end :]
            notes += place.notes
        elif isinstance(place, Occurrences):
            return Reading(None, f"The text to replace occurs {len(place.lines)} times: copy more lines around it.")
        elif place is None:
            return Reading(None, "The text to replace is not in the file: copy its lines exactly.")
        else:
            return Reading(None, place.why)
    return Reading(text, notes=notes)


def _by_names(old: str, new: str, text: str) -> Merged | None:
    """Replace definitions by their names, if both texts of an edit define the same ones, or None if they do not."""
    names = [
        [node.name for node in tree.body if isinstance(node, DEFINITIONS)]
        for tree in (parsed(textwrap.dedent(one)) for one in (old, new))
        if tree is not None
    ]
    return merge(new, text) if len(names) == 2 and names[0] and names[0] == names[1] else None


def _objects(said: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a text, also those in fences or tags, and with raw line ends in their strings.

    An object with a key twice is left out.
    """
    decoder, at = json.JSONDecoder(strict=False), 0
    while (at := said.find("{", at)) >= 0:
        start = at
        try:
            found, at = decoder.raw_decode(said, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if isinstance(found, dict) and double_key(said[start:at]) is None:
            yield cast("dict[str, Any]", found)


def _field(given: dict[str, Any], names: Sequence[str]) -> str | None:
    return next((given[name] for name in names if isinstance(given.get(name), str)), None)


def _other_file(given: dict[str, Any], shown: ShownFile) -> str:
    """Return the file that a call names, if it is not the shown one."""
    path = _field(given, ("path", "file_path", "filepath", "file", "filename"))
    if path is None or path.rpartition("/")[2] == shown.path.rpartition("/")[2]:
        return ""
    return path
