"""Decide which effects of a command pass, which ask, and which are refused: by class, guard, rules and mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..protocol import GateMode, Rule
from ..protocol.text.counts import first_names, plural
from .policy import GUARDED, PolicyContext, Verdict
from .rules import applies_to_file, rule_text

if TYPE_CHECKING:
    from ..layers.effect_classes import Class
    from .effects_draft import EffectsDraft

ASKS_ALWAYS = frozenset[str]({"protected", "install", "ignored_existed"})
"""Classes that ask in every mode."""
_BY_MODE = frozenset[str]({"ordinary", "git"})
_TOOLS = ("edit_file", "write_file")
"""Rules for these tools apply to a file, whether a tool or a command changes it."""
_MOST_NAMED = 5


HELD_BY_MODE = "the gate is set to `effects`: what commands change waits"
"""The reason of a proposal that waits only because of the mode."""


def judge_effect(kind: Class, paths: Sequence[str], context: PolicyContext, *, is_setup: bool = False) -> Verdict:
    """Return the verdict on effects of one class that are decided together.

    `is_setup`: the command is exactly that of `--setup`: in `auto`, what it installs is what the user asked for.
    """
    if context.mode is GateMode.READ:
        return Verdict(action="deny", why=["the gate is set to `read`: nothing may change"])
    spoken = [] if kind == "git" else _spoken(context.rules, paths)
    denied = next((rule for rule in spoken if rule.verdict == "deny"), None)
    if denied is not None:
        return Verdict(action="deny", why=[f"a rule refuses it: {rule_text(denied)}"])
    asks = kind in ASKS_ALWAYS and not (is_setup and kind == "install" and context.mode is GateMode.AUTO)
    if asks and len(paths) > 1:
        return Verdict(action="ask", why=[], danger=True)
    guarded = (
        next((path for path in paths if context.guard.matches(path)), None) if kind in _BY_MODE | ASKS_ALWAYS else None
    )
    if guarded is not None:
        return Verdict(action="ask", why=[f"{guarded} is {GUARDED}"], danger=True)
    if asks:
        return Verdict(action="ask", why=[], danger=True)
    asked = next((rule for rule in spoken if rule.verdict == "ask"), None)
    if asked is not None:
        return Verdict(action="ask", why=[f"a rule asks: {rule_text(asked)}"])
    if kind in _BY_MODE and context.mode is GateMode.EFFECTS:
        allowed = next((rule for rule in spoken if rule.verdict == "allow"), None)
        if allowed is not None:
            return Verdict(action="allow", why=[f"a rule allows it: {rule_text(allowed)}"])
        return Verdict(action="ask", why=[HELD_BY_MODE], needs=["effects"])
    return Verdict(action="allow", why=[f"the gate is set to `{context.mode}`"])


def judge_effects(draft: EffectsDraft, context: PolicyContext) -> Verdict:
    """Return the verdict on a whole proposal: refused if one entry is, and asks if one does."""
    verdicts = [judge_effect(entry.kind, entry.paths, context) for entry in draft.entries]
    denied = next((verdict for verdict in verdicts if verdict.action == "deny"), None)
    if denied is not None:
        return denied
    asking = [
        (entry, verdict) for entry, verdict in zip(draft.entries, verdicts, strict=True) if verdict.action == "ask"
    ]
    if not asking:
        return Verdict(action="allow", why=[f"the gate is set to `{context.mode}`"])
    always = [entry.shown.path or "." for entry, verdict in asking if verdict.danger]
    why = list(dict.fromkeys(line for _, verdict in asking if not verdict.danger for line in verdict.why))
    if always:
        named = first_names(always, _MOST_NAMED)
        needs = "needs" if len(always) == 1 else "need"
        why.insert(0, f"{plural(len(always), 'change')} always {needs} your approval: {named}")
    return Verdict(action="ask", why=why, danger=bool(always), needs=["effects"])


def _spoken(rules: Sequence[Rule], paths: Sequence[str]) -> list[Rule]:
    """Return the rules for either of the two tools that name one of these paths."""
    found = list[Rule]()
    for rule in rules:
        tool = rule.tool if rule.tool in _TOOLS else _TOOLS[0]
        if rule.command is None and applies_to_file(rule, tool, paths):
            found.append(rule)
    return found
