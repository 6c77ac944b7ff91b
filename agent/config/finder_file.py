"""Parse a spec file that describes a search (docs/requirements.md 13.2)."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..protocol import EFFORTS, FinderSpec, LeadsSpec, Lens, Recipe, Seed, UserError, WorkerSpec
from ..system import read_plain
from .finding import Wanted, require_address
from .options import MOST_WORKERS, read_rate
from .request_params import read_params
from .values import parse_duration, parse_money, parse_number, parse_price

KINDS = ("url", "file", "value")


class _Table(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Base class of tables, in which unknown fields are errors."""


class _Model(_Table, frozen=True):
    name: str | None = None
    api_base: str | None = None
    context: int | str | None = None
    price: str | None = None
    effort: str | None = None
    params: dict[str, Any] | None = None


class _Budget(_Table, frozen=True):
    steps: int | str | None = None
    tokens: int | str | None = None
    usd: float | str | None = None
    time: float | str | None = None


class _Dry(_Table, frozen=True):
    passes: int | None = None


class _Refute(_Table, frozen=True):
    sceptics: int | None = None


class _Leads(_Table, frozen=True):
    work: bool = False
    steps: int | None = None


class _Lens(_Table, frozen=True):
    name: str
    prompt: str
    model: str | None = None


class _Seed(_Table, frozen=True):
    kind: str
    value: str


class _Worker(_Table, frozen=True):
    command: list[str] = []
    python: str | None = None
    recipe: str | None = None
    timeout: float | str = 30.0


class _File(_Table, frozen=True):
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
    worker: _Worker | None = None


_TABLES: Mapping[str, type[_Table]] = {
    "": _File,
    "model": _Model,
    "budget": _Budget,
    "dry": _Dry,
    "refute": _Refute,
    "leads": _Leads,
    "lens": _Lens,
    "seed": _Seed,
    "worker": _Worker,
}


def _effort(text: str) -> str:
    if text not in EFFORTS:
        raise UserError(f"{text!r} is not possible: write {', '.join(EFFORTS[:-1])} or {EFFORTS[-1]}")
    return text


_LISTED = ("lens", "seed")
_VALUES: Mapping[str, Callable[[str], object]] = {
    "steps": parse_number,
    "tokens": parse_number,
    "usd": parse_money,
    "time": parse_duration,
    "context": parse_number,
    "price": parse_price,
    "effort": _effort,
}
_LARGEST = 64_000_000
"""Maximum size in bytes: a spec may list many seeds."""
_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}


def read_finder(path: Path) -> Wanted:
    """Parse the search in that file. Raises UserError: one line with the file, the field and the fix."""
    try:
        raw: dict[str, Any] = tomllib.loads(read_plain(path, _LARGEST).decode())
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}: name a spec file, or a --recipe") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: this is not UTF-8 text, so it is not a spec file") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"{path}: this is not TOML: {error}") from None
    try:
        return _wanted(path, msgspec.convert(raw, _File))
    except msgspec.ValidationError as error:
        raise UserError(f"{path}: {_readable(str(error))}") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _wanted(path: Path, file: _File) -> Wanted:
    _require_texts(file)
    _require_numbers(file)
    worker, recipe = (None, None) if file.worker is None else _worker(file.worker)
    if file.lens and file.worker is not None:
        raise UserError("a [worker] works items, [[lens]] searches: leave one of them out")
    if file.leads.work and not file.lens:
        raise UserError("[leads] work = true: leads come from lenses, so add a [[lens]], or leave [leads] out")
    if not (file.lens or file.seed):
        raise UserError("nothing is searched: add a [[lens]], or a [[seed]] to be worked")
    if recipe is Recipe.CRAWL:
        for seed in file.seed:
            require_address(seed.value)
    usual = FinderSpec()
    limits = {
        "concurrency": file.concurrency,
        "retries": file.retries,
        "dry_passes": file.dry.passes,
        "refuters": file.refute.sceptics,
    }
    finder = FinderSpec(
        recipe=recipe,
        source=str(path),
        lenses=[Lens(name=lens.name.strip(), prompt=lens.prompt, model=lens.model) for lens in file.lens],
        seeds=[Seed(kind=seed.kind, value=seed.value) for seed in file.seed],
        leads=LeadsSpec(work=file.leads.work, steps=file.leads.steps or LeadsSpec().steps),
        worker=worker,
        concurrency=usual.concurrency if file.concurrency is None else file.concurrency,
        retries=usual.retries if file.retries is None else file.retries,
        dry_passes=usual.dry_passes if file.dry.passes is None else file.dry.passes,
        sceptics=usual.sceptics if file.refute.sceptics is None else file.refute.sceptics,
        critic=file.critic,
        hosts=file.hosts,
    )
    options = {**_options("budget", file.budget), **_options("model", file.model)}
    if "name" in options:
        options["model"] = options.pop("name")
    elif file.worker is not None:
        options["model"] = "none"
    if file.item_steps is not None:
        options["item_steps"] = str(file.item_steps)
    if file.quota:
        options["quota"] = [f"{tool}={read_rate(tool, rate)}" for tool, rate in file.quota.items()]
    return Wanted(
        task=file.task.strip(),
        finder=finder,
        options=options,
        limits=[name for name, value in limits.items() if value is not None],
        wants_sceptics=bool(file.refute.sceptics),
    )


