"""`rundry find`: from its words to a search, and the search that is gone on with. No textual in here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec

from rundry.agent import (
    FinderSpec,
    Journal,
    JournalError,
    ModelSpec,
    RunSpec,
    UserError,
    Wanted,
    crawl_wanted,
    list_runs,
    migrate_wanted,
    read_finder,
    research_wanted,
)

from .start import Setup, workspace_of

_RECIPES = ("crawl", "migrate", "research")


def wanted_of(words: Sequence[str], flags: Mapping[str, object]) -> Wanted:
    """The search that is asked for. Raises UserError."""
    recipe = flags.get("recipe")
    root = workspace_of(flags)
    task = cast("str | None", flags.get("task"))
    match recipe:
        case "crawl":
            wanted = crawl_wanted(
                words,
                rate=cast("float | None", flags.get("rate")),
                include=_texts(flags, "include"),
                exclude=_texts(flags, "exclude"),
            )
        case "research":
            wanted = research_wanted(task, words, root)
        case "migrate":
            wanted = migrate_wanted(task, cast("str | None", flags.get("check")), words)
        case None:
            wanted = _of_file(words, task)
        case other:
            raise UserError(f"--recipe {other}: there are {', '.join(_RECIPES)}")
    return msgspec.structs.replace(wanted, finder=_with_options(wanted.finder, flags))


class FindSetup(Setup):
    """The options of one search."""

    def __init__(self, wanted: Wanted, flags: Mapping[str, object], *, headless: bool) -> None:
        """What a flag says wins over what the spec file says. Raises UserError."""
        self.wanted = wanted
        given = {name: value for name, value in flags.items() if value not in (None, False, ())}
        pages = {"steps": given["max_pages"]} if "max_pages" in given else {}
        super().__init__({**wanted.options, **given, **pages, "loop": "until-dry"}, headless=headless)

    def _spec(self, task: str, model: ModelSpec) -> RunSpec:
        return msgspec.structs.replace(super()._spec(task, model), finder=self.wanted.finder)


def unfinished(setup: FindSetup) -> Path:
    """The journal of the newest run of the same search that is not finished. Raises UserError."""
    workspace = str(setup.workspace)
    for line in list_runs(setup.folder):
        if line.workspace != workspace or line.loop != "until-dry" or line.is_finished:
            continue
        try:
            journal = Journal.open(Path(line.path))
        except JournalError:
            continue
        spec = journal.spec
        journal.close()
        same = spec.finder is not None and spec.finder.digest_words == setup.wanted.finder.digest_words
        if same and spec.task == setup.wanted.task:
            return Path(line.path)
    raise UserError("there is no unfinished run of this search here: leave --resume out to begin one")


def _of_file(words: Sequence[str], task: str | None) -> Wanted:
    if len(words) != 1:
        raise UserError("name one spec file, or a --recipe: rundry find FILE.toml, rundry find --recipe crawl URL")
    wanted = read_finder(Path(words[0]))
    return msgspec.structs.replace(wanted, task=task) if task else wanted


def _with_options(finder: FinderSpec, flags: Mapping[str, object]) -> FinderSpec:
    changes = {name: flags[name] for name in ("concurrency",) if flags.get(name) is not None}
    hosts = _texts(flags, "host")
    return msgspec.structs.replace(finder, **changes, hosts=[*finder.hosts, *hosts])


def _texts(flags: Mapping[str, object], name: str) -> list[str]:
    return [str(text) for text in cast("Sequence[object]", flags.get(name) or ())]
