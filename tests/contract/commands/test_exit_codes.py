"""Each reason of docs/requirements.md 4.1 through the real command: outcome, exit code and standard error."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from fakes.project import CHECK, FIX_BOTH, read
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import HttpError, Turn, call, finish, say


def model(server: ScriptedServer) -> list[str]:
    return ["--model", "fake", "--api-base", server.base_url]


def ended(ran: Ran, reason: str, code: int, *, complete: bool = False) -> dict:
    """The outcome, once it is sure that all places agree on it."""
    assert ran.exit_code == code, ran
    outcome = ran.outcome
    assert (outcome["reason"], outcome["exit_code"], outcome["complete"]) == (reason, code, complete), ran
    assert outcome["detail"]
    assert "Traceback" not in ran.stderr
    return outcome


def test_a_plain_headless_run_prints_the_answer_and_ends_with_the_outcome(home: Home, project: Path):
    with ScriptedServer([read("calc/core.py", "I look."), FIX_BOTH]) as server:
        ran = home.run("run", "--headless", *model(server), "--gate", "edits", "fix it", "--until", CHECK, cwd=project)
    assert ran.exit_code == 0, ran
    lines = ran.stderr.strip().splitlines()
    assert lines[-1].startswith("-> done after 2 steps: ")
    assert "check passed" in lines[-1] or CHECK in lines[-1]
    assert len(lines) >= 3, "a line a step"
    assert "{" not in ran.stdout


def test_a_check_that_passes_already_is_done_after_no_step_and_no_call(home: Home, project: Path):
    with ScriptedServer() as server:
        ran = home.run("run", "x", "--headless", "--json", *model(server), "--until", "true", cwd=project)
    outcome = ended(ran, "done", 0, complete=True)
    assert outcome["steps"] == 0
    assert "already met" in outcome["detail"]
    assert server.requests == []


def test_a_cited_finish_without_a_check_is_answered_and_its_answer_is_printed(home: Home, project: Path):
    turns = [read("calc/core.py"), finish("add subtracts", "calc/core.py:5")]
    with ScriptedServer(turns) as server:
        ran = home.run("run", "--headless", "what is wrong?", *model(server), cwd=project)
    assert ran.exit_code == 0, ran
    assert ran.stdout.strip() == "add subtracts"
    assert ran.stderr.strip().splitlines()[-1].startswith("-> answered after 2 steps")


def test_the_naive_loop_only_claims(home: Home, project: Path):
    with ScriptedServer([read("calc/core.py"), say("All done, the suite is green!")]) as server:
        ran = home.run("run", "fix", "--headless", "--json", "--loop", "naive", *model(server), cwd=project)
    outcome = ended(ran, "claimed", 6)
    assert outcome["answer"] == "All done, the suite is green!"


def test_a_step_limit_stops_with_a_wrap_up_in_text(home: Home, project: Path):
    turns = [read("calc/core.py"), read("NOTES.md"), say("I only read two files.")]
    with ScriptedServer(turns) as server:
        ran = home.run(
            "run", "fix", "--headless", "--json", "--steps", "2", "--until", CHECK, *model(server), cwd=project
        )
    outcome = ended(ran, "budget", 3)
    assert "step" in outcome["detail"]
    assert outcome["steps"] == 2
    assert outcome["answer"] == "I only read two files."
    assert server.requests[2].body["tool_choice"] == "none"


def test_the_same_action_again_and_again_is_hinted_at_and_then_stopped(home: Home, project: Path):
    with ScriptedServer(then=read("calc/core.py")) as server:
        ran = home.run(
            "run", "fix", "--headless", "--json", "--until", CHECK, "--on-stall", "stop", *model(server), cwd=project
        )
    outcome = ended(ran, "stagnation", 4)
    assert [s["response"] for s in ran.of("stall_detected")] == ["hint", "stop"]
    assert [s["kind"] for s in ran.of("stall_detected")] == ["repeat", "repeat"]
    assert outcome["steps"] < 12


def test_the_detail_of_the_end_names_a_repeated_plan_in_plain_words(home: Home, project: Path):
    with ScriptedServer(then=say("I will fix it now.")) as server:
        ran = home.run(
            "run", "fix", "--headless", "--json", "--until", CHECK, "--on-stall", "stop", *model(server), cwd=project
        )
    outcome = ended(ran, "stagnation", 4)
    assert ran.of("stall_detected")[-1]["kind"] == "monologue", "the word on the wire stays"
    assert outcome["detail"].startswith("same plan: "), outcome


def test_a_question_that_nobody_can_answer_is_handed_off(home: Home, project: Path):
    ask = call("ask_person", question="May I change the API?", options=["yes", "no"])
    with ScriptedServer([ask]) as server:
        ran = home.run(
            "run", "fix", "--headless", "--json", "--on-ask", "handoff", "--until", CHECK, *model(server), cwd=project
        )
    ended(ran, "handoff", 5)
    (handoff,) = ran.of("handoff_opened")
    assert handoff["reason"]
    assert handoff["suggested_action"]
    assert "May I change the API?" in str(handoff)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_streaming_run_with_an_outcome(home: Home, project: Path, number: int):
    with ScriptedServer([Turn(text="I think about it for long", hold_after=2)]) as server:
        argv = ["run", "fix", "--headless", "--json", "--until", CHECK, *model(server)]
        with home.start(*argv, cwd=project) as running:
            running.wait_event("text_arrived")
            running.signal(number)
            ran = running.finish()
        server.wait_closed()
    ended(ran, "user", 130)


def test_a_server_that_cannot_be_reached_is_refused_before_anything_happened(home: Home, project: Path):
    argv = ["run", "fix", "--headless", "--json", "--until", CHECK, "--model", "fake"]
    ran = home.run(*argv, "--api-base", "http://127.0.0.1:9/v1", cwd=project)
    outcome = ended(ran, "refused", 2)
    assert "127.0.0.1:9" in outcome["detail"]
    assert outcome["steps"] == 0


def test_a_refused_key_is_an_error_that_trying_again_does_not_mend(home: Home, project: Path):
    key = "sk-canary-0123456789abcdefghij"
    bad = Turn(error=HttpError(401, f"Incorrect API key provided: {key}", kind="invalid_request_error"))
    with ScriptedServer([bad]) as server:
        ran = home.run(
            "run", "fix", "--headless", "--json", "--until", CHECK, *model(server), cwd=project,
            env={"OPENAI_API_KEY": key},
        )  # fmt: skip
    assert ran.exit_code in (1, 2), ran
    assert ran.outcome["reason"] in ("error", "refused")
    assert ran.outcome["retryable"] is False
    assert key not in ran.stdout + ran.stderr
    assert len(server.requests) == 1
    assert all(key.encode() not in path.read_bytes() for path in home.runs.rglob("*") if path.is_file())


def test_an_account_without_money_is_an_error_that_can_be_tried_later(home: Home, project: Path):
    broke = Turn(error=HttpError(429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota"))
    with ScriptedServer([broke]) as server:
        ran = home.run("run", "fix", "--headless", "--json", "--until", CHECK, *model(server), cwd=project)
    outcome = ended(ran, "error", 75)
    assert outcome["retryable"] is True
    assert len(server.requests) == 1


def test_the_task_comes_from_standard_input_and_options_stand_anywhere(home: Home, project: Path):
    turns = [read("calc/core.py"), finish("seen", "calc/core.py")]
    with ScriptedServer(turns) as server:
        argv = ["run", "--json", "-", "--headless", "--steps", "5", *model(server), "--loop", "goal"]
        ran = home.run(*argv, cwd=project, stdin="say what\nyou see\n")
    outcome = ended(ran, "answered", 0, complete=True)
    assert outcome["answer"] == "seen"
    assert ran.events[0]["task"].strip() == "say what\nyou see"
    assert ran.events[0]["budget"]["steps"] == 5
