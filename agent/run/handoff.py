"""The record that a hand-off leaves, so that nobody has to find out again where the run stands (REQUIREMENTS 5.2)."""

from __future__ import annotations

from typing import Any

import msgspec

from ..journal.facts import RunFacts

LAST_ACTIONS = 8


def handoff_record(facts: RunFacts) -> dict[str, Any]:
    """Task, last actions, open proposal, changed files, the failing check's tail, what was spent and is left."""
    failing = [c for c in facts.checks.values() if not c.passed]
    return {
        "task": facts.spec.task,
        "last_actions": [
            {"step": a.step, "tool": a.tool, "arguments": a.arguments, "ok": a.ok, "result": a.result}
            for a in facts.actions[-LAST_ACTIONS:]
        ],
        "open_proposals": [
            {"tool": p.tool, "path": p.path, "command": p.command, "diff": p.diff}
            for p in [*facts.proposals.values(), *facts.turned_down]
        ],
        "files_changed": facts.files_changed,
        "failing_check": (
            {"command": failing[-1].command, "exit_code": failing[-1].exit_code, "output": failing[-1].output[-2000:]}
            if failing
            else None
        ),
        "spent": msgspec.to_builtins(facts.spent),
        "budget": msgspec.to_builtins(facts.budget),
    }


def suggested_action(facts: RunFacts, reason: str) -> str:
    """One sentence: what the person who takes it up would do first."""
    if facts.questions or reason.startswith("the model asks"):
        return "Answer the model's question, then resume the run."
    if facts.proposals or facts.turned_down:
        return "Look at the proposal, then resume the run and approve or reject it."
    failing = [c for c in facts.checks.values() if not c.passed]
    if failing:
        return f"Look at why `{failing[-1].command}` fails, then resume the run with a hint."
    return "Resume the run with a hint about what to try instead."
