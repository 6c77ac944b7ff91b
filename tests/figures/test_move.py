"""The command that moves modules, on a small tree with each kind of name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .move import carry_out, plan, rows_of

LIST = """agent/config/options -> agent/settings/option_table
agent/config/child -> agent/settings/child_process
agent/config/toml/tables -> agent/settings/toml_tables
agent/system/clock -> agent/host/real_clock
agent/run/drive -> agent/run/driver
agent/words -> agent/words/words
agent/run/pauses => agent/run/driver
tests/config -> tests/settings
tests/config/clock.json -> tests/host/clock.json
"""
BEFORE = {
    "agent/__init__.py": "",
    "agent/config/__init__.py": '"""Settings."""\n',
    "agent/config/toml/__init__.py": "",
    "agent/config/options.py": (
        "from pathlib import Path\n\nfrom ..system.clock import NOW\nfrom . import kept\nfrom .toml import tables\n\n"
        'FILE = Path(__file__).with_name("options.toml")\nCHILD = Path(__file__).with_name("child.py")\n'
        "ALL = [*tables.ROWS, NOW, FILE.read_text(), kept.KEPT]\n"
    ),
    "agent/config/options.toml": "a = 1\n",
    "agent/config/child.py": "",
    "agent/config/kept.py": '"""Stays; see `config/options.py` and `other/options.py`."""\n\nKEPT = 3\n',
    "agent/config/toml/tables.py": "ROWS = [1]\n",
    "agent/system/__init__.py": '"""The machine."""\n',
    "agent/system/clock.py": "NOW = 2\n",
    "agent/run/__init__.py": "",
    "agent/words.py": "from .system.clock import NOW\n",
    "agent/run/drive.py": (
        "from ..config.options import (  # of this machine\n    ALL,\n)\nfrom ..config.toml import tables\n\n\n"
        "def run(tables: int = len(tables.ROWS)) -> list:\n    return [*ALL, tables]\n\n\nHERE = __file__\n"
    ),
    "tests/config/__init__.py": "",
    "tests/config/places.py": (
        "from rundry.agent.config.options import ALL\nfrom rundry.agent.config.toml import tables as t\n"
        "from rundry.agent.words import NOW\n"
    ),
    "tests/config/test_it.py": "from config.places import ALL\n",
    "tests/config/clock.json": "{}",
    "docs/page.md": "`agent/config/options.py`, `system/clock.py`, rundry.agent.run.drive.run, agent/config/toml/.\n",
    "pyproject.toml": (
        '["agent/**/drive.py"]\n[[tool.importlinter.contracts]]\ncontainers = ["rundry.agent"]\n'
        'layers = ["run", "config | system"]\n[[tool.importlinter.contracts]]\ncontainers = ["rundry.tui"]\n'
        'layers = ["system"]\n'
        'source = ["rundry.agent.system", "rundry.agent.config.toml"]\n'
    ),
    "themes": "agent/system",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in BEFORE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "rundry").symlink_to(".")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


def move(root: Path) -> list[str]:
    moves = plan(
        root,
        rows_of(["agent/settings", "agent/host", "agent/run", "agent/words", "tests/settings", "tests/host"], LIST),
    )
    carry_out(moves)
    return moves.look


def contents(root: Path) -> dict[str, str]:
    paths = (path for path in root.rglob("*") if path.is_file() and not {".git", "__pycache__"} & set(path.parts))
    return {path.relative_to(root).as_posix(): path.read_text() for path in paths if "rundry" not in path.parts}


def test_modules_and_their_data_move_and_every_name_of_them_follows(root: Path):
    move(root)
    after = contents(root)
    assert (
        "from ..host.real_clock import NOW\nfrom ..config import kept\nfrom . import toml_tables\n"
        in after["agent/settings/option_table.py"]
    )
    assert "*toml_tables.ROWS" in after["agent/settings/option_table.py"]
    assert '.with_name("child_process.py")' in after["agent/settings/option_table.py"]
    assert after["agent/settings/options.toml"] == "a = 1\n"
    assert after["tests/settings/places.py"] == (
        "from rundry.agent.settings.option_table import ALL\nfrom rundry.agent.settings import toml_tables as t\n"
        "from rundry.agent.words.words import NOW\n"
    )
    assert after["tests/settings/test_it.py"] == "from settings.places import ALL\n"
    assert after["tests/host/clock.json"] == "{}"
    assert after["docs/page.md"] == (
        "`agent/settings/option_table.py`, `host/real_clock.py`, rundry.agent.run.driver.run, agent/settings/.\n"
    )
    assert "`settings/option_table.py` and `other/options.py`" in after["agent/config/kept.py"]
    ran = subprocess.run(
        [sys.executable, "-c", "from rundry.agent.run.driver import run; print(run())"],
        cwd=root,
        env={"PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == "[1, 2, 'a = 1\\n', 3, 1]\n", ran.stderr


def test_a_comment_in_an_import_stays_and_a_name_that_is_bound_otherwise_gets_an_alias(root: Path):
    move(root)
    text = contents(root)["agent/run/driver.py"]
    assert text.startswith("from ..settings.option_table import (  # of this machine\n    ALL,\n)\n")
    assert "from ..settings import toml_tables as tables\n" in text


def test_packages_without_modules_go_and_new_ones_have_the_docstring_of_an_old_one(root: Path):
    look = move(root)
    after = contents(root)
    assert not (root / "agent/system").exists() and not (root / "agent/config/toml").exists()
    assert after["agent/host/__init__.py"] == '"""The machine."""\n'
    assert after["agent/config/__init__.py"] == after["agent/settings/__init__.py"] == '"""Settings."""\n', look
    assert "agent/settings/__init__.py: its text is that of agent/config" in look


def test_what_a_person_has_to_look_at_is_named(root: Path):
    look = move(root)
    contracts = contents(root)["pyproject.toml"]
    assert contracts == (
        '["agent/**/driver.py"]\n[[tool.importlinter.contracts]]\ncontainers = ["rundry.agent"]\n'
        'layers = ["run", "config | host"]\n[[tool.importlinter.contracts]]\ncontainers = ["rundry.tui"]\n'
        'layers = ["system"]\n'
        'source = ["rundry.agent.host", "rundry.agent.settings"]\n'
    )
    assert "agent/run/drive.py: it names its own place by __file__" in look
    assert "agent/config/options.py: it names its own place by __file__" not in look, "the file next to it moves, too"
    assert "pyproject.toml: no layer of agent is settings" in look
    assert "pyproject.toml: is the pattern agent/**/driver.py right? It was agent/**/drive.py" in look
    assert "themes:1: names agent/system, which is gone" not in look, "the folder moved as a whole"


def test_a_second_run_changes_nothing_and_mends_what_a_branch_added(root: Path):
    move(root)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    once = contents(root)
    assert move(root) == [f"pyproject.toml: no layer of agent is {room}" for room in ("settings", "words")]
    assert contents(root) == once
    (root / "agent/run/added.py").write_text("from ..config import options\nfrom .drive import run\nX = options.ALL\n")
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    move(root)
    assert contents(root)["agent/run/added.py"] == (
        "from ..settings import option_table\nfrom .driver import run\nX = option_table.ALL\n"
    )


def test_a_module_does_not_move_onto_another_one(root: Path):
    (root / "agent/host").mkdir()
    (root / "agent/host/real_clock.py").write_text("NOW = 9\n")
    assert "agent/system/clock.py: does not move, because agent/host/real_clock.py exists" in move(root)
    assert contents(root)["agent/system/clock.py"] == "NOW = 2\n"
