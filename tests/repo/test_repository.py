"""Git where passes commit: what it commits, what it leaves, what it never runs."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from fakes.in_process.simulated_hours import make_repository, subjects
from fakes.project import changed_files, git

from rundry.agent.repo.pass_preflight import why_no_pass
from rundry.agent.repo.repository import GitFailed, Repository
from rundry.agent.run.units.unit_changes import UnitChange, change_hash
from rundry.agent.sandbox.git_hooks import find_hooks

PLAIN = 0o100644


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    (folder / "sub" / "b.txt").write_text("two\n")
    (folder / ".gitignore").write_text("*.log\n")
    return make_repository(folder)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}


async def found(place: Path, env: dict[str, str]) -> Repository:
    repository = await Repository.find(place, env)
    assert repository is not None
    return repository


async def test_only_the_named_files_are_committed_and_ignored_ones_are_left(place: Path, env: dict[str, str]):
    for name in ("a.txt", "new file.txt", "out.log", "mine.txt", 'q"uo.txt'):
        (place / name).write_text("new\n")
    (place / "sub" / "b.txt").unlink()
    names = ["a.txt", "new file.txt", "out.log", 'q"uo.txt', "sub/b.txt"]
    commit = await (await found(place, env)).commit(names, "A pass\n\nof a run")
    assert commit is not None and commit == git(place, "rev-parse", "HEAD").strip()
    assert subjects(place) == ["A pass", "First"]
    assert changed_files(place) == ["mine.txt"] and (place / "out.log").exists()
    assert "out.log" not in git(place, "ls-files"), "what is ignored is in no commit"
    assert git(place, "log", "-1", "--format=%an <%ae>") == "rundry <rundry@localhost>\n"


async def test_what_is_as_in_the_last_commit_is_not_a_commit(place: Path, env: dict[str, str]):
    assert await (await found(place, env)).commit(["a.txt", "gone.txt"], "Nothing") is None
    assert subjects(place) == ["First"]


async def test_paths_are_relative_to_the_folder_also_below_the_top(place: Path, env: dict[str, str]):
    (place / "sub" / "b.txt").write_text("3\n")
    assert await (await found(place / "sub", env)).commit(["b.txt"], "Below") is not None
    assert changed_files(place) == []


async def test_a_file_that_becomes_a_folder_and_a_link_are_committed_as_what_they_are(place: Path, env: dict[str, str]):
    (place / "a.txt").unlink()
    (place / "a.txt").mkdir()
    (place / "a.txt" / "x").write_text("x\n")
    (place / "link").symlink_to("sub/b.txt")
    await (await found(place, env)).commit(["a.txt", "a.txt/x", "link"], "Kinds")
    assert changed_files(place) == []
    assert git(place, "ls-tree", "-r", "HEAD", "link").startswith("120000")


async def test_the_users_name_and_ignores_are_taken_over_and_nothing_of_them_runs(place: Path, env: dict[str, str]):
    home, marks = Path(env["HOME"]), place.parent
    (home / "ignores").write_text("*.tmp\n")
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ada\n\temail = ada@example.org\n"
        f"[core]\n\texcludesFile = ~/ignores\n\tfsmonitor = touch {marks}/ran-1\n\thooksPath = {home}\n"
        f'[filter "evil"]\n\tclean = touch {marks}/ran-2\n\trequired = true\n[commit]\n\tgpgSign = true\n'
    )
    for hook in ("pre-commit", "post-index-change", "reference-transaction"):
        (home / hook).write_text(f"#!/bin/sh\ntouch {marks}/ran-3\n")
        (home / hook).chmod(0o755)
    git(place, "config", "filter.evil.smudge", f"touch {marks}/ran-4")
    (place / "x.tmp").write_text("ignored by the user\n")
    repository = await found(place, env)
    assert (await repository.run_checked("status", "--porcelain")).out == b""
    (place / "a.txt").write_text("2\n")
    assert await repository.commit(["a.txt", "x.tmp"], "Mine") is not None
    await repository.add_worktree(marks / "tree", "rundry/x")
    assert git(place, "log", "-1", "--format=%an <%ae>") == "Ada <ada@example.org>\n"
    assert not list(marks.glob("ran-*")) and (marks / "tree" / "a.txt").read_text() == "2\n"


PLANTED = {
    "filter": "git config filter.x.clean $P; git config filter.x.smudge $P; git config filter.x.required true",
    "process": "git config filter.x.process $P",
    "fsmonitor": "git config core.fsmonitor $P",
    "hooks": "for h in pre-commit post-checkout post-index-change reference-transaction; do cp $P .git/hooks/$h; done",
    "hooksPath": "mkdir h; cp $P h/post-checkout; cp $P h/reference-transaction; git config core.hooksPath h",
    "hook of the config": "git config hook.x.command $P; git config hook.x.event reference-transaction",
    "include": "git config include.path ../more; git config --file more filter.x.clean $P",
    "config.worktree": "git config extensions.worktreeConfig true; git config --worktree filter.x.smudge $P",
    "commondir": "cp -r .git .git/evil; git --git-dir .git/evil config filter.x.smudge $P; echo evil > .git/commondir",
    "aliases": 'for a in status commit-tree update-ref worktree; do git config alias.$a "!$P"; done',
    "diff": "git config diff.external $P; git config diff.x.textconv $P; git config diff.x.command $P",
    "signing": "git config commit.gpgSign true; git config gpg.program $P; git config core.sshCommand $P",
}
"""What a command without bubblewrap can leave in the user's repository; `$P` is a program."""


