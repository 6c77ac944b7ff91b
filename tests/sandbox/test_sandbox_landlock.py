import asyncio
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from fakes.in_place import in_place
from fakes.visible_folders import visible_folder

from rundry.agent.sandbox import restrict_process
from rundry.agent.sandbox.command_access import Access
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.hidden_places import HideRules
from rundry.agent.sandbox.restrict_process import handled, places_to_read, rule_bytes, ruleset_bytes
from rundry.agent.sandbox.sandbox import Sandbox


@pytest.fixture
async def sandbox():
    found = await Sandbox.detect(kinds=["landlock"])
    if found.kind is None:
        pytest.skip(found.why_none)
    return found


@pytest.fixture
def run(sandbox, tmp_path):
    async def run(line: str, **options):
        env = command_env(os.environ)
        ws = options.pop("ws", tmp_path)
        done = await sandbox.run(line, ws, cwd=ws, env=env, timeout=options.pop("timeout", 20), **options)
        return done.exit_code, done.output.decode()

    return run


@pytest.mark.parametrize(
    ("abi", "files", "tcp", "scoped"),
    [
        (1, 0x1FF6, 0, 0),
        (2, 0x3FF6, 0, 0),
        (3, 0x7FF6, 0, 0),
        (4, 0x7FF6, 3, 0),
        (5, 0xFFF6, 3, 0),
        (6, 0xFFF6, 3, 3),
        (9, 0xFFF6, 3, 3),
    ],
)
def test_no_right_is_asked_of_a_kernel_that_does_not_know_it(abi, files, tcp, scoped):
    assert handled(abi, network=False) == (files, tcp, scoped)
    assert handled(abi, network=True) == (files, 0, scoped)
    known = struct.pack("=QQQ", files, tcp, scoped)
    assert ruleset_bytes(abi, network=False) == known[: 8 if abi < 4 else 16 if abi < 6 else 24]


def test_a_rule_is_packed_without_a_gap():
    assert rule_bytes(0x2, 7) == b"\x02\0\0\0\0\0\0\0\x07\0\0\0"


def test_what_may_be_read_leaves_the_hidden_out_and_no_link_brings_it_back(tmp_path):
    (tmp_path / "home/.ssh").mkdir(parents=True)
    (tmp_path / "home/code").mkdir()
    (tmp_path / "etc").mkdir()
    (tmp_path / "home/back").symlink_to(tmp_path)
    (tmp_path / "home/keys").symlink_to(tmp_path / "home/.ssh")
    found = places_to_read([f"{tmp_path}/home/.ssh"], str(tmp_path))
    assert sorted(found) == [f"{tmp_path}/etc", f"{tmp_path}/home/code"]
    assert places_to_read([], "/") == ["/"]
    assert places_to_read([f"{tmp_path}/home"], f"{tmp_path}/home") == []


async def test_a_command_writes_in_the_workspace_and_its_temp_folder_and_nowhere_else(run, tmp_path):
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "old").write_text("old")
    assert await run("echo in > here && cat here && echo t > $TMPDIR/t && echo x > /dev/null") == (0, "in\n")
    assert await run("cat $TMPDIR/t; python3 -c 'import tempfile; tempfile.TemporaryFile()'") == (0, "t\n")
    for line in (
        f"touch {outside}/new",
        f"echo x > {outside}/old",
        f"rm {outside}/old",
        f"mv {outside}/old .",
        f"ln {outside}/old here2",
        f"ln -s {outside}/old l; echo x > l",
        f"truncate -s 0 {outside}/old",
        f"mkdir {outside}/d",
        "touch ~/rundry-x",
        "touch /etc/rundry-x",
    ):
        code, said = await run(line)
        assert code != 0 and ("denied" in said or "cross-device" in said), line
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("old", "old")]


async def test_a_file_moves_from_folder_to_folder_and_git_works(run, tmp_path):
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    line = "mkdir a b; echo x > a/f; mv a/f b/g; ln b/g a/h; cat a/h; git add . && git -c user.name=a "
    code, said = await run(line + "-c user.email=b commit -qm one && git log --format=%s")
    assert (code, said) == (0, "x\none\n")


@pytest.fixture
def home(pytestconfig):
    """A folder that is not below a temp folder."""
    with tempfile.TemporaryDirectory(dir=visible_folder(pytestconfig.rootpath), prefix=".test-") as folder:
        yield Path(folder).resolve()


