"""A variable that names something no program can use: one note, and the start continues."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.project import read
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import finish
from sampling import sampled

from .test_unreadable_folders import AS_A_USER, pytestmark

__all__ = ["pytestmark"]

ONE_FILE = ("TF_CLI_CONFIG_FILE", "KUBECONFIG", "NETRC", "NPM_CONFIG_USERCONFIG", "HISTFILE", "XAUTHORITY")
FOLDERS = ("CARGO_HOME", "GNUPGHOME", "DOCKER_CONFIG", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")
UNUSABLE = ("in a locked folder", "locked", "fifo", "loop", "too long", "folder", "device", "/usr", "/proc/1/root/x")
NOTED = {"in a locked folder", "locked", "loop", "too long", "/usr", "/proc/1/root/x"}


@pytest.fixture
def places(tmp_path: Path) -> Iterator[dict[str, str]]:
    locked = tmp_path / "locked"
    locked.mkdir()
    (tmp_path / "unreadable").write_text("token = hush")
    (tmp_path / "unreadable").chmod(0)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    locked.chmod(0)
    yield {
        "in a locked folder": f"{locked}/file",
        "locked": f"{tmp_path}/unreadable",
        "fifo": f"{tmp_path}/fifo",
        "loop": f"{tmp_path}/loop",
        "too long": f"{tmp_path}/{'x' * 300}",
        "folder": f"{tmp_path}/folder",
        "device": "/dev/zero",
        "/usr": "/usr",
        "/proc/1/root/x": "/proc/1/root/x",
    }
    locked.chmod(0o700)


def run(home: Home, project: Path, **env: str) -> Ran:
    with ScriptedServer([read("calc/core.py"), finish("told", "calc/core.py")]) as server:
        words = ["run", "--headless", "--model", "fake", "--api-base", server.base_url, "go"]
        return home.run(*words, cwd=project, env=env, through=AS_A_USER)


def notes_of(ran: Ran, variable: str) -> list[str]:
    return [line for line in (ran.stdout + ran.stderr).splitlines() if f"{variable} names " in line]


@pytest.mark.parametrize("what", UNUSABLE)
def test_a_variable_that_names_an_unusable_file_costs_one_note(
    home: Home, project: Path, places: dict[str, str], what: str
) -> None:
    ran = run(home, project, TF_CLI_CONFIG_FILE=places[what])
    assert ran.exit_code == 0, str(ran)
    assert len(notes_of(ran, "TF_CLI_CONFIG_FILE")) == (what in NOTED), str(ran)
    assert "no sandbox" not in ran.stdout + ran.stderr


@pytest.mark.parametrize("variable", [*ONE_FILE[1:], *FOLDERS])
@pytest.mark.parametrize("what", sampled(UNUSABLE, 2))
def test_no_variable_that_names_an_unusable_place_stops_a_start(
    home: Home, project: Path, places: dict[str, str], variable: str, what: str
) -> None:
    ran = run(home, project, **{variable: places[what]})
    assert ran.exit_code == 0, str(ran)
    assert "no sandbox" not in ran.stdout + ran.stderr


def test_doctor_names_the_variable_and_what_is_wrong_with_its_file(
    home: Home, project: Path, places: dict[str, str]
) -> None:
    env = {"TF_CLI_CONFIG_FILE": places["in a locked folder"], "KUBECONFIG": f"{places['loop']}:/usr"}
    ran = home.run("doctor", "--model", "ollama_chat/qwen3:8b", cwd=project, env=env, through=AS_A_USER)
    for words in ("TF_CLI_CONFIG_FILE names", "KUBECONFIG names /usr,", "commands need it", "symbolic links"):
        assert words in ran.stdout, str(ran)


def test_a_place_that_commands_need_is_not_hidden_from_them(home: Home, project: Path) -> None:
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text('[sandbox]\nhide = ["/usr", "~/hidden"]\n')
    ran = run(home, project)
    assert ran.exit_code == 0, str(ran)
    assert '[sandbox] hide = "/usr" is ignored' in ran.stdout + ran.stderr
