"""The frame that is drawn before the command line is parsed: when it comes, and that nothing is printed into it."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest
from contract.terminal.test_processes import runners, until
from fakes.rundry import Home
from fakes.terminal import Terminal

LAUNCH = [sys.executable, "-c", "from rundry.tui.cli.launch import main; main()"]
_REPLACED = (
    "import sys, time, types; module = types.ModuleType('rundry.tui.cli.root'); "
    "module.main = lambda: {act}; sys.modules['rundry.tui.cli.root'] = module; "
    "from rundry.tui.cli.launch import main; main()"
)
STUCK = [sys.executable, "-c", _REPLACED.format(act="time.sleep(600)")]
"""The command whose command line takes for ever to be parsed."""
ENDS = [sys.executable, "-c", _REPLACED.format(act="print('parsed')")]
"""The command that ends when its command line would be parsed."""
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
MODEL = ("--model", "fake", "--api-base", "http://127.0.0.1:9/v1")


def output(terminal: Terminal) -> bytes:
    return b"".join(data for _, data in terminal.output)


@pytest.mark.parametrize("words", [(), MODEL, ("fix the suite", "--steps", "3"), ("-m", "x.y", "--gate=auto")])
def test_it_is_there_before_the_command_line_is_parsed(words: tuple[str, ...], home: Home, project: Path):
    with Terminal([*STUCK, *words], env=home.env, cwd=project) as terminal:
        terminal.wait_for("what should be done?")
        terminal.send("first words")
        terminal.wait_for("› first words")


@pytest.mark.parametrize(
    "words",
    [
        ("runs",), ("--help",), ("--version",), ("-V",), ("--headless", "x"), ("a task", "-p"), ("--plain",),
        ("goal.toml",), ("--gate", "auto", "goal.toml"), ("-",), ("-hm", "x"),
    ],
)  # fmt: skip
def test_it_is_not_drawn_where_a_command_may_print_or_ask(words: tuple[str, ...], home: Home, project: Path):
    with Terminal([*ENDS, *words], env=home.env, cwd=project) as terminal:
        terminal.wait_for_exit()
        assert b"parsed" in output(terminal) and ENTER not in output(terminal)


def test_it_is_not_drawn_where_lines_of_words_are_asked_for(home: Home, project: Path):
    with Terminal([*LAUNCH, "--nonsense"], env={**home.env, "RUNDRY_PLAIN": "1"}, cwd=project) as terminal:
        assert terminal.wait_for_exit() == 2
        assert ENTER not in output(terminal)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--nonsense",), b"--nonsense"),
        (("fix the suite", "--steps", "many"), b"many"),
        (("--cwd", "/nowhere"), b"/nowhere"),
        (("-c",), b"rundry: "),
    ],
)
def test_an_error_is_printed_on_the_previous_screen(words: tuple[str, ...], line: bytes, home: Home, project: Path):
    with Terminal([*LAUNCH, *words], env=home.env, cwd=project) as terminal:
        assert terminal.wait_for_exit() == 2
        said = output(terminal)
    assert said.count(ENTER) == said.count(LEAVE) == 1
    assert line in said.partition(LEAVE)[2]
    assert b"Traceback" not in said


def test_ctrl_c_before_the_command_line_is_parsed_is_a_quiet_end(home: Home, project: Path):
    with Terminal(STUCK, env=home.env, cwd=project) as terminal:
        terminal.wait_for("what should be done?")
        terminal.signal(signal.SIGINT)
        assert terminal.wait_for_exit() == 130
        said = output(terminal)
    assert said.count(LEAVE) == 1 and b"Traceback" not in said


def test_the_first_key_starts_the_runner_while_the_screen_is_imported(home: Home, project: Path):
    slow = (
        "import sys; from rundry.tui.cli import open_screen; "
        "open_screen._app = lambda *a, **k: __import__('time').sleep(600); "
        "from rundry.tui.cli.launch import main; main()"
    )
    with Terminal([sys.executable, "-c", slow, *MODEL], env=home.env, cwd=project) as terminal:
        terminal.wait_for("what should be done?")
        time.sleep(QUIET)
        assert runners(terminal) == []
        terminal.send("h")
        until(lambda: len(runners(terminal)) == 1)


QUIET = 1.0
"""Seconds in which a runner that nobody asked for would have been started."""
