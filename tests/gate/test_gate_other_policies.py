"""No command passes that the command policies of other agents ask about (`other_policies.toml` names the sources)."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from rundry.agent.protocol import GateMode, Rule

_TABLE = tomllib.loads((Path(__file__).parent / "other_policies.toml").read_text())
_CASES = [
    pytest.param(case, id=f"{source['path'].rpartition('/')[2]}-{at}")
    for source in _TABLE["source"]
    for at, case in enumerate(source["case"])
]
_HELD = [case for case in _CASES if case.values[0]["says"] != "allow"]
_DENIED = [case for case in _CASES if case.values[0]["says"] == "deny"]


@pytest.mark.parametrize("case", _HELD)
def test_what_another_policy_asks_about_does_not_pass(place, case):
    rules = [Rule(verdict="deny", tool="run_command", command=words) for words in case.get("denied", [])]
    given = place.judge_command(case["command"], *case.get("allowed", []), rules=rules)
    assert given.action != "allow", given
    for mode in (GateMode.ASK, GateMode.EDITS, GateMode.AUTO):
        assert place.judge_command(case["command"], mode=mode).action != "allow"


@pytest.mark.parametrize("case", _DENIED)
def test_what_another_policy_denies_never_passes_in_a_sandbox_either(place, case):
    rules = [Rule(verdict="deny", tool="run_command", command=words) for words in case.get("denied", [])]
    given = place.judge_command(case["command"], mode=GateMode.AUTO, rules=rules, sandbox="bubblewrap")
    assert given.action != "allow", given
