"""The tables of a spec file, and readable messages for errors in them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

import msgspec


class Table(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Base class of the tables. An unknown field is an error."""


class _Model(Table, frozen=True):
    name: str | None = None
    api_base: str | None = None
    context: int | str | None = None
    price: str | None = None
    effort: str | None = None
    params: dict[str, Any] | None = None


class _Budget(Table, frozen=True):
    steps: int | str | None = None
    tokens: int | str | None = None
    usd: float | str | None = None
    time: float | str | None = None


class _Dry(Table, frozen=True):
    passes: int | None = None


class _Refute(Table, frozen=True):
    sceptics: int | None = None


class _Leads(Table, frozen=True):
    work: bool = False
    steps: int | None = None


class _Lens(Table, frozen=True):
    name: str
    prompt: str
    model: str | None = None


class _Seed(Table, frozen=True):
    kind: str
    value: str


class WorkerTable(Table, frozen=True):
    """`[worker]`: what works the items. Exactly one of the first three is given."""

    command: list[str] = []
    python: str | None = None
    recipe: str | None = None
    timeout: float | str = 30.0


class SpecFile(Table, frozen=True):
    """A whole spec file: its top-level fields and its tables."""

    task: str
    concurrency: int | None = None
    retries: int | None = None
    item_steps: int | None = None
    quota: dict[str, str] = {}
    critic: bool = True
    hosts: list[str] = []
    model: _Model = _Model()
    budget: _Budget = _Budget()
    dry: _Dry = _Dry()
    refute: _Refute = _Refute()
    leads: _Leads = _Leads()
    lens: list[_Lens] = []
    seed: list[_Seed] = []
    worker: WorkerTable | None = None


TABLES: Mapping[str, type[Table]] = {
    "": SpecFile,
    "model": _Model,
    "budget": _Budget,
    "dry": _Dry,
    "refute": _Refute,
    "leads": _Leads,
    "lens": _Lens,
    "seed": _Seed,
    "worker": WorkerTable,
}
_LISTED = ("lens", "seed")
_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}


def readable_error(text: str) -> str:
    """Return a validation error as a readable message, such as `[[lens]] 1 has an unknown field 'promt'`.

    `text`: the message of msgspec, which names a path in a structure.
    """
    what, _, where = text.partition(" - at `")
    steps = re.findall(r"\w+|\[\d+\]|\[\.\.\.\]", where.rstrip("`").removeprefix("$"))
    table = steps[0] if steps and steps[0] in TABLES else ""
    number = next((int(step[1:-1]) + 1 for step in steps if re.fullmatch(r"\[\d+\]", step)), None)
    place = f"[[{table}]]" if table in _LISTED else f"[{table}]" if table else ""
    place += f" {number}" if number is not None and place else ""
    inner = " ".join(step for step in steps[1 if table else 0 :] if not step.startswith("["))
    if unknown := re.search(r"unknown field `(.*)`", what):
        known = TABLES[table].__struct_fields__
        near = difflib.get_close_matches(unknown[1], known, 1)
        there = f"did you mean {near[0]}?" if near else f"use one of {', '.join(known)}"
        return f"{place or 'the file'} has an unknown field {unknown[1]!r}: {there}"
    if missing := re.search(r"missing required field `(.*)`", what):
        return f"{place or 'the file'} needs a {missing[1]}"
    if expected := re.search(r"[Ee]xpected `(.*)`, got `(.*)`", what):
        return f"{f'{place} {inner}'.strip() or 'the file'}: {_fix(table, inner, expected[1], expected[2])}"
    return f"{f'{place} {inner}'.strip()}: {what[0].lower()}{what[1:]}"


def _fix(table: str, inner: str, wanted: str, got: str) -> str:
    if not inner and table:
        wanted_form = f"[[{table}]]" if table in _LISTED else f"[{table}]"
        return f"write this as a table, under {wanted_form}"
    if inner == "command":
        return 'write a list of words: command = ["python3", "worker.py"]'
    kinds = [_WORDS.get(kind, kind) for kind in wanted.split(" | ") if kind != "null"]
    return f"write {' or '.join(kinds)}, not {_WORDS.get(got, got)}"
