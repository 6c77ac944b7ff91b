"""Completion in a real bash, and in zsh and fish if they are installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from fakes.project import read
from fakes.rundry import RUNDRY, Home
from fakes.server import ScriptedServer
from fakes.turns import finish

ASK = """
eval "$(rundry completion bash)"
COMP_LINE="$1" COMP_POINT=${#1} COMP_TYPE=9 COLUMNS=100
_rundry_completion rundry "${1##*[ =:]}" ""
printf '%s\\n' "${COMPREPLY[@]}"
"""
"""What bash does when Tab is pressed at the end of a line."""


def tab(home: Home, cwd: Path, line: str) -> list[str]:
    asked = ["bash", "--norc", "-c", ASK, "bash", line]
    done = subprocess.run(asked, cwd=cwd, env=home.env, capture_output=True, text=True, timeout=120)
    assert done.stderr == "", done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rundry wa", ["watch"]),
        ("rundry --mod", ["--model"]),
        ("rundry -m x --gate ", ["read", "ask", "effects", "edits", "auto", "stage"]),
        ("rundry resume --gate=a", ["ask", "auto"]),
        ("rundry find --recipe c", ["crawl"]),
        ("rundry completion ", ["bash", "zsh", "fish"]),
        ("rundry help comp", ["completion"]),
        ("rundry ctl stee", ["steer"]),
        ("rundry find NO", ["NOTES.md"]),
        ("rundry --cwd ca", ["calc"]),
        ("rundry run ", [""]),
        ("rundry fix ", [""]),
    ],
)
def test_bash_completes_what_fits_at_the_cursor(home: Home, project: Path, line: str, words: list[str]):
    assert tab(home, project, line) == words


def test_bash_shows_what_each_command_does(home: Home, project: Path):
    shown = tab(home, project, "rundry ")
    assert any(line.startswith("watch  ") and "terminals" in line for line in shown), shown
    assert not any(line.startswith("-") for line in shown)


def test_bash_completes_runs_with_their_task_and_models_with_a_colon(home: Home, project: Path):
    with ScriptedServer([read("NOTES.md")], then=finish("it ran", "NOTES.md:1"), models=["qwen3:8b"]) as server:
        for task in ("look here", "look there"):
            home.run("-p", task, "-m", "qwen3:8b", "--api-base", server.base_url, cwd=project)
        newest, oldest = (path.stem for path in reversed(home.journals()))
        shown = tab(home, project, "rundry watch 20")
        assert [line.split()[0] for line in shown] == [newest, oldest]
        assert "look there" in shown[0] and "look here" in shown[1]
        assert tab(home, project, f"rundry watch {newest}") == [newest]
        assert tab(home, project, f"rundry --api-base {server.base_url} -m qwen3:") == ["8b"]
        assert tab(home, project, "rundry resume --model=qw") == ["qwen3:8b"]


@pytest.mark.parametrize(("shell", "at"), [("zsh", "2"), ("fish", "--on-stall=h")])
def test_zsh_and_fish_get_a_value_behind_an_equals_sign_with_its_option(home: Home, project: Path, shell, at):
    line = {"COMP_WORDS": "rundry resume --on-stall=h", "COMP_CWORD": at, "_RUNDRY_COMPLETE": f"{shell}_complete"}
    asked = subprocess.run([str(RUNDRY)], cwd=project, env=home.env | line, capture_output=True, text=True, timeout=120)
    assert asked.stderr == ""
    assert asked.stdout.replace(",", "\n").split() in (
        ["plain", "--on-stall=handoff", "_"],
        ["plain", "--on-stall=handoff"],
    )


def test_a_config_that_cannot_be_read_completes_nothing_and_says_nothing(home: Home, project: Path):
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text("runs_dir = 3\n")
    assert tab(home, project, "rundry watch ") == [""]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_can_read(home: Home, project: Path, shell: str):
    ran = home.run("completion", shell, cwd=project)
    assert (ran.exit_code, ran.stderr) == (0, ""), ran
    assert "_RUNDRY_COMPLETE" in ran.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    read_by = subprocess.run([shell, "-n"], input=ran.stdout, capture_output=True, text=True, timeout=60)
    assert (read_by.returncode, read_by.stderr) == (0, "")


def test_a_shell_that_is_not_known_is_refused_in_one_line(home: Home, project: Path):
    for argv in (["completion"], ["completion", "powershell"]):
        ran = home.run(*argv, cwd=project)
        assert (ran.exit_code, ran.stdout, len(ran.stderr.splitlines())) == (2, "", 1), ran
