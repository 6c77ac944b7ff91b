"""Where git's HEAD was at a time, by git's own log of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fakes.project import make_project

from rundry.agent.repo.head_log import head_moved

GIT = ["git", "-c", "user.name=a >< b", "-c", "user.email=a@example.org", "-c", "core.hooksPath=/dev/null"]


def commit(folder: Path, at: int) -> str:
    """An empty commit at that time. Returns its id."""
    env = {"GIT_COMMITTER_DATE": f"{at} +0130", "GIT_AUTHOR_DATE": f"{at} +0130", "HOME": str(folder)}
    subprocess.run([*GIT, "commit", "-q", "--allow-empty", "-m", "one\ttwo"], cwd=folder, check=True, env=env)
    return subprocess.run([*GIT, "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True).stdout[
        :-1
    ]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_project(tmp_path)


def test_commits_after_the_time_are_one_move(repository: Path):
    before = commit(repository, 2_000_000_000)
    assert head_moved(repository, 2_000_000_000.5) is None
    commit(repository, 2_000_000_100)
    newest = commit(repository, 2_000_000_200)
    assert head_moved(repository, 2_000_000_000.5) == (before, newest)
    assert head_moved(repository / "calc", 2_000_000_000.5) == (before, newest)
    assert head_moved(repository, 2_000_000_200.0) is None


def test_a_head_that_came_back_did_not_move(repository: Path):
    commit(repository, 2_000_000_000)
    commit(repository, 2_000_000_100)
    env = {"GIT_COMMITTER_DATE": "2000000200 +0000", "HOME": str(repository)}
    subprocess.run([*GIT, "reset", "-q", "--soft", "HEAD~"], cwd=repository, check=True, env=env)
    assert head_moved(repository, 2_000_000_050.0) is None


def test_without_a_log_or_a_repository_nothing_is_known(repository: Path, tmp_path: Path):
    commit(repository, 2_000_000_000)
    log = repository / ".git/logs/HEAD"
    log.unlink()
    assert head_moved(repository, 0.0) is None
    log.symlink_to("/dev/zero")
    assert head_moved(repository, 0.0) is None
    (tmp_path / "elsewhere").mkdir()
    assert head_moved(Path("/"), 0.0) is None
