"""The budget of a tree of runs in dollars, and of a tree of three levels, over real processes that are killed."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import msgspec
import pytest
from fakes.nested.fixing import make_search
from fakes.rundry import Home, Running
from fakes.server import Rule, ScriptedServer
from fakes.turns import call
from sampling import sampled

from rundry.agent.budget.ledger import Ledger
from rundry.agent.budget.shared_ledger import SharedLedger
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Budget, LoopKind, ParentRef, RunSpec

IN, OUT = 10.0, 40.0
"""USD per million tokens."""
NAMES = [f"{letter}.txt" for letter in "abcd"]
HEADLESS = ["--headless", "--json"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "project"


def reading() -> ScriptedServer:
    """A model that reads its file again and again."""
    return ScriptedServer(rules=[Rule(f"{name} is bad", call("read_file", path=name)) for name in NAMES])


def billed(server: ScriptedServer) -> float:
    """What the provider charges, in USD."""
    used = [record.usage for record in server.requests]
    return sum(each.get("prompt_tokens", 0) * IN + each.get("completion_tokens", 0) * OUT for each in used) / 1e6


def fixing(home: Home, server: ScriptedServer, folder: Path, *limits: str) -> Running:
    run = make_search(home, folder, NAMES)
    words = ["--model", "fake", "--api-base", server.base_url, "--price", f"{IN}/{OUT}", "--window", "500", *limits]
    return home.start("fix", run, "--until", "grep -q good {file}", "--gate", "auto", *words, *HEADLESS, cwd=folder)


def kill(running: Running, charges: int) -> None:
    """Kill the tree after this many charges of its children."""
    for _ in range(charges):
        running.wait_event("child_spent")
    running.signal(signal.SIGKILL)
    running.finish()


@pytest.mark.parametrize("seed", sampled(range(8), 1))
def test_children_never_pass_the_dollars_of_their_parent_however_often_they_are_killed(
    home: Home, folder: Path, seed: int
):
    chance, limit = random.Random(seed), 0.25
    with reading() as server:
        with fixing(home, server, folder, "--usd", str(limit), "--tokens", "none") as running:
            run = running.wait_event("run_started")["run_id"]
            kill(running, chance.randint(1, 4))
        for _ in range(2):
            with home.start("resume", run, *HEADLESS, cwd=folder) as running:
                kill(running, chance.randint(1, 4))
        ran = home.run("resume", run, *HEADLESS, "--from", "0", cwd=folder)
        assert (ran.exit_code, ran.outcome["reason"]) == (3, "budget"), ran
        assert 0 < billed(server) <= limit
    assert 0 < ran.outcome["usd"] <= limit
    assert all("USD" in child["detail"] for child in ran.outcome["children"]), ran.outcome["children"]


def below_a_third_run(home: Home, spec: RunSpec, limits: Budget) -> str:
    """Make a run with these limits, and below it the run of this spec, not begun yet. Returns the id of the latter."""
    above, below = f"{spec.run_id}-above", f"{spec.run_id}-below"
    top = msgspec.structs.replace(spec, run_id=above, loop=LoopKind.GOAL, fix=None, budget=limits)
    journal = Journal.create(home.runs / f"{above}.db", top)
    SharedLedger.of_runs_below(journal, Ledger()).set_budget(limits)
    journal.close()
    parent = ParentRef(run_id=above, journal=str(home.runs / f"{above}.db"), number=1)
    Journal.create(home.runs / f"{below}.db", msgspec.structs.replace(spec, run_id=below, parent=parent)).close()
    return below


def test_a_child_of_a_child_is_held_to_the_dollars_of_the_run_above_both(home: Home, folder: Path):
    limit = 0.1
    with reading() as server:
        with fixing(home, server, folder, "--usd", "50", "--tokens", "none") as running:
            first = running.wait_event("run_started")["run_id"]
            kill(running, 1)
        journal = Journal.open_for_reading(home.runs / f"{first}.db")
        run = below_a_third_run(home, journal.spec, Budget(usd=limit))
        journal.close()
        before = billed(server)
        with home.start("resume", run, *HEADLESS, cwd=folder) as running:
            kill(running, 2)
        ran = home.run("resume", run, *HEADLESS, "--from", "0", cwd=folder)
        spent = billed(server) - before
    assert (ran.exit_code, ran.outcome["reason"]) == (3, "budget") and 0 < spent <= limit, ran
    assert f"of the parent run {first}-above" in ran.outcome["children"][0]["detail"]
    top = Journal.open_for_reading(home.runs / f"{first}-above.db")
    (all_runs,) = SharedLedger([top], "nobody", Ledger()).left()
    assert 0 < all_runs.spent.counted_usd <= limit
    top.close()
