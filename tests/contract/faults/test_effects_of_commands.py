"""What commands in layers leave in a user's folder and repository when nobody is there to decide."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from contract.faults.in_layers import SUITE, by_commands, git, headless
from fakes.in_process.layered_run import IDENTITY, begun
from fakes.turns import call

from rundry.agent.protocol import GateMode, Predicates


async def test_what_the_user_adds_while_a_command_runs_stays_and_is_not_the_commands(place: Path):
    work = place / "work"
    check = "test -e b.txt && python3 -m unittest -q tests.test_x"
    run = headless(place, "touch first.txt; sleep 2.0571; echo x >> b.txt", until=[check])
    more = "    def test_more(self):\n        self.assertTrue(True)\n"

    async def user() -> None:
        await begun("2.0571")
        with (work / "tests/test_x.py").open("a") as file:
            file.write(more)
        (work / "tests/test_new.py").write_text(SUITE.format("new"))
        (work / "Makefile").write_text("all:\n\ttrue\n")

    async with asyncio.TaskGroup() as group:
        group.create_task(user())
        await run.run(within=60)
    assert (work / "tests/test_x.py").read_text() == SUITE.format("x") + more
    assert (work / "tests/test_new.py").read_text() == SUITE.format("new") and (work / "Makefile").exists()
    assert (work / "b.txt").read_text() == "x\n"
    assert by_commands(run) == {"first.txt", "b.txt"}, run.story()
    assert run.outcome["reason"] == "done", run.story()
    evidence = run.outcome["evidence"]
    assert (evidence["grade"], evidence["undecided"]) == ("judged", ["first.txt"]), "what the user changed is decided"


async def test_older_files_in_a_folder_that_the_user_puts_in_the_place_of_another_stay(place: Path):
    work = place / "work"
    for name, text in (("src", "old\n"), ("src.new", "written by the user\n")):
        (work / name).mkdir()
        (work / name / "one.txt").write_text(text)
        (work / name / "two.txt").write_text(text)
    run = headless(place, "sed -i s/old/model/ src/one.txt; rm src/two.txt; sleep 2.0581; echo x > made.txt")

    async def user() -> None:
        await begun("2.0581")
        (work / "src").rename(work / "src.old")
        (work / "src.new").rename(work / "src")

    async with asyncio.TaskGroup() as group:
        group.create_task(user())
        await run.run(within=60)
    assert (work / "src/one.txt").read_text() == (work / "src/two.txt").read_text() == "written by the user\n"
    assert by_commands(run) == {"made.txt"} and "src was replaced" in run.results("run_command")[0], run.story()


def make_many(folder: Path) -> None:
    for number in range(31):
        inner = folder / f"many/{number}"
        inner.mkdir(parents=True)
        for name in range(1_000):
            os.close(os.open(inner / str(name), os.O_CREAT | os.O_WRONLY, 0o644))


PLANT = "echo 'export A=1' > .envrc; echo more >> tests/test_x.py; echo more >> kept.txt"
GUARDED = Predicates(until=["python3 -m unittest -q tests.test_x && false"], guard=["tests/**"])


async def test_in_a_workspace_of_31_000_files_what_asks_still_asks(place: Path):
    work = place / "work"
    make_many(work)
    run = headless(place, PLANT, predicates=GUARDED)
    await run.run(within=120)
    assert not (work / ".envrc").exists() and (work / "tests/test_x.py").read_text() == SUITE.format("x")
    assert (work / "kept.txt").read_text() == "one\nmore\n" and by_commands(run) == {"kept.txt"}
    assert ".envrc" in run.results("run_command")[0] and "tests/test_x.py" in run.results("run_command")[0]


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_a_command_that_makes_31_000_files_hides_nothing(place: Path):
    work = place / "work"
    many = "for d in $(seq 31); do mkdir -p many/$d; (cd many/$d && seq 1000 | xargs touch); done"
    run = headless(place, f"{many}; {PLANT}", "echo x > .npmrc", predicates=GUARDED)
    await run.run(within=500)
    assert sum(len(files) for _, _, files in os.walk(work / "many")) == 31_000
    assert not (work / ".envrc").exists() and not (work / ".npmrc").exists()
    assert (work / "tests/test_x.py").read_text() == SUITE.format("x")
    assert (work / "kept.txt").read_text() == "one\nmore\n" and "kept.txt" in by_commands(run)


IGNORED = (
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".claude/settings.json",
    ".husky/pre-commit",
    ".cargo/config.toml",
    ".devcontainer/devcontainer.json",
    "node_modules/.bin/tool",
    ".venv/lib/python3/site-packages/x.pth",
)


async def test_files_that_run_by_themselves_ask_where_git_ignores_them(place: Path):
    work = place / "work"
    (work / ".venv/lib/python3/site-packages").mkdir(parents=True)
    (work / ".venv/pyvenv.cfg").write_text("version = 3\n")
    folders = sorted({path.partition("/")[0] for path in IGNORED})
    (work / ".gitignore").write_text("".join(f"{folder}/\n" for folder in folders))
    run = headless(
        place, *(f"mkdir -p {Path(path).parent}; echo x > {path}; echo x > made{n}" for n, path in enumerate(IGNORED))
    )
    run.env["VIRTUAL_ENV"] = str(work / ".venv")
    await run.run(within=60)
    assert [path for path in IGNORED if (work / path).exists()] == []
    assert all((work / f"made{n}").exists() for n in range(len(IGNORED))), run.story()
    for path, result in zip(IGNORED, run.results("run_command"), strict=True):
        assert "Not applied" in result and path.partition("/")[0] in result, (path, result)


STARTED = {
    "an included file": ("git config include.path ../tools/settings", "[core]\n\tfsmonitor = touch owned; false\n"),
    "a program": ("git config core.fsmonitor tools/settings", "#!/bin/sh\ntouch owned\n"),
    "an alias": ("git config alias.go '!tools/settings'", "#!/bin/sh\ntouch owned\n"),
}
"""Settings of the user's repository that name a file of the workspace, and what an attacker would put into it."""


