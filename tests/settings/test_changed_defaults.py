"""A changed default is reported once, and only to a user who worked with the old one."""

from __future__ import annotations

from pathlib import Path

import pytest

from rundry.agent.protocol import ConfigError
from rundry.agent.settings.remembered import GATE_IS_EFFECTS, is_new_to_user


def test_somebody_with_runs_reads_it_once(tmp_path: Path) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path / "data")}
    (tmp_path / "old.db").write_text("")
    assert [is_new_to_user(GATE_IS_EFFECTS, tmp_path, env) for _ in range(2)] == [True, False]


def test_a_new_user_gets_no_note_about_a_changed_default(tmp_path: Path) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path / "data")}
    assert not is_new_to_user(GATE_IS_EFFECTS, tmp_path / "runs", env)
    (tmp_path / "first.db").write_text("")
    assert not is_new_to_user(GATE_IS_EFFECTS, tmp_path, env)


def test_a_store_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    with pytest.raises(ConfigError, match=r"changed-defaults\.json"):
        is_new_to_user(GATE_IS_EFFECTS, tmp_path, {"XDG_DATA_HOME": str(tmp_path / "data")})
