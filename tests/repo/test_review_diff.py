"""Taking the diff of a review from real repositories, also from hostile patches, ranges and trees."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.reviewing import committed, git, write

from rundry.agent.protocol import DiffFile, UserError
from rundry.agent.repo.review_diff import TakenDiff, WantedDiff, take_diff

LINES = "".join(f"line {number}\n" for number in range(1, 31))
OTHER = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"
NEW_FILE = "diff --git a/{0} b/{0}\nnew file mode {1}\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+text\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return committed(tmp_path / "project", {"a.py": LINES, "sub/b.py": LINES, "crlf.txt": b"x\r\ny\r\n", "end": b"no"})


def take(
    folder: Path,
    *,
    range: str | None = None,
    patch: str | bytes | None = None,
    hidden: Callable[[str], str] = lambda path: "",
    copy: Path | None = None,
) -> TakenDiff:
    data = patch.encode() if isinstance(patch, str) else patch
    wanted = WantedDiff(range=range, patch=data)
    return asyncio.run(take_diff(folder, dict(os.environ), wanted, hidden=hidden, copy=copy))


def by_path(taken: TakenDiff) -> dict[str, DiffFile]:
    return {file.path: file for file in taken.diff.files}


def state(folder: Path) -> tuple[str, str, bytes, list[Path]]:
    """Everything that a review must not change."""
    index = (folder / ".git/index").read_bytes()
    return git(folder, "status", "--porcelain"), git(folder, "for-each-ref"), index, sorted(folder.rglob("*"))


def test_staged_unstaged_and_new_files_are_taken_and_nothing_in_the_repository_changes(project: Path):
    write(project, {"a.py": LINES.replace("line 5\n", ""), "new.py": "new\n", ".gitignore": "*.log\n", "x.log": "no\n"})
    git(project, "add", "new.py")
    write(project, {"new.py": "newer\n"})
    before = state(project)
    found = by_path(take(project))
    assert set(found) == {".gitignore", "a.py", "new.py"}
    assert [(hunk.old, hunk.new, hunk.last) for hunk in found["a.py"].hunks] == [(2, 2, 7)]
    assert found["new.py"].status == "added" and found["new.py"].hunks[0].lines == ["+newer"]
    assert state(project) == before


def test_renames_modes_deletions_and_ends_of_lines_are_in_the_diff(project: Path):
    git(project, "mv", "a.py", "moved.py")
    write(project, {"crlf.txt": b"x\r\nz\r\n", "end": b"no\n"})
    (project / "sub/b.py").chmod(0o755)
    (project / "moved.py").write_text(LINES.replace("line 9", "line nine"))
    git(project, "add", "-A")
    found = by_path(take(project))
    moved = found["moved.py"]
    assert (moved.status, moved.old_path, len(moved.hunks)) == ("renamed", "a.py", 1)
    assert (found["sub/b.py"].modes, found["sub/b.py"].hunks) == (("100644", "100755"), [])
    assert found["crlf.txt"].hunks[0].lines == [" x", "-y", "+z"]
    assert found["end"].hunks[0].lines == ["-no", "\\ No newline at end of file", "+no"]
    git(project, "rm", "-q", "sub/b.py", "-f")
    assert by_path(take(project))["sub/b.py"].status == "deleted"


def test_a_change_of_line_ends_alone_is_visible(project: Path):
    write(project, {"crlf.txt": b"x\ny\r\n"})
    assert by_path(take(project))["crlf.txt"].hunks[0].lines == ["-x\\r", "+x", " y\\r"]


def test_bytes_that_are_not_text_are_left_out_or_shown_as_such(project: Path):
    write(project, {"latin.txt": b"caf\xe9\n", "image.bin": b"\0\xff", "large.txt": b"x\n" * 1_500_000})
    found = by_path(take(project))
    assert found["latin.txt"].hunks[0].lines == ["+caf\\xe9"]
    assert (found["image.bin"].left_out, found["large.txt"].left_out) == ("a binary file", "larger than 2 MB")


def test_names_with_control_characters_and_other_bytes_are_data(project: Path):
    write(project, {"a\nfile b.py, added": "x\n", "\x1b[2J.py": "y\n"})
    (project / os.fsdecode(b"caf\xe9.py")).write_text("z\n")
    found = by_path(take(project))
    assert found["a\nfile b.py, added"].hunks and found["\x1b[2J.py"].hunks
    assert found["caf\\xe9.py"].left_out == "its name is not UTF-8"


def test_no_attribute_filter_or_driver_of_the_project_decides_about_what_is_shown(project: Path, tmp_path: Path):
    hit = tmp_path / "hit"
    write(project, {".gitattributes": "*.py -diff filter=bad diff=bad\n*.txt diff=bad\n"})
    for key in ("filter.bad.clean", "filter.bad.smudge", "diff.bad.command", "diff.bad.textconv", "core.fsmonitor"):
        git(project, "config", key, f"touch {hit}; cat")
    git(project, "config", "diff.external", f"touch {hit}")
    git(project, "add", ".gitattributes")
    hit.unlink(missing_ok=True)
    write(project, {"a.py": LINES + "more\n", "crlf.txt": b"x\r\nq\r\n"})
    found = by_path(take(project, range="HEAD"))
    assert found["a.py"].hunks[0].lines[-1] == "+more" and found["crlf.txt"].hunks
    assert not hit.exists()


def test_nested_repositories_and_submodules_are_left_out(project: Path, tmp_path: Path):
    committed(project / "nested", {"n.py": "n\n"})
    other = committed(tmp_path / "other", {"o.py": "o\n"})
    git(project, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(other), "module")
    write(project, {"a.py": LINES + "more\n"})
    found = by_path(take(project))
    assert found["module"].left_out == "a submodule" and "nested" not in found and found["a.py"].hunks


def test_a_folder_below_the_top_reviews_its_own_files_and_counts_the_others(project: Path, tmp_path: Path):
    write(project, {"a.py": LINES + "more\n", "sub/b.py": LINES + "more\n", "sub/new.py": "new\n"})
    taken = take(project / "sub")
    assert set(by_path(taken)) == {"b.py", "new.py"} and taken.outside == 1
    git(project, "commit", "-qam", "two")
    git(project, "checkout", "-q", "HEAD~1")
    ranged = take(project / "sub", range="HEAD..main", copy=tmp_path / "copy")
    assert (ranged.prefix, ranged.is_in_workspace) == ("sub/", False)
    assert (tmp_path / "copy/sub/b.py").read_text().endswith("more\n")


def test_a_project_without_a_commit_and_with_other_hashes_is_taken(tmp_path: Path):
    folder = tmp_path / "young"
    folder.mkdir()
    git(folder, "init", "-q", "--object-format=sha256")
    write(folder, {"a.py": "a\n"})
    taken = take(folder)
    assert by_path(taken)["a.py"].status == "added" and taken.diff.base == ""


@pytest.mark.parametrize("name", ["--output=x", "-x", "-x..HEAD", "HEAD..--output=x", "HEAD...-p", "a\nb", "nowhere"])
def test_no_name_of_a_range_reaches_git_as_an_option(project: Path, name: str):
    write(project, {"a.py": "changed\n"})
    with pytest.raises(UserError, match=r"is not the name of a commit|there is no commit"):
        take(project, range=name)
    assert not (project / "x").exists()


def test_sides_without_a_common_commit_are_refused(project: Path):
    git(project, "switch", "-q", "--orphan", "other")
    write(project, {"a.py": "a\n"})
    git(project, "add", "a.py")
    git(project, "commit", "-qm", "other")
    with pytest.raises(UserError, match=r"no common commit: use \.\. instead of"):
        take(project, range="main...other")
    assert by_path(take(project, range="main..other"))["a.py"].hunks


def shallow(project: Path, tmp_path: Path) -> Path:
    """Make a clone as a job has it: one commit of the branch `topic`, without `main`."""
    git(project, "switch", "-qc", "topic")
    write(project, {"a.py": LINES + "more\n"})
    git(project, "commit", "-qam", "two")
    git(tmp_path, "clone", "-q", "--depth", "1", "--branch", "topic", project.as_uri(), "clone")
    return tmp_path / "clone"


@pytest.mark.parametrize("name", ["origin/main...HEAD", "main..HEAD", "HEAD~1..HEAD"])
def test_a_missing_commit_of_a_shallow_clone_is_refused_with_the_fetch_that_helps(
    project: Path, tmp_path: Path, name: str
):
    clone = shallow(project, tmp_path)
    with pytest.raises(UserError, match=r"there is no commit .*clone is shallow.*fetch-depth: 0") as refused:
        take(clone, range=name)
    fetch = re.search(r"git (fetch --unshallow .*/\*)'", str(refused.value))
    assert fetch is not None
    git(clone, *fetch[1].replace("'", "").split())
    assert by_path(take(clone, range=name.replace("main", "origin/main").replace("origin/origin", "origin")))


def test_a_shallow_clone_without_a_common_commit_is_not_sent_to_two_dots(project: Path, tmp_path: Path):
    clone = shallow(project, tmp_path)
    git(project, "switch", "-q", "main")
    write(project, {"sub/b.py": LINES + "of main\n"})
    git(project, "commit", "-qam", "three")
    git(clone, "fetch", "-q", "--depth", "1", "origin", "main:refs/remotes/origin/main")
    with pytest.raises(UserError, match=r"no common commit here, .*git fetch --unshallow origin") as refused:
        take(clone, range="origin/main...HEAD")
    assert "instead of" not in str(refused.value)
    git(clone, "fetch", "-q", "--unshallow", "origin", "+refs/heads/*:refs/remotes/origin/*")
    assert list(by_path(take(clone, range="origin/main...HEAD"))) == ["a.py"]


@pytest.mark.parametrize(
    "path", ["../outside.py", "a/../../outside.py", ".git/config", ".git/hooks/post-checkout", "sub/.git/config"]
)
def test_a_patch_that_leaves_the_project_is_refused(project: Path, tmp_path: Path, path: str):
    before = state(project)
    with pytest.raises(UserError, match=r"does not apply to .*invalid path"):
        take(project, patch=NEW_FILE.format(path, "100644"), copy=tmp_path / "copy")
    assert state(project) == before and not (tmp_path / "outside.py").exists() and not (tmp_path / "copy").exists()


def test_an_absolute_path_of_a_patch_is_one_below_the_copy(project: Path, tmp_path: Path):
    place = tmp_path / "absolute.py"
    patch = NEW_FILE.format(f"/{place}".replace("//", "/"), "100644")
    before = state(project)
    try:
        take(project, patch=patch, copy=tmp_path / "copy")
    except UserError as error:
        assert "does not apply" in str(error)
    assert state(project) == before and not place.exists()


def test_a_link_of_a_patch_is_a_plain_file_in_the_copy_and_nothing_is_written_through_it(project: Path, tmp_path: Path):
    link = NEW_FILE.format("link", "120000").replace("+text\n", f"+{tmp_path}\n\\ No newline at end of file\n")
    taken = take(project, patch=link, copy=tmp_path / "copy")
    assert by_path(taken)["link"].modes == ("000000", "120000")
    assert (tmp_path / "copy/link").read_text() == str(tmp_path) and not (tmp_path / "copy/link").is_symlink()
    with pytest.raises(UserError, match="does not apply"):
        take(project, patch=link + NEW_FILE.format("link/written", "100644"), copy=tmp_path / "other")
    assert not (tmp_path / "written").exists()


def test_a_submodule_of_a_patch_is_left_out(project: Path, tmp_path: Path):
    patch = NEW_FILE.format("module", "160000").replace("+text", f"+Subproject commit {'1' * 40}")
    assert by_path(take(project, patch=patch, copy=tmp_path / "copy"))["module"].left_out == "a submodule"


def test_binary_files_of_a_patch_are_left_out_and_the_rest_is_reviewed(project: Path, tmp_path: Path):
    write(project, {"pic[1].png": b"\0\1\2", "a.py": LINES + "more\n"})
    git(project, "add", "-A")
    patch = git(project, "diff", "--cached") + "\n"
    git(project, "reset", "-q", "--hard")
    assert "Binary files" in patch
    taken = take(project, patch=patch, copy=tmp_path / "copy")
    found = by_path(taken)
    assert found["pic[1].png"].left_out == "a binary file" and found["a.py"].hunks
    assert not (tmp_path / "copy/pic[1].png").exists()


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("", "it is empty"),
        ("no patch at all\n", "does not apply"),
        (OTHER, "a.py"),
    ],
)
def test_a_patch_that_does_not_apply_is_refused_with_the_reason(project: Path, patch: str, said: str):
    with pytest.raises(UserError, match=said):
        take(project, patch=patch)


def test_a_patch_that_the_branch_already_has_is_refused_with_the_range_that_reviews_it(project: Path):
    base = git(project, "rev-parse", "HEAD")[:10]
    for text in ("one", "two"):
        write(project, {"a.py": LINES + f"{text}\n", f"{text}.py": "new\n"})
        git(project, "add", "-A")
        git(project, "commit", "-qm", text)
    patch = git(project, "diff", "HEAD~2", "HEAD") + "\n"
    with pytest.raises(UserError, match=rf"already contains this patch\. --diff {base}\.\.HEAD reviews") as refused:
        take(project, patch=patch)
    assert f"or check out {base} first" in str(refused.value)
    assert set(by_path(take(project, range=f"{base}..HEAD"))) == {"a.py", "one.py", "two.py"}
    git(project, "checkout", "-q", base)
    assert set(by_path(take(project, patch=patch))) == {"a.py", "one.py", "two.py"}
    git(project, "checkout", "-q", "main")
    write(project, {"sub/b.py": "later\n"})
    git(project, "commit", "-qam", "three")
    with pytest.raises(UserError, match=r"already contains this patch\. Use --diff A\.\.B"):
        take(project, patch=patch)


def test_a_mail_with_several_commits_is_one_diff(project: Path, tmp_path: Path):
    for text in ("one", "two"):
        write(project, {"a.py": LINES + f"{text}\n"})
        git(project, "commit", "-qam", text)
    mails = subprocess.run(["git", "format-patch", "--stdout", "HEAD~2"], cwd=project, capture_output=True, check=True)
    git(project, "reset", "-q", "--hard", "HEAD~2")
    (hunk,) = by_path(take(project, patch=mails.stdout, copy=tmp_path / "copy"))["a.py"].hunks
    assert hunk.lines[-1] == "+two"


def test_many_files_are_read_in_several_answers_of_git(project: Path):
    write(project, {f"many/{number}.txt": b"x" * 100_000 for number in range(60)})
    found = take(project).diff.files
    assert len(found) == 60 and all(len(file.hunks) == 1 for file in found)


def test_a_file_that_tools_may_not_read_is_not_shown(project: Path):
    write(project, {"secret.txt": "KEY\n"})
    file = by_path(take(project, hidden=lambda path: "refused" if path == "secret.txt" else ""))["secret.txt"]
    assert (file.left_out, file.hunks) == ("refused", [])
