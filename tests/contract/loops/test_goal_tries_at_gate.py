"""The chosen try of a goal run at the gate of a session: its diff is shown before the workspace changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.in_process.hours import tree_of
from fakes.project import changed_files, git
from fakes.rundry import Home
from fakes.server import Rule, ScriptedServer
from fakes.turns import Call, calls, say

from rundry.agent.journal import Journal
from rundry.agent.protocol import ProposalOpened

CHECK = "grep -qx done state.txt"


def writes(number: int, *paths: str) -> Rule:
    made = [Call("write_file", {"path": path, "content": "done\n"}) for path in paths]
    return Rule(rf"You are try {number} of", calls(*made))


def asked(home: Home) -> list[ProposalOpened]:
    """The proposals that waited for a person."""
    journal = Journal.open(home.journals()[0])
    try:
        events = [stamped.event for stamped in journal.read()]
        return [event for event in events if isinstance(event, ProposalOpened) and event.asks]
    finally:
        journal.close()


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_a_person_decides_on_the_diff_of_the_chosen_try(home: Home, project: Path, verdict: str):
    before = tree_of(project)
    rules = [writes(1, "state.txt", "a.txt", "b.txt"), writes(2, "state.txt", "other.txt")]
    with ScriptedServer(rules=rules, then=say("I do not know how.")) as server:
        words = ["run", "get it done", "--model", "fake", "--api-base", server.base_url, "--gate", "ask"]
        with home.screen(*words, "--until", CHECK, "--tries", "2", cwd=project) as terminal:
            for number, decision in enumerate(["approve", verdict]):
                terminal.wait_for("try 2 of 2")
                terminal.wait_for(lambda _, number=number: len(asked(home)) == number + 1)
                assert tree_of(project) == before
                done = home.run("ctl", decision, "--digest", asked(home)[number].digest, cwd=project)
                assert done.exit_code == 0, done
            terminal.wait_for("check passed" if verdict == "approve" else "was rejected")
    opened = asked(home)
    assert [(each.path, each.file, each.files, each.who) for each in opened] == [
        ("other.txt", 1, 2, "try 2 of 2"),
        ("state.txt", 2, 2, "try 2 of 2"),
    ]
    assert changed_files(project) == (["other.txt", "state.txt"] if verdict == "approve" else [])
    assert len(git(project, "worktree", "list").splitlines()) == 1