@pytest.mark.parametrize("how", ["run_command", "write_file"])
@pytest.mark.parametrize("name", STARTED)
async def test_a_file_that_gits_settings_start_is_protected_like_them(place: Path, name: str, how: str):
    work, (setting, payload) = place / "work", STARTED[name]
    (work / "tools").mkdir()
    (work / "tools/settings").write_text("" if "included" in name else "#!/bin/sh\n")
    (work / "tools/settings").chmod(0o644 if "included" in name else 0o755)
    subprocess.run(setting, shell=True, cwd=work, check=True)
    before, copy = (work / "tools/settings").read_text(), place / "copy"
    shutil.copytree(work, copy, symlinks=True)
    (copy / "tools/settings").write_text(payload)
    subprocess.run("git status; git go", shell=True, cwd=copy, check=False, capture_output=True)
    assert (copy / "owned").exists(), "the case shows nothing"
    turns = (
        [f"cat > tools/settings <<'END'\n{payload}END\n"]
        if how == "run_command"
        else [call("read_file", path="tools/settings"), call("write_file", path="tools/settings", content=payload)]
    )
    run = headless(place, *turns, gate=GateMode.AUTO if how == "run_command" else GateMode.EDITS)
    await run.run()
    assert (work / "tools/settings").read_text() == before
    subprocess.run("git status; git go", shell=True, cwd=work, check=False, capture_output=True)
    assert not (work / "owned").exists(), run.story()


BARE = {
    "HEAD": "ref: refs/heads/main\n",
    "objects/x": "",
    "refs/x": "",
    "config": "[core]\n\trepositoryformatversion = 0\n\tworktree = .\n\tfsmonitor = touch owned; false\n",
}
COMMON = {
    "HEAD": "ref: refs/heads/main\n",
    "commondir": "../.git\n",
    "config.worktree": "[core]\n\tworktree = .\n\tfsmonitor = touch owned; false\n",
}
"""Files that make a folder a repository, with settings that run something."""


@pytest.mark.parametrize("how", ["run_command", "write_file"])
@pytest.mark.parametrize("files", [BARE, COMMON], ids=["objects and refs", "commondir"])
async def test_a_folder_does_not_become_a_repository_unasked(place: Path, files: dict[str, str], how: str):
    work = place / "work"
    git(work, "config", "extensions.worktreeConfig", "true")
    shutil.copytree(work, copy := place / "copy")
    for top in (copy / "sub",):
        for name, text in files.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(text)
    subprocess.run(["git", "status"], cwd=copy / "sub", check=False, capture_output=True)
    assert (copy / "sub/owned").exists(), "the case shows nothing"
    lines = [f"mkdir -p $(dirname sub/{name}); printf %s '{text}' > sub/{name}" for name, text in files.items()]
    writes = [call("write_file", path=f"sub/{name}", content=text) for name, text in files.items()]
    at_once = ["; ".join(lines)] if how == "run_command" else []
    run = headless(place, *at_once, *(lines if how == "run_command" else writes))
    await run.run(within=60)
    (work / "sub").mkdir(exist_ok=True)
    subprocess.run(["git", "status"], cwd=work / "sub", check=False, capture_output=True)
    assert not list(work.rglob("owned")), run.story()
    written = {str(path.relative_to(work / "sub")) for path in (work / "sub").rglob("*") if path.is_file()}
    assert written < set(files), "at least one of them waits"


async def test_a_change_cannot_be_hidden_from_git_status_by_flags_of_the_index(place: Path):
    work = place / "work"
    flags = "git update-index --assume-unchanged kept.txt; git update-index --skip-worktree gone.txt"
    run = headless(place, f"{flags}; echo hidden >> kept.txt; echo hidden >> gone.txt; git status --short")
    await run.run()
    assert git(work, "status", "--short").split("\n")[:2] == [" M gone.txt", " M kept.txt"], run.story()


