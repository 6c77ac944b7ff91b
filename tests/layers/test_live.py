"""Which folders a process outside of layers can write: build output that nothing protects, and what the user named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.layers.live_folders import live_folders

from .test_classes import ENV, TAG, shell


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    """A repository with build output, caches, and ignored data."""
    folder = tmp_path / "ws"
    folder.mkdir()
    shell(
        folder,
        f"""git init -q
        printf 'target/\\nsub/target/\\ndata/\\nnode_modules/\\n.cache/\\n' > .gitignore
        touch Cargo.toml package.json
        mkdir -p target/debug sub data node_modules/.cache node_modules/pkg .cache __pycache__
        {TAG} > .cache/CACHEDIR.TAG
        git add . && git commit -q -m start""",
    )
    return folder


def found(ws: Path, named: Sequence[str] = (), kept: Sequence[str] = (), env: dict[str, str] | None = None) -> set[str]:
    is_kept = lambda path: path in kept  # noqa: E731
    places = live_folders(Workspace(ws), named, env or ENV, is_kept)
    return {place.relative_to(ws).as_posix() for place in places}


def test_ignored_output_and_caches_are_found_and_nothing_else(ws: Path):
    assert found(ws) == {"target", ".cache", "node_modules/.cache"}


def test_output_that_does_not_exist_is_not_made(ws: Path):
    (ws / "sub/Cargo.toml").write_text("")
    assert "sub/target" not in found(ws) and not (ws / "sub/target").exists()


def test_a_link_in_place_of_output_is_not_followed(ws: Path):
    (ws / "sub/Cargo.toml").write_text("")
    (ws / "sub/target").symlink_to(ws / "data")
    assert found(ws) == {"target", ".cache", "node_modules/.cache"}


def test_output_with_a_tracked_file_is_left_out(ws: Path):
    shell(ws, "touch target/debug/kept && git add -f target/debug/kept")
    assert found(ws) == {".cache", "node_modules/.cache"}


def test_what_a_rule_protects_is_left_out(ws: Path):
    assert found(ws, kept=["target"]) == {".cache", "node_modules/.cache"}


def test_output_in_which_something_runs_by_itself_is_left_out(ws: Path):
    assert "target" not in found(ws, env={**ENV, "PATH": f"{ws}/target/debug{os.pathsep}{ENV['PATH']}"})
    shell(ws, "git config core.fsmonitor target/debug/watch")
    assert "target" not in found(ws)


def test_a_folder_that_the_user_named_is_made_and_a_protected_one_is_not(ws: Path):
    (ws / "link").symlink_to(ws / "data")
    (ws / "file").write_text("")
    named = ["var/lib", ".git/x", ".vscode", "link", "file", "target"]
    assert found(ws, named) == {"var/lib", "target", ".cache", "node_modules/.cache"}
    assert (ws / "var/lib").is_dir() and not (ws / ".git/x").exists() and not (ws / ".vscode").exists()
