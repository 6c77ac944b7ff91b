"""Insert failing tests into files of other languages, as their row of `plants.toml` says."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from textwrap import indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .plant_table import Kind, Language


def new_text(language: Language, neighbour: str, tests: Sequence[tuple[str, str, Kind]]) -> str | None:
    """Return a new file with these tests (name, code that fails, kind); None if the file next to it does not show how.

    `neighbour`: the text of the file next to which it will be.
    """
    head = (
        [match[0].strip() for match in re.finditer(language.header, neighbour, re.MULTILINE)] if language.header else []
    )
    if language.style == "camel":
        head = head[:1]
    needs = sorted({kind.needs for _, _, kind in tests if kind.needs})
    bodies = [_test(language, neighbour, name, code) for name, code, _ in tests]
    if any(body is None for body in bodies):
        return None
    parts = [*head, language.imports.strip(), *needs]
    lines = [part for part in parts if part]
    return "\n".join([*lines, ""] if lines else []) + "".join(body or "" for body in bodies)


def with_test(language: Language, text: str, name: str, code: str, random: Random) -> str | None:
    """Return the text of a file with one more test; None if it cannot be inserted."""
    body = _test(language, text, name, code)
    if body is None:
        return None
    ending = "\r\n" if "\r\n" in text else "\n"
    if not language.place:
        return text + ("" if text.endswith("\n") else ending) + body.replace("\n", ending)
    places = list(re.finditer(language.place, text))
    if not places:
        return None
    place = random.choice(places)
    test = indent(body.lstrip("\n"), place["at"]) + "\n"
    at = place.start("at")
    return text[:at] + test.replace("\n", ending) + text[at:]


def broken_tests(language: Language, text: str, code: str, names: Callable[[str], bool]) -> tuple[str, list[str]]:
    """Return a text of tests in which those with these names fail at their begin, and their names.

    `code`: the statement of `broken`, in which the groups of `begins` are still to be filled in.
    """
    begins = list(re.finditer(language.begins, text, re.MULTILINE)) if language.begins else []
    found = list[str]()
    for at in reversed(range(len(begins))):
        begin = begins[at]
        rest = text[begin.end() : begins[at + 1].start() if at + 1 < len(begins) else len(text)]
        if names(begin["name"]) and not (language.nested and re.search(language.nested, rest)):
            filled = re.sub(r"\{([a-z])\}", lambda group, begin=begin: begin[group[1]], code)
            text = text[: begin.end()] + filled + text[begin.end() :]
            found.append(begin["name"])
    return text, found


def _test(language: Language, text: str, name: str, code: str) -> str | None:
    call = re.search(language.calls, text, re.MULTILINE) if language.calls else None
    if language.calls and call is None:
        return None
    body = language.test.replace("{call}", call["call"] if call else "")
    return body.replace("{name}", name).replace("{fails}", code)
