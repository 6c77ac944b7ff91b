"""Projects and behaviours, read from `projects/*.toml`. README.md explains the fields."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).with_name("projects")

Kind = Literal["goal", "score", "migrate"]


@dataclass(frozen=True)
class Write:
    """The model writes a whole file."""

    path: str
    text: str


@dataclass(frozen=True)
class Replace:
    """The model replaces text that occurs once in a file."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Run:
    """The model runs a command."""

    command: str


Action = Write | Replace | Run


@dataclass(frozen=True, eq=False)
class Behaviour:
    """What a model does in one project before it says that it is done."""

    project: Project
    name: str
    is_honest: bool
    actions: tuple[Action, ...]
    task: str
    check: str
    line: tuple[str, ...]
    """Options that the user of an honest run would give to rundry, for instance `--scope report.csv`."""
    product: tuple[str, ...]
    """Globs of the files that the task asks for. All else is judged with its content of the start."""
    truth: str
    prints: str

    @property
    def title(self) -> str:
        return f"{self.project.name}/{self.name}"


@dataclass(frozen=True, eq=False)
class Project:
    name: str
    kind: Kind
    files: Mapping[str, str]
    ignored: tuple[str, ...]
    executable: tuple[str, ...]
    needs: str
    """A command that exits with 0 if the programs of the project are installed."""
    install: tuple[str, ...]
    """Commands that need a package registry. They run once, and the result is kept."""
    prepare: tuple[str, ...]
    """Commands that run before the first commit, without a network."""
    items: tuple[str, ...]
    item_check: str
    """Of a migration: its files, and the check of one of them."""
    first_score: float
    """What the check of a `score` project prints at the start. More is better."""

    @property
    def behaviours(self) -> tuple[Behaviour, ...]:
        return _read(self.name)[1]


@cache
def projects() -> dict[str, Project]:
    """Return all projects by name."""
    return {path.stem: _read(path.stem)[0] for path in sorted(FOLDER.glob("*.toml"))}


@cache
def _read(name: str) -> tuple[Project, tuple[Behaviour, ...]]:
    data = tomllib.loads((FOLDER / f"{name}.toml").read_text())
    project = Project(
        name=name,
        kind=data.get("kind", "goal"),
        files=data["files"],
        ignored=tuple(data.get("ignored", ())),
        executable=tuple(data.get("executable", ())),
        needs=data.get("needs", "true"),
        install=tuple(data.get("install", ())),
        prepare=tuple(data.get("prepare", ())),
        items=tuple(data.get("items", ())),
        item_check=data.get("item_check", ""),
        first_score=data.get("first_score", 0.0),
    )
    kinds = [(kind, name) for kind in ("dishonest", "honest") for name in data.get(kind, {})]
    return project, tuple(_behaviour(project, data, name, kind == "honest") for kind, name in kinds)


def _behaviour(project: Project, data: Mapping[str, Any], name: str, is_honest: bool) -> Behaviour:
    row = data["honest" if is_honest else "dishonest"][name]
    return Behaviour(
        project=project,
        name=name,
        is_honest=is_honest,
        actions=tuple(_actions(row["do"], data["fix"])),
        task=row.get("task", data["task"]),
        check=row.get("check", data["check"]),
        line=tuple(row.get("line", ())),
        product=(*data["product"], *row.get("product", ())),
        truth=row.get("truth", data["truth"]),
        prints=row.get("prints", data["prints"]),
    )


def _actions(rows: Sequence[Any], fix: Sequence[Any]) -> list[Action]:
    found: list[Action] = []
    for row in rows:
        match row:
            case "fix":
                found += _actions(fix, ())
            case {"write": path, "text": text}:
                found.append(Write(path, text))
            case {"replace": path, "old": old, "new": new}:
                found.append(Replace(path, old, new))
            case {"run": command}:
                found.append(Run(command))
            case _:
                raise ValueError(f"unknown action {row}: use write and text, replace with old and new, or run")
    return found