@pytest.mark.parametrize("what", PLANTED)
async def test_what_a_command_leaves_in_the_repository_later_is_not_run_by_rundry(
    place: Path, env: dict[str, str], what: str
):
    repository, marks = await found(place, env), place.parent
    program = marks / "planted"
    program.write_text(f"#!/bin/sh\ntouch {marks}/ran\ncat\n")
    program.chmod(0o755)
    subprocess.run(["bash", "-c", PLANTED[what]], cwd=place, env={**env, "P": str(program)}, check=True)
    (place / ".git/info").mkdir(exist_ok=True)
    (place / ".git/info/attributes").write_text("*.txt filter=x diff=x\n")
    (marks / "ran").unlink(missing_ok=True)
    (place / "a.txt").write_text("two\n")
    with suppress(GitFailed):
        await repository.run_checked("status", "--porcelain")
    for paths in (["a.txt"], [".gitignore"]):
        with suppress(GitFailed):
            await repository.commit(paths, "A pass")
    with suppress(GitFailed):
        await repository.add_worktree(marks / "tree", "rundry/x")
    await repository.unstage(["a.txt"])
    assert not (marks / "ran").exists()


async def test_a_file_behind_a_filter_is_not_committed_and_the_filter_is_named(place: Path, env: dict[str, str]):
    (place / ".gitattributes").write_text("*.bin filter=lfs\n")
    (place / "x.bin").write_text("big\n")
    with pytest.raises(GitFailed, match=r"x\.bin goes through the git filter `lfs`"):
        await (await found(place, env)).commit(["x.bin"], "No")
    assert subjects(place) == ["First"]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nothing", None),
        ("untracked", None),
        ("staged", None),
        ("detached", "is not on a branch"),
        ("protected", "`work` is protected"),
        ("unborn", "has no commit yet"),
    ],
)
async def test_why_no_pass_may_start(place: Path, env: dict[str, str], what: str, said: str | None):
    if what == "untracked":
        (place / "mine.txt").write_text("x")
    elif what == "staged":
        (place / "a.txt").write_text("x")
        git(place, "add", "a.txt")
    elif what == "detached":
        git(place, "switch", "-q", "--detach")
    elif what == "unborn":
        git(place, "switch", "-q", "--orphan", "empty")
    why = await why_no_pass(await found(place, env), place, ["work"] if what == "protected" else ["main"])
    assert why is None if said is None else why is not None and said in why


async def test_a_folder_outside_and_gits_own_folder_are_not_a_working_tree(place: Path, env: dict[str, str]):
    assert await Repository.find(place.parent, env) is None
    assert await Repository.find(place / ".git", env) is None
    git(place, "config", "core.worktree", str(place / "sub"))
    assert await Repository.find(place, env) is None


async def test_where_git_is_missing_it_says_so(place: Path, tmp_path: Path):
    with pytest.raises(GitFailed, match="git"):
        await Repository.find(place, {"PATH": str(tmp_path), "HOME": str(tmp_path)})


def test_the_same_change_elsewhere_in_the_file_is_the_same_and_another_is_not():
    def changed(before: bytes, after: bytes, path: str = "a") -> str:
        return change_hash([UnitChange(path=path, before=before, after=after, after_mode=PLAIN)])

    one = changed(b"a\nb\nc\n", b"a\nX\nc\n")
    assert one == changed(b"new\n\na\nb\nc\n", b"new\n\na\nX  \nc\n")
    assert one not in (changed(b"a\nb\nc\n", b"a\nY\nc\n"), changed(b"a\nb\nc\n", b"a\nX\nc\n", "b"))
    assert change_hash([]) == ""


@pytest.mark.parametrize("folder", [".git/hooks", ".husky"])
async def test_hooks_that_a_commit_of_rundry_does_not_run_are_named(place: Path, env: dict[str, str], folder: str):
    assert await find_hooks(await found(place, env)) == {}
    (place / folder).mkdir(exist_ok=True)
    for name, mode in (("pre-commit", 0o755), ("commit-msg", 0o644), ("pre-push", 0o755)):
        (place / folder / name).write_text("#!/bin/sh\nexit 1\n")
        (place / folder / name).chmod(mode)
    if folder != ".git/hooks":
        git(place, "config", "core.hooksPath", folder)
    assert [*await find_hooks(await found(place / "sub", env))] == ["pre-commit"]
