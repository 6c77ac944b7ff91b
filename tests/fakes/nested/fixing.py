"""A finished search with findings, and the turns of a model that fixes them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ..rundry import Home
from ..server import Rule
from ..turns import call, say

_WORKER = """\
import json, sys
json.load(sys.stdin)
print(json.dumps({{"findings": {findings}}}))
"""
_SPEC = """\
task = "find what is bad"
[[seed]]
kind = "value"
value = "start"
[worker]
command = ["{python}", "worker.py"]
"""


def make_search(home: Home, folder: Path, names: Sequence[str]) -> str:
    """Run a search that reports each of these files of `folder` as bad. Returns its id."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text("bad\n")
    findings = [{"title": f"{name} is bad", "key": name, "evidence": f"{name}:1"} for name in names]
    search = folder.parent / "search.toml"
    search.write_text(_SPEC.format(python=sys.executable))
    (folder / "worker.py").write_text(_WORKER.format(findings=json.dumps(findings)))
    ran = home.run("find", str(search), "--trust", "--headless", "--json", cwd=folder)
    assert ran.exit_code == 0 and ran.outcome["findings"]["confirmed"] == len(names), ran
    return str(ran.of("run_started")[0]["run_id"])


def fixes(names: Sequence[str]) -> list[Rule]:
    """A model that writes the right text into the file that its task names."""
    return [Rule(f"{name} is bad", call("write_file", path=name, content="good\n")) for name in names]


def idles(name: str) -> Rule:
    """A model that does nothing about this file."""
    return Rule(f"{name} is bad", say("I leave it as it is."))
