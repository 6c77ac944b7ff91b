"""Standard streams that are closed or can no longer be written."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from fakes.project import CHECK, FIX_BOTH
from fakes.rundry import RUNDRY, Home
from fakes.server import ScriptedServer

COMMANDS = [
    "--version",
    "--help",
    "runs",
    "runs --json",
    "report",
    "schema goal",
    "key url http://a/",
    "config",
    "models",
]


def shell(home: Home, line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line],
        cwd=cwd,
        env=home.env,
        capture_output=True,
        text=True,
        timeout=100,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize(("to", "code"), [(">&-", 2), (">/dev/full", 1)], ids=["closed", "full"])
def test_a_command_whose_output_cannot_be_written_says_so_in_one_line(
    home: Home, project: Path, words: str, to: str, code: int
):
    ran = shell(home, f"rundry {words} {to}", project)
    assert ran.returncode == code, ran
    (line,) = ran.stderr.splitlines()
    assert line.startswith("rundry: standard output cannot be written: ")


@pytest.mark.parametrize("to", ["2>&-", "2>/dev/full", "2>&- <&-"])
def test_a_command_prints_its_answer_although_standard_error_is_gone(home: Home, project: Path, to: str):
    ran = shell(home, f"rundry key value a {to}", project)
    assert (ran.returncode, ran.stdout) == (0, "a\n")


@pytest.mark.parametrize("output", ["--json", ""], ids=["json", "lines"])
@pytest.mark.parametrize(
    ("to", "code", "says"),
    [
        (">/dev/full", 1, "rundry: standard output cannot be written: No space left on device; the run continues"),
        ("2>/dev/full", 0, ""),
        ("2>&-", 0, ""),
        (">&-", 2, "rundry: standard output cannot be written: it is closed"),
        ("<&-", 0, ""),
    ],
)
def test_a_run_is_not_ended_by_its_output_and_reports_what_was_lost(
    home: Home, project: Path, output: str, to: str, code: int, says: str
):
    with ScriptedServer([FIX_BOTH]) as server:
        model = f"--model fake --api-base {server.base_url} --until '{CHECK}' --gate edits --headless {output}"
        ran = shell(home, f"rundry run fix {model} {to}", project)
    if not output and to == ">/dev/full":
        says = ""  # the answer is empty, so nothing is written there
        code = 0
    assert ran.returncode == code and says in ran.stderr and "Traceback" not in ran.stderr, ran
    journals = home.journals()
    assert len(journals) == (0 if to == ">&-" else 1)
    for path in journals:
        ended = home.run("export", path.stem, cwd=project).stdout.splitlines()[-1]
        assert json.loads(ended)["reason"] == "done"


def test_a_reader_that_goes_away_ends_a_command_without_a_message(home: Home, project: Path):
    ran = shell(home, f"{RUNDRY} schema goal | head -c 1; exit ${{PIPESTATUS[0]}}", project)
    assert ran.stdout == "{" and ran.stderr == ""
