"""`rundry find`: make a search from words and options, or find the search to resume. Does not import textual."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from rundry.agent import (
    CLUSTER_CHECKS,
    CLUSTER_CONCURRENCY,
    FilledFile,
    FinderSpec,
    Journal,
    JournalError,
    ModelSpec,
    Predicates,
    Recipe,
    RunSpec,
    SearchRequest,
    Settings,
    UserError,
    list_runs,
    migration_concurrency,
    plural,
    read_executor,
    recipe_traits,
    search_request,
    with_search_limits,
)

from .find_recipe import is_spec, search_of_word, without_key
from .new_run import Setup
from .run_folders import workspace_of

_OF_JUDGE = ("setup", "holdout", "holdout_files")
"""Options of a judged result."""


def requested_search(words: Sequence[str], flags: Mapping[str, object]) -> SearchRequest:
    """Return the requested search. Raises UserError."""
    root = workspace_of(flags)
    task = cast("str | None", flags.get("task"))
    recipe = _recipe(flags)
    if recipe is None and words and words[0] in set(Recipe):
        recipe, words = Recipe(words[0]), words[1:]
    if recipe is None:
        wanted = _of_file(words, flags, task)
    elif flags.get("set_"):
        raise UserError(f"--set: {recipe} is built in, and has options instead: `rundry recipes show {recipe}`")
    else:
        check = cast("str | None", flags.get("check"))
        wanted = search_request(recipe, words, task=task, check=check, workspace=root)
    _refuse_unsuitable(wanted.finder.recipe, flags)
    wanted = msgspec.structs.replace(wanted, finder=_with_options(wanted.finder, flags))
    return _on_cluster(wanted) if wanted.finder.executor is not None else wanted


def _on_cluster(wanted: SearchRequest) -> SearchRequest:
    """Return a search on a cluster, which works more items at the same time, unless a model works them."""
    finder = wanted.finder
    if finder.check is not None:
        return msgspec.structs.replace(wanted, finder=msgspec.structs.replace(finder, checks=CLUSTER_CHECKS))
    is_worked_there = finder.worker is not None or finder.traits.fetches_pages
    if "concurrency" in wanted.limits or not is_worked_there:
        return wanted
    return msgspec.structs.replace(wanted, finder=msgspec.structs.replace(finder, concurrency=CLUSTER_CONCURRENCY))


def _recipe(flags: Mapping[str, object]) -> Recipe | None:
    asked = flags.get("recipe")
    try:
        return None if asked is None else Recipe(str(asked))
    except ValueError:
        raise UserError(f"--recipe {asked}: use one of {', '.join(Recipe)}") from None


def _refuse_unsuitable(recipe: Recipe | None, flags: Mapping[str, object]) -> None:
    for owner in Recipe:
        for option in recipe_traits(owner).options:
            if flags.get(option.replace("-", "_")) not in (None, ()) and recipe != owner:
                raise UserError(f"--{option} needs --recipe {owner}: leave it out")
    if recipe_traits(recipe).fetches_pages and flags.get("host"):
        raise UserError("--host is for lenses that read pages; a crawl stays on its first host: remove it")


class FindSetup(Setup):
    """The options of one search."""

    def __init__(self, wanted: SearchRequest, flags: Mapping[str, object], *, headless: bool) -> None:
        """Combine the flags with the spec file. A flag takes precedence. Raises UserError."""
        self.wanted = wanted
        given = {name: value for name, value in flags.items() if value not in (None, False, ())}
        pages = {"steps": given["max_pages"]} if "max_pages" in given else {}
        super().__init__({**wanted.options, **given, **pages, "loop": "until-dry"}, headless=headless)

    def _load(self) -> Settings:
        return without_key(super()._load(), self.wanted, self._flags)

    def spec(self, task: str) -> RunSpec:
        """Return the spec.

        Raises UserError if the search needs a model and there is none, or if nothing can work it.
        """
        spec = super().spec(task)
        finder = self.wanted.finder
        _require_program(finder, self.workspace)
        asked = next((name for name in _OF_JUDGE if name in self.settings.given), None)
        if asked is not None and finder.check is None:
            option = f"--{asked.replace('_', '-')}"
            raise UserError(f"{option}: no check decides about this search, so nothing is judged; leave it out")
        needs_none = finder.worker is not None or finder.traits.fetches_pages
        if spec.model.name == "none" and not needs_none:
            what = finder.recipe.value if finder.recipe is not None else "this search"
            raise UserError(f"{what} needs a model: name one with --model; `rundry models` lists what can be reached")
        return spec if spec.model.name != "none" else msgspec.structs.replace(spec, finder=self._unjudged())

    def _unjudged(self) -> FinderSpec:
        """Return the search without verifiers, because there is no model. Raises UserError if they were requested."""
        finder = with_search_limits(self.wanted, self.settings)
        if self.wanted.requires_verifiers or (finder.sceptics and "refuters" in self.settings.given):
            count = plural(finder.sceptics, "verifier")
            raise UserError(
                f"{count} requested, but no model is set: name one with --model or under [model], or "
                "set sceptics = 0 to skip verification"
            )
        return msgspec.structs.replace(finder, sceptics=0)

    def _spec(self, task: str, model: ModelSpec) -> RunSpec:
        """Return the spec without what a config says about goals."""
        spec = super()._spec(task, model)
        given, finder = spec.predicates, with_search_limits(self.wanted, self.settings)
        kept = Predicates(guard=given.guard, scope=given.scope, timeout=given.timeout)
        if finder.check is not None:  # its result is judged
            kept = msgspec.structs.replace(
                kept, setup=given.setup, holdout=given.holdout, holdout_files=given.holdout_files
            )
        file = FilledFile(path=finder.source, values=dict(self.wanted.values)) if finder.source else None
        return msgspec.structs.replace(spec, finder=finder, predicates=kept, file=file)


def _require_program(finder: FinderSpec, workspace: Path) -> None:
    """Raise UserError if the program of the workers does not exist, which would fail for each item."""
    if finder.worker is None or not finder.worker.command:
        return
    program = finder.worker.command[0]
    if shutil.which(workspace / program if "/" in program else program) is not None:
        return
    here = workspace / program
    if "/" not in program and here.is_file():
        raise UserError(
            f"[worker] command: {program} is not a program on PATH: write ./{program} for the one in {workspace}"
        )
    if here.is_file():
        raise UserError(f"[worker] command: {program} is not executable: run chmod +x {here}")
    raise UserError(
        f"[worker] command: {program} was not found: use a program on PATH, or a path relative to {workspace}"
    )


def unfinished(setup: FindSetup) -> Path:
    """Return the journal of the newest unfinished run of the same search. Raises UserError."""
    newest: str | None = None
    for line in list_runs(setup.folder):
        if line.workspace != str(setup.workspace) or line.loop != "until-dry" or not _is_same(Path(line.path), setup):
            continue
        if not line.is_finished:
            return Path(line.path)
        newest = newest or f"; the newest one, {Path(line.path).stem}, is finished"
    raise UserError(f"there is no unfinished run of this search{newest or ''}: remove --resume to start one")


def _is_same(path: Path, setup: FindSetup) -> bool:
    try:
        journal = Journal.open(path)
    except JournalError:
        return False
    spec, wanted = journal.spec, setup.wanted
    journal.close()
    return (
        spec.finder is not None and spec.finder.digest_words == wanted.finder.digest_words and spec.task == wanted.task
    )


def _of_file(words: Sequence[str], flags: Mapping[str, object], task: str | None) -> SearchRequest:
    if len(words) > 1 and is_spec(words[0], flags):
        wanted = words[1] if "=" in words[1] else "NAME=VALUE"
        raise UserError(
            f"{words[0]} takes no arguments, but {words[1]!r} follows: set its parameters with --set {wanted}"
        )
    if len(words) != 1:
        raise UserError(
            "name one spec file, recipe or --recipe: rundry find FILE.toml, rundry find NAME, "
            "rundry find --recipe crawl URL"
        )
    if words[0].startswith(("http://", "https://")):
        raise UserError(f"{words[0]} is not a spec file: use rundry find --recipe crawl {words[0]}")
    wanted = search_of_word(words[0], flags)
    return msgspec.structs.replace(wanted, task=task) if task else wanted


def _with_options(finder: FinderSpec, flags: Mapping[str, object]) -> FinderSpec:
    """Return the search with the options of the command line, which take precedence."""
    changes: dict[str, Any] = {}
    if flags.get("rate") is not None:
        changes["rate"] = flags["rate"] or None
    if flags.get("check") is not None:
        changes["check"] = str(flags["check"])
    if flags.get("executor") is not None:
        changes["executor"] = read_executor(str(flags["executor"])).text
    if (trees := cast("int | None", flags.get("parallel"))) is not None:
        changes |= {"parallel": trees, "concurrency": migration_concurrency(trees)}
    for name in ("include", "exclude"):
        if flags.get(name):
            changes[name] = _texts(flags, name)
    return msgspec.structs.replace(finder, **changes, hosts=[*finder.hosts, *_texts(flags, "host")])


def _texts(flags: Mapping[str, object], name: str) -> list[str]:
    return [str(text) for text in cast("Sequence[object]", flags.get(name) or ())]
