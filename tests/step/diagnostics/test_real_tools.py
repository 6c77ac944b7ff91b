"""Each tool of the table as it is installed here, in real runs: a new problem is sent, an old one is not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from fakes.in_process.driven import Driven
from fakes.models.model import ScriptedModel
from fakes.turns import call

from rundry.agent.step.diagnostics.project_tools import project_tools

from ..layered import events


class Case(NamedTuple):
    """A file of a project with a problem, and what it becomes."""

    program: str
    files: dict[str, str]
    path: str
    after: str
    new: str
    old: str


PYTHON = "def old() -> int:\n    return missing\n"
CASES = {
    "ruff": Case(
        "ruff", {"ruff.toml": ""}, "a.py", f"{PYTHON}x = gone\n", "a.py:3: F821 Undefined name `gone`", "missing"
    ),
    "mypy": Case(
        "mypy",
        {"mypy.ini": "[mypy]\n"},
        "src/a.py",
        f'{PYTHON}\n\nx: int = "a"\n',
        "src/a.py:5: Incompatible types",
        "missing",
    ),
    "pyright": Case(
        "basedpyright",
        {"pyrightconfig.json": "{}"},
        "a.py",
        f"{PYTHON}x = gone\n",
        'a.py:3: "gone" is not defined',
        "missing",
    ),
    "tsc": Case(
        "tsc",
        {"tsconfig.json": '{"compilerOptions": {"types": [], "lib": ["es5"]}}'},
        "src/a.ts",
        "export const old: number = missing;\nexport const x: number = 'a';\n",
        "src/a.ts:2: TS2322: Type 'string' is not assignable",
        "missing",
    ),
    "eslint": Case(
        "eslint",
        {"eslint.config.mjs": 'export default [{rules: {"no-undef": "error", "no-unused-vars": "warn"}}];\n'},
        "a.js",
        "export const old = missing;\nexport const x = gone;\n",
        "a.js:2: 'gone' is not defined. (no-undef)",
        "missing",
    ),
    "go vet": Case(
        "go",
        {"go.mod": "module x\n\ngo 1.20\n"},
        "in/a.go",
        "package in\n\nfunc Old(missing int) { missing = missing }\nfunc X(gone int) { gone = gone }\n",
        "in/a.go:4: self-assignment of gone",
        "missing",
    ),
    "cargo check": Case(
        "cargo",
        {"Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n'},
        "src/lib.rs",
        "pub fn old() -> i32 { missing }\npub fn x() -> i32 { gone }\n",
        "src/lib.rs:2: [E0425]: cannot find value `gone`",
        "missing",
    ),
}


def test_there_is_a_case_for_each_tool():
    assert list(CASES) == [tool.name for tool in project_tools()]


def with_packages(work: Path, program: Path) -> None:
    """A tool of npm as the project's own: its packages are links to the same files."""
    packages = next((above for above in program.parents if above.name == "node_modules"), None)
    if packages is not None:
        shutil.copytree(packages, work / "node_modules", symlinks=True, copy_function=os.link)


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
async def test_a_tool_reports_a_new_problem_and_not_an_old_one(place, name):
    case, work = CASES[name], place / "work"
    if shutil.which(case.program) is None:
        pytest.skip(f"{case.program} is not installed")
    for path, text in {**case.files, case.path: case.after.rstrip().rpartition("\n")[0]}.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
    with_packages(work, Path(str(shutil.which(case.program))).resolve())
    done = call("finish", answer="done", citations=[case.path])
    write = call("write_file", path=case.path, content=case.after)
    read = call("read_file", path=case.path)
    again = [
        call("write_file", path=case.path, content=f"{case.after}{'#' if case.path.endswith('.py') else '//'} {n}\n")
        for n in range(2)
    ]
    run = Driven(place / "runs", work, ScriptedModel([read, write, *again, done]))
    await run.run(within=60)
    texts = [one["text"] for one in events(run, "prompted") if one["kind"] == "diagnostics"]
    looked = [one for one in events(run, "files_diagnosed") if name in one["ran"]]
    notes = [line for one in events(run, "files_diagnosed") for line in one["notes"]]
    if not looked and any(line.startswith(f"{name} took longer") for line in notes):
        pytest.skip(f"{notes} on this machine")
    assert case.new in "".join(texts) and case.old not in "".join(texts), (texts, notes, looked)
    assert not notes, notes
    assert not (work / ".mypy_cache").exists()
