"""What `rundry find` is asked to do: a spec file (REQUIREMENTS 13.2), or one of the recipes."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..protocol import FinderSpec, Lens, Recipe, Seed, UserError, WorkerSpec
from .values import parse_duration

KINDS = ("url", "file", "value")
EVERY_FILE = "**/*"
"""migrate: where no glob is given."""

RESEARCH_LENSES = (
    Lens(
        name="survey",
        prompt="Go through the files one by one, from the entry points on, and read what they do rather than what they "
        "are called.",
    ),
    Lens(
        name="words",
        prompt="Search for the words that belong to the question, their synonyms, abbreviations and other spellings, "
        "and read around each hit.",
    ),
    Lens(
        name="threads",
        prompt="Follow references: from a definition to its uses, from a claim to its source, from a setting to what "
        "reads it.",
    ),
    Lens(
        name="edges",
        prompt="Look where nobody looks: tests, examples, configuration, error paths, old and odd files, comments that "
        "say something is temporary.",
    ),
)


class _Model(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    name: str | None = None
    api_base: str | None = None
    context: int | str | None = None
    price: str | None = None


class _Budget(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    steps: int | str | None = None
    tokens: int | str | None = None
    usd: float | str | None = None
    time: str | float | None = None


class _Dry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    passes: int = 2


class _Refute(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    sceptics: int = 3


class _Lens(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    name: str
    prompt: str
    model: str | None = None


class _Seed(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    kind: str
    value: str


class _Worker(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    command: list[str] = []
    python: str | None = None
    recipe: str | None = None
    timeout: str | float = 30.0


class _File(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    task: str
    concurrency: int = 8
    retries: int = 3
    critic: bool = True
    hosts: list[str] = []
    model: _Model = _Model()
    budget: _Budget = _Budget()
    dry: _Dry = _Dry()
    refute: _Refute = _Refute()
    lens: list[_Lens] = []
    seed: list[_Seed] = []
    worker: _Worker | None = None


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A search as it was asked for: what to do, and options that a flag may still overrule."""

    task: str
    finder: FinderSpec
    options: dict[str, object] = {}


def read_finder(path: Path) -> Wanted:
    """The search that a spec file describes. Raises UserError: the file, the field and the mend."""
    try:
        raw: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}: name a spec file, or a --recipe") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: this is not UTF-8 text, so it is no spec file") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: this is not TOML: {error}") from None
    try:
        file = msgspec.convert(raw, _File)
    except msgspec.ValidationError as error:
        raise UserError(f"{path}: {_readable(error)}") from None
    return _wanted(path, file)


def crawl_wanted(urls: Sequence[str], *, rate: float | None, include: Sequence[str], exclude: Sequence[str]) -> Wanted:
    """Follow links from these addresses within their hosts. Raises UserError for an address that is none."""
    if not urls:
        raise UserError("a crawl starts somewhere: rundry find --recipe crawl URL")
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise UserError(f"{url}: an address begins with http:// or https://")
    seeds = [Seed(kind="url", value=url) for url in urls]
    finder = FinderSpec(
        recipe=Recipe.CRAWL, seeds=seeds, rate=rate or None, include=list(include), exclude=list(exclude), sceptics=0
    )
    return Wanted(task=f"crawl {', '.join(urls)}", finder=finder, options={"model": "none", "steps": "10000"})


def research_wanted(task: str | None, paths: Sequence[str], root: Path) -> Wanted:
    """Lenses, sceptics and a critic over folders of documents or code. Raises UserError."""
    if not task:
        raise UserError('research needs a question: rundry find --recipe research --task "..." [PATH...]')
    for path in paths:
        if not (root / path).exists():
            raise UserError(f"{path}: there is no such file or folder in {root}")
    return Wanted(
        task=task,
        finder=FinderSpec(recipe=Recipe.RESEARCH, lenses=list(RESEARCH_LENSES), paths=list(paths)),
    )


