"""Crash a run at one point, resume it, and name every difference from a run that was not crashed."""

from __future__ import annotations

import bisect
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rundry.agent.protocol import ProposalDecided, Stamped

from .case import HEADLESS, KILLED, Case
from .kinds import Kind


@dataclass
class Whole:
    """What a run without a crash leaves."""

    points: list[str]
    files: dict[str, str]
    items: dict[str, Any]
    requests: int


def run_whole(kind: Kind, root: Path) -> Whole:
    """Run it without a crash, and count its crash points."""
    case = Case.make(kind, root)
    try:
        case.prepare()
        ran = case.run(*case.next_argv(), at=0)
        assert ran.exit_code in kind.exit_codes, ran
        assert (case.litter(), case.damage()) == ([], []), case.litter()
        return Whole(case.points(), case.files(), _below(case, case.items()), len(case.server.requests))
    finally:
        case.close()


def sample(points: list[str], chance: random.Random, most: int) -> list[int]:
    """Numbers of crash points: one of each name first, in a random order, then any."""
    numbers = list(range(1, len(points) + 1))
    chance.shuffle(numbers)
    names = set[str]()
    firsts = [n for n in numbers if points[n - 1] not in names and not names.add(points[n - 1])]
    return [*firsts, *(n for n in numbers if n not in firsts)][:most]


def crash_and_resume(kind: Kind, root: Path, at: int, whole: Whole) -> list[str]:
    """What is wrong after a crash at that point, a line each."""
    case = Case.make(kind, root)
    try:
        case.prepare()
        ran = case.run(*case.next_argv(), at=at)
        if ran.exit_code != KILLED:  # this run had fewer points: time decides how many
            return [] if ran.exit_code in kind.exit_codes else [f"exit {ran.exit_code} without a crash: {ran.stderr}"]
        before = case.recorded()
        case.finish()
        return list(differences(case, whole, before, crashes=1))
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return [str(error)[-2000:]]
    finally:
        case.close()
        shutil.rmtree(root, ignore_errors=True)


def first_point(kind: Kind, root: Path, whole: Whole, is_past: Callable[[list[Stamped]], bool]) -> int:
    """The first crash point at which the recorded events are past a moment, found by halving."""

    def recorded(at: int) -> list[Stamped]:
        case = Case.make(kind, root / str(at))
        try:
            case.prepare()
            case.run(*case.next_argv(), at=at)
            return case.recorded()
        finally:
            case.close()

    points = range(1, len(whole.points) + 1)
    return points[bisect.bisect_left(points, True, key=lambda at: is_past(recorded(at)))]


def differences(case: Case, whole: Whole, before: list[Stamped], crashes: int) -> Iterator[str]:
    """How a crashed and resumed run differs from the whole one."""
    kind, events = case.kind, case.events()
    if events[: len(before)] != before:
        yield "an event that was recorded before the crash is not there"
    yield from _files(case, whole, crashes)
    if (items := _below(case, case.items())) != whole.items:
        yield f"items {items} instead of {whole.items}"
    if len(case.server.requests) > whole.requests + kind.repeats * crashes:
        yield f"{len(case.server.requests)} calls of the model instead of {whole.requests}"
    decided = [e.event.proposal_id for e in events if isinstance(e.event, ProposalDecided)]
    if len(decided) != len(set(decided)):
        yield f"a proposal was decided twice: {decided}"
    billed, counted = case.spent()
    admitted = case.admitted()
    if billed > counted or len(case.server.requests) > admitted:
        yield f"{billed} tokens in {len(case.server.requests)} calls billed, {counted} in {admitted} recorded"
    if damage := case.damage():
        yield f"`rundry check` finds {damage}"
    if litter := case.litter():
        yield f"left over: {litter}"
    yield from _again(case)


def _files(case: Case, whole: Whole, crashes: int) -> Iterator[str]:
    found = case.files()
    for name in sorted({*found, *whole.files}):
        now, then = found.get(name, ""), whole.files.get(name, "")
        if name in case.kind.loose:
            lines, known = sorted(now.split()), sorted(then.split())
            more = len(lines) - len(known)
            if not set(lines) <= set(known) or not -crashes <= more <= crashes * case.kind.repeats:
                yield f"{name} holds {lines} instead of {known}"
        elif name == "git status":
            if _without(now, case.kind.loose) != _without(then, case.kind.loose):
                yield f"git status is {now!r} instead of {then!r}"
        elif now != then:
            yield f"{name} is {now!r} instead of {then!r}"


def _again(case: Case) -> Iterator[str]:
    """Resuming a run that has ended changes nothing."""
    files, requests, items = case.files(), len(case.server.requests), case.items()
    case.run("resume", case.journal.stem, *HEADLESS)
    if (case.files(), len(case.server.requests), case.items()) != (files, requests, items):
        yield "resuming it again changed something"


def _without(status: str, names: object) -> list[str]:
    return [line for line in status.splitlines() if line[3:] not in list(names)]  # type: ignore[call-overload]


def _below(case: Case, items: dict[str, Any]) -> dict[str, Any]:
    """Items without the folder of this case."""
    prefix = f"{case.project}/"

    def cut(text: str) -> str:
        return text.replace(prefix, "")

    return {
        name: {cut(key): value for key, value in found.items()} if isinstance(found, dict) else sorted(map(cut, found))
        for name, found in items.items()
    }
