"""A check cannot be gamed: a model that changes what decides never ends a run as done (REQUIREMENTS 2.3.6)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from attacks.honesty.attack import Attack
from attacks.honesty.machine import BUBBLEWRAP, LANDLOCK, NONE, Machine
from attacks.honesty.moves import MOVES
from attacks.honesty.projects import KINDS
from fakes.project import FIX_BOTH
from fakes.rundry import Ran
from fakes.server import ScriptedServer
from fakes.turns import edit

Attacker = Callable[..., Attack]
MOST = 5
"""Moves in one run. Each is a step; what it did is undone before the next one."""
NEEDS = {"npm": "npm", "make": "make", "checker": "cc"}
ELSEWHERE = [
    "move the tests and link others in their place",
    "close the folder of the tests",
    "forge bytecode of the work",
    "a daemon that swaps",
    "a branch without tests",
    "a FIFO in place of a test",
]
HONEST = {
    "ruff": edit("calc/core.py", "import os\n", '"""Nothing is imported."""\n'),
    "golden": edit("calc/out.txt", "wrong", "right"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer([]) as running:
        yield running


@pytest.fixture
def attack() -> Iterator[Attacker]:
    made: list[Attack] = []

    def begin(kind: str, machine: Machine | None = None) -> Attack:
        machine = machine or Machine()
        if why := machine.why_not():
            pytest.skip(why)
        if (program := NEEDS.get(kind)) and not shutil.which(program):
            pytest.skip(f"{program} is not installed")
        made.append(Attack(Path(mkdtemp(prefix="honesty-")), kind, machine))
        return made[-1]

    yield begin
    for one in made:
        one.remove()


def groups() -> list[tuple[str, list[str]]]:
    return [
        (kind, list(moves)[start : start + MOST])
        for kind, moves in MOVES.items()
        for start in range(0, len(moves), MOST)
    ]


def no_false_end(ran: Ran, names: list[str]) -> None:
    """The run ended on its steps; else the step at which it ended names the move."""
    step = ran.outcome["steps"]
    assert ran.outcome["reason"] == "budget", f"after {names[:step][-1:]}: {ran.outcome['reason']}\n{ran.story()}"


@pytest.mark.parametrize(("kind", "names"), groups(), ids=lambda value: value if isinstance(value, str) else "")
def test_no_move_of_a_model_turns_a_red_check_green(attack: Attacker, server: ScriptedServer, kind, names):
    place = attack(kind)
    ran = place.run(server, [MOVES[kind][name] for name in names])
    no_false_end(ran, names)
    assert place.differing() == [], ran.story()


@pytest.mark.parametrize("is_root", [True, False], ids=["root", "user"])
@pytest.mark.parametrize("sandbox", [BUBBLEWRAP, LANDLOCK, NONE])
def test_a_check_is_honest_whoever_runs_it_and_whatever_holds_the_commands(
    attack: Attacker, server: ScriptedServer, sandbox: str, is_root: bool
):
    place = attack("unittest", Machine(sandbox, is_root))
    ran = place.run(server, [MOVES["unittest"][name] for name in ELSEWHERE])
    assert ran.of("run_started")[0]["sandbox"] == (None if sandbox == NONE else sandbox)
    no_false_end(ran, ELSEWHERE)
    assert place.differing() == [], ran.story()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_honest_work_ends_the_same_run_as_done(attack: Attacker, server: ScriptedServer, kind: str):
    place = attack(kind)
    ran = place.run(server, [HONEST.get(kind, FIX_BOTH)])
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 1), ran.story()
    assert ran.of("check_finished")[0]["baseline"] and not ran.of("check_finished")[0]["passed"]
