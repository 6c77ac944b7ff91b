"""Proposals of the items of a `migrate` run end with their runner: said in the hand-off, and asked again later."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from fakes.rundry import Home
from fakes.server import Rule, ScriptedServer
from fakes.turns import Turn, call, edit

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import ProposalOpened

COMMAND = call("run_command", command="echo new > a.txt")
EDIT = edit("a.txt", "old", "new")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    (folder / "a.txt").write_text("a: old\n")
    return folder


def argv(server: ScriptedServer, *more: str) -> list[str]:
    recipe = ["find", "--recipe", "migrate", "--check", "grep -q new {file}", "--model", "fake", "--gate", "ask"]
    return [*recipe, "--api-base", server.base_url, *more, "*.txt"]


def fixing(turn: Turn) -> ScriptedServer:
    """It asks for the change in each step."""
    return ScriptedServer(rules=[Rule("The file: a.txt", turn)])


def proposals(home: Home) -> list[ProposalOpened]:
    journal = Journal.open(home.journals()[0])
    try:
        return [stamped.event for stamped in journal.read() if isinstance(stamped.event, ProposalOpened)]
    finally:
        journal.close()


@pytest.mark.parametrize("turn", [COMMAND, EDIT], ids=["a command", "an edit"])
def test_a_proposal_of_an_item_that_nobody_decides_is_handed_over_with_the_next_step(
    home: Home, place: Path, turn: Turn
):
    with fixing(turn) as server:
        ran = home.run(*argv(server, "--headless", "--json", "--on-ask", "handoff"), cwd=place)
        assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran.story()
        assert ran.outcome["detail"].endswith(
            "The proposal of an item does not stay open: the item is worked again when the run is resumed"
        )
        assert (place / "a.txt").read_text() == "a: old\n"
        with home.screen("resume", cwd=place) as terminal:
            terminal.wait_for(lambda _: len(proposals(home)) == 2)
            done = home.run("ctl", "approve", "--digest", proposals(home)[1].digest, cwd=place)
            assert done.exit_code == 0, done
            terminal.wait_for(lambda _: "new" in (place / "a.txt").read_text())


def test_a_command_of_a_killed_runner_is_rejected_and_asked_again(home: Home, place: Path):
    with fixing(COMMAND) as server:
        with home.screen(*argv(server), cwd=place) as terminal:
            terminal.wait_for("approve")
            for process in terminal.tree():
                with suppress(psutil.NoSuchProcess):  # it ended with one that was killed before it
                    process.send_signal(signal.SIGKILL)
        home.end_runners()
        again = home.run("resume", "--headless", "--json", "--on-ask", "handoff", cwd=place)
    rejected = [(e["decision"], e["by"]) for e in again.of("proposal_decided")]
    assert rejected and set(rejected) == {("reject", "policy")}, again.story()
    assert (again.exit_code, again.outcome["reason"]) == (5, "handoff"), again.story()
    assert len(again.of("proposal_opened")) == 1, "the item was worked again, and asks"
    assert (place / "a.txt").read_text() == "a: old\n"
