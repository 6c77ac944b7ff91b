"""Read a spec file that describes a search (docs/requirements.md 13.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from ...host.address_hosts import read_host
from ...protocol import FinderSpec, LeadsSpec, Lens, Recipe, Seed, UserError, WorkerSpec
from ..option_values import parse_duration
from ..spec_files.filling import fill
from ..spec_files.option_tables import refuse_server, shared_options
from ..spec_files.problems import SpecProblem
from ..spec_files.read_spec import SpecText
from ..trusted_choices import FileTrust, choices_of
from .search_recipes import (
    EVERY_FILE,
    MOST_PAGES,
    SearchRequest,
    migration_concurrency,
    require_address,
    require_safe_check,
)
from .search_tables import MigrateTable, SpecFile, WorkerTable


def read_finder(
    path: Path,
    given: Mapping[str, str] | None = None,
    *,
    workspace: Path | None = None,
    data: bytes | None = None,
    of_project: bool = False,
    word: str | None = None,
    trust: FileTrust | None = None,
) -> SearchRequest:
    """Read the search in that file. Raises UserError: one line with the file, the line, the key and the fix.

    `given`: values of parameters, by name. `workspace`: where their paths start; default: the current folder. `data`:
    the content of the file, if it was read already. `of_project`: it must not name a server, because a key could be
    sent there. `word`: how the user named the file, for messages. `trust`: raises NotTrusted for a file that chooses
    more than it may. None means that the caller does not run it.
    """
    spec = SpecText(path, data)
    with spec.located():
        spec.require("find", word)
        wanted = search_of(spec, given or {}, workspace or Path.cwd())
        if of_project:
            refuse_server(wanted.options)
    if trust is not None:
        trust.require(path, wanted.choices)
    return wanted


def search_of(spec: SpecText, given: Mapping[str, str] | None, workspace: Path) -> SearchRequest:
    """Return the search of a file. `given`: None for examples, to check the file. Raises UserError."""
    file, values = fill(spec, SpecFile, given, workspace)
    _require_one_way(file)
    worker, recipe = (None, None) if file.worker is None else _worker(file.worker)
    if recipe is Recipe.CRAWL:
        for number, seed in enumerate(file.seed):
            _require_address(seed.value, number)
    numbers = {
        "concurrency": file.concurrency,
        "retries": file.retries,
        "dry_passes": file.dry.passes,
        "sceptics": file.refute.sceptics,
    }
    set_here = {name: value for name, value in numbers.items() if value is not None}
    finder = FinderSpec(
        recipe=recipe,
        source=str(spec.path),
        lenses=[Lens(name=lens.name.strip(), prompt=lens.prompt, model=lens.model) for lens in file.lens],
        seeds=[Seed(kind=seed.kind, value=seed.value) for seed in file.seed],
        leads=LeadsSpec(work=file.leads.work, steps=file.leads.steps or LeadsSpec().steps),
        worker=worker,
        critic=file.critic,
        hosts=file.hosts,
    )
    finder = structs.replace(finder, **set_here)
    return SearchRequest(
        task=file.task.strip(),
        finder=finder if file.migrate is None else _migration(finder, file.migrate, set_here),
        options=_options(file),
        choices=choices_of(file),
        limits=["refuters" if name == "sceptics" else name for name in set_here],
        requires_verifiers=bool(file.refute.sceptics),
        values=values,
    )


def _migration(finder: FinderSpec, table: MigrateTable, set_here: Mapping[str, int]) -> FinderSpec:
    if "sceptics" in set_here:
        raise SpecProblem("[refute] sceptics: a migration has no findings to judge, so leave it out", ("refute",))
    try:
        require_safe_check(table.check, "[migrate] check")
    except UserError as error:
        raise SpecProblem(str(error), ("migrate", "check")) from None
    trees = table.parallel or 1
    return structs.replace(
        finder,
        recipe=Recipe.MIGRATE,
        check=table.check,
        globs=table.globs or [EVERY_FILE],
        parallel=trees,
        concurrency=set_here.get("concurrency", migration_concurrency(trees)),
        sceptics=0,
    )


def _options(file: SpecFile) -> dict[str, object]:
    """Return the options that the file sets. A search with a worker and without a model gets `model = none`.

    What its worker may reach is what the commands of the run may reach: the worker is the only one.
    """
    options = shared_options(file.model, file.budget, file.quota)
    if file.worker is not None:
        options.setdefault("model", "none")
        if file.worker.recipe is not None:
            options.setdefault("steps", MOST_PAGES)
        if file.worker.network:
            options["network"] = True
        if file.worker.hosts:
            options["sandbox_host"] = list(file.worker.hosts)
    if file.item_steps is not None:
        options["item_steps"] = str(file.item_steps)
    return options


def _require_one_way(file: SpecFile) -> None:
    """Raise UserError unless the file has exactly one way to search."""
    if file.lens and file.worker is not None:
        raise SpecProblem("[worker] and [[lens]] cannot be combined: leave one of them out", ("worker",))
    if file.migrate is not None and (file.lens or file.seed or file.worker is not None):
        raise SpecProblem("[migrate] cannot be combined with [[lens]], [[seed]] or [worker]", ("migrate",))
    if file.leads.work and not file.lens:
        raise SpecProblem(
            "[leads] work = true: leads come from lenses, so add a [[lens]], or leave [leads] out", ("leads", "work")
        )
    if not (file.lens or file.seed or file.migrate):
        raise UserError("nothing is searched: add a [[lens]], or a [[seed]] for the worker")
    names = [lens.name.strip() for lens in file.lens]
    if twice := next((at for at, name in enumerate(names) if name in names[:at]), None):
        raise SpecProblem(f"two lenses have the name {names[twice]!r}: give each lens its own name", ("lens", twice))


def _require_address(url: str, number: int) -> None:
    try:
        require_address(url)
    except UserError as error:
        raise SpecProblem(str(error), ("seed", number, "value")) from None


def _worker(worker: WorkerTable) -> tuple[WorkerSpec | None, Recipe | None]:
    given = [name for name in ("command", "python", "recipe") if getattr(worker, name)]
    if len(given) != 1:
        found = " and ".join(given) if given else "none of them"
        raise SpecProblem(f"[worker] needs exactly one of command, python and recipe, but has {found}", ("worker",))
    if worker.recipe is not None:
        if worker.network or worker.hosts:
            key = "network" if worker.network else "hosts"
            raise SpecProblem(f"[worker] {key}: a crawl reads the hosts of its seeds; leave it out", ("worker", key))
        return None, Recipe.CRAWL
    for number, host in enumerate(worker.hosts):
        try:
            read_host(host)
        except ValueError as error:
            raise SpecProblem(f"[worker] hosts: {error}", ("worker", "hosts", number)) from None
    if worker.command and not worker.command[0].strip():
        raise SpecProblem(
            '[worker] command does not name a program: write command = ["python3", "worker.py"]', ("worker", "command")
        )
    if worker.python is not None and not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", worker.python):
        raise SpecProblem(f"[worker] python = {worker.python!r}: write module:function", ("worker", "python"))
    return WorkerSpec(command=worker.command, python=worker.python, timeout=_timeout(worker.timeout)), None


def _timeout(given: float | str) -> float:
    try:
        seconds = parse_duration(given) if isinstance(given, str) else given
    except UserError as error:
        raise SpecProblem(f"[worker] timeout: {error}", ("worker", "timeout")) from None
    if seconds is None or not 0 < seconds < float("inf"):
        raise SpecProblem(
            f"[worker] timeout = {given} is out of range: write a positive duration, such as 30s", ("worker", "timeout")
        )
    return float(seconds)
