"""The wheel in an empty environment: the example of the page runs there and type checkers read the package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from fakes.building import build
from fakes.project import FIX_ADD, FIX_MEAN, changed_files
from fakes.server import ScriptedServer

import rundry
from rundry.tui.api import public

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "python.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"^```python example\.py\n(.*?)^```", PAGE, re.M | re.S)
SNIPPETS = re.findall(r"^( *)```python(?: \S+)?\n(.*?)^ *```", PAGE, re.M | re.S)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the built wheel, and the packages of this one."""
    folder = tmp_path_factory.mktemp("installed")
    wheel = build(folder, "wheel")
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = venv / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], check=True)
    (site,) = (venv / "lib").glob("python*/site-packages")
    (site / "packages-of-the-tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def in_environment(python: Path, *argv: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(python), *argv], cwd=cwd, env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.long
def test_the_example_of_the_page_runs_from_an_installed_wheel(installed, home, project):
    assert len([line for line in EXAMPLE.splitlines() if line.strip()]) <= 17
    shutil.copy2(__file__, project / "unrelated.py")  # only the project is here, not the repository
    (project / "unrelated.py").unlink()
    (home.root / "example.py").write_text(EXAMPLE)
    with ScriptedServer([FIX_ADD, FIX_MEAN]) as server:
        env = {**home.env, "RUNDRY_MODEL": "fake", "RUNDRY_API_BASE": server.base_url}
        ran = in_environment(installed, str(home.root / "example.py"), cwd=project, env=env)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1].startswith("done ")
    assert "+    return a + b" in ran.stdout
    assert changed_files(project) == ["calc/core.py"]


@pytest.mark.long
def test_the_package_comes_from_the_wheel_and_its_names_are_loaded_when_they_are_used(installed, home):
    where = "import sys, rundry; print(rundry.__file__, 'rundry.tui' in sys.modules, rundry.Run, rundry.__version__)"
    ran = in_environment(installed, "-c", where, cwd=home.root, env=home.env)
    assert ran.returncode == 0, ran.stderr
    place, loaded, *rest = ran.stdout.split()
    assert (Path(place).is_relative_to(installed.parents[1]), loaded) == (True, "False")
    assert rest == ["<class", "'rundry.tui.api.run.Run'>", rundry.__version__]


@pytest.mark.long
def test_strict_type_checkers_read_the_installed_package(installed, home, tmp_path):
    folder = tmp_path / "checked"
    folder.mkdir()
    (folder / "example.py").write_text(EXAMPLE)
    (folder / "more.py").write_text(
        "import rundry\nfrom rundry.agent import CheckFinished\n\n"
        "async def main() -> None:\n"
        "    async with rundry.start_async('x', until=['a'], steps=3, gate='ask') as run:\n"
        "        async for stamped in run.events():\n"
        "            if isinstance(stamped.event, CheckFinished):\n"
        "                print(stamped.event.passed + 1)\n"
        "        ended: rundry.RunEnded = await run.wait()\n"
        "        print(ended.reason is rundry.Reason.DONE, run.spent.usd)\n\n"
        "rundry.start('x', stepz=3)\n"
        "rundry.start('x', gate='none')\n"
    )
    settings = {"typeCheckingMode": "strict", "venvPath": str(installed.parents[2]), "venv": "venv"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    ran = subprocess.run(
        [str(Path(sys.executable).with_name("basedpyright")), "--outputjson", "-p", str(folder)],
        capture_output=True, text=True, timeout=240, env={**os.environ, "HOME": str(home.root)},
    )  # fmt: skip
    found = [
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1, one.get("rule"))
        for one in json.loads(ran.stdout)["generalDiagnostics"]
    ]
    assert [one for one in found if one[0] == "example.py"] == []
    assert [one[1] for one in found] == [12, 13], found
    mypy = shutil.which("mypy")
    if mypy is None:
        pytest.skip("mypy is not installed; basedpyright accepted it")
    checked = subprocess.run(
        [mypy, "--strict", "--python-executable", str(installed), str(folder / "example.py")],
        capture_output=True, text=True, timeout=240, cwd=folder,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("at", range(len(SNIPPETS)))
def test_each_piece_of_code_on_the_page_is_python_and_names_what_exists(at: int):
    indent, code = SNIPPETS[at]
    text = "".join(line.removeprefix(indent) for line in code.splitlines(keepends=True))
    body = "".join(f"    {line}" for line in text.splitlines(keepends=True))
    compile(f"async def main():\n{body}\n", f"piece {at}", "exec")
    for name in re.findall(r"\brundry\.([A-Za-z_]\w*)", text):
        assert name == "agent" or hasattr(public, name), name
    for name in re.findall(r"\b(?:run|search)\.([a-z_]\w*)", text):
        assert hasattr(rundry.Run, name), name


def test_the_names_of_the_table_of_calls_exist():
    calls = re.findall(r"`run\.(\w+)", PAGE)
    assert len(set(calls)) > 12
    assert [name for name in calls if not hasattr(rundry.Run, name)] == []


def test_both_faces_have_the_same_methods():
    own = {name for name in vars(rundry.Run) if not name.startswith("_")}
    assert own == {name for name in vars(rundry.AsyncRun) if not name.startswith("_")}


def test_importing_the_package_loads_nothing_of_it(home):
    code = "import sys, rundry; print([name for name in sys.modules if name.startswith('rundry')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=home.env, cwd=home.root)
    assert ran.stdout.strip() == "['rundry']", ran.stderr


def test_the_package_lists_its_names():
    assert {"start", "attach", "Run", "UserError"} <= set(dir(rundry))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = rundry.nothing  # type: ignore[attr-defined]
