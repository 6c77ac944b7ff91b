"""Keys that users of shells know, in a real terminal: Ctrl+D, Ctrl+L, Ctrl+Z, and the ways to a new line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fakes.rundry import RUNDRY, Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import say
from fakes.wire import text_of


def opened(home: Home, project: Path, server: ScriptedServer) -> Terminal:
    return home.screen("--model", "fake", "--api-base", server.base_url, cwd=project)


def test_ctrl_d_leaves_from_an_empty_box_and_deletes_forward_in_a_text(home: Home, project: Path):
    with ScriptedServer([say("hello")]) as server, opened(home, project, server) as terminal:
        terminal.wait_for("explain this folder")
        terminal.send("abc")
        terminal.wait_for("› abc")
        terminal.press("home", "ctrl+d")
        terminal.wait_for("› bc")
        terminal.press("end", "ctrl+d")
        terminal.send("d")
        terminal.wait_for("› bcd")
        terminal.press("ctrl+u")
        terminal.wait_gone("bcd")
        terminal.press("ctrl+d")
        assert terminal.wait_for_exit() == 0


def test_ctrl_l_paints_the_whole_screen_again(home: Home, project: Path):
    with ScriptedServer([say("hello")]) as server, opened(home, project, server) as terminal:
        terminal.wait_for("explain this folder")
        terminal.send("a draft")
        terminal.wait_for("› a draft")
        terminal.overwrite(b"\x1b[2J")
        assert not terminal.text().strip()
        terminal.press("ctrl+l")
        terminal.wait_for("explain this folder")
        text = terminal.wait_for("› a draft")
        assert text.startswith(" rundry") and "^q quit" in text


@pytest.mark.parametrize(
    "keys",
    ["\\\r", "\x1b\r", "\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;3u", "\x1b[27;3;13~", "\n"],
    ids=["backslash", "alt", "shift, kitty", "shift, xterm", "alt, kitty", "alt, xterm", "ctrl+j"],
)
def test_a_new_line_is_typed_by_each_way_that_a_terminal_reports(home: Home, project: Path, keys: str):
    with ScriptedServer([say("understood")]) as server, opened(home, project, server) as terminal:
        terminal.wait_for("explain this folder")
        terminal.send("first")
        terminal.wait_for("› first")
        terminal.send(keys)
        terminal.send("second")
        terminal.wait_for(re.compile("^ +second"))
        terminal.press("enter")
        terminal.wait_for("understood")
    assert text_of(server.requests[0].messages[-1]) == "first\nsecond"


def test_ctrl_z_above_a_dialog_suspends_too_and_fg_shows_the_dialog_again(home: Home, project: Path):
    env = {**home.env, "PS1": "shell$ "}
    with Terminal(["bash", "--norc", "-i"], rows=24, columns=80, env=env, cwd=project) as shell:
        shell.wait_for("shell$")
        shell.send(f"{RUNDRY}\r")
        shell.wait_for("explain this folder")
        shell.press("f3")
        shell.wait_for("Sessions")
        shell.send("\x1a")
        shell.wait_for("Stopped")
        shell.send("fg\r")
        shell.wait_for("Sessions")
        shell.send("\x1b")
        shell.wait_for("explain this folder")
        shell.press("ctrl+c", "ctrl+c")
        shell.wait_for("shell$")
        shell.send("exit\r")
        assert shell.wait_for_exit() == 0
