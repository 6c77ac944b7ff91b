"""The files of the Action and the workflows that the page shows."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest
import yaml
from contract.github_action.action_step import ROOT, SCRIPT

ACTION = SCRIPT.with_name("action.yml")
PAGE = ROOT / "docs" / "how-to" / "ci.md"
SHOWN = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)


def read_action() -> dict[str, Any]:
    return yaml.safe_load(ACTION.read_text("utf-8"))


def run_texts(node: Any) -> list[str]:
    """Return the text of each `run:` below a node."""
    if isinstance(node, list):
        return [text for each in node for text in run_texts(each)]
    if not isinstance(node, dict):
        return []
    own = [node["run"]] if isinstance(node.get("run"), str) else []
    return own + [text for value in node.values() for text in run_texts(value)]


def test_no_value_is_written_into_the_text_of_a_shell():
    workflows = [*ROOT.glob(".github/workflows/*.yml")]
    documents = [ACTION.read_text("utf-8"), *(path.read_text("utf-8") for path in workflows), *SHOWN]
    texts = [text for document in documents for text in run_texts(yaml.safe_load(document))]
    assert len(texts) > 5
    assert [text for text in texts if "${{" in text] == []


def test_the_action_is_one_step_that_nothing_can_skip():
    (step,) = read_action()["runs"]["steps"]
    assert step.keys() == {"id", "shell", "run", "env"}


def test_each_input_reaches_the_script_and_each_one_that_it_reads_is_an_input():
    action = read_action()
    names = {"INPUT_" + name.upper().replace("-", "_"): f"${{{{ inputs.{name} }}}}" for name in action["inputs"]}
    assert action["runs"]["steps"][0]["env"] == names
    tree = ast.parse(SCRIPT.read_text("utf-8"))
    read = {
        "INPUT_" + call.args[0].value.upper()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", "") == "given"
        and isinstance(call.args[0], ast.Constant)
    }
    # these are read in loops
    assert read | {f"INPUT_{name}" for name in ("TASK", "STEPS", "USD", "TIME", "MODEL")} == names.keys()


def test_each_output_is_written_by_the_script():
    outputs = read_action()["outputs"]
    assert set(outputs) == {"verdict", "run", "reason", "grade", "journals"}
    assert {each["value"] for each in outputs.values()} == {
        f"${{{{ steps.rundry.outputs.{name} }}}}" for name in outputs
    }


@pytest.mark.parametrize("text", SHOWN)
def test_a_workflow_of_the_page_uses_inputs_that_exist_and_keeps_no_token(text: str):
    inputs = read_action()["inputs"]
    needed = {name for name, each in inputs.items() if each.get("required")}
    jobs = yaml.safe_load(text)["jobs"]
    used = [step for job in jobs.values() for step in job["steps"] if "actions/rundry" in step.get("uses", "")]
    assert used
    for step in used:
        given = step["with"].keys()
        assert needed <= given <= inputs.keys()
        assert ("diff" in given) is not ({"task", "check"} <= given)
    (out,) = [step for job in jobs.values() for step in job["steps"] if "actions/checkout" in step.get("uses", "")]
    assert out["with"]["persist-credentials"] is False
