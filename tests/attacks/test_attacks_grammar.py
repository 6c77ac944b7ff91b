"""Lines that stall or crash the grammar of the shell, and a helper process that fails."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

import rundry.agent
from rundry.agent.gate.rules import NO_RULES
from rundry.agent.protocol import GateMode
from rundry.agent.shell.line_parser import parse_line
from rundry.agent.shell.parse_words import simple_commands


@pytest.mark.attack("A.16")
def test_a_line_that_stalls_the_grammar_costs_a_second_and_is_a_doubt():
    began = time.monotonic()
    stalling = "\\'\"#(?(>${<<\"E\n>c *2>$i\\'&>${o\n"
    assert parse_line(stalling).doubts == ["bash's grammar takes too long"]
    assert time.monotonic() - began < 10
    assert [part.texts for part in parse_line("ls -la").parts] == [["ls", "-la"]]
    assert simple_commands(stalling) == []
    assert [command.words for command in simple_commands("./check.sh -q && ls")] == [["./check.sh", "-q"], ["ls"]]
    assert time.monotonic() - began < 20


@pytest.mark.attack("A.16")
def test_a_line_that_crashes_the_grammar_costs_a_doubt_and_the_next_one_is_read():
    parse_line("ls")
    for number in (signal.SIGSEGV, signal.SIGKILL):
        (reader,) = [p for p in psutil.Process().children() if any("shell.grammar" in word for word in p.cmdline())]
        os.kill(reader.pid, number)
        with suppress(psutil.NoSuchProcess):
            while reader.status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.001)
        assert [part.texts for part in parse_line("ls -la").parts] == [["ls", "-la"]]


@pytest.mark.attack("A.16")
@pytest.mark.parametrize("mode", [GateMode.ASK, GateMode.EDITS, GateMode.AUTO])
def test_a_line_that_the_grammar_gave_up_on_asks_in_every_mode_and_says_why(verdict, mode):
    stalling = "\\'\"#(?(>${<<\"E\n>c *2>$i\\'&>${o\n"
    given = verdict(stalling, "echo", mode=mode, sandbox="bubblewrap")
    assert (given.action, given.offer) == ("ask", NO_RULES)
    assert given.why == ["the command could not be parsed, so no rule applies: bash's grammar takes too long"]
    assert verdict("ls -la", mode=GateMode.AUTO, sandbox="bubblewrap").action == "allow"


JUDGE = """
import sys
from pathlib import Path
from rundry.agent.gate.draft import CommandDraft
from rundry.agent.gate.guarded_paths import GuardedPaths
from rundry.agent.gate.policy import PolicyContext, judge
from rundry.agent.shell import line_parser
from rundry.agent.protocol import GateMode, Rule
from rundry.agent.host.workspace_paths import Workspace
assert line_parser.__file__.startswith({folder!r}), line_parser.__file__
if {is_missing}:
    sys.executable = "/nonexistent/python"
rules = [Rule(verdict="allow", tool="run_command", command="ls"), Rule(verdict="allow", tool="run_command")]
for command in ("ls " + "x" * 300_000,) if {stops} else ("ls", "pwd"):
    for mode in (GateMode.ASK, GateMode.EDITS, GateMode.AUTO):
        standing = PolicyContext(
            workspace=Workspace(Path.cwd()), mode=mode, rules=rules, guard=GuardedPaths(), sandbox="x",
            unsandboxed_ok=True,
        )
        verdict = judge(CommandDraft(tool="run_command", command=command, timeout=5, cwd=Path.cwd()), standing)
        print(verdict.action, *verdict.why)
        if "does not answer" in verdict.why[0]:
            break
"""
"""Judges commands in another process, with the copy of the package in `folder`."""


@pytest.mark.attack("A.16")
@pytest.mark.parametrize(
    ("helper", "says"),
    [
        ("raise SystemExit(3)", "the grammar crashed on this line"),
        ("import os; os.kill(os.getpid(), 11)", "the grammar crashed on this line"),
        ("import sys; sys.stdin.buffer.read(6); print('hello, world: this is not an answer')", "an invalid answer"),
        ("import sys; sys.stdin.buffer.read(6); sys.stdout.buffer.write(b'\\0\\0\\0\\1\\x80')", "an invalid answer"),
        pytest.param(
            "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", "does not answer", marks=pytest.mark.long
        ),
        (None, "the line cannot be parsed"),
    ],
)
def test_where_the_helper_process_fails_auto_asks_about_every_command(tmp_path, helper, says):
    """A copy of the package, as an installation that lost a part would be."""
    shutil.copytree(Path(rundry.agent.__file__).parent, tmp_path / "rundry/agent")
    (tmp_path / "rundry/__init__.py").touch()
    stops = "STOP" in str(helper)  # it does not read: more than fits into the pipe may not block
    code = JUDGE.format(folder=str(tmp_path), is_missing=helper is None, stops=stops)
    if helper is not None:
        (tmp_path / "rundry/agent/shell/grammar.py").rename(tmp_path / "rundry/agent/shell/structs.py")
        (tmp_path / "rundry/agent/shell/grammar.py").write_text(
            f"if __name__ == '__main__':\n    {helper}\nfrom .structs import *\nfrom .structs import _Reader\n"
        )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) == (1 if stops else 6)
    for line in lines:
        assert line.startswith("ask the command could not be parsed") and says in line, line


@pytest.mark.attack("A.16", "8.3")
def test_who_reads_the_lines_knows_no_key_and_goes_with_the_run():
    code = (
        "import sys, psutil; from rundry.agent.shell.line_parser import parse_line; parse_line('ls');"
        "print(psutil.Process().children()[0].pid); sys.stdout.flush(); sys.stdin.read()"
    )
    env = {**os.environ, "OPENAI_API_KEY": "sk-canary-0123456789"}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        reader = psutil.Process(int(run.stdout.readline()))
        assert "canary" not in str(reader.environ())
        run.kill()
    reader.wait(10)
