"""Paths that a weak model misspells are read as the file that is meant, and never as one outside of the workspace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sampling import examples

from rundry.agent.host.file_errors import PathRefused
from rundry.agent.host.meant_paths import meant_path
from rundry.agent.host.workspace_paths import Workspace


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    root = tmp_path / "gcd"
    (root / "src").mkdir(parents=True)
    for name in ("gcd.py", "src/a.py", ".env", ".envrc"):
        (root / name).write_text("x")
    (root / "link.py").symlink_to("gcd.py")
    (root / "out").symlink_to("/etc")
    return Workspace(root)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("gcd/gcd.py", "gcd.py"),
        ("./gcd/gcd.py", "gcd.py"),
        ("/gcd/gcd.py", "gcd.py"),
        ("/gcd/src/a.py", "src/a.py"),
        ("a/gcd.py", "gcd.py"),
        ("b/src/a.py", "src/a.py"),
        ("a/gcd/gcd.py", "gcd.py"),
        ("gcd\\gcd.py", "gcd.py"),
        ("src\\a.py", "src/a.py"),
        (".\\src\\a.py", "src/a.py"),
        ("gcd/src//a.py", "src/a.py"),
        ("gcd/link.py", "link.py"),
        ("gcd", "."),
        ("gcd/", "."),
        ("gcd/src", "src"),
    ],
)
def test_a_prefix_that_names_nothing_is_dropped(ws, written, meant):
    assert meant_path(ws, written) == meant
    absolute = f"{ws.root}/{written}"
    assert meant_path(ws, absolute) == meant


@pytest.mark.parametrize(
    "written",
    [
        "gcd.py", "./gcd.py", "src/a.py", "missing.py", "gcd/missing.py", "src/../gcd.py", "other/gcd.py", "c/gcd.py",
        "/etc/passwd", "/etc/gcd.py", "/gcd.py", "../gcd/gcd.py", "gcd/../../gcd/gcd.py", "gcd/.env", "/gcd/.env",
        "gcd/out/passwd", "gcd/../../../etc/passwd", "~/gcd.py", "", "gcd/a\0b", "output:abc", "gcd/gcd/gcd.py",
    ],
)  # fmt: skip
def test_any_other_path_is_left_as_written(ws, written):
    assert meant_path(ws, written) == written


def test_a_path_that_exists_as_written_is_never_shortened(ws):
    (ws.root / "gcd").mkdir()
    (ws.root / "gcd/gcd.py").write_text("y")
    (ws.root / "a").mkdir()
    assert meant_path(ws, "gcd/gcd.py") == "gcd/gcd.py"
    assert meant_path(ws, "gcd/gcd/gcd.py") == "gcd/gcd.py"
    assert meant_path(ws, "gcd/new.py", is_new=True) == "gcd/new.py"
    assert meant_path(ws, "a/new.py", is_new=True) == "a/new.py"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("gcd/new.py", "new.py"),
        ("/gcd/new.py", "new.py"),
        ("gcd/src/new.py", "src/new.py"),
        ("gcd/tests/new.py", "gcd/tests/new.py"),
        ("b/src/new.py", "src/new.py"),
        ("b/new.py", "b/new.py"),
        ("src\\new.py", "src/new.py"),
        ("src/new.py", "src/new.py"),
        ("new/new.py", "new/new.py"),
        ("gcd/.git/hooks/pre-commit", "gcd/.git/hooks/pre-commit"),
        ("gcd/out/new.py", "gcd/out/new.py"),
        ("/tmp/new.py", "/tmp/new.py"),
        ("gcd", "gcd"),
    ],
)
def test_a_new_file_moves_only_into_a_folder_that_exists(ws, written, meant):
    assert meant_path(ws, written, is_new=True) == meant


WORDS = st.sampled_from(
    ["gcd", "a", "b", "src", "gcd.py", "..", ".", "out", ".env", ".git", "/", "\\", "//", "passwd", ""]
)


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, min_size=1, max_size=6), st.sampled_from(["/", "\\"]), st.booleans())
def test_no_spelling_leads_outside_or_past_a_refusal(ws, words, separator, is_new):
    written = separator.join(words)
    meant = meant_path(ws, written, is_new=is_new)
    if meant == written:
        return
    assert ws.resolve(meant).is_relative_to(ws.root)  # raises if a rule refuses it
    assert not meant.startswith("/")
    try:
        assert not os.path.lexists(ws.resolve(written))
    except PathRefused as error:
        assert "outside" in str(error)  # no other refusal is avoided by another spelling
