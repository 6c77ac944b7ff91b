"""Far too much in one answer: the run stays usable, and ends soon (docs/requirements.md 8.3)."""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes.providers.wires import WIRES, Said
from fakes.rundry import Home, Running
from fakes.server import ScriptedServer
from fakes.turns import Turn

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Command, Pause, Steer

FORMATS = ("chat", "anthropic")
CALLS = 10_000
MEGABYTES = 100
KEEP_ALIVE = {"chat": b": nothing yet\n\n", "anthropic": b'event: ping\ndata: {"type": "ping"}\n\n'}


def turn(name: str, said: Said) -> Turn:
    return Turn(raw=WIRES[name].body(said))


def last_words(name: str) -> Turn:
    return turn(name, Said(texts=["that was all"]))


@contextmanager
def task(home: Home, project: Path, name: str, server: ScriptedServer) -> Generator[Running]:
    base = server.base_url if name == "chat" else server.base_url.removesuffix("/v1")
    argv = ["run", "read it", "--headless", "--json", "--steps", "2", "--model", WIRES[name].model]
    with home.start(*argv, "--api-base", base, cwd=project, env=WIRES[name].env) as running:
        yield running


def taken_after(home: Home, running: Running, moment: str, command: Command, event: str) -> float:
    """Seconds from that moment until the run did what was asked, with this event."""
    running.wait_event("run_started")
    journal = Journal.open(home.journals()[0])
    try:
        running.wait_event(moment)
        began = time.monotonic()
        journal.inbox.put(command)
        running.wait_event(event)
        return time.monotonic() - began
    finally:
        journal.close()


@pytest.mark.parametrize("name", FORMATS)
def test_ten_thousand_calls_in_one_answer_do_not_keep_a_command_from_the_run(home: Home, project: Path, name: str):
    arguments = json.dumps({"path": "NOTES.md"})
    flood = Said(calls=[(f"call_{n}", arguments) for n in range(CALLS)], finish="tool_calls")
    with (
        ScriptedServer([turn(name, flood), last_words(name)]) as server,
        task(home, project, name, server) as running,
    ):
        assert taken_after(home, running, "call_admitted", Pause(), "paused") < 1.0
        assert home.run("ctl", "unpause", cwd=project).exit_code == 0
        ran = running.finish()
    assert (ran.exit_code, ran.outcome["steps"]) == (3, 2), ran
    finished = ran.of("tool_finished")
    assert 100 <= len(finished) < 200
    assert not [e for e in finished if "timed out" in e["result"]]
    assert ran.of("stall_detected") == []


@pytest.mark.parametrize("name", FORMATS)
def test_an_answer_of_a_hundred_megabytes_is_cut_and_the_run_ends_in_seconds(home: Home, project: Path, name: str):
    texts = [f"{n:07} " + "word " * 200 for n in range(MEGABYTES * 1000)]
    with (
        ScriptedServer([turn(name, Said(texts=texts)), last_words(name)]) as server,
        task(home, project, name, server) as running,
    ):
        running.wait_event("call_admitted")
        began = time.monotonic()
        ran = running.finish()
        assert time.monotonic() - began < 15.0
    assert ran.events[-1]["type"] == "run_ended", ran
    shown = sum(len(e["text"]) for e in ran.of("text_arrived"))
    assert 0 < shown < 5_000_000


@pytest.mark.parametrize("name", FORMATS)
def test_a_message_interrupts_an_answer_that_never_ends_within_a_second(home: Home, project: Path, name: str):
    said = WIRES[name].write(Said(texts=["go on, and "]))
    begun = WIRES[name].encode(said[: -WIRES[name].tail - (name == "anthropic")]).removesuffix(b"data: [DONE]\n\n")
    flood = Turn(raw=begun + KEEP_ALIVE[name] * (MEGABYTES * 1_000_000 // len(KEEP_ALIVE[name])), hold_after=0)
    with ScriptedServer([flood, last_words(name)]) as server, task(home, project, name, server) as running:
        assert taken_after(home, running, "text_arrived", Steer(text="stop that"), "interrupted") < 1.0
        ran = running.finish()
        server.release()
    assert ran.events[-1]["type"] == "run_ended", ran
    assert "stop that" in server.requests[1].text
