"""Worktrees of a migration over HTTP: a person decides, limits hold for all, and a kill loses and doubles nothing."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest
from fakes.in_process.headless_run import resume_run, spec_of
from fakes.killing.killed import run_until
from fakes.server import Rule, ScriptedServer
from fakes.turns import Call, calls, edit
from sampling import sampled
from search.migrate.fixer import CHECK, Fixer, texts
from search.parallel.conftest import NAMES, worktrees

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget,
    Decide,
    FinderSpec,
    GateMode,
    Interrupt,
    LoopKind,
    Pause,
    Recipe,
    Stop,
    Undo,
    Unpause,
    WorkFinished,
)
from rundry.agent.state.facts.run_facts import fold


def approve(event: dict) -> Decide:
    return Decide(proposal_id=event["proposal_id"], digest=event["digest"], verdict="approve")


async def test_several_proposals_wait_together_and_name_their_worktree_and_file(parallel, place):
    run = parallel(gate=GateMode.ASK)
    run.on("proposal_opened", approve, lambda _: approve(run.of("proposal_opened")[1]), nth=3)
    run.on("proposal_decided", lambda _: approve(run.of("proposal_opened")[0]), nth=2)
    for nth in (4, 5, 6):
        run.on("proposal_opened", approve, nth=nth)
    outcome = await run.run(watched=True)
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    who = [e["who"] for e in run.of("proposal_opened")]
    assert {name.partition(",")[0] for name in who[:3]} == {"worktree 1", "worktree 2", "worktree 3"}
    assert sorted(name.partition(", ")[2] for name in who) == [f"{name}.txt" for name in NAMES]
    decided = [e["proposal_id"] for e in run.of("proposal_decided")]
    first = [e["proposal_id"] for e in run.of("proposal_opened")]
    assert decided[:3] == [first[2], first[1], first[0]], "each decision reached its own proposal"


async def test_a_proposal_that_nobody_decides_ends_the_run_once_the_others_have_ended(parallel, place):
    model = Fixer()
    run = parallel(model, gate=GateMode.ASK, on_ask="handoff")
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert "the item is worked again when the run is resumed" in outcome.detail
    assert set(texts(place).values()) == {*(f"{name}: old\n" for name in NAMES), "new\n"}
    assert worktrees(place) == []


async def test_a_pause_holds_all_worktrees_between_their_steps(parallel, place):
    turns = Counter[str]()

    def fix(path: str, nth: int):
        turns[path] += 1
        return edit(path, "old" if nth == 1 else "older", "older" if nth == 1 else "new")

    run = parallel(Fixer(fix), "a.txt", "b.txt", "c.txt")
    run.on("step_started", Pause()).on("paused", Unpause())
    outcome = await run.run(watched=True)
    assert (outcome.reason, outcome.complete) == ("dry", True), run.story()
    assert turns == {"a.txt": 2, "b.txt": 2, "c.txt": 2}


async def test_an_interrupt_returns_the_files_to_the_queue_and_keeps_their_patches(parallel, place):
    model = Fixer(lambda path, nth: edit(path, "old" if nth == 1 else "older", "older" if nth == 1 else "new"))
    run = parallel(model, "a.txt", "b.txt")
    run.on("step_finished", Interrupt()).on("paused", Unpause())
    outcome = await run.run(watched=True)
    assert outcome.reason in ("dry", "error"), run.story()
    assert next(e["interrupted"] for e in run.of("work_finished") if e["kind"] == "item")
    assert worktrees(place) == []


async def test_a_joined_change_can_be_undone(parallel, place):
    run = parallel(None, "a.txt")
    run.on("run_ended", Undo()).on("undone", Stop(how="now"))
    outcome = await run.run(watched=True, linger=True)
    assert outcome.reason == "dry", run.story()
    undone = run.of("undone")
    assert [(e["files"], e["kept"]) for e in undone] == [(["a.txt"], [])], run.story()
    assert texts(place)["a.txt"] == "a: old\n"


@pytest.mark.parametrize("tokens", [1_500, 4_000, 9_000])
async def test_parallel_calls_together_stay_within_the_limit_of_tokens(tmp_path, place, tokens):
    finder = FinderSpec(recipe=Recipe.MIGRATE, check=CHECK, globs=["*.txt"], parallel=3, concurrency=6, sceptics=0)
    rules = [Rule(rf"The file: {name}\.txt", edit(f"{name}.txt", "old", "new")) for name in NAMES]
    with ScriptedServer(rules=rules) as server:
        budget = Budget(tokens=tokens)
        spec = spec_of(server, place, task="fix", loop=LoopKind.UNTIL_DRY, finder=finder, budget=budget)
        (tmp_path / "state" / "runs").mkdir(parents=True, mode=0o700)
        path = tmp_path / "state" / "runs" / "run.db"
        Journal.create(path, spec).close()
        played = await resume_run(path)
    journal = Journal.open(path)
    facts = fold(journal.spec, journal.read())
    journal.close()
    assert facts.spent.tokens.total <= tokens, played.story()
    assert played.result.reason in ("budget", "dry")


def rules() -> list[Rule]:
    """Each file takes one step, which also changes a list at a line of its own; done twice, it shows."""

    def fix(name: str):
        line = {"old_text": f"- {name}", "new_text": f"- {name} {name}"}
        return calls(
            Call("edit_file", {"path": f"{name}.txt", "edits": [{"old_text": "old", "new_text": "new"}]}),
            Call("edit_file", {"path": "list.md", "edits": [line]}),
        )

    return [Rule(rf"The file: {name}\.txt", fix(name)) for name in NAMES]


@pytest.mark.parametrize("seed", sampled(range(3), 1))
async def test_a_killed_run_loses_and_doubles_no_file_and_leaves_no_worktree(tmp_path: Path, place: Path, seed: int):
    chance = random.Random(seed)
    finder = FinderSpec(recipe=Recipe.MIGRATE, check=CHECK, globs=["*.txt"], parallel=3, concurrency=6, sceptics=0)
    (tmp_path / "state" / "runs").mkdir(parents=True, mode=0o700)
    path = tmp_path / "state" / "runs" / "run.db"
    with ScriptedServer(rules=rules()) as server:
        spec = spec_of(server, place, task="make it new", loop=LoopKind.UNTIL_DRY, finder=finder)
        Journal.create(path, spec).close()
        for _ in range(2):
            moment = chance.randrange(20, 120)
            assert await asyncio.to_thread(run_until, path, moment) in ("killed", "dry"), moment
        assert (await resume_run(path)).result.reason == "dry"
    assert set(texts(place).values()) == {*(f"{name}: new\n" for name in NAMES), "new\n"}
    assert (place / "list.md").read_text() == "".join(f"- {name} {name}\n\n" for name in NAMES)
    journal = Journal.open(path)
    events = [stamped.event for stamped in journal.read()]
    fixed = [event.about for event in events if isinstance(event, WorkFinished) and event.kind == "item" and event.ok]
    assert len(fixed) == len(set(fixed)) == len(NAMES)
    assert fold(journal.spec, journal.read()).finder.done == len(NAMES)
    journal.close()
    assert worktrees(place) == []
