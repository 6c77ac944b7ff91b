"""The processes of a session: the screen alone until somebody types (docs/decisions/0041, section 8)."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import say

SETTLE = 1.0
"""Seconds in which a process that should not be there would have been started."""


def runners(terminal: Terminal) -> list[psutil.Process]:
    found = []
    for each in terminal.tree():
        with suppress(psutil.NoSuchProcess):  # also of one that has ended and was not collected
            found += [each] if "rundry.agent.run" in each.cmdline() else []
    return found


def until(fact: Callable[[], object], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_the_runner_starts_with_the_first_key_and_not_with_a_page(home: Home, project: Path):
    with ScriptedServer([say("Here I am.")]) as server:
        with home.screen("--model", "fake", "--api-base", server.base_url, cwd=project) as terminal:
            terminal.wait_for("explain this folder")
            terminal.press("?")
            terminal.wait_for("List commands")
            terminal.press("esc")
            terminal.wait_for("what should be done?")
            time.sleep(SETTLE)
            assert runners(terminal) == []
            terminal.send("h")
            until(lambda: len(runners(terminal)) == 1)
            (first,) = runners(terminal)
            terminal.send("ello\r")
            terminal.wait_for("Here I am.")
            assert runners(terminal) == [first]
        until(lambda: not first.is_running() or first.status() == psutil.STATUS_ZOMBIE)


def test_a_runner_that_was_killed_before_the_run_is_started_again(home: Home, project: Path):
    with (
        ScriptedServer([say("Here I am.")]) as server,
        home.screen("--model", "fake", "--api-base", server.base_url, cwd=project) as terminal,
    ):
        terminal.wait_for("what should be done?")
        terminal.send("h")
        until(lambda: runners(terminal))
        (first,) = runners(terminal)
        first.kill()
        until(lambda: runners(terminal) == [])
        terminal.send("ello\r")
        terminal.wait_for("Here I am.")


@pytest.mark.parametrize(
    ("model", "starts"),
    [("openai/gpt-4.1-mini", False), ("anthropic/claude-sonnet-4-5", False), ("vertex_ai/gemini-2.5-pro", True)],
)
def test_only_a_model_behind_litellm_starts_the_runner_before_a_key(
    home: Home, project: Path, model: str, starts: bool
):
    with home.screen("--model", model, cwd=project, env={"OPENAI_API_KEY": "sk-x", "ANTHROPIC_API_KEY": "sk-x"}) as it:
        it.wait_for("what should be done?")
        if starts:
            until(lambda: runners(it))
        else:
            time.sleep(SETTLE)
            assert runners(it) == []
