"""Command lines of usual work do in a layer what they do directly: the same files, and the same repository.

`lines.toml` has the lines. What differs is listed, with its reason, in docs/explanation/layers.md.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fakes.in_process.driven import Driven
from fakes.layered_folder import layered_folder
from fakes.models.model import ScriptedModel
from fakes.turns import call, say
from sampling import sampled

from rundry.agent.host.processes.processes import shell
from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Budget, Decide
from rundry.agent.sandbox.command_environment import command_env

from ..gitting import WHEN
from .compared import differences, seen

PAGE = "docs/explanation/layers.md"
_MOST_PROPOSALS = 5
_PLAIN = re.compile(r"[^ -~]|[\[\]]")
_OF_EACH_GROUP = 3
"""Lines of each group that always run, unless it is slow; the others are long tests."""


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A command line, and what may differ."""

    run: str
    more: str = ""
    needs: list[str] = []
    look: str = ""
    differs: list[str] = []
    row: str = ""


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Command lines that begin in the same workspace."""

    name: str
    setup: list[str]
    lines: list[str | dict[str, Any]]
    needs: list[str] = []
    slow: bool = False
    """Whether all of its lines are long tests."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    setups: dict[str, str]
    groups: list[Group] = msgspec.field(name="group")


FILE = msgspec.convert(tomllib.loads(Path(__file__).with_name("lines.toml").read_text("utf-8")), _File)


def cases() -> Iterator[tuple[Group, Line]]:
    for group in FILE.groups:
        for line in group.lines:
            yield group, msgspec.convert({"run": line} if isinstance(line, str) else line, Line)


CASES = sorted(cases(), key=lambda case: case[0].slow)
IDS = [f"{group.name}: {_PLAIN.sub('_', line.run)[:60]}" for group, line in CASES]
SAMPLED = sampled([case for case in CASES if not case[0].slow], _OF_EACH_GROUP, lambda case: case[0].name)
SLOW = sampled([case for case in CASES if case[0].slow], 0)


