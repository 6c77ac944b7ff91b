"""The table of tools and the files that configure them, read from `tool_files.toml`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import msgspec

_FILE = Path(__file__).with_name("tool_files.toml")
_NOT_ALONE = frozenset(
    [
        "ag",
        "ant",
        "astro",
        "buck",
        "cross",
        "dart",
        "deno",
        "dune",
        "ec",
        "fd",
        "go",
        "green",
        "just",
        "julia",
        "karma",
        "mage",
        "make",
        "mill",
        "mix",
        "moon",
        "next",
        "ng",
        "node",
        "nim",
        "nox",
        "nyc",
        "pest",
        "please",
        "ps",
        "R",
        "rake",
        "rome",
        "rustc",
        "stack",
        "standard",
        "swift",
        "tap",
        "task",
        "tox",
        "trunk",
        "ty",
        "vale",
        "wtr",
        "xo",
        "zig",
        "git",
        "php",
        "ruby",
        "perl",
        "docker",
        "curl",
        "wget",
        "invoke",
        "bundle",
        "rails",
        "elixir",
        "infection",
        "standard",
        "parcel",
        "robot",
        "hatch",
        "ptw",
        "trial",
    ]
)
"""Names that are also words of a language or of other files: they do not count where a script only mentions them."""


class Tool(msgspec.Struct, frozen=True):
    """One row: see the head of the file."""

    name: str
    programs: list[str]
    files: list[str]
    source: str
    parents: bool = False
    home: list[str] = []
    options: list[str] = []
    env: list[str] = []
    modules: list[str] = []
    holding: str | None = None

    def is_started_by(self, program: str) -> bool:
        """The program is one of this tool's; `pytest.exe` and `tool.cmd` count too."""
        bare = program.removesuffix(".exe").removesuffix(".cmd")
        return any(fnmatchcase(bare, known) for known in self.programs)


class Cache(msgspec.Struct, frozen=True):
    """A variable that keeps a tool from a cache that others can write."""

    name: str
    value: str
    source: str
    append: bool = False


class _Table(msgspec.Struct):
    tool: list[Tool]
    cache: list[Cache]


@cache
def _table() -> _Table:
    return msgspec.toml.decode(_FILE.read_bytes(), type=_Table)


def tools_of(programs: Iterable[str]) -> list[Tool]:
    """The rows of these programs, in the table's order."""
    names = set(programs)
    return [tool for tool in _table().tool if any(tool.is_started_by(name) for name in names)]


@cache
def names_in_scripts() -> frozenset[str]:
    """Names of programs that mean a program wherever a script holds them as a text of their own."""
    return frozenset(
        name for tool in _table().tool for name in tool.programs if "*" not in name and name not in _NOT_ALONE
    )


def check_environment(env: Mapping[str, str], empty: Path) -> dict[str, str]:
    """The environment of a check: no tool uses a cache that a command could have filled.

    `empty`: a private folder, as the check sees it.
    """
    found = dict(env)
    for cache_ in _table().cache:
        value = cache_.value.replace("{empty}", str(empty))
        old = env.get(cache_.name)
        found[cache_.name] = f"{old} {value}" if cache_.append and old else value
    return found
