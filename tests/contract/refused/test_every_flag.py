"""Wrong values of every option, argument, variable and key: one line, exit code 2, nothing changed. The cases are
generated from the program, so that a new option is tried too (docs/requirements.md 12).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import click
import pytest
from fakes.in_process.forked import Forked
from fakes.project import git
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import say
from sampling import sampled

from rundry.agent.settings.option_table import BY_CONFIG_KEY, OPTIONS
from rundry.agent.settings.search.search_tables import TABLES
from rundry.tui.cli.root import cli

NOWHERE = "http://127.0.0.1:9/v1"
"""No server answers here: a run whose values are all right is refused in one line, too."""
BASES: dict[str, list[str]] = {
    "run": ["run", "do it", "--headless"],
    "find": ["find", "--headless", "--recipe", "migrate", "--check", "true", "--task", "t", "NOTES.md"],
    "demo": ["demo", "--headless"],
    "resume": ["resume", "RUN", "--headless"],
    "ctl": ["ctl", "RUN", "pause"],
    "key": ["key", "file", "NOTES.md"],
    "completion": ["completion", "bash"],
    "watch": ["watch", "RUN"],
    **{name: [name, "RUN"] for name in ("approve", "reject", "export", "fork", "verify", "check", "backup")},
}
"""A command line of each command to which an option is added; others stand alone."""
VALUES = (
    "",
    " ",
    "x",
    "-1",
    "9" * 30,
    "1e999",
    "nan",
    "gone/file",
    "calc",
    "data.bin",
    "pipe",
    "loop",
    "a" * 5_000,
    "a\nb",
    "\x1b[31mred",
)
ARGUMENTS = ("", "gone/file", "calc", "data.bin", "pipe", "loop", "empty.toml", "a" * 5_000, "../..", "20991231")
TOML = ("true", "[]", "{}", "-1", "1e400", "9" * 30, '""', '"x"', "[{}]", "[1]", "1979-05-27")
REPORTS = (
    "config",
    "doctor",
    "check",
    "runs",
    "models",
    "report",
    "help",
    "man",
    "completion",
    "key",
    "export",
    "handoffs",
    "verify",
    "backup",
    "fork",
    "mcp",
    "recipes",
    "skills",
)
"""Commands for which a value may be right although nothing runs."""
WRITES = ("backup", "export", "fork", "report", "verify")
"""Commands that write what they are asked for."""


@dataclass
class Place:
    """A home, a project and an ended run for the cases of one test."""

    home: Home
    project: Path
    commands: Forked
    run_id: str = ""

    def state(self) -> dict[str, object]:
        """Return all files of the project and the home, with size and time of change."""
        roots = (self.project, self.home.root, self.home.runs)
        kept = {".git", "cache", "runs.index"}
        files = [path for root in roots for path in root.rglob("*") if not kept & {*path.parts}]
        return {str(path): (s := path.lstat()).st_size and s.st_mtime_ns for path in files if not path.is_dir()}

    def problems(self, argv: list[str], env: dict[str, str] | None = None) -> str:
        """Run a command. Returns what is wrong with its end, or an empty string."""
        name, before = argv[0], self.state()
        argv = [self.run_id if word == "RUN" else word for word in argv]
        code, out, err = self.commands.run(argv, cwd=self.project, env={**self.home.env, **(env or {})})
        lines = [line for line in err.splitlines() if not line.startswith(("asking ", "checking ", "loading "))]
        found = list[str]()
        if code != 2 and not (name in REPORTS and code in (0, 1)) and (name, code) != ("verify", 6):
            found.append(f"exit code {code}")
        if code == 2 and (len(lines) != 1 or out):
            found.append(f"{len(lines)} lines and {len(out)} characters of output")
        if code == 2 and (len(err) > 900 or len(re.findall(r"[.!?] [A-Z]", err)) > 1):
            found.append("too long")
        if "Traceback" in err or "\x1b" in err:
            found.append("a traceback or a control character")
        after = self.state()
        if name == "verify":  # it records in the journal what its command answered
            before, after = ({p: at for p, at in files.items() if ".db" not in p} for files in (before, after))
        if after != before and not (name in WRITES and code == 0):
            changed = [path for path, at in after.items() if before.get(path) != at]
            found.append(f"changed {changed[:3]}")
        return f"{' '.join(argv)[:150]!r}: {', '.join(found)}: {err[:300]}" if found else ""


@pytest.fixture
def place(home: Home, project: Path) -> Iterator[Place]:
    (project / "data.bin").write_bytes(bytes(range(256)) * 9)
    (project / "empty.toml").touch()
    (project / "loop").symlink_to("loop")
    os.mkfifo(project / "pipe")
    git(project, "checkout", "-qb", "topic")
    with ScriptedServer(then=say("done")) as server:
        argv = ["-p", "look", "--model", "fake", "--api-base", server.base_url]
        assert home.run(*argv, cwd=project).exit_code == 0
    with Forked() as commands:
        yield Place(home, project, commands, home.journals()[0].stem)


def assert_none(found: list[str]) -> None:
    problems = [problem for problem in found if problem]
    assert not problems, "\n".join(problems)


def with_model(command: click.Command, without: str = "") -> list[str]:
    """Return the options of a model for a command that has them."""
    flags = {name for param in command.params for name in param.opts}
    pairs = {"--model": "fake", "--api-base": NOWHERE}
    return [word for flag, value in pairs.items() if flag in flags and flag != without for word in (flag, value)]


def of_options() -> list[tuple[str, str, str]]:
    """Return command, option and value for each option that takes a value."""
    return [
        (name, option.opts[-1] if option.opts[-1].startswith("--") else option.opts[0], value)
        for name, command in sorted(cli.commands.items())
        for option in command.params
        if isinstance(option, click.Option) and not option.is_flag
        for value in VALUES
        if not (name == "demo" and option.name in ("cwd", "runs_dir"))  # any folder is right, and the demo runs there
    ]


OF_OPTIONS = of_options()
SHARED = 40
SHARES = pytest.mark.parametrize("share", sampled(range(SHARED), 1))
"""By default one of the shares is tried."""


@SHARES
def test_a_wrong_value_of_an_option_is_one_line_and_changes_nothing(place: Place, share: int):
    found = list[str]()
    for name, option, value in OF_OPTIONS[share::SHARED]:
        argv = [*BASES.get(name, [name]), f"{option}={value}", *with_model(cli.commands[name], option)]
        found.append(place.problems(argv))
    assert_none(found)


def test_a_wrong_argument_is_one_line_and_changes_nothing(place: Place):
    found = [
        place.problems([name, value, *(["pause"] if name == "ctl" else []), *screen])
        for name, base in BASES.items()
        if "RUN" in base
        for screen in [["--headless"] if name == "resume" else []]
        for value in ARGUMENTS
    ]
    for value in ARGUMENTS:
        found.append(place.problems(["find", value, "--headless", "--model", "fake", "--api-base", NOWHERE]))
    assert_none(found)


@SHARES
def test_a_wrong_variable_is_one_line_and_changes_nothing(place: Place, share: int):
    argv = [*BASES["run"], *with_model(cli.commands["run"])]
    names = [f"RUNDRY_{name.upper()}" for name, option in OPTIONS.items() if option.from_env]
    assert_none([place.problems(argv, {name: value}) for name, value in list(product(names, VALUES))[share::SHARED]])


@SHARES
def test_a_wrong_key_of_the_config_is_one_line_and_changes_nothing(place: Place, share: int):
    place.home.config_file.parent.mkdir(parents=True)
    argv = [*BASES["run"], *with_model(cli.commands["run"])]
    found = list[str]()
    for key, value in list(product(BY_CONFIG_KEY, TOML))[share::SHARED]:
        group, _, name = key.rpartition(".")
        place.home.config_file.write_text(f"{f'[{group}]' if group else ''}\n{name} = {value}\n")
        found.append(place.problems(argv))
    assert_none(found)


@SHARES
def test_a_wrong_key_of_a_search_file_is_one_line_and_changes_nothing(place: Place, share: int):
    argv = ["find", "search.toml", "--headless", "--model", "fake", "--api-base", NOWHERE]
    found = list[str]()
    keys = [(table, key) for table, kind in TABLES.items() for key in (*kind.__struct_fields__, "no_such_key")]
    for (table, key), value in list(product(keys, TOML))[share::SHARED]:
        head = f"[[{table}]]" if table in ("lens", "seed") else f"[{table}]" if table else ""
        task = "" if key == "task" else "task = 'x'"
        (place.project / "search.toml").write_text(f"{task}\n{head}\n{key} = {value}\n")
        found.append(place.problems(argv))
    assert_none(found)


@pytest.mark.parametrize("made", ["folder", "pipe", "loop", "binary", "huge"])
def test_a_config_that_cannot_be_read_is_one_line(place: Place, made: str):
    file = place.home.config_file
    file.parent.mkdir(parents=True)
    match made:
        case "folder":
            file.mkdir()
        case "pipe":
            os.mkfifo(file)
        case "loop":
            file.symlink_to(file.name)
        case "binary":
            file.write_bytes(bytes(range(256)))
        case _:
            file.write_text("x = [\n" * 20_000)
    for argv in (
        [*BASES["run"], *with_model(cli.commands["run"])],
        ["runs"],
        ["config"],
        ["resume", "RUN", "--headless"],
    ):
        assert place.problems(argv) == ""
