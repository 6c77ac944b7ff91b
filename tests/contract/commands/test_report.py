"""What many runs add up to, and which of them wait for someone (docs/requirements.md 10.2)."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from fakes.rundry import Home, assert_refused

from rundry.agent.journal.claim import claim
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Budget,
    Charged,
    Event,
    HandoffOpened,
    HookRan,
    LoopKind,
    ModelSpec,
    ProposalOpened,
    QuestionAsked,
    Reason,
    RunEnded,
    RunSpec,
    RunStarted,
    StallDetected,
    StepFinished,
    StepStarted,
)


def record(home: Home, project: Path, run_id: str, *events: Event, days_ago: float = 0.0) -> Path:
    """Record a run with these events that began `days_ago` days ago."""
    budget = Budget(steps=10, tokens=1000, usd=1.0, seconds=100.0)
    spec = RunSpec(
        run_id=run_id,
        loop=LoopKind.GOAL,
        task=f"task of {run_id}",
        workspace=str(project.resolve()),
        model=ModelSpec(name="fake/m"),
        budget=budget,
    )
    path = home.runs / f"{run_id}.db"
    journal = Journal.create(path, spec)
    began = time.time() - days_ago * 86_400
    journal.set_meta("created", repr(began))
    journal.now = lambda: began + 1
    first = RunStarted(
        run_id=run_id,
        loop=spec.loop,
        task=spec.task,
        workspace=spec.workspace,
        model="fake/m",
        budget=budget,
        journal=str(path),
    )
    for event in (first, *events):
        journal.append(event)
    journal.close()
    return path


def steps(count: int, usd: float | None = 0.05) -> list[Event]:
    found: list[Event] = []
    for number in range(1, count + 1):
        charged = Charged(tokens_in=40, tokens_out=10, usd=usd, model="fake/m")
        found += [StepStarted(number=number), charged, StepFinished(number=number, seconds=1.0)]
    return found


def ended(reason: Reason, detail: str = "so", *, complete: bool = False) -> RunEnded:
    return RunEnded(reason=reason, detail=detail, complete=complete, exit_code=0)


def test_a_limit_of_money_is_not_judged_by_runs_that_cost_nothing(home: Home, project: Path):
    for name in ("l1", "l2", "l3", "l4"):
        record(home, project, name, *steps(4, usd=0.0), ended(Reason.DONE, complete=True))
    told = json.loads(home.run("report", "--json", cwd=project).stdout)
    (usd,) = [each for each in told["advice"] if each["limit"] == "usd"]
    assert (usd["verdict"], usd["why"]) == ("unknown", "none of 4 runs cost anything: local models")


def test_a_report_adds_up_exits_shares_detectors_and_spend_and_names_the_limit_that_does_not_fit(
    home: Home, project: Path
):
    used_up = ended(Reason.BUDGET, "step budget: 10 of 10 steps")
    stall = StallDetected(kind="repeat", signature="read \x1b[2Ja.py", response="hint")
    record(home, project, "a1", *steps(10), used_up)
    record(home, project, "a2", *steps(10), stall, stall, used_up)
    record(home, project, "a3", *steps(4), stall, ended(Reason.DONE, complete=True))
    record(home, project, "a4", *steps(2), HandoffOpened(reason="stuck", suggested_action="look"))
    record(home, project, "old", *steps(10), used_up, days_ago=9)
    (home.runs / "bad.db").write_bytes(b"\x93" * 5000)
    told = json.loads(home.run("report", "--json", cwd=project).stdout)
    assert (told["runs"], told["unreadable"]) == (4, 1)
    exits = {each["reason"]: each for each in told["exits"]}
    assert {reason: each["runs"] for reason, each in exits.items()} == {"budget": 2, "done": 1, "interrupted": 1}
    assert exits["done"]["budget"]["steps"] == {"runs": 1, "median": 0.4, "p90": 0.4}
    assert round(told["budget"]["steps"]["median"], 6) == 0.7
    assert round(told["budget"]["steps"]["p90"], 6) == 1.0
    assert round(told["budget"]["usd"]["median"], 6) == 0.35
    counts = {"firings": 3, "runs": 2, "responses": {"hint": 3}}
    assert told["detectors"] == [{"kind": "repeat", "signature": stall.signature, **counts}]
    assert told["handoffs"] == [{"reason": "stuck", "times": 1, "runs": ["a4"]}]
    (model,) = told["models"]
    assert (model["model"], model["calls"], model["tokens_in"]) == ("fake/m", 26, 26 * 40)
    assert round(model["usd"], 6) == 1.3
    advice = {each["limit"]: each for each in told["advice"]}
    assert advice["steps"]["verdict"] == "too tight"
    assert "2 of 4 runs ended on it" in advice["steps"]["why"]
    assert advice["seconds"]["verdict"] == "too loose"
    assert advice["usd"]["verdict"] == "fits"
    shown = home.run("report", "--days", "30", cwd=project)
    assert shown.exit_code == 0, shown
    assert shown.stdout.startswith("5 runs in 30 days, 1 damaged")
    assert "\x1b" not in shown.stdout
    assert "too tight" in shown.stdout


def test_a_limit_that_ended_runs_is_known_by_the_field_of_their_end(home: Home, project: Path):
    end = RunEnded(reason=Reason.BUDGET, detail="in other words", complete=False, exit_code=3, limit="tokens")
    for name in ("t1", "t2", "t3"):
        record(home, project, name, *steps(4), end)
    told = json.loads(home.run("report", "--json", cwd=project).stdout)
    assert [each["limit"] for each in told["advice"] if each["verdict"] == "too tight"] == ["tokens"]


def test_a_report_counts_how_often_each_hook_ran_refused_and_failed(home: Home, project: Path, tmp_path: Path):
    ran = HookRan(on="before-tool", command="./guard <b>.sh", result="passed")
    refuses = HookRan(on="before-tool", command="./guard <b>.sh", result="refused", reason="no")
    failed = HookRan(on="after-edit", command="./format.sh", result="failed")
    record(home, project, "a1", *steps(1), ran, refuses, failed, ended(Reason.DONE, complete=True))
    record(home, project, "a2", *steps(1), ran, refuses, ended(Reason.DONE, complete=True))
    record(home, project, "a3", *steps(1), ended(Reason.DONE, complete=True))
    told = json.loads(home.run("report", "--json", cwd=project).stdout)
    guard = {"on": "before-tool", "command": "./guard <b>.sh", "times": 4, "refused": 2, "failed": 0, "runs": 2}
    form = {"on": "after-edit", "command": "./format.sh", "times": 1, "refused": 0, "failed": 1, "runs": 1}
    assert told["hooks"] == [guard, form]
    lines = [line.split() for line in home.run("report", cwd=project).stdout.splitlines()]
    assert ["4x", "before-tool", "./guard", "<b>.sh", "2", "runs,", "refused", "2"] in lines
    assert ["1x", "after-edit", "./format.sh", "1", "run,", "failed", "1"] in lines
    target = tmp_path / "report.html"
    assert home.run("report", "--html", str(target), cwd=project).exit_code == 0
    assert "./guard &lt;b&gt;.sh" in target.read_text()


def test_a_report_adds_up_days_and_loops_also_as_a_page(home: Home, project: Path, tmp_path: Path):
    record(home, project, "a1", *steps(4), ended(Reason.DONE, complete=True))
    record(
        home,
        project,
        "a2",
        *steps(2),
        HandoffOpened(reason="<script>alert(1)</script>", suggested_action="x"),
        ended(Reason.HANDOFF),
        days_ago=2,
    )
    record(home, project, "a3", *steps(3, usd=None), ended(Reason.USER))
    told = json.loads(home.run("report", "--json", cwd=project).stdout)
    assert len(told["by_day"]) == 8, "days without a run are listed, too"
    today, before = told["by_day"][-1], told["by_day"][-3]
    assert (today["runs"], today["complete"], today["steps"], today["usd"]) == (2, 1, 7, None)
    assert (before["runs"], before["steps"], round(before["usd"], 6)) == (1, 2, 0.1)
    (loop,) = told["by_loop"]
    assert (loop["name"], loop["runs"], loop["tokens"]) == ("goal", 3, 9 * 50)
    piped = home.run("report", cwd=project).stdout
    assert "━" not in piped, "plots are for a terminal"
    assert today["name"] in piped
    target = tmp_path / "report.html"
    assert home.run("report", "--html", str(target), cwd=project).exit_code == 0
    page = target.read_text()
    assert "default-src 'none'" in page
    assert "<figcaption><strong>steps by day</strong>" in page
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert_refused(home.run("report", "--html", str(target), cwd=project), "already exists", "--html")


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_the_report_on_a_terminal_has_plots_and_fits_it(home: Home, project: Path, columns: int):
    record(home, project, "a1", *steps(4), ended(Reason.DONE, complete=True))
    record(home, project, "a2", *steps(10), ended(Reason.BUDGET, "step budget: 10 of 10 steps"), days_ago=3)
    with home.screen("report", cwd=project, rows=90, columns=columns) as terminal:
        text = terminal.wait_for("seconds  ")
        assert "spend by day, USD" in text
        assert "━" in text
        assert "$0.50" in text


def test_too_few_runs_say_nothing_of_a_limit_and_none_at_all_is_not_an_error(home: Home, project: Path):
    assert home.run("report", cwd=project).stdout.strip() == "0 runs in 7 days"
    record(home, project, "a1", *steps(1, usd=None), ended(Reason.DONE, complete=True))
    told = json.loads(home.run("report", "--json", cwd=project).stdout)
    assert {each["verdict"] for each in told["advice"]} == {"unknown"}
    assert told["models"][0]["usd"] is None
    assert "usd" not in told["budget"], "what has no price has no share of a limit in USD"


@pytest.mark.parametrize("days", ["0", "-1", "nan", "week"])
def test_days_that_are_not_numbers_above_zero_are_refused(home: Home, project: Path, days: str):
    assert_refused(home.run("report", f"--days={days}", cwd=project), "--days")


def test_handoffs_lists_who_waits_for_what_and_how_to_resume_it(home: Home, project: Path):
    handed = HandoffOpened(reason="goes in\ncircles", suggested_action="give a hint")
    record(home, project, "b1", *steps(1), handed, ended(Reason.HANDOFF, "goes in circles"))
    asks = QuestionAsked(question_id="q", question="Which \x1b]0;x\x07 way?")
    gate = ProposalOpened(proposal_id="p", tool="run_command", command="make", digest="d", asks=["commands wait"])
    record(home, project, "b2", *steps(1), asks)
    live = record(home, project, "b3", *steps(1), gate)
    record(home, project, "b4", *steps(1), ended(Reason.DONE, complete=True))
    with claim(live):
        found = json.loads(home.run("handoffs", "--json", cwd=project).stdout)
        shown = home.run("handoffs", cwd=project).stdout
    assert [(each["run_id"], each["waits"], each["state"]) for each in found] == [
        ("b3", "gate", "running"),
        ("b2", "question", "interrupted"),
        ("b1", "handoff", "ended"),
    ]
    assert found[2]["suggested_action"] == "give a hint"
    assert found[2]["take_up"] == 'rundry resume b1 --hint "..."'
    assert found[0]["take_up"] == "rundry watch b3"
    assert abs(found[2]["since"] - time.time()) < 300
    assert "why      goes in circles" in shown
    assert "\x1b" not in shown
    assert (
        home.run("handoffs", "--cwd", str(project.parent), cwd=project).stdout.strip()
        == "no runs are waiting for a person"
    )
