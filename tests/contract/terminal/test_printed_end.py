"""The end of a run as it is printed on a terminal: wrapped at words, and commands that can be copied."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import say

from rundry.tui.control.end_words import end_rows

LONG = "pytest -q passes: 212 tests as at the start, 14 before and 0 failing now, guarded files are unchanged"
RESUME = "rundry resume 20261121-014233-k3f9x"


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        (
            f"-> done after 3 steps: {LONG}",
            [
                "-> done after 3 steps: pytest -q passes: 212 tests as at the start, 14 before",
                "   and 0 failing now, guarded files are unchanged",
            ],
        ),
        (
            f"   {LONG}; 9 steps",
            [
                "   pytest -q passes: 212 tests as at the start, 14 before and 0 failing now,",
                "   guarded files are unchanged; 9 steps",
            ],
        ),
        (
            f"evidence: {LONG}",
            [
                "evidence: pytest -q passes: 212 tests as at the start, 14 before and 0 failing",
                "          now, guarded files are unchanged",
            ],
        ),
        (f"resume with: {RESUME} --steps 60", [f"resume with: {RESUME} --steps 60"]),
        (
            f'resume with: {RESUME} --hint "..." --runs-dir /home/me/a/long/place --headless',
            ["resume with:", f'   {RESUME} --hint "..." --runs-dir /home/me/a/long/place --headless'],
        ),
        ("-> error: " + "x" * 100, ["-> error:", "   " + "x" * 100]),
        ("-> done: 表表", ["-> done: 表表"]),
    ],
)
def test_the_end_is_wrapped_at_words_below_its_label(line: str, rows: list[str]):
    assert end_rows(line, 80) == rows


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_word_of_the_end_is_cut_on_a_terminal_and_a_pipe_gets_one_line(home: Home, project: Path, columns: int):
    until = "echo the words of a check that fails; exit 3"
    argv = ["run", "look", "--headless", "--until", until, "--steps", "1", "--gate", "auto"]
    with ScriptedServer(then=say("I looked")) as server:
        model = ["--model", "fake", "--api-base", server.base_url]
        piped = home.run(*argv, *model, cwd=project)
        with home.screen(*argv, *model, cwd=project, columns=columns) as terminal:
            assert terminal.wait_for_exit() == piped.exit_code == 3
            written = b"".join(data for _, data in terminal.output).decode().replace("\r\n", "\n")
    (outcome,) = [line for line in piped.stderr.splitlines() if line.startswith("-> ")]
    assert piped.stderr.splitlines()[-1] == outcome
    end = written[written.index("-> budget") :].splitlines()
    assert " ".join(" ".join(end).split()) == " ".join(outcome.split())
    assert all(len(row) <= columns for row in end)
    assert all(row.startswith("   ") for row in end[1:])
    command = next(row for row in written.splitlines() if "rundry resume" in row)
    assert "--steps" in command and "--headless" in command
