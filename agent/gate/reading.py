"""Apply the person's rules to tools that only read: they never wait at the gate, but `deny` applies to them."""

from __future__ import annotations

from collections.abc import Sequence

from ..protocol import Rule
from .rules import path_matches, rule_text

LOOKING = ("read_file", "list_files", "search", "fetch_url")
"""Tools that change nothing."""


def kept_from(rules: Sequence[Rule], tool: str, paths: Sequence[str]) -> str | None:
    """Describe the rule that denies this path (as given, and with links followed) to a reading tool; None if none does.

    Without paths, only a rule for the tool as a whole counts.
    """
    for rule in rules:
        if rule.verdict != "deny" or rule.command is not None or rule.tool not in (None, tool):
            continue
        is_whole = rule.path is None and rule.tool is not None
        if is_whole or (rule.path is not None and any(path_matches(rule, path) for path in paths)):
            return f"a rule refuses it: {rule_text(rule)}"
    return None
