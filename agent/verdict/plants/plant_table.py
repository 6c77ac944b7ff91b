"""Read the table of test runners and of the failing tests that can be planted for them (`plants.toml`)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from ...host.toml_tables import read_table


class Kind(msgspec.Struct, frozen=True):
    """A kind of assertion: how a test uses it, and a statement of this kind that fails."""

    uses: str
    fails: str
    needs: str = ""
    """Line that a new file needs for it."""


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """The language of test files."""

    name: str
    marks: str
    named: str
    style: Literal["snake", "camel", "rust", "text"]
    reserved: list[str] = []
    header: str = ""
    imports: str = ""
    calls: str = ""
    test: str = ""
    place: str = ""
    begins: str = ""
    nested: str = ""
    around: str = ""
    broken: str = ""
    default: str
    kinds: list[Kind]

    def used(self, text: str) -> list[Kind]:
        """Return the kinds of assertion that this text of tests uses; the default if it uses none of the table."""
        found = [kind for kind in self.kinds if re.search(kind.uses, text, re.MULTILINE)]
        return found or [Kind("", self.default)]


class Runner(msgspec.Struct, frozen=True, kw_only=True):
    """A runner of tests, as it is started, restricted and kept from ending at the first failing test."""

    name: str
    language: str
    command: str
    files: str
    beside: str = ""
    word: str
    stop: str = ""
    hide: str = ""
    add: str = ""
    only: str = ""
    join: str = ""
    each: str = ""
    filters: str = ""
    config: list[str] = []
    env: dict[str, str] = {}
    only_env: dict[str, str] = {}
    stopped: str = ""


class PlantTable(msgspec.Struct, frozen=True):
    """The content of `plants.toml`."""

    skipped: list[str]
    words: list[str]
    language: list[Language]
    runner: list[Runner]

    def language_of(self, runner: Runner) -> Language:
        """Return the language of the runner's test files."""
        return next(language for language in self.language if language.name == runner.language)

    def named(self, name: str) -> Runner:
        """Return the runner with this name."""
        return next(runner for runner in self.runner if runner.name == name)


@cache
def plant_table() -> PlantTable:
    """Return the table."""
    return read_table(Path(__file__).with_name("plants.toml"), PlantTable)
