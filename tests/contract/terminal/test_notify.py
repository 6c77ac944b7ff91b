"""What a real terminal gets when the run needs a person (docs/requirements.md 9.7)."""

from __future__ import annotations

import re
import time
from pathlib import Path

from fakes.project import CHECK, FIX_ADD, FIX_BOTH
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import Turn, call

HELD = Turn(text="I think about it for a while", hold_after=4, calls=FIX_ADD.calls)
FOCUS_OUT, FOCUS_IN = "\x1b[O", "\x1b[I"
AT_GATE = b"\x07\x1b]9;rundry has a proposal for you\x07\x1b]777;notify;rundry;rundry has a proposal for you\x07"
ENDED = b"\x1b]777;notify;rundry;rundry ended: done\x07"


def shown(terminal: Terminal, want: bytes) -> bytes:
    """All that was written, once this is among it."""
    end = time.monotonic() + 60
    while want not in terminal.raw():
        assert time.monotonic() < end, f"never wrote {want!r}:\n{terminal.text()}"
        time.sleep(0.02)
    return terminal.raw()


def on_goal(home: Home, project: Path, server: ScriptedServer, *more: str) -> Terminal:
    goal = ["fix the failing suite", "--until", CHECK, "--model", "fake", "--api-base", server.base_url]
    return home.screen(*goal, *more, cwd=project)


def test_it_calls_at_the_gate_and_at_the_end_while_the_terminal_is_not_focused_and_gives_the_title_back(
    home: Home, project: Path
):
    out = project.parent / "called"
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text(f"notify = 'echo \"$RUNDRY_WHY\" >> {out}'\n")
    with ScriptedServer([HELD, FIX_BOTH]) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("I think about")
        assert b"\x1b[22;2t" in terminal.raw()
        shown(terminal, b"\x1b]2;rundry: working\x07")
        terminal.send(FOCUS_OUT)
        server.release()
        shown(terminal, b"\x1b]2;rundry: waiting for you\x07")
        raw = shown(terminal, AT_GATE)
        assert raw.count(b"\x1b]9;") == 1, "once"
        terminal.send(FOCUS_IN)
        terminal.press("f2")
        terminal.wait_for(re.compile(r"▌ y approve"))
        terminal.press("y")
        terminal.wait_for(re.compile(r"^ +2 "))
        terminal.wait_for(re.compile(r"▌ y approve"))
        assert terminal.raw().count(b"\x1b]9;") == 1, "not while the person looks on"
        terminal.send(FOCUS_OUT)
        while b"ended: done" not in terminal.raw():
            terminal.press("y")  # a key is a person: the terminal has the focus again
            terminal.send(FOCUS_OUT)
            time.sleep(0.1)
        raw = shown(terminal, ENDED)
        assert raw.count(b"\x1b]9;") == 2
        assert b"\x1b]2;rundry: ended\x07" in raw
        terminal.press("ctrl+c", "ctrl+c")
        assert terminal.wait_for_exit() == 0
        assert terminal.raw().count(b"\x1b]2;\x07\x1b[23;2t") == 1
        assert terminal.raw().rindex(b"\x1b[23;2t") > terminal.raw().rindex(b"rundry: ended")
    assert out.read_text().split() == ["gate", "end"]


def test_it_calls_at_a_question_and_quiet_calls_nobody(home: Home, project: Path):
    ask = call("ask_person", question="\x1b]0;owned\x07 tabs or spaces?")
    held = Turn(text="I think about it for a while", hold_after=4, calls=ask.calls)
    with ScriptedServer([held]) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("I think about")
        terminal.send(FOCUS_OUT)
        server.release()
        raw = shown(terminal, b"\x1b]9;rundry has a question for you\x07")
        assert b"\x1b]0;" not in raw, "the question is a text, wherever it is shown"
    home.end_runners()
    with ScriptedServer([held]) as server, on_goal(home, project, server, "--quiet") as terminal:
        terminal.wait_for("I think about")
        terminal.send(FOCUS_OUT)
        server.release()
        terminal.wait_for("tabs or spaces?")
        terminal.wait_for("waiting for you")
        raw = terminal.raw()
        assert b"\x1b]9;" not in raw and b"\x1b]2;" not in raw and b"\x1b[22;2t" not in raw
        assert b"\x07" not in re.sub(rb"\x1b\].*?(\x07|\x1b\\)", b"", raw)


def test_a_terminal_that_is_killed_by_a_signal_gets_its_title_back(home: Home, project: Path):
    with ScriptedServer([HELD]) as server, on_goal(home, project, server) as terminal:
        terminal.wait_for("I think about")
        terminal.signal(15)
        terminal.wait_for_exit()
        assert b"\x1b[23;2t" in terminal.raw()
