"""Waiting as a state of the run: the tool `wait_for` (docs/requirements.md 7.7)."""

from __future__ import annotations

import asyncio
import os
import time

import pytest
from fakes.sandboxes import needs_bubblewrap
from fakes.turns import Call, Turn, call, finish, say

from rundry.agent import ViewState, reduce_all
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Budget, GateMode, Interrupt, LoopKind, Pause, Rule, Say, Stop, TakeWheel, Wake
from rundry.agent.run.client.start_request import ResumeChanges
from rundry.agent.sandbox import sandbox
from rundry.agent.sandbox.landlock import can_block_tcp, why_no_landlock
from rundry.agent.tools.parse import parse_arguments

READ = call("read_file", path="a.txt")
DONE = finish("all is well", "a.txt:1")
LISTENS = (
    "python3 -c \"import socket,time;time.sleep(1);s=socket.create_server(('127.0.0.1',{port}));"
    "print('up',flush=True);time.sleep(60)\""
)


def start(name: str, command: str) -> Turn:
    return call("start_command", name=name, command=command)


def wait(**arguments: object) -> Turn:
    return call("wait_for", **arguments)


def both(*turns: Turn) -> Turn:
    return Turn(calls=tuple(one for turn in turns for one in turn.calls))


async def test_a_run_waits_for_its_own_job_without_a_model_call_and_gets_only_what_is_new(driven):
    run = driven(start("build", "echo first; sleep 1.5; echo linked; exit 3"), wait(job="build"), READ, DONE)
    outcome = await run.run()
    assert outcome.reason == "answered" and len(run.model.requests) == 4, run.story()
    result = run.of("tool_finished")[1]
    assert result["ok"] and result["result"] == "`build` ended: exit code 3.\nNew output:\nlinked\n", run.story()
    assert result["summary"] == "exit 3"
    (began,), (ended,) = run.of("await_began"), run.of("await_ended")
    assert (began["what"], began["name"], began["counts"]) == ("job", "build", True)
    assert began["until"] == pytest.approx(time.time() + 600, abs=30)
    assert ended["by"] == "met" and 0.4 < ended["seconds"] < 10
    assert "which ran in the background, ended" not in run.heard(), "the result says it already"
    assert outcome.seconds > 0.8, "waiting for a job counts against the time of the run"
    assert outcome.ended_jobs == []
    run.assert_legal()


async def test_a_job_that_ended_before_the_wait_answers_immediately_and_is_reported_once(driven):
    slow = call("run_command", command="sleep 1.2")
    run = driven(start("s", "sleep 0.7; echo bye"), both(slow, wait(job="s")), READ, DONE)
    await run.run()
    assert run.of("tool_finished")[2]["result"] == "`s` ended: exit code 0.\nNew output:\nbye\n", run.story()
    assert "which ran in the background, ended" not in run.heard()
    run.assert_legal()


async def test_a_text_counts_that_was_printed_before_the_model_could_see_it(driven):
    server = start("web", "echo listening; sleep 1; echo ready; sleep 60")
    run = driven(both(server, wait(job="web", text="listening")), wait(job="web", text="ready", at_most=20), READ, DONE)
    began = time.monotonic()
    outcome = await run.run()
    _, first, second, _, _ = run.of("tool_finished")
    assert first["result"] == "The output of `web` has the text. `web` still runs.\nIt printed nothing new."
    assert second["result"] == "The output of `web` has the text. `web` still runs.\nNew output:\nready\n", run.story()
    assert time.monotonic() - began < 15
    assert [job.name for job in outcome.ended_jobs] == ["web"]


async def test_a_job_that_ends_without_the_text_ends_the_wait(driven):
    run = driven(start("web", "sleep 0.8; echo cannot bind; exit 1"), wait(job="web", text="listening"), READ, DONE)
    await run.run()
    result = run.of("tool_finished")[1]
    assert result["result"].startswith("`web` ended: exit code 1. Its output does not have the text."), run.story()
    assert "cannot bind" in result["result"] and run.of("await_ended")[0]["by"] == "ended"


