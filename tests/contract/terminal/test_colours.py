"""The colour sequences that are written to a real pseudo-terminal, for each kind of terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from contract.terminal.goals import at_gate, goal
from fakes.project import FIX_ADD, read
from fakes.rundry import RUNDRY, Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal

_SGR = re.compile(rb"\x1b\[([\d;]*)m")
TRUE, INDEXED, NAMED = "true colour", "256 colours", "16 colours"


def kinds(raw: bytes) -> set[str]:
    """Which kinds of colour the sequences name; 39 and 49, the terminal's own, are none."""
    found: set[str] = set()
    for match in _SGR.finditer(raw):
        codes = [int(code or 0) for code in match[1].decode().split(";")]
        at = 0
        while at < len(codes):
            if codes[at] in (38, 48):
                found.add(TRUE if codes[at + 1] == 2 else INDEXED)
                at += 5 if codes[at + 1] == 2 else 3
                continue
            if 30 <= codes[at] <= 37 or 40 <= codes[at] <= 47 or 90 <= codes[at] <= 107:
                found.add(NAMED)
            at += 1
    return found


def at_a_gate(home: Home, project: Path, server: ScriptedServer, env: str) -> Terminal:
    argv = ["sh", "-c", f'unset COLORTERM; export {env}; exec "$@"', "sh", str(RUNDRY), *goal(server)]
    return Terminal(argv, env=home.env, cwd=project)


@pytest.mark.parametrize(
    ("env", "wanted"),
    [
        ("COLORTERM=truecolor", {TRUE}),
        ("TERM=xterm-kitty", {TRUE}),
        ("TERM=xterm-256color", {INDEXED}),
        ("TERM=xterm", {NAMED}),
        ("NO_COLOR=1", set()),
        ("NO_COLOR=1 COLORTERM=truecolor", set()),
    ],
)
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_only_colours_that_the_terminal_shows_are_written(
    home: Home, project: Path, env: str, wanted: set[str], theme: str
):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text(f'theme = "{theme}"\n')
    turns = [read("calc/core.py"), FIX_ADD]
    with ScriptedServer(turns) as server, at_a_gate(home, project, server, env) as terminal:
        at_gate(terminal)
        assert kinds(terminal.raw()) == wanted


@pytest.mark.parametrize("theme", ["dark", "light", "high-contrast", "terminal"])
def test_in_16_colours_added_and_removed_lines_and_verdicts_differ(home: Home, project: Path, theme: str):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text(f'theme = "{theme}"\n')
    turns = [read("calc/core.py"), FIX_ADD]
    with ScriptedServer(turns) as server, at_a_gate(home, project, server, "TERM=xterm") as terminal:
        at_gate(terminal)
        added, removed = terminal.colours("return a + b"), terminal.colours("return a - b")
        failed = terminal.colours("✗")
        assert added[0] == "green", added
        assert removed[0] in ("red", "brightred"), removed
        assert failed[0] in ("red", "brightred"), failed
