"""A `deny` rule for a path holds for every program that runs in the sandbox."""

import asyncio
import os
import subprocess

import pytest
from fakes.in_place import in_place

from rundry.agent.host.file_errors import PathRefused
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.protocol import Rule
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.denied_paths import denied_paths
from rundry.agent.sandbox.hidden_places import HideRules
from rundry.agent.sandbox.sandbox import Sandbox

RULES = [
    Rule(verdict="deny", path="/.env"),
    Rule(verdict="deny", path="sub/.env"),
    Rule(verdict="deny", path="sub/inner/.env"),
    Rule(verdict="deny", path="private/"),
]


@pytest.fixture
def ws(tmp_path):
    ws = tmp_path / "work"
    (ws / "private/deep").mkdir(parents=True)
    (ws / "sub/inner").mkdir(parents=True)
    for name in (".env", "private/deep/notes", "sub/.env"):
        (ws / name).write_text("hush")
    (ws / "plain").write_text("plain text")
    (ws / "sub/inner/code").write_text("code text")
    (ws / "link").symlink_to(".env")
    return ws


@pytest.fixture(params=["bubblewrap", "landlock"])
async def sandbox(request):
    sandbox = await Sandbox.detect(
        kinds=[request.param], hide_rules=HideRules(denied=lambda root: denied_paths(RULES, root))
    )
    if sandbox.kind is None:
        pytest.skip(sandbox.why_none)
    return sandbox


@pytest.fixture
def place(sandbox, ws):
    with in_place(sandbox, ws) as place:
        yield place


@pytest.fixture
def run(place):
    async def run(line: str) -> str:
        return (await place.run(line)).done.output.decode("utf-8", "replace")

    return run


@pytest.mark.parametrize(
    "line",
    [
        "grep -r hush .",
        "cat .env sub/.env private/deep/notes link",
        "tar cf - . | strings",
        "python3 -c \"print(open('.env').read())\"",
        "ln .env hard; ln -s .env soft; cat hard soft",
        "cp -r private copied; cat copied/deep/notes",
        "mv .env moved; mv private elsewhere; mv sub private2; cat moved elsewhere/deep/notes private2/.env",
        "cat /proc/self/cwd/.env",
        "git init -q . ; git add -A; git show :.env :sub/.env :private/deep/notes",
        "umount .env private sub/.env; cat .env private/deep/notes sub/.env",
        "chmod -R 777 .; cat .env private/deep/notes",
    ],
)
async def test_no_program_reads_what_a_rule_denies(run, ws, line):
    assert "hush" not in await run(line)
    assert sum(path.is_file() and path.read_bytes() == b"hush" for path in ws.rglob("*")) >= 3


async def test_everything_else_in_the_workspace_is_read_and_written(run, ws):
    said = await run("cat plain sub/inner/code; echo made > sub/inner/new; cat sub/inner/new; echo x > top; rm plain")
    assert "plain text" in said and "code text" in said and "made" in said
    assert (ws / "top").read_text() == "x\n" and not (ws / "plain").exists()


async def test_a_denied_file_that_came_later_is_hidden_from_the_next_command(run, ws):
    (ws / "sub/inner/.env").write_text("hush")
    assert "hush" not in await run("cat sub/inner/.env")


@pytest.mark.parametrize(
    "line",
    [
        "echo x > .env",
        "rm -rf .env private sub",
        "mv plain .env",
        "echo x > private/deep/notes; touch private/deep/more",
        "chmod 000 .env; truncate -s 0 sub/.env",
        "mv .env moved; ln private/deep/notes private/deep/again",
    ],
)
async def test_what_a_rule_denies_is_as_it_was_after_a_command_or_the_change_is_named(sandbox, place, ws, line):
    names = (".env", "private/deep/notes", "sub/.env")

    def found_at(name: str) -> tuple[int, str] | None:
        if not (ws / name).exists():
            return None
        mode = (ws / name).stat().st_mode
        (ws / name).chmod(mode | 0o400)  # a command may have made it unreadable for its owner
        text = (ws / name).read_text()
        (ws / name).chmod(mode)
        return mode, text

    before = {name: found_at(name) for name in names}
    named = (await place.run(line)).named
    for name in names:
        is_same = found_at(name) == before[name]
        assert is_same or (sandbox.kind == "landlock" and named[name] == "commands must not read or change it")


MOVES = ["mv .env moved", "ln .env moved", "mv private moved", "mv sub moved", "ln -s .env moved"]


@pytest.mark.parametrize("line", MOVES)
async def test_another_name_does_not_make_it_readable_for_the_next_command_or_a_tool(sandbox, run, ws, line):
    await run(line)
    assert "hush" not in await run("cat moved moved/deep/notes moved/.env; grep -r hush .")
    copy = sandbox.separate_copy()
    done = await copy.run("cat moved moved/.env", ws, cwd=ws, env=command_env(os.environ), timeout=30)
    assert b"hush" not in done.output
    workspace = Workspace(ws)
    workspace.further_hidden = sandbox.further_hidden
    for name in ("moved", "moved/deep/notes", "moved/inner/../.env"):
        path = ws / name
        if path.is_file() and not path.is_symlink() and path.read_text() == "hush":
            assert path.resolve() in sandbox.further_hidden
            with pytest.raises(PathRefused):
                workspace.resolve(name)


async def test_a_hidden_file_that_the_user_renames_meanwhile_keeps_its_new_name(place, ws):
    running = asyncio.ensure_future(place.run("touch begun; until [ -e go ]; do sleep 0.02; done"))
    async with asyncio.timeout(20):
        while not (ws / "begun").exists():
            await asyncio.sleep(0.02)
    (ws / "sub").rename(ws / "other")
    (ws / "go").touch()
    assert (await running).names == ["other/.env"]
    assert (ws / "other/.env").read_text() == "hush" and not (ws / "sub").exists()


def test_rules_of_other_tools_and_verdicts_hide_nothing(ws):
    rules = [
        Rule(verdict="deny", path=".env", tool="edit_file"),
        Rule(verdict="ask", path="plain"),
        Rule(verdict="deny", command="rm *"),
    ]
    assert denied_paths(rules, ws) == []
    assert sorted(denied_paths(RULES, ws)) == [".env", "private", "sub/.env"]
    assert denied_paths([Rule(verdict="deny", path="/etc/passwd")], ws) == ["/etc/passwd"]


async def test_a_commit_that_holds_it_stays_readable_through_git_and_that_is_reported(ws):
    git = ["git", "-c", "user.name=me", "-c", "user.email=me@x", "-C", str(ws)]
    for words in (["init", "-q"], ["add", "-Af"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], check=True)
    sandbox = await Sandbox.detect(hide_rules=HideRules(denied=lambda root: denied_paths(RULES, root)))
    if sandbox.kind is None:
        pytest.skip(sandbox.why_none)
    done = await sandbox.run("git show HEAD:.env", ws, cwd=ws, env=command_env(os.environ), timeout=30)
    assert b"hush" in done.output
