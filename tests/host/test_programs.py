"""The programs that rundry starts for itself are never ones that a model could have put there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rundry.agent.host.program_search import find_program


def put(folder: Path, name: str = "git") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def safe(tmp_path: Path) -> Path:
    return put(tmp_path / "usr" / "bin")


def found(ws: Path, *entries: Path | str) -> Path | None:
    return find_program("git", [ws], os.pathsep.join(map(str, entries)))


def test_a_program_in_the_workspace_is_skipped(tmp_path: Path, safe: Path) -> None:
    ws = tmp_path / "ws"
    planted = put(ws / ".venv" / "bin")
    assert found(ws, planted.parent, safe.parent) == safe
    assert found(ws, planted.parent) is None


def test_a_link_into_the_workspace_is_skipped(tmp_path: Path, safe: Path) -> None:
    ws = tmp_path / "ws"
    planted = put(ws / "bin")
    (tmp_path / "folder").symlink_to(planted.parent)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "git").symlink_to(planted)
    assert found(ws, tmp_path / "folder", tmp_path / "links", safe.parent) == safe


def test_a_link_in_the_workspace_to_a_program_outside_is_skipped(tmp_path: Path, safe: Path) -> None:
    ws = tmp_path / "ws"
    (ws / "bin").mkdir(parents=True)
    (ws / "bin" / "git").symlink_to(safe)
    assert found(ws, ws / "bin") is None


def test_a_workspace_that_is_reached_through_a_link_is_the_same_workspace(tmp_path: Path, safe: Path) -> None:
    planted = put(tmp_path / "real" / "bin")
    (tmp_path / "ws").symlink_to(tmp_path / "real")
    assert found(tmp_path / "ws", planted.parent, safe.parent) == safe


@pytest.mark.parametrize("entry", ["", ".", "bin", "/nosuch", "/dev/null", "x" * 5000, "/" + "y" * 300])
def test_an_entry_that_is_relative_or_cannot_be_read_is_skipped(entry: str, tmp_path: Path, safe: Path) -> None:
    assert found(tmp_path / "ws", entry, safe.parent) == safe


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_without_rights_is_skipped(tmp_path: Path, safe: Path) -> None:
    locked = put(tmp_path / "locked").parent
    locked.chmod(0)
    try:
        assert found(tmp_path / "ws", locked, safe.parent) == safe
    finally:
        locked.chmod(0o755)


def test_a_file_without_the_right_to_run_is_skipped(tmp_path: Path, safe: Path) -> None:
    put(tmp_path / "data").chmod(0o644)
    assert found(tmp_path / "ws", tmp_path / "data", safe.parent) == safe
