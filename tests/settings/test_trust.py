from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rundry.agent.protocol import ConfigError
from rundry.agent.settings.trust import Trust


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    (made / ".rundry.toml").write_text("until = 'make'")
    return made


@pytest.fixture
def trust(tmp_path: Path) -> Trust:
    return Trust(tmp_path / "data" / "trust.json")


def test_trust_holds_until_a_file_changes_and_after_it_is_back(trust: Trust, workspace: Path) -> None:
    assert not trust.trusted(workspace)
    assert trust.trust(workspace) == [".rundry.toml"]
    assert trust.trusted(workspace)
    (workspace / ".rundry.toml").write_text("until = 'evil'")
    assert not trust.trusted(workspace)
    (workspace / ".rundry.toml").write_text("until = 'make'")
    assert trust.trusted(workspace)


@pytest.mark.parametrize("name", [".env", ".git/hooks/pre-commit", ".rundry/hooks/after"])
def test_whatever_else_can_act_is_part_of_what_is_trusted(trust: Trust, workspace: Path, name: str) -> None:
    trust.trust(workspace)
    (workspace / name).parent.mkdir(parents=True, exist_ok=True)
    (workspace / name).write_text("OPENAI_BASE_URL=http://evil.example")
    assert not trust.trusted(workspace)
    assert name in trust.trust(workspace)
    assert trust.trusted(workspace)


def test_other_files_and_sample_hooks_do_not_matter(trust: Trust, workspace: Path) -> None:
    trust.trust(workspace)
    (workspace / "README.md").write_text("changed")
    (workspace / ".git" / "hooks").mkdir(parents=True)
    (workspace / ".git" / "hooks" / "pre-push.sample").write_text("x")
    assert trust.trusted(workspace)


def test_moving_bytes_between_files_is_a_change(trust: Trust, workspace: Path) -> None:
    (workspace / ".env").write_text("ab")
    trust.trust(workspace)
    (workspace / ".env").write_text("")
    (workspace / ".rundry.toml").write_text("abuntil = 'make'")
    assert not trust.trusted(workspace)


def test_trust_is_for_one_folder_whichever_way_it_is_reached(trust: Trust, workspace: Path, tmp_path: Path) -> None:
    trust.trust(workspace)
    (tmp_path / "link").symlink_to(workspace)
    assert trust.trusted(tmp_path / "link")
    other = tmp_path / "other"
    other.mkdir()
    (other / ".rundry.toml").write_text("until = 'make'")
    assert not trust.trusted(other)


def test_where_there_is_nothing_to_trust_nothing_is_asked(trust: Trust, tmp_path: Path) -> None:
    assert trust.trusted(tmp_path)
    assert not trust.store.exists()


def test_the_store_is_for_its_owner_only(trust: Trust, workspace: Path) -> None:
    before = os.umask(0)
    try:
        trust.trust(workspace)
    finally:
        os.umask(before)
    assert stat.S_IMODE(trust.store.stat().st_mode) == 0o600
    assert stat.S_IMODE(trust.store.parent.stat().st_mode) == 0o700


def test_folders_trusted_at_the_same_time_are_all_kept(trust: Trust, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom rundry.agent.settings.trust import Trust\n"
        "trust = Trust(Path(sys.argv[1]))\n"
        "[trust.trust(Path(folder)) for folder in sys.argv[2:]]"
    )
    folders = [tmp_path / f"w{n}" for n in range(12)]
    for folder in folders:
        folder.mkdir()
        (folder / ".rundry.toml").write_text(folder.name)
    parts = [folders[:4], folders[4:8], folders[8:]]
    running = [subprocess.Popen([sys.executable, "-c", code, str(trust.store), *map(str, part)]) for part in parts]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert all(trust.trusted(folder) for folder in folders)


def test_a_damaged_store_is_reported_with_the_fix_and_trusts_nobody(trust: Trust, workspace: Path) -> None:
    trust.store.parent.mkdir()
    trust.store.write_text("{oops")
    with pytest.raises(ConfigError, match=r"trust\.json is damaged .*delete it"):
        trust.trusted(workspace)


def test_a_store_that_cannot_be_written_is_reported(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        Trust(tmp_path / "file" / "trust.json").trust(workspace)


def test_a_config_that_is_far_too_large_is_refused(trust: Trust, workspace: Path) -> None:
    (workspace / ".rundry.toml").write_bytes(b"#" * 2_000_000)
    with pytest.raises(ConfigError, match="too large"):
        trust.trusted(workspace)


def test_the_usual_store_is_in_the_users_data_folder(tmp_path: Path) -> None:
    assert Trust(env={"XDG_DATA_HOME": str(tmp_path)}).store == tmp_path / "rundry" / "trust.json"
    assert Trust(env={}).store.parts[-2:] == ("rundry", "trust.json")
