"""When a view is left, it prints the command that continues the run; Up there recalls earlier messages."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from contract.terminal.goals import HELD, on_goal
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import say

LINE = re.compile(r"(?:continue with: |resume with: |the run continues: )rundry (?:resume|watch) (\S+)")


def after_screen(terminal: Terminal) -> str:
    """What was printed on the normal screen after the view closed."""
    return terminal.raw().rpartition(b"\x1b[?1049l")[2].decode()


LEAVES: dict[str, Callable[[Terminal], None]] = {
    "ctrl+c twice": lambda terminal: terminal.press("ctrl+c", "ctrl+c"),
    "ctrl+d": lambda terminal: terminal.press("ctrl+d"),
    "/quit": lambda terminal: terminal.send("/quit\r") and None,
    "a signal": lambda terminal: terminal.signal(signal.SIGTERM),
}


@pytest.mark.parametrize("name", LEAVES)
def test_a_chat_that_is_left_names_the_command_that_continues_it(home: Home, project: Path, name: str):
    with (
        ScriptedServer(then=say("hello")) as server,
        home.screen("--model", "fake", "--api-base", server.base_url, cwd=project) as terminal,
    ):
        terminal.wait_for("›")
        terminal.send("what is this?\r")
        terminal.wait_for("hello")
        terminal.wait_for(lambda lines: "waiting for you" in lines[0])
        LEAVES[name](terminal)
        terminal.wait_for_exit()
        found = LINE.search(after_screen(terminal))
        assert found is not None, after_screen(terminal)
        assert home.journals()[-1].stem == found[1]


def test_a_continued_chat_recalls_what_was_sent_before(home: Home, project: Path):
    with ScriptedServer(then=say("hello")) as server:
        options = ["--model", "fake", "--api-base", server.base_url]
        with home.screen(*options, cwd=project) as terminal:
            terminal.wait_for("›")
            terminal.send("what is this?\r")
            terminal.wait_for("hello")
            terminal.wait_for(lambda lines: "waiting for you" in lines[0])
            terminal.press("ctrl+c", "ctrl+c")
            assert terminal.wait_for_exit() == 0
            assert "rundry -c" in after_screen(terminal)
        with home.screen("-c", cwd=project) as terminal:
            terminal.wait_for("hello")
            terminal.wait_for(lambda lines: "waiting for you" in lines[0])
            terminal.press("up")
            terminal.wait_for("› what is this?")


def test_a_run_that_is_done_or_still_works_names_the_command_too(home: Home, project: Path):
    with ScriptedServer([HELD], then=say("done")) as server:
        with on_goal(home, project, server) as terminal:
            terminal.wait_for("I think about")
            terminal.press("ctrl+c", "ctrl+c")
            terminal.wait_for("What should happen to it?")
            terminal.press("b")
            terminal.wait_for_exit()
            found = LINE.search(after_screen(terminal))
            assert found is not None, after_screen(terminal)
        server.release()
        argv = ["run", "look", "--until", "true", "--model", "fake", "--api-base", server.base_url]
        with home.screen(*argv, cwd=project) as terminal:
            terminal.wait_for(lambda lines: any("done" in line for line in lines) and "ended" in lines[0])
            terminal.press("ctrl+c", "ctrl+c")
            assert terminal.wait_for_exit() == 0
            found = LINE.search(after_screen(terminal))
            assert found is not None and '--hint "..."' in after_screen(terminal), after_screen(terminal)
        with home.screen("watch", found[1], cwd=project) as terminal:
            terminal.wait_for(lambda lines: "ended" in lines[0])
            terminal.press("ctrl+c", "ctrl+c")
            terminal.wait_for_exit()
            assert LINE.search(after_screen(terminal)), after_screen(terminal)