class Swapper(threading.Thread):
    """Another process of the user: swaps a folder for a link that leads out, again and again."""

    def __init__(self, folder: Path, outside: Path) -> None:
        super().__init__(daemon=True)
        self._folder, self._aside, self._outside = folder, folder.with_name("aside"), outside
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.is_set():
            self._folder.rename(self._aside)
            try:
                self._folder.symlink_to(self._outside)
                self._folder.unlink()
            except FileExistsError:
                pass  # an apply has just made the folder again
            while self._aside.exists():
                with suppress(OSError):
                    self._aside.rename(self._folder)
                    break
                shutil.rmtree(self._folder, ignore_errors=True)

    def end(self) -> None:
        self._ended.set()
        self.join()


async def test_nothing_is_written_through_a_folder_that_is_swapped_for_a_link(place: Path):
    work, outside = place / "work", place / "outside"
    (work / "sub/deep").mkdir(parents=True)
    for folder in (work / "sub", outside):
        for n in range(20):
            (folder / f"f{n}").write_text("old\n")
    before = {path.name: path.read_text() for path in outside.iterdir()}
    run = headless(
        place,
        *(
            f"for f in sub/f*; do echo {n} >> $f; done; rm -f sub/f1{n}; echo {n} > sub/made{n}; mkdir sub/in{n}"
            for n in range(6)
        ),
    )
    swapper = Swapper(work / "sub", outside)
    swapper.start()
    try:
        await run.run(within=120)
    finally:
        swapper.end()
    assert {path.name: path.read_text() for path in outside.iterdir()} == before, run.story()


FORGED = """
echo forged > forged.txt; git add forged.txt; git {identity} commit -qm forged; git reset -q --hard HEAD~1
git {identity} replace HEAD $(git rev-parse ORIG_HEAD); git rev-parse ORIG_HEAD > .git/info/grafts
mkdir -p /tmp/objects .git/objects/info; echo /tmp/objects > .git/objects/info/alternates
git rev-parse HEAD > .git/shallow; git log --format=%s -1
"""


async def test_setuid_files_and_forged_history_do_not_reach_the_workspace(place: Path):
    work = place / "work"
    shown = git(work, "show", "HEAD")
    forge = FORGED.format(identity=" ".join(IDENTITY))
    run = headless(place, "cp /bin/true tool; chmod 6755 tool; chmod u+s kept.txt; ls -l tool", forge)
    await run.run()
    assert stat.S_IMODE((work / "tool").stat().st_mode) & 0o7000 == 0, run.story()
    assert stat.S_IMODE((work / "kept.txt").stat().st_mode) & 0o7000 == 0
    assert git(work, "show", "HEAD") == shown
    left = ("refs/replace", "info/grafts", "objects/info/alternates", "shallow")
    assert [name for name in left if (work / ".git" / name).exists() and name != "refs/replace"] == []
    assert git(work, "for-each-ref", "refs/replace") == ""
    assert git(work, "fsck", "--full") == ""


async def test_deleting_what_git_has_no_copy_of_waits(place: Path):
    work = place / "work"
    for name in ("data/base.db", "target/debug/app"):
        (work / name).parent.mkdir(parents=True)
        (work / name).write_text("only here\n")
    (work / "Cargo.toml").write_text("")
    (work / ".gitignore").write_text("data/\ntarget/\n")
    run = headless(place, "git clean -fdXq", "rm -rf data; echo done > made")
    await run.run()
    assert (work / "data/base.db").read_text() == "only here\n" and (work / "made").exists(), run.story()
    assert not (work / "target/debug/app").exists(), "what a program builds goes"
    assert all("data/base.db" in result for result in run.results("run_command"))


LOOP = """mkdir -p .vscode; trap "" TERM
while :; do
  for file in .envrc AGENTS.md .vscode/tasks.json .rundry.toml kept.txt; do echo late > $file; done 2> /dev/null
  echo round; sleep 0.1
done"""


async def test_a_background_command_does_not_write_files_that_nobody_decided_about(place: Path):
    work = place / "work"
    (work / "AGENTS.md").write_text("of the user\n")
    (work / "loop.sh").write_text(LOOP)  # the gate does not see what a script writes
    start = call("start_command", name="loop", command="sh loop.sh")
    run = headless(place, start, "sleep 1.5; echo x > made", "sleep 1; cat kept.txt")
    await run.run(within=60)
    assert (work / "made").exists() and "round" in run.story(), run.story()
    assert [name for name in (".envrc", ".vscode/tasks.json", ".rundry.toml") if (work / name).exists()] == []
    assert (work / "AGENTS.md").read_text() == "of the user\n" and (work / "kept.txt").read_text() == "one\n"
