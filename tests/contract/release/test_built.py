"""What is built for a package index: metadata, the commit, the same bytes each time; and what SECURITY.md promises."""

from __future__ import annotations

import email
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from fakes.building import build
from trove_classifiers import classifiers

from rundry.tui.cli.version_line import version_line

ROOT = Path(__file__).parents[3]
HEAD = r"[0-9a-f]{40}"


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clean clone of this revision, with what is not committed yet."""
    folder = tmp_path / "checkout"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(folder)], check=True)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "SECURITY.md", ".gitattributes"):
        shutil.copy2(ROOT / name, folder / name)
    shutil.copytree(ROOT / "package", folder / "package", dirs_exist_ok=True)
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    git(folder, "add", ".")
    git(folder, *identity, "commit", "-q", "--allow-empty", "-m", "x")
    return folder


def commit_in(wheel: Path) -> str | None:
    with zipfile.ZipFile(wheel) as held:
        return held.read("rundry/_commit.txt").decode().strip() if "rundry/_commit.txt" in held.namelist() else None


@pytest.mark.long
def test_a_wheel_has_the_same_bytes_for_the_same_commit_and_names_it(checkout, tmp_path):
    env = {"SOURCE_DATE_EPOCH": "1700000000"}
    first = build(tmp_path / "a", "wheel", source=checkout, env=env)
    second = build(tmp_path / "b", "wheel", source=checkout, env=env)
    assert first.read_bytes() == second.read_bytes()
    assert commit_in(first) == git(checkout, "rev-parse", "HEAD")
    (checkout / "README.md").write_text("# changed\n")
    assert commit_in(build(tmp_path / "c", "wheel", source=checkout)) == git(checkout, "rev-parse", "HEAD") + "-changed"


@pytest.mark.long
def test_an_sdist_and_an_archive_keep_the_commit_and_other_folders_name_none(checkout, tmp_path):
    commit = git(checkout, "rev-parse", "HEAD")
    sdist = build(tmp_path, "sdist", source=checkout)
    unpacked = tmp_path / "unpacked"
    with tarfile.open(sdist) as held:
        held.extractall(unpacked, filter="data")
    (source,) = unpacked.iterdir()
    assert commit_in(build(tmp_path / "of-sdist", "wheel", source=source)) == commit
    archive, folder = tmp_path / "archive.tar", tmp_path / "archive"
    git(checkout, "archive", "-o", str(archive), "HEAD")
    with tarfile.open(archive) as held:
        held.extractall(folder, filter="data")
    assert commit_in(build(tmp_path / "of-archive", "wheel", source=folder)) == commit
    (folder / "package" / "archive_commit.txt").unlink()
    assert commit_in(build(tmp_path / "of-nothing", "wheel", source=folder)) is None


@pytest.mark.long
def test_the_metadata_are_those_of_a_package_that_can_be_published(tmp_path):
    with zipfile.ZipFile(build(tmp_path, "wheel")) as wheel:
        (name,) = [one for one in wheel.namelist() if one.endswith(".dist-info/METADATA")]
        data = email.message_from_bytes(wheel.read(name))
        assert "rundry/py.typed" in wheel.namelist()
    found = set(data.get_all("Classifier") or ())
    assert found <= classifiers
    for topic in ("Development Status", "Intended Audience", "Topic", "Typing :: Typed", "Programming Language"):
        assert any(one.startswith(topic) for one in found), topic
    assert not any(one.startswith("License ::") for one in found)  # the expression says it
    assert (data["License-Expression"], data["Description-Content-Type"]) == ("Apache-2.0", "text/markdown")
    readme = str(data.get_payload())
    assert readme.startswith("# rundry")
    assert "<picture>" not in readme
    assert [link for link in re.findall(r"\]\(([^)]*)\)", readme) if not link.startswith("https://")] == []


def test_the_version_names_the_commit_of_the_checkout():
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a checkout")
    commit = git(ROOT, "rev-parse", "HEAD")[:12]
    assert re.fullmatch(rf"rundry, version \d+\.\d+\.\d+ \(commit {commit}(-changed)?\)", version_line())


def test_each_promise_of_the_security_page_names_a_test_that_exists():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?!promise|---)(.*?) \| `(tests/[\w/.]+)` \|$", text, re.M)
    assert len(rows) >= 7
    assert [path for _, path in rows if not re.search(r"^(async )?def test_", _read(path), re.M)] == []
    assert "docs/security.md" in text


def _read(path: str) -> str:
    place = ROOT / path
    return place.read_text(encoding="utf-8") if place.is_file() else ""


def test_the_hook_reads_no_commit_from_a_text_that_is_not_one(tmp_path):
    code = "import sys, pathlib, hatch_build as hook; print(repr(hook.commit_of(pathlib.Path(sys.argv[1]))))"
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "archive_commit.txt").write_text("$Format:%H$\n")
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert ran.stdout == "''\n", ran.stderr
