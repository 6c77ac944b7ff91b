"""Parse a spec file that describes a search (docs/requirements.md 13.2)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ...protocol import EFFORTS, ITEM_KINDS, FinderSpec, LeadsSpec, Lens, Recipe, Seed, UserError, WorkerSpec
from ...system import read_plain
from ..options import MOST_WORKERS, read_rate
from ..request_params import read_params
from ..values import parse_duration, parse_money, parse_number, parse_price
from .recipes import SearchRequest, require_address
from .tables import SpecFile, Table, WorkerTable, readable_error


def _effort(text: str) -> str:
    if text not in EFFORTS:
        raise UserError(f"{text!r} is not possible: write {', '.join(EFFORTS[:-1])} or {EFFORTS[-1]}")
    return text


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


def read_finder(path: Path) -> SearchRequest:
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
        return _wanted(path, msgspec.convert(raw, SpecFile))
    except msgspec.ValidationError as error:
        raise UserError(f"{path}: {readable_error(str(error))}") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _wanted(path: Path, file: SpecFile) -> SearchRequest:
    _require_texts(file)
    _require_numbers(file)
    worker, recipe = (None, None) if file.worker is None else _worker(file.worker)
    if file.lens and file.worker is not None:
        raise UserError("[worker] and [[lens]] cannot be combined: leave one of them out")
    if file.leads.work and not file.lens:
        raise UserError("[leads] work = true: leads come from lenses, so add a [[lens]], or leave [leads] out")
    if not (file.lens or file.seed):
        raise UserError("nothing is searched: add a [[lens]], or a [[seed]] for the worker")
    if recipe is Recipe.CRAWL:
        for seed in file.seed:
            require_address(seed.value)
    numbers = {
        "concurrency": file.concurrency,
        "retries": file.retries,
        "dry_passes": file.dry.passes,
        "sceptics": file.refute.sceptics,
    }
    given = {name: value for name, value in numbers.items() if value is not None}
    finder = FinderSpec(
        recipe=recipe,
        source=str(path),
        lenses=[Lens(name=lens.name.strip(), prompt=lens.prompt, model=lens.model) for lens in file.lens],
        seeds=[Seed(kind=kind, value=seed.value) for seed in file.seed for kind in ITEM_KINDS if kind == seed.kind],
        leads=LeadsSpec(work=file.leads.work, steps=file.leads.steps or LeadsSpec().steps),
        worker=worker,
        critic=file.critic,
        hosts=file.hosts,
    )
    return SearchRequest(
        task=file.task.strip(),
        finder=msgspec.structs.replace(finder, **given),
        options=_all_options(file),
        limits=["refuters" if name == "sceptics" else name for name in given],
        requires_verifiers=bool(file.refute.sceptics),
    )


def _all_options(file: SpecFile) -> dict[str, object]:
    """Return the options that the file sets. A search with a worker and without a model gets `model = none`."""
    options = {**_options("budget", file.budget), **_options("model", file.model)}
    if "name" in options:
        options["model"] = options.pop("name")
    elif file.worker is not None:
        options["model"] = "none"
    if file.item_steps is not None:
        options["item_steps"] = str(file.item_steps)
    if file.quota:
        options["quota"] = [f"{tool}={read_rate(tool, rate)}" for tool, rate in file.quota.items()]
    return options


def _require_texts(file: SpecFile) -> None:
    texts = [("task", file.task)]
    for number, lens in enumerate(file.lens, 1):
        texts += [(f"[[lens]] {number} name", lens.name), (f"[[lens]] {number} prompt", lens.prompt)]
    for number, seed in enumerate(file.seed, 1):
        if seed.kind not in ITEM_KINDS:
            raise UserError(f"[[seed]] {number} kind = {seed.kind!r}: use one of {', '.join(ITEM_KINDS)}")
        texts.append((f"[[seed]] {number} value", seed.value))
    for place, text in texts:
        if not text.strip():
            raise UserError(f"{place} is empty")
    names = [lens.name.strip() for lens in file.lens]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"two lenses have the name {twice!r}: give each lens its own name")


def _require_numbers(file: SpecFile) -> None:
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
            allowed = f"{least} or more" if most is None else f"{least} to {most}"
            raise UserError(f"{name} = {number} is out of range: write {allowed}")


def _options(table: str, given: Table) -> dict[str, object]:
    """Check the values of a table as if they were flags, and return them as texts by option name. Raises UserError."""
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


def _worker(worker: WorkerTable) -> tuple[WorkerSpec | None, Recipe | None]:
    given = [name for name in ("command", "python", "recipe") if getattr(worker, name)]
    if len(given) != 1:
        found = " and ".join(given) if given else "none of them"
        raise UserError(f"[worker] needs exactly one of command, python and recipe, but has {found}")
    if worker.recipe is not None:
        if worker.recipe != Recipe.CRAWL:
            raise UserError(f"[worker] recipe = {worker.recipe!r}: the only possible value is crawl")
        return None, Recipe.CRAWL
    if worker.command and not worker.command[0].strip():
        raise UserError('[worker] command does not name a program: write command = ["python3", "worker.py"]')
    if worker.python is not None and not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", worker.python):
        raise UserError(f"[worker] python = {worker.python!r}: write module:function")
    return WorkerSpec(command=worker.command, python=worker.python, timeout=_timeout(worker.timeout)), None


def _timeout(given: float | str) -> float:
    try:
        seconds = parse_duration(given) if isinstance(given, str) else given
    except UserError as error:
        raise UserError(f"[worker] timeout: {error}") from None
    if seconds is None or not 0 < seconds < float("inf"):
        raise UserError(f"[worker] timeout = {given} is out of range: write a positive duration, such as 30s")
    return float(seconds)