def environment(place: Path) -> dict[str, str]:
    """Return the variables of a user with nothing at home, with fixed dates, and caches outside of the workspace."""
    tools, caches = Path.home() / ".rustup", f"/tmp/rundry-lines-{os.getpid()}"
    who = {f"GIT_{who}_{what}": "ann" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    found = {
        **{name: os.environ[name] for name in ("LANG", "LC_ALL", "LD_LIBRARY_PATH") if name in os.environ},
        **({"RUSTUP_HOME": str(tools)} if tools.exists() else {}),
        **who,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(place / "home"),
        "TMPDIR": "/tmp",
        "GIT_AUTHOR_DATE": WHEN,
        "GIT_COMMITTER_DATE": WHEN,
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "SOURCE_DATE_EPOCH": "1700000000",
        "PYTHONHASHSEED": "0",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
        "RUFF_NO_CACHE": "true",
        "UV_CACHE_DIR": f"{caches}/uv",
        "UV_OFFLINE": "1",
        "npm_config_cache": f"{caches}/npm",
        "npm_config_userconfig": "/dev/null",
        "npm_config_offline": "true",
        "CARGO_HOME": f"{caches}/cargo",
        "CARGO_INCREMENTAL": "0",
        "GOPATH": f"{caches}/go",
        "GOCACHE": f"{caches}/go-build",
        "GOFLAGS": "-buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GRADLE_USER_HOME": f"{caches}/gradle",
        "MAVEN_OPTS": f"-Dmaven.repo.local={place}/home/.m2/repository",
    }
    return command_env(found)


def skip_without(needs: list[str], path: str) -> None:
    for name in needs:
        kind, _, module = name.partition(":")
        is_there = importlib.util.find_spec(module) if module else shutil.which(kind, path=path)
        if not (Path(name).exists() if name.startswith("/") else is_there):
            pytest.skip(f"{module or kind} is not installed")


@pytest.fixture
async def place(pytestconfig: pytest.Config) -> AsyncIterator[Path]:
    """A folder for a workspace, with a home and a place for runs."""
    async with layered_folder(pytestconfig.rootpath) as folder:
        for name in ("home", "runs"):
            (folder / name).mkdir(mode=0o700)
        yield folder
    shutil.rmtree(f"/tmp/rundry-lines-{os.getpid()}", ignore_errors=True)


def done(script: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    argv = shell(script, folder)
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, stdin=subprocess.DEVNULL, check=False)


def directly(line: Line, work: Path, env: dict[str, str]) -> str:
    ran = done(line.run, work, env)
    return f"exit {ran.returncode}"


async def in_a_layer(line: Line, place: Path, env: dict[str, str]) -> str:
    """Let the model of a run call the line, and a person accept all that it changes."""
    turns = [call("run_command", command=line.run), say("done")]
    run = Driven(place / "runs", place / "work", ScriptedModel(turns), budget=Budget(steps=1))
    run.env = env
    for nth in range(1, _MOST_PROPOSALS + 1):
        run.on("proposal_opened", _approved, nth=nth)
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(_watch(run))
        await run.run(watched=True, within=200)
        watching.cancel()
    opened = [event for event in run.events if event["type"] == "proposal_opened"]
    assert not any(event["beyond"] for event in opened), run.story()
    (finished,) = [event for event in run.events if event["type"] == "tool_finished"]
    assert "Not applied" not in finished["result"], finished["result"]
    return finished["summary"]


async def _watch(run: Driven) -> None:
    """Be there, however long a line takes."""
    view = Journal.open(run.path)
    try:
        while True:
            view.views.beat("test")
            await asyncio.sleep(2)
    finally:
        view.close()


def _approved(event: dict[str, Any]) -> Decide:
    verdict = "reject" if event["beyond"] else "approve"
    return Decide(proposal_id=event["proposal_id"], digest=event["digest"], verdict=verdict)


@pytest.mark.parametrize(("group", "line"), [*SAMPLED, *SLOW], ids=IDS)
async def test_a_command_line_does_in_a_layer_what_it_does_directly(place: Path, group: Group, line: Line):
    env, work = environment(place), place / "work"
    skip_without([*group.needs, *line.needs], env["PATH"])
    work.mkdir()
    for name in (*group.setup, *([line.more] if line.more else [])):
        made = done(f"set -e; {FILE.setups[name]}", work, env)
        assert made.returncode == 0, made.stderr.decode(errors="replace")
    subprocess.run(["cp", "-a", work, place / "start"], check=True)
    found = list[dict[str, str]]()
    for how in ("directly", "in a layer"):
        done("git status", work, env)  # the index knows the inodes of this copy
        ended = directly(line, work, env) if how == "directly" else await in_a_layer(line, place, env)
        compared = seen(work)
        looked = done(line.look, work, env).stdout.decode(errors="replace") if line.look else ""
        found.append({"exit code": ended, **compared, "look": looked})
        work.rename(place / how)
        subprocess.run(["cp", "-a", place / "start", work], check=True)
    differing = differences(*found)
    unexpected = [text for name, text in differing.items() if not any(fnmatchcase(name, one) for one in line.differs)]
    assert not unexpected, "\n".join(unexpected)
    assert bool(differing) == bool(line.differs), f"nothing differs any more: remove it, and see {PAGE}"
    assert not any(text for name, text in found[1].items() if name.startswith("git ") and name.endswith(" fsck"))


def test_each_difference_has_its_row_on_the_page_and_each_row_a_line(pytestconfig: pytest.Config):
    page = (pytestconfig.rootpath / PAGE).read_text("utf-8")
    rows = set(re.findall(r"^\| \*\*(.+?)\*\* \|", page, re.MULTILINE))
    named = {line.row for _, line in CASES if line.row}
    assert named == rows
    assert all(bool(line.row) == bool(line.differs) for _, line in CASES)
    assert len(CASES) >= 120