def _require_texts(file: _File) -> None:
    texts = [("task", file.task)]
    for number, lens in enumerate(file.lens, 1):
        texts += [(f"[[lens]] {number} name", lens.name), (f"[[lens]] {number} prompt", lens.prompt)]
    for number, seed in enumerate(file.seed, 1):
        if seed.kind not in KINDS:
            raise UserError(f"[[seed]] {number} kind = {seed.kind!r}: there are {', '.join(KINDS)}")
        texts.append((f"[[seed]] {number} value", seed.value))
    for place, text in texts:
        if not text.strip():
            raise UserError(f"{place} is empty")
    names = [lens.name.strip() for lens in file.lens]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"two lenses are called {twice!r}: each needs a name of its own")


def _require_numbers(file: _File) -> None:
    for name, number, least, most in (
        ("concurrency", file.concurrency, 1, MOST_WORKERS),
        ("retries", file.retries, 0, None),
        ("item_steps", file.item_steps, 1, None),
        ("[dry] passes", file.dry.passes, 1, None),
        ("[leads] steps", file.leads.steps, 1, None),
        ("[refute] sceptics", file.refute.sceptics, 0, MOST_WORKERS),
    ):
        if number is None:
            continue
        if number < least or (most is not None and number > most):
            raise UserError(f"{name} = {number}: {least} or more" if most is None else f"{name}: {least} to {most}")


def _options(table: str, given: _Table) -> dict[str, object]:
    """Parse options as on the command line, where each value is a text. Raises UserError."""
    found: dict[str, object] = {}
    for name, value in msgspec.to_builtins(given).items():
        if value is None:
            continue
        if name == "params":
            try:
                found[name] = read_params(value, 0.0)
            except UserError as error:
                raise UserError(f"[{table}] {name}: {error}") from None
            continue
        text = f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value)
        try:
            _VALUES.get(name, str)(text)
        except UserError as error:
            raise UserError(f"[{table}] {name}: {error}") from None
        found[name] = text
    return found


def _worker(worker: _Worker) -> tuple[WorkerSpec | None, Recipe | None]:
    given = [name for name in ("command", "python", "recipe") if getattr(worker, name)]
    if len(given) != 1:
        here = " and ".join(given) if given else "none of them"
        raise UserError(f"[worker] takes one of command, python and recipe; here is {here}")
    if worker.recipe is not None:
        if worker.recipe != Recipe.CRAWL:
            raise UserError(f"[worker] recipe = {worker.recipe!r}: there is crawl")
        return None, Recipe.CRAWL
    if worker.command and not worker.command[0].strip():
        raise UserError('[worker] command names no program: command = ["python3", "worker.py"]')
    if worker.python is not None and not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", worker.python):
        raise UserError(f"[worker] python = {worker.python!r}: write module:function")
    return WorkerSpec(command=worker.command, python=worker.python, timeout=_timeout(worker.timeout)), None


def _timeout(given: float | str) -> float:
    try:
        seconds = parse_duration(given) if isinstance(given, str) else given
    except UserError as error:
        raise UserError(f"[worker] timeout: {error}") from None
    if seconds is None or not 0 < seconds < float("inf"):
        raise UserError(f"[worker] timeout = {given}: an item needs some time, such as 30s")
    return float(seconds)


def _readable(text: str) -> str:
    """Convert an error to a readable form: `[[lens]] 1 has no field promt` instead of a path in a structure."""
    what, _, where = text.partition(" - at `")
    steps = re.findall(r"\w+|\[\d+\]|\[\.\.\.\]", where.rstrip("`").removeprefix("$"))
    table = steps[0] if steps and steps[0] in _TABLES else ""
    number = next((int(step[1:-1]) + 1 for step in steps if re.fullmatch(r"\[\d+\]", step)), None)
    place = f"[[{table}]]" if table in _LISTED else f"[{table}]" if table else ""
    place += f" {number}" if number is not None and place else ""
    inner = " ".join(step for step in steps[1 if table else 0 :] if not step.startswith("["))
    if unknown := re.search(r"unknown field `(.*)`", what):
        known = _TABLES[table].__struct_fields__
        near = difflib.get_close_matches(unknown[1], known, 1)
        there = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        return f"{place or 'the file'} has an unknown field {unknown[1]!r}: {there}"
    if missing := re.search(r"missing required field `(.*)`", what):
        return f"{place or 'the file'} needs a {missing[1]}"
    if expected := re.search(r"[Ee]xpected `(.*)`, got `(.*)`", what):
        return f"{f'{place} {inner}'.strip() or 'the file'}: {_fix(table, inner, expected[1], expected[2])}"
    return f"{f'{place} {inner}'.strip()}: {what[0].lower()}{what[1:]}"


def _fix(table: str, inner: str, wanted: str, got: str) -> str:
    if not inner and table:
        wanted_form = f"[[{table}]]" if table in _LISTED else f"[{table}]"
        return f"this is a table of its own, written under {wanted_form}"
    if inner == "command":
        return 'write a list of words: command = ["python3", "worker.py"]'
    kinds = [_WORDS.get(kind, kind) for kind in wanted.split(" | ") if kind != "null"]
    return f"{' or '.join(kinds)} belongs here, not {_WORDS.get(got, got)}"
