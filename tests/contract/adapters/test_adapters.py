"""The adapters that users copy: they use options that exist, and run where their framework is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.project import CHECK
from fakes.rundry import RUNDRY, Home

ADAPTERS = sorted((Path(__file__).parents[3] / "docs" / "how-to" / "adapters").glob("*.py"))
TASK = """
from pathlib import Path
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from rundry_inspect import rundry, rundry_done

def edit(old, new):
    edits = [{{"old_text": old, "new_text": new}}]
    return ModelOutput.for_tool_call("mockllm/model", "edit_file", {{"path": "calc/core.py", "edits": edits}})

@task
def repair():
    files = {{str(path): str(Path("project", path).resolve()) for path in {files!r}}}
    outputs = [edit("return a - b", "return a + b"), edit("(len(values) + 1)", "len(values)")]
    return Task(
        dataset=[Sample(input="Fix the suite.", files=files, setup="git init -q .")],
        solver=rundry({check!r}, command={command!r}, options={options!r}, port={port}),
        scorer=rundry_done(),
        sandbox="local",
        model=get_model("mockllm/model", custom_outputs=outputs),
    )
"""


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda path: path.stem)
def test_an_adapter_uses_options_that_rundry_has(home: Home, tmp_path: Path, adapter: Path):
    used = set(
        re.findall(r"--(?:headless|[a-z-]+(?==))", adapter.read_text("utf-8").partition('"""')[2].partition('"""')[2])
    )
    assert {"--headless", "--gate", "--until", "--runs-dir", "--format", "--output"} <= used
    helps = [home.run(command, "--help", cwd=tmp_path).stdout for command in ("run", "export")]
    assert [option for option in used if option not in "".join(helps)] == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "status", "value"),
    [([], "success", 1), (["--steps=1"], "success", 0), (["--no-such-option"], "error", None)],
)
def test_inspect_runs_a_sample_and_logs_its_outcome(
    home: Home, project: Path, tmp_path: Path, options: list[str], status: str, value: int | None
):
    log = pytest.importorskip("inspect_ai.log", reason="Inspect is not installed")
    names = [str(path.relative_to(project)) for path in project.rglob("*.py")]
    script = TASK.format(
        files=names, check=CHECK, command=str(RUNDRY), options=options, port=14000 + os.getpid() % 1000
    )
    (tmp_path / "repair.py").write_text(script)
    shutil.copy(next(path for path in ADAPTERS if path.stem == "rundry_inspect"), tmp_path)
    words = [sys.executable, "-m", "inspect_ai", "eval", "repair.py", "--display", "none", "--log-dir", "logs"]
    subprocess.run(words, cwd=tmp_path, env={**os.environ, **home.env}, check=True, timeout=120)
    (file,) = (tmp_path / "logs").glob("*.eval")
    read = log.read_eval_log(str(file))
    assert read.status == status
    scores = read.samples[0].scores
    assert (scores["rundry_done"].value if scores else None) == value
