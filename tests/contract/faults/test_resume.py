"""A run that was killed continues, and no command is lost (docs/requirements.md 8.7, 9.8, 11.1, 13.5)."""

from __future__ import annotations

import signal
from pathlib import Path

from fakes.paused_command import PausedCommand
from fakes.project import CHECK, FIX_ADD, FIX_MEAN, read
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Turn, call

from rundry.agent.journal.journal import Journal
from rundry.agent.state.facts.run_facts import fold


def test_after_kill_nine_in_a_stream_resume_continues_from_the_journal(home: Home, project: Path):
    held = Turn(text="Now I think about the rest", hold_after=3)
    with ScriptedServer([read("calc/core.py"), FIX_ADD, held, FIX_MEAN]) as server:
        argv = ["--headless", "--json", "--gate", "auto"]
        model = ["--model", "fake", "--api-base", server.base_url, "--until", CHECK]
        with home.start("run", "fix it", *argv, *model, cwd=project) as running:
            started = running.wait_event("run_started")
            running.wait_event("text_arrived", step=3)
            running.signal(signal.SIGKILL)
            before = running.finish()
        assert before.exit_code == -signal.SIGKILL
        ran = home.run("resume", "--headless", "--json", cwd=project)
    assert ran.exit_code == 0, ran
    assert ran.events[0]["type"] == "run_resumed"
    assert (ran.events[0]["run_id"], ran.events[0]["from_seq"]) == (started["run_id"], ran.events[0]["seq"] - 1)
    assert ran.events[0]["from_seq"] >= before.events[-1]["seq"]
    assert ran.outcome["reason"] == "done"
    assert ran.outcome["files_changed"] == ["calc/core.py"]
    charged = [e for e in [*before.events, *ran.events] if e["type"] == "charged"]
    assert ran.outcome["tokens"]["in"] >= sum(c["tokens_in"] for c in charged if not c["estimated"])
    died = [e for e in before.events if e["type"] == "call_admitted"][-1]
    journal = Journal.open(home.journals()[0])
    facts = fold(journal.spec, journal.read())
    journal.close()
    assert facts.spent.counted_tokens >= died["worst_tokens"], "the call that died counts against the limits"
    assert "return a - b" in server.requests[3].text, "the conversation goes on"
    again = home.run("resume", started["run_id"], "--headless", "--json", cwd=project)
    assert again.exit_code in (0, 2), again
    assert "Traceback" not in again.stderr


def test_after_kill_nine_in_a_command_nothing_of_it_was_applied_and_it_is_never_repeated_blindly(
    home: Home, project: Path
):
    held = PausedCommand()
    slow = call("run_command", command=f"echo x >> ran; {held.line}")
    done = call("write_file", path="done", content="yes")
    with ScriptedServer([slow, done]) as server:
        argv = ["--headless", "--json", "--gate", "auto", "--until", "test -f done", "--scope", "done"]
        with home.start("run", "go", *argv, "--model", "fake", "--api-base", server.base_url, cwd=project) as running:
            running.wait_event("proposal_decided")
            held.wait()
            running.signal(signal.SIGKILL)
            running.finish()
        ran = home.run("resume", "--headless", "--json", cwd=project)
    assert ran.exit_code == 0, ran
    assert not (project / "ran").exists()
    (told,) = [e for e in ran.of("tool_finished") if e["tool"] == "run_command"]
    assert "its output is lost.\nNothing that it changed was applied" in told["result"]
    assert told["ok"] is False


def test_resume_raises_a_limit_and_prints_all_from_zero(home: Home, project: Path):
    turns = [read("calc/core.py"), Turn(text="not enough"), FIX_ADD, FIX_MEAN]
    with ScriptedServer(turns) as server:
        model = ["--model", "fake", "--api-base", server.base_url, "--until", CHECK, "--gate", "edits"]
        first = home.run("run", "fix", "--headless", "--json", "--steps", "1", *model, cwd=project)
        assert first.exit_code == 3, first
        run_id = first.events[0]["run_id"]
        ran = home.run("resume", run_id[:-1], "--headless", "--json", "--steps", "4", "--from", "0", cwd=project)
    assert ran.exit_code == 0, ran
    assert ran.events[: len(first.events)] == first.events
    assert ran.events[len(first.events)]["type"] == "run_resumed"
    assert ran.outcome["steps"] == 3


def test_a_second_runner_is_refused_with_the_pid_of_the_first(home: Home, project: Path):
    with ScriptedServer([Turn(text="holding on to it", hold_after=1)]) as server:
        argv = [
            "run",
            "fix",
            "--headless",
            "--json",
            "--model",
            "fake",
            "--api-base",
            server.base_url,
            "--until",
            CHECK,
        ]
        with home.start(*argv, cwd=project) as running:
            run_id = running.wait_event("run_started")["run_id"]
            second = home.run("resume", run_id, "--headless", cwd=project)
            running.signal(signal.SIGINT)
            running.finish()
    assert second.exit_code == 2, second
    assert str(running.pid) in second.stderr
    assert len(second.stderr.strip().splitlines()) == 1