def migrate_wanted(task: str | None, check: str | None, globs: Sequence[str]) -> Wanted:
    """The files that fail a check, each brought through it. Raises UserError."""
    if not check:
        raise UserError("migrate needs a check: rundry find --recipe migrate --check 'CMD {file}' [GLOB...]")
    wanted = list(globs) or [EVERY_FILE]
    finder = FinderSpec(recipe=Recipe.MIGRATE, check=check, globs=wanted, concurrency=1, sceptics=0)
    return Wanted(task=task or f"make every file pass `{check}`", finder=finder)


def _wanted(path: Path, file: _File) -> Wanted:
    for seed in file.seed:
        if seed.kind not in KINDS:
            raise UserError(f"{path}: [[seed]] kind = {seed.kind!r}: there are {', '.join(KINDS)}")
    worker, recipe = _worker(path, file.worker)
    if not (file.lens or file.seed):
        raise UserError(f"{path}: nothing is searched: add a [[lens]], or a [[seed]]")
    if file.lens and worker is not None:
        raise UserError(f"{path}: [worker] works items instead of lenses: leave one of them out")
    names = [lens.name for lens in file.lens]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"{path}: two lenses are called {twice}")
    for name, number, least in (
        ("concurrency", file.concurrency, 1),
        ("retries", file.retries, 0),
        ("[dry] passes", file.dry.passes, 1),
        ("[refute] sceptics", file.refute.sceptics, 0),
    ):
        if number < least:
            raise UserError(f"{path}: {name} = {number}: {least} or more")
    finder = FinderSpec(
        recipe=recipe,
        source=str(path),
        lenses=[Lens(name=lens.name, prompt=lens.prompt, model=lens.model) for lens in file.lens],
        seeds=[Seed(kind=seed.kind, value=seed.value) for seed in file.seed],
        worker=worker,
        concurrency=file.concurrency,
        retries=file.retries,
        dry_passes=file.dry.passes,
        sceptics=file.refute.sceptics,
        critic=file.critic,
        hosts=file.hosts,
    )
    chosen = {**msgspec.to_builtins(file.budget), **_model(file.model)}
    options: dict[str, object] = {name: str(value) for name, value in chosen.items() if value is not None}
    if "model" not in options and (worker is not None or recipe is Recipe.CRAWL):
        options["model"] = "none"
    return Wanted(task=file.task, finder=finder, options=options)


def _model(model: _Model) -> dict[str, object]:
    return {"model": model.name, "api_base": model.api_base, "context": model.context, "price": model.price}


def _worker(path: Path, worker: _Worker | None) -> tuple[WorkerSpec | None, Recipe | None]:
    if worker is None:
        return None, None
    given = [name for name in ("command", "python", "recipe") if getattr(worker, name)]
    if len(given) != 1:
        raise UserError(f"{path}: [worker] takes one of command, python and recipe; here are {len(given)} of them")
    if worker.recipe is not None:
        if worker.recipe != Recipe.CRAWL:
            raise UserError(f"{path}: [worker] recipe = {worker.recipe!r}: there is crawl")
        return None, Recipe.CRAWL
    if worker.python is not None and ":" not in worker.python:
        raise UserError(f"{path}: [worker] python = {worker.python!r}: write module:function")
    seconds = worker.timeout if isinstance(worker.timeout, float) else parse_duration(str(worker.timeout))
    if not seconds or seconds <= 0:
        raise UserError(f"{path}: [worker] timeout = {worker.timeout}: a duration such as 30s")
    return WorkerSpec(command=worker.command, python=worker.python, timeout=seconds), None


def _readable(error: msgspec.ValidationError) -> str:
    """`[[lens]] prompt is missing` rather than a path into a structure."""
    text = str(error)
    what, _, where = text.partition(" - at `")
    place = where.rstrip("`").removeprefix("$").lstrip(".")
    return f"{place}: {what[0].lower()}{what[1:]}" if place else f"{what[0].lower()}{what[1:]}"
