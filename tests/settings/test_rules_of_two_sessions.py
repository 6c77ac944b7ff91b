"""Two sessions in one folder store the rules of `always`: each rule is there once, and none is lost."""

from __future__ import annotations

import multiprocessing
import tomllib
from pathlib import Path

from rundry.agent.protocol import Rule
from rundry.agent.settings.remembered import RememberedRules
from rundry.agent.settings.trust import Trust

RULES = [Rule(verdict="allow", tool="run_command", command=f"git log {n}") for n in range(20)]


def _add_all(folder: Path, env: dict[str, str]) -> None:
    saved = RememberedRules(folder, env)
    for rule in RULES:
        saved.add(rule)


def test_rules_that_two_processes_add_at_once_are_there_once_and_the_folder_stays_trusted(tmp_path: Path):
    folder = tmp_path / "project"
    folder.mkdir()
    env = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    spawn = multiprocessing.get_context("spawn")
    both = [spawn.Process(target=_add_all, args=(folder, env)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert [one.exitcode for one in both] == [0, 0]
    stored = tomllib.loads((folder / ".rundry.toml").read_text())["gate"]["rules"]
    assert [one["command"] for one in stored] == [rule.command for rule in RULES]
    assert Trust(env=env).trusted(folder)