async def test_a_file_that_appears_and_one_that_changes(driven, work):
    (work / "gen").mkdir()
    make = "sleep 0.8; echo one > gen/out.txt; sleep 1; echo two >> gen/out.txt; sleep 60"
    run = driven(
        start("gen", make), wait(file="gen/out.txt"), wait(file="gen/out.txt", at_most=20), READ, DONE, live=["gen"]
    )
    await run.run()
    first, second = (e["result"] for e in run.of("tool_finished")[1:3])
    assert first == "gen/out.txt is there or has changed. It reads:\n1| one", run.story()
    assert second == "gen/out.txt is there or has changed. It reads:\n1| one\n2| two", run.story()


async def test_a_file_that_the_model_knows_is_awaited_until_it_changes_and_a_new_one_is_not(driven, work):
    (work / "new.txt").write_text("old\n")

    def written(_: object) -> Say:
        (work / "new.txt").write_text("of somebody else\n")
        return Say(text="it is there")

    run = driven(say("hi"), wait(file="new.txt"), wait(file="a.txt", at_most=0.5), say("ok"), loop=LoopKind.CHAT)
    run.on("waiting", written, why="message")
    run.on("waiting", Stop(how="now"), why="message", nth=2)
    await run.run(watched=True)
    new, known = (e["result"] for e in run.of("tool_finished"))
    assert "of somebody else" in new, run.story()
    assert known == "The longest time of the wait is over, after 1 s: a.txt did not change.", run.story()


@pytest.mark.parametrize("path", ["../outside.txt", "output:build"])
async def test_a_file_outside_and_an_output_are_refused(driven, path):
    run = driven(wait(file=path), READ, DONE)
    await run.run()
    assert not run.of("tool_finished")[0]["ok"] and not run.of("await_began"), run.story()


async def test_a_rule_that_denies_a_path_denies_waiting_for_it(driven):
    run = driven(wait(file="secret/x"), READ, DONE, rules=[Rule(verdict="deny", path="secret/**")])
    await run.run()
    assert "refused by the policy" in run.of("tool_finished")[0]["result"], run.story()


@needs_bubblewrap
async def test_a_port_is_awaited_where_the_commands_of_the_run_see_it(driven):
    port = 20_000 + os.getpid() % 20_000
    run = driven(start("web", LISTENS.format(port=port)), wait(port=port, at_most=30), READ, DONE)
    await run.run()
    result = run.of("tool_finished")[1]
    assert result["result"] == f"Port {port} accepts connections.", run.story()
    assert run.of("await_ended")[0]["by"] == "met" and run.of("await_ended")[0]["seconds"] > 0.3


@needs_bubblewrap
async def test_a_port_of_the_users_machine_is_not_seen(driven):
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        run = driven(wait(port=port), start("s", "sleep 60"), wait(port=port, at_most=1), READ, DONE)
        await run.run()
    none, _, closed = run.of("tool_finished")[:3]
    assert "Nothing runs in the background that could listen" in none["result"], run.story()
    assert f"port {port} does not accept connections" in closed["result"], run.story()


async def test_a_port_that_nobody_can_open_any_more_ends_the_wait(driven):
    run = driven(start("web", "sleep 0.8; exit 2"), wait(port=9, at_most=60), READ, DONE)
    began = time.monotonic()
    await run.run()
    assert time.monotonic() - began < 25, run.story()
    assert "Nothing runs in the background any more" in run.of("tool_finished")[1]["result"], run.story()


async def test_a_port_that_only_its_own_command_sees_is_refused_with_the_way_out(driven, monkeypatch):
    if why := why_no_landlock():
        pytest.skip(why)
    if not can_block_tcp():
        pytest.skip("this kernel cannot keep a command from the network")
    monkeypatch.setattr(sandbox, "find_bubblewrap", lambda avoid: None)
    run = driven(start("s", "sleep 60"), wait(port=8000, at_most=20), READ, DONE)
    await run.run()
    result = run.of("tool_finished")[1]
    assert not result["ok"] and not run.of("await_began"), run.story()
    assert "has ports that only it can see: wait for its output instead" in result["result"]


async def test_seconds_do_not_count_against_the_time_of_the_run(driven):
    run = driven(wait(seconds=1.5), READ, DONE)
    began = time.monotonic()
    outcome = await run.run()
    assert run.of("tool_finished")[0]["result"] == "2 s are over." and time.monotonic() - began > 1.5
    assert outcome.seconds < 1.0, run.story()
    assert run.of("await_began")[0]["counts"] is False


