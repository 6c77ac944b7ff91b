"""Handle a person's commands to a running search."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ..protocol import (
    ITEM_KINDS,
    AddItem,
    AddLens,
    Judge,
    LensAdded,
    Merge,
    SkipItem,
)
from .items.item_state import Candidate
from .lenses.judge_findings import judge_finding
from .review.reviewed import further_parts

if TYPE_CHECKING:
    from .finder import Finder

FinderCommand = Judge | Merge | AddItem | SkipItem | AddLens


def handle_search_command(finder: Finder, command: FinderCommand) -> str | None:
    """Execute a person's command to the search. Returns None, or why it was refused."""
    match command:
        case Judge() | Merge():
            return judge_finding(finder.facts, command, finder.ctx.events, has_model=finder.has_model)
        case AddItem():
            return _add_item(finder, command)
        case SkipItem(key=key):
            with finder.ctx.events.together():
                done = finder.skip(key)
            return None if done else f"{key} is not in the queue"
        case AddLens():
            return _add_lens(finder, command)
        case _:
            assert_never(command)


def _add_item(finder: Finder, command: AddItem) -> str | None:
    if command.kind not in ITEM_KINDS:
        return f"unknown kind of item `{command.kind}`: use {', '.join(ITEM_KINDS)}"
    if finder.spec.check is not None and command.kind != "file":
        return "this search works files"
    if not command.value.strip():
        return "the item is empty"
    with finder.ctx.events.together():
        found = [Candidate(command.kind, command.value)]
        counts = finder.intake.add_items(found, "person", finder.ctx.events, reason="person")
        if counts.new:
            return None
        return finder.intake.requeue(found[0], finder.ctx.events)


def _add_lens(finder: Finder, command: AddLens) -> str | None:
    name = command.name.strip()
    if not finder.spec.lenses:
        return "this run works items: it has no lenses"
    if not name or not command.prompt.strip():
        return "a lens needs a name and a prompt"
    if name in finder.facts.lenses:
        return f"a lens named {name} exists already"
    prompt = command.prompt.strip()
    finder.ctx.events.record(LensAdded(name=name, prompt=prompt, by="person"))
    for event in further_parts(finder.facts.parts, name, prompt, "person"):
        finder.ctx.events.record(event)
    return None
