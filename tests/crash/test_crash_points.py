"""A seeded sample of crashes of each kind of loop; `python -m crash --all` crashes at every point."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from rundry.agent.protocol import ScoreMeasured, Stamped, ToolCalled

from .crashing import Whole, crash_and_resume, first_point, run_whole, sample
from .kills import kill_and_resume
from .kinds import KINDS

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

SEED = 6
POINTS = 2
KILLS = 1


@pytest.fixture(scope="module")
def whole_of(tmp_path_factory: pytest.TempPathFactory):
    """What a run of that kind leaves that was not crashed."""

    @cache
    def whole(name: str) -> Whole:
        return run_whole(KINDS[name], tmp_path_factory.mktemp(name) / "whole")

    return whole


@pytest.mark.parametrize("name", KINDS)
def test_a_run_that_crashes_at_any_point_is_resumed_to_the_same_end(name: str, whole_of, tmp_path: Path):
    whole = whole_of(name)
    for at in sample(whole.points, random.Random(f"{SEED} {name}"), POINTS):
        assert crash_and_resume(KINDS[name], tmp_path / str(at), at, whole) == [], f"at {at}: {whole.points[at - 1]}"


@pytest.mark.parametrize("name", KINDS)
def test_a_run_that_is_killed_at_any_time_is_resumed_to_the_same_end(name: str, whole_of, tmp_path: Path):
    for seed in range(KILLS):
        assert kill_and_resume(KINDS[name], tmp_path / str(seed), seed, whole_of(name)) == [], f"seed {seed}"


def test_a_pass_that_was_measured_before_a_crash_is_not_compared_with_itself(whole_of, tmp_path: Path):
    def is_measured(events: list[Stamped]) -> bool:
        return any(isinstance(e.event, ScoreMeasured) and e.event.number == 1 for e in events)

    improve, whole = KINDS["improve"], whole_of("improve")
    at = first_point(improve, tmp_path, whole, is_measured)
    for number in (at, at + 1):
        assert crash_and_resume(improve, tmp_path / f"crash-{number}", number, whole) == [], whole.points[number - 1]


def test_what_a_lens_reported_before_a_crash_is_not_lost(whole_of, tmp_path: Path):
    def is_reported(events: list[Stamped]) -> bool:
        return any(isinstance(e.event, ToolCalled) and e.event.tool == "report" for e in events)

    find, whole = KINDS["find"], whole_of("find")
    at = first_point(find, tmp_path, whole, is_reported)
    for number in range(at - 1, at + 3):
        assert crash_and_resume(find, tmp_path / f"crash-{number}", number, whole) == [], whole.points[number - 1]
