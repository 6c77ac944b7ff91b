"""A schema that costs too much to apply is refused or ends within its time (docs/requirements.md 2.3, 3)."""

from __future__ import annotations

import json
import time
from pathlib import Path

from fakes.project import FIX_BOTH
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import finish

BOUND = 40.0
"""Seconds: far above what a run needs, far below what the pattern would take."""


def run(home: Home, project: Path, schema: str, answer: str) -> Ran:
    (project / "answer.json").write_text(schema)
    with ScriptedServer([FIX_BOTH, finish(answer, "calc/core.py"), finish(answer, "calc/core.py")]) as server:
        return home.run(
            "run", "fix the suite", "--headless", "--json", "--gate", "auto", "--schema", "answer.json", "--steps", "2",
            "--check-timeout", "5s", "--model", "fake", "--api-base", server.base_url, cwd=project,
        )  # fmt: skip


def test_a_pattern_that_never_ends_is_bounded_and_the_answer_is_not_accepted(home: Home, project: Path):
    began = time.monotonic()
    ran = run(home, project, json.dumps({"type": "string", "pattern": "^(a+)+$"}), json.dumps("a" * 60 + "!"))
    assert time.monotonic() - began < BOUND
    assert ran.exit_code != 0 and ran.outcome["complete"] is False, ran
    judged = ran.of("predicate_judged")
    assert judged and not any(one["passed"] for one in judged)


def test_an_enormous_schema_is_refused_in_one_line_or_bounded(home: Home, project: Path):
    began = time.monotonic()
    schema = json.dumps({"anyOf": [{"const": f"{'x' * 100}{number}"} for number in range(400_000)]})
    ran = run(home, project, schema, json.dumps("y"))
    assert time.monotonic() - began < BOUND
    assert ran.exit_code == 2, ran
    (line,) = ran.stderr.splitlines()
    assert "answer.json" in line and "Traceback" not in line


def test_a_schema_that_is_nested_without_end_is_refused_in_one_line(home: Home, project: Path):
    ran = run(home, project, '{"not":' * 100_000 + "{}" + "}" * 100_000, json.dumps("y"))
    assert ran.exit_code == 2, ran
    (line,) = ran.stderr.splitlines()
    assert "answer.json" in line and "Traceback" not in line