async def test_what_is_hidden_cannot_be_read_but_what_lies_next_to_it_can(home, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    tmp_path = home
    runs, ws = tmp_path / "runs", tmp_path / "w"
    runs.mkdir()
    ws.mkdir()
    (runs / "journal").write_text("secret")
    (tmp_path / "beside").write_text("beside")
    sandbox = await Sandbox.detect(hide=[runs], kinds=["landlock"])
    if sandbox.kind is None:
        pytest.skip(sandbox.why_none)
    line = f"cat {tmp_path}/beside; cat {runs}/journal; ln {runs}/journal j; cat j; cat {runs.parent}/w/../runs/journal"
    done = await sandbox.run(line, ws, cwd=ws, env=command_env(os.environ), timeout=5)
    assert done.output.startswith(b"beside") and b"secret" not in done.output


async def test_only_the_system_the_home_and_what_is_shown_can_be_read(home, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    for name in ("data", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(f"{name}\n")
    (tmp_path / "data/keys").mkdir()
    (tmp_path / "data/keys/file").write_text("hush")
    hide_rules = HideRules(show=(tmp_path / "data",), hide=(tmp_path / "data/keys",), own=(tmp_path / "data/keys",))
    found = await Sandbox.detect(kinds=["landlock"], hide_rules=hide_rules)
    if found.kind is None:
        pytest.skip(found.why_none)
    ws = home / "work"
    ws.mkdir()
    line = f"cat {tmp_path}/*/file {tmp_path}/data/keys/file; cat /etc/hostname /proc/self/stat >/dev/null && echo ok"
    done = await found.run(line, ws, cwd=ws, env=command_env(os.environ), timeout=10)
    said = done.output.decode()
    assert "data" in said.splitlines() and "ok" in said.splitlines()
    assert "other" not in said.splitlines() and "hush" not in said


async def test_no_terminal_of_the_user_can_be_opened(run, tmp_path):
    main, other = os.openpty()
    name = os.ttyname(other)
    try:
        code, said = await run(f"cat < {name} & echo forged > {name}; exec 3<> {name}; exec 3<> /dev/tty")
        os.set_blocking(main, False)
        with pytest.raises(BlockingIOError):
            os.read(main, 10)
        assert code != 0 and said.count("Permission denied") >= 3, said
    finally:
        os.close(main)
        os.close(other)


@pytest.fixture
def programs(home, monkeypatch):
    """A workspace with a folder of PATH in it."""
    folder = home / "work/.venv/bin"
    folder.mkdir(parents=True)
    (folder / "tool").write_text("#!/bin/sh\necho mine\n")
    (folder / "tool").chmod(0o755)
    (folder / "large").write_bytes(bytes(3_000_000))
    (folder / "link").symlink_to("tool")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def entries(folder: Path) -> dict[str, object]:
    """What stands in a folder."""
    return {
        path.name: os.readlink(path) if path.is_symlink() else (path.stat().st_mode, path.read_bytes())
        for path in folder.iterdir()
    }


async def test_a_change_of_programs_of_path_in_the_workspace_stays_and_is_named(sandbox, programs):
    ws = programs.parents[1]
    with in_place(sandbox, ws) as place:
        for line, names in (
            ("echo evil > .venv/bin/tool", {"tool"}),
            ("echo evil > .venv/bin/rg; chmod +x .venv/bin/rg", {"rg"}),
            ("printf x | dd of=.venv/bin/large conv=notrunc seek=100", {"large"}),
            ("ln -sf /bin/true .venv/bin/link", {"link"}),
            ("chmod 4644 .venv/bin/tool", {"tool"}),
            ("rm .venv/bin/link", {"link"}),
            ("mv .venv/bin .venv/other", {"tool", "rg", "large"}),
        ):
            done, named, _ = await place.run(line)
            assert done.exit_code == 0 and named.keys() == {f".venv/bin/{name}" for name in names}, (line, named)
    assert entries(ws / ".venv/other").keys() == {"tool", "rg", "large"}
    assert (ws / ".venv/other/tool").read_text() == "evil\n"


async def test_programs_that_are_only_run_or_touched_are_not_named(sandbox, programs):
    with in_place(sandbox, programs.parents[1]) as place:
        done, named, _ = await place.run("tool; touch new .venv/bin/tool; .venv/bin/link")
    assert (done.exit_code, done.output, named) == (0, b"mine\nmine\n", {})


async def test_a_change_of_programs_that_was_let_through_is_not_named(sandbox, programs):
    with in_place(sandbox, programs.parents[1]) as place:
        _, named, _ = await place.run("echo new > .venv/bin/new", Access(writable=[programs]))
    assert (programs / "new").exists() and named == {}


async def test_a_folder_of_programs_with_many_entries_is_compared_too(sandbox, programs):
    with in_place(sandbox, programs.parents[1]) as place:
        for number in range(5_001):
            (programs / f"f{number}").touch()
        _, named, _ = await place.run("rm .venv/bin/f1; touch .venv/bin/new")
    assert named.keys() == {".venv/bin/f1", ".venv/bin/new"}
    assert (programs / "new").exists() and (programs / "f2").exists() and not (programs / "f1").exists()


async def test_a_change_of_gits_hooks_and_config_stays_and_is_named_once(sandbox, tmp_path):
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    git = tmp_path / ".git"
    (git / "hooks" / "pre-push").write_text("mine")
    (git / "hooks" / "pre-push").chmod(0o755)
    (tmp_path / ".envrc").write_text("mine")
    (tmp_path / ".rundry.toml").write_text("mine")
    with in_place(sandbox, tmp_path) as place:
        for line, name in (
            ("echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit", ".git/hooks/pre-commit"),
            ("git config core.fsmonitor ./x", ".git/config"),
            ("echo x > .git/config.worktree", ".git/config.worktree"),
            ("echo '* filter=x' > .git/info/attributes", ".git/info/attributes"),
            ("echo ../other > .git/commondir", ".git/commondir"),
            ("rm .git/commondir; echo x > .git/hooks/pre-push", ".git/hooks/pre-push"),
            ("chmod 644 .git/hooks/pre-push", ".git/hooks/pre-push"),
            ("rm .git/hooks/pre-push; ln -s /bin/sh .git/hooks/pre-push", ".git/hooks/pre-push"),
            ("mv .git/hooks .git/h; mkdir out; ln -s ../out .git/hooks", ".git/hooks"),
            ("rm .git/hooks", ".git/hooks"),
            ("mv .git other && cp -r other .git && echo x >> .git/config; rm -rf other", ".git/config"),
            ("echo x > .envrc", ".envrc"),
            ("mkdir -p .vscode; echo x > .vscode/tasks.json", ".vscode/tasks.json"),
            ("rm .rundry.toml", ".rundry.toml"),
        ):
            done, named, _ = await place.run(line)
            assert done.exit_code == 0 and name in named, (line, done.output, named)
        assert (git / "config").read_text().endswith("x\n") and (tmp_path / ".envrc").read_text() == "x\n"
        assert (await place.run("git log 2>/dev/null; cat .git/config; mkdir -p .git/hooks")).named == {}


async def test_another_repository_in_the_place_of_the_first_stays_and_is_named(sandbox, tmp_path):
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    with in_place(sandbox, tmp_path) as place:
        done, named, _ = await place.run("mkdir -p evil/hooks; mv .git old; ln -s evil .git")
    assert done.exit_code == 0 and ".git" in named
    assert (tmp_path / ".git").is_symlink() and (tmp_path / "old/HEAD").exists()


TODO = ".git/rebase-merge/git-rebase-todo"
TODOS = {
    "a new line": (f"echo exec touch x >> {TODO}", TODO),
    "its short form": (f"printf ' x touch x\\n' >> {TODO}", TODO),
    "the copy of an edit": (f"echo exec touch x > {TODO}.backup", f"{TODO}.backup"),
    "another file": (f"cp {TODO} t; echo exec y >> t; mv t {TODO}", TODO),
    "another name": (f"ln {TODO} t; echo exec y >> t", TODO),
    "a link": (f"echo exec y > t; ln -sf ../../t {TODO}", TODO),
    "a folder that is a link": (
        "cd .git; mv rebase-merge ../m; echo exec y >> ../m/git-rebase-todo; ln -s ../m rebase-merge",
        ".git/rebase-merge",
    ),
    "another working tree": (
        "mkdir -p .git/worktrees/w/rebase-merge; echo exec y > .git/worktrees/w/rebase-merge/git-rebase-todo",
        ".git/worktrees/w/rebase-merge/git-rebase-todo",
    ),
}


@pytest.mark.parametrize("way", TODOS)
async def test_a_command_that_a_rebase_would_run_is_named(sandbox, tmp_path, way):
    commit_three(tmp_path)
    begin_rebase(tmp_path)
    line, name = TODOS[way]
    with in_place(sandbox, tmp_path) as place:
        assert (await place.run("git status; git rebase --abort; git rebase -q HEAD~1 2>&1")).named == {}
        begin_rebase(tmp_path)
        assert name in (await place.run(line)).named


async def test_a_rebase_of_the_user_that_a_command_continues_is_not_named(sandbox, tmp_path):
    commit_three(tmp_path)
    begin_rebase(tmp_path)
    with in_place(sandbox, tmp_path) as place:
        who = "git -c user.name=u -c user.email=u@x"
        assert (await place.run(f"echo x > other; GIT_EDITOR=true {who} rebase --skip; git status")).named == {}


def commit_three(ws: Path) -> None:
    users_git(ws, "init", "-q", "-b", "main", ".")
    for text in ("one\n", "two\n", "three\n"):
        (ws / "a").write_text(text)
        users_git(ws, "add", "a")
        users_git(ws, "commit", "-qm", text)


def users_git(folder: Path, *argv: str) -> None:
    who = ["-c", "user.name=u", "-c", "user.email=u@x"]
    subprocess.run(["git", *who, *argv], cwd=folder, check=False, capture_output=True)


def begin_rebase(ws: Path) -> None:
    """Stop at an `exec` of a rebase with `--exec`."""
    users_git(ws, "rebase", "-x", "false", "HEAD~1")
    assert (ws / ".git/rebase-merge/git-rebase-todo").exists()


def begin_picks(ws: Path) -> None:
    """Stop at a conflict of the first of two picks."""
    users_git(ws, "cherry-pick", "HEAD~1", "HEAD")
    assert (ws / ".git/sequencer").exists()


def edit_protected(ws: Path) -> None:
    (ws / ".envrc").write_text("export MINE=1\n")
    (ws / ".vscode/tasks.json").write_text('{"mine": 1}\n')
    (ws / ".git/hooks/pre-commit").write_text("#!/bin/sh\nexit 0\n")
    (ws / ".git/hooks/pre-commit").chmod(0o755)
    users_git(ws, "config", "core.editor", "mine")


def make_files(ws: Path) -> None:
    (ws / ".rundry.toml").write_text("[sandbox]\n")
    (ws / "CLAUDE.md").write_text("mine\n")
    (ws / "notes").write_text("mine\n")
    users_git(ws, "init", "-q", "nested")
    users_git(ws, "init", "-q", "--bare", "bare")


def delete_protected(ws: Path) -> None:
    (ws / ".envrc").unlink()
    (ws / ".vscode/tasks.json").unlink()
    (ws / ".vscode").rmdir()


def contents(ws: Path) -> dict[str, tuple[int, bytes]]:
    """Each file below the workspace, without the two of the test."""
    files = [path for path in ws.rglob("*") if path.is_file() and path.name not in ("begun", "go")]
    return {str(path.relative_to(ws)): (path.stat().st_mode, path.read_bytes()) for path in files}


@pytest.mark.parametrize("kind", ["landlock", "none"])
@pytest.mark.parametrize("user", [edit_protected, begin_rebase, begin_picks, make_files, delete_protected])
async def test_what_the_user_does_while_a_command_runs_stays_byte_for_byte(tmp_path, kind, user):
    found = await Sandbox.detect(kinds=["landlock"]) if kind == "landlock" else Sandbox(None, "no sandbox: as asked")
    if found.kind is None and kind == "landlock":
        pytest.skip(found.why_none)
    commit_three(tmp_path)
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".vscode/tasks.json").write_text("{}\n")
    (tmp_path / ".envrc").write_text("old\n")
    with in_place(found, tmp_path) as place:
        running = asyncio.ensure_future(place.run("touch begun; until [ -e go ]; do sleep 0.02; done", timeout=60))
        async with asyncio.timeout(30):
            while not (tmp_path / "begun").exists():
                await asyncio.sleep(0.02)
        user(tmp_path)
        before = contents(tmp_path)
        (tmp_path / "go").touch()
        assert (await running).done.exit_code == 0
    assert contents(tmp_path) == before


async def test_protected_places_that_were_let_through_stay_changed(sandbox, tmp_path):
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    with in_place(sandbox, tmp_path) as place:
        done, named, _ = await place.run("git remote add origin x", Access(writable=[tmp_path / ".git/config"]))
    assert (done.exit_code, done.output, named) == (0, b"", {}) and "origin" in (tmp_path / ".git/config").read_text()


async def test_where_it_cannot_hold_nothing_runs(tmp_path):
    """An old kernel is one thing, a refused rule another: here the settings themselves are broken."""
    settings = {"landlock": {"write": []}, "processes": 100, "filter": "", "report": -1}
    argv = [sys.executable, "-I", "-S", restrict_process.__file__, json.dumps(settings)]
    done = subprocess.run([*argv, "touch", str(tmp_path / "ran")], capture_output=True, check=False)
    assert done.returncode != 0 and not (tmp_path / "ran").exists()


async def test_a_program_that_is_not_there_is_reported_as_a_shell_says_it(sandbox, tmp_path):
    done = await sandbox.run(["no-such-program"], tmp_path, cwd=tmp_path, env=command_env(os.environ), timeout=5)
    assert done.exit_code == 127 and b"no-such-program" in done.output
