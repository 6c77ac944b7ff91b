"""A plan with its check that a person accepts before anything is edited, in a real terminal."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.project import CHECK, CORE, FIX_BOTH, read
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import Turn, call, say

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import LoopKind, PlanChanged, RunSpec, event_type, to_json_line

STEPS = ["Return a + b in add().", "Divide by len(values) in mean()."]
PLAN = call("propose_plan", steps=STEPS, check="python3 -m unittest")
GREEN = call("propose_plan", steps=STEPS, check="test -f calc/core.py")
FINISH = call("finish", answer="Both sums are fixed.", citations=["calc/core.py:1"])
HELD = Turn(text="I think about it", hold_after=4)


def at(server: ScriptedServer) -> list[str]:
    return ["--model", "fake", "--api-base", server.base_url]


def planned(home: Home, project: Path, server: ScriptedServer, *words: str, **more: object) -> Terminal:
    options = [*at(server), "--gate", "edits", *words]
    return home.screen("--plan", "fix the sums", *options, cwd=project, **more)  # type: ignore[arg-type]


def told(path: Path, kind: str) -> list[dict]:
    journal = Journal.open(path)
    try:
        return [json.loads(to_json_line(s)) for s in journal.read() if event_type(s.event) == kind]
    finally:
        journal.close()


def spec_of(path: Path) -> RunSpec:
    journal = Journal.open(path)
    try:
        return journal.spec
    finally:
        journal.close()


def ends(home: Home, reason: str) -> Callable[[list[str]], bool]:
    """Whether the newest run ended so."""
    return lambda lines: any(each["reason"] == reason for each in told(home.journals()[-1], "run_ended"))


def test_the_check_is_edited_at_the_gate_and_the_run_that_follows_ends_by_it_judged(home: Home, project: Path):
    turns = [read("calc/core.py", "I look."), PLAN, FIX_BOTH]
    with ScriptedServer(turns, then=HELD) as server, planned(home, project, server) as terminal:
        terminal.wait_for("y accept plan")
        assert "Check: python3 -m unittest" in terminal.text()
        assert (project / "calc/core.py").read_text() == CORE
        terminal.press("e")
        terminal.wait_for("keep your version")
        terminal.press("down", "down", "down", "end")
        terminal.send(" -q")
        terminal.wait_for(CHECK)
        terminal.send("\x13")
        terminal.wait_for("y accept yours")
        terminal.press("y")
        terminal.wait_for("judged", timeout=90)
        terminal.wait_for(ends(home, "done"))
    first, second = home.journals()
    (accepted,) = told(first, "plan_accepted")
    assert (accepted["lines"], accepted["check"], accepted["run_id"]) == (STEPS, CHECK, second.stem)
    assert told(first, "run_ended")[0]["reason"] == "answered"
    assert told(first, "file_changed") == []
    spec = spec_of(second)
    assert (spec.loop, spec.predicates.until, spec.plan_of) == (LoopKind.GOAL, [CHECK], first.stem)
    assert spec.budget.steps == 38
    asked = server.requests[0]
    assert [tool["function"]["name"] for tool in asked.body["tools"]] == [
        "read_file",
        "list_files",
        "search",
        "fetch_url",
        "ask_person",
        "propose_plan",
    ]
    began = server.requests[2].text
    assert "1. Return a + b in add()." in began
    assert "I look." not in began, "the new run begins with an empty conversation"
    (end,) = told(second, "run_ended")
    assert (end["reason"], end["evidence"]["grade"]) == ("done", "judged")


def test_a_check_that_passes_already_is_named_at_the_gate_and_ends_no_run_that_carries_out_a_plan(
    home: Home, project: Path
):
    ticked = call("update_plan", steps=["[x] Return a + b in add().", "[ ] Divide by len(values) in mean()."])
    turns = [GREEN, ticked, FIX_BOTH, FINISH]
    with ScriptedServer(turns, then=HELD) as server, planned(home, project, server, "--gate", "auto") as terminal:
        terminal.wait_for("the check passes already")
        terminal.wait_for("y accept plan")
        assert (project / "calc/core.py").read_text() == CORE
        terminal.press("y")
        assert "so it does not show whether the plan is carried out" in server.wait_requests(2)[1].text
        terminal.wait_for("1 of 2 done, as the model ticked it", timeout=60)
        terminal.wait_for("read the changes")
        assert not any("✓ done" in line for line in terminal.screen())
    (end,) = told(home.journals()[-1], "run_ended")
    assert (end["reason"], end["steps"], end["evidence"]["grade"]) == ("answered", 3, "none")
    assert "the check passed before the first step" in end["detail"]
    assert end["files_changed"] == ["calc/core.py"]


def test_a_check_that_may_not_start_alone_is_not_run_before_the_plan_is_accepted(home: Home, project: Path):
    with ScriptedServer([GREEN], then=HELD) as server, planned(home, project, server, "--gate", "ask") as terminal:
        terminal.wait_for("y accept plan")
        assert "its check decides when the task is done" in terminal.text()
        assert told(home.journals()[0], "check_started") == []
        terminal.press("y")
        assert "so it does not show whether" in server.wait_requests(2)[1].text


def test_a_check_at_the_gate_of_a_plan_writes_nothing(home: Home, project: Path):
    writes = call("propose_plan", steps=STEPS, check="echo >> calc/core.py")
    with ScriptedServer([writes], then=HELD) as server, planned(home, project, server, "--gate", "auto") as terminal:
        terminal.wait_for("y accept plan")
        (ran,) = told(home.journals()[0], "check_finished")
        assert (ran["passed"], ran["uncounted"]) == (False, "the workspace was read-only for it")
    assert (project / "calc/core.py").read_text() == CORE


def test_tries_are_refused_where_the_check_of_the_plan_selects_none(home: Home, project: Path):
    with ScriptedServer([GREEN], then=HELD) as server, planned(home, project, server, "--tries", "2") as terminal:
        terminal.wait_for("y accept plan")
        terminal.press("y")
        terminal.wait_for(ends(home, "refused"), timeout=60)
    (end,) = told(home.journals()[-1], "run_ended")
    assert "it selects no try" in end["detail"]


def test_the_plan_is_set_before_the_first_step_of_the_run_that_carries_it_out(home: Home, project: Path):
    with ScriptedServer([PLAN], then=HELD) as server, planned(home, project, server) as terminal:
        terminal.wait_for("y accept plan")
        terminal.press("y")
        server.wait_requests(2)
    journal = Journal.open(home.journals()[-1])
    try:
        kinds = [(event_type(s.event), s.event) for s in journal.read()]
    finally:
        journal.close()
    names = [kind for kind, _ in kinds]
    assert names.index("plan_changed") < names.index("said") < names.index("step_started")
    (shown,) = [event for _, event in kinds if isinstance(event, PlanChanged)]
    assert shown.lines == [f"[ ] {step}" for step in STEPS]


def test_a_plan_written_as_words_waits_at_the_gate_and_a_reason_asks_for_another(home: Home, project: Path):
    words = say("Here is the plan:\n\n1. Fix add()\n2. Fix mean()\n\n**Check:** `python3 -m unittest`\n")
    with ScriptedServer([words, PLAN], then=HELD) as server, planned(home, project, server) as terminal:
        terminal.wait_for("2. Fix mean()")
        terminal.wait_for("y accept plan")
        terminal.press("tab")
        terminal.wait_for("keep as the reason")
        terminal.send("name the functions")
        terminal.press("enter")
        terminal.wait_for('reason: "name the functions"')
        terminal.press("n")
        asked = server.wait_requests(2)[1].text
        assert "the plan was not accepted. The person says: name the functions" in asked
        terminal.wait_for("Divide by len(values) in mean()")
        terminal.wait_for("y accept plan")
    assert told(home.journals()[0], "plan_accepted") == []


def left_with_its_plan(home: Home, project: Path, server: ScriptedServer) -> tuple[Path, str]:
    """Leave the screen while a plan waits. Return the journal of the run, which stays, and the digest of the plan."""
    with planned(home, project, server) as terminal:
        terminal.wait_for("y accept plan")
        terminal.send("\x11")
        terminal.wait_for("keep it running")
        terminal.press("b")
        terminal.wait_for_exit()
    (journal,) = home.journals()
    (opened,) = told(journal, "proposal_opened")
    return journal, opened["digest"][:12]


def test_a_plan_that_was_accepted_without_a_view_is_carried_out_by_the_next_one(home: Home, project: Path):
    with ScriptedServer([PLAN, FIX_BOTH], then=HELD) as server:
        first, digest = left_with_its_plan(home, project, server)
        accepted = home.run("ctl", first.stem, "approve", "--digest", digest, cwd=project)
        assert accepted.exit_code == 0, accepted
        with home.screen("watch", first.stem, cwd=project) as terminal:
            terminal.wait_for("p carry out")
            assert len(home.journals()) == 1, "the view did not accept the plan, so it begins nothing by itself"
        with home.screen("-c", *at(server), cwd=project) as terminal:
            terminal.wait_for(ends(home, "done"), timeout=90)
        with home.screen("resume", first.stem, cwd=project) as terminal:
            terminal.wait_for("done")
    assert len(home.journals()) == 2, "a plan is carried out once"
    forked = home.run("fork", first.stem, "--json", cwd=project)
    assert forked.exit_code == 0, forked
    (own,) = told(home.journals()[-1], "plan_accepted")
    assert own["lines"] == STEPS
    assert own["run_id"] not in [path.stem for path in home.journals()], "the plan of a fork waits for a run of its own"


def test_a_plan_in_the_middle_of_a_chat_knows_what_was_said(home: Home, project: Path):
    turns = [say("add() subtracts."), PLAN]
    with ScriptedServer(turns, then=HELD) as server, home.screen(*at(server), cwd=project) as terminal:
        terminal.wait_for("what should be done?")
        terminal.send("look at the sums\r")
        terminal.wait_for("add() subtracts.")
        server.wait_requests(1)
        terminal.send("/plan fix that\r")
        terminal.wait_for("y accept plan")
        asked = server.wait_requests(2)[1].text
    assert "fix that" in asked
    assert "person: look at the sums" in asked
    assert "model: add() subtracts." in asked
    chat, plan = home.journals()
    assert (spec_of(chat).loop, spec_of(plan).loop, spec_of(plan).task) == (LoopKind.CHAT, LoopKind.PLAN, "fix that")


def test_a_second_plan_decides_by_its_own_check_and_the_model_s_words_are_not_shown(home: Home, project: Path):
    second = call("propose_plan", steps=["Say more."], check="test -f more.txt")
    with ScriptedServer([PLAN, FIX_BOTH, second], then=HELD) as server, planned(home, project, server) as terminal:
        terminal.wait_for("y accept plan")
        terminal.press("y")
        terminal.wait_for("type the next task", timeout=90)
        assert "Follow it" not in terminal.text()
        terminal.send("/plan say more\r")
        terminal.wait_for("Check: test -f more.txt")
        assert "you set what decides" not in terminal.text()


def test_a_plan_is_not_begun_while_the_model_works(home: Home, project: Path):
    with ScriptedServer(then=HELD) as server, home.screen(*at(server), cwd=project) as terminal:
        terminal.wait_for("what should be done?")
        terminal.send("look at the sums\r")
        server.wait_requests(1)
        terminal.wait_for("I think")
        terminal.send("/plan fix that\r")
        terminal.wait_for("then make a plan")
        terminal.wait_for("/plan fix that")
    assert [spec_of(path).loop for path in home.journals()] == [LoopKind.CHAT]


def test_a_check_that_cannot_be_started_is_refused_to_the_model_and_to_the_person(home: Home, project: Path):
    wrong = call("propose_plan", steps=STEPS, check="nosuchprogram -q")
    with ScriptedServer([wrong, PLAN], then=HELD) as server, planned(home, project, server) as terminal:
        terminal.wait_for("y accept plan")
        assert "nosuchprogram: command not found" in server.requests[1].text
        terminal.press("e")
        terminal.wait_for("keep your version")
        terminal.press("down", "down", "down", "home", "right", "right", "right", "right", "right", "right", "right")
        terminal.send("no")
        terminal.send("\x13")
        terminal.wait_for("y accept yours")
        terminal.press("y")
        terminal.wait_for("nopython3: command not found")
        assert len(home.journals()) == 1


def test_slash_plan_begins_the_first_run_and_a_plan_without_a_check_a_chat(home: Home, project: Path):
    turns = [call("propose_plan", steps=["Say what add() does."], check=""), say("It subtracts.")]
    with ScriptedServer(turns, then=HELD) as server, home.screen(*at(server), cwd=project) as terminal:
        terminal.wait_for("what should be done?")
        terminal.send("/plan explain add\r")
        terminal.wait_for("it has no check: a chat carries it out")
        terminal.wait_for("y accept plan")
        terminal.press("y")
        terminal.wait_for("It subtracts.")
    assert [spec_of(path).loop for path in home.journals()] == [LoopKind.PLAN, LoopKind.CHAT]


def test_a_plan_session_in_lines_is_accepted_with_a_check_of_the_person(home: Home, project: Path):
    with ScriptedServer([PLAN, FIX_BOTH], then=HELD) as server, planned(home, project, server, "--plain") as terminal:
        terminal.wait_for("plan: Check: python3 -m unittest")
        terminal.send(f"check {CHECK}\r")
        terminal.wait_for(ends(home, "done"), timeout=90)
    first, second = home.journals()
    assert told(first, "plan_accepted")[0]["check"] == CHECK
    assert spec_of(second).predicates.until == [CHECK]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--headless", "--plan"], "--plan needs a person"),
        (["--print", "--plan"], "--plan needs a person"),
        (["--loop", "plan", "--headless"], "use rundry --plan TASK"),
    ],
)
def test_a_plan_is_refused_where_nobody_could_accept_it(home: Home, project: Path, words: list[str], why: str):
    with ScriptedServer() as server:
        ran = home.run("run", "fix", *words, *at(server), cwd=project)
    assert ran.exit_code == 2, ran
    assert why in ran.stderr
    assert home.journals() == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--every", "5m"], "an interval run is not planned"),
        (["--loop", "chat"], "leave --loop chat out"),
    ],
)
def test_a_plan_is_refused_for_a_run_that_none_precedes(home: Home, project: Path, words: list[str], why: str):
    with ScriptedServer() as server, planned(home, project, server, *words) as terminal:
        assert terminal.wait_for_exit() == 2
        assert why in terminal.text()
    assert home.journals() == []


def test_a_plan_is_accepted_once_if_its_runner_is_killed_while_it_records_that(
    home: Home, project: Path, tmp_path: Path
):
    with ScriptedServer([PLAN], then=HELD) as server:
        first, digest = left_with_its_plan(home, project, server)
        home.end_runners()
        words = ["--digest", digest, "--headless"]
        log = tmp_path / "points"
        counting = {"RUNDRY_CRASH_AT": "0", "RUNDRY_CRASH_LOG": str(log)}
        counted = approved_in_copy(home, project, tmp_path / "counted", first, words, counting)
        assert told(counted, "run_ended")[0]["reason"] == "answered"
        points = log.read_text().splitlines()
        for name in ("plan: approved", "plan: recorded"):
            at_point = {"RUNDRY_CRASH_AT": str(points.index(name) + 1)}
            killed = approved_in_copy(home, project, tmp_path / name.replace(": ", "-"), first, words, at_point)
            assert told(killed, "run_ended") == []
            assert len(told(killed, "plan_accepted")) == (name == "plan: recorded")
            resumed = home.run("resume", first.stem, "--headless", "--runs-dir", str(killed.parent), cwd=project)
            assert resumed.exit_code == 0, resumed
            (accepted,) = told(killed, "plan_accepted")
            assert (accepted["lines"], accepted["check"]) == (STEPS, "python3 -m unittest")
            assert [each["ok"] for each in told(killed, "tool_finished")] == [True]
            assert told(killed, "run_ended")[0]["reason"] == "answered"


def approved_in_copy(home: Home, project: Path, folder: Path, run: Path, words: list[str], env: dict[str, str]) -> Path:
    """Approve the proposal in a copy of the folder of runs, and return the copy of the journal."""
    shutil.copytree(run.parent, folder)
    home.run("approve", run.stem, *words, "--runs-dir", str(folder), cwd=project, env=env)
    return folder / run.name
