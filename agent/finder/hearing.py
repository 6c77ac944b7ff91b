"""What a person says to a search while it runs."""

from __future__ import annotations

from typing import assert_never

from ..protocol import (
    AddItem,
    AddLens,
    FindingJudged,
    FindingReopened,
    Judge,
    LensAdded,
    Merge,
    SkipItem,
)
from .fates import Candidate
from .finder import Finder
from .keys import KINDS

_NEAR = 2
"""Keys that are named where one does not fit."""

FinderCommand = Judge | Merge | AddItem | SkipItem | AddLens


def hear(finder: Finder, command: FinderCommand) -> str | None:
    """None: it was done. Else why it was refused."""
    match command:
        case Judge():
            return _judge(finder, command)
        case Merge():
            return _merge(finder, command)
        case AddItem():
            return _add_item(finder, command)
        case SkipItem(key=key):
            with finder.kit.together():
                done = finder.skip(key)
            return None if done else f"{key} is not in the queue"
        case AddLens():
            return _add_lens(finder, command)
        case _:
            assert_never(command)


def _judge(finder: Finder, command: Judge) -> str | None:
    if command.key not in finder.facts.findings:
        return _no_finding(finder, command.key)
    reasons = [command.reason] if command.reason else []
    match command.verdict:
        case "confirmed" | "refuted":
            judged = FindingJudged(key=command.key, verdict=command.verdict, by="person", reasons=reasons)
            finder.kit.record(judged)
        case "evidence":
            if not finder.has_model:
                return "there is no model in this run that could look for evidence"
            finder.kit.record(FindingReopened(key=command.key, reason=command.reason))
        case other:
            return f"a finding is judged `confirmed`, `refuted` or `evidence`, not `{other}`"
    return None


def _no_finding(finder: Finder, key: str) -> str:
    near = [known for known in finder.facts.findings if key and key in known][:_NEAR]
    return f"there is no finding {key}" + (f": did you mean {' or '.join(near)}?" if near else "")


def _merge(finder: Finder, command: Merge) -> str | None:
    findings = finder.facts.findings
    for key in (command.key, command.into):
        if key not in findings:
            return _no_finding(finder, key)
    if command.key == command.into:
        return "a finding cannot be merged into itself"
    last: str | None = command.into
    while last is not None:
        last = findings[last].duplicate_of
        if last == command.key:
            return f"{command.into} is itself merged into {command.key}"
    finder.kit.record(
        FindingJudged(
            key=command.key,
            verdict="refuted",
            by="person",
            reasons=[f"the same as: {findings[command.into].title}"],
            duplicate_of=command.into,
        )
    )
    return None


def _add_item(finder: Finder, command: AddItem) -> str | None:
    if command.kind not in KINDS:
        return f"an item is one of {', '.join(KINDS)}, not `{command.kind}`"
    if finder.spec.check is not None and command.kind != "file":
        return "this search works files"
    if not command.value.strip():
        return "the item is empty"
    with finder.kit.together():
        found = [Candidate(command.kind, command.value)]
        brought = finder.books.items(found, "person", finder.kit.record, reason="person")
        if brought.new:
            return None
        return finder.books.again(found[0], finder.kit.record)


def _add_lens(finder: Finder, command: AddLens) -> str | None:
    name = command.name.strip()
    if not finder.spec.lenses:
        return "this run works items: it has no lenses"
    if not name or not command.prompt.strip():
        return "a lens needs a name and how it looks"
    if name in finder.facts.lenses:
        return f"there is a lens {name} already"
    finder.kit.record(LensAdded(name=name, prompt=command.prompt.strip(), by="person"))
    return None
