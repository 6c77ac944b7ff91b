from __future__ import annotations

from pathlib import Path

from fakes.rundry import RUNDRY, Home
from fakes.terminal import Terminal


def test_ctrl_z_gives_the_terminal_to_the_shell_and_fg_shows_the_screen_with_its_draft(home: Home, project: Path):
    with Terminal(
        ["bash", "--norc", "-i"], rows=24, columns=80, env={**home.env, "PS1": "shell$ "}, cwd=project
    ) as shell:
        shell.wait_for("shell$")
        shell.send(f"{RUNDRY}\r")
        shell.wait_for("›")
        shell.send("a draft")
        shell.wait_for("› a draft")
        shell.send("\x1a")
        shell.wait_for("Stopped")
        shell.send("echo $((40 + 2)) in the shell\r")
        shell.wait_for("42 in the shell")
        shell.send("fg\r")
        shell.wait_gone("in the shell")
        shell.send(" that continues")
        shell.wait_for("› a draft that continues")
        shell.press("ctrl+c", "ctrl+c")
        shell.wait_for("shell$")
        shell.send("exit\r")
        assert shell.wait_for_exit() == 0