async def test_waiting_for_a_job_ends_with_the_time_of_the_run(driven):
    run = driven(start("s", "sleep 60"), wait(job="s"), READ, DONE, budget=Budget(seconds=4.0))
    began = time.monotonic()
    outcome = await run.run()
    assert time.monotonic() - began < 25 and run.of("await_ended")[0]["by"] == "limit", run.story()
    assert [job.name for job in outcome.ended_jobs] == ["s"]


async def test_a_person_ends_a_wait_with_wake_and_the_run_continues(driven):
    run = driven(start("s", "sleep 60"), wait(job="s"), READ, DONE)
    run.on("await_began", Wake())
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert run.of("tool_finished")[1]["result"].startswith("The person ended the wait, after"), run.story()
    assert run.of("await_ended")[0]["by"] == "person" and not run.of("command_refused")


async def test_a_message_ends_a_wait_and_is_delivered_once(driven):
    run = driven(wait(person="restart the router"), say("thanks"), say("bye"), loop=LoopKind.CHAT, task="x")
    run.on("await_began", Say(text="done, it blinks"))
    run.on("waiting", Stop(how="now"), why="message")
    await run.run(watched=True)
    assert run.types().count("await_ended") == 1, run.story()
    (ended,) = run.of("await_ended")
    assert ended["by"] == "message" and run.of("await_began")[0]["until"] is None
    assert run.of("tool_finished")[0]["result"] == "The person answered; you get their message next.", run.story()
    assert run.heard().count("done, it blinks") == 1
    run.assert_legal()


async def test_where_nobody_is_there_the_model_decides_once_and_then_the_run_is_handed_over(driven):
    run = driven(
        wait(person="plug it in"), wait(person="plug it in"), then=say("hm"), until=["test -e never"], on_ask=None
    )
    outcome = await run.run()
    assert "Nobody is there to answer" in run.of("tool_finished")[0]["result"], run.story()
    assert outcome.reason == "handoff" and "waits for a person: plug it in" in outcome.detail, run.story()


@pytest.mark.parametrize("command", [Interrupt(), TakeWheel(), Pause(now=True)])
async def test_an_interrupt_ends_a_wait_with_what_was_printed(driven, command):
    run = driven(start("s", "sleep 0.7; echo half; sleep 60"), wait(job="s"), READ, DONE)
    run.on("background_said", command)
    run.on("await_ended", Stop(how="now"))
    await run.run(watched=True)
    assert run.of("await_ended")[0]["by"] == "interrupt", run.story()
    result = run.of("tool_finished")[1]
    assert not result["ok"] and "`s` still runs." in result["result"], run.story()


async def test_the_deadline_ends_a_wait_that_does_not_count(driven):
    run = driven(wait(seconds=600), READ, DONE, budget=Budget(deadline=time.time() + 2.5))
    began = time.monotonic()
    outcome = await run.run()
    assert time.monotonic() - began < 15 and outcome.reason == "budget", run.story()
    assert run.of("await_ended")[0]["by"] == "deadline"


async def test_a_resumed_run_continues_the_wait_with_the_same_end(driven):
    run = driven(wait(seconds=3), READ, DONE)
    await run.run()
    killed = run.killed_at("await_began")
    killed.model.turns, killed.model.requests = [READ, DONE], []
    began = time.monotonic()
    outcome = await killed.run()
    assert outcome.reason == "answered" and not killed.of("await_began"), killed.story()
    assert time.monotonic() - began < 2, "its end was a time of the clock, which is over"
    assert killed.of("tool_finished")[0]["result"] == "3 s are over."
    killed.assert_legal()


async def test_a_file_that_changed_while_no_runner_was_there_ends_the_resumed_wait(driven, work):
    run = driven(wait(file="a.txt", at_most=1), READ, DONE)
    await run.run()
    killed = run.killed_at("await_began")
    killed.model.turns, killed.model.requests = [READ, DONE], []
    (work / "a.txt").write_text("changed\n")
    await killed.run()
    assert "1| changed" in killed.of("tool_finished")[0]["result"], killed.story()


