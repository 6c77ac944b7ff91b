"""A folder that cannot be read, anywhere that rundry looks: it works without it, or says so in one line."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.project import read
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import finish
from sampling import sampled

AS_A_USER = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
"""Without the right of root to read everything."""
RUN = ["run", "--headless", "--model", "fake", "--api-base", "BASE", "go"]
OF_RUNS = ["handoffs", "report", "export", "watch", "resume --headless", "approve", "ctl x pause", "fork x", "check x"]
COMMANDS = [["doctor"], ["runs"], RUN]

pytestmark = pytest.mark.skipif(
    bool(AS_A_USER) and shutil.which("setpriv") is None, reason="root reads every folder, and setpriv is missing"
)


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "locked"
    (folder / "in").mkdir(parents=True)
    folder.chmod(0)
    yield folder
    folder.chmod(0o700)


def assert_in_one_line(home: Home, project: Path, words: list[str], *more: str, **env: str) -> None:
    with ScriptedServer([read("calc/core.py"), finish("told", "calc/core.py")]) as server:
        argv = [server.base_url if word == "BASE" else word for word in words]
        ran = home.run(*argv, *more, cwd=project, env=env, through=AS_A_USER)
    assert "Traceback" not in ran.stderr + ran.stdout, str(ran)
    if ran.exit_code not in (0, 1):
        assert len([line for line in ran.stderr.splitlines() if line.startswith("rundry: ")]) == 1, str(ran)


@pytest.mark.parametrize(
    "name", sampled(["HOME", "RUNDRY_RUNS_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR"], 3)
)
def test_a_home_config_or_runs_folder_that_cannot_be_read_is_reported_in_one_line(
    home: Home, project: Path, locked: Path, name: str
) -> None:
    for words in COMMANDS:
        assert_in_one_line(home, project, words, **{name: str(locked)})
    assert_in_one_line(home, project, RUN, **{name: str(locked / "in")})


def test_every_command_about_runs_reports_a_folder_of_runs_that_cannot_be_read(
    home: Home, project: Path, locked: Path
) -> None:
    for words in OF_RUNS:
        assert_in_one_line(home, project, words.split(), RUNDRY_RUNS_DIR=str(locked))


def test_a_folder_of_the_path_that_cannot_be_read_is_passed_over(home: Home, project: Path, locked: Path) -> None:
    path = os.pathsep.join([str(locked), str(locked / "in"), home.env["PATH"]])
    for words in COMMANDS:
        assert_in_one_line(home, project, words, PATH=path)


@pytest.mark.parametrize("part", sampled([".git/hooks", ".git", ".rundry.toml", "sub"], 2))
def test_a_part_of_the_workspace_that_cannot_be_read_is_reported_in_one_line(
    home: Home, project: Path, part: str
) -> None:
    place = project / part
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0)
    try:
        assert_in_one_line(home, project, RUN)
        assert_in_one_line(home, project, ["doctor"])
    finally:
        place.chmod(0o700)


@pytest.mark.parametrize("part", ["", "in"])
def test_a_workspace_that_cannot_be_read_is_reported_in_one_line(
    home: Home, project: Path, locked: Path, part: str
) -> None:
    for words in COMMANDS:
        assert_in_one_line(home, project, words, "--cwd", str(locked / part))
