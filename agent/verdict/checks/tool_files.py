"""Read the table of tools and their configuration files from `tool_files.toml`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import msgspec

from ...host.files.quick_spec import QuickSpec

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
"""Names that are also common words or names of other files. They do not count if a script only mentions them."""


class CheckTool(msgspec.Struct, frozen=True):
    """One row of the table; the head of `tool_files.toml` describes the fields."""

    name: str
    programs: list[str]
    files: list[str]
    source: str
    options: list[str] = []
    holding: str | None = None

    def is_started_by(self, program: str) -> bool:
        """Return whether the program starts this tool, also with the ending `.exe` or `.cmd`."""
        bare = program.removesuffix(".exe").removesuffix(".cmd")
        return any(fnmatchcase(bare, known) for known in self.programs)


class Cache(msgspec.Struct, frozen=True):
    """A variable that stops a tool from using a cache that others can write."""

    name: str
    value: str
    source: str
    append: bool = False


class _Table(msgspec.Struct):
    tool: list[CheckTool]
    cache: list[Cache]


@cache
def _table() -> _Table:
    return msgspec.toml.decode(_FILE.read_bytes(), type=_Table)


def rows_of_tools(programs: Iterable[str]) -> list[CheckTool]:
    """Return the rows of these programs, in the table's order."""
    names = set(programs)
    return [tool for tool in _table().tool if any(tool.is_started_by(name) for name in names)]


@cache
def settings_of_tools() -> QuickSpec:
    """Return the names of the files that any tool of the table reads."""
    return QuickSpec(dict.fromkeys(glob.casefold() for tool in _table().tool for glob in tool.files))


@cache
def names_in_scripts() -> frozenset[str]:
    """Return the names that always mean a program if a script has them as a complete string literal."""
    return frozenset(
        name for tool in _table().tool for name in tool.programs if "*" not in name and name not in _NOT_ALONE
    )


def check_environment(env: Mapping[str, str], empty: Path) -> dict[str, str]:
    """Return the environment of a check, in which tools do not use a cache that a command could have filled.

    `empty`: path of a private folder inside the check's sandbox.
    """
    found = dict(env)
    for cache_ in _table().cache:
        value = cache_.value.replace("{empty}", str(empty))
        old = env.get(cache_.name)
        found[cache_.name] = f"{old} {value}" if cache_.append and old else value
    return found
