"""In a workspace on which no layer can lie a run works as before and says so; the default of the gate follows."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.sandboxes import notes_of
from fakes.turns import call, say

from rundry.agent.gate.policy import NOT_STARTED
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import GateMode, Predicates
from rundry.agent.sandbox.sandbox import Sandbox
from rundry.agent.state.facts.checkpoint import facts_of

WRITE = call("run_command", command="echo more >> kept.txt")


@pytest.fixture
def work(tmp_path):
    """A workspace that is not in a repository."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "kept.txt").write_text("one\n")
    return folder


@pytest.fixture
def unfit(work):
    """Makes a run whose journal is on another file system than its workspace."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as runs:
        yield lambda **options: Driven(Path(runs), work, ScriptedModel([WRITE, say("done")]), **options)


def waiting(run):
    """The proposals that somebody had to decide on."""
    return [e for e in run.of("proposal_opened") if e["asks"]]


async def test_a_command_writes_to_the_workspace_and_one_note_says_why(work, unfit):
    run = unfit()
    await run.run()
    assert (work / "kept.txt").read_text() == "one\nmore\n"
    (note,) = notes_of(run.of("run_started"))
    assert note.startswith("commands write to the workspace itself: rundry's own folder is not on the file system of")
    assert [e["in_place"] for e in run.of("effects_accepted")] == [True]
    assert [e["by"] for e in run.of("file_changed")] == ["command"]


async def test_if_nobody_chose_a_mode_the_gate_asks_and_one_note_says_why(work, unfit):
    run = unfit(gate=GateMode.EFFECTS, falls_back=True)
    await run.run()
    (started,) = run.of("run_started")
    assert started["gate"] == "ask" and run.facts().gate_mode is GateMode.ASK
    (note,) = notes_of([started])
    assert note.startswith("the gate is set to `ask`, because commands write to the workspace itself: rundry's own")
    assert (work / "kept.txt").read_text() == "one\n"
    assert [e["command"] for e in waiting(run)] == ["echo more >> kept.txt"]


async def test_a_mode_that_somebody_chose_stays(unfit):
    run = unfit(gate=GateMode.EFFECTS)
    await run.run()
    assert run.of("run_started")[0]["gate"] == "effects"
    assert "commands write to the workspace itself" in " ".join(waiting(run)[0]["asks"])


async def test_where_layers_fit_the_default_is_effects_and_a_resumed_run_keeps_its_mode(place, driven, unfit):
    run = driven("echo more >> kept.txt", gate=GateMode.EFFECTS, falls_back=True)
    await run.run()
    assert run.of("run_started")[0]["gate"] == "effects" and notes_of(run.of("run_started")) == []
    assert [e["command"] for e in waiting(run)] == [None] and (place / "work/kept.txt").read_text() == "one\n"
    asking = unfit(gate=GateMode.EFFECTS, falls_back=True)
    await asking.run()
    killed = asking.killed_at("run_started")
    await killed.run()
    journal = Journal.open(killed.path)
    assert facts_of(journal).gate_mode is GateMode.ASK
    journal.close()


@pytest.mark.parametrize("name", ["a:b", "a,b", "a b", "a\\b", "a=b", "é", 'a"b', "a%b"])
async def test_a_workspace_with_any_name_works(place, name):
    work = place / name
    work.mkdir()
    (work / "kept.txt").write_text("one\n")
    wanted = Predicates(until=["grep -q more kept.txt"], scope=["**"])
    run = Driven(place / "runs", work, ScriptedModel([WRITE, say("done")]), predicates=wanted)
    outcome = await run.run()
    assert outcome.reason == "done", run.story()
    assert (work / "kept.txt").read_text() == "one\nmore\n"


@pytest.mark.parametrize("falls_back", [True, False])
async def test_in_a_weak_sandbox_a_stage_starts_commands_only_if_somebody_chose_it(
    place, driven, monkeypatch, falls_back
):
    monkeypatch.setattr(Sandbox, "is_confirmed", property(lambda _: False))
    run = driven("echo x > made; echo $((6*7))x", gate=GateMode.STAGE, falls_back=falls_back)
    await run.run()
    refused = NOT_STARTED in run.heard()
    assert (refused, "42x" in run.heard()) == (falls_back, not falls_back), run.story()
    assert (NOT_STARTED in notes_of(run.of("run_started"))) is falls_back
    assert not (place / "work/made").exists()