async def test_a_job_that_its_runner_took_with_it_ends_the_resumed_wait(driven):
    run = driven(start("s", "sleep 1"), wait(job="s"), READ, DONE)
    await run.run()
    killed = run.killed_at("await_began")
    killed.model.turns, killed.model.requests = [READ, DONE], []
    await killed.run()
    result = killed.of("tool_finished")[0]
    assert result["result"] == "`s` ended, because the program was restarted. Start it again.", killed.story()
    assert killed.of("await_ended")[0]["by"] == "ended"
    killed.assert_legal()


async def test_a_message_with_which_a_run_is_resumed_ends_its_wait(driven):
    run = driven(wait(seconds=2), READ, DONE)
    await run.run()
    long = run.rewritten(lambda raw: raw.replace('"until":', '"until":9999999999,"was":'), "await_began")
    long.model.turns, long.model.requests = [READ, DONE], []
    outcome = await long.run(changes=ResumeChanges(hint="do not wait any longer"))
    assert outcome.reason == "answered" and long.of("await_ended")[0]["by"] == "message", long.story()
    assert "do not wait any longer" in long.heard()


async def test_waits_that_bring_something_new_are_not_a_stall(driven):
    ticks = start("s", "while :; do sleep 0.3; echo tick $((n=n+1)); done")
    waits = [wait(job="s", text="tick", at_most=5) for _ in range(9)]
    run = driven(ticks, *waits, READ, DONE)
    outcome = await run.run()
    assert outcome.reason == "answered" and not run.of("stall_detected"), run.story()


async def test_the_end_names_jobs_that_still_run_and_a_resumed_run_forgets_them(driven):
    run = driven(start("a", "sleep 60"), start("b", "sleep 0.6"), wait(job="b"), READ, DONE)
    outcome = await run.run()
    (job,) = outcome.ended_jobs
    assert (job.name, job.command) == ("a", "sleep 60") and job.seconds > 0.3
    assert run.of("run_ended")[0]["ended_jobs"] == [{"name": "a", "command": "sleep 60", "seconds": job.seconds}]
    run.model.turns = [READ, DONE]
    again = await run.run(changes=ResumeChanges(hint="once more"))
    assert again.ended_jobs == [], run.story()


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ("{}", "give exactly one of job, file, port, seconds and person: there is none"),
        ('{"job": "a", "seconds": 3}', "not job and seconds"),
        ('{"port": 70000}', "port is 70000"),
        ('{"seconds": 4000}', "seconds is 4000"),
        ('{"file": "a", "text": "x"}', "text is what the output of a job must contain"),
        ('{"job": ""}', "job is empty"),
        ('{"job": "a", "at_most": -1}', "at_most is -1"),
    ],
)
def test_arguments_that_make_no_sense_are_named(arguments, wrong):
    error = parse_arguments("wait_for", arguments).error
    assert error is not None and wrong in error


async def test_a_view_that_attaches_late_shows_the_wait(driven):
    run = driven(wait(person="plug it in"), say("ok"), loop=LoopKind.CHAT, task="x")
    shown: list[tuple[str, str]] = []

    def looked(_: object) -> Wake:
        journal = Journal.open_for_reading(run.path)
        state = ViewState()
        reduce_all(state, journal.read())
        journal.close()
        shown.extend((state.phase, each.began.name) for each in state.awaits)
        return Wake()

    run.on("await_began", looked)
    run.on("waiting", Stop(how="now"), why="message")
    await run.run(watched=True)
    assert shown == [("waiting for you", "plug it in")], run.story()
    state = ViewState()
    reduce_all(state, run.stamped)
    assert not state.awaits


async def test_the_calls_of_an_answer_wait_one_after_the_other(driven):
    run = driven(both(wait(seconds=0.6), wait(seconds=0.5), READ), DONE)
    await run.run()
    order = [e["type"] for e in run.events if e["type"] in ("await_began", "await_ended", "tool_finished")]
    assert order[:6] == ["await_began", "await_ended", "tool_finished"] * 2, run.story()


async def test_waiting_is_a_call_that_no_gate_decides_on(driven):
    run = driven(wait(seconds=0.2), READ, DONE, gate=GateMode.ASK)
    await run.run()
    assert run.of("tool_finished")[0]["ok"] and not run.of("proposal_opened")
    assert Call("wait_for").name in [spec.name for spec in run.model.requests[0].tools]
