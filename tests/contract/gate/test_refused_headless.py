"""A headless run in which nobody can approve says so before it starts, and names at its end what was refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.project import CHECK, FIX_BOTH, read
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, finish

from rundry.agent import ProposalDecided, ProposalOpened
from rundry.tui.plain.headless.refused_proposals import Refused

BEFORE = "nobody can approve in a headless run"
COMMAND = Turn(calls=[call("run_command", command="touch made").calls[0]])
TURNS = [FIX_BOTH, COMMAND, read("calc/core.py")]


def run(home: Home, project: Path, *more: str, turns: list[Turn] = TURNS):
    with ScriptedServer(turns, then=finish("told", "calc/core.py")) as server:
        home.config_file.parent.mkdir(parents=True, exist_ok=True)
        home.config_file.write_text('gate = "ask"\n')
        argv = ["run", "fix", "--headless", "--steps", "4", "--model", "fake", "--api-base", server.base_url]
        return home.run(*argv, *more, cwd=project)


def test_a_line_before_the_run_names_what_will_be_refused_and_one_at_its_end_what_was(home: Home, project: Path):
    ran = run(home, project, "--until", CHECK)
    lines = ran.stderr.splitlines()
    (before,) = [at for at, line in enumerate(lines) if BEFORE in line]
    assert before < next(at for at, line in enumerate(lines) if line.startswith("goal ")), ran
    assert "--gate edits" in lines[before] and "--gate auto" in lines[before]
    (refused,) = [line for line in lines if line.startswith("refused: ")]
    assert "2 edits of 1 file (calc/core.py) and 1 command" in refused and "--gate edits" in refused, ran
    assert lines[-1].startswith("-> ")


def test_neither_is_in_the_output_for_programs(home: Home, project: Path):
    ran = run(home, project, "--until", CHECK, "--json")
    assert all(json.loads(line)["type"] for line in ran.stdout.splitlines())
    assert BEFORE in ran.stderr and "refused: 2 edits" in ran.stderr and BEFORE not in ran.stdout


@pytest.mark.parametrize("options", [["--gate", "edits"], ["--gate", "auto"], ["--on-ask", "handoff"]])
def test_no_line_is_printed_where_the_user_chose_who_decides(home: Home, project: Path, options: list[str]):
    ran = run(home, project, "--until", CHECK, *options, turns=[FIX_BOTH])
    assert BEFORE not in ran.stderr and "refused: " not in ran.stderr, ran


def test_only_what_needed_a_person_counts():
    refused = Refused()
    for number, (asks, decision, by) in enumerate(
        [
            (["w"], "reject", "policy"),
            ([], "reject", "policy"),
            (["w"], "reject", "person"),
            (["w"], "approve", "person"),
        ]
    ):
        opened = ProposalOpened(proposal_id=str(number), tool="edit_file", path=f"{number}.py", digest="d", asks=asks)
        refused.take(opened)
        refused.take(ProposalDecided(proposal_id=str(number), decision=decision, by=by))
    assert "1 edit of 1 file (0.py)" in (refused.line() or "")


def test_many_files_are_counted_and_few_named():
    refused = Refused()
    for number in range(9):
        refused.take(ProposalOpened(proposal_id=str(number), tool="e", path=f"{number}.py", digest="d", asks=["w"]))
        refused.take(ProposalDecided(proposal_id=str(number), decision="reject", by="policy"))
    assert "9 edits of 9 files (0.py, 1.py, 2.py and 6 more)" in (refused.line() or "")


def test_a_refused_call_of_an_mcp_server_names_the_rule_that_allows_it():
    refused = Refused()
    for number in range(2):
        tool = "time__get_current_time"
        refused.take(ProposalOpened(proposal_id=str(number), tool=tool, path=None, digest="d", asks=["w"]))
        refused.take(ProposalDecided(proposal_id=str(number), decision="reject", by="policy"))
    line = refused.line() or ""
    assert line.startswith("refused: 2 calls of time__get_current_time: nobody could approve. ")
    assert 'a rule with tool = "time__get_current_time" and verdict = "allow"' in line
    assert "--gate" not in line
