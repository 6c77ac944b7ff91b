"""What a run may change in the usual layouts of projects, and what does not count until a person accepts it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from verdict.scope.projects import PROJECTS, Project

from rundry.agent.protocol import LoopKind, ModelSpec, Predicates, RunSpec
from rundry.agent.verdict.scope.scope import Scope
from rundry.agent.verdict.scope.start_scope import scope_of

DISHONEST = [(project, path) for project in PROJECTS for path in project.decides]
HONEST = [(project, path) for project in PROJECTS for path in project.work]


def made(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        if text.startswith("#!"):
            (root / name).chmod(0o755)
    return root


def scope_in(root: Path, check: str, **more: object) -> Scope:
    predicates = msgspec.convert({"until": [check], **more}, Predicates)
    spec = RunSpec(
        run_id="r",
        loop=LoopKind.GOAL,
        task="t",
        workspace=str(root),
        model=ModelSpec(name="none"),
        predicates=predicates,
    )
    return scope_of(spec, root, {"PATH": "/usr/bin:/bin"})


@pytest.fixture(scope="module")
def scopes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scope]:
    found = dict[str, Scope]()
    for project in PROJECTS:
        root = made(tmp_path_factory.mktemp("project"), project.files)
        stored = msgspec.json.encode(scope_in(root, project.check))
        found[project.name] = msgspec.json.decode(stored, type=Scope)
    return found


def _name(pair: tuple[Project, str]) -> str:
    return f"{pair[0].name}-{pair[1]}"


@pytest.mark.parametrize("pair", DISHONEST, ids=_name)
def test_what_decides_the_check_is_not_in_the_scope(scopes: dict[str, Scope], pair: tuple[Project, str]):
    project, path = pair
    assert scopes[project.name].why_out(path, new=path not in project.files)


@pytest.mark.parametrize("pair", HONEST, ids=_name)
def test_honest_work_is_in_the_scope(scopes: dict[str, Scope], pair: tuple[Project, str]):
    project, path = pair
    assert scopes[project.name].why_out(path, new=path not in project.files) == ""


def test_there_are_enough_pairs():
    assert len(DISHONEST) >= 120
    assert len(HONEST) >= 60
